// SPDX-License-Identifier: GPL-2.0-only
/* Posts: what is read from a descriptor, what is told to the driver. */
#include "fake_driver.h"

/* Garbage everywhere, so that a field that is read shows. */
static gni_post_descriptor_t garbage(gni_post_type_t type)
{
	gni_post_descriptor_t d;

	memset(&d, 0xa5, sizeof(d));
	d.type = type;
	d.cq_mode = GNI_CQMODE_SILENT;
	return d;
}

/* Which 8-byte words of the argument carry garbage of the descriptor. */
static void assert_garbage_only(const struct kgni_ioc_post *a, const struct kgni_ioc_post *used)
{
	const u8 *p = (const u8 *)a, *u = (const u8 *)used;
	size_t i;

	for (i = 0; i < sizeof(*a); i++)
		if (p[i] == 0xa5 && !u[i])
			fail_msg("byte %zu of the post was read", i);
}

#define USE(field)	memset(&used.field, 1, sizeof(used.field))

static void test_unused_fields(void **state)
{
	gni_post_type_t types[] = {
		GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_FMA_PUT,
		GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_AMO, GNI_POST_CQWRITE,
	};
	struct kgni_ioc_post used;
	gni_post_descriptor_t d, before;
	struct fake_side s;
	u32 i;

	(void)state;
	fake_side(&s, 0, 4);
	fake.post_answer = GNI_RC_ALIGNMENT_ERROR;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		memset(&used, 0, sizeof(used));
		d = garbage(types[i]);
		USE(remote);
		USE(dlvr_mode);
		if (types[i] != GNI_POST_CQWRITE) {
			USE(remote_addr);
			USE(length);
		}
		switch (types[i]) {
		case GNI_POST_RDMA_PUT:
		case GNI_POST_RDMA_GET:
			USE(rdma_mode);
			d.src_cq_hndl = NULL;
			/* fallthrough */
		case GNI_POST_FMA_GET:
			USE(local);
			USE(local_addr);
			break;
		case GNI_POST_FMA_PUT_W_SYNCFLAG:
			USE(sync_addr);
			USE(sync_value);
			/* fallthrough */
		case GNI_POST_FMA_PUT:
			USE(local_addr);
			break;
		case GNI_POST_AMO:
			d.amo_cmd = GNI_FMA_ATOMIC_ADD;
			USE(operand[0]);
			break;
		default:
			USE(cqwrite_value);
			d.src_cq_hndl = NULL;
			break;
		}
		before = d;
		if (types[i] == GNI_POST_CQWRITE)
			assert_int_equal(GNI_PostCqWrite(s.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		else if (types[i] <= GNI_POST_RDMA_GET)
			assert_int_equal(GNI_PostRdma(s.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		else
			assert_int_equal(GNI_PostFma(s.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		assert_garbage_only(&fake.last, &used);
		assert_memory_equal(&d, &before, sizeof(d));
	}
	fake_side_end(&s);
}

static void test_amo_fields(void **state)
{
	struct kgni_ioc_post used = { 0 };
	gni_post_descriptor_t d = garbage(GNI_POST_AMO);
	struct fake_side s;

	(void)state;
	fake_side(&s, 0, 4);
	d.amo_cmd = GNI_FMA_ATOMIC_CSWAP;
	d.first_operand = 1;
	d.second_operand = 2;
	d.local_addr = 3;
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.operand[0], 1);
	assert_int_equal(fake.last.operand[1], 2);
	assert_int_equal(fake.last.local_addr, 3);
	assert_int_equal(fake.last.local.qword1, d.local_mem_hndl.qword1);
	d.amo_cmd = GNI_FMA_ATOMIC2_AX;
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.operand[1], 2);
	assert_int_equal(fake.last.local_addr, 0);
	d.amo_cmd = GNI_FMA_ATOMIC2_FFPADD_S;
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.operand[0], 1);
	assert_int_equal(fake.last.operand[1], 0);
	assert_int_equal(fake.last.local_addr, 3);
	/* Unknown commands are the driver's to refuse, with nothing read. */
	d = garbage(GNI_POST_AMO);
	USE(remote);
	USE(remote_addr);
	USE(length);
	USE(amo_cmd);
	USE(dlvr_mode);
	ok(GNI_PostFma(s.ep, &d));
	assert_garbage_only(&fake.last, &used);
	fake_side_end(&s);
}

/* Only status and the event's mode are ever written. */
static void test_preserved(void **state)
{
	gni_post_descriptor_t d = garbage(GNI_POST_RDMA_GET), before, *done;
	struct fake_side s;
	gni_cq_entry_t e;

	(void)state;
	fake_side(&s, 0, 4);
	d.src_cq_hndl = NULL;
	d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	before = d;
	ok(GNI_PostRdma(s.ep, &d));
	assert_memory_equal(&d, &before, sizeof(d));
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_memory_equal(&d, &before, sizeof(d));
	ok(GNI_GetCompleted(s.cq, e, &done));
	assert_int_equal(d.status, GNI_RC_SUCCESS);
	before.status = d.status;
	before.cq_mode_complete = d.cq_mode_complete;
	assert_memory_equal(&d, &before, sizeof(d));
	fake_side_end(&s);
}

static void test_types(void **state)
{
	gni_return_t (*const call[])(gni_ep_handle_t, gni_post_descriptor_t *) = {
		GNI_PostRdma, GNI_PostFma, GNI_PostCqWrite,
	};
	const u32 takes[] = {
		1 << 1 | 1 << 2, 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9 | 1 << 10, 1 << 7,
	};
	gni_post_descriptor_t d;
	struct fake_side s;
	u32 i, type;

	(void)state;
	fake_side(&s, 0, 4);
	fake.post_answer = GNI_RC_PERMISSION_ERROR;
	for (i = 0; i < 3; i++) {
		for (type = 0; type < 100; type++) {
			memset(&d, 0, sizeof(d));
			d.type = (gni_post_type_t)type;
			assert_int_equal(call[i](s.ep, &d),
					 type < 32 && takes[i] & 1U << type ?
					 GNI_RC_PERMISSION_ERROR : GNI_RC_INVALID_PARAM);
		}
		assert_int_equal(call[i](s.ep, NULL), GNI_RC_INVALID_PARAM);
		assert_int_equal(call[i](NULL, &d), GNI_RC_INVALID_PARAM);
		assert_int_equal(call[i]((void *)s.cq, &d), GNI_RC_INVALID_PARAM);
	}
	ok(GNI_EpUnbind(s.ep));
	d.type = GNI_POST_FMA_PUT;
	assert_int_equal(GNI_PostFma(s.ep, &d), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

static void test_src_cq(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_RDMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT };
	struct fake_side s, other;
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	gni_ep_handle_t ep;

	(void)state;
	fake_side(&s, 0, 4);
	fake_side(&other, 0, 4);
	ok(GNI_CqCreate(s.nic, 2, 0, 0, NULL, NULL, &cq));
	ok(GNI_PostRdma(s.ep, &d));
	assert_int_equal(fake.last.src_cq, s.cq->id);
	d.src_cq_hndl = cq;
	ok(GNI_PostRdma(s.ep, &d));
	assert_int_equal(fake.last.src_cq, cq->id);
	d.type = GNI_POST_CQWRITE;
	ok(GNI_PostCqWrite(s.ep, &d));
	assert_int_equal(fake.last.src_cq, cq->id);
	ok(GNI_CqGetEvent(cq, &e));
	/* Not a queue, a queue of another NIC handle, or a queue no more. */
	d.src_cq_hndl = (void *)s.ep;
	assert_int_equal(GNI_PostCqWrite(s.ep, &d), GNI_RC_INVALID_PARAM);
	d.src_cq_hndl = other.cq;
	assert_int_equal(GNI_PostCqWrite(s.ep, &d), GNI_RC_INVALID_PARAM);
	ok(GNI_CqDestroy(cq));
	d.src_cq_hndl = cq;
	assert_int_equal(GNI_PostCqWrite(s.ep, &d), GNI_RC_INVALID_PARAM);
	/* FMA does not look at it. */
	d.type = GNI_POST_FMA_PUT;
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.src_cq, s.cq->id);
	/* Without a queue, or with silence, nobody is told. */
	ok(GNI_EpCreate(s.nic, NULL, &ep));
	ok(GNI_EpBind(ep, 1, 2));
	ok(GNI_PostFma(ep, &d));
	assert_int_equal(fake.last.src_cq, 0);
	d.cq_mode = GNI_CQMODE_SILENT;
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.src_cq, 0);
	assert_int_equal(GNI_EpCreate(s.nic, other.cq, &ep), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpCreate(s.nic, cq, &ep), GNI_RC_INVALID_PARAM);
	fake_side_end(&other);
	fake_side_end(&s);
}

static void test_event_values(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_FMA_PUT,
				    .cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT };
	struct fake_side s;
	gni_cq_entry_t e;
	gni_ep_handle_t ep;

	(void)state;
	fake_side(&s, 0, 8);
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.remote_pe, 7);
	assert_int_equal(fake.last.remote_event, 11);
	ok(GNI_EpSetEventData(s.ep, 0xfff00033, 0xfff00044));
	ok(GNI_PostFma(s.ep, &d));
	assert_int_equal(fake.last.remote_event, 0xfff00044);
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 22);
	ok(GNI_CqGetEvent(s.cq, &e));
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0xf00033);
	/* Values set before the endpoint is bound stay, until it is unbound. */
	ok(GNI_EpCreate(s.nic, s.cq, &ep));
	ok(GNI_EpSetEventData(ep, 1, 2));
	ok(GNI_EpBind(ep, 3, 4));
	assert_int_equal(GNI_EpBind(ep, 3, 4), GNI_RC_INVALID_PARAM);
	ok(GNI_PostFma(ep, &d));
	assert_int_equal(fake.last.remote_event, 2);
	fake_side_end(&s);
}

