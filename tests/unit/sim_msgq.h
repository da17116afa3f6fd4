/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two nodes of instances that share message queues by kernel/core/msgq.h, in one
 * thread. Whoever acts may die before any access to what is shared: step() comes
 * before each, and goes back to sim_act(). Messages are numbered, and it is written
 * down what became of each.
 *
 * Who includes it defines sim_check(condition).
 */
#ifndef _KGNI_SIM_MSGQ_H
#define _KGNI_SIM_MSGQ_H

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

static void step(void);

#undef core_load
#undef core_store
#undef core_load_acquire
#undef core_store_release
#undef core_cmpxchg
#undef core_xchg
#define core_load(p)		(step(), __atomic_load_n(p, __ATOMIC_RELAXED))
#define core_load_acquire(p)	(step(), __atomic_load_n(p, __ATOMIC_ACQUIRE))
#define core_store(p, v)	(step(), __atomic_store_n(p, v, __ATOMIC_RELAXED))
#define core_store_release(p, v)	(step(), __atomic_store_n(p, v, __ATOMIC_RELEASE))
#define core_xchg(p, v)		(step(), __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST))
#define core_cmpxchg(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	step();								\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	old_;								\
})

#include "core/msgq.h"

#define SIM_INSTS	6
#define SIM_EVENTS	256	/* a power of two */
#define SIM_MESSAGES	4096

struct sim_node;

struct sim_inst {
	struct sim_node *node;
	u32 i;
	bool alive;
	u32 epoch;
	u32 event[SIM_EVENTS];
	u32 in, out;
	bool scan;		/* events were lost */
	u64 took[4];		/* number of the last message of each connection */
	u32 last[SIM_INSTS];	/* number of the last message from each, plus 1 */
};

struct sim_node {
	struct kgni_msgq_view v;
	struct sim_inst inst[SIM_INSTS];
	u32 pe;
};

enum sim_fate { SIM_BEGUN, SIM_SENT, SIM_FAILED };

struct sim_message {
	enum sim_fate fate;
	u32 from, to;		/* 0 to SIM_INSTS - 1 on node 0, then node 1 */
	u32 delivered;
};

static struct sim_node sim_node[2];
static struct sim_message sim_message[SIM_MESSAGES];
static u32 sim_messages;
static u32 sim_turn;
static jmp_buf sim_death;
static u32 sim_steps;		/* steps until the actor dies; 0: it lives */
static u32 sim_trouble;		/* of 256 puts so many end nobody knows how */
static u32 (*sim_random)(u32 below);
static void (*sim_meanwhile)(void);	/* at each step */
static bool sim_hostile;	/* others write to the regions: only what holds anyway is checked */

static void step(void)
{
	if (sim_meanwhile)
		sim_meanwhile();
	if (sim_steps && !--sim_steps)
		longjmp(sim_death, 1);
}

static inline u32 sim_index(const struct sim_inst *x)
{
	return (u32)(x->node - sim_node) * SIM_INSTS + x->i;
}

static inline struct sim_inst *sim_inst(u32 index)
{
	return &sim_node[index / SIM_INSTS].inst[index % SIM_INSTS];
}

/* --- puts ---------------------------------------------------------------------------- */

static inline void sim_event(struct sim_inst *to, u32 value)
{
	if (to->in - to->out == SIM_EVENTS)
		to->scan = true;
	else
		to->event[to->in++ % SIM_EVENTS] = value;
}

/* Is that range the registered part of the target's region, or inside it? */
static inline bool sim_inside(const struct sim_node *n, u64 addr, u64 length)
{
	u64 begin = (u64)(uintptr_t)n->v.mem + n->v.shape.mboxes_at;
	u64 size = kgni_msgq_registered(&n->v.shape);

	return addr >= begin && addr - begin <= size && length <= size - (addr - begin);
}

