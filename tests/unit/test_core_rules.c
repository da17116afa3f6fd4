// SPDX-License-Identifier: GPL-2.0-only
/* What each kind of post demands: kernel/core/rules.h. */
#include "unit.h"
#include "core/rules.h"

/* The kinds of post, in words of their own, to hold the table against. */
static const struct kind {
	const char *name;
	u32 type;
	bool bte, local, writes_local, writes_remote, empty;
} kinds[] = {
	{ "RDMA_PUT",		1, 1, 1, 0, 1, 0 },
	{ "RDMA_GET",		2, 1, 1, 1, 0, 0 },
	{ "FMA_PUT",		3, 0, 0, 0, 1, 1 },
	{ "FMA_PUT_W_SYNCFLAG",	4, 0, 0, 0, 1, 1 },
	{ "FMA_GET",		5, 0, 1, 1, 0, 0 },
	{ "AMO",		6, 0, 0, 0, 1, 0 },
	{ "CQWRITE",		7, 0, 0, 0, 0, 1 },
	{ "FMA_GET_W_FLAG",	9, 0, 1, 1, 0, 0 },
	{ "AMO_W_FLAG",		10, 0, 1, 1, 1, 0 },
};

#define RDMA_PUT	1
#define RDMA_GET	2
#define FMA_PUT		3
#define FMA_PUT_FLAG	4
#define FMA_GET		5
#define AMO		6
#define FMA_GET_FLAG	9
#define AMO_FLAG	10
#define CQWRITE		7

static const struct {
	u32 code;
	u8 size;	/* 0: no such command */
	bool fetch;
} amos[] = {
	{ 0x108, 8, false },	/* ADD */
	{ 0x008, 8, true },	/* FADD */
	{ 0x00d, 8, true },	/* CSWAP */
	{ 0x155, 8, false },	/* 2_IADD */
	{ 0x354, 4, false },	/* 2_IADD_S */
	{ 0x254, 4, true },	/* 2_FIADD_S */
	{ 0x26a, 4, true },	/* 2_FCSWAP_SC */
	{ 0x25c, 4, true },	/* 2_FFPADD_S */
	{ 0x15b, 8, false },	/* 2_FPMAX */
	{ 0x10d, 0, false },
	{ 0x25e, 0, true },
	{ 0, 0, false },
	{ 0xffffffff, 0, false },
};

/* A post whose every field holds something else each time. */
static void garbage(u64 *rng, struct kgni_ioc_post *a)
{
	a->type = (u32)unit_edge(rng);
	a->cq_mode = (u16)unit_below(rng, 8);
	a->dlvr_mode = (u16)unit_below(rng, 0x200);
	a->rdma_mode = (u16)unit_edge(rng);
	a->local_addr = unit_edge(rng);
	a->remote_addr = unit_edge(rng);
	a->length = unit_edge(rng);
	a->sync_addr = unit_edge(rng);
	a->amo_cmd = (u32)unit_edge(rng);
}

static enum kgni_rule check(const struct kgni_ioc_post *a)
{
	struct kgni_amo amo;

	memset(&amo, 0xa5, sizeof(amo));
	return kgni_post_check(a, &amo);
}

static void expect(const struct kgni_ioc_post *a, enum kgni_rule want)
{
	enum kgni_rule got = check(a);

	if (got == want)
		return;
	print_error("type %u cq_mode %x rdma_mode %x amo_cmd %#x length %#jx\n", a->type,
		    a->cq_mode, a->rdma_mode, a->amo_cmd, (uintmax_t)a->length);
	print_error("addresses: local %#jx remote %#jx sync %#jx\n", (uintmax_t)a->local_addr,
		    (uintmax_t)a->remote_addr, (uintmax_t)a->sync_addr);
	fail_msg("%d, not %d", got, want);
}

static void test_kinds(void **state)
{
	const struct kgni_post_rule *r;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];

		r = kgni_post_rule(k->type);
		assert_non_null(r);
		if (r->bte != k->bte || r->local != k->local ||
		    r->local_write != k->writes_local || r->remote_write != k->writes_remote ||
		    r->empty != k->empty)
			fail_msg("%s", k->name);
		assert_true(r->valid && r->remote_align && r->length_align);
	}
}

static void test_unknown_types(void **state)
{
	static const u32 none[] = { 0, 8, 11, 12, 0x80000001, 0x100, 0xffffffff };
	struct kgni_ioc_post a;
	u64 rng = 41;
	u32 i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		assert_null(kgni_post_rule(none[i]));
		for (n = 0; n < 1000; n++) {
			garbage(&rng, &a);
			a.type = none[i];
			expect(&a, KGNI_RULE_PARAM);
		}
	}
}

