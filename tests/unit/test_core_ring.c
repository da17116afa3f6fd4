// SPDX-License-Identifier: GPL-2.0-only
/* The completion queue ring, one step after the other: kernel/core/ring.h. */
#include "unit_ring.h"

static const u32 sizes[] = { 1, 2, 4, 8, 64, 1024 };
static const u32 starts[] = { 0, 1, 5, 0x7ffffffe, 0x80000000, 0xfffffff0, 0xfffffffe, 0xffffffff };

#define for_each_ring(v, i, j)							\
	for (i = 0; i < ARRAY_SIZE(sizes); i++)					\
		for (j = 0; j < ARRAY_SIZE(starts) &&				\
		     (ring_new(v, sizes[i], starts[j]), 1); ring_delete(v), j++)

static void push(const struct kgni_ring_view *v, u32 n)
{
	assert_true(kgni_ring_push(v, ring_entry(1, n)));
}

static void pop_is(const struct kgni_ring_view *v, u64 want)
{
	u64 e = 0;

	assert_true(kgni_ring_ready(v));
	assert_int_equal(kgni_ring_pop(v, &e), KGNI_RING_ENTRY);
	assert_int_equal(e, want);
}

static void pop_nothing(const struct kgni_ring_view *v)
{
	u64 e = 0x1234;

	assert_false(kgni_ring_ready(v));
	assert_int_equal(kgni_ring_pop(v, &e), KGNI_RING_EMPTY);
	assert_int_equal(e, 0x1234);
}

static void pop_overrun(const struct kgni_ring_view *v)
{
	u64 e = 0x1234;

	assert_true(kgni_ring_ready(v));
	assert_int_equal(kgni_ring_pop(v, &e), KGNI_RING_OVERRUN);
	assert_int_equal(e, 0x1234);
}

/* What a producer does before it dies, or sleeps. */
static u32 reserve(const struct kgni_ring_view *v)
{
	return v->ring->tail++;
}

static bool publish(const struct kgni_ring_view *v, u32 pos, u64 entry)
{
	u64 vacant = kgni_ring_vacant(v, pos);

	return core_cmpxchg(&v->slots[pos & v->mask], vacant, entry) == vacant;
}

static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct kgni_ring, tail), 0);
	assert_int_equal(offsetof(struct kgni_ring, head), 64);
	assert_int_equal(offsetof(struct kgni_ring, armed), 128);
	assert_int_equal(offsetof(struct kgni_ring, overrun), 132);
	assert_int_equal(sizeof(struct kgni_ring), 192);
}

/* A ring in zeroed memory is a new ring. */
static void test_zeroed(void **state)
{
	struct kgni_ring_view v;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ring_new(&v, sizes[i], 0);
		memset(v.slots, 0, sizes[i] * sizeof(u64));
		pop_nothing(&v);
		push(&v, 7);
		pop_is(&v, ring_entry(1, 7));
		pop_nothing(&v);
		ring_delete(&v);
	}
}

static void test_fill_drain(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, n, round;

	(void)state;
	for_each_ring(&v, i, j) {
		for (round = 0; round < 3; round++) {
			pop_nothing(&v);
			for (n = 0; n < sizes[i]; n++) {
				assert_int_equal(kgni_ring_count(&v), n);
				push(&v, n);
			}
			assert_int_equal(kgni_ring_count(&v), sizes[i]);
			for (n = 0; n < sizes[i]; n++) {
				pop_is(&v, ring_entry(1, n));
				assert_int_equal(kgni_ring_count(&v), sizes[i] - n - 1);
			}
		}
		pop_nothing(&v);
		assert_int_equal(v.ring->overrun, 0);
		assert_int_equal(v.ring->head, starts[j] + 3 * sizes[i]);
		assert_int_equal(v.ring->tail, v.ring->head);
	}
}