static inline enum kgni_msgq_way sim_put(void *ctx, const struct kgni_msgq_put *p)
{
	struct sim_node *n = &sim_node[p->pe & 1];
	u32 i = (u32)p->to.handle[0] % SIM_INSTS;
	struct sim_inst *to = &n->inst[i];
	bool lost = sim_random && sim_random(256) < sim_trouble;

	(void)ctx;
	step();
	if (!to->alive || p->to.handle[1] != to->epoch || !sim_inside(n, p->addr, p->length) ||
	    (p->flag_addr && (!sim_inside(n, p->flag_addr, 8) || p->flag_addr % 8)))
		return KGNI_MSGQ_REFUSED;
	if (lost && sim_random(2))
		return KGNI_MSGQ_UNKNOWN;
	if (p->length)
		memcpy((void *)(uintptr_t)p->addr, p->data, p->length);
	step();
	if (p->flag_addr) {
		__atomic_store_n((u64 *)(uintptr_t)p->flag_addr, p->flag, __ATOMIC_RELEASE);
		step();
		sim_event(to, p->event);
		step();
	}
	return lost ? KGNI_MSGQ_UNKNOWN : KGNI_MSGQ_ARRIVED;
}

static inline bool sim_alive(void *ctx, u32 i, u32 epoch)
{
	const struct sim_node *n = ctx;

	return i < SIM_INSTS && n->inst[i].alive && n->inst[i].epoch == epoch;
}

/* --- locks, as lib/msgq.c takes them --------------------------------------------------- */

static inline bool sim_lock(struct sim_inst *x, u64 *lock)
{
	u64 me = kgni_msgq_token(x->i, x->epoch);
	u64 holder = kgni_msgq_lock(lock, 0, me);

	if (!holder)
		return true;
	if (holder != me && sim_alive(x->node, (u32)holder - 1, (u32)(holder >> 32)))
		return false;
	return !kgni_msgq_lock(lock, holder, me);
}

static inline bool sim_lock_tx(struct sim_inst *x, u32 c)
{
	u64 *lock = &kgni_msgq_conn(&x->node->v, c)->tx_lock;

	if (!sim_lock(x, lock))
		return false;
	if (kgni_msgq_resend(&x->node->v, c))
		return true;
	kgni_msgq_unlock(lock, kgni_msgq_token(x->i, x->epoch));
	return false;
}

static inline void sim_return(struct sim_inst *x, u32 c, bool asked)
{
	struct kgni_msgq_conn *conn = kgni_msgq_conn(&x->node->v, c);

	if (!sim_lock(x, &conn->rx_lock))
		return;
	if (asked)
		kgni_msgq_answer(&x->node->v, c);
	else
		kgni_msgq_return(&x->node->v, c);
	kgni_msgq_unlock(&conn->rx_lock, kgni_msgq_token(x->i, x->epoch));
}

/* --- what instances do ------------------------------------------------------------------- */

/* A message says its number, and that of its sender; the rest follows from these. */
static inline void sim_fill(struct kgni_msgq_msg *m, u32 number, u32 from)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->id = from;
	m->tag = (u8)number;
	m->length = 8 + number % 40;
	memcpy(m->payload, &number, 4);
	memcpy(m->payload + 4, &from, 4);
	for (i = 8; i < m->length; i++)
		m->payload[i] = (u8)(number * 7 + i);
}

/* @to: number of an instance of the other node. */
static inline enum kgni_msgq_sent sim_send(struct sim_inst *x, u32 to)
{
	struct sim_node *n = x->node, *other = &sim_node[n == sim_node];
	struct sim_message *r = &sim_message[sim_messages];
	u32 c = kgni_msgq_lookup(&n->v, other->pe), peer;
	enum kgni_msgq_sent what;
	struct kgni_msgq_msg m;

	if (c == n->v.shape.conns)
		return KGNI_MSGQ_INACTIVE;
	peer = kgni_msgq_peer_of(&n->v, c, sim_index(&other->inst[to]));
	if (peer == KGNI_MSGQ_INSTS_MAX)
		return KGNI_MSGQ_INACTIVE;
	if (!sim_lock_tx(x, c))
		return KGNI_MSGQ_AGAIN;
	sim_check(sim_messages < SIM_MESSAGES);
	sim_fill(&m, sim_messages, sim_index(x));
	r->from = sim_index(x);
	r->to = sim_index(&other->inst[to]);
	r->fate = SIM_BEGUN;
	r->delivered = 0;
	sim_messages++;
	what = kgni_msgq_send(&n->v, c, peer, &m);
	if (what == KGNI_MSGQ_SENT)
		r->fate = SIM_SENT;
	else if (what == KGNI_MSGQ_FAILED)
		r->fate = SIM_FAILED;
	else
		sim_messages--;
	kgni_msgq_unlock(&kgni_msgq_conn(&n->v, c)->tx_lock, kgni_msgq_token(x->i, x->epoch));
	if (what == KGNI_MSGQ_FULL)
		kgni_msgq_ask(&n->v, c, sim_turn++);
	return what;
}

