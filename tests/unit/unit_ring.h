/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings for the unit tests. Include it after core/ring.h, or after what stands
 * in for the atomic operations of core/core.h.
 */
#ifndef _KGNI_UNIT_RING_H
#define _KGNI_UNIT_RING_H

#include "unit.h"
#include "core/ring.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)		((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n)	((void)(p), (void)(n))
#endif

#define HOLE	(0xfeULL << 56)

/* An entry that tells who made it and which of theirs it is. */
static inline u64 ring_entry(u32 who, u32 n)
{
	return 1ULL << 56 | (u64)who << 32 | n;
}

static inline u32 entry_who(u64 e)
{
	return (u32)(e >> 32) & 0xffffff;
}

static inline size_t ring_bytes(u32 slots)
{
	return KGNI_RING_SLOTS_OFFSET + slots * sizeof(u64);
}

/* An empty ring in zeroed memory whose next position is @pos. */
static inline void ring_start(struct kgni_ring_view *v, void *mem, u32 slots, u32 pos)
{
	u32 i;

	kgni_ring_view_init(v, mem, slots);
	v->ring->tail = pos;
	v->ring->head = pos;
	for (i = 0; i < slots; i++)
		v->slots[(pos + i) & v->mask] = kgni_ring_vacant(v, pos + i);
}

/* The same in memory of its own, no byte more than it needs. */
static inline void ring_new(struct kgni_ring_view *v, u32 slots, u32 pos)
{
	void *mem;

	if (posix_memalign(&mem, 64, ring_bytes(slots)))
		abort();
	memset(mem, 0, ring_bytes(slots));
	ring_start(v, mem, slots, pos);
	ASAN_POISON_MEMORY_REGION((char *)mem + sizeof(struct kgni_ring),
				  KGNI_RING_SLOTS_OFFSET - sizeof(struct kgni_ring));
}

static inline void ring_delete(struct kgni_ring_view *v)
{
	ASAN_UNPOISON_MEMORY_REGION(v->ring, KGNI_RING_SLOTS_OFFSET);
	free(v->ring);
}

#endif /* _KGNI_UNIT_RING_H */
