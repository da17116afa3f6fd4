// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Puts, gets and atomic operations the short way: those that need nothing but windows
 * which are open. Whatever is not that simple, or not in order, goes the general way,
 * which begins anew (post.c, window.c).
 *
 * RDMA of what is small goes here, too, while the driver has none of the attachment's, so
 * that nothing overtakes anything.
 *
 * A put to a word and its event are some hundred instructions in all. So what is here is
 * one straight piece of code for each kind of post, and what seldom happens is outside. For
 * puts and atomic operations on one word by the only thread of a program there is the same
 * code once more, without all that words do not need: it calls nothing, and what has to be
 * so is put together before anything branches.
 */
#include "ugni.h"
#include "core/descr.h"
#include <gni/netlink.h>

/* Longer ones would keep other threads from the endpoint for too long. */
#define QUICK_MAX	(256U << 10)

/**
 * struct quick - a post
 * @d: its descriptor
 * @ep: its endpoint, locked
 * @alone: of ugni_alone()
 * @word: of one aligned word, by the only thread; what does not use the windows that were
 *	used last is not simple
 * @put: it is a put, which may go to the first window of a hash as well
 * @to: window to the target, pinned
 * @local: window to the local region, pinned, or NULL
 * @req: request for its source event, or NULL
 * @event: that, if all goes well
 */
struct quick {
	gni_post_descriptor_t *d;
	struct gni_ep *ep;
	bool alone;
	bool word;
	bool put;
	struct ugni_window *to;
	struct ugni_window *local;
	struct ugni_req *req;
	u64 event;
};

enum outcome {
	NOT_SIMPLE,	/* nothing was done */
	DONE,
	ENDED,		/* it may have been done: a window ended meanwhile */
};

/* --- before ---------------------------------------------------------------------------- */

/* To a word: another window than the last time, if it is the first of its hash. */
static inline_always struct ugni_window *first_of_hash(const struct gni_nic *nic,
						       struct ugni_window **hint, u64 peer,
						       const struct kgni_mem_handle *h, u64 addr)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w = ws ? ugni_slot_first(ws, ugni_window_hash(h, (u32)peer)) : NULL;

	if (!w || !ugni_window_leads(w, peer, h, addr, 8))
		return NULL;
	core_store(hint, w);
	return w;
}

static inline_always struct ugni_window *reach(const struct quick *q, struct ugni_window **hint,
					       u64 peer, const gni_mem_handle_t *mh, u64 addr,
					       u64 length)
{
	const struct kgni_mem_handle h = {
		.qword1 = core_load(&mh->qword1),
		.qword2 = core_load(&mh->qword2),
	};
	struct ugni_window *w = core_load(hint);

	if (!q->alone)
		ugni_window_count(w);
	if (ugni_window_leads(w, peer, &h, addr, length))
		return w;
	ugni_window_unpin(w, q->alone);
	if (!q->word)
		return ugni_window_find(q->ep->nic, hint, peer, h, addr, length);
	return q->put ? first_of_hash(q->ep->nic, hint, peer, &h, addr) : NULL;
}

/* Is there anything in modes, length and addresses that is not simple? */
static inline_always bool odd(const struct quick *q)
{
	const gni_post_descriptor_t *d = q->d;
	const u16 mode = d->cq_mode;
	/* One event, or none. */
	u64 is = (mode & ~KGNI_CQMODE_ALL) | (mode & (mode >> 1) & 1) |
		 (d->dlvr_mode & ~KGNI_DLV_ALL);

	if (q->word)
		is |= (d->length ^ 8) | ((d->remote_addr | d->local_addr) & 7);
	else
		is |= (d->length - 1) / QUICK_MAX;
	return unlikely(is);
}

/* What all kinds demand: modes, and the target's window. @rights: KGNI_WINDOW_* */
static inline_always bool reach_target(struct quick *q, u32 rights)
{
	const gni_post_descriptor_t *d = q->d;
	struct ugni_window *w;

	if (odd(q))
		return false;
	q->to = reach(q, &q->ep->window, q->ep->peer, &d->remote_mem_hndl, d->remote_addr,
		      d->length);
	w = q->to;
	if (unlikely(!w) || unlikely(core_load(w->flags) | (~w->rights & rights)))
		return false;
	return likely(!(d->cq_mode & KGNI_CQMODE_REMOTE)) || !(w->rights & KGNI_WINDOW_EVENTS) ||
	       w->ring.ring;
}

