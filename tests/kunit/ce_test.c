// SPDX-License-Identifier: GPL-2.0-only
/*
 * The collective engine: what no call shows, such as who waits for whom, what is
 * left when a member ends, and how deep a tree may be.
 */
#include "kgt.h"
#include "../../kernel/ce.c"

#define ONE	0x3ff0000000000000ULL
#define TINY	0x3ca0000000000000ULL

/* An attachment with memory for results. */
struct side {
	struct kgni_file *f;
	struct kgni_nic *nic;
	struct kgni_domain *d;
	struct kgt_mem *mem;
	struct kgni_cq *cq;
};

static struct side side_of(struct kunit *test, struct kgni_device *dev, u32 inst)
{
	struct side s = { .f = kgt_attach(test, dev, inst, KGT_COOKIE, 0) };

	s.nic = s.f->nic;
	s.d = s.nic->job->domain;
	s.mem = kgt_mem(test, s.f, 1, 0, NULL);
	s.cq = kgt_cq(test, s.f, 64, 0);
	return s;
}

static u32 channel(struct kunit *test, struct side *s)
{
	struct kgni_ioc_ce_create arg = { };

	KUNIT_ASSERT_EQ(test, kgni_ce_create(s->nic, &arg), GNI_RC_SUCCESS);
	return arg.id;
}

static struct kgni_ce_edge leaf_edge(const struct side *s, u32 child)
{
	return (struct kgni_ce_edge) { .pe = s->nic->dev->pe, .id = s->nic->inst_id,
				       .child = child, .type = GNI_CE_CHILD_PE };
}

static struct kgni_ce_edge channel_edge(const struct side *s, u32 id, u32 child)
{
	return (struct kgni_ce_edge) { .pe = s->nic->dev->pe, .id = id, .child = child,
				       .type = GNI_CE_CHILD_VCE };
}

/* KGNI_IOC_CE_CONFIGURE without user memory. */
static long place(struct kunit *test, struct side *s, u32 id, const struct kgni_ce_edge *edges,
		  u32 count, const struct kgni_ce_edge *parent)
{
	struct kgni_ioc_ce_configure arg = { .count = count, .id = id };
	struct kgni_ce *new = kunit_kzalloc(test, sizeof(*new), GFP_KERNEL);
	long rc;

	KUNIT_ASSERT_NOT_NULL(test, new);
	if (parent)
		arg.parent = *parent;
	mutex_lock(&s->d->ce_lock);
	rc = kgni_ce_configure_locked(s->nic, &arg, edges, new);
	mutex_unlock(&s->d->ce_lock);
	return rc;
}

static struct kgni_ce *object(const struct side *s, u32 id)
{
	return kgni_ce_find(s->d, s->nic->job, s->nic->dev->pe, id);
}

/* Word 3n to 3n + 2 of a side's memory are for its nth result. */
static u64 *result(const struct side *s, u32 n)
{
	return (u64 *)kgt_at(s->mem, s->mem->base + n * sizeof(gni_ce_result_t));
}

static long give(struct side *s, const struct side *to, u32 ce, u32 child, u32 slot, u64 operand)
{
	struct kgni_ioc_ce_post arg = {
		.cmd = GNI_FMA_CE_FPADD, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .src_cq = s->cq->id,
		.src_event = kgni_cqe_post(0xabcdef, slot + 1), .remote_pe = to->nic->dev->pe,
		.result = s->mem->base + slot * sizeof(gni_ce_result_t), .local = s->mem->handle,
		.red_id = slot, .operand = { operand }, .ce = ce, .child = child,
	};

	memset(result(s, slot), 0, sizeof(gni_ce_result_t));
	return kgni_ce_post(s->nic, &arg);
}

static void expect_event(struct kunit *test, const struct side *s, u32 slot,
			 enum kgni_cqe_status status)
{
	u64 src = kgni_cqe_post(0xabcdef, slot + 1);

