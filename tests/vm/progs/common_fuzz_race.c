// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races of the fuzzer: two or three threads that do at the same moment what
 * must not be done at the same moment, turn after turn. The first of them makes
 * the things that the others fight for, and judges what came out of it.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "common_fuzz.h"
#include <gni/ring.h>

#define MEM	(20 * PAGE)		/* more than one piece of a transfer */
#define MARK	0xa5
#define LONG	(10000 * time_scale())	/* a wait that something must end */

/* What the sides of a race share. */
static struct {
	int a, b;			/* attachments of one job, instances 1 and 2 */
	int device;
	uint32_t pe;
	unsigned char *mem;		/* is fought for */
	unsigned char *other;		/* is not */
	struct kgni_mem_handle mh;	/* of mem, by a */
	struct kgni_mem_handle other_mh; /* of other, by b */
	struct raw_cq cq;		/* of a */
	struct kgni_ioc_mem_register reg;
	pid_t pid;
	int rc[SIDES];
	struct kgni_ioc_dgram_test test[SIDES];
} z;

static struct {
	_Atomic unsigned int came;
	_Atomic unsigned int turn;
} gate;

/* Whoever comes a little late is not waited for by the scheduler. */
static void meet(void)
{
	unsigned int turn = gate.turn, tries = 0;

	if (atomic_fetch_add(&gate.came, 1) + 1 == SIDES) {
		gate.came = 0;
		gate.turn++;
		syscall(SYS_futex, &gate.turn, FUTEX_WAKE_PRIVATE, SIDES);
		return;
	}
	while (gate.turn == turn)
		if (++tries > 1000)
			syscall(SYS_futex, &gate.turn, FUTEX_WAIT_PRIVATE, turn, NULL);
}

static void dawdle(void)
{
	volatile unsigned int n = one_in(2) ? 0 : below(one_in(4) ? 20000 : 2000);

	while (n)
		n--;
}

/* --- what sides do ------------------------------------------------------------- */

static int attach_as(int fd, uint32_t inst_id)
{
	struct kgni_ioc_attach arg = {
		.inst_id = inst_id, .ptag = GNI_FIND_ALLOC_PTAG, .cookie = self.cookie,
	};
	int rc = ioctl(fd, KGNI_IOC_ATTACH, &arg);

	if (rc == GNI_RC_SUCCESS)
		z.pe = arg.pe;
	return rc;
}

static int attached(uint32_t inst_id)
{
	int fd = raw_open(z.device);

	is_u64(attach_as(fd, inst_id), GNI_RC_SUCCESS, "attach");
	return fd;
}

static struct kgni_ioc_post some_post(void)
{
	static const uint8_t types[] = {
		GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG,
		GNI_POST_FMA_GET, GNI_POST_RDMA_GET, GNI_POST_AMO, GNI_POST_CQWRITE,
	};
	struct kgni_ioc_post p = {
		.type = types[below(ARRAY_SIZE(types))], .remote_pe = z.pe,
		.local = z.other_mh, .remote = z.mh,
		.local_addr = (uint64_t)z.other, .remote_addr = (uint64_t)z.mem,
		.sync_addr = (uint64_t)z.mem + MEM - 8, .sync_value = draw64(),
		.length = one_in(2) ? MEM - 8 : 8 * (1 + below(600)),
		.rdma_mode = one_in(4) ? GNI_RDMAMODE_FENCE : 0,
		.remote_event = draw(), .amo_cmd = GNI_FMA_ATOMIC_FADD, .operand = { 1 },
		.cq_mode = one_in(2) ? GNI_CQMODE_REMOTE_EVENT : 0,
	};

	if (p.type == GNI_POST_AMO)
		p.length = 8;
	return p;
}

/* Posts from b at what a registered: they succeed, and their events tell the rest. */
static void side_posts(unsigned int side)
{
	unsigned int n = 1 + below(4);
	struct kgni_ioc_post p;

	while (n--) {
		p = some_post();
		z.rc[side] = ioctl(z.b, KGNI_IOC_POST, &p);
		is_u64(z.rc[side], GNI_RC_SUCCESS, "post of type %u", p.type);
	}
}

static void side_nothing(unsigned int side)
{
	z.rc[side] = 0;
}

static void side_deregister(unsigned int side)
{
	struct kgni_ioc_mem_deregister arg = { z.mh };

	z.rc[side] = ioctl(z.a, KGNI_IOC_MEM_DEREGISTER, &arg);
}

