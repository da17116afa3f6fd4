// SPDX-License-Identifier: GPL-2.0-only
/*
 * A connection: two processes meet by a datagram that carries what each needs
 * to reach the other's memory, then exchange short messages and move blocks.
 *
 * One thread uses a connection. It sleeps on both completion queues, and when
 * nothing comes for a while it reads a word of the peer's memory: that fails at
 * once where the peer has died, and works where it is only slow.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"

#define HELLO_MAGIC	0x6e676b01U
#define HELLO_VERSION	1
#define CREDITS		16
#define MBOX_OFFSET	4096
#define TICK_MS		1000
#define CONNECT_TICK_MS	500
/* A client's name for its datagram. */
#define CONNECT_ID	1

/* How a message looks in the mailbox; its data follows. */
struct wire_head {
	uint64_t n;
	uint64_t size;
	uint32_t word;
	uint32_t length;
};

#define MSG_SIZE	(sizeof(struct wire_head) + CONN_DATA_MAX)

_Static_assert(sizeof(struct hello) <= GNI_DATAGRAM_MAXSIZE, "hello must fit a datagram");
_Static_assert(sizeof(struct conn_ctl) <= MBOX_OFFSET, "the mailbox follows the control page");

static int rc_fault(struct conn *c, const char *call, gni_return_t rc)
{
	return fault_set(&c->fault, rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM ?
			 ST_DEVICE : ST_FAILED, "%s: %s", call, rc_name(rc));
}

/* --- making one ----------------------------------------------------------- */

static void smsg_attr(gni_smsg_attr_t *attr, const struct hello *h)
{
	*attr = (gni_smsg_attr_t){
		.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
		.msg_buffer = (void *)(uintptr_t)h->ctl_addr,
		.buff_size = h->mbox_size,
		.mem_hndl = h->ctl_mdh,
		.mbox_offset = MBOX_OFFSET,
		.mbox_maxcredit = h->credits,
		.msg_maxsize = h->msg_size,
	};
}

static int make_queues(struct conn *c, uint32_t depth)
{
	uint32_t entries = 2 * depth + 4 * CREDITS + 64;
	gni_return_t rc;

	rc = GNI_CqCreate(c->nic->hndl, entries, 0, GNI_CQ_BLOCKING, NULL, NULL, &c->tx);
	if (!rc)
		rc = GNI_CqCreate(c->nic->hndl, entries, 0, GNI_CQ_BLOCKING, NULL, NULL, &c->rx);
	if (!rc)
		rc = GNI_EpCreate(c->nic->hndl, c->tx, &c->ep);
	if (rc == GNI_RC_ERROR_RESOURCE)
		return fault_set(&c->fault, ST_DEVICE,
				 "cannot create queues: raise the limit on locked memory (ulimit -l), or end other programs that use GNI");
	return rc ? rc_fault(c, "cannot create queues and endpoint", rc) : ST_OK;
}

static int make_regions(struct conn *c, const struct conn_opts *o)
{
	gni_smsg_attr_t attr;
	unsigned int mbox;
	gni_return_t rc;

	c->mine = (struct hello){
		.magic = HELLO_MAGIC, .version = HELLO_VERSION, .service = o->service,
		.block = o->block, .depth = (uint16_t)o->depth,
		.credits = CREDITS, .msg_size = MSG_SIZE,
	};
	smsg_attr(&attr, &c->mine);
	rc = GNI_SmsgBufferSizeNeeded(&attr, &mbox);
	if (rc)
		return rc_fault(c, "GNI_SmsgBufferSizeNeeded", rc);
	c->mine.mbox_size = mbox;
	if (region_make(&c->ctl, c->nic, MBOX_OFFSET + mbox, c->rx, &c->fault) ||
	    region_make(&c->data, c->nic, (size_t)o->block * o->depth, c->rx, &c->fault))
		return c->fault.status;
	c->mine.ctl_addr = (uintptr_t)c->ctl.addr;
	c->mine.ctl_mdh = c->ctl.mdh;
	c->mine.data_addr = (uintptr_t)c->data.addr;
	c->mine.data_mdh = c->data.mdh;
	return ST_OK;
}

