// SPDX-License-Identifier: GPL-2.0-only
/* Short messages between endpoints of this process. */
#include "fake_driver.h"

#define MAXSIZE	1000

struct channel {
	struct fake_side side;
	gni_cq_handle_t rx_cq;
	gni_smsg_attr_t attr;
	unsigned int size;
};

static void channel(struct channel *c, u16 credits, u32 maxsize)
{
	fake_side(&c->side, 0, 64);
	ok(GNI_CqCreate(c->side.nic, 256, 0, 0, NULL, NULL, &c->rx_cq));
	c->attr = (gni_smsg_attr_t){
		.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
		.mbox_maxcredit = credits,
		.msg_maxsize = maxsize,
	};
	ok(GNI_SmsgBufferSizeNeeded(&c->attr, &c->size));
	assert_int_equal(c->size % 64, 0);
	c->attr.mbox_offset = 128;
	c->attr.buff_size = c->size;
	c->attr.msg_buffer = calloc(1, c->size + 128);
	c->attr.mem_hndl.qword1 = c->rx_cq->id;
}

static void connect_pair(struct channel *a, struct channel *b, u16 credits, u32 maxsize)
{
	channel(a, credits, maxsize);
	channel(b, credits, maxsize);
	ok(GNI_SmsgInit(a->side.ep, &a->attr, &b->attr));
	ok(GNI_SmsgInit(b->side.ep, &b->attr, &a->attr));
}

static void channel_end(struct channel *c)
{
	fake_side_end(&c->side);
	free(c->attr.msg_buffer);
}

static gni_return_t send_number(struct channel *c, u32 n)
{
	return GNI_SmsgSend(c->side.ep, &n, sizeof(n), NULL, 0, n);
}

static void expect_number(struct channel *c, u32 n)
{
	void *msg;

	ok(GNI_SmsgGetNext(c->side.ep, &msg));
	assert_int_equal(*(u32 *)msg, n);
	assert_int_equal((uintptr_t)msg % 8, 0);
	ok(GNI_SmsgRelease(c->side.ep));
}

static void test_size(void **state)
{
	gni_smsg_attr_t a = { .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 1,
			      .msg_maxsize = 1 };
	unsigned int size;

	(void)state;
	ok(GNI_SmsgBufferSizeNeeded(&a, &size));
	assert_int_equal(GNI_SmsgBufferSizeNeeded(NULL, &size), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, NULL), GNI_RC_INVALID_PARAM);
	a.mbox_maxcredit = 0;
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, &size), GNI_RC_INVALID_PARAM);
	a.mbox_maxcredit = 65535;
	a.msg_maxsize = 65535;	/* more than 32 bits can say */
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, &size), GNI_RC_INVALID_PARAM);
	a.msg_maxsize = 65000;
	ok(GNI_SmsgBufferSizeNeeded(&a, &size));
	a.msg_maxsize = 65536;
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, &size), GNI_RC_INVALID_PARAM);
	a.msg_maxsize = 0;
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, &size), GNI_RC_INVALID_PARAM);
	a.msg_maxsize = 1;
	a.msg_type = GNI_SMSG_TYPE_INVALID;
	assert_int_equal(GNI_SmsgBufferSizeNeeded(&a, &size), GNI_RC_INVALID_PARAM);
}

