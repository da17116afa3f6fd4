// SPDX-License-Identifier: GPL-2.0-only
/*
 * The node translation table: its entries, and jobs whose addresses it
 * translates. Needs root, and two NICs with PE addresses 1 and 2.
 */
#include "common.h"

#define PTAG		77
#define JOB		5
#define NOBODY		0x5000
#define ENTRIES		8192
#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT

static gni_return_t set(uint32_t device, const gni_ntt_entry_t *table, uint32_t count,
			uint8_t granularity, uint32_t *base)
{
	gni_ntt_descriptor_t d = {
		.group_size = count, .granularity = granularity,
		.u.table_v2 = (gni_ntt_entry_t *)table,
	};

	return GNI_ConfigureNTT(device, &d, base);
}

static gni_return_t clear(uint32_t device, uint32_t base, uint32_t count)
{
	return set(device, NULL, count, 0, &base);
}

static uint32_t granularity(void)
{
	uint32_t gran = 0;

	is_rc(GNI_GetNttGran(0, &gran), GNI_RC_SUCCESS);
	return gran;
}

static gni_return_t job_with(uint32_t device, uint32_t base, uint32_t size, bool cleanup)
{
	gni_job_limits_t l;

	memset(&l, 0xff, sizeof(l));
	l.ntt_base = base;
	l.ntt_size = size;
	l.ntt_ctrl = cleanup ? GNI_JOB_CTRL_NTT_CLEANUP : 0;
	return GNI_ConfigureJob(device, JOB, PTAG, COOKIE, &l);
}

static gni_return_t attach(struct nic *n, uint32_t device, uint32_t id)
{
	memset(n, 0, sizeof(*n));
	must_do(GNI_CdmCreate(id, PTAG, COOKIE, 0, &n->cdm));
	n->id = id;
	return GNI_CdmAttach(n->cdm, device, &n->pe, &n->h);
}

static void leave(struct nic *n)
{
	must_do(GNI_CdmDestroy(n->cdm));
}

static void open_queues(struct nic *n)
{
	n->tx = cq_open(n, 64, GNI_CQ_NOBLOCK);
	n->rx = cq_open(n, 64, GNI_CQ_NOBLOCK);
}

static void end_job(uint32_t device)
{
	struct nic n;

	is_rc(attach(&n, device, 1), GNI_RC_SUCCESS);
	leave(&n);
}

/* Are these entries set? Only then a job may have them. */
static bool is_set(uint32_t base, uint32_t count)
{
	gni_return_t rc = job_with(0, base, count, false);

	if (rc == GNI_RC_SUCCESS)
		end_job(0);
	else
		is_rc(rc, GNI_RC_NO_MATCH);
	return rc == GNI_RC_SUCCESS;
}

/* --- the table -------------------------------------------------------------------- */

static const gni_ntt_entry_t ones[4] = {
	{ .blck_addr = 1 }, { .blck_addr = 1 }, { .blck_addr = 1 }, { .blck_addr = 1 },
};

static void test_arguments(void)
{
	static gni_ntt_entry_t many[ENTRIES + 1];
	gni_ntt_entry_t bad = { .blck_addr = 1, .rplc_size = 3 };
	gni_ntt_descriptor_t d = { .group_size = 1 };
	uint32_t base = -1;

	is_rc(GNI_ConfigureNTT(0, NULL, &base), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ConfigureNTT(0, &d, NULL), GNI_RC_INVALID_PARAM);
	is_rc(set(device_count(), ones, 1, 1, &base), GNI_RC_NO_MATCH);
	is_rc(set(-1, ones, 1, 1, &base), GNI_RC_NO_MATCH);
	is_rc(set(0, ones, 0, 1, &base), GNI_RC_INVALID_PARAM);
	is_rc(set(0, ones, 1, 0, &base), GNI_RC_INVALID_PARAM);
	is_rc(set(0, &bad, 1, 2, &base), GNI_RC_INVALID_PARAM);
	bad.rplc_size = 0;
	bad.blck_addr = ~0U - 1;
	is_rc(set(0, &bad, 1, 2, &base), GNI_RC_INVALID_PARAM);
	is_rc(set(0, many, ENTRIES + 1, 1, &base), GNI_RC_ERROR_RESOURCE);
	is_u64(base, ~0U);
	base = ENTRIES;
	is_rc(set(0, ones, 1, 1, &base), GNI_RC_INVALID_PARAM);
	base = ENTRIES - 1;
	is_rc(set(0, ones, 2, 1, &base), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, 0, 0), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, ENTRIES, 1), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, ENTRIES - 1, 2), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, -1, 1), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, 0, -1), GNI_RC_INVALID_PARAM);
	is_rc(clear(0, 0, ENTRIES), GNI_RC_SUCCESS);
	/* All of it at once, and no more. */
	base = -1;
	is_rc(set(0, many, ENTRIES, 1, &base), GNI_RC_SUCCESS);
	is_u64(base, 0);
	base = -1;
	is_rc(set(0, ones, 1, 1, &base), GNI_RC_ERROR_RESOURCE);
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS);
}

