// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz SEED ROUNDS: the driver's ioctls and mappings under random calls.
 *
 * Several processes with two threads each, of two jobs on two NICs and of two
 * users where root runs it, share files, memory handles, memory and rings, and
 * make calls that are nearly right: numbers that exist, now and then changed.
 * In between they unmap, fork, close, pass files on, write nonsense into rings
 * and lose their memory; and they are killed and started again. Whatever they
 * do, the driver answers with a code or an errno, another user's job works
 * beside them and sees none of it, and at the end everything is given back.
 *
 * What one process does follows from SEED, how they mix does not.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common.h"

#define LAST_CODE	GNI_RC_ERROR_NOMEM
#define WORKERS		5
#define THREADS		2
#define FILES		10
#define RINGS		6
#define HANDLES		64
#define OUTSIDER	4242	/* user and cookie of the process that must not notice */

/* Where areas and rings lie: far from all else, so that near misses hit nothing. */
#define AREA_MAX	(8UL << 20)
#define RING_MAX	(16UL << 20)
#define ARENA		(AREAS * AREA_MAX + THREADS * RINGS * RING_MAX)

enum area_kind {
	ANON,		/* private */
	MEMFD,		/* shared by all processes, truncated now and then */
	READ_ONLY,
	HUGE,		/* private, of huge pages if the kernel likes */
	PIECES,		/* a page each of this and that */
	FORKED,		/* shared memory without a file */
	AREAS
};

struct seen {
	struct kgni_mem_handle mh;
	uint64_t addr;
	uint64_t len;
	uint32_t pe;
};

/* Shared by all processes; torn values are welcome. */
static struct world {
	_Atomic uint64_t rounds;
	_Atomic uint32_t starts;
	_Atomic bool stop;
	struct seen seen[HANDLES];
	_Atomic uint64_t codes[16][LAST_CODE + 2];
	_Atomic uint64_t outside;
} *world;

static uint32_t main_seed;
static uint64_t rounds_wanted;
static int memfd;
static int mailbox[2];
static unsigned int devices;

/* One process's. */
static unsigned char *arena;
static struct area {
	unsigned char *mem;
	size_t len;
} areas[AREAS];
static _Atomic int files[FILES];
static struct own {
	int fd;
	struct kgni_mem_handle mh;
} own[16];

/* One thread's. */
struct ring {
	unsigned char *mem;
	size_t len;
};

static __thread uint32_t seed;
static __thread struct ring rings[RINGS];
static __thread unsigned int thread_index;
static __thread bool no_fork;

static const struct {
	unsigned long cmd;
	unsigned int weight;
} calls[] = {
	{ KGNI_IOC_POST, 60 }, { KGNI_IOC_MEM_REGISTER, 16 }, { KGNI_IOC_MEM_DEREGISTER, 12 },
	{ KGNI_IOC_CQ_CREATE, 10 }, { KGNI_IOC_CQ_DESTROY, 3 }, { KGNI_IOC_CQ_WAIT, 8 },
	{ KGNI_IOC_DGRAM_POST, 10 }, { KGNI_IOC_DGRAM_TEST, 10 }, { KGNI_IOC_DGRAM_PROBE, 4 },
	{ KGNI_IOC_DGRAM_CANCEL, 4 }, { KGNI_IOC_ATTACH, 4 }, { KGNI_IOC_GET_PTAG, 1 },
	{ KGNI_IOC_RES_INFO, 1 }, { KGNI_IOC_INFO, 1 },
};

/* --- random values ------------------------------------------------------------- */

