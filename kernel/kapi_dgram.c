// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams of kernel clients: what the ioctls do, with ids and without. But for
 * those that post or wait, the calls may be made with a spinlock held.
 */
#include "kapi.h"

static u32 kapi_dgram_flags(bool with_id)
{
	return with_id ? KGNI_DGRAM_WITH_ID : 0;
}

static void kapi_dgram_target(struct gni_ep *ep, struct kgni_ioc_dgram_post *arg)
{
	spin_lock_bh(&ep->lock);
	if (ep->bound) {
		arg->flags |= KGNI_DGRAM_BOUND;
		arg->remote_pe = ep->remote_pe;
		arg->remote_id = ep->remote_id;
	}
	spin_unlock_bh(&ep->lock);
}

static gni_return_t kapi_dgram_post(struct gni_ep *ep, const void *in, u16 in_size, void *out,
				    u16 out_size, u64 id, bool with_id)
{
	struct kgni_ioc_dgram_post arg = {
		.id = id,
		.flags = kapi_dgram_flags(with_id),
		.length = in_size,
		.buf_size = out_size,
	};
	long rc;

	might_sleep();
	if (!kapi_is_ep(ep) || (in_size && !in) || (out_size && !out))
		return GNI_RC_INVALID_PARAM;
	if (in_size > sizeof(arg.data))
		return GNI_RC_SIZE_ERROR;
	if (in_size)
		memcpy(arg.data, in, in_size);
	arg.ep = ep->id;
	kapi_dgram_target(ep, &arg);
	rc = kgni_dgram_post_kernel(ep->nic->nic, &arg, out);
	/* The device was deleted, and clients know no code for that. */
	if (rc == GNI_RC_INVALID_STATE)
		return GNI_RC_ERROR_RESOURCE;
	return kapi_rc(rc, GNI_RC_ERROR_NOMEM);
}

gni_return_t gni_ep_postdata(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
			     void *out_buf, uint16_t buf_size)
{
	return kapi_end(kapi_dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size, 0, false));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata);

gni_return_t gni_ep_postdata_w_id(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
				  void *out_buf, uint16_t buf_size, uint64_t datagram_id)
{
	return kapi_end(kapi_dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size,
					datagram_id, true));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_w_id);

/* A signal ends a wait early, as if its time were over. */
static gni_return_t kapi_dgram_rc(long rc)
{
	return rc == -EINTR ? GNI_RC_TIMEOUT : kapi_rc(rc, GNI_RC_ERROR_NOMEM);
}

static u64 kapi_dgram_timeout(u32 ms)
{
	return ms == ~0U ? KGNI_WAIT_FOREVER : ms;
}

/* @arg: filled in but for its endpoint. */
static gni_return_t kapi_dgram_test(struct gni_ep *ep, struct kgni_ioc_dgram_test *arg,
				    gni_post_state_t *state, u32 *remote_pe, u32 *remote_id)
{
	struct kgni_dgram *taken;
	gni_return_t rc;

	if (!kapi_is_ep(ep) || !state || !remote_pe || !remote_id)
		return GNI_RC_INVALID_PARAM;
	arg->ep = ep->id;
	rc = kapi_dgram_rc(kgni_dgram_test(ep->nic->nic, arg, &taken));
	if (rc != GNI_RC_SUCCESS)
		return rc;
	*state = arg->state;
	if (!taken)
		return rc;
	*remote_pe = arg->remote_pe;
	*remote_id = arg->remote_id;
	if (arg->length)
		memcpy(kgni_dgram_buf(taken), arg->data, arg->length);
	kgni_dgram_told(ep->nic->nic, taken, true);
	return rc;
}

gni_return_t gni_ep_postdata_test(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
				  uint32_t *remote_addr, uint32_t *remote_id)
{
	struct kgni_ioc_dgram_test arg = { 0 };

	return kapi_end(kapi_dgram_test(ep_hndl, &arg, post_state, remote_addr, remote_id));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_test);

gni_return_t gni_ep_postdata_test_by_id(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
					gni_post_state_t *post_state, uint32_t *remote_addr,
					uint32_t *remote_id)
{
	struct kgni_ioc_dgram_test arg = { .id = datagram_id, .flags = KGNI_DGRAM_WITH_ID };

	return kapi_end(kapi_dgram_test(ep_hndl, &arg, post_state, remote_addr, remote_id));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_test_by_id);

