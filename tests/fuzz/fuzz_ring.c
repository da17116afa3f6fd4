// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion queue ring under attack. Honest parties push, pop and repair;
 * between any two of their accesses to shared memory others get a turn: honest
 * ones, with a whole call of their own, and a hostile one who writes into the
 * ring what it likes, once or at every access for some time.
 *
 * What holds in any case: no access outside of the ring, no loop without end, an
 * entry is taken once for each time that it was put there, and events are lost
 * only with the overrun flag. If the hostile one wrote slots only, every entry
 * whose slot it left alone comes, in order, and the ring is as good as new
 * after a repair and two laps. If it did not write at all, nothing is lost and
 * nothing comes that nobody made.
 */
#include "fuzz.h"
#include "core/core.h"

static void step(void);
static bool slot_exchange(uint64_t *slot, uint64_t old, uint64_t new, uint64_t *seen);

/* A slot has 64 bits, the control words have 32: that tells them apart. */
#define word_exchange(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	old_;								\
})

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
	__typeof__(*(p)) seen_ = 0;					\
									\
	step();								\
	if (sizeof(*(p)) == 8) {					\
		uint64_t wide_ = 0;					\
									\
		slot_exchange((uint64_t *)(p), old, new, &wide_);	\
		seen_ = (__typeof__(*(p)))wide_;			\
	} else {							\
		seen_ = word_exchange(p, old, new);			\
	}								\
	seen_;								\
})

#include "core/ring.h"

#define ENTRIES		4096	/* honest entries that a run may make */
#define MAX_SLOTS	64
#define HOLE		(0xfeULL << 56)
#define MINE		0x5aULL	/* top byte of honest entries */
#define STICKY_MAX	20000
#define DEPTH_MAX	4

/* Accesses that one call may make: the promise that loops are bounded. */
#define PUSH_STEPS	(4 * KGNI_RING_TRIES + 2)
#define POP_STEPS	8
#define CALM_STEPS	5	/* a push that nobody disturbs, full or not */
#define READY_STEPS	4

static struct kgni_ring_view v;
static struct input *input;

/* Something honest that was accepted. */
struct entry {
	u32 pos;
	bool accepted;
	bool touched;		/* its slot, by the hostile one */
	u32 puts;		/* how often somebody put it there */
	u32 pops;
};

static struct entry entries[ENTRIES];

static struct {
	u32 made;
	u32 depth;
	u32 steps;		/* of the innermost call */
	u32 quiet;		/* accesses until the others' turn */
	bool popping;
	bool wrote_slots, wrote_words, wrote_overrun, wrote_armed;
	bool in_pop[MAX_SLOTS];	/* slot was touched while a pop was under way */
	bool pushing;
	u32 pushing_id;
	u32 next_pos;		/* no position before it was popped twice */
	bool popped_any;
	u32 failed, overruns, holes, filled, forged;
	u32 sticky;		/* accesses that the hostile one still writes at */
	u8 sticky_what;
	u64 sticky_value;
} w;

static void act(void);

static u64 make_entry(u32 id)
{
	return MINE << 56 | id;
}

static struct entry *entry_of(u64 e)
{
	u32 id = (u32)e;

	return e >> 32 == MINE << 24 && id < w.made ? &entries[id] : NULL;
}

/* --- hostile ----------------------------------------------------------------------- */

static void touch_slot(u32 i)
{
	struct entry *e = entry_of(v.slots[i]);

	w.wrote_slots = true;
	if (w.popping)
		w.in_pop[i] = true;
	if (e)
		e->touched = true;
}

static void write_slot(u32 i, u64 value)
{
	struct entry *e = entry_of(value);

	touch_slot(i);
	if (value >> 56 == MINE && !e)
		value ^= 1ULL << 56;	/* an entry that is still to come */
	if (e) {
		e->puts++;
		e->touched = true;
	}
	v.slots[i] = value;
}