static inline_always bool reach_local(struct quick *q, u32 rights)
{
	const gni_post_descriptor_t *d = q->d;
	struct gni_nic *nic = q->ep->nic;

	q->local = reach(q, &nic->local_window, ugni_peer(nic->pe), &d->local_mem_hndl,
			 d->local_addr, d->length);
	if (unlikely(!q->local))
		return false;
	core_store(&q->local->used, true);
	return likely((q->local->rights & rights) == rights);
}

/* What RDMA demands besides. */
static inline_always bool rdma_simple(const struct quick *q)
{
	const gni_post_descriptor_t *d = q->d;

	return likely(!(d->rdma_mode & ~KGNI_RDMA_GETWC_DIS) && d->length <= UGNI_RDMA_QUICK &&
		      (!d->src_cq_hndl || d->src_cq_hndl == q->ep->cq) &&
		      !core_load(&q->ep->nic->rdma));
}

/* Begin a request, if there is to be an event. Return: false if there is no room. */
static inline_always bool begin(struct quick *q, enum kgni_cqe_source source)
{
	const u16 mode = q->d->cq_mode & GNI_CQMODE_DUAL_EVENTS;
	struct gni_ep *ep = q->ep;
	struct gni_cq *cq = ep->cq;

	/* One that tells nothing has a limit of none. */
	if (!mode || unlikely(!cq))
		return true;
	if (unlikely(!q->alone))
		pthread_mutex_lock(&cq->slot.lock);
	if (likely(ep->outstanding[0] < cq->limit))
		q->req = ugni_req_take(&cq->reqs, false);
	if (likely(q->req)) {
		core_store(&ep->outstanding[0], ep->outstanding[0] + 1);
		q->req->descr = q->d;
		q->req->ep = ep;
		q->req->mode = (u8)mode;
		if (q->alone)
			q->req->seen = (u8)mode;
		q->event = kgni_cqe_done(kgni_cqe_post(ep->local_event, ugni_req_post_tid(q->req)),
					 source, KGNI_ST_OK);
		if (unlikely(mode & KGNI_CQMODE_LOCAL))
			q->event |= KGNI_CQE_LOCAL;
	}
	if (unlikely(!q->alone)) {
		if (q->req)
			ugni_add_as(false, &cq->posting, 1U);
		pthread_mutex_unlock(&cq->slot.lock);
	}
	return likely(q->req);
}

/* --- the posts ------------------------------------------------------------------------- */

static inline_always enum outcome put(struct quick *q)
{
	const u64 from = q->d->local_addr, length = q->word ? 8 : q->d->length;
	void *to;

	if (!reach_target(q, KGNI_WINDOW_WRITE))
		return NOT_SIMPLE;
	if (q->word ? !ugni_page_seen(from, length) : unlikely(!ugni_readable(from, length)))
		return NOT_SIMPLE;
	if (!begin(q, KGNI_CQE_FMA))
		return NOT_SIMPLE;
	to = ugni_window_at(q->to, q->d->remote_addr);
	if (q->word)
		core_store((u64 *)to, core_load((const u64 *)(uintptr_t)from));
	else
		ugni_copy(to, (const void *)(uintptr_t)from, length);
	return likely(ugni_window_live(q->to)) ? DONE : ENDED;
}

static inline_always enum outcome rdma_put(struct quick *q)
{
	const gni_post_descriptor_t *d = q->d;

	if (!reach_target(q, KGNI_WINDOW_WRITE) || !rdma_simple(q) || !reach_local(q, 0) ||
	    !begin(q, KGNI_CQE_BTE))
		return NOT_SIMPLE;
	ugni_copy(ugni_window_at(q->to, d->remote_addr), ugni_window_at(q->local, d->local_addr),
		  d->length);
	return likely(ugni_window_live(q->to) && core_load(q->local->live)) ? DONE : ENDED;
}

static inline_always enum outcome get(struct quick *q, enum kgni_cqe_source source)
{
	const gni_post_descriptor_t *d = q->d;

	if (!reach_target(q, 0) || unlikely((d->remote_addr | d->length) & 3) ||
	    (source == KGNI_CQE_BTE && !rdma_simple(q)) || !reach_local(q, KGNI_WINDOW_WRITE) ||
	    !begin(q, source))
		return NOT_SIMPLE;
	ugni_copy(ugni_window_at(q->local, d->local_addr), ugni_window_at(q->to, d->remote_addr),
		  d->length);
	return likely(ugni_window_live(q->to) && core_load(q->local->live)) ? DONE : ENDED;
}

#define AMO_CMDS	0x400
#define AMO_FETCH	0x80
#define AMO_OTHER	0x40	/* not of one 64-bit word, or no command at all */

/* What a command is, an enum kgni_amo_op and the bits above; 0 before somebody asked. */
static u8 amo_kinds[AMO_CMDS];

