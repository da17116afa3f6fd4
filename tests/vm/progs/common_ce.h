/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reductions in plain C, by the processor's floating point unit: what results
 * of the collective engine are held against, in the VM and on the host.
 */
#ifndef KGNI_VM_COMMON_CE_H
#define KGNI_VM_COMMON_CE_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <gni_pub.h>

#define CE_NAN4	0x7fc00000ULL
#define CE_NAN8	0x7ff8000000000000ULL

/* Every command, "" for each of both sizes. */
#define CE_COMMANDS(X)						\
	X(AND) X(OR) X(XOR) X(IMIN_LIDX) X(IMAX_LIDX) X(IADD)	\
	X(FPMIN_LIDX) X(FPMAX_LIDX) X(FPADD) X(IMIN_GIDX)	\
	X(IMAX_GIDX) X(FPMIN_GIDX) X(FPMAX_GIDX)

#define CE_BOTH(name)	GNI_FMA_CE_##name##_S, GNI_FMA_CE_##name,

static const gni_ce_cmd_type_t ce_commands[] = { CE_COMMANDS(CE_BOTH) };

#define CE_COMMAND_COUNT	(sizeof(ce_commands) / sizeof(ce_commands[0]))

struct ce_sum {
	uint64_t v[2];
	unsigned int fpe;
};

/* Its place in the table, where each short one comes before the other. */
static inline size_t ce_place(gni_ce_cmd_type_t cmd)
{
	size_t i;

	for (i = 0; i < CE_COMMAND_COUNT - 1 && ce_commands[i] != cmd; i++)
		;
	return i;
}

static inline bool ce_is_short(gni_ce_cmd_type_t cmd)
{
	return !(ce_place(cmd) & 1);
}

/* The command for 64 bits that does the same. */
static inline gni_ce_cmd_type_t ce_long(gni_ce_cmd_type_t cmd)
{
	return ce_commands[ce_place(cmd) | 1];
}

static inline bool ce_is_choice(gni_ce_cmd_type_t cmd)
{
	switch (ce_long(cmd)) {
	case GNI_FMA_CE_AND:
	case GNI_FMA_CE_OR:
	case GNI_FMA_CE_XOR:
	case GNI_FMA_CE_IADD:
	case GNI_FMA_CE_FPADD:
		return false;
	default:
		return true;
	}
}

static inline bool ce_is_fp(gni_ce_cmd_type_t cmd)
{
	switch (ce_long(cmd)) {
	case GNI_FMA_CE_FPADD:
	case GNI_FMA_CE_FPMIN_LIDX:
	case GNI_FMA_CE_FPMIN_GIDX:
	case GNI_FMA_CE_FPMAX_LIDX:
	case GNI_FMA_CE_FPMAX_GIDX:
		return true;
	default:
		return false;
	}
}

static inline bool ce_is_min(gni_ce_cmd_type_t cmd)
{
	switch (ce_long(cmd)) {
	case GNI_FMA_CE_IMIN_LIDX:
	case GNI_FMA_CE_IMIN_GIDX:
	case GNI_FMA_CE_FPMIN_LIDX:
	case GNI_FMA_CE_FPMIN_GIDX:
		return true;
	default:
		return false;
	}
}

static inline bool ce_wants_greatest(gni_ce_cmd_type_t cmd)
{
	switch (ce_long(cmd)) {
	case GNI_FMA_CE_IMIN_GIDX:
	case GNI_FMA_CE_IMAX_GIDX:
	case GNI_FMA_CE_FPMIN_GIDX:
	case GNI_FMA_CE_FPMAX_GIDX:
		return true;
	default:
		return false;
	}
}

static inline uint64_t ce_low(bool is_short, uint64_t v)
{
	return is_short ? (uint32_t)v : v;
}

static inline float ce_single(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return f;
}

static inline double ce_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

