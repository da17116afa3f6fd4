// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: sizes, overrun, waiting, and the repair of holes. Needs two
 * NICs.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "common.h"
#include "core/cqe.h"
#include "core/ring.h"

/* A queue that gets what is written to a region. */
struct bench {
	struct nic n;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	struct region r;
};

static void bench_open(struct bench *b, unsigned int device, uint32_t id, uint32_t entries,
		       gni_cq_mode_t mode)
{
	nic_open(&b->n, device, id);
	b->ep = ep_open(&b->n, b->n.pe, id);
	b->cq = cq_open(&b->n, entries, mode);
	region_open(&b->n, map_private(PAGE), PAGE, b->cq, 0, &b->r);
}

/* One event on the queue of a region. */
static void poke_from(gni_ep_handle_t ep, const struct region *r, uint64_t value)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
	d.remote_mem_hndl = r->mh;
	d.cqwrite_value = value;
	is_rc(GNI_PostCqWrite(ep, &d), GNI_RC_SUCCESS);
}

static void poke(struct bench *b, uint64_t value)
{
	poke_from(b->ep, &b->r, value);
}

static void expect(gni_cq_handle_t cq, uint64_t value)
{
	gni_cq_entry_t e = 0;

	is_rc(GNI_CqGetEvent(cq, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(e), value);
}

static void test_create(void)
{
	static const struct {
		uint32_t entries;
		gni_cq_mode_t mode;
		gni_return_t rc;
	} t[] = {
		{ 0, GNI_CQ_NOBLOCK, GNI_RC_INVALID_PARAM },
		{ 1, GNI_CQ_NOBLOCK, GNI_RC_SUCCESS },
		{ 2, GNI_CQ_BLOCKING, GNI_RC_SUCCESS },
		{ 3, GNI_CQ_PHYS_PAGES, GNI_RC_SUCCESS },
		{ 40000, GNI_CQ_PHYS_PAGES | GNI_CQ_BLOCKING, GNI_RC_SUCCESS },
		{ 16, GNI_CQ_UNMANAGED, GNI_RC_SUCCESS },
		{ 16, GNI_CQ_EMULATED, GNI_RC_INVALID_PARAM },
		{ 16, GNI_CQ_EMULATED_INVALID, GNI_RC_INVALID_PARAM },
		{ 16, 0x10, GNI_RC_INVALID_PARAM },
		{ 16, 0x80000000, GNI_RC_INVALID_PARAM },
		{ 1 << 20, GNI_CQ_NOBLOCK, GNI_RC_SUCCESS },
		{ (1 << 20) + 1, GNI_CQ_NOBLOCK, GNI_RC_ERROR_RESOURCE },
		{ 1U << 31, GNI_CQ_NOBLOCK, GNI_RC_ERROR_RESOURCE },
		{ ~0U, GNI_CQ_BLOCKING, GNI_RC_ERROR_RESOURCE },
	};
	gni_cq_handle_t cq;
	struct nic n;
	unsigned int i;

	nic_open(&n, 0, 1);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		is_rc(GNI_CqCreate(n.h, t[i].entries, 0, t[i].mode, NULL, NULL, &cq), t[i].rc,
		      "%u entries, mode %#x", t[i].entries, t[i].mode);
		if (t[i].rc == GNI_RC_SUCCESS) {
			is_empty(cq);
			is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
			is_rc(GNI_CqDestroy(cq), GNI_RC_INVALID_PARAM, "twice");
		}
	}
	is_rc(GNI_CqCreate(n.h, 16, 0, 0, NULL, NULL, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqCreate(NULL, 16, 0, 0, NULL, NULL, &cq), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqCreate(n.h, 16, 1000, GNI_CQ_BLOCKING, NULL, NULL, &cq), GNI_RC_SUCCESS);
	nic_close(&n);
}

static void test_run_out(void)
{
	static gni_cq_handle_t cq[8192];
	gni_return_t rc = GNI_RC_SUCCESS;
	gni_job_res_desc_t res = { 0 };
	struct nic n;
	uint8_t ptag;
	unsigned int i;

	nic_open(&n, 0, 1);
	must_do(GNI_GetPtag(0, COOKIE, &ptag));
	must_do(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_CQ, &res));
	must(res.limit < ARRAY_SIZE(cq));
	for (i = 0; i < ARRAY_SIZE(cq) && rc == GNI_RC_SUCCESS; i++)
		rc = GNI_CqCreate(n.h, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq[i]);
	is_rc(rc, GNI_RC_ERROR_RESOURCE);
	is_u64(i - 1, res.limit - res.used);
	is_rc(GNI_CqDestroy(cq[i / 2]), GNI_RC_SUCCESS);
	is_rc(GNI_CqCreate(n.h, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq[i / 2]), GNI_RC_SUCCESS);
}

