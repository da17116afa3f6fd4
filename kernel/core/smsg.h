/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The short message protocol: mailboxes, sequence numbers and credits, without
 * the transport. Callers move the bytes by FMA puts.
 *
 * A mailbox is memory of the receiver:
 *	0	credit word (u64): how many messages the *peer* has consumed of
 *		those that this side sent; the peer puts it here
 *	64	scratch word (u64) of the mailbox's owner, who fetches a slot
 *		word of the peer's mailbox to it
 *	128	slots, one a credit, each a multiple of 64 bytes:
 *		0	slot word (u64), see below; written last
 *		8	the message: header, then data
 * Message n (from 0) travels in slot n % credits. Its slot word is
 *	0-30 n modulo 2^31 | 31 valid | 32-47 length | 48-55 tag
 * so a slot is empty for the receiver while it holds zero (never used) or the
 * word of message n - credits. Anything else means that the mailbox is
 * damaged.
 *
 * A put of message n may be repeated, whether or not it arrived before, as long
 * as the sender has not been told that n was consumed: it stores what is there,
 * or what the receiver has done with. A receiver that changes messages in place
 * may find the current one as it was, so see if the slot word is there first.
 * Message n + 1 is not looked at before n is consumed.
 *
 * The sender may have @credits messages out that the peer has not consumed.
 * The receiver returns credits when half of them are due, so a sender that ran
 * out always hears of it.
 *
 * All memory may be written by the peer at any time: every word is read once
 * and checked.
 *
 * What the peer writes and what the owner writes lies in lines of 64 bytes of their own,
 * if the mailbox begins with one.
 */
#ifndef _KGNI_CORE_SMSG_H
#define _KGNI_CORE_SMSG_H

#include "core.h"

#define KGNI_SMSG_SCRATCH	64
#define KGNI_SMSG_SLOTS_OFFSET	128
#define KGNI_SMSG_PAYLOAD	8
#define KGNI_SMSG_ALIGN		64
#define KGNI_SMSG_MAX_SIZE	65535
#define KGNI_SMSG_VALID		(1U << 31)

/**
 * struct kgni_smsg_geom - shape of a mailbox, the same on both sides
 * @credits: messages that may be out at once, 1 or more
 * @maxsize: bytes of the largest message, header and data together
 * @slot_size: bytes of a slot
 */
struct kgni_smsg_geom {
	u32 credits;
	u32 maxsize;
	u32 slot_size;
};

/**
 * struct kgni_smsg_tx - sending side
 * @sent: messages sent so far
 * @acked: of those, how many the peer is known to have consumed
 */
struct kgni_smsg_tx {
	u64 sent;
	u64 acked;
};

/**
 * struct kgni_smsg_rx - receiving side
 * @consumed: messages released so far
 * @returned: what the peer was last told of that
 */
struct kgni_smsg_rx {
	u64 consumed;
	u64 returned;
};

/**
 * struct kgni_smsg_msg - a message found in the mailbox
 * @payload: its first byte, in the mailbox, 8-byte aligned
 * @length: header and data together
 * @tag: its tag
 */
struct kgni_smsg_msg {
	void *payload;
	u32 length;
	u8 tag;
};

enum kgni_smsg_poll {
	KGNI_SMSG_NONE,
	KGNI_SMSG_MESSAGE,
	KGNI_SMSG_DAMAGED,
};

/**
 * kgni_smsg_geom_init - work out the shape of a mailbox
 * @g: out: the shape
 * @credits: mbox_maxcredit
 * @maxsize: msg_maxsize, bytes
 *
 * Return: false if there is no such mailbox: no credits, or messages of no
 * size or of more than KGNI_SMSG_MAX_SIZE bytes.
 */
static inline bool kgni_smsg_geom_init(struct kgni_smsg_geom *g, u32 credits, u32 maxsize)
{
	if (!credits || credits > 0xffff || !maxsize || maxsize > KGNI_SMSG_MAX_SIZE)
		return false;
	g->credits = credits;
	g->maxsize = maxsize;
	g->slot_size = (KGNI_SMSG_PAYLOAD + maxsize + KGNI_SMSG_ALIGN - 1) &
		       ~(u32)(KGNI_SMSG_ALIGN - 1);
	return true;
}

