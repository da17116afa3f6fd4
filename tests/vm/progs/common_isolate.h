/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the program isolate share: the attacker, and how it tries things. */
#ifndef KGNI_VM_COMMON_ISOLATE_H
#define KGNI_VM_COMMON_ISOLATE_H

#include <core/ring.h>

#include "common_matrix.h"
#include "common_victim.h"

struct kind {
	const char *name;
	uid_t uid;		/* who attaches */
	uid_t child;		/* if not 0: a child, of this user, that inherits the file */
	uint32_t cookie;
	uint32_t ptag;
	unsigned int device;	/* the victim is on 0 */
	bool member;		/* of the victim's job: may do it all */
};

#define LOCAL_PAGES	4
#define LOCAL_LEN	(LOCAL_PAGES * PAGE)
#define LOCAL_FILL	0x11
#define MARK		0x5555aaaa5555aaaaULL

extern struct attacker {
	const struct kind *k;
	int fd;
	int spare;		/* a file that is not attached, opened by who attached */
	uint32_t pe;
	uint32_t ptag;
	struct raw_cq cq[2];
	struct kgni_ring_view ring;
	unsigned char *local;
	struct kgni_mem_handle lmh;
	const unsigned char *expected;	/* what the victim's memory holds */
} a;

/* One of each. */
enum {
	FMA_PUT, FMA_PUT_LONG, FMA_FLAG, FMA_GET, AMO_ADD, AMO_FADD, RDMA_PUT, RDMA_PUT_LONG,
	RDMA_GET, RDMA_GET_LONG, CQ_WRITE, GET_FLAG, AMO_FLAG, TRANSFERS
};

extern const struct transfer {
	gni_post_type_t type;
	uint32_t length;
	uint32_t amo_cmd;
	bool reads;		/* bytes of the target come back */
} transfers[TRANSFERS];

/* From or to the attacker's memory, at the victim's region. */
struct kgni_ioc_post aimed_post(const struct transfer *t, enum region_name r);
/* Post with a source event. Returns the code, or the event's error. */
int try_post(struct kgni_ioc_post *post);
int source_event(void);			/* its error, once it is there */
int judge_read(const struct transfer *t, enum region_name r, int rc);
struct kgni_mem_handle guess(uint64_t va, uint16_t mdh, uint8_t flags);
bool is_own_queue(uint32_t id);
/* Calls @fn with each id of the victim's that the attacker does not have, too. */
void each_queue(int (*fn)(const struct raw_cq *cq));

/* Rows about regions of other kinds, chains and channels: common_isolate.c. */
void row_clone(int unused);
void row_clone_sweep(int unused);
void row_heir_clone(int unused);
void row_update(int unused);
void row_update_index(int unused);
void row_index(int unused);
void row_index_taken(int unused);
void row_index_free(int unused);
void row_addresses(int unused);
void row_next(int unused);
void row_list(int unused);
void row_chain(int which);
void row_chain_local(int which);
void row_chain_source(int unused);
void row_notify(int unused);
void row_wake(int unused);
void row_ce_post(int unused);
void row_ce_sweep(int unused);
void row_ce_configure(int unused);
void row_ce_destroy(int unused);
/* And about what only administrators may. */
void row_bi_set(int unused);
void row_bi_look(int unused);
void row_suspend(int flags);
void row_configure(int unused);
void row_translate(int unused);

#endif /* KGNI_VM_COMMON_ISOLATE_H */
