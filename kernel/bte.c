// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block transfer: RDMA posts, carried out by workers while the poster goes on.
 *
 * An attachment has KGNI_BTE_CHANNELS channels, or uses one of them in mode
 * GNI_CDM_MODE_BTE_SINGLE_CHANNEL, and for posts with an ordering delivery
 * mode. A channel runs its requests in order; channels run side by side. A
 * request with a fence starts when all before it are done, and none after it
 * starts until it is: while one waits, later ones wait in @pending.
 *
 * A small post that finds none queued is done by its poster at once: that costs
 * less than to wake a worker. A post that is queued meanwhile is another poster's,
 * and so in no order with it, but for fences.
 *
 * While the job is suspended none starts, and while a device stands still, its
 * channels do: quiesce.c. They stand still for a while where the device has moved
 * its share: bi.c.
 *
 * kgni_bte.lock guards queues and counts; requests run outside it. Kernel clients
 * post in softirq context.
 */
#include <linux/kcov.h>
#include <linux/slab.h>

#include "kgni.h"

/* What a channel moves before the others have their turn, bytes. */
#define KGNI_BTE_SLICE		(4 * KGNI_CHUNK)
/* The largest post that its poster carries out itself, bytes: a process, a client in the kernel. */
#define KGNI_BTE_INLINE		4096
#define KGNI_BTE_INLINE_KERNEL	KGNI_CHUNK
/* How many requests are started before others may have the lock. */
#define KGNI_BTE_BATCH		64

/**
 * struct kgni_bte_req - a queued RDMA post
 * @node: in bte->pending or in a channel's queue
 * @xfer: the post
 * @done: bytes moved so far
 */
struct kgni_bte_req {
	struct list_head node;
	struct kgni_xfer xfer;
	u64 done;
};

static struct workqueue_struct *kgni_bte_wq;
static struct kmem_cache *kgni_bte_cache;

static bool kgni_bte_fences(const struct kgni_bte_req *req)
{
	return req->xfer.arg.rdma_mode & KGNI_RDMA_FENCE;
}

/* The events of a request have come, or will not. */
static void kgni_bte_free(struct kgni_nic *nic, struct kgni_bte_req *req)
{
	if (req->xfer.src_cq)
		atomic_dec_return_release(&req->xfer.src_cq->owed);	/* see kgni_cq_owed() */
	kgni_xfer_release(&req->xfer);
	kmem_cache_free(kgni_bte_cache, req);
	kgni_res_uncharge(nic->job, KGNI_RES_BTE);
}

/* What must arrive in the order it was posted goes one way. */
static struct kgni_bte_chan *kgni_bte_choose(struct kgni_nic *nic, const struct kgni_xfer *x)
{
	struct kgni_bte *bte = &nic->bte;

	if (nic->modes & GNI_CDM_MODE_BTE_SINGLE_CHANNEL ||
	    x->arg.dlvr_mode & (KGNI_DLV_NO_ADAPT | KGNI_DLV_ORDERED_TAIL))
		return &bte->chan[0];
	return &bte->chan[bte->next++ % KGNI_BTE_CHANNELS];
}

/* Give a request to a channel. bte->lock is held. */
static void kgni_bte_start(struct kgni_nic *nic, struct kgni_bte_req *req)
{
	struct kgni_bte_chan *chan = kgni_bte_choose(nic, &req->xfer);
	struct kgni_bte *bte = &nic->bte;

	bte->inflight++;
	bte->fenced = kgni_bte_fences(req);
	list_add_tail(&req->node, &chan->queue);
	queue_work(kgni_bte_wq, &chan->work);
}

/* Start some of what may start now; when those end others start. bte->lock is held. */
static void kgni_bte_start_some(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	struct kgni_bte_req *req;
	unsigned int n;

	for (n = 0; n < KGNI_BTE_BATCH && !bte->fenced && !bte->dying && kgni_may_start(nic); n++) {
		req = list_first_entry_or_null(&bte->pending, struct kgni_bte_req, node);
		if (!req || (kgni_bte_fences(req) && bte->inflight))
			break;
		list_del(&req->node);
		kgni_bte_start(nic, req);
	}
}

