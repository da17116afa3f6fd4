// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short messages, from all contexts that clients send in.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kct.h"

#define CREDITS	8
#define MAXSIZE	1024

/* One end of a channel. */
struct end {
	struct kct_client c;
	struct kct_mem mbox;
	gni_ep_handle_t ep;
	gni_smsg_attr_t attr;
};

/* Two ends, and what messages that go one way carry. */
struct channel {
	struct end a;
	struct end b;
	u32 sent;
	u32 received;
	enum kct_context where;
};

static bool end_init(struct end *e, u32 inst, u32 dev, gni_smsg_type_t type, enum kct_kind kind)
{
	unsigned int size = 0;

	e->attr.msg_type = type;
	e->attr.mbox_maxcredit = CREDITS;
	e->attr.msg_maxsize = MAXSIZE;
	if (!kct_ok(gni_smsg_buff_size_needed(&e->attr, &size)) || !kct_eq(size % 64, 0) ||
	    !kct_client_init(&e->c, inst, dev, 0) ||
	    !kct_mem_init(&e->mbox, &e->c, kind, 2 * size, 0, e->c.dst.cq))
		return false;
	e->attr.msg_buffer = e->mbox.at;
	e->attr.mbox_offset = size;
	e->attr.buff_size = size;
	e->attr.mem_hndl = e->mbox.hndl;
	return true;
}

static void end_exit(struct end *e)
{
	/* Bound, and set up. */
	if (e->ep)
		kct_ok(gni_ep_destroy(e->ep));
	kct_mem_exit(&e->mbox);
	kct_client_exit(&e->c);
}

static bool connect(struct end *from, const struct end *to, gni_smsg_attr_t *remote)
{
	from->ep = kct_ep(&from->c, &to->c);
	return from->ep && kct_ok(gni_ep_set_eventdata(from->ep, from->c.inst | 0x50000,
						       from->c.inst | 0x80000000)) &&
	       kct_ok(gni_smsg_init(from->ep, &from->attr, remote));
}

static struct channel *channel_new(u32 dev, gni_smsg_type_t type)
{
	struct channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);

	if (kct_true(ch) && end_init(&ch->a, 1, 0, type, KCT_VMALLOC) &&
	    end_init(&ch->b, 2, dev, type, KCT_SLAB) &&
	    connect(&ch->a, &ch->b, &ch->b.attr) && connect(&ch->b, &ch->a, &ch->a.attr))
		return ch;
	return NULL;
}

static void channel_free(struct channel *ch)
{
	end_exit(&ch->a);
	end_exit(&ch->b);
	kfree(ch);
}

/* Message @n: a header that says so, and data that follows from it. */
static u32 data_length(u32 n)
{
	return n * 37 % (MAXSIZE - 8);
}

static gni_return_t send(struct end *e, u32 n, void *data)
{
	u64 header = n;

	memset(data, n, data_length(n));
	return gni_smsg_send(e->ep, &header, sizeof(header), data, data_length(n), n | 0xabc00000);
}

static bool is_message(const u64 *msg, u32 n)
{
	return msg[0] == n && !memchr_inv(msg + 1, n & 0xff, data_length(n));
}

/* Its event: the id, and the endpoint's local event. */
static void check_sent(struct end *e, u32 n)
{
	gni_cq_entry_t event = 0;

	kct_ok(gni_cq_get_event(e->c.src.cq, &event));
	kct_eq(GNI_CQ_GET_TYPE(event), GNI_CQ_EVENT_TYPE_SMSG);
	kct_eq(GNI_CQ_GET_MSG_ID(event), n | 0xabc00000);
	kct_eq(GNI_CQ_GET_INST_ID(event), e->c.inst | 0x50000);
}

static void send_here(void *arg)
{
	struct channel *ch = arg;
	static u8 data[MAXSIZE];

	kct_ok(send(&ch->a, ch->sent, data));
	check_sent(&ch->a, ch->sent);
	ch->sent++;
}

