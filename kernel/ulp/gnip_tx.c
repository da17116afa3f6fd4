// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames to be sent.
 *
 * A frame that fits into a message goes by one. Of a longer one the head goes
 * by message, so that the peer's stack finds it where it needs it, and the rest
 * by puts, block transfers if it is long, from where it lies in memory into a
 * buffer of the peer;
 * the message is sent when they are done. Frames of a channel are sent in the
 * order in which they came: those in chan->started are being transferred or
 * wait for one before them that is, those in chan->waiting have not begun.
 *
 * All of it belongs to NAPI of the queue.
 */
#include <linux/slab.h>

#include "gnip.h"

/* Frames of a channel that may have begun, and that may wait. */
#define GNIP_STARTED_MAX	GNIP_CREDITS
#define GNIP_WAITING_MAX	512
/* A peer that took nothing for so long gets no more frames, or is given up; jiffies. */
#define GNIP_STALL		(HZ / 2)
#define GNIP_DEAD		(10 * HZ)
/* Source events are never more than their queue holds. */
#define GNIP_EVENTS_MAX		(GNIP_CQ_SIZE - 64)

/**
 * gnip_tx_want - look soon if a channel can send something
 * @chan: the channel
 */
void gnip_tx_want(struct gnip_chan *chan)
{
	if (list_empty(&chan->send_node))
		list_add_tail(&chan->send_node, &chan->q->sending);
}

/**
 * gnip_tx_buffer - the peer lets a buffer be filled
 * @chan: the channel
 * @buf: number of the buffer
 *
 * Return: false if it can't be.
 */
bool gnip_tx_buffer(struct gnip_chan *chan, unsigned int buf)
{
	if (buf >= chan->remote_count || __test_and_set_bit(buf, chan->remote_peers))
		return false;
	chan->free[chan->nfree++] = buf;
	return true;
}

/* Is there nothing to send, and nothing that waits for its transfers? */
static bool gnip_tx_idle(const struct gnip_chan *chan)
{
	return skb_queue_empty(&chan->started) && skb_queue_empty(&chan->waiting) &&
	       (!chan->hello || chan->failed);
}

/* What is under way is bounded, for its events must have room. */
static bool gnip_tx_may(struct gnip_chan *chan)
{
	return chan->q->outstanding < GNIP_EVENTS_MAX;
}

static void gnip_tx_expect(struct gnip_chan *chan)
{
	chan->outstanding++;
	chan->q->outstanding++;
}

static bool gnip_tx_small(const struct sk_buff *skb)
{
	return skb->len <= GNIP_SMALL_MAX;
}

/* How much of a large frame goes by message. */
static unsigned int gnip_tx_head(const struct sk_buff *skb)
{
	unsigned int head = skb_headlen(skb);

	if (head > GNIP_HEAD_MAX)
		head = 128;
	/* The rest has to fit into a buffer. */
	return max_t(unsigned int, head, skb->len > GNIP_BUF_SIZE ? skb->len - GNIP_BUF_SIZE : 0);
}

static void gnip_txe_add(struct gnip_txe *txe, void *addr, unsigned int length)
{
	struct gnip_post *post = &txe->post[txe->count++];

	post->txe = txe;
	post->d.type = txe->fma ? GNI_POST_FMA_PUT : GNI_POST_RDMA_PUT;
	post->d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	post->d.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
	post->d.rdma_mode = txe->fma ? 0 : GNI_RDMAMODE_PHYS_ADDR;
	post->d.src_cq_hndl = txe->chan->q->bte_cq;
	post->d.local_addr = txe->fma ? (uintptr_t)addr : virt_to_phys(addr);
	post->d.remote_addr = (u64)txe->buf * GNIP_BUF_SIZE + txe->body;
	post->d.remote_mem_hndl = txe->chan->remote_pool;
	post->d.length = length;
	txe->body += length;
}

