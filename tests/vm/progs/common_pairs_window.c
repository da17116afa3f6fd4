// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at a registration to which windows are open: both
 * sides have it mapped, and the ring of the queue behind it. See common_pairs.h.
 */
#include "common_pairs.h"

#define STORED	64		/* bytes */
#define SUM_AT	32		/* both sides add to it */

/* --- windows ----------------------------------------------------------------------- */

static int open_window(const struct side *s, struct kgni_ioc_window_open *win)
{
	*win = (struct kgni_ioc_window_open){
		.remote_pe = w->pe, .remote = w->target, .addr = (uint64_t)mem.target,
	};
	return call(s->fd, KGNI_IOC_WINDOW_OPEN, win);
}

static int close_window(const struct side *s, const struct kgni_ioc_window_open *win)
{
	struct kgni_ioc_window_close arg = { .index = win->index };

	return call(s->fd, KGNI_IOC_WINDOW_CLOSE, &arg);
}

static void *map_part(const struct side *s, uint64_t offset, size_t len, int prot)
{
	return mmap(NULL, len, prot, MAP_SHARED, s->fd, (off_t)offset);
}

static void *must_map(const struct side *s, uint64_t offset, size_t len, int prot)
{
	void *p = map_part(s, offset, len, prot);

	must(p != MAP_FAILED);
	return p;
}

#define RW	(PROT_READ | PROT_WRITE)

/* Does the window still lead to the target, after all that was done through it? */
static int through(const struct side *s)
{
	return __atomic_load_n(&s->win_state->live[s->window.index], __ATOMIC_ACQUIRE) ?
	       GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

/* --- operations -------------------------------------------------------------------- */

static int op_open_window(struct side *s)
{
	struct kgni_ioc_window_open win;
	int rc = open_window(s, &win);

	return rc ? rc : close_window(s, &win);
}

/* Another one, of which a page is looked at. */
static int op_map_window(struct side *s)
{
	struct kgni_ioc_window_open win;
	int rc = open_window(s, &win);
	unsigned char *p;

	if (rc)
		return rc;
	p = map_part(s, win.data_offset, win.length, RW);
	if (p == MAP_FAILED) {
		rc = -errno;
		close_window(s, &win);
		return rc;
	}
	(void)*(volatile unsigned char *)(p + PAGE * (s->me + 1));
	rc = close_window(s, &win);
	munmap(p, win.length);
	return rc;
}

static int op_store(struct side *s)
{
	memset(s->win_data + (slot(s->me) - mem.target), stamp(s->me), STORED);
	return through(s);
}

/* Of what a side has stored it sees all. */
static int op_load(struct side *s)
{
	volatile unsigned char *p = s->win_data + (slot(s->me) - mem.target);
	unsigned char before = *p, after;

	*p = stamp(s->me);
	after = *p;
	if (through(s))
		return GNI_RC_NOT_DONE;
	ok(after == stamp(s->me), "%#x was stored, %#x was before, %#x is there", stamp(s->me),
	   before, after);
	return GNI_RC_SUCCESS;
}

static int op_add(struct side *s)
{
	__atomic_fetch_add((uint64_t *)(s->win_data + SUM_AT), 1, __ATOMIC_SEQ_CST);
	return through(s);
}

static int op_window_wake(struct side *s)
{
	struct kgni_ioc_window_wake arg = { .index = s->window.index };

	return call(s->fd, KGNI_IOC_WINDOW_WAKE, &arg);
}

/* The ring stays mapped after the registration, and there is room in it. */
static int op_event(struct side *s)
{
	if (kgni_ring_count(&s->queue) > QUEUE_LEN / 2)
		return GNI_RC_NOT_DONE;
	if (!kgni_ring_push(&s->queue, kgni_cqe_remote(s->me, 0, KGNI_CQE_POST)))
		return GNI_RC_ERROR_RESOURCE;
	w->pushed++;
	return op_window_wake(s);
}

/* Its pages come again at another place. */
static int op_remap(struct side *s)
{
	unsigned char *p = map_part(s, s->window.data_offset, s->window.length, RW);

	if (p == MAP_FAILED)
		return -errno;
	munmap(s->win_data, s->window.length);
	s->win_data = p;
	return op_load(s);
}

/* --- making and ending it ---------------------------------------------------------- */

/* What is mapped would keep a file that is to end by its close. */
static bool has_windows(const struct side *s)
{
	return w->op[s->me]->fn != op_close;
}

static void window_side_open(struct side *s)
{
	mem_side_open(s);
	s->win_data = NULL;
	if (!has_windows(s))
		return;
	must(!open_window(s, &s->window));
	must(s->window.addr == (uint64_t)mem.target && s->window.length == TARGET_LEN);
	s->win_data = must_map(s, s->window.data_offset, s->window.length, RW);
	s->win_ring = must_map(s, s->window.ring_offset, s->window.ring_length, RW);
	s->win_state = must_map(s, KGNI_MMAP_STATE, KGNI_MMAP_STATE_SIZE, PROT_READ);
	kgni_ring_view_init(&s->queue, s->win_ring, s->window.slots);
}

static void window_side_close(struct side *s)
{
	if (s->win_data) {
		munmap(s->win_data, s->window.length);
		munmap(s->win_ring, s->window.ring_length);
		munmap((void *)(uintptr_t)s->win_state, KGNI_MMAP_STATE_SIZE);
		if (s->own)
			is_u64(close_window(s, &s->window), GNI_RC_SUCCESS);
	}
	mem_side_close(s);
}

/* Who stored, and then saw the window alive, has stored there. */
static void check_stored(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sum += w->op[i]->fn == op_add ? w->result[i].done : 0;
		if (w->op[i]->fn == op_store && w->result[i].done)
			ok(all_bytes(slot(i), STORED, stamp(i)), "round %u: %s: not all there",
			   w->round, w->op[i]->name);
	}
	is_u64(*word_at(SUM_AT), sum);
}

static void window_check(void)
{
	if (!w->filled)
		check_stored();
	mem_check();
}

/* --- table ------------------------------------------------------------------------- */

#define THROUGH(name_, fn_)							\
	{ .name = (name_), .fn = (fn_), .len = STORED, .codes = C_OK,		\
	  ON_MEMORY(C_NOT_DONE), .quick = true }

static const struct op window_ops[] = {
	{ .name = "open and close", .fn = op_open_window, .codes = C_OK, ON_MEMORY(C_PARAM) },
	{ .name = "map another", .fn = op_map_window, .codes = C_OK, ON_MEMORY(C_PARAM) },
	THROUGH("store", op_store),
	THROUGH("store and load", op_load),
	THROUGH("add", op_add),
	THROUGH("map anew and load", op_remap),
	{ .name = "event", .fn = op_event, .codes = C_OK | C_NOT_DONE },
	{ .name = "wake", .fn = op_window_wake, .codes = C_OK },
	{ .name = "fork", .fn = op_fork, .codes = C_OK, .owner = true },
	WORD,
	CQWRITE,
	DEREGISTER,
	DESTROY,
	CLOSE,
	KILL,
};

const struct object window_object = {
	.name = "window", .ops = window_ops, .count = ARRAY_SIZE(window_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = mem_open_world, .side_open = window_side_open,
	.side_close = window_side_close, .check = window_check, .close = mem_close_world,
};
