// SPDX-License-Identifier: GPL-2.0-only
/* Layout of completion queue entries: kernel/core/cqe.h. */
#include "unit.h"
#include "core/cqe.h"

/* One field of an entry, by the table at the top of the header. */
struct field {
	const char *name;
	u64 (*get)(u64 e);
	u32 shift, width;
};

static u64 get_overrun(u64 e)
{
	return !!(e & KGNI_CQE_OVERRUN);
}

static u64 get_local(u64 e)
{
	return !!(e & KGNI_CQE_LOCAL);
}

static u64 get_inst(u64 e)
{
	return e & KGNI_CQE_INST_MASK;
}

static u64 get_rem_inst(u64 e)
{
	return e & KGNI_CQE_REM_INST_MASK;
}

static u64 get_data(u64 e)
{
	return e & KGNI_CQE_DATA_MASK;
}

static u64 get_user(u64 e)
{
	return e & KGNI_CQE_USER_MASK;
}

static const struct field fields[] = {
	{ "overrun", get_overrun, 63, 1 },
	{ "status", kgni_cqe_status, 59, 4 },
	{ "source", kgni_cqe_source, 56, 3 },
	{ "type", kgni_cqe_type, 54, 2 },
	{ "local", get_local, 53, 1 },
	{ "info", kgni_cqe_info, 48, 6 },
	{ "inst", get_inst, 0, 24 },
	{ "rem_inst", get_rem_inst, 0, 32 },
	{ "data", get_data, 0, 48 },
	{ "user", get_user, 0, 56 },
};

static u64 bits(u64 v, u32 shift, u32 width)
{
	u64 r = 0;
	u32 i;

	for (i = 0; i < width; i++)
		if (v & 1ULL << (shift + i))
			r |= 1ULL << i;
	return r;
}

/* Each bit of an entry moves its own fields by its own weight, no other. */
static void test_bits(void **state)
{
	u64 rng = 1, e;
	u32 i, bit, n;

	(void)state;
	for (n = 0; n < 200; n++) {
		e = n ? unit_edge(&rng) : 0;
		for (i = 0; i < ARRAY_SIZE(fields); i++) {
			const struct field *f = &fields[i];

			assert_int_equal(f->get(e), bits(e, f->shift, f->width));
			for (bit = 0; bit < 64; bit++)
				assert_int_equal(f->get(e ^ 1ULL << bit) ^ f->get(e),
						 bit >= f->shift && bit < f->shift + f->width ?
						 1ULL << (bit - f->shift) : 0);
		}
	}
}

/* The transaction id lies by source and type. */
static void test_tid(void **state)
{
	u64 rng = 2, e;
	u32 n, source, type;

	(void)state;
	for (n = 0; n < 20000; n++) {
		e = unit_edge(&rng);
		source = n % 8;
		type = n / 8 % 4;
		e &= ~(0x7ULL << 56 | 0x3ULL << 54);
		e |= (u64)source << 56 | (u64)type << 54;
		if (source != KGNI_CQE_REMOTE && (type == 1 || type == 3)) {
			assert_true(kgni_cqe_is_smsg(e));
			assert_int_equal(kgni_cqe_tid(e), bits(e, 32, 22));
		} else {
			assert_false(kgni_cqe_is_smsg(e));
			assert_int_equal(kgni_cqe_tid(e), bits(e, 24, 29));
		}
	}
}

static void test_post(void **state)
{
	static const u32 values[] = { 0, 1, 0xabcdef, 0xffffff, 0x1000000, 0xdeadbeef, 0xffffffff };
	static const u32 tids[] = { 0, 1, 0x12345678, 0x1fffffff, 0x20000000, 0xffffffff };
	u32 v, t, source, status;
	u64 src, e;

	(void)state;
	for (v = 0; v < ARRAY_SIZE(values); v++)
	for (t = 0; t < ARRAY_SIZE(tids); t++)
	for (source = KGNI_CQE_FMA; source <= KGNI_CQE_BTE; source++)
	for (status = 0; status < KGNI_ST_COUNT; status++) {
		src = kgni_cqe_post(values[v], tids[t]);
		assert_int_equal(src >> 53, 0);
		e = kgni_cqe_done(src, source, status);
		assert_int_equal(kgni_cqe_type(e), KGNI_CQE_POST);
		assert_int_equal(kgni_cqe_source(e), source);
		assert_int_equal(kgni_cqe_status(e), status);
		assert_int_equal(kgni_cqe_tid(e), tids[t] & 0x1fffffff);
		assert_int_equal(get_inst(e), values[v] & 0xffffff);
		assert_false(kgni_cqe_is_smsg(e));
		assert_int_equal(get_overrun(e) | get_local(e), 0);
		/* The local event of dual events differs in one bit. */
		assert_int_equal(kgni_cqe_done(src | KGNI_CQE_LOCAL, source, status) ^ e,
				 1ULL << 53);
		assert_int_equal(kgni_cqe_tid(e | KGNI_CQE_LOCAL), kgni_cqe_tid(e));
	}
}

