// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory: what of a range may be pinned, segments, ranges that are filled
 * piece by piece, and that all of it is given back, whatever failed.
 */
#include <linux/mman.h>

#include "kgt.h"
#include "../../kernel/mem.c"

#define P	PAGE_SIZE
#define RW	(PROT_READ | PROT_WRITE)
#define N	8	/* pages of user memory */

/* When a case ends, nothing may be pinned or charged: the device looks. */
static void watch(struct kunit *test)
{
	kgt_device(test, KGT_PE);
}

static long pin_new(const struct kgni_segment *seg, u32 count, u32 flags, struct kgni_mem **mem)
{
	long rc;

	kgt_mm_begin();
	rc = kgni_mem_new(seg, count, flags, mem);
	kgt_mm_end();
	return rc;
}

static long update(struct kgni_mem *mem, unsigned long first, u64 addr, unsigned long npages)
{
	long rc;

	kgt_mm_begin();
	rc = kgni_mem_update(mem, first, addr, npages);
	kgt_mm_end();
	return rc;
}

static struct kgni_mem *reserve(struct kunit *test, u64 addr, unsigned long npages, u32 flags)
{
	struct kgni_segment seg = { addr, npages * P };
	struct kgni_mem *mem = NULL;

	KUNIT_ASSERT_EQ(test, pin_new(&seg, 1, flags | GNI_MEM_RESERVE_REGION, &mem), 0);
	return mem;
}

/* N pages that hold their number, from 1, and where the kernel has them. */
static unsigned long numbered(struct kunit *test, struct page **pages)
{
	unsigned long i, user = kgt_user(test, N * P, RW);
	long rc;

	for (i = 0; i < N; i++)
		kgt_poke(user + i * P, i + 1);
	kgt_mm_begin();
	rc = kgni_pin(user, N, FOLL_WRITE, pages);
	kgt_mm_end();
	KUNIT_ASSERT_EQ(test, rc, 0);
	unpin_user_pages(pages, N);
	return user;
}

static u32 pins(struct page *page)
{
	return page_count(page) / GUP_PIN_COUNTING_BIAS;
}

static u32 pins_of_all(struct page **pages)
{
	u32 i, n = 0;

	for (i = 0; i < N; i++)
		n += pins(pages[i]);
	return n;
}

/* --- what may be done with a range ------------------------------------------ */

#define HOLE	~0U

static const struct access {
	const char *name;
	u32 prot[4];		/* of pages that lie side by side */
	u32 first, n;
	unsigned long access;
} accesses[] = {
	{ "one mapping", { RW, RW, RW, RW }, 0, 4, VM_READ | VM_WRITE },
	{ "a page that can be read only", { RW, PROT_READ, RW, RW }, 0, 4, VM_READ },
	{ "that page alone", { RW, PROT_READ, RW, RW }, 1, 1, VM_READ },
	{ "what is behind it", { RW, PROT_READ, RW, RW }, 2, 2, VM_READ | VM_WRITE },
	{ "a page that can be written only", { RW, PROT_WRITE, RW, RW }, 0, 4, VM_WRITE },
	{ "reading here, writing there", { PROT_READ, PROT_WRITE, RW, RW }, 0, 2, 0 },
	{ "no access", { RW, RW, PROT_NONE, RW }, 0, 4, 0 },
	{ "a hole", { RW, HOLE, RW, RW }, 0, 4, 0 },
	{ "a hole first", { HOLE, RW, RW, RW }, 0, 4, 0 },
	{ "a hole last", { RW, RW, RW, HOLE }, 0, 4, 0 },
	{ "up to a hole", { RW, RW, RW, HOLE }, 0, 3, VM_READ | VM_WRITE },
	{ "nothing but a hole", { RW, HOLE, HOLE, RW }, 1, 2, 0 },
};

