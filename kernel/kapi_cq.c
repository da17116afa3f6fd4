// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues of kernel clients.
 *
 * Whoever delivers an event schedules the queue's tasklet, and lets it run at
 * once if softirqs are on: so a handler runs in softirq context, one call at a
 * time, and one call for events that come before it begins. An event that a
 * client did not see when it found the queue empty came after that, and its
 * deliverer schedules the tasklet after it is there. Destroying a queue first
 * waits for those who might still schedule the tasklet, then for the tasklet.
 */
#include <linux/slab.h>

#include "kapi.h"

static void kapi_cq_handle(struct tasklet_struct *t)
{
	struct gni_cq *cq = from_tasklet(cq, t, tasklet);

	cq->handler(cq->nic->nic->dev->id, cq->data);
}

/**
 * kapi_cq_event - an event was delivered to a kernel client's queue, or lost
 * @cq: the queue, referenced
 * @entry: the event
 * @dropped: it found no room
 *
 * Context: process or softirq.
 */
void kapi_cq_event(struct kgni_cq *cq, u64 entry, bool dropped)
{
	struct gni_cq *owner;

	rcu_read_lock();
	owner = rcu_dereference(cq->owner);
	if (owner && dropped)
		kapi_req_lost(owner, entry);
	/* The push was a full barrier: either it is counted here or it was consumed. */
	if (owner && owner->handler && (dropped || kgni_ring_count(&cq->view) > cq->delay)) {
		local_bh_disable();
		tasklet_hi_schedule(&owner->tasklet);
		local_bh_enable();
	}
	rcu_read_unlock();
}

static gni_return_t kapi_cq_create(struct gni_nic *nic, u32 entries, u32 delay, struct gni_cq *cq)
{
	gni_return_t rc;

	if (kapi_req_init(cq))
		return GNI_RC_ERROR_NOMEM;
	rc = kapi_rc(kgni_cq_create_kernel(nic->nic, entries, delay, &cq->cq), GNI_RC_ERROR_NOMEM);
	if (rc != GNI_RC_SUCCESS) {
		kapi_req_end_all(cq);
		return rc;
	}
	cq->nic = nic;
	cq->entries = entries;
	spin_lock_init(&cq->lock);
	tasklet_setup(&cq->tasklet, kapi_cq_handle);
	cq->magic = KAPI_CQ_MAGIC;
	mutex_lock(&nic->lock);
	list_add_tail(&cq->node, &nic->cqs);
	mutex_unlock(&nic->lock);
	rcu_assign_pointer(cq->cq->owner, cq);
	return GNI_RC_SUCCESS;
}

gni_return_t gni_cq_create(gni_nic_handle_t nic_hndl, uint32_t entry_count, uint32_t delay_index,
			   gni_cq_event_hndlr_f *event_handler, uint64_t usr_event_data,
			   gni_cq_handle_t *cq_hndl)
{
	struct gni_cq *cq;
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_nic(nic_hndl) || !entry_count || !cq_hndl)
		return kapi_end(GNI_RC_INVALID_PARAM);
	cq = kzalloc(sizeof(*cq), GFP_NOIO);
	if (!cq)
		return kapi_end(GNI_RC_ERROR_NOMEM);
	cq->handler = event_handler;
	cq->data = usr_event_data;
	rc = kapi_cq_create(nic_hndl, entry_count, delay_index, cq);
	if (rc != GNI_RC_SUCCESS) {
		kfree(cq);
		return kapi_end(rc);
	}
	*cq_hndl = cq;
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cq_create);

/* It is in no list any more, and no endpoint uses it. */
static void kapi_cq_free(struct gni_nic *nic, struct gni_cq *cq)
{
	WRITE_ONCE(cq->magic, 0);
	rcu_assign_pointer(cq->cq->owner, NULL);
	synchronize_rcu();
	tasklet_kill(&cq->tasklet);
	kapi_req_end_all(cq);
	kgni_cq_destroy_kernel(nic->nic, cq->cq);
	kfree(cq);
}

gni_return_t gni_cq_destroy(gni_cq_handle_t cq_hndl)
{
	struct gni_nic *nic;
	bool busy;

	might_sleep();
	if (!kapi_is_cq(cq_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	nic = cq_hndl->nic;
	mutex_lock(&nic->lock);
	busy = cq_hndl->eps;
	if (!busy)
		list_del(&cq_hndl->node);
	mutex_unlock(&nic->lock);
	if (busy)
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	kapi_cq_free(nic, cq_hndl);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cq_destroy);

/* Part of gni_cdm_destroy(), when the endpoints are gone. */
void kapi_cq_destroy_all(struct gni_nic *nic)
{
	struct gni_cq *cq, *next;

	list_for_each_entry_safe(cq, next, &nic->cqs, node) {
		list_del(&cq->node);
		kapi_cq_free(nic, cq);
	}
}

gni_return_t gni_cq_get_event(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data)
{
	enum kgni_ring_pop what;
	u64 entry = 0;

	if (!kapi_is_cq(cq_hndl) || !event_data)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (!kgni_ring_ready(&cq_hndl->cq->view))
		return GNI_RC_NOT_DONE;
	spin_lock_bh(&cq_hndl->lock);
	what = kgni_ring_pop(&cq_hndl->cq->view, &entry);
	spin_unlock_bh(&cq_hndl->lock);
	switch (what) {
	case KGNI_RING_ENTRY:
		*event_data = entry;
		if (kgni_cqe_status(entry) == KGNI_ST_OK)
			return GNI_RC_SUCCESS;
		return kapi_end(GNI_RC_TRANSACTION_ERROR);
	case KGNI_RING_OVERRUN:
		*event_data = kgni_cqe_overrun();
		return kapi_end(GNI_RC_ERROR_RESOURCE);
	default:
		return GNI_RC_NOT_DONE;
	}
}
EXPORT_SYMBOL_GPL(gni_cq_get_event);
