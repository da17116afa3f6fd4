// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks and cases: see common.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unwind.h>

#include "common.h"

#define MAX_SHOWN	25	/* failures that a case shows */

struct shm *shm;

/* One write(2) a line, so lines of several processes don't mix. */
static void say(const char *prefix, const char *fmt, va_list ap)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "%s", prefix);

	n += vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, n) != n)
		_exit(3);
}

static void tap(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("# ", fmt, ap);
	va_end(ap);
}

unsigned int failures(void)
{
	return atomic_load(&shm->failures);
}

/* Returns whether to show the failure that it counts. */
static bool count_failure(void)
{
	unsigned int shown = atomic_fetch_add(&shm->shown, 1);

	atomic_fetch_add(&shm->failures, 1);
	if (shown == MAX_SHOWN)
		diag("more failures are not shown");
	return shown < MAX_SHOWN;
}

static void show_failure(const char *file, int line, const char *what, const char *result,
			 const char *fmt, va_list ap)
{
	const char *base = strrchr(file, '/');
	char note[256];

	vsnprintf(note, sizeof(note), fmt, ap);
	diag("%s:%d: %s: %s%s%s", base ? base + 1 : file, line, what, result,
	     note[1] ? " --" : "", note[1] ? note : "");
}

bool check_true(bool good, const char *file, int line, const char *what, const char *fmt, ...)
{
	va_list ap;

	if (good || !count_failure())
		return good;
	va_start(ap, fmt);
	show_failure(file, line, what, "false", fmt, ap);
	va_end(ap);
	return false;
}

const char *rc_name(gni_return_t rc)
{
	static const char *const names[] = {
		"SUCCESS", "NOT_DONE", "INVALID_PARAM", "ERROR_RESOURCE", "TIMEOUT",
		"PERMISSION_ERROR", "DESCRIPTOR_ERROR", "ALIGNMENT_ERROR", "INVALID_STATE",
		"NO_MATCH", "SIZE_ERROR", "TRANSACTION_ERROR", "ILLEGAL_OP", "ERROR_NOMEM",
	};

	return (unsigned int)rc < ARRAY_SIZE(names) ? names[rc] : "(unknown code)";
}

bool check_rc(gni_return_t got, gni_return_t want, const char *file, int line,
	      const char *what, const char *fmt, ...)
{
	char result[80];
	va_list ap;

	if (got == want)
		return true;
	if (!count_failure())
		return false;
	snprintf(result, sizeof(result), "%s (%d), not %s", rc_name(got), (int)got, rc_name(want));
	va_start(ap, fmt);
	show_failure(file, line, what, result, fmt, ap);
	va_end(ap);
	return false;
}

bool check_u64(uint64_t got, uint64_t want, const char *file, int line,
	       const char *what, const char *fmt, ...)
{
	char result[80];
	va_list ap;

	if (got == want)
		return true;
	if (!count_failure())
		return false;
	snprintf(result, sizeof(result), "%#llx, not %#llx", (unsigned long long)got,
		 (unsigned long long)want);
	va_start(ap, fmt);
	show_failure(file, line, what, result, fmt, ap);
	va_end(ap);
	return false;
}

/*
 * pthread_cancel() loads libgcc_s when it runs: linked to it, a program has it
 * wherever it is taken.
 */
static void (*const needs_libgcc_s)(struct _Unwind_Exception *) __attribute__((used)) =
	_Unwind_Resume;

/* --- resources that a case must give back -------------------------------------- */

struct resources {
	uint64_t available[64][GNI_DEV_RES_LAST];
	int64_t pinned;
};

static uint64_t vmstat(const char *name)
{
	unsigned long long value = 0;
	char line[128];
	FILE *f = fopen("/proc/vmstat", "r");
	size_t n = strlen(name);

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, n) && sscanf(line + n, " %llu", &value) == 1)
			break;
	}
	if (f)
		fclose(f);
	return value;
}

