// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/ring.h: the protocol step by step, in one thread. cq_test.c has producers
 * in several.
 */
#include "kgt.h"

#define HOLE	(0xfeULL << 56)

static u64 entry(u32 n)
{
	return 1ULL << 56 | n;
}

/* Rings of all kinds of sizes, and where in the count of positions they begin. */
static const struct start {
	u32 slots;
	u32 pos;
} starts[] = {
	{ 1, 0 }, { 2, 0 }, { 4, 0 }, { 64, 0 }, { 4096, 0 }, { 1, 0x7fffffff },
	{ 4, 0x7ffffffe }, { 1, 0xffffffff }, { 2, 0xffffffff }, { 8, 0xfffffffb },
	{ 64, 0xffffffe0 },
};

static void start_desc(const struct start *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots from 0x%x", s->slots, s->pos);
}

KUNIT_ARRAY_PARAM(start, starts, start_desc);

static struct kgni_ring_view ring(struct kunit *test, u32 slots, u32 pos)
{
	size_t bytes = KGNI_RING_SLOTS_OFFSET + slots * sizeof(u64);
	void *mem = kunit_kzalloc(test, bytes, GFP_KERNEL);
	struct kgni_ring_view v;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	kgni_ring_view_init(&v, mem, slots);
	v.ring->tail = pos;
	v.ring->head = pos;
	for (i = 0; i < slots; i++)
		v.slots[(pos + i) & v.mask] = kgni_ring_vacant(&v, pos + i);
	return v;
}

static struct kgni_ring_view ring_of_param(struct kunit *test)
{
	const struct start *s = test->param_value;

	return ring(test, s->slots, s->pos);
}

static void pop_is(struct kunit *test, const struct kgni_ring_view *v, u64 want)
{
	u64 e = 0;

	KUNIT_EXPECT_TRUE(test, kgni_ring_ready(v));
	KUNIT_EXPECT_EQ(test, kgni_ring_pop(v, &e), KGNI_RING_ENTRY);
	KUNIT_EXPECT_EQ(test, e, want);
}

static void is_empty(struct kunit *test, const struct kgni_ring_view *v)
{
	u64 e = 0;

	KUNIT_EXPECT_FALSE(test, kgni_ring_ready(v));
	KUNIT_EXPECT_EQ(test, kgni_ring_pop(v, &e), KGNI_RING_EMPTY);
	KUNIT_EXPECT_EQ(test, kgni_ring_count(v), 0);
}

static void fill_and_drain(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u32 lap, i;

	for (lap = 0; lap < 3; lap++) {
		is_empty(test, &v);
		for (i = 0; i <= v.mask; i++) {
			KUNIT_EXPECT_EQ(test, kgni_ring_count(&v), i);
			KUNIT_EXPECT_TRUE(test, kgni_ring_push(&v, entry(i)));
		}
		for (i = 0; i <= v.mask; i++)
			pop_is(test, &v, entry(i));
	}
	is_empty(test, &v);
}

static void overrun(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u64 e;
	u32 i;

	for (i = 0; i <= v.mask; i++)
		kgni_ring_push(&v, entry(i));
	KUNIT_EXPECT_FALSE(test, kgni_ring_push(&v, entry(~0)));
	KUNIT_EXPECT_FALSE(test, kgni_ring_push(&v, entry(~0)));
	KUNIT_EXPECT_EQ(test, kgni_ring_pop(&v, &e), KGNI_RING_OVERRUN);
	for (i = 0; i <= v.mask; i++)
		pop_is(test, &v, entry(i));
	is_empty(test, &v);
	KUNIT_EXPECT_TRUE(test, kgni_ring_push(&v, entry(7)));
	pop_is(test, &v, entry(7));
}

static void holes(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u64 e;
	u32 i;

	if (v.mask < 3)
		kunit_skip(test, "too small for them between entries");
	/* Two died, one lived, one more died. */
	v.ring->tail += 2;
	KUNIT_EXPECT_TRUE(test, kgni_ring_push(&v, entry(1)));
	v.ring->tail += 1;
	KUNIT_EXPECT_EQ(test, kgni_ring_pop(&v, &e), KGNI_RING_EMPTY);
	KUNIT_EXPECT_EQ(test, kgni_ring_repair(&v, HOLE), 3);
	KUNIT_EXPECT_EQ(test, kgni_ring_repair(&v, HOLE), 0);
	for (i = 0; i < 4; i++)
		pop_is(test, &v, i == 2 ? entry(1) : HOLE);
	is_empty(test, &v);
}

