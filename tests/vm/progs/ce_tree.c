// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions of the collective engine over trees of many shapes, against plain C:
 * every command, rounding mode and exception, in whatever order the leaves come.
 * Needs two NICs. What a slow kernel looks for is in a few reductions of each kind: numbers
 * are for the others.
 *
 *	ce_tree
 *	ce_tree lossy	ways between NICs fail; needs a kernel with fault injection
 */
#include "common_tree.h"

static struct tree t;
static struct nic nics[TREE_NICS];
static struct owner owner;
static struct member leaf[TREE_LEAVES];
static struct given given[TREE_WINDOW][TREE_LEAVES];

/* All of a tree in this process: its leaves share two attachments. */
static void open_all(void)
{
	unsigned int i;

	for (i = 0; i < TREE_NICS; i++)
		nic_open(&nics[i], i, OWNER_ID);
	owner_create(&owner, &t, nics);
	for (i = 0; i < t.leaves; i++)
		t.leaf[i].inst = OWNER_ID;
	owner_configure(&owner, &t);
	for (i = 0; i < t.leaves; i++)
		member_open(&leaf[i], &nics[t.leaf[i].device], &t, i);
}

static void close_all(void)
{
	unsigned int i;

	for (i = 0; i < t.leaves; i++)
		member_close(&leaf[i]);
	owner_close(&owner, &t);
	for (i = 0; i < TREE_NICS; i++)
		nic_close(&nics[i]);
}

static void shuffle(unsigned int *order, unsigned int n, uint32_t *seed)
{
	unsigned int i, j, was;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n - 1; i; i--) {
		j = rnd(seed) % (i + 1);
		was = order[i];
		order[i] = order[j];
		order[j] = was;
	}
}

static uint64_t any64(uint32_t *seed)
{
	return (uint64_t)rnd(seed) << 32 | rnd(seed);
}

static void give_operands(struct given *g, gni_ce_cmd_type_t cmd, uint32_t *seed)
{
	static const uint32_t met_before[] = {
		GNI_CEMODE_FPE_OP_INVAL, GNI_CEMODE_FPE_OFLOW, GNI_CEMODE_FPE_UFLOW,
		GNI_CEMODE_FPE_PRECISION,
	};
	bool both = rnd(seed) & 1, plain = rnd(seed) & 1;
	unsigned int i, j;

	for (i = 0; i < t.leaves; i++) {
		g[i].mode = both ? GNI_CEMODE_TWO_OP : 0;
		if (!(rnd(seed) % 16))
			g[i].mode |= met_before[rnd(seed) % ARRAY_SIZE(met_before)];
		for (j = 0; j < 2; j++)
			g[i].op[j] = plain ? any64(seed) : ce_value(cmd, rnd(seed) % CE_VALUES);
		if (ce_is_choice(cmd) && rnd(seed) & 1)
			g[i].op[1] = rnd(seed) % 4;
	}
}

/* The descriptor of the next event; which of @count reductions it was for. */
static void take_event(struct nic *n)
{
	gni_post_descriptor_t *d = NULL;
	gni_cq_entry_t e;

	must_rc(next_event(n->tx, &e), GNI_RC_SUCCESS);
	must_rc(GNI_GetCompleted(n->tx, e, &d), GNI_RC_SUCCESS);
	must(d);
	is_u64(d->status, GNI_RC_SUCCESS);
}

/* @count reductions at once, each leaf posting them in an order of its own. */
static void reduce_some(const gni_ce_cmd_type_t *cmd, unsigned int count, uint64_t id,
			uint32_t *seed)
{
	unsigned int order[TREE_LEAVES * TREE_WINDOW], slots[TREE_LEAVES][TREE_WINDOW];
	unsigned int next[TREE_LEAVES] = { 0 }, i, j;
	struct ce_sum want;

	for (i = 0; i < count; i++)
		give_operands(given[i], cmd[i], seed);
	for (i = 0; i < t.leaves; i++)
		shuffle(slots[i], count, seed);
	shuffle(order, t.leaves * count, seed);
	for (i = 0; i < t.leaves * count; i++) {
		unsigned int l = order[i] % t.leaves;
		unsigned int slot = slots[l][next[l]++];

		if (i == t.leaves * count - 1 && count == 1)
			is_rc(GNI_CeCheckResult(&leaf[order[0] % t.leaves].result[0], 24),
			      t.leaves > 1 ? GNI_RC_NOT_DONE : GNI_RC_SUCCESS);
		must_do(member_post(&leaf[l], slot, cmd[slot], id + slot, &given[slot][l]));
	}
	for (i = 0; i < t.leaves * count; i++)
		take_event(&nics[t.leaf[i % t.leaves].device]);
	for (i = 0; i < count; i++) {
		want = tree_reference(&t, cmd[i], given[i]);
		for (j = 0; j < t.leaves; j++)
			member_check(&leaf[j], i, id + i, cmd[i], &want);
	}
	is_empty(nics[0].tx);
	is_empty(nics[1].tx);
}

