// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The collective engine: channels, the trees they are put into by endpoints, and
 * reductions. Driver: kernel/ce.c. Results are laid out by kernel/core/ce.h.
 *
 * Endpoints carry what a channel needs to know of its neighbours; the driver is
 * told when a channel is configured, and with each post.
 */
#include "ugni.h"
#include "core/ce.h"

static struct gni_ce *ce_lock(gni_ce_handle_t hndl)
{
	return ugni_lock(&ugni_ces, hndl);
}

UGNI_PUBLIC gni_return_t GNI_CeCreate(gni_nic_handle_t nic_hndl, gni_ce_handle_t *ce_hndl)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);
	struct kgni_ioc_ce_create arg = { 0 };
	struct gni_ce *ce;
	gni_return_t rc;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!ce_hndl)
		return ugni_end(ugni_null(ce_hndl));
	ce = ugni_alloc(&ugni_ces);
	if (!ce)
		return ugni_end(ugni_nomem("channel"));
	rc = ugni_nic_call(nic, KGNI_IOC_CE_CREATE, &arg);
	if (rc != GNI_RC_SUCCESS) {
		ugni_free(&ugni_ces, ce);
		return ugni_end(rc);
	}
	ce->nic = nic;
	ce->id = arg.id;
	ugni_publish(&ugni_ces, ce);
	*ce_hndl = ce;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_CeGetId(gni_ce_handle_t ce_hndl, uint32_t *ce_id)
{
	struct gni_ce *ce = ce_lock(ce_hndl);

	if (!ce)
		return ugni_end(ugni_no("channel", ce_hndl));
	if (ce_id)
		*ce_id = ce->id;
	ugni_unlock(ce);
	return ce_id ? GNI_RC_SUCCESS : ugni_end(ugni_null(ce_id));
}

/* Called with the channel locked; unlocks it. */
static void ce_destroy(struct gni_ce *ce)
{
	struct kgni_ioc_ce_destroy arg = { .id = ce->id };

	ugni_retire(&ugni_ces, ce);
	ugni_nic_call(ce->nic, KGNI_IOC_CE_DESTROY, &arg);
	ugni_unlock(ce);
	ugni_free(&ugni_ces, ce);
}

UGNI_PUBLIC gni_return_t GNI_CeDestroy(gni_ce_handle_t ce_hndl)
{
	struct gni_ce *ce = ce_lock(ce_hndl);

	if (!ce)
		return ugni_end(ugni_no("channel", ce_hndl));
	ce_destroy(ce);
	return GNI_RC_SUCCESS;
}

/* The NIC handle goes, and its channels with it. */
void ugni_ce_destroy_all(const struct gni_nic *nic)
{
	struct gni_ce *ce;
	u32 i = 0;

	while ((ce = ugni_next(&ugni_ces, &i))) {
		if (core_load(&ce->nic) != nic || !ce_lock(ce))
			continue;
		if (ce->nic == nic)
			ce_destroy(ce);
		else
			ugni_unlock(ce);
	}
}

/* --- trees -------------------------------------------------------------------- */

static gni_return_t ep_set_attr(struct gni_ep *ep, u32 ce_id, u32 child_id,
				gni_ce_child_t child_type)
{
	if (child_id >= GNI_CE_MAX_CHILDREN)
		return ugni_bad(GNI_RC_INVALID_PARAM, "child_id is %u, less than %u are allowed",
				child_id, GNI_CE_MAX_CHILDREN);
	if ((u32)child_type > GNI_CE_CHILD_PE)
		return ugni_bad(GNI_RC_INVALID_PARAM, "there is no child_type %u",
				(u32)child_type);
	ep->ce_id = ce_id;
	ep->ce_child = (u8)child_id;
	ep->ce_type = (u8)child_type;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_EpSetCeAttr(gni_ep_handle_t ep_hndl, uint32_t ce_id,
					 uint32_t child_id, gni_ce_child_t child_type)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	gni_return_t rc;

	if (!ep)
		return ugni_end(ugni_no("endpoint", ep_hndl));
	rc = ep_set_attr(ep, ce_id, child_id, child_type);
	ugni_unlock(ep);
	return ugni_end(rc);
}

static gni_return_t ep_edge(const struct gni_ep *ep, const struct gni_nic *nic,
			    struct kgni_ce_edge *edge)
{
	if (ep->nic != nic)
		return ugni_bad(GNI_RC_INVALID_PARAM, "it is of another NIC handle");
	if (!ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM, "it is not bound");
	if (ep->ce_type == GNI_CE_CHILD_UNUSED)
		return ugni_bad(GNI_RC_INVALID_PARAM, "GNI_EpSetCeAttr() was not called for it");
	edge->pe = ep->remote_pe;
	edge->id = ep->ce_type == GNI_CE_CHILD_PE ? ep->remote_id : ep->ce_id;
	edge->child = ep->ce_child;
	edge->type = ep->ce_type;
	return GNI_RC_SUCCESS;
}

