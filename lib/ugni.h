/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libugni: what the library's files share.
 *
 * Objects: a communication domain (gni_cdm) has at most one NIC handle
 * (gni_nic) a device: one open file of /dev/kgniN. Endpoints (gni_ep),
 * completion queues (gni_cq), completion channels (gni_comp_chan), message queues
 * (gni_msgq) and channels of the collective engine (gni_ce) belong to a NIC handle,
 * and so do error queues (gni_err) that are not of a device as a whole. All eight
 * live in arenas (handle.c), so that any value a program passes as a handle can be
 * checked without touching memory that may not be there.
 *
 * Locks, outermost first: gni_cdm, gni_ce, gni_ep, gni_msgq, gni_cq, gni_comp_chan, gni_err (each
 * slot.lock of the object), then the arenas' own and that of the control
 * files (info.c). Never two of one kind. Nobody sleeps in the driver with a
 * lock held, and calls that block take none around their sleep, so a thread
 * in them may be cancelled. Handlers of completion queues run with no lock
 * held. The looks at a queue that find it empty, GNI_CqTestEvent() and
 * GNI_CqVectorMonitor() take no lock at all.
 *
 * sys.c has all system calls; unit tests replace it.
 */
#ifndef _UGNI_H
#define _UGNI_H

/* Programs may count the statistics of Aries. */
#ifndef CRAY_CONFIG_GHAL_ARIES
#define CRAY_CONFIG_GHAL_ARIES 1
#endif

#include <pthread.h>
#include <sys/single_threaded.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gni_pub.h>
#include <gni/kgni.h>

#include "core/core.h"
#include "core/cqe.h"
#include "core/ring.h"
#include "core/smsg.h"

#define UGNI_PUBLIC	__attribute__((visibility("default")))
/* All else that is declared here is the library's own, and need not be looked up. */
#pragma GCC visibility push(hidden)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define inline_always	__always_inline
/* What is not on the short way stays out of it. */
#define ugni_cold	__attribute__((cold, noinline))
#define ugni_apart	__attribute__((noinline))
/*
 * What is in one page, by a size that is a power of two and has room for it: from one page to
 * the next, and into what lies across both, emulators go slowly.
 */
#define ugni_in_page(size)	__attribute__((aligned(size)))

/* --- debug.c: what UGNI_DEBUG prints ------------------------------------- */

extern int ugni_debug;

void ugni_debug_init(void);
gni_return_t ugni_debug_note(gni_return_t rc, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));
gni_return_t ugni_debug_add(gni_return_t rc, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));
void ugni_debug_print(const char *call, gni_return_t rc, bool quiet) __attribute__((cold));

#define ugni_debugging()	__builtin_expect(ugni_debug, 0)

/*
 * Where an error is found: ugni_bad(code, format, ...) says what is wrong, and
 * is that code. ugni_more() adds to what was said further in.
 */
#define ugni_bad(rc, ...)	(ugni_debugging() ? ugni_debug_note(rc, __VA_ARGS__) : (rc))
#define ugni_more(rc, ...)	(ugni_debugging() ? ugni_debug_add(rc, __VA_ARGS__) : (rc))
/* The commonest. */
#define ugni_no(what, hndl)						\
	ugni_bad(GNI_RC_INVALID_PARAM, #hndl " %p is no live " what, (void *)(hndl))
#define ugni_nomem(what)						\
	ugni_bad(GNI_RC_ERROR_NOMEM, "no memory for a " what)
#define ugni_null(pointer)						\
	ugni_bad(GNI_RC_INVALID_PARAM, #pointer " is NULL")

/* Every return of a GNI_* function, but of success, is ugni_end(code). */
#define ugni_end(rc)		ugni_end_call(__func__, rc, false)
/* For calls that ask whether something is there, whatever they answer if not. */
#define ugni_end_quiet(rc)	ugni_end_call(__func__, rc, true)

static inline gni_return_t ugni_end_call(const char *call, gni_return_t rc, bool quiet)
{
	if (rc != GNI_RC_SUCCESS && ugni_debugging())
		ugni_debug_print(call, rc, quiet);
	return rc;
}

/*
 * While a program has one thread, locks need not be taken, and counts need not be
 * atomic. No call of the library begins with one thread and ends with more.
 */
static inline bool ugni_alone(void)
{
	return __builtin_expect(__libc_single_threaded, 1);
}

static inline void ugni_mutex_lock(pthread_mutex_t *lock)
{
	if (!ugni_alone())
		pthread_mutex_lock(lock);
}

static inline void ugni_mutex_unlock(pthread_mutex_t *lock)
{
	if (!ugni_alone())
		pthread_mutex_unlock(lock);
}

/* Add to what several threads may add to. Return: the sum. @alone: of ugni_alone() */
#define ugni_add_as(alone, p, n)	__extension__({			\
	__typeof__(*(p)) sum_;						\
									\
	if (alone)							\
		core_store(p, sum_ = *(p) + (n));			\
	else								\
		sum_ = __atomic_add_fetch(p, n, __ATOMIC_SEQ_CST);	\
	sum_;								\
})
#define ugni_add(p, n)		ugni_add_as(ugni_alone(), p, n)

