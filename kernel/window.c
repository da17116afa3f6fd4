// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: registered pages of a peer, and the ring of the queue behind them,
 * mapped into the process that opened the window.
 *
 * A window is opened after the checks of a post, and only inside one job and
 * user. Its pages come by faults: each holds the registration by
 * kgni_mdd_enter() while it puts the page in, so that after kgni_mdd_retire()
 * has waited for those, nothing comes any more, and kgni_windows_zap() takes away
 * what came. From then on faults find a page of the file's own, so that the
 * program gets no signal.
 *
 * The program learns of it by a mark in the state page, which it looks at after
 * each access. Whoever was led to the own page must see the mark: it is set, and
 * every CPU has passed a barrier, before the first fault finds that page.
 *
 * While a device stands still, or a job, its windows are empty and faults wait.
 *
 * kgni_windows_lock guards the lists of windows, and the end of each. It is taken
 * under mmap_lock, so nothing is allocated under it. A window's own lock is of its
 * faults only.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pfn_t.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/srcu.h>

#include "kgni.h"
#include "trace.h"

/* Offsets of windows: bit 62, the part of a file, the index, and the byte there. */
#define KGNI_WIN_BIT		BIT_ULL(62 - PAGE_SHIFT)
#define KGNI_WIN_PART_SHIFT	(58 - PAGE_SHIFT)
#define KGNI_WIN_PART_END	(60 - PAGE_SHIFT)
#define KGNI_WIN_INDEX_SHIFT	(44 - PAGE_SHIFT)
#define KGNI_WIN_PAGES_MAX	BIT(KGNI_WIN_INDEX_SHIFT)
#define KGNI_WIN_INDICES	BIT(KGNI_WIN_PART_SHIFT - KGNI_WIN_INDEX_SHIFT)

/* A fault brings so many pages, those around the one that is wanted. */
#define KGNI_WIN_AROUND		16UL
#define KGNI_WIN_AROUND_MAX	((unsigned long)PTRS_PER_PTE)

enum kgni_win_part {
	KGNI_WIN_DATA,
	KGNI_WIN_RING,
	KGNI_WIN_STATE,
	KGNI_WIN_STATS,
};

/**
 * struct kgni_windows - the windows of an open file
 * @ref: the file, and its windows
 * @mapping: where the file's mappings are found, to take pages out of them
 * @lock: guards who makes the pages
 * @state: pages that tell the program of its windows
 * @stats: page where it counts what it did through them
 * @own: page that it finds in windows that lead nowhere any more
 * @table: windows by index
 * @dev: the file's device
 * @node: in kgni_windows_sets, once there are pages
 */
struct kgni_windows {
	struct kref ref;
	struct address_space mapping;
	struct mutex lock;	/* pages */
	struct kgni_window_state *state;
	struct page *stats;
	struct page *own;
	struct xarray table;
	const struct kgni_device *dev;
	struct list_head node;
};

/**
 * struct kgni_window - a window
 * @ref: its file's table, and mappings
 * @rcu: for the free
 * @set: those of its file
 * @dev: its file's device; compared, never followed
 * @job: and job; likewise
 * @to: device that the region is on
 * @mdd: the region
 * @cq: the queue behind it, or NULL
 * @node: in mdd->windows
 * @all: in kgni_windows_all
 * @fault: of those who put pages in: what is to be a table of small pages must not
 *	become a huge page meanwhile
 * @index: its name in its file
 * @first: first page of the region that is in it
 * @npages: how many are
 * @closed: its index may be another's
 * @dead: it leads nowhere any more, whatever the region does
 */
struct kgni_window {
	struct kref ref;
	struct rcu_head rcu;
	struct kgni_windows *set;
	const struct kgni_device *dev;
	const struct kgni_job *job;
	struct kgni_device *to;
	struct kgni_mdd *mdd;
	struct kgni_cq *cq;
	struct list_head node;
	struct list_head all;
	struct mutex fault;	/* pages */
	u32 index;
	unsigned long first;
	unsigned long npages;
	bool closed;
	bool dead;
};

static DEFINE_MUTEX(kgni_windows_lock);
static LIST_HEAD(kgni_windows_all);
/* Whoever puts pages in reads dead, and whether devices and jobs stand still, under it. */
DEFINE_STATIC_SRCU(kgni_windows_srcu);
/* How many want posts to go by the driver; under kgni_windows_lock. */
static unsigned int kgni_windows_watched;
static LIST_HEAD(kgni_windows_sets);

