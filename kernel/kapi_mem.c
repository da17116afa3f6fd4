// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations of kernel clients: memory that they keep themselves, by kernel
 * virtual addresses, or by physical pages.
 *
 * A registration that ended may leave its number held, so that what late peers
 * send to it hits nothing: until gni_mem_mdd_release(), or a timer.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kapi.h"

/* Flags with an effect here, and hints that need none. */
#define KAPI_MEM_FLAGS	(GNI_MEM_READ_ONLY | GNI_MEM_USE_GART | GNI_MEM_PHYS_CONT | \
			 GNI_MEM_STRICT_PI_ORDERING | GNI_MEM_PI_FLUSH | \
			 GNI_MEM_RELAXED_PI_ORDERING | GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED)
#define KAPI_MEM_SHARING (GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED)
#define KAPI_SEGMENT	SZ_4K

/**
 * struct kapi_hold - the number of a registration that ended
 * @node: in nic->holds; empty for whoever lets it go
 * @nic: its attachment
 * @mdh: the number
 * @handle: the handle that it had
 * @work: lets it go when its time is over
 */
struct kapi_hold {
	struct list_head node;
	struct gni_nic *nic;
	u32 mdh;
	struct kgni_mem_handle handle;
	struct delayed_work work;
};

/* Works that end holds, and have credits go back. */
struct workqueue_struct *kapi_wq;

/* --- pages ---------------------------------------------------------------------------- */

static bool kapi_is_mapped(u64 addr)
{
#ifdef MODULES_VADDR
	if (addr >= MODULES_VADDR && addr < MODULES_END)
		return true;
#endif
	return is_vmalloc_addr((void *)(uintptr_t)addr);
}

/* The page behind an address that is mapped page by page; NULL if it is no memory. */
static struct page *kapi_mapped_page(u64 addr)
{
	struct page *page = vmalloc_to_page((void *)(uintptr_t)addr);

	return page && pfn_valid(page_to_pfn(page)) ? page : NULL;
}

static struct page *kapi_page(u64 addr)
{
	if (kapi_is_mapped(addr))
		return kapi_mapped_page(addr);
	return virt_addr_valid((void *)(uintptr_t)addr) ? virt_to_page((void *)(uintptr_t)addr) :
							  NULL;
}

/* Return: how many pages a range lies in, 0 if there is no such range. */
static unsigned long kapi_range_pages(u64 addr, u64 length)
{
	u64 last = addr + length - 1;

	if (!length || last < addr)
		return 0;
	return (last >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
}

/* Find the pages of a range. */
static bool kapi_range_fill(struct page **pages, u64 addr, unsigned long npages)
{
	unsigned long i;

	for (i = 0; i < npages; i++) {
		pages[i] = kapi_page((addr & PAGE_MASK) + (i << PAGE_SHIFT));
		if (!pages[i])
			return false;
	}
	return true;
}

/* One range that is mapped page by page. */
static gni_return_t kapi_region_mapped(struct kgni_kernel_region *r, gfp_t gfp)
{
	r->mem = kgni_mem_new_kernel(r->npages, gfp);
	if (!r->mem)
		return GNI_RC_ERROR_RESOURCE;
	if (kapi_range_fill(r->mem->pages, r->addr, r->npages))
		return GNI_RC_SUCCESS;
	kgni_mem_put(r->mem);
	return GNI_RC_INVALID_PARAM;
}

static gni_return_t kapi_region_range(struct kgni_kernel_region *r, u64 addr, u64 length, gfp_t gfp)
{
	unsigned long npages = kapi_range_pages(addr, length);

	if (!npages)
		return GNI_RC_INVALID_PARAM;
	if (npages > totalram_pages())
		return GNI_RC_ERROR_RESOURCE;
	r->base = addr & PAGE_MASK;
	r->addr = addr;
	r->length = length;
	r->npages = npages;
	r->exact = true;
	if (kapi_is_mapped(addr))
		return kapi_region_mapped(r, gfp);
	if (!virt_addr_valid((void *)(uintptr_t)addr) ||
	    !virt_addr_valid((void *)(uintptr_t)(addr + length - 1)))
		return GNI_RC_INVALID_PARAM;
	r->pfn = page_to_pfn(virt_to_page((void *)(uintptr_t)addr));
	return GNI_RC_SUCCESS;
}

/* --- segments -------------------------------------------------------------------------- */

/* Only addresses count; each is that of a physical page. */
static gni_return_t kapi_segments_phys(struct kgni_kernel_region *r, const gni_mem_segment_t *seg,
				       u32 count, gfp_t gfp)
{
	u32 i;

	if (PAGE_SIZE != KAPI_SEGMENT)
		return GNI_RC_INVALID_PARAM;
	for (i = 0; i < count; i++)
		if (seg[i].address % KAPI_SEGMENT || !pfn_valid(PHYS_PFN(seg[i].address)))
			return GNI_RC_INVALID_PARAM;
	r->mem = kgni_mem_new_kernel(count, gfp);
	if (!r->mem)
		return GNI_RC_ERROR_RESOURCE;
	for (i = 0; i < count; i++)
		r->mem->pages[i] = pfn_to_page(PHYS_PFN(seg[i].address));
	r->length = (u64)count * KAPI_SEGMENT;
	r->npages = count;
	return GNI_RC_SUCCESS;
}

/* Only the first may begin, and only the last may end inside of a page. */
static unsigned long kapi_segments_pages(const gni_mem_segment_t *seg, u32 count)
{
	unsigned long n, total = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		n = kapi_range_pages(seg[i].address, seg[i].length);
		if (!n || n > ULONG_MAX - total || (i && offset_in_page(seg[i].address)) ||
		    (i < count - 1 && offset_in_page(seg[i].address + seg[i].length)))
			return 0;
		total += n;
	}
	return total;
}

