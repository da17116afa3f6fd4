// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of posts, flagged responses, delivery modes and order, and what a
 * poster learns of a full queue at the target. Needs two NICs.
 */
#include "common.h"
#include "core/cqe.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LOCAL	GNI_CQMODE_LOCAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define MB	(1UL << 20)

/* --- chains -------------------------------------------------------------------- */

static gni_return_t chain_wait(struct target *t, gni_post_descriptor_t *d)
{
	gni_return_t rc = GNI_CtPostFma(t->ep, d);

	return rc == GNI_RC_SUCCESS ? complete(t->n.tx, d, NULL) : rc;
}

static unsigned int target_events(struct target *t)
{
	gni_cq_entry_t e;
	unsigned int n = 0;

	while (target_event(t, &e) == GNI_RC_SUCCESS)
		n++;
	return n;
}

static void test_chain_put(enum layout layout)
{
	static const size_t len[] = { 1, 3000, 0, 256, 257, 70000 };
	const unsigned int n = ARRAY_SIZE(len);
	gni_ct_put_post_descriptor_t elem[ARRAY_SIZE(len)];
	unsigned char *src = map_private(MB);
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, layout, MB, 0, 0);
	memset(elem, 0xa5, sizeof(elem));
	fill(src, 100, 99);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, src, NULL, &t.r, 0, 100);
	d.next_descr = &elem[0];
	for (i = 0; i < n; i++) {
		elem[i].next_descr = i < n - 1 ? &elem[i + 1] : NULL;
		elem[i].ep_hndl = i & 1 ? t.ep : NULL;
		elem[i].local_addr = (uint64_t)src + (i + 1) * 100000 + i;
		elem[i].remote_addr = t.r.addr + (i + 1) * 100000;
		elem[i].remote_mem_hndl = t.r.mh;
		elem[i].length = len[i];
		fill((void *)elem[i].local_addr, len[i], i);
	}
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	is_empty(t.n.tx, "one event for all");
	ok(filled(t.mem, 100, 99));
	for (i = 0; i < n; i++)
		ok(filled(t.mem + (i + 1) * 100000, len[i], i), "element %u", i);
	is_u64(target_events(&t), n + 1, "one at the target for each");
	target_close(&t);
}
ALL_LAYOUTS(test_chain_put)

static void test_chain_get(enum layout layout)
{
	gni_ct_get_post_descriptor_t elem[2];
	unsigned char *dst = map_private(MB);
	gni_post_descriptor_t d;
	gni_mem_handle_t lmh;
	struct target t;

	/* Head, middle and tail of what is not aligned, as clients do. */
	target_open(&t, layout, MB, 0, 0);
	mem_open(&t.n, dst, MB, NULL, 0, &lmh);
	fill(t.mem, 100000, 1);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, dst, &lmh, &t.r, 0, 4);
	d.next_descr = &elem[0];
	memset(elem, 0xa5, sizeof(elem));
	elem[0] = (gni_ct_get_post_descriptor_t){
		.next_descr = &elem[1], .ep_hndl = t.ep, .local_addr = (uint64_t)dst + 101,
		.local_mem_hndl = lmh, .remote_addr = t.r.addr + 4, .remote_mem_hndl = t.r.mh,
		.length = 90000,
	};
	elem[1] = elem[0];
	elem[1].next_descr = NULL;
	elem[1].local_addr = (uint64_t)dst + 8;
	elem[1].remote_addr = t.r.addr + 90004;
	elem[1].length = 4;
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	ok(!memcmp(dst, t.mem, 4) && !memcmp(dst + 101, t.mem + 4, 90000) &&
	   !memcmp(dst + 8, t.mem + 90004, 4));
	is_empty(t.n.tx);
	target_close(&t);
}
ALL_LAYOUTS(test_chain_get)

