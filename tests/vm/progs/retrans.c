// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways between NICs that fail: short messages that are sent again, and posts
 * that are not. Needs two NICs, debugfs, and a kernel with fault injection.
 */
#include "common.h"

#define MBOX	GNI_SMSG_TYPE_MBOX
#define RETRANS	GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT
#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define MAXSIZE	600
#define IDS	100

/* --- messages ------------------------------------------------------------------- */

/* One end of a channel, as its peer in another process is told of it. */
struct end {
	struct nic n;
	gni_cq_handle_t cq[2];		/* source and target events, both blocking */
	gni_ep_handle_t ep;
	gni_smsg_attr_t attr;
	uint32_t sent, events, got;
};

static void end_open(struct end *e, uint32_t device, gni_smsg_type_t type, uint16_t credits)
{
	size_t len;

	memset(e, 0, sizeof(*e));
	nic_open(&e->n, device, IDS + device);
	e->cq[0] = cq_open(&e->n, 256, GNI_CQ_BLOCKING);
	e->cq[1] = cq_open(&e->n, 1024, GNI_CQ_BLOCKING);
	must_do(GNI_EpCreate(e->n.h, e->cq[0], &e->ep));
	e->attr.msg_type = type;
	e->attr.mbox_maxcredit = credits;
	e->attr.msg_maxsize = MAXSIZE;
	must_do(GNI_SmsgBufferSizeNeeded(&e->attr, &e->attr.buff_size));
	len = (e->attr.buff_size + PAGE - 1) & ~(PAGE - 1);
	e->attr.msg_buffer = map_private(len);
	mem_open(&e->n, e->attr.msg_buffer, len, e->cq[1], 0, &e->attr.mem_hndl);
	must_do(GNI_SmsgSetMaxRetrans(e->n.h, 100));
}

static void end_connect(struct end *e, uint32_t pe, gni_smsg_attr_t *remote)
{
	must_do(GNI_EpBind(e->ep, pe, IDS));
	must_do(GNI_SmsgInit(e->ep, &e->attr, remote));
}

static uint32_t stat(struct end *e, gni_statistic_t which)
{
	uint32_t value = 0;

	is_rc(GNI_GetNicStat(e->n.h, which, &value), GNI_RC_SUCCESS);
	return value;
}

static uint32_t size_of(uint32_t n)
{
	return 4 + n * 7919 % (MAXSIZE - 3);
}

static bool send_next(struct end *e)
{
	uint32_t size = size_of(e->sent) - 4;
	unsigned char data[MAXSIZE];
	gni_return_t rc;

	fill(data, size, e->sent);
	rc = GNI_SmsgSend(e->ep, &e->sent, 4, data, size, e->sent);
	if (rc == GNI_RC_SUCCESS)
		e->sent++;
	else
		is_rc(rc, GNI_RC_NOT_DONE);
	return rc == GNI_RC_SUCCESS;
}

/* One message at most: as a receiver that counts on one event for each. */
static void receive_one(struct end *e)
{
	unsigned char *msg;
	gni_return_t rc;

	rc = GNI_SmsgGetNext(e->ep, (void **)&msg);
	if (rc == GNI_RC_NOT_DONE)
		return;
	must_rc(rc, GNI_RC_SUCCESS);
	must(*(uint32_t *)msg == e->got, "message %u", e->got);
	must(filled(msg + 4, size_of(e->got) - 4, e->got), "message %u", e->got);
	/* What is put in place stays until the release, whatever the sender repeats. */
	memset(msg, 0xee, size_of(e->got));
	sched_yield();
	must(all_bytes(msg, size_of(e->got), 0xee), "message %u", e->got);
	must_do(GNI_SmsgRelease(e->ep));
	e->got++;
}

