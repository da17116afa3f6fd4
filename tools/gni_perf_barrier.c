// SPDX-License-Identifier: GPL-2.0-only
/* Barriers of all processes, by the collective engine and by short messages. */

#include <stdlib.h>
#include <string.h>
#include "gni_perf.h"

#define CHILDREN	GNI_CE_MAX_CHILDREN
#define EDGES		(2 * PERF_PAIRS + 2 * PERF_CHANNELS)

static uint32_t all(const struct proc *p)
{
	return 2 * p->cfg->pairs;
}

/* --- any ---------------------------------------------------------------------- */

/* Nobody comes out before all have come. */
static int all_came(struct proc *p, uint64_t n)
{
	uint32_t k;

	for (k = 0; k < all(p); k++)
		if (atomic_load(&p->shared->side[k].come) < n)
			return fault_set(&p->fault, ST_FAILED,
					 "%s: number %llu was over before all had come",
					 p->op->name, (unsigned long long)n);
	return ST_OK;
}

static int barrier_begin(struct proc *p, struct phase *ph)
{
	(void)ph;
	atomic_store(&p->me->come, 0);
	return ST_OK;
}

/* The first process says, before it comes to a barrier, whether it is the last. */
static int barrier_run(struct proc *p, struct phase *ph)
{
	uint64_t i, before = ph->sample->start;
	struct side *first = &p->shared->side[0];

	for (i = 0; i < limit_of(first); i++) {
		if (!p->rank && run_last(ph, i, before))
			atomic_store(&first->limit, i + 1);
		if (p->cfg->check)
			atomic_store(&p->me->come, i + 1);
		if (p->op->barrier(p, i) || (p->cfg->check && all_came(p, i + 1)))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

/* --- by the collective engine ------------------------------------------------- */

/**
 * struct tree - what a process has of the tree
 * @post: its part in a barrier
 * @result: where that ends
 * @ce: channels, of the first process: a root, and others below it
 * @channels: how many it takes
 * @edge: endpoints for their neighbours
 * @edges: how many
 */
struct tree {
	gni_post_descriptor_t post;
	gni_ce_result_t *result;
	gni_ce_handle_t ce[PERF_CHANNELS];
	uint32_t channels;
	gni_ep_handle_t edge[EDGES];
	uint32_t edges;
};

/* Lower channels are filled first. Return: the channel of a leaf; @child: its number there. */
static uint32_t place_of(const struct tree *t, uint32_t leaf, uint32_t *child)
{
	uint32_t lower = t->channels - 1;

	if (leaf >= lower * CHILDREN) {
		*child = lower + leaf - lower * CHILDREN;
		return 0;
	}
	*child = leaf / lower;
	return 1 + leaf % lower;
}

static int make_channels(struct proc *p, struct tree *t)
{
	gni_return_t rc;
	uint32_t i;

	for (i = 0; i < t->channels; i++) {
		rc = GNI_CeCreate(p->nic.hndl, &t->ce[i]);
		if (!rc)
			rc = GNI_CeGetId(t->ce[i], &p->me->channel[i]);
		if (rc)
			return call_fault(p, "GNI_CeCreate", rc);
	}
	return ST_OK;
}

static int tree_setup(struct proc *p)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	p->priv = t;
	t->result = (gni_ce_result_t *)in_buf(p);
	t->post = (gni_post_descriptor_t){
		.type = GNI_POST_CE,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)t->result,
		.local_mem_hndl = p->data.mdh,
		.ce_cmd = GNI_FMA_CE_AND,
	};
	/* Each channel but the root takes one place of another. */
	t->channels = (all(p) + CHILDREN - 3) / (CHILDREN - 1);
	if (t->channels > PERF_CHANNELS)
		return fault_set(&p->fault, ST_USAGE,
				 "barrier: %u channels have room for %u processes: --pairs %u",
				 PERF_CHANNELS, PERF_CHANNELS * (CHILDREN - 1) + 1,
				 PERF_CHANNELS * (CHILDREN - 1) / 2);
	return p->rank ? ST_OK : make_channels(p, t);
}