/* Every fill level, walked over the wrap of the positions many times. */
static void test_levels(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, level, in, out;

	(void)state;
	for_each_ring(&v, i, j) {
		in = 0;
		out = 0;
		for (level = 1; level <= sizes[i] && level <= 8; level++) {
			while (in < out + level)
				push(&v, in++);
			while (in < 40 * level) {
				pop_is(&v, ring_entry(1, out++));
				push(&v, in++);
				assert_int_equal(kgni_ring_count(&v), level);
			}
		}
		while (out < in)
			pop_is(&v, ring_entry(1, out++));
		pop_nothing(&v);
	}
}

static void test_overrun(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, n, lost;

	(void)state;
	for_each_ring(&v, i, j) {
		for (lost = 1; lost <= 3; lost++) {
			for (n = 0; n < sizes[i]; n++)
				push(&v, n);
			for (n = 0; n < lost; n++)
				assert_false(kgni_ring_push(&v, ring_entry(2, n)));
			assert_int_equal(kgni_ring_count(&v), sizes[i]);
			/* Said once, however many were lost, and takes nothing. */
			pop_overrun(&v);
			assert_int_equal(kgni_ring_count(&v), sizes[i]);
			for (n = 0; n < sizes[i]; n++)
				pop_is(&v, ring_entry(1, n));
			pop_nothing(&v);
		}
	}
}

/* An overrun that happens while the rest is taken is said again. */
static void test_overrun_again(void **state)
{
	struct kgni_ring_view v;

	(void)state;
	ring_new(&v, 2, 0xffffffff);
	push(&v, 0);
	push(&v, 1);
	assert_false(kgni_ring_push(&v, ring_entry(2, 0)));
	pop_overrun(&v);
	pop_is(&v, ring_entry(1, 0));
	push(&v, 2);
	assert_false(kgni_ring_push(&v, ring_entry(2, 1)));
	pop_overrun(&v);
	pop_is(&v, ring_entry(1, 1));
	pop_is(&v, ring_entry(1, 2));
	pop_nothing(&v);
	/* Said, too, when the entries went first. */
	push(&v, 3);
	v.ring->overrun = 1;
	pop_overrun(&v);
	pop_is(&v, ring_entry(1, 3));
	v.ring->overrun = 1;
	pop_overrun(&v);
	pop_nothing(&v);
	ring_delete(&v);
}

static void test_arm(void **state)
{
	struct kgni_ring_view v;

	(void)state;
	ring_new(&v, 2, 0);
	assert_false(kgni_ring_disarm(&v));
	push(&v, 0);
	assert_false(kgni_ring_disarm(&v));
	kgni_ring_arm(&v);
	assert_true(kgni_ring_ready(&v));
	pop_is(&v, ring_entry(1, 0));
	/* Armed until someone disarms it, then only one is told. */
	push(&v, 1);
	assert_true(kgni_ring_disarm(&v));
	assert_false(kgni_ring_disarm(&v));
	push(&v, 2);
	assert_false(kgni_ring_disarm(&v));
	/* Arming twice is arming once. */
	kgni_ring_arm(&v);
	kgni_ring_arm(&v);
	/* A lost event wakes, too. */
	assert_false(kgni_ring_push(&v, ring_entry(1, 3)));
	assert_true(kgni_ring_disarm(&v));
	assert_false(kgni_ring_disarm(&v));
	ring_delete(&v);
}

/* Every pattern of holes in a ring of eight, at every fill level. */
static void test_holes(void **state)
{
	struct kgni_ring_view v;
	u32 j, n, level, holes, pos[8];

	(void)state;
	for (j = 0; j < ARRAY_SIZE(starts); j++)
	for (level = 0; level <= 8; level++)
	for (holes = 0; holes < 1U << level; holes++) {
		ring_new(&v, 8, starts[j]);
		for (n = 0; n < level; n++) {
			pos[n] = reserve(&v);
			if (!(holes >> n & 1))
				assert_true(publish(&v, pos[n], ring_entry(1, n)));
		}
		/* The consumer waits at the first hole. */
		for (n = 0; n < level && !(holes >> n & 1); n++)
			pop_is(&v, ring_entry(1, n));
		pop_nothing(&v);
		assert_int_equal(kgni_ring_repair(&v, HOLE), __builtin_popcount(holes));
		assert_int_equal(kgni_ring_repair(&v, HOLE), 0);
		/* Those that come too late know it, before and after the pop. */
		if (n < level)
			assert_false(publish(&v, pos[n], ring_entry(3, n)));
		for (; n < level; n++) {
			pop_is(&v, holes >> n & 1 ? HOLE : ring_entry(1, n));
			assert_false(publish(&v, pos[n], ring_entry(3, n)));
		}
		pop_nothing(&v);
		assert_int_equal(kgni_ring_repair(&v, HOLE), 0);
		for (n = 0; n < 8; n++)
			push(&v, n);
		for (n = 0; n < 8; n++)
			pop_is(&v, ring_entry(1, n));
		pop_nothing(&v);
		ring_delete(&v);
	}
}

