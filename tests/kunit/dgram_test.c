// SPDX-License-Identifier: GPL-2.0-only
/* Datagrams: who meets whom, in which order, and what becomes of the others. */
#include <linux/sched/signal.h>

#include "kgt.h"
#include "../../kernel/dgram.c"

#define A	1	/* instance ids */
#define B	2
#define C	3

/* --- calls ----------------------------------------------------------------- */

static struct kgni_ioc_dgram_post letter(u32 ep, const char *text)
{
	struct kgni_ioc_dgram_post arg = { .ep = ep, .buf_size = KGNI_DGRAM_MAX };

	arg.length = strlen(text);
	memcpy(arg.data, text, arg.length);
	return arg;
}

static long post_bound(struct kgni_file *f, u32 ep, u32 pe, u32 id, const char *text)
{
	struct kgni_ioc_dgram_post arg = letter(ep, text);

	arg.flags = KGNI_DGRAM_BOUND;
	arg.remote_pe = pe;
	arg.remote_id = id;
	return kgni_dgram_post(f->nic, &arg);
}

static long post_wild(struct kgni_file *f, u32 ep, const char *text)
{
	struct kgni_ioc_dgram_post arg = letter(ep, text);

	return kgni_dgram_post(f->nic, &arg);
}

static long post_with_id(struct kgni_file *f, u32 ep, u64 id)
{
	struct kgni_ioc_dgram_post arg = letter(ep, "named");

	arg.flags = KGNI_DGRAM_WITH_ID;
	arg.id = id;
	return kgni_dgram_post(f->nic, &arg);
}

/* KGNI_IOC_DGRAM_TEST and KGNI_IOC_DGRAM_PROBE of a caller that has its answer. */
static long told_test(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg)
{
	struct kgni_dgram *taken;
	long rc = kgni_dgram_test(nic, arg, &taken);

	if (taken)
		kgni_dgram_told(nic, taken, true);
	return rc;
}

static long told_probe(struct kgni_nic *nic, struct kgni_ioc_dgram_probe *arg)
{
	struct kgni_dgram *taken;
	long rc = kgni_dgram_probe(nic, arg, &taken);

	if (taken)
		kgni_dgram_told(nic, taken, true);
	return rc;
}

static long test_ep(struct kgni_file *f, u32 ep, struct kgni_ioc_dgram_test *arg)
{
	*arg = (struct kgni_ioc_dgram_test) { .ep = ep, .state = 77 };
	return told_test(f->nic, arg);
}

static long cancel(struct kgni_file *f, u32 ep, u32 flags)
{
	struct kgni_ioc_dgram_cancel arg = { .ep = ep, .flags = flags };

	return kgni_dgram_cancel(f->nic, &arg);
}

static long probe(struct kgni_file *f, u32 flags, struct kgni_ioc_dgram_probe *arg)
{
	*arg = (struct kgni_ioc_dgram_probe) { .flags = flags, .remote_id = 77 };
	return told_probe(f->nic, arg);
}

