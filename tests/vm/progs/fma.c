// SPDX-License-Identifier: GPL-2.0-only
/*
 * FMA puts and gets: the data, the events, and what is refused. Needs two NICs.
 */
#include "common.h"
#include "core/cqe.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LOCAL	GNI_CQMODE_LOCAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define MB	(1UL << 20)
#define GUARD	128
#define POISON	0xee

/* --- data ---------------------------------------------------------------------- */

/* A transfer of @len bytes must change exactly those at @at. */
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
	static const size_t sizes[] = {
		1, 3, 4, 7, 8, 63, 64, 65, 4095, 4096, 4097, 65536, 65537, MB + 3,
	};
	static const size_t from[] = { 0, 1, 7 };
	static const size_t to[] = { 0, 1, 3, 4, 7, 8, 63, 4095 };
	unsigned char *src = map_private(2 * MB), *dst, *s;
	gni_post_descriptor_t d;
	struct target t;
	size_t i, j, k;

	target_open(&t, layout, 2 * MB, 0, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(from); j++) {
			for (k = 0; k < ARRAY_SIZE(to); k++) {
				if (sizes[i] > MB && j != k)
					continue;
				s = src + from[j];
				dst = t.mem + PAGE + to[k];
				fill(s, sizes[i], i + j + k);
				poison(dst, sizes[i]);
				desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
				desc_move(&d, s, NULL, &t.r, dst - t.mem, sizes[i]);
				is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
				ok(filled(dst, sizes[i], i + j + k) && guarded(dst, sizes[i]),
				   "%zu bytes from %zu to %zu", sizes[i], from[j], to[k]);
			}
		}
	}
	target_close(&t);
}
ALL_LAYOUTS(test_put)

static void test_get(enum layout layout)
{
	static const size_t sizes[] = {
		4, 8, 12, 60, 64, 68, 4092, 4096, 4100, 65536, 65540, MB + 4,
	};
	static const size_t from[] = { 0, 4, 8, 60, 4092 };
	static const size_t to[] = { 0, 1, 3, 4, 7, 63, 4095 };
	unsigned char *local = map_private(2 * MB), *dst;
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	struct target t;
	size_t i, j, k;

	target_open(&t, layout, 2 * MB, 0, 0);
	mem_open(&t.n, local, 2 * MB, NULL, 0, &lmh);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(from); j++) {
			for (k = 0; k < ARRAY_SIZE(to); k++) {
				if (sizes[i] > MB && j != k)
					continue;
				dst = local + PAGE + to[k];
				fill(t.mem + from[j], sizes[i], i + j + k);
				poison(dst, sizes[i]);
				desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
				desc_move(&d, dst, &lmh, &t.r, from[j], sizes[i]);
				is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
				ok(filled(dst, sizes[i], i + j + k) && guarded(dst, sizes[i]),
				   "%zu bytes from %zu to %zu", sizes[i], from[j], to[k]);
			}
		}
	}
	target_close(&t);
}
ALL_LAYOUTS(test_get)

static void test_get_alignment(void)
{
	static const struct {
		unsigned int at, len;
		gni_return_t rc;
	} tries[] = {
		{ 1, 4, GNI_RC_ALIGNMENT_ERROR }, { 2, 4, GNI_RC_ALIGNMENT_ERROR },
		{ 3, 64, GNI_RC_ALIGNMENT_ERROR }, { 0, 1, GNI_RC_ALIGNMENT_ERROR },
		{ 0, 2, GNI_RC_ALIGNMENT_ERROR }, { 0, 3, GNI_RC_ALIGNMENT_ERROR },
		{ 4, 65, GNI_RC_ALIGNMENT_ERROR }, { 0, 4097, GNI_RC_ALIGNMENT_ERROR },
		{ 0, 0, GNI_RC_INVALID_PARAM }, { 0, 4, GNI_RC_SUCCESS },
	};
	unsigned char *local = map_private(2 * PAGE);
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, SELF, 2 * PAGE, 0, 0);
	mem_open(&t.n, local, 2 * PAGE, NULL, 0, &lmh);
	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ok(all_bytes(local, 2 * PAGE, 0));
		memset(t.mem, 0x33, 2 * PAGE);
		desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
		desc_move(&d, local, &lmh, &t.r, tries[i].at, tries[i].len);
		is_rc(GNI_PostFma(t.ep, &d), tries[i].rc, "%u bytes at %u", tries[i].len,
		      tries[i].at);
	}
	is_rc(complete(t.n.tx, &d, NULL), GNI_RC_SUCCESS);
	is_empty(t.n.tx);
}