static void test_capacity(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 64, 1000, 4097 };
	unsigned int i, j, turn;
	struct bench b;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bench_open(&b, 0, 1, sizes[i], GNI_CQ_NOBLOCK);
		for (turn = 0; turn < 3; turn++) {
			for (j = 0; j < sizes[i]; j++)
				poke(&b, 1000 * turn + j);
			is_rc(GNI_CqTestEvent(b.cq), GNI_RC_SUCCESS);
			for (j = 0; j < sizes[i]; j++)
				expect(b.cq, 1000 * turn + j);
			is_empty(b.cq);
			is_rc(GNI_CqTestEvent(b.cq), GNI_RC_NOT_DONE);
		}
		GNI_EpDestroy(b.ep);
		nic_close(&b.n);
	}
}

static void expect_overrun(gni_cq_handle_t cq)
{
	gni_cq_entry_t e = 0;

	is_rc(GNI_CqGetEvent(cq, &e), GNI_RC_ERROR_RESOURCE);
	ok(e >> 63 && gni_cq_overrun(e), "entry %#llx", (unsigned long long)e);
}

static void test_overrun(void)
{
	gni_cq_entry_t e = 0;
	struct bench b;
	uint32_t which = 77;
	unsigned int i, turn;

	bench_open(&b, 0, 1, 8, GNI_CQ_BLOCKING);
	for (turn = 0; turn < 3; turn++) {
		for (i = 0; i < 8 + turn; i++)
			poke(&b, i);
		if (!turn) {
			is_rc(GNI_CqTestEvent(b.cq), GNI_RC_SUCCESS);
			poke(&b, 8);
		}
		is_rc(GNI_CqTestEvent(b.cq), GNI_RC_ERROR_RESOURCE);
		expect_overrun(b.cq);
		is_rc(GNI_CqTestEvent(b.cq), GNI_RC_SUCCESS, "reported once");
		for (i = 0; i < 8; i++)
			expect(b.cq, i);
		is_empty(b.cq);
		poke(&b, 99);
		expect(b.cq, 99);
	}
	/* Some room, then more lost; and the same by the calls that wait. */
	for (i = 0; i < 9; i++)
		poke(&b, i);
	is_rc(GNI_CqWaitEvent(b.cq, 1000, &e), GNI_RC_ERROR_RESOURCE);
	ok(gni_cq_overrun(e));
	expect(b.cq, 0);
	poke(&b, 10);
	poke(&b, 11);
	is_rc(GNI_CqVectorWaitEvent(&b.cq, 1, 1000, &e, &which), GNI_RC_ERROR_RESOURCE);
	ok(gni_cq_overrun(e));
	is_u64(which, 0);
	for (i = 1; i < 8; i++)
		expect(b.cq, i);
	expect(b.cq, 10);
	is_empty(b.cq);
}

/* The data of what finds no room in the queue is delivered all the same. */
static void test_overrun_data(void)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;
	gni_return_t rc;
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 2, GNI_CQ_NOBLOCK);
	for (i = 0; i < 4; i++) {
		uint64_t value = i + 1;

		desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT);
		desc_move(&d, &value, NULL, &b.r, 8 * i, 8);
		must_do(GNI_PostFma(b.ep, &d));
		rc = complete(b.n.tx, &d, &e);
		if (rc != GNI_RC_SUCCESS)
			ok(i >= 2 && gni_cq_rem_overrun(e), "put %d: %s", i, rc_name(rc));
		is_u64(((uint64_t *)b.r.addr)[i], value);
	}
	expect_overrun(b.cq);
}

static void test_unmanaged(void)
{
	gni_post_descriptor_t d;
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 2, GNI_CQ_UNMANAGED);
	for (i = 0; i < 50; i++) {
		desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_GLOBAL_EVENT);
		d.remote_mem_hndl = b.r.mh;
		d.cqwrite_value = i;
		is_rc(post_wait(b.ep, b.n.tx, &d), GNI_RC_SUCCESS);
	}
	is_empty(b.cq);
	is_rc(GNI_CqTestEvent(b.cq), GNI_RC_NOT_DONE);
}

static void test_destroy(void)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct bench b;

	bench_open(&b, 0, 1, 16, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(b.n.h, b.cq, &ep));
	is_rc(GNI_CqDestroy(b.cq), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(b.cq), GNI_RC_SUCCESS, "a region that uses it doesn't count");
	is_rc(GNI_CqDestroy(b.cq), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqDestroy(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqTestEvent(b.cq), GNI_RC_INVALID_PARAM);
	/* The region lives on without its queue. */
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT);
	desc_move(&d, "abc", NULL, &b.r, 0, 4);
	is_rc(post_wait(b.ep, b.n.tx, &d), GNI_RC_SUCCESS);
	ok(!strcmp((char *)b.r.addr, "abc"));
}

