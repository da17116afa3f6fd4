// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block transfer: RDMA posts, carried out by workers while the poster goes on.
 *
 * An attachment has KGNI_BTE_CHANNELS channels, or uses one of them in mode
 * GNI_CDM_MODE_BTE_SINGLE_CHANNEL. A channel runs its requests in order;
 * channels run side by side. A request with a fence starts when all before it
 * are done, and none after it starts until it is: while one waits, later ones
 * wait in @pending.
 *
 * A small post that finds nothing under way is done by its poster at once, as
 * if it had a fence: that costs less than to wake a worker.
 *
 * kgni_bte.lock guards queues and counts; requests run outside it.
 */
#include <linux/slab.h>

#include "kgni.h"

/* The largest post that its poster carries out itself, bytes. */
#define KGNI_BTE_INLINE		4096

struct kgni_bte_req {
	struct list_head node;
	struct kgni_xfer xfer;
};

static struct workqueue_struct *kgni_bte_wq;
static struct kmem_cache *kgni_bte_cache;

static bool kgni_bte_fences(const struct kgni_bte_req *req)
{
	return req->xfer.arg.rdma_mode & KGNI_RDMA_FENCE;
}

static void kgni_bte_free(struct kgni_nic *nic, struct kgni_bte_req *req)
{
	kgni_xfer_release(&req->xfer);
	kmem_cache_free(kgni_bte_cache, req);
	kgni_res_uncharge(nic->job, KGNI_RES_BTE);
}

/* Give a request to a channel. bte->lock is held. */
static void kgni_bte_start(struct kgni_nic *nic, struct kgni_bte_req *req)
{
	struct kgni_bte *bte = &nic->bte;
	bool single = nic->modes & GNI_CDM_MODE_BTE_SINGLE_CHANNEL;
	struct kgni_bte_chan *chan = &bte->chan[single ? 0 : bte->next++ % KGNI_BTE_CHANNELS];

	bte->inflight++;
	bte->fenced = kgni_bte_fences(req);
	list_add_tail(&req->node, &chan->queue);
	queue_work(kgni_bte_wq, &chan->work);
}

/* Start what may start now. bte->lock is held. */
static void kgni_bte_dispatch(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	struct kgni_bte_req *req;

	while (!bte->fenced) {
		req = list_first_entry_or_null(&bte->pending, struct kgni_bte_req, node);
		if (!req || (kgni_bte_fences(req) && bte->inflight))
			break;
		list_del(&req->node);
		kgni_bte_start(nic, req);
	}
}

static void kgni_bte_run(struct kgni_bte *bte, struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	bool put = a->type == KGNI_POST_RDMA_PUT;
	u64 done = 0;

	while (done < a->length && x->status == KGNI_ST_OK) {
		size_t n = min_t(u64, a->length - done, KGNI_CHUNK);
		u64 local = a->local_addr + done;
		u64 remote = a->remote_addr + done;

		if (put)
			x->status = kgni_xfer_chunk(x->remote, remote, x->local, local, n);
		else
			x->status = kgni_xfer_chunk(x->local, local, x->remote, remote, n);
		done += n;
		if (READ_ONCE(bte->dying))
			x->status = KGNI_ST_ABORTED;
		cond_resched();
	}
}

/* A request that was in flight is over. */
static void kgni_bte_done(struct kgni_nic *nic, bool fenced)
{
	struct kgni_bte *bte = &nic->bte;

	spin_lock(&bte->lock);
	bte->inflight--;
	if (fenced)
		bte->fenced = false;
	if (!bte->dying)
		kgni_bte_dispatch(nic);
	spin_unlock(&bte->lock);
}

static struct kgni_bte_req *kgni_bte_next(struct kgni_bte_chan *chan)
{
	struct kgni_bte *bte = &chan->nic->bte;
	struct kgni_bte_req *req;

	spin_lock(&bte->lock);
	req = list_first_entry_or_null(&chan->queue, struct kgni_bte_req, node);
	if (req)
		list_del(&req->node);
	spin_unlock(&bte->lock);
	return req;
}