static void test_chain_amo_cqw(enum layout layout)
{
	gni_ct_amo_post_descriptor_t amo[3];
	gni_ct_cqw_post_descriptor_t cqw[2];
	uint64_t *dst = map_private(PAGE), *word;
	gni_cq_entry_t e = 0;
	gni_post_descriptor_t d;
	gni_mem_handle_t lmh;
	struct target t;
	unsigned int i;

	target_open(&t, layout, PAGE, 0, 0);
	word = (uint64_t *)t.mem;
	mem_open(&t.n, dst, PAGE, NULL, 0, &lmh);
	desc_init(&d, GNI_POST_AMO, GLOBAL);
	desc_move(&d, dst, &lmh, &t.r, 0, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_ADD;
	d.first_operand = 5;
	d.next_descr = &amo[0];
	for (i = 0; i < 3; i++)
		amo[i] = (gni_ct_amo_post_descriptor_t){
			.next_descr = i < 2 ? &amo[i + 1] : NULL, .ep_hndl = t.ep,
			.local_addr = (uint64_t)&dst[i], .local_mem_hndl = lmh,
			.remote_addr = t.r.addr, .remote_mem_hndl = t.r.mh, .length = 8,
			.amo_cmd = i == 2 ? GNI_FMA_ATOMIC2_FCSWAP : GNI_FMA_ATOMIC_FADD,
			.first_operand = i == 2 ? 16 : 1 + 9 * i, .second_operand = 77,
		};
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	ok(dst[0] == 5 && dst[1] == 6 && dst[2] == 16, "in order");
	is_u64(*word, 77);
	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	d.remote_mem_hndl = t.r.mh;
	d.cqwrite_value = 100;
	d.next_descr = &cqw[0];
	for (i = 0; i < 2; i++)
		cqw[i] = (gni_ct_cqw_post_descriptor_t){
			.next_descr = i ? NULL : &cqw[1], .ep_hndl = t.ep,
			.remote_mem_hndl = t.r.mh, .cqwrite_value = 101 + i,
		};
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	for (i = 0; i < 3; i++) {
		is_rc(target_event(&t, &e), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_data(e), 100 + i);
	}
	target_close(&t);
}
ALL_LAYOUTS(test_chain_amo_cqw)

/* The flag of each put orders that put; all is there before the event. */
static void test_chain_flags(enum layout layout)
{
	gni_ct_put_post_descriptor_t elem = { 0 };
	unsigned char *src = map_private(PAGE);
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, layout, 4 * PAGE, 0, 0);
	fill(src, PAGE, 3);
	desc_init(&d, GNI_POST_FMA_PUT_W_SYNCFLAG, GLOBAL);
	desc_move(&d, src, NULL, &t.r, 0, 64);
	d.sync_flag_addr = t.r.addr + PAGE;
	d.sync_flag_value = 0x1122334455667788;
	elem.local_addr = (uint64_t)src;
	elem.remote_addr = t.r.addr + 2 * PAGE;
	elem.remote_mem_hndl = t.r.mh;
	elem.length = PAGE;
	elem.sync_flag_addr = t.r.addr + PAGE + 8;
	elem.sync_flag_value = 42;
	d.next_descr = &elem;
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	is_u64(*(uint64_t *)(t.mem + PAGE), 0x1122334455667788);
	is_u64(*(uint64_t *)(t.mem + PAGE + 8), 42);
	ok(filled(t.mem + 2 * PAGE, PAGE, 3));
	/* Without elements: an ordinary post. */
	d.next_descr = NULL;
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	target_close(&t);
}
ALL_LAYOUTS(test_chain_flags)

