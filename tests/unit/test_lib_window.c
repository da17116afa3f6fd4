// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts through windows: which go there, what they do, and when the driver is asked.
 * The windows are of this process: what they lead to is where the address says.
 */
#include "fake_driver.h"
#include <gni/netlink.h>

#define REGION	8192
#define PLACES	8

static u64 memory[PLACES][REGION / 8] __attribute__((aligned(4096)));
static u64 local[REGION / 8] __attribute__((aligned(4096)));
static struct kgni_window_state state_page __attribute__((aligned(4096)));
static u64 counted[512] __attribute__((aligned(4096)));

/* What the driver would do. */
static struct {
	unsigned int opens;
	int answer;		/* if not 0, of opening */
	bool no_map;
	u32 rights;
	u32 queue;		/* behind each region */
	u64 small;		/* bytes of a window, if not 0 */
	struct kgni_window_state *state;
	u64 base[64];
	u64 length[64];
} drv;

static int open_window(struct kgni_ioc_window_open *a)
{
	u64 base = a->remote.qword2, offset = a->addr - base;
	struct fake_cq *cq = fake_cq(drv.queue);
	u32 index = drv.opens++ % 64;

	if (drv.answer)
		return drv.answer;
	a->addr = base;
	a->length = REGION;
	if (drv.small) {
		a->addr += offset / drv.small * drv.small;
		a->length = drv.small;
	}
	if (a->flags & KGNI_WINDOW_QUEUE)
		a->length = 0;
	drv.base[index] = a->addr;
	drv.length[index] = a->length;
	a->index = index;
	a->rights = drv.rights | (cq ? KGNI_WINDOW_EVENTS : 0);
	a->data_offset = KGNI_MMAP_WINDOWS + index;
	a->ring_offset = KGNI_MMAP_WINDOWS + 1000;
	a->ring_length = cq ? 4096 : 0;
	a->slots = cq ? cq->slots : 0;
	a->delay = 0;
	drv.state->live[index] = 1;
	return GNI_RC_SUCCESS;
}

static void *map(u64 offset, u64 length)
{
	(void)length;
	if (offset == KGNI_MMAP_STATE)
		return drv.state;
	if (offset == KGNI_MMAP_STATS)
		return counted;
	if (drv.no_map)
		return NULL;
	if (offset == KGNI_MMAP_WINDOWS + 1000)
		return fake_cq(drv.queue)->mem;
	return (void *)(uintptr_t)drv.base[offset - KGNI_MMAP_WINDOWS];
}

struct scene {
	struct fake_side s;
	gni_cq_handle_t target;
	gni_mem_handle_t mh;
	gni_mem_handle_t lmh;
};

static void scene(struct scene *c)
{
	fake_side(&c->s, GNI_CDM_MODE_DUAL_EVENTS, 64);
	memset(&drv, 0, sizeof(drv));
	drv.state = &state_page;
	memset(memory, 0, sizeof(memory));
	memset(counted, 0, sizeof(counted));
	memset(&state_page, 0, sizeof(state_page));
	fake.window = open_window;
	fake.map = map;
	fake.window_closes = 0;
	fake.window_wakes = 0;
	ok(GNI_CqCreate(c->s.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &c->target));
	drv.queue = c->target->id;
	drv.rights = KGNI_WINDOW_WRITE;
	ok(GNI_MemRegister(c->s.nic, (u64)(uintptr_t)memory[0], REGION, c->target, 0, -1, &c->mh));
	ok(GNI_MemRegister(c->s.nic, (u64)(uintptr_t)local, REGION, NULL, 0, -1, &c->lmh));
}

static void scene_end(struct scene *c)
{
	fake_side_end(&c->s);
	fake.map = NULL;
}

static gni_post_descriptor_t descriptor(const struct scene *c, gni_post_type_t type)
{
	return (gni_post_descriptor_t){
		.type = type, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .length = 8,
		.local_addr = (u64)(uintptr_t)local, .remote_addr = (u64)(uintptr_t)memory[0],
		.local_mem_hndl = c->lmh, .remote_mem_hndl = c->mh, .amo_cmd = GNI_FMA_ATOMIC_FADD,
		.first_operand = 5, .sync_flag_addr = (u64)(uintptr_t)&memory[0][9],
		.sync_flag_value = 77, .cqwrite_value = 0x123,
	};
}

