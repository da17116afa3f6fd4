// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fuzzer's ioctls: arguments that are nearly right, and what is done with
 * the answers.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "common_fuzz.h"

static const struct {
	unsigned long cmd;
	unsigned int weight;
} calls[] = {
	{ KGNI_IOC_POST, 60 }, { KGNI_IOC_MEM_REGISTER, 16 }, { KGNI_IOC_MEM_DEREGISTER, 12 },
	{ KGNI_IOC_CQ_CREATE, 10 }, { KGNI_IOC_CQ_DESTROY, 3 }, { KGNI_IOC_CQ_WAIT, 8 },
	{ KGNI_IOC_DGRAM_POST, 10 }, { KGNI_IOC_DGRAM_TEST, 10 }, { KGNI_IOC_DGRAM_PROBE, 4 },
	{ KGNI_IOC_DGRAM_CANCEL, 4 }, { KGNI_IOC_ATTACH, 4 }, { KGNI_IOC_GET_PTAG, 2 },
	{ KGNI_IOC_RES_INFO, 2 }, { KGNI_IOC_INFO, 1 }, { KGNI_IOC_POST_CHAIN, 12 },
	{ KGNI_IOC_CQ_WAKE, 2 }, { KGNI_IOC_CQ_NOTIFY, 4 }, { KGNI_IOC_MDD_BLOCK, 3 },
	{ KGNI_IOC_MEM_NEXT, 3 }, { KGNI_IOC_ERR_SUBSCRIBE, 3 }, { KGNI_IOC_ERR_RELEASE, 2 },
	{ KGNI_IOC_ERR_WAIT, 6 }, { KGNI_IOC_ERR_SET, 3 }, { KGNI_IOC_JOB_CONFIGURE, 2 },
	{ KGNI_IOC_NTT_CONFIGURE, 1 }, { KGNI_IOC_JOB_SUSPEND, 2 },
	{ KGNI_IOC_CQ_OWED, 2 }, { KGNI_IOC_BI_SET, 2 }, { KGNI_IOC_BI_GET, 1 },
	{ KGNI_IOC_BI_WAIT, 1 }, { KGNI_IOC_CE_CREATE, 3 }, { KGNI_IOC_CE_DESTROY, 1 },
	{ KGNI_IOC_CE_CONFIGURE, 8 }, { KGNI_IOC_CE_POST, 40 },
	{ KGNI_IOC_WINDOW_OPEN, 12 }, { KGNI_IOC_WINDOW_CLOSE, 3 }, { KGNI_IOC_WINDOW_WAKE, 4 },
};

_Static_assert(ARRAY_SIZE(calls) <= CALLS, "CALLS");

union arg {
	uint64_t word[64];
	struct kgni_ioc_info info;
	struct kgni_ioc_attach attach;
	struct kgni_ioc_ptag ptag;
	struct kgni_ioc_res res;
	struct kgni_ioc_cq_create cq_create;
	struct kgni_ioc_cq_destroy cq_destroy;
	struct kgni_ioc_cq_wait cq_wait;
	struct kgni_ioc_cq_wake cq_wake;
	struct kgni_ioc_cq_notify cq_notify;
	struct kgni_ioc_cq_owed cq_owed;
	struct kgni_ioc_mdd_block mdd_block;
	struct kgni_ioc_mem_next mem_next;
	struct kgni_ioc_post_chain chain;
	struct kgni_ioc_mem_register mem_register;
	struct kgni_ioc_mem_deregister mem_deregister;
	struct kgni_ioc_post post;
	struct kgni_ioc_window_open window_open;
	struct kgni_ioc_window_close window_close;
	struct kgni_ioc_window_wake window_wake;
	struct kgni_ioc_dgram_post dgram_post;
	struct kgni_ioc_dgram_test dgram_test;
	struct kgni_ioc_dgram_probe dgram_probe;
	struct kgni_ioc_dgram_cancel dgram_cancel;
	struct kgni_ioc_err_subscribe err_subscribe;
	struct kgni_ioc_err_release err_release;
	struct kgni_ioc_err_wait err_wait;
	struct kgni_ioc_err_set err_set;
	struct kgni_ioc_job job;
	struct kgni_ioc_ntt ntt;
	struct kgni_ioc_suspend suspend;
	struct kgni_ioc_bi_set bi_set;
	struct kgni_ioc_bi_wait bi_wait;
	struct kgni_ioc_ce_create ce_create;
	struct kgni_ioc_ce_destroy ce_destroy;
	struct kgni_ioc_ce_configure ce_configure;
	struct kgni_ioc_ce_post ce_post;
};