static void test_places(void)
{
	uint32_t base = 10;

	is_rc(set(0, ones, 3, 1, &base), GNI_RC_SUCCESS);
	is_u64(base, 10);
	ok(is_set(10, 3));
	ok(!is_set(9, 2));
	ok(!is_set(12, 2));
	base = -1;
	is_rc(set(0, ones, 4, 1, &base), GNI_RC_SUCCESS);
	is_u64(base, 0, "the first gap");
	base = -1;
	is_rc(set(0, ones, 4, 1, &base), GNI_RC_SUCCESS);
	is_u64(base, 4);
	base = -1;
	is_rc(set(0, ones, 4, 1, &base), GNI_RC_SUCCESS);
	is_u64(base, 13, "8 and 9 are not enough");
	is_rc(clear(0, 11, 1), GNI_RC_SUCCESS);
	ok(!is_set(10, 3));
	ok(is_set(10, 1) && is_set(12, 1));
	/* What nobody uses may be set anew. */
	base = 9;
	is_rc(set(0, ones, 4, 1, &base), GNI_RC_SUCCESS);
	ok(is_set(9, 4));
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS);
	ok(!is_set(0, 1) && !is_set(9, 1));
}

static void test_granularity(void)
{
	uint32_t base = -1;

	is_u64(granularity(), 1);
	is_rc(set(0, ones, 1, 4, &base), GNI_RC_SUCCESS);
	is_u64(granularity(), 4);
	base = -1;
	is_rc(set(0, ones, 1, 2, &base), GNI_RC_ERROR_RESOURCE, "one table, one granularity");
	is_rc(set(0, ones, 1, 4, &base), GNI_RC_SUCCESS);
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS);
	is_u64(granularity(), 1);
	base = 5;
	is_rc(set(0, ones, 1, 2, &base), GNI_RC_SUCCESS);
	is_u64(granularity(), 2);
	is_rc(clear(0, 5, 1), GNI_RC_SUCCESS);
	is_u64(granularity(), 1);
}

/* --- entries of jobs -------------------------------------------------------------- */

static void test_in_use(void)
{
	uint32_t base = 20;
	struct nic n;

	is_rc(set(0, ones, 4, 1, &base), GNI_RC_SUCCESS);
	is_rc(job_with(0, 20, 5, false), GNI_RC_NO_MATCH);
	is_rc(job_with(0, 21, 2, false), GNI_RC_SUCCESS);
	is_rc(job_with(0, 21, 2, false), GNI_RC_SUCCESS, "again");
	is_rc(job_with(0, -1, -1, false), GNI_RC_SUCCESS, "without");
	is_rc(job_with(0, 21, 1, false), GNI_RC_ILLEGAL_OP);
	is_rc(job_with(0, 20, 2, false), GNI_RC_ILLEGAL_OP);
	base = 22;
	is_rc(set(0, ones, 1, 1, &base), GNI_RC_ERROR_RESOURCE);
	is_rc(clear(0, 20, 2), GNI_RC_ERROR_RESOURCE);
	is_rc(clear(0, 20, 1), GNI_RC_SUCCESS);
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS, "but those of the job");
	is_rc(attach(&n, 0, 1), GNI_RC_SUCCESS);
	is_rc(job_with(0, 20, 2, false), GNI_RC_ILLEGAL_OP);
	is_rc(clear(0, 21, 1), GNI_RC_ERROR_RESOURCE);
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS);
	leave(&n);
	/* They outlive the job that did not ask for more. */
	ok(is_set(21, 2));
	ok(!is_set(23, 1));
	is_rc(job_with(0, 21, 2, true), GNI_RC_SUCCESS);
	end_job(0);
	ok(!is_set(21, 1) && !is_set(22, 1));
	/* A job that runs keeps its addresses. */
	base = -1;
	is_rc(set(0, ones, 1, 1, &base), GNI_RC_SUCCESS);
	is_rc(attach(&n, 0, 1), GNI_RC_SUCCESS);
	is_rc(job_with(0, base, 1, false), GNI_RC_ILLEGAL_OP);
	leave(&n);
	is_rc(clear(0, -1, -1), GNI_RC_SUCCESS);
}

