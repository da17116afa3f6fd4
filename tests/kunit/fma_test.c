// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts: every way in which one ends, the data it moves, the events it leaves.
 * RDMA posts are small here and so done at once; bte_test.c has the others.
 */
#include <linux/mman.h>
#include <linux/sched/signal.h>

#include "kgt.h"
#include "kgt_amo.h"
#include "kgt_scene.h"
#include "../../kernel/fma.c"

KUNIT_ARRAY_PARAM(kind, kgt_each_kind, kgt_kind_desc);

/* --- how posts fail -------------------------------------------------------- */

/*
 * One field of a good post is changed, or something around it, and then posts of
 * these kinds end so; @rest says how the others end.
 */
static const struct mistake {
	const char *name;
	u32 kinds;
	long rc;
	enum kgni_cqe_status status;
	size_t at;
	u8 size;
	bool add;
	u64 value;
	u32 how, local_flags, remote_flags;
	bool no_rest;
} mistakes[] = {
#define SET(field, v)	.at = offsetof(struct kgni_ioc_post, field), .value = (v), \
	.size = sizeof_field(struct kgni_ioc_post, field)
#define ADD(field, v)	SET(field, v), .add = true

	{ "reserved field", ALL, -EINVAL, SET(reserved, 1) },
	{ "unknown flag", ALL, -EINVAL, SET(flags, KGNI_POST_FLAGS + 1) },
	{ "type 0", ALL, GNI_RC_INVALID_PARAM, SET(type, 0) },
	{ "type 8", ALL, GNI_RC_INVALID_PARAM, SET(type, 8) },
	{ "unknown cq_mode", ALL, GNI_RC_INVALID_PARAM, SET(cq_mode, 0xa) },
	{ "unknown rdma_mode", BIT(RDMA_PUT) | BIT(RDMA_GET), GNI_RC_INVALID_PARAM,
	  SET(rdma_mode, 1) },
	{ "two events without dual mode", ALL, GNI_RC_INVALID_PARAM, SET(cq_mode, 3) },
	{ "no such source queue", ALL, GNI_RC_INVALID_PARAM, SET(src_cq, 99) },
	{ "length 0", MEMORY & ~(BIT(PUT) | BIT(PUT_FLAG)), GNI_RC_INVALID_PARAM, SET(length, 0) },
	{ "remote range that wraps", MEMORY, GNI_RC_INVALID_PARAM, SET(remote_addr, U64_MAX - 7) },
	{ "no such command", BIT(FETCH) | BIT(AMO) | BIT(FETCH_FLAG), GNI_RC_INVALID_PARAM,
	  SET(amo_cmd, 0x40) },
	{ "AMO that fetches nothing", BIT(FETCH_FLAG), GNI_RC_INVALID_PARAM,
	  SET(amo_cmd, GNI_FMA_ATOMIC_XOR) },
	{ "response longer than a line", FLAGGED, GNI_RC_INVALID_PARAM, SET(length, LENGTH) },
	{ "response over a line's end", FLAGGED, GNI_RC_ALIGNMENT_ERROR, ADD(local_addr, 32) },
	{ "remote address + 1", MEMORY & ~(BIT(RDMA_PUT) | BIT(PUT) | BIT(PUT_FLAG)),
	  GNI_RC_ALIGNMENT_ERROR, ADD(remote_addr, 1) },
	{ "length + 2", MEMORY & ~(BIT(RDMA_PUT) | BIT(PUT) | BIT(PUT_FLAG)),
	  GNI_RC_ALIGNMENT_ERROR, ADD(length, 2) },
	{ "local address + 4", BIT(FETCH) | BIT(FETCH_FLAG), GNI_RC_ALIGNMENT_ERROR,
	  ADD(local_addr, 4) },
	{ "flag address + 4", BIT(PUT_FLAG), GNI_RC_ALIGNMENT_ERROR, ADD(sync_addr, -4) },
	{ "no such local handle", NEEDS_LOCAL, GNI_RC_INVALID_PARAM,
	  ADD(local.qword1, 5ULL << 52) },
	{ "local handle's address", NEEDS_LOCAL, GNI_RC_INVALID_PARAM, ADD(local.qword1, 1) },
	{ "no local handle", NEEDS_LOCAL, GNI_RC_INVALID_PARAM, SET(local.qword1, 0) },
	{ "local range behind", NEEDS_LOCAL, GNI_RC_INVALID_PARAM, ADD(local_addr, BYTES),
	  .no_rest = true },
	{ "local range half behind", NEEDS_LOCAL & ~FLAGGED, GNI_RC_INVALID_PARAM,
	  ADD(local_addr, BYTES - 8), .no_rest = true },
	{ "local range before", NEEDS_LOCAL & ~FLAGGED, GNI_RC_INVALID_PARAM, ADD(local_addr, -8),
	  .no_rest = true },
	{ "local range that wraps", NEEDS_LOCAL & ~FLAGGED, GNI_RC_INVALID_PARAM,
	  SET(local_addr, -8ULL), .no_rest = true },
	{ "local side read-only", NEEDS_LOCAL & ~BIT(RDMA_PUT), GNI_RC_PERMISSION_ERROR,
	  .local_flags = GNI_MEM_READ_ONLY },
	{ "source of the kernel", BIT(PUT) | BIT(PUT_FLAG), GNI_RC_INVALID_PARAM,
	  SET(local_addr, 0xffff888000000000), .no_rest = true },
	{ "source that is not there", BIT(PUT) | BIT(PUT_FLAG), GNI_RC_INVALID_PARAM,
	  SET(local_addr, 0x1000), .no_rest = true },
	{ "source that wraps", BIT(PUT) | BIT(PUT_FLAG), GNI_RC_INVALID_PARAM,
	  SET(local_addr, -8ULL), .no_rest = true },

	{ "unknown PE", ALL, 0, KGNI_ST_UNREACHABLE, SET(remote_pe, 7) },
	{ "no such remote handle", ALL, 0, KGNI_ST_MDD_INVALID, ADD(remote.qword1, 5ULL << 52) },
	{ "remote handle's address", ALL, 0, KGNI_ST_MDD_INVALID, ADD(remote.qword1, 1) },
	{ "remote handle with index", ALL, 0, KGNI_ST_MDD_INVALID,
	  ADD(remote.qword2, (u64)KGNI_MH_VMDH << 34) },
	{ "handle of the other device", ALL, 0, KGNI_ST_MDD_INVALID, SET(remote_pe, KGT_PE) },
	{ "another job's memory", ALL, 0, KGNI_ST_MDD_INVALID, .how = FOREIGN },
	{ "remote range behind", MEMORY, 0, KGNI_ST_BOUNDS, ADD(remote_addr, BYTES) },
	{ "remote range half behind", MEMORY, 0, KGNI_ST_BOUNDS, ADD(remote_addr, BYTES - 8) },
	{ "remote range before", MEMORY, 0, KGNI_ST_BOUNDS, ADD(remote_addr, -8) },
	{ "remote address 0", MEMORY, 0, KGNI_ST_BOUNDS, SET(remote_addr, 0) },
	{ "flag behind", BIT(PUT_FLAG), 0, KGNI_ST_BOUNDS, ADD(sync_addr, 8) },
	{ "flag before", BIT(PUT_FLAG), 0, KGNI_ST_BOUNDS, ADD(sync_addr, -(u64)BYTES) },
	{ "remote side read-only", WRITES, 0, KGNI_ST_PROTECTION,
	  .remote_flags = GNI_MEM_READ_ONLY },
	{ "no queue behind the memory", BIT(CQW), 0, KGNI_ST_NO_CQ, .how = NO_CQ },
#undef SET
#undef ADD
};

