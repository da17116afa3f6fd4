// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Short messages. The protocol is in kernel/core/smsg.h; here it is carried by
 * FMA puts with a flag (driver: kernel/fma.c): the message into a slot of the
 * peer's mailbox, then its slot word; or nothing, then the peer's credit word.
 *
 * Once a window to the peer's mailbox is known (window.c) all of this is done directly:
 * the message is stored there, and is done with when the call returns. Nothing is
 * lost on that way, so no copy is kept, and one request stands for all such messages.
 *
 * A message whose way to the peer failed is sent again, where the mailboxes are of
 * that type, when its event is taken from the queue: from a copy that is kept with
 * its request until then.
 *
 * All state of a channel is under its endpoint's lock.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ugni.h"
#include <gni/netlink.h>

/* A message that may have to be sent again, until its event is taken. */
struct smsg_copy {
	u64 n;
	u32 msg_id;
	u32 length;
	u8 tag;
	bool late;	/* sent again, and not known to be there before */
	u8 payload[];
};

/**
 * struct ugni_smsg - one end of a channel
 * @geom: shape of both mailboxes
 * @tx: sending side
 * @rx: receiving side
 * @mbox: our mailbox
 * @remote_mbox: address of the peer's
 * @remote: memory handle of the region that has it
 * @local: memory handle of the region that has ours
 * @resend: messages are sent again if need be
 * @current: GetNext found a message that was not released yet
 * @credit_due: the peer is still to be told of what we consumed
 * @window: window to the peer's mailbox that was used last
 * @to: where the peer's mailbox is, if @gen says so
 * @place: window that it is in
 * @gen: what that was found as, UGNI_NO_GEN if the mailbox can't be reached directly
 * @tx_slot: slot there of the next message
 * @rx_slot: slot in ours of the current message, or of the next
 * @page: pages that messages were last read from, of header and data
 * @req: request of messages that are sent directly, or NULL
 * @assembly: room for one message
 */
struct ugni_smsg {
	struct kgni_smsg_geom geom;
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	void *mbox;
	char *to;
	struct ugni_window *place;
	u64 gen;
	u64 tx_slot;
	u64 rx_slot;
	u64 page[2];
	struct ugni_req *req;
	u64 remote_mbox;
	struct kgni_mem_handle remote;
	struct kgni_mem_handle local;
	bool resend;
	bool current;
	bool credit_due;
	struct ugni_window *window;
	u8 assembly[];
};

/* A message as its sender sees it. */
struct smsg_out {
	const void *header;
	u32 header_length;
	const void *data;
	u32 data_length;
	u32 msg_id;
	u8 tag;
};

/* --- set-up ----------------------------------------------------------------------- */

static gni_return_t attr_geom(const gni_smsg_attr_t *attr, struct kgni_smsg_geom *geom)
{
	if (attr->msg_type != GNI_SMSG_TYPE_MBOX &&
	    attr->msg_type != GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT)
		return ugni_bad(GNI_RC_INVALID_PARAM, "msg_type is %u, mailboxes have %u or %u",
				(unsigned int)attr->msg_type, GNI_SMSG_TYPE_MBOX,
				GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT);
	if (!kgni_smsg_geom_init(geom, attr->mbox_maxcredit, attr->msg_maxsize))
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"mbox_maxcredit is %u, msg_maxsize %u; from 1, at most 65535",
				attr->mbox_maxcredit, attr->msg_maxsize);
	if (kgni_smsg_size(geom) > UINT_MAX)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"mbox_maxcredit %u and msg_maxsize %u make more than 4 GiB",
				attr->mbox_maxcredit, attr->msg_maxsize);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_SmsgBufferSizeNeeded(gni_smsg_attr_t *smsg_attr, unsigned int *size)
{
	struct kgni_smsg_geom geom;
	gni_return_t rc;

	if (!smsg_attr)
		return ugni_end(ugni_null(smsg_attr));
	if (!size)
		return ugni_end(ugni_null(size));
	rc = attr_geom(smsg_attr, &geom);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	*size = (unsigned int)kgni_smsg_size(&geom);
	return GNI_RC_SUCCESS;
}

static u64 attr_mbox(const gni_smsg_attr_t *attr)
{
	return (uintptr_t)attr->msg_buffer + attr->mbox_offset;
}

static gni_return_t attrs_agree(const gni_smsg_attr_t *a, const gni_smsg_attr_t *b)
{
	if (a->msg_type == b->msg_type && a->msg_maxsize == b->msg_maxsize &&
	    a->mbox_maxcredit == b->mbox_maxcredit)
		return GNI_RC_SUCCESS;
	return ugni_bad(GNI_RC_INVALID_PARAM,
			"type, credits and maxsize are %u, %u, %u here and %u, %u, %u at the peer",
			(unsigned int)a->msg_type, a->mbox_maxcredit, a->msg_maxsize,
			(unsigned int)b->msg_type, b->mbox_maxcredit, b->msg_maxsize);
}

