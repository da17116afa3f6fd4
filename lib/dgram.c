// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Datagrams. The driver pairs them and keeps what was exchanged until it is
 * asked for: kernel/dgram.c. Here is remembered only where the caller wants it.
 */
#include <errno.h>
#include <string.h>

#include "ugni.h"

/* How a datagram is named: by its endpoint, or by an id as well. */
struct dgram_name {
	u32 flags;
	u64 id;
};

static const struct dgram_name by_ep;

static struct dgram_name by_id(u64 id)
{
	return (struct dgram_name){ .flags = KGNI_DGRAM_WITH_ID, .id = id };
}

static bool name_valid(struct dgram_name name)
{
	return !(name.flags & KGNI_DGRAM_WITH_ID) || name.id != ~0ULL;
}

/* 32-bit milliseconds with all ones for no end. */
static u64 timeout_ms(u32 timeout)
{
	return timeout == (u32)-1 ? KGNI_WAIT_FOREVER : timeout;
}

/* --- post --------------------------------------------------------------------- */

static gni_return_t post_locked(struct gni_ep *ep, const void *data, u16 length, void *buf,
				u16 size, struct dgram_name name)
{
	struct kgni_ioc_dgram_post arg = {
		.id = name.id,
		.ep = ugni_index(&ugni_eps, ep),
		.flags = name.flags,
		.length = length,
		.buf_size = size,
	};
	gni_return_t rc;

	if (ep->bound) {
		arg.flags |= KGNI_DGRAM_BOUND;
		arg.remote_pe = ep->remote_pe;
		arg.remote_id = ep->remote_id;
	}
	if (length)
		memcpy(arg.data, data, length);
	rc = ugni_nic_call(ep->nic, KGNI_IOC_DGRAM_POST, &arg);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	ep->dgram_used = true;
	ep->dgram_buf = buf;
	ep->dgram_size = size;
	return GNI_RC_SUCCESS;
}

