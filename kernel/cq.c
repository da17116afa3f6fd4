// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: rings in pages of the kernel, mapped into their owner.
 * The protocol is core/ring.h; the layout of an entry is core/cqe.h.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kgni.h"

#define KGNI_CQ_SLOTS_MAX	BIT(20)
#define KGNI_CQ_MODES		(GNI_CQ_BLOCKING | GNI_CQ_PHYS_PAGES | GNI_CQ_UNMANAGED)
/* The id of a queue is in the mmap offset from this bit on. */
#define KGNI_CQ_MMAP_SHIFT	32
#define KGNI_CQ_ID_MAX		((1U << 30) - 1)
/* How often a ring may be mapped: the end of each mapping walks the ring. */
#define KGNI_CQ_MAPS_MAX	256

static size_t kgni_cq_bytes(u32 slots)
{
	return PAGE_ALIGN(KGNI_RING_SLOTS_OFFSET + slots * sizeof(u64));
}

static void kgni_cq_free_pages(struct kgni_cq *cq)
{
	if (cq->mem)
		vunmap(cq->mem);
	while (cq->npages)
		put_page(cq->pages[--cq->npages]);
	kvfree(cq->pages);
	if (cq->user)
		kgni_pages_uncharge(cq->user, kgni_cq_bytes(cq->slots) >> PAGE_SHIFT);
}

static long kgni_cq_alloc_pages(struct kgni_cq *cq, gfp_t gfp)
{
	unsigned int n = kgni_cq_bytes(cq->slots) >> PAGE_SHIFT;

	if (!cq->kernel && !kgni_pages_charge(&cq->user, n))
		return GNI_RC_ERROR_RESOURCE;
	cq->pages = kvcalloc(n, sizeof(*cq->pages), gfp);
	if (!cq->pages)
		goto fail;
	while (cq->npages < n) {
		struct page *page = alloc_page(gfp | __GFP_ZERO);

		if (!page)
			goto fail;
		cq->pages[cq->npages++] = page;
	}
	cq->mem = vmap(cq->pages, n, VM_MAP, PAGE_KERNEL);
	if (!cq->mem)
		goto fail;
	kgni_ring_view_init(&cq->view, cq->mem, cq->slots);
	return GNI_RC_SUCCESS;

fail:
	kgni_cq_free_pages(cq);
	return -ENOMEM;
}

static void kgni_cq_reap(struct kgni_cq *cq)
{
	if (cq->notify)
		eventfd_ctx_put(cq->notify);
	kgni_cq_free_pages(cq);
	kfree_rcu(cq, rcu);
}

static void kgni_cq_free(struct kref *ref)
{
	kgni_cq_reap(container_of(ref, struct kgni_cq, ref));
}

static LLIST_HEAD(kgni_cq_dead);

static void kgni_cq_reap_work(struct work_struct *work)
{
	struct kgni_cq *cq, *next;

	llist_for_each_entry_safe(cq, next, llist_del_all(&kgni_cq_dead), dead_node)
		kgni_cq_reap(cq);
}

static DECLARE_WORK(kgni_cq_reaper, kgni_cq_reap_work);

static void kgni_cq_free_later(struct kref *ref)
{
	llist_add(&container_of(ref, struct kgni_cq, ref)->dead_node, &kgni_cq_dead);
	schedule_work(&kgni_cq_reaper);
}

/* What kgni_cq_put_atomic() left for later is done. */
void kgni_cq_exit(void)
{
	flush_work(&kgni_cq_reaper);
}

/**
 * kgni_cq_put - give a reference back
 * @cq: the queue
 *
 * Context: process, may sleep.
 */
void kgni_cq_put(struct kgni_cq *cq)
{
	kref_put(&cq->ref, kgni_cq_free);
}

/**
 * kgni_cq_put_atomic - give a reference back where nothing may sleep
 * @cq: the queue
 *
 * Context: process or softirq.
 */
void kgni_cq_put_atomic(struct kgni_cq *cq)
{
	kref_put(&cq->ref, kgni_cq_free_later);
}

/**
 * kgni_cq_find - find a queue by its id
 * @nic: attachment it belongs to
 * @id: its id
 *
 * Context: any.
 * Return: the queue, referenced, or NULL.
 */
struct kgni_cq *kgni_cq_find(struct kgni_nic *nic, u32 id)
{
	struct kgni_cq *cq;

