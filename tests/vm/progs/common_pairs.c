// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations: rounds, places and the report. See common_pairs.h.
 */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "common_pairs.h"

#define SEM_SIDE	0
#define SEM_UP		1

#define ROUNDS_MIN	3
#define ROUNDS_MAX	4000
#define OVERLAPS_WANTED	1
/* Of what can be done again, and a limit of time for it, so that queues hold it all. */
#define OPS_A_ROUND	800
#define ROUND_NS	20000000ULL
/* Rounds in which a process is made and killed take longer. */
#define KILLS_MIN	2
#define KILLS_MAX	200

struct world *w;

static const int codes[] = {
	GNI_RC_SUCCESS, GNI_RC_INVALID_PARAM, GNI_RC_ERROR_RESOURCE, GNI_RC_TIMEOUT,
	GNI_RC_INVALID_STATE, GNI_RC_NO_MATCH, GNI_RC_NOT_DONE,
	EVENT(KGNI_ST_MDD_INVALID), EVENT(KGNI_ST_ABORTED),
	DGRAM(GNI_POST_PENDING), DGRAM(GNI_POST_COMPLETED), DGRAM(GNI_POST_TERMINATED),
	-EBADF, -EINVAL, EVENT(KGNI_ST_ADDRESS),
};

static bool in_set(int code, uint32_t set)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i] == code)
			return set >> i & 1;
	return false;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Sleep until a counter that only grows has got there. */
static void await(_Atomic unsigned int *here, unsigned int want)
{
	const struct timespec patience = { .tv_sec = PATIENCE / 1000 };
	unsigned int now;

	while ((now = atomic_load(here)) < want) {
		int rc = syscall(SYS_futex, here, FUTEX_WAIT, now, &patience, NULL, 0);

		must(!rc || errno != ETIMEDOUT, "round %u, %s and %s: the other side is gone",
		     w->round, w->op[0]->name, w->op[1]->name);
	}
}

static void arrive(_Atomic unsigned int *here)
{
	atomic_fetch_add(here, 1);
	syscall(SYS_futex, here, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void meet(const struct side *s, _Atomic unsigned int *here)
{
	arrive(here);
	await(here, 2 * s->turns);
}

/* To start together: awake. Mostly both have a CPU. */
static void meet_awake(const struct side *s, _Atomic unsigned int *here)
{
	uint64_t end = now_ms() + PATIENCE;
	unsigned int n = 0;

	atomic_fetch_add(here, 1);
	while (atomic_load(here) < 2 * s->turns) {
		if (++n > 2000)
			sched_yield();
		if (!(n & 1023))
			must(now_ms() < end, "the other side is gone");
	}
}

/* --- sides ------------------------------------------------------------------------- */

bool owner_dies(void)
{
	return w->op[0]->fn == op_kill;
}

int op_kill(struct side *s)
{
	pid_t pid = s->me ? w->second : w->owner;
	struct pollfd p = { .events = POLLIN };

	if (s->i)
		return GNI_RC_SUCCESS;
	p.fd = syscall(SYS_pidfd_open, pid, 0);
	must(p.fd >= 0);
	kill(pid, SIGKILL);
	ok(poll(&p, 1, PATIENCE) == 1, "%d does not die", pid);
	close(p.fd);
	return GNI_RC_SUCCESS;
}

static void pause_ns(unsigned int ns)
{
	uint64_t end = now_ns() + ns;

	while (ns && now_ns() < end)
		;
}

/* A side that kills has nothing open. */
static bool is_killer(const struct side *s)
{
	return w->op[s->me]->fn == op_kill;
}

static uint32_t effects_on(int me)
{
	unsigned int fx = w->op[!me]->effects;

	if (!(fx & ENDS_FILE) || w->place == IN_THREADS)
		return fx;
	fx &= ~ENDS_FILE;
	/* The other's file is another: it keeps the object, or takes it away. */
	if (w->place == BY_JOB || w->place == BY_NIC)
		fx |= ENDS_MEMORY | ENDS_QUEUE;
	return fx;
}

/* What an operation may come to beside the other. */
static uint32_t code_set(int me)
{
	const struct op *op = w->op[me];
	uint32_t set = op->codes, fx = effects_on(me);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op->on); i++)
		if (fx >> i & 1)
			set |= op->on[i];
	return fx & ENDS_FILE ? set | C_BADF : set;
}

