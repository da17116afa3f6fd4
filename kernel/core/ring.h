/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The completion queue protocol: many producers, one consumer, kernel and user
 * space alike. The shared words are struct kgni_ring of uapi/gni/ring.h.
 *
 * Nothing in the ring is trusted: positions are masked before use, each shared
 * word is read once, and every loop is bounded. The worst that a hostile
 * partner can do is to lose or fake events of this ring.
 *
 * A free slot holds the first position of the lap that it is free for, so who
 * was overtaken by a lap, or by a repair, finds another value there and its
 * cmpxchg fails.
 *
 * Barriers, and what each talks to:
 *  (A) the producer's cmpxchg on the slot publishes what it wrote before
 *      (data in the target's memory) to (B), the consumer's acquire load.
 *  (C) the consumer's release store of head gives the slot, freed, back to
 *      (D), the producers' acquire load of head.
 *  (E) the full barrier after publishing, which (A) is, and (F), the
 *      one after arming: either the producer sees armed, or the consumer sees
 *      the entry.
 */
#ifndef _KGNI_CORE_RING_H
#define _KGNI_CORE_RING_H

#include "core.h"
#include <gni/ring.h>

/* A producer that lost this many races gives up and counts as overrun. */
#define KGNI_RING_TRIES		4096

enum kgni_ring_pop {
	KGNI_RING_EMPTY,	/* nothing there */
	KGNI_RING_ENTRY,	/* an entry was taken */
	KGNI_RING_OVERRUN,	/* events were lost since the last call */
};

/**
 * struct kgni_ring_view - one party's own view of a ring
 * @ring: the shared control words
 * @slots: the shared slots
 * @mask: number of slots less one, from a source that this party trusts
 */
struct kgni_ring_view {
	struct kgni_ring *ring;
	u64 *slots;
	u32 mask;
};

/* A copy, by words: what has just been written by words is read slowly as more. */
static __always_inline struct kgni_ring_view kgni_ring_view_copy(const struct kgni_ring_view *v)
{
	return (struct kgni_ring_view){
		.ring = core_load(&v->ring),
		.slots = core_load(&v->slots),
		.mask = core_load(&v->mask),
	};
}

static inline void kgni_ring_view_init(struct kgni_ring_view *v, void *mem, u32 slots)
{
	v->ring = mem;
	v->slots = (u64 *)((char *)mem + KGNI_RING_SLOTS_OFFSET);
	v->mask = slots - 1;
}

/**
 * struct kgni_ring_hint - what a producer found when it pushed last
 * @next: the position after the one that it took
 * @head: the head, as it was then or before
 *
 * For a producer that is often the only one: while nobody else pushes, that saves it to
 * look at what the consumer writes, until the ring might be full.
 */
struct kgni_ring_hint {
	u32 next;
	u32 head;
};

/* Before the first push: no ring is so full. */
#define KGNI_RING_NO_HINT	((struct kgni_ring_hint){ .next = 0, .head = 1 })

/* What the slot of position @pos holds while nothing was put there. */
static inline u64 kgni_ring_vacant(const struct kgni_ring_view *v, u32 pos)
{
	return pos & ~v->mask;
}

/* Is there room at @tail, as far as @hint tells? @head: out: the head */
static inline bool kgni_ring_known(const struct kgni_ring_view *v,
				   const struct kgni_ring_hint *hint, u32 tail, u32 *head)
{
	if (!hint || core_load(&hint->next) != tail)
		return false;
	*head = core_load_acquire(&hint->head);			/* (D) */
	return tail - *head <= v->mask;
}

/**
 * kgni_ring_push_hinted - add an entry, for one who pushes often
 * @v: the ring
 * @entry: what to add, its upper half not zero
 * @hint: the caller's own, KGNI_RING_NO_HINT before the first call, or NULL
 *
 * Context: any, any number of producers at once, also with the same hint.
 * Return: true if the entry is in; false if it was dropped and the overrun
 * flag is set.
 */
static __always_inline bool kgni_ring_push_hinted(const struct kgni_ring_view *v, u64 entry,
						  struct kgni_ring_hint *hint)
{
	u32 head, tail, tries;
	u64 vacant;

	for (tries = 0; tries < KGNI_RING_TRIES; tries++) {
		tail = core_load_acquire(&v->ring->tail);	/* before head */
		if (!kgni_ring_known(v, hint, tail, &head))
			head = core_load_acquire(&v->ring->head);	/* (D) */
		if (tail - head > v->mask) {
			/* Full, unless the two reads straddle other's work. */
			if (core_load(&v->ring->tail) != tail)
				continue;
			if ((s32)(tail - head) > 0)
				break;
			/* The consumer was shown an entry where nobody had pushed. */
			core_cmpxchg(&v->ring->tail, tail, head);
			continue;
		}
		if (core_cmpxchg(&v->ring->tail, tail, tail + 1) != tail)
			continue;
		if (hint) {
			core_store(&hint->next, tail + 1);
			core_store_release(&hint->head, head);
		}
		/* (A) (E) Lost: someone took this slot for a hole. */
		vacant = kgni_ring_vacant(v, tail);
		if (core_cmpxchg(&v->slots[tail & v->mask], vacant, entry) == vacant)
			return true;
	}
	core_store_release(&v->ring->overrun, 1);
	core_mb();						/* (E) */
	return false;
}

/**
 * kgni_ring_push - add an entry
 * @v: the ring
 * @entry: what to add, its upper half not zero
 *
 * Context: any, any number of producers at once.
 * Return: as kgni_ring_push_hinted().
 */
static inline bool kgni_ring_push(const struct kgni_ring_view *v, u64 entry)
{
	return kgni_ring_push_hinted(v, entry, NULL);
}

/**
 * kgni_ring_ready - is there something to pop
 * @v: the ring
 *
 * Context: any; true may be stale where another thread pops.
 * Return: true if kgni_ring_pop() would not say KGNI_RING_EMPTY.
 */
static inline bool kgni_ring_ready(const struct kgni_ring_view *v)
{
	u32 head = core_load_acquire(&v->ring->head);
	u64 e = core_load_acquire(&v->slots[head & v->mask]);

	return e != kgni_ring_vacant(v, head) || core_load(&v->ring->overrun);
}

/**
 * kgni_ring_count - how many positions are reserved and not consumed
 * @v: the ring
 *
 * Context: any; a snapshot.
 * Return: 0 to the number of slots; 0 where the head has passed the tail.
 */
static inline u32 kgni_ring_count(const struct kgni_ring_view *v)
{
	u32 head = core_load_acquire(&v->ring->head);
	u32 n = core_load(&v->ring->tail) - head;

	if ((s32)n < 0)
		return 0;
	return n > v->mask ? v->mask + 1 : n;
}

/**
 * kgni_ring_pop - take the oldest entry
 * @v: the ring
 * @entry: out: the entry, if KGNI_RING_ENTRY is returned
 *
 * A lost event is reported once, before what is left in the ring, and takes
 * no entry with it. Whether the position was reserved is not looked at: only a hostile
 * partner shows entries where none was, and the next producer sets that right.
 *
 * Context: one consumer at a time.
 * Return: see enum kgni_ring_pop.
 */
static inline enum kgni_ring_pop kgni_ring_pop(const struct kgni_ring_view *v, u64 *entry)
{
	u32 head = core_load(&v->ring->head);
	u64 *slot = &v->slots[head & v->mask];
	u64 e = core_load_acquire(slot);			/* (B) */

	if (core_load(&v->ring->overrun) && core_xchg(&v->ring->overrun, 0))
		return KGNI_RING_OVERRUN;
	if (e == kgni_ring_vacant(v, head))
		return KGNI_RING_EMPTY;
	core_store(slot, kgni_ring_vacant(v, head + v->mask + 1));
	core_store_release(&v->ring->head, head + 1);		/* (C) */
	*entry = e;
	return KGNI_RING_ENTRY;
}

/**
 * kgni_ring_arm - tell producers that the consumer is about to sleep
 * @v: the ring
 *
 * Look with kgni_ring_ready() after it and sleep only if that says no.
 *
 * Context: any.
 */
static inline void kgni_ring_arm(const struct kgni_ring_view *v)
{
	core_store(&v->ring->armed, 1);
	core_mb();						/* (F) */
}

/**
 * kgni_ring_disarm - must the producer that just pushed wake the consumer
 * @v: the ring
 *
 * Context: any.
 * Return: true for one of the producers that push after kgni_ring_arm().
 */
static inline bool kgni_ring_disarm(const struct kgni_ring_view *v)
{
	return core_load(&v->ring->armed) && core_xchg(&v->ring->armed, 0);
}

/**
 * kgni_ring_masked - does the consumer want nobody to be woken
 * @v: the ring
 *
 * Context: any.
 * Return: true while it does; it looks again itself when that ends.
 */
static inline bool kgni_ring_masked(const struct kgni_ring_view *v)
{
	return core_load(&v->ring->masked);
}

/**
 * kgni_ring_notify_arm - have the next event reach the completion channel
 * @v: the ring
 *
 * Look with kgni_ring_ready() after it: an event that is there already is for
 * the caller to tell of, if kgni_ring_notify_disarm() lets it.
 *
 * Context: any.
 */
static inline void kgni_ring_notify_arm(const struct kgni_ring_view *v)
{
	core_store(&v->ring->notify, 1);
	core_mb();						/* (F) */
}

/**
 * kgni_ring_notify_disarm - must this event reach the completion channel
 * @v: the ring
 *
 * Context: any.
 * Return: true for one of those who ask after kgni_ring_notify_arm().
 */
static inline bool kgni_ring_notify_disarm(const struct kgni_ring_view *v)
{
	return core_load(&v->ring->notify) && core_xchg(&v->ring->notify, 0);
}

/**
 * kgni_ring_repair - fill the holes that a dead producer may have left
 * @v: the ring
 * @entry: the error entry to fill them with, its upper half not zero
 *
 * A producer that lives and is merely slow loses its cmpxchg to this one and
 * reserves again, so nothing of its own is lost.
 *
 * Context: any, beside producers and the consumer.
 * Return: how many holes were filled.
 */
static inline u32 kgni_ring_repair(const struct kgni_ring_view *v, u64 entry)
{
	u32 head = core_load_acquire(&v->ring->head);
	u32 n = core_load(&v->ring->tail) - head;
	u32 i, filled = 0;
	u64 *slot, vacant;

	if ((s32)n < 0)
		return 0;
	if (n > v->mask)
		n = v->mask + 1;
	for (i = 0; i < n; i++) {
		slot = &v->slots[(head + i) & v->mask];
		vacant = kgni_ring_vacant(v, head + i);
		if (core_load(slot) == vacant && core_cmpxchg(slot, vacant, entry) == vacant)
			filled++;
	}
	return filled;
}

#endif /* _KGNI_CORE_RING_H */