/* To sleep costs more than all the rest, so it looks first. */
static uint32_t next_event_of(struct end *e, gni_cq_entry_t *ev)
{
	uint32_t which;

	for (which = 0; which < 2; which++) {
		gni_return_t rc = GNI_CqGetEvent(e->cq[which], ev);

		if (rc != GNI_RC_NOT_DONE) {
			must_rc(rc, GNI_RC_SUCCESS);
			return which;
		}
	}
	must_rc(GNI_CqVectorWaitEvent(e->cq, 2, PATIENCE, ev, &which), GNI_RC_SUCCESS,
		"sent %u, told of %u, got %u", e->sent, e->events, e->got);
	return which;
}

static void take_event(struct end *e)
{
	gni_cq_entry_t ev = 0;
	uint32_t which = next_event_of(e, &ev);

	if (which == 1) {
		receive_one(e);
		return;
	}
	is_u64(gni_cq_get_type(ev), GNI_CQ_EVENT_TYPE_SMSG);
	ok(GNI_CQ_STATUS_OK(ev));
	e->events++;
}

/*
 * What each side tells the other, by memory that both have. A side that has all
 * it wants goes on until the other has, too: it may have to send again.
 */
struct shared {
	struct {
		gni_smsg_attr_t attr;
		uint32_t pe;
	} side[2];
};

static struct shared *shared;
static uint32_t messages;
static uint16_t credits;

static void side(void *arg)
{
	uint32_t me = *(int *)arg;
	struct end e;

	end_open(&e, me, RETRANS, credits);
	shared->side[me].attr = e.attr;
	shared->side[me].pe = e.n.pe;
	give(me);
	take(!me);
	end_connect(&e, shared->side[!me].pe, &shared->side[!me].attr);
	while (e.sent < messages || e.events < messages || e.got < messages) {
		while (e.sent < messages && send_next(&e))
			;
		take_event(&e);
	}
	shm->word[me] = stat(&e, GNI_STAT_SMSG_RETRANS_COUNT);
	shm->word[2 + me] = stat(&e, GNI_STAT_SMSG_MBOX_CREDITS_STALL);
	is_u64(stat(&e, GNI_STAT_SMSG_RETRANS_DLA_COUNT), 0);
	is_u64(e.events, messages);
	give(2 + me);
	take(2 + !me);
	is_rc(GNI_EpUnbind(e.ep), GNI_RC_SUCCESS);
	/* Nothing came twice. */
	is_u64(e.got, messages);
}

static void both_ways(uint32_t count, uint16_t mbox_credits, int lost, int ack_lost)
{
	pid_t pid[2];
	int i;

	messages = count;
	credits = mbox_credits;
	shared = map_shared(PAGE);
	losses(lost, ack_lost);
	for (i = 0; i < 2; i++)
		pid[i] = peer(side, &i);
	for (i = 0; i < 2; i++)
		reap(pid[i]);
	losses(0, 0);
	for (i = 0; i < 2; i++) {
		diag("%s: of %u messages %u were sent again, %u sends waited for credits",
		     i ? "back" : "there", count, (unsigned int)shm->word[i],
		     (unsigned int)shm->word[2 + i]);
		ok(lost ? shm->word[i] >= count * lost / 200 : !shm->word[i]);
		ok(shm->word[2 + i] > 0);
	}
}

static void test_lost(void)
{
	both_ways(2000, 16, 5, 0);
}

static void test_ack_lost(void)
{
	both_ways(2000, 16, 0, 5);
}

static void test_both_lost(void)
{
	both_ways(10000, 16, 5, 5);
}

static void test_few_credits(void)
{
	both_ways(300, 1, 20, 20);
	both_ways(300, 2, 20, 20);
}

/* Two ends in one process. */
static void pair_open(struct end *a, struct end *b, uint32_t to, gni_smsg_type_t type)
{
	end_open(a, 0, type, 4);
	end_open(b, to, type, 4);
	end_connect(a, b->n.pe, &b->attr);
	end_connect(b, a->n.pe, &a->attr);
}

