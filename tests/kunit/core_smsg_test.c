// SPDX-License-Identifier: GPL-2.0-only
/* core/smsg.h: mailboxes, sequence numbers and credits. */
#include "kgt.h"
#include "../../kernel/core/smsg.h"

static const struct shape {
	u32 credits, maxsize;
	bool valid;
	u32 slot_size;
} shapes[] = {
	{ 1, 1, true, 64 }, { 1, 56, true, 64 }, { 1, 57, true, 128 }, { 2, 1, true, 64 },
	{ 3, 200, true, 256 }, { 16, 1024, true, 1088 }, { 7, 65535, true, 65600 },
	{ 65535, 1, true, 64 }, { 0, 1, false }, { 1, 0, false }, { 65536, 1, false },
	{ 1, 65536, false }, { U32_MAX, U32_MAX, false },
};

static void shape_desc(const struct shape *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u credits of %u bytes", s->credits, s->maxsize);
}

KUNIT_ARRAY_PARAM(shape, shapes, shape_desc);

static void geometry(struct kunit *test)
{
	const struct shape *s = test->param_value;
	struct kgni_smsg_geom g;
	u64 n;

	KUNIT_ASSERT_EQ(test, kgni_smsg_geom_init(&g, s->credits, s->maxsize), s->valid);
	if (!s->valid)
		return;
	KUNIT_EXPECT_EQ(test, g.slot_size, s->slot_size);
	KUNIT_EXPECT_EQ(test, kgni_smsg_size(&g), 128 + (u64)s->credits * s->slot_size);
	for (n = 0; n < 3ULL * s->credits; n += max(1U, s->credits / 5)) {
		u64 slot = kgni_smsg_slot(&g, n);

		KUNIT_EXPECT_EQ(test, slot, 128 + n % s->credits * s->slot_size);
		KUNIT_EXPECT_LE(test, slot + 8 + s->maxsize, kgni_smsg_size(&g));
	}
}

/* One direction of a connection; the wire is a memcpy. */
struct channel {
	struct kgni_smsg_geom g;
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	u64 credit_word;
	u8 *mbox;
};

static struct channel *channel(struct kunit *test, u32 credits, u32 maxsize)
{
	struct channel *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_TRUE(test, kgni_smsg_geom_init(&c->g, credits, maxsize));
	c->mbox = kunit_kzalloc(test, kgni_smsg_size(&c->g), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c->mbox);
	return c;
}

static void send(struct channel *c, const void *data, u32 length, u8 tag)
{
	u64 n = c->tx.sent++;
	u8 *slot = c->mbox + kgni_smsg_slot(&c->g, n);

	memcpy(slot + KGNI_SMSG_PAYLOAD, data, length);
	*(u64 *)slot = kgni_smsg_word(n, length, tag);
}

static int credits(struct channel *c)
{
	return kgni_smsg_tx_credits(&c->g, &c->tx, &c->credit_word);
}

static enum kgni_smsg_poll poll(struct channel *c, struct kgni_smsg_msg *msg)
{
	return kgni_smsg_rx_poll(&c->g, &c->rx, c->mbox, msg);
}

static void release(struct channel *c)
{
	if (!kgni_smsg_rx_release(&c->g, &c->rx))
		return;
	c->credit_word = c->rx.consumed;
	kgni_smsg_rx_returned(&c->rx, c->rx.consumed);
}

static const struct start {
	u32 credits;
	u64 n;		/* messages that went before */
} starts[] = {
	{ 1, 0 }, { 2, 0 }, { 3, 0 }, { 16, 0 }, { 4, 0x7ffffffc }, { 5, 0xfffffffd },
	{ 3, 0x17ffffffe },
};

static void start_desc(const struct start *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u credits after %llu messages", s->credits, s->n);
}

KUNIT_ARRAY_PARAM(start, starts, start_desc);

/* As if so many messages had gone by. */
static void fast_forward(struct channel *c, u64 n)
{
	u64 i;

	for (i = n - min_t(u64, n, c->g.credits); i < n; i++)
		*(u64 *)(c->mbox + kgni_smsg_slot(&c->g, i)) = kgni_smsg_word(i, 0, 0);
	c->tx = (struct kgni_smsg_tx) { .sent = n, .acked = n };
	c->rx = (struct kgni_smsg_rx) { .consumed = n, .returned = n };
	c->credit_word = n;
}

