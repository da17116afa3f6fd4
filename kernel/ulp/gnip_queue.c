// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pair of queues.
 *
 * All that is done with GNI for it is done in NAPI's poll function, one at a
 * time: ndo_start_xmit puts a frame into a list, handlers of completion queues
 * say that there are events, a timer that something had to wait, and all of them
 * schedule NAPI. So channels need no locks, and the poll function takes no more
 * messages than NAPI lets it: then the peer gets no credits back, and its
 * interface stops its queue in the end. Nothing is lost on the way.
 */
#include "gnip.h"

/* Frames that may wait in a queue, and how few are left when it goes on. */
#define GNIP_BACKLOG_MAX	256
#define GNIP_BACKLOG_LOW	128
/* Messages of one channel before the next has its turn. */
#define GNIP_DRAIN		32
/* How often channels that have something to send are looked at. */
#define GNIP_TICK		(HZ / 20)

/* --- frames from the network stack ------------------------------------------ */

/**
 * gnip_queue_wake - have a queue look for work
 * @q: the queue
 *
 * Context: any but with interrupts off in a process.
 */
void gnip_queue_wake(struct gnip_queue *q)
{
	bool task = in_task();

	/* So that NAPI runs here and now. */
	if (task)
		local_bh_disable();
	napi_schedule(&q->napi);
	if (task)
		local_bh_enable();
}

struct gnip_queue *gnip_skb_queue(struct gnip_dev *gd, const struct sk_buff *skb)
{
	return &gd->queues[skb_get_queue_mapping(skb)];
}

static void gnip_skb_uncount(struct gnip_dev *gd, struct sk_buff *skb)
{
	struct gnip_queue *q = gnip_skb_queue(gd, skb);
	struct netdev_queue *txq;

	if (!gnip_cb(skb)->counted)
		return;
	gnip_cb(skb)->counted = false;
	/* A full barrier, as is the one of gnip_xmit_stop(). */
	if (atomic_dec_return(&q->backlog) >= GNIP_BACKLOG_LOW)
		return;
	txq = netdev_get_tx_queue(gd->dev, q->index);
	if (!netif_tx_queue_stopped(txq) || !READ_ONCE(gd->up))
		return;
	/* So that the queue goes on here and now. */
	local_bh_disable();
	netif_tx_wake_queue(txq);
	local_bh_enable();
}

/**
 * gnip_skb_done - a frame was sent
 * @gd: the interface
 * @skb: the frame
 *
 * Context: NAPI of a queue.
 */
void gnip_skb_done(struct gnip_dev *gd, struct sk_buff *skb)
{
	gnip_skb_uncount(gd, skb);
	napi_consume_skb(skb, 1);
}

/**
 * gnip_skb_drop - a frame is not sent
 * @q: queue that counts it
 * @skb: the frame
 * @why: what it counts as
 *
 * Context: any.
 */
void gnip_skb_drop(struct gnip_queue *q, struct sk_buff *skb, enum gnip_stat why)
{
	gnip_count(q, why);
	gnip_skb_uncount(q->gd, skb);
	dev_kfree_skb_any(skb);
}

/**
 * gnip_skb_again - have a frame looked at by a queue that has a channel for it
 * @gd: the interface
 * @skb: the frame
 * @chans: channels that there are, not 0
 *
 * Context: any.
 */
void gnip_skb_again(struct gnip_dev *gd, struct sk_buff *skb, unsigned int chans)
{
	struct gnip_queue *q = &gd->queues[skb_get_queue_mapping(skb) % chans];

	skb_queue_tail(&q->txq, skb);
	gnip_queue_wake(q);
}

static void gnip_xmit_stop(struct gnip_queue *q)
{
	struct netdev_queue *txq = netdev_get_tx_queue(q->gd->dev, q->index);

	netif_tx_stop_queue(txq);
	gnip_count(q, GNIP_TX_STOPS);
	/* Pairs with the one of gnip_skb_uncount(). */
	smp_mb__after_atomic();
	if (atomic_read(&q->backlog) < GNIP_BACKLOG_LOW)
		netif_tx_start_queue(txq);
}

