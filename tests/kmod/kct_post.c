// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts of all kinds, between all kinds of memory, on one NIC and between two.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kct.h"

#define SIZE	(40 * PAGE_SIZE)

static gni_post_descriptor_t descr(gni_post_type_t type, const struct kct_mem *local, size_t from,
				   const struct kct_mem *remote, size_t to, size_t n)
{
	gni_post_descriptor_t d;

	/* What a type does not use is garbage. */
	memset(&d, 0xa5, sizeof(d));
	d.type = type;
	d.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	d.dlvr_mode = GNI_DLVMODE_PERFORMANCE;
	d.local_addr = local->addr + from;
	if (type != GNI_POST_FMA_PUT)
		d.local_mem_hndl = local->hndl;
	d.remote_addr = remote->addr + to;
	d.remote_mem_hndl = remote->hndl;
	d.length = n;
	if (type == GNI_POST_RDMA_PUT || type == GNI_POST_RDMA_GET) {
		d.rdma_mode = 0;
		d.src_cq_hndl = NULL;
	}
	return d;
}

static gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *d)
{
	if (d->type == GNI_POST_RDMA_PUT || d->type == GNI_POST_RDMA_GET)
		return gni_post_rdma(ep, d);
	return gni_post_fma(ep, d);
}

/* Move @n bytes both ways, and see that nothing else was touched. */
static void move(struct kct_client *c, gni_ep_handle_t ep, struct kct_mem *local,
		 struct kct_mem *remote, bool rdma, size_t from, size_t to, size_t n)
{
	gni_post_descriptor_t d;

	kct_mem_fill(local, 1);
	kct_mem_fill(remote, 2);
	d = descr(rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, local, from, remote, to, n);
	/* The source of an FMA put is memory as we see it. */
	if (!rdma)
		d.local_addr = (uintptr_t)local->at + from;
	if (!kct_ok(post(ep, &d)))
		return;
	kct_ok(kct_complete(&c->src, &d));
	kct_true(kct_mem_holds(remote, 0, to, 0, 2));
	kct_true(kct_mem_holds(remote, to, n, from, 1));
	kct_true(kct_mem_holds(remote, to + n, remote->size - to - n, to + n, 2));
	kct_mem_fill(remote, 3);
	to = round_down(to, 4);
	n = round_down(n, 4);
	d = descr(rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET, local, from, remote, to, n);
	if (!kct_ok(post(ep, &d)))
		return;
	kct_ok(kct_complete(&c->src, &d));
	kct_true(kct_mem_holds(local, 0, from, 0, 1));
	kct_true(kct_mem_holds(local, from, n, to, 3));
	kct_true(kct_mem_holds(local, from + n, local->size - from - n, from + n, 1));
}

static void move_kinds(struct kct_client *a, struct kct_client *b)
{
	gni_ep_handle_t ep = kct_ep(a, b);
	struct kct_mem local, remote;
	int i, j;

	for (i = 0; i < KCT_KINDS; i++) {
		if (!kct_mem_init(&local, a, i, SIZE, 0, NULL))
			return;
		for (j = 0; j < KCT_KINDS; j++) {
			if (!kct_mem_init(&remote, b, j, SIZE, 0, NULL))
				return;
			move(a, ep, &local, &remote, true, 0, 0, SIZE);
			move(a, ep, &local, &remote, true, 4093, 8191, 5);
			move(a, ep, &local, &remote, true, 3, 4097, 30 * PAGE_SIZE + 9);
			move(a, ep, &local, &remote, false, 5, 4093, 11);
			move(a, ep, &local, &remote, false, 1, 2, 20 * PAGE_SIZE + 4);
			kct_mem_exit(&remote);
		}
		kct_mem_exit(&local);
	}
	kct_ok(gni_ep_destroy(ep));
}

static void between(u32 device)
{
	struct kct_client a, b;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, device, 0))
		return;
	move_kinds(&a, &b);
	kct_client_exit(&a);
	kct_client_exit(&b);
}

static void between_clients(void)
{
	between(0);
}

static void between_nics(void)
{
	between(1);
}

