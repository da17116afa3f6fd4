// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's own interface, used badly: ioctls, mmap and other calls on
 * /dev/kgniN with what no library would send.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "common.h"
#include "core/memhndl.h"
#include "core/ring.h"

static const struct {
	unsigned long cmd;
	bool needs_nic;
} ioctls[] = {
	{ KGNI_IOC_INFO, false }, { KGNI_IOC_ATTACH, false }, { KGNI_IOC_GET_PTAG, false },
	{ KGNI_IOC_RES_INFO, false }, { KGNI_IOC_CQ_CREATE, true }, { KGNI_IOC_CQ_DESTROY, true },
	{ KGNI_IOC_CQ_WAIT, true }, { KGNI_IOC_MEM_REGISTER, true },
	{ KGNI_IOC_MEM_DEREGISTER, true }, { KGNI_IOC_POST, true },
	{ KGNI_IOC_DGRAM_POST, true }, { KGNI_IOC_DGRAM_TEST, true },
	{ KGNI_IOC_DGRAM_PROBE, true }, { KGNI_IOC_DGRAM_CANCEL, true },
	{ KGNI_IOC_CQ_WAKE, true }, { KGNI_IOC_CQ_NOTIFY, true },
	{ KGNI_IOC_CQ_OWED, true }, { KGNI_IOC_WINDOW_OPEN, true },
	{ KGNI_IOC_WINDOW_CLOSE, true }, { KGNI_IOC_WINDOW_WAKE, true },
	{ KGNI_IOC_MDD_BLOCK, true }, { KGNI_IOC_MEM_NEXT, true },
	{ KGNI_IOC_POST_CHAIN, true },
	{ KGNI_IOC_ERR_SUBSCRIBE, false }, { KGNI_IOC_ERR_RELEASE, false },
	{ KGNI_IOC_ERR_WAIT, false }, { KGNI_IOC_ERR_SET, false },
	{ KGNI_IOC_JOB_CONFIGURE, false }, { KGNI_IOC_NTT_CONFIGURE, false },
	{ KGNI_IOC_JOB_SUSPEND, false }, { KGNI_IOC_BI_SET, false },
	{ KGNI_IOC_BI_GET, false }, { KGNI_IOC_BI_WAIT, false },
};

#define LAST_CODE	GNI_RC_ERROR_NOMEM

/* -1 with this errno. */
#define fails_with(call, error, ...) do {			\
	errno = 0;						\
	is_u64((call), -1, __VA_ARGS__);			\
	is_u64(errno, error, __VA_ARGS__);			\
} while (0)

static uint32_t pe_of(int fd)
{
	struct kgni_ioc_info info;

	memset(&info, 0xff, sizeof(info));
	is_u64(ioctl(fd, KGNI_IOC_INFO, &info), GNI_RC_SUCCESS);
	is_u64(info.abi, KGNI_ABI_VERSION);
	is_u64(info.ntt_gran, 1);
	ok(memchr(info.build, 0, sizeof(info.build)));
	return info.pe;
}

static void test_unattached(void)
{
	char buf[1024];
	int fd = raw_open(0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ioctls); i++) {
		memset(buf, 0, sizeof(buf));
		if (ioctls[i].needs_nic)
			is_u64(ioctl(fd, ioctls[i].cmd, buf), GNI_RC_INVALID_STATE, "%u", i);
	}
	pe_of(fd);
	ok(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	close(fd);
}

static void test_attach_twice(void)
{
	struct kgni_ioc_attach arg = { .ptag = GNI_FIND_ALLOC_PTAG, .cookie = COOKIE };
	int fd = raw_attach(0, 1, 0);

	is_u64(ioctl(fd, KGNI_IOC_ATTACH, &arg), GNI_RC_INVALID_STATE);
	arg.cookie++;
	is_u64(ioctl(fd, KGNI_IOC_ATTACH, &arg), GNI_RC_INVALID_STATE);
	close(fd);
	fd = raw_open(0);
	arg.ptag = 0;
	is_u64(ioctl(fd, KGNI_IOC_ATTACH, &arg), GNI_RC_INVALID_PARAM);
	arg.ptag = 256;
	is_u64(ioctl(fd, KGNI_IOC_ATTACH, &arg), GNI_RC_INVALID_PARAM);
	arg.ptag = GNI_FIND_ALLOC_PTAG;
	arg.reserved = 1;
	fails_with(ioctl(fd, KGNI_IOC_ATTACH, &arg), EINVAL);
	arg.reserved = 0;
	is_u64(ioctl(fd, KGNI_IOC_ATTACH, &arg), GNI_RC_SUCCESS, "after failures");
	is_u64(arg.pe, pe_of(fd));
	ok(arg.ptag >= GNI_PTAG_USER_START && arg.ptag <= GNI_PTAG_USER_END);
}

