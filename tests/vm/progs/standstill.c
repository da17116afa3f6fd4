// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that are suspended and devices that are quiesced: nothing moves, and
 * nothing is lost.
 *
 *	standstill	needs two NICs with PE addresses 1 and 2, root and debugfs
 *	standstill user	a plain user may stop nothing
 */
#include <fcntl.h>
#include <signal.h>

#include "common.h"

#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT
#define PTAG		77
#define JOB		0x1234567890ULL
#define LARGE		(64UL << 20)

static gni_return_t suspend_job(uint32_t timeout)
{
	return GNI_SuspendJob(0, 0, PTAG, COOKIE, timeout);
}

static gni_return_t resume_job(void)
{
	return GNI_ResumeJob(0, 0, PTAG, COOKIE);
}

static void join_on(struct nic *n, uint32_t device, uint32_t id)
{
	memset(n, 0, sizeof(*n));
	must_do(GNI_CdmCreate(id, PTAG, COOKIE, GNI_CDM_MODE_ERR_NO_KILL, &n->cdm));
	must_do(GNI_CdmAttach(n->cdm, device, &n->pe, &n->h));
	n->id = id;
	n->tx = cq_open(n, 64, GNI_CQ_NOBLOCK);
	n->rx = cq_open(n, 64, GNI_CQ_NOBLOCK);
}

static int write_debugfs(const char *name, const char *text)
{
	char path[64];
	int fd, n;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kgni/%s", name);
	fd = open(path, O_WRONLY);
	must(fd >= 0);
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (int)strlen(text) ? 0 : errno;
}

static void quiesce(unsigned int pe, bool on)
{
	char text[32];

	snprintf(text, sizeof(text), "%u %u", pe, on);
	must(!write_debugfs("quiesce", text), "%s", text);
}

static bool state_is(unsigned int device, const char *want)
{
	char path[64], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/gni/kgni%u/state", device);
	f = fopen(path, "r");
	must(f && fgets(text, sizeof(text), f));
	fclose(f);
	return !strncmp(text, want, strlen(want));
}

/* --- arguments ---------------------------------------------------------------------- */

