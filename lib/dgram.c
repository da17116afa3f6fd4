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

static gni_return_t name_check(struct dgram_name name)
{
	if (name.flags & KGNI_DGRAM_WITH_ID && name.id == ~0ULL)
		return ugni_bad(GNI_RC_INVALID_PARAM, "datagram_id is all ones");
	return GNI_RC_SUCCESS;
}

/* What the driver refuses is told with the name of the datagram. */
static gni_return_t name_more(gni_return_t rc, struct dgram_name name)
{
	if (name.flags & KGNI_DGRAM_WITH_ID)
		return ugni_more(rc, "datagram_id is 0x%llx", (unsigned long long)name.id);
	return ugni_more(rc, "for datagrams without an id");
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
		return ugni_more(name_more(rc, name), "to %s 0x%x, 0x%x",
				 ep->bound ? "the peer at" : "anyone; peer", arg.remote_pe,
				 arg.remote_id);
	ep->dgram_used = true;
	ep->dgram_buf = buf;
	ep->dgram_size = size;
	return GNI_RC_SUCCESS;
}

static gni_return_t post_check(const void *data, u16 length, void *buf, u16 size,
			       struct dgram_name name)
{
	if (length && !data)
		return ugni_bad(GNI_RC_INVALID_PARAM, "in_data is NULL, data_len %u", length);
	if (size && !buf)
		return ugni_bad(GNI_RC_INVALID_PARAM, "out_buf is NULL, buf_size %u", size);
	if (name_check(name) != GNI_RC_SUCCESS)
		return GNI_RC_INVALID_PARAM;
	if (length > GNI_DATAGRAM_MAXSIZE || size > GNI_DATAGRAM_MAXSIZE)
		return ugni_bad(GNI_RC_SIZE_ERROR, "data_len is %u, buf_size %u, more than %u",
				length, size, GNI_DATAGRAM_MAXSIZE);
	return GNI_RC_SUCCESS;
}

static gni_return_t dgram_post(gni_ep_handle_t ep_hndl, const void *data, u16 length, void *buf,
			       u16 size, struct dgram_name name)
{
	struct gni_ep *ep;
	gni_return_t rc;

	rc = post_check(data, length, buf, size, name);
	if (rc == GNI_RC_INVALID_PARAM)
		return rc;
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	if (rc == GNI_RC_SUCCESS)
		rc = post_locked(ep, data, length, buf, size, name);
	ugni_unlock(ep);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_EpPostData(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
					void *out_buf, uint16_t buf_size)
{
	return ugni_end(dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size, by_ep));
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWId(gni_ep_handle_t ep_hndl, void *in_data,
					   uint16_t data_len, void *out_buf, uint16_t buf_size,
					   uint64_t datagram_id)
{
	return ugni_end(dgram_post(ep_hndl, in_data, data_len, out_buf, buf_size,
				   by_id(datagram_id)));
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

static gni_return_t test_check(const struct dgram_name name, const gni_post_state_t *post_state,
			       const u32 *remote_addr, const u32 *remote_id)
{
	if (!post_state)
		return ugni_null(post_state);
	if (!remote_addr)
		return ugni_null(remote_addr);
	if (!remote_id)
		return ugni_null(remote_id);
	return name_check(name);
}

static gni_return_t dgram_test(gni_ep_handle_t ep_hndl, struct dgram_name name,
			       gni_post_state_t *state, u32 *pe, u32 *id)
{
	struct dgram_test t;
	struct gni_ep *ep;
	gni_return_t rc;

	rc = test_check(name, state, pe, id);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	test_prepare(&t, ep, name);
	rc = ugni_nic_call(t.nic, KGNI_IOC_DGRAM_TEST, &t.arg);
	if (rc == GNI_RC_SUCCESS)
		test_answer(&t, state, pe, id);
	ugni_unlock(ep);
	return rc == GNI_RC_SUCCESS ? rc : name_more(rc, name);
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
			return ugni_answer(ret);
		if (ugni_away(t->nic))
			return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	} while (ugni_remaining(deadline));
	return ugni_bad(GNI_RC_TIMEOUT, "the datagram is still under way");
}

static gni_return_t wait_prepare(struct dgram_test *t, gni_ep_handle_t ep_hndl,
				 struct dgram_name name)
{
	struct ugni_guard guard;
	struct gni_ep *ep;

	ugni_guard(&guard);
	ep = ugni_ep_lock(ep_hndl);
	if (ep) {
		test_prepare(t, ep, name);
		ugni_unlock(ep);
	}
	ugni_unguard(&guard);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	return ugni_away(t->nic) ? ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY) : GNI_RC_SUCCESS;
}