/* From when it returns nobody writes there. */
static void side_deregister_and_mark(unsigned int side)
{
	side_deregister(side);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "deregister");
	memset(z.mem, MARK, MEM);
}

static void side_destroy(unsigned int side)
{
	struct kgni_ioc_cq_destroy arg = { .id = z.cq.id };

	z.rc[side] = ioctl(z.a, KGNI_IOC_CQ_DESTROY, &arg);
}

static void side_wait(unsigned int side)
{
	struct kgni_cq_ref ref = { z.a, z.cq.id };
	struct kgni_ioc_cq_wait arg = {
		.cqs = (uint64_t)&ref, .count = 1, .timeout_ms = LONG,
	};

	z.rc[side] = ioctl(z.a, KGNI_IOC_CQ_WAIT, &arg);
}

static void side_events(unsigned int side)
{
	struct kgni_ioc_post p = {
		.type = GNI_POST_CQWRITE, .remote_pe = z.pe, .remote = z.mh,
		.cqwrite_value = 1 + draw(),
	};
	unsigned int n = below(4);

	for (z.rc[side] = 0; n && !z.rc[side]; n--)
		z.rc[side] = ioctl(z.b, KGNI_IOC_POST, &p);
}

static void side_notify(unsigned int side)
{
	struct kgni_ioc_cq_notify arg = { z.cq.id, world->eventfd };

	/* The next event reaches the channel; the ring is unmapped by nobody meanwhile. */
	((struct kgni_ring *)z.cq.mem)->notify = 1;
	z.rc[side] = ioctl(z.a, KGNI_IOC_CQ_NOTIFY, &arg);
}

static void side_clone(unsigned int side)
{
	z.reg = (struct kgni_ioc_mem_register){
		.addr = (uint64_t)z.mem, .length = MEM, .vmdh_index = ~0U,
		.flags = GNI_MEM_MDD_CLONE, .handle = z.mh,
	};
	z.rc[side] = ioctl(z.a, KGNI_IOC_MEM_REGISTER, &z.reg);
}

/* A reserved region without pages yet. */
static void prepare_reserved(void)
{
	z.mh = raw_mem_open(z.a, z.mem, MEM, GNI_MEM_RESERVE_REGION, 0);
	z.other_mh = raw_mem_open(z.b, z.other, MEM, 0, 0);
}

/* Its pages come one after the other, while they are used and go. */
static void side_update(unsigned int side)
{
	struct kgni_ioc_mem_register r;
	unsigned int i;

	for (i = 0; i < MEM / PAGE; i += 1 + below(6)) {
		r = (struct kgni_ioc_mem_register){
			.addr = (uint64_t)z.mem + i * PAGE, .length = PAGE, .handle = z.mh,
			.flags = GNI_MEM_UPDATE_REGION, .vmdh_index = ~0U,
		};
		z.rc[side] = ioctl(z.a, KGNI_IOC_MEM_REGISTER, &r);
		ok(z.rc[side] == GNI_RC_SUCCESS || z.rc[side] == GNI_RC_INVALID_PARAM,
		   "update: %d", z.rc[side]);
	}
}

static void side_chain(unsigned int side)
{
	struct kgni_ioc_post posts[3];
	struct kgni_ioc_post_chain arg = { .posts = (uint64_t)posts, .count = 1 + below(3) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(posts); i++) {
		posts[i] = some_post();
		if (posts[i].type <= GNI_POST_RDMA_GET)
			posts[i].type = GNI_POST_CQWRITE;
		posts[i].rdma_mode = 0;
	}
	z.rc[side] = ioctl(z.b, KGNI_IOC_POST_CHAIN, &arg);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "chain");
}

static void side_map(unsigned int side)
{
	void *mem = mmap(NULL, z.cq.len, PROT_READ | PROT_WRITE, MAP_SHARED, z.a,
			 (off_t)z.cq.offset);

	z.rc[side] = mem == MAP_FAILED ? -1 : 0;
	if (mem != MAP_FAILED)
		munmap(mem, z.cq.len);
}

static void side_unmap_ring(unsigned int side)
{
	z.rc[side] = munmap(z.cq.mem, z.cq.len);
}

static void side_close(unsigned int side)
{
	z.rc[side] = close(z.a);
}

static void side_attach(unsigned int side)
{
	z.rc[side] = attach_as(z.a, side + 1);
}

/* --- races --------------------------------------------------------------------- */

static void verify_marked(void)
{
	ok(all_bytes(z.mem, MEM, MARK), "written after deregistration");
}