static enum kgni_cqe_status kgni_bte_chunk(struct kgni_xfer *x, u64 done, size_t n)
{
	const struct kgni_ioc_post *a = &x->arg;
	u64 local = a->local_addr + done;
	u64 remote = a->remote_addr + done;

	if (a->type == KGNI_POST_RDMA_PUT)
		return kgni_xfer_chunk(x->remote, remote, x->local, local, n);
	return kgni_xfer_chunk(x->local, local, x->remote, remote, n);
}

/**
 * kgni_bte_run - move bytes of a post
 * @x: the post; its status is set if it fails
 * @done: bytes moved before
 * @limit: how many to move at most, a multiple of KGNI_CHUNK
 * @begin: asked before each piece, whether it may be moved
 *
 * Return: bytes moved in all; the whole length if nothing is left to do.
 */
static u64 kgni_bte_run(struct kgni_xfer *x, u64 done, u64 limit,
			bool (*begin)(struct kgni_xfer *x))
{
	u64 length = x->arg.length;
	u64 end = min(length, done + limit);

	while (done < end && x->status == KGNI_ST_OK) {
		size_t n = min_t(u64, end - done, KGNI_CHUNK);

		if (!begin(x))
			break;
		x->status = kgni_bte_chunk(x, done, n);
		kgni_flow_end(x);
		done += n;
		if (READ_ONCE(x->nic->bte.dying))
			x->status = KGNI_ST_ABORTED;
	}
	return x->status == KGNI_ST_OK ? done : length;
}

/* A request that was in flight is over. bte->lock is held. */
static void kgni_bte_over(struct kgni_nic *nic, bool fenced)
{
	struct kgni_bte *bte = &nic->bte;

	bte->inflight--;
	if (fenced)
		bte->fenced = false;
	kgni_bte_start_some(nic);
}

static void kgni_bte_done(struct kgni_nic *nic, bool fenced)
{
	spin_lock_bh(&nic->bte.lock);
	kgni_bte_over(nic, fenced);
	spin_unlock_bh(&nic->bte.lock);
	kgni_settled(nic);
}

/* The oldest request of a channel; it stays in the queue until it is done. */
static struct kgni_bte_req *kgni_bte_next(struct kgni_bte_chan *chan)
{
	struct kgni_bte *bte = &chan->nic->bte;
	struct kgni_bte_req *req;

	spin_lock_bh(&bte->lock);
	req = list_first_entry_or_null(&chan->queue, struct kgni_bte_req, node);
	spin_unlock_bh(&bte->lock);
	return req;
}

static void kgni_bte_finish(struct kgni_nic *nic, struct kgni_bte_req *req)
{
	bool fenced = kgni_bte_fences(req);

	spin_lock_bh(&nic->bte.lock);
	list_del(&req->node);
	spin_unlock_bh(&nic->bte.lock);
	kgni_xfer_finish(&req->xfer, KGNI_CQE_BTE);
	kgni_bte_free(nic, req);
	kgni_bte_done(nic, fenced);
}

/*
 * A channel has to stand still: until kgni_bte_kick(), or for a time that is known.
 * Return: true if that is over.
 */
static bool kgni_bte_pause(struct kgni_bte_chan *chan, const struct kgni_xfer *x)
{
	u64 until;

	if (!kgni_flows(x))
		return false;
	until = kgni_bi_until(chan->nic->dev);
	if (until)
		hrtimer_start(&chan->timer, ns_to_ktime(until), HRTIMER_MODE_ABS_SOFT);
	return !until;
}

static enum hrtimer_restart kgni_bte_resume(struct hrtimer *timer)
{
	struct kgni_bte_chan *chan = container_of(timer, struct kgni_bte_chan, timer);

