/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nth thing that a call needs fails, by the kernel's fault injection, and a
 * table tells what came of it. Needs root, and a kernel that has it.
 *
 * Allocations, copies from and to user space, and pins fail by fail-nth, which
 * counts all that a task does. A series for slabs, one for pages, and one for copies
 * and pins, in which allocations of another kind do not count, each goes through its
 * points, so that it misses none where the kernel needs memory of the other kind in
 * one turn and not in the next. Copies and pins always count; which it was shows in
 * the kernel's numbers of failures left.
 */
#ifndef KGNI_VM_COMMON_NTH_H
#define KGNI_VM_COMMON_NTH_H

#include "common.h"

#define BIT(n)	(1U << (n))

enum kind {
	KIND_SLAB,
	KIND_PAGE,
	KIND_USERCOPY,
	KIND_PIN,
	KINDS
};

/* What must be as before. Names are for messages. */
#define COUNTERS_MAX	16

struct counters {
	const char *name[COUNTERS_MAX];
	int64_t value[COUNTERS_MAX];
	unsigned int n;
};

/**
 * struct row - a call, and what is known of it
 * @name: the call
 * @setup: once, in the process of the case
 * @prepare: before each call
 * @call: returns 0 where it got through, a return code above it, or -errno
 * @undo: after a call that got through: undoes @prepare too
 * @outside: or NULL: does of the call what is not to be tested point by point, and
 *	fails then; it comes first, and comes to nothing
 * @count: what to compare, NULL: what the device, the job and the process hold
 * @nomem: its answer where memory is missing, 0: -ENOMEM
 * @fault: its answer where a copy fails, 0: -EFAULT
 * @also: one more answer that is right
 * @has: BIT(KIND_*) of which it must have points
 * @once: not made again after each failure, but when nothing fails any more
 */
struct row {
	const char *name;
	void (*setup)(void);
	void (*prepare)(void);
	long (*call)(void);
	void (*undo)(void);
	void (*outside)(void);
	void (*count)(struct counters *c);
	long nomem;
	long fault;
	long also;
	unsigned int has;
	bool once;
};

/* Adds to what is compared. */
void nth_count(struct counters *c, const char *name, int64_t value);
/* A case: fails each point of the row, compares, adds a line to the table. */
void nth_run(const struct row *row);
/* A line of the table for a case that does that by itself. */
void nth_result(const char *name, const unsigned int *points);
/* The cases that the arguments name, or all, and the table. */
int nth_main(int argc, char **argv, const struct test *tests, size_t n);

/* While a call is undone: it got through although something failed. */
extern bool nth_crippled;
/* The device and the job whose resources are compared; a job of 0 is none. */
extern unsigned int nth_device;
extern uint32_t nth_ptag;

#endif /* KGNI_VM_COMMON_NTH_H */
