// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Posts. Driver: kernel/fma.c for all of them, kernel/bte.c for what it does
 * asynchronously. GNI_GetCompleted() is in cq.c.
 *
 * All that a post needs is read from the descriptor once, when it is posted,
 * and nothing else is read: fields that a type does not use are the caller's,
 * and may be garbage. Only status and cq_mode_complete are ever written, when
 * the transaction is completed.
 */
#include "ugni.h"
#include "core/rules.h"

static struct kgni_mem_handle mem_handle(const gni_mem_handle_t *h)
{
	return (struct kgni_mem_handle){ .qword1 = h->qword1, .qword2 = h->qword2 };
}

static void capture_local(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	arg->local_addr = d->local_addr;
	arg->local = mem_handle(&d->local_mem_hndl);
}

static void capture_remote(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	arg->remote_addr = d->remote_addr;
	arg->remote = mem_handle(&d->remote_mem_hndl);
	arg->length = d->length;
}

/* An unknown command is for the driver to refuse. */
static void capture_amo(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	struct kgni_amo amo;

	capture_remote(arg, d);
	arg->amo_cmd = d->amo_cmd;
	if (!kgni_amo_decode(arg->amo_cmd, &amo))
		return;
	arg->operand[0] = d->first_operand;
	if (amo.op == KGNI_AMO_CSWAP || amo.op == KGNI_AMO_AX)
		arg->operand[1] = d->second_operand;
	if (amo.fetch)
		capture_local(arg, d);
}

/**
 * capture - read from a descriptor what its type uses
 * @arg: out: zero before
 * @d: the descriptor
 * @cq_hndl: in: queue of the endpoint; out: queue for source events
 *
 * Return: false for a type that is not built.
 */
static bool capture(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d,
		    gni_cq_handle_t *cq_hndl)
{
	gni_cq_handle_t src_cq = NULL;

	switch (arg->type) {
	case GNI_POST_RDMA_PUT:
	case GNI_POST_RDMA_GET:
		capture_local(arg, d);
		capture_remote(arg, d);
		arg->rdma_mode = d->rdma_mode;
		src_cq = d->src_cq_hndl;
		break;
	case GNI_POST_FMA_PUT_W_SYNCFLAG:
		arg->sync_addr = d->sync_flag_addr;
		arg->sync_value = d->sync_flag_value;
		/* fallthrough */
	case GNI_POST_FMA_PUT:
		arg->local_addr = d->local_addr;
		capture_remote(arg, d);
		break;
	case GNI_POST_FMA_GET:
		capture_local(arg, d);
		capture_remote(arg, d);
		break;
	case GNI_POST_AMO:
		capture_amo(arg, d);
		break;
	case GNI_POST_CQWRITE:
		arg->remote = mem_handle(&d->remote_mem_hndl);
		arg->cqwrite_value = d->cqwrite_value;
		src_cq = d->src_cq_hndl;
		break;
	default:
		return false;
	}
	arg->cq_mode = d->cq_mode;
	if (src_cq)
		*cq_hndl = src_cq;
	return true;
}

/* Both events at once are for those who asked for them at creation. */
static bool mode_allowed(const struct gni_nic *nic, u16 mode)
{
	return (mode & GNI_CQMODE_DUAL_EVENTS) != GNI_CQMODE_DUAL_EVENTS ||
	       nic->modes & GNI_CDM_MODE_DUAL_EVENTS;
}

/**
 * prepare - all of a post that needs the endpoint
 * @ep: endpoint, locked
 * @descr: descriptor
 * @arg: for the driver; its type is set
 * @cq: out: queue with a request for this post, or NULL
 * @tid: out: that request
 *
 * Return: GNI_RC_SUCCESS, or why there can be no post.
 */
static gni_return_t prepare(struct gni_ep *ep, gni_post_descriptor_t *descr,
			    struct kgni_ioc_post *arg, struct gni_cq **cq, u32 *tid)
{
	gni_cq_handle_t cq_hndl = ep->cq;
	struct ugni_req req = { .descr = descr };
	gni_return_t rc;

	*cq = NULL;
	if (ugni_away(ep->nic) || !ep->bound)
		return GNI_RC_INVALID_PARAM;
	if (!capture(arg, descr, &cq_hndl) || !mode_allowed(ep->nic, arg->cq_mode))
		return GNI_RC_INVALID_PARAM;
	arg->remote_pe = ep->remote_pe;
	arg->remote_event = ep->remote_event;
	if (!cq_hndl)
		return GNI_RC_SUCCESS;
	cq_hndl = ugni_cq(cq_hndl);
	if (!cq_hndl || cq_hndl->nic != ep->nic)
		return GNI_RC_INVALID_PARAM;
	req.mode = (u8)(arg->cq_mode & GNI_CQMODE_DUAL_EVENTS);
	if (!req.mode || !ugni_cq_tells(cq_hndl))
		return GNI_RC_SUCCESS;
	req.async = arg->type == GNI_POST_RDMA_PUT || arg->type == GNI_POST_RDMA_GET;
	rc = ugni_cq_begin(cq_hndl, ep, &req, tid);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	arg->src_cq = cq_hndl->id;
	arg->src_event = kgni_cqe_post(ep->local_event, *tid);
	*cq = cq_hndl;
	return GNI_RC_SUCCESS;
}

/* @types: bit n for type n, as the call takes them. */
static gni_return_t post(gni_ep_handle_t hndl, gni_post_descriptor_t *descr, u32 types)
{
	struct kgni_ioc_post arg = { 0 };
	struct gni_cq *cq;
	struct gni_ep *ep;
	gni_return_t rc;
	u32 tid;
	int fd;

	if (!descr)
		return GNI_RC_INVALID_PARAM;
	arg.type = descr->type;
	if (arg.type > 31 || !(types & 1U << arg.type))
		return GNI_RC_INVALID_PARAM;
	ep = ugni_ep_lock(hndl);
	if (!ep)
		return GNI_RC_INVALID_PARAM;
	rc = prepare(ep, descr, &arg, &cq, &tid);
	fd = ep->nic->fd;
	ugni_unlock(ep);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_call(fd, KGNI_IOC_POST, &arg);
	if (cq)
		ugni_cq_posted(cq, tid, false, rc);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_PostRdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	return post(ep_hndl, post_descr, 1U << GNI_POST_RDMA_PUT | 1U << GNI_POST_RDMA_GET);
}

UGNI_PUBLIC gni_return_t GNI_PostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	return post(ep_hndl, post_descr,
		    1U << GNI_POST_FMA_PUT | 1U << GNI_POST_FMA_PUT_W_SYNCFLAG |
		    1U << GNI_POST_FMA_GET | 1U << GNI_POST_AMO);
}

UGNI_PUBLIC gni_return_t GNI_PostCqWrite(gni_ep_handle_t ep_hndl,
					 gni_post_descriptor_t *post_descr)
{
	return post(ep_hndl, post_descr, 1U << GNI_POST_CQWRITE);
}
