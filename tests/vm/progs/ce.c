// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of the collective engine: what they return, the events that come, limits,
 * and what keeps results from moving. Needs two NICs with PE addresses 1 and 2,
 * root and debugfs.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "common_tree.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LOCAL	GNI_CQMODE_LOCAL_EVENT
#define PTAG	77
#define JOB	0x1234567890ULL

/* A channel with two leaves, all of one attachment. */
static struct pair {
	struct nic n;
	gni_ce_handle_t ce;
	uint32_t id;
	gni_ep_handle_t child[2];
	gni_ep_handle_t leaf[2];
	gni_ce_result_t *result;
	gni_mem_handle_t mh;
	gni_post_descriptor_t d[2];
} p;

/* With all that it has. */
static void nic_drop(struct nic *n)
{
	is_rc(GNI_CdmDestroy(n->cdm), GNI_RC_SUCCESS);
}

static gni_ep_handle_t ce_ep(struct nic *n, uint32_t pe, uint32_t inst, uint32_t ce_id,
			     uint32_t child, gni_ce_child_t type)
{
	gni_ep_handle_t ep = ep_open(n, pe, inst);

	must_do(GNI_EpSetCeAttr(ep, ce_id, child, type));
	return ep;
}

static void pair_open(uint32_t modes)
{
	unsigned int i;

	memset(&p, 0, sizeof(p));
	nic_open_modes(&p.n, 0, OWNER_ID, modes);
	must_do(GNI_CeCreate(p.n.h, &p.ce));
	must_do(GNI_CeGetId(p.ce, &p.id));
	for (i = 0; i < 2; i++) {
		p.child[i] = ce_ep(&p.n, p.n.pe, OWNER_ID, -1, i, GNI_CE_CHILD_PE);
		p.leaf[i] = ce_ep(&p.n, p.n.pe, OWNER_ID, p.id, i, GNI_CE_CHILD_PE);
	}
	p.result = map_private(PAGE);
	mem_open(&p.n, p.result, PAGE, NULL, 0, &p.mh);
}

static gni_return_t pair_configure(gni_cq_handle_t cq, uint32_t modes)
{
	return GNI_CeConfigure(p.ce, p.child, 2, NULL, cq, modes);
}

static void fill_post(unsigned int i, uint16_t cq_mode)
{
	gni_post_descriptor_t *d = &p.d[i];

	memset(&p.result[i], 0, sizeof(p.result[i]));
	desc_init(d, GNI_POST_CE, cq_mode);
	d->local_addr = (uint64_t)&p.result[i];
	d->local_mem_hndl = p.mh;
	d->ce_cmd = GNI_FMA_CE_IADD;
	d->ce_mode = 0;
	d->ce_red_id = 5;
	d->first_operand = 40 + i;
}

static gni_return_t post_leaf(unsigned int i)
{
	return GNI_PostFma(p.leaf[i], &p.d[i]);
}

static void is_sum(unsigned int i)
{
	is_rc(GNI_CeCheckResult(&p.result[i], sizeof(p.result[i])), GNI_RC_SUCCESS);
	is_u64(p.result[i].result1, 81);
	is_u64(p.result[i].result2, 0);
	is_u64(gni_ce_res_get_red_id(&p.result[i]), 5);
}

/* --- arguments ---------------------------------------------------------------- */

static void test_create(void)
{
	gni_ce_handle_t ce[5] = { NULL };
	gni_dev_res_desc_t before, after;
	gni_job_res_desc_t job;
	uint32_t id, seen = 0;
	struct nic n, m;
	unsigned int i;
	uint8_t ptag;

	nic_open(&n, 0, 1);
	nic_open(&m, 0, 2);
	is_rc(GNI_CeCreate(NULL, &ce[0]), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeCreate(n.h, NULL), GNI_RC_INVALID_PARAM);
	must_do(GNI_GetDevResInfo(0, GNI_DEV_RES_CE, &before));
	is_u64(before.total, 1024);
	for (i = 0; i < 4; i++) {
		must_do(GNI_CeCreate(i & 1 ? m.h : n.h, &ce[i]));
		must_do(GNI_CeGetId(ce[i], &id));
		must(id < 4);
		seen |= 1U << id;
	}
	is_u64(seen, 0xf, "each has a number of its own");
	is_rc(GNI_CeCreate(n.h, &ce[4]), GNI_RC_ERROR_RESOURCE);
	must_do(GNI_GetDevResInfo(0, GNI_DEV_RES_CE, &after));
	is_u64(before.available - after.available, 4);
	must_do(GNI_GetPtag(0, COOKIE, &ptag));
	must_do(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_CE, &job));
	is_u64(job.used, 4);
	is_u64(job.limit, 4);
	is_rc(GNI_CeGetId(ce[0], NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeGetId(NULL, &id), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeDestroy(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeDestroy(ce[2]), GNI_RC_SUCCESS);
	is_rc(GNI_CeDestroy(ce[2]), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeGetId(ce[2], &id), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeCreate(m.h, &ce[2]), GNI_RC_SUCCESS);
	must_do(GNI_CeGetId(ce[2], &id));
	is_u64(id, 2, "the number that was free");
	/* Those that are left go with their owners. */
	nic_drop(&m);
	must_do(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_CE, &job));
	is_u64(job.used, 1);
	nic_drop(&n);
}

