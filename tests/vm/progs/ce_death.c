// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of collective trees that are killed, at every stage: the others get
 * transaction errors, and soon, and a tree that is configured anew works. Needs
 * two NICs.
 *
 * Each leaf is a process that takes part in a reduction whenever it is told. This
 * process owns the channels of the first NIC, the root among them, another one
 * those of the second.
 */
#include <signal.h>

#include "common_tree.h"

#define LEAVES	5
#define SOON	(15000ULL * time_scale())
/* A member that nobody has seen is missed after ce_patience. */
#define MISSED	(1000ULL * patience() + SOON)

/* Shared by all. */
static struct scene {
	struct tree t;
	_Atomic unsigned int told[LEAVES];	/* reductions that it shall take part in */
	_Atomic unsigned int posted[LEAVES];
	_Atomic unsigned int done[LEAVES];
	_Atomic int rc[LEAVES];
	_Atomic unsigned int opened;
	_Atomic bool go;		/* leaves may open their ends */
	_Atomic bool owner_go;
	_Atomic bool quit;
} *s;

static pid_t leaf_pid[LEAVES], owner_pid;
static struct nic nics[TREE_NICS];
static struct owner owner;

/* wait_for(), but for so many milliseconds. */
#define within(ms, cond) __extension__({			\
	uint64_t last_ = now_ms() + (ms);			\
	bool fine_;						\
								\
	while (!(fine_ = (cond)) && now_ms() < last_)		\
		nap();						\
	fine_;							\
})

static unsigned int patience(void)
{
	FILE *f = fopen("/sys/module/kgni/parameters/ce_patience", "r");
	unsigned int s = 0;

	must(f && fscanf(f, "%u", &s) == 1);
	fclose(f);
	return s;
}

/* --- leaves -------------------------------------------------------------------- */

static gni_return_t take_part(struct member *m, unsigned int l)
{
	const struct given nothing = { .mode = 0 };
	gni_return_t rc = member_post(m, 0, GNI_FMA_CE_AND, s->done[l], &nothing);

	s->posted[l]++;
	return rc == GNI_RC_SUCCESS ? member_done(m, 0) : rc;
}

static void leaf_process(void *arg)
{
	unsigned int l = (unsigned int)(uintptr_t)arg;
	struct member m;
	struct nic n;

	nic_open(&n, s->t.leaf[l].device, s->t.leaf[l].inst);
	s->opened++;
	while (!s->go && !s->quit)
		nap();
	if (s->go)
		member_open_alone(&m, &n, &s->t, l);
	while (!s->quit) {
		if (s->told[l] == s->done[l]) {
			nap();
			continue;
		}
		s->rc[l] = take_part(&m, l);
		s->done[l]++;
	}
}

/* Free running, until the first error. */
static void running_leaf(void *arg)
{
	unsigned int l = (unsigned int)(uintptr_t)arg;
	struct member m;
	struct nic n;

	nic_open(&n, s->t.leaf[l].device, s->t.leaf[l].inst);
	s->opened++;
	while (!s->go)
		nap();
	member_open_alone(&m, &n, &s->t, l);
	do {
		s->rc[l] = take_part(&m, l);
		s->done[l]++;
	} while (s->rc[l] == GNI_RC_SUCCESS);
	s->told[l] = 1;
	while (!s->quit)
		nap();
}

/* --- the scene ----------------------------------------------------------------- */

static void owner_process(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; i < TREE_NICS; i++)
		nic_open(&nics[i], i, OWNER_ID);
	owner_create_on(&owner, &s->t, nics, 2);
	s->opened++;
	while (!s->owner_go)
		nap();
	owner_configure(&owner, &s->t);
	s->opened++;
	while (!s->quit)
		nap();
}

/* All are there, channels are not configured. */
static void scene_open(unsigned int depth, uint32_t seed, void (*leaf)(void *arg))
{
	unsigned int i;

	s = map_shared(sizeof(*s));
	tree_make(&s->t, LEAVES, depth, &seed);
	for (i = 0; i < LEAVES; i++)
		leaf_pid[i] = peer(leaf, (void *)(uintptr_t)i);
	owner_pid = peer(owner_process, NULL);
	for (i = 0; i < TREE_NICS; i++)
		nic_open(&nics[i], i, OWNER_ID);
	owner_create_on(&owner, &s->t, nics, 1);
	must(wait_for(s->opened == LEAVES + 1));
}

static void scene_configure(void)
{
	s->owner_go = true;
	must(wait_for(s->opened == LEAVES + 2));
	owner_configure(&owner, &s->t);
	s->go = true;
}

static void scene_close(void)
{
	unsigned int i;

	s->quit = true;
	for (i = 0; i < LEAVES; i++)
		if (leaf_pid[i])
			reap(leaf_pid[i]);
	if (owner_pid)
		reap(owner_pid);
	owner_close(&owner, &s->t);
	for (i = 0; i < TREE_NICS; i++)
		nic_close(&nics[i]);
	munmap(s, sizeof(*s));
}

