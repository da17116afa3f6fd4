// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams: how peers find each other. Needs two NICs.
 */
#include <signal.h>

#include "common.h"

#define A	0x80000001U	/* instance ids of the two ends */
#define B	0xffffff02U
#define NO_ID	(~0ULL)		/* here: the calls without an id */

/* Two domains, a on the first NIC, b on another or the same. */
struct pair {
	struct nic a;
	struct nic b;
};

static void pair_open(struct pair *p, unsigned int device)
{
	nic_open(&p->a, 0, A);
	nic_open(&p->b, device, B);
}

static gni_ep_handle_t wild(struct nic *n)
{
	gni_ep_handle_t ep = NULL;

	must_do(GNI_EpCreate(n->h, NULL, &ep));
	return ep;
}

static gni_ep_handle_t bound(struct nic *n, const struct nic *to)
{
	gni_ep_handle_t ep = wild(n);

	must_do(GNI_EpBind(ep, to->pe, to->id));
	return ep;
}

/* The calls with an id and those without, by one name. */
static gni_return_t dgram_post(gni_ep_handle_t ep, const char *text, char *buf, uint16_t size,
			       uint64_t id)
{
	void *data = (void *)text;
	uint16_t len = text ? strlen(text) + 1 : 0;

	if (id == NO_ID)
		return GNI_EpPostData(ep, data, len, buf, size);
	return GNI_EpPostDataWId(ep, data, len, buf, size, id);
}

struct answer {
	gni_post_state_t state;
	uint32_t pe;
	uint32_t id;
};

static gni_return_t dgram_test(gni_ep_handle_t ep, uint64_t id, struct answer *a)
{
	memset(a, 0xff, sizeof(*a));
	if (id == NO_ID)
		return GNI_EpPostDataTest(ep, &a->state, &a->pe, &a->id);
	return GNI_EpPostDataTestById(ep, id, &a->state, &a->pe, &a->id);
}

static gni_return_t dgram_wait(gni_ep_handle_t ep, uint64_t id, uint32_t timeout, struct answer *a)
{
	memset(a, 0xff, sizeof(*a));
	if (id == NO_ID)
		return GNI_EpPostDataWait(ep, timeout, &a->state, &a->pe, &a->id);
	return GNI_EpPostDataWaitById(ep, id, timeout, &a->state, &a->pe, &a->id);
}

static gni_return_t dgram_cancel(gni_ep_handle_t ep, uint64_t id)
{
	return id == NO_ID ? GNI_EpPostDataCancel(ep) : GNI_EpPostDataCancelById(ep, id);
}

static void expect_state(gni_ep_handle_t ep, uint64_t id, gni_post_state_t state)
{
	struct answer a;

	if (is_rc(dgram_test(ep, id, &a), GNI_RC_SUCCESS))
		is_u64(a.state, state);
}

static void expect_peer(gni_ep_handle_t ep, uint64_t id, const struct nic *from)
{
	struct answer a;

	is_rc(dgram_test(ep, id, &a), GNI_RC_SUCCESS);
	is_u64(a.state, GNI_POST_COMPLETED);
	is_u64(a.pe, from->pe);
	is_u64(a.id, from->id);
	is_rc(dgram_test(ep, id, &a), GNI_RC_NO_MATCH, "consumed");
}

static void no_probe(struct nic *n)
{
	uint32_t pe, inst;
	uint64_t id;

	is_rc(GNI_PostDataProbe(n->h, &pe, &inst), GNI_RC_NO_MATCH);
	is_rc(GNI_PostDataProbeById(n->h, &id), GNI_RC_NO_MATCH);
}

static void expect_probe(struct nic *n, uint64_t id, const struct nic *from)
{
	uint32_t pe = 0, inst = 0;
	uint64_t got = 0;
	int i;

	for (i = 0; i < 2; i++) {
		if (id == NO_ID) {
			is_rc(GNI_PostDataProbe(n->h, &pe, &inst), GNI_RC_SUCCESS);
			is_u64(pe, from->pe);
			is_u64(inst, from->id);
			is_rc(GNI_PostDataProbeById(n->h, &got), GNI_RC_NO_MATCH);
		} else {
			is_rc(GNI_PostDataProbeById(n->h, &got), GNI_RC_SUCCESS);
			is_u64(got, id);
			is_rc(GNI_PostDataProbe(n->h, &pe, &inst), GNI_RC_NO_MATCH);
		}
	}
}

/* --- matching ------------------------------------------------------------------ */

