// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared message queues between processes that are killed at any instruction. Memory
 * that all have at the same address stands for the driver: a put is a copy, an event
 * an entry of a ring (kernel/core/ring.h), and the parent repairs rings and tells who
 * is dead, as the driver does.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/msgq.h"
#include "core/ring.h"

#define INSTS	5
#define ALL	(2 * INSTS)
#define SLOTS	256
#define PATIENCE	60

struct inst {
	bool alive;
	u8 ring[KGNI_RING_SLOTS_OFFSET + SLOTS * 8] __attribute__((aligned(4096)));
};

/* Instance i is on node i % 2, where it has number i / 2. */
static struct world {
	bool stop, leave;
	bool stopped[ALL];
	u32 wrong;			/* line of what went wrong */
	u32 sent[ALL][ALL];
	u32 got[ALL][ALL];
	struct inst inst[ALL];
} *w;

static struct kgni_msgq_view view[2];
static u32 me;
static u64 last;
static bool scan;
static u64 seed;

#define right(cond)	do { if (!(cond)) wrong(__LINE__); } while (0)

static void wrong(u32 line)
{
	__atomic_store_n(&w->wrong, line, __ATOMIC_RELAXED);
	_exit(1);
}

static void ring_of(u32 i, struct kgni_ring_view *r)
{
	kgni_ring_view_init(r, w->inst[i].ring, SLOTS);
}

/* Most who are killed should be inside a put, and others meanwhile want its lock. */
static void linger(void)
{
	if (!unit_below(&seed, 3))
		usleep(unit_below(&seed, 100));
}

static enum kgni_msgq_way put(void *ctx, const struct kgni_msgq_put *p)
{
	u32 i = (u32)p->to.handle[0];
	struct kgni_ring_view r;

	(void)ctx;
	linger();
	if (!__atomic_load_n(&w->inst[i].alive, __ATOMIC_ACQUIRE))
		return KGNI_MSGQ_REFUSED;
	if (p->length)
		memcpy((void *)(uintptr_t)p->addr, p->data, p->length);
	if (p->flag_addr) {
		linger();
		core_store_release((u64 *)(uintptr_t)p->flag_addr, p->flag);
		linger();
		ring_of(i, &r);
		kgni_ring_push(&r, 1ULL << 56 | p->event);
	}
	linger();
	return KGNI_MSGQ_ARRIVED;
}

static bool alive(void *ctx, u32 inst, u32 epoch)
{
	struct kgni_msgq_view *v = ctx;

	return inst < INSTS && epoch == 1 &&
	       __atomic_load_n(&w->inst[inst * 2 + (v - view)].alive, __ATOMIC_ACQUIRE);
}

static u64 token(void)
{
	return kgni_msgq_token(me / 2, 1);
}

static bool lock(u64 *word)
{
	u64 holder;
	u32 i;

	for (i = 0; i < 200; i++) {
		holder = kgni_msgq_lock(word, 0, token());
		if (!holder)
			return true;
		if (!alive(&view[me % 2], (u32)holder - 1, (u32)(holder >> 32)) &&
		    !kgni_msgq_lock(word, holder, token()))
			return true;
		usleep(20);
	}
	return false;
}

static bool send_one(u32 to)
{
	struct kgni_msgq_view *v = &view[me % 2];
	struct kgni_msgq_conn *conn = kgni_msgq_conn(v, 0);
	struct kgni_msgq_msg m = { .id = me, .length = 8 };
	static u32 next[ALL];
	u32 n = next[to] + 1;
	enum kgni_msgq_sent what = KGNI_MSGQ_AGAIN;

	if (!lock(&conn->tx_lock))
		return false;
	memcpy(m.payload, &n, 4);
	memcpy(m.payload + 4, &to, 4);
	if (kgni_msgq_resend(v, 0))
		what = kgni_msgq_send(v, 0, kgni_msgq_peer_of(v, 0, to), &m);
	if (what == KGNI_MSGQ_SENT || what == KGNI_MSGQ_FAILED)
		next[to] = n;
	if (what == KGNI_MSGQ_SENT)
		w->sent[me][to] = n;
	kgni_msgq_unlock(&conn->tx_lock, token());
	if (what == KGNI_MSGQ_FULL && (kgni_msgq_wants(v, 0) || !unit_below(&seed, 8)))
		kgni_msgq_ask(v, 0, unit_below(&seed, INSTS));
	return what == KGNI_MSGQ_SENT;
}