static void reduce(gni_ce_cmd_type_t cmd, uint64_t id, uint32_t *seed)
{
	reduce_some(&cmd, 1, id, seed);
}

/* --- commands ---------------------------------------------------------------------- */

static void test_commands(void)
{
	uint32_t seed = 20240501;
	unsigned int i, turn;
	uint64_t id = 0;

	for (turn = 0; turn < 4; turn++) {
		/* Each channel rounds in a way of its own. */
		tree_make(&t, 2 + turn, 1 + turn % 2, &seed);
		open_all();
		for (i = 0; i < fewer(fewer(40)) * CE_COMMAND_COUNT; i++)
			reduce(ce_commands[i % CE_COMMAND_COUNT], id++, &seed);
		close_all();
		if (failures())
			return;
	}
}

/* One channel, one rounding mode, every pair of operands. */
static void pairs_rounded(uint32_t round, gni_ce_cmd_type_t cmd)
{
	/* In slow kernels some of the pairs: each value comes first and second. */
	unsigned int i, step = time_scale() > 1 ? CE_VALUES - 1 : 1;
	struct ce_sum want;

	for (i = 0; i < CE_VALUES * CE_VALUES; i += step) {
		given[0][0] = (struct given){ .op = { ce_value(cmd, i % CE_VALUES), 1 } };
		given[0][1] = (struct given){ .op = { ce_value(cmd, i / CE_VALUES), 2 } };
		/* Which comes first makes no difference. */
		must_do(member_post(&leaf[i & 1], 0, cmd, i, &given[0][i & 1]));
		must_do(member_post(&leaf[!(i & 1)], 0, cmd, i, &given[0][!(i & 1)]));
		take_event(&nics[t.leaf[0].device]);
		take_event(&nics[t.leaf[1].device]);
		want = tree_reference(&t, cmd, given[0]);
		member_check(&leaf[0], 0, i, cmd, &want);
		member_check(&leaf[1], 0, i, cmd, &want);
		if (failures()) {
			diag("round %#x: %#llx with %#llx", round,
			     (unsigned long long)given[0][0].op[0],
			     (unsigned long long)given[0][1].op[0]);
			return;
		}
	}
}

static void test_rounding(void)
{
	static const gni_ce_cmd_type_t cmds[] = {
		GNI_FMA_CE_FPADD, GNI_FMA_CE_FPADD_S, GNI_FMA_CE_FPMIN_LIDX,
		GNI_FMA_CE_FPMAX_GIDX_S,
	};
	uint32_t round, seed = 5;
	unsigned int i;

	for (round = GNI_CE_MODE_ROUND_UP; round <= GNI_CE_MODE_ROUND_ZERO; round <<= 1) {
		tree_make(&t, 2, 1, &seed);
		t.chan[0].modes = round;
		open_all();
		for (i = 0; i < ARRAY_SIZE(cmds); i++)
			pairs_rounded(round, cmds[i]);
		close_all();
	}
}

/* --- shapes ------------------------------------------------------------------------ */

static void shape(unsigned int leaves, unsigned int depth, uint32_t *seed)
{
	gni_ce_cmd_type_t cmd[TREE_WINDOW];
	unsigned int i, j, count;
	uint64_t id = 0;

	tree_make(&t, leaves, depth, seed);
	open_all();
	for (i = 0; i < fewer(fewer(30)) && !failures(); i++) {
		count = 1 + rnd(seed) % TREE_WINDOW;
		for (j = 0; j < count; j++)
			cmd[j] = ce_commands[rnd(seed) % CE_COMMAND_COUNT];
		reduce_some(cmd, count, id, seed);
		id += count;
	}
	close_all();
	if (failures())
		diag("%u leaves, depth %u", leaves, depth);
}

