/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every gni_fma_cmd_type_t, by name, what it does, and the arithmetic once more,
 * written otherwise than in core/amo.h.
 */
#ifndef _KGT_AMO_H
#define _KGT_AMO_H

#include <kunit/test.h>

#include <gni_pub.h>
#include "../../kernel/core/amo.h"

struct kgt_amo {
	const char *name;
	u32 code;
	enum kgni_amo_op op;
	u8 size;
	bool fetch;
};

#define KGT_AMO(name, op, size, fetch) { #name, GNI_FMA_ ## name, KGNI_AMO_ ## op, size, fetch }

static const struct kgt_amo kgt_amos[] = {
	KGT_AMO(ATOMIC_FADD, ADD, 8, true),
	KGT_AMO(ATOMIC_FADD_C, ADD, 8, true),
	KGT_AMO(ATOMIC_FAND, AND, 8, true),
	KGT_AMO(ATOMIC_FAND_C, AND, 8, true),
	KGT_AMO(ATOMIC_FOR, OR, 8, true),
	KGT_AMO(ATOMIC_FOR_C, OR, 8, true),
	KGT_AMO(ATOMIC_FXOR, XOR, 8, true),
	KGT_AMO(ATOMIC_FXOR_C, XOR, 8, true),
	KGT_AMO(ATOMIC_FAX, AX, 8, true),
	KGT_AMO(ATOMIC_FAX_C, AX, 8, true),
	KGT_AMO(ATOMIC_CSWAP, CSWAP, 8, true),
	KGT_AMO(ATOMIC_CSWAP_C, CSWAP, 8, true),
	KGT_AMO(ATOMIC2_FAND_S, AND, 4, true),
	KGT_AMO(ATOMIC2_FAND, AND, 8, true),
	KGT_AMO(ATOMIC2_FAND_SC, AND, 4, true),
	KGT_AMO(ATOMIC2_FAND_C, AND, 8, true),
	KGT_AMO(ATOMIC2_FOR_S, OR, 4, true),
	KGT_AMO(ATOMIC2_FOR, OR, 8, true),
	KGT_AMO(ATOMIC2_FOR_SC, OR, 4, true),
	KGT_AMO(ATOMIC2_FOR_C, OR, 8, true),
	KGT_AMO(ATOMIC2_FXOR_S, XOR, 4, true),
	KGT_AMO(ATOMIC2_FXOR, XOR, 8, true),
	KGT_AMO(ATOMIC2_FXOR_SC, XOR, 4, true),
	KGT_AMO(ATOMIC2_FXOR_C, XOR, 8, true),
	KGT_AMO(ATOMIC2_FSWAP_S, SWAP, 4, true),
	KGT_AMO(ATOMIC2_FSWAP, SWAP, 8, true),
	KGT_AMO(ATOMIC2_FSWAP_SC, SWAP, 4, true),
	KGT_AMO(ATOMIC2_FSWAP_C, SWAP, 8, true),
	KGT_AMO(ATOMIC2_FAX_S, AX, 4, true),
	KGT_AMO(ATOMIC2_FAX, AX, 8, true),
	KGT_AMO(ATOMIC2_FAX_SC, AX, 4, true),
	KGT_AMO(ATOMIC2_FAX_C, AX, 8, true),
	KGT_AMO(ATOMIC2_FCSWAP_S, CSWAP, 4, true),
	KGT_AMO(ATOMIC2_FCSWAP, CSWAP, 8, true),
	KGT_AMO(ATOMIC2_FCSWAP_SC, CSWAP, 4, true),
	KGT_AMO(ATOMIC2_FCSWAP_C, CSWAP, 8, true),
	KGT_AMO(ATOMIC2_FIMIN_S, MIN, 4, true),
	KGT_AMO(ATOMIC2_FIMIN, MIN, 8, true),
	KGT_AMO(ATOMIC2_FIMIN_SC, MIN, 4, true),
	KGT_AMO(ATOMIC2_FIMIN_C, MIN, 8, true),
	KGT_AMO(ATOMIC2_FIMAX_S, MAX, 4, true),
	KGT_AMO(ATOMIC2_FIMAX, MAX, 8, true),
	KGT_AMO(ATOMIC2_FIMAX_SC, MAX, 4, true),
	KGT_AMO(ATOMIC2_FIMAX_C, MAX, 8, true),
	KGT_AMO(ATOMIC2_FIADD_S, ADD, 4, true),
	KGT_AMO(ATOMIC2_FIADD, ADD, 8, true),
	KGT_AMO(ATOMIC2_FIADD_SC, ADD, 4, true),
	KGT_AMO(ATOMIC2_FIADD_C, ADD, 8, true),
	KGT_AMO(ATOMIC2_FFPMIN_S, FPMIN, 4, true),
	KGT_AMO(ATOMIC2_FFPMIN, FPMIN, 8, true),
	KGT_AMO(ATOMIC2_FFPMIN_SC, FPMIN, 4, true),
	KGT_AMO(ATOMIC2_FFPMIN_C, FPMIN, 8, true),
	KGT_AMO(ATOMIC2_FFPMAX_S, FPMAX, 4, true),
	KGT_AMO(ATOMIC2_FFPMAX, FPMAX, 8, true),
	KGT_AMO(ATOMIC2_FFPMAX_SC, FPMAX, 4, true),
	KGT_AMO(ATOMIC2_FFPMAX_C, FPMAX, 8, true),
	KGT_AMO(ATOMIC2_FFPADD_S, FPADD, 4, true),
	KGT_AMO(ATOMIC2_FFPADD, FPADD, 8, true),
	KGT_AMO(ATOMIC2_FFPADD_SC, FPADD, 4, true),
	KGT_AMO(ATOMIC2_FFPADD_C, FPADD, 8, true),
	KGT_AMO(ATOMIC_ADD, ADD, 8, false),
	KGT_AMO(ATOMIC_ADD_C, ADD, 8, false),
	KGT_AMO(ATOMIC_AND, AND, 8, false),
	KGT_AMO(ATOMIC_AND_C, AND, 8, false),
	KGT_AMO(ATOMIC_OR, OR, 8, false),
	KGT_AMO(ATOMIC_OR_C, OR, 8, false),
	KGT_AMO(ATOMIC_XOR, XOR, 8, false),
	KGT_AMO(ATOMIC_XOR_C, XOR, 8, false),
	KGT_AMO(ATOMIC_AX, AX, 8, false),
	KGT_AMO(ATOMIC_AX_C, AX, 8, false),
	KGT_AMO(ATOMIC2_AND_S, AND, 4, false),
	KGT_AMO(ATOMIC2_AND, AND, 8, false),
	KGT_AMO(ATOMIC2_AND_SC, AND, 4, false),
	KGT_AMO(ATOMIC2_AND_C, AND, 8, false),
	KGT_AMO(ATOMIC2_OR_S, OR, 4, false),
	KGT_AMO(ATOMIC2_OR, OR, 8, false),
	KGT_AMO(ATOMIC2_OR_SC, OR, 4, false),
	KGT_AMO(ATOMIC2_OR_C, OR, 8, false),
	KGT_AMO(ATOMIC2_XOR_S, XOR, 4, false),
	KGT_AMO(ATOMIC2_XOR, XOR, 8, false),
	KGT_AMO(ATOMIC2_XOR_SC, XOR, 4, false),
	KGT_AMO(ATOMIC2_XOR_C, XOR, 8, false),
	KGT_AMO(ATOMIC2_SWAP_S, SWAP, 4, false),
	KGT_AMO(ATOMIC2_SWAP, SWAP, 8, false),
	KGT_AMO(ATOMIC2_SWAP_SC, SWAP, 4, false),
	KGT_AMO(ATOMIC2_SWAP_C, SWAP, 8, false),
	KGT_AMO(ATOMIC2_AX_S, AX, 4, false),
	KGT_AMO(ATOMIC2_AX, AX, 8, false),
	KGT_AMO(ATOMIC2_AX_SC, AX, 4, false),
	KGT_AMO(ATOMIC2_AX_C, AX, 8, false),
	KGT_AMO(ATOMIC2_CSWAP_S, CSWAP, 4, false),
	KGT_AMO(ATOMIC2_CSWAP, CSWAP, 8, false),
	KGT_AMO(ATOMIC2_CSWAP_SC, CSWAP, 4, false),
	KGT_AMO(ATOMIC2_CSWAP_C, CSWAP, 8, false),
	KGT_AMO(ATOMIC2_IMIN_S, MIN, 4, false),
	KGT_AMO(ATOMIC2_IMIN, MIN, 8, false),
	KGT_AMO(ATOMIC2_IMIN_SC, MIN, 4, false),
	KGT_AMO(ATOMIC2_IMIN_C, MIN, 8, false),
	KGT_AMO(ATOMIC2_IMAX_S, MAX, 4, false),
	KGT_AMO(ATOMIC2_IMAX, MAX, 8, false),
	KGT_AMO(ATOMIC2_IMAX_SC, MAX, 4, false),
	KGT_AMO(ATOMIC2_IMAX_C, MAX, 8, false),
	KGT_AMO(ATOMIC2_IADD_S, ADD, 4, false),
	KGT_AMO(ATOMIC2_IADD, ADD, 8, false),
	KGT_AMO(ATOMIC2_IADD_SC, ADD, 4, false),
	KGT_AMO(ATOMIC2_IADD_C, ADD, 8, false),
	KGT_AMO(ATOMIC2_FPMIN_S, FPMIN, 4, false),
	KGT_AMO(ATOMIC2_FPMIN, FPMIN, 8, false),
	KGT_AMO(ATOMIC2_FPMIN_SC, FPMIN, 4, false),
	KGT_AMO(ATOMIC2_FPMIN_C, FPMIN, 8, false),
	KGT_AMO(ATOMIC2_FPMAX_S, FPMAX, 4, false),
	KGT_AMO(ATOMIC2_FPMAX, FPMAX, 8, false),
	KGT_AMO(ATOMIC2_FPMAX_SC, FPMAX, 4, false),
	KGT_AMO(ATOMIC2_FPMAX_C, FPMAX, 8, false),
	KGT_AMO(ATOMIC2_FPADD_S, FPADD, 4, false),
	KGT_AMO(ATOMIC2_FPADD, FPADD, 8, false),
	KGT_AMO(ATOMIC2_FPADD_SC, FPADD, 4, false),
	KGT_AMO(ATOMIC2_FPADD_C, FPADD, 8, false),
};