static void access_desc(const struct access *a, char *desc)
{
	strscpy(desc, a->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(access, accesses, access_desc);

static unsigned long mapped_so(struct kunit *test, const struct access *a)
{
	unsigned long user = kgt_user(test, 4 * P, RW);
	u32 i;

	for (i = 0; i < 4; i++) {
		if (a->prot[i] == HOLE)
			kgt_unmap(user + i * P, P);
		else if (a->prot[i] != RW)
			kgt_remap(test, user + i * P, P, a->prot[i]);
	}
	return user;
}

static void access_of_a_range(struct kunit *test)
{
	const struct access *a = test->param_value;
	unsigned long user = mapped_so(test, a), got;

	kgt_mm_begin();
	got = kgni_range_access(user + a->first * P, a->n);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, got, a->access);
}

/* The same ranges, pinned for writing and for reading, at once and piece by piece. */
static void pinned_if_access_allows(struct kunit *test)
{
	const struct access *a = test->param_value;
	unsigned long user = mapped_so(test, a);
	struct kgni_segment seg = { user + a->first * P, a->n * P };
	const u32 flags[] = { 0, GNI_MEM_READ_ONLY };
	struct kgni_mem *mem, *region;
	long want;
	u32 i;

	watch(test);
	for (i = 0; i < 2; i++) {
		want = GNI_RC_SUCCESS;
		if (!(a->access & VM_READ))
			want = GNI_RC_INVALID_PARAM;
		else if (!flags[i] && !(a->access & VM_WRITE))
			want = GNI_RC_PERMISSION_ERROR;
		region = reserve(test, user, 4, flags[i]);
		KUNIT_EXPECT_EQ(test, update(region, a->first, seg.addr, a->n), want);
		KUNIT_EXPECT_EQ(test, kgni_mem_present(region, a->first, a->n), !want);
		KUNIT_EXPECT_EQ(test, region->live, !want);
		kgni_mem_put(region);
		KUNIT_EXPECT_EQ(test, pin_new(&seg, 1, flags[i], &mem), want);
		if (!want)
			kgni_mem_put(mem);
	}
}

/* --- segments --------------------------------------------------------------- */

static const struct segmented {
	const char *name;
	struct kgni_segment seg[4];	/* from the begin of the memory */
	u32 count, flags;
	long rc;
	u8 pages[N + 1];		/* numbers of the pages, in order, and 0 */
} segmenteds[] = {
	{ "one page", { { 0, P } }, 1, 0, 0, { 1 } },
	{ "one byte", { { 3 * P + 7, 1 } }, 1, 0, 0, { 4 } },
	{ "two bytes of two pages", { { P - 1, 2 } }, 1, 0, 0, { 1, 2 } },
	{ "not in order", { { 6 * P, 2 * P }, { 0, P }, { 3 * P, 2 * P } }, 3, 0, 0,
	  { 7, 8, 1, 4, 5 } },
	{ "one after the other", { { 0, P }, { P, P }, { 2 * P, P } }, 3, 0, 0, { 1, 2, 3 } },
	{ "one page three times", { { P, P }, { P, P }, { P, P } }, 3, 0, 0, { 2, 2, 2 } },
	{ "the first from its middle on", { { P + 5, P - 5 }, { 4 * P, P } }, 2, 0, 0, { 2, 5 } },
	{ "the last to its middle", { { P, P }, { 4 * P, P + 1 } }, 2, 0, 0, { 2, 5, 6 } },
	{ "the first to its middle", { { P, 5 }, { 4 * P, P } }, 2, 0, GNI_RC_INVALID_PARAM },
	{ "the last from its middle on", { { P, P }, { 4 * P + 5, P - 5 } }, 2, 0,
	  GNI_RC_INVALID_PARAM },
	{ "one between that is no page", { { P, P }, { 4 * P, 8 }, { 6 * P, P } }, 3, 0,
	  GNI_RC_INVALID_PARAM },
	{ "none", {}, 0, 0, GNI_RC_INVALID_PARAM },
	{ "an empty one", { { 0, P }, { P, 0 } }, 2, 0, GNI_RC_INVALID_PARAM },
	{ "one that wraps", { { 0, P }, { P, -2 * P } }, 2, 0, GNI_RC_INVALID_PARAM },
	{ "one that is not mapped", { { 0, P }, { N * P, P } }, 2, 0, GNI_RC_INVALID_PARAM },
	{ "one that cannot be written", { { 0, P }, { (N + 1) * P, P } }, 2, 0,
	  GNI_RC_PERMISSION_ERROR },
	{ "one that cannot be written, first", { { (N + 1) * P, P }, { 0, P } }, 2, 0,
	  GNI_RC_PERMISSION_ERROR },
	{ "one that cannot be written, and need not", { { (N + 1) * P, P }, { 0, P } }, 2,
	  GNI_MEM_READ_ONLY, 0, { N + 2, 1 } },
};

static void segmented_desc(const struct segmented *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(segmented, segmenteds, segmented_desc);

/* N pages with numbers, a hole, and one that cannot be written. */
static unsigned long segmented_user(struct kunit *test)
{
	unsigned long i, user = kgt_user(test, (N + 2) * P, RW);

	for (i = 0; i < N; i++)
		kgt_poke(user + i * P, i + 1);
	kgt_unmap(user + N * P, P);
	kgt_remap(test, user + (N + 1) * P, P, PROT_READ);
	return user;
}

static void segments(struct kunit *test)
{
	const struct segmented *s = test->param_value;
	unsigned long i, user = segmented_user(test);
	struct kgni_segment seg[4];
	struct kgni_mem *mem;

	watch(test);
	for (i = 0; i < 4; i++)
		seg[i] = (struct kgni_segment) { user + s->seg[i].addr, s->seg[i].length };
	KUNIT_ASSERT_EQ(test, pin_new(seg, s->count, s->flags, &mem), s->rc);
	if (s->rc)
		return;
	KUNIT_EXPECT_EQ(test, mem->npages, strlen(s->pages));
	for (i = 0; i < mem->npages && s->pages[i] <= N; i++)
		KUNIT_EXPECT_EQ(test, *(u8 *)page_address(mem->pages[i]), s->pages[i]);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mem->mm->pinned_vm), mem->npages);
	KUNIT_EXPECT_TRUE(test, kgni_mem_present(mem, 0, mem->npages));
	kgni_mem_put(mem);
}