/* Is there room for a mailbox where one of the two sides says. */
static gni_return_t attr_room(const gni_smsg_attr_t *attr, const struct kgni_smsg_geom *geom,
			      const char *side)
{
	if (attr->buff_size < kgni_smsg_size(geom))
		return ugni_bad(GNI_RC_INVALID_PARAM, "%s buff_size is %u, the mailbox has %llu",
				side, attr->buff_size, (unsigned long long)kgni_smsg_size(geom));
	if (attr_mbox(attr) % 8)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"%s mailbox, 0x%llx, is not at a multiple of 8", side,
				(unsigned long long)attr_mbox(attr));
	return GNI_RC_SUCCESS;
}

static gni_return_t attrs_check(const gni_smsg_attr_t *local, const gni_smsg_attr_t *remote,
				struct kgni_smsg_geom *geom)
{
	gni_return_t rc = attrs_agree(local, remote);

	if (rc == GNI_RC_SUCCESS)
		rc = attr_geom(local, geom);
	if (rc == GNI_RC_SUCCESS)
		rc = attr_room(local, geom, "the local");
	if (rc == GNI_RC_SUCCESS)
		rc = attr_room(remote, geom, "the remote");
	if (rc == GNI_RC_SUCCESS && !local->msg_buffer)
		rc = ugni_bad(GNI_RC_INVALID_PARAM, "the local msg_buffer is NULL");
	return rc;
}

/* The mailbox is not touched: the peer may have sent already. */
static gni_return_t smsg_init(struct gni_ep *ep, const gni_smsg_attr_t *local,
			      const gni_smsg_attr_t *remote)
{
	struct kgni_smsg_geom geom;
	struct ugni_smsg *s;
	gni_return_t rc;

	if (!ep->bound)
		return ugni_bad(GNI_RC_INVALID_STATE, "the endpoint is not bound");
	if (ep->smsg)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"the endpoint has a mailbox already, until GNI_EpUnbind()");
	rc = attrs_check(local, remote, &geom);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	s = malloc(sizeof(*s) + geom.maxsize);
	if (!s)
		return ugni_nomem("channel of short messages");
	memset(s, 0, sizeof(*s));
	s->geom = geom;
	s->mbox = (void *)(uintptr_t)attr_mbox(local);
	s->tx_slot = kgni_smsg_slot(&geom, 0);
	s->rx_slot = s->tx_slot;
	s->window = &ugni_no_window;
	s->place = &ugni_no_window;
	s->gen = UGNI_NO_GEN;
	s->page[0] = ~0ULL;
	s->page[1] = ~0ULL;
	s->remote_mbox = attr_mbox(remote);
	s->remote.qword1 = remote->mem_hndl.qword1;
	s->remote.qword2 = remote->mem_hndl.qword2;
	s->local.qword1 = local->mem_hndl.qword1;
	s->local.qword2 = local->mem_hndl.qword2;
	s->resend = local->msg_type == GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	ep->smsg = s;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_SmsgInit(gni_ep_handle_t ep_hndl, gni_smsg_attr_t *local_smsg_attr,
				      gni_smsg_attr_t *remote_smsg_attr)
{
	struct gni_ep *ep;
	gni_return_t rc;

	if (!local_smsg_attr)
		return ugni_end(ugni_null(local_smsg_attr));
	if (!remote_smsg_attr)
		return ugni_end(ugni_null(remote_smsg_attr));
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	rc = smsg_init(ep, local_smsg_attr, remote_smsg_attr);
	ugni_unlock(ep);
	return ugni_end(rc);
}

/* The endpoint, locked, is unbound or goes away. */
void ugni_smsg_release(struct gni_ep *ep)
{
	struct ugni_smsg *s = ep->smsg;

	if (s && s->req)
		ugni_cq_channel_end(ep->cq, s->req);
	ep->smsg = NULL;
	free(s);
}

/* Return: the endpoint, locked, if it was set up for short messages. */
static struct gni_ep *smsg_ep(gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);

	if (!ep)
		(void)ugni_no("endpoint", ep_hndl);
	if (!ep || ep->smsg)
		return ep;
	ugni_unlock(ep);
	(void)ugni_bad(GNI_RC_INVALID_PARAM, "the endpoint %p was not set up by GNI_SmsgInit()",
		       (void *)ep_hndl);
	return NULL;
}

/* --- directly into the peer's mailbox --------------------------------------------------- */

/* What is longer is for memcpy(). */
#define WORDWISE_MAX	256
#define PAGE_MASK	4095UL