static inline void kgt_amo_desc(const struct kgt_amo *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

static inline s64 kgt_amo_signed(u8 size, u64 v)
{
	return size == 4 ? (s32)v : (s64)v;
}

static inline bool kgt_amo_is_fp(const struct kgt_amo *c)
{
	return c->op == KGNI_AMO_FPMIN || c->op == KGNI_AMO_FPMAX || c->op == KGNI_AMO_FPADD;
}

/* Of numbers that have @size bytes; the halves above are 0. */
u64 kgt_fp_add(u8 size, u64 a, u64 b);
u64 kgt_fp_min(u8 size, u64 a, u64 b);
u64 kgt_fp_max(u8 size, u64 a, u64 b);

/* What a word holds after a command. */
static inline u64 kgt_amo_result(const struct kgt_amo *c, u64 old, u64 a, u64 b)
{
	u64 mask = c->size == 4 ? U32_MAX : U64_MAX;
	s64 so = kgt_amo_signed(c->size, old);
	s64 sa = kgt_amo_signed(c->size, a);
	u64 new = old;

	if (c->op == KGNI_AMO_ADD)
		new = a + old;
	else if (c->op == KGNI_AMO_AND)
		new = ~(~a | ~old);
	else if (c->op == KGNI_AMO_OR)
		new = ~(~a & ~old);
	else if (c->op == KGNI_AMO_XOR)
		new = (old | a) & ~(old & a);
	else if (c->op == KGNI_AMO_SWAP)
		new = a;
	else if (c->op == KGNI_AMO_CSWAP && !((old ^ a) & mask))
		new = b;
	else if (c->op == KGNI_AMO_AX)
		new = ((old & a) | b) & ~(old & a & b);
	else if (c->op == KGNI_AMO_MIN && sa < so)
		new = a;
	else if (c->op == KGNI_AMO_MAX && sa > so)
		new = a;
	else if (c->op == KGNI_AMO_FPADD)
		new = kgt_fp_add(c->size, a & mask, old & mask);
	else if (c->op == KGNI_AMO_FPMIN)
		new = kgt_fp_min(c->size, a & mask, old & mask);
	else if (c->op == KGNI_AMO_FPMAX)
		new = kgt_fp_max(c->size, a & mask, old & mask);
	return new & mask;
}

/* Words that tell wrong arithmetic: signs, carries, halves. */
static const u64 kgt_amo_words[] = {
	0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x123456789abcdef0,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffff7fffffff, 0xffffffffffffffff,
};

/*
 * The same for floating point, of both sizes: zeros, subnormal numbers, those
 * around 1 and its last bit, the greatest, infinities, NaNs of both kinds.
 */
static const u64 kgt_amo_numbers[] = {
	0, 0x80000000, 0x8000000000000000, 1, 0x80000001, 0x8000000000000001,
	0x007fffff, 0x00800000, 0x000fffffffffffff, 0x0010000000000000,
	0x3f800000, 0xbf800000, 0x3f7fffff, 0x33800000, 0xb3800000, 0x33800001, 0x3f800001,
	0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ca0000000000000,
	0xbca0000000000000, 0x3ca0000000000001, 0x3ff0000000000001, 0x4059123456789abc,
	0x7f7fffff, 0xff7fffff, 0x73000000, 0x7fefffffffffffff, 0xffefffffffffffff,
	0x7c90000000000000, 0x7f800000, 0xff800000, 0x7ff0000000000000, 0xfff0000000000000,
	0x7fc00000, 0xffabcdef, 0x7f800001, 0x7ff8000000000000, 0xfffabcdef0123456,
	0x7ff0000000000001,
};

#endif /* _KGT_AMO_H */
