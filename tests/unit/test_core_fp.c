// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel/core/fp.h: results and exceptions against the processor's floating
 * point unit, against exact values in formats so small that every pair of
 * operands can be tried, and against what the standard says of single cases.
 */
#include "unit.h"
#include <fenv.h>
#include <float.h>
#include <math.h>

#include <gni_pub.h>
#include "core/fp.h"

_Static_assert(FLT_EVAL_METHOD == 0, "operations are rounded to the type of their operands");
_Static_assert((int)KGNI_FP_UP == GNI_CE_MODE_ROUND_UP, "");
_Static_assert((int)KGNI_FP_DOWN == GNI_CE_MODE_ROUND_DOWN, "");
_Static_assert((int)KGNI_FP_NEAR == GNI_CE_MODE_ROUND_NEAR, "");
_Static_assert((int)KGNI_FP_ZERO == GNI_CE_MODE_ROUND_ZERO, "");
_Static_assert(KGNI_FP_INVALID == GNI_CE_FPE_OP_INVAL, "");
_Static_assert(KGNI_FP_OVERFLOW == GNI_CE_FPE_OFLOW, "");
_Static_assert(KGNI_FP_UNDERFLOW == GNI_CE_FPE_UFLOW, "");
_Static_assert(KGNI_FP_INEXACT == GNI_CE_FPE_PRECISION, "");

static const struct mode {
	const char *name;
	enum kgni_fp_round round;
	int host;
} modes[] = {
	{ "near", KGNI_FP_NEAR, FE_TONEAREST },
	{ "up", KGNI_FP_UP, FE_UPWARD },
	{ "down", KGNI_FP_DOWN, FE_DOWNWARD },
	{ "zero", KGNI_FP_ZERO, FE_TOWARDZERO },
};

enum op { ADD, MIN, MAX, OPS };

static const char *const op_names[OPS] = { "add", "min", "max" };

struct result {
	u64 value;
	u32 flags;
};

static u64 ours(struct kgni_fp *f, enum op op, u64 a, u64 b)
{
	if (op == ADD)
		return kgni_fp_add(f, a, b);
	return op == MIN ? kgni_fp_min(f, a, b) : kgni_fp_max(f, a, b);
}

/* --- the floating point unit ------------------------------------------------- */

#define NAN4	0x7fc00000ULL
#define NAN8	0x7ff8000000000000ULL

static u32 host_flags(void)
{
	int raised = fetestexcept(FE_INVALID | FE_OVERFLOW | FE_UNDERFLOW | FE_INEXACT);

	return (raised & FE_INVALID ? KGNI_FP_INVALID : 0) |
	       (raised & FE_OVERFLOW ? KGNI_FP_OVERFLOW : 0) |
	       (raised & FE_UNDERFLOW ? KGNI_FP_UNDERFLOW : 0) |
	       (raised & FE_INEXACT ? KGNI_FP_INEXACT : 0);
}

/*
 * What the unit says, in the rounding mode that is set. Sums are its own but for
 * which NaN it is; minimum and maximum are made from its comparisons.
 */
#define HOST(name, type, word, nan)						\
static type name##_value(word bits)						\
{										\
	type v;									\
										\
	memcpy(&v, &bits, sizeof(v));						\
	return v;								\
}										\
										\
static u64 name##_bits(type v)							\
{										\
	word bits;								\
										\
	memcpy(&bits, &v, sizeof(v));						\
	return bits;								\
}										\
										\
static struct result name##_add(u64 a, u64 b)					\
{										\
	volatile type x = name##_value((word)a), y = name##_value((word)b), sum;	\
	struct result r;							\
										\
	feclearexcept(FE_ALL_EXCEPT);						\
	sum = x + y;								\
	r.flags = host_flags();							\
	r.value = isnan(sum) ? nan : name##_bits(sum);				\
	return r;								\
}										\
										\
/* The one to keep where both are numbers: is it the second? */		\
static bool name##_second(enum op op, type x, type y)				\
{										\
	if (x == y)								\
		return op == MIN ? !signbit(x) : signbit(x);			\
	return op == MIN ? y < x : y > x;					\
}										\
										\