/* Whatever is wrong with one of them, none is done. */
static void test_chain_refused(void)
{
	gni_ct_put_post_descriptor_t elem[3];
	unsigned char *src = map_private(2 * PAGE);
	gni_ep_handle_t unbound, foreign;
	gni_post_descriptor_t d;
	struct nic other;
	struct target t;
	unsigned int i;

	target_open(&t, TWO_CDMS, 4 * PAGE, 0, 0);
	nic_open(&other, 1, 9);
	foreign = ep_open(&other, t.r.pe, BIND_ID);
	must_do(GNI_EpCreate(t.n.h, t.n.tx, &unbound));
	must(!munmap(src + PAGE, PAGE));
	memset(src, 1, PAGE);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, src, NULL, &t.r, 0, 8);
	for (i = 0; i < 3; i++)
		elem[i] = (gni_ct_put_post_descriptor_t){
			.next_descr = i < 2 ? &elem[i + 1] : NULL, .local_addr = (uint64_t)src,
			.remote_addr = t.r.addr + (i + 1) * 8, .remote_mem_hndl = t.r.mh,
			.length = 8,
		};
	d.next_descr = elem;
	is_rc(GNI_CtPostFma(NULL, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CtPostFma(unbound, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CtPostFma(t.ep, NULL), GNI_RC_INVALID_PARAM);
	elem[2].ep_hndl = unbound;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	elem[2].ep_hndl = foreign;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "an endpoint of another NIC");
	elem[2].ep_hndl = (void *)8;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	elem[2].ep_hndl = NULL;
	elem[2].local_addr = (uint64_t)src + PAGE - 4;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "source that can't be read");
	elem[2].local_addr = (uint64_t)src;
	elem[2].next_descr = &elem[0];
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_ERROR_RESOURCE, "no end");
	elem[2].next_descr = NULL;
	d.type = GNI_POST_RDMA_PUT;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_CE;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_FMA_PUT;
	d.cq_mode = GLOBAL | LOCAL;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "both events");
	d.cq_mode = GLOBAL;
	d.dlvr_mode = 0x8000;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.dlvr_mode = 0;
	ok(all_bytes(t.mem, 4 * PAGE, 0), "nothing was done");
	is_empty(t.n.tx);
	/* What is wrong at a target the event tells; the others are done. */
	elem[1].remote_addr = t.r.addr + 4 * PAGE;
	is_rc(chain_wait(&t, &d), GNI_RC_TRANSACTION_ERROR);
	ok(t.mem[0] == 1 && t.mem[8] == 1 && t.mem[24] == 1 && !t.mem[16]);
	target_close(&t);
}

/* The codes of a post are those of a chain, whichever of its transactions they are for. */
static void test_chain_codes(void)
{
	gni_ct_get_post_descriptor_t elem = { 0 };
	unsigned char *dst = map_private(2 * PAGE);
	gni_mem_handle_t lmh, ro;
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, PEER, PAGE, 0, 0);
	mem_open(&t.n, dst, PAGE, NULL, 0, &lmh);
	mem_open(&t.n, dst + PAGE, PAGE, NULL, GNI_MEM_READ_ONLY, &ro);
	memset(t.mem, 5, PAGE);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, dst, &lmh, &t.r, 0, 8);
	d.next_descr = &elem;
	elem.local_addr = (uint64_t)dst + 64;
	elem.local_mem_hndl = lmh;
	elem.remote_addr = t.r.addr + 2;
	elem.remote_mem_hndl = t.r.mh;
	elem.length = 8;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_ALIGNMENT_ERROR);
	elem.remote_addr = t.r.addr;
	elem.local_addr = (uint64_t)dst + PAGE;
	elem.local_mem_hndl = ro;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_PERMISSION_ERROR);
	ok(all_bytes(dst, 2 * PAGE, 0), "not even the first was done");
	is_empty(t.n.tx);
	elem.local_addr = (uint64_t)dst + 8;
	elem.local_mem_hndl = lmh;
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	ok(all_bytes(dst, 16, 5));
	target_close(&t);
}