static void receive_here(void *arg)
{
	struct channel *ch = arg;
	void *msg = NULL, *again = NULL;
	gni_cq_entry_t event = 0;

	kct_ok(gni_cq_get_event(ch->b.c.dst.cq, &event));
	kct_eq(GNI_CQ_GET_REM_INST_ID(event), ch->a.c.inst | 0x80000000);
	kct_ok(gni_smsg_getnext(ch->b.ep, &msg));
	/* The same one until it is released; 8-byte aligned. */
	kct_ok(gni_smsg_getnext(ch->b.ep, &again));
	kct_true(msg == again && !((uintptr_t)msg % 8));
	kct_true(is_message(msg, ch->received));
	kct_ok(gni_smsg_release(ch->b.ep));
	kct_eq(gni_smsg_release(ch->b.ep), GNI_RC_NOT_DONE);
	kct_eq(gni_smsg_getnext(ch->b.ep, &msg), GNI_RC_NOT_DONE);
	ch->received++;
}

/* Forget events of credits that come back. */
static void drain(struct kct_cq *q)
{
	gni_cq_entry_t event;

	while (gni_cq_get_event(q->cq, &event) == GNI_RC_SUCCESS)
		;
}

static void contexts(void)
{
	struct channel *ch;
	u32 dev;
	int i;

	for (dev = 0; dev < 2; dev++) {
		ch = channel_new(dev, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT);
		if (!ch)
			return;
		for (i = 0; i < 10 * CREDITS; i++) {
			kct_run_in(i % KCT_CONTEXTS, send_here, ch);
			kct_run_in(i / 4 % KCT_CONTEXTS, receive_here, ch);
			drain(&ch->a.c.dst);
		}
		channel_free(ch);
	}
}

/* Without credits there is no message, and no event; credits tell when they are back. */
static void credits(void)
{
	struct channel *ch = channel_new(1, GNI_SMSG_TYPE_MBOX);
	static u8 data[MAXSIZE];
	gni_cq_entry_t event;
	void *msg;
	u32 i;

	if (!ch)
		return;
	for (i = 0; i < CREDITS; i++)
		send_here(ch);
	kct_eq(send(&ch->a, i, data), GNI_RC_NOT_DONE);
	kct_eq(gni_cq_get_event(ch->a.c.src.cq, &event), GNI_RC_NOT_DONE);
	kct_eq(gni_cq_get_event(ch->a.c.dst.cq, &event), GNI_RC_NOT_DONE);
	for (i = 0; i < CREDITS / 2; i++) {
		kct_ok(gni_smsg_getnext(ch->b.ep, &msg));
		kct_true(is_message(msg, i));
		kct_ok(gni_smsg_release(ch->b.ep));
	}
	kct_ok(kct_next_event(&ch->a.c.dst, &event));
	kct_eq(gni_smsg_getnext(ch->a.ep, &msg), GNI_RC_NOT_DONE);
	kct_ok(send(&ch->a, CREDITS, data));
	channel_free(ch);
}

/* One instance that sends to itself, as a client does whose peer is its own node. */
static void to_itself(void)
{
	struct channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);
	gni_ep_handle_t other;
	gni_smsg_attr_t attr;
	static u8 data[MAXSIZE];
	void *msg;
	u32 i;

	if (!kct_true(ch) || !end_init(&ch->a, 1, 0, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT,
				       KCT_VMALLOC))
		return;
	attr = ch->a.attr;
	attr.mbox_offset = 0;
	other = kct_ep(&ch->a.c, &ch->a.c);
	if (connect(&ch->a, &ch->a, &attr) && kct_ok(gni_smsg_init(other, &attr, &ch->a.attr))) {
		for (i = 0; i < 5 * CREDITS; i++) {
			kct_ok(send(&ch->a, i, data));
			check_sent(&ch->a, i);
			if (!kct_ok(gni_smsg_getnext(other, &msg)))
				break;
			kct_true(is_message(msg, i));
			kct_ok(gni_smsg_release(other));
			drain(&ch->a.c.dst);
		}
	}
	kct_ok(gni_ep_destroy(other));
	end_exit(&ch->a);
	kfree(ch);
}