/* A transfer for each piece of the frame behind its head. */
static void gnip_txe_fill(struct gnip_txe *txe, const struct sk_buff *skb)
{
	unsigned int skip = txe->head;
	unsigned int i, n = skb_headlen(skb);

	if (skip < n)
		gnip_txe_add(txe, skb->data + skip, n - skip);
	skip -= min(skip, n);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		n = skb_frag_size(frag);
		if (skip < n)
			gnip_txe_add(txe, skb_frag_address(frag) + skip, n - skip);
		skip -= min(skip, n);
	}
}

static struct gnip_txe *gnip_txe_new(struct gnip_chan *chan, const struct sk_buff *skb)
{
	unsigned int n = skb_shinfo(skb)->nr_frags + 1;
	struct gnip_txe *txe;

	txe = kzalloc(struct_size(txe, post, n), GFP_ATOMIC | __GFP_NOWARN);
	if (!txe)
		return NULL;
	txe->chan = chan;
	txe->head = gnip_tx_head(skb);
	/* Then the post itself moves the bytes: to wake an engine may cost more. */
	txe->fma = skb->len - txe->head <= READ_ONCE(gnip_fma_max);
	txe->buf = chan->free[--chan->nfree];
	gnip_txe_fill(txe, skb);
	return txe;
}

/* The event may be there before the call returns, and its handler may look at the count. */
static gni_return_t gnip_txe_post_one(struct gnip_txe *txe, gni_post_descriptor_t *d)
{
	struct gnip_queue *q = txe->chan->q;
	gni_return_t rc;

	if (txe->fma)
		return gni_post_fma(txe->chan->ep, d);
	WRITE_ONCE(q->transfers, q->transfers + 1);
	rc = gni_post_rdma(txe->chan->ep, d);
	if (rc != GNI_RC_SUCCESS)
		WRITE_ONCE(q->transfers, q->transfers - 1);
	return rc;
}

/* Post what is not yet. Return: false if the rest has to wait. */
static bool gnip_txe_post(struct gnip_txe *txe)
{
	struct gnip_chan *chan = txe->chan;
	gni_return_t rc;

	while (txe->posted < txe->count && !chan->failed) {
		if (!gnip_tx_may(chan))
			return false;
		rc = gnip_txe_post_one(txe, &txe->post[txe->posted].d);
		if (rc == GNI_RC_ERROR_RESOURCE)
			return false;
		if (rc != GNI_RC_SUCCESS) {
			gnip_chan_fail(chan, "block transfer refused");
			break;
		}
		txe->posted++;
		gnip_tx_expect(chan);
	}
	return !chan->failed;
}

/* Return: false if the frame has to wait. */
static bool gnip_tx_begin(struct gnip_chan *chan, struct sk_buff *skb)
{
	struct gnip_txe *txe;

	if (gnip_tx_small(skb))
		return true;
	if (!chan->nfree) {
		gnip_count(chan->q, GNIP_TX_NO_BUFFER);
		return false;
	}
	txe = gnip_txe_new(chan, skb);
	if (!txe) {
		/* As if it had been lost on its way. */
		gnip_cb(skb)->txe = ERR_PTR(-ENOMEM);
		return true;
	}
	gnip_cb(skb)->txe = txe;
	gnip_txe_post(txe);
	return true;
}

static void gnip_tx_start(struct gnip_chan *chan)
{
	struct sk_buff *skb;

	while (!chan->failed && skb_queue_len(&chan->started) < GNIP_STARTED_MAX) {
		skb = skb_peek(&chan->waiting);
		if (!skb || !gnip_tx_begin(chan, skb))
			break;
		__skb_unlink(skb, &chan->waiting);
		__skb_queue_tail(&chan->started, skb);
	}
}

/* The message that a frame goes by, or that its head does. */
static int gnip_tx_header(struct gnip_chan *chan, const struct sk_buff *skb,
			  struct gnip_msg *msg, unsigned int *head)
{
	struct gnip_txe *txe = gnip_cb((struct sk_buff *)skb)->txe;