static_assert(sizeof(struct kgni_window_state) == KGNI_MMAP_STATE_SIZE);
static_assert(KGNI_MMAP_STATE_SIZE % PAGE_SIZE == 0);
static_assert(KGNI_MMAP_PAGE == PAGE_SIZE);
static_assert(KGNI_WINDOWS_MAX <= KGNI_WIN_INDICES);
static_assert(KGNI_STAT_COUNT * sizeof(u64) <= PAGE_SIZE);

/* --- the windows of a file --------------------------------------------------- */

/**
 * kgni_windows_new - prepare a file for windows
 * @file: the file, which nothing is mapped from yet
 *
 * Context: process, may sleep.
 * Return: for kgni_windows_release(); NULL without memory.
 */
struct kgni_windows *kgni_windows_new(struct file *file)
{
	struct kgni_windows *set = kzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);

	if (!set)
		return NULL;
	kref_init(&set->ref);
	mutex_init(&set->lock);
	INIT_LIST_HEAD(&set->node);
	xa_init_flags(&set->table, XA_FLAGS_ALLOC);
	address_space_init_once(&set->mapping);
	set->mapping.host = file->f_mapping->host;
	set->mapping.a_ops = file->f_mapping->a_ops;
	mapping_set_gfp_mask(&set->mapping, mapping_gfp_mask(file->f_mapping));
	file->f_mapping = &set->mapping;
	return set;
}

static void kgni_windows_free(struct kref *ref)
{
	struct kgni_windows *set = container_of(ref, struct kgni_windows, ref);

	if (set->state)
		free_pages_exact(set->state, KGNI_MMAP_STATE_SIZE);
	if (set->stats)
		__free_page(set->stats);
	if (set->own)
		__free_page(set->own);
	xa_destroy(&set->table);
	kfree(set);
}

/* Call with set->lock held. */
static int kgni_windows_alloc(struct kgni_windows *set)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;

	if (!set->own)
		set->own = alloc_page(gfp);
	if (!set->stats)
		set->stats = alloc_page(gfp);
	if (!set->own || !set->stats)
		return -ENOMEM;
	set->state = alloc_pages_exact(KGNI_MMAP_STATE_SIZE, gfp);
	return set->state ? 0 : -ENOMEM;
}

/* Are posts to go by the driver? kgni_windows_lock is held. */
static void kgni_windows_set_flags(const struct kgni_windows *set)
{
	const bool driver = kgni_windows_watched || READ_ONCE(set->dev->bi.active);

	WRITE_ONCE(set->state->flags, driver ? KGNI_DRIVER_ONLY : 0);
}

/* The pages that all windows of a file need. */
static int kgni_windows_pages(struct kgni_windows *set, struct kgni_nic *nic)
{
	int rc = 0;

	mutex_lock(&set->lock);
	if (set->state)
		goto unlock;
	rc = kgni_windows_alloc(set);
	if (rc)
		goto unlock;
	mutex_lock(&kgni_windows_lock);
	set->dev = nic->dev;
	list_add(&set->node, &kgni_windows_sets);
	kgni_windows_set_flags(set);
	mutex_unlock(&kgni_windows_lock);
	smp_store_release(&nic->counted, page_address(set->stats));	/* kgni_nic_stats() */
unlock:
	mutex_unlock(&set->lock);
	return rc;
}

static void kgni_windows_watch(int n)
{
	struct kgni_windows *set;

	mutex_lock(&kgni_windows_lock);
	kgni_windows_watched += n;
	list_for_each_entry(set, &kgni_windows_sets, node)
		kgni_windows_set_flags(set);
	mutex_unlock(&kgni_windows_lock);
}

/**
 * kgni_windows_paced - a device is to move things for a share of the time, or always
 *
 * What goes by windows cannot be held, so where a share counts nothing does.
 *
 * Context: process, may sleep.
 */
void kgni_windows_paced(void)
{
	kgni_windows_watch(0);
}

/**
 * kgni_windows_watch_on - have all posts go by the driver, where they are seen
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int kgni_windows_watch_on(void)
{
	kgni_windows_watch(1);
	return 0;
}

/* Undo kgni_windows_watch_on(). */
void kgni_windows_watch_off(void)
{
	kgni_windows_watch(-1);
}

/* --- the life of a window ---------------------------------------------------- */

/* Tell the program whether it leads to its region. kgni_windows_lock is held. */
static void kgni_window_mark(const struct kgni_window *w, u8 live)
{
	if (!w->closed)
		WRITE_ONCE(w->set->state->live[w->index], live);
}

