// SPDX-License-Identifier: GPL-2.0-only
/* Shared message queues, with instances that die before each access in turn. */
#include "unit.h"

#define sim_check(cond)	assert_true(cond)
#include "sim_msgq.h"

#define A(i)	(&sim_node[0].inst[i])
#define B(i)	(&sim_node[1].inst[i])

static u64 seed;

static u32 below(u32 n)
{
	return unit_below(&seed, n);
}

static void test_shape(void **state)
{
	struct kgni_msgq_shape s;
	u32 size, slots, conns;

	(void)state;
	assert_false(kgni_msgq_shape_init(&s, 0, 1, 1, 1));
	assert_false(kgni_msgq_shape_init(&s, 129, 1, 1, 1));
	assert_false(kgni_msgq_shape_init(&s, 1, 0, 1, 1));
	assert_false(kgni_msgq_shape_init(&s, 1, 32769, 1, 1));
	assert_false(kgni_msgq_shape_init(&s, 1, 1, 0, 1));
	assert_false(kgni_msgq_shape_init(&s, 1, 1, 65536, 1));
	assert_false(kgni_msgq_shape_init(&s, 1, 1, 1, 0));
	assert_false(kgni_msgq_shape_init(&s, 1, 1, 1, 49));
	for (size = 1; size <= 128; size += 31) {
		for (slots = 1; slots <= 32768; slots = slots * 3 + 1) {
			for (conns = 1; conns <= 65535; conns = conns * 5 + 1) {
				assert_true(kgni_msgq_shape_init(&s, size, slots, conns, 48));
				assert_true(s.slot_size >= 24 + size && s.slot_size % 64 == 0);
				assert_true(s.conn_size >=
					    sizeof(struct kgni_msgq_conn) + 3 * slots);
				assert_true(s.mboxes_at >= 1792 + (u64)conns * s.conn_size);
				assert_true(kgni_msgq_slot(&s, slots - 1) + s.slot_size ==
					    s.mbox_size);
				assert_true(s.size == s.mboxes_at + (u64)conns * s.mbox_size);
			}
		}
	}
	assert_true(kgni_msgq_shape_init(&s, 128, 32768, 65535, 48));
	assert_true(s.size > (u64)65535 * 32768 * 192);
}

/* Full, empty, in order; every slot is used again and again. */
static void test_credits(void **state)
{
	u32 slots, i, n;

	(void)state;
	for (slots = 1; slots < 20; slots++) {
		sim_begin(slots, 2);
		for (i = 0; i < 600 / slots; i++) {
			for (n = 0; n < slots; n++)
				assert_int_equal(sim_send(A(i % 3), n % 4), KGNI_MSGQ_SENT);
			assert_int_equal(sim_send(A(0), 0), KGNI_MSGQ_FULL);
			for (n = 0; n < SIM_INSTS; n++)
				sim_receive(B(n));
			/* Whom it asked had to wait for what the others consumed. */
			sim_receive(B(0));
			sim_settle();
		}
		sim_account();
		sim_end();
	}
}

/* Dropped credits: one who does not receive holds only his own. */
static void test_slow(void **state)
{
	u32 i;

	(void)state;
	sim_begin(8, 1);
	for (i = 0; i < 7; i++)
		assert_int_equal(sim_send(A(0), 5), KGNI_MSGQ_SENT);
	for (i = 0; i < 200; i++) {
		if (sim_send(A(1), 2) == KGNI_MSGQ_SENT)
			sim_receive(B(2));
		else
			sim_receive(B(i % 5));
	}
	assert_true(sim_messages > 40);
	sim_settle();
	sim_account();
	sim_end();
}