	KUNIT_EXPECT_EQ(test, kgt_pop(s->cq), kgni_cqe_done(src, KGNI_CQE_FMA, status));
	KUNIT_EXPECT_EQ(test, kgni_ce_status(*result(s, slot)), status);
	KUNIT_EXPECT_EQ(test, kgni_ce_red_id(*result(s, slot)), slot);
	KUNIT_EXPECT_EQ(test, atomic_read(&s->cq->owed), 0);
}

static void expect_pending(struct kunit *test, const struct side *s, u32 slot)
{
	KUNIT_EXPECT_EQ(test, kgt_pop(s->cq), 0);
	KUNIT_EXPECT_EQ(test, *result(s, slot), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&s->cq->owed), 0);
}

static void expect_idle(struct kunit *test, const struct side *s)
{
	struct kgni_ce *ce;
	int i;

	KUNIT_EXPECT_TRUE(test, list_empty(&s->d->ce_over));
	list_for_each_entry(ce, &s->d->ces, node) {
		KUNIT_EXPECT_TRUE(test, list_empty(&ce->reds));
		KUNIT_EXPECT_EQ(test, ce->count, 0);
		for (i = 0; i < KGNI_CE_CHILDREN; i++)
			KUNIT_EXPECT_EQ(test, ce->child[i].pending, 0);
	}
}

/* --- order ------------------------------------------------------------------------- */

static const u8 orders[][3] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* 1 and two halves of its last place: added to the 1 one by one they vanish. */
static void order_of_children(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct side s = side_of(test, dev, 1);
	static const u64 operand[3] = { TINY, ONE, TINY };
	static const u8 number[2][3] = { { 4, 2, 9 }, { 4, 30, 9 } };
	struct kgni_ce_edge edges[3];
	u32 id = channel(test, &s), i, j, turn;

	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < 3; i++)
			edges[i] = leaf_edge(&s, number[turn][i]);
		KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 3, NULL), GNI_RC_SUCCESS);
		for (i = 0; i < ARRAY_SIZE(orders); i++) {
			for (j = 0; j < 3; j++) {
				u32 who = orders[i][j];

				KUNIT_EXPECT_EQ(test, give(&s, &s, id, number[turn][who], 5,
							   operand[who]), GNI_RC_SUCCESS);
			}
			KUNIT_EXPECT_EQ(test, result(&s, 5)[1], turn ? ONE + 1 : ONE);
			while (kgt_pop(s.cq))
				;
		}
	}
	expect_idle(test, &s);
}

/* --- depth ------------------------------------------------------------------------- */

#define DEEP	8	/* devices, with all channels that a job has on each */

