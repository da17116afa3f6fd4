// SPDX-License-Identifier: GPL-2.0-only
/*
 * The short message protocol over mailboxes in plain memory: two sides, and a
 * wire between them that carries what they put in pieces, late, in order.
 */
#include "unit.h"
#include "core/smsg.h"

#define WIRE	256	/* puts on their way, at most; a power of two */

/* A message is what its sender's seed and its number say. */
static u8 byte_of(u32 seed, u64 n, u32 i)
{
	return (u8)(seed * 31 + n * 7 + i * 13 + (i >> 8));
}

static u32 length_of(u32 seed, u64 n, u32 maxsize)
{
	u64 rng = seed ^ n << 8;

	switch (unit_below(&rng, 4)) {
	case 0:
		return 0;
	case 1:
		return maxsize;
	}
	return unit_below(&rng, maxsize + 1);
}

static u8 tag_of(u32 seed, u64 n)
{
	return (u8)(seed + n * 3);
}

struct put {
	bool is_credit;
	bool half;		/* the message is there, its word is not */
	u64 value;		/* number of the message, or the credit word */
};

/* One of the two sides; what it sent travels on its wire. */
struct side {
	struct side *peer;
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	bool owes;		/* credits are due, the put did not work out yet */
	u8 *mbox;
	u32 seed;
	struct put wire[WIRE];
	u32 in, out;
};

static struct kgni_smsg_geom g;
static struct side sides[2];

/* Memory for a mailbox, no byte more than it needs. */
static u8 *mbox_new(const struct kgni_smsg_geom *geom)
{
	size_t size = kgni_smsg_size(geom);
	u8 *mbox = aligned_alloc(64, size);

	assert_non_null(mbox);
	memset(mbox, 0, size);
	return mbox;
}

static u64 *word_at(u8 *mbox, u64 offset)
{
	return (u64 *)(mbox + offset);
}

/* Two sides that have already exchanged @start messages each way. */
static void sides_new(u32 credits, u32 maxsize, u64 start)
{
	struct side *s;
	u64 n;
	u32 i;

	assert_true(kgni_smsg_geom_init(&g, credits, maxsize));
	memset(sides, 0, sizeof(sides));
	for (i = 0; i < 2; i++) {
		s = &sides[i];
		s->peer = &sides[!i];
		s->seed = 100 + i;
		s->mbox = mbox_new(&g);
		s->tx.sent = start;
		s->tx.acked = start;
		s->rx.consumed = start;
		s->rx.returned = start;
		*word_at(s->mbox, 0) = start;
		for (n = start < credits ? 0 : start - credits; n < start; n++)
			*word_at(s->mbox, kgni_smsg_slot(&g, n)) = kgni_smsg_word(n, 9, 9);
	}
}

static void sides_delete(void)
{
	free(sides[0].mbox);
	free(sides[1].mbox);
}

static bool wire_full(const struct side *s)
{
	return s->in - s->out == WIRE;
}

static void wire_add(struct side *s, bool is_credit, u64 value)
{
	struct put *p = &s->wire[s->in++ % WIRE];

	p->is_credit = is_credit;
	p->half = false;
	p->value = value;
}

/* Moves the oldest put of @s by one step. */
static void wire_step(struct side *s)
{
	struct put *p = &s->wire[s->out % WIRE];
	u8 *mbox = s->peer->mbox;
	u32 length, i;
	u64 at;

	if (s->in == s->out)
		return;
	if (p->is_credit) {
		core_store_release(word_at(mbox, 0), p->value);
		s->out++;
		return;
	}
	at = kgni_smsg_slot(&g, p->value);
	length = length_of(s->seed, p->value, g.maxsize);
	if (!p->half) {
		for (i = 0; i < length; i++)
			mbox[at + KGNI_SMSG_PAYLOAD + i] = byte_of(s->seed, p->value, i);
		p->half = true;
		return;
	}
	core_store_release(word_at(mbox, at),
			   kgni_smsg_word(p->value, length, tag_of(s->seed, p->value)));
	s->out++;
}

/* How many messages of @s the peer has not released: the truth. */
static u64 unreleased(const struct side *s)
{
	return s->tx.sent - s->peer->rx.consumed;
}

