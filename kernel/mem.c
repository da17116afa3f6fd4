// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory: the pages behind a registration, and behind its clones.
 *
 * A reserved range begins without pages and is filled piece by piece; a page
 * that is there stays until the end, so whoever holds the memory and found a
 * page may use it. kgni_mem.lock is taken by those who fill, and is innermost.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
/* This one does not include what it needs. */
#include <linux/fault-inject.h>

#include "kgni.h"

#ifdef CONFIG_FAULT_INJECTION
/* All zeros: pins fail where a test asks for it by /proc/thread-self/fail-nth only. */
static struct fault_attr kgni_fail_pin;
#define kgni_pin_fails()	should_fail(&kgni_fail_pin, 1)
#else
#define kgni_pin_fails()	false
#endif

/* So many pages at a time: interrupts may be off meanwhile. */
#define KGNI_PIN_BATCH	512UL

static int kgni_pin_some(u64 addr, int n, unsigned int flags, struct page **pages)
{
	int got;

	if (kgni_pin_fails())
		return -ENOMEM;
	got = pin_user_pages_fast(addr, n, flags | FOLL_LONGTERM, pages);
	return got ? got : -EFAULT;
}

static long kgni_pin(u64 addr, unsigned long n, unsigned int flags, struct page **pages)
{
	unsigned long done = 0;
	int got;

	while (done < n) {
		int batch = min(n - done, KGNI_PIN_BATCH);

		got = kgni_pin_some(addr + (done << PAGE_SHIFT), batch, flags, pages + done);
		if (got < 0) {
			unpin_user_pages(pages, done);
			return got;
		}
		done += got;
		cond_resched();
	}
	return 0;
}

/*
 * Pin the pages of a range. Those of a read-only region are made the process's
 * own first, as if it wrote to them, so that they are neither the zero page nor
 * pages that a later write would replace. Where that can't be, as in a file
 * mapped shared for reading, the pages are what they are.
 */
static long kgni_mem_pin(const struct kgni_mem *mem, u64 addr, unsigned long npages,
			 struct page **pages)
{
	unsigned int flags = FOLL_WRITE | (mem->writable ? 0 : FOLL_FORCE);
	long rc = kgni_pin(addr, npages, flags, pages);

	if (rc == -EFAULT && !mem->writable)
		rc = kgni_pin(addr, npages, 0, pages);
	return !rc || rc == -ENOMEM || rc == -EINTR ? rc : GNI_RC_INVALID_PARAM;
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
static long kgni_mem_check_access(const struct kgni_mem *mem, u64 addr, unsigned long npages)
{
	unsigned long access = kgni_range_access(addr, npages);

	if (!(access & VM_READ))
		return GNI_RC_INVALID_PARAM;
	if (mem->writable && !(access & VM_WRITE))
		return GNI_RC_PERMISSION_ERROR;
	return GNI_RC_SUCCESS;
}

/**
 * kgni_range_pages - how many pages a range lies in
 * @addr: first byte
 * @length: bytes
 *
 * Context: any.
 * Return: how many; 0 if there is no such range in user space.
 */
unsigned long kgni_range_pages(u64 addr, u64 length)
{
	u64 end = addr + length;

	if (!length || end < addr || end > TASK_SIZE)
		return 0;
	return (PAGE_ALIGN(end) - (addr & PAGE_MASK)) >> PAGE_SHIFT;
}

/*
 * Only the first segment may begin inside a page and only the last may end
 * inside one. Return: pages of all of them; 0 if they cannot be a region.
 */
static unsigned long kgni_segments_pages(const struct kgni_segment *seg, u32 count)
{
	unsigned long n, total = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		n = kgni_range_pages(seg[i].addr, seg[i].length);
		if (!n || (i && offset_in_page(seg[i].addr)) ||
		    (i < count - 1 && offset_in_page(seg[i].addr + seg[i].length)))
			return 0;
		total += n;
	}
	return total;
}

