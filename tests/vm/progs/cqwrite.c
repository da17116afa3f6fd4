// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes into a peer's completion queue. Needs two NICs.
 */
#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define MASK48	((1ULL << 48) - 1)

static void desc_write(gni_post_descriptor_t *d, const struct region *r, uint64_t value)
{
	desc_init(d, GNI_POST_CQWRITE, GLOBAL);
	d->remote_mem_hndl = r->mh;
	d->cqwrite_value = value;
}

static void test_values(enum layout layout)
{
	static const uint64_t values[] = {
		0, 1, 0xffffff, 0x1000000, 0xffffffff, 0x100000000, 0x123456789abc, MASK48,
		~0ULL, 0xabcd000000000000,
	};
	static const uint16_t modes[] = {
		GLOBAL, GNI_CQMODE_SILENT, GNI_CQMODE_LOCAL_EVENT,
		GLOBAL | GNI_CQMODE_REMOTE_EVENT,
	};
	gni_post_descriptor_t d;
	gni_cq_entry_t e;
	struct target t;
	unsigned int i, j;

	target_open(&t, layout, PAGE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		for (j = 0; j < ARRAY_SIZE(modes); j++) {
			desc_write(&d, &t.r, values[i]);
			d.cq_mode = modes[j];
			is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_SUCCESS);
			if (modes[j] != GNI_CQMODE_SILENT) {
				is_rc(complete(t.n.tx, &d, &e), GNI_RC_SUCCESS);
				is_u64(gni_cq_get_inst_id(e), BIND_ID & 0xffffff);
			}
			is_empty(t.n.tx);
			is_rc(target_event(&t, &e), GNI_RC_SUCCESS);
			is_u64(gni_cq_get_data(e), values[i] & MASK48);
			is_u64(gni_cq_get_inst_id(e), values[i] & 0xffffff);
			is_u64(gni_cq_get_rem_inst_id(e), values[i] & 0xffffffff);
			ok(GNI_CQ_STATUS_OK(e) && !gni_cq_overrun(e));
			is_rc(target_event(&t, &e), GNI_RC_NOT_DONE);
		}
	}
	ok(all_bytes(t.mem, PAGE, 0));
	target_close(&t);
}
ALL_LAYOUTS(test_values)

static void test_errors(enum layout layout)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t lost;
	gni_cq_entry_t e;
	struct target t;

	target_open(&t, layout, PAGE, 0, 0);
	desc_write(&d, &t.r, 1);
	memset(&d.remote_mem_hndl, 0, sizeof(d.remote_mem_hndl));
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "no handle");
	lost = ep_open(&t.n, 0xffffffff, 1);
	desc_write(&d, &t.r, 1);
	is_rc(post_wait(lost, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "nobody's address");
	is_rc(target_deregister(&t), GNI_RC_SUCCESS);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "deregistered");
	d.cq_mode = GNI_CQMODE_SILENT;
	is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_SUCCESS);
	is_empty(t.n.tx);
	is_rc(target_event(&t, &e), GNI_RC_NOT_DONE);
	target_close(&t);
}
ALL_LAYOUTS(test_errors)

static void test_no_queue(void)
{
	gni_post_descriptor_t d;
	struct region bare, ro;
	struct target t;
	gni_cq_entry_t e;

	target_open(&t, SELF, PAGE, 0, 0);
	region_open(&t.n, map_private(PAGE), PAGE, NULL, 0, &bare);
	desc_write(&d, &bare, 1);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	/* It writes no memory, so a region that may only be read will do. */
	region_open(&t.n, map_private(PAGE), PAGE, t.n.rx, GNI_MEM_READ_ONLY, &ro);
	desc_write(&d, &ro, 2);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	is_rc(target_event(&t, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(e), 2);
}

static void test_refused(void)
{
	gni_post_descriptor_t d, more[2];
	gni_ep_handle_t unbound, ep;
	gni_cq_handle_t one;
	gni_cq_entry_t e;
	struct target t;

	target_open(&t, SELF, PAGE, 0, 0);
	must_do(GNI_EpCreate(t.n.h, t.n.tx, &unbound));
	desc_write(&d, &t.r, 1);
	is_rc(GNI_PostCqWrite(unbound, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostCqWrite(NULL, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostCqWrite(t.ep, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostRdma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_FMA_PUT;
	is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_CQWRITE;
	d.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.cq_mode = GLOBAL;
	d.src_cq_hndl = (gni_cq_handle_t)8;
	is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_INVALID_PARAM);
	is_empty(t.n.tx);
	is_rc(target_event(&t, &e), GNI_RC_NOT_DONE);
	/* As many as its queue has entries, no more. */
	one = cq_open(&t.n, 1, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(t.n.h, one, &ep));
	must_do(GNI_EpBind(ep, t.r.pe, 1));
	desc_write(&more[0], &t.r, 7);
	desc_write(&more[1], &t.r, 8);
	is_rc(GNI_PostCqWrite(ep, &more[0]), GNI_RC_SUCCESS);
	is_rc(GNI_PostCqWrite(ep, &more[1]), GNI_RC_ERROR_RESOURCE);
	is_rc(complete(one, &more[0], NULL), GNI_RC_SUCCESS);
	is_rc(target_event(&t, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(e), 7);
	is_rc(target_event(&t, &e), GNI_RC_NOT_DONE);
	/* Another queue tells of it. */
	d.src_cq_hndl = one;
	is_rc(post_wait(t.ep, one, &d), GNI_RC_SUCCESS);
	is_empty(t.n.tx);
}

#define WRITERS	4
#define WRITES	1000

static struct region crowd;

static void writer(void *arg)
{
	uint64_t who = *(int *)arg, i;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct nic n;

	nic_open(&n, who & 1, who + 10);
	ep = ep_open(&n, crowd.pe, 1);
	give(0);
	take(1);
	for (i = 0; i < WRITES; i++) {
		desc_write(&d, &crowd, who << 32 | i);
		is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
	}
}

static void test_crowd(void)
{
	uint64_t next[WRITERS] = { 0 }, data;
	pid_t pid[WRITERS];
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	struct nic n;
	int i;

	nic_open(&n, 0, 1);
	cq = cq_open(&n, WRITERS * WRITES, GNI_CQ_BLOCKING);
	region_open(&n, map_private(PAGE), PAGE, cq, 0, &crowd);
	for (i = 0; i < WRITERS; i++)
		pid[i] = peer(writer, &i);
	for (i = 0; i < WRITERS; i++)
		take(0);
	for (i = 0; i < WRITERS; i++)
		give(1);
	for (i = 0; i < WRITERS * WRITES; i++) {
		must_rc(GNI_CqWaitEvent(cq, PATIENCE, &e), GNI_RC_SUCCESS, "event %d", i);
		data = gni_cq_get_data(e);
		must(data >> 32 < WRITERS);
		is_u64(data & 0xffffffff, next[data >> 32], "of writer %d", (int)(data >> 32));
		next[data >> 32]++;
	}
	for (i = 0; i < WRITERS; i++)
		reap(pid[i]);
	is_empty(cq);
}

static const struct test tests[] = {
	CASES("48 bits", test_values),
	CASES("errors at the target", test_errors),
	CASE("regions without a queue, and read-only ones", test_no_queue),
	CASE("refused posts", test_refused),
	CASE("four processes on two NICs write into one queue", test_crowd, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