/* What an endpoint says of the other end of an edge. */
static gni_return_t edge_of(gni_ep_handle_t ep_hndl, const struct gni_nic *nic,
			    struct kgni_ce_edge *edge)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	gni_return_t rc;

	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	rc = ep_edge(ep, nic, edge);
	ugni_unlock(ep);
	return rc;
}

static gni_return_t children_of(gni_ep_handle_t *eps, u32 count, const struct gni_nic *nic,
				struct kgni_ce_edge *edges)
{
	u32 seen = 0, i;
	gni_return_t rc;

	for (i = 0; i < count; i++) {
		rc = edge_of(eps[i], nic, &edges[i]);
		if (rc != GNI_RC_SUCCESS)
			return ugni_more(rc, "child_eps[%u]", i);
		if (seen & 1U << edges[i].child)
			return ugni_bad(GNI_RC_INVALID_PARAM, "two children have the number %u",
					edges[i].child);
		seen |= 1U << edges[i].child;
	}
	return GNI_RC_SUCCESS;
}

static gni_return_t parent_of(gni_ep_handle_t ep_hndl, const struct gni_nic *nic,
			      struct kgni_ce_edge *edge)
{
	gni_return_t rc = edge_of(ep_hndl, nic, edge);

	if (rc != GNI_RC_SUCCESS)
		return ugni_more(rc, "parent_ep");
	if (edge->type != GNI_CE_CHILD_VCE)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"parent_ep has the child type of a leaf, which a channel is not");
	return GNI_RC_SUCCESS;
}

/* @ce: locked */
static gni_return_t ce_configure(struct gni_ce *ce, gni_ep_handle_t *child_eps, u32 count,
				 gni_ep_handle_t parent_ep, const struct gni_cq *cq, u32 modes)
{
	struct kgni_ce_edge children[GNI_CE_MAX_CHILDREN];
	struct kgni_ioc_ce_configure arg = {
		.children = (u64)(uintptr_t)children,
		.count = count,
		.id = ce->id,
		.cq = cq ? cq->id : 0,
		.modes = modes,
	};
	gni_return_t rc;

	if (cq && cq->nic != ce->nic)
		return ugni_bad(GNI_RC_INVALID_PARAM, "cq_hndl is of another NIC handle");
	rc = children_of(child_eps, count, ce->nic, children);
	if (rc == GNI_RC_SUCCESS && parent_ep)
		rc = parent_of(parent_ep, ce->nic, &arg.parent);
	return rc == GNI_RC_SUCCESS ? ugni_nic_call(ce->nic, KGNI_IOC_CE_CONFIGURE, &arg) : rc;
}

UGNI_PUBLIC gni_return_t GNI_CeConfigure(gni_ce_handle_t ce_hndl, gni_ep_handle_t *child_eps,
					 uint32_t num_child_eps, gni_ep_handle_t parent_ep,
					 gni_cq_handle_t cq_hndl, uint32_t modes)
{
	struct gni_cq *cq = cq_hndl ? ugni_cq(cq_hndl) : NULL;
	struct gni_ce *ce;
	gni_return_t rc;

	if (!child_eps)
		return ugni_end(ugni_null(child_eps));
	if (!num_child_eps || num_child_eps > GNI_CE_MAX_CHILDREN)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "num_child_eps is %u, not 1 to %u",
					 num_child_eps, GNI_CE_MAX_CHILDREN));
	if (!kgni_ce_modes_ok(modes))
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM,
					 "modes 0x%x: an unknown bit, or two of a group", modes));
	if (cq_hndl && !cq)
		return ugni_end(ugni_no("queue", cq_hndl));
	ce = ce_lock(ce_hndl);
	if (!ce)
		return ugni_end(ugni_no("channel", ce_hndl));
	rc = ce_configure(ce, child_eps, num_child_eps, parent_ep, cq, modes);
	ugni_unlock(ce);
	return ugni_end(rc);
}

/* --- reductions --------------------------------------------------------------- */

static void descr_read(struct kgni_ioc_ce_post *arg, const gni_post_descriptor_t *d)
{
	struct kgni_ce_cmd cmd;

	arg->cmd = d->ce_cmd;
	arg->mode = (u16)d->ce_mode;
	arg->cq_mode = d->cq_mode;
	arg->result = d->local_addr;
	arg->local.qword1 = d->local_mem_hndl.qword1;
	arg->local.qword2 = d->local_mem_hndl.qword2;
	arg->red_id = d->ce_red_id;
	arg->operand[0] = d->first_operand;
	if (kgni_ce_decode(arg->cmd, &cmd) && kgni_ce_second(&cmd, arg->mode))
		arg->operand[1] = d->second_operand;
}

/* Begin the request of a post that has source events. */
static gni_return_t post_begin(struct gni_ep *ep, gni_post_descriptor_t *d,
			       struct kgni_ioc_ce_post *arg, struct gni_cq **cq, u32 *tid)
{
	struct ugni_req req = {
		.descr = d,
		.async = true,
		.mode = (u8)(arg->cq_mode & GNI_CQMODE_DUAL_EVENTS),
	};
	gni_return_t rc;

