// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Error queues: the driver has them (kernel/error.c), and each belongs to an
 * open file. One of a NIC handle belongs to the NIC's file, one of a device has
 * a file of its own.
 */
#include <errno.h>
#include <string.h>

#include "ugni.h"

/* At a checkpoint there is nothing behind a NIC's queue. */
static gni_return_t err_call(const struct gni_err *err, unsigned long cmd, void *arg)
{
	return err->nic ? ugni_nic_call(err->nic, cmd, arg) : ugni_call(err->fd, cmd, arg);
}

static gni_return_t err_open(struct gni_err *err, gni_nic_handle_t nic_handle, u32 device)
{
	struct kgni_ioc_info info;

	if (!nic_handle)
		return ugni_open_device(device, &err->fd, &info);
	err->nic = ugni_nic(nic_handle);
	if (!err->nic)
		return ugni_no("NIC handle", nic_handle);
	err->fd = err->nic->fd;
	return GNI_RC_SUCCESS;
}

static void err_close(struct gni_err *err)
{
	if (!err->nic)
		ugni_sys_close(err->fd);
}

UGNI_PUBLIC gni_return_t GNI_SubscribeErrors(gni_nic_handle_t nic_handle, uint32_t device_id,
					     gni_error_mask_t mask, uint32_t EEQ_size,
					     gni_err_handle_t *err_handle)
{
	struct kgni_ioc_err_subscribe arg = { .mask = mask, .events = EEQ_size };
	struct gni_err *err;
	gni_return_t rc;

	if (!err_handle)
		return ugni_end(ugni_null(err_handle));
	err = ugni_alloc(&ugni_errs);
	if (!err)
		return ugni_end(ugni_nomem("error queue"));
	rc = err_open(err, nic_handle, device_id);
	if (rc != GNI_RC_SUCCESS)
		goto free;
	rc = err_call(err, KGNI_IOC_ERR_SUBSCRIBE, &arg);
	if (rc != GNI_RC_SUCCESS) {
		err_close(err);
		rc = ugni_more(rc, "mask is 0x%x, EEQ_size %u%s", mask, EEQ_size, nic_handle ? "" :
			       ", without a NIC handle, for which CAP_SYS_ADMIN is needed");
		goto free;
	}
	err->id = arg.id;
	ugni_publish(&ugni_errs, err);
	*err_handle = err;
	return GNI_RC_SUCCESS;

free:
	ugni_free(&ugni_errs, err);
	return ugni_end(rc);
}

