// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at a registration, at a BTE, at a queue or at
 * the mappings of a ring. See common_pairs.h.
 *
 * What is written is one byte value a round and side, so a byte tells who wrote
 * it: 0x11 was there before, 0x22 in a buffer that nothing was read into, 0x77
 * is put there the moment the memory is deregistered and must stay.
 */
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "common_pairs.h"

#define BEFORE		0x11
#define UNREAD_BYTE	0x22
#define AFTERWARDS	0x77

/* Two pieces of a transfer. */
#define LONG		(20 * PAGE)
#define PIECE		65536UL

/* The target: a page of words, and a slot for each side. */
#define TARGET_LEN	(PAGE + 2 * LONG)
#define DUMP_LEN	(2 * LONG)
#define UPDATED		(TARGET_LEN / PAGE)
#define QUEUE_LEN	2048
#define AMO_AT		0
#define WORD_AT		8
#define FLAG_AT(me)	(16 + 8 * (me))

static struct {
	unsigned char *target, *dump, *local[2];
	int channel;		/* made early, lest it take the number of a file that closes */
} mem;

static unsigned char stamp(int me)
{
	return 0x80 | (w->round * 2 + me);
}

static uint64_t bytes8(unsigned char c)
{
	return c * 0x0101010101010101ULL;
}

static uint64_t *word_at(size_t offset)
{
	return (uint64_t *)(mem.target + offset);
}

static unsigned char *slot(int me)
{
	return mem.target + PAGE + me * LONG;
}

void mem_begin(void)
{
	int i;

	mem.target = map_shared(TARGET_LEN);
	mem.dump = map_shared(DUMP_LEN);
	mem.channel = eventfd(0, EFD_CLOEXEC);
	must(mem.channel >= 0);
	for (i = 0; i < 2; i++)
		mem.local[i] = map_shared(LONG);
}

/* --- operations: posts ------------------------------------------------------------- */

enum way { INTO_TARGET, FROM_TARGET, TARGET_TO_DUMP, ELSEWHERE };

static const struct post {
	gni_post_type_t type;
	uint16_t rdma_mode;
	enum way way;
} posts[] = {
	{ GNI_POST_FMA_PUT, 0, INTO_TARGET },
	{ GNI_POST_FMA_PUT_W_SYNCFLAG, 0, INTO_TARGET },
	{ GNI_POST_FMA_GET, 0, FROM_TARGET },
	{ GNI_POST_RDMA_PUT, 0, INTO_TARGET },
	{ GNI_POST_RDMA_PUT, GNI_RDMAMODE_FENCE, INTO_TARGET },
	{ GNI_POST_RDMA_GET, 0, FROM_TARGET },
	{ GNI_POST_RDMA_PUT, 0, TARGET_TO_DUMP },
};

enum { PUT, FLAG, GET, RDMA_PUT, RDMA_FENCE, RDMA_GET, RDMA_FROM };

static int next_entry(struct side *s, uint64_t *e)
{
	uint64_t end = now_ms() + PATIENCE;

	while (kgni_ring_pop(&s->ring, e) != KGNI_RING_ENTRY) {
		if (now_ms() > end)
			return false;
		sched_yield();
	}
	return true;
}

static uint64_t event_value(const struct side *s)
{
	return (w->round << 1 | s->me) & KGNI_CQE_INST_MASK;
}

static void source_event(const struct side *s, struct kgni_ioc_post *p)
{
	p->cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
	p->src_cq = s->cq.id;
	p->src_event = event_value(s);
}

static int event_code(struct side *s)
{
	uint64_t e = 0;

	if (!ok(next_entry(s, &e), "%s: no event", w->op[s->me]->name))
		return -ETIME;
	is_u64(e & KGNI_CQE_INST_MASK, event_value(s));
	return kgni_cqe_status(e) ? EVENT(kgni_cqe_status(e)) : GNI_RC_SUCCESS;
}

/* Its own, and where it takes events, the one that comes of it. */
static int do_post(struct side *s, struct kgni_ioc_post *p)
{
	int rc;

	if (s->mapped)
		source_event(s, p);
	rc = call(s->fd, KGNI_IOC_POST, p);
	return rc || !s->mapped ? rc : event_code(s);
}