static uint64_t cqs_free(void)
{
	gni_dev_res_desc_t desc = { 0 };

	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_CQ, &desc), GNI_RC_SUCCESS);
	return desc.available;
}

static void test_pointers(void)
{
	char *page = map_private(2 * PAGE), *ro = map_private(PAGE);
	struct kgni_ioc_cq_create cq = { .entries = 16 };
	void *bad[6];
	uint64_t before;
	unsigned int i, j;
	int fd = raw_attach(0, 1, 0), other = raw_open(0);

	must(!munmap(page + PAGE, PAGE));
	bad[0] = NULL;
	bad[1] = (void *)8;
	bad[2] = page + PAGE;
	bad[3] = (void *)0xffff888000000000;
	bad[4] = (void *)~0UL;
	bad[5] = page + PAGE - 4;	/* too close to its end */
	for (i = 0; i < ARRAY_SIZE(ioctls); i++) {
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			memset(page, 0, PAGE);
			fails_with(ioctl(fd, ioctls[i].cmd, bad[j]), EFAULT, "ioctl %u, %p", i,
				   bad[j]);
			if (!ioctls[i].needs_nic)
				fails_with(ioctl(other, ioctls[i].cmd, bad[j]), EFAULT,
					   "ioctl %u, %p", i, bad[j]);
		}
	}
	/* An answer that can't be given: nothing is made. */
	memcpy(ro, &cq, sizeof(cq));
	must(!mprotect(ro, PAGE, PROT_READ));
	before = cqs_free();
	for (i = 0; i < ARRAY_SIZE(ioctls); i++) {
		if (_IOC_DIR(ioctls[i].cmd) & _IOC_READ)
			fails_with(ioctl(fd, ioctls[i].cmd, ro), EFAULT, "ioctl %u", i);
	}
	is_u64(cqs_free(), before);
	/* A call that fails leaves its argument alone. */
	memset(&cq, 0xff, sizeof(cq));
	cq.entries = 77;
	fails_with(ioctl(fd, KGNI_IOC_CQ_CREATE, &cq), EINVAL);
	is_u64(cq.entries, 77);
	ok(all_bytes(&cq.delay, sizeof(cq) - 4, 0xff));
}

/* Numbers, sizes, directions and types that are not those of the interface. */
static void test_numbers(void)
{
	static char buf[1 << 14];
	int fd = raw_attach(0, 1, 0);
	unsigned int nr, i, dir, size;

	for (nr = 0; nr < 256; nr++) {
		bool known = false;

		for (i = 0; i < ARRAY_SIZE(ioctls); i++)
			known |= _IOC_NR(ioctls[i].cmd) == nr;
		for (dir = 0; dir < 4 && !known; dir++)
			fails_with(ioctl(fd, _IOC(dir, KGNI_IOC_MAGIC, nr, 16), buf), ENOTTY, "%u",
				   nr);
	}
	for (i = 0; i < ARRAY_SIZE(ioctls); i++) {
		unsigned long cmd = ioctls[i].cmd;

		for (size = 0; size < (1 << 14); size += size < 300 ? 1 : 997) {
			if (size == _IOC_SIZE(cmd))
				continue;
			fails_with(ioctl(fd, _IOC(_IOC_DIR(cmd), KGNI_IOC_MAGIC, _IOC_NR(cmd),
						  size), buf), ENOTTY, "ioctl %u, size %u",
				   i, size);
		}
		for (dir = 0; dir < 4; dir++) {
			if (dir != _IOC_DIR(cmd))
				fails_with(ioctl(fd, _IOC(dir, KGNI_IOC_MAGIC, _IOC_NR(cmd),
							  _IOC_SIZE(cmd)), buf), ENOTTY,
					   "ioctl %u, direction %u", i, dir);
		}
		fails_with(ioctl(fd, cmd ^ 0x100, buf), ENOTTY, "ioctl %u, another magic", i);
	}
}

