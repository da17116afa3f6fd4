// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts of kernel clients, and the requests that tie events to them.
 *
 * A request lives from its post until gni_get_completed() has had its last
 * event, or until it is known that there will be none: the post failed, or its
 * event found no room. Nothing here sleeps: clients post in softirq context,
 * and to free memory.
 */
#include <linux/slab.h>

#include "kapi.h"
#include "core/descr.h"

/*
 * A transaction id: the request's number, and above it what tells it from others
 * that had the number shortly before. Numbers are as low as can be: so the table
 * does not grow and shrink with each post.
 */
#define KAPI_TID_INDEX	GENMASK(19, 0)
#define KAPI_TID_STEP	BIT(20)
#define KAPI_TID_MASK	GENMASK(KGNI_CQE_TID_BITS - 1, 0)
/* This number is nobody's, and keeps a table from going away with the last post. */
#define KAPI_TID_NOBODY	1

/**
 * struct kapi_req - a post that has events to come
 * @descr: its descriptor
 * @ep: its endpoint, referenced
 * @count: where it is counted, there or in @ep->others
 * @tid: its transaction id
 * @pending: GNI_CQMODE_* bits of the events that gni_get_completed() has not had
 */
struct kapi_req {
	gni_post_descriptor_t *descr;
	struct gni_ep *ep;
	atomic_t *count;
	u32 tid;
	u16 pending;
};

static struct kmem_cache *kapi_req_cache;

/* How many an endpoint may have in a queue at a time. */
static int kapi_req_limit(const struct gni_cq *cq)
{
	if (!(cq->nic->nic->modes & GNI_CDM_MODE_DUAL_EVENTS))
		return cq->entries;
	return cq->entries > 1 ? cq->entries / 2 : 1;
}

/* It is in no table any more. */
static void kapi_req_free(struct kapi_req *r)
{
	atomic_dec(r->count);
	kapi_ep_put(r->ep);
	kmem_cache_free(kapi_req_cache, r);
}

/* The endpoint's count for a queue that is not its own. ep->lock is held. */
static struct kapi_count *kapi_count_of(struct gni_ep *ep, const struct gni_cq *cq)
{
	struct kapi_count *c, *unused = NULL;

	for (c = ep->others; c; c = c->next) {
		if (c->cq == cq)
			return c;
		if (!atomic_read(&c->posts))
			unused = c;
	}
	if (!unused) {
		unused = kzalloc(sizeof(*unused), GFP_ATOMIC | __GFP_NOWARN);
		if (!unused)
			return NULL;
		unused->next = ep->others;
		ep->others = unused;
	}
	unused->cq = cq;
	return unused;
}

/* Count a post more. Return: where it is counted; NULL if there are as many as may be. */
static atomic_t *kapi_req_count(struct gni_cq *cq, struct gni_ep *ep)
{
	int limit = kapi_req_limit(cq);
	struct kapi_count *c;
	bool counted;

	if (cq == ep->cq)
		return atomic_add_unless(&ep->outstanding, 1, limit) ? &ep->outstanding : NULL;
	spin_lock_bh(&ep->lock);
	c = kapi_count_of(ep, cq);
	counted = c && atomic_add_unless(&c->posts, 1, limit);
	spin_unlock_bh(&ep->lock);
	return counted ? &c->posts : NULL;
}

static struct kapi_req *kapi_req_new(struct gni_cq *cq, struct gni_ep *ep)
{
	atomic_t *count = kapi_req_count(cq, ep);
	struct kapi_req *r;

	if (!count)
		return NULL;
	r = kmem_cache_zalloc(kapi_req_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!r) {
		atomic_dec(count);
		return NULL;
	}
	kref_get(&ep->ref);
	r->ep = ep;
	r->count = count;
	return r;
}

/* Begin a request. Return: false if there can be no more now. */
static bool kapi_req_begin(struct gni_cq *cq, struct gni_ep *ep, gni_post_descriptor_t *descr,
			   u16 mode, u32 *tid)
{
	struct kapi_req *r = kapi_req_new(cq, ep);
	int rc;

	if (!r)
		return false;
	r->descr = descr;
	r->pending = mode;
	xa_lock_bh(&cq->reqs);
	rc = __xa_alloc(&cq->reqs, &r->tid, r, XA_LIMIT(KAPI_TID_NOBODY + 1, KAPI_TID_INDEX),
			GFP_ATOMIC | __GFP_NOWARN);
	cq->tid_step += KAPI_TID_STEP;
	r->tid |= cq->tid_step & KAPI_TID_MASK;
	*tid = r->tid;
	xa_unlock_bh(&cq->reqs);
	if (!rc)
		return true;
	kapi_req_free(r);
	return false;
}

