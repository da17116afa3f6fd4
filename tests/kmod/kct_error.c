// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error events, and quiesce. What a client cannot cause is written to debugfs.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kct.h"

static struct {
	atomic_t events;
	atomic_t critical;
	gni_err_handle_t handle;
	wait_queue_head_t wq;
} heard;

static void on_event(gni_err_handle_t err)
{
	kct_true(in_hardirq());
	heard.handle = err;
	atomic_inc(&heard.events);
	wake_up_all(&heard.wq);
}

static void on_critical(gni_err_handle_t err)
{
	kct_true(in_hardirq());
	heard.handle = err;
	atomic_inc(&heard.critical);
	wake_up_all(&heard.wq);
}

static void heard_reset(void)
{
	atomic_set(&heard.events, 0);
	atomic_set(&heard.critical, 0);
	heard.handle = NULL;
	init_waitqueue_head(&heard.wq);
}

/* A put to a region that is not there. */
static void fail(struct kct_client *c, gni_ep_handle_t ep)
{
	u64 value = 0;
	gni_post_descriptor_t d = {
		.type = GNI_POST_FMA_PUT,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)&value,
		.length = sizeof(value),
	};

	kct_ok(gni_post_fma(ep, &d));
	kct_eq(kct_complete(&c->src, &d), GNI_RC_TRANSACTION_ERROR);
}