/* The datagram of an endpoint waits for its peer. */
static void expect_pending(struct kunit *test, struct kgni_file *f, u32 ep)
{
	struct kgni_ioc_dgram_test t;

	KUNIT_EXPECT_EQ(test, test_ep(f, ep, &t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t.state, GNI_POST_PENDING);
}

/* It met a peer who said that; asking is its end. */
static void expect_met(struct kunit *test, struct kgni_file *f, u32 ep, u32 pe, u32 id,
		       const char *text)
{
	struct kgni_ioc_dgram_test t;

	KUNIT_EXPECT_EQ(test, test_ep(f, ep, &t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t.state, GNI_POST_COMPLETED);
	KUNIT_EXPECT_EQ(test, t.remote_pe, pe);
	KUNIT_EXPECT_EQ(test, t.remote_id, id);
	KUNIT_EXPECT_EQ(test, t.length, strlen(text));
	KUNIT_EXPECT_EQ(test, memcmp(t.data, text, strlen(text)), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(t.data + t.length, 0, sizeof(t.data) - t.length));
	KUNIT_EXPECT_EQ(test, test_ep(f, ep, &t), GNI_RC_NO_MATCH);
}

static void expect_none(struct kunit *test, struct kgni_file *f, u32 ep)
{
	struct kgni_ioc_dgram_test t;

	KUNIT_EXPECT_EQ(test, test_ep(f, ep, &t), GNI_RC_NO_MATCH);
}

/* --- who meets whom -------------------------------------------------------- */

/*
 * Two attachments, A of the first device and B of the first or second, and what
 * each posts. They meet or do not, whoever posts first.
 */
enum want { WILD, RIGHT, WRONG_ID, WRONG_PE, NOWHERE };

static const struct meeting {
	const char *name;
	enum want a, b;
	bool meet;
	bool one_device, other_cookie, own_ptags;
} meetings[] = {
	{ "bound and bound", RIGHT, RIGHT, true },
	{ "bound and wildcard", RIGHT, WILD, true },
	{ "wildcard and bound", WILD, RIGHT, true },
	{ "wildcard and wildcard", WILD, WILD, false },
	{ "bound to another id, bound", WRONG_ID, RIGHT, false },
	{ "bound, bound to another id", RIGHT, WRONG_ID, false },
	{ "bound to another id, wildcard", WRONG_ID, WILD, false },
	{ "wildcard, bound to another id", WILD, WRONG_ID, false },
	{ "bound to another PE, bound", WRONG_PE, RIGHT, false },
	{ "bound to another PE, wildcard", WRONG_PE, WILD, false },
	{ "bound to no PE, wildcard", NOWHERE, WILD, false },
	{ "one device, bound and bound", RIGHT, RIGHT, true, .one_device = true },
	{ "one device, bound and wildcard", RIGHT, WILD, true, .one_device = true },
	{ "one device, wildcards", WILD, WILD, false, .one_device = true },
	{ "other cookie, bound and bound", RIGHT, RIGHT, false, .other_cookie = true },
	{ "other cookie, bound and wildcard", RIGHT, WILD, false, .other_cookie = true },
	{ "one device, other cookie, bound", RIGHT, RIGHT, false, .one_device = true,
	  .other_cookie = true },
	{ "one device, other cookie, wildcard", RIGHT, WILD, false, .one_device = true,
	  .other_cookie = true },
	{ "ptags of their own, bound and bound", RIGHT, RIGHT, false, .own_ptags = true },
	{ "ptags of their own, bound and wildcard", RIGHT, WILD, false, .own_ptags = true },
	{ "one device, ptags of their own", RIGHT, WILD, false, .one_device = true,
	  .own_ptags = true },
};

static void meeting_desc(const struct meeting *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(meeting, meetings, meeting_desc);

static struct kgni_file *attach_as(struct kunit *test, struct kgni_device *dev, u32 id,
				   u32 ptag, u32 cookie)
{
	struct kgni_ioc_attach arg = { .inst_id = id, .ptag = ptag, .cookie = cookie };
	struct kgni_file *f = kgt_open(test, dev);

	KUNIT_ASSERT_EQ(test, kgt_nic_attach(f, &arg), GNI_RC_SUCCESS);
	return f;
}

static long post_as(struct kgni_file *f, enum want want, u32 pe, u32 id, const char *text)
{
	switch (want) {
	case WILD:
		return post_wild(f, 1, text);
	case WRONG_ID:
		return post_bound(f, 1, pe, id + 1, text);
	case WRONG_PE:
		return post_bound(f, 1, pe == KGT_PE ? KGT_PE + 1 : KGT_PE, id, text);
	case NOWHERE:
		return post_bound(f, 1, 7, id, text);
	default:
		return post_bound(f, 1, pe, id, text);
	}
}

static void meet(struct kunit *test, bool b_first)
{
	const struct meeting *m = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *dev2 = kgt_device(test, KGT_PE + 1);
	u32 b_pe = m->one_device ? KGT_PE : KGT_PE + 1;
	struct kgni_file *a = attach_as(test, dev, A, m->own_ptags ? 20 : GNI_FIND_ALLOC_PTAG,
					KGT_COOKIE);
	struct kgni_file *b = attach_as(test, m->one_device ? dev : dev2, B,
					m->own_ptags ? 21 : GNI_FIND_ALLOC_PTAG,
					KGT_COOKIE + m->other_cookie);

	if (b_first)
		KUNIT_EXPECT_EQ(test, post_as(b, m->b, KGT_PE, A, "from b"), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_as(a, m->a, b_pe, B, "says a"), GNI_RC_SUCCESS);
	if (!b_first)
		KUNIT_EXPECT_EQ(test, post_as(b, m->b, KGT_PE, A, "from b"), GNI_RC_SUCCESS);
	if (m->meet) {
		expect_met(test, a, 1, b_pe, B, "from b");
		expect_met(test, b, 1, KGT_PE, A, "says a");
	} else {
		expect_pending(test, a, 1);
		expect_pending(test, b, 1);
	}
}

static void the_first_is_first(struct kunit *test)
{
	meet(test, false);
}

static void the_second_is_first(struct kunit *test)
{
	meet(test, true);
}

/* Three attachments of one job: A and B on one device, C on another. */
struct three {
	struct kgni_file *a, *b, *c;
};

static struct three three(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct three t;

	t.a = kgt_attach(test, dev, A, KGT_COOKIE, 0);
	t.b = kgt_attach(test, dev, B, KGT_COOKIE, 0);
	t.c = kgt_attach(test, kgt_device(test, KGT_PE + 1), C, KGT_COOKIE, 0);
	return t;
}

static void oldest_wildcard_first(struct kunit *test)
{
	struct three t = three(test);
	u32 ep;

	for (ep = 1; ep <= 3; ep++)
		KUNIT_EXPECT_EQ(test, post_wild(t.a, ep, ep == 1 ? "1" : "later"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.c, 1, KGT_PE, A, "c"), 0);
	expect_met(test, t.b, 1, KGT_PE, A, "1");
	expect_met(test, t.c, 1, KGT_PE, A, "later");
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	expect_met(test, t.a, 2, KGT_PE + 1, C, "c");
	expect_pending(test, t.a, 3);
}

static void oldest_bound_first(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_bound(t.c, 1, KGT_PE, A, "c"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "1"), 0);
	expect_met(test, t.a, 1, KGT_PE + 1, C, "c");
	expect_pending(test, t.b, 1);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "2"), 0);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	expect_met(test, t.b, 1, KGT_PE, A, "2");
	expect_met(test, t.c, 1, KGT_PE, A, "1");
}

