// SPDX-License-Identifier: GPL-2.0-only
/* Short messages, datagrams, and barriers made of short messages. */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "gni_perf.h"

/* A message that carries nothing else has its number. */
#define NUMBER		sizeof(uint64_t)

/* --- mailboxes --------------------------------------------------------------- */

static void mbox_attr(const struct proc *p, const struct side *of, uint32_t box,
		      gni_smsg_attr_t *attr)
{
	unsigned int size = 0;

	*attr = (gni_smsg_attr_t){
		.msg_type = GNI_SMSG_TYPE_MBOX,
		.msg_buffer = (void *)(uintptr_t)of->mbox_addr,
		.mem_hndl = of->mbox,
		.mbox_maxcredit = (uint16_t)p->cfg->window,
		.msg_maxsize = (uint32_t)(p->max > NUMBER ? p->max : NUMBER),
	};
	GNI_SmsgBufferSizeNeeded(attr, &size);
	size = (size + 63) & ~63U;
	attr->buff_size = size;
	attr->mbox_offset = box * size;
}

static int make_mboxes(struct proc *p, uint32_t n)
{
	gni_smsg_attr_t attr;

	mbox_attr(p, p->me, 0, &attr);
	if (region_make(&p->mbox, &p->nic, (size_t)n * attr.buff_size, p->rx, &p->fault))
		return p->fault.status;
	p->me->mbox_addr = (uintptr_t)p->mbox.addr;
	p->me->mbox = p->mbox.mdh;
	return ST_OK;
}

/* An endpoint's mailbox here is number @mine, the one there number @theirs. */
static int open_mbox(struct proc *p, gni_ep_handle_t ep, uint32_t mine, const struct side *peer,
		     uint32_t theirs)
{
	gni_smsg_attr_t here, there;
	gni_return_t rc;

	mbox_attr(p, p->me, mine, &here);
	mbox_attr(p, peer, theirs, &there);
	rc = GNI_SmsgInit(ep, &here, &there);
	return rc ? call_fault(p, "GNI_SmsgInit", rc) : ST_OK;
}

/* Events of messages that were sent tell nothing new, but their queue must not fill. */
static int drain(struct proc *p, gni_cq_handle_t cq)
{
	gni_cq_entry_t event;
	gni_return_t rc;

	while (!(rc = GNI_CqGetEvent(cq, &event)))
		;
	return rc == GNI_RC_NOT_DONE ? ST_OK : call_fault(p, "GNI_CqGetEvent", rc);
}

/* --- one message ------------------------------------------------------------- */

/* Number @i of a phase: its number, as far as there is room, and a pattern. */
static void msg_fill(struct proc *p, struct phase *ph, uint64_t i)
{
	if (p->cfg->check)
		pattern_fill(out_buf(p), ph->size, ph->seed + i);
	memcpy(out_buf(p), &i, ph->size < NUMBER ? ph->size : NUMBER);
}

static int msg_check(struct proc *p, struct phase *ph, const void *msg, uint64_t i)
{
	if (memcmp(msg, &i, ph->size < NUMBER ? ph->size : NUMBER))
		return fault_set(&p->fault, ST_FAILED,
				 "%s: another message came in place of number %llu",
				 p->op->name, (unsigned long long)i);
	if (!p->cfg->check || ph->size <= NUMBER)
		return ST_OK;
	memcpy(in_buf(p), msg, ph->size);
	pattern_fill(in_buf(p), NUMBER, ph->seed + i);
	return pattern_check(p, in_buf(p), ph->size, ph->seed + i);
}

static int msg_send(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size)
{
	struct poll w = { 0 };
	gni_return_t rc;

	while ((rc = GNI_SmsgSend(ep, data, (uint32_t)size, NULL, 0, 0)) == GNI_RC_NOT_DONE) {
		if (drain(p, p->tx))
			return p->fault.status;
		if (!poll_turn(p, &w))
			return poll_fault(p);
	}
	return rc ? call_fault(p, "GNI_SmsgSend", rc) : ST_OK;
}

/* The next message; credits that return raise events as well. */
static int msg_wait(struct proc *p, gni_ep_handle_t ep, void **msg)
{
	struct poll w = { 0 };
	gni_cq_entry_t event;
	gni_return_t rc;

	for (;;) {
		while ((rc = GNI_CqGetEvent(p->rx, &event)) == GNI_RC_NOT_DONE)
			if (!poll_turn(p, &w))
				return poll_fault(p);
		if (rc)
			return call_fault(p, "GNI_CqGetEvent", rc);
		rc = GNI_SmsgGetNext(ep, msg);
		if (rc != GNI_RC_NOT_DONE)
			return rc ? call_fault(p, "GNI_SmsgGetNext", rc) : ST_OK;
	}
}