static struct result name##_choose(enum op op, u64 a, u64 b)			\
{										\
	type x = name##_value((word)a), y = name##_value((word)b);		\
	struct result r = { .value = nan };					\
										\
	if (issignaling(x) || issignaling(y))					\
		r.flags = KGNI_FP_INVALID;					\
	if (isnan(x) && !isnan(y))						\
		r.value = (word)b;						\
	else if (isnan(y) && !isnan(x))						\
		r.value = (word)a;						\
	else if (!isnan(x))							\
		r.value = (word)(name##_second(op, x, y) ? b : a);		\
	return r;								\
}

HOST(single, float, u32, NAN4)
HOST(twice, double, u64, NAN8)

static struct result host(u8 size, enum op op, u64 a, u64 b)
{
	if (size == 4)
		return op == ADD ? single_add(a, b) : single_choose(op, a, b);
	return op == ADD ? twice_add(a, b) : twice_choose(op, a, b);
}

static void differ(u8 size, const struct mode *m, enum op op, u64 a, u64 b, struct result got,
		   struct result want)
{
	fesetround(FE_TONEAREST);
	fail_msg("%s, size %u, rounding %s: %#jx with %#jx is %#jx (%#x), not %#jx (%#x)",
		 op_names[op], size, m->name, (uintmax_t)a, (uintmax_t)b, (uintmax_t)got.value,
		 got.flags, (uintmax_t)want.value, want.flags);
}

static void check_op(u8 size, const struct mode *m, enum op op, u64 a, u64 b)
{
	struct kgni_fp f = kgni_fp_begin(size, m->round);
	struct result want = host(size, op, a, b), got;

	got.value = ours(&f, op, a, b);
	got.flags = f.flags;
	if (got.value != want.value || got.flags != want.flags)
		differ(size, m, op, a, b, got, want);
}

static void check_pair(u8 size, const struct mode *m, u64 a, u64 b)
{
	enum op op;

	for (op = ADD; op < OPS; op++)
		check_op(size, m, op, a, b);
}

/* --- operands ---------------------------------------------------------------- */

static u8 frac_bits(u8 size)
{
	return size == 4 ? 23 : 52;
}

static u32 top_exp(u8 size)
{
	return size == 4 ? 0xff : 0x7ff;
}

static u64 sign_bit(u8 size)
{
	return 1ULL << (size * 8 - 1);
}

static u64 number(u8 size, bool negative, u32 exp, u64 frac)
{
	return (negative ? sign_bit(size) : 0) | (u64)exp << frac_bits(size) |
	       (frac & ((1ULL << frac_bits(size)) - 1));
}

#define SPECIALS_MAX	1024

/* Every exponent where something changes, with every fraction where something does. */
static u32 specials(u8 size, u64 *list)
{
	const u32 bits = frac_bits(size), top = top_exp(size), one = top / 2;
	const u64 full = (1ULL << bits) - 1, quiet = 1ULL << (bits - 1);
	const u32 exps[] = { 0, 1, 2, 3, bits, bits + 2, one - bits - 2, one - bits - 1, one - bits,
			     one - 1, one, one + 1, one + bits, one + bits + 1, top - bits - 2,
			     top - bits - 1, top - 2, top - 1, top };
	const u64 fracs[] = { 0, 1, 2, 3, quiet - 1, quiet, quiet + 1, full - 1, full };
	u32 i, j, n = 0;

	for (i = 0; i < ARRAY_SIZE(exps); i++)
		for (j = 0; j < ARRAY_SIZE(fracs); j++) {
			list[n++] = number(size, false, exps[i], fracs[j]);
			list[n++] = number(size, true, exps[i], fracs[j]);
		}
	return n;
}

/* Runs of ones and zeros, where rounding carries and ties. */
static u64 any_frac(u64 *rng)
{
	u64 v = unit_rand(rng);

	switch (unit_below(rng, 4)) {
	case 0:
		return v >> unit_below(rng, 64);
	case 1:
		return ~(v >> unit_below(rng, 64));
	case 2:
		return (1ULL << unit_below(rng, 64)) - (1ULL << unit_below(rng, 64));
	}
	return v;
}

static void operands(u8 size, u64 *rng, u64 *a, u64 *b)
{
	u32 top = top_exp(size), exp = unit_below(rng, top + 1), n;

	if (!unit_below(rng, 8))
		exp = unit_below(rng, 4);
	else if (!unit_below(rng, 8))
		exp = top - unit_below(rng, 4);
	*a = number(size, unit_below(rng, 2), exp, any_frac(rng));
	switch (unit_below(rng, 4)) {
	case 0:		/* anything */
		*b = number(size, unit_below(rng, 2), unit_below(rng, top + 1), any_frac(rng));
		break;
	case 1:		/* a few units from what cancels it */
		n = unit_below(rng, 64);
		*b = *a ^ sign_bit(size);
		*b += unit_below(rng, 2) ? n : -(u64)n;
		break;
	default:	/* so near that the significands overlap, or nearly */
		n = unit_below(rng, frac_bits(size) + 4);
		exp = unit_below(rng, 2) ? exp + n : exp - n;
		*b = number(size, unit_below(rng, 2), exp & top, any_frac(rng));
	}
	if (size == 4) {
		/* The other half does not count. */
		*a = (u32)*a | unit_rand(rng) << 32;
		*b = (u32)*b | unit_rand(rng) << 32;
	}
}

/* --- tests against it ---------------------------------------------------------- */

static void test_special_pairs(void **state)
{
	static u64 list[SPECIALS_MAX];
	u32 i, j, m, n;
	u8 size;

	(void)state;
	for (size = 4; size <= 8; size += 4) {
		n = specials(size, list);
		assert_in_range(n, 300, SPECIALS_MAX);
		for (m = 0; m < ARRAY_SIZE(modes); m++) {
			fesetround(modes[m].host);
			for (i = 0; i < n; i++)
				for (j = 0; j < n; j++)
					check_pair(size, &modes[m], list[i], list[j]);
		}
	}
	fesetround(FE_TONEAREST);
}

#define PAIRS	500000

static void test_random_pairs(void **state)
{
	u64 rng = 31, a, b;
	u32 m, n;

	(void)state;
	for (m = 0; m < ARRAY_SIZE(modes); m++) {
		fesetround(modes[m].host);
		for (n = 0; n < PAIRS; n++) {
			operands(4, &rng, &a, &b);
			check_pair(4, &modes[m], a, b);
			operands(8, &rng, &a, &b);
			check_pair(8, &modes[m], a, b);
		}
	}
	fesetround(FE_TONEAREST);
}

/* --- small formats ------------------------------------------------------------- */

struct small {
	u8 frac, exp;
	u32 inf;		/* its bits */
	u32 sign;
	double value[1 << 9];	/* of numbers without sign, going on where infinity is */
};

static void small_fill(struct small *s, u8 frac, u8 exp)
{
	int bias = (1 << (exp - 1)) - 1;
	u32 i;

	s->frac = frac;
	s->exp = exp;
	s->inf = ((1U << exp) - 1) << frac;
	s->sign = 1U << (frac + exp);
	assert_true(s->inf + (2U << frac) <= ARRAY_SIZE(s->value));
	for (i = 0; i < s->inf + (2U << frac); i++) {
		int e = (int)(i >> frac);
		u32 sig = (i & ((1U << frac) - 1)) | (e ? 1U << frac : 0);

		s->value[i] = ldexp(sig, (e ? e : 1) - bias - frac);
	}
}

static double small_value(const struct small *s, u32 v)
{
	return v & s->sign ? -s->value[v & ~s->sign] : s->value[v & ~s->sign];
}

static bool small_away(const struct small *s, enum kgni_fp_round round, bool negative, u32 below,
		       double want)
{
	double left = want - s->value[below], right = s->value[below + 1] - want;

	if (round == KGNI_FP_NEAR)
		return left == right ? below & 1 : left > right;
	return round == (negative ? KGNI_FP_DOWN : KGNI_FP_UP);
}

/* Of a value that is not 0: the format's number next to it, by looking through all. */
static struct result small_round(const struct small *s, enum kgni_fp_round round, double exact)
{
	bool negative = exact < 0;
	struct result r = { 0 };
	u32 i = 0;

