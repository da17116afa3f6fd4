// SPDX-License-Identifier: GPL-2.0-only
/*
 * What clients rely on about events, queues and posts, where no other program
 * shows it: rows of CONTRACT.md. Needs two NICs.
 */
#include <sys/sysinfo.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LOCAL	GNI_CQMODE_LOCAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define MB	(1UL << 20)
#define GB	(1UL << 30)

/* --- events of every kind of post ------------------------------------------------ */

struct kind {
	const char *name;
	gni_post_type_t type;
	uint16_t amo;
	uint64_t length;
};

static const struct kind kinds[] = {
	{ "FMA put", GNI_POST_FMA_PUT, 0, 24 },
	{ "FMA put, empty", GNI_POST_FMA_PUT, 0, 0 },
	{ "FMA put with flag", GNI_POST_FMA_PUT_W_SYNCFLAG, 0, 24 },
	{ "FMA get", GNI_POST_FMA_GET, 0, 24 },
	{ "flagged FMA get", GNI_POST_FMA_GET_W_FLAG, 0, 24 },
	{ "AMO", GNI_POST_AMO, GNI_FMA_ATOMIC_ADD, 8 },
	{ "fetching AMO", GNI_POST_AMO, GNI_FMA_ATOMIC_FADD, 8 },
	{ "flagged AMO", GNI_POST_AMO_W_FLAG, GNI_FMA_ATOMIC_FADD, 8 },
	{ "RDMA put", GNI_POST_RDMA_PUT, 0, 24 },
	{ "large RDMA put", GNI_POST_RDMA_PUT, 0, 3 * PAGE },
	{ "RDMA get", GNI_POST_RDMA_GET, 0, 24 },
	{ "large RDMA get", GNI_POST_RDMA_GET, 0, 3 * PAGE },
	{ "CQ write", GNI_POST_CQWRITE, 0, 0 },
};

#define CQW_VALUE	0x1234987654ffULL

/* A target, registered memory of the initiator, and a queue that tells of fences. */
struct board {
	struct target t;
	unsigned char *local;
	gni_mem_handle_t lmh;
	gni_cq_handle_t fences;
};

static void board_open(struct board *b, enum layout layout, uint32_t modes)
{
	target_open(&b->t, layout, 4 * PAGE, 0, modes | GNI_CDM_MODE_BTE_SINGLE_CHANNEL);
	b->local = map_private(4 * PAGE);
	mem_open(&b->t.n, b->local, 4 * PAGE, NULL, 0, &b->lmh);
	b->fences = cq_open(&b->t.n, 4, GNI_CQ_NOBLOCK);
}

static void kind_descr(struct board *b, const struct kind *k, gni_post_descriptor_t *d,
		       uint16_t mode)
{
	desc_init(d, k->type, mode);
	desc_move(d, b->local, &b->lmh, &b->t.r, 64, k->length);
	if (k->amo) {
		d->amo_cmd = k->amo;
		d->first_operand = 1;
	}
	if (k->type == GNI_POST_FMA_PUT_W_SYNCFLAG)
		d->sync_flag_addr = b->t.r.addr + 256;
	if (k->type == GNI_POST_CQWRITE)
		d->cqwrite_value = CQW_VALUE;
}

/* With one channel, what was posted before is done when this is. */
static void fence(struct board *b)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, b->local, &b->lmh, &b->t.r, 3 * PAGE + 512, 8);
	d.src_cq_hndl = b->fences;
	is_rc(post_wait(b->t.ep, b->fences, &d), GNI_RC_SUCCESS);
}