static gni_return_t both(uint32_t cookie, const gni_ntt_entry_t *table, uint32_t count,
			 uint32_t *base)
{
	gni_ntt_descriptor_t d = {
		.group_size = count, .granularity = 1, .u.table_v2 = (gni_ntt_entry_t *)table,
	};
	gni_job_limits_t l;

	memset(&l, 0xff, sizeof(l));
	l.ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP;
	return GNI_ConfigureNTTandJob(0, JOB, PTAG, cookie, &l, &d, base);
}

static void test_both(void)
{
	uint32_t base = 7;
	struct nic n;

	is_rc(GNI_ConfigureNTTandJob(device_count(), JOB, PTAG, COOKIE, NULL, NULL, NULL),
	      GNI_RC_NO_MATCH);
	is_rc(both(COOKIE, ones, 4, NULL), GNI_RC_INVALID_PARAM);
	is_rc(both(COOKIE, NULL, 4, &base), GNI_RC_INVALID_PARAM);
	is_rc(both(COOKIE, ones, 0, &base), GNI_RC_INVALID_PARAM);
	is_rc(both(COOKIE, ones, ENTRIES + 1, &base), GNI_RC_ERROR_RESOURCE);
	is_rc(both(COOKIE, ones, 4, &base), GNI_RC_SUCCESS);
	is_u64(base, 7);
	base = 100;
	is_rc(both(COOKIE, ones, 4, &base), GNI_RC_ILLEGAL_OP, "another time");
	is_rc(both(COOKIE + 1, ones, 4, &base), GNI_RC_INVALID_STATE);
	is_rc(job_with(0, 7, 4, false), GNI_RC_SUCCESS);
	is_rc(attach(&n, 0, 1), GNI_RC_SUCCESS);
	is_u64(n.pe, 0);
	leave(&n);
	ok(!is_set(7, 1), "cleared at its end");
	ok(!is_set(100, 1), "those that failed have set nothing");
	/* Without entries it is the other call. */
	is_rc(GNI_ConfigureNTTandJob(0, JOB, PTAG, COOKIE, NULL, NULL, NULL), GNI_RC_SUCCESS);
	end_job(0);
}

/* --- addresses ------------------------------------------------------------------------- */

/* On both NICs: 0 is PE 2, 1 is PE 1. */
static const gni_ntt_entry_t crossed[] = { { .blck_addr = 2 }, { .blck_addr = 1 } };

static void job_on_both(const gni_ntt_entry_t *table, uint32_t count, uint8_t gran)
{
	uint32_t device, base;

	for (device = 0; device < 2; device++) {
		base = -1;
		must_rc(set(device, table, count, gran, &base), GNI_RC_SUCCESS);
		must_rc(job_with(device, base, count, true), GNI_RC_SUCCESS);
	}
}

static void put(struct nic *n, uint32_t pe, struct region *r, gni_return_t want)
{
	uint64_t value = rand() | 1;
	gni_ep_handle_t ep = ep_open(n, pe, 1);
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, r, 8, 8);
	*(uint64_t *)(r->addr + 8) = 0;
	is_rc(post_wait(ep, n->tx, &d), want, "to %u", pe);
	is_u64(*(uint64_t *)(r->addr + 8), want == GNI_RC_SUCCESS ? value : 0, "to %u", pe);
	must_do(GNI_EpDestroy(ep));
}