/* Something that a slot could hold, or nearly. */
static u64 likely_slot(void)
{
	u8 how = input_u8(input);
	u32 by = how >> 3;

	switch (how & 7) {
	case 0:
		return kgni_ring_vacant(&v, v.ring->head + by);
	case 1:
		return kgni_ring_vacant(&v, v.ring->tail + by);
	case 2:
		return kgni_ring_vacant(&v, v.ring->head + by * (v.mask + 1));
	case 3:
		return make_entry(w.made - 1 - by);
	case 4:
		return v.slots[by & v.mask];
	}
	return input_edge(input);
}

static u32 likely_word(void)
{
	u8 how = input_u8(input);
	u32 by = (how >> 3) - 16;

	switch (how & 7) {
	case 0:
		return v.ring->head + by;
	case 1:
		return v.ring->tail + by;
	case 2:
		return v.ring->head + v.mask + by;
	case 3:
		return v.ring->tail - v.mask + by;
	}
	return (u32)input_edge(input);
}

static void write_word(u8 which, u32 value)
{
	switch (which & 3) {
	case 0:
		v.ring->tail = value;
		w.wrote_words = true;
		break;
	case 1:
		v.ring->head = value;
		w.wrote_words = true;
		break;
	case 2:
		v.ring->armed = value;
		w.wrote_armed = true;
		break;
	case 3:
		v.ring->overrun = value;
		w.wrote_overrun = true;
	}
}

static void hostile(u8 what)
{
	if (what & 1)
		write_slot((what >> 1 & 1 ? v.ring->head + (what >> 2) : input_u8(input)) & v.mask,
			   likely_slot());
	else
		write_word(what >> 1, likely_word());
}

/* At every access from now on: what keeps cmpxchg loops going. */
static void begin_sticky(u8 what)
{
	w.sticky = input_u16(input) % STICKY_MAX;
	w.sticky_what = what;
	w.sticky_value = likely_word();
}

static void sticky(void)
{
	u32 i;

	w.sticky--;
	switch (w.sticky_what & 7) {
	case 0:		/* never full */
		write_word(1, v.ring->tail - (w.sticky_value & v.mask));
		break;
	case 1:		/* tail runs away */
		write_word(0, v.ring->tail + w.sticky_value);
		break;
	case 2:		/* no slot is ever free */
		i = v.ring->tail - 1;
		write_slot(i & v.mask, HOLE | i);
		break;
	case 3:		/* never full, and no slot is free */
		write_word(1, v.ring->tail);
		i = v.ring->tail - 1;
		write_slot(i & v.mask, ~0ULL);
		break;
	case 4:		/* now full, now not */
		write_word(0, v.ring->head + (w.sticky & 1 ? v.mask + 1 : 0));
		break;
	case 5:		/* there is always something */
		write_slot(v.ring->head & v.mask, ~0ULL);
		write_word(0, v.ring->head - 1);
		break;
	case 6:
		write_word(3, 1);
		break;
	default:
		write_word(1, v.ring->head - 1);
	}
}

/* --- honest ------------------------------------------------------------------------ */

/* Between two accesses of a call. */
static void step(void)
{
	w.steps++;
	if (w.sticky)
		sticky();
	if (w.quiet) {
		w.quiet--;
		return;
	}
	w.quiet = input_u8(input) & 31;
	if (!input->left || w.depth >= DEPTH_MAX)
		return;
	act();
}

static bool slot_exchange(uint64_t *slot, uint64_t old, uint64_t new, uint64_t *seen)
{
	struct entry *e = entry_of(new);
	u32 i = (u32)(slot - v.slots);

	check(i <= v.mask, "slot %u", i);
	*seen = old;
	if (!__atomic_compare_exchange_n(slot, seen, new, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return false;
	if (e) {
		check(!e->accepted, "an entry was put there twice");
		e->accepted = true;
		e->puts++;
		e->pos = (u32)old | i;
		e->touched |= w.in_pop[i];
	}
	return true;
}

/* The calls: each counts its own accesses, whatever happens in between. */
#define bounded(call, limit)	__extension__({				\
	u32 outer_ = w.steps;						\
	__typeof__(call) got_;						\
									\
	w.steps = 0;							\
	w.depth++;							\
	got_ = (call);							\
	w.depth--;							\
	check(w.steps <= (limit), "%u accesses", w.steps);		\
	w.steps = outer_;						\
	got_;								\
})