static void kgni_window_barrier(void *unused)
{
	smp_mb();	/* see kgni_windows_seen() */
}

/*
 * From here on no access that comes after another in a program sees a mark as it
 * was before, unless the other one was made before, too.
 */
static void kgni_windows_seen(void)
{
	on_each_cpu(kgni_window_barrier, NULL, 1);
}

static void kgni_window_destroy(struct kgni_window *w)
{
	if (w->mdd)
		kgni_mdd_put(w->mdd);
	if (w->cq)
		kgni_cq_put(w->cq);
	if (w->to)
		put_device(&w->to->dev);
	kref_put(&w->set->ref, kgni_windows_free);
	kfree_rcu(w, rcu);
}

static void kgni_window_free(struct kref *ref)
{
	struct kgni_window *w = container_of(ref, struct kgni_window, ref);

	list_del(&w->node);
	list_del(&w->all);
	mutex_unlock(&kgni_windows_lock);
	kgni_window_destroy(w);
}

static void kgni_window_put(struct kgni_window *w)
{
	kref_put_mutex(&w->ref, kgni_window_free, &kgni_windows_lock);
}

static struct kgni_window *kgni_window_find(struct kgni_windows *set, u32 index)
{
	struct kgni_window *w;

	rcu_read_lock();
	w = xa_load(&set->table, index);
	if (w && !kref_get_unless_zero(&w->ref))
		w = NULL;
	rcu_read_unlock();
	return w;
}

/* What an offset names, in pages; the part has no more than its first. */
static bool kgni_window_named(u64 pgoff, enum kgni_win_part *part, u32 *index)
{
	*part = pgoff >> KGNI_WIN_PART_SHIFT & 3;
	*index = pgoff >> KGNI_WIN_INDEX_SHIFT & (KGNI_WIN_INDICES - 1);
	return pgoff >> KGNI_WIN_PART_END == KGNI_WIN_BIT >> KGNI_WIN_PART_END &&
	       !(pgoff & (KGNI_WIN_PAGES_MAX - 1));
}

static u64 kgni_window_pgoff(const struct kgni_window *w, enum kgni_win_part part)
{
	return KGNI_WIN_BIT | (u64)part << KGNI_WIN_PART_SHIFT |
	       (u64)w->index << KGNI_WIN_INDEX_SHIFT;
}

/* Take all pages out of it that are there now. */
static void kgni_window_empty(const struct kgni_window *w, enum kgni_win_part part)
{
	unsigned long n = part == KGNI_WIN_RING ? (w->cq ? w->cq->npages : 0) : w->npages;

	if (n)
		unmap_mapping_range(&w->set->mapping, kgni_window_pgoff(w, part) << PAGE_SHIFT,
				    (loff_t)n << PAGE_SHIFT, 1);
}

/**
 * kgni_windows_mark - tell those who have windows of a region that it ends
 * @mdd: the region, which nobody finds any more
 *
 * Until kgni_windows_zap() they lead to the region or to a page of the file's own,
 * and no new ones come.
 *
 * Context: process, may sleep; any for a region of a client in the kernel.
 */
void kgni_windows_mark(struct kgni_mdd *mdd)
{
	struct kgni_window *w;

	WRITE_ONCE(mdd->closed, true);
	smp_mb();	/* pairs with kgni_window_publish() */
	if (likely(!READ_ONCE(mdd->windowed)))
		return;
	mutex_lock(&kgni_windows_lock);
	list_for_each_entry(w, &mdd->windows, node) {
		kgni_window_mark(w, 0);
		trace_kgni_window_revoke(w->index, mdd);
	}
	mutex_unlock(&kgni_windows_lock);
	kgni_windows_seen();
}

/**
 * kgni_windows_zap - take the pages of a region out of all windows
 * @mdd: the region; kgni_mdd_enter() refuses it, and who entered has left
 *
 * Context: as kgni_windows_mark().
 */
void kgni_windows_zap(struct kgni_mdd *mdd)
{
	struct kgni_window *w, *next;

	if (likely(!READ_ONCE(mdd->windowed)))
		return;
	mutex_lock(&kgni_windows_lock);
	list_for_each_entry_safe(w, next, &mdd->windows, node) {
		kgni_window_empty(w, KGNI_WIN_DATA);
		list_del_init(&w->node);
	}
	mutex_unlock(&kgni_windows_lock);
}

/**
 * kgni_windows_still - empty the windows of a device or job that stands still
 * @dev: windows to it, and those of its files; or NULL
 * @job: windows of its files; or NULL
 *
 * It was marked so that faults wait.
 *
 * Context: process, may sleep.
 */