/* What alignment a put, a get, a flag and an operand need. */
static void expect_aligned(struct kgni_ioc_post *a, u32 remote, u32 length, u32 other)
{
	bool empty_ok = a->type == FMA_PUT || a->type == FMA_PUT_FLAG;
	enum kgni_rule want = KGNI_RULE_OK;

	a->remote_addr = 0x7f0000010000 + remote;
	a->length = length;
	if (a->type == FMA_PUT_FLAG)
		a->sync_addr = 0x7f0000020000 + other;
	if (!length && !empty_ok)
		want = KGNI_RULE_PARAM;
	else if ((a->type == RDMA_GET || a->type == FMA_GET) && (remote % 4 || length % 4))
		want = KGNI_RULE_ALIGN;
	else if (a->type == FMA_PUT_FLAG && other % 8)
		want = KGNI_RULE_ALIGN;
	expect(a, want);
}

static void test_alignment(void **state)
{
	static const u16 rdma_modes[] = { 0, 2, 4, 6 };
	struct kgni_ioc_post a;
	u64 rng = 42;
	u32 type, remote, length, other;

	(void)state;
	for (type = RDMA_PUT; type <= FMA_GET; type++)
	for (remote = 0; remote < 16; remote++)
	for (length = 0; length < 18; length++)
	for (other = 0; other < 16; other++) {
		garbage(&rng, &a);
		a.type = type;
		if (type == RDMA_PUT || type == RDMA_GET)
			a.rdma_mode = rdma_modes[other % 4];
		/* Any local address is fine, garbage() sees to that. */
		expect_aligned(&a, remote, length, other);
	}
}

static void test_amo(void **state)
{
	struct kgni_ioc_post a;
	struct kgni_amo amo;
	enum kgni_rule want;
	u64 rng = 43;
	u32 i, remote, length, local;
	u8 size;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(amos); i++)
	for (remote = 0; remote < 16; remote++)
	for (length = 0; length < 18; length++)
	for (local = 0; local < 16; local++) {
		garbage(&rng, &a);
		a.type = AMO;
		a.amo_cmd = amos[i].code;
		a.remote_addr = 0x7f0000010000 + remote;
		a.local_addr = 0x7f0000020000 + local;
		a.length = length;
		size = amos[i].size;
		if (!size || !length)
			want = KGNI_RULE_PARAM;
		else if (remote % size || length % size ||
			 (amos[i].fetch && local % size))
			want = KGNI_RULE_ALIGN;
		else
			want = KGNI_RULE_OK;
		expect(&a, want);
		if (want == KGNI_RULE_OK) {
			kgni_post_check(&a, &amo);
			assert_int_equal(amo.size, size);
			assert_int_equal(amo.fetch, amos[i].fetch);
			assert_int_not_equal(amo.op, KGNI_AMO_NONE);
		}
	}
}

/* A CQ write has no address, no length, no alignment. */
static void test_cqwrite(void **state)
{
	struct kgni_ioc_post a;
	u64 rng = 44;
	u32 n;

	(void)state;
	for (n = 0; n < 20000; n++) {
		garbage(&rng, &a);
		a.type = CQWRITE;
		expect(&a, KGNI_RULE_OK);
	}
}

/* A good post of a type with @rng's rubbish in what it does not use. */
static void good(u64 *rng, u32 type, struct kgni_ioc_post *a)
{
	garbage(rng, a);
	a->type = type;
	a->remote_addr = 0x7f0000010000;
	a->length = 64;
	if (type == FMA_PUT_FLAG)
		a->sync_addr = 0x7f0000020000;
	if (type == RDMA_PUT || type == RDMA_GET)
		a->rdma_mode = 0;
	if (type == AMO) {
		a->amo_cmd = 0x008;
		a->local_addr = 0x7f0000030000;
	}
}

static void test_modes(void **state)
{
	struct kgni_ioc_post a;
	u64 rng = 45;
	u32 type, mode;

	(void)state;
	for (type = RDMA_PUT; type <= CQWRITE; type++)
		for (mode = 0; mode <= 0xffff; mode++) {
			good(&rng, type, &a);
			a.cq_mode = (u16)mode;
			expect(&a, mode <= 7 ? KGNI_RULE_OK : KGNI_RULE_PARAM);
			good(&rng, type, &a);
			a.rdma_mode = (u16)mode;
			/* Of no concern but to RDMA; physical addresses are not for users. */
			expect(&a, type > RDMA_GET || !(mode & ~6U) ?
			       KGNI_RULE_OK : KGNI_RULE_PARAM);
		}
}

