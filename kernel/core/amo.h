/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Atomic memory operations: what a command code means, and carrying it out on
 * memory, atomically against CPU atomics on the same words.
 *
 * A command is a sum of bits: 0x100 put semantics (nothing comes back), 0x200
 * 32-bit operands, 0x40 second generation, 0x20 or (first generation) 0x10
 * cached, which changes nothing here.
 */
#ifndef _KGNI_CORE_AMO_H
#define _KGNI_CORE_AMO_H

#include "core.h"
#include "fp.h"

enum kgni_amo_op {
	KGNI_AMO_NONE = 0,	/* no such command */
	KGNI_AMO_ADD,
	KGNI_AMO_AND,
	KGNI_AMO_OR,
	KGNI_AMO_XOR,
	KGNI_AMO_SWAP,
	KGNI_AMO_CSWAP,		/* new = old == op1 ? op2 : old */
	KGNI_AMO_AX,		/* new = (old & op1) ^ op2 */
	KGNI_AMO_MIN,		/* signed */
	KGNI_AMO_MAX,
	KGNI_AMO_FPMIN,		/* floating point, by fp.h */
	KGNI_AMO_FPMAX,
	KGNI_AMO_FPADD,
};

/**
 * struct kgni_amo - a command, decoded
 * @op: what it does
 * @size: bytes of an operand, 4 or 8
 * @fetch: the old value goes back to the initiator
 */
struct kgni_amo {
	enum kgni_amo_op op;
	u8 size;
	bool fetch;
};

#define KGNI_AMO_PUT	0x100
#define KGNI_AMO_SHORT	0x200
#define KGNI_AMO_GEN2	0x040
#define KGNI_AMO_CACHED	0x020
#define KGNI_AMO_CACHED1	0x010

/* First generation, by the low four bits; 64-bit only. */
static inline enum kgni_amo_op kgni_amo_gen1(u32 low)
{
	switch (low) {
	case 0x8: return KGNI_AMO_ADD;
	case 0x9: return KGNI_AMO_AND;
	case 0xa: return KGNI_AMO_OR;
	case 0xb: return KGNI_AMO_XOR;
	case 0xc: return KGNI_AMO_AX;
	case 0xd: return KGNI_AMO_CSWAP;
	}
	return KGNI_AMO_NONE;
}

/* Second generation, by the low five bits less the operand size bit. */
static inline enum kgni_amo_op kgni_amo_gen2(u32 low)
{
	switch (low) {
	case 0x00: return KGNI_AMO_AND;
	case 0x02: return KGNI_AMO_OR;
	case 0x04: return KGNI_AMO_XOR;
	case 0x06: return KGNI_AMO_SWAP;
	case 0x08: return KGNI_AMO_AX;
	case 0x0a: return KGNI_AMO_CSWAP;
	case 0x10: return KGNI_AMO_MIN;
	case 0x12: return KGNI_AMO_MAX;
	case 0x14: return KGNI_AMO_ADD;
	case 0x18: return KGNI_AMO_FPMIN;
	case 0x1a: return KGNI_AMO_FPMAX;
	case 0x1c: return KGNI_AMO_FPADD;
	}
	return KGNI_AMO_NONE;
}

/**
 * kgni_amo_decode - find out what a command code means
 * @cmd: a gni_fma_cmd_type_t
 * @amo: out: the command
 *
 * Second generation codes are odd for 64-bit operands, and even with
 * KGNI_AMO_SHORT for 32-bit ones.
 *
 * Return: false for a code that is not in the table.
 */
