// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pacing: kernel/core/pace.h, by flows that are played through with a clock of
 * their own, so that nothing here depends on how fast the machine is.
 */
#include <stdbool.h>
#include "unit.h"
#include "core/pace.h"

#define US		1000ULL
#define MS		1000000ULL
#define SEC		1000000000ULL
#define WORKERS_MAX	4

/* Those who move pieces: how long one takes, and what is between two of them. */
struct play {
	unsigned int workers;
	u64 piece;
	u64 gap;
	u64 late;	/* who waits wakes up as much too late, at most */
};

struct worker {
	u64 at;		/* when it does what comes next */
	bool moves;
};

/* Play for a time. Return: how many pieces were moved. */
static u64 played(struct kgni_pace *p, const struct play *play, u64 begin, u64 length, u64 *rng)
{
	struct worker w[WORKERS_MAX] = { 0 }, *next;
	u64 pieces = 0, until;
	unsigned int i;

	for (i = 0; i < play->workers; i++)
		w[i].at = begin + i;
	for (;;) {
		next = &w[0];
		for (i = 1; i < play->workers; i++)
			if (w[i].at < next->at)
				next = &w[i];
		if (next->at >= begin + length)
			return pieces;
		if (next->moves) {
			kgni_pace_moved(p, next->at);
			next->moves = false;
			next->at += play->gap;
			pieces++;
			continue;
		}
		until = kgni_pace_ask(p, next->at);
		if (until) {
			assert_true(until > next->at);
			next->at = until + (play->late ? unit_below(rng, (u32)play->late) : 0);
		} else {
			next->moves = true;
			next->at += play->piece;
		}
	}
}

/* What was played of what there would be without pacing, in 1/1000. */
static u64 permille(const struct play *play, u32 num, u32 den)
{
	struct kgni_pace p = { 0 };
	u64 length = 20 * SEC, whole, rng = 7;

	whole = play->workers * (length / (play->piece + play->gap));
	kgni_pace_set(&p, num, den);
	return played(&p, play, 1, length, &rng) * 1000 / whole;
}

static void is_share(const struct play *play, u32 num, u32 den)
{
	u64 got = permille(play, num, den), want = 1000ULL * num / den;

	if (got * 100 < want * 96 || got * 100 > want * 104 + 100)
		fail_msg("%u workers, pieces of %lu ns, %lu ns apart, %lu ns late: %u of %u is %lu",
			 play->workers, play->piece, play->gap, play->late, num, den, got);
}

/* The share is that of what the flow does without, whatever it is like. */
static void test_share(void **state)
{
	static const struct play plays[] = {
		{ 1, 43 * US, 1 * US, 0 }, { 1, 43 * US, 1 * US, 100 * US },
		{ 1, 43 * US, 1 * US, 4 * MS }, { 1, 300, 3 * US, 60 * US },
		{ 1, 43 * US, 43 * US, 60 * US }, { 2, 43 * US, 1 * US, 60 * US },
		{ 4, 43 * US, 1 * US, 60 * US }, { 1, 900 * US, 10 * US, 200 * US },
		{ 1, 5 * MS, 10 * US, 1 * MS },
	};
	static const u32 percent[] = { 90, 75, 50, 25, 10, 5 };
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(plays); i++)
		for (j = 0; j < ARRAY_SIZE(percent); j++)
			is_share(&plays[i], percent[j], 100);
	is_share(&plays[0], 496, 992);
	is_share(&plays[0], 99, 992);
	is_share(&plays[1], 1, 100);
}

/* Who moves little does not wait. */
static void test_idle(void **state)
{
	static const struct play play = { 1, 40 * US, 5 * MS, 0 };
	struct kgni_pace p = { 0 };
	u64 rng = 7;

	(void)state;
	kgni_pace_set(&p, 1, 100);
	assert_in_range(played(&p, &play, 1, SEC, &rng), SEC / (play.piece + play.gap),
			SEC / (play.piece + play.gap) + 1);
	assert_in_range(permille(&play, 50, 100), 1000, 1001);
}

/* How far the sums may be from what they are to be, but for the stretch under way. */
static void test_sums(void **state)
{
	static const struct play play = { 2, 43 * US, 1 * US, 3 * MS };
	struct kgni_pace p = { 0 };
	u64 rng = 7, owed;
	u32 num;

	(void)state;
	for (num = 1; num < 100; num++) {
		memset(&p, 0, sizeof(p));
		kgni_pace_set(&p, num, 100);
		played(&p, &play, 1, 5 * SEC, &rng);
		assert_true(p.open_ns > 0);
		owed = p.open_ns * (100 - num) / num;
		/* Never more than the share, and nothing is held that need not be. */
		assert_true(p.closed_ns + SEC / 1000 >= owed);
		assert_true(p.closed_ns - p.late_ns <= owed);
	}
}

/* A gate that was closed is forgotten with the share that closed it. */
static void test_set(void **state)
{
	struct kgni_pace p = { 0 };
	u64 until;

	(void)state;
	kgni_pace_set(&p, 1, 992);
	assert_int_equal(kgni_pace_ask(&p, 100), 0);
	kgni_pace_moved(&p, 100 + MS);
	assert_int_equal(kgni_pace_ask(&p, 100 + MS), 0);
	kgni_pace_moved(&p, 100 + 2 * MS);
	until = kgni_pace_ask(&p, 100 + 2 * MS);
	assert_int_equal(until, 100 + 2 * MS + 2 * MS * 991);
	assert_int_equal(kgni_pace_ask(&p, until - 1), until);
	kgni_pace_set(&p, 99, 100);
	assert_int_equal(kgni_pace_ask(&p, until - 1), 0);
	/* A piece is under way while the share changes. */
	kgni_pace_set(&p, 50, 100);
	assert_int_equal(p.moving, 1);
	kgni_pace_moved(&p, until);
	assert_int_equal(p.moving, 0);
}

/* Having been late is made up for, as far as it may. */
static void test_late(void **state)
{
	struct kgni_pace p = { 0 };
	u64 t = SEC, until;

	(void)state;
	kgni_pace_set(&p, 50, 100);
	assert_int_equal(kgni_pace_ask(&p, t), 0);
	until = kgni_pace_ask(&p, t + 2 * MS);
	assert_int_equal(until, t + 4 * MS);
	/* One millisecond late, so the next time is one shorter. */
	assert_int_equal(kgni_pace_ask(&p, until + MS), 0);
	until = kgni_pace_ask(&p, until + 3 * MS);
	assert_int_equal(until, t + 4 * MS + 3 * MS + MS);
	/* A second late. */
	assert_int_equal(kgni_pace_ask(&p, until + SEC), 0);
	assert_int_equal(p.late, KGNI_PACE_LATE_MAX);
	/* Where nobody waited nobody was late. */
	p.moving = 0;
	p.asked = false;
	t = until + 3 * SEC;
	assert_int_equal(kgni_pace_ask(&p, t), 0);
	assert_int_equal(p.late, 0);
}

/* Who is kept from moving a piece for a second does not keep others for a hundred. */
static void test_stalled(void **state)
{
	struct kgni_pace p = { 0 };
	u64 until;

	(void)state;
	kgni_pace_set(&p, 1, 100);
	assert_int_equal(kgni_pace_ask(&p, SEC), 0);
	until = kgni_pace_ask(&p, 2 * SEC);
	assert_int_equal(until, 2 * SEC + KGNI_PACE_STRETCH_MAX * 99);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