static void test_put_empty(void)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;
	struct target t;

	target_open(&t, SELF, PAGE, 0, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, NULL, NULL, &t.r, 100, 0);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	is_rc(target_event(&t, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_rem_inst_id(e), INITIATOR_ID);
	ok(all_bytes(t.mem, PAGE, 0));
}

/* Any memory that can be read will do as the source of a put. */
static void test_put_source(void)
{
	char *buf = map_private(2 * PAGE), *heap = malloc(100), stack[] = "on the stack";
	char *hidden = map_private(PAGE);
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, SELF, 4 * PAGE, 0, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, stack, NULL, &t.r, 10, sizeof(stack));
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_SUCCESS);
	memset(stack, 'x', sizeof(stack));
	is_rc(complete(t.n.tx, &d, NULL), GNI_RC_SUCCESS);
	ok(!strcmp((char *)t.mem + 10, "on the stack"), "reusable as soon as the call returns");
	desc_move(&d, "a constant", NULL, &t.r, 10, 11);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	ok(!strcmp((char *)t.mem + 10, "a constant"));
	strcpy(heap, "on the heap");
	desc_move(&d, heap, NULL, &t.r, 10, 12);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	ok(!strcmp((char *)t.mem + 10, "on the heap"));
	/* A source that ends too early: nothing is written. */
	memset(t.mem, 0, t.len);
	memset(buf, 1, 2 * PAGE);
	must(!munmap(buf + PAGE, PAGE));
	desc_move(&d, buf + 100, NULL, &t.r, 10, PAGE);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, buf + PAGE, NULL, &t.r, 10, 1);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, NULL, NULL, &t.r, 10, 1);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, (void *)0xffff888000000000, NULL, &t.r, 10, 1);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "memory of the kernel");
	must(!mprotect(hidden, PAGE, PROT_NONE));
	desc_move(&d, hidden, NULL, &t.r, 10, 1);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(t.mem, t.len, 0));
	is_empty(t.n.tx);
}

/* A large source that ends too early, beyond what the driver copies at once. */
static void test_put_source_large(void)
{
	unsigned char *buf = map_private(2 * MB);
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, SELF, 2 * MB, 0, 0);
	memset(buf, 1, 2 * MB);
	must(!munmap(buf + MB, PAGE));
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, buf, NULL, &t.r, 0, MB + 1);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(t.mem, t.len, 0), "nothing is written");
	is_empty(t.n.tx);
}

/* --- puts with a flag ---------------------------------------------------------- */

static void test_flag(void)
{
	gni_post_descriptor_t d;
	struct target t;
	uint64_t *flag;

	target_open(&t, SELF, 2 * PAGE, 0, 0);
	flag = (uint64_t *)(t.mem + PAGE);
	desc_init(&d, GNI_POST_FMA_PUT_W_SYNCFLAG, GLOBAL);
	desc_move(&d, "text", NULL, &t.r, 11, 5);
	d.sync_flag_addr = (uint64_t)flag;
	d.sync_flag_value = 0x1122334455667788;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	ok(!strcmp((char *)t.mem + 11, "text"));
	is_u64(*flag, 0x1122334455667788);
	d.length = 0;
	d.sync_flag_value = 5;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "the flag alone");
	is_u64(*flag, 5);
	d.sync_flag_addr += 4;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_ALIGNMENT_ERROR);
	/* Out of bounds: not even the data arrives. */
	memset(t.mem, 0, t.len);
	desc_move(&d, "text", NULL, &t.r, 11, 5);
	d.sync_flag_addr = (uint64_t)t.mem + t.len;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	d.sync_flag_addr = (uint64_t)t.mem - 8;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	ok(all_bytes(t.mem, t.len, 0));
}