static void mistake_desc(const struct mistake *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mistake, mistakes, mistake_desc);

static void make_mistake(struct kgni_ioc_post *post, const struct mistake *m)
{
	u64 v = 0;

	memcpy(&v, (char *)post + m->at, m->size);
	v = m->add ? v + m->value : m->value;
	memcpy((char *)post + m->at, &v, m->size);
}

static void fails(struct kunit *test)
{
	const struct mistake *m = test->param_value;
	struct kgt_scene *s = kgt_scene(test, m->how, m->local_flags, m->remote_flags);
	enum kind k;

	for (k = 0; k < KINDS; k++) {
		const char *name = kgt_kinds[k].name;

		if (!(m->kinds & BIT(k)))
			continue;
		kgt_compose(s, k);
		make_mistake(&s->post, m);
		KUNIT_EXPECT_EQ_MSG(test, kgt_run(s), m->rc, "%s", name);
		if (!m->rc)
			KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src), kgt_source_event(s, m->status),
					    "%s", name);
		kgt_expect_untouched(s, name);
	}
	kgt_expect_released(s);
}

/* What is a mistake for some is nothing to the others. */
static void others_do_not_mind(struct kunit *test)
{
	const struct mistake *m = test->param_value;
	struct kgt_scene *s = kgt_scene(test, m->how, m->local_flags, m->remote_flags);
	enum kind k;

	for (k = 0; k < KINDS; k++) {
		if (m->kinds & BIT(k))
			continue;
		kgt_compose(s, k);
		make_mistake(&s->post, m);
		KUNIT_EXPECT_EQ_MSG(test, kgt_run(s), GNI_RC_SUCCESS, "%s", kgt_kinds[k].name);
		KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK),
				    "%s", kgt_kinds[k].name);
		KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->dst), m->how & NO_CQ ? 0 : kgt_remote_event(s),
				    "%s", kgt_kinds[k].name);
	}
	kgt_expect_released(s);
}

