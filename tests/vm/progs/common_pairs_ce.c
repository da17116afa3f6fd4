// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at a channel of the collective engine, which has a
 * leaf on each side. See common_pairs.h.
 *
 * Whatever happens to the channel, each reduction that a side takes part in ends for
 * it once: with the sum, or with an error.
 */
#include <core/ce.h>

#include "common_pairs.h"

#define PENDING		32	/* of a side; its queue has room for them */
#define RESULTS		64
#define CHANNEL		0	/* the number that the only channel has */

static gni_ce_result_t *result_of(const struct side *s, unsigned int n)
{
	return (gni_ce_result_t *)mem.local[s->me] + n % RESULTS;
}

/* --- reductions -------------------------------------------------------------------- */

static bool is_end(uint32_t status)
{
	return status == KGNI_ST_OK || status == KGNI_ST_CE_MEMBER || status == KGNI_ST_NO_CE;
}

/* The event of a reduction, and its result, which is there before. */
static void check_end(struct side *s, uint64_t e)
{
	uint32_t number = e & KGNI_CQE_INST_MASK, status = kgni_cqe_status(e);
	gni_ce_result_t *r = result_of(s, number);
	uint64_t control = core_load_acquire(&r->control);

	ok(is_end(status), "round %u: reduction %u: status %u", w->round, number, status);
	ok(control == kgni_ce_control(number, 0, status) &&
	   (status || r->result1 == 3), "round %u: reduction %u: %#llx, %llu", w->round, number,
	   (unsigned long long)control, (unsigned long long)r->result1);
}

static void take_ends(struct side *s)
{
	uint64_t e;

	while (s->mapped && kgni_ring_pop(&s->ring, &e) == KGNI_RING_ENTRY) {
		check_end(s, e);
		w->result[s->me].ended++;
	}
}

static struct kgni_ioc_ce_post reduction(const struct side *s, unsigned int number)
{
	return (struct kgni_ioc_ce_post){
		.cmd = GNI_FMA_CE_IADD, .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.src_cq = s->mapped ? s->cq.id : 0, .src_event = number,
		.remote_pe = w->pe, .ce = CHANNEL, .child = s->me,
		.result = (uint64_t)result_of(s, number), .local = s->lmh,
		.red_id = number, .operand = { 1 + s->me },
	};
}

/* One more, unless there are many under way. */
static int op_reduce(struct side *s)
{
	struct result *r = &w->result[s->me];
	struct kgni_ioc_ce_post p = reduction(s, r->posted);
	int rc;

	take_ends(s);
	if (r->posted - r->ended >= PENDING)
		return GNI_RC_NOT_DONE;
	memset(result_of(s, r->posted), 0, sizeof(gni_ce_result_t));
	rc = call(s->fd, KGNI_IOC_CE_POST, &p);
	r->posted += !rc;
	return rc;
}