/* Address and length together stay below the end of the address space. */
static void test_wrap(void **state)
{
	static const struct {
		u64 addr, length;
		bool ok;
	} ranges[] = {
		{ 0, 64, true },
		{ 0, 1ULL << 63, true },
		{ 1ULL << 63, (1ULL << 63) - 64, true },
		{ 1ULL << 63, 1ULL << 63, false },
		{ 1ULL << 63, (1ULL << 63) + 64, false },
		{ ~63ULL, 64, false },
		{ ~63ULL, 56, true },
		{ ~63ULL, 128, false },
		{ ~7ULL, 8, false },
		{ 64, ~63ULL, false },
		{ 64, ~127ULL, true },
		{ 128, ~7ULL, false },
		{ 0, ~7ULL, true },
	};
	struct kgni_ioc_post a;
	u64 rng = 46;
	u32 type, i;

	(void)state;
	for (type = RDMA_PUT; type <= CQWRITE; type++)
		for (i = 0; i < ARRAY_SIZE(ranges); i++) {
			good(&rng, type, &a);
			a.remote_addr = ranges[i].addr;
			a.length = ranges[i].length;
			expect(&a, ranges[i].ok || type == CQWRITE ?
			       KGNI_RULE_OK : KGNI_RULE_PARAM);
		}
	/* Nothing at the very end is nothing. */
	good(&rng, FMA_PUT, &a);
	a.remote_addr = ~0ULL;
	a.length = 0;
	expect(&a, KGNI_RULE_OK);
}

/* Any bits at all: an answer, and a command only with a good one. */
static void test_garbage(void **state)
{
	struct kgni_ioc_post a;
	u64 rng = 47;
	u32 n, seen[3] = { 0 };

	(void)state;
	for (n = 0; n < 200000; n++) {
		garbage(&rng, &a);
		a.type = unit_below(&rng, 12);
		a.cq_mode = (u16)unit_below(&rng, 9);
		if (n & 1)
			a.amo_cmd = amos[unit_below(&rng, ARRAY_SIZE(amos))].code;
		seen[check(&a)]++;
		if (!kgni_post_rule(a.type) || a.cq_mode > 7)
			expect(&a, KGNI_RULE_PARAM);
	}
	assert_true(seen[0] && seen[1] && seen[2]);
}

/* The flaw says which field, and what it should be a multiple of. */
static void test_flaws(void **state)
{
	static const struct {
		enum kgni_flaw flaw;
		u32 multiple;
		struct kgni_ioc_post a;
	} cases[] = {
		{ KGNI_FLAW_NONE, 0, { .type = FMA_PUT } },
		{ KGNI_FLAW_TYPE, 0, { .type = 0 } },
		{ KGNI_FLAW_CQ_MODE, 0, { .type = FMA_PUT, .cq_mode = 8 } },
		{ KGNI_FLAW_DLVR_MODE, 0, { .type = CQWRITE, .dlvr_mode = 0x200 } },
		{ KGNI_FLAW_NO_RESPONSE, 0, { .type = AMO_FLAG, .length = 8, .amo_cmd = 0x108 } },
		{ KGNI_FLAW_FLAG_LENGTH, 0, { .type = FMA_GET_FLAG, .length = 64 } },
		{ KGNI_FLAW_LOCAL_ADDR, 4, { .type = FMA_GET_FLAG, .length = 4,
					     .local_addr = 2 } },
		{ KGNI_FLAW_FLAG_LINE, 4, { .type = AMO_FLAG, .length = 8, .local_addr = 56,
					    .amo_cmd = 0x008 } },
		{ KGNI_FLAW_RDMA_MODE, 0, { .type = RDMA_PUT, .rdma_mode = 0x100, .length = 1 } },
		{ KGNI_FLAW_RANGE, 0, { .type = FMA_PUT, .remote_addr = ~0ULL, .length = 1 } },
		{ KGNI_FLAW_EMPTY, 0, { .type = RDMA_PUT } },
		{ KGNI_FLAW_AMO_CMD, 0, { .type = AMO, .length = 8, .amo_cmd = 0x10d } },
		{ KGNI_FLAW_REMOTE_ADDR, 8, { .type = AMO, .length = 8, .remote_addr = 4,
					      .amo_cmd = 0x108 } },
		{ KGNI_FLAW_LENGTH, 4, { .type = AMO, .length = 6, .remote_addr = 4,
					 .amo_cmd = 0x254 } },
		{ KGNI_FLAW_LOCAL_ADDR, 8, { .type = AMO, .length = 8, .local_addr = 4,
					     .amo_cmd = 0x008 } },
		{ KGNI_FLAW_SYNC_ADDR, 8, { .type = FMA_PUT_FLAG, .sync_addr = 4 } },
		{ KGNI_FLAW_REMOTE_ADDR, 4, { .type = FMA_GET, .length = 4,
					      .remote_addr = 0x1003 } },
		{ KGNI_FLAW_LENGTH, 4, { .type = RDMA_GET, .length = 6 } },
	};
	struct kgni_amo amo;
	u32 i, multiple;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(kgni_post_flaw(&cases[i].a, &amo, &multiple), cases[i].flaw);
		if (cases[i].flaw >= KGNI_FLAW_ALIGN)
			assert_int_equal(multiple, cases[i].multiple);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_unknown_types),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_amo),
		cmocka_unit_test(test_cqwrite),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_flaws),
	};

	return cmocka_run_group_tests_name("rules of posts", tests, NULL, NULL);
}
