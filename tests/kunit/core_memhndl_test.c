// SPDX-License-Identifier: GPL-2.0-only
/* core/memhndl.h: the layout of memory handles and their checksum. */
#include "kgt.h"

/* By hand, from the layout; without the checksum. */
static const struct known {
	const char *name;
	struct kgni_mh mh;
	u64 q1, q2;
} knowns[] = {
	{ "nothing", { 0 }, 0, 0 },
	{ "address", { .va = 0x1000 }, 1, 0 },
	{ "pages", { .npages = KGNI_MH_NPAGES_MAX }, 0, 0xfffffff },
	{ "page size", { .page_shift = 63 }, 0, 63ULL << 28 },
	{ "flags", { .flags = 0x7f }, 0, 0x7fULL << 34 },
	{ "mdh, version 1", { .mdh = 0xfff }, 0xfffULL << 52, 0 },
	{ "mdh, version 2", { .mdh = 0xfff, .flags = KGNI_MH_V2 }, 0,
	  0x80ULL << 34 | 0xfffULL << 42 },
	{ "entropy, version 2", { .entropy = 0xfff, .flags = KGNI_MH_V2 }, 0xfffULL << 52,
	  0x80ULL << 34 },
	{ "a version 1 handle", { .va = 0x7ffe12345000, .npages = 0x41, .mdh = 0x5a3,
	  .page_shift = 12, .flags = KGNI_MH_READONLY | KGNI_MH_MRT },
	  0x5a300007ffe12345, 0x00000014c0000041 },
	{ "a version 2 handle", { .va = 0x7e0000400000, .npages = 0x80, .mdh = 0x321,
	  .entropy = 0x654, .page_shift = 21, .flags = KGNI_MH_V2 },
	  0x65400007e0000400, 0x000c860150000080 },
};

static void known_desc(const struct known *k, char *desc)
{
	strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(known, knowns, known_desc);

static void layout(struct kunit *test)
{
	const struct known *k = test->param_value;
	struct kgni_mh mh;
	u64 q1, q2;

	kgni_mh_pack(&k->mh, &q1, &q2);
	KUNIT_EXPECT_EQ(test, q1, k->q1);
	KUNIT_EXPECT_EQ(test, q2 << 8 >> 8, k->q2);
	KUNIT_EXPECT_TRUE(test, kgni_mh_unpack(q1, q2, &mh));
	KUNIT_EXPECT_EQ(test, mh.va, k->mh.va);
	KUNIT_EXPECT_EQ(test, mh.npages, k->mh.npages);
	KUNIT_EXPECT_EQ(test, mh.mdh, k->mh.mdh);
	KUNIT_EXPECT_EQ(test, mh.entropy, k->mh.entropy);
	KUNIT_EXPECT_EQ(test, mh.page_shift, k->mh.page_shift);
	KUNIT_EXPECT_EQ(test, mh.flags, k->mh.flags);
}

/* The check value of CRC-8/MAXIM-DOW; zeros in front change nothing. */
static void crc(struct kunit *test)
{
	u8 bytes[16] = { 0 };
	u64 q[2];

	memcpy(bytes + 6, "123456789", 9);
	memcpy(q, bytes, sizeof(q));
	KUNIT_EXPECT_EQ(test, kgni_mh_crc(q[0], q[1]), 0xa1);
	KUNIT_EXPECT_EQ(test, kgni_mh_crc(q[0], q[1] | 0xffULL << 56), 0xa1);
}

/* Any bit that changes on its way is noticed. */
static void damage(struct kunit *test)
{
	const struct known *k = test->param_value;
	struct kgni_mh mh;
	u64 q1, q2;
	u32 bit;

	kgni_mh_pack(&k->mh, &q1, &q2);
	for (bit = 0; bit < 64; bit++) {
		KUNIT_EXPECT_FALSE(test, kgni_mh_unpack(q1 ^ 1ULL << bit, q2, &mh));
		KUNIT_EXPECT_FALSE(test, kgni_mh_unpack(q1, q2 ^ 1ULL << bit, &mh));
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(layout, known_gen_params),
	KUNIT_CASE_PARAM(damage, known_gen_params),
	KUNIT_CASE(crc),
	{}
};

static struct kunit_suite core_memhndl_suite = {
	.name = "kgni_core_memhndl",
	.test_cases = cases,
};

kunit_test_suite(core_memhndl_suite);