/* At the target, with an event for its queue. */
static int do_target_post(struct side *s, struct kgni_ioc_post *p)
{
	int rc;

	p->remote_pe = w->pe;
	p->remote = w->target;
	p->remote_event = 0x100 + s->me;
	p->cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	rc = do_post(s, p);
	if (!rc)
		w->pushed++;
	return rc;
}

static int op_post(struct side *s)
{
	const struct op *op = w->op[s->me];
	const struct post *t = &posts[op->arg];
	struct kgni_ioc_post p = {
		.type = t->type, .rdma_mode = t->rdma_mode, .length = op->len,
		.local_addr = (uint64_t)mem.local[s->me], .local = s->lmh,
		.remote_addr = (uint64_t)slot(s->me),
		.sync_addr = (uint64_t)word_at(FLAG_AT(s->me)), .sync_value = bytes8(stamp(s->me)),
	};

	if (t->way != TARGET_TO_DUMP)
		return do_target_post(s, &p);
	p.local_addr = p.remote_addr;
	p.local = w->target;
	p.remote_pe = w->pe;
	p.remote_addr = (uint64_t)mem.dump + s->me * LONG;
	p.remote = w->dump;
	return do_post(s, &p);
}

static struct kgni_ioc_post word_post(const uint64_t *value)
{
	return (struct kgni_ioc_post){
		.type = GNI_POST_FMA_PUT, .length = 8, .local_addr = (uint64_t)value,
		.remote_addr = (uint64_t)word_at(WORD_AT),
	};
}

/* Both sides put to the same word. */
int op_word(struct side *s)
{
	uint64_t value = bytes8(stamp(s->me));
	struct kgni_ioc_post p = word_post(&value);

	return do_target_post(s, &p);
}

/* The word, and the word again, and both with an event for the queue; one for all. */
static int op_chain(struct side *s)
{
	uint64_t value = bytes8(stamp(s->me));
	struct kgni_ioc_post p[2] = { word_post(&value), word_post(&value) };
	struct kgni_ioc_post_chain arg = { .posts = (uint64_t)p, .count = 2 };
	int i, rc;

	for (i = 0; i < 2; i++) {
		p[i].remote_pe = w->pe;
		p[i].remote = w->target;
	}
	p[1].cq_mode = GNI_CQMODE_REMOTE_EVENT;
	p[1].remote_event = 0x100 + s->me;
	if (s->mapped)
		source_event(s, &p[0]);
	rc = call(s->fd, KGNI_IOC_POST_CHAIN, &arg);
	if (!rc && s->mapped)
		rc = event_code(s);
	if (!rc)
		w->pushed++;
	return rc;
}

static int op_amo(struct side *s)
{
	struct kgni_ioc_post p = {
		.type = GNI_POST_AMO, .amo_cmd = GNI_FMA_ATOMIC_FADD, .length = 8,
		.local_addr = (uint64_t)mem.local[s->me], .local = s->lmh,
		.remote_addr = (uint64_t)word_at(AMO_AT), .operand = { 1 },
	};

	return do_target_post(s, &p);
}

static int op_cqwrite(struct side *s)
{
	struct kgni_ioc_post p = { .type = GNI_POST_CQWRITE, .cqwrite_value = s->me };

	return do_target_post(s, &p);
}

/* --- operations: registrations and files ------------------------------------------- */

