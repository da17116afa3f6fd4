// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic memory operations of eight threads on the same words, beside atomic
 * instructions of the processor: whatever the order, the outcome is exact.
 */
#include <pthread.h>
#include "unit.h"
#include "core/amo.h"

#define THREADS	8
#define ROUNDS	60000

static struct job {
	u8 size;
	/* The guards must not change. */
	u64 guard0, word, guard1;
} job;

static struct mine {
	pthread_t thread;
	u64 got[ROUNDS];
	u32 wins;
	const char *wrong;
} mine[THREADS];

static u64 amo(enum kgni_amo_op op, void *word, u64 a, u64 b)
{
	struct kgni_amo amo = { .op = op, .size = job.size, .fetch = true };

	return kgni_amo_exec(&amo, word, a, b);
}

static void wrong(u32 me, const char *what)
{
	mine[me].wrong = what;
}

/* Nobody starts before all can. */
static pthread_barrier_t barrier;

/* Thread @me's share of the bits of a word, an equal one each. */
static u64 field(u32 me)
{
	u32 width = job.size * 8 / THREADS;

	return ((1ULL << width) - 1) << (width * me);
}

static void *(*body)(void *arg);

static void *begin(void *arg)
{
	pthread_barrier_wait(&barrier);
	return body(arg);
}