static inline bool kgni_amo_decode(u32 cmd, struct kgni_amo *amo)
{
	bool wide = cmd & 1;

	amo->fetch = !(cmd & KGNI_AMO_PUT);
	amo->size = 8;
	amo->op = KGNI_AMO_NONE;
	cmd &= ~(u32)KGNI_AMO_PUT;
	if (cmd & KGNI_AMO_GEN2) {
		if (wide == !!(cmd & KGNI_AMO_SHORT))
			return false;
		if (!wide)
			amo->size = 4;
		cmd &= ~(u32)(KGNI_AMO_GEN2 | KGNI_AMO_SHORT | KGNI_AMO_CACHED);
		amo->op = kgni_amo_gen2(cmd & ~1U);
	} else {
		cmd &= ~(u32)KGNI_AMO_CACHED1;
		amo->op = kgni_amo_gen1(cmd);
		/* The first generation has no compare and swap that is silent. */
		if (amo->op == KGNI_AMO_CSWAP && !amo->fetch)
			amo->op = KGNI_AMO_NONE;
	}
	return amo->op != KGNI_AMO_NONE;
}

/* Sums are rounded to nearest; exceptions are lost, as nobody asks for them. */
static inline u64 kgni_amo_fp(enum kgni_amo_op op, u8 size, u64 old, u64 op1)
{
	struct kgni_fp f = kgni_fp_begin(size, KGNI_FP_NEAR);

	if (op == KGNI_AMO_FPADD)
		return kgni_fp_add(&f, old, op1);
	return op == KGNI_AMO_FPMIN ? kgni_fp_min(&f, old, op1) : kgni_fp_max(&f, old, op1);
}

/**
 * kgni_amo_apply - the arithmetic alone
 * @op: what to do
 * @size: 4 or 8; with 4 the high halves of the others do not count
 * @old: value in memory
 * @op1: first operand
 * @op2: second operand
 *
 * Return: the new value, zero extended.
 */
static inline u64 kgni_amo_apply(enum kgni_amo_op op, u8 size, u64 old, u64 op1, u64 op2)
{
	u64 new = old;
	bool less;

	if (size == 4) {
		old = (u32)old;
		op1 = (u32)op1;
		op2 = (u32)op2;
		less = (s32)op1 < (s32)old;
	} else {
		less = (s64)op1 < (s64)old;
	}
	switch (op) {
	case KGNI_AMO_NONE:
		break;
	case KGNI_AMO_ADD:
		new = old + op1;
		break;
	case KGNI_AMO_AND:
		new = old & op1;
		break;
	case KGNI_AMO_OR:
		new = old | op1;
		break;
	case KGNI_AMO_XOR:
		new = old ^ op1;
		break;
	case KGNI_AMO_SWAP:
		new = op1;
		break;
	case KGNI_AMO_CSWAP:
		new = old == op1 ? op2 : old;
		break;
	case KGNI_AMO_AX:
		new = (old & op1) ^ op2;
		break;
	case KGNI_AMO_MIN:
		new = less ? op1 : old;
		break;
	case KGNI_AMO_MAX:
		new = less ? old : op1;
		break;
	case KGNI_AMO_FPMIN:
	case KGNI_AMO_FPMAX:
	case KGNI_AMO_FPADD:
		new = kgni_amo_fp(op, size, old, op1);
		break;
	}
	return size == 4 ? (u32)new : new;
}

/**
 * kgni_amo_exec - carry out a command on a word in memory
 * @amo: the command
 * @word: the word, naturally aligned
 * @op1: first operand
 * @op2: second operand
 *
 * Atomic against every other atomic access to the word, a full barrier.
 *
 * Context: any. The loop ends when no one else changes the word at the very
 * moment; a partner that does so for ever keeps only its own kind waiting, so
 * callers that face one bound what they ask for.
 * Return: the value before, zero extended.
 */
static inline u64 kgni_amo_exec(const struct kgni_amo *amo, void *word, u64 op1, u64 op2)
{
	u64 old, seen;

	if (amo->size == 4) {
		u32 *w = word;

		seen = core_load(w);
		do {
			old = seen;
			seen = core_cmpxchg(w, (u32)old,
					    (u32)kgni_amo_apply(amo->op, 4, old, op1, op2));
		} while (seen != old);
	} else {
		u64 *w = word;

		seen = core_load(w);
		do {
			old = seen;
			seen = core_cmpxchg(w, old, kgni_amo_apply(amo->op, 8, old, op1, op2));
		} while (seen != old);
	}
	return old;
}

#endif /* _KGNI_CORE_AMO_H */