static void source_events(struct board *b, const struct kind *k, gni_post_descriptor_t *d,
			  uint16_t mode, uint32_t local)
{
	gni_cq_entry_t e = 0;

	if (mode & LOCAL) {
		is_rc(complete(b->t.n.tx, d, &e), GNI_RC_SUCCESS, "%s, mode %#x", k->name, mode);
		is_u64(gni_cq_get_inst_id(e), local & 0xffffff, "%s, mode %#x", k->name, mode);
		is_u64(d->cq_mode_complete, LOCAL, "%s, mode %#x", k->name, mode);
	}
	if (mode & GLOBAL) {
		is_rc(complete(b->t.n.tx, d, &e), GNI_RC_SUCCESS, "%s, mode %#x", k->name, mode);
		is_u64(gni_cq_get_inst_id(e), local & 0xffffff, "%s, mode %#x", k->name, mode);
		is_u64(gni_cq_get_msg_id(e) & 0xffffff, local & 0xffffff, "%s", k->name);
		is_u64(d->cq_mode_complete, GLOBAL, "%s, mode %#x", k->name, mode);
	}
	is_empty(b->t.n.tx, "%s, mode %#x", k->name, mode);
}

static void target_events(struct board *b, const struct kind *k, uint16_t mode, uint32_t remote)
{
	bool write = k->type == GNI_POST_CQWRITE;
	uint64_t value = write ? CQW_VALUE : remote;
	gni_cq_entry_t e = 0;

	if (write || mode & REMOTE) {
		is_rc(target_event(&b->t, &e), GNI_RC_SUCCESS, "%s, mode %#x", k->name, mode);
		ok(GNI_CQ_STATUS_OK(e) && !gni_cq_overrun(e), "%s, mode %#x", k->name, mode);
		is_u64(gni_cq_get_data(e), value, "%s, mode %#x", k->name, mode);
		is_u64(gni_cq_get_rem_inst_id(e), value & 0xffffffff, "%s", k->name);
		is_u64(gni_cq_get_inst_id(e), value & 0xffffff, "%s", k->name);
	}
	is_rc(target_event(&b->t, &e), GNI_RC_NOT_DONE, "%s, mode %#x", k->name, mode);
}

static void try_kinds(struct board *b, uint16_t mode, bool set)
{
	uint32_t local = BIND_ID, remote = INITIATOR_ID;
	gni_post_descriptor_t d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (set) {
			local = 0xab00c0de + i;
			remote = 0xfeed0000 + i;
			must_do(GNI_EpSetEventData(b->t.ep, local, remote));
		}
		kind_descr(b, &kinds[i], &d, mode);
		is_rc(post(b->t.ep, &d), GNI_RC_SUCCESS, "%s, mode %#x", kinds[i].name, mode);
		if (set)
			must_do(GNI_EpSetEventData(b->t.ep, 0x111111, 0x222222));
		fence(b);
		source_events(b, &kinds[i], &d, mode, local);
		target_events(b, &kinds[i], mode, remote);
	}
}

static void test_events(enum layout layout)
{
	static const uint16_t modes[] = {
		GNI_CQMODE_SILENT, LOCAL, GLOBAL, REMOTE, LOCAL | REMOTE, GLOBAL | REMOTE,
		LOCAL | GLOBAL, LOCAL | GLOBAL | REMOTE,
	};
	struct board b;
	unsigned int i;

	board_open(&b, layout, GNI_CDM_MODE_DUAL_EVENTS);
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		try_kinds(&b, modes[i], false);
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		try_kinds(&b, modes[i], true);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS, "nothing is left out");
	target_close(&b.t);
}
ALL_LAYOUTS(test_events)

/* Two events are two, and both have the descriptor, also where the post fails. */
static void test_error_events(void)
{
	gni_mem_handle_t good, gone = { 0 };
	gni_post_descriptor_t d, *done;
	gni_return_t rc[2];
	gni_cq_entry_t e;
	unsigned int i, j;
	struct board b;

	board_open(&b, TWO_CDMS, GNI_CDM_MODE_DUAL_EVENTS);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		kind_descr(&b, &kinds[i], &d, LOCAL | GLOBAL);
		good = d.remote_mem_hndl;
		d.remote_mem_hndl = gone;
		is_rc(post(b.t.ep, &d), GNI_RC_SUCCESS, "%s", kinds[i].name);
		for (j = 0; j < 2; j++) {
			rc[j] = next_event(b.t.n.tx, &e);
			is_rc(GNI_GetCompleted(b.t.n.tx, e, &done), rc[j], "%s", kinds[i].name);
			ok(done == &d, "%s, event %u", kinds[i].name, j);
			is_u64(gni_cq_get_inst_id(e), BIND_ID & 0xffffff);
		}
		is_rc(rc[1], GNI_RC_TRANSACTION_ERROR, "%s", kinds[i].name);
		is_empty(b.t.n.tx, "%s", kinds[i].name);
		/* The same descriptor at once again. */
		d.remote_mem_hndl = good;
		is_rc(post(b.t.ep, &d), GNI_RC_SUCCESS, "%s", kinds[i].name);
		for (j = 0; j < 2; j++)
			is_rc(complete(b.t.n.tx, &d, NULL), GNI_RC_SUCCESS, "%s", kinds[i].name);
		is_empty(b.t.n.tx, "%s", kinds[i].name);
	}
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS);
	target_close(&b.t);
}

