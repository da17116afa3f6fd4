// SPDX-License-Identifier: GPL-2.0-only
/* core/cqe.h: where the fields of an entry are, and what the makers fill in. */
#include "kgt.h"

static u64 get_tid(u64 e)
{
	return kgni_cqe_tid(e & ~(3ULL << KGNI_CQE_TYPE_SHIFT));
}

static u64 get_smsg_tid(u64 e)
{
	e &= ~(7ULL << KGNI_CQE_SOURCE_SHIFT | 3ULL << KGNI_CQE_TYPE_SHIFT);
	return kgni_cqe_tid(e | (u64)KGNI_CQE_SMSG << KGNI_CQE_TYPE_SHIFT |
			    (u64)KGNI_CQE_FMA << KGNI_CQE_SOURCE_SHIFT);
}

/* Read off the layout that the header's comment draws. */
static const struct field {
	const char *name;
	u64 (*get)(u64 e);
	u32 shift, width;
} fields[] = {
	{ "status", kgni_cqe_status, 59, 4 },
	{ "source", kgni_cqe_source, 56, 3 },
	{ "type", kgni_cqe_type, 54, 2 },
	{ "info", kgni_cqe_info, 48, 6 },
	{ "transaction id of a post", get_tid, 24, 29 },
	{ "transaction id of a message", get_smsg_tid, 32, 22 },
};

static void field_desc(const struct field *f, char *desc)
{
	strscpy(desc, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(field, fields, field_desc);

static void place(struct kunit *test)
{
	const struct field *f = test->param_value;
	u32 bit;

	for (bit = 0; bit < 64; bit++) {
		u64 want = bit - f->shift < f->width ? 1ULL << (bit - f->shift) : 0;

		KUNIT_EXPECT_EQ_MSG(test, f->get(1ULL << bit), want, "bit %u", bit);
	}
}

static void post(struct kunit *test)
{
	u64 e = kgni_cqe_post(0xffabcdef, 0xf2345678);

	KUNIT_EXPECT_EQ(test, e, 0xabcdefULL | 0x12345678ULL << 24);
	KUNIT_EXPECT_EQ(test, kgni_cqe_tid(e), 0x12345678);
	KUNIT_EXPECT_EQ(test, e & KGNI_CQE_LOCAL, 0);
	KUNIT_EXPECT_EQ(test, kgni_cqe_type(e), KGNI_CQE_POST);
}

static void smsg(struct kunit *test)
{
	u64 e = kgni_cqe_smsg(0x89abcdef, 0xff3fffff, KGNI_CQE_MSGQ);

	KUNIT_EXPECT_EQ(test, e, 0x89abcdefULL | 0x3fffffULL << 32 | 3ULL << 54);
	e = kgni_cqe_done(e, KGNI_CQE_FMA, KGNI_ST_OK);
	KUNIT_EXPECT_TRUE(test, kgni_cqe_is_smsg(e));
	KUNIT_EXPECT_EQ(test, kgni_cqe_tid(e), 0x3fffff);
}

static void done(struct kunit *test)
{
	u64 e = kgni_cqe_done(U64_MAX, KGNI_CQE_BTE, KGNI_ST_BOUNDS);

	KUNIT_EXPECT_EQ(test, e >> 56, 2 << 3 | 2);
	KUNIT_EXPECT_EQ(test, e << 8, U64_MAX << 8);
}

static void remote(struct kunit *test)
{
	u64 e = kgni_cqe_remote(0xffff123456789abc, KGNI_POST_CQWRITE | 0x40, KGNI_CQE_SMSG);

	KUNIT_EXPECT_EQ(test, e, 0x123456789abcULL | 7ULL << 48 | 1ULL << 54 | 3ULL << 56);
	KUNIT_EXPECT_FALSE(test, kgni_cqe_is_smsg(e));
}

/* A ring tells an entry from a free slot by its upper half. */
static void never_looks_free(struct kunit *test)
{
	KUNIT_EXPECT_NE(test, kgni_cqe_done(0, KGNI_CQE_FMA, KGNI_ST_OK) >> 32, 0);
	KUNIT_EXPECT_NE(test, kgni_cqe_remote(0, 0, KGNI_CQE_POST) >> 32, 0);
	KUNIT_EXPECT_NE(test, kgni_cqe_hole() >> 32, 0);
	KUNIT_EXPECT_NE(test, kgni_cqe_overrun() >> 32, 0);
	KUNIT_EXPECT_EQ(test, kgni_cqe_status(kgni_cqe_hole()), KGNI_ST_PRODUCER_DIED);
	KUNIT_EXPECT_EQ(test, kgni_cqe_source(kgni_cqe_hole()), KGNI_CQE_DRIVER);
	KUNIT_EXPECT_NE(test, kgni_cqe_overrun() & KGNI_CQE_OVERRUN, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(place, field_gen_params),
	KUNIT_CASE(post),
	KUNIT_CASE(smsg),
	KUNIT_CASE(done),
	KUNIT_CASE(remote),
	KUNIT_CASE(never_looks_free),
	{}
};

static struct kunit_suite core_cqe_suite = {
	.name = "kgni_core_cqe",
	.test_cases = cases,
};

kunit_test_suite(core_cqe_suite);