static inline void sim_deliver(struct sim_inst *x, const struct kgni_msgq_msg *m)
{
	struct kgni_msgq_msg want;
	struct sim_message *r;
	u32 number, from;

	sim_check(m->length <= x->node->v.shape.maxsize);
	if (sim_hostile)
		return;
	memcpy(&number, m->payload, 4);
	sim_check(number < sim_messages);
	r = &sim_message[number];
	from = r->from;
	sim_fill(&want, number, from);
	sim_check(m->id == from && m->tag == want.tag && m->length == want.length);
	sim_check(!memcmp(m->payload, want.payload, m->length));
	sim_check(m->pe == sim_node[from / SIM_INSTS].pe);
	sim_check(r->to == sim_index(x));
	sim_check(!r->delivered);
	sim_check(number + 1 > x->last[from % SIM_INSTS]);
	x->last[from % SIM_INSTS] = number + 1;
	r->delivered = 1;
}

/* Return: false if the slot had nothing for us. */
static inline bool sim_take(struct sim_inst *x, u32 c, u32 slot)
{
	struct kgni_msgq_msg m;
	enum kgni_msgq_got got;

	got = kgni_msgq_take(&x->node->v, c, slot, x->i, x->epoch, &x->took[c], &m);
	sim_check(got != KGNI_MSGQ_DAMAGED || sim_hostile);
	if (got == KGNI_MSGQ_EARLY)
		x->scan = true;
	if (got == KGNI_MSGQ_NONE || got == KGNI_MSGQ_EARLY)
		return false;
	if (got == KGNI_MSGQ_MESSAGE)
		sim_deliver(x, &m);
	if (kgni_msgq_due(&x->node->v, c))
		sim_return(x, c, false);
	return true;
}

static inline void sim_scan(struct sim_inst *x)
{
	const struct kgni_msgq_shape *s = &x->node->v.shape;
	u32 c, slot;

	for (c = 0; c < s->conns; ) {
		slot = kgni_msgq_find(&x->node->v, c, x->i, x->epoch, x->took[c]);
		if (slot == s->slots || !sim_take(x, c, slot))
			c++;
	}
	x->scan = false;
}

/* All that an instance was told of. */
static inline void sim_receive(struct sim_inst *x)
{
	const struct kgni_msgq_shape *s = &x->node->v.shape;
	u32 value, c, slot;

	while (x->in != x->out) {
		value = x->event[x->out++ % SIM_EVENTS];
		c = (value & ~KGNI_MSGQ_ASK) >> KGNI_MSGQ_SLOT_BITS;
		slot = value & (KGNI_MSGQ_SLOTS_MAX - 1);
		sim_check((c < s->conns && slot < s->slots) || sim_hostile);
		if (c >= s->conns || slot >= s->slots)
			continue;
		if (value & KGNI_MSGQ_ASK)
			sim_return(x, c, true);
		else if (!x->scan)
			sim_take(x, c, slot);
	}
	if (x->scan)
		sim_scan(x);
}

/* Do something, and die at its step @at unless that is 0. Return: false if it died. */
static inline bool sim_act(struct sim_inst *x, u32 at, void (*what)(struct sim_inst *x, u32 arg),
			   u32 arg)
{
	sim_steps = at;
	if (setjmp(sim_death)) {
		x->alive = false;
		return false;
	}
	what(x, arg);
	sim_steps = 0;
	return true;
}

static inline void sim_do_send(struct sim_inst *x, u32 to)
{
	sim_send(x, to);
}

static inline void sim_do_receive(struct sim_inst *x, u32 arg)
{
	(void)arg;
	sim_receive(x);
}

/* --- setting up ----------------------------------------------------------------------------- */