/* A queue in the descriptor of an FMA post or an AMO is looked at by nobody. */
static void test_fma_queue(void)
{
	gni_post_descriptor_t d;
	struct board b;
	unsigned int i;

	board_open(&b, SELF, 0);
	for (i = 0; kinds[i].type != GNI_POST_RDMA_PUT; i++) {
		kind_descr(&b, &kinds[i], &d, GLOBAL);
		d.src_cq_hndl = b.fences;
		is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_SUCCESS, "%s", kinds[i].name);
		is_empty(b.fences, "%s", kinds[i].name);
	}
}

/* Clients change cq_mode between the two events of an RDMA put. */
static void test_dual_rdma(void)
{
	gni_post_descriptor_t d, *done;
	gni_cq_entry_t e;
	struct board b;
	int i;

	board_open(&b, PEER, GNI_CDM_MODE_DUAL_EVENTS);
	for (i = 0; i < 20; i++) {
		kind_descr(&b, &kinds[9], &d, LOCAL | GLOBAL);
		must_do(GNI_PostRdma(b.t.ep, &d));
		must_do(next_event(b.t.n.tx, &e));
		must_do(GNI_GetCompleted(b.t.n.tx, e, &done));
		ok(done == &d && d.cq_mode_complete == LOCAL);
		d.cq_mode = GLOBAL;
		is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_NOT_DONE, "one is still to come");
		must_do(next_event(b.t.n.tx, &e));
		must_do(GNI_GetCompleted(b.t.n.tx, e, &done));
		ok(done == &d && d.cq_mode_complete == GLOBAL);
		is_rc(GNI_GetCompleted(b.t.n.tx, e, &done), GNI_RC_DESCRIPTOR_ERROR);
	}
	is_empty(b.t.n.tx);
	is_rc(GNI_EpUnbind(b.t.ep), GNI_RC_SUCCESS);
	target_close(&b.t);
}

/* Descriptors of silent FMA posts and CQ writes are the client's when the call returns. */
static void test_silent(void)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;
	gni_cq_handle_t one;
	gni_ep_handle_t ep;
	struct board b;
	uint64_t i;

	board_open(&b, SELF, 0);
	one = cq_open(&b.t.n, 1, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(b.t.n.h, one, &ep));
	must_do(GNI_EpBind(ep, b.t.r.pe, 1));
	for (i = 1; i <= 500; i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_SILENT);
		desc_move(&d, &i, NULL, &b.t.r, i * 8, 8);
		is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS, "%llu", (unsigned long long)i);
		memset(&d, 0xff, sizeof(d));
		is_u64(*(uint64_t *)(b.t.mem + i * 8), i);
		desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
		d.remote_mem_hndl = b.t.r.mh;
		d.cqwrite_value = i;
		is_rc(GNI_PostCqWrite(ep, &d), GNI_RC_SUCCESS, "%llu", (unsigned long long)i);
		memset(&d, 0xff, sizeof(d));
		is_rc(target_event(&b.t, &e), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_data(e), i);
	}
	is_empty(one);
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS, "they were never out");
}

/* --- entries ------------------------------------------------------------------------ */

