// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory registration.
 *
 *	mem		as root
 *	mem user	as a plain user: RLIMIT_MEMLOCK counts
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "common.h"
#include "core/memhndl.h"

static struct nic nic;
static gni_ep_handle_t self;

static void setup(void)
{
	nic_open(&nic, 0, 1);
	self = ep_open(&nic, nic.pe, nic.id);
}

static gni_return_t reg(void *p, uint64_t len, uint32_t flags, gni_mem_handle_t *mh)
{
	return GNI_MemRegister(nic.h, (uint64_t)p, len, NULL, flags, -1, mh);
}

/* Put from or get into @local by way of the handle; the code that comes of it. */
static gni_return_t put_to(const gni_mem_handle_t *mh, void *target, const void *local,
			   uint64_t len)
{
	struct region r = { .addr = (uint64_t)target, .mh = *mh };
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, (void *)local, NULL, &r, 0, len);
	return post_wait(self, nic.tx, &d);
}

static gni_return_t get_from(const gni_mem_handle_t *mh, const void *source, void *local,
			     const gni_mem_handle_t *lmh, uint64_t len)
{
	struct region r = { .addr = (uint64_t)source, .mh = *mh };
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_FMA_GET, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, local, lmh, &r, 0, len);
	return post_wait(self, nic.tx, &d);
}

static uint64_t mdds_used(void)
{
	gni_dev_res_desc_t desc = { 0 };

	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &desc), GNI_RC_SUCCESS);
	return desc.held;
}

static bool attr(gni_mem_handle_t *mh, gni_mem_handle_attr_t which)
{
	int yes = -1;

	is_rc(GNI_MemHndlQueryAttr(mh, which, &yes), GNI_RC_SUCCESS, "attribute %d", which);
	ok(yes == 0 || yes == 1);
	return yes == 1;
}

static void test_handle(void)
{
	char *buf = map_private(3 * PAGE);
	gni_mem_handle_t mh, ro;
	struct kgni_mh parts;
	int which, yes;

	setup();
	must_do(reg(buf + 5, PAGE + 7, GNI_MEM_READWRITE, &mh));
	ok(kgni_mh_unpack(mh.qword1, mh.qword2, &parts), "CRC");
	is_u64(parts.va, (uint64_t)buf);
	is_u64(parts.npages, 2);
	is_u64(parts.page_shift, 12);
	ok(parts.mdh >= 1 && parts.mdh <= KGNI_MH_MDH_MAX);
	is_u64(parts.flags, 0);
	must_do(reg(buf + 4090, 12, GNI_MEM_READ_ONLY, &ro));
	ok(kgni_mh_unpack(ro.qword1, ro.qword2, &parts), "CRC");
	is_u64(parts.npages, 2, "across a page's end");
	is_u64(parts.flags, KGNI_MH_READONLY);
	ok(!attr(&mh, GNI_MEMHNDL_ATTR_READONLY) && attr(&ro, GNI_MEMHNDL_ATTR_READONLY));
	for (which = GNI_MEMHNDL_ATTR_VMDH; which <= GNI_MEMHNDL_ATTR_CLONE; which++)
		ok(!attr(&mh, which) && !attr(&ro, which), "attribute %d", which);
	is_rc(GNI_MemHndlQueryAttr(NULL, GNI_MEMHNDL_ATTR_READONLY, &yes), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemHndlQueryAttr(&mh, GNI_MEMHNDL_ATTR_READONLY, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemHndlQueryAttr(&mh, 0, &yes), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemHndlQueryAttr(&mh, GNI_MEMHNDL_ATTR_CLONE + 1, &yes), GNI_RC_INVALID_PARAM);
	mh.qword1 ^= 1ULL << 20;
	is_rc(GNI_MemHndlQueryAttr(&mh, GNI_MEMHNDL_ATTR_VMDH, &yes), GNI_RC_INVALID_PARAM,
	      "damaged");
}

static void test_alignments(void)
{
	static const unsigned int offsets[] = { 0, 1, 3, 8, 63, 64, 2048, 4088, 4095 };
	static const unsigned int lengths[] = { 1, 3, 8, 64, 4095, 4096, 4097, 8192 };
	unsigned char *buf = map_private(4 * PAGE);
	unsigned char *src = map_private(4 * PAGE);
	unsigned int i, j, o, l;
	gni_mem_handle_t mh;

	setup();
	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			o = offsets[i];
			l = lengths[j];
			memset(buf, 0x11, 4 * PAGE);
			fill(src, l, o + l);
			must_do(reg(buf + o, l, GNI_MEM_READWRITE, &mh));
			ok(all_bytes(buf, 4 * PAGE, 0x11), "registering changes nothing");
			is_rc(put_to(&mh, buf + o, src, l), GNI_RC_SUCCESS, "%u+%u", o, l);
			ok(filled(buf + o, l, o + l), "%u+%u", o, l);
			ok(all_bytes(buf, o, 0x11) &&
			   all_bytes(buf + o + l, 4 * PAGE - o - l, 0x11), "%u+%u", o, l);
			is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
		}
	}
}

