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
};

int main(void)
{
	return RUN_TESTS(tests);
}