/* Once. A side's turns are odd while it is at it. */
static void do_op(struct side *s)
{
	const struct op *op = w->op[s->me];
	struct result *r = &w->result[s->me];
	unsigned int at_begin, at_end;
	int code;

	/* In the same order, or towards each other. */
	s->i = r->turns / 2;
	if (s->me && w->round & 1)
		s->i = w->times - 1 - s->i;
	atomic_fetch_add(&r->turns, 1);
	at_begin = atomic_load(&w->result[!s->me].turns);
	code = op->fn(s);
	at_end = atomic_load(&w->result[!s->me].turns);
	atomic_fetch_add(&r->turns, 1);
	if (at_begin & 1 || at_begin != at_end) {
		r->overlaps++;
		w->met = true;
	}
	r->done += code == GNI_RC_SUCCESS;
	if (op->after)
		op->after(s, code);
	ok(in_set(code, code_set(s->me)), "round %u: %s beside %s: %s", w->round, op->name,
	   w->op[!s->me]->name, code_name(code));
}

/* What can be done again goes on until the other is through, or both have met. */
static bool go_on(const struct side *s, uint64_t end)
{
	const struct result *r = &w->result[s->me], *other = &w->result[!s->me];

	if (w->op[s->me]->once)
		return r->turns < 2 * w->times;
	if (now_ns() > end || (r->turns >= 2 * OPS_A_ROUND && !w->op[s->me]->quick))
		return false;
	if (w->op[!s->me]->once)
		return !other->through;
	return r->turns < 4 || !w->met;
}

/* What can be done only once begins when the other is at it already. */
static void choose_moment(const struct side *s, uint64_t end)
{
	if (w->op[s->me]->once && !w->op[!s->me]->once)
		while (!w->result[!s->me].turns && now_ns() < end)
			;
	pause_ns(w->delay[s->me]);
}

static void side_round(struct side *s)
{
	uint64_t end;

	s->turns++;
	if (!is_killer(s))
		w->object->side_open(s);
	meet(s, &w->ready);
	meet_awake(s, &w->go);
	end = now_ns() + ROUND_NS * time_scale();
	choose_moment(s, end);
	do
		do_op(s);
	while (go_on(s, end));
	w->result[s->me].through = true;
	meet(s, &w->finished);
	if (!is_killer(s))
		w->object->side_close(s);
	meet(s, &w->left);
}

static void *side_main(void *arg)
{
	struct side *s = arg;
	unsigned int turn = 0;

	for (;;) {
		await(&w->turn, ++turn);
		if (w->quit)
			return NULL;
		side_round(s);
	}
}

/* An attachment of its own, where it has one, stays for all rounds. */
static void own_open(struct side *s)
{
	unsigned int device = w->place == BY_NIC ? 1 : 0;
	struct kgni_ioc_info info;

	if (w->place != BY_JOB && w->place != BY_NIC)
		return;
	s->own = true;
	s->fd = raw_attach(device, B_ID, 0);
	must(!call(s->fd, KGNI_IOC_INFO, &info));
	s->pe = info.pe;
	w->b_pe = info.pe;
	raw_cq_open(s->fd, 64, GNI_CQ_BLOCKING, &s->cq);
	kgni_ring_view_init(&s->ring, s->cq.mem, s->cq.slots);
	s->mapped = true;
}

static struct side sides[2] = { { .me = 0 }, { .me = 1 } };

static void side_process(void *unused)
{
	(void)unused;
	own_open(&sides[1]);
	give(SEM_SIDE);
	side_main(&sides[1]);
}