static void test_flags(void)
{
	static const uint32_t good[] = {
		GNI_MEM_READWRITE, GNI_MEM_READ_ONLY, GNI_MEM_STRICT_PI_ORDERING,
		GNI_MEM_STRICT_PI_ORDERING | GNI_MEM_PI_FLUSH, GNI_MEM_RELAXED_PI_ORDERING,
		GNI_MEM_MDD_DEDICATED, GNI_MEM_USE_GART, GNI_MEM_PHYS_CONT,
		GNI_MEM_READ_ONLY | GNI_MEM_RELAXED_PI_ORDERING,
	};
	static const uint32_t bad[] = {
		GNI_MEM_USE_VMDH, GNI_MEM_MDD_CLONE, GNI_MEM_UPDATE_REGION, GNI_MEM_PHYS_SEGMENTS,
		GNI_MEM_CUDA, 1U << 31, 1U << 20,
	};
	char *buf = map_private(PAGE);
	gni_mem_handle_t mh = { 1, 2 };
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		is_rc(reg(buf, PAGE, bad[i], &mh), GNI_RC_INVALID_PARAM, "flags %#x", bad[i]);
	ok(mh.qword1 == 1 && mh.qword2 == 2, "a failure leaves the handle alone");
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		is_rc(reg(buf, PAGE, good[i], &mh), GNI_RC_SUCCESS, "flags %#x", good[i]);
		is_u64(mh.qword2 >> 34 & KGNI_MH_V2, 0, "flags %#x", good[i]);
		is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	}
}