/* Called with the queue locked; unlocks it. */
static gni_return_t err_release(struct gni_err *err, u32 flags)
{
	struct kgni_ioc_err_release arg = { .id = err->id, .flags = flags };
	gni_return_t rc = err_call(err, KGNI_IOC_ERR_RELEASE, &arg);

	if (rc == GNI_RC_NOT_DONE) {
		ugni_unlock(err);
		return ugni_more(rc, "a thread waits for events of the queue");
	}
	ugni_retire(&ugni_errs, err);
	err_close(err);
	ugni_unlock(err);
	ugni_free(&ugni_errs, err);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_ReleaseErrors(gni_err_handle_t err_handle)
{
	struct gni_err *err = ugni_lock(&ugni_errs, err_handle);

	if (!err)
		return ugni_end(ugni_no("error queue", err_handle));
	return ugni_end(err_release(err, 0));
}

/* The NIC handle goes, and its error queues with it, waited for or not. */
void ugni_err_release_all(const struct gni_nic *nic)
{
	struct gni_err *err;
	u32 i = 0;

	while ((err = ugni_next(&ugni_errs, &i))) {
		if (core_load(&err->nic) != nic || !ugni_lock(&ugni_errs, err))
			continue;
		if (err->nic == nic)
			err_release(err, KGNI_ERR_ANYWAY);
		else
			ugni_unlock(err);
	}
}

static gni_return_t err_set(gni_err_handle_t err_handle, struct kgni_ioc_err_set *arg)
{
	struct gni_err *err = ugni_lock(&ugni_errs, err_handle);
	gni_return_t rc;

	if (!err)
		return ugni_no("error queue", err_handle);
	arg->id = err->id;
	rc = err_call(err, KGNI_IOC_ERR_SET, arg);
	ugni_unlock(err);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_GetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t *mask)
{
	struct kgni_ioc_err_set arg = { .what = KGNI_ERR_GET_MASK };
	gni_return_t rc;

	if (!mask)
		return ugni_end(ugni_null(mask));
	rc = err_set(err_handle, &arg);
	if (rc == GNI_RC_SUCCESS)
		*mask = (gni_error_mask_t)arg.old;
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_SetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t mask_in,
					  gni_error_mask_t *mask_out)
{
	struct kgni_ioc_err_set arg = { .what = KGNI_ERR_SET_MASK, .value = mask_in };
	gni_return_t rc = err_set(err_handle, &arg);

	if (rc == GNI_RC_SUCCESS && mask_out)
		*mask_out = (gni_error_mask_t)arg.old;
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_SetErrorPtag(gni_err_handle_t err_handle, uint8_t ptag)
{
	struct kgni_ioc_err_set arg = { .what = KGNI_ERR_SET_PTAG, .value = ptag };
	gni_return_t rc = err_set(err_handle, &arg);

	if (rc == GNI_RC_PERMISSION_ERROR)
		rc = ugni_more(rc, "ptag %u is not the NIC's own, and CAP_SYS_ADMIN is missing",
			       ptag);
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_GetErrorEvent(gni_err_handle_t err_handle, gni_error_event_t *event)
{
	struct gni_err *err = ugni_lookup(&ugni_errs, err_handle);
	struct kgni_ioc_err_wait arg = { .max = 1 };
	struct kgni_error_event got;
	gni_return_t rc;
	u32 count;

	if (!err)
		return ugni_end(ugni_no("error queue", err_handle));
	if (!event)
		return ugni_end(ugni_null(event));
	arg.id = core_load(&err->id);
	arg.events = (uintptr_t)&got;
	arg.count = (uintptr_t)&count;
	rc = err_call(err, KGNI_IOC_ERR_WAIT, &arg);
	if (rc == GNI_RC_SUCCESS)
		memcpy(event, &got, sizeof(*event));
	return ugni_end_quiet(rc);
}

/* Holds no lock, since it sleeps. */
static gni_return_t err_wait(const struct gni_err *err, struct kgni_ioc_err_wait *arg)
{
	int ret;

	if (err->nic && ugni_away(err->nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	ret = ugni_sys_wait(err->fd, KGNI_IOC_ERR_WAIT, arg);
	if (ret == -EINTR)
		return ugni_bad(GNI_RC_NOT_DONE, "a signal ended the wait");
	return ugni_answer(ret);
}

UGNI_PUBLIC gni_return_t GNI_WaitErrorEvents(gni_err_handle_t err_handle,
					     gni_error_event_t *events, uint32_t events_size,
					     uint32_t timeout, uint32_t *num_events)
{
	struct gni_err *err = ugni_lookup(&ugni_errs, err_handle);
	struct kgni_ioc_err_wait arg = {
		.events = (uintptr_t)events,
		.count = (uintptr_t)num_events,
		.timeout_ms = KGNI_WAIT_FOREVER,
		.max = events_size,
		.more_ms = timeout,
	};
	gni_return_t rc;

	if (!err)
		return ugni_end(ugni_no("error queue", err_handle));
	if (!events)
		return ugni_end(ugni_null(events));
	if (!num_events)
		return ugni_end(ugni_null(num_events));
	if (!events_size)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "events_size is 0"));
	*num_events = 0;
	arg.id = core_load(&err->id);
	rc = err_wait(err, &arg);
	return ugni_end_quiet(rc);
}