/* The memory for the result is not registered any more when that comes. */
static int op_reduce_nowhere(struct side *s)
{
	struct kgni_ioc_ce_post p = reduction(s, 0);
	struct kgni_ioc_mem_register reg = {
		.addr = p.result, .length = PAGE, .vmdh_index = ~0U,
	};
	struct kgni_ioc_mem_deregister dereg;
	int rc = call(s->fd, KGNI_IOC_MEM_REGISTER, &reg);

	if (rc)
		return rc;
	p.local = reg.handle;
	p.src_cq = 0;
	dereg.handle = reg.handle;
	rc = call(s->fd, KGNI_IOC_CE_POST, &p);
	call(s->fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
	return rc;
}

/* To a channel that is not there. */
static int op_reduce_wrong(struct side *s)
{
	struct kgni_ioc_ce_post p = reduction(s, 0);

	p.ce = 3;
	p.src_cq = 0;
	return call(s->fd, KGNI_IOC_CE_POST, &p);
}

/* --- channels ---------------------------------------------------------------------- */

static int create(int fd, uint32_t *id)
{
	struct kgni_ioc_ce_create arg = { 0 };
	int rc = call(fd, KGNI_IOC_CE_CREATE, &arg);

	*id = arg.id;
	return rc;
}

static int destroy(int fd, uint32_t id)
{
	struct kgni_ioc_ce_destroy arg = { .id = id };

	return call(fd, KGNI_IOC_CE_DESTROY, &arg);
}

static int configure(int fd, uint32_t id, uint32_t cq)
{
	bool own = w->place == BY_JOB || w->place == BY_NIC;
	struct kgni_ce_edge child[2] = {
		{ .pe = w->pe, .id = OWNER_ID, .child = 0, .type = GNI_CE_CHILD_PE },
		{ .pe = own ? w->b_pe : w->pe, .id = own ? B_ID : OWNER_ID, .child = 1,
		  .type = GNI_CE_CHILD_PE },
	};
	struct kgni_ioc_ce_configure arg = {
		.children = (uint64_t)child, .count = 2, .id = id, .cq = cq,
		.modes = cq ? GNI_CE_MODE_CQE_ONCOMP : 0,
	};

	return call(fd, KGNI_IOC_CE_CONFIGURE, &arg);
}

static int op_create(struct side *s)
{
	uint32_t id;
	int rc = create(s->fd, &id);

	return rc ? rc : destroy(s->fd, id);
}

/* Others may have it meanwhile, or have made it. */
static int op_make_anew(struct side *s)
{
	uint32_t id;
	int rc;

	destroy(s->fd, CHANNEL);
	rc = create(s->fd, &id);
	if (rc)
		return rc;
	if (id == CHANNEL)
		return configure(s->fd, id, 0);
	rc = destroy(s->fd, id);
	return rc ? rc : GNI_RC_NOT_DONE;
}

static int op_configure(struct side *s)
{
	return configure(s->fd, CHANNEL, 0);
}

/* With a queue for its events, which goes at once, but for the channel. */
static int op_configure_queue(struct side *s)
{
	struct kgni_ioc_cq_create make = { .entries = 4 };
	struct kgni_ioc_cq_destroy arg = { 0 };
	int rc = call(s->fd, KGNI_IOC_CQ_CREATE, &make);

	if (rc)
		return rc;
	rc = configure(s->fd, CHANNEL, make.id);
	arg.id = make.id;
	call(s->fd, KGNI_IOC_CQ_DESTROY, &arg);
	return rc;
}

static int op_channel_info(struct side *s)
{
	struct kgni_ioc_res arg = {
		.scope = KGNI_RES_JOB, .type = GNI_JOB_RES_CE, .ptag = w->ptag,
	};
	int rc = call(s->fd, KGNI_IOC_RES_INFO, &arg);

	if (!rc)
		is_u64(arg.used + arg.available, arg.total);
	return rc;
}

/* --- making and ending it ---------------------------------------------------------- */

static void channel_open(void)
{
	uint32_t id;

	mem_open_world();
	must(!create(w->fd, &id) && id == CHANNEL);
	must(!configure(w->fd, id, 0));
}

static bool has_ended(struct side *s)
{
	take_ends(s);
	return w->result[s->me].ended == w->result[s->me].posted;
}

/* Without the channel nothing is under way. Whoever has the owner's file ends it. */
static void channel_side_close(struct side *s)
{
	if (!s->own)
		destroy(s->fd, CHANNEL);
	ok(!s->mapped || wait_for(has_ended(s)), "round %u: %s beside %s: %u of %u ended",
	   w->round, w->op[s->me]->name, w->op[!s->me]->name, w->result[s->me].ended,
	   w->result[s->me].posted);
	mem_side_close(s);
}

/* --- table ------------------------------------------------------------------------- */

/* Where several make channels there may be no number left, or not this one. */
#define MAKES		(C_OK | C_PARAM | C_RESOURCE | C_NOT_DONE)

static const struct op channel_ops[] = {
	{ .name = "reduce", .fn = op_reduce, .codes = C_OK | C_NOT_DONE },
	{ .name = "reduce, to nowhere", .fn = op_reduce_nowhere, .codes = C_OK | C_RESOURCE },
	{ .name = "reduce, no channel", .fn = op_reduce_wrong, .codes = C_OK },
	{ .name = "create another", .fn = op_create, .codes = MAKES, .owner = true },
	{ .name = "make anew", .fn = op_make_anew, .codes = MAKES, .owner = true },
	{ .name = "configure", .fn = op_configure, .codes = C_OK | C_PARAM, .owner = true },
	{ .name = "configure with queue", .fn = op_configure_queue, .codes = C_OK | C_PARAM,
	  .owner = true },
	{ .name = "ask for channels", .fn = op_channel_info, .codes = C_OK },
	REGISTER,
	WORD,
	CLOSE,
	KILL,
};

const struct object channel_object = {
	.name = "channel", .ops = channel_ops, .count = ARRAY_SIZE(channel_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = channel_open, .side_open = mem_side_open,
	.side_close = channel_side_close, .check = mem_check, .close = mem_close_world,
};
