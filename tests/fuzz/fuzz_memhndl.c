// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory handles: any two words taken apart and put together again, any parts
 * put together and taken apart, and the CRC against one worked out otherwise.
 */
#include "fuzz.h"
#include "core/memhndl.h"

/* Bits of the second word that no field has, without the CRC's. */
#define UNUSED_V1	(0x3fffULL << 42)
#define UNUSED_V2	(3ULL << 54)
#define CRC_SHIFT	56

struct words {
	u64 q1;
	u64 q2;
};

static unsigned int word_bit(const struct words *w, unsigned int i)
{
	return (i < 64 ? w->q1 >> i : w->q2 >> (i - 64)) & 1;
}

/*
 * The remainder of a long division, bit by bit as they go over a wire, by
 * x^8 + x^5 + x^4 + 1; the other bit order of the code under test.
 */
static u8 crc_by_division(const struct words *w)
{
	unsigned int rest = 0, i, crc = 0;

	for (i = 0; i < 120 + 8; i++) {
		rest = rest << 1 | (i < 120 ? word_bit(w, i) : 0);
		if (rest & 0x100)
			rest ^= 0x131;
	}
	for (i = 0; i < 8; i++)
		crc |= (rest >> i & 1) << (7 - i);
	return (u8)crc;
}

static void check_crc(const struct words *w, const struct words *v, unsigned int burst)
{
	u8 crc = kgni_mh_crc(w->q1, w->q2);
	struct words bad = *w;
	unsigned int i;

	check(crc == crc_by_division(w), "crc %#x", crc);
	check(kgni_mh_crc(w->q1 ^ v->q1, w->q2 ^ v->q2) == (crc ^ kgni_mh_crc(v->q1, v->q2)),
	      "not linear");
	/* It finds whatever damages 8 bits in a row. */
	for (i = 0; i < 8; i++) {
		unsigned int bit = burst % 113 + i;

		if (!(burst >> 7 >> i & 1))
			continue;
		if (bit < 64)
			bad.q1 ^= 1ULL << bit;
		else
			bad.q2 ^= 1ULL << (bit - 64);
	}
	check((burst >> 7 & 0xff) == 0 || kgni_mh_crc(bad.q1, bad.q2) != crc, "burst %#x", burst);
}

static bool same(const struct kgni_mh *a, const struct kgni_mh *b)
{
	return a->va == b->va && a->npages == b->npages && a->mdh == b->mdh &&
	       a->entropy == b->entropy && a->page_shift == b->page_shift && a->flags == b->flags;
}

static void check_fields(const struct kgni_mh *mh)
{
	check(!(mh->va & 0xfff), "va %#llx", (unsigned long long)mh->va);
	check(mh->npages <= KGNI_MH_NPAGES_MAX, "npages %#x", mh->npages);
	check(mh->mdh <= KGNI_MH_MDH_MAX, "mdh %#x", mh->mdh);
	check(mh->entropy <= 0xfff, "entropy %#x", mh->entropy);
	check(mh->page_shift < 64, "page shift %u", mh->page_shift);
	check(mh->flags & KGNI_MH_V2 || !mh->entropy, "version 1 has no entropy");
}

/* Words from outside: nothing is lost but what no field has. */
static void check_words(const struct words *w)
{
	struct words again;
	struct kgni_mh mh;
	u64 kept;
	bool good;

	memset(&mh, 0xa5, sizeof(mh));
	good = kgni_mh_unpack(w->q1, w->q2, &mh);
	check_fields(&mh);
	check(good == (w->q2 >> CRC_SHIFT == crc_by_division(w)), "says %d", good);
	kgni_mh_pack(&mh, &again.q1, &again.q2);
	kept = ~(mh.flags & KGNI_MH_V2 ? UNUSED_V2 : UNUSED_V1) & ((1ULL << CRC_SHIFT) - 1);
	check(again.q1 == w->q1, "first word %#llx", (unsigned long long)again.q1);
	check((again.q2 & ((1ULL << CRC_SHIFT) - 1)) == (w->q2 & kept), "second word %#llx",
	      (unsigned long long)again.q2);
	check(again.q2 >> CRC_SHIFT == crc_by_division(&again), "crc of packed words");
}

/* Parts that fit come back; those too large do not spill into others. */
static void check_parts(const struct kgni_mh *in)
{
	struct kgni_mh want = *in, got;
	struct words w;

	want.va &= ~0xfffULL;
	want.npages &= KGNI_MH_NPAGES_MAX;
	want.mdh &= KGNI_MH_MDH_MAX;
	want.page_shift &= 63;
	want.entropy &= 0xfff;
	if (!(in->flags & KGNI_MH_V2))
		want.entropy = 0;
	kgni_mh_pack(in, &w.q1, &w.q2);
	check(kgni_mh_unpack(w.q1, w.q2, &got), "crc of one's own");
	check(same(&got, &want), "va %#llx npages %#x mdh %#x entropy %#x shift %u flags %#x",
	      (unsigned long long)got.va, got.npages, got.mdh, got.entropy, got.page_shift,
	      got.flags);
}

static void read_parts(struct input *in, struct kgni_mh *mh)
{
	mh->va = input_edge(in);
	mh->npages = (u32)input_edge(in);
	mh->mdh = input_u16(in);
	mh->entropy = input_u16(in);
	mh->page_shift = input_u8(in);
	mh->flags = input_u8(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct words w, v;
	struct kgni_mh mh;
	int round;

	for (round = 0; round < 2 && in.left; round++) {
		w.q1 = input_u64(&in);
		w.q2 = input_u64(&in);
		v.q1 = input_edge(&in);
		v.q2 = input_edge(&in);
		check_words(&w);
		check_words(&v);
		check_crc(&w, &v, input_u16(&in));
		/* With a CRC that is right: the fuzzer would find that only by luck. */
		w.q2 = (w.q2 << 8 >> 8) | (u64)crc_by_division(&w) << CRC_SHIFT;
		check_words(&w);
		read_parts(&in, &mh);
		check_parts(&mh);
	}
	return 0;
}
