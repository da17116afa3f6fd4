// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short messages. Needs two NICs.
 */
#include <signal.h>

#include "common.h"

#define MBOX	GNI_SMSG_TYPE_MBOX
#define RETRANS	GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT
#define A	0x80000001U
#define B	0x90000002U
/* Where the slots of a mailbox begin (Documentation/abi.rst). */
#define SLOTS	128

/* One end of a channel; its mailbox has a page of its own on either side. */
struct end {
	struct nic n;
	gni_ep_handle_t ep;
	unsigned char *mbox;
	unsigned int size;
	gni_smsg_attr_t attr;
};

static void attr_init(gni_smsg_attr_t *attr, gni_smsg_type_t type, uint16_t credits,
		      uint32_t maxsize)
{
	memset(attr, 0, sizeof(*attr));
	attr->msg_type = type;
	attr->mbox_maxcredit = credits;
	attr->msg_maxsize = maxsize;
}

/* A mailbox that events go to @cq for. */
static void mbox_open(struct end *e, gni_cq_handle_t cq, gni_smsg_type_t type, uint16_t credits,
		      uint32_t maxsize)
{
	attr_init(&e->attr, type, credits, maxsize);
	must_do(GNI_SmsgBufferSizeNeeded(&e->attr, &e->size));
	e->mbox = map_private(e->size + PAGE);
	mem_open(&e->n, e->mbox, e->size + PAGE, cq, 0, &e->attr.mem_hndl);
	e->attr.msg_buffer = e->mbox;
	e->attr.buff_size = e->size;
}

static void end_open(struct end *e, unsigned int device, uint32_t id, gni_smsg_type_t type,
		     uint16_t credits, uint32_t maxsize)
{
	nic_open(&e->n, device, id);
	mbox_open(e, e->n.rx, type, credits, maxsize);
}

static void end_bind(struct end *e, const struct end *to)
{
	e->ep = ep_open(&e->n, to->n.pe, to->n.id);
}

struct link {
	struct end a;
	struct end b;
};

static void link_open(struct link *l, gni_smsg_type_t type, uint16_t credits, uint32_t maxsize)
{
	end_open(&l->a, 0, A, type, credits, maxsize);
	end_open(&l->b, 1, B, type, credits, maxsize);
	end_bind(&l->a, &l->b);
	end_bind(&l->b, &l->a);
	must_do(GNI_SmsgInit(l->a.ep, &l->a.attr, &l->b.attr));
	must_do(GNI_SmsgInit(l->b.ep, &l->b.attr, &l->a.attr));
}

static void link_close(struct link *l)
{
	is_rc(GNI_EpDestroy(l->a.ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(l->b.ep), GNI_RC_SUCCESS);
	nic_close(&l->a.n);
	nic_close(&l->b.n);
}

static gni_return_t send_text(struct end *e, const char *text, uint32_t msg_id)
{
	return GNI_SmsgSend(e->ep, NULL, 0, (void *)text, strlen(text) + 1, msg_id);
}

/* The event of a send. */
static void expect_sent(struct end *e, uint32_t msg_id, gni_return_t rc)
{
	gni_post_descriptor_t *d = (void *)1;
	gni_cq_entry_t ev = 0;

	is_rc(next_event(e->n.tx, &ev), rc);
	is_u64(gni_cq_get_type(ev), GNI_CQ_EVENT_TYPE_SMSG);
	is_u64(gni_cq_get_msg_id(ev), msg_id);
	is_u64(gni_cq_get_inst_id(ev), msg_id & 0xffffff);
	is_u64(!GNI_CQ_STATUS_OK(ev), rc != GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(e->n.tx, ev, &d), GNI_RC_DESCRIPTOR_ERROR, "there is no descriptor");
	ok(!d);
}

static void expect_arrival(struct end *e, uint32_t value)
{
	gni_cq_entry_t ev = 0;

	is_rc(next_event(e->n.rx, &ev), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_rem_inst_id(ev), value);
	is_u64(gni_cq_get_inst_id(ev), value & 0xffffff);
	ok(GNI_CQ_STATUS_OK(ev));
}

static void expect_text(struct end *e, const char *text)
{
	void *msg = NULL;

	if (is_rc(GNI_SmsgGetNext(e->ep, &msg), GNI_RC_SUCCESS, "%s", text)) {
		ok(!strcmp(msg, text), "got '%.40s', not '%s'", (char *)msg, text);
		is_u64((uintptr_t)msg % 8, 0);
		is_rc(GNI_SmsgRelease(e->ep), GNI_RC_SUCCESS);
	}
}

static void expect_nothing(struct end *e)
{
	void *msg;

	is_rc(GNI_SmsgGetNext(e->ep, &msg), GNI_RC_NOT_DONE);
	is_rc(GNI_SmsgRelease(e->ep), GNI_RC_NOT_DONE);
}

/* --- set-up -------------------------------------------------------------------- */

static void test_size(void)
{
	static const struct {
		gni_smsg_type_t type;
		uint16_t credits;
		uint32_t maxsize;
		gni_return_t rc;
	} t[] = {
		{ MBOX, 1, 1, GNI_RC_SUCCESS }, { RETRANS, 128, 16384, GNI_RC_SUCCESS },
		{ MBOX, 8, GNI_SMSG_MAX_SIZE, GNI_RC_SUCCESS },
		{ RETRANS, 65535, 100, GNI_RC_SUCCESS },
		{ 0, 8, 64, GNI_RC_INVALID_PARAM }, { 3, 8, 64, GNI_RC_INVALID_PARAM },
		{ -1, 8, 64, GNI_RC_INVALID_PARAM }, { MBOX, 0, 64, GNI_RC_INVALID_PARAM },
		{ MBOX, 8, 0, GNI_RC_INVALID_PARAM }, { MBOX, 8, 65536, GNI_RC_INVALID_PARAM },
		{ MBOX, 8, ~0U, GNI_RC_INVALID_PARAM },
	};
	gni_smsg_attr_t attr;
	unsigned int i, size;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		attr_init(&attr, t[i].type, t[i].credits, t[i].maxsize);
		/* What needn't be defined. */
		attr.msg_buffer = (void *)0x1234;
		attr.buff_size = 77;
		attr.mbox_offset = 77;
		size = 0;
		is_rc(GNI_SmsgBufferSizeNeeded(&attr, &size), t[i].rc, "%u", i);
		if (t[i].rc == GNI_RC_SUCCESS)
			ok(size >= t[i].credits * t[i].maxsize && !(size % 64), "%u: %u", i, size);
	}
	attr_init(&attr, MBOX, 8, 64);
	is_rc(GNI_SmsgBufferSizeNeeded(NULL, &size), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgBufferSizeNeeded(&attr, NULL), GNI_RC_INVALID_PARAM);
}