	queue_work(kgni_bte_wq, &chan->work);
	return HRTIMER_NORESTART;
}

/*
 * Work on a channel for one slice. Return: true if there is more to do; false also
 * where it has to stand still.
 */
static bool kgni_bte_slice(struct kgni_bte_chan *chan)
{
	struct kgni_bte *bte = &chan->nic->bte;
	u64 left = KGNI_BTE_SLICE;
	struct kgni_bte_req *req;
	u64 before;

	while (!READ_ONCE(bte->dying) && (req = kgni_bte_next(chan))) {
		if (!left)
			return true;
		cond_resched();
		before = req->done;
		req->done = kgni_bte_run(&req->xfer, before, left, kgni_flow_try);
		if (req->done < req->xfer.arg.length && req->done < before + left)
			return kgni_bte_pause(chan, &req->xfer);
		if (req->done < req->xfer.arg.length) {
			left = 0;
			continue;
		}
		left -= min_t(u64, left, max_t(u64, req->done - before, KGNI_CHUNK));
		left = round_down(left, KGNI_CHUNK);
		kgni_bte_finish(chan->nic, req);
	}
	return false;
}

/*
 * The workqueue is first come first served, so a channel that has more to do
 * gets in line behind those of others.
 */
static void kgni_bte_work(struct work_struct *work)
{
	struct kgni_bte_chan *chan = container_of(work, struct kgni_bte_chan, work);

	kcov_remote_start_common(chan->nic->bte.kcov);
	if (kgni_bte_slice(chan))
		queue_work(kgni_bte_wq, work);
	kcov_remote_stop();
}

/* Return: true if a post overtakes none that it must not; then kgni_bte_unclaim() is due. */
static bool kgni_bte_claim(struct kgni_bte *bte, bool fences)
{
	bool idle;

	spin_lock_bh(&bte->lock);
	idle = !bte->fenced && list_empty(&bte->pending) &&
	       bte->inflight == (fences ? 0 : bte->inlined);
	if (idle) {
		bte->inflight++;
		bte->inlined++;
		bte->fenced = fences;
	}
	spin_unlock_bh(&bte->lock);
	return idle;
}

/* Kernel clients come here in softirq context. */
static void kgni_bte_unclaim(struct kgni_nic *nic, bool fences)
{
	spin_lock_bh(&nic->bte.lock);
	nic->bte.inlined--;
	kgni_bte_over(nic, fences);
	spin_unlock_bh(&nic->bte.lock);
	kgni_settled(nic);
}

/* A client in the kernel cannot wait where its device, or the target's, stands still. */
static bool kgni_bte_inline(struct kgni_nic *nic, struct kgni_xfer *x)
{
	bool fences = x->arg.rdma_mode & KGNI_RDMA_FENCE;

	if (x->arg.length > (x->kernel ? KGNI_BTE_INLINE_KERNEL : KGNI_BTE_INLINE) ||
	    !kgni_may_start(nic) || !kgni_bte_claim(&nic->bte, fences))
		return false;
	if (x->kernel && !kgni_flow_try(x)) {
		kgni_bte_unclaim(nic, fences);
		return false;
	}
	if (kgni_bte_run(x, 0, KGNI_CHUNK, kgni_flow_begin) < x->arg.length)
		x->status = KGNI_ST_ABORTED;
	if (x->kernel)
		kgni_flow_end(x);
	kgni_xfer_finish(x, KGNI_CQE_BTE);
	kgni_xfer_release(x);
	kgni_bte_unclaim(nic, fences);
	return true;
}

/**
 * kgni_bte_post - queue an RDMA post, or carry it out if it is small
 * @nic: who posts
 * @x: the post, checked; what it refers to now belongs to the queue, or is
 *	given back if it is not taken
 *
 * Context: process, may sleep; softirq too for a kernel client's.
 * Return: GNI_RC_SUCCESS or GNI_RC_ERROR_RESOURCE.
 */
