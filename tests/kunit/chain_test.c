// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of posts: all is checked before anything is done, then all is done in
 * order, and one event tells of it.
 */
#include <linux/mman.h>

#include "kgt_scene.h"

#define P	PAGE_SIZE
/* The array ends with a page's end, behind which nothing is. */
#define ARRAY	(3 * P)

struct chain {
	struct kgt_scene *s;
	unsigned long end;		/* of user memory */
	struct kgni_ioc_post post[8];
	struct kgni_ioc_post_chain arg;
};

static struct chain *chain(struct kunit *test, u32 how)
{
	struct chain *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->s = kgt_scene(test, how, 0, 0);
	c->end = kgt_user(test, ARRAY + P, PROT_READ | PROT_WRITE) + ARRAY;
	kgt_unmap(c->end, P);
	return c;
}

/* One more element, on its own bytes at the target; only the first has source events. */
static struct kgni_ioc_post *add(struct chain *c, enum kind k)
{
	struct kgni_ioc_post *p = &c->post[c->arg.count];

	kgt_compose(c->s, k);
	*p = c->s->post;
	p->remote_addr += c->arg.count * 2 * LENGTH;
	if (c->arg.count)
		p->src_cq = 0;
	c->arg.count++;
	return p;
}

/* Put the elements where user memory ends, and post them. */
static long post_chain(struct chain *c)
{
	size_t size = min_t(size_t, c->arg.count, ARRAY_SIZE(c->post)) * sizeof(*c->post);
	long rc = -EIO;

	c->arg.posts = c->end - size;
	kgt_mm_begin();
	if (!copy_to_user((void __user *)(c->end - size), c->post, size))
		rc = kgni_post_chain(c->s->f->nic, &c->arg);
	kgt_mm_end();
	return rc;
}

static u64 event_of(const struct kgni_ioc_post *p)
{
	return kgni_cqe_remote(p->type == KGNI_POST_CQWRITE ? CQWRITE : REMOTE_EVENT, p->type,
			       KGNI_CQE_POST);
}

/* How many bytes of an element's place at the target are not what they were. */
static u64 changed(const struct chain *c, u32 i)
{
	return kgt_differ(c->s->remote, i * 2 * LENGTH, (i + 1) * 2 * LENGTH, 2);
}

static const enum kind in_chains[] = { PUT, FETCH, CQW, GET, AMO, PUT_FLAG, GET_FLAG, FETCH_FLAG };

static void one_event_for_all(struct kunit *test)
{
	struct chain *c = chain(test, 0);
	struct kgt_scene *s = c->s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(in_chains); i++)
		add(c, in_chains[i]);
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(in_chains); i++) {
		KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), event_of(&c->post[i]));
		KUNIT_EXPECT_EQ(test, !!changed(c, i), !!(BIT(in_chains[i]) & WRITES));
	}
	s->post = c->post[0];
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), 0);
	KUNIT_EXPECT_EQ(test, *(u64 *)kgt_at(s->remote, s->remote->base + FLAG_OFFSET), FLAG);
	kgt_expect_released(s);
}

/* Each finds what those before it left. */
static void in_order(struct kunit *test)
{
	struct chain *c = chain(test, DUAL);
	u64 *word = (u64 *)kgt_at(c->s->remote, c->s->remote->base);
	u64 *got = (u64 *)kgt_at(c->s->local, c->s->local->base);
	struct kgni_ioc_post *p;
	u32 i;

	*word = 5;
	for (i = 0; i < 8; i++) {
		p = add(c, FETCH);
		p->amo_cmd = i & 1 ? GNI_FMA_ATOMIC_FXOR : GNI_FMA_ATOMIC_FADD;
		p->operand[0] = i & 1 ? 0xff : 3;
		p->length = 8;
		p->local_addr += 8 * i;
		p->remote_addr = c->s->remote->base;
		p->cq_mode = i ? 0 : KGNI_CQMODE_LOCAL | KGNI_CQMODE_GLOBAL;
	}
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_EQ(test, got[i + 1], i & 1 ? got[i] ^ 0xff : got[i] + 3);
	KUNIT_EXPECT_EQ(test, got[0], 5);
	KUNIT_EXPECT_EQ(test, *word, got[7] ^ 0xff);
	c->s->post = c->post[0];
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src),
			kgt_source_event(c->s, KGNI_ST_OK) | KGNI_CQE_LOCAL);
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), kgt_source_event(c->s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), 0);
}

