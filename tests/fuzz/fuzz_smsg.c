// SPDX-License-Identifier: GPL-2.0-only
/*
 * The short message protocol, two sides that keep to it, and a stranger who
 * writes into both mailboxes whatever and whenever, also between two accesses
 * of one call.
 *
 * What holds in any case: a message lies in its slot, with no more bytes than a
 * message may have; there are never more credits than the mailbox has slots;
 * counts only go up. What a side that the stranger left alone may count on:
 * messages come once, whole and in order, credits are exact, and all come back.
 */
#include "fuzz.h"
#include "core/core.h"

static void meanwhile(void);

#undef core_load_acquire
#define core_load_acquire(p)	(meanwhile(), __atomic_load_n(p, __ATOMIC_ACQUIRE))

#include "core/smsg.h"

#define WIRE	128	/* puts on their way, at most; a power of two */

/* A put on its way: message @value, or the credit word @value. */
struct put {
	bool credit;
	u64 value;
};

struct side {
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	u8 *mbox;
	u64 told;		/* the credit word that the peer put here last */
	bool touched;		/* by the stranger: what comes in, or credits for it */
	struct put wire[WIRE];	/* what this side put, for the other one */
	u32 in, out;
};

static struct kgni_smsg_geom g;
static size_t mbox_size;
static struct side sides[2];
static struct input *input;
static u32 quiet;		/* accesses until the stranger comes again */
static bool away;		/* it does not come at all */
static u32 flickering;		/* bit 0: where; the rest: for how many accesses */

static struct side *peer_of(const struct side *s)
{
	return &sides[s == &sides[0]];
}

static u64 *word_at(struct side *s, u64 offset)
{
	return (u64 *)(s->mbox + offset);
}

/* --- what a message is follows from its number ------------------------------------- */

static u32 message_length(u64 n)
{
	return (u32)((n * 2654435761U >> 7) % (g.maxsize + 1));
}

static u8 message_tag(u64 n)
{
	return (u8)(n * 7 + 1);
}

static u8 message_byte(u64 n, u32 i)
{
	return (u8)(n * 31 + i * 5 + 3);
}

/* --- the stranger ------------------------------------------------------------------ */

/*
 * A slot, or the credit word for what goes the same way: a sender who believes
 * in credits that he does not have overwrites messages, and a receiver who takes
 * messages that nobody sent gives credits for them.
 */
static void touch(struct side *s, size_t offset, size_t n)
{
	if (offset < 8)
		peer_of(s)->touched = true;
	if (offset + n > KGNI_SMSG_SLOTS_OFFSET)
		s->touched = true;
}

/* A word that could be one of the protocol's, or nearly. */
static u64 likely_word(struct side *s)
{
	u8 how = input_u8(input);
	s64 by = (s64)(how >> 3) - 16;

	switch (how & 7) {
	case 0:
		return s->tx.sent + by;
	case 1:
		return s->tx.acked + by;
	case 2:
		return kgni_smsg_word(s->rx.consumed + by, input_u16(input), input_u8(input));
	case 3:
		return kgni_smsg_word(s->rx.consumed, g.maxsize + by, input_u8(input)) ^
		       (u64)input_u8(input) << 56;
	case 4:
		return kgni_smsg_word(s->rx.consumed - g.credits, 0, 0) +
		       ((u64)input_u16(input) << 31);
	}
	return input_edge(input);
}

static void scribble(void)
{
	u8 how = input_u8(input);
	struct side *s = &sides[how & 1];
	u64 offset, value;
	size_t n = 8;

	switch (how >> 1 & 3) {
	case 0:
		offset = 0;
		break;
	case 1:
		offset = kgni_smsg_slot(&g, s->rx.consumed);
		break;
	case 2:
		offset = kgni_smsg_slot(&g, input_u8(input));
		break;
	default:
		offset = input_u16(input) % mbox_size;
		n = 1;
	}
	value = likely_word(s);
	memcpy(s->mbox + offset, &value, n);
	touch(s, offset, n);
}

/* A word that is another one each time it is read. */
static void flicker(void)
{
	struct side *s = &sides[flickering & 1];
	u64 offset = kgni_smsg_slot(&g, s->rx.consumed);

	flickering -= 2;
	*word_at(s, offset) = kgni_smsg_word(s->rx.consumed,
					     flickering & 2 ? 0xffff : g.maxsize, 1);
	touch(s, offset, 8);
}

static void meanwhile(void)
{
	if (away)
		return;
	if (flickering > 1)
		flicker();
	if (quiet && quiet--)
		return;
	quiet = input_u8(input);
	if (input->left)
		scribble();
}

/* --- the two sides ----------------------------------------------------------------- */

static bool wire_full(const struct side *s)
{
	return s->in - s->out == WIRE;
}

static void wire_add(struct side *s, bool credit, u64 value)
{
	struct put *p = &s->wire[s->in++ % WIRE];

	p->credit = credit;
	p->value = value;
}

