// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of a shared queue. Initiators are one node and targets another, or with
 * one NIC all of them are a node that is connected to itself.
 */

#include <stdlib.h>
#include <string.h>
#include "gni_perf.h"

#define SLOTS_MAX	32768
#define POOL		64
#define TICK_MS		5

/**
 * struct msgq - a process's share of a queue
 * @hndl: its handle
 * @p: the process
 * @ph: the phase that goes on
 * @number: of the message that is waited for
 * @got: it has come
 */
struct msgq {
	gni_msgq_handle_t hndl;
	struct proc *p;
	struct phase *ph;
	uint64_t number;
	bool got;
};

static bool two_nodes(const struct proc *p)
{
	return p->cfg->peer_device != p->cfg->nic.device;
}

/* One message at a time, so that nobody waits for more than that. */
static int take(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	struct msgq *q = cb_data;

	(void)snd_id;
	(void)snd_pe;
	(void)msg_tag;
	msg_check(q->p, q->ph, msg, q->number);
	q->got = true;
	return 0;
}

/* As many credits for each as short messages have. */
static gni_msgq_attr_t attributes(const struct proc *p)
{
	uint32_t insts = two_nodes(p) ? p->cfg->pairs : 2 * p->cfg->pairs;
	uint32_t slots = p->cfg->window * insts;

	slots = slots < SLOTS_MAX ? slots : SLOTS_MAX;
	return (gni_msgq_attr_t){
		.max_msg_sz = (uint32_t)p->max,
		.smsg_q_sz = slots,
		.rcv_pool_sz = POOL,
		.num_msgq_eps = 1,
		.nloc_insts = insts,
		.modes = p->sleeps ? GNI_MSGQ_MODE_BLOCKING : 0,
		.rcv_cq_sz = slots + POOL,
	};
}

static int init_fault(struct proc *p, gni_return_t rc)
{
	if (rc == GNI_RC_PERMISSION_ERROR)
		return fault_set(&p->fault, ST_DEVICE,
				 "GNI_MsgqInit: no memory to share: mount a hugetlbfs, or set UGNI_MSGQ_DIR to a tmpfs such as /dev/shm");
	return call_fault(p, "GNI_MsgqInit", rc);
}

int msgq_setup(struct proc *p)
{
	gni_msgq_attr_t attr = attributes(p);
	struct msgq *q;
	gni_return_t rc;

	if (attr.nloc_insts > GNI_MSGQ_NODE_INSTS_MAX)
		return fault_set(&p->fault, ST_USAGE,
				 "msgq: a node has at most %u processes: --pairs %u, or half of that with one NIC",
				 GNI_MSGQ_NODE_INSTS_MAX, GNI_MSGQ_NODE_INSTS_MAX);
	q = calloc(1, sizeof(*q));
	if (!q)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	p->priv = q;
	q->p = p;
	rc = GNI_MsgqInit(p->nic.hndl, take, q, p->tx, &attr, &q->hndl);
	return rc ? init_fault(p, rc) : ST_OK;
}

/* The first process of each node connects it. */
int msgq_connect(struct proc *p)
{
	struct msgq *q = p->priv;
	bool first = p->rank < (two_nodes(p) ? 2 : 1);
	struct side *other = two_nodes(p) ? p->peer : p->me;
	gni_return_t rc;

	if (first) {
		rc = GNI_MsgqGetConnAttrs(q->hndl, other->pe, &p->me->node, NULL);
		if (rc)
			return call_fault(p, "GNI_MsgqGetConnAttrs", rc);
	}
	if (meet(p) || !first)
		return p->fault.status;
	rc = GNI_MsgqConnect(q->hndl, other->pe, &other->node);
	return rc ? call_fault(p, "GNI_MsgqConnect", rc) : ST_OK;
}

int msgq_send(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size)
{
	struct msgq *q = p->priv;
	struct poll w = { 0 };
	gni_return_t rc;

	do
		rc = GNI_MsgqSend(q->hndl, ep, data, (uint32_t)size, NULL, 0, 0, 0);
	while (msg_again(p, &w, rc, "GNI_MsgqSend"));
	return p->fault.status;
}

int msgq_receive(struct proc *p, struct phase *ph, uint64_t i)
{
	struct msgq *q = p->priv;
	struct poll w = { 0 };
	gni_return_t rc;

	q->ph = ph;
	q->number = i;
	q->got = false;
	while (!(rc = GNI_MsgqProgress(q->hndl, p->sleeps ? TICK_MS : 0)))
		if (!poll_turn(p, &w))
			return poll_fault(p);
	if (!q->got)
		return interrupted ? poll_fault(p) : call_fault(p, "GNI_MsgqProgress", rc);
	return p->fault.status;
}

void msgq_end(struct proc *p)
{
	struct msgq *q = p->priv;

	if (q && q->hndl && !drain(p, p->tx))
		GNI_MsgqRelease(q->hndl);
	free(q);
}