static gni_return_t dgram_post(gni_ep_handle_t hndl, const void *data, u16 length, void *buf,
			       u16 size, struct dgram_name name)
{
	struct gni_ep *ep;
	gni_return_t rc;

	if ((length && !data) || (size && !buf) || !name_valid(name))
		return GNI_RC_INVALID_PARAM;
	ep = ugni_ep_lock(hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	if (length > GNI_DATAGRAM_MAXSIZE || size > GNI_DATAGRAM_MAXSIZE)
		rc = GNI_RC_SIZE_ERROR;
	else
		rc = post_locked(ep, data, length, buf, size, name);
	ugni_unlock(ep);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_EpPostData(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
					void *out_buf, uint16_t buf_size)
{
	return dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size, by_ep);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWId(gni_ep_handle_t ep_hndl, void *in_data,
					   uint16_t data_len, void *out_buf, uint16_t buf_size,
					   uint64_t datagram_id)
{
	return dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size, by_id(datagram_id));
}

/* --- test and wait -------------------------------------------------------------- */

/**
 * struct dgram_test - a question about a posted datagram
 * @arg: for the driver
 * @nic: NIC handle to ask through
 * @buf: where the peer's data goes
 * @size: bytes there
 */
struct dgram_test {
	struct kgni_ioc_dgram_test arg;
	const struct gni_nic *nic;
	void *buf;
	u16 size;
};

/*
 * The buffer is looked up before the driver consumes the datagram: after that
 * another thread may have posted the next one on this endpoint.
 */
static void test_prepare(struct dgram_test *t, const struct gni_ep *ep, struct dgram_name name)
{
	memset(&t->arg, 0, sizeof(t->arg));
	t->arg.id = name.id;
	t->arg.ep = ugni_index(&ugni_eps, ep);
	t->arg.flags = name.flags;
	t->nic = ep->nic;
	t->buf = ep->dgram_buf;
	t->size = ep->dgram_size;
}

static void test_answer(const struct dgram_test *t, gni_post_state_t *state, u32 *pe, u32 *id)
{
	u16 n = t->arg.length < t->size ? t->arg.length : t->size;

	*state = (gni_post_state_t)t->arg.state;
	if (t->arg.state != GNI_POST_COMPLETED)
		return;
	if (n)
		memcpy(t->buf, t->arg.data, n);
	*pe = t->arg.remote_pe;
	*id = t->arg.remote_id;
}

static gni_return_t dgram_test(gni_ep_handle_t hndl, struct dgram_name name,
			       gni_post_state_t *state, u32 *pe, u32 *id)
{
	struct dgram_test t;
	struct gni_ep *ep;
	gni_return_t rc;

	if (!state || !pe || !id || !name_valid(name))
		return GNI_RC_INVALID_PARAM;
	ep = ugni_ep_lock(hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	test_prepare(&t, ep, name);
	rc = ugni_nic_call(t.nic, KGNI_IOC_DGRAM_TEST, &t.arg);
	if (rc == GNI_RC_SUCCESS)
		test_answer(&t, state, pe, id);
	ugni_unlock(ep);
	return rc;
}

static bool is_final(u32 state)
{
	return state != GNI_POST_PENDING && state != GNI_POST_REMOTE_DATA;
}

static gni_return_t wait_final(struct dgram_test *t, u64 deadline)
{
	int ret;

	do {
		t->arg.timeout_ms = ugni_remaining(deadline);
		ret = ugni_sys_wait(t->nic->fd, KGNI_IOC_DGRAM_TEST, &t->arg);
		if (ret == GNI_RC_SUCCESS && is_final(t->arg.state))
			return GNI_RC_SUCCESS;
		if (ret != GNI_RC_SUCCESS && ret != GNI_RC_TIMEOUT && ret != -EINTR)
			return ugni_rc(ret);
		if (ugni_away(t->nic))
			return GNI_RC_INVALID_PARAM;
	} while (ugni_remaining(deadline));
	return GNI_RC_TIMEOUT;
}

/* A thread that is cancelled while it holds the lock would keep it for ever. */
static bool wait_prepare(struct dgram_test *t, gni_ep_handle_t hndl, struct dgram_name name)
{
	struct gni_ep *ep;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ep = ugni_ep_lock(hndl);
	if (ep) {
		test_prepare(t, ep, name);
		ugni_unlock(ep);
	}
	pthread_setcancelstate(state, NULL);
	return ep && !ugni_away(t->nic);
}

static gni_return_t dgram_wait(gni_ep_handle_t hndl, struct dgram_name name, u32 timeout,
			       gni_post_state_t *state, u32 *pe, u32 *id)
{
	struct dgram_test t;
	gni_return_t rc;

	if (!timeout || !state || !pe || !id || !name_valid(name) ||
	    !wait_prepare(&t, hndl, name))
		return GNI_RC_INVALID_PARAM;
	rc = wait_final(&t, ugni_deadline(timeout_ms(timeout)));
	if (rc == GNI_RC_SUCCESS)
		test_answer(&t, state, pe, id);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataTest(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
					    uint32_t *remote_addr, uint32_t *remote_id)
{
	return dgram_test(ep_hndl, by_ep, post_state, remote_addr, remote_id);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataTestById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
						gni_post_state_t *post_state,
						uint32_t *remote_addr, uint32_t *remote_id)
{
	return dgram_test(ep_hndl, by_id(datagram_id), post_state, remote_addr, remote_id);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWait(gni_ep_handle_t ep_hndl, uint32_t timeout,
					    gni_post_state_t *post_state, uint32_t *remote_addr,
					    uint32_t *remote_id)
{
	return dgram_wait(ep_hndl, by_ep, timeout, post_state, remote_addr, remote_id);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWaitById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
						uint32_t timeout, gni_post_state_t *post_state,
						uint32_t *remote_addr, uint32_t *remote_id)
{
	return dgram_wait(ep_hndl, by_id(datagram_id), timeout, post_state, remote_addr,
			  remote_id);
}

/* --- probe ------------------------------------------------------------------------ */

UGNI_PUBLIC gni_return_t GNI_PostDataProbe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
					   uint32_t *remote_id)
{
	struct kgni_ioc_dgram_probe arg = { 0 };
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic || !remote_addr || !remote_id)
		return GNI_RC_INVALID_PARAM;
	rc = ugni_nic_call(nic, KGNI_IOC_DGRAM_PROBE, &arg);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	*remote_addr = arg.remote_pe;
	*remote_id = arg.remote_id;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_PostDataProbeById(gni_nic_handle_t nic_hndl, uint64_t *datagram_id)
{
	struct kgni_ioc_dgram_probe arg = { .flags = KGNI_DGRAM_WITH_ID };
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic || !datagram_id)
		return GNI_RC_INVALID_PARAM;
	rc = ugni_nic_call(nic, KGNI_IOC_DGRAM_PROBE, &arg);
	if (rc == GNI_RC_SUCCESS)
		*datagram_id = arg.id;
	return rc;
}

/* Takes no lock: clients run it in a thread that they cancel. */
UGNI_PUBLIC gni_return_t GNI_PostdataProbeWaitById(gni_nic_handle_t nic_hndl, uint32_t timeout,
						   uint64_t *datagram_id)
{
	struct kgni_ioc_dgram_probe arg = { .flags = KGNI_DGRAM_WITH_ID };
	u64 deadline = ugni_deadline(timeout_ms(timeout));
	struct gni_nic *nic = ugni_nic(nic_hndl);
	int ret;

	if (!nic || !datagram_id || ugni_away(nic))
		return GNI_RC_INVALID_PARAM;
	do {
		arg.timeout_ms = ugni_remaining(deadline);
		ret = ugni_sys_wait(nic->fd, KGNI_IOC_DGRAM_PROBE, &arg);
		if (ret == GNI_RC_SUCCESS) {
			*datagram_id = arg.id;
			return GNI_RC_SUCCESS;
		}
		if (ret != GNI_RC_TIMEOUT && ret != GNI_RC_NO_MATCH && ret != -EINTR)
			return ugni_rc(ret);
		if (!ugni_live(&ugni_nics, nic) || ugni_away(nic))
			return GNI_RC_INVALID_PARAM;
	} while (ugni_remaining(deadline));
	return GNI_RC_TIMEOUT;
}

/* --- cancel ----------------------------------------------------------------------- */

static gni_return_t dgram_cancel(gni_ep_handle_t hndl, struct dgram_name name)
{
	struct kgni_ioc_dgram_cancel arg = { .id = name.id, .flags = name.flags };
	struct gni_ep *ep;
	gni_return_t rc;

	if (!name_valid(name))
		return GNI_RC_INVALID_PARAM;
	ep = ugni_ep_lock(hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	arg.ep = ugni_index(&ugni_eps, ep);
	rc = ugni_nic_call(ep->nic, KGNI_IOC_DGRAM_CANCEL, &arg);
	ugni_unlock(ep);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataCancel(gni_ep_handle_t ep_hndl)
{
	return dgram_cancel(ep_hndl, by_ep);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataCancelById(gni_ep_handle_t ep_hndl, uint64_t datagram_id)
{
	return dgram_cancel(ep_hndl, by_id(datagram_id));
}
