// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Windows: regions of peers, and the rings of the queues behind them, that the
 * driver maps into this process (kernel/window.c). What goes by FMA is then done
 * here, without a system call.
 *
 * It is done here only where all is as it should be. Whatever is not, the driver
 * is asked to do, and tells what is wrong. So is a put or a get whose window ended
 * meanwhile: it may be done twice. The same can't be said of an atomic operation,
 * which fails then.
 *
 * What a window needs costs more than a post, so the first post to a region goes by
 * the driver. Windows are kept until there are too many; who was not used goes first.
 *
 * Threads look at windows without a lock, once they have pinned them. A slot is
 * another's only after nobody has it pinned, and mappings that a thread may still look
 * at are replaced, not taken away.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "ugni.h"
#include "core/rules.h"
#include <gni/netlink.h>

/* Bytes of all windows together. */
#define BYTES_MAX	(1ULL << 38)
/* So many posts to a region that is not to be mapped, then the driver is asked again. */
#define REFUSED_POSTS	4096

enum slot_state {
	SLOT_FREE,
	SLOT_SEEN,	/* a post went there */
	SLOT_OPEN,
};

/* Before there are windows. */
static const struct kgni_window_state no_state;

struct ugni_window ugni_no_window = { .whose = UGNI_NOBODY, .flags = &no_state.flags };

/* --- where puts read from ------------------------------------------------------- */

/* What is there for page 0 is none. */
u64 ugni_pages_seen[UGNI_PAGES_SEEN] = { ~0ULL };

/*
 * A page that was there once is taken to be there still, as it would be by hardware.
 */
static bool readable(u64 addr, u64 length)
{
	u64 last = (addr + length - 1) >> UGNI_PAGE_BITS;
	u64 page = addr >> UGNI_PAGE_BITS;

	if (!page || addr + length - 1 < addr)
		return false;
	for (; page <= last; page++) {
		u64 *seen = &ugni_pages_seen[page % UGNI_PAGES_SEEN];

		if (core_load(seen) == page)
			continue;
		if (!ugni_sys_readable(page << UGNI_PAGE_BITS, 1 << UGNI_PAGE_BITS))
			return false;
		core_store(seen, page);
	}
	return true;
}

/* Of what a program wants to have sent. */
bool ugni_window_readable(const void *src, u64 length)
{
	return !length || readable((u64)(uintptr_t)src, length);
}

/* --- finding windows -------------------------------------------------------------- */

static bool window_is(const struct ugni_window *w, u32 pe, const struct kgni_mem_handle *h)
{
	return ugni_window_has(w, h) && w->pe == pe;
}

/* These count for the only thread, too: it may open a window while it has another. */
static void unpin(struct ugni_window *w)
{
	ugni_add(&w->users, -1U);
}

static bool pin(struct ugni_window *w, u32 pe, const struct kgni_mem_handle *h)
{
	const bool alone = ugni_alone();

	if (!ugni_window_pin(w, ugni_peer(pe), h, alone))
		return false;
	if (alone)
		ugni_add_as(true, &w->users, 1U);
	return true;
}

/* --- slots; the lock is held ------------------------------------------------------- */

static void slot_link(struct ugni_windows *ws, struct ugni_window *w)
{
	u32 hash = ugni_window_hash(&w->handle, w->pe);

	w->next = ugni_slot_first(ws, hash);
	ws->hash[hash] = (u16)(w - ws->slot + 1);
}

static void slot_unlink(struct ugni_windows *ws, const struct ugni_window *w)
{
	u32 hash = ugni_window_hash(&w->handle, w->pe);
	struct ugni_window *at = ugni_slot_first(ws, hash);

	if (at == w) {
		ws->hash[hash] = w->next ? (u16)(w->next - ws->slot + 1) : 0;
		return;
	}
	while (at->next != w)
		at = at->next;
	at->next = w->next;
}

static void window_unmap(struct gni_nic *nic, struct ugni_window *w)
{
	struct kgni_ioc_window_close arg = { .index = w->index };

	if (w->data)
		ugni_sys_unmap(w->data, w->length);
	if (w->ring.ring)
		ugni_sys_unmap(w->ring.ring, w->ring_length);
	ugni_nic_call(nic, KGNI_IOC_WINDOW_CLOSE, &arg);
	nic->windows->bytes -= w->length;
	w->data = NULL;
	w->ring.ring = NULL;
}

