// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers by PE address, and frames for those that there is no session with.
 *
 * Queues look peers up under RCU. Whoever has something for a peer
 * that is down says that it is wanted; all else of its state is set by the
 * interface's work.
 */
#include <linux/slab.h>

#include "gnip.h"

/* Frames that wait for a session with one peer. */
#define GNIP_PENDING_MAX	64
/* For how long a peer that is down is remembered, jiffies. */
#define GNIP_EXPIRE		(60 * HZ)

static struct gnip_peer *gnip_peer_find(struct gnip_dev *gd, u32 pe)
{
	struct gnip_peer *peer;

	hash_for_each_possible_rcu(gd->peers, peer, node, pe,
				   lockdep_is_held(&gd->peers_lock))
		if (peer->pe == pe)
			return peer;
	return NULL;
}

static struct gnip_peer *gnip_peer_new(struct gnip_dev *gd, u32 pe)
{
	struct gnip_peer *peer = kzalloc(sizeof(*peer), GFP_ATOMIC | __GFP_NOWARN);

	if (!peer)
		return NULL;
	peer->pe = pe;
	peer->since = jiffies;
	peer->retry = jiffies;
	spin_lock_init(&peer->lock);
	__skb_queue_head_init(&peer->pending);
	hash_add_rcu(gd->peers, &peer->node, pe);
	gd->npeers++;
	return peer;
}

/**
 * gnip_peer_get - find a peer, or make it
 * @gd: the interface
 * @pe: its PE address
 *
 * Context: any but hard interrupts; under RCU, or from the interface's work.
 * Return: the peer; NULL if there are too many, or no memory.
 */
struct gnip_peer *gnip_peer_get(struct gnip_dev *gd, u32 pe)
{
	struct gnip_peer *peer;

	rcu_read_lock();
	peer = gnip_peer_find(gd, pe);
	rcu_read_unlock();
	if (peer)
		return peer;
	spin_lock_bh(&gd->peers_lock);
	peer = gnip_peer_find(gd, pe);
	if (!peer && gd->npeers < GNIP_PEERS_MAX)
		peer = gnip_peer_new(gd, pe);
	spin_unlock_bh(&gd->peers_lock);
	return peer;
}

/* Keep a frame. The lock is held. Return: false if it can't be. */
static bool gnip_peer_keep(struct gnip_dev *gd, struct gnip_peer *peer, struct sk_buff *skb)
{
	if (peer->state == GNIP_DOWN) {
		if (time_before(jiffies, peer->retry))
			return false;
		peer->state = GNIP_WANTED;
		peer->since = jiffies;
		gnip_conn_kick(gd);
	}
	if (skb_queue_len(&peer->pending) >= GNIP_PENDING_MAX)
		return false;
	__skb_queue_tail(&peer->pending, skb);
	return true;
}

/**
 * gnip_peer_hold - take care of a frame for a peer that the queue has no channel for
 * @q: the queue
 * @pe: the peer's PE address
 * @skb: the frame
 *
 * Context: NAPI of the queue.
 */
void gnip_peer_hold(struct gnip_queue *q, u32 pe, struct sk_buff *skb)
{
	unsigned int chans = 0;
	struct gnip_peer *peer;
	bool kept = false;

	rcu_read_lock();
	peer = gnip_peer_get(q->gd, pe);
	if (peer) {
		spin_lock_bh(&peer->lock);
		if (peer->state == GNIP_UP)
			chans = peer->chans;
		else
			kept = gnip_peer_keep(q->gd, peer, skb);
		spin_unlock_bh(&peer->lock);
	}
	rcu_read_unlock();
	if (kept)
		return;
	/* The peer may have fewer queues. Else the channel is on its way out. */
	if (chans && chans <= q->index)
		gnip_skb_again(q->gd, skb, chans);
	else
		gnip_skb_drop(q, skb, GNIP_TX_NO_SESSION);
}