static void try_bound(struct pair *p, uint64_t ida, uint64_t idb)
{
	gni_ep_handle_t a = bound(&p->a, &p->b), b = bound(&p->b, &p->a);
	char bufa[128] = "", bufb[128] = "", text[] = "from a";

	is_rc(dgram_post(a, text, bufa, 128, ida), GNI_RC_SUCCESS);
	memset(text, 'x', sizeof(text));
	expect_state(a, ida, GNI_POST_PENDING);
	expect_state(a, ida, GNI_POST_PENDING);
	no_probe(&p->a);
	is_rc(dgram_post(b, "data from b", bufb, 100, idb), GNI_RC_SUCCESS);
	expect_probe(&p->a, ida, &p->b);
	expect_probe(&p->b, idb, &p->a);
	expect_peer(a, ida, &p->b);
	expect_peer(b, idb, &p->a);
	ok(!strcmp(bufa, "data from b") && !strcmp(bufb, "from a"));
	no_probe(&p->a);
	no_probe(&p->b);
	is_rc(GNI_EpDestroy(a), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(b), GNI_RC_SUCCESS);
}

static void test_bound(unsigned int device)
{
	struct pair p;
	int i;

	pair_open(&p, device);
	for (i = 0; i < 3; i++) {
		try_bound(&p, 0, 0);
		try_bound(&p, NO_ID, NO_ID);
		try_bound(&p, 0x123456789abcdef0 + i, NO_ID);
		try_bound(&p, 5, NO_ID - 1);
	}
}

static void test_bound_here(void)
{
	test_bound(0);
}

static void test_bound_nics(void)
{
	test_bound(1);
}

static void try_wild(struct pair *p, uint64_t ida, uint64_t idb, bool wild_first)
{
	gni_ep_handle_t a = wild(&p->a), b = bound(&p->b, &p->a);
	char bufa[128] = "", bufb[128] = "";

	if (wild_first)
		is_rc(dgram_post(a, "any", bufa, 128, ida), GNI_RC_SUCCESS);
	is_rc(dgram_post(b, "I am b", bufb, 128, idb), GNI_RC_SUCCESS);
	if (!wild_first) {
		expect_state(b, idb, GNI_POST_PENDING);
		is_rc(dgram_post(a, "any", bufa, 128, ida), GNI_RC_SUCCESS);
	}
	expect_probe(&p->a, ida, &p->b);
	expect_probe(&p->b, idb, &p->a);
	expect_peer(a, ida, &p->b);
	expect_peer(b, idb, &p->a);
	ok(!strcmp(bufa, "I am b") && !strcmp(bufb, "any"));
	/* The same wildcard again, by the same name. */
	is_rc(dgram_post(a, "any", bufa, 128, ida), GNI_RC_SUCCESS);
	is_rc(dgram_post(b, "again", bufb, 128, idb), GNI_RC_SUCCESS);
	expect_peer(b, idb, &p->a);
	expect_peer(a, ida, &p->b);
	ok(!strcmp(bufa, "again"));
	is_rc(GNI_EpDestroy(a), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(b), GNI_RC_SUCCESS);
}

static void test_wild(unsigned int device)
{
	struct pair p;

	pair_open(&p, device);
	try_wild(&p, 7, 7, true);
	try_wild(&p, 7, 8, false);
	try_wild(&p, NO_ID, NO_ID, true);
	try_wild(&p, NO_ID, 9, false);
}

static void test_wild_here(void)
{
	test_wild(0);
}

static void test_wild_nics(void)
{
	test_wild(1);
}

static void test_self(void)
{
	char bufa[16] = "", bufb[16] = "";
	gni_ep_handle_t a, b;
	struct nic n;
	int i;

	nic_open(&n, 0, A);
	a = wild(&n);
	b = bound(&n, &n);
	for (i = 0; i < 2; i++) {
		is_rc(dgram_post(i ? a : b, "one", i ? bufa : bufb, 16, 1), GNI_RC_SUCCESS);
		is_rc(dgram_post(i ? b : a, "two", i ? bufb : bufa, 16, 2), GNI_RC_SUCCESS);
		expect_peer(a, i ? 1 : 2, &n);
		expect_peer(b, i ? 2 : 1, &n);
		ok(!strcmp(bufa, i ? "two" : "one") && !strcmp(bufb, i ? "one" : "two"));
	}
}

/* Wildcards serve in the order of their posts. */
static void test_order(void)
{
	gni_ep_handle_t w[3], b[3];
	char buf[3][16], other[16];
	struct nic n, from[3];
	uint64_t id;
	int i;

	nic_open(&n, 0, 1);
	for (i = 0; i < 3; i++) {
		w[i] = wild(&n);
		is_rc(dgram_post(w[i], "w", buf[i], 16, 100 + i), GNI_RC_SUCCESS);
	}
	for (i = 0; i < 3; i++) {
		nic_open(&from[i], i & 1, 10 + i);
		b[i] = bound(&from[i], &n);
		is_rc(dgram_post(b[i], "b", other, 16, i), GNI_RC_SUCCESS);
	}
	for (i = 0; i < 3; i++) {
		is_rc(GNI_PostDataProbeById(n.h, &id), GNI_RC_SUCCESS);
		is_u64(id, 100 + i, "oldest first");
		expect_peer(w[i], id, &from[i]);
		expect_peer(b[i], i, &n);
	}
}