/* One who dies with messages: they are dropped when credits are asked for. */
static void test_dead_receiver(void **state)
{
	u32 i;

	(void)state;
	sim_begin(4, 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(sim_send(A(0), 5), KGNI_MSGQ_SENT);
	B(5)->alive = false;
	assert_int_equal(sim_send(A(0), 1), KGNI_MSGQ_FULL);
	for (i = 0; i < SIM_INSTS - 1; i++)
		sim_receive(B(i));
	for (i = 0; i < 10; i++) {
		assert_int_equal(sim_send(A(0), 1), KGNI_MSGQ_SENT);
		assert_int_equal(sim_send(A(0), 5), KGNI_MSGQ_FAILED);
		sim_receive(B(1));
	}
	sim_settle();
	sim_account();
	sim_end();
}

/* Goes on after a death: other instances send and receive as if nothing had been. */
static void go_on(u32 slots)
{
	u32 i, n;

	for (i = 0; i < 2 * slots + 3; i++) {
		for (n = 0; n < 8 && sim_send(A(1), 1) != KGNI_MSGQ_SENT; n++)
			sim_settle();
		assert_true(n < 8);
		sim_receive(B(1));
		for (n = 0; n < 8 && sim_send(B(1), 1) != KGNI_MSGQ_SENT; n++)
			sim_settle();
		assert_true(n < 8);
		sim_receive(A(1));
	}
	sim_settle();
	sim_account();
}

/*
 * A sender dies at each step of a send, and whoever completes that dies at each step
 * of doing so. Return: false once neither did.
 */
static bool sender_dies(u32 slots, u32 at, u32 again, bool target_dies)
{
	bool lived;
	u32 i;

	sim_begin(slots, 1);
	for (i = 0; i < slots / 2; i++)
		assert_int_equal(sim_send(A(0), 2), KGNI_MSGQ_SENT);
	lived = sim_act(A(0), at, sim_do_send, 2);
	if (target_dies)
		B(2)->alive = false;
	if (sim_act(A(2), again, sim_do_send, 3) && lived) {
		sim_end();
		return false;
	}
	go_on(slots);
	sim_end();
	return true;
}

static void test_dead_sender(void **state)
{
	u32 slots, at, again, dies, runs = 0;

	(void)state;
	for (slots = 1; slots <= 4; slots += 3) {
		for (dies = 0; dies < 2; dies++) {
			for (at = 1; sender_dies(slots, at, 0, dies); at++)
				for (again = 1; again < 120; again++, runs++)
					if (!sender_dies(slots, at, again, dies))
						break;
			assert_in_range(at, 20, 200);
		}
	}
	assert_true(runs > 5000);
}

/* A receiver dies at each step of taking messages, then one who answers for it. */
static bool receiver_dies(u32 slots, u32 at, u32 again)
{
	bool lived;
	u32 i;

	sim_begin(slots, 1);
	for (i = 0; i < slots; i++)
		assert_int_equal(sim_send(A(0), 2), KGNI_MSGQ_SENT);
	lived = sim_act(B(2), at, sim_do_receive, 0);
	kgni_msgq_ask(&sim_node[0].v, 0, 3);
	if (sim_act(B(3), again, sim_do_receive, 0) && lived) {
		sim_end();
		return false;
	}
	go_on(slots);
	sim_end();
	return true;
}

static void test_dead_taker(void **state)
{
	u32 slots, at, again;

	(void)state;
	for (slots = 1; slots <= 4; slots++) {
		for (at = 1; receiver_dies(slots, at, 0); at++)
			for (again = 1; again < 200; again++)
				if (!receiver_dies(slots, at, again))
					break;
		assert_in_range(at, 10, 500);
	}
}

static void assign(struct sim_inst *x, u32 pe)
{
	assert_true(kgni_msgq_assign(&x->node->v, pe) < 2);
}

/* Begun anew by another, however far one came. */
static void test_dead_connector(void **state)
{
	u32 at, died = 0;

	(void)state;
	for (at = 1; at < 60; at++) {
		sim_begin(3, 2);
		died += !sim_act(A(0), at, assign, 77);
		if (kgni_msgq_lookup(&sim_node[0].v, 77) == 2)
			assert_true(kgni_msgq_assign(&sim_node[0].v, 77) < 2);
		assert_true(kgni_msgq_assign(&sim_node[0].v, 78) == 2);
		go_on(3);
		sim_end();
	}
	assert_in_range(died, 8, 58);
}

/* Lost events: everything is found, in order. */
static void test_scan(void **state)
{
	u32 i;

	(void)state;
	sim_begin(16, 2);
	for (i = 0; i < 600; i++) {
		while (sim_send(A(i % 6), 3) == KGNI_MSGQ_SENT)
			if (i % 3)
				break;
		B(3)->scan = i % 2;
		B(3)->out = i % 2 ? B(3)->in : B(3)->out;
		sim_receive(B(3));
		sim_receive(A(0));
		if (sim_messages > SIM_MESSAGES - 100)
			break;
	}
	assert_true(sim_messages > 600);
	sim_settle();
	sim_account();
	sim_end();
}

/* Everybody sends to everybody, some die, and some puts end nobody knows how. */
static void storm(u32 trouble)
{
	struct sim_inst *x;
	u32 i, at;

	sim_begin(1 + below(12), 1 + below(3));
	sim_trouble = trouble;
	for (i = 0; i < 1500 && sim_messages < SIM_MESSAGES - 64; i++) {
		x = sim_inst(below(2 * SIM_INSTS));
		if (!x->alive)
			continue;
		/* The first of each node does not. */
		at = x->i && !below(60) ? 1 + below(90) : 0;
		if (below(3))
			sim_act(x, at, sim_do_send, below(SIM_INSTS));
		else
			sim_act(x, at, sim_do_receive, 0);
	}
	sim_settle();
	if (trouble)
		sim_account_messages();
	else
		sim_account();
	/* Whatever was lost, it still works. */
	for (i = 0; i < 30; i++) {
		if (sim_send(A(0), 0) == KGNI_MSGQ_SENT)
			sim_receive(B(0));
		sim_settle();
	}
	sim_account_messages();
	sim_end();
}

static void test_storm(void **state)
{
	u32 i;

	(void)state;
	sim_random = below;
	for (i = 0; i < 400; i++) {
		seed = i;
		storm(0);
	}
	for (; i < 600; i++) {
		seed = i;
		storm(20);
	}
	sim_random = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_dead_receiver),
		cmocka_unit_test(test_dead_sender),
		cmocka_unit_test(test_dead_taker),
		cmocka_unit_test(test_dead_connector),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
