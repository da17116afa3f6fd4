// SPDX-License-Identifier: GPL-2.0-only
/* Collective trees: see common_tree.h. */
#include "common_tree.h"

/* --- shapes -------------------------------------------------------------------- */

static unsigned int children_of(const struct tree_chan *c)
{
	unsigned int i, n = 0;

	for (i = 0; i < GNI_CE_MAX_CHILDREN; i++)
		n += c->child[i].used;
	return n;
}

/* Give a channel a child, with a number that it does not have. */
static unsigned int add_child(struct tree_chan *c, bool leaf, unsigned int index, uint32_t *seed)
{
	unsigned int number = rnd(seed) % GNI_CE_MAX_CHILDREN;

	while (c->child[number].used)
		number = (number + 1) % GNI_CE_MAX_CHILDREN;
	c->child[number] = (struct tree_end){ .used = true, .leaf = leaf, .index = index };
	return number;
}

static void add_chan(struct tree *t, int parent, uint32_t *seed)
{
	static const uint32_t round[] = {
		GNI_CE_MODE_ROUND_UP, GNI_CE_MODE_ROUND_DOWN, GNI_CE_MODE_ROUND_NEAR,
		GNI_CE_MODE_ROUND_ZERO,
	};
	struct tree_chan *c = &t->chan[t->chans];

	must(t->chans < TREE_CHANNELS);
	c->parent = parent;
	c->device = t->chans % TREE_NICS;
	c->modes = round[rnd(seed) % ARRAY_SIZE(round)];
	if (parent >= 0)
		c->number = add_child(&t->chan[parent], false, t->chans, seed);
	t->chans++;
}

static void add_leaf(struct tree *t, unsigned int chan, uint32_t *seed)
{
	struct tree_leaf *l = &t->leaf[t->leaves];

	l->chan = chan;
	l->number = add_child(&t->chan[chan], true, t->leaves, seed);
	l->device = rnd(seed) % TREE_NICS;
	l->inst = LEAF_ID + t->leaves;
	t->leaves++;
}

void tree_make(struct tree *t, unsigned int leaves, unsigned int depth, uint32_t *seed)
{
	unsigned int i, chan;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < depth; i++)
		add_chan(t, (int)i - 1, seed);
	/* Beside the spine, so that the depth stays. */
	while (t->chans * (GNI_CE_MAX_CHILDREN - 1) < leaves && depth > 1)
		add_chan(t, (int)(rnd(seed) % (depth - 1)), seed);
	/* Every channel without a channel below needs a leaf. */
	for (i = 0; i < t->chans; i++)
		if (!children_of(&t->chan[i]))
			add_leaf(t, i, seed);
	while (t->leaves < leaves) {
		do
			chan = rnd(seed) % t->chans;
		while (children_of(&t->chan[chan]) == GNI_CE_MAX_CHILDREN);
		add_leaf(t, chan, seed);
	}
}

static struct ce_sum sum_of(const struct tree *t, unsigned int chan, gni_ce_cmd_type_t cmd,
			    const struct given *given)
{
	const struct tree_chan *c = &t->chan[chan];
	struct ce_sum sum = { .fpe = 0 }, next;
	bool first = true;
	unsigned int i;

	for (i = 0; i < GNI_CE_MAX_CHILDREN; i++) {
		const struct tree_end *e = &c->child[i];

		if (!e->used)
			continue;
		next = e->leaf ? ce_ref_begin(cmd, given[e->index].mode, given[e->index].op[0],
					      given[e->index].op[1]) :
				 sum_of(t, e->index, cmd, given);
		if (first)
			sum = next;
		else
			ce_ref_add(cmd, given[0].mode, c->modes & 0xf, &sum, &next);
		first = false;
	}
	return sum;
}

struct ce_sum tree_reference(const struct tree *t, gni_ce_cmd_type_t cmd,
			     const struct given *given)
{
	return sum_of(t, 0, cmd, given);
}

/* --- channels ------------------------------------------------------------------ */

static bool owns(const struct owner *o, const struct tree *t, unsigned int chan)
{
	return o->devices & 1U << t->chan[chan].device;
}

void owner_create_on(struct owner *o, struct tree *t, struct nic *n, unsigned int devices)
{
	unsigned int i;

	memset(o, 0, sizeof(*o));
	o->n = n;
	o->devices = devices;
	for (i = 0; i < t->chans; i++) {
		struct nic *at = &n[t->chan[i].device];

		if (!owns(o, t, i))
			continue;
		must_do(GNI_CeCreate(at->h, &o->ce[i]));
		must_do(GNI_CeGetId(o->ce[i], &t->chan[i].id));
		t->chan[i].pe = at->pe;
	}
}

void owner_create(struct owner *o, struct tree *t, struct nic *n)
{
	owner_create_on(o, t, n, (1U << TREE_NICS) - 1);
}

static gni_ep_handle_t edge(struct owner *o, unsigned int chan, struct nic *n, uint32_t pe,
			    uint32_t inst, uint32_t ce_id, unsigned int number,
			    gni_ce_child_t type)
{
	gni_ep_handle_t ep = ep_open(n, pe, inst);

	must_do(GNI_EpSetCeAttr(ep, ce_id, number, type));
	o->ep[chan][o->eps[chan]++] = ep;
	return ep;
}

