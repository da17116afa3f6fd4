// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel/core/ce.h: every command, with operands where something changes and in
 * all rounding modes, against plain C.
 */
#include "unit.h"

#include "../vm/progs/common_ce.h"
#include "core/ce.h"

static const u32 rounds[] = {
	GNI_CE_MODE_ROUND_UP, GNI_CE_MODE_ROUND_DOWN, GNI_CE_MODE_ROUND_NEAR,
	GNI_CE_MODE_ROUND_ZERO,
};

static const u32 modes[] = {
	0, GNI_CEMODE_TWO_OP, GNI_CEMODE_FPE_OP_INVAL, GNI_CEMODE_TWO_OP | GNI_CEMODE_FPE_OFLOW,
	GNI_CEMODE_FPE_UFLOW | GNI_CEMODE_FPE_PRECISION,
};

static void check_sum(gni_ce_cmd_type_t cmd, const struct kgni_ce_value *got,
		      const struct ce_sum *want, const char *what)
{
	if (got->v[0] == want->v[0] && got->v[1] == want->v[1] && got->fpe == want->fpe)
		return;
	fail_msg("command %#x, %s: %#jx, %#jx (%#x), not %#jx, %#jx (%#x)", cmd, what,
		 (uintmax_t)got->v[0], (uintmax_t)got->v[1], got->fpe, (uintmax_t)want->v[0],
		 (uintmax_t)want->v[1], want->fpe);
}

/* Two leaves: what each gives, and what comes of both. */
static void check_pair(gni_ce_cmd_type_t cmd, u32 mode, u32 round, const u64 *a, const u64 *b)
{
	struct ce_sum want = ce_ref_begin(cmd, mode, a[0], a[1]);
	struct ce_sum next = ce_ref_begin(cmd, 0, 0, 0);
	struct kgni_ce_value got, other;
	struct kgni_ce_cmd c;

	assert_true(kgni_ce_decode(cmd, &c));
	got = kgni_ce_begin(&c, mode, a[0], a[1]);
	check_sum(cmd, &got, &want, "one");
	other = kgni_ce_begin(&c, mode & GNI_CEMODE_TWO_OP, b[0], b[1]);
	next = ce_ref_begin(cmd, mode & GNI_CEMODE_TWO_OP, b[0], b[1]);
	kgni_ce_combine(&c, mode, round, &got, &other);
	ce_ref_add(cmd, mode, round, &want, &next);
	check_sum(cmd, &got, &want, "two");
}

static void check_command(gni_ce_cmd_type_t cmd, u32 mode, u32 round, u64 *rng)
{
	u64 a[2], b[2];
	u32 i;

	for (i = 0; i < CE_VALUES * CE_VALUES; i++) {
		a[0] = ce_value(cmd, i % CE_VALUES);
		b[0] = ce_value(cmd, i / CE_VALUES);
		a[1] = ce_value(cmd, unit_below(rng, CE_VALUES));
		b[1] = unit_below(rng, 4) ? ce_value(cmd, unit_below(rng, CE_VALUES)) : a[1];
		check_pair(cmd, mode, round, a, b);
		a[0] = unit_edge(rng);
		b[0] = unit_edge(rng);
		check_pair(cmd, mode, round, a, b);
	}
}

static void test_pairs(void **state)
{
	u64 rng = 8;
	u32 i, m, r;

	(void)state;
	for (i = 0; i < CE_COMMAND_COUNT; i++)
		for (m = 0; m < ARRAY_SIZE(modes); m++)
			for (r = 0; r < ARRAY_SIZE(rounds); r++)
				check_command(ce_commands[i], modes[m], rounds[r], &rng);
}

/* The codes that there are, and no others. */
static void test_codes(void **state)
{
	struct kgni_ce_cmd c;
	u32 code, i, found = 0;
	bool known;

	(void)state;
	for (code = 0; code < 1U << 12; code++) {
		known = false;
		for (i = 0; i < CE_COMMAND_COUNT; i++)
			known |= ce_commands[i] == code;
		if (kgni_ce_decode(code, &c) != known)
			fail_msg("code %#x", code);
		if (!known)
			continue;
		found++;
		assert_int_equal(c.size, ce_is_short(code) ? 4 : 8);
		assert_int_equal(kgni_ce_chooses(&c), ce_is_choice(code));
		assert_int_equal(c.greatest, ce_wants_greatest(code));
	}
	assert_int_equal(found, CE_COMMAND_COUNT);
	assert_false(kgni_ce_decode(0x80000000, &c));
	assert_false(kgni_ce_decode(~0U, &c));
}

#define MEMBERS	9

/* Fold @n members from the first on, or as halves of halves: two shapes of a tree. */
static struct kgni_ce_value fold(const struct kgni_ce_cmd *c, u32 round,
				 const struct kgni_ce_value *v, u32 n, bool halves)
{
	struct kgni_ce_value sum = v[0], rest;
	u32 i;

	if (!halves || n < 2) {
		for (i = 1; i < n; i++)
			kgni_ce_combine(c, 0, round, &sum, &v[i]);
		return sum;
	}
	sum = fold(c, round, v, n / 2, true);
	rest = fold(c, round, v + n / 2, n - n / 2, true);
	kgni_ce_combine(c, 0, round, &sum, &rest);
	return sum;
}

