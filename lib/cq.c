// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion queues: taking entries from the ring that the driver shares with
 * us (kernel/core/ring.h), and waiting for them. Driver: kernel/cq.c.
 *
 * An entry that is taken is noted in the request it belongs to, so that
 * GNI_GetCompleted() answers only for events that were handed out. The request
 * of a short message ends here, unless the message is sent again (smsg.c): then
 * its entry is handed out to nobody.
 */
#include <errno.h>

#include "ugni.h"

/* So many messages are sent again before a call comes back. */
#define AGAIN_MAX	64

static gni_return_t cq_create(struct gni_nic *nic, struct kgni_ioc_cq_create *arg,
			      struct gni_cq *cq)
{
	struct kgni_ioc_cq_destroy destroy = { 0 };
	gni_return_t rc;
	void *mem;
	int error;

	rc = ugni_nic_call(nic, KGNI_IOC_CQ_CREATE, arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_more(rc, "entry_count is %u, delay_count %u, mode 0x%x", arg->entries,
				 arg->delay, arg->mode);
	cq->nic = nic;
	cq->id = arg->id;
	cq->entries = arg->entries;
	cq->delay = arg->delay < arg->slots ? arg->delay : arg->slots - 1;
	cq->mode = arg->mode;
	cq->limit = arg->entries;
	cq->own_max = arg->slots < UGNI_CQ_OWN ? arg->slots : UGNI_CQ_OWN;
	if (nic->modes & GNI_CDM_MODE_DUAL_EVENTS)
		cq->limit = arg->entries > 1 ? arg->entries / 2 : 1;
	ugni_reqs_init(&cq->reqs);
	if (arg->mode & GNI_CQ_UNMANAGED) {
		cq->limit = 0;
		return GNI_RC_SUCCESS;
	}
	mem = ugni_sys_map(nic->fd, arg->mmap_offset, arg->mmap_length, &error);
	if (!mem) {
		destroy.id = arg->id;
		ugni_nic_call(nic, KGNI_IOC_CQ_DESTROY, &destroy);
		return ugni_more(ugni_answer(error), "mapping the queue");
	}
	cq->map_length = arg->mmap_length;
	kgni_ring_view_init(&cq->ring, mem, arg->slots);
	cq->plain = !cq->handler;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_CqCreate(gni_nic_handle_t nic_hndl, uint32_t entry_count,
				      uint32_t delay_count, gni_cq_mode_t mode,
				      void (*handler)(gni_cq_entry_t *entry, void *context),
				      void *context, gni_cq_handle_t *cq_hndl)
{
	struct kgni_ioc_cq_create arg = {
		.entries = entry_count,
		.delay = delay_count,
		.mode = mode,
	};
	struct gni_nic *nic = ugni_nic(nic_hndl);
	struct gni_cq *cq;
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!cq_hndl)
		return ugni_end(ugni_null(cq_hndl));
	cq = ugni_alloc(&ugni_cqs);
	if (!cq)
		return ugni_end(ugni_nomem("queue"));
	cq->handler = handler;
	cq->context = context;
	rc = cq_create(nic, &arg, cq);
	if (rc != GNI_RC_SUCCESS) {
		ugni_free(&ugni_cqs, cq);
		return ugni_end(rc);
	}
	ugni_publish(&ugni_cqs, cq);
	*cq_hndl = cq;
	return GNI_RC_SUCCESS;
}

/* The count of an endpoint's requests on this queue. */
static u32 *outstanding(const struct gni_cq *cq, struct gni_ep *ep)
{
	return &ep->outstanding[cq != ep->cq];
}

/* A channel's request is over when the channel is, and all of its messages. */
static void req_end(struct gni_cq *cq, struct ugni_req *r)
{
	if (r->channel && !r->messages)
		return;
	if (r->ep)
		ugni_add(outstanding(cq, r->ep), -1U);
	if (r->rdma)
		ugni_add(&cq->nic->rdma, -1U);
	if (r->channel)
		r->messages--;
	if (!r->channel || (!r->ep && !r->messages))
		ugni_req_put(&cq->reqs, r);
}

/* Called without the lock too, by threads that a destroyed queue may surprise. */
bool ugni_cq_ready(const struct gni_cq *cq)
{
	const struct gni_nic *nic = core_load(&cq->nic);

	return cq->ring.ring && nic && !ugni_away(nic) &&
	       (ugni_cq_has_own(cq) || kgni_ring_ready(&cq->ring));
}

/*
 * Put an entry into the ring, behind those that are kept, and wake who waits for it. All
 * that lie here count as if they were in the ring.
 */
void ugni_cq_push(struct gni_cq *cq, u64 entry)
{
	const u32 n = core_load(&cq->own_tail) - core_load(&cq->own_head);
	struct kgni_ioc_cq_wake arg = { .id = cq->id };

	if (n && kgni_ring_count(&cq->ring) + n > cq->ring.mask)
		core_store_release(&cq->ring.ring->overrun, 1);
	else
		kgni_ring_push(&cq->ring, entry);
	if (ugni_must_wake(&cq->ring, cq->delay))
		ugni_nic_call(cq->nic, KGNI_IOC_CQ_WAKE, &arg);
}

/* Were events lost, and is nothing here or inside the driver that could be one of them? */
static bool cq_drained(const struct gni_cq *cq)
{
	return cq->lost && !__atomic_load_n(&cq->posting, __ATOMIC_ACQUIRE) &&
	       !ugni_cq_ready(cq);
}

/* Likewise for posts that the driver carries out later. */
static bool cq_settled(const struct gni_cq *cq)
{
	struct kgni_ioc_cq_owed arg = { .id = cq->id };

	return ugni_nic_call(cq->nic, KGNI_IOC_CQ_OWED, &arg) == GNI_RC_SUCCESS &&
	       cq_drained(cq);
}

/* Must a request of a drained queue wait for more? @asked, @settled: of cq_settled() */
static bool req_waits(const struct gni_cq *cq, const struct ugni_req *r, bool *asked,
		      bool *settled)
{
	/* It may be the first of two events; the message may not be there. */
	if (r->seen || (r->smsg && r->ep && (r->async || r->copy)))
		return true;
	if (r->async && !*asked) {
		*asked = true;
		*settled = cq_settled(cq);
	}
	return r->async && !*settled;
}

/*
 * Events lost to an overrun leave requests that nobody would end. Once the
 * queue was drained, those that are carried out, and whose event is not with the
 * program, are of that kind. The program has its descriptors back by the overrun
 * itself.
 */
static void reap_lost(struct gni_cq *cq)
{
	bool asked = false, settled = false, left = false;
	struct ugni_req *r;
	u32 i;

	if (!cq_drained(cq))
		return;
	for (i = 0; (r = ugni_req_at(&cq->reqs, i)); i++) {
		if (!r->live)
			continue;
		if (req_waits(cq, r, &asked, &settled)) {
			left = true;
			continue;
		}
		do
			req_end(cq, r);
		while (r->live && r->channel && r->messages);
	}
	core_store(&cq->lost, left);
}

/* How many requests of an endpoint are on this queue. */
static u32 req_here(const struct gni_cq *cq, const struct gni_ep *ep)
{
	const struct ugni_req *r;
	u32 i, n = 0;

	for (i = 0; (r = ugni_req_at(&cq->reqs, i)); i++)
		n += r->live && r->ep == ep;
	return n;
}

/* Count a request more, unless there are too many. */
static bool req_count(struct gni_cq *cq, struct gni_ep *ep)
{
	/* Posts to several queues may count at once, so count first. */
	if (ugni_add(outstanding(cq, ep), 1U) <= cq->limit)
		return true;
	/* Of those some may be on other queues. */
	if (cq != ep->cq && req_here(cq, ep) < cq->limit)
		return true;
	ugni_add(outstanding(cq, ep), -1U);
	return false;
}

static gni_return_t req_begin(struct gni_cq *cq, struct gni_ep *ep, const struct ugni_req *what,
			      u32 *tid)
{
	struct ugni_req *r;
	gni_return_t rc;

	if (!req_count(cq, ep)) {
		reap_lost(cq);
		if (!req_count(cq, ep))
			return ugni_bad(GNI_RC_ERROR_RESOURCE,
					"%u transactions of the endpoint wait for events, as many as may",
					cq->limit);
	}
	rc = ugni_req_get(&cq->reqs, what->smsg, &r, tid);
	if (rc != GNI_RC_SUCCESS) {
		ugni_add(outstanding(cq, ep), -1U);
		return ugni_bad(rc, "the queue has no room for a request more");
	}
	r->descr = what->descr;
	r->ep = ep;
	r->msgq = what->msgq;
	r->async = what->async;
	r->rdma = what->rdma;
	r->copy = what->copy;
	r->mode = what->mode;
	ugni_add(&cq->posting, 1U);
	return GNI_RC_SUCCESS;
}

/**
 * ugni_cq_begin - begin a request, before the driver is asked
 * @cq: queue that will be told
 * @ep: endpoint, locked
 * @what: the request: @descr, @mode, @smsg, @async and @copy, which is the
 *	request's from here on if there is one
 * @tid: out: transaction id for the event
 *
 * The event may be there, taken and done with before the driver's answer is:
 * from here on the request is not the poster's, who still owes the queue
 * ugni_cq_posted().
 *
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE for too many outstanding;
 * GNI_RC_ERROR_NOMEM.
 */
gni_return_t ugni_cq_begin(struct gni_cq *cq, struct gni_ep *ep, const struct ugni_req *what,
			   u32 *tid)
{
	gni_return_t rc;

	ugni_mutex_lock(&cq->slot.lock);
	rc = req_begin(cq, ep, what, tid);
	ugni_mutex_unlock(&cq->slot.lock);
	return rc;
}

/**
 * ugni_cq_channel - begin the request that stands for messages of a channel
 * @cq: queue that is told of them
 * @ep: endpoint of the channel, locked
 *
 * For messages that are done when they are sent: each adds one to the request's
 * messages, and to those that are outstanding of the endpoint.
 *
 * Return: the request, until ugni_cq_channel_end(); NULL if there is no room for it.
 */
struct ugni_req *ugni_cq_channel(struct gni_cq *cq, struct gni_ep *ep)
{
	struct ugni_req *r = NULL;
	u32 tid;

