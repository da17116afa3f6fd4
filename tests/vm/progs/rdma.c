// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA puts and gets, which run on while the caller goes on. Needs two NICs.
 */
#include <signal.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LOCAL	GNI_CQMODE_LOCAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define MB	(1UL << 20)
#define GUARD	128
#define POISON	0xee

/* A target, and registered memory of the initiator. */
struct rdma {
	struct target t;
	unsigned char *local;
	size_t len;
	gni_mem_handle_t lmh;
};

static void rdma_open_modes(struct rdma *b, enum layout layout, size_t len, uint32_t modes)
{
	target_open(&b->t, layout, len, 0, modes);
	b->len = len;
	b->local = map_private(len);
	mem_open(&b->t.n, b->local, len, NULL, 0, &b->lmh);
}

static void rdma_open(struct rdma *b, enum layout layout, size_t len)
{
	rdma_open_modes(b, layout, len, 0);
}

static void desc_rdma(struct rdma *b, gni_post_descriptor_t *d, gni_post_type_t type, size_t local,
		      size_t remote, size_t len)
{
	desc_init(d, type, GLOBAL);
	desc_move(d, b->local + local, &b->lmh, &b->t.r, remote, len);
}

static gni_return_t rdma_wait(struct rdma *b, gni_post_descriptor_t *d)
{
	return post_wait(b->t.ep, b->t.n.tx, d);
}

static void poison(unsigned char *at, size_t len)
{
	memset(at - GUARD, POISON, len + 2 * GUARD);
}

static bool guarded(const unsigned char *at, size_t len)
{
	return all_bytes(at - GUARD, GUARD, POISON) && all_bytes(at + len, GUARD, POISON);
}

static void test_put(enum layout layout)
{
	static const size_t sizes[] = { 1, 3, 8, 64, 65, 4095, 4097, 65536, MB + 3 };
	static const size_t offsets[] = { 0, 1, 4, 63, 4095 };
	gni_post_descriptor_t d;
	struct rdma b;
	size_t i, j, k;

	rdma_open(&b, layout, 2 * MB);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			for (k = 0; k < ARRAY_SIZE(offsets); k++) {
				size_t from = offsets[j], to = PAGE + offsets[k], n = sizes[i];

				if (n > MB && j != k)
					continue;
				fill(b.local + from, n, i + j + k);
				poison(b.t.mem + to, n);
				desc_rdma(&b, &d, GNI_POST_RDMA_PUT, from, to, n);
				is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
				ok(filled(b.t.mem + to, n, i + j + k) && guarded(b.t.mem + to, n),
				   "%zu bytes from %zu to %zu", n, from, to);
			}
		}
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_put)

static void test_get(enum layout layout)
{
	static const size_t sizes[] = { 4, 8, 64, 68, 4092, 4100, 65536, MB + 4 };
	static const size_t from[] = { 0, 4, 60, 4092 };
	static const size_t to[] = { 0, 1, 3, 4, 4095 };
	gni_post_descriptor_t d;
	struct rdma b;
	size_t i, j, k;

	rdma_open(&b, layout, 2 * MB);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(from); j++) {
			for (k = 0; k < ARRAY_SIZE(to); k++) {
				unsigned char *dst = b.local + PAGE + to[k];
				size_t n = sizes[i];

				if (n > MB && j != k)
					continue;
				fill(b.t.mem + from[j], n, i + j + k);
				poison(dst, n);
				desc_rdma(&b, &d, GNI_POST_RDMA_GET, PAGE + to[k], from[j], n);
				is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
				ok(filled(dst, n, i + j + k) && guarded(dst, n),
				   "%zu bytes from %zu to %zu", n, from[j], to[k]);
			}
		}
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_get)

static void test_large(enum layout layout)
{
	const size_t len = 64 * MB, words = len / 8;
	gni_post_descriptor_t d;
	uint64_t *local, *remote;
	struct rdma b;
	size_t i, bad = 0;

	rdma_open(&b, layout, len);
	local = (uint64_t *)b.local;
	remote = (uint64_t *)b.t.mem;
	for (i = 0; i < words; i++)
		local[i] = i * 0x9e3779b97f4a7c15;
	desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, len);
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
	for (i = 0; i < words; i++)
		bad += remote[i] != i * 0x9e3779b97f4a7c15;
	is_u64(bad, 0, "put");
	for (i = 0; i < words; i++)
		remote[i] = ~i;
	desc_rdma(&b, &d, GNI_POST_RDMA_GET, 0, 0, len);
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
	for (i = 0; i < words; i++)
		bad += local[i] != ~i;
	is_u64(bad, 0, "get");
	target_close(&b.t);
}