static void test_init(void **state)
{
	struct channel c;
	gni_smsg_attr_t r;
	void *msg;
	u8 tag = GNI_SMSG_ANY_TAG;

	(void)state;
	channel(&c, 4, MAXSIZE);
	assert_int_equal(send_number(&c, 1), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgGetNext(c.side.ep, &msg), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgRelease(c.side.ep), GNI_RC_INVALID_PARAM);
#define BAD(field, value)	do {							\
		r = c.attr;								\
		r.field = value;							\
		assert_int_equal(GNI_SmsgInit(c.side.ep, &c.attr, &r), GNI_RC_INVALID_PARAM);	\
		assert_int_equal(GNI_SmsgInit(c.side.ep, &r, &c.attr), GNI_RC_INVALID_PARAM);	\
	} while (0)
	BAD(msg_type, GNI_SMSG_TYPE_MBOX);
	BAD(msg_maxsize, MAXSIZE - 1);
	BAD(mbox_maxcredit, 3);
	BAD(buff_size, c.size - 1);
	BAD(mbox_offset, 4);
	r = c.attr;
	r.msg_buffer = NULL;
	assert_int_equal(GNI_SmsgInit(c.side.ep, &r, &c.attr), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgInit(c.side.ep, NULL, &c.attr), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgInit(c.side.ep, &c.attr, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgInit((void *)c.side.cq, &c.attr, &c.attr), GNI_RC_INVALID_PARAM);
	r = c.attr;
	r.buff_size += 1000;	/* a larger one is as good */
	ok(GNI_SmsgInit(c.side.ep, &c.attr, &r));
	assert_int_equal(GNI_SmsgInit(c.side.ep, &c.attr, &r), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgGetNext(c.side.ep, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgGetNextWTag(c.side.ep, NULL, &tag), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgGetNextWTag(c.side.ep, &msg, NULL), GNI_RC_INVALID_PARAM);
	ok(GNI_EpUnbind(c.side.ep));
	assert_int_equal(GNI_SmsgInit(c.side.ep, &c.attr, &r), GNI_RC_INVALID_STATE);
	ok(GNI_EpBind(c.side.ep, 1, 2));
	ok(GNI_SmsgInit(c.side.ep, &c.attr, &r));
	channel_end(&c);
}

static void test_content(void **state)
{
	struct channel a, b;
	char header[MAXSIZE], data[MAXSIZE], want[MAXSIZE];
	u64 seed = 3;
	void *msg;
	u32 h, d, i;

	(void)state;
	connect_pair(&a, &b, 3, MAXSIZE);
	for (i = 0; i < 2000; i++) {
		h = unit_below(&seed, 4) ? unit_below(&seed, 400) : 0;
		d = unit_below(&seed, 4) ? unit_below(&seed, MAXSIZE - h + 1) : 0;
		memset(header, (int)i, sizeof(header));
		memset(data, (int)(i * 7 + 1), sizeof(data));
		memcpy(want, header, h);
		memcpy(want + h, data, d);
		ok(GNI_SmsgSend(a.side.ep, h ? header : NULL, h, d ? data : NULL, d, i));
		memset(header, 0xee, sizeof(header));
		memset(data, 0xee, sizeof(data));
		ok(GNI_SmsgGetNext(b.side.ep, &msg));
		assert_memory_equal(msg, want, h + d);
		memset(msg, 0, h + d);	/* the receiver may write there */
		ok(GNI_SmsgRelease(b.side.ep));
		assert_int_equal(GNI_CqGetEvent(a.side.cq, (gni_cq_entry_t *)want), GNI_RC_SUCCESS);
	}
	assert_int_equal(GNI_SmsgSend(a.side.ep, NULL, 1, NULL, 0, 0), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgSend(a.side.ep, NULL, 0, NULL, 1, 0), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgSend(a.side.ep, header, 1, data, MAXSIZE, 0),
			 GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_SmsgSend(a.side.ep, header, ~0U, data, 2, 0), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_SmsgSend(a.side.ep, header, ~0U, data, ~0U, 0),
			 GNI_RC_ERROR_RESOURCE);
	channel_end(&a);
	channel_end(&b);
}

static void test_events(void **state)
{
	struct channel a, b;
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;

	(void)state;
	connect_pair(&a, &b, 2, 64);
	ok(GNI_SmsgSend(a.side.ep, "x", 1, NULL, 0, 0xfedcba98));
	ok(GNI_CqGetEvent(a.side.cq, &e));
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
	assert_int_equal(GNI_CQ_GET_MSG_ID(e), 0xfedcba98);
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0xdcba98);
	assert_int_equal(GNI_GetCompleted(a.side.cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	assert_null(d);
	ok(GNI_CqGetEvent(b.rx_cq, &e));
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
	assert_int_equal(GNI_CQ_GET_REM_INST_ID(e), 11);
	/* The credit that comes back is told like a message. */
	assert_int_equal(GNI_CqGetEvent(a.rx_cq, &e), GNI_RC_NOT_DONE);
	ok(GNI_SmsgGetNext(b.side.ep, (void **)&d));
	ok(GNI_SmsgRelease(b.side.ep));
	ok(GNI_CqGetEvent(a.rx_cq, &e));
	assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
	assert_int_equal(GNI_SmsgGetNext(a.side.ep, (void **)&d), GNI_RC_NOT_DONE);
	channel_end(&a);
	channel_end(&b);
}

static void test_credits(void **state)
{
	struct channel a, b;
	u32 sent = 0, got = 0, stalls, i;
	gni_cq_entry_t e;

	(void)state;
	connect_pair(&a, &b, 5, 64);
	for (i = 0; i < 100; i++) {
		while (send_number(&a, sent) == GNI_RC_SUCCESS) {
			ok(GNI_CqGetEvent(a.side.cq, &e));
			sent++;
		}
		/* All credits are out, less those of one message or two. */
		assert_true(sent - got >= 3 && sent - got <= 5);
		expect_number(&b, got++);
	}
	ok(GNI_GetNicStat(a.side.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
	assert_int_equal(stalls, 100);
	ok(GNI_ResetNicStat(a.side.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL));
	ok(GNI_GetNicStat(a.side.nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
	assert_int_equal(stalls, 0);
	while (got < sent)
		expect_number(&b, got++);
	assert_int_equal(GNI_SmsgRelease(b.side.ep), GNI_RC_NOT_DONE);
	ok(send_number(&a, sent));
	channel_end(&a);
	channel_end(&b);
}

static void test_tags(void **state)
{
	struct channel a, b;
	void *msg, *again;
	u8 tag;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	ok(GNI_SmsgSendWTag(a.side.ep, "one", 4, NULL, 0, 1, 17));
	ok(GNI_SmsgSend(a.side.ep, "two", 4, NULL, 0, 2));
	tag = 18;
	assert_int_equal(GNI_SmsgGetNextWTag(b.side.ep, &msg, &tag), GNI_RC_NO_MATCH);
	assert_int_equal(tag, 18);
	assert_int_equal(GNI_SmsgRelease(b.side.ep), GNI_RC_NOT_DONE);
	tag = GNI_SMSG_ANY_TAG;
	ok(GNI_SmsgGetNextWTag(b.side.ep, &msg, &tag));
	assert_int_equal(tag, 17);
	assert_string_equal(msg, "one");
	/* The same again, until it is released. */
	ok(GNI_SmsgGetNextWTag(b.side.ep, &again, &tag));
	ok(GNI_SmsgGetNext(b.side.ep, &again));
	assert_ptr_equal(msg, again);
	ok(GNI_SmsgRelease(b.side.ep));
	assert_int_equal(GNI_SmsgRelease(b.side.ep), GNI_RC_NOT_DONE);
	tag = GNI_SMSG_ANY_TAG;
	ok(GNI_SmsgGetNextWTag(b.side.ep, &msg, &tag));
	assert_int_equal(tag, 0);
	assert_string_equal(msg, "two");
	ok(GNI_SmsgRelease(b.side.ep));
	assert_int_equal(GNI_SmsgGetNext(b.side.ep, &msg), GNI_RC_NOT_DONE);
	channel_end(&a);
	channel_end(&b);
}

/* Sent before the receiver set itself up. */
static void test_early(void **state)
{
	struct channel a, b;

	(void)state;
	channel(&a, 4, 64);
	channel(&b, 4, 64);
	ok(GNI_SmsgInit(a.side.ep, &a.attr, &b.attr));
	ok(send_number(&a, 1));
	ok(send_number(&a, 2));
	ok(GNI_SmsgInit(b.side.ep, &b.attr, &a.attr));
	expect_number(&b, 1);
	expect_number(&b, 2);
	channel_end(&a);
	channel_end(&b);
}

/* A refused message is not sent, and the next one takes its place. */
static void test_refused(void **state)
{
	struct channel a, b;
	u32 i;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	for (i = 0; i < 200; i++) {
		fake.post_answer = i % 2 ? GNI_RC_ERROR_RESOURCE : -ENOMEM;
		assert_int_equal(send_number(&a, 99), GNI_RC_NOT_DONE);
	}
	fake.post_answer = -EFAULT;
	assert_int_equal(send_number(&a, 99), GNI_RC_INVALID_PARAM);
	fake.post_answer = 0;
	ok(send_number(&a, 1));
	expect_number(&b, 1);
	channel_end(&a);
	channel_end(&b);
}

/* Credits that can't be returned now are returned by a later call. */
static void test_credit_retry(void **state)
{
	struct channel a, b;
	gni_cq_entry_t e;
	void *msg;
	u32 round, i;

	(void)state;
	connect_pair(&a, &b, 2, 64);
	for (round = 0; round < 9; round++) {
		for (i = 0; i < 2; i++) {
			ok(send_number(&a, i));
			ok(GNI_CqGetEvent(a.side.cq, &e));
		}
		assert_int_equal(send_number(&a, 9), GNI_RC_NOT_DONE);
		fake.post_answer = round % 2 ? GNI_RC_ERROR_RESOURCE : -ENOMEM;
		expect_number(&b, 0);
		expect_number(&b, 1);
		fake.post_answer = 0;
		assert_int_equal(send_number(&a, 9), GNI_RC_NOT_DONE);
		switch (round % 3) {
		case 0:
			assert_int_equal(GNI_SmsgGetNext(b.side.ep, &msg), GNI_RC_NOT_DONE);
			break;
		case 1:
			ok(send_number(&b, 7));
			ok(GNI_CqGetEvent(b.side.cq, &e));
			expect_number(&a, 7);
			break;
		default:
			assert_int_equal(GNI_SmsgRelease(b.side.ep), GNI_RC_NOT_DONE);
			assert_int_equal(GNI_SmsgGetNext(b.side.ep, &msg), GNI_RC_NOT_DONE);
			break;
		}
	}
	channel_end(&a);
	channel_end(&b);
}

/* As many messages as requests, then none until events are taken. */
static void test_requests(void **state)
{
	struct channel a, b;
	gni_cq_entry_t e;
	u32 i, stalls;

	(void)state;
	connect_pair(&a, &b, 100, 64);
	for (i = 0; i < 64; i++)
		ok(send_number(&a, i));
	assert_int_equal(send_number(&a, i), GNI_RC_NOT_DONE);
	ok(GNI_GetNicStat(a.side.nic, GNI_STAT_SMSG_REQ_STALL, &stalls));
	assert_int_equal(stalls, 1);
	fake.post_answer = -ENOMEM;
	assert_int_equal(send_number(&b, i), GNI_RC_NOT_DONE);
	fake.post_answer = 0;
	ok(GNI_GetNicStat(b.side.nic, GNI_STAT_SMSG_REQ_STALL, &stalls));
	assert_int_equal(stalls, 1);
	assert_int_equal(GNI_EpUnbind(a.side.ep), GNI_RC_NOT_DONE);
	ok(GNI_CqGetEvent(a.side.cq, &e));
	ok(send_number(&a, i));
	assert_int_equal(send_number(&a, i), GNI_RC_NOT_DONE);
	while (GNI_CqGetEvent(a.side.cq, &e) == GNI_RC_SUCCESS)
		;
	ok(GNI_EpUnbind(a.side.ep));
	for (i = 0; i <= 64; i++)
		expect_number(&b, i);
	channel_end(&a);
	channel_end(&b);
}

/* The peer's errors, and those of who overwrites a mailbox. */
static void test_damaged(void **state)
{
	struct channel a, b;
	u64 seed = 4, word, *mbox;
	gni_return_t rc;
	void *msg;
	u32 i;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	mbox = (u64 *)((char *)b.attr.msg_buffer + b.attr.mbox_offset);
	for (i = 0; i < 10000; i++) {
		word = unit_edge(&seed);
		mbox[KGNI_SMSG_SLOTS_OFFSET / 8] = word;
		rc = GNI_SmsgGetNext(b.side.ep, &msg);
		if (rc == GNI_RC_SUCCESS)
			assert_int_equal((u32)word, KGNI_SMSG_VALID);
		else if (word)
			assert_int_equal(rc, GNI_RC_INVALID_STATE);
		else
			assert_int_equal(rc, GNI_RC_NOT_DONE);
	}
	mbox[0] = 1;	/* consumed what was never sent */
	assert_int_equal(send_number(&b, 1), GNI_RC_NOT_DONE);
	mbox[0] = ~0ULL;
	assert_int_equal(send_number(&b, 1), GNI_RC_NOT_DONE);
	channel_end(&a);
	channel_end(&b);
}

/* A channel from an endpoint to itself. */
static void test_self(void **state)
{
	struct channel a;
	gni_cq_entry_t e;
	u32 i;

	(void)state;
	channel(&a, 2, 64);
	ok(GNI_SmsgInit(a.side.ep, &a.attr, &a.attr));
	for (i = 0; i < 100; i++) {
		ok(send_number(&a, i));
		ok(GNI_CqGetEvent(a.side.cq, &e));
		expect_number(&a, i);
	}
	channel_end(&a);
}

static void test_no_cq(void **state)
{
	struct channel a, b;
	gni_ep_handle_t ep;
	u32 i;

	(void)state;
	channel(&a, 2, 64);
	channel(&b, 2, 64);
	ok(GNI_EpCreate(a.side.nic, NULL, &ep));
	ok(GNI_EpBind(ep, 1, 2));
	ok(GNI_SmsgInit(ep, &a.attr, &b.attr));
	ok(GNI_SmsgInit(b.side.ep, &b.attr, &a.attr));
	for (i = 0; i < 100; i++) {
		ok(GNI_SmsgSend(ep, &i, sizeof(i), NULL, 0, i));
		expect_number(&b, i);
	}
	ok(GNI_EpUnbind(ep));
	channel_end(&a);
	channel_end(&b);
}

/* Two threads a side: one sends, one receives; each checks the order. */
#define MESSAGES	5000

static void *sender(void *arg)
{
	struct channel *c = arg;
	gni_cq_entry_t e;
	u32 i = 0;

	while (i < MESSAGES) {
		if (send_number(c, i) == GNI_RC_SUCCESS)
			i++;
		else
			sched_yield();
		while (GNI_CqGetEvent(c->side.cq, &e) == GNI_RC_SUCCESS)
			;
	}
	return NULL;
}

static void *receiver(void *arg)
{
	struct channel *c = arg;
	void *msg;
	u32 i = 0;

	while (i < MESSAGES) {
		if (GNI_SmsgGetNext(c->side.ep, &msg) == GNI_RC_NOT_DONE) {
			sched_yield();
			continue;
		}
		assert_int_equal(*(u32 *)msg, i);
		ok(GNI_SmsgRelease(c->side.ep));
		i++;
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct channel a, b;
	pthread_t thread[4];
	int i;

	(void)state;
	connect_pair(&a, &b, 7, 64);
	pthread_create(&thread[0], NULL, sender, &a);
	pthread_create(&thread[1], NULL, sender, &b);
	pthread_create(&thread[2], NULL, receiver, &a);
	pthread_create(&thread[3], NULL, receiver, &b);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	channel_end(&a);
	channel_end(&b);
}

/* --- ways that fail --------------------------------------------------------------------- */

static u64 link_seed;
static u32 link_percent;
static u32 link_puts;

static int bad_link(const struct kgni_ioc_post *arg)
{
	link_puts += !!arg->src_cq;
	if (unit_below(&link_seed, 100) >= link_percent)
		return 0;
	return unit_below(&link_seed, 2) ? FAKE_LOST : FAKE_ACK_LOST;
}

static int dead_link(const struct kgni_ioc_post *arg)
{
	link_puts += !!arg->src_cq;
	return FAKE_LOST;
}

static void break_link(int (*link)(const struct kgni_ioc_post *arg), u32 percent)
{
	fake.in_link = link;
	link_percent = percent;
	link_seed = percent;
	link_puts = 0;
}

static u32 nic_stat(struct channel *c, gni_statistic_t stat)
{
	u32 value;

	ok(GNI_GetNicStat(c->side.nic, stat, &value));
	return value;
}

/* Take what events there are; each is of the next message. */
static void drain_sent(struct channel *c, u32 *events)
{
	gni_cq_entry_t e;
	gni_return_t rc;

	while ((rc = GNI_CqGetEvent(c->side.cq, &e)) != GNI_RC_NOT_DONE) {
		assert_int_equal(rc, GNI_RC_SUCCESS);
		assert_true(GNI_CQ_STATUS_OK(e));
		(*events)++;
	}
}

/*
 * All arrive once and in order, each is told of once, and what the receiver
 * makes of a message in place stays, though the sender may believe it lost.
 */
static void lossy(u16 credits, u32 percent)
{
	u32 sent = 0, got = 0, events = 0;
	struct channel a, b;
	char text[MAXSIZE];
	char *msg;

	connect_pair(&a, &b, credits, MAXSIZE);
	ok(GNI_SmsgSetMaxRetrans(a.side.nic, 1000));
	ok(GNI_SmsgSetMaxRetrans(b.side.nic, 1000));
	break_link(bad_link, percent);
	while (got < 5000) {
		memset(text, (int)(sent % 255), sizeof(text));
		while (sent < 5000 && GNI_SmsgSend(a.side.ep, &sent, sizeof(sent), text,
						   1 + sent % 500, sent) == GNI_RC_SUCCESS)
			memset(text, (int)(++sent % 255), sizeof(text));
		if (sent % 3)
			drain_sent(&a, &events);
		while (GNI_SmsgGetNext(b.side.ep, (void **)&msg) == GNI_RC_SUCCESS) {
			assert_int_equal(*(u32 *)msg, got);
			assert_int_equal(msg[4], (char)(got % 255));
			assert_int_equal(msg[4 + got % 500], (char)(got % 255));
			memset(msg, 0x77, 5 + got % 500);
			drain_sent(&a, &events);
			assert_int_equal(msg[0], 0x77);
			assert_int_equal(msg[4 + got % 500], 0x77);
			ok(GNI_SmsgRelease(b.side.ep));
			got++;
		}
		drain_sent(&a, &events);
	}
	drain_sent(&a, &events);
	assert_int_equal(events, 5000);
	assert_int_equal(GNI_SmsgGetNext(b.side.ep, (void **)&msg), GNI_RC_NOT_DONE);
	assert_int_equal(link_puts, 5000 + nic_stat(&a, GNI_STAT_SMSG_RETRANS_COUNT));
	assert_true(!percent == (link_puts == 5000));
	ok(GNI_EpUnbind(a.side.ep));
	fake.in_link = NULL;
	channel_end(&a);
	channel_end(&b);
}

static void test_lossy(void **state)
{
	(void)state;
	lossy(1, 20);
	lossy(2, 50);
	lossy(7, 20);
	lossy(60, 10);
	lossy(7, 0);
}

static int fail_how, fail_which;

/* One put fails, counted from 0: of messages only, or of credits only. */
static int fail_message(const struct kgni_ioc_post *arg)
{
	return arg->src_cq && link_puts++ == (u32)fail_which ? fail_how : 0;
}

static int fail_credits(const struct kgni_ioc_post *arg)
{
	return arg->type == GNI_POST_FMA_PUT_W_SYNCFLAG && !arg->src_cq &&
	       link_puts++ < (u32)fail_which ? fail_how : 0;
}

static u32 count_events(struct channel *c)
{
	gni_cq_entry_t e;
	u32 n = 0;

	while (GNI_CqGetEvent(c->rx_cq, &e) == GNI_RC_SUCCESS)
		n++;
	return n;
}

/* A receiver may take one message for each event: there is one when it can. */
static void test_announced(void **state)
{
	struct channel a, b;
	u32 i, events = 0;
	void *msg;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	break_link(fail_message, 0);
	fail_how = FAKE_LOST;
	fail_which = 0;
	for (i = 0; i < 4; i++)
		ok(send_number(&a, i));
	assert_int_equal(count_events(&b), 3);
	assert_int_equal(GNI_SmsgGetNext(b.side.ep, &msg), GNI_RC_NOT_DONE);
	drain_sent(&a, &events);
	assert_int_equal(events, 4);
	assert_int_equal(count_events(&b), 4);
	for (i = 0; i < 4; i++)
		expect_number(&b, i);
	channel_end(&a);
	channel_end(&b);
}

/* The receiver took the message, and its slot has the next one by now. */
static void test_slot_reused(void **state)
{
	struct channel a, b;
	u32 events = 0;

	(void)state;
	connect_pair(&a, &b, 1, 64);
	break_link(fail_message, 0);
	fail_how = FAKE_ACK_LOST;
	fail_which = 0;
	ok(send_number(&a, 0));
	expect_number(&b, 0);
	ok(send_number(&a, 1));
	drain_sent(&a, &events);
	assert_int_equal(events, 2);
	assert_int_equal(link_puts, 2);
	expect_number(&b, 1);
	channel_end(&a);
	channel_end(&b);
}

/* A sender gets its credits though the receiver does nothing more. */
static void test_credits_lost(void **state)
{
	const int how[] = { FAKE_LOST, FAKE_ACK_LOST };
	struct channel a, b;
	u32 i, k, events = 0;
	void *msg;

	(void)state;
	for (k = 0; k < 2; k++) {
		connect_pair(&a, &b, 2, 64);
		ok(GNI_SmsgSetMaxRetrans(b.side.nic, 5));
		fail_how = how[k];
		fail_which = 5;
		ok(send_number(&a, 0));
		expect_number(&b, 0);
		break_link(fail_credits, 0);
		ok(send_number(&a, 1));
		expect_number(&b, 1);
		assert_int_equal(link_puts, 6);
		for (i = 2; i < 4; i++)
			ok(send_number(&a, i));
		/* Too often: then with whatever the receiver does next. */
		fail_which = 6;
		expect_number(&b, 2);
		link_puts = 0;
		expect_number(&b, 3);
		assert_int_equal(link_puts, 6);
		fake.in_link = NULL;
		assert_int_equal(GNI_SmsgGetNext(b.side.ep, &msg), GNI_RC_NOT_DONE);
		for (i = 4; i < 6; i++)
			ok(send_number(&a, i));
		drain_sent(&a, &events);
		channel_end(&a);
		channel_end(&b);
	}
	assert_int_equal(events, 12);
}

/* Their events find no room: one message is not there, the others are. */
static void test_events_lost(void **state)
{
	struct channel a, b;
	u32 i, events = 0;
	gni_cq_entry_t e;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	break_link(fail_message, 0);
	fail_how = FAKE_LOST;
	fail_which = 1;
	while (fake_push(a.side.cq->id, kgni_cqe_remote(1, 1, 0)))
		;
	for (i = 0; i < 3; i++)
		ok(send_number(&a, i));
	assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_ERROR_RESOURCE);
	while (GNI_CqGetEvent(a.side.cq, &e) == GNI_RC_SUCCESS)
		assert_int_equal(GNI_CQ_GET_SOURCE(e), KGNI_CQE_REMOTE);
	/* Put once more, which has an event. */
	assert_int_equal(link_puts, 4);
	drain_sent(&a, &events);
	assert_int_equal(events, 1);
	assert_int_equal(link_puts, 4);
	for (i = 0; i < 3; i++)
		expect_number(&b, i);
	ok(GNI_EpUnbind(a.side.ep));
	channel_end(&a);
	channel_end(&b);
}

/* Given up after so many tries, and told with the message's own event. */
static void test_given_up(void **state)
{
	const u16 tries[] = { 0, 1, 10 };
	struct channel a, b;
	gni_cq_entry_t e;
	char text[256];
	u32 i, flag;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		connect_pair(&a, &b, 4, 64);
		ok(GNI_SmsgSetMaxRetrans(a.side.nic, tries[i]));
		break_link(dead_link, 0);
		ok(send_number(&a, 0xabcdef00 + i));
		assert_int_equal(GNI_EpUnbind(a.side.ep), GNI_RC_NOT_DONE);
		assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_TRANSACTION_ERROR);
		assert_int_equal(GNI_CQ_GET_MSG_ID(e), 0xabcdef00 + i);
		assert_int_equal(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_SMSG);
		ok(GNI_CqErrorRecoverable(e, &flag));
		assert_int_equal(flag, 1);
		ok(GNI_CqErrorStr(e, text, sizeof(text)));
		assert_string_equal(text, "connection to the remote node failed");
		assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_NOT_DONE);
		assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_STALL), tries[i]);
		ok(GNI_EpUnbind(a.side.ep));
		channel_end(&a);
		channel_end(&b);
	}
}

static int lose_puts(const struct kgni_ioc_post *arg)
{
	link_puts += !!arg->src_cq;
	return arg->src_cq ? FAKE_LOST : 0;
}

/* Every put fails: each is tried just as often as was said, all others go. */
static void test_counted(void **state)
{
	struct channel a, b;
	gni_cq_entry_t e;
	u32 i;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	for (i = 1; i < 4; i++) {
		ok(GNI_SmsgSetMaxRetrans(a.side.nic, (u16)i));
		ok(GNI_ResetNicStat(a.side.nic, GNI_STAT_SMSG_RETRANS_COUNT));
		break_link(lose_puts, 0);
		ok(send_number(&a, i));
		assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_TRANSACTION_ERROR);
		assert_int_equal(link_puts, 1 + i);
		assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_COUNT), i);
		assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_STALL), 0);
	}
	/* Other mailboxes do not try again, and no other error is tried again. */
	fake.in_link = NULL;
	fake.post_status = KGNI_ST_MDD_INVALID;
	link_puts = 0;
	ok(send_number(&a, 4));
	assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_TRANSACTION_ERROR);
	assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_COUNT), 3);
	fake.post_status = 0;
	ok(GNI_EpUnbind(a.side.ep));
	ok(GNI_EpBind(a.side.ep, 7, 22));
	a.attr.msg_type = GNI_SMSG_TYPE_MBOX;
	ok(GNI_SmsgInit(a.side.ep, &a.attr, &a.attr));
	break_link(lose_puts, 0);
	ok(send_number(&a, 5));
	assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_TRANSACTION_ERROR);
	assert_int_equal(link_puts, 1);
	channel_end(&a);
	channel_end(&b);
}