	ugni_mutex_lock(&cq->slot.lock);
	if (ugni_req_get(&cq->reqs, true, &r, &tid) == GNI_RC_SUCCESS) {
		r->ep = ep;
		r->msgq = false;
		r->async = false;
		r->mode = GNI_CQMODE_GLOBAL_EVENT;
		r->channel = true;
		r->messages = 0;
	}
	ugni_mutex_unlock(&cq->slot.lock);
	return r;
}

/* The channel goes; what is outstanding of its messages is not the endpoint's any more. */
void ugni_cq_channel_end(struct gni_cq *cq, struct ugni_req *r)
{
	ugni_mutex_lock(&cq->slot.lock);
	ugni_add(outstanding(cq, r->ep), -r->messages);
	r->ep = NULL;
	if (!r->messages)
		ugni_req_put(&cq->reqs, r);
	ugni_mutex_unlock(&cq->slot.lock);
}

/**
 * ugni_cq_hold - keep the request of a message that may be sent again
 * @cq: queue that will be told
 * @ep: endpoint that the message was sent on, locked
 * @tid: its transaction id
 *
 * Context: after the message's event was taken.
 * Return: the copy of the message, until ugni_cq_let_go(); NULL if it is not to
 * be sent again, because its endpoint is another now.
 */
void *ugni_cq_hold(struct gni_cq *cq, const struct gni_ep *ep, u32 tid)
{
	void *copy = NULL;
	struct ugni_req *r;

	if (ep->cq != cq)
		return NULL;
	ugni_mutex_lock(&cq->slot.lock);
	r = ugni_req_find(&cq->reqs, tid, true);
	if (r && r->ep == ep && r->copy) {
		copy = r->copy;
		r->async = false;
		ugni_add(&cq->posting, 1U);
	}
	ugni_mutex_unlock(&cq->slot.lock);
	return copy;
}

void ugni_cq_let_go(struct gni_cq *cq)
{
	ugni_add(&cq->posting, -1U);
}

/* Count another try. Return: false if there were @max. */
bool ugni_cq_try(struct gni_cq *cq, u32 tid, u32 max)
{
	struct ugni_req *r;
	bool more;

	ugni_mutex_lock(&cq->slot.lock);
	r = ugni_req_find(&cq->reqs, tid, true);
	more = r && r->tries < max;
	if (more)
		r->tries++;
	ugni_mutex_unlock(&cq->slot.lock);
	return more;
}

/* End what an overrun left behind. */
void ugni_cq_settle(struct gni_cq *cq)
{
	ugni_mutex_lock(&cq->slot.lock);
	reap_lost(cq);
	ugni_mutex_unlock(&cq->slot.lock);
}

/**
 * ugni_cq_posted - the driver answered
 * @cq: queue that will be told, or was
 * @tid: the request's transaction id
 * @smsg: it is for a short message
 * @rc: the answer; unless it is GNI_RC_SUCCESS there will be no event
 */
void ugni_cq_posted(struct gni_cq *cq, u32 tid, bool smsg, gni_return_t rc)
{
	struct ugni_req *r;

	if (rc != GNI_RC_SUCCESS) {
		ugni_mutex_lock(&cq->slot.lock);
		r = ugni_req_find(&cq->reqs, tid, smsg);
		if (r)
			req_end(cq, r);
		ugni_mutex_unlock(&cq->slot.lock);
	}
	ugni_add(&cq->posting, -1U);
}

/* Are there sends through a message queue whose events were not taken? @pe: to whom, or NULL */
bool ugni_cq_owes_msgq(struct gni_cq *cq, const u32 *pe)
{
	struct ugni_req *r;
	bool owes = false;
	u32 i;

	pthread_mutex_lock(&cq->slot.lock);
	reap_lost(cq);
	for (i = 0; !owes && (r = ugni_req_at(&cq->reqs, i)); i++)
		owes = r->live && r->msgq && r->ep && (!pe || r->ep->remote_pe == *pe);
	pthread_mutex_unlock(&cq->slot.lock);
	return owes;
}

/* Part the requests of an endpoint, or of all, from it. */
static void forget_requests(struct gni_cq *cq, struct gni_ep *ep)
{
	struct ugni_req *r;
	u32 i;

	if (ep && !core_load(outstanding(cq, ep)))
		return;
	for (i = 0; (r = ugni_req_at(&cq->reqs, i)); i++) {
		if (!r->ep || (ep && r->ep != ep))
			continue;
		ugni_add(outstanding(cq, r->ep), r->channel ? -r->messages : -1U);
		/* That of a channel stays its own; nothing of it is outstanding. */
		if (r->channel)
			r->messages = 0;
		else
			r->ep = NULL;
	}
}

/* The endpoint, or what it was bound to, goes; its requests stay. */
void ugni_cq_forget_requests(struct gni_cq *cq, struct gni_ep *ep)
{
	ugni_mutex_lock(&cq->slot.lock);
	forget_requests(cq, ep);
	ugni_mutex_unlock(&cq->slot.lock);
}

/* The endpoint goes; its requests stay. */
void ugni_cq_forget_ep(struct gni_cq *cq, struct gni_ep *ep)
{
	ugni_mutex_lock(&cq->slot.lock);
	forget_requests(cq, ep);
	if (cq == ep->cq)
		cq->eps--;
	ugni_mutex_unlock(&cq->slot.lock);
}

/* The slot of a queue that was destroyed long ago is used again. */
void ugni_cq_recycle(void *obj)
{
	struct gni_cq *cq = obj;

	if (cq->map_length)
		ugni_sys_unmap(cq->ring.ring, cq->map_length);
}

/* Called with the queue locked; unlocks it. */
static void cq_destroy(struct gni_cq *cq)
{
	struct kgni_ioc_cq_destroy arg = { .id = cq->id };

	ugni_retire(&ugni_cqs, cq);
	ugni_nic_call(cq->nic, KGNI_IOC_CQ_DESTROY, &arg);
	/* At a checkpoint the mapping may be gone, and its addresses another's. */
	if (ugni_away(cq->nic))
		cq->map_length = 0;
	if (cq->map_length)
		ugni_sys_vacate(cq->ring.ring, cq->map_length);
	forget_requests(cq, NULL);
	ugni_reqs_destroy(&cq->reqs);
	ugni_chan_leave(cq);
	ugni_unlock(cq);
	ugni_free(&ugni_cqs, cq);
}

UGNI_PUBLIC gni_return_t GNI_CqDestroy(gni_cq_handle_t cq_hndl)
{
	struct gni_cq *cq = ugni_lock(&ugni_cqs, cq_hndl);
	u32 eps;

	if (!cq)
		return ugni_end(ugni_no("queue", cq_hndl));
	eps = cq->eps;
	if (eps) {
		ugni_unlock(cq);
		return ugni_end(ugni_bad(GNI_RC_ERROR_RESOURCE, "%u endpoints use the queue",
					 eps));
	}
	cq_destroy(cq);
	return GNI_RC_SUCCESS;
}

/* The NIC handle goes, and its queues with it. */
void ugni_cq_destroy_all(const struct gni_nic *nic)
{
	struct gni_cq *cq;
	u32 i = 0;

	while ((cq = ugni_next(&ugni_cqs, &i))) {
		if (core_load(&cq->nic) != nic || !ugni_lock(&ugni_cqs, cq))
			continue;
		if (cq->nic == nic)
			cq_destroy(cq);
		else
			ugni_unlock(cq);
	}
}

static bool is_source(gni_cq_entry_t e)
{
	return kgni_cqe_source(e) == KGNI_CQE_FMA || kgni_cqe_source(e) == KGNI_CQE_BTE;
}

static bool is_post(gni_cq_entry_t e)
{
	return is_source(e) && kgni_cqe_type(e) == KGNI_CQE_POST;
}

static u16 event_mode(gni_cq_entry_t e)
{
	return e & KGNI_CQE_LOCAL ? GNI_CQMODE_LOCAL_EVENT : GNI_CQMODE_GLOBAL_EVENT;
}

static void note_entry(struct gni_cq *cq, gni_cq_entry_t e)
{
	bool smsg = kgni_cqe_is_smsg(e);
	u32 tid = (u32)kgni_cqe_tid(e);
	struct ugni_req *r;

	if (!is_source(e))
		return;
	r = ugni_req_find(&cq->reqs, tid, smsg);
	if (!r)
		return;
	if (smsg)
		req_end(cq, r);
	else
		r->seen |= event_mode(e) & r->mode;
}

static gni_return_t entry_rc(gni_cq_entry_t e)
{
	char text[128];

	if (kgni_cqe_status(e) == KGNI_ST_OK)
		return GNI_RC_SUCCESS;
	if (!ugni_debugging())
		return GNI_RC_TRANSACTION_ERROR;
	ugni_entry_text(e, text, sizeof(text));
	return ugni_bad(GNI_RC_TRANSACTION_ERROR, "event 0x%llx: %s", (unsigned long long)e, text);
}

static gni_return_t overran(void)
{
	return ugni_bad(GNI_RC_ERROR_RESOURCE, "the queue overran, events are lost");
}

/*
 * The endpoint of a message that is to be sent again, or was and has arrived:
 * then this entry is for ugni_smsg_again() first. Else NULL.
 */
static struct gni_ep *again_ep(const struct gni_cq *cq, gni_cq_entry_t e)
{
	struct ugni_req *r;

