// SPDX-License-Identifier: GPL-2.0-only
/*
 * Event handlers: when they are called, and when not any more; overruns; entries.
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kct.h"

/* Who writes events into a queue, and how many. */
struct writer {
	struct kct_client c;
	gni_ep_handle_t ep;
	struct kct_mem target;
	u32 count;
	gni_return_t rc;
	struct task_struct *task;
	struct completion done;
};

static gni_return_t write_event(struct writer *w, u64 value)
{
	gni_post_descriptor_t d = {
		.type = GNI_POST_CQWRITE,
		.remote_mem_hndl = w->target.hndl,
		.cqwrite_value = value,
	};

	return gni_post_fma(w->ep, &d);
}

static int writer_fn(void *arg)
{
	struct writer *w = arg;
	u32 i;

	for (i = 1; i <= w->count && w->rc == GNI_RC_SUCCESS; i++) {
		w->rc = write_event(w, i);
		cond_resched();
	}
	complete(&w->done);
	return 0;
}

/* Another client that is going to write into a queue of @to. */
static bool writer_init(struct writer *w, struct kct_client *to, gni_cq_handle_t cq, u32 count)
{
	memset(w, 0, sizeof(*w));
	w->count = count;
	init_completion(&w->done);
	if (!kct_client_init(&w->c, 100, 1, 0) ||
	    !kct_mem_init(&w->target, to, KCT_SLAB, 64, 0, cq))
		return false;
	w->ep = kct_ep(&w->c, to);
	return w->ep;
}

static void writer_start(struct writer *w)
{
	w->task = kthread_run(writer_fn, w, "kct_writer");
	kct_true(!IS_ERR(w->task));
}

static void writer_exit(struct writer *w)
{
	kct_true(!w->task || wait_for_completion_timeout(&w->done, KCT_SOON));
	kct_ok(w->rc);
	kct_ok(gni_ep_destroy(w->ep));
	kct_mem_exit(&w->target);
	kct_client_exit(&w->c);
}

/*
 * A client that sleeps when it found the queue empty, until its handler is
 * called: it gets every event, in order, or sleeps for ever.
 */
static void never_lost(void)
{
	const u32 count = 20000;
	struct kct_client c;
	struct writer *w = kzalloc(sizeof(*w), GFP_KERNEL);
	gni_return_t rc = GNI_RC_SUCCESS;
	u32 seen = 0, bad = 0;
	struct kct_cq q;
	gni_cq_entry_t e;
	int calls;

	if (!kct_true(w) || !kct_client_init(&c, 1, 0, 0) || !kct_cq_init(&c, &q, count, 0) ||
	    !writer_init(w, &c, q.cq, count))
		return;
	writer_start(w);
	while (seen < count) {
		calls = atomic_read(&q.calls);
		while ((rc = gni_cq_get_event(q.cq, &e)) == GNI_RC_SUCCESS)
			bad += GNI_CQ_GET_DATA(e) != ++seen;
		if (!kct_eq(rc, GNI_RC_NOT_DONE))
			break;
		if (seen < count &&
		    !kct_true(wait_event_timeout(q.wq, atomic_read(&q.calls) != calls, KCT_SOON)))
			break;
	}
	kct_eq(seen, count);
	kct_eq(bad, 0);
	writer_exit(w);
	kct_cq_exit(&q);
	kct_client_exit(&c);
	kfree(w);
}

/* Each of a client's queues tells of every event that it had none before; by its device. */
static void transitions(u32 dev)
{
	struct writer *w = kzalloc(3 * sizeof(*w), GFP_KERNEL);
	struct kct_cq third, *q[3];
	struct kct_client c;
	gni_cq_entry_t e;
	int i, n, calls;

	if (!kct_true(w) || !kct_client_init(&c, 1, dev, 0) || !kct_cq_init(&c, &third, 64, 0))
		return;
	q[0] = &c.src;
	q[1] = &c.dst;
	q[2] = &third;
	for (n = 0; n < 3; n++)
		if (!writer_init(&w[n], &c, q[n]->cq, 0))
			return;
	for (i = 1; i <= 300; i++) {
		n = i % 3;
		calls = atomic_read(&q[n]->calls);
		kct_ok(write_event(&w[n], i));
		if (!kct_true(wait_event_timeout(q[n]->wq, atomic_read(&q[n]->calls) != calls,
						 KCT_SOON)))
			break;
		kct_ok(gni_cq_get_event(q[n]->cq, &e));
		kct_eq(GNI_CQ_GET_DATA(e), i);
		kct_eq(gni_cq_get_event(q[n]->cq, &e), GNI_RC_NOT_DONE);
	}
	for (n = 0; n < 3; n++)
		writer_exit(&w[n]);
	kct_cq_exit(&third);
	kct_client_exit(&c);
	kfree(w);
}

