// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion queue ring between threads, and between processes that are
 * killed: nothing lost, nothing twice, nobody asleep beside an entry.
 *
 * Before each cmpxchg and each release, where a preemption hurts most, whoever
 * runs gives the processor away at random; a process may die there.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/core.h"

static void stumble(void);

#undef core_cmpxchg
#undef core_store_release
#define core_store_release(p, v)	(stumble(), __atomic_store_n(p, v, __ATOMIC_RELEASE))
#define core_cmpxchg(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	stumble();							\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	old_;								\
})

#include "unit_ring.h"

#define PRODUCERS	4
#define LIVES		400
#define PATIENCE_MS	30000

static __thread u64 rng;
static __thread bool mortal;

static void stumble(void)
{
	u32 n;

	if (!rng)
		return;
	n = unit_below(&rng, 1024);
	if (n < 16)
		sched_yield();
	else if (n == 16 && mortal)
		raise(SIGKILL);
}

/* Makes this thread or process one that stumbles. */
static void seed(u32 who)
{
	rng = 0x5eed + who;
}

/*
 * What all parties share, in memory that outlives a fork. Counts of the
 * consumer are its own until it is joined.
 */
static struct arena {
	int efd;
	u32 done, stop;		/* for the consumer, for producers that go on and on */
	/* consumer */
	u32 next[LIVES];	/* number that comes next, or is the least to come */
	u32 count[LIVES];
	u32 holes, overruns, sleeps;
	const char *wrong;
	/* producers */
	u32 pushed[LIVES];
	u32 dropped[LIVES];
} *a;

static struct kgni_ring_view ring;
static u32 each;		/* entries a producer makes */
static bool retry;		/* push until it is in */
static u32 (*payload)[20000];	/* plain memory that an entry stands for */

static void wake(void)
{
	u64 one = 1;

	if (write(a->efd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static bool push_and_wake(u64 entry)
{
	bool in = kgni_ring_push(&ring, entry);

	if (kgni_ring_disarm(&ring))
		wake();
	return in;
}

static void wrong(const char *what)
{
	if (!a->wrong)
		a->wrong = what;
}

static void account(u64 e)
{
	u32 who = entry_who(e), n = (u32)e;

	if (e == HOLE) {
		a->holes++;
		return;
	}
	if (e >> 56 != 1 || who >= LIVES) {
		wrong("an entry nobody made");
		return;
	}
	if (retry ? n != a->next[who] : n < a->next[who])
		wrong(n < a->next[who] ? "an entry twice, or out of order" : "an entry is missing");
	a->next[who] = n + 1;
	a->count[who]++;
	if (payload && payload[who][n] != n + who)
		wrong("an entry came before what it stands for");
}

/* Sleeps until woken; false if that took too long. */
static bool doze(void)
{
	struct pollfd p = { .fd = a->efd, .events = POLLIN };
	u64 n;

	kgni_ring_arm(&ring);
	if (kgni_ring_ready(&ring) || __atomic_load_n(&a->done, __ATOMIC_ACQUIRE))
		return true;
	a->sleeps++;
	if (poll(&p, 1, PATIENCE_MS) != 1)
		return false;
	return read(a->efd, &n, sizeof(n)) == sizeof(n);
}

static void consume(void)
{
	bool done;
	u64 e;

	for (;;) {
		done = __atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
		switch (kgni_ring_pop(&ring, &e)) {
		case KGNI_RING_ENTRY:
			account(e);
			break;
		case KGNI_RING_OVERRUN:
			a->overruns++;
			break;
		case KGNI_RING_EMPTY:
			if (done)
				return;
			if (!doze()) {
				wrong("asleep for ever");
				return;
			}
		}
	}
}

static void *consumer_thread(void *arg)
{
	(void)arg;
	seed(999);
	consume();
	return NULL;
}

static void *producer_thread(void *arg)
{
	u32 who = (u32)(uintptr_t)arg, n;

	seed(who);
	for (n = 0; n < each; n++) {
		if (payload)
			payload[who][n] = n + who;
		while (!push_and_wake(ring_entry(who, n))) {
			a->dropped[who]++;
			sched_yield();
			if (!retry)
				goto next;
		}
		a->pushed[who]++;
next:
		;
	}
	return NULL;
}

/* Repairs again and again until it is told to stop. */
static void *repairer_thread(void *arg)
{
	u32 *filled = arg;

	seed(1000);
	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED)) {
		*filled += kgni_ring_repair(&ring, HOLE);
		if (kgni_ring_disarm(&ring))
			wake();
		sched_yield();
	}
	return NULL;
}

static void arena_new(void)
{
	a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(a != MAP_FAILED);
	a->efd = eventfd(0, 0);
	assert_true(a->efd >= 0);
}

static void arena_delete(void)
{
	close(a->efd);
	munmap(a, sizeof(*a));
}

static void finish(pthread_t consumer)
{
	__atomic_store_n(&a->done, 1, __ATOMIC_RELEASE);
	wake();
	pthread_join(consumer, NULL);
	if (a->wrong)
		fail_msg("%s", a->wrong);
	assert_int_equal(kgni_ring_count(&ring), 0);
}

static void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	assert_int_equal(pthread_create(t, NULL, fn, arg), 0);
}