static const void *others_gen_params(const void *prev, char *desc)
{
	do
		prev = mistake_gen_params(prev, desc);
	while (prev && (((const struct mistake *)prev)->kinds == ALL ||
			((const struct mistake *)prev)->no_rest));
	return prev;
}

/* A region that ends between the checks and the work. */
static void region_that_just_ended(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	bool touches = BIT(k) & MEMORY;

	kgt_compose(s, k);
	s->remote->mdd->dead = true;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src),
			kgt_source_event(s, touches ? KGNI_ST_ABORTED : KGNI_ST_OK));
	if (!touches)
		kgt_pop(s->dst);
	kgt_expect_untouched(s, kgt_kinds[k].name);
	s->remote->mdd->dead = false;
	if (!(BIT(k) & NEEDS_LOCAL))
		return;
	s->local->mdd->dead = true;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_ABORTED));
	kgt_expect_untouched(s, kgt_kinds[k].name);
	kgt_expect_released(s);
}

static void region_that_is_gone(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	enum kind k;

	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(s->peer->nic, &s->remote->handle), 0);
	for (k = 0; k < KINDS; k++) {
		kgt_compose(s, k);
		KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
		KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_MDD_INVALID));
		kgt_expect_untouched(s, kgt_kinds[k].name);
	}
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(s->f->nic, &s->local->handle), 0);
	for (k = 0; k < KINDS; k++) {
		kgt_compose(s, k);
		if (BIT(k) & NEEDS_LOCAL)
			KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_INVALID_PARAM);
	}
	kgt_expect_untouched(s, "all");
}

static void queue_that_is_gone(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	enum kind k;

	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(s->peer->nic, s->dst->id), GNI_RC_SUCCESS);
	for (k = 0; k < KINDS; k++) {
		kgt_compose(s, k);
		KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
		KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	}
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(s->f->nic, s->src->id), GNI_RC_SUCCESS);
	for (k = 0; k < KINDS; k++)
		KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_INVALID_PARAM);
}

/* --- events ---------------------------------------------------------------- */

static const u16 cq_modes[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static void cq_mode_desc(const u16 *mode, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s%s%s%s", *mode ? "" : "none ",
		 *mode & KGNI_CQMODE_LOCAL ? "local " : "",
		 *mode & KGNI_CQMODE_GLOBAL ? "global " : "",
		 *mode & KGNI_CQMODE_REMOTE ? "remote " : "");
}