static void test_init(void)
{
	gni_smsg_attr_t other;
	uint8_t tag = GNI_SMSG_ANY_TAG;
	gni_ep_handle_t ep;
	struct link l;
	void *msg;

	link_open(&l, MBOX, 8, 64);
	must_do(GNI_EpCreate(l.a.n.h, l.a.n.tx, &ep));
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr), GNI_RC_INVALID_STATE, "not bound");
	must_do(GNI_EpBind(ep, l.b.n.pe, B));
	is_rc(GNI_SmsgInit(NULL, &l.a.attr, &l.b.attr), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgInit(ep, NULL, &l.b.attr), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgInit(ep, &l.a.attr, NULL), GNI_RC_INVALID_PARAM);
	/* Nothing goes before it is set up. */
	is_rc(GNI_SmsgSend(ep, "x", 1, NULL, 0, 1), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgSendWTag(ep, "x", 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgGetNext(ep, &msg), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgGetNextWTag(ep, &msg, &tag), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgRelease(ep), GNI_RC_INVALID_PARAM);
	other = l.b.attr;
	other.msg_type = RETRANS;
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &other), GNI_RC_INVALID_PARAM, "types differ");
	other = l.b.attr;
	other.msg_maxsize++;
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &other), GNI_RC_INVALID_PARAM, "sizes differ");
	other = l.b.attr;
	other.mbox_maxcredit--;
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &other), GNI_RC_INVALID_PARAM, "credits differ");
	other = l.b.attr;
	other.buff_size--;
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &other), GNI_RC_INVALID_PARAM, "too small");
	other = l.a.attr;
	other.buff_size--;
	is_rc(GNI_SmsgInit(ep, &other, &l.b.attr), GNI_RC_INVALID_PARAM, "too small");
	other = l.a.attr;
	other.buff_size += 1000;
	is_rc(GNI_SmsgInit(ep, &other, &l.b.attr), GNI_RC_SUCCESS, "larger is fine");
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr), GNI_RC_INVALID_PARAM, "twice");
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(ep, "x", 1, NULL, 0, 1), GNI_RC_INVALID_PARAM, "unbound");
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr), GNI_RC_INVALID_STATE);
	must_do(GNI_EpBind(ep, l.b.n.pe, B));
	is_rc(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr), GNI_RC_SUCCESS, "bound anew");
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(ep, "x", 1, NULL, 0, 1), GNI_RC_INVALID_PARAM, "stale");
	/* The arguments of the others. */
	is_rc(GNI_SmsgSend(l.a.ep, NULL, 1, NULL, 0, 1), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgSend(l.a.ep, NULL, 0, NULL, 1, 1), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgGetNext(l.a.ep, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgGetNextWTag(l.a.ep, NULL, &tag), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgGetNextWTag(l.a.ep, &msg, NULL), GNI_RC_INVALID_PARAM);
	is_empty(l.a.n.tx);
	link_close(&l);
}

static void test_settings(void)
{
	struct nic n;

	nic_open(&n, 0, 1);
	is_rc(GNI_SmsgSetMaxRetrans(n.h, 16), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSetMaxRetrans(n.h, 4096), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSetMaxRetrans(NULL, 4096), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgSetDeliveryMode(n.h, GNI_DLVMODE_PERFORMANCE), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSetDeliveryMode(n.h, GNI_DLVMODE_IN_ORDER), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSetDeliveryMode(n.h, GNI_DLVMODE_ADAPTIVE3), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSetDeliveryMode(n.h, 0xf000), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SmsgSetDeliveryMode(NULL, 0), GNI_RC_INVALID_PARAM);
	nic_close(&n);
}

/* --- messages ------------------------------------------------------------------ */