/**
 * conn_init - prepare for a peer: queues, memory, endpoint
 * @c: out; conn_destroy() undoes it, also when this failed
 * @nic: NIC to use
 * @o: how
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_init(struct conn *c, struct nic *nic, const struct conn_opts *o)
{
	memset(c, 0, sizeof(*c));
	c->nic = nic;
	c->timeout = o->timeout * NS_PER_S;
	c->queue = calloc(2 * CONN_DEPTH_MAX, sizeof(*c->queue));
	if (!c->queue)
		return fault_set(&c->fault, ST_FAILED, "out of memory");
	if (make_queues(c, o->depth))
		return c->fault.status;
	return make_regions(c, o);
}

void conn_destroy(struct conn *c)
{
	if (c->ep)
		GNI_EpDestroy(c->ep);
	region_free(&c->data);
	region_free(&c->ctl);
	if (c->rx)
		GNI_CqDestroy(c->rx);
	if (c->tx)
		GNI_CqDestroy(c->tx);
	free(c->queue);
	c->ep = NULL;
	c->rx = NULL;
	c->tx = NULL;
	c->queue = NULL;
}

/* Both sides know each other: check what the peer said, open the channel. */
static int open_channel(struct conn *c)
{
	const struct hello *p = &c->peer;
	gni_smsg_attr_t mine, peer;
	gni_return_t rc;

	if (p->magic != HELLO_MAGIC || p->version != HELLO_VERSION ||
	    p->service != c->mine.service || p->credits != CREDITS || p->msg_size != MSG_SIZE)
		return fault_set(&c->fault, ST_PEER,
				 "PE %u, instance %u is not the program, or not the version, expected",
				 c->peer_pe, c->peer_inst);
	c->block = p->block < c->mine.block ? p->block : c->mine.block;
	c->depth = p->depth < c->mine.depth ? p->depth : c->mine.depth;
	if (c->block < CONN_BLOCK_MIN || c->block % 4 || !c->depth)
		return fault_set(&c->fault, ST_PEER, "PE %u, instance %u offers no usable blocks",
				 c->peer_pe, c->peer_inst);
	smsg_attr(&mine, &c->mine);
	smsg_attr(&peer, p);
	rc = GNI_SmsgInit(c->ep, &mine, &peer);
	if (rc)
		return rc_fault(c, "GNI_SmsgInit", rc);
	rc = GNI_EpSetEventData(c->ep, 0, CONN_EVENT_MESSAGE << 24);
	if (rc)
		return rc_fault(c, "GNI_EpSetEventData", rc);
	c->open = true;
	c->heard = now_ns();
	return ST_OK;
}

/**
 * conn_listen - wait for any peer: post a wildcard datagram
 * @c: connection
 * @id: names the datagram; unique on the NIC
 *
 * Return: ST_OK or the status of @c->fault. GNI_PostdataProbeWaitById() gives
 * @id when a peer has come.
 */
int conn_listen(struct conn *c, uint64_t id)
{
	gni_return_t rc = GNI_EpPostDataWId(c->ep, &c->mine, sizeof(c->mine), &c->peer,
					    sizeof(c->peer), id);

	return rc ? rc_fault(c, "cannot wait for peers", rc) : ST_OK;
}

