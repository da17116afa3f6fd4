// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting: one work item of the interface owns all sessions.
 *
 * A session is wanted when there is a frame for a peer. Then a datagram bound to
 * it is posted, which waits there until the peer listens. Each interface has
 * wildcard datagrams posted for those that come. Two that connect to each other
 * at once make one session: GNI matches the two datagrams, or refuses one of
 * them while the other is exchanged. A peer that connects anew has forgotten the
 * session before, whatever became of it.
 *
 * A thread waits for datagrams to end, and tells the work.
 */
#include <linux/kthread.h>

#include "gnip.h"

#define GNIP_WILDCARDS		2
/* Datagrams that are posted for peers at once: each has mailboxes. */
#define GNIP_CONNECTING_MAX	32
/* For how long frames wait for a peer, and how long its datagram does, jiffies. */
#define GNIP_PENDING_TIME	HZ
#define GNIP_CONNECT_TIME	(10 * HZ)
/* When to try again: after the other side was faster; after a failure. */
#define GNIP_SOON		max(HZ / 50, 1)
#define GNIP_LATER		HZ
/* How often the work looks around when nothing calls for it. */
#define GNIP_ROUND		HZ
/* How long the thread waits before it sees whether it is to end, milliseconds. */
#define GNIP_PROBE_TIME		250

/**
 * gnip_conn_kick - have the interface's work look around
 * @gd: the interface
 *
 * Context: any.
 */
void gnip_conn_kick(struct gnip_dev *gd)
{
	if (READ_ONCE(gd->up))
		mod_delayed_work(gd->wq, &gd->conn, 0);
}

/* --- sessions ------------------------------------------------------------------- */

/* The peer's session ends. */
static void gnip_conn_drop(struct gnip_dev *gd, struct gnip_peer *peer, bool bye,
			   unsigned long delay)
{
	struct gnip_session *s = peer->session;

	gnip_peer_set(peer, GNIP_DOWN, delay);
	peer->session = NULL;
	gnip_session_free(s, bye);
}

static int gnip_conn_start(struct gnip_dev *gd, struct gnip_session *s, struct gnip_peer *peer)
{
	int err = gnip_session_start(s);

	if (err) {
		netdev_warn_once(gd->dev, "no session with PE %u: error %d\n", s->pe, err);
		gnip_count_dev(gd, GNIP_CONNECT_ERRORS);
		return err;
	}
	s->peer = peer;
	peer->session = s;
	gnip_count_dev(gd, GNIP_SESSIONS);
	gnip_peer_up(gd, peer, s->chans);
	return 0;
}

/* A datagram was answered by @pe. */
static void gnip_conn_answered(struct gnip_dev *gd, struct gnip_session *s, u32 pe)
{
	struct gnip_peer *peer = gnip_peer_get(gd, pe);

	s->pe = pe;
	if (!peer) {
		gnip_count_dev(gd, GNIP_CONNECT_ERRORS);
		gnip_session_free(s, false);
		return;
	}
	/* What there was before is gone at the peer, or never came to be. */
	if (peer->session && peer->session != s) {
		if (peer->session->peer) {
			gnip_count_dev(gd, GNIP_SESSIONS_LOST);
			peer->session->replaced = true;
		}
		gnip_conn_drop(gd, peer, false, 0);
	}
	if (gnip_conn_start(gd, s, peer)) {
		peer->session = NULL;
		gnip_peer_set(peer, GNIP_DOWN, GNIP_LATER);
		gnip_peer_drop_pending(gd, peer);
		gnip_session_free(s, false);
	}
}

/* A datagram ended without an answer. */
static void gnip_conn_unanswered(struct gnip_dev *gd, struct gnip_session *s)
{
	struct gnip_peer *peer = s->pe == GNIP_PE_FLOOD ? NULL : gnip_peer_get(gd, s->pe);

	if (peer && peer->session == s) {
		peer->session = NULL;
		gnip_peer_set(peer, GNIP_DOWN, GNIP_LATER);
		gnip_peer_drop_pending(gd, peer);
	}
	gnip_count_dev(gd, GNIP_CONNECT_ERRORS);
	gnip_session_free(s, false);
}

static struct gnip_session *gnip_conn_find(struct gnip_dev *gd, u64 id)
{
	struct gnip_session *s;

