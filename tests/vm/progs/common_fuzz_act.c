// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process of the fuzzer does besides ioctls: to its files, its rings,
 * its memory and its children.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "common_fuzz.h"

unsigned char *arena;
struct area areas[AREAS];
_Atomic int files[FILES];
struct own_mem own_mem[OWN];
struct own_cq own_cq[OWN];
struct who self;
__thread struct ring rings[RINGS];
__thread unsigned int thread_index;
__thread bool is_child;

/* --- files --------------------------------------------------------------------- */

int some_file(void)
{
	unsigned int i = below(FILES), tries = one_in(8) ? 0 : FILES;

	for (; tries && files[i] < 0; tries--)
		i = (i + 1) % FILES;
	return files[i];
}

/* Now and then what is no file of the device. */
int some_file_or_not(void)
{
	return one_in(12) ? (int)below(40) - 2 : some_file();
}

void set_file(unsigned int i, int fd)
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

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, below(world->devices));
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

/* Room for a message that carries one file. */
struct letter {
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	char c;
	struct iovec iov;
	struct msghdr m;
};

static struct msghdr *letter_init(struct letter *l)
{
	memset(l, 0, sizeof(*l));
	l->iov = (struct iovec){ &l->c, 1 };
	l->m.msg_iov = &l->iov;
	l->m.msg_iovlen = 1;
	l->m.msg_control = l->u.buf;
	l->m.msg_controllen = sizeof(l->u.buf);
	return &l->m;
}

static void send_file(void)
{
	struct letter l;
	struct msghdr *m = letter_init(&l);
	struct cmsghdr *h = CMSG_FIRSTHDR(m);
	int fd = some_file();

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	sendmsg(world->mailbox[0], m, MSG_DONTWAIT);
}