static void kgni_bte_work(struct work_struct *work)
{
	struct kgni_bte_chan *chan = container_of(work, struct kgni_bte_chan, work);
	struct kgni_nic *nic = chan->nic;
	struct kgni_bte_req *req;

	while ((req = kgni_bte_next(chan))) {
		bool fenced = kgni_bte_fences(req);

		kgni_bte_run(&nic->bte, &req->xfer);
		kgni_xfer_finish(&req->xfer, KGNI_CQE_BTE);
		kgni_bte_free(nic, req);
		kgni_bte_done(nic, fenced);
	}
}

/* Return: true if nothing is under way and nothing starts before kgni_bte_done(). */
static bool kgni_bte_claim(struct kgni_bte *bte)
{
	bool idle;

	spin_lock(&bte->lock);
	idle = !bte->inflight;
	if (idle) {
		bte->inflight++;
		bte->fenced = true;
	}
	spin_unlock(&bte->lock);
	return idle;
}

static bool kgni_bte_inline(struct kgni_nic *nic, struct kgni_xfer *x)
{
	if (x->arg.length > KGNI_BTE_INLINE || !kgni_bte_claim(&nic->bte))
		return false;
	kgni_bte_run(&nic->bte, x);
	kgni_xfer_finish(x, KGNI_CQE_BTE);
	kgni_xfer_release(x);
	kgni_bte_done(nic, true);
	return true;
}

/**
 * kgni_bte_post - queue an RDMA post, or carry it out if it is small
 * @nic: who posts
 * @x: the post, checked; what it refers to now belongs to the queue, or is
 *	given back if it is not taken
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS or GNI_RC_ERROR_RESOURCE.
 */
long kgni_bte_post(struct kgni_nic *nic, struct kgni_xfer *x)
{
	struct kgni_bte_req *req;

	if (kgni_bte_inline(nic, x))
		return GNI_RC_SUCCESS;
	if (!kgni_res_charge(nic->job, KGNI_RES_BTE))
		goto release;
	req = kmem_cache_alloc(kgni_bte_cache, GFP_KERNEL_ACCOUNT);
	if (!req)
		goto uncharge;
	req->xfer = *x;
	spin_lock(&nic->bte.lock);
	list_add_tail(&req->node, &nic->bte.pending);
	kgni_bte_dispatch(nic);
	spin_unlock(&nic->bte.lock);
	return GNI_RC_SUCCESS;

uncharge:
	kgni_res_uncharge(nic->job, KGNI_RES_BTE);
release:
	kgni_xfer_release(x);
	return GNI_RC_ERROR_RESOURCE;
}

/* Part of attaching. */
void kgni_bte_attach(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	int i;

	spin_lock_init(&bte->lock);
	INIT_LIST_HEAD(&bte->pending);
	for (i = 0; i < KGNI_BTE_CHANNELS; i++) {
		bte->chan[i].nic = nic;
		INIT_LIST_HEAD(&bte->chan[i].queue);
		INIT_WORK(&bte->chan[i].work, kgni_bte_work);
	}
}

/* Part of kgni_nic_release(): what runs stops at its next piece, the rest never starts. */
void kgni_bte_release(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	struct kgni_bte_req *req, *next;
	LIST_HEAD(dropped);
	int i;

	spin_lock(&bte->lock);
	WRITE_ONCE(bte->dying, true);
	list_splice_init(&bte->pending, &dropped);
	for (i = 0; i < KGNI_BTE_CHANNELS; i++)
		list_splice_tail_init(&bte->chan[i].queue, &dropped);
	spin_unlock(&bte->lock);
	for (i = 0; i < KGNI_BTE_CHANNELS; i++)
		cancel_work_sync(&bte->chan[i].work);
	list_for_each_entry_safe(req, next, &dropped, node)
		kgni_bte_free(nic, req);
}

/**
 * kgni_bte_init - make the workqueue and the request cache
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int __init kgni_bte_init(void)
{
	kgni_bte_cache = KMEM_CACHE(kgni_bte_req, 0);
	if (!kgni_bte_cache)
		return -ENOMEM;
	kgni_bte_wq = alloc_workqueue("kgni_bte", WQ_UNBOUND, 0);
	if (kgni_bte_wq)
		return 0;
	kmem_cache_destroy(kgni_bte_cache);
	return -ENOMEM;
}

/**
 * kgni_bte_exit - undo kgni_bte_init()
 *
 * Context: process, may sleep; no attachment is left.
 */
void kgni_bte_exit(void)
{
	destroy_workqueue(kgni_bte_wq);
	kmem_cache_destroy(kgni_bte_cache);
}
