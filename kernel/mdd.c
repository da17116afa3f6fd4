// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory registrations.
 *
 * A registration has pinned memory (mem.c), which it may share with clones, and
 * is found by (job, mdh) under RCU, or by (job, index) if its handle is a
 * virtual one. Two counts:
 * @ref keeps the object, @active keeps the pages. Whoever touches pages does so
 * between kgni_mdd_enter() and kgni_mdd_exit(), for one piece of a transfer and
 * without sleeping on user memory; deregistration takes the object out of the
 * table, waits for those, and unpins. A transfer that comes back for its next
 * piece finds kgni_mdd_enter() refusing and fails.
 *
 * Pages are reached through the kernel's own mapping of them.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"
#include "trace.h"
#include "core/copy.h"

/* Flags with an effect here, and hints that need none. */
#define KGNI_MEM_FLAGS (GNI_MEM_READ_ONLY | GNI_MEM_USE_VMDH | GNI_MEM_USE_GART | \
			GNI_MEM_PHYS_CONT | GNI_MEM_STRICT_PI_ORDERING | GNI_MEM_PI_FLUSH | \
			GNI_MEM_MDD_CLONE | GNI_MEM_RELAXED_PI_ORDERING | \
			GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION | \
			GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED)
/* These make a region in ways of their own, one at a time. */
#define KGNI_MEM_KINDS (GNI_MEM_MDD_CLONE | GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION)
#define KGNI_MEM_SHARING (GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED)

/* Clients round gets up to words; what the allocator gives begins and ends at these. */
#define KGNI_EXACT_ALIGN	8

/*
 * Shared registrations have numbers of their own up to so many, and share them
 * from then on: so many may have one number, each with a base of its own.
 */
#define KGNI_MDD_SHARING	XA_MARK_1
#define KGNI_SHARING_NUMBERS	(KGNI_MH_MDH_MAX / 2)
#define KGNI_SHARERS_MAX	256
/* How many numbers are asked whether they take another. */
#define KGNI_SHARING_TRIES	64

/* What an MRT entry of Gemini translates. */
#define KGNI_MRT_SHIFT		17

/* vmdh_index of who leaves the choice to the driver. */
#define KGNI_VMDH_ANY	(~0U)
#define KGNI_VMDH_MAX	(KGNI_MH_MDH_MAX + 1)

static bool kgni_mdd_writable(const struct kgni_mdd *mdd)
{
	return !(mdd->flags & GNI_MEM_READ_ONLY);
}

static void kgni_mdd_free(struct kref *ref)
{
	struct kgni_mdd *mdd = container_of(ref, struct kgni_mdd, ref);

	if (mdd->cq)
		kgni_cq_put(mdd->cq);
	kfree_rcu(mdd, rcu);
}

static void kgni_mdd_free_atomic(struct kref *ref)
{
	struct kgni_mdd *mdd = container_of(ref, struct kgni_mdd, ref);

	if (mdd->cq)
		kgni_cq_put_atomic(mdd->cq);
	if (mdd->unlisted)
		kfree(mdd);
	else
		kfree_rcu(mdd, rcu);
}

/**
 * kgni_mdd_put_atomic - give a reference back where nothing may sleep
 * @mdd: the registration
 *
 * Context: process or softirq.
 */
void kgni_mdd_put_atomic(struct kgni_mdd *mdd)
{
	kref_put(&mdd->ref, kgni_mdd_free_atomic);
}

/**
 * kgni_mdd_put - give a reference to the object back
 * @mdd: the registration
 *
 * Context: process, may sleep.
 */
void kgni_mdd_put(struct kgni_mdd *mdd)
{
	kref_put(&mdd->ref, kgni_mdd_free);
}

/**
 * kgni_mdd_find - find the registration that a handle names
 * @job: job on the device that has the memory
 * @handle: the handle: mdh, version and va count, and that it is virtual, which
 *	makes va count no more; the rest is not looked at
 *
 * Context: any; @job is valid.
 * Return: the registration, referenced, or NULL.
 */
struct kgni_mdd *kgni_mdd_find(struct kgni_job *job, const struct kgni_mem_handle *handle)
{
	struct kgni_mdd *mdd;
	struct kgni_mh mh;

	kgni_mh_unpack(handle->qword1, handle->qword2, &mh);
	rcu_read_lock();
	if (mh.flags & KGNI_MH_VMDH) {
		mdd = xa_load(&job->vmdhs, mh.mdh);
	} else {
		mdd = xa_load(&job->mdds, mh.mdh);
		while (mdd && mdd->base != mh.va)
			mdd = rcu_dereference(mdd->sibling);
	}
	if (mdd && !kref_get_unless_zero(&mdd->ref))
		mdd = NULL;
	rcu_read_unlock();
	return mdd;
}

/**
 * kgni_mdd_covers - does a registration hold a range
 * @mdd: the registration
 * @addr: first byte
 * @length: bytes
 *
 * Like the hardware, whole pages count; but what else is in the pages of a
 * kernel client's range is none of its peers' business.
 *
 * Context: any.
 * Return: true if every byte is in a registered page, or registered.
 */
