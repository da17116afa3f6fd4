/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The shared message queue: its region, and the protocol between nodes, without
 * the transport. Callers move the bytes by FMA puts.
 *
 * A node's region is shared by up to 48 instances, which are processes. It has a
 * head, a record for each instance, a record for each connection, and for each
 * connection a mailbox, that the other node puts to. Only the mailboxes are
 * registered, by every instance with a queue of its own, so who is addressed by
 * the memory handle that a put names has the event.
 *
 * A mailbox:
 *	0	word (u64) that a peer out of credits writes to, for the event, and one that
 *		wants to see whether memory is this mailbox; nobody here looks at it
 *	64	done[]: a byte for each slot of the *other* node's mailbox, how often
 *		what was put there was consumed, modulo 256; the peer puts it here
 *	then slots, each a multiple of 64 bytes:
 *		0	slot word (u64), written last
 *		8	number of the message in the connection, from 1 (u64)
 *		16	number of the one before it to the same instance, or 0 (u64)
 *		24	instance id of the sender (u32), 0 (u32)
 *		32	the message
 * Slot word:
 *	0-7 how often the slot was used, modulo 256 | 8-15 length | 16-23 tag |
 *	24-31 index of the addressed instance | 32-39 its epoch | 40-47 the
 *	connection's | 48 nobody's message | 63 valid
 * Slots are used in any order. One is free for the sender while used[] and done[]
 * say the same; there is a message for the receiver while the slot word's count is
 * one more than rdone[]. So what is put twice is consumed once, and an instance
 * that does not look holds nobody up but for the slots that it has not emptied.
 *
 * An event says which slot to look into. Puts that are repeated, and lost events,
 * make more or fewer of them than there are messages, so the numbers decide what is
 * next: what comes too early stays where it is.
 *
 * The receivers put all of rdone[] when half of the slots are to be given back, or
 * when the sender asks, if there is something in it that they have not told.
 *
 * An instance may die at any time, and what it leaves half done is completed by
 * the next one: locks are words that name their holder. Who takes the transmit
 * lock finds in @intent what a dead one was about to send, or what nobody knows to
 * have arrived, and puts it again. If its target died meanwhile, a message for nobody
 * is put there, by way of another instance, so that the slot comes back.
 *
 * The region is written by others at any time: every word is read once and
 * checked, and nothing there is an address of ours.
 */
#ifndef _KGNI_CORE_MSGQ_H
#define _KGNI_CORE_MSGQ_H

#include "core.h"

#define KGNI_MSGQ_MAGIC		0x31514753494e474bULL
#define KGNI_MSGQ_SIZE_MAX	128
#define KGNI_MSGQ_INSTS_MAX	48
#define KGNI_MSGQ_SLOTS_MAX	32768
#define KGNI_MSGQ_CONNS_MAX	65535
#define KGNI_MSGQ_ALIGN		64
#define KGNI_MSGQ_PAGE		4096
#define KGNI_MSGQ_HEADER	24
#define KGNI_MSGQ_PAYLOAD	32
#define KGNI_MSGQ_DONE		64
#define KGNI_MSGQ_ATTRS		7

#define KGNI_MSGQ_NOBODY	(1ULL << 48)
#define KGNI_MSGQ_VALID		(1ULL << 63)

/* Values of remote events. */
#define KGNI_MSGQ_ASK		(1U << 31)
#define KGNI_MSGQ_SLOT_BITS	15

/**
 * struct kgni_msgq_shape - what a region looks like
 * @maxsize: bytes of the largest message
 * @slots: messages that can be on their way on a connection
 * @conns: connections
 * @insts: instances
 * @slot_size: bytes of a slot
 * @mbox_size: bytes of a mailbox
 * @conn_size: bytes of a connection's record
 * @mboxes_at: where the mailboxes begin, a multiple of KGNI_MSGQ_PAGE
 * @size: bytes of all
 */
struct kgni_msgq_shape {
	u32 maxsize;
	u32 slots;
	u32 conns;
	u32 insts;
	u32 slot_size;
	u32 mbox_size;
	u32 conn_size;
	u64 mboxes_at;
	u64 size;
};

/* --- what is shared ------------------------------------------------------------ */

/**
 * struct kgni_msgq_head - begin of a region
 * @magic: KGNI_MSGQ_MAGIC, written last
 * @attrs: what the first instance asked for
 * @complete: all instances were there at some time
 * @leaving: one of them has left since
 */
struct kgni_msgq_head {
	u64 magic;
	u32 attrs[KGNI_MSGQ_ATTRS];
	u32 complete;
	u32 leaving;
};

/**
 * struct kgni_msgq_inst - an instance
 * @handle: its registration of the mailboxes
 * @id: instance id
 * @epoch: goes up with every use of the record
 * @used: it is there, or died
 */
struct kgni_msgq_inst {
	u64 handle[2];
	u32 id;
	u32 epoch;
	u32 used;
	u32 pad;
};