#define FLAG_ROUNDS	300

/* Sees the flag of round n only with the data of round n. */
static void watch_flag(void *arg)
{
	struct target *t = arg;
	uint64_t *flag = (uint64_t *)(t->mem + 3 * PAGE);
	uint64_t i;

	for (i = 1; i <= FLAG_ROUNDS; i++) {
		uint64_t end = now_ms() + PATIENCE;

		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i && now_ms() < end)
			sched_yield();
		is_u64(*flag, i);
		ok(filled(t->mem + 5, 2 * PAGE, i), "round %llu", (unsigned long long)i);
		give(0);
	}
}

static void test_flag_order(enum layout layout)
{
	unsigned char *src = map_private(2 * PAGE);
	gni_post_descriptor_t d;
	struct target t;
	pid_t pid;
	int i;

	target_open(&t, layout, 4 * PAGE, 0, 0);
	pid = peer(watch_flag, &t);
	for (i = 1; i <= FLAG_ROUNDS; i++) {
		fill(src, 2 * PAGE, i);
		desc_init(&d, GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_CQMODE_SILENT);
		desc_move(&d, src, NULL, &t.r, 5, 2 * PAGE);
		d.sync_flag_addr = t.r.addr + 3 * PAGE;
		d.sync_flag_value = i;
		is_rc(GNI_PostFma(t.ep, &d), GNI_RC_SUCCESS);
		take(0);
	}
	reap(pid);
	target_close(&t);
}
ALL_LAYOUTS(test_flag_order)

/* --- events -------------------------------------------------------------------- */

static void source_event(struct target *t, gni_post_descriptor_t *d, uint64_t inst_id)
{
	gni_cq_entry_t e;

	is_rc(complete(t->n.tx, d, &e), GNI_RC_SUCCESS, "mode %#x", d->cq_mode);
	is_u64(gni_cq_get_inst_id(e), inst_id);
	is_u64(gni_cq_get_msg_id(e) & 0xffffff, inst_id);
}

static void remote_event(struct target *t, uint64_t value)
{
	gni_cq_entry_t e = 0;

	is_rc(target_event(t, &e), GNI_RC_SUCCESS);
	ok(GNI_CQ_STATUS_OK(e) && !gni_cq_overrun(e));
	is_u64(gni_cq_get_inst_id(e), value & 0xffffff);
	is_u64(gni_cq_get_rem_inst_id(e), value);
	is_u64(gni_cq_get_data(e), value);
}

static void no_remote_event(struct target *t)
{
	gni_cq_entry_t e = 0;

	is_rc(target_event(t, &e), GNI_RC_NOT_DONE);
}

static void try_events(struct target *t, gni_post_type_t type, uint16_t mode)
{
	gni_post_descriptor_t d;
	unsigned int sources = !!(mode & LOCAL) + !!(mode & GLOBAL);

	desc_init(&d, type, mode);
	desc_move(&d, "data", NULL, &t->r, 64, 4);
	d.sync_flag_addr = t->r.addr + 128;
	is_rc(post(t->ep, &d), GNI_RC_SUCCESS, "type %d, mode %#x", type, mode);
	while (sources--)
		source_event(t, &d, BIND_ID & 0xffffff);
	is_empty(t->n.tx);
	if (mode & REMOTE)
		remote_event(t, INITIATOR_ID);
	no_remote_event(t);
}

static void test_events(enum layout layout)
{
	static const uint16_t modes[] = {
		GNI_CQMODE_SILENT, LOCAL, GLOBAL, REMOTE, LOCAL | REMOTE, GLOBAL | REMOTE,
	};
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, layout, PAGE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		try_events(&t, GNI_POST_FMA_PUT, modes[i]);
		try_events(&t, GNI_POST_FMA_PUT_W_SYNCFLAG, modes[i]);
	}
	desc_init(&d, GNI_POST_FMA_PUT, LOCAL | GLOBAL);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "both without DUAL_EVENTS");
	d.cq_mode = LOCAL | GLOBAL | REMOTE;
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.cq_mode = 8 | GLOBAL;
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	is_empty(t.n.tx);
	no_remote_event(&t);
	target_close(&t);
}
ALL_LAYOUTS(test_events)

