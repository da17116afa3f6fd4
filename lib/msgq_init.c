// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shared message queues: joining and leaving. An instance has a number in the
 * region, and registers the mailboxes with a queue of its own.
 */
#include <limits.h>
#include <stdlib.h>

#include "msgq.h"

#define POOL_MAX	65536
#define CQ_MAX		(1U << 20)
/* One put at a time has its event there. */
#define TOLD_ENTRIES	4

/* --- attributes ------------------------------------------------------------------ */

static bool attrs_read(const gni_msgq_attr_t *a, u32 *attrs, struct kgni_msgq_shape *shape)
{
	attrs[0] = a->max_msg_sz;
	attrs[1] = a->smsg_q_sz;
	attrs[2] = a->rcv_pool_sz;
	attrs[3] = a->num_msgq_eps;
	attrs[4] = a->nloc_insts;
	attrs[5] = a->modes;
	attrs[6] = a->rcv_cq_sz;
	return kgni_msgq_shape_init(shape, a->max_msg_sz, a->smsg_q_sz, a->num_msgq_eps,
				    a->nloc_insts) &&
	       a->rcv_pool_sz && a->rcv_pool_sz <= POOL_MAX && a->rcv_cq_sz &&
	       a->rcv_cq_sz <= CQ_MAX && !(a->modes & ~GNI_MSGQ_MODE_BLOCKING) &&
	       shape->size <= UINT_MAX;
}

static gni_return_t attrs_bad(const gni_msgq_attr_t *a)
{
	return ugni_bad(GNI_RC_INVALID_PARAM,
			"max_msg_sz is %u, smsg_q_sz %u, rcv_pool_sz %u, num_msgq_eps %u, nloc_insts %u, modes 0x%x, rcv_cq_sz %u",
			a->max_msg_sz, a->smsg_q_sz, a->rcv_pool_sz, a->num_msgq_eps,
			a->nloc_insts, a->modes, a->rcv_cq_sz);
}

UGNI_PUBLIC gni_return_t GNI_MsgqSize(gni_msgq_attr_t *attrs, uint32_t *size)
{
	struct kgni_msgq_shape shape;
	u32 values[KGNI_MSGQ_ATTRS];
	u64 bytes;

	if (!attrs)
		return ugni_end(ugni_null(attrs));
	if (!size)
		return ugni_end(ugni_null(size));
	if (!attrs_read(attrs, values, &shape))
		return ugni_end(attrs_bad(attrs));
	bytes = kgni_msgq_round(shape.size, ugni_region_page());
	if (bytes > UINT_MAX)
		return ugni_end(attrs_bad(attrs));
	*size = (u32)bytes;
	return GNI_RC_SUCCESS;
}

/* --- the instance's place in the region ---------------------------------------------- */

static bool inst_there(struct gni_msgq *q, u32 i)
{
	return core_load_acquire(&kgni_msgq_inst(&q->view, i)->used) &&
	       ugni_region_alive(q->region, i);
}

static bool attrs_match(const struct gni_msgq *q, const struct kgni_msgq_head *head)
{
	u32 i;

	if (core_load_acquire(&head->magic) != KGNI_MSGQ_MAGIC)
		return false;
	for (i = 0; i < KGNI_MSGQ_ATTRS; i++)
		if (core_load(&head->attrs[i]) != q->attrs[i])
			return false;
	return true;
}

/* With the others excluded: may we join those who are there, or be the first? */
static gni_return_t join(struct gni_msgq *q)
{
	struct kgni_msgq_head *head = kgni_msgq_head(&q->view);
	u32 i;

	if (q->region->fresh) {
		memcpy(head->attrs, q->attrs, sizeof(head->attrs));
		core_store_release(&head->magic, KGNI_MSGQ_MAGIC);
		return GNI_RC_SUCCESS;
	}
	if (!attrs_match(q, head))
		return ugni_bad(GNI_RC_INVALID_STATE, "other instances gave other attributes");
	if (core_load(&head->leaving))
		return ugni_bad(GNI_RC_INVALID_STATE, "other instances are leaving already");
	for (i = 0; i < q->view.shape.insts; i++)
		if (core_load(&kgni_msgq_inst(&q->view, i)->id) == q->nic->inst_id &&
		    inst_there(q, i))
			return ugni_bad(GNI_RC_INVALID_STATE, "instance 0x%x is there already",
					q->nic->inst_id);
	return GNI_RC_SUCCESS;
}

/* A place that nobody has, or whose owner died. */
static gni_return_t claim(struct gni_msgq *q)
{
	u32 i;

	for (i = 0; i < q->view.shape.insts; i++) {
		if (!ugni_region_claim(q->region, i))
			continue;
		q->inst = i;
		q->epoch = core_load(&kgni_msgq_inst(&q->view, i)->epoch) + 1;
		return GNI_RC_SUCCESS;
	}
	return ugni_bad(GNI_RC_INVALID_STATE, "there are nloc_insts instances, %u, already",
			q->view.shape.insts);
}