KUNIT_ARRAY_PARAM(cq_mode, cq_modes, cq_mode_desc);

static void expect_events(struct kgt_scene *s, u16 mode, const char *name)
{
	struct kunit *test = s->test;

	if (mode & KGNI_CQMODE_LOCAL)
		KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src),
				    kgt_source_event(s, KGNI_ST_OK) | KGNI_CQE_LOCAL, "%s", name);
	if (mode & KGNI_CQMODE_GLOBAL)
		KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK),
				    "%s", name);
	if (mode & KGNI_CQMODE_REMOTE || s->post.type == KGNI_POST_CQWRITE)
		KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->dst), kgt_remote_event(s), "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src), 0, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->dst), 0, "%s", name);
}

static void events(struct kunit *test)
{
	u16 mode = *(const u16 *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, DUAL, 0, 0);
	enum kind k;

	for (k = 0; k < KINDS; k++) {
		kgt_compose(s, k);
		s->post.cq_mode = mode;
		KUNIT_EXPECT_EQ_MSG(test, kgt_run(s), GNI_RC_SUCCESS, "%s", kgt_kinds[k].name);
		expect_events(s, mode, kgt_kinds[k].name);
	}
	kgt_expect_released(s);
}

/* A failed post says so as often as a good one would. */
static void events_of_failures(struct kunit *test)
{
	u16 mode = *(const u16 *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, DUAL, 0, 0);
	enum kind k;

	for (k = 0; k < KINDS; k++) {
		kgt_compose(s, k);
		s->post.cq_mode = mode;
		s->post.remote_pe = 7;
		KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
		if (mode & KGNI_CQMODE_LOCAL)
			KUNIT_EXPECT_EQ(test, kgt_pop(s->src), KGNI_CQE_LOCAL |
					kgt_source_event(s, KGNI_ST_UNREACHABLE));
		if (mode & KGNI_CQMODE_GLOBAL)
			KUNIT_EXPECT_EQ(test, kgt_pop(s->src),
					kgt_source_event(s, KGNI_ST_UNREACHABLE));
		kgt_expect_untouched(s, kgt_kinds[k].name);
	}
}

static void no_source_queue(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	kgt_compose(s, k);
	s->post.src_cq = 0;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	s->post.remote_pe = 7;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), 0);
}

/* Of what the caller gives, only the bits that are the caller's. */
static void event_of_ones(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	kgt_compose(s, PUT);
	s->post.src_event = U64_MAX & ~(3ULL << KGNI_CQE_TYPE_SHIFT);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), (u64)KGNI_CQE_FMA << 56 | (KGNI_CQE_LOCAL - 1));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	kgt_compose(s, CQW);
	s->post.cqwrite_value = U64_MAX;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst),
			kgni_cqe_remote(U64_MAX >> 16, KGNI_POST_CQWRITE, KGNI_CQE_POST));
}

/* In a message's event what is the local bit elsewhere belongs to the id. */
static void events_of_messages(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	kgt_compose(s, PUT_FLAG);
	s->post.flags = KGNI_POST_SMSG;
	s->post.src_event = kgni_cqe_smsg(0x12345678, 0x3fffff, KGNI_CQE_SMSG);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src),
			0x12345678ULL | 0x3fffffULL << 32 | 1ULL << 54 | 1ULL << 56);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst),
			kgni_cqe_remote(REMOTE_EVENT, KGNI_POST_FMA_PUT_W_SYNCFLAG,
					KGNI_CQE_SMSG));
}

/* --- data ------------------------------------------------------------------ */

static const struct move {
	u32 n, local, remote;
} moves[] = {
	{ 4, 0, 0 }, { 8, 8, 8 }, { 12, 1, 4 }, { 256, 0, 0 }, { 260, 3, 4 },
	{ 4096, 0, 0 }, { 4096, 5, 4092 }, { 4100, 0, 0 }, { 65536, 1, 8 }, { 65540, 0, 0 },
	{ 150000, 4095, 4 },
};