/* --- files --------------------------------------------------------------------- */

/* PE addresses of the files of this process, by number, as far as they are known. */
static uint32_t file_pes[64];

static uint32_t file_pe(int fd)
{
	return fd >= 0 && fd < (int)ARRAY_SIZE(file_pes) ? file_pes[fd] : 0;
}

static void note_attach(int fd, const struct kgni_ioc_attach *a)
{
	if (fd >= 0 && fd < (int)ARRAY_SIZE(file_pes))
		file_pes[fd] = a->pe;
}

/* --- values -------------------------------------------------------------------- */

static uint64_t some_length(uint64_t max)
{
	switch (below(8)) {
	case 0:
		return one_in(8) ? odd_number() : max;
	case 1:
		return below(64) * PAGE;
	case 2:
		return below(1 << 20);
	case 3:
	case 4:
		return below(16) * 4;
	default:
		return below(3 * PAGE);
	}
}

static uint64_t some_address(void)
{
	const struct area *a = some_area();
	const struct ring *r = &rings[below(RINGS)];

	switch (below(16)) {
	case 0:
		return one_in(4) ? odd_number() : (uint64_t)some_place();
	case 1:
	case 2:
		return r->mem ? (uint64_t)r->mem + below(r->len) : (uint64_t)a->mem;
	case 3:
	case 4:
		return (uint64_t)a->mem;
	default:
		return (uint64_t)a->mem + below(a->len);
	}
}

/*
 * Most of them of one's own job, by whichever process, and, if @pe is not 0, on
 * this NIC; the others of any.
 */
static struct seen find_handle(uint32_t pe)
{
	unsigned int start = below(HANDLES), i;
	bool own = !one_in(4);
	struct seen s;

	for (i = 0; own && i < HANDLES; i++) {
		s = world->seen[(start + i) % HANDLES];
		if (s.cookie == self.cookie && (!pe || s.pe == pe))
			return s;
	}
	return world->seen[start];
}

/* One that exists or did, with a bit changed now and then; no bit of far away. */
static struct seen some_handle(uint32_t pe)
{
	struct seen s = find_handle(pe);

	if (one_in(24))
		s.mh.qword1 ^= 1ULL << below(14);
	if (one_in(24))
		s.mh.qword1 ^= 1ULL << (52 + below(12));
	if (one_in(24))
		s.mh.qword2 ^= 1ULL << below(64);
	if (one_in(32))
		s.addr += 16 * PAGE - below(32) * PAGE;
	return s;
}

/* --- arguments ----------------------------------------------------------------- */

void fill_attach(struct kgni_ioc_attach *p)
{
	p->inst_id = below(3);
	p->ptag = one_in(4) ? mostly(256) : GNI_FIND_ALLOC_PTAG;
	p->cookie = self.cookie;
	if (one_in(8))
		p->cookie = COOKIE + below(one_in(4) ? 100 : 4);
	p->modes = one_in(2) ? 0 : draw();
}

/* See kernel/core/amo.h: of the first generation, or of the second, wide or short. */
static uint32_t some_amo(void)
{
	uint32_t cmd = one_in(4) ? 0x100 : 0;

	switch (below(6)) {
	case 0:
		return mostly(0x400);
	case 1:
	case 2:
		return cmd | (8 + below(6)) | below(2) * 0x10;
	default:
		return cmd | 0x40 | below(2) * 0x20 | below(16) * 2 | (one_in(2) ? 1 : 0x200);
	}
}