/* @limit: accesses that it may take */
static void do_push_within(u32 limit)
{
	u32 id = w.made;
	bool in;

	if (id == ENTRIES)
		return;
	memset(&entries[id], 0, sizeof(entries[id]));
	w.made++;
	in = bounded(kgni_ring_push(&v, make_entry(id)), limit);
	check(in == entries[id].accepted, "says %d", in);
	w.failed += !in;
}

static void do_push(void)
{
	do_push_within(PUSH_STEPS);
}

static void popped(u64 e)
{
	struct entry *mine = entry_of(e);

	if (e == HOLE)
		w.holes++;
	if (!mine) {
		if (e != HOLE)
			w.forged++;
		return;
	}
	mine->pops++;
	check(mine->pops <= mine->puts, "entry %u came %u times", (u32)e, mine->pops);
	if (mine->touched || w.wrote_words)
		return;
	check(!w.popped_any || (s32)(mine->pos - w.next_pos) >= 0, "position %u after %u",
	      mine->pos, w.next_pos);
	w.popped_any = true;
	w.next_pos = mine->pos + 1;
}

static enum kgni_ring_pop do_pop(void)
{
	enum kgni_ring_pop got;
	u64 e = 0;

	if (w.popping)		/* there is one consumer */
		return KGNI_RING_EMPTY;
	w.popping = true;
	memset(w.in_pop, 0, sizeof(w.in_pop));
	got = bounded(kgni_ring_pop(&v, &e), POP_STEPS);
	w.popping = false;
	memset(w.in_pop, 0, sizeof(w.in_pop));
	if (got == KGNI_RING_ENTRY)
		popped(e);
	if (got == KGNI_RING_OVERRUN) {
		w.overruns++;
		check(w.wrote_overrun || w.overruns <= w.failed + w.depth, "%u overruns, %u lost",
		      w.overruns, w.failed);
	}
	return got;
}

static void do_repair(void)
{
	w.filled += bounded(kgni_ring_repair(&v, HOLE), 2 + 2 * (v.mask + 1));
}

static bool do_ready(void)
{
	return bounded(kgni_ring_ready(&v), READY_STEPS);
}

/* Nobody comes between the two: they must agree. */
static void do_ready_pop(void)
{
	u32 quiet = w.quiet, left = w.sticky;
	bool ready;

	if (w.popping)
		return;
	w.quiet = ~0U;
	w.sticky = 0;
	ready = do_ready();
	check(ready == (do_pop() != KGNI_RING_EMPTY), "ready %d", ready);
	w.quiet = quiet;
	w.sticky = left;
}

static void do_count(void)
{
	u32 n = bounded(kgni_ring_count(&v), 2);

	check(n <= v.mask + 1, "%u of %u", n, v.mask + 1);
}

static int arm(void)
{
	kgni_ring_arm(&v);
	return 0;
}

static void do_sleep(void)
{
	u32 quiet = w.quiet, left = w.sticky;
	bool first, second;

	w.quiet = ~0U;
	w.sticky = 0;
	bounded(arm(), 1);
	first = bounded(kgni_ring_disarm(&v), 2);
	second = bounded(kgni_ring_disarm(&v), 2);
	check(first && !second, "disarmed %d, %d", first, second);
	w.quiet = quiet;
	w.sticky = left;
}

