/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each kind of post needs and demands: one table for driver, library,
 * tests and documentation.
 *
 * Gets need a remote address and a length that are multiples of 4; any local
 * address will do. Puts have no rule. An AMO needs a remote address, a length
 * and, if it fetches, a local address that are multiples of its operand. An
 * FMA put may be empty, nothing else may.
 *
 * A flagged response is one packet: the data, at most 60 bytes, and the 4-byte
 * flag behind it lie in one line of 64 bytes of local memory, at a multiple
 * of 4.
 */
#ifndef _KGNI_CORE_RULES_H
#define _KGNI_CORE_RULES_H

#include "core.h"
#include "amo.h"
#include <gni/kgni.h>

/* The same numbers as gni_post_type_t. */
enum kgni_post_type {
	KGNI_POST_RDMA_PUT = 1,
	KGNI_POST_RDMA_GET = 2,
	KGNI_POST_FMA_PUT = 3,
	KGNI_POST_FMA_PUT_W_SYNCFLAG = 4,
	KGNI_POST_FMA_GET = 5,
	KGNI_POST_AMO = 6,
	KGNI_POST_CQWRITE = 7,
	KGNI_POST_FMA_GET_W_FLAG = 9,
	KGNI_POST_AMO_W_FLAG = 10,
	KGNI_POST_TYPES
};

#define KGNI_CQMODE_LOCAL	0x1
#define KGNI_CQMODE_GLOBAL	0x2
#define KGNI_CQMODE_REMOTE	0x4
#define KGNI_CQMODE_ALL		0x7
#define KGNI_RDMA_FENCE		0x2
#define KGNI_RDMA_GETWC_DIS	0x4
#define KGNI_RDMA_USER		(KGNI_RDMA_FENCE | KGNI_RDMA_GETWC_DIS)
#define KGNI_DLV_NO_ADAPT	0x001
#define KGNI_DLV_ORDERED_TAIL	0x100
#define KGNI_DLV_ALL		0x1ff

#define KGNI_FLAG_SIZE		4	/* of a flagged response */
#define KGNI_LINE_SIZE		64

/**
 * struct kgni_post_rule - what a post type needs
 * @valid: there is such a type
 * @bte: it goes to a BTE channel
 * @amo: it is an AMO
 * @flag: its response is flagged
 * @local: the local handle is used
 * @local_write: local memory is written
 * @remote_write: remote memory is written
 * @empty: length 0 is fine
 * @remote_align: remote address is a multiple of this
 * @length_align: length is a multiple of this
 */
struct kgni_post_rule {
	bool valid;
	bool bte;
	bool amo;
	bool flag;
	bool local;
	bool local_write;
	bool remote_write;
	bool empty;
	u8 remote_align;
	u8 length_align;
};

enum kgni_rule {
	KGNI_RULE_OK,
	KGNI_RULE_PARAM,	/* GNI_RC_INVALID_PARAM */
	KGNI_RULE_ALIGN,	/* GNI_RC_ALIGNMENT_ERROR */
};

/* What is wrong with a post. */
enum kgni_flaw {
	KGNI_FLAW_NONE,
	KGNI_FLAW_TYPE,		/* there is no such type */
	KGNI_FLAW_CQ_MODE,	/* unknown bits */
	KGNI_FLAW_DLVR_MODE,	/* unknown bits */
	KGNI_FLAW_RDMA_MODE,	/* unknown bits */
	KGNI_FLAW_RANGE,	/* the remote range wraps around */
	KGNI_FLAW_EMPTY,	/* length is 0 */
	KGNI_FLAW_AMO_CMD,	/* there is no such command */
	KGNI_FLAW_NO_RESPONSE,	/* it brings nothing back that a flag could follow */
	KGNI_FLAW_FLAG_LENGTH,	/* longer than a flagged response can be */
	KGNI_FLAW_ALIGN,	/* from here on: not a multiple of what it must be */
	KGNI_FLAW_REMOTE_ADDR = KGNI_FLAW_ALIGN,
	KGNI_FLAW_LENGTH,
	KGNI_FLAW_LOCAL_ADDR,
	KGNI_FLAW_SYNC_ADDR,
	KGNI_FLAW_FLAG_LINE,	/* response and flag are not inside one line */
};

static inline const struct kgni_post_rule *kgni_post_rule(u32 type)
{
	static const struct kgni_post_rule table[KGNI_POST_TYPES] = {
		[KGNI_POST_RDMA_PUT] = { .valid = 1, .bte = 1, .local = 1, .remote_write = 1,
					 .remote_align = 1, .length_align = 1 },
		[KGNI_POST_RDMA_GET] = { .valid = 1, .bte = 1, .local = 1, .local_write = 1,
					 .remote_align = 4, .length_align = 4 },
		[KGNI_POST_FMA_PUT] = { .valid = 1, .remote_write = 1, .empty = 1,
					.remote_align = 1, .length_align = 1 },
		[KGNI_POST_FMA_PUT_W_SYNCFLAG] = { .valid = 1, .remote_write = 1, .empty = 1,
						   .remote_align = 1, .length_align = 1 },
		[KGNI_POST_FMA_GET] = { .valid = 1, .local = 1, .local_write = 1,
					.remote_align = 4, .length_align = 4 },
		/* AMO: alignment by the operand; local side only if it fetches. */
		[KGNI_POST_AMO] = { .valid = 1, .amo = 1, .remote_write = 1,
				    .remote_align = 1, .length_align = 1 },
		[KGNI_POST_CQWRITE] = { .valid = 1, .empty = 1,
					.remote_align = 1, .length_align = 1 },
		[KGNI_POST_FMA_GET_W_FLAG] = { .valid = 1, .flag = 1, .local = 1, .local_write = 1,
					       .remote_align = 4, .length_align = 4 },
		[KGNI_POST_AMO_W_FLAG] = { .valid = 1, .amo = 1, .flag = 1, .local = 1,
					   .local_write = 1, .remote_write = 1,
					   .remote_align = 1, .length_align = 1 },
	};

	return type < KGNI_POST_TYPES && table[type].valid ? &table[type] : NULL;
}