/* --- handle.c: arenas of objects ---------------------------------------- */

#define UGNI_NONE	(~0U)

/**
 * struct ugni_slot - head of every object
 * @magic: the arena's while the object lives, else 0
 * @next: slot after this one in the list of free slots
 * @lock: the object's lock; it outlives the object
 */
struct ugni_slot {
	u32 magic;
	u32 next;
	pthread_mutex_t lock;
};

/**
 * struct ugni_arena - all objects of a type
 * @magic: marks a live object
 * @shift: log2 of the size of a slot
 * @max: how many slots there may be
 * @aside: bytes from a boundary to the first slot
 * @recycle: frees what a retired object still has, before its slot is used again
 * @base: address of the first slot; set before @committed
 * @committed: bytes from @base on that may be touched; only grows
 * @lock: guards what follows
 * @used: slots that were handed out at some time
 * @free_head: oldest free slot
 * @free_tail: youngest free slot
 * @free_count: how many there are
 */
struct ugni_arena {
	u32 magic;
	u32 shift;
	u32 max;
	size_t aside;
	void (*recycle)(void *obj);
	uintptr_t base;
	size_t committed;
	pthread_mutex_t lock;
	u32 used;
	u32 free_head;
	u32 free_tail;
	u32 free_count;
};

/* Of the arenas that the short ways look into. */
#define UGNI_EP_MAGIC	0x50454e47
#define UGNI_EP_SHIFT	7
#define UGNI_CQ_MAGIC	0x51434e47
#define UGNI_CQ_SHIFT	10

extern struct ugni_arena ugni_cdms;
extern struct ugni_arena ugni_nics;
extern struct ugni_arena ugni_eps;
extern struct ugni_arena ugni_cqs;
extern struct ugni_arena ugni_chans;
extern struct ugni_arena ugni_errs;
extern struct ugni_arena ugni_ces;
extern struct ugni_arena ugni_msgqs;

void ugni_watch_forks(void);
void *ugni_alloc(struct ugni_arena *a);
void ugni_publish(struct ugni_arena *a, void *obj);
bool ugni_retire(struct ugni_arena *a, void *obj);
void ugni_free(struct ugni_arena *a, void *obj);
void *ugni_next(const struct ugni_arena *a, u32 *index);

/**
 * struct ugni_guard - how the thread could be cancelled before ugni_guard()
 * @type: at once, or at certain calls
 * @state: at all
 */
struct ugni_guard {
	int type;
	int state;
};

/*
 * Calls that block may be cancelled at any instruction, so where they take a
 * lock they put it off: who is cancelled with a lock held keeps it for ever.
 * Of pthread_setcancelstate() alone glibc's handler takes no notice if
 * pthread_cancel() was called just before; of the type it does.
 */
static inline void ugni_guard(struct ugni_guard *g)
{
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &g->type);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->state);
}

/* A thread that was cancelled meanwhile ends here. */
static inline void ugni_unguard(const struct ugni_guard *g)
{
	pthread_setcancelstate(g->state, NULL);
	pthread_setcanceltype(g->type, NULL);
}

/* Number of an object, unique among those of its type in the process. */
static inline u32 ugni_index(const struct ugni_arena *a, const void *obj)
{
	return (u32)(((uintptr_t)obj - a->base) >> a->shift);
}

static inline bool ugni_live(const struct ugni_arena *a, const void *obj)
{
	return core_load_acquire(&((const struct ugni_slot *)obj)->magic) == a->magic;
}

/* Is it a handle? @magic, @shift: the arena's */
static inline_always bool ugni_is(const struct ugni_arena *a, u32 magic, u32 shift,
				  const void *handle)
{
	size_t committed = core_load_acquire(&a->committed);
	uintptr_t off = (uintptr_t)handle - core_load(&a->base);

	/* One that is in the middle of a slot is far beyond. */
	return likely((off | off << (8 * sizeof(off) - shift)) < committed) &&
	       likely(core_load_acquire(&((const struct ugni_slot *)handle)->magic) == magic);
}

/**
 * ugni_lookup - check a handle
 * @a: arena of the type that it should be of
 * @handle: any value
 *
 * Context: any, no locks.
 * Return: the object; NULL if @handle is not one that lives.
 */
static inline void *ugni_lookup(const struct ugni_arena *a, const void *handle)
{
	return ugni_is(a, a->magic, a->shift, handle) ? (void *)(uintptr_t)handle : NULL;
}

/**
 * ugni_lock - check a handle and lock its object
 * @a: arena of the type that it should be of
 * @handle: any value
 *
 * Return: the object, alive and locked; NULL if @handle is not one that lives.
 */