	rcu_read_lock();
	cq = xa_load(&nic->cqs, id);
	if (cq && !kref_get_unless_zero(&cq->ref))
		cq = NULL;
	rcu_read_unlock();
	return cq;
}

/* The same for a call that names one: that it is not there is counted. */
struct kgni_cq *kgni_cq_named(struct kgni_nic *nic, u32 id)
{
	struct kgni_cq *cq = kgni_cq_find(nic, id);

	if (!cq)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_QUEUE);
	return cq;
}

/**
 * kgni_cq_next - find a queue by its id, or the one after it
 * @nic: attachment it belongs to
 * @id: the id
 *
 * Context: any.
 * Return: the queue, referenced, or NULL if there is none from @id on.
 */
struct kgni_cq *kgni_cq_next(struct kgni_nic *nic, unsigned long id)
{
	struct kgni_cq *cq;

	rcu_read_lock();
	cq = xa_find(&nic->cqs, &id, ULONG_MAX, XA_PRESENT);
	while (cq && !kref_get_unless_zero(&cq->ref))
		cq = xa_find_after(&nic->cqs, &id, ULONG_MAX, XA_PRESENT);
	rcu_read_unlock();
	return cq;
}

static long kgni_cq_new(struct kgni_nic *nic, const struct kgni_ioc_cq_create *arg, bool kernel,
			struct kgni_cq **out)
{
	struct kgni_cq *cq = kzalloc(sizeof(*cq), nic->gfp);
	long rc;

	if (!cq)
		return -ENOMEM;
	kref_init(&cq->ref);
	init_waitqueue_head(&cq->wq);
	cq->slots = roundup_pow_of_two(arg->entries);
	cq->delay = min(arg->delay, cq->slots - 1);
	cq->mode = arg->mode;
	cq->kernel = kernel;
	rc = kgni_cq_alloc_pages(cq, nic->gfp);
	if (rc)
		kfree(cq);
	else
		*out = cq;
	return rc;
}

/* KGNI_IOC_CQ_CREATE. */
long kgni_cq_create(struct kgni_nic *nic, struct kgni_ioc_cq_create *arg)
{
	struct kgni_cq *cq;
	long rc;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->entries || arg->mode & ~KGNI_CQ_MODES)
		return GNI_RC_INVALID_PARAM;
	if (arg->entries > KGNI_CQ_SLOTS_MAX || !kgni_res_charge(nic->job, KGNI_RES_CQ))
		return GNI_RC_ERROR_RESOURCE;
	rc = kgni_cq_new(nic, arg, false, &cq);
	if (rc)
		goto uncharge;
	/* Another thread may guess the id and destroy the queue at once. */
	kref_get(&cq->ref);
	rc = xa_alloc(&nic->cqs, &cq->id, cq, XA_LIMIT(1, KGNI_CQ_ID_MAX), GFP_KERNEL_ACCOUNT);
	if (rc)
		goto put;
	arg->id = cq->id;
	arg->slots = cq->slots;
	arg->mmap_offset = (u64)cq->id << KGNI_CQ_MMAP_SHIFT;
	arg->mmap_length = kgni_cq_bytes(cq->slots);
	kgni_cq_put(cq);
	kgni_netlink_changed();
	return GNI_RC_SUCCESS;

put:
	kgni_cq_put(cq);
	kgni_cq_put(cq);
uncharge:
	kgni_res_uncharge(nic->job, KGNI_RES_CQ);
	return rc;
}

static void kgni_cq_kill(struct kgni_nic *nic, struct kgni_cq *cq)
{
	kgni_netlink_changed();
	WRITE_ONCE(cq->dead, true);
	wake_up_all(&cq->wq);
	kgni_res_uncharge(nic->job, KGNI_RES_CQ);
	kgni_cq_put(cq);
}

/* KGNI_IOC_CQ_DESTROY. What still delivers to the queue delivers to nobody. */
long kgni_cq_destroy(struct kgni_nic *nic, u32 id)
{
	struct kgni_cq *cq = xa_erase(&nic->cqs, id);

	if (!cq) {
		kgni_count_refusal(nic->dev, KGNI_REFUSED_QUEUE);
		return GNI_RC_INVALID_PARAM;
	}
	kgni_cq_kill(nic, cq);
	return GNI_RC_SUCCESS;
}

/**
 * kgni_cq_create_kernel - make a queue of a kernel client
 * @nic: its attachment
 * @entries: entries that it must hold, not 0
 * @delay: events that may wait before their owner hears of them
 * @out: out: the queue; its attachment has no file, so it is mapped nowhere
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE for too many entries or queues;
 * -ENOMEM.
 */
