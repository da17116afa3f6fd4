// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared message queues. Needs two NICs, which are two nodes. UGNI_MSGQ_DIR or the
 * hugetlbfs that is mounted decides what memory they are of.
 *
 *	msgq
 *	msgq user	as a plain user: RLIMIT_MEMLOCK counts
 *	msgq lossy	ways between NICs fail; needs a kernel with fault injection
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "common.h"
#include "core/msgq.h"

#define A	0x80000001U
#define B	0x90000002U
#define SIZE	100

/* What arrived, as the callback was told. */
struct letter {
	uint32_t id;
	uint32_t pe;
	uint8_t tag;
	unsigned char msg[GNI_MSGQ_MSG_SZ_MAX];
};

struct inst {
	struct nic n;
	gni_cq_handle_t cq;
	gni_msgq_handle_t q;
	struct letter in[600];
	unsigned int count;
	int go_on;		/* what the callback returns */
};

static gni_msgq_attr_t attrs(uint32_t size, uint32_t slots, uint32_t conns, uint32_t insts)
{
	return (gni_msgq_attr_t){
		.max_msg_sz = size,
		.smsg_q_sz = slots,
		.rcv_pool_sz = 16,
		.num_msgq_eps = conns,
		.nloc_insts = insts,
		.rcv_cq_sz = 1024,
	};
}

static int record(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	struct inst *i = cb_data;
	struct letter *l = &i->in[i->count++ % ARRAY_SIZE(i->in)];

	l->id = snd_id;
	l->pe = snd_pe;
	l->tag = msg_tag;
	memcpy(l->msg, msg, sizeof(l->msg));
	return i->go_on;
}

static void inst_nic(struct inst *i, uint32_t device, uint32_t id)
{
	memset(i, 0, sizeof(*i));
	i->go_on = 1;
	nic_open(&i->n, device, id);
}

static gni_return_t inst_init(struct inst *i, gni_msgq_attr_t a)
{
	return GNI_MsgqInit(i->n.h, record, i, i->n.tx, &a, &i->q);
}

static void inst_open(struct inst *i, uint32_t device, uint32_t id, gni_msgq_attr_t a)
{
	inst_nic(i, device, id);
	must_do(inst_init(i, a));
}

static void inst_close(struct inst *i)
{
	is_rc(GNI_MsgqRelease(i->q), GNI_RC_SUCCESS);
	nic_close(&i->n);
}

static void join_nodes(struct inst *a, struct inst *b)
{
	gni_msgq_ep_attr_t at_a, at_b;

	must_do(GNI_MsgqGetConnAttrs(a->q, b->n.pe, &at_a, NULL));
	must_do(GNI_MsgqGetConnAttrs(b->q, a->n.pe, &at_b, NULL));
	must_do(GNI_MsgqConnect(a->q, b->n.pe, &at_b));
	must_do(GNI_MsgqConnect(b->q, a->n.pe, &at_a));
}

/* Two nodes of an instance each, both in this process. */
static struct inst a, b;
static gni_ep_handle_t to_b, to_a;

static void pair_open(gni_msgq_attr_t at)
{
	inst_open(&a, 0, A, at);
	inst_open(&b, 1, B, at);
	join_nodes(&a, &b);
	to_b = ep_open(&a.n, b.n.pe, B);
	to_a = ep_open(&b.n, a.n.pe, A);
}

static void pair_close(void)
{
	is_rc(GNI_EpDestroy(to_a), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(to_b), GNI_RC_SUCCESS);
	inst_close(&a);
	inst_close(&b);
}

/* Files that queues are in; they go with the last instance. */
static int files(void)
{
	const char *dir = getenv("UGNI_MSGQ_DIR");
	struct dirent *entry;
	int count = 0;
	DIR *d;

	d = opendir(dir ? dir : "/mnt/huge");
	must(d);
	while ((entry = readdir(d)))
		count += !strncmp(entry->d_name, "kgni-msgq-", 10);
	closedir(d);
	return count;
}

/* The event of a send. */
static void expect_sent(struct inst *i, uint32_t msg_id, gni_return_t rc)
{
	gni_post_descriptor_t *d = (void *)1;
	gni_cq_entry_t ev = 0;

	is_rc(next_event(i->n.tx, &ev), rc);
	is_u64(gni_cq_get_type(ev), GNI_CQ_EVENT_TYPE_MSGQ);
	is_u64(gni_cq_get_msg_id(ev), msg_id);
	is_u64(!GNI_CQ_STATUS_OK(ev), rc != GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(i->n.tx, ev, &d), GNI_RC_DESCRIPTOR_ERROR, "there is no descriptor");
	ok(!d);
}

static gni_return_t send_number(struct inst *i, gni_ep_handle_t ep, uint32_t n)
{
	return GNI_MsgqSend(i->q, ep, &n, sizeof(n), NULL, 0, n, (uint8_t)n);
}

static uint32_t number(const struct letter *l)
{
	uint32_t n;

	memcpy(&n, l->msg, sizeof(n));
	return n;
}

