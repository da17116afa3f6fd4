// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balanced injection: what may be set, what waits for what, and that what is moved
 * is held to its share, by the driver's own account of the time.
 *
 *	bi		needs two NICs with PE addresses 1 and 2, root and debugfs
 *	bi user		a plain user may look, and change nothing
 *	bi measure	no test: bandwidths, with and without
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "common.h"

#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT
#define NOW		GNI_BI_FLAG_APPLY_NOW
#define AFTER		GNI_BI_FLAG_APPLY_AFTER_THROTTLE
#define DEFAULTS	GNI_BI_FLAG_USE_DEFAULT_SETTINGS
#define ORBS		GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES
#define ORB_MAX		GNI_BI_INJECT_BW_ORB_MAX
#define LONG_ENOUGH	((uint32_t)PATIENCE)
#define LARGE		(1UL << 20)
#define MS		1000000ULL
#define TURNS		15

static gni_bi_desc_t config(uint32_t device)
{
	gni_bi_desc_t desc;

	must_do(GNI_GetBIConfig(device, &desc));
	return desc;
}

static void set(uint32_t device, uint16_t bw, uint16_t aot_bw, uint16_t modes)
{
	must_do(GNI_SetBIConfig(device, bw, aot_bw, modes));
	must_do(GNI_BISyncWait(device, LONG_ENOUGH));
}

static void quiesce(unsigned int pe, bool on)
{
	int fd = open("/sys/kernel/debug/kgni/quiesce", O_WRONLY);

	must(fd >= 0);
	must(dprintf(fd, "%u %u", pe, on) > 0);
	close(fd);
}

/* --- settings ------------------------------------------------------------------- */

static void test_arguments(void)
{
	gni_bi_desc_t before = config(0), after;
	uint32_t none = device_count();

	is_rc(GNI_GetBIConfig(none, &after), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetBIConfig(64, &after), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetBIConfig(0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(none, 50, 50, NOW), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(64, 50, 50, NOW), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 50, 50, 0), GNI_RC_INVALID_PARAM, "nothing to be done");
	is_rc(GNI_SetBIConfig(0, 50, 50, ORBS), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 50, 50, NOW | 0x10), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 50, 50, 0xffff), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 101, 50, NOW), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 50, 101, AFTER), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 50, 101, NOW | AFTER), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, ORB_MAX + 1, 0, NOW | ORBS), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetBIConfig(0, 0xffff, 0, NOW | ORBS), GNI_RC_INVALID_PARAM);
	is_rc(GNI_BISyncWait(none, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_BISyncWait(64, 0), GNI_RC_INVALID_PARAM);
	after = config(0);
	ok(!memcmp(&before, &after, sizeof(after)), "nothing was changed");
	is_rc(GNI_BISyncWait(0, 0), GNI_RC_SUCCESS, "there is nothing to wait for");
}

static void is_config(uint16_t bw, uint16_t norbs, uint16_t aot_bw, uint16_t flags)
{
	gni_bi_desc_t desc = config(0);

	is_u64(desc.current_bw, bw);
	is_u64(desc.current_norbs, norbs);
	is_u64(desc.current_aot_bw, aot_bw);
	is_u64(desc.flags, flags);
	is_u64(desc.sys_def_bw, 100);
	is_u64(desc.sys_def_aot_bw, 80);
	is_u64(desc.hss_seqnum, desc.cle_seqnum);
}

static void test_settings(void)
{
	uint16_t changes = config(0).cle_seqnum, others = config(1).cle_seqnum;

	set(0, 50, 0xffff, NOW);
	is_config(50, 496, 80, NOW);
	set(0, 0xffff, 30, AFTER);
	is_config(50, 496, 30, AFTER);
	set(0, 0xffff, 0xffff, DEFAULTS | NOW);
	is_config(100, ORB_MAX, 80, DEFAULTS | NOW);
	set(0, 99, 124, NOW | AFTER | ORBS);
	is_config(10, 99, 13, NOW | AFTER | ORBS);
	set(0, 1, 0, NOW | ORBS);
	is_config(1, 1, 80, NOW | ORBS);
	set(0, 0, 0, NOW | AFTER);
	is_config(100, ORB_MAX, 100, NOW | AFTER);
	set(0, 1, 1, NOW);
	is_config(1, 10, 80, NOW);
	set(0, 0xffff, 0xffff, DEFAULTS | ORBS);
	is_config(100, ORB_MAX, 80, DEFAULTS | ORBS);
	is_u64((uint16_t)(config(0).cle_seqnum - changes), 8);
	is_u64(config(1).cle_seqnum, others);
}