/**
 * struct kgni_msgq_peer - an instance of the other node
 * @addr: address of our mailbox there, as this instance registered it
 * @handle: its registration
 * @id: instance id
 * @index: its number there
 * @epoch: and its use of that
 * @conn_epoch: the connection's epoch there
 * @last: number of the last message to it
 */
struct kgni_msgq_peer {
	u64 addr;
	u64 handle[2];
	u64 last;
	u32 id;
	u8 index;
	u8 epoch;
	u8 conn_epoch;
	u8 pad;
};

enum kgni_msgq_state {
	KGNI_MSGQ_FREE,
	KGNI_MSGQ_ASSIGNED,	/* the mailbox may be put to */
	KGNI_MSGQ_CONNECTED,
};

/**
 * struct kgni_msgq_intent - what the holder of the transmit lock is sending
 * @word: slot word; 0 for nothing
 * @slot: where to
 * @peer: to whom
 * @n: number of the message, and what else its slot gets, in that order
 * @before: number of the one before it to that peer
 * @id: instance id of the sender
 * @zero: 0
 * @payload: the message
 */
struct kgni_msgq_intent {
	u64 word;
	u32 slot;
	u32 peer;
	u64 n;
	u64 before;
	u32 id;
	u32 zero;
	u8 payload[KGNI_MSGQ_SIZE_MAX];
};

/**
 * struct kgni_msgq_conn - a connection; used[], rdone[] and told[] follow
 * @state: an enum kgni_msgq_state
 * @epoch: goes up with every use of the record
 * @pe: PE address of the other node
 * @npeers: instances there
 * @at: number of our mailbox there
 * @pending: consumed since the peer was last told; atomic
 * @tx_lock: whoever sends; 0 for nobody
 * @rx_lock: whoever tells the peer
 * @sent: messages sent
 * @asked: @sent when credits were asked for last
 * @cursor: where to look for a free slot
 * @via: whom to tell the peer by
 * @untold: told[] may not have been put
 * @zero: 0
 * @intent: what is being sent
 * @peer: instances there
 */
struct kgni_msgq_conn {
	u32 state;
	u32 epoch;
	u32 pe;
	u32 npeers;
	u32 at;
	u32 pending;
	u64 tx_lock;
	u64 rx_lock;
	u64 sent;
	u64 asked;
	u32 cursor;
	u32 via;
	u32 untold;
	u32 zero;
	struct kgni_msgq_intent intent;
	struct kgni_msgq_peer peer[KGNI_MSGQ_INSTS_MAX];
};

#define KGNI_MSGQ_INSTS_AT	256
#define KGNI_MSGQ_CONNS_AT	\
	(KGNI_MSGQ_INSTS_AT + KGNI_MSGQ_INSTS_MAX * sizeof(struct kgni_msgq_inst))

/* --- one party's view ------------------------------------------------------------ */

/* What became of a put. */
enum kgni_msgq_way {
	KGNI_MSGQ_ARRIVED,
	KGNI_MSGQ_REFUSED,	/* the target is not there; nothing was stored */
	KGNI_MSGQ_UNKNOWN,	/* it may have been stored */
	KGNI_MSGQ_BUSY,		/* no room for it now; nothing was stored */
};

/**
 * struct kgni_msgq_put - one FMA put
 * @to: whom to; a copy of our own
 * @pe: its PE address
 * @conn: connection
 * @addr: where to
 * @data: what
 * @length: bytes of it, before the flag
 * @flag_addr: where the flag goes
 * @flag: the flag; stored unless @flag_addr is 0
 * @event: value of the remote event; there is one if there is a flag
 */
struct kgni_msgq_put {
	struct kgni_msgq_peer to;
	u32 pe;
	u32 conn;
	u64 addr;
	const void *data;
	u32 length;
	u64 flag_addr;
	u64 flag;
	u32 event;
};

/**
 * struct kgni_msgq_view - a region as one instance sees it
 * @shape: its shape, from a source that this party trusts
 * @mem: the region
 * @put: how to put
 * @alive: is that use of an instance's record alive
 * @ctx: for @put and @alive
 */
struct kgni_msgq_view {
	struct kgni_msgq_shape shape;
	char *mem;
	enum kgni_msgq_way (*put)(void *ctx, const struct kgni_msgq_put *p);
	bool (*alive)(void *ctx, u32 inst, u32 epoch);
	void *ctx;
};

/**
 * struct kgni_msgq_msg - a message
 * @n: number of the message in its connection
 * @id: instance id of the sender
 * @pe: PE address of the sender, on reception
 * @length: bytes
 * @tag: tag
 * @payload: the message
 */
struct kgni_msgq_msg {
	u64 n;
	u32 id;
	u32 pe;
	u32 length;
	u8 tag;
	u8 payload[KGNI_MSGQ_SIZE_MAX] __attribute__((aligned(8)));
};

static inline u64 kgni_msgq_round(u64 n, u64 to)
{
	return (n + to - 1) & ~(to - 1);
}