/* A peer may send before we are set up: the mailbox is not cleared. */
static void early(void)
{
	struct channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);
	void *msg;

	if (!kct_true(ch) || !end_init(&ch->a, 1, 0, GNI_SMSG_TYPE_MBOX, KCT_VMALLOC) ||
	    !end_init(&ch->b, 2, 0, GNI_SMSG_TYPE_MBOX, KCT_VMALLOC) ||
	    !connect(&ch->a, &ch->b, &ch->b.attr))
		return;
	send_here(ch);
	if (connect(&ch->b, &ch->a, &ch->a.attr)) {
		kct_ok(gni_smsg_getnext(ch->b.ep, &msg));
		kct_true(is_message(msg, 0));
	}
	channel_free(ch);
}

static void refusals(void)
{
	struct channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);
	static u8 data[MAXSIZE + 1];
	gni_smsg_attr_t other;
	unsigned int size;
	void *msg;

	if (!kct_true(ch) || !end_init(&ch->a, 1, 0, GNI_SMSG_TYPE_MBOX, KCT_SLAB) ||
	    !end_init(&ch->b, 2, 0, GNI_SMSG_TYPE_MBOX, KCT_SLAB))
		return;
	other = ch->b.attr;
	kct_ok(gni_ep_create(ch->a.c.nic, ch->a.c.src.cq, &ch->a.ep));
	kct_eq(gni_smsg_init(ch->a.ep, &ch->a.attr, &other), GNI_RC_INVALID_STATE);
	kct_ok(gni_ep_bind(ch->a.ep, ch->b.c.pe, ch->b.c.inst));
	kct_eq(gni_smsg_send(ch->a.ep, data, 1, NULL, 0, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_getnext(ch->a.ep, &msg), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_release(ch->a.ep), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_init(NULL, &ch->a.attr, &other), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_init(ch->a.ep, NULL, &other), GNI_RC_INVALID_PARAM);
	other.msg_maxsize--;
	kct_eq(gni_smsg_init(ch->a.ep, &ch->a.attr, &other), GNI_RC_INVALID_PARAM);
	other = ch->b.attr;
	other.mbox_maxcredit--;
	kct_eq(gni_smsg_init(ch->a.ep, &ch->a.attr, &other), GNI_RC_INVALID_PARAM);
	other = ch->b.attr;
	/* Outside of its region. */
	ch->a.attr.mbox_offset += 64;
	kct_eq(gni_smsg_init(ch->a.ep, &ch->a.attr, &other), GNI_RC_INVALID_PARAM);
	ch->a.attr.mbox_offset -= 64;
	/* More than is needed is no mistake. */
	other.buff_size += 100;
	kct_ok(gni_smsg_init(ch->a.ep, &ch->a.attr, &other));
	kct_eq(gni_smsg_init(ch->a.ep, &ch->a.attr, &other), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_send(ch->a.ep, data, 1, data, MAXSIZE, 0), GNI_RC_ERROR_RESOURCE);
	kct_eq(gni_smsg_send(ch->a.ep, NULL, 1, data, 0, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_send(ch->a.ep, data, 0, NULL, 1, 0), GNI_RC_INVALID_PARAM);
	kct_ok(gni_smsg_send(ch->a.ep, NULL, 0, NULL, 0, 0));
	kct_eq(gni_smsg_buff_size_needed(NULL, &size), GNI_RC_INVALID_PARAM);
	other.msg_type = GNI_SMSG_TYPE_INVALID;
	kct_eq(gni_smsg_buff_size_needed(&other, &size), GNI_RC_INVALID_PARAM);
	kct_ok(gni_smsg_set_delivery_mode(ch->a.c.nic, GNI_DLVMODE_NO_ADAPT));
	kct_eq(gni_smsg_set_delivery_mode(ch->a.c.nic, 0x8000), GNI_RC_INVALID_PARAM);
	kct_eq(gni_smsg_set_delivery_mode(NULL, 0), GNI_RC_INVALID_PARAM);
	kct_ok(gni_smsg_set_max_retrans(ch->a.c.nic, 4096));
	kct_eq(gni_smsg_set_max_retrans(NULL, 1), GNI_RC_INVALID_PARAM);
	channel_free(ch);
}

/* A mailbox that a peer has written nonsense to. */
static void damaged(void)
{
	struct channel *ch = channel_new(0, GNI_SMSG_TYPE_MBOX);
	void *msg;

	if (!ch)
		return;
	memset(ch->b.mbox.at, 0xff, ch->b.mbox.size);
	kct_eq(gni_smsg_getnext(ch->b.ep, &msg), GNI_RC_INVALID_STATE);
	kct_eq(gni_smsg_send(ch->b.ep, NULL, 0, NULL, 0, 0), GNI_RC_NOT_DONE);
	channel_free(ch);
}

/* --- a stream, each side by events alone ------------------------------------------------- */

#define STREAM	5000

struct stream {
	struct channel *ch;
	struct completion done;
	bool failed;
};

static int stream_send(void *arg)
{
	struct stream *s = arg;
	struct end *e = &s->ch->a;
	u8 *data = kzalloc(MAXSIZE, GFP_KERNEL);
	gni_cq_entry_t event;
	u32 n;

	for (n = 0; data && n < STREAM && !s->failed; n++) {
		/* Woken by credits, or by the room that its own events make. */
		s->failed = !wait_event_timeout(e->c.dst.wq,
						send(e, n, data) == GNI_RC_SUCCESS, KCT_SOON);
		while (gni_cq_get_event(e->c.src.cq, &event) == GNI_RC_SUCCESS)
			;
		while (gni_cq_get_event(e->c.dst.cq, &event) == GNI_RC_SUCCESS)
			;
	}
	s->failed |= !data;
	kfree(data);
	complete(&s->done);
	return 0;
}

/* One message for each event, as clients do. */
static void stream(void)
{
	struct stream s = { .ch = channel_new(1, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT) };
	gni_cq_entry_t event;
	void *msg;
	u32 n;

	if (!s.ch)
		return;
	/* Where the way fails: never in vain. */
	kct_ok(gni_smsg_set_max_retrans(s.ch->a.c.nic, 4096));
	init_completion(&s.done);
	if (!kct_true(!IS_ERR(kthread_run(stream_send, &s, "kct_stream"))))
		return;
	for (n = 0; n < STREAM; n++) {
		if (!kct_ok(kct_next_event(&s.ch->b.c.dst, &event)) ||
		    !kct_ok(gni_smsg_getnext(s.ch->b.ep, &msg)) || !kct_true(is_message(msg, n)))
			break;
		kct_ok(gni_smsg_release(s.ch->b.ep));
	}
	kct_true(wait_for_completion_timeout(&s.done, KCT_SOON));
	kct_true(!s.failed);
	channel_free(s.ch);
}

/* --- senders that share a queue ------------------------------------------------------------ */

#define SENDERS		2
#define EACH		20000
#define FEW		2

/*
 * Endpoints with so many credits that nobody has to receive, and so all of them may
 * write to one mailbox, on a queue with hardly any room.
 */
struct crowd {
	struct end a;
	struct end b;
	struct kct_cq q;
	atomic_t next;
	atomic_t left;
	atomic_t seen;
	atomic_t lost;
	struct completion done;
};

static void crowd_drain(struct crowd *w)
{
	gni_cq_entry_t event;
	gni_return_t rc;

	while ((rc = gni_cq_get_event(w->q.cq, &event)) != GNI_RC_NOT_DONE)
		atomic_inc(rc == GNI_RC_SUCCESS ? &w->seen : &w->lost);
}

static int crowd_send(void *arg)
{
	struct crowd *w = arg;
	gni_ep_handle_t ep;
	gni_return_t rc = GNI_RC_SUCCESS;
	u32 n;

	kct_ok(gni_ep_create(w->a.c.nic, w->q.cq, &ep));
	kct_ok(gni_ep_bind(ep, w->b.c.pe, w->b.c.inst));
	kct_ok(gni_smsg_init(ep, &w->a.attr, &w->b.attr));
	for (n = 0; n < EACH && rc == GNI_RC_SUCCESS; n++) {
		while ((rc = gni_smsg_send(ep, NULL, 0, NULL, 0, n)) == GNI_RC_NOT_DONE) {
			crowd_drain(w);
			cond_resched();
		}
	}
	kct_ok(rc);
	kct_ok(gni_ep_destroy(ep));
	if (atomic_dec_and_test(&w->left))
		complete(&w->done);
	return 0;
}

static bool crowd_end(struct end *e, u32 inst)
{
	unsigned int size;

	e->attr.msg_type = GNI_SMSG_TYPE_MBOX;
	e->attr.mbox_maxcredit = EACH;
	e->attr.msg_maxsize = 8;
	if (!kct_ok(gni_smsg_buff_size_needed(&e->attr, &size)) ||
	    !kct_client_init(&e->c, inst, 0, 0) ||
	    !kct_mem_init(&e->mbox, &e->c, KCT_VMALLOC, size, 0, NULL))
		return false;
	e->attr.msg_buffer = e->mbox.at;
	e->attr.buff_size = size;
	e->attr.mem_hndl = e->mbox.hndl;
	return true;
}

static void shared_queue(void)
{
	struct crowd *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int i;

	if (!kct_true(w) || !crowd_end(&w->a, 1) || !crowd_end(&w->b, 2) ||
	    !kct_cq_init(&w->a.c, &w->q, FEW, 0))
		return;
	init_completion(&w->done);
	atomic_set(&w->left, SENDERS);
	for (i = 0; i < SENDERS; i++)
		if (!kct_true(!IS_ERR(kthread_run(crowd_send, w, "kct_crowd"))))
			return;
	kct_true(wait_for_completion_timeout(&w->done, 5 * KCT_SOON));
	crowd_drain(w);
	kct_eq(atomic_read(&w->lost), 0);
	kct_eq(atomic_read(&w->seen), SENDERS * EACH);
	kct_cq_exit(&w->q);
	end_exit(&w->a);
	end_exit(&w->b);
	kfree(w);
}

/* --- ways that fail ------------------------------------------------------------------------ */

/* Send all that credits allow. */
static void fill(struct channel *ch)
{
	int i;

	for (i = 0; i < CREDITS; i++)
		send_here(ch);
}

/* Receive what was sent by fill(), without a look at events. */
static void empty(struct channel *ch)
{
	void *msg;
	int i;

	for (i = 0; i < CREDITS; i++) {
		kct_ok(gni_smsg_getnext(ch->b.ep, &msg));
		kct_true(is_message(msg, ch->received++));
		kct_ok(gni_smsg_release(ch->b.ep));
	}
}

/* Credits that a receiver cannot give back when it has done with the last message. */
static void still(void)
{
	struct channel *ch = channel_new(1, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT);
	static u8 data[MAXSIZE];
	gni_cq_entry_t event;

	if (!ch)
		return;
	fill(ch);
	if (kct_command("quiesce", "1 1")) {
		empty(ch);
		kct_eq(gni_cq_get_event(ch->a.c.dst.cq, &event), GNI_RC_NOT_DONE);
		kct_command("quiesce", "1 0");
	}
	kct_ok(kct_next_event(&ch->a.c.dst, &event));
	kct_ok(send(&ch->a, CREDITS, data));
	channel_free(ch);
}

/* Have the next @times things that come this way be lost: puts, or the answers to them. */
static void lose(const char *what, int times)
{
	char file[64], n[16];

	snprintf(file, sizeof(file), "%s/times", what);
	snprintf(n, sizeof(n), "%d", times);
	kct_command(file, n);
	snprintf(file, sizeof(file), "%s/probability", what);
	kct_command(file, times ? "100" : "0");
}

/* What becomes of a message whose put, or answer, is lost @times times; @arrives: once. */
static void lose_one(gni_smsg_type_t type, const char *what, int times, gni_return_t want,
		     bool arrives)
{
	struct channel *ch = channel_new(1, type);
	static u8 data[MAXSIZE];
	gni_cq_entry_t event = 0;
	void *msg;
	int i;

	if (!ch)
		return;
	kct_ok(gni_smsg_set_max_retrans(ch->a.c.nic, 3));
	lose(what, times);
	kct_ok(send(&ch->a, 7, data));
	lose(what, 0);
	kct_eq(gni_cq_get_event(ch->a.c.src.cq, &event), want);
	kct_eq(GNI_CQ_GET_MSG_ID(event), 7 | 0xabc00000);
	kct_eq(GNI_CQ_STATUS_OK(event), want == GNI_RC_SUCCESS);
	kct_eq(gni_cq_get_event(ch->a.c.src.cq, &event), GNI_RC_NOT_DONE);
	if (arrives) {
		kct_ok(gni_cq_get_event(ch->b.c.dst.cq, &event));
		kct_ok(gni_smsg_getnext(ch->b.ep, &msg));
		kct_true(is_message(msg, 7));
		kct_ok(gni_smsg_release(ch->b.ep));
	}
	kct_eq(gni_cq_get_event(ch->b.c.dst.cq, &event), GNI_RC_NOT_DONE);
	kct_eq(gni_smsg_getnext(ch->b.ep, &msg), GNI_RC_NOT_DONE);
	/* It leaves no hole behind which others would wait. */
	for (i = 0; i < 2; i++) {
		send_here(ch);
		receive_here(ch);
	}
	channel_free(ch);
}

static void sent_again(void)
{
	lose_one(GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, "fail_link", 3, GNI_RC_SUCCESS, true);
	lose_one(GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, "fail_link_ack", 3, GNI_RC_SUCCESS, true);
}

static void given_up(void)
{
	lose_one(GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, "fail_link", 4, GNI_RC_TRANSACTION_ERROR,
		 false);
	lose_one(GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, "fail_link_ack", 4, GNI_RC_TRANSACTION_ERROR,
		 true);
}

static void not_sent_again(void)
{
	lose_one(GNI_SMSG_TYPE_MBOX, "fail_link", 1, GNI_RC_TRANSACTION_ERROR, false);
	lose_one(GNI_SMSG_TYPE_MBOX, "fail_link_ack", 1, GNI_RC_TRANSACTION_ERROR, true);
}

/* The credits' way fails more often than it is tried. */
static void lost_credits(void)
{
	struct channel *ch = channel_new(1, GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT);
	gni_cq_entry_t event;

	if (!ch)
		return;
	kct_ok(gni_smsg_set_max_retrans(ch->b.c.nic, 0));
	fill(ch);
	lose("fail_link", -1);
	empty(ch);
	kct_eq(gni_cq_get_event(ch->a.c.dst.cq, &event), GNI_RC_NOT_DONE);
	lose("fail_link", 0);
	kct_ok(kct_next_event(&ch->a.c.dst, &event));
	fill(ch);
	channel_free(ch);
}

/* Of all that goes either way three in ten are lost. */
static void lossy_stream(void)
{
	kct_command("fail_link/times", "-1");
	kct_command("fail_link_ack/times", "-1");
	kct_command("fail_link/probability", "30");
	kct_command("fail_link_ack/probability", "30");
	stream();
	kct_command("fail_link/probability", "0");
	kct_command("fail_link_ack/probability", "0");
}

const struct kct_test kct_lossy_tests[] = {
	{ "messages that are lost, or their answers, are sent again and arrive once", sent_again },
	{ "a message that is lost too often is given up", given_up },
	{ "a message that is not to be sent again is not", not_sent_again },
	{ "credits that are lost come later", lost_credits },
	{ "a stream of messages where three in ten are lost", lossy_stream },
	{ }
};

const struct kct_test kct_smsg_tests[] = {
	{ "messages go in all contexts", contexts },
	{ "messages to oneself", to_itself },
	{ "messages wait for credits", credits },
	{ "a message before its receiver is set up", early },
	{ "messages refuse what cannot be, by codes that clients know", refusals },
	{ "a damaged mailbox", damaged },
	{ "a stream of messages, by events", stream },
	{ "senders that share a queue lose no event", shared_queue },
	{ "credits that had to wait for the end of a quiesce", still },
	{ }
};