/* A tree as deep as that would overflow the stack of whoever walks it by calls. */
static void depth(struct kunit *test)
{
	const u32 all = DEEP * KGNI_CE_CHANNELS;
	struct kgni_ce_edge child, parent;
	struct side *s;
	u32 i, n;

	s = kunit_kcalloc(test, DEEP, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < DEEP; i++)
		s[i] = side_of(test, kgt_device(test, KGT_PE + i), 1);
	for (n = 0; n < all; n++)
		KUNIT_ASSERT_EQ(test, channel(test, &s[n / KGNI_CE_CHANNELS]),
				n % KGNI_CE_CHANNELS);
	/* From the root, 0, down. */
	for (n = 0; n < all; n++) {
		child = n + 1 < all ? channel_edge(&s[(n + 1) / KGNI_CE_CHANNELS],
						   (n + 1) % KGNI_CE_CHANNELS, 7) :
				      leaf_edge(&s[DEEP - 1], 7);
		if (n)
			parent = channel_edge(&s[(n - 1) / KGNI_CE_CHANNELS],
					      (n - 1) % KGNI_CE_CHANNELS, 7);
		KUNIT_ASSERT_EQ(test, place(test, &s[n / KGNI_CE_CHANNELS], n % KGNI_CE_CHANNELS,
					    &child, 1, n ? &parent : NULL), GNI_RC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, give(&s[DEEP - 1], &s[DEEP - 1], KGNI_CE_CHANNELS - 1, 7, 3, ONE),
			GNI_RC_SUCCESS);
	expect_event(test, &s[DEEP - 1], 3, KGNI_ST_OK);
	KUNIT_EXPECT_EQ(test, result(&s[DEEP - 1], 3)[1], ONE);
	/* One that breaks breaks them all. */
	KUNIT_EXPECT_EQ(test, kgni_ce_destroy(s[DEEP / 2].nic, 1), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, object(&s[0], 0)->broken, KGNI_ST_CE_MEMBER);
	KUNIT_EXPECT_EQ(test, give(&s[DEEP - 1], &s[DEEP - 1], KGNI_CE_CHANNELS - 1, 7, 4, ONE),
			GNI_RC_SUCCESS);
	expect_event(test, &s[DEEP - 1], 4, KGNI_ST_CE_MEMBER);
	expect_idle(test, &s[0]);
}

/* Channels that name each other as children: nothing comes of it, for ever. */
static void circle(struct kunit *test)
{
	struct side s = side_of(test, kgt_device(test, KGT_PE), 1);
	struct kgni_ce_edge edges[2], up;
	u32 a = channel(test, &s), b = channel(test, &s);

	edges[0] = channel_edge(&s, b, 0);
	edges[1] = leaf_edge(&s, 1);
	up = channel_edge(&s, b, 0);
	KUNIT_ASSERT_EQ(test, place(test, &s, a, edges, 2, &up), GNI_RC_SUCCESS);
	edges[0] = channel_edge(&s, a, 0);
	up = channel_edge(&s, a, 0);
	KUNIT_ASSERT_EQ(test, place(test, &s, b, edges, 1, &up), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, a, 1, 0, ONE), GNI_RC_SUCCESS);
	expect_pending(test, &s, 0);
	KUNIT_EXPECT_EQ(test, kgni_ce_destroy(s.nic, b), GNI_RC_SUCCESS);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
	expect_idle(test, &s);
}

/* One's own parent is nobody: the part is refused, and the rest of that tree goes on. */
static void not_my_child(struct kunit *test)
{
	struct side s = side_of(test, kgt_device(test, KGT_PE), 1);
	struct kgni_ce_edge edge = leaf_edge(&s, 0), up;
	u32 a = channel(test, &s), b = channel(test, &s);

	KUNIT_ASSERT_EQ(test, place(test, &s, a, &edge, 1, NULL), GNI_RC_SUCCESS);
	up = channel_edge(&s, a, 5);
	KUNIT_ASSERT_EQ(test, place(test, &s, b, &edge, 1, &up), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, b, 0, 0, ONE), GNI_RC_SUCCESS);
	expect_event(test, &s, 0, KGNI_ST_NO_CE);
	KUNIT_EXPECT_EQ(test, give(&s, &s, a, 0, 1, ONE), GNI_RC_SUCCESS);
	expect_event(test, &s, 1, KGNI_ST_OK);
	expect_idle(test, &s);
}

/* No channel has so many children. */
static void no_such_child(struct kunit *test)
{
	static const u32 children[] = { KGNI_CE_CHILDREN, 64, U32_MAX };
	struct side s = side_of(test, kgt_device(test, KGT_PE), 1);
	struct kgni_ce_edge edge = leaf_edge(&s, 0);
	u32 a = channel(test, &s);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, place(test, &s, a, &edge, 1, NULL), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		KUNIT_EXPECT_EQ(test, give(&s, &s, a, children[i], i, ONE), GNI_RC_SUCCESS);
		expect_event(test, &s, i, KGNI_ST_NO_CE);
	}
	expect_idle(test, &s);
}

/* --- members that are not there ------------------------------------------------------ */

static void check_late(struct side *s, unsigned long now)
{
	mutex_lock(&s->d->ce_lock);
	kgni_ce_check_all(s->d, now);
	kgni_ce_deliver(s->d);
	mutex_unlock(&s->d->ce_lock);
}