/* A message of @len bytes, the first @head of them as header. */
static void try_message(struct link *l, unsigned char *src, uint32_t head, uint32_t len)
{
	uint32_t msg_id = 0xf0000000 + len;
	void *msg = NULL;

	fill(src, len, len + head);
	if (!is_rc(GNI_SmsgSend(l->a.ep, head ? src : NULL, head, len > head ? src + head : NULL,
				len - head, msg_id), GNI_RC_SUCCESS, "%u+%u", head, len - head))
		return;
	memset(src, 0xdd, len);
	expect_sent(&l->a, msg_id, GNI_RC_SUCCESS);
	expect_arrival(&l->b, A);
	is_rc(GNI_SmsgGetNext(l->b.ep, &msg), GNI_RC_SUCCESS);
	ok(filled(msg, len, len + head), "%u+%u", head, len - head);
	is_u64((uintptr_t)msg % 8, 0);
	/* The mailbox is the receiver's to write until the release. */
	memset(msg, 0xcc, len);
	is_rc(GNI_SmsgRelease(l->b.ep), GNI_RC_SUCCESS);
}

static void try_sizes(gni_smsg_type_t type, uint16_t credits, uint32_t maxsize, uint32_t step)
{
	unsigned char *src = malloc(maxsize + 8);
	struct link l;
	uint32_t len;

	must(src);
	link_open(&l, type, credits, maxsize);
	memset(l.b.mbox + l.b.size, 0x5a, PAGE);
	for (len = 0; len <= maxsize; len += step) {
		try_message(&l, src, 0, len);
		try_message(&l, src, len, len);
		try_message(&l, src, len / 3, len);
	}
	try_message(&l, src, 1, maxsize);
	is_rc(GNI_SmsgSend(l.a.ep, src, 1, src, maxsize, 1), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_SmsgSend(l.a.ep, src, 0, src, maxsize + 1, 1), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_SmsgSend(l.a.ep, src, ~0U, src, 2, 1), GNI_RC_ERROR_RESOURCE, "lengths wrap");
	is_rc(GNI_SmsgSendWTag(l.a.ep, src, 1, src, maxsize, 1, 2), GNI_RC_ERROR_RESOURCE);
	is_empty(l.a.n.tx);
	ok(all_bytes(l.b.mbox + l.b.size, PAGE, 0x5a), "nothing behind the mailbox");
	link_close(&l);
}

static void test_sizes(void)
{
	try_sizes(MBOX, 4, 300, 1);
	try_sizes(RETRANS, 7, 300, 1);
	try_sizes(MBOX, 1, 1, 1);
	try_sizes(RETRANS, 2, 4096, 61);
	try_sizes(MBOX, 3, GNI_SMSG_MAX_SIZE, 6551);
}

static void test_tags(void)
{
	uint8_t tag;
	struct link l;
	void *msg;
	int i;

	link_open(&l, RETRANS, 16, 64);
	for (i = 0; i < 255; i++) {
		must_do(GNI_SmsgSendWTag(l.a.ep, "head", 4, "data", 5, i, i));
		expect_sent(&l.a, i, GNI_RC_SUCCESS);
		tag = i + 1 == GNI_SMSG_ANY_TAG ? 0 : i + 1;
		is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_NO_MATCH);
		is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_NOT_DONE, "it isn't current");
		tag = GNI_SMSG_ANY_TAG;
		is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_SUCCESS);
		is_u64(tag, i);
		is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_SUCCESS, "by its tag");
		is_u64(tag, i);
		ok(!strcmp(msg, "headdata"));
		is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_SUCCESS);
	}
	tag = GNI_SMSG_ANY_TAG;
	is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_NOT_DONE);
	tag = 7;
	is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_NOT_DONE);
	/* Calls with and without tags go together. */
	must_do(GNI_SmsgSendWTag(l.a.ep, "tagged", 7, NULL, 0, 1, 9));
	must_do(GNI_SmsgSend(l.a.ep, "bare", 5, NULL, 0, 1));
	expect_text(&l.b, "tagged");
	tag = GNI_SMSG_ANY_TAG;
	is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_SUCCESS);
	ok(!strcmp(msg, "bare"));
}

static void test_next(void)
{
	void *msg, *again;
	struct link l;

	link_open(&l, MBOX, 4, 64);
	expect_nothing(&l.b);
	must_do(send_text(&l.a, "one", 1));
	must_do(send_text(&l.a, "two", 2));
	must_do(send_text(&l.a, "three", 3));
	is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_NOT_DONE, "before GetNext");
	is_rc(GNI_SmsgGetNext(l.b.ep, &msg), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgGetNext(l.b.ep, &again), GNI_RC_SUCCESS);
	ok(msg == again && !strcmp(msg, "one"), "the same until it is released");
	is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_NOT_DONE);
	expect_text(&l.b, "two");
	must_do(send_text(&l.a, "four", 4));
	expect_text(&l.b, "three");
	expect_text(&l.b, "four");
	expect_nothing(&l.b);
	expect_nothing(&l.a);
}