/* Whom is a frame for? */
static bool gnip_xmit_pe(struct gnip_dev *gd, const struct sk_buff *skb, u32 *pe)
{
	const u8 *mac;

	if (skb_headlen(skb) < ETH_HLEN || skb->len > GNIP_FRAME_MAX)
		return false;
	mac = ((const struct ethhdr *)skb->data)->h_dest;
	*pe = GNIP_PE_FLOOD;
	if (is_multicast_ether_addr(mac))
		return true;
	return gnip_mac_to_pe(mac, pe) && *pe != gd->pe;
}

/**
 * gnip_xmit - ndo_start_xmit
 * @skb: the frame
 * @dev: the network device
 *
 * Context: soft interrupts are off; does not sleep.
 * Return: NETDEV_TX_OK.
 */
netdev_tx_t gnip_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct gnip_dev *gd = netdev_priv(dev);
	struct gnip_queue *q = gnip_skb_queue(gd, skb);
	struct gnip_cb *cb = gnip_cb(skb);

	cb->txe = NULL;
	cb->counted = false;
	if (!gnip_xmit_pe(gd, skb, &cb->pe)) {
		gnip_skb_drop(q, skb, GNIP_TX_NO_PEER);
		return NETDEV_TX_OK;
	}
	skb_tx_timestamp(skb);
	cb->counted = true;
	if (atomic_inc_return(&q->backlog) >= GNIP_BACKLOG_MAX)
		gnip_xmit_stop(q);
	skb_queue_tail(&q->txq, skb);
	napi_schedule(&q->napi);
	return NETDEV_TX_OK;
}

static void gnip_take_frames(struct gnip_queue *q)
{
	struct sk_buff_head list;
	struct sk_buff *skb;

	if (skb_queue_empty_lockless(&q->txq))
		return;
	__skb_queue_head_init(&list);
	spin_lock_bh(&q->txq.lock);
	skb_queue_splice_init(&q->txq, &list);
	spin_unlock_bh(&q->txq.lock);
	while ((skb = __skb_dequeue(&list)))
		gnip_tx_frame(q, skb);
}

/* Until nothing can be sent. What is sent is bounded by credits. */
static void gnip_send_all(struct gnip_queue *q)
{
	struct gnip_chan *chan;

	while ((chan = list_first_entry_or_null(&q->sending, struct gnip_chan, send_node))) {
		gnip_tx_send(chan);
		gnip_queue_events(q);
	}
}

/* --- messages --------------------------------------------------------------------- */

/* Return: messages taken, no more than @budget. */
static unsigned int gnip_drain_all(struct gnip_queue *q, unsigned int budget)
{
	struct gnip_chan *chan;
	unsigned int n, done = 0;
	LIST_HEAD(list);

	list_splice_init(&q->ready, &list);
	while (done < budget &&
	       (chan = list_first_entry_or_null(&list, struct gnip_chan, ready_node))) {
		list_del_init(&chan->ready_node);
		n = min_t(unsigned int, GNIP_DRAIN, budget - done);
		if (gnip_rx_drain(chan, &n))
			list_add_tail(&chan->ready_node, &q->ready);
		done += n;
	}
	list_splice(&list, &q->ready);
	return done;
}

/* --- events -------------------------------------------------------------------- */

/* Handlers of completion queues. */
static void gnip_rx_event(u32 device_id, u64 data)
{
	gnip_queue_wake((struct gnip_queue *)(uintptr_t)data);
}

static void gnip_bte_event(u32 device_id, u64 data)
{
	struct gnip_queue *q = (struct gnip_queue *)(uintptr_t)data;

	/* It may have been there when the post returned, and been seen. */
	if (READ_ONCE(q->transfers))
		gnip_queue_wake(q);
}

static void gnip_ready(struct gnip_queue *q, struct gnip_chan *chan)
{
	if (list_empty(&chan->ready_node))
		list_add_tail(&chan->ready_node, &q->ready);
}