/* An endpoint for one neighbour of a channel. */
static int make_edge(struct proc *p, struct tree *t, const struct side *to, uint32_t ce_id,
		     uint32_t child, gni_ce_child_t type)
{
	gni_ep_handle_t *ep = &t->edge[t->edges];
	gni_return_t rc = GNI_EpCreate(p->nic.hndl, p->tx, ep);

	if (rc)
		return call_fault(p, "GNI_EpCreate", rc);
	t->edges++;
	if (bind_endpoint(p, *ep, to))
		return p->fault.status;
	rc = GNI_EpSetCeAttr(*ep, ce_id, child, type);
	return rc ? call_fault(p, "GNI_EpSetCeAttr", rc) : ST_OK;
}

static int make_leaf_edges(struct proc *p, struct tree *t, uint32_t channel)
{
	uint32_t i, child;

	for (i = 0; i < all(p); i++)
		if (place_of(t, i, &child) == channel &&
		    make_edge(p, t, &p->shared->side[i], (uint32_t)-1, child, GNI_CE_CHILD_PE))
			return p->fault.status;
	return ST_OK;
}

/* Those to its children, then that to the channel above. */
static int configure(struct proc *p, struct tree *t, uint32_t channel)
{
	const uint32_t *id = p->me->channel;
	uint32_t i, first = t->edges, children;
	gni_return_t rc;

	for (i = 1; !channel && i < t->channels; i++)
		if (make_edge(p, t, p->me, id[i], i - 1, GNI_CE_CHILD_VCE))
			return p->fault.status;
	if (make_leaf_edges(p, t, channel))
		return p->fault.status;
	children = t->edges - first;
	if (channel && make_edge(p, t, p->me, id[0], channel - 1, GNI_CE_CHILD_VCE))
		return p->fault.status;
	rc = GNI_CeConfigure(t->ce[channel], &t->edge[first], children,
			     channel ? t->edge[t->edges - 1] : NULL, NULL, 0);
	return rc ? call_fault(p, "GNI_CeConfigure", rc) : ST_OK;
}

static int join_tree(struct proc *p, struct tree *t)
{
	const struct side *root = &p->shared->side[0];
	uint32_t child, channel = place_of(t, p->rank, &child);
	gni_return_t rc = GNI_EpUnbind(p->ep[0]);

	if (rc)
		return call_fault(p, "GNI_EpUnbind", rc);
	if (bind_endpoint(p, p->ep[0], root))
		return p->fault.status;
	rc = GNI_EpSetCeAttr(p->ep[0], root->channel[channel], child, GNI_CE_CHILD_PE);
	return rc ? call_fault(p, "GNI_EpSetCeAttr", rc) : ST_OK;
}

/* All are there; nobody posts before all have come back from here. */
static int tree_connect(struct proc *p)
{
	struct tree *t = p->priv;
	uint32_t i;

	for (i = 0; !p->rank && i < t->channels; i++)
		if (configure(p, t, i))
			return p->fault.status;
	return join_tree(p, t);
}

static int tree_barrier(struct proc *p, uint64_t i)
{
	struct tree *t = p->priv;

	t->post.ce_red_id = i;
	if (post_done(p, &t->post))
		return p->fault.status;
	if (!GNI_CE_RES_STATUS_OK(t->result) || GNI_CE_RES_GET_RED_ID(t->result) != i)
		return fault_set(&p->fault, ST_FAILED,
				 "barrier: the result is not that of number %llu",
				 (unsigned long long)i);
	return ST_OK;
}

static void tree_end(struct proc *p)
{
	struct tree *t = p->priv;
	uint32_t i;

	if (!t)
		return;
	for (i = 0; i < PERF_CHANNELS; i++)
		if (t->ce[i])
			GNI_CeDestroy(t->ce[i]);
	for (i = 0; i < t->edges; i++)
		GNI_EpDestroy(t->edge[i]);
	free(t);
}

/* --- by short messages -------------------------------------------------------- */

/*
 * Dissemination: in round k each process tells the one 2^k after it, and waits for
 * the one 2^k before it. Each round has an endpoint for either.
 */
