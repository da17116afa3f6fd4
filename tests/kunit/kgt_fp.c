// SPDX-License-Identifier: GPL-2.0-only
/*
 * Floating point otherwise than in core/fp.h: a number is a whole multiple of
 * the least one of its format, in as many bits as the greatest takes, and sums
 * are rounded once they are known in full.
 */
#include "kgt_amo.h"

#define WORDS	34	/* double: 2046 + 53 bits, a carry, a sign; and infinity as a number */

struct fixed {
	u64 w[WORDS];
};

static u32 frac_bits(u8 size)
{
	return size == 4 ? 23 : 52;
}

static u64 top_exp(u8 size)
{
	return size == 4 ? 0xff : 0x7ff;
}

static u64 frac_of(u8 size, u64 v)
{
	return v & ((1ULL << frac_bits(size)) - 1);
}

static u64 exp_of(u8 size, u64 v)
{
	return v >> frac_bits(size) & top_exp(size);
}

static bool negative(u8 size, u64 v)
{
	return v >> (size * 8 - 1) & 1;
}

static bool is_nan(u8 size, u64 v)
{
	return exp_of(size, v) == top_exp(size) && frac_of(size, v);
}

static u64 infinity(u8 size)
{
	return top_exp(size) << frac_bits(size);
}

static u64 the_nan(u8 size)
{
	return infinity(size) | 1ULL << (frac_bits(size) - 1);
}

/* Word @n of a number that is shifted to the left. */
static u64 shifted(u64 v, u32 shift, u32 n)
{
	if (n == shift / 64)
		return v << shift % 64;
	if (n == shift / 64 + 1 && shift % 64)
		return v >> (64 - shift % 64);
	return 0;
}

static void subtract(struct fixed *f, u64 sig, u32 shift)
{
	u64 part, was, borrow = 0;
	u32 i;

	for (i = 0; i < WORDS; i++) {
		part = shifted(sig, shift, i);
		was = f->w[i];
		f->w[i] = was - part - borrow;
		borrow = was < part || (was == part && borrow);
	}
}

static void add(struct fixed *f, u64 sig, u32 shift)
{
	u64 part, carry = 0;
	u32 i;

	for (i = 0; i < WORDS; i++) {
		part = shifted(sig, shift, i) + carry;
		carry = carry && !part;
		f->w[i] += part;
		carry |= f->w[i] < part;
	}
}

/* Add a finite number, or the negative of one. */
static void accumulate(struct fixed *f, u8 size, u64 v, bool negate)
{
	u64 exp = exp_of(size, v);
	u64 sig = frac_of(size, v) | (exp ? 1ULL << frac_bits(size) : 0);
	u32 shift = exp ? exp - 1 : 0;

	if (negative(size, v) != negate)
		subtract(f, sig, shift);
	else
		add(f, sig, shift);
}

static bool below_zero(const struct fixed *f)
{
	return f->w[WORDS - 1] >> 63;
}

static void negate(struct fixed *f)
{
	u32 i;

	for (i = 0; i < WORDS; i++)
		f->w[i] = ~f->w[i];
	add(f, 1, 0);
}

/* The number of its leading bit, from 1; 0 if there is none. */
static u32 length(const struct fixed *f)
{
	u32 i;

	for (i = WORDS; i; i--)
		if (f->w[i - 1])
			return (i - 1) * 64 + fls64(f->w[i - 1]);
	return 0;
}

static bool bit(const struct fixed *f, u32 n)
{
	return f->w[n / 64] >> n % 64 & 1;
}

static bool any_below(const struct fixed *f, u32 n)
{
	while (n--)
		if (bit(f, n))
			return true;
	return false;
}

static u64 bits_from(const struct fixed *f, u32 from, u32 n)
{
	u64 v = 0;

	while (n--)
		v = v << 1 | bit(f, from + n);
	return v;
}

/* The number next to one that is not negative, the even one of two. */
static u64 nearest(const struct fixed *f, u8 size)
{
	u32 sig_bits = frac_bits(size) + 1, drop = 0;
	u64 sig;

	if (length(f) > sig_bits)
		drop = length(f) - sig_bits;
	sig = bits_from(f, drop, sig_bits);
	if (drop && bit(f, drop - 1) && (sig & 1 || any_below(f, drop - 1)))
		sig++;
	if (sig >> sig_bits) {
		sig >>= 1;
		drop++;
	}
	if (!(sig >> frac_bits(size)))
		return sig;
	if (drop + 1 >= top_exp(size))
		return infinity(size);
	return (u64)(drop + 1) << frac_bits(size) | frac_of(size, sig);
}

static u64 sum(u8 size, u64 a, u64 b)
{
	u64 sign = 1ULL << (size * 8 - 1);
	struct fixed f = { 0 };

	accumulate(&f, size, a, false);
	accumulate(&f, size, b, false);
	if (!length(&f))
		return a == b ? a : 0;
	if (!below_zero(&f))
		return nearest(&f, size);
	negate(&f);
	return nearest(&f, size) | sign;
}

u64 kgt_fp_add(u8 size, u64 a, u64 b)
{
	bool inf_a = exp_of(size, a) == top_exp(size), inf_b = exp_of(size, b) == top_exp(size);

	if (is_nan(size, a) || is_nan(size, b) || (inf_a && inf_b && a != b))
		return the_nan(size);
	if (inf_a || inf_b)
		return inf_a ? a : b;
	return sum(size, a, b);
}

u64 kgt_fp_min(u8 size, u64 a, u64 b)
{
	struct fixed f = { 0 };

	if (is_nan(size, a))
		return is_nan(size, b) ? the_nan(size) : b;
	if (is_nan(size, b))
		return a;
	accumulate(&f, size, a, false);
	accumulate(&f, size, b, true);
	if (!length(&f))
		return negative(size, a) ? a : b;
	return below_zero(&f) ? a : b;
}

/* The numbers mirrored at 0. */
u64 kgt_fp_max(u8 size, u64 a, u64 b)
{
	u64 sign = 1ULL << (size * 8 - 1);
	u64 min = kgt_fp_min(size, a ^ sign, b ^ sign);

	return is_nan(size, min) ? min : min ^ sign;
}
