/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gnip: a network interface over GNI. What its files share.
 *
 * A gnip_dev is an interface on one GNI device. Its hardware address holds the
 * device's PE address, so that a neighbour's hardware address says where to
 * send. A gnip_peer is such a PE; a gnip_session the connection with it, made
 * by an exchange of datagrams, of one gnip_chan for each pair of queues.
 *
 * What frames go through, gnip_queue and its gnip_chan, belongs to the queue's
 * NAPI and needs no locks. Sessions and peers' states belong to one work item of
 * the interface, which hands channels to NAPI, and takes them back, by commands.
 *
 * Locks: RTNL, then gnip_lock, then gnip_dev.peers_lock, gnip_dev.up_lock or
 * gnip_peer.lock, then those of lists of frames.
 */
#ifndef _GNIP_H
#define _GNIP_H

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/virtio_net.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <gni_pub.h>

#define GNIP_MAGIC		0x70696e67	/* "gnip" */
#define GNIP_VERSION		1
/* The instance id of every interface; one domain has one of them on a device. */
#define GNIP_INST_ID		GNIP_MAGIC
/* One that nobody has. */
#define GNIP_INST_NOBODY	(GNIP_MAGIC + 1)

#define GNIP_QUEUES_MAX		4
/* Messages on their way in a channel, and bytes of one, header included. */
#define GNIP_CREDITS		64
#define GNIP_MSG_MAX		2048
/* A receive buffer; frames are no longer than it and the head in the message. */
#define GNIP_BUF_SIZE		65536
#define GNIP_BUF_PAGES		(GNIP_BUF_SIZE / PAGE_SIZE)
#define GNIP_BUFS_MAX		256
/* Most of a large frame's head that goes by message. */
#define GNIP_HEAD_MAX		512
#define GNIP_FRAME_MAX		(GNIP_BUF_SIZE + GNIP_HEAD_MAX)
/* With its header a frame is shorter than a buffer. */
#define GNIP_MTU_MAX		65520
/* Events that a completion queue holds. */
#define GNIP_CQ_SIZE		8192
#define GNIP_PEERS_MAX		4096
#define GNIP_PEERS_HASH_BITS	8

/**
 * struct gnip_hello - the datagram that makes a session
 * @magic: GNIP_MAGIC
 * @version: GNIP_VERSION
 * @chans: channels offered
 * @credits: GNIP_CREDITS
 * @msg_max: GNIP_MSG_MAX
 * @mbox_size: bytes of a mailbox
 * @mbox_addr: address of the first mailbox; the others follow
 * @chan: for each channel
 * @chan.mbox: handle of its mailbox's region
 * @chan.event: what its remote events shall say
 */
struct gnip_hello {
	__le32 magic;
	u8 version;
	u8 chans;
	__le16 credits;
	__le32 msg_max;
	__le32 mbox_size;
	__le64 mbox_addr;
	struct {
		__le64 mbox[2];
		__le32 event;
	} __packed chan[GNIP_QUEUES_MAX];
} __packed;

static_assert(sizeof(struct gnip_hello) <= GNI_DATAGRAM_MAXSIZE);

enum gnip_msg_type {
	GNIP_MSG_POOL = 1,	/* @body receive buffers for the peer, in the region that follows */
	GNIP_MSG_FRAME,
	GNIP_MSG_RETURN,	/* only takes buffers back to the peer */
	GNIP_MSG_BYE,		/* the session ends */
};

/* How many buffers a frame's message takes back with it; other messages take more. */
#define GNIP_RETURNS		8
#define GNIP_RETURNS_MAX	255

/**
 * struct gnip_msg - header of a short message
 * @type: GNIP_MSG_*
 * @returns: buffers that the peer may fill again, their numbers follow as __le16
 * @head: bytes of the frame that follow those
 * @body: bytes of the frame that are in buffer @buf
 * @buf: number of the buffer, if @body is not 0
 * @vnet: checksum and segmentation that are still to be done
 */
struct gnip_msg {
	u8 type;
	u8 returns;
	__le16 head;
	__le32 body;
	__le16 buf;
	struct virtio_net_hdr vnet;
} __packed;

/* The largest frame that a message takes whole. */
#define GNIP_SMALL_MAX \
	(GNIP_MSG_MAX - sizeof(struct gnip_msg) - GNIP_RETURNS * sizeof(__le16))

