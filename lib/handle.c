// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Arenas: where the objects behind handles live.
 *
 * An arena is a reserved range of addresses, cut into slots of one size, that
 * becomes memory from its beginning on and is never given back. A handle is
 * the address of a slot; whether it names a live object of the type can be
 * told by its range, its alignment and a magic word, all without a fault.
 * Freed slots are used again late and oldest first, so that a stale handle is
 * found out for long.
 *
 * Endpoints' handles differ in their low 24 bits, which a client uses as a key
 * of its own: the arena begins at a multiple of 16 MiB, so the first 131072
 * endpoints of a process are told apart. The others begin on pages beside such a multiple:
 * TLBs, of emulators above all, have few places for pages that are that far apart.
 */
#include <string.h>
#include <sys/mman.h>

#include "msgq.h"

#define COMMIT_STEP	(64UL * 1024)
#define ALIGNMENT	(16UL * 1024 * 1024)
/* So many slots rest before one is used again. */
#define RESTING		256

#define ARENA(magic_, shift_, max_, pages_, recycle_) {	\
	.magic = (magic_),				\
	.shift = (shift_),				\
	.max = (max_),					\
	.aside = (pages_) * 4096UL,			\
	.recycle = (recycle_),				\
	.lock = PTHREAD_MUTEX_INITIALIZER,		\
	.free_head = UGNI_NONE,				\
	.free_tail = UGNI_NONE,				\
}

struct ugni_arena ugni_cdms = ARENA(0x4d444347, 10, 1U << 14, 5, NULL);
struct ugni_arena ugni_nics = ARENA(0x43494e47, 8, 1U << 16, 11, ugni_nic_recycle);
struct ugni_arena ugni_eps = ARENA(UGNI_EP_MAGIC, UGNI_EP_SHIFT, 1U << 21, 0, NULL);
struct ugni_arena ugni_cqs = ARENA(UGNI_CQ_MAGIC, UGNI_CQ_SHIFT, 1U << 16, 23, ugni_cq_recycle);
struct ugni_arena ugni_chans = ARENA(0x48434e47, 7, 1U << 16, 37, NULL);
struct ugni_arena ugni_errs = ARENA(0x52454e47, 7, 1U << 14, 41, NULL);
struct ugni_arena ugni_ces = ARENA(0x45434e47, 7, 1U << 14, 43, NULL);
struct ugni_arena ugni_msgqs = ARENA(0x514d4e47, 9, 1U << 14, 53, NULL);

_Static_assert(sizeof(struct gni_cdm) <= 1U << 10, "size of a slot");
_Static_assert(sizeof(struct gni_nic) <= 1U << 8, "size of a slot");
_Static_assert(sizeof(struct gni_ep) <= 1U << UGNI_EP_SHIFT, "size of a slot");
_Static_assert(sizeof(struct gni_cq) <= 1U << UGNI_CQ_SHIFT, "size of a slot");
_Static_assert(sizeof(struct gni_comp_chan) <= 1U << 7, "size of a slot");
_Static_assert(sizeof(struct gni_err) <= 1U << 7, "size of a slot");
_Static_assert(sizeof(struct gni_ce) <= 1U << 7, "size of a slot");
_Static_assert(sizeof(struct gni_msgq) <= 1U << 9, "size of a slot");

static void arena_forget(struct ugni_arena *a)
{
	core_store(&a->committed, 0);
	core_store(&a->base, 0);
	pthread_mutex_init(&a->lock, NULL);
	a->used = 0;
	a->free_count = 0;
	a->free_head = UGNI_NONE;
	a->free_tail = UGNI_NONE;
}

/*
 * The parent's attachments are not the child's. Were its files left open here,
 * the driver would keep them after the parent's end; so they go, and the
 * parent's handles are no handles in the child, which may make its own.
 */
static void forked_child(void)
{
	struct gni_comp_chan *chan;
	struct gni_err *err;
	struct gni_nic *nic;
	u32 i;

	for (i = 0; (nic = ugni_next(&ugni_nics, &i)); )
		if (!ugni_away(nic))
			ugni_sys_close(nic->fd);
	for (i = 0; (chan = ugni_next(&ugni_chans, &i)); )
		if (!ugni_away(chan->nic))
			ugni_sys_close(chan->fd);
	for (i = 0; (err = ugni_next(&ugni_errs, &i)); )
		if (!err->nic)
			ugni_sys_close(err->fd);
	ugni_msgq_forked();
	ugni_control_forked();
	arena_forget(&ugni_cdms);
	arena_forget(&ugni_nics);
	arena_forget(&ugni_eps);
	arena_forget(&ugni_cqs);
	arena_forget(&ugni_chans);
	arena_forget(&ugni_errs);
	arena_forget(&ugni_ces);
	arena_forget(&ugni_msgqs);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked_child);
}

