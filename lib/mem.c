// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory registration, all of it the driver's: kernel/mdd.c. What a handle
 * says of itself is in kernel/core/memhndl.h.
 */
#include "ugni.h"
#include "core/memhndl.h"

/* The driver knows a queue by its id in the file that it was made through. */
static gni_return_t cq_id(const struct gni_nic *nic, gni_cq_handle_t dst_cq_hndl, u32 *id)
{
	struct gni_cq *cq;

	*id = 0;
	if (!dst_cq_hndl)
		return GNI_RC_SUCCESS;
	cq = ugni_cq(dst_cq_hndl);
	if (!cq || cq->nic != nic)
		return ugni_no("queue of the NIC handle", dst_cq_hndl);
	*id = cq->id;
	return GNI_RC_SUCCESS;
}

_Static_assert(sizeof(gni_mem_segment_t) == sizeof(struct kgni_segment), "same layout");
_Static_assert(offsetof(gni_mem_segment_t, length) == offsetof(struct kgni_segment, length),
	       "same layout");

/* The handle that is handed in counts for clones and updates only. */
static gni_return_t mem_register(gni_nic_handle_t nic_hndl, gni_cq_handle_t dst_cq_hndl,
				 struct kgni_ioc_mem_register *arg, gni_mem_handle_t *mem_hndl)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_no("NIC handle", nic_hndl);
	if (!mem_hndl)
		return ugni_null(mem_hndl);
	rc = cq_id(nic, dst_cq_hndl, &arg->cq);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	arg->handle.qword1 = mem_hndl->qword1;
	arg->handle.qword2 = mem_hndl->qword2;
	rc = ugni_nic_call(nic, KGNI_IOC_MEM_REGISTER, arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_more(rc, "address is 0x%llx, length %llu, segments %u, flags 0x%x",
				 (unsigned long long)arg->addr, (unsigned long long)arg->length,
				 arg->segments, arg->flags);
	mem_hndl->qword1 = arg->handle.qword1;
	mem_hndl->qword2 = arg->handle.qword2;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_MemRegister(gni_nic_handle_t nic_hndl, uint64_t address,
					 uint64_t length, gni_cq_handle_t dst_cq_hndl,
					 uint32_t flags, uint32_t vmdh_index,
					 gni_mem_handle_t *mem_hndl)
{
	struct kgni_ioc_mem_register arg = {
		.addr = address,
		.length = length,
		.flags = flags,
		.vmdh_index = vmdh_index,
	};

	return ugni_end(mem_register(nic_hndl, dst_cq_hndl, &arg, mem_hndl));
}

UGNI_PUBLIC gni_return_t GNI_MemRegisterSegments(gni_nic_handle_t nic_hndl,
						 gni_mem_segment_t *mem_segments,
						 uint32_t segments_cnt,
						 gni_cq_handle_t dst_cq_hndl, uint32_t flags,
						 uint32_t vmdh_index, gni_mem_handle_t *mem_hndl)
{
	struct kgni_ioc_mem_register arg = {
		.addr = (u64)(uintptr_t)mem_segments,
		.segments = segments_cnt,
		.flags = flags,
		.vmdh_index = vmdh_index,
	};

	if (!mem_segments)
		return ugni_end(ugni_null(mem_segments));
	if (!segments_cnt)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "segments_cnt is 0"));
	return ugni_end(mem_register(nic_hndl, dst_cq_hndl, &arg, mem_hndl));
}

UGNI_PUBLIC gni_return_t GNI_SetMddResources(gni_nic_handle_t nic_hndl, uint32_t num_entries)
{
	struct kgni_ioc_mdd_block arg = { .entries = num_entries };
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	rc = ugni_nic_call(nic, KGNI_IOC_MDD_BLOCK, &arg);
	if (rc == GNI_RC_SUCCESS)
		return rc;
	return ugni_end(ugni_more(rc, "num_entries is %u, 1 to %u may be set, once", num_entries,
				  KGNI_MH_MDH_MAX + 1));
}

UGNI_PUBLIC gni_return_t GNI_MemDeregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl)
{
	struct kgni_ioc_mem_deregister arg;
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!mem_hndl)
		return ugni_end(ugni_null(mem_hndl));
	arg.handle.qword1 = mem_hndl->qword1;
	arg.handle.qword2 = mem_hndl->qword2;
	/* At a checkpoint there is nothing to undo: the file had it, and is gone. */
	if (ugni_away(nic))
		return GNI_RC_SUCCESS;
	rc = ugni_nic_call(nic, KGNI_IOC_MEM_DEREGISTER, &arg);
	if (rc == GNI_RC_SUCCESS)
		return rc;
	return ugni_end(ugni_more(rc, "mem_hndl 0x%llx, 0x%llx is none of this NIC handle",
				  (unsigned long long)mem_hndl->qword1,
				  (unsigned long long)mem_hndl->qword2));
}

static u8 attr_flag(gni_mem_handle_attr_t attr)
{
	switch (attr) {
	case GNI_MEMHNDL_ATTR_READONLY:
		return KGNI_MH_READONLY;
	case GNI_MEMHNDL_ATTR_VMDH:
		return KGNI_MH_VMDH;
	case GNI_MEMHNDL_ATTR_MRT:
		return KGNI_MH_MRT;
	case GNI_MEMHNDL_ATTR_GART:
		return KGNI_MH_GART;
	case GNI_MEMHNDL_ATTR_IOMMU:
		return KGNI_MH_IOMMU;
	case GNI_MEMHNDL_ATTR_PCI_IOMMU:
		return KGNI_MH_PCI_IOMMU;
	case GNI_MEMHNDL_ATTR_CLONE:
		return KGNI_MH_CLONE;
	}
	return 0;
}

