// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of which the nth allocation, copy or pin fails: see common_nth.h.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common_nth.h"

#define KNOBS		"/sys/kernel/debug/"
#define NTH_MAX		2000	/* no call has as many points */
#define OUTSIDE_STEP	16	/* which points outside of what a row is about are tried */
#define OUTSIDE_END	64	/* more than what the end of such a call takes */
#define TIMES		1000000	/* failures that the kernel has left to make */
#define ANSWERS		6
#define ROWS_MAX	128

bool nth_crippled;
unsigned int nth_device;
uint32_t nth_ptag;

/* A line of the table. */
struct line {
	char name[40];
	unsigned int points[KINDS];
	unsigned int leaks;
	unsigned int survived;	/* failures that the call could do without */
	int answers[ANSWERS];
};

static struct {
	struct line line[ROWS_MAX];
	unsigned int n;
} *table;

/* Pins are the driver's own kind, and have no folder. */
static const char *const kind_dir[KIND_PIN] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static const char *const kind_name[KINDS] = { "slab", "page", "usercopy", "pin" };

/* --- the kernel's knobs -------------------------------------------------------- */

static void knob(const char *dir, const char *name, const char *value)
{
	ssize_t len = strlen(value);
	char path[256];
	int fd;

	snprintf(path, sizeof(path), KNOBS "%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	must(fd >= 0 && write(fd, value, len) == len, "%s: %s", path, strerror(errno));
	close(fd);
}

static void knob_number(enum kind kind, const char *name, long value)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", value);
	knob(kind_dir[kind], name, text);
}

static long failures_left(enum kind kind)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), KNOBS "%s/times", kind_dir[kind]);
	fd = open(path, O_RDONLY);
	must(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "%s", path);
	close(fd);
	return atol(text);
}

/* Allocations of any sort count; nothing fails but by fail-nth. */
static void begin(void)
{
	enum kind kind;

	table = map_shared(sizeof(*table));
	shm = map_shared(sizeof(*shm));
	for (kind = 0; kind < KIND_PIN; kind++) {
		knob_number(kind, "probability", 0);
		knob_number(kind, "times", TIMES);
		knob_number(kind, "interval", 1);
		knob_number(kind, "verbose", 0);
		knob(kind_dir[kind], "task-filter", "N");
	}
	knob("failslab", "ignore-gfp-wait", "N");
	knob("fail_page_alloc", "ignore-gfp-wait", "N");
	knob("fail_page_alloc", "ignore-gfp-highmem", "N");
}

static const char *answer_name(int answer)
{
	return answer < 0 ? strerrorname_np(-answer) : rc_name(answer);
}

static void print_line(const struct line *l)
{
	char answers[128] = "";
	unsigned int i;
	int n = 0;

	for (i = 0; i < ANSWERS && l->answers[i]; i++)
		n += snprintf(answers + n, sizeof(answers) - n, " %s",
			      answer_name(l->answers[i]));
	diag("%-34s |%5u |%5u |%9u |%4u |%9u |%6u |%s", l->name, l->points[KIND_SLAB],
	     l->points[KIND_PAGE], l->points[KIND_USERCOPY], l->points[KIND_PIN], l->survived,
	     l->leaks, answers);
}

static void end(void)
{
	struct line all = { .name = "all" };
	enum kind kind;
	unsigned int i;

	diag("%-34s | slab | page | usercopy | pin | survived | leaks | answers",
	     "points injected into");
	for (i = 0; i < table->n; i++) {
		for (kind = 0; kind < KINDS; kind++)
			all.points[kind] += table->line[i].points[kind];
		all.survived += table->line[i].survived;
		all.leaks += table->line[i].leaks;
		print_line(&table->line[i]);
	}
	print_line(&all);
}

static struct line *add_line(const char *name)
{
	struct line *l = &table->line[table->n];

	must(table->n++ < ROWS_MAX);
	snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

void nth_result(const char *name, const unsigned int *points)
{
	memcpy(add_line(name)->points, points, sizeof(table->line[0].points));
}

/* --- injections ---------------------------------------------------------------- */

static int nth_fd;
static long left[KIND_PIN];

static void arm(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);
	enum kind kind;

	for (kind = 0; kind < KIND_PIN; kind++)
		left[kind] = failures_left(kind);
	must(pwrite(nth_fd, text, len, 0) == len);
}

