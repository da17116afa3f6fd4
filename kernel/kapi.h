/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface for kernel clients: what its files share. gni_pub.h has the
 * calls; what they say to the rest of the driver is what the ioctls say.
 *
 * Locks, outermost first: kapi_lock; gni_nic.lock; then those of calls that may
 * come in softirq context, all taken with softirqs off: gni_ep.lock, then
 * gni_cq.lock or that of gni_cq.reqs. The driver's own are inside of these.
 *
 * A handle is checked for what it can tell: that it is not NULL, and of the
 * right kind.
 */
#ifndef _KGNI_KAPI_H
#define _KGNI_KAPI_H

#include <linux/interrupt.h>

#include "kgni.h"
#include "core/smsg.h"

#define KAPI_CDM_MAGIC	0x63646d21
#define KAPI_NIC_MAGIC	0x6e696321
#define KAPI_CQ_MAGIC	0x63712121
#define KAPI_EP_MAGIC	0x65702121
#define KAPI_ERR_MAGIC	0x65727221

/*
 * Clients know these by their handles only. Versions of symbols are made without
 * them, so that a client need not be built again because they changed.
 */
#ifndef __GENKSYMS__

/**
 * struct gni_cdm - a communication domain
 * @magic: KAPI_CDM_MAGIC
 * @inst_id: instance id
 * @ptag: protection tag
 * @cookie: cookie
 * @modes: GNI_CDM_MODE_* bits
 * @maker: address of the code that made it
 * @owner: the module that this was part of, if known; only compared
 * @node: in the list of all, under kapi_lock
 * @nics: attachments, under kapi_lock
 */
struct gni_cdm {
	u32 magic;
	u32 inst_id;
	u8 ptag;
	u32 cookie;
	u32 modes;
	unsigned long maker;
	struct module *owner;
	struct list_head node;
	struct list_head nics;
};

/**
 * struct gni_nic - one attachment
 * @magic: KAPI_NIC_MAGIC
 * @nic: as the driver knows it
 * @node: in cdm->nics
 * @lock: guards the lists, and the queues' counts of endpoints
 * @eps: endpoints
 * @cqs: queues
 * @holds: registrations that ended but whose number is held
 * @errs: error queues
 * @next_ep: number for the next endpoint
 * @max_retrans: how often a short message is sent again
 * @dlvr_mode: how short messages go
 * @quiesce_end: to be called at the end of a quiesce, or NULL, under @lock
 * @watch: has it called
 */
struct gni_nic {
	u32 magic;
	struct kgni_nic *nic;
	struct list_head node;
	struct mutex lock;	/* eps, cqs, holds, errs, next_ep, quiesce_end, gni_cq.eps */
	struct list_head eps;
	struct list_head cqs;
	struct list_head holds;
	struct list_head errs;
	u32 next_ep;
	u16 max_retrans;
	u16 dlvr_mode;
	void (*quiesce_end)(gni_nic_handle_t nic, u64 ms);
	struct kgni_watch watch;
};

/**
 * struct gni_cq - a completion queue
 * @magic: KAPI_CQ_MAGIC
 * @nic: its attachment
 * @cq: as the driver knows it
 * @node: in nic->cqs
 * @eps: endpoints that use it, under nic->lock
 * @entries: entries that were asked for
 * @lock: guards the consuming end of the ring
 * @sending: messages that were found room for, and whose events are on their way
 * @reqs: posts whose events are to come, by transaction id; with its own lock
 * @tid_step: what the last transaction id had above its number
 * @handler: what to call when events have come, or NULL
 * @data: for the handler
 * @tasklet: calls it
 */
struct gni_cq {
	u32 magic;
	struct gni_nic *nic;
	struct kgni_cq *cq;
	struct list_head node;
	unsigned int eps;
	u32 entries;
	spinlock_t lock;	/* head of the ring */
	atomic_t sending;
	struct xarray reqs;
	u32 tid_step;
	gni_cq_event_hndlr_f *handler;
	u64 data;
	struct tasklet_struct tasklet;
};

/**
 * struct kapi_count - posts of an endpoint whose events go to a queue that is not its own
 * @next: the next of the endpoint's
 * @cq: the queue; only compared, for it may be gone where @posts is 0
 * @posts: how many have events to come
 */
struct kapi_count {
	struct kapi_count *next;
	const struct gni_cq *cq;
	atomic_t posts;
};