	list_for_each_entry(s, &gd->sessions, node)
		if (s->dgram_ep && s->dgram_id == id)
			return s;
	return NULL;
}

static void gnip_conn_ended(struct gnip_dev *gd, struct gnip_session *s)
{
	gni_post_state_t state;
	u32 pe, inst_id;
	gni_return_t rc;

	rc = gni_ep_postdata_test_by_id(s->dgram_ep, s->dgram_id, &state, &pe, &inst_id);
	if (rc == GNI_RC_SUCCESS && state == GNI_POST_COMPLETED)
		gnip_conn_answered(gd, s, pe);
	else if (rc != GNI_RC_SUCCESS || (state != GNI_POST_PENDING &&
					  state != GNI_POST_REMOTE_DATA))
		gnip_conn_unanswered(gd, s);
}

/* Datagrams that ended, unless they are of endpoints that are gone. */
static void gnip_conn_probe(struct gnip_dev *gd)
{
	struct gnip_session *s;
	u64 id, last = 0;

	while (gni_postdata_probe_by_id(gd->nic, &id) == GNI_RC_SUCCESS && id != last) {
		s = gnip_conn_find(gd, id);
		if (s)
			gnip_conn_ended(gd, s);
		last = id;
	}
	complete(&gd->probed);
}

/* --- wishes --------------------------------------------------------------------- */

static void gnip_conn_listen(struct gnip_dev *gd)
{
	struct gnip_session *s;
	unsigned int n = 0;

	list_for_each_entry(s, &gd->sessions, node)
		if (s->dgram_ep && s->pe == GNIP_PE_FLOOD)
			n++;
	for (; n < GNIP_WILDCARDS; n++) {
		s = gnip_session_new(gd);
		if (IS_ERR(s))
			return;
		if (gnip_session_post(s, GNIP_PE_FLOOD) != GNI_RC_SUCCESS) {
			gnip_session_free(s, false);
			return;
		}
	}
}

/* Return: jiffies after which to look at the peer again. */
static unsigned long gnip_conn_connect(struct gnip_dev *gd, struct gnip_peer *peer)
{
	struct gnip_session *s = gnip_session_new(gd);
	gni_return_t rc;

	if (IS_ERR(s))
		return GNIP_SOON;
	rc = gnip_session_post(s, peer->pe);
	if (rc == GNI_RC_SUCCESS) {
		peer->session = s;
		gnip_peer_set(peer, GNIP_CONNECTING, 0);
		return GNIP_ROUND;
	}
	gnip_session_free(s, false);
	/* That datagram will come, or has come; or there is no memory. */
	return GNIP_SOON;
}

static void gnip_conn_give_up(struct gnip_dev *gd, struct gnip_peer *peer)
{
	gnip_count_dev(gd, GNIP_CONNECT_TIMEOUTS);
	if (peer->session)
		gnip_conn_drop(gd, peer, false, GNIP_LATER);
	else
		gnip_peer_set(peer, GNIP_DOWN, GNIP_LATER);
	gnip_peer_drop_pending(gd, peer);
}

static bool gnip_conn_lasts(const struct gnip_peer *peer, unsigned long time)
{
	return time_after(jiffies, READ_ONCE(peer->since) + time);
}

/* Return: jiffies after which to look at the peer again. */
static unsigned long gnip_conn_peer(struct gnip_dev *gd, struct gnip_peer *peer,
				    unsigned int *connecting)
{
	struct gnip_session *s = peer->session;

	switch (READ_ONCE(peer->state)) {
	case GNIP_DOWN:
		break;
	case GNIP_WANTED:
		if (gnip_conn_lasts(peer, GNIP_CONNECT_TIME))
			gnip_conn_give_up(gd, peer);
		else if (*connecting < GNIP_CONNECTING_MAX)
			return gnip_conn_connect(gd, peer);
		break;
	case GNIP_CONNECTING:
		++*connecting;
		if (gnip_conn_lasts(peer, GNIP_CONNECT_TIME))
			gnip_conn_give_up(gd, peer);
		else if (gnip_conn_lasts(peer, GNIP_PENDING_TIME))
			gnip_peer_drop_pending(gd, peer);
		break;
	case GNIP_UP:
		if (!READ_ONCE(s->failed))
			break;
		if (READ_ONCE(s->bye)) {
			gnip_count_dev(gd, GNIP_SESSIONS_CLOSED);
			gnip_conn_drop(gd, peer, true, GNIP_SOON);
		} else {
			/* Not at once: what it was told is held for a while. */
			gnip_count_dev(gd, GNIP_SESSIONS_LOST);
			gnip_conn_drop(gd, peer, true, GNIP_LATER / 4);
		}
		break;
	}
	return GNIP_ROUND;
}