static void fill_amo(struct kgni_ioc_post *p, uint64_t room)
{
	p->amo_cmd = some_amo();
	p->remote_addr &= ~7ULL;
	p->local_addr &= ~7ULL;
	if (!one_in(8))
		p->length = 8 * (1 + below(room > 64 ? 4 : 1));
	p->operand[0] = draw64();
	p->operand[1] = draw64();
}

/* @pe: of the file that it is posted by, so that the local handle may be right. */
void fill_post(struct kgni_ioc_post *p, uint32_t pe)
{
	struct seen to = some_handle(0), from = some_handle(pe);

	p->type = 1 + mostly(10);
	p->flags = below(2);
	p->cq_mode = one_in(2) ? 6 : mostly(8);
	p->rdma_mode = one_in(4) ? mostly(8) : 0;
	p->src_cq = one_in(2) ? 0 : below(4);
	p->src_event = draw64();
	p->remote_event = draw();
	p->remote_pe = one_in(16) ? mostly(5) : to.pe;
	p->local = from.mh;
	p->local_addr = one_in(4) ? some_address() : from.addr + below(64) * 8;
	p->remote = to.mh;
	p->remote_addr = to.addr + (one_in(2) ? below(1024) * 4 : 0);
	p->length = some_length(one_in(2) ? to.len : from.len);
	if (one_in(2)) {
		p->length &= ~3ULL;
		p->remote_addr &= ~3ULL;
	}
	p->dlvr_mode = one_in(8) ? mostly(64) : 0;
	p->sync_addr = (to.addr + below(to.len + 8)) & ~(one_in(16) ? 0 : 7ULL);
	p->sync_value = draw64();
	p->cqwrite_value = draw64();
	if (p->type == GNI_POST_AMO || p->type == GNI_POST_AMO_W_FLAG)
		fill_amo(p, to.len);
}

static void fill_window(struct kgni_ioc_window_open *p)
{
	struct seen to = some_handle(0);

	p->remote_pe = one_in(16) ? mostly(5) : to.pe;
	p->flags = one_in(8) ? mostly(4) : 0;
	p->remote = to.mh;
	p->addr = to.addr + (one_in(4) ? below(to.len + PAGE) : 0);
}

/* Several posts, often in the places of one. */
static void fill_chain(struct kgni_ioc_post_chain *p, uint32_t pe)
{
	static __thread struct kgni_ioc_post posts[6];
	unsigned int i;

	p->posts = one_in(32) ? odd_number() : (uint64_t)posts;
	p->count = one_in(16) ? mostly(2000) : 1 + below(ARRAY_SIZE(posts));
	for (i = 0; i < ARRAY_SIZE(posts); i++) {
		posts[i] = posts[0];
		if (!i || one_in(3)) {
			posts[i] = (struct kgni_ioc_post){ 0 };
			fill_post(&posts[i], pe);
			if (posts[i].type <= GNI_POST_RDMA_GET && !one_in(8))
				posts[i].type = GNI_POST_FMA_PUT;
		}
		if (i && !one_in(8))
			posts[i].src_cq = 0;
	}
}

/* Mostly whole pages but at both ends. */
static void fill_segments(struct kgni_ioc_mem_register *p)
{
	static __thread struct kgni_segment segments[8];
	const struct area *a;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(segments); i++) {
		a = some_area();
		segments[i].addr = (uint64_t)a->mem + below(a->len / PAGE) * PAGE;
		segments[i].length = one_in(8) ? some_length(a->len) : (1 + below(4)) * PAGE;
		if (one_in(8))
			segments[i].addr += below(PAGE);
	}
	p->addr = one_in(32) ? odd_number() : (uint64_t)segments;
	p->segments = one_in(16) ? mostly(70000) : 1 + below(ARRAY_SIZE(segments));
}

/* A registration of this process, with @flag if there is one. */
static struct own_mem some_own(uint32_t flag)
{
	unsigned int start = below(OWN), i;

	for (i = 0; i < OWN; i++)
		if (own_mem[(start + i) % OWN].flags & flag)
			return own_mem[(start + i) % OWN];
	return own_mem[start];
}