/**
 * conn_accept - take the peer that answered conn_listen()
 * @c: connection
 * @id: the datagram's name
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_accept(struct conn *c, uint64_t id)
{
	gni_post_state_t state;
	gni_return_t rc;

	rc = GNI_EpPostDataTestById(c->ep, id, &state, &c->peer_pe, &c->peer_inst);
	if (rc)
		return rc_fault(c, "the peer's datagram", rc);
	if (state != GNI_POST_COMPLETED)
		return fault_set(&c->fault, ST_PEER, "the peer's datagram ended in state %d",
				 state);
	rc = GNI_EpBind(c->ep, c->peer_pe, c->peer_inst);
	if (rc)
		return rc_fault(c, "GNI_EpBind", rc);
	return open_channel(c);
}

static int wait_for_answer(struct conn *c)
{
	uint64_t start = now_ns();
	gni_post_state_t state;
	gni_return_t rc;

	do {
		rc = GNI_EpPostDataWaitById(c->ep, CONNECT_ID, CONNECT_TICK_MS, &state,
					    &c->peer_pe, &c->peer_inst);
		if (interrupted)
			return fault_set(&c->fault, ST_INTERRUPTED, "interrupted");
	} while (rc == GNI_RC_TIMEOUT && now_ns() - start < c->timeout);
	if (rc == GNI_RC_TIMEOUT)
		return fault_set(&c->fault, ST_PEER,
				 "no answer from PE %u, instance %u in %u s: is the server running there, for the same user and cookie, and not busy?",
				 c->peer_pe, c->peer_inst, (unsigned int)(c->timeout / NS_PER_S));
	if (rc)
		return rc_fault(c, "GNI_EpPostDataWaitById", rc);
	if (state != GNI_POST_COMPLETED)
		return fault_set(&c->fault, ST_PEER, "PE %u, instance %u did not answer",
				 c->peer_pe, c->peer_inst);
	return ST_OK;
}

/**
 * conn_connect - meet a peer that listens
 * @c: connection
 * @pe: address of its NIC
 * @inst: its instance id
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_connect(struct conn *c, uint32_t pe, uint32_t inst)
{
	gni_return_t rc;

	c->peer_pe = pe;
	c->peer_inst = inst;
	rc = GNI_EpBind(c->ep, pe, inst);
	if (rc)
		return rc_fault(c, "GNI_EpBind", rc);
	rc = GNI_EpPostDataWId(c->ep, &c->mine, sizeof(c->mine), &c->peer, sizeof(c->peer),
			       CONNECT_ID);
	if (rc)
		return rc_fault(c, "GNI_EpPostDataWId", rc);
	if (wait_for_answer(c))
		return c->fault.status;
	return open_channel(c);
}

/* --- sending -------------------------------------------------------------- */

static gni_return_t send_now(struct conn *c, const struct msg *m)
{
	struct wire_head head = {
		.n = m->n, .size = m->size, .word = m->word, .length = m->length,
	};

	return GNI_SmsgSendWTag(c->ep, &head, sizeof(head), (void *)m->data, m->length,
				(uint32_t)c->count.sent, m->tag);
}

/* Sends what is queued, as far as the peer gives credit. */
static int flush_queue(struct conn *c)
{
	while (c->queue_head != c->queue_tail) {
		gni_return_t rc = send_now(c, &c->queue[c->queue_head % (2 * CONN_DEPTH_MAX)]);

		if (rc == GNI_RC_NOT_DONE) {
			c->count.stalls += !c->stalled;
			c->stalled = true;
			return ST_OK;
		}
		if (rc)
			return rc_fault(c, "GNI_SmsgSendWTag", rc);
		c->stalled = false;
		c->count.sent++;
		c->queue_head++;
	}
	return ST_OK;
}

/**
 * conn_send - send a message, now or when the peer has room
 * @c: connection
 * @msg: message; copied
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_send(struct conn *c, const struct msg *msg)
{
	if (c->queue_tail - c->queue_head == 2 * CONN_DEPTH_MAX)
		return fault_set(&c->fault, ST_FAILED, "too many messages are waiting");
	c->queue[c->queue_tail++ % (2 * CONN_DEPTH_MAX)] = *msg;
	return flush_queue(c);
}

/**
 * conn_post - post a transaction whose completion conn_next() returns
 * @c: connection
 * @d: descriptor; its remote event, if any, tells the peer of data
 * @slot: event value on both sides
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_post(struct conn *c, gni_post_descriptor_t *d, uint32_t slot)
{
	gni_return_t rc;

	/* Event values are taken when the post is made. */
	GNI_EpSetEventData(c->ep, slot, CONN_EVENT_DATA << 24 | slot);
	rc = post(c->ep, d);
	GNI_EpSetEventData(c->ep, 0, CONN_EVENT_MESSAGE << 24);
	return rc ? rc_fault(c, "post", rc) : ST_OK;
}

/* --- events --------------------------------------------------------------- */