bool kgni_mdd_covers(const struct kgni_mdd *mdd, u64 addr, u64 length)
{
	u64 size = (u64)mdd->npages << PAGE_SHIFT;
	u64 base = mdd->base;

	if (mdd->exact) {
		base = round_down(mdd->addr, KGNI_EXACT_ALIGN);
		size = round_up(mdd->addr + mdd->length, KGNI_EXACT_ALIGN) - base;
	}
	return addr >= base && addr - base <= size && length <= size - (addr - base);
}

/**
 * kgni_mdd_present - are the pages of a range there
 * @mdd: the registration
 * @addr: first byte, covered
 * @length: bytes
 *
 * Only those of a reserved region may be missing; one that is there stays.
 *
 * Context: any.
 * Return: true if all are.
 */
bool kgni_mdd_present(struct kgni_mdd *mdd, u64 addr, u64 length)
{
	unsigned long first = (addr - mdd->base) >> PAGE_SHIFT;
	unsigned long end = (addr - mdd->base + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	bool present;

	if (!(mdd->flags & GNI_MEM_RESERVE_REGION) || !length)
		return true;
	if (!kgni_mdd_enter(mdd))
		return true;	/* the transfer will find out */
	present = kgni_mem_present(mdd->mem, mdd->first + first, end - first);
	kgni_mdd_exit(mdd);
	return present;
}

/**
 * kgni_mdd_enter - begin to touch the pages
 * @mdd: the registration, referenced
 *
 * Context: any. Do not wait for anything before kgni_mdd_exit().
 * Return: false if it is deregistered.
 */
bool kgni_mdd_enter(struct kgni_mdd *mdd)
{
	/* Without it, transfers that overlap would keep the count up for ever. */
	if (READ_ONCE(mdd->dead))
		return false;
	return refcount_inc_not_zero(&mdd->active);
}

/**
 * kgni_mdd_exit - end to touch the pages
 * @mdd: the registration
 *
 * Context: any.
 */
void kgni_mdd_exit(struct kgni_mdd *mdd)
{
	if (refcount_dec_and_test(&mdd->active))
		complete(&mdd->idle);
}

static struct page *kgni_mdd_page(struct kgni_mdd *mdd, u64 addr)
{
	unsigned long i = (addr - mdd->base) >> PAGE_SHIFT;

	return mdd->pages ? mdd->pages[i] : pfn_to_page(mdd->pfn + i);
}

/**
 * kgni_mdd_map - reach one word
 * @mdd: the registration, entered
 * @addr: address of the word, naturally aligned and covered
 *
 * Context: any; undo with kunmap_local().
 * Return: where the kernel sees it.
 */
void *kgni_mdd_map(struct kgni_mdd *mdd, u64 addr)
{
	return (char *)kmap_local_page(kgni_mdd_page(mdd, addr)) + offset_in_page(addr);
}

/*
 * How many bytes from @addr on, of @n that are covered, the kernel sees in a row: one
 * page, or where it sees all of memory, pages of a row, as those of a huge page are.
 */
static size_t kgni_mdd_run(struct kgni_mdd *mdd, u64 addr, size_t n)
{
	unsigned long npages = PAGE_ALIGN(offset_in_page(addr) + n) >> PAGE_SHIFT;

	if (IS_ENABLED(CONFIG_KMAP_LOCAL))
		return min(n, PAGE_SIZE - offset_in_page(addr));
	if (!mdd->pages)
		return n;
	npages = kgni_pages_in_a_row(mdd->pages + ((addr - mdd->base) >> PAGE_SHIFT), npages);
	return min(n, (npages << PAGE_SHIFT) - offset_in_page(addr));
}

/* Does this CPU move strings faster than a loop moves words? */
static bool kgni_strings_are_fast(void)
{
#ifdef CONFIG_X86
	return boot_cpu_has(X86_FEATURE_ERMS);
#else
	return true;
#endif
}

/**
 * kgni_mdd_write - copy from kernel memory into a registration
 * @mdd: the registration, entered
 * @addr: where to, covered
 * @src: what
 * @n: bytes
 *
 * Context: any.
 */
void kgni_mdd_write(struct kgni_mdd *mdd, u64 addr, const void *src, size_t n)
{
	while (n) {
		size_t piece = kgni_mdd_run(mdd, addr, n);
		void *dst = kgni_mdd_map(mdd, addr);

		kgni_copy(dst, src, piece, kgni_strings_are_fast());
		kunmap_local(dst);
		addr += piece;
		src += piece;
		n -= piece;
	}
}

/**
 * kgni_mdd_copy - copy from one registration into another
 * @dst: destination, entered
 * @daddr: where to, covered
 * @src: source, entered
 * @saddr: where from, covered
 * @n: bytes
 *
 * Context: any.
 */
void kgni_mdd_copy(struct kgni_mdd *dst, u64 daddr, struct kgni_mdd *src, u64 saddr, size_t n)
{
	while (n) {
		size_t piece = kgni_mdd_run(src, saddr, kgni_mdd_run(dst, daddr, n));
		void *s = kgni_mdd_map(src, saddr);
		void *d = kgni_mdd_map(dst, daddr);

		kgni_copy(d, s, piece, kgni_strings_are_fast());
		kunmap_local(d);
		kunmap_local(s);
		daddr += piece;
		saddr += piece;
		n -= piece;
	}
}

static struct kgni_mdd *kgni_mdd_new(struct kgni_nic *nic, u32 flags, gfp_t gfp)
{
	struct kgni_mdd *mdd = kzalloc(sizeof(*mdd), gfp);

	if (!mdd)
		return NULL;
	kref_init(&mdd->ref);
	refcount_set(&mdd->active, 1);
	init_completion(&mdd->idle);
	INIT_LIST_HEAD(&mdd->node);
	INIT_LIST_HEAD(&mdd->windows);
	mdd->nic = nic;
	mdd->job = nic->job;
	mdd->uid = nic->cred->euid;
	mdd->flags = flags;
	mdd->shares = flags & GNI_MEM_MDD_SHARED && !(flags & GNI_MEM_USE_VMDH);
	return mdd;
}

/* Give the registration the memory that it is about, a reference included. */
static void kgni_mdd_set_mem(struct kgni_mdd *mdd, struct kgni_mem *mem, unsigned long first,
			     unsigned long npages)
{
	mdd->mem = mem;
	mdd->first = first;
	mdd->pages = mem->pages + first;
	mdd->npages = npages;
}

static long kgni_mdd_pin(struct kgni_mdd *mdd, const struct kgni_segment *seg, u32 count)
{
	struct kgni_mem *mem;
	long rc = kgni_mem_new(seg, count, mdd->flags, &mem);

	if (!rc)
		kgni_mdd_set_mem(mdd, mem, 0, mem->npages);
	return rc;
}

/* One range of addresses, which are used as they are. */
static long kgni_mdd_pin_range(struct kgni_mdd *mdd, const struct kgni_ioc_mem_register *arg)
{
	struct kgni_segment seg = { .addr = arg->addr, .length = arg->length };

	mdd->base = arg->addr & PAGE_MASK;
	mdd->addr = arg->addr;
	mdd->length = arg->length;
	return kgni_mdd_pin(mdd, &seg, 1);
}

/* Several ranges: addresses count from the page that the first one begins in. */
static long kgni_mdd_pin_segments(struct kgni_mdd *mdd, const struct kgni_ioc_mem_register *arg)
{
	struct kgni_segment *seg;
	long rc;
	u32 i;

	seg = kvmalloc_array(arg->segments, sizeof(*seg), GFP_KERNEL_ACCOUNT);
	if (!seg)
		return -ENOMEM;
	if (copy_from_user(seg, u64_to_user_ptr(arg->addr), arg->segments * sizeof(*seg))) {
		rc = -EFAULT;
		goto free;
	}
	mdd->addr = offset_in_page(seg[0].addr);
	for (i = 0; i < arg->segments; i++)
		mdd->length += seg[i].length;
	rc = kgni_mdd_pin(mdd, seg, arg->segments);
free:
	kvfree(seg);
	return rc;
}

/* Hold the memory of a live registration. */
static struct kgni_mem *kgni_mdd_get_mem(struct kgni_mdd *mdd)
{
	struct kgni_mem *mem;

	if (!kgni_mdd_enter(mdd))
		return NULL;
	mem = mdd->mem;
	kref_get(&mem->ref);
	kgni_mdd_exit(mdd);
	return mem;
}

/* A second handle of a part of @of, or all of it. */
static long kgni_mdd_clone_of(struct kgni_mdd *mdd, struct kgni_mdd *of,
			      const struct kgni_ioc_mem_register *arg)
{
	u64 base = arg->addr & PAGE_MASK;
	struct kgni_mem *mem;

	if (of->nic != mdd->nic || !arg->length || of->flags & GNI_MEM_RESERVE_REGION ||
	    !kgni_mdd_covers(of, arg->addr, arg->length))
		return GNI_RC_INVALID_PARAM;
	if (kgni_mdd_writable(mdd) && !kgni_mdd_writable(of))
		return GNI_RC_PERMISSION_ERROR;
	mem = kgni_mdd_get_mem(of);
	if (!mem)
		return GNI_RC_INVALID_PARAM;
	mdd->base = base;
	mdd->addr = arg->addr;
	mdd->length = arg->length;
	kgni_mdd_set_mem(mdd, mem, of->first + ((base - of->base) >> PAGE_SHIFT),
			 (PAGE_ALIGN(arg->addr + arg->length) - base) >> PAGE_SHIFT);
	return GNI_RC_SUCCESS;
}

static long kgni_mdd_clone(struct kgni_mdd *mdd, const struct kgni_ioc_mem_register *arg)
{
	struct kgni_mdd *of = kgni_mdd_find(mdd->job, &arg->handle);
	long rc = GNI_RC_INVALID_PARAM;

	if (of) {
		rc = kgni_mdd_clone_of(mdd, of, arg);
		kgni_mdd_put(of);
	}
	if (rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_PERMISSION_ERROR)
		kgni_count_refusal(mdd->nic->dev, KGNI_REFUSED_MEMORY);
	return rc;
}

static long kgni_mdd_get_pages(struct kgni_mdd *mdd, const struct kgni_ioc_mem_register *arg)
{
	if (arg->flags & GNI_MEM_MDD_CLONE)
		return kgni_mdd_clone(mdd, arg);
	if (arg->segments)
		return kgni_mdd_pin_segments(mdd, arg);
	return kgni_mdd_pin_range(mdd, arg);
}

/* Where a registration is found. */
static struct xarray *kgni_mdd_table(const struct kgni_mdd *mdd)
{
	return mdd->flags & GNI_MEM_USE_VMDH ? &mdd->job->vmdhs : &mdd->job->mdds;
}

/* The next of the same number. mdds.xa_lock is held. */
static struct kgni_mdd *kgni_mdd_sibling(const struct kgni_mdd *mdd)
{
	return rcu_dereference_protected(mdd->sibling,
					 lockdep_is_held(&mdd->job->mdds.xa_lock));
}

/* May @base join those of a number? mdds.xa_lock is held. */
static bool kgni_mdd_takes(const struct kgni_mdd *mdd, u64 base)
{
	unsigned int n = 0;

	for (; mdd; mdd = kgni_mdd_sibling(mdd))
		if (mdd->base == base || ++n == KGNI_SHARERS_MAX)
			return false;
	return true;
}

/* The number after @number that shared registrations have, round and round. */
static struct kgni_mdd *kgni_mdd_next_sharing(struct kgni_job *job, unsigned long *number)
{
	struct kgni_mdd *mdd;

	mdd = xa_find_after(&job->mdds, number, ULONG_MAX, KGNI_MDD_SHARING);
	if (mdd)
		return mdd;
	*number = 0;
	return xa_find(&job->mdds, number, ULONG_MAX, KGNI_MDD_SHARING);
}

/* Have it share a number. mdds.xa_lock is held. */
static int kgni_mdd_join_locked(struct kgni_job *job, struct kgni_mdd *mdd)
{
	unsigned long number = job->next_sharing;
	struct kgni_mdd *with;
	int tries;

	for (tries = 0; tries < KGNI_SHARING_TRIES; tries++) {
		with = kgni_mdd_next_sharing(job, &number);
		if (!with)
			break;
		if (!kgni_mdd_takes(with, mdd->base))
			continue;
		job->next_sharing = number;
		mdd->mdh = number;
		RCU_INIT_POINTER(mdd->sibling, kgni_mdd_sibling(with));
		rcu_assign_pointer(with->sibling, mdd);
		return 0;
	}
	return -EBUSY;
}

/* Have it share a number, where the job has enough of them or may have no more. */
static int kgni_mdd_join(struct kgni_job *job, struct kgni_mdd *mdd)
{
	bool charged = mdd->charged;
	int rc = -EBUSY;

	xa_lock(&job->mdds);
	if (!charged || job->sharing >= KGNI_SHARING_NUMBERS)
		rc = kgni_mdd_join_locked(job, mdd);
	/* Before another leaves it what was charged for the number. */
	if (!rc)
		mdd->charged = false;
	xa_unlock(&job->mdds);
	if (!rc && charged)
		kgni_res_uncharge(job, KGNI_RES_MDD);
	return rc;
}

/* Give it a number that no other has. */
static int kgni_mdd_number(struct kgni_nic *nic, struct kgni_mdd *mdd)
{
	struct kgni_job *job = nic->job;
	int rc = xa_alloc_cyclic(&job->mdds, &mdd->mdh, mdd, XA_LIMIT(1, KGNI_MH_MDH_MAX),
				 &job->next_mdh, nic->gfp);

	if (rc < 0 || !mdd->shares)
		return rc;
	xa_lock(&job->mdds);
	__xa_set_mark(&job->mdds, mdd->mdh, KGNI_MDD_SHARING);
	job->sharing++;
	xa_unlock(&job->mdds);
	return 0;
}

/* Give it its number, or the index @want. nic->lock is held. */
static int kgni_mdd_insert(struct kgni_nic *nic, struct kgni_mdd *mdd, u32 want)
{
	struct kgni_job *job = nic->job;

	if (mdd->shares && !kgni_mdd_join(job, mdd))
		return 0;
	if (!mdd->charged)
		return -EBUSY;
	if (!(mdd->flags & GNI_MEM_USE_VMDH))
		return kgni_mdd_number(nic, mdd);
	if (want == KGNI_VMDH_ANY)
		return xa_alloc(&job->vmdhs, &mdd->mdh, mdd, XA_LIMIT(0, nic->vmdhs - 1),
				GFP_KERNEL_ACCOUNT);
	mdd->mdh = want;
	return xa_insert(&job->vmdhs, want, mdd, GFP_KERNEL_ACCOUNT);
}

/* nic->lock is held. */
static void kgni_mdd_list(struct kgni_nic *nic, struct kgni_mdd *mdd)
{
	mdd->number = ++nic->last_mdd;
	list_add_tail(&mdd->node, &nic->mdds);
	nic->nmdds++;
	nic->mdd_pages += mdd->npages;
	kgni_netlink_changed();
	trace_kgni_register(nic, mdd);
}

/* What translates the addresses of a registration, and how many entries of it. */
static enum kgni_res kgni_mdd_entries(const struct kgni_mdd *mdd, unsigned long *n)
{
	u64 end = mdd->base + ((u64)mdd->npages << PAGE_SHIFT);

	*n = mdd->npages;
	if (!kgni_gemini)
		return KGNI_RES_IOMMU;
	if (mdd->flags & GNI_MEM_USE_GART)
		return KGNI_RES_GART;
	/* Pages that follow each other need no translation. */
	*n = mdd->mem ? ((end - 1) >> KGNI_MRT_SHIFT) - (mdd->base >> KGNI_MRT_SHIFT) + 1 : 0;
	return KGNI_RES_MRT;
}

static bool kgni_mdd_charge_entries(const struct kgni_mdd *mdd)
{
	unsigned long n;
	enum kgni_res res = kgni_mdd_entries(mdd, &n);

	return kgni_res_charge_many(mdd->job, res, n);
}

/* Before it lets its memory go. */
static void kgni_mdd_uncharge_entries(const struct kgni_mdd *mdd)
{
	unsigned long n;
	enum kgni_res res = kgni_mdd_entries(mdd, &n);

	kgni_res_uncharge_many(mdd->job, res, n);
}

/* From here on peers find the registration. */
static long kgni_mdd_publish(struct kgni_nic *nic, struct kgni_mdd *mdd, u32 want)
{
	int rc;

	mutex_lock(&nic->lock);
	rc = kgni_mdd_insert(nic, mdd, want);
	if (rc >= 0)
		kgni_mdd_list(nic, mdd);
	mutex_unlock(&nic->lock);
	if (rc == -EBUSY)
		return GNI_RC_ERROR_RESOURCE;
	return rc < 0 ? rc : GNI_RC_SUCCESS;
}

/* Another of its number takes its place, what was charged for it included. */
static void kgni_mdd_replace(struct kgni_mdd *mdd, struct kgni_mdd *heir)
{
	heir->charged |= mdd->charged;
	mdd->charged = false;
}

/* Take it out of those of its number. mdds.xa_lock is held. */
static void kgni_mdd_leave_locked(struct kgni_job *job, struct kgni_mdd *mdd)
{
	struct kgni_mdd *before = xa_load(&job->mdds, mdd->mdh);
	struct kgni_mdd *after = kgni_mdd_sibling(mdd);

	if (before != mdd) {
		kgni_mdd_replace(mdd, before);
		while (kgni_mdd_sibling(before) != mdd)
			before = kgni_mdd_sibling(before);
		rcu_assign_pointer(before->sibling, after);
	} else if (after) {
		kgni_mdd_replace(mdd, after);
		/* The place is there, so no memory is needed. */
		__xa_store(&job->mdds, mdd->mdh, after, 0);
	} else {
		__xa_erase(&job->mdds, mdd->mdh);
		job->sharing--;
	}
}

static void kgni_mdd_leave(struct kgni_job *job, struct kgni_mdd *mdd)
{
	xa_lock(&job->mdds);
	kgni_mdd_leave_locked(job, mdd);
	xa_unlock(&job->mdds);
}

/* Nobody finds it any more. nic->lock is held. */
static void kgni_mdd_unpublish(struct kgni_nic *nic, struct kgni_mdd *mdd, bool hold)
{
	/* In a table that gives numbers out, one that leads to nothing stays taken. */
	if (hold)
		xa_store(kgni_mdd_table(mdd), mdd->mdh, NULL, GFP_NOIO);
	else if (mdd->shares)
		kgni_mdd_leave(mdd->job, mdd);
	else
		xa_erase(kgni_mdd_table(mdd), mdd->mdh);
	list_del_init(&mdd->node);
	nic->nmdds--;
	nic->mdd_pages -= mdd->npages;
	kgni_netlink_changed();
	trace_kgni_deregister(nic, mdd);
}

/* By what its addresses are translated, where that is Gemini's business. */
static u8 kgni_mdd_translation(const struct kgni_mdd *mdd)
{
	if (!kgni_gemini)
		return 0;
	if (mdd->flags & GNI_MEM_USE_GART)
		return KGNI_MH_GART;
	return mdd->mem ? KGNI_MH_MRT : 0;
}

static u8 kgni_mdd_handle_flags(const struct kgni_mdd *mdd)
{
	u8 flags = kgni_mdd_writable(mdd) ? 0 : KGNI_MH_READONLY;

	flags |= kgni_mdd_translation(mdd);
	if (mdd->flags & GNI_MEM_MDD_CLONE)
		flags |= KGNI_MH_CLONE;
	if (mdd->flags & GNI_MEM_USE_VMDH)
		flags |= KGNI_MH_VMDH;
	else if (mdd->flags & GNI_MEM_MDD_SHARED)
		flags |= KGNI_MH_V2;
	return flags;
}

/*
 * In version 2 the entropy is the mdh again, so that who reads the handle by
 * version 1 reads the same. A region that was only reserved has no pages yet.
 */
static void kgni_mdd_handle(const struct kgni_mdd *mdd, bool live, struct kgni_mem_handle *handle)
{
	struct kgni_mh mh = {
		.va = mdd->base,
		.npages = live ? min_t(unsigned long, mdd->npages, KGNI_MH_NPAGES_MAX) : 0,
		.mdh = mdd->mdh,
		.entropy = mdd->mdh,
		.page_shift = PAGE_SHIFT,
		.flags = kgni_mdd_handle_flags(mdd),
	};

	kgni_mh_pack(&mh, &handle->qword1, &handle->qword2);
}

/**
 * kgni_mdd_handle_of - the handle of a registration that has pages
 * @mdd: the registration
 * @handle: out: its handle
 *
 * Context: any.
 */
void kgni_mdd_handle_of(const struct kgni_mdd *mdd, struct kgni_mem_handle *handle)
{
	kgni_mdd_handle(mdd, true, handle);
}

static long kgni_mdd_set_cq(struct kgni_nic *nic, struct kgni_mdd *mdd, u32 id)
{
	if (!id)
		return GNI_RC_SUCCESS;
	mdd->cq = kgni_cq_named(nic, id);
	return mdd->cq ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

static long kgni_mdd_add(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	struct kgni_mdd *mdd = kgni_mdd_new(nic, arg->flags, nic->gfp);
	struct kgni_mem_handle handle;
	long rc;

	if (!mdd)
		return -ENOMEM;
	mdd->charged = kgni_res_charge(nic->job, KGNI_RES_MDD);
	rc = mdd->charged || mdd->shares ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE;
	if (!rc)
		rc = kgni_mdd_set_cq(nic, mdd, arg->cq);
	if (!rc)
		rc = kgni_mdd_get_pages(mdd, arg);
	if (rc)
		goto uncharge_mdd;
	if (!kgni_mdd_charge_entries(mdd)) {
		rc = GNI_RC_ERROR_RESOURCE;
		goto put_mem;
	}
	/* Another thread may deregister it as soon as it is published. */
	kref_get(&mdd->ref);
	rc = kgni_mdd_publish(nic, mdd, arg->vmdh_index);
	if (rc)
		goto uncharge;
	kgni_mdd_handle(mdd, !(mdd->flags & GNI_MEM_RESERVE_REGION), &handle);
	arg->handle = handle;
	goto put;

uncharge:
	kgni_mdd_put(mdd);
	kgni_mdd_uncharge_entries(mdd);
put_mem:
	kgni_mem_put(mdd->mem);
uncharge_mdd:
	if (mdd->charged)
		kgni_res_uncharge(nic->job, KGNI_RES_MDD);
put:
	kgni_mdd_put(mdd);
	return rc;
}

/* The registration that is to be updated: by its index, or else by its handle. */
static struct kgni_mdd *kgni_mdd_named(struct kgni_nic *nic,
				       const struct kgni_ioc_mem_register *arg)
{
	struct kgni_mem_handle handle = arg->handle;
	struct kgni_mh mh = { .flags = KGNI_MH_VMDH };

	if (arg->flags & GNI_MEM_USE_VMDH && arg->vmdh_index != KGNI_VMDH_ANY) {
		mh.mdh = arg->vmdh_index;
		kgni_mh_pack(&mh, &handle.qword1, &handle.qword2);
	}
	return kgni_mdd_find(nic->job, &handle);
}

/* Have pages of a reserved range, and with the first of them make it live. */
static long kgni_mdd_fill(struct kgni_nic *nic, struct kgni_mdd *mdd,
			  struct kgni_ioc_mem_register *arg)
{
	u64 base = arg->addr & PAGE_MASK;
	struct kgni_mem *mem;
	long rc;

	if (mdd->nic != nic || !(mdd->flags & GNI_MEM_RESERVE_REGION) || arg->cq ||
	    !kgni_range_pages(arg->addr, arg->length) ||
	    !kgni_mdd_covers(mdd, arg->addr, arg->length))
		return GNI_RC_INVALID_PARAM;
	if ((arg->flags ^ mdd->flags) & GNI_MEM_READ_ONLY)
		return GNI_RC_PERMISSION_ERROR;
	mem = kgni_mdd_get_mem(mdd);
	if (!mem)
		return GNI_RC_INVALID_PARAM;
	rc = kgni_mem_update(mem, (base - mdd->base) >> PAGE_SHIFT, base,
			     kgni_range_pages(arg->addr, arg->length));
	kgni_mem_put(mem);
	if (!rc)
		kgni_mdd_handle(mdd, true, &arg->handle);
	return rc;
}

static long kgni_mdd_update(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	struct kgni_mdd *mdd = kgni_mdd_named(nic, arg);
	long rc = GNI_RC_INVALID_PARAM;

	if (mdd) {
		rc = kgni_mdd_fill(nic, mdd, arg);
		kgni_mdd_put(mdd);
	}
	if (rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_PERMISSION_ERROR)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	return rc;
}

/* Do the flags, and the index, go together? */
static bool kgni_mdd_flags_valid(struct kgni_nic *nic, const struct kgni_ioc_mem_register *arg)
{
	u32 kind = arg->flags & KGNI_MEM_KINDS;

	if (arg->flags & ~KGNI_MEM_FLAGS || kind & (kind - 1) ||
	    (arg->flags & KGNI_MEM_SHARING) == KGNI_MEM_SHARING)
		return false;
	if (arg->segments && kind)
		return false;
	if (!(arg->flags & GNI_MEM_USE_VMDH))
		return true;
	return READ_ONCE(nic->vmdhs) &&
	       (arg->vmdh_index == KGNI_VMDH_ANY || arg->vmdh_index < READ_ONCE(nic->vmdhs));
}

/* KGNI_IOC_MEM_REGISTER. */
long kgni_mdd_register(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	if (!kgni_mdd_flags_valid(nic, arg))
		return GNI_RC_INVALID_PARAM;
	if (arg->segments > KGNI_SEGMENTS_MAX)
		return GNI_RC_ERROR_RESOURCE;
	if (arg->flags & GNI_MEM_UPDATE_REGION)
		return kgni_mdd_update(nic, arg);
	if (nic->modes & GNI_CDM_MODE_MDD_SHARED && !(arg->flags & KGNI_MEM_SHARING))
		arg->flags |= GNI_MEM_MDD_SHARED;
	return kgni_mdd_add(nic, arg);
}

/* KGNI_IOC_MDD_BLOCK. */
long kgni_mdd_set_block(struct kgni_nic *nic, const struct kgni_ioc_mdd_block *arg)
{
	long rc = GNI_RC_INVALID_PARAM;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->entries || arg->entries > KGNI_VMDH_MAX)
		return rc;
	mutex_lock(&nic->lock);
	if (!nic->vmdhs) {
		WRITE_ONCE(nic->vmdhs, arg->entries);
		rc = GNI_RC_SUCCESS;
	}
	mutex_unlock(&nic->lock);
	return rc;
}

/* Take a registration away that nobody finds any more. */
static void kgni_mdd_retire(struct kgni_mdd *mdd, bool hold)
{
	kgni_windows_mark(mdd);
	WRITE_ONCE(mdd->dead, true);
	if (!refcount_dec_and_test(&mdd->active))
		wait_for_completion(&mdd->idle);
	kgni_windows_zap(mdd);
	kgni_mdd_uncharge_entries(mdd);
	if (mdd->mem)
		kgni_mem_put(mdd->mem);
	mdd->mem = NULL;
	mdd->pages = NULL;
	if (mdd->charged && !hold)
		kgni_res_uncharge(mdd->job, KGNI_RES_MDD);
	kgni_mdd_put(mdd);
}

/* Is it a registration of this attachment that has not ended? nic->lock is held. */
static bool kgni_mdd_mine(const struct kgni_nic *nic, const struct kgni_mdd *mdd)
{
	return mdd->nic == nic && !list_empty(&mdd->node);
}

/* @held: out: the number, which stays taken, or NULL to let it go. */
static long kgni_mdd_end(struct kgni_nic *nic, const struct kgni_mem_handle *handle, u32 *held)
{
	struct kgni_mdd *mdd = kgni_mdd_find(nic->job, handle);
	bool mine = false;

	if (!mdd)
		goto out;
	mutex_lock(&nic->lock);
	mine = kgni_mdd_mine(nic, mdd);
	if (mine)
		kgni_mdd_unpublish(nic, mdd, held);
	mutex_unlock(&nic->lock);
	if (mine && held)
		*held = mdd->mdh;
	if (mine)
		kgni_mdd_retire(mdd, held);
	kgni_mdd_put(mdd);
out:
	if (!mine)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	return mine ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/**
 * kgni_mdd_deregister - end a registration
 * @nic: its owner
 * @handle: its handle
 *
 * When it returns no transfer touches the pages, now or later.
 *
 * Context: process, may sleep; waits for pieces of transfers only.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if @nic has no such
 * registration.
 */
long kgni_mdd_deregister(struct kgni_nic *nic, const struct kgni_mem_handle *handle)
{
	return kgni_mdd_end(nic, handle, NULL);
}

/**
 * kgni_mdd_register_kernel - make a registration of a kernel client's memory
 * @nic: its attachment
 * @r: the memory; @r->mem is the registration's from here on if it is made
 * @handle: out: its handle
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE; -ENOMEM.
 */
long kgni_mdd_register_kernel(struct kgni_nic *nic, const struct kgni_kernel_region *r,
			      struct kgni_mem_handle *handle)
{
	struct kgni_mdd *mdd;
	long rc = -ENOMEM;

	if (!kgni_res_charge(nic->job, KGNI_RES_MDD))
		return GNI_RC_ERROR_RESOURCE;
	mdd = kgni_mdd_new(nic, r->flags, nic->gfp);
	if (!mdd)
		goto uncharge_mdd;
	mdd->charged = true;
	/* A number that is held is nobody else's. */
	mdd->shares = false;
	mdd->base = r->base;
	mdd->addr = r->addr;
	mdd->length = r->length;
	mdd->exact = r->exact;
	mdd->pfn = r->pfn;
	mdd->npages = r->npages;
	if (r->mem)
		kgni_mdd_set_mem(mdd, r->mem, 0, r->npages);
	if (!kgni_mdd_charge_entries(mdd)) {
		rc = GNI_RC_ERROR_RESOURCE;
		goto put;
	}
	if (r->cq)
		kref_get(&r->cq->ref);
	mdd->cq = r->cq;
	rc = kgni_mdd_publish(nic, mdd, KGNI_VMDH_ANY);
	if (rc)
		goto uncharge;
	kgni_mdd_handle(mdd, true, handle);
	return GNI_RC_SUCCESS;

uncharge:
	kgni_mdd_uncharge_entries(mdd);
put:
	kgni_mdd_put(mdd);
uncharge_mdd:
	kgni_res_uncharge(nic->job, KGNI_RES_MDD);
	return rc;
}

/**
 * kgni_mdd_deregister_kernel - end a registration, but perhaps keep its number
 * @nic: its owner
 * @handle: its handle
 * @held: out: the number, for kgni_mdd_unhold(); or NULL to let it go
 *
 * Context: process, may sleep.
 * Return: as kgni_mdd_deregister().
 */
long kgni_mdd_deregister_kernel(struct kgni_nic *nic, const struct kgni_mem_handle *handle,
				u32 *held)
{
	return kgni_mdd_end(nic, handle, held);
}

/* The number may be given to another registration. */
void kgni_mdd_unhold(struct kgni_nic *nic, u32 mdh)
{
	xa_erase(&nic->job->mdds, mdh);
	kgni_res_uncharge(nic->job, KGNI_RES_MDD);
}

/**
 * kgni_mdd_phys - physical memory as the local side of one post
 * @nic: who posts
 * @addr: physical address
 * @length: bytes
 *
 * Context: process or softirq.
 * Return: a registration that nobody finds; kgni_mdd_put_atomic() ends it. NULL
 * if there is no such memory, or none for the registration.
 */
struct kgni_mdd *kgni_mdd_phys(struct kgni_nic *nic, u64 addr, u64 length)
{
	u64 last = addr + length - 1;
	struct kgni_mdd *mdd;

	if (!length || last < addr || !pfn_valid(PHYS_PFN(addr)) || !pfn_valid(PHYS_PFN(last)))
		return NULL;
	mdd = kgni_mdd_new(nic, 0, GFP_ATOMIC | __GFP_NOWARN);
	if (!mdd)
		return NULL;
	mdd->base = addr & PAGE_MASK;
	mdd->addr = addr;
	mdd->length = length;
	mdd->pfn = PHYS_PFN(addr);
	mdd->unlisted = true;
	mdd->npages = PHYS_PFN(last) - PHYS_PFN(addr) + 1;
	return mdd;
}

static void kgni_mdd_describe(const struct kgni_mdd *mdd, struct kgni_ioc_mem_next *arg)
{
	kgni_mdd_handle(mdd, !mdd->mem || !mdd->mem->sparse || READ_ONCE(mdd->mem->live),
			&arg->handle);
	arg->addr = mdd->addr;
	arg->length = mdd->length;
}

/* The registration after @mdd, or the first. nic->lock is held. */
static long kgni_mdd_next_of(struct kgni_nic *nic, const struct kgni_mdd *mdd,
			     struct kgni_ioc_mem_next *arg)
{
	const struct list_head *pos = &nic->mdds;

	if (mdd) {
		if (!kgni_mdd_mine(nic, mdd))
			return GNI_RC_INVALID_STATE;
		pos = &mdd->node;
	}
	if (list_is_last(pos, &nic->mdds))
		return GNI_RC_NO_MATCH;
	kgni_mdd_describe(list_entry(pos->next, struct kgni_mdd, node), arg);
	return GNI_RC_SUCCESS;
}

/* KGNI_IOC_MEM_NEXT. In the order in which they were made. */
long kgni_mdd_next(struct kgni_nic *nic, struct kgni_ioc_mem_next *arg)
{
	bool first = !arg->handle.qword1 && !arg->handle.qword2;
	struct kgni_mdd *mdd = NULL;
	long rc;

	if (!first)
		mdd = kgni_mdd_find(nic->job, &arg->handle);
	if (!first && !mdd) {
		rc = GNI_RC_INVALID_STATE;
		goto out;
	}
	mutex_lock(&nic->lock);
	rc = kgni_mdd_next_of(nic, mdd, arg);
	mutex_unlock(&nic->lock);
	if (mdd)
		kgni_mdd_put(mdd);
out:
	if (rc == GNI_RC_INVALID_STATE)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	return rc;
}

static struct kgni_mdd *kgni_mdd_take_first(struct kgni_nic *nic)
{
	struct kgni_mdd *mdd;

	mutex_lock(&nic->lock);
	mdd = list_first_entry_or_null(&nic->mdds, struct kgni_mdd, node);
	if (mdd)
		kgni_mdd_unpublish(nic, mdd, false);
	mutex_unlock(&nic->lock);
	return mdd;
}

/* Part of kgni_nic_release(). */
void kgni_mdd_deregister_all(struct kgni_nic *nic)
{
	struct kgni_mdd *mdd;

	while ((mdd = kgni_mdd_take_first(nic))) {
		kgni_mdd_retire(mdd, false);
		cond_resched();
	}
}
