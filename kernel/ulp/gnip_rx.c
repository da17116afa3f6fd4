// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages that came, and the frames in them.
 *
 * The peer can write to its mailbox here at any time, so a message's header is
 * copied before it is checked, and bytes of frames are never looked at there.
 * A frame for which there is no memory is dropped and counted.
 */
#include "gnip.h"

/* A body that is not longer is copied out of its buffer, bytes. */
#define GNIP_RX_COPY		4096

/* A message, taken apart. */
struct gnip_rx {
	struct gnip_msg hdr;
	unsigned int head;
	unsigned int body;
	unsigned int buf;
	const u8 *data;
};

static bool gnip_rx_bad(struct gnip_chan *chan)
{
	gnip_count(chan->q, GNIP_RX_ERRORS);
	gnip_chan_fail(chan, "bad message");
	return false;
}

/* The peer has buffers of its own again. */
static bool gnip_rx_returns(struct gnip_chan *chan, const u8 *list, unsigned int count)
{
	unsigned int i;
	__le16 buf;

	for (i = 0; i < count; i++, list += sizeof(buf)) {
		memcpy(&buf, list, sizeof(buf));
		if (!gnip_tx_buffer(chan, le16_to_cpu(buf)))
			return false;
	}
	return true;
}

static bool gnip_rx_pool(struct gnip_chan *chan, const struct gnip_rx *rx)
{
	__le64 hndl[2];
	unsigned int i;

	if (chan->remote_count || rx->head != sizeof(hndl) || !rx->body ||
	    rx->body > GNIP_BUFS_MAX)
		return false;
	memcpy(hndl, rx->data, sizeof(hndl));
	chan->remote_pool.qword1 = le64_to_cpu(hndl[0]);
	chan->remote_pool.qword2 = le64_to_cpu(hndl[1]);
	chan->remote_count = rx->body;
	bitmap_zero(chan->remote_peers, GNIP_BUFS_MAX);
	for (i = rx->body; i > 0; i--)
		if (!gnip_tx_buffer(chan, i - 1))
			return false;
	return true;
}

/* A frame with room for its body; the stack takes what is in the buffer if it may. */
static struct sk_buff *gnip_rx_alloc(struct gnip_chan *chan, const struct gnip_rx *rx, bool copy)
{
	unsigned int body = copy ? rx->body : 0;
	struct sk_buff *skb;
	int err;

	if (body <= GNIP_RX_COPY) {
		/* It has some room in front, and more of it than the header needs. */
		skb = napi_alloc_skb(&chan->q->napi, max(rx->head + body, 256U));
		if (skb)
			skb_put(skb, rx->head + body);
		return skb;
	}
	skb = alloc_skb_with_frags(NET_SKB_PAD + NET_IP_ALIGN + rx->head, body,
				   PAGE_ALLOC_COSTLY_ORDER, &err, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb->dev = chan->q->gd->dev;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put(skb, rx->head);
	skb->data_len = body;
	skb->len += body;
	return skb;
}

/* The bytes, from mailbox and buffer. The buffer is taken care of in any case. */
static struct sk_buff *gnip_rx_build(struct gnip_chan *chan, const struct gnip_rx *rx)
{
	bool copy = rx->body && (rx->body <= GNIP_RX_COPY || gnip_pool_scarce(&chan->pool));
	struct sk_buff *skb = gnip_rx_alloc(chan, rx, copy);