/* A repair in a ring that is empty, full, or has nothing to repair. */
static void test_repair_nothing(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, n;

	(void)state;
	for_each_ring(&v, i, j) {
		assert_int_equal(kgni_ring_repair(&v, HOLE), 0);
		pop_nothing(&v);
		for (n = 0; n < sizes[i]; n++)
			push(&v, n);
		assert_int_equal(kgni_ring_repair(&v, HOLE), 0);
		for (n = 0; n < sizes[i]; n++)
			pop_is(&v, ring_entry(1, n));
		pop_nothing(&v);
	}
}

/*
 * A producer that is slow, not dead: its slot goes to a hole, its publication
 * fails whether or not the hole was consumed, and even if the slot was used
 * for entries again; it then reserves a second time and nothing is lost.
 */
static void test_slow_producer(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, n, laps, pos;

	(void)state;
	for_each_ring(&v, i, j) {
		for (laps = 0; laps < 3; laps++) {
			pos = reserve(&v);
			pop_nothing(&v);
			assert_int_equal(kgni_ring_repair(&v, HOLE), 1);
			if (laps)
				pop_is(&v, HOLE);
			for (n = 1; n < laps * sizes[i]; n++) {
				push(&v, n);
				pop_is(&v, ring_entry(1, n));
			}
			assert_false(publish(&v, pos, ring_entry(2, laps)));
			if (!laps)
				pop_is(&v, HOLE);
			pop_nothing(&v);
			push(&v, 1000 + laps);
			pop_is(&v, ring_entry(1, 1000 + laps));
			pop_nothing(&v);
		}
	}
}

/* The same with the real kgni_ring_push(), from where it finds the hole. */
static void test_push_meets_hole(void **state)
{
	struct kgni_ring_view v;
	u32 pos;

	(void)state;
	ring_new(&v, 4, 0xfffffffe);
	pos = v.ring->tail;
	v.slots[pos & v.mask] = HOLE;
	v.slots[(pos + 1) & v.mask] = HOLE;
	push(&v, 1);
	assert_int_equal(kgni_ring_count(&v), 3);
	pop_is(&v, HOLE);
	pop_is(&v, HOLE);
	pop_is(&v, ring_entry(1, 1));
	pop_nothing(&v);
	ring_delete(&v);
}

/* All slots taken by holes as fast as they are reserved: dropped, not for ever. */
static void test_push_gives_up(void **state)
{
	struct kgni_ring_view v;
	u32 i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ring_new(&v, sizes[i], 3);
		for (n = 0; n < sizes[i]; n++)
			v.slots[n] = HOLE;
		assert_false(kgni_ring_push(&v, ring_entry(1, 1)));
		pop_overrun(&v);
		for (n = 0; n < sizes[i]; n++)
			pop_is(&v, HOLE);
		pop_nothing(&v);
		push(&v, 2);
		pop_is(&v, ring_entry(1, 2));
		ring_delete(&v);
	}
}

