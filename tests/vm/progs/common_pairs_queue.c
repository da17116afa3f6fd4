// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at a queue, or at the mappings of its ring. See
 * common_pairs.h.
 */
#include "common_pairs.h"

/* --- operations: queues ------------------------------------------------------------ */

static int op_create(struct side *s)
{
	struct kgni_ioc_cq_create make = { .entries = 64 };
	struct kgni_ioc_cq_destroy destroy = { 0 };
	int rc = call(s->fd, KGNI_IOC_CQ_CREATE, &make);

	if (rc)
		return rc;
	destroy.id = make.id;
	return call(s->fd, KGNI_IOC_CQ_DESTROY, &destroy);
}

static int op_register_queue(struct side *s)
{
	return register_at(s, mem.local[s->me], PAGE, w->queue.id);
}

static int op_wait(struct side *s)
{
	struct kgni_cq_ref ref = { .fd = s->fd, .id = w->queue.id };
	struct kgni_ioc_cq_wait arg = { .cqs = (uint64_t)&ref, .count = 1, .timeout_ms = 1 };

	return call(s->fd, KGNI_IOC_CQ_WAIT, &arg);
}

/* A post whose source event goes to the queue. */
static int op_source(struct side *s)
{
	uint64_t value = 1;
	struct kgni_ioc_post p = {
		.type = GNI_POST_FMA_PUT, .length = 8, .local_addr = (uint64_t)&value,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT, .src_cq = w->queue.id,
		.remote_pe = w->pe, .remote = w->dump, .remote_addr = (uint64_t)mem.dump,
	};
	int rc = call(s->fd, KGNI_IOC_POST, &p);

	if (!rc)
		w->pushed++;
	return rc;
}

static int op_chain_source(struct side *s)
{
	uint64_t value = 1;
	struct kgni_ioc_post p[2] = {
		{ .type = GNI_POST_FMA_PUT, .length = 8, .local_addr = (uint64_t)&value,
		  .remote_pe = w->pe, .remote = w->dump, .remote_addr = (uint64_t)mem.dump },
	};
	struct kgni_ioc_post_chain arg = { .posts = (uint64_t)p, .count = 2 };
	int rc;

	p[1] = p[0];
	p[0].cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	p[0].src_cq = w->queue.id;
	rc = call(s->fd, KGNI_IOC_POST_CHAIN, &arg);
	if (!rc)
		w->pushed++;
	return rc;
}

static int op_wake(struct side *s)
{
	struct kgni_ioc_cq_wake arg = { .id = w->queue.id };

	return call(s->fd, KGNI_IOC_CQ_WAKE, &arg);
}

/* The first one is the queue's for good. */
static int op_channel(struct side *s)
{
	struct kgni_ioc_cq_notify arg = { .id = w->queue.id, .fd = mem.channel };

	return call(s->fd, KGNI_IOC_CQ_NOTIFY, &arg);
}

/* --- operations: mappings of a ring ------------------------------------------------ */

static void *map_queue(struct side *s)
{
	return mmap(NULL, w->queue.len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		    w->queue.offset);
}

static int op_map(struct side *s)
{
	void *p = map_queue(s);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, w->queue.len);
	return GNI_RC_SUCCESS;
}

static int op_unmap(struct side *s)
{
	int rc = munmap(s->extra[s->i], w->queue.len);

	s->extra[s->i] = NULL;
	return rc ? -errno : GNI_RC_SUCCESS;
}