/* Return: false if a thread has it pinned. */
static bool slot_try_free(struct gni_nic *nic, struct ugni_window *w)
{
	u64 whose = w->whose;
	u64 gen = w->gen;

	core_store(&w->gen, 0);
	core_store(&w->whose, UGNI_NOBODY);
	core_mb();			/* see ugni_window_count() */
	if (core_load(&w->users)) {
		core_store_release(&w->whose, whose);
		core_store_release(&w->gen, gen);
		return false;
	}
	slot_unlink(nic->windows, w);
	if (w->state == SLOT_OPEN)
		window_unmap(nic, w);
	w->state = SLOT_FREE;
	return true;
}

/* Go round until one is found that was not used for a round. */
static struct ugni_window *slot_evict(struct gni_nic *nic)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w;
	u32 i;

	for (i = 0; i < 2 * ws->max; i++) {
		w = &ws->slot[ws->hand];
		ws->hand = (ws->hand + 1) % ws->max;
		if (w->state == SLOT_FREE)
			return w;
		if (w->used)
			core_store(&w->used, false);
		else if (slot_try_free(nic, w))
			return w;
	}
	return NULL;
}

static struct ugni_window *slot_new(struct gni_nic *nic, u32 pe, const struct kgni_mem_handle *h)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w = slot_evict(nic);

	if (!w)
		return NULL;
	core_store(&w->handle.qword1, h->qword1);
	core_store(&w->handle.qword2, h->qword2);
	w->pe = pe;
	w->whose = UGNI_NOBODY;
	w->wait = 1;
	w->used = true;
	w->base = 0;
	w->length = 0;
	w->rights = 0;
	slot_link(ws, w);
	w->state = SLOT_SEEN;
	return w;
}

/* Map what the driver opened. Return: false if there is no place for it. */
static bool window_map(struct gni_nic *nic, struct ugni_window *w,
		       const struct kgni_ioc_window_open *arg)
{
	bool write = arg->rights & KGNI_WINDOW_WRITE;

	w->index = arg->index;
	w->rights = arg->rights;
	w->delay = arg->delay;
	w->base = arg->addr;
	w->length = arg->length;
	w->live = &nic->windows->state->live[arg->index];
	w->flags = &nic->windows->state->flags;
	w->counted = nic->windows->counted;
	w->data = NULL;
	w->ring.ring = NULL;
	nic->windows->bytes += w->length;
	if (w->length) {
		w->data = ugni_sys_window(nic->fd, arg->data_offset, w->length, write);
		if (!w->data)
			return false;
	}
	if (arg->ring_length) {
		void *ring = ugni_sys_window(nic->fd, arg->ring_offset, arg->ring_length, true);

		/* Without it what has remote events is for the driver. */
		w->ring_length = arg->ring_length;
		if (ring)
			kgni_ring_view_init(&w->ring, ring, arg->slots);
		w->hint = KGNI_RING_NO_HINT;
	}
	return true;
}

/* The pages that all windows need. */
static bool windows_pages(struct gni_nic *nic)
{
	struct ugni_windows *ws = nic->windows;
	void *state, *counted;

	if (ws->state != &no_state)
		return true;
	state = ugni_sys_window(nic->fd, KGNI_MMAP_STATE, KGNI_MMAP_STATE_SIZE, false);
	if (!state)
		return false;
	counted = ugni_sys_window(nic->fd, KGNI_MMAP_STATS, KGNI_MMAP_PAGE, true);
	if (!counted) {
		ugni_sys_unmap(state, KGNI_MMAP_STATE_SIZE);
		return false;
	}
	ws->counted = counted;
	core_store_release(&ws->state, state);
	return true;
}

/* Return: true if the slot, of SLOT_SEEN, has become a window. */
static bool window_open(struct gni_nic *nic, struct ugni_window *w, u64 addr, u32 flags)
{
	struct kgni_ioc_window_open arg = {
		.remote_pe = w->pe,
		.flags = flags,
		.remote = w->handle,
		.addr = addr,
	};
	struct kgni_ioc_window_close close = { 0 };

	w->wait = REFUSED_POSTS;
	if (ugni_sys_ioctl(nic->fd, KGNI_IOC_WINDOW_OPEN, &arg) != GNI_RC_SUCCESS)
		return false;
	if (!windows_pages(nic)) {
		close.index = arg.index;
		ugni_nic_call(nic, KGNI_IOC_WINDOW_CLOSE, &close);
		nic->windows->off = true;
		return false;
	}
	if (!window_map(nic, w, &arg)) {
		window_unmap(nic, w);
		return false;
	}
	w->state = SLOT_OPEN;
	core_store_release(&w->whose, ugni_peer(w->pe));
	core_store_release(&w->gen, ++nic->windows->opened);
	return true;
}