	exact = fabs(exact);
	while (s->value[i + 1] <= exact)
		i++;
	if (s->value[i] != exact) {
		r.flags = KGNI_FP_INEXACT;
		i += small_away(s, round, negative, i, exact);
	}
	if (i >= s->inf) {
		r.flags = KGNI_FP_INEXACT | KGNI_FP_OVERFLOW;
		i = s->inf;
		if (round == KGNI_FP_ZERO || round == (negative ? KGNI_FP_UP : KGNI_FP_DOWN))
			i--;
	}
	r.value = i | (negative ? s->sign : 0);
	return r;
}

static struct result small_add(const struct small *s, enum kgni_fp_round round, u32 a, u32 b)
{
	u32 x = a & ~s->sign, y = b & ~s->sign, nan = s->inf | 1U << (s->frac - 1);
	double exact;

	if (x > s->inf || y > s->inf)
		return (struct result){ nan, (x > s->inf && x < nan) || (y > s->inf && y < nan) ?
					     KGNI_FP_INVALID : 0 };
	if (x == s->inf && y == s->inf && a != b)
		return (struct result){ nan, KGNI_FP_INVALID };
	if (x == s->inf || y == s->inf)
		return (struct result){ x == s->inf ? a : b, 0 };
	exact = small_value(s, a) + small_value(s, b);
	if (exact == 0.0)
		return (struct result){ a == b ? a : round == KGNI_FP_DOWN ? s->sign : 0, 0 };
	return small_round(s, round, exact);
}

static void small_check(const struct small *s, const struct mode *m, u32 a, u32 b)
{
	struct kgni_fp f = { .frac = s->frac, .exp = s->exp, .round = m->round };
	struct result want = small_add(s, m->round, a, b);
	u64 got = kgni_fp_add(&f, a, b);

	if (got != want.value || f.flags != want.flags)
		fail_msg("%u and %u bits, rounding %s: %#x + %#x is %#jx (%#x), not %#jx (%#x)",
			 s->exp, s->frac, m->name, a, b, (uintmax_t)got, f.flags,
			 (uintmax_t)want.value, want.flags);
}

/* All sums that there are. */
static void test_small_formats(void **state)
{
	static const u8 formats[][2] = { { 2, 5 }, { 3, 4 }, { 4, 3 }, { 5, 2 }, { 3, 5 } };
	static struct small s;
	u32 i, m, a, b;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		small_fill(&s, formats[i][0], formats[i][1]);
		for (m = 0; m < ARRAY_SIZE(modes); m++)
			for (a = 0; a < 2 * s.sign; a++)
				for (b = 0; b < 2 * s.sign; b++)
					small_check(&s, &modes[m], a, b);
	}
}

