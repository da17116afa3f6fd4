// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: mailboxes, buffers and endpoints for one peer, and the datagram by
 * which both sides learn where those of the other are.
 *
 * Mailboxes are made before the datagram is posted, since it tells about them;
 * buffers, which are large, when a peer has answered. A channel's mailbox is a
 * region of its own, for the region says to which queue its events go.
 *
 * All of it belongs to the interface's work.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "gnip.h"

/* For how long a lost peer may still believe in what it was told, milliseconds. */
#define GNIP_HOLD		30000

/* Ids of channels are event values, of which 24 bits count. */
#define GNIP_IDS		0xfffff

static void gnip_smsg_attr(gni_smsg_attr_t *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	attr->mbox_maxcredit = GNIP_CREDITS;
	attr->msg_maxsize = GNIP_MSG_MAX;
}

static int gnip_session_mboxes(struct gnip_session *s)
{
	gni_smsg_attr_t attr;
	unsigned int size;

	gnip_smsg_attr(&attr);
	if (gni_smsg_buff_size_needed(&attr, &size) != GNI_RC_SUCCESS)
		return -EINVAL;
	/* Regions that share no page protect each other. */
	s->mbox_size = PAGE_ALIGN(size);
	s->mbox = vzalloc(array_size(s->mbox_size, s->chans));
	return s->mbox ? 0 : -ENOMEM;
}

static int gnip_chan_init(struct gnip_session *s, unsigned int i)
{
	struct gnip_chan *chan = &s->chan[i];
	struct gnip_dev *gd = s->gd;
	int id;

	chan->session = s;
	chan->q = &gd->queues[i];
	INIT_LIST_HEAD(&chan->ready_node);
	INIT_LIST_HEAD(&chan->send_node);
	INIT_LIST_HEAD(&chan->unsent_node);
	__skb_queue_head_init(&chan->waiting);
	__skb_queue_head_init(&chan->started);
	id = ida_alloc_range(&gd->ids, 1, GNIP_IDS, GFP_KERNEL);
	if (id < 0)
		return id;
	chan->id = id;
	if (gni_mem_register(gd->nic, (uintptr_t)s->mbox + i * s->mbox_size, s->mbox_size,
			     chan->q->rx_cq, GNI_MEM_READWRITE, &chan->mbox) != GNI_RC_SUCCESS)
		return -ENOBUFS;
	chan->registered = true;
	return 0;
}

static void gnip_chan_exit(struct gnip_chan *chan, int hold)
{
	struct gnip_dev *gd = chan->session->gd;

	if (chan->ep)
		gni_ep_destroy(chan->ep);
	gnip_pool_destroy(&chan->pool, hold);
	if (chan->registered)
		gni_mem_deregister(gd->nic, &chan->mbox, hold);
	if (chan->id)
		ida_free(&gd->ids, chan->id);
}

static void gnip_session_hello(struct gnip_session *s)
{
	struct gnip_hello *h = &s->out;
	unsigned int i;

	h->magic = cpu_to_le32(GNIP_MAGIC);
	h->version = GNIP_VERSION;
	h->chans = s->chans;
	h->credits = cpu_to_le16(GNIP_CREDITS);
	h->msg_max = cpu_to_le32(GNIP_MSG_MAX);
	h->mbox_size = cpu_to_le32(s->mbox_size);
	h->mbox_addr = cpu_to_le64((uintptr_t)s->mbox);
	for (i = 0; i < s->chans; i++) {
		h->chan[i].mbox[0] = cpu_to_le64(s->chan[i].mbox.qword1);
		h->chan[i].mbox[1] = cpu_to_le64(s->chan[i].mbox.qword2);
		h->chan[i].event = cpu_to_le32(s->chan[i].id);
	}
}

/**
 * gnip_session_new - prepare a session
 * @gd: the interface
 *
 * Context: process, may sleep.
 * Return: the session, or an error pointer.
 */
struct gnip_session *gnip_session_new(struct gnip_dev *gd)
{
	struct gnip_session *s;
	unsigned int i;
	int err;

	s = kvzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->gd = gd;
	s->chans = gd->nqueues;
	INIT_LIST_HEAD(&s->node);
	err = gnip_session_mboxes(s);
	for (i = 0; i < s->chans && !err; i++)
		err = gnip_chan_init(s, i);
	if (err) {
		gnip_session_free(s, false);
		return ERR_PTR(err);
	}
	gnip_session_hello(s);
	return s;
}

/**
 * gnip_session_post - post a session's datagram
 * @s: the session
 * @pe: for whom; GNIP_PE_FLOOD for whoever comes
 *
 * Context: process, may sleep.
 * Return: what gni_ep_postdata_w_id() returns, or what came before it.
 */