/* A part of a registration that is there, by its own file. */
static void fill_part(struct kgni_ioc_mem_register *p, const struct own_mem *m, int *fd)
{
	uint32_t pages = (uint32_t)(m->len / PAGE);

	p->handle = m->mh;
	*fd = m->fd;
	p->segments = 0;
	p->addr = m->addr;
	p->length = m->len;
	if (pages > 1 && !one_in(4)) {
		p->addr += below(pages) * PAGE;
		p->length = one_in(8) ? some_length(m->len) : (1 + below(4)) * PAGE;
	}
}

static void fill_clone(struct kgni_ioc_mem_register *p, int *fd)
{
	struct own_mem m = some_own(~0U);

	fill_part(p, &m, fd);
	p->flags |= GNI_MEM_MDD_CLONE;
}

static void fill_update(struct kgni_ioc_mem_register *p, int *fd)
{
	struct own_mem m = some_own(GNI_MEM_RESERVE_REGION);

	fill_part(p, &m, fd);
	p->cq = one_in(8) ? below(4) : 0;
	p->flags = GNI_MEM_UPDATE_REGION | (m.flags & GNI_MEM_READ_ONLY);
}

/* Clones and updates name a registration that is there; reserved ones begin empty. */
static void fill_kind(struct kgni_ioc_mem_register *p, int *fd)
{
	switch (below(6)) {
	case 0:
		fill_clone(p, fd);
		break;
	case 1:
		p->flags |= GNI_MEM_RESERVE_REGION;
		break;
	case 2:
	case 3:
		fill_update(p, fd);
		break;
	case 4:
		p->flags |= GNI_MEM_PHYS_SEGMENTS;
		break;
	}
	if (one_in(3)) {
		p->flags |= GNI_MEM_USE_VMDH;
		p->vmdh_index = one_in(2) ? mostly(4) : ~0U;
	}
}

static void fill_register(struct kgni_ioc_mem_register *p, int *fd)
{
	static const uint32_t flags[] = {
		GNI_MEM_READWRITE, GNI_MEM_READ_ONLY, GNI_MEM_READ_ONLY | GNI_MEM_PI_FLUSH,
		GNI_MEM_RELAXED_PI_ORDERING, GNI_MEM_MDD_SHARED, GNI_MEM_MDD_DEDICATED,
	};
	const struct ring *r = &rings[below(RINGS)];
	const struct area *a = some_area();

	p->flags = one_in(24) ? odd_number() : flags[below(ARRAY_SIZE(flags))];
	p->cq = one_in(2) ? 0 : below(4);
	p->vmdh_index = ~0U;
	if (one_in(8) && r->mem) {
		p->addr = (uint64_t)r->mem;
		p->length = r->len;
	} else if (one_in(2)) {
		p->addr = (uint64_t)a->mem;
		p->length = a->len;
	} else {
		p->addr = some_address();
		p->length = some_length(a->len);
	}
	if (one_in(8))
		fill_segments(p);
	if (one_in(3))
		fill_kind(p, fd);
}

static void fill_deregister(struct kgni_ioc_mem_deregister *p, int *fd)
{
	const struct own_mem *m = &own_mem[below(OWN)];

	p->handle = some_handle(0).mh;
	if (one_in(2)) {
		p->handle = m->mh;
		*fd = m->fd;
	}
}

/* Endpoints with odd numbers have datagrams with an id, mostly. */
static void some_dgram(__u32 *ep, __u64 *id, __u32 *flags)
{
	*ep = mostly(6);
	*id = *ep;
	*flags = *ep & 1 ? KGNI_DGRAM_WITH_ID : 0;
	if (one_in(8))
		*id = mostly(6);
	if (one_in(8))
		*flags = mostly(8);
}

static void fill_dgram_post(struct kgni_ioc_dgram_post *p)
{
	some_dgram(&p->ep, &p->id, &p->flags);
	p->flags |= below(2) * KGNI_DGRAM_BOUND;
	p->remote_pe = 1 + mostly(world->devices);
	p->remote_id = mostly(3);
	p->length = one_in(8) ? mostly(200) : below(129);
	p->buf_size = one_in(8) ? mostly(200) : 128;
	p->data[0] = draw();
}

