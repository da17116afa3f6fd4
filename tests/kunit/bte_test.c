// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block transfer: what is done at once and what is queued, order and fences,
 * the end of an attachment or a registration while posts are under way.
 */
#include <linux/mm.h>

#include "kgt.h"

/* The suites start and end it time and again, whenever they like. */
#undef __init
#define __init
#include "../../kernel/bte.c"

#define BIG	8192	/* more than a poster carries out itself */

/* --- workers that are held ------------------------------------------------- */

/*
 * In place of the driver's workqueue, one that works on one channel at a time,
 * and not before let_go(): what is queued stays as it is, to be looked at.
 */
struct hold {
	struct workqueue_struct *wq, *was;
	struct work_struct blocker;
	struct completion go;
};

static void hold_work(struct work_struct *work)
{
	struct hold *h = container_of(work, struct hold, blocker);

	wait_for_completion(&h->go);
}

static int hold_init(struct kunit_resource *res, void *context)
{
	struct hold *h = kzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return -ENOMEM;
	h->wq = alloc_ordered_workqueue("kgt_bte", 0);
	if (!h->wq) {
		kfree(h);
		return -ENOMEM;
	}
	init_completion(&h->go);
	INIT_WORK(&h->blocker, hold_work);
	queue_work(h->wq, &h->blocker);
	h->was = kgni_bte_wq;
	kgni_bte_wq = h->wq;
	res->data = h;
	return 0;
}

static void hold_free(struct kunit_resource *res)
{
	struct hold *h = res->data;

	complete_all(&h->go);
	kgni_bte_wq = h->was;
	destroy_workqueue(h->wq);
	kfree(h);
}

/* Before anything is attached, so that it ends after that. */
static struct hold *hold(struct kunit *test)
{
	struct hold *h = kunit_alloc_resource(test, hold_init, hold_free, GFP_KERNEL, NULL);

	KUNIT_ASSERT_NOT_NULL(test, h);
	return h;
}

static void let_go(struct hold *h)
{
	complete_all(&h->go);
}

/* --- two attachments on two devices ---------------------------------------- */

struct pair {
	struct kunit *test;
	struct kgni_file *f, *peer;
	struct kgni_cq *src, *dst;
	struct kgt_mem *local, *remote;
	u32 posted;
};

static struct pair *pair(struct kunit *test, u32 modes, unsigned long npages)
{
	struct pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->test = test;
	p->f = kgt_attach(test, kgt_device(test, KGT_PE), 1, KGT_COOKIE, modes);
	p->peer = kgt_attach(test, kgt_device(test, KGT_PE + 1), 2, KGT_COOKIE, 0);
	p->src = kgt_cq(test, p->f, 1024, 0);
	p->dst = kgt_cq(test, p->peer, 1024, 0);
	p->local = kgt_mem(test, p->f, npages, 0, NULL);
	p->remote = kgt_mem(test, p->peer, npages, 0, p->dst);
	return p;
}

static struct kgni_ioc_post compose(struct pair *p, u32 type, u64 length, u32 mode)
{
	return (struct kgni_ioc_post) {
		.type = type,
		.cq_mode = KGNI_CQMODE_GLOBAL | KGNI_CQMODE_REMOTE,
		.rdma_mode = mode,
		.src_cq = p->src->id,
		.src_event = kgni_cqe_post(0, p->posted),
		.remote_event = p->posted,
		.remote_pe = KGT_PE + 1,
		.local_addr = p->local->base,
		.local = p->local->handle,
		.remote_addr = p->remote->base,
		.remote = p->remote->handle,
		.length = length,
	};
}

/* The n-th post has n, from 0, as its transaction id. */
static void post(struct pair *p, u64 length, u32 mode)
{
	struct kgni_ioc_post arg = compose(p, KGNI_POST_RDMA_PUT, length, mode);

	KUNIT_EXPECT_EQ(p->test, kgni_post(p->f->nic, &arg), GNI_RC_SUCCESS);
	p->posted++;
}