static ugni_cold u8 amo_find_kind(u32 cmd)
{
	struct kgni_amo amo;
	u8 kind = AMO_OTHER;

	if (kgni_amo_decode(cmd, &amo) && amo.size == 8)
		kind = (u8)((u32)amo.op | (amo.fetch ? AMO_FETCH : 0));
	core_store(&amo_kinds[cmd], kind);
	return kind;
}

static inline_always u8 amo_kind(u32 cmd)
{
	u8 kind;

	if (unlikely(cmd >= AMO_CMDS))
		return AMO_OTHER;
	kind = core_load(&amo_kinds[cmd]);
	return likely(kind) ? kind : amo_find_kind(cmd);
}

static ugni_apart u64 amo_general(u8 kind, u64 *word, u64 a, u64 b)
{
	const struct kgni_amo amo = { .op = kind & ~AMO_FETCH, .size = 8 };

	return kgni_amo_exec(&amo, word, a, b);
}

/* Those that amo_word() needs no call for, if they fetch. */
static inline_always bool amo_is_inline(u8 kind)
{
	return kind == (AMO_FETCH | KGNI_AMO_ADD) || kind == (AMO_FETCH | KGNI_AMO_CSWAP);
}

/* As kgni_amo_exec(). */
static inline_always u64 amo_word(u8 kind, u64 *word, const gni_post_descriptor_t *d)
{
	if ((kind & ~AMO_FETCH) == KGNI_AMO_ADD)
		return __atomic_fetch_add(word, d->first_operand, __ATOMIC_SEQ_CST);
	if ((kind & ~AMO_FETCH) == KGNI_AMO_CSWAP)
		return core_cmpxchg(word, d->first_operand, d->second_operand);
	return amo_general(kind, word, d->first_operand, d->second_operand);
}

/* An operation on one 64-bit word. */
static inline_always enum outcome amo(struct quick *q)
{
	const gni_post_descriptor_t *d = q->d;
	const u32 cmd = d->amo_cmd;
	const u8 kind = q->word ? core_load(&amo_kinds[cmd % AMO_CMDS]) : amo_kind(cmd);
	const struct ugni_window *local;
	u64 old;

	if (q->word ? !amo_is_inline(kind) || unlikely(cmd >= AMO_CMDS) :
		      unlikely(kind & AMO_OTHER || d->length != 8 || d->remote_addr & 7))
		return NOT_SIMPLE;
	if (!reach_target(q, KGNI_WINDOW_WRITE))
		return NOT_SIMPLE;
	if ((q->word || kind & AMO_FETCH) &&
	    ((!q->word && d->local_addr & 7) || !reach_local(q, KGNI_WINDOW_WRITE)))
		return NOT_SIMPLE;
	local = q->local ? q->local : q->to;
	/* Of one that had ended before the driver says more, or does it. */
	if (unlikely(!(core_load(q->to->live) & core_load(local->live))))
		return NOT_SIMPLE;
	if (!begin(q, KGNI_CQE_FMA))
		return NOT_SIMPLE;
	old = amo_word(kind, ugni_window_at(q->to, d->remote_addr), d);
	if (q->local)
		core_store((u64 *)ugni_window_at(q->local, d->local_addr), old);
	return likely(ugni_window_live(q->to) & core_load(local->live)) ? DONE : ENDED;
}

/* --- after ------------------------------------------------------------------------------ */

static inline_always void count(const struct quick *q, u32 type)
{
	const u32 stat = type == GNI_POST_FMA_PUT ? KGNI_STAT_FMA_PUT :
			 type == GNI_POST_FMA_GET ? KGNI_STAT_FMA_GET :
			 type == GNI_POST_RDMA_PUT ? KGNI_STAT_RDMA_PUT :
			 type == GNI_POST_RDMA_GET ? KGNI_STAT_RDMA_GET : KGNI_STAT_AMO;
	u64 *counted = q->to->counted;

	ugni_add_as(q->alone, &counted[stat], 1ULL);
	if (type != GNI_POST_AMO)
		ugni_add_as(q->alone, &counted[stat + 1], q->d->length);
}

static inline_always void leave(const struct quick *q)
{
	if (q->to)
		ugni_window_unpin(q->to, q->alone);
	if (q->local)
		ugni_window_unpin(q->local, q->alone);
}

/* The target's event. Return: what became of the post. */
static ugni_apart enum kgni_cqe_status tell_target(struct gni_ep *ep, struct ugni_window *w,
						   const gni_post_descriptor_t *d)
{
	const struct ugni_event e = {
		.data = ep->remote_event,
		.type = d->type,
		.addr = d->remote_addr,
		.length = d->length,
	};

	return ugni_window_event(ep->nic, w, &e);
}