/* Bits that clients know without the accessors, and entries that they make up. */
static void test_entries(void)
{
	static const uint32_t sizes[] = { 256, 512, 1024 };
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;
	uint32_t recoverable = 9;
	char text[1024];
	struct board b;
	unsigned int i;

	board_open(&b, SELF, 0);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		kind_descr(&b, &kinds[i], &d, GLOBAL | REMOTE);
		must_do(post(b.t.ep, &d));
		must_do(complete(b.t.n.tx, &d, &e));
		ok(gni_cq_get_source(e) && gni_cq_get_source(e) == (e >> 56 & 7), "%s",
		   kinds[i].name);
		ok(!GNI_CQ_OVERRUN(e) && GNI_CQ_OVERRUN(e | 1ULL << 63), "%s", kinds[i].name);
		must_do(target_event(&b.t, &e));
		ok(gni_cq_get_source(e) && gni_cq_get_source(e) == (e >> 56 & 7), "%s",
		   kinds[i].name);
		ok(!GNI_CQ_OVERRUN(e) && GNI_CQ_OVERRUN(e | 1ULL << 63), "%s", kinds[i].name);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		is_rc(GNI_CqErrorStr(1ULL << 48, text, sizes[i]), GNI_RC_SUCCESS);
		is_rc(GNI_CqErrorStr(e, text, sizes[i]), GNI_RC_SUCCESS, "no error");
	}
	is_rc(GNI_CqErrorRecoverable(1ULL << 48, &recoverable), GNI_RC_SUCCESS);
	ok(recoverable <= 1);
}

/* --- queues ------------------------------------------------------------------------- */

static void write_value(gni_ep_handle_t ep, const struct region *r, uint64_t value)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
	d.remote_mem_hndl = r->mh;
	d.cqwrite_value = value;
	must_do(GNI_PostCqWrite(ep, &d));
}

/* A queue holds as much as was asked for, whatever the number. */
static void test_sizes(void)
{
	static const uint32_t sizes[] = {
		2, 20, 64, 256, 1024, 2048, 8192, 16384, 32768, 40000, 262144,
	};
	gni_cq_entry_t e = 0;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	struct region r;
	struct nic n;
	uint32_t i, j;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		cq = cq_open(&n, sizes[i], GNI_CQ_PHYS_PAGES);
		region_open(&n, map_private(PAGE), PAGE, cq, 0, &r);
		for (j = 0; j < sizes[i]; j++)
			write_value(ep, &r, j);
		for (j = 0; j < sizes[i]; j++) {
			must_rc(GNI_CqGetEvent(cq, &e), GNI_RC_SUCCESS, "%u of %u", j, sizes[i]);
			must(gni_cq_get_data(e) == j, "%u of %u", j, sizes[i]);
		}
		is_empty(cq);
		must_do(GNI_MemDeregister(n.h, &r.mh));
		must_do(GNI_CqDestroy(cq));
	}
}

#define SHARERS	8
#define SHARE	16

/* One queue for many endpoints: all the posts that it has room for. */
static void test_shared_queue(void)
{
	static gni_post_descriptor_t d[SHARERS][SHARE];
	gni_post_descriptor_t *done;
	gni_ep_handle_t ep[SHARERS];
	unsigned int i, j;
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	struct board b;

	board_open(&b, PEER, 0);
	cq = cq_open(&b.t.n, SHARERS * SHARE, GNI_CQ_NOBLOCK);
	for (i = 0; i < SHARERS; i++) {
		must_do(GNI_EpCreate(b.t.n.h, cq, &ep[i]));
		must_do(GNI_EpBind(ep[i], b.t.r.pe, i));
	}
	for (j = 0; j < SHARE; j++) {
		for (i = 0; i < SHARERS; i++) {
			kind_descr(&b, &kinds[(i + j) % ARRAY_SIZE(kinds)], &d[i][j], GLOBAL);
			d[i][j].post_id = i;
			is_rc(post(ep[i], &d[i][j]), GNI_RC_SUCCESS, "post %u of %u", j, i);
		}
	}
	for (i = 0; i < SHARERS * SHARE; i++) {
		must_do(next_event(cq, &e));
		is_rc(GNI_GetCompleted(cq, e, &done), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_inst_id(e), done->post_id);
	}
	is_empty(cq);
	target_close(&b.t);
}