long kgni_cq_create_kernel(struct kgni_nic *nic, u32 entries, u32 delay, struct kgni_cq **out)
{
	struct kgni_ioc_cq_create arg = { .entries = entries, .delay = delay };
	long rc;

	if (entries > KGNI_CQ_SLOTS_MAX || !kgni_res_charge(nic->job, KGNI_RES_CQ))
		return GNI_RC_ERROR_RESOURCE;
	rc = kgni_cq_new(nic, &arg, true, out);
	if (rc)
		goto uncharge;
	rc = xa_alloc(&nic->cqs, &(*out)->id, *out, XA_LIMIT(1, KGNI_CQ_ID_MAX), nic->gfp);
	if (rc)
		goto put;
	kgni_netlink_changed();
	return GNI_RC_SUCCESS;

put:
	kgni_cq_put(*out);
uncharge:
	kgni_res_uncharge(nic->job, KGNI_RES_CQ);
	return rc;
}

/**
 * kgni_cq_destroy_kernel - undo kgni_cq_create_kernel()
 * @nic: the attachment
 * @cq: the queue; what still delivers to it delivers to nobody
 *
 * Context: process, may sleep.
 */
void kgni_cq_destroy_kernel(struct kgni_nic *nic, struct kgni_cq *cq)
{
	xa_erase(&nic->cqs, cq->id);
	kgni_cq_kill(nic, cq);
}

/* Part of kgni_nic_release(). */
void kgni_cq_destroy_all(struct kgni_nic *nic)
{
	struct kgni_cq *cq;
	unsigned long id;

	xa_for_each(&nic->cqs, id, cq) {
		xa_erase(&nic->cqs, id);
		kgni_cq_kill(nic, cq);
	}
	xa_destroy(&nic->cqs);
}

/* Tell the completion channel, once for each time that it was asked to be told. */
static void kgni_cq_notify(struct kgni_cq *cq)
{
	struct eventfd_ctx *notify;

	notify = smp_load_acquire(&cq->notify);	/* pairs with kgni_cq_set_notify() */
	if (notify && kgni_ring_notify_disarm(&cq->view))
		eventfd_signal(notify, 1);
}

/* Something was put into the ring, or lost: who should know of it? */
static void kgni_cq_alert(struct kgni_cq *cq, bool dropped)
{
	/* The push's barrier pairs with those of kgni_cq_sleep() and of arming. */
	bool notify = core_load(&cq->view.ring->notify);
	bool sleeper = wq_has_sleeper(&cq->wq);

	if ((!notify && !sleeper) || kgni_ring_masked(&cq->view))
		return;
	if (!dropped && kgni_ring_count(&cq->view) <= cq->delay)
		return;
	if (notify)
		kgni_cq_notify(cq);
	if (sleeper) {
		kgni_ring_disarm(&cq->view);
		wake_up_all(&cq->wq);
	}
}

/**
 * kgni_cq_push - deliver an event
 * @cq: the queue, referenced
 * @entry: the event, its upper half not zero
 *
 * A full queue drops the event and tells its owner so. A sleeper is woken when
 * more events wait than its queue's delay allows.
 *
 * Context: process or softirq, interrupts on.
 * Return: false if the event was dropped.
 */
bool kgni_cq_push(struct kgni_cq *cq, u64 entry)
{
	bool dropped;

	if (cq->mode & GNI_CQ_UNMANAGED)
		return true;
	dropped = !kgni_ring_push(&cq->view, entry);
	if (cq->kernel)
		kapi_cq_event(cq, entry, dropped);
	else
		kgni_cq_alert(cq, dropped);
	return !dropped;
}

/* KGNI_IOC_CQ_WAKE: events may have come while nobody was to be woken. */
long kgni_cq_wake(struct kgni_nic *nic, const struct kgni_ioc_cq_wake *arg)
{
	struct kgni_cq *cq;

	if (arg->reserved)
		return -EINVAL;
	cq = kgni_cq_named(nic, arg->id);
	if (!cq)
		return GNI_RC_INVALID_PARAM;
	if (kgni_ring_ready(&cq->view))
		kgni_cq_alert(cq, true);
	kgni_cq_put(cq);
	return GNI_RC_SUCCESS;
}

/* KGNI_IOC_CQ_OWED. With nothing owed, the events of all that was posted came, or were lost. */
long kgni_cq_owed(struct kgni_nic *nic, const struct kgni_ioc_cq_owed *arg)
{
	struct kgni_cq *cq;
	bool owed;

	if (arg->reserved)
		return -EINVAL;
	cq = kgni_cq_named(nic, arg->id);
	if (!cq)
		return GNI_RC_INVALID_PARAM;
	owed = atomic_read_acquire(&cq->owed);		/* pairs with kgni_bte_free() */
	kgni_cq_put(cq);
	return owed ? GNI_RC_NOT_DONE : GNI_RC_SUCCESS;
}

/* KGNI_IOC_CQ_NOTIFY. */
long kgni_cq_set_notify(struct kgni_nic *nic, const struct kgni_ioc_cq_notify *arg)
{
	struct kgni_cq *cq = kgni_cq_named(nic, arg->id);
	struct eventfd_ctx *notify;
	long rc = GNI_RC_SUCCESS;

	if (!cq)
		return GNI_RC_INVALID_PARAM;
	notify = eventfd_ctx_fdget(arg->fd);
	if (IS_ERR(notify)) {
		rc = GNI_RC_INVALID_PARAM;
		goto put;
	}
	/* A full barrier: who sees the pointer sees what is behind it. */
	if (cmpxchg(&cq->notify, NULL, notify)) {
		eventfd_ctx_put(notify);
		rc = GNI_RC_INVALID_STATE;
	}
put:
	kgni_cq_put(cq);
	return rc;
}

/**
 * kgni_cq_told - a process put an event into a ring, or found no room
 * @cq: the queue, referenced, of a process
 * @dropped: it found no room
 *
 * Where nobody sleeps any more who armed the ring, processes are not to come here
 * for the next event.
 *
 * Context: process.
 */
void kgni_cq_told(struct kgni_cq *cq, bool dropped)
{
	if (dropped || kgni_ring_ready(&cq->view))
		kgni_cq_alert(cq, dropped);
	if (wq_has_sleeper(&cq->wq))
		return;
	/* Whoever fell asleep meanwhile arms it again. */
	if (kgni_ring_disarm(&cq->view) && wq_has_sleeper(&cq->wq))
		wake_up_all(&cq->wq);
}

/**
 * kgni_cq_mapped - count another mapping of a ring
 * @cq: the queue, referenced as long as the mapping is there
 *
 * Context: any.
 * Return: false if there are too many; else kgni_cq_unmapped() is due at its end.
 */
bool kgni_cq_mapped(struct kgni_cq *cq)
{
	return atomic_add_unless(&cq->maps, 1, KGNI_CQ_MAPS_MAX);
}

/**
 * kgni_cq_unmapped - a mapping of a ring ends
 * @cq: the queue
 *
 * A process that had the ring may have died between reserve and publish, or
 * between publish and waking the sleeper.
 *
 * Context: process.
 */
void kgni_cq_unmapped(struct kgni_cq *cq)
{
	kgni_ring_repair(&cq->view, kgni_cqe_hole());
	wake_up_all(&cq->wq);
	atomic_dec(&cq->maps);
}

static void kgni_cq_vma_open(struct vm_area_struct *vma)
{
	struct kgni_cq *cq = vma->vm_private_data;

	atomic_inc(&cq->maps);
	kref_get(&cq->ref);
}

static void kgni_cq_vma_close(struct vm_area_struct *vma)
{
	struct kgni_cq *cq = vma->vm_private_data;

	kgni_cq_unmapped(cq);
	kgni_cq_put(cq);
}

static int kgni_cq_vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static int kgni_cq_vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct kgni_cq_vm_ops = {
	.open = kgni_cq_vma_open,
	.close = kgni_cq_vma_close,
	.may_split = kgni_cq_vma_may_split,
	.mremap = kgni_cq_vma_mremap,
};