/* May the window that was used last be used directly from now on? */
static void find_place(struct gni_ep *ep)
{
	struct ugni_smsg *s = ep->smsg;

	s->to = ugni_window_reach(ep, s->window, &s->remote, s->remote_mbox,
				  kgni_smsg_size(&s->geom), &s->gen);
	s->place = s->window;
	if (!s->to || s->req || !ugni_cq_tells(ep->cq))
		return;
	s->req = ugni_cq_channel(ep->cq, ep);
	if (!s->req)
		s->gen = UGNI_NO_GEN;
}

/* Return: false if the window has ended. */
static inline_always bool place_enter(const struct ugni_smsg *s, bool alone)
{
	return ugni_window_enter(s->place, s->gen, alone);
}

/*
 * A put into the mailbox, which is all there, is over: tell the peer. Return: true if
 * whoever sleeps there is to be woken.
 */
static inline_always bool place_tell(const struct gni_ep *ep, const struct ugni_smsg *s,
				     u64 length, bool alone)
{
	const u64 e = kgni_cqe_remote(ep->remote_event, GNI_POST_FMA_PUT_W_SYNCFLAG,
				      KGNI_CQE_SMSG);
	struct ugni_window *w = s->place;
	const struct kgni_ring_view ring = kgni_ring_view_copy(&w->ring);
	u64 *counted = w->counted;
	bool wake;

	/* A message is there, with its event or without, and will be found. */
	wake = ring.ring && (!kgni_ring_push_hinted(&ring, e, &w->hint) ||
			     ugni_must_wake(&ring, w->delay));
	core_store(&w->used, true);
	ugni_add_as(alone, &counted[KGNI_STAT_FMA_PUT], 1ULL);
	ugni_add_as(alone, &counted[KGNI_STAT_FMA_PUT_BYTES], length);
	ugni_add_as(alone, &counted[KGNI_STAT_SMSG], 1ULL);
	return wake;
}

static ugni_cold void place_wake(const struct gni_ep *ep)
{
	const struct ugni_event e = { .smsg = true };

	ugni_window_tell(ep->nic, ep->smsg->place, KGNI_ST_OK, &e);
}

static bool put_credits_directly(const struct gni_ep *ep)
{
	const struct ugni_smsg *s = ep->smsg;
	const bool alone = ugni_alone();
	bool done;

	if (!place_enter(s, alone))
		return false;
	core_store_release((u64 *)s->to, s->rx.consumed);
	done = ugni_window_live(s->place);
	if (done && place_tell(ep, s, 0, alone))
		place_wake(ep);
	ugni_window_unpin(s->place, alone);
	return done;
}

/* --- credits ------------------------------------------------------------------------ */

static bool transient(gni_return_t rc)
{
	return rc == GNI_RC_ERROR_NOMEM || rc == GNI_RC_ERROR_RESOURCE;
}

/* A put of a word at @offset of the peer's mailbox, and of what precedes it. */
static struct kgni_ioc_post smsg_put(const struct gni_ep *ep, u64 offset, u64 word)
{
	const struct ugni_smsg *s = ep->smsg;

	return (struct kgni_ioc_post){
		.type = GNI_POST_FMA_PUT_W_SYNCFLAG,
		.flags = KGNI_POST_SMSG,
		.cq_mode = GNI_CQMODE_REMOTE_EVENT,
		.remote_event = ep->remote_event,
		.remote_pe = ep->remote_pe,
		.remote_addr = s->remote_mbox + offset,
		.remote = s->remote,
		.sync_addr = s->remote_mbox + offset,
		.sync_value = word,
	};
}

/*
 * Tell the peer what was consumed. What the driver has no room for now, and what
 * fails too often on its way, is told again later.
 */
static void put_credits(struct gni_ep *ep)
{
	u32 tries = core_load(&ep->nic->max_retrans);
	struct ugni_smsg *s = ep->smsg;
	struct kgni_ioc_post arg;
	gni_return_t rc;

	if (!put_credits_directly(ep)) {
		arg = smsg_put(ep, 0, s->rx.consumed);
		arg.flags |= KGNI_POST_REPORT;
		do
			rc = ugni_post(ep->nic, &ep->smsg->window, &arg, NULL);
		while (rc == GNI_RC_TRANSACTION_ERROR && tries--);
		if (transient(rc) || rc == GNI_RC_TRANSACTION_ERROR)
			return;
	}
	s->credit_due = false;
	kgni_smsg_rx_returned(&s->rx, s->rx.consumed);
}

static void return_credits(struct gni_ep *ep)
{
	if (ep->smsg->credit_due && !ugni_away(ep->nic))
		put_credits(ep);
}

/* --- sending ------------------------------------------------------------------------ */

