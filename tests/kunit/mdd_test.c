// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory registrations, of the kernel's own pages and of user memory: life,
 * handles, copies.
 */
#include <linux/delay.h>
#include <linux/mman.h>

#include "kgt.h"
#include "../../kernel/mdd.c"

/* --- registrations of the kernel's own pages, for all suites --------------- */

/* As many references as pinning would take. */
static void fake_pin(struct page *page)
{
	page_ref_add(page, GUP_PIN_COUNTING_BIAS);
}

static void free_pages_of(struct kgt_mem *m)
{
	unsigned long i;

	for (i = 0; i < m->npages; i++) {
		if (!m->pages[i])
			continue;
		KUNIT_EXPECT_EQ_MSG(m->test, page_count(m->pages[i]), 1, "page %lu", i);
		__free_page(m->pages[i]);
	}
	kvfree(m->pages);
	kfree(m);
}

static void kgt_mem_free(struct kunit_resource *res)
{
	struct kgt_mem *m = res->data;

	if (m->f->nic)
		kgni_mdd_deregister(m->f->nic, &m->handle);
	free_pages_of(m);
}

/* Physical order is not that of addresses. */
static int kgt_mem_init(struct kunit_resource *res, void *context)
{
	struct kgt_mem *m = kmemdup(context, sizeof(*m), GFP_KERNEL);
	unsigned long i;

	if (!m)
		return -ENOMEM;
	m->pages = kvcalloc(m->npages, sizeof(*m->pages), GFP_KERNEL);
	for (i = m->npages; m->pages && i--;) {
		m->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!m->pages[i]) {
			free_pages_of(m);
			return -ENOMEM;
		}
	}
	res->data = m;
	return m->pages ? 0 : -ENOMEM;
}

