// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at the datagrams of a domain, at a job, at the
 * last FMA descriptors of a job, or at a file that is not attached yet. See
 * common_pairs.h.
 */
#include <sys/resource.h>

#include "common_pairs.h"

/* --- datagrams --------------------------------------------------------------------- */

#define PARTNER_ID	13
#define EP		1	/* where all of it meets */

static int partner = -1;
static uint32_t partner_pe;

/* Everybody sends who he is. */
struct letter {
	uint32_t pe, id;
};

static int dgram_post(int fd, uint32_t flags, struct letter from, struct letter to)
{
	struct kgni_ioc_dgram_post arg = {
		.ep = EP, .flags = flags, .remote_pe = to.pe, .remote_id = to.id,
		.length = sizeof(from), .buf_size = KGNI_DGRAM_MAX,
	};

	memcpy(arg.data, &from, sizeof(from));
	return call(fd, KGNI_IOC_DGRAM_POST, &arg);
}

static int dgram_test(int fd, uint64_t timeout_ms)
{
	struct kgni_ioc_dgram_test arg = { .ep = EP, .timeout_ms = timeout_ms };
	int rc = call(fd, KGNI_IOC_DGRAM_TEST, &arg);
	struct letter got;

	if (rc)
		return rc;
	memcpy(&got, arg.data, sizeof(got));
	if (arg.state == GNI_POST_COMPLETED)
		ok(arg.length == sizeof(got) && got.pe == arg.remote_pe && got.id == arg.remote_id,
		   "from %u/%u, says %u/%u", arg.remote_pe, arg.remote_id, got.pe, got.id);
	else
		is_u64(arg.length, 0);
	return DGRAM(arg.state);
}

static int dgram_cancel(int fd, uint32_t flags)
{
	struct kgni_ioc_dgram_cancel arg = { .ep = EP, .flags = flags };

	return call(fd, KGNI_IOC_DGRAM_CANCEL, &arg);
}

static int dgram_probe(int fd, uint64_t timeout_ms)
{
	struct kgni_ioc_dgram_probe arg = { .timeout_ms = timeout_ms };

	return call(fd, KGNI_IOC_DGRAM_PROBE, &arg);
}

/* Takes back what is there. */
static void dgram_drain(int fd)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		dgram_cancel(fd, 0);
		if (dgram_test(fd, 0) == GNI_RC_NO_MATCH)
			break;
	}
	while (dgram_probe(fd, 0) == GNI_RC_SUCCESS)
		;
}

/* And sees that the place is free then; nobody else has anything for it. */
static void dgram_clear(int fd)
{
	const struct letter nobody = { 0 };

	dgram_drain(fd);
	is_u64(dgram_post(fd, 0, nobody, nobody), GNI_RC_SUCCESS);
	is_u64(dgram_cancel(fd, 0), GNI_RC_SUCCESS);
	is_u64(dgram_test(fd, 0), GNI_RC_NO_MATCH);
}

static struct letter owner_name(void)
{
	return (struct letter){ w->pe, OWNER_ID };
}

static struct letter partner_name(void)
{
	return (struct letter){ partner_pe, PARTNER_ID };
}

static struct letter side_name(const struct side *s)
{
	return s->own ? (struct letter){ s->pe, B_ID } : owner_name();
}

/* Whom a side sends to: the other, or where both are one, a third. */
static struct letter aim(const struct side *s)
{
	if (w->place == IN_THREADS || w->place == BY_FILE)
		return partner_name();
	return s->me ? owner_name() : (struct letter){ w->b_pe, B_ID };
}

static int op_bound(struct side *s)
{
	return dgram_post(s->fd, KGNI_DGRAM_BOUND, side_name(s), aim(s));
}

static int op_wild(struct side *s)
{
	return dgram_post(s->fd, 0, side_name(s), aim(s));
}

static int count_end(struct side *s, int code)
{
	w->result[s->me].ended += code == DGRAM(GNI_POST_COMPLETED) ||
				  code == DGRAM(GNI_POST_TERMINATED);
	return code;
}

static int op_test(struct side *s)
{
	return count_end(s, dgram_test(s->fd, 0));
}

static int op_test_wait(struct side *s)
{
	return count_end(s, dgram_test(s->fd, 1));
}

static int op_probe(struct side *s)
{
	return dgram_probe(s->fd, 0);
}

static int op_probe_wait(struct side *s)
{
	return dgram_probe(s->fd, 1);
}

static int op_cancel(struct side *s)
{
	return dgram_cancel(s->fd, 0);
}

static int op_ep_gone(struct side *s)
{
	return dgram_cancel(s->fd, KGNI_DGRAM_EP_GONE);
}