static unsigned long gnip_conn_peers(struct gnip_dev *gd)
{
	unsigned long delay = GNIP_ROUND;
	unsigned int connecting = 0;
	struct gnip_peer *peer;
	int bucket;

	/* Only this work removes peers; others may add to the front of a list. */
	rcu_read_lock();
	hash_for_each_rcu(gd->peers, bucket, peer, node) {
		rcu_read_unlock();
		delay = min(delay, gnip_conn_peer(gd, peer, &connecting));
		rcu_read_lock();
	}
	rcu_read_unlock();
	return delay;
}

/* While the device stands still nothing is sent or received. */
static void gnip_conn_carrier(struct gnip_dev *gd)
{
	bool still = gni_get_quiesce_status(gd->nic);

	spin_lock(&gd->up_lock);
	if (gd->up && !still) {
		netif_carrier_on(gd->dev);
	} else if (gd->up && netif_carrier_ok(gd->dev)) {
		gnip_count_dev(gd, GNIP_QUIESCES);
		netif_carrier_off(gd->dev);
	}
	spin_unlock(&gd->up_lock);
}

/**
 * gnip_conn_work - the interface's work
 * @work: gd->conn
 */
void gnip_conn_work(struct work_struct *work)
{
	struct gnip_dev *gd = container_of(to_delayed_work(work), struct gnip_dev, conn);
	unsigned long delay;

	/* A kick may have come late. */
	if (!READ_ONCE(gd->up))
		return;
	gnip_conn_carrier(gd);
	gnip_known_peers(gd);
	gnip_conn_probe(gd);
	delay = gnip_conn_peers(gd);
	gnip_conn_listen(gd);
	gnip_peers_expire(gd);
	/* Not sooner than somebody else wants it. */
	queue_delayed_work(gd->wq, &gd->conn, delay);
}

/* --- begin and end ---------------------------------------------------------------- */

static int gnip_conn_waiter(void *data)
{
	struct gnip_dev *gd = data;
	u64 id;

	while (!kthread_should_stop()) {
		if (gni_postdata_probe_wait_by_id(gd->nic, GNIP_PROBE_TIME, &id) !=
		    GNI_RC_SUCCESS)
			continue;
		/* It is found again and again until the work has taken it. */
		reinit_completion(&gd->probed);
		gnip_conn_kick(gd);
		wait_for_completion_timeout(&gd->probed, HZ / 4);
	}
	return 0;
}

/**
 * gnip_conn_open - begin to connect
 * @gd: the interface; its queues are open
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int gnip_conn_open(struct gnip_dev *gd)
{
	INIT_LIST_HEAD(&gd->sessions);
	init_completion(&gd->probed);
	WRITE_ONCE(gd->up, true);
	gd->waiter = kthread_run(gnip_conn_waiter, gd, "%s-conn", netdev_name(gd->dev));
	if (IS_ERR(gd->waiter)) {
		WRITE_ONCE(gd->up, false);
		return PTR_ERR(gd->waiter);
	}
	gnip_conn_kick(gd);
	return 0;
}

/**
 * gnip_conn_stop - begin no more, and have no carrier
 * @gd: the interface; nobody transmits
 *
 * Context: process.
 */
void gnip_conn_stop(struct gnip_dev *gd)
{
	/* After this the work does nothing. */
	spin_lock(&gd->up_lock);
	WRITE_ONCE(gd->up, false);
	netif_carrier_off(gd->dev);
	spin_unlock(&gd->up_lock);
	complete_all(&gd->probed);
}

/**
 * gnip_conn_close - end all sessions
 * @gd: the interface, after gnip_conn_stop(); its queues are still open
 *
 * Context: process, sleeps until what is under way is over.
 */
void gnip_conn_close(struct gnip_dev *gd)
{
	struct gnip_session *s, *next;

	kthread_stop(gd->waiter);
	cancel_delayed_work_sync(&gd->conn);
	list_for_each_entry_safe(s, next, &gd->sessions, node)
		gnip_session_free(s, true);
}