/* A device that is quiesced takes a change when it goes on, and then the other one. */
static void test_quiesced(void)
{
	quiesce(1, true);
	must_do(GNI_SetBIConfig(0, 50, 0, NOW));
	is_u64(config(0).current_bw, 100);
	is_rc(GNI_BISyncWait(0, 0), GNI_RC_TIMEOUT);
	is_rc(GNI_BISyncWait(0, 20), GNI_RC_TIMEOUT);
	must_do(GNI_SetBIConfig(0, 40, 0, NOW));
	quiesce(1, false);
	is_rc(GNI_BISyncWait(0, LONG_ENOUGH), GNI_RC_SUCCESS);
	is_u64(config(0).current_bw, 40);
	set(0, 60, 70, NOW | AFTER);
	is_u64(config(0).current_bw, 60);
	quiesce(1, true);
	is_u64(config(0).current_bw, 60);
	quiesce(1, false);
	is_u64(config(0).current_bw, 70);
	is_u64(config(0).current_aot_bw, 70);
	set(0, 0, 0, DEFAULTS | NOW);
	quiesce(1, true);
	quiesce(1, false);
	is_u64(config(0).current_bw, 100);
}

static void test_user(void)
{
	gni_bi_desc_t before = config(0), after;

	is_rc(GNI_SetBIConfig(0, 50, 50, NOW), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SetBIConfig(0, 0xffff, 50, 0xffff), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SetBIConfig(0, 0, 0, DEFAULTS), GNI_RC_PERMISSION_ERROR);
	after = config(0);
	ok(!memcmp(&before, &after, sizeof(after)));
	is_rc(GNI_BISyncWait(0, 0), GNI_RC_SUCCESS);
}

/* --- what is moved ---------------------------------------------------------------- */

enum kind { PUT, SMALL_PUT, GET, AMO, CHAIN, RDMA_PUT, RDMA_GET, RDMA_SMALL, KINDS, BATCH };

/* An attachment that moves to itself, or to one on another NIC. */
struct mover {
	struct nic n, other;
	gni_ep_handle_t ep;
	struct region l, r;
	gni_post_descriptor_t d;
	gni_ct_put_post_descriptor_t second;
};

static void mover_open(struct mover *m, uint32_t from, uint32_t to)
{
	nic_open(&m->n, from, 1);
	nic_open(&m->other, to, 2);
	is_rc(GNI_CqDestroy(m->n.tx), GNI_RC_SUCCESS);
	m->n.tx = cq_open(&m->n, CQ_ENTRIES, GNI_CQ_BLOCKING);
	region_open(&m->n, map_private(LARGE), LARGE, NULL, 0, &m->l);
	region_open(&m->other, map_private(LARGE), LARGE, NULL, 0, &m->r);
	m->ep = ep_open(&m->n, m->other.pe, 2);
}

static void mover_close(struct mover *m)
{
	must_do(GNI_EpDestroy(m->ep));
	nic_close(&m->n);
	nic_close(&m->other);
}

static gni_post_type_t type_of(enum kind kind)
{
	switch (kind) {
	case GET: return GNI_POST_FMA_GET;
	case RDMA_PUT:
	case RDMA_SMALL: return GNI_POST_RDMA_PUT;
	case RDMA_GET: return GNI_POST_RDMA_GET;
	default: return GNI_POST_FMA_PUT;
	}
}

/* Many at once, so that the device is never idle. Who waits for them sleeps. */
static void move_batch(struct mover *m)
{
	static gni_post_descriptor_t d[32];
	gni_post_descriptor_t *done;
	gni_cq_entry_t e;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(d); i++) {
		desc_init(&d[i], GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d[i], (void *)m->l.addr, &m->l.mh, &m->r, 0, LARGE);
		must_do(GNI_PostRdma(m->ep, &d[i]));
	}
	for (i = 0; i < ARRAY_SIZE(d); i++) {
		must_do(GNI_CqWaitEvent(m->n.tx, LONG_ENOUGH, &e));
		must_do(GNI_GetCompleted(m->n.tx, e, &done));
	}
}

