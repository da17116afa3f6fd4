/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared message queues: what msgq.c, msgq_conn.c and msgq_region.c share. */
#ifndef _UGNI_MSGQ_H
#define _UGNI_MSGQ_H

#include "ugni.h"
#include "core/msgq.h"

#define UGNI_REGION_PATH	512

/**
 * struct ugni_region - shared memory of a node and job
 * @fd: its file
 * @fresh: nobody else is there
 * @size: bytes
 * @mem: where it is mapped
 * @path: name of the file
 */
struct ugni_region {
	int fd;
	bool fresh;
	u64 size;
	void *mem;
	char path[UGNI_REGION_PATH];
};

/**
 * struct msgq_way - how puts go to the other node of a connection
 * @window: window that was used last
 * @gen: which window is known to lead to the mailbox; 0: none
 * @by: by which instance's registration, modulo how many there are
 * @misses: puts for which there was none
 */
struct msgq_way {
	struct ugni_window *window;
	u64 gen;
	u32 by;
	u32 misses;
};

/**
 * struct gni_msgq - an instance's share in a message queue
 * @slot: head; its lock guards all of it, and is never held around a callback
 * @nic: NIC handle
 * @rcv_cb: gets the messages; NULL: nobody does
 * @cb_data: its last argument
 * @attrs: attributes, as they are compared
 * @view: the region as we see it
 * @region: and its file
 * @inst: our number
 * @epoch: and our use of it
 * @handle: our registration of the mailboxes
 * @rcv: queue for what arrives
 * @told: queue for how puts ended
 * @status: how the last one did
 * @window: window that was used last, to whom a put was for
 * @late: window by whose queue somebody is to be woken once no lock is held
 * @way: for each connection, the window to its memory
 * @scan: events were lost: look into all slots
 * @damaged: something came that no sender makes
 * @turn: counts what was asked of other nodes
 * @stalls: counts sends without a credit
 * @last: for each connection, number of the last message, and for which use of it
 * @pool: messages that were taken from the mailboxes
 * @pool_size: room there
 * @pool_first: the oldest
 * @pool_count: how many there are
 */
struct gni_msgq {
	struct ugni_slot slot;
	struct gni_nic *nic;
	gni_msgq_rcv_cb_func *rcv_cb;
	void *cb_data;
	u32 attrs[KGNI_MSGQ_ATTRS];
	struct kgni_msgq_view view;
	struct ugni_region *region;
	u32 inst;
	u32 epoch;
	gni_mem_handle_t handle;
	gni_cq_handle_t rcv;
	gni_cq_handle_t told;
	enum kgni_cqe_status status;
	struct ugni_window *window;
	struct ugni_window *late;
	struct msgq_way *way;
	bool scan;
	bool damaged;
	u32 turn;
	u32 stalls;
	struct {
		u64 n;
		u32 epoch;
	} *last;
	struct kgni_msgq_msg *pool;
	u32 pool_size;
	u32 pool_first;
	u32 pool_count;
};

extern struct ugni_arena ugni_msgqs;

static inline struct gni_msgq *ugni_msgq_lock(gni_msgq_handle_t hndl)
{
	return ugni_lock(&ugni_msgqs, hndl);
}

/* msgq.c */
void ugni_msgq_view_init(struct gni_msgq *q);
void ugni_msgq_give_back(struct gni_msgq *q, u32 c);
bool ugni_msgq_lock_tx(struct gni_msgq *q, u32 c);
void ugni_msgq_unlock_tx(struct gni_msgq *q, u32 c);
bool ugni_msgq_lock_rx(struct gni_msgq *q, u32 c);
void ugni_msgq_unlock_rx(struct gni_msgq *q, u32 c);

/* msgq_region.c */
size_t ugni_region_page(void);
gni_return_t ugni_region_open(struct ugni_region *r, const struct gni_nic *nic, u64 size);
void ugni_region_close(struct ugni_region *r, bool locked);
void ugni_region_forked(struct ugni_region *r);
bool ugni_region_alive(const struct ugni_region *r, u32 inst);
bool ugni_region_others(const struct ugni_region *r);
bool ugni_region_claim(const struct ugni_region *r, u32 inst);
bool ugni_region_lock(const struct ugni_region *r);
void ugni_region_unlock(const struct ugni_region *r);

#endif /* _UGNI_MSGQ_H */
