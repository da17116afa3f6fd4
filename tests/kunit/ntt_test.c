// SPDX-License-Identifier: GPL-2.0-only
/* The node translation table: places, and what addresses mean. */
#include "kgt.h"
#include "../../kernel/ntt.c"

static long set(struct kgni_device *dev, const struct kgni_ntt_entry *entries, u32 count, u32 gran,
		u32 *base)
{
	struct kgni_ntt_args args = {
		.entries = entries, .count = count, .base = *base, .granularity = gran,
	};

	return kgni_ntt_configure(dev, &args, base);
}

static long clear(struct kgni_device *dev, u32 base, u32 count)
{
	return set(dev, NULL, count, 0, &base);
}

static const struct kgni_ntt_entry blocks[] = {
	{ .block = 100 },
	{ .block = 10, .replacement = 200, .replaced = 1 },
	{ .block = 300, .replacement = 20, .replaced = 4 },
	{ .block = 100, .replacement = 400, .replaced = 2 },
};

/* Of the blocks above, with a granularity of 4. */
static const struct {
	u32 address, pe;
} meanings[] = {
	{ 0, 100 }, { 1, 101 }, { 3, 103 }, { 4, 10 }, { 6, 12 }, { 7, 200 }, { 8, 20 },
	{ 11, 23 }, { 14, 400 }, { 15, 401 },
};

static struct kgni_ntt_map *map_of(struct kunit *test, struct kgni_device *dev, u32 gran)
{
	struct kgni_ntt_map *map;
	u32 base = 5;

	KUNIT_ASSERT_EQ(test, set(dev, blocks, ARRAY_SIZE(blocks), gran, &base), GNI_RC_SUCCESS);
	mutex_lock(&dev->lock);
	map = kgni_ntt_map_new(dev, base, ARRAY_SIZE(blocks));
	mutex_unlock(&dev->lock);
	KUNIT_ASSERT_NOT_NULL(test, map);
	return map;
}

static void translation(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job job = { .ntt = map_of(test, dev, 4) };
	u32 i, x;

	for (i = 0; i < ARRAY_SIZE(meanings); i++) {
		KUNIT_EXPECT_TRUE(test, kgni_ntt_to_pe(&job, meanings[i].address, &x));
		KUNIT_EXPECT_EQ(test, x, meanings[i].pe);
		KUNIT_EXPECT_TRUE(test, kgni_ntt_from_pe(&job, meanings[i].pe, &x));
		KUNIT_EXPECT_EQ(test, x, meanings[i].address);
	}
	/* Address 12 is PE 100, too: the lowest address counts. */
	KUNIT_EXPECT_TRUE(test, kgni_ntt_to_pe(&job, 12, &x));
	KUNIT_EXPECT_EQ(test, x, 100);
	KUNIT_EXPECT_FALSE(test, kgni_ntt_to_pe(&job, 16, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_to_pe(&job, U32_MAX, &x));
	/* What was replaced has no address, and neither has what is beside a block. */
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 13, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 300, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 99, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 104, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 201, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, 0, &x));
	KUNIT_EXPECT_FALSE(test, kgni_ntt_from_pe(&job, U32_MAX, &x));
	kgni_ntt_map_free(job.ntt);
}

/* Each address there and back, for many granularities. */
static void there_and_back(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	u32 gran, address, pe, back;

	for (gran = 4; gran <= U8_MAX; gran += 19) {
		struct kgni_job job = { .ntt = map_of(test, dev, gran) };

		for (address = 0; address < 4 * gran; address++) {
			KUNIT_ASSERT_TRUE(test, kgni_ntt_to_pe(&job, address, &pe));
			KUNIT_ASSERT_TRUE(test, kgni_ntt_from_pe(&job, pe, &back));
			KUNIT_ASSERT_LE(test, back, address);
			KUNIT_ASSERT_TRUE(test, kgni_ntt_to_pe(&job, back, &back));
			KUNIT_ASSERT_EQ(test, back, pe);
		}
		kgni_ntt_map_free(job.ntt);
		KUNIT_ASSERT_EQ(test, clear(dev, U32_MAX, U32_MAX), GNI_RC_SUCCESS);
	}
}

static void no_translation(struct kunit *test)
{
	struct kgni_job job = { };
	u32 x;

	KUNIT_EXPECT_TRUE(test, kgni_ntt_to_pe(&job, U32_MAX, &x));
	KUNIT_EXPECT_EQ(test, x, U32_MAX);
	KUNIT_EXPECT_TRUE(test, kgni_ntt_from_pe(&job, 7, &x));
	KUNIT_EXPECT_EQ(test, x, 7);
}

/* A copy does not change with the table. */
static void maps_are_copies(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job job = { .ntt = map_of(test, dev, 4) };
	u32 x, base = 5;

	KUNIT_EXPECT_EQ(test, set(dev, blocks + 1, 1, 4, &base), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgni_ntt_to_pe(&job, 0, &x));
	KUNIT_EXPECT_EQ(test, x, 100);
	KUNIT_EXPECT_EQ(test, clear(dev, U32_MAX, U32_MAX), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgni_ntt_to_pe(&job, 0, &x));
	KUNIT_EXPECT_EQ(test, x, 100);
	static_assert(KGT_PE == 100);
	KUNIT_EXPECT_PTR_EQ(test, kgni_device_of(&job, 0), dev);
	KUNIT_EXPECT_NULL(test, kgni_device_of(&job, 1));
	KUNIT_EXPECT_NULL(test, kgni_device_of(&job, 100));
	kgni_ntt_map_free(job.ntt);
}