static struct kgni_mem *kgt_mem_pinned(struct kgt_mem *m, u32 flags)
{
	struct kgni_mem *mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(m->test, mem);
	kref_init(&mem->ref);
	mutex_init(&mem->lock);
	mem->writable = !(flags & GNI_MEM_READ_ONLY);
	mem->npages = m->npages;
	mem->pages = kvmalloc_array(m->npages, sizeof(*m->pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(m->test, mem->pages);
	memcpy(mem->pages, m->pages, m->npages * sizeof(*m->pages));
	for (i = 0; i < m->npages; i++)
		fake_pin(m->pages[i]);
	kgni_pages_charge(&mem->user, m->npages);
	mem->mm = kgt_mm_get();
	atomic64_add(m->npages, &mem->mm->pinned_vm);
	return mem;
}

/* What kgni_mdd_add() does, with other pages. */
static void kgt_mem_register(struct kgt_mem *m, u32 flags, struct kgni_cq *cq)
{
	struct kgni_nic *nic = m->f->nic;
	struct kgni_mdd *mdd = kgni_mdd_new(nic, flags, nic->gfp);

	KUNIT_ASSERT_NOT_NULL(m->test, mdd);
	mdd->base = m->base;
	mdd->addr = m->base;
	mdd->length = (u64)m->npages << PAGE_SHIFT;
	kgni_mdd_set_mem(mdd, kgt_mem_pinned(m, flags), 0, m->npages);
	if (cq)
		kref_get(&cq->ref);
	mdd->cq = cq;
	mdd->charged = kgni_res_charge(nic->job, KGNI_RES_MDD);
	KUNIT_ASSERT_TRUE(m->test, mdd->charged);
	KUNIT_ASSERT_TRUE(m->test, kgni_res_charge_many(nic->job, KGNI_RES_IOMMU, m->npages));
	KUNIT_ASSERT_EQ(m->test, kgni_mdd_publish(nic, mdd, 0), GNI_RC_SUCCESS);
	m->mdd = mdd;
	kgni_mdd_handle(mdd, true, &m->handle);
}

struct kgt_mem *kgt_mem(struct kunit *test, struct kgni_file *f, unsigned long npages,
			u32 flags, struct kgni_cq *cq)
{
	static u64 next = 0x600000000000;
	struct kgt_mem arg = { .test = test, .f = f, .npages = npages, .base = next };
	struct kgt_mem *m = kunit_alloc_resource(test, kgt_mem_init, kgt_mem_free,
						 GFP_KERNEL, &arg);

	KUNIT_ASSERT_NOT_NULL(test, m);
	next += 0x10000000;
	kgt_mem_register(m, flags, cq);
	return m;
}

u8 *kgt_at(const struct kgt_mem *m, u64 addr)
{
	u64 offset = addr - m->base;

	if (offset >> PAGE_SHIFT >= m->npages) {
		KUNIT_FAIL(m->test, "the test looks at 0x%llx, beyond its memory", addr);
		offset = 0;
	}
	return (u8 *)page_address(m->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

u8 kgt_byte(u64 offset, u8 seed)
{
	return (offset * 0x9e3779b97f4a7c15ULL >> 56) + seed;
}

void kgt_fill(struct kgt_mem *m, u8 seed)
{
	u64 i, size = (u64)m->npages << PAGE_SHIFT;

	for (i = 0; i < size; i++)
		*kgt_at(m, m->base + i) = kgt_byte(i, seed);
}

u64 kgt_differ(const struct kgt_mem *m, u64 from, u64 to, u8 seed)
{
	u64 i, n = 0;

	for (i = from; i < to; i++)
		n += *kgt_at(m, m->base + i) != kgt_byte(i, seed);
	return n;
}

/* --- ranges and handles ---------------------------------------------------- */

/* An attachment with its device. */
static struct kgni_file *attached(struct kunit *test)
{
	return kgt_attach(test, kgt_device(test, KGT_PE), 1, KGT_COOKIE, 0);
}

#define P	PAGE_SIZE
#define BASE	0x10000ULL

static const struct extent {
	u64 addr, length;
	bool inside;		/* of 4 pages from BASE */
	unsigned long pages;	/* of the range itself */
} extents[] = {
	{ BASE, 1, true, 1 }, { BASE, P, true, 1 }, { BASE, P + 1, true, 2 },
	{ BASE, 4 * P, true, 4 }, { BASE, 4 * P + 1, false, 5 }, { BASE + P - 1, 2, true, 2 },
	{ BASE + 4 * P - 1, 1, true, 1 }, { BASE + 4 * P - 1, 2, false, 2 },
	{ BASE + 1, 4 * P, false, 5 }, { BASE + 1, 4 * P - 1, true, 4 },
	{ BASE - 1, 1, false, 1 }, { BASE - 1, 2, false, 2 }, { BASE + 4 * P, 1, false, 1 },
	{ BASE + 4 * P, 0, true, 0 }, { BASE + 4 * P + 1, 0, false, 0 }, { BASE - 1, 0, false, 0 },
	{ 0, 1, false, 1 }, { 0, U64_MAX, false, 0 }, { BASE, U64_MAX, false, 0 },
	{ BASE + P, U64_MAX - BASE - P + 1, false, 0 }, { U64_MAX, 1, false, 0 },
	{ U64_MAX, U64_MAX, false, 0 }, { 1ULL << 63, 1ULL << 63, false, 0 },
	{ 0x7ffffffff000 - P, P, false, 1 }, { 0x7ffffffff000 - 1, 2, false, 0 },
};

static void extent_desc(const struct extent *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "0x%llx bytes at 0x%llx", r->length, r->addr);
}

KUNIT_ARRAY_PARAM(extent, extents, extent_desc);

static void covers(struct kunit *test)
{
	const struct extent *r = test->param_value;
	struct kgni_mdd mdd = { .base = BASE, .npages = 4 };

	KUNIT_EXPECT_EQ(test, kgni_mdd_covers(&mdd, r->addr, r->length), r->inside);
}

static void pages_of_a_range(struct kunit *test)
{
	const struct extent *r = test->param_value;

	KUNIT_EXPECT_EQ(test, kgni_range_pages(r->addr, r->length), r->pages);
}

static const struct rebuilt {
	const char *name;
	u64 clear1, set1, clear2, set2;
	bool found;
} rebuilts[] = {
	{ .name = "as it was", .found = true },
	{ .name = "without checksum", .clear2 = 0xffULL << 56, .found = true },
	{ .name = "with other bits set", .set2 = 0x3fffULL << 42, .found = true },
	{ .name = "other length", .set2 = 0xfffffff, .found = true },
	{ .name = "other page size", .set2 = 63ULL << 28, .found = true },
	{ .name = "read-only flag", .set2 = (u64)KGNI_MH_READONLY << 34, .found = true },
	{ .name = "virtual index", .set2 = (u64)KGNI_MH_VMDH << 34 },
	{ .name = "mdh 0", .clear1 = 0xfffULL << 52 },
	{ .name = "other mdh", .set1 = 0x800ULL << 52 },
	{ .name = "address a page on", .set1 = 1 },
	{ .name = "other address", .set1 = 1ULL << 51 },
	{ .name = "address 0", .clear1 = (1ULL << 52) - 1 },
	{ .name = "all zero", .clear1 = U64_MAX, .clear2 = U64_MAX },
	{ .name = "all ones", .set1 = U64_MAX, .set2 = U64_MAX },
};

static void rebuilt_desc(const struct rebuilt *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rebuilt, rebuilts, rebuilt_desc);

static void find_by_rebuilt_handle(struct kunit *test)
{
	const struct rebuilt *r = test->param_value;
	struct kgt_mem *m = kgt_mem(test, attached(test), 1, 0, NULL);
	struct kgni_mem_handle h = m->handle;
	struct kgni_mdd *mdd;

	h.qword1 = (h.qword1 & ~r->clear1) | r->set1;
	h.qword2 = (h.qword2 & ~r->clear2) | r->set2;
	mdd = kgni_mdd_find(m->f->nic->job, &h);
	KUNIT_EXPECT_PTR_EQ(test, mdd, r->found ? m->mdd : NULL);
	KUNIT_EXPECT_EQ(test, kref_read(&m->mdd->ref), 1 + r->found);
	if (mdd)
		kgni_mdd_put(mdd);
}

static void find_in_its_job_only(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *other = kgt_attach(test, dev, 1, KGT_COOKIE + 1, 0);
	struct kgni_file *third = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgt_mem *m = kgt_mem(test, f, 1, 0, NULL);
	struct kgni_mdd *mdd;

	KUNIT_EXPECT_NULL(test, kgni_mdd_find(other->nic->job, &m->handle));
	mdd = kgni_mdd_find(third->nic->job, &m->handle);
	KUNIT_EXPECT_PTR_EQ(test, mdd, m->mdd);
	kgni_mdd_put(m->mdd);
}

static void handle_says(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgt_mem *m[2] = { kgt_mem(test, f, 3, 0, NULL),
				 kgt_mem(test, f, 5, GNI_MEM_READ_ONLY, NULL) };
	struct kgni_mh mh;
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, kgni_mh_unpack(m[i]->handle.qword1, m[i]->handle.qword2,
						       &mh));
		KUNIT_EXPECT_EQ(test, mh.va, m[i]->base);
		KUNIT_EXPECT_EQ(test, mh.npages, i ? 5 : 3);
		KUNIT_EXPECT_EQ(test, mh.page_shift, PAGE_SHIFT);
		KUNIT_EXPECT_EQ(test, mh.mdh, i + 1);
		KUNIT_EXPECT_EQ(test, mh.flags, i ? KGNI_MH_READONLY : 0);
	}
}

/* The first is freed, and yet not given out at once. */
static void mdhs_go_round(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgt_mem *first = kgt_mem(test, f, 1, 0, NULL);

	KUNIT_EXPECT_EQ(test, first->mdd->mdh, 1);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &first->handle), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_mem(test, f, 1, 0, NULL)->mdd->mdh, 2);
	f->nic->job->next_mdh = KGNI_MH_MDH_MAX;
	KUNIT_EXPECT_EQ(test, kgt_mem(test, f, 1, 0, NULL)->mdd->mdh, KGNI_MH_MDH_MAX);
	KUNIT_EXPECT_EQ(test, kgt_mem(test, f, 1, 0, NULL)->mdd->mdh, 1);
	KUNIT_EXPECT_EQ(test, kgt_mem(test, f, 1, 0, NULL)->mdd->mdh, 3);
}