static bool try_send(struct side *s)
{
	int credits = kgni_smsg_tx_credits(&g, &s->tx, word_at(s->mbox, 0));

	assert_in_range(credits, 0, g.credits);
	/* Never more than there are, whatever the peer has not said yet. */
	assert_true((u64)credits <= g.credits - unreleased(s));
	if (!credits || wire_full(s))
		return false;
	wire_add(s, false, s->tx.sent++);
	return true;
}

/* Is there a message, and is it the one it has to be? */
static bool look(struct side *s)
{
	struct kgni_smsg_msg msg;
	u32 seed = s->peer->seed, i;
	u64 n = s->rx.consumed;
	enum kgni_smsg_poll got = kgni_smsg_rx_poll(&g, &s->rx, s->mbox, &msg);

	assert_int_not_equal(got, KGNI_SMSG_DAMAGED);
	if (got == KGNI_SMSG_NONE)
		return false;
	assert_true(n < s->peer->tx.sent);
	assert_int_equal(msg.length, length_of(seed, n, g.maxsize));
	assert_int_equal(msg.tag, tag_of(seed, n));
	assert_ptr_equal(msg.payload, s->mbox + kgni_smsg_slot(&g, n) + 8);
	assert_int_equal((uintptr_t)msg.payload % 8, 0);
	for (i = 0; i < msg.length; i++)
		if (((u8 *)msg.payload)[i] != byte_of(seed, n, i))
			fail_msg("message %ju is not what was sent", (uintmax_t)n);
	return true;
}

/* Says what is owed, if the wire takes it. */
static void pay(struct side *s)
{
	if (!s->owes || wire_full(s))
		return;
	wire_add(s, true, s->rx.consumed);
	kgni_smsg_rx_returned(&s->rx, s->rx.consumed);
	s->owes = false;
}

static bool receive(struct side *s, bool can_pay)
{
	if (!look(s))
		return false;
	/* The same again until it is released. */
	assert_true(look(s));
	if (kgni_smsg_rx_release(&g, &s->rx))
		s->owes = true;
	if (can_pay)
		pay(s);
	return true;
}

/* Lets everything arrive and be consumed: all must be there, and all credits. */
static void settle(void)
{
	struct side *s;
	u32 i;
	int credits;

	for (i = 0; i < 2; i++) {
		s = &sides[i];
		do {
			while (s->in != s->out)
				wire_step(s);
			pay(s->peer);
		} while (receive(s->peer, true));
		assert_int_equal(s->peer->rx.consumed, s->tx.sent);
	}
	for (i = 0; i < 2; i++) {
		s = &sides[i];
		while (s->in != s->out)
			wire_step(s);
	}
	for (i = 0; i < 2; i++) {
		s = &sides[i];
		credits = kgni_smsg_tx_credits(&g, &s->tx, word_at(s->mbox, 0));
		/* Less than half may still be due. */
		assert_true(credits >= 1 && (u32)credits * 2 > g.credits);
	}
}

static const u64 starts[] = {
	0, 1, 7, 8, (1ULL << 31) - 40, 1ULL << 31, (1ULL << 32) - 40, 1ULL << 32,
	(1ULL << 33) - 3, (1ULL << 63) - 40,
};

static const struct {
	u32 credits, maxsize;
} shapes[] = {
	{ 1, 1 }, { 1, 100 }, { 2, 56 }, { 3, 57 }, { 4, 8 }, { 5, 120 }, { 8, 1024 },
	{ 64, 40 }, { 1000, 3 }, { 2, 65535 }, { 65535, 1 },
};

/* Any order of sending, carrying, looking, releasing and paying. */
static void test_random(void **state)
{
	u64 rng = 51;
	u32 k, i, n, sent[2];
	struct side *s;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(shapes); k++)
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		sides_new(shapes[k].credits, shapes[k].maxsize, starts[i]);
		memset(sent, 0, sizeof(sent));
		for (n = 0; n < 4000 && (n < 300 || shapes[k].maxsize < 4096); n++) {
			s = &sides[unit_below(&rng, 2)];
			/* Times of plenty and of want. */
			switch (unit_below(&rng, n & 512 ? 6 : 4)) {
			case 0:
				sent[s == sides] += try_send(s);
				break;
			case 1: case 4:
				wire_step(s);
				break;
			case 2: case 5:
				receive(s, unit_below(&rng, 8));
				break;
			case 3:
				look(s);
				pay(s);
			}
		}
		settle();
		assert_true(sent[0] && sent[1]);
		sides_delete();
	}
}