static void test_large_peer(void)
{
	test_large(PEER);
}

static void test_large_nics(void)
{
	test_large(OTHER_NIC);
}

#define MANY	256
#define PIECE	(32 * 1024UL)

/* All out at once, completed by what each event says. */
static void test_outstanding(enum layout layout)
{
	static gni_post_descriptor_t d[MANY];
	static unsigned char done[MANY];
	gni_post_descriptor_t *got;
	gni_cq_entry_t e;
	struct rdma b;
	int i, n;

	rdma_open(&b, layout, MANY * PIECE);
	for (i = 0; i < MANY; i++) {
		memset(b.local + i * PIECE, i & 1 ? 0 : i + 1, PIECE);
		memset(b.t.mem + i * PIECE, i & 1 ? i + 1 : 0, PIECE);
		desc_rdma(&b, &d[i], i & 1 ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT, i * PIECE,
			  i * PIECE, PIECE);
		d[i].post_id = i;
	}
	for (i = 0; i < MANY; i++)
		must_do(GNI_PostRdma(b.t.ep, &d[i]));
	for (i = 0; i < MANY; i++) {
		must_rc(next_event(b.t.n.tx, &e), GNI_RC_SUCCESS);
		must_rc(GNI_GetCompleted(b.t.n.tx, e, &got), GNI_RC_SUCCESS);
		n = got - d;
		must(n >= 0 && n < MANY);
		ok(!done[n], "post %d completed twice", n);
		done[n] = 1;
		is_u64(got->post_id, n);
		ok(all_bytes(b.local + n * PIECE, PIECE, n + 1) &&
		   all_bytes(b.t.mem + n * PIECE, PIECE, n + 1), "data of post %d", n);
	}
	is_empty(b.t.n.tx);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS);
	target_close(&b.t);
}
ALL_LAYOUTS(test_outstanding)

/* --- events -------------------------------------------------------------------- */

static void test_events(enum layout layout)
{
	static const uint16_t modes[] = {
		LOCAL, GLOBAL, LOCAL | REMOTE, GLOBAL | REMOTE, LOCAL | GLOBAL,
		LOCAL | GLOBAL | REMOTE, REMOTE, GNI_CQMODE_SILENT,
	};
	gni_post_descriptor_t d, last;
	gni_cq_entry_t e;
	struct rdma b;
	unsigned int i, n;

	rdma_open_modes(&b, layout, MB, GNI_CDM_MODE_DUAL_EVENTS | GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, 1000);
		d.cq_mode = modes[i];
		is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_SUCCESS);
		/* One that tells when those before it are done. */
		desc_rdma(&b, &last, GNI_POST_RDMA_PUT, 2000, 2000, 1);
		is_rc(GNI_PostRdma(b.t.ep, &last), GNI_RC_SUCCESS);
		for (n = !!(modes[i] & LOCAL) + !!(modes[i] & GLOBAL); n; n--) {
			is_rc(complete(b.t.n.tx, &d, &e), GNI_RC_SUCCESS, "mode %#x", modes[i]);
			is_u64(gni_cq_get_inst_id(e), BIND_ID & 0xffffff);
		}
		is_rc(complete(b.t.n.tx, &last, &e), GNI_RC_SUCCESS);
		is_empty(b.t.n.tx, "mode %#x", modes[i]);
		if (modes[i] & REMOTE) {
			is_rc(target_event(&b.t, &e), GNI_RC_SUCCESS, "mode %#x", modes[i]);
			is_u64(gni_cq_get_rem_inst_id(e), INITIATOR_ID);
			is_u64(gni_cq_get_data(e), INITIATOR_ID);
			ok(GNI_CQ_STATUS_OK(e));
		}
		is_rc(target_event(&b.t, &e), GNI_RC_NOT_DONE, "mode %#x", modes[i]);
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_events)