static void move(struct mover *m, enum kind kind)
{
	size_t len = kind == SMALL_PUT || kind == RDMA_SMALL || kind == CHAIN ? 64 : LARGE;
	unsigned char *local = (void *)m->l.addr;
	gni_post_descriptor_t *d = &m->d;
	gni_cq_entry_t e;

	if (kind == BATCH) {
		move_batch(m);
		return;
	}
	if (kind == AMO) {
		desc_amo(d, GNI_FMA_ATOMIC_ADD, NULL, NULL, &m->r, 0, 8, 0, 0);
		must_do(post_wait(m->ep, m->n.tx, d));
		return;
	}
	desc_init(d, type_of(kind), GLOBAL);
	desc_move(d, local, &m->l.mh, &m->r, 0, len);
	if (kind != CHAIN) {
		must_do(post_wait(m->ep, m->n.tx, d));
		return;
	}
	m->second = (gni_ct_put_post_descriptor_t){
		.local_addr = m->l.addr, .remote_addr = m->r.addr + 64,
		.remote_mem_hndl = m->r.mh, .length = 64,
	};
	d->next_descr = &m->second;
	must_do(GNI_CtPostFma(m->ep, d));
	must_do(complete(m->n.tx, d, &e));
}

static struct kgni_ioc_bi_get account(uint32_t device)
{
	struct kgni_ioc_bi_get got;
	int fd = raw_open(device);

	must(!ioctl(fd, KGNI_IOC_BI_GET, &got));
	close(fd);
	return got;
}

/* A share of @num out of @den, with this flag, holds each kind to it. */
static void is_held(struct mover *m, enum kind kind, uint64_t num, uint64_t den, uint16_t orbs)
{
	struct kgni_ioc_bi_get before, after;
	uint64_t open, closed, late, owed, began;
	unsigned int n = 0;

	set(0, num, 0, NOW | orbs);
	before = account(0);
	began = now_ms();
	fill((void *)m->l.addr, LARGE, 7);
	memset((void *)m->r.addr, 0, LARGE);
	do {
		move(m, kind);
		after = account(0);
		n++;
	} while (after.open_ns - before.open_ns < 10 * MS);
	open = after.open_ns - before.open_ns;
	closed = after.closed_ns - before.closed_ns;
	late = after.late_ns - before.late_ns;
	owed = open * (den - num) / num;
	/* Rounded down for each stretch, and there are a few. */
	ok(closed + n + 1000 >= owed, "kind %u: closed %lu, owed %lu", kind, closed, owed);
	ok(closed - late <= owed, "kind %u: closed %lu, late %lu, owed %lu", kind, closed, late,
	   owed);
	ok((now_ms() - began + 1) * MS >= open + closed, "kind %u", kind);
	if (kind == PUT || kind == RDMA_PUT)
		ok(filled((void *)m->r.addr, LARGE, 7), "kind %u", kind);
}

static void test_held(void)
{
	enum kind kind;
	struct mover m;

	mover_open(&m, 0, 0);
	for (kind = 0; kind < KINDS; kind++) {
		is_held(&m, kind, 50, 100, 0);
		is_held(&m, kind, 248, ORB_MAX, ORBS);
	}
	is_held(&m, PUT, 10, 100, 0);
	is_held(&m, RDMA_PUT, 10, 100, 0);
	set(0, 0, 0, DEFAULTS);
	mover_close(&m);
}

/* What one device is held to is nothing to another one, but where it moves to that. */
static void test_other_device(void)
{
	struct kgni_ioc_bi_get before = account(1), after;
	struct mover m;

	mover_open(&m, 0, 1);
	is_held(&m, RDMA_PUT, 50, 100, 0);
	is_held(&m, GET, 50, 100, 0);
	mover_close(&m);
	mover_open(&m, 1, 0);
	move(&m, RDMA_PUT);
	move(&m, PUT);
	mover_close(&m);
	after = account(1);
	is_u64(after.open_ns, before.open_ns);
	is_u64(after.closed_ns, before.closed_ns);
	set(0, 0, 0, DEFAULTS);
}

/* Not held at all: nothing is counted. */
static void test_free(void)
{
	struct kgni_ioc_bi_get before = account(0), after;
	enum kind kind;
	struct mover m;

	mover_open(&m, 0, 0);
	for (kind = 0; kind < KINDS; kind++)
		move(&m, kind);
	after = account(0);
	is_u64(after.open_ns, before.open_ns);
	is_u64(after.closed_ns, before.closed_ns);
	mover_close(&m);
}

/* --- what waits -------------------------------------------------------------------- */