static void three_queues(void)
{
	transitions(0);
	transitions(1);
}

/* With a delay of n the handler is called when more than n events wait. */
static void delayed(void)
{
	struct writer *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct kct_client c;
	struct kct_cq q;
	gni_cq_entry_t e;
	int i, calls;

	if (!kct_true(w) || !kct_client_init(&c, 1, 0, 0) || !kct_cq_init(&c, &q, 64, 3) ||
	    !writer_init(w, &c, q.cq, 0))
		return;
	for (i = 1; i <= 3; i++)
		kct_ok(write_event(w, i));
	kct_eq(atomic_read(&q.calls), 0);
	kct_ok(write_event(w, 4));
	kct_true(wait_event_timeout(q.wq, atomic_read(&q.calls), KCT_SOON));
	for (i = 1; i <= 4; i++)
		kct_ok(gni_cq_get_event(q.cq, &e));
	calls = atomic_read(&q.calls);
	for (i = 1; i <= 3; i++)
		kct_ok(write_event(w, i));
	kct_eq(atomic_read(&q.calls), calls);
	writer_exit(w);
	kct_cq_exit(&q);
	kct_client_exit(&c);
	kfree(w);
}

/* Once gni_cq_destroy() has returned no handler is called, whoever still writes. */
static void destroyed(void)
{
	struct writer *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct kct_client c;
	struct kct_cq q;
	int i;

	if (!kct_true(w) || !kct_client_init(&c, 1, 0, 0))
		return;
	for (i = 0; i < 10; i++) {
		if (!kct_cq_init(&c, &q, 4096, 0) || !writer_init(w, &c, q.cq, 3000))
			break;
		writer_start(w);
		kct_true(wait_event_timeout(q.wq, atomic_read(&q.calls), KCT_SOON));
		kct_cq_exit(&q);
		writer_exit(w);
		kct_eq(atomic_read(&q.wrong), 0);
	}
	kct_client_exit(&c);
	kfree(w);
}

/* Told once, with its bit, before what is left; then the queue goes on. */
static void overrun(void)
{
	struct writer *w = kzalloc(sizeof(*w), GFP_KERNEL);
	struct kct_client c;
	struct kct_cq q;
	gni_cq_entry_t e = 0;
	int i;

	if (!kct_true(w) || !kct_client_init(&c, 1, 0, 0) || !kct_cq_init(&c, &q, 16, 0) ||
	    !writer_init(w, &c, q.cq, 0))
		return;
	for (i = 1; i <= 17; i++)
		kct_ok(write_event(w, i));
	kct_eq(gni_cq_get_event(q.cq, &e), GNI_RC_ERROR_RESOURCE);
	kct_true(GNI_CQ_OVERRUN(e) && e >> 63);
	for (i = 1; i <= 16; i++) {
		kct_ok(gni_cq_get_event(q.cq, &e));
		kct_eq(GNI_CQ_GET_DATA(e), i);
	}
	kct_eq(gni_cq_get_event(q.cq, &e), GNI_RC_NOT_DONE);
	kct_ok(write_event(w, 18));
	kct_ok(kct_next_event(&q, &e));
	kct_eq(GNI_CQ_GET_DATA(e), 18);
	writer_exit(w);
	kct_cq_exit(&q);
	kct_client_exit(&c);
	kfree(w);
}