static void give_back(bool asked)
{
	struct kgni_msgq_view *v = &view[me % 2];
	u64 *word = &kgni_msgq_conn(v, 0)->rx_lock;

	if (!lock(word))
		return;
	if (asked)
		kgni_msgq_answer(v, 0);
	else
		kgni_msgq_return(v, 0);
	kgni_msgq_unlock(word, token());
}

static bool take(u32 slot)
{
	struct kgni_msgq_view *v = &view[me % 2];
	struct kgni_msgq_msg m;
	enum kgni_msgq_got got = kgni_msgq_take(v, 0, slot, me / 2, 1, &last, &m);
	u32 n, to;

	right(got != KGNI_MSGQ_DAMAGED);
	if (got == KGNI_MSGQ_EARLY)
		scan = true;
	if (got == KGNI_MSGQ_NONE || got == KGNI_MSGQ_EARLY)
		return false;
	if (got == KGNI_MSGQ_MESSAGE) {
		memcpy(&n, m.payload, 4);
		memcpy(&to, m.payload + 4, 4);
		right(m.length == 8 && to == me && m.id < ALL && m.id % 2 != me % 2);
		/* Each once, in order, and none is left out. */
		right(n == w->got[me][m.id] + 1);
		w->got[me][m.id] = n;
	}
	if (kgni_msgq_due(v, 0))
		give_back(false);
	return true;
}

static void receive(void)
{
	struct kgni_ring_view r;
	enum kgni_ring_pop got;
	u32 slot;
	u64 e;

	ring_of(me, &r);
	while ((got = kgni_ring_pop(&r, &e)) != KGNI_RING_EMPTY) {
		if (got == KGNI_RING_OVERRUN || e >> 56 != 1)
			scan = true;
		else if (e & KGNI_MSGQ_ASK)
			give_back(true);
		else if (!scan)
			take((u32)e & (KGNI_MSGQ_SLOTS_MAX - 1));
	}
	while (scan) {
		slot = kgni_msgq_find(&view[me % 2], 0, me / 2, 1, last);
		scan = slot < view[0].shape.slots && take(slot);
	}
}

/* What the dead were sending is completed, and the slots of their messages come back. */
static void clear_up(void)
{
	struct kgni_msgq_view *v = &view[me % 2];
	u64 *word = &kgni_msgq_conn(v, 0)->tx_lock;

	if (!lock(word))
		return;
	kgni_msgq_resend(v, 0);
	kgni_msgq_unlock(word, token());
	kgni_msgq_ask(v, 0, unit_below(&seed, INSTS));
}

static void instance(u32 i)
{
	me = i;
	seed = i + 1;
	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		if (!send_one(unit_below(&seed, INSTS) * 2 + !(me % 2)))
			usleep(20);
		receive();
	}
	__atomic_store_n(&w->stopped[me], true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->leave, __ATOMIC_RELAXED)) {
		receive();
		clear_up();
		usleep(50);
	}
	_exit(0);
}

/* --- the parent ---------------------------------------------------------------------- */