/* Map a ring, whole and shared, at the offset that KGNI_IOC_CQ_CREATE gave. */
int kgni_cq_mmap(struct kgni_nic *nic, struct vm_area_struct *vma)
{
	const unsigned int shift = KGNI_CQ_MMAP_SHIFT - PAGE_SHIFT;
	unsigned long id = vma->vm_pgoff >> shift;
	struct kgni_cq *cq;
	int rc;

	if (id > KGNI_CQ_ID_MAX || vma->vm_pgoff != id << shift)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	cq = kgni_cq_find(nic, id);
	if (!cq)
		return -EINVAL;
	if (vma->vm_end - vma->vm_start != (unsigned long)cq->npages << PAGE_SHIFT) {
		rc = -EINVAL;
		goto put;
	}
	/* A child's copy would end in a repair while the parent's producers live. */
	vma->vm_flags |= VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP;
	vma->vm_flags &= ~VM_MAYEXEC;
	if (!kgni_cq_mapped(cq)) {
		rc = -EBUSY;
		goto put;
	}
	rc = vm_map_pages_zero(vma, cq->pages, cq->npages);
	if (rc)
		goto unmap;
	vma->vm_private_data = cq;
	vma->vm_ops = &kgni_cq_vm_ops;
	return 0;

unmap:
	atomic_dec(&cq->maps);
put:
	kgni_cq_put(cq);
	return rc;
}

/* One of the queues that a caller waits for. */
struct kgni_cq_waiter {
	struct kgni_cq *cq;
	struct wait_queue_entry wait;
};

/* Find a queue with an event; GNI_RC_TIMEOUT if there is none yet. */
static int kgni_cq_scan(struct kgni_cq_waiter *w, u32 count, u32 *which)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (READ_ONCE(w[i].cq->dead))
			return GNI_RC_INVALID_PARAM;
		if (kgni_ring_ready(&w[i].cq->view)) {
			*which = i;
			return GNI_RC_SUCCESS;
		}
	}
	return GNI_RC_TIMEOUT;
}

static long kgni_cq_sleep(struct kgni_cq_waiter *w, u32 count, u64 timeout_ms, u32 *which)
{
	ktime_t end = ktime_add_safe(ktime_get(), kgni_timeout(timeout_ms));
	bool expired = !timeout_ms;
	long rc;
	u32 i;

	for (i = 0; i < count; i++) {
		init_waitqueue_entry(&w[i].wait, current);
		add_wait_queue(&w[i].cq->wq, &w[i].wait);
	}
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		for (i = 0; i < count; i++)
			kgni_ring_arm(&w[i].cq->view);
		/* Its barrier pairs with the one in kgni_cq_push(). */
		rc = kgni_cq_scan(w, count, which);
		if (rc != GNI_RC_TIMEOUT || expired)
			break;
		if (signal_pending(current)) {
			rc = -EINTR;
			break;
		}
		expired = !schedule_hrtimeout_range(&end, current->timer_slack_ns,
						    HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
	for (i = 0; i < count; i++)
		remove_wait_queue(&w[i].cq->wq, &w[i].wait);
	return rc;
}

static long kgni_cq_waiter_init(struct kgni_cq_waiter *w, const struct kgni_cq_ref *ref)
{
	struct fd fd = fdget(ref->fd);
	struct kgni_nic *nic;

	if (!fd.file)
		return GNI_RC_INVALID_PARAM;
	nic = kgni_file_nic(fd.file);
	if (nic)
		w->cq = kgni_cq_find(nic, ref->id);
	fdput(fd);
	if (!w->cq)
		return GNI_RC_INVALID_PARAM;
	return w->cq->mode & GNI_CQ_BLOCKING ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE;
}

/* KGNI_IOC_CQ_WAIT. */
long kgni_cq_wait(struct kgni_device *dev, struct kgni_ioc_cq_wait *arg)
{
	const struct kgni_cq_ref __user *user = u64_to_user_ptr(arg->cqs);
	struct kgni_cq_waiter *w;
	struct kgni_cq_ref ref;
	long rc = GNI_RC_SUCCESS;
	u32 i;

	if (!arg->count || arg->count > KGNI_CQ_WAIT_MAX)
		return GNI_RC_INVALID_PARAM;
	w = kvcalloc(arg->count, sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return -ENOMEM;
	for (i = 0; i < arg->count && !rc; i++) {
		if (copy_from_user(&ref, user + i, sizeof(ref)))
			rc = -EFAULT;
		else
			rc = kgni_cq_waiter_init(&w[i], &ref);
	}
	if (rc == GNI_RC_INVALID_PARAM)
		kgni_count_refusal(dev, KGNI_REFUSED_QUEUE);
	if (!rc)
		rc = kgni_cq_sleep(w, arg->count, arg->timeout_ms, &arg->which);
	for (i = 0; i < arg->count; i++)
		if (w[i].cq)
			kgni_cq_put(w[i].cq);
	kvfree(w);
	return rc;
}