/* Posts whose events found no room are no longer under way. */
static void lost_requests(void)
{
	static gni_post_descriptor_t d[40];
	gni_post_descriptor_t *done;
	gni_ep_handle_t ep, other;
	struct kct_client c;
	gni_cq_entry_t e;
	struct kct_mem m;
	struct kct_cq q;
	u32 i, n = 0;

	if (!kct_client_init(&c, 1, 0, 0) || !kct_cq_init(&c, &q, 16, 0) ||
	    !kct_mem_init(&m, &c, KCT_SLAB, 64, 0, NULL))
		return;
	kct_ok(gni_ep_create(c.nic, q.cq, &ep));
	kct_ok(gni_ep_bind(ep, c.pe, c.inst));
	kct_ok(gni_ep_create(c.nic, q.cq, &other));
	kct_ok(gni_ep_bind(other, c.pe, c.inst));
	for (i = 0; i < 20; i++) {
		d[i].type = GNI_POST_FMA_PUT;
		d[i].cq_mode = GNI_CQMODE_GLOBAL_EVENT;
		d[i].local_addr = (uintptr_t)m.at;
		d[i].remote_addr = m.addr + 32;
		d[i].remote_mem_hndl = m.hndl;
		d[i].length = 8;
		kct_ok(gni_post_fma(i < 10 ? ep : other, &d[i]));
	}
	kct_eq(gni_cq_get_event(q.cq, &e), GNI_RC_ERROR_RESOURCE);
	while (gni_cq_get_event(q.cq, &e) == GNI_RC_SUCCESS) {
		kct_ok(gni_get_completed(q.cq, e, &done));
		kct_true(done == &d[n]);
		n++;
	}
	kct_eq(n, 16);
	kct_ok(gni_ep_unbind(ep));
	kct_ok(gni_ep_unbind(other));
	kct_ok(gni_ep_destroy(ep));
	kct_ok(gni_ep_destroy(other));
	kct_cq_exit(&q);
	kct_mem_exit(&m);
	kct_client_exit(&c);
}

/* Endpoint and queue go while a worker still moves what was posted. */
static void gone_in_flight(void)
{
	static gni_post_descriptor_t d;
	struct kct_mem local, remote;
	gni_ep_handle_t ep;
	struct kct_client c;
	struct kct_cq q;
	int i;

	if (!kct_client_init(&c, 1, 0, 0) ||
	    !kct_mem_init(&local, &c, KCT_VMALLOC, 256 * PAGE_SIZE, 0, NULL) ||
	    !kct_mem_init(&remote, &c, KCT_VMALLOC, 256 * PAGE_SIZE, 0, NULL))
		return;
	for (i = 0; i < 10; i++) {
		if (!kct_cq_init(&c, &q, 16, 0))
			break;
		kct_ok(gni_ep_create(c.nic, q.cq, &ep));
		kct_ok(gni_ep_bind(ep, c.pe, c.inst));
		d.type = GNI_POST_RDMA_PUT;
		d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
		d.local_addr = local.addr;
		d.local_mem_hndl = local.hndl;
		d.remote_addr = remote.addr;
		d.remote_mem_hndl = remote.hndl;
		d.length = local.size;
		kct_ok(gni_post_rdma(ep, &d));
		kct_ok(gni_ep_destroy(ep));
		kct_cq_exit(&q);
	}
	/* The last one goes with its domain, in whatever state it is. */
	if (kct_cq_init(&c, &q, 16, 0)) {
		kct_ok(gni_ep_create(c.nic, q.cq, &ep));
		kct_ok(gni_ep_bind(ep, c.pe, c.inst));
		kct_ok(gni_post_rdma(ep, &d));
	}
	kct_cq_exit(&c.src);
	kct_cq_exit(&c.dst);
	kct_ok(gni_cdm_destroy(c.cdm));
	vfree(local.at);
	vfree(remote.at);
}