static void test_dual_events(void)
{
	gni_post_descriptor_t d, *done = NULL;
	gni_cq_entry_t first, second;
	struct target t;

	target_open(&t, SELF, PAGE, 0, GNI_CDM_MODE_DUAL_EVENTS);
	try_events(&t, GNI_POST_FMA_PUT, GLOBAL);
	try_events(&t, GNI_POST_FMA_PUT, LOCAL | REMOTE);
	try_events(&t, GNI_POST_FMA_PUT, LOCAL | GLOBAL);
	try_events(&t, GNI_POST_FMA_PUT_W_SYNCFLAG, LOCAL | GLOBAL | REMOTE);
	/* Clients change cq_mode between the two: the library doesn't look again. */
	desc_init(&d, GNI_POST_FMA_PUT, LOCAL | GLOBAL);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	must_do(GNI_PostFma(t.ep, &d));
	is_rc(next_event(t.n.tx, &first), GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(t.n.tx, first, &done), GNI_RC_SUCCESS);
	ok(done == &d);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_NOT_DONE);
	d.cq_mode = GLOBAL;
	is_rc(next_event(t.n.tx, &second), GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(t.n.tx, second, &done), GNI_RC_SUCCESS);
	ok(done == &d);
	ok((first & KGNI_CQE_LOCAL) && !(second & KGNI_CQE_LOCAL), "local, then global");
	is_empty(t.n.tx);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_SUCCESS);
}

static void test_event_data(void)
{
	gni_post_descriptor_t d[3];
	struct target t;
	uint32_t i;

	target_open(&t, PEER, PAGE, 0, 0);
	for (i = 0; i < 3; i++) {
		must_do(GNI_EpSetEventData(t.ep, 0xdeadbee0 + i, 0xfeedfac0 + i));
		desc_init(&d[i], GNI_POST_FMA_PUT, GLOBAL | REMOTE);
		desc_move(&d[i], "data", NULL, &t.r, 0, 4);
		must_do(GNI_PostFma(t.ep, &d[i]));
	}
	must_do(GNI_EpSetEventData(t.ep, 0, 0));
	for (i = 0; i < 3; i++) {
		source_event(&t, &d[i], 0xadbee0 + i);
		remote_event(&t, 0xfeedfac0 + i);
	}
	/* Values set before the endpoint is bound hold, too. */
	must_do(GNI_EpUnbind(t.ep));
	must_do(GNI_EpSetEventData(t.ep, 11, 12));
	must_do(GNI_EpBind(t.ep, t.r.pe, BIND_ID));
	must_do(GNI_PostFma(t.ep, &d[0]));
	source_event(&t, &d[0], 11);
	remote_event(&t, 12);
	target_close(&t);
}

/* A region without a queue drops the event; an endpoint without one makes none. */
static void test_no_queue(void)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct region r;
	struct target t;

	target_open(&t, SELF, PAGE, 0, 0);
	region_open(&t.n, map_private(PAGE), PAGE, NULL, 0, &r);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, "data", NULL, &r, 0, 4);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	no_remote_event(&t);
	must_do(GNI_EpCreate(t.n.h, NULL, &ep));
	must_do(GNI_EpBind(ep, t.r.pe, 5));
	desc_move(&d, "DATA", NULL, &t.r, 0, 4);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
	ok(!memcmp(t.mem, "DATA", 4));
	remote_event(&t, INITIATOR_ID);
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS, "nothing is outstanding");
	is_empty(t.n.tx);
}

/* --- what goes wrong at the target --------------------------------------------- */

struct wrong {
	const char *what;
	int64_t offset;
	uint64_t length;
};

