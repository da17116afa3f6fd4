/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scene for posts: two attachments of one job on two devices, with memory and
 * queues, and one post of each kind that is right in every way.
 */
#ifndef _KGT_SCENE_H
#define _KGT_SCENE_H

#include "kgt.h"

#define PAGES	3
#define BYTES	(PAGES * PAGE_SIZE)
#define LENGTH	64
#define FLAGGED_LENGTH	32

#define SRC_EVENT	kgni_cqe_post(0xabcdef, 0x1234567)
#define REMOTE_EVENT	0xfeedbeefU
#define FLAG		0x0123456789abcdefULL
#define FLAG_OFFSET	(BYTES - 8)
#define CQWRITE		0x123456789abcULL

/* One of each. */
enum kind {
	RDMA_PUT, RDMA_GET, PUT, PUT_FLAG, GET, FETCH, AMO, CQW, GET_FLAG, FETCH_FLAG, KINDS
};

#define ALL	(BIT(KINDS) - 1)
#define FLAGGED	(BIT(GET_FLAG) | BIT(FETCH_FLAG))
#define NEEDS_LOCAL	(BIT(RDMA_PUT) | BIT(RDMA_GET) | BIT(GET) | BIT(FETCH) | FLAGGED)
#define MEMORY	(ALL & ~BIT(CQW))
#define WRITES	(MEMORY & ~(BIT(RDMA_GET) | BIT(GET) | BIT(GET_FLAG)))

extern const struct kgt_kind {
	const char *name;
	u32 type, amo_cmd;
} kgt_kinds[KINDS];

extern const enum kind kgt_each_kind[KINDS];

static inline void kgt_kind_desc(const enum kind *k, char *desc)
{
	strscpy(desc, kgt_kinds[*k].name, KUNIT_PARAM_DESC_SIZE);
}

struct kgt_scene {
	struct kunit *test;
	struct kgni_file *f, *peer;
	struct kgni_cq *src, *dst;
	struct kgt_mem *local, *remote;
	unsigned long user;	/* what a put reads: zeros */
	struct kgni_ioc_post post;
};

/* How a scene differs: no queue behind the memory, dual events, another job's memory. */
enum { NO_CQ = 1, DUAL = 2, FOREIGN = 4 };

/* kgt_fill() has filled the local side with 1, the remote one with 2. */
struct kgt_scene *kgt_scene(struct kunit *test, u32 how, u32 local_flags, u32 remote_flags);
void kgt_compose(struct kgt_scene *s, enum kind k);
long kgt_run(struct kgt_scene *s);
/* The events of a post that was composed. */
u64 kgt_source_event(const struct kgt_scene *s, enum kgni_cqe_status status);
u64 kgt_remote_event(const struct kgt_scene *s);
/* Nothing was moved, nothing is held, and there are no more events. */
void kgt_expect_untouched(struct kgt_scene *s, const char *name);
void kgt_expect_released(struct kgt_scene *s);

#endif /* _KGT_SCENE_H */
