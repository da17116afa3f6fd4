// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way to another NIC, broken as tests break it: what is lost before it has an
 * effect, and what after.
 */
#include "kgt_scene.h"
#include "../../kernel/link.c"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

/* The next @times transfers are lost, or their answers. */
static void lose(struct fault_attr *attr, int times)
{
	atomic_set(&attr->times, times);
	attr->interval = 1;
	attr->verbose = 0;
	attr->probability = times ? 100 : 0;
}

static void link_heals(struct kunit *test)
{
	lose(&kgni_fail_link, 0);
	lose(&kgni_fail_link_ack, 0);
}

KUNIT_ARRAY_PARAM(kind, kgt_each_kind, kgt_kind_desc);

static void asked_so_often(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kgni_link_lost());
	lose(&kgni_fail_link, 2);
	KUNIT_EXPECT_FALSE(test, kgni_link_ack_lost());
	KUNIT_EXPECT_TRUE(test, kgni_link_lost());
	KUNIT_EXPECT_TRUE(test, kgni_link_lost());
	KUNIT_EXPECT_FALSE(test, kgni_link_lost());
	lose(&kgni_fail_link_ack, 1);
	KUNIT_EXPECT_FALSE(test, kgni_link_lost());
	KUNIT_EXPECT_TRUE(test, kgni_link_ack_lost());
	KUNIT_EXPECT_FALSE(test, kgni_link_ack_lost());
}

/* A counter of faults that belongs to another test is left alone. */
static void off_counts_nothing(struct kunit *test)
{
	current->fail_nth = 1;
	KUNIT_EXPECT_FALSE(test, kgni_link_lost());
	KUNIT_EXPECT_FALSE(test, kgni_link_ack_lost());
	KUNIT_EXPECT_EQ(test, current->fail_nth, 1);
	current->fail_nth = 0;
}

static void post_that_is_lost(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	kgt_compose(s, k);
	lose(&kgni_fail_link, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_LINK));
	kgt_expect_untouched(s, kgt_kinds[k].name);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	kgt_expect_released(s);
}

static void answer_that_is_lost(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	kgt_compose(s, k);
	lose(&kgni_fail_link_ack, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_LINK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->dst), kgt_remote_event(s));
	KUNIT_EXPECT_EQ(test, !!kgt_differ(s->remote, 0, BYTES, 2), !!(BIT(k) & WRITES));
	kgt_expect_released(s);
}

/* Who asks for it is told at once, for what is done at once. */
static void report(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);
	long want = BIT(k) & (BIT(RDMA_PUT) | BIT(RDMA_GET)) ? GNI_RC_SUCCESS :
							       GNI_RC_TRANSACTION_ERROR;

	kgt_compose(s, k);
	s->post.flags = KGNI_POST_REPORT;
	lose(&kgni_fail_link, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), want);
	lose(&kgni_fail_link_ack, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), want);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_LINK));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_LINK));
	/* Other failures are told by the event alone. */
	s->post.remote_pe = 7;
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_UNREACHABLE));
}

/* On one NIC there is no way that could break. */
static void no_way_no_loss(struct kunit *test)
{
	enum kind k = *(const enum kind *)test->param_value;
	struct kgt_scene *s = kgt_scene(test, 0, 0, 0);

	s->remote = kgt_mem(test, s->f, PAGES, 0, s->src);
	kgt_compose(s, k);
	s->post.remote_pe = KGT_PE;
	lose(&kgni_fail_link, 1);
	lose(&kgni_fail_link_ack, 1);
	KUNIT_EXPECT_EQ(test, kgt_run(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_remote_event(s));
	KUNIT_EXPECT_EQ(test, kgt_pop(s->src), kgt_source_event(s, KGNI_ST_OK));
	KUNIT_EXPECT_EQ(test, atomic_read(&kgni_fail_link.times), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&kgni_fail_link_ack.times), 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(asked_so_often),
	KUNIT_CASE(off_counts_nothing),
	KUNIT_CASE_PARAM(post_that_is_lost, kind_gen_params),
	KUNIT_CASE_PARAM(answer_that_is_lost, kind_gen_params),
	KUNIT_CASE_PARAM(report, kind_gen_params),
	KUNIT_CASE_PARAM(no_way_no_loss, kind_gen_params),
	{}
};

static struct kunit_suite link_suite = {
	.name = "kgni_link",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.exit = link_heals,
	.test_cases = cases,
};

kunit_test_suite(link_suite);

#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */
