// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error events for kernel clients, and what they are told of a quiesce.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kapi.h"

static void kapi_err_new_event(void *context)
{
	struct gni_err *err = context;

	err->new_event(err);
}

static void kapi_err_critical(void *context)
{
	struct gni_err *err = context;

	err->critical(err);
}

static struct kgni_eeq *kapi_eeq_create(struct gni_err *err, u8 mask, u32 size)
{
	struct kgni_eeq_args args = {
		.size = size,
		.mask = mask,
		.ptag = err->nic->nic->job->ptag,
		.new_event = err->new_event ? kapi_err_new_event : NULL,
		.critical = err->critical ? kapi_err_critical : NULL,
		.context = err,
	};
	unsigned int noio = memalloc_noio_save();
	struct kgni_eeq *eeq = kgni_eeq_create(err->nic->nic->dev, &args);

	memalloc_noio_restore(noio);
	return eeq;
}

gni_return_t gni_subscribe_errors(gni_nic_handle_t nic_handle, gni_error_mask_t mask,
				  uint32_t EEQ_size, void (*EQ_new_event)(gni_err_handle_t),
				  void (*app_crit_err)(gni_err_handle_t),
				  gni_err_handle_t *err_handle)
{
	struct gni_err *err;

	might_sleep();
	if (!kapi_is_nic(nic_handle) || !err_handle || EEQ_size > KGNI_EEQ_MAX)
		return kapi_end(GNI_RC_INVALID_PARAM);
	err = kzalloc(sizeof(*err), GFP_NOIO);
	if (!err)
		return kapi_end(GNI_RC_ERROR_NOMEM);
	err->nic = nic_handle;
	err->new_event = EQ_new_event;
	err->critical = app_crit_err;
	err->magic = KAPI_ERR_MAGIC;
	/* A function may be called, and use the handle, before we are back. */
	*err_handle = err;
	err->eeq = kapi_eeq_create(err, mask, EEQ_size);
	if (!err->eeq) {
		*err_handle = NULL;
		kfree(err);
		return kapi_end(GNI_RC_ERROR_NOMEM);
	}
	mutex_lock(&nic_handle->lock);
	list_add_tail(&err->node, &nic_handle->errs);
	mutex_unlock(&nic_handle->lock);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_subscribe_errors);

/* nic->lock is held. */
static gni_return_t kapi_err_release(struct gni_err *err, bool anyway)
{
	gni_return_t rc = kgni_eeq_release(err->eeq, anyway);

	if (rc != GNI_RC_SUCCESS)
		return rc;
	list_del(&err->node);
	WRITE_ONCE(err->magic, 0);
	kfree(err);
	return rc;
}

gni_return_t gni_release_errors(gni_err_handle_t err_handle)
{
	struct gni_nic *nic;
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_err(err_handle))
		return kapi_end(GNI_RC_INVALID_PARAM);
	nic = err_handle->nic;
	mutex_lock(&nic->lock);
	rc = kapi_err_release(err_handle, false);
	mutex_unlock(&nic->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_release_errors);

/* Part of gni_cdm_destroy(). */
void kapi_err_release_all(struct gni_nic *nic)
{
	struct gni_err *err, *next;

	mutex_lock(&nic->lock);
	list_for_each_entry_safe(err, next, &nic->errs, node)
		kapi_err_release(err, true);
	mutex_unlock(&nic->lock);
}

gni_return_t gni_get_error_mask(gni_err_handle_t err_handle, gni_error_mask_t *mask)
{
	if (!kapi_is_err(err_handle) || !mask)
		return kapi_end(GNI_RC_INVALID_PARAM);
	*mask = kgni_eeq_get_mask(err_handle->eeq);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_get_error_mask);

gni_return_t gni_set_error_mask(gni_err_handle_t err_handle, gni_error_mask_t mask_in,
				gni_error_mask_t *mask_out)
{
	gni_error_mask_t old;

	if (!kapi_is_err(err_handle))
		return kapi_end(GNI_RC_INVALID_PARAM);
	old = kgni_eeq_set_mask(err_handle->eeq, mask_in);
	if (mask_out)
		*mask_out = old;
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_set_error_mask);

gni_return_t gni_get_error_event(gni_err_handle_t err_handle, gni_error_event_t *event)
{
	if (!kapi_is_err(err_handle) || !event)
		return kapi_end(GNI_RC_INVALID_PARAM);
	return kapi_end(kgni_eeq_take(err_handle->eeq, event));
}
EXPORT_SYMBOL_GPL(gni_get_error_event);

gni_return_t gni_wait_error_events(gni_err_handle_t err_handle, gni_error_event_t *events,
				   uint32_t events_size, uint32_t timeout, uint32_t *num_events)
{
	long rc;

	might_sleep();
	if (!kapi_is_err(err_handle) || !events || !events_size || !num_events)
		return kapi_end(GNI_RC_INVALID_PARAM);
	rc = kgni_eeq_wait(err_handle->eeq, events, events_size, timeout, num_events);
	return kapi_end(rc == -EINTR ? GNI_RC_NOT_DONE : kapi_rc(rc, GNI_RC_INVALID_PARAM));
}
EXPORT_SYMBOL_GPL(gni_wait_error_events);

gni_return_t gni_set_error_ptag(gni_err_handle_t err_handle, uint8_t ptag)
{
	if (!kapi_is_err(err_handle))
		return kapi_end(GNI_RC_INVALID_PARAM);
	kgni_eeq_set_ptag(err_handle->eeq, ptag);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_set_error_ptag);

/* --- quiesce ---------------------------------------------------------------------------- */

static void kapi_quiesce_ended(void *context, u64 ms)
{
	struct gni_nic *nic = context;

	nic->quiesce_end(nic, ms);
}

/* nic->lock is held. */
static gni_return_t kapi_quiesce_set(struct gni_nic *nic, void (*fn)(gni_nic_handle_t, uint64_t))
{
	if (fn && nic->quiesce_end)
		return GNI_RC_INVALID_STATE;
	if (nic->quiesce_end)
		kgni_watch_del(nic->nic->dev, &nic->watch);
	nic->quiesce_end = fn;
	if (fn) {
		nic->watch.fn = kapi_quiesce_ended;
		nic->watch.context = nic;
		kgni_watch_add(nic->nic->dev, &nic->watch);
	}
	return GNI_RC_SUCCESS;
}

gni_return_t gni_set_quiesce_callback(gni_nic_handle_t nic_hndl,
				      void (*qsce_func)(gni_nic_handle_t, uint64_t))
{
	gni_return_t rc;

	might_sleep();
	if (!kapi_is_nic(nic_hndl))
		return kapi_end(GNI_RC_INVALID_PARAM);
	mutex_lock(&nic_hndl->lock);
	rc = kapi_quiesce_set(nic_hndl, qsce_func);
	mutex_unlock(&nic_hndl->lock);
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_set_quiesce_callback);

/* Part of gni_cdm_destroy(). */
void kapi_quiesce_forget(struct gni_nic *nic)
{
	mutex_lock(&nic->lock);
	kapi_quiesce_set(nic, NULL);
	mutex_unlock(&nic->lock);
}

uint32_t gni_get_quiesce_status(gni_nic_handle_t nic_hndl)
{
	return kapi_is_nic(nic_hndl) && kgni_device_is_quiesced(nic_hndl->nic->dev);
}
EXPORT_SYMBOL_GPL(gni_get_quiesce_status);