/* Moves until it is told to stop; sleeps most of the time. */
static void moves(void *arg)
{
	enum kind kind = *(enum kind *)arg;
	struct mover m;

	mover_open(&m, 0, 0);
	give(0);
	while (!shm->word[0]) {
		move(&m, kind);
		shm->word[1]++;
	}
	mover_close(&m);
}

/*
 * A share that holds for 0.4 s after each stretch, which has 2 ms, and for 6 s after the
 * longest one that counts: less than is waited for the next to begin.
 */
#define LITTLE	5

static pid_t hold_one(enum kind *kind)
{
	uint64_t closed;
	pid_t pid;

	set(0, LITTLE, 0, NOW | ORBS);
	closed = account(0).open_ns;
	pid = peer(moves, kind);
	take(0);
	/* A stretch has ended and it has begun another one: it is being held. */
	must(wait_for(account(0).open_ns > closed));
	return pid;
}

static void test_goes_on(void)
{
	enum kind kinds[] = { PUT, SMALL_PUT, RDMA_PUT };
	uint64_t moved;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		pid = hold_one(&kinds[i]);
		set(0, 0, 0, NOW);
		moved = shm->word[1];
		ok(wait_for(shm->word[1] > moved + 10), "kind %u", kinds[i]);
		shm->word[0] = 1;
		reap(pid);
		shm->word[0] = 0;
	}
	set(0, 0, 0, DEFAULTS);
}

static void test_ended(void)
{
	enum kind kinds[] = { PUT, SMALL_PUT, RDMA_PUT, RDMA_SMALL, AMO, CHAIN };
	unsigned int i;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		pid = hold_one(&kinds[i]);
		must(!kill(pid, SIGKILL));
		reap_killed(pid);
	}
	set(0, 0, 0, DEFAULTS);
}

/* Held and quiesced, and both again and again. */
static void test_both(void)
{
	enum kind kinds[] = { PUT, RDMA_PUT };
	unsigned int i, j;
	uint64_t moved;
	pid_t pid;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		pid = hold_one(&kinds[i]);
		quiesce(1, true);
		set(1, 10, 0, NOW);
		must_do(GNI_SetBIConfig(0, 50, 0, NOW));
		nap();
		quiesce(1, false);
		must_do(GNI_BISyncWait(0, LONG_ENOUGH));
		for (j = 0; j < 20; j++) {
			moved = shm->word[1];
			ok(wait_for(shm->word[1] > moved), "kind %u, turn %u", kinds[i], j);
			quiesce(1, true);
			if (j % 2)
				must_do(GNI_SetBIConfig(0, 10 + j, 30 + j, NOW | AFTER));
			quiesce(1, false);
		}
		shm->word[0] = 1;
		reap(pid);
		shm->word[0] = 0;
	}
	set(0, 0, 0, DEFAULTS);
	set(1, 0, 0, DEFAULTS);
}

/* A device that is deleted holds nobody. */
static void test_deleted(void)
{
	enum kind kind = RDMA_PUT;
	gni_bi_desc_t desc;
	struct mover m;
	pid_t pid;

	must(!system("gnictl dev add kgni5 >/dev/null && chmod 666 /dev/kgni5"));
	mover_open(&m, 5, 5);
	must_do(GNI_SetBIConfig(5, LITTLE, 0, NOW | ORBS));
	pid = hold_one(&kind);
	move(&m, RDMA_PUT);
	must(!system("gnictl dev del kgni5 force"));
	/* The control file is of the one that was. */
	is_rc(GNI_SetBIConfig(5, 1, 0, NOW), GNI_RC_INVALID_PARAM);
	is_rc(GNI_BISyncWait(5, 0), GNI_RC_SUCCESS);
	is_rc(GNI_GetBIConfig(5, &desc), GNI_RC_SUCCESS);
	is_u64(desc.current_bw, 100);
	mover_close(&m);
	set(0, 0, 0, DEFAULTS);
	shm->word[0] = 1;
	reap(pid);
}

