// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream of blocks over a connection. One side posts, the other one's memory
 * is read or written; each direction has its two functions:
 *
 *	stream_push()	->	stream_sink()		puts
 *	stream_pull()	<-	stream_source()		gets
 *
 * Block n lives in slot n % depth of both data rings. The side that has the
 * bytes says BLOCK n when the other may use them, that one says FREE n when the
 * slot may be filled again: at most depth blocks are on the way. The side that
 * posts adds 1 to the other's counter for each block that it moved, before it
 * says so, and checks by the old value that none was lost or counted twice.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"

/* A block on its way, at the side that posts. */
struct slot {
	gni_post_descriptor_t data;
	gni_post_descriptor_t amo;
	bool moved;
};

/*
 * How far the side that posts has come, in blocks:
 * begun >= moved (in order) = counting >= counted >= freed.
 */
struct progress {
	struct slot *slots;
	uint64_t begun;
	uint64_t counting;
	uint64_t counted;
	uint64_t freed;
};

static int begin(struct stream *s, struct progress *p)
{
	s->blocks = s->size / s->c->block + !!(s->size % s->c->block);
	if (!p)
		return ST_OK;
	memset(p, 0, sizeof(*p));
	p->slots = calloc(s->c->depth, sizeof(*p->slots));
	if (!p->slots)
		return fault_set(&s->c->fault, ST_FAILED, "out of memory");
	return ST_OK;
}

static struct slot *slot_of(struct stream *s, struct progress *p, uint64_t n)
{
	return &p->slots[n % s->c->depth];
}

static uint32_t block_length(struct stream *s, uint64_t n)
{
	uint64_t left = s->size - n * s->c->block;

	return left < s->c->block ? (uint32_t)left : s->c->block;
}

static int say(struct stream *s, uint8_t tag, uint64_t n)
{
	struct msg m = { .tag = tag, .n = n, .word = block_length(s, n) };

	return conn_send(s->c, &m);
}

/* The message that is due is @tag for block @n, in order. */
static int check(struct stream *s, const struct msg *m, uint8_t tag, uint64_t n)
{
	if (m->tag == tag && m->n == n && n < s->blocks && m->word == block_length(s, n))
		return ST_OK;
	return fault_set(&s->c->fault, ST_PEER,
			 "the peer sent message %u for block %" PRIu64 ", due was %u for %" PRIu64,
			 m->tag, m->n, tag, n);
}

/* Starts to move block @n, to the peer or from it. */
static int move(struct stream *s, struct progress *p, uint64_t n, bool get)
{
	struct slot *slot = slot_of(s, p, n);
	struct conn *c = s->c;
	uint32_t length = block_length(s, n);

	slot->moved = false;
	slot->data = (gni_post_descriptor_t){
		.post_id = n,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.dlvr_mode = GNI_DLVMODE_PERFORMANCE,
		.local_addr = (uintptr_t)conn_slot(c, n),
		.local_mem_hndl = c->data.mdh,
		.remote_addr = conn_peer_slot(c, n),
		.remote_mem_hndl = c->peer.data_mdh,
		/* A get moves words; blocks have room for the odd bytes. */
		.length = get ? (length + 3) & ~3U : length,
	};
	if (get) {
		slot->data.type = s->fma ? GNI_POST_FMA_GET : GNI_POST_RDMA_GET;
	} else {
		slot->data.type = s->fma ? GNI_POST_FMA_PUT : GNI_POST_RDMA_PUT;
		slot->data.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	}
	return conn_post(c, &slot->data, (uint32_t)(n % c->depth));
}

/* Adds 1 to the peer's counter for block @n; its old value must be n. */
static int count(struct stream *s, struct progress *p, uint64_t n)
{
	struct slot *slot = slot_of(s, p, n);
	struct conn *c = s->c;

	slot->amo = (gni_post_descriptor_t){
		.type = GNI_POST_AMO,
		.post_id = n,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.amo_cmd = GNI_FMA_ATOMIC_FADD,
		.first_operand = 1,
		.local_addr = (uintptr_t)&conn_ctl(c)->result[n % c->depth],
		.local_mem_hndl = c->ctl.mdh,
		.remote_addr = c->peer.ctl_addr + offsetof(struct conn_ctl, counter),
		.remote_mem_hndl = c->peer.ctl_mdh,
		.length = sizeof(uint64_t),
	};
	return conn_post(c, &slot->amo, (uint32_t)(n % c->depth));
}

static int check_counted(struct stream *s, uint64_t n)
{
	uint64_t old = conn_ctl(s->c)->result[n % s->c->depth];

	if (old == n)
		return ST_OK;
	return fault_set(&s->c->fault, ST_FAILED,
			 "block %" PRIu64 " was counted when the peer's counter was %" PRIu64,
			 n, old);
}

/*
 * A post completed. Blocks are counted in order, each once the one before it
 * was; sets *@counted if one more is.
 */