static void check_shapes(gni_ce_cmd_type_t cmd, u64 *rng)
{
	struct kgni_ce_value v[MEMBERS], one, other, tmp;
	struct kgni_ce_cmd c;
	u32 i, j;

	kgni_ce_decode(cmd, &c);
	for (i = 0; i < MEMBERS; i++)
		v[i] = kgni_ce_begin(&c, 0, ce_value(cmd, unit_below(rng, CE_VALUES)),
				     unit_below(rng, 5));
	one = fold(&c, KGNI_FP_NEAR, v, MEMBERS, false);
	for (i = MEMBERS - 1; i; i--) {
		j = unit_below(rng, i + 1);
		tmp = v[i];
		v[i] = v[j];
		v[j] = tmp;
	}
	other = fold(&c, KGNI_FP_NEAR, v, MEMBERS, true);
	assert_int_equal(one.v[0], other.v[0]);
	assert_int_equal(one.v[1], other.v[1]);
	assert_int_equal(one.fpe, other.fpe);
}

/* All but sums of floating point are the same whatever the order and the tree. */
static void test_shapes(void **state)
{
	u64 rng = 9;
	u32 i, turn;

	(void)state;
	for (i = 0; i < CE_COMMAND_COUNT; i++) {
		if (ce_long(ce_commands[i]) == GNI_FMA_CE_FPADD)
			continue;
		for (turn = 0; turn < 2000; turn++)
			check_shapes(ce_commands[i], &rng);
	}
}

/* A sum of floating point is not: what makes a fixed order worth its while. */
static void test_order_matters(void **state)
{
	const u64 one = 0x3ff0000000000000, tiny = 0x3ca0000000000000;
	struct kgni_ce_value a, b;
	struct kgni_ce_cmd c;
	u32 i;

	(void)state;
	kgni_ce_decode(GNI_FMA_CE_FPADD, &c);
	a = kgni_ce_begin(&c, 0, one, 0);
	b = kgni_ce_begin(&c, 0, tiny, 0);
	for (i = 0; i < 3; i++) {
		struct kgni_ce_value t = kgni_ce_begin(&c, 0, tiny, 0);

		kgni_ce_combine(&c, 0, KGNI_FP_NEAR, &a, &t);
		if (i < 2)
			kgni_ce_combine(&c, 0, KGNI_FP_NEAR, &b, &t);
	}
	assert_int_equal(a.v[0], one);
	assert_int_equal(a.fpe, GNI_CE_FPE_PRECISION);
	a = kgni_ce_begin(&c, 0, one, 0);
	kgni_ce_combine(&c, 0, KGNI_FP_NEAR, &b, &a);
	assert_int_not_equal(b.v[0], one);
}

static void test_modes(void **state)
{
	u32 modes, bits[3], i, known = 0;

	(void)state;
	for (modes = 0; modes < 1U << 12; modes++) {
		bits[0] = modes & (GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN |
				   GNI_CE_MODE_ROUND_NEAR | GNI_CE_MODE_ROUND_ZERO);
		bits[1] = modes & (GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR);
		bits[2] = modes & (GNI_CE_MODE_RC_NMIN_HASH | GNI_CE_MODE_RC_MIN_HASH |
				   GNI_CE_MODE_RC_MNON_HASH | GNI_CE_MODE_RC_ADAPT);
		known = bits[0] | bits[1] | bits[2];
		for (i = 0; i < 3; i++)
			if (__builtin_popcount(bits[i]) > 1)
				known = ~modes;
		assert_int_equal(kgni_ce_modes_ok(modes), known == modes);
		if (bits[0] && known == modes)
			assert_int_equal(kgni_ce_round(modes), bits[0]);
		if (!bits[0])
			assert_int_equal(kgni_ce_round(modes), GNI_CE_MODE_ROUND_NEAR);
	}
	assert_false(kgni_ce_modes_ok(0x20));
	assert_false(kgni_ce_modes_ok(0x80000000));
}

static void test_control(void **state)
{
	u64 rng = 10, id, control;
	u32 fpe, status;

	(void)state;
	for (status = 0; status < 16; status++)
		for (fpe = 0; fpe < 16; fpe++) {
			id = unit_edge(&rng) & KGNI_CE_RED_ID_MAX;
			control = kgni_ce_control(id, (u8)fpe, status);
			assert_true(control & KGNI_CE_DONE);
			assert_int_equal(kgni_ce_red_id(control), id);
			assert_int_equal(kgni_ce_fpe(control), fpe);
			assert_int_equal(kgni_ce_status(control), status);
		}
	assert_true(kgni_ce_control(0, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_order_matters),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_control),
	};

	return cmocka_run_group_tests_name("reductions", tests, NULL, NULL);
}