static unsigned int length_of(struct list_head *list)
{
	struct list_head *node;
	unsigned int n = 0;

	list_for_each(node, list)
		n++;
	return n;
}

static unsigned int pending(struct pair *p)
{
	return length_of(&p->f->nic->bte.pending);
}

static unsigned int queued(struct pair *p, int chan)
{
	return length_of(&p->f->nic->bte.chan[chan].queue);
}

static int charged(struct pair *p)
{
	return atomic_read(&p->f->nic->job->used[KGNI_RES_BTE]);
}

/* Wait until all that was posted is over. */
static void settle(struct pair *p)
{
	unsigned long end = jiffies + KGT_SOON;
	struct kgni_bte *bte = &p->f->nic->bte;
	bool idle;

	do {
		spin_lock_bh(&bte->lock);
		idle = !bte->inflight && list_empty(&bte->pending);
		spin_unlock_bh(&bte->lock);
		if (!idle)
			schedule_timeout_uninterruptible(1);
	} while (!idle && time_before(jiffies, end));
	KUNIT_EXPECT_TRUE(p->test, idle);
	KUNIT_EXPECT_FALSE(p->test, bte->fenced);
	KUNIT_EXPECT_EQ(p->test, charged(p), 0);
}

/* The id of the next event, which must be a good one; -1 if there is none. */
static int next_done(struct pair *p)
{
	u64 e = kgt_pop(p->src);

	if (!e)
		return -1;
	KUNIT_EXPECT_EQ(p->test, e, kgni_cqe_done(kgni_cqe_post(0, kgni_cqe_tid(e)),
						  KGNI_CQE_BTE, KGNI_ST_OK));
	return kgni_cqe_tid(e);
}

/* Fails the case unless the next event is of this post. */
static void expect_done(struct pair *p, int id)
{
	KUNIT_EXPECT_EQ(p->test, next_done(p), id);
}

static void expect_released(struct pair *p)
{
	KUNIT_EXPECT_EQ(p->test, kref_read(&p->local->mdd->ref), 1);
	KUNIT_EXPECT_EQ(p->test, kref_read(&p->remote->mdd->ref), 1);
	KUNIT_EXPECT_EQ(p->test, kref_read(&p->src->ref), 1);
	KUNIT_EXPECT_EQ(p->test, kref_read(&p->dst->ref), 2);
}

/* --- at once or queued ----------------------------------------------------- */

static const struct size {
	u32 bytes;
	bool at_once;
} sizes[] = {
	{ 1, true }, { 8, true }, { 4096, true }, { 4097, false }, { 8192, false },
	{ 65536, false }, { 65537, false }, { 3 * 65536 + 5, false },
};

static void size_desc(const struct size *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes", s->bytes);
}

KUNIT_ARRAY_PARAM(size, sizes, size_desc);

static void small_posts_are_done_at_once(struct kunit *test)
{
	const struct size *s = test->param_value;
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 64);

	post(p, s->bytes, 0);
	KUNIT_EXPECT_EQ(test, p->f->nic->bte.inflight, !s->at_once);
	KUNIT_EXPECT_EQ(test, charged(p), !s->at_once);
	KUNIT_EXPECT_EQ(test, queued(p, 0), !s->at_once);
	if (s->at_once)
		expect_released(p);
	else
		expect_done(p, -1);
	let_go(h);
	settle(p);
	expect_done(p, 0);
	expect_done(p, -1);
	expect_released(p);
}

static void small_ones_do_not_overtake(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);
	int i;

	post(p, BIG, 0);
	for (i = 0; i < 5; i++)
		post(p, 8, 0);
	expect_done(p, -1);
	KUNIT_EXPECT_EQ(test, queued(p, 0), 6);
	let_go(h);
	settle(p);
	for (i = 0; i < 6; i++)
		expect_done(p, i);
	expect_released(p);
	/* Nothing is under way any more. */
	post(p, 8, KGNI_RDMA_FENCE);
	expect_done(p, 6);
}