static int completed(struct stream *s, struct progress *p, gni_post_descriptor_t *d,
		     bool *counted)
{
	*counted = d->type == GNI_POST_AMO;
	if (*counted) {
		if (check_counted(s, p->counted))
			return s->c->fault.status;
		p->counted++;
	} else {
		slot_of(s, p, d->post_id)->moved = true;
	}
	if (p->counting == p->counted && p->counting < p->begun &&
	    slot_of(s, p, p->counting)->moved)
		return count(s, p, p->counting++);
	return ST_OK;
}

/* --- puts ----------------------------------------------------------------- */

static int push_more(struct stream *s, struct progress *p)
{
	while (p->begun < s->blocks && p->begun - p->freed < s->c->depth) {
		uint64_t n = p->begun;

		if (s->block(s->ctx, conn_slot(s->c, n), block_length(s, n)) ||
		    move(s, p, n, false))
			return s->c->fault.status;
		p->begun++;
	}
	return ST_OK;
}

static int push_event(struct stream *s, struct progress *p, struct conn_event *ev)
{
	bool counted;

	if (!ev->desc) {
		if (check(s, &ev->msg, STREAM_TAG_FREE, p->freed))
			return s->c->fault.status;
		p->freed++;
		return ST_OK;
	}
	if (completed(s, p, ev->desc, &counted))
		return s->c->fault.status;
	return counted ? say(s, STREAM_TAG_BLOCK, p->counted - 1) : ST_OK;
}

/**
 * stream_push - put a stream into the peer's memory
 * @s: the stream; @s->block fills a block
 *
 * Return: ST_OK when the peer has taken it all, or the connection's fault.
 */
int stream_push(struct stream *s)
{
	struct conn_event ev;
	struct progress p;
	int st = begin(s, &p);

	while (!st && p.freed < s->blocks) {
		st = push_more(s, &p);
		if (!st)
			st = conn_next(s->c, &ev);
		if (!st)
			st = push_event(s, &p, &ev);
	}
	free(p.slots);
	return st;
}

/**
 * stream_sink - take the stream that a peer puts
 * @s: the stream; @s->block takes a block
 *
 * Return: ST_OK when all has come, or the connection's fault.
 */
int stream_sink(struct stream *s)
{
	struct conn_event ev;
	uint64_t n;

	begin(s, NULL);
	for (n = 0; n < s->blocks; n++) {
		if (conn_next(s->c, &ev) || check(s, &ev.msg, STREAM_TAG_BLOCK, n))
			return s->c->fault.status;
		if (__atomic_load_n(&conn_ctl(s->c)->counter, __ATOMIC_ACQUIRE) <= n)
			return fault_set(&s->c->fault, ST_PEER,
					 "block %" PRIu64 " came before it was counted", n);
		if (s->block(s->ctx, conn_slot(s->c, n), block_length(s, n)) ||
		    say(s, STREAM_TAG_FREE, n))
			return s->c->fault.status;
	}
	return ST_OK;
}

/* --- gets ----------------------------------------------------------------- */

static int pull_event(struct stream *s, struct progress *p, struct conn_event *ev)
{
	bool counted;
	uint64_t n;

	if (!ev->desc) {
		if (check(s, &ev->msg, STREAM_TAG_BLOCK, p->begun))
			return s->c->fault.status;
		if (p->begun - p->freed >= s->c->depth)
			return fault_set(&s->c->fault, ST_PEER, "the peer sent too many blocks");
		return move(s, p, p->begun++, true);
	}
	if (completed(s, p, ev->desc, &counted) || !counted)
		return s->c->fault.status;
	n = p->freed++;
	if (s->block(s->ctx, conn_slot(s->c, n), block_length(s, n)))
		return s->c->fault.status;
	return say(s, STREAM_TAG_FREE, n);
}

/**
 * stream_pull - get a stream out of the peer's memory
 * @s: the stream; @s->block takes a block
 *
 * Return: ST_OK when all has come, or the connection's fault.
 */
int stream_pull(struct stream *s)
{
	struct conn_event ev;
	struct progress p;
	int st = begin(s, &p);

	while (!st && p.freed < s->blocks) {
		st = conn_next(s->c, &ev);
		if (!st)
			st = pull_event(s, &p, &ev);
	}
	free(p.slots);
	return st;
}

/**
 * stream_source - offer a stream that a peer gets
 * @s: the stream; @s->block fills a block
 *
 * Return: ST_OK when the peer has got it all, or the connection's fault.
 */
int stream_source(struct stream *s)
{
	uint64_t filled = 0, freed = 0;
	struct conn_event ev;

	begin(s, NULL);
	while (freed < s->blocks) {
		while (filled < s->blocks && filled - freed < s->c->depth) {
			if (s->block(s->ctx, conn_slot(s->c, filled), block_length(s, filled)) ||
			    say(s, STREAM_TAG_BLOCK, filled))
				return s->c->fault.status;
			filled++;
		}
		if (conn_next(s->c, &ev) || check(s, &ev.msg, STREAM_TAG_FREE, freed))
			return s->c->fault.status;
		freed++;
	}
	return ST_OK;
}