/**
 * kgni_msgq_shape_init - work out the shape of a region
 * @s: out: the shape
 * @maxsize: bytes of the largest message
 * @slots: messages that can be on their way on a connection
 * @conns: connections
 * @insts: instances
 *
 * Return: false if there is no such region.
 */
static inline bool kgni_msgq_shape_init(struct kgni_msgq_shape *s, u32 maxsize, u32 slots,
					u32 conns, u32 insts)
{
	u64 mbox;

	if (!maxsize || maxsize > KGNI_MSGQ_SIZE_MAX || !slots || slots > KGNI_MSGQ_SLOTS_MAX ||
	    !conns || conns > KGNI_MSGQ_CONNS_MAX || !insts || insts > KGNI_MSGQ_INSTS_MAX)
		return false;
	s->maxsize = maxsize;
	s->slots = slots;
	s->conns = conns;
	s->insts = insts;
	s->slot_size = (u32)kgni_msgq_round(KGNI_MSGQ_PAYLOAD + maxsize, KGNI_MSGQ_ALIGN);
	mbox = KGNI_MSGQ_DONE + kgni_msgq_round(slots, KGNI_MSGQ_ALIGN) +
	       (u64)slots * s->slot_size;
	s->mbox_size = (u32)mbox;
	s->conn_size = (u32)kgni_msgq_round(sizeof(struct kgni_msgq_conn) + 3 * slots,
					    KGNI_MSGQ_ALIGN);
	s->mboxes_at = kgni_msgq_round(KGNI_MSGQ_CONNS_AT + (u64)conns * s->conn_size,
				       KGNI_MSGQ_PAGE);
	s->size = s->mboxes_at + conns * mbox;
	return true;
}

/* Bytes that are registered. */
static inline u64 kgni_msgq_registered(const struct kgni_msgq_shape *s)
{
	return s->size - s->mboxes_at;
}

/* Offset in a mailbox of a slot. */
static inline u64 kgni_msgq_slot(const struct kgni_msgq_shape *s, u32 slot)
{
	return KGNI_MSGQ_DONE + kgni_msgq_round(s->slots, KGNI_MSGQ_ALIGN) +
	       (u64)slot * s->slot_size;
}

static inline struct kgni_msgq_head *kgni_msgq_head(const struct kgni_msgq_view *v)
{
	return (struct kgni_msgq_head *)v->mem;
}

static inline struct kgni_msgq_inst *kgni_msgq_inst(const struct kgni_msgq_view *v, u32 i)
{
	return (struct kgni_msgq_inst *)(v->mem + KGNI_MSGQ_INSTS_AT) + i;
}

static inline struct kgni_msgq_conn *kgni_msgq_conn(const struct kgni_msgq_view *v, u32 c)
{
	return (struct kgni_msgq_conn *)(v->mem + KGNI_MSGQ_CONNS_AT +
					 (u64)c * v->shape.conn_size);
}

static inline char *kgni_msgq_mbox(const struct kgni_msgq_view *v, u32 c)
{
	return v->mem + v->shape.mboxes_at + (u64)c * v->shape.mbox_size;
}

/* How often each slot of the peer's mailbox was used: the sender's. */
static inline u8 *kgni_msgq_used(const struct kgni_msgq_view *v, u32 c)
{
	return (u8 *)(kgni_msgq_conn(v, c) + 1);
}

/* How often each slot of our mailbox was consumed: the receivers'. */
static inline u8 *kgni_msgq_rdone(const struct kgni_msgq_view *v, u32 c)
{
	return kgni_msgq_used(v, c) + v->shape.slots;
}

/* What of that the peer knows. */
static inline u8 *kgni_msgq_told(const struct kgni_msgq_view *v, u32 c)
{
	return kgni_msgq_rdone(v, c) + v->shape.slots;
}

/* What the peer told of those that we used. */
static inline u8 *kgni_msgq_done(const struct kgni_msgq_view *v, u32 c)
{
	return (u8 *)kgni_msgq_mbox(v, c) + KGNI_MSGQ_DONE;
}

static inline u64 *kgni_msgq_word_at(const struct kgni_msgq_view *v, u32 c, u32 slot)
{
	return (u64 *)(kgni_msgq_mbox(v, c) + kgni_msgq_slot(&v->shape, slot));
}

static inline u64 kgni_msgq_word(const struct kgni_msgq_peer *to, u8 count, u32 length, u8 tag)
{
	return KGNI_MSGQ_VALID | count | (u64)(u8)length << 8 | (u64)tag << 16 |
	       (u64)to->index << 24 | (u64)to->epoch << 32 | (u64)to->conn_epoch << 40;
}

/* Is it one that a sender makes? */
static inline bool kgni_msgq_word_good(u64 word, u32 maxsize)
{
	return word & KGNI_MSGQ_VALID && !CORE_BITS(word, 49, 14) &&
	       CORE_BITS(word, 8, 8) <= maxsize;
}