/* Producers and a consumer to the end; and a repairer, if it has a @filled. */
static void run_threads(u32 slots, u32 pos, u32 *filled)
{
	pthread_t producers[PRODUCERS], consumer, repairer;
	uintptr_t i;

	arena_new();
	ring_new(&ring, slots, pos);
	start(&consumer, consumer_thread, NULL);
	if (filled)
		start(&repairer, repairer_thread, filled);
	for (i = 0; i < PRODUCERS; i++)
		start(&producers[i], producer_thread, (void *)i);
	for (i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	if (filled) {
		__atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
		pthread_join(repairer, NULL);
	}
	finish(consumer);
	for (i = 0; i < PRODUCERS; i++)
		assert_int_equal(a->count[i], a->pushed[i]);
	ring_delete(&ring);
}

static u32 all_dropped(void)
{
	u32 i, n = 0;

	for (i = 0; i < PRODUCERS; i++)
		n += a->dropped[i];
	return n;
}

/* A ring with room for everything loses nothing. */
static void test_roomy(void **state)
{
	(void)state;
	each = 20000;
	retry = true;
	payload = calloc(PRODUCERS, sizeof(*payload));
	run_threads(1 << 17, 0xffff8000, NULL);
	free(payload);
	payload = NULL;
	assert_int_equal(all_dropped(), 0);
	assert_int_equal(a->overruns, 0);
	assert_int_equal(a->holes, 0);
	arena_delete();
}

/* A small one loses what it said it lost, and says so to the consumer. */
static void test_overruns(void **state)
{
	static const u32 sizes[] = { 1, 4, 32 };
	u32 i;

	(void)state;
	each = 10000;
	retry = false;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		run_threads(sizes[i], 0xfffffff0, NULL);
		assert_true(all_dropped() > 0);
		assert_in_range(a->overruns, 1, all_dropped());
		assert_int_equal(a->holes, 0);
		arena_delete();
	}
}

/* Repairs that hit the living cost holes, and only that. */
static void test_repair_living(void **state)
{
	static const u32 sizes[] = { 1, 2, 8, 1024 };
	u32 i, filled, total = 0;

	(void)state;
	each = 8000;
	retry = true;
	payload = calloc(PRODUCERS, sizeof(*payload));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		filled = 0;
		run_threads(sizes[i], 0xfffffff0, &filled);
		assert_int_equal(a->holes, filled);
		total += filled;
		arena_delete();
	}
	free(payload);
	payload = NULL;
	assert_true(total > 0);
}

/* Pushes one entry, waits until it is taken, and so on. */
static void *polite_thread(void *arg)
{
	u32 who = (u32)(uintptr_t)arg, n;

	seed(who);
	for (n = 0; n < each; n++) {
		if (!push_and_wake(ring_entry(who, n)))
			abort();
		a->pushed[who]++;
		while (__atomic_load_n(&a->next[who], __ATOMIC_RELAXED) != n + 1 &&
		       !__atomic_load_n(&a->wrong, __ATOMIC_RELAXED))
			sched_yield();
	}
	return NULL;
}

/*
 * The consumer falls asleep all the time, and each entry is the only one that
 * could wake it.
 */
static void *drowsy_thread(void *arg)
{
	u32 n = 0;
	u64 e;

	(void)arg;
	seed(998);
	while (n < 2 * each) {
		if (kgni_ring_pop(&ring, &e) == KGNI_RING_ENTRY) {
			__atomic_store_n(&a->next[entry_who(e)], (u32)e + 1, __ATOMIC_RELAXED);
			n++;
		} else if (!doze()) {
			__atomic_store_n(&a->wrong, "asleep for ever", __ATOMIC_RELAXED);
			break;
		}
	}
	return NULL;
}

static void test_wakeups(void **state)
{
	pthread_t consumer, producers[2];
	uintptr_t i;

	(void)state;
	each = 15000;
	arena_new();
	ring_new(&ring, 2, 0);
	start(&consumer, drowsy_thread, NULL);
	for (i = 0; i < 2; i++)
		start(&producers[i], polite_thread, (void *)i);
	for (i = 0; i < 2; i++)
		pthread_join(producers[i], NULL);
	finish(consumer);
	assert_true(a->sleeps > each / 50);
	ring_delete(&ring);
	arena_delete();
}