static void move_desc(const struct move *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes, local +%u, remote +%u", m->n, m->local,
		 m->remote);
}

KUNIT_ARRAY_PARAM(move, moves, move_desc);

#define BIG	40	/* pages */

/* [to, to + n) of @m holds what the other side has from @from, with @seed. */
static void expect_moved(struct kunit *test, struct kgt_mem *m, u32 to, u32 from, u32 n,
			 u8 seed, u8 old)
{
	u64 i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += *kgt_at(m, m->base + to + i) != kgt_byte(from + i, seed);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(m, 0, to, old), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(m, to + n, BIG * PAGE_SIZE, old), 0);
}

static void make_big(struct kgt_scene *s)
{
	s->local = kgt_mem(s->test, s->f, BIG, 0, NULL);
	s->remote = kgt_mem(s->test, s->peer, BIG, 0, s->dst);
	kgt_fill(s->local, 1);
	kgt_fill(s->remote, 2);
}

static void get(struct kunit *test)
{
	const struct move *m = test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	make_big(s);
	kgt_compose(s, GET);
	s->post.length = m->n;
	s->post.local_addr += m->local;
	s->post.remote_addr += m->remote;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	expect_moved(test, s->local, m->local, m->remote, m->n, 2, 1);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, 0, BIG * PAGE_SIZE, 2), 0);
}

/* User memory that holds what kgt_fill() would. */
static unsigned long filled_user(struct kunit *test, size_t size, u8 seed)
{
	unsigned long user = kgt_user(test, size, PROT_READ | PROT_WRITE);
	u8 *buf = kunit_kmalloc(test, size, GFP_KERNEL);
	size_t i;
	int rc;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < size; i++)
		buf[i] = kgt_byte(i, seed);
	kgt_mm_begin();
	rc = copy_to_user((void __user *)user, buf, size);
	kgt_mm_end();
	KUNIT_ASSERT_EQ(test, rc, 0);
	kunit_kfree(test, buf);
	return user;
}

static void put(struct kunit *test)
{
	const struct move *m = test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	make_big(s);
	kgt_compose(s, PUT);
	s->post.length = m->n;
	s->post.local_addr = filled_user(test, BIG * PAGE_SIZE, 3) + m->local;
	s->post.remote_addr += m->remote;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	expect_moved(test, s->remote, m->remote, m->local, m->n, 3, 2);
}

static void put_with_flag(struct kunit *test)
{
	const struct move *m = test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u64 *flag;

	make_big(s);
	kgt_compose(s, PUT_FLAG);
	s->post.length = m->n;
	s->post.local_addr = filled_user(test, BIG * PAGE_SIZE, 3) + m->local;
	s->post.remote_addr += m->remote;
	s->post.sync_addr = s->remote->base + BIG * PAGE_SIZE - 8;
	flag = (u64 *)kgt_at(s->remote, s->post.sync_addr);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *flag, FLAG);
	kgt_fill(s->local, 2);
	*flag = *(u64 *)kgt_at(s->local, s->local->base + BIG * PAGE_SIZE - 8);
	expect_moved(test, s->remote, m->remote, m->local, m->n, 3, 2);
}

/* An empty put moves nothing, wherever it points, and has its flag and events. */
static void empty_put(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u64 *flag = (u64 *)kgt_at(s->remote, s->remote->base + FLAG_OFFSET);
	u64 old = *flag;

	kgt_compose(s, PUT_FLAG);
	s->post.length = 0;
	s->post.local_addr = 0;
	s->post.remote_addr = 0;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *flag, FLAG);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	*flag = old;
	kgt_expect_untouched(s, "empty put");
}