static int msg_receive(struct proc *p, struct phase *ph, uint64_t i)
{
	gni_return_t rc;
	void *msg;

	if (msg_wait(p, p->ep[0], &msg) || msg_check(p, ph, msg, i))
		return p->fault.status;
	rc = GNI_SmsgRelease(p->ep[0]);
	return rc ? call_fault(p, "GNI_SmsgRelease", rc) : ST_OK;
}

static int msg_send_nth(struct proc *p, struct phase *ph, uint64_t i)
{
	msg_fill(p, ph, i);
	return msg_send(p, p->ep[0], out_buf(p), ph->size);
}

/* --- there and back ---------------------------------------------------------- */

static int smsg_ping(struct proc *p, struct phase *ph)
{
	uint64_t i, before = ph->sample->start;
	bool last = false;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, before);
		if (last)
			atomic_store(&p->me->limit, i + 1);
		if (msg_send_nth(p, ph, i) || msg_receive(p, ph, i) || drain(p, p->tx))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

static int smsg_pong(struct proc *p, struct phase *ph)
{
	uint64_t i;

	for (i = 0; i < limit_of(p->peer); i++)
		if (msg_receive(p, ph, i) || msg_send_nth(p, ph, i) || drain(p, p->tx))
			return p->fault.status;
	return ST_OK;
}

/* --- one way ----------------------------------------------------------------- */

/*
 * The last message is answered: only then have all arrived. Until then events of
 * the other direction tell of credits only.
 */
static int smsg_out(struct proc *p, struct phase *ph)
{
	bool last = false;
	uint64_t i;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, ph->n ? 0 : clock_ticks());
		if (last)
			atomic_store(&p->me->limit, i + 1);
		if (msg_send_nth(p, ph, i) ||
		    (i % p->cfg->window == 0 && (drain(p, p->tx) || drain(p, p->rx))))
			return p->fault.status;
	}
	ph->sample->ops = i;
	if (msg_receive(p, ph, i - 1) || drain(p, p->tx))
		return p->fault.status;
	ph->sample->end = clock_ticks();
	return ST_OK;
}

static int smsg_in(struct proc *p, struct phase *ph)
{
	uint64_t i;

	for (i = 0; i < limit_of(p->peer); i++)
		if (msg_receive(p, ph, i))
			return p->fault.status;
	return msg_send_nth(p, ph, i - 1) || drain(p, p->tx);
}

static int smsg_run(struct proc *p, struct phase *ph)
{
	if (p->measure == LAT)
		return p->initiator ? smsg_ping(p, ph) : smsg_pong(p, ph);
	return p->initiator ? smsg_out(p, ph) : smsg_in(p, ph);
}

static int smsg_setup(struct proc *p)
{
	return make_mboxes(p, 1);
}

static int smsg_connect(struct proc *p)
{
	return open_mbox(p, p->ep[0], 0, p->peer, 0);
}

/* Credits that came back last, nobody waited for. */
static int smsg_begin(struct proc *p, struct phase *ph)
{
	(void)ph;
	return drain(p, p->rx);
}

/* --- datagrams --------------------------------------------------------------- */

static int dgram_wait(struct proc *p)
{
	gni_post_state_t state = GNI_POST_PENDING;
	struct poll w = { 0 };
	uint32_t pe, inst;
	gni_return_t rc;

	while (!(rc = GNI_EpPostDataTest(p->ep[0], &state, &pe, &inst)) &&
	       state != GNI_POST_COMPLETED) {
		if (state != GNI_POST_PENDING && state != GNI_POST_REMOTE_DATA)
			return fault_set(&p->fault, ST_PEER, "a datagram ended in state %d",
					 state);
		if (!poll_turn(p, &w))
			return poll_fault(p);
	}
	return rc ? call_fault(p, "GNI_EpPostDataTest", rc) : ST_OK;
}

static int dgram_exchange(struct proc *p, struct phase *ph, uint64_t i)
{
	gni_return_t rc;

	msg_fill(p, ph, i);
	rc = GNI_EpPostData(p->ep[0], out_buf(p), (uint16_t)ph->size, in_buf(p),
			    (uint16_t)ph->size);
	if (rc)
		return call_fault(p, "GNI_EpPostData", rc);
	return dgram_wait(p) || msg_check(p, ph, in_buf(p), i);
}