static void repair_of_a_full_ring(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u32 i;

	v.ring->tail += v.mask + 1;
	KUNIT_EXPECT_FALSE(test, kgni_ring_push(&v, entry(1)));
	v.ring->overrun = 0;
	KUNIT_EXPECT_EQ(test, kgni_ring_repair(&v, HOLE), v.mask + 1);
	for (i = 0; i <= v.mask; i++)
		pop_is(test, &v, HOLE);
	is_empty(test, &v);
}

/* A producer that was slow, not dead, finds its slot taken, and also a lap later. */
static void slow_producer(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u32 pos = v.ring->tail;
	u64 vacant = kgni_ring_vacant(&v, pos);
	u64 *slot = &v.slots[pos & v.mask];

	v.ring->tail = pos + 1;
	kgni_ring_repair(&v, HOLE);
	KUNIT_EXPECT_NE(test, cmpxchg(slot, vacant, entry(1)), vacant);
	pop_is(test, &v, HOLE);
	KUNIT_EXPECT_NE(test, cmpxchg(slot, vacant, entry(1)), vacant);
	is_empty(test, &v);
}

/* An entry where nothing was reserved comes out, and the next push sets the tail right. */
static void early_entry(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u32 pos = v.ring->head;

	v.slots[pos & v.mask] = entry(1);
	pop_is(test, &v, entry(1));
	is_empty(test, &v);
	KUNIT_EXPECT_EQ(test, v.ring->tail, pos);
	KUNIT_EXPECT_EQ(test, kgni_ring_count(&v), 0U);
	KUNIT_EXPECT_EQ(test, kgni_ring_repair(&v, HOLE), 0U);
	KUNIT_EXPECT_TRUE(test, kgni_ring_push(&v, entry(2)));
	pop_is(test, &v, entry(2));
	KUNIT_EXPECT_EQ(test, v.ring->head, pos + 2);
	KUNIT_EXPECT_EQ(test, v.ring->tail, pos + 2);
}

static void armed(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);

	KUNIT_EXPECT_FALSE(test, kgni_ring_disarm(&v));
	kgni_ring_arm(&v);
	KUNIT_EXPECT_TRUE(test, kgni_ring_disarm(&v));
	KUNIT_EXPECT_FALSE(test, kgni_ring_disarm(&v));
}

/* Whatever is in the ring, every call ends, and KASAN sees where it looks. */
static void hostile_contents(struct kunit *test)
{
	struct kgni_ring_view v = ring_of_param(test);
	u64 rng = v.mask + v.ring->tail;
	u64 e;
	u32 i;

	for (i = 0; i < 300; i++) {
		u64 r = kgt_rand(&rng);

		v.ring->tail = r & 1 ? v.ring->head + (r >> 60) : r >> 32;
		v.ring->overrun = r & 2;
		v.slots[r >> 8 & v.mask] = r & 4 ? r : kgni_ring_vacant(&v, v.ring->head);
		KUNIT_EXPECT_LE(test, kgni_ring_count(&v), v.mask + 1);
		KUNIT_EXPECT_LE(test, kgni_ring_repair(&v, HOLE), v.mask + 1);
		kgni_ring_push(&v, entry(i));
		KUNIT_EXPECT_EQ(test, kgni_ring_ready(&v),
				kgni_ring_pop(&v, &e) != KGNI_RING_EMPTY);
	}
}

/* Taken slots for ever: a producer gives up, and says so. */
static void push_is_bounded(struct kunit *test)
{
	struct kgni_ring_view v = ring(test, 8192, 0);
	u64 e;
	u32 i;

	for (i = 0; i < 8192; i++)
		v.slots[i] = HOLE;
	KUNIT_EXPECT_FALSE(test, kgni_ring_push(&v, entry(1)));
	KUNIT_EXPECT_EQ(test, v.ring->tail, KGNI_RING_TRIES);
	KUNIT_EXPECT_EQ(test, kgni_ring_pop(&v, &e), KGNI_RING_OVERRUN);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(fill_and_drain, start_gen_params),
	KUNIT_CASE_PARAM(overrun, start_gen_params),
	KUNIT_CASE_PARAM(holes, start_gen_params),
	KUNIT_CASE_PARAM(repair_of_a_full_ring, start_gen_params),
	KUNIT_CASE_PARAM(slow_producer, start_gen_params),
	KUNIT_CASE_PARAM(early_entry, start_gen_params),
	KUNIT_CASE_PARAM(armed, start_gen_params),
	KUNIT_CASE_PARAM(hostile_contents, start_gen_params),
	KUNIT_CASE(push_is_bounded),
	{}
};

static struct kunit_suite core_ring_suite = {
	.name = "kgni_core_ring",
	.test_cases = cases,
};

kunit_test_suite(core_ring_suite);