/* As if another poster were carrying out one of its own. */
static void somebody_posts(struct pair *p, int step)
{
	struct kgni_bte *bte = &p->f->nic->bte;

	spin_lock_bh(&bte->lock);
	bte->inflight += step;
	bte->inlined += step;
	kgni_bte_start_some(p->f->nic);
	spin_unlock_bh(&bte->lock);
}

static void small_ones_side_by_side(struct kunit *test)
{
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);

	somebody_posts(p, 1);
	post(p, 8, 0);
	expect_done(p, 0);
	KUNIT_EXPECT_EQ(test, p->f->nic->bte.inlined, 1);
	/* A fence waits, and what comes after it. */
	post(p, 8, KGNI_RDMA_FENCE);
	post(p, 8, 0);
	KUNIT_EXPECT_EQ(test, pending(p), 2);
	expect_done(p, -1);
	somebody_posts(p, -1);
	settle(p);
	expect_done(p, 1);
	expect_done(p, 2);
	expect_released(p);
}

/* --- order ----------------------------------------------------------------- */

static void channels_take_turns(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 4);
	int i, id, next[KGNI_BTE_CHANNELS] = { 0, 1, 2 };

	for (i = 0; i < 20; i++)
		post(p, BIG, 0);
	KUNIT_EXPECT_EQ(test, queued(p, 0), 7);
	KUNIT_EXPECT_EQ(test, queued(p, 1), 7);
	KUNIT_EXPECT_EQ(test, queued(p, 2), 6);
	let_go(h);
	settle(p);
	/* Each channel's posts end in order. */
	for (i = 0; i < 20; i++) {
		id = next_done(p);
		KUNIT_ASSERT_GE(test, id, 0);
		KUNIT_EXPECT_EQ(test, id, next[id % KGNI_BTE_CHANNELS]);
		next[id % KGNI_BTE_CHANNELS] = id + KGNI_BTE_CHANNELS;
	}
	expect_released(p);
}

static void single_channel(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);
	int i;

	for (i = 0; i < 20; i++)
		post(p, i % 3 ? BIG : 8, i % 7 == 3 ? KGNI_RDMA_FENCE : 0);
	KUNIT_EXPECT_EQ(test, queued(p, 0) + pending(p), 19);
	KUNIT_EXPECT_EQ(test, queued(p, 1) + queued(p, 2), 0);
	let_go(h);
	settle(p);
	for (i = 0; i < 20; i++)
		expect_done(p, i);
}

static void fence_waits_and_holds(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 4);
	int a, b;

	post(p, BIG, 0);
	post(p, BIG, 0);
	post(p, BIG, KGNI_RDMA_FENCE);
	post(p, BIG, 0);
	post(p, 8, 0);
	KUNIT_EXPECT_EQ(test, p->f->nic->bte.inflight, 2);
	KUNIT_EXPECT_EQ(test, pending(p), 3);
	let_go(h);
	settle(p);
	a = next_done(p);
	b = next_done(p);
	KUNIT_EXPECT_TRUE(test, (a == 0 && b == 1) || (a == 1 && b == 0));
	expect_done(p, 2);
	a = next_done(p);
	b = next_done(p);
	KUNIT_EXPECT_TRUE(test, (a == 3 && b == 4) || (a == 4 && b == 3));
	expect_released(p);
}

static void fences_in_a_row(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 4);
	int i;

	for (i = 0; i < 6; i++)
		post(p, BIG, KGNI_RDMA_FENCE);
	KUNIT_EXPECT_EQ(test, p->f->nic->bte.inflight, 1);
	KUNIT_EXPECT_TRUE(test, p->f->nic->bte.fenced);
	KUNIT_EXPECT_EQ(test, pending(p), 5);
	let_go(h);
	settle(p);
	for (i = 0; i < 6; i++)
		expect_done(p, i);
}