/* Copy a peer's record once, so that it stays as it was checked. */
static inline void kgni_msgq_peer_get(struct kgni_msgq_conn *conn, u32 i,
				      struct kgni_msgq_peer *peer)
{
	memcpy(peer, &conn->peer[i], sizeof(*peer));
}

static inline u32 kgni_msgq_npeers(struct kgni_msgq_conn *conn)
{
	u32 n = core_load(&conn->npeers);

	return n < KGNI_MSGQ_INSTS_MAX ? n : KGNI_MSGQ_INSTS_MAX;
}

/* --- locks ------------------------------------------------------------------------- */

/* Who holds a lock, as its word says: an instance, and the use of its record. */
static inline u64 kgni_msgq_token(u32 inst, u32 epoch)
{
	return (u64)epoch << 32 | (inst + 1);
}

/**
 * kgni_msgq_lock - try to take a lock, or to take it from its holder
 * @lock: the lock
 * @from: 0, or the holder, who is dead
 * @me: the caller's token
 *
 * Return: 0 if it is the caller's now; else who holds it.
 */
static inline u64 kgni_msgq_lock(u64 *lock, u64 from, u64 me)
{
	u64 was = core_cmpxchg(lock, from, me);

	return was == from ? 0 : was;
}

static inline void kgni_msgq_unlock(u64 *lock, u64 me)
{
	core_cmpxchg(lock, me, 0);
}

/* --- sending: under the transmit lock ------------------------------------------------ */

enum kgni_msgq_sent {
	KGNI_MSGQ_SENT,
	KGNI_MSGQ_FAILED,	/* the put failed */
	KGNI_MSGQ_FULL,		/* no credits */
	KGNI_MSGQ_AGAIN,	/* no room for a put now */
	KGNI_MSGQ_INACTIVE,	/* not connected */
};

/* Return: a free slot; @slots without one. */
static inline u32 kgni_msgq_free_slot(const struct kgni_msgq_view *v, u32 c)
{
	u32 slots = v->shape.slots, i, slot = core_load(&kgni_msgq_conn(v, c)->cursor) % slots;
	const u8 *used = kgni_msgq_used(v, c), *done = kgni_msgq_done(v, c);

	for (i = 0; i < slots; i++) {
		if (core_load(&used[slot]) == core_load_acquire(&done[slot]))
			return slot;
		slot = slot + 1 < slots ? slot + 1 : 0;
	}
	return slots;
}

/* Put what the intent says, as the word @word, to @to. */
static inline enum kgni_msgq_way kgni_msgq_put_slot(const struct kgni_msgq_view *v, u32 c,
						    const struct kgni_msgq_peer *to, u32 slot,
						    u64 word)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u64 addr = to->addr + kgni_msgq_slot(&v->shape, slot);
	struct kgni_msgq_put p = {
		.to = *to,
		.pe = core_load(&conn->pe),
		.conn = c,
		.addr = addr + sizeof(u64),
		.data = &conn->intent.n,
		.length = KGNI_MSGQ_HEADER + (u32)CORE_BITS(word, 8, 8),
		.flag_addr = addr,
		.flag = word,
		.event = (core_load(&conn->at) << KGNI_MSGQ_SLOT_BITS | slot) & ~KGNI_MSGQ_ASK,
	};

	return v->put(v->ctx, &p);
}

/*
 * The target died, and nobody knows whether there is a message for it in a slot: have
 * one for nobody there. If no instance of the other node takes it the slot is lost
 * with them. Return: false if that could not be done now.
 */
static inline bool kgni_msgq_fill(const struct kgni_msgq_view *v, u32 c, u32 slot, u8 count)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 i, n = kgni_msgq_npeers(conn);
	struct kgni_msgq_peer peer;
	enum kgni_msgq_way way;

	for (i = 0; i < n; i++) {
		kgni_msgq_peer_get(conn, i, &peer);
		way = kgni_msgq_put_slot(v, c, &peer, slot,
					 kgni_msgq_word(&peer, count, 0, 0) | KGNI_MSGQ_NOBODY);
		if (way != KGNI_MSGQ_REFUSED)
			return way == KGNI_MSGQ_ARRIVED;
	}
	return true;
}

/* Write down what is to be sent; it counts from the word on. */
static inline void kgni_msgq_intend(struct kgni_msgq_conn *conn, u32 slot, u32 peer, u64 word,
				    const struct kgni_msgq_msg *m)
{
	struct kgni_msgq_intent *in = &conn->intent;

	core_store(&in->slot, slot);
	core_store(&in->peer, peer);
	core_store(&in->n, core_load(&conn->sent) + 1);
	core_store(&in->before, core_load(&conn->peer[peer].last));
	core_store(&in->id, m->id);
	core_store(&in->zero, 0);
	memcpy(in->payload, m->payload, m->length);
	core_store_release(&in->word, word);
}

/* It is there: the next one to that peer comes after it. */
static inline void kgni_msgq_arrived(struct kgni_msgq_conn *conn, u32 peer)
{
	core_store(&conn->peer[peer].last, core_load(&conn->intent.n));
	core_store_release(&conn->intent.word, 0);
}