static void receive_file(void)
{
	struct letter l;
	struct msghdr *m = letter_init(&l);
	struct cmsghdr *h;
	int fd;

	if (recvmsg(world->mailbox[1], m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return;
	h = CMSG_FIRSTHDR(m);
	if (!h || h->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	set_file(below(FILES), fd);
}

/* The number may meanwhile be that of another file, so any answer will do. */
static void any_answer(long rc)
{
	(void)rc;
}

/* What one can do to any file: all of it without an effect. */
static void use_file(void)
{
	int fd = some_file();
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	char c = 0;

	switch (below(7)) {
	case 0:
		any_answer(read(fd, &c, 1));
		break;
	case 1:
		any_answer(write(fd, &c, 1));
		break;
	case 2:
		any_answer(lseek(fd, below(9000), (int)below(5)));
		break;
	case 3:
		any_answer(poll(&p, 1, 0));
		break;
	case 4:
		any_answer(fsync(fd));
		break;
	case 5:
		any_answer(ftruncate(fd, PAGE));
		break;
	case 6:
		any_answer(fcntl(fd, F_SETFL, one_in(2) ? O_NONBLOCK : O_ASYNC));
		break;
	}
}

static void read_attribute(void)
{
	static const char *const names[] = { "address", "type", "state", "dev", "uevent" };
	char path[80], text[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/gni/kgni%u/%s", below(world->devices),
		 names[below(ARRAY_SIZE(names))]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text));
	ok(n > 0 && text[n - 1] == '\n', "%s: %zd bytes", path, n);
	close(fd);
}

static void do_file(void)
{
	atomic_fetch_add(&world->others, 1);
	switch (below(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		do_open();
		break;
	case 4:
		do_dup();
		break;
	case 5:
	case 6:
		set_file(below(FILES), -1);
		break;
	case 7:
		send_file();
		break;
	case 8:
		receive_file();
		break;
	case 9:
	case 10:
		use_file();
		break;
	case 11:
		read_attribute();
		break;
	}
}

/* --- rings --------------------------------------------------------------------- */

static unsigned char *ring_place(const struct ring *r)
{
	return arena + AREAS * AREA_MAX +
	       (thread_index * RINGS + (unsigned int)(r - rings)) * RING_MAX;
}

/* One that was made; or a guess, of a size that small rings have. */
static struct own_cq some_cq(void)
{
	struct own_cq cq = own_cq[below(OWN)];
	uint64_t slots = one_in(8) ? 1UL << below(21) : 1UL << below(11);

	if (!cq.len || one_in(8)) {
		cq.fd = some_file();
		cq.offset = (uint64_t)below(6) << 32;
		cq.len = PAGE + ((slots * 8 + PAGE - 1) & ~(PAGE - 1));
	}
	if (one_in(24))
		cq.offset ^= odd_number() & ~(PAGE - 1);
	if (one_in(24))
		cq.len = (1 + below(16)) * PAGE;
	return cq;
}

static void do_map_ring(void)
{
	struct own_cq cq = some_cq();
	struct ring *r = &rings[below(RINGS)];
	int prot = one_in(8) ? (int)below(8) : PROT_READ | PROT_WRITE;
	int flags = one_in(16) ? MAP_PRIVATE : MAP_SHARED;
	void *mem;

	if (r->mem)
		munmap(r->mem, r->len);
	r->mem = NULL;
	if (cq.len > RING_MAX / 2)
		return;
	mem = mmap(ring_place(r), cq.len, prot, MAP_FIXED | flags, cq.fd,
		   (off_t)(cq.offset & INT64_MAX));
	if (mem == MAP_FAILED)
		return;
	if ((prot & 3) != 3 && mprotect(mem, cq.len, PROT_READ | PROT_WRITE)) {
		munmap(mem, cq.len);
		return;
	}
	r->mem = mem;
	r->len = cq.len;
}

static void move_ring(struct ring *r)
{
	void *mem = mremap(r->mem, one_in(2) ? r->len : 0, r->len + below(2) * PAGE,
			   MREMAP_MAYMOVE | MREMAP_FIXED | (one_in(4) ? MREMAP_DONTUNMAP : 0),
			   ring_place(r) + RING_MAX / 2 + 16 * PAGE);

	if (mem != MAP_FAILED)
		r->mem = mem;
}

static void do_change_ring(void)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DOFORK, MADV_DONTFORK, MADV_WILLNEED, MADV_REMOVE, MADV_FREE,
		MADV_HUGEPAGE, MADV_MERGEABLE, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_WRITE,
		MADV_DODUMP, MADV_WIPEONFORK,
	};
	struct ring *r = &rings[below(RINGS)];

	if (!r->mem)
		return;
	switch (below(5)) {
	case 0:
		madvise(r->mem, r->len, advice[below(ARRAY_SIZE(advice))]);
		break;
	case 1:
		move_ring(r);
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
	/* tail head armed overrun masked notify */
	static const uint16_t words[] = { 0, 64, 128, 132, 136, 140 };
	unsigned int n = 1 + below(8);
	volatile uint32_t *word;

	if (!r->mem)
		return;
	while (n--) {
		if (one_in(2))
			word = (uint32_t *)(r->mem + words[below(ARRAY_SIZE(words))]);
		else
			word = (uint32_t *)(r->mem + below(r->len / 4) * 4);
		*word = one_in(4) ? *word + 1 - below(3) : (uint32_t)odd_number();
	}
}

static void do_ring(void)
{
	atomic_fetch_add(&world->maps, 1);
	switch (below(6)) {
	case 0:
	case 1:
	case 2:
		do_map_ring();
		break;
	case 3:
		do_change_ring();
		break;
	default:
		do_scribble();
	}
}

/* --- memory -------------------------------------------------------------------- */

const struct area *some_area(void)
{
	return &areas[below(AREAS)];
}

unsigned char *some_place(void)
{
	return arena + (draw64() % ARENA);
}

static void map_fixed(void *at, size_t len, int prot, int flags, int fd)
{
	if (mmap(at, len, prot, MAP_FIXED | flags, fd, 0) == MAP_FAILED && fd >= 0)
		mmap(at, len, prot, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void area_pieces(unsigned char *mem, size_t len)
{
	const int prot = PROT_READ | PROT_WRITE;
	size_t i;

	for (i = 0; i < len / PAGE; i++) {
		switch (i % 4) {
		case 0:
			map_fixed(mem + i * PAGE, PAGE, prot, MAP_SHARED, world->memfd);
			break;
		case 1:
			map_fixed(mem + i * PAGE, PAGE, prot, MAP_PRIVATE, world->memfd);
			break;
		}
	}
}

void area_new(enum area_kind kind)
{
	static const size_t pages[AREAS] = { 64, 64, 16, 1024, 16, 512, 512 };
	struct area *a = &areas[kind];
	int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;

	a->mem = arena + kind * AREA_MAX + AREA_MAX / 4;
	a->len = pages[kind] * PAGE;
	if (kind == READ_ONLY)
		prot = PROT_READ;
	if (kind == FORKED)
		flags = MAP_SHARED | MAP_ANONYMOUS;
	if (kind == MEMFD || (kind == HUGETLB && world->hugefd >= 0)) {
		flags = MAP_SHARED;
		fd = kind == MEMFD ? world->memfd : world->hugefd;
	}
	map_fixed(a->mem, a->len, prot, flags, fd);
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

	atomic_fetch_add(&world->maps, 1);
	switch (below(6)) {
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
		/* Never short for long. */
		if (ftruncate(world->memfd, below(65) * PAGE) ||
		    ftruncate(world->memfd, 64 * PAGE))
			diag("ftruncate: errno %d", errno);
		break;
	case 5:
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
	struct kgni_ioc_post p = { 0 };
	struct kgni_ioc_mem_register r = {
		.addr = (uint64_t)mem, .length = 8 * PAGE, .vmdh_index = ~0U,
	};

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		return;
	fill_post(&p, 0);
	p.type = GNI_POST_FMA_PUT;
	p.local_addr = (uint64_t)mem + below(PAGE);
	p.length = 1 + below(40 * PAGE);
	if (one_in(2))
		mem[0] = 1;	/* hangs as well */
	if (one_in(2))
		ioctl(some_file(), KGNI_IOC_POST, &p);
	else
		ioctl(some_file(), KGNI_IOC_MEM_REGISTER, &r);
}

/* --- children ------------------------------------------------------------------ */

/* This program again, with the files of this process and nothing of its memory. */
static void start_anew(void)
{
	char text[FILES][16], seed[16], cookie[16];
	char *argv[FILES + 5] = { "fuzz", "--after-exec", seed, cookie };
	unsigned int i;

	snprintf(seed, sizeof(seed), "%u", draw());
	snprintf(cookie, sizeof(cookie), "%u", self.cookie);
	for (i = 0; i < FILES; i++) {
		fcntl(files[i], F_SETFD, 0);
		snprintf(text[i], sizeof(text[i]), "%d", files[i]);
		argv[4 + i] = text[i];
	}
	execv("/proc/self/exe", argv);
}

static void step(void);

static void live_on(unsigned int steps)
{
	while (steps--)
		step();
}

int act_after_exec(int argc, char **argv)
{
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	world_find();
	draw_begin((struct gene){ (uint32_t)strtoul(argv[2], NULL, 10), 0 });
	self.cookie = (uint32_t)strtoul(argv[3], NULL, 10);
	act_setup();
	for (i = 0; i < FILES; i++)
		files[i] = (int)i + 4 < argc ? atoi(argv[4 + i]) : -1;
	is_child = true;
	live_on(8 + below(16));
	return 0;
}

static void child(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	is_child = true;
	switch (below(8)) {
	case 0:
		put_that_hangs();
		break;
	case 1:
		start_anew();
		break;
	case 2:
		execl("/bin/true", "true", (char *)NULL);
		break;
	default:
		live_on(below(30));
	}
	_exit(0);
}

static void do_fork(void)
{
	pid_t parent = getpid(), pid;

	if (is_child)
		return;
	atomic_fetch_add(&world->others, 1);
	pid = fork();
	if (!pid)
		child(parent);
	if (pid < 0)
		return;
	usleep(below(time_scale() * 2000));
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- steps --------------------------------------------------------------------- */

static void step(void)
{
	switch (below(64)) {
	case 0:
	case 1:
	case 2:
	case 3:
		do_ring();
		break;
	case 4:
	case 5:
		do_memory();
		break;
	case 6:
	case 7:
	case 8:
		do_file();
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

/* A wrong touch is the fuzzer's own: on with the next step. */
static __thread sigjmp_buf next_step;
static __thread bool in_step;

static void give_up(int sig)
{
	(void)sig;
	if (is_child || !in_step)
		_exit(0);
	siglongjmp(next_step, 1);
}

void act(void)
{
	if (sigsetjmp(next_step, 1))
		return;
	in_step = true;
	step();
	in_step = false;
}

static void nothing(int sig)
{
	(void)sig;
}

void act_setup(void)
{
	unsigned int i;

	signal(SIGSEGV, give_up);
	signal(SIGBUS, give_up);
	signal(SIGUSR1, nothing);
	signal(SIGIO, nothing);
	arena = mmap((void *)(1UL << 40), ARENA, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena == MAP_FAILED)
		_exit(1);
	for (i = 0; i < AREAS; i++)
		area_new(i);
	for (i = 0; i < FILES; i++)
		files[i] = -1;
}