static inline void sim_node_init(struct sim_node *n, u32 slots, u32 conns)
{
	struct kgni_msgq_inst *inst;
	u32 i;

	memset(n, 0, sizeof(*n));
	n->pe = 10 + (u32)(n - sim_node);
	sim_check(kgni_msgq_shape_init(&n->v.shape, 64, slots, conns, SIM_INSTS));
	n->v.mem = aligned_alloc(KGNI_MSGQ_PAGE, kgni_msgq_round(n->v.shape.size,
								 KGNI_MSGQ_PAGE));
	memset(n->v.mem, 0, n->v.shape.size);
	n->v.put = sim_put;
	n->v.alive = sim_alive;
	n->v.ctx = n;
	for (i = 0; i < SIM_INSTS; i++) {
		n->inst[i].node = n;
		n->inst[i].i = i;
		n->inst[i].alive = true;
		n->inst[i].epoch = 1;
		inst = kgni_msgq_inst(&n->v, i);
		inst->id = sim_index(&n->inst[i]);
		inst->epoch = 1;
		inst->used = 1;
	}
}

static inline void sim_connect(struct sim_node *n, struct sim_node *to, u32 c)
{
	struct kgni_msgq_peer peers[SIM_INSTS];
	u32 i, at = 0, theirs = kgni_msgq_lookup(&to->v, n->pe);

	for (i = 0; i < SIM_INSTS; i++) {
		sim_check(kgni_msgq_peer_init(&n->v.shape, &peers[i],
					      (u64)(uintptr_t)to->v.mem + to->v.shape.mboxes_at,
					      kgni_msgq_offset(&to->v, theirs, i,
							       to->inst[i].epoch), &at));
		peers[i].handle[0] = i;
		peers[i].handle[1] = to->inst[i].epoch;
		peers[i].id = sim_index(&to->inst[i]);
	}
	sim_check(at == theirs);
	kgni_msgq_connect(&n->v, c, peers, SIM_INSTS, at);
}

static inline void sim_begin(u32 slots, u32 conns)
{
	u32 a, b;

	sim_messages = 0;
	sim_turn = 0;
	sim_steps = 0;
	sim_trouble = 0;
	sim_hostile = false;
	sim_meanwhile = NULL;
	sim_node_init(&sim_node[0], slots, conns);
	sim_node_init(&sim_node[1], slots, conns);
	a = kgni_msgq_assign(&sim_node[0].v, sim_node[1].pe);
	b = kgni_msgq_assign(&sim_node[1].v, sim_node[0].pe);
	sim_check(a < conns && b < conns);
	sim_connect(&sim_node[0], &sim_node[1], a);
	sim_connect(&sim_node[1], &sim_node[0], b);
}

static inline void sim_end(void)
{
	free(sim_node[0].v.mem);
	free(sim_node[1].v.mem);
}

/* Everybody who lives receives, and asks for credits and answers, until all is quiet. */
static inline void sim_settle(void)
{
	struct sim_inst *x;
	u32 round, i, c;

	sim_trouble = 0;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 2 * SIM_INSTS; i++) {
			x = sim_inst(i);
			if (!x->alive)
				continue;
			c = kgni_msgq_lookup(&x->node->v, sim_node[i < SIM_INSTS].pe);
			if (c == x->node->v.shape.conns)
				continue;
			if (sim_lock_tx(x, c))
				kgni_msgq_unlock(&kgni_msgq_conn(&x->node->v, c)->tx_lock,
						 kgni_msgq_token(x->i, x->epoch));
			kgni_msgq_ask(&x->node->v, c, i + round);
			sim_receive(x);
		}
	}
}

/* After that: all that was sent to who lives is there ... */
static inline void sim_account_messages(void)
{
	struct sim_message *r;
	u32 i;

	for (i = 0; i < sim_messages; i++) {
		r = &sim_message[i];
		if (r->fate == SIM_SENT && sim_inst(r->to)->alive)
			sim_check(r->delivered == 1);
	}
}

/* ... and all slots are free. */
static inline void sim_account(void)
{
	struct sim_node *n;

	sim_account_messages();
	for (n = sim_node; n < sim_node + 2; n++)
		sim_check(!kgni_msgq_out(&n->v, kgni_msgq_lookup(&n->v,
								 sim_node[n == sim_node].pe)));
}

#endif /* _KGNI_SIM_MSGQ_H */