static bool kapi_segments_fill(struct kgni_kernel_region *r, const gni_mem_segment_t *seg,
			       u32 count)
{
	unsigned long n, done = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		n = kapi_range_pages(seg[i].address, seg[i].length);
		if (!kapi_range_fill(r->mem->pages + done, seg[i].address, n))
			return false;
		done += n;
		r->length += seg[i].length;
	}
	return true;
}

static gni_return_t kapi_segments_virtual(struct kgni_kernel_region *r,
					  const gni_mem_segment_t *seg, u32 count, gfp_t gfp)
{
	r->npages = kapi_segments_pages(seg, count);
	if (!r->npages)
		return GNI_RC_INVALID_PARAM;
	if (r->npages > totalram_pages())
		return GNI_RC_ERROR_RESOURCE;
	r->addr = offset_in_page(seg[0].address);
	r->exact = true;
	r->mem = kgni_mem_new_kernel(r->npages, gfp);
	if (!r->mem)
		return GNI_RC_ERROR_RESOURCE;
	if (kapi_segments_fill(r, seg, count))
		return GNI_RC_SUCCESS;
	kgni_mem_put(r->mem);
	return GNI_RC_INVALID_PARAM;
}

/* --- registering ------------------------------------------------------------------------- */

/* What both kinds have in common, before the memory is looked at. */
static gni_return_t kapi_region_begin(struct kgni_kernel_region *r, struct gni_nic *nic,
				      struct gni_cq *cq, u32 flags)
{
	if (flags & ~KAPI_MEM_FLAGS || (flags & KAPI_MEM_SHARING) == KAPI_MEM_SHARING)
		return GNI_RC_INVALID_PARAM;
	if (cq && (!kapi_is_cq(cq) || cq->nic != nic))
		return GNI_RC_INVALID_PARAM;
	if (nic->nic->modes & GNI_CDM_MODE_MDD_SHARED && !(flags & KAPI_MEM_SHARING))
		flags |= GNI_MEM_MDD_SHARED;
	r->flags = flags;
	r->cq = cq ? cq->cq : NULL;
	return GNI_RC_SUCCESS;
}

/* The memory was found: @rc says so. */
static gni_return_t kapi_region_end(struct kgni_kernel_region *r, struct gni_nic *nic,
				    gni_return_t rc, gni_mem_handle_t *mem_hndl)
{
	struct kgni_mem_handle handle;

	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = kapi_rc(kgni_mdd_register_kernel(nic->nic, r, &handle), GNI_RC_ERROR_RESOURCE);
	if (rc != GNI_RC_SUCCESS) {
		if (r->mem)
			kgni_mem_put(r->mem);
		return rc;
	}
	mem_hndl->qword1 = handle.qword1;
	mem_hndl->qword2 = handle.qword2;
	return GNI_RC_SUCCESS;
}

gni_return_t gni_mem_register(gni_nic_handle_t nic_hndl, uint64_t address, uint64_t length,
			      gni_cq_handle_t dst_cq_hndl, uint32_t flags,
			      gni_mem_handle_t *mem_hndl)
{
	struct kgni_kernel_region r = { 0 };
	unsigned int noio;
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !mem_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	noio = memalloc_noio_save();
	rc = kapi_region_begin(&r, nic_hndl, dst_cq_hndl, flags);
	if (rc == GNI_RC_SUCCESS)
		rc = kapi_region_range(&r, address, length, nic_hndl->nic->gfp);
	rc = kapi_region_end(&r, nic_hndl, rc, mem_hndl);
	memalloc_noio_restore(noio);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_mem_register);