static const struct response {
	enum kind kind;
	u32 at, length;
} responses[] = {
	{ GET_FLAG, 0, 4 }, { GET_FLAG, 4, 8 }, { GET_FLAG, 0, 60 }, { GET_FLAG, 56, 4 },
	{ GET_FLAG, PAGE_SIZE - 64, 60 }, { FETCH_FLAG, 0, 8 }, { FETCH_FLAG, 8, 48 },
	{ FETCH_FLAG, 2 * PAGE_SIZE - 16, 8 },
};

static void response_desc(const struct response *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %u bytes at %u", kgt_kinds[r->kind].name,
		 r->length, r->at);
}

KUNIT_ARRAY_PARAM(response, responses, response_desc);

/* The response, its flag of four bytes behind it, and nothing else. */
static void response_with_flag(struct kunit *test)
{
	const struct response *r = test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u64 end = r->at + r->length;
	u32 i, flag, wrong = 0;

	kgt_compose(s, r->kind);
	s->post.length = r->length;
	s->post.local_addr += r->at;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	for (i = 0; i < r->length; i++)
		wrong += *kgt_at(s->local, s->local->base + r->at + i) != kgt_byte(i, 2);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	memcpy(&flag, kgt_at(s->local, s->local->base + end), sizeof(flag));
	KUNIT_EXPECT_EQ(test, flag, (u32)FLAG);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->local, 0, r->at, 1), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->local, end + 4, BYTES, 1), 0);
	if (r->kind == GET_FLAG)
		KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, 0, BYTES, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, r->length, BYTES, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	kgt_expect_released(s);
}

#define FILLER	kgni_cqe_remote(1, KGNI_POST_FMA_PUT, KGNI_CQE_POST)

/* An event that finds no room at the target: the data is there, the poster is told. */
static void remote_overrun(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u32 i;

	for (i = 0; i < s->dst->slots; i++)
		KUNIT_ASSERT_TRUE(test, kgni_cq_push(s->dst, FILLER));
	kgt_compose(s, k);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_REM_OVERRUN));
	KUNIT_EXPECT_EQ(test, !!kgt_differ(s->remote, 0, BYTES, 2), !!(BIT(k) & WRITES));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), KGNI_CQE_OVERRUN);
	/* No room is needed by those that want no event. */
	if (k == CQW)
		return;
	for (i = 0; i < 2; i++) {
		s->post.cq_mode = KGNI_CQMODE_GLOBAL;
		KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
		KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	}
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), FILLER);
}

/* A message is there with its event or without. */
static void message_without_an_event(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u32 i;

	for (i = 0; i < s->dst->slots; i++)
		KUNIT_ASSERT_TRUE(test, kgni_cq_push(s->dst, FILLER));
	kgt_compose(s, PUT_FLAG);
	s->post.flags = KGNI_POST_SMSG;
	s->post.src_event = kgni_cqe_smsg(5, 7, KGNI_CQE_SMSG);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_cqe_status(kgt_pop(s->src)), KGNI_ST_OK);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), KGNI_CQE_OVERRUN);
}

static const u32 hole_lengths[] = { 100, 256, 300, 8000, 65536, 100000 };

static void hole_desc(const u32 *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes", *n);
}

KUNIT_ARRAY_PARAM(hole, hole_lengths, hole_desc);

/* The last byte of a put's source is not there: nothing is written. */
static void source_with_a_hole(struct kunit *test)
{
	u32 n = *(const u32 *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	unsigned long user = filled_user(test, BIG * PAGE_SIZE, 3);
	unsigned long end = user + (BIG - 1) * PAGE_SIZE;

	make_big(s);
	kgt_mm_begin();
	vm_munmap(end, PAGE_SIZE);
	kgt_mm_end();
	kgt_compose(s, PUT_FLAG);
	s->post.length = n;
	s->post.local_addr = end - n + 1;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, 0, BIG * PAGE_SIZE, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), 0);
	s->post.local_addr--;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
}

KUNIT_ARRAY_PARAM(kgt_amo, kgt_amos, kgt_amo_desc);

static u64 word_at(const struct kgt_mem *m, u64 offset, u8 size)
{
	u64 v = 0;

	memcpy(&v, kgt_at(m, m->base + offset), size);
	return v;
}