static uint32_t below(uint32_t n)
{
	return rnd(&seed) % n;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

static uint64_t rnd64(void)
{
	uint64_t high = rnd(&seed);

	return high << 32 | rnd(&seed);
}

static uint64_t odd_number(void)
{
	static const uint64_t odd[] = {
		0, 1, 2, 3, 4, 7, 8, 9, 31, 63, 64, 65, 127, 128, 129, 254, 255, 256, 4095, 4096,
		4097, 65535, 65536, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32,
		1ULL << 47, (1ULL << 47) - 4096, 1ULL << 63, ~0ULL, ~0ULL - 1, ~0ULL - 4095,
	};

	return one_in(4) ? rnd64() : odd[below(ARRAY_SIZE(odd))];
}

/* Mostly below @n. */
static uint64_t mostly(uint32_t n)
{
	return one_in(24) ? odd_number() : below(n);
}

static unsigned char *place(void)
{
	return arena + (rnd64() % ARENA);
}

static const struct area *some_area(void)
{
	return &areas[below(AREAS)];
}

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
		return below(8) * 8;
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
		return one_in(4) ? odd_number() : (uint64_t)place();
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

/* One that exists or did, with a bit changed now and then; no bit of far away. */
static struct seen some_handle(void)
{
	struct seen s = world->seen[below(HANDLES)];

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

static int some_file(void)
{
	unsigned int i = below(FILES);

	if (files[i] < 0 && !one_in(8))
		i = below(FILES);
	return files[i];
}

/* Now and then what is no file of the device. */
static int some_file_or_not(void)
{
	return one_in(12) ? (int)below(40) - 2 : some_file();
}

/* --- arguments ----------------------------------------------------------------- */

union arg {
	uint64_t word[64];
	struct kgni_ioc_attach attach;
	struct kgni_ioc_ptag ptag;
	struct kgni_ioc_res res;
	struct kgni_ioc_cq_create cq_create;
	struct kgni_ioc_cq_destroy cq_destroy;
	struct kgni_ioc_cq_wait cq_wait;
	struct kgni_ioc_mem_register mem_register;
	struct kgni_ioc_mem_deregister mem_deregister;
	struct kgni_ioc_post post;
	struct kgni_ioc_dgram_post dgram_post;
	struct kgni_ioc_dgram_test dgram_test;
	struct kgni_ioc_dgram_probe dgram_probe;
	struct kgni_ioc_dgram_cancel dgram_cancel;
};

static void fill_attach(struct kgni_ioc_attach *p)
{
	p->inst_id = below(3);
	p->ptag = one_in(4) ? mostly(256) : GNI_FIND_ALLOC_PTAG;
	p->cookie = COOKIE + one_in(4) + (one_in(32) ? below(100) : 0);
	p->modes = one_in(2) ? 0 : rnd(&seed);
}

static void fill_amo(struct kgni_ioc_post *p, uint64_t room)
{
	static const uint16_t commands[] = {
		GNI_FMA_ATOMIC_FADD, GNI_FMA_ATOMIC_CSWAP, GNI_FMA_ATOMIC_ADD,
		GNI_FMA_ATOMIC2_FSWAP, GNI_FMA_ATOMIC2_FCSWAP_S, GNI_FMA_ATOMIC2_FOR_S,
		GNI_FMA_ATOMIC2_IMIN, GNI_FMA_ATOMIC2_FXOR, GNI_FMA_ATOMIC2_AX_S,
		GNI_FMA_ATOMIC2_FPADD, GNI_FMA_ATOMIC2_FFPADD_S, GNI_FMA_ATOMIC2_FFPMIN,
	};

	p->amo_cmd = one_in(8) ? mostly(0x400) : commands[below(ARRAY_SIZE(commands))];
	p->remote_addr &= ~7ULL;
	p->local_addr &= ~7ULL;
	if (!one_in(8))
		p->length = 8 * (1 + below(room > 64 ? 4 : 1));
	p->operand[0] = rnd64();
	p->operand[1] = rnd64();
}

static void fill_post(struct kgni_ioc_post *p)
{
	struct seen to = some_handle(), from = some_handle();

	p->type = 1 + mostly(7);
	p->flags = below(2);
	p->cq_mode = one_in(2) ? 6 : mostly(8);
	p->rdma_mode = one_in(4) ? mostly(8) : 0;
	p->src_cq = one_in(2) ? 0 : below(4);
	p->src_event = rnd64();
	p->remote_event = rnd(&seed);
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
	p->sync_addr = (to.addr + below(to.len + 8)) & ~(one_in(16) ? 0 : 7ULL);
	p->sync_value = rnd64();
	p->cqwrite_value = rnd64();
	if (p->type == GNI_POST_AMO)
		fill_amo(p, to.len);
}

static void fill_register(struct kgni_ioc_mem_register *p)
{
	static const uint32_t flags[] = {
		GNI_MEM_READWRITE, GNI_MEM_READ_ONLY, GNI_MEM_READ_ONLY | GNI_MEM_PI_FLUSH,
		GNI_MEM_RELAXED_PI_ORDERING,
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
}

static void fill_dgram_post(struct kgni_ioc_dgram_post *p)
{
	p->id = mostly(4);
	p->ep = mostly(6);
	p->flags = mostly(4);
	p->remote_pe = 1 + mostly(devices);
	p->remote_id = mostly(3);
	p->length = one_in(8) ? mostly(200) : below(129);
	p->buf_size = one_in(8) ? mostly(200) : 128;
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

static void fill_arg(unsigned long cmd, union arg *arg)
{
	unsigned int i;

	switch (cmd) {
	case KGNI_IOC_ATTACH:
		fill_attach(&arg->attach);
		break;
	case KGNI_IOC_POST:
		fill_post(&arg->post);
		break;
	case KGNI_IOC_MEM_REGISTER:
		fill_register(&arg->mem_register);
		break;
	case KGNI_IOC_MEM_DEREGISTER:
		arg->mem_deregister.handle = some_handle().mh;
		break;
	case KGNI_IOC_DGRAM_POST:
		fill_dgram_post(&arg->dgram_post);
		break;
	case KGNI_IOC_DGRAM_TEST:
		arg->dgram_test.id = mostly(4);
		arg->dgram_test.ep = mostly(6);
		arg->dgram_test.flags = mostly(2) * 2;
		break;
	case KGNI_IOC_DGRAM_CANCEL:
		arg->dgram_cancel.id = mostly(4);
		arg->dgram_cancel.ep = mostly(6);
		arg->dgram_cancel.flags = mostly(4) * 2;
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
		for (i = 0; i < ARRAY_SIZE(arg->word); i++)
			arg->word[i] = one_in(3) ? 0 : mostly(8);
	}
}

/* Nothing sleeps for long. */
static void hurry(unsigned long cmd, union arg *arg)
{
	uint64_t ms = one_in(4) ? below(4) : 0;

	switch (cmd) {
	case KGNI_IOC_CQ_WAIT:
		arg->cq_wait.timeout_ms = ms;
		break;
	case KGNI_IOC_DGRAM_TEST:
		arg->dgram_test.timeout_ms = ms;
		break;
	case KGNI_IOC_DGRAM_PROBE:
		arg->dgram_probe.timeout_ms = ms;
		break;
	}
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

static void remember(int fd, const struct kgni_ioc_mem_register *r)
{
	struct kgni_ioc_info info;

	if (ioctl(fd, KGNI_IOC_INFO, &info))
		return;
	world->seen[below(HANDLES)] = (struct seen){
		.mh = r->handle, .addr = r->addr, .len = r->length, .pe = info.pe,
	};
	own[below(ARRAY_SIZE(own))] = (struct own){ fd, r->handle };
}

static unsigned int some_call(void)
{
	unsigned int i, total = 0, pick;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		total += calls[i].weight;
	pick = below(total);
	for (i = 0; pick >= calls[i].weight; i++)
		pick -= calls[i].weight;
	return i;
}

static void do_call(void)
{
	unsigned int call = some_call(), i;
	unsigned long cmd = calls[call].cmd;
	int fd = some_file(), rc;
	union arg arg = { 0 };

	fill_arg(cmd, &arg);
	if (cmd == KGNI_IOC_MEM_DEREGISTER && one_in(2)) {
		i = below(ARRAY_SIZE(own));
		arg.mem_deregister.handle = own[i].mh;
		fd = own[i].fd;
	}
	for (i = 0; one_in(16) && i < 3; i++)
		arg.word[below(_IOC_SIZE(cmd) / 8)] = odd_number();
	hurry(cmd, &arg);
	errno = 0;
	if (one_in(200))
		rc = ioctl(fd, cmd, one_in(2) ? (void *)odd_number() : (void *)some_address());
	else
		rc = ioctl(fd, cmd, &arg);
	note_answer(call, rc, errno);
	if (cmd == KGNI_IOC_MEM_REGISTER && rc == GNI_RC_SUCCESS)
		remember(fd, &arg.mem_register);
}

/* Numbers of no call: nothing but an error. */
static void do_wrong_call(void)
{
	static char buf[1 << 14];
	unsigned int cmd = one_in(2) ? rnd(&seed) : KGNI_IOC_POST ^ 1U << below(32);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].cmd == cmd)
			return;
	/* Any file has these. */
	if (_IOC_TYPE(cmd) != KGNI_IOC_MAGIC)
		return;
	ok(ioctl(some_file(), cmd, buf) == -1, "ioctl %#x", cmd);
}

/* --- files --------------------------------------------------------------------- */

static void set_file(unsigned int i, int fd)
{
	int old = atomic_exchange(&files[i], fd);

	if (old >= 0)
		close(old);
}

static void do_open(void)
{
	struct kgni_ioc_attach arg = { 0 };
	char path[32];
	int fd;

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, below(devices));
	fd = open(path, (one_in(16) ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (fd < 0)
		return;
	fill_attach(&arg);
	if (!one_in(8))
		ioctl(fd, KGNI_IOC_ATTACH, &arg);
	set_file(below(FILES), fd);
}

static void do_dup(void)
{
	int fd = fcntl(some_file(), F_DUPFD_CLOEXEC, 3);

	if (fd >= 0)
		set_file(below(FILES), fd);
}

static void send_file(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	char c = 0;
	struct iovec iov = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int fd = some_file();

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	sendmsg(mailbox[0], &m, MSG_DONTWAIT);
}

static void receive_file(void)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf,
		.msg_controllen = sizeof(u.buf),
	};
	struct cmsghdr *h;
	int fd;

	if (recvmsg(mailbox[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return;
	h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	set_file(below(FILES), fd);
}

/* --- rings --------------------------------------------------------------------- */

static unsigned char *ring_place(const struct ring *r)
{
	return arena + AREAS * AREA_MAX +
	       (thread_index * RINGS + (unsigned int)(r - rings)) * RING_MAX;
}

static void do_map_ring(void)
{
	uint64_t id = below(6), slots = one_in(8) ? 1UL << below(21) : 1UL << below(11);
	size_t len = PAGE + ((slots * 8 + PAGE - 1) & ~(PAGE - 1));
	uint64_t offset = id << 32 | (one_in(24) ? odd_number() & ~(PAGE - 1) : 0);
	struct ring *r = &rings[below(RINGS)];
	int prot = one_in(8) ? (int)below(8) : PROT_READ | PROT_WRITE;
	unsigned int tries;
	void *mem = MAP_FAILED;

	if (r->mem)
		munmap(r->mem, r->len);
	r->mem = NULL;
	/* Its size is not known: the sizes of small rings are few. */
	for (tries = 0; tries < 4 && mem == MAP_FAILED; tries++) {
		mem = mmap(ring_place(r), len, prot,
			   MAP_FIXED | (one_in(16) ? MAP_PRIVATE : MAP_SHARED), some_file(),
			   (off_t)(offset & INT64_MAX));
		if (mem == MAP_FAILED)
			len = 2 * PAGE + tries * PAGE;
	}
	if (mem == MAP_FAILED)
		return;
	if ((prot & 3) != 3 && mprotect(mem, len, PROT_READ | PROT_WRITE)) {
		munmap(mem, len);
		return;
	}
	r->mem = mem;
	r->len = len;
}

static void do_move_ring(void)
{
	struct ring *r = &rings[below(RINGS)];
	static const int advice[] = {
		MADV_DONTNEED, MADV_DOFORK, MADV_DONTFORK, MADV_WILLNEED, MADV_REMOVE, MADV_FREE,
		MADV_HUGEPAGE, MADV_MERGEABLE, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE,
		MADV_DODUMP, MADV_WIPEONFORK,
	};
	void *mem;

	if (!r->mem)
		return;
	switch (below(5)) {
	case 0:
		madvise(r->mem, r->len, advice[below(ARRAY_SIZE(advice))]);
		break;
	case 1:
		mem = mremap(r->mem, one_in(2) ? r->len : 0, r->len + below(2) * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED | (one_in(4) ? MREMAP_DONTUNMAP : 0),
			     ring_place(r) + RING_MAX / 2 + 16 * PAGE);
		if (mem != MAP_FAILED)
			r->mem = mem;
		break;
	case 2:
		/* May not be split. */
		munmap(r->mem + PAGE, PAGE);
		break;
	case 3:
		if (!mprotect(r->mem, PAGE, PROT_NONE))
			mprotect(r->mem, PAGE, PROT_READ | PROT_WRITE);
		break;
	case 4:
		munmap(r->mem, r->len);
		r->mem = NULL;
		break;
	}
}

/* A page that MADV_DONTNEED took from a ring does not come back: the process ends. */
static void do_scribble(void)
{
	struct ring *r = &rings[below(RINGS)];
	static const uint16_t words[] = { 0, 64, 128, 132 };	/* tail head armed overrun */
	unsigned int n = 1 + below(8);
	volatile uint32_t *word;

	if (!r->mem)
		return;
	while (n--) {
		if (one_in(2))
			word = (uint32_t *)(r->mem + words[below(4)]);
		else
			word = (uint32_t *)(r->mem + below(r->len / 4) * 4);
		*word = one_in(4) ? *word + 1 - below(3) : (uint32_t)odd_number();
	}
}

/* --- memory -------------------------------------------------------------------- */

static void *map_fixed(void *at, size_t len, int prot, int flags, int fd)
{
	return mmap(at, len, prot, MAP_FIXED | flags, fd, 0);
}

static void area_pieces(unsigned char *mem, size_t len)
{
	size_t i;

	for (i = 0; i < len / PAGE; i++) {
		switch (i % 4) {
		case 0:
			map_fixed(mem + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
			break;
		case 1:
			map_fixed(mem + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, memfd);
			break;
		}
	}
}

static void area_new(enum area_kind kind)
{
	static const size_t pages[AREAS] = { 64, 64, 16, 1024, 24, 512 };
	struct area *a = &areas[kind];
	int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	a->mem = arena + kind * AREA_MAX + AREA_MAX / 4;
	a->len = pages[kind] * PAGE;
	if (kind == READ_ONLY)
		prot = PROT_READ;
	if (kind == FORKED)
		flags = MAP_SHARED | MAP_ANONYMOUS;
	if (kind == MEMFD)
		map_fixed(a->mem, a->len, prot, MAP_SHARED, memfd);
	else
		map_fixed(a->mem, a->len, prot, flags, -1);
	if (kind == HUGE)
		madvise(a->mem, a->len, MADV_HUGEPAGE);
	if (kind == PIECES)
		area_pieces(a->mem, a->len);
}

static void do_memory(void)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_PAGEOUT, MADV_MERGEABLE, MADV_REMOVE, MADV_HUGEPAGE,
		MADV_NOHUGEPAGE, MADV_POPULATE_READ, MADV_WIPEONFORK, MADV_KEEPONFORK,
		MADV_DONTFORK,
	};
	enum area_kind kind = below(AREAS);
	unsigned char *at = areas[kind].mem + below(areas[kind].len / PAGE) * PAGE;
	size_t len = (1 + below(8)) * PAGE;

	switch (below(7)) {
	case 0:
		area_new(kind);
		break;
	case 1:
		munmap(at, len);
		break;
	case 2:
		madvise(at, len, advice[below(ARRAY_SIZE(advice))]);
		break;
	case 3:
		mprotect(at, len, (int)below(4));
		break;
	case 4:
		if (ftruncate(memfd, below(65) * PAGE))
			break;
		/* fallthrough */
	case 5:
		/* Never for long. */
		if (ftruncate(memfd, 64 * PAGE))
			break;
		break;
	case 6:
		mremap(at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, arena + below(64) * PAGE);
		break;
	}
}

/* A put whose source nobody provides: it hangs until it is killed. */
static void put_that_hangs(void)
{
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	unsigned char *mem = map_private(64 * PAGE);
	struct uffdio_register reg = {
		.range = { (uint64_t)mem, 64 * PAGE }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct seen to = some_handle();
	struct kgni_ioc_post p = {
		.type = GNI_POST_FMA_PUT, .remote_pe = to.pe, .remote = to.mh,
		.remote_addr = to.addr, .length = 1 + below(40 * PAGE),
		.local_addr = (uint64_t)mem + below(PAGE),
	};
	struct kgni_ioc_mem_register r = {
		.addr = (uint64_t)mem, .length = 8 * PAGE, .vmdh_index = ~0U,
	};

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		return;
	if (one_in(2))
		mem[0] = 1;	/* hangs as well */
	if (one_in(2))
		ioctl(some_file(), KGNI_IOC_POST, &p);
	else
		ioctl(some_file(), KGNI_IOC_MEM_REGISTER, &r);
}

/* --- processes ----------------------------------------------------------------- */

static void do_something(void);

static void forked(pid_t parent)
{
	unsigned int n = below(30);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	no_fork = true;
	if (one_in(6))
		put_that_hangs();
	while (n--)
		do_something();
	if (one_in(4))
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static void do_fork(void)
{
	pid_t parent = getpid(), pid;

	if (no_fork)
		return;
	pid = fork();
	if (!pid)
		forked(parent);
	if (pid < 0)
		return;
	if (one_in(2))
		usleep(below(3000));
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void do_something(void)
{
	switch (below(64)) {
	case 0:
	case 1:
		do_map_ring();
		break;
	case 2:
		do_move_ring();
		break;
	case 3:
		do_scribble();
		break;
	case 4:
	case 5:
		do_memory();
		break;
	case 6:
		do_open();
		break;
	case 7:
		if (one_in(2))
			do_dup();
		else
			set_file(below(FILES), -1);
		break;
	case 8:
		if (one_in(2))
			send_file();
		else
			receive_file();
		break;
	case 9:
		if (one_in(4))
			do_fork();
		break;
	case 10:
		do_wrong_call();
		break;
	default:
		do_call();
	}
}

struct thread_arg {
	unsigned int index;
	uint32_t seed;
};

static void *worker_thread(void *p)
{
	const struct thread_arg *arg = p;

	thread_index = arg->index;
	seed = arg->seed | 1;
	while (!world->stop) {
		do_something();
		if (atomic_fetch_add(&world->rounds, 1) + 1 >= rounds_wanted)
			world->stop = true;
	}
	return NULL;
}

/* A wrong touch is the fuzzer's own; it starts again. */
static void give_up(int sig)
{
	(void)sig;
	_exit(0);
}

static void nothing(int sig)
{
	(void)sig;
}

static void lower_limits(void)
{
	struct rlimit small = { (16 + below(64)) * PAGE, (16 + below(64)) * PAGE };

	if (one_in(3))
		setrlimit(RLIMIT_MEMLOCK, &small);
	/* Of three processes one is root's, where root runs this. */
	if (!geteuid() && !one_in(3) && (setgroups(0, NULL) || setgid(1000) || setuid(1000)))
		_exit(1);
}

static void worker(uint32_t my_seed)
{
	struct thread_arg args[THREADS];
	pthread_t thread[THREADS];
	unsigned int i;

	seed = my_seed | 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGSEGV, give_up);
	signal(SIGBUS, give_up);
	signal(SIGUSR1, nothing);
	lower_limits();
	arena = mmap((void *)(1UL << 40), ARENA, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		_exit(1);
	for (i = 0; i < AREAS; i++)
		area_new(i);
	for (i = 0; i < FILES; i++)
		files[i] = -1;
	for (i = 0; i < FILES / 2; i++)
		do_open();
	for (i = 0; i < THREADS; i++)
		args[i] = (struct thread_arg){ i, rnd(&seed) };
	for (i = 1; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker_thread, &args[i]);
	worker_thread(&args[0]);
	for (i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static pid_t start_worker(void)
{
	uint32_t n = atomic_fetch_add(&world->starts, 1);
	pid_t pid = fork();

	if (!pid)
		worker(main_seed + n * 2654435761U);
	return pid;
}

/* --- one who must not notice --------------------------------------------------- */

struct outsider {
	int fd;
	uint32_t pe;
	struct raw_cq cq;
	struct kgni_ring_view *view;
	unsigned char *mem;
	struct kgni_mem_handle mh;
};

static uint32_t events(const struct outsider *o)
{
	return __atomic_load_n((uint32_t *)o->cq.mem, __ATOMIC_ACQUIRE);
}

/* One transfer within its memory, whose upper half follows the lower one. */
static void outsider_turn(struct outsider *o, uint32_t turn)
{
	static const uint8_t types[] = {
		GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_GET,
	};
	uint8_t type = types[turn % ARRAY_SIZE(types)];
	bool get = type == GNI_POST_FMA_GET || type == GNI_POST_RDMA_GET;
	size_t half = 8 * PAGE, len = turn % 3 ? 64 : half;
	unsigned char *to = o->mem + half;
	struct kgni_ioc_post p = {
		.type = type, .remote_pe = o->pe, .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.src_cq = o->cq.id, .local = o->mh, .remote = o->mh, .length = len,
		.local_addr = (uint64_t)(get ? to : o->mem),
		.remote_addr = (uint64_t)(get ? o->mem : to),
	};
	uint32_t before = events(o), i;

	for (i = 0; i < len; i++)
		o->mem[i] = (unsigned char)(i * 7 + turn);
	is_u64(ioctl(o->fd, KGNI_IOC_POST, &p), GNI_RC_SUCCESS, "turn %u", turn);
	ok(wait_for(events(o) != before), "turn %u: no event", turn);
	ok(!memcmp(o->mem, to, len), "turn %u: what was written is not there", turn);
	/* The ring is emptied without reading it: head follows tail. */
	memset((char *)o->cq.mem + PAGE, 0, o->cq.len - PAGE);
	__atomic_store_n((uint32_t *)o->cq.mem, 0, __ATOMIC_RELEASE);
}

static void outsider(void *arg)
{
	struct kgni_ioc_attach a = { .inst_id = 1, .ptag = GNI_FIND_ALLOC_PTAG,
				     .cookie = OUTSIDER };
	struct outsider o = { .mem = map_private(18 * PAGE) };
	uint32_t turn;

	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!geteuid() && (setgroups(0, NULL) || setgid(OUTSIDER) || setuid(OUTSIDER)))
		_exit(1);
	o.fd = raw_open(0);
	must(ioctl(o.fd, KGNI_IOC_ATTACH, &a) == GNI_RC_SUCCESS);
	o.pe = a.pe;
	raw_cq_open(o.fd, 64, GNI_CQ_NOBLOCK, &o.cq);
	o.mh = raw_mem_open(o.fd, o.mem, 16 * PAGE, 0, 0);
	memset(o.mem + 16 * PAGE, 0x5a, 2 * PAGE);
	for (turn = 0; !world->stop || turn < 8; turn++) {
		outsider_turn(&o, turn);
		atomic_fetch_add(&world->outside, 1);
		nap();
	}
	ok(all_bytes(o.mem + 16 * PAGE, 2 * PAGE, 0x5a), "memory that is not registered");
}

/* --- the case ------------------------------------------------------------------ */

static int module_users(void)
{
	FILE *f = fopen("/sys/module/kgni/refcnt", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void show_stack(pid_t pid)
{
	char path[64], line[256];
	FILE *f;

	diag("process %d does not end:", pid);
	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		diag("  %.*s", (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

static void disturb(pid_t pid)
{
	switch (below(8)) {
	case 0:
	case 1:
		kill(pid, SIGKILL);
		break;
	case 2:
		kill(pid, SIGSTOP);
		usleep(below(2000));
		kill(pid, SIGCONT);
		break;
	default:
		kill(pid, SIGUSR1);
	}
}

static void reap_some(pid_t *pids, pid_t watcher)
{
	unsigned int i;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		if (!ok(pid != watcher || world->stop, "the other user's process ended"))
			world->stop = true;
		for (i = 0; i < WORKERS; i++)
			if (pids[i] == pid)
				pids[i] = 0;
	}
	for (i = 0; i < WORKERS; i++)
		if (pids[i] <= 0 && !world->stop)
			pids[i] = start_worker();
}

/* All that is left, orphans too: this process is their reaper. */
static void reap_rest(pid_t *pids)
{
	uint64_t end = now_ms() + 60000;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < WORKERS; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	for (;;) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0)
			return;
		if (!pid)
			nap();
		if (!ok(now_ms() < end, "processes do not end"))
			break;
	}
	for (i = 0; i < WORKERS; i++)
		if (pids[i] > 0 && !kill(pids[i], 0))
			show_stack(pids[i]);
}

static void show_codes(void)
{
	char line[256];
	unsigned int i, n;
	int j;

	diag("%llu rounds, %u processes, %llu turns outside",
	     (unsigned long long)world->rounds, world->starts, (unsigned long long)world->outside);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		n = 0;
		for (j = 0; j < LAST_CODE + 2; j++)
			if (world->codes[i][j])
				n += snprintf(line + n, sizeof(line) - n, " %d:%llu", j - 1,
					      (unsigned long long)world->codes[i][j]);
		diag("call %#04lx:%.*s", _IOC_NR(calls[i].cmd), n, line);
	}
}

/* Not by time: where all is slow, processes still get somewhere before they are killed. */
static void wait_rounds(uint64_t n)
{
	uint64_t until = world->rounds + n, end = now_ms() + 2000;

	do
		nap();
	while (!world->stop && world->rounds < until && now_ms() < end);
}

static void fuzz(void)
{
	pid_t pids[WORKERS] = { 0 }, watcher, pid;
	int users = module_users();

	seed = main_seed | 1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	memfd = memfd_create("fuzz", 0);
	must(memfd >= 0 && !ftruncate(memfd, 64 * PAGE));
	must(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, mailbox));
	watcher = peer(outsider, NULL);
	while (!world->stop) {
		reap_some(pids, watcher);
		wait_rounds(below(300));
		pid = pids[below(WORKERS)];
		if (pid > 0)
			disturb(pid);
	}
	reap_rest(pids);
	/* Files in flight are no one's once both ends are closed. */
	close(mailbox[0]);
	close(mailbox[1]);
	ok(world->outside >= 8, "the other user's job got nowhere");
	ok(wait_for(module_users() == users), "%d hold the module", module_users());
	show_codes();
}

int main(int argc, char **argv)
{
	struct test tests[] = { CASE("all is given back and nobody else noticed", fuzz, 3600) };

	if (argc != 3) {
		fprintf(stderr, "usage: fuzz SEED ROUNDS\n");
		return 2;
	}
	main_seed = (uint32_t)strtoul(argv[1], NULL, 0);
	rounds_wanted = strtoull(argv[2], NULL, 0);
	world = map_shared(sizeof(*world));
	devices = device_count();
	printf("# fuzz %u %llu\n", main_seed, (unsigned long long)rounds_wanted);
	fflush(stdout);
	return RUN_TESTS(tests);
}