/* --- owners that die --------------------------------------------------------------- */

/* Does its operation until it is killed. */
static void loop(struct side *s)
{
	const struct op *op = w->op[1];
	uint32_t set = op->codes | C_STATE | C_RESOURCE | C_PARAM | C_BADF;
	unsigned int i;
	int code;

	for (i = 0; i < ARRAY_SIZE(op->on); i++)
		set |= op->on[i];
	for (i = 0;; i++) {
		w->inside = true;
		code = op->fn(s);
		w->inside = false;
		ok(in_set(code, set), "%s: %s", op->name, code_name(code));
		if (!i)
			give(SEM_UP);
	}
}

static void owner_main(void *unused)
{
	struct side s = { .me = 1 };

	(void)unused;
	w->owner = getpid();
	w->object->open();
	if (w->place == IN_THREADS) {
		w->object->side_open(&s);
		loop(&s);
	}
	give(SEM_UP);
	for (;;)
		pause();
}

/* One more that dies: it has what side 1 has otherwise. */
static void second_main(void *unused)
{
	struct side s = { .me = 1 };

	(void)unused;
	own_open(&s);
	w->object->side_open(&s);
	give(SEM_UP);
	for (;;)
		pause();
}

static pid_t mortal(void (*fn)(void *arg))
{
	pid_t pid;

	pid = peer(fn, NULL);
	take(SEM_UP);
	return pid;
}

/* --- rounds ------------------------------------------------------------------------ */

static int stock_fd[2] = { -1, -1 };

#define STOCK	6

/* Resources in use on both devices. */
static void stock(uint64_t *used)
{
	static const int types[] = { GNI_DEV_RES_MDD, GNI_DEV_RES_CQ, GNI_DEV_RES_FMA };
	unsigned int i, n = 0;
	int device;

	for (device = 0; device < 2; device++) {
		for (i = 0; i < ARRAY_SIZE(types); i++) {
			struct kgni_ioc_res arg = { .scope = KGNI_RES_DEVICE, .type = types[i] };

			must(!call(stock_fd[device], KGNI_IOC_RES_INFO, &arg));
			used[n++] = arg.used;
		}
	}
}

/* Children may take a moment to end. */
static bool stock_is(const uint64_t *before)
{
	uint64_t now[STOCK];

	stock(now);
	return !memcmp(before, now, sizeof(now));
}

/* One of them starts later, by nothing or as long as calls take. */
static void choose_delay(void)
{
	static const unsigned int most[] = { 0, 500, 2000, 8000, 30000 };
	unsigned int ns = most[w->round % ARRAY_SIZE(most)] * time_scale();
	int late = rnd(&w->seed) & 1;

	w->delay[late] = ns ? rnd(&w->seed) % ns : 0;
	w->delay[!late] = 0;
}

static void round_begin(bool death)
{
	unsigned int i;

	w->round++;
	w->filled = false;
	w->lock = 0;
	w->pushed = 0;
	w->popped = 0;
	w->met = false;
	w->times = w->op[0]->once && w->op[1]->once && !death ? MORE + 1 : 1;
	for (i = 0; i < 2; i++)
		memset(&w->result[i], 0, sizeof(w->result[i]));
	choose_delay();
}

static bool pair_round(void)
{
	bool dies = owner_dies(), both = w->op[1]->fn == op_kill;

	round_begin(false);
	if (dies) {
		mortal(owner_main);
		if (both)
			w->second = mortal(second_main);
	} else {
		w->owner = getpid();
		w->object->open();
	}
	arrive(&w->turn);
	side_round(&sides[0]);
	if (dies)
		reap_killed(w->owner);
	if (both)
		reap_killed(w->second);
	w->object->check();
	if (!dies)
		w->object->close();
	return w->met;
}