/* Pages pinned on the whole machine; root only, 0 for others. */
static int64_t pinned_pages(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	if (fd < 0 || write(fd, "1\n", 2) != 2) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	close(fd);
	return vmstat("nr_foll_pin_acquired") - vmstat("nr_foll_pin_released");
}

static void count_resources(struct resources *r)
{
	unsigned int device, count = device_count();
	gni_dev_res_desc_t desc;
	int type;

	for (device = 0; device < count; device++) {
		for (type = GNI_DEV_RES_FIRST + 1; type < GNI_DEV_RES_LAST; type++) {
			if (GNI_GetDevResInfo(device, type, &desc) == GNI_RC_SUCCESS)
				r->available[device][type] = desc.available;
		}
	}
	r->pinned = pinned_pages();
}

/* In a process of its own, so that cases inherit nothing from the library. */
static void take_stock(struct resources *r)
{
	static struct resources *shared;
	pid_t pid;

	if (!shared)
		shared = map_shared(sizeof(*shared));
	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid) {
		count_resources(shared);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	*r = *shared;
}

static bool same_stock(const struct resources *was)
{
	struct resources now;

	take_stock(&now);
	return !memcmp(was, &now, sizeof(now));
}

static bool stock_kept(const struct resources *was)
{
	uint64_t end = now_ms() + 3000 * time_scale();
	struct resources now;
	unsigned int device;
	int type;

	while (now_ms() < end) {
		if (same_stock(was))
			return true;
		nap();
	}
	take_stock(&now);
	for (device = 0; device < ARRAY_SIZE(now.available); device++) {
		for (type = 0; type < GNI_DEV_RES_LAST; type++) {
			if (was->available[device][type] == now.available[device][type])
				continue;
			diag("device %u, resource %d: %llu were free, now %llu", device, type,
			     (unsigned long long)was->available[device][type],
			     (unsigned long long)now.available[device][type]);
		}
	}
	if (was->pinned != now.pinned)
		diag("%lld pages were pinned, now %lld", (long long)was->pinned,
		     (long long)now.pinned);
	return false;
}

/* --- cases --------------------------------------------------------------------- */

static void shm_reset(void)
{
	int i;

	if (!shm)
		shm = map_shared(sizeof(*shm));
	memset(shm, 0, sizeof(*shm));
	for (i = 0; i < SHM_SEMS; i++)
		sem_init(&shm->sem[i], 1, 0);
}

static bool exited(pid_t pid, int *status)
{
	return waitpid(pid, status, WNOHANG) == pid;
}

/* Ends what a case may have left: it, and what it forked, are one group. */
static void end_group(pid_t leader)
{
	kill(-leader, SIGKILL);
	while (waitpid(-leader, NULL, 0) > 0 || errno == EINTR)
		;
}

void show_hang(pid_t pid)
{
	char path[300], text[4096];
	struct dirent *entry;
	ssize_t n;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stack", pid, entry->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		if (n > 0) {
			text[n] = 0;
			diag("thread %s:", entry->d_name);
			for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
				diag("  %s", line);
		}
	}
	if (dir)
		closedir(dir);
}

static bool run_case(const struct test *t)
{
	uint64_t began = now_ms(), end;
	int status = 0;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		setpgid(0, 0);
		t->fn();
		exit(0);
	}
	setpgid(pid, pid);
	end = now_ms() + 1000ULL * time_scale() * (t->seconds ? t->seconds : 30);
	while (!exited(pid, &status)) {
		if (now_ms() > end) {
			diag("takes too long");
			show_hang(pid);
			end_group(pid);
			return false;
		}
		usleep(now_ms() - began > 1000 ? 20000 : 1000);
	}
	end_group(pid);
	if (WIFSIGNALED(status))
		diag("killed by signal %d", WTERMSIG(status));
	return !status && !failures();
}