/* What waited for a fence is not started all in one go, with a spinlock held. */
static void starts_in_batches(struct kunit *test)
{
	const unsigned int n = 2 * KGNI_BTE_BATCH + 5;
	struct hold *h = hold(test);
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);
	struct kgni_bte *bte = &p->f->nic->bte;
	unsigned int inflight[4], i;

	post(p, BIG, KGNI_RDMA_FENCE);
	for (i = 0; i < n; i++)
		post(p, BIG, 0);
	KUNIT_EXPECT_EQ(test, pending(p), n);
	spin_lock_bh(&bte->lock);
	bte->fenced = false;
	for (i = 0; i < ARRAY_SIZE(inflight); i++) {
		kgni_bte_start_some(p->f->nic);
		inflight[i] = bte->inflight;
	}
	spin_unlock_bh(&bte->lock);
	KUNIT_EXPECT_EQ(test, inflight[0], 1 + KGNI_BTE_BATCH);
	KUNIT_EXPECT_EQ(test, inflight[1], 1 + 2 * KGNI_BTE_BATCH);
	KUNIT_EXPECT_EQ(test, inflight[2], 1 + n);
	KUNIT_EXPECT_EQ(test, inflight[3], 1 + n);
	KUNIT_EXPECT_EQ(test, queued(p, 0), 1 + n);
	let_go(h);
	settle(p);
	for (i = 0; i <= n; i++)
		expect_done(p, i);
}

#define RANDOM_POSTS	150

static const u64 seeds[] = { 1, 2, 3, 4, 5, 6 };

static void seed_desc(const u64 *seed, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "seed %llu", *seed);
}

KUNIT_ARRAY_PARAM(seed, seeds, seed_desc);

/* With the driver's own workers: no event may pass that of a fence. */
static void random_posts_keep_fences(struct kunit *test)
{
	u64 rng = *(const u64 *)test->param_value;
	struct pair *p = pair(test, rng % 3 ? 0 : GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 80);
	u8 *at = kunit_kzalloc(test, RANDOM_POSTS, GFP_KERNEL);
	bool fence[RANDOM_POSTS];
	int i, j, id, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, at);
	for (i = 0; i < RANDOM_POSTS; i++) {
		u64 r = kgt_rand(&rng);
		u32 length = r % 16 == 0 ? 300000 : r % 3 ? 16 : 20000;

		fence[i] = (r >> 32) % 6 == 0;
		post(p, length, fence[i] ? KGNI_RDMA_FENCE : 0);
	}
	settle(p);
	memset(at, 0xff, RANDOM_POSTS);
	for (i = 0; i < RANDOM_POSTS; i++) {
		id = next_done(p);
		KUNIT_ASSERT_TRUE(test, id >= 0 && id < RANDOM_POSTS && at[id] == 0xff);
		at[id] = i;
	}
	expect_done(p, -1);
	for (i = 0; i < RANDOM_POSTS; i++)
		for (j = 0; j < RANDOM_POSTS && fence[i]; j++)
			wrong += (j < i && at[j] > at[i]) || (j > i && at[j] < at[i]);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_released(p);
}

/* A channel with much to do lets others through. */
static void long_posts_take_turns(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 512);
	struct kgni_file *g = kgt_attach(test, p->f->dev, 3, KGT_COOKIE, 0);
	struct kgt_mem *m = kgt_mem(test, g, 2, 0, NULL);
	struct kgni_ioc_post arg = compose(p, KGNI_POST_RDMA_PUT, BIG, 0);

	post(p, 512 * PAGE_SIZE, 0);
	arg.src_cq = 0;
	arg.remote_event = 77;
	arg.local = m->handle;
	arg.local_addr = m->base;
	KUNIT_EXPECT_EQ(test, kgni_post(g->nic, &arg), GNI_RC_SUCCESS);
	let_go(h);
	settle(p);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst),
			kgni_cqe_remote(77, KGNI_POST_RDMA_PUT, KGNI_CQE_POST));
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst),
			kgni_cqe_remote(0, KGNI_POST_RDMA_PUT, KGNI_CQE_POST));
	expect_done(p, 0);
}