/*
 * A sender that gets no credits back has exactly as many messages out as it
 * may, then gets going again as soon as the receiver does.
 */
static void test_back_pressure(void **state)
{
	u32 k, i, round, n, needed;
	struct side *s = &sides[0], *r = &sides[1];

	(void)state;
	for (k = 0; k < ARRAY_SIZE(shapes) - 1; k++)
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		sides_new(shapes[k].credits, shapes[k].maxsize, starts[i]);
		for (round = 0; round < 4; round++) {
			while (unreleased(s) < g.credits) {
				if (!try_send(s))
					break;
				wire_step(s);
				wire_step(s);
			}
			/* What the receiver did not say in earlier rounds is missing. */
			assert_true(unreleased(s) + (r->rx.consumed - s->tx.acked) == g.credits);
			assert_false(try_send(s));
			/* Half of all credits, at least one, and it is told. */
			needed = (g.credits + 1) / 2;
			for (n = 1; r->rx.consumed - r->rx.returned + 1 < needed; n++)
				assert_true(receive(r, true) && r->in == r->out);
			assert_true(receive(r, true));
			assert_int_equal(r->in - r->out, 1);
			assert_false(try_send(s));
			wire_step(r);
			assert_int_equal(kgni_smsg_tx_credits(&g, &s->tx, word_at(s->mbox, 0)),
					 g.credits - unreleased(s));
			assert_true(n <= needed);
		}
		settle();
		sides_delete();
	}
}

/* When credits go back: by the number of them. */
static void test_threshold(void **state)
{
	static const struct {
		u32 credits, due;
	} table[] = {
		{ 1, 1 }, { 2, 1 }, { 3, 2 }, { 4, 2 }, { 5, 3 }, { 6, 3 }, { 256, 128 },
		{ 65534, 32767 }, { 65535, 32768 },
	};
	struct kgni_smsg_rx rx;
	u32 i, n, laps;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		assert_true(kgni_smsg_geom_init(&g, table[i].credits, 8));
		rx.consumed = (1ULL << 32) - 2;
		rx.returned = rx.consumed;
		for (laps = 0; laps < 3; laps++) {
			for (n = 1; n < table[i].due; n++)
				assert_false(kgni_smsg_rx_release(&g, &rx));
			/* Said again and again until it was done. */
			assert_true(kgni_smsg_rx_release(&g, &rx));
			assert_true(kgni_smsg_rx_release(&g, &rx));
			kgni_smsg_rx_returned(&rx, rx.consumed);
		}
	}
}

/* A message that comes before this side has set anything up is found later. */
static void test_early(void **state)
{
	struct kgni_smsg_msg msg;

	(void)state;
	sides_new(4, 64, 0);
	assert_true(try_send(&sides[0]));
	assert_true(try_send(&sides[0]));
	while (sides[0].in != sides[0].out)
		wire_step(&sides[0]);
	memset(&sides[1].rx, 0, sizeof(sides[1].rx));
	assert_true(receive(&sides[1], true));
	assert_true(receive(&sides[1], true));
	assert_int_equal(kgni_smsg_rx_poll(&g, &sides[1].rx, sides[1].mbox, &msg),
			 KGNI_SMSG_NONE);
	settle();
	sides_delete();
}