struct ring {
	gni_ep_handle_t to[PERF_ROUNDS];
	gni_ep_handle_t from[PERF_ROUNDS];
};

static uint32_t ring_rounds(const struct proc *p)
{
	uint32_t k = 0;

	while (1U << k < all(p))
		k++;
	return k;
}

static int ring_setup(struct proc *p)
{
	p->priv = calloc(1, sizeof(struct ring));
	if (!p->priv)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	return make_mboxes(p, 2 * ring_rounds(p));
}

/* Mailbox 2k is for the endpoint to the one after, 2k + 1 for that to the one before. */
static int ring_link(struct proc *p, gni_ep_handle_t *ep, uint32_t rank, uint32_t mine)
{
	const struct side *peer = &p->shared->side[rank % all(p)];
	gni_return_t rc = GNI_EpCreate(p->nic.hndl, p->tx, ep);

	if (rc)
		return call_fault(p, "GNI_EpCreate", rc);
	return bind_endpoint(p, *ep, peer) || open_mbox(p, *ep, mine, peer, mine ^ 1);
}

static int ring_connect(struct proc *p)
{
	struct ring *r = p->priv;
	uint32_t k;

	for (k = 0; k < ring_rounds(p); k++)
		if (ring_link(p, &r->to[k], p->rank + (1U << k), 2 * k) ||
		    ring_link(p, &r->from[k], p->rank + all(p) - (1U << k), 2 * k + 1))
			return p->fault.status;
	return ST_OK;
}

/* Events only tell to look: those of other rounds come between. */
static int ring_wait(struct proc *p, gni_ep_handle_t ep, void **msg)
{
	struct poll w = { 0 };
	gni_cq_entry_t event;
	gni_return_t rc;

	while ((rc = GNI_SmsgGetNext(ep, msg)) == GNI_RC_NOT_DONE) {
		rc = event_wait(p, p->rx, &event);
		if (rc && rc != GNI_RC_NOT_DONE)
			return call_fault(p, "GNI_CqWaitEvent", rc);
		if (rc && !poll_turn(p, &w))
			return poll_fault(p);
	}
	return rc ? call_fault(p, "GNI_SmsgGetNext", rc) : ST_OK;
}

static int ring_message(struct proc *p, gni_ep_handle_t ep, uint64_t i)
{
	gni_return_t rc;
	void *msg;

	if (ring_wait(p, ep, &msg))
		return p->fault.status;
	if (memcmp(msg, &i, sizeof(i)))
		return fault_set(&p->fault, ST_FAILED,
				 "smsg-barrier: a message of another barrier came in number %llu",
				 (unsigned long long)i);
	rc = GNI_SmsgRelease(ep);
	return rc ? call_fault(p, "GNI_SmsgRelease", rc) : ST_OK;
}

static int ring_barrier(struct proc *p, uint64_t i)
{
	struct ring *r = p->priv;
	uint32_t k;

	for (k = 0; k < ring_rounds(p); k++)
		if (smsg_send(p, r->to[k], &i, sizeof(i)) || ring_message(p, r->from[k], i))
			return p->fault.status;
	return drain(p, p->tx) || drain(p, p->rx);
}

static void ring_end(struct proc *p)
{
	struct ring *r = p->priv;
	uint32_t k;

	for (k = 0; r && k < PERF_ROUNDS; k++) {
		if (r->to[k])
			GNI_EpDestroy(r->to[k]);
		if (r->from[k])
			GNI_EpDestroy(r->from[k]);
	}
	free(r);
}

#define BARRIER	.measures = LAT, .all = true, .begin = barrier_begin, .run = barrier_run

const struct op barrier_ops[] = {
	{ .name = "barrier", .what = "barrier of the collective engine", BARRIER,
	  .setup = tree_setup, .connect = tree_connect, .barrier = tree_barrier,
	  .end = tree_end },
	{ .name = "smsg-barrier", .what = "barrier of short messages", BARRIER,
	  .setup = ring_setup, .connect = ring_connect, .barrier = ring_barrier,
	  .end = ring_end },
	{ }
};