/* Give windows up until there is room for another of some bytes. */
static void make_room(struct gni_nic *nic, const struct ugni_window *but)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w;
	u32 i;

	for (i = 0; i < 2 * ws->max && ws->bytes > BYTES_MAX; i++) {
		w = &ws->slot[ws->hand];
		ws->hand = (ws->hand + 1) % ws->max;
		if (w == but || w->state == SLOT_FREE)
			continue;
		if (w->used)
			core_store(&w->used, false);
		else
			slot_try_free(nic, w);
	}
}

/**
 * struct want - which window
 * @pe: whose region
 * @handle: its handle
 * @addr: first byte
 * @length: bytes
 * @queue: only the ring is wanted
 */
struct want {
	u32 pe;
	const struct kgni_mem_handle *handle;
	u64 addr;
	u64 length;
	bool queue;
};

static bool serves(const struct ugni_window *w, const struct want *want)
{
	if (want->queue)
		return w->rights & KGNI_WINDOW_EVENTS;
	return ugni_window_covers(w, want->addr, want->length);
}

/*
 * Find it among those of its hash, or open it. Return: the window, open, or NULL if it
 * is for the driver.
 */
static struct ugni_window *window_find(struct gni_nic *nic, const struct want *want)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w, *seen = NULL;

	for (w = ugni_slot_first(ws, ugni_window_hash(want->handle, want->pe)); w; w = w->next) {
		if (!window_is(w, want->pe, want->handle))
			continue;
		if (w->state == SLOT_SEEN)
			seen = w;
		else if (serves(w, want))
			return w;
		else if (ugni_window_covers(w, want->addr, 1))
			return NULL;	/* it ends in another one */
	}
	if (!seen) {
		slot_new(nic, want->pe, want->handle);
		return NULL;
	}
	core_store(&seen->used, true);
	if (seen->wait && --seen->wait)
		return NULL;
	if (!window_open(nic, seen, want->addr, want->queue ? KGNI_WINDOW_QUEUE : 0))
		return NULL;
	make_room(nic, seen);
	return serves(seen, want) ? seen : NULL;
}

/* The same, under the lock; and one that has ended is given up. */
static struct ugni_window *window_search(struct gni_nic *nic, const struct want *want)
{
	struct ugni_windows *ws = nic->windows;
	struct ugni_window *w;

	ugni_mutex_lock(&ws->lock);
	w = ws->off ? NULL : window_find(nic, want);
	if (w && !ugni_window_live(w)) {
		slot_try_free(nic, w);
		w = NULL;
	}
	if (w && !pin(w, want->pe, want->handle))
		w = NULL;
	ugni_mutex_unlock(&ws->lock);
	return w;
}

/* Return: the window, pinned and alive a moment ago, or NULL. @hint: where to look first. */
static struct ugni_window *window_get(struct gni_nic *nic, const struct want *want,
				      struct ugni_window **hint)
{
	struct ugni_window *w = core_load(hint);

	if (w && pin(w, want->pe, want->handle)) {
		if (serves(w, want) && ugni_window_live(w)) {
			core_store(&w->used, true);
			return w;
		}
		unpin(w);
	}
	w = window_search(nic, want);
	core_store(hint, w ? w : &ugni_no_window);
	return w;
}

/* --- carrying out -------------------------------------------------------------------- */

/**
 * struct op - a post, and what it is done with
 * @nic: NIC handle
 * @a: the post
 * @rule: of its type
 * @amo: the command, for an AMO
 * @remote: window to the target, pinned
 * @local: window to the local region, pinned, or NULL
 * @status: what came of it
 */
struct op {
	struct gni_nic *nic;
	const struct kgni_ioc_post *a;
	const struct kgni_post_rule *rule;
	struct kgni_amo amo;
	struct ugni_window *remote;
	struct ugni_window *local;
	enum kgni_cqe_status status;
};

static void do_put(const struct op *o)
{
	const struct kgni_ioc_post *a = o->a;

	if (a->length)
		ugni_copy(ugni_window_at(o->remote, a->remote_addr),
			  (const void *)(uintptr_t)a->local_addr, a->length);
	if (a->type == KGNI_POST_FMA_PUT_W_SYNCFLAG)
		core_store_release((u64 *)ugni_window_at(o->remote, a->sync_addr), a->sync_value);
}