static void test_attributes(void)
{
	gni_ep_handle_t ep;
	struct nic n;

	nic_open(&n, 0, 1);
	must_do(GNI_EpCreate(n.h, n.tx, &ep));
	is_rc(GNI_EpSetCeAttr(NULL, 0, 0, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpSetCeAttr(ep, 0, 32, GNI_CE_CHILD_PE), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpSetCeAttr(ep, 0, 0, 3), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpSetCeAttr(ep, -1, 31, GNI_CE_CHILD_PE), GNI_RC_SUCCESS);
	is_rc(GNI_EpSetCeAttr(ep, 3, 0, GNI_CE_CHILD_VCE), GNI_RC_SUCCESS);
	is_rc(GNI_EpSetCeAttr(ep, 0, 0, GNI_CE_CHILD_UNUSED), GNI_RC_SUCCESS);
	nic_drop(&n);
}

static void test_configure(void)
{
	gni_ep_handle_t same[2], unbound, other, up, many[33], plain;
	struct nic far;
	unsigned int i;

	pair_open(0);
	nic_open(&far, 1, 9);
	for (i = 0; i < 33; i++)
		many[i] = p.child[0];
	is_rc(GNI_CeConfigure(NULL, p.child, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeConfigure(p.ce, NULL, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeConfigure(p.ce, p.child, 0, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeConfigure(p.ce, many, 33, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeConfigure(p.ce, many, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	many[1] = NULL;
	is_rc(GNI_CeConfigure(p.ce, many, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(far.tx, 0), GNI_RC_INVALID_PARAM, "a queue of another NIC");
	is_rc(pair_configure((gni_cq_handle_t)p.ce, 0), GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(NULL, 0x20), GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(NULL, GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_ZERO),
	      GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(NULL, GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR),
	      GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(NULL, GNI_CE_MODE_RC_ADAPT | GNI_CE_MODE_RC_MIN_HASH),
	      GNI_RC_INVALID_PARAM);
	must_do(GNI_EpCreate(p.n.h, p.n.tx, &unbound));
	must_do(GNI_EpSetCeAttr(unbound, -1, 1, GNI_CE_CHILD_PE));
	plain = ep_open(&p.n, p.n.pe, 5);
	other = ce_ep(&far, p.n.pe, OWNER_ID, -1, 1, GNI_CE_CHILD_PE);
	up = ce_ep(&p.n, far.pe, 9, 0, 3, GNI_CE_CHILD_VCE);
	same[0] = p.child[0];
	same[1] = unbound;
	is_rc(GNI_CeConfigure(p.ce, same, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	same[1] = plain;
	is_rc(GNI_CeConfigure(p.ce, same, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	same[1] = other;
	is_rc(GNI_CeConfigure(p.ce, same, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeConfigure(p.ce, p.child, 2, p.leaf[0], NULL, 0), GNI_RC_INVALID_PARAM,
	      "a leaf's end as parent");
	is_rc(GNI_CeConfigure(p.ce, p.child, 2, plain, NULL, 0), GNI_RC_INVALID_PARAM);
	must_do(GNI_EpSetCeAttr(plain, p.id, 1, GNI_CE_CHILD_VCE));
	same[1] = plain;
	is_rc(GNI_CeConfigure(p.ce, same, 2, NULL, NULL, 0), GNI_RC_INVALID_PARAM,
	      "a channel below itself");
	is_rc(GNI_CeConfigure(p.ce, p.child, 2, up, p.n.rx, GNI_CE_MODE_CQE_ONERR |
			      GNI_CE_MODE_ROUND_ZERO | GNI_CE_MODE_RC_NMIN_HASH), GNI_RC_SUCCESS);
	is_rc(pair_configure(NULL, 0), GNI_RC_SUCCESS, "once more");
	nic_drop(&far);
	nic_drop(&p.n);
}

static void test_post(void)
{
	gni_mem_handle_t read_only;
	gni_ep_handle_t ep;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	fill_post(0, GLOBAL);
	is_rc(GNI_PostFma(NULL, &p.d[0]), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostRdma(p.leaf[0], &p.d[0]), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CtPostFma(p.leaf[0], &p.d[0]), GNI_RC_INVALID_PARAM);
	must_do(GNI_EpCreate(p.n.h, p.n.tx, &ep));
	is_rc(GNI_PostFma(ep, &p.d[0]), GNI_RC_INVALID_PARAM, "not bound");
	must_do(GNI_EpBind(ep, p.n.pe, OWNER_ID));
	is_rc(GNI_PostFma(ep, &p.d[0]), GNI_RC_INVALID_PARAM, "no leaf's");
	must_do(GNI_EpSetCeAttr(ep, p.id, 0, GNI_CE_CHILD_VCE));
	is_rc(GNI_PostFma(ep, &p.d[0]), GNI_RC_INVALID_PARAM, "a channel's");
	p.d[0].ce_cmd = 6;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	p.d[0].ce_cmd = 0x34;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	fill_post(0, GLOBAL);
	p.d[0].ce_mode = 0x20;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	p.d[0].ce_mode = 0x10000;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	fill_post(0, GLOBAL);
	p.d[0].ce_red_id = 1ULL << 48;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	fill_post(0, 8);
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	fill_post(0, GLOBAL | LOCAL);
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM, "both events");
	fill_post(0, GLOBAL);
	p.d[0].local_addr += 4;
	is_rc(post_leaf(0), GNI_RC_ALIGNMENT_ERROR);
	p.d[0].local_addr = (uint64_t)p.result + PAGE - 16;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM, "beyond the region");
	fill_post(0, GLOBAL);
	p.d[0].local_mem_hndl.qword1 ^= 1ULL << 60;
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM, "no such region");
	mem_open(&p.n, p.result, PAGE, NULL, GNI_MEM_READ_ONLY, &read_only);
	fill_post(0, GLOBAL);
	p.d[0].local_mem_hndl = read_only;
	is_rc(post_leaf(0), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_EpUnbind(p.leaf[0]), GNI_RC_SUCCESS, "nothing is outstanding");
	is_empty(p.n.tx);
	nic_drop(&p.n);
}

static void test_result(void)
{
	gni_ce_result_t r = { 0 };

	is_rc(GNI_CeCheckResult(NULL, sizeof(r)), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeCheckResult(&r, sizeof(r)), GNI_RC_NOT_DONE);
	is_rc(GNI_CeCheckResult(&r, 0), GNI_RC_NOT_DONE);
}

/* --- events --------------------------------------------------------------------- */

static void test_events(void)
{
	gni_cq_entry_t e;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	must_do(GNI_EpSetEventData(p.leaf[0], 0x123456, 1));
	/* A remote event is no more than asked for. */
	fill_post(0, GLOBAL | GNI_CQMODE_REMOTE_EVENT);
	fill_post(1, LOCAL);
	must_do(post_leaf(0));
	is_rc(GNI_CeCheckResult(&p.result[0], 24), GNI_RC_NOT_DONE);
	is_empty(p.n.tx);
	is_rc(GNI_EpIdle(p.leaf[0]), GNI_RC_NOT_DONE);
	is_rc(GNI_EpUnbind(p.leaf[0]), GNI_RC_NOT_DONE);
	must_do(post_leaf(1));
	is_rc(complete(p.n.tx, &p.d[0], &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_inst_id(e), 0x123456);
	is_rc(complete(p.n.tx, &p.d[1], &e), GNI_RC_SUCCESS);
	is_sum(0);
	is_sum(1);
	is_empty(p.n.tx);
	is_empty(p.n.rx);
	is_rc(GNI_EpUnbind(p.leaf[0]), GNI_RC_SUCCESS);
	nic_drop(&p.n);
}

static void test_silent(void)
{
	pair_open(0);
	must_do(pair_configure(NULL, 0));
	fill_post(0, GNI_CQMODE_SILENT);
	fill_post(1, GNI_CQMODE_SILENT);
	must_do(post_leaf(1));
	must_do(post_leaf(0));
	is_sum(0);
	is_sum(1);
	is_empty(p.n.tx);
	nic_drop(&p.n);
}

static void test_dual(void)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;
	unsigned int i;

	pair_open(GNI_CDM_MODE_DUAL_EVENTS);
	must_do(pair_configure(NULL, 0));
	fill_post(0, GLOBAL | LOCAL);
	fill_post(1, GNI_CQMODE_SILENT);
	must_do(post_leaf(0));
	must_do(post_leaf(1));
	for (i = 0; i < 2; i++) {
		must_do(next_event(p.n.tx, &e));
		must_do(GNI_GetCompleted(p.n.tx, e, &d));
		ok(d == &p.d[0]);
	}
	is_empty(p.n.tx);
	nic_drop(&p.n);
}

/* What the channel's own queue is told. */
static void channel_event(gni_cq_handle_t cq, gni_return_t want, uint64_t red_id)
{
	gni_post_descriptor_t *d = &p.d[0];
	gni_cq_entry_t e;

	is_rc(GNI_CqGetEvent(cq, &e), want);
	is_u64(GNI_CQ_GET_CE_ID(e), p.id);
	is_u64(GNI_CQ_GET_REDUCTN_ID(e), red_id);
	is_u64(GNI_CQ_STATUS_OK(e), want == GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(cq, e, &d), GNI_RC_DESCRIPTOR_ERROR);
	is_empty(cq);
}

static void both(uint64_t id, gni_ce_cmd_type_t other, gni_return_t want)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		fill_post(i, GLOBAL);
		p.d[i].ce_red_id = id;
		if (i)
			p.d[i].ce_cmd = other;
		must_do(post_leaf(i));
	}
	is_rc(complete(p.n.tx, &p.d[0], NULL), want);
	is_rc(complete(p.n.tx, &p.d[1], NULL), want);
}

static void test_channel_events(void)
{
	const uint64_t id = (1ULL << 48) - 2;

	pair_open(0);
	must_do(pair_configure(p.n.rx, GNI_CE_MODE_CQE_ONCOMP));
	both(id, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	channel_event(p.n.rx, GNI_RC_SUCCESS, id);
	both(id + 1, GNI_FMA_CE_AND, GNI_RC_TRANSACTION_ERROR);
	channel_event(p.n.rx, GNI_RC_TRANSACTION_ERROR, id + 1);
	must_do(pair_configure(p.n.rx, GNI_CE_MODE_CQE_ONERR));
	both(3, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	is_empty(p.n.rx);
	both(4, GNI_FMA_CE_XOR, GNI_RC_TRANSACTION_ERROR);
	channel_event(p.n.rx, GNI_RC_TRANSACTION_ERROR, 4);
	must_do(pair_configure(p.n.rx, 0));
	both(5, GNI_FMA_CE_XOR, GNI_RC_TRANSACTION_ERROR);
	is_empty(p.n.rx);
	/* The queue may go first. */
	must_do(pair_configure(p.n.rx, GNI_CE_MODE_CQE_ONCOMP));
	is_rc(GNI_CqDestroy(p.n.rx), GNI_RC_SUCCESS);
	both(6, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	nic_drop(&p.n);
}

/* --- what comes to nothing -------------------------------------------------------- */

static void fails(unsigned int i, const char *why)
{
	is_rc(post_leaf(i), GNI_RC_SUCCESS, "%s", why);
	is_rc(complete(p.n.tx, &p.d[i], NULL), GNI_RC_TRANSACTION_ERROR, "%s", why);
	is_rc(GNI_CeCheckResult(&p.result[i], 24), GNI_RC_TRANSACTION_ERROR, "%s", why);
	ok(!GNI_CE_RES_STATUS_OK(&p.result[i]), "%s", why);
	is_u64(p.result[i].result1, 0, "%s", why);
	is_u64(gni_ce_res_get_red_id(&p.result[i]), 5, "%s", why);
}

static void test_targets(void)
{
	pair_open(0);
	fill_post(0, GLOBAL);
	fails(0, "not configured");
	must_do(pair_configure(NULL, 0));
	must_do(GNI_EpSetCeAttr(p.leaf[0], p.id, 2, GNI_CE_CHILD_PE));
	fill_post(0, GLOBAL);
	fails(0, "no such child");
	must_do(GNI_EpSetCeAttr(p.leaf[0], p.id + 1, 0, GNI_CE_CHILD_PE));
	fill_post(0, GLOBAL);
	fails(0, "no such channel");
	must_do(GNI_EpSetCeAttr(p.leaf[0], -1, 0, GNI_CE_CHILD_PE));
	fill_post(0, GLOBAL);
	fails(0, "no channel at all");
	must_do(GNI_EpUnbind(p.leaf[0]));
	fill_post(0, GLOBAL);
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM, "the attribute went with the peer");
	must_do(GNI_EpBind(p.leaf[0], 2, OWNER_ID));
	must_do(GNI_EpSetCeAttr(p.leaf[0], p.id, 0, GNI_CE_CHILD_PE));
	fill_post(0, GLOBAL);
	fails(0, "another device");
	must_do(GNI_EpUnbind(p.leaf[0]));
	must_do(GNI_EpBind(p.leaf[0], 999, OWNER_ID));
	must_do(GNI_EpSetCeAttr(p.leaf[0], p.id, 0, GNI_CE_CHILD_PE));
	fill_post(0, GLOBAL);
	fails(0, "no device");
	is_rc(GNI_CeDestroy(p.ce), GNI_RC_SUCCESS);
	fill_post(1, GLOBAL);
	fails(1, "destroyed");
	nic_drop(&p.n);
}

/* A leaf's place is its own. */
static void test_places(void)
{
	struct nic other, far;
	gni_ep_handle_t ep;
	unsigned int i;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	both(1, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	nic_open(&other, 0, OWNER_ID);
	nic_open(&far, 1, OWNER_ID);
	for (i = 0; i < 2; i++) {
		struct nic *n = i ? &far : &other;

		ep = ce_ep(n, p.n.pe, OWNER_ID, p.id, 0, GNI_CE_CHILD_PE);
		fill_post(0, GLOBAL);
		mem_open(n, p.result, PAGE, NULL, 0, &p.d[0].local_mem_hndl);
		is_rc(GNI_PostFma(ep, &p.d[0]), GNI_RC_SUCCESS);
		is_rc(complete(n->tx, &p.d[0], NULL), GNI_RC_TRANSACTION_ERROR, "NIC %u", i);
	}
	both(2, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	nic_drop(&other);
	both(3, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	nic_drop(&far);
	nic_drop(&p.n);
}

/* What is under way when a channel gets another place ends. */
static void test_again(void)
{
	pair_open(0);
	must_do(pair_configure(NULL, 0));
	fill_post(0, GLOBAL);
	must_do(post_leaf(0));
	must_do(pair_configure(NULL, GNI_CE_MODE_ROUND_UP));
	is_rc(complete(p.n.tx, &p.d[0], NULL), GNI_RC_TRANSACTION_ERROR);
	both(1, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	fill_post(0, GLOBAL);
	must_do(post_leaf(0));
	is_rc(GNI_CeDestroy(p.ce), GNI_RC_SUCCESS);
	is_rc(complete(p.n.tx, &p.d[0], NULL), GNI_RC_TRANSACTION_ERROR);
	nic_drop(&p.n);
}

/* Memory that goes before the result comes: the others get theirs. */
static void test_no_memory(void)
{
	pair_open(0);
	must_do(pair_configure(NULL, 0));
	fill_post(0, GLOBAL);
	fill_post(1, GLOBAL);
	mem_open(&p.n, p.result, PAGE, NULL, 0, &p.d[0].local_mem_hndl);
	must_do(post_leaf(0));
	is_rc(GNI_MemDeregister(p.n.h, &p.d[0].local_mem_hndl), GNI_RC_SUCCESS);
	must_do(post_leaf(1));
	is_rc(complete(p.n.tx, &p.d[0], NULL), GNI_RC_TRANSACTION_ERROR);
	is_rc(complete(p.n.tx, &p.d[1], NULL), GNI_RC_SUCCESS);
	is_rc(GNI_CeCheckResult(&p.result[0], 24), GNI_RC_NOT_DONE);
	is_sum(1);
	nic_drop(&p.n);
}

/* A leaf may be so far ahead of the others, and no further. */
static void test_ahead(void)
{
	static gni_post_descriptor_t d[257];
	unsigned int i;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	for (i = 0; i < ARRAY_SIZE(d); i++) {
		fill_post(0, GLOBAL);
		d[i] = p.d[0];
		d[i].ce_red_id = i;
		is_rc(GNI_PostFma(p.leaf[0], &d[i]), i < 256 ? GNI_RC_SUCCESS :
		      GNI_RC_ERROR_RESOURCE, "%u", i);
	}
	fill_post(1, GNI_CQMODE_SILENT);
	p.d[1].ce_red_id = 100;
	must_do(post_leaf(1));
	is_rc(complete(p.n.tx, &d[100], NULL), GNI_RC_SUCCESS);
	is_rc(GNI_PostFma(p.leaf[0], &d[256]), GNI_RC_SUCCESS);
	/* The queue's size is a limit, too. */
	nic_drop(&p.n);
}

/* --- limits of a job -------------------------------------------------------------- */

static void join(struct nic *n, uint32_t id)
{
	memset(n, 0, sizeof(*n));
	must_do(GNI_CdmCreate(id, PTAG, COOKIE, 0, &n->cdm));
	must_do(GNI_CdmAttach(n->cdm, 0, &n->pe, &n->h));
	n->tx = cq_open(n, 64, GNI_CQ_NOBLOCK);
	n->rx = cq_open(n, 64, GNI_CQ_NOBLOCK);
}

static gni_return_t allow(uint8_t mask)
{
	gni_job_limits_t l;

	memset(&l, 0xff, sizeof(l));
	l.ntt_ctrl = 0;
	l.a.m.ce_limit = mask;
	return GNI_ConfigureJob(0, JOB, PTAG, COOKIE, &l);
}

static void test_limits(void)
{
	gni_ce_handle_t ce[3];
	gni_job_res_desc_t r;
	struct nic n;
	uint32_t id;

	must_do(allow(GNI_JOB_CTRL_CE1_MASK | GNI_JOB_CTRL_CE3_MASK));
	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_CE, &r));
	is_u64(r.limit, 2);
	join(&n, 1);
	must_do(GNI_CeCreate(n.h, &ce[0]));
	must_do(GNI_CeGetId(ce[0], &id));
	is_u64(id, 1);
	must_do(GNI_CeCreate(n.h, &ce[1]));
	must_do(GNI_CeGetId(ce[1], &id));
	is_u64(id, 3);
	is_rc(GNI_CeCreate(n.h, &ce[2]), GNI_RC_ERROR_RESOURCE);
	is_rc(allow(0xff), GNI_RC_SUCCESS, "as it is");
	is_rc(GNI_CeCreate(n.h, &ce[2]), GNI_RC_ERROR_RESOURCE);
	is_rc(allow(0x10), GNI_RC_INVALID_PARAM);
	must_do(allow(GNI_JOB_CTRL_CE0_MASK));
	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_CE, &r));
	is_u64(r.limit, 1);
	is_u64(r.used, 2, "what it has it keeps");
	must_do(GNI_CeDestroy(ce[0]));
	is_rc(GNI_CeCreate(n.h, &ce[0]), GNI_RC_ERROR_RESOURCE);
	must_do(GNI_CeDestroy(ce[1]));
	must_do(GNI_CeCreate(n.h, &ce[0]));
	must_do(GNI_CeGetId(ce[0], &id));
	is_u64(id, 0);
	must_do(allow(0));
	must_do(GNI_CeDestroy(ce[0]));
	is_rc(GNI_CeCreate(n.h, &ce[0]), GNI_RC_ERROR_RESOURCE);
	nic_drop(&n);
}

/* --- standing still --------------------------------------------------------------- */

static void quiesce(unsigned int pe, bool on)
{
	int fd = open("/sys/kernel/debug/kgni/quiesce", O_WRONLY);
	char text[32];
	int n = snprintf(text, sizeof(text), "%u %u", pe, on);

	must(fd >= 0 && write(fd, text, n) == n);
	close(fd);
}

#define BELOW	0
#define TOP	1

/* A root with a leaf on one NIC, a channel below with a leaf on the other. */
static struct tree still_tree;
static struct nic still[TREE_NICS];
static struct owner still_owner;
static struct member still_leaf[2];

static void still_open(void)
{
	uint32_t seed = 1;
	unsigned int i;

	do
		tree_make(&still_tree, 2, 2, &seed);
	while (still_tree.leaf[TOP].chan);
	for (i = 0; i < TREE_NICS; i++)
		nic_open(&still[i], i, OWNER_ID);
	owner_create(&still_owner, &still_tree, still);
	for (i = 0; i < 2; i++) {
		still_tree.leaf[i].device = still_tree.chan[still_tree.leaf[i].chan].device;
		still_tree.leaf[i].inst = OWNER_ID;
	}
	owner_configure(&still_owner, &still_tree);
	for (i = 0; i < 2; i++)
		member_open(&still_leaf[i], &still[still_tree.leaf[i].device], &still_tree, i);
}

static void still_post(unsigned int i, uint64_t id)
{
	const struct given one = { .op = { 21, 0 } };

	must_do(member_post(&still_leaf[i], 0, GNI_FMA_CE_IADD, id, &one));
}

static void still_nothing(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		is_rc(GNI_CeCheckResult(still_leaf[i].result, 24), GNI_RC_NOT_DONE);
		is_empty(still_leaf[i].n->tx);
	}
}

static void still_done(uint64_t id)
{
	struct ce_sum want = { .v = { 42, 0 } };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		is_rc(member_done(&still_leaf[i], 0), GNI_RC_SUCCESS);
		member_check(&still_leaf[i], 0, id, GNI_FMA_CE_IADD, &want);
	}
}

static void *post_top(void *arg)
{
	(void)arg;
	shm->word[0] = thread_id();
	still_post(TOP, 10);
	return NULL;
}

static void test_quiesce(void)
{
	pthread_t thread;
	unsigned int i;

	still_open();
	/* The root's: what is below goes as far as its own channel. */
	quiesce(1, true);
	still_post(BELOW, 8);
	quiesce(1, false);
	still_post(TOP, 8);
	still_done(8);
	/* The other: its part is with the root, the result comes to nobody. */
	still_post(BELOW, 9);
	quiesce(2, true);
	still_post(TOP, 9);
	still_nothing();
	quiesce(2, false);
	still_done(9);
	/* Who posts on one that stands still waits. */
	still_post(BELOW, 10);
	quiesce(1, true);
	pthread_create(&thread, NULL, post_top, NULL);
	ok(wait_for(shm->word[0] && asleep(shm->word[0])));
	still_nothing();
	quiesce(1, false);
	pthread_join(thread, NULL);
	still_done(10);
	/* A result that waits for a device when its channels go. */
	still_post(BELOW, 11);
	quiesce(2, true);
	still_post(TOP, 11);
	owner_close(&still_owner, &still_tree);
	still_nothing();
	quiesce(2, false);
	still_done(11);
	for (i = 0; i < 2; i++)
		member_close(&still_leaf[i]);
	for (i = 0; i < TREE_NICS; i++)
		nic_close(&still[i]);
}

/* A member that ends while its result waits. */
static void test_quiesce_end(void)
{
	still_open();
	still_post(BELOW, 1);
	quiesce(2, true);
	still_post(TOP, 1);
	nic_drop(&still[1]);
	is_rc(member_done(&still_leaf[TOP], 0), GNI_RC_SUCCESS, "it was over before");
	quiesce(2, false);
	nic_drop(&still[0]);
}

static void *post_leaf_0(void *arg)
{
	(void)arg;
	shm->word[0] = thread_id();
	must_do(post_leaf(0));
	return NULL;
}

static void test_suspend(void)
{
	pthread_t thread;
	uint8_t ptag;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	must_do(GNI_GetPtag(0, COOKIE, &ptag));
	fill_post(1, GLOBAL);
	must_do(post_leaf(1));
	/* What waits for others is no reason to wait for it. */
	is_rc(GNI_SuspendJob(0, 0, ptag, COOKIE, 0), GNI_RC_SUCCESS);
	fill_post(0, GLOBAL);
	pthread_create(&thread, NULL, post_leaf_0, NULL);
	ok(wait_for(shm->word[0] && asleep(shm->word[0])));
	is_empty(p.n.tx);
	must_do(GNI_ResumeJob(0, 0, ptag, COOKIE));
	pthread_join(thread, NULL);
	is_rc(complete(p.n.tx, &p.d[0], NULL), GNI_RC_SUCCESS);
	is_rc(complete(p.n.tx, &p.d[1], NULL), GNI_RC_SUCCESS);
	is_sum(0);
	nic_drop(&p.n);
}

static void test_checkpoint(void)
{
	uint32_t id;

	pair_open(0);
	must_do(pair_configure(NULL, 0));
	must_do(GNI_CdmCheckpoint(p.n.cdm));
	is_rc(GNI_CeCreate(p.n.h, &p.ce), GNI_RC_INVALID_PARAM);
	is_rc(pair_configure(NULL, 0), GNI_RC_INVALID_PARAM);
	fill_post(0, GLOBAL);
	is_rc(post_leaf(0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CeGetId(p.ce, &id), GNI_RC_SUCCESS);
	must_do(GNI_CdmResume(p.n.cdm));
	both(1, GNI_FMA_CE_IADD, GNI_RC_SUCCESS);
	must_do(GNI_CdmCheckpoint(p.n.cdm));
	is_rc(GNI_CeDestroy(p.ce), GNI_RC_SUCCESS);
	is_rc(GNI_CeDestroy(p.ce), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CdmDestroy(p.n.cdm), GNI_RC_SUCCESS);
}

/* --- the driver's own interface ----------------------------------------------------- */

static int call(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

static void test_raw(void)
{
	struct kgni_ce_edge edge = { .pe = 1, .id = 7, .type = GNI_CE_CHILD_PE };
	struct kgni_ioc_ce_create create = { .reserved = 1 };
	struct kgni_ioc_ce_destroy destroy = { .reserved = 1 };
	struct kgni_ioc_ce_configure c = { .children = (uint64_t)&edge, .count = 1 };
	struct kgni_ioc_ce_post post = { .remote_pe = 1 };
	int fd = raw_open(0), other;

	is_u64(call(fd, KGNI_IOC_CE_CREATE, &create), GNI_RC_INVALID_STATE, "not attached");
	is_u64(call(fd, KGNI_IOC_CE_POST, &post), GNI_RC_INVALID_STATE);
	close(fd);
	fd = raw_attach(0, 7, 0);
	other = raw_attach(0, 8, 0);
	is_u64(call(fd, KGNI_IOC_CE_CREATE, &create), -EINVAL);
	create.reserved = 0;
	is_u64(call(fd, KGNI_IOC_CE_CREATE, NULL), -EFAULT);
	is_u64(call(fd, KGNI_IOC_CE_CREATE, &create), GNI_RC_SUCCESS);
	is_u64(create.id, 0, "the one that could not be told of is none");
	is_u64(call(fd, KGNI_IOC_CE_DESTROY, &destroy), -EINVAL);
	is_u64(call(other, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM, "another's");
	destroy.reserved = 0;
	is_u64(call(other, KGNI_IOC_CE_DESTROY, &destroy), GNI_RC_INVALID_PARAM, "another's");
	c.children = 1;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), -EFAULT);
	c.children = (uint64_t)&edge;
	c.cq = 5;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM, "no such queue");
	c.cq = 0;
	edge.child = 32;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM);
	edge.child = 0;
	edge.type = 0;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM);
	edge.type = 3;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM);
	edge.type = GNI_CE_CHILD_PE;
	c.parent.type = GNI_CE_CHILD_PE;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_INVALID_PARAM);
	c.parent.type = GNI_CE_CHILD_UNUSED;
	is_u64(call(fd, KGNI_IOC_CE_CONFIGURE, &c), GNI_RC_SUCCESS);
	post.src_cq = 5;
	is_u64(call(fd, KGNI_IOC_CE_POST, &post), GNI_RC_INVALID_PARAM, "no such queue");
	post.src_cq = 0;
	is_u64(call(fd, KGNI_IOC_CE_POST, &post), GNI_RC_INVALID_PARAM, "no such memory");
	is_u64(call(fd, KGNI_IOC_CE_DESTROY, &destroy), GNI_RC_SUCCESS);
	is_u64(call(fd, KGNI_IOC_CE_DESTROY, &destroy), GNI_RC_INVALID_PARAM);
	close(fd);
	close(other);
}

static const struct test tests[] = {
	CASE("channels", test_create),
	CASE("attributes of endpoints", test_attributes),
	CASE("what a channel is configured with", test_configure),
	CASE("posts that are refused", test_post),
	CASE("results", test_result),
	CASE("events of posts", test_events),
	CASE("posts without events", test_silent),
	CASE("local and global events", test_dual),
	CASE("events of a channel", test_channel_events),
	CASE("posts that find no channel", test_targets),
	CASE("a leaf's place is its own", test_places),
	CASE("a channel gets another place", test_again),
	CASE("memory that goes before the result comes", test_no_memory),
	CASE("a leaf that is far ahead", test_ahead),
	CASE("channels that a job may have", test_limits),
	CASE("devices that stand still", test_quiesce),
	CASE("a member that ends on a device that stands still", test_quiesce_end),
	CASE("a job that stands still", test_suspend),
	CASE("checkpoints", test_checkpoint),
	CASE("without the library", test_raw),
};

int main(void)
{
	return RUN_TESTS(tests);
}