static void test_shapes(void)
{
	static const unsigned int leaves[] = { 2, 3, 17, 64 };
	uint32_t seed = 1789;
	unsigned int i, depth;

	for (i = 0; i < ARRAY_SIZE(leaves); i++)
		for (depth = 1; depth <= 4; depth++)
			shape(depth == 1 && leaves[i] > GNI_CE_MAX_CHILDREN ? GNI_CE_MAX_CHILDREN :
			      leaves[i], depth, &seed);
}

static void test_in_a_row(void)
{
	uint32_t seed = 4711;
	uint64_t id;

	tree_make(&t, 17, 2, &seed);
	open_all();
	for (id = 0; id < fewer(fewer(10000)) && !failures(); id++)
		reduce(ce_commands[rnd(&seed) % CE_COMMAND_COUNT], id, &seed);
	close_all();
}

/* --- one id ------------------------------------------------------------------------ */

/* Reductions of one id are told apart by the order in which each leaf posts. */
static void test_one_id(void)
{
	uint32_t seed = 3;
	unsigned int i, j;
	struct ce_sum want;

	tree_make(&t, 3, 2, &seed);
	open_all();
	for (j = 0; j < t.leaves; j++)
		for (i = 0; i < TREE_WINDOW; i++) {
			given[i][j] = (struct given){ .op = { 1000 * i + j, 0 } };
			must_do(member_post(&leaf[j], i, GNI_FMA_CE_IADD, 7, &given[i][j]));
		}
	for (i = 0; i < t.leaves * TREE_WINDOW; i++)
		take_event(&nics[t.leaf[i % t.leaves].device]);
	for (i = 0; i < TREE_WINDOW; i++) {
		want = tree_reference(&t, GNI_FMA_CE_IADD, given[i]);
		for (j = 0; j < t.leaves; j++)
			member_check(&leaf[j], i, 7, GNI_FMA_CE_IADD, &want);
	}
	close_all();
}

/* --- processes --------------------------------------------------------------------- */

#define ROUNDS	50

static struct tree *shared;

/* What any leaf gives in any round, known to all. */
static struct given number_of(unsigned int l, unsigned int round)
{
	uint32_t seed = 1 + l + 1000 * round;
	double d = rnd(&seed) * 0.001 - 1000000;
	struct given g = { .mode = GNI_CEMODE_TWO_OP };

	memcpy(&g.op[0], &d, sizeof(d));
	d = 1 / (d + 0.5);
	memcpy(&g.op[1], &d, sizeof(d));
	return g;
}

static void leaf_rounds(struct member *m, unsigned int l)
{
	struct given all[TREE_LEAVES];
	uint32_t seed = 77 + l;
	unsigned int round, i;
	struct ce_sum want;

	for (round = 0; round < fewer(ROUNDS) && !failures(); round++) {
		for (i = 0; i < shared->leaves; i++)
			all[i] = number_of(i, round);
		want = tree_reference(shared, GNI_FMA_CE_FPADD, all);
		if (!(rnd(&seed) % 8))
			sched_yield();
		must_do(member_post(m, 0, GNI_FMA_CE_FPADD, round, &all[l]));
		must_rc(member_done(m, 0), GNI_RC_SUCCESS, "leaf %u, round %u", l, round);
		member_check(m, 0, round, GNI_FMA_CE_FPADD, &want);
	}
}

static void leaf_process(void *arg)
{
	unsigned int l = (unsigned int)(uintptr_t)arg;
	struct member m;
	struct nic n;

	nic_open(&n, shared->leaf[l].device, shared->leaf[l].inst);
	give(0);
	take(1);
	member_open_alone(&m, &n, shared, l);
	leaf_rounds(&m, l);
	member_close(&m);
	nic_close(&n);
}

