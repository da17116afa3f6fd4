/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pacing: a flow of pieces that moves for a share of the time only.
 *
 * It is open for a stretch, and then closed for as long as makes the stretch its
 * share of both. A stretch begins with its first piece and ends when one is to
 * begin after KGNI_PACE_STRETCH, so that what happens between two pieces of a
 * busy flow is a part of it, and the rate is that share of what the flow would
 * have without. A pause in which nobody moves anything ends it, too, and counts
 * as time that it was closed: who asks for little waits for nothing.
 *
 * Whoever waits for the end of a closed time wakes up late. That is taken off the
 * next one, so that it does not add up.
 *
 * Times are nanoseconds, of a clock that does not go back. The caller locks.
 */
#ifndef _KGNI_CORE_PACE_H
#define _KGNI_CORE_PACE_H

#include "core.h"

/* A stretch. Long for a piece of a transfer, short for people. */
#define KGNI_PACE_STRETCH	2000000ULL
/* What counts of one at most: nobody moves a piece for longer, but may be kept from it. */
#define KGNI_PACE_STRETCH_MAX	32000000ULL
/* A pause. */
#define KGNI_PACE_PAUSE		1000000ULL
/* How much of having been late is made up for. */
#define KGNI_PACE_LATE_MAX	20000000ULL

/**
 * struct kgni_pace - a flow
 * @num: its share is this
 * @den: out of that; equal for a flow that is not paced
 * @moving: pieces that are being moved
 * @opened: when the stretch began; 0 if there is none
 * @last: when a piece last began or ended
 * @closed: when the stretch before ended, while it is closed
 * @until: when it opens again; 0 if it is open
 * @stretch: what the stretch before counts for
 * @late: how much later than it might it went on
 * @asked: somebody waits for that
 * @open_ns: sum of all stretches, but for the one under way
 * @closed_ns: sum of the times between them
 * @late_ns: how much of @closed_ns nobody asked for
 */
struct kgni_pace {
	u32 num;
	u32 den;
	u32 moving;
	bool asked;
	u64 opened;
	u64 last;
	u64 closed;
	u64 until;
	u64 stretch;
	u64 late;
	u64 open_ns;
	u64 closed_ns;
	u64 late_ns;
};

static inline u64 kgni_pace_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Give a flow another share: @num of @den, which it has from the next piece on. */
static inline void kgni_pace_set(struct kgni_pace *p, u32 num, u32 den)
{
	p->num = num;
	p->den = den;
	p->asked = false;
	p->opened = 0;
	p->until = 0;
	p->late = 0;
}

/* Part of kgni_pace_ask(): the stretch ended at @at. */
static inline void kgni_pace_close(struct kgni_pace *p, u64 at)
{
	u64 owed, off;

	p->stretch = kgni_pace_min(at - p->opened, KGNI_PACE_STRETCH_MAX);
	owed = p->stretch * (p->den - p->num) / p->num;
	off = kgni_pace_min(owed, p->late);
	p->late -= off;
	p->closed = at;
	p->until = at + owed - off;
	p->opened = 0;
	p->asked = false;
}

/* Part of kgni_pace_ask(): the next stretch begins. */
static inline void kgni_pace_open(struct kgni_pace *p, u64 now)
{
	p->open_ns += p->stretch;
	p->closed_ns += now - p->closed;
	p->late_ns += now - p->until;
	if (p->asked)
		p->late = kgni_pace_min(p->late + (now - p->until), KGNI_PACE_LATE_MAX);
	else if (now > p->until)
		p->late = 0;	/* Nobody waited. */
	p->until = 0;
	p->opened = now;
}

/**
 * kgni_pace_ask - may a piece be moved now
 * @p: the flow
 * @now: the time, not 0
 *
 * Return: 0 if so, and kgni_pace_moved() is due; else when to ask again.
 */
static inline u64 kgni_pace_ask(struct kgni_pace *p, u64 now)
{
	if (p->opened && !p->moving && now - p->last > KGNI_PACE_PAUSE)
		kgni_pace_close(p, p->last);
	else if (p->opened && now - p->opened >= KGNI_PACE_STRETCH)
		kgni_pace_close(p, now);
	if (p->until > now) {
		p->asked = true;
		return p->until;
	}
	if (p->until)
		kgni_pace_open(p, now);
	else if (!p->opened)
		p->opened = now;
	p->moving++;
	p->last = now;
	return 0;
}

/* A piece was moved. */
static inline void kgni_pace_moved(struct kgni_pace *p, u64 now)
{
	p->moving--;
	p->last = now;
}

#endif /* _KGNI_CORE_PACE_H */