/* The most segments that clients use: 4 MiB, written and read back in one post. */
static void many_segments(void)
{
	gni_post_descriptor_t d;
	struct kct_mem local, remote;
	struct kct_client c;
	gni_ep_handle_t ep;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	ep = kct_ep(&c, &c);
	if (kct_mem_init(&local, &c, KCT_VMALLOC, 1024 * PAGE_SIZE, 0, NULL) &&
	    kct_mem_init(&remote, &c, KCT_PAGES, 1024 * PAGE_SIZE, 0, NULL)) {
		kct_mem_fill(&local, 9);
		d = descr(GNI_POST_RDMA_PUT, &local, 0, &remote, 0, local.size);
		kct_ok(gni_post_rdma(ep, &d));
		kct_ok(kct_complete(&c.src, &d));
		kct_true(kct_mem_holds(&remote, 0, remote.size, 0, 9));
		kct_mem_exit(&remote);
		kct_mem_exit(&local);
	}
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

/* No local registration, but a physical address. */
static void physical(void)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);
	gni_post_descriptor_t d;
	struct kct_mem remote;
	struct kct_client c;
	gni_ep_handle_t ep;
	u8 *at;

	if (!kct_true(page) || !kct_client_init(&c, 1, 0, 0))
		return;
	at = page_address(page);
	ep = kct_ep(&c, &c);
	if (kct_mem_init(&remote, &c, KCT_SLAB, 2 * PAGE_SIZE, 0, NULL)) {
		kct_mem_fill(&remote, 4);
		d = descr(GNI_POST_RDMA_GET, &remote, 0, &remote, 0, 2 * PAGE_SIZE - 8);
		memset(&d.local_mem_hndl, 0xa5, sizeof(d.local_mem_hndl));
		d.rdma_mode = GNI_RDMAMODE_PHYS_ADDR;
		d.local_addr = page_to_phys(page) + 8;
		kct_ok(gni_post_rdma(ep, &d));
		kct_ok(kct_complete(&c.src, &d));
		kct_true(!memcmp(at + 8, remote.at, 2 * PAGE_SIZE - 8));
		kct_eq(*(u64 *)at, 0);
		memset(at, 0x77, 2 * PAGE_SIZE);
		d.type = GNI_POST_RDMA_PUT;
		kct_ok(gni_post_rdma(ep, &d));
		kct_ok(kct_complete(&c.src, &d));
		kct_true(!memcmp(at + 8, remote.at, 2 * PAGE_SIZE - 8));
		d.local_addr = -PAGE_SIZE;
		kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
		kct_mem_exit(&remote);
	}
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
	__free_pages(page, 1);
}

static void atomics(void)
{
	gni_post_descriptor_t d;
	struct kct_mem local, remote;
	struct kct_client a, b;
	gni_ep_handle_t ep;
	u64 *l, *r;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 1, 0))
		return;
	ep = kct_ep(&a, &b);
	if (!kct_mem_init(&local, &a, KCT_SLAB, 64, 0, NULL) ||
	    !kct_mem_init(&remote, &b, KCT_VMALLOC, 64, 0, NULL))
		return;
	l = (u64 *)local.at;
	r = (u64 *)remote.at;
	r[0] = 40;
	d = descr(GNI_POST_AMO, &local, 0, &remote, 0, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_FADD;
	d.first_operand = 2;
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_complete(&a.src, &d));
	kct_eq(l[0], 40);
	kct_eq(r[0], 42);
	d.amo_cmd = GNI_FMA_ATOMIC_CSWAP;
	d.first_operand = 42;
	d.second_operand = 7;
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_complete(&a.src, &d));
	kct_eq(l[0], 42);
	kct_eq(r[0], 7);
	d.amo_cmd = GNI_FMA_ATOMIC_ADD;
	d.first_operand = 1;
	memset(&d.local_mem_hndl, 0xa5, sizeof(d.local_mem_hndl));
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_complete(&a.src, &d));
	kct_eq(r[0], 8);
	d.remote_addr++;
	kct_eq(gni_post_fma(ep, &d), GNI_RC_ALIGNMENT_ERROR);
	/* The old value, and a flag behind it. */
	d = descr(GNI_POST_AMO_W_FLAG, &local, 0, &remote, 0, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_FADD;
	d.first_operand = 1;
	d.sync_flag_value = 0x1234;
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_complete(&a.src, &d));
	kct_eq(l[0], 8);
	kct_eq((u32)l[1], 0x1234);
	d = descr(GNI_POST_FMA_GET_W_FLAG, &local, 16, &remote, 0, 8);
	d.sync_flag_value = 0x4321;
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_complete(&a.src, &d));
	kct_eq(l[2], 9);
	kct_eq((u32)l[3], 0x4321);
	kct_mem_exit(&remote);
	kct_mem_exit(&local);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
}

