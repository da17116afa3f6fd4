// SPDX-License-Identifier: GPL-2.0-only
/*
 * Channels, seen from the NAPI that has them.
 *
 * A channel is attached when its endpoint is ready, and detached when none of
 * its source events is still to come: so nothing reads a frame that was freed,
 * and the endpoint can be destroyed. Source events come for all that was posted,
 * also when the peer is gone.
 */
#include "gnip.h"

/**
 * gnip_chan_by_event - find the channel that an event is of
 * @q: the queue
 * @id: what the event says
 *
 * Context: NAPI of the queue.
 * Return: the channel, or NULL.
 */
struct gnip_chan *gnip_chan_by_event(struct gnip_queue *q, u32 id)
{
	if (!q->recent || q->recent->id != id)
		q->recent = xa_load(&q->by_event, id);
	return q->recent;
}

/**
 * gnip_chan_by_pe - find the channel to a peer
 * @q: the queue
 * @pe: the peer's PE address
 *
 * Context: NAPI of the queue.
 * Return: the channel, or NULL.
 */
struct gnip_chan *gnip_chan_by_pe(struct gnip_queue *q, u32 pe)
{
	/* One that has failed may have a successor. */
	if (!q->recent || q->recent->failed || q->recent->session->pe != pe)
		q->recent = xa_load(&q->by_pe, pe);
	return q->recent;
}

/**
 * gnip_chan_attach - a channel begins
 * @chan: the channel
 *
 * Context: NAPI of its queue.
 * Return: 0 or -ENOMEM.
 */
int gnip_chan_attach(struct gnip_chan *chan)
{
	struct gnip_queue *q = chan->q;
	int err;

	err = xa_insert(&q->by_event, chan->id, chan, GFP_ATOMIC | __GFP_NOWARN);
	if (err)
		return err;
	err = xa_insert(&q->by_pe, chan->session->pe, chan, GFP_ATOMIC | __GFP_NOWARN);
	if (err) {
		xa_erase(&q->by_event, chan->id);
		return err;
	}
	chan->attached = true;
	chan->hello = true;
	chan->progress = jiffies;
	/* The peer may have sent already, and nobody looked at that event. */
	list_add_tail(&chan->ready_node, &q->ready);
	gnip_tx_want(chan);
	return 0;
}

/* Is nothing under way any more, so that whoever wants the channel can have it? */
static void gnip_chan_try_detach(struct gnip_chan *chan)
{
	struct gnip_cmd *cmd = chan->detach;
	struct gnip_queue *q = chan->q;

	if (!cmd || chan->outstanding)
		return;
	gnip_tx_purge(chan);
	if (q->recent == chan)
		q->recent = NULL;
	xa_erase(&q->by_event, chan->id);
	list_del_init(&chan->ready_node);
	list_del_init(&chan->send_node);
	list_del_init(&chan->unsent_node);
	chan->attached = false;
	chan->detach = NULL;
	complete(&cmd->done);
}

/**
 * gnip_chan_detach - a channel ends, now or when nothing is under way any more
 * @chan: the channel
 * @cmd: who waits for that
 *
 * Context: NAPI of its queue.
 */
void gnip_chan_detach(struct gnip_chan *chan, struct gnip_cmd *cmd)
{
	if (!chan->attached) {
		complete(&cmd->done);
		return;
	}
	if (cmd->type == GNIP_CMD_DETACH_BYE)
		gnip_tx_bye(chan);
	chan->failed = true;
	xa_erase(&chan->q->by_pe, chan->session->pe);
	gnip_tx_purge(chan);
	chan->detach = cmd;
	gnip_chan_try_detach(chan);
}

/**
 * gnip_chan_fail - a channel does no more
 * @chan: the channel
 * @why: for the log; NULL if it is no news
 *
 * The interface's work then ends the session.
 *
 * Context: NAPI of its queue.
 */
void gnip_chan_fail(struct gnip_chan *chan, const char *why)
{
	struct gnip_dev *gd = chan->q->gd;

	if (chan->failed)
		return;
	chan->failed = true;
	if (why)
		netdev_dbg(gd->dev, "PE %u, queue %u: %s\n", chan->session->pe, chan->q->index,
			   why);
	WRITE_ONCE(chan->session->failed, true);
	gnip_tx_want(chan);
	gnip_conn_kick(gd);
}

/**
 * gnip_chan_over - a source event of a channel has come
 * @chan: the channel, which may be gone after this
 *
 * Context: NAPI of its queue.
 */
void gnip_chan_over(struct gnip_chan *chan)
{
	chan->outstanding--;
	chan->q->outstanding--;
	gnip_chan_try_detach(chan);
}