/* --- the end of a registration --------------------------------------------- */

static void deregister(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *peer = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgt_mem *m = kgt_mem(test, f, 2, 0, kgt_cq(test, f, 4, 0));
	struct kgni_cq *cq = m->mdd->cq;
	u32 i;

	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 2);
	/* Each attachment ends its own only. */
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(peer->nic, &m->handle), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kref_read(&m->mdd->ref), 1);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1 + GUP_PIN_COUNTING_BIAS);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &m->handle), GNI_RC_SUCCESS);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, page_count(m->pages[i]), 1);
		KUNIT_EXPECT_TRUE(test, PageDirty(m->pages[i]));
	}
	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->nic->job->used[KGNI_RES_MDD]), 0);
	KUNIT_EXPECT_NULL(test, kgni_mdd_find(f->nic->job, &m->handle));
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &m->handle), GNI_RC_INVALID_PARAM);
}

static void read_only_pages_stay_clean(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgt_mem *m = kgt_mem(test, f, 1, GNI_MEM_READ_ONLY, NULL);

	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &m->handle), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, PageDirty(m->pages[0]));
}

static long deregister_thread(void *arg)
{
	struct kgt_mem *m = arg;

	return kgni_mdd_deregister(m->f->nic, &m->handle);
}

/* Once it is dead it is found no more, and entered no more. */
static bool is_ending(const struct kgni_mdd *mdd)
{
	return kgt_until(READ_ONCE(mdd->dead));
}