gni_return_t gni_ep_postdata_wait(gni_ep_handle_t ep_hndl, uint32_t timeout,
				  gni_post_state_t *post_state, uint32_t *remote_addr,
				  uint32_t *remote_id)
{
	struct kgni_ioc_dgram_test arg = { .timeout_ms = kapi_dgram_timeout(timeout) };

	might_sleep();
	if (!timeout)
		return kapi_end(GNI_RC_INVALID_PARAM);
	return kapi_end(kapi_dgram_test(ep_hndl, &arg, post_state, remote_addr, remote_id));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_wait);

static gni_return_t kapi_dgram_probe(struct gni_nic *nic, struct kgni_ioc_dgram_probe *arg)
{
	struct kgni_dgram *taken;
	gni_return_t rc;

	if (!kapi_is_nic(nic))
		return GNI_RC_INVALID_PARAM;
	rc = kapi_dgram_rc(kgni_dgram_probe(nic->nic, arg, &taken));
	if (taken)
		kgni_dgram_told(nic->nic, taken, true);
	return rc;
}

gni_return_t gni_postdata_probe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
				uint32_t *remote_id)
{
	struct kgni_ioc_dgram_probe arg = { 0 };
	gni_return_t rc;

	if (!remote_addr || !remote_id)
		return kapi_end(GNI_RC_INVALID_PARAM);
	rc = kapi_dgram_probe(nic_hndl, &arg);
	if (rc == GNI_RC_SUCCESS) {
		*remote_addr = arg.remote_pe;
		*remote_id = arg.remote_id;
	}
	return kapi_end(rc);
}
EXPORT_SYMBOL_GPL(gni_postdata_probe);

static gni_return_t kapi_dgram_probe_by_id(struct gni_nic *nic, u64 timeout_ms, u64 *id)
{
	struct kgni_ioc_dgram_probe arg = {
		.timeout_ms = timeout_ms,
		.flags = KGNI_DGRAM_WITH_ID,
	};
	gni_return_t rc;

	if (!id)
		return GNI_RC_INVALID_PARAM;
	rc = kapi_dgram_probe(nic, &arg);
	if (rc == GNI_RC_SUCCESS)
		*id = arg.id;
	return rc;
}

gni_return_t gni_postdata_probe_by_id(gni_nic_handle_t nic_hndl, uint64_t *datagram_id)
{
	return kapi_end(kapi_dgram_probe_by_id(nic_hndl, 0, datagram_id));
}
EXPORT_SYMBOL_GPL(gni_postdata_probe_by_id);

gni_return_t gni_postdata_probe_wait_by_id(gni_nic_handle_t nic_hndl, uint32_t timeout,
					   uint64_t *datagram_id)
{
	gni_return_t rc;

	might_sleep();
	rc = kapi_dgram_probe_by_id(nic_hndl, kapi_dgram_timeout(timeout), datagram_id);
	return kapi_end(rc == GNI_RC_NO_MATCH ? GNI_RC_TIMEOUT : rc);
}
EXPORT_SYMBOL_GPL(gni_postdata_probe_wait_by_id);

static gni_return_t kapi_dgram_cancel(struct gni_ep *ep, u64 id, bool with_id)
{
	struct kgni_ioc_dgram_cancel arg = { .id = id, .flags = kapi_dgram_flags(with_id) };

	if (!kapi_is_ep(ep))
		return GNI_RC_INVALID_PARAM;
	arg.ep = ep->id;
	return kapi_rc(kgni_dgram_cancel(ep->nic->nic, &arg), GNI_RC_ERROR_NOMEM);
}

gni_return_t gni_ep_postdata_cancel(gni_ep_handle_t ep_hndl)
{
	return kapi_end(kapi_dgram_cancel(ep_hndl, 0, false));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_cancel);

gni_return_t gni_ep_postdata_cancel_by_id(gni_ep_handle_t ep_hndl, uint64_t datagram_id)
{
	return kapi_end(kapi_dgram_cancel(ep_hndl, datagram_id, true));
}
EXPORT_SYMBOL_GPL(gni_ep_postdata_cancel_by_id);
