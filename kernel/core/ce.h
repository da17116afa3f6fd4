/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reductions of the collective engine: what a command code means, how what two
 * members gave becomes one, and the word that tells a member of its end.
 *
 * A command is a sum of bits: 0x1 64-bit operands, else 32-bit; 0x20 of equal
 * minima or maxima the greatest index, else the lowest; 0x10 arithmetic; 0x08
 * floating point, by fp.h.
 *
 * A minimum or maximum takes the index that came with the value it takes, as an
 * unsigned number. A NaN is taken only where there is no number; two are one.
 */
#ifndef _KGNI_CORE_CE_H
#define _KGNI_CORE_CE_H

#include "core.h"
#include "fp.h"

#define KGNI_CE_CHILDREN	32	/* of a channel at most */
#define KGNI_CE_CHANNELS	4	/* of a job on a device */

/* Modes of a post, GNI_CEMODE_*: two operands, and exceptions from bit 1 on. */
#define KGNI_CE_TWO_OP		0x01
#define KGNI_CE_FPE_SHIFT	1
#define KGNI_CE_POST_MODES	0x1f

/* Modes of a channel, GNI_CE_MODE_*, in groups of which at most one bit is set. */
#define KGNI_CE_ROUND		0x00f
#define KGNI_CE_CQE		0x050
#define KGNI_CE_CQE_ONCOMP	0x010
#define KGNI_CE_ROUTE		0x780

enum kgni_ce_op {
	KGNI_CE_NONE = 0,	/* no such command */
	KGNI_CE_AND,
	KGNI_CE_OR,
	KGNI_CE_XOR,
	KGNI_CE_ADD,
	KGNI_CE_FPADD,
	KGNI_CE_CHOICES,	/* from here on: an operand with its index */
	KGNI_CE_MIN = KGNI_CE_CHOICES,
	KGNI_CE_MAX,
	KGNI_CE_FPMIN,
	KGNI_CE_FPMAX,
};

/**
 * struct kgni_ce_cmd - a command, decoded
 * @op: what it does
 * @size: bytes of an operand, 4 or 8
 * @greatest: of equals, the greatest index
 */
struct kgni_ce_cmd {
	enum kgni_ce_op op;
	u8 size;
	bool greatest;
};

/**
 * struct kgni_ce_value - what members gave, as far as it is combined
 * @v: result of the first operand; of the second, or the index
 * @fpe: exceptions, KGNI_FP_*
 */
struct kgni_ce_value {
	u64 v[2];
	u8 fpe;
};

static inline bool kgni_ce_chooses(const struct kgni_ce_cmd *c)
{
	return c->op >= KGNI_CE_CHOICES;
}

/* By the bits without size and index. */
static inline enum kgni_ce_op kgni_ce_op_of(u32 code)
{
	switch (code) {
	case 0x00: return KGNI_CE_AND;
	case 0x02: return KGNI_CE_OR;
	case 0x04: return KGNI_CE_XOR;
	case 0x10: return KGNI_CE_MIN;
	case 0x12: return KGNI_CE_MAX;
	case 0x14: return KGNI_CE_ADD;
	case 0x18: return KGNI_CE_FPMIN;
	case 0x1a: return KGNI_CE_FPMAX;
	case 0x1c: return KGNI_CE_FPADD;
	}
	return KGNI_CE_NONE;
}

/**
 * kgni_ce_decode - find out what a command code means
 * @cmd: a gni_ce_cmd_type_t
 * @c: out: the command
 *
 * Return: false for a code that is not in the table.
 */
static inline bool kgni_ce_decode(u32 cmd, struct kgni_ce_cmd *c)
{
	c->size = cmd & 0x1 ? 8 : 4;
	c->greatest = cmd & 0x20;
	c->op = kgni_ce_op_of(cmd & ~0x21U);
	return c->op != KGNI_CE_NONE && (!c->greatest || kgni_ce_chooses(c));
}

static inline u64 kgni_ce_low(const struct kgni_ce_cmd *c, u64 v)
{
	return c->size == 4 ? (u32)v : v;
}

/* Does a reduction have a second value? */
static inline bool kgni_ce_second(const struct kgni_ce_cmd *c, u32 mode)
{
	return kgni_ce_chooses(c) || mode & KGNI_CE_TWO_OP;
}

/**
 * kgni_ce_begin - what one member gives
 * @c: the command
 * @mode: KGNI_CE_TWO_OP, and exceptions that the operands have met before
 * @first: first operand
 * @second: second operand
 *
 * Return: that; 0 for a second operand that is not used.
 */
static inline struct kgni_ce_value kgni_ce_begin(const struct kgni_ce_cmd *c, u32 mode,
						 u64 first, u64 second)
{
	return (struct kgni_ce_value){
		.v = { kgni_ce_low(c, first),
		       kgni_ce_second(c, mode) ? kgni_ce_low(c, second) : 0 },
		.fpe = (mode & KGNI_CE_POST_MODES) >> KGNI_CE_FPE_SHIFT,
	};
}

static inline u64 kgni_ce_apply(const struct kgni_ce_cmd *c, struct kgni_fp *f, u64 a, u64 b)
{
	switch (c->op) {
	case KGNI_CE_AND: return a & b;
	case KGNI_CE_OR: return a | b;
	case KGNI_CE_XOR: return a ^ b;
	case KGNI_CE_FPADD: return kgni_fp_add(f, a, b);
	default: return kgni_ce_low(c, a + b);
	}
}