void kgni_windows_still(const struct kgni_device *dev, const struct kgni_job *job)
{
	struct kgni_window *w;

	synchronize_srcu_expedited(&kgni_windows_srcu);
	mutex_lock(&kgni_windows_lock);
	list_for_each_entry(w, &kgni_windows_all, all) {
		if (w->to != dev && w->dev != dev && w->job != job)
			continue;
		kgni_window_empty(w, KGNI_WIN_DATA);
		kgni_window_empty(w, KGNI_WIN_RING);
	}
	mutex_unlock(&kgni_windows_lock);
}

/**
 * kgni_windows_gone - end the windows from and to a device that is deleted
 * @dev: the device, marked as gone
 *
 * Context: process, may sleep.
 */
void kgni_windows_gone(const struct kgni_device *dev)
{
	struct kgni_window *w;

	mutex_lock(&kgni_windows_lock);
	list_for_each_entry(w, &kgni_windows_all, all)
		if (w->to == dev || w->dev == dev)
			kgni_window_mark(w, 0);
	kgni_windows_seen();
	list_for_each_entry(w, &kgni_windows_all, all)
		if (w->to == dev || w->dev == dev)
			WRITE_ONCE(w->dead, true);
	synchronize_srcu_expedited(&kgni_windows_srcu);
	list_for_each_entry(w, &kgni_windows_all, all)
		if (w->dead)
			kgni_window_empty(w, KGNI_WIN_DATA);
	mutex_unlock(&kgni_windows_lock);
}

/* --- opening ------------------------------------------------------------------ */