static void test_events(void)
{
	gni_post_descriptor_t d;
	struct region r;
	struct link l;
	uint32_t i;

	link_open(&l, RETRANS, 8, 64);
	for (i = 0; i < 3; i++) {
		must_do(GNI_EpSetEventData(l.a.ep, 0x100 + i, 0xaabbcc00 + i));
		must_do(send_text(&l.a, "text", 0xffffffff - i));
	}
	must_do(GNI_EpSetEventData(l.a.ep, 0, 0));
	for (i = 0; i < 3; i++) {
		expect_sent(&l.a, 0xffffffff - i, GNI_RC_SUCCESS);
		expect_arrival(&l.b, 0xaabbcc00 + i);
		expect_text(&l.b, "text");
	}
	is_empty(l.a.n.tx);
	is_empty(l.b.n.rx);
	/* Posts and messages on one endpoint and queue. */
	region_open(&l.b.n, map_private(PAGE), PAGE, NULL, 0, &r);
	must_do(GNI_EpSetEventData(l.a.ep, 0x77, 0x88));
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, "abc", NULL, &r, 0, 4);
	must_do(send_text(&l.a, "before", 5));
	must_do(GNI_PostFma(l.a.ep, &d));
	must_do(send_text(&l.a, "after", 6));
	expect_sent(&l.a, 5, GNI_RC_SUCCESS);
	is_rc(complete(l.a.n.tx, &d, NULL), GNI_RC_SUCCESS);
	expect_sent(&l.a, 6, GNI_RC_SUCCESS);
	expect_text(&l.b, "before");
	expect_text(&l.b, "after");
}

/* --- credits ------------------------------------------------------------------- */

static void drain_events(gni_cq_handle_t cq, int count)
{
	gni_cq_entry_t e;

	while (count--)
		is_rc(next_event(cq, &e), GNI_RC_SUCCESS);
}

/* Sends numbered texts until there are no credits left; how many. */
static int send_all(struct end *e, int turn)
{
	char text[32];
	gni_return_t rc;
	int n = 0;

	for (;;) {
		snprintf(text, sizeof(text), "%d of turn %d", n, turn);
		rc = send_text(e, text, n);
		if (rc != GNI_RC_SUCCESS)
			break;
		n++;
	}
	is_rc(rc, GNI_RC_NOT_DONE);
	drain_events(e->n.tx, n);
	return n;
}

static void receive_all(struct end *e, int turn, int count)
{
	char text[32];
	int i;

	for (i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%d of turn %d", i, turn);
		expect_text(e, text);
	}
	expect_nothing(e);
}

static void try_credits(uint16_t credits)
{
	uint32_t stalls = 77;
	gni_cq_entry_t e;
	struct link l;
	int turn, n;

	link_open(&l, credits & 1 ? MBOX : RETRANS, credits, 64);
	for (turn = 0; turn < 5; turn++) {
		n = send_all(&l.a, turn);
		/* Less than half of the credits may still be at the peer. */
		ok(turn ? n > credits / 2 && n <= credits : n == credits,
		   "turn %d: %d sent with %u credits", turn, n, credits);
		is_rc(send_text(&l.a, "one more", 99), GNI_RC_NOT_DONE);
		is_empty(l.a.n.tx);
		is_empty(l.a.n.rx);
		receive_all(&l.b, turn, n);
		drain_events(l.b.n.rx, n);
		is_empty(l.b.n.rx);
		/* The sender hears of it, by the peer's event value. */
		is_rc(next_event(l.a.n.rx, &e), GNI_RC_SUCCESS, "%u credits", credits);
		is_u64(gni_cq_get_rem_inst_id(e), B);
		expect_nothing(&l.a);
		while (GNI_CqGetEvent(l.a.n.rx, &e) == GNI_RC_SUCCESS)
			;
	}
	is_rc(GNI_GetNicStat(l.a.n.h, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls), GNI_RC_SUCCESS);
	is_u64(stalls, 10);
	is_rc(GNI_ResetNicStat(l.a.n.h, GNI_STAT_SMSG_MBOX_CREDITS_STALL), GNI_RC_SUCCESS);
	is_rc(GNI_GetNicStat(l.a.n.h, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls), GNI_RC_SUCCESS);
	is_u64(stalls, 0);
	link_close(&l);
}

static void test_credits(void)
{
	uint16_t credits;

	for (credits = 1; credits <= 9; credits++)
		try_credits(credits);
	try_credits(128);
}

/* Whenever the sender has run out, what is released last at the latest tells it. */
static void test_credits_slowly(void)
{
	uint32_t sent = 0, got = 0, seed = 5;
	gni_cq_entry_t e;
	struct link l;
	void *msg;

	link_open(&l, MBOX, 5, 64);
	while (got < 3000) {
		if (rnd(&seed) & 3) {
			gni_return_t rc = GNI_SmsgSend(l.a.ep, &sent, 4, NULL, 0, sent);

			if (rc == GNI_RC_SUCCESS)
				sent++;
			else
				is_rc(rc, GNI_RC_NOT_DONE);
			ok(rc == GNI_RC_SUCCESS || sent > got, "stalled with nothing out");
		}
		if (rnd(&seed) & 1) {
			gni_return_t rc = GNI_SmsgGetNext(l.b.ep, &msg);

			if (rc == GNI_RC_SUCCESS) {
				is_u64(*(uint32_t *)msg, got);
				got++;
				is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_SUCCESS);
			} else {
				is_u64(sent, got);
			}
		}
		while (GNI_CqGetEvent(l.a.n.tx, &e) == GNI_RC_SUCCESS ||
		       GNI_CqGetEvent(l.b.n.rx, &e) == GNI_RC_SUCCESS ||
		       GNI_CqGetEvent(l.a.n.rx, &e) == GNI_RC_SUCCESS)
			;
	}
}