/* A put that overtakes another, or is half done, is not seen before its turn. */
static void test_overtaking(void **state)
{
	struct kgni_smsg_rx rx = { 0 };
	struct kgni_smsg_msg msg;
	u8 *mbox;

	(void)state;
	assert_true(kgni_smsg_geom_init(&g, 3, 16));
	mbox = mbox_new(&g);
	*word_at(mbox, kgni_smsg_slot(&g, 1)) = kgni_smsg_word(1, 5, 0xfe);
	memset(mbox + kgni_smsg_slot(&g, 0) + 8, 0x77, 16);
	assert_int_equal(kgni_smsg_rx_poll(&g, &rx, mbox, &msg), KGNI_SMSG_NONE);
	*word_at(mbox, kgni_smsg_slot(&g, 0)) = kgni_smsg_word(0, 0, 0);
	assert_int_equal(kgni_smsg_rx_poll(&g, &rx, mbox, &msg), KGNI_SMSG_MESSAGE);
	assert_int_equal(msg.length, 0);
	assert_int_equal(msg.tag, 0);
	kgni_smsg_rx_release(&g, &rx);
	assert_int_equal(kgni_smsg_rx_poll(&g, &rx, mbox, &msg), KGNI_SMSG_MESSAGE);
	assert_int_equal(msg.length, 5);
	assert_int_equal(msg.tag, 0xfe);
	free(mbox);
}

/* Looks at whatever lies there; a message must lie in its slot in full. */
static enum kgni_smsg_poll look_at(const struct kgni_smsg_rx *rx, u8 *mbox)
{
	volatile u8 *p;
	struct kgni_smsg_msg msg = { 0 };
	enum kgni_smsg_poll got = kgni_smsg_rx_poll(&g, rx, mbox, &msg);
	u64 slot = kgni_smsg_slot(&g, rx->consumed);
	u32 i;

	if (got != KGNI_SMSG_MESSAGE)
		return got;
	p = msg.payload;
	assert_ptr_equal(p, mbox + slot + KGNI_SMSG_PAYLOAD);
	assert_in_range(msg.length, 0, g.maxsize);
	for (i = 0; i < msg.length; i++)
		p[i]++;
	assert_true(KGNI_SMSG_PAYLOAD + msg.length <= g.slot_size);
	return got;
}

/*
 * What a slot word must be taken for, from the description: the lower half
 * says which message it is of, the upper half is only looked at in a new one.
 */
static enum kgni_smsg_poll meaning(u64 word, u64 n)
{
	u32 old = (u32)((n - g.credits) & 0x7fffffff) | 0x80000000;
	u32 new = (u32)(n & 0x7fffffff) | 0x80000000;

	if (n < g.credits ? !word : (u32)word == old)
		return KGNI_SMSG_NONE;
	if ((u32)word != new || (word >> 32 & 0xffff) > g.maxsize || word >> 56)
		return KGNI_SMSG_DAMAGED;
	return KGNI_SMSG_MESSAGE;
}

static void poke(u8 *mbox, u64 n, u64 word)
{
	struct kgni_smsg_rx rx = { .consumed = n };

	*word_at(mbox, kgni_smsg_slot(&g, n)) = word;
	assert_int_equal(look_at(&rx, mbox), meaning(word, n));
}

/* Every bit flipped, of an empty slot, a used one and a message; and rubbish. */
static void test_damage(void **state)
{
	u64 rng = 52, n, words[5];
	u32 k, i, j, w, bit;
	u8 *mbox;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(shapes) - 1; k++) {
		assert_true(kgni_smsg_geom_init(&g, shapes[k].credits, shapes[k].maxsize));
		mbox = mbox_new(&g);
		for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (j = 0; j < 10; j++) {
			n = starts[i] + j * (g.credits + 1) / 2;
			words[0] = 0;
			words[1] = kgni_smsg_word(n - g.credits, g.maxsize, 0xaa);
			words[2] = kgni_smsg_word(n, g.maxsize, 0xff);
			words[3] = kgni_smsg_word(n, unit_below(&rng, g.maxsize + 1), 0);
			words[4] = kgni_smsg_word(n + g.credits, 0, 0);
			for (w = 0; w < ARRAY_SIZE(words); w++) {
				poke(mbox, n, words[w]);
				for (bit = 0; bit < 64; bit++)
					poke(mbox, n, words[w] ^ 1ULL << bit);
			}
			for (w = 0; w < 50; w++) {
				poke(mbox, n, unit_edge(&rng));
				poke(mbox, n, (u32)words[2] | unit_rand(&rng) << 32);
			}
			poke(mbox, n, (u32)words[2] | (u64)(g.maxsize + 1) << 32);
		}
		free(mbox);
	}
}