static void do_get(const struct op *o)
{
	const struct kgni_ioc_post *a = o->a;

	ugni_copy(ugni_window_at(o->local, a->local_addr),
		  ugni_window_at(o->remote, a->remote_addr), a->length);
}

static void do_amo(const struct op *o)
{
	const struct kgni_ioc_post *a = o->a;
	u64 done, old;

	for (done = 0; done < a->length; done += o->amo.size) {
		old = kgni_amo_exec(&o->amo, ugni_window_at(o->remote, a->remote_addr + done),
				    a->operand[0], a->operand[1]);
		if (o->local)
			ugni_copy(ugni_window_at(o->local, a->local_addr + done), &old,
				  o->amo.size);
	}
}

/* Return: false if it has to be done by the driver, once more. */
static bool carry_out(struct op *o)
{
	const struct kgni_ioc_post *a = o->a;

	if (a->type == KGNI_POST_CQWRITE)
		return true;
	if (o->rule->amo)
		do_amo(o);
	else if (o->local)
		do_get(o);
	else
		do_put(o);
	if (o->rule->flag)
		core_store_release((u32 *)ugni_window_at(o->local, a->local_addr + a->length),
				   (u32)a->sync_value);
	if (ugni_window_live(o->remote) && (!o->local || ugni_window_live(o->local)))
		return true;
	o->status = KGNI_ST_ABORTED;
	return o->rule->amo;
}

/* --- events ---------------------------------------------------------------------------- */

/* Tell the driver, which tells others. @e: what failed, if something did */
void ugni_window_tell(struct gni_nic *nic, const struct ugni_window *w,
		      enum kgni_cqe_status status, const struct ugni_event *e)
{
	struct kgni_ioc_window_wake arg = { .index = w->index };

	if (status != KGNI_ST_OK) {
		arg.status = status;
		arg.type = e->type;
		arg.remote_addr = e->addr;
		arg.length = e->length;
	}
	ugni_nic_call(nic, KGNI_IOC_WINDOW_WAKE, &arg);
}

/* Return: must ugni_window_tell() follow? */
static bool event_put(struct ugni_window *w, const struct ugni_event *e,
		      enum kgni_cqe_status *status)
{
	const u64 entry = kgni_cqe_remote(e->data, e->type, e->smsg ? KGNI_CQE_SMSG :
								      KGNI_CQE_POST);
	bool in;

	*status = KGNI_ST_OK;
	if (!w->ring.ring)
		return false;
	in = kgni_ring_push_hinted(&w->ring, entry, &w->hint);
	/* A message is there, with its event or without, and will be found. */
	if (!in && !e->smsg)
		*status = KGNI_ST_REM_OVERRUN;
	return !in || ugni_must_wake(&w->ring, w->delay);
}

/* Return: what became of a transaction of which this is all that was left to do. */
enum kgni_cqe_status ugni_window_event(struct gni_nic *nic, struct ugni_window *w,
				       const struct ugni_event *e)
{
	enum kgni_cqe_status status;

	if (event_put(w, e, &status))
		ugni_window_tell(nic, w, status, e);
	return status;
}

static void event_source(struct gni_cq *cq, u16 mode, u64 src_event, enum kgni_cqe_status status)
{
	const u64 e = kgni_cqe_done(src_event, KGNI_CQE_FMA, status);

	/* In a message's entry the bit belongs to the transaction id. */
	if (mode & KGNI_CQMODE_LOCAL)
		ugni_cq_push(cq, kgni_cqe_type(e) == KGNI_CQE_POST ? e | KGNI_CQE_LOCAL : e);
	if (mode & KGNI_CQMODE_GLOBAL)
		ugni_cq_push(cq, e);
}