gni_return_t gnip_session_post(struct gnip_session *s, u32 pe)
{
	struct gnip_dev *gd = s->gd;
	gni_return_t rc;

	rc = gni_ep_create(gd->nic, NULL, &s->dgram_ep);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	if (pe != GNIP_PE_FLOOD)
		rc = gni_ep_bind(s->dgram_ep, pe, GNIP_INST_ID);
	s->pe = pe;
	s->dgram_id = ++gd->next_dgram;
	if (rc == GNI_RC_SUCCESS)
		rc = gni_ep_postdata_w_id(s->dgram_ep, &s->out, sizeof(s->out), &s->in,
					  sizeof(s->in), s->dgram_id);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	s->posted = true;
	list_add_tail(&s->node, &gd->sessions);
	return rc;
}

/* Does the peer speak as we do? What it says can be wrong only to its own harm. */
static bool gnip_hello_good(const struct gnip_session *s)
{
	const struct gnip_hello *h = &s->in;

	return h->magic == cpu_to_le32(GNIP_MAGIC) && h->version == GNIP_VERSION &&
	       h->chans && h->chans <= GNIP_QUEUES_MAX &&
	       h->credits == cpu_to_le16(GNIP_CREDITS) &&
	       h->msg_max == cpu_to_le32(GNIP_MSG_MAX);
}

static int gnip_chan_smsg(struct gnip_chan *chan, unsigned int i)
{
	struct gnip_session *s = chan->session;
	gni_smsg_attr_t local, remote;

	gnip_smsg_attr(&local);
	remote = local;
	local.msg_buffer = s->mbox;
	local.buff_size = s->mbox_size;
	local.mbox_offset = i * s->mbox_size;
	local.mem_hndl = chan->mbox;
	remote.msg_buffer = (void *)(uintptr_t)le64_to_cpu(s->in.mbox_addr);
	remote.buff_size = le32_to_cpu(s->in.mbox_size);
	remote.mbox_offset = i * remote.buff_size;
	remote.mem_hndl.qword1 = le64_to_cpu(s->in.chan[i].mbox[0]);
	remote.mem_hndl.qword2 = le64_to_cpu(s->in.chan[i].mbox[1]);
	return gni_smsg_init(chan->ep, &local, &remote) == GNI_RC_SUCCESS ? 0 : -EPROTO;
}

static int gnip_chan_start(struct gnip_session *s, unsigned int i)
{
	struct gnip_chan *chan = &s->chan[i];
	struct gnip_dev *gd = s->gd;
	int err;

	if (gni_ep_create(gd->nic, chan->q->tx_cq, &chan->ep) != GNI_RC_SUCCESS)
		return -ENOBUFS;
	if (gni_ep_bind(chan->ep, s->pe, GNIP_INST_ID) != GNI_RC_SUCCESS ||
	    gni_ep_set_eventdata(chan->ep, chan->id,
				 le32_to_cpu(s->in.chan[i].event)) != GNI_RC_SUCCESS)
		return -ENOBUFS;
	err = gnip_chan_smsg(chan, i);
	if (!err)
		err = gnip_pool_create(&chan->pool, gd->nic, gnip_buffers);
	if (!err)
		err = gnip_queue_command(chan, GNIP_CMD_ATTACH);
	return err;
}

/**
 * gnip_session_start - begin with a session whose datagram was answered
 * @s: the session; @s->pe is who answered
 *
 * Context: process, may sleep.
 * Return: 0 or -errno; then only gnip_session_free() is left to do.
 */
int gnip_session_start(struct gnip_session *s)
{
	unsigned int i, mine = s->chans;
	int err;

	if (!gnip_hello_good(s))
		return -EPROTO;
	gni_ep_destroy(s->dgram_ep);
	s->dgram_ep = NULL;
	for (i = min_t(unsigned int, mine, s->in.chans); i < mine; i++) {
		gnip_chan_exit(&s->chan[i], 0);
		s->chans--;
	}
	for (i = 0; i < s->chans; i++) {
		err = gnip_chan_start(s, i);
		if (err)
			return err;
	}
	return 0;
}

/**
 * gnip_session_free - end a session, whatever it has come to
 * @s: the session
 * @bye: tell the peer, if it can be told
 *
 * Context: process, sleeps until nothing is under way.
 */
void gnip_session_free(struct gnip_session *s, bool bye)
{
	/* What the peer has posted may still be on its way, unless it has connected anew. */
	int hold = s->posted && !s->replaced ? GNIP_HOLD : 0;
	unsigned int i;

	list_del(&s->node);
	if (s->dgram_ep)
		gni_ep_destroy(s->dgram_ep);
	for (i = 0; i < s->chans; i++)
		if (s->chan[i].ep)
			gnip_queue_command(&s->chan[i], bye ? GNIP_CMD_DETACH_BYE :
							      GNIP_CMD_DETACH);
	for (i = 0; i < s->chans; i++)
		if (s->chan[i].session)
			gnip_chan_exit(&s->chan[i], hold);
	vfree(s->mbox);
	kvfree(s);
}