/* --- data ------------------------------------------------------------------ */

static const struct move {
	u32 n, local, remote;
} moves[] = {
	{ 4, 0, 0 }, { 4096, 0, 0 }, { 4096, 4095, 4 }, { 4100, 0, 0 }, { 65536, 0, 0 },
	{ 65540, 7, 12 }, { 4 * 65536, 0, 0 }, { 4 * 65536 + 4, 1, 4092 }, { 600000, 4095, 8 },
};

static void move_desc(const struct move *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes, local +%u, remote +%u", m->n, m->local,
		 m->remote);
}

KUNIT_ARRAY_PARAM(move, moves, move_desc);

#define PAGES	150

static void expect_moved(struct pair *p, const struct kgt_mem *m, u32 to, u32 from, u32 n,
			 u8 seed, u8 old)
{
	u64 i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += *kgt_at(m, m->base + to + i) != kgt_byte(from + i, seed);
	KUNIT_EXPECT_EQ(p->test, wrong, 0);
	KUNIT_EXPECT_EQ(p->test, kgt_differ(m, 0, to, old), 0);
	KUNIT_EXPECT_EQ(p->test, kgt_differ(m, to + n, PAGES * PAGE_SIZE, old), 0);
}

static void move(struct kunit *test, u32 type)
{
	const struct move *m = test->param_value;
	struct pair *p = pair(test, 0, PAGES);
	struct kgni_ioc_post arg = compose(p, type, m->n, 0);

	kgt_fill(p->local, 1);
	kgt_fill(p->remote, 2);
	arg.local_addr += m->local;
	arg.remote_addr += m->remote;
	KUNIT_EXPECT_EQ(test, kgni_post(p->f->nic, &arg), GNI_RC_SUCCESS);
	settle(p);
	expect_done(p, 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), kgni_cqe_remote(0, type, KGNI_CQE_POST));
	if (type == KGNI_POST_RDMA_PUT)
		expect_moved(p, p->remote, m->remote, m->local, m->n, 1, 2);
	else
		expect_moved(p, p->local, m->local, m->remote, m->n, 2, 1);
}

static void put(struct kunit *test)
{
	move(test, KGNI_POST_RDMA_PUT);
}

static void get(struct kunit *test)
{
	move(test, KGNI_POST_RDMA_GET);
}

/* --- limits and errors ----------------------------------------------------- */

static void too_many_posts(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 4);
	struct kgni_ioc_post arg = compose(p, KGNI_POST_RDMA_PUT, BIG, 0);
	atomic_t *used = &p->f->nic->job->used[KGNI_RES_BTE];

	atomic_set(used, 1 << 20);
	KUNIT_EXPECT_EQ(test, kgni_post(p->f->nic, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, atomic_read(used), 1 << 20);
	expect_released(p);
	atomic_set(used, 0);
	let_go(h);
	settle(p);
	expect_done(p, -1);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), 0);
	post(p, BIG, 0);
	settle(p);
	expect_done(p, 0);
}

/* What is wrong at the target is told in its turn. */
static void errors_keep_their_place(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);
	struct kgni_ioc_post arg;

	post(p, BIG, 0);
	arg = compose(p, KGNI_POST_RDMA_PUT, BIG, KGNI_RDMA_FENCE);
	arg.remote_addr += 3 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, kgni_post(p->f->nic, &arg), GNI_RC_SUCCESS);
	p->posted++;
	post(p, BIG, 0);
	let_go(h);
	settle(p);
	expect_done(p, 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->src),
			kgni_cqe_done(kgni_cqe_post(0, 1), KGNI_CQE_BTE, KGNI_ST_BOUNDS));
	expect_done(p, 2);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), kgni_cqe_remote(0, KGNI_POST_RDMA_PUT, 0));
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), kgni_cqe_remote(2, KGNI_POST_RDMA_PUT, 0));
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), 0);
	expect_released(p);
}