/* Errors the driver has counted. */
static void count(const struct gni_nic *nic, u32 type, u64 length, bool smsg)
{
	static const u8 stat[KGNI_POST_TYPES] = {
		[KGNI_POST_FMA_PUT] = KGNI_STAT_FMA_PUT,
		[KGNI_POST_FMA_PUT_W_SYNCFLAG] = KGNI_STAT_FMA_PUT,
		[KGNI_POST_FMA_GET] = KGNI_STAT_FMA_GET,
		[KGNI_POST_FMA_GET_W_FLAG] = KGNI_STAT_FMA_GET,
		[KGNI_POST_AMO] = KGNI_STAT_AMO,
		[KGNI_POST_AMO_W_FLAG] = KGNI_STAT_AMO,
		[KGNI_POST_CQWRITE] = KGNI_STAT_CQWRITE,
	};
	u64 *counted = nic->windows->counted;
	u32 which = stat[type];

	ugni_add(&counted[which], 1ULL);
	if (which == KGNI_STAT_FMA_PUT || which == KGNI_STAT_FMA_GET)
		ugni_add(&counted[which + 1], length);
	if (smsg)
		ugni_add(&counted[KGNI_STAT_SMSG], 1ULL);
}

/* All that follows a transaction. */
static void finish(struct op *o, struct gni_cq *cq)
{
	const struct kgni_ioc_post *a = o->a;
	const struct ugni_event e = {
		.data = a->type == KGNI_POST_CQWRITE ? a->cqwrite_value : a->remote_event,
		.type = a->type,
		.smsg = a->flags & KGNI_POST_SMSG,
		.addr = a->remote_addr,
		.length = a->length,
	};

	if (o->status != KGNI_ST_OK)
		ugni_window_tell(o->nic, o->remote, o->status, &e);
	else if (a->cq_mode & KGNI_CQMODE_REMOTE || a->type == KGNI_POST_CQWRITE)
		o->status = ugni_window_event(o->nic, o->remote, &e);
	if (cq)
		event_source(cq, a->cq_mode, a->src_event, o->status);
	if (o->status == KGNI_ST_OK)
		count(o->nic, a->type, a->length, e.smsg);
}

/* --- the windows of a NIC handle ---------------------------------------------------------- */

/* UGNI_WINDOWS in the environment: how many at most, 0 for none. */
static u32 windows_max(void)
{
	const char *text = secure_getenv("UGNI_WINDOWS");
	unsigned long max;
	char *end;

	if (!text || !*text)
		return UGNI_WINDOWS;
	max = strtoul(text, &end, 10);
	return *end || max > UGNI_WINDOWS ? UGNI_WINDOWS : (u32)max;
}

static struct ugni_windows *windows_new(void)
{
	struct ugni_windows *ws = mmap(NULL, sizeof(*ws), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ws == MAP_FAILED)
		return NULL;
	pthread_mutex_init(&ws->lock, NULL);
	ws->max = windows_max();
	ws->off = !ws->max;
	ws->state = &no_state;
	return ws;
}

/* Return: NULL without memory. */
static struct ugni_windows *windows_of(struct gni_nic *nic)
{
	struct ugni_windows *ws = core_load_acquire(&nic->windows);
	struct ugni_windows *none = NULL;