static void test_reserved(void)
{
	struct kgni_ioc_cq_create cq = { .entries = 16, .reserved = 1 };
	struct kgni_ioc_cq_destroy destroy = { .id = 1, .reserved = 1 };
	struct kgni_ioc_cq_wake wake = { .id = 1, .reserved = 1 };
	struct kgni_ioc_cq_owed owed = { .id = 1, .reserved = 1 };
	struct kgni_ioc_mdd_block block = { .entries = 1, .reserved = 1 };
	struct kgni_ioc_post_chain chain = { .count = 1, .reserved = 1 };
	struct kgni_ioc_res res = { .scope = KGNI_RES_DEVICE, .type = GNI_DEV_RES_CQ };
	struct kgni_ioc_post post = { .type = GNI_POST_FMA_PUT };
	struct kgni_ioc_dgram_post dpost = { .reserved = 1 };
	struct kgni_ioc_dgram_test dtest = { .reserved = 1 };
	struct kgni_ioc_dgram_probe probe = { .reserved = 1 };
	struct kgni_ioc_dgram_cancel cancel = { .flags = 8 };
	struct kgni_ioc_err_subscribe subscribe = { .reserved = 1 };
	struct kgni_ioc_err_release release = { .flags = 2 };
	struct kgni_ioc_err_set set = { .what = 3 };
	struct kgni_ioc_job job = { .flags = 4 };
	struct kgni_ioc_suspend suspend = { .flags = 2 };
	struct kgni_ioc_bi_set bi = { .modes = GNI_BI_FLAG_APPLY_NOW, .reserved = 1 };
	int fd = raw_attach(0, 1, 0);

	fails_with(ioctl(fd, KGNI_IOC_CQ_CREATE, &cq), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_CQ_DESTROY, &destroy), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_CQ_WAKE, &wake), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_CQ_OWED, &owed), EINVAL);
	owed.reserved = 0;
	is_u64(ioctl(fd, KGNI_IOC_CQ_OWED, &owed), GNI_RC_INVALID_PARAM, "no such queue");
	fails_with(ioctl(fd, KGNI_IOC_MDD_BLOCK, &block), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_POST_CHAIN, &chain), EINVAL);
	res.reserved = 1;
	fails_with(ioctl(fd, KGNI_IOC_RES_INFO, &res), EINVAL);
	res.reserved = 0;
	res.scope = 2;
	fails_with(ioctl(fd, KGNI_IOC_RES_INFO, &res), EINVAL);
	post.reserved = 1;
	fails_with(ioctl(fd, KGNI_IOC_POST, &post), EINVAL);
	post.reserved = 0;
	post.flags = ~KGNI_POST_FLAGS;
	fails_with(ioctl(fd, KGNI_IOC_POST, &post), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_POST, &dpost), EINVAL);
	dpost.reserved = 0;
	dpost.flags = 4;
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_POST, &dpost), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_TEST, &dtest), EINVAL);
	dtest.reserved = 0;
	dtest.flags = KGNI_DGRAM_BOUND;
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_TEST, &dtest), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_PROBE, &probe), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_DGRAM_CANCEL, &cancel), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_ERR_SUBSCRIBE, &subscribe), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_ERR_RELEASE, &release), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_ERR_SET, &set), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_JOB_SUSPEND, &suspend), EINVAL);
	fails_with(ioctl(fd, KGNI_IOC_BI_SET, &bi), EINVAL);
}

/* --- waiting ------------------------------------------------------------------- */

static int raw_wait(int fd, struct kgni_cq_ref *refs, uint32_t count, uint64_t ms)
{
	struct kgni_ioc_cq_wait arg = {
		.cqs = (uint64_t)refs, .timeout_ms = ms, .count = count,
	};

	return ioctl(fd, KGNI_IOC_CQ_WAIT, &arg);
}

/* Something that is not a queue: an errno or a code, and at once. */
static void refuses_wait(int fd, struct kgni_cq_ref *refs, uint32_t count, const char *what)
{
	uint64_t began = now_ms();
	int rc = raw_wait(fd, refs, count, 15000);

	ok(rc != GNI_RC_SUCCESS && rc != GNI_RC_TIMEOUT && rc <= LAST_CODE, "%s: %d", what, rc);
	ok(now_ms() - began < 10000, "%s", what);
}

/* An event is delivered whatever the fields say that a CQ write does not use. */
static void test_cqwrite_to_reserved(void)
{
	const uint64_t odd[] = { 0, 4096, 1ULL << 47, 1ULL << 63, ~0ULL - 4095, ~0ULL };
	unsigned char *mem = map_private(4 * PAGE);
	int fd = raw_attach(0, 1, 0);
	struct kgni_ioc_post p = { .type = GNI_POST_CQWRITE, .remote_pe = pe_of(fd) };
	struct raw_cq cq;
	unsigned int i;

	raw_cq_open(fd, ARRAY_SIZE(odd), GNI_CQ_NOBLOCK, &cq);
	p.remote = raw_mem_open(fd, mem, 4 * PAGE, GNI_MEM_RESERVE_REGION, cq.id);
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		p.remote_addr = odd[i];
		p.length = odd[ARRAY_SIZE(odd) - 1 - i];
		is_u64(ioctl(fd, KGNI_IOC_POST, &p), GNI_RC_SUCCESS, "%u", i);
		is_u64(((struct kgni_ring *)cq.mem)->tail, i + 1);
	}
}