static void test_chain_limits(void)
{
	gni_ct_put_post_descriptor_t *elem = calloc(KGNI_CHAIN_MAX, sizeof(*elem));
	unsigned char *src = map_private(PAGE);
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, SELF, 4 * PAGE, 0, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, src, NULL, &t.r, 0, 8);
	d.next_descr = elem;
	memset(src, 2, PAGE);
	for (i = 0; i < KGNI_CHAIN_MAX; i++)
		elem[i] = (gni_ct_put_post_descriptor_t){
			.next_descr = &elem[i + 1], .local_addr = (uint64_t)src,
			.remote_addr = t.r.addr + i * 8, .remote_mem_hndl = t.r.mh, .length = 8,
		};
	elem[KGNI_CHAIN_MAX - 1].next_descr = NULL;
	is_rc(GNI_CtPostFma(t.ep, &d), GNI_RC_ERROR_RESOURCE, "one too many");
	elem[KGNI_CHAIN_MAX - 2].next_descr = NULL;
	is_rc(chain_wait(&t, &d), GNI_RC_SUCCESS);
	ok(all_bytes(t.mem, (KGNI_CHAIN_MAX - 1) * 8, 2));
	target_close(&t);
}

/* --- flagged responses ----------------------------------------------------------- */

static void flag_descr(gni_post_descriptor_t *d, gni_post_type_t type, void *local,
		       const gni_mem_handle_t *lmh, struct target *t, uint64_t len)
{
	desc_init(d, type, GLOBAL);
	desc_move(d, local, lmh, &t->r, 0, len);
	d->sync_flag_value = 0xdeadbeef12345678;
	d->amo_cmd = GNI_FMA_ATOMIC_FADD;
	d->first_operand = 1;
}

static void test_flagged(enum layout layout)
{
	unsigned char *dst = map_private(PAGE);
	gni_post_descriptor_t d;
	gni_mem_handle_t lmh;
	struct target t;
	uint32_t flag;
	unsigned int at, len;

	target_open(&t, layout, PAGE, 0, 0);
	mem_open(&t.n, dst, PAGE, NULL, 0, &lmh);
	fill(t.mem, 64, 21);
	for (len = 4; len <= 60; len += 4) {
		for (at = 0; at + len + 4 <= 64; at += 4) {
			memset(dst, 0xee, 256);
			flag_descr(&d, GNI_POST_FMA_GET_W_FLAG, dst + 64 + at, &lmh, &t, len);
			is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
			memcpy(&flag, dst + 64 + at + len, 4);
			is_u64(flag, 0x12345678, "%u at %u", len, at);
			ok(filled(dst + 64 + at, len, 21) && all_bytes(dst, 64 + at, 0xee) &&
			   all_bytes(dst + 64 + at + len + 4, 64, 0xee), "%u at %u", len, at);
		}
	}
	memset(t.mem, 0, 8);
	memset(dst, 0xee, 64);
	flag_descr(&d, GNI_POST_AMO_W_FLAG, dst + 8, &lmh, &t, 8);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	is_u64(*(uint64_t *)(dst + 8), 0);
	is_u64(*(uint32_t *)(dst + 16), 0x12345678);
	is_u64(*(uint64_t *)t.mem, 1);
	target_close(&t);
}
ALL_LAYOUTS(test_flagged)

