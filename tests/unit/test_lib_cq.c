// SPDX-License-Identifier: GPL-2.0-only
/* Completion queues: entries out of the ring, requests, overrun, waiting. */
#include <time.h>

#include "fake_driver.h"

static u32 cq_id(gni_cq_handle_t cq)
{
	return cq->id;
}

static gni_post_descriptor_t put(void *to, void *from, u64 length, u16 mode)
{
	return (gni_post_descriptor_t){
		.type = GNI_POST_FMA_PUT,
		.cq_mode = mode,
		.local_addr = (uintptr_t)from,
		.remote_addr = (uintptr_t)to,
		.length = length,
	};
}

static void test_bad_handles(void **state)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;
	struct fake_side s;
	gni_cq_handle_t bad[] = { NULL, (void *)8, (void *)-1L, NULL };
	u32 i, which;

	(void)state;
	fake_side(&s, 0, 4);
	bad[3] = (void *)s.ep;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(GNI_CqGetEvent(bad[i], &e), GNI_RC_INVALID_PARAM);
		assert_int_equal(GNI_CqTestEvent(bad[i]), GNI_RC_INVALID_PARAM);
		assert_int_equal(GNI_CqWaitEvent(bad[i], 0, &e), GNI_RC_INVALID_PARAM);
		assert_int_equal(GNI_CqVectorMonitor(&bad[i], 1, 0, &which), GNI_RC_INVALID_PARAM);
		assert_int_equal(GNI_GetCompleted(bad[i], 0, &d), GNI_RC_INVALID_PARAM);
		assert_int_equal(GNI_CqDestroy(bad[i]), GNI_RC_INVALID_PARAM);
	}
	assert_int_equal(GNI_CqGetEvent(s.cq, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqWaitEvent(s.cq, 0, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetCompleted(s.cq, 0, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqCreate(s.nic, 0, 0, 0, NULL, NULL, &bad[0]), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqCreate(NULL, 1, 0, 0, NULL, NULL, &bad[0]), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqCreate(s.nic, 1, 0, 0, NULL, NULL, NULL), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

static void test_get_event(void **state)
{
	gni_post_descriptor_t *d;
	struct fake_side s;
	gni_cq_entry_t e;
	unsigned int calls;

	(void)state;
	fake_side(&s, 0, 4);
	calls = fake.calls;
	assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqTestEvent(s.cq), GNI_RC_NOT_DONE);
	assert_true(fake_push(cq_id(s.cq), kgni_cqe_remote(5, GNI_POST_FMA_PUT, KGNI_CQE_POST)));
	assert_true(fake_push(cq_id(s.cq), kgni_cqe_hole()));
	ok(GNI_CqTestEvent(s.cq));
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_int_equal(GNI_CQ_GET_DATA(e), 5);
	assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	assert_null(d);
	assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_TRANSACTION_ERROR);
	assert_int_equal(GNI_CQ_GET_STATUS(e), KGNI_ST_PRODUCER_DIED);
	assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(calls, fake.calls);
	fake_side_end(&s);
}

static void test_get_completed(void **state)
{
	gni_post_descriptor_t a, b, *d = &b;
	u64 to[2], from[2] = { 1, 2 };
	gni_cq_entry_t e, e2;
	struct fake_side s;

	(void)state;
	fake_side(&s, 0, 4);
	a = put(&to[0], &from[0], 8, GNI_CQMODE_GLOBAL_EVENT);
	b = put(&to[1], &from[1], 8, GNI_CQMODE_LOCAL_EVENT);
	ok(GNI_PostFma(s.ep, &a));
	ok(GNI_PostFma(s.ep, &b));
	/* An event that was not handed out yet completes nothing. */
	e = kgni_cqe_done(fake.last.src_event, KGNI_CQE_FMA, 0) | KGNI_CQE_LOCAL;
	assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	assert_null(d);
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 22);
	ok(GNI_CqGetEvent(s.cq, &e2));
	ok(GNI_GetCompleted(s.cq, e2, &d));
	assert_ptr_equal(d, &b);
	assert_int_equal(b.status, GNI_RC_SUCCESS);
	assert_int_equal(b.cq_mode_complete, GNI_CQMODE_LOCAL_EVENT);
	assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
	ok(GNI_GetCompleted(s.cq, e, &d));
	assert_ptr_equal(d, &a);
	assert_int_equal(a.cq_mode_complete, GNI_CQMODE_GLOBAL_EVENT);
	assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	ok(GNI_EpUnbind(s.ep));
	assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

static void test_error_event(void **state)
{
	gni_post_descriptor_t a, *d;
	u64 to, from = 1;
	gni_cq_entry_t e;
	struct fake_side s;
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	fake.post_status = KGNI_ST_BOUNDS;
	for (i = 0; i < 10; i++) {
		ok(GNI_PostFma(s.ep, &a));
		assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_TRANSACTION_ERROR);
		assert_int_equal(GNI_CQ_GET_STATUS(e), KGNI_ST_BOUNDS);
		assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_TRANSACTION_ERROR);
		assert_ptr_equal(d, &a);
		assert_int_equal(a.status, GNI_RC_TRANSACTION_ERROR);
	}
	fake_side_end(&s);
}

