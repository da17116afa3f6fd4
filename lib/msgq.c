// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shared message queues: sending and receiving. The protocol is in
 * kernel/core/msgq.h; here it is carried by FMA puts (window.c; driver: kernel/fma.c).
 * msgq_init.c has joining and leaving, msgq_conn.c connections.
 *
 * How a put ended has to be known before the lock of its connection is given up,
 * so its event goes to a queue of our own, and the endpoint's queue is told here.
 *
 * Locks of the region (words in it) are taken with the message queue locked, so one
 * thread of a process at a time wants them.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "msgq.h"

/* How often to try for a lock of the region that another instance holds, at once ... */
#define LOCK_SPINS	64
/* ... and with rests, which let it run where CPUs are few. */
#define LOCK_TRIES	400
#define LOCK_REST_NS	50000
/* Of so many of these one asks whether it is alive. */
#define LOCK_LOOK	16
/* Without credits one send asks for some, and of its own so many the last does again. */
#define STALLS		32
/* After so many puts that did not go by a window another instance's is tried. */
#define MISSES		4

/* --- puts ------------------------------------------------------------------------- */

static enum kgni_msgq_way way_of(enum kgni_cqe_status status)
{
	switch (status) {
	case KGNI_ST_OK:
		return KGNI_MSGQ_ARRIVED;
	case KGNI_ST_LINK:
		return KGNI_MSGQ_UNKNOWN;
	default:
		return KGNI_MSGQ_REFUSED;
	}
}

/* How the put that was just made ended; it is done when the driver returns. */
static enum kgni_msgq_way put_status(struct gni_msgq *q)
{
	u64 entry;

	q->status = KGNI_ST_LINK;
	while (kgni_ring_pop(&q->told->ring, &entry) == KGNI_RING_ENTRY)
		q->status = kgni_cqe_status(entry);
	return way_of(q->status);
}

/* By the driver. Return: how that ended, without regard to what was tried before. */
static enum kgni_msgq_way put_by_driver(struct gni_msgq *q, const struct kgni_msgq_put *p)
{
	struct kgni_ioc_post arg = {
		.type = GNI_POST_FMA_PUT,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.src_cq = q->told->id,
		.src_event = kgni_cqe_smsg(0, 0, KGNI_CQE_MSGQ),
		.remote_pe = p->pe,
		.remote_addr = p->addr,
		.remote = { p->to.handle[0], p->to.handle[1] },
		.local_addr = (uintptr_t)p->data,
		.length = p->length,
	};

	if (p->flag_addr) {
		arg.type = GNI_POST_FMA_PUT_W_SYNCFLAG;
		arg.flags = KGNI_POST_SMSG;
		arg.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
		arg.remote_event = p->event;
		arg.sync_addr = p->flag_addr;
		arg.sync_value = p->flag;
	}
	if (ugni_nic_call(q->nic, KGNI_IOC_POST, &arg) == GNI_RC_SUCCESS)
		return put_status(q);
	q->status = KGNI_ST_LINK;
	return KGNI_MSGQ_BUSY;
}

/* Something that is nowhere yet. */
static u64 mark_of(const struct gni_msgq *q)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_nsec << 34 ^ (u64)ts.tv_sec << 17 ^
	       kgni_msgq_token(q->inst, q->epoch) * 0x9e3779b97f4a7c15ULL;
}

/*
 * All instances of a node have the same memory, so a window to it by the registration of
 * any of them would do. But that one may have ended, and its handle be another's. So
 * what is put by the driver, into the word that is for whoever asks, has to be seen there.
 *
 * Return: which window it is; 0 without one.
 */
static u64 prove(struct gni_msgq *q, const struct kgni_msgq_put *p,
		 const struct kgni_msgq_peer *by, struct ugni_window **window)
{
	const struct kgni_mem_handle h = { by->handle[0], by->handle[1] };
	const u64 length = q->view.shape.mbox_size;
	u64 mark = mark_of(q), gen, again, seen;
	const struct kgni_msgq_put word = {
		.to = p->to,
		.pe = p->pe,
		.conn = p->conn,
		.addr = p->to.addr,
		.data = &mark,
		.length = sizeof(mark),
	};

	ugni_window_word(q->nic, p->pe, &h, by->addr, length, window, &gen);
	if (!gen || put_by_driver(q, &word) != KGNI_MSGQ_ARRIVED)
		return 0;
	seen = ugni_window_word(q->nic, p->pe, &h, by->addr, length, window, &again);
	return seen == mark && again == gen ? gen : 0;
}