static void fill_wait(struct kgni_ioc_cq_wait *p)
{
	static __thread struct kgni_cq_ref refs[8];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refs); i++)
		refs[i] = (struct kgni_cq_ref){ some_file_or_not(), 1 + below(3) };
	p->cqs = one_in(16) ? odd_number() : (uint64_t)refs;
	p->count = one_in(2) ? 1 : mostly(ARRAY_SIZE(refs));
}

static void fill_err(union arg *arg, unsigned long cmd)
{
	switch (cmd) {
	case KGNI_IOC_ERR_SUBSCRIBE:
		arg->err_subscribe.mask = one_in(4) ? mostly(300) : 0xff;
		arg->err_subscribe.events = mostly(8);
		break;
	case KGNI_IOC_ERR_RELEASE:
		arg->err_release.id = mostly(6);
		arg->err_release.flags = mostly(2);
		break;
	case KGNI_IOC_ERR_WAIT:
		arg->err_wait.events = one_in(8) ? some_address() : (uint64_t)some_place();
		arg->err_wait.count = one_in(8) ? some_address() : (uint64_t)some_place();
		arg->err_wait.id = mostly(6);
		arg->err_wait.max = mostly(4);
		break;
	case KGNI_IOC_ERR_SET:
		arg->err_set.id = mostly(6);
		arg->err_set.what = mostly(3);
		arg->err_set.value = mostly(8);
		break;
	}
}

/* Trees so small that some get their reductions done. */
static void fill_edge(struct kgni_ce_edge *e, uint32_t child, bool leaf)
{
	e->type = leaf ? GNI_CE_CHILD_PE : GNI_CE_CHILD_VCE;
	if (one_in(16))
		e->type = mostly(3);
	e->pe = 1 + mostly(world->devices);
	e->id = leaf ? 1 + below(2) : mostly(4);
	e->child = one_in(16) ? mostly(40) : child;
}

static void fill_ce_configure(struct kgni_ioc_ce_configure *p)
{
	static __thread struct kgni_ce_edge edges[4];
	unsigned int i;

	p->children = one_in(32) ? odd_number() : (uint64_t)edges;
	p->count = one_in(16) ? mostly(40) : 1 + below(2);
	p->id = mostly(3);
	p->cq = one_in(2) ? 0 : below(4);
	p->modes = one_in(8) ? draw() : 1U << below(7);
	for (i = 0; i < ARRAY_SIZE(edges); i++)
		fill_edge(&edges[i], i, !one_in(3));
	if (one_in(3))
		fill_edge(&p->parent, below(2), false);
}

static void fill_ce_post(struct kgni_ioc_ce_post *p, uint32_t pe)
{
	struct seen to = some_handle(pe);

	p->cmd = one_in(8) ? mostly(0x40) : GNI_FMA_CE_FPADD;
	p->mode = one_in(4) ? mostly(32) : 0;
	p->cq_mode = one_in(2) ? GNI_CQMODE_GLOBAL_EVENT : mostly(8);
	p->src_cq = one_in(2) ? 0 : below(4);
	p->remote_pe = 1 + mostly(world->devices);
	p->src_event = draw64();
	p->result = to.addr + below(64) * 8;
	p->local = to.mh;
	p->red_id = one_in(32) ? draw64() : below(3);
	p->operand[0] = draw64();
	p->operand[1] = draw64();
	p->ce = mostly(3);
	p->child = mostly(3);
}