static int lose_once(const struct kgni_ioc_post *arg)
{
	link_puts += !!arg->src_cq;
	return link_puts == 1 && arg->src_cq ? FAKE_LOST : 0;
}

static u32 refusals;

static void refuse_again(const struct kgni_ioc_post *arg)
{
	fake.post_answer = link_puts && arg->src_cq && refusals ? -ENOMEM : 0;
	refusals -= !!fake.post_answer;
}

/* The driver has no room for the second try, nor the third. */
static void test_refused_again(void **state)
{
	struct channel a, b;
	gni_cq_entry_t e;

	(void)state;
	connect_pair(&a, &b, 4, 64);
	break_link(lose_once, 0);
	fake.in_post = refuse_again;
	refusals = 2;
	ok(send_number(&a, 1));
	ok(GNI_CqGetEvent(a.side.cq, &e));
	assert_int_equal(refusals, 0);
	assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_COUNT), 3);
	assert_int_equal(nic_stat(&a, GNI_STAT_SMSG_RETRANS_STALL), 2);
	expect_number(&b, 1);
	channel_end(&a);
	channel_end(&b);
}

static u32 handled;

static void count_handled(gni_cq_entry_t *entry, void *context)
{
	assert_ptr_equal(context, &handled);
	assert_true(GNI_CQ_STATUS_OK(*entry));
	handled++;
}