/* --- ends ------------------------------------------------------------------ */

static void expect_aborted(struct pair *p, int n)
{
	int i;

	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(p->test, kgt_pop(p->src),
				kgni_cqe_done(kgni_cqe_post(0, i), KGNI_CQE_BTE, KGNI_ST_ABORTED));
	KUNIT_EXPECT_EQ(p->test, kgt_pop(p->src), 0);
	KUNIT_EXPECT_EQ(p->test, kgt_pop(p->dst), 0);
}

static const bool sides[] = { false, true };

static void side_desc(const bool *local, char *desc)
{
	strscpy(desc, *local ? "local" : "remote", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(side, sides, side_desc);

/* Deregistration does not wait for what is queued. */
static void region_of_queued_posts_ends(struct kunit *test)
{
	bool local = *(const bool *)test->param_value;
	struct hold *h = hold(test);
	struct pair *p = pair(test, GNI_CDM_MODE_BTE_SINGLE_CHANNEL, 4);
	struct kgt_mem *m = local ? p->local : p->remote;
	int i;

	kgt_fill(p->local, 1);
	kgt_fill(p->remote, 2);
	for (i = 0; i < 4; i++)
		post(p, BIG, 0);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(m->f->nic, &m->handle), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1);
	let_go(h);
	settle(p);
	expect_aborted(p, 4);
	KUNIT_EXPECT_EQ(test, kgt_differ(p->remote, 0, 4 * PAGE_SIZE, 2), 0);
}

static u64 sum_of(const struct kgt_mem *m)
{
	unsigned long i, j;
	u64 sum = 0;

	for (i = 0; i < m->npages; i++) {
		const u64 *words = page_address(m->pages[i]);

		for (j = 0; j < PAGE_SIZE / 8; j++)
			sum = sum * 3 + words[j];
	}
	return sum;
}

/* Or of those that run: they stop, and nothing is written after it. */
static void region_of_running_posts_ends(struct kunit *test)
{
	bool local = *(const bool *)test->param_value;
	struct pair *p = pair(test, 0, 256);
	struct kgt_mem *m = local ? p->local : p->remote;
	int i, n = 0;
	u64 e, sum;

	kgt_fill(p->local, 1);
	for (i = 0; i < 12; i++)
		post(p, 256 * PAGE_SIZE, 0);
	schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(m->f->nic, &m->handle), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1);
	sum = sum_of(p->remote);
	settle(p);
	KUNIT_EXPECT_EQ(test, sum_of(p->remote), sum);
	while ((e = kgt_pop(p->src))) {
		enum kgni_cqe_status status = kgni_cqe_status(e);

		n++;
		KUNIT_EXPECT_TRUE(test, status == KGNI_ST_OK || status == KGNI_ST_ABORTED);
	}
	KUNIT_EXPECT_EQ(test, n, 12);
}

/* Queued, fenced and running posts go with their attachment, without a trace. */
static void attachment_of_queued_posts_ends(struct kunit *test)
{
	struct hold *h = hold(test);
	struct pair *p = pair(test, 0, 4);
	struct kgni_file *keeper = kgt_attach(test, p->f->dev, 9, KGT_COOKIE, 0);
	int i;

	kgt_fill(p->local, 1);
	kgt_fill(p->remote, 2);
	for (i = 0; i < 12; i++)
		post(p, BIG, i % 5 == 4 ? KGNI_RDMA_FENCE : 0);
	KUNIT_EXPECT_EQ(test, charged(p), 12);
	KUNIT_EXPECT_EQ(test, pending(p), 8);
	kgt_close(p->f);
	KUNIT_EXPECT_EQ(test, atomic_read(&keeper->nic->job->used[KGNI_RES_BTE]), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&p->remote->mdd->ref), 1);
	let_go(h);
	flush_workqueue(h->wq);
	KUNIT_EXPECT_EQ(test, kgt_differ(p->remote, 0, 4 * PAGE_SIZE, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(p->dst), 0);
}

