// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams. Probing, testing and cancelling by id is done with a spinlock held,
 * and in softirq context, too.
 */
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kct.h"

#define NOBODY	0x7fffffff

/* Call what may not sleep, where it may not. */
struct atomic_call {
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	u64 id;
	gni_post_state_t state;
	u32 pe;
	u32 inst;
	gni_return_t rc;
};

static void probe_by_id(void *arg)
{
	struct atomic_call *c = arg;

	c->rc = gni_postdata_probe_by_id(c->nic, &c->id);
}

static void test_by_id(void *arg)
{
	struct atomic_call *c = arg;

	c->rc = gni_ep_postdata_test_by_id(c->ep, c->id, &c->state, &c->pe, &c->inst);
}

static void cancel_by_id(void *arg)
{
	struct atomic_call *c = arg;

	c->rc = gni_ep_postdata_cancel_by_id(c->ep, c->id);
}

/* Two clients meet: a wildcard of one, a bound datagram of the other. */
static void meet(struct kct_client *a, struct kct_client *b, enum kct_context where)
{
	struct atomic_call wild = { .nic = a->nic }, bound = { .nic = b->nic };
	u8 out_a[GNI_DATAGRAM_MAXSIZE], out_b[16];

	kct_ok(gni_ep_create(a->nic, NULL, &wild.ep));
	kct_ok(gni_ep_create(b->nic, b->src.cq, &bound.ep));
	kct_ok(gni_ep_bind(bound.ep, a->pe, a->inst));
	kct_run_in(where, probe_by_id, &wild);
	kct_eq(wild.rc, GNI_RC_NO_MATCH);
	kct_ok(gni_ep_postdata_w_id(wild.ep, "wildcard", 9, out_a, sizeof(out_a), 0xfeed));
	wild.id = 0xfeed;
	kct_run_in(where, test_by_id, &wild);
	kct_ok(wild.rc);
	kct_eq(wild.state, GNI_POST_PENDING);
	kct_ok(gni_ep_postdata_w_id(bound.ep, "bound", 6, out_b, sizeof(out_b), ~0ULL - 1));
	wild.id = 0;
	kct_run_in(where, probe_by_id, &wild);
	kct_ok(wild.rc);
	kct_eq(wild.id, 0xfeed);
	/* A probe takes nothing away; a test does, and then it is no match. */
	kct_run_in(where, probe_by_id, &wild);
	kct_ok(wild.rc);
	kct_run_in(where, test_by_id, &wild);
	kct_ok(wild.rc);
	kct_eq(wild.state, GNI_POST_COMPLETED);
	kct_eq(wild.pe, b->pe);
	kct_eq(wild.inst, b->inst);
	kct_true(!strcmp(out_a, "bound"));
	kct_run_in(where, test_by_id, &wild);
	kct_eq(wild.rc, GNI_RC_NO_MATCH);
	kct_run_in(where, probe_by_id, &bound);
	kct_ok(bound.rc);
	kct_eq(bound.id, ~0ULL - 1);
	kct_run_in(where, test_by_id, &bound);
	kct_eq(bound.state, GNI_POST_COMPLETED);
	kct_eq(bound.pe, a->pe);
	kct_eq(bound.inst, a->inst);
	kct_true(!strcmp(out_b, "wildcard"));
	/* The endpoint of a wildcard may become one of posts. */
	kct_ok(gni_ep_bind(wild.ep, b->pe, b->inst));
	kct_ok(gni_ep_destroy(wild.ep));
	kct_ok(gni_ep_destroy(bound.ep));
}

static void contexts(void)
{
	struct kct_client a, b, c;
	int where;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 0x80000002, 0, 0) ||
	    !kct_client_init(&c, 3, 1, 0))
		return;
	for (where = 0; where < KCT_CONTEXTS; where++) {
		meet(&a, &b, where);
		meet(&b, &c, where);
	}
	kct_client_exit(&a);
	kct_client_exit(&b);
	kct_client_exit(&c);
}

/* To itself, as a client whose peer is its own node does. */
static void loopback(void)
{
	struct kct_client a;

	if (!kct_client_init(&a, 1, 0, 0))
		return;
	meet(&a, &a, KCT_PROCESS);
	kct_client_exit(&a);
}

