// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests: the transactions of a completion queue whose events are still to
 * come. An event carries a transaction id, the index of a request and its
 * generation, so an old event finds no request.
 *
 * The table grows in chunks and chunks never move: 256 requests first, then
 * each time as many as there are. All calls are made under the queue's lock.
 * Each is used once before one is used again, so that generations last.
 */
#include <stdlib.h>

#include "ugni.h"

/* Which chunk has a request, and where that chunk begins. */
static u32 chunk_of(u32 index, u32 *first)
{
	u32 chunk;

	if (index < UGNI_REQ_FIRST) {
		*first = 0;
		return 0;
	}
	chunk = 32 - UGNI_REQ_FIRST_BITS - (u32)__builtin_clz(index);
	*first = UGNI_REQ_FIRST << (chunk - 1);
	return chunk;
}

static u32 chunk_size(u32 chunk)
{
	return chunk ? UGNI_REQ_FIRST << (chunk - 1) : UGNI_REQ_FIRST;
}

void ugni_reqs_init(struct ugni_reqs *t)
{
	t->used = 0;
	t->free = NULL;
	t->free_end = NULL;
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

/* ugni_req_at() beyond the first chunk. */
struct ugni_req *ugni_req_far(const struct ugni_reqs *t, u32 index)
{
	u32 first, chunk = chunk_of(index, &first);

	return &t->chunk[chunk][index - first];
}

/* Add a chunk of free requests. */
static gni_return_t grow(struct ugni_reqs *t)
{
	u32 first, chunk, i;
	struct ugni_req *r;

	if (t->used == UGNI_REQ_MAX)
		return GNI_RC_ERROR_RESOURCE;
	chunk = chunk_of(t->used, &first);
	r = calloc(chunk_size(chunk), sizeof(*r));
	if (!r)
		return GNI_RC_ERROR_NOMEM;
	t->chunk[chunk] = r;
	for (i = 0; i < chunk_size(chunk); i++) {
		r[i].id = t->used + i;
		if (i)
			r[i - 1].next = &r[i];
	}
	if (t->free_end)
		t->free_end->next = r;
	else
		t->free = r;
	t->free_end = &r[i - 1];
	t->used += i;
	return GNI_RC_SUCCESS;
}

/**
 * ugni_req_get - begin a request
 * @t: table
 * @smsg: it is for a short message
 * @req: out: the request; the caller fills in the rest
 * @tid: out: its transaction id
 *
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE with UGNI_REQ_MAX - 1 in use;
 * GNI_RC_ERROR_NOMEM.
 */
gni_return_t ugni_req_get(struct ugni_reqs *t, bool smsg, struct ugni_req **req, u32 *tid)
{
	struct ugni_req *r = ugni_req_take(t, smsg);
	gni_return_t rc;

	if (!r) {
		rc = grow(t);
		if (rc != GNI_RC_SUCCESS)
			return rc;
		r = ugni_req_take(t, smsg);
	}
	*req = r;
	*tid = ugni_req_tid(r);
	return GNI_RC_SUCCESS;
}

/* Return: the request that a transaction id names, NULL if it lives no more. */
struct ugni_req *ugni_req_find(const struct ugni_reqs *t, u32 tid, bool smsg)
{
	struct ugni_req *r = ugni_req_at(t, tid & (UGNI_REQ_MAX - 1));

	return r && r->live && r->smsg == smsg && ugni_req_tid(r) == tid ? r : NULL;
}

/* End a live request. */
void ugni_req_put(struct ugni_reqs *t, struct ugni_req *r)
{
	free(r->copy);
	r->copy = NULL;
	r->descr = NULL;
	r->ep = NULL;
	ugni_req_drop(t, r);
}
