// SPDX-License-Identifier: GPL-2.0-only
/* Codes and arithmetic of atomic memory operations: kernel/core/amo.h. */
#include "unit.h"
#include <math.h>

#include "core/amo.h"

enum { NONE, ADD, AND, OR, XOR, SWAP, CSWAP, AX, MIN, MAX, FPMIN, FPMAX, FPADD, OPS };

/* What the header calls an operation. */
static const enum kgni_amo_op ops[OPS] = {
	[NONE] = KGNI_AMO_NONE, [ADD] = KGNI_AMO_ADD, [AND] = KGNI_AMO_AND,
	[OR] = KGNI_AMO_OR, [XOR] = KGNI_AMO_XOR, [SWAP] = KGNI_AMO_SWAP,
	[CSWAP] = KGNI_AMO_CSWAP, [AX] = KGNI_AMO_AX, [MIN] = KGNI_AMO_MIN,
	[MAX] = KGNI_AMO_MAX, [FPMIN] = KGNI_AMO_FPMIN, [FPMAX] = KGNI_AMO_FPMAX,
	[FPADD] = KGNI_AMO_FPADD,
};

/*
 * Every gni_fma_cmd_type_t. The names go on from GNI_FMA_ATOMIC_, or
 * GNI_FMA_ATOMIC for the second generation.
 */