static void more_than_there_is(struct kunit *test)
{
	struct kgni_segment seg = { 1 << 20, 1ULL << 46 };
	struct kgni_mem *mem;

	watch(test);
	KUNIT_EXPECT_EQ(test, pin_new(&seg, 1, GNI_MEM_RESERVE_REGION, &mem),
			GNI_RC_ERROR_RESOURCE);
}

#ifdef CONFIG_FAULT_INJECTION
/* The pin after @after that succeed fails, and no other. */
static void fail_pin(int after)
{
	atomic_set(&kgni_fail_pin.space, after + 1);
	atomic_set(&kgni_fail_pin.times, 1);
	kgni_fail_pin.interval = 1;
	kgni_fail_pin.probability = 100;
}

static int fail_pin_end(void)
{
	kgni_fail_pin.probability = 0;
	return atomic_read(&kgni_fail_pin.times);
}
#else
static void fail_pin(int after)
{
}

static int fail_pin_end(void)
{
	return -1;
}
#endif

static const u32 nths[] = { 0, 1, 2, 3 };

static void nth_desc(const u32 *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "pin %u", *n);
}

KUNIT_ARRAY_PARAM(nth, nths, nth_desc);

/* Of four segments one cannot be pinned: none is. */
static void segment_that_fails(struct kunit *test)
{
	u32 nth = *(const u32 *)test->param_value;
	struct kgni_segment seg[4];
	struct page *pages[N];
	unsigned long i, user = numbered(test, pages);
	struct kgni_mem *mem;
	long rc;

	if (!IS_ENABLED(CONFIG_FAULT_INJECTION))
		kunit_skip(test, "no fault injection");
	watch(test);
	for (i = 0; i < 4; i++)
		seg[i] = (struct kgni_segment) { user + i * 2 * P, 2 * P };
	fail_pin(nth);
	rc = pin_new(seg, 4, 0, &mem);
	KUNIT_EXPECT_EQ(test, fail_pin_end(), 0);
	KUNIT_EXPECT_EQ(test, rc, -ENOMEM);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
	KUNIT_ASSERT_EQ(test, pin_new(seg, 4, 0, &mem), 0);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), N);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
}

/* --- ranges that are filled piece by piece ---------------------------------- */

static bool present(const struct kgni_mem *mem, const char *want)
{
	unsigned long i;

	for (i = 0; want[i]; i++)
		if (kgni_mem_present(mem, i, 1) != (want[i] == 'x'))
			return false;
	return true;
}