static void test_dual(void **state)
{
	gni_post_descriptor_t a, *d;
	u64 to, from = 1;
	gni_cq_entry_t local, global;
	struct fake_side s;
	int i;

	(void)state;
	fake_side(&s, GNI_CDM_MODE_DUAL_EVENTS, 4);
	a = put(&to, &from, 8, GNI_CQMODE_DUAL_EVENTS);
	for (i = 0; i < 10; i++) {
		a.cq_mode = GNI_CQMODE_DUAL_EVENTS;
		ok(GNI_PostFma(s.ep, &a));
		ok(GNI_CqGetEvent(s.cq, &local));
		assert_int_equal(GNI_GetCompleted(s.cq, local ^ KGNI_CQE_LOCAL, &d),
				 GNI_RC_DESCRIPTOR_ERROR);
		ok(GNI_GetCompleted(s.cq, local, &d));
		assert_ptr_equal(d, &a);
		assert_int_equal(a.cq_mode_complete, GNI_CQMODE_LOCAL_EVENT);
		a.cq_mode = 0;	/* the client's to change */
		assert_int_equal(GNI_GetCompleted(s.cq, local, &d), GNI_RC_DESCRIPTOR_ERROR);
		assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
		ok(GNI_CqGetEvent(s.cq, &global));
		ok(GNI_GetCompleted(s.cq, global, &d));
		assert_ptr_equal(d, &a);
		assert_int_equal(a.cq_mode_complete, GNI_CQMODE_GLOBAL_EVENT);
		assert_int_equal(GNI_GetCompleted(s.cq, global, &d), GNI_RC_DESCRIPTOR_ERROR);
	}
	/* Half as many posts as entries, whatever their events. */
	a.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	ok(GNI_PostFma(s.ep, &a));
	ok(GNI_PostFma(s.ep, &a));
	assert_int_equal(GNI_PostFma(s.ep, &a), GNI_RC_ERROR_RESOURCE);
	fake_side_end(&s);
	fake_side(&s, 0, 4);
	a.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	assert_int_equal(GNI_PostFma(s.ep, &a), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

/* As many posts as entries on each endpoint and queue, none more. */
static void test_limit(void **state)
{
	gni_post_descriptor_t a, b, *d;
	u64 to, from = 1;
	gni_cq_entry_t e;
	gni_cq_handle_t other;
	struct fake_side s;
	int i;

	(void)state;
	fake_side(&s, 0, 5);
	ok(GNI_CqCreate(s.nic, 3, 0, 0, NULL, NULL, &other));
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	b = a;
	b.type = GNI_POST_RDMA_PUT;
	b.src_cq_hndl = other;
	for (i = 0; i < 5; i++)
		ok(GNI_PostFma(s.ep, &a));
	assert_int_equal(GNI_PostFma(s.ep, &a), GNI_RC_ERROR_RESOURCE);
	for (i = 0; i < 3; i++)
		ok(GNI_PostRdma(s.ep, &b));
	assert_int_equal(GNI_PostRdma(s.ep, &b), GNI_RC_ERROR_RESOURCE);
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_int_equal(GNI_PostFma(s.ep, &a), GNI_RC_ERROR_RESOURCE);
	ok(GNI_GetCompleted(s.cq, e, &d));
	ok(GNI_PostFma(s.ep, &a));
	ok(GNI_CqGetEvent(other, &e));
	ok(GNI_GetCompleted(other, e, &d));
	assert_ptr_equal(d, &b);
	ok(GNI_PostRdma(s.ep, &b));
	/* Without an event there is nothing to count. */
	a.cq_mode = GNI_CQMODE_REMOTE_EVENT;
	for (i = 0; i < 20; i++)
		ok(GNI_PostFma(s.ep, &a));
	/* A queue that goes takes its requests along. */
	assert_int_equal(GNI_CqDestroy(s.cq), GNI_RC_ERROR_RESOURCE);
	ok(GNI_CqDestroy(other));
	for (i = 0; i < 5; i++) {
		assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
		ok(GNI_CqGetEvent(s.cq, &e));
		ok(GNI_GetCompleted(s.cq, e, &d));
	}
	ok(GNI_EpUnbind(s.ep));
	fake_side_end(&s);
}

static void test_overrun(void **state)
{
	gni_post_descriptor_t a, *d;
	gni_ep_handle_t ep[3];
	u64 to, from = 1;
	gni_cq_entry_t e;
	struct fake_side s;
	int i, j, round;

	(void)state;
	fake_side(&s, 0, 4);
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	for (i = 0; i < 3; i++) {
		ok(GNI_EpCreate(s.nic, s.cq, &ep[i]));
		ok(GNI_EpBind(ep[i], 1, 100 + (u32)i));
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++)
			for (j = 0; j < 4; j++)
				ok(GNI_PostFma(ep[i], &a));
		assert_int_equal(GNI_CqTestEvent(s.cq), GNI_RC_ERROR_RESOURCE);
		assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_ERROR_RESOURCE);
		assert_int_equal(GNI_CQ_OVERRUN(e), 1);
		assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
		ok(GNI_CqTestEvent(s.cq));
		for (j = 0; j < 4; j++) {
			ok(GNI_CqGetEvent(s.cq, &e));
			assert_int_equal(GNI_CQ_GET_INST_ID(e), 100);
			ok(GNI_GetCompleted(s.cq, e, &d));
		}
		assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_NOT_DONE);
	}
	/* The queue works as before; what was lost holds nobody up. */
	ok(GNI_PostFma(ep[2], &a));
	ok(GNI_CqGetEvent(s.cq, &e));
	ok(GNI_GetCompleted(s.cq, e, &d));
	for (i = 0; i < 3; i++)
		ok(GNI_EpUnbind(ep[i]));
	fake_side_end(&s);
}