/* Bound datagrams that wait are served in the order of their posts, too. */
static void test_arrivals_wait(void)
{
	struct nic n, from[4];
	gni_ep_handle_t w, b;
	char buf[16], text[16];
	int i;

	nic_open(&n, 0, 1);
	for (i = 0; i < 4; i++) {
		nic_open(&from[i], i & 1, 10 + i);
		b = bound(&from[i], &n);
		snprintf(text, sizeof(text), "number %d", i);
		is_rc(dgram_post(b, text, NULL, 0, i), GNI_RC_SUCCESS);
	}
	w = wild(&n);
	for (i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "number %d", i);
		is_rc(dgram_post(w, NULL, buf, 16, 77), GNI_RC_SUCCESS);
		expect_peer(w, 77, &from[i]);
		ok(!strcmp(buf, text));
	}
}

static gni_cdm_handle_t stranger_cdm;

static void test_other_job(void)
{
	gni_ep_handle_t a, w, s;
	struct nic n, stranger = { .id = B };
	char buf[16] = "", secret[16] = "";

	nic_open(&n, 0, A);
	must_do(GNI_CdmCreate(B, GNI_FIND_ALLOC_PTAG, COOKIE + 1, 0, &stranger_cdm));
	must_do(GNI_CdmAttach(stranger_cdm, 0, &stranger.pe, &stranger.h));
	a = bound(&n, &stranger);
	w = wild(&n);
	s = bound(&stranger, &n);
	is_rc(dgram_post(a, "secret", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(dgram_post(w, "secret", buf, 16, 2), GNI_RC_SUCCESS);
	is_rc(dgram_post(s, "hello", secret, 16, 3), GNI_RC_SUCCESS);
	expect_state(a, 1, GNI_POST_PENDING);
	expect_state(w, 2, GNI_POST_PENDING);
	expect_state(s, 3, GNI_POST_PENDING);
	s = wild(&stranger);
	is_rc(dgram_post(s, "hello", secret, 16, 4), GNI_RC_SUCCESS);
	expect_state(a, 1, GNI_POST_PENDING);
	expect_state(s, 4, GNI_POST_PENDING);
}

static void test_nobody(void)
{
	struct nic n, nobody = { .pe = 0x7fffffff, .id = 1 };
	gni_ep_handle_t far, near;
	char buf[16];

	nic_open(&n, 0, 1);
	far = bound(&n, &nobody);
	nobody.pe = n.pe;
	nobody.id = 99;
	near = bound(&n, &nobody);
	is_rc(dgram_post(far, "a", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(dgram_post(near, "a", buf, 16, 2), GNI_RC_SUCCESS);
	expect_state(far, 1, GNI_POST_PENDING);
	expect_state(near, 2, GNI_POST_PENDING);
	is_rc(dgram_cancel(far, 1), GNI_RC_SUCCESS);
	expect_state(far, 1, GNI_POST_TERMINATED);
}

/* --- one at a time ------------------------------------------------------------- */

static void test_busy(void)
{
	gni_ep_handle_t a, twin, w, b;
	struct pair p;
	char buf[16];

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	twin = bound(&p.a, &p.b);
	b = bound(&p.b, &p.a);
	is_rc(dgram_post(a, "1", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(dgram_post(a, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE, "endpoint in use");
	is_rc(dgram_post(a, "2", buf, 16, NO_ID), GNI_RC_ERROR_RESOURCE);
	is_rc(dgram_post(twin, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE, "same peer");
	is_rc(dgram_post(b, "b", buf, 16, 3), GNI_RC_SUCCESS);
	is_rc(dgram_post(a, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE, "not consumed");
	is_rc(dgram_post(twin, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE);
	expect_peer(a, 1, &p.b);
	expect_peer(b, 3, &p.a);
	is_rc(dgram_post(twin, "2", buf, 16, 2), GNI_RC_SUCCESS);
	is_rc(dgram_cancel(twin, 2), GNI_RC_SUCCESS);
	is_rc(dgram_post(a, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE, "cancelled, not consumed");
	expect_state(twin, 2, GNI_POST_TERMINATED);
	/* A wildcard of ours that the peer has found counts as well. */
	w = wild(&p.a);
	is_rc(dgram_post(w, "w", buf, 16, 5), GNI_RC_SUCCESS);
	is_rc(dgram_post(w, "w", buf, 16, 6), GNI_RC_ERROR_RESOURCE);
	is_rc(dgram_post(b, "b", buf, 16, 3), GNI_RC_SUCCESS);
	is_rc(dgram_post(a, "2", buf, 16, 2), GNI_RC_ERROR_RESOURCE, "the wildcard has the peer");
	expect_peer(w, 5, &p.b);
	is_rc(dgram_post(a, "2", buf, 16, 2), GNI_RC_SUCCESS, "and no more");
	expect_peer(b, 3, &p.a);
}

/* --- sizes and arguments ------------------------------------------------------- */

static void test_sizes(void)
{
	static char data[256], out[256];
	gni_ep_handle_t a, b;
	struct answer ans;
	struct pair p;
	int n;

	pair_open(&p, 1);
	a = bound(&p.a, &p.b);
	b = bound(&p.b, &p.a);
	fill(data, 256, 1);
	is_rc(GNI_EpPostDataWId(a, data, 129, out, 128, 1), GNI_RC_SIZE_ERROR);
	is_rc(GNI_EpPostDataWId(a, data, 128, out, 129, 1), GNI_RC_SIZE_ERROR);
	is_rc(GNI_EpPostData(a, data, 65535, out, 128), GNI_RC_SIZE_ERROR);
	is_rc(GNI_EpPostData(a, NULL, 1, out, 128), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostData(a, data, 1, NULL, 1), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataWId(a, NULL, 1, out, 128, 1), GNI_RC_INVALID_PARAM);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_test(a, NO_ID, &ans), GNI_RC_NO_MATCH);
	for (n = 0; n <= 128; n++) {
		memset(out, 0x55, sizeof(out));
		is_rc(GNI_EpPostDataWId(a, n ? data : NULL, n, NULL, 0, 1), GNI_RC_SUCCESS);
		is_rc(GNI_EpPostDataWId(b, NULL, 0, n ? out : NULL, n, 2), GNI_RC_SUCCESS);
		expect_peer(a, 1, &p.b);
		expect_peer(b, 2, &p.a);
		ok(!memcmp(out, data, n) && all_bytes(out + n, 256 - n, 0x55), "%d bytes", n);
	}
	/* Less comes than there is room for; then more. */
	memset(out, 0x55, sizeof(out));
	is_rc(GNI_EpPostDataWId(a, data, 10, NULL, 0, 1), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostDataWId(b, data, 20, out, 128, 2), GNI_RC_SUCCESS);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_SIZE_ERROR);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_NO_MATCH, "consumed");
	expect_peer(b, 2, &p.a);
	ok(!memcmp(out, data, 10) && all_bytes(out + 10, 246, 0x55));
	is_rc(GNI_EpPostData(a, data, 10, out, 19), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostData(b, data, 20, NULL, 0), GNI_RC_SUCCESS);
	is_rc(dgram_wait(a, NO_ID, 1000, &ans), GNI_RC_SIZE_ERROR);
	is_rc(dgram_wait(b, NO_ID, 1000, &ans), GNI_RC_SIZE_ERROR);
	is_rc(GNI_EpPostDataWId(a, data, 128, NULL, 0, 1), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostDataWId(b, data, 1, out, 127, 2), GNI_RC_SUCCESS);
	is_rc(dgram_wait(b, 2, 1000, &ans), GNI_RC_SIZE_ERROR);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_SIZE_ERROR);
	is_rc(GNI_EpPostData(a, data, 1, out, 127), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostData(b, data, 128, out, 1), GNI_RC_SUCCESS);
	is_rc(dgram_test(a, NO_ID, &ans), GNI_RC_SIZE_ERROR);
	is_rc(dgram_test(a, NO_ID, &ans), GNI_RC_NO_MATCH, "consumed");
	expect_peer(b, NO_ID, &p.a);
}

static void test_names(void)
{
	gni_ep_handle_t a, other;
	struct answer ans;
	struct pair p;
	uint32_t x, y;
	uint64_t id;
	char buf[16];

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	other = wild(&p.a);
	is_rc(GNI_EpPostDataWId(a, buf, 1, buf, 1, ~0ULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataTestById(a, ~0ULL, &ans.state, &x, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataWaitById(a, ~0ULL, 10, &ans.state, &x, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataCancelById(a, ~0ULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataTest(a, NULL, &x, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataTestById(a, 1, &ans.state, NULL, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataTestById(a, 1, &ans.state, &x, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataWait(a, 10, NULL, &x, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostDataProbe(p.a.h, NULL, &y), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostDataProbe(p.a.h, &x, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostDataProbeById(p.a.h, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostDataProbeById(NULL, &id), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostdataProbeWaitById(p.a.h, 10, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostdataProbeWaitById(NULL, 10, &id), GNI_RC_INVALID_PARAM);
	/* A datagram answers to its endpoint and its own name only. */
	is_rc(dgram_post(a, "a", buf, 16, 5), GNI_RC_SUCCESS);
	is_rc(dgram_test(a, 6, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_test(a, NO_ID, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_test(other, 5, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_wait(a, 6, 10, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_wait(a, NO_ID, 10, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_wait(other, NO_ID, -1, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(a, 6), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(a, NO_ID), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(other, 5), GNI_RC_NO_MATCH);
	expect_state(a, 5, GNI_POST_PENDING);
	is_rc(dgram_cancel(a, 5), GNI_RC_SUCCESS);
	expect_state(a, 5, GNI_POST_TERMINATED);
	is_rc(dgram_cancel(a, 5), GNI_RC_NO_MATCH);
	is_rc(dgram_post(a, "a", buf, 16, NO_ID), GNI_RC_SUCCESS);
	is_rc(dgram_test(a, 0, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(a, 0), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(a, NO_ID), GNI_RC_SUCCESS);
	expect_state(a, NO_ID, GNI_POST_TERMINATED);
}

/* --- waiting ------------------------------------------------------------------- */

static void test_timeouts(void)
{
	gni_ep_handle_t a;
	struct answer ans;
	uint64_t began, id;
	struct pair p;
	char buf[16];

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	is_rc(dgram_post(a, "a", buf, 16, 5), GNI_RC_SUCCESS);
	is_rc(dgram_wait(a, 5, 0, &ans), GNI_RC_INVALID_PARAM);
	began = now_ms();
	is_rc(dgram_wait(a, 5, 60, &ans), GNI_RC_TIMEOUT);
	ok(now_ms() - began >= 59 && now_ms() - began < 10000);
	began = now_ms();
	is_rc(GNI_PostdataProbeWaitById(p.a.h, 60, &id), GNI_RC_TIMEOUT);
	ok(now_ms() - began >= 59 && now_ms() - began < 10000);
	is_rc(GNI_PostdataProbeWaitById(p.a.h, 0, &id), GNI_RC_TIMEOUT, "a look");
	expect_state(a, 5, GNI_POST_PENDING);
	is_rc(dgram_cancel(a, 5), GNI_RC_SUCCESS);
	is_rc(GNI_PostdataProbeWaitById(p.a.h, 0, &id), GNI_RC_SUCCESS);
	is_rc(GNI_PostdataProbeWaitById(p.a.h, -1, &id), GNI_RC_SUCCESS, "level triggered");
	is_u64(id, 5);
	is_rc(dgram_wait(a, 5, -1, &ans), GNI_RC_SUCCESS);
	is_u64(ans.state, GNI_POST_TERMINATED);
	is_rc(dgram_post(a, "a", buf, 16, NO_ID), GNI_RC_SUCCESS);
	is_rc(dgram_wait(a, NO_ID, 0, &ans), GNI_RC_INVALID_PARAM);
	is_rc(dgram_wait(a, NO_ID, 30, &ans), GNI_RC_TIMEOUT);
}

struct prober {
	struct nic *n;
	gni_ep_handle_t ep;	/* wait on it; else probe */
	uint32_t timeout;
	_Atomic pid_t tid;
	_Atomic bool done;
	gni_return_t rc;
	uint64_t id;
	struct answer answer;
};

static void *probe_thread(void *arg)
{
	struct prober *w = arg;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	w->tid = thread_id();
	if (w->ep)
		w->rc = dgram_wait(w->ep, w->id, w->timeout, &w->answer);
	else
		w->rc = GNI_PostdataProbeWaitById(w->n->h, w->timeout, &w->id);
	w->done = true;
	return NULL;
}

static pthread_t start_prober(struct prober *w)
{
	pthread_t thread;

	w->tid = 0;
	w->done = false;
	must(!pthread_create(&thread, NULL, probe_thread, w));
	/* A timeout may be over before anybody looks. */
	ok(wait_for(w->tid && (asleep(w->tid) || (w->done && w->timeout != (uint32_t)FOREVER))),
	   "the prober sleeps");
	return thread;
}

static void test_wakes(void)
{
	gni_ep_handle_t a, b, w;
	struct prober prober;
	pthread_t thread;
	struct pair p;
	char buf[16];

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	b = bound(&p.b, &p.a);
	w = wild(&p.a);
	prober = (struct prober){ .n = &p.a, .timeout = -1 };
	/* A match. */
	is_rc(dgram_post(a, "a", buf, 16, 1), GNI_RC_SUCCESS);
	thread = start_prober(&prober);
	is_rc(dgram_post(b, "b", buf, 16, 2), GNI_RC_SUCCESS);
	pthread_join(thread, NULL);
	is_rc(prober.rc, GNI_RC_SUCCESS);
	is_u64(prober.id, 1);
	expect_peer(a, 1, &p.b);
	expect_peer(b, 2, &p.a);
	/* Cancelling what is bound. */
	is_rc(dgram_post(a, "a", buf, 16, 3), GNI_RC_SUCCESS);
	thread = start_prober(&prober);
	is_rc(dgram_cancel(a, 3), GNI_RC_SUCCESS);
	pthread_join(thread, NULL);
	is_u64(prober.id, 3);
	expect_state(a, 3, GNI_POST_TERMINATED);
	/* Destroying an endpoint, bound or not: reported once. */
	is_rc(dgram_post(a, "a", buf, 16, 4), GNI_RC_SUCCESS);
	thread = start_prober(&prober);
	is_rc(GNI_EpDestroy(a), GNI_RC_SUCCESS);
	pthread_join(thread, NULL);
	is_rc(prober.rc, GNI_RC_SUCCESS);
	is_u64(prober.id, 4);
	no_probe(&p.a);
	is_rc(dgram_post(w, "a", buf, 16, 5), GNI_RC_SUCCESS);
	thread = start_prober(&prober);
	is_rc(GNI_EpDestroy(w), GNI_RC_SUCCESS);
	pthread_join(thread, NULL);
	is_rc(prober.rc, GNI_RC_SUCCESS);
	is_u64(prober.id, 5);
	no_probe(&p.a);
	/* A wait on the endpoint itself. */
	prober = (struct prober){ .ep = b, .id = 6, .timeout = -1 };
	is_rc(dgram_post(b, "b", buf, 16, 6), GNI_RC_SUCCESS);
	thread = start_prober(&prober);
	w = wild(&p.a);
	is_rc(dgram_post(w, "w", buf, 16, 7), GNI_RC_SUCCESS);
	pthread_join(thread, NULL);
	is_rc(prober.rc, GNI_RC_SUCCESS);
	is_u64(prober.answer.state, GNI_POST_COMPLETED);
	is_u64(prober.answer.id, A);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Signals don't end these waits, and don't make them longer. */
static void test_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	const uint32_t timeout = 1000 * time_scale();
	struct prober prober;
	pthread_t thread;
	uint64_t began;
	struct pair p;
	char buf[16];
	int i;

	pair_open(&p, 0);
	sigaction(SIGUSR1, &act, NULL);
	for (i = 0; i < 2; i++) {
		prober = (struct prober){ .n = &p.a, .timeout = timeout, .id = 1 };
		if (i) {
			prober.ep = bound(&p.a, &p.b);
			must_do(dgram_post(prober.ep, "a", buf, 16, 1));
		}
		began = now_ms();
		thread = start_prober(&prober);
		pthread_kill(thread, SIGUSR1);
		nap();
		pthread_kill(thread, SIGUSR1);
		pthread_join(thread, NULL);
		is_rc(prober.rc, GNI_RC_TIMEOUT, "call %d", i);
		ok(now_ms() - began >= timeout - 1, "call %d", i);
	}
}

static void test_thread_cancel(void)
{
	struct prober prober;
	void *result = NULL;
	gni_ep_handle_t a;
	pthread_t thread;
	struct pair p;
	char buf[16];
	int i;

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	for (i = 0; i < 2; i++) {
		prober = (struct prober){ .n = &p.a, .timeout = -1, .id = 1 };
		must_do(dgram_post(a, "a", buf, 16, 1));
		prober.ep = i ? a : NULL;
		thread = start_prober(&prober);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		ok(result == PTHREAD_CANCELED);
		is_rc(dgram_cancel(a, 1), GNI_RC_SUCCESS);
		expect_state(a, 1, GNI_POST_TERMINATED);
	}
}

/* --- cancel and destroy -------------------------------------------------------- */

static void test_cancel(void)
{
	gni_ep_handle_t a, b, w;
	struct answer ans;
	struct pair p;
	uint64_t id;
	char buf[16] = "";

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	b = bound(&p.b, &p.a);
	w = wild(&p.a);
	is_rc(dgram_cancel(a, 1), GNI_RC_NO_MATCH);
	is_rc(dgram_cancel(a, NO_ID), GNI_RC_NO_MATCH);
	is_rc(GNI_EpPostDataCancel(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpPostDataCancelById(NULL, 1), GNI_RC_INVALID_PARAM);
	is_rc(dgram_post(w, "w", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(dgram_cancel(w, 1), GNI_RC_SUCCESS, "a wildcard is gone at once");
	is_rc(dgram_test(w, 1, &ans), GNI_RC_NO_MATCH);
	no_probe(&p.a);
	is_rc(dgram_post(b, "b", buf, 16, 2), GNI_RC_SUCCESS);
	expect_state(b, 2, GNI_POST_PENDING);
	/* What is cancelled matches no more. */
	is_rc(dgram_cancel(b, 2), GNI_RC_SUCCESS);
	is_rc(dgram_post(a, "a", buf, 16, 3), GNI_RC_SUCCESS);
	expect_state(a, 3, GNI_POST_PENDING);
	is_rc(GNI_PostDataProbeById(p.b.h, &id), GNI_RC_SUCCESS);
	is_u64(id, 2);
	expect_state(b, 2, GNI_POST_TERMINATED);
	is_rc(dgram_test(b, 2, &ans), GNI_RC_NO_MATCH);
	/* What has completed stays so. */
	is_rc(dgram_post(b, "text", buf, 16, 4), GNI_RC_SUCCESS);
	is_rc(dgram_cancel(a, 3), GNI_RC_SUCCESS);
	is_rc(dgram_cancel(b, 4), GNI_RC_SUCCESS);
	expect_peer(a, 3, &p.b);
	ok(!strcmp(buf, "text"));
	expect_peer(b, 4, &p.a);
}

static void test_destroy(void)
{
	gni_ep_handle_t a, b, c;
	struct answer ans;
	struct pair p;
	uint64_t id;
	char buf[16];

	pair_open(&p, 0);
	a = bound(&p.a, &p.b);
	is_rc(dgram_post(a, "a", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(a), GNI_RC_SUCCESS);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_INVALID_PARAM);
	/* Its place is free, for the peer as well. */
	a = bound(&p.a, &p.b);
	is_rc(dgram_test(a, 1, &ans), GNI_RC_NO_MATCH);
	is_rc(dgram_post(a, "a", buf, 16, 2), GNI_RC_SUCCESS);
	b = bound(&p.b, &p.a);
	is_rc(dgram_post(b, "b", buf, 16, 3), GNI_RC_SUCCESS);
	expect_peer(a, 2, &p.b);
	is_rc(GNI_PostDataProbeById(p.a.h, &id), GNI_RC_SUCCESS);
	is_u64(id, 1, "what the destroyed endpoint had");
	no_probe(&p.a);
	/* Matched, and not asked about. */
	is_rc(GNI_EpDestroy(b), GNI_RC_SUCCESS);
	is_rc(GNI_PostDataProbeById(p.b.h, &id), GNI_RC_SUCCESS);
	is_u64(id, 3);
	no_probe(&p.b);
	/* With no id it is told of by address. */
	c = bound(&p.b, &p.a);
	is_rc(dgram_post(c, "c", buf, 16, NO_ID), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(c), GNI_RC_SUCCESS);
	is_rc(GNI_PostDataProbe(p.b.h, &ans.pe, &ans.id), GNI_RC_SUCCESS);
	ok(ans.pe == p.a.pe && ans.id == A);
	no_probe(&p.b);
}

/* Clients that never probe leave nothing that piles up. */
static void test_never_probed(void)
{
	gni_ep_handle_t a;
	struct pair p;
	char buf[16];
	int i;

	pair_open(&p, 0);
	for (i = 0; i < 17000; i++) {
		a = i & 1 ? wild(&p.a) : bound(&p.a, &p.b);
		if (!is_rc(dgram_post(a, "a", buf, 16, i), GNI_RC_SUCCESS, "turn %d", i))
			break;
		must_do(GNI_EpDestroy(a));
	}
}

/* An endpoint that served as a wildcard may be bound afterwards. */
static void test_bind_later(void)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t w, b;
	struct region r;
	struct pair p;
	char buf[16];

	pair_open(&p, 0);
	must_do(GNI_EpCreate(p.a.h, p.a.tx, &w));
	b = bound(&p.b, &p.a);
	is_rc(dgram_post(w, "w", buf, 16, 1), GNI_RC_SUCCESS);
	is_rc(dgram_post(b, "b", buf, 16, 2), GNI_RC_SUCCESS);
	expect_peer(w, 1, &p.b);
	expect_peer(b, 2, &p.a);
	is_rc(GNI_EpBind(w, p.b.pe, B), GNI_RC_SUCCESS);
	region_open(&p.b, map_private(PAGE), PAGE, NULL, 0, &r);
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, "abc", NULL, &r, 0, 4);
	is_rc(post_wait(w, p.a.tx, &d), GNI_RC_SUCCESS);
	is_rc(dgram_post(w, "w", buf, 16, 3), GNI_RC_SUCCESS);
	is_rc(dgram_post(b, "b", buf, 16, 4), GNI_RC_SUCCESS);
	expect_peer(w, 3, &p.b);
}

/* --- processes ----------------------------------------------------------------- */

static void die_after_match(void *arg)
{
	const struct nic *to = arg;
	gni_ep_handle_t b;
	char buf[16];
	struct nic n;

	nic_open(&n, 1, B);
	b = bound(&n, to);
	is_rc(dgram_post(b, "last words", buf, 16, 1), GNI_RC_SUCCESS);
	give(0);
	take(1);
	raise(SIGKILL);
}

static void test_peer_dies(void)
{
	char buf[16] = "";
	gni_ep_handle_t w, b;
	struct answer ans;
	struct nic n;
	pid_t pid;
	int i;

	nic_open(&n, 0, A);
	w = wild(&n);
	for (i = 0; i < 2; i++) {
		pid = peer(die_after_match, &n);
		take(0);
		if (!i) {
			/* Matched, then dead: what it said is still there. */
			is_rc(dgram_post(w, "w", buf, 16, 1), GNI_RC_SUCCESS);
			give(1);
			reap_killed(pid);
			is_rc(dgram_test(w, 1, &ans), GNI_RC_SUCCESS);
			is_u64(ans.state, GNI_POST_COMPLETED);
			is_u64(ans.id, B);
			ok(!strcmp(buf, "last words"));
		} else {
			/* Dead first: its datagram is gone. */
			give(1);
			reap_killed(pid);
			is_rc(dgram_post(w, "w", buf, 16, 1), GNI_RC_SUCCESS);
			expect_state(w, 1, GNI_POST_PENDING);
		}
	}
	b = bound(&n, &(struct nic){ .pe = n.pe + 1, .id = B });
	is_rc(dgram_post(b, "to the dead", buf, 16, 2), GNI_RC_SUCCESS);
	expect_state(b, 2, GNI_POST_PENDING);
}

#define RANKS	8
#define WILD	1000

/* One rank of many that connect with a wildcard each and bound datagrams. */
struct rank {
	struct nic n;
	int me;
	int connected;
	bool have[RANKS];
	gni_ep_handle_t wild_ep;
	gni_ep_handle_t ep[RANKS];
	uint32_t sent[4];
	uint32_t got[RANKS + 1][4];
};

static uint32_t rank_pe[2];

static void rank_connected(struct rank *r, uint32_t pe, uint32_t peer, const uint32_t *data)
{
	must(peer < RANKS && peer != (uint32_t)r->me);
	ok(!r->have[peer], "rank %d has met %u already", r->me, peer);
	r->have[peer] = true;
	r->connected++;
	is_u64(pe, rank_pe[peer & 1]);
	ok(data[0] == peer && data[1] == peer * 77 && data[3] == ~peer, "rank %d, from %u", r->me,
	   peer);
}

static void rank_post_wild(struct rank *r)
{
	must_do(GNI_EpPostDataWId(r->wild_ep, r->sent, 16, r->got[RANKS], 16, WILD));
}

/* Deals with one datagram that is done, if there is one. */
static bool rank_progress(struct rank *r)
{
	gni_post_state_t state;
	uint32_t pe, peer;
	uint64_t id;

	if (GNI_PostDataProbeById(r->n.h, &id) != GNI_RC_SUCCESS)
		return false;
	must(id == WILD || id < RANKS);
	must_do(GNI_EpPostDataTestById(id == WILD ? r->wild_ep : r->ep[id], id, &state, &pe,
				       &peer));
	is_u64(state, GNI_POST_COMPLETED);
	rank_connected(r, pe, peer, r->got[id == WILD ? RANKS : id]);
	if (id == WILD)
		rank_post_wild(r);
	else
		is_u64(peer, id);
	return true;
}

static void rank_connect(struct rank *r, int peer)
{
	gni_return_t rc;

	if (r->have[peer])
		return;
	must_do(GNI_EpCreate(r->n.h, NULL, &r->ep[peer]));
	must_do(GNI_EpBind(r->ep[peer], rank_pe[peer & 1], peer));
	rc = GNI_EpPostDataWId(r->ep[peer], r->sent, 16, r->got[peer], 16, peer);
	ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "%s", rc_name(rc));
}

static void rank_main(void *arg)
{
	struct rank r = { .me = *(int *)arg };
	uint32_t seed = 12345 + r.me;
	uint64_t end, id;
	int i;

	nic_open(&r.n, r.me & 1, r.me);
	r.sent[0] = r.me;
	r.sent[1] = r.me * 77;
	r.sent[3] = ~r.me;
	r.wild_ep = wild(&r.n);
	give(0);
	take(1);
	rank_post_wild(&r);
	for (i = 1; i < RANKS; i++) {
		rank_connect(&r, (r.me + i) % RANKS);
		if (rnd(&seed) & 1)
			rank_progress(&r);
	}
	end = now_ms() + PATIENCE;
	while (r.connected < RANKS - 1 && now_ms() < end) {
		if (!rank_progress(&r))
			GNI_PostdataProbeWaitById(r.n.h, 100, &id);
	}
	is_u64(r.connected, RANKS - 1, "rank %d", r.me);
	give(2);
	take(3);
	/* Nothing else has arrived. */
	is_rc(GNI_PostDataProbeById(r.n.h, &id), GNI_RC_NO_MATCH);
}

static void test_all_to_all(void)
{
	pid_t pid[RANKS];
	int i, round;
	uint32_t cpu;

	for (i = 0; i < 2; i++)
		must_do(GNI_CdmGetNicAddress(i, &rank_pe[i], &cpu));
	for (round = 0; round < 8; round++) {
		for (i = 0; i < RANKS; i++)
			pid[i] = peer(rank_main, &i);
		for (i = 0; i < RANKS; i++)
			take(0);
		for (i = 0; i < RANKS; i++)
			give(1);
		for (i = 0; i < RANKS; i++)
			take(2);
		for (i = 0; i < RANKS; i++)
			give(3);
		for (i = 0; i < RANKS; i++)
			reap(pid[i]);
	}
}

static const struct test tests[] = {
	CASE("bound with bound", test_bound_here),
	CASE("bound with bound, two NICs", test_bound_nics),
	CASE("bound with wildcard", test_wild_here),
	CASE("bound with wildcard, two NICs", test_wild_nics),
	CASE("with oneself", test_self),
	CASE("the oldest wildcard first", test_order),
	CASE("arrivals wait for wildcards", test_arrivals_wait),
	CASE("another job", test_other_job),
	CASE("nobody there", test_nobody),
	CASE("one at a time", test_busy),
	CASE("sizes", test_sizes),
	CASE("names and arguments", test_names),
	CASE("timeouts", test_timeouts),
	CASE("what wakes a prober", test_wakes),
	CASE("signals", test_signals),
	CASE("a thread is cancelled", test_thread_cancel),
	CASE("cancel", test_cancel),
	CASE("endpoint destroyed", test_destroy),
	CASE("never probed", test_never_probed),
	CASE("wildcard endpoint bound later", test_bind_later),
	CASE("peer dies", test_peer_dies),
	CASE("eight processes connect, each with each", test_all_to_all, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