/* The driver refuses: the request is free again, time after time. */
static void test_refused(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_FMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT };
	const struct {
		int answer;
		gni_return_t rc;
	} cases[] = {
		{ GNI_RC_ERROR_RESOURCE, GNI_RC_ERROR_RESOURCE },
		{ GNI_RC_PERMISSION_ERROR, GNI_RC_PERMISSION_ERROR },
		{ -EFAULT, GNI_RC_INVALID_PARAM },
		{ -EINVAL, GNI_RC_INVALID_PARAM },
		{ -ENOMEM, GNI_RC_ERROR_NOMEM },
		{ -EPERM, GNI_RC_PERMISSION_ERROR },
		{ -EBADF, GNI_RC_INVALID_STATE },
		{ 99, GNI_RC_INVALID_STATE },
	};
	struct fake_side s;
	u32 i;

	(void)state;
	fake_side(&s, 0, 2);
	for (i = 0; i < 1000; i++) {
		fake.post_answer = cases[i % ARRAY_SIZE(cases)].answer;
		assert_int_equal(GNI_PostFma(s.ep, &d), cases[i % ARRAY_SIZE(cases)].rc);
	}
	ok(GNI_EpUnbind(s.ep));
	fake_side_end(&s);
}

/* The event is taken, and all is torn down, before the driver has answered. */
static struct fake_side early;
static gni_post_descriptor_t *early_descr;