static void filled_piece_by_piece(struct kunit *test)
{
	struct page *pages[N];
	unsigned long user = numbered(test, pages);
	struct kgni_mem *mem;

	watch(test);
	mem = reserve(test, user, N, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mem->mm->pinned_vm), N);
	KUNIT_EXPECT_TRUE(test, present(mem, "........"));
	KUNIT_EXPECT_FALSE(test, mem->live);
	KUNIT_EXPECT_EQ(test, update(mem, 2, user + 2 * P, 2), 0);
	KUNIT_EXPECT_TRUE(test, present(mem, "..xx...."));
	KUNIT_EXPECT_TRUE(test, mem->live);
	/* What is there stays, and is not pinned once more. */
	KUNIT_EXPECT_EQ(test, update(mem, 1, user + P, 3), 0);
	KUNIT_EXPECT_TRUE(test, present(mem, ".xxx...."));
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 3);
	KUNIT_EXPECT_EQ(test, update(mem, 7, user + 7 * P, 1), 0);
	KUNIT_EXPECT_TRUE(test, present(mem, ".xxx...x"));
	KUNIT_EXPECT_TRUE(test, kgni_mem_present(mem, 1, 3));
	KUNIT_EXPECT_FALSE(test, kgni_mem_present(mem, 0, 2));
	KUNIT_EXPECT_FALSE(test, kgni_mem_present(mem, 3, 2));
	KUNIT_EXPECT_FALSE(test, kgni_mem_present(mem, 0, N));
	KUNIT_EXPECT_EQ(test, update(mem, 0, user, N), 0);
	KUNIT_EXPECT_TRUE(test, present(mem, "xxxxxxxx"));
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), N);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mem->mm->pinned_vm), N);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
}

/* Nothing need be where a range is reserved. */
static void reserved_where_nothing_is(struct kunit *test)
{
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem *mem;

	watch(test);
	kgt_unmap(user, N * P);
	mem = reserve(test, user, N, 0);
	KUNIT_EXPECT_EQ(test, update(mem, 0, user, 1), GNI_RC_INVALID_PARAM);
	kgt_remap(test, user + P, 2 * P, RW);
	kgt_poke(user + P, 0x5a);
	KUNIT_EXPECT_EQ(test, update(mem, 0, user, 2), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_TRUE(test, present(mem, "........"));
	KUNIT_EXPECT_EQ(test, update(mem, 1, user + P, 2), 0);
	KUNIT_EXPECT_TRUE(test, present(mem, ".xx....."));
	KUNIT_EXPECT_EQ(test, *(u8 *)page_address(mem->pages[1]), 0x5a);
	kgni_mem_put(mem);
}

/* Another page at the address of one that is there: all of the update is refused. */
static void page_that_was_replaced(struct kunit *test)
{
	struct page *pages[N], *anew[N];
	unsigned long user = numbered(test, pages);
	struct kgni_mem *mem;
	long rc;

	watch(test);
	mem = reserve(test, user, N, 0);
	KUNIT_EXPECT_EQ(test, update(mem, 3, user + 3 * P, 1), 0);
	kgt_remap(test, user, N * P, RW);
	KUNIT_EXPECT_EQ(test, update(mem, 2, user + 2 * P, 3), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_TRUE(test, present(mem, "...x...."));
	KUNIT_EXPECT_PTR_EQ(test, mem->pages[3], pages[3]);
	KUNIT_EXPECT_EQ(test, pins(pages[3]), 1);
	KUNIT_EXPECT_EQ(test, update(mem, 0, user, 3), 0);
	kgt_mm_begin();
	rc = kgni_pin(user, N, FOLL_WRITE, anew);
	kgt_mm_end();
	KUNIT_ASSERT_EQ(test, rc, 0);
	unpin_user_pages(anew, N);
	KUNIT_EXPECT_EQ(test, pins_of_all(anew), 3);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(anew), 0);
}

static void update_that_fails(struct kunit *test)
{
	struct page *pages[N];
	unsigned long user = numbered(test, pages);
	struct kgni_mem *mem;

	watch(test);
	mem = reserve(test, user, N, 0);
	/* Who has another address space means another memory: here, none at all. */
	KUNIT_EXPECT_EQ(test, kgni_mem_update(mem, 0, user, N), GNI_RC_INVALID_PARAM);
	if (IS_ENABLED(CONFIG_FAULT_INJECTION)) {
		fail_pin(0);
		KUNIT_EXPECT_EQ(test, update(mem, 0, user, N), -ENOMEM);
		KUNIT_EXPECT_EQ(test, fail_pin_end(), 0);
	}
	KUNIT_EXPECT_TRUE(test, present(mem, "........"));
	KUNIT_EXPECT_FALSE(test, mem->live);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
	kgni_mem_put(mem);
}

struct updater {
	struct kgni_mem *mem;
	unsigned long user;
	u64 seed;
};

static long update_often(void *arg)
{
	struct updater *u = arg;
	unsigned long first, n;
	long rc = 0;
	u32 i;

	for (i = 0; i < 100 && !rc; i++) {
		first = kgt_rand(&u->seed) % N;
		n = 1 + kgt_rand(&u->seed) % (N - first);
		rc = update(u->mem, first, u->user + first * P, n);
		if (!rc && !kgni_mem_present(u->mem, first, n))
			rc = -EIO;
	}
	return rc;
}

/* Whoever comes first: each page is pinned once. */
static void many_update(struct kunit *test)
{
	struct updater *u = kunit_kcalloc(test, 4, sizeof(*u), GFP_KERNEL);
	struct kgt_thread *t[4];
	struct page *pages[N];
	unsigned long user = numbered(test, pages);
	struct kgni_mem *mem;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, u);
	watch(test);
	mem = reserve(test, user, N, 0);
	for (i = 0; i < 4; i++) {
		u[i] = (struct updater) { mem, user, i };
		t[i] = kgt_thread(test, update_often, &u[i]);
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), 0);
	for (i = 0; i < N; i++)
		KUNIT_EXPECT_EQ(test, pins(pages[i]), mem->pages[i] ? 1 : 0);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
}

