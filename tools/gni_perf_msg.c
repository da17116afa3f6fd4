// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages there and back, and one way: short messages, those of a shared queue, and
 * datagrams.
 */

#include <string.h>
#include "gni_perf.h"

/* A message begins with its number, as far as there is room. */
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

/* @n mailboxes, of which each is for one endpoint. */
int make_mboxes(struct proc *p, uint32_t n)
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
int open_mbox(struct proc *p, gni_ep_handle_t ep, uint32_t mine, const struct side *peer,
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
int drain(struct proc *p, gni_cq_handle_t cq)
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
	if (ph->size >= NUMBER)
		memcpy(out_buf(p), &i, NUMBER);
	else
		memcpy(out_buf(p), &i, ph->size);
}

/* Is @msg number @i of a phase? */
int msg_check(struct proc *p, struct phase *ph, const void *msg, uint64_t i)
{
	if (ph->size >= NUMBER ? memcmp(msg, &i, NUMBER) : memcmp(msg, &i, ph->size))
		return fault_set(&p->fault, ST_FAILED,
				 "%s: another message came in place of number %llu",
				 p->op->name, (unsigned long long)i);
	if (!p->cfg->check || ph->size <= NUMBER)
		return ST_OK;
	memcpy(in_buf(p), msg, ph->size);
	pattern_fill(in_buf(p), NUMBER, ph->seed + i);
	return pattern_check(p, in_buf(p), ph->size, ph->seed + i);
}

/* @rc: what a send came to. Return: true to do it again. */
bool msg_again(struct proc *p, struct poll *w, gni_return_t rc, const char *call)
{
	if (rc == GNI_RC_NOT_DONE) {
		if (drain(p, p->tx))
			return false;
		if (poll_turn(p, w))
			return true;
		poll_fault(p);
	} else if (rc) {
		call_fault(p, call, rc);
	}
	return false;
}

MEASURED int smsg_send(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size)
{
	struct poll w = { 0 };
	gni_return_t rc;

	do
		rc = GNI_SmsgSend(ep, data, (uint32_t)size, NULL, 0, 0);
	while (msg_again(p, &w, rc, "GNI_SmsgSend"));
	return p->fault.status;
}

/* The next message; credits that return raise events as well. */
static int smsg_wait(struct proc *p, gni_ep_handle_t ep, void **msg)
{
	struct poll w = { 0 };
	gni_cq_entry_t event;
	gni_return_t rc;

	for (;;) {
		while ((rc = event_wait(p, p->rx, &event)) == GNI_RC_NOT_DONE)
			if (!poll_turn(p, &w))
				return poll_fault(p);
		if (rc)
			return call_fault(p, "GNI_CqGetEvent", rc);
		rc = GNI_SmsgGetNext(ep, msg);
		if (rc != GNI_RC_NOT_DONE)
			return rc ? call_fault(p, "GNI_SmsgGetNext", rc) : ST_OK;
	}
}

static MEASURED int smsg_receive(struct proc *p, struct phase *ph, uint64_t i)
{
	gni_return_t rc;
	void *msg;

	if (smsg_wait(p, p->ep[0], &msg) || msg_check(p, ph, msg, i))
		return p->fault.status;
	rc = GNI_SmsgRelease(p->ep[0]);
	return rc ? call_fault(p, "GNI_SmsgRelease", rc) : ST_OK;
}

static int send_nth(struct proc *p, struct phase *ph, uint64_t i)
{
	msg_fill(p, ph, i);
	return p->op->send(p, p->ep[0], out_buf(p), ph->size);
}

#define DRAIN_EVERY	32

/* The event of message @i, which was sent; now and then all that there are. */
static int settle(struct proc *p, uint64_t i)
{
	gni_cq_entry_t event;
	gni_return_t rc;

	if (i % DRAIN_EVERY == 0)
		return drain(p, p->tx);
	rc = GNI_CqGetEvent(p->tx, &event);
	return rc && rc != GNI_RC_NOT_DONE ? call_fault(p, "GNI_CqGetEvent", rc) : ST_OK;
}

/* --- there and back ---------------------------------------------------------- */

static MEASURED int msg_ping(struct proc *p, struct phase *ph)
{
	uint64_t i, before = ph->sample->start;
	bool last = false;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, before);
		if (last)
			atomic_store(&p->me->limit, i + 1);
		if (send_nth(p, ph, i) || settle(p, i) || p->op->receive(p, ph, i))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

static MEASURED int msg_pong(struct proc *p, struct phase *ph)
{
	uint64_t i;

	for (i = 0; i < limit_of(p->peer); i++)
		if (p->op->receive(p, ph, i) || send_nth(p, ph, i) || settle(p, i))
			return p->fault.status;
	return ST_OK;
}

/* --- one way ----------------------------------------------------------------- */

/*
 * The last message is answered: only then have all arrived. Until then events of
 * the other direction tell of credits only.
 */
static MEASURED int msg_out(struct proc *p, struct phase *ph)
{
	uint64_t i, now = ph->sample->start;
	uint32_t until = p->cfg->window;
	bool last = false;

	for (i = 0; !last; i++) {
		if (--until == 0) {
			until = p->cfg->window;
			if (drain(p, p->tx) || drain(p, p->rx))
				return p->fault.status;
			now = clock_ticks();
		}
		last = run_last(ph, i, now);
		if (last)
			atomic_store(&p->me->limit, i + 1);
		if (send_nth(p, ph, i))
			return p->fault.status;
	}
	ph->sample->ops = i;
	if (p->op->receive(p, ph, i - 1) || drain(p, p->tx))
		return p->fault.status;
	ph->sample->end = clock_ticks();
	return ST_OK;
}

static MEASURED int msg_in(struct proc *p, struct phase *ph)
{
	uint64_t i;

	for (i = 0; i < limit_of(p->peer); i++)
		if (p->op->receive(p, ph, i))
			return p->fault.status;
	return send_nth(p, ph, i - 1) || drain(p, p->tx);
}

int msg_run(struct proc *p, struct phase *ph)
{
	if (p->measure == LAT)
		return p->initiator ? msg_ping(p, ph) : msg_pong(p, ph);
	return p->initiator ? msg_out(p, ph) : msg_in(p, ph);
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

#define MESSAGES	.measures = LAT | BW | RATE, .multiple = 1, .two_way = true, .run = msg_run

const struct op msg_ops[] = {
	{ .name = "smsg", .what = "short message", MESSAGES, .max = 65535,
	  .setup = smsg_setup, .connect = smsg_connect, .begin = smsg_begin,
	  .send = smsg_send, .receive = smsg_receive },
	{ .name = "msgq", .what = "message of a shared queue", MESSAGES,
	  .max = GNI_MSGQ_MSG_SZ_MAX, .setup = msgq_setup, .connect = msgq_connect,
	  .send = msgq_send, .receive = msgq_receive, .end = msgq_end },
	{ .name = "dgram", .what = "exchange of datagrams", .measures = LAT | RATE,
	  .multiple = 1, .max = GNI_DATAGRAM_MAXSIZE, .run = dgram_run },
	{ }
};