/* Find the region, as a post would. */
static long kgni_window_target(struct kgni_nic *nic, struct kgni_window *w,
			       const struct kgni_ioc_window_open *arg)
{
	struct kgni_device *dev;
	struct kgni_job *job;

	rcu_read_lock();
	dev = kgni_device_of(nic->job, arg->remote_pe);
	job = dev ? kgni_job_peer(dev, nic->job) : NULL;
	if (job) {
		get_device(&dev->dev);
		w->to = dev;
		w->mdd = kgni_mdd_find(job, &arg->remote);
	}
	rcu_read_unlock();
	return w->mdd ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/* Which pages of the region: those around the address, no more than a window may have. */
static void kgni_window_range(const struct kgni_nic *nic, struct kgni_window *w, u64 addr)
{
	unsigned long max = KGNI_WIN_PAGES_MAX;

	if (nic->modes & GNI_CDM_MODE_FMA_SMALL_WINDOW)
		max = DIV_ROUND_UP(READ_ONCE(nic->dev->window_bytes), PAGE_SIZE);
	w->first = (addr - w->mdd->base) >> PAGE_SHIFT;
	w->first -= w->first % max;
	w->npages = min(max, w->mdd->npages - w->first);
}

/*
 * May pages of the region be mapped? Not those of clients in the kernel, of a
 * reserved region that is being filled, or of another user whose job somebody
 * joined by privilege. The region is entered.
 */
static long kgni_window_check(const struct kgni_nic *nic, struct kgni_window *w,
			      const struct kgni_ioc_window_open *arg)
{
	struct kgni_mdd *mdd = w->mdd;

	if (!mdd->mem || !mdd->mem->mm || mdd->mem->sparse || mdd->exact ||
	    !uid_eq(mdd->uid, nic->cred->euid))
		return GNI_RC_PERMISSION_ERROR;
	if (mdd->cq) {
		kref_get(&mdd->cq->ref);
		w->cq = mdd->cq;
	}
	if (arg->flags & KGNI_WINDOW_QUEUE)
		return mdd->cq ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
	if (!kgni_mdd_covers(mdd, arg->addr, 1))
		return GNI_RC_INVALID_PARAM;
	kgni_window_range(nic, w, arg->addr);
	return GNI_RC_SUCCESS;
}

static long kgni_window_prepare(struct kgni_nic *nic, struct kgni_window *w,
				const struct kgni_ioc_window_open *arg)
{
	long rc = kgni_window_target(nic, w, arg);

	if (rc)
		return rc;
	if (!kgni_mdd_enter(w->mdd))
		return GNI_RC_INVALID_PARAM;
	rc = kgni_window_check(nic, w, arg);
	kgni_mdd_exit(w->mdd);
	return rc;
}

/* From here on it is ended with its region. */
static long kgni_window_publish(struct kgni_nic *nic, struct kgni_window *w)
{
	struct kgni_mdd *mdd = w->mdd;
	long rc = GNI_RC_INVALID_PARAM;

	mutex_lock(&kgni_windows_lock);
	WRITE_ONCE(mdd->windowed, true);
	smp_mb();	/* pairs with kgni_windows_mark() */
	if (!READ_ONCE(mdd->closed) && !READ_ONCE(w->to->gone) && !READ_ONCE(nic->dev->gone)) {
		list_add(&w->node, &mdd->windows);
		list_add(&w->all, &kgni_windows_all);
		kgni_window_mark(w, 1);
		rc = GNI_RC_SUCCESS;
	}
	mutex_unlock(&kgni_windows_lock);
	return rc;
}

static void kgni_window_describe(const struct kgni_window *w, struct kgni_ioc_window_open *arg)
{
	arg->addr = w->mdd->base + ((u64)w->first << PAGE_SHIFT);
	arg->length = (u64)w->npages << PAGE_SHIFT;
	arg->data_offset = kgni_window_pgoff(w, KGNI_WIN_DATA) << PAGE_SHIFT;
	arg->index = w->index;
	arg->rights = w->mdd->flags & GNI_MEM_READ_ONLY ? 0 : KGNI_WINDOW_WRITE;
	arg->ring_offset = 0;
	arg->ring_length = 0;
	arg->slots = 0;
	arg->delay = 0;
	if (!w->cq)
		return;
	arg->rights |= KGNI_WINDOW_EVENTS;
	if (w->cq->mode & GNI_CQ_UNMANAGED)
		arg->rights |= KGNI_WINDOW_SINK;
	if (w->cq->kernel || w->cq->mode & GNI_CQ_UNMANAGED)
		return;
	arg->ring_offset = kgni_window_pgoff(w, KGNI_WIN_RING) << PAGE_SHIFT;
	arg->ring_length = (u64)w->cq->npages << PAGE_SHIFT;
	arg->slots = w->cq->slots;
	arg->delay = w->cq->delay;
}

static struct kgni_window *kgni_window_new(struct kgni_windows *set, struct kgni_nic *nic)
{
	struct kgni_window *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	kref_init(&w->ref);
	mutex_init(&w->fault);
	kref_get(&set->ref);
	w->set = set;
	w->dev = nic->dev;
	w->job = nic->job;
	return w;
}

/**
 * kgni_window_open - KGNI_IOC_WINDOW_OPEN: open a window to a region
 * @set: windows of the caller's file
 * @nic: its attachment
 * @arg: which region, and what comes of it
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if there is no such region, or it
 * has not the address; GNI_RC_PERMISSION_ERROR for one that is not mapped
 * anywhere; GNI_RC_ERROR_RESOURCE for too many; -errno.
 */
long kgni_window_open(struct kgni_windows *set, struct kgni_nic *nic,
		      struct kgni_ioc_window_open *arg)
{
	struct kgni_window *w;
	long rc;

	if (arg->flags & ~KGNI_WINDOW_QUEUE)
		return -EINVAL;
	rc = kgni_windows_pages(set, nic);
	if (rc)
		return rc;
	w = kgni_window_new(set, nic);
	if (!w)
		return -ENOMEM;
	rc = kgni_window_prepare(nic, w, arg);
	if (rc)
		goto destroy;
	/* Nobody finds it by its index before it is there. */
	rc = xa_alloc(&set->table, &w->index, NULL, XA_LIMIT(0, KGNI_WINDOWS_MAX - 1),
		      GFP_KERNEL_ACCOUNT);
	if (rc) {
		rc = rc == -EBUSY ? GNI_RC_ERROR_RESOURCE : rc;
		goto destroy;
	}
	rc = kgni_window_publish(nic, w);
	if (rc)
		goto release;
	kgni_window_describe(w, arg);
	trace_kgni_window_open(nic, w->mdd, w->index, w->npages);
	xa_store(&set->table, w->index, w, GFP_KERNEL_ACCOUNT);
	return GNI_RC_SUCCESS;

release:
	xa_release(&set->table, w->index);
destroy:
	kgni_window_destroy(w);
	if (rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_PERMISSION_ERROR)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	return rc;
}

/**
 * kgni_window_close - KGNI_IOC_WINDOW_CLOSE: the index may be another's
 * @set: windows of the caller's file
 * @index: its index
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if there is no such window.
 */
long kgni_window_close(struct kgni_windows *set, u32 index)
{
	struct kgni_window *w;

	mutex_lock(&kgni_windows_lock);
	/* A place that is only taken stays so. */
	w = xa_load(&set->table, index);
	if (w) {
		xa_erase(&set->table, index);
		kgni_window_mark(w, 0);
		w->closed = true;
	}
	mutex_unlock(&kgni_windows_lock);
	if (!w)
		return GNI_RC_INVALID_PARAM;
	kgni_window_put(w);
	return GNI_RC_SUCCESS;
}

/* Part of the release of a file; nothing of it is mapped. */
void kgni_windows_release(struct kgni_windows *set)
{
	struct kgni_window *w;
	unsigned long index;

	xa_for_each(&set->table, index, w)
		kgni_window_close(set, index);
	mutex_lock(&kgni_windows_lock);
	list_del(&set->node);
	mutex_unlock(&kgni_windows_lock);
	kref_put(&set->ref, kgni_windows_free);
}

/* What a post would say of a transaction that failed. */
static void kgni_window_failed(struct kgni_nic *nic, const struct kgni_window *w,
			       const struct kgni_ioc_window_wake *arg)
{
	struct kgni_xfer x = {
		.nic = nic,
		.remote = w->mdd,
		.pe = w->to->pe,
		.far = w->to != nic->dev,
		.status = arg->status,
		.arg.type = arg->type,
		.arg.remote_addr = arg->remote_addr,
		.arg.length = arg->length,
	};

	kgni_ntt_from_pe(nic->job, w->to->pe, &x.arg.remote_pe);
	kgni_mdd_handle_of(w->mdd, &x.arg.remote);
	kgni_count(nic, KGNI_STAT_ERROR, 1);
	kgni_error_post(&x);
}

/**
 * kgni_window_wake - KGNI_IOC_WINDOW_WAKE: a transaction was carried out
 * @set: windows of the caller's file
 * @nic: its attachment
 * @arg: through which window, and what came of it
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if there is no such window; -EINVAL.
 */
long kgni_window_wake(struct kgni_windows *set, struct kgni_nic *nic,
		      const struct kgni_ioc_window_wake *arg)
{
	struct kgni_window *w;

	if (arg->reserved || (arg->status && !kgni_post_rule(arg->type)) ||
	    (arg->status != KGNI_ST_OK && arg->status != KGNI_ST_REM_OVERRUN &&
	     arg->status != KGNI_ST_ABORTED))
		return -EINVAL;
	w = kgni_window_find(set, arg->index);
	if (!w)
		return GNI_RC_INVALID_PARAM;
	if (w->cq && !w->cq->kernel)
		kgni_cq_told(w->cq, arg->status == KGNI_ST_REM_OVERRUN);
	if (arg->status)
		kgni_window_failed(nic, w, arg);
	kgni_window_put(w);
	return GNI_RC_SUCCESS;
}

/* --- mapping ------------------------------------------------------------------ */

static vm_fault_t kgni_window_insert(struct vm_area_struct *vma, unsigned long addr,
				     struct page *page)
{
	return vmf_insert_pfn(vma, addr & PAGE_MASK, page_to_pfn(page));
}

/* How many pages a fault brings: more where the target's are larger. */
static unsigned long kgni_window_around(struct page *page)
{
	return clamp(compound_nr(compound_head(page)), KGNI_WIN_AROUND, KGNI_WIN_AROUND_MAX);
}

/* Do these pages lie in memory as a huge page does? */
static bool kgni_window_like_huge(struct page **pages)
{
	/* Memory of a device is the one that can be taken hold of, see below. */
	return IS_ALIGNED(page_to_pfn(pages[0]), PTRS_PER_PTE) &&
	       !is_zone_device_page(pages[0]) &&
	       kgni_pages_in_a_row(pages, PTRS_PER_PTE) == PTRS_PER_PTE;
}

/*
 * Map as a huge page what lies like one, at an address that allows it.
 *
 * Who takes hold of a program's pages without its VMA, as get_user_pages_fast()
 * does, must not find them. Kernels of this age have no mark for that in a PMD, but
 * pages of a device are looked for among the devices', where these are not.
 */
static bool kgni_window_fill_huge(struct vm_fault *vmf, struct page **pages)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long start = vmf->address & PMD_MASK;

	if (!IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) || !IS_ENABLED(CONFIG_ARCH_HAS_PTE_DEVMAP))
		return false;
	if (!pmd_none(*vmf->pmd) || start < vma->vm_start || vma->vm_end - start < PMD_SIZE)
		return false;
	pages += (start - vma->vm_start) >> PAGE_SHIFT;
	return kgni_window_like_huge(pages) &&
	       vmf_insert_pfn_pmd(vmf, __pfn_to_pfn_t(page_to_pfn(pages[0]), PFN_DEV | PFN_MAP),
				  false) == VM_FAULT_NOPAGE;
}