/* Post and complete. Return: how often the driver was called for it. */
static unsigned int post_one(struct scene *c, gni_post_descriptor_t *d, gni_return_t want)
{
	unsigned int before = fake.calls;
	gni_post_descriptor_t *done;
	gni_cq_entry_t e;

	if (d->type == GNI_POST_CQWRITE)
		ok(GNI_PostCqWrite(c->s.ep, d));
	else if (d->type == GNI_POST_RDMA_PUT || d->type == GNI_POST_RDMA_GET)
		ok(GNI_PostRdma(c->s.ep, d));
	else
		ok(GNI_PostFma(c->s.ep, d));
	assert_int_equal(GNI_CqGetEvent(c->s.cq, &e), want);
	assert_int_equal(GNI_GetCompleted(c->s.cq, e, &done), want);
	assert_ptr_equal(done, d);
	return fake.calls - before;
}

static void warm(struct scene *c, gni_post_type_t type)
{
	gni_post_descriptor_t d = descriptor(c, type);
	int i;

	for (i = 0; i < 3; i++)
		post_one(c, &d, GNI_RC_SUCCESS);
}

static void test_second_post_opens(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;

	(void)unused;
	scene(&c);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	assert_int_equal(drv.opens, 0);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	assert_int_equal(drv.opens, 1);
	local[0] = 0x1122334455667788;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	assert_int_equal(memory[0][0], local[0]);
	assert_int_equal(counted[KGNI_STAT_FMA_PUT], 2);
	assert_int_equal(counted[KGNI_STAT_FMA_PUT_BYTES], 16);
	/* Sizes, and pages that were not seen before. */
	d.length = REGION;
	memset(local, 0x3c, REGION);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	assert_memory_equal(memory[0], local, REGION);
	d.length = 5;
	d.remote_addr += REGION - 5;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.length = 6;		/* beyond */
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	scene_end(&c);
}

static void test_kinds(void **unused)
{
	const gni_post_type_t kinds[] = {
		GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_FMA_GET_W_FLAG,
		GNI_POST_AMO, GNI_POST_AMO_W_FLAG, GNI_POST_CQWRITE,
	};
	gni_post_descriptor_t d;
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	warm(&c, GNI_POST_FMA_GET);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		local[0] = 1000;
		local[1] = 0;
		memory[0][0] = 42;
		d = descriptor(&c, kinds[i]);
		assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
		switch (kinds[i]) {
		case GNI_POST_FMA_PUT_W_SYNCFLAG:
			assert_int_equal(memory[0][0], 1000);
			assert_int_equal(memory[0][9], 77);
			break;
		case GNI_POST_FMA_GET_W_FLAG:
			assert_int_equal((u32)local[1], 77);
			/* fallthrough */
		case GNI_POST_FMA_GET:
			assert_int_equal(local[0], 42);
			break;
		case GNI_POST_AMO_W_FLAG:
			assert_int_equal((u32)local[1], 77);
			/* fallthrough */
		case GNI_POST_AMO:
			assert_int_equal(local[0], 42);
			assert_int_equal(memory[0][0], 47);
			break;
		default:
			break;
		}
	}
	assert_int_equal(counted[KGNI_STAT_AMO], 2);
	assert_int_equal(counted[KGNI_STAT_CQWRITE], 1);
	scene_end(&c);
}

/* RDMA goes by windows while the driver has none. */
static void test_rdma(void **unused)
{
	gni_post_descriptor_t d, *done;
	gni_cq_entry_t e;
	struct scene c;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_RDMA_PUT);
	d = descriptor(&c, GNI_POST_RDMA_PUT);
	local[0] = 4711;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	assert_int_equal(memory[0][0], 4711);
	d.type = GNI_POST_RDMA_GET;
	memory[0][0] = 4712;
	ok(GNI_PostRdma(c.s.ep, &d));
	assert_int_equal(local[0], 4712);
	ok(GNI_CqGetEvent(c.s.cq, &e));
	assert_int_equal(kgni_cqe_source(e), KGNI_CQE_BTE);
	ok(GNI_GetCompleted(c.s.cq, e, &done));
	assert_ptr_equal(done, &d);
	assert_int_equal(counted[KGNI_STAT_RDMA_PUT], 1);
	assert_int_equal(counted[KGNI_STAT_RDMA_GET_BYTES], 8);
	/* A fence, another queue, a bad address, one that is under way. */
	d.rdma_mode = GNI_RDMAMODE_FENCE;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	d.rdma_mode = 0;
	d.src_cq_hndl = c.target;
	ok(GNI_PostRdma(c.s.ep, &d));
	assert_int_equal(fake.last.src_cq, c.target->id);
	d.src_cq_hndl = c.s.cq;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	ok(GNI_CqGetEvent(c.target, &e));
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	ok(GNI_GetCompleted(c.target, e, &done));
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.remote_addr += 2;
	fake.post_answer = GNI_RC_ALIGNMENT_ERROR;
	assert_int_equal(GNI_PostRdma(c.s.ep, &d), GNI_RC_ALIGNMENT_ERROR);
	fake.post_answer = 0;
	d.remote_addr -= 2;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	/* Of one without an event nobody knows when it is over. */
	d.rdma_mode = GNI_RDMAMODE_FENCE;
	d.cq_mode = GNI_CQMODE_SILENT;
	ok(GNI_PostRdma(c.s.ep, &d));
	d.rdma_mode = 0;
	d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	scene_end(&c);
}