static inline unsigned int ce_raised(void)
{
	int raised = fetestexcept(FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);

	return (raised & FE_INVALID ? GNI_CE_FPE_OP_INVAL : 0) |
	       (raised & FE_OVERFLOW ? GNI_CE_FPE_OFLOW : 0) |
	       (raised & FE_UNDERFLOW ? GNI_CE_FPE_UFLOW : 0) |
	       (raised & FE_INEXACT ? GNI_CE_FPE_PRECISION : 0);
}

static inline int ce_host_round(uint32_t round)
{
	switch (round) {
	case GNI_CE_MODE_ROUND_UP: return FE_UPWARD;
	case GNI_CE_MODE_ROUND_DOWN: return FE_DOWNWARD;
	case GNI_CE_MODE_ROUND_ZERO: return FE_TOWARDZERO;
	default: return FE_TONEAREST;
	}
}

static inline uint64_t ce_add_fp(bool is_short, uint32_t round, uint64_t a, uint64_t b,
				 unsigned int *fpe)
{
	volatile float x = ce_single(a), y = ce_single(b), single = 0;
	volatile double p = ce_double(a), q = ce_double(b), twice = 0;
	uint64_t bits = 0;
	float f;
	double d;

	fesetround(ce_host_round(round));
	feclearexcept(FE_ALL_EXCEPT);
	if (is_short)
		single = x + y;
	else
		twice = p + q;
	*fpe |= ce_raised();
	fesetround(FE_TONEAREST);
	f = single;
	d = twice;
	if (is_short ? isnan(f) : isnan(d))
		return is_short ? CE_NAN4 : CE_NAN8;
	if (is_short)
		memcpy(&bits, &f, sizeof(f));
	else
		memcpy(&bits, &d, sizeof(d));
	return bits;
}

static inline bool ce_nan(bool is_short, uint64_t v, unsigned int *fpe)
{
	uint64_t quiet = is_short ? 1ULL << 22 : 1ULL << 51;

	if (is_short ? !isnan(ce_single(v)) : !isnan(ce_double(v)))
		return false;
	if (!(v & quiet))
		*fpe |= GNI_CE_FPE_OP_INVAL;
	return true;
}

/* As GNI_CE_... for numbers: -1 if the first is less, 1 if greater; -0 is less than 0. */
static inline int ce_order_fp(bool is_short, uint64_t a, uint64_t b)
{
	double x = is_short ? ce_single(a) : ce_double(a);
	double y = is_short ? ce_single(b) : ce_double(b);

	if (x != y)
		return x < y ? -1 : 1;
	return !!signbit(y) - !!signbit(x);
}

static inline int ce_order(gni_ce_cmd_type_t cmd, uint64_t a, uint64_t b)
{
	bool is_short = ce_is_short(cmd);
	int64_t x, y;

	if (ce_is_fp(cmd))
		return ce_order_fp(is_short, a, b);
	x = is_short ? (int32_t)a : (int64_t)a;
	y = is_short ? (int32_t)b : (int64_t)b;
	return x < y ? -1 : x > y;
}

static inline void ce_ref_choose(gni_ce_cmd_type_t cmd, struct ce_sum *sum,
				 const struct ce_sum *next)
{
	bool is_short = ce_is_short(cmd), nan_sum = false, nan_next = false, take, tie;
	int order;

	if (ce_is_fp(cmd)) {
		nan_sum = ce_nan(is_short, sum->v[0], &sum->fpe);
		nan_next = ce_nan(is_short, next->v[0], &sum->fpe);
	}
	if (nan_sum || nan_next) {
		take = nan_sum && !nan_next;
		tie = nan_sum && nan_next;
	} else {
		order = ce_order(cmd, next->v[0], sum->v[0]);
		take = ce_is_min(cmd) ? order < 0 : order > 0;
		tie = !order;
	}
	if (take) {
		sum->v[0] = next->v[0];
		sum->v[1] = next->v[1];
	} else if (tie) {
		if (nan_sum)
			sum->v[0] = is_short ? CE_NAN4 : CE_NAN8;
		if (ce_wants_greatest(cmd) ? next->v[1] > sum->v[1] : next->v[1] < sum->v[1])
			sum->v[1] = next->v[1];
	}
}