static bool poll_remote(struct conn *c)
{
	gni_cq_entry_t event;
	bool any = false;
	gni_return_t rc;

	while ((rc = GNI_CqGetEvent(c->rx, &event)) != GNI_RC_NOT_DONE) {
		any = true;
		if (rc == GNI_RC_ERROR_RESOURCE)
			c->count.overruns++;
		else if (rc)
			break;
		else if (GNI_CQ_GET_REM_INST_ID(event) >> 24 == CONN_EVENT_DATA)
			c->count.remote_data++;
		else
			c->count.remote_msgs++;
	}
	return any;
}

/* The peer gave up and says why, in bytes that are not to be trusted. */
static int peer_fault(struct conn *c, const struct msg *m)
{
	char text[CONN_DATA_MAX + 1];
	uint32_t i;

	for (i = 0; i < m->length; i++)
		text[i] = m->data[i] >= ' ' && m->data[i] < 0x7f ? (char)m->data[i] : '?';
	text[i] = '\0';
	return fault_set(&c->fault, ST_FAILED, "the other side says: %s", text);
}

/* Takes one message, sets *@any if there was one. */
static int poll_message(struct conn *c, struct msg *m, bool *any)
{
	struct wire_head head;
	uint8_t tag = GNI_SMSG_ANY_TAG;
	void *payload;
	gni_return_t rc;

	rc = GNI_SmsgGetNextWTag(c->ep, &payload, &tag);
	if (rc == GNI_RC_NOT_DONE)
		return ST_OK;
	if (rc)
		return rc_fault(c, "GNI_SmsgGetNextWTag", rc);
	/* The peer can still write there: copy first, then look. */
	memcpy(&head, payload, sizeof(head));
	if (head.length > CONN_DATA_MAX)
		return fault_set(&c->fault, ST_PEER, "the peer sent a malformed message");
	*m = (struct msg){
		.tag = tag, .n = head.n, .size = head.size, .word = head.word,
		.length = head.length,
	};
	memcpy(m->data, (char *)payload + sizeof(head), head.length);
	GNI_SmsgRelease(c->ep);
	c->count.received++;
	*any = true;
	return tag == CONN_TAG_ERROR ? peer_fault(c, m) : ST_OK;
}

/*
 * The peer's memory can't be reached any more. It may have said why before it
 * went: that is worth more.
 */
static int gone_fault(struct conn *c, gni_cq_entry_t event)
{
	bool any = true;
	char text[256];
	struct msg m;

	while (any && !c->fault.status) {
		any = false;
		poll_message(c, &m, &any);
	}
	event_text(event, text, sizeof(text));
	return fault_set(&c->fault, ST_PEER, "the peer at PE %u, instance %u is gone (%s)",
			 c->peer_pe, c->peer_inst, text);
}

static int take_post(struct conn *c, gni_cq_entry_t event, gni_post_descriptor_t **desc)
{
	gni_post_descriptor_t *d;
	gni_return_t rc = GNI_GetCompleted(c->tx, event, &d);

	if (rc == GNI_RC_TRANSACTION_ERROR)
		return gone_fault(c, event);
	if (rc)
		return rc_fault(c, "GNI_GetCompleted", rc);
	if (d == &c->probe) {
		c->probing = false;
	} else {
		c->count.posts++;
		*desc = d;
	}
	return ST_OK;
}

/* Takes one source event, sets *@any if there was one. */
static int poll_source(struct conn *c, gni_post_descriptor_t **desc, bool *any)
{
	gni_cq_entry_t event;
	gni_return_t rc = GNI_CqGetEvent(c->tx, &event);

	if (rc == GNI_RC_NOT_DONE)
		return ST_OK;
	if (rc && rc != GNI_RC_TRANSACTION_ERROR)
		return rc_fault(c, "GNI_CqGetEvent", rc);
	*any = true;
	if (GNI_CQ_GET_TYPE(event) == GNI_CQ_EVENT_TYPE_POST)
		return take_post(c, event, desc);
	c->count.sends++;
	return rc ? gone_fault(c, event) : ST_OK;
}