/* Charge the pages, and have the address space show them (VmPin). */
static bool kgni_mem_account(struct kgni_mem *mem)
{
	if (mem->npages > totalram_pages() || !kgni_pages_charge(&mem->user, mem->npages))
		return false;
	mmgrab(current->mm);
	mem->mm = current->mm;
	atomic64_add(mem->npages, &mem->mm->pinned_vm);
	return true;
}

static void kgni_mem_unaccount(struct kgni_mem *mem)
{
	atomic64_sub(mem->npages, &mem->mm->pinned_vm);
	mmdrop(mem->mm);
	kgni_pages_uncharge(mem->user, mem->npages);
}

/* Unpin what is there, run by run. */
static void kgni_mem_unpin(const struct kgni_mem *mem)
{
	unsigned long i, end;

	for (i = 0; i < mem->npages; i = end) {
		end = i + 1;
		if (!mem->pages[i])
			continue;
		while (end < mem->npages && mem->pages[end])
			end++;
		unpin_user_pages_dirty_lock(mem->pages + i, end - i, mem->writable);
		cond_resched();
	}
}

static void kgni_mem_free(struct kref *ref)
{
	struct kgni_mem *mem = container_of(ref, struct kgni_mem, ref);

	if (mem->mm) {
		kgni_mem_unpin(mem);
		kgni_mem_unaccount(mem);
	}
	kvfree(mem->pages);
	kfree(mem);
}

/**
 * kgni_mem_put - give the memory back
 * @mem: the memory; its pages are unpinned when nobody holds it any more
 *
 * Context: process, may sleep.
 */
void kgni_mem_put(struct kgni_mem *mem)
{
	kref_put(&mem->ref, kgni_mem_free);
}

/* Pin all segments. What is pinned before one fails goes with the memory. */
static long kgni_mem_pin_all(struct kgni_mem *mem, const struct kgni_segment *seg, u32 count)
{
	unsigned long n, done = 0;
	long rc = GNI_RC_SUCCESS;
	u32 i;

	for (i = 0; i < count && !rc; i++) {
		n = kgni_range_pages(seg[i].addr, seg[i].length);
		rc = kgni_mem_pin(mem, seg[i].addr & PAGE_MASK, n, mem->pages + done);
		if (rc)
			memset(mem->pages + done, 0, n * sizeof(*mem->pages));
		done += n;
	}
	return rc;
}

static long kgni_mem_check_segments(const struct kgni_mem *mem, const struct kgni_segment *seg,
				    u32 count)
{
	long rc = GNI_RC_SUCCESS;
	u32 i;

	for (i = 0; i < count && !rc; i++)
		rc = kgni_mem_check_access(mem, seg[i].addr & PAGE_MASK,
					   kgni_range_pages(seg[i].addr, seg[i].length));
	return rc;
}

