// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Posts. Driver: kernel/fma.c for all of them, kernel/bte.c for what it does
 * asynchronously. The short way of those that are simple is in quick.c,
 * GNI_GetCompleted() in cq.c.
 *
 * A descriptor is read once, when it is posted, by kernel/core/descr.h. Only
 * status and cq_mode_complete are ever written, when the transaction is completed.
 */
#include <stdlib.h>

#include "ugni.h"
#include "core/descr.h"

/* Both events at once are for those who asked for them at creation. */
static bool mode_allowed(const struct gni_nic *nic, u16 mode)
{
	return (mode & GNI_CQMODE_DUAL_EVENTS) != GNI_CQMODE_DUAL_EVENTS ||
	       nic->modes & GNI_CDM_MODE_DUAL_EVENTS;
}

/* The rules are kept; then it is the local side, or the driver's resources. */
static gni_return_t explain_local(const struct kgni_ioc_post *arg, gni_return_t rc)
{
	if (rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_PERMISSION_ERROR)
		return ugni_more(rc,
				 "local_addr 0x%llx, length %llu, local_mem_hndl 0x%llx, 0x%llx",
				 (unsigned long long)arg->local_addr,
				 (unsigned long long)arg->length,
				 (unsigned long long)arg->local.qword1,
				 (unsigned long long)arg->local.qword2);
	return ugni_more(rc, "type is %u, length %llu", arg->type, (unsigned long long)arg->length);
}

static gni_return_t explain_align(gni_return_t rc, const char *field, u64 value, u32 multiple)
{
	return ugni_bad(rc, "%s 0x%llx is not a multiple of %u", field,
			(unsigned long long)value, multiple);
}

/* What a post is refused for, in words: by the rules of kernel/core/rules.h. */
static gni_return_t explain(const struct kgni_ioc_post *arg, gni_return_t rc)
{
	struct kgni_amo amo;
	u32 multiple;

	switch (kgni_post_flaw(arg, &amo, &multiple)) {
	case KGNI_FLAW_NONE:
		return explain_local(arg, rc);
	case KGNI_FLAW_TYPE:
		return ugni_bad(rc, "there is no type %u", arg->type);
	case KGNI_FLAW_CQ_MODE:
		return ugni_bad(rc, "cq_mode is 0x%x, its bits are 0x%x", arg->cq_mode,
				KGNI_CQMODE_ALL);
	case KGNI_FLAW_DLVR_MODE:
		return ugni_bad(rc, "dlvr_mode is 0x%x, its bits are 0x%x", arg->dlvr_mode,
				KGNI_DLV_ALL);
	case KGNI_FLAW_RDMA_MODE:
		return ugni_bad(rc, "rdma_mode is 0x%x, its bits are 0x%x", arg->rdma_mode,
				KGNI_RDMA_USER);
	case KGNI_FLAW_RANGE:
		return ugni_bad(rc, "remote_addr 0x%llx and length %llu go beyond all addresses",
				(unsigned long long)arg->remote_addr,
				(unsigned long long)arg->length);
	case KGNI_FLAW_EMPTY:
		return ugni_bad(rc, "length is 0, which only FMA puts may have");
	case KGNI_FLAW_AMO_CMD:
		return ugni_bad(rc, "there is no amo_cmd 0x%x", arg->amo_cmd);
	case KGNI_FLAW_NO_RESPONSE:
		return ugni_bad(rc, "amo_cmd 0x%x fetches nothing that a flag could follow",
				arg->amo_cmd);
	case KGNI_FLAW_FLAG_LENGTH:
		return ugni_bad(rc, "length is %llu, a flagged response has at most %u",
				(unsigned long long)arg->length, KGNI_LINE_SIZE - KGNI_FLAG_SIZE);
	case KGNI_FLAW_FLAG_LINE:
		return ugni_bad(rc, "local_addr 0x%llx, length %llu: not in one line of %u bytes",
				(unsigned long long)arg->local_addr,
				(unsigned long long)arg->length, KGNI_LINE_SIZE);
	case KGNI_FLAW_REMOTE_ADDR:
		return explain_align(rc, "remote_addr", arg->remote_addr, multiple);
	case KGNI_FLAW_LENGTH:
		return explain_align(rc, "length", arg->length, multiple);
	case KGNI_FLAW_LOCAL_ADDR:
		return explain_align(rc, "local_addr", arg->local_addr, multiple);
	case KGNI_FLAW_SYNC_ADDR:
		return explain_align(rc, "sync_flag_addr", arg->sync_addr, multiple);
	}
	return rc;
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
	if (ugni_away(ep->nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	if (!ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM, "the endpoint is not bound");
	if (!kgni_descr_read(arg, descr, &cq_hndl))
		return ugni_bad(GNI_RC_INVALID_PARAM, "type %u is none that is built", arg->type);
	if (!mode_allowed(ep->nic, arg->cq_mode))
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"cq_mode 0x%x needs GNI_CDM_MODE_DUAL_EVENTS",
				arg->cq_mode);
	arg->remote_pe = ep->remote_pe;
	arg->remote_event = ep->remote_event;
	if (!cq_hndl)
		return GNI_RC_SUCCESS;
	if (!ugni_cq(cq_hndl) || cq_hndl->nic != ep->nic)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"src_cq_hndl %p is no live queue of the NIC handle",
				(void *)cq_hndl);
	req.mode = (u8)(arg->cq_mode & GNI_CQMODE_DUAL_EVENTS);
	if (!req.mode || !ugni_cq_tells(cq_hndl))
		return GNI_RC_SUCCESS;
	req.rdma = arg->type == GNI_POST_RDMA_PUT || arg->type == GNI_POST_RDMA_GET;
	req.async = req.rdma;
	rc = ugni_cq_begin(cq_hndl, ep, &req, tid);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	arg->src_cq = cq_hndl->id;
	arg->src_event = kgni_cqe_post(ep->local_event, *tid);
	*cq = cq_hndl;
	return GNI_RC_SUCCESS;
}