/* The events of posts that may end in any order. */
static void drain_limit(gni_cq_handle_t cq, gni_post_descriptor_t *d, int count)
{
	gni_post_descriptor_t *done;
	gni_cq_entry_t e;

	while (count--) {
		must_do(next_event(cq, &e));
		is_rc(GNI_GetCompleted(cq, e, &done), GNI_RC_SUCCESS);
		ok(done >= d && done < d + 4);
	}
	is_empty(cq);
}

static void test_source_queue(void)
{
	gni_post_descriptor_t d, *done;
	gni_cq_handle_t cq, blocking;
	gni_ep_handle_t bare;
	gni_cq_entry_t e;
	struct nic other;
	struct rdma b;

	rdma_open(&b, SELF, MB);
	cq = cq_open(&b.t.n, 16, GNI_CQ_NOBLOCK);
	blocking = cq_open(&b.t.n, 16, GNI_CQ_BLOCKING);
	desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, MB);
	d.src_cq_hndl = cq;
	is_rc(post_wait(b.t.ep, cq, &d), GNI_RC_SUCCESS);
	is_empty(b.t.n.tx);
	d.src_cq_hndl = blocking;
	must_do(GNI_PostRdma(b.t.ep, &d));
	is_rc(GNI_CqWaitEvent(blocking, FOREVER, &e), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_NOT_DONE, "out on the other queue");
	is_rc(GNI_GetCompleted(b.t.n.tx, e, &done), GNI_RC_DESCRIPTOR_ERROR);
	is_rc(GNI_GetCompleted(blocking, e, &done), GNI_RC_SUCCESS);
	ok(done == &d);
	d.src_cq_hndl = NULL;
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
	/* An endpoint without a queue of its own. */
	must_do(GNI_EpCreate(b.t.n.h, NULL, &bare));
	must_do(GNI_EpBind(bare, b.t.r.pe, 1));
	d.src_cq_hndl = cq;
	is_rc(post_wait(bare, cq, &d), GNI_RC_SUCCESS);
	d.src_cq_hndl = (gni_cq_handle_t)&d;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	nic_open(&other, 0, 3);
	d.src_cq_hndl = other.tx;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "of another NIC handle");
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	d.src_cq_hndl = cq;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "stale");
	is_empty(b.t.n.tx);
}

/* As many posts as its queue has entries, on the queue of the post, too. */
/* Post @n by an endpoint whose queue is another. */
static gni_return_t post_many(struct rdma *b, gni_cq_handle_t cq, gni_post_descriptor_t *d, int n)
{
	gni_return_t rc = GNI_RC_SUCCESS;
	int i;

	for (i = 0; i < n && rc == GNI_RC_SUCCESS; i++) {
		desc_rdma(b, &d[i], GNI_POST_RDMA_PUT, 0, 0, 64);
		d[i].src_cq_hndl = cq;
		rc = GNI_PostRdma(b->t.ep, &d[i]);
	}
	return rc;
}

/* Each queue has room for its own posts, however many there are on another. */
static void test_limits(void)
{
	gni_post_descriptor_t many[4], few[2], more;
	gni_cq_handle_t large, small;
	struct rdma b;

	rdma_open(&b, PEER, PAGE);
	large = cq_open(&b.t.n, 4, GNI_CQ_NOBLOCK);
	small = cq_open(&b.t.n, 2, GNI_CQ_NOBLOCK);
	is_rc(post_many(&b, large, many, 4), GNI_RC_SUCCESS);
	is_rc(post_many(&b, small, few, 2), GNI_RC_SUCCESS);
	is_rc(post_many(&b, small, &more, 1), GNI_RC_ERROR_RESOURCE);
	is_rc(post_many(&b, large, &more, 1), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_NOT_DONE);
	drain_limit(large, many, 4);
	is_rc(post_many(&b, small, &more, 1), GNI_RC_ERROR_RESOURCE);
	drain_limit(small, few, 2);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS);
	target_close(&b.t);
}