/* A scene whose windows have their mark where posts can write: at the page that is returned. */
static struct kgni_window_state *scene_on_mark(struct scene *c, gni_post_descriptor_t *d,
					       gni_post_type_t type)
{
	struct kgni_window_state *page = (void *)memory[PLACES - 1];

	scene(c);
	drv.state = page;
	c->mh.qword2 = (u64)(uintptr_t)page;
	*d = descriptor(c, type);
	d->remote_addr = (u64)(uintptr_t)page + 4096;
	return page;
}

/* The window ends with the post itself: the driver does it once more. */
static void test_rdma_ended(void **unused)
{
	struct kgni_window_state *page;
	gni_post_descriptor_t d;
	struct scene c;
	int i;

	(void)unused;
	page = scene_on_mark(&c, &d, GNI_POST_RDMA_PUT);
	for (i = 0; i < 3; i++)
		post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.remote_addr = (u64)(uintptr_t)page->live;
	local[0] = 0;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 2);
	assert_int_equal(fake.last.type, GNI_POST_RDMA_PUT);
	assert_int_equal(fake.last.src_cq, c.s.cq->id);
	assert_int_equal(c.s.nic->rdma, 0);
	/* One that is refused then is under way nowhere. */
	d.remote_addr = (u64)(uintptr_t)page + 4096;
	for (i = 0; i < 6; i++)
		post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.remote_addr = (u64)(uintptr_t)page->live;
	d.cq_mode = GNI_CQMODE_SILENT;
	local[0] = 0;
	fake.post_answer = GNI_RC_ERROR_RESOURCE;
	assert_int_equal(GNI_PostRdma(c.s.ep, &d), GNI_RC_ERROR_RESOURCE);
	fake.post_answer = 0;
	assert_int_equal(c.s.nic->rdma, 0);
	scene_end(&c);
}

#define EPS	5