/* Take the frames that wait. */
static void gnip_peer_pending(struct gnip_peer *peer, struct sk_buff_head *list)
{
	__skb_queue_head_init(list);
	spin_lock_bh(&peer->lock);
	skb_queue_splice_init(&peer->pending, list);
	spin_unlock_bh(&peer->lock);
}

/**
 * gnip_peer_drop_pending - drop the frames that wait for a session
 * @gd: the interface
 * @peer: the peer
 *
 * Context: process.
 */
void gnip_peer_drop_pending(struct gnip_dev *gd, struct gnip_peer *peer)
{
	struct sk_buff_head list;
	struct sk_buff *skb;

	gnip_peer_pending(peer, &list);
	while ((skb = __skb_dequeue(&list)))
		gnip_skb_drop(gnip_skb_queue(gd, skb), skb, GNIP_TX_NO_SESSION);
}

/**
 * gnip_peer_up - there is a session
 * @gd: the interface
 * @peer: the peer
 * @chans: its channels, which the queues have already
 *
 * Context: the interface's work.
 */
void gnip_peer_up(struct gnip_dev *gd, struct gnip_peer *peer, unsigned int chans)
{
	struct sk_buff_head list;
	struct sk_buff *skb;

	spin_lock_bh(&peer->lock);
	peer->state = GNIP_UP;
	peer->chans = chans;
	peer->since = jiffies;
	spin_unlock_bh(&peer->lock);
	gnip_peer_pending(peer, &list);
	while ((skb = __skb_dequeue(&list)))
		gnip_skb_again(gd, skb, chans);
}

/**
 * gnip_peer_set - set a peer's state, but to GNIP_UP
 * @peer: the peer
 * @state: the state
 * @delay: jiffies in which it is not wanted again
 *
 * Context: the interface's work.
 */
void gnip_peer_set(struct gnip_peer *peer, enum gnip_peer_state state, unsigned long delay)
{
	spin_lock_bh(&peer->lock);
	peer->state = state;
	peer->chans = 0;
	peer->since = jiffies;
	peer->retry = jiffies + delay;
	spin_unlock_bh(&peer->lock);
}

/* Frees what is hashed no more. */
static void gnip_peers_free_list(struct gnip_dev *gd, struct list_head *gone)
{
	struct gnip_peer *peer, *next;

	if (list_empty(gone))
		return;
	/* Then nobody adds to the frames that wait. */
	synchronize_rcu();
	list_for_each_entry_safe(peer, next, gone, gone) {
		gnip_peer_drop_pending(gd, peer);
		kfree(peer);
	}
}

static bool gnip_peer_expired(const struct gnip_dev *gd, const struct gnip_peer *peer)
{
	return READ_ONCE(peer->state) == GNIP_DOWN && !gnip_peer_known(gd, peer) &&
	       time_after(jiffies, READ_ONCE(peer->since) + GNIP_EXPIRE);
}

static void gnip_peers_remove(struct gnip_dev *gd, bool all)
{
	struct gnip_peer *peer;
	struct hlist_node *next;
	LIST_HEAD(gone);
	int bucket;

	spin_lock_bh(&gd->peers_lock);
	hash_for_each_safe(gd->peers, bucket, next, peer, node) {
		if (!all && !gnip_peer_expired(gd, peer))
			continue;
		hash_del_rcu(&peer->node);
		gd->npeers--;
		list_add(&peer->gone, &gone);
	}
	spin_unlock_bh(&gd->peers_lock);
	gnip_peers_free_list(gd, &gone);
}

/**
 * gnip_peers_expire - forget peers that were down for long
 * @gd: the interface
 *
 * Context: the interface's work.
 */
void gnip_peers_expire(struct gnip_dev *gd)
{
	gnip_peers_remove(gd, false);
}

/**
 * gnip_peers_free - forget all peers
 * @gd: the interface, with no sessions and no queues
 *
 * Context: process, may sleep.
 */
void gnip_peers_free(struct gnip_dev *gd)
{
	gnip_peers_remove(gd, true);
}