static void test_limit(void)
{
	gni_post_descriptor_t d[5];
	gni_cq_handle_t cq;
	struct rdma b;
	int i, own;

	rdma_open(&b, PEER, 5 * PAGE);
	cq = cq_open(&b.t.n, 4, GNI_CQ_NOBLOCK);
	must_do(GNI_EpDestroy(b.t.ep));
	must_do(GNI_EpCreate(b.t.n.h, cq, &b.t.ep));
	must_do(GNI_EpBind(b.t.ep, b.t.r.pe, BIND_ID));
	for (own = 0; own < 2; own++) {
		for (i = 0; i < 5; i++) {
			desc_rdma(&b, &d[i], GNI_POST_RDMA_PUT, i * PAGE, i * PAGE, PAGE);
			d[i].src_cq_hndl = own ? cq : NULL;
			is_rc(GNI_PostRdma(b.t.ep, &d[i]),
			      i < 4 ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE, "post %d", i);
		}
		drain_limit(cq, d, 4);
		is_rc(post_wait(b.t.ep, cq, &d[4]), GNI_RC_SUCCESS);
	}
	target_close(&b.t);
}

/* Clients write into their own fields of a descriptor that is in flight. */
static void test_scratch_in_flight(void)
{
	gni_post_descriptor_t d[16];
	gni_cq_entry_t e;
	struct rdma b;
	int i;

	rdma_open_modes(&b, PEER, 16 * MB, GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
	for (i = 0; i < 16; i++) {
		memset(b.local + i * MB, i + 1, MB);
		desc_rdma(&b, &d[i], GNI_POST_RDMA_PUT, i * MB, i * MB, MB);
		must_do(GNI_EpSetEventData(b.t.ep, i, i));
		must_do(GNI_PostRdma(b.t.ep, &d[i]));
		d[i].sync_flag_value = ~0ULL;
		d[i].sync_flag_addr = 1;
		d[i].first_operand = 2;
		d[i].second_operand = 3;
		d[i].amo_cmd = 4;
		d[i].cqwrite_value = 5;
	}
	for (i = 0; i < 16; i++) {
		is_rc(complete(b.t.n.tx, &d[i], &e), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_inst_id(e), i);
		ok(all_bytes(b.t.mem + i * MB, MB, i + 1), "post %d", i);
		ok(d[i].sync_flag_addr == 1 && d[i].cqwrite_value == 5);
	}
	target_close(&b.t);
}

/* --- order --------------------------------------------------------------------- */

#define ROUND	8

/* Posts before a fence are done when it starts, those after it start when it is done. */
static void test_fence(enum layout layout)
{
	gni_post_descriptor_t d[ROUND], fence, after[ROUND], *done;
	unsigned int n, round;
	gni_cq_entry_t e;
	struct rdma b;
	size_t i;

	rdma_open(&b, layout, (ROUND + 2) * MB);
	for (round = 1; round <= 6; round++) {
		for (i = 0; i < ROUND; i++) {
			memset(b.local + i * MB, round, MB);
			desc_rdma(&b, &d[i], GNI_POST_RDMA_PUT, i * MB, i * MB, MB >> (i & 3));
			must_do(GNI_PostRdma(b.t.ep, &d[i]));
		}
		/* The fenced get reads what the puts before it wrote. */
		desc_rdma(&b, &fence, GNI_POST_RDMA_GET, ROUND * MB, 0, MB);
		fence.rdma_mode = GNI_RDMAMODE_FENCE;
		must_do(GNI_PostRdma(b.t.ep, &fence));
		/* And those after it write where it reads. */
		memset(b.local + (ROUND + 1) * MB, 0x80 + round, MB);
		for (i = 0; i < ROUND; i++) {
			desc_rdma(&b, &after[i], GNI_POST_RDMA_PUT, (ROUND + 1) * MB,
				  i * (MB / ROUND), MB / ROUND);
			must_do(GNI_PostRdma(b.t.ep, &after[i]));
		}
		for (n = 0; n < 2 * ROUND + 1; n++) {
			must_rc(next_event(b.t.n.tx, &e), GNI_RC_SUCCESS);
			must_rc(GNI_GetCompleted(b.t.n.tx, e, &done), GNI_RC_SUCCESS);
			if (done >= d && done < d + ROUND)
				ok(n < ROUND, "round %u: event %u is of one before", round, n);
			else if (done == &fence)
				is_u64(n, ROUND);
			else
				ok(n > ROUND, "round %u: event %u is of one after", round, n);
		}
		ok(all_bytes(b.local + ROUND * MB, MB, round), "round %u: fenced get", round);
		ok(all_bytes(b.t.mem, MB, 0x80 + round), "round %u: what came after", round);
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_fence)

/* With one channel, posts are carried out and complete one after another. */
static void test_single_channel(void)
{
	static gni_post_descriptor_t d[64];
	struct rdma b;
	size_t i, round;

	rdma_open_modes(&b, PEER, 2 * MB, GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
	for (i = 0; i < 64; i++)
		memset(b.local + i * 16384, i + 1, 16384);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 64; i++) {
			desc_rdma(&b, &d[i], GNI_POST_RDMA_PUT, i * 16384, 0,
				  16384 - 100 * (i & 7));
			must_do(GNI_PostRdma(b.t.ep, &d[i]));
		}
		for (i = 0; i < 64; i++)
			is_rc(complete(b.t.n.tx, &d[i], NULL), GNI_RC_SUCCESS, "post %zu", i);
		ok(all_bytes(b.t.mem, 16384 - 700, 64));
	}
	target_close(&b.t);
}

/* --- errors -------------------------------------------------------------------- */

static void test_refused(void)
{
	static const int types[] = {
		0, GNI_POST_FMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_AMO,
		GNI_POST_CQWRITE, GNI_POST_CE, 99,
	};
	static const struct {
		gni_post_type_t type;
		size_t local, remote, len;
		gni_return_t rc;
	} tries[] = {
		{ GNI_POST_RDMA_PUT, 0, 0, 0, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_GET, 0, 0, 0, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_GET, 0, 1, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_POST_RDMA_GET, 0, 2, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_POST_RDMA_GET, 0, 0, 7, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_POST_RDMA_PUT, 2 * MB, 0, 8, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_PUT, 2 * MB - 4, 0, 8, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_GET, 2 * MB - 4, 0, 8, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_PUT, -4UL, 0, 8, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_PUT, 0, 0, 1UL << 63, GNI_RC_INVALID_PARAM },
		{ GNI_POST_RDMA_PUT, 0, 0, -1UL, GNI_RC_INVALID_PARAM },
	};
	gni_mem_handle_t ro, zero = { 0 };
	gni_post_descriptor_t d;
	gni_ep_handle_t unbound;
	struct rdma b;
	unsigned int i;

	rdma_open(&b, SELF, 2 * MB);
	memset(b.local, 1, 2 * MB);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, 8);
		d.type = types[i];
		is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "type %d", types[i]);
	}
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		desc_rdma(&b, &d, tries[i].type, tries[i].local, tries[i].remote, tries[i].len);
		is_rc(GNI_PostRdma(b.t.ep, &d), tries[i].rc, "try %u", i);
	}
	mem_open(&b.t.n, b.local, 2 * MB, NULL, GNI_MEM_READ_ONLY, &ro);
	desc_rdma(&b, &d, GNI_POST_RDMA_GET, 0, 0, 8);
	d.local_mem_hndl = ro;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_PERMISSION_ERROR);
	d.local_mem_hndl = zero;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_RDMA_PUT;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, 8);
	d.rdma_mode = GNI_RDMAMODE_PHYS_ADDR;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "for the kernel only");
	d.rdma_mode = 0x100;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	d.rdma_mode = 0;
	d.cq_mode = LOCAL | GLOBAL;
	is_rc(GNI_PostRdma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	d.cq_mode = GLOBAL;
	must_do(GNI_EpCreate(b.t.n.h, b.t.n.tx, &unbound));
	is_rc(GNI_PostRdma(unbound, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostRdma(NULL, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostRdma(b.t.ep, NULL), GNI_RC_INVALID_PARAM);
	is_empty(b.t.n.tx);
	ok(all_bytes(b.t.mem, 2 * MB, 0));
	/* What is fine after all that. */
	d.local_mem_hndl = ro;
	d.rdma_mode = GNI_RDMAMODE_GETWC_DIS;
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS, "read-only source");
}

static void try_wrong(struct rdma *b, gni_ep_handle_t ep, gni_post_descriptor_t *d,
		      const char *what)
{
	gni_cq_entry_t e;

	is_rc(post_wait(ep, b->t.n.tx, d), GNI_RC_TRANSACTION_ERROR, "%s", what);
	is_empty(b->t.n.tx, "%s", what);
	is_rc(target_event(&b->t, &e), GNI_RC_NOT_DONE, "%s", what);
	ok(all_bytes(b->t.mem, b->len, 0), "%s", what);
}

static void test_wrong(enum layout layout)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t lost;
	struct rdma b;

	rdma_open(&b, layout, 2 * MB);
	memset(b.local, 1, 2 * MB);
	desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 2 * MB, 1);
	d.cq_mode = GLOBAL | REMOTE;
	try_wrong(&b, b.t.ep, &d, "after the region");
	d.remote_addr = b.t.r.addr - 1;
	try_wrong(&b, b.t.ep, &d, "before the region");
	d.remote_addr = b.t.r.addr + 2 * MB - 4;
	d.length = MB;
	try_wrong(&b, b.t.ep, &d, "over the end");
	d.length = 2 * MB;
	d.remote_addr = b.t.r.addr + 1;
	try_wrong(&b, b.t.ep, &d, "one byte over the end");
	d.remote_addr = b.t.r.addr;
	memset(&d.remote_mem_hndl, 0xff, sizeof(d.remote_mem_hndl));
	try_wrong(&b, b.t.ep, &d, "no handle");
	d.remote_mem_hndl = b.t.r.mh;
	lost = ep_open(&b.t.n, 4000000000U, 1);
	try_wrong(&b, lost, &d, "nobody's address");
	/* The same descriptor, put right. */
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS);
	ok(all_bytes(b.t.mem, 2 * MB, 1));
	memset(b.t.mem, 0, 2 * MB);
	is_rc(target_deregister(&b.t), GNI_RC_SUCCESS);
	is_rc(rdma_wait(&b, &d), GNI_RC_TRANSACTION_ERROR, "deregistered");
	ok(all_bytes(b.t.mem, 2 * MB, 0));
	desc_rdma(&b, &d, GNI_POST_RDMA_GET, 0, 0, MB);
	is_rc(rdma_wait(&b, &d), GNI_RC_TRANSACTION_ERROR);
	ok(all_bytes(b.local, 2 * MB, 1));
	target_close(&b.t);
}
ALL_LAYOUTS(test_wrong)

