// SPDX-License-Identifier: GPL-2.0-only
/* lib/ce.c: what the driver is told of endpoints and descriptors. */
#include "fake_driver.h"
#include "core/ce.h"

static struct fake_side s;

static gni_ep_handle_t end_of(u32 pe, u32 inst, u32 ce_id, u32 child, gni_ce_child_t type)
{
	gni_ep_handle_t ep;

	ok(GNI_EpCreate(s.nic, s.cq, &ep));
	ok(GNI_EpBind(ep, pe, inst));
	ok(GNI_EpSetCeAttr(ep, ce_id, child, type));
	return ep;
}

static void is_edge(const struct kgni_ce_edge *e, u32 pe, u32 id, u32 child, u32 type)
{
	assert_int_equal(e->pe, pe);
	assert_int_equal(e->id, id);
	assert_int_equal(e->child, child);
	assert_int_equal(e->type, type);
}

static void test_channels(void **state)
{
	gni_ce_handle_t ce, other = NULL;
	u32 id = 0;

	(void)state;
	fake_side(&s, 0, 4);
	fake.ce_answer = GNI_RC_ERROR_RESOURCE;
	assert_int_equal(GNI_CeCreate(s.nic, &other), GNI_RC_ERROR_RESOURCE);
	assert_null(other);
	fake.ce_answer = -ENOMEM;
	assert_int_equal(GNI_CeCreate(s.nic, &other), GNI_RC_ERROR_NOMEM);
	fake.ce_answer = 0;
	ok(GNI_CeCreate(s.nic, &ce));
	ok(GNI_CeCreate(s.nic, &other));
	ok(GNI_CeGetId(ce, &id));
	assert_int_equal(id, 3);
	ok(GNI_CeDestroy(ce));
	assert_int_equal(fake.ces, 1);
	assert_int_equal(GNI_CeDestroy(ce), GNI_RC_INVALID_PARAM);
	/* What is left goes with the domain. */
	fake_side_end(&s);
	assert_int_equal(fake.ces, 0);
	assert_int_equal(GNI_CeGetId(other, &id), GNI_RC_INVALID_PARAM);
}

