// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion queue ring under every schedule: producers, consumer and
 * repairer are coroutines that give way before each access to a shared word,
 * and a search without memory runs them in every order with at most so many
 * preemptions, killing one producer at each of its steps in turn. What it
 * cannot show is what weakly ordered memory does; the _mt test runs on that.
 * UNIT_DEPTH=n in the environment allows n preemptions more: minutes.
 */
#include <ucontext.h>
#include "core/core.h"

static void step(void);

#undef core_load
#undef core_store
#undef core_load_acquire
#undef core_store_release
#undef core_cmpxchg
#undef core_xchg
#define core_load(p)			(step(), __atomic_load_n(p, __ATOMIC_SEQ_CST))
#define core_store(p, v)		(step(), __atomic_store_n(p, v, __ATOMIC_SEQ_CST))
#define core_load_acquire(p)		core_load(p)
#define core_store_release(p, v)	core_store(p, v)
#define core_xchg(p, v)			(step(), __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST))
#define core_cmpxchg(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	step();								\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	old_;								\
})

#include "core/ring.h"
#include "unit_ring.h"

#define MAX_TASKS	4
#define MAX_ENTRIES	8
#define MAX_DEPTH	512
#define STACK		(64 << 10)

enum kind { END, PUSH, VICTIM, POP, SLEEPY, REPAIR };

struct task {
	enum kind kind;
	u32 n;		/* entries to push or to look for, times to repair */
};

static const struct scene {
	const char *name;
	u32 slots;
	u32 prefill;
	u32 preempt;
	bool roomy;	/* no push may fail */
	struct task tasks[MAX_TASKS];
} scenes[] = {
	{ "three producers", 4, 0, 3, true, { { PUSH, 1 }, { PUSH, 1 }, { PUSH, 1 } } },
	{ "two producers, consumer", 4, 0, 2, true, { { PUSH, 2 }, { PUSH, 1 }, { POP, 4 } } },
	{ "one slot", 1, 0, 3, false, { { PUSH, 2 }, { PUSH, 1 }, { POP, 5 } } },
	{ "full ring", 2, 2, 2, false, { { PUSH, 2 }, { PUSH, 1 }, { POP, 3 } } },
	{ "repair of the living", 4, 0, 2, false,
	  { { PUSH, 1 }, { PUSH, 1 }, { REPAIR, 1 }, { POP, 3 } } },
	{ "repair, one slot", 1, 0, 3, false,
	  { { PUSH, 2 }, { REPAIR, 1 }, { POP, 4 } } },
	{ "repair, full ring", 2, 2, 3, false,
	  { { PUSH, 1 }, { REPAIR, 1 }, { POP, 3 } } },
	{ "two repairs", 1, 1, 2, false,
	  { { PUSH, 1 }, { REPAIR, 1 }, { REPAIR, 1 }, { POP, 3 } } },
	{ "a death", 2, 0, 2, false,
	  { { VICTIM, 1 }, { PUSH, 1 }, { REPAIR, 1 }, { POP, 3 } } },
	{ "a death, one slot", 1, 0, 2, false,
	  { { VICTIM, 1 }, { PUSH, 1 }, { REPAIR, 1 }, { POP, 3 } } },
	{ "a death after a push", 1, 0, 1, false,
	  { { VICTIM, 2 }, { PUSH, 1 }, { REPAIR, 1 }, { POP, 4 } } },
	{ "a sleeper", 2, 0, 3, true, { { PUSH, 1 }, { PUSH, 1 }, { SLEEPY, 2 } } },
	{ "a sleeper, one slot", 1, 0, 2, false, { { PUSH, 1 }, { PUSH, 1 }, { SLEEPY, 1 } } },
	{ "a sleeper and a repair", 2, 0, 3, false,
	  { { PUSH, 1 }, { SLEEPY, 1 }, { REPAIR, 1 } } },
};

static struct fiber {
	ucontext_t uc;
	char *stack;
	bool done;
} fibers[MAX_TASKS];

static struct world {
	const struct scene *scene;
	struct kgni_ring_view v;
	u32 steps_left;			/* of the victim */
	bool dead;
	bool asleep, woken;
	u32 filled, holes, overruns, dropped;
	struct kgni_ring_hint hint[MAX_TASKS + 1];
	u8 pushed[MAX_TASKS + 1][MAX_ENTRIES];
	u8 popped[MAX_TASKS + 1][MAX_ENTRIES];
	u32 last[MAX_TASKS + 1];
	const char *wrong;
} w;

static struct search {
	u8 choice[MAX_DEPTH], width[MAX_DEPTH];
	u32 depth, known;
	u32 preempt;
	bool killed;		/* some schedule let the victim die halfway */
} s;