/**
 * kgni_msgq_send - send a message
 * @v: the sender's region
 * @c: connection
 * @peer: to which instance of the other node, less than kgni_msgq_npeers()
 * @m: the message: @id, @length up to the shape's @maxsize, @tag, @payload
 *
 * Context: the connection's transmit lock is held.
 * Return: see enum kgni_msgq_sent.
 */
static inline enum kgni_msgq_sent kgni_msgq_send(const struct kgni_msgq_view *v, u32 c, u32 peer,
						 const struct kgni_msgq_msg *m)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 slot = kgni_msgq_free_slot(v, c);
	u8 *used = kgni_msgq_used(v, c);
	struct kgni_msgq_peer to;
	u8 count;
	u64 word;

	if (core_load_acquire(&conn->state) != KGNI_MSGQ_CONNECTED)
		return KGNI_MSGQ_INACTIVE;
	if (slot == v->shape.slots)
		return KGNI_MSGQ_FULL;
	kgni_msgq_peer_get(conn, peer, &to);
	count = (u8)(core_load(&used[slot]) + 1);
	word = kgni_msgq_word(&to, count, m->length, m->tag);
	kgni_msgq_intend(conn, slot, peer, word, m);
	core_store(&used[slot], count);
	core_store(&conn->sent, core_load(&conn->sent) + 1);
	core_store(&conn->cursor, slot + 1);
	switch (kgni_msgq_put_slot(v, c, &to, slot, word)) {
	case KGNI_MSGQ_ARRIVED:
		kgni_msgq_arrived(conn, peer);
		return KGNI_MSGQ_SENT;
	case KGNI_MSGQ_UNKNOWN:
		/* Whoever sends next puts it again first. */
		return KGNI_MSGQ_FAILED;
	case KGNI_MSGQ_REFUSED:
		core_store(&used[slot], (u8)(count - 1));
		core_store_release(&conn->intent.word, 0);
		return KGNI_MSGQ_FAILED;
	default:
		core_store(&used[slot], (u8)(count - 1));
		core_store_release(&conn->intent.word, 0);
		return KGNI_MSGQ_AGAIN;
	}
}

/* Can that be what a sender wrote down? */
static inline bool kgni_msgq_intent_good(const struct kgni_msgq_view *v, u32 c, u64 word,
					 u32 slot, u32 peer)
{
	u8 count;

	if (!kgni_msgq_word_good(word, v->shape.maxsize) || slot >= v->shape.slots ||
	    peer >= kgni_msgq_npeers(kgni_msgq_conn(v, c)))
		return false;
	count = core_load(&kgni_msgq_used(v, c)[slot]);
	return count == (u8)word || (u8)(count + 1) == (u8)word;
}

/**
 * kgni_msgq_resend - complete what another one was sending
 * @v: the region
 * @c: connection
 *
 * Its message may have arrived, and be consumed already; it is put again anyway.
 *
 * Context: the connection's transmit lock was just taken.
 * Return: false if that cannot be done now, and nothing can be sent.
 */
static inline bool kgni_msgq_resend(const struct kgni_msgq_view *v, u32 c)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u64 word = core_load_acquire(&conn->intent.word);
	u32 slot = core_load(&conn->intent.slot), peer = core_load(&conn->intent.peer);
	enum kgni_msgq_way way = KGNI_MSGQ_ARRIVED;
	struct kgni_msgq_peer to;

	if (!word)
		return true;
	if (!kgni_msgq_intent_good(v, c, word, slot, peer)) {
		core_store_release(&conn->intent.word, 0);
		return true;
	}
	core_store(&kgni_msgq_used(v, c)[slot], (u8)word);
	core_store(&conn->sent, core_load(&conn->intent.n));
	kgni_msgq_peer_get(conn, peer, &to);
	if (core_load_acquire(&kgni_msgq_done(v, c)[slot]) != (u8)word)
		way = kgni_msgq_put_slot(v, c, &to, slot, word);
	if (way == KGNI_MSGQ_REFUSED && kgni_msgq_fill(v, c, slot, (u8)word))
		way = KGNI_MSGQ_ARRIVED;
	if (way != KGNI_MSGQ_ARRIVED)
		return false;
	kgni_msgq_arrived(conn, peer);
	return true;
}

/* How many of the messages sent are not known to be consumed? */
static inline u32 kgni_msgq_out(const struct kgni_msgq_view *v, u32 c)
{
	const u8 *used = kgni_msgq_used(v, c), *done = kgni_msgq_done(v, c);
	u32 i, n = 0;

	for (i = 0; i < v->shape.slots; i++)
		n += core_load(&used[i]) != core_load(&done[i]);
	return n;
}