/* What is refused for want of room has no effect: its descriptor is free at once. */
static void test_refused_post(void)
{
	gni_post_descriptor_t d[3];
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	struct board b;
	unsigned int i;

	board_open(&b, PEER, 0);
	cq = cq_open(&b.t.n, 2, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(b.t.n.h, cq, &ep));
	must_do(GNI_EpBind(ep, b.t.r.pe, 1));
	memset(b.local, 7, PAGE);
	for (i = 0; i < 2; i++) {
		kind_descr(&b, &kinds[0], &d[i], GLOBAL);
		must_do(post(ep, &d[i]));
	}
	memset(b.t.mem, 0, 4 * PAGE);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		kind_descr(&b, &kinds[i], &d[2], GLOBAL | REMOTE);
		is_rc(post(ep, &d[2]), GNI_RC_ERROR_RESOURCE, "%s", kinds[i].name);
		memset(&d[2], 0xff, sizeof(d[2]));
	}
	is_rc(target_event(&b.t, &e), GNI_RC_NOT_DONE);
	ok(all_bytes(b.t.mem, 4 * PAGE, 0) && all_bytes(b.local, PAGE, 7));
	for (i = 0; i < 2; i++)
		is_rc(complete(cq, &d[i], NULL), GNI_RC_SUCCESS);
	is_empty(cq);
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS);
	target_close(&b.t);
}

/* --- data --------------------------------------------------------------------------- */

#define ROUNDS	30
#define FLAG_AT	(2 * MB)

/* Sees a flag only with the data that was put before it. */
static void watch(void *arg)
{
	struct target *t = arg;
	uint64_t *flag = (uint64_t *)(t->mem + FLAG_AT);
	uint64_t i, end;

	for (i = 1; i <= ROUNDS; i++) {
		end = now_ms() + PATIENCE;
		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i && now_ms() < end)
			;
		is_u64(*flag, i);
		ok(all_bytes(t->mem, 2 * MB - 8, i), "round %llu", (unsigned long long)i);
		give(0);
	}
}

struct flow {
	struct target t;
	unsigned char *src;
	gni_mem_handle_t lmh;
	uint64_t *flag;
	gni_mem_handle_t flag_mh;
	pid_t pid;
};

static void flow_open(struct flow *f, enum layout layout)
{
	target_open(&f->t, layout, 3 * MB, 0, 0);
	f->src = map_private(2 * MB);
	f->flag = map_private(PAGE);
	mem_open(&f->t.n, f->src, 2 * MB, NULL, 0, &f->lmh);
	mem_open(&f->t.n, f->flag, PAGE, NULL, 0, &f->flag_mh);
	f->pid = peer(watch, &f->t);
}

static void flow_close(struct flow *f)
{
	reap(f->pid);
	target_close(&f->t);
}