static void test_posts(void)
{
	struct region r[2], l;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct nic n[2];
	uint32_t pe, cpu;
	int i;

	job_on_both(crossed, 2, 1);
	for (i = 0; i < 2; i++) {
		must_rc(attach(&n[i], i, 10 + i), GNI_RC_SUCCESS);
		open_queues(&n[i]);
		region_open(&n[i], map_private(16 * PAGE), 16 * PAGE, n[i].rx, 0, &r[i]);
	}
	is_u64(n[0].pe, 1);
	is_u64(n[1].pe, 0);
	must_do(GNI_CdmGetNicAddress(0, &pe, &cpu));
	is_u64(pe, 1, "of the device, which is in no job");
	put(&n[0], 1, &r[0], GNI_RC_SUCCESS);
	put(&n[0], 0, &r[1], GNI_RC_SUCCESS);
	put(&n[1], 1, &r[0], GNI_RC_SUCCESS);
	put(&n[1], 0, &r[1], GNI_RC_SUCCESS);
	put(&n[0], 0, &r[0], GNI_RC_TRANSACTION_ERROR);
	put(&n[0], 2, &r[1], GNI_RC_TRANSACTION_ERROR);
	put(&n[0], ~0U, &r[1], GNI_RC_TRANSACTION_ERROR);
	region_open(&n[0], map_private(16 * PAGE), 16 * PAGE, NULL, 0, &l);
	fill((void *)l.addr, 16 * PAGE, 3);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)l.addr, &l.mh, &r[1], 0, 16 * PAGE);
	ep = ep_open(&n[0], 0, 1);
	is_rc(post_wait(ep, n[0].tx, &d), GNI_RC_SUCCESS);
	ok(filled((void *)r[1].addr, 16 * PAGE, 3));
	leave(&n[0]);
	leave(&n[1]);
}

static void test_errors(void)
{
	gni_err_handle_t err[2];
	gni_post_descriptor_t d;
	gni_error_event_t e;
	struct nic n[2];
	int i;

	job_on_both(crossed, 2, 1);
	for (i = 0; i < 2; i++) {
		must_rc(attach(&n[i], i, 10 + i), GNI_RC_SUCCESS);
		open_queues(&n[i]);
		must_do(GNI_SubscribeErrors(n[i].h, 0, 0xff, 0, &err[i]));
	}
	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	memset(&d.remote_mem_hndl, 0, sizeof(d.remote_mem_hndl));
	is_rc(post_wait(ep_open(&n[0], 0, 1), n[0].tx, &d), GNI_RC_TRANSACTION_ERROR);
	is_rc(GNI_GetErrorEvent(err[0], &e), GNI_RC_SUCCESS);
	is_u64(e.info_mmrs[3] >> 32, 0, "the target, as the job says");
	is_rc(GNI_GetErrorEvent(err[1], &e), GNI_RC_SUCCESS);
	is_u64(e.info_mmrs[3] >> 32, 1, "who posted, as the job says");
	leave(&n[0]);
	leave(&n[1]);
}

/* Both ends are told the other's address as the job says it. */
static void meet(struct nic *n, bool bound_too)
{
	char out[2][8] = { "zero", "one" }, in[2][8];
	gni_ep_handle_t ep[2];
	gni_post_state_t state;
	uint32_t pe, id;
	int i;

	ep[0] = ep_open(&n[0], 0, 11);
	must_do(GNI_EpCreate(n[1].h, n[1].tx, &ep[1]));
	if (bound_too)
		must_do(GNI_EpBind(ep[1], 1, 10));
	is_rc(GNI_EpPostData(ep[1], out[1], 8, in[1], 8), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostData(ep[0], out[0], 8, in[0], 8), GNI_RC_SUCCESS);
	for (i = 0; i < 2; i++) {
		is_rc(GNI_PostDataProbe(n[i].h, &pe, &id), GNI_RC_SUCCESS);
		is_u64(pe, i);
		is_rc(GNI_EpPostDataTest(ep[i], &state, &pe, &id), GNI_RC_SUCCESS);
		is_u64(state, GNI_POST_COMPLETED);
		is_u64(pe, i);
		is_u64(id, 11 - i);
		ok(!strcmp(in[i], out[!i]));
		must_do(GNI_EpDestroy(ep[i]));
	}
}