/* From here on the others know us. */
static void appear(struct gni_msgq *q)
{
	struct kgni_msgq_inst *me = kgni_msgq_inst(&q->view, q->inst);
	u32 i, count = 0;

	core_store(&me->used, 0);
	core_store(&me->id, q->nic->inst_id);
	core_store(&me->handle[0], q->handle.qword1);
	core_store(&me->handle[1], q->handle.qword2);
	core_store_release(&me->epoch, q->epoch);
	core_store_release(&me->used, 1);
	for (i = 0; i < q->view.shape.insts; i++)
		count += i == q->inst || inst_there(q, i);
	if (count == q->view.shape.insts)
		core_store(&kgni_msgq_head(&q->view)->complete, 1);
}

/* --- what the driver has for it --------------------------------------------------------- */

static void drop_resources(struct gni_msgq *q)
{
	struct kgni_ioc_mem_deregister arg = { { q->handle.qword1, q->handle.qword2 } };

	if (q->handle.qword1 || q->handle.qword2)
		ugni_nic_call(q->nic, KGNI_IOC_MEM_DEREGISTER, &arg);
	if (q->rcv)
		GNI_CqDestroy(q->rcv);
	if (q->told)
		GNI_CqDestroy(q->told);
}

static gni_return_t get_resources(struct gni_msgq *q)
{
	gni_cq_mode_t mode = q->attrs[5] & GNI_MSGQ_MODE_BLOCKING ? GNI_CQ_BLOCKING :
								    GNI_CQ_NOBLOCK;
	struct kgni_ioc_mem_register arg = {
		.addr = (uintptr_t)q->view.mem + q->view.shape.mboxes_at,
		.length = kgni_msgq_registered(&q->view.shape),
		.vmdh_index = UGNI_NONE,
	};
	gni_return_t rc;

	rc = GNI_CqCreate(q->nic, TOLD_ENTRIES, 0, GNI_CQ_NOBLOCK, NULL, NULL, &q->told);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CqCreate(q->nic, q->attrs[6], 0, mode, NULL, NULL, &q->rcv);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	arg.cq = q->rcv->id;
	rc = ugni_nic_call(q->nic, KGNI_IOC_MEM_REGISTER, &arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_more(rc, "registering %llu bytes of the shared region",
				 (unsigned long long)arg.length);
	q->handle.qword1 = arg.handle.qword1;
	q->handle.qword2 = arg.handle.qword2;
	return GNI_RC_SUCCESS;
}

/* The call has no code for what other calls call a resource. */
static gni_return_t resource_rc(gni_return_t rc)
{
	return rc == GNI_RC_ERROR_RESOURCE ? GNI_RC_ERROR_NOMEM : rc;
}

/* --- joining ------------------------------------------------------------------------------ */

static void free_parts(struct gni_msgq *q)
{
	free(q->pool);
	free(q->last);
	free(q->way);
	free(q->region);
}

static gni_return_t get_parts(struct gni_msgq *q)
{
	q->pool_size = q->attrs[2];
	q->pool = calloc(q->pool_size, sizeof(*q->pool));
	q->last = calloc(q->view.shape.conns, sizeof(*q->last));
	q->way = calloc(q->view.shape.conns, sizeof(*q->way));
	q->region = malloc(sizeof(*q->region));
	if (q->pool && q->last && q->way && q->region)
		return GNI_RC_SUCCESS;
	free_parts(q);
	return ugni_nomem("message queue");
}

/* The region is open, and the others are excluded. */
static gni_return_t settle_in(struct gni_msgq *q)
{
	gni_return_t rc;

	ugni_msgq_view_init(q);
	rc = join(q);
	if (rc == GNI_RC_SUCCESS)
		rc = claim(q);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = get_resources(q);
	if (rc != GNI_RC_SUCCESS) {
		drop_resources(q);
		return resource_rc(rc);
	}
	appear(q);
	return GNI_RC_SUCCESS;
}

static gni_return_t msgq_init(struct gni_msgq *q)
{
	gni_return_t rc = get_parts(q);

	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = ugni_region_open(q->region, q->nic, q->view.shape.size);
	if (rc != GNI_RC_SUCCESS) {
		free_parts(q);
		return rc;
	}
	rc = settle_in(q);
	if (rc == GNI_RC_SUCCESS) {
		ugni_region_unlock(q->region);
		return rc;
	}
	ugni_region_close(q->region, true);
	free_parts(q);
	return rc;
}

static gni_return_t init_checked(struct gni_nic *nic, gni_msgq_rcv_cb_func *rcv_cb, void *cb_data,
				 const gni_msgq_attr_t *attrs, gni_msgq_handle_t *msgq_hndl)
{
	struct gni_msgq *q = ugni_alloc(&ugni_msgqs);
	gni_return_t rc;
	int state;

	if (!q)
		return ugni_nomem("message queue");
	q->nic = nic;
	q->rcv_cb = rcv_cb;
	q->cb_data = cb_data;
	if (attrs_read(attrs, q->attrs, &q->view.shape)) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
		rc = msgq_init(q);
		pthread_setcancelstate(state, NULL);
	} else {
		rc = attrs_bad(attrs);
	}
	if (rc != GNI_RC_SUCCESS) {
		ugni_free(&ugni_msgqs, q);
		return rc;
	}
	ugni_publish(&ugni_msgqs, q);
	*msgq_hndl = q;
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_MsgqInit(gni_nic_handle_t nic_hndl, gni_msgq_rcv_cb_func *rcv_cb,
				      void *cb_data, gni_cq_handle_t snd_cq,
				      gni_msgq_attr_t *attrs, gni_msgq_handle_t *msgq_hndl)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);
	struct gni_cq *cq = ugni_cq(snd_cq);

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!attrs)
		return ugni_end(ugni_null(attrs));
	if (!msgq_hndl)
		return ugni_end(ugni_null(msgq_hndl));
	/* Endpoints have queues for sends, so one that needs none may give none. */
	if (snd_cq && (!cq || cq->nic != nic))
		return ugni_end(ugni_no("queue of the NIC handle", snd_cq));
	if (ugni_away(nic))
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY));
	return ugni_end(init_checked(nic, rcv_cb, cb_data, attrs, msgq_hndl));
}