static void cancelled(void)
{
	struct atomic_call c = { 0 }, wild = { 0 };
	struct kct_client a;
	u64 id = 0;
	int where;

	if (!kct_client_init(&a, 1, 0, 0))
		return;
	c.nic = a.nic;
	wild.nic = a.nic;
	for (where = 0; where < KCT_CONTEXTS; where++) {
		kct_ok(gni_ep_create(a.nic, NULL, &c.ep));
		kct_ok(gni_ep_bind(c.ep, a.pe, NOBODY));
		kct_ok(gni_ep_create(a.nic, NULL, &wild.ep));
		c.id = 5;
		kct_run_in(where, cancel_by_id, &c);
		kct_eq(c.rc, GNI_RC_NO_MATCH);
		kct_ok(gni_ep_postdata_w_id(c.ep, NULL, 0, NULL, 0, 5));
		kct_eq(gni_ep_postdata_w_id(c.ep, NULL, 0, NULL, 0, 6), GNI_RC_ERROR_RESOURCE);
		kct_run_in(where, cancel_by_id, &c);
		kct_ok(c.rc);
		c.id = 0;
		kct_run_in(where, probe_by_id, &c);
		kct_ok(c.rc);
		kct_eq(c.id, 5);
		kct_run_in(where, test_by_id, &c);
		kct_ok(c.rc);
		kct_eq(c.state, GNI_POST_TERMINATED);
		/* A wildcard is gone at once. */
		wild.id = 7;
		kct_ok(gni_ep_postdata_w_id(wild.ep, NULL, 0, NULL, 0, 7));
		kct_run_in(where, cancel_by_id, &wild);
		kct_ok(wild.rc);
		kct_run_in(where, test_by_id, &wild);
		kct_eq(wild.rc, GNI_RC_NO_MATCH);
		/* One whose endpoint goes is told of by its id. */
		kct_ok(gni_ep_postdata_w_id(wild.ep, NULL, 0, NULL, 0, 8));
		kct_ok(gni_ep_destroy(wild.ep));
		kct_ok(gni_postdata_probe_wait_by_id(a.nic, -1, &id));
		kct_eq(id, 8);
		kct_eq(gni_postdata_probe_by_id(a.nic, &id), GNI_RC_NO_MATCH);
		kct_ok(gni_ep_destroy(c.ep));
	}
	kct_client_exit(&a);
}

struct waiter {
	gni_nic_handle_t nic;
	u64 id;
	gni_return_t rc;
	struct completion begun;
	struct completion done;
};

static int waiter_fn(void *arg)
{
	struct waiter *w = arg;

	complete(&w->begun);
	w->rc = gni_postdata_probe_wait_by_id(w->nic, -1, &w->id);
	complete(&w->done);
	return 0;
}

static void waits(void)
{
	struct waiter w = { 0 };
	gni_ep_handle_t wild, bound;
	gni_post_state_t state;
	struct kct_client a, b;
	u32 pe, inst;
	u8 out[8];
	u64 id;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 1, 0))
		return;
	kct_eq(gni_postdata_probe_wait_by_id(a.nic, 0, &id), GNI_RC_TIMEOUT);
	kct_eq(gni_postdata_probe_wait_by_id(a.nic, 10, &id), GNI_RC_TIMEOUT);
	kct_eq(gni_postdata_probe_wait_by_id(NULL, 10, &id), GNI_RC_INVALID_PARAM);
	kct_eq(gni_postdata_probe_wait_by_id(a.nic, 10, NULL), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_create(a.nic, NULL, &wild));
	kct_ok(gni_ep_create(b.nic, NULL, &bound));
	kct_ok(gni_ep_bind(bound, a.pe, a.inst));
	w.nic = a.nic;
	init_completion(&w.begun);
	init_completion(&w.done);
	if (!kct_true(!IS_ERR(kthread_run(waiter_fn, &w, "kct_waiter"))))
		return;
	wait_for_completion(&w.begun);
	kct_ok(gni_ep_postdata_w_id(wild, "to", 3, out, sizeof(out), 11));
	kct_ok(gni_ep_postdata(bound, "from", 5, out, sizeof(out)));
	kct_true(wait_for_completion_timeout(&w.done, KCT_SOON));
	kct_ok(w.rc);
	kct_eq(w.id, 11);
	/* Still there, so it comes back at once. */
	kct_ok(gni_postdata_probe_wait_by_id(a.nic, -1, &id));
	kct_ok(gni_ep_postdata_test_by_id(wild, 11, &state, &pe, &inst));
	kct_eq(state, GNI_POST_COMPLETED);
	/* Without an id. */
	kct_ok(gni_postdata_probe(b.nic, &pe, &inst));
	kct_eq(pe, a.pe);
	kct_eq(inst, a.inst);
	kct_eq(gni_ep_postdata_wait(bound, 0, &state, &pe, &inst), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_postdata_wait(bound, -1, &state, &pe, &inst));
	kct_eq(state, GNI_POST_COMPLETED);
	kct_true(!strcmp(out, "to"));
	kct_eq(gni_ep_postdata_wait(bound, 10, &state, &pe, &inst), GNI_RC_NO_MATCH);
	kct_eq(gni_ep_postdata_test(bound, &state, &pe, &inst), GNI_RC_NO_MATCH);
	kct_eq(gni_postdata_probe(b.nic, &pe, &inst), GNI_RC_NO_MATCH);
	kct_ok(gni_ep_postdata(bound, NULL, 0, NULL, 0));
	kct_ok(gni_ep_postdata_test(bound, &state, &pe, &inst));
	kct_eq(state, GNI_POST_PENDING);
	kct_eq(gni_ep_postdata_wait(bound, 10, &state, &pe, &inst), GNI_RC_TIMEOUT);
	kct_ok(gni_ep_postdata_cancel(bound));
	kct_ok(gni_ep_postdata_wait(bound, -1, &state, &pe, &inst));
	kct_eq(state, GNI_POST_TERMINATED);
	kct_eq(gni_ep_postdata_cancel(bound), GNI_RC_NO_MATCH);
	kct_ok(gni_ep_destroy(wild));
	kct_ok(gni_ep_destroy(bound));
	kct_client_exit(&a);
	kct_client_exit(&b);
}

