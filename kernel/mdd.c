// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory registrations.
 *
 * A registration pins pages and is found by (job, mdh) under RCU. Two counts:
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
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kgni.h"

/* Flags with an effect here, and hints that need none. */
#define KGNI_MEM_FLAGS (GNI_MEM_READ_ONLY | GNI_MEM_USE_GART | GNI_MEM_PHYS_CONT | \
			GNI_MEM_STRICT_PI_ORDERING | GNI_MEM_PI_FLUSH | \
			GNI_MEM_RELAXED_PI_ORDERING | GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED)

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
 * @handle: the handle: mdh, version and va count, the rest is not looked at
 *
 * Context: any; @job is valid.
 * Return: the registration, referenced, or NULL.
 */
struct kgni_mdd *kgni_mdd_find(struct kgni_job *job, const struct kgni_mem_handle *handle)
{
	struct kgni_mdd *mdd;
	struct kgni_mh mh;

	kgni_mh_unpack(handle->qword1, handle->qword2, &mh);
	if (mh.flags & KGNI_MH_VMDH)
		return NULL;
	rcu_read_lock();
	mdd = xa_load(&job->mdds, mh.mdh);
	if (mdd && (mdd->base != mh.va || !kref_get_unless_zero(&mdd->ref)))
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
 * Like the hardware, whole pages count.
 *
 * Context: any.
 * Return: true if every byte is in a registered page.
 */
bool kgni_mdd_covers(const struct kgni_mdd *mdd, u64 addr, u64 length)
{
	u64 size = (u64)mdd->npages << PAGE_SHIFT;

	return addr >= mdd->base && addr - mdd->base <= size && length <= size - (addr - mdd->base);
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
	return mdd->pages[(addr - mdd->base) >> PAGE_SHIFT];
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

/* Words that programs poll are never torn. */
static void kgni_copy_bytes(void *dst, const void *src, size_t n)
{
	unsigned long align = (unsigned long)dst | (unsigned long)src;

	if (n == 8 && !(align & 7))
		WRITE_ONCE(*(u64 *)dst, READ_ONCE(*(const u64 *)src));
	else if (n == 4 && !(align & 3))
		WRITE_ONCE(*(u32 *)dst, READ_ONCE(*(const u32 *)src));
	else
		memmove(dst, src, n);
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
		size_t piece = min_t(size_t, n, PAGE_SIZE - offset_in_page(addr));
		void *dst = kgni_mdd_map(mdd, addr);

		kgni_copy_bytes(dst, src, piece);
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
		size_t piece = min3((size_t)(PAGE_SIZE - offset_in_page(daddr)),
				    (size_t)(PAGE_SIZE - offset_in_page(saddr)), n);
		void *s = kgni_mdd_map(src, saddr);
		void *d = kgni_mdd_map(dst, daddr);

		kgni_copy_bytes(d, s, piece);
		kunmap_local(d);
		kunmap_local(s);
		daddr += piece;
		saddr += piece;
		n -= piece;
	}
}

static long kgni_pin(u64 addr, unsigned long n, unsigned int flags, struct page **pages)
{
	unsigned long done = 0;
	long got;

	while (done < n) {
		int batch = min_t(unsigned long, n - done, INT_MAX);

		got = pin_user_pages_fast(addr + (done << PAGE_SHIFT), batch,
					  flags | FOLL_LONGTERM, pages + done);
		if (got <= 0) {
			unpin_user_pages(pages, done);
			return got ? got : -EFAULT;
		}
		done += got;
		cond_resched();
	}
	return 0;
}

/*
 * Pin the pages of a region. Those of a read-only region are made the process's
 * own first, as if it wrote to them, so that they are neither the zero page nor
 * pages that a later write would replace. Where that can't be, as in a file
 * mapped shared for reading, the pages are what they are.
 */
static long kgni_mdd_pin(struct kgni_mdd *mdd)
{
	unsigned int flags = FOLL_WRITE | (kgni_mdd_writable(mdd) ? 0 : FOLL_FORCE);
	long rc = kgni_pin(mdd->base, mdd->npages, flags, mdd->pages);

	if (rc == -EFAULT && !kgni_mdd_writable(mdd))
		rc = kgni_pin(mdd->base, mdd->npages, 0, mdd->pages);
	return !rc || rc == -ENOMEM || rc == -EINTR ? rc : GNI_RC_INVALID_PARAM;
}

/* Charge the pins, and have the address space show them (VmPin). */
static bool kgni_mdd_account(struct kgni_mdd *mdd)
{
	if (!kgni_pages_charge(&mdd->user, mdd->npages))
		return false;
	mmgrab(current->mm);
	mdd->mm = current->mm;
	atomic64_add(mdd->npages, &mdd->mm->pinned_vm);
	return true;
}

static void kgni_mdd_unaccount(struct kgni_mdd *mdd)
{
	atomic64_sub(mdd->npages, &mdd->mm->pinned_vm);
	mmdrop(mdd->mm);
	kgni_pages_uncharge(mdd->user, mdd->npages);
}

/* What may be done with every page of a range: VM_READ, VM_WRITE, 0 if one is not mapped. */
static unsigned long kgni_range_access(u64 addr, unsigned long npages)
{
	struct mm_struct *mm = current->mm;
	u64 end = addr + ((u64)npages << PAGE_SHIFT);
	unsigned long access = VM_READ | VM_WRITE;
	struct vm_area_struct *vma;

	mmap_read_lock(mm);
	while (addr < end && access) {
		vma = find_vma(mm, addr);
		if (!vma || vma->vm_start > addr)
			access = 0;
		else
			access &= vma->vm_flags;
		addr = vma ? vma->vm_end : end;
	}
	mmap_read_unlock(mm);
	return access;
}

/* Asked before memory is set aside for what cannot be pinned anyway. */
static long kgni_mdd_check_access(const struct kgni_mdd *mdd)
{
	unsigned long access = kgni_range_access(mdd->base, mdd->npages);

	if (!(access & VM_READ))
		return GNI_RC_INVALID_PARAM;
	if (kgni_mdd_writable(mdd) && !(access & VM_WRITE))
		return GNI_RC_PERMISSION_ERROR;
	return GNI_RC_SUCCESS;
}

static long kgni_mdd_get_pages(struct kgni_mdd *mdd)
{
	long rc = kgni_mdd_check_access(mdd);

	if (rc)
		return rc;
	if (mdd->npages > totalram_pages() || !kgni_mdd_account(mdd))
		return GNI_RC_ERROR_RESOURCE;
	mdd->pages = kvmalloc_array(mdd->npages, sizeof(*mdd->pages),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mdd->pages) {
		rc = -ENOMEM;
		goto unaccount;
	}
	rc = kgni_mdd_pin(mdd);
	if (!rc)
		return GNI_RC_SUCCESS;
	kvfree(mdd->pages);
unaccount:
	kgni_mdd_unaccount(mdd);
	return rc;
}

static void kgni_mdd_put_pages(struct kgni_mdd *mdd)
{
	unpin_user_pages_dirty_lock(mdd->pages, mdd->npages, kgni_mdd_writable(mdd));
	kgni_mdd_unaccount(mdd);
	kvfree(mdd->pages);
	mdd->pages = NULL;
}

/* The pages that a range lies in; 0 if there is no such range in user space. */
static unsigned long kgni_range_pages(u64 addr, u64 length)
{
	u64 end = addr + length;

	if (!length || end < addr || end > TASK_SIZE)
		return 0;
	return (PAGE_ALIGN(end) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
}

static struct kgni_mdd *kgni_mdd_new(struct kgni_nic *nic,
				     const struct kgni_ioc_mem_register *arg)
{
	struct kgni_mdd *mdd = kzalloc(sizeof(*mdd), GFP_KERNEL_ACCOUNT);

	if (!mdd)
		return NULL;
	kref_init(&mdd->ref);
	refcount_set(&mdd->active, 1);
	init_completion(&mdd->idle);
	INIT_LIST_HEAD(&mdd->node);
	mdd->nic = nic;
	mdd->job = nic->job;
	mdd->flags = arg->flags;
	mdd->base = arg->addr & PAGE_MASK;
	mdd->npages = kgni_range_pages(arg->addr, arg->length);
	return mdd;
}

/* Give the registration its mdh: from here on peers find it. */
static long kgni_mdd_publish(struct kgni_nic *nic, struct kgni_mdd *mdd)
{
	struct kgni_job *job = nic->job;
	int rc;

	mutex_lock(&nic->lock);
	rc = xa_alloc_cyclic(&job->mdds, &mdd->mdh, mdd, XA_LIMIT(1, KGNI_MH_MDH_MAX),
			     &job->next_mdh, GFP_KERNEL_ACCOUNT);
	if (rc >= 0)
		list_add_tail(&mdd->node, &nic->mdds);
	mutex_unlock(&nic->lock);
	if (rc == -EBUSY)
		return GNI_RC_ERROR_RESOURCE;
	return rc < 0 ? rc : GNI_RC_SUCCESS;
}

static void kgni_mdd_handle(const struct kgni_mdd *mdd, struct kgni_mem_handle *handle)
{
	struct kgni_mh mh = {
		.va = mdd->base,
		.npages = min_t(unsigned long, mdd->npages, KGNI_MH_NPAGES_MAX),
		.mdh = mdd->mdh,
		.page_shift = PAGE_SHIFT,
		.flags = kgni_mdd_writable(mdd) ? 0 : KGNI_MH_READONLY,
	};

	kgni_mh_pack(&mh, &handle->qword1, &handle->qword2);
}

static long kgni_mdd_add(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	struct kgni_mdd *mdd = kgni_mdd_new(nic, arg);
	struct kgni_mem_handle handle;
	long rc;

	if (!mdd)
		return -ENOMEM;
	if (arg->cq) {
		mdd->cq = kgni_cq_find(nic, arg->cq);
		if (!mdd->cq) {
			kgni_count_refusal(nic->dev, KGNI_REFUSED_QUEUE);
			rc = GNI_RC_INVALID_PARAM;
			goto put;
		}
	}
	rc = kgni_mdd_get_pages(mdd);
	if (rc)
		goto put;
	/* Another thread may deregister it as soon as it is published. */
	kref_get(&mdd->ref);
	rc = kgni_mdd_publish(nic, mdd);
	if (rc) {
		kgni_mdd_put_pages(mdd);
		kgni_mdd_put(mdd);
		goto put;
	}
	kgni_mdd_handle(mdd, &handle);
	arg->handle = handle;
put:
	kgni_mdd_put(mdd);
	return rc;
}

/* KGNI_IOC_MEM_REGISTER. */
long kgni_mdd_register(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	long rc;

	if (arg->reserved)
		return -EINVAL;
	if (arg->flags & ~KGNI_MEM_FLAGS || !kgni_range_pages(arg->addr, arg->length))
		return GNI_RC_INVALID_PARAM;
	if (!kgni_res_charge(nic->job, KGNI_RES_MDD))
		return GNI_RC_ERROR_RESOURCE;
	rc = kgni_mdd_add(nic, arg);
	if (rc)
		kgni_res_uncharge(nic->job, KGNI_RES_MDD);
	return rc;
}

/* Take a registration away that nobody finds any more. */
static void kgni_mdd_retire(struct kgni_mdd *mdd)
{
	WRITE_ONCE(mdd->dead, true);
	if (!refcount_dec_and_test(&mdd->active))
		wait_for_completion(&mdd->idle);
	kgni_mdd_put_pages(mdd);
	kgni_res_uncharge(mdd->job, KGNI_RES_MDD);
	kgni_mdd_put(mdd);
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
	struct kgni_mdd *mdd = kgni_mdd_find(nic->job, handle);
	bool mine = false;

	if (!mdd)
		goto out;
	mutex_lock(&nic->lock);
	mine = mdd->nic == nic && !list_empty(&mdd->node) &&
	       xa_load(&nic->job->mdds, mdd->mdh) == mdd;
	if (mine) {
		xa_erase(&nic->job->mdds, mdd->mdh);
		list_del_init(&mdd->node);
	}
	mutex_unlock(&nic->lock);
	if (mine)
		kgni_mdd_retire(mdd);
	kgni_mdd_put(mdd);
out:
	if (!mine)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	return mine ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/* Part of kgni_nic_release(). */
void kgni_mdd_deregister_all(struct kgni_nic *nic)
{
	struct kgni_mdd *mdd, *next;

	list_for_each_entry_safe(mdd, next, &nic->mdds, node) {
		xa_erase(&nic->job->mdds, mdd->mdh);
		list_del_init(&mdd->node);
		kgni_mdd_retire(mdd);
		cond_resched();
	}
}