/* Where the message is in one piece; @room takes it if it is in two. */
static const void *assemble(const struct smsg_out *m, void *room)
{
	if (!m->data_length)
		return m->header;
	if (!m->header_length)
		return m->data;
	memcpy(room, m->header, m->header_length);
	memcpy((u8 *)room + m->header_length, m->data, m->data_length);
	return room;
}

/* Return: room in a request for the message, NULL without memory. */
static struct smsg_copy *copy_message(const struct ugni_smsg *s, const struct smsg_out *m,
				      u32 length)
{
	struct smsg_copy *copy = malloc(sizeof(*copy) + length);
	const void *payload;

	if (!copy)
		return NULL;
	copy->n = s->tx.sent;
	copy->msg_id = m->msg_id;
	copy->length = length;
	copy->tag = m->tag;
	copy->late = false;
	payload = assemble(m, copy->payload);
	if (length && payload != copy->payload)
		memcpy(copy->payload, payload, length);
	return copy;
}

/* The put of message @n. */
static struct kgni_ioc_post slot_put(const struct gni_ep *ep, u64 n, const void *payload,
				     u32 length, u8 tag)
{
	const struct kgni_smsg_geom *geom = &ep->smsg->geom;
	struct kgni_ioc_post arg = smsg_put(ep, kgni_smsg_slot(geom, n),
					    kgni_smsg_word(n, length, tag));

	arg.local_addr = (uintptr_t)payload;
	arg.remote_addr += KGNI_SMSG_PAYLOAD;
	arg.length = length;
	return arg;
}

/* With an event for a request of the endpoint's queue. */
static void slot_event(const struct gni_ep *ep, struct kgni_ioc_post *arg, u32 msg_id, u32 tid)
{
	arg->cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
	arg->src_cq = ep->cq->id;
	arg->src_event = kgni_cqe_smsg(msg_id, tid, KGNI_CQE_SMSG);
}

/* A send that nobody will hear the end of. */
static gni_return_t send_silent(struct gni_ep *ep, const struct smsg_out *m, u32 length)
{
	struct ugni_smsg *s = ep->smsg;
	struct kgni_ioc_post arg;

	arg = slot_put(ep, s->tx.sent, assemble(m, s->assembly), length, m->tag);
	return ugni_post(ep->nic, &ep->smsg->window, &arg, NULL);
}

static gni_return_t send_slot(struct gni_ep *ep, const struct smsg_out *m, u32 length)
{
	struct ugni_req req = { .smsg = true, .mode = GNI_CQMODE_GLOBAL_EVENT };
	struct ugni_smsg *s = ep->smsg;
	struct smsg_copy *copy = NULL;
	struct kgni_ioc_post arg;
	gni_return_t rc;
	u32 tid;

	if (s->resend && core_load(&ep->nic->max_retrans)) {
		copy = copy_message(s, m, length);
		if (!copy)
			return GNI_RC_ERROR_NOMEM;
	}
	req.copy = copy;
	rc = ugni_cq_begin(ep->cq, ep, &req, &tid);
	if (rc != GNI_RC_SUCCESS) {
		free(copy);
		return rc;
	}
	arg = slot_put(ep, s->tx.sent, copy ? copy->payload : assemble(m, s->assembly), length,
		       m->tag);
	slot_event(ep, &arg, m->msg_id, tid);
	rc = ugni_post(ep->nic, &ep->smsg->window, &arg, ep->cq);
	ugni_cq_posted(ep->cq, tid, true, rc);
	return rc;
}

static inline_always void message_sent(struct ugni_smsg *s)
{
	s->tx.sent++;
	s->tx_slot = kgni_smsg_slot_next(&s->geom, s->tx_slot);
}

/* In how far is a piece of a message where the last one was not read from? @page: that page */
static inline_always u64 piece_strange(u64 page, const void *src, u32 length)
{
	const u64 addr = (u64)(uintptr_t)src;

	return (((addr ^ page) | ((addr + length - 1) ^ page)) & ~PAGE_MASK) * !!length;
}

static inline_always bool piece_known(u64 page, const void *src, u32 length)
{
	return likely(!piece_strange(page, src, length));
}

static bool piece_readable(u64 *page, const void *src, u32 length)
{
	if (piece_known(*page, src, length))
		return true;
	if (!ugni_window_readable(src, length))
		return false;
	*page = (u64)(uintptr_t)src & ~PAGE_MASK;
	return true;
}

/* The last bytes are copied twice, if that is simpler. */
static inline_always void put_piece(char *to, const char *from, u32 n)
{
	u32 i;

	if (n > WORDWISE_MAX) {
		memcpy(to, from, n);
	} else if (n >= 8) {
		for (i = 0; i < n - 8; i += 8)
			__builtin_memcpy(to + i, from + i, 8);
		__builtin_memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		__builtin_memcpy(to, from, 4);
		__builtin_memcpy(to + n - 4, from + n - 4, 4);
	} else if (n) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}