/**
 * ugni_post - carry a post out, or have the driver do it
 * @nic: NIC handle
 * @hint: where the window that was used last is kept
 * @arg: the post
 * @cq: queue for its source events, or NULL
 *
 * Return: as KGNI_IOC_POST.
 */
gni_return_t ugni_post(struct gni_nic *nic, struct ugni_window **hint,
		       const struct kgni_ioc_post *arg, struct gni_cq *cq)
{
	const bool rdma = arg->type <= GNI_POST_RDMA_GET;
	gni_return_t rc;

	/* Without an event nobody will know when it is over: see req_end() in cq.c. */
	if (rdma)
		ugni_add(&nic->rdma, 1U);
	if (ugni_window_post(nic, arg, cq, hint))
		return GNI_RC_SUCCESS;
	rc = ugni_nic_call(nic, KGNI_IOC_POST, (void *)(uintptr_t)arg);
	if (rdma && !cq && rc != GNI_RC_SUCCESS)
		ugni_add(&nic->rdma, -1U);
	return rc;
}

/* @ep is locked, and unlocked. */
static gni_return_t post_locked(struct gni_ep *ep, gni_post_descriptor_t *descr, u32 type)
{
	struct kgni_ioc_post arg = { .type = type };
	struct gni_nic *nic = ep->nic;
	struct gni_cq *cq;
	gni_return_t rc;
	u32 tid;

	rc = prepare(ep, descr, &arg, &cq, &tid);
	ugni_unlock(ep);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_post(nic, &ep->window, &arg, cq);
	if (cq)
		ugni_cq_posted(cq, tid, false, rc);
	if (rc == GNI_RC_ERROR_RESOURCE && arg.type <= GNI_POST_RDMA_GET)
		ugni_count(nic, GNI_STAT_FLBTE_TXD_NONE);
	return rc == GNI_RC_SUCCESS || !ugni_debugging() ? rc : explain(&arg, rc);
}

/* @types: bit n for type n, as the call takes them. */
static gni_return_t post(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr, u32 types)
{
	struct gni_ep *ep;
	u32 type;

	if (!post_descr)
		return ugni_null(post_descr);
	type = post_descr->type;
	if (type > 31 || !(types & 1U << type))
		return ugni_bad(GNI_RC_INVALID_PARAM, "type %u is not for this call", type);
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	return post_locked(ep, post_descr, type);
}

/* GNI_PostRdma(), likewise. */
gni_return_t ugni_post_rdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	return ugni_end_call("GNI_PostRdma",
			     post(ep_hndl, post_descr,
				  1U << GNI_POST_RDMA_PUT | 1U << GNI_POST_RDMA_GET), false);
}