/* A put that fails: one event that says so, and nothing changed. */
static void try_wrong(struct target *t, gni_ep_handle_t ep, gni_post_descriptor_t *d,
		      const char *what)
{
	gni_cq_entry_t e = 0;
	char text[256];

	is_rc(post(ep, d), GNI_RC_SUCCESS, "%s", what);
	is_rc(complete(t->n.tx, d, &e), GNI_RC_TRANSACTION_ERROR, "%s", what);
	is_u64(gni_cq_get_inst_id(e), BIND_ID & 0xffffff, "%s", what);
	is_rc(GNI_CqErrorStr(e, text, sizeof(text)), GNI_RC_SUCCESS);
	is_empty(t->n.tx);
	no_remote_event(t);
	ok(all_bytes(t->mem, t->len, 0), "%s", what);
	/* Silently, nothing at all happens. */
	d->cq_mode = GNI_CQMODE_SILENT;
	is_rc(post(ep, d), GNI_RC_SUCCESS, "%s", what);
	d->cq_mode = REMOTE;
	is_rc(post(ep, d), GNI_RC_SUCCESS, "%s", what);
	is_empty(t->n.tx);
	no_remote_event(t);
	ok(all_bytes(t->mem, t->len, 0), "%s", what);
}

static void test_wrong(enum layout layout)
{
	static const struct wrong wrongs[] = {
		{ "after the region", 4 * PAGE, 1 }, { "before the region", -1, 1 },
		{ "over the end", 4 * PAGE - 4, 8 }, { "over the begin", -4, 8 },
		{ "over both", -8, 4 * PAGE + 16 }, { "far away", 1L << 40, 8 },
		{ "at address 0", 0, 8 },
	};
	unsigned char *src = map_private(8 * PAGE);
	gni_ep_handle_t lost;
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i;

	target_open(&t, layout, 4 * PAGE, 0, 0);
	memset(src, 1, 8 * PAGE);
	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
		desc_move(&d, src, NULL, &t.r, wrongs[i].offset, wrongs[i].length);
		if (i == ARRAY_SIZE(wrongs) - 1)
			d.remote_addr = 0;
		try_wrong(&t, t.ep, &d, wrongs[i].what);
	}
	lost = ep_open(&t.n, 0x12345678, BIND_ID);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, src, NULL, &t.r, 0, 8);
	try_wrong(&t, lost, &d, "nobody's address");
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, src, NULL, &t.r, 0, 8);
	memset(&d.remote_mem_hndl, 0, sizeof(d.remote_mem_hndl));
	try_wrong(&t, t.ep, &d, "no handle");
	/* The same descriptor once more, put right. */
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, src, NULL, &t.r, 4 * PAGE, 1);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	d.remote_addr = t.r.addr;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	is_u64(t.mem[0], 1);
	t.mem[0] = 0;
	is_rc(target_deregister(&t), GNI_RC_SUCCESS);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, src, NULL, &t.r, 0, 1);
	try_wrong(&t, t.ep, &d, "deregistered");
	target_close(&t);
}
ALL_LAYOUTS(test_wrong)

static void test_wrong_read_only(enum layout layout)
{
	unsigned char *local = map_private(PAGE);
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, layout, PAGE, GNI_MEM_READ_ONLY, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	try_wrong(&t, t.ep, &d, "put");
	desc_init(&d, GNI_POST_FMA_PUT_W_SYNCFLAG, GLOBAL | REMOTE);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	d.sync_flag_addr = t.r.addr + 8;
	try_wrong(&t, t.ep, &d, "put with flag");
	desc_init(&d, GNI_POST_AMO, GLOBAL | REMOTE);
	desc_move(&d, NULL, NULL, &t.r, 0, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_ADD;
	d.first_operand = 1;
	try_wrong(&t, t.ep, &d, "AMO");
	mem_open(&t.n, local, PAGE, NULL, 0, &lmh);
	memset(t.mem, 0x44, PAGE);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, local, &lmh, &t.r, 0, PAGE);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "a get is fine");
	ok(all_bytes(local, PAGE, 0x44));
	target_close(&t);
}
ALL_LAYOUTS(test_wrong_read_only)