static int register_at(struct side *s, void *addr, size_t len, uint32_t queue)
{
	struct kgni_ioc_mem_register reg = {
		.addr = (uint64_t)addr, .length = len, .cq = queue, .vmdh_index = ~0U,
	};
	struct kgni_ioc_mem_deregister dereg;
	int rc = call(s->fd, KGNI_IOC_MEM_REGISTER, &reg);

	if (rc)
		return rc;
	dereg.handle = reg.handle;
	return call(s->fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
}

/* The same memory once more, and away with that. */
int op_register(struct side *s)
{
	return register_at(s, mem.target, 4 * PAGE, 0);
}

static int register_and_back(struct side *s, struct kgni_ioc_mem_register *reg)
{
	struct kgni_ioc_mem_deregister dereg;
	int rc = call(s->fd, KGNI_IOC_MEM_REGISTER, reg);

	if (rc)
		return rc;
	dereg.handle = reg->handle;
	return call(s->fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
}

/* A page of the target, by a handle of its own, and away with that. */
static int op_clone(struct side *s)
{
	struct kgni_ioc_mem_register reg = {
		.addr = (uint64_t)slot(s->me), .length = PAGE, .flags = GNI_MEM_MDD_CLONE,
		.vmdh_index = ~0U, .handle = w->target,
	};

	return register_and_back(s, &reg);
}

/* Both sides want the same index. */
static int op_index(struct side *s)
{
	struct kgni_ioc_mem_register reg = {
		.addr = (uint64_t)mem.local[s->me], .length = PAGE, .flags = GNI_MEM_USE_VMDH,
	};

	return register_and_back(s, &reg);
}

/* A page more of the target each time; of both sides the same. */
static int op_update(struct side *s)
{
	struct kgni_ioc_mem_register reg = {
		.addr = (uint64_t)mem.target + w->result[s->me].turns / 2 % UPDATED * PAGE,
		.length = PAGE,
		.flags = GNI_MEM_UPDATE_REGION, .vmdh_index = ~0U, .handle = w->target,
	};

	return call(s->fd, KGNI_IOC_MEM_REGISTER, &reg);
}

/* What comes after the target: the other region. */
static int op_next(struct side *s)
{
	struct kgni_ioc_mem_next arg = { .handle = w->target };
	int rc = call(s->fd, KGNI_IOC_MEM_NEXT, &arg);

	if (!rc)
		ok(arg.handle.qword1 == w->dump.qword1 && arg.length == DUMP_LEN, "not the next");
	return rc;
}

static int op_register_queue(struct side *s)
{
	return register_at(s, mem.local[s->me], PAGE, w->queue.id);
}

static int op_deregister(struct side *s)
{
	struct kgni_ioc_mem_deregister arg = { .handle = w->target };

	if (s->i)
		arg.handle = w->more_target[s->i - 1];
	return call(s->fd, KGNI_IOC_MEM_DEREGISTER, &arg);
}

/* From here on nobody may write there. */
static void fill_target(void)
{
	memset(mem.target, AFTERWARDS, PAGE);
	memset(slot(0), AFTERWARDS, w->op[0]->len);
	memset(slot(1), AFTERWARDS, w->op[1]->len);
	w->filled = true;
}

static void after_deregister(struct side *s, int code)
{
	if (code == GNI_RC_SUCCESS && !s->i)
		fill_target();
}

int op_close(struct side *s)
{
	return close(s->i ? s->more_fd[s->i - 1] : s->fd) ? -errno : GNI_RC_SUCCESS;
}

/* A file ends with its last user: here, unless the other side has it too. */
void after_close(struct side *s, int code)
{
	if (s->i)
		return;
	s->fd = -1;
	if (code == GNI_RC_SUCCESS && (w->place == BY_JOB || w->place == BY_NIC))
		fill_target();
}

static void after_kill(struct side *s, int code)
{
	(void)code;
	if (!s->i && !s->me && (w->place == BY_JOB || w->place == BY_NIC))
		fill_target();
}

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

static int op_destroy(struct side *s)
{
	struct kgni_ioc_cq_destroy arg = {
		.id = s->i ? w->more_queue[s->i - 1] : w->queue.id,
	};

	return call(s->fd, KGNI_IOC_CQ_DESTROY, &arg);
}

/* The queue of the other side's source events; the events still come. */
static int op_destroy_other(struct side *s)
{
	struct kgni_ioc_cq_destroy arg = { .id = w->cq[!s->me].id };

	if (s->i)
		arg.id = w->more_queue[s->i - 1];
	return call(s->fd, KGNI_IOC_CQ_DESTROY, &arg);
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

static int op_fork(struct side *s)
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

/* Entries that stand for something lost are no events. */
static bool take_entry(const struct kgni_ring_view *ring)
{
	uint64_t e = 0;

	if (kgni_ring_pop(ring, &e) != KGNI_RING_ENTRY)
		return false;
	w->popped += kgni_cqe_source(e) != KGNI_CQE_DRIVER;
	return true;
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

/* --- making and ending it all ------------------------------------------------------ */

static void make_queue(int fd, struct raw_cq *cq, uint32_t entries)
{
	struct kgni_ioc_cq_create arg = { .entries = entries, .mode = GNI_CQ_BLOCKING };

	must(!call(fd, KGNI_IOC_CQ_CREATE, &arg));
	*cq = (struct raw_cq){
		.id = arg.id, .slots = arg.slots, .offset = arg.mmap_offset,
		.len = arg.mmap_length,
	};
}

static void make_ready(void)
{
	int i;

	memset(mem.target, 0, PAGE);
	*word_at(WORD_AT) = bytes8(BEFORE);
	for (i = 0; i < 2; i++) {
		const struct op *op = w->op[i];
		bool reads = op->fn == op_post && posts[op->arg].way != INTO_TARGET;

		memset(slot(i), reads ? stamp(i) : BEFORE, op->len);
		memset(mem.dump + i * LONG, BEFORE, op->len);
		memset(mem.local[i], reads ? UNREAD_BYTE : stamp(i), op->len);
	}
}

/* Whether one side closes the owner's copy of the file. */
bool owner_closes(void)
{
	return w->op[0]->fn == op_close || (w->place == IN_THREADS && w->op[1]->fn == op_close);
}

static bool any_is(int (*fn)(struct side *s))
{
	return w->op[0]->fn == fn || w->op[1]->fn == fn;
}

static bool has_more(void)
{
	return any_is(op_close) || w->object == &file_object;
}

void more_files(bool attached)
{
	unsigned int i;

	if (has_more())
		for (i = 0; i < w->times - 1; i++)
			w->more_fd[i] = attached ? raw_attach(0, OWNER_ID, 0) : raw_open(0);
}

void close_more_files(void)
{
	unsigned int i;

	if (has_more() && !owner_closes())
		for (i = 0; i < w->times - 1; i++)
			close(w->more_fd[i]);
}

static void more_objects(void)
{
	struct raw_cq cq;
	unsigned int i;

	more_files(true);
	for (i = 0; i < w->times - 1; i++) {
		if (any_is(op_destroy) || any_is(op_destroy_other)) {
			make_queue(w->fd, &cq, 4);
			w->more_queue[i] = cq.id;
		}
		if (any_is(op_deregister))
			w->more_target[i] = raw_mem_open(w->fd, mem.local[0], PAGE, 0, 0);
	}
}

static bool rings_mapped(int me);
static struct kgni_ring_view queue_view;
static void *queue_mem;

/* A region of which the words are there, and the slots are not. */
static struct kgni_mem_handle reserved_target(void)
{
	struct kgni_ioc_mem_register arg = {
		.addr = (uint64_t)mem.target, .length = PAGE, .flags = GNI_MEM_UPDATE_REGION,
		.vmdh_index = ~0U,
	};
	struct kgni_ioc_mdd_block block = { .entries = 1 };

	arg.handle = raw_mem_open(w->fd, mem.target, TARGET_LEN, GNI_MEM_RESERVE_REGION,
				  w->queue.id);
	must(!call(w->fd, KGNI_IOC_MEM_REGISTER, &arg));
	must(!call(w->fd, KGNI_IOC_MDD_BLOCK, &block));
	return arg.handle;
}

void mem_open_world(void)
{
	struct kgni_ioc_attach at = { .inst_id = OWNER_ID, .ptag = ANY, .cookie = COOKIE };
	int i;

	make_ready();
	w->fd = raw_open(0);
	must(!call(w->fd, KGNI_IOC_ATTACH, &at));
	w->pe = at.pe;
	w->ptag = at.ptag;
	for (i = 0; i < 2; i++) {
		make_queue(w->fd, &w->cq[i], 64);
		w->local[i] = raw_mem_open(w->fd, mem.local[i], LONG, 0, 0);
	}
	make_queue(w->fd, &w->queue, QUEUE_LEN);
	w->target = w->object == &region_object ? reserved_target() :
		    raw_mem_open(w->fd, mem.target, TARGET_LEN, 0, w->queue.id);
	w->dump = raw_mem_open(w->fd, mem.dump, DUMP_LEN, 0, 0);
	more_objects();
	queue_mem = NULL;
	if (owner_dies() || !rings_mapped(0))
		return;
	queue_mem = mmap(NULL, w->queue.len, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
			 w->queue.offset);
	must(queue_mem != MAP_FAILED);
	kgni_ring_view_init(&queue_view, queue_mem, w->queue.slots);
}

void mem_close_world(void)
{
	if (queue_mem)
		munmap(queue_mem, w->queue.len);
	queue_mem = NULL;
	close_more_files();
	if (!owner_closes())
		close(w->fd);
}

/*
 * A file lives as long as something of it is mapped. Where closing it is to end
 * it, that side has no ring, and posts without events.
 */
static bool rings_mapped(int me)
{
	bool closes[2] = { w->op[0]->fn == op_close, w->op[1]->fn == op_close };

	if (w->object == &ring_object)
		return true;
	return !closes[me] && !(w->place == IN_THREADS && closes[!me]);
}

static int others_file(int pidfd, int number)
{
	int fd = syscall(SYS_pidfd_getfd, pidfd, number, 0);

	must(fd >= 0);
	return fd;
}

static bool has_copies(const struct side *s)
{
	return s->me && w->place == BY_FILE && w->owner != getpid();
}

/* The file that a side works with: the owner's, or its own. */
void mem_side_file(struct side *s)
{
	unsigned int i;
	int pidfd;

	if (s->own)
		return;
	s->pe = w->pe;
	s->fd = w->fd;
	memcpy(s->more_fd, w->more_fd, sizeof(s->more_fd));
	if (!has_copies(s))
		return;
	pidfd = syscall(SYS_pidfd_open, w->owner, 0);
	s->fd = others_file(pidfd, w->fd);
	for (i = 0; i < w->times - 1 && has_more(); i++)
		s->more_fd[i] = others_file(pidfd, w->more_fd[i]);
	close(pidfd);
}

void mem_side_file_close(struct side *s)
{
	unsigned int i;

	if (s->own || !has_copies(s) || s->fd < 0)
		return;
	close(s->fd);
	for (i = 0; i < w->times - 1 && has_more(); i++)
		close(s->more_fd[i]);
}

static void *map_ring(struct side *s, struct raw_cq *cq, struct kgni_ring_view *view)
{
	void *p = mmap(NULL, cq->len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, cq->offset);

	must(p != MAP_FAILED);
	kgni_ring_view_init(view, p, cq->slots);
	return p;
}

void mem_side_open(struct side *s)
{
	mem_side_file(s);
	if (s->own) {
		s->lmh = raw_mem_open(s->fd, mem.local[s->me], LONG, 0, 0);
		return;
	}
	s->lmh = w->local[s->me];
	s->cq = w->cq[s->me];
	s->mapped = rings_mapped(s->me);
	if (s->mapped)
		s->cq.mem = map_ring(s, &s->cq, &s->ring);
}

void mem_side_close(struct side *s)
{
	struct kgni_ioc_mem_deregister arg = { .handle = s->lmh };
	uint64_t e;

	if (s->mapped)
		ok(kgni_ring_pop(&s->ring, &e) == KGNI_RING_EMPTY, "one event too many");
	if (s->own) {
		is_u64(call(s->fd, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_SUCCESS);
		return;
	}
	if (s->mapped)
		munmap(s->cq.mem, s->cq.len);
	mem_side_file_close(s);
}

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

/* --- what has become of it --------------------------------------------------------- */

static bool bte_idle(void)
{
	struct kgni_ioc_res arg = {
		.scope = KGNI_RES_JOB, .type = GNI_JOB_RES_RMDA, .ptag = w->ptag,
	};
	int fd = raw_open(0), rc = call(fd, KGNI_IOC_RES_INFO, &arg);

	close(fd);
	return !rc && !arg.used;
}

static bool has(const unsigned char *p, size_t len, unsigned char c)
{
	return all_bytes(p, len, c);
}

/* Each piece is as it was or as it was posted. */
static bool whole_pieces(const unsigned char *p, size_t len, unsigned char was,
			 unsigned char posted)
{
	size_t done, n;

	for (done = 0; done < len; done += n) {
		n = len - done < PIECE ? len - done : PIECE;
		if (!has(p + done, n, was) && !has(p + done, n, posted))
			return false;
	}
	return true;
}

static void check_moved(int me)
{
	const struct op *op = w->op[me];
	const struct post *t = &posts[op->arg];
	bool done = w->result[me].done, known = w->place != IN_THREADS ||
		    rings_mapped(me);
	unsigned char was = t->way == FROM_TARGET ? UNREAD_BYTE : BEFORE;
	const unsigned char *p = mem.local[me];

	if (t->way == INTO_TARGET)
		p = slot(me);
	else if (t->way == TARGET_TO_DUMP)
		p = mem.dump + me * LONG;
	if (t->way == INTO_TARGET && w->filled)
		return;
	if (done && known)
		ok(has(p, op->len, stamp(me)), "round %u: %s: done, and not all there", w->round,
		   op->name);
	else
		ok(whole_pieces(p, op->len, was, stamp(me)), "round %u: %s: in parts", w->round,
		   op->name);
	if (t->type != GNI_POST_FMA_PUT_W_SYNCFLAG)
		return;
	if (*word_at(FLAG_AT(me)))
		ok(*word_at(FLAG_AT(me)) == bytes8(stamp(me)) && has(p, op->len, stamp(me)),
		   "a flag without its data");
	else
		ok(!done || !known, "no flag");
}

static void check_words(void)
{
	uint64_t value = *word_at(WORD_AT), sum = 0;
	unsigned int i, words = 0;
	bool exact = true;

	for (i = 0; i < 2; i++) {
		unsigned int done = w->result[i].done;

		sum += w->op[i]->fn == op_amo ? done : 0;
		words += w->op[i]->fn == op_word || w->op[i]->fn == op_chain ? done : 0;
		exact &= rings_mapped(i);
	}
	if (exact)
		is_u64(*word_at(AMO_AT), sum);
	else
		ok(*word_at(AMO_AT) <= w->result[0].done + w->result[1].done);
	ok(value == bytes8(stamp(0)) || value == bytes8(stamp(1)) || value == bytes8(BEFORE),
	   "round %u: a word is %#llx", w->round, (unsigned long long)value);
	ok(value != bytes8(BEFORE) || !words || !exact, "round %u: a word is not there", w->round);
}

static void check_target(void)
{
	if (!w->filled) {
		check_words();
		return;
	}
	ok(has(mem.target, PAGE, AFTERWARDS) && has(slot(0), w->op[0]->len, AFTERWARDS) &&
	   has(slot(1), w->op[1]->len, AFTERWARDS), "round %u: %s beside %s: written to afterwards",
	   w->round, w->op[0]->name, w->op[1]->name);
}

/* One of two ends what can end once. */
static void check_once(int (*fn)(struct side *s))
{
	if (w->op[0]->fn == fn && w->op[1]->fn == fn)
		is_u64(w->result[0].done + w->result[1].done, w->times, "%s twice", w->op[0]->name);
}

void mem_check(void)
{
	unsigned int i;

	ok(wait_for(bte_idle()));
	for (i = 0; i < 2; i++)
		if (w->op[i]->fn == op_post)
			check_moved(i);
	check_target();
	check_once(op_deregister);
	check_once(op_destroy);
	if (w->place == IN_THREADS)
		check_once(op_close);
	if (!queue_mem)
		return;
	while (take_entry(&queue_view))
		;
	is_u64(w->popped, w->pushed, "round %u: %s beside %s: events", w->round, w->op[0]->name,
	       w->op[1]->name);
}

/* --- tables ------------------------------------------------------------------------ */

#define POST(name_, which, len_)							\
	{ .name = (name_), .fn = op_post, .arg = (which), .len = (len_),		\
	  .codes = C_OK, ON_MEMORY(C_GONE) }
#define REGISTER	{ .name = "register", .fn = op_register, .codes = C_OK, .owner = true }
#define DEREGISTER								\
	{ .name = "deregister", .fn = op_deregister, .after = after_deregister,	\
	  .codes = C_OK, ON_MEMORY(C_PARAM), .effects = ENDS_MEMORY, .owner = true, .once = true }
#define CLOSE									\
	{ .name = "close", .fn = op_close, .after = after_close, .codes = C_OK,	\
	  .effects = ENDS_FILE, .owner = true, .once = true }
#define KILL	OP_KILL(after_kill)
#define CQWRITE	{ .name = "CQ write", .fn = op_cqwrite, .codes = C_OK, ON_MEMORY(C_GONE) }
#define CHAIN	{ .name = "chain", .fn = op_chain, .codes = C_OK, ON_MEMORY(C_GONE) }
#define NEXT									\
	{ .name = "list", .fn = op_next, .codes = C_OK, ON_MEMORY(C_STATE), .owner = true }
#define WORD	{ .name = "FMA put, word", .fn = op_word, .codes = C_OK, ON_MEMORY(C_GONE) }

static const struct op memory_ops[] = {
	REGISTER,
	DEREGISTER,
	CLOSE,
	WORD,
	POST("FMA put, 2 pages", PUT, 2 * PAGE),
	POST("FMA put with flag", FLAG, 64),
	POST("FMA get", GET, 2 * PAGE),
	{ .name = "AMO", .fn = op_amo, .codes = C_OK, ON_MEMORY(C_GONE) },
	POST("RDMA put, small", RDMA_PUT, 64),
	POST("RDMA put", RDMA_PUT, LONG),
	POST("RDMA get", RDMA_GET, LONG),
	CQWRITE,
	CHAIN,
	NEXT,
	{ .name = "clone", .fn = op_clone, .codes = C_OK, ON_MEMORY(C_PARAM), .owner = true },
	KILL,
};

/* Where pages of the target may not be there yet. */
#define EARLY_POST(name_, which, len_)						\
	{ .name = (name_), .fn = op_post, .arg = (which), .len = (len_),	\
	  .codes = C_OK | C_MISSING, ON_MEMORY(C_GONE) }

static const struct op region_ops[] = {
	{ .name = "update", .fn = op_update, .codes = C_OK, ON_MEMORY(C_PARAM), .owner = true },
	DEREGISTER,
	CLOSE,
	WORD,
	EARLY_POST("FMA put, 2 pages", PUT, 2 * PAGE),
	EARLY_POST("FMA get", GET, 2 * PAGE),
	EARLY_POST("RDMA put", RDMA_PUT, LONG),
	CHAIN,
	NEXT,
	{ .name = "take an index", .fn = op_index, .codes = C_OK | C_RESOURCE, .owner = true },
	KILL,
};

/* Where the local side goes: a mistake of the poster, or it is aborted. */
#define FROM_TARGET_POST(name_, len_)						\
	{ .name = (name_), .fn = op_post, .arg = RDMA_FROM, .len = (len_),	\
	  .codes = C_OK, ON_MEMORY(C_PARAM | C_GONE), ON_QUEUE(C_PARAM), .owner = true }
#define BTE_POST(name_, which, len_)						\
	{ .name = (name_), .fn = op_post, .arg = (which), .len = (len_),	\
	  .codes = C_OK, ON_MEMORY(C_GONE), ON_QUEUE(C_PARAM) }

static const struct op bte_ops[] = {
	BTE_POST("RDMA put, small", RDMA_PUT, 64),
	BTE_POST("RDMA put", RDMA_PUT, LONG),
	BTE_POST("RDMA put, fenced", RDMA_FENCE, LONG),
	BTE_POST("RDMA put, small, fenced", RDMA_FENCE, 64),
	BTE_POST("RDMA get", RDMA_GET, LONG),
	FROM_TARGET_POST("RDMA put from it", LONG),
	DEREGISTER,
	{ .name = "destroy source queue", .fn = op_destroy_other, .codes = C_OK, ON_QUEUE(C_PARAM),
	  .effects = ENDS_QUEUE, .owner = true, .once = true },
	CLOSE,
	KILL,
};

#define DESTROY									\
	{ .name = "destroy", .fn = op_destroy, .codes = C_OK, ON_QUEUE(C_PARAM),	\
	  .effects = ENDS_QUEUE, .owner = true, .once = true }
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

const struct object memory_object = {
	.name = "registration", .ops = memory_ops, .count = ARRAY_SIZE(memory_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = mem_open_world, .side_open = mem_side_open,
	.side_close = mem_side_close, .check = mem_check, .close = mem_close_world,
};

/* An update is for the process that reserved the region. */
const struct object region_object = {
	.name = "region", .ops = region_ops, .count = ARRAY_SIZE(region_ops),
	.places = AT(IN_THREADS) | AT(BY_JOB) | AT(BY_NIC),
	.begin = mem_begin, .open = mem_open_world, .side_open = mem_side_open,
	.side_close = mem_side_close, .check = mem_check, .close = mem_close_world,
};

const struct object bte_object = {
	.name = "BTE", .ops = bte_ops, .count = ARRAY_SIZE(bte_ops),
	.places = AT(IN_THREADS) | AT(BY_FILE),
	.begin = mem_begin, .open = mem_open_world, .side_open = mem_side_open,
	.side_close = mem_side_close, .check = mem_check, .close = mem_close_world,
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
