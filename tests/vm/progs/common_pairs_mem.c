// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs of operations that meet at a registration, at a region or at a BTE, and the
 * memory and queues that others need, too. See common_pairs.h.
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

/* What is moved at once. */
#define PIECE		65536UL

#define UPDATED		(TARGET_LEN / PAGE)
#define AMO_AT		0
#define WORD_AT		8
#define FLAG_AT(me)	(16 + 8 * (me))

struct pairs_memory mem;

unsigned char stamp(int me)
{
	return 0x80 | (w->round * 2 + me);
}

uint64_t bytes8(unsigned char c)
{
	return c * 0x0101010101010101ULL;
}

uint64_t *word_at(size_t offset)
{
	return (uint64_t *)(mem.target + offset);
}

unsigned char *slot(int me)
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
int do_target_post(struct side *s, struct kgni_ioc_post *p)
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
int op_chain(struct side *s)
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

int op_cqwrite(struct side *s)
{
	struct kgni_ioc_post p = { .type = GNI_POST_CQWRITE, .cqwrite_value = s->me };

	return do_target_post(s, &p);
}

/* --- operations: registrations and files ------------------------------------------- */

int register_at(struct side *s, void *addr, size_t len, uint32_t queue)
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

int op_deregister(struct side *s)
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

void after_deregister(struct side *s, int code)
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

void after_kill(struct side *s, int code)
{
	(void)code;
	if (!s->i && !s->me && (w->place == BY_JOB || w->place == BY_NIC))
		fill_target();
}

/* --- operations: queues that go -------------------------------------------------- */

int op_destroy(struct side *s)
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

bool any_is(int (*fn)(struct side *s))
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

struct kgni_ring_view queue_view;
void *queue_mem;

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
bool rings_mapped(int me)
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

void *map_ring(struct side *s, struct raw_cq *cq, struct kgni_ring_view *view)
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

/* --- what has become of it --------------------------------------------------------- */

/* Entries that stand for something lost are no events. */
bool take_entry(const struct kgni_ring_view *ring)
{
	uint64_t e = 0;

	if (kgni_ring_pop(ring, &e) != KGNI_RING_ENTRY)
		return false;
	w->popped += kgni_cqe_source(e) != KGNI_CQE_DRIVER;
	return true;
}

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
#define NEXT									\
	{ .name = "list", .fn = op_next, .codes = C_OK, ON_MEMORY(C_STATE), .owner = true }

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