static void run(void *(*fn)(void *), u8 size, u64 start)
{
	uintptr_t i;

	memset(mine, 0, sizeof(mine));
	job.size = size;
	job.guard0 = 0x0123456789abcdef;
	job.guard1 = ~job.guard0;
	job.word = start;
	body = fn;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&mine[i].thread, NULL, begin, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(mine[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
	for (i = 0; i < THREADS; i++)
		if (mine[i].wrong)
			fail_msg("%s", mine[i].wrong);
	assert_int_equal(job.guard0, 0x0123456789abcdef);
	assert_int_equal(job.guard1, ~job.guard0);
}

/* As run() with 4-byte words, whose upper neighbour must not change. */
static void run32(void *(*fn)(void *), u64 start)
{
	run(fn, 4, start);
	assert_int_equal(job.word >> 32, start >> 32);
}

/* Half of them with the processor's own instruction. */
static void *adder(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;

	for (n = 0; n < ROUNDS; n++) {
		if (me & 1)
			amo(KGNI_AMO_ADD, &job.word, me + 1, 0);
		else if (job.size == 4)
			__atomic_fetch_add((u32 *)&job.word, me + 1, __ATOMIC_RELAXED);
		else
			__atomic_fetch_add(&job.word, me + 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_add(void **state)
{
	u64 total = (u64)ROUNDS * THREADS * (THREADS + 1) / 2;

	(void)state;
	run(adder, 8, 0xfffffff0);
	assert_int_equal(job.word, 0xfffffff0 + total);
	/* The upper half is a neighbour that takes no carry. */
	run32(adder, 0xabcd0000fffffff0);
	assert_int_equal((u32)job.word, (u32)(0xfffffff0 + total));
}

/* Compare and swap as everyone uses it: a loop that counts. */
static void *counter(void *arg)
{
	u32 me = (u32)(uintptr_t)arg;
	u64 seen = 0, got;

	while (mine[me].wins < ROUNDS / 4) {
		got = amo(KGNI_AMO_CSWAP, &job.word, seen, seen + 1);
		if (got == seen)
			mine[me].wins++;
		seen = got == seen ? got + 1 : got;
		if (me & 1)
			continue;
		/* and the processor's */
		if (job.size == 4) {
			u32 s = (u32)seen;

			mine[me].wins += __atomic_compare_exchange_n((u32 *)&job.word, &s, s + 1,
								     false, __ATOMIC_RELAXED,
								     __ATOMIC_RELAXED);
		} else {
			u64 s = seen;

			mine[me].wins += __atomic_compare_exchange_n(&job.word, &s, s + 1, false,
								     __ATOMIC_RELAXED,
								     __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void test_cswap(void **state)
{
	u64 total;
	u32 i;
	u8 size;

	(void)state;
	for (size = 4; size <= 8; size += 4) {
		run(counter, size, 0);
		total = 0;
		for (i = 0; i < THREADS; i++)
			total += mine[i].wins;
		assert_int_equal(job.word, total);
	}
}

/* Everyone swaps its own tokens in: each comes out once, or lies there at last. */
static void *swapper(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;

	for (n = 0; n < ROUNDS; n++)
		mine[me].got[n] = amo(KGNI_AMO_SWAP, &job.word, me * ROUNDS + n, 0);
	return NULL;
}

static void test_swap(void **state)
{
	static u8 seen[THREADS * ROUNDS + 1];
	u32 i, n;
	u8 size;

	(void)state;
	for (size = 4; size <= 8; size += 4) {
		memset(seen, 0, sizeof(seen));
		run(swapper, size, THREADS * ROUNDS);
		seen[(u32)job.word]++;
		for (i = 0; i < THREADS; i++)
			for (n = 0; n < ROUNDS; n++) {
				assert_in_range(mine[i].got[n], 0, THREADS * ROUNDS);
				seen[mine[i].got[n]]++;
			}
		for (i = 0; i < sizeof(seen); i++)
			assert_int_equal(seen[i], 1);
	}
}

/* Each owns some bits: what it left there it finds there. */
static void *bits(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;
	u64 f = field(me), rng = me, expect = 0, v, got;

	for (n = 0; n < ROUNDS; n++) {
		v = unit_rand(&rng);
		switch (n % 4) {
		case 0:
			got = amo(KGNI_AMO_OR, &job.word, v & f, 0);
			v = expect | (v & f);
			break;
		case 1:
			got = amo(KGNI_AMO_AND, &job.word, v | ~f, 0);
			v = expect & v;
			break;
		case 2:
			got = amo(KGNI_AMO_XOR, &job.word, v & f, 0);
			v = expect ^ (v & f);
			break;
		default:
			got = amo(KGNI_AMO_AX, &job.word, ~f, v & f);
			v &= f;
		}
		if ((got & f) != expect)
			wrong(me, "bits of one thread changed by another");
		expect = v;
	}
	/* Leave all of them set. */
	amo(KGNI_AMO_OR, &job.word, f, 0);
	return NULL;
}

static void test_bits(void **state)
{
	(void)state;
	run(bits, 8, 0);
	assert_int_equal(job.word, ~0ULL);
	run32(bits, 0x5555555500000000);
	assert_int_equal(job.word, 0x55555555ffffffff);
}

/* A minimum only ever falls, a maximum rises, and the last one stands. */
static s64 value(u32 me, u32 n)
{
	u64 rng = me * ROUNDS + n;

	return (s64)(unit_rand(&rng) % 2000001) - 1000000;
}

static s64 widen(u64 v)
{
	return job.size == 4 ? (s32)(u32)v : (s64)v;
}

static void *lowest(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;
	s64 last = INT64_MAX, got;

	for (n = 0; n < ROUNDS; n++) {
		got = widen(amo(KGNI_AMO_MIN, &job.word, (u64)value(me, n), 0));
		if (got > last)
			wrong(me, "a minimum rose");
		last = got < value(me, n) ? got : value(me, n);
	}
	return NULL;
}

static void *highest(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;
	s64 last = INT64_MIN, got;

	for (n = 0; n < ROUNDS; n++) {
		got = widen(amo(KGNI_AMO_MAX, &job.word, (u64)value(me, n), 0));
		if (got < last)
			wrong(me, "a maximum fell");
		last = got > value(me, n) ? got : value(me, n);
	}
	return NULL;
}

static void test_min_max(void **state)
{
	s64 lo = INT64_MAX, hi = INT64_MIN;
	u32 i, n;
	u8 size;

	(void)state;
	for (i = 0; i < THREADS; i++)
		for (n = 0; n < ROUNDS; n++) {
			lo = value(i, n) < lo ? value(i, n) : lo;
			hi = value(i, n) > hi ? value(i, n) : hi;
		}
	for (size = 4; size <= 8; size += 4) {
		run(lowest, size, 0x7fffffff);
		assert_int_equal(widen(job.word), lo);
		run(highest, size, size == 4 ? 0x80000000 : 1ULL << 63);
		assert_int_equal(widen(job.word), hi);
	}
}

/* Two words in one quadword, each with its own threads. */
static void *halves(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;
	u32 *half = (u32 *)&job.word + (me & 1);

	for (n = 0; n < ROUNDS; n++)
		amo(KGNI_AMO_ADD, half, 0x10001, 0);
	return NULL;
}

static void test_halves(void **state)
{
	u32 want = (u32)(0x10001ULL * ROUNDS * THREADS / 2);
	u32 half[2];

	(void)state;
	run(halves, 4, 0);
	memcpy(half, &job.word, sizeof(half));
	assert_int_equal(half[0], want);
	assert_int_equal(half[1], want);
}

/*
 * An operation orders what is around it: a lock made of them protects. What it
 * protects has its address taken, since gcc keeps a static variable that has
 * not in a register, across functions with atomic operations in them.
 */
static u32 *plain;

static void *locker(void *arg)
{
	u32 me = (u32)(uintptr_t)arg, n;

	for (n = 0; n < ROUNDS / 50; n++) {
		while (amo(KGNI_AMO_CSWAP, &job.word, 0, me + 1))
			sched_yield();
		(*plain)++;
		if (amo(KGNI_AMO_SWAP, &job.word, 0, 0) != me + 1)
			wrong(me, "a lock with two holders");
	}
	return NULL;
}

static void test_lock(void **state)
{
	u32 count;
	u8 size;

	(void)state;
	plain = &count;
	for (size = 4; size <= 8; size += 4) {
		count = 0;
		run(locker, size, 0);
		assert_int_equal(count, ROUNDS / 50 * THREADS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_cswap),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_min_max),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_lock),
	};

	return cmocka_run_group_tests_name("atomic memory operations between threads", tests,
					   NULL, NULL);
}
