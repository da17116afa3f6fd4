// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints of kernel clients.
 */
#include <linux/slab.h>

#include "kapi.h"

static void kapi_ep_free(struct kref *ref)
{
	struct gni_ep *ep = container_of(ref, struct gni_ep, ref);
	struct kapi_count *c;

	while ((c = ep->others)) {
		ep->others = c->next;
		kfree(c);
	}
	kfree(ep->smsg);
	kfree(ep);
}

/**
 * kapi_ep_put - a post of the endpoint is over, or its handle is no more
 * @ep: the endpoint
 *
 * Context: process or softirq.
 */
void kapi_ep_put(struct gni_ep *ep)
{
	kref_put(&ep->ref, kapi_ep_free);
}

static struct gni_ep *kapi_ep_new(struct gni_nic *nic, struct gni_cq *cq)
{
	struct gni_ep *ep = kzalloc(sizeof(*ep), GFP_NOIO);

	if (!ep)
		return NULL;
	ep->magic = KAPI_EP_MAGIC;
	kref_init(&ep->ref);
	spin_lock_init(&ep->lock);
	INIT_DELAYED_WORK(&ep->credits, kapi_smsg_credits_work);
	ep->nic = nic;
	ep->cq = cq;
	return ep;
}

gni_return_t gni_ep_create(gni_nic_handle_t nic_hndl, gni_cq_handle_t src_cq_hndl,
			   gni_ep_handle_t *ep_hndl)
{
	struct gni_ep *ep;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !ep_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (src_cq_hndl && (!kapi_is_cq(src_cq_hndl) || src_cq_hndl->nic != nic_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	ep = kapi_ep_new(nic_hndl, src_cq_hndl);
	if (!ep)
		return kapi_end(GNI_RC_ERROR_NOMEM);
	mutex_lock(&nic_hndl->lock);
	ep->id = nic_hndl->next_ep++;
	list_add_tail(&ep->node, &nic_hndl->eps);
	if (src_cq_hndl)
		src_cq_hndl->eps++;
	mutex_unlock(&nic_hndl->lock);
	*ep_hndl = ep;
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_ep_create);

gni_return_t gni_ep_set_eventdata(gni_ep_handle_t ep_hndl, uint32_t local_event,
				  uint32_t remote_event)
{
	if (!kapi_is_ep(ep_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	ep_hndl->events_set = true;
	ep_hndl->local_event = local_event;
	ep_hndl->remote_event = remote_event;
	spin_unlock_bh(&ep_hndl->lock);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_ep_set_eventdata);

static gni_return_t kapi_ep_bind(struct gni_ep *ep, u32 remote_pe, u32 remote_id)
{
	if (ep->bound)
		return GNI_RC_INVALID_PARAM;
	ep->bound = true;
	ep->remote_pe = remote_pe;
	ep->remote_id = remote_id;
	if (!ep->events_set) {
		ep->local_event = remote_id;
		ep->remote_event = ep->nic->nic->inst_id;
	}
	return GNI_RC_SUCCESS;
}

gni_return_t gni_ep_bind(gni_ep_handle_t ep_hndl, uint32_t remote_addr, uint32_t remote_id)
{
	gni_return_t rc;

	if (!kapi_is_ep(ep_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	rc = kapi_ep_bind(ep_hndl, remote_addr, remote_id);
	spin_unlock_bh(&ep_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_ep_bind);

/* Have posts of it events to come? */
static bool kapi_ep_busy(const struct gni_ep *ep)
{
	const struct kapi_count *c;

	for (c = ep->others; c; c = c->next)
		if (atomic_read(&c->posts))
			return true;
	return atomic_read(&ep->outstanding);
}

static gni_return_t kapi_ep_unbind(struct gni_ep *ep)
{
	if (!ep->bound)
		return GNI_RC_INVALID_PARAM;
	if (kapi_ep_busy(ep))
		return GNI_RC_NOT_DONE;
	kfree(ep->smsg);
	ep->smsg = NULL;
	ep->bound = false;
	ep->events_set = false;
	return GNI_RC_SUCCESS;
}

gni_return_t gni_ep_unbind(gni_ep_handle_t ep_hndl)
{
	gni_return_t rc;

	if (!kapi_is_ep(ep_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	spin_lock_bh(&ep_hndl->lock);
	rc = kapi_ep_unbind(ep_hndl);
	spin_unlock_bh(&ep_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_ep_unbind);

/* nic->lock is held. */
static void kapi_ep_destroy(struct gni_ep *ep)
{
	struct kgni_ioc_dgram_cancel gone = { .ep = ep->id, .flags = KGNI_DGRAM_EP_GONE };

	list_del(&ep->node);
	if (ep->cq)
		ep->cq->eps--;
	kgni_dgram_cancel(ep->nic->nic, &gone);
	WRITE_ONCE(ep->magic, 0);
	cancel_delayed_work_sync(&ep->credits);
	kapi_ep_put(ep);
}

gni_return_t gni_ep_destroy(gni_ep_handle_t ep_hndl)
{
	struct gni_nic *nic;

	might_sleep();
	if (!kapi_is_ep(ep_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	nic = ep_hndl->nic;
	mutex_lock(&nic->lock);
	kapi_ep_destroy(ep_hndl);
	mutex_unlock(&nic->lock);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_ep_destroy);

/* Part of gni_cdm_destroy(). */
void kapi_ep_destroy_all(struct gni_nic *nic)
{
	struct gni_ep *ep, *next;

	mutex_lock(&nic->lock);
	list_for_each_entry_safe(ep, next, &nic->eps, node)
		kapi_ep_destroy(ep);
	mutex_unlock(&nic->lock);
}