static void fill_other(union arg *arg, unsigned long cmd)
{
	unsigned int i;

	switch (cmd) {
	case KGNI_IOC_GET_PTAG:
		arg->ptag.cookie = one_in(2) ? self.cookie : COOKIE + below(100);
		break;
	case KGNI_IOC_DGRAM_PROBE:
		arg->dgram_probe.flags = mostly(2) * KGNI_DGRAM_WITH_ID;
		break;
	case KGNI_IOC_CQ_WAKE:
		arg->cq_wake.id = mostly(4);
		break;
	case KGNI_IOC_WINDOW_OPEN:
		fill_window(&arg->window_open);
		break;
	case KGNI_IOC_WINDOW_CLOSE:
		arg->window_close.index = mostly(8);
		break;
	case KGNI_IOC_WINDOW_WAKE:
		arg->window_wake.index = mostly(8);
		arg->window_wake.status = one_in(4) ? mostly(12) : 0;
		arg->window_wake.type = 1 + mostly(10);
		break;
	case KGNI_IOC_CQ_OWED:
		arg->cq_owed.id = mostly(4);
		break;
	case KGNI_IOC_CQ_NOTIFY:
		arg->cq_notify.id = mostly(4);
		arg->cq_notify.fd = one_in(4) ? some_file_or_not() : world->eventfd;
		break;
	case KGNI_IOC_CE_CREATE:
		break;
	case KGNI_IOC_CE_DESTROY:
		arg->ce_destroy.id = mostly(4);
		break;
	case KGNI_IOC_CE_CONFIGURE:
		fill_ce_configure(&arg->ce_configure);
		break;
	case KGNI_IOC_MDD_BLOCK:
		arg->mdd_block.entries = one_in(4) ? mostly(5000) : 4;
		break;
	case KGNI_IOC_RES_INFO:
		arg->res.scope = mostly(2);
		arg->res.type = mostly(10);
		arg->res.ptag = mostly(16);
		break;
	case KGNI_IOC_ERR_SUBSCRIBE:
	case KGNI_IOC_ERR_RELEASE:
	case KGNI_IOC_ERR_WAIT:
	case KGNI_IOC_ERR_SET:
		fill_err(arg, cmd);
		break;
	default:
		for (i = 0; i < ARRAY_SIZE(arg->word); i++)
			arg->word[i] = one_in(3) ? 0 : mostly(8);
	}
}

static void fill_arg(unsigned long cmd, union arg *arg, int *fd)
{
	switch (cmd) {
	case KGNI_IOC_ATTACH:
		fill_attach(&arg->attach);
		break;
	case KGNI_IOC_POST:
		fill_post(&arg->post, file_pe(*fd));
		break;
	case KGNI_IOC_POST_CHAIN:
		fill_chain(&arg->chain, file_pe(*fd));
		break;
	case KGNI_IOC_MEM_REGISTER:
		fill_register(&arg->mem_register, fd);
		break;
	case KGNI_IOC_CE_POST:
		fill_ce_post(&arg->ce_post, file_pe(*fd));
		break;
	case KGNI_IOC_MEM_NEXT:
		if (!one_in(4))
			arg->mem_next.handle = own_mem[below(OWN)].mh;
		break;
	case KGNI_IOC_MEM_DEREGISTER:
		fill_deregister(&arg->mem_deregister, fd);
		break;
	case KGNI_IOC_DGRAM_POST:
		fill_dgram_post(&arg->dgram_post);
		break;
	case KGNI_IOC_DGRAM_TEST:
		some_dgram(&arg->dgram_test.ep, &arg->dgram_test.id, &arg->dgram_test.flags);
		break;
	case KGNI_IOC_DGRAM_CANCEL:
		some_dgram(&arg->dgram_cancel.ep, &arg->dgram_cancel.id,
			   &arg->dgram_cancel.flags);
		arg->dgram_cancel.flags |= below(2) * KGNI_DGRAM_EP_GONE;
		break;
	case KGNI_IOC_CQ_CREATE:
		arg->cq_create.entries = one_in(64) ? odd_number() : 1 + below(600);
		arg->cq_create.delay = mostly(8);
		arg->cq_create.mode = one_in(16) ? mostly(32) : below(2) * GNI_CQ_BLOCKING;
		break;
	case KGNI_IOC_CQ_DESTROY:
		arg->cq_destroy.id = mostly(5);
		break;
	case KGNI_IOC_CQ_WAIT:
		fill_wait(&arg->cq_wait);
		break;
	default:
		fill_other(arg, cmd);
	}
}