static void test_wrong_read_only(void)
{
	gni_post_descriptor_t d;
	gni_mem_handle_t ro;
	struct rdma b;

	rdma_open(&b, SELF, MB);
	memset(b.local, 1, MB);
	mem_open(&b.t.n, b.t.mem, MB, NULL, GNI_MEM_READ_ONLY, &ro);
	desc_rdma(&b, &d, GNI_POST_RDMA_PUT, 0, 0, MB);
	d.remote_mem_hndl = ro;
	try_wrong(&b, b.t.ep, &d, "read-only target");
	desc_rdma(&b, &d, GNI_POST_RDMA_GET, 0, 0, MB);
	d.remote_mem_hndl = ro;
	is_rc(rdma_wait(&b, &d), GNI_RC_SUCCESS, "a get is fine");
	ok(all_bytes(b.local, MB, 0));
}

/* --- events that find no room -------------------------------------------------- */

#define CROWD	3

/* Take and complete what is there. */
static void take_all(gni_cq_handle_t cq)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e = 0;

	while (GNI_CqGetEvent(cq, &e) != GNI_RC_NOT_DONE)
		GNI_GetCompleted(cq, e, &d);
}

static bool unbinds(gni_ep_handle_t ep, gni_cq_handle_t *cq)
{
	take_all(cq[0]);
	take_all(cq[1]);
	return GNI_EpUnbind(ep) == GNI_RC_SUCCESS;
}