	if (!skb) {
		gnip_count(chan->q, GNIP_RX_NO_MEMORY);
		if (rx->body)
			gnip_pool_return(&chan->pool, rx->buf);
		return NULL;
	}
	memcpy(skb->data, rx->data, rx->head);
	if (!rx->body)
		return skb;
	gnip_count(chan->q, GNIP_RX_LARGE);
	if (copy) {
		gnip_count(chan->q, GNIP_RX_COPIED);
		gnip_pool_copy(&chan->pool, rx->buf, skb, rx->head, rx->body);
	} else {
		gnip_pool_lend(&chan->pool, rx->buf, skb, rx->body);
	}
	return skb;
}

static bool gnip_rx_frame(struct gnip_chan *chan, const struct gnip_rx *rx)
{
	struct gnip_queue *q = chan->q;
	struct sk_buff *skb;
	unsigned int len;

	if (rx->head < ETH_HLEN || rx->body > GNIP_BUF_SIZE ||
	    (rx->body && !gnip_pool_take(&chan->pool, rx->buf)))
		return false;
	skb = gnip_rx_build(chan, rx);
	if (!skb)
		return true;
	len = skb->len;
	if (rx->hdr.vnet.flags & VIRTIO_NET_HDR_F_DATA_VALID)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	/* What makes no sense here may come from whoever the peer forwards for. */
	if (virtio_net_hdr_to_skb(skb, &rx->hdr.vnet, true)) {
		gnip_count(q, GNIP_RX_ERRORS);
		kfree_skb(skb);
		return true;
	}
	skb->protocol = eth_type_trans(skb, q->gd->dev);
	skb_record_rx_queue(skb, q->index);
	gnip_count(q, GNIP_RX_PACKETS);
	atomic64_add(len, &q->stats[GNIP_RX_BYTES]);
	napi_gro_receive(&q->napi, skb);
	return true;
}

static bool gnip_rx_known(struct gnip_chan *chan, const struct gnip_rx *rx)
{
	switch (rx->hdr.type) {
	case GNIP_MSG_POOL:
		return gnip_rx_pool(chan, rx);
	case GNIP_MSG_FRAME:
		return gnip_rx_frame(chan, rx);
	case GNIP_MSG_RETURN:
		return true;
	case GNIP_MSG_BYE:
		WRITE_ONCE(chan->session->bye, true);
		gnip_chan_fail(chan, NULL);
		return true;
	}
	return false;
}

/* Return: false if it made no sense, or the channel has failed. */
static bool gnip_rx_message(struct gnip_chan *chan, const u8 *msg)
{
	struct gnip_rx rx;

	memcpy(&rx.hdr, msg, sizeof(rx.hdr));
	rx.head = le16_to_cpu(rx.hdr.head);
	rx.body = le32_to_cpu(rx.hdr.body);
	rx.buf = le16_to_cpu(rx.hdr.buf);
	rx.data = msg + sizeof(rx.hdr) + rx.hdr.returns * sizeof(__le16);
	if (rx.data + rx.head > msg + GNIP_MSG_MAX)
		return gnip_rx_bad(chan);
	if (!gnip_rx_returns(chan, msg + sizeof(rx.hdr), rx.hdr.returns))
		return gnip_rx_bad(chan);
	if (!gnip_rx_known(chan, &rx))
		return gnip_rx_bad(chan);
	return !chan->failed;
}

/**
 * gnip_rx_drain - take messages of a channel
 * @chan: the channel
 * @budget: how many at most; then, how many were taken
 *
 * Context: NAPI of the queue.
 * Return: true if there may be more.
 */
bool gnip_rx_drain(struct gnip_chan *chan, unsigned int *budget)
{
	unsigned int done = 0;
	gni_return_t rc;
	void *msg;

	while (done < *budget && !chan->failed) {
		rc = gni_smsg_getnext(chan->ep, &msg);
		if (rc == GNI_RC_NOT_DONE)
			break;
		if (rc != GNI_RC_SUCCESS) {
			gnip_chan_fail(chan, "mailbox damaged");
			break;
		}
		if (!gnip_rx_message(chan, msg))
			break;
		rc = gni_smsg_release(chan->ep);
		if (rc != GNI_RC_SUCCESS) {
			gnip_chan_fail(chan, "message not released");
			break;
		}
		done++;
	}
	/* Credits may have come with it, and buffers may have to go back. */
	gnip_tx_want(chan);
	swap(done, *budget);
	return *budget == done && !chan->failed;
}
