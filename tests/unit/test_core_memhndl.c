// SPDX-License-Identifier: GPL-2.0-only
/* Memory handles, as clients take them apart and rebuild them: kernel/core/memhndl.h. */
#include "unit.h"
#include "core/memhndl.h"

/*
 * The CRC as the clients compute it: a table of 256 from what each bit of a
 * byte contributes, chained from the first byte on.
 */
static u8 client_crc(u64 q1, u64 q2)
{
	static const u8 of_bit[8] = { 0x5e, 0xbc, 0x61, 0xc2, 0x9d, 0x23, 0x46, 0x8c };
	u8 table[256], bytes[16], crc = 0;
	u32 i, bit;

	for (i = 0; i < 256; i++) {
		table[i] = 0;
		for (bit = 0; bit < 8; bit++)
			if (i >> bit & 1)
				table[i] ^= of_bit[bit];
	}
	for (i = 0; i < 8; i++) {
		bytes[i] = (u8)(q1 >> (8 * i));
		bytes[8 + i] = (u8)(q2 >> (8 * i));
	}
	for (i = 0; i < 15; i++)
		crc = table[bytes[i] ^ crc];
	return crc;
}

static void test_crc(void **state)
{
	u64 rng = 11, q1, q2;
	u32 i;

	(void)state;
	for (i = 0; i < 128; i++) {
		q1 = i < 64 ? 1ULL << i : 0;
		q2 = i < 64 ? 0 : 1ULL << (i - 64);
		assert_int_equal(kgni_mh_crc(q1, q2), client_crc(q1, q2));
	}
	for (i = 0; i < 50000; i++) {
		q1 = unit_edge(&rng);
		q2 = unit_edge(&rng);
		assert_int_equal(kgni_mh_crc(q1, q2), client_crc(q1, q2));
		/* Where the CRC itself goes does not count. */
		assert_int_equal(kgni_mh_crc(q1, q2), kgni_mh_crc(q1, q2 ^ 0xffULL << 56));
	}
}

/* The check value of CRC-8/MAXIM-DOW, at the end: zeros in front change nothing. */
static void test_crc_check_value(void **state)
{
	const char *text = "123456789";
	u64 q[2] = { 0 };
	u32 i;

	(void)state;
	for (i = 0; i < 9; i++)
		q[(i + 6) / 8] |= (u64)(u8)text[i] << ((i + 6) % 8 * 8);
	assert_int_equal(kgni_mh_crc(q[0], q[1]), 0xa1);
	assert_int_equal(kgni_mh_crc(0, 0), 0);
}

/* By hand from the layout. */
static const struct known {
	struct kgni_mh mh;
	u64 q1, q2;		/* without the CRC */
} known[] = {
	{ { 0 }, 0, 0 },
	{ { .va = 0x1000 }, 1, 0 },
	{ { .va = 0x7fff12345000, .npages = 3, .mdh = 0xabc, .page_shift = 12,
	    .flags = KGNI_MH_MRT },
	  0xabc00007fff12345, 0x00000010c0000003 },
	{ { .va = 0xfffffffffffff000, .npages = 0xfffffff, .mdh = 0xfff, .page_shift = 63,
	    .flags = 0x7f },
	  0xffffffffffffffff, 0x000001ffffffffff },
	{ { .va = 0xfffffffffffff000, .npages = 0xfffffff, .mdh = 0xfff, .entropy = 0xfff,
	    .page_shift = 63, .flags = 0xff },
	  0xffffffffffffffff, 0x003fffffffffffff },
	{ { .va = 0x7f0000200000, .npages = 0x200, .mdh = 0x123, .entropy = 0x456,
	    .page_shift = 21, .flags = KGNI_MH_V2 | KGNI_MH_READONLY },
	  0x45600007f0000200, 0x00048e0550000200 },
};

static void same(const struct kgni_mh *x, const struct kgni_mh *y)
{
	assert_int_equal(x->va, y->va);
	assert_int_equal(x->npages, y->npages);
	assert_int_equal(x->mdh, y->mdh);
	assert_int_equal(x->entropy, y->entropy);
	assert_int_equal(x->page_shift, y->page_shift);
	assert_int_equal(x->flags, y->flags);
}

static void test_known(void **state)
{
	struct kgni_mh mh;
	u64 q1, q2;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		kgni_mh_pack(&known[i].mh, &q1, &q2);
		assert_int_equal(q1, known[i].q1);
		assert_int_equal(q2 & ~(0xffULL << 56), known[i].q2);
		assert_int_equal(q2 >> 56, client_crc(known[i].q1, known[i].q2));
		assert_true(kgni_mh_unpack(q1, q2, &mh));
		same(&mh, &known[i].mh);
	}
}

