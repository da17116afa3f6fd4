// SPDX-License-Identifier: GPL-2.0-only
/*
 * GNI objects for the cases: see common.h.
 */
#include "common.h"

unsigned int device_count(void)
{
	int n = 0;

	return GNI_GetNumLocalDevices(&n) == GNI_RC_SUCCESS ? n : 0;
}

gni_job_limits_t no_limits(void)
{
	gni_job_limits_t l;

	memset(&l, 0xff, sizeof(l));
	return l;
}

void job_resource_is(uint8_t ptag, gni_job_res_t type, uint64_t used, uint64_t most)
{
	gni_job_res_desc_t desc = { 0 };

	is_rc(GNI_GetJobResInfo(0, ptag, type, &desc), GNI_RC_SUCCESS);
	is_u64(desc.used, used, "resource %u", type);
	is_u64(desc.limit, most, "resource %u", type);
}

gni_cq_handle_t cq_open(struct nic *n, uint32_t entries, gni_cq_mode_t mode)
{
	gni_cq_handle_t cq = NULL;

	must_do(GNI_CqCreate(n->h, entries, 0, mode, NULL, NULL, &cq));
	return cq;
}

void nic_open_modes(struct nic *n, uint32_t device, uint32_t id, uint32_t modes)
{
	memset(n, 0, sizeof(*n));
	n->id = id;
	must_do(GNI_CdmCreate(id, GNI_FIND_ALLOC_PTAG, COOKIE, modes, &n->cdm));
	must_do(GNI_CdmAttach(n->cdm, device, &n->pe, &n->h));
	n->tx = cq_open(n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
	n->rx = cq_open(n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
}

void nic_open(struct nic *n, uint32_t device, uint32_t id)
{
	nic_open_modes(n, device, id, 0);
}

void nic_close(struct nic *n)
{
	is_rc(GNI_CqDestroy(n->tx), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(n->rx), GNI_RC_SUCCESS);
	is_rc(GNI_CdmDestroy(n->cdm), GNI_RC_SUCCESS);
}

gni_ep_handle_t ep_open(struct nic *n, uint32_t pe, uint32_t id)
{
	gni_ep_handle_t ep = NULL;

	must_do(GNI_EpCreate(n->h, n->tx, &ep));
	must_do(GNI_EpBind(ep, pe, id));
	return ep;
}

void mem_open(struct nic *n, void *buf, size_t len, gni_cq_handle_t cq, uint32_t flags,
	      gni_mem_handle_t *mh)
{
	must_do(GNI_MemRegister(n->h, (uint64_t)buf, len, cq, flags, -1, mh));
}

void region_open(struct nic *n, void *buf, size_t len, gni_cq_handle_t cq, uint32_t flags,
		 struct region *r)
{
	mem_open(n, buf, len, cq, flags, &r->mh);
	r->addr = (uint64_t)buf;
	r->len = len;
	r->pe = n->pe;
	r->id = n->id;
}

void desc_init(gni_post_descriptor_t *d, gni_post_type_t type, uint16_t cq_mode)
{
	memset(d, 0xa5, sizeof(*d));
	d->type = type;
	d->cq_mode = cq_mode;
	d->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
	if (type == GNI_POST_RDMA_PUT || type == GNI_POST_RDMA_GET || type == GNI_POST_CQWRITE)
		d->src_cq_hndl = NULL;
	if (type == GNI_POST_RDMA_PUT || type == GNI_POST_RDMA_GET)
		d->rdma_mode = 0;
}

void desc_move(gni_post_descriptor_t *d, void *local, const gni_mem_handle_t *lmh,
	       const struct region *r, uint64_t offset, uint64_t len)
{
	d->local_addr = (uint64_t)local;
	if (lmh)
		d->local_mem_hndl = *lmh;
	d->remote_addr = r->addr + offset;
	d->remote_mem_hndl = r->mh;
	d->length = len;
}

void desc_amo(gni_post_descriptor_t *d, gni_fma_cmd_type_t cmd, void *local,
	      const gni_mem_handle_t *lmh, const struct region *r, uint64_t offset, uint64_t len,
	      uint64_t first, uint64_t second)
{
	desc_init(d, GNI_POST_AMO, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(d, local, lmh, r, offset, len);
	d->amo_cmd = cmd;
	d->first_operand = first;
	d->second_operand = second;
}

gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *d)
{
	switch (d->type) {
	case GNI_POST_RDMA_PUT:
	case GNI_POST_RDMA_GET:
		return GNI_PostRdma(ep, d);
	case GNI_POST_CQWRITE:
		return GNI_PostCqWrite(ep, d);
	default:
		return GNI_PostFma(ep, d);
	}
}

gni_return_t next_event(gni_cq_handle_t cq, gni_cq_entry_t *event)
{
	gni_return_t rc = GNI_CqGetEvent(cq, event);
	uint64_t end;

	if (rc != GNI_RC_NOT_DONE)
		return rc;
	end = now_ms() + PATIENCE;
	do {
		sched_yield();
		rc = GNI_CqGetEvent(cq, event);
	} while (rc == GNI_RC_NOT_DONE && now_ms() < end);
	return rc;
}

gni_return_t complete(gni_cq_handle_t cq, gni_post_descriptor_t *want, gni_cq_entry_t *event)
{
	gni_post_descriptor_t *d = NULL;
	gni_cq_entry_t e = 0;
	gni_return_t rc;

	rc = next_event(cq, &e);
	if (event)
		*event = e;
	if (!ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "rc %s", rc_name(rc)))
		return rc;
	is_rc(GNI_GetCompleted(cq, e, &d), rc);
	ok(d == want, "descriptor %p, not %p", (void *)d, (void *)want);
	is_u64(gni_cq_get_type(e), GNI_CQ_EVENT_TYPE_POST);
	is_u64(gni_cq_overrun(e), 0);
	is_u64(!GNI_CQ_STATUS_OK(e), rc != GNI_RC_SUCCESS);
	if (d)
		is_u64(d->status, rc);
	return rc;
}

gni_return_t post_wait(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *d)
{
	gni_return_t rc = post(ep, d);

	return rc == GNI_RC_SUCCESS ? complete(cq, d, NULL) : rc;
}