enum gnip_stat {
	GNIP_RX_PACKETS,
	GNIP_RX_BYTES,
	GNIP_RX_NO_MEMORY,
	GNIP_RX_ERRORS,
	GNIP_RX_LARGE,
	GNIP_RX_COPIED,
	GNIP_RX_OVERRUNS,
	GNIP_TX_PACKETS,
	GNIP_TX_BYTES,
	GNIP_TX_LARGE,
	GNIP_TX_FLOODED,
	GNIP_TX_NO_PEER,
	GNIP_TX_NO_SESSION,
	GNIP_TX_STALLED,
	GNIP_TX_NO_MEMORY,
	GNIP_TX_ERRORS,
	GNIP_TX_NO_CREDIT,
	GNIP_TX_NO_BUFFER,
	GNIP_TX_STOPS,
	GNIP_QUEUE_STATS
};

enum gnip_dev_stat {
	GNIP_SESSIONS,
	GNIP_SESSIONS_LOST,
	GNIP_SESSIONS_CLOSED,
	GNIP_CONNECT_TIMEOUTS,
	GNIP_CONNECT_ERRORS,
	GNIP_QUIESCES,
	GNIP_DEV_STATS
};

/* What gnip keeps in a frame that it has to send. */
struct gnip_cb {
	struct gnip_txe *txe;
	u32 pe;
	bool counted;		/* in its queue's backlog */
};

static inline struct gnip_cb *gnip_cb(struct sk_buff *skb)
{
	return (struct gnip_cb *)skb->cb;
}

/* A PE address that is none: a frame for all peers. */
#define GNIP_PE_FLOOD		U32_MAX

/**
 * struct gnip_pool - receive buffers that a peer fills
 * @nic: where they are registered
 * @hndl: their handle; buffer i is at i * GNIP_BUF_SIZE
 * @registered: they are
 * @count: buffers
 * @order: order of the pieces of a buffer
 * @pages: the pieces, those of a buffer side by side
 * @peers: buffers that the peer may fill
 * @lent: buffers with frames that the network stack has
 * @nlent: how many
 * @returns: buffers that the peer has to be told about
 * @nreturns: how many
 */
struct gnip_pool {
	gni_nic_handle_t nic;
	gni_mem_handle_t hndl;
	bool registered;
	unsigned int count;
	unsigned int order;
	struct page **pages;
	DECLARE_BITMAP(peers, GNIP_BUFS_MAX);
	DECLARE_BITMAP(lent, GNIP_BUFS_MAX);
	unsigned int nlent;
	u16 returns[GNIP_BUFS_MAX];
	unsigned int nreturns;
};

/**
 * struct gnip_chan - one pair of queues of a session
 * @session: the session
 * @q: its queue here
 * @id: what events of it say
 * @remote_event: what events of it say at the peer
 * @ep: its endpoint
 * @mbox: handle of its mailbox here
 * @registered: the mailbox is
 * @ready_node: in q->ready, while it may have messages
 * @send_node: in q->sending, while it is worth a try to send
 * @unsent_node: in q->unsent, while it has something to send
 * @attached: its queue's NAPI has it
 * @failed: it does no more
 * @hello: its pool is still to be told to the peer
 * @detach: command that waits until nothing is under way
 * @outstanding: source events that are still to come
 * @waiting: frames to be sent
 * @started: those that the block transfer engine may have begun with, or that
 *	wait for such; sent in this order
 * @progress: when something was sent last, or there was nothing to send, jiffies
 * @pool: receive buffers here
 * @remote_pool: handle of those at the peer
 * @remote_count: how many there are
 * @free: those that may be filled
 * @nfree: how many
 * @remote_peers: those that are free or being filled, by number; to notice bad ones
 */
struct gnip_chan {
	struct gnip_session *session;
	struct gnip_queue *q;
	u32 id;
	u32 remote_event;
	gni_ep_handle_t ep;
	gni_mem_handle_t mbox;
	bool registered;
	struct list_head ready_node;
	struct list_head send_node;
	struct list_head unsent_node;
	bool attached;
	bool failed;
	bool hello;
	struct gnip_cmd *detach;
	unsigned int outstanding;
	struct sk_buff_head waiting;
	struct sk_buff_head started;
	unsigned long progress;
	struct gnip_pool pool;
	gni_mem_handle_t remote_pool;
	unsigned int remote_count;
	u16 free[GNIP_BUFS_MAX];
	unsigned int nfree;
	DECLARE_BITMAP(remote_peers, GNIP_BUFS_MAX);
};