/* What is wrong with one of three elements. */
static const struct flaw {
	const char *name;
	enum kind kind;
	long rc;
	size_t at;
	u8 size;
	u64 value;
	bool not_first;
} flaws[] = {
#define SET(field, v)	.at = offsetof(struct kgni_ioc_post, field), .value = (v), \
	.size = sizeof_field(struct kgni_ioc_post, field)
	{ "reserved field", PUT, -EINVAL, SET(reserved, 1) },
	{ "unknown flag", PUT, -EINVAL, SET(flags, KGNI_POST_FLAGS + 1) },
	{ "type 0", PUT, GNI_RC_INVALID_PARAM, SET(type, 0) },
	{ "RDMA put", RDMA_PUT, GNI_RC_INVALID_PARAM, SET(reserved, 0) },
	{ "RDMA get", RDMA_GET, GNI_RC_INVALID_PARAM, SET(reserved, 0) },
	{ "two events", PUT, GNI_RC_INVALID_PARAM, SET(cq_mode, 3) },
	{ "a queue that is not", PUT, GNI_RC_INVALID_PARAM, SET(src_cq, 99) },
	{ "a queue of its own", PUT, GNI_RC_INVALID_PARAM, SET(src_cq, 1), .not_first = true },
	{ "empty get", GET, GNI_RC_INVALID_PARAM, SET(length, 0) },
	{ "odd get", GET, GNI_RC_ALIGNMENT_ERROR, SET(length, 62) },
	{ "no local handle", GET, GNI_RC_INVALID_PARAM, SET(local.qword1, 0) },
	{ "unknown command", AMO, GNI_RC_INVALID_PARAM, SET(amo_cmd, 0x40) },
	{ "source that is not there", PUT, GNI_RC_INVALID_PARAM, SET(local_addr, 0x1000) },
	{ "source of the kernel", PUT_FLAG, GNI_RC_INVALID_PARAM,
	  SET(local_addr, 0xffff888000000000) },
#undef SET
};

static void flaw_desc(const struct flaw *f, char *desc)
{
	strscpy(desc, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(flaw, flaws, flaw_desc);

/* Wherever it is, nothing of the chain is done. */
static void one_flaw_spoils_all(struct kunit *test)
{
	const struct flaw *f = test->param_value;
	struct chain *c = chain(test, 0);
	u32 i, bad;

	for (bad = f->not_first; bad < 3; bad++) {
		c->arg.count = 0;
		for (i = 0; i < 3; i++)
			add(c, i == bad ? f->kind : PUT);
		memcpy((char *)&c->post[bad] + f->at, &f->value, f->size);
		KUNIT_EXPECT_EQ_MSG(test, post_chain(c), f->rc, "element %u", bad);
		kgt_expect_untouched(c->s, f->name);
	}
	kgt_expect_released(c->s);
}

static void bad_chains(struct kunit *test)
{
	struct chain *c = chain(test, 0);

	add(c, PUT);
	add(c, PUT);
	c->arg.reserved = 1;
	KUNIT_EXPECT_EQ(test, post_chain(c), -EINVAL);
	c->arg.reserved = 0;
	c->arg.count = 0;
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_INVALID_PARAM);
	c->arg.count = KGNI_CHAIN_MAX + 1;
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_INVALID_PARAM);
	/* Elements that are not there: the last alone, and all. */
	c->arg.count = 2;
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	kgt_pop(c->s->src);
	kgt_pop(c->s->dst);
	kgt_pop(c->s->dst);
	kgt_fill(c->s->remote, 2);
	c->arg.posts += sizeof(c->post[0]);
	kgt_mm_begin();
	KUNIT_EXPECT_EQ(test, kgni_post_chain(c->s->f->nic, &c->arg), -EFAULT);
	c->arg.posts = 0;
	KUNIT_EXPECT_EQ(test, kgni_post_chain(c->s->f->nic, &c->arg), -EFAULT);
	kgt_mm_end();
	kgt_expect_untouched(c->s, "bad chains");
	kgt_expect_released(c->s);
}