static void late_leaf(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct side s = side_of(test, dev, 1);
	struct kgni_ce_edge edges[2] = { leaf_edge(&s, 0), leaf_edge(&s, 1) };
	u32 id = channel(test, &s);
	struct kgni_ce *ce;

	edges[1].id = 77;
	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 2, NULL), GNI_RC_SUCCESS);
	ce = object(&s, id);
	KUNIT_EXPECT_FALSE(test, ce->misses);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 0, ONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, ce->misses);
	check_late(&s, ce->deadline - 1);
	expect_pending(test, &s, 0);
	check_late(&s, ce->deadline);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
	KUNIT_EXPECT_FALSE(test, ce->misses);
	/* One that is there may take its time. */
	kgt_attach(test, dev, 77, KGT_COOKIE, 0);
	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 2, NULL), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 1, ONE), GNI_RC_SUCCESS);
	check_late(&s, ce->deadline);
	expect_pending(test, &s, 1);
	KUNIT_EXPECT_EQ(test, kgni_ce_destroy(s.nic, id), GNI_RC_SUCCESS);
	expect_event(test, &s, 1, KGNI_ST_CE_MEMBER);
}

static void late_channel(struct kunit *test)
{
	struct side s = side_of(test, kgt_device(test, KGT_PE), 1);
	u32 id = channel(test, &s);
	struct kgni_ce_edge edges[2] = { leaf_edge(&s, 0), channel_edge(&s, id + 1, 1) };
	struct kgni_ce *ce;

	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 2, NULL), GNI_RC_SUCCESS);
	ce = object(&s, id);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 0, ONE), GNI_RC_SUCCESS);
	check_late(&s, ce->deadline);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
}

/* --- members that end ------------------------------------------------------------------ */

static void closed_by_name(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct side s = side_of(test, dev, 1), t = side_of(test, dev, 2);
	struct kgni_file *twin = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_ce_edge edges[2] = { leaf_edge(&s, 0), leaf_edge(&t, 1) };
	u32 id = channel(test, &s);

	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 2, NULL), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 0, ONE), GNI_RC_SUCCESS);
	/* Either may be the one that is meant. */
	kgt_close(twin);
	expect_pending(test, &s, 0);
	kgt_close(t.f);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
	expect_idle(test, &s);
}

static void closed_after_post(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct side s = side_of(test, dev, 1), t = side_of(test, dev, 2);
	struct kgni_ce_edge edges[3] = { leaf_edge(&s, 0), leaf_edge(&t, 1), leaf_edge(&s, 2) };
	u32 id = channel(test, &s);

	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 3, NULL), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 0, ONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&t, &s, id, 1, 0, ONE), GNI_RC_SUCCESS);
	kgt_close(t.f);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
	KUNIT_EXPECT_PTR_EQ(test, object(&s, id)->child[1].nic, NULL);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 2, 1, ONE), GNI_RC_SUCCESS);
	expect_event(test, &s, 1, KGNI_ST_CE_MEMBER);
	expect_idle(test, &s);
}

static void device_deleted(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *other = kgt_device(test, KGT_PE + 1);
	struct side s = side_of(test, dev, 1), t = side_of(test, other, 2);
	struct kgni_ce_edge edges[2] = { leaf_edge(&s, 0), leaf_edge(&t, 1) };
	u32 id = channel(test, &s);

	KUNIT_ASSERT_EQ(test, place(test, &s, id, edges, 2, NULL), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, id, 0, 0, ONE), GNI_RC_SUCCESS);
	WRITE_ONCE(other->gone, true);
	kgni_ce_gone(t.nic);
	expect_event(test, &s, 0, KGNI_ST_CE_MEMBER);
	KUNIT_EXPECT_EQ(test, give(&t, &s, id, 1, 0, ONE), GNI_RC_SUCCESS);
	expect_event(test, &t, 0, KGNI_ST_UNREACHABLE);
	WRITE_ONCE(other->gone, false);
}

/* --- devices that stand still ------------------------------------------------------------ */

static bool settled(struct side *s)
{
	flush_delayed_work(&s->d->ce_work);
	return true;
}