static void test_arguments(void)
{
	struct nic n;

	is_rc(suspend_job(0), GNI_RC_INVALID_PARAM, "nobody is in it");
	join_on(&n, 0, 1);
	is_rc(GNI_SuspendJob(device_count(), 0, PTAG, COOKIE, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, 1, PTAG, COOKIE, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, 0, PTAG + 1, COOKIE, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, 0, 0, COOKIE, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, 0, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, 0, PTAG, COOKIE + 1, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResumeJob(device_count(), 0, PTAG, COOKIE), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResumeJob(0, 1, PTAG, COOKIE), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResumeJob(0, 0, PTAG, COOKIE + 1), GNI_RC_INVALID_PARAM);
	is_rc(resume_job(), GNI_RC_INVALID_STATE);
	is_rc(suspend_job(0), GNI_RC_SUCCESS);
	is_rc(suspend_job(0), GNI_RC_INVALID_STATE);
	is_rc(resume_job(), GNI_RC_SUCCESS);
	is_rc(resume_job(), GNI_RC_INVALID_STATE);
	/* A configured job goes by its id. */
	is_rc(GNI_ConfigureJob(0, JOB, PTAG, COOKIE, NULL), GNI_RC_SUCCESS);
	is_rc(suspend_job(0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SuspendJob(0, JOB, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(resume_job(), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResumeJob(0, JOB, PTAG, COOKIE), GNI_RC_SUCCESS);
	nic_close(&n);
	is_rc(suspend_job(0), GNI_RC_INVALID_PARAM, "it has ended");
}

static void test_user(void)
{
	struct nic n;

	join_on(&n, 0, 1);
	is_rc(suspend_job(0), GNI_RC_PERMISSION_ERROR);
	is_rc(resume_job(), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SuspendJob(0, JOB, PTAG, COOKIE, 1000), GNI_RC_PERMISSION_ERROR);
	ok(access("/sys/kernel/debug/kgni/quiesce", F_OK));
	nic_close(&n);
}

/* --- what waits ------------------------------------------------------------------------ */

/* A region that all processes of a case see, and its owner on NIC 1 or 0. */
static struct {
	unsigned char *mem;
	struct region *r;
} t;

static void owner(void *arg)
{
	struct nic n;

	join_on(&n, *(uint32_t *)arg, 50);
	region_open(&n, t.mem, 2 * PAGE, n.rx, 0, t.r);
	give(0);
	/* For as long as it takes. */
	while (!shm->word[5])
		nap();
}

enum kind { PUT, GET, AMO, CQWRITE, RDMA_SMALL, RDMA, CHAIN, DATAGRAM, KINDS };

static gni_return_t post_kind(struct nic *n, gni_ep_handle_t ep, enum kind kind,
			      struct region *l)
{
	static gni_post_descriptor_t d;

	switch (kind) {
	case PUT:
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, (void *)l->addr, NULL, t.r, 0, PAGE);
		break;
	case GET:
		desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
		desc_move(&d, (void *)l->addr, &l->mh, t.r, 0, PAGE);
		break;
	case AMO:
		desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, t.r, PAGE, 8, 1, 0);
		break;
	case CQWRITE:
		desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
		d.remote_mem_hndl = t.r->mh;
		break;
	case RDMA_SMALL:
	case RDMA:
		desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d, (void *)l->addr, &l->mh, t.r, 0, kind == RDMA ? 2 * PAGE : 64);
		break;
	default:
		return GNI_EpPostData(ep, NULL, 0, NULL, 0);
	}
	return post_wait(ep, n->tx, &d);
}

struct poster {
	uint32_t device;
	enum kind kind;
};

static void poster(void *arg)
{
	const struct poster *p = arg;
	gni_ep_handle_t ep;
	struct region l;
	struct nic n;

	join_on(&n, p->device, 60);
	region_open(&n, map_private(2 * PAGE), 2 * PAGE, NULL, 0, &l);
	memset((void *)l.addr, 0xaa, 2 * PAGE);
	ep = ep_open(&n, t.r->pe, 50);
	give(2);
	take(3);
	shm->word[0] = 1;
	is_rc(post_kind(&n, ep, p->kind, &l), GNI_RC_SUCCESS, "kind %u", p->kind);
	shm->word[0] = 2;
}

/* One of each kind is posted while @stop holds, and is done when @go has let it. */
static void each_waits(uint32_t from, uint32_t to, void (*stop)(void), void (*go)(void))
{
	struct poster p = { .device = from };
	pid_t owner_pid, pid;

	t.mem = map_shared(2 * PAGE);
	t.r = map_shared(PAGE);
	owner_pid = peer(owner, &to);
	take(0);
	for (p.kind = 0; p.kind < KINDS; p.kind++) {
		if (p.kind == CHAIN)
			continue;
		shm->word[0] = 0;
		memset(t.mem, 0, 2 * PAGE);
		pid = peer(poster, &p);
		take(2);
		stop();
		give(3);
		/* It posts, and sleeps; RDMA that waits is polled for. */
		if (p.kind == RDMA)
			must(wait_for(shm->word[0] == 1));
		else
			must(wait_for(shm->word[0] == 1 && asleep(pid)), "kind %u", p.kind);
		nap();
		is_u64(shm->word[0], 1, "kind %u", p.kind);
		ok(all_bytes(t.mem, 2 * PAGE, 0), "kind %u", p.kind);
		go();
		reap(pid);
		is_u64(shm->word[0], 2);
		if (p.kind != GET && p.kind != CQWRITE && p.kind != DATAGRAM)
			ok(!all_bytes(t.mem, 2 * PAGE, 0), "kind %u", p.kind);
	}
	shm->word[5] = 1;
	reap(owner_pid);
	shm->word[5] = 0;
}

static void stop_job(void)
{
	must_do(suspend_job(1000 * time_scale()));
}

static void go_job(void)
{
	must_do(resume_job());
}

static void stop_first(void)
{
	quiesce(1, true);
}

static void go_first(void)
{
	quiesce(1, false);
}

static void stop_second(void)
{
	quiesce(2, true);
}

static void go_second(void)
{
	quiesce(2, false);
}

static void test_suspended(void)
{
	each_waits(0, 0, stop_job, go_job);
	each_waits(0, 1, stop_job, go_job);
}

static void test_quiesced(void)
{
	each_waits(0, 0, stop_first, go_first);
	each_waits(0, 1, stop_first, go_first);
	each_waits(0, 1, stop_second, go_second);
}

/* --- what is under way --------------------------------------------------------------- */

static gni_ep_handle_t start_large(struct nic *n, struct region *l, struct region *r,
				   gni_post_descriptor_t *d)
{
	gni_ep_handle_t ep = ep_open(n, n->pe, 1);

	region_open(n, map_private(LARGE), LARGE, NULL, 0, l);
	region_open(n, map_private(LARGE), LARGE, NULL, 0, r);
	memset((void *)l->addr, 0xcc, LARGE);
	desc_init(d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(d, (void *)l->addr, &l->mh, r, 0, LARGE);
	must_do(GNI_PostRdma(ep, d));
	return ep;
}

static void test_waits_for_rdma(void)
{
	gni_post_descriptor_t d;
	struct region l, r;
	gni_cq_entry_t e;
	struct nic n;

	unsigned int timeouts = 0, turn;
	gni_ep_handle_t ep;
	gni_return_t rc;

	join_on(&n, 0, 1);
	ep = start_large(&n, &l, &r, &d);
	/* It may be done before anybody asks, but not every time. */
	for (turn = 0; turn < 50 && !timeouts; turn++) {
		rc = suspend_job(0);
		timeouts += rc == GNI_RC_TIMEOUT;
		if (rc == GNI_RC_SUCCESS)
			must_do(resume_job());
		is_rc(resume_job(), GNI_RC_INVALID_STATE, "it goes on");
		must_do(suspend_job(~0U));
		ok(all_bytes((void *)r.addr, LARGE, 0xcc));
		is_rc(complete(n.tx, &d, &e), GNI_RC_SUCCESS);
		must_do(resume_job());
		must_do(GNI_PostRdma(ep, &d));
	}
	ok(timeouts);
	is_rc(complete(n.tx, &d, &e), GNI_RC_SUCCESS);
	must_do(GNI_CdmDestroy(n.cdm));
}

/* Who suspends, for how long, and what comes of it. */
struct suspender {
	uint32_t timeout;
	gni_return_t want;
};

static void suspends(void *arg)
{
	const struct suspender *s = arg;
	gni_bi_desc_t desc;

	/* The library opens its file, so that what it sleeps in is the call. */
	must_do(GNI_GetBIConfig(0, &desc));
	give(0);
	is_rc(suspend_job(s->timeout), s->want);
}

static pid_t suspend_beside(const struct suspender *s)
{
	pid_t pid = peer(suspends, (void *)s);

	take(0);
	must(wait_for(asleep(pid)));
	must_rc(suspend_job(0), GNI_RC_INVALID_STATE);
	return pid;
}

/* One that was ended by another's resume, and whose time is over, ends no later one. */
static void test_two_suspends(void)
{
	const struct suspender one = { 2000 * time_scale(), GNI_RC_NOT_DONE };
	const struct suspender two = { ~0U, GNI_RC_SUCCESS };
	pid_t first, second;
	gni_post_descriptor_t d;
	struct region l, r;
	gni_cq_entry_t e;
	struct nic n;

	join_on(&n, 0, 1);
	/* RDMA that does not end. */
	must_do(GNI_SetBIConfig(0, 1, 0, GNI_BI_FLAG_APPLY_NOW |
				GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES));
	start_large(&n, &l, &r, &d);
	first = suspend_beside(&one);
	must_do(resume_job());
	second = suspend_beside(&two);
	reap(first);
	is_rc(suspend_job(0), GNI_RC_INVALID_STATE);
	must_do(GNI_SetBIConfig(0, 0, 0, GNI_BI_FLAG_USE_DEFAULT_SETTINGS));
	reap(second);
	is_rc(complete(n.tx, &d, &e), GNI_RC_SUCCESS);
	is_rc(resume_job(), GNI_RC_SUCCESS);
	must_do(GNI_CdmDestroy(n.cdm));
}

/* Stopped in the middle, nothing moves; afterwards all of it does. */
static void test_quiesce_rdma(void)
{
	unsigned char *copy = map_private(LARGE);
	gni_post_descriptor_t d;
	struct region l, r;
	gni_cq_entry_t e;
	struct nic n;
	int i;

	join_on(&n, 0, 1);
	start_large(&n, &l, &r, &d);
	for (i = 0; i < 3; i++) {
		quiesce(1, true);
		memcpy(copy, (void *)r.addr, LARGE);
		nap();
		ok(!memcmp(copy, (void *)r.addr, LARGE), "%d", i);
		/* Posts to itself would have to end first. */
		is_rc(suspend_job(0), GNI_RC_NOT_DONE);
		quiesce(1, false);
	}
	is_rc(complete(n.tx, &d, &e), GNI_RC_SUCCESS);
	ok(all_bytes((void *)r.addr, LARGE, 0xcc));
	must_do(GNI_CdmDestroy(n.cdm));
}

/* One that sleeps in a post can be stopped by signals, and ended. */
static void blocked(void *arg)
{
	uint64_t value = 7;
	gni_post_descriptor_t d;
	struct region r;
	struct nic n;

	(void)arg;
	join_on(&n, 0, 1);
	region_open(&n, shm->bytes, PAGE, NULL, 0, &r);
	give(0);
	take(1);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, &r, 0, 8);
	is_rc(post_wait(ep_open(&n, n.pe, 1), n.tx, &d), GNI_RC_SUCCESS);
	is_empty(n.tx);
	is_u64(*(uint64_t *)shm->bytes, 7);
}

static pid_t block_one(void)
{
	pid_t pid = peer(blocked, NULL);

	take(0);
	must_do(suspend_job(1000));
	give(1);
	must(wait_for(asleep(pid)));
	nap();
	must(wait_for(asleep(pid)));
	return pid;
}

static void test_signals(void)
{
	pid_t pid = block_one();
	int status;

	must(!kill(pid, SIGSTOP));
	must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	is_u64(*(uint64_t *)shm->bytes, 0);
	must(!kill(pid, SIGCONT));
	is_rc(resume_job(), GNI_RC_SUCCESS);
	reap(pid);
	pid = block_one();
	must(!kill(pid, SIGKILL));
	reap_killed(pid);
	is_rc(resume_job(), GNI_RC_INVALID_PARAM, "it has ended");
	/* So does one whose device stands still. */
	pid = peer(blocked, NULL);
	take(0);
	quiesce(1, true);
	give(1);
	must(wait_for(asleep(pid)));
	must(!kill(pid, SIGKILL));
	reap_killed(pid);
	quiesce(1, false);
}

/* --- devices ---------------------------------------------------------------------------- */

static void test_switch(void)
{
	gni_err_handle_t err;
	gni_error_event_t e;

	must_do(GNI_SubscribeErrors(NULL, 1, GNI_ERRMASK_INFORMATIONAL, 0, &err));
	ok(state_is(0, "up") && state_is(1, "up"));
	is_u64(write_debugfs("quiesce", "2 0"), EALREADY);
	quiesce(2, true);
	is_u64(write_debugfs("quiesce", "2 1"), EALREADY);
	ok(state_is(0, "up") && state_is(1, "quiesced"));
	is_rc(GNI_GetErrorEvent(err, &e), GNI_RC_SUCCESS);
	is_u64(e.error_code, KGNI_ERR_QUIESCE);
	is_u64(e.error_category, GNI_ERRMASK_INFORMATIONAL);
	is_u64(e.info_mmrs[0], 1);
	nap();
	quiesce(2, false);
	ok(state_is(1, "up"));
	is_rc(GNI_GetErrorEvent(err, &e), GNI_RC_SUCCESS);
	is_u64(e.info_mmrs[0], 0);
	ok(e.info_mmrs[1] >= 1 && e.info_mmrs[1] < 60000);
	is_u64(write_debugfs("quiesce", "9 1"), ENODEV);
	is_u64(write_debugfs("quiesce", "1 2"), EINVAL);
	is_u64(write_debugfs("quiesce", "1"), EINVAL);
	is_u64(write_debugfs("inject", "1 5 0"), EINVAL);
	is_u64(write_debugfs("inject", "9 100 0"), ENODEV);
	is_u64(write_debugfs("inject", "1 100 256"), EINVAL);
}

/* Traffic of all kinds, checked all the time, while both are switched off and on. */
static void busy(void *arg)
{
	struct poster p = { .device = 0 };
	gni_ep_handle_t ep;
	uint64_t sum = 0, turns = 0;
	struct region l;
	struct nic n;

	(void)arg;
	join_on(&n, 0, 60);
	region_open(&n, map_private(2 * PAGE), 2 * PAGE, NULL, 0, &l);
	ep = ep_open(&n, t.r->pe, 50);
	give(2);
	while (!shm->word[1]) {
		for (p.kind = 0; p.kind < CHAIN; p.kind++) {
			/* Nobody takes the events of these. */
			if (p.kind == CQWRITE && sum >= 50)
				continue;
			memset((void *)l.addr, turns++, 2 * PAGE);
			must_rc(post_kind(&n, ep, p.kind, &l), GNI_RC_SUCCESS);
			if (p.kind == PUT)
				must(all_bytes(t.mem, PAGE, (unsigned char)(turns - 1)));
			if (p.kind == RDMA)
				must(all_bytes(t.mem, 2 * PAGE, (unsigned char)(turns - 1)));
		}
		sum++;
		shm->word[2] = sum;
	}
}

static void test_traffic(void)
{
	uint32_t second = 1;
	uint64_t before;
	pid_t pid[2];
	int i;

	t.mem = map_shared(2 * PAGE);
	t.r = map_shared(PAGE);
	pid[0] = peer(owner, &second);
	take(0);
	pid[1] = peer(busy, NULL);
	take(2);
	for (i = 0; i < 60; i++) {
		before = shm->word[2];
		must(wait_for(shm->word[2] > before + 1));
		if (i % 3 == 2) {
			must_do(suspend_job(~0U));
			must_do(resume_job());
			continue;
		}
		quiesce(1 + i % 3, true);
		nap();
		quiesce(1 + i % 3, false);
	}
	shm->word[1] = 1;
	reap(pid[1]);
	shm->word[5] = 1;
	reap(pid[0]);
}

static const struct test tests[] = {
	CASE("arguments", test_arguments),
	CASE("posts of a suspended job", test_suspended, .seconds = 60),
	CASE("posts of a device that stands still", test_quiesced, .seconds = 60),
	CASE("RDMA under way when its job is suspended", test_waits_for_rdma, .seconds = 60),
	CASE("suspended, resumed and suspended", test_two_suspends, .seconds = 60),
	CASE("RDMA under way when its device stands still", test_quiesce_rdma, .seconds = 60),
	CASE("signals", test_signals),
	CASE("the switch", test_switch),
	CASE("traffic", test_traffic, .seconds = 60),
};

static const struct test user_tests[] = {
	CASE("a plain user", test_user),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	return RUN_TESTS(tests);
}
