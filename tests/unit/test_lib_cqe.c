// SPDX-License-Identifier: GPL-2.0-only
/* Accessors of queue entries, error texts, names, attributes of handles. */
#include "fake_driver.h"
#include "core/memhndl.h"

static void test_post(void **state)
{
	u64 e = kgni_cqe_done(kgni_cqe_post(0xabcdef12, 0x1fedcba9), KGNI_CQE_FMA, KGNI_ST_OK);

	(void)state;
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_POST);
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0xcdef12);
	assert_int_equal(GNI_CQ_GET_MSG_ID(e) & 0xffffff, 0xcdef12);
	assert_int_equal(GNI_CQ_GET_TID(e), 0x1fedcba9);
	assert_int_equal(GNI_CQ_GET_SOURCE(e), KGNI_CQE_FMA);
	assert_int_equal(GNI_CQ_GET_STATUS(e), 0);
	assert_true(GNI_CQ_STATUS_OK(e));
	assert_int_equal(GNI_CQ_OVERRUN(e), 0);
	assert_int_equal(GNI_CQ_REM_OVERRUN(e), 0);
	GNI_CQ_SET_TID(e, 0x3000001);
	GNI_CQ_SET_INST_ID(e, 0xff000007);
	assert_int_equal(GNI_CQ_GET_TID(e), 0x3000001);
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 7);
	assert_int_equal(GNI_CQ_GET_SOURCE(e), KGNI_CQE_FMA);
}

static void test_smsg(void **state)
{
	u64 e = kgni_cqe_done(kgni_cqe_smsg(0xfedcba98, 0x3abcde, KGNI_CQE_SMSG), KGNI_CQE_FMA,
			      KGNI_ST_LINK);

	(void)state;
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
	assert_int_equal(GNI_CQ_GET_MSG_ID(e), 0xfedcba98);
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0xdcba98);
	assert_int_equal(GNI_CQ_GET_TID(e), 0x3abcde);
	assert_int_equal(GNI_CQ_GET_STATUS(e), KGNI_ST_LINK);
	assert_false(GNI_CQ_STATUS_OK(e));
	GNI_CQ_SET_MSG_ID(e, 0x12345678);
	GNI_CQ_SET_TID(e, 0x155555);
	assert_int_equal(GNI_CQ_GET_MSG_ID(e), 0x12345678);
	assert_int_equal(GNI_CQ_GET_TID(e), 0x155555);
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
	GNI_CQ_CLR_STATUS(e);
	assert_true(GNI_CQ_STATUS_OK(e));
	assert_int_equal(GNI_CQ_GET_MSG_ID(e), 0x12345678);
}

static void test_remote(void **state)
{
	u64 e = kgni_cqe_remote(0xfedcba987654, GNI_POST_CQWRITE, KGNI_CQE_POST);

	(void)state;
	assert_int_equal(GNI_CQ_GET_DATA(e), 0xba987654 | 0xfedcULL << 32);
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0x987654);
	assert_int_equal(GNI_CQ_GET_REM_INST_ID(e), 0xba987654);
	assert_int_equal(GNI_CQ_GET_TRANS_TYPE(e), GNI_POST_CQWRITE);
	assert_int_equal(GNI_CQ_GET_INFO(e), GNI_POST_CQWRITE);
	assert_int_equal(GNI_CQ_GET_SOURCE(e), KGNI_CQE_REMOTE);
	assert_true(GNI_CQ_STATUS_OK(e));
	GNI_CQ_SET_REM_INST_ID(e, 0xffffffff);
	assert_int_equal(GNI_CQ_GET_DATA(e), 0xffffffff | 0xfedcULL << 32);
	GNI_CQ_SET_TYPE(e, GNI_CQ_EVENT_TYPE_MSGQ);
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_MSGQ);
	assert_int_equal(GNI_CQ_GET_TRANS_TYPE(e), GNI_POST_CQWRITE);
	assert_int_equal(GNI_CQ_STATUS_DLA_OVERFLOW(e), 0);
	assert_int_equal(GNI_CQ_BTE_ENQ_STATUS(e), 0);
}

static void test_overrun(void **state)
{
	u64 e = kgni_cqe_overrun();

	(void)state;
	assert_int_equal(GNI_CQ_OVERRUN(e), 1);
	assert_int_equal(e >> 63, 1);
	assert_true(GNI_CQ_STATUS_OK(e));
	e = kgni_cqe_done(0, KGNI_CQE_FMA, KGNI_ST_REM_OVERRUN);
	assert_int_equal(GNI_CQ_OVERRUN(e), 0);
	assert_int_equal(GNI_CQ_REM_OVERRUN(e), 1);
}

