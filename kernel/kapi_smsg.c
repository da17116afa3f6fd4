// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short messages of kernel clients. The protocol is core/smsg.h; fma.c carries
 * it: the message into a slot of the peer's mailbox, then its slot word; or
 * nothing, then the peer's credit word.
 *
 * Where a program's library sends a message whose way failed again when it takes
 * the event, here the way is tried again at once, by fma.c, which knows whether
 * the message had arrived. So there is nothing to remember: the event has the
 * endpoint's local event value in place of a transaction id.
 *
 * Credits that could not go back, because a device stood still or the way failed
 * too often, go back a little later: the peer may have nothing left to wake us by.
 *
 * The peer may be a process, so nothing in a mailbox is trusted.
 */
#include <linux/slab.h>

#include "kapi.h"
#include "core/descr.h"

/* When credits are tried again to go back, jiffies. */
#define KAPI_CREDITS_LATER	max(HZ / 50, 1)

/* What of the local event value has room in an event. */
#define KAPI_LOCAL_EVENT	GENMASK(KGNI_CQE_SMSG_TID_BITS - 1, 0)

/* --- set-up -------------------------------------------------------------------------- */

static bool kapi_smsg_geom(const gni_smsg_attr_t *attr, struct kgni_smsg_geom *geom)
{
	return (attr->msg_type == GNI_SMSG_TYPE_MBOX ||
		attr->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT) &&
	       kgni_smsg_geom_init(geom, attr->mbox_maxcredit, attr->msg_maxsize) &&
	       kgni_smsg_size(geom) <= UINT_MAX;
}

gni_return_t gni_smsg_buff_size_needed(gni_smsg_attr_t *smsg_attr, unsigned int *size)
{
	struct kgni_smsg_geom geom;

	if (!smsg_attr || !size || !kapi_smsg_geom(smsg_attr, &geom))
		return kapi_end(GNI_RC_INVALID_PARAM);
	*size = kgni_smsg_size(&geom);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_smsg_buff_size_needed);

static u64 kapi_smsg_mbox(const gni_smsg_attr_t *attr)
{
	return (uintptr_t)attr->msg_buffer + attr->mbox_offset;
}

static bool kapi_smsg_room(const gni_smsg_attr_t *attr, const struct kgni_smsg_geom *geom)
{
	return attr->buff_size >= kgni_smsg_size(geom) && !(kapi_smsg_mbox(attr) % 8);
}

static bool kapi_smsg_agree(const gni_smsg_attr_t *a, const gni_smsg_attr_t *b)
{
	return a->msg_type == b->msg_type && a->msg_maxsize == b->msg_maxsize &&
	       a->mbox_maxcredit == b->mbox_maxcredit;
}

/* Is the local mailbox inside of the region that the peer is to be given. */
static bool kapi_smsg_registered(struct gni_nic *nic, const gni_smsg_attr_t *attr,
				 const struct kgni_smsg_geom *geom)
{
	struct kgni_mem_handle handle = kgni_descr_handle(&attr->mem_hndl);
	struct kgni_mdd *mdd = kgni_mdd_find(nic->nic->job, &handle);
	bool covered;

	if (!mdd)
		return false;
	covered = kgni_mdd_covers(mdd, kapi_smsg_mbox(attr), kgni_smsg_size(geom));
	kgni_mdd_put(mdd);
	return covered;
}

static struct kapi_smsg *kapi_smsg_new(const gni_smsg_attr_t *local, const gni_smsg_attr_t *remote,
				       const struct kgni_smsg_geom *geom)
{
	struct kapi_smsg *s = kzalloc(sizeof(*s), GFP_NOIO);

	if (!s)
		return NULL;
	s->geom = *geom;
	s->mbox = (void *)(uintptr_t)kapi_smsg_mbox(local);
	s->remote_mbox = kapi_smsg_mbox(remote);
	s->remote = kgni_descr_handle(&remote->mem_hndl);
	s->resend = local->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	return s;
}

/* The mailbox is not touched: the peer may have sent already. */
static gni_return_t kapi_smsg_set(struct gni_ep *ep, struct kapi_smsg *s)
{
	gni_return_t rc = GNI_RC_SUCCESS;

	spin_lock_bh(&ep->lock);
	if (!ep->bound)
		rc = GNI_RC_INVALID_STATE;
	else if (ep->smsg)
		rc = GNI_RC_INVALID_PARAM;
	else
		ep->smsg = s;
	spin_unlock_bh(&ep->lock);
	return rc;
}