gni_return_t gni_mem_register_segments(gni_nic_handle_t nic_hndl,
				       gni_mem_segment_t *mem_segments, uint32_t segments_cnt,
				       gni_cq_handle_t dst_cq_hndl, uint32_t flags,
				       gni_mem_handle_t *mem_hndl)
{
	struct kgni_kernel_region r = { 0 };
	unsigned int noio;
	gni_return_t rc;
	gfp_t gfp;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !mem_segments || !segments_cnt || !mem_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (segments_cnt > KGNI_SEGMENTS_MAX)
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	gfp = nic_hndl->nic->gfp;
	noio = memalloc_noio_save();
	rc = kapi_region_begin(&r, nic_hndl, dst_cq_hndl, flags & ~GNI_MEM_PHYS_SEGMENTS);
	if (rc == GNI_RC_SUCCESS && flags & GNI_MEM_PHYS_SEGMENTS)
		rc = kapi_segments_phys(&r, mem_segments, segments_cnt, gfp);
	else if (rc == GNI_RC_SUCCESS)
		rc = kapi_segments_virtual(&r, mem_segments, segments_cnt, gfp);
	rc = kapi_region_end(&r, nic_hndl, rc, mem_hndl);
	memalloc_noio_restore(noio);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_mem_register_segments);

/* --- ending ---------------------------------------------------------------------------- */

/* It is in no list any more, and its work does not run, or calls this. */
static void kapi_hold_end(struct kapi_hold *h)
{
	kgni_mdd_unhold(h->nic->nic, h->mdh);
	kfree(h);
}

static void kapi_hold_work(struct work_struct *work)
{
	struct kapi_hold *h = container_of(work, struct kapi_hold, work.work);
	struct gni_nic *nic = h->nic;
	bool mine;

	mutex_lock(&nic->lock);
	mine = !list_empty(&h->node);
	list_del_init(&h->node);
	mutex_unlock(&nic->lock);
	if (mine)
		kapi_hold_end(h);
}

static gni_return_t kapi_deregister_hold(struct gni_nic *nic, const struct kgni_mem_handle *handle,
					 unsigned int ms)
{
	struct kapi_hold *h = kzalloc(sizeof(*h), GFP_NOIO | __GFP_NOFAIL);
	gni_return_t rc;

	rc = kapi_rc(kgni_mdd_deregister_kernel(nic->nic, handle, &h->mdh), GNI_RC_INVALID_PARAM);
	if (rc != GNI_RC_SUCCESS) {
		kfree(h);
		return rc;
	}
	h->nic = nic;
	h->handle = *handle;
	INIT_DELAYED_WORK(&h->work, kapi_hold_work);
	mutex_lock(&nic->lock);
	list_add_tail(&h->node, &nic->holds);
	queue_delayed_work(kapi_wq, &h->work, msecs_to_jiffies(ms));
	mutex_unlock(&nic->lock);
	return GNI_RC_SUCCESS;
}

gni_return_t gni_mem_deregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl,
				int hold_timeout)
{
	struct kgni_mem_handle handle;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !mem_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	handle.qword1 = mem_hndl->qword1;
	handle.qword2 = mem_hndl->qword2;
	if (hold_timeout > 0)
		return kapi_end(kapi_deregister_hold(nic_hndl, &handle, hold_timeout));
	return kapi_end(kapi_rc(kgni_mdd_deregister_kernel(nic_hndl->nic, &handle, NULL),
				GNI_RC_INVALID_PARAM));
}
EXPORT_SYMBOL_GPL(gni_mem_deregister);

/* The hold of a handle, taken from the list; NULL if there is none. */
static struct kapi_hold *kapi_hold_take(struct gni_nic *nic, const gni_mem_handle_t *handle)
{
	struct kapi_hold *h;

	list_for_each_entry(h, &nic->holds, node) {
		if (h->handle.qword1 == handle->qword1 && h->handle.qword2 == handle->qword2) {
			list_del_init(&h->node);
			return h;
		}
	}
	return NULL;
}

gni_return_t gni_mem_mdd_release(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl)
{
	struct kapi_hold *h;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !mem_hndl)
		return kapi_end(GNI_RC_NO_MATCH);
	mutex_lock(&nic_hndl->lock);
	h = kapi_hold_take(nic_hndl, mem_hndl);
	mutex_unlock(&nic_hndl->lock);
	if (!h)
		return kapi_end(GNI_RC_NO_MATCH);
	cancel_delayed_work_sync(&h->work);
	kapi_hold_end(h);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_mem_mdd_release);

static struct kapi_hold *kapi_hold_first(struct gni_nic *nic)
{
	struct kapi_hold *h;

	mutex_lock(&nic->lock);
	h = list_first_entry_or_null(&nic->holds, struct kapi_hold, node);
	if (h)
		list_del_init(&h->node);
	mutex_unlock(&nic->lock);
	return h;
}

/* Part of gni_cdm_destroy(): no number is held any more, and no timer runs. */
void kapi_mem_release_all(struct gni_nic *nic)
{
	struct kapi_hold *h;

	while ((h = kapi_hold_first(nic))) {
		cancel_delayed_work_sync(&h->work);
		kapi_hold_end(h);
	}
	flush_workqueue(kapi_wq);
}

/* Part of kapi_init(). */
int __init kapi_mem_init(void)
{
	kapi_wq = alloc_workqueue("kgni_kapi", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return kapi_wq ? 0 : -ENOMEM;
}

/* Part of kapi_exit(). */
void kapi_mem_exit(void)
{
	destroy_workqueue(kapi_wq);
}