static void deregister_waits_for_users(struct kunit *test)
{
	struct kgt_mem *m = kgt_mem(test, attached(test), 1, 0, NULL);
	struct kgni_mdd *mdd = kgni_mdd_find(m->f->nic->job, &m->handle);
	struct kgt_thread *t;

	KUNIT_ASSERT_PTR_EQ(test, mdd, m->mdd);
	KUNIT_EXPECT_TRUE(test, kgni_mdd_enter(mdd));
	KUNIT_EXPECT_TRUE(test, kgni_mdd_enter(mdd));
	t = kgt_thread(test, deregister_thread, m);
	KUNIT_EXPECT_TRUE(test, is_ending(mdd));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_NULL(test, kgni_mdd_find(m->f->nic->job, &m->handle));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_enter(mdd));
	kgni_mdd_exit(mdd);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_GT(test, page_count(m->pages[0]), 1);
	kgni_mdd_exit(mdd);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1);
	/* The object is there as long as it is referenced, and of no use. */
	KUNIT_EXPECT_EQ(test, kref_read(&mdd->ref), 1);
	KUNIT_EXPECT_FALSE(test, kgni_mdd_enter(mdd));
	kgni_mdd_put(mdd);
}

static long close_thread(void *arg)
{
	kgt_close(arg);
	return 0;
}

static void end_of_all_waits_for_users(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgt_mem *m = kgt_mem(test, f, 1, 0, NULL);
	struct kgni_mdd *mdd = kgni_mdd_find(f->nic->job, &m->handle);
	struct kgt_thread *t;

	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_EXPECT_TRUE(test, kgni_mdd_enter(mdd));
	t = kgt_thread(test, close_thread, f);
	KUNIT_EXPECT_TRUE(test, is_ending(mdd));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_GT(test, page_count(m->pages[0]), 1);
	kgni_mdd_exit(mdd);
	kgt_join(t);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1);
	kgni_mdd_put(mdd);
}

struct busy {
	struct kgni_mdd *mdd;
	atomic_t users;
};

static long enter_and_exit(void *arg)
{
	struct busy *b = arg;
	long n;

	for (n = 0; kgni_mdd_enter(b->mdd); n++) {
		udelay(5);
		kgni_mdd_exit(b->mdd);
		if (!n)
			atomic_inc(&b->users);
		cond_resched();
	}
	return n;
}

/* The count may never be seen to reach zero by itself. */
static void busy_users_do_not_hold_it_up(struct kunit *test)
{
	struct kgt_mem *m = kgt_mem(test, attached(test), 1, 0, NULL);
	struct busy *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct kgt_thread *t[4];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->mdd = kgni_mdd_find(m->f->nic->job, &m->handle);
	KUNIT_ASSERT_NOT_NULL(test, b->mdd);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = kgt_thread(test, enter_and_exit, b);
	KUNIT_EXPECT_TRUE(test, kgt_until(atomic_read(&b->users) == ARRAY_SIZE(t)));
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(m->f->nic, &m->handle), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_GT(test, kgt_join(t[i]), 0);
	KUNIT_EXPECT_EQ(test, page_count(m->pages[0]), 1);
	kgni_mdd_put(b->mdd);
}

/* Of many that try to end one registration, one does. */
static void one_of_many_deregisters(struct kunit *test)
{
	struct kgt_mem *m = kgt_mem(test, attached(test), 1, 0, NULL);
	struct kgt_thread *t[6];
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = kgt_thread(test, deregister_thread, m);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		n += kgt_join(t[i]) == GNI_RC_SUCCESS;
	KUNIT_EXPECT_EQ(test, n, 1);
}

/* --- copies ---------------------------------------------------------------- */

static const struct piece {
	u32 to, from, n;
} pieces[] = {
	{ 0, 0, 0 }, { 0, 0, 1 }, { 5, 9, 4 }, { 8, 8, 8 }, { 4, 4, 4 }, { 4, 8, 8 }, { 1, 8, 8 },
	{ 2, 4, 4 }, { 8, 16, 16 }, { 0, 0, P }, { 1, 0, P }, { 0, 1, P }, { P - 1, 0, 2 },
	{ 0, P - 1, 2 }, { P - 4, 0, 8 }, { P - 1, P - 1, 2 }, { 100, 3000, 2 * P + 77 },
	{ 3000, 100, 2 * P + 77 }, { P - 1, 1, 3 * P }, { 0, 0, 4 * P }, { 3 * P, P, P },
};