static void test_both_run_out(void)
{
	int turn, na, nb;
	struct link l;

	link_open(&l, RETRANS, 6, 64);
	for (turn = 0; turn < 20; turn++) {
		na = send_all(&l.a, turn);
		nb = send_all(&l.b, turn);
		ok(na > 3 && nb > 3, "turn %d: %d and %d sent", turn, na, nb);
		receive_all(&l.b, turn, na);
		receive_all(&l.a, turn, nb);
	}
}

/* The source queue's room limits as well: no message is sent whose event would be lost. */
static void test_source_room(void)
{
	gni_cq_handle_t small;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	struct link l;
	int i;

	link_open(&l, MBOX, 16, 64);
	small = cq_open(&l.a.n, 4, GNI_CQ_NOBLOCK);
	must_do(GNI_EpDestroy(l.a.ep));
	must_do(GNI_EpCreate(l.a.n.h, small, &ep));
	must_do(GNI_EpBind(ep, l.b.n.pe, B));
	must_do(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr));
	for (i = 0; i < 4; i++)
		is_rc(GNI_SmsgSend(ep, "x", 2, NULL, 0, i), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(ep, "x", 2, NULL, 0, i), GNI_RC_NOT_DONE);
	is_rc(GNI_CqGetEvent(small, &e), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(ep, "x", 2, NULL, 0, i), GNI_RC_SUCCESS);
	drain_events(small, 4);
	for (i = 0; i < 5; i++)
		expect_text(&l.b, "x");
	expect_nothing(&l.b);
}

static void test_no_source_queue(void)
{
	gni_ep_handle_t ep;
	struct link l;
	int i;

	link_open(&l, MBOX, 4, 64);
	must_do(GNI_EpDestroy(l.a.ep));
	must_do(GNI_EpCreate(l.a.n.h, NULL, &ep));
	must_do(GNI_EpBind(ep, l.b.n.pe, B));
	must_do(GNI_SmsgInit(ep, &l.a.attr, &l.b.attr));
	for (i = 0; i < 10; i++) {
		is_rc(GNI_SmsgSend(ep, "x", 2, NULL, 0, i), GNI_RC_SUCCESS);
		expect_arrival(&l.b, A);
		expect_text(&l.b, "x");
	}
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS);
}

/* --- unusual moments ----------------------------------------------------------- */

static void test_before_init(void)
{
	struct link l;

	end_open(&l.a, 0, A, MBOX, 4, 64);
	end_open(&l.b, 0, B, MBOX, 4, 64);
	end_bind(&l.a, &l.b);
	must_do(GNI_SmsgInit(l.a.ep, &l.a.attr, &l.b.attr));
	must_do(send_text(&l.a, "early", 1));
	must_do(send_text(&l.a, "birds", 2));
	expect_arrival(&l.b, A);
	expect_arrival(&l.b, A);
	end_bind(&l.b, &l.a);
	must_do(GNI_SmsgInit(l.b.ep, &l.b.attr, &l.a.attr));
	expect_text(&l.b, "early");
	expect_text(&l.b, "birds");
	must_do(send_text(&l.b, "answer", 2));
	expect_text(&l.a, "answer");
}

static void test_self(void)
{
	struct end e;
	char text[16];
	int i;

	end_open(&e, 0, A, MBOX, 4, 64);
	end_bind(&e, &e);
	must_do(GNI_SmsgInit(e.ep, &e.attr, &e.attr));
	for (i = 0; i < 50; i++) {
		gni_cq_entry_t ev;

		snprintf(text, sizeof(text), "me %d", i);
		is_rc(send_text(&e, text, i), GNI_RC_SUCCESS, "%d", i);
		expect_sent(&e, i, GNI_RC_SUCCESS);
		expect_arrival(&e, A);
		expect_text(&e, text);
		/* Credits that come back tell, too. */
		while (GNI_CqGetEvent(e.n.rx, &ev) == GNI_RC_SUCCESS)
			;
	}
	expect_nothing(&e);
}

/* Several mailboxes in one region, each at a multiple of the size. */
static void test_many_mailboxes(void)
{
	enum { N = 20 };
	gni_ep_handle_t ep[N], back[N];
	gni_smsg_attr_t la, ra;
	struct region r[2];
	unsigned int size;
	struct nic n[2];
	char text[16];
	void *msg;
	int i, turn;

	attr_init(&la, RETRANS, 3, 20);
	must_do(GNI_SmsgBufferSizeNeeded(&la, &size));
	for (i = 0; i < 2; i++) {
		nic_open(&n[i], 0, i ? B : A);
		region_open(&n[i], map_private(N * size), N * size, n[i].rx, 0, &r[i]);
	}
	la.buff_size = size;
	la.msg_buffer = (void *)r[0].addr;
	la.mem_hndl = r[0].mh;
	ra = la;
	ra.msg_buffer = (void *)r[1].addr;
	ra.mem_hndl = r[1].mh;
	for (i = 0; i < N; i++) {
		la.mbox_offset = i * size;
		ra.mbox_offset = (N - 1 - i) * size;
		ep[i] = ep_open(&n[0], n[1].pe, 1000 + i);
		back[i] = ep_open(&n[1], n[0].pe, 2000 + i);
		must_do(GNI_SmsgInit(ep[i], &la, &ra));
		must_do(GNI_SmsgInit(back[i], &ra, &la));
	}
	for (turn = 0; turn < 10; turn++) {
		for (i = 0; i < N; i++) {
			snprintf(text, sizeof(text), "%d %d", turn, i);
			is_rc(GNI_SmsgSend(ep[i], text, strlen(text) + 1, NULL, 0, i),
			      GNI_RC_SUCCESS);
		}
		for (i = N - 1; i >= 0; i--) {
			snprintf(text, sizeof(text), "%d %d", turn, i);
			must_do(GNI_SmsgGetNext(back[i], &msg));
			ok(!strcmp(msg, text));
			is_rc(GNI_SmsgRelease(back[i]), GNI_RC_SUCCESS);
		}
		drain_events(n[0].tx, N);
	}
}