static void exchange(struct kunit *test)
{
	const struct start *s = test->param_value;
	struct channel *c = channel(test, s->credits, 100);
	struct kgni_smsg_msg msg;
	u8 data[100];
	u32 i;

	fast_forward(c, s->n);
	for (i = 0; i < 5 * s->credits; i++) {
		KUNIT_EXPECT_EQ(test, poll(c, &msg), KGNI_SMSG_NONE);
		KUNIT_ASSERT_GT(test, credits(c), 0);
		memset(data, i, sizeof(data));
		send(c, data, i % 101, i);
		KUNIT_ASSERT_EQ(test, poll(c, &msg), KGNI_SMSG_MESSAGE);
		KUNIT_EXPECT_EQ(test, msg.length, i % 101);
		KUNIT_EXPECT_EQ(test, msg.tag, (u8)i);
		KUNIT_EXPECT_EQ(test, memcmp(msg.payload, data, msg.length), 0);
		/* It is found again until it is released. */
		KUNIT_EXPECT_EQ(test, poll(c, &msg), KGNI_SMSG_MESSAGE);
		release(c);
	}
}

static void credits_run_out_and_come_back(struct kunit *test)
{
	const struct start *s = test->param_value;
	struct channel *c = channel(test, s->credits, 8);
	u32 i, back = 0;

	fast_forward(c, s->n);
	for (i = 0; i < s->credits; i++) {
		KUNIT_EXPECT_EQ(test, credits(c), s->credits - i);
		send(c, &i, sizeof(i), 0);
	}
	KUNIT_EXPECT_EQ(test, credits(c), 0);
	for (i = 1; i <= s->credits; i++) {
		release(c);
		/* When half of them are due, and not before. */
		if ((i - back) * 2 >= s->credits)
			back = i;
		KUNIT_EXPECT_EQ(test, credits(c), back);
	}
}

/* What a peer may write into a mailbox of 4 slots that waits for message 4. */
static const struct word {
	const char *name;
	u64 word;
	enum kgni_smsg_poll want;
} words[] = {
	{ "the message before", 0x80000000ULL, KGNI_SMSG_NONE },
	{ "the message before, other length and tag", 0x55000580000000ULL, KGNI_SMSG_NONE },
	{ "the message", 0x80000004ULL, KGNI_SMSG_MESSAGE },
	{ "the longest", 0x80000004ULL | 64ULL << 32, KGNI_SMSG_MESSAGE },
	{ "too long", 0x80000004ULL | 65ULL << 32, KGNI_SMSG_DAMAGED },
	{ "nothing", 0, KGNI_SMSG_DAMAGED },
	{ "not valid", 4, KGNI_SMSG_DAMAGED },
	{ "a later message", 0x80000008ULL, KGNI_SMSG_DAMAGED },
	{ "one of another slot", 0x80000005ULL, KGNI_SMSG_DAMAGED },
	{ "bits beyond the tag", 1ULL << 56 | 0x80000004ULL, KGNI_SMSG_DAMAGED },
	{ "all ones", U64_MAX, KGNI_SMSG_DAMAGED },
};

static void word_desc(const struct word *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(word, words, word_desc);

static void slot_words(struct kunit *test)
{
	const struct word *w = test->param_value;
	struct channel *c = channel(test, 4, 64);
	struct kgni_smsg_msg msg;

	fast_forward(c, 4);
	*(u64 *)(c->mbox + kgni_smsg_slot(&c->g, 4)) = w->word;
	KUNIT_EXPECT_EQ(test, poll(c, &msg), w->want);
}

/* The word that says what the peer consumed is the peer's to write. */
static void credit_words(struct kunit *test)
{
	struct channel *c = channel(test, 8, 64);

	fast_forward(c, 100);
	c->tx.sent = 105;
	KUNIT_EXPECT_EQ(test, credits(c), 3);
	c->credit_word = 105;
	KUNIT_EXPECT_EQ(test, credits(c), 8);
	c->credit_word = 106;
	KUNIT_EXPECT_EQ(test, credits(c), -1);
	c->credit_word = 104;
	KUNIT_EXPECT_EQ(test, credits(c), -1);
	c->credit_word = U64_MAX;
	KUNIT_EXPECT_EQ(test, credits(c), -1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(geometry, shape_gen_params),
	KUNIT_CASE_PARAM(exchange, start_gen_params),
	KUNIT_CASE_PARAM(credits_run_out_and_come_back, start_gen_params),
	KUNIT_CASE_PARAM(slot_words, word_gen_params),
	KUNIT_CASE(credit_words),
	{}
};

static struct kunit_suite core_smsg_suite = {
	.name = "kgni_core_smsg",
	.test_cases = cases,
};

kunit_test_suite(core_smsg_suite);