	memset(msg, 0, sizeof(*msg));
	if (virtio_net_hdr_from_skb(skb, &msg->vnet, true, true, 0))
		return -EINVAL;
	*head = txe ? txe->head : skb->len;
	msg->type = GNIP_MSG_FRAME;
	msg->head = cpu_to_le16(*head);
	if (txe) {
		msg->body = cpu_to_le32(txe->body);
		msg->buf = cpu_to_le16(txe->buf);
	}
	return 0;
}

/* Send a message, and with it what buffers can go back. */
static gni_return_t gnip_tx_message(struct gnip_chan *chan, struct gnip_msg *msg,
				    unsigned int returns, void *data, unsigned int len)
{
	struct gnip_queue *q = chan->q;
	gni_return_t rc;
	unsigned int n;

	if (!gnip_tx_may(chan))
		return GNI_RC_NOT_DONE;
	n = gnip_pool_returns(&chan->pool, q->head.returns, returns);
	msg->returns = n;
	q->head.msg = *msg;
	rc = gni_smsg_send(chan->ep, &q->head, sizeof(*msg) + n * sizeof(q->head.returns[0]),
			   data, len, chan->id);
	if (rc == GNI_RC_SUCCESS) {
		gnip_pool_returned(&chan->pool, n);
		gnip_tx_expect(chan);
		chan->progress = jiffies;
	} else if (rc == GNI_RC_NOT_DONE) {
		gnip_count(chan->q, GNIP_TX_NO_CREDIT);
	} else {
		gnip_chan_fail(chan, "message refused");
	}
	return rc;
}

/* Return: GNI_RC_NOT_DONE if it has to wait. */
static gni_return_t gnip_tx_one(struct gnip_chan *chan, struct sk_buff *skb)
{
	struct gnip_msg msg;
	unsigned int head;
	void *data;

	if (gnip_tx_header(chan, skb, &msg, &head))
		return GNI_RC_INVALID_PARAM;
	data = skb_header_pointer(skb, 0, head, chan->q->scratch);
	return gnip_tx_message(chan, &msg, GNIP_RETURNS, data, head);
}

/* Is there nothing under way that the first frame waits for? */
static bool gnip_tx_ready(const struct gnip_txe *txe)
{
	return IS_ERR_OR_NULL(txe) || txe->done == txe->count;
}

/* The frame's transfers are over. If the peer knows of it the buffer is its to give back. */
static void gnip_tx_release(struct gnip_chan *chan, struct sk_buff *skb, bool told)
{
	struct gnip_txe *txe = gnip_cb(skb)->txe;

	gnip_cb(skb)->txe = NULL;
	if (IS_ERR_OR_NULL(txe))
		return;
	if (told)
		__clear_bit(txe->buf, chan->remote_peers);
	else
		chan->free[chan->nfree++] = txe->buf;
	kfree(txe);
}

/* The first frame, which is ready. Return: false if it has to wait. */
static bool gnip_tx_finish(struct gnip_chan *chan, struct sk_buff *skb)
{
	struct gnip_queue *q = chan->q;
	bool large = gnip_cb(skb)->txe;
	unsigned int len = skb->len;
	gni_return_t rc;

	if (IS_ERR(gnip_cb(skb)->txe)) {
		__skb_unlink(skb, &chan->started);
		gnip_skb_drop(q, skb, GNIP_TX_NO_MEMORY);
		return true;
	}
	rc = gnip_tx_one(chan, skb);
	if (rc == GNI_RC_NOT_DONE || chan->failed)
		return false;
	__skb_unlink(skb, &chan->started);
	gnip_tx_release(chan, skb, rc == GNI_RC_SUCCESS);
	if (rc != GNI_RC_SUCCESS) {
		gnip_skb_drop(q, skb, GNIP_TX_ERRORS);
		return true;
	}
	gnip_count(q, GNIP_TX_PACKETS);
	atomic64_add(len, &q->stats[GNIP_TX_BYTES]);
	if (large)
		gnip_count(q, GNIP_TX_LARGE);
	gnip_skb_done(q->gd, skb);
	return true;
}