static void test_unbind(void)
{
	struct link l;

	link_open(&l, MBOX, 8, 64);
	must_do(send_text(&l.a, "x", 1));
	is_rc(GNI_EpUnbind(l.a.ep), GNI_RC_NOT_DONE, "its event is not taken");
	expect_sent(&l.a, 1, GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(l.a.ep), GNI_RC_SUCCESS);
	expect_text(&l.b, "x");
}

static void test_destroy(void)
{
	gni_return_t rc;
	gni_cq_entry_t e;
	struct link l;
	int i;

	link_open(&l, RETRANS, 8, 64);
	for (i = 0; i < 5; i++)
		must_do(send_text(&l.a, "x", i));
	is_rc(GNI_EpDestroy(l.a.ep), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(l.a.n.h, &l.a.attr.mem_hndl), GNI_RC_SUCCESS);
	must(!munmap(l.a.mbox, l.a.size + PAGE));
	for (i = 0; i < 5; i++) {
		rc = GNI_CqGetEvent(l.a.n.tx, &e);
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE, "%s", rc_name(rc));
	}
	is_empty(l.a.n.tx);
	for (i = 0; i < 5; i++)
		expect_text(&l.b, "x");
	/* The peer's credits go nowhere, and that is all. */
	is_rc(send_text(&l.b, "to nobody", 1), GNI_RC_SUCCESS);
	expect_sent(&l.b, 1, GNI_RC_TRANSACTION_ERROR);
}

/* --- errors -------------------------------------------------------------------- */

static void try_lost(gni_smsg_type_t type)
{
	struct link l;
	void *msg;
	int i;

	link_open(&l, type, 8, 64);
	must_do(GNI_MemDeregister(l.b.n.h, &l.b.attr.mem_hndl));
	for (i = 0; i < 3; i++) {
		is_rc(send_text(&l.a, "lost", 0x12345600 + i), GNI_RC_SUCCESS);
		expect_sent(&l.a, 0x12345600 + i, GNI_RC_TRANSACTION_ERROR);
	}
	is_empty(l.b.n.rx);
	is_rc(GNI_SmsgGetNext(l.b.ep, &msg), GNI_RC_NOT_DONE);
	link_close(&l);
}

static void test_lost(void)
{
	try_lost(MBOX);
	try_lost(RETRANS);
}

/* Whatever is in a mailbox, it is a message, nothing, or damage. */
static void test_damaged(void)
{
	uint8_t tag = GNI_SMSG_ANY_TAG;
	uint32_t seed = 99;
	struct link l;
	void *msg;
	int i, j;

	for (i = 0; i < 50; i++) {
		link_open(&l, MBOX, 4, 64);
		/* A valid slot word of a message that can't come next: bit 31 set, number off. */
		*(uint64_t *)(l.b.mbox + SLOTS) = 0x80000000ULL | (2 + i);
		is_rc(GNI_SmsgGetNext(l.b.ep, &msg), GNI_RC_INVALID_STATE, "number %d", i);
		is_rc(GNI_SmsgRelease(l.b.ep), GNI_RC_NOT_DONE);
		*(uint64_t *)(l.b.mbox + SLOTS) = 0x80000000ULL | (uint64_t)(65 + i) << 32;
		is_rc(GNI_SmsgGetNext(l.b.ep, &msg), GNI_RC_INVALID_STATE, "too long");
		for (j = 0; j < (int)l.b.size / 4; j++)
			((uint32_t *)l.b.mbox)[j] = rnd(&seed);
		is_rc(GNI_SmsgGetNext(l.b.ep, &msg), GNI_RC_INVALID_STATE, "noise %d", i);
		is_rc(GNI_SmsgGetNextWTag(l.b.ep, &msg, &tag), GNI_RC_INVALID_STATE, "it stays so");
		ok(send_text(&l.b, "credits are noise", 1) != GNI_RC_SUCCESS);
		link_close(&l);
	}
}