/* Nothing sleeps for long, and nobody is ended for the first mistake. */
static void hurry(unsigned long cmd, union arg *arg)
{
	uint64_t ms = one_in(4) ? below(4) : 0;

	switch (cmd) {
	case KGNI_IOC_ATTACH:
		arg->attach.modes &= ~GNI_CDM_MODE_ERR_ALL_KILL;
		break;
	case KGNI_IOC_JOB_CONFIGURE:
		/* What root configures would stay after the round. */
		if (!self.uid)
			arg->job.ptag = 0;
		break;
	case KGNI_IOC_NTT_CONFIGURE:
		if (!self.uid)
			arg->ntt.count = 0;
		break;
	case KGNI_IOC_JOB_SUSPEND:
		/* A job that stands still may be that which must notice nothing. */
		arg->suspend.timeout_ms = ms;
		if (!self.uid)
			arg->suspend.ptag = 0;
		break;
	case KGNI_IOC_BI_SET:
		/* A tenth of the rate is too little for those who must notice nothing. */
		if (!self.uid) {
			arg->bi_set.bw = 50 + below(60);
			arg->bi_set.aot_bw = 50 + below(60);
			arg->bi_set.modes &= ~GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
		}
		break;
	case KGNI_IOC_BI_WAIT:
		arg->bi_wait.timeout_ms = ms;
		break;
	case KGNI_IOC_CQ_WAIT:
		arg->cq_wait.timeout_ms = ms;
		break;
	case KGNI_IOC_DGRAM_TEST:
		arg->dgram_test.timeout_ms = ms;
		break;
	case KGNI_IOC_DGRAM_PROBE:
		arg->dgram_probe.timeout_ms = ms;
		break;
	case KGNI_IOC_ERR_WAIT:
		arg->err_wait.timeout_ms = ms;
		arg->err_wait.more_ms = ms;
		break;
	}
}

/* --- faults -------------------------------------------------------------------- */

/* Where a thread says which of its next allocations and user copies shall fail. */
static __thread int fail_nth = -1;

void fault_begin(void)
{
	if (world->faults)
		fail_nth = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

static void fault_at(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	/* The write that takes a fault back may itself be what fails: as good. */
	if (fail_nth >= 0 && pwrite(fail_nth, text, len, 0) != len)
		errno = 0;
}

/* --- calls --------------------------------------------------------------------- */

static bool known_errno(int error)
{
	switch (error) {
	case EFAULT: case EINVAL: case EINTR: case ENOMEM: case ENOTTY: case EBADF: case EACCES:
	case EPERM: case EBUSY:
		return true;
	}
	return false;
}

static void note_answer(unsigned int call, int rc, int error)
{
	ok(rc == -1 ? known_errno(error) : rc >= 0 && rc <= LAST_CODE, "ioctl %#lx: %d, errno %d",
	   calls[call].cmd, rc, error);
	if (rc >= -1 && rc <= LAST_CODE)
		atomic_fetch_add(&world->codes[call][rc + 1], 1);
}

static void note_register(int fd, const struct kgni_ioc_mem_register *r)
{
	struct kgni_ioc_info info;

	if (ioctl(fd, KGNI_IOC_INFO, &info))
		return;
	world->seen[below(HANDLES)] = (struct seen){
		.mh = r->handle, .addr = r->addr, .len = r->length, .pe = info.pe,
		.cookie = self.cookie,
	};
	own_mem[below(OWN)] = (struct own_mem){ fd, r->flags, r->handle, r->addr, r->length };
}

static void note_cq(int fd, const struct kgni_ioc_cq_create *c)
{
	own_cq[below(OWN)] = (struct own_cq){ fd, c->mmap_offset, c->mmap_length };
}

/* To be mapped as if it were a ring. */
static void note_window(int fd, const struct kgni_ioc_window_open *w)
{
	own_cq[below(OWN)] = one_in(3) ?
		(struct own_cq){ fd, w->ring_offset, w->ring_length } :
		(struct own_cq){ fd, w->data_offset, w->length };
}

static int call_index(unsigned long cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd == cmd)
			return i;
	return -1;
}