static ucontext_t scheduler;
static int running = -1;

static void step(void)
{
	if (running >= 0)
		swapcontext(&fibers[running].uc, &scheduler);
}

static void wrong(const char *what)
{
	if (!w.wrong)
		w.wrong = what;
}

static void do_push(u32 who, u32 n)
{
	if (kgni_ring_push_hinted(&w.v, ring_entry(who, n), &w.hint[who]))
		w.pushed[who][n] = 1;
	else
		w.dropped++;
	if (kgni_ring_disarm(&w.v))
		w.woken = true;
}

static enum kgni_ring_pop do_pop(void)
{
	u64 e = 0;
	enum kgni_ring_pop got = kgni_ring_pop(&w.v, &e);
	u32 who = entry_who(e), n = (u32)e;

	if (got == KGNI_RING_OVERRUN)
		w.overruns++;
	if (got != KGNI_RING_ENTRY)
		return got;
	if (e == HOLE) {
		w.holes++;
	} else if (e >> 56 != 1 || who > MAX_TASKS || n >= MAX_ENTRIES) {
		wrong("an entry nobody made");
	} else {
		if (w.popped[who][n]++)
			wrong("an entry came twice");
		if (n < w.last[who])
			wrong("entries of one producer out of order");
		w.last[who] = n;
	}
	return got;
}

static void do_sleepy(u32 n)
{
	while (n) {
		if (do_pop() == KGNI_RING_ENTRY) {
			n--;
			continue;
		}
		w.woken = false;
		kgni_ring_arm(&w.v);
		if (kgni_ring_ready(&w.v))
			continue;
		w.asleep = true;
		step();
		w.asleep = false;
	}
}

static void fiber_main(void)
{
	u32 me = (u32)running, i;
	const struct task *t = &w.scene->tasks[me];

	for (i = 0; i < t->n; i++) {
		switch (t->kind) {
		case PUSH:
		case VICTIM:
			do_push(me, i);
			break;
		case POP:
			do_pop();
			break;
		case SLEEPY:
			do_sleepy(t->n);
			i = t->n;
			break;
		case REPAIR:
			w.filled += kgni_ring_repair(&w.v, HOLE);
			w.woken = true;
			break;
		case END:
			break;
		}
	}
	fibers[me].done = true;
	setcontext(&scheduler);
}

static void fiber_start(u32 i)
{
	struct fiber *f = &fibers[i];

	getcontext(&f->uc);
	f->uc.uc_stack.ss_sp = f->stack;
	f->uc.uc_stack.ss_size = STACK;
	makecontext(&f->uc, fiber_main, 0);
	f->done = w.scene->tasks[i].kind == END;
}

static bool can_run(u32 i)
{
	switch (w.scene->tasks[i].kind) {
	case VICTIM:
		return !fibers[i].done && !w.dead;
	case REPAIR:
		/* After the death, if there is one to wait for. */
		return !fibers[i].done && (w.dead || w.scene->tasks[0].kind != VICTIM);
	case SLEEPY:
		return !fibers[i].done && (!w.asleep || w.woken);
	default:
		return !fibers[i].done;
	}
}

/* Which of @width ways to go on: as the search says, or the first of them. */
static u32 choose(u32 width)
{
	if (width == 1)
		return 0;
	if (s.depth >= MAX_DEPTH) {
		wrong("the test's own search is too deep");
		return 0;
	}
	if (s.depth >= s.known) {
		s.choice[s.depth] = 0;
		s.width[s.depth] = (u8)width;
		s.known = s.depth + 1;
	}
	return s.choice[s.depth++];
}

/* Lets the victim die where its steps are used up, if it got that far. */
static void end_of_victim(u32 i)
{
	if (w.scene->tasks[i].kind != VICTIM)
		return;
	if (!fibers[i].done && w.steps_left--)
		return;
	w.dead = true;
	s.killed |= !fibers[i].done;
}

static void run_tasks(void)
{
	u32 ready[MAX_TASKS], n, i, preempted = 0;
	int last = -1;

	for (;;) {
		n = 0;
		if (last >= 0 && can_run((u32)last))
			ready[n++] = (u32)last;
		for (i = 0; i < MAX_TASKS; i++)
			if ((int)i != last && can_run(i))
				ready[n++] = i;
		if (!n)
			return;
		if (last >= 0 && ready[0] == (u32)last && preempted == s.preempt)
			n = 1;
		i = choose(n);
		if (i && last >= 0 && ready[0] == (u32)last)
			preempted++;
		last = (int)ready[i];
		running = last;
		swapcontext(&scheduler, &fibers[last].uc);
		running = -1;
		end_of_victim((u32)last);
	}
}