/* Its source event, as the queue's ring has it. */
static ugni_cold gni_return_t tell_by_ring(struct gni_cq *cq, struct ugni_req *req, u64 event,
					   bool alone)
{
	req->seen = 0;
	ugni_cq_push(cq, event);
	if (!alone)
		ugni_add_as(false, &cq->posting, -1U);
	return GNI_RC_SUCCESS;
}

static inline_always u64 failed(u64 event, enum kgni_cqe_status status)
{
	return event | (u64)status << KGNI_CQE_STATUS_SHIFT;
}

/* It was carried out, and counts if all went well. Its source event is still to be told. */
static inline_always enum kgni_cqe_status finish(const struct quick *q, u32 type)
{
	enum kgni_cqe_status status = KGNI_ST_OK;

	if (!q->word && unlikely(q->d->cq_mode & KGNI_CQMODE_REMOTE))
		status = tell_target(q->ep, q->to, q->d);
	if (likely(status == KGNI_ST_OK))
		count(q, type);
	core_store(&q->to->used, true);
	return status;
}

static inline_always void tell_source(const struct quick *q, enum kgni_cqe_status status)
{
	struct gni_cq *cq = q->ep->cq;

	if (q->req && (!q->alone || status != KGNI_ST_OK || !ugni_cq_keep(cq, q->event)))
		tell_by_ring(cq, q->req, failed(q->event, status), q->alone);
}

/* An atomic operation that met the end of a window: nobody knows if it was carried out. */
static ugni_cold gni_return_t end_amo(const struct quick *q)
{
	const struct ugni_event e = {
		.type = q->d->type,
		.addr = q->d->remote_addr,
		.length = q->d->length,
	};

	ugni_window_tell(q->ep->nic, q->to, KGNI_ST_ABORTED, &e);
	if (q->req)
		tell_by_ring(q->ep->cq, q->req, failed(q->event, KGNI_ST_ABORTED), q->alone);
	leave(q);
	if (!q->alone)
		pthread_mutex_unlock(&q->ep->slot.lock);
	return GNI_RC_SUCCESS;
}

/* A put or get that did: the driver does it once more. The endpoint is unlocked. */
static ugni_cold gni_return_t post_again(const struct quick *q)
{
	struct kgni_ioc_post arg = { .type = q->d->type };
	struct gni_cq *cq = q->req ? q->ep->cq : NULL;
	struct ugni_window **hint = &q->ep->window;
	struct gni_nic *nic = q->ep->nic;
	gni_cq_handle_t none = NULL;
	gni_return_t rc;
	u32 tid = 0;

	kgni_descr_read(&arg, q->d, &none);
	if (cq)
		q->req->seen = 0;
	if (arg.type <= GNI_POST_RDMA_GET && cq) {
		q->req->rdma = true;
		q->req->async = true;
	}
	arg.remote_pe = q->ep->remote_pe;
	arg.remote_event = q->ep->remote_event;
	if (cq) {
		tid = ugni_req_tid(q->req);
		arg.src_cq = cq->id;
		arg.src_event = kgni_cqe_post(q->ep->local_event, tid);
		if (q->alone)
			ugni_add(&cq->posting, 1U);
	}
	leave(q);
	if (!q->alone)
		pthread_mutex_unlock(&q->ep->slot.lock);
	rc = ugni_post(nic, hint, &arg, cq);
	if (cq)
		ugni_cq_posted(cq, tid, false, rc);
	return rc;
}

static inline_always enum outcome carry_out(struct quick *q, u32 type)
{
	return type == GNI_POST_FMA_PUT ? put(q) :
	       type == GNI_POST_FMA_GET ? get(q, KGNI_CQE_FMA) :
	       type == GNI_POST_RDMA_PUT ? rdma_put(q) :
	       type == GNI_POST_RDMA_GET ? get(q, KGNI_CQE_BTE) : amo(q);
}

/* Return: true if it was done, with @rc for the caller. */
static inline_always bool quickly(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *d, u32 type,
				  gni_return_t *rc)
{
	struct quick q = { .d = d, .ep = ep_hndl, .alone = ugni_alone() };
	enum outcome outcome;
	struct quick ended;

	if (!ugni_is_ep(ep_hndl) || (unlikely(!q.alone) && !ugni_ep_lock(ep_hndl)))
		return false;
	outcome = carry_out(&q, type);
	if (unlikely(outcome == ENDED)) {
		ended = q;
		*rc = type == GNI_POST_AMO ? end_amo(&ended) : post_again(&ended);
		return true;
	}
	if (likely(outcome == DONE))
		tell_source(&q, finish(&q, type));
	leave(&q);
	if (unlikely(!q.alone))
		pthread_mutex_unlock(&q.ep->slot.lock);
	*rc = GNI_RC_SUCCESS;
	return likely(outcome == DONE);
}