static inline uint64_t ce_ref_one(gni_ce_cmd_type_t cmd, uint32_t round, uint64_t a, uint64_t b,
				  unsigned int *fpe)
{
	switch (ce_long(cmd)) {
	case GNI_FMA_CE_AND: return a & b;
	case GNI_FMA_CE_OR: return a | b;
	case GNI_FMA_CE_XOR: return a ^ b;
	case GNI_FMA_CE_FPADD: return ce_add_fp(ce_is_short(cmd), round, a, b, fpe);
	default: return ce_low(ce_is_short(cmd), a + b);
	}
}

/* What a leaf gives. */
static inline struct ce_sum ce_ref_begin(gni_ce_cmd_type_t cmd, uint32_t mode, uint64_t first,
					 uint64_t second)
{
	bool both = ce_is_choice(cmd) || mode & GNI_CEMODE_TWO_OP;
	struct ce_sum s = { .fpe = 0 };

	s.v[0] = ce_low(ce_is_short(cmd), first);
	s.v[1] = both ? ce_low(ce_is_short(cmd), second) : 0;
	s.fpe |= mode & GNI_CEMODE_FPE_OP_INVAL ? GNI_CE_FPE_OP_INVAL : 0;
	s.fpe |= mode & GNI_CEMODE_FPE_OFLOW ? GNI_CE_FPE_OFLOW : 0;
	s.fpe |= mode & GNI_CEMODE_FPE_UFLOW ? GNI_CE_FPE_UFLOW : 0;
	s.fpe |= mode & GNI_CEMODE_FPE_PRECISION ? GNI_CE_FPE_PRECISION : 0;
	return s;
}

/* @sum with @next. */
static inline void ce_ref_add(gni_ce_cmd_type_t cmd, uint32_t mode, uint32_t round,
			      struct ce_sum *sum, const struct ce_sum *next)
{
	sum->fpe |= next->fpe;
	if (ce_is_choice(cmd)) {
		ce_ref_choose(cmd, sum, next);
		return;
	}
	sum->v[0] = ce_ref_one(cmd, round, sum->v[0], next->v[0], &sum->fpe);
	if (mode & GNI_CEMODE_TWO_OP)
		sum->v[1] = ce_ref_one(cmd, round, sum->v[1], next->v[1], &sum->fpe);
}

/* Operands that are worth trying, of 32 or 64 bits. */
static const uint64_t ce_values8[] = {
	0, 1, ~0ULL, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
	0x000fffffffffffff, 0x0010000000000000, 0x800fffffffffffff, 0x3ff0000000000000,
	0xbff0000000000000, 0x3ff0000000000001, 0x3ca0000000000000, 0x3ca0000000000001,
	0xbca0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7c90000000000000,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
	0xfff8000000000123, 0xfff4000000000000, 0x4340000000000000, 0xc340000000000001,
	0x0123456789abcdef, 0xfedcba9876543210,
};

static const uint64_t ce_values4[] = {
	0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x80000001, 0x007fffff, 0x00800000,
	0x807fffff, 0x3f800000, 0xbf800000, 0x3f800001, 0x33800000, 0x33800001, 0xb3800000,
	0x7f7fffff, 0xff7fffff, 0x73000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
	0xffc00123, 0xffa00000, 0x4b800000, 0xcb800001, 0x01234567, 0xfedcba98,
};

#define CE_VALUES	(sizeof(ce_values8) / sizeof(ce_values8[0]))

_Static_assert(sizeof(ce_values4) == sizeof(ce_values8), "as many of each");

static inline uint64_t ce_value(gni_ce_cmd_type_t cmd, unsigned int i)
{
	/* What lies above 32 bits does not count. */
	return ce_is_short(cmd) ? ce_values4[i] | 0x5a5a5a5a00000000ULL * (i & 1) : ce_values8[i];
}

#endif /* KGNI_VM_COMMON_CE_H */