static const struct cmd {
	const char *name;
	u32 code;
	u8 op, size, fetch;
} cmds[] = {
	{ "FADD", 0x008, ADD, 8, 1 },
	{ "FADD_C", 0x018, ADD, 8, 1 },
	{ "FAND", 0x009, AND, 8, 1 },
	{ "FAND_C", 0x019, AND, 8, 1 },
	{ "FOR", 0x00a, OR, 8, 1 },
	{ "FOR_C", 0x01a, OR, 8, 1 },
	{ "FXOR", 0x00b, XOR, 8, 1 },
	{ "FXOR_C", 0x01b, XOR, 8, 1 },
	{ "FAX", 0x00c, AX, 8, 1 },
	{ "FAX_C", 0x01c, AX, 8, 1 },
	{ "CSWAP", 0x00d, CSWAP, 8, 1 },
	{ "CSWAP_C", 0x01d, CSWAP, 8, 1 },
	{ "2_FAND_S", 0x240, AND, 4, 1 },
	{ "2_FAND", 0x041, AND, 8, 1 },
	{ "2_FAND_SC", 0x260, AND, 4, 1 },
	{ "2_FAND_C", 0x061, AND, 8, 1 },
	{ "2_FOR_S", 0x242, OR, 4, 1 },
	{ "2_FOR", 0x043, OR, 8, 1 },
	{ "2_FOR_SC", 0x262, OR, 4, 1 },
	{ "2_FOR_C", 0x063, OR, 8, 1 },
	{ "2_FXOR_S", 0x244, XOR, 4, 1 },
	{ "2_FXOR", 0x045, XOR, 8, 1 },
	{ "2_FXOR_SC", 0x264, XOR, 4, 1 },
	{ "2_FXOR_C", 0x065, XOR, 8, 1 },
	{ "2_FSWAP_S", 0x246, SWAP, 4, 1 },
	{ "2_FSWAP", 0x047, SWAP, 8, 1 },
	{ "2_FSWAP_SC", 0x266, SWAP, 4, 1 },
	{ "2_FSWAP_C", 0x067, SWAP, 8, 1 },
	{ "2_FAX_S", 0x248, AX, 4, 1 },
	{ "2_FAX", 0x049, AX, 8, 1 },
	{ "2_FAX_SC", 0x268, AX, 4, 1 },
	{ "2_FAX_C", 0x069, AX, 8, 1 },
	{ "2_FCSWAP_S", 0x24a, CSWAP, 4, 1 },
	{ "2_FCSWAP", 0x04b, CSWAP, 8, 1 },
	{ "2_FCSWAP_SC", 0x26a, CSWAP, 4, 1 },
	{ "2_FCSWAP_C", 0x06b, CSWAP, 8, 1 },
	{ "2_FIMIN_S", 0x250, MIN, 4, 1 },
	{ "2_FIMIN", 0x051, MIN, 8, 1 },
	{ "2_FIMIN_SC", 0x270, MIN, 4, 1 },
	{ "2_FIMIN_C", 0x071, MIN, 8, 1 },
	{ "2_FIMAX_S", 0x252, MAX, 4, 1 },
	{ "2_FIMAX", 0x053, MAX, 8, 1 },
	{ "2_FIMAX_SC", 0x272, MAX, 4, 1 },
	{ "2_FIMAX_C", 0x073, MAX, 8, 1 },
	{ "2_FIADD_S", 0x254, ADD, 4, 1 },
	{ "2_FIADD", 0x055, ADD, 8, 1 },
	{ "2_FIADD_SC", 0x274, ADD, 4, 1 },
	{ "2_FIADD_C", 0x075, ADD, 8, 1 },
	{ "2_FFPMIN_S", 0x258, FPMIN, 4, 1 },
	{ "2_FFPMIN", 0x059, FPMIN, 8, 1 },
	{ "2_FFPMIN_SC", 0x278, FPMIN, 4, 1 },
	{ "2_FFPMIN_C", 0x079, FPMIN, 8, 1 },
	{ "2_FFPMAX_S", 0x25a, FPMAX, 4, 1 },
	{ "2_FFPMAX", 0x05b, FPMAX, 8, 1 },
	{ "2_FFPMAX_SC", 0x27a, FPMAX, 4, 1 },
	{ "2_FFPMAX_C", 0x07b, FPMAX, 8, 1 },
	{ "2_FFPADD_S", 0x25c, FPADD, 4, 1 },
	{ "2_FFPADD", 0x05d, FPADD, 8, 1 },
	{ "2_FFPADD_SC", 0x27c, FPADD, 4, 1 },
	{ "2_FFPADD_C", 0x07d, FPADD, 8, 1 },
	{ "ADD", 0x108, ADD, 8, 0 },
	{ "ADD_C", 0x118, ADD, 8, 0 },
	{ "AND", 0x109, AND, 8, 0 },
	{ "AND_C", 0x119, AND, 8, 0 },
	{ "OR", 0x10a, OR, 8, 0 },
	{ "OR_C", 0x11a, OR, 8, 0 },
	{ "XOR", 0x10b, XOR, 8, 0 },
	{ "XOR_C", 0x11b, XOR, 8, 0 },
	{ "AX", 0x10c, AX, 8, 0 },
	{ "AX_C", 0x11c, AX, 8, 0 },
	{ "2_AND_S", 0x340, AND, 4, 0 },
	{ "2_AND", 0x141, AND, 8, 0 },
	{ "2_AND_SC", 0x360, AND, 4, 0 },
	{ "2_AND_C", 0x161, AND, 8, 0 },
	{ "2_OR_S", 0x342, OR, 4, 0 },
	{ "2_OR", 0x143, OR, 8, 0 },
	{ "2_OR_SC", 0x362, OR, 4, 0 },
	{ "2_OR_C", 0x163, OR, 8, 0 },
	{ "2_XOR_S", 0x344, XOR, 4, 0 },
	{ "2_XOR", 0x145, XOR, 8, 0 },
	{ "2_XOR_SC", 0x364, XOR, 4, 0 },
	{ "2_XOR_C", 0x165, XOR, 8, 0 },
	{ "2_SWAP_S", 0x346, SWAP, 4, 0 },
	{ "2_SWAP", 0x147, SWAP, 8, 0 },
	{ "2_SWAP_SC", 0x366, SWAP, 4, 0 },
	{ "2_SWAP_C", 0x167, SWAP, 8, 0 },
	{ "2_AX_S", 0x348, AX, 4, 0 },
	{ "2_AX", 0x149, AX, 8, 0 },
	{ "2_AX_SC", 0x368, AX, 4, 0 },
	{ "2_AX_C", 0x169, AX, 8, 0 },
	{ "2_CSWAP_S", 0x34a, CSWAP, 4, 0 },
	{ "2_CSWAP", 0x14b, CSWAP, 8, 0 },
	{ "2_CSWAP_SC", 0x36a, CSWAP, 4, 0 },
	{ "2_CSWAP_C", 0x16b, CSWAP, 8, 0 },
	{ "2_IMIN_S", 0x350, MIN, 4, 0 },
	{ "2_IMIN", 0x151, MIN, 8, 0 },
	{ "2_IMIN_SC", 0x370, MIN, 4, 0 },
	{ "2_IMIN_C", 0x171, MIN, 8, 0 },
	{ "2_IMAX_S", 0x352, MAX, 4, 0 },
	{ "2_IMAX", 0x153, MAX, 8, 0 },
	{ "2_IMAX_SC", 0x372, MAX, 4, 0 },
	{ "2_IMAX_C", 0x173, MAX, 8, 0 },
	{ "2_IADD_S", 0x354, ADD, 4, 0 },
	{ "2_IADD", 0x155, ADD, 8, 0 },
	{ "2_IADD_SC", 0x374, ADD, 4, 0 },
	{ "2_IADD_C", 0x175, ADD, 8, 0 },
	{ "2_FPMIN_S", 0x358, FPMIN, 4, 0 },
	{ "2_FPMIN", 0x159, FPMIN, 8, 0 },
	{ "2_FPMIN_SC", 0x378, FPMIN, 4, 0 },
	{ "2_FPMIN_C", 0x179, FPMIN, 8, 0 },
	{ "2_FPMAX_S", 0x35a, FPMAX, 4, 0 },
	{ "2_FPMAX", 0x15b, FPMAX, 8, 0 },
	{ "2_FPMAX_SC", 0x37a, FPMAX, 4, 0 },
	{ "2_FPMAX_C", 0x17b, FPMAX, 8, 0 },
	{ "2_FPADD_S", 0x35c, FPADD, 4, 0 },
	{ "2_FPADD", 0x15d, FPADD, 8, 0 },
	{ "2_FPADD_SC", 0x37c, FPADD, 4, 0 },
	{ "2_FPADD_C", 0x17d, FPADD, 8, 0 },
};