/* What lies in the queue is no more than it has room for, and in order. */
static void test_kept(void **unused)
{
	gni_post_descriptor_t d[2 * EPS], *done;
	gni_ep_handle_t ep[EPS];
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	struct scene c;
	u32 i, n;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	ok(GNI_CqCreate(c.s.nic, 4, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
	for (i = 0; i < EPS; i++) {
		ok(GNI_EpCreate(c.s.nic, cq, &ep[i]));
		ok(GNI_EpBind(ep[i], 7, i));
	}
	for (n = 1; n <= 2 * EPS; n++) {
		for (i = 0; i < n; i++) {
			d[i] = descriptor(&c, GNI_POST_FMA_PUT);
			ok(GNI_PostFma(ep[i / 2], &d[i]));
		}
		if (n > 4) {
			assert_int_equal(GNI_CqTestEvent(cq), GNI_RC_ERROR_RESOURCE);
			assert_int_equal(GNI_CqGetEvent(cq, &e), GNI_RC_ERROR_RESOURCE);
		}
		for (i = 0; i < n && i < 4; i++) {
			ok(GNI_CqTestEvent(cq));
			ok(GNI_CqGetEvent(cq, &e));
			assert_int_equal(GNI_CQ_GET_INST_ID(e), i / 2);
			ok(GNI_GetCompleted(cq, e, &done));
			assert_ptr_equal(done, &d[i]);
			assert_int_equal(GNI_GetCompleted(cq, e, &done), GNI_RC_DESCRIPTOR_ERROR);
		}
		assert_int_equal(GNI_CqGetEvent(cq, &e), GNI_RC_NOT_DONE);
		assert_int_equal(GNI_CqTestEvent(cq), GNI_RC_NOT_DONE);
	}
	/* Behind what came by the ring, and by it where a sleeper may be. */
	fake_push(cq->id, kgni_cqe_remote(99, GNI_POST_FMA_PUT, KGNI_CQE_POST));
	ok(GNI_PostFma(ep[0], &d[0]));
	ok(GNI_CqGetEvent(cq, &e));
	assert_int_equal(GNI_CQ_GET_REM_INST_ID(e), 99);
	ok(GNI_CqGetEvent(cq, &e));
	ok(GNI_GetCompleted(cq, e, &done));
	kgni_ring_arm(&cq->ring);
	n = fake.wakes;
	ok(GNI_PostFma(ep[0], &d[0]));
	assert_int_equal(fake.wakes, n + 1);
	assert_true(kgni_ring_ready(&cq->ring));
	ok(GNI_CqGetEvent(cq, &e));
	ok(GNI_GetCompleted(cq, e, &done));
	scene_end(&c);
}

static void test_events(void **unused)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e;
	struct scene c;
	int i;

	(void)unused;
	scene(&c);
	ok(GNI_EpSetEventData(c.s.ep, 0x111, 0x222));
	warm(&c, GNI_POST_FMA_PUT);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	ok(GNI_CqGetEvent(c.target, &e));
	assert_int_equal(GNI_CQ_GET_REM_INST_ID(e), 0x222);
	/* A sleeper is told of. */
	kgni_ring_arm(&c.target->ring);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	assert_int_equal(fake.window_wakes, 1);
	assert_int_equal(fake.woken.status, 0);
	c.target->ring.ring->armed = 0;
	/* Both events, the local one first. */
	d.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	ok(GNI_PostFma(c.s.ep, &d));
	ok(GNI_CqGetEvent(c.s.cq, &e));
	assert_int_equal(GNI_CQ_GET_INST_ID(e), 0x111);
	assert_true(e & KGNI_CQE_LOCAL);
	ok(GNI_CqGetEvent(c.s.cq, &e));
	assert_false(e & KGNI_CQE_LOCAL);
	/* No room: told to both. */
	d = descriptor(&c, GNI_POST_FMA_PUT);
	d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	for (i = 1; i < 8; i++)
		post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_TRANSACTION_ERROR), 1);
	assert_int_equal(fake.woken.status, KGNI_ST_REM_OVERRUN);
	assert_int_equal(fake.woken.type, GNI_POST_FMA_PUT);
	assert_int_equal(fake.woken.remote_addr, d.remote_addr);
	assert_int_equal(GNI_CqGetEvent(c.target, &e), GNI_RC_ERROR_RESOURCE);
	scene_end(&c);
}

/* The mark is cleared: the driver does it, and the window is opened anew. */
static void test_ended(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	state_page.live[0] = 0;
	assert_true(post_one(&c, &d, GNI_RC_SUCCESS) > 0);
	assert_int_equal(fake.window_closes, 1);
	post_one(&c, &d, GNI_RC_SUCCESS);
	post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(drv.opens, 2);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	scene_end(&c);
}

/* The mark lies where the post writes, so the window ends with the post itself. */
static void test_ended_meanwhile(void **unused)
{
	struct kgni_window_state *page;
	gni_post_descriptor_t d;
	struct scene c;

	(void)unused;
	page = scene_on_mark(&c, &d, GNI_POST_FMA_PUT);
	post_one(&c, &d, GNI_RC_SUCCESS);
	post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.remote_addr = (u64)(uintptr_t)page->live;
	local[0] = 0;
	/* The driver closes it, and does the post. */
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 2);
	assert_int_equal(fake.window_closes, 1);
	assert_int_equal(fake.last.src_cq, c.s.cq->id);
	assert_int_equal(fake.last.remote_addr, d.remote_addr);
	/* An atomic operation may have been done or not. */
	d.remote_addr += 4096;
	post_one(&c, &d, GNI_RC_SUCCESS);
	post_one(&c, &d, GNI_RC_SUCCESS);
	post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	d.type = GNI_POST_AMO;
	d.amo_cmd = GNI_FMA_ATOMIC_AND;
	d.remote_addr = (u64)(uintptr_t)page->live;
	d.first_operand = 0;
	fake.woken.status = 0;
	assert_int_equal(post_one(&c, &d, GNI_RC_TRANSACTION_ERROR), 1);
	assert_int_equal(fake.woken.status, KGNI_ST_ABORTED);
	scene_end(&c);
}

/* An atomic operation that begins after the end of a window is the driver's. */
static void test_ended_before_amo(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;
	u32 i;

	(void)unused;
	for (i = 0; i < 2; i++) {
		scene(&c);
		warm(&c, GNI_POST_FMA_PUT);
		warm(&c, GNI_POST_FMA_GET);
		d = descriptor(&c, GNI_POST_AMO);
		assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
		assert_int_equal(memory[0][0], 5);
		state_page.live[i] = 0;		/* the target's, then the local one */
		assert_true(post_one(&c, &d, GNI_RC_SUCCESS) > 0);
		assert_int_equal(fake.last.type, GNI_POST_AMO);
		assert_int_equal(memory[0][0], 5);
		scene_end(&c);
	}
}