	if (!is_source(e) || !kgni_cqe_is_smsg(e))
		return NULL;
	r = ugni_req_find(&cq->reqs, (u32)kgni_cqe_tid(e), true);
	if (!r || !r->copy)
		return NULL;
	if (kgni_cqe_status(e) == KGNI_ST_OK ? !r->tries : kgni_cqe_status(e) != KGNI_ST_LINK)
		return NULL;
	/* Nobody may take it for one whose event was lost, till ugni_cq_hold(). */
	r->async = true;
	return r->ep;
}

/* An entry was taken. @ep: out: who must be asked before it is noted, or NULL */
static gni_return_t entry_taken(struct gni_cq *cq, gni_cq_entry_t e, struct gni_ep **ep)
{
	*ep = again_ep(cq, e);
	if (!*ep)
		note_entry(cq, e);
	return entry_rc(e);
}

static gni_return_t cq_overran(struct gni_cq *cq, gni_cq_entry_t *entry)
{
	core_store(&cq->lost, true);
	*entry = kgni_cqe_overrun();
	return overran();
}

static gni_return_t nothing_there(void)
{
	return ugni_bad(GNI_RC_NOT_DONE, "there is no event");
}

/* An entry of a message that was kept was taken. Of a post's it is noted before. */
static ugni_apart gni_return_t own_message(struct gni_cq *cq, u64 e)
{
	const u32 tid = (u32)CORE_BITS(e, KGNI_CQE_SMSG_TID_SHIFT, KGNI_CQE_SMSG_TID_BITS);
	struct ugni_req *r = ugni_req_find(&cq->reqs, tid, true);

	if (likely(r))
		req_end(cq, r);
	return GNI_RC_SUCCESS;
}

/* The same, of a channel that is still there, as they almost all are. */
static inline_always gni_return_t own_message_quickly(struct gni_cq *cq, u64 e)
{
	const u32 tid = (u32)CORE_BITS(e, KGNI_CQE_SMSG_TID_SHIFT, KGNI_CQE_SMSG_TID_BITS);
	const u32 index = tid & (UGNI_REQ_MAX - 1);
	const bool far = index >= UGNI_REQ_FIRST, beyond = index >= cq->reqs.used;
	struct ugni_req *r;
	u32 *waiting;
	bool same;

	if (unlikely(far | beyond))
		return own_message(cq, e);
	r = &cq->reqs.chunk[0][index];
	same = CORE_BITS(r->id, 0, KGNI_CQE_SMSG_TID_BITS) == tid;
	if (unlikely(!(r->live & r->channel & same) | !r->ep | !r->messages))
		return own_message(cq, e);
	waiting = outstanding(cq, r->ep);
	core_store(waiting, *waiting - 1);
	r->messages--;
	return GNI_RC_SUCCESS;
}

/* Take an entry that was kept. */
static inline_always gni_return_t take_own(struct gni_cq *cq, gni_cq_entry_t *entry)
{
	const u64 e = ugni_cq_take_own(cq);

	*entry = e;
	return kgni_cqe_type(e) == KGNI_CQE_POST ? GNI_RC_SUCCESS : own_message_quickly(cq, e);
}

/* Of those that were lost the program hears first, as kgni_ring_pop() has it. */
static inline_always bool own_is_next(const struct gni_cq *cq)
{
	return ugni_cq_has_own(cq) && likely(!core_load(&cq->ring.ring->overrun));
}

/* @ep: as entry_taken() */
static gni_return_t pop_locked(struct gni_cq *cq, gni_cq_entry_t *entry, struct gni_ep **ep)
{
	u64 e = 0;

	*ep = NULL;
	if (own_is_next(cq))
		return take_own(cq, entry);
	switch (kgni_ring_pop(&cq->ring, &e)) {
	case KGNI_RING_ENTRY:
		*entry = e;
		return entry_taken(cq, e, ep);
	case KGNI_RING_OVERRUN:
		return cq_overran(cq, entry);
	default:
		return nothing_there();
	}
}

/* The entry of a message of which again_ep() said that it may be sent again. */
static gni_return_t message_done(struct gni_cq *cq, struct gni_ep *ep, gni_cq_entry_t *entry)
{
	switch (ugni_smsg_again(cq, ep, *entry)) {
	case UGNI_AGAIN_SENT:
		return ugni_bad(GNI_RC_NOT_DONE, "a message was sent again");
	case UGNI_AGAIN_ARRIVED:
		gni_cq_clr_status(entry);
		break;
	case UGNI_AGAIN_FAILED:
		break;
	}
	if (ugni_lock(&ugni_cqs, cq)) {
		note_entry(cq, *entry);
		ugni_unlock(cq);
	}
	return entry_rc(*entry);
}

/*
 * A message that may have to be sent again, and whose event was lost: it is taken for
 * one that failed. Return: its endpoint; NULL if there is none.
 */
static struct gni_ep *lost_message(struct gni_cq *cq, gni_cq_entry_t *entry)
{
	struct ugni_req *r;
	u32 i;