static void stands_still(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *other = kgt_device(test, KGT_PE + 1);
	struct side s = side_of(test, dev, 1), t = side_of(test, other, 2);
	u32 top = channel(test, &s), below = channel(test, &t);
	struct kgni_ce_edge up = channel_edge(&s, top, 1);
	struct kgni_ce_edge edges[2] = { leaf_edge(&s, 0), channel_edge(&t, below, 1) };
	struct kgni_ce_edge last = leaf_edge(&t, 0);

	KUNIT_ASSERT_EQ(test, place(test, &s, top, edges, 2, NULL), GNI_RC_SUCCESS);
	KUNIT_ASSERT_EQ(test, place(test, &t, below, &last, 1, &up), GNI_RC_SUCCESS);
	/* A sum waits at its channel. */
	KUNIT_ASSERT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&t, &t, below, 0, 0, ONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, list_empty(&object(&t, below)->reds));
	KUNIT_EXPECT_TRUE(test, list_empty(&object(&s, top)->reds));
	KUNIT_ASSERT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, settled(&t));
	KUNIT_EXPECT_TRUE(test, list_empty(&object(&t, below)->reds));
	KUNIT_EXPECT_FALSE(test, list_empty(&object(&s, top)->reds));
	/* A result waits for all. */
	KUNIT_ASSERT_EQ(test, kgni_device_quiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, top, 0, 0, ONE), GNI_RC_SUCCESS);
	expect_pending(test, &s, 0);
	expect_pending(test, &t, 0);
	KUNIT_ASSERT_EQ(test, kgni_device_unquiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, settled(&t));
	expect_event(test, &s, 0, KGNI_ST_OK);
	expect_event(test, &t, 0, KGNI_ST_OK);
	KUNIT_EXPECT_EQ(test, result(&t, 0)[1], 0x4000000000000000ULL);
	/* Who ends meanwhile is told nothing, and nobody waits for it. */
	KUNIT_EXPECT_EQ(test, give(&t, &t, below, 0, 1, ONE), GNI_RC_SUCCESS);
	KUNIT_ASSERT_EQ(test, kgni_device_quiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, top, 0, 1, ONE), GNI_RC_SUCCESS);
	expect_pending(test, &s, 1);
	kgt_close(t.f);
	expect_event(test, &s, 1, KGNI_ST_OK);
	KUNIT_ASSERT_EQ(test, kgni_device_unquiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, settled(&s));
	expect_idle(test, &s);
}

/* A channel waits for the one above to be configured. */
static void root_later(struct kunit *test)
{
	struct side s = side_of(test, kgt_device(test, KGT_PE), 1);
	u32 top = channel(test, &s), below = channel(test, &s);
	struct kgni_ce_edge up = channel_edge(&s, top, 9), leaf = leaf_edge(&s, 0);
	struct kgni_ce_edge down = channel_edge(&s, below, 9);

	KUNIT_ASSERT_EQ(test, place(test, &s, below, &leaf, 1, &up), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, give(&s, &s, below, 0, 0, ONE), GNI_RC_SUCCESS);
	expect_pending(test, &s, 0);
	KUNIT_ASSERT_EQ(test, place(test, &s, top, &down, 1, NULL), GNI_RC_SUCCESS);
	expect_event(test, &s, 0, KGNI_ST_OK);
	expect_idle(test, &s);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(order_of_children),
	KUNIT_CASE(depth),
	KUNIT_CASE(circle),
	KUNIT_CASE(not_my_child),
	KUNIT_CASE(no_such_child),
	KUNIT_CASE(late_leaf),
	KUNIT_CASE(late_channel),
	KUNIT_CASE(closed_by_name),
	KUNIT_CASE(closed_after_post),
	KUNIT_CASE(device_deleted),
	KUNIT_CASE(stands_still),
	KUNIT_CASE(root_later),
	{}
};

static struct kunit_suite ce_suite = {
	.name = "kgni_ce",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(ce_suite);