static void test_error_str(void **state)
{
	char text[256], small[256];
	u64 e, status, overrun;
	u32 len;

	(void)state;
	for (overrun = 0; overrun < 2; overrun++) {
		for (status = 0; status < 16; status++) {
			e = status << KGNI_CQE_STATUS_SHIFT | overrun << 63;
			memset(text, 0x7f, sizeof(text));
			ok(GNI_CqErrorStr(e, text, sizeof(text)));
			assert_non_null(memchr(text, 0, sizeof(text)));
			len = (u32)strlen(text);
			assert_true(len > 4);
			ok(GNI_CqErrorStr(e, small, len + 1));
			assert_string_equal(small, text);
			memset(small, 0x7f, sizeof(small));
			assert_int_equal(GNI_CqErrorStr(e, small, len), GNI_RC_SIZE_ERROR);
			assert_int_equal(small[0], 0x7f);
		}
	}
	assert_int_equal(GNI_CqErrorStr(0, NULL, 256), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqErrorStr(0, text, 0), GNI_RC_INVALID_PARAM);
	/* A kernel client makes one up that has but bit 48. */
	ok(GNI_CqErrorStr(1ULL << 48, text, sizeof(text)));
}

static void test_recoverable(void **state)
{
	const u32 good = 1U << KGNI_ST_OK | 1U << KGNI_ST_LINK | 1U << KGNI_ST_REM_OVERRUN;
	u32 flag;
	u64 st;

	(void)state;
	for (st = 0; st < KGNI_ST_COUNT; st++) {
		ok(GNI_CqErrorRecoverable(st << KGNI_CQE_STATUS_SHIFT, &flag));
		assert_int_equal(flag, good >> st & 1);
	}
	for (; st < 16; st++)
		assert_int_equal(GNI_CqErrorRecoverable(st << KGNI_CQE_STATUS_SHIFT, &flag),
				 GNI_RC_INVALID_STATE);
	assert_int_equal(GNI_CqErrorRecoverable(0, NULL), GNI_RC_INVALID_PARAM);
}

static void test_names(void **state)
{
	int i;

	(void)state;
	assert_string_equal(gni_err_str[GNI_RC_SUCCESS], "GNI_RC_SUCCESS");
	assert_string_equal(gni_err_str[GNI_RC_ERROR_NOMEM], "GNI_RC_ERROR_NOMEM");
	for (i = 0; i <= GNI_RC_ERROR_NOMEM; i++)
		assert_non_null(gni_err_str[i]);
	for (i = 0; i < GNI_NUM_STATS; i++)
		assert_non_null(gni_statistic_str[i]);
}

static void test_query_attr(void **state)
{
	struct kgni_mh mh = { .va = 0x7f1234567000, .npages = 9, .mdh = 17, .page_shift = 12 };
	gni_mem_handle_t h;
	int attr, yes;

	(void)state;
	for (attr = GNI_MEMHNDL_ATTR_READONLY; attr <= GNI_MEMHNDL_ATTR_CLONE; attr++) {
		mh.flags = (u8)(1 << (attr - 1));
		kgni_mh_pack(&mh, &h.qword1, &h.qword2);
		ok(GNI_MemHndlQueryAttr(&h, attr, &yes));
		assert_int_equal(yes, 1);
		mh.flags = (u8)(0x7f & ~mh.flags);
		kgni_mh_pack(&mh, &h.qword1, &h.qword2);
		ok(GNI_MemHndlQueryAttr(&h, attr, &yes));
		assert_int_equal(yes, 0);
	}
	assert_int_equal(GNI_MemHndlQueryAttr(&h, 0, &yes), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemHndlQueryAttr(&h, 8, &yes), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemHndlQueryAttr(NULL, 1, &yes), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemHndlQueryAttr(&h, 1, NULL), GNI_RC_INVALID_PARAM);
	h.qword1 ^= 1;
	assert_int_equal(GNI_MemHndlQueryAttr(&h, 1, &yes), GNI_RC_INVALID_PARAM);
	memset(&h, 0, sizeof(h));
	assert_int_equal(GNI_MemHndlQueryAttr(&h, 1, &yes), GNI_RC_INVALID_PARAM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_smsg),
		cmocka_unit_test(test_remote),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_error_str),
		cmocka_unit_test(test_recoverable),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_query_attr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