gni_return_t gni_smsg_init(gni_ep_handle_t ep_hndl, gni_smsg_attr_t *local_smsg_attr,
			   gni_smsg_attr_t *remote_smsg_attr)
{
	struct kgni_smsg_geom geom;
	struct kapi_smsg *s;
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_ep(ep_hndl) || !local_smsg_attr || !remote_smsg_attr)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (!READ_ONCE(ep_hndl->bound))
		return kapi_end(GNI_RC_INVALID_STATE);
	if (!kapi_smsg_agree(local_smsg_attr, remote_smsg_attr) ||
	    !kapi_smsg_geom(local_smsg_attr, &geom) || !kapi_smsg_room(local_smsg_attr, &geom) ||
	    !kapi_smsg_room(remote_smsg_attr, &geom) ||
	    !kapi_smsg_registered(ep_hndl->nic, local_smsg_attr, &geom))
		return kapi_end(GNI_RC_INVALID_PARAM);
	s = kapi_smsg_new(local_smsg_attr, remote_smsg_attr, &geom);
	if (!s)
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	rc = kapi_smsg_set(ep_hndl, s);
	if (rc != GNI_RC_SUCCESS)
		kfree(s);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_smsg_init);

/* --- puts ------------------------------------------------------------------------------ */

/* A put of a word at @offset of the peer's mailbox, and of what precedes it. */
static void kapi_smsg_put(const struct gni_ep *ep, u64 offset, u64 word, struct kgni_xfer *x)
{
	const struct kapi_smsg *s = ep->smsg;

	x->kernel = true;
	x->arg.type = GNI_POST_FMA_PUT_W_SYNCFLAG;
	x->arg.flags = KGNI_POST_SMSG;
	x->arg.cq_mode = GNI_CQMODE_REMOTE_EVENT;
	x->arg.dlvr_mode = READ_ONCE(ep->nic->dlvr_mode);
	x->arg.remote_event = ep->remote_event;
	x->arg.remote_pe = ep->remote_pe;
	x->arg.remote_addr = s->remote_mbox + offset;
	x->arg.remote = s->remote;
	x->arg.sync_addr = s->remote_mbox + offset;
	x->arg.sync_value = word;
}

/* Tell the peer what was consumed. If that cannot be done now, it is told later. */
static noinline void kapi_smsg_tell_credits(struct gni_ep *ep)
{
	struct kapi_smsg *s = ep->smsg;
	struct kgni_xfer x = { .retries = READ_ONCE(ep->nic->max_retrans) };

	kapi_smsg_put(ep, 0, s->rx.consumed, &x);
	if (kgni_xfer_post(ep->nic->nic, &x) || x.status == KGNI_ST_LINK) {
		queue_delayed_work(kapi_wq, &ep->credits, KAPI_CREDITS_LATER);
		return;
	}
	s->credit_due = false;
	kgni_smsg_rx_returned(&s->rx, s->rx.consumed);
}

/* Most calls have none to return. */
static void kapi_smsg_return_credits(struct gni_ep *ep)
{
	if (unlikely(ep->smsg->credit_due))
		kapi_smsg_tell_credits(ep);
}

/**
 * kapi_smsg_credits_work - credits are due that could not go back
 * @work: part of their endpoint
 *
 * Context: process.
 */
void kapi_smsg_credits_work(struct work_struct *work)
{
	struct gni_ep *ep = container_of(to_delayed_work(work), struct gni_ep, credits);

	spin_lock_bh(&ep->lock);
	if (ep->smsg)
		kapi_smsg_return_credits(ep);
	spin_unlock_bh(&ep->lock);
}

/* --- sending --------------------------------------------------------------------------- */

/*
 * Find room for a message's event in the endpoint's queue: if it is full the event
 * would be lost. Other endpoints that send at the same time are reckoned with.
 */
static bool kapi_smsg_event_begin(const struct gni_ep *ep)
{
	struct gni_cq *cq = ep->cq;

	if (!cq)
		return true;
	/* A full barrier: whoever is not counted any more has its event in the ring. */
	if (atomic_inc_return(&cq->sending) + kgni_ring_count(&cq->cq->view) <= cq->cq->slots)
		return true;
	atomic_dec(&cq->sending);
	return false;
}

/* The event is there, or there will be none. */
static void kapi_smsg_event_end(const struct gni_ep *ep)
{
	if (ep->cq)
		atomic_dec_return_release(&ep->cq->sending);
}

static gni_return_t kapi_smsg_send_slot(struct gni_ep *ep, const struct kvec *part, u32 length,
					u32 msg_id)
{
	struct kapi_smsg *s = ep->smsg;
	struct kgni_xfer x = {
		.src = part,
		.pieces = 2,
		.retries = s->resend ? READ_ONCE(ep->nic->max_retrans) : 0,
	};
	long rc;

	kapi_smsg_put(ep, kgni_smsg_slot(&s->geom, s->tx.sent),
		      kgni_smsg_word(s->tx.sent, length, 0), &x);
	x.arg.remote_addr += KGNI_SMSG_PAYLOAD;
	x.arg.length = length;
	if (ep->cq) {
		kref_get(&ep->cq->cq->ref);
		x.src_cq = ep->cq->cq;
		x.arg.cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
		x.arg.src_event = kgni_cqe_smsg(msg_id, ep->local_event & KAPI_LOCAL_EVENT,
						KGNI_CQE_SMSG);
	}
	rc = kgni_xfer_post(ep->nic->nic, &x);
	/* One that got lost leaves its slot to the next, so that this arrives. */
	if (x.moved)
		s->tx.sent++;
	return kapi_rc(rc, GNI_RC_NOT_DONE);
}