/*
 * Pages from @pages, the one that is wanted first. They are all in one table, since
 * where the next would be there may be a huge page.
 */
static vm_fault_t kgni_window_fill(struct vm_fault *vmf, struct page **pages)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page **wanted = pages + (vmf->pgoff - vma->vm_pgoff);
	unsigned long size = kgni_window_around(*wanted) << PAGE_SHIFT;
	unsigned long addr = round_down(vmf->address, size);
	unsigned long end = min(addr + size, vma->vm_end);
	vm_fault_t rc;

	if (kgni_window_fill_huge(vmf, pages))
		return VM_FAULT_NOPAGE;
	addr = max(addr, vma->vm_start);
	rc = kgni_window_insert(vma, vmf->address, *wanted);
	for (; addr < end && rc == VM_FAULT_NOPAGE; addr += PAGE_SIZE)
		if (kgni_window_insert(vma, addr, pages[(addr - vma->vm_start) >> PAGE_SHIFT]) !=
		    VM_FAULT_NOPAGE)
			break;
	return rc;
}

static vm_fault_t kgni_window_fill_data(struct vm_fault *vmf, const struct kgni_window *w)
{
	vm_fault_t rc;

	if (READ_ONCE(w->dead) || !kgni_mdd_enter(w->mdd))
		return kgni_window_insert(vmf->vma, vmf->address, w->set->own);
	rc = kgni_window_fill(vmf, w->mdd->pages + w->first);
	kgni_mdd_exit(w->mdd);
	return rc;
}

