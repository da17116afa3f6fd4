// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared message queues (kernel/core/msgq.h): two nodes of instances that send,
 * receive, die and take over, in an order that the input says, and, in half of the
 * runs, a stranger that writes into both regions whenever somebody looks there.
 *
 * Without the stranger: messages come once, whole and in order, all of those whose
 * send succeeded and whose receiver lives, and all slots come back. With it: no put
 * leaves the target's mailboxes, no message is longer than one may be, all calls end.
 */
#include "fuzz.h"

#define sim_check(cond)	check(cond, "after %u messages", sim_messages)
#include "sim_msgq.h"

static struct input *input;
static u32 quiet;

/* --- the stranger ------------------------------------------------------------------ */

static u64 likely_word(struct sim_node *n, u32 slot)
{
	u8 how = input_u8(input);
	u64 word = *(u64 *)(kgni_msgq_mbox(&n->v, 0) + kgni_msgq_slot(&n->v.shape, slot));

	switch (how & 3) {
	case 0:
		return word + (how >> 2);
	case 1:
		return word ^ 1ULL << (how >> 2);
	case 2:
		return input_u64(input) | KGNI_MSGQ_VALID;
	}
	return input_edge(input);
}

static void scribble(void)
{
	u8 how = input_u8(input);
	struct sim_node *n = &sim_node[how & 1];
	u64 value, at;

	switch (how >> 1 & 3) {
	case 0:
		at = n->v.shape.mboxes_at +
		     kgni_msgq_slot(&n->v.shape, (how >> 3) % n->v.shape.slots);
		value = likely_word(n, (how >> 3) % n->v.shape.slots);
		break;
	case 1:
		at = KGNI_MSGQ_CONNS_AT + input_u8(input) % (sizeof(struct kgni_msgq_conn) / 8) * 8;
		value = input_edge(input);
		break;
	default:
		at = input_u32(input) % (n->v.shape.size - 8);
		value = input_edge(input);
		break;
	}
	memcpy(n->v.mem + at, &value, 8);
}

static void meanwhile(void)
{
	if (quiet && quiet--)
		return;
	quiet = input_u8(input);
	if (input->left)
		scribble();
}

/* --- the instances ------------------------------------------------------------------- */

static void reconnect(struct sim_inst *x, u32 arg)
{
	struct sim_node *other = &sim_node[x->node == sim_node];
	u32 c = kgni_msgq_lookup(&x->node->v, other->pe);

	(void)arg;
	if (c == x->node->v.shape.conns && sim_hostile)
		kgni_msgq_assign(&x->node->v, other->pe);
}

static void one_act(void)
{
	u8 what = input_u8(input), more = input_u8(input);
	struct sim_inst *x = sim_inst(what % (2 * SIM_INSTS));
	u32 at = 0;

	if (!x->alive)
		return;
	/* The first of each node lives: else nobody is left to tell. */
	if (x->i && more >> 4 == 15)
		at = 1 + input_u8(input) % 100;
	switch (more & 7) {
	case 0:
		sim_act(x, at, reconnect, 0);
		break;
	case 1:
	case 2:
	case 3:
		sim_act(x, at, sim_do_receive, 0);
		break;
	default:
		sim_act(x, at, sim_do_send, (more >> 3) % SIM_INSTS);
	}
}

static u32 below(u32 n)
{
	return input_u8(input) % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u8 how;

	input = &in;
	how = input_u8(&in);
	sim_begin(1 + (how & 15), 1 + (how >> 4 & 3));
	sim_hostile = how & 0x80;
	if (sim_hostile)
		sim_meanwhile = meanwhile;
	sim_trouble = how & 0x40 ? 40 : 0;
	sim_random = below;
	quiet = 255;
	while (in.left && sim_messages < SIM_MESSAGES - 1)
		one_act();
	sim_meanwhile = NULL;
	how = sim_trouble;
	sim_settle();
	if (!sim_hostile && !how)
		sim_account();
	else if (!sim_hostile)
		sim_account_messages();
	sim_end();
	return 0;
}