static void act(void)
{
	u8 what = input_u8(input);

	switch (what & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
		do_push();
		break;
	case 4:
	case 5:
	case 6:
		do_pop();
		break;
	case 7:
		do_ready_pop();
		break;
	case 8:
		do_count();
		break;
	case 9:
		do_repair();
		break;
	case 10:
		do_sleep();
		break;
	case 11:
		w.quiet = what >> 4 << 4;
		break;
	case 12:
		if (w.sticky)
			w.sticky = 0;
		else
			begin_sticky(what >> 4);
		break;
	default:
		hostile(input_u8(input));
	}
}

/* --- a run ------------------------------------------------------------------------- */

static void begin(u32 slots, u32 pos)
{
	size_t bytes = KGNI_RING_SLOTS_OFFSET + slots * sizeof(u64);
	void *mem = fuzz_memory(64, bytes);
	u32 i;

	memset(&w, 0, sizeof(w));
	kgni_ring_view_init(&v, mem, slots);
	v.ring->tail = pos;
	v.ring->head = pos;
	for (i = 0; i < slots; i++)
		v.slots[(pos + i) & v.mask] = kgni_ring_vacant(&v, pos + i);
	ASAN_POISON_MEMORY_REGION((char *)mem + sizeof(struct kgni_ring),
				  KGNI_RING_SLOTS_OFFSET - sizeof(struct kgni_ring));
}

static void end(void)
{
	ASAN_UNPOISON_MEMORY_REGION(v.ring, KGNI_RING_SLOTS_OFFSET);
	free(v.ring);
}

static void drain(void)
{
	u32 i;

	for (i = 0; i < v.mask + 3; i++)
		if (do_pop() == KGNI_RING_EMPTY)
			return;
	check(w.wrote_words, "more came than there is room for");
}

/* As if new: so many pushes as there are slots, and they come, and no more. */
static void check_new(void)
{
	u32 i, first = w.made;

	for (i = 0; i <= v.mask; i++) {
		do_push_within(CALM_STEPS);
		check(entries[first + i].accepted, "push %u of %u", i, v.mask + 1);
	}
	check(kgni_ring_count(&v) == v.mask + 1, "count");
	do_push_within(CALM_STEPS);
	check(!entries[first + i].accepted && do_pop() == KGNI_RING_OVERRUN, "no overrun");
	for (i = 0; i <= v.mask; i++) {
		check(do_pop() == KGNI_RING_ENTRY, "pop %u of %u", i, v.mask + 1);
		check(entries[first + i].pops == 1, "pop %u is another", i);
	}
	check(do_pop() == KGNI_RING_EMPTY, "not empty");
}

static void settle(void)
{
	bool wild = w.wrote_words, clean = !wild && !w.wrote_slots;
	u32 i, lap;

	w.quiet = ~0U;
	w.sticky = 0;
	do_repair();
	if (wild)
		check(do_ready() == (do_pop() != KGNI_RING_EMPTY), "ready");
	drain();
	if (wild)
		return;
	for (i = 0; i < w.made; i++)
		check(!entries[i].accepted || entries[i].touched || entries[i].pops == 1,
		      "entry %u at %u came %u times", i, entries[i].pos, entries[i].pops);
	/* What was written into slots that nobody reserved led the head past the tail. */
	check(clean ? v.ring->head == v.ring->tail : !kgni_ring_count(&v), "not empty");
	if (clean) {
		check(!w.forged && w.holes == w.filled, "%u forged, %u holes of %u", w.forged,
		      w.holes, w.filled);
		check(w.wrote_overrun || !w.failed == !w.overruns, "%u lost, %u overruns", w.failed,
		      w.overruns);
	}
	if (w.made > ENTRIES - 4 * MAX_SLOTS)
		return;
	/* A slot with garbage costs its place in the next lap. */
	for (lap = 0; lap < 2 && !clean; lap++) {
		for (i = 0; i <= v.mask; i++)
			do_push();
		drain();
	}
	check_new();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u32 slots = 1U << input_below(&in, 7);

	input = &in;
	begin(slots, (u32)input_edge(&in));
	w.quiet = input_u8(&in);
	while (in.left)
		act();
	settle();
	end();
	return 0;
}