/* The first failure is the chain's, and does not stop the rest. */
static void failures_at_the_target(struct kunit *test)
{
	struct chain *c = chain(test, 0);
	u64 refused;
	u32 i;

	for (i = 0; i < 5; i++)
		add(c, PUT);
	c->post[1].remote_addr = c->s->remote->base + BYTES;
	c->post[3].remote_pe = 7;
	refused = atomic64_read(&c->s->f->dev->refused[KGNI_REFUSED_MEMORY]);
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	c->s->post = c->post[0];
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), kgt_source_event(c->s, KGNI_ST_BOUNDS));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), 0);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, !!changed(c, i), !(i & 1));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, kgt_pop(c->s->dst), event_of(&c->post[0]));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->dst), 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&c->s->f->dev->refused[KGNI_REFUSED_MEMORY]),
			refused + 2);
	kgt_expect_released(c->s);
}

/* A remote event that found no room is such a failure. */
static void remote_overrun(struct kunit *test)
{
	struct chain *c = chain(test, 0);
	u32 i;

	for (i = 1; i < c->s->dst->slots; i++)
		KUNIT_ASSERT_TRUE(test, kgni_cq_push(c->s->dst, event_of(&c->s->post) | 1));
	for (i = 0; i < 3; i++)
		add(c, PUT);
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	c->s->post = c->post[0];
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), kgt_source_event(c->s, KGNI_ST_REM_OVERRUN));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_NE(test, changed(c, i), 0);
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->dst), KGNI_CQE_OVERRUN);
}

static void no_source_queue(struct kunit *test)
{
	struct chain *c = chain(test, 0);

	add(c, PUT)->src_cq = 0;
	add(c, AMO);
	KUNIT_EXPECT_EQ(test, post_chain(c), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->dst), event_of(&c->post[0]));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->dst), event_of(&c->post[1]));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), 0);
}

/* As long as it may be, one AMO as often. */
static void longest(struct kunit *test)
{
	struct chain *c = chain(test, 0);
	u64 *word = (u64 *)kgt_at(c->s->remote, c->s->remote->base);
	unsigned long user = kgt_user(test, KGNI_CHAIN_MAX * sizeof(c->post[0]),
				      PROT_READ | PROT_WRITE);
	u32 i, left = 0;
	long rc;

	add(c, AMO);
	c->post[0].amo_cmd = GNI_FMA_ATOMIC_ADD;
	c->post[0].operand[0] = 1;
	c->post[0].length = 8;
	c->post[0].cq_mode = KGNI_CQMODE_GLOBAL;
	c->arg = (struct kgni_ioc_post_chain) { .posts = user, .count = KGNI_CHAIN_MAX };
	*word = 0;
	kgt_mm_begin();
	for (i = 0; i < KGNI_CHAIN_MAX; i++) {
		c->post[0].src_cq = i ? 0 : c->s->src->id;
		left += copy_to_user((void __user *)user + i * sizeof(c->post[0]), c->post,
				     sizeof(c->post[0]));
	}
	rc = kgni_post_chain(c->s->f->nic, &c->arg);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, left, 0);
	KUNIT_EXPECT_EQ(test, rc, GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, *word, KGNI_CHAIN_MAX);
	c->s->post = c->post[0];
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), kgt_source_event(c->s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(c->s->src), 0);
	kgt_expect_released(c->s);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_event_for_all),
	KUNIT_CASE(in_order),
	KUNIT_CASE_PARAM(one_flaw_spoils_all, flaw_gen_params),
	KUNIT_CASE(bad_chains),
	KUNIT_CASE(failures_at_the_target),
	KUNIT_CASE(remote_overrun),
	KUNIT_CASE(no_source_queue),
	KUNIT_CASE(longest),
	{}
};

static struct kunit_suite chain_suite = {
	.name = "kgni_chain",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(chain_suite);