/* A put with a flag, one with an event for the target, and events alone. */
static void flags_and_events(void)
{
	gni_post_descriptor_t d;
	struct kct_mem local, remote;
	struct kct_client a, b;
	gni_cq_entry_t e = 0;
	gni_ep_handle_t ep;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 0, 0))
		return;
	ep = kct_ep(&a, &b);
	if (!kct_mem_init(&local, &a, KCT_SLAB, 256, 0, NULL) ||
	    !kct_mem_init(&remote, &b, KCT_SLAB, 256, 0, b.dst.cq))
		return;
	kct_mem_fill(&local, 1);
	d = descr(GNI_POST_FMA_PUT_W_SYNCFLAG, &local, 0, &remote, 0, 100);
	d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	d.sync_flag_addr = remote.addr + 128;
	d.sync_flag_value = 0x1122334455667788;
	/* Default values: its instance for the target, the peer's for the source. */
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_next_event(&b.dst, &e));
	kct_true(kct_mem_holds(&remote, 0, 100, 0, 1));
	kct_eq(*(u64 *)(remote.at + 128), 0x1122334455667788);
	kct_eq(GNI_CQ_GET_REM_INST_ID(e), a.inst);
	kct_true(GNI_CQ_STATUS_OK(e));
	kct_ok(kct_next_event(&a.src, &e));
	kct_eq(GNI_CQ_GET_INST_ID(e), b.inst);
	{
		gni_post_descriptor_t *done = NULL;

		kct_ok(gni_get_completed(a.src.cq, e, &done));
		kct_true(done == &d);
		/* Once. */
		kct_eq(gni_get_completed(a.src.cq, e, &done), GNI_RC_DESCRIPTOR_ERROR);
		kct_true(!done);
	}
	kct_ok(gni_ep_set_eventdata(ep, 0x123456, 0x89abcdef));
	d.sync_flag_addr++;
	kct_eq(gni_post_fma(ep, &d), GNI_RC_ALIGNMENT_ERROR);
	d = descr(GNI_POST_CQWRITE, &local, 0, &remote, 0, 0);
	d.cqwrite_value = 0xfedcba9876543210;
	d.src_cq_hndl = NULL;
	kct_ok(gni_post_fma(ep, &d));
	kct_ok(kct_next_event(&b.dst, &e));
	kct_eq(GNI_CQ_GET_DATA(e), 0xba9876543210);
	kct_ok(kct_complete(&a.src, &d));
	d = descr(GNI_POST_RDMA_PUT, &local, 0, &remote, 0, 8);
	d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	kct_ok(gni_post_rdma(ep, &d));
	kct_ok(kct_next_event(&b.dst, &e));
	kct_eq(GNI_CQ_GET_REM_INST_ID(e), 0x89abcdef);
	kct_eq(GNI_CQ_GET_INST_ID(e), 0xabcdef);
	kct_ok(kct_next_event(&a.src, &e));
	kct_eq(GNI_CQ_GET_INST_ID(e), 0x123456);
	kct_mem_exit(&remote);
	kct_mem_exit(&local);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
}