static void test_tree(void **state)
{
	gni_ep_handle_t child[3], up;
	gni_ce_handle_t ce;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_CeCreate(s.nic, &ce));
	child[0] = end_of(5, 50, -1, 31, GNI_CE_CHILD_PE);
	child[1] = end_of(6, 60, 2, 0, GNI_CE_CHILD_VCE);
	child[2] = end_of(7, 70, -1, 31, GNI_CE_CHILD_PE);
	up = end_of(8, 80, 1, 17, GNI_CE_CHILD_VCE);
	ok(GNI_CeConfigure(ce, child, 2, up, s.cq, GNI_CE_MODE_ROUND_UP));
	assert_int_equal(fake.ce_configure.id, 3);
	assert_int_equal(fake.ce_configure.count, 2);
	assert_int_equal(fake.ce_configure.modes, GNI_CE_MODE_ROUND_UP);
	assert_true(fake.ce_configure.cq);
	is_edge(&fake.ce_edges[0], 5, 50, 31, GNI_CE_CHILD_PE);
	is_edge(&fake.ce_edges[1], 6, 2, 0, GNI_CE_CHILD_VCE);
	is_edge(&fake.ce_configure.parent, 8, 1, 17, GNI_CE_CHILD_VCE);
	ok(GNI_CeConfigure(ce, child, 1, NULL, NULL, 0));
	assert_int_equal(fake.ce_configure.cq, 0);
	is_edge(&fake.ce_configure.parent, 0, 0, 0, GNI_CE_CHILD_UNUSED);
	assert_int_equal(GNI_CeConfigure(ce, child, 3, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	fake.ce_answer = GNI_RC_INVALID_PARAM;
	assert_int_equal(GNI_CeConfigure(ce, child, 1, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	fake.ce_answer = 0;
	fake_side_end(&s);
}

static void test_post(void **state)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t leaf;

	(void)state;
	fake_side(&s, 0, 4);
	leaf = end_of(5, 50, 2, 9, GNI_CE_CHILD_PE);
	memset(&d, 0xa5, sizeof(d));
	d.type = GNI_POST_CE;
	d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	d.local_addr = 0x1000;
	d.ce_cmd = GNI_FMA_CE_IADD;
	d.ce_mode = GNI_CEMODE_FPE_UFLOW;
	d.ce_red_id = 77;
	d.first_operand = 1;
	d.second_operand = 2;
	ok(GNI_PostFma(leaf, &d));
	assert_int_equal(fake.ce_post.cmd, GNI_FMA_CE_IADD);
	assert_int_equal(fake.ce_post.mode, GNI_CEMODE_FPE_UFLOW);
	assert_int_equal(fake.ce_post.remote_pe, 5);
	assert_int_equal(fake.ce_post.ce, 2);
	assert_int_equal(fake.ce_post.child, 9);
	assert_int_equal(fake.ce_post.red_id, 77);
	assert_int_equal(fake.ce_post.result, 0x1000);
	assert_int_equal(fake.ce_post.local.qword1, d.local_mem_hndl.qword1);
	assert_int_equal(fake.ce_post.operand[0], 1);
	/* One that is not used may be anything. */
	assert_int_equal(fake.ce_post.operand[1], 0);
	assert_int_equal(GNI_EpIdle(leaf), GNI_RC_NOT_DONE);
	d.ce_mode = GNI_CEMODE_TWO_OP;
	ok(GNI_PostFma(leaf, &d));
	assert_int_equal(fake.ce_post.operand[1], 2);
	d.ce_mode = 0;
	d.ce_cmd = GNI_FMA_CE_IMIN_LIDX;
	ok(GNI_PostFma(leaf, &d));
	assert_int_equal(fake.ce_post.operand[1], 2);
	fake_side_end(&s);
}

/* What is refused leaves no request behind. */
static void test_refused(void **state)
{
	gni_post_descriptor_t d = { .type = GNI_POST_CE, .cq_mode = GNI_CQMODE_GLOBAL_EVENT };
	gni_ep_handle_t leaf;
	u32 i;

	(void)state;
	fake_side(&s, 0, 2);
	leaf = end_of(5, 50, 2, 9, GNI_CE_CHILD_PE);
	fake.ce_answer = GNI_RC_ERROR_RESOURCE;
	for (i = 0; i < 5; i++)
		assert_int_equal(GNI_PostFma(leaf, &d), GNI_RC_ERROR_RESOURCE);
	ok(GNI_EpIdle(leaf));
	fake.ce_answer = 0;
	ok(GNI_PostFma(leaf, &d));
	ok(GNI_PostFma(leaf, &d));
	assert_int_equal(GNI_PostFma(leaf, &d), GNI_RC_ERROR_RESOURCE);
	d.cq_mode = GNI_CQMODE_SILENT;
	ok(GNI_PostFma(leaf, &d));
	assert_int_equal(fake.ce_post.src_cq, 0);
	fake_side_end(&s);
}

static void test_results(void **state)
{
	gni_ce_result_t r = { 0 };

	(void)state;
	assert_int_equal(GNI_CeCheckResult(&r, sizeof(r)), GNI_RC_NOT_DONE);
	r.control = kgni_ce_control(0, 0, KGNI_ST_OK);
	ok(GNI_CeCheckResult(&r, 0));
	r.control = kgni_ce_control(KGNI_CE_RED_ID_MAX, GNI_CE_FPE_PRECISION, KGNI_ST_OK);
	assert_int_equal(GNI_CeCheckResult(&r, sizeof(r)), GNI_RC_TRANSACTION_ERROR);
	assert_true(GNI_CE_RES_STATUS_OK(&r));
	assert_int_equal(GNI_CE_RES_GET_FPE(&r), GNI_CE_FPE_PRECISION);
	assert_int_equal(GNI_CE_RES_GET_RED_ID(&r), KGNI_CE_RED_ID_MAX);
	r.control = kgni_ce_control(5, 0, KGNI_ST_CE_MEMBER);
	assert_int_equal(GNI_CeCheckResult(&r, sizeof(r)), GNI_RC_TRANSACTION_ERROR);
	assert_false(GNI_CE_RES_STATUS_OK(&r));
	assert_int_equal(GNI_CE_RES_GET_STATUS(&r), KGNI_ST_CE_MEMBER);
}

static void test_events(void **state)
{
	u64 e = kgni_cqe_ce(63, KGNI_CE_RED_ID_MAX, KGNI_ST_CE_DIFFER);

	(void)state;
	assert_int_equal(GNI_CQ_GET_CE_ID(e), 63);
	assert_int_equal(GNI_CQ_GET_REDUCTN_ID(e), KGNI_CE_RED_ID_MAX);
	assert_int_equal(GNI_CQ_GET_STATUS(e), KGNI_ST_CE_DIFFER);
	assert_int_equal(GNI_CQ_GET_SOURCE(e), KGNI_CQE_CE);
	assert_false(GNI_CQ_OVERRUN(e));
	e = kgni_cqe_ce(0, 0, KGNI_ST_OK);
	assert_true(e >> 32);
	assert_true(GNI_CQ_STATUS_OK(e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