static void test_wait(void)
{
	static struct kgni_cq_ref many[KGNI_CQ_WAIT_MAX + 1];
	int fd = raw_attach(0, 1, 0), unattached = raw_open(0), sv[2], i;
	struct kgni_cq_ref ref[2];
	struct raw_cq cq, nonblocking;

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	raw_cq_open(fd, 8, GNI_CQ_BLOCKING, &cq);
	raw_cq_open(fd, 8, GNI_CQ_NOBLOCK, &nonblocking);
	ref[0] = (struct kgni_cq_ref){ .fd = fd, .id = cq.id };
	is_u64(raw_wait(fd, ref, 1, 0), GNI_RC_TIMEOUT);
	is_u64(raw_wait(fd, ref, 1, 5), GNI_RC_TIMEOUT);
	refuses_wait(fd, ref, 0, "none");
	refuses_wait(fd, NULL, 1, "NULL");
	refuses_wait(fd, (void *)0xffff888000000000, 1, "memory of the kernel");
	ref[1] = (struct kgni_cq_ref){ .fd = fd, .id = 0 };
	refuses_wait(fd, ref, 2, "id 0");
	ref[1].id = 0x7fffffff;
	refuses_wait(fd, ref, 2, "an id that isn't there");
	ref[1].id = nonblocking.id;
	refuses_wait(fd, ref, 2, "a queue that doesn't block");
	ref[1] = (struct kgni_cq_ref){ .fd = -1, .id = cq.id };
	refuses_wait(fd, ref, 2, "no file");
	ref[1].fd = 1000;
	refuses_wait(fd, ref, 2, "a closed file");
	ref[1].fd = sv[0];
	refuses_wait(fd, ref, 2, "a socket");
	ref[1].fd = unattached;
	refuses_wait(fd, ref, 2, "a file that isn't attached");
	for (i = 0; i <= KGNI_CQ_WAIT_MAX; i++)
		many[i] = ref[0];
	is_u64(raw_wait(fd, many, KGNI_CQ_WAIT_MAX, 5), GNI_RC_TIMEOUT, "the same one often");
	refuses_wait(fd, many, KGNI_CQ_WAIT_MAX + 1, "too many");
	refuses_wait(fd, many, ~0U, "far too many");
}

struct destroyed {
	int fd;
	uint32_t id;
	_Atomic pid_t tid;
	int rc;
};

static void *wait_thread(void *arg)
{
	struct destroyed *d = arg;
	struct kgni_cq_ref ref = { .fd = d->fd, .id = d->id };

	d->tid = thread_id();
	d->rc = raw_wait(d->fd, &ref, 1, 20000);
	return NULL;
}

/* A queue destroyed, or its file closed, under a sleeper. */
static void test_destroyed_in_wait(void)
{
	struct kgni_ioc_cq_destroy arg = { 0 };
	uint64_t began = now_ms();
	pthread_t thread;
	struct raw_cq cq;
	int i;

	for (i = 0; i < 2; i++) {
		struct destroyed d = { .fd = raw_attach(0, 1, 0) };

		raw_cq_open(d.fd, 8, GNI_CQ_BLOCKING, &cq);
		d.id = cq.id;
		must(!pthread_create(&thread, NULL, wait_thread, &d));
		ok(wait_for(d.tid && asleep(d.tid)));
		arg.id = cq.id;
		is_u64(ioctl(d.fd, KGNI_IOC_CQ_DESTROY, &arg), GNI_RC_SUCCESS);
		is_u64(ioctl(d.fd, KGNI_IOC_CQ_DESTROY, &arg), GNI_RC_INVALID_PARAM);
		if (i)
			close(d.fd);
		pthread_join(thread, NULL);
		ok(d.rc != GNI_RC_SUCCESS && d.rc != GNI_RC_TIMEOUT, "%d", d.rc);
		/* Its memory is the process's until it is unmapped. */
		memset(cq.mem, 0xff, cq.len);
		munmap(cq.mem, cq.len);
	}
	ok(now_ms() - began < 15000, "the sleepers are woken");
}