static void prepare_waiter(void)
{
	raw_cq_open(z.a, 16, GNI_CQ_BLOCKING, &z.cq);
	z.mh = raw_mem_open(z.a, z.mem, PAGE, 0, z.cq.id);
}

/* Destroyed while it sleeps, or before; or an event came first. Not a timeout. */
static void verify_waiter(void)
{
	struct kgni_ioc_mem_deregister arg = { z.mh };

	is_u64(z.rc[0], GNI_RC_SUCCESS, "destroy");
	ok(z.rc[1] == GNI_RC_INVALID_PARAM || z.rc[1] == GNI_RC_SUCCESS, "wait: %d", z.rc[1]);
	munmap(z.cq.mem, z.cq.len);
	ioctl(z.a, KGNI_IOC_MEM_DEREGISTER, &arg);
}

/* An event, or the end of a mapping: one of both wakes. */
static void side_event_for_sure(unsigned int side)
{
	struct kgni_ioc_post p = {
		.type = GNI_POST_CQWRITE, .remote_pe = z.pe, .remote = z.mh,
		.cqwrite_value = 1,
	};

	z.rc[side] = ioctl(z.b, KGNI_IOC_POST, &p);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "post");
}

static void verify_woken(void)
{
	is_u64(z.rc[0], GNI_RC_SUCCESS, "wait");
	side_destroy(0);
	side_deregister(0);
}

/* Anything at all, with the file that another side closes. */
static void side_any_call(unsigned int side)
{
	unsigned int n = 1 + below(6);

	files[0] = z.a;
	while (n--)
		do_call();
	z.rc[side] = 0;
}

static void prepare_open(void)
{
	close(z.a);
	z.a = raw_open(z.device);
}

/* Exactly one of the sides came first; all others are told @late. */
static void verify_one(int late)
{
	unsigned int i, n = 0;

	for (i = 0; i < SIDES; i++) {
		n += z.rc[i] == GNI_RC_SUCCESS;
		ok(z.rc[i] == GNI_RC_SUCCESS || z.rc[i] == late, "side %u: %d", i, z.rc[i]);
	}
	is_u64(n, 1, "how many came first");
}

static void verify_one_attached(void)
{
	verify_one(GNI_RC_INVALID_STATE);
}

static void verify_one_done(void)
{
	verify_one(GNI_RC_INVALID_PARAM);
}

static void prepare_ring(void)
{
	raw_cq_open(z.a, 1 + below(1000), GNI_CQ_NOBLOCK, &z.cq);
}

static void verify_destroyed(void)
{
	verify_one_done();
	munmap(z.cq.mem, z.cq.len);
}

static void verify_ring(void)
{
	ok(z.rc[0] == GNI_RC_SUCCESS || z.rc[0] == GNI_RC_INVALID_PARAM, "%d", z.rc[0]);
	munmap(z.cq.mem, z.cq.len);
}

/* The source of a put, or what shall be registered, goes while it is read. */
static void side_lose_memory(unsigned int side)
{
	unsigned char *at = z.other + below(MEM / PAGE) * PAGE;
	size_t len = z.other + MEM - at;

	switch (below(5)) {
	case 0:
		z.rc[side] = munmap(at, len);
		break;
	case 1:
		z.rc[side] = madvise(at, len, MADV_DONTNEED);
		break;
	case 2:
		z.rc[side] = mprotect(at, len, PROT_NONE);
		break;
	case 3:
		z.rc[side] = mprotect(at, len, PROT_READ);
		break;
	case 4:
		mmap(at, len, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, world->memfd, 0);
		break;
	}
}

static void side_put(unsigned int side)
{
	struct kgni_ioc_post p = {
		.type = GNI_POST_FMA_PUT, .remote_pe = z.pe, .remote = z.mh,
		.local_addr = (uint64_t)z.other + below(64), .remote_addr = (uint64_t)z.mem,
		.length = one_in(2) ? MEM - 64 : below(2 * PAGE),
	};

	z.rc[side] = ioctl(z.b, KGNI_IOC_POST, &p);
	ok(z.rc[side] == GNI_RC_SUCCESS || z.rc[side] == GNI_RC_INVALID_PARAM, "put: %d",
	   z.rc[side]);
}

static void side_register(unsigned int side)
{
	z.reg = (struct kgni_ioc_mem_register){
		.addr = (uint64_t)z.other, .length = MEM, .vmdh_index = ~0U,
		.flags = one_in(2) ? GNI_MEM_READ_ONLY : GNI_MEM_READWRITE,
	};
	z.rc[side] = ioctl(z.a, KGNI_IOC_MEM_REGISTER, &z.reg);
}