static bool kgni_window_is_ring(const struct vm_area_struct *vma)
{
	return (vma->vm_pgoff >> KGNI_WIN_PART_SHIFT & 3) == KGNI_WIN_RING;
}

/* Bring the page that is wanted, and some around it. */
static vm_fault_t kgni_window_bring(struct vm_fault *vmf, struct kgni_window *w)
{
	vm_fault_t rc = VM_FAULT_NOPAGE;

	mutex_lock(&w->fault);
	/* Another thread may have brought it as a huge page. */
	if (pmd_devmap(*vmf->pmd))
		goto unlock;
	if (kgni_window_is_ring(vmf->vma))
		rc = kgni_window_fill(vmf, w->cq->pages);
	else
		rc = kgni_window_fill_data(vmf, w);
unlock:
	mutex_unlock(&w->fault);
	return rc;
}

/* Let go of the address space, wait until it may go on, and have it fault again. */
static vm_fault_t kgni_window_wait(struct vm_fault *vmf, struct kgni_nic *nic,
				   struct kgni_window *w)
{
	bool interruptible = vmf->flags & FAULT_FLAG_INTERRUPTIBLE && vmf->flags & FAULT_FLAG_USER;
	struct file *file = vmf->vma->vm_file;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	get_file(file);
	kref_get(&w->ref);
	mmap_read_unlock(vmf->vma->vm_mm);
	kgni_window_stand(nic, w->to, interruptible);
	kgni_window_put(w);
	fput(file);
	return VM_FAULT_RETRY;
}

static vm_fault_t kgni_window_fault(struct vm_fault *vmf)
{
	struct kgni_nic *nic = kgni_file_nic(vmf->vma->vm_file);
	struct kgni_window *w = vmf->vma->vm_private_data;
	vm_fault_t rc = VM_FAULT_RETRY;
	int idx;

	idx = srcu_read_lock(&kgni_windows_srcu);
	if (likely(kgni_window_flows(nic, w->to)))
		rc = kgni_window_bring(vmf, w);
	srcu_read_unlock(&kgni_windows_srcu, idx);
	return rc == VM_FAULT_RETRY ? kgni_window_wait(vmf, nic, w) : rc;
}

static void kgni_window_vma_open(struct vm_area_struct *vma)
{
	struct kgni_window *w = vma->vm_private_data;

	kref_get(&w->ref);
}

static void kgni_window_vma_close(struct vm_area_struct *vma)
{
	struct kgni_window *w = vma->vm_private_data;

	if (kgni_window_is_ring(vma))
		kgni_cq_unmapped(w->cq);
	kgni_window_put(w);
}