static void test_flagged_refused(void)
{
	static const gni_post_type_t types[] = { GNI_POST_FMA_GET_W_FLAG, GNI_POST_AMO_W_FLAG };
	unsigned char *dst = map_private(PAGE), *ro = map_private(PAGE);
	gni_mem_handle_t lmh, ro_mh;
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, SELF, PAGE, 0, 0);
	mem_open(&t.n, dst, PAGE, NULL, 0, &lmh);
	mem_open(&t.n, ro, PAGE, NULL, GNI_MEM_READ_ONLY, &ro_mh);
	for (i = 0; i < 2; i++) {
		flag_descr(&d, types[i], dst, &lmh, &t, 64);
		is_rc(post(t.ep, &d), GNI_RC_INVALID_PARAM, "too long");
		flag_descr(&d, types[i], dst, &lmh, &t, 0);
		is_rc(post(t.ep, &d), GNI_RC_INVALID_PARAM, "empty");
		flag_descr(&d, types[i], dst + 56, &lmh, &t, 8);
		is_rc(post(t.ep, &d), GNI_RC_ALIGNMENT_ERROR, "over the end of a line");
		flag_descr(&d, types[i], dst + 2, &lmh, &t, 8);
		is_rc(post(t.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		flag_descr(&d, types[i], dst, &lmh, &t, 6);
		is_rc(post(t.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		flag_descr(&d, types[i], dst, &lmh, &t, 8);
		d.remote_addr += 2;
		is_rc(post(t.ep, &d), GNI_RC_ALIGNMENT_ERROR);
		flag_descr(&d, types[i], ro, &ro_mh, &t, 8);
		is_rc(post(t.ep, &d), GNI_RC_PERMISSION_ERROR);
		flag_descr(&d, types[i], ro, &lmh, &t, 8);
		is_rc(post(t.ep, &d), GNI_RC_INVALID_PARAM, "another's handle");
	}
	flag_descr(&d, GNI_POST_AMO_W_FLAG, dst, &lmh, &t, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_ADD;
	is_rc(post(t.ep, &d), GNI_RC_INVALID_PARAM, "nothing comes back");
	ok(all_bytes(dst, PAGE, 0) && all_bytes(t.mem, PAGE, 0));
	is_empty(t.n.tx);
	target_close(&t);
}

/* --- delivery modes --------------------------------------------------------------- */

static void test_delivery_modes(void)
{
	static const uint16_t modes[] = {
		GNI_DLVMODE_PERFORMANCE, GNI_DLVMODE_NO_ADAPT, GNI_DLVMODE_NO_HASH,
		GNI_DLVMODE_NO_RADAPT, GNI_DLVMODE_IN_ORDER, GNI_DLVMODE_NMIN_HASH,
		GNI_DLVMODE_MIN_HASH, GNI_DLVMODE_ADAPTIVE1, GNI_DLVMODE_ADAPTIVE2,
		GNI_DLVMODE_ADAPTIVE3, GNI_DLVMODE_ORDERED_TAIL, 0x1ff,
	};
	static const gni_post_type_t types[] = {
		GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_FMA_PUT, GNI_POST_FMA_GET,
		GNI_POST_AMO, GNI_POST_CQWRITE,
	};
	unsigned char *buf = map_private(PAGE);
	gni_post_descriptor_t d;
	gni_mem_handle_t lmh;
	struct target t;
	unsigned int i, j;

	target_open(&t, TWO_CDMS, PAGE, 0, 0);
	mem_open(&t.n, buf, PAGE, NULL, 0, &lmh);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		for (j = 0; j <= ARRAY_SIZE(modes); j++) {
			desc_init(&d, types[i], GLOBAL);
			desc_move(&d, buf, &lmh, &t.r, 0, 8);
			d.amo_cmd = GNI_FMA_ATOMIC_FADD;
			d.dlvr_mode = j < ARRAY_SIZE(modes) ? modes[j] : 0x200;
			is_rc(post_wait(t.ep, t.n.tx, &d), j < ARRAY_SIZE(modes) ?
			      GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM, "type %u mode %#x", types[i],
			      d.dlvr_mode);
		}
	}
	target_close(&t);
}

#define ROUNDS	40

/* A long and a short put, over and over. Return: how often the short one came first. */
static unsigned int overtaken(uint16_t dlvr, uint16_t second_rdma_mode, uint32_t modes)
{
	unsigned char *src = map_private(2 * MB);
	gni_post_descriptor_t d[2], *done;
	unsigned int i, n = 0;
	gni_cq_entry_t e;
	gni_mem_handle_t lmh;
	struct target t;

	target_open(&t, TWO_CDMS, 4 * MB, 0, modes);
	mem_open(&t.n, src, 2 * MB, NULL, 0, &lmh);
	for (i = 0; i < ROUNDS; i++) {
		desc_init(&d[0], GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d[0], src, &lmh, &t.r, 0, 2 * MB);
		desc_init(&d[1], GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d[1], src, &lmh, &t.r, 3 * MB, 8);
		d[0].dlvr_mode = dlvr;
		d[1].dlvr_mode = dlvr;
		d[1].rdma_mode = second_rdma_mode;
		must_do(GNI_PostRdma(t.ep, &d[0]));
		must_do(GNI_PostRdma(t.ep, &d[1]));
		must_do(next_event(t.n.tx, &e));
		must_do(GNI_GetCompleted(t.n.tx, e, &done));
		n += done == &d[1];
		must_do(next_event(t.n.tx, &e));
		must_do(GNI_GetCompleted(t.n.tx, e, &done));
	}
	target_close(&t);
	return n;
}

static void test_order(void)
{
	ok(overtaken(GNI_DLVMODE_PERFORMANCE, 0, 0) > 0, "a short one overtakes a long one");
	is_u64(overtaken(GNI_DLVMODE_IN_ORDER, 0, 0), 0, "IN_ORDER");
	is_u64(overtaken(GNI_DLVMODE_PERFORMANCE, GNI_RDMAMODE_FENCE, 0), 0, "FENCE");
	is_u64(overtaken(GNI_DLVMODE_PERFORMANCE, 0, GNI_CDM_MODE_BTE_SINGLE_CHANNEL), 0,
	       "BTE_SINGLE_CHANNEL");
}

/* --- a full queue at the target ------------------------------------------------------ */

static void test_remote_overrun(void)
{
	unsigned char *src = map_private(PAGE), *mem = map_private(PAGE);
	gni_cq_handle_t small;
	gni_cq_entry_t e = 0, rx;
	gni_post_descriptor_t d;
	uint32_t recoverable = 0;
	gni_ep_handle_t ep;
	struct region r;
	struct nic n;
	int i;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	small = cq_open(&n, 2, GNI_CQ_NOBLOCK);
	region_open(&n, mem, PAGE, small, 0, &r);
	for (i = 0; i < 3; i++) {
		memset(src, i + 1, 8);
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
		desc_move(&d, src, NULL, &r, i * 8, 8);
		must_do(post(ep, &d));
		is_rc(complete(n.tx, &d, &e), i < 2 ? GNI_RC_SUCCESS : GNI_RC_TRANSACTION_ERROR);
		is_u64(gni_cq_rem_overrun(e), i == 2);
		ok(all_bytes(mem + i * 8, 8, i + 1), "the data is there");
	}
	is_rc(GNI_CqErrorRecoverable(e, &recoverable), GNI_RC_SUCCESS);
	ok(recoverable);
	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	d.remote_mem_hndl = r.mh;
	must_do(post(ep, &d));
	is_rc(complete(n.tx, &d, &e), GNI_RC_TRANSACTION_ERROR, "its value is lost");
	is_u64(gni_cq_rem_overrun(e), 1);
	is_rc(GNI_CqGetEvent(small, &rx), GNI_RC_ERROR_RESOURCE);
	ok(gni_cq_overrun(rx));
	for (i = 0; i < 2; i++)
		is_rc(GNI_CqGetEvent(small, &rx), GNI_RC_SUCCESS);
	is_empty(small);
	must_do(post(ep, &d));
	is_rc(complete(n.tx, &d, &e), GNI_RC_SUCCESS, "and afterwards all is well");
}

static const struct test tests[] = {
	CASES("chain of puts", test_chain_put),
	CASES("chain of gets", test_chain_get),
	CASES("chains of AMOs and CQ writes", test_chain_amo_cqw),
	CASES("chain of puts with flags", test_chain_flags),
	CASE("chains: what is refused", test_chain_refused),
	CASE("chains: codes of elements", test_chain_codes),
	CASE("chains: the longest", test_chain_limits),
	CASES("flagged responses", test_flagged),
	CASE("flagged responses: what is refused", test_flagged_refused),
	CASE("delivery modes", test_delivery_modes),
	CASE("order of RDMA", test_order, .seconds = 60),
	CASE("full queue at the target", test_remote_overrun),
};

int main(void)
{
	return RUN_TESTS(tests);
}