	if (!req.mode || !ugni_cq_tells(ep->cq))
		return GNI_RC_SUCCESS;
	rc = ugni_cq_begin(ep->cq, ep, &req, tid);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	*cq = ep->cq;
	arg->src_cq = ep->cq->id;
	arg->src_event = kgni_cqe_post(ep->local_event, *tid);
	return GNI_RC_SUCCESS;
}

/* All of a post that needs the endpoint, which is locked. */
static gni_return_t post_prepare(struct gni_ep *ep, gni_post_descriptor_t *d,
				 struct kgni_ioc_ce_post *arg, struct gni_cq **cq, u32 *tid)
{
	if (ugni_away(ep->nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	if (!ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM, "the endpoint is not bound");
	if (ep->ce_type != GNI_CE_CHILD_PE)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"GNI_EpSetCeAttr() did not make the endpoint a leaf's");
	if (d->ce_mode > UINT16_MAX)
		return ugni_bad(GNI_RC_INVALID_PARAM, "ce_mode is 0x%x, its bits are 0x%x",
				d->ce_mode, KGNI_CE_POST_MODES);
	descr_read(arg, d);
	if ((arg->cq_mode & GNI_CQMODE_DUAL_EVENTS) == GNI_CQMODE_DUAL_EVENTS &&
	    !(ep->nic->modes & GNI_CDM_MODE_DUAL_EVENTS))
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"cq_mode 0x%x needs GNI_CDM_MODE_DUAL_EVENTS", arg->cq_mode);
	arg->remote_pe = ep->remote_pe;
	arg->ce = ep->ce_id;
	arg->child = ep->ce_child;
	return post_begin(ep, d, arg, cq, tid);
}

/* What a post is refused for, in words. */
static gni_return_t explain(const struct kgni_ioc_ce_post *arg, gni_return_t rc)
{
	struct kgni_ce_cmd cmd;

	if (!kgni_ce_decode(arg->cmd, &cmd))
		return ugni_bad(rc, "there is no ce_cmd 0x%x", arg->cmd);
	if (arg->mode & ~KGNI_CE_POST_MODES)
		return ugni_bad(rc, "ce_mode is 0x%x, its bits are 0x%x", arg->mode,
				KGNI_CE_POST_MODES);
	if (arg->red_id > KGNI_CE_RED_ID_MAX)
		return ugni_bad(rc, "ce_red_id 0x%llx has more than 48 bits",
				(unsigned long long)arg->red_id);
	if (arg->result % 8)
		return ugni_bad(rc, "local_addr 0x%llx is not a multiple of 8",
				(unsigned long long)arg->result);
	return ugni_more(rc, "local_addr 0x%llx, local_mem_hndl 0x%llx, 0x%llx",
			 (unsigned long long)arg->result, (unsigned long long)arg->local.qword1,
			 (unsigned long long)arg->local.qword2);
}

/* GNI_PostFma() of type GNI_POST_CE. */
gni_return_t ugni_ce_post(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *d)
{
	struct gni_ep *ep = ugni_ep_lock(ep_hndl);
	struct kgni_ioc_ce_post arg = { 0 };
	struct gni_cq *cq = NULL;
	struct gni_nic *nic;
	gni_return_t rc;
	u32 tid;

	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	rc = post_prepare(ep, d, &arg, &cq, &tid);
	nic = ep->nic;
	ugni_unlock(ep);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_nic_call(nic, KGNI_IOC_CE_POST, &arg);
	if (cq)
		ugni_cq_posted(cq, tid, false, rc);
	return rc == GNI_RC_SUCCESS || !ugni_debugging() ? rc : explain(&arg, rc);
}

/* --- results ------------------------------------------------------------------ */

/* Who sees that the driver has written it sees the values, too. */
static u64 control_of(const gni_ce_result_t *result)
{
	return core_load_acquire(&result->control);
}

UGNI_PUBLIC gni_return_t GNI_CeCheckResult(gni_ce_result_t *result, uint32_t length)
{
	u64 control;

	(void)length;
	if (!result)
		return ugni_end(ugni_null(result));
	control = control_of(result);
	if (!(control & KGNI_CE_DONE))
		return ugni_end_quiet(ugni_bad(GNI_RC_NOT_DONE, "the reduction is not over"));
	if (kgni_ce_status(control) || kgni_ce_fpe(control))
		return ugni_end(ugni_bad(GNI_RC_TRANSACTION_ERROR, "status %u, exceptions 0x%x",
					 kgni_ce_status(control), kgni_ce_fpe(control)));
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC uint64_t gni_ce_res_get_status(gni_ce_result_t *result)
{
	return kgni_ce_status(control_of(result));
}

UGNI_PUBLIC uint64_t gni_ce_res_status_ok(gni_ce_result_t *result)
{
	return !kgni_ce_status(control_of(result));
}

UGNI_PUBLIC uint64_t gni_ce_res_get_fpe(gni_ce_result_t *result)
{
	return kgni_ce_fpe(control_of(result));
}

UGNI_PUBLIC uint64_t gni_ce_res_get_red_id(gni_ce_result_t *result)
{
	return kgni_ce_red_id(control_of(result));
}