static u64 find_way(struct gni_msgq *q, const struct kgni_msgq_put *p,
		    const struct kgni_msgq_peer *by, struct msgq_way *w)
{
	if (w->window && w->gen && core_load(&w->window->gen) == w->gen)
		return w->gen;
	w->gen = prove(q, p, by, &w->window);
	/* It takes two puts until there is a window. */
	if (w->gen)
		w->misses = 0;
	else if (++w->misses % MISSES == 0)
		w->by++;
	return w->gen;
}

/* By windows: one to the memory, and of who is told only to the queue. */
static enum ugni_went put_by_window(struct gni_msgq *q, const struct kgni_msgq_put *p)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(&q->view, p->conn);
	struct msgq_way *w = &q->way[p->conn];
	const u32 n = kgni_msgq_npeers(conn);
	struct kgni_msgq_peer by;
	struct ugni_message m = {
		.pe = p->pe,
		.to = { p->to.handle[0], p->to.handle[1] },
		.data = p->data,
		.length = p->length,
		.flag = p->flag,
		.event = p->event,
	};

	if (!n)
		return UGNI_WENT_NOT;
	kgni_msgq_peer_get(conn, w->by % n, &by);
	m.gen = find_way(q, p, &by, w);
	if (!m.gen)
		return UGNI_WENT_NOT;
	m.by = (struct kgni_mem_handle){ by.handle[0], by.handle[1] };
	m.addr = by.addr + (p->addr - p->to.addr);
	if (p->flag_addr)
		m.flag_addr = by.addr + (p->flag_addr - p->to.addr);
	return ugni_window_message(q->nic, &m, &w->window, &q->window, &q->late);
}

/*
 * Who is woken may have the CPU at once, and whoever wants a lock that we hold would
 * rest until we run again: so it is given up before. This follows every put, at the
 * latest where a lock is given up.
 */
static void wake(struct gni_msgq *q)
{
	if (q->late)
		ugni_window_message_tell(q->nic, q->late);
	q->late = NULL;
}

/*
 * The way kgni_msgq_view.put has it. What nobody knows of one try holds for all: that the
 * next one is refused, as the target ended meanwhile, does not take back what was stored.
 */
static enum kgni_msgq_way put(void *ctx, const struct kgni_msgq_put *p)
{
	struct gni_msgq *q = ctx;
	u32 tries = core_load(&q->nic->max_retrans);
	enum kgni_msgq_way way;
	enum ugni_went went;
	bool maybe;

	wake(q);
	went = put_by_window(q, p);
	if (went == UGNI_WENT) {
		q->status = KGNI_ST_OK;
		return KGNI_MSGQ_ARRIVED;
	}
	maybe = went == UGNI_WENT_MAYBE;
	do {
		way = put_by_driver(q, p);
		maybe = maybe || way == KGNI_MSGQ_UNKNOWN;
	} while (way == KGNI_MSGQ_UNKNOWN && tries--);
	return maybe && way != KGNI_MSGQ_ARRIVED ? KGNI_MSGQ_UNKNOWN : way;
}

/* --- locks of the region ------------------------------------------------------------ */

/* The way kgni_msgq_view.alive has it. */
static bool alive(void *ctx, u32 inst, u32 epoch)
{
	const struct gni_msgq *q = ctx;

	if (inst >= q->view.shape.insts ||
	    core_load_acquire(&kgni_msgq_inst(&q->view, inst)->epoch) != epoch)
		return false;
	return inst == q->inst ? epoch == q->epoch : ugni_region_alive(q->region, inst);
}

/* Is it worth waiting for who holds a lock? We do not hold it twice. */
static bool holds(struct gni_msgq *q, u64 holder)
{
	return holder != kgni_msgq_token(q->inst, q->epoch) && (u32)holder &&
	       alive(q, (u32)holder - 1, (u32)(holder >> 32));
}

