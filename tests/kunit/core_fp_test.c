// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/fp.h in the kernel: what core_amo_test.c does not reach, rounding that
 * has a direction, and exceptions.
 */
#include "kgt.h"
#include "kgt_amo.h"

#define ONE	0x3ff0000000000000
#define MINUS	0x8000000000000000
#define HUGEST	0x7fefffffffffffff
#define INF	0x7ff0000000000000
#define SNAN	0x7ff0000000000001

static const struct sum {
	const char *name;
	u8 size;
	enum kgni_fp_round round;
	u64 a, b, value;
	u8 flags;
} sums[] = {
	{ "zero, down", 8, KGNI_FP_DOWN, ONE, ONE | MINUS, MINUS, 0 },
	{ "zero, up", 8, KGNI_FP_UP, ONE, ONE | MINUS, 0, 0 },
	{ "1 and a bit, up", 8, KGNI_FP_UP, ONE, 1, ONE + 1, KGNI_FP_INEXACT },
	{ "1 and a bit, down", 8, KGNI_FP_DOWN, ONE, 1, ONE, KGNI_FP_INEXACT },
	{ "1 less a bit, zero", 8, KGNI_FP_ZERO, ONE, MINUS | 1, ONE - 1, KGNI_FP_INEXACT },
	{ "-1 and a bit, up", 8, KGNI_FP_UP, ONE | MINUS, 1, MINUS | (ONE - 1), KGNI_FP_INEXACT },
	{ "-1 less a bit, down", 8, KGNI_FP_DOWN, ONE | MINUS, MINUS | 1, MINUS | (ONE + 1),
	  KGNI_FP_INEXACT },
	{ "too large, near", 8, KGNI_FP_NEAR, HUGEST, HUGEST, INF,
	  KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ "too large, down", 8, KGNI_FP_DOWN, HUGEST, HUGEST, HUGEST,
	  KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ "too small, up", 8, KGNI_FP_UP, HUGEST | MINUS, HUGEST | MINUS, HUGEST | MINUS,
	  KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ "infinities", 8, KGNI_FP_NEAR, INF, INF | MINUS, 0x7ff8000000000000, KGNI_FP_INVALID },
	{ "signalling NaN", 8, KGNI_FP_NEAR, SNAN, ONE, 0x7ff8000000000000, KGNI_FP_INVALID },
	{ "subnormal", 8, KGNI_FP_UP, 1, 2, 3, 0 },
	{ "single, up", 4, KGNI_FP_UP, 0x3f800000, 1, 0x3f800001, KGNI_FP_INEXACT },
	{ "single, zero", 4, KGNI_FP_ZERO, 0x7f7fffff, 0x7f7fffff, 0x7f7fffff,
	  KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ "single, near", 4, KGNI_FP_NEAR, 0x3f800001, 0x33800000, 0x3f800002, KGNI_FP_INEXACT },
};

static void sum_desc(const struct sum *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sum, sums, sum_desc);

static void rounding(struct kunit *test)
{
	const struct sum *s = test->param_value;
	struct kgni_fp f = kgni_fp_begin(s->size, s->round);

	KUNIT_EXPECT_EQ(test, kgni_fp_add(&f, s->a, s->b), s->value);
	KUNIT_EXPECT_EQ(test, f.flags, s->flags);
	f.flags = 0;
	KUNIT_EXPECT_EQ(test, kgni_fp_add(&f, s->b, s->a), s->value);
	KUNIT_EXPECT_EQ(test, f.flags, s->flags);
}

static void exceptions_stay(struct kunit *test)
{
	struct kgni_fp f = kgni_fp_begin(8, KGNI_FP_NEAR);

	KUNIT_EXPECT_EQ(test, kgni_fp_add(&f, ONE, 1), ONE);
	KUNIT_EXPECT_EQ(test, f.flags, KGNI_FP_INEXACT);
	KUNIT_EXPECT_EQ(test, kgni_fp_min(&f, SNAN, ONE), ONE);
	KUNIT_EXPECT_EQ(test, f.flags, KGNI_FP_INEXACT | KGNI_FP_INVALID);
	KUNIT_EXPECT_EQ(test, kgni_fp_add(&f, ONE, ONE), 0x4000000000000000);
	KUNIT_EXPECT_EQ(test, f.flags, KGNI_FP_INEXACT | KGNI_FP_INVALID);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(rounding, sum_gen_params),
	KUNIT_CASE(exceptions_stay),
	{}
};

static struct kunit_suite core_fp_suite = {
	.name = "kgni_core_fp",
	.test_cases = cases,
};

kunit_test_suite(core_fp_suite);