static void gnip_rx_events(struct gnip_queue *q)
{
	struct gnip_chan *chan;
	gni_cq_entry_t event;
	unsigned long id;
	gni_return_t rc;

	while ((rc = gni_cq_get_event(q->rx_cq, &event)) != GNI_RC_NOT_DONE) {
		if (rc != GNI_RC_SUCCESS) {
			/* Events were lost, but no message. */
			gnip_count(q, GNIP_RX_OVERRUNS);
			xa_for_each(&q->by_event, id, chan)
				gnip_ready(q, chan);
			if (rc == GNI_RC_INVALID_PARAM)
				return;
			continue;
		}
		chan = gnip_chan_by_event(q, gni_cq_get_inst_id(event));
		if (chan)
			gnip_ready(q, chan);
	}
}

/* A message was delivered, or not. */
static void gnip_tx_message_over(struct gnip_queue *q, gni_cq_entry_t event, bool ok)
{
	struct gnip_chan *chan = gnip_chan_by_event(q, gni_cq_get_msg_id(event));

	if (!chan)
		return;
	if (!ok)
		gnip_chan_fail(chan, "message lost");
	gnip_chan_over(chan);
}

static void gnip_tx_post_over(struct gnip_queue *q, gni_cq_handle_t cq, gni_cq_entry_t event)
{
	gni_post_descriptor_t *d;
	struct gnip_chan *chan;
	struct gnip_post *post;
	gni_return_t rc;

	rc = gni_get_completed(cq, event, &d);
	if (rc == GNI_RC_DESCRIPTOR_ERROR || rc == GNI_RC_INVALID_PARAM)
		return;
	post = container_of(d, struct gnip_post, d);
	chan = post->txe->chan;
	if (rc != GNI_RC_SUCCESS)
		gnip_chan_fail(chan, "block transfer failed");
	if (cq == q->bte_cq)
		WRITE_ONCE(q->transfers, q->transfers - 1);
	gnip_tx_posted(post);
	gnip_chan_over(chan);
}

static void gnip_tx_events(struct gnip_queue *q, gni_cq_handle_t cq)
{
	gni_cq_entry_t event;
	gni_return_t rc;

	while ((rc = gni_cq_get_event(cq, &event)) != GNI_RC_NOT_DONE) {
		if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR) {
			netdev_err(q->gd->dev, "queue of source events: error %d\n", rc);
			break;
		}
		if (gni_cq_get_type(event) == GNI_CQ_EVENT_TYPE_SMSG)
			gnip_tx_message_over(q, event, rc == GNI_RC_SUCCESS);
		else
			gnip_tx_post_over(q, cq, event);
	}
}

/**
 * gnip_queue_events - take the source events that have come
 * @q: the queue
 *
 * Channels that are being detached may be gone after this.
 *
 * Context: NAPI of the queue.
 */
void gnip_queue_events(struct gnip_queue *q)
{
	if (q->transfers)
		gnip_tx_events(q, q->bte_cq);
	if (q->outstanding != q->transfers)
		gnip_tx_events(q, q->tx_cq);
}

/* --- commands ------------------------------------------------------------------ */

/**
 * gnip_queue_command - have a channel attached or detached by its queue's NAPI, and wait
 * @chan: the channel
 * @type: what to do
 *
 * Context: process, sleeps.
 * Return: 0 or -errno.
 */
int gnip_queue_command(struct gnip_chan *chan, enum gnip_cmd_type type)
{
	struct gnip_cmd cmd = { .type = type, .chan = chan };
	struct gnip_queue *q = chan->q;

	init_completion(&cmd.done);
	spin_lock_bh(&q->cmd_lock);
	list_add_tail(&cmd.node, &q->cmds);
	spin_unlock_bh(&q->cmd_lock);
	gnip_queue_wake(q);
	wait_for_completion(&cmd.done);
	return cmd.err;
}

static void gnip_run_command(struct gnip_cmd *cmd)
{
	if (cmd->type == GNIP_CMD_ATTACH) {
		cmd->err = gnip_chan_attach(cmd->chan);
		complete(&cmd->done);
	} else {
		gnip_chan_detach(cmd->chan, cmd);
	}
}

static void gnip_run_commands(struct gnip_queue *q)
{
	struct gnip_cmd *cmd;

	while (!list_empty(&q->cmds)) {
		spin_lock(&q->cmd_lock);
		cmd = list_first_entry_or_null(&q->cmds, struct gnip_cmd, node);
		if (cmd)
			list_del(&cmd->node);
		spin_unlock(&q->cmd_lock);
		if (cmd)
			gnip_run_command(cmd);
	}
}