static void view_init(u32 node, u32 slots)
{
	struct kgni_msgq_view *v = &view[node];
	u32 i;

	assert_true(kgni_msgq_shape_init(&v->shape, 16, slots, 1, INSTS));
	v->mem = mmap(NULL, v->shape.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	assert_ptr_not_equal(v->mem, MAP_FAILED);
	v->put = put;
	v->alive = alive;
	v->ctx = v;
	for (i = 0; i < INSTS; i++) {
		kgni_msgq_inst(v, i)->id = i * 2 + node;
		kgni_msgq_inst(v, i)->epoch = 1;
		kgni_msgq_inst(v, i)->used = 1;
	}
	assert_int_equal(kgni_msgq_assign(v, 10 + !node), 0);
}

static void view_connect(u32 node)
{
	struct kgni_msgq_view *to = &view[!node];
	struct kgni_msgq_peer peers[INSTS];
	u32 i, at;

	for (i = 0; i < INSTS; i++) {
		assert_true(kgni_msgq_peer_init(&to->shape, &peers[i],
						(u64)(uintptr_t)to->mem + to->shape.mboxes_at,
						kgni_msgq_offset(to, 0, i, 1), &at));
		peers[i].id = i * 2 + !node;
		peers[i].handle[0] = peers[i].id;
		peers[i].handle[1] = 0;
	}
	kgni_msgq_connect(&view[node], 0, peers, INSTS, at);
}

static void repair_rings(void)
{
	struct kgni_ring_view r;
	u32 i;

	for (i = 0; i < ALL; i++) {
		ring_of(i, &r);
		kgni_ring_repair(&r, 2ULL << 56);
	}
}

static u64 received(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < ALL * ALL; i++)
		sum += __atomic_load_n(&w->got[i / ALL][i % ALL], __ATOMIC_RELAXED);
	return sum;
}

static bool all_there(void)
{
	u32 i, j;

	for (i = 0; i < ALL; i++) {
		if (w->inst[i].alive && !__atomic_load_n(&w->stopped[i], __ATOMIC_ACQUIRE))
			return false;
		for (j = !(i % 2); j < ALL && w->inst[i].alive; j += 2)
			if (w->inst[j].alive && w->got[j][i] != w->sent[i][j])
				return false;
	}
	return true;
}

static bool all_free(void)
{
	return !kgni_msgq_out(&view[0], 0) && !kgni_msgq_out(&view[1], 0);
}

static u64 seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec;
}

#define wait_for(cond) __extension__({			\
	u64 end_ = seconds() + PATIENCE;		\
							\
	while (!(cond) && seconds() < end_ && !w->wrong)	\
		usleep(200);				\
	(cond) && !w->wrong;				\
})

static void storm(u32 slots, u64 *s)
{
	pid_t pid[ALL];
	u32 i, kills;
	u64 was;

	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w, MAP_FAILED);
	view_init(0, slots);
	view_init(1, slots);
	view_connect(0);
	view_connect(1);
	for (i = 0; i < ALL; i++)
		w->inst[i].alive = true;
	for (i = 0; i < ALL; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i])
			instance(i);
	}
	for (kills = 0; kills < ALL - 2; kills++) {
		do
			i = 2 + unit_below(s, ALL - 2);
		while (!w->inst[i].alive);
		was = received();
		if (!wait_for(received() > was + unit_below(s, 40)))
			break;
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		__atomic_store_n(&w->inst[i].alive, false, __ATOMIC_RELEASE);
		repair_rings();
	}
	was = received();
	/* Those that are left have all slots for themselves. */
	if (!w->wrong && !wait_for(received() > was + 4 * slots))
		w->wrong = __LINE__;
	w->stop = true;
	if (!w->wrong && !wait_for(all_there()))
		w->wrong = __LINE__;
	if (!w->wrong && !wait_for(all_free()))
		w->wrong = __LINE__;
	w->leave = true;
	for (i = 0; i < ALL; i++)
		if (w->inst[i].alive)
			waitpid(pid[i], NULL, 0);
	if (w->wrong)
		fail_msg("%s:%u: false, after %llu messages", __FILE__, w->wrong,
			 (unsigned long long)received());
	munmap(view[0].mem, view[0].shape.size);
	munmap(view[1].mem, view[1].shape.size);
	munmap(w, sizeof(*w));
}

static void test_storm(void **state)
{
	u64 s = 1;
	u32 round;

	(void)state;
	for (round = 0; round < 40; round++)
		storm(1 + round % 12, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