static void test_wrong_get(void)
{
	unsigned char *local = map_private(PAGE);
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	struct target t;

	target_open(&t, PEER, PAGE, 0, 0);
	mem_open(&t.n, local, PAGE, NULL, 0, &lmh);
	memset(t.mem, 0x44, PAGE);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, local, &lmh, &t.r, PAGE - 4, 8);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	is_rc(target_deregister(&t), GNI_RC_SUCCESS);
	desc_move(&d, local, &lmh, &t.r, 0, 8);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	ok(all_bytes(local, PAGE, 0));
	target_close(&t);
}

/* --- what is refused at once --------------------------------------------------- */

static void test_refused(void)
{
	static const int types[] = {
		0, GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_CQWRITE, GNI_POST_CE,
		11, 99, -1,
	};
	gni_post_descriptor_t d;
	gni_ep_handle_t unbound;
	struct target t;
	unsigned int i;

	target_open(&t, SELF, PAGE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, "data", &t.r.mh, &t.r, 0, 4);
		d.type = types[i];
		is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "type %d", types[i]);
	}
	must_do(GNI_EpCreate(t.n.h, t.n.tx, &unbound));
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	is_rc(GNI_PostFma(unbound, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostFma(NULL, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostFma(t.ep, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostRdma(t.ep, &d), GNI_RC_INVALID_PARAM, "FMA by the RDMA call");
	is_rc(GNI_PostCqWrite(t.ep, &d), GNI_RC_INVALID_PARAM, "put by the CqWrite call");
	d.remote_addr = ~0ULL - 2;
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "the range wraps");
	ok(all_bytes(t.mem, PAGE, 0));
	is_empty(t.n.tx);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_SUCCESS, "refused posts are not outstanding");
}

/* The local side of a get: a registration of the job that may be written. */
static void test_refused_local(void)
{
	unsigned char *local = map_private(4 * PAGE);
	gni_mem_handle_t lmh, ro, zero = { 0 };
	gni_post_descriptor_t d;
	struct target t;
	struct nic other;

	target_open(&t, SELF, 4 * PAGE, 0, 0);
	memset(t.mem, 0x44, t.len);
	mem_open(&t.n, local + PAGE, PAGE, NULL, 0, &lmh);
	mem_open(&t.n, local + PAGE, PAGE, NULL, GNI_MEM_READ_ONLY, &ro);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, local + PAGE, &ro, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_PERMISSION_ERROR);
	desc_move(&d, local + PAGE, &zero, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, local + 2 * PAGE - 4, &lmh, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, local + PAGE - 4, &lmh, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_move(&d, (void *)(~0UL - 3), &lmh, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(local, 4 * PAGE, 0));
	is_empty(t.n.tx);
	/* Registered by another domain of the same job is good enough. */
	nic_open(&other, 0, 7);
	mem_open(&other, local, PAGE, NULL, 0, &lmh);
	desc_move(&d, local, &lmh, &t.r, 0, 8);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS);
	ok(all_bytes(local, 8, 0x44));
	is_rc(GNI_MemDeregister(other.h, &lmh), GNI_RC_SUCCESS);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_INVALID_PARAM, "deregistered");
}

/* --- requests ------------------------------------------------------------------ */

static void try_limit(uint32_t modes, uint32_t entries, uint32_t limit, uint16_t cq_mode)
{
	gni_post_descriptor_t d[64], *done;
	unsigned int i, events = cq_mode == (LOCAL | GLOBAL) ? 2 : 1;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	struct region r;
	struct nic n;

	nic_open_modes(&n, 0, 1, modes);
	cq = cq_open(&n, entries, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(n.h, cq, &ep));
	must_do(GNI_EpBind(ep, n.pe, 1));
	region_open(&n, map_private(PAGE), PAGE, NULL, 0, &r);
	for (i = 0; i <= limit; i++) {
		desc_init(&d[i], GNI_POST_FMA_PUT, cq_mode);
		desc_move(&d[i], "data", NULL, &r, 0, 4);
		is_rc(GNI_PostFma(ep, &d[i]), i < limit ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE,
		      "post %u of %u", i + 1, limit);
	}
	d[limit].cq_mode = GNI_CQMODE_SILENT;
	is_rc(GNI_PostFma(ep, &d[limit]), GNI_RC_SUCCESS, "a silent one doesn't count");
	d[limit].cq_mode = cq_mode;
	is_rc(next_event(cq, &e), GNI_RC_SUCCESS);
	is_rc(GNI_PostFma(ep, &d[limit]), GNI_RC_ERROR_RESOURCE, "its descriptor is still out");
	is_rc(GNI_GetCompleted(cq, e, &done), GNI_RC_SUCCESS);
	ok(done == &d[0]);
	if (events == 2)
		is_rc(complete(cq, &d[0], NULL), GNI_RC_SUCCESS);
	is_rc(GNI_PostFma(ep, &d[limit]), GNI_RC_SUCCESS);
	for (i = 1; i <= limit; i++) {
		is_rc(complete(cq, &d[i], NULL), GNI_RC_SUCCESS);
		if (events == 2)
			is_rc(complete(cq, &d[i], NULL), GNI_RC_SUCCESS);
	}
	is_empty(cq);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	nic_close(&n);
}