static inline int kgni_ce_compare_fp(struct kgni_fp *f, u64 a, u64 b)
{
	u64 mask = kgni_fp_sign(f) | (kgni_fp_sign(f) - 1);
	u64 rank_a = kgni_fp_rank(f, a) & mask;
	u64 rank_b = kgni_fp_rank(f, b) & mask;

	return rank_a < rank_b ? -1 : rank_a > rank_b;
}

static inline int kgni_ce_compare_int(const struct kgni_ce_cmd *c, u64 a, u64 b)
{
	s64 x = c->size == 4 ? (s32)a : (s64)a;
	s64 y = c->size == 4 ? (s32)b : (s64)b;

	return x < y ? -1 : x > y;
}

/* Which value is wanted: less than 0 for @a, more for @b, 0 if they are the same. */
static inline int kgni_ce_prefer(const struct kgni_ce_cmd *c, struct kgni_fp *f, u64 a, u64 b)
{
	bool nan_a, nan_b;

	if (c->op == KGNI_CE_MIN)
		return kgni_ce_compare_int(c, a, b);
	if (c->op == KGNI_CE_MAX)
		return kgni_ce_compare_int(c, b, a);
	nan_a = kgni_fp_is_nan(f, a);
	nan_b = kgni_fp_is_nan(f, b);
	if (nan_a || nan_b)
		return nan_a - nan_b;
	return c->op == KGNI_CE_FPMIN ? kgni_ce_compare_fp(f, a, b) : kgni_ce_compare_fp(f, b, a);
}

static inline void kgni_ce_choose(const struct kgni_ce_cmd *c, struct kgni_fp *f,
				  struct kgni_ce_value *sum, const struct kgni_ce_value *next)
{
	int prefer = kgni_ce_prefer(c, f, sum->v[0], next->v[0]);
	bool greater = next->v[1] > sum->v[1];

	if (prefer > 0) {
		sum->v[0] = next->v[0];
		sum->v[1] = next->v[1];
	}
	if (prefer)
		return;
	/* Equals are the same bits, but for NaNs. */
	if (c->op >= KGNI_CE_FPMIN && kgni_fp_is_nan(f, sum->v[0]))
		sum->v[0] = kgni_fp_nan(f);
	if (greater == c->greatest)
		sum->v[1] = next->v[1];
}

/**
 * kgni_ce_combine - make one of what two gave
 * @c: the command
 * @mode: KGNI_CE_TWO_OP; the rest is not looked at
 * @round: how to round, enum kgni_fp_round
 * @sum: in and out: one
 * @next: the other
 */
static inline void kgni_ce_combine(const struct kgni_ce_cmd *c, u32 mode, u32 round,
				   struct kgni_ce_value *sum, const struct kgni_ce_value *next)
{
	struct kgni_fp f = kgni_fp_begin(c->size, (enum kgni_fp_round)round);

	sum->fpe |= next->fpe;
	if (kgni_ce_chooses(c)) {
		kgni_ce_choose(c, &f, sum, next);
	} else {
		sum->v[0] = kgni_ce_apply(c, &f, sum->v[0], next->v[0]);
		if (mode & KGNI_CE_TWO_OP)
			sum->v[1] = kgni_ce_apply(c, &f, sum->v[1], next->v[1]);
	}
	sum->fpe |= f.flags;
}

static inline bool kgni_ce_one_at_most(u32 bits)
{
	return !(bits & (bits - 1));
}

/* Are these modes of a channel? */
static inline bool kgni_ce_modes_ok(u32 modes)
{
	return !(modes & ~(u32)(KGNI_CE_ROUND | KGNI_CE_CQE | KGNI_CE_ROUTE)) &&
	       kgni_ce_one_at_most(modes & KGNI_CE_ROUND) &&
	       kgni_ce_one_at_most(modes & KGNI_CE_CQE) &&
	       kgni_ce_one_at_most(modes & KGNI_CE_ROUTE);
}

/* How a channel with these modes rounds: enum kgni_fp_round. */
static inline u32 kgni_ce_round(u32 modes)
{
	return modes & KGNI_CE_ROUND ? modes & KGNI_CE_ROUND : KGNI_FP_NEAR;
}

/*
 * The control word of a result, 0 before:
 *	63	the reduction is over
 *	56-59	status, enum kgni_cqe_status
 *	48-51	exceptions, KGNI_FP_*
 *	0-47	reduction id
 */
#define KGNI_CE_DONE		(1ULL << 63)
#define KGNI_CE_STATUS_SHIFT	56
#define KGNI_CE_FPE_AT		48
#define KGNI_CE_RED_ID_MAX	((1ULL << 48) - 1)

static inline u64 kgni_ce_control(u64 red_id, u8 fpe, u32 status)
{
	return KGNI_CE_DONE | (u64)status << KGNI_CE_STATUS_SHIFT | (u64)fpe << KGNI_CE_FPE_AT |
	       red_id;
}

static inline u32 kgni_ce_status(u64 control)
{
	return (u32)CORE_BITS(control, KGNI_CE_STATUS_SHIFT, 4);
}

static inline u32 kgni_ce_fpe(u64 control)
{
	return (u32)CORE_BITS(control, KGNI_CE_FPE_AT, 4);
}

static inline u64 kgni_ce_red_id(u64 control)
{
	return control & KGNI_CE_RED_ID_MAX;
}

#endif /* _KGNI_CORE_CE_H */