/* --- the end ---------------------------------------------------------------- */

static const u32 endings[] = { GNI_MEM_READWRITE, GNI_MEM_READ_ONLY };

static void ending_desc(const u32 *flags, char *desc)
{
	strscpy(desc, *flags ? "read-only" : "read-write", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ending, endings, ending_desc);

/* Holes of all lengths between what is unpinned; the last holder ends it. */
static void ends_with_its_last_holder(struct kunit *test)
{
	u32 flags = *(const u32 *)test->param_value;
	const u32 there[] = { 1, 3, 4, 7 };
	struct page *pages[N];
	unsigned long user = numbered(test, pages);
	struct kgni_mem *mem;
	u32 i;

	watch(test);
	mem = reserve(test, user, N, flags);
	for (i = 0; i < ARRAY_SIZE(there); i++) {
		ClearPageDirty(pages[there[i]]);
		KUNIT_EXPECT_EQ(test, update(mem, there[i], user + there[i] * P, 1), 0);
	}
	kref_get(&mem->ref);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), ARRAY_SIZE(there));
	KUNIT_EXPECT_EQ(test, atomic64_read(&mem->mm->pinned_vm), N);
	kgni_mem_put(mem);
	KUNIT_EXPECT_EQ(test, pins_of_all(pages), 0);
	for (i = 0; i < ARRAY_SIZE(there); i++)
		KUNIT_EXPECT_EQ(test, PageDirty(pages[there[i]]), !flags);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(access_of_a_range, access_gen_params),
	KUNIT_CASE_PARAM(pinned_if_access_allows, access_gen_params),
	KUNIT_CASE_PARAM(segments, segmented_gen_params),
	KUNIT_CASE(more_than_there_is),
	KUNIT_CASE_PARAM(segment_that_fails, nth_gen_params),
	KUNIT_CASE(filled_piece_by_piece),
	KUNIT_CASE(reserved_where_nothing_is),
	KUNIT_CASE(page_that_was_replaced),
	KUNIT_CASE(update_that_fails),
	KUNIT_CASE(many_update),
	KUNIT_CASE_PARAM(ends_with_its_last_holder, ending_gen_params),
	{}
};

static struct kunit_suite mem_suite = {
	.name = "kgni_mem",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(mem_suite);