static int make_call(int fd, unsigned long cmd, union arg *arg, void *where)
{
	int rc;

	errno = 0;
	rc = ioctl(fd, cmd, where);
	note_answer(call_index(cmd), rc, errno);
	if (rc != GNI_RC_SUCCESS || where != arg)
		return rc;
	if (cmd == KGNI_IOC_ATTACH)
		note_attach(fd, &arg->attach);
	if (cmd == KGNI_IOC_MEM_REGISTER)
		note_register(fd, &arg->mem_register);
	if (cmd == KGNI_IOC_CQ_CREATE)
		note_cq(fd, &arg->cq_create);
	if (cmd == KGNI_IOC_WINDOW_OPEN && rc == GNI_RC_SUCCESS)
		note_window(fd, &arg->window_open);
	return rc;
}

static unsigned long some_call(void)
{
	unsigned int i, total = 0, pick;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		total += calls[i].weight;
	pick = below(total);
	for (i = 0; pick >= calls[i].weight; i++)
		pick -= calls[i].weight;
	return calls[i].cmd;
}

void do_call(void)
{
	unsigned long cmd = some_call();
	int fd = some_file();
	union arg arg = { 0 };
	void *where = &arg;
	bool fault = one_in(4);
	unsigned int i;

	fill_arg(cmd, &arg, &fd);
	for (i = 0; one_in(16) && i < 3; i++)
		arg.word[below(_IOC_SIZE(cmd) / 8)] = odd_number();
	hurry(cmd, &arg);
	if (one_in(200))
		where = one_in(2) ? (void *)odd_number() : (void *)some_address();
	if (fault)
		fault_at(1 + below(12));
	make_call(fd, cmd, &arg, where);
	if (fault)
		fault_at(0);
}

/* Numbers of no call: nothing but an error. */
void do_wrong_call(void)
{
	static char buf[1 << 14];
	unsigned int cmd = one_in(2) ? draw() : KGNI_IOC_POST ^ 1U << below(32);

	/* Any file has those of other types. */
	if (call_index(cmd) >= 0 || _IOC_TYPE(cmd) != KGNI_IOC_MAGIC)
		return;
	ok(ioctl(some_file(), cmd, buf) == -1, "ioctl %#x", cmd);
	atomic_fetch_add(&world->others, 1);
}

/* --- to begin with ------------------------------------------------------------- */

static void setup_device(unsigned int device)
{
	char path[32];
	union arg arg = { .attach = { .inst_id = 1 + below(2), .ptag = GNI_FIND_ALLOC_PTAG,
				      .cookie = self.cookie } };
	int fd, any;
	unsigned int i;

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (one_in(4))
		arg.attach.modes = GNI_CDM_MODE_DUAL_EVENTS | GNI_CDM_MODE_BTE_SINGLE_CHANNEL;
	make_call(fd, KGNI_IOC_ATTACH, &arg, &arg);
	arg = (union arg){ .cq_create = { 1 + below(200), below(3), GNI_CQ_BLOCKING } };
	make_call(fd, KGNI_IOC_CQ_CREATE, &arg, &arg);
	for (i = 0; i < 2; i++) {
		arg = (union arg){ 0 };
		fill_register(&arg.mem_register, &any);
		arg.mem_register.cq = 1;
		make_call(fd, KGNI_IOC_MEM_REGISTER, &arg, &arg);
	}
	set_file(device % FILES, fd);
}

void call_setup(void)
{
	unsigned int i;

	for (i = 0; i < world->devices; i++)
		setup_device(i);
}

/* --- figures ------------------------------------------------------------------- */

uint64_t count_calls(void)
{
	uint64_t n = 0;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		for (j = 0; j < LAST_CODE + 2; j++)
			n += world->codes[i][j];
	return n;
}

void show_codes(void)
{
	char line[256];
	unsigned int i, n;
	int j;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		n = 0;
		for (j = 0; j < LAST_CODE + 2; j++)
			if (world->codes[i][j])
				n += snprintf(line + n, sizeof(line) - n, " %d:%llu", j - 1,
					      (unsigned long long)world->codes[i][j]);
		diag("call %#04lx:%.*s", _IOC_NR(calls[i].cmd), n, line);
	}
}