/* Who waits, or has a handler, sees one event a message too. */
static void test_waiters(void **state)
{
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	struct channel a, b;
	gni_cq_entry_t e;
	u32 which, i;

	(void)state;
	channel(&a, 4, 64);
	channel(&b, 4, 64);
	ok(GNI_CqCreate(a.side.nic, 8, 0, GNI_CQ_BLOCKING, count_handled, &handled, &cq));
	ok(GNI_EpCreate(a.side.nic, cq, &ep));
	ok(GNI_EpBind(ep, 7, 22));
	ok(GNI_SmsgInit(ep, &a.attr, &b.attr));
	ok(GNI_SmsgInit(b.side.ep, &b.attr, &a.attr));
	for (i = 0; i < 9; i++) {
		break_link(lose_once, 0);
		ok(GNI_SmsgSend(ep, &i, sizeof(i), NULL, 0, i));
		switch (i % 3) {
		case 0:
			ok(GNI_CqWaitEvent(cq, 1000, &e));
			break;
		case 1:
			ok(GNI_CqVectorWaitEvent(&cq, 1, 1000, &e, &which));
			break;
		default:
			ok(GNI_CqVectorMonitor(&cq, 1, 1000, &which));
			ok(GNI_CqGetEvent(cq, &e));
			break;
		}
		assert_int_equal(GNI_CQ_GET_MSG_ID(e), i);
		assert_int_equal(link_puts, 2);
		assert_int_equal(handled, i + 1);
		expect_number(&b, i);
	}
	channel_end(&a);
	channel_end(&b);
}