static void dgram_begin(void)
{
	struct kgni_ioc_info info;

	partner = raw_attach(0, PARTNER_ID, 0);
	must(!call(partner, KGNI_IOC_INFO, &info));
	partner_pe = info.pe;
}

static void file_of_owner(uint32_t cookie)
{
	struct kgni_ioc_attach at = { .inst_id = OWNER_ID, .ptag = ANY, .cookie = cookie };

	w->fd = raw_open(0);
	must(!call(w->fd, KGNI_IOC_ATTACH, &at));
	w->pe = at.pe;
	w->ptag = at.ptag;
}

/* With nothing, or a datagram that waits, or one that is through. */
static void dgram_open(void)
{
	struct letter me;

	file_of_owner(COOKIE);
	more_files(true);
	dgram_drain(partner);
	me = owner_name();
	switch (w->round % 4) {
	case 1:
		must(!dgram_post(w->fd, 0, me, me));
		break;
	case 2:
		must(!dgram_post(w->fd, KGNI_DGRAM_BOUND, me, partner_name()));
		break;
	case 3:
		must(!dgram_post(w->fd, 0, me, me));
		is_u64(dgram_post(partner, KGNI_DGRAM_BOUND, partner_name(), me), GNI_RC_SUCCESS);
		return;
	}
	/* A partner that answers, or does not. */
	if (w->round & 4)
		is_u64(dgram_post(partner, 0, partner_name(), me), GNI_RC_SUCCESS);
}

static void dgram_side_close(struct side *s)
{
	if (s->own)
		dgram_drain(s->fd);
	mem_side_file_close(s);
}

static void dgram_check(void)
{
	unsigned int i, consumed = 0, posted = w->round % 4 != 0;

	for (i = 0; i < 2; i++) {
		const struct op *op = w->op[i];

		posted += op->fn == op_bound || op->fn == op_wild ? w->result[i].done : 0;
		consumed += w->result[i].ended;
	}
	if (w->place == IN_THREADS || w->place == BY_FILE)
		ok(consumed <= posted, "round %u: %s beside %s: %u ended of %u", w->round,
		   w->op[0]->name, w->op[1]->name, consumed, posted);
	if (!owner_closes() && !owner_dies())
		dgram_clear(w->fd);
	dgram_clear(partner);
}

static void file_close(void)
{
	close_more_files();
	if (!owner_closes())
		close(w->fd);
}

#define ONLY_CLOSE								\
	{ .name = "close", .fn = op_close, .codes = C_OK, .effects = ENDS_FILE,	\
	  .owner = true, .once = true }

static const struct op dgram_ops[] = {
	{ .name = "post, bound", .fn = op_bound, .codes = C_OK | C_RESOURCE },
	{ .name = "post, wildcard", .fn = op_wild, .codes = C_OK | C_RESOURCE },
	{ .name = "test", .fn = op_test,
	  .codes = C_PENDING | C_MATCHED | C_ENDED | C_NO_MATCH },
	{ .name = "test and wait", .fn = op_test_wait,
	  .codes = C_TIMEOUT | C_MATCHED | C_ENDED | C_NO_MATCH },
	{ .name = "probe", .fn = op_probe, .codes = C_OK | C_NO_MATCH },
	{ .name = "probe and wait", .fn = op_probe_wait, .codes = C_OK | C_TIMEOUT },
	{ .name = "cancel", .fn = op_cancel, .codes = C_OK | C_NO_MATCH },
	{ .name = "endpoint gone", .fn = op_ep_gone, .codes = C_OK | C_NO_MATCH },
	ONLY_CLOSE,
	OP_KILL(NULL),
};

const struct object dgram_object = {
	.name = "datagrams", .ops = dgram_ops, .count = ARRAY_SIZE(dgram_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE) | AT(BY_JOB) | AT(BY_NIC),
	.begin = dgram_begin, .open = dgram_open, .side_open = mem_side_file,
	.side_close = dgram_side_close, .check = dgram_check, .close = file_close,
};

/* --- a job ------------------------------------------------------------------------- */

/* By a file of its own, which closes again: to take part for a moment. */
static int join(struct side *s, uint32_t ptag, uint32_t modes, uint32_t *tag)
{
	struct kgni_ioc_attach at = {
		.inst_id = 20 + s->me, .ptag = ptag, .cookie = COOKIE, .modes = modes,
	};
	int fd = raw_open(s->own && w->place == BY_NIC ? 1 : 0);
	int rc = call(fd, KGNI_IOC_ATTACH, &at);

	close(fd);
	*tag = at.ptag;
	return rc;
}