	for (i = 0; cq_drained(cq) && (r = ugni_req_at(&cq->reqs, i)); i++) {
		if (!r->live || !r->copy || r->async || !r->ep)
			continue;
		r->async = true;	/* as in again_ep() */
		*entry = kgni_cqe_done(kgni_cqe_smsg(0, ugni_req_tid(r), KGNI_CQE_SMSG),
				       KGNI_CQE_FMA, KGNI_ST_LINK);
		return r->ep;
	}
	return NULL;
}

/*
 * Find out what became of transactions whose events were lost, with no lock held.
 * Messages that did not arrive are sent again, and have another event.
 */
static void cq_recover(gni_cq_handle_t cq_hndl)
{
	gni_cq_entry_t entry;
	struct gni_cq *cq;
	struct gni_ep *ep;
	int i;

	for (i = 0; i < AGAIN_MAX; i++) {
		cq = ugni_lock(&ugni_cqs, cq_hndl);
		if (!cq)
			return;
		ep = lost_message(cq, &entry);
		if (!ep)
			reap_lost(cq);
		ugni_unlock(cq);
		if (!ep)
			return;
		message_done(cq, ep, &entry);
	}
}

/* Take one entry; @again: out: it was of a message that was sent again. */
static gni_return_t cq_take(gni_cq_handle_t cq_hndl, gni_cq_entry_t *entry, bool *again)
{
	struct gni_cq *cq = ugni_lock(&ugni_cqs, cq_hndl);
	void (*handler)(gni_cq_entry_t *entry, void *context);
	struct gni_ep *ep;
	void *context;
	gni_return_t rc;

	*again = false;
	if (!cq)
		return ugni_no("queue", cq_hndl);
	rc = pop_locked(cq, entry, &ep);
	handler = cq->handler;
	context = cq->context;
	ugni_unlock(cq);
	if (ep) {
		rc = message_done(cq, ep, entry);
		*again = rc == GNI_RC_NOT_DONE;
	}
	if (handler && (rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR))
		handler(entry, context);
	return rc;
}

/* Take the next entry of a queue that seems to have one. */
static gni_return_t cq_pop(gni_cq_handle_t cq_hndl, gni_cq_entry_t *entry)
{
	gni_return_t rc;
	bool again;
	int i;

	for (i = 0; i < AGAIN_MAX; i++) {
		rc = cq_take(cq_hndl, entry, &again);
		if (!again)
			return rc;
	}
	return GNI_RC_NOT_DONE;
}

/* An entry that is of no peer was taken by the only thread. */
static ugni_apart gni_return_t take_quickly(struct gni_cq *cq, gni_cq_entry_t *entry)
{
	struct gni_ep *ep;
	gni_return_t rc = entry_taken(cq, *entry, &ep);

	if (ep)
		rc = message_done(cq, ep, entry);
	return ep && rc == GNI_RC_NOT_DONE ? cq_pop(cq, entry) : rc;
}

/* GNI_CqGetEvent() for more than one thread, with a handler, or after an overrun. */
static ugni_cold gni_return_t get_event(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data)
{
	struct gni_cq *cq = ugni_cq(cq_hndl);

	if (!cq)
		return ugni_no("queue", cq_hndl);
	if (!event_data)
		return ugni_null(event_data);
	if (ugni_cq_ready(cq))
		return cq_pop(cq_hndl, event_data);
	if (core_load(&cq->lost))
		cq_recover(cq_hndl);
	return nothing_there();
}

UGNI_PUBLIC ugni_in_page(1024)
gni_return_t GNI_CqGetEvent(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data)
{
	struct gni_cq *cq = cq_hndl;
	struct kgni_ring_view ring;
	u64 e = 0;

	if (!ugni_is_cq(cq) ||
	    unlikely(!event_data | !ugni_alone() | !cq->plain | (u32)ugni_away(cq->nic)))
		return ugni_end(get_event(cq_hndl, event_data));
	if (own_is_next(cq))
		return take_own(cq, event_data);
	ring = kgni_ring_view_copy(&cq->ring);
	switch (kgni_ring_pop(&ring, &e)) {
	case KGNI_RING_ENTRY:
		*event_data = e;
		/* A peer's, and well. */
		if (likely(e >> KGNI_CQE_SOURCE_SHIFT == KGNI_CQE_REMOTE))
			return GNI_RC_SUCCESS;
		return ugni_end(take_quickly(cq, event_data));
	case KGNI_RING_OVERRUN:
		return ugni_end(cq_overran(cq, event_data));
	default:
		if (unlikely(core_load(&cq->lost)))
			return ugni_end(get_event(cq_hndl, event_data));
		return ugni_end(nothing_there());
	}
}

UGNI_PUBLIC gni_return_t GNI_CqTestEvent(gni_cq_handle_t cq_hndl)
{
	struct gni_cq *cq = ugni_cq(cq_hndl);

	if (!cq)
		return ugni_end(ugni_no("queue", cq_hndl));
	if (!ugni_cq_ready(cq))
		return ugni_end(nothing_there());
	return core_load(&cq->ring.ring->overrun) ? ugni_end(overran()) : GNI_RC_SUCCESS;
}

/* Return: the descriptor's request if @e was handed out, else NULL. */
static struct ugni_req *completed(const struct gni_cq *cq, gni_cq_entry_t e)
{
	struct ugni_req *r;