/* --- leaving --------------------------------------------------------------------------------- */

/* Sends whose events were not taken, on whatever queues. */
static bool owes_events(const struct gni_msgq *q)
{
	struct gni_cq *cq;
	u32 i = 0;

	while ((cq = ugni_next(&ugni_cqs, &i)))
		if (core_load(&cq->nic) == q->nic && ugni_cq_owes_msgq(cq, NULL))
			return true;
	return false;
}

static void return_all(struct gni_msgq *q)
{
	u32 c;

	for (c = 0; c < q->view.shape.conns; c++)
		if (core_load(&kgni_msgq_conn(&q->view, c)->state) == KGNI_MSGQ_CONNECTED)
			ugni_msgq_give_back(q, c);
}

/* Called with the message queue locked, and the others excluded if @locked; unlocks it. */
static void msgq_end(struct gni_msgq *q, bool locked)
{
	ugni_retire(&ugni_msgqs, q);
	if (!ugni_away(q->nic)) {
		core_store(&kgni_msgq_head(&q->view)->leaving, 1);
		return_all(q);
	}
	drop_resources(q);
	/* At a checkpoint the file may be gone, and its number another's. */
	if (!ugni_away(q->nic)) {
		core_store_release(&kgni_msgq_inst(&q->view, q->inst)->used, 0);
		ugni_region_close(q->region, locked);
	}
	free_parts(q);
	ugni_unlock(q);
	ugni_free(&ugni_msgqs, q);
}

static gni_return_t msgq_release(gni_msgq_handle_t msgq_hndl)
{
	struct gni_msgq *q = ugni_msgq_lock(msgq_hndl);

	if (!q)
		return ugni_no("message queue", msgq_hndl);
	if (ugni_away(q->nic)) {
		msgq_end(q, false);
		return GNI_RC_SUCCESS;
	}
	if (owes_events(q)) {
		ugni_unlock(q);
		return ugni_bad(GNI_RC_NOT_DONE, "events of sends were not taken");
	}
	if (!ugni_region_lock(q->region)) {
		ugni_unlock(q);
		return ugni_bad(GNI_RC_NOT_DONE, "another instance does not let go");
	}
	msgq_end(q, true);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_MsgqRelease(gni_msgq_handle_t msgq_hndl)
{
	gni_return_t rc;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = msgq_release(msgq_hndl);
	pthread_setcancelstate(state, NULL);
	return ugni_end(rc);
}

/* The NIC handle goes, and its message queues with it. */
void ugni_msgq_release_all(const struct gni_nic *nic)
{
	struct gni_msgq *q;
	u32 i = 0;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while ((q = ugni_next(&ugni_msgqs, &i))) {
		if (core_load(&q->nic) != nic || !ugni_msgq_lock(q))
			continue;
		if (q->nic == nic)
			msgq_end(q, !ugni_away(nic) && ugni_region_lock(q->region));
		else
			ugni_unlock(q);
	}
	pthread_setcancelstate(state, NULL);
}

/* The parent's message queues are not the child's. */
void ugni_msgq_forked(void)
{
	struct gni_msgq *q;
	u32 i;

	for (i = 0; (q = ugni_next(&ugni_msgqs, &i)); )
		if (!ugni_away(q->nic))
			ugni_region_forked(q->region);
}

static bool idle(const struct gni_msgq *q)
{
	return !owes_events(q) && !q->pool_count && !q->scan && !ugni_cq_ready(q->rcv);
}

UGNI_PUBLIC gni_return_t GNI_MsgqIdle(gni_msgq_handle_t msgq_hndl)
{
	struct gni_msgq *q = ugni_msgq_lock(msgq_hndl);
	bool is_idle;

	if (!q)
		return ugni_end(ugni_no("message queue", msgq_hndl));
	is_idle = idle(q);
	ugni_unlock(q);
	if (is_idle)
		return GNI_RC_SUCCESS;
	return ugni_end(ugni_bad(GNI_RC_NOT_DONE, "messages are under way"));
}