/* A datagram that is aimed at us is a better match than a wildcard. */
static void bound_before_wildcard(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "wild"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE, B, "bound"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	expect_met(test, t.b, 1, KGT_PE, A, "bound");
	expect_met(test, t.a, 2, KGT_PE, B, "b");
	expect_pending(test, t.a, 1);
}

/* Bound to someone else does not make one pass by: the right one is found behind it. */
static void looks_past_those_of_others(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_bound(t.c, 1, KGT_PE, A, "c"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	expect_met(test, t.b, 1, KGT_PE, A, "a");
	expect_pending(test, t.c, 1);
}

static void alone_with_itself(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, A, "bound"), 0);
	expect_pending(test, t.a, 1);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 2, "wild"), 0);
	expect_met(test, t.a, 1, KGT_PE, A, "wild");
	expect_met(test, t.a, 2, KGT_PE, A, "bound");
	/* The other way round. */
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 2, "wild"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, A, "bound"), 0);
	expect_met(test, t.a, 2, KGT_PE, A, "bound");
	expect_met(test, t.a, 1, KGT_PE, A, "wild");
}

/* Two attachments of one id: the first that has a wildcard answers. */
static void two_of_one_id(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_file *twin = kgt_attach(test, t.a->dev, A, KGT_COOKIE, 0);

	KUNIT_EXPECT_EQ(test, post_wild(twin, 1, "twin"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	expect_met(test, t.b, 1, KGT_PE, A, "twin");
	expect_met(test, twin, 1, KGT_PE, B, "b");
}

/* Many ids, many of them in one hash bucket: each meets its own. */
static void many_ids(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_file *f;
	u32 i;

	for (i = 0; i < 150; i++)
		KUNIT_EXPECT_EQ(test, post_bound(t.a, i, KGT_PE, 1000 + i, "a"), 0);
	for (i = 150; i-- > 130;) {
		f = kgt_attach(test, t.a->dev, 1000 + i, KGT_COOKIE, 0);
		KUNIT_EXPECT_EQ(test, post_wild(f, 1, "other"), 0);
		expect_met(test, f, 1, KGT_PE, A, "a");
		expect_met(test, t.a, i, KGT_PE, 1000 + i, "other");
	}
	for (i = 0; i < 130; i++)
		expect_pending(test, t.a, i);
}

/* --- limits ---------------------------------------------------------------- */

static void one_at_a_time(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "x"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "y"), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "y"), GNI_RC_ERROR_RESOURCE);
	/* Also while it is finished and not asked for. */
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "y"), GNI_RC_ERROR_RESOURCE);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "y"), 0);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 1);
}