	if (!is_post(e))
		return NULL;
	r = ugni_req_find(&cq->reqs, (u32)kgni_cqe_tid(e), false);
	return r && r->seen & event_mode(e) ? r : NULL;
}

static gni_return_t get_completed(struct gni_cq *cq, gni_cq_entry_t e,
				  gni_post_descriptor_t **post_descr)
{
	struct ugni_req *r = completed(cq, e);
	gni_post_descriptor_t *descr;

	*post_descr = NULL;
	if (!r)
		return ugni_bad(GNI_RC_DESCRIPTOR_ERROR,
				"event_data 0x%llx is of no post that this queue gave out",
				(unsigned long long)e);
	descr = r->descr;
	descr->status = entry_rc(e);
	descr->cq_mode_complete = event_mode(e);
	r->seen &= ~event_mode(e);
	/* With both events the global one is the last. */
	if (event_mode(e) == GNI_CQMODE_GLOBAL_EVENT || !(r->mode & GNI_CQMODE_GLOBAL_EVENT))
		req_end(cq, r);
	*post_descr = descr;
	return entry_rc(e);
}

static ugni_cold gni_return_t get_completed_of(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
					       gni_post_descriptor_t **post_descr)
{
	struct gni_cq *cq;
	gni_return_t rc;

	if (!post_descr)
		return ugni_null(post_descr);
	cq = ugni_lock(&ugni_cqs, cq_hndl);
	if (!cq)
		return ugni_no("queue", cq_hndl);
	rc = get_completed(cq, event_data, post_descr);
	ugni_unlock(cq);
	return rc;
}

/* The request of a post that went well, and not by the driver's BTE; else NULL. */
static inline_always struct ugni_req *completed_quickly(const struct gni_cq *cq, gni_cq_entry_t e)
{
	const u32 tid = CORE_BITS(e, KGNI_CQE_TID_SHIFT, KGNI_CQE_TID_BITS);
	const u32 index = tid & (UGNI_REQ_MAX - 1);
	/* No error, of a post, the global one: 0 if of FMA, @bte if of BTE. */
	const u64 fma = (u64)KGNI_CQE_FMA << (KGNI_CQE_SOURCE_SHIFT - KGNI_CQE_LOCAL_SHIFT);
	const u64 bte = fma * (KGNI_CQE_BTE - KGNI_CQE_FMA);
	const u64 kind = (e >> KGNI_CQE_LOCAL_SHIFT) - fma;
	const bool far = index >= UGNI_REQ_FIRST, beyond = index >= cq->reqs.used;
	struct ugni_req *r;

	if (unlikely((kind & ~bte) | far | beyond))
		return NULL;
	r = &cq->reqs.chunk[0][index];
	return likely(r->live & !r->smsg & !r->rdma & (ugni_req_post_tid(r) == tid) & !!r->ep &
		      !!(r->seen & GNI_CQMODE_GLOBAL_EVENT)) ? r : NULL;
}

UGNI_PUBLIC ugni_in_page(512)
gni_return_t GNI_GetCompleted(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
			      gni_post_descriptor_t **post_descr)
{
	struct gni_cq *cq = cq_hndl;
	struct ugni_req *r = NULL;
	u32 *waiting;

	if (likely(ugni_is_cq(cq) && post_descr && ugni_alone()))
		r = completed_quickly(cq, event_data);
	if (unlikely(!r))
		return ugni_end(get_completed_of(cq_hndl, event_data, post_descr));
	r->descr->status = GNI_RC_SUCCESS;
	r->descr->cq_mode_complete = GNI_CQMODE_GLOBAL_EVENT;
	*post_descr = r->descr;
	waiting = outstanding(cq, r->ep);
	core_store(waiting, *waiting - 1);
	ugni_req_drop(&cq->reqs, r);
	return GNI_RC_SUCCESS;
}

/* --- masks --------------------------------------------------------------------- */

#define MASK_MAX	0xffff

static struct gni_cq *maskable(gni_cq_handle_t cq_hndl)
{
	struct gni_cq *cq = ugni_cq(cq_hndl);