/* --- joining --------------------------------------------------------------------- */

static const gni_msgq_attr_t good = {
	.max_msg_sz = SIZE, .smsg_q_sz = 8, .rcv_pool_sz = 4, .num_msgq_eps = 2,
	.nloc_insts = 1, .rcv_cq_sz = 64,
};

/* Attributes that make no sense, one after another; false after the last. */
static bool bad_attrs(unsigned int n, gni_msgq_attr_t *at)
{
	static const struct {
		size_t field;
		uint32_t value;
	} bad[] = {
		{ offsetof(gni_msgq_attr_t, max_msg_sz), 0 },
		{ offsetof(gni_msgq_attr_t, max_msg_sz), GNI_MSGQ_MSG_SZ_MAX + 1 },
		{ offsetof(gni_msgq_attr_t, smsg_q_sz), 0 },
		{ offsetof(gni_msgq_attr_t, smsg_q_sz), 32769 },
		{ offsetof(gni_msgq_attr_t, smsg_q_sz), ~0U },
		{ offsetof(gni_msgq_attr_t, rcv_pool_sz), 0 },
		{ offsetof(gni_msgq_attr_t, rcv_pool_sz), ~0U },
		{ offsetof(gni_msgq_attr_t, num_msgq_eps), 0 },
		{ offsetof(gni_msgq_attr_t, num_msgq_eps), ~0U },
		{ offsetof(gni_msgq_attr_t, nloc_insts), 0 },
		{ offsetof(gni_msgq_attr_t, nloc_insts), GNI_MSGQ_NODE_INSTS_MAX + 1 },
		{ offsetof(gni_msgq_attr_t, rcv_cq_sz), 0 },
		{ offsetof(gni_msgq_attr_t, rcv_cq_sz), ~0U },
	};

	*at = good;
	if (n < ARRAY_SIZE(bad)) {
		memcpy((char *)at + bad[n].field, &bad[n].value, sizeof(bad[n].value));
		return true;
	}
	switch (n - ARRAY_SIZE(bad)) {
	case 0:
		at->modes = 2;
		return true;
	case 1:
		at->smsg_q_sz = 32768;
		at->num_msgq_eps = 1000;	/* 6 GB */
		return true;
	}
	return false;
}

static void test_size(void)
{
	gni_msgq_attr_t at = good;
	uint32_t size = 0, more = 0;
	unsigned int i;

	is_rc(GNI_MsgqSize(&at, &size), GNI_RC_SUCCESS);
	ok(size >= 2 * 8 * SIZE && !(size % PAGE), "%u", size);
	at.smsg_q_sz = 30000;
	is_rc(GNI_MsgqSize(&at, &more), GNI_RC_SUCCESS);
	ok(more - size >= 2 * 29000 * SIZE && !(more % PAGE), "%u", more);
	is_rc(GNI_MsgqSize(NULL, &size), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqSize(&at, NULL), GNI_RC_INVALID_PARAM);
	for (i = 0; bad_attrs(i, &at); i++)
		is_rc(GNI_MsgqSize(&at, &size), GNI_RC_INVALID_PARAM, "%u", i);
}

