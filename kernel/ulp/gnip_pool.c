// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive buffers: pages that a peer fills by block transfer.
 *
 * They are registered once. A buffer is in one of these states: the peer may
 * fill it; the network stack has a frame in it; the peer has to be told that it
 * may fill it again. The pool has a reference to each page all the time, so the
 * stack is done with a buffer when there is no other. Where the stack keeps many
 * of them, as unread data of sockets, frames are copied out instead: so the peer
 * never runs out of buffers for good, and no buffer is filled before its frame
 * was used.
 *
 * After it was created all of it belongs to NAPI of the queue.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "gnip.h"

/* The size of pieces that is tried first, order of pages. */
#define GNIP_POOL_ORDER		2

static unsigned int gnip_pool_pieces(const struct gnip_pool *pool)
{
	return GNIP_BUF_PAGES >> pool->order;
}

static struct page **gnip_pool_pages(const struct gnip_pool *pool, unsigned int buf)
{
	return pool->pages + buf * gnip_pool_pieces(pool);
}

static void gnip_pool_free_pages(struct gnip_pool *pool)
{
	unsigned int i;

	/* What the stack has lives until it lets go. */
	for (i = 0; pool->pages && i < pool->count * gnip_pool_pieces(pool); i++)
		if (pool->pages[i])
			put_page(pool->pages[i]);
	kvfree(pool->pages);
	pool->pages = NULL;
}

static int gnip_pool_alloc_pages(struct gnip_pool *pool, unsigned int order)
{
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NOMEMALLOC;
	unsigned int i, n;

	pool->order = order;
	n = pool->count * gnip_pool_pieces(pool);
	pool->pages = kvcalloc(n, sizeof(*pool->pages), GFP_KERNEL | __GFP_NOWARN);
	if (!pool->pages)
		return -ENOMEM;
	if (order)
		gfp |= __GFP_COMP | __GFP_NORETRY;
	for (i = 0; i < n; i++) {
		pool->pages[i] = alloc_pages(gfp, order);
		if (!pool->pages[i]) {
			gnip_pool_free_pages(pool);
			return -ENOMEM;
		}
	}
	return 0;
}

static void gnip_pool_segments(const struct gnip_pool *pool, gni_mem_segment_t *seg)
{
	unsigned int i, page, n = pool->count * gnip_pool_pieces(pool);

	for (i = 0; i < n; i++) {
		for (page = 0; page < 1U << pool->order; page++, seg++) {
			seg->address = page_to_phys(pool->pages[i] + page);
			seg->length = PAGE_SIZE;
		}
	}
}

static int gnip_pool_register(struct gnip_pool *pool)
{
	unsigned int n = pool->count * GNIP_BUF_PAGES;
	gni_mem_segment_t *seg;
	gni_return_t rc;

	seg = kvcalloc(n, sizeof(*seg), GFP_KERNEL | __GFP_NOWARN);
	if (!seg)
		return -ENOMEM;
	gnip_pool_segments(pool, seg);
	rc = gni_mem_register_segments(pool->nic, seg, n, NULL,
				       GNI_MEM_PHYS_SEGMENTS | GNI_MEM_READWRITE, &pool->hndl);
	kvfree(seg);
	pool->registered = rc == GNI_RC_SUCCESS;
	return pool->registered ? 0 : -ENOBUFS;
}

/**
 * gnip_pool_create - make and register receive buffers
 * @pool: the pool, all zeros
 * @nic: NIC to register them on
 * @count: how many
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM or -ENOBUFS; what there is goes by gnip_pool_destroy().
 */
int gnip_pool_create(struct gnip_pool *pool, gni_nic_handle_t nic, unsigned int count)
{
	int err;

	pool->nic = nic;
	pool->count = count;
	bitmap_set(pool->peers, 0, count);
	err = gnip_pool_alloc_pages(pool, GNIP_POOL_ORDER);
	if (err)
		err = gnip_pool_alloc_pages(pool, 0);
	return err ? err : gnip_pool_register(pool);
}

/**
 * gnip_pool_destroy - undo gnip_pool_create(), even if that failed
 * @pool: the pool
 * @hold: for how long the peer may still believe in the buffers, milliseconds
 *
 * Context: process, may sleep.
 */