static void refusals(void)
{
	u8 data[GNI_DATAGRAM_MAXSIZE + 1] = { 0 };
	gni_ep_handle_t wild, bound;
	gni_post_state_t state;
	struct kct_client a;
	u32 pe, inst;

	if (!kct_client_init(&a, 1, 0, 0))
		return;
	kct_ok(gni_ep_create(a.nic, NULL, &wild));
	kct_ok(gni_ep_create(a.nic, NULL, &bound));
	kct_ok(gni_ep_bind(bound, a.pe, a.inst));
	kct_eq(gni_ep_postdata_w_id(NULL, data, 1, data, 1, 1), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_w_id(wild, data, sizeof(data), data, 1, 1), GNI_RC_SIZE_ERROR);
	kct_eq(gni_ep_postdata_w_id(wild, data, 1, data, sizeof(data), 1), GNI_RC_SIZE_ERROR);
	kct_eq(gni_ep_postdata_w_id(wild, NULL, 1, data, 1, 1), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_w_id(wild, data, 1, NULL, 1, 1), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_w_id(wild, data, 1, data, 1, -1), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_test_by_id(wild, 1, &state, &pe, &inst), GNI_RC_NO_MATCH);
	kct_eq(gni_ep_postdata_test_by_id(wild, 1, NULL, &pe, &inst), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_test_by_id(NULL, 1, &state, &pe, &inst), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_postdata_cancel_by_id(NULL, 1), GNI_RC_INVALID_PARAM);
	kct_eq(gni_postdata_probe_by_id(NULL, NULL), GNI_RC_INVALID_PARAM);
	/* The peer sends more than there is room for. */
	kct_ok(gni_ep_postdata_w_id(wild, data, 8, data, 8, 1));
	kct_ok(gni_ep_postdata_w_id(bound, data, 9, data, 8, 2));
	kct_eq(gni_ep_postdata_test_by_id(wild, 1, &state, &pe, &inst), GNI_RC_SIZE_ERROR);
	kct_eq(gni_ep_postdata_test_by_id(wild, 1, &state, &pe, &inst), GNI_RC_NO_MATCH);
	kct_ok(gni_ep_postdata_test_by_id(bound, 2, &state, &pe, &inst));
	kct_ok(gni_ep_destroy(wild));
	kct_ok(gni_ep_destroy(bound));
	kct_client_exit(&a);
}

const struct kct_test kct_dgram_tests[] = {
	{ "datagrams meet; asked about in all contexts", contexts },
	{ "datagrams to oneself", loopback },
	{ "datagrams are cancelled in all contexts", cancelled },
	{ "waits for datagrams", waits },
	{ "datagrams refuse what cannot be, by codes that clients know", refusals },
	{ }
};