static void kill_one(pid_t *pid)
{
	kill(*pid, SIGKILL);
	reap_killed(*pid);
	*pid = 0;
}

static bool alive(unsigned int l)
{
	return leaf_pid[l];
}

static bool takes_part(unsigned int l, unsigned int count)
{
	return alive(l) && s->told[l] >= count;
}

static bool all_done(unsigned int count)
{
	unsigned int l;

	for (l = 0; l < LEAVES; l++)
		if (takes_part(l, count) && s->done[l] < count)
			return false;
	return true;
}

/* Have leaves from @first on take part, until they have posted. */
static void tell_from(unsigned int first)
{
	unsigned int l;

	for (l = first; l < LEAVES; l++) {
		if (!alive(l))
			continue;
		s->told[l]++;
		must(wait_for(s->posted[l] == s->told[l]), "leaf %u", l);
	}
}

/* Those who were told of @count reductions have that of the last. */
static void all_have(unsigned int count, gni_return_t rc, uint64_t ms)
{
	unsigned int l;

	ok(within(ms, all_done(count)), "not in %llu ms", (unsigned long long)ms);
	for (l = 0; l < LEAVES; l++)
		if (takes_part(l, count))
			is_rc(s->rc[l], rc, "leaf %u", l);
}

/* Nothing that is posted goes well any more. */
static void all_fail(unsigned int count)
{
	tell_from(0);
	all_have(count, GNI_RC_TRANSACTION_ERROR, SOON);
}

/* --- stages -------------------------------------------------------------------- */

static void test_before_configure(void)
{
	scene_open(2, 1, leaf_process);
	kill_one(&leaf_pid[0]);
	scene_configure();
	tell_from(1);
	all_have(1, GNI_RC_TRANSACTION_ERROR, MISSED);
	all_fail(2);
	scene_close();
}

/* Its end is bound with the instance id of nobody: it is there once it posts. */
static void test_other_id(void)
{
	scene_open(2, 36, leaf_process);
	s->t.leaf[0].inst += 500;
	scene_configure();
	tell_from(0);
	all_have(1, GNI_RC_SUCCESS, PATIENCE);
	scene_close();
	scene_open(2, 37, leaf_process);
	s->t.leaf[0].inst += 500;
	scene_configure();
	tell_from(1);
	all_have(1, GNI_RC_TRANSACTION_ERROR, MISSED);
	all_fail(2);
	scene_close();
}

static void test_before_post(void)
{
	scene_open(2, 2, leaf_process);
	scene_configure();
	tell_from(1);
	kill_one(&leaf_pid[0]);
	all_have(1, GNI_RC_TRANSACTION_ERROR, SOON);
	all_fail(2);
	scene_close();
}

static void test_after_post(void)
{
	unsigned int depth, step = time_scale() > 1 ? 3 : 1;

	for (depth = 1; depth <= 4; depth += step) {
		scene_open(depth, 3 + depth, leaf_process);
		scene_configure();
		s->told[0]++;
		s->told[1]++;
		must(wait_for(s->posted[0] && s->posted[1]));
		kill_one(&leaf_pid[0]);
		ok(within(SOON, s->done[1] == 1), "depth %u", depth);
		is_rc(s->rc[1], GNI_RC_TRANSACTION_ERROR);
		s->told[1] = 0;
		s->posted[1] = 0;
		s->done[1] = 0;
		all_fail(1);
		scene_close();
	}
}

static void test_between(void)
{
	scene_open(3, 8, leaf_process);
	scene_configure();
	tell_from(0);
	all_have(1, GNI_RC_SUCCESS, PATIENCE);
	tell_from(0);
	all_have(2, GNI_RC_SUCCESS, PATIENCE);
	kill_one(&leaf_pid[0]);
	all_fail(3);
	all_fail(4);
	scene_close();
}

/* What is over before the end stays as it is: all but one wait, then it comes and goes. */
static void test_last_one(void)
{
	unsigned int turn;

	for (turn = 0; turn < fewer(5); turn++) {
		scene_open(2, 20 + turn, leaf_process);
		scene_configure();
		tell_from(1);
		s->told[0]++;
		must(wait_for(s->done[0]));
		kill_one(&leaf_pid[0]);
		all_have(1, GNI_RC_SUCCESS, SOON);
		scene_close();
	}
}

/* --- channels ------------------------------------------------------------------ */

static void test_lower_pending(void)
{
	scene_open(2, 31, leaf_process);
	scene_configure();
	tell_from(1);
	kill_one(&owner_pid);
	all_have(1, GNI_RC_TRANSACTION_ERROR, SOON);
	tell_from(1);
	all_have(2, GNI_RC_TRANSACTION_ERROR, SOON);
	scene_close();
}

static void test_lower_idle(void)
{
	scene_open(4, 32, leaf_process);
	scene_configure();
	tell_from(0);
	all_have(1, GNI_RC_SUCCESS, PATIENCE);
	kill_one(&owner_pid);
	all_fail(2);
	scene_close();
}