	return cq && cq->mode & GNI_CQ_BLOCKING && ugni_cq_tells(cq) && !ugni_away(cq->nic) ?
	       cq : NULL;
}

/* Add to the count, unless it leaves 0 to MASK_MAX. */
static gni_return_t mask_add(struct gni_cq *cq, int n, u32 *now)
{
	u32 *masked = &cq->ring.ring->masked;
	u32 old = core_load(masked);
	u32 seen;

	for (;;) {
		if (old == (n > 0 ? MASK_MAX : 0))
			return ugni_bad(GNI_RC_NOT_DONE, "the mask's count is %u", old);
		*now = old + (u32)n;
		seen = core_cmpxchg(masked, old, *now);
		if (seen == old)
			return GNI_RC_SUCCESS;
		old = seen;
	}
}

UGNI_PUBLIC gni_return_t GNI_CqInterruptMask(gni_cq_handle_t cq_hndl)
{
	struct gni_cq *cq = maskable(cq_hndl);
	u32 now;

	return ugni_end(cq ? mask_add(cq, 1, &now) : ugni_no("blocking queue", cq_hndl));
}

/* What came meanwhile woke nobody: whoever still waits for it is woken now. */
UGNI_PUBLIC gni_return_t GNI_CqInterruptUnmask(gni_cq_handle_t cq_hndl)
{
	struct gni_cq *cq = maskable(cq_hndl);
	struct kgni_ioc_cq_wake arg = { 0 };
	gni_return_t rc;
	u32 now = 0;

	if (!cq)
		return ugni_end(ugni_no("blocking queue", cq_hndl));
	rc = mask_add(cq, -1, &now);
	if (rc != GNI_RC_SUCCESS || now)
		return ugni_end(rc);
	arg.id = cq->id;
	if (core_load(&cq->ring.ring->armed) || core_load(&cq->ring.ring->notify))
		ugni_call(cq->nic->fd, KGNI_IOC_CQ_WAKE, &arg);
	return GNI_RC_SUCCESS;
}

/* --- waiting ------------------------------------------------------------------ */

/**
 * struct cq_wait - some queues to wait for
 * @hndls: the queues
 * @count: how many
 * @event: where to put the entry, or NULL to take none
 * @which: which of the queues it was
 * @interrupted: what to return after a signal
 * @through_mask: wait for a masked queue, too
 */
struct cq_wait {
	gni_cq_handle_t *hndls;
	u32 count;
	gni_cq_entry_t *event;
	u32 which;
	gni_return_t interrupted;
	bool through_mask;
};

static gni_return_t pop_uncancelled(gni_cq_handle_t hndl, gni_cq_entry_t *entry)
{
	struct ugni_guard guard;
	gni_return_t rc;

	ugni_guard(&guard);
	rc = cq_pop(hndl, entry);
	ugni_unguard(&guard);
	return rc;
}

static void recover_uncancelled(gni_cq_handle_t hndl)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	cq_recover(hndl);
	pthread_setcancelstate(state, NULL);
}