static void test_limit(void)
{
	try_limit(0, 1, 1, GLOBAL);
	try_limit(0, 8, 8, GLOBAL);
	try_limit(0, 13, 13, LOCAL);
	try_limit(GNI_CDM_MODE_DUAL_EVENTS, 8, 4, LOCAL | GLOBAL);
	try_limit(GNI_CDM_MODE_DUAL_EVENTS, 20, 10, GLOBAL);
}

static void test_get_completed(void)
{
	gni_post_descriptor_t d[4], *done;
	gni_cq_entry_t e[4];
	struct target t;
	struct nic other;
	int i;

	target_open(&t, SELF, PAGE, 0, 0);
	nic_open(&other, 0, 5);
	for (i = 0; i < 4; i++) {
		desc_init(&d[i], GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d[i], "data", NULL, &t.r, 0, 4);
		must_do(GNI_PostFma(t.ep, &d[i]));
	}
	for (i = 0; i < 4; i++)
		is_rc(next_event(t.n.tx, &e[i]), GNI_RC_SUCCESS);
	done = (void *)1;
	is_rc(GNI_GetCompleted(other.tx, e[0], &done), GNI_RC_DESCRIPTOR_ERROR, "other queue");
	ok(!done);
	is_rc(GNI_GetCompleted(t.n.tx, e[0], NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetCompleted(NULL, e[0], &done), GNI_RC_INVALID_PARAM);
	for (i = 3; i >= 0; i--) {
		is_rc(GNI_GetCompleted(t.n.tx, e[i], &done), GNI_RC_SUCCESS);
		ok(done == &d[i], "by the event, not by order");
		done = (void *)1;
		is_rc(GNI_GetCompleted(t.n.tx, e[i], &done), GNI_RC_DESCRIPTOR_ERROR, "again");
		ok(!done);
	}
	for (i = 0; i < 64; i++) {
		done = (void *)1;
		is_rc(GNI_GetCompleted(t.n.tx, e[0] ^ 1ULL << i, &done), GNI_RC_DESCRIPTOR_ERROR,
		      "bit %d", i);
		ok(!done);
	}
	is_rc(GNI_GetCompleted(t.n.tx, 0, &done), GNI_RC_DESCRIPTOR_ERROR);
}

static void test_unbind_destroy(void)
{
	gni_post_descriptor_t d, *done;
	gni_cq_entry_t e = 0;
	struct target t;
	gni_return_t rc;

	target_open(&t, SELF, PAGE, 0, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, "data", NULL, &t.r, 0, 4);
	must_do(GNI_PostFma(t.ep, &d));
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_NOT_DONE);
	is_rc(next_event(t.n.tx, &e), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_NOT_DONE);
	is_rc(GNI_GetCompleted(t.n.tx, e, &done), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_SUCCESS);
	must_do(GNI_EpBind(t.ep, t.r.pe, 9));
	must_do(GNI_PostFma(t.ep, &d));
	is_rc(GNI_EpDestroy(t.ep), GNI_RC_SUCCESS, "with a request out");
	rc = GNI_CqGetEvent(t.n.tx, &e);
	ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_NOT_DONE, "%s", rc_name(rc));
	if (rc == GNI_RC_SUCCESS) {
		done = (void *)1;
		rc = GNI_GetCompleted(t.n.tx, e, &done);
		ok((rc == GNI_RC_SUCCESS && done == &d) ||
		   (rc == GNI_RC_DESCRIPTOR_ERROR && !done), "%s", rc_name(rc));
	}
	is_empty(t.n.tx);
	is_rc(GNI_CqDestroy(t.n.tx), GNI_RC_SUCCESS);
}