static void flow_data(struct flow *f, gni_post_descriptor_t *d, uint64_t round)
{
	memset(f->src, round, 2 * MB);
	*f->flag = round;
	desc_init(d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(d, f->src, &f->lmh, &f->t.r, 0, 2 * MB);
}

static void flow_flag(struct flow *f, gni_post_descriptor_t *d, gni_post_type_t type)
{
	desc_init(d, type, GLOBAL);
	desc_move(d, f->flag, &f->flag_mh, &f->t.r, FLAG_AT, 8);
}

/* After the event of a put its data is seen at the target, by who polls a later flag. */
static void test_visible(enum layout layout)
{
	gni_post_descriptor_t d;
	struct flow f;
	uint64_t i;

	flow_open(&f, layout);
	for (i = 1; i <= ROUNDS; i++) {
		flow_data(&f, &d, i);
		is_rc(post_wait(f.t.ep, f.t.n.tx, &d), GNI_RC_SUCCESS);
		flow_flag(&f, &d, i & 1 ? GNI_POST_FMA_PUT : GNI_POST_RDMA_PUT);
		is_rc(post_wait(f.t.ep, f.t.n.tx, &d), GNI_RC_SUCCESS);
		take(0);
	}
	flow_close(&f);
}
ALL_LAYOUTS(test_visible)

/* With a delivery mode that keeps order, nobody has to wait between data and flag. */
static void try_order(uint16_t dlvr_mode)
{
	gni_post_descriptor_t d[2], *done;
	gni_cq_entry_t e;
	struct flow f;
	uint64_t i;
	int j;

	flow_open(&f, OTHER_NIC);
	for (i = 1; i <= ROUNDS; i++) {
		flow_data(&f, &d[0], i);
		flow_flag(&f, &d[1], GNI_POST_RDMA_PUT);
		for (j = 0; j < 2; j++) {
			d[j].dlvr_mode = dlvr_mode;
			must_do(GNI_PostRdma(f.t.ep, &d[j]));
		}
		for (j = 0; j < 2; j++) {
			must_do(next_event(f.t.n.tx, &e));
			must_do(GNI_GetCompleted(f.t.n.tx, e, &done));
		}
		take(0);
	}
	flow_close(&f);
}

static void test_order_in_order(void)
{
	try_order(GNI_DLVMODE_IN_ORDER);
}

static void test_order_no_adapt(void)
{
	try_order(GNI_DLVMODE_NO_ADAPT);
}

#define SPAN	(2 * MB)

/* Spans of the longest region, 4 GiB: fewer where the machine has less memory. */
static unsigned int span_count(void)
{
	struct sysinfo info;
	uint64_t most;

	must(!sysinfo(&info));
	most = info.totalram / 4 * 3 * info.mem_unit / SPAN;
	return most < 4 * GB / SPAN ? most : 4 * GB / SPAN;
}

/* Many times the same few pages, but the last of its spans is @tail. */
static void long_region(struct nic *n, void *body, void *tail, gni_mem_handle_t *mh)
{
	unsigned int i, count = span_count();
	gni_mem_segment_t *seg = calloc(count, sizeof(*seg));

	must(seg);
	for (i = 0; i < count; i++)
		seg[i] = (gni_mem_segment_t){ (uint64_t)(i < count - 1 ? body : tail), SPAN };
	must_do(GNI_MemRegisterSegments(n->h, seg, count, NULL, 0, -1, mh));
	free(seg);
}

/* The longest that clients post is a byte less than 4 GiB. */
static void test_longest(void)
{
	unsigned char *body = map_private(SPAN), *tail = map_private(SPAN);
	unsigned char *to_body = map_private(SPAN), *to_tail = map_private(SPAN);
	struct region r = { 0 };
	gni_post_descriptor_t d;
	gni_mem_handle_t lmh;
	gni_ep_handle_t ep;
	struct nic n;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	fill(body, SPAN, 1);
	fill(tail, SPAN, 2);
	long_region(&n, body, tail, &lmh);
	long_region(&n, to_body, to_tail, &r.mh);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, NULL, &lmh, &r, 0, span_count() * SPAN - 1);
	must_do(GNI_PostRdma(ep, &d));
	/* It may take longer than events do. */
	while (GNI_CqTestEvent(n.tx) == GNI_RC_NOT_DONE)
		nap();
	is_rc(complete(n.tx, &d, NULL), GNI_RC_SUCCESS);
	ok(!memcmp(body, to_body, SPAN) && !memcmp(tail, to_tail, SPAN - 1));
	is_u64(to_tail[SPAN - 1], 0, "and no byte more");
}

static const struct test tests[] = {
	CASES("every kind of post has the events it asks for", test_events),
	CASE("a post that fails has as many events", test_error_events),
	CASE("FMA posts tell the endpoint's queue", test_fma_queue),
	CASE("both events of an RDMA put, cq_mode changed between", test_dual_rdma),
	CASE("descriptors of silent posts are free at once", test_silent),
	CASE("bits of entries that clients know", test_entries),
	CASE("queues of all sizes that clients ask for", test_sizes, 60),
	CASE("a queue for many endpoints", test_shared_queue),
	CASE("a refused post has no effect", test_refused_post),
	CASES("data is visible before a later flag", test_visible),
	CASE("IN_ORDER keeps data before flag", test_order_in_order),
	CASE("NO_ADAPT keeps data before flag", test_order_no_adapt),
	CASE("gigabytes in one post", test_longest, 120),
};

int main(void)
{
	return RUN_TESTS(tests);
}