/* --- waiting ------------------------------------------------------------------- */

static void test_wait(void)
{
	gni_cq_entry_t e = 0;
	uint64_t began, took;
	struct bench b;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	is_rc(GNI_CqWaitEvent(b.n.tx, 10, &e), GNI_RC_ERROR_RESOURCE, "not a blocking queue");
	is_rc(GNI_CqWaitEvent(NULL, 10, &e), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqWaitEvent(b.cq, 10, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqWaitEvent(b.cq, 0, &e), GNI_RC_TIMEOUT, "a look");
	began = now_ms();
	is_rc(GNI_CqWaitEvent(b.cq, 50, &e), GNI_RC_TIMEOUT);
	took = now_ms() - began;
	ok(took >= 49 && took < 10000, "%llu ms", (unsigned long long)took);
	poke(&b, 5);
	poke(&b, 6);
	poke(&b, 7);
	is_rc(GNI_CqWaitEvent(b.cq, 0, &e), GNI_RC_SUCCESS, "a look");
	is_u64(gni_cq_get_data(e), 5);
	is_rc(GNI_CqWaitEvent(b.cq, FOREVER, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(e), 6);
	expect(b.cq, 7);
}

struct waiter {
	gni_cq_handle_t cq[9];
	unsigned int count;
	bool monitor;
	uint64_t timeout;
	_Atomic pid_t tid;
	gni_return_t rc;
	gni_cq_entry_t event;
	uint32_t which;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	w->tid = thread_id();
	if (w->monitor)
		w->rc = GNI_CqVectorMonitor(w->cq, w->count, w->timeout, &w->which);
	else if (w->count)
		w->rc = GNI_CqVectorWaitEvent(w->cq, w->count, w->timeout, &w->event, &w->which);
	else
		w->rc = GNI_CqWaitEvent(w->cq[0], w->timeout, &w->event);
	return NULL;
}

static pthread_t start_waiter(struct waiter *w)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, wait_thread, w));
	ok(wait_for(w->tid && asleep(w->tid)), "the waiter sleeps");
	return thread;
}

static void test_wake(void)
{
	struct waiter w = { .timeout = FOREVER };
	pthread_t thread;
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	for (i = 0; i < 20; i++) {
		w.cq[0] = b.cq;
		w.tid = 0;
		w.timeout = i & 1 ? FOREVER : 15000;
		thread = start_waiter(&w);
		poke(&b, i);
		pthread_join(thread, NULL);
		is_rc(w.rc, GNI_RC_SUCCESS);
		is_u64(gni_cq_get_data(w.event), i);
	}
}

static void poke_peer(void *arg)
{
	const struct region *r = (struct region *)shm->bytes;
	gni_ep_handle_t ep;
	struct nic n;
	int i;

	nic_open(&n, *(unsigned int *)arg, 2);
	ep = ep_open(&n, r->pe, r->id);
	for (i = 0; i < 20; i++) {
		take(0);
		ok(wait_for(asleep(shm->word[0])), "the waiter sleeps");
		poke_from(ep, r, i);
	}
}

/* The peer pokes when it sees that this process sleeps. */
static void wake_from_peer(unsigned int device)
{
	gni_cq_entry_t e = 0;
	struct bench b;
	pid_t pid;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	memcpy(shm->bytes, &b.r, sizeof(b.r));
	shm->word[0] = getpid();
	pid = peer(poke_peer, &device);
	for (i = 0; i < 20; i++) {
		give(0);
		is_rc(GNI_CqWaitEvent(b.cq, FOREVER, &e), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_data(e), i);
	}
	reap(pid);
}

static void test_wake_process(void)
{
	wake_from_peer(0);
}

static void test_wake_other_nic(void)
{
	wake_from_peer(1);
}

/* With a delay count, the sleeper wakes at the latest when it is exceeded. */
static void test_delay(void)
{
	struct waiter w = { .timeout = FOREVER };
	pthread_t thread;
	struct region r;
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_NOBLOCK);
	must_do(GNI_CqCreate(b.n.h, 16, 3, GNI_CQ_BLOCKING, NULL, NULL, &w.cq[0]));
	region_open(&b.n, map_private(PAGE), PAGE, w.cq[0], 0, &r);
	thread = start_waiter(&w);
	for (i = 0; i < 4; i++)
		poke_from(b.ep, &r, i);
	pthread_join(thread, NULL);
	is_rc(w.rc, GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(w.event), 0);
	for (i = 1; i < 4; i++)
		expect(w.cq[0], i);
}

#define VECTOR	9