/**
 * struct gnip_post - one block transfer
 * @d: its descriptor
 * @txe: what it is part of
 */
struct gnip_post {
	gni_post_descriptor_t d;
	struct gnip_txe *txe;
};

/**
 * struct gnip_txe - a large frame on its way into a buffer of the peer
 * @chan: channel
 * @buf: the buffer
 * @head: bytes that go by message
 * @body: bytes that go into the buffer
 * @fma: without the block transfer engine
 * @count: transfers that it takes
 * @posted: how many were posted
 * @done: how many are over
 * @post: the transfers
 */
struct gnip_txe {
	struct gnip_chan *chan;
	u16 buf;
	u16 head;
	u32 body;
	bool fma;
	unsigned int count;
	unsigned int posted;
	unsigned int done;
	struct gnip_post post[];
};

enum gnip_cmd_type {
	GNIP_CMD_ATTACH,
	GNIP_CMD_DETACH,
	GNIP_CMD_DETACH_BYE,	/* and tell the peer */
};

/* Something that a queue's NAPI shall do, and whoever waits for it. */
struct gnip_cmd {
	struct list_head node;
	enum gnip_cmd_type type;
	struct gnip_chan *chan;
	struct completion done;
	int err;
};

/**
 * struct gnip_queue - a pair of queues
 * @gd: the interface
 * @index: number of the queue
 * @flags: GNIP_Q_* bits
 * @txq: frames from ndo_start_xmit
 * @backlog: frames from there that are not done with
 * @cmd_lock: guards @cmds
 * @cmds: commands
 * @tx_cq: queue of source events of messages and FMA, which are there when the post
 *	returns, so that nobody has to be told
 * @bte_cq: queue of source events of block transfers
 * @rx_cq: queue of remote events
 * @ready: channels that may have messages
 * @sending: those for which it is worth a try to send
 * @unsent: those that have something to send
 * @timer: looks after those
 * @by_event: channels by id
 * @by_pe: channels by PE address
 * @recent: the channel that was looked up last, or NULL
 * @outstanding: source events that are still to come
 * @transfers: those of them that are of block transfers, and so come in @bte_cq
 * @napi: NAPI
 * @head: message that is being sent, and what buffers go back with it
 * @scratch: head of a frame that is in pieces
 * @stats: counters
 */
struct gnip_queue {
	struct gnip_dev *gd;
	unsigned int index;
	unsigned long flags;
	struct sk_buff_head txq;
	atomic_t backlog;
	spinlock_t cmd_lock;	/* cmds */
	struct list_head cmds;
	gni_cq_handle_t tx_cq;
	gni_cq_handle_t bte_cq;
	gni_cq_handle_t rx_cq;
	struct list_head ready;
	struct list_head sending;
	struct list_head unsent;
	struct timer_list timer;
	struct xarray by_event;
	struct xarray by_pe;
	struct gnip_chan *recent;
	unsigned int outstanding;
	unsigned int transfers;
	struct napi_struct napi;
	struct {
		struct gnip_msg msg;
		__le16 returns[GNIP_RETURNS_MAX];
	} __packed head;
	u8 scratch[GNIP_MSG_MAX];
	atomic64_t stats[GNIP_QUEUE_STATS];
};

#define GNIP_Q_TICK		0	/* it is time to look at those in @unsent */

/**
 * struct gnip_session - a connection with a peer, or what may become one
 * @node: in gd->sessions
 * @gd: the interface
 * @peer: with whom; NULL for a wildcard that is waiting
 * @pe: its PE address
 * @dgram_id: id of its datagram
 * @dgram_ep: endpoint of the datagram, NULL when it is done
 * @out: what the peer gets
 * @in: what it sent
 * @mbox: mailboxes
 * @mbox_size: bytes of one
 * @chans: channels; before it is known what the peer offers, as many as queues
 * @failed: a channel of it does no more
 * @bye: the peer said that it ends
 * @posted: a peer may know of it
 * @replaced: the peer has connected anew
 * @chan: the channels
 */