/* The call of the C library is where a thread may be cancelled. */
static void rest(void)
{
	struct timespec ts = { .tv_nsec = LOCK_REST_NS };

	syscall(SYS_nanosleep, &ts, NULL);
}

static bool lock_soon(u64 *lock, u64 me)
{
	u32 i;

	for (i = 0; i < LOCK_SPINS; i++)
		if (!core_load(lock) && !kgni_msgq_lock(lock, 0, me))
			return true;
	return false;
}

/* Return: false if another instance, which lives, holds it. */
static bool lock_word(struct gni_msgq *q, u64 *lock)
{
	u64 holder, me = kgni_msgq_token(q->inst, q->epoch);
	u32 i;

	if (lock_soon(lock, me))
		return true;
	for (i = 0; i < LOCK_TRIES; i++) {
		holder = kgni_msgq_lock(lock, 0, me);
		if (!holder)
			return true;
		if (i % LOCK_LOOK == 0 && !holds(q, holder) &&
		    !kgni_msgq_lock(lock, holder, me))
			return true;
		rest();
	}
	return false;
}

static void unlock_word(struct gni_msgq *q, u64 *lock)
{
	kgni_msgq_unlock(lock, kgni_msgq_token(q->inst, q->epoch));
	wake(q);
}

/* What another one was sending goes first. */
bool ugni_msgq_lock_tx(struct gni_msgq *q, u32 c)
{
	if (!lock_word(q, &kgni_msgq_conn(&q->view, c)->tx_lock))
		return false;
	if (kgni_msgq_resend(&q->view, c))
		return true;
	ugni_msgq_unlock_tx(q, c);
	return false;
}

void ugni_msgq_unlock_tx(struct gni_msgq *q, u32 c)
{
	unlock_word(q, &kgni_msgq_conn(&q->view, c)->tx_lock);
}

bool ugni_msgq_lock_rx(struct gni_msgq *q, u32 c)
{
	return lock_word(q, &kgni_msgq_conn(&q->view, c)->rx_lock);
}

void ugni_msgq_unlock_rx(struct gni_msgq *q, u32 c)
{
	unlock_word(q, &kgni_msgq_conn(&q->view, c)->rx_lock);
}

/* --- sending ------------------------------------------------------------------------ */

/* A message as its sender sees it. */
struct msgq_out {
	const void *hdr;
	u32 hdr_len;
	const void *msg;
	u32 msg_len;
	u32 msg_id;
	u8 tag;
};

/* What there is to say of a send that had no credit; now and then the peer is asked. */
static gni_return_t stalled(struct gni_msgq *q, u32 c)
{
	ugni_count(q->nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL);
	if (kgni_msgq_wants(&q->view, c) || ++q->stalls % STALLS == 0)
		kgni_msgq_ask(&q->view, c, q->turn++);
	wake(q);
	return ugni_bad(GNI_RC_NOT_DONE, "there are no credits: the node has not consumed enough");
}

static gni_return_t sent_rc(struct gni_msgq *q, u32 c, enum kgni_msgq_sent what)
{
	switch (what) {
	case KGNI_MSGQ_SENT:
	case KGNI_MSGQ_FAILED:
		q->stalls = 0;
		return GNI_RC_SUCCESS;
	case KGNI_MSGQ_FULL:
		return stalled(q, c);
	case KGNI_MSGQ_INACTIVE:
		return ugni_bad(GNI_RC_INVALID_STATE, "the connection is not complete");
	default:
		return ugni_bad(GNI_RC_NOT_DONE, "there is no room for a message more now");
	}
}

static enum kgni_msgq_sent send_locked(struct gni_msgq *q, u32 c, u32 peer,
				       const struct msgq_out *m)
{
	struct kgni_msgq_msg msg = {
		.id = q->nic->inst_id,
		.length = m->hdr_len + m->msg_len,
		.tag = m->tag,
	};

	if (m->hdr_len)
		memcpy(msg.payload, m->hdr, m->hdr_len);
	if (m->msg_len)
		memcpy(msg.payload + m->hdr_len, m->msg, m->msg_len);
	return kgni_msgq_send(&q->view, c, peer, &msg);
}

