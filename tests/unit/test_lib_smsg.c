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
	u32 i;

	(void)state;
	connect_pair(&a, &b, 100, 64);
	for (i = 0; i < 64; i++)
		ok(send_number(&a, i));
	assert_int_equal(send_number(&a, i), GNI_RC_NOT_DONE);
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
		mbox[8] = word;
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
		cmocka_unit_test(test_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