static inline void *ugni_lock(const struct ugni_arena *a, const void *handle)
{
	struct ugni_slot *s = ugni_lookup(a, handle);

	if (!s || ugni_alone())
		return s;
	pthread_mutex_lock(&s->lock);
	if (ugni_live(a, s))
		return s;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static inline void ugni_unlock(void *obj)
{
	ugni_mutex_unlock(&((struct ugni_slot *)obj)->lock);
}

/* --- req.c: requests, which tie events to what was posted ------------------ */

#define UGNI_REQ_INDEX_BITS	20
#define UGNI_REQ_MAX		(1U << UGNI_REQ_INDEX_BITS)
#define UGNI_REQ_FIRST_BITS	8
#define UGNI_REQ_FIRST		(1U << UGNI_REQ_FIRST_BITS)
#define UGNI_REQ_CHUNKS		13	/* 256, 256, 512, 1024 ... */

/**
 * struct ugni_req - one transaction whose source events are awaited
 * @descr: the caller's descriptor; NULL for a short message
 * @ep: endpoint it was posted on, NULL once that is destroyed
 * @copy: a short message as it was sent, if it may be sent again; freed with
 *	the request
 * @next: request after this one in the list of free ones
 * @id: its index, and from UGNI_REQ_INDEX_BITS on what goes up with every use
 * @messages: it stands for so many messages of a channel, each done when it is sent
 * @tries: how often a message was sent again
 * @live: in use
 * @smsg: a short message, of a message queue too
 * @msgq: of a message queue
 * @channel: it stands for the messages of a channel, and lasts as long
 * @async: the driver's answer comes before the transaction is done
 * @rdma: it is counted in the NIC handle's rdma
 * @mode: GNI_CQMODE_LOCAL_EVENT, GNI_CQMODE_GLOBAL_EVENT: as posted
 * @seen: those of @mode that were handed out, or are sure to be, and not yet asked about
 */
struct ugni_req {
	gni_post_descriptor_t *descr;
	struct gni_ep *ep;
	void *copy;
	struct ugni_req *next;
	u32 id;
	u32 messages;
	u16 tries;
	bool live;
	bool smsg;
	bool msgq;
	bool channel;
	bool async;
	bool rdma;
	u8 mode;
	u8 seen;
};

/**
 * struct ugni_reqs - the requests of a queue, under its lock
 * @chunk: the table, in chunks that double in size
 * @used: how many requests there are
 * @free: oldest free request; the last of the list is never taken
 * @free_end: youngest free request
 */
struct ugni_reqs {
	struct ugni_req *chunk[UGNI_REQ_CHUNKS];
	u32 used;
	struct ugni_req *free;
	struct ugni_req *free_end;
};

void ugni_reqs_init(struct ugni_reqs *t);
void ugni_reqs_destroy(struct ugni_reqs *t);
struct ugni_req *ugni_req_far(const struct ugni_reqs *t, u32 index);
gni_return_t ugni_req_get(struct ugni_reqs *t, bool smsg, struct ugni_req **req, u32 *tid);
struct ugni_req *ugni_req_find(const struct ugni_reqs *t, u32 tid, bool smsg);
void ugni_req_put(struct ugni_reqs *t, struct ugni_req *r);

/* A request's transaction id: of a post's, of any. */
static inline u32 ugni_req_post_tid(const struct ugni_req *r)
{
	return r->id & ((1U << KGNI_CQE_TID_BITS) - 1);
}

static inline u32 ugni_req_tid(const struct ugni_req *r)
{
	return r->smsg ? r->id & ((1U << KGNI_CQE_SMSG_TID_BITS) - 1) : ugni_req_post_tid(r);
}

/* Return: the request, in use or not; NULL if there never was one. */
static inline struct ugni_req *ugni_req_at(const struct ugni_reqs *t, u32 index)
{
	if (unlikely(index >= t->used))
		return NULL;
	return likely(index < UGNI_REQ_FIRST) ? &t->chunk[0][index] : ugni_req_far(t, index);
}

/* Take a free request, if there are more than the last. */
static inline struct ugni_req *ugni_req_take(struct ugni_reqs *t, bool smsg)
{
	struct ugni_req *r = t->free;

	if (unlikely(!r || !r->next))
		return NULL;
	t->free = r->next;
	r->tries = 0;
	r->live = true;
	r->smsg = smsg;
	r->msgq = false;
	r->channel = false;
	r->async = false;
	r->rdma = false;
	r->seen = 0;
	return r;
}

/* End a live request, which has no copy. */
static inline void ugni_req_drop(struct ugni_reqs *t, struct ugni_req *r)
{
	r->live = false;
	r->ep = NULL;
	r->id += UGNI_REQ_MAX;
	r->next = NULL;
	t->free_end->next = r;
	t->free_end = r;
}

/* --- objects ----------------------------------------------------------------- */

/**
 * struct gni_cdm - a communication domain
 * @slot: head; its lock guards @nic and @checkpoint
 * @checkpoint: between GNI_CdmCheckpoint() and GNI_CdmResume()
 * @inst_id: instance id
 * @cookie: cookie of the job
 * @modes: GNI_CDM_MODE_* bits
 * @ptag: protection tag
 * @nic: NIC handles by device
 */
struct gni_cdm {
	struct ugni_slot slot;
	bool checkpoint;
	u32 inst_id;
	u32 cookie;
	u32 modes;
	u8 ptag;
	struct gni_nic *nic[KGNI_MAX_DEVICES];
};

/**
 * struct gni_nic - one attachment: one open file of a device
 * @slot: head; its lock is not used: what changes here is atomic
 * @checkpoint: its domain's; the file may be gone, and its number another's
 * @ptag: protection tag
 * @fd: the file; for ugni_nic_call()
 * @pe: PE address
 * @cookie: cookie of the job
 * @inst_id: instance id of the communication domain
 * @modes: its GNI_CDM_MODE_* bits
 * @dlvr_mode: GNI_DLVMODE_* bits for short messages
 * @max_retrans: how often a short message may be sent again
 * @windows: regions that are mapped here (window.c), NULL before the first post
 * @local_window: the window to a local region that was used last
 * @rdma: RDMA posts that the driver has, or that nobody knows to be over; atomic
 * @stat: GNI_STAT_* counters, atomic
 */
struct gni_nic {
	struct ugni_slot slot;
	bool checkpoint;
	u8 ptag;
	int fd;
	u32 pe;
	u32 cookie;
	u32 inst_id;
	u32 modes;
	u16 dlvr_mode;
	u16 max_retrans;
	struct ugni_windows *windows;
	struct ugni_window *local_window;
	u32 rdma;
	u32 stat[GNI_NUM_STATS];
};

#define UGNI_CQ_OWN	64U

/**
 * struct gni_cq - a completion queue
 * @slot: head; its lock guards taking entries, @reqs, @eps, @lost and @own
 * @nic: NIC handle it belongs to
 * @id: the driver's name for it
 * @entries: how many entries the program asked for
 * @delay: how many events may wait before a sleeper is woken
 * @mode: GNI_CQ_* bits
 * @eps: endpoints that were created with it
 * @posting: posts that will be told here and are inside the driver; atomic
 * @lost: an overrun was handed out, and requests may wait for lost events
 * @ring: the ring; @ring.ring is NULL for an unmanaged queue
 * @map_length: bytes of its mapping, which stays, vacated, until the slot is
 *	used again: threads look there without a lock
 * @handler: called for every entry that is handed out, or NULL
 * @context: handed to it
 * @chan: completion channel, or NULL; set once
 * @armed: @chan was asked to tell of the next event, and its program was not
 *	told yet; atomic
 * @limit: how many requests an endpoint may have here at a time
 * @plain: it has a ring, and no handler
 * @own_max: how many entries may be in @own
 * @own_head: entries that were taken from @own, free running
 * @own_tail: entries that were put there
 * @own: entries of the only thread's own posts and messages, older than what the ring has
 * @reqs: transactions that will complete here
 */
struct gni_cq {
	struct ugni_slot slot;
	struct gni_nic *nic;
	u32 id;
	u32 entries;
	u32 delay;
	gni_cq_mode_t mode;
	u32 eps;
	u32 posting;
	bool lost;
	struct kgni_ring_view ring;
	u64 map_length;
	void (*handler)(gni_cq_entry_t *entry, void *context);
	void *context;
	struct gni_comp_chan *chan;
	bool armed;
	u32 limit;
	bool plain;
	u32 own_max;
	u32 own_head;
	u32 own_tail;
	struct ugni_reqs reqs;
	u64 own[UGNI_CQ_OWN];
};

/**
 * struct gni_comp_chan - a completion channel
 * @slot: head; its lock guards @cqs
 * @nic: NIC handle it belongs to
 * @fd: an eventfd that counts queues which were armed and have an event
 * @cqs: queues attached
 */
struct gni_comp_chan {
	struct ugni_slot slot;
	struct gni_nic *nic;
	int fd;
	u32 cqs;
};

/**
 * struct gni_err - an error queue
 * @slot: head; its lock guards its end
 * @nic: NIC handle it belongs to; NULL if it is of a device
 * @fd: the file it belongs to
 * @id: the driver's name for it
 */
struct gni_err {
	struct ugni_slot slot;
	struct gni_nic *nic;
	int fd;
	u32 id;
};

/**
 * struct gni_ce - a channel of the collective engine
 * @slot: head; its lock guards its end
 * @nic: NIC handle it belongs to
 * @id: its number
 */
struct gni_ce {
	struct ugni_slot slot;
	struct gni_nic *nic;
	u32 id;
};

/**
 * struct gni_ep - an endpoint
 * @slot: head; its lock guards all but @outstanding
 * @nic: NIC handle it belongs to
 * @cq: queue for its source events, or NULL
 * @smsg: short message state, or NULL (smsg.c)
 * @dgram_buf: where the peer's datagram goes
 * @dgram_size: bytes there
 * @dgram_used: a datagram was posted at some time
 * @bound: there is a peer
 * @events_set: the program chose the event values
 * @ce_type: the child of an edge of a collective tree that it is, a gni_ce_child_t
 * @ce_child: the child's number
 * @ce_id: the channel at the other end
 * @peer: @remote_pe as ugni_peer() has it while it is bound, else 0
 * @remote_pe: peer's PE address
 * @remote_id: peer's instance id
 * @local_event: value of source events
 * @remote_event: value of events at the peer
 * @outstanding: live requests: those on @cq, those on other queues; atomic
 * @window: the window that a post used last; messages have one of their own
 */
struct gni_ep {
	struct ugni_slot slot;
	struct gni_nic *nic;
	struct gni_cq *cq;
	struct ugni_smsg *smsg;
	void *dgram_buf;
	u64 peer;
	struct ugni_window *window;
	u32 remote_pe;
	u32 remote_id;
	u32 local_event;
	u32 remote_event;
	u32 outstanding[2];
	u32 ce_id;
	u16 dgram_size;
	u8 ce_child;
	u8 ce_type : 2;
	bool dgram_used : 1;
	bool bound : 1;
	bool events_set : 1;
};

static inline struct gni_nic *ugni_nic(gni_nic_handle_t hndl)
{
	return ugni_lookup(&ugni_nics, hndl);
}

static inline_always bool ugni_is_cq(gni_cq_handle_t hndl)
{
	return ugni_is(&ugni_cqs, UGNI_CQ_MAGIC, UGNI_CQ_SHIFT, hndl);
}

static inline struct gni_cq *ugni_cq(gni_cq_handle_t hndl)
{
	return ugni_is_cq(hndl) ? hndl : NULL;
}

static inline_always bool ugni_is_ep(gni_ep_handle_t hndl)
{
	return ugni_is(&ugni_eps, UGNI_EP_MAGIC, UGNI_EP_SHIFT, hndl);
}

static inline struct gni_ep *ugni_ep_lock(gni_ep_handle_t hndl)
{
	return ugni_lock(&ugni_eps, hndl);
}

/*
 * Is the domain at a checkpoint: then nothing of the driver's may be touched,
 * neither the file nor what was mapped from it.
 */
static inline bool ugni_away(const struct gni_nic *nic)
{
	return core_load(&nic->checkpoint);
}

/* What is wrong then. */
#define UGNI_AWAY	"the domain is at a checkpoint, GNI_CdmResume() was not called"

static inline void ugni_count(struct gni_nic *nic, gni_statistic_t stat)
{
	ugni_add(&nic->stat[stat], 1U);
}

/* cdm.c */
gni_return_t ugni_open_device(u32 device, int *fd, struct kgni_ioc_info *info);
bool ugni_is_device(int fd);

/* ep.c */
void ugni_ep_destroy_all(const struct gni_nic *nic);

/* cq.c */
gni_return_t ugni_cq_begin(struct gni_cq *cq, struct gni_ep *ep, const struct ugni_req *what,
			   u32 *tid);
void ugni_cq_posted(struct gni_cq *cq, u32 tid, bool smsg, gni_return_t rc);
struct ugni_req *ugni_cq_channel(struct gni_cq *cq, struct gni_ep *ep);
void ugni_cq_channel_end(struct gni_cq *cq, struct ugni_req *r);
void *ugni_cq_hold(struct gni_cq *cq, const struct gni_ep *ep, u32 tid);
void ugni_cq_let_go(struct gni_cq *cq);
bool ugni_cq_try(struct gni_cq *cq, u32 tid, u32 max);
void ugni_cq_settle(struct gni_cq *cq);
void ugni_cq_forget_requests(struct gni_cq *cq, struct gni_ep *ep);
void ugni_cq_forget_ep(struct gni_cq *cq, struct gni_ep *ep);
void ugni_cq_destroy_all(const struct gni_nic *nic);
void ugni_cq_recycle(void *obj);
bool ugni_cq_ready(const struct gni_cq *cq);
bool ugni_cq_owes_msgq(struct gni_cq *cq, const u32 *pe);

/* cqe.c */
void ugni_entry_text(gni_cq_entry_t entry, char *text, size_t size);

/* A queue that transactions can be told of: events of others vanish. */
static inline bool ugni_cq_tells(const struct gni_cq *cq)
{
	return cq && cq->ring.ring;
}

static inline bool ugni_cq_has_own(const struct gni_cq *cq)
{
	return core_load(&cq->own_head) != core_load(&cq->own_tail);
}

/*
 * Keep an entry of the only thread's own for it: it goes by no shared memory, and wakes
 * nobody. Return: false if it has to be put into the ring.
 */
static inline bool ugni_cq_keep(struct gni_cq *cq, u64 entry)
{
	const struct kgni_ring *ring = cq->ring.ring;
	const bool full = cq->own_tail - cq->own_head >= cq->own_max;

	if (unlikely((core_load(&ring->tail) ^ core_load(&ring->head)) | core_load(&ring->armed) |
		     core_load(&ring->notify) | full))
		return false;
	cq->own[cq->own_tail % UGNI_CQ_OWN] = entry;
	core_store(&cq->own_tail, cq->own_tail + 1);
	return true;
}

/* Take the oldest entry that was kept; there is one. */
static inline u64 ugni_cq_take_own(struct gni_cq *cq)
{
	const u64 e = cq->own[cq->own_head % UGNI_CQ_OWN];

	core_store(&cq->own_head, cq->own_head + 1);
	return e;
}

void ugni_cq_push(struct gni_cq *cq, u64 entry);

/* What became of a short message whose way failed. */
enum ugni_again {
	UGNI_AGAIN_FAILED,
	UGNI_AGAIN_SENT,	/* there will be another event */
	UGNI_AGAIN_ARRIVED,
};

/* chan.c */
void ugni_chan_leave(struct gni_cq *cq);
void ugni_chan_destroy_all(const struct gni_nic *nic);

/* error.c */
void ugni_err_release_all(const struct gni_nic *nic);

/* ce.c */
gni_return_t ugni_ce_post(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *d);
void ugni_ce_destroy_all(const struct gni_nic *nic);

/* What comes after an access to a window sees a mark that was set before its end. */
#if defined(__x86_64__) || defined(__i386__)
#define ugni_window_fence()	__atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define ugni_window_fence()	core_mb()
#endif

/* window.c */
/**
 * struct ugni_window - a region of a peer
 * @handle: its handle
 * @whose: of ugni_peer(), while it is open; else UGNI_NOBODY
 * @base: address of its first byte at the peer
 * @length: bytes
 * @data: where these are, or NULL
 * @live: 0 once it leads nowhere
 * @flags: of all windows: KGNI_DRIVER_ONLY
 * @counted: where it is counted what is done through windows
 * @rights: KGNI_WINDOW_*
 * @users: who has it pinned; atomic
 * @used: since the hand of the clock came by
 * @ring: the ring, or @ring.ring is NULL
 * @hint: of what was pushed there
 * @delay: events that may wait in the ring before a sleeper is woken
 * @index: the driver's name for it
 * @gen: while it is open, of this window alone; else 0
 * @pe: whose it is
 * @state: a free slot, one that was seen or one that is open
 * @wait: seen only: posts until it is opened
 * @next: next slot of the same hash, or NULL
 * @ring_length: bytes of the ring's mapping
 */
struct ugni_window {
	struct kgni_mem_handle handle;
	u64 whose;
	u64 base;
	u64 length;
	char *data;
	const u8 *live;
	const u32 *flags;
	u64 *counted;
	u32 rights;
	u32 users;
	struct kgni_ring_view ring;
	struct kgni_ring_hint hint;
	u32 delay;
	u32 index;
	u64 gen;
	u32 pe;
	u32 state;
	u32 wait;
	bool used;
	struct ugni_window *next;
	u64 ring_length;
};

#define UGNI_WINDOWS	KGNI_WINDOWS_MAX
#define UGNI_HASH_BITS	13

/**
 * struct ugni_windows - the windows of a NIC handle
 * @lock: guards what follows, but for @state and the counts
 * @state: what the driver says of them
 * @counted: what was done through them
 * @max: how many there may be
 * @off: there are to be none
 * @hand: where the clock goes on
 * @opened: how many were opened so far
 * @bytes: of all of them
 * @hash: number of the first slot, from 1 on, or 0
 * @slot: the windows
 */
struct ugni_windows {
	pthread_mutex_t lock;
	const struct kgni_window_state *state;
	u64 *counted;
	u32 max;
	bool off;
	u32 hand;
	u64 opened;
	u64 bytes;
	u16 hash[1 << UGNI_HASH_BITS];
	struct ugni_window slot[UGNI_WINDOWS];
};

_Static_assert(UGNI_WINDOWS < 1 << 16, "numbers of slots");

#define UGNI_NOBODY	(~0ULL)
#define UGNI_NO_GEN	(~0ULL)

/* Never 0, nor UGNI_NOBODY. */
static inline u64 ugni_peer(u32 pe)
{
	return 1ULL << 32 | pe;
}

/* Leads nowhere: for hints. */
extern struct ugni_window ugni_no_window;

bool ugni_window_readable(const void *src, u64 length);
bool ugni_window_post(struct gni_nic *nic, const struct kgni_ioc_post *a, struct gni_cq *cq,
		      struct ugni_window **hint);
void ugni_windows_end(struct gni_nic *nic);

/* RDMA up to that many bytes takes less than to wake who would do it. */
#define UGNI_RDMA_QUICK	(64U << 10)

struct ugni_window *ugni_window_find(struct gni_nic *nic, struct ugni_window **hint, u64 peer,
				     struct kgni_mem_handle h, u64 addr, u64 length);
/**
 * struct ugni_event - an event for the target's queue, and of what it tells
 * @data: its value
 * @type: gni_post_type_t
 * @smsg: it is a message's
 * @addr: address at the target
 * @length: bytes
 */
struct ugni_event {
	u64 data;
	u32 type;
	bool smsg;
	u64 addr;
	u64 length;
};

void ugni_window_tell(struct gni_nic *nic, const struct ugni_window *w,
		      enum kgni_cqe_status status, const struct ugni_event *e);
enum kgni_cqe_status ugni_window_event(struct gni_nic *nic, struct ugni_window *w,
				       const struct ugni_event *e);
char *ugni_window_reach(const struct gni_ep *ep, struct ugni_window *w,
			const struct kgni_mem_handle *h, u64 addr, u64 length, u64 *gen);

/**
 * struct ugni_message - a put into memory that several processes registered
 * @pe: PE address of all of them
 * @to: registration of who is told, if there is a flag
 * @by: registration that the put goes by
 * @gen: which window to it
 * @addr: where to, as that has it
 * @data: what
 * @length: bytes of it
 * @flag_addr: where the flag goes, right before @addr or there; or 0
 * @flag: the flag, stored last
 * @event: value of the remote event
 */
struct ugni_message {
	u32 pe;
	struct kgni_mem_handle to;
	struct kgni_mem_handle by;
	u64 gen;
	u64 addr;
	const void *data;
	u32 length;
	u64 flag_addr;
	u64 flag;
	u32 event;
};

enum ugni_went {
	UGNI_WENT,
	UGNI_WENT_NOT,
	UGNI_WENT_MAYBE,
};

u64 ugni_window_word(struct gni_nic *nic, u32 pe, const struct kgni_mem_handle *handle,
		     u64 addr, u64 length, struct ugni_window **way, u64 *gen);
enum ugni_went ugni_window_message(struct gni_nic *nic, const struct ugni_message *m,
				   struct ugni_window **way, struct ugni_window **hint,
				   struct ugni_window **late);
void ugni_window_message_tell(struct gni_nic *nic, struct ugni_window *late);
void ugni_windows_drop(struct gni_nic *nic);
void ugni_nic_recycle(void *obj);

static inline bool ugni_window_has(const struct ugni_window *w, const struct kgni_mem_handle *h)
{
	return core_load(&w->handle.qword1) == h->qword1 &&
	       core_load(&w->handle.qword2) == h->qword2;
}

static inline void ugni_window_unpin(struct ugni_window *w, bool alone)
{
	if (!alone)
		ugni_add_as(false, &w->users, -1U);
}

/* One user more, who only then looks at what it is: see slot_try_free(). */
static inline void ugni_window_count(struct ugni_window *w)
{
	ugni_add_as(false, &w->users, 1U);
	core_mb_exchange();
}

/*
 * Return: true if it still is what it was found as, and stays so until it is unpinned.
 * While there is but one thread, nobody takes it away.
 */
static inline bool ugni_window_pin(struct ugni_window *w, u64 whose,
				   const struct kgni_mem_handle *h, bool alone)
{
	if (!alone)
		ugni_window_count(w);
	if (likely(core_load_acquire(&w->whose) == whose && ugni_window_has(w, h)))
		return true;
	ugni_window_unpin(w, alone);
	return false;
}

/*
 * Is it a window of @whose to all of a range of 1 byte to 2^47? A branch costs more than
 * what is told from all of this together. It has to be pinned, if not on success.
 */
static inline_always bool ugni_window_leads(const struct ugni_window *w, u64 whose,
					    const struct kgni_mem_handle *h, u64 addr, u64 length)
{
	const u64 other = core_load_acquire(&w->whose) ^ whose;
	const u64 off = addr - w->base;

	/* There are fewer addresses than 2^47, so what is negative has a bit above. */
	return likely(!(other | (core_load(&w->handle.qword1) ^ h->qword1) |
			(core_load(&w->handle.qword2) ^ h->qword2) |
			(off | (w->length - length - off)) >> 48));
}

static inline u32 ugni_window_hash(const struct kgni_mem_handle *h, u32 pe)
{
	const u64 x = h->qword1 ^ (h->qword2 << 1) ^ ((u64)pe << 40);

	return (u32)(x * 0x9e3779b97f4a7c15ULL >> (64 - UGNI_HASH_BITS));
}

/* The first window of a hash, or NULL. */
static inline_always struct ugni_window *ugni_slot_first(struct ugni_windows *ws, u32 hash)
{
	const u16 first = ws->hash[hash];

	return first ? &ws->slot[first - 1] : NULL;
}

static inline bool ugni_window_covers(const struct ugni_window *w, u64 addr, u64 length)
{
	return addr - w->base < w->length && length <= w->length - (addr - w->base);
}

static inline void *ugni_window_at(const struct ugni_window *w, u64 addr)
{
	return w->data + (addr - w->base);
}

/* Does it lead to its region? After an access: did that go there? */
static inline bool ugni_window_live(const struct ugni_window *w)
{
	ugni_window_fence();
	return core_load(w->live);
}

/*
 * As ugni_window_pin(), of a window that ugni_window_reach() found. Return: false if it
 * has ended, or if the driver is to do everything.
 */
static inline bool ugni_window_enter(struct ugni_window *w, u64 gen, bool alone)
{
	if (!alone)
		ugni_window_count(w);
	if (likely(!((core_load_acquire(&w->gen) ^ gen) | core_load(w->flags))))
		return true;
	ugni_window_unpin(w, alone);
	return false;
}

/* Is somebody to be told of an entry more? The push's barrier pairs with that of arming. */
static inline_always bool ugni_must_wake(const struct kgni_ring_view *ring, u32 delay)
{
	if (likely(!(core_load(&ring->ring->armed) | core_load(&ring->ring->notify))))
		return false;
	return !kgni_ring_masked(ring) && kgni_ring_count(ring) > delay;
}

/* Pages that puts read from and that are known to be there. */
#define UGNI_PAGES_SEEN	512
#define UGNI_PAGE_BITS	12

extern u64 ugni_pages_seen[UGNI_PAGES_SEEN];

/* Is that on one page, which was seen? Page 0 never is. */
static inline bool ugni_page_seen(u64 addr, u64 length)
{
	const u64 page = addr >> UGNI_PAGE_BITS, last = (addr + length - 1) >> UGNI_PAGE_BITS;

	return likely(!((core_load(&ugni_pages_seen[page % UGNI_PAGES_SEEN]) ^ page) |
			(last ^ page)));
}

/* Could the program read there? */
static inline bool ugni_readable(u64 addr, u64 length)
{
	return ugni_page_seen(addr, length) ||
	       ugni_window_readable((const void *)(uintptr_t)addr, length);
}

/* copy.c */
void ugni_copy_bytes(void *dst, const void *src, u64 n);

/* Words that programs poll are never torn. */
static inline void ugni_copy(void *dst, const void *src, u64 n)
{
	if (likely(n == 8 && !(((uintptr_t)dst | (uintptr_t)src) & 7)))
		core_store((u64 *)dst, core_load((const u64 *)src));
	else
		ugni_copy_bytes(dst, src, n);
}

/* post.c */
gni_return_t ugni_post(struct gni_nic *nic, struct ugni_window **hint,
		       const struct kgni_ioc_post *arg, struct gni_cq *cq);
gni_return_t ugni_post_fma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);
gni_return_t ugni_post_rdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/* smsg.c */
void ugni_smsg_release(struct gni_ep *ep);
enum ugni_again ugni_smsg_again(struct gni_cq *cq, struct gni_ep *ep, gni_cq_entry_t entry);