long kgni_bte_post(struct kgni_nic *nic, struct kgni_xfer *x)
{
	struct kgni_bte_req *req;

	if (kgni_bte_inline(nic, x))
		return GNI_RC_SUCCESS;
	if (!kgni_res_charge(nic->job, KGNI_RES_BTE))
		goto release;
	req = kmem_cache_alloc(kgni_bte_cache, x->kernel ? GFP_ATOMIC | __GFP_NOWARN :
							   GFP_KERNEL_ACCOUNT);
	if (!req)
		goto uncharge;
	req->xfer = *x;
	req->done = 0;
	if (x->src_cq)
		atomic_inc(&x->src_cq->owed);
	spin_lock_bh(&nic->bte.lock);
	list_add_tail(&req->node, &nic->bte.pending);
	kgni_bte_start_some(nic);
	spin_unlock_bh(&nic->bte.lock);
	return GNI_RC_SUCCESS;

uncharge:
	kgni_res_uncharge(nic->job, KGNI_RES_BTE);
release:
	kgni_xfer_release(x);
	return GNI_RC_ERROR_RESOURCE;
}

/* How many RDMA posts of an attachment run, those that wait for a fence not counted. */
unsigned int kgni_bte_count(struct kgni_nic *nic)
{
	unsigned int n;

	spin_lock_bh(&nic->bte.lock);
	n = nic->bte.inflight;
	spin_unlock_bh(&nic->bte.lock);
	return n;
}

/* What kept an attachment's RDMA from moving may be over. Context: any but interrupts. */
void kgni_bte_kick(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	int i;

	spin_lock_bh(&bte->lock);
	if (!bte->dying) {
		kgni_bte_start_some(nic);
		for (i = 0; i < KGNI_BTE_CHANNELS; i++)
			if (!list_empty(&bte->chan[i].queue))
				queue_work(kgni_bte_wq, &bte->chan[i].work);
	}
	spin_unlock_bh(&bte->lock);
}

/* Part of attaching. */
void kgni_bte_attach(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	int i;

	spin_lock_init(&bte->lock);
	INIT_LIST_HEAD(&bte->pending);
	bte->kcov = kcov_common_handle();
	for (i = 0; i < KGNI_BTE_CHANNELS; i++) {
		bte->chan[i].nic = nic;
		INIT_LIST_HEAD(&bte->chan[i].queue);
		INIT_WORK(&bte->chan[i].work, kgni_bte_work);
		hrtimer_init(&bte->chan[i].timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		bte->chan[i].timer.function = kgni_bte_resume;
	}
}

/* Part of kgni_nic_release(): what runs stops at its next piece, the rest never starts. */
void kgni_bte_release(struct kgni_nic *nic)
{
	struct kgni_bte *bte = &nic->bte;
	struct kgni_bte_req *req, *next;
	LIST_HEAD(dropped);
	int i;

	spin_lock_bh(&bte->lock);
	WRITE_ONCE(bte->dying, true);
	spin_unlock_bh(&bte->lock);
	for (i = 0; i < KGNI_BTE_CHANNELS; i++) {
		/* Each may have begun the other; none does so once more. */
		cancel_work_sync(&bte->chan[i].work);
		hrtimer_cancel(&bte->chan[i].timer);
		cancel_work_sync(&bte->chan[i].work);
	}
	list_splice_init(&bte->pending, &dropped);
	for (i = 0; i < KGNI_BTE_CHANNELS; i++)
		list_splice_tail_init(&bte->chan[i].queue, &dropped);
	list_for_each_entry_safe(req, next, &dropped, node) {
		kgni_bte_free(nic, req);
		cond_resched();
	}
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
	/* Kernel clients may be what memory is waited for. */
	kgni_bte_wq = alloc_workqueue("kgni_bte", WQ_UNBOUND | WQ_MEM_RECLAIM,
				      num_possible_cpus());
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