/* The process that has the object dies in the middle of its own operation. */
static bool death_round(void)
{
	round_begin(true);
	mortal(owner_main);
	pause_ns(1000 * (rnd(&w->seed) % (50 * time_scale())));
	sides[0].i = 0;
	op_kill(&sides[0]);
	reap_killed(w->owner);
	return w->inside;
}

/* --- pairs ------------------------------------------------------------------------- */

#define OPS_MAX	16

static struct cell {
	bool run;
	unsigned int rounds, overlaps;
} cells[OPS_MAX][OPS_MAX];

static void run_pair(const struct op *a, const struct op *b, struct cell *c)
{
	bool death = a->fn == op_kill;
	const unsigned int min = death ? KILLS_MIN : ROUNDS_MIN;
	const unsigned int max = death ? KILLS_MAX : ROUNDS_MAX;
	uint64_t before[STOCK];

	stock(before);
	w->op[0] = a;
	w->op[1] = b;
	c->run = true;
	while (c->rounds < max && (c->rounds < min || c->overlaps < OVERLAPS_WANTED)) {
		c->rounds++;
		if (death && w->place == IN_THREADS)
			c->overlaps += death_round();
		else
			c->overlaps += pair_round();
		if (failures())
			break;
	}
	ok(wait_for(stock_is(before)), "%s and %s: resources are missing", a->name,
	   b->name);
	ok(c->overlaps || sysconf(_SC_NPROCESSORS_ONLN) < 2,
	   "%s and %s: never at once in %u rounds", a->name, b->name, c->rounds);
}

/* Side 1 has only operations that it can make from where it is. */
static bool is_pair(unsigned int a, unsigned int b)
{
	const struct op *ops = w->object->ops;
	bool own = w->place == BY_JOB || w->place == BY_NIC;

	if (ops[a].fn == op_kill && ops[b].fn == op_kill)
		return w->place != IN_THREADS;
	if (ops[b].fn == op_kill)
		return false;
	if (ops[a].fn == op_kill)
		return !own || !ops[b].owner;
	if (!own)
		return a <= b;
	return !ops[b].owner && (ops[a].owner || a <= b);
}

static void report(unsigned int pairs)
{
	const struct object *o = w->object;
	unsigned int a, b, rounds = 0, overlaps = 0;
	char line[400];
	int n;

	for (a = 0; a < o->count; a++) {
		n = snprintf(line, sizeof(line), "%-22s", o->ops[a].name);
		for (b = 0; b < o->count; b++) {
			const struct cell *c = &cells[a][b];

			rounds += c->rounds;
			overlaps += c->overlaps;
			if (c->run)
				n += snprintf(line + n, sizeof(line) - n, " %3u/%-3u", c->overlaps,
					      c->rounds);
			else
				n += snprintf(line + n, sizeof(line) - n, "    .   ");
		}
		diag("%s", line);
	}
	diag("%u pairs, %u rounds, in %u of them at once", pairs, rounds, overlaps);
}

void run_pairs(const struct object *o, enum place place)
{
	unsigned int a, b, pairs = 0;
	pthread_t thread;
	pid_t pid = 0;

	w = map_shared(sizeof(*w));
	w->object = o;
	w->place = place;
	w->seed = 4711 + place;
	must(o->count <= OPS_MAX);
	for (a = 0; a < 2; a++)
		stock_fd[a] = raw_open(a);
	if (o->begin)
		o->begin();
	if (place == IN_THREADS) {
		must(!pthread_create(&thread, NULL, side_main, &sides[1]));
	} else {
		pid = peer(side_process, NULL);
		take(SEM_SIDE);
	}
	for (a = 0; a < o->count; a++) {
		for (b = 0; b < o->count && !failures(); b++) {
			if (!is_pair(a, b))
				continue;
			run_pair(&o->ops[a], &o->ops[b], &cells[a][b]);
			pairs++;
		}
	}
	w->quit = true;
	arrive(&w->turn);
	if (pid)
		reap(pid);
	else
		pthread_join(thread, NULL);
	report(pairs);
}