static void expect_failure(struct end *e, uint32_t msg_id)
{
	gni_cq_entry_t ev = 0;
	uint32_t flag = 0;

	is_rc(next_event(e->cq[0], &ev), GNI_RC_TRANSACTION_ERROR);
	is_u64(gni_cq_get_msg_id(ev), msg_id);
	is_u64(gni_cq_get_type(ev), GNI_CQ_EVENT_TYPE_SMSG);
	ok(!GNI_CQ_STATUS_OK(ev));
	is_rc(GNI_CqErrorRecoverable(ev, &flag), GNI_RC_SUCCESS);
	is_u64(flag, 1);
	is_empty(e->cq[0]);
}

/* Tried as often as the program said, and no oftener. */
static void test_exhausted(void)
{
	const uint16_t tries[] = { 0, 1, 10, 4096 };
	struct end a, b;
	unsigned int i;
	void *msg;

	pair_open(&a, &b, 1, RETRANS);
	losses(100, 0);
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		must_do(GNI_SmsgSetMaxRetrans(a.n.h, tries[i]));
		must_do(GNI_ResetNicStat(a.n.h, GNI_STAT_SMSG_RETRANS_STALL));
		must_do(GNI_SmsgSend(a.ep, "x", 1, NULL, 0, 0xfedc0000 + i));
		expect_failure(&a, 0xfedc0000 + i);
		is_u64(stat(&a, GNI_STAT_SMSG_RETRANS_COUNT) +
		       stat(&a, GNI_STAT_SMSG_RETRANS_STALL), tries[i]);
	}
	losses(0, 0);
	is_rc(GNI_SmsgGetNext(b.ep, &msg), GNI_RC_NOT_DONE);
	is_rc(GNI_EpUnbind(a.ep), GNI_RC_SUCCESS);
}

static void test_plain_mailbox(void)
{
	struct end a, b;
	void *msg;

	pair_open(&a, &b, 1, MBOX);
	losses(0, 100);
	must_do(GNI_SmsgSend(a.ep, "x", 1, NULL, 0, 1));
	expect_failure(&a, 1);
	is_u64(stat(&a, GNI_STAT_SMSG_RETRANS_COUNT), 0);
	is_rc(GNI_SmsgGetNext(b.ep, &msg), GNI_RC_SUCCESS, "only the answer was lost");
	losses(0, 0);
}

/* On one NIC there is no way that could fail. */
static void test_same_nic(void)
{
	struct end a, b;
	void *msg;
	int i;

	pair_open(&a, &b, 0, MBOX);
	losses(100, 100);
	for (i = 0; i < 100; i++) {
		must_do(GNI_SmsgSend(a.ep, &i, 4, NULL, 0, i));
		must_do(next_event(a.cq[0], &(gni_cq_entry_t){ 0 }));
		must_do(GNI_SmsgGetNext(b.ep, &msg));
		is_u64(*(int *)msg, i);
		must_do(GNI_SmsgRelease(b.ep));
	}
	losses(0, 0);
}

/* The queue has no room for the event that tells of the failure: the message arrives still. */
static void test_event_lost(void)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t ev = 0;
	struct end a, b;
	gni_ep_handle_t ep;
	gni_return_t rc;
	void *msg;
	int i;

	pair_open(&a, &b, 1, RETRANS);
	must_do(GNI_EpCreate(a.n.h, a.cq[0], &ep));
	must_do(GNI_EpBind(ep, a.n.pe, IDS));
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	d.remote_mem_hndl = a.attr.mem_hndl;
	d.remote_addr = (uintptr_t)a.attr.msg_buffer;
	d.length = 0;
	for (i = 0; i < 256; i++)
		must_do(GNI_PostFma(ep, &d));
	losses(100, 0);
	must_do(GNI_SmsgSend(a.ep, "x", 1, NULL, 0, 7));
	losses(0, 0);
	is_rc(GNI_CqGetEvent(a.cq[0], &ev), GNI_RC_ERROR_RESOURCE);
	for (i = 0; (rc = GNI_CqGetEvent(a.cq[0], &ev)) == GNI_RC_SUCCESS; i++)
		is_u64(gni_cq_get_type(ev), GNI_CQ_EVENT_TYPE_POST);
	is_u64(i, 256);
	is_rc(rc, GNI_RC_NOT_DONE);
	is_rc(GNI_CqGetEvent(a.cq[0], &ev), GNI_RC_SUCCESS, "it was sent again");
	is_u64(gni_cq_get_msg_id(ev), 7);
	is_rc(GNI_SmsgGetNext(b.ep, &msg), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(a.ep), GNI_RC_SUCCESS);
}