/* One that ends before the root is configured with it. */
static void test_lower_early(void)
{
	scene_open(2, 33, leaf_process);
	s->owner_go = true;
	must(wait_for(s->opened == LEAVES + 2));
	kill_one(&owner_pid);
	owner_configure(&owner, &s->t);
	s->go = true;
	tell_from(0);
	all_have(1, GNI_RC_TRANSACTION_ERROR, MISSED);
	scene_close();
}

static void test_root(void)
{
	scene_open(2, 34, leaf_process);
	scene_configure();
	tell_from(1);
	is_rc(GNI_CeDestroy(owner.ce[0]), GNI_RC_SUCCESS);
	all_have(1, GNI_RC_TRANSACTION_ERROR, SOON);
	all_fail(2);
	must_do(GNI_CeCreate(nics[0].h, &owner.ce[0]));
	scene_close();
}

/* The root ends before it is configured; those below are, and wait for it. */
static void test_root_early(void)
{
	unsigned int l;

	scene_open(2, 35, leaf_process);
	s->owner_go = true;
	must(wait_for(s->opened == LEAVES + 2));
	s->go = true;
	for (l = 0; l < LEAVES; l++)
		s->told[l] += s->t.leaf[l].chan != 0;
	for (l = 0; l < LEAVES; l++)
		must(wait_for(s->posted[l] == s->told[l]));
	is_rc(GNI_CeDestroy(owner.ce[0]), GNI_RC_SUCCESS);
	for (l = 0; l < LEAVES; l++) {
		ok(within(SOON, s->done[l] == s->told[l]), "leaf %u", l);
		if (s->told[l])
			is_rc(s->rc[l], GNI_RC_TRANSACTION_ERROR);
	}
	must_do(GNI_CeCreate(nics[0].h, &owner.ce[0]));
	scene_close();
}

/* --- afterwards ---------------------------------------------------------------- */

/* Without the one that was killed the others go on. */
static void test_anew(void)
{
	struct tree_leaf *gone;
	unsigned int i, j;

	scene_open(1, 40, leaf_process);
	scene_configure();
	tell_from(0);
	all_have(1, GNI_RC_SUCCESS, PATIENCE);
	kill_one(&leaf_pid[0]);
	all_fail(2);
	gone = &s->t.leaf[0];
	s->t.chan[gone->chan].child[gone->number].used = false;
	for (i = 0; i < s->t.chans; i++) {
		for (j = 0; j < owner.eps[i]; j++)
			must_do(GNI_EpDestroy(owner.ep[i][j]));
		owner.eps[i] = 0;
	}
	owner_configure(&owner, &s->t);
	tell_from(1);
	all_have(3, GNI_RC_SUCCESS, PATIENCE);
	tell_from(1);
	all_have(4, GNI_RC_SUCCESS, PATIENCE);
	scene_close();
}

/* --- at any moment ------------------------------------------------------------- */

static bool survivors_ended(void)
{
	unsigned int l;

	for (l = 0; l < LEAVES; l++)
		if (alive(l) && !s->told[l])
			return false;
	return true;
}

static void any_moment(unsigned int turn)
{
	uint32_t seed = 1000 + turn;
	unsigned int victim = rnd(&seed) % (LEAVES + 1), after = rnd(&seed) % fewer(300), l;

	scene_open(2 + turn % 3, seed, running_leaf);
	scene_configure();
	must(wait_for(s->done[0] >= after));
	kill_one(victim < LEAVES ? &leaf_pid[victim] : &owner_pid);
	ok(within(SOON, survivors_ended()), "turn %u, victim %u", turn, victim);
	for (l = 0; l < LEAVES; l++)
		if (alive(l))
			is_rc(s->rc[l], GNI_RC_TRANSACTION_ERROR, "turn %u, leaf %u", turn, l);
	scene_close();
}

static void test_any_moment(void)
{
	unsigned int turn;

	for (turn = 0; turn < fewer(20) && !failures(); turn++)
		any_moment(turn);
}

#define SLOW	.seconds = 90

static const struct test tests[] = {
	CASE("a leaf, before the tree is configured", test_before_configure, SLOW),
	CASE("a leaf that is expected by another id", test_other_id, SLOW),
	CASE("a leaf, before it has posted", test_before_post, SLOW),
	CASE("a leaf, after it has posted", test_after_post, SLOW),
	CASE("a leaf, between reductions", test_between, SLOW),
	CASE("a leaf, when all is over", test_last_one, SLOW),
	CASE("a channel's owner, while others wait", test_lower_pending, SLOW),
	CASE("a channel's owner, between reductions", test_lower_idle, SLOW),
	CASE("a channel's owner, before the root is configured", test_lower_early, SLOW),
	CASE("the root", test_root, SLOW),
	CASE("the root, before it is configured", test_root_early, SLOW),
	CASE("a tree that is configured anew", test_anew, SLOW),
	CASE("leaves and owners, at any moment", test_any_moment, SLOW),
};

int main(void)
{
	return RUN_TESTS(tests);
}