/* Charge, find room for the pages, and pin them unless they come later. */
static long kgni_mem_fill_new(struct kgni_mem *mem, const struct kgni_segment *seg, u32 count)
{
	long rc = mem->sparse ? GNI_RC_SUCCESS : kgni_mem_check_segments(mem, seg, count);

	if (rc)
		return rc;
	if (!kgni_mem_account(mem))
		return GNI_RC_ERROR_RESOURCE;
	mem->pages = kvcalloc(mem->npages, sizeof(*mem->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mem->pages) {
		kgni_mem_unaccount(mem);
		return -ENOMEM;
	}
	if (mem->sparse)
		return GNI_RC_SUCCESS;
	rc = kgni_mem_pin_all(mem, seg, count);
	if (rc) {
		kgni_mem_unpin(mem);
		kgni_mem_unaccount(mem);
		kvfree(mem->pages);
	}
	return rc;
}

/**
 * kgni_mem_new - pin memory of the calling process
 * @seg: its ranges
 * @count: how many
 * @flags: GNI_MEM_READ_ONLY and GNI_MEM_RESERVE_REGION count
 * @out: out: the memory
 *
 * Context: process, may sleep and fault.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if the ranges cannot be pinned;
 * GNI_RC_PERMISSION_ERROR if they cannot be written; GNI_RC_ERROR_RESOURCE for
 * more than there is or the user may lock; -errno.
 */
long kgni_mem_new(const struct kgni_segment *seg, u32 count, u32 flags, struct kgni_mem **out)
{
	unsigned long npages = kgni_segments_pages(seg, count);
	struct kgni_mem *mem;
	long rc;

	if (!npages)
		return GNI_RC_INVALID_PARAM;
	mem = kzalloc(sizeof(*mem), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	kref_init(&mem->ref);
	mutex_init(&mem->lock);
	mem->writable = !(flags & GNI_MEM_READ_ONLY);
	mem->sparse = flags & GNI_MEM_RESERVE_REGION;
	mem->npages = npages;
	rc = kgni_mem_fill_new(mem, seg, count);
	if (rc)
		kfree(mem);
	else
		*out = mem;
	return rc;
}

/**
 * kgni_mem_new_kernel - room for the pages of a kernel client's region
 * @npages: how many
 * @gfp: how to allocate
 *
 * The caller fills in the pages, and keeps them in memory.
 *
 * Context: process, may sleep.
 * Return: the memory, or NULL.
 */
struct kgni_mem *kgni_mem_new_kernel(unsigned long npages, gfp_t gfp)
{
	struct kgni_mem *mem = kzalloc(sizeof(*mem), gfp);

	if (!mem)
		return NULL;
	kref_init(&mem->ref);
	mutex_init(&mem->lock);
	mem->writable = true;
	mem->npages = npages;
	mem->pages = kvcalloc(npages, sizeof(*mem->pages), gfp | __GFP_NOWARN);
	if (mem->pages)
		return mem;
	kfree(mem);
	return NULL;
}

/* A page that is there must be the one that was found there now. */
static bool kgni_mem_agrees(const struct kgni_mem *mem, unsigned long first,
			    struct page *const *pages, unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++)
		if (mem->pages[first + i] && mem->pages[first + i] != pages[i])
			return false;
	return true;
}

/* Take pages, pinned, where there is none. */
static void kgni_mem_adopt(struct kgni_mem *mem, unsigned long first, struct page **pages,
			   unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		if (mem->pages[first + i]) {
			unpin_user_page(pages[i]);
			continue;
		}
		smp_store_release(&mem->pages[first + i], pages[i]);	/* see kgni_mem_present() */
	}
	WRITE_ONCE(mem->live, true);
}

/**
 * kgni_mem_update - pin a part of a reserved range
 * @mem: the memory, reserved
 * @first: number of the first page
 * @addr: its address
 * @npages: how many
 *
 * Pages that are there already stay, and must still be what the addresses
 * lead to.
 *
 * Context: process, may sleep and fault.
 * Return: as kgni_mem_new(); unless it is GNI_RC_SUCCESS nothing changed.
 */
long kgni_mem_update(struct kgni_mem *mem, unsigned long first, u64 addr, unsigned long npages)
{
	struct page **pages;
	long rc;

	if (current->mm != mem->mm)
		return GNI_RC_INVALID_PARAM;
	rc = kgni_mem_check_access(mem, addr, npages);
	if (rc)
		return rc;
	pages = kvcalloc(npages, sizeof(*pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!pages)
		return -ENOMEM;
	rc = kgni_mem_pin(mem, addr, npages, pages);
	if (rc)
		goto free;
	mutex_lock(&mem->lock);
	if (kgni_mem_agrees(mem, first, pages, npages)) {
		kgni_mem_adopt(mem, first, pages, npages);
	} else {
		unpin_user_pages(pages, npages);
		rc = GNI_RC_INVALID_PARAM;
	}
	mutex_unlock(&mem->lock);
free:
	kvfree(pages);
	return rc;
}

/**
 * kgni_mem_present - are pages there
 * @mem: the memory
 * @first: number of the first page
 * @npages: how many
 *
 * Context: any.
 * Return: true if all are; they stay.
 */
bool kgni_mem_present(const struct kgni_mem *mem, unsigned long first, unsigned long npages)
{
	unsigned long i;

	if (!mem->sparse)
		return true;
	for (i = first; i < first + npages; i++)
		if (!smp_load_acquire(&mem->pages[i]))	/* see kgni_mem_adopt() */
			return false;
	return true;
}