static void gnip_tx_started(struct gnip_chan *chan)
{
	struct sk_buff *skb;

	/* Transfers that had to wait, in their order. */
	skb_queue_walk(&chan->started, skb) {
		struct gnip_txe *txe = gnip_cb(skb)->txe;

		if (!IS_ERR_OR_NULL(txe) && !gnip_txe_post(txe))
			break;
	}
	while (!chan->failed && (skb = skb_peek(&chan->started))) {
		if (!gnip_tx_ready(gnip_cb(skb)->txe) || !gnip_tx_finish(chan, skb))
			break;
	}
}

/* What the peer must know before it can send large frames here. */
static void gnip_tx_pool(struct gnip_chan *chan)
{
	struct gnip_msg msg = {
		.type = GNIP_MSG_POOL,
		.head = cpu_to_le16(sizeof(__le64) * 2),
		.body = cpu_to_le32(chan->pool.count),
	};
	__le64 hndl[2] = {
		cpu_to_le64(chan->pool.hndl.qword1), cpu_to_le64(chan->pool.hndl.qword2),
	};

	if (gnip_tx_message(chan, &msg, 0, hndl, sizeof(hndl)) == GNI_RC_SUCCESS)
		chan->hello = false;
}

/* Where there is no frame to take them along, buffers go back by themselves. */
static void gnip_tx_returns(struct gnip_chan *chan)
{
	struct gnip_msg msg = { .type = GNIP_MSG_RETURN };

	if (chan->pool.nreturns >= max(chan->pool.count / 4, 1U))
		gnip_tx_message(chan, &msg, GNIP_RETURNS_MAX, NULL, 0);
}

/**
 * gnip_tx_send - send what a channel has, as far as it can be sent now
 * @chan: the channel
 *
 * Context: NAPI of the queue.
 */
void gnip_tx_send(struct gnip_chan *chan)
{
	list_del_init(&chan->send_node);
	if (chan->hello && !chan->failed)
		gnip_tx_pool(chan);
	if (!chan->failed)
		gnip_tx_start(chan);
	/* Transfers may be done already. Only one that has failed is detached. */
	if (!chan->failed)
		gnip_queue_events(chan->q);
	if (!chan->failed)
		gnip_tx_started(chan);
	if (!chan->failed)
		gnip_tx_returns(chan);
	if (chan->failed)
		gnip_tx_purge(chan);
	/* That its transfers are done was seen. */
	if (skb_queue_empty(&chan->waiting) && !list_empty(&chan->send_node))
		list_del_init(&chan->send_node);
	if (gnip_tx_idle(chan) == list_empty(&chan->unsent_node))
		return;
	if (list_empty(&chan->unsent_node))
		list_add_tail(&chan->unsent_node, &chan->q->unsent);
	else
		list_del_init(&chan->unsent_node);
}

/**
 * gnip_tx_check - what time brings to a channel that has something to send
 * @chan: the channel
 *
 * Context: NAPI of the queue.
 */
void gnip_tx_check(struct gnip_chan *chan)
{
	/* That the network stands still is not the peer's fault. */
	if (gni_get_quiesce_status(chan->q->gd->nic))
		chan->progress = jiffies;
	if (!chan->failed && time_after(jiffies, chan->progress + GNIP_DEAD))
		gnip_chan_fail(chan, "peer takes nothing");
	gnip_tx_want(chan);
}

/**
 * gnip_tx_bye - tell the peer that the session ends, if that can be
 * @chan: the channel
 *
 * Return: true if it was told.
 */