static void subscriptions(void)
{
	gni_err_handle_t err = NULL;
	gni_error_event_t event;
	gni_error_mask_t mask = 0;
	struct kct_client c;
	gni_ep_handle_t ep;
	int i;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	heard_reset();
	ep = kct_ep(&c, &c);
	kct_eq(gni_subscribe_errors(NULL, 0xff, 4, NULL, NULL, &err), GNI_RC_INVALID_PARAM);
	kct_eq(gni_subscribe_errors(c.nic, 0xff, 4, NULL, NULL, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_subscribe_errors(c.nic, 0xff, 1 << 30, NULL, NULL, &err),
	       GNI_RC_INVALID_PARAM);
	kct_ok(gni_subscribe_errors(c.nic, GNI_ERRMASK_TRANSACTION, 4, on_event, on_critical,
				    &err));
	kct_eq(gni_get_error_event(err, &event), GNI_RC_NOT_DONE);
	fail(&c, ep);
	kct_true(wait_event_timeout(heard.wq, atomic_read(&heard.events), KCT_SOON));
	kct_true(heard.handle == err);
	kct_ok(gni_get_error_event(err, &event));
	kct_eq(event.error_category, GNI_ERRMASK_TRANSACTION);
	kct_eq(event.ptag, KCT_PTAG);
	kct_eq(gni_get_error_event(err, &event), GNI_RC_NOT_DONE);
	kct_eq(gni_get_error_event(err, NULL), GNI_RC_INVALID_PARAM);
	/* What it does not ask for. */
	kct_ok(gni_get_error_mask(err, &mask));
	kct_eq(mask, GNI_ERRMASK_TRANSACTION);
	kct_ok(gni_set_error_mask(err, GNI_ERRMASK_CRITICAL, &mask));
	kct_eq(mask, GNI_ERRMASK_TRANSACTION);
	fail(&c, ep);
	kct_eq(gni_get_error_event(err, &event), GNI_RC_NOT_DONE);
	kct_ok(gni_set_error_mask(err, GNI_ERRMASK_TRANSACTION, NULL));
	kct_ok(gni_set_error_ptag(err, 77));
	fail(&c, ep);
	kct_eq(gni_get_error_event(err, &event), GNI_RC_NOT_DONE);
	kct_ok(gni_set_error_ptag(err, 0));
	for (i = 0; i < 6; i++)
		fail(&c, ep);
	for (i = 0; i < 4; i++)
		kct_ok(gni_get_error_event(err, &event));
	kct_eq(gni_get_error_event(err, &event), GNI_RC_NOT_DONE);
	kct_eq(atomic_read(&heard.critical), 0);
	kct_ok(gni_release_errors(err));
	kct_eq(gni_release_errors(NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_get_error_mask(NULL, &mask), GNI_RC_INVALID_PARAM);
	kct_eq(gni_set_error_mask(NULL, 0, &mask), GNI_RC_INVALID_PARAM);
	kct_eq(gni_set_error_ptag(NULL, 0), GNI_RC_INVALID_PARAM);
	/* One that its client forgets goes with the domain. */
	kct_ok(gni_subscribe_errors(c.nic, 0xff, 4, on_event, NULL, &err));
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

/* As a client subscribes that wants no queue. */
static void critical(void)
{
	gni_err_handle_t err = NULL;
	struct kct_client c;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	heard_reset();
	kct_ok(gni_subscribe_errors(c.nic, GNI_ERRMASK_CRITICAL | GNI_ERRMASK_UNKNOWN_TRANSACTION,
				    0, NULL, on_critical, &err));
	if (kct_command("inject", "1 101 1"))
		kct_true(wait_event_timeout(heard.wq, atomic_read(&heard.critical), KCT_SOON));
	kct_true(heard.handle == err);
	kct_ok(gni_release_errors(err));
	kct_client_exit(&c);
}

struct waiter {
	gni_err_handle_t err;
	gni_error_event_t events[2];
	u32 count;
	gni_return_t rc;
	struct completion done;
};

static int waiter_fn(void *arg)
{
	struct waiter *w = arg;

	w->rc = gni_wait_error_events(w->err, w->events, 2, 0, &w->count);
	complete(&w->done);
	return 0;
}

static void waits(void)
{
	struct waiter w = { 0 };
	struct kct_client c;
	gni_ep_handle_t ep;
	unsigned long end;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	ep = kct_ep(&c, &c);
	init_completion(&w.done);
	kct_ok(gni_subscribe_errors(c.nic, GNI_ERRMASK_TRANSACTION, 4, NULL, NULL, &w.err));
	kct_eq(gni_wait_error_events(w.err, w.events, 0, 0, &w.count), GNI_RC_INVALID_PARAM);
	kct_eq(gni_wait_error_events(w.err, NULL, 1, 0, &w.count), GNI_RC_INVALID_PARAM);
	kct_eq(gni_wait_error_events(NULL, w.events, 1, 0, &w.count), GNI_RC_INVALID_PARAM);
	if (kct_true(!IS_ERR(kthread_run(waiter_fn, &w, "kct_waiter")))) {
		fail(&c, ep);
		kct_true(wait_for_completion_timeout(&w.done, KCT_SOON));
		kct_ok(w.rc);
		kct_eq(w.count, 1);
		kct_eq(w.events[0].ptag, KCT_PTAG);
	}
	/* Nobody waits any more; soon the driver knows, too. */
	for (end = jiffies + KCT_SOON; time_before(jiffies, end); cond_resched()) {
		w.rc = gni_release_errors(w.err);
		if (w.rc != GNI_RC_NOT_DONE)
			break;
	}
	kct_ok(w.rc);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

static struct {
	gni_nic_handle_t nic;
	atomic_t calls;
	u64 ms;
} quiesced;

static void on_quiesce_end(gni_nic_handle_t nic, u64 ms)
{
	quiesced.nic = nic;
	quiesced.ms = ms;
	kct_true(in_softirq());
	atomic_inc(&quiesced.calls);
}

static void quiesce(void)
{
	gni_post_descriptor_t fma = { .type = GNI_POST_FMA_PUT }, rdma;
	struct kct_client c, far;
	struct kct_mem m;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;

	if (!kct_client_init(&c, 1, 0, 0) || !kct_client_init(&far, 2, 1, 0) ||
	    !kct_mem_init(&m, &c, KCT_SLAB, 64, 0, NULL))
		return;
	memset(&quiesced, 0, sizeof(quiesced));
	ep = kct_ep(&c, &c);
	kct_eq(gni_get_quiesce_status(NULL), 0);
	kct_eq(gni_get_quiesce_status(c.nic), 0);
	kct_eq(gni_set_quiesce_callback(NULL, on_quiesce_end), GNI_RC_INVALID_PARAM);
	kct_ok(gni_set_quiesce_callback(c.nic, on_quiesce_end));
	kct_eq(gni_set_quiesce_callback(c.nic, on_quiesce_end), GNI_RC_INVALID_STATE);
	fma.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	fma.local_addr = (uintptr_t)m.at;
	fma.remote_addr = m.addr + 8;
	fma.remote_mem_hndl = m.hndl;
	fma.length = 8;
	rdma = fma;
	rdma.type = GNI_POST_RDMA_PUT;
	rdma.local_mem_hndl = m.hndl;
	rdma.remote_addr = m.addr + 16;
	*(u64 *)m.at = 0x1234;
	if (kct_command("quiesce", "1 1")) {
		kct_eq(gni_get_quiesce_status(c.nic), 1);
		kct_eq(gni_get_quiesce_status(far.nic), 0);
		kct_eq(gni_post_fma(ep, &fma), GNI_RC_ERROR_RESOURCE);
		kct_ok(gni_post_rdma(ep, &rdma));
		kct_eq(gni_cq_get_event(c.src.cq, &e), GNI_RC_NOT_DONE);
		kct_eq(((u64 *)m.at)[1], 0);
		kct_eq(atomic_read(&quiesced.calls), 0);
		kct_command("quiesce", "1 0");
		kct_eq(gni_get_quiesce_status(c.nic), 0);
		kct_eq(atomic_read(&quiesced.calls), 1);
		kct_true(quiesced.nic == c.nic && quiesced.ms < 600000);
		kct_ok(kct_complete(&c.src, &rdma));
		kct_eq(((u64 *)m.at)[2], 0x1234);
		kct_ok(gni_post_fma(ep, &fma));
		kct_ok(kct_complete(&c.src, &fma));
	}
	/* Nobody to call any more. */
	kct_ok(gni_set_quiesce_callback(c.nic, NULL));
	kct_command("quiesce", "1 1");
	kct_command("quiesce", "1 0");
	kct_eq(atomic_read(&quiesced.calls), 1);
	kct_ok(gni_set_quiesce_callback(c.nic, on_quiesce_end));
	kct_mem_exit(&m);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
	kct_client_exit(&far);
}

/* One of our posts to a device that is gone, or from it. */
static void post_nowhere(struct kct_client *c, gni_ep_handle_t ep, gni_post_descriptor_t *d)
{
	kct_ok(d->type == GNI_POST_RDMA_PUT ? gni_post_rdma(ep, d) : gni_post_fma(ep, d));
	kct_eq(kct_complete(&c->src, d), GNI_RC_TRANSACTION_ERROR);
}

/* What a client does with an attachment to a device that is gone, by codes that it knows. */
static void use_gone(struct kct_client *c, struct kct_client *far, struct kct_mem *m)
{
	gni_ep_handle_t there = kct_ep(c, far), here = kct_ep(far, c);
	gni_post_descriptor_t d = {
		.type = GNI_POST_FMA_PUT,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)m->at,
		.local_mem_hndl = m->hndl,
		.remote_addr = m->addr + 8,
		.remote_mem_hndl = m->hndl,
		.length = 8,
	};
	gni_nic_handle_t nic;
	gni_cdm_handle_t cdm;
	u32 pe;
	u64 id;

	post_nowhere(c, there, &d);
	post_nowhere(far, here, &d);
	d.type = GNI_POST_RDMA_PUT;
	post_nowhere(c, there, &d);
	kct_eq(gni_ep_postdata_w_id(there, NULL, 0, NULL, 0, 1), GNI_RC_ERROR_RESOURCE);
	kct_eq(gni_postdata_probe_by_id(c->nic, &id), GNI_RC_NO_MATCH);
	kct_eq(gni_postdata_probe_wait_by_id(c->nic, 1, &id), GNI_RC_TIMEOUT);
	if (kct_ok(gni_cdm_create(9, KCT_PTAG, KCT_COOKIE, 0, &cdm))) {
		kct_eq(gni_cdm_attach(cdm, 1, &pe, &nic), GNI_RC_NO_MATCH);
		kct_ok(gni_cdm_destroy(cdm));
	}
	kct_ok(gni_ep_destroy(there));
	kct_ok(gni_ep_destroy(here));
}

/* By force, while it stands still: nothing hangs, and another device takes its place. */
static void deleted(void)
{
	struct kct_client c, far;
	struct kct_mem m;

	if (!kct_client_init(&c, 1, 1, 0) || !kct_client_init(&far, 2, 0, 0) ||
	    !kct_mem_init(&m, &c, KCT_SLAB, 64, 0, NULL))
		return;
	memset(&quiesced, 0, sizeof(quiesced));
	kct_ok(gni_set_quiesce_callback(c.nic, on_quiesce_end));
	kct_command("quiesce", "2 1");
	kct_eq(gni_get_quiesce_status(c.nic), 1);
	if (kct_run("gnictl dev del kgni1 force")) {
		kct_eq(gni_get_quiesce_status(c.nic), 0);
		kct_eq(atomic_read(&quiesced.calls), 1);
		use_gone(&c, &far, &m);
	}
	kct_mem_exit(&m);
	kct_client_exit(&c);
	kct_run("gnictl dev add kgni1 >/dev/null");
	if (kct_client_init(&c, 1, 1, 0))
		kct_eq(c.pe, far.pe + 1);
	kct_client_exit(&c);
	kct_client_exit(&far);
}

const struct kct_test kct_error_tests[] = {
	{ "error events are kept and told", subscriptions },
	{ "critical errors are told", critical },
	{ "waits for error events", waits },
	{ "a quiesce loses nothing, and its end is told", quiesce },
	{ "a device is deleted under a client", deleted },
	{ }
};