/* Should credits be asked for? Once for each time that there are none is enough. */
static inline bool kgni_msgq_wants(const struct kgni_msgq_view *v, u32 c)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u64 sent = core_load(&conn->sent);

	if (core_load(&conn->asked) == sent)
		return false;
	core_store(&conn->asked, sent);
	return true;
}

/**
 * kgni_msgq_ask - ask the other node for credits
 * @v: the region
 * @c: connection
 * @turn: goes up from call to call: whom to begin with
 *
 * Return: false if no instance of it is there.
 */
static inline bool kgni_msgq_ask(const struct kgni_msgq_view *v, u32 c, u32 turn)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 i, n = kgni_msgq_npeers(conn);
	struct kgni_msgq_put p = { .pe = core_load(&conn->pe), .conn = c };

	for (i = 0; i < n; i++) {
		kgni_msgq_peer_get(conn, (turn + i) % n, &p.to);
		p.addr = p.to.addr;
		p.flag_addr = p.to.addr;
		p.flag = turn;
		p.event = core_load(&conn->at) << KGNI_MSGQ_SLOT_BITS | KGNI_MSGQ_ASK;
		if (v->put(v->ctx, &p) != KGNI_MSGQ_REFUSED)
			return true;
	}
	return false;
}

/* --- receiving ------------------------------------------------------------------------ */

enum kgni_msgq_got {
	KGNI_MSGQ_NONE,		/* there is nothing, or it is not for this instance */
	KGNI_MSGQ_MESSAGE,
	KGNI_MSGQ_SKIPPED,	/* a message for nobody */
	KGNI_MSGQ_EARLY,	/* another one is to be taken before */
	KGNI_MSGQ_DAMAGED,	/* none that a sender makes; it was dropped */
};

static inline void kgni_msgq_consume(const struct kgni_msgq_view *v, u32 c, u32 slot, u8 count)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 i, was;

	core_store_release(&kgni_msgq_rdone(v, c)[slot], count);
	/* One too few does no harm: whoever lacks the slot asks. */
	for (i = 0; i < KGNI_MSGQ_INSTS_MAX; i++) {
		was = core_load(&conn->pending);
		if (core_cmpxchg(&conn->pending, was, was + 1) == was)
			break;
	}
}

/* Is there a message in the slot that nobody has consumed yet? @word: out: its word */
static inline bool kgni_msgq_waits(const struct kgni_msgq_view *v, u32 c, u32 slot, u64 *word)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);

	*word = core_load_acquire(kgni_msgq_word_at(v, c, slot));
	return *word & KGNI_MSGQ_VALID &&
	       (u8)*word == (u8)(core_load(&kgni_msgq_rdone(v, c)[slot]) + 1) &&
	       CORE_BITS(*word, 40, 8) == (u8)core_load(&conn->epoch) &&
	       core_load(&conn->state) != KGNI_MSGQ_FREE;
}

static inline bool kgni_msgq_is_for(u64 word, u32 inst, u32 epoch)
{
	return CORE_BITS(word, 24, 8) == inst && CORE_BITS(word, 32, 8) == (u8)epoch;
}

/* The number of a message, and that of the one before it. */
static inline void kgni_msgq_numbers(const struct kgni_msgq_view *v, u32 c, u32 slot, u64 *n)
{
	memcpy(n, (char *)kgni_msgq_word_at(v, c, slot) + 8, 2 * sizeof(*n));
}

/**
 * kgni_msgq_take - take the message in a slot
 * @v: the region
 * @c: connection, less than the shape's @conns
 * @slot: the slot, less than its @slots
 * @inst: the caller's number
 * @epoch: and its use of that
 * @last: number of the last message that it took on this connection, 0 at first
 * @m: out: the message, if KGNI_MSGQ_MESSAGE is returned
 *
 * Context: no locks: only the addressed instance may take it while it lives.
 * Return: see enum kgni_msgq_got.
 */
static inline enum kgni_msgq_got kgni_msgq_take(const struct kgni_msgq_view *v, u32 c, u32 slot,
						u32 inst, u32 epoch, u64 *last,
						struct kgni_msgq_msg *m)
{
	const char *at = (char *)kgni_msgq_word_at(v, c, slot);
	u64 word, n[2];
	bool good;

	if (!kgni_msgq_waits(v, c, slot, &word) || !kgni_msgq_is_for(word, inst, epoch))
		return KGNI_MSGQ_NONE;
	if (word & KGNI_MSGQ_NOBODY) {
		kgni_msgq_consume(v, c, slot, (u8)word);
		return KGNI_MSGQ_SKIPPED;
	}
	kgni_msgq_numbers(v, c, slot, n);
	if (n[1] != *last)
		return KGNI_MSGQ_EARLY;
	good = kgni_msgq_word_good(word, v->shape.maxsize);
	if (good) {
		m->n = n[0];
		memcpy(&m->id, at + 24, sizeof(m->id));
		m->pe = core_load(&kgni_msgq_conn(v, c)->pe);
		m->length = (u32)CORE_BITS(word, 8, 8);
		m->tag = (u8)CORE_BITS(word, 16, 8);
		memcpy(m->payload, at + KGNI_MSGQ_PAYLOAD, m->length);
	}
	*last = n[0];
	kgni_msgq_consume(v, c, slot, (u8)word);
	return good ? KGNI_MSGQ_MESSAGE : KGNI_MSGQ_DAMAGED;
}