/* Fields that a type doesn't use are the client's, before and after. */
static void test_scratch(void)
{
	static const int types[] = {
		GNI_POST_FMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_AMO,
		GNI_POST_CQWRITE, GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET,
	};
	gni_post_descriptor_t d, was;
	struct target t;
	unsigned int i;

	target_open(&t, SELF, PAGE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		desc_init(&d, types[i], GLOBAL);
		desc_move(&d, t.mem, &t.r.mh, &t.r, 64, 8);
		if (types[i] == GNI_POST_FMA_PUT_W_SYNCFLAG)
			d.sync_flag_addr = t.r.addr + 256;
		if (types[i] == GNI_POST_AMO)
			d.amo_cmd = GNI_FMA_ATOMIC_FADD;
		memcpy(&was, &d, sizeof(d));
		is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "type %d", types[i]);
		/* Those that the library fills in. */
		was.next_descr = d.next_descr;
		was.prev_descr = d.prev_descr;
		was.status = d.status;
		was.cq_mode_complete = d.cq_mode_complete;
		ok(!memcmp(&was, &d, sizeof(d)), "type %d", types[i]);
	}
}

/* --- several initiators -------------------------------------------------------- */

#define WRITERS	4
#define ROUNDS	400

static struct target weave;

/* Puts single bytes, every fourth one. */
static void weaver(void *arg)
{
	unsigned char byte = 1 + *(int *)arg;
	gni_post_descriptor_t d;
	struct nic n;
	gni_ep_handle_t ep;
	int i;

	nic_open(&n, byte & 1, 100 + byte);
	ep = ep_open(&n, weave.r.pe, TARGET_ID);
	give(0);
	take(1);
	for (i = 0; i < ROUNDS; i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &byte, NULL, &weave.r, i * WRITERS + byte - 1, 1);
		is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
	}
}

static void test_weave(void)
{
	pid_t pid[WRITERS];
	int i;

	target_open(&weave, SELF, PAGE, 0, 0);
	for (i = 0; i < WRITERS; i++)
		pid[i] = peer(weaver, &i);
	for (i = 0; i < WRITERS; i++)
		take(0);
	for (i = 0; i < WRITERS; i++)
		give(1);
	for (i = 0; i < WRITERS; i++)
		reap(pid[i]);
	for (i = 0; i < ROUNDS * WRITERS; i++)
		is_u64(weave.mem[i], 1 + i % WRITERS, "byte %d", i);
}

static const struct test tests[] = {
	CASES("put: sizes and alignments", test_put),
	CASES("get: sizes and alignments", test_get),
	CASE("get: misaligned or empty", test_get_alignment),
	CASE("put: empty", test_put_empty),
	CASE("put: any source", test_put_source),
	CASE("put: large source that ends early", test_put_source_large),
	CASE("put with flag", test_flag),
	CASES("put with flag: data first", test_flag_order),
	CASES("events", test_events),
	CASE("dual events", test_dual_events),
	CASE("event data", test_event_data),
	CASE("no queue", test_no_queue),
	CASES("errors at the target", test_wrong),
	CASES("read-only target", test_wrong_read_only),
	CASE("get: errors at the target", test_wrong_get),
	CASE("refused posts", test_refused),
	CASE("refused local sides", test_refused_local),
	CASE("limit of outstanding posts", test_limit),
	CASE("GetCompleted", test_get_completed),
	CASE("unbind and destroy with posts out", test_unbind_destroy),
	CASE("a client's fields stay", test_scratch),
	CASE("bytes from four processes", test_weave),
};

int main(void)
{
	return RUN_TESTS(tests);
}