/* The word itself, by its description. */
static void test_word(void **state)
{
	static const struct {
		u64 n;
		u32 length;
		u8 tag;
		u64 word;
	} table[] = {
		{ 0, 0, 0, 0x0000000080000000 },
		{ 1, 2, 3, 0x0003000280000001 },
		{ 0x7fffffff, 65535, 255, 0x00ffffffffffffff },
		{ 0x80000000, 0, 0, 0x0000000080000000 },
		{ 0x1ffffffff, 16, 1, 0x00010010ffffffff },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(kgni_smsg_word(table[i].n, table[i].length, table[i].tag),
				 table[i].word);
}

/* A credit word may say what was said before, up to all that was sent. */
static void test_credit_words(void **state)
{
	struct kgni_smsg_tx tx;
	u64 rng = 53, word, base;
	u32 k, i, n, out;
	int want;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(shapes); k++)
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		assert_true(kgni_smsg_geom_init(&g, shapes[k].credits, shapes[k].maxsize));
		for (n = 0; n < 300; n++) {
			base = starts[i];
			out = unit_below(&rng, g.credits + 1);
			tx.acked = base;
			tx.sent = base + out;
			switch (n % 4) {
			case 0:
				word = base + unit_below(&rng, out + 1);
				break;
			case 1:
				word = base + unit_below(&rng, 8) - 4;
				break;
			case 2:
				word = base + out + unit_below(&rng, 8) - 4;
				break;
			default:
				word = unit_edge(&rng);
			}
			want = word - base > out ? -1 : (int)(g.credits - (u32)(tx.sent - word));
			assert_int_equal(kgni_smsg_tx_credits(&g, &tx, &word), want);
			assert_int_equal(tx.sent, base + out);
			assert_int_equal(tx.acked, want < 0 ? base : word);
		}
	}
}

static void test_geometry(void **state)
{
	static const struct {
		u32 credits, maxsize;
		bool ok;
	} limits[] = {
		{ 0, 1, false }, { 1, 0, false }, { 1, 1, true }, { 65535, 1, true },
		{ 65536, 1, false }, { 0xffffffff, 1, false }, { 1, 65535, true },
		{ 1, 65536, false }, { 1, 0xffffffff, false }, { 65535, 65535, true },
	};
	struct kgni_smsg_geom geom = { 0 };
	u32 i, credits, maxsize;
	u64 size;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		assert_int_equal(kgni_smsg_geom_init(&geom, limits[i].credits, limits[i].maxsize),
				 limits[i].ok);
	assert_int_equal(kgni_smsg_size(&geom), 128 + 65535ULL * 65600);
	for (credits = 1; credits <= 65535; credits += credits < 20 ? 1 : 9361)
	for (maxsize = 1; maxsize <= 65535; maxsize += maxsize < 200 ? 1 : 3267) {
		assert_true(kgni_smsg_geom_init(&geom, credits, maxsize));
		assert_int_equal(geom.credits, credits);
		assert_int_equal(geom.maxsize, maxsize);
		/* Room for word and message, and no line more. */
		assert_int_equal(geom.slot_size % 64, 0);
		assert_in_range(geom.slot_size, 8 + maxsize, 8 + maxsize + 63);
		size = kgni_smsg_size(&geom);
		assert_int_equal(size, 128 + (u64)credits * geom.slot_size);
		assert_int_equal(kgni_smsg_slot_next(&geom, 128), kgni_smsg_slot(&geom, 1));
		assert_int_equal(kgni_smsg_slot_next(&geom, size - geom.slot_size), 128);
		/* The slots one after the other, then the first again. */
		assert_int_equal(kgni_smsg_slot(&geom, 0), 128);
		assert_int_equal(kgni_smsg_slot(&geom, credits - 1), size - geom.slot_size);
		assert_int_equal(kgni_smsg_slot(&geom, credits), 128);
		assert_int_equal(kgni_smsg_slot(&geom, credits * 3ULL + credits / 2),
				 128 + (u64)(credits / 2) * geom.slot_size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_word),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_threshold),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_overtaking),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_credit_words),
	};

	return cmocka_run_group_tests_name("short messages", tests, NULL, NULL);
}