static ugni_apart gni_return_t fma_quickly(gni_ep_handle_t ep_hndl,
					   gni_post_descriptor_t *post_descr)
{
	gni_return_t rc;

	if (unlikely(!post_descr))
		return ugni_post_fma(ep_hndl, post_descr);
	if (post_descr->type == GNI_POST_FMA_PUT) {
		if (likely(quickly(ep_hndl, post_descr, GNI_POST_FMA_PUT, &rc)))
			return rc;
	} else if (post_descr->type == GNI_POST_AMO) {
		if (likely(quickly(ep_hndl, post_descr, GNI_POST_AMO, &rc)))
			return rc;
	} else if (post_descr->type == GNI_POST_FMA_GET) {
		if (likely(quickly(ep_hndl, post_descr, GNI_POST_FMA_GET, &rc)))
			return rc;
	}
	return ugni_post_fma(ep_hndl, post_descr);
}

/* A post of a word, for what comes after it and is the same for all posts. */
static inline_always struct quick of_word(struct gni_ep *ep, gni_post_descriptor_t *d,
					  struct ugni_req *req, u64 event)
{
	return (struct quick){
		.d = d,
		.ep = ep,
		.alone = true,
		.to = ep->window,
		.req = req,
		.event = event,
	};
}

/* That of a word met the end of a window. */
static ugni_cold gni_return_t end_word(struct gni_ep *ep, gni_post_descriptor_t *d,
				       struct ugni_req *req, u64 event)
{
	const struct quick q = of_word(ep, d, req, event);

	return d->type == GNI_POST_AMO ? end_amo(&q) : post_again(&q);
}

/* It was carried out, and the target is to be told first. */
static ugni_apart gni_return_t tell_both(struct gni_ep *ep, gni_post_descriptor_t *d,
					 struct ugni_req *req, u64 event, u32 type)
{
	const struct quick q = of_word(ep, d, req, event);

	tell_source(&q, finish(&q, type));
	return GNI_RC_SUCCESS;
}

static inline_always gni_return_t word(gni_ep_handle_t ep, gni_post_descriptor_t *d, u32 type)
{
	struct quick q = {
		.d = d,
		.ep = ep,
		.alone = true,
		.word = true,
		.put = type == GNI_POST_FMA_PUT,
	};
	enum outcome outcome = ugni_is_ep(ep) ? carry_out(&q, type) : NOT_SIMPLE;

	if (unlikely(outcome == NOT_SIMPLE))
		return fma_quickly(ep, d);
	if (unlikely(outcome == ENDED))
		return end_word(ep, d, q.req, q.event);
	if (unlikely(d->cq_mode & KGNI_CQMODE_REMOTE))
		return tell_both(ep, d, q.req, q.event, type);
	finish(&q, type);
	if (q.req && !ugni_cq_keep(ep->cq, q.event))
		return tell_by_ring(ep->cq, q.req, q.event, true);
	return GNI_RC_SUCCESS;
}

static ugni_apart ugni_in_page(2048)
gni_return_t amo_of_word(gni_ep_handle_t ep, gni_post_descriptor_t *d)
{
	return word(ep, d, GNI_POST_AMO);
}

UGNI_PUBLIC ugni_in_page(1024)
gni_return_t GNI_PostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	if (unlikely(!post_descr | !ugni_alone()))
		return fma_quickly(ep_hndl, post_descr);
	if (likely(post_descr->type == GNI_POST_FMA_PUT))
		return word(ep_hndl, post_descr, GNI_POST_FMA_PUT);
	if (post_descr->type == GNI_POST_AMO)
		return amo_of_word(ep_hndl, post_descr);
	return fma_quickly(ep_hndl, post_descr);
}

UGNI_PUBLIC gni_return_t GNI_PostRdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	gni_return_t rc;

	if (unlikely(!post_descr))
		return ugni_post_rdma(ep_hndl, post_descr);
	if (post_descr->type == GNI_POST_RDMA_PUT) {
		if (likely(quickly(ep_hndl, post_descr, GNI_POST_RDMA_PUT, &rc)))
			return rc;
	} else if (post_descr->type == GNI_POST_RDMA_GET) {
		if (likely(quickly(ep_hndl, post_descr, GNI_POST_RDMA_GET, &rc)))
			return rc;
	}
	return ugni_post_rdma(ep_hndl, post_descr);
}