/* With an event for a request of the endpoint's queue. */
static enum kgni_msgq_sent send_told(struct gni_msgq *q, struct gni_ep *ep, u32 c, u32 peer,
				     const struct msgq_out *m)
{
	struct ugni_req req = { .smsg = true, .msgq = true, .mode = GNI_CQMODE_GLOBAL_EVENT };
	enum kgni_msgq_sent what;
	u32 tid;

	if (ugni_cq_begin(ep->cq, ep, &req, &tid) != GNI_RC_SUCCESS)
		return KGNI_MSGQ_AGAIN;
	what = send_locked(q, c, peer, m);
	if (what == KGNI_MSGQ_SENT || what == KGNI_MSGQ_FAILED) {
		ugni_cq_push(ep->cq, kgni_cqe_done(kgni_cqe_smsg(m->msg_id, tid, KGNI_CQE_MSGQ),
						   KGNI_CQE_FMA, q->status));
		ugni_cq_posted(ep->cq, tid, true, GNI_RC_SUCCESS);
	} else {
		ugni_cq_posted(ep->cq, tid, true, GNI_RC_NOT_DONE);
	}
	return what;
}

static gni_return_t send_on(struct gni_msgq *q, struct gni_ep *ep, u32 c, const struct msgq_out *m)
{
	u32 peer = kgni_msgq_peer_of(&q->view, c, ep->remote_id);
	enum kgni_msgq_sent what;

	if (peer == KGNI_MSGQ_INSTS_MAX)
		return ugni_bad(GNI_RC_NO_MATCH, "the node %u has no instance 0x%x",
				ep->remote_pe, ep->remote_id);
	if (!ugni_msgq_lock_tx(q, c))
		return ugni_bad(GNI_RC_NOT_DONE,
				"another instance is sending to the node, or sent what may not be there");
	if (core_load(&kgni_msgq_conn(&q->view, c)->pe) != ep->remote_pe)
		what = KGNI_MSGQ_INACTIVE;
	else if (ugni_cq_tells(ep->cq))
		what = send_told(q, ep, c, peer, m);
	else
		what = send_locked(q, c, peer, m);
	ugni_msgq_unlock_tx(q, c);
	return sent_rc(q, c, what);
}