/* One end of a channel of short messages, under the endpoint's lock. */
struct kapi_smsg {
	struct kgni_smsg_geom geom;
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	void *mbox;
	u64 remote_mbox;
	struct kgni_mem_handle remote;
	bool resend;
	bool current_msg;
	bool credit_due;
};

/**
 * struct gni_ep - an endpoint
 * @magic: KAPI_EP_MAGIC
 * @ref: its handle, and posts that are counted
 * @nic: its attachment
 * @cq: queue for its source events, or NULL
 * @node: in nic->eps
 * @id: its number, for datagrams
 * @lock: guards what follows, but the counts
 * @bound: it has a peer
 * @events_set: the event values are its client's
 * @remote_pe: PE address of the peer
 * @remote_id: instance id of the peer
 * @local_event: value of source events
 * @remote_event: value of target events
 * @smsg: channel of short messages, or NULL
 * @others: counts of posts with events to come in other queues; none goes before the endpoint
 * @outstanding: posts with events to come in @cq
 * @credits: has credits go back that could not
 */
struct gni_ep {
	u32 magic;
	struct kref ref;
	struct gni_nic *nic;
	struct gni_cq *cq;
	struct list_head node;
	u32 id;
	spinlock_t lock;	/* what follows, but the counts */
	bool bound;
	bool events_set;
	u32 remote_pe;
	u32 remote_id;
	u32 local_event;
	u32 remote_event;
	struct kapi_smsg *smsg;
	struct kapi_count *others;
	atomic_t outstanding;
	struct delayed_work credits;
};

/**
 * struct gni_err - an error queue
 * @magic: KAPI_ERR_MAGIC
 * @nic: its attachment
 * @node: in nic->errs
 * @eeq: as the driver knows it
 * @new_event: called when an event came, or NULL
 * @critical: called when one came that ends programs, or NULL
 */
struct gni_err {
	u32 magic;
	struct gni_nic *nic;
	struct list_head node;
	struct kgni_eeq *eeq;
	void (*new_event)(gni_err_handle_t err);
	void (*critical)(gni_err_handle_t err);
};

#endif /* __GENKSYMS__ */

static inline bool kapi_is_cdm(const struct gni_cdm *cdm)
{
	return cdm && READ_ONCE(cdm->magic) == KAPI_CDM_MAGIC;
}

static inline bool kapi_is_nic(const struct gni_nic *nic)
{
	return nic && READ_ONCE(nic->magic) == KAPI_NIC_MAGIC;
}

static inline bool kapi_is_cq(const struct gni_cq *cq)
{
	return cq && READ_ONCE(cq->magic) == KAPI_CQ_MAGIC;
}

static inline bool kapi_is_ep(const struct gni_ep *ep)
{
	return ep && READ_ONCE(ep->magic) == KAPI_EP_MAGIC;
}

static inline bool kapi_is_err(const struct gni_err *err)
{
	return err && READ_ONCE(err->magic) == KAPI_ERR_MAGIC;
}

/* Every return of an exported call is kapi_end(code): gni_get_errno() tells of errors. */
#define kapi_end(code)								\
({										\
	gni_return_t end_rc = (code);						\
										\
	if (unlikely(end_rc != GNI_RC_SUCCESS))					\
		kapi_end_call(__func__, __LINE__, end_rc);			\
	end_rc;									\
})

/* kapi.c */
gni_return_t kapi_end_call(const char *func, int line, gni_return_t rc);
gni_return_t kapi_rc(long rc, gni_return_t nomem);

/* kapi_ep.c */
void kapi_ep_put(struct gni_ep *ep);
void kapi_ep_destroy_all(struct gni_nic *nic);

/* kapi_smsg.c */
void kapi_smsg_credits_work(struct work_struct *work);

/* kapi_cq.c */
void kapi_cq_destroy_all(struct gni_nic *nic);

/* kapi_mem.c */
extern struct workqueue_struct *kapi_wq;
void kapi_mem_release_all(struct gni_nic *nic);
int kapi_mem_init(void);
void kapi_mem_exit(void);

/* kapi_err.c */
void kapi_err_release_all(struct gni_nic *nic);
void kapi_quiesce_forget(struct gni_nic *nic);

/* kapi_post.c */
int kapi_post_init(void);
void kapi_post_exit(void);
int kapi_req_init(struct gni_cq *cq);
void kapi_req_lost(struct gni_cq *cq, u64 entry);
void kapi_req_end_all(struct gni_cq *cq);

#endif /* _KGNI_KAPI_H */
