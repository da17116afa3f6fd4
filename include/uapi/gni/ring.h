/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The completion queue ring, as it lies in memory that kernel and user space
 * share. The protocol that moves entries through it, with its barriers, is in
 * kernel/core/ring.h; Documentation/abi.rst tells it in prose.
 */
#ifndef _UAPI_GNI_RING_H
#define _UAPI_GNI_RING_H

#include <linux/types.h>

/* The slots begin this many bytes into the mapping. */
#define KGNI_RING_SLOTS_OFFSET	4096

/**
 * struct kgni_ring - control words of a ring, the first page of its mapping
 * @tail: producers: position of the next slot to reserve, free running
 * @head: the consumer: position of the next slot to read, free running
 * @armed: non-zero while the consumer sleeps or is about to
 * @overrun: set when an event found no free slot; the consumer clears it
 * @masked: while not zero, events wake nobody: a count of the consumer's
 * @notify: set for the next event to reach the completion channel
 *
 * Position p lives in slot p & (size - 1); size is a power of two. A slot that
 * is free for position p holds p & ~(size - 1), so a new ring is all zeros; an
 * entry always has a bit set in its upper half. The words of producers,
 * consumer and sleeper lie in cache lines of their own.
 */
struct kgni_ring {
	__u32 tail;
	__u32 pad0[15];
	__u32 head;
	__u32 pad1[15];
	__u32 armed;
	__u32 overrun;
	__u32 masked;
	__u32 notify;
	__u32 pad2[12];
};

#endif /* _UAPI_GNI_RING_H */