static gni_return_t msgq_send(struct gni_msgq *q, struct gni_ep *ep, const struct msgq_out *m)
{
	const struct kgni_msgq_shape *shape = &q->view.shape;
	u32 c;

	if (ugni_away(q->nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	if (ep->nic != q->nic || !ep->bound)
		return ugni_bad(GNI_RC_INVALID_PARAM,
				"the endpoint is not bound, or of another NIC handle");
	if (m->hdr_len > shape->maxsize || m->msg_len > shape->maxsize - m->hdr_len)
		return ugni_bad(GNI_RC_SIZE_ERROR, "%u and %u bytes are more than max_msg_sz, %u",
				m->hdr_len, m->msg_len, shape->maxsize);
	c = kgni_msgq_lookup(&q->view, ep->remote_pe);
	if (c == shape->conns)
		return ugni_bad(GNI_RC_NO_MATCH, "there is no connection to the node %u",
				ep->remote_pe);
	if (core_load(&kgni_msgq_conn(&q->view, c)->state) != KGNI_MSGQ_CONNECTED)
		return ugni_bad(GNI_RC_INVALID_STATE, "the connection is not complete");
	return send_on(q, ep, c, m);
}

static gni_return_t send_by(gni_msgq_handle_t msgq_hndl, gni_ep_handle_t ep_hndl,
			    const struct msgq_out *m)
{
	struct gni_msgq *q;
	struct gni_ep *ep;
	gni_return_t rc;

	if (m->hdr_len && !m->hdr)
		return ugni_bad(GNI_RC_INVALID_PARAM, "hdr is NULL, hdr_len %u", m->hdr_len);
	if (m->msg_len && !m->msg)
		return ugni_bad(GNI_RC_INVALID_PARAM, "msg is NULL, msg_len %u", m->msg_len);
	ep = ugni_ep_lock(ep_hndl);
	if (!ep)
		return ugni_no("endpoint", ep_hndl);
	q = ugni_msgq_lock(msgq_hndl);
	if (!q) {
		ugni_unlock(ep);
		return ugni_no("message queue", msgq_hndl);
	}
	rc = msgq_send(q, ep, m);
	ugni_unlock(q);
	ugni_unlock(ep);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_MsgqSend(gni_msgq_handle_t msgq_hndl, gni_ep_handle_t ep_hndl,
				      void *hdr, uint32_t hdr_len, void *msg, uint32_t msg_len,
				      uint32_t msg_id, uint8_t msg_tag)
{
	const struct msgq_out m = {
		.hdr = hdr,
		.hdr_len = hdr_len,
		.msg = msg,
		.msg_len = msg_len,
		.msg_id = msg_id,
		.tag = msg_tag,
	};

	return ugni_end(send_by(msgq_hndl, ep_hndl, &m));
}

/* --- receiving ---------------------------------------------------------------------- */

/* Tell the peer what it may use again. Who holds the lock meanwhile does. */
void ugni_msgq_give_back(struct gni_msgq *q, u32 c)
{
	if (!ugni_msgq_lock_rx(q, c))
		return;
	kgni_msgq_return(&q->view, c);
	ugni_msgq_unlock_rx(q, c);
}

/* The peer has no credits. */
static void answer(struct gni_msgq *q, u32 c)
{
	if (!ugni_msgq_lock_rx(q, c))
		return;
	kgni_msgq_answer(&q->view, c);
	ugni_msgq_unlock_rx(q, c);
}

/* The number of the last message that came on a connection. */
static u64 *last_of(struct gni_msgq *q, u32 c)
{
	u32 epoch = core_load(&kgni_msgq_conn(&q->view, c)->epoch);

	if (q->last[c].epoch != epoch) {
		q->last[c].epoch = epoch;
		q->last[c].n = 0;
	}
	return &q->last[c].n;
}

/* Have the message of a slot in the pool, which has room. Return: false if it is empty. */
static bool take(struct gni_msgq *q, u32 c, u32 slot)
{
	u32 at = (q->pool_first + q->pool_count) % q->pool_size;
	enum kgni_msgq_got got;

	got = kgni_msgq_take(&q->view, c, slot, q->inst, q->epoch, last_of(q, c), &q->pool[at]);
	/* One that is to come before it is there, and its event is lost or still to come. */
	if (got == KGNI_MSGQ_EARLY)
		q->scan = true;
	if (got == KGNI_MSGQ_NONE || got == KGNI_MSGQ_EARLY)
		return false;
	if (got == KGNI_MSGQ_MESSAGE)
		q->pool_count++;
	if (got == KGNI_MSGQ_DAMAGED)
		q->damaged = true;
	if (kgni_msgq_due(&q->view, c))
		ugni_msgq_give_back(q, c);
	return true;
}

static void event(struct gni_msgq *q, u64 entry)
{
	u32 value = (u32)entry;
	u32 c = (value & ~KGNI_MSGQ_ASK) >> KGNI_MSGQ_SLOT_BITS;
	u32 slot = value & (KGNI_MSGQ_SLOTS_MAX - 1);

	if (kgni_cqe_source(entry) != KGNI_CQE_REMOTE)
		q->scan = true;		/* it stands for one that died with its producer */
	else if (c >= q->view.shape.conns || slot >= q->view.shape.slots)
		q->damaged = true;
	else if (value & KGNI_MSGQ_ASK)
		answer(q, c);
	else if (!q->scan)
		take(q, c, slot);
}

/*
 * Events were lost, and all that are there have been taken since: look where they
 * would lead. With the pool full it goes on next time.
 */
static void scan(struct gni_msgq *q)
{
	u64 looks = q->view.shape.conns * (q->view.shape.slots + 1ULL);
	u32 c, slot;

	for (c = 0; c < q->view.shape.conns; ) {
		if (q->pool_count == q->pool_size || !looks--)
			return;
		slot = q->view.shape.slots;
		if (core_load(&kgni_msgq_conn(&q->view, c)->state) != KGNI_MSGQ_FREE)
			slot = kgni_msgq_find(&q->view, c, q->inst, q->epoch, *last_of(q, c));
		if (slot == q->view.shape.slots || !take(q, c, slot))
			c++;
	}
	q->scan = false;
}

/* Move what has arrived to the pool. */
static void fetch(struct gni_msgq *q)
{
	u64 entry, left = 2ULL * q->attrs[6] + 1;

	while (q->pool_count < q->pool_size && left--) {
		switch (kgni_ring_pop(&q->rcv->ring, &entry)) {
		case KGNI_RING_ENTRY:
			event(q, entry);
			break;
		case KGNI_RING_OVERRUN:
			q->scan = true;
			break;
		default:
			if (q->scan)
				scan(q);
			return;
		}
	}
}

/* What a thread needs of a message queue once that is not locked any more. */
struct progress {
	gni_msgq_rcv_cb_func *rcv_cb;
	void *cb_data;
	struct kgni_msgq_msg m;
	bool have;
	bool blocking;
	struct kgni_cq_ref ref;
};

/* Take the oldest message of the pool, which @p->have tells of. */
static gni_return_t pool_take(struct gni_msgq *q, struct progress *p)
{
	if (!q->rcv_cb)
		return ugni_bad(GNI_RC_INVALID_PARAM, "rcv_cb was NULL");
	if (ugni_away(q->nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	fetch(q);
	p->have = q->pool_count;
	if (p->have) {
		p->m = q->pool[q->pool_first];
		q->pool_first = (q->pool_first + 1) % q->pool_size;
		q->pool_count--;
		return GNI_RC_SUCCESS;
	}
	if (q->damaged) {
		q->damaged = false;
		return ugni_bad(GNI_RC_INVALID_STATE, "something came that no sender makes");
	}
	if (p->blocking)
		kgni_ring_arm(&q->rcv->ring);
	return GNI_RC_SUCCESS;
}

static gni_return_t next_message(gni_msgq_handle_t msgq_hndl, struct progress *p)
{
	struct gni_msgq *q = ugni_msgq_lock(msgq_hndl);
	gni_return_t rc;

	if (!q)
		return ugni_no("message queue", msgq_hndl);
	p->rcv_cb = q->rcv_cb;
	p->cb_data = q->cb_data;
	p->blocking = q->rcv->mode & GNI_CQ_BLOCKING;
	p->ref.fd = q->nic->fd;
	p->ref.id = q->rcv->id;
	p->have = false;
	rc = pool_take(q, p);
	ugni_unlock(q);
	return rc;
}

/* Return: false with @rc set if it is over. */
static bool wait_more(struct progress *p, u64 deadline, gni_return_t *rc)
{
	struct kgni_ioc_cq_wait arg = {
		.cqs = (u64)(uintptr_t)&p->ref,
		.timeout_ms = ugni_remaining(deadline),
		.count = 1,
	};
	int ret;

	*rc = GNI_RC_SUCCESS;
	if (!arg.timeout_ms)
		return false;
	if (!p->blocking)
		return !sched_yield();
	ret = ugni_sys_wait(p->ref.fd, KGNI_IOC_CQ_WAIT, &arg);
	if (ret == GNI_RC_SUCCESS || ret == GNI_RC_TIMEOUT)
		return true;
	*rc = ret == -EINTR ? ugni_bad(GNI_RC_NOT_DONE, "a signal came") : ugni_answer(ret);
	return false;
}

static gni_return_t progress(gni_msgq_handle_t msgq_hndl, u32 timeout)
{
	u64 deadline = ugni_deadline(timeout);
	struct progress p;
	gni_return_t rc;

	do {
		rc = next_message(msgq_hndl, &p);
		if (rc != GNI_RC_SUCCESS)
			return rc;
		if (!p.have)
			continue;
		if (!p.rcv_cb(p.m.id, p.m.pe, p.m.payload, p.m.tag, p.cb_data))
			return ugni_bad(GNI_RC_NOT_DONE, "rcv_cb returned 0");
		deadline = ugni_deadline(timeout);
	} while (p.have || wait_more(&p, deadline, &rc));
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_MsgqProgress(gni_msgq_handle_t msgq_hndl, uint32_t timeout)
{
	return ugni_end(progress(msgq_hndl, timeout));
}

/* --- what msgq_init.c begins with ------------------------------------------------------ */

void ugni_msgq_view_init(struct gni_msgq *q)
{
	q->view.mem = q->region->mem;
	q->view.put = put;
	q->view.alive = alive;
	q->view.ctx = q;
}
