// SPDX-License-Identifier: GPL-2.0-only
/* A scene for posts: see kgt_scene.h. */
#include <linux/mman.h>

#include "kgt_scene.h"

const struct kgt_kind kgt_kinds[KINDS] = {
	[RDMA_PUT] = { "RDMA put", KGNI_POST_RDMA_PUT },
	[RDMA_GET] = { "RDMA get", KGNI_POST_RDMA_GET },
	[PUT] = { "put", KGNI_POST_FMA_PUT },
	[PUT_FLAG] = { "put with flag", KGNI_POST_FMA_PUT_W_SYNCFLAG },
	[GET] = { "get", KGNI_POST_FMA_GET },
	[FETCH] = { "fetching AMO", KGNI_POST_AMO, GNI_FMA_ATOMIC_FXOR },
	[AMO] = { "AMO", KGNI_POST_AMO, GNI_FMA_ATOMIC_XOR },
	[CQW] = { "CQ write", KGNI_POST_CQWRITE },
	[GET_FLAG] = { "get with flag", KGNI_POST_FMA_GET_W_FLAG },
	[FETCH_FLAG] = { "AMO with flag", KGNI_POST_AMO_W_FLAG, GNI_FMA_ATOMIC_FXOR },
};

const enum kind kgt_each_kind[KINDS] = {
	RDMA_PUT, RDMA_GET, PUT, PUT_FLAG, GET, FETCH, AMO, CQW, GET_FLAG, FETCH_FLAG,
};

struct kgt_scene *kgt_scene(struct kunit *test, u32 how, u32 local_flags, u32 remote_flags)
{
	struct kgt_scene *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->test = test;
	s->f = kgt_attach(test, kgt_device(test, KGT_PE), 1, KGT_COOKIE,
			  how & DUAL ? GNI_CDM_MODE_DUAL_EVENTS : 0);
	s->peer = kgt_attach(test, kgt_device(test, KGT_PE + 1), 2,
			     KGT_COOKIE + !!(how & FOREIGN), 0);
	s->src = kgt_cq(test, s->f, 16, 0);
	s->dst = kgt_cq(test, s->peer, 16, 0);
	s->local = kgt_mem(test, s->f, PAGES, local_flags, NULL);
	s->remote = kgt_mem(test, s->peer, PAGES, remote_flags, how & NO_CQ ? NULL : s->dst);
	s->user = kgt_user(test, BYTES, PROT_READ | PROT_WRITE);
	kgt_fill(s->local, 1);
	kgt_fill(s->remote, 2);
	return s;
}

void kgt_compose(struct kgt_scene *s, enum kind k)
{
	bool from_user = k == PUT || k == PUT_FLAG;

	s->post = (struct kgni_ioc_post) {
		.type = kgt_kinds[k].type,
		.cq_mode = KGNI_CQMODE_GLOBAL | KGNI_CQMODE_REMOTE,
		.src_cq = s->src->id,
		.src_event = SRC_EVENT,
		.remote_event = REMOTE_EVENT,
		.remote_pe = KGT_PE + 1,
		.local_addr = from_user ? s->user : s->local->base,
		.local = s->local->handle,
		.remote_addr = s->remote->base,
		.remote = s->remote->handle,
		.length = BIT(k) & FLAGGED ? FLAGGED_LENGTH : LENGTH,
		.sync_addr = s->remote->base + FLAG_OFFSET,
		.sync_value = FLAG,
		.amo_cmd = kgt_kinds[k].amo_cmd,
		.operand = { U64_MAX },
		.cqwrite_value = CQWRITE,
	};
}

long kgt_run(struct kgt_scene *s)
{
	long rc;

	kgt_mm_begin();
	rc = kgni_post(s->f->nic, &s->post);
	kgt_mm_end();
	return rc;
}

u64 kgt_source_event(const struct kgt_scene *s, enum kgni_cqe_status status)
{
	bool bte = s->post.type <= KGNI_POST_RDMA_GET;

	return kgni_cqe_done(s->post.src_event, bte ? KGNI_CQE_BTE : KGNI_CQE_FMA, status);
}

u64 kgt_remote_event(const struct kgt_scene *s)
{
	bool cqwrite = s->post.type == KGNI_POST_CQWRITE;

	return kgni_cqe_remote(cqwrite ? CQWRITE : REMOTE_EVENT, s->post.type, KGNI_CQE_POST);
}

void kgt_expect_untouched(struct kgt_scene *s, const char *name)
{
	struct kunit *test = s->test;

	KUNIT_EXPECT_EQ_MSG(test, kgt_differ(s->local, 0, BYTES, 1), 0, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, kgt_differ(s->remote, 0, BYTES, 2), 0, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->src), 0, "%s", name);
	KUNIT_EXPECT_EQ_MSG(test, kgt_pop(s->dst), 0, "%s", name);
}

void kgt_expect_released(struct kgt_scene *s)
{
	struct kunit *test = s->test;

	KUNIT_EXPECT_EQ(test, kref_read(&s->local->mdd->ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&s->remote->mdd->ref), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&s->local->mdd->active), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&s->remote->mdd->active), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&s->src->ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&s->dst->ref), 1 + !!s->remote->mdd->cq);
}