/* Alignment of what an AMO works on. */
static inline enum kgni_flaw kgni_amo_flaw(const struct kgni_ioc_post *a,
					   const struct kgni_amo *amo)
{
	if (a->remote_addr % amo->size)
		return KGNI_FLAW_REMOTE_ADDR;
	if (a->length % amo->size)
		return KGNI_FLAW_LENGTH;
	if (amo->fetch && a->local_addr % amo->size)
		return KGNI_FLAW_LOCAL_ADDR;
	return KGNI_FLAW_NONE;
}

/* Where a flagged response, of no more than the most, comes to lie. */
static inline enum kgni_flaw kgni_flag_flaw(const struct kgni_ioc_post *a, u32 *multiple)
{
	*multiple = KGNI_FLAG_SIZE;
	if (a->local_addr % KGNI_FLAG_SIZE)
		return KGNI_FLAW_LOCAL_ADDR;
	if (a->local_addr % KGNI_LINE_SIZE + a->length + KGNI_FLAG_SIZE > KGNI_LINE_SIZE)
		return KGNI_FLAW_FLAG_LINE;
	return KGNI_FLAW_NONE;
}

/**
 * kgni_post_flaw - find what is wrong with a post
 * @a: the post; rdma_mode is looked at for RDMA only, sync_addr for a put with flag,
 *	amo_cmd for an AMO, addresses and length for all but a CQ write, the rest never
 * @amo: out: the command, decoded, if it is an AMO
 * @multiple: out: what the field must be a multiple of, for flaws from
 *	KGNI_FLAW_ALIGN on
 *
 * Return: the first flaw, KGNI_FLAW_NONE if it keeps the rules.
 */
static inline enum kgni_flaw kgni_post_flaw(const struct kgni_ioc_post *a, struct kgni_amo *amo,
					    u32 *multiple)
{
	const struct kgni_post_rule *r = kgni_post_rule(a->type);
	enum kgni_flaw flaw = KGNI_FLAW_NONE;

	if (!r)
		return KGNI_FLAW_TYPE;
	if (a->cq_mode & ~KGNI_CQMODE_ALL)
		return KGNI_FLAW_CQ_MODE;
	if (a->dlvr_mode & ~KGNI_DLV_ALL)
		return KGNI_FLAW_DLVR_MODE;
	if (r->bte && a->rdma_mode & ~KGNI_RDMA_USER)
		return KGNI_FLAW_RDMA_MODE;
	if (a->type == KGNI_POST_CQWRITE)
		return KGNI_FLAW_NONE;
	if (a->remote_addr + a->length < a->remote_addr)
		return KGNI_FLAW_RANGE;
	if (!a->length && !r->empty)
		return KGNI_FLAW_EMPTY;
	if (r->amo && !kgni_amo_decode(a->amo_cmd, amo))
		return KGNI_FLAW_AMO_CMD;
	if (r->amo && r->flag && !amo->fetch)
		return KGNI_FLAW_NO_RESPONSE;
	if (r->flag && a->length > KGNI_LINE_SIZE - KGNI_FLAG_SIZE)
		return KGNI_FLAW_FLAG_LENGTH;
	if (r->amo) {
		*multiple = amo->size;
		flaw = kgni_amo_flaw(a, amo);
	}
	if (flaw == KGNI_FLAW_NONE && r->flag)
		flaw = kgni_flag_flaw(a, multiple);
	if (flaw != KGNI_FLAW_NONE)
		return flaw;
	*multiple = 8;
	if (a->type == KGNI_POST_FMA_PUT_W_SYNCFLAG && a->sync_addr % 8)
		return KGNI_FLAW_SYNC_ADDR;
	*multiple = r->remote_align;
	if (a->remote_addr % r->remote_align)
		return KGNI_FLAW_REMOTE_ADDR;
	*multiple = r->length_align;
	if (a->length % r->length_align)
		return KGNI_FLAW_LENGTH;
	return KGNI_FLAW_NONE;
}

/**
 * kgni_post_check - does a post keep the rules
 * @a: the post, as for kgni_post_flaw()
 * @amo: out: the command, decoded, if it is an AMO
 *
 * Return: what is wrong, KGNI_RULE_OK for nothing.
 */
static inline enum kgni_rule kgni_post_check(const struct kgni_ioc_post *a, struct kgni_amo *amo)
{
	u32 multiple;
	enum kgni_flaw flaw = kgni_post_flaw(a, amo, &multiple);

	if (flaw == KGNI_FLAW_NONE)
		return KGNI_RULE_OK;
	return flaw < KGNI_FLAW_ALIGN ? KGNI_RULE_PARAM : KGNI_RULE_ALIGN;
}

#endif /* _KGNI_CORE_RULES_H */