static void configure(struct owner *o, const struct tree *t, unsigned int chan)
{
	const struct tree_chan *c = &t->chan[chan], *up;
	struct nic *n = &o->n[c->device];
	gni_ep_handle_t parent = NULL;
	unsigned int i, children;

	for (i = 0; i < GNI_CE_MAX_CHILDREN; i++) {
		const struct tree_end *e = &c->child[i];

		if (e->used && e->leaf)
			edge(o, chan, n, o->n[t->leaf[e->index].device].pe,
			     t->leaf[e->index].inst, -1, i, GNI_CE_CHILD_PE);
		else if (e->used)
			edge(o, chan, n, t->chan[e->index].pe, OWNER_ID, t->chan[e->index].id, i,
			     GNI_CE_CHILD_VCE);
	}
	children = o->eps[chan];
	if (c->parent >= 0) {
		up = &t->chan[c->parent];
		parent = edge(o, chan, n, up->pe, OWNER_ID, up->id, c->number, GNI_CE_CHILD_VCE);
	}
	must_do(GNI_CeConfigure(o->ce[chan], o->ep[chan], children, parent, o->cq[chan],
				c->modes));
}

void owner_configure(struct owner *o, const struct tree *t)
{
	unsigned int i;

	for (i = 0; i < t->chans; i++)
		if (owns(o, t, i))
			configure(o, t, i);
}

void owner_close(struct owner *o, const struct tree *t)
{
	unsigned int i, j;

	for (i = 0; i < t->chans; i++) {
		if (!owns(o, t, i))
			continue;
		is_rc(GNI_CeDestroy(o->ce[i]), GNI_RC_SUCCESS);
		for (j = 0; j < o->eps[i]; j++) {
			is_rc(GNI_EpUnbind(o->ep[i][j]), GNI_RC_SUCCESS);
			is_rc(GNI_EpDestroy(o->ep[i][j]), GNI_RC_SUCCESS);
		}
	}
}

/* --- leaves -------------------------------------------------------------------- */

static void open_member(struct member *m, const struct tree *t, unsigned int leaf)
{
	const struct tree_leaf *l = &t->leaf[leaf];
	const struct tree_chan *c = &t->chan[l->chan];

	must_do(GNI_EpCreate(m->n->h, m->cq, &m->ep));
	must_do(GNI_EpBind(m->ep, c->pe, OWNER_ID));
	must_do(GNI_EpSetCeAttr(m->ep, c->id, l->number, GNI_CE_CHILD_PE));
	m->result = map_private(PAGE);
	mem_open(m->n, m->result, PAGE, NULL, 0, &m->mh);
}

void member_open(struct member *m, struct nic *n, const struct tree *t, unsigned int leaf)
{
	memset(m, 0, sizeof(*m));
	m->n = n;
	m->cq = n->tx;
	open_member(m, t, leaf);
}

void member_open_alone(struct member *m, struct nic *n, const struct tree *t, unsigned int leaf)
{
	memset(m, 0, sizeof(*m));
	m->n = n;
	m->alone = true;
	m->cq = cq_open(n, TREE_WINDOW, GNI_CQ_BLOCKING);
	open_member(m, t, leaf);
}

void member_close(struct member *m)
{
	is_rc(GNI_EpUnbind(m->ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(m->ep), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(m->n->h, &m->mh), GNI_RC_SUCCESS);
	if (m->alone)
		is_rc(GNI_CqDestroy(m->cq), GNI_RC_SUCCESS);
	munmap(m->result, PAGE);
}

gni_return_t member_post(struct member *m, unsigned int slot, gni_ce_cmd_type_t cmd,
			 uint64_t red_id, const struct given *given)
{
	gni_post_descriptor_t *d = &m->d[slot];

	memset(&m->result[slot], 0, sizeof(m->result[slot]));
	desc_init(d, GNI_POST_CE, GNI_CQMODE_GLOBAL_EVENT);
	d->local_addr = (uint64_t)&m->result[slot];
	d->local_mem_hndl = m->mh;
	d->ce_cmd = cmd;
	d->ce_mode = given->mode;
	d->ce_red_id = red_id;
	d->first_operand = given->op[0];
	d->second_operand = given->op[1];
	return GNI_PostFma(m->ep, d);
}

gni_return_t member_done(struct member *m, unsigned int slot)
{
	gni_post_descriptor_t *d = NULL;
	gni_cq_entry_t e;
	gni_return_t rc;

	if (!m->alone)
		return complete(m->cq, &m->d[slot], NULL);
	rc = GNI_CqWaitEvent(m->cq, 4 * PATIENCE, &e);
	if (!ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "rc %s", rc_name(rc)))
		return rc;
	is_rc(GNI_GetCompleted(m->cq, e, &d), rc);
	ok(d == &m->d[slot]);
	return rc;
}

void member_check(struct member *m, unsigned int slot, uint64_t red_id, gni_ce_cmd_type_t cmd,
		  const struct ce_sum *want)
{
	gni_ce_result_t *r = &m->result[slot];

	is_rc(GNI_CeCheckResult(r, sizeof(*r)),
	      want->fpe ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS, "command %#x", cmd);
	is_u64(GNI_CE_RES_GET_RED_ID(r), red_id);
	ok(GNI_CE_RES_STATUS_OK(r));
	is_u64(GNI_CE_RES_GET_STATUS(r), 0);
	is_u64(GNI_CE_RES_GET_FPE(r), want->fpe, "command %#x", cmd);
	is_u64(r->result1, want->v[0], "command %#x", cmd);
	is_u64(r->result2, want->v[1], "command %#x", cmd);
}

gni_return_t member_barrier(struct member *m, uint64_t red_id)
{
	const struct given nothing = { .mode = 0 };
	gni_return_t rc = member_post(m, 0, GNI_FMA_CE_AND, red_id, &nothing);

	return rc == GNI_RC_SUCCESS ? member_done(m, 0) : rc;
}