static void put_message(struct side *to, u64 n)
{
	u64 offset = kgni_smsg_slot(&g, n);
	u32 i, length = message_length(n);

	for (i = 0; i < length; i++)
		to->mbox[offset + KGNI_SMSG_PAYLOAD + i] = message_byte(n, i);
	*word_at(to, offset) = kgni_smsg_word(n, length, message_tag(n));
}

/* The oldest put of @s arrives. */
static void deliver(struct side *s)
{
	struct side *to = peer_of(s);
	struct put *p = &s->wire[s->out % WIRE];

	if (s->in == s->out)
		return;
	s->out++;
	if (p->credit) {
		*word_at(to, 0) = p->value;
		to->told = p->value;
	} else {
		put_message(to, p->value);
	}
}

static void send(struct side *s)
{
	u64 acked = s->tx.acked;
	int credits = kgni_smsg_tx_credits(&g, &s->tx, word_at(s, 0));

	check(credits >= -1 && credits <= (int)g.credits, "%d credits of %u", credits, g.credits);
	check(s->tx.acked >= acked && s->tx.acked <= s->tx.sent, "acked %llu of %llu",
	      (unsigned long long)s->tx.acked, (unsigned long long)s->tx.sent);
	check(s->tx.sent - s->tx.acked <= g.credits, "%llu are out",
	      (unsigned long long)(s->tx.sent - s->tx.acked));
	if (!peer_of(s)->touched)
		check(credits == (int)(g.credits - (u32)(s->tx.sent - s->told)), "%d credits",
		      credits);
	if (credits <= 0 || wire_full(s))
		return;
	wire_add(s, false, s->tx.sent++);
}

static void check_message(const struct side *s, const struct kgni_smsg_msg *m)
{
	const u8 *slot = s->mbox + kgni_smsg_slot(&g, s->rx.consumed);
	const u8 *payload = m->payload;
	u64 n = s->rx.consumed;
	u32 i;

	check(payload == slot + KGNI_SMSG_PAYLOAD, "not in its slot");
	check(m->length <= g.maxsize && payload + m->length <= slot + g.slot_size, "%u bytes",
	      m->length);
	fuzz_read(payload, m->length);
	if (s->touched)
		return;
	check(n < peer_of(s)->tx.sent, "message %llu was not sent", (unsigned long long)n);
	check(m->length == message_length(n) && m->tag == message_tag(n), "length %u, tag %u",
	      m->length, m->tag);
	for (i = 0; i < m->length; i++)
		check(payload[i] == message_byte(n, i), "byte %u of message %llu", i,
		      (unsigned long long)n);
}

/* Messages of the peer that have arrived and were not consumed. */
static u64 arrived(const struct side *s)
{
	const struct side *peer = peer_of(s);
	u64 n = peer->tx.sent - s->rx.consumed;
	u32 i;

	for (i = peer->out; i != peer->in; i++)
		n -= !peer->wire[i % WIRE].credit;
	return n;
}

static enum kgni_smsg_poll look(const struct side *s, struct kgni_smsg_msg *m)
{
	enum kgni_smsg_poll got = kgni_smsg_rx_poll(&g, &s->rx, s->mbox, m);

	if (got == KGNI_SMSG_MESSAGE)
		check_message(s, m);
	if (!s->touched)
		check(got == (arrived(s) ? KGNI_SMSG_MESSAGE : KGNI_SMSG_NONE), "%d", got);
	return got;
}

static bool credits_due(const struct side *s)
{
	return (s->rx.consumed - s->rx.returned) * 2 >= g.credits;
}

static void return_credits(struct side *s)
{
	if (!credits_due(s) || wire_full(s))
		return;
	wire_add(s, true, s->rx.consumed);
	kgni_smsg_rx_returned(&s->rx, s->rx.consumed);
	check(s->rx.returned == s->rx.consumed, "returned");
}

static void release(struct side *s)
{
	u64 consumed = s->rx.consumed, returned = s->rx.returned;
	bool due = kgni_smsg_rx_release(&g, &s->rx);

	check(s->rx.consumed == consumed + 1 && s->rx.returned == returned, "counts");
	check(due == credits_due(s), "due %d", due);
	return_credits(s);
}

static bool same_message(const struct kgni_smsg_msg *a, const struct kgni_smsg_msg *b)
{
	return a->payload == b->payload && a->length == b->length && a->tag == b->tag;
}

/* What a slot's word says to one who waits for message @n. */
static enum kgni_smsg_poll meaning(u64 word, u64 n)
{
	u64 before = n - g.credits;

	if (n < g.credits ? !word : (word & ~0ULL >> 32) == ((before & 0x7fffffff) | 1U << 31))
		return KGNI_SMSG_NONE;
	if ((word & 0x7fffffff) != (n & 0x7fffffff) || !(word & 1U << 31) ||
	    (word >> 32 & 0xffff) > g.maxsize || word > ~0ULL >> 8)
		return KGNI_SMSG_DAMAGED;
	return KGNI_SMSG_MESSAGE;
}

