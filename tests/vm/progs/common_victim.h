/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A victim for attackers: a process with memory, queues, a mailbox and
 * datagrams, who tells on being asked what of it has changed.
 */
#ifndef KGNI_VM_COMMON_VICTIM_H
#define KGNI_VM_COMMON_VICTIM_H

#include "common.h"

#define USER		1000	/* the victim's */
#define ANY		GNI_FIND_ALLOC_PTAG
#define VICTIM_ID	7
#define ATTACKER_ID	8	/* whom it expects a datagram from */

/* Where nobody else has memory. Pages between the regions are not registered. */
#define VICTIM_AT	((unsigned char *)0x200000000000)
#define VICTIM_PAGES	32
#define VICTIM_LEN	(VICTIM_PAGES * PAGE)
#define VICTIM_QUEUES	8

/* Those from OTHER_KINDS on are not plain ranges. */
enum region_name {
	MAIN, READ_ONLY, MAILBOX, QUIET,
	OTHER_KINDS, SHARED_MDD = OTHER_KINDS, VIRTUAL, SEGMENTS, RESERVED, CLONE, REGIONS
};

#define VICTIM_INDEX	3	/* of VIRTUAL */
#define VICTIM_INDICES	8

extern const struct victim_region {
	unsigned int page;
	unsigned int pages;
	uint32_t flags;
	int queue;		/* index, -1 for none */
	unsigned int segments;
} layout[REGIONS];

/* Its datagrams, by endpoint. */
enum { EP_WILD = 1, EP_BOUND, EP_NAMED };

#define DGRAM_NAME	0x1234567890ULL
#define VICTIM_REDUCTION	4712	/* waits for the attacker, as child 0 of channel 0 */

/* What the attackers know: everything. */
struct knowledge {
	pid_t pid;
	int fd;
	uint32_t pe;
	uint32_t ptag;
	struct kgni_mem_handle mh[REGIONS];
	struct raw_cq cq[VICTIM_QUEUES];
};

/* Starts one, on device 0; its attacker is on @device. */
void victim_start(unsigned int device);
extern struct knowledge *known;		/* of the victim that was started last */
/* Notes how everything is now. */
void victim_remember(void);
/* CHANGED_* bits (common_matrix.h). */
unsigned int victim_changes(void);
/* Ends it; where nothing was changed, all that it has must work still. */
void victim_end(void);

uint64_t address(enum region_name r);
uint64_t target_address(enum region_name r);	/* as posts name it */
void expected_memory(unsigned char *mem);	/* what VICTIM_LEN bytes hold */

/* Of use to both. */
void drop_to(uid_t uid);
int call(int fd, unsigned long cmd, void *arg);	/* a code, or -errno */
int attach(int fd, uint32_t id, uint32_t ptag, uint32_t cookie, uint32_t *tag, uint32_t *pe);
int dgram_state(int fd, uint32_t ep, uint32_t flags, uint64_t id);
struct kgni_ioc_dgram_post bound_dgram(uint32_t ep, uint32_t pe, uint32_t id);

#endif /* KGNI_VM_COMMON_VICTIM_H */