static void random_mh(u64 *rng, struct kgni_mh *mh)
{
	mh->va = unit_edge(rng) & ~0xfffULL;
	mh->npages = (u32)unit_edge(rng) & KGNI_MH_NPAGES_MAX;
	mh->mdh = (u16)unit_edge(rng) & KGNI_MH_MDH_MAX;
	mh->flags = (u8)unit_edge(rng);
	mh->entropy = mh->flags & KGNI_MH_V2 ? (u16)unit_edge(rng) & 0xfff : 0;
	mh->page_shift = unit_below(rng, 64);
}

static void test_round_trip(void **state)
{
	struct kgni_mh in, out;
	u64 rng = 12, q1, q2;
	u32 n;

	(void)state;
	for (n = 0; n < 50000; n++) {
		random_mh(&rng, &in);
		kgni_mh_pack(&in, &q1, &q2);
		memset(&out, 0xa5, sizeof(out));
		assert_true(kgni_mh_unpack(q1, q2, &out));
		same(&in, &out);
		/* Bits without a meaning are zero. */
		assert_int_equal(q2 & (in.flags & KGNI_MH_V2 ? 3ULL << 54 : 0x3fffULL << 42), 0);
	}
}

/* A part that is too big spoils no other part. */
static void test_overlong(void **state)
{
	struct kgni_mh in, out;
	u64 rng = 13, q1, q2;
	u32 n;

	(void)state;
	for (n = 0; n < 20000; n++) {
		random_mh(&rng, &in);
		kgni_mh_pack(&in, &q1, &q2);
		assert_true(kgni_mh_unpack(q1, q2, &out));
		in.va |= unit_rand(&rng) & 0xfff;
		in.npages |= (u32)unit_rand(&rng) << 28;
		in.mdh |= (u16)(unit_rand(&rng) << 12);
		in.entropy |= (u16)(unit_rand(&rng) << 12);
		in.page_shift |= (u8)(unit_rand(&rng) << 6);
		kgni_mh_pack(&in, &q1, &q2);
		assert_true(kgni_mh_unpack(q1, q2, &in));
		same(&in, &out);
	}
}

/* A CRC finds every change of one bit, of two, and of a byte. */
static void test_damage(void **state)
{
	struct kgni_mh mh, out;
	u64 rng = 14, q[2];
	u32 n, i, j, byte;

	(void)state;
	for (n = 0; n < 40; n++) {
		random_mh(&rng, &mh);
		kgni_mh_pack(&mh, &q[0], &q[1]);
		for (i = 0; i < 128; i++) {
			q[i / 64] ^= 1ULL << i % 64;
			assert_false(kgni_mh_unpack(q[0], q[1], &out));
			for (j = 0; j < i && i < 127; j++) {
				q[j / 64] ^= 1ULL << j % 64;
				/* Its period is 127 bits, so no two in this span cancel. */
				assert_false(kgni_mh_unpack(q[0], q[1], &out));
				q[j / 64] ^= 1ULL << j % 64;
			}
			q[i / 64] ^= 1ULL << i % 64;
		}
		for (i = 0; i < 16; i++)
			for (byte = 1; byte < 256; byte++) {
				q[i / 8] ^= (u64)byte << i % 8 * 8;
				assert_false(kgni_mh_unpack(q[0], q[1], &out));
				q[i / 8] ^= (u64)byte << i % 8 * 8;
			}
		assert_true(kgni_mh_unpack(q[0], q[1], &out));
	}
}

/*
 * What a client rebuilds from address, number and two flags, with no CRC and
 * all pages there are, still names the same.
 */
static void test_rebuilt(void **state)
{
	struct kgni_mh in, out;
	u64 rng = 15, q1, q2;
	u32 n;

	(void)state;
	for (n = 0; n < 20000; n++) {
		random_mh(&rng, &in);
		in.flags &= KGNI_MH_READONLY | KGNI_MH_VMDH;
		q1 = in.va >> 12 | (u64)in.mdh << 52;
		q2 = 0xfffffffULL | 12ULL << 28 | (u64)in.flags << 34;
		assert_int_equal(kgni_mh_unpack(q1, q2, &out), client_crc(q1, q2) == 0);
		assert_int_equal(out.va, in.va);
		assert_int_equal(out.mdh, in.mdh);
		assert_int_equal(out.flags, in.flags);
		assert_int_equal(out.npages, KGNI_MH_NPAGES_MAX);
		assert_int_equal(out.page_shift, 12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_crc_check_value),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_overlong),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_rebuilt),
	};

	return cmocka_run_group_tests_name("memory handles", tests, NULL, NULL);
}