/* The endpoint goes, or all of it, while a message might be sent again. */
static void test_gone(void **state)
{
	struct channel a, b;
	gni_cq_entry_t e;
	u32 i;

	(void)state;
	for (i = 0; i < 3; i++) {
		connect_pair(&a, &b, 4, 64);
		break_link(dead_link, 0);
		ok(send_number(&a, 1));
		ok(send_number(&a, 2));
		if (i < 2)
			ok(GNI_EpDestroy(a.side.ep));
		link_puts = 0;
		if (!i) {
			assert_int_equal(GNI_CqGetEvent(a.side.cq, &e), GNI_RC_TRANSACTION_ERROR);
			assert_int_equal(GNI_CQ_GET_MSG_ID(e), 1);
		}
		if (i == 1)
			ok(GNI_CqDestroy(a.side.cq));
		assert_int_equal(link_puts, 0);
		channel_end(&a);
		channel_end(&b);
	}
}

/* RDMA posts on an endpoint that sends and receives, told of on a queue of their own. */
static void *rdma_poster(void *arg)
{
	struct channel *c = arg;
	gni_post_descriptor_t d = { .type = GNI_POST_RDMA_PUT, .length = 8 }, *done;
	gni_cq_entry_t e;
	int i;

	ok(GNI_CqCreate(c->side.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &d.src_cq_hndl));
	d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	for (i = 0; i < 3000; i++) {
		ok(GNI_PostRdma(c->side.ep, &d));
		ok(GNI_CqWaitEvent(d.src_cq_hndl, 60000, &e));
		ok(GNI_GetCompleted(d.src_cq_hndl, e, &done));
		assert_ptr_equal(done, &d);
	}
	ok(GNI_CqDestroy(d.src_cq_hndl));
	return NULL;
}