/**
 * kgni_msgq_find - look for an instance's next message without an event
 * @v: the region
 * @c: connection
 * @inst: the instance's number
 * @epoch: and its use of that
 * @last: number of the last message that it took on this connection
 *
 * Return: its slot; the shape's @slots without one.
 */
static inline u32 kgni_msgq_find(const struct kgni_msgq_view *v, u32 c, u32 inst, u32 epoch,
				 u64 last)
{
	u64 word, n[2];
	u32 slot;

	for (slot = 0; slot < v->shape.slots; slot++) {
		if (!kgni_msgq_waits(v, c, slot, &word) || !kgni_msgq_is_for(word, inst, epoch))
			continue;
		kgni_msgq_numbers(v, c, slot, n);
		if (n[1] == last || word & KGNI_MSGQ_NOBODY)
			break;
	}
	return slot;
}

/* --- giving back: under the receive lock ------------------------------------------------ */

/* Are there so many slots to give back that the peer should know? */
static inline bool kgni_msgq_due(const struct kgni_msgq_view *v, u32 c)
{
	return (u64)core_load(&kgni_msgq_conn(v, c)->pending) * 2 >= v->shape.slots;
}

/* Bring told[] up to date; from the first change on there is something to put. */
static inline void kgni_msgq_gather(const struct kgni_msgq_view *v, u32 c)
{
	const u8 *rdone = kgni_msgq_rdone(v, c);
	u8 count, *told = kgni_msgq_told(v, c);
	u32 i;

	for (i = 0; i < v->shape.slots; i++) {
		count = core_load_acquire(&rdone[i]);
		if (core_load(&told[i]) == count)
			continue;
		core_store_release(&kgni_msgq_conn(v, c)->untold, 1);
		core_store_release(&told[i], count);
	}
}

/**
 * kgni_msgq_return - tell the peer what was consumed and it does not know
 * @v: the region
 * @c: connection
 *
 * Context: the connection's receive lock is held.
 * Return: whether the peer was told something.
 */
static inline bool kgni_msgq_return(const struct kgni_msgq_view *v, u32 c)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 i, via = core_load(&conn->via), n = kgni_msgq_npeers(conn);
	struct kgni_msgq_put p = {
		.pe = core_load(&conn->pe),
		.conn = c,
		.data = kgni_msgq_told(v, c),
		.length = v->shape.slots,
	};

	if (core_load_acquire(&conn->state) != KGNI_MSGQ_CONNECTED)
		return false;
	core_xchg(&conn->pending, 0);
	kgni_msgq_gather(v, c);
	for (i = 0; core_load(&conn->untold) && i < n; i++) {
		kgni_msgq_peer_get(conn, (via + i) % n, &p.to);
		p.addr = p.to.addr + KGNI_MSGQ_DONE;
		if (v->put(v->ctx, &p) != KGNI_MSGQ_ARRIVED)
			continue;
		core_store(&conn->via, (via + i) % n);
		core_store_release(&conn->untold, 0);
		return true;
	}
	return false;
}

/* Is the instance that a message is for alive? */
static inline bool kgni_msgq_has_owner(const struct kgni_msgq_view *v, u64 word)
{
	u32 inst = (u32)CORE_BITS(word, 24, 8), epoch;

	if (inst >= v->shape.insts)
		return false;
	epoch = core_load_acquire(&kgni_msgq_inst(v, inst)->epoch);
	return kgni_msgq_is_for(word, inst, epoch) && v->alive(v->ctx, inst, epoch);
}

/**
 * kgni_msgq_sweep - drop messages for instances that are no more
 * @v: the region
 * @c: connection
 *
 * Context: the connection's receive lock is held.
 * Return: how many messages wait for some that are.
 */
static inline u32 kgni_msgq_sweep(const struct kgni_msgq_view *v, u32 c)
{
	u32 slot, waiting = 0;
	u64 word;

	for (slot = 0; slot < v->shape.slots; slot++) {
		if (!kgni_msgq_waits(v, c, slot, &word))
			continue;
		if (kgni_msgq_has_owner(v, word))
			waiting++;
		else
			kgni_msgq_consume(v, c, slot, (u8)word);
	}
	return waiting;
}

/**
 * kgni_msgq_answer - the peer has no credits
 * @v: the region
 * @c: connection
 *
 * If there is nothing that it was not told, those of the dead are what it lacks.
 *
 * Context: the connection's receive lock is held.
 */
static inline void kgni_msgq_answer(const struct kgni_msgq_view *v, u32 c)
{
	if (kgni_msgq_return(v, c))
		return;
	kgni_msgq_sweep(v, c);
	kgni_msgq_return(v, c);
}