/* --- what it comes to ---------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	nanosleep(&t, NULL);
}

/* How many are moved in a time, nanoseconds, and how long it really took. */
static uint64_t moved_in(struct mover *m, enum kind kind, uint64_t ns, uint64_t *took)
{
	uint64_t began, now, n = 0;

	/* So that it begins anywhere in a stretch, or between two. */
	move(m, kind);
	began = now_ns();
	do {
		move(m, kind);
		now = now_ns();
		n++;
	} while (now < began + ns);
	*took += now - began;
	return n;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double rate_of(struct mover *m, enum kind kind, uint64_t ns)
{
	uint64_t took = 0, n = moved_in(m, kind, ns, &took);

	return n * 1e9 / took;
}

/* How fast a loop copies, without GNI, between rests like those of who is held; 100 has none. */
static double copy_rate(struct mover *m, uint16_t percent, uint64_t ns)
{
	uint64_t began = now_ns(), open = 0, since, now, n = 0;

	do {
		since = now_ns();
		do {
			memcpy((void *)m->r.addr, (void *)m->l.addr, LARGE);
			n++;
			now = now_ns();
		} while (now < since + 2 * MS);
		open += now - since;
		sleep_ns((now - since) * (100 - percent) / percent);
	} while (now < began + ns);
	return n * 1e9 / open;
}

static void sort(double *values)
{
	qsort(values, TURNS, sizeof(double), by_size);
}

/*
 * Turn by turn, so that whatever else the machine does is the same for all; what
 * counts is the turn in the middle. Machines are slower after a rest: how much, the
 * loop that copies tells.
 */
static void measure_kind(struct mover *m, enum kind kind, uint16_t percent)
{
	double all[TURNS], some[TURNS], share[TURNS], copy[TURNS], held[TURNS];
	unsigned int i;

	for (i = 0; i < TURNS; i++) {
		set(0, 0, 0, NOW);
		all[i] = rate_of(m, kind, 100 * MS);
		copy[i] = 1 / copy_rate(m, 100, 100 * MS);
		set(0, percent, 0, NOW);
		some[i] = rate_of(m, kind, 300 * MS);
		copy[i] *= copy_rate(m, percent, 300 * MS);
		share[i] = 100 * some[i] / all[i];
		held[i] = share[i] / copy[i];
	}
	sort(all);
	sort(some);
	sort(share);
	sort(copy);
	sort(held);
	diag("%s at %3u %%: %6.0f/s of %6.0f/s, %.1f %% (%.1f-%.1f); copies %.2f as fast: %.1f %%",
	     kind == PUT ? "FMA put, 1 MiB  " : kind == GET ? "FMA get, 1 MiB  " :
	     kind == SMALL_PUT ? "FMA put, 64 B   " : "RDMA, 32 x 1 MiB", percent,
	     some[TURNS / 2], all[TURNS / 2], share[TURNS / 2], share[TURNS / 4],
	     share[3 * TURNS / 4], copy[TURNS / 2], held[TURNS / 2]);
}

/* Through windows, which nothing goes through while a device is held. */
static void measure_windows(void)
{
	struct mover m;

	mover_open(&m, 0, 0);
	diag("without, through windows: FMA put, 1 MiB %.0f/s, 64 B %.0f/s",
	     rate_of(&m, PUT, 500 * MS), rate_of(&m, SMALL_PUT, 500 * MS));
	mover_close(&m);
}

/* What is held is what the driver moves, so that is what it is a share of. */
static void test_measure(void)
{
	static const enum kind kinds[] = { BATCH, PUT, GET, SMALL_PUT };
	static const uint16_t percent[] = { 75, 50, 25, 10 };
	struct mover m;
	size_t i, j;

	measure_windows();
	must(!setenv("UGNI_WINDOWS", "0", 1));
	mover_open(&m, 0, 0);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		for (j = 0; j < ARRAY_SIZE(percent); j++)
			measure_kind(&m, kinds[i], percent[j]);
	set(0, 0, 0, DEFAULTS);
	mover_close(&m);
}

static const struct test tests[] = {
	CASE("wrong arguments", test_arguments),
	CASE("settings", test_settings),
	CASE("while the device is quiesced, and after", test_quiesced),
	CASE("nothing is held without it", test_free),
	CASE("each kind is held to its share", test_held, .seconds = 100),
	CASE("a device of several", test_other_device),
	CASE("who is held goes on when it ends", test_goes_on, .seconds = 100),
	CASE("who is held can be ended", test_ended, .seconds = 100),
	CASE("held and quiesced", test_both, .seconds = 100),
	CASE("on a device that is deleted", test_deleted, .seconds = 60),
};

static const struct test user_tests[] = {
	CASE("a user", test_user),
};

static const struct test measurements[] = {
	CASE("bandwidths", test_measure, .seconds = 300),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	if (argc > 1 && !strcmp(argv[1], "measure"))
		return RUN_TESTS(measurements);
	return RUN_TESTS(tests);
}