/* More events than there is room for, of posts that need no driver. */
static void test_overrun(void **unused)
{
	gni_ep_handle_t more[2];
	gni_post_descriptor_t d;
	gni_cq_entry_t e;
	struct scene c;
	int i;

	(void)unused;
	scene(&c);
	for (i = 0; i < 2; i++) {
		ok(GNI_EpCreate(c.s.nic, c.s.cq, &more[i]));
		ok(GNI_EpBind(more[i], 7, 22));
	}
	warm(&c, GNI_POST_FMA_PUT);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	for (i = 0; i < 32; i++) {
		ok(GNI_PostFma(more[0], &d));
		ok(GNI_PostFma(more[1], &d));
	}
	ok(GNI_CqTestEvent(c.s.cq));
	ok(GNI_PostFma(c.s.ep, &d));
	assert_int_equal(GNI_CqTestEvent(c.s.cq), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_CqGetEvent(c.s.cq, &e), GNI_RC_ERROR_RESOURCE);
	assert_true(GNI_CQ_OVERRUN(e));
	for (i = 0; i < 64; i++)
		ok(GNI_CqGetEvent(c.s.cq, &e));
	assert_int_equal(GNI_CqGetEvent(c.s.cq, &e), GNI_RC_NOT_DONE);
	scene_end(&c);
}

static gni_ep_handle_t handlers_ep;
static gni_post_descriptor_t *handlers_post;

static void handler_posts(void)
{
	fake.in_owed = NULL;
	ok(GNI_PostFma(handlers_ep, handlers_post));
}

static void not_to_wait(void)
{
	fail_msg("it sleeps, and nobody would wake it");
}

/* As a signal's handler may, one posts after the first of two queues was found empty. */
static void test_post_before_sleep(void **unused)
{
	gni_cq_handle_t other, cqs[2];
	gni_post_descriptor_t d, rdma;
	gni_cq_entry_t e;
	struct scene c;
	u32 which = 7;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	ok(GNI_CqCreate(c.s.nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &other));
	rdma = descriptor(&c, GNI_POST_RDMA_PUT);
	rdma.src_cq_hndl = other;
	fake.post_silent = true;
	ok(GNI_PostRdma(c.s.ep, &rdma));
	/* One that overran is asked about. */
	other->lost = true;
	d = descriptor(&c, GNI_POST_FMA_PUT);
	handlers_ep = c.s.ep;
	handlers_post = &d;
	fake.in_owed = handler_posts;
	fake.in_wait = not_to_wait;
	cqs[0] = c.s.cq;
	cqs[1] = other;
	ok(GNI_CqVectorWaitEvent(cqs, 2, 1000, &e, &which));
	assert_int_equal(which, 0);
	assert_null(fake.in_owed);
	scene_end(&c);
}

static void test_refused(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;
	int i;

	(void)unused;
	scene(&c);
	drv.answer = GNI_RC_PERMISSION_ERROR;
	d = descriptor(&c, GNI_POST_FMA_PUT);
	for (i = 0; i < 4000; i++)
		assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1 + (i == 1));
	assert_int_equal(drv.opens, 1);
	drv.answer = 0;
	for (i = 0; i < 200; i++)
		post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	scene_end(&c);
}

static void test_left_to_the_driver(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	warm(&c, GNI_POST_FMA_GET);
	/* A bad source; a mistake; one who looks. */
	d = descriptor(&c, GNI_POST_FMA_PUT);
	d.local_addr = 0x10;
	fake.post_answer = GNI_RC_INVALID_PARAM;
	assert_int_equal(GNI_PostFma(c.s.ep, &d), GNI_RC_INVALID_PARAM);
	d = descriptor(&c, GNI_POST_FMA_GET);
	d.remote_addr++;
	fake.post_answer = GNI_RC_ALIGNMENT_ERROR;
	assert_int_equal(GNI_PostFma(c.s.ep, &d), GNI_RC_ALIGNMENT_ERROR);
	fake.post_answer = 0;
	state_page.flags = KGNI_DRIVER_ONLY;
	d = descriptor(&c, GNI_POST_FMA_PUT);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	state_page.flags = 0;
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	scene_end(&c);
	/* A region that may not be written. */
	scene(&c);
	drv.rights = 0;
	warm(&c, GNI_POST_FMA_PUT);
	assert_int_equal(drv.opens, 1);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	scene_end(&c);
}