static void test_rdma_beside(void **state)
{
	struct channel a, b;
	pthread_t thread[6];
	int i;

	(void)state;
	connect_pair(&a, &b, 7, 64);
	pthread_create(&thread[0], NULL, sender, &a);
	pthread_create(&thread[1], NULL, sender, &b);
	pthread_create(&thread[2], NULL, receiver, &a);
	pthread_create(&thread[3], NULL, receiver, &b);
	pthread_create(&thread[4], NULL, rdma_poster, &a);
	pthread_create(&thread[5], NULL, rdma_poster, &b);
	for (i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	ok(GNI_EpUnbind(a.side.ep));
	ok(GNI_EpUnbind(b.side.ep));
	channel_end(&a);
	channel_end(&b);
}

/* Four threads as above, and ways that fail. */
static void test_lossy_threads(void **state)
{
	struct channel a, b;
	pthread_t thread[4];
	int i;

	(void)state;
	connect_pair(&a, &b, 7, 64);
	ok(GNI_SmsgSetMaxRetrans(a.side.nic, 1000));
	ok(GNI_SmsgSetMaxRetrans(b.side.nic, 1000));
	break_link(bad_link, 20);
	pthread_create(&thread[0], NULL, sender, &a);
	pthread_create(&thread[1], NULL, sender, &b);
	pthread_create(&thread[2], NULL, receiver, &a);
	pthread_create(&thread[3], NULL, receiver, &b);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	channel_end(&a);
	channel_end(&b);
}

static void test_settings(void **state)
{
	struct fake_side s;
	u32 value;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_SmsgSetDeliveryMode(s.nic, GNI_DLVMODE_PERFORMANCE));
	ok(GNI_SmsgSetDeliveryMode(s.nic, GNI_DLVMODE_IN_ORDER));
	ok(GNI_SmsgSetDeliveryMode(s.nic, 0x1ff));
	assert_int_equal(GNI_SmsgSetDeliveryMode(s.nic, 0x200), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_SmsgSetDeliveryMode(NULL, 0), GNI_RC_INVALID_PARAM);
	ok(GNI_SmsgSetMaxRetrans(s.nic, 4096));
	assert_int_equal(GNI_SmsgSetMaxRetrans((void *)s.ep, 1), GNI_RC_INVALID_PARAM);
	ok(GNI_GetNicStat(s.nic, GNI_NUM_STATS - 1, &value));
	assert_int_equal(value, 0);
	assert_int_equal(GNI_GetNicStat(s.nic, GNI_NUM_STATS, &value), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetNicStat(s.nic, (gni_statistic_t)-1, &value), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetNicStat(s.nic, 0, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetNicStat(NULL, 0, &value), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_ResetNicStat(s.nic, GNI_NUM_STATS), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_early),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_credit_retry),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_no_cq),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_announced),
		cmocka_unit_test(test_slot_reused),
		cmocka_unit_test(test_credits_lost),
		cmocka_unit_test(test_events_lost),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_refused_again),
		cmocka_unit_test(test_waiters),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_rdma_beside),
		cmocka_unit_test(test_lossy_threads),
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
