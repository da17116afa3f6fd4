/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Floating point in integers: sum, minimum and maximum of IEEE 754 binary
 * numbers, for where the floating point unit may not be used.
 *
 * A number is its bits, in the low part of a u64; what lies above them does not
 * count. Sums are rounded once, and subnormal numbers are as good as others.
 * Where IEEE 754 leaves a choice, it is made so that no result depends on the
 * order of the operands, nor that of many operands on the order of the
 * operations, except for rounding:
 *
 * - A result that is no number is always the same one: positive, quiet, and 0
 *   in the rest of the fraction. It comes from the sum of a NaN and anything,
 *   from the sum of opposite infinities, and from two NaNs.
 * - Minimum and maximum are minimumNumber and maximumNumber of the standard's
 *   edition of 2019: any number is preferred to a NaN, quiet or signalling, and
 *   -0 is less than +0.
 */
#ifndef _KGNI_CORE_FP_H
#define _KGNI_CORE_FP_H

#include "core.h"

/* Rounding, by the bits of GNI_CE_MODE_ROUND_*. */
enum kgni_fp_round {
	KGNI_FP_UP = 1,
	KGNI_FP_DOWN = 2,
	KGNI_FP_NEAR = 4,	/* to the even one of two that are as near */
	KGNI_FP_ZERO = 8,
};

/* Exceptions, by the bits of GNI_CE_FPE_*. */
#define KGNI_FP_INVALID		0x1	/* signalling NaN, or opposite infinities added */
#define KGNI_FP_OVERFLOW	0x2
#define KGNI_FP_UNDERFLOW	0x4	/* never from here: sums that are so small are exact */
#define KGNI_FP_INEXACT		0x8

/**
 * struct kgni_fp - format and rounding of calculations, and what went wrong
 * @frac: bits of the fraction, 2 to 59
 * @exp: bits of the exponent, at least 2; with fraction and sign at most 64
 * @round: enum kgni_fp_round
 * @flags: KGNI_FP_INVALID and so on; calculations set them, none clears them
 */
struct kgni_fp {
	u8 frac;
	u8 exp;
	u8 round;
	u8 flags;
};

/**
 * kgni_fp_begin - prepare for calculations
 * @size: bytes of a number: 4 for single precision, 8 for double
 * @round: how to round
 *
 * Return: that, with no exception so far.
 */
static inline struct kgni_fp kgni_fp_begin(u8 size, enum kgni_fp_round round)
{
	struct kgni_fp f = { .frac = 52, .exp = 11, .round = round };

	if (size == 4) {
		f.frac = 23;
		f.exp = 8;
	}
	return f;
}

static inline u64 kgni_fp_sign(const struct kgni_fp *f)
{
	return 1ULL << (f->frac + f->exp);
}

/*
 * Bits without the sign. Their order is that of the numbers; infinity comes
 * after all numbers, and NaNs after infinity.
 */
static inline u64 kgni_fp_abs(const struct kgni_fp *f, u64 v)
{
	return v & (kgni_fp_sign(f) - 1);
}

static inline u64 kgni_fp_inf(const struct kgni_fp *f)
{
	return ((1ULL << f->exp) - 1) << f->frac;
}

static inline u64 kgni_fp_nan(const struct kgni_fp *f)
{
	return kgni_fp_inf(f) | 1ULL << (f->frac - 1);
}

static inline bool kgni_fp_is_nan(struct kgni_fp *f, u64 v)
{
	if (kgni_fp_abs(f, v) <= kgni_fp_inf(f))
		return false;
	if (kgni_fp_abs(f, v) < kgni_fp_nan(f))
		f->flags |= KGNI_FP_INVALID;
	return true;
}

/* Overflow: either side of the greatest number, as rounding has it. */
static inline u64 kgni_fp_overflow(struct kgni_fp *f, bool negative)
{
	bool inf = f->round == KGNI_FP_NEAR ||
		   f->round == (negative ? KGNI_FP_DOWN : KGNI_FP_UP);

	f->flags |= KGNI_FP_OVERFLOW | KGNI_FP_INEXACT;
	return kgni_fp_inf(f) - !inf;
}

/*
 * The number of significand @sig, which has three bits too many, the last of
 * them set if anything below was; and of exponent @exp. The significand of a
 * subnormal number is small and its exponent is 1.
 */
static inline u64 kgni_fp_round(struct kgni_fp *f, u64 sign, u32 exp, u64 sig)
{
	u64 extra = sig & 7;
	u64 v = sig >> 3;

	if (extra)
		f->flags |= KGNI_FP_INEXACT;
	/* 4 is half way: up if the number is odd. */
	if (f->round == KGNI_FP_NEAR)
		v += extra + (v & 1) > 4;
	else if (f->round == (sign ? KGNI_FP_DOWN : KGNI_FP_UP))
		v += extra != 0;
	/* The significand's leading bit makes up for the 1, and a carry goes where it should. */
	v += (u64)(exp - 1) << f->frac;
	if (v >= kgni_fp_inf(f))
		v = kgni_fp_overflow(f, sign);
	return sign | v;
}