/* Lost to an overrun: of the endpoints' own queue, and of one that posts name. */
static void test_overrun(void)
{
	gni_post_descriptor_t d[CROWD][8];
	gni_ep_handle_t ep[CROWD];
	gni_cq_handle_t cq[2];
	struct rdma b;
	int i, j;

	rdma_open(&b, SELF, 2 * MB);
	cq[0] = cq_open(&b.t.n, 4, 0);
	cq[1] = cq_open(&b.t.n, 4, 0);
	for (i = 0; i < CROWD; i++) {
		must_do(GNI_EpCreate(b.t.n.h, cq[0], &ep[i]));
		must_do(GNI_EpBind(ep[i], b.t.n.pe, BIND_ID));
		for (j = 0; j < 8; j++) {
			desc_rdma(&b, &d[i][j], GNI_POST_RDMA_PUT, 0, MB, MB);
			d[i][j].src_cq_hndl = cq[j / 4];
			must_do(GNI_PostRdma(ep[i], &d[i][j]));
		}
		is_rc(GNI_EpUnbind(ep[i]), GNI_RC_NOT_DONE);
	}
	for (i = 0; i < 2; i++)
		ok(wait_for(GNI_CqTestEvent(cq[i]) == GNI_RC_ERROR_RESOURCE), "queue %d", i);
	for (i = 0; i < CROWD; i++)
		ok(wait_for(unbinds(ep[i], cq)), "endpoint %d", i);
}