struct gnip_session {
	struct list_head node;
	struct gnip_dev *gd;
	struct gnip_peer *peer;
	u32 pe;
	u64 dgram_id;
	gni_ep_handle_t dgram_ep;
	struct gnip_hello out;
	struct gnip_hello in;
	void *mbox;
	unsigned int mbox_size;
	unsigned int chans;
	bool failed;
	bool bye;
	bool posted;
	bool replaced;
	struct gnip_chan chan[GNIP_QUEUES_MAX];
};

enum gnip_peer_state {
	GNIP_DOWN,
	GNIP_WANTED,		/* somebody wants to send to it */
	GNIP_CONNECTING,	/* a datagram for it is posted */
	GNIP_UP,
};

/**
 * struct gnip_peer - another interface
 * @node: in gd->peers
 * @rcu: for the free
 * @pe: its PE address
 * @lock: guards what follows but @session and @known
 * @state: of the connection
 * @chans: channels, in state GNIP_UP
 * @since: when the state was entered, jiffies
 * @retry: not wanted before then, jiffies
 * @pending: frames for it until there is a connection
 * @session: the session, for the interface's work only
 * @known: the last gd->known for which it gets frames for all even if it has not
 *	spoken yet
 * @gone: while it is being freed
 */
struct gnip_peer {
	struct hlist_node node;
	struct rcu_head rcu;
	u32 pe;
	spinlock_t lock;	/* what follows */
	enum gnip_peer_state state;
	unsigned int chans;
	unsigned long since;
	unsigned long retry;
	struct sk_buff_head pending;
	struct gnip_session *session;
	unsigned int known;
	struct list_head gone;
};

/**
 * struct gnip_dev - an interface
 * @node: in gnip_devs
 * @dev: its network device
 * @device_id: N of /dev/kgniN
 * @pe: its PE address
 * @cdm: communication domain
 * @nic: its NIC
 * @life: endpoint of a datagram that nobody answers: it ends when the device is deleted
 * @up_lock: guards changes of @up and of the carrier, which is on only while it is up
 * @up: the interface is
 * @closer: ends what an interface that goes down has
 * @closed: there is nothing of that any more
 * @max_queues: queues that there are
 * @nqueues: those that are used
 * @queues: the queues
 * @peers_lock: guards changes of @peers
 * @npeers: how many there are
 * @peers: peers by PE address, read under RCU
 * @conn: connects
 * @wq: where @conn runs
 * @waiter: thread that waits for datagrams
 * @probed: @conn has looked for datagrams since @waiter found one
 * @sessions: sessions, for @conn only
 * @next_dgram: id of the next datagram, for @conn only
 * @known: which state of other interfaces @conn has seen
 * @ids: ids of channels
 * @stats: counters
 */
struct gnip_dev {
	struct list_head node;
	struct net_device *dev;
	u32 device_id;
	u32 pe;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t life;
	spinlock_t up_lock;	/* up */
	bool up;
	struct work_struct closer;
	struct completion closed;
	unsigned int max_queues;
	unsigned int nqueues;
	struct gnip_queue *queues;
	spinlock_t peers_lock;	/* peers */
	unsigned int npeers;
	DECLARE_HASHTABLE(peers, GNIP_PEERS_HASH_BITS);
	struct delayed_work conn;
	struct workqueue_struct *wq;
	struct task_struct *waiter;
	struct completion probed;
	struct list_head sessions;
	u64 next_dgram;
	unsigned int known;
	struct ida ids;
	atomic64_t stats[GNIP_DEV_STATS];
};

static inline void gnip_count(struct gnip_queue *q, enum gnip_stat stat)
{
	atomic64_inc(&q->stats[stat]);
}

static inline void gnip_count_dev(struct gnip_dev *gd, enum gnip_dev_stat stat)
{
	atomic64_inc(&gd->stats[stat]);
}

/* gnip_main.c */
extern unsigned int gnip_buffers;
extern unsigned int gnip_fma_max;
void gnip_pe_to_mac(u32 pe, u8 *mac);
bool gnip_mac_to_pe(const u8 *mac, u32 *pe);
void gnip_known_peers(struct gnip_dev *gd);
bool gnip_closing(struct gnip_dev *gd);

/* gnip_ethtool.c */
extern const struct ethtool_ops gnip_ethtool_ops;