/* Nothing that may still complete is given up for lost. */
static void test_overrun_keeps(void **state)
{
	gni_post_descriptor_t a, b, *d;
	gni_cq_entry_t e, late, other;
	u64 to, from = 1;
	struct fake_side s;
	u32 id;

	(void)state;
	fake_side(&s, 0, 4);
	id = cq_id(s.cq);
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	b = a;
	b.type = GNI_POST_RDMA_PUT;
	fake.post_silent = true;
	fake.owed = true;
	ok(GNI_PostRdma(s.ep, &b));
	late = kgni_cqe_done(fake.last.src_event, KGNI_CQE_BTE, 0);
	fake.post_silent = false;
	ok(GNI_PostFma(s.ep, &a));
	ok(GNI_CqGetEvent(s.cq, &e));	/* handed out, not asked about */
	while (fake_push(id, kgni_cqe_remote(1, 1, 0)))
		;
	ok(GNI_PostFma(s.ep, &a));	/* its event is lost */
	assert_int_equal(GNI_CqGetEvent(s.cq, &other), GNI_RC_ERROR_RESOURCE);
	while (GNI_CqGetEvent(s.cq, &other) != GNI_RC_NOT_DONE)
		;
	assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
	ok(GNI_GetCompleted(s.cq, e, &d));
	assert_ptr_equal(d, &a);
	assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
	fake_push(id, late);
	fake.owed = false;
	assert_int_equal(GNI_EpUnbind(s.ep), GNI_RC_NOT_DONE);
	ok(GNI_CqGetEvent(s.cq, &late));
	ok(GNI_GetCompleted(s.cq, late, &d));
	assert_ptr_equal(d, &b);
	ok(GNI_EpUnbind(s.ep));
	fake_side_end(&s);
}

/* RDMA is given up when the driver has no more of it under way, on any queue. */
static void test_overrun_rdma(void **state)
{
	gni_post_descriptor_t a, b;
	gni_cq_handle_t other;
	gni_cq_entry_t e;
	u64 to, from = 1;
	struct fake_side s;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_CqCreate(s.nic, 4, 0, GNI_CQ_NOBLOCK, NULL, NULL, &other));
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	a.type = GNI_POST_RDMA_PUT;
	b = a;
	b.src_cq_hndl = other;
	while (fake_push(cq_id(s.cq), kgni_cqe_remote(1, 1, 0)))
		;
	while (fake_push(cq_id(other), kgni_cqe_remote(1, 1, 0)))
		;
	ok(GNI_PostRdma(s.ep, &a));
	ok(GNI_PostRdma(s.ep, &b));
	fake.owed = true;
	while (GNI_CqGetEvent(s.cq, &e) != GNI_RC_NOT_DONE)
		;
	while (GNI_CqGetEvent(other, &e) != GNI_RC_NOT_DONE)
		;
	assert_int_equal(GNI_EpIdle(s.ep), GNI_RC_NOT_DONE);
	fake.owed = false;
	ok(GNI_EpUnbind(s.ep));
	fake_side_end(&s);
}