static void piece_desc(const struct piece *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes from %u to %u", p->n, p->from, p->to);
}

KUNIT_ARRAY_PARAM(piece, pieces, piece_desc);

/* [to, to + n) holds what the other side had at from, all else what it had. */
static void expect_moved(struct kunit *test, const struct kgt_mem *m, const struct piece *p)
{
	u64 i, wrong = 0;

	for (i = 0; i < p->n; i++)
		wrong += *kgt_at(m, m->base + p->to + i) != kgt_byte(p->from + i, 1);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(m, 0, p->to, 2), 0);
	KUNIT_EXPECT_EQ(test, kgt_differ(m, p->to + p->n, m->npages * P, 2), 0);
}

static void copy(struct kunit *test)
{
	const struct piece *p = test->param_value;
	struct kgni_file *f = attached(test);
	struct kgt_mem *from = kgt_mem(test, f, 5, 0, NULL);
	struct kgt_mem *to = kgt_mem(test, f, 5, 0, NULL);

	kgt_fill(from, 1);
	kgt_fill(to, 2);
	kgni_mdd_copy(to->mdd, to->base + p->to, from->mdd, from->base + p->from, p->n);
	expect_moved(test, to, p);
	KUNIT_EXPECT_EQ(test, kgt_differ(from, 0, 5 * P, 1), 0);
}

static void write(struct kunit *test)
{
	const struct piece *p = test->param_value;
	struct kgt_mem *to = kgt_mem(test, attached(test), 5, 0, NULL);
	u8 *buf = kunit_kmalloc(test, 5 * P, GFP_KERNEL);
	u64 i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < 5 * P; i++)
		buf[i] = kgt_byte(i, 1);
	kgt_fill(to, 2);
	kgni_mdd_write(to->mdd, to->base + p->to, buf + p->from, p->n);
	expect_moved(test, to, p);
}

#define RUN	8

/* Which pages of a block that lies in a row follow each other in a registration. */
static const u8 orders[][RUN] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7 }, { 7, 6, 5, 4, 3, 2, 1, 0 }, { 0, 1, 4, 5, 2, 3, 6, 7 },
	{ 4, 5, 6, 7, 0, 1, 2, 3 }, { 0, 2, 4, 6, 1, 3, 5, 7 }, { 1, 2, 3, 4, 5, 6, 7, 0 },
};