/* Look once: the answer, or GNI_RC_NOT_DONE. */
static gni_return_t wait_look(struct cq_wait *w)
{
	struct gni_cq *cq;
	gni_return_t rc;
	u32 i;

	for (i = 0; i < w->count; i++) {
		cq = ugni_cq(w->hndls[i]);
		if (!cq)
			return ugni_no("queue", w->hndls[i]);
		if (!ugni_cq_ready(cq) && core_load(&cq->lost))
			recover_uncancelled(w->hndls[i]);
		if (!ugni_cq_ready(cq))
			continue;
		rc = w->event ? pop_uncancelled(w->hndls[i], w->event) : GNI_RC_SUCCESS;
		if (rc == GNI_RC_NOT_DONE)
			continue;	/* another consumer was faster */
		w->which = i;
		return rc;
	}
	return GNI_RC_NOT_DONE;
}

static gni_return_t wait_refs(const struct cq_wait *w, struct kgni_cq_ref *refs)
{
	struct gni_cq *cq;
	u32 i;

	for (i = 0; i < w->count; i++) {
		cq = ugni_cq(w->hndls[i]);
		if (!cq)
			return ugni_no("queue", w->hndls[i]);
		if (ugni_away(cq->nic))
			return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
		if (!(cq->mode & GNI_CQ_BLOCKING) || !cq->ring.ring)
			return ugni_bad(GNI_RC_ERROR_RESOURCE,
					"queue %p has mode 0x%x, without GNI_CQ_BLOCKING",
					(void *)cq, cq->mode);
		refs[i].fd = cq->nic->fd;
		refs[i].id = cq->id;
	}
	return GNI_RC_SUCCESS;
}