static gni_return_t dgram_wait(gni_ep_handle_t ep_hndl, struct dgram_name name, u32 timeout,
			       gni_post_state_t *state, u32 *pe, u32 *id)
{
	struct dgram_test t;
	gni_return_t rc;

	if (!timeout)
		return ugni_bad(GNI_RC_INVALID_PARAM, "timeout is 0");
	rc = test_check(name, state, pe, id);
	if (rc == GNI_RC_SUCCESS)
		rc = wait_prepare(&t, ep_hndl, name);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = wait_final(&t, ugni_deadline(timeout_ms(timeout)));
	if (rc != GNI_RC_SUCCESS)
		return name_more(rc, name);
	test_answer(&t, state, pe, id);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataTest(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
					    uint32_t *remote_addr, uint32_t *remote_id)
{
	return ugni_end(dgram_test(ep_hndl, by_ep, post_state, remote_addr, remote_id));
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataTestById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
						gni_post_state_t *post_state,
						uint32_t *remote_addr, uint32_t *remote_id)
{
	return ugni_end(dgram_test(ep_hndl, by_id(datagram_id), post_state, remote_addr,
				   remote_id));
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWait(gni_ep_handle_t ep_hndl, uint32_t timeout,
					    gni_post_state_t *post_state, uint32_t *remote_addr,
					    uint32_t *remote_id)
{
	return ugni_end(dgram_wait(ep_hndl, by_ep, timeout, post_state, remote_addr, remote_id));
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataWaitById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
						uint32_t timeout, gni_post_state_t *post_state,
						uint32_t *remote_addr, uint32_t *remote_id)
{
	return ugni_end(dgram_wait(ep_hndl, by_id(datagram_id), timeout, post_state, remote_addr,
			  remote_id));
}

/* --- probe ------------------------------------------------------------------------ */

/* A probe that finds nothing is asked again later: no error. */
#define probe_end(rc)	((rc) == GNI_RC_NO_MATCH ? ugni_end_quiet(rc) : ugni_end(rc))

UGNI_PUBLIC gni_return_t GNI_PostDataProbe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
					   uint32_t *remote_id)
{
	struct kgni_ioc_dgram_probe arg = { 0 };
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!remote_addr)
		return ugni_end(ugni_null(remote_addr));
	if (!remote_id)
		return ugni_end(ugni_null(remote_id));
	rc = ugni_nic_call(nic, KGNI_IOC_DGRAM_PROBE, &arg);
	if (rc != GNI_RC_SUCCESS)
		return probe_end(rc);
	*remote_addr = arg.remote_pe;
	*remote_id = arg.remote_id;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_PostDataProbeById(gni_nic_handle_t nic_hndl, uint64_t *datagram_id)
{
	struct kgni_ioc_dgram_probe arg = { .flags = KGNI_DGRAM_WITH_ID };
	struct gni_nic *nic = ugni_nic(nic_hndl);
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!datagram_id)
		return ugni_end(ugni_null(datagram_id));
	rc = ugni_nic_call(nic, KGNI_IOC_DGRAM_PROBE, &arg);
	if (rc != GNI_RC_SUCCESS)
		return probe_end(rc);
	*datagram_id = arg.id;
	return GNI_RC_SUCCESS;
}

/* Takes no lock: clients run it in a thread that they cancel. */
UGNI_PUBLIC gni_return_t GNI_PostdataProbeWaitById(gni_nic_handle_t nic_hndl, uint32_t timeout,
						   uint64_t *datagram_id)
{
	struct kgni_ioc_dgram_probe arg = { .flags = KGNI_DGRAM_WITH_ID };
	u64 deadline = ugni_deadline(timeout_ms(timeout));
	struct gni_nic *nic = ugni_nic(nic_hndl);
	int ret;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!datagram_id)
		return ugni_end(ugni_null(datagram_id));
	do {
		if (!ugni_live(&ugni_nics, nic))
			return ugni_end(ugni_no("NIC handle any more", nic_hndl));
		if (ugni_away(nic))
			return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY));
		arg.timeout_ms = ugni_remaining(deadline);
		ret = ugni_sys_wait(nic->fd, KGNI_IOC_DGRAM_PROBE, &arg);
		if (ret == GNI_RC_SUCCESS) {
			*datagram_id = arg.id;
			return GNI_RC_SUCCESS;
		}
		if (ret != GNI_RC_TIMEOUT && ret != GNI_RC_NO_MATCH && ret != -EINTR)
			return ugni_end(ugni_answer(ret));
	} while (ugni_remaining(deadline));
	return ugni_end(ugni_bad(GNI_RC_TIMEOUT, "no datagram is done"));
}

/* --- cancel ----------------------------------------------------------------------- */

static gni_return_t dgram_cancel(gni_ep_handle_t ep_hndl, struct dgram_name name)
{
	struct kgni_ioc_dgram_cancel arg = { .id = name.id, .flags = name.flags };
	struct gni_ep *ep;
	gni_return_t rc;

	rc = name_check(name);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	arg.ep = ugni_index(&ugni_eps, ep);
	rc = ugni_nic_call(ep->nic, KGNI_IOC_DGRAM_CANCEL, &arg);
	ugni_unlock(ep);
	return rc == GNI_RC_SUCCESS ? rc : name_more(rc, name);
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataCancel(gni_ep_handle_t ep_hndl)
{
	return ugni_end(dgram_cancel(ep_hndl, by_ep));
}

UGNI_PUBLIC gni_return_t GNI_EpPostDataCancelById(gni_ep_handle_t ep_hndl, uint64_t datagram_id)
{
	return ugni_end(dgram_cancel(ep_hndl, by_id(datagram_id)));
}