/* One more that the queue will tell of. Return: false if there are too many. */
static inline_always bool message_begin(struct gni_ep *ep, const struct ugni_smsg *s, bool alone)
{
	struct gni_cq *cq = ep->cq;
	bool ok;

	if (!s->req)
		return true;
	if (!alone)
		pthread_mutex_lock(&cq->slot.lock);
	ok = ugni_add_as(alone, &ep->outstanding[0], 1U) <= cq->limit;
	if (likely(ok))
		s->req->messages++;
	else
		ugni_add_as(alone, &ep->outstanding[0], -1U);
	if (!alone) {
		ugni_add(&cq->posting, (u32)ok);
		pthread_mutex_unlock(&cq->slot.lock);
	}
	return ok;
}

/* It was sent. */
static inline_always void message_done(struct gni_ep *ep, struct ugni_smsg *s, u32 msg_id,
				       bool alone)
{
	struct gni_cq *cq = ep->cq;
	u64 e;

	message_sent(s);
	if (!s->req)
		return;
	e = kgni_cqe_done(kgni_cqe_smsg(msg_id, s->req->id, KGNI_CQE_SMSG), KGNI_CQE_FMA,
			  KGNI_ST_OK);
	if (unlikely(!alone || !ugni_cq_keep(cq, e)))
		ugni_cq_push(cq, e);
	if (!alone)
		ugni_add_as(false, &cq->posting, -1U);
}

/* It was not. */
static void message_undo(struct gni_ep *ep, const struct ugni_smsg *s)
{
	struct gni_cq *cq = ep->cq;

	if (!s->req)
		return;
	ugni_mutex_lock(&cq->slot.lock);
	ugni_add(&ep->outstanding[0], -1U);
	s->req->messages--;
	ugni_mutex_unlock(&cq->slot.lock);
	if (!ugni_alone())
		ugni_add(&cq->posting, -1U);
}

/* Send a message, for which there are credits, into the peer's mailbox. */
static inline_always bool send_directly(struct gni_ep *ep, struct ugni_smsg *s,
					struct smsg_out m, bool alone)
{
	const u32 length = m.header_length + m.data_length;
	bool done = false, wake = false;
	char *slot;

	if (!place_enter(s, alone))
		return false;
	if (likely(message_begin(ep, s, alone))) {
		slot = s->to + s->tx_slot;
		put_piece(slot + KGNI_SMSG_PAYLOAD, m.header, m.header_length);
		if (m.data_length)
			put_piece(slot + KGNI_SMSG_PAYLOAD + m.header_length, m.data,
				  m.data_length);
		core_store_release((u64 *)slot, kgni_smsg_word(s->tx.sent, length, m.tag));
		done = ugni_window_live(s->place);
		if (likely(done)) {
			wake = place_tell(ep, s, length, alone);
			message_done(ep, s, m.msg_id, alone);
		} else {
			message_undo(ep, s);
		}
	}
	if (unlikely(wake))
		place_wake(ep);
	ugni_window_unpin(s->place, alone);
	return done;
}

/* A send that is for the driver. */
static gni_return_t send_indirectly(struct gni_ep *ep, const struct smsg_out *m, u32 length)
{
	gni_return_t rc = ugni_cq_tells(ep->cq) ? send_slot(ep, m, length) :
						  send_silent(ep, m, length);

	if (rc == GNI_RC_SUCCESS) {
		message_sent(ep->smsg);
		find_place(ep);
	}
	if (!transient(rc))
		return rc;
	ugni_count(ep->nic, GNI_STAT_SMSG_REQ_STALL);
	return ugni_bad(GNI_RC_NOT_DONE, "there is no room for a message more now");
}

static gni_return_t no_credits(struct gni_ep *ep)
{
	struct ugni_smsg *s = ep->smsg;

	if (kgni_smsg_tx_credits(&s->geom, &s->tx, s->mbox) < 0)
		return ugni_bad(GNI_RC_NOT_DONE, "the credit word of the mailbox is damaged");
	ugni_count(ep->nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL);
	return ugni_bad(GNI_RC_NOT_DONE,
			"there are no credits: the peer has not consumed enough");
}