/* What lies in slots that nobody reserved comes out; who pushes then sets the tail right. */
static void test_early(void **state)
{
	struct kgni_ring_view v;
	u32 i, j, n;

	(void)state;
	for_each_ring(&v, i, j) {
		for (n = 0; n < 2 * sizes[i] + 1; n++) {
			v.slots[(starts[j] + n) & v.mask] = ring_entry(9, n);
			pop_is(&v, ring_entry(9, n));
			pop_nothing(&v);
		}
		assert_int_equal(v.ring->tail, starts[j]);
		assert_int_equal(v.ring->head, starts[j] + n);
		assert_int_equal(kgni_ring_count(&v), 0);
		assert_int_equal(kgni_ring_repair(&v, HOLE), 0);
		for (n = 0; n < sizes[i]; n++)
			push(&v, n);
		assert_false(kgni_ring_push(&v, ring_entry(1, n)));
		pop_overrun(&v);
		for (n = 0; n < sizes[i]; n++)
			pop_is(&v, ring_entry(1, n));
		pop_nothing(&v);
		assert_int_equal(v.ring->tail, v.ring->head);
		assert_int_equal(v.ring->overrun, 0);
	}
}

/* A push that meets one there gives its position up and takes the next. */
static void test_early_meets_push(void **state)
{
	struct kgni_ring_view v;
	u32 i, j;

	(void)state;
	for_each_ring(&v, i, j) {
		v.slots[starts[j] & v.mask] = ring_entry(9, 9);
		if (sizes[i] == 1) {
			assert_false(kgni_ring_push(&v, ring_entry(1, 1)));
			pop_overrun(&v);
			pop_is(&v, ring_entry(9, 9));
		} else {
			push(&v, 1);
			pop_is(&v, ring_entry(9, 9));
			pop_is(&v, ring_entry(1, 1));
		}
		pop_nothing(&v);
	}
}

/* With a hint a ring is as large as without, whoever else pushes, and from anywhere. */
static void test_hint(void **state)
{
	struct kgni_ring_hint hint[2];
	struct kgni_ring_view v;
	u64 rng = 99, e;
	u32 i, j, n, in, out;

	(void)state;
	for_each_ring(&v, i, j) {
		hint[0] = KGNI_RING_NO_HINT;
		hint[1] = KGNI_RING_NO_HINT;
		in = 0;
		out = 0;
		for (n = 0; n < 4000; n++) {
			u32 who = unit_below(&rng, 8);
			struct kgni_ring_hint *of = who > 2 ? NULL : &hint[who / 2];

			if (who < 4) {
				assert_int_equal(kgni_ring_push_hinted(&v, ring_entry(1, in), of),
						 in - out < sizes[i]);
				if (in - out < sizes[i])
					in++;
				else
					pop_overrun(&v);
			} else if (in != out) {
				assert_int_equal(kgni_ring_pop(&v, &e), KGNI_RING_ENTRY);
				assert_int_equal(e, ring_entry(1, out++));
			} else {
				pop_nothing(&v);
			}
		}
	}
}

/* A word that is neither an entry nor vacant comes out and leaves a good slot. */
static void test_garbage_slot(void **state)
{
	static const u64 garbage[] = { 1, 3, 0xffffffff, 0x80000000, ~0ULL, 1ULL << 63 };
	struct kgni_ring_view v;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(garbage); i++) {
		ring_new(&v, 2, 4);
		reserve(&v);
		v.slots[0] = garbage[i];
		pop_is(&v, garbage[i]);
		pop_nothing(&v);
		push(&v, 1);
		push(&v, 2);
		pop_is(&v, ring_entry(1, 1));
		pop_is(&v, ring_entry(1, 2));
		pop_nothing(&v);
		ring_delete(&v);
	}
}

/* Puts rubbish into a control word, or now and then into a slot. */
static void scribble(const struct kgni_ring_view *v, u64 *rng)
{
	u32 near = unit_below(rng, 4) - 2 + (unit_below(rng, 2) ? v->mask : 0);

	switch (unit_below(rng, 10)) {
	case 0:
		v->ring->tail = (u32)unit_edge(rng);
		break;
	case 1:
		v->ring->head = (u32)unit_edge(rng);
		break;
	case 2:
		v->ring->tail = v->ring->head + near;
		break;
	case 3:
		v->ring->head = v->ring->tail - near;
		break;
	case 4:
		v->ring->armed = (u32)unit_edge(rng);
		break;
	case 5:
		v->ring->overrun = (u32)unit_edge(rng);
		break;
	case 6:
		v->slots[unit_rand(rng) & v->mask] = unit_edge(rng);
		break;
	case 7:
		v->slots[unit_rand(rng) & v->mask] = kgni_ring_vacant(v, (u32)unit_edge(rng));
		break;
	}
}

