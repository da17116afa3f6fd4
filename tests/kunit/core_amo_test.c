// SPDX-License-Identifier: GPL-2.0-only
/* core/amo.h: every command code, the arithmetic, and atomicity between threads. */
#include "kgt.h"
#include "kgt_amo.h"

KUNIT_ARRAY_PARAM(kgt_amo, kgt_amos, kgt_amo_desc);

/* Only those that are carried out. */
static const void *integer_gen_params(const void *prev, char *desc)
{
	do
		prev = kgt_amo_gen_params(prev, desc);
	while (prev && ((const struct kgt_amo *)prev)->op == KGNI_AMO_NONE);
	return prev;
}

static void decode(struct kunit *test)
{
	const struct kgt_amo *c = test->param_value;
	struct kgni_amo amo;

	KUNIT_ASSERT_EQ(test, kgni_amo_decode(c->code, &amo), c->op != KGNI_AMO_NONE);
	if (c->op == KGNI_AMO_NONE)
		return;
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

static void exec(struct kunit *test)
{
	const struct kgt_amo *c = test->param_value;
	const u32 n = ARRAY_SIZE(kgt_amo_words);
	struct kgni_amo amo;
	u32 i;

	KUNIT_ASSERT_TRUE(test, kgni_amo_decode(c->code, &amo));
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
};

static long count(void *arg)
{
	struct counter *c = arg;
	struct kgni_amo amo;
	u32 i;

	if (!kgni_amo_decode(c->cmd, &amo))
		return -EINVAL;
	for (i = 0; i < ROUNDS; i++) {
		kgni_amo_exec(&amo, &c->word, 1, 0);
		if (i % 512 == 0)
			cond_resched();
	}
	return 0;
}

static void add_from_threads(struct kunit *test)
{
	static const u32 cmds[] = { GNI_FMA_ATOMIC_FADD, GNI_FMA_ATOMIC2_IADD_S };
	struct counter *c = kunit_kzalloc(test, sizeof(*c) * ARRAY_SIZE(cmds), GFP_KERNEL);
	struct kgt_thread *t[THREADS * ARRAY_SIZE(cmds)];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		c[i].cmd = cmds[i];
	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = kgt_thread(test, count, &c[i % ARRAY_SIZE(cmds)]);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), 0);
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		KUNIT_EXPECT_EQ(test, c[i].word, THREADS * ROUNDS);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(decode, kgt_amo_gen_params),
	KUNIT_CASE_PARAM(exec, integer_gen_params),
	KUNIT_CASE(other_codes_are_refused),
	KUNIT_CASE(add_from_threads),
	{}
};

static struct kunit_suite core_amo_suite = {
	.name = "kgni_core_amo",
	.test_cases = cases,
};

kunit_test_suite(core_amo_suite);