static void one_for_a_peer(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_test state;

	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "1"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE, B, "2"), GNI_RC_ERROR_RESOURCE);
	expect_none(test, t.a, 2);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE + 1, B, "2"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 3, KGT_PE, B, "3"), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, test_ep(t.a, 1, &state), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 3, KGT_PE, B, "3"), 0);
}

static void a_wildcards_peer_is_busy(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_wild(t.b, 1, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 2, KGT_PE, A, "b2"), GNI_RC_ERROR_RESOURCE);
	expect_met(test, t.b, 1, KGT_PE, A, "a");
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 2, KGT_PE, A, "b2"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE, B, "a2"), GNI_RC_ERROR_RESOURCE);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE, B, "a2"), 0);
	expect_met(test, t.b, 2, KGT_PE, A, "a2");
}

static void not_more_than_so_many(struct kunit *test)
{
	struct three t = three(test);
	u32 i;

	t.a->nic->dgram_count = KGNI_DGRAM_PER_NIC - 2;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, post_wild(t.a, i, "x"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, i, "x"), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, i, KGT_PE, B, "x"), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 0, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, i, "x"), 0);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, KGNI_DGRAM_PER_NIC);
}

/* --- sizes and arguments --------------------------------------------------- */

static const struct room {
	u16 sent, room;
	bool fits;
} rooms[] = {
	{ 0, 0, true }, { 0, 128, true }, { 1, 0, false }, { 1, 1, true }, { 64, 63, false },
	{ 128, 127, false }, { 128, 128, true },
};

static void room_desc(const struct room *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes into %u", r->sent, r->room);
}

KUNIT_ARRAY_PARAM(room, rooms, room_desc);

static void room_for_the_answer(struct kunit *test)
{
	const struct room *r = test->param_value;
	struct three t = three(test);
	struct kgni_ioc_dgram_post arg = { .ep = 1, .buf_size = r->room };
	struct kgni_ioc_dgram_test state;

	KUNIT_EXPECT_EQ(test, kgni_dgram_post(t.a->nic, &arg), 0);
	arg = (struct kgni_ioc_dgram_post) {
		.ep = 1, .flags = KGNI_DGRAM_BOUND, .remote_pe = KGT_PE, .remote_id = A,
		.length = r->sent,
	};
	memset(arg.data, 0x5a, sizeof(arg.data));
	KUNIT_EXPECT_EQ(test, kgni_dgram_post(t.b->nic, &arg), 0);
	KUNIT_EXPECT_EQ(test, test_ep(t.a, 1, &state),
			r->fits ? GNI_RC_SUCCESS : GNI_RC_SIZE_ERROR);
	KUNIT_EXPECT_EQ(test, state.remote_id, B);
	KUNIT_EXPECT_EQ(test, state.length, r->fits ? r->sent : 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(state.data, 0x5a, state.length));
	KUNIT_EXPECT_NULL(test, memchr_inv(state.data + state.length, 0, 128 - state.length));
	/* It is over either way. */
	expect_none(test, t.a, 1);
	expect_met(test, t.b, 1, KGT_PE, A, "");
}

static const struct bad {
	const char *name;
	u64 id;
	u32 flags, reserved;
	u16 length, buf_size;
	long rc;
} bads[] = {
	{ "reserved field", 0, 0, 1, 0, 0, -EINVAL },
	{ "unknown flag", 0, 8, 0, 0, 0, -EINVAL },
	{ "flag of another call", 0, KGNI_DGRAM_EP_GONE, 0, 0, 0, -EINVAL },
	{ "id of ones", U64_MAX, KGNI_DGRAM_WITH_ID, 0, 0, 0, GNI_RC_INVALID_PARAM },
	{ "129 bytes", 0, 0, 0, 129, 0, GNI_RC_SIZE_ERROR },
	{ "65535 bytes", 0, 0, 0, 65535, 0, GNI_RC_SIZE_ERROR },
	{ "room for 129 bytes", 0, 0, 0, 0, 129, GNI_RC_SIZE_ERROR },
	{ "id of ones that does not count", U64_MAX, 0, 0, 128, 128, GNI_RC_SUCCESS },
};

