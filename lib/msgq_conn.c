// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shared message queues: connections between nodes. One instance makes them for all
 * of its node, under the lock that also who joins and leaves takes.
 */
#include <stdlib.h>

#include "msgq.h"
#include "core/memhndl.h"

/* Is everybody there, and nobody leaving? */
static bool whole(const struct gni_msgq *q)
{
	const struct kgni_msgq_head *head = kgni_msgq_head(&q->view);

	return core_load(&head->complete) && !core_load(&head->leaving);
}

static gni_return_t not_whole(void)
{
	return ugni_bad(GNI_RC_PERMISSION_ERROR, "not all instances joined, or one has left");
}

/* Return: the message queue, locked, with other processes excluded; NULL with @rc set. */
static struct gni_msgq *conn_begin(gni_msgq_handle_t msgq_hndl, gni_return_t busy,
				   gni_return_t *rc)
{
	struct gni_msgq *q = ugni_msgq_lock(msgq_hndl);

	if (!q) {
		*rc = ugni_no("message queue", msgq_hndl);
		return NULL;
	}
	if (!ugni_away(q->nic)) {
		if (ugni_region_lock(q->region))
			return q;
		*rc = ugni_bad(busy, "another instance does not let go");
	} else {
		*rc = ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	}
	ugni_unlock(q);
	return NULL;
}

typedef gni_return_t conn_fn(struct gni_msgq *q, u32 pe, gni_msgq_ep_attr_t *attrs);

/* Do something to the connection to a node, with everybody else excluded. */
static gni_return_t on_conn(gni_msgq_handle_t msgq_hndl, conn_fn *fn, u32 pe,
			    gni_msgq_ep_attr_t *attrs, gni_return_t busy)
{
	struct gni_msgq *q;
	gni_return_t rc;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	q = conn_begin(msgq_hndl, busy, &rc);
	if (q) {
		rc = fn(q, pe, attrs);
		ugni_region_unlock(q->region);
		ugni_unlock(q);
	}
	pthread_setcancelstate(state, NULL);
	return rc;
}

/* --- beginning one ------------------------------------------------------------------ */

static void tell_inst(struct gni_msgq *q, u32 c, u32 i, gni_msgq_rem_inst_t *out)
{
	const struct kgni_msgq_inst *inst = kgni_msgq_inst(&q->view, i);

	out->id = core_load(&inst->id);
	out->mdh.qword1 = core_load(&inst->handle[0]);
	out->mdh.qword2 = core_load(&inst->handle[1]);
	out->mdh_off = kgni_msgq_offset(&q->view, c, i, core_load(&inst->epoch));
}

static void tell_node(struct gni_msgq *q, u32 c, gni_msgq_ep_attr_t *attrs)
{
	u32 i;

	memset(attrs, 0, sizeof(*attrs));
	attrs->pe_addr = q->nic->pe;
	attrs->max_msg_sz = q->view.shape.maxsize;
	attrs->smsg_q_sz = q->view.shape.slots;
	for (i = 0; i < q->view.shape.insts; i++) {
		if (!core_load_acquire(&kgni_msgq_inst(&q->view, i)->used))
			continue;
		if (i != q->inst && !ugni_region_alive(q->region, i))
			continue;
		tell_inst(q, c, i, &attrs->insts[attrs->num_insts++]);
	}
}