static void test_bad_ranges(void)
{
	unsigned char *buf = map_private(8 * PAGE);
	gni_mem_handle_t mh = { 1, 2 };
	uint64_t before;
	unsigned int i;
	static const struct {
		uint64_t addr, len;
	} bad[] = {
		{ 0, PAGE }, { 0, ~0ULL }, { 8, PAGE }, { ~0ULL, 1 }, { ~0ULL - 4095, 4096 },
		{ ~0ULL - 4095, 4095 }, { 0x7ffffffff000, PAGE }, { 0x7fffffffe000, 4 * PAGE },
		{ 0x800000000000, PAGE }, { 0xffff800000000000, PAGE },
		{ 0xffffffff81000000, PAGE }, { 0x123456789000, PAGE }, { 0x10000, 1ULL << 63 },
	};

	setup();
	before = mdds_used();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		is_rc(reg((void *)bad[i].addr, bad[i].len, 0, &mh), GNI_RC_INVALID_PARAM,
		      "%#llx+%#llx", (unsigned long long)bad[i].addr,
		      (unsigned long long)bad[i].len);
	is_rc(reg(buf, 0, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(buf, ~0ULL, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(buf, ~0ULL - (uint64_t)buf + 1, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(buf, 1ULL << 46, 0, &mh), GNI_RC_INVALID_PARAM);
	munmap(buf + 5 * PAGE, PAGE);
	is_rc(reg(buf, 8 * PAGE, 0, &mh), GNI_RC_INVALID_PARAM, "hole in the middle");
	is_rc(reg(buf + 5 * PAGE, PAGE, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(buf + 4 * PAGE, PAGE + 1, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(buf, PAGE, 0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemRegister(NULL, (uint64_t)buf, PAGE, NULL, 0, -1, &mh), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemRegister(nic.h, (uint64_t)buf, PAGE, (gni_cq_handle_t)buf, 0, -1, &mh),
	      GNI_RC_INVALID_PARAM);
	ok(mh.qword1 == 1 && mh.qword2 == 2, "failures leave the handle alone");
	is_u64(mdds_used(), before);
	is_rc(reg(buf, 5 * PAGE, 0, &mh), GNI_RC_SUCCESS);
}

static void test_read_only(void)
{
	char *buf = map_private(2 * PAGE), *local = map_private(PAGE);
	gni_mem_handle_t mh, lmh;

	setup();
	fill(buf, 2 * PAGE, 1);
	mem_open(&nic, local, PAGE, NULL, 0, &lmh);
	must(!mprotect(buf, PAGE, PROT_READ));
	is_rc(reg(buf, PAGE, GNI_MEM_READWRITE, &mh), GNI_RC_PERMISSION_ERROR);
	is_rc(reg(buf, 2 * PAGE, GNI_MEM_READWRITE, &mh), GNI_RC_PERMISSION_ERROR,
	      "half of it");
	must_do(reg(buf, PAGE, GNI_MEM_READ_ONLY, &mh));
	is_rc(put_to(&mh, buf, local, 64), GNI_RC_TRANSACTION_ERROR);
	ok(filled(buf, PAGE, 1));
	is_rc(get_from(&mh, buf, local, &lmh, PAGE), GNI_RC_SUCCESS);
	ok(filled(local, PAGE, 1));
	is_rc(get_from(&lmh, local, buf, &mh, 64), GNI_RC_PERMISSION_ERROR, "get into it");
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	/* A registration that may only be read, of memory that may be written. */
	must(!mprotect(buf, PAGE, PROT_READ | PROT_WRITE));
	must_do(reg(buf, PAGE, GNI_MEM_READ_ONLY, &mh));
	is_rc(put_to(&mh, buf, local, 64), GNI_RC_TRANSACTION_ERROR);
	ok(filled(buf, PAGE, 1));
}

/* Sources are often registered before they are written for the first time. */
static void test_read_only_then_written(void)
{
	int fd = memfd_create("mem", 0);
	char *buf = map_private(4 * PAGE), *local = map_private(4 * PAGE);
	gni_mem_handle_t mh, lmh, fmh;
	char *file;

	setup();
	must(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	must(file != MAP_FAILED);
	mem_open(&nic, local, 4 * PAGE, NULL, 0, &lmh);
	ok(buf[PAGE] == 0, "the page of zeros is mapped");
	ok(file[PAGE] == 0, "a page of the file is mapped");
	must_do(reg(buf, 4 * PAGE, GNI_MEM_READ_ONLY, &mh));
	must_do(reg(file, 4 * PAGE, GNI_MEM_READ_ONLY, &fmh));
	fill(buf, 4 * PAGE, 3);
	fill(file, 4 * PAGE, 4);
	is_rc(get_from(&mh, buf, local, &lmh, 4 * PAGE), GNI_RC_SUCCESS);
	ok(filled(local, 4 * PAGE, 3), "private memory");
	is_rc(get_from(&fmh, file, local, &lmh, 4 * PAGE), GNI_RC_SUCCESS);
	ok(filled(local, 4 * PAGE, 4), "private mapping of a file");
}

static void test_no_access(void)
{
	char *buf = map_private(PAGE);
	gni_mem_handle_t mh;
	gni_return_t rc;

	setup();
	must(!mprotect(buf, PAGE, PROT_NONE));
	rc = reg(buf, PAGE, GNI_MEM_READ_ONLY, &mh);
	ok(rc == GNI_RC_PERMISSION_ERROR || rc == GNI_RC_INVALID_PARAM, "%s", rc_name(rc));
}

#define MANY	4095

static void test_many(void)
{
	static gni_mem_handle_t mh[MANY + 1];
	static unsigned char seen[4096];
	char *buf = map_private(PAGE);
	struct kgni_mh parts;
	int i;

	setup();
	for (i = 0; i < MANY; i++) {
		must_do(reg(buf, PAGE, 0, &mh[i]));
		kgni_mh_unpack(mh[i].qword1, mh[i].qword2, &parts);
		ok(!seen[parts.mdh], "mdh %u twice", parts.mdh);
		seen[parts.mdh] = 1;
	}
	is_rc(reg(buf, PAGE, 0, &mh[MANY]), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_MemDeregister(nic.h, &mh[1234]), GNI_RC_SUCCESS);
	is_rc(reg(buf, PAGE, 0, &mh[1234]), GNI_RC_SUCCESS, "after one is free");
	is_rc(reg(buf, PAGE, 0, &mh[MANY]), GNI_RC_ERROR_RESOURCE);
	is_rc(put_to(&mh[MANY - 1], buf, "text", 5), GNI_RC_SUCCESS);
	ok(!strcmp(buf, "text"));
	for (i = 0; i < MANY; i++)
		is_rc(GNI_MemDeregister(nic.h, &mh[i]), GNI_RC_SUCCESS, "%d", i);
	is_u64(mdds_used(), 0);
}

static void test_overlap(void)
{
	char *buf = map_private(4 * PAGE), src[64];
	gni_mem_handle_t all, twin, part;

	setup();
	must_do(reg(buf, 4 * PAGE, 0, &all));
	must_do(reg(buf, 4 * PAGE, 0, &twin));
	must_do(reg(buf + PAGE + 100, PAGE, 0, &part));
	ok(memcmp(&all, &twin, sizeof(all)), "each has a handle of its own");
	fill(src, 64, 1);
	is_rc(put_to(&all, buf + PAGE + 200, src, 64), GNI_RC_SUCCESS);
	ok(filled(buf + PAGE + 200, 64, 1));
	fill(src, 64, 2);
	is_rc(put_to(&part, buf + PAGE + 200, src, 64), GNI_RC_SUCCESS);
	ok(filled(buf + PAGE + 200, 64, 2));
	is_rc(GNI_MemDeregister(nic.h, &all), GNI_RC_SUCCESS);
	fill(src, 64, 3);
	is_rc(put_to(&twin, buf + PAGE + 200, src, 64), GNI_RC_SUCCESS);
	ok(filled(buf + PAGE + 200, 64, 3));
	is_rc(GNI_MemDeregister(nic.h, &twin), GNI_RC_SUCCESS);
	is_rc(put_to(&twin, buf + PAGE + 200, src, 64), GNI_RC_TRANSACTION_ERROR);
	is_rc(put_to(&part, buf + PAGE + 200, src, 64), GNI_RC_SUCCESS);
	is_rc(put_to(&part, buf + PAGE - 1, src, 64), GNI_RC_TRANSACTION_ERROR, "before");
	is_rc(put_to(&part, buf + 3 * PAGE - 63, src, 64), GNI_RC_TRANSACTION_ERROR, "after");
}

static void deregister_foreign(void *arg)
{
	struct nic other;

	nic_open(&other, 0, 9);
	is_rc(GNI_MemDeregister(other.h, arg), GNI_RC_INVALID_PARAM, "of another process");
	nic_close(&other);
}

static void test_deregister(void)
{
	char *buf = map_private(16 * PAGE);
	gni_mem_handle_t mh, stale, *shared = map_shared(sizeof(*shared));
	struct nic other;
	int i;

	setup();
	must_do(reg(buf, PAGE, 0, &mh));
	nic_open(&other, 0, 2);
	is_rc(GNI_MemDeregister(other.h, &mh), GNI_RC_INVALID_PARAM, "of another attachment");
	*shared = mh;
	reap(peer(deregister_foreign, shared));
	is_rc(put_to(&mh, buf, "x", 1), GNI_RC_SUCCESS, "it still lives");
	is_rc(GNI_MemDeregister(NULL, &mh), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemDeregister(nic.h, NULL), GNI_RC_INVALID_PARAM);
	stale = mh;
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(nic.h, &stale), GNI_RC_INVALID_PARAM, "twice");
	/* Other regions, some with the number that the stale handle has. */
	for (i = 0; i < 5000; i++) {
		must_do(reg(buf + (1 + i % 8) * PAGE, PAGE, 0, &mh));
		if (!(i % 50))
			is_rc(GNI_MemDeregister(nic.h, &stale), GNI_RC_INVALID_PARAM,
			      "stale, turn %d", i);
		is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS, "turn %d", i);
	}
	memset(&mh, 0, sizeof(mh));
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_INVALID_PARAM, "zeros");
	memset(&mh, 0xff, sizeof(mh));
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_INVALID_PARAM, "ones");
}

static void test_unmapped_first(void)
{
	char *buf = map_private(4 * PAGE), *again;
	gni_mem_handle_t mh;

	setup();
	must_do(reg(buf, 4 * PAGE, 0, &mh));
	munmap(buf, 4 * PAGE);
	is_rc(put_to(&mh, buf + PAGE, "x", 1), GNI_RC_SUCCESS, "its pages are still held");
	again = mmap(buf, 4 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	must(again == buf);
	is_rc(put_to(&mh, buf + PAGE, "x", 1), GNI_RC_SUCCESS);
	ok(all_bytes(again, 4 * PAGE, 0), "new pages at the same place are not touched");
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
}

static void test_files(void)
{
	int fd = memfd_create("mem", 0);
	char *map, local[PAGE], seen[PAGE];
	gni_mem_handle_t mh;

	setup();
	must(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED);
	must_do(reg(map, 4 * PAGE, 0, &mh));
	fill(local, PAGE, 6);
	is_rc(put_to(&mh, map + PAGE, local, PAGE), GNI_RC_SUCCESS);
	ok(pread(fd, seen, PAGE, PAGE) == (ssize_t)PAGE && filled(seen, PAGE, 6));
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	must(!munmap(map, 4 * PAGE));
	/* Beyond the file's end there is nothing. */
	map = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	is_rc(reg(map, 8 * PAGE, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(map, 4 * PAGE, 0, &mh), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	/* The program's own text. */
	is_rc(reg((void *)((uintptr_t)test_files & ~(PAGE - 1)), PAGE, GNI_MEM_READ_ONLY, &mh),
	      GNI_RC_SUCCESS);
	is_rc(reg((void *)((uintptr_t)test_files & ~(PAGE - 1)), PAGE, 0, &mh),
	      GNI_RC_PERMISSION_ERROR);
}

static void test_stack(void)
{
	static uint64_t global;
	volatile uint64_t flag = 0;
	gni_mem_handle_t mh, gmh;
	uint64_t one = 1;

	setup();
	must_do(reg((void *)&flag, 8, 0, &mh));
	must_do(reg(&global, 8, 0, &gmh));
	is_rc(put_to(&mh, (void *)&flag, &one, 8), GNI_RC_SUCCESS);
	is_rc(put_to(&gmh, &global, &one, 8), GNI_RC_SUCCESS);
	ok(flag == 1 && global == 1);
}

static char *forked;

static void child_after_fork(void *arg)
{
	(void)arg;
	give(0);
	take(1);
	ok(filled(forked, 4 * PAGE, 1), "what the child has since fork() stays");
	memset(forked, 9, 4 * PAGE);
	give(2);
	take(3);
}

/* A registered page stays its owner's when the owner forks and both write. */
static void test_fork(void)
{
	char *src = map_private(4 * PAGE);
	gni_mem_handle_t mh;
	pid_t pid;

	setup();
	forked = map_private(4 * PAGE);
	fill(forked, 4 * PAGE, 1);
	must_do(reg(forked, 4 * PAGE, 0, &mh));
	pid = peer(child_after_fork, NULL);
	take(0);
	forked[0] = 55;
	fill(src, 4 * PAGE, 2);
	is_rc(put_to(&mh, forked, src, 4 * PAGE), GNI_RC_SUCCESS);
	ok(filled(forked, 4 * PAGE, 2), "the parent sees what arrives");
	give(1);
	take(2);
	ok(filled(forked, 4 * PAGE, 2), "but not what the child writes");
	fill(src, 4 * PAGE, 3);
	is_rc(put_to(&mh, forked, src, 4 * PAGE), GNI_RC_SUCCESS);
	ok(filled(forked, 4 * PAGE, 3));
	give(3);
	reap(pid);
	/* The child's end has taken nothing from the parent. */
	is_rc(put_to(&mh, forked, "abc", 4), GNI_RC_SUCCESS);
	ok(!strcmp(forked, "abc"));
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
}

static void exec_something(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

static void test_exec(void)
{
	char *buf = map_private(PAGE);
	gni_mem_handle_t mh;

	setup();
	must_do(reg(buf, PAGE, 0, &mh));
	reap(peer(exec_something, NULL));
	is_rc(put_to(&mh, buf, "abc", 4), GNI_RC_SUCCESS);
	ok(!strcmp(buf, "abc"));
}

static void test_large(void)
{
	enum { MB = 256 };
	char *buf = map_private((uint64_t)MB << 20);
	gni_mem_handle_t mh;

	setup();
	must_do(reg(buf, (uint64_t)MB << 20, 0, &mh));
	is_rc(put_to(&mh, buf + ((uint64_t)MB << 20) - 5, "1234", 5), GNI_RC_SUCCESS);
	ok(!strcmp(buf + ((uint64_t)MB << 20) - 5, "1234"));
	is_rc(put_to(&mh, buf + ((uint64_t)MB << 20) - 4, "1234", 5), GNI_RC_TRANSACTION_ERROR);
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
}

/* --- as a plain user ----------------------------------------------------------- */

#define LIMIT_PAGES	100

/* Of RLIMIT_MEMLOCK, so that rings of queues find room as well. */
static void set_limit(rlim_t pages)
{
	struct rlimit limit = { pages * PAGE, LIMIT_PAGES * PAGE };

	must(!setrlimit(RLIMIT_MEMLOCK, &limit));
}

/* How many pages can be registered: what the limit leaves beside the rings. */
static uint64_t room(void *buf)
{
	gni_mem_handle_t mh;
	uint64_t n;

	for (n = LIMIT_PAGES + 1; n; n--) {
		gni_return_t rc = reg(buf, n * PAGE, 0, &mh);

		if (rc == GNI_RC_SUCCESS) {
			is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
			break;
		}
		is_rc(rc, GNI_RC_ERROR_RESOURCE, "%llu pages", (unsigned long long)n);
	}
	ok(n > LIMIT_PAGES / 2 && n <= LIMIT_PAGES, "room for %llu pages", (unsigned long long)n);
	return n;
}

static void test_memlock(void)
{
	gni_mem_handle_t mh[2], extra;
	gni_cq_handle_t cq;
	struct nic other;
	char *buf = map_private(4 * LIMIT_PAGES * PAGE);
	uint64_t n;

	setup();
	nic_open(&other, 0, 2);
	set_limit(LIMIT_PAGES);
	n = room(buf);
	must_do(reg(buf, (n - 1) * PAGE, 0, &mh[0]));
	must_do(GNI_MemRegister(other.h, (uint64_t)buf, PAGE, NULL, 0, -1, &mh[1]));
	is_rc(reg(buf, 1, 0, &extra), GNI_RC_ERROR_RESOURCE, "another NIC's pages count");
	is_rc(GNI_CqCreate(nic.h, 512, 0, 0, NULL, NULL, &cq), GNI_RC_ERROR_RESOURCE,
	      "so do those of rings");
	is_rc(GNI_MemDeregister(other.h, &mh[1]), GNI_RC_SUCCESS);
	is_rc(reg(buf, 1, 0, &extra), GNI_RC_SUCCESS, "pages given back count no more");
	is_rc(GNI_MemDeregister(nic.h, &extra), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(nic.h, &mh[0]), GNI_RC_SUCCESS);
	is_u64(room(buf), n);
	/* Nor do those of an attachment that ends with them. */
	must_do(GNI_MemRegister(other.h, (uint64_t)buf, n * PAGE, NULL, 0, -1, &mh[1]));
	is_rc(reg(buf, 1, 0, &extra), GNI_RC_ERROR_RESOURCE);
	nic_close(&other);
	is_rc(reg(buf, n * PAGE, 0, &extra), GNI_RC_SUCCESS);
	set_limit(0);
	is_rc(reg(buf, 1, 0, &extra), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_CqCreate(nic.h, 1, 0, 0, NULL, NULL, &cq), GNI_RC_ERROR_RESOURCE);
}

static void test_failures_not_counted(void)
{
	char *buf = map_private(LIMIT_PAGES * PAGE), *hole = map_private(LIMIT_PAGES * PAGE);
	gni_mem_handle_t mh;
	uint64_t n;
	int i;

	setup();
	must(!munmap(hole + PAGE, PAGE));
	set_limit(LIMIT_PAGES);
	n = room(buf);
	for (i = 0; i < 10; i++) {
		is_rc(reg(hole, 40 * PAGE, 0, &mh), GNI_RC_INVALID_PARAM, "turn %d", i);
		is_rc(reg(buf, 40 * PAGE, GNI_MEM_CUDA, &mh), GNI_RC_INVALID_PARAM, "turn %d", i);
	}
	is_rc(reg(buf, n * PAGE, 0, &mh), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(nic.h, &mh), GNI_RC_SUCCESS);
	must(!mprotect(buf, PAGE, PROT_READ));
	for (i = 0; i < 10; i++)
		is_rc(reg(buf, 40 * PAGE, 0, &mh), GNI_RC_PERMISSION_ERROR, "turn %d", i);
	is_rc(reg(buf, n * PAGE, GNI_MEM_READ_ONLY, &mh), GNI_RC_SUCCESS);
}

static void exec_with_pins(void *arg)
{
	char *buf = map_private(LIMIT_PAGES * PAGE);
	gni_mem_handle_t mh;

	(void)arg;
	setup();
	set_limit(LIMIT_PAGES);
	must_do(reg(buf, room(buf) * PAGE, 0, &mh));
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* A process that becomes another program gives back what it had pinned. */
static void test_exec_gives_back(void)
{
	char *buf = map_private(LIMIT_PAGES * PAGE);
	uint64_t n;

	setup();
	set_limit(LIMIT_PAGES);
	n = room(buf);
	reap(peer(exec_with_pins, NULL));
	is_u64(room(buf), n);
}

static const struct test tests[] = {
	CASE("handles and their attributes", test_handle),
	CASE("alignments and lengths", test_alignments),
	CASE("flags", test_flags),
	CASE("bad ranges", test_bad_ranges),
	CASE("read-only memory and registrations", test_read_only),
	CASE("read-only registration, written afterwards", test_read_only_then_written),
	CASE("memory without access", test_no_access),
	CASE("4095 registrations and no more", test_many),
	CASE("overlapping and repeated registrations", test_overlap),
	CASE("deregistration: twice, stale, foreign", test_deregister),
	CASE("unmapped before deregistration", test_unmapped_first),
	CASE("file mappings", test_files),
	CASE("stack and globals", test_stack),
	CASE("fork", test_fork),
	CASE("fork and exec", test_exec),
	CASE("a large region", test_large),
};

static const struct test user_tests[] = {
	CASE("RLIMIT_MEMLOCK", test_memlock),
	CASE("failures don't count against RLIMIT_MEMLOCK", test_failures_not_counted),
	CASE("exec gives pages back", test_exec_gives_back),
	CASE("4095 registrations and no more", test_many),
	CASE("fork", test_fork),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	return RUN_TESTS(tests);
}