static const struct place {
	const char *name;
	u32 count, base, gran;
	long rc;
	u32 got;
} places[] = {
	/* Where 10 to 19 are set, and 30 to 39 are a job's, with a granularity of 1. */
	{ "any", 1, U32_MAX, 1, GNI_RC_SUCCESS, 0 },
	{ "any 10", 10, U32_MAX, 1, GNI_RC_SUCCESS, 0 },
	{ "any 11", 11, U32_MAX, 1, GNI_RC_SUCCESS, 40 },
	{ "any 8152", 8152, U32_MAX, 1, GNI_RC_SUCCESS, 40 },
	{ "any 8153", 8153, U32_MAX, 1, GNI_RC_ERROR_RESOURCE },
	{ "over what is set", 20, 5, 1, GNI_RC_SUCCESS, 5 },
	{ "the first of a job", 1, 30, 1, GNI_RC_ERROR_RESOURCE },
	{ "the last of a job", 1, 39, 1, GNI_RC_ERROR_RESOURCE },
	{ "before it", 1, 29, 1, GNI_RC_SUCCESS, 29 },
	{ "behind it", 1, 40, 1, GNI_RC_SUCCESS, 40 },
	{ "into it", 11, 20, 1, GNI_RC_ERROR_RESOURCE },
	{ "around it", 100, 0, 1, GNI_RC_ERROR_RESOURCE },
	{ "the last", 1, 8191, 1, GNI_RC_SUCCESS, 8191 },
	{ "beyond", 2, 8191, 1, GNI_RC_INVALID_PARAM },
	{ "far beyond", 1, 8192, 1, GNI_RC_INVALID_PARAM },
	{ "to where it wraps", 8000, U32_MAX - 1, 1, GNI_RC_INVALID_PARAM },
	{ "none", 0, 0, 1, GNI_RC_INVALID_PARAM },
	{ "too many", 8193, U32_MAX, 1, GNI_RC_ERROR_RESOURCE },
	{ "granularity 0", 1, 0, 0, GNI_RC_INVALID_PARAM },
	{ "granularity 256", 1, 0, 256, GNI_RC_INVALID_PARAM },
	{ "another granularity", 1, 0, 2, GNI_RC_ERROR_RESOURCE },
};

static void place_desc(const struct place *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(place, places, place_desc);

static void placement(struct kunit *test)
{
	const struct place *p = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job_args job = { .job_id = 1, .ptag = 7, .ntt_base = 30, .ntt_size = 10 };
	struct kgni_ntt_entry *entries = kvcalloc(8193, sizeof(*entries), GFP_KERNEL);
	u32 base = 10;
	long rc;

	KUNIT_ASSERT_NOT_NULL(test, entries);
	memset(job.limit, 0xff, sizeof(job.limit));
	KUNIT_EXPECT_EQ(test, set(dev, entries, 10, 1, &base), GNI_RC_SUCCESS);
	base = 30;
	KUNIT_EXPECT_EQ(test, set(dev, entries, 10, 1, &base), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_job_configure(dev, &job), GNI_RC_SUCCESS);
	base = p->base;
	rc = set(dev, entries, p->count, p->gran, &base);
	kvfree(entries);
	KUNIT_EXPECT_EQ(test, rc, p->rc);
	if (!rc)
		KUNIT_EXPECT_EQ(test, base, p->got);
	/* All that is no job's can be cleared. */
	KUNIT_EXPECT_EQ(test, clear(dev, 30, 1), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, clear(dev, U32_MAX, U32_MAX), GNI_RC_SUCCESS);
	mutex_lock(&dev->lock);
	KUNIT_EXPECT_TRUE(test, kgni_ntt_is_set(dev, 30, 10));
	KUNIT_EXPECT_EQ(test, bitmap_weight(dev->ntt->set, KGNI_NTT_ENTRIES), 10);
	mutex_unlock(&dev->lock);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 1, 7, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, clear(dev, 30, 1), GNI_RC_SUCCESS);
}

static void bad_entries(struct kunit *test)
{
	static const struct kgni_ntt_entry bad[] = {
		{ .replaced = 5 }, { .replaced = U32_MAX }, { .block = U32_MAX - 3 },
		{ .replacement = U32_MAX - 3 }, { .block = U32_MAX },
	};
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	u32 i, base = 0;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, set(dev, &bad[i], 1, 4, &base), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, dev->ntt);
}

static struct kunit_case ntt_cases[] = {
	KUNIT_CASE(translation),
	KUNIT_CASE(there_and_back),
	KUNIT_CASE(no_translation),
	KUNIT_CASE(maps_are_copies),
	KUNIT_CASE_PARAM(placement, place_gen_params),
	KUNIT_CASE(bad_entries),
	{}
};

static struct kunit_suite ntt_suite = {
	.name = "kgni_ntt",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = ntt_cases,
};

kunit_test_suite(ntt_suite);