/* As many as there may be; the others' turns come. */
static void test_few(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;
	u32 i, k;

	(void)unused;
	setenv("UGNI_WINDOWS", "3", 1);
	scene(&c);
	for (k = 0; k < 2000; k++) {
		i = k / 5 % PLACES;
		d = descriptor(&c, GNI_POST_FMA_PUT);
		d.remote_addr = (u64)(uintptr_t)memory[i];
		d.remote_mem_hndl.qword2 = d.remote_addr;
		local[0] = k;
		post_one(&c, &d, GNI_RC_SUCCESS);
		assert_int_equal(memory[i][0], k);
	}
	assert_true(drv.opens > PLACES);
	assert_in_range(drv.opens - fake.window_closes, 1, 3);
	scene_end(&c);
	setenv("UGNI_WINDOWS", "0", 1);
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	assert_int_equal(drv.opens, 0);
	scene_end(&c);
	unsetenv("UGNI_WINDOWS");
}

static void test_small(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;

	(void)unused;
	scene(&c);
	drv.small = 4096;
	warm(&c, GNI_POST_FMA_PUT);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	d.remote_addr += 4092;		/* in two of them */
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 1);
	assert_int_equal(drv.opens, 1);
	d.remote_addr += 4;
	post_one(&c, &d, GNI_RC_SUCCESS);
	post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(drv.opens, 2);
	assert_int_equal(post_one(&c, &d, GNI_RC_SUCCESS), 0);
	scene_end(&c);
}

/* More bytes than there may be: what the post itself needs is not given up. */
static void test_large(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;
	int i;

	(void)unused;
	scene(&c);
	drv.small = 1ULL << 38;
	d = descriptor(&c, GNI_POST_FMA_GET);
	memory[0][0] = 42;
	for (i = 0; i < 4; i++)
		post_one(&c, &d, GNI_RC_SUCCESS);
	assert_int_equal(drv.opens, 2);
	assert_int_equal(local[0], 42);
	scene_end(&c);
}

static void test_checkpoint(void **unused)
{
	gni_post_descriptor_t d;
	struct scene c;
	int before;

	(void)unused;
	scene(&c);
	warm(&c, GNI_POST_FMA_PUT);
	before = fake.mappings;
	ok(GNI_CdmCheckpoint(c.s.cdm));
	assert_int_equal(fake.window_closes, 1);
	/* Two pages are replaced, not taken away: other threads may be looking there. */
	assert_int_equal(before - fake.mappings, 2);
	d = descriptor(&c, GNI_POST_FMA_PUT);
	assert_int_equal(GNI_PostFma(c.s.ep, &d), GNI_RC_INVALID_PARAM);
	ok(GNI_CdmResume(c.s.cdm));
	warm(&c, GNI_POST_FMA_PUT);
	assert_int_equal(drv.opens, 2);
	scene_end(&c);
}

static void test_messages(void **unused)
{
	gni_smsg_attr_t a = {
		.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT, .mbox_maxcredit = 4,
		.msg_maxsize = 64,
	};
	unsigned int before = 0;
	gni_cq_entry_t e;
	struct scene c;
	u64 word[2];
	void *msg;
	u32 i;

	(void)unused;
	scene(&c);
	a.msg_buffer = memory[0];
	a.buff_size = REGION;
	a.mem_hndl = c.mh;
	ok(GNI_SmsgInit(c.s.ep, &a, &a));
	for (i = 0; i < 500; i++) {
		if (i == 20)
			before = fake.calls;
		word[0] = i;
		word[1] = ~0ULL - i;
		if (i & 1)
			ok(GNI_SmsgSend(c.s.ep, word, 8, &word[1], 8, i));
		else
			ok(GNI_SmsgSend(c.s.ep, word, 16, NULL, 0, i));
		ok(GNI_CqGetEvent(c.s.cq, &e));
		assert_int_equal(GNI_CQ_GET_MSG_ID(e), i);
		ok(GNI_SmsgGetNext(c.s.ep, &msg));
		assert_memory_equal(msg, word, 16);
		ok(GNI_SmsgRelease(c.s.ep));
		while (GNI_CqGetEvent(c.target, &e) == GNI_RC_SUCCESS)
			;
	}
	assert_int_equal(fake.calls, before);
	scene_end(&c);
}

/* A channel from the endpoint to itself, in the first region. */
static void channel(struct scene *c, u16 credits, u32 maxsize)
{
	gni_smsg_attr_t a = {
		.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = credits, .msg_maxsize = maxsize,
		.msg_buffer = memory[0], .buff_size = REGION, .mem_hndl = c->mh,
	};

	ok(GNI_SmsgInit(c->s.ep, &a, &a));
}