static struct kgni_mdd *in_order(struct kunit *test, const u8 *order)
{
	struct kgni_mdd *mdd = kunit_kzalloc(test, sizeof(*mdd), GFP_KERNEL);
	void *block = kunit_kmalloc(test, RUN * P, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_ASSERT_NOT_NULL(test, block);
	KUNIT_ASSERT_TRUE(test, PAGE_ALIGNED(block));
	mdd->base = BASE;
	mdd->npages = RUN;
	mdd->pages = kunit_kcalloc(test, RUN, sizeof(*mdd->pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mdd->pages);
	for (i = 0; i < RUN; i++)
		mdd->pages[i] = virt_to_page(block + order[i] * P);
	return mdd;
}

static u8 *byte_of(const struct kgni_mdd *mdd, u64 offset)
{
	return (u8 *)page_address(mdd->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

/* What lies in a row is copied at once, and nothing that does not. */
static void copy_runs(struct kunit *test, const u8 *to_order, const u8 *from_order)
{
	static const struct piece runs[] = {
		{ 0, 0, RUN * P }, { 1, 0, 7 * P }, { P - 1, 3 * P + 5, 3 * P + 1 },
		{ 2 * P, P, 6 * P }, { P, 100, P },
	};
	struct kgni_mdd *to = in_order(test, to_order), *from = in_order(test, from_order);
	u64 k, i, wrong = 0;

	for (i = 0; i < RUN * P; i++)
		*byte_of(from, i) = kgt_byte(i, 1);
	for (k = 0; k < ARRAY_SIZE(runs); k++) {
		const struct piece *p = &runs[k];

		for (i = 0; i < RUN * P; i++)
			*byte_of(to, i) = kgt_byte(i, 2);
		kgni_mdd_copy(to, BASE + p->to, from, BASE + p->from, p->n);
		for (i = 0; i < RUN * P; i++)
			wrong += *byte_of(to, i) != (i - p->to < p->n ?
						      kgt_byte(i - p->to + p->from, 1) :
						      kgt_byte(i, 2));
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void runs_of_pages(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(orders); i++)
		for (k = 0; k < ARRAY_SIZE(orders); k++)
			copy_runs(test, orders[i], orders[k]);
}

static void map(struct kunit *test)
{
	struct kgt_mem *m = kgt_mem(test, attached(test), 3, 0, NULL);
	u64 offsets[] = { 0, 8, P - 8, P, 2 * P + 64, 3 * P - 4 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		void *at = kgni_mdd_map(m->mdd, m->base + offsets[i]);

		KUNIT_EXPECT_PTR_EQ(test, (u8 *)at, kgt_at(m, m->base + offsets[i]));
		kunmap_local(at);
	}
}

struct poll {
	void *word;
	u8 size;
	bool stop;
};

/* A word is all ones or all zeros, never some of each. */
static long poll_word(void *arg)
{
	struct poll *p = arg;
	long torn = 0;
	u64 v;

	while (!READ_ONCE(p->stop)) {
		if (p->size == 8) {
			v = READ_ONCE(*(u64 *)p->word);
			torn += v && v != U64_MAX;
		} else {
			v = READ_ONCE(*(u32 *)p->word);
			torn += v && v != U32_MAX;
		}
		cond_resched();
	}
	return torn;
}

static const u8 words[] = { 4, 8 };

static void word_size_desc(const u8 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u bytes", *size);
}

KUNIT_ARRAY_PARAM(word_size, words, word_size_desc);

static void words_are_not_torn(struct kunit *test)
{
	struct poll *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct kgni_file *f = attached(test);
	struct kgt_mem *from = kgt_mem(test, f, 1, 0, NULL);
	struct kgt_mem *to = kgt_mem(test, f, 1, 0, NULL);
	struct kgt_thread *t;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->size = *(const u8 *)test->param_value;
	p->word = kgt_at(to, to->base + 64);
	memset(kgt_at(from, from->base), 0xff, 8);
	t = kgt_thread(test, poll_word, p);
	for (i = 0; i < 20000; i++) {
		u64 ones = U64_MAX, zeros = 0;

		if (i & 2)
			kgni_mdd_write(to->mdd, to->base + 64, i & 1 ? &ones : &zeros, p->size);
		else
			kgni_mdd_copy(to->mdd, to->base + 64, from->mdd,
				      from->base + (i & 1) * 8, p->size);
	}
	WRITE_ONCE(p->stop, true);
	KUNIT_EXPECT_EQ(test, kgt_join(t), 0);
}

/* --- user memory ----------------------------------------------------------- */

#define RW	(PROT_READ | PROT_WRITE)

/* Three pages are mapped with @prot, then a field is changed. */
static const struct registering {
	const char *name;
	unsigned long prot;
	u32 flags;
	long rc;
	u64 add, length;
	u32 cq, segments;
	bool hole, empty;
	unsigned long npages;
} registerings[] = {
	{ "memory", RW, 0, GNI_RC_SUCCESS, .npages = 3 },
	{ "memory, read-only", RW, GNI_MEM_READ_ONLY, GNI_RC_SUCCESS, .npages = 3 },
	{ "read-only memory", PROT_READ, 0, GNI_RC_PERMISSION_ERROR },
	{ "read-only memory, read-only", PROT_READ, GNI_MEM_READ_ONLY, GNI_RC_SUCCESS,
	  .npages = 3 },
	{ "memory of no access", PROT_NONE, 0, GNI_RC_INVALID_PARAM },
	{ "memory of no access, read-only", PROT_NONE, GNI_MEM_READ_ONLY, GNI_RC_INVALID_PARAM },
	{ "one byte", RW, 0, GNI_RC_SUCCESS, .add = 5, .length = 1, .npages = 1 },
	{ "two bytes of two pages", RW, 0, GNI_RC_SUCCESS, .add = P - 1, .length = 2, .npages = 2 },
	{ "last byte", RW, 0, GNI_RC_SUCCESS, .add = 3 * P - 1, .length = 1, .npages = 1 },
	{ "beyond the end", RW, 0, GNI_RC_INVALID_PARAM, .length = 1ULL << 46 },
	{ "a hole", RW, 0, GNI_RC_INVALID_PARAM, .hole = true },
	{ "a hole, read-only", RW, GNI_MEM_READ_ONLY, GNI_RC_INVALID_PARAM, .hole = true },
	{ "no length", RW, 0, GNI_RC_INVALID_PARAM, .empty = true },
	{ "address of the kernel", RW, 0, GNI_RC_INVALID_PARAM, .add = 0xffff800000000000 },
	{ "range that wraps", RW, 0, GNI_RC_INVALID_PARAM, .length = U64_MAX },
	{ "queue that is not", RW, 0, GNI_RC_INVALID_PARAM, .cq = 99 },
	{ "too many segments", RW, 0, GNI_RC_ERROR_RESOURCE, .segments = KGNI_SEGMENTS_MAX + 1 },
	{ "segments, reserved", RW, GNI_MEM_RESERVE_REGION, GNI_RC_INVALID_PARAM, .segments = 1 },
	{ "strict ordering", RW, GNI_MEM_STRICT_PI_ORDERING, GNI_RC_SUCCESS, .npages = 3 },
	{ "relaxed ordering", RW, GNI_MEM_RELAXED_PI_ORDERING, GNI_RC_SUCCESS, .npages = 3 },
	{ "flush", RW, GNI_MEM_PI_FLUSH, GNI_RC_SUCCESS, .npages = 3 },
	{ "shared MDD", RW, GNI_MEM_MDD_SHARED, GNI_RC_SUCCESS, .npages = 3 },
	{ "dedicated MDD", RW, GNI_MEM_MDD_DEDICATED, GNI_RC_SUCCESS, .npages = 3 },
	{ "virtual index", RW, GNI_MEM_USE_VMDH, GNI_RC_INVALID_PARAM },
	{ "segments", RW, GNI_MEM_PHYS_SEGMENTS, GNI_RC_INVALID_PARAM },
	{ "clone", RW, GNI_MEM_MDD_CLONE, GNI_RC_INVALID_PARAM },
	{ "reserve a region", RW, GNI_MEM_RESERVE_REGION, GNI_RC_SUCCESS, .npages = 3 },
	{ "reserve and update", RW, GNI_MEM_RESERVE_REGION | GNI_MEM_UPDATE_REGION,
	  GNI_RC_INVALID_PARAM },
	{ "shared and dedicated", RW, GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED,
	  GNI_RC_INVALID_PARAM },
	{ "update a region", RW, GNI_MEM_UPDATE_REGION, GNI_RC_INVALID_PARAM },
	{ "memory of a GPU", RW, GNI_MEM_CUDA, GNI_RC_INVALID_PARAM },
	{ "unknown flag", RW, 1U << 31, GNI_RC_INVALID_PARAM },
};

static void registering_desc(const struct registering *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(registering, registerings, registering_desc);

static void register_memory(struct kunit *test)
{
	const struct registering *r = test->param_value;
	struct kgni_file *f = attached(test);
	unsigned long user = kgt_user(test, 3 * P, r->prot);
	struct kgni_ioc_mem_register arg = {
		.addr = user + r->add, .length = r->length ?: 3 * P, .flags = r->flags,
		.cq = r->cq, .segments = r->segments,
	};
	struct kgni_mdd *mdd;

	if (r->empty)
		arg.length = 0;
	if (r->hole)
		kgt_unmap(user + P, P);
	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), r->rc);
	if (r->rc) {
		KUNIT_EXPECT_TRUE(test, xa_empty(&f->nic->job->mdds));
		KUNIT_EXPECT_EQ(test, atomic_read(&f->nic->job->used[KGNI_RES_MDD]), 0);
		return;
	}
	mdd = kgni_mdd_find(f->nic->job, &arg.handle);
	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_EXPECT_EQ(test, mdd->npages, r->npages);
	KUNIT_EXPECT_EQ(test, mdd->base, (user + r->add) & PAGE_MASK);
	KUNIT_EXPECT_EQ(test, atomic64_read(&mdd->mem->mm->pinned_vm), r->npages);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &arg.handle), GNI_RC_SUCCESS);
	KUNIT_EXPECT_NULL(test, mdd->pages);
	kgni_mdd_put(mdd);
}

static const u32 region_flags[] = { GNI_MEM_READWRITE, GNI_MEM_READ_ONLY };

static void region_desc(const u32 *flags, char *desc)
{
	strscpy(desc, *flags ? "read-only" : "read-write", KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(region, region_flags, region_desc);

/* Not touched before: neither side may be left with the zero page. */
static void driver_and_user_see_one_memory(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	unsigned long user = kgt_user(test, 2 * P, RW);
	struct kgni_ioc_mem_register arg = {
		.addr = user, .length = 2 * P, .flags = *(const u32 *)test->param_value,
	};
	struct kgni_mdd *mdd;
	u8 byte = 0x77;
	u8 *at;

	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	mdd = kgni_mdd_find(f->nic->job, &arg.handle);
	KUNIT_ASSERT_NOT_NULL(test, mdd);
	kgt_poke(user + P + 3, 0x55);
	at = kgni_mdd_map(mdd, user + P + 3);
	KUNIT_EXPECT_EQ(test, *at, 0x55);
	kunmap_local(at);
	kgni_mdd_write(mdd, user + P - 1, &byte, 1);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + P - 1), 0x77);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + P), 0);
	kgni_mdd_put(mdd);
}