/* Return: what failed, KINDS for nothing. */
static enum kind disarm(void)
{
	char text[16] = "";
	ssize_t got = pread(nth_fd, text, sizeof(text) - 1, 0);
	enum kind kind;

	/* What was still to fail may fail the question, or the end of it. */
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		got = -1;
	if (got <= 0 || atoi(text))
		return KINDS;
	for (kind = 0; kind < KIND_PIN; kind++)
		if (failures_left(kind) != left[kind])
			break;
	return kind;
}

/* --- what must be as before ---------------------------------------------------- */

/* Not attached, to ask questions; attached, to try how much memory may be charged. */
static int asker = -1, prober = -1;

void nth_count(struct counters *c, const char *name, int64_t value)
{
	must(c->n < COUNTERS_MAX);
	c->name[c->n] = name;
	c->value[c->n++] = value;
}

static int64_t used(uint32_t scope, uint32_t type)
{
	struct kgni_ioc_res arg = { .scope = scope, .type = type, .ptag = nth_ptag };

	must(ioctl(asker, KGNI_IOC_RES_INFO, &arg) == GNI_RC_SUCCESS, "scope %u, type %u", scope,
	     type);
	return arg.used;
}

static int64_t number_in(const char *path, const char *label)
{
	long long value = -1;
	char line[256];
	FILE *f = fopen(path, "r");

	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, label, strlen(label)) &&
		    sscanf(line + strlen(label), "%lld", &value) == 1)
			break;
	}
	fclose(f);
	return value;
}

/* Pins of the whole machine. */
static int64_t pinned(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	must(fd >= 0 && write(fd, "1\n", 2) == 2);
	close(fd);
	return number_in("/proc/vmstat", "nr_foll_pin_acquired ") -
	       number_in("/proc/vmstat", "nr_foll_pin_released ");
}

#define CHARGED		"locked_vm"
#define RING_PAGES	2	/* of the smallest queue */

/* Is there room for a queue where the user may have @limit pages? */
static bool fits(int64_t limit)
{
	struct rlimit old, now = { limit * PAGE, RLIM_INFINITY };
	struct kgni_ioc_cq_create arg = { .entries = 1 };
	struct kgni_ioc_cq_destroy destroy = { 0 };
	int rc;

	must(!getrlimit(RLIMIT_MEMLOCK, &old) && !setrlimit(RLIMIT_MEMLOCK, &now));
	rc = ioctl(prober, KGNI_IOC_CQ_CREATE, &arg);
	must(!setrlimit(RLIMIT_MEMLOCK, &old));
	must(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE);
	if (rc)
		return false;
	destroy.id = arg.id;
	must(ioctl(prober, KGNI_IOC_CQ_DESTROY, &destroy) == GNI_RC_SUCCESS);
	return true;
}

/* Pages that the user should be charged for. */
static int64_t should_charge;