/* Before there is anything that a child process must not have. */
void ugni_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
}

/* Reserve the range, with both ends that alignment does not need cut off. */
static bool arena_reserve(struct ugni_arena *a)
{
	size_t size = (size_t)a->max << a->shift, room = ALIGNMENT + a->aside;
	uintptr_t raw, base;
	void *mem;

	mem = mmap(NULL, size + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		return false;
	raw = (uintptr_t)mem;
	base = ((raw + ALIGNMENT - 1) & ~(ALIGNMENT - 1)) + a->aside;
	if (base != raw)
		munmap(mem, base - raw);
	if (base != raw + room)
		munmap((void *)(base + size), raw + room - base);
	core_store(&a->base, base);
	return true;
}

static struct ugni_slot *arena_slot(const struct ugni_arena *a, u32 index)
{
	return (struct ugni_slot *)(a->base + ((size_t)index << a->shift));
}

static bool arena_grow(struct ugni_arena *a)
{
	if (!a->base && !arena_reserve(a))
		return false;
	if (mprotect((void *)(a->base + a->committed), COMMIT_STEP, PROT_READ | PROT_WRITE))
		return false;
	/* Pairs with the acquire in ugni_lookup(). */
	core_store_release(&a->committed, a->committed + COMMIT_STEP);
	return true;
}

static struct ugni_slot *arena_take_new(struct ugni_arena *a)
{
	struct ugni_slot *s;

	if (a->used == a->max)
		return NULL;
	if ((size_t)a->used << a->shift == a->committed && !arena_grow(a))
		return NULL;
	s = arena_slot(a, a->used++);
	/* Not before: what nobody has written to takes no memory. */
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static struct ugni_slot *arena_take_free(struct ugni_arena *a)
{
	struct ugni_slot *s;

	if (!a->free_count)
		return NULL;
	s = arena_slot(a, a->free_head);
	a->free_head = s->next;
	if (!--a->free_count)
		a->free_tail = UGNI_NONE;
	return s;
}

/**
 * ugni_alloc - a new object
 * @a: arena of its type
 *
 * Return: the object, all zero but for its head, not to be found by handle
 * before ugni_publish(); NULL without memory.
 */
void *ugni_alloc(struct ugni_arena *a)
{
	struct ugni_slot *s = NULL;

	ugni_watch_forks();
	pthread_mutex_lock(&a->lock);
	if (a->free_count < RESTING)
		s = arena_take_new(a);
	if (!s)
		s = arena_take_free(a);
	pthread_mutex_unlock(&a->lock);
	if (s && a->recycle)
		a->recycle(s);
	if (s)
		memset(s + 1, 0, (1UL << a->shift) - sizeof(*s));
	return s;
}

/* From here on the handle is valid. */
void ugni_publish(struct ugni_arena *a, void *obj)
{
	core_store_release(&((struct ugni_slot *)obj)->magic, a->magic);
}

/* From here on it is not. Return: true for one of those who try at once. */
bool ugni_retire(struct ugni_arena *a, void *obj)
{
	return core_cmpxchg(&((struct ugni_slot *)obj)->magic, a->magic, 0U) == a->magic;
}

/* Give back an object that was retired, or never published. */
void ugni_free(struct ugni_arena *a, void *obj)
{
	struct ugni_slot *s = obj;
	u32 index = ugni_index(a, obj);

	pthread_mutex_lock(&a->lock);
	s->next = UGNI_NONE;
	if (a->free_count)
		arena_slot(a, a->free_tail)->next = index;
	else
		a->free_head = index;
	a->free_tail = index;
	a->free_count++;
	pthread_mutex_unlock(&a->lock);
}

/**
 * ugni_next - go through the live objects of a type
 * @a: the arena
 * @index: 0 at first; where to go on
 *
 * Return: the next object; NULL after the last.
 */
void *ugni_next(const struct ugni_arena *a, u32 *index)
{
	u32 end = (u32)(core_load_acquire(&a->committed) >> a->shift);
	struct ugni_slot *s;

	while (*index < end) {
		s = arena_slot(a, (*index)++);
		if (ugni_live(a, s))
			return s;
	}
	return NULL;
}