static gni_return_t kapi_smsg_send(struct gni_ep *ep, const struct kvec *part, u64 length,
				   u32 msg_id)
{
	struct kapi_smsg *s = ep->smsg;
	gni_return_t rc;

	if (!s)
		return GNI_RC_INVALID_PARAM;
	if (length > s->geom.maxsize)
		return GNI_RC_ERROR_RESOURCE;
	kapi_smsg_return_credits(ep);
	if (kgni_smsg_tx_credits(&s->geom, &s->tx, s->mbox) <= 0 || !kapi_smsg_event_begin(ep))
		return GNI_RC_NOT_DONE;
	rc = kapi_smsg_send_slot(ep, part, length, msg_id);
	kapi_smsg_event_end(ep);
	return rc == GNI_RC_ERROR_RESOURCE ? GNI_RC_NOT_DONE : rc;
}

gni_return_t gni_smsg_send(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			   void *data, uint32_t data_length, uint32_t msg_id)
{
	const struct kvec part[2] = {
		{ .iov_base = header, .iov_len = header_length },
		{ .iov_base = data, .iov_len = data_length },
	};
	gni_return_t rc;

	if (!kapi_is_ep(ep_hndl) || (header_length && !header) || (data_length && !data))
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	rc = kapi_smsg_send(ep_hndl, part, (u64)header_length + data_length, msg_id);
	spin_unlock_bh(&ep_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_smsg_send);

/* --- receiving ------------------------------------------------------------------------- */

static gni_return_t kapi_smsg_next(struct gni_ep *ep, void **header)
{
	struct kapi_smsg *s = ep->smsg;
	struct kgni_smsg_msg msg;

	if (!s)
		return GNI_RC_INVALID_PARAM;
	kapi_smsg_return_credits(ep);
	switch (kgni_smsg_rx_poll(&s->geom, &s->rx, s->mbox, &msg)) {
	case KGNI_SMSG_NONE:
		return GNI_RC_NOT_DONE;
	case KGNI_SMSG_DAMAGED:
		return GNI_RC_INVALID_STATE;
	case KGNI_SMSG_MESSAGE:
		break;
	}
	s->current_msg = true;
	*header = msg.payload;
	return GNI_RC_SUCCESS;
}

gni_return_t gni_smsg_getnext(gni_ep_handle_t ep_hndl, void **header)
{
	gni_return_t rc;

	if (!kapi_is_ep(ep_hndl) || !header)
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	rc = kapi_smsg_next(ep_hndl, header);
	spin_unlock_bh(&ep_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_smsg_getnext);

static gni_return_t kapi_smsg_release(struct gni_ep *ep)
{
	struct kapi_smsg *s = ep->smsg;

	if (!s)
		return GNI_RC_INVALID_PARAM;
	if (!s->current_msg)
		return GNI_RC_NOT_DONE;
	s->current_msg = false;
	if (kgni_smsg_rx_release(&s->geom, &s->rx))
		s->credit_due = true;
	kapi_smsg_return_credits(ep);
	return GNI_RC_SUCCESS;
}

gni_return_t gni_smsg_release(gni_ep_handle_t ep_hndl)
{
	gni_return_t rc;

	if (!kapi_is_ep(ep_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	rc = kapi_smsg_release(ep_hndl);
	spin_unlock_bh(&ep_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_smsg_release);

/* --- settings of an attachment ----------------------------------------------------------- */

gni_return_t gni_smsg_set_delivery_mode(gni_nic_handle_t nic_handle, uint16_t dlvr_mode)
{
	if (!kapi_is_nic(nic_handle) || dlvr_mode & ~KGNI_DLV_ALL)
		return kapi_end(GNI_RC_INVALID_PARAM);
	WRITE_ONCE(nic_handle->dlvr_mode, dlvr_mode);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_smsg_set_delivery_mode);

gni_return_t gni_smsg_set_max_retrans(gni_nic_handle_t nic_handle, uint16_t max_retrans)
{
	if (!kapi_is_nic(nic_handle))
		return kapi_end(GNI_RC_INVALID_PARAM);
	WRITE_ONCE(nic_handle->max_retrans, max_retrans);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_smsg_set_max_retrans);