static void attachment_of_running_posts_ends(struct kunit *test)
{
	struct pair *p = pair(test, 0, 256);
	int i;
	u64 sum;

	kgt_fill(p->local, 1);
	for (i = 0; i < 12; i++)
		post(p, 256 * PAGE_SIZE, i % 4 == 3 ? KGNI_RDMA_FENCE : 0);
	schedule_timeout_uninterruptible(1);
	kgt_close(p->f);
	KUNIT_EXPECT_EQ(test, kref_read(&p->remote->mdd->ref), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&p->remote->mdd->active), 1);
	sum = sum_of(p->remote);
	schedule_timeout_uninterruptible(KGT_NEVER);
	KUNIT_EXPECT_EQ(test, sum_of(p->remote), sum);
}

/* --- threads --------------------------------------------------------------- */

#define ROUNDS	100

struct poster {
	struct pair *p;
	u32 who;
};

static long post_many(void *arg)
{
	struct poster *me = arg;
	struct kgni_ioc_post a;
	long rc = 0;
	u32 i;

	for (i = 0; i < ROUNDS && !rc; i++) {
		a = compose(me->p, i % 2 ? KGNI_POST_RDMA_PUT : KGNI_POST_RDMA_GET,
			    i % 3 ? 64 : BIG, i % 8 == 5 ? KGNI_RDMA_FENCE : 0);
		a.src_event = kgni_cqe_post(0, me->who * ROUNDS + i);
		rc = kgni_post(me->p->f->nic, &a);
		if (i % 16 == 0)
			schedule();
	}
	return rc;
}

static void many_posters(struct kunit *test)
{
	struct pair *p = pair(test, 0, 4);
	struct poster *who = kunit_kcalloc(test, 4, sizeof(*who), GFP_KERNEL);
	bool *seen = kunit_kcalloc(test, 4 * ROUNDS, sizeof(*seen), GFP_KERNEL);
	struct kgt_thread *t[4];
	int i, id;

	KUNIT_ASSERT_NOT_NULL(test, who);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (i = 0; i < 4; i++) {
		who[i] = (struct poster) { p, i };
		t[i] = kgt_thread(test, post_many, &who[i]);
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), GNI_RC_SUCCESS);
	settle(p);
	for (i = 0; i < 4 * ROUNDS; i++) {
		id = next_done(p);
		KUNIT_ASSERT_TRUE(test, id >= 0 && id < 4 * ROUNDS && !seen[id]);
		seen[id] = true;
	}
	expect_done(p, -1);
	expect_released(p);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(small_posts_are_done_at_once, size_gen_params),
	KUNIT_CASE(small_ones_do_not_overtake),
	KUNIT_CASE(small_ones_side_by_side),
	KUNIT_CASE(channels_take_turns),
	KUNIT_CASE(single_channel),
	KUNIT_CASE(fence_waits_and_holds),
	KUNIT_CASE(fences_in_a_row),
	KUNIT_CASE(starts_in_batches),
	KUNIT_CASE_PARAM(random_posts_keep_fences, seed_gen_params),
	KUNIT_CASE(long_posts_take_turns),
	KUNIT_CASE_PARAM(put, move_gen_params),
	KUNIT_CASE_PARAM(get, move_gen_params),
	KUNIT_CASE(too_many_posts),
	KUNIT_CASE(errors_keep_their_place),
	KUNIT_CASE_PARAM(region_of_queued_posts_ends, side_gen_params),
	KUNIT_CASE_PARAM(region_of_running_posts_ends, side_gen_params),
	KUNIT_CASE(attachment_of_queued_posts_ends),
	KUNIT_CASE(attachment_of_running_posts_ends),
	KUNIT_CASE(many_posters),
	{}
};

static struct kunit_suite bte_suite = {
	.name = "kgni_bte",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(bte_suite);