/* gnip_queue.c */
int gnip_queue_open(struct gnip_queue *q);
void gnip_queue_close(struct gnip_queue *q);
void gnip_queue_wake(struct gnip_queue *q);
void gnip_queue_events(struct gnip_queue *q);
int gnip_queue_command(struct gnip_chan *chan, enum gnip_cmd_type type);
netdev_tx_t gnip_xmit(struct sk_buff *skb, struct net_device *dev);
void gnip_skb_done(struct gnip_dev *gd, struct sk_buff *skb);
void gnip_skb_drop(struct gnip_queue *q, struct sk_buff *skb, enum gnip_stat why);
void gnip_skb_again(struct gnip_dev *gd, struct sk_buff *skb, unsigned int chans);
struct gnip_queue *gnip_skb_queue(struct gnip_dev *gd, const struct sk_buff *skb);

/* gnip_chan.c */
struct gnip_chan *gnip_chan_by_event(struct gnip_queue *q, u32 id);
struct gnip_chan *gnip_chan_by_pe(struct gnip_queue *q, u32 pe);
int gnip_chan_attach(struct gnip_chan *chan);
void gnip_chan_detach(struct gnip_chan *chan, struct gnip_cmd *cmd);
void gnip_chan_fail(struct gnip_chan *chan, const char *why);
void gnip_chan_over(struct gnip_chan *chan);

/* gnip_tx.c */
void gnip_tx_frame(struct gnip_queue *q, struct sk_buff *skb);
void gnip_tx_send(struct gnip_chan *chan);
void gnip_tx_want(struct gnip_chan *chan);
void gnip_tx_check(struct gnip_chan *chan);
void gnip_tx_posted(struct gnip_post *post);
void gnip_tx_purge(struct gnip_chan *chan);
bool gnip_tx_buffer(struct gnip_chan *chan, unsigned int buf);
bool gnip_tx_bye(struct gnip_chan *chan);

/* gnip_rx.c */
bool gnip_rx_drain(struct gnip_chan *chan, unsigned int *budget);

/* gnip_pool.c */
int gnip_pool_create(struct gnip_pool *pool, gni_nic_handle_t nic, unsigned int count);
void gnip_pool_destroy(struct gnip_pool *pool, int hold);
bool gnip_pool_take(struct gnip_pool *pool, unsigned int buf);
void gnip_pool_return(struct gnip_pool *pool, unsigned int buf);
void gnip_pool_lend(struct gnip_pool *pool, unsigned int buf, struct sk_buff *skb,
		    unsigned int length);
void gnip_pool_copy(struct gnip_pool *pool, unsigned int buf, struct sk_buff *skb,
		    unsigned int offset, unsigned int length);
bool gnip_pool_scarce(struct gnip_pool *pool);
unsigned int gnip_pool_returns(struct gnip_pool *pool, __le16 *list, unsigned int max);
void gnip_pool_returned(struct gnip_pool *pool, unsigned int count);

/* gnip_peer.c */
static inline bool gnip_peer_known(const struct gnip_dev *gd, const struct gnip_peer *peer)
{
	unsigned int known = READ_ONCE(peer->known);

	return known && known >= READ_ONCE(gd->known);
}

struct gnip_peer *gnip_peer_get(struct gnip_dev *gd, u32 pe);
void gnip_peer_hold(struct gnip_queue *q, u32 pe, struct sk_buff *skb);
void gnip_peer_set(struct gnip_peer *peer, enum gnip_peer_state state, unsigned long delay);
void gnip_peer_up(struct gnip_dev *gd, struct gnip_peer *peer, unsigned int chans);
void gnip_peer_drop_pending(struct gnip_dev *gd, struct gnip_peer *peer);
void gnip_peers_expire(struct gnip_dev *gd);
void gnip_peers_free(struct gnip_dev *gd);

/* gnip_conn.c */
int gnip_conn_open(struct gnip_dev *gd);
void gnip_conn_stop(struct gnip_dev *gd);
void gnip_conn_close(struct gnip_dev *gd);
void gnip_conn_kick(struct gnip_dev *gd);
void gnip_conn_work(struct work_struct *work);

/* gnip_session.c */
struct gnip_session *gnip_session_new(struct gnip_dev *gd);
gni_return_t gnip_session_post(struct gnip_session *s, u32 pe);
int gnip_session_start(struct gnip_session *s);
void gnip_session_free(struct gnip_session *s, bool bye);

#endif
