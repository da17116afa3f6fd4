// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests: the transactions of a completion queue whose events are still to
 * come. An event carries a transaction id, the index of a request and its
 * generation, so an old event finds no request.
 *
 * The table grows in chunks and chunks never move: 64 requests first, then
 * each time as many as there are. All calls are made under the queue's lock.
 */
#include <stdlib.h>

#include "ugni.h"

#define FIRST_BITS	6
#define FIRST		(1U << FIRST_BITS)

static u32 tid_mask(bool smsg)
{
	return (1U << (smsg ? KGNI_CQE_SMSG_TID_BITS : KGNI_CQE_TID_BITS)) - 1;
}

static u32 req_tid(u32 index, u16 gen, bool smsg)
{
	return (index | (u32)gen << UGNI_REQ_INDEX_BITS) & tid_mask(smsg);
}

/* The transaction id of the request with an index. */
u32 ugni_req_tid(const struct ugni_req *r, u32 index)
{
	return req_tid(index, r->gen, r->smsg);
}

static u32 tid_index(u32 tid)
{
	return tid & (UGNI_REQ_MAX - 1);
}

/* Which chunk has a request, and where that chunk begins. */
static u32 chunk_of(u32 index, u32 *first)
{
	u32 chunk;

	if (index < FIRST) {
		*first = 0;
		return 0;
	}
	chunk = 32 - FIRST_BITS - (u32)__builtin_clz(index);
	*first = FIRST << (chunk - 1);
	return chunk;
}

static u32 chunk_size(u32 chunk)
{
	return chunk ? FIRST << (chunk - 1) : FIRST;
}

void ugni_reqs_init(struct ugni_reqs *t)
{
	t->used = 0;
	t->free_head = UGNI_NONE;
	t->free_tail = UGNI_NONE;
}

void ugni_reqs_destroy(struct ugni_reqs *t)
{
	struct ugni_req *r;
	u32 i;

	for (i = 0; (r = ugni_req_at(t, i)); i++)
		free(r->copy);
	for (i = 0; i < UGNI_REQ_CHUNKS; i++) {
		free(t->chunk[i]);
		t->chunk[i] = NULL;
	}
	ugni_reqs_init(t);
}

/* Return: the request, in use or not; NULL if there never was one. */
struct ugni_req *ugni_req_at(const struct ugni_reqs *t, u32 index)
{
	u32 first, chunk;

	if (index >= t->used)
		return NULL;
	chunk = chunk_of(index, &first);
	return &t->chunk[chunk][index - first];
}

static gni_return_t grow(struct ugni_reqs *t, u32 *index)
{
	u32 first, chunk;

	if (t->used == UGNI_REQ_MAX)
		return GNI_RC_ERROR_RESOURCE;
	chunk = chunk_of(t->used, &first);
	if (!t->chunk[chunk])
		t->chunk[chunk] = calloc(chunk_size(chunk), sizeof(struct ugni_req));
	if (!t->chunk[chunk])
		return GNI_RC_ERROR_NOMEM;
	*index = t->used++;
	return GNI_RC_SUCCESS;
}

/**
 * ugni_req_get - begin a request
 * @t: table
 * @smsg: it is for a short message
 * @req: out: the request; the caller fills in the rest
 * @tid: out: its transaction id
 *
 * The first requests are all used once before one is used again, so that
 * generations last.
 *
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE with UGNI_REQ_MAX in use;
 * GNI_RC_ERROR_NOMEM.
 */
gni_return_t ugni_req_get(struct ugni_reqs *t, bool smsg, struct ugni_req **req, u32 *tid)
{
	struct ugni_req *r;
	gni_return_t rc;
	u32 index;

	if (t->free_head == UGNI_NONE || t->used < FIRST) {
		rc = grow(t, &index);
		if (rc != GNI_RC_SUCCESS)
			return rc;
		r = ugni_req_at(t, index);
	} else {
		index = t->free_head;
		r = ugni_req_at(t, index);
		t->free_head = r->next;
		if (t->free_head == UGNI_NONE)
			t->free_tail = UGNI_NONE;
	}
	r->live = true;
	r->smsg = smsg;
	r->tries = 0;
	r->seen = 0;
	*req = r;
	*tid = req_tid(index, r->gen, smsg);
	return GNI_RC_SUCCESS;
}

/* Return: the request that a transaction id names, NULL if it lives no more. */
struct ugni_req *ugni_req_find(const struct ugni_reqs *t, u32 tid, bool smsg)
{
	u32 index = tid_index(tid);
	struct ugni_req *r = ugni_req_at(t, index);

	if (!r || !r->live || r->smsg != smsg || req_tid(index, r->gen, smsg) != tid)
		return NULL;
	return r;
}

/* End a live request, named by its index or its transaction id. */
void ugni_req_put(struct ugni_reqs *t, u32 index)
{
	struct ugni_req *r;

	index = tid_index(index);
	r = ugni_req_at(t, index);
	free(r->copy);
	r->copy = NULL;
	r->live = false;
	r->descr = NULL;
	r->ep = NULL;
	r->gen++;
	r->next = UGNI_NONE;
	if (t->free_tail == UGNI_NONE)
		t->free_head = index;
	else
		ugni_req_at(t, t->free_tail)->next = index;
	t->free_tail = index;
}