int run_tests(const struct test *tests, size_t count)
{
	unsigned int failed = 0;
	struct resources stock;
	bool known = false;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	tap("1..%zu", count);
	for (i = 0; i < count; i++) {
		bool good;
		uint64_t began = now_ms();

		shm_reset();
		if (!known)
			take_stock(&stock);
		good = run_case(&tests[i]);
		/* What was kept is what the next case begins with. */
		known = !tests[i].leaves && stock_kept(&stock);
		if (!tests[i].leaves && !known)
			good = false;
		tap("%s %zu - %s", good ? "ok" : "not ok", i + 1, tests[i].name);
		if (getenv("TEST_TIMES"))
			diag("%llu ms", (unsigned long long)(now_ms() - began));
		failed += !good;
	}
	return failed ? 1 : 0;
}

/* --- processes, threads, time -------------------------------------------------- */

pid_t peer(void (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		fn(arg);
		_exit(0);
	}
	return pid;
}

static int wait_status(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void reap(pid_t pid)
{
	int status = wait_status(pid);

	ok(status == 0, "process %d ended with status %#x", pid, status);
}

void reap_killed(pid_t pid)
{
	int status = wait_status(pid);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	   "process %d ended with status %#x", pid, status);
}

void give(int sem)
{
	sem_post(&shm->sem[sem]);
}

void take(int sem)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE / 1000;
	while (sem_timedwait(&shm->sem[sem], &end))
		must(errno == EINTR, "semaphore %d was not given in time", sem);
}

unsigned int time_scale(void)
{
	static unsigned int scale;
	const char *text = getenv("KGNI_TEST_SCALE");

	if (!scale)
		scale = text && atoi(text) > 0 ? atoi(text) : 1;
	return scale;
}

unsigned int fewer(unsigned int n)
{
	unsigned int scale = time_scale();

	return scale > 1 ? n / scale + 1 : n;
}

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Where many nap in a slow kernel, waking them all the time would take all there is. */
void nap(void)
{
	struct timespec ms = { .tv_nsec = time_scale() > 1 ? 4000000 : 1000000 };

	nanosleep(&ms, NULL);
}

pid_t thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

bool asleep(pid_t tid)
{
	char path[64], text[256], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'S';
}

/* --- memory -------------------------------------------------------------------- */

static void *map(size_t len, int flags)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
	return p;
}

void *map_private(size_t len)
{
	return map(len, MAP_PRIVATE);
}

void *map_shared(size_t len)
{
	return map(len, MAP_SHARED);
}

uint32_t rnd(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	*state = x;
	return x;
}

/* Byte i depends on the seed and on i alone. */
static unsigned char pattern(size_t i, uint32_t seed)
{
	uint32_t x = ((uint32_t)i + seed) * 2654435761U;

	return (x >> 24) ^ (x >> 11);
}

void fill(void *buf, size_t len, uint32_t seed)
{
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

bool filled(const void *buf, size_t len, uint32_t seed)
{
	const unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++) {
		if (p[i] != pattern(i, seed))
			return false;
	}
	return true;
}

bool all_bytes(const void *buf, size_t len, unsigned char c)
{
	const unsigned char *p = buf;

	return !len || (p[0] == c && !memcmp(p, p + 1, len - 1));
}

static void fault_setting(const char *fault, const char *name, int value)
{
	char path[128], text[16];
	int fd, n;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kgni/%s/%s", fault, name);
	n = snprintf(text, sizeof(text), "%d", value);
	fd = open(path, O_WRONLY);
	must(fd >= 0, "%s", path);
	must(write(fd, text, n) == n, "%s", path);
	close(fd);
}

void losses(int lost, int ack_lost)
{
	fault_setting("fail_link", "times", -1);
	fault_setting("fail_link_ack", "times", -1);
	fault_setting("fail_link", "probability", lost);
	fault_setting("fail_link_ack", "probability", ack_lost);
}