static const struct cmd *find(u32 code)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (cmds[i].code == code)
			return &cmds[i];
	return NULL;
}

static void check_code(u32 code, const struct cmd *c)
{
	struct kgni_amo amo;

	memset(&amo, 0xa5, sizeof(amo));
	if (kgni_amo_decode(code, &amo) != !!c)
		fail_msg("code %#x is %s", code, c ? c->name : "none");
	if (!c)
		return;
	if (amo.op != ops[c->op] || amo.size != c->size || amo.fetch != c->fetch)
		fail_msg("code %#x: %s taken for op %d, size %d, fetch %d", code, c->name,
			 amo.op, amo.size, amo.fetch);
}

static void test_table(void **state)
{
	u32 i, j;

	(void)state;
	assert_int_equal(ARRAY_SIZE(cmds), 118);
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		check_code(cmds[i].code, &cmds[i]);
		for (j = 0; j < i; j++)
			assert_int_not_equal(cmds[i].code, cmds[j].code);
	}
}

static void test_all_codes(void **state)
{
	u32 code, bit;

	(void)state;
	for (code = 0; code <= 0xffff; code++)
		check_code(code, find(code));
	/* A good code with a high bit set is no code. */
	for (code = 0; code < 0x400; code++)
		for (bit = 10; bit < 32; bit++)
			check_code(code | 1U << bit, NULL);
	check_code(0xffffffff, NULL);
}

/* Floating point by the processor, what is no number by the rules of core/fp.h. */
static uint32_t plain_float(int op, uint32_t old, uint32_t a)
{
	float x, y, r;
	uint32_t bits;

	memcpy(&x, &old, 4);
	memcpy(&y, &a, 4);
	if (op == FPADD)
		r = x + y;
	else if (isnan(x) || isnan(y))
		return !isnan(x) ? old : !isnan(y) ? a : 0x7fc00000;
	else if (x == y)
		return op == FPMIN ? old | a : old & a;	/* zeros, or the same */
	else
		return (x < y) == (op == FPMIN) ? old : a;
	memcpy(&bits, &r, 4);
	return isnan(r) ? 0x7fc00000 : bits;
}