static void wait_arm(const struct cq_wait *w)
{
	struct gni_cq *cq;
	u32 i;

	for (i = 0; i < w->count; i++) {
		cq = ugni_cq(w->hndls[i]);
		if (cq)
			kgni_ring_arm(&cq->ring);
	}
}

/* The driver knows of no kept entries: a signal's handler may have made one before arming. */
static bool wait_kept(const struct cq_wait *w)
{
	const struct gni_cq *cq;
	u32 i;

	for (i = 0; i < w->count; i++) {
		cq = ugni_cq(w->hndls[i]);
		if (cq && ugni_cq_has_own(cq) && ugni_cq_ready(cq))
			return true;
	}
	return false;
}

/* Sleep in the driver. Return: true to look again, false with @rc set. */
static bool wait_sleep(const struct cq_wait *w, const struct kgni_cq_ref *refs, u64 timeout_ms,
		       gni_return_t *rc)
{
	struct kgni_ioc_cq_wait arg = {
		.cqs = (u64)(uintptr_t)refs,
		.timeout_ms = timeout_ms,
		.count = w->count,
	};
	int ret;

	wait_arm(w);
	if (wait_kept(w))
		return true;
	ret = ugni_sys_wait(refs[0].fd, KGNI_IOC_CQ_WAIT, &arg);
	if (ret == GNI_RC_SUCCESS || ret == GNI_RC_TIMEOUT)
		return true;
	*rc = ret == -EINTR ? ugni_bad(w->interrupted, "a signal came") : ugni_answer(ret);
	return false;
}

/* Nothing wakes who waits for a masked queue, so most calls do not. */
static bool wait_masked(const struct cq_wait *w)
{
	struct gni_cq *cq;
	u32 i;

	for (i = 0; i < w->count && !w->through_mask; i++) {
		cq = ugni_cq(w->hndls[i]);
		if (cq && kgni_ring_masked(&cq->ring))
			return true;
	}
	return false;
}

static gni_return_t wait_any(struct cq_wait *w, u64 timeout)
{
	struct kgni_cq_ref refs[KGNI_CQ_WAIT_MAX];
	u64 deadline = ugni_deadline(timeout);
	gni_return_t rc;
	u64 left;

	if (!w->hndls)
		return ugni_bad(GNI_RC_INVALID_PARAM, "cq_hndls is NULL");
	if (!w->count || w->count > KGNI_CQ_WAIT_MAX)
		return ugni_bad(GNI_RC_INVALID_PARAM, "num_cqs is %u, 1 to %u may be", w->count,
				KGNI_CQ_WAIT_MAX);
	rc = wait_refs(w, refs);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	do {
		rc = wait_look(w);
		if (rc != GNI_RC_NOT_DONE || wait_masked(w))
			return rc;
		left = ugni_remaining(deadline);
		if (!left)
			return ugni_bad(GNI_RC_TIMEOUT, "no event came");
	} while (wait_sleep(w, refs, left, &rc));
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_CqWaitEvent(gni_cq_handle_t cq_hndl, uint64_t timeout,
					 gni_cq_entry_t *event_data)
{
	struct cq_wait w = {
		.hndls = &cq_hndl,
		.count = 1,
		.event = event_data,
		.interrupted = GNI_RC_INVALID_STATE,
		.through_mask = true,
	};

	return ugni_end(event_data ? wait_any(&w, timeout) : ugni_null(event_data));
}

UGNI_PUBLIC gni_return_t GNI_CqVectorWaitEvent(gni_cq_handle_t *cq_hndls, uint32_t num_cqs,
					       uint64_t timeout, gni_cq_entry_t *event_data,
					       uint32_t *which)
{
	struct cq_wait w = {
		.hndls = cq_hndls,
		.count = num_cqs,
		.event = event_data,
		.which = UGNI_NONE,
		.interrupted = GNI_RC_NOT_DONE,
	};
	gni_return_t rc;

	if (!event_data)
		return ugni_end(ugni_null(event_data));
	if (!which)
		return ugni_end(ugni_null(which));
	rc = wait_any(&w, timeout);
	if (w.which != UGNI_NONE)
		*which = w.which;
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_CqVectorMonitor(gni_cq_handle_t *cq_hndls, uint32_t num_cqs,
					     uint64_t timeout, uint32_t *which)
{
	struct cq_wait w = {
		.hndls = cq_hndls,
		.count = num_cqs,
		.interrupted = GNI_RC_NOT_DONE,
	};
	gni_return_t rc;

	if (!which)
		return ugni_end(ugni_null(which));
	rc = wait_any(&w, timeout);
	if (rc == GNI_RC_SUCCESS)
		*which = w.which;
	return ugni_end(rc);
}