static void refusals(void)
{
	gni_post_descriptor_t d;
	struct kct_mem local, remote;
	struct kct_client c;
	gni_ep_handle_t ep;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	ep = kct_ep(&c, &c);
	if (!kct_mem_init(&local, &c, KCT_SLAB, 256, GNI_MEM_READ_ONLY, NULL) ||
	    !kct_mem_init(&remote, &c, KCT_SLAB, 256, 0, NULL))
		return;
	d = descr(GNI_POST_RDMA_PUT, &local, 0, &remote, 0, 8);
	kct_eq(gni_post_rdma(NULL, &d), GNI_RC_INVALID_PARAM);
	kct_eq(gni_post_rdma(ep, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_post_fma(ep, &d), GNI_RC_INVALID_PARAM);
	d.length = 0;
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
	d.length = 512;
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
	/* A get into what is read-only: a code that clients know. */
	d = descr(GNI_POST_RDMA_GET, &local, 0, &remote, 0, 8);
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
	d.local_mem_hndl = remote.hndl;
	d.local_addr = remote.addr + 128;
	d.remote_addr += 2;
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_ALIGNMENT_ERROR);
	d.remote_addr -= 2;
	d.length = 7;
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_ALIGNMENT_ERROR);
	d.length = 8;
	d.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
	/* The source of a put is no memory of the kernel. */
	d = descr(GNI_POST_FMA_PUT, &local, 0, &remote, 0, 8);
	d.local_addr = 4096;
	kct_eq(gni_post_fma(ep, &d), GNI_RC_INVALID_PARAM);
	d.type = 77;
	kct_eq(gni_post_fma(ep, &d), GNI_RC_INVALID_PARAM);
	/* All of a reduction is there but a tree. */
	d = (gni_post_descriptor_t){
		.type = GNI_POST_CE,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.ce_cmd = GNI_FMA_CE_AND,
		.local_addr = remote.addr,
		.local_mem_hndl = remote.hndl,
	};
	kct_eq(gni_post_fma(ep, &d), GNI_RC_INVALID_PARAM);
	kct_eq(gni_post_rdma(ep, &d), GNI_RC_INVALID_PARAM);
	/* None of it is counted. */
	kct_ok(gni_ep_unbind(ep));
	d = descr(GNI_POST_FMA_PUT, &remote, 0, &remote, 0, 8);
	kct_eq(gni_post_fma(ep, &d), GNI_RC_INVALID_PARAM);
	kct_mem_exit(&remote);
	kct_mem_exit(&local);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

/* An endpoint has as many posts as its queue has entries; then events must be taken. */
/* Take whatever is done next: posts to other places may overtake each other. */
static gni_return_t next_completed(struct kct_cq *q)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e = 0;
	gni_return_t rc = kct_next_event(q, &e);

	return rc == GNI_RC_SUCCESS ? gni_get_completed(q->cq, e, &d) : rc;
}

/* An RDMA post whose event goes to a queue that is not its endpoint's. */
static gni_return_t post_to(struct kct_cq *q, gni_ep_handle_t ep, const struct kct_mem *m,
			    gni_post_descriptor_t *d)
{
	*d = descr(GNI_POST_RDMA_PUT, m, 0, m, 64, 8);
	d->src_cq_hndl = q->cq;
	return gni_post_rdma(ep, d);
}