/* --- mmap ---------------------------------------------------------------------- */

static void *try_map(int fd, size_t len, int prot, int flags, uint64_t offset)
{
	return mmap(NULL, len, prot, flags, fd, offset);
}

static void test_mmap(void)
{
	int fd = raw_attach(0, 1, 0), other = raw_attach(0, 2, 0), rw = PROT_READ | PROT_WRITE;
	uint64_t offset;
	struct raw_cq cq;
	unsigned int bit;
	void *p;

	raw_cq_open(fd, 2000, GNI_CQ_BLOCKING, &cq);
	ok(cq.len >= PAGE + 2048 * 8);
	ok(try_map(fd, cq.len + PAGE, rw, MAP_SHARED, cq.offset) == MAP_FAILED, "beyond its end");
	ok(try_map(fd, 1UL << 30, rw, MAP_SHARED, cq.offset) == MAP_FAILED);
	ok(try_map(fd, cq.len, rw, MAP_SHARED, cq.offset + PAGE) == MAP_FAILED, "from its middle");
	ok(try_map(fd, cq.len, rw | PROT_EXEC, MAP_SHARED, cq.offset) == MAP_FAILED, "executable");
	ok(try_map(other, cq.len, rw, MAP_SHARED, cq.offset) == MAP_FAILED, "not of this file");
	for (bit = 12; bit < 63; bit++) {
		offset = cq.offset ^ 1ULL << bit;
		ok(try_map(fd, cq.len, rw, MAP_SHARED, offset) == MAP_FAILED, "offset %#llx",
		   (unsigned long long)offset);
	}
	ok(try_map(fd, cq.len, rw, MAP_SHARED, 0x7ffffffffffff000) == MAP_FAILED);
	/* What is mapped can't be made more than it is. */
	ok(mremap(cq.mem, cq.len, cq.len + PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	ok(mprotect(cq.mem, cq.len, rw | PROT_EXEC) == -1);
	/* A copy, if there may be one, is no way into the ring. */
	p = try_map(fd, cq.len, rw, MAP_PRIVATE, cq.offset);
	if (p != MAP_FAILED) {
		memset(p, 0x77, cq.len);
		ok(all_bytes(cq.mem, PAGE, 0));
	}
	/* A second and a read-only mapping are fine, and go in any order. */
	p = try_map(fd, cq.len, PROT_READ, MAP_SHARED, cq.offset);
	ok(p != MAP_FAILED);
	munmap(cq.mem, cq.len);
	ok(*(volatile uint32_t *)p == 0);
	close(fd);
	ok(((volatile uint64_t *)p)[PAGE / 8] == 0, "it outlives the descriptor");
	munmap(p, cq.len);
}

/* A ring can't be mapped without end, since the end of each mapping walks it. */
static void test_many_maps(void)
{
	int fd = raw_attach(0, 1, 0), n;
	struct raw_cq cq;
	void *map[2000];

	raw_cq_open(fd, 8, GNI_CQ_NOBLOCK, &cq);
	for (n = 0; n < 2000; n++) {
		map[n] = try_map(fd, cq.len, PROT_READ, MAP_SHARED, cq.offset);
		if (map[n] == MAP_FAILED)
			break;
	}
	ok(n > 16 && n < 2000, "%d mappings", n);
	munmap(map[3], cq.len);
	map[3] = try_map(fd, cq.len, PROT_READ, MAP_SHARED, cq.offset);
	ok(map[3] != MAP_FAILED, "after one is gone");
}

/* Registrations last until the file is gone, and mappings hold the file. */
static void test_close_order(void)
{
	int fd = raw_attach(0, 1, 0);
	char *buf = map_private(16 * PAGE);
	struct raw_cq cq;

	raw_cq_open(fd, 8, GNI_CQ_NOBLOCK, &cq);
	raw_mem_open(fd, buf, 16 * PAGE, 0, cq.id);
	close(fd);
	memset(cq.mem, 0, cq.len);
	munmap(buf, 16 * PAGE);
	munmap(cq.mem, cq.len);
}

/* --- other calls --------------------------------------------------------------- */

static void test_file_calls(void)
{
	int fd = raw_attach(0, 1, 0);
	char buf[16];

	ok(read(fd, buf, 16) == -1);
	ok(write(fd, buf, 16) == -1);
	ok(lseek(fd, 4096, SEEK_SET) == -1);
	ok(ftruncate(fd, 0) == -1);
	ok(fallocate(fd, 0, 0, 4096) == -1);
}

static int inherited;

static void child_uses_file(void *arg)
{
	struct kgni_ioc_post post = { .type = GNI_POST_FMA_PUT };
	char *buf = map_private(8 * PAGE);
	struct kgni_mem_handle mh = raw_mem_open(inherited, buf, 8 * PAGE, 0, 0);

	(void)arg;
	post.remote = mh;
	post.remote_addr = (uint64_t)buf;
	post.remote_pe = pe_of(inherited);
	post.local_addr = (uint64_t)"from the child";
	post.length = 15;
	is_u64(ioctl(inherited, KGNI_IOC_POST, &post), GNI_RC_SUCCESS);
	ok(!strcmp(buf, "from the child"));
	memcpy(shm->bytes, &post, sizeof(post));
}

/* A child registers its own memory through the file it inherited, and ends. */
static void test_inherited(void)
{
	struct kgni_ioc_mem_deregister arg;
	struct kgni_ioc_post post;

	inherited = raw_attach(0, 1, 0);
	reap(peer(child_uses_file, NULL));
	memcpy(&post, shm->bytes, sizeof(post));
	post.local_addr = (uint64_t)"too late for it";
	is_u64(ioctl(inherited, KGNI_IOC_POST, &post), GNI_RC_SUCCESS, "the pages are still held");
	arg.handle = post.remote;
	is_u64(ioctl(inherited, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_SUCCESS);
	is_u64(ioctl(inherited, KGNI_IOC_MEM_DEREGISTER, &arg), GNI_RC_INVALID_PARAM);
}

/* --- random -------------------------------------------------------------------- */

#define ROUNDS	20000
#define ARENA	(64 * PAGE)

/* What the fuzzer picks from: names that may well exist. */
static struct {
	int fd[3];
	unsigned char *arena;
	struct kgni_mem_handle mh[16];
	uint32_t seed;
	unsigned int codes[LAST_CODE + 2];	/* how often each came, -1 first */
} fz;

static uint64_t rnd64(void)
{
	uint64_t high = rnd(&fz.seed);

	return high << 32 | rnd(&fz.seed);
}

static uint64_t some_number(void)
{
	static const uint64_t odd[] = {
		0, 1, 2, 7, 8, 63, 64, 127, 128, 129, 4095, 4096, 65535, 65536, 1 << 20,
		0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 63, ~0ULL, ~0ULL - 4095,
	};

	switch (rnd(&fz.seed) % 4) {
	case 0:
		return odd[rnd(&fz.seed) % ARRAY_SIZE(odd)];
	case 1:
		return rnd64();
	default:
		return rnd(&fz.seed) % 16;
	}
}

static bool one_in(uint32_t n)
{
	return rnd(&fz.seed) % n == 0;
}

static uint64_t some_address(void)
{
	return one_in(8) ? some_number() : (uint64_t)fz.arena + rnd(&fz.seed) % ARENA;
}

static uint64_t some_length(void)
{
	return one_in(8) ? some_number() : rnd(&fz.seed) % (4 * PAGE);
}

static struct kgni_mem_handle some_handle(void)
{
	struct kgni_mem_handle mh = fz.mh[rnd(&fz.seed) % ARRAY_SIZE(fz.mh)];

	if (one_in(8))
		mh.qword1 ^= 1ULL << rnd(&fz.seed) % 64;
	if (one_in(8))
		mh.qword2 ^= 1ULL << rnd(&fz.seed) % 64;
	return mh;
}

/* The argument of any call. */
union arg {
	uint64_t word[64];
	struct kgni_ioc_attach attach;
	struct kgni_ioc_cq_create cq_create;
	struct kgni_ioc_cq_wait cq_wait;
	struct kgni_ioc_mem_register mem_register;
	struct kgni_ioc_mem_deregister mem_deregister;
	struct kgni_ioc_post post;
	struct kgni_ioc_dgram_post dgram_post;
	struct kgni_ioc_dgram_test dgram_test;
	struct kgni_ioc_dgram_probe dgram_probe;
	struct kgni_ioc_err_wait err_wait;
	struct kgni_ioc_job job;
	struct kgni_ioc_ntt ntt;
	struct kgni_ioc_suspend suspend;
	struct kgni_ioc_bi_set bi_set;
	struct kgni_ioc_bi_wait bi_wait;
};

/* A value below @n, or now and then one that is out of its range. */
static uint64_t mostly_below(uint32_t n)
{
	return one_in(16) ? some_number() : rnd(&fz.seed) % n;
}

static void fuzz_attach(struct kgni_ioc_attach *p)
{
	p->inst_id = rnd(&fz.seed) % 4;
	p->ptag = one_in(2) ? GNI_FIND_ALLOC_PTAG : some_number();
	p->cookie = COOKIE + rnd(&fz.seed) % 3;
	p->modes = one_in(2) ? 0 : some_number();
}

static void fuzz_post(struct kgni_ioc_post *p)
{
	uint64_t align = one_in(2) ? 7 : 0;

	p->type = mostly_below(9);
	p->flags = mostly_below(2);
	p->cq_mode = mostly_below(8);
	p->rdma_mode = mostly_below(4) * 2;
	p->src_cq = rnd(&fz.seed) % 6;
	p->src_event = rnd64();
	p->remote_pe = rnd(&fz.seed) % 4;
	p->local_addr = some_address();
	p->local = some_handle();
	p->remote_addr = some_address() & ~align;
	p->remote = some_handle();
	p->length = some_length() & ~align;
	p->sync_addr = some_address() & ~7ULL;
	p->amo_cmd = mostly_below(0x400);
	p->operand[0] = rnd64();
	p->operand[1] = rnd64();
	p->cqwrite_value = rnd64();
}

static void fuzz_register(struct kgni_ioc_mem_register *p)
{
	p->addr = some_address();
	p->length = some_length();
	p->flags = mostly_below(2);
	p->cq = rnd(&fz.seed) % 6;
	p->vmdh_index = ~0U;
}

static void fuzz_dgram(struct kgni_ioc_dgram_post *p)
{
	p->id = rnd(&fz.seed) % 4;
	p->ep = rnd(&fz.seed) % 4;
	p->flags = mostly_below(4);
	p->remote_pe = rnd(&fz.seed) % 4;
	p->remote_id = rnd(&fz.seed) % 4;
	p->length = rnd(&fz.seed) % 140;
	p->buf_size = rnd(&fz.seed) % 140;
}

static void fuzz_wait(struct kgni_ioc_cq_wait *p)
{
	static struct kgni_cq_ref refs[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refs); i++)
		refs[i] = (struct kgni_cq_ref){ fz.fd[i % 3], rnd(&fz.seed) % 6 };
	p->cqs = (uint64_t)refs;
	p->count = rnd(&fz.seed) % 5;
}

/* Small numbers will do for the calls without a filler of their own. */
static void fill_sensibly(unsigned long cmd, union arg *arg)
{
	unsigned int i;

	switch (cmd) {
	case KGNI_IOC_ATTACH:
		fuzz_attach(&arg->attach);
		break;
	case KGNI_IOC_POST:
		fuzz_post(&arg->post);
		break;
	case KGNI_IOC_MEM_REGISTER:
		fuzz_register(&arg->mem_register);
		break;
	case KGNI_IOC_MEM_DEREGISTER:
		arg->mem_deregister.handle = some_handle();
		break;
	case KGNI_IOC_DGRAM_POST:
		fuzz_dgram(&arg->dgram_post);
		break;
	case KGNI_IOC_CQ_WAIT:
		fuzz_wait(&arg->cq_wait);
		break;
	default:
		for (i = 0; i < ARRAY_SIZE(arg->word); i++)
			arg->word[i] = one_in(4) ? 0 : rnd(&fz.seed) % 8;
	}
}

static void fill_badly(union arg *arg)
{
	unsigned int i;

	if (one_in(2)) {
		arg->word[rnd(&fz.seed) % 8] = some_number();
		return;
	}
	for (i = 0; i < ARRAY_SIZE(arg->word); i++)
		arg->word[i] = some_number();
}

/* Nothing that sleeps long, nor large queues, which are tried elsewhere. */
static void tame(unsigned long cmd, union arg *arg)
{
	uint64_t ms = rnd(&fz.seed) % 3;

	switch (cmd) {
	case KGNI_IOC_ATTACH:
		/* Who is ended for the first mistake finds nothing. */
		arg->attach.modes &= ~GNI_CDM_MODE_ERR_ALL_KILL;
		break;
	case KGNI_IOC_JOB_CONFIGURE:
		/* What root configures would stay. */
		if (!geteuid())
			arg->job.ptag = 0;
		break;
	case KGNI_IOC_NTT_CONFIGURE:
		if (!geteuid())
			arg->ntt.count = 0;
		break;
	case KGNI_IOC_JOB_SUSPEND:
		if (!geteuid())
			arg->suspend.ptag = 0;
		break;
	case KGNI_IOC_BI_SET:
		/* Root would hold all that comes. */
		if (!geteuid())
			arg->bi_set.modes = 0;
		break;
	case KGNI_IOC_BI_WAIT:
		arg->bi_wait.timeout_ms = ms;
		break;
	case KGNI_IOC_ERR_WAIT:
		arg->err_wait.timeout_ms = ms;
		arg->err_wait.more_ms = ms;
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
	case KGNI_IOC_CQ_CREATE:
		arg->cq_create.entries %= 5000;
		break;
	}
}

static void fuzz_round(void)
{
	unsigned long cmd = ioctls[rnd(&fz.seed) % ARRAY_SIZE(ioctls)].cmd;
	int fd = fz.fd[rnd(&fz.seed) % 3], rc;
	union arg arg;

	if (one_in(3))
		cmd = KGNI_IOC_POST;
	memset(&arg, 0, sizeof(arg));
	if (one_in(4))
		fill_badly(&arg);
	else
		fill_sensibly(cmd, &arg);
	tame(cmd, &arg);
	errno = 0;
	rc = ioctl(fd, cmd, &arg);
	ok(rc == -1 ? errno > 0 && errno < 134 : rc >= 0 && rc <= LAST_CODE,
	   "ioctl %#lx: %d, errno %d", cmd, rc, errno);
	fz.codes[rc + 1]++;
	if (cmd == KGNI_IOC_MEM_REGISTER && rc == GNI_RC_SUCCESS)
		fz.mh[rnd(&fz.seed) % ARRAY_SIZE(fz.mh)] = arg.mem_register.handle;
}

/*
 * A fuzzer reaches nobody else's memory: one in another job has the same
 * addresses and the same numbers of registrations.
 */
static void bystander(void *arg)
{
	unsigned char *canary = fz.arena;
	struct kgni_ioc_attach a = { .inst_id = 1, .ptag = GNI_FIND_ALLOC_PTAG,
				     .cookie = COOKIE + 7 };
	int fd = raw_open(0), i;

	(void)arg;
	must(ioctl(fd, KGNI_IOC_ATTACH, &a) == GNI_RC_SUCCESS);
	fill(canary, ARENA, 77);
	for (i = 0; i < 32; i++)
		raw_mem_open(fd, canary, ARENA, 0, 0);
	give(0);
	take(1);
	ok(filled(canary, ARENA, 77), "another job's memory was changed");
}

static void fuzz(uint32_t seed)
{
	unsigned char *around = map_private(3 * ARENA);
	pid_t pid;
	int i;

	/* No registration of the arena reaches anything else. */
	must(!mprotect(around, ARENA, PROT_NONE));
	must(!mprotect(around + 2 * ARENA, ARENA, PROT_NONE));
	fz.arena = around + ARENA;
	fz.seed = seed;
	pid = peer(bystander, NULL);
	take(0);
	/* Two are attached from the begin, the third when the fuzzer finds out how. */
	fz.fd[0] = raw_attach(0, 0, 0);
	fz.fd[1] = raw_attach(0, 1, 0);
	fz.fd[2] = raw_open(0);
	for (i = 0; i < ROUNDS / 2; i++)
		fuzz_round();
	ok(fz.codes[0] > ROUNDS / 50 && fz.codes[1 + GNI_RC_SUCCESS] > ROUNDS / 20,
	   "%u errors, %u successes", fz.codes[0], fz.codes[1]);
	give(1);
	reap(pid);
	for (i = 0; i < 3; i++)
		close(fz.fd[i]);
	/* And the device works as before. */
	inherited = raw_attach(0, 1, 0);
	child_uses_file(NULL);
}

static void test_fuzz_1(void)
{
	fuzz(0x2545f491);
}

static void test_fuzz_2(void)
{
	fuzz(0x9e3779b9);
}

static const struct test tests[] = {
	CASE("calls before attaching", test_unattached),
	CASE("attaching twice", test_attach_twice),
	CASE("bad pointers", test_pointers),
	CASE("numbers that are no calls", test_numbers),
	CASE("reserved fields and unknown flags", test_reserved),
	CASE("waiting for what is no queue", test_wait),
	CASE("a CQ write to a reserved region", test_cqwrite_to_reserved),
	CASE("queue destroyed under a sleeper", test_destroyed_in_wait),
	CASE("mmap", test_mmap),
	CASE("mapped often", test_many_maps),
	CASE("closed before unmapped", test_close_order),
	CASE("other calls", test_file_calls),
	CASE("an inherited file", test_inherited),
	CASE("10000 random calls", test_fuzz_1, 60),
	CASE("10000 others", test_fuzz_2, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