static void test_init(void)
{
	gni_msgq_handle_t q;
	gni_msgq_attr_t at;
	struct nic other;
	unsigned int i;
	struct inst *c = &b;

	inst_nic(&a, 0, A);
	nic_open(&other, 1, B);
	at = good;
	is_rc(GNI_MsgqInit(NULL, record, &a, a.n.tx, &at, &q), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqInit(a.n.h, record, &a, other.tx, &at, &q), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqInit(a.n.h, record, &a, a.n.tx, NULL, &q), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqInit(a.n.h, record, &a, a.n.tx, &at, NULL), GNI_RC_INVALID_PARAM);
	for (i = 0; bad_attrs(i, &at); i++)
		is_rc(inst_init(&a, at), GNI_RC_INVALID_PARAM, "%u", i);
	is_u64(files(), 0);
	at = good;
	at.nloc_insts = 2;
	is_rc(inst_init(&a, at), GNI_RC_SUCCESS);
	is_u64(files(), 1);
	is_rc(GNI_MsgqInit(a.n.h, record, &a, a.n.tx, &at, &q), GNI_RC_INVALID_STATE, "same id");
	/* The others give the same attributes. */
	inst_nic(c, 0, A + 1);
	for (i = 0; i < 7; i++) {
		gni_msgq_attr_t x = at;

		x.max_msg_sz -= i == 0;
		x.smsg_q_sz += i == 1;
		x.rcv_pool_sz += i == 2;
		x.num_msgq_eps += i == 3;
		x.nloc_insts += i == 4;
		x.modes |= i == 5;
		x.rcv_cq_sz += i == 6;
		is_rc(inst_init(c, x), GNI_RC_INVALID_STATE, "%u", i);
	}
	is_rc(inst_init(c, at), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(c->q), GNI_RC_SUCCESS);
	is_rc(inst_init(c, at), GNI_RC_INVALID_STATE, "the others have to leave, too");
	is_rc(GNI_MsgqRelease(a.q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(a.q), GNI_RC_INVALID_PARAM, "twice");
	is_u64(files(), 0);
	at = good;
	is_rc(inst_init(c, at), GNI_RC_SUCCESS, "from the beginning");
	is_rc(inst_init(&a, at), GNI_RC_INVALID_STATE, "nloc_insts are there");
	is_rc(GNI_MsgqRelease(c->q), GNI_RC_SUCCESS);
	/* Neither callback nor queue: one who only makes connections. */
	is_rc(GNI_MsgqInit(a.n.h, NULL, NULL, NULL, &at, &q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqProgress(q, 0), GNI_RC_INVALID_PARAM, "no callback");
	is_rc(GNI_MsgqRelease(q), GNI_RC_SUCCESS);
	nic_close(&c->n);
	nic_close(&a.n);
	nic_close(&other);
}

/* Where no memory can be had. */
static void test_no_memory(void)
{
	char *was = getenv("UGNI_MSGQ_DIR");
	gni_msgq_attr_t at = good;
	uint32_t size;

	was = was ? strdup(was) : NULL;
	inst_nic(&a, 0, A);
	setenv("UGNI_MSGQ_DIR", "/nowhere", 1);
	is_rc(inst_init(&a, at), GNI_RC_PERMISSION_ERROR, "no such directory");
	is_rc(GNI_MsgqSize(&at, &size), GNI_RC_SUCCESS);
	is_u64(size % (2U << 20), 0);
	setenv("UGNI_MSGQ_DIR", "/proc", 1);
	is_rc(inst_init(&a, at), GNI_RC_PERMISSION_ERROR, "not a file system of memory");
	if (was) {
		/* Nothing is mounted then. */
		unsetenv("UGNI_MSGQ_DIR");
		is_rc(inst_init(&a, at), GNI_RC_PERMISSION_ERROR, "no hugetlbfs");
		setenv("UGNI_MSGQ_DIR", was, 1);
	} else {
		unsetenv("UGNI_MSGQ_DIR");
	}
	at.smsg_q_sz = 32768;
	at.num_msgq_eps = 600;
	is_rc(inst_init(&a, at), GNI_RC_ERROR_NOMEM, "4 GB");
	is_u64(files(), 0);
	is_rc(inst_init(&a, good), GNI_RC_SUCCESS);
	inst_close(&a);
}

/* --- connections ------------------------------------------------------------------- */

static void test_connect(void)
{
	gni_msgq_ep_attr_t at_a, at_b, x;
	gni_msgq_attr_t two = good;
	uint32_t size = 0;
	struct inst *c = &b;
	gni_ep_handle_t ep;

	two.nloc_insts = 2;
	inst_open(&a, 0, A, two);
	is_rc(GNI_MsgqGetConnAttrs(a.q, 77, &at_a, &size), GNI_RC_PERMISSION_ERROR, "one of two");
	is_rc(GNI_MsgqConnect(a.q, 77, &at_a), GNI_RC_PERMISSION_ERROR);
	inst_open(c, 0, A + 1, two);
	is_rc(GNI_MsgqGetConnAttrs(NULL, a.n.pe, &at_a, &size), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqGetConnAttrs(a.q, a.n.pe, NULL, &size), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqConnect(a.q, a.n.pe, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqConnRelease(NULL, a.n.pe), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqConnRelease(a.q, a.n.pe), GNI_RC_NO_MATCH);
	/* With itself, for want of a node; either instance may do either part. */
	is_rc(GNI_MsgqGetConnAttrs(a.q, a.n.pe, &at_a, &size), GNI_RC_SUCCESS);
	is_u64(at_a.pe_addr, a.n.pe);
	is_u64(at_a.num_insts, 2);
	is_u64(at_a.max_msg_sz, SIZE);
	is_u64(at_a.smsg_q_sz, 8);
	is_u64(at_a.insts[0].id, A);
	is_u64(at_a.insts[1].id, A + 1);
	is_u64(size, offsetof(gni_msgq_ep_attr_t, insts) + 2 * sizeof(gni_msgq_rem_inst_t));
	is_rc(GNI_MsgqGetConnAttrs(c->q, a.n.pe, &at_b, NULL), GNI_RC_INVALID_STATE, "begun");
	is_rc(GNI_MsgqGetConnAttrs(c->q, 77, &at_b, NULL), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqGetConnAttrs(c->q, 78, &at_b, NULL), GNI_RC_ERROR_RESOURCE, "there are two");
	is_rc(GNI_MsgqConnRelease(a.q, 77), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqConnRelease(c->q, 77), GNI_RC_NO_MATCH);
	is_rc(GNI_MsgqGetConnAttrs(c->q, 78, &at_b, NULL), GNI_RC_SUCCESS);
	ep = ep_open(&a.n, a.n.pe, A + 1);
	is_rc(GNI_MsgqSend(a.q, ep, NULL, 0, NULL, 0, 1, 2), GNI_RC_INVALID_STATE, "half of it");
	is_rc(GNI_MsgqConnect(c->q, 77, &at_a), GNI_RC_INVALID_PARAM, "another node's");
	x = at_a;
	x.pe_addr = 77;
	is_rc(GNI_MsgqConnect(c->q, 77, &x), GNI_RC_NO_MATCH);
#define BAD(field, value) do {						\
	x = at_a;							\
	x.field = value;						\
	is_rc(GNI_MsgqConnect(c->q, a.n.pe, &x), GNI_RC_INVALID_PARAM, #field);	\
} while (0)
	BAD(max_msg_sz, SIZE + 1);
	BAD(smsg_q_sz, 9);
	BAD(num_insts, 0);
	BAD(num_insts, 49);
	BAD(num_insts, ~0U);
	BAD(insts[1].mdh_off, at_a.insts[1].mdh_off + 8);
	BAD(insts[1].mdh_off, at_a.insts[1].mdh_off + (1ULL << 39));
	is_rc(GNI_MsgqConnect(c->q, a.n.pe, &at_a), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqConnect(a.q, a.n.pe, &at_a), GNI_RC_INVALID_STATE, "twice");
	is_rc(GNI_MsgqSend(a.q, ep, "x", 2, NULL, 0, 1, 2), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqConnRelease(a.q, a.n.pe), GNI_RC_NOT_DONE, "an event was not taken");
	is_rc(GNI_MsgqRelease(a.q), GNI_RC_NOT_DONE, "an event was not taken");
	is_rc(GNI_MsgqIdle(a.q), GNI_RC_NOT_DONE, "an event was not taken");
	expect_sent(&a, 1, GNI_RC_SUCCESS);
	is_rc(GNI_MsgqIdle(a.q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqIdle(c->q), GNI_RC_NOT_DONE, "a message");
	is_rc(GNI_MsgqConnRelease(a.q, a.n.pe), GNI_RC_NOT_DONE, "a message");
	is_rc(GNI_MsgqProgress(c->q, 0), GNI_RC_SUCCESS);
	is_u64(c->count, 1);
	is_rc(GNI_MsgqIdle(c->q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqConnRelease(c->q, a.n.pe), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqSend(a.q, ep, NULL, 0, NULL, 0, 1, 2), GNI_RC_NO_MATCH, "released");
	/* Who leaves ends it for all. */
	is_rc(GNI_MsgqRelease(c->q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqGetConnAttrs(a.q, a.n.pe, &at_a, &size), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_MsgqConnect(a.q, 78, &at_b), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_MsgqConnRelease(a.q, 78), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqIdle(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	nic_close(&c->n);
	inst_close(&a);
	is_u64(files(), 0);
}

/* Released and made anew, with messages each time, in all orders. */
static void test_reconnect(void)
{
	unsigned int round, i;

	pair_open(attrs(SIZE, 5, 2, 1));
	for (round = 0; round < 40; round++) {
		for (i = 0; i < round % 6; i++) {
			is_rc(send_number(&a, to_b, i), GNI_RC_SUCCESS);
			expect_sent(&a, i, GNI_RC_SUCCESS);
			is_rc(send_number(&b, to_a, i), GNI_RC_SUCCESS);
			expect_sent(&b, i, GNI_RC_SUCCESS);
			is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
			is_rc(GNI_MsgqProgress(a.q, 0), GNI_RC_SUCCESS);
			is_u64(number(&b.in[b.count - 1]), i);
		}
		/* What the other has consumed it tells when it is asked. */
		while (GNI_MsgqConnRelease(a.q, b.n.pe) == GNI_RC_NOT_DONE)
			is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		while (GNI_MsgqConnRelease(b.q, a.n.pe) == GNI_RC_NOT_DONE)
			is_rc(GNI_MsgqProgress(a.q, 0), GNI_RC_SUCCESS);
		is_rc(GNI_MsgqConnRelease(b.q, a.n.pe), GNI_RC_NO_MATCH);
		join_nodes(&a, &b);
	}
	pair_close();
}

/* --- messages ------------------------------------------------------------------------ */

static void test_send(void)
{
	unsigned char buf[2 * GNI_MSGQ_MSG_SZ_MAX];
	gni_ep_handle_t ep, nobody, nowhere;
	struct nic other;

	pair_open(good);
	is_rc(GNI_MsgqSend(NULL, to_b, buf, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqSend(a.q, NULL, buf, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqSend(a.q, to_a, buf, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM, "b's");
	is_rc(GNI_MsgqSend(a.q, to_b, NULL, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqSend(a.q, to_b, NULL, 0, NULL, 1, 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MsgqSend(a.q, to_b, buf, SIZE + 1, NULL, 0, 1, 2), GNI_RC_SIZE_ERROR);
	is_rc(GNI_MsgqSend(a.q, to_b, NULL, 0, buf, SIZE + 1, 1, 2), GNI_RC_SIZE_ERROR);
	is_rc(GNI_MsgqSend(a.q, to_b, buf, SIZE, buf, 1, 1, 2), GNI_RC_SIZE_ERROR);
	is_rc(GNI_MsgqSend(a.q, to_b, buf, 2, buf, ~0U, 1, 2), GNI_RC_SIZE_ERROR);
	must_do(GNI_EpCreate(a.n.h, a.n.tx, &ep));
	is_rc(GNI_MsgqSend(a.q, ep, buf, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM, "not bound");
	nobody = ep_open(&a.n, b.n.pe, B + 1);
	nowhere = ep_open(&a.n, 77, B);
	is_rc(GNI_MsgqSend(a.q, nobody, buf, 1, NULL, 0, 1, 2), GNI_RC_NO_MATCH);
	is_rc(GNI_MsgqSend(a.q, nowhere, buf, 1, NULL, 0, 1, 2), GNI_RC_NO_MATCH);
	nic_open(&other, 1, B + 7);
	is_rc(GNI_MsgqSend((void *)other.h, to_b, buf, 1, NULL, 0, 1, 2), GNI_RC_INVALID_PARAM);
	is_empty(a.n.tx);
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqProgress(NULL, 0), GNI_RC_INVALID_PARAM);
	is_u64(b.count, 0);
	/* An endpoint without a queue: nobody hears. */
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	must_do(GNI_EpCreate(a.n.h, NULL, &ep));
	must_do(GNI_EpBind(ep, b.n.pe, B));
	is_rc(GNI_MsgqSend(a.q, ep, "quiet", 6, NULL, 0, 1, 2), GNI_RC_SUCCESS);
	is_empty(a.n.tx);
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	is_u64(b.count, 1);
	ok(!strcmp((char *)b.in[0].msg, "quiet"));
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(nobody), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(nowhere), GNI_RC_SUCCESS);
	nic_close(&other);
	pair_close();
}

/* Every size, in every pair of parts. */
static void test_content(void)
{
	unsigned char buf[GNI_MSGQ_MSG_SZ_MAX];
	uint32_t len, head, id = 0xfffffff0;
	const struct letter *l = &b.in[0];

	pair_open(attrs(GNI_MSGQ_MSG_SZ_MAX, 3, 1, 1));
	for (len = 0; len <= GNI_MSGQ_MSG_SZ_MAX; len++) {
		for (head = 0; head <= len; head += 1 + len / 8, id++) {
			fill(buf, len, id);
			b.count = 0;
			is_rc(GNI_MsgqSend(a.q, to_b, head ? buf : NULL, head,
					   head < len ? buf + head : NULL, len - head, id,
					   (uint8_t)(id * 7)), GNI_RC_SUCCESS, "%u+%u", head,
			      len - head);
			memset(buf, 0xdd, sizeof(buf));
			expect_sent(&a, id, GNI_RC_SUCCESS);
			is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
			is_u64(b.count, 1);
			is_u64(l->id, A);
			is_u64(l->pe, a.n.pe);
			is_u64(l->tag, (uint8_t)(id * 7));
			ok(filled(l->msg, len, id), "%u+%u", head, len - head);
		}
	}
	pair_close();
}

/* Full, and then as many again as were consumed. */
static void test_credits(void)
{
	unsigned int slots, i, took, sent = 0, got = 0;

	for (slots = 1; slots <= 9; slots++) {
		pair_open(attrs(SIZE, slots, 1, 1));
		b.go_on = 0;
		sent = 0;
		got = 0;
		for (took = 0; took <= slots; took++) {
			while (send_number(&a, to_b, sent) == GNI_RC_SUCCESS)
				expect_sent(&a, sent++, GNI_RC_SUCCESS);
			is_rc(send_number(&a, to_b, 0), GNI_RC_NOT_DONE);
			is_empty(a.n.tx);
			ok(sent - got <= slots + 16, "%u sent, %u got", sent, got);
			ok(took || sent == slots, "%u of %u", sent, slots);
			for (i = 0; i < took; i++, got++) {
				is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_NOT_DONE, "one at a time");
				is_u64(number(&b.in[got % ARRAY_SIZE(b.in)]), got);
				is_u64(b.count, got + 1);
			}
		}
		b.go_on = 1;
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		is_u64(b.count, sent);
		is_u64(number(&b.in[sent - 1]), sent - 1);
		pair_close();
	}
}

/* A receiver whose messages nobody awaits does not keep those of others. */
static void test_ask(void)
{
	gni_msgq_attr_t at = attrs(SIZE, 8, 1, 1);
	uint32_t n = 0, i;

	at.rcv_pool_sz = 1;
	pair_open(at);
	b.go_on = 0;
	while (send_number(&a, to_b, n) == GNI_RC_SUCCESS)
		expect_sent(&a, n++, GNI_RC_SUCCESS);
	is_u64(n, 8);
	/* Fewer than it tells of by itself. */
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_NOT_DONE);
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_NOT_DONE);
	is_rc(send_number(&a, to_b, n), GNI_RC_NOT_DONE);
	b.go_on = 1;
	for (i = 0; i < 40 && send_number(&a, to_b, n) == GNI_RC_NOT_DONE; i++)
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	ok(i < 40, "no credits came back");
	expect_sent(&a, n, GNI_RC_SUCCESS);
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	is_u64(b.count, n + 1);
	for (i = 0; i <= n; i++)
		is_u64(number(&b.in[i]), i);
	pair_close();
}

/* A receive queue that is too small loses events, and no messages. */
static void test_overrun(void)
{
	gni_msgq_attr_t at = attrs(SIZE, 200, 1, 1);
	uint32_t n, round, i;

	at.rcv_cq_sz = 4;
	at.rcv_pool_sz = 3;
	pair_open(at);
	for (round = 0; round < 6; round++) {
		b.count = 0;
		for (n = 0; send_number(&a, to_b, n) == GNI_RC_SUCCESS; n++)
			expect_sent(&a, n, GNI_RC_SUCCESS);
		ok(n >= 100, "%u", n);
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		is_u64(b.count, n);
		for (i = 0; i < n; i++)
			is_u64(number(&b.in[i]), i);
	}
	is_rc(GNI_MsgqIdle(b.q), GNI_RC_SUCCESS);
	pair_close();
}

/* The callback's value: 0 leaves at once, and what is left comes with the next call. */
static void test_callback(void)
{
	uint32_t i;

	pair_open(attrs(SIZE, 64, 1, 1));
	for (i = 0; i < 40; i++) {
		is_rc(send_number(&a, to_b, i), GNI_RC_SUCCESS);
		expect_sent(&a, i, GNI_RC_SUCCESS);
	}
	b.go_on = 0;
	for (i = 0; i < 30; i++) {
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_NOT_DONE);
		is_u64(b.count, i + 1);
	}
	is_rc(GNI_MsgqIdle(b.q), GNI_RC_NOT_DONE);
	b.go_on = -1;
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	is_u64(b.count, 40);
	for (i = 0; i < 40; i++)
		is_u64(number(&b.in[i]), i);
	is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	is_u64(b.count, 40);
	pair_close();
}

/* A callback may use the queue itself: this one sends everything back, once. */
static int echo(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	struct inst *i = cb_data;

	(void)snd_id;
	(void)snd_pe;
	is_rc(GNI_MsgqSend(i->q, to_a, NULL, 0, msg, 4, 5, msg_tag), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqProgress(i->q, 0), GNI_RC_SUCCESS);
	return 1;
}

static void test_echo(void)
{
	gni_msgq_attr_t at = good;
	uint32_t i;

	inst_open(&a, 0, A, good);
	inst_nic(&b, 1, B);
	must_do(GNI_MsgqInit(b.n.h, echo, &b, b.n.tx, &at, &b.q));
	join_nodes(&a, &b);
	to_b = ep_open(&a.n, b.n.pe, B);
	to_a = ep_open(&b.n, a.n.pe, A);
	for (i = 0; i < 100; i++) {
		is_rc(send_number(&a, to_b, i), GNI_RC_SUCCESS);
		expect_sent(&a, i, GNI_RC_SUCCESS);
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		expect_sent(&b, 5, GNI_RC_SUCCESS);
		is_rc(GNI_MsgqProgress(a.q, 0), GNI_RC_SUCCESS);
		is_u64(a.count, i + 1);
		is_u64(number(&a.in[i]), i);
	}
	pair_close();
}

/* --- what others of the same user can do to the region ------------------------------- */

/* The region of a node, as another process would map it. */
static void region_map(struct kgni_msgq_view *v, const gni_msgq_attr_t *at, uint32_t pe)
{
	const char *dir = getenv("UGNI_MSGQ_DIR");
	struct dirent *entry;
	char path[300], is[32];
	uint32_t size;
	int fd = -1;
	DIR *d;

	memset(v, 0, sizeof(*v));
	must(kgni_msgq_shape_init(&v->shape, at->max_msg_sz, at->smsg_q_sz, at->num_msgq_eps,
				  at->nloc_insts));
	must_do(GNI_MsgqSize((gni_msgq_attr_t *)at, &size));
	snprintf(is, sizeof(is), "kgni-msgq-%u-%u-", geteuid(), pe);
	dir = dir ? dir : "/mnt/huge";
	d = opendir(dir);
	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.200s", dir, entry->d_name);
		if (!strncmp(entry->d_name, is, strlen(is)))
			fd = open(path, O_RDWR);
	}
	must(fd >= 0, "no %s in %s", is, dir);
	closedir(d);
	v->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(v->mem != MAP_FAILED);
	close(fd);
}

/* Each way in which a slot can be wrong; what comes after it is as good as ever. */
static void test_damaged(void)
{
	static const uint64_t flaws[] = {
		(uint64_t)(SIZE + 1) << 8, 1ULL << 49, 1ULL << 62, 0xffULL << 8,
	};
	gni_msgq_attr_t at = attrs(SIZE, 4, 1, 1);
	struct kgni_msgq_view v;
	uint32_t i, slot = 0;
	uint64_t *word;

	pair_open(at);
	region_map(&v, &at, b.n.pe);
	for (i = 0; i < 20; i++, slot++) {
		b.count = 0;
		is_rc(send_number(&a, to_b, i), GNI_RC_SUCCESS);
		expect_sent(&a, i, GNI_RC_SUCCESS);
		word = kgni_msgq_word_at(&v, 0, slot % 4);
		must(*word & KGNI_MSGQ_VALID);
		*word |= flaws[i % ARRAY_SIZE(flaws)];
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_INVALID_STATE, "%u", i);
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		is_u64(b.count, 0);
		slot++;
		is_rc(send_number(&a, to_b, 77), GNI_RC_SUCCESS);
		expect_sent(&a, 77, GNI_RC_SUCCESS);
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
		is_u64(b.count, 1);
		is_u64(number(&b.in[0]), 77);
	}
	pair_close();
}

/* --- waiting --------------------------------------------------------------------------- */

static pid_t waiter_tid;
static volatile gni_return_t waited;

static void *waiter(void *arg)
{
	struct inst *i = arg;

	__atomic_store_n(&waiter_tid, thread_id(), __ATOMIC_RELEASE);
	waited = GNI_MsgqProgress(i->q, 600000);
	return NULL;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void test_blocking(void)
{
	gni_msgq_attr_t at = good;
	pthread_t thread;
	uint64_t began;
	int round;

	at.modes = GNI_MSGQ_MODE_BLOCKING;
	pair_open(at);
	began = now_ms();
	is_rc(GNI_MsgqProgress(b.q, 50), GNI_RC_SUCCESS, "nothing comes");
	ok(now_ms() - began >= 50);
	b.go_on = 0;
	for (round = 0; round < 20; round++) {
		waiter_tid = 0;
		waited = GNI_RC_ERROR_NOMEM;
		pthread_create(&thread, NULL, waiter, &b);
		must(wait_for(__atomic_load_n(&waiter_tid, __ATOMIC_ACQUIRE) &&
			      asleep(waiter_tid)));
		is_rc(send_number(&a, to_b, round), GNI_RC_SUCCESS);
		pthread_join(thread, NULL);
		is_rc(waited, GNI_RC_NOT_DONE, "the callback said so");
		is_u64(b.count, round + 1);
		expect_sent(&a, round, GNI_RC_SUCCESS);
	}
	pair_close();
}

/* A blocking endpoint's queue is woken by our own event. */
static void *event_waiter(void *arg)
{
	gni_cq_entry_t ev = 0;

	__atomic_store_n(&waiter_tid, thread_id(), __ATOMIC_RELEASE);
	is_rc(GNI_CqWaitEvent(arg, 600000, &ev), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_msg_id(ev), 0x12345678);
	return NULL;
}

static void test_wake(void)
{
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	pthread_t thread;
	int round;

	pair_open(good);
	cq = cq_open(&a.n, 16, GNI_CQ_BLOCKING);
	must_do(GNI_EpCreate(a.n.h, cq, &ep));
	must_do(GNI_EpBind(ep, b.n.pe, B));
	for (round = 0; round < 20; round++) {
		waiter_tid = 0;
		pthread_create(&thread, NULL, event_waiter, cq);
		must(wait_for(__atomic_load_n(&waiter_tid, __ATOMIC_ACQUIRE) &&
			      asleep(waiter_tid)));
		is_rc(GNI_MsgqSend(a.q, ep, "hi", 3, NULL, 0, 0x12345678, 0), GNI_RC_SUCCESS);
		pthread_join(thread, NULL);
		is_rc(GNI_MsgqProgress(b.q, 0), GNI_RC_SUCCESS);
	}
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	pair_close();
}

static void test_signal(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	gni_msgq_attr_t at = good;
	pthread_t thread;

	sigaction(SIGUSR1, &act, NULL);
	at.modes = GNI_MSGQ_MODE_BLOCKING;
	pair_open(at);
	waited = GNI_RC_ERROR_NOMEM;
	pthread_create(&thread, NULL, waiter, &b);
	must(wait_for(__atomic_load_n(&waiter_tid, __ATOMIC_ACQUIRE) && asleep(waiter_tid)));
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	is_rc(waited, GNI_RC_NOT_DONE);
	pair_close();
}

/* --- a plain user ------------------------------------------------------------------ */

static void lock_at_most(size_t bytes)
{
	struct rlimit limit;

	must(!getrlimit(RLIMIT_MEMLOCK, &limit));
	limit.rlim_cur = bytes;
	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
}

/* The mailboxes count once for each instance, though they are there once. */
static void test_memlock(void)
{
	gni_msgq_attr_t at = good;
	uint32_t size;

	at.nloc_insts = 2;
	at.smsg_q_sz = 4096;
	must_do(GNI_MsgqSize(&at, &size));
	inst_nic(&a, 0, A);
	inst_nic(&b, 0, A + 1);
	lock_at_most(size / 2);
	is_rc(inst_init(&a, at), GNI_RC_ERROR_NOMEM, "not even one");
	is_u64(files(), 0);
	lock_at_most(size + size / 2);
	is_rc(inst_init(&a, at), GNI_RC_SUCCESS, "one");
	is_rc(inst_init(&b, at), GNI_RC_ERROR_NOMEM, "another one");
	is_u64(files(), 1);
	is_rc(GNI_MsgqProgress(a.q, 0), GNI_RC_SUCCESS, "which harms nobody");
	lock_at_most(2 * size + size / 2);
	is_rc(inst_init(&b, at), GNI_RC_SUCCESS, "and leaves its place free");
	inst_close(&a);
	inst_close(&b);
	is_u64(files(), 0);
	lock_at_most(size + size / 2);
	inst_open(&a, 0, A, at);
	inst_close(&a);
}

/* --- ways that fail ----------------------------------------------------------------- */

#define MESSAGES	1000

/* One way of a connection. */
struct way {
	struct inst *from, *to;
	gni_ep_handle_t ep;
	unsigned int sent, told, failed, got;
};

static void way_events(struct way *way)
{
	gni_cq_entry_t ev;
	gni_return_t rc;

	while ((rc = GNI_CqGetEvent(way->from->n.tx, &ev)) != GNI_RC_NOT_DONE) {
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "%s", rc_name(rc));
		is_u64(gni_cq_get_msg_id(ev), way->told);
		way->told++;
		way->failed += rc != GNI_RC_SUCCESS;
	}
}

/* Each message comes once, and in order, whatever was said of it. */
static void way_on(struct way *way)
{
	gni_return_t rc;

	if (way->sent < MESSAGES) {
		rc = send_number(way->from, way->ep, way->sent);
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE, "%s", rc_name(rc));
		way->sent += rc == GNI_RC_SUCCESS;
	}
	way_events(way);
	is_rc(GNI_MsgqProgress(way->to->q, 0), GNI_RC_SUCCESS);
	for (; way->got < way->to->count; way->got++)
		is_u64(number(&way->to->in[way->got % ARRAY_SIZE(way->to->in)]), way->got);
}

static void lossy(int lost, int ack_lost, uint16_t retrans)
{
	struct way there, back;

	pair_open(attrs(SIZE, 16, 1, 1));
	there = (struct way){ .from = &a, .to = &b, .ep = to_b };
	back = (struct way){ .from = &b, .to = &a, .ep = to_a };
	must_do(GNI_SmsgSetMaxRetrans(a.n.h, retrans));
	must_do(GNI_SmsgSetMaxRetrans(b.n.h, retrans));
	losses(lost, ack_lost);
	while ((there.got < MESSAGES || back.got < MESSAGES) && !failures()) {
		way_on(&there);
		way_on(&back);
	}
	losses(0, 0);
	way_events(&there);
	way_events(&back);
	is_u64(there.told, MESSAGES);
	is_u64(back.told, MESSAGES);
	ok(!(there.failed + back.failed) == !!retrans, "%u failed", there.failed + back.failed);
	pair_close();
}

static void test_lost(void) { lossy(20, 0, 100); }
static void test_ack_lost(void) { lossy(0, 20, 100); }
static void test_both_lost(void) { lossy(20, 20, 100); }
static void test_no_retrans(void) { lossy(20, 20, 0); }

static const struct test lossy_tests[] = {
	CASE("messages lost, both ways", test_lost, .seconds = 120),
	CASE("answers lost, both ways", test_ack_lost, .seconds = 120),
	CASE("both lost, both ways", test_both_lost, .seconds = 120),
	CASE("both lost, and given up", test_no_retrans, .seconds = 120),
};

static const struct test user_tests[] = {
	CASE("RLIMIT_MEMLOCK", test_memlock),
};

static const struct test tests[] = {
	CASE("size", test_size),
	CASE("joining: every code", test_init),
	CASE("no memory to share", test_no_memory),
	CASE("connections: every code", test_connect),
	CASE("connections released and made anew", test_reconnect),
	CASE("sending: every code", test_send),
	CASE("all sizes, header and data", test_content),
	CASE("credits", test_credits),
	CASE("credits that are asked for", test_ask),
	CASE("receive queue overrun", test_overrun),
	CASE("the callback's value", test_callback),
	CASE("a callback that sends and receives", test_echo),
	CASE("damaged slots", test_damaged),
	CASE("blocking mode", test_blocking),
	CASE("a send wakes who waits for its event", test_wake),
	CASE("a signal while waiting", test_signal),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	if (argc > 1 && !strcmp(argv[1], "lossy"))
		return RUN_TESTS(lossy_tests);
	return RUN_TESTS(tests);
}