static void consume_early(const struct kgni_ioc_post *arg)
{
	gni_cq_entry_t e;

	fake.in_post = NULL;
	fake_events(arg, 0);
	ok(GNI_CqGetEvent(early.cq, &e));
	ok(GNI_GetCompleted(early.cq, e, &early_descr));
	memset(early_descr, 0, sizeof(*early_descr));
}

static void test_early_event(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_FMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT };

	(void)state;
	fake_side(&early, 0, 1);
	fake.in_post = consume_early;
	fake.post_silent = true;
	ok(GNI_PostFma(early.ep, &d));
	assert_ptr_equal(early_descr, &d);
	ok(GNI_EpUnbind(early.ep));
	fake_side_end(&early);
}

/* RDMA posts that the driver has no room for are counted, no others. */
static void test_counted(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_RDMA_PUT };
	struct fake_side s;
	u32 i, value;

	(void)state;
	fake_side(&s, 0, 4);
	fake.post_answer = GNI_RC_ERROR_RESOURCE;
	for (i = 0; i < 3; i++)
		assert_int_equal(GNI_PostRdma(s.ep, &d), GNI_RC_ERROR_RESOURCE);
	d.type = GNI_POST_FMA_PUT;
	assert_int_equal(GNI_PostFma(s.ep, &d), GNI_RC_ERROR_RESOURCE);
	fake.post_answer = GNI_RC_INVALID_PARAM;
	d.type = GNI_POST_RDMA_GET;
	assert_int_equal(GNI_PostRdma(s.ep, &d), GNI_RC_INVALID_PARAM);
	fake.post_answer = 0;
	ok(GNI_PostRdma(s.ep, &d));
	for (i = 0; i < GNI_NUM_STATS; i++) {
		ok(GNI_GetNicStat(s.nic, (gni_statistic_t)i, &value));
		assert_int_equal(value, i == GNI_STAT_FLBTE_TXD_NONE ? 3 : 0);
	}
	ok(GNI_ResetNicStat(s.nic, GNI_STAT_FLBTE_TXD_NONE));
	ok(GNI_GetNicStat(s.nic, GNI_STAT_FLBTE_TXD_NONE, &value));
	assert_int_equal(value, 0);
	fake_side_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unused_fields),
		cmocka_unit_test(test_amo_fields),
		cmocka_unit_test(test_preserved),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_src_cq),
		cmocka_unit_test(test_event_values),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_early_event),
		cmocka_unit_test(test_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