/* Hostile words: nothing is touched outside, everything comes back in time. */
static void test_hostile(void **state)
{
	struct kgni_ring_view v;
	u64 rng = 20240, e;
	u32 i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ring_new(&v, sizes[i], 0);
		for (n = 0; n < 60000; n++) {
			scribble(&v, &rng);
			switch (unit_below(&rng, 6)) {
			case 0:
				kgni_ring_push(&v, ring_entry(1, n));
				break;
			case 1:
				kgni_ring_pop(&v, &e);
				break;
			case 2:
				if (unit_below(&rng, sizes[i]) < 8)
					assert_in_range(kgni_ring_repair(&v, HOLE), 0, sizes[i]);
				break;
			case 3:
				kgni_ring_arm(&v);
				assert_true(kgni_ring_disarm(&v));
				break;
			default:
				kgni_ring_ready(&v);
			}
			assert_in_range(kgni_ring_count(&v), 0, sizes[i]);
		}
		ring_delete(&v);
	}
}

/* ready() says what pop() will do, whatever the words are. */
static void test_ready_is_pop(void **state)
{
	struct kgni_ring_view v;
	u64 rng = 4711, e;
	u32 n, seen[2] = { 0 };
	bool ready;

	(void)state;
	ring_new(&v, 4, 0);
	for (n = 0; n < 100000; n++) {
		scribble(&v, &rng);
		if (unit_below(&rng, 2))
			kgni_ring_push(&v, ring_entry(1, n));
		ready = kgni_ring_ready(&v);
		assert_int_equal(ready, kgni_ring_pop(&v, &e) != KGNI_RING_EMPTY);
		seen[ready]++;
	}
	assert_true(seen[0] > 1000 && seen[1] > 1000);
	ring_delete(&v);
}

/* Random pushes, pops, deaths and repairs against a plain queue. */
static void test_against_queue(void **state)
{
	struct kgni_ring_view v;
	u64 rng = 31337, e, queue[8];
	u32 j, n, in, out, holes;
	bool lost;

	(void)state;
	for (j = 0; j < ARRAY_SIZE(starts); j++) {
		ring_new(&v, 8, starts[j]);
		in = 0;
		out = 0;
		holes = 0;
		lost = false;
		for (n = 0; n < 20000; n++) {
			switch (unit_below(&rng, 8)) {
			case 0:
				if (in - out == 8)
					break;
				/* dies */
				queue[in++ % 8] = 0;
				holes++;
				reserve(&v);
				break;
			case 1:
				assert_int_equal(kgni_ring_repair(&v, HOLE), holes);
				for (holes = out; holes != in; holes++)
					if (!queue[holes % 8])
						queue[holes % 8] = HOLE;
				holes = 0;
				break;
			case 2: case 3: case 4:
				e = ring_entry(2, n);
				assert_int_equal(kgni_ring_push(&v, e), in - out < 8);
				if (in - out < 8)
					queue[in++ % 8] = e;
				else
					lost = true;
				break;
			default:
				if (lost)
					pop_overrun(&v);
				else if (in == out || !queue[out % 8])
					pop_nothing(&v);
				else
					pop_is(&v, queue[out++ % 8]);
				lost = false;
			}
			assert_int_equal(kgni_ring_count(&v), in - out);
		}
		assert_true(in > 4000);
		ring_delete(&v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_fill_drain),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_overrun_again),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_repair_nothing),
		cmocka_unit_test(test_slow_producer),
		cmocka_unit_test(test_push_meets_hole),
		cmocka_unit_test(test_push_gives_up),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_early_meets_push),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_garbage_slot),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_ready_is_pop),
		cmocka_unit_test(test_against_queue),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