static void restore_memory(void)
{
	if (mmap(z.other, MEM, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0) == MAP_FAILED)
		_exit(1);
}

static void verify_registered(void)
{
	struct kgni_ioc_mem_deregister arg = { z.reg.handle };

	ok(z.rc[0] == GNI_RC_SUCCESS || z.rc[0] == GNI_RC_INVALID_PARAM ||
	   z.rc[0] == GNI_RC_PERMISSION_ERROR || z.rc[0] == GNI_RC_ERROR_RESOURCE,
	   "register: %d", z.rc[0]);
	if (z.rc[0] == GNI_RC_SUCCESS)
		is_u64(ioctl(z.a, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_SUCCESS);
	restore_memory();
}

static void prepare_target(void)
{
	z.mh = raw_mem_open(z.a, z.mem, MEM, 0, 0);
	z.other_mh = raw_mem_open(z.b, z.other, MEM, 0, 0);
}

static void release_target(void)
{
	struct kgni_ioc_mem_deregister arg = { z.other_mh };

	is_u64(ioctl(z.b, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_SUCCESS);
}

static void verify_put(void)
{
	side_deregister(0);
	is_u64(z.rc[0], GNI_RC_SUCCESS, "deregister");
	release_target();
	restore_memory();
}

static void verify_deregister(void)
{
	verify_marked();
	release_target();
}

/* The clone keeps the memory, and its own handle only leads to it. */
static void verify_clone(void)
{
	struct kgni_ioc_mem_deregister arg = { z.reg.handle };

	ok(z.rc[1] == GNI_RC_SUCCESS || z.rc[1] == GNI_RC_INVALID_PARAM, "clone: %d", z.rc[1]);
	if (z.rc[1] == GNI_RC_SUCCESS)
		is_u64(ioctl(z.a, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_SUCCESS);
	verify_deregister();
}

static void verify_one_deregister(void)
{
	verify_one_done();
	release_target();
}

/* Whatever b still had under way finds that it is gone. */
static void verify_closed(void)
{
	memset(z.mem, MARK, MEM);
	z.a = attached(1);
	verify_marked();
	release_target();
}

static void verify_reopen(void)
{
	z.a = attached(1);
}

/* --- datagrams ----------------------------------------------------------------- */

static int dgram_post(int fd, uint32_t to, uint8_t value, bool bound)
{
	struct kgni_ioc_dgram_post p = {
		.ep = 1, .flags = bound ? KGNI_DGRAM_BOUND : 0, .remote_pe = z.pe,
		.remote_id = to, .length = 1 + value % 100, .buf_size = 128, .data = { value },
	};

	return ioctl(fd, KGNI_IOC_DGRAM_POST, &p);
}

static void side_dgram_a(unsigned int side)
{
	z.rc[side] = dgram_post(z.a, 2, 1, true);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "post");
}

static void side_dgram_b(unsigned int side)
{
	z.rc[side] = dgram_post(z.b, 1, 2, one_in(2));
	is_u64(z.rc[side], GNI_RC_SUCCESS, "post");
}

static void side_cancel(unsigned int side)
{
	struct kgni_ioc_dgram_cancel arg = {
		.ep = 1, .flags = one_in(2) ? KGNI_DGRAM_EP_GONE : 0,
	};

	z.rc[side] = ioctl(one_in(2) ? z.a : z.b, KGNI_IOC_DGRAM_CANCEL, &arg);
	ok(z.rc[side] == GNI_RC_SUCCESS || z.rc[side] == GNI_RC_NO_MATCH, "cancel: %d",
	   z.rc[side]);
}

static int dgram_test(int fd, unsigned int side, uint64_t timeout)
{
	z.test[side] = (struct kgni_ioc_dgram_test){ .ep = 1, .timeout_ms = timeout };
	return ioctl(fd, KGNI_IOC_DGRAM_TEST, &z.test[side]);
}

static void side_test(unsigned int side)
{
	z.rc[side] = dgram_test(z.a, side, 0);
}

static void side_probe(unsigned int side)
{
	struct kgni_ioc_dgram_probe arg = { .timeout_ms = LONG };

	z.rc[side] = ioctl(z.a, KGNI_IOC_DGRAM_PROBE, &arg);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "probe");
}

/* All that is left of the datagrams of a file. */
static void dgram_clean(int fd)
{
	struct kgni_ioc_dgram_cancel cancel = { .ep = 1, .flags = KGNI_DGRAM_EP_GONE };
	struct kgni_ioc_dgram_probe probe = { 0 };

	ioctl(fd, KGNI_IOC_DGRAM_CANCEL, &cancel);
	while (ioctl(fd, KGNI_IOC_DGRAM_PROBE, &probe) == GNI_RC_SUCCESS)
		;
}

static void verify_dgram(void)
{
	int a = dgram_test(z.a, 0, 0), b = dgram_test(z.b, 1, 0);

	if (a == GNI_RC_SUCCESS && z.test[0].state == GNI_POST_COMPLETED)
		ok(z.test[0].length == 3 && z.test[0].data[0] == 2, "a has what b sent");
	if (b == GNI_RC_SUCCESS && z.test[1].state == GNI_POST_COMPLETED)
		ok(z.test[1].length == 2 && z.test[1].data[0] == 1, "b has what a sent");
	dgram_clean(z.a);
	dgram_clean(z.b);
}

static void verify_dgram_probe(void)
{
	is_u64(dgram_test(z.a, 0, 0), GNI_RC_SUCCESS, "test");
	is_u64(z.test[0].state, GNI_POST_COMPLETED);
	dgram_clean(z.a);
	dgram_clean(z.b);
}

static void prepare_matched(void)
{
	side_dgram_a(0);
	side_dgram_b(1);
}

static void verify_one_test(void)
{
	verify_one(GNI_RC_NO_MATCH);
	dgram_clean(z.b);
}

/* --- jobs, processes ----------------------------------------------------------- */

/* The last attachment of a job goes while another comes. */
static void prepare_last(void)
{
	close(z.b);
	z.b = raw_open(z.device);
}

static void side_attach_b(unsigned int side)
{
	z.rc[side] = attach_as(z.b, 2);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "attach");
}