static int kgni_window_vma_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static int kgni_window_vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct kgni_window_vm_ops = {
	.open = kgni_window_vma_open,
	.close = kgni_window_vma_close,
	.fault = kgni_window_fault,
	.may_split = kgni_window_vma_may_split,
	.mremap = kgni_window_vma_mremap,
};

/* Map a window, or its ring. The mapping has the caller's reference if it is made. */
static int kgni_window_mmap(struct kgni_window *w, enum kgni_win_part part,
			    struct vm_area_struct *vma)
{
	bool ring = part == KGNI_WIN_RING;
	bool writable = ring || !(w->mdd->flags & GNI_MEM_READ_ONLY);
	unsigned long n = w->npages;

	if (ring)
		n = !w->cq || w->cq->kernel ? 0 : w->cq->npages;
	if (!n || vma_pages(vma) != n)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE && !writable)
		return -EACCES;
	if (ring && !kgni_cq_mapped(w->cq))
		return -EBUSY;
	if (!writable)
		vma->vm_flags &= ~VM_MAYWRITE;
	/* No reference to a page leaves the mapping: the end of the region is the end of all. */
	vma->vm_flags |= VM_PFNMAP | VM_IO;
	vma->vm_private_data = w;
	vma->vm_ops = &kgni_window_vm_ops;
	return 0;
}

/* What all windows of the file have in common; once it is there it stays. */
static int kgni_windows_mmap_common(struct kgni_windows *set, enum kgni_win_part part,
				    struct vm_area_struct *vma)
{
	bool writable = part == KGNI_WIN_STATS;
	unsigned long n = writable ? 1 : KGNI_MMAP_STATE_SIZE / PAGE_SIZE;
	struct page *page = NULL;
	unsigned long i;
	int rc = 0;

	mutex_lock(&set->lock);
	if (set->state)
		page = writable ? set->stats : virt_to_page(set->state);
	mutex_unlock(&set->lock);
	if (!page || vma_pages(vma) != n)
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE && !writable)
		return -EACCES;
	if (!writable)
		vma->vm_flags &= ~VM_MAYWRITE;
	for (i = 0; i < n && !rc; i++)
		rc = vm_insert_page(vma, vma->vm_start + i * PAGE_SIZE, page + i);
	return rc;
}

/**
 * kgni_windows_mmap - map what an offset names
 * @set: windows of the file
 * @vma: the mapping: all of a window or ring, or a page
 *
 * Context: process; mmap_lock is held.
 * Return: 0; -EINVAL for an offset of others, or one that names nothing; -EACCES;
 * -EBUSY for a ring that is mapped too often; -ENOMEM.
 */
int kgni_windows_mmap(struct kgni_windows *set, struct vm_area_struct *vma)
{
	enum kgni_win_part part;
	struct kgni_window *w;
	u32 index;
	int rc;

	if (!kgni_window_named(vma->vm_pgoff, &part, &index) || !(vma->vm_flags & VM_SHARED) ||
	    vma->vm_flags & VM_EXEC)
		return -EINVAL;
	vma->vm_flags |= VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP;
	vma->vm_flags &= ~VM_MAYEXEC;
	if (part == KGNI_WIN_STATE || part == KGNI_WIN_STATS)
		return index ? -EINVAL : kgni_windows_mmap_common(set, part, vma);
	w = kgni_window_find(set, index);
	if (!w)
		return -EINVAL;
	rc = kgni_window_mmap(w, part, vma);
	if (rc)
		kgni_window_put(w);
	return rc;
}

/**
 * kgni_windows_area - find addresses for a mapping, those where pages can be huge
 * @set: windows of the file
 * @file: the file
 * @addr: where the caller wants it, or 0
 * @len: bytes
 * @pgoff: what it names, in pages
 * @flags: MAP_...
 *
 * Context: process; mmap_lock is held.
 * Return: an address; -errno.
 */
unsigned long kgni_windows_area(struct kgni_windows *set, struct file *file, unsigned long addr,
				unsigned long len, unsigned long pgoff, unsigned long flags)
{
	enum kgni_win_part part;
	struct kgni_window *w = NULL;
	u32 index;

	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && len >= PMD_SIZE &&
	    kgni_window_named(pgoff, &part, &index) && part == KGNI_WIN_DATA)
		w = kgni_window_find(set, index);
	if (!w)
		return current->mm->get_unmapped_area(file, addr, len, pgoff, flags);
	/* Huge pages have the same place in the target's addresses as in memory. */
	pgoff = (w->mdd->base >> PAGE_SHIFT) + w->first;
	kgni_window_put(w);
	return thp_get_unmapped_area(file, addr, len, pgoff, flags);
}