/* --- what the standard says ------------------------------------------------------ */

#define ONE	0x3ff0000000000000ULL
#define MINUS	0x8000000000000000ULL
#define INF	0x7ff0000000000000ULL
#define HUGEST	0x7fefffffffffffffULL
#define SNAN8	0x7ff0000000000001ULL
#define QNAN8	0xfff8dead0000beefULL	/* quiet, with a sign and a payload */

static const struct known {
	enum op op;
	enum kgni_fp_round round;
	u64 a, b, value;
	u32 flags;
} knowns[] = {
	{ ADD, KGNI_FP_NEAR, ONE, ONE, 0x4000000000000000, 0 },
	/* Zeros. */
	{ ADD, KGNI_FP_NEAR, 0, MINUS, 0, 0 },
	{ ADD, KGNI_FP_DOWN, 0, MINUS, MINUS, 0 },
	{ ADD, KGNI_FP_NEAR, MINUS, MINUS, MINUS, 0 },
	{ ADD, KGNI_FP_DOWN, 0, 0, 0, 0 },
	{ ADD, KGNI_FP_UP, ONE, ONE | MINUS, 0, 0 },
	{ ADD, KGNI_FP_DOWN, ONE, ONE | MINUS, MINUS, 0 },
	{ MIN, KGNI_FP_NEAR, 0, MINUS, MINUS, 0 },
	{ MAX, KGNI_FP_NEAR, MINUS, 0, 0, 0 },
	/* Half a unit: to the even one. */
	{ ADD, KGNI_FP_NEAR, ONE, 0x3ca0000000000000, ONE, KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_NEAR, ONE + 1, 0x3ca0000000000000, ONE + 2, KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_NEAR, ONE, 0x3ca0000000000001, ONE + 1, KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_UP, ONE, 1, ONE + 1, KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_DOWN, ONE, MINUS | 1, ONE - 1, KGNI_FP_INEXACT },
	/* Subnormal numbers count. */
	{ ADD, KGNI_FP_NEAR, 1, 1, 2, 0 },
	{ ADD, KGNI_FP_NEAR, 0x000fffffffffffff, 1, 0x0010000000000000, 0 },
	{ ADD, KGNI_FP_NEAR, 0x0010000000000000, MINUS | 1, 0x000fffffffffffff, 0 },
	{ MIN, KGNI_FP_NEAR, 1, 2, 1, 0 },
	{ MIN, KGNI_FP_NEAR, MINUS | 1, 0, MINUS | 1, 0 },
	/* Infinities and overflow. */
	{ ADD, KGNI_FP_NEAR, INF, HUGEST | MINUS, INF, 0 },
	{ ADD, KGNI_FP_NEAR, INF, INF, INF, 0 },
	{ ADD, KGNI_FP_NEAR, INF, INF | MINUS, NAN8, KGNI_FP_INVALID },
	{ ADD, KGNI_FP_NEAR, HUGEST, HUGEST, INF, KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_ZERO, HUGEST, HUGEST, HUGEST, KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_UP, HUGEST, 1, INF, KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_DOWN, HUGEST, 1, HUGEST, KGNI_FP_INEXACT },
	/* Half a unit of the greatest number is the least that is too much. */
	{ ADD, KGNI_FP_NEAR, HUGEST, 0x7c90000000000000, INF, KGNI_FP_OVERFLOW | KGNI_FP_INEXACT },
	{ ADD, KGNI_FP_NEAR, HUGEST, 0x7c8fffffffffffff, HUGEST, KGNI_FP_INEXACT },
	{ MIN, KGNI_FP_NEAR, INF | MINUS, HUGEST | MINUS, INF | MINUS, 0 },
	{ MAX, KGNI_FP_NEAR, INF, HUGEST, INF, 0 },
	/* NaNs. */
	{ ADD, KGNI_FP_NEAR, QNAN8, ONE, NAN8, 0 },
	{ ADD, KGNI_FP_NEAR, INF, QNAN8, NAN8, 0 },
	{ ADD, KGNI_FP_NEAR, ONE, SNAN8, NAN8, KGNI_FP_INVALID },
	{ ADD, KGNI_FP_NEAR, QNAN8, SNAN8, NAN8, KGNI_FP_INVALID },
	{ MIN, KGNI_FP_NEAR, QNAN8, ONE, ONE, 0 },
	{ MAX, KGNI_FP_NEAR, QNAN8, INF | MINUS, INF | MINUS, 0 },
	{ MIN, KGNI_FP_NEAR, ONE, SNAN8, ONE, KGNI_FP_INVALID },
	{ MAX, KGNI_FP_NEAR, QNAN8, QNAN8, NAN8, 0 },
	{ MAX, KGNI_FP_NEAR, SNAN8, QNAN8, NAN8, KGNI_FP_INVALID },
};