/* While the stranger stays away a message is the same each time. */
static void look_twice(const struct side *s)
{
	struct kgni_smsg_msg m, again;
	enum kgni_smsg_poll got;

	away = true;
	got = look(s, &m);
	check(got == meaning(*(u64 *)(s->mbox + kgni_smsg_slot(&g, s->rx.consumed)),
			     s->rx.consumed), "%d", got);
	check(look(s, &again) == got, "not %d again", got);
	check(got != KGNI_SMSG_MESSAGE || same_message(&m, &again), "another message");
	away = false;
}

static void receive(struct side *s, bool twice)
{
	struct kgni_smsg_msg m;

	if (twice)
		look_twice(s);
	if (look(s, &m) == KGNI_SMSG_MESSAGE)
		release(s);
}

/* --- shapes ------------------------------------------------------------------------ */

/* Of a shape that may be of any size, without the memory for it. */
static void check_shape(u32 credits, u32 maxsize, u64 n)
{
	struct kgni_smsg_geom s;
	bool good = kgni_smsg_geom_init(&s, credits, maxsize);
	u64 slot;

	check(good == (credits >= 1 && credits <= 65535 && maxsize >= 1 && maxsize <= 65535),
	      "%u credits, %u bytes", credits, maxsize);
	if (!good)
		return;
	check(s.credits == credits && s.maxsize == maxsize, "other than asked for");
	check(s.slot_size % 64 == 0 && s.slot_size >= KGNI_SMSG_PAYLOAD + maxsize &&
	      s.slot_size < KGNI_SMSG_PAYLOAD + maxsize + 64, "slots of %u", s.slot_size);
	check(kgni_smsg_size(&s) == 128 + (u64)credits * s.slot_size, "size");
	slot = kgni_smsg_slot(&s, n);
	check(slot >= KGNI_SMSG_SLOTS_OFFSET && slot % 64 == 0 &&
	      slot + s.slot_size <= kgni_smsg_size(&s), "slot %llu",
	      (unsigned long long)slot);
	check(credits == 1 || n == UINT64_MAX || slot != kgni_smsg_slot(&s, n + 1), "neighbours");
}

static void check_edges(void)
{
	static const u32 edges[] = { 0, 1, 64, 65535, 65536 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(edges); i++)
		for (j = 0; j < ARRAY_SIZE(edges); j++)
			check_shape(edges[i], edges[j], 65534);
}

/* Two sides that have already exchanged @start messages each way. */
static void begin(u64 start)
{
	struct side *s;
	u64 n;

	memset(sides, 0, sizeof(sides));
	for (s = sides; s < sides + 2; s++) {
		s->mbox = fuzz_memory(64, mbox_size);
		s->tx.sent = start;
		s->tx.acked = start;
		s->rx.consumed = start;
		s->rx.returned = start;
		s->told = start;
		*word_at(s, 0) = start;
		for (n = start < g.credits ? 0 : start - g.credits; n < start; n++)
			*word_at(s, kgni_smsg_slot(&g, n)) = kgni_smsg_word(n, 9, 9);
	}
}

/* The stranger is gone, puts arrive, all is consumed: senders must hear of it. */
static void settle(void)
{
	struct kgni_smsg_msg m;
	struct side *s;
	u32 i;

	away = true;
	for (i = 0; i < 4 * g.credits + 2 * WIRE; i++) {
		for (s = sides; s < sides + 2; s++) {
			deliver(s);
			return_credits(s);
			if (look(s, &m) == KGNI_SMSG_MESSAGE)
				release(s);
		}
	}
	for (s = sides; s < sides + 2; s++) {
		if (peer_of(s)->touched)
			continue;
		check(peer_of(s)->rx.consumed == s->tx.sent, "messages are missing");
		check(kgni_smsg_tx_credits(&g, &s->tx, word_at(s, 0)) > (int)g.credits / 2,
		      "credits are missing");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u64 starts[] = { 0, 256, 1ULL << 31, 1ULL << 32, 1ULL << 63 };
	struct input in = { data, size };
	struct side *s;
	u64 start;
	u8 what;

	input = &in;
	check_edges();
	check_shape((u32)input_edge(&in), (u32)input_edge(&in), input_u64(&in));
	if (!kgni_smsg_geom_init(&g, 1 + input_below(&in, 24), 1 + (input_u16(&in) & 0x1ff)))
		return 0;
	mbox_size = kgni_smsg_size(&g);
	start = starts[input_below(&in, ARRAY_SIZE(starts))];
	flickering = 0;
	away = false;
	begin(start ? start - input_u8(&in) : 0);
	quiet = input_u8(&in);
	while (in.left) {
		what = input_u8(&in);
		s = &sides[what & 1];
		switch (what >> 1 & 7) {
		case 0:
		case 1:
			send(s);
			break;
		case 2:
		case 3:
			deliver(s);
			break;
		case 4:
			receive(s, true);
			break;
		case 5:
			receive(s, false);
			break;
		case 6:
			quiet = 255;
			flickering = what >> 3;
			break;
		default:
			scribble();
		}
	}
	settle();
	free(sides[0].mbox);
	free(sides[1].mbox);
	return 0;
}
