// SPDX-License-Identifier: GPL-2.0-only
/* core/amo.h: every command code, the arithmetic, and atomicity between threads. */
#include "kgt.h"
#include "kgt_amo.h"

KUNIT_ARRAY_PARAM(kgt_amo, kgt_amos, kgt_amo_desc);

static void decode(struct kunit *test)
{
	const struct kgt_amo *c = test->param_value;
	struct kgni_amo amo;

	KUNIT_ASSERT_TRUE(test, kgni_amo_decode(c->code, &amo));
	KUNIT_EXPECT_EQ(test, amo.op, c->op);
	KUNIT_EXPECT_EQ(test, amo.size, c->size);
	KUNIT_EXPECT_EQ(test, amo.fetch, c->fetch);
}

static const struct kgt_amo *find(u32 code)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kgt_amos); i++)
		if (kgt_amos[i].code == code)
			return &kgt_amos[i];
	return NULL;
}

static void other_codes_are_refused(struct kunit *test)
{
	struct kgni_amo amo;
	u32 code;

	for (code = 0; code < 0x1000; code++) {
		if (find(code))
			continue;
		KUNIT_EXPECT_FALSE_MSG(test, kgni_amo_decode(code, &amo), "code 0x%x", code);
	}
	for (code = 0x1000; code; code <<= 1)
		KUNIT_EXPECT_FALSE_MSG(test, kgni_amo_decode(GNI_FMA_ATOMIC_FADD | code, &amo),
				       "bit 0x%x", code);
}

/* One command on the middle word of three: its neighbours stay as they are. */
static void exec_one(struct kunit *test, const struct kgt_amo *c, const struct kgni_amo *amo,
		     const u64 *w)
{
	const u64 fence = 0xa5a5a5a5a5a5a5a5;
	u64 mask = c->size == 4 ? U32_MAX : U64_MAX;
	u64 want = kgt_amo_result(c, w[0], w[1], w[2]);
	u64 mem[3] = { fence, fence, fence };

	memcpy(&mem[1], &w[0], c->size);
	KUNIT_EXPECT_EQ(test, kgni_amo_exec(amo, &mem[1], w[1], w[2]), w[0] & mask);
	KUNIT_EXPECT_EQ_MSG(test, mem[1] & mask, want, "old %llx operands %llx %llx",
			    w[0], w[1], w[2]);
	KUNIT_EXPECT_EQ(test, mem[1] & ~mask, fence & ~mask);
	KUNIT_EXPECT_EQ(test, mem[0], fence);
	KUNIT_EXPECT_EQ(test, mem[2], fence);
}

/* There the second operand does not count. */
static void exec_fp(struct kunit *test, const struct kgt_amo *c, const struct kgni_amo *amo)
{
	const u32 n = ARRAY_SIZE(kgt_amo_numbers);
	u32 i;

	for (i = 0; i < n * n; i++) {
		u64 w[3] = { kgt_amo_numbers[i % n], kgt_amo_numbers[i / n], ~0ULL };

		exec_one(test, c, amo, w);
	}
}

static void exec(struct kunit *test)
{
	const struct kgt_amo *c = test->param_value;
	const u32 n = ARRAY_SIZE(kgt_amo_words);
	struct kgni_amo amo;
	u32 i;

	KUNIT_ASSERT_TRUE(test, kgni_amo_decode(c->code, &amo));
	if (kgt_amo_is_fp(c)) {
		exec_fp(test, c, &amo);
		return;
	}
	for (i = 0; i < n * n * n; i++) {
		u64 w[3] = { kgt_amo_words[i % n], kgt_amo_words[i / n % n],
			     kgt_amo_words[i / n / n] };

		exec_one(test, c, &amo, w);
	}
}

#define THREADS	4
#define ROUNDS	20000

struct counter {
	u64 word;
	u32 cmd;
	u64 one, total;
};

static long count(void *arg)
{
	struct counter *c = arg;
	struct kgni_amo amo;
	u32 i;

	if (!kgni_amo_decode(c->cmd, &amo))
		return -EINVAL;
	for (i = 0; i < ROUNDS; i++) {
		kgni_amo_exec(&amo, &c->word, c->one, 0);
		if (i % 512 == 0)
			cond_resched();
	}
	return 0;
}

/* Whole numbers, also of floating point, where none of these sums is rounded. */
static void add_from_threads(struct kunit *test)
{
	static const struct counter counters[] = {
		{ .cmd = GNI_FMA_ATOMIC_FADD, .one = 1, .total = THREADS * ROUNDS },
		{ .cmd = GNI_FMA_ATOMIC2_IADD_S, .one = 1, .total = THREADS * ROUNDS },
		/* 1.0, and 80000.0 */
		{ .cmd = GNI_FMA_ATOMIC2_FFPADD, .one = 0x3ff0000000000000,
		  .total = 0x40f3880000000000 },
		{ .cmd = GNI_FMA_ATOMIC2_FPADD_S, .one = 0x3f800000, .total = 0x479c4000 },
	};
	struct counter *c = kunit_kzalloc(test, sizeof(counters), GFP_KERNEL);
	struct kgt_thread *t[THREADS * ARRAY_SIZE(counters)];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	memcpy(c, counters, sizeof(counters));
	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = kgt_thread(test, count, &c[i % ARRAY_SIZE(counters)]);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), 0);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		KUNIT_EXPECT_EQ(test, c[i].word, c[i].total);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(decode, kgt_amo_gen_params),
	KUNIT_CASE_PARAM(exec, kgt_amo_gen_params),
	KUNIT_CASE(other_codes_are_refused),
	KUNIT_CASE(add_from_threads),
	{}
};

static struct kunit_suite core_amo_suite = {
	.name = "kgni_core_amo",
	.test_cases = cases,
};

kunit_test_suite(core_amo_suite);