static int probe_peer(struct conn *c)
{
	gni_return_t rc;

	if (c->probing)
		return ST_OK;
	c->probe = (gni_post_descriptor_t){
		.type = GNI_POST_FMA_GET,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)&conn_ctl(c)->probe,
		.local_mem_hndl = c->ctl.mdh,
		.remote_addr = c->peer.ctl_addr,
		.remote_mem_hndl = c->peer.ctl_mdh,
		.length = sizeof(uint64_t),
	};
	rc = GNI_PostFma(c->ep, &c->probe);
	if (rc)
		return rc_fault(c, "GNI_PostFma", rc);
	c->probing = true;
	return ST_OK;
}

static int sleep_for_event(struct conn *c)
{
	gni_cq_handle_t queues[] = { c->tx, c->rx };
	uint32_t which;
	gni_return_t rc;

	rc = GNI_CqVectorMonitor(queues, ARRAY_SIZE(queues), TICK_MS, &which);
	if (interrupted)
		return fault_set(&c->fault, ST_INTERRUPTED, "interrupted");
	if (rc == GNI_RC_TIMEOUT) {
		if (now_ns() - c->heard < c->timeout)
			return probe_peer(c);
		return fault_set(&c->fault, ST_PEER,
				 "nothing heard from PE %u, instance %u for %u s: given up",
				 c->peer_pe, c->peer_inst, (unsigned int)(c->timeout / NS_PER_S));
	}
	/* A signal that says nothing to us ends the wait too. */
	if (rc && rc != GNI_RC_NOT_DONE && rc != GNI_RC_INVALID_STATE)
		return rc_fault(c, "GNI_CqVectorMonitor", rc);
	return ST_OK;
}

/**
 * conn_next - sleep until something happens
 * @c: connection
 * @ev: out: what happened
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_next(struct conn *c, struct conn_event *ev)
{
	bool message = false;

	ev->desc = NULL;
	for (;;) {
		bool any = poll_remote(c);

		if (interrupted)
			return fault_set(&c->fault, ST_INTERRUPTED, "interrupted");
		if (flush_queue(c) || poll_source(c, &ev->desc, &any))
			return c->fault.status;
		if (!ev->desc && poll_message(c, &ev->msg, &message))
			return c->fault.status;
		if (ev->desc || message) {
			c->heard = now_ns();
			return ST_OK;
		}
		if (!any && sleep_for_event(c))
			return c->fault.status;
	}
}

/**
 * conn_expect - wait for one certain message
 * @c: connection
 * @tag: its tag
 * @msg: out: the message
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_expect(struct conn *c, uint8_t tag, struct msg *msg)
{
	struct conn_event ev;

	if (conn_next(c, &ev))
		return c->fault.status;
	if (ev.desc || ev.msg.tag != tag)
		return fault_set(&c->fault, ST_PEER, "the peer sent message %u where %u was due",
				 ev.msg.tag, tag);
	*msg = ev.msg;
	return ST_OK;
}

/**
 * conn_finish - wait until all that was sent has arrived
 * @c: connection, with no post outstanding
 *
 * Return: ST_OK or the status of @c->fault.
 */
int conn_finish(struct conn *c)
{
	gni_post_descriptor_t *desc;

	while (c->queue_head != c->queue_tail || c->count.sends < c->count.sent) {
		bool any = poll_remote(c);

		if (flush_queue(c) || poll_source(c, &desc, &any))
			break;
		if (!any && sleep_for_event(c))
			break;
	}
	return c->fault.status;
}

/* What has happened so far, events that nobody looked at yet included. */
const struct conn_counts *conn_counts(struct conn *c)
{
	poll_remote(c);
	return &c->count;
}

/* Tells the peer, if it can be told at once, that this side gives up and why. */
void conn_abort(struct conn *c)
{
	struct msg m = { .tag = CONN_TAG_ERROR };

	if (!c->open || c->fault.status == ST_PEER)
		return;
	m.length = (uint32_t)strlen(c->fault.text);
	memcpy(m.data, c->fault.text, m.length);
	if (!send_now(c, &m))
		c->count.sent++;
}