static uint64_t plain_double(int op, uint64_t old, uint64_t a)
{
	double x, y, r;
	uint64_t bits;

	memcpy(&x, &old, 8);
	memcpy(&y, &a, 8);
	if (op == FPADD)
		r = x + y;
	else if (isnan(x) || isnan(y))
		return !isnan(x) ? old : !isnan(y) ? a : 0x7ff8000000000000;
	else if (x == y)
		return op == FPMIN ? old | a : old & a;	/* zeros, or the same */
	else
		return (x < y) == (op == FPMIN) ? old : a;
	memcpy(&bits, &r, 8);
	return isnan(r) ? 0x7ff8000000000000 : bits;
}

static uint32_t plain32(int op, uint32_t old, uint32_t a, uint32_t b)
{
	int32_t sold, sa;

	memcpy(&sold, &old, 4);
	memcpy(&sa, &a, 4);
	switch (op) {
	case ADD:
		return old + a;
	case AND:
		return old & a;
	case OR:
		return old | a;
	case XOR:
		return old ^ a;
	case SWAP:
		return a;
	case CSWAP:
		if (old != a)
			return old;
		return b;
	case AX:
		return (old & a) ^ b;
	case MIN:
		return sold <= sa ? old : a;
	case MAX:
		return sold >= sa ? old : a;
	case FPMIN:
	case FPMAX:
	case FPADD:
		return plain_float(op, old, a);
	}
	return old;
}

static uint64_t plain64(int op, uint64_t old, uint64_t a, uint64_t b)
{
	int64_t sold, sa;

	memcpy(&sold, &old, 8);
	memcpy(&sa, &a, 8);
	switch (op) {
	case ADD:
		return old + a;
	case AND:
		return old & a;
	case OR:
		return old | a;
	case XOR:
		return old ^ a;
	case SWAP:
		return a;
	case CSWAP:
		if (old != a)
			return old;
		return b;
	case AX:
		return (old & a) ^ b;
	case MIN:
		return sold <= sa ? old : a;
	case MAX:
		return sold >= sa ? old : a;
	case FPMIN:
	case FPMAX:
	case FPADD:
		return plain_double(op, old, a);
	}
	return old;
}

static u64 plain(int op, u8 size, u64 old, u64 a, u64 b)
{
	return size == 4 ? plain32(op, (u32)old, (u32)a, (u32)b) : plain64(op, old, a, b);
}

static void operands(u64 *rng, u64 *old, u64 *a, u64 *b)
{
	*old = unit_edge(rng);
	*a = unit_below(rng, 4) ? unit_edge(rng) : *old;
	*b = unit_edge(rng);
	/* Of one size, or it is rare that both count in a sum of floating point. */
	if (!unit_below(rng, 4))
		*a = *old ^ unit_rand(rng) >> unit_below(rng, 64);
	/* The halves that do not count may differ. */
	if (!unit_below(rng, 4))
		*a = (u32)*old | unit_rand(rng) << 32;
}

static void test_apply(void **state)
{
	u64 rng = 21, old, a, b;
	u32 n, op;
	u8 size;

	(void)state;
	for (n = 0; n < 40000; n++) {
		operands(&rng, &old, &a, &b);
		for (op = NONE; op < OPS; op++)
			for (size = 4; size <= 8; size += 4)
				if (kgni_amo_apply(ops[op], size, old, a, b) !=
				    plain(op, size, old, a, b))
					fail_msg("op %u size %u: %#jx %#jx %#jx", op, size,
						 (uintmax_t)old, (uintmax_t)a, (uintmax_t)b);
	}
}