/* Queues on two NICs, each with a region of its own. */
struct vector {
	struct bench b[2];
	gni_cq_handle_t cq[VECTOR];
	struct region r[VECTOR];
};

static void vector_open(struct vector *v)
{
	int i;

	for (i = 0; i < 2; i++)
		bench_open(&v->b[i], i, i + 1, 16, GNI_CQ_BLOCKING);
	for (i = 0; i < VECTOR; i++) {
		struct nic *n = &v->b[i & 1].n;

		v->cq[i] = cq_open(n, 16, GNI_CQ_BLOCKING);
		region_open(n, map_private(PAGE), PAGE, v->cq[i], 0, &v->r[i]);
	}
}

static void vector_poke(struct vector *v, int i, uint64_t value)
{
	poke_from(v->b[i & 1].ep, &v->r[i], value);
}

static void test_vector_wait(void)
{
	gni_cq_entry_t e = 0;
	uint64_t began;
	struct vector v;
	uint32_t which;
	int n, i;

	vector_open(&v);
	for (n = 1; n <= VECTOR; n++) {
		is_rc(GNI_CqVectorWaitEvent(v.cq, n, 0, &e, &which), GNI_RC_TIMEOUT);
		for (i = 0; i < n; i++) {
			which = 99;
			vector_poke(&v, i, 100 * n + i);
			is_rc(GNI_CqVectorWaitEvent(v.cq, n, FOREVER, &e, &which), GNI_RC_SUCCESS);
			is_u64(which, i, "of %d queues", n);
			is_u64(gni_cq_get_data(e), 100 * n + i);
		}
	}
	began = now_ms();
	is_rc(GNI_CqVectorWaitEvent(v.cq, VECTOR, 50, &e, &which), GNI_RC_TIMEOUT);
	ok(now_ms() - began >= 49);
	is_rc(GNI_CqVectorWaitEvent(NULL, 2, 10, &e, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqVectorWaitEvent(v.cq, 0, 10, &e, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqVectorWaitEvent(v.cq, 2, 10, NULL, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqVectorWaitEvent(v.cq, 2, 10, &e, NULL), GNI_RC_INVALID_PARAM);
	v.cq[1] = v.b[0].n.tx;
	is_rc(GNI_CqVectorWaitEvent(v.cq, 2, 10, &e, &which), GNI_RC_ERROR_RESOURCE,
	      "one is not blocking");
	v.cq[1] = NULL;
	is_rc(GNI_CqVectorWaitEvent(v.cq, 2, 10, &e, &which), GNI_RC_INVALID_PARAM);
}

static void test_vector_monitor(void)
{
	struct vector v;
	uint32_t which;
	int n, i;

	vector_open(&v);
	for (n = 2; n <= VECTOR; n++) {
		is_rc(GNI_CqVectorMonitor(v.cq, n, 0, &which), GNI_RC_TIMEOUT);
		for (i = 0; i < n; i++) {
			which = 99;
			vector_poke(&v, i, i);
			vector_poke(&v, i, i + 50);
			is_rc(GNI_CqVectorMonitor(v.cq, n, FOREVER, &which), GNI_RC_SUCCESS);
			is_u64(which, i, "of %d queues", n);
			is_rc(GNI_CqVectorMonitor(v.cq, n, FOREVER, &which), GNI_RC_SUCCESS,
			      "the event stays");
			is_u64(which, i);
			expect(v.cq[i], i);
			is_rc(GNI_CqVectorMonitor(v.cq, n, FOREVER, &which), GNI_RC_SUCCESS,
			      "level triggered");
			is_u64(which, i);
			expect(v.cq[i], i + 50);
		}
	}
	is_rc(GNI_CqVectorMonitor(v.cq, VECTOR, 30, &which), GNI_RC_TIMEOUT);
	is_rc(GNI_CqVectorMonitor(NULL, 2, 10, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqVectorMonitor(v.cq, 0, 10, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqVectorMonitor(v.cq, 2, 10, NULL), GNI_RC_INVALID_PARAM);
	v.cq[0] = v.b[0].n.tx;
	is_rc(GNI_CqVectorMonitor(v.cq, 2, 10, &which), GNI_RC_ERROR_RESOURCE);
	v.cq[0] = (gni_cq_handle_t)0x1234;
	is_rc(GNI_CqVectorMonitor(v.cq, 2, 10, &which), GNI_RC_INVALID_PARAM);
}

static void test_vector_wake(void)
{
	struct vector v;
	int i;

	vector_open(&v);
	for (i = 0; i < 2 * VECTOR; i++) {
		struct waiter w = { .count = VECTOR, .monitor = i & 1, .timeout = FOREVER };
		int from = i / 2;
		pthread_t thread;

		memcpy(w.cq, v.cq, sizeof(w.cq));
		thread = start_waiter(&w);
		vector_poke(&v, from, i);
		pthread_join(thread, NULL);
		is_rc(w.rc, GNI_RC_SUCCESS);
		is_u64(w.which, from);
		if (w.monitor)
			expect(v.cq[from], i);
		else
			is_u64(gni_cq_get_data(w.event), i);
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	sigaction(SIGUSR1, &act, NULL);
	for (i = 0; i < 3; i++) {
		struct waiter w = {
			.cq = { b.cq }, .count = i ? 1 : 0, .monitor = i == 2,
			.timeout = i & 1 ? FOREVER : 15000,
		};
		pthread_t thread = start_waiter(&w);

		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
		is_rc(w.rc, i ? GNI_RC_NOT_DONE : GNI_RC_INVALID_STATE, "call %d", i);
	}
	poke(&b, 1);
	expect(b.cq, 1);
}

static void test_cancel(void)
{
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	for (i = 0; i < 3; i++) {
		struct waiter w = {
			.cq = { b.cq }, .count = i ? 1 : 0, .monitor = i == 2, .timeout = FOREVER,
		};
		pthread_t thread = start_waiter(&w);
		void *result = NULL;

		pthread_cancel(thread);
		pthread_join(thread, &result);
		ok(result == PTHREAD_CANCELED, "call %d", i);
		/* It has left no lock behind. */
		poke(&b, i);
		expect(b.cq, i);
	}
	GNI_EpDestroy(b.ep);
	is_rc(GNI_CqDestroy(b.cq), GNI_RC_SUCCESS);
}

/* Two threads sleep on one queue; each event wakes one for good. */
static void test_two_waiters(void)
{
	struct waiter w[2] = { { .timeout = 20000 }, { .timeout = 20000 } };
	pthread_t thread[2];
	struct bench b;
	int i;

	bench_open(&b, 0, 1, 16, GNI_CQ_BLOCKING);
	for (i = 0; i < 2; i++) {
		w[i].cq[0] = b.cq;
		thread[i] = start_waiter(&w[i]);
	}
	poke(&b, 1);
	poke(&b, 2);
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		is_rc(w[i].rc, GNI_RC_SUCCESS);
	}
	is_u64(gni_cq_get_data(w[0].event) + gni_cq_get_data(w[1].event), 3);
}

/* --- handler, errors, entries -------------------------------------------------- */

static gni_cq_entry_t handled[8];
static unsigned int handled_count;

static void handler(gni_cq_entry_t *event, void *context)
{
	ok(context == &handled_count);
	if (handled_count < ARRAY_SIZE(handled))
		handled[handled_count] = *event;
	handled_count++;
}

static void test_handler(void)
{
	gni_post_descriptor_t d;
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	gni_ep_handle_t ep;
	struct region r;
	uint32_t which = 9;
	struct nic n;

	nic_open(&n, 0, 1);
	must_do(GNI_CqCreate(n.h, 16, 0, GNI_CQ_BLOCKING, handler, &handled_count, &cq));
	must_do(GNI_EpCreate(n.h, cq, &ep));
	must_do(GNI_EpBind(ep, n.pe, 7));
	region_open(&n, map_private(PAGE), PAGE, NULL, GNI_MEM_READ_ONLY, &r);
	is_empty(cq);
	is_u64(handled_count, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, "a", NULL, &r, 0, 1);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
	is_rc(complete(cq, &d, &e), GNI_RC_TRANSACTION_ERROR);
	is_u64(handled_count, 1);
	is_u64(handled[0], e);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
	is_rc(GNI_CqWaitEvent(cq, 1000, &e), GNI_RC_TRANSACTION_ERROR);
	is_u64(handled_count, 2);
	is_u64(handled[1], e);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
	is_rc(GNI_CqVectorWaitEvent(&cq, 1, 1000, &e, &which), GNI_RC_TRANSACTION_ERROR);
	is_u64(which, 0);
	is_u64(handled_count, 3);
	is_u64(handled[2], e);
}

static void test_errors(void)
{
	gni_post_descriptor_t d, *done;
	uint32_t recoverable = 77, status;
	char text[1024], small[1];
	gni_cq_entry_t e = 0;
	struct bench b;

	bench_open(&b, 0, 1, 16, GNI_CQ_NOBLOCK);
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, "a", NULL, &b.r, 10 * PAGE, 1);
	must_do(GNI_PostFma(b.ep, &d));
	is_rc(next_event(b.n.tx, &e), GNI_RC_TRANSACTION_ERROR);
	is_rc(GNI_GetCompleted(b.n.tx, e, &done), GNI_RC_TRANSACTION_ERROR);
	for (status = KGNI_ST_OK; status < KGNI_ST_COUNT; status++) {
		gni_cq_entry_t made = kgni_cqe_done(0, KGNI_CQE_FMA, status);

		memset(text, 0xff, sizeof(text));
		is_rc(GNI_CqErrorStr(made, text, 256), GNI_RC_SUCCESS, "status %u", status);
		ok(memchr(text, 0, 256) && text[0], "status %u", status);
		is_rc(GNI_CqErrorStr(made, small, 1), GNI_RC_SIZE_ERROR, "status %u", status);
		recoverable = 77;
		is_rc(GNI_CqErrorRecoverable(made, &recoverable), GNI_RC_SUCCESS, "status %u",
		      status);
		ok(recoverable == 0 || recoverable == 1, "status %u", status);
	}
	for (; status < 16; status++)
		is_rc(GNI_CqErrorRecoverable(kgni_cqe_done(0, KGNI_CQE_FMA, status),
					     &recoverable), GNI_RC_INVALID_STATE, "%u", status);
	is_rc(GNI_CqErrorStr(e, NULL, 256), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqErrorRecoverable(e, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqErrorRecoverable(kgni_cqe_done(0, KGNI_CQE_FMA, KGNI_ST_LINK), &recoverable),
	      GNI_RC_SUCCESS);
	is_u64(recoverable, 1, "a lost link");
	is_rc(GNI_CqErrorRecoverable(e, &recoverable), GNI_RC_SUCCESS);
	is_u64(recoverable, 0, "out of bounds");
}

/*
 * Events of the deadlock avoidance buffers would have these. So none of ours has: of
 * whichever source, type and status, of one's own or a peer's transactions, of a
 * collective engine, of lost events.
 */
static void no_buffers(gni_cq_entry_t e)
{
	is_u64(gni_cq_get_block_id(e), 0, "entry %#llx", (unsigned long long)e);
	is_u64(gni_cq_get_unsuccessful_cnt(e), 0, "entry %#llx", (unsigned long long)e);
	is_u64(gni_cq_get_marker_id(e), 0, "entry %#llx", (unsigned long long)e);
	is_u64(gni_cq_get_failed_enqueue_cnt(e), 0, "entry %#llx", (unsigned long long)e);
}

static void test_no_buffers(void)
{
	unsigned int status;

	for (status = 0; status < KGNI_ST_COUNT; status++) {
		no_buffers(kgni_cqe_done(kgni_cqe_post(~0U, ~0U), KGNI_CQE_FMA, status));
		no_buffers(kgni_cqe_done(kgni_cqe_post(~0U, ~0U), KGNI_CQE_BTE, status));
		no_buffers(kgni_cqe_done(kgni_cqe_smsg(~0U, ~0U, KGNI_CQE_SMSG), KGNI_CQE_FMA,
					 status));
		no_buffers(kgni_cqe_done(kgni_cqe_smsg(~0U, ~0U, KGNI_CQE_MSGQ), KGNI_CQE_FMA,
					 status));
		no_buffers(kgni_cqe_ce(~0U, ~0ULL, status));
	}
	no_buffers(kgni_cqe_remote(~0ULL, GNI_POST_CQWRITE, KGNI_CQE_POST));
	no_buffers(kgni_cqe_remote(~0ULL, GNI_POST_FMA_PUT, KGNI_CQE_SMSG));
	no_buffers(kgni_cqe_hole());
	no_buffers(kgni_cqe_overrun());
}

static void test_accessors(void)
{
	gni_cq_entry_t e = kgni_cqe_done(kgni_cqe_post(0, 0), KGNI_CQE_BTE, KGNI_ST_BOUNDS);

	gni_cq_set_inst_id(&e, 0x12abcdef);
	is_u64(gni_cq_get_inst_id(e), 0xabcdef);
	gni_cq_set_tid(&e, 0x1fffffff);
	is_u64(gni_cq_get_tid(e), 0x1fffffff);
	is_u64(gni_cq_get_inst_id(e), 0xabcdef);
	is_u64(gni_cq_get_msg_id(e) & 0xffffff, 0xabcdef, "aliases the instance id");
	is_u64(gni_cq_get_status(e), KGNI_ST_BOUNDS);
	is_u64(gni_cq_get_source(e), KGNI_CQE_BTE);
	gni_cq_set_type(&e, GNI_CQ_EVENT_TYPE_MSGQ);
	is_u64(gni_cq_get_type(e), GNI_CQ_EVENT_TYPE_MSGQ);
	gni_cq_clr_status(&e);
	ok(GNI_CQ_STATUS_OK(e));
	e = kgni_cqe_done(kgni_cqe_smsg(0, 5, KGNI_CQE_SMSG), KGNI_CQE_FMA, KGNI_ST_OK);
	gni_cq_set_msg_id(&e, 0x89abcdef);
	is_u64(gni_cq_get_msg_id(e), 0x89abcdef);
	is_u64(gni_cq_get_inst_id(e), 0xabcdef);
	is_u64(gni_cq_get_tid(e), 5);
	e = kgni_cqe_remote(0x123456789abcULL, GNI_POST_CQWRITE, KGNI_CQE_POST);
	is_u64(gni_cq_get_data(e), 0x123456789abcULL);
	is_u64(gni_cq_get_inst_id(e), 0x789abc);
	is_u64(gni_cq_get_rem_inst_id(e), 0x56789abc);
	is_u64(gni_cq_get_trans_type(e), GNI_POST_CQWRITE);
	gni_cq_set_rem_inst_id(&e, 0xfedcba98);
	is_u64(gni_cq_get_rem_inst_id(e), 0xfedcba98);
	ok(!gni_cq_overrun(e) && gni_cq_overrun(e | 1ULL << 63));
	ok(!gni_cq_rem_overrun(e));
	ok(gni_cq_rem_overrun(kgni_cqe_done(0, KGNI_CQE_FMA, KGNI_ST_REM_OVERRUN)));
	ok(!gni_cq_status_dla_overflow(e) && !gni_cq_bte_enq_status(e));
	gni_cq_get_info(e);
}

/* --- holes, by the driver's own interface -------------------------------------- */

struct raw_bench {
	int fd;
	struct raw_cq cq;
	struct kgni_ring_view view;
	struct kgni_ioc_post post;
};

static void raw_bench_open(struct raw_bench *b)
{
	struct kgni_ioc_info info = { 0 };

	b->fd = raw_attach(0, 1, 0);
	must(!ioctl(b->fd, KGNI_IOC_INFO, &info));
	raw_cq_open(b->fd, 8, GNI_CQ_BLOCKING, &b->cq);
	kgni_ring_view_init(&b->view, b->cq.mem, b->cq.slots);
	memset(&b->post, 0, sizeof(b->post));
	b->post.type = GNI_POST_CQWRITE;
	b->post.remote = raw_mem_open(b->fd, map_private(PAGE), PAGE, 0, b->cq.id);
	b->post.remote_pe = info.pe;
}

static void raw_poke(struct raw_bench *b, uint64_t value)
{
	b->post.cqwrite_value = value;
	ok(ioctl(b->fd, KGNI_IOC_POST, &b->post) == GNI_RC_SUCCESS);
}

static void raw_expect(struct raw_bench *b, uint64_t source, uint64_t status, uint64_t data)
{
	uint64_t e = 0;

	is_u64(kgni_ring_pop(&b->view, &e), KGNI_RING_ENTRY);
	is_u64(kgni_cqe_source(e), source);
	is_u64(kgni_cqe_status(e), status);
	is_u64(e & KGNI_CQE_DATA_MASK, data);
}

static int raw_wait(struct raw_bench *b, uint64_t timeout)
{
	struct kgni_cq_ref ref = { .fd = b->fd, .id = b->cq.id };
	struct kgni_ioc_cq_wait arg = {
		.cqs = (uint64_t)&ref, .timeout_ms = timeout, .count = 1,
	};

	return ioctl(b->fd, KGNI_IOC_CQ_WAIT, &arg);
}

/* Map the ring, reserve a slot as a producer does, and never fill it. */
static void reserve_and_stop(void *arg)
{
	struct raw_bench *b = arg;
	struct kgni_ring_view view;
	void *mem = mmap(NULL, b->cq.len, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd,
			 b->cq.offset);

	must(mem != MAP_FAILED);
	kgni_ring_view_init(&view, mem, b->cq.slots);
	__atomic_fetch_add(&view.ring->tail, 1, __ATOMIC_SEQ_CST);
	give(0);
	take(1);
}

static void test_hole(void)
{
	struct raw_bench b;
	uint64_t e;
	pid_t pid;

	raw_bench_open(&b);
	raw_poke(&b, 1);
	pid = peer(reserve_and_stop, &b);
	take(0);
	raw_poke(&b, 2);
	raw_expect(&b, KGNI_CQE_REMOTE, KGNI_ST_OK, 1);
	is_u64(kgni_ring_pop(&b.view, &e), KGNI_RING_EMPTY, "the hole hides what follows");
	is_u64(raw_wait(&b, 0), GNI_RC_TIMEOUT);
	kill(pid, SIGKILL);
	reap_killed(pid);
	is_u64(raw_wait(&b, FOREVER), GNI_RC_SUCCESS);
	raw_expect(&b, KGNI_CQE_DRIVER, KGNI_ST_PRODUCER_DIED, 0);
	raw_expect(&b, KGNI_CQE_REMOTE, KGNI_ST_OK, 2);
	is_u64(kgni_ring_pop(&b.view, &e), KGNI_RING_EMPTY);
	is_u64(b.view.ring->overrun, 0);
}

static void *raw_wait_thread(void *arg)
{
	struct raw_bench *b = arg;

	shm->word[0] = thread_id();
	shm->word[1] = raw_wait(b, FOREVER);
	return NULL;
}

/* The consumer sleeps over the hole; the repair wakes it. */
static void test_hole_sleeper(void)
{
	struct raw_bench b;
	pthread_t thread;
	pid_t pid;

	raw_bench_open(&b);
	pid = peer(reserve_and_stop, &b);
	take(0);
	shm->word[1] = 99;
	must(!pthread_create(&thread, NULL, raw_wait_thread, &b));
	ok(wait_for(shm->word[0] && asleep(shm->word[0])));
	kill(pid, SIGKILL);
	pthread_join(thread, NULL);
	reap_killed(pid);
	is_u64(shm->word[1], GNI_RC_SUCCESS);
	raw_expect(&b, KGNI_CQE_DRIVER, KGNI_ST_PRODUCER_DIED, 0);
}

/* A producer that is slow, not dead, finds its slot taken and starts again. */
static void test_hole_live_producer(void)
{
	struct raw_bench b;
	uint64_t *slot, e = 0;
	void *mem;

	raw_bench_open(&b);
	mem = mmap(NULL, b.cq.len, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, b.cq.offset);
	must(mem != MAP_FAILED);
	slot = &b.view.slots[b.view.ring->tail & b.view.mask];
	__atomic_fetch_add(&b.view.ring->tail, 1, __ATOMIC_SEQ_CST);
	must(!munmap(mem, b.cq.len));
	ok(core_cmpxchg(slot, 0, 5) != 0, "another mapping went, the hole is filled");
	ok(kgni_ring_push(&b.view, 5));
	raw_expect(&b, KGNI_CQE_DRIVER, KGNI_ST_PRODUCER_DIED, 0);
	is_u64(kgni_ring_pop(&b.view, &e), KGNI_RING_ENTRY);
	is_u64(e, 5);
}

/* Whatever a consumer writes into its ring is its own trouble. */
static void test_nonsense_ring(void)
{
	struct raw_bench b;
	uint64_t e = 0;
	int i;

	raw_bench_open(&b);
	for (i = 0; i < 64; i++) {
		uint32_t x = i * 0x9e3779b9 + 1;

		b.view.ring->tail = rnd(&x);
		b.view.ring->head = rnd(&x);
		b.view.ring->armed = rnd(&x) & 1;
		b.view.ring->overrun = rnd(&x) & 1;
		raw_poke(&b, i);
		raw_wait(&b, 1);
	}
	memset(b.cq.mem, 0, b.cq.len);
	raw_poke(&b, 77);
	is_u64(kgni_ring_pop(&b.view, &e), KGNI_RING_ENTRY, "sound again");
	is_u64(e & KGNI_CQE_DATA_MASK, 77);
}

static const struct test tests[] = {
	CASE("create", test_create),
	CASE("queues run out", test_run_out),
	CASE("a queue holds what was asked for", test_capacity),
	CASE("overrun", test_overrun),
	CASE("overrun loses events, not data", test_overrun_data),
	CASE("unmanaged queue", test_unmanaged),
	CASE("destroy", test_destroy),
	CASE("wait: timeout and order", test_wait),
	CASE("wait: woken by a thread", test_wake),
	CASE("wait: woken by a process", test_wake_process),
	CASE("wait: woken from the other NIC", test_wake_other_nic),
	CASE("wait: delay count", test_delay),
	CASE("vector wait over 1 to 9 queues of two NICs", test_vector_wait),
	CASE("vector monitor over 2 to 9 queues of two NICs", test_vector_monitor),
	CASE("vector calls are woken", test_vector_wake),
	CASE("two waiters on one queue", test_two_waiters),
	CASE("a signal ends a wait", test_signal),
	CASE("a thread is cancelled in a wait", test_cancel),
	CASE("handler", test_handler),
	CASE("error strings and recoverability", test_errors),
	CASE("fields of entries", test_accessors),
	CASE("fields that no entry of ours has", test_no_buffers),
	CASE("a dead producer's hole is filled", test_hole),
	CASE("a sleeper over a hole is woken", test_hole_sleeper),
	CASE("a live producer loses its slot and tries again", test_hole_live_producer),
	CASE("a ring full of nonsense", test_nonsense_ring),
};

int main(void)
{
	return RUN_TESTS(tests);
}