/* --- things that go away in flight --------------------------------------------- */

#define FLIGHT	16

/* Every post has one event, good or not. */
static void drain(struct rdma *b, unsigned int count, gni_post_descriptor_t *d)
{
	gni_post_descriptor_t *got;
	unsigned char seen[FLIGHT] = { 0 };
	gni_return_t rc;
	gni_cq_entry_t e;
	unsigned int i;

	for (i = 0; i < count; i++) {
		rc = next_event(b->t.n.tx, &e);
		must(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "%s, event %u",
		     rc_name(rc), i);
		got = NULL;
		is_rc(GNI_GetCompleted(b->t.n.tx, e, &got), rc);
		must(got >= d && got < d + count);
		ok(!seen[got - d]);
		seen[got - d] = 1;
		is_u64(got->status, rc);
	}
	is_empty(b->t.n.tx);
}

static void post_flight(struct rdma *b, gni_post_descriptor_t *d, gni_post_type_t type,
			unsigned int turn)
{
	unsigned int i;

	memset(b->local, turn + 1, b->len);
	for (i = 0; i < FLIGHT; i++) {
		desc_rdma(b, &d[i], type, i * MB, i * MB, MB);
		must_do(GNI_PostRdma(b->t.ep, &d[i]));
	}
}

static void test_deregister_target(enum layout layout)
{
	unsigned char *copy = malloc(FLIGHT * MB);
	gni_post_descriptor_t d[FLIGHT];
	struct rdma b;

	must(copy);
	rdma_open(&b, layout, FLIGHT * MB);
	post_flight(&b, d, GNI_POST_RDMA_PUT, 0);
	is_rc(target_deregister(&b.t), GNI_RC_SUCCESS);
	/* From here on, nothing may change. */
	memcpy(copy, b.t.mem, FLIGHT * MB);
	drain(&b, FLIGHT, d);
	ok(!memcmp(copy, b.t.mem, FLIGHT * MB), "bytes arrive after deregistration");
	target_close(&b.t);
}
ALL_LAYOUTS(test_deregister_target)

static void test_deregister_local(void)
{
	gni_post_descriptor_t d[FLIGHT];
	unsigned char *copy = malloc(FLIGHT * MB);
	struct rdma b;
	int turn;

	must(copy);
	rdma_open(&b, PEER, FLIGHT * MB);
	for (turn = 0; turn < 4; turn++) {
		post_flight(&b, d, turn & 1 ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT, turn);
		is_rc(GNI_MemDeregister(b.t.n.h, &b.lmh), GNI_RC_SUCCESS);
		memcpy(copy, b.local, FLIGHT * MB);
		drain(&b, FLIGHT, d);
		ok(!memcmp(copy, b.local, FLIGHT * MB), "bytes arrive after deregistration");
		mem_open(&b.t.n, b.local, b.len, NULL, 0, &b.lmh);
	}
	target_close(&b.t);
}