static void side_get_ptag(unsigned int side)
{
	struct kgni_ioc_ptag arg = { .cookie = self.cookie };
	int fd = raw_open(z.device);

	z.rc[side] = ioctl(fd, KGNI_IOC_GET_PTAG, &arg);
	is_u64(z.rc[side], GNI_RC_SUCCESS, "get ptag");
	close(fd);
}

/* A process that has memory registered and transfers from and to others. */
static void victim(pid_t parent)
{
	struct kgni_ioc_post p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close(z.a);
	z.a = attached(3);
	z.mh = raw_mem_open(z.a, z.mem, MEM, 0, 0);
	shm->word[0] = z.mh.qword1;
	shm->word[1] = z.mh.qword2;
	give(0);
	for (;;) {
		p = some_post();
		p.local = z.mh;
		p.local_addr = (uint64_t)z.mem;
		p.remote = z.other_mh;
		p.remote_addr = (uint64_t)z.other;
		p.sync_addr = (uint64_t)z.other;
		ioctl(z.a, KGNI_IOC_POST, &p);
	}
}

static void prepare_victim(void)
{
	pid_t parent = getpid();

	z.other_mh = raw_mem_open(z.b, z.other, MEM, 0, 0);
	z.pid = fork();
	if (!z.pid)
		victim(parent);
	must(z.pid > 0);
	take(0);
	z.mh = (struct kgni_mem_handle){ shm->word[0], shm->word[1] };
}

static void side_kill(unsigned int side)
{
	kill(z.pid, SIGKILL);
	reap_killed(z.pid);
	memset(z.mem, MARK, MEM);
	z.rc[side] = 0;
}

static void side_fork(unsigned int side)
{
	pid_t pid = fork();

	if (!pid) {
		if (one_in(2))
			z.mem[0] = 1;
		_exit(0);
	}
	z.rc[side] = pid > 0 ? 0 : -1;
	if (pid > 0)
		reap(pid);
}

static void verify_end(void)
{
	side_deregister(0);
	release_target();
}

/* --- the table ----------------------------------------------------------------- */