static void bad_desc(const struct bad *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad, bads, bad_desc);

static void bad_posts(struct kunit *test)
{
	const struct bad *b = test->param_value;
	struct three t = three(test);
	struct kgni_ioc_dgram_post arg = {
		.id = b->id, .flags = b->flags, .reserved = b->reserved, .length = b->length,
		.buf_size = b->buf_size,
	};

	KUNIT_EXPECT_EQ(test, kgni_dgram_post(t.a->nic, &arg), b->rc);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, !b->rc);
}

static void other_bad_calls(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_test state = { .reserved = 1 };
	struct kgni_ioc_dgram_probe p = { .reserved = 1 };
	struct kgni_ioc_dgram_cancel c = { .flags = 8 };

	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), -EINVAL);
	state = (struct kgni_ioc_dgram_test) { .flags = KGNI_DGRAM_BOUND };
	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), -EINVAL);
	state = (struct kgni_ioc_dgram_test) { .flags = KGNI_DGRAM_WITH_ID, .id = U64_MAX };
	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, told_probe(t.a->nic, &p), -EINVAL);
	p = (struct kgni_ioc_dgram_probe) { .flags = KGNI_DGRAM_EP_GONE };
	KUNIT_EXPECT_EQ(test, told_probe(t.a->nic, &p), -EINVAL);
	KUNIT_EXPECT_EQ(test, kgni_dgram_cancel(t.a->nic, &c), -EINVAL);
	c = (struct kgni_ioc_dgram_cancel) { .flags = KGNI_DGRAM_WITH_ID, .id = U64_MAX };
	KUNIT_EXPECT_EQ(test, kgni_dgram_cancel(t.a->nic, &c), GNI_RC_INVALID_PARAM);
}

/* While an end is told it is nobody else's; if that fails it is there again. */
static void end_that_is_not_told(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_test state = { .ep = 1 };
	struct kgni_ioc_dgram_probe p;
	struct kgni_dgram *taken, *orphan;

	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_dgram_test(t.a->nic, &state, &taken), GNI_RC_SUCCESS);
	KUNIT_ASSERT_NOT_NULL(test, taken);
	KUNIT_EXPECT_EQ(test, test_ep(t.a, 1, &state), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), GNI_RC_ERROR_RESOURCE);
	kgni_dgram_told(t.a->nic, taken, false);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	/* Its endpoint goes while it is told once more. */
	KUNIT_EXPECT_EQ(test, kgni_dgram_test(t.a->nic, &state, &taken), GNI_RC_SUCCESS);
	KUNIT_ASSERT_NOT_NULL(test, taken);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	kgni_dgram_told(t.a->nic, taken, false);
	KUNIT_EXPECT_EQ(test, kgni_dgram_probe(t.a->nic, &p, &orphan), GNI_RC_SUCCESS);
	KUNIT_ASSERT_PTR_EQ(test, orphan, taken);
	kgni_dgram_told(t.a->nic, orphan, false);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_orphans, 0);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 0);
}

/* A datagram posted with an id goes by it, one without by none. */
static void ids(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_test state = {
		.ep = 1, .id = 0x1234567890, .flags = KGNI_DGRAM_WITH_ID,
	};
	struct kgni_ioc_dgram_cancel c = { .ep = 1, .id = 5, .flags = KGNI_DGRAM_WITH_ID };

	KUNIT_EXPECT_EQ(test, post_with_id(t.a, 1, 0x1234567890), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 2, "unnamed"), 0);
	expect_none(test, t.a, 1);
	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), GNI_RC_SUCCESS);
	state.id = 0x1234567891;
	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), GNI_RC_NO_MATCH);
	state.ep = 2;
	KUNIT_EXPECT_EQ(test, told_test(t.a->nic, &state), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, kgni_dgram_cancel(t.a->nic, &c), GNI_RC_NO_MATCH);
	c.id = 0x1234567890;
	KUNIT_EXPECT_EQ(test, kgni_dgram_cancel(t.a->nic, &c), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 1);
	expect_pending(test, t.a, 2);
}