static void words(void)
{
	char text[256];
	gni_cq_entry_t e;
	u32 recoverable;
	int status, known = 0;

	for (status = 0; status < 16; status++) {
		e = (u64)status << 59 | 1ULL << 56;
		kct_ok(gni_cq_error_str(e, text, sizeof(text)));
		kct_true(strlen(text) > 4);
		switch (gni_cq_error_recoverable(e, &recoverable)) {
		case GNI_RC_SUCCESS:
			known++;
			kct_true(recoverable <= 1);
			break;
		case GNI_RC_INVALID_STATE:
			break;
		default:
			kct_true(false);
		}
	}
	kct_true(known > 5 && known < 16);
	/* What a client makes up to inject errors. */
	kct_ok(gni_cq_error_str(1ULL << 48, text, sizeof(text)));
	kct_ok(gni_cq_error_recoverable(1ULL << 48, &recoverable));
	/* Into as much room as it needs, and into less. */
	e = 3ULL << 59 | 1ULL << 56;
	kct_ok(gni_cq_error_str(e, text, sizeof(text)));
	kct_ok(gni_cq_error_str(e, text, strlen(text) + 1));
	kct_eq(gni_cq_error_str(e, text, strlen(text)), GNI_RC_SIZE_ERROR);
	kct_eq(gni_cq_error_str(e, text, 1), GNI_RC_SIZE_ERROR);
	kct_eq(gni_cq_error_str(1ULL << 56, text, 3), GNI_RC_SIZE_ERROR);
	kct_eq(gni_cq_error_str(1ULL << 56, NULL, 3), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cq_error_recoverable(1ULL << 56, NULL), GNI_RC_INVALID_PARAM);
	kct_true(GNI_CQ_OVERRUN(1ULL << 63));
	kct_true(!GNI_CQ_OVERRUN(~(1ULL << 63)));
}

/* What only events of the deadlock avoidance buffers have. */
static void no_buffers(gni_cq_entry_t e)
{
	kct_eq(gni_cq_get_block_id(e), 0);
	kct_eq(gni_cq_get_unsuccessful_cnt(e), 0);
	kct_eq(gni_cq_get_marker_id(e), 0);
	kct_eq(gni_cq_get_failed_enqueue_cnt(e), 0);
}

static void fields(void)
{
	gni_cq_entry_t post = 1ULL << 56, smsg = 1ULL << 56 | 1ULL << 54;

	gni_cq_set_inst_id(&post, 0x123456);
	gni_cq_set_tid(&post, 0x1abcdef);
	kct_eq(gni_cq_get_inst_id(post), 0x123456);
	kct_eq(gni_cq_get_tid(post), 0x1abcdef);
	kct_eq(gni_cq_get_msg_id(post) & 0xffffff, 0x123456);
	kct_eq(gni_cq_get_source(post), 1);
	/* Of a message that was sent: its id, and the endpoint's local event. */
	gni_cq_set_msg_id(&smsg, 0xfedcba98);
	gni_cq_set_inst_id(&smsg, 0x12345);
	kct_eq(gni_cq_get_msg_id(smsg), 0xfedcba98);
	kct_eq(gni_cq_get_inst_id(smsg), 0x12345);
	kct_eq(gni_cq_get_type(smsg), GNI_CQ_EVENT_TYPE_SMSG);
	gni_cq_set_type(&smsg, GNI_CQ_EVENT_TYPE_POST);
	kct_eq(gni_cq_get_type(smsg), GNI_CQ_EVENT_TYPE_POST);
	smsg |= 9ULL << 59;
	kct_eq(gni_cq_get_status(smsg), 9);
	kct_true(gni_cq_rem_overrun(smsg));
	gni_cq_clr_status(&smsg);
	kct_eq(gni_cq_get_status(smsg), 0);
	gni_cq_set_rem_inst_id(&smsg, 0x87654321);
	kct_eq(gni_cq_get_rem_inst_id(smsg), 0x87654321);
	kct_eq(gni_cq_get_data(0xffffffffffffULL), 0xffffffffffffULL);
	kct_eq(gni_cq_get_info(5ULL << 48), 5);
	kct_eq(gni_cq_get_trans_type(7ULL << 48), 7);
	kct_eq(gni_cq_get_ce_id(9ULL << 48), 9);
	kct_eq(gni_cq_get_reductn_id(0xfedcba987654ULL), 0xfedcba987654ULL);
	no_buffers(post);
	no_buffers(smsg);
	no_buffers(~0ULL);
	kct_eq(gni_cq_status_dla_overflow(post), 0);
	kct_eq(gni_cq_bte_enq_status(post), 0);
}

const struct kct_test kct_event_tests[] = {
	{ "a handler is called for every event that nobody saw", never_lost },
	{ "handlers of three queues are called whenever one gets an event, with its device",
	  three_queues },
	{ "a handler is called when enough events wait", delayed },
	{ "no handler is called once its queue is destroyed", destroyed },
	{ "a queue that overran tells so, and goes on", overrun },
	{ "posts whose events were lost are over", lost_requests },
	{ "endpoints, queues and domains go while posts are under way", gone_in_flight },
	{ "errors in words", words },
	{ "fields of events", fields },
	{ }
};