/* Refused, and undone by the kernel where it had begun. */
static int op_move(struct side *s)
{
	void *to = mmap(NULL, w->queue.len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *p = mremap(s->extra[0], w->queue.len, w->queue.len, MREMAP_MAYMOVE | MREMAP_FIXED,
			 to);

	/* What was there has gone, and another thread may be there now. */
	return p == MAP_FAILED ? -errno : GNI_RC_SUCCESS;
}

static int op_protect(struct side *s)
{
	if (mprotect(s->extra[0], w->queue.len, PROT_READ) ||
	    mprotect(s->extra[0], w->queue.len, PROT_READ | PROT_WRITE))
		return -errno;
	return GNI_RC_SUCCESS;
}

int op_fork(struct side *s)
{
	pid_t pid = fork();

	(void)s;
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid < 0 ? -errno : GNI_RC_SUCCESS;
}

/* As the library does it: who unmasks has the driver look again. */
static int op_mask(struct side *s)
{
	uint32_t *masked = &s->queue.ring->masked;

	__atomic_fetch_add(masked, 1, __ATOMIC_SEQ_CST);
	return __atomic_sub_fetch(masked, 1, __ATOMIC_SEQ_CST) ? GNI_RC_SUCCESS : op_wake(s);
}

static int op_arm(struct side *s)
{
	kgni_ring_notify_arm(&s->queue);
	if (kgni_ring_ready(&s->queue))
		kgni_ring_notify_disarm(&s->queue);
	return GNI_RC_SUCCESS;
}

/* There is room for the events of the other side's posts. */
static int op_push(struct side *s)
{
	if (kgni_ring_count(&s->queue) > QUEUE_LEN / 2)
		return GNI_RC_NOT_DONE;
	if (!kgni_ring_push(&s->queue, kgni_cqe_remote(s->me, 0, KGNI_CQE_POST)))
		return GNI_RC_ERROR_RESOURCE;
	w->pushed++;
	return GNI_RC_SUCCESS;
}

/* One consumer at a time, as in the library. */
static int op_pop(struct side *s)
{
	bool taken;

	while (atomic_exchange(&w->lock, 1))
		sched_yield();
	taken = take_entry(&s->queue);
	w->lock = 0;
	return taken ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

/* --- making and ending it --------------------------------------------------------- */

static void *base[2];

static void ring_side_open(struct side *s)
{
	unsigned int i;

	mem_side_open(s);
	base[s->me] = map_ring(s, &w->queue, &s->queue);
	for (i = 0; i < w->times; i++) {
		s->extra[i] = map_queue(s);
		must(s->extra[i] != MAP_FAILED);
	}
}

static void ring_side_close(struct side *s)
{
	unsigned int i;

	munmap(base[s->me], w->queue.len);
	for (i = 0; i < w->times; i++)
		if (s->extra[i])
			munmap(s->extra[i], w->queue.len);
	mem_side_close(s);
}

/* Something to take. */
static void ring_open(void)
{
	int i;

	mem_open_world();
	if (!queue_mem)
		return;
	is_u64(op_channel(&(struct side){ .fd = w->fd }), GNI_RC_SUCCESS);
	for (i = 0; i < 2; i++)
		w->pushed += kgni_ring_push(&queue_view, kgni_cqe_remote(9, 0, KGNI_CQE_POST));
}

/* --- tables ------------------------------------------------------------------------ */

#define WAIT									\
	{ .name = "wait", .fn = op_wait, .codes = C_OK | C_TIMEOUT, ON_QUEUE(C_PARAM),	\
	  .owner = true, ON_FILE(C_PARAM) }

static const struct op queue_ops[] = {
	{ .name = "create another", .fn = op_create, .codes = C_OK, .owner = true },
	DESTROY,
	WAIT,
	{ .name = "source event", .fn = op_source, .codes = C_OK, ON_QUEUE(C_PARAM),
	  .owner = true },
	WORD,
	CQWRITE,
	{ .name = "event of a chain", .fn = op_chain_source, .codes = C_OK, ON_QUEUE(C_PARAM),
	  .owner = true },
	{ .name = "wake", .fn = op_wake, .codes = C_OK, ON_QUEUE(C_PARAM), .owner = true },
	{ .name = "channel", .fn = op_channel, .codes = C_OK | C_STATE, ON_QUEUE(C_PARAM),
	  .owner = true },
	{ .name = "register with it", .fn = op_register_queue, .codes = C_OK, ON_QUEUE(C_PARAM),
	  .owner = true },
	CLOSE,
	KILL,
};

static const struct op ring_ops[] = {
	{ .name = "map", .fn = op_map, .codes = C_OK, ON_QUEUE(C_EINVAL), .owner = true },
	{ .name = "unmap", .fn = op_unmap, .codes = C_OK, .owner = true, .once = true },
	{ .name = "move", .fn = op_move, .codes = C_EINVAL, .owner = true },
	{ .name = "protect", .fn = op_protect, .codes = C_OK, .owner = true },
	{ .name = "fork", .fn = op_fork, .codes = C_OK, .owner = true },
	{ .name = "push", .fn = op_push, .codes = C_OK | C_NOT_DONE, .owner = true, .quick = true },
	{ .name = "pop", .fn = op_pop, .codes = C_OK | C_NOT_DONE, .owner = true, .quick = true },
	{ .name = "mask and unmask", .fn = op_mask, .codes = C_OK, ON_QUEUE(C_PARAM),
	  .owner = true },
	{ .name = "arm channel", .fn = op_arm, .codes = C_OK, .owner = true, .quick = true },
	CQWRITE,
	DESTROY,
	WAIT,
	CLOSE,
	KILL,
};

const struct object queue_object = {
	.name = "queue", .ops = queue_ops, .count = ARRAY_SIZE(queue_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = mem_open_world, .side_open = mem_side_open,
	.side_close = mem_side_close, .check = mem_check, .close = mem_close_world,
};

const struct object ring_object = {
	.name = "ring", .ops = ring_ops, .count = ARRAY_SIZE(ring_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE),
	.begin = mem_begin, .open = ring_open, .side_open = ring_side_open,
	.side_close = ring_side_close, .check = mem_check, .close = mem_close_world,
};