/* --- cancel and probe ------------------------------------------------------ */

static void cancelled_wildcard_is_gone(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "x"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	expect_none(test, t.a, 1);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	expect_pending(test, t.b, 1);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 0);
}

static void cancelled_bound_is_terminated(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_test state;
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	/* Nobody meets it any more. */
	KUNIT_EXPECT_EQ(test, post_wild(t.b, 1, "b"), 0);
	expect_pending(test, t.b, 1);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_id, B);
	KUNIT_EXPECT_EQ(test, test_ep(t.a, 1, &state), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, state.state, GNI_POST_TERMINATED);
	KUNIT_EXPECT_EQ(test, state.length, 0);
	expect_none(test, t.a, 1);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
}

static void cancel_of_a_finished_one(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_wild(t.b, 1, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, cancel(t.b, 1, 0), GNI_RC_SUCCESS);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	expect_met(test, t.b, 1, KGT_PE, A, "a");
}

static void probe_finds_the_oldest(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "1"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 2, KGT_PE + 1, C, "2"), 0);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	/* The one that finished first, not the one that was posted first. */
	KUNIT_EXPECT_EQ(test, post_wild(t.c, 1, "c"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.b, 1, "b"), 0);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_pe, KGT_PE + 1);
	KUNIT_EXPECT_EQ(test, p.remote_id, C);
	/* It takes nothing away. */
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_id, C);
	expect_met(test, t.a, 2, KGT_PE + 1, C, "c");
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_id, B);
	KUNIT_EXPECT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_NO_MATCH);
}

static void probe_by_id(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, post_with_id(t.a, 1, 0xabcdef0123456789), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.id, 0xabcdef0123456789);
	KUNIT_EXPECT_EQ(test, p.remote_id, B);
}

/* --- endpoints that go ----------------------------------------------------- */

static void orphans(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, KGNI_DGRAM_EP_GONE), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "bound"), 0);
	KUNIT_EXPECT_EQ(test, post_with_id(t.a, 2, 22), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 2, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 0);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_orphans, 2);
	/* Endpoint and peer are free for others, and nobody meets the orphans. */
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "new"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	expect_met(test, t.b, 1, KGT_PE, A, "new");
	/* Each is reported once. */
	KUNIT_EXPECT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.id, 22);
	KUNIT_EXPECT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_id, B);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_orphans, 0);
	/* Next is the one that lives. */
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
}

/* A finished one that was not asked for goes with its endpoint as well. */
static void finished_orphan(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	expect_none(test, t.a, 1);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, p.remote_id, B);
	KUNIT_EXPECT_EQ(test, probe(t.a, 0, &p), GNI_RC_NO_MATCH);
	expect_met(test, t.b, 1, KGT_PE, A, "a");
}

static void not_more_orphans_than_so_many(struct kunit *test)
{
	struct three t = three(test);
	struct kgni_ioc_dgram_probe p;
	u64 id, n = KGNI_DGRAM_ORPHANS + 10;

	for (id = 0; id < n; id++) {
		KUNIT_ASSERT_EQ(test, post_with_id(t.a, 1, id), 0);
		KUNIT_ASSERT_EQ(test, cancel(t.a, 1, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_orphans, KGNI_DGRAM_ORPHANS);
	KUNIT_EXPECT_EQ(test, t.a->nic->dgram_count, 0);
	/* The oldest made room. */
	for (id = 10; id < n; id++) {
		KUNIT_ASSERT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_SUCCESS);
		KUNIT_ASSERT_EQ(test, p.id, id);
	}
	KUNIT_EXPECT_EQ(test, probe(t.a, KGNI_DGRAM_WITH_ID, &p), GNI_RC_NO_MATCH);
}

/* --- waits ----------------------------------------------------------------- */

struct waiter {
	struct kgni_file *f;
	struct kgni_ioc_dgram_test test;
	struct kgni_ioc_dgram_probe probe;
};

static long wait_test(void *arg)
{
	struct waiter *w = arg;

	return told_test(w->f->nic, &w->test);
}

static long wait_probe(void *arg)
{
	struct waiter *w = arg;

	return told_probe(w->f->nic, &w->probe);
}

static struct waiter *waiter(struct kunit *test, struct kgni_file *f, u64 timeout_ms)
{
	struct waiter *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->f = f;
	w->test.ep = 1;
	w->test.timeout_ms = timeout_ms;
	w->probe.timeout_ms = timeout_ms;
	return w;
}

static void woken_by_a_match(struct kunit *test)
{
	struct three t = three(test);
	struct waiter *w = waiter(test, t.a, KGNI_WAIT_FOREVER);
	struct kgt_thread *tester, *prober;

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	prober = kgt_thread(test, wait_probe, w);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(prober));
	KUNIT_EXPECT_EQ(test, post_bound(t.c, 1, KGT_PE, A, "c"), 0);
	KUNIT_EXPECT_EQ(test, kgt_join(prober), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, w->probe.remote_id, C);
	expect_met(test, t.a, 1, KGT_PE + 1, C, "c");
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	tester = kgt_thread(test, wait_test, w);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(tester));
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "b"), 0);
	KUNIT_EXPECT_EQ(test, kgt_join(tester), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, w->test.state, GNI_POST_COMPLETED);
	KUNIT_EXPECT_EQ(test, w->test.remote_id, B);
	expect_none(test, t.a, 1);
}

