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

static gni_return_t register_call(const struct gni_nic *nic, struct kgni_ioc_mem_register *arg)
{
	gni_return_t rc = ugni_nic_call(nic, KGNI_IOC_MEM_REGISTER, arg);

	if (rc == GNI_RC_SUCCESS)
		return rc;
	return ugni_more(rc, "address is 0x%llx, length %llu, flags 0x%x",
			 (unsigned long long)arg->addr, (unsigned long long)arg->length,
			 arg->flags);
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
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!mem_hndl)
		return ugni_end(ugni_null(mem_hndl));
	rc = cq_id(nic, dst_cq_hndl, &arg.cq);
	if (rc == GNI_RC_SUCCESS)
		rc = register_call(nic, &arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	mem_hndl->qword1 = arg.handle.qword1;
	mem_hndl->qword2 = arg.handle.qword2;
	return GNI_RC_SUCCESS;
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