static void processes(unsigned int leaves, unsigned int depth)
{
	uint32_t seed = 99 * leaves + depth;
	pid_t pid[TREE_LEAVES];
	unsigned int i;

	shared = map_shared(sizeof(*shared));
	tree_make(shared, leaves, depth, &seed);
	for (i = 0; i < shared->leaves; i++)
		pid[i] = peer(leaf_process, (void *)(uintptr_t)i);
	for (i = 0; i < TREE_NICS; i++)
		nic_open(&nics[i], i, OWNER_ID);
	owner_create(&owner, shared, nics);
	for (i = 0; i < shared->leaves; i++)
		take(0);
	owner_configure(&owner, shared);
	for (i = 0; i < shared->leaves; i++)
		give(1);
	for (i = 0; i < shared->leaves; i++)
		reap(pid[i]);
	owner_close(&owner, shared);
	for (i = 0; i < TREE_NICS; i++)
		nic_close(&nics[i]);
}

static void test_processes_3(void) { processes(3, 2); }
static void test_processes_64(void) { processes(time_scale() > 1 ? 24 : 64, 3); }

/* --- ways that fail ----------------------------------------------------------------- */

/* Post until it is not lost. Return: how often it was. */
static unsigned int post_stubborn(unsigned int l, gni_ce_cmd_type_t cmd, uint64_t id,
				  unsigned int *ended)
{
	gni_cq_handle_t tx = nics[t.leaf[l].device].tx;
	gni_post_descriptor_t *d;
	unsigned int lost = 0;
	gni_cq_entry_t e;
	gni_return_t rc;

	for (;;) {
		must_do(member_post(&leaf[l], 0, cmd, id, &given[0][l]));
		rc = GNI_CqGetEvent(tx, &e);
		if (rc == GNI_RC_NOT_DONE)
			return lost;
		is_rc(GNI_GetCompleted(tx, e, &d), rc);
		if (rc == GNI_RC_SUCCESS) {
			(*ended)++;
			return lost;
		}
		must_rc(rc, GNI_RC_TRANSACTION_ERROR);
		must(d == &leaf[l].d[0]);
		ok(!GNI_CE_RES_STATUS_OK(&leaf[l].result[0]));
		lost++;
	}
}

/* One that does not get through has not taken part, and may post again. */
static void test_lossy(void)
{
	unsigned int order[TREE_LEAVES], ended[TREE_NICS], i, lost = 0;
	uint32_t seed = 2718;
	struct ce_sum want;
	uint64_t id;

	tree_make(&t, 9, 3, &seed);
	open_all();
	losses(30, 0);
	for (id = 0; id < 300 && !failures(); id++) {
		gni_ce_cmd_type_t cmd = ce_commands[rnd(&seed) % CE_COMMAND_COUNT];

		memset(ended, 0, sizeof(ended));
		give_operands(given[0], cmd, &seed);
		shuffle(order, t.leaves, &seed);
		for (i = 0; i < t.leaves; i++)
			lost += post_stubborn(order[i], cmd, id, &ended[t.leaf[order[i]].device]);
		for (i = 0; i < t.leaves; i++) {
			unsigned int device = t.leaf[i].device;

			if (ended[device])
				ended[device]--;
			else
				take_event(&nics[device]);
		}
		want = tree_reference(&t, cmd, given[0]);
		for (i = 0; i < t.leaves; i++)
			member_check(&leaf[i], 0, id, cmd, &want);
	}
	losses(0, 0);
	ok(lost, "nothing was lost");
	close_all();
}

static const struct test lossy_tests[] = {
	CASE("posts that get lost, and are posted again", test_lossy, .seconds = 120),
};

static const struct test tests[] = {
	CASE("every command, against plain C", test_commands, .seconds = 120),
	CASE("every rounding mode and pair of numbers", test_rounding, .seconds = 120),
	CASE("trees of 2, 3, 17 and 64 leaves, 1 to 4 deep", test_shapes, .seconds = 120),
	CASE("10,000 reductions in a row, fewer in slow kernels", test_in_a_row, .seconds = 180),
	CASE("reductions of one id", test_one_id),
	CASE("3 processes", test_processes_3, .seconds = 60),
	CASE("64 processes, 24 in slow kernels", test_processes_64, .seconds = 180),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "lossy"))
		return RUN_TESTS(lossy_tests);
	return RUN_TESTS(tests);
}