/* --- NAPI -------------------------------------------------------------------------- */

/* Channels that could not send, or not all. */
static void gnip_queue_tick(struct timer_list *timer)
{
	struct gnip_queue *q = from_timer(q, timer, timer);

	set_bit(GNIP_Q_TICK, &q->flags);
	napi_schedule(&q->napi);
}

static void gnip_queue_check(struct gnip_queue *q)
{
	struct gnip_chan *chan, *next;

	if (!test_bit(GNIP_Q_TICK, &q->flags))
		return;
	clear_bit(GNIP_Q_TICK, &q->flags);
	list_for_each_entry_safe(chan, next, &q->unsent, unsent_node)
		gnip_tx_check(chan);
}

/* What comes after one of these looks schedules anew. */
static int gnip_poll(struct napi_struct *napi, int budget)
{
	struct gnip_queue *q = container_of(napi, struct gnip_queue, napi);
	int done;

	gnip_queue_check(q);
	gnip_run_commands(q);
	gnip_queue_events(q);
	gnip_rx_events(q);
	done = gnip_drain_all(q, budget);
	gnip_take_frames(q);
	gnip_send_all(q);
	if (!list_empty(&q->unsent) && !timer_pending(&q->timer))
		mod_timer(&q->timer, jiffies + GNIP_TICK);
	if (!list_empty(&q->ready))
		return budget;
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static int gnip_queue_cqs(struct gnip_queue *q)
{
	gni_nic_handle_t nic = q->gd->nic;
	u64 data = (uintptr_t)q;

	if (gni_cq_create(nic, GNIP_CQ_SIZE, 0, NULL, 0, &q->tx_cq) != GNI_RC_SUCCESS)
		return -ENOBUFS;
	if (gni_cq_create(nic, GNIP_CQ_SIZE, 0, gnip_bte_event, data, &q->bte_cq) != GNI_RC_SUCCESS)
		goto destroy_tx;
	if (gni_cq_create(nic, GNIP_CQ_SIZE, 0, gnip_rx_event, data, &q->rx_cq) == GNI_RC_SUCCESS)
		return 0;
	gni_cq_destroy(q->bte_cq);
destroy_tx:
	gni_cq_destroy(q->tx_cq);
	return -ENOBUFS;
}

/**
 * gnip_queue_open - start a pair of queues
 * @q: the queue; its number and interface are set
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int gnip_queue_open(struct gnip_queue *q)
{
	int err;

	skb_queue_head_init(&q->txq);
	spin_lock_init(&q->cmd_lock);
	INIT_LIST_HEAD(&q->cmds);
	INIT_LIST_HEAD(&q->ready);
	INIT_LIST_HEAD(&q->sending);
	INIT_LIST_HEAD(&q->unsent);
	xa_init(&q->by_event);
	xa_init(&q->by_pe);
	timer_setup(&q->timer, gnip_queue_tick, 0);
	atomic_set(&q->backlog, 0);
	q->recent = NULL;
	q->outstanding = 0;
	q->transfers = 0;
	netif_napi_add(q->gd->dev, &q->napi, gnip_poll);
	/* Not scheduled before it is enabled. */
	err = gnip_queue_cqs(q);
	if (err) {
		netif_napi_del(&q->napi);
		return err;
	}
	napi_enable(&q->napi);
	return 0;
}

/**
 * gnip_queue_close - undo gnip_queue_open()
 * @q: the queue, with no channels; nobody transmits
 *
 * Context: process, may sleep.
 */
void gnip_queue_close(struct gnip_queue *q)
{
	struct sk_buff *skb;

	/* The poll function is the last to go: it reads these queues, and starts the timer. */
	napi_disable(&q->napi);
	del_timer_sync(&q->timer);
	gni_cq_destroy(q->rx_cq);
	gni_cq_destroy(q->bte_cq);
	gni_cq_destroy(q->tx_cq);
	netif_napi_del(&q->napi);
	while ((skb = skb_dequeue(&q->txq)))
		gnip_skb_drop(q, skb, GNIP_TX_NO_SESSION);
	xa_destroy(&q->by_event);
	xa_destroy(&q->by_pe);
}