static gni_return_t get_attrs(struct gni_msgq *q, u32 pe, gni_msgq_ep_attr_t *attrs)
{
	u32 c;

	if (!whole(q))
		return not_whole();
	if (kgni_msgq_lookup(&q->view, pe) != q->view.shape.conns)
		return ugni_bad(GNI_RC_INVALID_STATE, "a connection to the node %u was begun", pe);
	c = kgni_msgq_assign(&q->view, pe);
	if (c == q->view.shape.conns)
		return ugni_bad(GNI_RC_ERROR_RESOURCE, "there are num_msgq_eps connections, %u",
				q->view.shape.conns);
	tell_node(q, c, attrs);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_MsgqGetConnAttrs(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
					      gni_msgq_ep_attr_t *attrs, uint32_t *attrs_size)
{
	gni_return_t rc;

	if (!attrs)
		return ugni_end(ugni_null(attrs));
	rc = on_conn(msgq_hndl, get_attrs, pe_addr, attrs, GNI_RC_PERMISSION_ERROR);
	if (rc == GNI_RC_SUCCESS && attrs_size)
		*attrs_size = (u32)(offsetof(gni_msgq_ep_attr_t, insts) +
				    attrs->num_insts * sizeof(attrs->insts[0]));
	return ugni_end(rc);
}

/* --- completing one ------------------------------------------------------------------- */

static bool read_inst(const struct gni_msgq *q, const gni_msgq_rem_inst_t *in,
		      struct kgni_msgq_peer *peer, u32 *at)
{
	struct kgni_mh mh;

	kgni_mh_unpack(in->mdh.qword1, in->mdh.qword2, &mh);
	peer->id = in->id;
	peer->handle[0] = in->mdh.qword1;
	peer->handle[1] = in->mdh.qword2;
	return kgni_msgq_peer_init(&q->view.shape, peer, mh.va, in->mdh_off, at);
}

/* @peers: room for KGNI_MSGQ_INSTS_MAX */
static bool read_node(const struct gni_msgq *q, u32 pe, const gni_msgq_ep_attr_t *attrs,
		      struct kgni_msgq_peer *peers, u32 *at)
{
	u32 i, same;

	if (attrs->pe_addr != pe || attrs->max_msg_sz != q->view.shape.maxsize ||
	    attrs->smsg_q_sz != q->view.shape.slots || !attrs->num_insts ||
	    attrs->num_insts > KGNI_MSGQ_INSTS_MAX)
		return false;
	for (i = 0; i < attrs->num_insts; i++) {
		if (!read_inst(q, &attrs->insts[i], &peers[i], &same) || (i && same != *at))
			return false;
		*at = same;
	}
	return true;
}

static gni_return_t do_connect(struct gni_msgq *q, u32 pe, gni_msgq_ep_attr_t *attrs)
{
	struct kgni_msgq_peer peers[KGNI_MSGQ_INSTS_MAX];
	u32 at = 0, c;

	if (!whole(q))
		return not_whole();
	if (!read_node(q, pe, attrs, peers, &at))
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"attrs have pe_addr %u, max_msg_sz %u, smsg_q_sz %u, num_insts %u",
				attrs->pe_addr, attrs->max_msg_sz, attrs->smsg_q_sz,
				attrs->num_insts);
	c = kgni_msgq_lookup(&q->view, pe);
	if (c == q->view.shape.conns)
		return ugni_bad(GNI_RC_NO_MATCH, "no connection to the node %u was begun", pe);
	if (core_load(&kgni_msgq_conn(&q->view, c)->state) == KGNI_MSGQ_CONNECTED)
		return ugni_bad(GNI_RC_INVALID_STATE, "the node %u is connected already", pe);
	kgni_msgq_connect(&q->view, c, peers, attrs->num_insts, at);
	/* Messages may have come already. */
	ugni_msgq_give_back(q, c);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_MsgqConnect(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
					 gni_msgq_ep_attr_t *attrs)
{
	if (!attrs)
		return ugni_end(ugni_null(attrs));
	return ugni_end(on_conn(msgq_hndl, do_connect, pe_addr, attrs, GNI_RC_PERMISSION_ERROR));
}

/* --- ending one --------------------------------------------------------------------------- */

/* Sends to a node whose events were not taken. */
static bool owes_events(const struct gni_msgq *q, u32 pe)
{
	struct gni_cq *cq;
	u32 i = 0;

	while ((cq = ugni_next(&ugni_cqs, &i)))
		if (core_load(&cq->nic) == q->nic && ugni_cq_owes_msgq(cq, &pe))
			return true;
	return false;
}

/*
 * With both locks of the connection: is nothing on its way? What was sent must have
 * been consumed, unless there is nobody left to do that.
 */
static bool conn_idle(struct gni_msgq *q, u32 c)
{
	if (kgni_msgq_sweep(&q->view, c))
		return false;
	kgni_msgq_return(&q->view, c);
	return !kgni_msgq_out(&q->view, c) || !kgni_msgq_ask(&q->view, c, q->turn++);
}

static bool conn_free(struct gni_msgq *q, u32 c)
{
	bool done = false;

	if (!ugni_msgq_lock_tx(q, c))
		return false;
	if (ugni_msgq_lock_rx(q, c)) {
		done = conn_idle(q, c);
		if (done)
			core_store_release(&kgni_msgq_conn(&q->view, c)->state, KGNI_MSGQ_FREE);
		ugni_msgq_unlock_rx(q, c);
	}
	ugni_msgq_unlock_tx(q, c);
	return done;
}

static gni_return_t conn_release(struct gni_msgq *q, u32 pe, gni_msgq_ep_attr_t *attrs)
{
	u32 c = kgni_msgq_lookup(&q->view, pe);

	(void)attrs;
	if (c == q->view.shape.conns)
		return ugni_bad(GNI_RC_NO_MATCH, "there is no connection to the node %u", pe);
	if (owes_events(q, pe))
		return ugni_bad(GNI_RC_NOT_DONE, "events of sends to it were not taken");
	if (!conn_free(q, c))
		return ugni_bad(GNI_RC_NOT_DONE, "messages are on their way");
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_MsgqConnRelease(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr)
{
	return ugni_end(on_conn(msgq_hndl, conn_release, pe_addr, NULL, GNI_RC_NOT_DONE));
}