static unsigned int handled;
static gni_cq_entry_t handled_entry;

static void handler(gni_cq_entry_t *entry, void *context)
{
	gni_cq_handle_t cq = *(gni_cq_handle_t *)context;
	gni_cq_entry_t more;

	handled++;
	handled_entry = *entry;
	/* No lock is held: calls on the same queue are fine. */
	assert_int_equal(GNI_CqGetEvent(cq, &more), GNI_RC_NOT_DONE);
}

static void test_handler(void **state)
{
	struct fake_side s;
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	u32 which;
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_CqCreate(s.nic, 1, 0, GNI_CQ_BLOCKING, handler, &cq, &cq));
	handled = 0;
	assert_int_equal(GNI_CqGetEvent(cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(handled, 0);
	for (i = 1; i <= 3; i++) {
		fake_push(cq_id(cq), kgni_cqe_remote((u32)i, 1, 0));
		ok(GNI_CqVectorMonitor(&cq, 1, 0, &which));
		assert_int_equal(handled, i - 1);
		if (i == 1)
			ok(GNI_CqGetEvent(cq, &e));
		else if (i == 2)
			ok(GNI_CqWaitEvent(cq, 0, &e));
		else
			ok(GNI_CqVectorWaitEvent(&cq, 1, 0, &e, &which));
		assert_int_equal(handled, i);
		assert_int_equal(handled_entry, e);
	}
	fake_push(cq_id(cq), 1);
	fake_push(cq_id(cq), 1);
	assert_int_equal(GNI_CqGetEvent(cq, &e), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(handled, 3);
	fake_side_end(&s);
}

static void test_unmanaged(void **state)
{
	gni_post_descriptor_t a;
	u64 to, from = 1;
	struct fake_side s;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_CqCreate(s.nic, 2, 0, GNI_CQ_UNMANAGED | GNI_CQ_BLOCKING, NULL, NULL, &cq));
	ok(GNI_EpCreate(s.nic, cq, &ep));
	ok(GNI_EpBind(ep, 1, 2));
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	for (i = 0; i < 10; i++)
		ok(GNI_PostFma(ep, &a));
	assert_int_equal(GNI_CqGetEvent(cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqTestEvent(cq), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqWaitEvent(cq, 0, &e), GNI_RC_ERROR_RESOURCE);
	ok(GNI_EpUnbind(ep));
	fake_side_end(&s);
}

/* An endpoint that goes leaves descriptors to be asked about. */
static void test_ep_gone(void **state)
{
	gni_post_descriptor_t a, *d;
	u64 to, from = 1;
	gni_cq_entry_t e;
	struct fake_side s;

	(void)state;
	fake_side(&s, 0, 4);
	a = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
	ok(GNI_PostFma(s.ep, &a));
	ok(GNI_EpDestroy(s.ep));
	ok(GNI_CqGetEvent(s.cq, &e));
	ok(GNI_GetCompleted(s.cq, e, &d));
	assert_ptr_equal(d, &a);
	ok(GNI_CqDestroy(s.cq));
	fake_side_end(&s);
}

/* --- waiting ------------------------------------------------------------------------ */

static gni_cq_handle_t steal_from;

static void steal(void)
{
	gni_cq_entry_t e;

	fake_push(cq_id(steal_from), kgni_cqe_remote(1, 1, 0));
	if (fake.waits < 3)
		ok(GNI_CqGetEvent(steal_from, &e));
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

static void test_wait(void **state)
{
	gni_cq_handle_t cqs[3];
	struct fake_side s;
	gni_cq_entry_t e;
	u32 which = 9;
	u64 start;

	(void)state;
	fake_side(&s, 0, 4);
	fake.waits = 0;
	assert_int_equal(GNI_CqWaitEvent(s.cq, 0, &e), GNI_RC_TIMEOUT);
	assert_int_equal(fake.waits, 0);
	start = now_ms();
	assert_int_equal(GNI_CqWaitEvent(s.cq, 30, &e), GNI_RC_TIMEOUT);
	assert_true(now_ms() - start >= 30);
	/* Another consumer takes the event away twice; the third is ours. */
	fake.waits = 0;
	steal_from = s.cq;
	fake.in_wait = steal;
	ok(GNI_CqWaitEvent(s.cq, (u64)-1, &e));
	assert_int_equal(fake.waits, 3);
	fake.in_wait = NULL;
	fake.wait_answer = -EINTR;
	assert_int_equal(GNI_CqWaitEvent(s.cq, (u64)-1, &e), GNI_RC_INVALID_STATE);
	cqs[0] = s.cq;
	cqs[1] = s.cq;
	assert_int_equal(GNI_CqVectorWaitEvent(cqs, 2, 5, &e, &which), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqVectorMonitor(cqs, 2, 5, &which), GNI_RC_NOT_DONE);
	fake.wait_answer = -ENOMEM;
	assert_int_equal(GNI_CqVectorMonitor(cqs, 2, 5, &which), GNI_RC_ERROR_NOMEM);
	assert_int_equal(which, 9);
	fake.wait_answer = 0;
	ok(GNI_CqCreate(s.nic, 2, 0, GNI_CQ_BLOCKING, NULL, NULL, &cqs[1]));
	ok(GNI_CqCreate(s.nic, 2, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cqs[2]));
	assert_int_equal(GNI_CqWaitEvent(cqs[2], 0, &e), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_CqVectorMonitor(cqs, 3, 0, &which), GNI_RC_ERROR_RESOURCE);
	fake_push(cq_id(cqs[1]), kgni_cqe_hole());
	ok(GNI_CqVectorMonitor(cqs, 2, (u64)-1, &which));
	ok(GNI_CqVectorMonitor(cqs, 2, (u64)-1, &which));
	assert_int_equal(which, 1);
	which = 9;
	assert_int_equal(GNI_CqVectorWaitEvent(cqs, 2, (u64)-1, &e, &which),
			 GNI_RC_TRANSACTION_ERROR);
	assert_int_equal(which, 1);
	assert_int_equal(GNI_CqVectorWaitEvent(cqs, 2, 0, &e, &which), GNI_RC_TIMEOUT);
	assert_int_equal(GNI_CqVectorMonitor(cqs, 0, 0, &which), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqVectorMonitor(NULL, 1, 0, &which), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqVectorMonitor(cqs, 2, 0, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqVectorMonitor(cqs, ~0U, 0, &which), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

/* Posters, and consumers that take turns, on one queue. */
#define POSTS	2000

struct worker {
	struct fake_side *s;
	gni_ep_handle_t ep;
	unsigned int done;
};

static unsigned int completed_count;

static bool complete_one(struct fake_side *s)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;

	if (GNI_CqGetEvent(s->cq, &e) != GNI_RC_SUCCESS)
		return false;
	ok(GNI_GetCompleted(s->cq, e, &d));
	assert_int_equal(d->post_id, 4711);
	d->post_id = 0;
	free(d);
	__atomic_fetch_add(&completed_count, 1, __ATOMIC_RELAXED);
	return true;
}

static void *poster(void *arg)
{
	struct worker *w = arg;
	gni_post_descriptor_t *d;
	u64 to, from = 1;
	int i;

	for (i = 0; i < POSTS; i++) {
		d = malloc(sizeof(*d));
		*d = put(&to, &from, 8, GNI_CQMODE_GLOBAL_EVENT);
		d->post_id = 4711;
		while (GNI_PostFma(w->ep, d) != GNI_RC_SUCCESS)
			complete_one(w->s);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker w[4];
	pthread_t thread[4];
	struct fake_side s;
	int i;

	(void)state;
	/* Room for all that the endpoints may have out. */
	fake_side(&s, 0, 64);
	for (i = 0; i < 4; i++) {
		w[i].s = &s;
		ok(GNI_EpCreate(s.nic, s.cq, &w[i].ep));
		ok(GNI_EpBind(w[i].ep, 1, 1));
	}
	s.cq->limit = 16;
	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, poster, &w[i]);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	while (complete_one(&s))
		;
	assert_int_equal(completed_count, 4 * POSTS);
	for (i = 0; i < 4; i++)
		ok(GNI_EpUnbind(w[i].ep));
	fake_side_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_handles),
		cmocka_unit_test(test_get_event),
		cmocka_unit_test(test_get_completed),
		cmocka_unit_test(test_error_event),
		cmocka_unit_test(test_dual),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_overrun_keeps),
		cmocka_unit_test(test_overrun_rdma),
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_unmanaged),
		cmocka_unit_test(test_ep_gone),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