/* A handle is taken for one if its CRC is right and it can name something. */
UGNI_PUBLIC gni_return_t GNI_MemHndlQueryAttr(gni_mem_handle_t *mem_hndl,
					      gni_mem_handle_attr_t attr, int *yesno)
{
	u8 flag = attr_flag(attr);
	struct kgni_mh mh;

	if (!mem_hndl)
		return ugni_end(ugni_null(mem_hndl));
	if (!yesno)
		return ugni_end(ugni_null(yesno));
	if (!flag)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "attr is %u, there is no such",
					 (unsigned int)attr));
	if (!kgni_mh_unpack(mem_hndl->qword1, mem_hndl->qword2, &mh) ||
	    (!mh.mdh && !(mh.flags & KGNI_MH_VMDH)))
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "mem_hndl 0x%llx, 0x%llx is none",
					 (unsigned long long)mem_hndl->qword1,
					 (unsigned long long)mem_hndl->qword2));
	*yesno = !!(mh.flags & flag);
	return GNI_RC_SUCCESS;
}

/* A region that was reserved and not updated has no pages in its handle. */
UGNI_PUBLIC gni_return_t GNI_RebuildMemHndl(gni_mem_handle_t *src_mem_hndl, uint32_t vmdh_index,
					    gni_mem_handle_t *dst_mem_hndl)
{
	gni_mem_handle_t out;
	struct kgni_mh mh;

	if (!src_mem_hndl)
		return ugni_end(ugni_null(src_mem_hndl));
	if (!dst_mem_hndl)
		return ugni_end(ugni_null(dst_mem_hndl));
	if (vmdh_index > KGNI_MH_MDH_MAX)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "vmdh_index is %u, at most %u",
					 vmdh_index, KGNI_MH_MDH_MAX));
	if (!kgni_mh_unpack(src_mem_hndl->qword1, src_mem_hndl->qword2, &mh) ||
	    !(mh.flags & KGNI_MH_VMDH))
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM,
					 "src_mem_hndl 0x%llx, 0x%llx is none with an index",
					 (unsigned long long)src_mem_hndl->qword1,
					 (unsigned long long)src_mem_hndl->qword2));
	if (!mh.npages)
		return ugni_end(ugni_bad(GNI_RC_INVALID_STATE,
					 "the region was reserved and never updated"));
	mh.mdh = (u16)vmdh_index;
	kgni_mh_pack(&mh, &out.qword1, &out.qword2);
	*dst_mem_hndl = out;
	return GNI_RC_SUCCESS;
}

/* Which file to ask: that of @nic_hndl, or else @fd. */
static gni_return_t query_fd(gni_nic_handle_t nic_hndl, int *fd)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);

	if (nic_hndl && !nic)
		return ugni_no("NIC handle", nic_hndl);
	if (nic && ugni_away(nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	if (!nic == !ugni_is_device(*fd))
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"nic_hndl %p, fd %d: one of them must name a NIC",
				(void *)nic_hndl, *fd);
	if (nic)
		*fd = nic->fd;
	return GNI_RC_SUCCESS;
}

static gni_return_t query(gni_nic_handle_t nic_hndl, int fd, struct kgni_ioc_mem_next *arg)
{
	bool first = !arg->handle.qword1 && !arg->handle.qword2;
	gni_return_t rc = query_fd(nic_hndl, &fd);

	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_call(fd, KGNI_IOC_MEM_NEXT, arg);
	/* No handle was given that could be wrong. */
	if (rc == GNI_RC_INVALID_STATE && first)
		return ugni_bad(GNI_RC_INVALID_PARAM, "fd %d is not attached", fd);
	return rc == GNI_RC_SUCCESS ? rc :
	       ugni_more(rc, "after mem_hndl 0x%llx, 0x%llx",
			 (unsigned long long)arg->handle.qword1,
			 (unsigned long long)arg->handle.qword2);
}

UGNI_PUBLIC gni_return_t GNI_MemQueryHndls(gni_nic_handle_t nic_hndl, int fd,
					   gni_mem_handle_t *mem_hndl, uint64_t *address,
					   uint64_t *length)
{
	struct kgni_ioc_mem_next arg = { 0 };
	gni_return_t rc;

	if (!mem_hndl)
		return ugni_end(ugni_null(mem_hndl));
	if (!address)
		return ugni_end(ugni_null(address));
	if (!length)
		return ugni_end(ugni_null(length));
	*address = 0;
	*length = 0;
	arg.handle.qword1 = mem_hndl->qword1;
	arg.handle.qword2 = mem_hndl->qword2;
	rc = query(nic_hndl, fd, &arg);
	if (rc == GNI_RC_NO_MATCH)
		return ugni_end_quiet(rc);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	mem_hndl->qword1 = arg.handle.qword1;
	mem_hndl->qword2 = arg.handle.qword2;
	*address = arg.addr;
	*length = arg.length;
	return GNI_RC_SUCCESS;
}