/* Pages that it is charged for. Where not @exactly: or that it may be charged for. */
static int64_t charged(bool exactly)
{
	int64_t low = 0, high = 1 << 20;

	if (fits(should_charge + RING_PAGES) &&
	    !(exactly && fits(should_charge + RING_PAGES - 1)))
		return should_charge;
	while (low < high) {
		int64_t middle = (low + high) / 2;

		if (fits(middle + RING_PAGES))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Ptags are given from the lowest: a job that stays is one that is passed over. */
static int64_t next_ptag(void)
{
	struct kgni_ioc_ptag arg = { .cookie = 0x7fff0001 };
	int fd = raw_open(nth_device);

	must(ioctl(fd, KGNI_IOC_GET_PTAG, &arg) == GNI_RC_SUCCESS);
	close(fd);
	return arg.ptag;
}

/* @thoroughly: also what takes long. */
static void count_all(struct counters *c, bool thoroughly)
{
	nth_count(c, "MDDs of the device", used(KGNI_RES_DEVICE, GNI_DEV_RES_MDD));
	nth_count(c, "CQs of the device", used(KGNI_RES_DEVICE, GNI_DEV_RES_CQ));
	nth_count(c, "FMAs of the device", used(KGNI_RES_DEVICE, GNI_DEV_RES_FMA));
	nth_count(c, "CEs of the device", used(KGNI_RES_DEVICE, GNI_DEV_RES_CE));
	if (nth_ptag) {
		nth_count(c, "MDDs of the job", used(KGNI_RES_JOB, GNI_JOB_RES_MDD));
		nth_count(c, "CQs of the job", used(KGNI_RES_JOB, GNI_JOB_RES_CQ));
		nth_count(c, "FMAs of the job", used(KGNI_RES_JOB, GNI_JOB_RES_FMA));
		nth_count(c, "RDMAs of the job", used(KGNI_RES_JOB, GNI_JOB_RES_RMDA));
	}
	nth_count(c, "lowest free ptag", next_ptag());
	nth_count(c, CHARGED, charged(thoroughly));
	if (!thoroughly)
		return;
	nth_count(c, "pins", pinned());
	nth_count(c, "VmPin", number_in("/proc/self/status", "VmPin:"));
	nth_count(c, "users of the module", number_in("/sys/module/kgni/refcnt", ""));
}

/* @was: what it should be, or NULL. */
static struct counters stock(const struct row *row, const struct counters *was,
			     bool thoroughly)
{
	struct counters c = { .n = 0 };
	unsigned int i;

	should_charge = 0;
	for (i = 0; was && i < was->n; i++)
		if (!strcmp(was->name[i], CHARGED))
			should_charge = was->value[i];
	if (row->count)
		row->count(&c);
	else
		count_all(&c, thoroughly);
	return c;
}

/* Is all that was counted now what it was? */
static bool kept(const struct counters *was, const struct counters *now)
{
	return now->n <= was->n && !memcmp(was->value, now->value,
					   now->n * sizeof(now->value[0]));
}

/*
 * Compare with @was, and, so that the next comparison is about the next call, take
 * over what is different now into it and into @other.
 */
static void compare(const struct row *row, struct line *l, struct counters *was,
		    struct counters *other, bool thoroughly, const char *when)
{
	uint64_t end = now_ms() + 2000 * time_scale();
	struct counters now = stock(row, was, thoroughly);
	unsigned int i;

	/* Workers give back what they had a little later. */
	while (!kept(was, &now) && now_ms() < end) {
		nap();
		now = stock(row, was, thoroughly);
	}
	if (kept(was, &now))
		return;
	l->leaks++;
	for (i = 0; i < now.n; i++) {
		ok(now.value[i] == was->value[i], "%s: %s: %lld, was %lld", when, now.name[i],
		   (long long)now.value[i], (long long)was->value[i]);
		other->value[i] += now.value[i] - was->value[i];
		was->value[i] = now.value[i];
	}
}

/* --- a row --------------------------------------------------------------------- */

/* A series of injections of a kind. */
struct series {
	const struct row *row;
	struct line *line;
	struct counters before;		/* all is undone */
	struct counters prepared;	/* ready to call */
	unsigned int kinds;		/* BIT() of those that are counted */
};

static void note_answer(struct line *l, int answer)
{
	unsigned int i = 0;

	while (i < ANSWERS - 1 && l->answers[i] && l->answers[i] != answer)
		i++;
	l->answers[i] = answer;
}

static bool right_answer(const struct row *row, enum kind kind, long rc)
{
	if (row->also && rc == row->also)
		return true;
	if (kind == KIND_USERCOPY)
		return rc == (row->fault ? row->fault : -EFAULT);
	return rc == (row->nomem ? row->nomem : -ENOMEM);
}

static void undo(struct series *s, bool crippled)
{
	nth_crippled = crippled;
	if (s->row->undo)
		s->row->undo();
}

static void undo_all(struct series *s, const char *when)
{
	undo(s, false);
	compare(s->row, s->line, &s->before, &s->prepared, true, when);
}

/* After a failure of a kind that has a series of its own. */
static void undo_other(struct series *s, long rc)
{
	if (rc && s->row->once)
		return;
	if (rc)
		must(!s->row->call(), "%s again after %s", s->row->name, answer_name(rc));
	undo(s, !rc);
}

/* Return: false if the call was over before anything failed. */
static bool inject(struct series *s, int n)
{
	const struct row *row = s->row;
	enum kind kind;
	char when[64];
	long rc;

	if (row->prepare)
		row->prepare();
	arm(n);
	rc = row->call();
	kind = disarm();
	if (kind == KINDS) {
		must(!rc, "%s without a failure: %s", row->name, answer_name(rc));
		undo_all(s, "in the end");
		return false;
	}
	if (!(s->kinds & BIT(kind))) {
		undo_other(s, rc);
		return true;
	}
	s->line->points[kind]++;
	snprintf(when, sizeof(when), "failure %d, %s, %s", n, kind_name[kind], answer_name(rc));
	if (!rc) {
		s->line->survived++;
		undo(s, true);
		compare(row, s->line, &s->before, &s->prepared, false, when);
		return true;
	}
	note_answer(s->line, rc);
	ok(right_answer(row, kind, rc), "%s: %s: not the right answer", row->name, when);
	compare(row, s->line, &s->prepared, &s->before, false, when);
	if (row->once)
		return true;
	rc = row->call();
	must(!rc, "%s again after %s: %s", row->name, when, answer_name(rc));
	undo(s, false);
	return true;
}

/*
 * What would fail by @kinds before the part of the call that the row is about: the
 * points of @row->outside, which ends where that part begins.
 */
static unsigned int points_outside(const struct row *row)
{
	char text[16] = "";

	if (!row->outside)
		return 0;
	arm(NTH_MAX);
	row->outside();
	must(pread(nth_fd, text, sizeof(text) - 1, 0) > 0);
	must(pwrite(nth_fd, "0", 1, 0) == 1);
	return NTH_MAX - atoi(text);
}

/* Of the points outside some, of the others all. */
static void run_series(struct series *s, unsigned int kinds)
{
	unsigned int outside, n = 1;

	s->kinds = kinds;
	knob("failslab", "cache-filter", kinds & BIT(KIND_SLAB) ? "N" : "Y");
	knob("fail_page_alloc", "min-order", kinds & BIT(KIND_PAGE) ? "0" : "99");
	outside = points_outside(s->row);
	while (n < NTH_MAX && inject(s, n))
		n += n + OUTSIDE_STEP + OUTSIDE_END < outside ? OUTSIDE_STEP : 1;
	ok(n < NTH_MAX, "%s never gets through", s->row->name);
}

/* Root may lock as much as it likes, but for this. */
static void drop_ipc_lock(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	must(!syscall(SYS_capget, &head, data));
	data[0].effective &= ~BIT(CAP_IPC_LOCK);
	must(!syscall(SYS_capset, &head, data));
}

static void watch(const struct row *row)
{
	struct kgni_ioc_attach arg = {
		.inst_id = 1, .ptag = GNI_FIND_ALLOC_PTAG, .cookie = 0x7fff0002,
	};

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	must(nth_fd >= 0);
	if (row->count)
		return;
	drop_ipc_lock();
	asker = raw_open(nth_device);
	prober = raw_open(nth_device);
	must(ioctl(prober, KGNI_IOC_ATTACH, &arg) == GNI_RC_SUCCESS);
}

void nth_run(const struct row *row)
{
	struct series s = { .row = row, .line = add_line(row->name) };
	enum kind kind;

	watch(row);
	if (row->setup)
		row->setup();
	/* The event of an RDMA comes before the driver is done with it. */
	if (nth_ptag)
		must(wait_for(!used(KGNI_RES_JOB, GNI_JOB_RES_RMDA)));
	s.before = stock(row, NULL, true);
	if (row->prepare)
		row->prepare();
	s.prepared = stock(row, NULL, true);
	must(!row->call(), "%s before any failure", row->name);
	undo_all(&s, "without a failure");
	run_series(&s, BIT(KIND_SLAB));
	run_series(&s, BIT(KIND_PAGE));
	run_series(&s, BIT(KIND_USERCOPY) | BIT(KIND_PIN));
	for (kind = 0; kind < KINDS; kind++)
		ok(!(row->has & BIT(kind)) || s.line->points[kind], "%s: nothing failed by %s",
		   row->name, kind_name[kind]);
}

/* --- all of them --------------------------------------------------------------- */

static bool is_named(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 1;
}

int nth_main(int argc, char **argv, const struct test *tests, size_t n)
{
	struct test some[ROWS_MAX];
	size_t i, count = 0;
	int rc;

	must(n <= ROWS_MAX);
	for (i = 0; i < n; i++)
		if (is_named(tests[i].name, argc, argv))
			some[count++] = tests[i];
	begin();
	rc = run_tests(some, count);
	end();
	return rc;
}