static gni_return_t smsg_send(struct gni_ep *ep, const struct smsg_out *m)
{
	u64 length = (u64)m->header_length + m->data_length;
	struct ugni_smsg *s = ep->smsg;

	if (length > s->geom.maxsize)
		return ugni_bad(GNI_RC_ERROR_RESOURCE, "%llu bytes are more than msg_maxsize, %u",
				(unsigned long long)length, s->geom.maxsize);
	return_credits(ep);
	if (kgni_smsg_tx_credits(&s->geom, &s->tx, s->mbox) <= 0)
		return no_credits(ep);
	if (piece_readable(&s->page[0], m->header, m->header_length) &&
	    piece_readable(&s->page[1], m->data, m->data_length) &&
	    send_directly(ep, s, *m, ugni_alone()))
		return GNI_RC_SUCCESS;
	return send_indirectly(ep, m, (u32)length);
}

static ugni_apart gni_return_t send_fully(gni_ep_handle_t ep_hndl, const void *header,
					  u32 header_length, const void *data, u32 data_length,
					  u32 msg_id, u8 tag)
{
	const struct smsg_out m = { header, header_length, data, data_length, msg_id, tag };
	struct gni_ep *ep;
	gni_return_t rc;

	if (header_length && !header)
		return ugni_bad(GNI_RC_INVALID_PARAM, "header is NULL, header_length %u",
				header_length);
	if (data_length && !data)
		return ugni_bad(GNI_RC_INVALID_PARAM, "data is NULL, data_length %u",
				data_length);
	ep = smsg_ep(ep_hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	rc = smsg_send(ep, &m);
	ugni_unlock(ep);
	return rc;
}

/* The credit word is only looked at when those run out that are known of. */
static inline_always bool has_credits(struct ugni_smsg *s)
{
	return likely(s->tx.sent - s->tx.acked < s->geom.credits) ||
	       kgni_smsg_tx_credits(&s->geom, &s->tx, s->mbox) > 0;
}

/* Most sends are that simple. Return: false if this one is not. */
static inline_always bool send_simply(gni_ep_handle_t ep, struct smsg_out m)
{
	const u64 length = (u64)m.header_length + m.data_length;
	bool fits;
	struct ugni_smsg *s;

	if (!ugni_alone() || !ugni_is_ep(ep))
		return false;
	s = ep->smsg;
	if (unlikely(!s))
		return false;
	fits = length <= (s->geom.maxsize < WORDWISE_MAX ? s->geom.maxsize : WORDWISE_MAX);
	if (unlikely((u64)s->credit_due | !fits |
		     piece_strange(s->page[0], m.header, m.header_length) |
		     piece_strange(s->page[1], m.data, m.data_length)))
		return false;
	return has_credits(s) && send_directly(ep, s, m, true);
}

static inline_always gni_return_t send(gni_ep_handle_t ep_hndl, struct smsg_out m)
{
	if (likely(send_simply(ep_hndl, m)))
		return GNI_RC_SUCCESS;
	return send_fully(ep_hndl, m.header, m.header_length, m.data, m.data_length, m.msg_id,
			  m.tag);
}

UGNI_PUBLIC ugni_in_page(2048)
gni_return_t GNI_SmsgSendWTag(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			      void *data, uint32_t data_length, uint32_t msg_id, uint8_t tag)
{
	const struct smsg_out m = { header, header_length, data, data_length, msg_id, tag };

	return ugni_end(send(ep_hndl, m));
}

UGNI_PUBLIC ugni_in_page(2048)
gni_return_t GNI_SmsgSend(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			  void *data, uint32_t data_length, uint32_t msg_id)
{
	const struct smsg_out m = { header, header_length, data, data_length, msg_id, 0 };

	return ugni_end(send(ep_hndl, m));
}

/* --- sending again -------------------------------------------------------------------- */

/*
 * Is a message there although its way failed: then only the answer was lost.
 *
 * Return: GNI_RC_SUCCESS if it is; GNI_RC_NOT_DONE if not, as far as can be told;
 * GNI_RC_TRANSACTION_ERROR if the way to ask fails too; what the driver says.
 */
static gni_return_t arrived(struct gni_ep *ep, const struct smsg_copy *copy)
{
	struct ugni_smsg *s = ep->smsg;
	u64 *word = (u64 *)((char *)s->mbox + KGNI_SMSG_SCRATCH);
	struct kgni_ioc_post arg = {
		.type = GNI_POST_FMA_GET,
		.flags = KGNI_POST_REPORT,
		.remote_pe = ep->remote_pe,
		.remote_addr = s->remote_mbox + kgni_smsg_slot(&s->geom, copy->n),
		.remote = s->remote,
		.local_addr = (uintptr_t)word,
		.local = s->local,
		.length = sizeof(*word),
	};
	gni_return_t rc;

	if (kgni_smsg_tx_credits(&s->geom, &s->tx, s->mbox) >= 0 && s->tx.acked > copy->n)
		return GNI_RC_SUCCESS;
	core_store(word, 0);
	rc = ugni_post(ep->nic, &ep->smsg->window, &arg, NULL);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	return core_load(word) == kgni_smsg_word(copy->n, copy->length, copy->tag) ?
	       GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

static gni_return_t put_again(struct gni_ep *ep, struct smsg_copy *copy, u32 tid)
{
	struct kgni_ioc_post arg;

	ugni_count(ep->nic, GNI_STAT_SMSG_RETRANS_COUNT);
	copy->late = true;
	arg = slot_put(ep, copy->n, copy->payload, copy->length, copy->tag);
	slot_event(ep, &arg, copy->msg_id, tid);
	return ugni_post(ep->nic, &ep->smsg->window, &arg, ep->cq);
}

static enum ugni_again send_again(struct gni_cq *cq, struct gni_ep *ep, struct smsg_copy *copy,
				  u32 tid)
{
	gni_return_t rc;

	while (ugni_cq_try(cq, tid, core_load(&ep->nic->max_retrans))) {
		rc = arrived(ep, copy);
		if (rc == GNI_RC_SUCCESS)
			return UGNI_AGAIN_ARRIVED;
		/* A mailbox whose handle is not known here can be asked nothing. */
		if (rc == GNI_RC_NOT_DONE || rc == GNI_RC_INVALID_PARAM)
			rc = put_again(ep, copy, tid);
		if (rc == GNI_RC_SUCCESS)
			return UGNI_AGAIN_SENT;
		if (rc != GNI_RC_TRANSACTION_ERROR && !transient(rc))
			break;
		ugni_count(ep->nic, GNI_STAT_SMSG_RETRANS_STALL);
	}
	return UGNI_AGAIN_FAILED;
}

/*
 * The messages after one that came late were announced while nobody could take
 * them. A receiver may take one for each event: announce them once more, by what
 * tells of credits.
 */
static void announce_later(struct gni_ep *ep, const struct smsg_copy *copy)
{
	u64 n;

	if (!copy->late)
		return;
	for (n = copy->n + 1; n < ep->smsg->tx.sent; n++)
		put_credits(ep);
}

/**
 * ugni_smsg_again - a message's way failed, or an earlier one did and it arrived
 * @cq: queue that the entry is of
 * @ep: endpoint that the message was sent on, which may have gone
 * @entry: the entry
 *
 * Context: any, no locks.
 * Return: what became of the message; unless it is UGNI_AGAIN_SENT the request
 * is still to be ended.
 */
enum ugni_again ugni_smsg_again(struct gni_cq *cq, struct gni_ep *ep, gni_cq_entry_t entry)
{
	enum ugni_again what = UGNI_AGAIN_FAILED;
	u32 tid = (u32)kgni_cqe_tid(entry);
	struct smsg_copy *copy;

	if (!ugni_ep_lock(ep))
		return what;
	copy = ugni_cq_hold(cq, ep, tid);
	if (copy) {
		what = kgni_cqe_status(entry) == KGNI_ST_OK ? UGNI_AGAIN_ARRIVED :
		       send_again(cq, ep, copy, tid);
		if (what == UGNI_AGAIN_ARRIVED)
			announce_later(ep, copy);
		ugni_cq_let_go(cq);
	}
	ugni_unlock(ep);
	return what;
}

/* --- receiving ---------------------------------------------------------------------- */

static gni_return_t smsg_next(struct gni_ep *ep, void **header, u8 *tag)
{
	struct ugni_smsg *s = ep->smsg;
	struct kgni_smsg_msg msg;

	return_credits(ep);
	switch (kgni_smsg_rx_poll(&s->geom, &s->rx, s->mbox, &msg)) {
	case KGNI_SMSG_NONE:
		return ugni_bad(GNI_RC_NOT_DONE, "there is no message");
	case KGNI_SMSG_DAMAGED:
		return ugni_bad(GNI_RC_INVALID_STATE, "message %llu is not as a sender leaves it",
				(unsigned long long)s->rx.consumed);
	case KGNI_SMSG_MESSAGE:
		break;
	}
	if (*tag != GNI_SMSG_ANY_TAG && *tag != msg.tag)
		return ugni_bad(GNI_RC_NO_MATCH, "the next message has tag %u, not %u", msg.tag,
				*tag);
	s->current = true;
	*header = msg.payload;
	*tag = msg.tag;
	return GNI_RC_SUCCESS;
}

static ugni_apart gni_return_t next_fully(gni_ep_handle_t ep_hndl, void **header, u8 *tag)
{
	struct gni_ep *ep;
	gni_return_t rc;

	if (!header)
		return ugni_null(header);
	ep = smsg_ep(ep_hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	rc = smsg_next(ep, header, tag);
	ugni_unlock(ep);
	return rc;
}

/* Most messages that are there are found thus. Return: false if there is none such. */
static inline_always bool next_simply(gni_ep_handle_t ep, void **header, u8 *tag)
{
	struct ugni_smsg *s;
	char *slot;
	u64 word;
	u8 is;

	if (unlikely(!ugni_alone() | !header) || !ugni_is_ep(ep))
		return false;
	s = ep->smsg;
	if (unlikely(!s))
		return false;
	slot = (char *)s->mbox + s->rx_slot;
	word = core_load_acquire((u64 *)slot);
	is = (u8)CORE_BITS(word, 48, 8);
	if (unlikely(s->credit_due | !kgni_smsg_word_good(&s->geom, s->rx.consumed, word) |
		     ((*tag != GNI_SMSG_ANY_TAG) & (*tag != is))))
		return false;
	s->current = true;
	*header = slot + KGNI_SMSG_PAYLOAD;
	*tag = is;
	return true;
}

/* A message with another tag is for another call. */
UGNI_PUBLIC ugni_in_page(512)
gni_return_t GNI_SmsgGetNextWTag(gni_ep_handle_t ep_hndl, void **header, uint8_t *tag)
{
	gni_return_t rc;

	if (!tag)
		return ugni_end(ugni_null(tag));
	if (likely(next_simply(ep_hndl, header, tag)))
		return GNI_RC_SUCCESS;
	rc = next_fully(ep_hndl, header, tag);
	return rc == GNI_RC_NO_MATCH ? ugni_end_quiet(rc) : ugni_end(rc);
}

UGNI_PUBLIC ugni_in_page(512)
gni_return_t GNI_SmsgGetNext(gni_ep_handle_t ep_hndl, void **header)
{
	uint8_t tag = GNI_SMSG_ANY_TAG, any = GNI_SMSG_ANY_TAG;

	if (likely(next_simply(ep_hndl, header, &tag)))
		return GNI_RC_SUCCESS;
	return ugni_end(next_fully(ep_hndl, header, &any));
}

/* Return: true if the peer is to be told. */
static inline_always bool release(struct ugni_smsg *s)
{
	s->current = false;
	s->rx_slot = kgni_smsg_slot_next(&s->geom, s->rx_slot);
	return kgni_smsg_rx_release(&s->geom, &s->rx);
}

static void release_due(struct gni_ep *ep)
{
	ep->smsg->credit_due = true;
	return_credits(ep);
}

static gni_return_t release_fully(gni_ep_handle_t ep_hndl)
{
	gni_return_t rc = GNI_RC_SUCCESS;
	struct gni_ep *ep = smsg_ep(ep_hndl);

	if (!ep)
		return GNI_RC_INVALID_PARAM;
	if (!ep->smsg->current)
		rc = ugni_bad(GNI_RC_NOT_DONE, "GNI_SmsgGetNext() gave no message to release");
	else if (release(ep->smsg))
		release_due(ep);
	ugni_unlock(ep);
	return rc;
}

UGNI_PUBLIC ugni_in_page(512)
gni_return_t GNI_SmsgRelease(gni_ep_handle_t ep_hndl)
{
	if (unlikely(!ugni_alone()) || !ugni_is_ep(ep_hndl) || unlikely(!ep_hndl->smsg) ||
	    unlikely(!ep_hndl->smsg->current))
		return ugni_end(release_fully(ep_hndl));
	if (unlikely(release(ep_hndl->smsg)))
		release_due(ep_hndl);
	return GNI_RC_SUCCESS;
}

/* --- settings of the NIC handle --------------------------------------------------------- */

#define DLVMODES	(GNI_DLVMODE_NO_ADAPT | GNI_DLVMODE_NO_HASH | GNI_DLVMODE_NO_RADAPT |	\
			 GNI_DLVMODE_NMIN_HASH | GNI_DLVMODE_MIN_HASH | GNI_DLVMODE_ADAPTIVE1 |	\
			 GNI_DLVMODE_ADAPTIVE2 | GNI_DLVMODE_ADAPTIVE3 | GNI_DLVMODE_ORDERED_TAIL)

/* There is one way to a peer here and it keeps order, so all modes are kept. */
UGNI_PUBLIC gni_return_t GNI_SmsgSetDeliveryMode(gni_nic_handle_t nic_handle, uint16_t dlvr_mode)
{
	struct gni_nic *nic = ugni_nic(nic_handle);

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_handle));
	if (dlvr_mode & ~DLVMODES)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "dlvr_mode is 0x%x, bits are 0x%x",
					 dlvr_mode, DLVMODES));
	core_store(&nic->dlvr_mode, dlvr_mode);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_SmsgSetMaxRetrans(gni_nic_handle_t nic_handle, uint16_t max_retrans)
{
	struct gni_nic *nic = ugni_nic(nic_handle);

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_handle));
	core_store(&nic->max_retrans, max_retrans);
	return GNI_RC_SUCCESS;
}