/* The mapping goes, the pages stay until they are deregistered. */
static void outlives_its_mapping(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	unsigned long user = kgt_user(test, P, RW);
	struct kgni_ioc_mem_register arg = { .addr = user, .length = P };
	struct kgni_mdd *mdd;
	u8 *at;

	kgt_poke(user + 9, 0x99);
	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	kgt_unmap(user, P);
	mdd = kgni_mdd_find(f->nic->job, &arg.handle);
	KUNIT_ASSERT_NOT_NULL(test, mdd);
	at = kgni_mdd_map(mdd, user + 9);
	KUNIT_EXPECT_EQ(test, *at, 0x99);
	kunmap_local(at);
	kgni_mdd_put(mdd);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(f->nic, &arg.handle), GNI_RC_SUCCESS);
}

static void no_mdh_left(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_ioc_mem_register arg = { .addr = kgt_user(test, P, RW), .length = P };
	struct kgni_job *job = f->nic->job;
	u32 i;

	for (i = 1; i <= KGNI_MH_MDH_MAX; i++)
		KUNIT_ASSERT_EQ(test, xa_reserve(&job->mdds, i, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[KGNI_RES_MDD]), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->nic->mdds));
	xa_release(&job->mdds, 77);
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.handle.qword1 >> 52, 77);
	for (i = 1; i <= KGNI_MH_MDH_MAX; i++)
		xa_release(&job->mdds, i);
}