/* On an array that lies on both sides of a page's end. */
static void amo(struct kunit *test)
{
	const struct kgt_amo *c = test->param_value;
	const u64 *words = kgt_amo_is_fp(c) ? kgt_amo_numbers : kgt_amo_words;
	const u32 n = kgt_amo_is_fp(c) ? ARRAY_SIZE(kgt_amo_numbers) : ARRAY_SIZE(kgt_amo_words);
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u64 at = PAGE_SIZE - 4 * c->size, local = 2 * PAGE_SIZE - 2 * c->size;
	u64 size = n * c->size;
	u64 mask = c->size == 4 ? U32_MAX : U64_MAX;
	u64 a = 0x80000001f0f0f0f0, b = 0x0123456776543210;
	u32 i;

	/* 100.28444, or 1.0 and other bits above it: most of the sums are not zero. */
	if (kgt_amo_is_fp(c))
		a = c->size == 8 ? 0x4059123456789abc : 0xabcdef013f800000;
	for (i = 0; i < n; i++)
		memcpy(kgt_at(s->remote, s->remote->base + at + i * c->size), &words[i], c->size);
	kgt_compose(s, AMO);
	s->post.amo_cmd = c->code;
	s->post.operand[0] = a;
	s->post.operand[1] = b;
	s->post.length = size;
	s->post.local_addr += local;
	s->post.remote_addr += at;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	for (i = 0; i < n; i++) {
		u64 old = words[i] & mask;

		KUNIT_EXPECT_EQ(test, word_at(s->remote, at + i * c->size, c->size),
				kgt_amo_result(c, old, a, b));
		if (c->fetch)
			KUNIT_EXPECT_EQ(test, word_at(s->local, local + i * c->size, c->size),
					old);
	}
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, 0, at, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, at + size, BYTES, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->local, 0, local, 1), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->local, local + size, BYTES, 1), 0);
	if (!c->fetch)
		KUNIT_EXPECT_EQ(test, kgt_differ(s->local, 0, BYTES, 1), 0);
}

/* To and from its own device. */
static void loopback(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	s->remote = kgt_mem(test, s->f, PAGES, 0, s->src);
	kgt_fill(s->remote, 2);
	kgt_compose(s, k);
	s->post.remote_pe = KGT_PE;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_remote_event(s));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), 0);
}

/* --- threads --------------------------------------------------------------- */

#define ROUNDS	1000

struct poster {
	struct kgt_scene s;
	u32 rounds;
};

static long post_many(void *arg)
{
	struct poster *p = arg;
	long rc = 0;
	u32 i;

	for (i = 0; i < p->rounds && !rc; i++)
		rc = kgni_post(p->s.f->nic, &p->s.post);
	return rc;
}

/* AMOs of several posters on one word, beside the CPU's own. */
static void amos_are_atomic(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	struct poster *p = kunit_kcalloc(test, 3, sizeof(*p), GFP_KERNEL);
	atomic64_t *word = (atomic64_t *)kgt_at(s->remote, s->remote->base + 64);
	struct kgt_thread *t[3];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	atomic64_set(word, 0);
	kgt_compose(s, AMO);
	s->post.src_cq = 0;
	s->post.cq_mode = 0;
	s->post.amo_cmd = GNI_FMA_ATOMIC_ADD;
	s->post.operand[0] = 1;
	s->post.length = 8;
	s->post.remote_addr += 64;
	for (i = 0; i < 3; i++) {
		p[i] = (struct poster) { *s, ROUNDS };
		t[i] = kgt_thread(test, post_many, &p[i]);
	}
	for (i = 0; i < ROUNDS; i++)
		atomic64_add(1000000, word);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic64_read(word), 3 * ROUNDS + 1000000ULL * ROUNDS);
}