/* Shift so that the leading bit is in its place, or the exponent the least. */
static inline u64 kgni_fp_normalise(struct kgni_fp *f, u64 sign, u32 exp, u64 sig)
{
	u32 top = 63 - (u32)__builtin_clzll(sig);
	u32 place = f->frac + 3;
	u32 n;

	if (top > place)
		return kgni_fp_round(f, sign, exp + 1, sig >> 1 | (sig & 1));
	n = place - top;
	if (n > exp - 1)
		n = exp - 1;
	return kgni_fp_round(f, sign, exp - n, sig << n);
}

static inline u32 kgni_fp_exp(const struct kgni_fp *f, u64 v)
{
	u32 exp = (u32)(kgni_fp_abs(f, v) >> f->frac);

	return exp ? exp : 1;
}

/* With three more bits behind it. */
static inline u64 kgni_fp_sig(const struct kgni_fp *f, u64 v)
{
	u64 one = 1ULL << f->frac;
	u64 sig = v & (one - 1);

	if (kgni_fp_abs(f, v) >= one)
		sig |= one;
	return sig << 3;
}

/* Shift to the right; what drops out stays visible in the last bit. */
static inline u64 kgni_fp_shift(u64 sig, u32 n)
{
	if (n > 63)
		return sig != 0;
	return sig >> n | ((sig & ((1ULL << n) - 1)) != 0);
}

/*
 * The sum of finite numbers, @a not less than @b but for the signs. Three bits
 * are enough: a difference that loses more than one bit in front has had
 * exponents so near that nothing dropped out behind.
 */
static inline u64 kgni_fp_sum(struct kgni_fp *f, u64 a, u64 b)
{
	u32 exp = kgni_fp_exp(f, a);
	u64 sign = a & kgni_fp_sign(f);
	u64 sig = kgni_fp_sig(f, a);
	u64 other = kgni_fp_shift(kgni_fp_sig(f, b), exp - kgni_fp_exp(f, b));

	if ((a ^ b) & kgni_fp_sign(f)) {
		sig -= other;
		if (!sig)
			return f->round == KGNI_FP_DOWN ? kgni_fp_sign(f) : 0;
	} else {
		sig += other;
		if (!sig)
			return sign;
	}
	return kgni_fp_normalise(f, sign, exp, sig);
}

/**
 * kgni_fp_add - add two numbers
 * @f: format and rounding; its flags may be set
 * @a: one
 * @b: the other
 *
 * A sum that is exactly 0 is +0, or -0 if rounding is down, unless both were
 * zeros of the same sign.
 *
 * Return: the sum.
 */
static inline u64 kgni_fp_add(struct kgni_fp *f, u64 a, u64 b)
{
	u64 inf = kgni_fp_inf(f);
	bool nan = kgni_fp_is_nan(f, a);

	if (kgni_fp_is_nan(f, b) || nan)
		return kgni_fp_nan(f);
	if (kgni_fp_abs(f, a) < kgni_fp_abs(f, b)) {
		u64 less = a;

		a = b;
		b = less;
	}
	if (kgni_fp_abs(f, a) < inf)
		return kgni_fp_sum(f, a, b);
	if (kgni_fp_abs(f, b) == inf && (a ^ b) & kgni_fp_sign(f)) {
		f->flags |= KGNI_FP_INVALID;
		return kgni_fp_nan(f);
	}
	return (a & kgni_fp_sign(f)) | inf;
}

/* Bits that have the order of the numbers, -0 before +0. */
static inline u64 kgni_fp_rank(const struct kgni_fp *f, u64 v)
{
	return v & kgni_fp_sign(f) ? ~v : v | kgni_fp_sign(f);
}

static inline u64 kgni_fp_choose(struct kgni_fp *f, u64 a, u64 b, bool greater)
{
	u64 mask = kgni_fp_sign(f) | (kgni_fp_sign(f) - 1);
	bool nan_a = kgni_fp_is_nan(f, a);
	bool nan_b = kgni_fp_is_nan(f, b);

	if (nan_a && nan_b)
		return kgni_fp_nan(f);
	if (!nan_a && !nan_b) {
		bool less = (kgni_fp_rank(f, a) & mask) < (kgni_fp_rank(f, b) & mask);

		return (less == greater ? b : a) & mask;
	}
	return (nan_a ? b : a) & mask;
}

/**
 * kgni_fp_min - the less of two numbers
 * @f: format; its flags may be set
 * @a: one
 * @b: the other
 *
 * Return: the minimum.
 */
static inline u64 kgni_fp_min(struct kgni_fp *f, u64 a, u64 b)
{
	return kgni_fp_choose(f, a, b, false);
}

/**
 * kgni_fp_max - the greater of two numbers
 * @f: format; its flags may be set
 * @a: one
 * @b: the other
 *
 * Return: the maximum.
 */
static inline u64 kgni_fp_max(struct kgni_fp *f, u64 a, u64 b)
{
	return kgni_fp_choose(f, a, b, true);
}

#endif /* _KGNI_CORE_FP_H */