/* Part of making a queue. Return: 0 or -ENOMEM. */
int kapi_req_init(struct gni_cq *cq)
{
	xa_init_flags(&cq->reqs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	return xa_reserve_bh(&cq->reqs, KAPI_TID_NOBODY, GFP_NOIO);
}

static u16 kapi_event_mode(u64 entry)
{
	return entry & KGNI_CQE_LOCAL ? GNI_CQMODE_LOCAL_EVENT : GNI_CQMODE_GLOBAL_EVENT;
}

static bool kapi_is_post(u64 entry)
{
	u64 source = kgni_cqe_source(entry);

	return (source == KGNI_CQE_FMA || source == KGNI_CQE_BTE) &&
	       kgni_cqe_type(entry) == KGNI_CQE_POST;
}

/*
 * Take an event of a post off its request. With the last one the request ends:
 * the global one comes last. Return: the descriptor; NULL if there is no such
 * request, or it has had the event.
 */
static gni_post_descriptor_t *kapi_req_take(struct gni_cq *cq, u64 entry)
{
	u32 tid = kgni_cqe_tid(entry);
	u16 mode = kapi_event_mode(entry);
	gni_post_descriptor_t *descr = NULL;
	struct kapi_req *r, *ended = NULL;

	xa_lock_bh(&cq->reqs);
	r = xa_load(&cq->reqs, tid & KAPI_TID_INDEX);
	if (r && r->tid == tid && r->pending & mode) {
		descr = r->descr;
		r->pending &= ~mode;
		if (!(r->pending & GNI_CQMODE_GLOBAL_EVENT))
			ended = __xa_erase(&cq->reqs, tid & KAPI_TID_INDEX);
	}
	xa_unlock_bh(&cq->reqs);
	if (ended)
		kapi_req_free(ended);
	return descr;
}

/* The event of an entry will not come. */
void kapi_req_lost(struct gni_cq *cq, u64 entry)
{
	if (kapi_is_post(entry))
		kapi_req_take(cq, entry);
}

/* The queue goes, and nobody delivers to it any more. */
void kapi_req_end_all(struct gni_cq *cq)
{
	struct kapi_req *r;
	unsigned long tid;

	xa_for_each(&cq->reqs, tid, r)
		kapi_req_free(r);
	xa_destroy(&cq->reqs);
}

/* --- posting ----------------------------------------------------------------------- */

#define KAPI_RDMA_TYPES	(BIT(GNI_POST_RDMA_PUT) | BIT(GNI_POST_RDMA_GET))
/* Not GNI_POST_CE: a client in the kernel has no calls to join a tree. */
#define KAPI_FMA_TYPES	(BIT(GNI_POST_FMA_PUT) | BIT(GNI_POST_FMA_PUT_W_SYNCFLAG) | \
			 BIT(GNI_POST_FMA_GET) | BIT(GNI_POST_FMA_GET_W_FLAG) |	\
			 BIT(GNI_POST_AMO) | BIT(GNI_POST_AMO_W_FLAG) | BIT(GNI_POST_CQWRITE))

/* Who it is for, as the endpoint says now. */
static bool kapi_post_target(struct gni_ep *ep, struct kgni_ioc_post *arg, u32 *local_event)
{
	bool bound;

	spin_lock_bh(&ep->lock);
	bound = ep->bound;
	arg->remote_pe = ep->remote_pe;
	arg->remote_event = ep->remote_event;
	*local_event = ep->local_event;
	spin_unlock_bh(&ep->lock);
	return bound;
}

/* The source of a put is the client's memory, wherever that is in the kernel. */
static bool kapi_post_source(struct kgni_xfer *x, struct kvec *src)
{
	if (x->arg.type != GNI_POST_FMA_PUT && x->arg.type != GNI_POST_FMA_PUT_W_SYNCFLAG)
		return true;
	src->iov_base = (void *)(uintptr_t)x->arg.local_addr;
	src->iov_len = x->arg.length;
	x->src = src;
	x->pieces = 1;
	return !src->iov_len || (x->arg.local_addr >= TASK_SIZE_MAX &&
				 x->arg.local_addr + src->iov_len > x->arg.local_addr);
}