static void test_peer_dies(enum layout layout)
{
	gni_post_descriptor_t d[FLIGHT];
	struct rdma b;

	rdma_open(&b, layout, FLIGHT * MB);
	post_flight(&b, d, GNI_POST_RDMA_PUT, 0);
	kill(b.t.pid, SIGKILL);
	reap_killed(b.t.pid);
	drain(&b, FLIGHT, d);
	is_rc(GNI_PostRdma(b.t.ep, &d[0]), GNI_RC_SUCCESS);
	is_rc(complete(b.t.n.tx, &d[0], NULL), GNI_RC_TRANSACTION_ERROR);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS);
}

static void test_peer_dies_here(void)
{
	test_peer_dies(PEER);
}

static void test_peer_dies_there(void)
{
	test_peer_dies(OTHER_NIC);
}

/* The initiator goes: what is in flight ends, and its queue and memory with it. */
static void test_initiator_goes(void)
{
	gni_post_descriptor_t d[FLIGHT];
	unsigned char *copy = malloc(FLIGHT * MB);
	struct rdma b;

	must(copy);
	rdma_open(&b, PEER, FLIGHT * MB);
	post_flight(&b, d, GNI_POST_RDMA_PUT, 0);
	is_rc(GNI_CdmDestroy(b.t.n.cdm), GNI_RC_SUCCESS);
	memcpy(copy, b.t.mem, FLIGHT * MB);
	memset(b.local, 77, b.len);
	sched_yield();
	nap();
	ok(!memcmp(copy, b.t.mem, FLIGHT * MB));
	target_close(&b.t);
}

static void test_endpoint_goes(void)
{
	gni_post_descriptor_t d[FLIGHT];
	gni_cq_handle_t cq;
	struct rdma b;
	int i;

	rdma_open(&b, PEER, FLIGHT * MB);
	cq = cq_open(&b.t.n, 64, GNI_CQ_NOBLOCK);
	memset(b.local, 5, b.len);
	for (i = 0; i < FLIGHT; i++) {
		desc_rdma(&b, &d[i], GNI_POST_RDMA_PUT, i * MB, i * MB, MB);
		d[i].src_cq_hndl = cq;
		must_do(GNI_PostRdma(b.t.ep, &d[i]));
	}
	is_rc(GNI_EpDestroy(b.t.ep), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	target_close(&b.t);
	is_rc(GNI_CdmDestroy(b.t.n.cdm), GNI_RC_SUCCESS);
}

/* Pages of a registration stay though the program unmaps them. */
static void test_unmap_in_flight(void)
{
	gni_post_descriptor_t d[FLIGHT];
	struct rdma b;

	rdma_open(&b, PEER, FLIGHT * MB);
	post_flight(&b, d, GNI_POST_RDMA_PUT, 6);
	must(!munmap(b.local, b.len));
	drain(&b, FLIGHT, d);
	ok(all_bytes(b.t.mem, FLIGHT * MB, 7));
	target_close(&b.t);
}

static const struct test tests[] = {
	CASES("put: sizes and alignments", test_put),
	CASES("get: sizes and alignments", test_get),
	CASE("64 MiB, two processes", test_large_peer, 60),
	CASE("64 MiB, two NICs", test_large_nics, 60),
	CASES("many outstanding", test_outstanding),
	CASES("events", test_events),
	CASE("a queue of its own for a post", test_source_queue),
	CASE("limit of outstanding posts", test_limit),
	CASE("limits of several queues", test_limits),
	CASE("descriptor written to in flight", test_scratch_in_flight),
	CASES("fence", test_fence),
	CASE("single channel", test_single_channel),
	CASE("refused posts", test_refused),
	CASES("errors at the target", test_wrong),
	CASE("read-only target", test_wrong_read_only),
	CASE("events that find no room", test_overrun),
	CASES("target deregistered in flight", test_deregister_target),
	CASE("local side deregistered in flight", test_deregister_local),
	CASE("peer killed in flight, one NIC", test_peer_dies_here),
	CASE("peer killed in flight, two NICs", test_peer_dies_there),
	CASE("initiator's domain destroyed in flight", test_initiator_goes),
	CASE("endpoint and queue destroyed in flight", test_endpoint_goes),
	CASE("memory unmapped in flight", test_unmap_in_flight),
};

int main(void)
{
	return RUN_TESTS(tests);
}