void gnip_pool_destroy(struct gnip_pool *pool, int hold)
{
	if (pool->registered)
		gni_mem_deregister(pool->nic, &pool->hndl, hold);
	pool->registered = false;
	gnip_pool_free_pages(pool);
}

/**
 * gnip_pool_take - the peer says that it has filled a buffer
 * @pool: the pool
 * @buf: number of the buffer
 *
 * Return: false if it was not the peer's to fill.
 */
bool gnip_pool_take(struct gnip_pool *pool, unsigned int buf)
{
	return buf < pool->count && test_and_clear_bit(buf, pool->peers);
}

/**
 * gnip_pool_return - let the peer have a buffer again
 * @pool: the pool
 * @buf: number of the buffer; nobody uses it
 *
 * The peer hears of it later, see gnip_pool_returns().
 */
void gnip_pool_return(struct gnip_pool *pool, unsigned int buf)
{
	pool->returns[pool->nreturns++] = buf;
}

/* Has the stack let go of all pieces? */
static bool gnip_pool_idle(const struct gnip_pool *pool, unsigned int buf)
{
	struct page **pages = gnip_pool_pages(pool, buf);
	unsigned int i;

	for (i = 0; i < gnip_pool_pieces(pool); i++)
		if (page_ref_count(pages[i]) != 1)
			return false;
	return true;
}

static void gnip_pool_reap(struct gnip_pool *pool)
{
	unsigned int buf;

	for_each_set_bit(buf, pool->lent, pool->count) {
		if (!gnip_pool_idle(pool, buf))
			continue;
		__clear_bit(buf, pool->lent);
		pool->nlent--;
		gnip_pool_return(pool, buf);
	}
	/* Who let go of a page has read it before the peer hears that it may write. */
	smp_mb();
}

/**
 * gnip_pool_scarce - has the stack so many buffers that it should get no more
 * @pool: the pool
 *
 * Looks which of them it is done with.
 */
bool gnip_pool_scarce(struct gnip_pool *pool)
{
	if (pool->nlent >= pool->count / 4)
		gnip_pool_reap(pool);
	return pool->nlent >= pool->count / 2;
}

/**
 * gnip_pool_lend - give what is in a buffer to the network stack
 * @pool: the pool
 * @buf: number of the buffer
 * @skb: frame to append it to
 * @length: bytes, not 0
 */
void gnip_pool_lend(struct gnip_pool *pool, unsigned int buf, struct sk_buff *skb,
		    unsigned int length)
{
	struct page **page = gnip_pool_pages(pool, buf);
	unsigned int size = PAGE_SIZE << pool->order;
	unsigned int n;

	for (; length; length -= n, page++) {
		n = min(length, size);
		get_page(*page);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, *page, 0, n, size);
	}
	__set_bit(buf, pool->lent);
	pool->nlent++;
}

/**
 * gnip_pool_copy - copy what is in a buffer, and let the peer have it again
 * @pool: the pool
 * @buf: number of the buffer
 * @skb: frame to copy it into, which has room for it
 * @offset: where in the frame
 * @length: bytes
 */
void gnip_pool_copy(struct gnip_pool *pool, unsigned int buf, struct sk_buff *skb,
		    unsigned int offset, unsigned int length)
{
	struct page **page = gnip_pool_pages(pool, buf);
	unsigned int size = PAGE_SIZE << pool->order;
	unsigned int n;

	for (; length; length -= n, offset += n, page++) {
		n = min(length, size);
		skb_store_bits(skb, offset, page_address(*page), n);
	}
	gnip_pool_return(pool, buf);
}

/**
 * gnip_pool_returns - which buffers should the peer be told about
 * @pool: the pool
 * @list: their numbers
 * @max: how many of them
 *
 * Return: how many there are in @list; see gnip_pool_returned().
 */
unsigned int gnip_pool_returns(struct gnip_pool *pool, __le16 *list, unsigned int max)
{
	unsigned int i, n = min(pool->nreturns, max);

	for (i = 0; i < n; i++)
		list[i] = cpu_to_le16(pool->returns[pool->nreturns - 1 - i]);
	return n;
}

/**
 * gnip_pool_returned - the peer was told
 * @pool: the pool
 * @count: what gnip_pool_returns() said
 */
void gnip_pool_returned(struct gnip_pool *pool, unsigned int count)
{
	while (count--)
		__set_bit(pool->returns[--pool->nreturns], pool->peers);
}