static const struct race {
	const char *name;
	void (*prepare)(void);
	void (*side[SIDES])(unsigned int side);
	void (*verify)(void);
	unsigned int cost;	/* one of so many turns is made */
} races[] = {
	{ "deregister, post", prepare_target,
	  { side_deregister_and_mark, side_posts, side_posts }, verify_deregister, 1 },
	{ "deregister, chain", prepare_target,
	  { side_deregister_and_mark, side_chain, side_chain }, verify_deregister, 1 },
	{ "deregister, update, post", prepare_reserved,
	  { side_deregister_and_mark, side_update, side_posts }, verify_deregister, 1 },
	{ "update, update, post", prepare_reserved,
	  { side_update, side_update, side_posts }, verify_end, 1 },
	{ "deregister, clone, post", prepare_target,
	  { side_deregister_and_mark, side_clone, side_posts }, verify_clone, 1 },
	{ "destroy, notify, post", prepare_waiter,
	  { side_destroy, side_notify, side_events }, verify_waiter, 1 },
	{ "destroy, wait, post", prepare_waiter,
	  { side_destroy, side_wait, side_events }, verify_waiter, 1 },
	{ "wait, post, unmap the ring", prepare_waiter,
	  { side_wait, side_event_for_sure, side_unmap_ring }, verify_woken, 1 },
	{ "close, anything", NULL,
	  { side_close, side_any_call, side_any_call }, verify_reopen, 1 },
	{ "close, post", prepare_target,
	  { side_close, side_posts, side_posts }, verify_closed, 1 },
	{ "attach, attach", prepare_open,
	  { side_attach, side_attach, side_attach }, verify_one_attached, 1 },
	{ "unmap, put", prepare_target,
	  { side_put, side_lose_memory, side_put }, verify_put, 1 },
	{ "unmap, register", NULL,
	  { side_register, side_lose_memory, side_nothing }, verify_registered, 1 },
	{ "deregister, deregister", prepare_target,
	  { side_deregister, side_deregister, side_deregister }, verify_one_deregister, 1 },
	{ "destroy, map", prepare_ring,
	  { side_destroy, side_map, side_map }, verify_ring, 1 },
	{ "destroy, destroy", prepare_ring,
	  { side_destroy, side_destroy, side_destroy }, verify_destroyed, 1 },
	{ "datagrams, cancel", NULL,
	  { side_dgram_a, side_dgram_b, side_cancel }, verify_dgram, 1 },
	{ "datagrams, probe", NULL,
	  { side_probe, side_dgram_a, side_dgram_b }, verify_dgram_probe, 1 },
	{ "test, test", prepare_matched,
	  { side_test, side_test, side_test }, verify_one_test, 1 },
	{ "end of a job, attach", prepare_last,
	  { side_close, side_attach_b, side_get_ptag }, verify_reopen, 1 },
	{ "kill, post", prepare_victim,
	  { side_kill, side_posts, side_posts }, verify_deregister, 4 },
	{ "fork, post", prepare_target,
	  { side_fork, side_posts, side_posts }, verify_end, 4 },
};

unsigned int race_count(void)
{
	return ARRAY_SIZE(races);
}

const char *race_name(unsigned int race)
{
	return race ? races[race - 1].name : "everyone for himself";
}

/* The first side says for all of them whether there is another turn. */
static bool over;

static bool turn(const struct race *race, unsigned int side)
{
	if (!side)
		over = failures();
	if (!side && !over && race->prepare)
		race->prepare();
	meet();
	if (over)
		return false;
	dawdle();
	race->side[side](side);
	meet();
	if (!side && race->verify)
		race->verify();
	return true;
}

struct racer {
	const struct plan *plan;
	unsigned int side;
};

static void *racer(void *p)
{
	const struct racer *r = p;
	const struct race *race = &races[r->plan->race - 1];
	unsigned int turns = r->plan->count[0] / 8 / race->cost, i;
	unsigned int n = r->plan->count[r->side];

	thread_index = r->side % THREADS;
	kcov_begin(r->side);
	for (i = 0; i <= turns; i++) {
		draw_begin(r->plan->genes[r->side][i % n]);
		if (!turn(race, r->side))
			break;
		kcov_step();
		atomic_fetch_add(&world->others, 1);
	}
	return NULL;
}

static void prepare_all(void)
{
	z.mem = map_shared(MEM);
	z.other = map_private(MEM);
	z.device = below(world->devices);
	z.a = attached(1);
	z.b = attached(2);
}

/* A race of the calling process with itself. */
void race_run(const struct plan *plan)
{
	struct racer racers[SIDES];
	pthread_t thread[SIDES];
	unsigned int i;

	draw_begin(plan->genes[SIDES][0]);
	prepare_all();
	for (i = 0; i < SIDES; i++) {
		racers[i] = (struct racer){ plan, i };
		if (i)
			must(!pthread_create(&thread[i], NULL, racer, &racers[i]));
	}
	racer(&racers[0]);
	for (i = 1; i < SIDES; i++)
		pthread_join(thread[i], NULL);
}