static void test_smsg(void **state)
{
	static const u32 ids[] = { 0, 1, 0xffffff, 0x1000000, 0xdeadbeef, 0xffffffff };
	static const u32 tids[] = { 0, 1, 0x2aaaaa, 0x3fffff, 0x400000, 0xffffffff };
	static const enum kgni_cqe_type types[] = { KGNI_CQE_SMSG, KGNI_CQE_MSGQ };
	u32 i, t, k;
	u64 e;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ids); i++)
	for (t = 0; t < ARRAY_SIZE(tids); t++)
	for (k = 0; k < ARRAY_SIZE(types); k++) {
		e = kgni_cqe_done(kgni_cqe_smsg(ids[i], tids[t], types[k]), KGNI_CQE_FMA,
				  KGNI_ST_UNREACHABLE);
		assert_true(kgni_cqe_is_smsg(e));
		assert_int_equal(kgni_cqe_type(e), types[k]);
		assert_int_equal((u32)e, ids[i]);
		assert_int_equal(kgni_cqe_tid(e), tids[t] & 0x3fffff);
		assert_int_equal(kgni_cqe_source(e), KGNI_CQE_FMA);
		assert_int_equal(kgni_cqe_status(e), KGNI_ST_UNREACHABLE);
		assert_int_equal(get_overrun(e), 0);
	}
}

static void test_remote(void **state)
{
	u64 rng = 3, data, e;
	u32 n, post_type, type;

	(void)state;
	for (n = 0; n < 20000; n++) {
		data = unit_edge(&rng);
		post_type = n < 64 ? n : (u32)unit_edge(&rng);
		type = n % 4;
		e = kgni_cqe_remote(data, post_type, type);
		assert_int_equal(get_data(e), data & 0xffffffffffffULL);
		assert_int_equal(get_rem_inst(e), data & 0xffffffff);
		assert_int_equal(get_inst(e), data & 0xffffff);
		assert_int_equal(kgni_cqe_info(e), post_type & 0x3f);
		assert_int_equal(kgni_cqe_type(e), type);
		assert_int_equal(kgni_cqe_source(e), KGNI_CQE_REMOTE);
		assert_int_equal(kgni_cqe_status(e), KGNI_ST_OK);
		assert_int_equal(get_overrun(e), 0);
		assert_false(kgni_cqe_is_smsg(e));
	}
}

/* What user space asks for never reaches who did it and how it ended. */
static void test_done_masks(void **state)
{
	u64 rng = 4, src, e;
	u32 n, source, status;

	(void)state;
	for (n = 0; n < 20000; n++) {
		src = unit_edge(&rng);
		source = 1 + n % 7;
		status = n / 7 % 16;
		e = kgni_cqe_done(src, source, status);
		assert_int_equal(e & KGNI_CQE_USER_MASK, src & 0xffffffffffffffULL);
		assert_int_equal(kgni_cqe_source(e), source);
		assert_int_equal(kgni_cqe_status(e), status);
		assert_int_equal(get_overrun(e), 0);
	}
}

/* The ring asks for more than an entry that is not zero. */
static void upper_half(u64 e)
{
	assert_true(e >> 32);
}

static void test_never_vacant(void **state)
{
	u32 source, type, status;

	(void)state;
	for (source = KGNI_CQE_FMA; source <= KGNI_CQE_DRIVER; source++)
		for (status = 0; status < KGNI_ST_COUNT; status++)
			upper_half(kgni_cqe_done(0, source, status));
	for (type = 0; type < 4; type++)
		upper_half(kgni_cqe_remote(0, 0, type));
	upper_half(kgni_cqe_hole());
	upper_half(kgni_cqe_overrun());
}

static void test_special(void **state)
{
	u64 hole = kgni_cqe_hole(), over = kgni_cqe_overrun();

	(void)state;
	assert_int_equal(over >> 63, 1);
	assert_int_equal(kgni_cqe_source(over), KGNI_CQE_DRIVER);
	assert_int_equal(kgni_cqe_status(over), KGNI_ST_OK);
	assert_int_equal(get_user(over), 0);
	assert_int_equal(hole >> 63, 0);
	assert_int_equal(kgni_cqe_source(hole), KGNI_CQE_DRIVER);
	assert_int_equal(kgni_cqe_status(hole), KGNI_ST_PRODUCER_DIED);
	assert_int_equal(get_user(hole), 0);
	/* All states fit their field. */
	assert_in_range(KGNI_ST_COUNT, 11, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_tid),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_smsg),
		cmocka_unit_test(test_remote),
		cmocka_unit_test(test_done_masks),
		cmocka_unit_test(test_never_vacant),
		cmocka_unit_test(test_special),
	};

	return cmocka_run_group_tests_name("completion queue entries", tests, NULL, NULL);
}