/**
 * ugni_post_fma - GNI_PostFma(), the general way
 * @ep_hndl: endpoint
 * @post_descr: descriptor
 *
 * Return: as GNI_PostFma().
 */
gni_return_t ugni_post_fma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	if (post_descr && post_descr->type == GNI_POST_CE)
		return ugni_end_call("GNI_PostFma", ugni_ce_post(ep_hndl, post_descr), false);
	return ugni_end_call("GNI_PostFma",
			     post(ep_hndl, post_descr,
				  1U << GNI_POST_FMA_PUT | 1U << GNI_POST_FMA_PUT_W_SYNCFLAG |
				  1U << GNI_POST_FMA_GET | 1U << GNI_POST_FMA_GET_W_FLAG |
				  1U << GNI_POST_AMO | 1U << GNI_POST_AMO_W_FLAG), false);
}

UGNI_PUBLIC gni_return_t GNI_PostCqWrite(gni_ep_handle_t ep_hndl,
					 gni_post_descriptor_t *post_descr)
{
	return ugni_end(post(ep_hndl, post_descr, 1U << GNI_POST_CQWRITE));
}

/* --- chains -------------------------------------------------------------------------- */

#define CHAINABLE	(1U << GNI_POST_FMA_PUT | 1U << GNI_POST_FMA_PUT_W_SYNCFLAG |	\
			 1U << GNI_POST_FMA_GET | 1U << GNI_POST_AMO | 1U << GNI_POST_CQWRITE)

/* What the structs of elements have in common. */
struct element {
	void *next_descr;
	gni_ep_handle_t ep_hndl;
};

#define SAME_HEAD(type) \
	_Static_assert(offsetof(type, next_descr) == offsetof(struct element, next_descr) && \
		       offsetof(type, ep_hndl) == offsetof(struct element, ep_hndl), #type)
SAME_HEAD(gni_ct_put_post_descriptor_t);
SAME_HEAD(gni_ct_get_post_descriptor_t);
SAME_HEAD(gni_ct_amo_post_descriptor_t);
SAME_HEAD(gni_ct_cqw_post_descriptor_t);

/* An element as a descriptor of its own, as far as its type goes. */
static void element_descr(gni_post_descriptor_t *d, const void *elem)
{
	const gni_ct_put_post_descriptor_t *put = elem;
	const gni_ct_get_post_descriptor_t *get = elem;
	const gni_ct_amo_post_descriptor_t *amo = elem;
	const gni_ct_cqw_post_descriptor_t *cqw = elem;

	switch (d->type) {
	case GNI_POST_FMA_PUT_W_SYNCFLAG:
		d->sync_flag_value = put->sync_flag_value;
		d->sync_flag_addr = put->sync_flag_addr;
		/* fallthrough */
	case GNI_POST_FMA_PUT:
		d->local_addr = put->local_addr;
		d->remote_addr = put->remote_addr;
		d->remote_mem_hndl = put->remote_mem_hndl;
		d->length = put->length;
		break;
	case GNI_POST_FMA_GET:
		d->local_addr = get->local_addr;
		d->local_mem_hndl = get->local_mem_hndl;
		d->remote_addr = get->remote_addr;
		d->remote_mem_hndl = get->remote_mem_hndl;
		d->length = get->length;
		break;
	case GNI_POST_AMO:
		d->local_addr = amo->local_addr;
		d->local_mem_hndl = amo->local_mem_hndl;
		d->remote_addr = amo->remote_addr;
		d->remote_mem_hndl = amo->remote_mem_hndl;
		d->length = amo->length;
		d->amo_cmd = amo->amo_cmd;
		d->first_operand = amo->first_operand;
		d->second_operand = amo->second_operand;
		break;
	default:
		d->remote_mem_hndl = cqw->remote_mem_hndl;
		d->cqwrite_value = cqw->cqwrite_value;
	}
}

/* Who an element is for; @nic has the endpoint of the first. */
static gni_return_t element_target(struct kgni_ioc_post *arg, const struct gni_nic *nic,
				   gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	bool ok;

	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	ok = ep->bound && ep->nic == nic;
	arg->remote_pe = ep->remote_pe;
	arg->remote_event = ep->remote_event;
	ugni_unlock(ep);
	if (!ok)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"ep_hndl %p is not bound, or of another NIC handle",
				(void *)ep_hndl);
	return GNI_RC_SUCCESS;
}