/* Each queue has room for its own posts, however many another has. */
static void limits_of_queues(void)
{
	gni_post_descriptor_t many[5], few[2], more;
	struct kct_cq large, small;
	struct kct_client c;
	struct kct_mem m;
	gni_ep_handle_t ep;
	int i;

	if (!kct_client_init(&c, 1, 0, 0) || !kct_mem_init(&m, &c, KCT_SLAB, 256, 0, NULL) ||
	    !kct_cq_init(&c, &large, 8, 0) || !kct_cq_init(&c, &small, 2, 0))
		return;
	ep = kct_ep(&c, &c);
	for (i = 0; i < ARRAY_SIZE(many); i++)
		kct_ok(post_to(&large, ep, &m, &many[i]));
	for (i = 0; i < ARRAY_SIZE(few); i++)
		kct_ok(post_to(&small, ep, &m, &few[i]));
	kct_eq(post_to(&small, ep, &m, &more), GNI_RC_ERROR_RESOURCE);
	kct_ok(post_to(&large, ep, &m, &more));
	for (i = 0; i < ARRAY_SIZE(many); i++)
		kct_ok(next_completed(&large));
	kct_ok(next_completed(&large));
	kct_eq(gni_ep_unbind(ep), GNI_RC_NOT_DONE);
	for (i = 0; i < ARRAY_SIZE(few); i++)
		kct_ok(next_completed(&small));
	kct_ok(gni_ep_unbind(ep));
	kct_cq_exit(&small);
	kct_cq_exit(&large);
	kct_mem_exit(&m);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

static void limits(void)
{
	static gni_post_descriptor_t d[KCT_ENTRIES + 1];
	struct kct_client c;
	struct kct_mem m;
	gni_ep_handle_t ep;
	int i;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	ep = kct_ep(&c, &c);
	if (!kct_mem_init(&m, &c, KCT_SLAB, 256, 0, NULL))
		return;
	for (i = 0; i <= KCT_ENTRIES; i++)
		d[i] = descr(GNI_POST_FMA_PUT, &m, 0, &m, 64, 8);
	for (i = 0; i < KCT_ENTRIES; i++)
		kct_ok(gni_post_fma(ep, &d[i]));
	kct_eq(gni_post_fma(ep, &d[i]), GNI_RC_ERROR_RESOURCE);
	kct_eq(gni_ep_unbind(ep), GNI_RC_NOT_DONE);
	kct_ok(kct_complete(&c.src, &d[0]));
	kct_ok(gni_post_fma(ep, &d[i]));
	for (i = 1; i <= KCT_ENTRIES; i++)
		kct_ok(kct_complete(&c.src, &d[i]));
	kct_ok(gni_ep_unbind(ep));
	kct_mem_exit(&m);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

/* LOCAL, then GLOBAL; and a queue of the post's own. */
static void dual_events(void)
{
	gni_post_descriptor_t d, *done = NULL;
	struct kct_client c;
	gni_cq_entry_t e = 0;
	gni_ep_handle_t ep;
	struct kct_mem m;
	int i;

	if (!kct_client_init(&c, 1, 0, GNI_CDM_MODE_DUAL_EVENTS))
		return;
	ep = kct_ep(&c, &c);
	if (!kct_mem_init(&m, &c, KCT_SLAB, 256, 0, NULL))
		return;
	d = descr(GNI_POST_RDMA_PUT, &m, 0, &m, 64, 8);
	d.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	d.src_cq_hndl = c.dst.cq;
	kct_ok(gni_post_rdma(ep, &d));
	for (i = 0; i < 2; i++) {
		kct_ok(kct_next_event(&c.dst, &e));
		kct_ok(gni_get_completed(c.dst.cq, e, &done));
		kct_true(done == &d);
		kct_eq(d.cq_mode_complete, i ? GNI_CQMODE_GLOBAL_EVENT : GNI_CQMODE_LOCAL_EVENT);
	}
	kct_eq(gni_cq_get_event(c.src.cq, &e), GNI_RC_NOT_DONE);
	kct_ok(gni_ep_unbind(ep));
	kct_mem_exit(&m);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
}

/* --- contexts --------------------------------------------------------------------------- */

struct in_context {
	struct kct_client a;
	struct kct_client b;
	gni_ep_handle_t ep;
	struct kct_mem local;
	struct kct_mem remote;
	gni_post_descriptor_t rdma[2];
};

/* An FMA post is done when the call returns, so look, and do not wait. */
static void take(struct kct_cq *q, gni_post_descriptor_t *want)
{
	gni_post_descriptor_t *done = NULL;
	gni_cq_entry_t e = 0;

	kct_ok(gni_cq_get_event(q->cq, &e));
	kct_ok(gni_get_completed(q->cq, e, &done));
	kct_true(done == want);
}

static void post_here(void *arg)
{
	struct in_context *c = arg;
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;

	kct_mem_fill(&c->local, 1);
	kct_mem_fill(&c->remote, 2);
	kct_ok(gni_ep_set_eventdata(c->ep, 1, 2));
	d = descr(GNI_POST_FMA_PUT, &c->local, 0, &c->remote, 0, 300);
	d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	kct_ok(gni_post_fma(c->ep, &d));
	take(&c->a.src, &d);
	kct_ok(gni_cq_get_event(c->b.dst.cq, &e));
	kct_true(kct_mem_holds(&c->remote, 0, 300, 0, 1));
	d = descr(GNI_POST_FMA_GET, &c->local, 512, &c->remote, 512, 512);
	kct_ok(gni_post_fma(c->ep, &d));
	take(&c->a.src, &d);
	kct_true(kct_mem_holds(&c->local, 512, 512, 512, 2));
	/* A worker may move these; that is waited for elsewhere. */
	c->rdma[0] = descr(GNI_POST_RDMA_PUT, &c->local, 0, &c->remote, 1024, 256);
	kct_ok(gni_post_rdma(c->ep, &c->rdma[0]));
	c->rdma[1] = descr(GNI_POST_RDMA_GET, &c->local, 0, &c->remote, 0, c->local.size);
	c->rdma[1].rdma_mode = GNI_RDMAMODE_FENCE;
	kct_ok(gni_post_rdma(c->ep, &c->rdma[1]));
}

static void contexts(void)
{
	struct in_context *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int where;

	if (!kct_true(c) || !kct_client_init(&c->a, 1, 0, 0) || !kct_client_init(&c->b, 2, 1, 0))
		return;
	c->ep = kct_ep(&c->a, &c->b);
	for (where = 0; where < KCT_CONTEXTS; where++) {
		if (!kct_mem_init(&c->local, &c->a, KCT_SLAB, 3 * PAGE_SIZE, 0, NULL) ||
		    !kct_mem_init(&c->remote, &c->b, KCT_SLAB, 3 * PAGE_SIZE, 0, c->b.dst.cq))
			break;
		kct_run_in(where, post_here, c);
		kct_ok(kct_complete(&c->a.src, &c->rdma[0]));
		kct_ok(kct_complete(&c->a.src, &c->rdma[1]));
		kct_true(kct_mem_holds(&c->remote, 1024, 256, 0, 1));
		kct_true(!memcmp(c->local.at, c->remote.at, c->local.size));
		kct_mem_exit(&c->remote);
		kct_mem_exit(&c->local);
	}
	kct_ok(gni_ep_destroy(c->ep));
	kct_client_exit(&c->a);
	kct_client_exit(&c->b);
	kfree(c);
}

/*
 * Memory waits for a client that writes pages out, so what it calls may not wait for
 * memory. Lockdep tells of an allocation that could, for it takes fs_reclaim.
 */
static void register_and_post(struct kct_client *c, struct kct_mem *local,
			      struct kct_mem *remote)
{
	gni_post_descriptor_t d;
	gni_mem_handle_t hndl;
	gni_ep_handle_t ep;

	fs_reclaim_acquire(GFP_KERNEL);
	ep = kct_ep(c, c);
	if (kct_ok(gni_mem_register(c->nic, local->addr, local->size, NULL, 0, &hndl))) {
		d = descr(GNI_POST_FMA_PUT, local, 0, remote, 0, 300);
		kct_ok(gni_post_fma(ep, &d));
		take(&c->src, &d);
		d = descr(GNI_POST_RDMA_PUT, local, 0, remote, 0, local->size);
		d.local_mem_hndl = hndl;
		kct_ok(gni_post_rdma(ep, &d));
	}
	fs_reclaim_release(GFP_KERNEL);
	kct_ok(kct_complete(&c->src, &d));
	kct_true(!memcmp(remote->at, local->at, local->size));
	fs_reclaim_acquire(GFP_KERNEL);
	kct_ok(gni_mem_deregister(c->nic, &hndl, 1));
	kct_ok(gni_ep_destroy(ep));
	fs_reclaim_release(GFP_KERNEL);
}

static void in_reclaim(void)
{
	struct kct_mem local, remote;
	unsigned int flags;
	struct kct_client c;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	if (kct_mem_init(&local, &c, KCT_VMALLOC, SIZE, 0, NULL) &&
	    kct_mem_init(&remote, &c, KCT_PAGES, SIZE, 0, NULL)) {
		kct_mem_fill(&local, 5);
		register_and_post(&c, &local, &remote);
		/* As a client's thread that sends does. */
		flags = memalloc_noreclaim_save();
		kct_mem_fill(&local, 6);
		register_and_post(&c, &local, &remote);
		memalloc_noreclaim_restore(flags);
		kct_mem_exit(&remote);
		kct_mem_exit(&local);
	}
	kct_client_exit(&c);
}

const struct kct_test kct_post_tests[] = {
	{ "data moves between all kinds of memory", between_clients },
	{ "and between two NICs", between_nics },
	{ "1024 segments make 4 MiB", many_segments },
	{ "local addresses may be physical", physical },
	{ "AMOs and flagged responses", atomics },
	{ "flags and target events", flags_and_events },
	{ "posts refuse what cannot be, by codes that clients know", refusals },
	{ "posts are counted until their events are taken", limits },
	{ "queues that are not the endpoint's have limits of their own", limits_of_queues },
	{ "two events for one post", dual_events },
	{ "posts and polls in all contexts", contexts },
	{ "registrations and posts while memory waits for their client", in_reclaim },
	{ }
};