static const struct sum {
	u8 op, size;
	u64 old, a, b, new;
} sums[] = {
	{ ADD, 4, 0xffffffff, 1, 0, 0 },
	{ ADD, 8, 0xffffffff, 1, 0, 0x100000000 },
	{ ADD, 4, 0x7fffffff, 0xdead00000001, 0, 0x80000000 },
	{ ADD, 8, ~0ULL, 2, 0, 1 },
	{ MIN, 4, 0x7fffffff, 0x80000000, 0, 0x80000000 },
	{ MAX, 4, 0x7fffffff, 0x80000000, 0, 0x7fffffff },
	{ MIN, 8, 0x7fffffff, 0x80000000, 0, 0x7fffffff },
	{ MAX, 8, 1ULL << 63, ~0ULL, 0, ~0ULL },
	{ MIN, 8, 1ULL << 63, 0x7fffffffffffffff, 0, 1ULL << 63 },
	{ MIN, 4, 5, 0x1fffffffd, 0, 0xfffffffd },
	{ CSWAP, 4, 7, 0xff00000007, 0xee00000009, 9 },
	{ CSWAP, 8, 7, 0xff00000007, 0xee00000009, 7 },
	{ CSWAP, 8, 7, 7, 0xee00000009, 0xee00000009 },
	{ SWAP, 4, 1, 0x1234567890, 0, 0x34567890 },
	/* AND all ones, XOR none: a read. XOR with AND none: a masked swap. */
	{ AX, 8, 0x123456789abcdef0, ~0ULL, 0, 0x123456789abcdef0 },
	{ AX, 8, 0x123456789abcdef0, 0xffffffff00000000, 0xcafe, 0x123456780000cafe },
	{ AX, 4, 0x12345678, 0xffffffffffff0000, 0xcafe, 0x1234cafe },
	/* 1 + 1, 1.5 and -2, a NaN and 1, -0 and 0. The second operand is nothing. */
	{ FPADD, 4, 0x3f800000, 0xabcdef003f800000, 0, 0x40000000 },
	{ FPADD, 8, 0x3ff0000000000000, 0x3ff0000000000000, ~0ULL, 0x4000000000000000 },
	{ FPMIN, 4, 0x3fc00000, 0xc0000000, ~0ULL, 0xc0000000 },
	{ FPMAX, 8, 0x3ff8000000000000, 0xc000000000000000, ~0ULL, 0x3ff8000000000000 },
	{ FPMIN, 8, 0x7ff8000000000000, 0x3ff0000000000000, 0, 0x3ff0000000000000 },
	{ FPMAX, 4, 0x80000000, 0xffffffff00000000, 0, 0 },
};

static void test_known(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sums); i++)
		assert_int_equal(kgni_amo_apply(ops[sums[i].op], sums[i].size, sums[i].old,
						sums[i].a, sums[i].b), sums[i].new);
}

/* In memory: the old value comes back and the neighbours stay. */
static void test_exec(void **state)
{
	u64 rng = 22, old, a, b, before[3];
	struct kgni_amo amo = { 0 };
	unsigned char *mem, *word;
	u32 n, at;

	(void)state;
	mem = malloc(sizeof(before));
	assert_non_null(mem);
	for (n = 0; n < 100000; n++) {
		operands(&rng, &old, &a, &b);
		amo.op = ops[1 + n % (OPS - 1)];
		amo.size = n & 16 ? 4 : 8;
		amo.fetch = n & 32;
		before[0] = unit_rand(&rng);
		before[1] = unit_rand(&rng);
		before[2] = unit_rand(&rng);
		at = unit_below(&rng, sizeof(before) / amo.size) * amo.size;
		memcpy((char *)before + at, &old, amo.size);
		memcpy(mem, before, sizeof(before));
		word = mem + at;
		assert_int_equal(kgni_amo_exec(&amo, word, a, b),
				 amo.size == 4 ? (u32)old : old);
		old = plain(1 + n % (OPS - 1), amo.size, old, a, b);
		memcpy((char *)before + at, &old, amo.size);
		assert_memory_equal(mem, before, sizeof(before));
	}
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_all_codes),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_exec),
	};

	return cmocka_run_group_tests_name("atomic memory operations", tests, NULL, NULL);
}