/* --- connections: one instance of the node at a time -------------------------------------- */

/* What GNI_MsgqGetConnAttrs() tells in mdh_off, besides the offset of the mailbox. */
#define KGNI_MSGQ_OFF_BITS	40

static inline u64 kgni_msgq_offset(const struct kgni_msgq_view *v, u32 c, u32 inst, u32 epoch)
{
	return (u64)c * v->shape.mbox_size | (u64)(u8)inst << 40 | (u64)(u8)epoch << 48 |
	       (u64)(u8)core_load(&kgni_msgq_conn(v, c)->epoch) << 56;
}

/**
 * kgni_msgq_peer_init - a peer from what its node tells
 * @s: shape
 * @peer: out: the peer
 * @base: where its mailboxes are, as it registered them
 * @off: what kgni_msgq_offset() was there
 * @at: out: number of our mailbox there
 *
 * Return: false if that cannot be.
 */
static inline bool kgni_msgq_peer_init(const struct kgni_msgq_shape *s,
				       struct kgni_msgq_peer *peer, u64 base, u64 off, u32 *at)
{
	u64 mbox = CORE_BITS(off, 0, KGNI_MSGQ_OFF_BITS);

	if (mbox % s->mbox_size || mbox / s->mbox_size >= KGNI_MSGQ_CONNS_MAX)
		return false;
	*at = (u32)(mbox / s->mbox_size);
	peer->addr = base + mbox;
	peer->index = (u8)CORE_BITS(off, 40, 8);
	peer->epoch = (u8)CORE_BITS(off, 48, 8);
	peer->conn_epoch = (u8)CORE_BITS(off, 56, 8);
	peer->pad = 0;
	peer->last = 0;
	return true;
}

/**
 * kgni_msgq_lookup - the connection to a node
 * @v: the region
 * @pe: PE address
 *
 * Return: its number; the shape's @conns without one.
 */
static inline u32 kgni_msgq_lookup(const struct kgni_msgq_view *v, u32 pe)
{
	u32 i, c = pe % v->shape.conns;

	for (i = 0; i < v->shape.conns; i++) {
		struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);

		if (core_load_acquire(&conn->state) != KGNI_MSGQ_FREE &&
		    core_load(&conn->pe) == pe)
			return c;
		c = c + 1 < v->shape.conns ? c + 1 : 0;
	}
	return v->shape.conns;
}

/**
 * kgni_msgq_assign - begin a connection
 * @v: the region
 * @pe: PE address of the other node
 *
 * Return: its number; the shape's @conns if all are in use.
 */
static inline u32 kgni_msgq_assign(const struct kgni_msgq_view *v, u32 pe)
{
	u32 i, c = pe % v->shape.conns;
	struct kgni_msgq_conn *conn;

	for (i = 0; i < v->shape.conns; i++) {
		conn = kgni_msgq_conn(v, c);
		if (core_load_acquire(&conn->state) == KGNI_MSGQ_FREE)
			break;
		c = c + 1 < v->shape.conns ? c + 1 : 0;
	}
	if (i == v->shape.conns)
		return i;
	memset(kgni_msgq_mbox(v, c), 0, v->shape.mbox_size);
	memset(kgni_msgq_used(v, c), 0, 3 * v->shape.slots);
	core_store(&conn->epoch, core_load(&conn->epoch) + 1);
	core_store(&conn->pe, pe);
	core_store(&conn->npeers, 0);
	core_store(&conn->pending, 0);
	core_store(&conn->sent, 0);
	core_store(&conn->asked, 0);
	core_store(&conn->cursor, 0);
	core_store(&conn->via, 0);
	core_store(&conn->untold, 0);
	core_store(&conn->intent.word, 0);
	core_store_release(&conn->state, KGNI_MSGQ_ASSIGNED);
	return c;
}

/**
 * kgni_msgq_connect - complete a connection
 * @v: the region
 * @c: connection, which was begun
 * @peers: instances of the other node
 * @n: how many, 1 to KGNI_MSGQ_INSTS_MAX
 * @at: number of our mailbox there
 */
static inline void kgni_msgq_connect(const struct kgni_msgq_view *v, u32 c,
				     const struct kgni_msgq_peer *peers, u32 n, u32 at)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);

	memcpy(conn->peer, peers, n * sizeof(*peers));
	core_store(&conn->at, at);
	core_store(&conn->npeers, n);
	core_store_release(&conn->state, KGNI_MSGQ_CONNECTED);
}

/* Return: which instance of the other node has that id; KGNI_MSGQ_INSTS_MAX if none. */
static inline u32 kgni_msgq_peer_of(const struct kgni_msgq_view *v, u32 c, u32 id)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, c);
	u32 i, n = kgni_msgq_npeers(conn);

	for (i = 0; i < n; i++)
		if (core_load(&conn->peer[i].id) == id)
			return i;
	return KGNI_MSGQ_INSTS_MAX;
}

#endif /* _KGNI_CORE_MSGQ_H */
