// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Endpoints: where transactions go, and the event values they carry. The
 * driver knows none of it; every post names the peer and the values.
 */
#include "ugni.h"

UGNI_PUBLIC gni_return_t GNI_EpCreate(gni_nic_handle_t nic_hndl, gni_cq_handle_t src_cq_hndl,
				      gni_ep_handle_t *ep_hndl)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);
	struct gni_cq *cq = NULL;
	struct gni_ep *ep;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!ep_hndl)
		return ugni_end(ugni_null(ep_hndl));
	ep = ugni_alloc(&ugni_eps);
	if (!ep)
		return ugni_end(ugni_nomem("endpoint"));
	if (src_cq_hndl) {
		cq = ugni_lock(&ugni_cqs, src_cq_hndl);
		if (!cq || cq->nic != nic) {
			if (cq)
				ugni_unlock(cq);
			ugni_free(&ugni_eps, ep);
			return ugni_end(ugni_no("queue of the NIC handle", src_cq_hndl));
		}
		cq->eps++;
		ugni_unlock(cq);
	}
	ep->nic = nic;
	ep->cq = cq;
	ep->window = &ugni_no_window;
	ugni_publish(&ugni_eps, ep);
	*ep_hndl = ep;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_EpSetEventData(gni_ep_handle_t ep_hndl, uint32_t local_event,
					    uint32_t remote_event)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	ep->events_set = true;
	ep->local_event = local_event;
	ep->remote_event = remote_event;
	ugni_unlock(ep);
	return GNI_RC_SUCCESS;
}

static gni_return_t ep_bind(struct gni_ep *ep, u32 remote_pe, u32 remote_id)
{
	if (ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM, "the endpoint is bound, to 0x%x, 0x%x",
				ep->remote_pe, ep->remote_id);
	ep->bound = true;
	ep->peer = ugni_peer(remote_pe);
	ep->remote_pe = remote_pe;
	ep->remote_id = remote_id;
	if (!ep->events_set) {
		ep->local_event = remote_id;
		ep->remote_event = ep->nic->inst_id;
	}
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_EpBind(gni_ep_handle_t ep_hndl, uint32_t remote_addr,
				    uint32_t remote_id)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	gni_return_t rc;

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	rc = ep_bind(ep, remote_addr, remote_id);
	ugni_unlock(ep);
	return ugni_end(rc);
}

static bool ep_busy(const struct gni_ep *ep)
{
	return core_load(&ep->outstanding[0]) || core_load(&ep->outstanding[1]);
}

/* Call @forget for every queue but the endpoint's own that has requests of it. */
static void ep_other_cqs(struct gni_ep *ep,
			 void (*forget)(struct gni_cq *cq, struct gni_ep *ep))
{
	struct gni_cq *cq;
	u32 i = 0;

	if (!core_load(&ep->outstanding[1]))
		return;
	while ((cq = ugni_next(&ugni_cqs, &i)))
		if (cq != ep->cq && core_load(&cq->nic) == ep->nic)
			forget(cq, ep);
}

static void settle_other(struct gni_cq *cq, struct gni_ep *ep)
{
	(void)ep;
	ugni_cq_settle(cq);
}

static gni_return_t ep_idle(struct gni_ep *ep)
{
	if (ep_busy(ep) && ep->cq)
		ugni_cq_settle(ep->cq);
	ep_other_cqs(ep, settle_other);
	if (!ep_busy(ep))
		return GNI_RC_SUCCESS;
	return ugni_bad(GNI_RC_NOT_DONE, "%u transactions of the endpoint are under way",
			core_load(&ep->outstanding[0]) + core_load(&ep->outstanding[1]));
}

/* Nothing is under way any more after a checkpoint, and no event will come. */
static void ep_give_up(struct gni_ep *ep)
{
	ep_other_cqs(ep, ugni_cq_forget_requests);
	if (ep->cq)
		ugni_cq_forget_requests(ep->cq, ep);
}

static gni_return_t ep_unbind(struct gni_ep *ep)
{
	if (!ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM, "the endpoint is not bound");
	if (ugni_away(ep->nic))
		ep_give_up(ep);
	if (ep_idle(ep) != GNI_RC_SUCCESS)
		return GNI_RC_NOT_DONE;
	ugni_smsg_release(ep);
	ep->bound = false;
	ep->peer = 0;
	ep->events_set = false;
	ep->ce_type = GNI_CE_CHILD_UNUSED;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_EpUnbind(gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	gni_return_t rc;

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	rc = ep_unbind(ep);
	ugni_unlock(ep);
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_EpIdle(gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	gni_return_t rc;

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	rc = ep_idle(ep);
	ugni_unlock(ep);
	return ugni_end(rc);
}

/* Live requests stay, so their events are still understood: without the ep. */
static void ep_leave_cqs(struct gni_ep *ep)
{
	ep_other_cqs(ep, ugni_cq_forget_ep);
	if (ep->cq)
		ugni_cq_forget_ep(ep->cq, ep);
}

/* Called with the endpoint locked; unlocks it. */
static void ep_destroy(struct gni_ep *ep)
{
	struct kgni_ioc_dgram_cancel arg = {
		.ep = ugni_index(&ugni_eps, ep),
		.flags = KGNI_DGRAM_EP_GONE,
	};

	ugni_retire(&ugni_eps, ep);
	if (ep->dgram_used)
		ugni_nic_call(ep->nic, KGNI_IOC_DGRAM_CANCEL, &arg);
	ugni_smsg_release(ep);
	ep_leave_cqs(ep);
	ugni_unlock(ep);
	ugni_free(&ugni_eps, ep);
}

UGNI_PUBLIC gni_return_t GNI_EpDestroy(gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	ep_destroy(ep);
	return GNI_RC_SUCCESS;
}

/* The NIC handle goes, and its endpoints with it. */
void ugni_ep_destroy_all(const struct gni_nic *nic)
{
	struct gni_ep *ep;
	u32 i = 0;

	while ((ep = ugni_next(&ugni_eps, &i))) {
		if (core_load(&ep->nic) != nic || !ugni_ep_lock(ep))
			continue;
		if (ep->nic == nic)
			ep_destroy(ep);
		else
			ugni_unlock(ep);
	}
}