static long put_rounds(void *arg)
{
	struct poster *p = arg;
	struct kgt_scene *s = &p->s;
	long rc = 0;
	u64 i;

	kgt_mm_begin();
	for (i = 1; i <= p->rounds && !rc; i++) {
		rc = put_user(i, (u64 __user *)(s->user + LENGTH - 8));
		s->post.sync_value = i;
		if (!rc)
			rc = kgni_post(s->f->nic, &s->post);
	}
	kgt_mm_end();
	return rc;
}

/* Who sees the flag sees the data, and the event after both. */
static void flag_comes_after_data(struct kunit *test)
{
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	struct poster *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u64 *data = (u64 *)kgt_at(s->remote, s->remote->base + LENGTH - 8);
	u64 *flag = (u64 *)kgt_at(s->remote, s->remote->base + FLAG_OFFSET);
	u64 seen, early = 0;
	struct kgt_thread *t;

	KUNIT_ASSERT_NOT_NULL(test, p);
	*data = 0;
	*flag = 0;
	kgt_compose(s, PUT_FLAG);
	*p = (struct poster) { *s, 5 * ROUNDS };
	t = kgt_thread(test, put_rounds, p);
	do {
		seen = smp_load_acquire(flag);	/* pairs with the store of the flag */
		early += READ_ONCE(*data) < seen;
		if (kgt_pop(s->dst) && READ_ONCE(*flag) < seen)
			early++;
	} while (!completion_done(&t->done));
	KUNIT_EXPECT_EQ(test, kgt_join(t), 0);
	KUNIT_EXPECT_EQ(test, early, 0);
	KUNIT_EXPECT_EQ(test, *flag, 5 * ROUNDS);
}

/* A process that is being killed leaves a long transfer at its next piece. */
static void killed_on_the_way(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	u64 piece = k == AMO || k == FETCH ? PAGE_SIZE : KGNI_CHUNK;

	if (BIT(k) & (BIT(RDMA_PUT) | BIT(RDMA_GET) | BIT(CQW) | FLAGGED))
		kunit_skip(test, "carried out by others, or in one piece");
	make_big(s);
	kgt_compose(s, k);
	s->post.length = piece + 4096;
	if (BIT(k) & (BIT(PUT) | BIT(PUT_FLAG)))
		s->post.local_addr = filled_user(test, BIG * PAGE_SIZE, 3);
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	disallow_signal(SIGKILL);
	flush_signals(current);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_ABORTED));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->remote, piece, BIG * PAGE_SIZE, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(s->local, piece, BIG * PAGE_SIZE, 1), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(fails, mistake_gen_params),
	KUNIT_CASE_PARAM(others_do_not_mind, others_gen_params),
	KUNIT_CASE_PARAM(region_that_just_ended, kind_gen_params),
	KUNIT_CASE(region_that_is_gone),
	KUNIT_CASE(queue_that_is_gone),
	KUNIT_CASE_PARAM(events, cq_mode_gen_params),
	KUNIT_CASE_PARAM(events_of_failures, cq_mode_gen_params),
	KUNIT_CASE_PARAM(no_source_queue, kind_gen_params),
	KUNIT_CASE(event_of_ones),
	KUNIT_CASE(events_of_messages),
	KUNIT_CASE_PARAM(get, move_gen_params),
	KUNIT_CASE_PARAM(put, move_gen_params),
	KUNIT_CASE_PARAM(put_with_flag, move_gen_params),
	KUNIT_CASE(empty_put),
	KUNIT_CASE_PARAM(response_with_flag, response_gen_params),
	KUNIT_CASE_PARAM(remote_overrun, kind_gen_params),
	KUNIT_CASE(message_without_an_event),
	KUNIT_CASE_PARAM(source_with_a_hole, hole_gen_params),
	KUNIT_CASE_PARAM(amo, kgt_amo_gen_params),
	KUNIT_CASE_PARAM(loopback, kind_gen_params),
	KUNIT_CASE(amos_are_atomic),
	KUNIT_CASE(flag_comes_after_data),
	KUNIT_CASE_PARAM(killed_on_the_way, kind_gen_params),
	{}
};

static struct kunit_suite fma_suite = {
	.name = "kgni_fma",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(fma_suite);
