/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the descriptor of a client, program or kernel module, to what the driver
 * takes. All that a post needs is read from the descriptor once, and nothing
 * else is read: fields that a type does not use are the client's, and may be
 * garbage.
 */
#ifndef _KGNI_CORE_DESCR_H
#define _KGNI_CORE_DESCR_H

#include "core.h"
#include "rules.h"
#include <gni/kgni.h>
#include <gni_pub.h>

static inline struct kgni_mem_handle kgni_descr_handle(const gni_mem_handle_t *h)
{
	return (struct kgni_mem_handle){ .qword1 = h->qword1, .qword2 = h->qword2 };
}

static inline void kgni_descr_local(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	arg->local_addr = d->local_addr;
	arg->local = kgni_descr_handle(&d->local_mem_hndl);
}

static inline void kgni_descr_remote(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	arg->remote_addr = d->remote_addr;
	arg->remote = kgni_descr_handle(&d->remote_mem_hndl);
	arg->length = d->length;
}

/* An unknown command is for the driver to refuse. */
static inline void kgni_descr_amo(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d)
{
	struct kgni_amo amo;

	kgni_descr_remote(arg, d);
	arg->amo_cmd = d->amo_cmd;
	if (!kgni_amo_decode(arg->amo_cmd, &amo))
		return;
	arg->operand[0] = d->first_operand;
	if (amo.op == KGNI_AMO_CSWAP || amo.op == KGNI_AMO_AX)
		arg->operand[1] = d->second_operand;
	if (amo.fetch)
		kgni_descr_local(arg, d);
}

/**
 * kgni_descr_read - read from a descriptor what its type uses
 * @arg: out: zero before, but for its type
 * @d: the descriptor
 * @cq_hndl: in: queue of the endpoint; out: queue for source events
 *
 * Return: false for a type that is not built.
 */
static inline bool kgni_descr_read(struct kgni_ioc_post *arg, const gni_post_descriptor_t *d,
				   gni_cq_handle_t *cq_hndl)
{
	gni_cq_handle_t src_cq = NULL;

	switch (arg->type) {
	case GNI_POST_RDMA_PUT:
	case GNI_POST_RDMA_GET:
		kgni_descr_local(arg, d);
		kgni_descr_remote(arg, d);
		arg->rdma_mode = d->rdma_mode;
		src_cq = d->src_cq_hndl;
		break;
	case GNI_POST_FMA_PUT:
	case GNI_POST_FMA_PUT_W_SYNCFLAG:
		arg->local_addr = d->local_addr;
		kgni_descr_remote(arg, d);
		break;
	case GNI_POST_FMA_GET:
	case GNI_POST_FMA_GET_W_FLAG:
		kgni_descr_local(arg, d);
		kgni_descr_remote(arg, d);
		break;
	case GNI_POST_AMO:
	case GNI_POST_AMO_W_FLAG:
		kgni_descr_amo(arg, d);
		break;
	case GNI_POST_CQWRITE:
		arg->remote = kgni_descr_handle(&d->remote_mem_hndl);
		arg->cqwrite_value = d->cqwrite_value;
		src_cq = d->src_cq_hndl;
		break;
	default:
		return false;
	}
	if (arg->type == GNI_POST_FMA_PUT_W_SYNCFLAG)
		arg->sync_addr = d->sync_flag_addr;
	if (arg->type == GNI_POST_FMA_PUT_W_SYNCFLAG || kgni_post_rule(arg->type)->flag)
		arg->sync_value = d->sync_flag_value;
	arg->cq_mode = d->cq_mode;
	arg->dlvr_mode = d->dlvr_mode;
	if (src_cq)
		*cq_hndl = src_cq;
	return true;
}

#endif /* _KGNI_CORE_DESCR_H */
