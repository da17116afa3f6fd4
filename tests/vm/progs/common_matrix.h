/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of attempts on a victim: what each came to, and that the victim did not
 * notice.
 */
#ifndef KGNI_VM_COMMON_MATRIX_H
#define KGNI_VM_COMMON_MATRIX_H

#include <core/cqe.h>

#include "common.h"

/* What an attempt may come to: GNI_RC_* as they are, errnos negative, and these. */
#define EVENT(status)	(0x100 + (int)(status))	/* the error of a source event */
#define DGRAM(state)	(0x200 + (int)(state))		/* what becomes of a datagram */
#define NO_CODE		0x300				/* nothing was tried */
#define HAS_READ	0x301				/* bytes of the victim's are there */
#define UNREAD		0x302				/* they should be, and are not */
#define REFUSED		EVENT(KGNI_ST_MDD_INVALID)

const char *code_name(int code);

/* What of the victim is not as it was. */
#define CHANGED_MEMORY	1
#define CHANGED_RINGS	2
#define CHANGED_DGRAMS	4
#define CHANGED_COUNTS	8

/* What the devices count, in their refused/ of sysfs. */
enum refusal {
	UNCOUNTED, BY_ATTACH, BY_MEMORY, BY_QUEUE, BY_DGRAM, BY_CHANNEL, REFUSAL_KINDS
};

void read_refusals(uint64_t count[REFUSAL_KINDS]);

/**
 * struct row - attempts of one kind
 * @what: what they are
 * @fn: makes them, calls note() for each
 * @arg: for @fn
 * @code: what each should come to
 * @counted: as what the driver counts them, one for each refusal
 * @who: which attackers make them
 * @personal: members of the job are refused, too
 * @member: what comes of them by those who may
 * @member_code: the code then
 */
struct row {
	const char *what;
	void (*fn)(int arg);
	int arg;
	int code;
	enum refusal counted;
	unsigned int who;
	bool personal;
	unsigned int member;
	int member_code;
};

#define ROW(what_, fn_, arg_, code_, counted_, ...)			\
	{ .what = (what_), .fn = (fn_), .arg = (arg_), .code = (code_),	\
	  .counted = (counted_), ##__VA_ARGS__ }

/* The row that is being tried. */
extern struct trial {
	int want;
	int got;		/* the first code that is another, or @want */
	unsigned int attempts;
	unsigned int refused;
	unsigned int unseen;	/* refused, though the call says nothing of it */
} trial;

void row_begin(int want);
void note(int code);			/* the outcome of an attempt */
/* Rows are checked, shown, and counted in totals. */
void refused_row(const struct row *row, const char *who, unsigned int changes);
/* And that the counters grew by what was refused, and no other, since @before. */
void check_refusals(const struct row *row, const uint64_t before[REFUSAL_KINDS]);
void allowed_row(const struct row *row, const char *who, unsigned int changes, bool harms);
void print_head(const char *who);

/* All cases together. */
extern struct totals {
	unsigned int rows;
	unsigned int attempts;
	unsigned int refused;
	unsigned int counted;	/* by the driver */
	unsigned int harmless;	/* attempts that succeed and reach nothing of the victim's */
	unsigned int controls;	/* rows by those who may */
} *totals;

void totals_begin(void);
/* Whether there were so many rows, and all attempts were as they should be. */
void totals_check(unsigned int rows, unsigned int controls);

#endif /* KGNI_VM_COMMON_MATRIX_H */