static void no_registration_left(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_ioc_mem_register arg = { .addr = kgt_user(test, P, RW), .length = P };
	struct kgni_job *job = f->nic->job;

	atomic_set(&job->used[KGNI_RES_MDD], KGNI_MH_MDH_MAX);
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_TRUE(test, xa_empty(&job->mdds));
	atomic_set(&job->used[KGNI_RES_MDD], 0);
}

static void no_locked_memory_left(struct kunit *test)
{
	struct rlimit *rlim = &current->signal->rlim[RLIMIT_MEMLOCK];
	const struct cred *alice = kgt_cred(test, 1000);
	struct kgni_file *f = attached(test);
	struct kgni_ioc_mem_register arg = { .addr = kgt_user(test, 4 * P, RW), .length = 4 * P };
	unsigned long base = atomic_long_read(&current_user()->locked_vm);
	const struct cred *old;
	long rc;

	rlim->rlim_cur = (base + 3) << PAGE_SHIFT;
	old = override_creds(alice);
	rc = kgt_register(f, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc, GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&current_user()->locked_vm), base);
	rlim->rlim_cur = (base + 4) << PAGE_SHIFT;
	old = override_creds(alice);
	rc = kgt_register(f, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc, GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&current_user()->locked_vm), base + 4);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(covers, extent_gen_params),
	KUNIT_CASE_PARAM(pages_of_a_range, extent_gen_params),
	KUNIT_CASE_PARAM(find_by_rebuilt_handle, rebuilt_gen_params),
	KUNIT_CASE(find_in_its_job_only),
	KUNIT_CASE(handle_says),
	KUNIT_CASE(mdhs_go_round),
	KUNIT_CASE(deregister),
	KUNIT_CASE(read_only_pages_stay_clean),
	KUNIT_CASE(deregister_waits_for_users),
	KUNIT_CASE(end_of_all_waits_for_users),
	KUNIT_CASE(busy_users_do_not_hold_it_up),
	KUNIT_CASE(one_of_many_deregisters),
	KUNIT_CASE_PARAM(copy, piece_gen_params),
	KUNIT_CASE_PARAM(write, piece_gen_params),
	KUNIT_CASE(runs_of_pages),
	KUNIT_CASE(map),
	KUNIT_CASE_PARAM(words_are_not_torn, word_size_gen_params),
	KUNIT_CASE_PARAM(register_memory, registering_gen_params),
	KUNIT_CASE_PARAM(driver_and_user_see_one_memory, region_gen_params),
	KUNIT_CASE(outlives_its_mapping),
	KUNIT_CASE(no_mdh_left),
	KUNIT_CASE(no_registration_left),
	KUNIT_CASE(no_locked_memory_left),
	{}
};

static struct kunit_suite mdd_suite = {
	.name = "kgni_mdd",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(mdd_suite);