/* Everything is over: what must have come of it. */
static void verdict(void)
{
	const struct scene *sc = w.scene;
	bool victim = sc->tasks[0].kind == VICTIM;
	u32 i, n;

	if (w.asleep && kgni_ring_ready(&w.v))
		wrong("a sleeper was not woken");
	for (n = 0; do_pop() != KGNI_RING_EMPTY; n++)
		if (n > 64)
			wrong("the ring never gets empty");
	if (kgni_ring_count(&w.v))
		wrong("the consumer is stuck for ever");
	for (i = 0; i <= MAX_TASKS; i++)
		for (n = 0; n < MAX_ENTRIES; n++)
			if (w.popped[i][n] > w.pushed[i][n] ? !victim || i :
			    w.popped[i][n] < w.pushed[i][n])
				wrong("what was pushed is not what came");
	if (w.holes != w.filled)
		wrong("holes filled are not holes found");
	if (sc->roomy && w.dropped)
		wrong("a push failed though there was room");
	if (w.dropped ? w.overruns > w.dropped || (!w.overruns && !victim) : w.overruns && !victim)
		wrong("drops and overruns do not match");
	/* And the ring works as new. */
	if (kgni_ring_ready(&w.v))
		wrong("an empty ring that is not");
	memset(w.last, 0, sizeof(w.last));
	memset(w.popped, 0, sizeof(w.popped));
	for (i = 0; i < sc->slots; i++)
		if (!kgni_ring_push(&w.v, ring_entry(0, i)))
			wrong("no room for as much as the ring holds");
	if (kgni_ring_push(&w.v, ring_entry(1, 0)))
		wrong("more room than the ring has");
	if (do_pop() != KGNI_RING_OVERRUN)
		wrong("no overrun");
	for (i = 0; i < sc->slots; i++)
		if (do_pop() != KGNI_RING_ENTRY || !w.popped[0][i])
			wrong("not what was put in last");
	if (do_pop() != KGNI_RING_EMPTY)
		wrong("more than was put in last");
}

static void run_once(const struct scene *sc, const struct kgni_ring_view *v, u32 die_after)
{
	u32 i, start = 0U - 1;

	memset(&w, 0, sizeof(w));
	w.scene = sc;
	w.steps_left = die_after;
	memset(v->ring, 0, sizeof(*v->ring));
	ring_start(&w.v, v->ring, sc->slots, start);
	for (i = 0; i <= MAX_TASKS; i++)
		w.hint[i] = KGNI_RING_NO_HINT;
	for (i = 0; i < sc->prefill; i++)
		do_push(MAX_TASKS, i);
	for (i = 0; i < MAX_TASKS; i++)
		fiber_start(i);
	s.depth = 0;
	run_tasks();
	verdict();
}

/* Moves on to the next schedule; false if that was the last. */
static bool next_schedule(void)
{
	while (s.known && s.choice[s.known - 1] + 1 == s.width[s.known - 1])
		s.known--;
	if (!s.known)
		return false;
	s.choice[s.known - 1]++;
	return true;
}

static u32 search(const struct scene *sc, const struct kgni_ring_view *v, u32 die_after)
{
	u32 runs = 0;

	s.known = 0;
	s.preempt = sc->preempt + (getenv("UNIT_DEPTH") ? atoi(getenv("UNIT_DEPTH")) : 0);
	s.killed = false;
	do {
		run_once(sc, v, die_after);
		runs++;
		if (w.wrong)
			fail_msg("%s, schedule %u, death after %u steps: %s", sc->name, runs,
				 die_after, w.wrong);
	} while (next_schedule());
	return runs;
}

static void test_scene(void **state)
{
	const struct scene *sc = *state;
	struct kgni_ring_view v;
	u32 runs = 0, after = 0;

	ring_new(&v, sc->slots, 0);
	do {
		runs += search(sc, &v, after++);
	} while (s.killed);
	ring_delete(&v);
	if (getenv("V"))
		print_message("# %s: %u schedules\n", sc->name, runs);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(scenes)] = { 0 };
	size_t i;

	for (i = 0; i < MAX_TASKS; i++) {
		fibers[i].stack = malloc(STACK);
		if (!fibers[i].stack)
			return 1;
	}
	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		tests[i].name = scenes[i].name;
		tests[i].test_func = test_scene;
		tests[i].initial_state = (void *)&scenes[i];
	}
	return cmocka_run_group_tests_name("ring, every schedule", tests, NULL, NULL);
}