bool gnip_tx_bye(struct gnip_chan *chan)
{
	struct gnip_msg msg = { .type = GNIP_MSG_BYE };

	return !chan->failed && gnip_tx_message(chan, &msg, 0, NULL, 0) == GNI_RC_SUCCESS;
}

/**
 * gnip_tx_posted - a block transfer is over
 * @post: the transfer
 *
 * Context: NAPI of the queue.
 */
void gnip_tx_posted(struct gnip_post *post)
{
	struct gnip_txe *txe = post->txe;

	txe->done++;
	gnip_tx_want(txe->chan);
}

/**
 * gnip_tx_purge - drop what a channel has to send
 * @chan: the channel
 *
 * But not frames that are being read by block transfers: they go when those are
 * done.
 *
 * Context: NAPI of the queue.
 */
void gnip_tx_purge(struct gnip_chan *chan)
{
	struct sk_buff *skb, *next;

	skb_queue_walk_safe(&chan->started, skb, next) {
		struct gnip_txe *txe = gnip_cb(skb)->txe;

		if (!IS_ERR_OR_NULL(txe) && txe->done < txe->posted)
			continue;
		__skb_unlink(skb, &chan->started);
		gnip_tx_release(chan, skb, false);
		gnip_skb_drop(chan->q, skb, GNIP_TX_NO_SESSION);
	}
	while ((skb = __skb_dequeue(&chan->waiting)))
		gnip_skb_drop(chan->q, skb, GNIP_TX_NO_SESSION);
}

static void gnip_tx_queue(struct gnip_chan *chan, struct sk_buff *skb)
{
	if (gnip_tx_idle(chan))
		chan->progress = jiffies;
	if (chan->failed) {
		gnip_skb_drop(chan->q, skb, GNIP_TX_NO_SESSION);
	} else if (skb_queue_len(&chan->waiting) >= GNIP_WAITING_MAX ||
		   time_after(jiffies, chan->progress + GNIP_STALL)) {
		/* A peer that takes nothing must not keep others from being served. */
		gnip_skb_drop(chan->q, skb, GNIP_TX_STALLED);
	} else {
		__skb_queue_tail(&chan->waiting, skb);
		gnip_tx_want(chan);
	}
}

static void gnip_tx_to(struct gnip_queue *q, struct sk_buff *skb, u32 pe)
{
	struct gnip_chan *chan = gnip_chan_by_pe(q, pe);

	gnip_cb(skb)->pe = pe;
	if (chan)
		gnip_tx_queue(chan, skb);
	else
		gnip_peer_hold(q, pe, skb);
}

/*
 * GNI has no broadcast: what is for all goes to every peer that is connected,
 * and to those that are known beforehand, which are connected to thereby.
 */
static void gnip_tx_flood(struct gnip_queue *q, struct sk_buff *skb)
{
	struct gnip_peer *peer;
	struct sk_buff *copy;
	int bucket;

	rcu_read_lock();
	hash_for_each_rcu(q->gd->peers, bucket, peer, node) {
		if (!gnip_peer_known(q->gd, peer) && READ_ONCE(peer->state) != GNIP_UP)
			continue;
		copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (!copy) {
			gnip_count(q, GNIP_TX_NO_MEMORY);
			break;
		}
		gnip_cb(copy)->counted = false;
		gnip_count(q, GNIP_TX_FLOODED);
		gnip_tx_to(q, copy, peer->pe);
	}
	rcu_read_unlock();
	gnip_skb_done(q->gd, skb);
}

/**
 * gnip_tx_frame - bring a frame on its way
 * @q: the queue
 * @skb: the frame
 *
 * Context: NAPI of the queue.
 */
void gnip_tx_frame(struct gnip_queue *q, struct sk_buff *skb)
{
	u32 pe = gnip_cb(skb)->pe;

	if (pe == GNIP_PE_FLOOD)
		gnip_tx_flood(q, skb);
	else
		gnip_tx_to(q, skb, pe);
}