/* Who joins a living job by its cookie, on the same device, is in it. */
static int same_tag(struct side *s, int rc, uint32_t tag)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (w->op[i]->fn == op_close || w->op[i]->fn == op_kill)
			return rc;
	if (!rc && !(s->own && w->place == BY_NIC))
		is_u64(tag, w->ptag);
	return rc;
}

static int op_join(struct side *s)
{
	uint32_t tag;
	int rc = join(s, ANY, 0, &tag);

	return same_tag(s, rc, tag);
}

static int op_join_tag(struct side *s)
{
	uint32_t tag;
	int rc = join(s, w->ptag, 0, &tag);

	if (!rc)
		is_u64(tag, w->ptag);
	return rc;
}

static int op_ask_tag(struct side *s)
{
	struct kgni_ioc_ptag arg = { .cookie = COOKIE };
	int fd = raw_open(s->own && w->place == BY_NIC ? 1 : 0);
	int rc = call(fd, KGNI_IOC_GET_PTAG, &arg);

	close(fd);
	return same_tag(s, rc, arg.ptag);
}

static int op_job_info(struct side *s)
{
	struct kgni_ioc_res arg = {
		.scope = KGNI_RES_JOB, .type = GNI_JOB_RES_FMA, .ptag = w->ptag,
	};
	int rc = call(s->fd, KGNI_IOC_RES_INFO, &arg);

	if (!rc)
		is_u64(arg.used + arg.available, arg.total);
	return rc;
}

#define JOIN(name_, fn_)	{ .name = (name_), .fn = (fn_), .codes = C_OK }

static const struct op job_ops[] = {
	JOIN("join by cookie", op_join),
	JOIN("join by tag", op_join_tag),
	JOIN("ask for the tag", op_ask_tag),
	JOIN("ask for its resources", op_job_info),
	JOIN("register", op_register),
	{ .name = "put to a member", .fn = op_word, .codes = C_OK, ON_MEMORY(C_GONE) },
	{ .name = "leave", .fn = op_close, .after = after_close, .codes = C_OK,
	  .effects = ENDS_FILE, .owner = true, .once = true },
	OP_KILL(NULL),
};

const struct object job_object = {
	.name = "job", .ops = job_ops, .count = ARRAY_SIZE(job_ops),
	.places = AT(IN_THREADS) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = mem_open_world, .side_open = mem_side_open,
	.side_close = mem_side_close, .check = mem_check, .close = mem_close_world,
};

/* --- the last FMA descriptors ------------------------------------------------------ */

static uint64_t fma_free(int fd)
{
	struct kgni_ioc_res arg = {
		.scope = KGNI_RES_JOB, .type = GNI_JOB_RES_FMA, .ptag = w->ptag,
	};

	must(!call(fd, KGNI_IOC_RES_INFO, &arg));
	return arg.available;
}

/* What each side has to give back. */
#define HELD	4

/*
 * Takes all but what rounds need: one for the owner, those of the sides, and one
 * that both may want. Side 1 has one more where it has an attachment.
 */
static void pool_begin(void)
{
	struct rlimit files = { 4096, 4096 };
	unsigned int spared = 2 * HELD + (w->place == IN_THREADS ? 2 : 3);

	must(!setrlimit(RLIMIT_NOFILE, &files));
	file_of_owner(COOKIE);
	while (fma_free(w->fd) > spared)
		raw_attach(0, 30, 0);
}

static void pool_open(void)
{
	file_of_owner(COOKIE);
}

static void pool_side_open(struct side *s)
{
	unsigned int i;

	for (i = 0; i < w->times; i++)
		s->spare[i] = raw_open(0);
	for (i = 0; i < HELD; i++)
		s->held[i] = raw_attach(0, 31 + s->me, 0);
}

static void pool_side_close(struct side *s)
{
	unsigned int i;

	for (i = 0; i < w->times; i++)
		close(s->spare[i]);
	for (i = 0; i < HELD; i++)
		if (s->held[i] >= 0)
			close(s->held[i]);
}

static int op_take(struct side *s)
{
	return attach(s->spare[s->i], 33, ANY, COOKIE, NULL, NULL);
}

static int op_take_a_while(struct side *s)
{
	uint32_t tag;

	return join(s, ANY, 0, &tag);
}

static int op_take_shared(struct side *s)
{
	uint32_t tag;

	return join(s, ANY, GNI_CDM_MODE_FMA_SHARED, &tag);
}

static int op_give_back(struct side *s)
{
	unsigned int i = s->i % HELD;
	int rc;

	if (s->held[i] < 0)
		return GNI_RC_NOT_DONE;
	rc = close(s->held[i]);
	s->held[i] = -1;
	return rc ? -errno : GNI_RC_SUCCESS;
}