static void expect_message(struct scene *c, const void *what, u32 length)
{
	gni_cq_entry_t e;
	void *msg;

	ok(GNI_SmsgGetNext(c->s.ep, &msg));
	assert_memory_equal(msg, what, length);
	ok(GNI_SmsgRelease(c->s.ep));
	while (GNI_CqGetEvent(c->target, &e) == GNI_RC_SUCCESS)
		assert_int_equal(gni_cq_get_rem_inst_id(e), c->s.ep->remote_event);
}

/* Send, take the event and the message. Return: how often the driver was called. */
static unsigned int message(struct scene *c, u32 n)
{
	unsigned int before = fake.calls;
	gni_cq_entry_t e;

	ok(GNI_SmsgSend(c->s.ep, &n, sizeof(n), NULL, 0, n));
	ok(GNI_CqGetEvent(c->s.cq, &e));
	assert_int_equal(GNI_CQ_GET_MSG_ID(e), n);
	assert_int_equal(GNI_CqGetEvent(c->s.cq, &e), GNI_RC_NOT_DONE);
	expect_message(c, &n, sizeof(n));
	return fake.calls - before;
}

static void warm_channel(struct scene *c)
{
	u32 i;

	for (i = 0; i < 8; i++)
		message(c, i);
	assert_int_equal(message(c, i), 0);
}

/* Pieces of all sizes, wherever they lie; what is behind the message stays. */
static void test_message_sizes(void **unused)
{
	static u8 from[2 * 4096] __attribute__((aligned(4096)));
	u8 want[400], *slot = (u8 *)memory[0] + KGNI_SMSG_SLOTS_OFFSET;
	u64 seed = 5, before;
	u32 i, h, d, at[2];
	gni_cq_entry_t e;
	struct scene c;

	(void)unused;
	scene(&c);
	channel(&c, 1, 400);
	warm_channel(&c);
	for (i = 0; i < 20000; i++) {
		h = unit_below(&seed, i & 64 ? 20 : 200);
		d = unit_below(&seed, i & 128 ? 20 : 200);
		at[0] = unit_below(&seed, sizeof(from) - h);
		at[1] = unit_below(&seed, sizeof(from) - d);
		memset(want, (int)i, sizeof(want));
		memset(slot + 8, (int)i, sizeof(want));
		from[unit_below(&seed, sizeof(from))] = (u8)seed;
		from[at[0]]++;
		from[at[1] + d - !!d]++;
		memcpy(want, &from[at[0]], h);
		memcpy(want + h, &from[at[1]], d);
		before = counted[KGNI_STAT_FMA_PUT_BYTES];
		ok(GNI_SmsgSendWTag(c.s.ep, &from[at[0]], h, &from[at[1]], d, i, (u8)i));
		assert_int_equal(counted[KGNI_STAT_FMA_PUT_BYTES], before + h + d);
		assert_int_equal(*(u64 *)slot >> 32, (h + d) | (u64)(u8)i << 16);
		ok(GNI_CqGetEvent(c.s.cq, &e));
		expect_message(&c, want, sizeof(want));
	}
	fake.post_answer = GNI_RC_INVALID_PARAM;	/* the driver's, for what can't be read */
	assert_int_equal(GNI_SmsgSend(c.s.ep, (void *)1, 8, NULL, 0, 0), GNI_RC_INVALID_PARAM);
	scene_end(&c);
}

/* Messages whose events were not taken are outstanding of the endpoint. */
static void test_message_events(void **unused)
{
	gni_cq_entry_t e;
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	channel(&c, 64, 8);
	warm_channel(&c);
	for (i = 0; i < 32; i++)	/* half of the queue's, for two events each */
		ok(GNI_SmsgSend(c.s.ep, &i, 4, NULL, 0, i));
	assert_int_equal(GNI_SmsgSend(c.s.ep, &i, 4, NULL, 0, i), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_EpUnbind(c.s.ep), GNI_RC_NOT_DONE);
	for (i = 0; i < 32; i++) {
		assert_int_equal(GNI_EpIdle(c.s.ep), GNI_RC_NOT_DONE);
		ok(GNI_CqGetEvent(c.s.cq, &e));
		assert_int_equal(GNI_CQ_GET_MSG_ID(e), i);
		expect_message(&c, &i, 4);
	}
	ok(GNI_EpIdle(c.s.ep));
	/* An event that is there twice counts once. */
	assert_true(kgni_ring_push(&c.s.cq->ring, e));
	ok(GNI_CqGetEvent(c.s.cq, &e));
	ok(GNI_EpIdle(c.s.ep));
	warm_channel(&c);
	ok(GNI_EpUnbind(c.s.ep));
	assert_true(kgni_ring_push(&c.s.cq->ring, e));
	ok(GNI_CqGetEvent(c.s.cq, &e));
	ok(GNI_EpBind(c.s.ep, 7, 22));
	memset(memory[0], 0, REGION);
	channel(&c, 64, 8);
	warm_channel(&c);
	scene_end(&c);
}