/* Physical addresses are for the call alone: the driver's rules do not know them. */
static void kapi_post_phys(struct kgni_xfer *x)
{
	if (!(BIT(x->arg.type) & KAPI_RDMA_TYPES))
		return;
	x->phys = x->arg.rdma_mode & GNI_RDMAMODE_PHYS_ADDR;
	x->arg.rdma_mode &= ~GNI_RDMAMODE_PHYS_ADDR;
}

static gni_return_t kapi_post_on(struct gni_ep *ep, gni_post_descriptor_t *descr,
				 struct kgni_xfer *x)
{
	struct gni_cq *cq = ep->cq;
	struct kvec src;
	u32 local_event, tid = 0;
	gni_return_t rc;
	u16 mode;

	if (!kapi_post_target(ep, &x->arg, &local_event) ||
	    !kgni_descr_read(&x->arg, descr, &cq) || !kapi_post_source(x, &src))
		return GNI_RC_INVALID_PARAM;
	kapi_post_phys(x);
	if (cq && (!kapi_is_cq(cq) || cq->nic != ep->nic))
		return GNI_RC_INVALID_PARAM;
	mode = x->arg.cq_mode & GNI_CQMODE_DUAL_EVENTS;
	if (cq && mode) {
		if (!kapi_req_begin(cq, ep, descr, mode, &tid))
			return GNI_RC_ERROR_RESOURCE;
		kref_get(&cq->cq->ref);
		x->src_cq = cq->cq;
		x->arg.src_event = kgni_cqe_post(local_event, tid);
	}
	rc = kapi_rc(kgni_xfer_post(ep->nic->nic, x), GNI_RC_ERROR_RESOURCE);
	if (rc != GNI_RC_SUCCESS && tid)
		kapi_req_free(xa_erase_bh(&cq->reqs, tid & KAPI_TID_INDEX));
	return rc;
}

/* @types: bit n for type n, as the call takes them. */
static gni_return_t kapi_post(struct gni_ep *ep, gni_post_descriptor_t *descr, u32 types)
{
	struct kgni_xfer x = { .kernel = true };

	if (!kapi_is_ep(ep) || !descr || (u32)descr->type >= BITS_PER_TYPE(types) ||
	    !(types & BIT(descr->type)))
		return GNI_RC_INVALID_PARAM;
	x.arg.type = descr->type;
	return kapi_post_on(ep, descr, &x);
}

gni_return_t gni_post_rdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	return kapi_end(kapi_post(ep_hndl, post_descr, KAPI_RDMA_TYPES));
}
EXPORT_SYMBOL_GPL(gni_post_rdma);

gni_return_t gni_post_fma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	return kapi_end(kapi_post(ep_hndl, post_descr, KAPI_FMA_TYPES));
}
EXPORT_SYMBOL_GPL(gni_post_fma);

gni_return_t gni_get_completed(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
			       gni_post_descriptor_t **post_descr)
{
	gni_post_descriptor_t *descr = NULL;
	gni_return_t rc = GNI_RC_SUCCESS;

	if (!kapi_is_cq(cq_hndl) || !post_descr)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (kapi_is_post(event_data))
		descr = kapi_req_take(cq_hndl, event_data);
	*post_descr = descr;
	if (!descr)
		return kapi_end(GNI_RC_DESCRIPTOR_ERROR);
	if (kgni_cqe_status(event_data) != KGNI_ST_OK)
		rc = GNI_RC_TRANSACTION_ERROR;
	descr->status = rc;
	descr->cq_mode_complete = kapi_event_mode(event_data);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_get_completed);

/* Part of kapi_init(). */
int __init kapi_post_init(void)
{
	kapi_req_cache = kmem_cache_create("kgni_kapi_req", sizeof(struct kapi_req), 0, 0, NULL);
	return kapi_req_cache ? 0 : -ENOMEM;
}

/* Part of kapi_exit(). */
void kapi_post_exit(void)
{
	kmem_cache_destroy(kapi_req_cache);
}