static void woken_by_a_cancel(struct kunit *test)
{
	struct three t = three(test);
	struct waiter *w = waiter(test, t.a, KGNI_WAIT_FOREVER);
	struct kgt_thread *tester;

	/* A wildcard is gone, a bound one terminated. */
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	tester = kgt_thread(test, wait_test, w);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(tester));
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_join(tester), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	tester = kgt_thread(test, wait_test, w);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(tester));
	KUNIT_EXPECT_EQ(test, cancel(t.a, 1, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_join(tester), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, w->test.state, GNI_POST_TERMINATED);
}

static void woken_by_a_signal(struct kunit *test)
{
	struct three t = three(test);
	struct waiter *w = waiter(test, t.a, KGNI_WAIT_FOREVER);
	struct kgt_thread *tester, *prober;

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	tester = kgt_thread(test, wait_test, w);
	prober = kgt_thread(test, wait_probe, w);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(tester));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(prober));
	send_sig(SIGUSR1, tester->task, 1);
	send_sig(SIGUSR1, prober->task, 1);
	KUNIT_EXPECT_EQ(test, kgt_join(tester), -EINTR);
	KUNIT_EXPECT_EQ(test, kgt_join(prober), -EINTR);
	expect_pending(test, t.a, 1);
}

static void timeouts(struct kunit *test)
{
	struct three t = three(test);
	struct waiter *w = waiter(test, t.a, 30);
	ktime_t start = ktime_get();

	KUNIT_EXPECT_EQ(test, wait_test(w), GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "a"), 0);
	KUNIT_EXPECT_EQ(test, wait_test(w), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_EQ(test, wait_probe(w), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 60);
	expect_pending(test, t.a, 1);
}

/* --- attachments that go --------------------------------------------------- */

static void peer_goes_and_comes_back(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "a"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE + 1, C, "b"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.b, 2, "b"), 0);
	expect_met(test, t.a, 1, KGT_PE, B, "b");
	kgt_close(t.b);
	/* What B posted is gone, what was aimed at B stays. */
	KUNIT_EXPECT_EQ(test, post_wild(t.c, 1, "c"), 0);
	expect_pending(test, t.c, 1);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 1, KGT_PE, B, "again"), 0);
	expect_pending(test, t.a, 1);
	t.b = kgt_attach(test, t.a->dev, B, KGT_COOKIE, 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.b, 1, "new b"), 0);
	expect_met(test, t.a, 1, KGT_PE, B, "new b");
	expect_met(test, t.b, 1, KGT_PE, A, "again");
}

/* In every state at once; KASAN and the lists' checks see what is left. */
static void goes_with_all_it_has(struct kunit *test)
{
	struct three t = three(test);

	KUNIT_EXPECT_EQ(test, post_wild(t.a, 1, "met"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.b, 1, KGT_PE, A, "met"), 0);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 2, "pending"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 3, KGT_PE + 1, C, "pending"), 0);
	KUNIT_EXPECT_EQ(test, post_bound(t.a, 4, 7, 7, "terminated"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 4, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, post_wild(t.a, 5, "orphan"), 0);
	KUNIT_EXPECT_EQ(test, cancel(t.a, 5, KGNI_DGRAM_EP_GONE), GNI_RC_SUCCESS);
	kgt_close(t.a);
	expect_met(test, t.b, 1, KGT_PE, A, "met");
	KUNIT_EXPECT_EQ(test, post_bound(t.c, 1, KGT_PE, A, "c"), 0);
	expect_pending(test, t.c, 1);
}