static int op_pool_info(struct side *s)
{
	struct kgni_ioc_res arg = {
		.scope = KGNI_RES_JOB, .type = GNI_JOB_RES_FMA, .ptag = w->ptag,
	};
	int rc = call(s->spare[0], KGNI_IOC_RES_INFO, &arg);

	if (!rc)
		ok(arg.used + arg.available == arg.total && arg.available <= 1 + 2 * HELD);
	return rc;
}

/* One is free: it is taken, and with it what was given back meanwhile. */
static void pool_check(void)
{
	unsigned int i, taken = 0, asked = 0, given = 0;

	for (i = 0; i < 2; i++) {
		if (w->op[i]->fn == op_take_a_while)
			return;
		asked += w->op[i]->fn == op_take;
		taken += w->op[i]->fn == op_take ? w->result[i].done : 0;
		given += w->op[i]->fn == op_give_back ? w->result[i].done : 0;
	}
	ok(taken >= !!asked && taken <= 1 + given, "round %u: %u taken, %u given back", w->round,
	   taken, given);
}

static void pool_close(void)
{
	close(w->fd);
}

static const struct op pool_ops[] = {
	{ .name = "take one", .fn = op_take, .codes = C_OK | C_RESOURCE, .once = true },
	{ .name = "take one for a while", .fn = op_take_a_while, .codes = C_OK | C_RESOURCE },
	{ .name = "attach without", .fn = op_take_shared, .codes = C_OK },
	{ .name = "give one back", .fn = op_give_back, .codes = C_OK | C_NOT_DONE, .once = true },
	{ .name = "ask how many", .fn = op_pool_info, .codes = C_OK },
};

const struct object pool_object = {
	.name = "FMA descriptors", .ops = pool_ops, .count = ARRAY_SIZE(pool_ops),
	.places = AT(IN_THREADS) | AT(BY_JOB),
	.begin = pool_begin, .open = pool_open, .side_open = pool_side_open,
	.side_close = pool_side_close, .check = pool_check, .close = pool_close,
};

/* --- a file that is not attached --------------------------------------------------- */

static void file_open(void)
{
	w->fd = raw_open(0);
	more_files(false);
}

static int op_attach(struct side *s)
{
	return attach(s->i ? s->more_fd[s->i - 1] : s->fd, OWNER_ID, ANY, COOKIE, NULL, NULL);
}

static int op_info(struct side *s)
{
	struct kgni_ioc_info info;

	return call(s->fd, KGNI_IOC_INFO, &info);
}

static int op_file_tag(struct side *s)
{
	struct kgni_ioc_ptag arg = { .cookie = COOKIE + 5 + s->me };

	return call(s->fd, KGNI_IOC_GET_PTAG, &arg);
}

static int op_queue(struct side *s)
{
	struct kgni_ioc_cq_create make = { .entries = 4 };
	struct kgni_ioc_cq_destroy destroy = { 0 };
	int rc = call(s->fd, KGNI_IOC_CQ_CREATE, &make);

	destroy.id = make.id;
	return rc ? rc : call(s->fd, KGNI_IOC_CQ_DESTROY, &destroy);
}

static int op_map_nothing(struct side *s)
{
	void *p = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, s->fd, 1ULL << 32);

	return p == MAP_FAILED ? -errno : GNI_RC_SUCCESS;
}

static void file_side_close(struct side *s)
{
	mem_side_file_close(s);
}

static void file_check(void)
{
	unsigned int i, attached = 0, asked = 0;

	for (i = 0; i < 2; i++) {
		asked += w->op[i]->fn == op_attach;
		attached += w->op[i]->fn == op_attach ? w->result[i].done : 0;
	}
	if (asked == 2)
		is_u64(attached, w->times);
}

static const struct op file_ops[] = {
	{ .name = "attach", .fn = op_attach, .codes = C_OK, ON_ATTACH(C_STATE),
	  .effects = ATTACHES, .owner = true, .once = true },
	{ .name = "ask what it is", .fn = op_info, .codes = C_OK, .owner = true },
	{ .name = "reserve a tag", .fn = op_file_tag, .codes = C_OK, .owner = true },
	{ .name = "make a queue", .fn = op_queue, .codes = C_STATE, ON_ATTACH(C_OK),
	  .owner = true },
	{ .name = "probe", .fn = op_probe, .codes = C_STATE, ON_ATTACH(C_NO_MATCH),
	  .owner = true },
	{ .name = "map", .fn = op_map_nothing, .codes = C_EINVAL, .owner = true },
	ONLY_CLOSE,
	OP_KILL(NULL),
};

const struct object file_object = {
	.name = "file", .ops = file_ops, .count = ARRAY_SIZE(file_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE),
	.open = file_open, .side_open = mem_side_file, .side_close = file_side_close,
	.check = file_check, .close = file_close,
};