/* Both sides do the same; the initiator says when it is the last time. */
static int dgram_run(struct proc *p, struct phase *ph)
{
	uint64_t i, before = ph->sample->start;

	for (i = 0; i < limit_of(p->initiator ? p->me : p->peer); i++) {
		if (p->initiator && run_last(ph, i, before))
			atomic_store(&p->me->limit, i + 1);
		if (dgram_exchange(p, ph, i))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

/* --- barriers ---------------------------------------------------------------- */

/*
 * Dissemination: in round k each process tells the one 2^k after it, and waits for
 * the one 2^k before it. Each round has an endpoint for either.
 */
struct barrier {
	gni_ep_handle_t to[PERF_ROUNDS];
	gni_ep_handle_t from[PERF_ROUNDS];
};

static uint32_t barrier_rounds(const struct proc *p)
{
	uint32_t k = 0;

	while (1U << k < 2 * p->cfg->pairs)
		k++;
	return k;
}

static int barrier_setup(struct proc *p)
{
	p->priv = calloc(1, sizeof(struct barrier));
	if (!p->priv)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	return make_mboxes(p, 2 * barrier_rounds(p));
}

/* Mailbox 2k is for the endpoint to the one after, 2k + 1 for that to the one before. */
static int barrier_link(struct proc *p, gni_ep_handle_t *ep, uint32_t rank, uint32_t mine)
{
	const struct side *peer = &p->shared->side[rank % (2 * p->cfg->pairs)];
	gni_return_t rc = GNI_EpCreate(p->nic.hndl, p->tx, ep);

	if (rc)
		return call_fault(p, "GNI_EpCreate", rc);
	return bind_endpoint(p, *ep, peer) || open_mbox(p, *ep, mine, peer, mine ^ 1);
}

static int barrier_connect(struct proc *p)
{
	uint32_t k, all = 2 * p->cfg->pairs;
	struct barrier *b = p->priv;

	for (k = 0; k < barrier_rounds(p); k++)
		if (barrier_link(p, &b->to[k], p->rank + (1U << k), 2 * k) ||
		    barrier_link(p, &b->from[k], p->rank + all - (1U << k), 2 * k + 1))
			return p->fault.status;
	return ST_OK;
}

static int barrier_message(struct proc *p, gni_ep_handle_t ep, uint64_t i)
{
	struct poll w = { 0 };
	gni_return_t rc;
	void *msg;

	while ((rc = GNI_SmsgGetNext(ep, &msg)) == GNI_RC_NOT_DONE)
		if (!poll_turn(p, &w))
			return poll_fault(p);
	if (rc)
		return call_fault(p, "GNI_SmsgGetNext", rc);
	if (memcmp(msg, &i, sizeof(i)))
		return fault_set(&p->fault, ST_FAILED,
				 "barrier: a message of another barrier came in number %llu",
				 (unsigned long long)i);
	rc = GNI_SmsgRelease(ep);
	return rc ? call_fault(p, "GNI_SmsgRelease", rc) : ST_OK;
}

static int barrier(struct proc *p, uint64_t i)
{
	struct barrier *b = p->priv;
	uint32_t k;

	for (k = 0; k < barrier_rounds(p); k++)
		if (msg_send(p, b->to[k], &i, sizeof(i)) || barrier_message(p, b->from[k], i))
			return p->fault.status;
	return drain(p, p->tx) || drain(p, p->rx);
}

/* The first process says, before it comes to a barrier, whether it is the last. */
static int barrier_run(struct proc *p, struct phase *ph)
{
	uint64_t i, before = ph->sample->start;
	struct side *first = &p->shared->side[0];

	for (i = 0; i < limit_of(first); i++) {
		if (!p->rank && run_last(ph, i, before))
			atomic_store(&first->limit, i + 1);
		if (barrier(p, i))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

static void barrier_end(struct proc *p)
{
	struct barrier *b = p->priv;
	uint32_t k;

	for (k = 0; b && k < PERF_ROUNDS; k++) {
		if (b->to[k])
			GNI_EpDestroy(b->to[k]);
		if (b->from[k])
			GNI_EpDestroy(b->from[k]);
	}
	free(b);
}

const struct op msg_ops[] = {
	{ .name = "smsg", .what = "short message", .measures = LAT | BW | RATE, .multiple = 1,
	  .max = 65535, .two_way = true, .setup = smsg_setup, .connect = smsg_connect,
	  .begin = smsg_begin, .run = smsg_run },
	{ .name = "dgram", .what = "exchange of datagrams", .measures = LAT | RATE,
	  .multiple = 1, .max = GNI_DATAGRAM_MAXSIZE, .run = dgram_run },
	{ .name = "barrier", .what = "barrier of short messages", .measures = LAT, .all = true,
	  .setup = barrier_setup, .connect = barrier_connect, .run = barrier_run,
	  .end = barrier_end },
	{ }
};