/* The endpoint, or the process, goes while a message is to be sent again. */
static void test_gone(void)
{
	gni_cq_entry_t ev = 0;
	struct end a, b;

	pair_open(&a, &b, 1, RETRANS);
	losses(100, 0);
	must_do(GNI_SmsgSend(a.ep, "x", 1, NULL, 0, 7));
	must_do(GNI_SmsgSend(a.ep, "y", 1, NULL, 0, 8));
	is_rc(GNI_EpUnbind(a.ep), GNI_RC_NOT_DONE);
	is_rc(GNI_EpDestroy(a.ep), GNI_RC_SUCCESS);
	is_rc(GNI_CqGetEvent(a.cq[0], &ev), GNI_RC_TRANSACTION_ERROR);
	is_u64(gni_cq_get_msg_id(ev), 7);
	losses(0, 0);
}

/* --- posts ---------------------------------------------------------------------- */

static void posts(struct target *t, gni_post_type_t type, unsigned char *local,
		  const gni_mem_handle_t *mh)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e;

	desc_init(&d, type, GLOBAL | REMOTE);
	if (type == GNI_POST_AMO) {
		d.amo_cmd = GNI_FMA_ATOMIC_ADD;
		d.first_operand = 5;
	}
	desc_move(&d, local, mh, &t->r, 0, 8);
	memset(t->mem, 0, 16);
	memset(local, 0x11, 16);
	losses(100, 0);
	is_rc(post_wait(t->ep, t->n.tx, &d), GNI_RC_TRANSACTION_ERROR, "type %u", type);
	is_empty(t->n.tx);
	is_rc(target_event(t, &e), GNI_RC_NOT_DONE, "type %u", type);
	ok(all_bytes(t->mem, 16, 0) && all_bytes(local, 16, 0x11), "type %u", type);
	losses(0, 100);
	is_rc(post_wait(t->ep, t->n.tx, &d), GNI_RC_TRANSACTION_ERROR, "type %u", type);
	is_empty(t->n.tx);
	is_rc(target_event(t, &e), GNI_RC_SUCCESS, "type %u", type);
	ok(!all_bytes(t->mem, 8, 0) || all_bytes(local, 8, 0), "type %u", type);
	losses(0, 0);
	is_rc(post_wait(t->ep, t->n.tx, &d), GNI_RC_SUCCESS, "type %u, posted again", type);
	is_rc(target_event(t, &e), GNI_RC_SUCCESS, "type %u", type);
}

/* A lost post had no effect, a lost answer means that it had all of it. */
static void test_posts(void)
{
	static const gni_post_type_t types[] = {
		GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_AMO, GNI_POST_RDMA_PUT,
		GNI_POST_RDMA_GET,
	};
	unsigned char *local = map_private(PAGE);
	gni_mem_handle_t mh;
	struct target t;
	unsigned int i;

	losses(0, 0);
	target_open(&t, OTHER_NIC, PAGE, 0, 0);
	mem_open(&t.n, local, PAGE, NULL, 0, &mh);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		posts(&t, types[i], local, &mh);
	target_close(&t);
}

static const struct test tests[] = {
	CASE("given up", test_exhausted),
	CASE("mailboxes that send nothing again", test_plain_mailbox),
	CASE("on one NIC", test_same_nic),
	CASE("the event is lost, too", test_event_lost),
	CASE("gone", test_gone),
	CASE("posts", test_posts),
	CASE("few credits", test_few_credits, 120),
	CASE("messages lost, both ways", test_lost, 120),
	CASE("answers lost, both ways", test_ack_lost, 120),
	CASE("10000 messages, both lost, both ways", test_both_lost, 240),
};

int main(void)
{
	int rc = RUN_TESTS(tests);

	losses(0, 0);
	return rc;
}