static void test_datagrams(void)
{
	gni_post_state_t state;
	struct nic n[2];
	gni_ep_handle_t ep;
	uint32_t pe, id;
	int i;

	job_on_both(crossed, 2, 1);
	for (i = 0; i < 2; i++) {
		must_rc(attach(&n[i], i, 10 + i), GNI_RC_SUCCESS);
		open_queues(&n[i]);
	}
	meet(n, false);
	meet(n, true);
	/* To where nobody is: it waits, and is called off under its own name. */
	ep = ep_open(&n[0], 7, 11);
	is_rc(GNI_EpPostData(ep, NULL, 0, NULL, 0), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostDataCancel(ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpPostDataTest(ep, &state, &pe, &id), GNI_RC_SUCCESS);
	is_u64(state, GNI_POST_TERMINATED);
	leave(&n[0]);
	leave(&n[1]);
}

/*
 * Blocks of 3: virtual 0 is PE 1, 1 and 2 are nobody's by replacement; 3 is
 * nobody's, 4 and 5 are replaced by 2 and the one behind.
 */
static void test_blocks(void)
{
	static const gni_ntt_entry_t blocks[] = {
		{ .blck_addr = 1, .rplc_addr = NOBODY, .rplc_size = 2 },
		{ .blck_addr = NOBODY, .rplc_addr = 2, .rplc_size = 2 },
	};
	struct region r[2];
	struct nic n[2];
	int i;

	job_on_both(blocks, 2, 3);
	for (i = 0; i < 2; i++) {
		must_rc(attach(&n[i], i, 10 + i), GNI_RC_SUCCESS);
		open_queues(&n[i]);
		region_open(&n[i], map_private(PAGE), PAGE, NULL, 0, &r[i]);
	}
	is_u64(n[0].pe, 0);
	is_u64(n[1].pe, 4);
	put(&n[1], 0, &r[0], GNI_RC_SUCCESS);
	put(&n[0], 4, &r[1], GNI_RC_SUCCESS);
	for (i = 1; i < 8; i++)
		if (i != 4)
			put(&n[0], i, &r[1], GNI_RC_TRANSACTION_ERROR);
	leave(&n[0]);
	leave(&n[1]);
}

/* A NIC that the job has no address for is none of the job's. */
static void test_not_in_it(void)
{
	static const gni_ntt_entry_t other[] = { { .blck_addr = 2 } };
	uint32_t base = -1;
	struct nic n;

	is_rc(set(0, other, 1, 1, &base), GNI_RC_SUCCESS);
	is_rc(job_with(0, base, 1, true), GNI_RC_SUCCESS);
	is_rc(attach(&n, 0, 1), GNI_RC_NO_MATCH);
	leave(&n);
	/* It did not end the job. */
	is_rc(clear(0, base, 1), GNI_RC_ERROR_RESOURCE);
	/* The tag is of use when it is forgotten: by another job on another device. */
	base = -1;
	is_rc(set(1, other, 1, 1, &base), GNI_RC_SUCCESS);
	is_rc(job_with(1, base, 1, true), GNI_RC_SUCCESS);
	is_rc(attach(&n, 1, 1), GNI_RC_SUCCESS);
	is_u64(n.pe, 0);
	leave(&n);
}

static const struct test tests[] = {
	CASE("arguments", test_arguments),
	CASE("places", test_places),
	CASE("granularity", test_granularity),
	CASE("entries of jobs", test_in_use),
	CASE("entries with their job", test_both),
	CASE("posts", test_posts),
	CASE("error events", test_errors),
	CASE("datagrams", test_datagrams),
	CASE("blocks and replacements", test_blocks),
	CASE("a NIC that is not in it", test_not_in_it),
};

int main(void)
{
	return RUN_TESTS(tests);
}