/* Writes rubbish all over the ring while others work on it. */
static void *hostile_thread(void *arg)
{
	struct kgni_ring *r = ring.ring;
	u32 *rounds = arg;

	seed(1001);
	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED)) {
		u64 word = unit_edge(&rng);
		u32 i = unit_below(&rng, ring.mask + 1);

		core_store(&r->tail, core_load(&r->head) + (u32)(word & 15));
		if (word & 16)
			core_store(&r->tail, (u32)word);
		if (word & 32)
			core_store(&r->head, (u32)word);
		core_store(&r->overrun, (u32)word & 1);
		core_store(&r->armed, (u32)word & 1);
		core_store(&ring.slots[i], word & 64 ? word : kgni_ring_vacant(&ring, (u32)word));
		__atomic_fetch_add(rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_hostile(void **state)
{
	pthread_t hostile;
	u32 n, rounds = 0;
	u64 e;

	(void)state;
	arena_new();
	ring_new(&ring, 8, 0);
	start(&hostile, hostile_thread, &rounds);
	for (n = 0; n < 40000 || __atomic_load_n(&rounds, __ATOMIC_RELAXED) < 40000; n++) {
		kgni_ring_push(&ring, ring_entry(1, n));
		kgni_ring_disarm(&ring);
		kgni_ring_pop(&ring, &e);
		kgni_ring_ready(&ring);
		assert_in_range(kgni_ring_count(&ring), 0, 8);
		assert_in_range(kgni_ring_repair(&ring, HOLE), 0, 8);
	}
	__atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
	pthread_join(hostile, NULL);
	ring_delete(&ring);
	arena_delete();
}

/*
 * Processes. Each producer has a number of its own, so what it managed to push
 * is known; the last entry of one that was killed may have gone out or not.
 */
static pid_t child(void (*run)(u32), u32 who, bool dies)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		seed(who);
		mortal = dies;
		run(who);
		_exit(0);
	}
	return pid;
}

static void consumer_process(u32 who)
{
	(void)who;
	consume();
}

static void producer_process(u32 who)
{
	u32 n;

	for (n = 0; !__atomic_load_n(&a->stop, __ATOMIC_RELAXED); n++) {
		while (!push_and_wake(ring_entry(who, n)))
			sched_yield();
		__atomic_store_n(&a->pushed[who], n + 1, __ATOMIC_RELAXED);
	}
}

static bool killed[LIVES];

/* Every second one kills itself in mid-push, soon; the others wait for it. */
static void birth(pid_t *pids, u32 *whos, u32 i, u32 *lives)
{
	whos[i] = (*lives)++;
	pids[i] = child(producer_process, whos[i], whos[i] & 1);
}

static u32 bury(pid_t pid, int status, const pid_t *pids, const u32 *whos)
{
	u32 i, filled;

	for (i = 0; i < PRODUCERS && pids[i] != pid; i++)
		;
	if (i == PRODUCERS)
		fail_msg("the consumer ended early");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("a producer ended with status %x", status);
	killed[whos[i]] = true;
	filled = kgni_ring_repair(&ring, HOLE);
	wake();		/* the dead may have been about to */
	return filled;
}

static void run_processes(u32 slots, u32 max_lives, u32 *filled)
{
	pid_t pids[PRODUCERS], consumer, pid;
	u32 whos[PRODUCERS], i, lives = 0;
	u64 dice = slots;
	int status;

	consumer = child(consumer_process, 1000, false);
	for (i = 0; i < PRODUCERS; i++)
		birth(pids, whos, i, &lives);
	while (lives < max_lives) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			*filled += bury(pid, status, pids, whos);
			for (i = 0; pids[i] != pid; i++)
				;
			birth(pids, whos, i, &lives);
			continue;
		}
		usleep(unit_below(&dice, 700));
		kill(pids[unit_below(&dice, PRODUCERS)], SIGKILL);
	}
	__atomic_store_n(&a->stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < PRODUCERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		if (status)
			*filled += bury(pids[i], status, pids, whos);
	}
	__atomic_store_n(&a->done, 1, __ATOMIC_RELEASE);
	wake();
	assert_int_equal(waitpid(consumer, &status, 0), consumer);
	assert_int_equal(status, 0);
}

static void test_killed(void **state)
{
	static const u32 sizes[] = { 1, 2, 16, 256 };
	u32 i, who, filled, total = 0, events = 0;
	void *mem;

	(void)state;
	retry = true;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		arena_new();
		memset(killed, 0, sizeof(killed));
		mem = mmap(NULL, ring_bytes(sizes[i]), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_true(mem != MAP_FAILED);
		ring_start(&ring, mem, sizes[i], 0xffffff00);
		filled = 0;
		run_processes(sizes[i], LIVES / 2, &filled);
		if (a->wrong)
			fail_msg("%s", a->wrong);
		assert_int_equal(a->holes, filled);
		for (who = 0; who < LIVES; who++) {
			assert_in_range(a->count[who], a->pushed[who],
					a->pushed[who] + killed[who]);
			events += a->count[who];
		}
		assert_int_equal(kgni_ring_count(&ring), 0);
		total += filled;
		munmap(mem, ring_bytes(sizes[i]));
		arena_delete();
	}
	if (getenv("V"))
		print_message("# %u holes in %u events\n", total, events);
	assert_true(total > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: it forks, so there must be no other thread. */
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_roomy),
		cmocka_unit_test(test_overruns),
		cmocka_unit_test(test_repair_living),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests_name("ring between threads", tests, NULL, NULL);
}