static void check_known(const struct known *k, u64 a, u64 b)
{
	struct kgni_fp f = kgni_fp_begin(8, k->round);
	u64 got = ours(&f, k->op, a, b);

	if (got != k->value || f.flags != k->flags)
		fail_msg("row %td: %#jx (%#x)", k - knowns, (uintmax_t)got, f.flags);
}

static void test_known(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(knowns); i++) {
		check_known(&knowns[i], knowns[i].a, knowns[i].b);
		check_known(&knowns[i], knowns[i].b, knowns[i].a);
	}
}

/* Exceptions stay: those of many operations come together. */
static void test_flags_accrue(void **state)
{
	struct kgni_fp f = kgni_fp_begin(8, KGNI_FP_NEAR);

	(void)state;
	assert_int_equal(f.flags, 0);
	kgni_fp_add(&f, ONE, 1);
	assert_int_equal(f.flags, KGNI_FP_INEXACT);
	kgni_fp_max(&f, ONE, SNAN8);
	assert_int_equal(f.flags, KGNI_FP_INEXACT | KGNI_FP_INVALID);
	kgni_fp_add(&f, HUGEST, HUGEST);
	assert_int_equal(f.flags, KGNI_FP_INEXACT | KGNI_FP_INVALID | KGNI_FP_OVERFLOW);
	kgni_fp_add(&f, ONE, ONE);
	assert_int_equal(f.flags, KGNI_FP_INEXACT | KGNI_FP_INVALID | KGNI_FP_OVERFLOW);
}

/* Minimum and maximum of three, whichever two come first. */
static void check_order(u8 size, enum op op, u64 a, u64 b, u64 c)
{
	struct kgni_fp f = kgni_fp_begin(size, KGNI_FP_NEAR);
	u64 left = ours(&f, op, ours(&f, op, a, b), c);
	u64 right = ours(&f, op, a, ours(&f, op, c, b));

	if (left != right)
		fail_msg("%s of %#jx, %#jx, %#jx: %#jx or %#jx", op_names[op], (uintmax_t)a,
			 (uintmax_t)b, (uintmax_t)c, (uintmax_t)left, (uintmax_t)right);
}

static void test_no_order(void **state)
{
	static const u64 v[] = {
		0, MINUS, 1, MINUS | 1, ONE, ONE | MINUS, HUGEST, HUGEST | MINUS, INF, INF | MINUS,
		NAN8, QNAN8, SNAN8, SNAN8 | MINUS,
	};
	const u32 n = ARRAY_SIZE(v);
	u32 i;

	(void)state;
	for (i = 0; i < n * n * n; i++) {
		check_order(8, MIN, v[i % n], v[i / n % n], v[i / n / n]);
		check_order(8, MAX, v[i % n], v[i / n % n], v[i / n / n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_flags_accrue),
		cmocka_unit_test(test_no_order),
		cmocka_unit_test(test_small_formats),
		cmocka_unit_test(test_special_pairs),
		cmocka_unit_test(test_random_pairs),
	};

	return cmocka_run_group_tests_name("floating point", tests, NULL, NULL);
}