	if (ws)
		return ws;
	ws = windows_new();
	if (!ws || __atomic_compare_exchange_n(&nic->windows, &none, ws, false,
					       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return ws;
	munmap(ws, sizeof(*ws));
	return none;
}

/* Do something with every mapping. */
static void windows_each(struct ugni_windows *ws, void (*fn)(void *mem, u64 length))
{
	u32 i;

	for (i = 0; i < ws->max; i++) {
		struct ugni_window *w = &ws->slot[i];

		if (w->state != SLOT_OPEN)
			continue;
		if (w->data)
			fn(w->data, w->length);
		if (w->ring.ring)
			fn(w->ring.ring, w->ring_length);
	}
	if (ws->state != &no_state) {
		fn((void *)(uintptr_t)ws->state, KGNI_MMAP_STATE_SIZE);
		fn(ws->counted, KGNI_MMAP_PAGE);
	}
}

/**
 * ugni_windows_end - the NIC handle goes
 * @nic: NIC handle, whose file is still open
 *
 * Threads that are surprised by it find memory, with nothing in it.
 */
void ugni_windows_end(struct gni_nic *nic)
{
	struct ugni_windows *ws = core_load_acquire(&nic->windows);

	if (!ws)
		return;
	ugni_mutex_lock(&ws->lock);
	ws->off = true;
	if (!ugni_away(nic))
		windows_each(ws, ugni_sys_vacate);
	ugni_mutex_unlock(&ws->lock);
}

/* Its slot is used again: nobody looks there any more. */
void ugni_nic_recycle(void *obj)
{
	struct gni_nic *nic = obj;

	if (nic->windows) {
		windows_each(nic->windows, ugni_sys_unmap);
		munmap(nic->windows, sizeof(*nic->windows));
	}
	nic->windows = NULL;
}

/*
 * At a checkpoint nothing of the driver's stays mapped; what comes after it begins anew. A
 * thread that posts meanwhile may still look at the pages that all windows need.
 */
void ugni_windows_drop(struct gni_nic *nic)
{
	struct ugni_windows *ws = core_load_acquire(&nic->windows);
	u32 i;

	if (!ws)
		return;
	ugni_mutex_lock(&ws->lock);
	for (i = 0; i < ws->max; i++)
		if (ws->slot[i].state != SLOT_FREE)
			slot_try_free(nic, &ws->slot[i]);
	if (ws->state != &no_state) {
		ugni_sys_vacate((void *)(uintptr_t)ws->state, KGNI_MMAP_STATE_SIZE);
		ugni_sys_vacate(ws->counted, KGNI_MMAP_PAGE);
		core_store(&ws->state, &no_state);
		ws->counted = NULL;
	}
	ugni_mutex_unlock(&ws->lock);
}

/* --- posts ------------------------------------------------------------------------------ */

/* Does it keep all rules? If not, the driver says so. */
static bool keeps_rules(struct op *o)
{
	o->rule = kgni_post_rule(o->a->type);
	return o->rule && kgni_post_check(o->a, &o->amo) == KGNI_RULE_OK;
}

static bool needs_local(const struct op *o)
{
	return o->rule->local || (o->rule->amo && o->amo.fetch);
}

/* Is the window all that the post needs of its target? */
static bool remote_fits(const struct op *o)
{
	const struct kgni_ioc_post *a = o->a;
	const struct ugni_window *w = o->remote;
	bool event = a->cq_mode & KGNI_CQMODE_REMOTE && w->rights & KGNI_WINDOW_EVENTS;

	if ((event || a->type == KGNI_POST_CQWRITE) && !w->ring.ring &&
	    !(w->rights & KGNI_WINDOW_SINK))
		return false;
	if (o->rule->remote_write && !(w->rights & KGNI_WINDOW_WRITE))
		return false;
	return a->type != KGNI_POST_FMA_PUT_W_SYNCFLAG || ugni_window_covers(w, a->sync_addr, 8);
}

static bool get_remote(struct op *o, struct ugni_window **hint)
{
	const struct kgni_ioc_post *a = o->a;
	const bool flag = !a->length && a->type == KGNI_POST_FMA_PUT_W_SYNCFLAG;
	const struct want want = {
		.pe = a->remote_pe,
		.handle = &a->remote,
		.addr = flag ? a->sync_addr : a->remote_addr,
		.length = flag ? 8 : a->length,
		.queue = a->type == KGNI_POST_CQWRITE,
	};

	o->remote = window_get(o->nic, &want, hint);
	if (!o->remote)
		return false;
	if (remote_fits(o))
		return true;
	unpin(o->remote);
	return false;
}

static bool get_local(struct op *o)
{
	const struct kgni_ioc_post *a = o->a;
	const struct want want = {
		.pe = o->nic->pe,
		.handle = &a->local,
		.addr = a->local_addr,
		.length = a->length + (o->rule->flag ? KGNI_FLAG_SIZE : 0),
	};

	o->local = NULL;
	if (!needs_local(o))
		return o->rule->amo || a->type == KGNI_POST_CQWRITE || !a->length ||
		       readable(a->local_addr, a->length);
	o->local = window_get(o->nic, &want, &o->nic->local_window);
	if (!o->local || o->local->rights & KGNI_WINDOW_WRITE)
		return o->local;
	unpin(o->local);
	return false;
}

/**
 * ugni_window_post - carry a post out through windows
 * @nic: NIC handle
 * @a: the post
 * @cq: queue for its source events, or NULL
 * @hint: where its target's window is kept
 *
 * Return: true if it was carried out, with all of its events; false if it is for the
 * driver.
 */
bool ugni_window_post(struct gni_nic *nic, const struct kgni_ioc_post *a, struct gni_cq *cq,
		      struct ugni_window **hint)
{
	struct op o = { .nic = nic, .a = a, .status = KGNI_ST_OK };
	struct ugni_windows *ws = windows_of(nic);
	bool done = false;

	if (!ws || ugni_away(nic) || core_load(&core_load(&ws->state)->flags) || !keeps_rules(&o))
		return false;
	if (o.rule->bte && a->length > UGNI_RDMA_QUICK)
		return false;
	if (!get_remote(&o, hint))
		return false;
	if (get_local(&o)) {
		/* Whether RDMA may go by windows is for quick.c to say, the next time. */
		done = !o.rule->bte && carry_out(&o);
		if (o.local)
			unpin(o.local);
	}
	if (done)
		finish(&o, cq);
	unpin(o.remote);
	return done;
}

/* --- messages of a shared queue ----------------------------------------------------------- */

static struct ugni_window *message_way(struct gni_nic *nic, const struct ugni_message *m,
				       struct ugni_window **hint)
{
	const u64 addr = m->flag_addr ? m->flag_addr : m->addr;
	struct want want = {
		.pe = m->pe,
		.handle = &m->by,
		.addr = addr,
		.length = m->addr - addr + m->length,
	};

	if (m->flag_addr && want.length < sizeof(m->flag))
		want.length = sizeof(m->flag);
	return window_get(nic, &want, hint);
}

/* The queue of who is told. */
static struct ugni_window *message_queue(struct gni_nic *nic, const struct ugni_message *m,
					 struct ugni_window **hint)
{
	const struct want want = { .pe = m->pe, .handle = &m->to, .queue = true };
	struct ugni_window *w = window_get(nic, &want, hint);

	if (!w || w->ring.ring || w->rights & KGNI_WINDOW_SINK)
		return w;
	unpin(w);
	return NULL;
}

static enum ugni_went message_store(const struct ugni_message *m, const struct ugni_window *by,
				    const struct ugni_window *to)
{
	if (m->length)
		ugni_copy(ugni_window_at(by, m->addr), m->data, m->length);
	if (m->flag_addr)
		core_store_release((u64 *)ugni_window_at(by, m->flag_addr), m->flag);
	return ugni_window_live(by) && (!to || ugni_window_live(to)) ? UGNI_WENT : UGNI_WENT_MAYBE;
}

static enum ugni_went message_by(struct gni_nic *nic, const struct ugni_message *m,
				 struct ugni_window *by, struct ugni_window **hint,
				 struct ugni_window **late)
{
	const struct ugni_event e = {
		.data = m->event,
		.type = m->flag_addr ? KGNI_POST_FMA_PUT_W_SYNCFLAG : KGNI_POST_FMA_PUT,
		.smsg = true,
	};
	struct ugni_window *to = NULL;
	enum kgni_cqe_status status;
	enum ugni_went went;

	if (m->flag_addr) {
		to = message_queue(nic, m, hint);
		if (!to)
			return UGNI_WENT_NOT;
	}
	went = message_store(m, by, to);
	if (went == UGNI_WENT) {
		count(nic, e.type, m->length, to);
		if (to && event_put(to, &e, &status)) {
			*late = to;
			return went;
		}
	}
	if (to)
		unpin(to);
	return went;
}

/* Are there to be windows, and messages to go by them? */
static bool message_may(struct gni_nic *nic)
{
	struct ugni_windows *ws = windows_of(nic);

	return ws && !ugni_away(nic) && !core_load(&core_load(&ws->state)->flags);
}

/**
 * ugni_window_word - look at a word of a peer's memory, by a window that messages may go by
 * @nic: NIC handle
 * @pe: PE address of the peer
 * @handle: its registration
 * @addr: where
 * @length: bytes from there on that messages may go to, at least 8
 * @way: where the window is kept
 * @gen: out: which one it is
 *
 * Return: the word, with @gen; 0, with *@gen 0, if there is no window to all of that.
 */
u64 ugni_window_word(struct gni_nic *nic, u32 pe, const struct kgni_mem_handle *handle,
		     u64 addr, u64 length, struct ugni_window **way, u64 *gen)
{
	const struct want want = {
		.pe = pe,
		.handle = handle,
		.addr = addr,
		.length = length,
	};
	struct ugni_window *w = NULL;
	u64 value = 0;

	*gen = 0;
	if (addr % sizeof(u64) == 0 && message_may(nic))
		w = window_get(nic, &want, way);
	if (!w)
		return 0;
	value = core_load((u64 *)ugni_window_at(w, addr));
	*gen = core_load(&w->gen);
	unpin(w);
	return value;
}

/**
 * ugni_window_message - put into memory that several registered, and have one of them told
 * @nic: NIC handle
 * @m: the put
 * @way: where the window to the memory is kept; NULL afterwards if there is none
 * @hint: where that to the queue is kept
 * @late: out: window for ugni_window_message_tell(), NULL if nobody has to be woken
 *
 * Of who is told no more is mapped than the queue, so that many take little memory. The
 * window to the memory is one that ugni_window_word() found.
 *
 * Return: UGNI_WENT, with the event, if both were there when the put was made;
 * UGNI_WENT_NOT if nothing was done; UGNI_WENT_MAYBE if nobody knows, and nobody was told.
 */
enum ugni_went ugni_window_message(struct gni_nic *nic, const struct ugni_message *m,
				   struct ugni_window **way, struct ugni_window **hint,
				   struct ugni_window **late)
{
	enum ugni_went went = UGNI_WENT_NOT;
	struct ugni_window *by;

	*late = NULL;
	if (!message_may(nic) || m->flag_addr % sizeof(m->flag))
		return went;
	by = message_way(nic, m, way);
	if (!by)
		return went;
	if (by->rights & KGNI_WINDOW_WRITE && core_load(&by->gen) == m->gen)
		went = message_by(nic, m, by, hint, late);
	unpin(by);
	return went;
}

/* Wake who was sent a message. */
void ugni_window_message_tell(struct gni_nic *nic, struct ugni_window *late)
{
	ugni_window_tell(nic, late, KGNI_ST_OK, NULL);
	unpin(late);
}

/* --- windows that are open, for the short ways ---------------------------------------- */

static inline_always struct ugni_window *lookup(struct ugni_windows *ws, u64 peer,
						struct kgni_mem_handle h, u64 addr, u64 length)
{
	struct ugni_window *w;

	for (w = ugni_slot_first(ws, ugni_window_hash(&h, (u32)peer)); w; w = w->next)
		if (likely(w->handle.qword1 == h.qword1 && w->handle.qword2 == h.qword2 &&
			   w->whose == peer) && ugni_window_covers(w, addr, length))
			break;
	return w;
}

/* As long as the lock is held no window is given up. */
static ugni_apart struct ugni_window *find_locked(struct ugni_windows *ws,
						  struct ugni_window **hint, u64 peer,
						  struct kgni_mem_handle h, u64 addr, u64 length)
{
	struct ugni_window *w;

	pthread_mutex_lock(&ws->lock);
	w = lookup(ws, peer, h, addr, length);
	if (w) {
		ugni_add_as(false, &w->users, 1U);
		core_store(hint, w);
	}
	pthread_mutex_unlock(&ws->lock);
	return w;
}

/**
 * ugni_window_find - find a window for a post that is in order, if it is open
 * @nic: NIC handle
 * @hint: where it is kept
 * @peer: ugni_peer() of the target
 * @h: handle of the target
 * @addr: first byte there
 * @length: bytes
 *
 * Return: the window, pinned as by ugni_window_pin(), or NULL.
 */
struct ugni_window *ugni_window_find(struct gni_nic *nic, struct ugni_window **hint, u64 peer,
				     struct kgni_mem_handle h, u64 addr, u64 length)
{
	struct ugni_windows *ws = core_load_acquire(&nic->windows);
	struct ugni_window *w;

	if (unlikely(!ws))
		return NULL;
	if (unlikely(!ugni_alone()))
		return find_locked(ws, hint, peer, h, addr, length);
	w = lookup(ws, peer, h, addr, length);
	if (likely(w))
		core_store(hint, w);
	return w;
}

/**
 * ugni_window_reach - where memory of a peer is
 * @ep: endpoint, bound to the peer, locked
 * @w: the window that was used last, or NULL
 * @h: handle of the memory
 * @addr: its address there
 * @length: bytes
 * @gen: out: for ugni_window_enter(), or what no window has
 *
 * Return: where it is, if puts and their events can be done by @w; else NULL.
 */
char *ugni_window_reach(const struct gni_ep *ep, struct ugni_window *w,
			const struct kgni_mem_handle *h, u64 addr, u64 length, u64 *gen)
{
	char *at = NULL;

	*gen = UGNI_NO_GEN;
	if (!w || !pin(w, ep->remote_pe, h))
		return NULL;
	if (ugni_window_covers(w, addr, length) && w->rights & KGNI_WINDOW_WRITE &&
	    (w->ring.ring || !(w->rights & KGNI_WINDOW_EVENTS)))
		at = ugni_window_at(w, addr);
	if (at)
		*gen = core_load(&w->gen);
	unpin(w);
	return at;
}