#define ROUNDS	300

struct talker {
	struct kgni_file *f;
	u32 peer;
};

/* Meet the other, time after time; or give up now and then. */
static long talk(void *arg)
{
	struct talker *me = arg;
	struct kgni_ioc_dgram_test t;
	long rc = 0;
	u32 i;

	for (i = 0; i < ROUNDS && !rc; i++) {
		rc = post_bound(me->f, 1, KGT_PE, me->peer, "hello");
		if (rc)
			break;
		if (i % 5 == me->peer) {
			schedule();
			cancel(me->f, 1, i % 10 > 4 ? KGNI_DGRAM_EP_GONE : 0);
		}
		t = (struct kgni_ioc_dgram_test) { .ep = 1, .timeout_ms = 5 };
		rc = told_test(me->f->nic, &t);
		if (rc == GNI_RC_TIMEOUT)
			cancel(me->f, 1, KGNI_DGRAM_EP_GONE);
		if (rc == GNI_RC_TIMEOUT || rc == GNI_RC_NO_MATCH)
			rc = 0;
	}
	return rc;
}

static void talkers(struct kunit *test)
{
	struct three t = three(test);
	struct talker *who = kunit_kcalloc(test, 4, sizeof(*who), GFP_KERNEL);
	struct kgt_thread *thread[4];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, who);
	who[0] = (struct talker) { t.a, B };
	who[1] = (struct talker) { t.b, A };
	who[2] = (struct talker) { kgt_attach(test, t.a->dev, A, KGT_COOKIE + 1, 0), B };
	who[3] = (struct talker) { kgt_attach(test, t.a->dev, B, KGT_COOKIE + 1, 0), A };
	for (i = 0; i < 4; i++)
		thread[i] = kgt_thread(test, talk, &who[i]);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, kgt_join(thread[i]), 0);
		KUNIT_EXPECT_EQ(test, who[i].f->nic->dgram_count, 0);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(the_first_is_first, meeting_gen_params),
	KUNIT_CASE_PARAM(the_second_is_first, meeting_gen_params),
	KUNIT_CASE(oldest_wildcard_first),
	KUNIT_CASE(oldest_bound_first),
	KUNIT_CASE(bound_before_wildcard),
	KUNIT_CASE(looks_past_those_of_others),
	KUNIT_CASE(alone_with_itself),
	KUNIT_CASE(two_of_one_id),
	KUNIT_CASE(many_ids),
	KUNIT_CASE(one_at_a_time),
	KUNIT_CASE(one_for_a_peer),
	KUNIT_CASE(a_wildcards_peer_is_busy),
	KUNIT_CASE(not_more_than_so_many),
	KUNIT_CASE_PARAM(room_for_the_answer, room_gen_params),
	KUNIT_CASE_PARAM(bad_posts, bad_gen_params),
	KUNIT_CASE(other_bad_calls),
	KUNIT_CASE(ids),
	KUNIT_CASE(cancelled_wildcard_is_gone),
	KUNIT_CASE(cancelled_bound_is_terminated),
	KUNIT_CASE(cancel_of_a_finished_one),
	KUNIT_CASE(probe_finds_the_oldest),
	KUNIT_CASE(probe_by_id),
	KUNIT_CASE(orphans),
	KUNIT_CASE(finished_orphan),
	KUNIT_CASE(end_that_is_not_told),
	KUNIT_CASE(not_more_orphans_than_so_many),
	KUNIT_CASE(woken_by_a_match),
	KUNIT_CASE(woken_by_a_cancel),
	KUNIT_CASE(woken_by_a_signal),
	KUNIT_CASE(timeouts),
	KUNIT_CASE(peer_goes_and_comes_back),
	KUNIT_CASE(goes_with_all_it_has),
	KUNIT_CASE(talkers),
	{}
};

static struct kunit_suite dgram_suite = {
	.name = "kgni_dgram",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(dgram_suite);