/* Events lost to an overrun: the messages are there. */
static void test_overrun(void)
{
	gni_cq_handle_t small;
	gni_cq_entry_t e = 0;
	struct link l;
	char text[16];
	int i, turn, good;
	gni_return_t rc;

	nic_open(&l.b.n, 1, B);
	small = cq_open(&l.b.n, 4, GNI_CQ_NOBLOCK);
	mbox_open(&l.b, small, MBOX, 64, 64);
	end_open(&l.a, 0, A, MBOX, 64, 64);
	end_bind(&l.a, &l.b);
	end_bind(&l.b, &l.a);
	must_do(GNI_SmsgInit(l.a.ep, &l.a.attr, &l.b.attr));
	must_do(GNI_SmsgInit(l.b.ep, &l.b.attr, &l.a.attr));
	for (turn = 0; turn < 10; turn++) {
		for (i = 0; i < 32; i++) {
			snprintf(text, sizeof(text), "%d %d", turn, i);
			is_rc(send_text(&l.a, text, i), GNI_RC_SUCCESS);
		}
		is_rc(GNI_CqGetEvent(small, &e), GNI_RC_ERROR_RESOURCE);
		ok(gni_cq_overrun(e));
		for (good = 0; (rc = GNI_CqGetEvent(small, &e)) == GNI_RC_SUCCESS; good++)
			;
		is_rc(rc, GNI_RC_NOT_DONE);
		is_u64(good, 4);
		for (i = 0; i < 32; i++) {
			snprintf(text, sizeof(text), "%d %d", turn, i);
			expect_text(&l.b, text);
		}
		drain_events(l.a.n.tx, 32);
		must_do(send_text(&l.a, "as before", 1));
		is_rc(next_event(small, &e), GNI_RC_SUCCESS);
		expect_text(&l.b, "as before");
		drain_events(l.a.n.tx, 1);
	}
}

/* --- two processes ------------------------------------------------------------- */

struct exchange {
	gni_smsg_attr_t attr[2];
	uint32_t pe[2];
};

static gni_cq_handle_t blocking;

/* One end in each process; the events of its mailbox are on a blocking queue. */
static void half_open(struct end *e, int me, unsigned int device, uint16_t credits,
		      uint32_t maxsize, uint32_t entries)
{
	struct exchange *x = (struct exchange *)shm->bytes;

	nic_open(&e->n, device, me ? B : A);
	blocking = cq_open(&e->n, entries, GNI_CQ_BLOCKING);
	mbox_open(e, blocking, RETRANS, credits, maxsize);
	x->attr[me] = e->attr;
	x->pe[me] = e->n.pe;
	give(me);
	take(!me);
	e->ep = ep_open(&e->n, x->pe[!me], me ? A : B);
	must_do(GNI_SmsgInit(e->ep, &e->attr, &x->attr[!me]));
}

/* How many messages there are. */
static uint32_t stream;

#define STREAM_CREDITS	128
#define STREAM_MAX	200

static uint32_t stream_length(uint32_t i)
{
	return 4 + (i * 2654435761U >> 7) % (STREAM_MAX - 3);
}

/* Send; when out of credits sleep until the peer's next event. */
static void stream_send(struct end *e, uint32_t i)
{
	static unsigned char buf[STREAM_MAX];
	uint32_t len = stream_length(i);
	gni_cq_entry_t ev;
	gni_return_t rc;

	memcpy(buf, &i, 4);
	memset(buf + 4, i, len - 4);
	for (;;) {
		rc = GNI_SmsgSendWTag(e->ep, buf, 4, buf + 4, len - 4, i, i % 251);
		if (rc == GNI_RC_SUCCESS)
			break;
		must_rc(rc, GNI_RC_NOT_DONE, "message %u", i);
		rc = GNI_CqWaitEvent(blocking, PATIENCE, &ev);
		must(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "message %u: %s", i,
		     rc_name(rc));
	}
	must_rc(next_event(e->n.tx, &ev), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_msg_id(ev), i);
}

static void stream_check(const unsigned char *msg, uint8_t tag, uint32_t i)
{
	uint32_t len = stream_length(i), number;

	memcpy(&number, msg, 4);
	must(number == i, "message %u in place of %u", number, i);
	is_u64(tag, i % 251, "message %u", i);
	ok(all_bytes(msg + 4, len - 4, i), "message %u", i);
}

static void stream_sender(void *arg)
{
	struct end e;
	uint32_t i;

	half_open(&e, 1, *(unsigned int *)arg, STREAM_CREDITS, STREAM_MAX, 64);
	for (i = 0; i < stream; i++)
		stream_send(&e, i);
	take(2);
}

static void test_stream(unsigned int device, uint32_t count)
{
	gni_cq_entry_t ev;
	gni_return_t rc;
	struct end e;
	uint32_t i = 0;
	uint8_t tag;
	pid_t pid;
	void *msg;

	stream = count;
	pid = peer(stream_sender, &device);
	half_open(&e, 0, 0, STREAM_CREDITS, STREAM_MAX, 64);
	while (i < stream && !failures()) {
		tag = GNI_SMSG_ANY_TAG;
		rc = GNI_SmsgGetNextWTag(e.ep, &msg, &tag);
		if (rc == GNI_RC_SUCCESS) {
			stream_check(msg, tag, i++);
			is_rc(GNI_SmsgRelease(e.ep), GNI_RC_SUCCESS);
			continue;
		}
		must_rc(rc, GNI_RC_NOT_DONE);
		/* An overrun only says that there was more than one event. */
		rc = GNI_CqWaitEvent(blocking, PATIENCE, &ev);
		must(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "after %u: %s", i,
		     rc_name(rc));
	}
	expect_nothing(&e);
	give(2);
	reap(pid);
}

static void test_stream_here(void)
{
	test_stream(0, 100000);
}

static void test_stream_nics(void)
{
	test_stream(1, 20000);
}

#define ECHOES	1000