/**
 * kgni_smsg_size - bytes of a mailbox
 * @g: its shape
 *
 * Return: a multiple of 64; the largest mailbox has about 4 GiB.
 */
static inline u64 kgni_smsg_size(const struct kgni_smsg_geom *g)
{
	return KGNI_SMSG_SLOTS_OFFSET + (u64)g->credits * g->slot_size;
}

/* Offset in the mailbox of the slot of message @n. */
static inline u64 kgni_smsg_slot(const struct kgni_smsg_geom *g, u64 n)
{
	return KGNI_SMSG_SLOTS_OFFSET + (n % g->credits) * g->slot_size;
}

/* The slot of the message after the one that travels in @slot. */
static inline u64 kgni_smsg_slot_next(const struct kgni_smsg_geom *g, u64 slot)
{
	slot += g->slot_size;
	return slot < kgni_smsg_size(g) ? slot : KGNI_SMSG_SLOTS_OFFSET;
}

static inline u64 kgni_smsg_word(u64 n, u32 length, u8 tag)
{
	return (u32)(n & (KGNI_SMSG_VALID - 1)) | (u64)KGNI_SMSG_VALID |
	       (u64)(u16)length << 32 | (u64)tag << 48;
}

/* Is it message @n's word, as a sender writes it? */
static inline bool kgni_smsg_word_good(const struct kgni_smsg_geom *g, u64 n, u64 word)
{
	return (u32)word == (u32)kgni_smsg_word(n, 0, 0) &&
	       CORE_BITS(word, 32, 16) <= g->maxsize && !(word >> 56);
}

/**
 * kgni_smsg_tx_credits - how many messages may be sent now
 * @g: shape
 * @tx: sending side; what the peer consumed is brought up to date
 * @credit_word: the credit word of this side's own mailbox
 *
 * Return: 0 to g->credits; -1 if the credit word is nonsense.
 */
static inline int kgni_smsg_tx_credits(const struct kgni_smsg_geom *g, struct kgni_smsg_tx *tx,
				       const u64 *credit_word)
{
	u64 acked = core_load_acquire(credit_word);

	if (acked < tx->acked || acked > tx->sent)
		return -1;
	tx->acked = acked;
	return (int)(g->credits - (u32)(tx->sent - acked));
}

/**
 * kgni_smsg_rx_poll - look for the next message
 * @g: shape
 * @rx: receiving side
 * @mbox: this side's mailbox
 * @msg: out: the message, if KGNI_SMSG_MESSAGE is returned
 *
 * Finds the same message again until kgni_smsg_rx_release().
 *
 * Return: see enum kgni_smsg_poll.
 */
static inline enum kgni_smsg_poll kgni_smsg_rx_poll(const struct kgni_smsg_geom *g,
						    const struct kgni_smsg_rx *rx, void *mbox,
						    struct kgni_smsg_msg *msg)
{
	u64 n = rx->consumed;
	char *slot = (char *)mbox + kgni_smsg_slot(g, n);
	u64 word = core_load_acquire((u64 *)slot);

	if (!word && n < g->credits)
		return KGNI_SMSG_NONE;
	if (n >= g->credits && (u32)word == (u32)kgni_smsg_word(n - g->credits, 0, 0))
		return KGNI_SMSG_NONE;
	msg->length = (u32)CORE_BITS(word, 32, 16);
	msg->tag = (u8)CORE_BITS(word, 48, 8);
	msg->payload = slot + KGNI_SMSG_PAYLOAD;
	return kgni_smsg_word_good(g, n, word) ? KGNI_SMSG_MESSAGE : KGNI_SMSG_DAMAGED;
}

/**
 * kgni_smsg_rx_release - the current message is done with
 * @g: shape
 * @rx: receiving side
 *
 * Return: true if the peer is now to be told: put rx->consumed into the credit
 * word of its mailbox, then call kgni_smsg_rx_returned().
 */
static inline bool kgni_smsg_rx_release(const struct kgni_smsg_geom *g, struct kgni_smsg_rx *rx)
{
	rx->consumed++;
	return (rx->consumed - rx->returned) * 2 >= g->credits;
}

/* The peer was told that @consumed messages are done with. */
static inline void kgni_smsg_rx_returned(struct kgni_smsg_rx *rx, u64 consumed)
{
	rx->returned = consumed;
}

#endif /* _KGNI_CORE_SMSG_H */