/* The endpoint goes before the events of its messages are taken. */
static void test_message_orphans(void **unused)
{
	struct ugni_req *r;
	gni_cq_entry_t e;
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	channel(&c, 64, 8);
	warm_channel(&c);
	for (i = 0; i < 5; i++)
		ok(GNI_SmsgSend(c.s.ep, &i, 4, NULL, 0, i));
	ok(GNI_EpDestroy(c.s.ep));
	for (i = 0; i < 5; i++) {
		ok(GNI_CqGetEvent(c.s.cq, &e));
		assert_int_equal(GNI_CQ_GET_MSG_ID(e), i);
	}
	assert_int_equal(GNI_CqGetEvent(c.s.cq, &e), GNI_RC_NOT_DONE);
	for (i = 0; (r = ugni_req_at(&c.s.cq->reqs, i)); i++)
		assert_false(r->live);
	ok(GNI_CqDestroy(c.s.cq));
	scene_end(&c);
}

/* Events that found no room are not waited for. */
static void test_message_events_lost(void **unused)
{
	gni_cq_entry_t e;
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	channel(&c, 64, 8);
	warm_channel(&c);
	for (i = 0; i < 62; i++)
		assert_true(kgni_ring_push(&c.s.cq->ring, kgni_cqe_hole()));
	for (i = 0; i < 10; i++)
		ok(GNI_SmsgSend(c.s.ep, &i, 4, NULL, 0, i));
	assert_int_equal(GNI_CqGetEvent(c.s.cq, &e), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_EpUnbind(c.s.ep), GNI_RC_NOT_DONE);
	for (i = 0; i < 64; i++)
		assert_int_equal(GNI_CqGetEvent(c.s.cq, &e),
				 i < 62 ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS);
	ok(GNI_EpIdle(c.s.ep));
	for (i = 0; i < 10; i++)
		expect_message(&c, &i, 4);
	warm_channel(&c);
	scene_end(&c);
}

/* Whatever happens to the window, messages go by the driver until there is another. */
static void test_message_driver(void **unused)
{
	gni_cq_entry_t e;
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	channel(&c, 4, 8);
	warm_channel(&c);
	state_page.flags = KGNI_DRIVER_ONLY;
	for (i = 0; i < 10; i++)
		assert_true(message(&c, i) >= 1);
	state_page.flags = 0;
	warm_channel(&c);
	for (i = 0; i < 10; i++) {
		memset((void *)state_page.live, 0, sizeof(state_page.live));
		assert_true(message(&c, i) >= 1);
		warm_channel(&c);
	}
	/* It ends before credits go that way. */
	for (i = 0; i < 10; i++) {
		ok(GNI_SmsgSend(c.s.ep, &i, sizeof(i), NULL, 0, i));
		memset((void *)state_page.live, 0, sizeof(state_page.live));
		expect_message(&c, &i, sizeof(i));
		ok(GNI_CqGetEvent(c.s.cq, &e));
	}
	warm_channel(&c);
	ok(GNI_CdmCheckpoint(c.s.cdm));
	assert_int_equal(GNI_SmsgSend(c.s.ep, &i, 4, NULL, 0, i), GNI_RC_INVALID_PARAM);
	scene_end(&c);
}

/* A mailbox that no window has as a whole. */
static void test_message_small(void **unused)
{
	struct scene c;
	u32 i;

	(void)unused;
	scene(&c);
	drv.small = 256;
	channel(&c, 16, 50);
	for (i = 0; i < 100; i++)
		message(&c, i);
	assert_true(drv.opens > 3);
	scene_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_post_opens),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_rdma),
		cmocka_unit_test(test_rdma_ended),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ended_meanwhile),
		cmocka_unit_test(test_ended_before_amo),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_post_before_sleep),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_left_to_the_driver),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_checkpoint),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_message_sizes),
		cmocka_unit_test(test_message_events),
		cmocka_unit_test(test_message_orphans),
		cmocka_unit_test(test_message_events_lost),
		cmocka_unit_test(test_message_driver),
		cmocka_unit_test(test_message_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