/* Some clients take one message for each event, and no more. */
static void echoer(void *arg)
{
	unsigned int device = *(unsigned int *)arg;
	gni_cq_entry_t ev;
	struct end e;
	uint32_t i;
	void *msg;

	half_open(&e, 1, device, 8, 64, 1024);
	for (i = 0; i < ECHOES; i++) {
		do {
			must_do(GNI_CqWaitEvent(blocking, PATIENCE, &ev));
			is_u64(gni_cq_get_rem_inst_id(ev), A);
		} while (GNI_SmsgGetNext(e.ep, &msg) == GNI_RC_NOT_DONE);
		is_u64(*(uint32_t *)msg, i);
		must_do(GNI_SmsgSend(e.ep, msg, 4, NULL, 0, i));
		must_do(GNI_SmsgRelease(e.ep));
		must_do(next_event(e.n.tx, &ev));
	}
	take(2);
}

static void test_echo(void)
{
	unsigned int device = 1;
	pid_t pid = peer(echoer, &device);
	gni_cq_entry_t ev;
	struct end e;
	uint32_t i;
	void *msg;

	half_open(&e, 0, 0, 8, 64, 1024);
	for (i = 0; i < ECHOES; i++) {
		must_do(GNI_SmsgSend(e.ep, &i, 4, NULL, 0, i));
		must_do(next_event(e.n.tx, &ev));
		do {
			must_do(GNI_CqWaitEvent(blocking, PATIENCE, &ev));
		} while (GNI_SmsgGetNext(e.ep, &msg) == GNI_RC_NOT_DONE);
		is_u64(*(uint32_t *)msg, i);
		must_do(GNI_SmsgRelease(e.ep));
	}
	give(2);
	reap(pid);
}

#define EVENTS	10000

/* One way there are no credits on this side's queue: events and messages are as many. */
static void event_sender(void *arg)
{
	gni_cq_entry_t ev;
	struct end e;
	uint32_t i;

	(void)arg;
	half_open(&e, 1, 0, 32, 64, 1024);
	for (i = 0; i < EVENTS; i++) {
		while (GNI_SmsgSend(e.ep, &i, 4, NULL, 0, i) == GNI_RC_NOT_DONE)
			must_do(GNI_CqWaitEvent(blocking, PATIENCE, &ev));
		must_do(next_event(e.n.tx, &ev));
	}
	take(2);
}

static void test_event_each(void)
{
	pid_t pid = peer(event_sender, NULL);
	gni_cq_entry_t ev;
	struct end e;
	uint32_t i;
	void *msg;

	half_open(&e, 0, 0, 32, 64, 1024);
	for (i = 0; i < EVENTS; i++) {
		must_do(GNI_CqWaitEvent(blocking, PATIENCE, &ev));
		must_do(GNI_SmsgGetNext(e.ep, &msg));
		is_u64(*(uint32_t *)msg, i);
		must_do(GNI_SmsgRelease(e.ep));
	}
	is_empty(blocking);
	give(2);
	reap(pid);
}

static void dying_sender(void *arg)
{
	gni_cq_entry_t ev;
	struct end e;
	uint32_t i;

	(void)arg;
	half_open(&e, 1, 1, 16, 64, 64);
	for (i = 0; i < 5; i++) {
		must_do(GNI_SmsgSend(e.ep, &i, 4, NULL, 0, i));
		must_do(next_event(e.n.tx, &ev));
	}
	give(2);
	raise(SIGKILL);
}

/* What a peer sent before it died is there; sends to it fail. */
static void test_peer_dies(void)
{
	pid_t pid = peer(dying_sender, NULL);
	struct end e;
	uint32_t i;
	void *msg;

	half_open(&e, 0, 0, 16, 64, 64);
	take(2);
	reap_killed(pid);
	for (i = 0; i < 5; i++) {
		must_do(GNI_SmsgGetNext(e.ep, &msg));
		is_u64(*(uint32_t *)msg, i);
		is_rc(GNI_SmsgRelease(e.ep), GNI_RC_SUCCESS);
	}
	expect_nothing(&e);
	is_rc(send_text(&e, "too late", 7), GNI_RC_SUCCESS);
	expect_sent(&e, 7, GNI_RC_TRANSACTION_ERROR);
}

static const struct test tests[] = {
	CASE("size of a mailbox", test_size),
	CASE("set-up and arguments", test_init),
	CASE("settings", test_settings),
	CASE("all sizes, both types", test_sizes),
	CASE("tags", test_tags),
	CASE("GetNext and Release", test_next),
	CASE("events", test_events),
	CASE("credits", test_credits),
	CASE("credits, at random", test_credits_slowly),
	CASE("credits run out on both sides", test_both_run_out),
	CASE("room in the source queue", test_source_room),
	CASE("no source queue", test_no_source_queue),
	CASE("messages before the peer is set up", test_before_init),
	CASE("with oneself", test_self),
	CASE("many mailboxes in a region", test_many_mailboxes),
	CASE("unbind", test_unbind),
	CASE("endpoint destroyed", test_destroy),
	CASE("mailbox gone", test_lost),
	CASE("damaged mailbox", test_damaged),
	CASE("overrun", test_overrun),
	CASE("100000 messages, two processes", test_stream_here, 60),
	CASE("20000 messages, two NICs", test_stream_nics, 60),
	CASE("ping-pong, two NICs", test_echo),
	CASE("an event for each message", test_event_each),
	CASE("peer dies", test_peer_dies),
};

int main(void)
{
	return RUN_TESTS(tests);
}