/* msgq_init.c */
void ugni_msgq_release_all(const struct gni_nic *nic);
void ugni_msgq_forked(void);

/* info.c */
gni_return_t ugni_control_call(u32 device, unsigned long cmd, void *arg);
gni_return_t ugni_control_fd(u32 device, int *fd);
void ugni_control_close_all(void);
void ugni_control_forked(void);

/* --- rc.c: from the driver's answers to return codes --------------------------- */

gni_return_t ugni_rc(int ret);
gni_return_t ugni_answer(int ret);
gni_return_t ugni_call(int fd, unsigned long cmd, void *arg);
gni_return_t ugni_nic_call(const struct gni_nic *nic, unsigned long cmd, void *arg);
u64 ugni_deadline(u64 timeout_ms);
u64 ugni_remaining(u64 deadline);

/* --- sys.c: system calls --------------------------------------------------------- */

bool ugni_sys_exists(u32 device);
int ugni_sys_open(u32 device);
void ugni_sys_close(int fd);
int ugni_sys_ioctl(int fd, unsigned long cmd, void *arg);
int ugni_sys_wait(int fd, unsigned long cmd, void *arg);
void *ugni_sys_map(int fd, u64 offset, u64 length, int *error);
void ugni_sys_vacate(void *mem, u64 length);
void ugni_sys_unmap(void *mem, u64 length);
void *ugni_sys_window(int fd, u64 offset, u64 length, bool write);
bool ugni_sys_readable(u64 addr, u64 length);
void ugni_sys_print(const char *line, size_t length);
int ugni_sys_eventfd(void);
void ugni_sys_eventfd_add(int fd);
bool ugni_sys_eventfd_take(int fd);

#pragma GCC visibility pop

#endif /* _UGNI_H */