/* Fill in all but the first of a chain. */
static gni_return_t chain_elements(struct kgni_ioc_post *args, u32 count,
				   const struct gni_nic *nic, gni_ep_handle_t ep_hndl,
				   const gni_post_descriptor_t *head)
{
	const struct element *e = head->next_descr;
	gni_cq_handle_t none = NULL;
	gni_return_t rc;
	u32 i;

	for (i = 1; i < count; i++, e = e->next_descr) {
		gni_post_descriptor_t d = {
			.type = head->type,
			.cq_mode = head->cq_mode,
			.dlvr_mode = head->dlvr_mode,
		};

		element_descr(&d, e);
		args[i].type = d.type;
		kgni_descr_read(&args[i], &d, &none);
		rc = element_target(&args[i], nic, e->ep_hndl ? e->ep_hndl : ep_hndl);
		if (rc != GNI_RC_SUCCESS)
			return ugni_more(rc, "element %u", i);
	}
	return GNI_RC_SUCCESS;
}

static gni_return_t explain_chain(const struct kgni_ioc_post *args, u32 count, gni_return_t rc)
{
	u32 i;

	for (i = 0; i < count; i++) {
		explain(&args[i], rc);
		ugni_more(rc, "transaction %u of the chain", i);
	}
	return rc;
}

/* Post a chain whose elements are filled in. */
static gni_return_t chain_post(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *head,
			       struct kgni_ioc_post *args, u32 count)
{
	struct kgni_ioc_post_chain arg = { .posts = (u64)(uintptr_t)args, .count = count };
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	struct gni_cq *cq;
	gni_return_t rc;
	u32 tid;
	int fd;

	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	rc = prepare(ep, head, &args[0], &cq, &tid);
	fd = ep->nic->fd;
	ugni_unlock(ep);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_call(fd, KGNI_IOC_POST_CHAIN, &arg);
	if (cq)
		ugni_cq_posted(cq, tid, false, rc);
	return rc == GNI_RC_SUCCESS || !ugni_debugging() ? rc : explain_chain(args, count, rc);
}

/* Transactions of a chain; more than KGNI_CHAIN_MAX if there is no end in sight. */
static u32 chain_length(const gni_post_descriptor_t *head)
{
	const struct element *e = head->next_descr;
	u32 count = 1;

	for (; e && count <= KGNI_CHAIN_MAX; e = e->next_descr)
		count++;
	return count;
}

static struct gni_nic *ep_nic(gni_ep_handle_t ep_hndl)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	struct gni_nic *nic;

	if (!ep)
		return NULL;
	nic = ep->nic;
	ugni_unlock(ep);
	return nic;
}

/* A chain of more than one. */
static gni_return_t chain(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *head, u32 count)
{
	struct gni_nic *nic = ep_nic(ep_hndl);
	struct kgni_ioc_post *args;
	gni_return_t rc;

	if (!nic)
		return ugni_no("endpoint", ep_hndl);
	if (count > KGNI_CHAIN_MAX)
		return ugni_bad(GNI_RC_ERROR_RESOURCE, "more than %u transactions in the chain",
				KGNI_CHAIN_MAX);
	args = calloc(count, sizeof(*args));
	if (!args)
		return ugni_bad(GNI_RC_ERROR_RESOURCE, "no memory for a chain");
	args[0].type = head->type;
	rc = chain_elements(args, count, nic, ep_hndl, head);
	if (rc == GNI_RC_SUCCESS)
		rc = chain_post(ep_hndl, head, args, count);
	free(args);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_CtPostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr)
{
	u32 count;

	if (!post_descr)
		return ugni_end(ugni_null(post_descr));
	if ((u32)post_descr->type > 31 || !(CHAINABLE & 1U << post_descr->type))
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "type %u is not for this call",
					 (u32)post_descr->type));
	count = chain_length(post_descr);
	if (count == 1)
		return ugni_end(post(ep_hndl, post_descr, CHAINABLE));
	return ugni_end(chain(ep_hndl, post_descr, count));
}
