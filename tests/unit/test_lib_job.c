// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the library makes of limits and translation tables; of Gemini's tables too,
 * which no device of the driver has.
 */
#include "fake_driver.h"

static u32 gemini[] = { 5, 0xfffffffe, 0 };
static gni_ntt_entry_t aries[] = { { 5, 6, 7 }, { 8, 9, 255 }, { 0, 0, 0 } };

static gni_ntt_descriptor_t table(u32 type)
{
	gni_ntt_descriptor_t d = { .group_size = 3, .granularity = 4 };

	fake.device_type = type;
	if (type == GNI_DEVICE_GEMINI)
		d.u.table = gemini;
	else
		d.u.table_v2 = aries;
	return d;
}

static void is_entry(u32 i, u32 block, u32 replacement, u32 replaced)
{
	assert_int_equal(fake.entries[i].block, block);
	assert_int_equal(fake.entries[i].replacement, replacement);
	assert_int_equal(fake.entries[i].replaced, replaced);
}

static void is_table(u32 type)
{
	assert_int_equal(fake.ntt.count, 3);
	assert_int_equal(fake.ntt.granularity, 4);
	if (type == GNI_DEVICE_GEMINI) {
		is_entry(0, 5, 0, 0);
		is_entry(1, 0xfffffffe, 0, 0);
	} else {
		is_entry(0, 5, 6, 7);
		is_entry(1, 8, 9, 255);
	}
	is_entry(2, 0, 0, 0);
}

static void test_tables(void **state)
{
	static const u32 types[] = { GNI_DEVICE_GEMINI, GNI_DEVICE_ARIES };
	gni_ntt_descriptor_t d;
	size_t i;
	u32 base;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		d = table(types[i]);
		base = (u32)-1;
		ok(GNI_ConfigureNTT(0, &d, &base));
		assert_int_equal(base, 100);
		assert_int_equal(fake.ntt.base, (u32)-1);
		is_table(types[i]);
		base = 7;
		memset(&fake.ntt, 0, sizeof(fake.ntt));
		ok(GNI_ConfigureNTTandJob(0, 1, 2, 3, NULL, &d, &base));
		assert_int_equal(base, 100);
		assert_int_equal(fake.ntt.base, 7);
		assert_int_equal(fake.job.flags, KGNI_JOB_NTT);
		is_table(types[i]);
	}
	/* To clear entries is the same for both. */
	d.u.table = NULL;
	d.group_size = (u32)-1;
	base = (u32)-1;
	ok(GNI_ConfigureNTT(0, &d, &base));
	assert_int_equal(fake.ntt.entries, 0);
	assert_int_equal(fake.ntt.count, (u32)-1);
	assert_int_equal(GNI_ConfigureNTTandJob(0, 1, 2, 3, NULL, &d, &base),
			 GNI_RC_INVALID_PARAM);
	/* More than a table has is not read. */
	d = table(GNI_DEVICE_GEMINI);
	d.group_size = KGNI_NTT_ENTRIES + 1;
	assert_int_equal(GNI_ConfigureNTT(0, &d, &base), GNI_RC_ERROR_RESOURCE);
	fake.device_type = GNI_DEVICE_ARIES;
}

static void is_kept(void)
{
	assert_int_equal(fake.job.mdd_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.ce_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.iommu_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.dla_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.fma_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.bte_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.cq_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.mrt_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.gart_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.flags, 0);
}

static void test_limits(void **state)
{
	gni_job_limits_t l;

	(void)state;
	ok(GNI_ConfigureJob(0, 0x123456789, 250, 0xcafecafe, NULL));
	assert_int_equal(fake.job.job_id, 0x123456789);
	assert_int_equal(fake.job.ptag, 250);
	assert_int_equal(fake.job.cookie, 0xcafecafe);
	is_kept();
	memset(&l, 0xff, sizeof(l));
	ok(GNI_ConfigureJob(0, 1, 2, 3, &l));
	is_kept();
	l = (gni_job_limits_t){
		.mdd_limit = 1, .fma_limit = 3, .bte_limit = 4, .cq_limit = 5,
		.a.m = { .ce_limit = 6, .iommu_limit = 7 }, .b.dla_limit = 8, .ntt_size = 9,
		.ntt_base = 10, .ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP,
	};
	ok(GNI_ConfigureJob(0, 1, 2, 3, &l));
	assert_int_equal(fake.job.mdd_limit, 1);
	assert_int_equal(fake.job.fma_limit, 3);
	assert_int_equal(fake.job.bte_limit, 4);
	assert_int_equal(fake.job.cq_limit, 5);
	assert_int_equal(fake.job.ce_limit, 6);
	assert_int_equal(fake.job.iommu_limit, 7);
	assert_int_equal(fake.job.dla_limit, 8);
	assert_int_equal(fake.job.ntt_size, 9);
	assert_int_equal(fake.job.ntt_base, 10);
	assert_int_equal(fake.job.flags, KGNI_JOB_NTT_CLEAR);
	assert_int_equal(fake.job.mrt_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.gart_limit, KGNI_JOB_KEEP);
	l.ntt_ctrl = 0x40;
	assert_int_equal(GNI_ConfigureJob(0, 1, 2, 3, &l), GNI_RC_INVALID_PARAM);
}

/* What Aries has no field for stands where it has others. */
static void test_limits_of_gemini(void **state)
{
	gni_job_limits_t l;

	(void)state;
	fake.device_type = GNI_DEVICE_GEMINI;
	memset(&l, 0xff, sizeof(l));
	ok(GNI_ConfigureJob(0, 1, 2, 3, &l));
	is_kept();
	l.a.mrt_limit = 0x10203;
	l.b.gart_limit = 7;
	ok(GNI_ConfigureJob(0, 1, 2, 3, &l));
	assert_int_equal(fake.job.mrt_limit, 0x10203);
	assert_int_equal(fake.job.gart_limit, 7);
	assert_int_equal(fake.job.ce_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.iommu_limit, KGNI_JOB_KEEP);
	assert_int_equal(fake.job.dla_limit, KGNI_JOB_KEEP);
	fake.device_type = GNI_DEVICE_ARIES;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limits_of_gemini),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
