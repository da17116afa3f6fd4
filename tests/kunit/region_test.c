// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations of other kinds than a plain range, as KGNI_IOC_MEM_REGISTER makes
 * them: segments, virtual indices, shared descriptors, clones, reserved regions;
 * and the list of them all.
 */
#include <linux/delay.h>
#include <linux/mman.h>

#include "kgt.h"

#define P	PAGE_SIZE
#define RW	(PROT_READ | PROT_WRITE)
#define N	4	/* pages of user memory */
#define ANY	(~0U)

static struct kgni_file *attached(struct kunit *test, u32 modes)
{
	return kgt_attach(test, kgt_device(test, KGT_PE), 1, KGT_COOKIE, modes);
}

static struct kgni_ioc_mem_register args(u64 addr, u64 length, u32 flags)
{
	return (struct kgni_ioc_mem_register) {
		.addr = addr, .length = length, .flags = flags, .vmdh_index = ANY,
	};
}

static struct kgni_mem_handle registered(struct kunit *test, struct kgni_file *f, u64 addr,
					 u64 length, u32 flags)
{
	struct kgni_ioc_mem_register arg = args(addr, length, flags);

	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	return arg.handle;
}

static long deregister(struct kgni_file *f, struct kgni_mem_handle handle)
{
	return kgni_mdd_deregister(f->nic, &handle);
}

/* The registration of a handle, borrowed, or NULL. */
static struct kgni_mdd *mdd_of(struct kgni_file *f, struct kgni_mem_handle handle)
{
	struct kgni_mdd *mdd = kgni_mdd_find(f->nic->job, &handle);

	if (mdd)
		kgni_mdd_put(mdd);
	return mdd;
}

static struct kgni_mh fields(struct kunit *test, struct kgni_mem_handle handle)
{
	struct kgni_mh mh;

	KUNIT_EXPECT_TRUE(test, kgni_mh_unpack(handle.qword1, handle.qword2, &mh));
	return mh;
}

static int used(struct kgni_file *f)
{
	return atomic_read(&f->nic->job->used[KGNI_RES_MDD]);
}

static s64 refused(struct kgni_file *f)
{
	return atomic64_read(&f->dev->refused[KGNI_REFUSED_MEMORY]);
}

static u32 pins(struct page *page)
{
	return page_count(page) / GUP_PIN_COUNTING_BIAS;
}

/* --- segments --------------------------------------------------------------- */

/* An array of segments in user memory, which have their offset from @user. */
static unsigned long segment_array(struct kunit *test, unsigned long user,
				   const struct kgni_segment *seg, u32 n)
{
	unsigned long array = kgt_user(test, P, RW);
	struct kgni_segment s;
	u32 i, left = 0;

	kgt_mm_begin();
	for (i = 0; i < n; i++) {
		s = (struct kgni_segment) { user + seg[i].addr, seg[i].length };
		left += copy_to_user((void __user *)array + i * sizeof(s), &s, sizeof(s));
	}
	kgt_mm_end();
	KUNIT_ASSERT_EQ(test, left, 0);
	return array;
}

/* Addresses count through all segments, from the page that the first begins in. */
static void segments_are_one_range(struct kunit *test)
{
	const struct kgni_segment seg[] = { { 2 * P + 100, 2 * P - 100 }, { 0, 10 } };
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_ioc_mem_register arg = args(segment_array(test, user, seg, 2), 0, 0);
	struct kgni_mdd *mdd;
	u8 bytes[4] = { 1, 2, 3, 4 };

	arg.segments = 2;
	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fields(test, arg.handle).va, 0);
	KUNIT_EXPECT_EQ(test, fields(test, arg.handle).npages, 3);
	mdd = mdd_of(f, arg.handle);
	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_EXPECT_EQ(test, mdd->addr, 100);
	KUNIT_EXPECT_EQ(test, mdd->length, 2 * P - 90);
	KUNIT_EXPECT_TRUE(test, kgni_mdd_covers(mdd, 0, 3 * P));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_covers(mdd, 0, 3 * P + 1));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_covers(mdd, user, 1));
	KUNIT_ASSERT_TRUE(test, kgni_mdd_enter(mdd));
	kgni_mdd_write(mdd, 2 * P - 2, bytes, 4);
	kgni_mdd_exit(mdd);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + 4 * P - 2), 1);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + 4 * P - 1), 2);
	KUNIT_EXPECT_EQ(test, kgt_peek(user), 3);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + 1), 4);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + P), 0);
	KUNIT_EXPECT_EQ(test, deregister(f, arg.handle), GNI_RC_SUCCESS);
}

static void segments_that_cannot_be_read(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long array = kgt_user(test, 2 * P, RW);
	struct kgni_ioc_mem_register arg = args(array + P - 16, 0, 0);

	kgt_unmap(array + P, P);
	arg.segments = 2;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), -EFAULT);
	arg.addr = 0xffff888000000000;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), -EFAULT);
	KUNIT_EXPECT_EQ(test, used(f), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->nic->mdds));
}

/* --- virtual indices -------------------------------------------------------- */

static long set_block(struct kgni_file *f, u32 entries)
{
	struct kgni_ioc_mdd_block arg = { .entries = entries };

	return kgni_mdd_set_block(f->nic, &arg);
}

static const struct block {
	u32 entries, reserved;
	long rc;
} blocks[] = {
	{ 1, 0, GNI_RC_SUCCESS }, { 4096, 0, GNI_RC_SUCCESS }, { 0, 0, GNI_RC_INVALID_PARAM },
	{ 4097, 0, GNI_RC_INVALID_PARAM }, { U32_MAX, 0, GNI_RC_INVALID_PARAM },
	{ 8, 1, -EINVAL },
};

static void block_desc(const struct block *b, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u entries, reserved %u", b->entries, b->reserved);
}

KUNIT_ARRAY_PARAM(block, blocks, block_desc);

static void block_of_indices(struct kunit *test)
{
	const struct block *b = test->param_value;
	struct kgni_ioc_mdd_block arg = { b->entries, b->reserved };
	struct kgni_file *f = attached(test, 0);
	struct kgni_ioc_mem_register reg;

	KUNIT_EXPECT_EQ(test, kgni_mdd_set_block(f->nic, &arg), b->rc);
	KUNIT_EXPECT_EQ(test, f->nic->vmdhs, b->rc ? 0 : b->entries);
	/* Once and for all, if at all. */
	KUNIT_EXPECT_EQ(test, set_block(f, 2), b->rc ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM);
	reg = args(kgt_user(test, P, RW), P, GNI_MEM_USE_VMDH);
	reg.vmdh_index = f->nic->vmdhs;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &reg), GNI_RC_INVALID_PARAM);
	reg.vmdh_index--;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &reg), GNI_RC_SUCCESS);
}

/* Register a page at an index, or any. */
static long at_index(struct kgni_file *f, unsigned long user, u32 index,
		     struct kgni_mem_handle *handle)
{
	struct kgni_ioc_mem_register arg = args(user, P, GNI_MEM_USE_VMDH);
	long rc;

	arg.vmdh_index = index;
	rc = kgt_register(f, &arg);
	*handle = arg.handle;
	return rc;
}

static void indices(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	const u32 want[] = { 2, ANY, ANY, ANY }, got[] = { 2, 0, 1, 3 };
	struct kgni_mem_handle h[4], extra;
	u32 i;

	KUNIT_EXPECT_EQ(test, at_index(f, user, ANY, &extra), GNI_RC_INVALID_PARAM);
	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, at_index(f, user + i * P, want[i], &h[i]), 0);
		KUNIT_EXPECT_EQ(test, fields(test, h[i]).mdh, got[i]);
		KUNIT_EXPECT_EQ(test, fields(test, h[i]).flags, KGNI_MH_VMDH);
	}
	KUNIT_EXPECT_EQ(test, at_index(f, user, ANY, &extra), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, at_index(f, user, 1, &extra), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, at_index(f, user, 4, &extra), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, used(f), 4);
	KUNIT_EXPECT_EQ(test, deregister(f, h[2]), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, deregister(f, h[2]), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, at_index(f, user, ANY, &extra), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fields(test, extra).mdh, 1);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->nic->job->mdds));
}

/* An index names whatever is there now, at whatever address. */
static void index_is_all_that_counts(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle plain = registered(test, f, user, P, 0);
	struct kgni_mem_handle first, second;
	struct kgni_mdd *mdd;

	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	KUNIT_ASSERT_EQ(test, at_index(f, user + P, 1, &first), GNI_RC_SUCCESS);
	/* A number and an index may be the same. */
	KUNIT_EXPECT_EQ(test, fields(test, plain).mdh, fields(test, first).mdh);
	KUNIT_EXPECT_PTR_NE(test, mdd_of(f, plain), mdd_of(f, first));
	KUNIT_EXPECT_EQ(test, deregister(f, first), GNI_RC_SUCCESS);
	KUNIT_EXPECT_NULL(test, mdd_of(f, first));
	KUNIT_ASSERT_EQ(test, at_index(f, user + 2 * P, 1, &second), GNI_RC_SUCCESS);
	mdd = mdd_of(f, first);
	KUNIT_EXPECT_PTR_EQ(test, mdd, mdd_of(f, second));
	KUNIT_EXPECT_EQ(test, mdd->base, user + 2 * P);
	KUNIT_EXPECT_EQ(test, deregister(f, first), GNI_RC_SUCCESS);
	KUNIT_EXPECT_NOT_NULL(test, mdd_of(f, plain));
}

/* The job has one set of indices; each member ends its own only. */
static void indices_of_a_job(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *member = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_file *other = kgt_attach(test, dev, 3, KGT_COOKIE + 1, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle h, extra;

	KUNIT_ASSERT_EQ(test, set_block(f, 2), GNI_RC_SUCCESS);
	KUNIT_ASSERT_EQ(test, at_index(f, user, 0, &h), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, at_index(member, user, 1, &extra), GNI_RC_INVALID_PARAM);
	KUNIT_ASSERT_EQ(test, set_block(member, 1), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, at_index(member, user, 0, &extra), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, at_index(member, user, ANY, &extra), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_PTR_EQ(test, mdd_of(member, h), mdd_of(f, h));
	KUNIT_EXPECT_EQ(test, deregister(member, h), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, mdd_of(other, h));
	KUNIT_EXPECT_EQ(test, deregister(other, h), GNI_RC_INVALID_PARAM);
	kgt_close(f);
	KUNIT_EXPECT_EQ(test, at_index(member, user, 0, &extra), GNI_RC_SUCCESS);
}

struct taker {
	struct kgni_file *f;
	unsigned long user;
	struct kgni_mem_handle handle;
};

static long take_index(void *arg)
{
	struct taker *t = arg;

	return at_index(t->f, t->user, 3, &t->handle);
}

static void one_of_many_gets_an_index(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	struct taker *a = kunit_kcalloc(test, 6, sizeof(*a), GFP_KERNEL);
	unsigned long user = kgt_user(test, P, RW);
	struct kgt_thread *t[6];
	u32 i, took = 0, busy = 0;

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	for (i = 0; i < 6; i++) {
		a[i] = (struct taker) { f, user };
		t[i] = kgt_thread(test, take_index, &a[i]);
	}
	for (i = 0; i < 6; i++) {
		long rc = kgt_join(t[i]);

		took += rc == GNI_RC_SUCCESS;
		busy += rc == GNI_RC_ERROR_RESOURCE;
	}
	KUNIT_EXPECT_EQ(test, took, 1);
	KUNIT_EXPECT_EQ(test, busy, 5);
	KUNIT_EXPECT_EQ(test, used(f), 1);
}

/* --- shared descriptors ----------------------------------------------------- */

static const struct sharing {
	const char *name;
	u32 modes, flags, got;
} sharings[] = {
	{ "nothing said", 0, 0, 0 },
	{ "shared", 0, GNI_MEM_MDD_SHARED, KGNI_MH_V2 },
	{ "dedicated", 0, GNI_MEM_MDD_DEDICATED, 0 },
	{ "shared by mode", GNI_CDM_MODE_MDD_SHARED, 0, KGNI_MH_V2 },
	{ "shared, twice", GNI_CDM_MODE_MDD_SHARED, GNI_MEM_MDD_SHARED, KGNI_MH_V2 },
	{ "dedicated in spite of the mode", GNI_CDM_MODE_MDD_SHARED, GNI_MEM_MDD_DEDICATED, 0 },
	{ "shared and read-only", 0, GNI_MEM_MDD_SHARED | GNI_MEM_READ_ONLY,
	  KGNI_MH_V2 | KGNI_MH_READONLY },
	{ "shared, with an index", 0, GNI_MEM_MDD_SHARED | GNI_MEM_USE_VMDH, KGNI_MH_VMDH },
};

static void sharing_desc(const struct sharing *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sharing, sharings, sharing_desc);

static void shared_or_dedicated(struct kunit *test)
{
	const struct sharing *s = test->param_value;
	struct kgni_file *f = attached(test, s->modes);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle first, h;
	struct kgni_mh mh;

	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	first = registered(test, f, user, P, s->flags);
	h = registered(test, f, user + P, 2 * P, s->flags);
	mh = fields(test, h);
	KUNIT_EXPECT_EQ(test, mh.flags, s->got);
	KUNIT_EXPECT_EQ(test, mh.va, user + P);
	KUNIT_EXPECT_EQ(test, mh.npages, 2);
	KUNIT_EXPECT_EQ(test, mh.mdh, s->got & KGNI_MH_VMDH ? 1 : 2);
	/* Who reads it by the other version reads the same number. */
	KUNIT_EXPECT_EQ(test, h.qword1 >> 52, mh.mdh);
	KUNIT_EXPECT_NOT_NULL(test, mdd_of(f, h));
	KUNIT_EXPECT_PTR_NE(test, mdd_of(f, h), mdd_of(f, first));
	KUNIT_EXPECT_EQ(test, deregister(f, h), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, deregister(f, first), GNI_RC_SUCCESS);
}

/* --- clones ----------------------------------------------------------------- */

static const struct cloning {
	const char *name;
	u32 of, flags;		/* of the original, of the clone */
	s64 at, length;
	long rc;
	unsigned long first, npages;
} clonings[] = {
	{ "all", 0, 0, 0, N * P, 0, 0, N },
	{ "pages", 0, 0, P, 2 * P, 0, 1, 2 },
	{ "bytes", 0, 0, P + 5, 10, 0, 1, 1 },
	{ "bytes of two pages", 0, 0, 2 * P - 1, 2, 0, 1, 2 },
	{ "the last byte", 0, 0, N * P - 1, 1, 0, N - 1, 1 },
	{ "read-only", 0, GNI_MEM_READ_ONLY, 0, P, 0, 0, 1 },
	{ "read-only of read-only", GNI_MEM_READ_ONLY, GNI_MEM_READ_ONLY, 0, P, 0, 0, 1 },
	{ "read-write of read-only", GNI_MEM_READ_ONLY, 0, 0, P, GNI_RC_PERMISSION_ERROR },
	{ "shared", 0, GNI_MEM_MDD_SHARED, P, P, 0, 1, 1 },
	{ "of shared", GNI_MEM_MDD_SHARED, 0, P, P, 0, 1, 1 },
	{ "with an index", 0, GNI_MEM_USE_VMDH, P, P, 0, 1, 1 },
	{ "of one with an index", GNI_MEM_USE_VMDH, 0, P, P, 0, 1, 1 },
	{ "beyond the end", 0, 0, P, N * P, GNI_RC_INVALID_PARAM },
	{ "behind the end", 0, 0, N * P, P, GNI_RC_INVALID_PARAM },
	{ "before the begin", 0, 0, -1, 2, GNI_RC_INVALID_PARAM },
	{ "nothing", 0, 0, 0, 0, GNI_RC_INVALID_PARAM },
	{ "a range that wraps", 0, 0, P, -1, GNI_RC_INVALID_PARAM },
	{ "a reserved region", GNI_MEM_RESERVE_REGION, 0, 0, P, GNI_RC_INVALID_PARAM },
};

static void cloning_desc(const struct cloning *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(cloning, clonings, cloning_desc);

static long clone(struct kgni_file *f, struct kgni_mem_handle of, u64 addr, u64 length,
		  u32 flags, struct kgni_mem_handle *handle)
{
	struct kgni_ioc_mem_register arg = args(addr, length, flags | GNI_MEM_MDD_CLONE);
	long rc;

	arg.handle = of;
	rc = kgt_register(f, &arg);
	*handle = arg.handle;
	return rc;
}

/* A clone is there, has the original's pages, and goes before or after it. */
static void expect_clone(struct kunit *test, struct kgni_file *f, struct kgni_mdd *of,
			 struct kgni_mem_handle h)
{
	const struct cloning *c = test->param_value;
	struct kgni_mdd *mdd = mdd_of(f, h);

	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_EXPECT_TRUE(test, fields(test, h).flags & KGNI_MH_CLONE);
	KUNIT_EXPECT_EQ(test, fields(test, h).va, of->base + c->first * P);
	KUNIT_EXPECT_EQ(test, fields(test, h).npages, c->npages);
	KUNIT_EXPECT_PTR_EQ(test, mdd->mem, of->mem);
	KUNIT_EXPECT_PTR_EQ(test, mdd->pages[0], of->pages[c->first]);
	KUNIT_EXPECT_EQ(test, mdd->npages, c->npages);
	KUNIT_EXPECT_EQ(test, mdd->length, c->length);
	KUNIT_EXPECT_EQ(test, kref_read(&of->mem->ref), 2);
	/* Pinned and charged once. */
	KUNIT_EXPECT_EQ(test, pins(of->pages[c->first]), 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&of->mem->mm->pinned_vm), N);
	KUNIT_EXPECT_EQ(test, used(f), 2);
}

static void clones(struct kunit *test)
{
	const struct cloning *c = test->param_value;
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle of, h;
	struct page *page;
	u8 byte = 0x77;

	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	of = registered(test, f, user, N * P, c->of);
	KUNIT_ASSERT_EQ(test, clone(f, of, user + c->at, c->length, c->flags, &h), c->rc);
	if (c->rc) {
		KUNIT_EXPECT_EQ(test, refused(f), 1);
		KUNIT_EXPECT_EQ(test, used(f), 1);
		KUNIT_EXPECT_EQ(test, kref_read(&mdd_of(f, of)->mem->ref), 1);
		return;
	}
	expect_clone(test, f, mdd_of(f, of), h);
	page = mdd_of(f, h)->pages[0];
	/* The original goes first, and is missed by nobody. */
	KUNIT_EXPECT_EQ(test, deregister(f, of), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, pins(page), 1);
	kgni_mdd_write(mdd_of(f, h), user + c->at, &byte, 1);
	KUNIT_EXPECT_EQ(test, kgt_peek(user + c->at), 0x77);
	KUNIT_EXPECT_EQ(test, deregister(f, h), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, pins(page), 0);
	KUNIT_EXPECT_EQ(test, refused(f), 0);
}

static void clone_of_a_clone(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle of = registered(test, f, user, N * P, 0), a, b, none;
	struct page *page = mdd_of(f, of)->pages[2];

	KUNIT_ASSERT_EQ(test, clone(f, of, user + P, 2 * P, GNI_MEM_READ_ONLY, &a), 0);
	/* It has no more than what it is of. */
	KUNIT_EXPECT_EQ(test, clone(f, a, user, P, GNI_MEM_READ_ONLY, &none),
			GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, clone(f, a, user + P, P, 0, &none), GNI_RC_PERMISSION_ERROR);
	KUNIT_ASSERT_EQ(test, clone(f, a, user + 2 * P, P, GNI_MEM_READ_ONLY, &b), 0);
	KUNIT_EXPECT_PTR_EQ(test, mdd_of(f, b)->pages[0], page);
	KUNIT_EXPECT_EQ(test, kref_read(&mdd_of(f, b)->mem->ref), 3);
	KUNIT_EXPECT_EQ(test, deregister(f, of), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, deregister(f, a), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, pins(page), 1);
	KUNIT_EXPECT_EQ(test, deregister(f, b), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, pins(page), 0);
}

/* Of what is another's, or nobody's any more, there are none. */
static void clones_of_ones_own_only(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *member = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_file *other = kgt_attach(test, dev, 3, KGT_COOKIE + 1, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle of = registered(test, f, user, N * P, 0), none;
	struct kgni_mdd *mdd = mdd_of(f, of);

	KUNIT_EXPECT_EQ(test, clone(member, of, user, P, 0, &none), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, clone(other, of, user, P, 0, &none), GNI_RC_INVALID_PARAM);
	mdd->dead = true;
	KUNIT_EXPECT_EQ(test, clone(f, of, user, P, 0, &none), GNI_RC_INVALID_PARAM);
	mdd->dead = false;
	KUNIT_EXPECT_EQ(test, deregister(f, of), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, clone(f, of, user, P, 0, &none), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, refused(f), 4);
	KUNIT_EXPECT_EQ(test, used(f) + used(other), 0);
}

struct racer {
	struct kgni_file *f;
	unsigned long user;
	struct kgni_mem_handle of;
	struct completion *begun;
};

static long clone_until_gone(void *arg)
{
	struct racer *r = arg;
	struct kgni_mem_handle h;
	long rc;

	while (!(rc = clone(r->f, r->of, r->user, P, 0, &h))) {
		rc = deregister(r->f, h);
		if (rc)
			break;
		complete(r->begun);
		cond_resched();
	}
	return rc;
}

/* A clone holds all of the memory, or none of it is there to be cloned. */
static void clones_beside_the_end(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	struct racer *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	DECLARE_COMPLETION_ONSTACK(begun);
	struct kgt_thread *t[3];
	struct page *page;
	u32 i, round;

	KUNIT_ASSERT_NOT_NULL(test, r);
	*r = (struct racer) { .f = f, .user = kgt_user(test, P, RW), .begun = &begun };
	for (round = 0; round < 10; round++) {
		reinit_completion(&begun);
		r->of = registered(test, f, r->user, P, 0);
		page = mdd_of(f, r->of)->pages[0];
		for (i = 0; i < ARRAY_SIZE(t); i++)
			t[i] = kgt_thread(test, clone_until_gone, r);
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&begun, KGT_SOON), 0);
		KUNIT_EXPECT_EQ(test, deregister(f, r->of), GNI_RC_SUCCESS);
		for (i = 0; i < ARRAY_SIZE(t); i++)
			KUNIT_EXPECT_EQ(test, kgt_join(t[i]), GNI_RC_INVALID_PARAM);
		KUNIT_EXPECT_EQ(test, pins(page), 0);
		KUNIT_EXPECT_EQ(test, used(f), 0);
	}
}

/* --- reserved regions ------------------------------------------------------- */

static long update(struct kgni_file *f, struct kgni_mem_handle *handle, u64 addr, u64 length,
		   u32 flags)
{
	struct kgni_ioc_mem_register arg = args(addr, length, flags | GNI_MEM_UPDATE_REGION);
	long rc;

	arg.handle = *handle;
	rc = kgt_register(f, &arg);
	*handle = arg.handle;
	return rc;
}

static void region_comes_to_life(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle reserved = registered(test, f, user, N * P, GNI_MEM_RESERVE_REGION);
	struct kgni_mem_handle h = reserved;
	struct kgni_mdd *mdd = mdd_of(f, h);

	KUNIT_EXPECT_EQ(test, fields(test, reserved).npages, 0);
	KUNIT_EXPECT_EQ(test, fields(test, reserved).va, user);
	KUNIT_EXPECT_TRUE(test, kgni_mdd_covers(mdd, user, N * P));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_present(mdd, user, 1));
	KUNIT_EXPECT_TRUE(test, kgni_mdd_present(mdd, user, 0));
	KUNIT_EXPECT_EQ(test, update(f, &h, user + P + 5, P, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fields(test, h).npages, N);
	KUNIT_EXPECT_EQ(test, fields(test, h).mdh, fields(test, reserved).mdh);
	/* Both handles name it, and whole pages are there. */
	KUNIT_EXPECT_PTR_EQ(test, mdd_of(f, h), mdd);
	KUNIT_EXPECT_PTR_EQ(test, mdd_of(f, reserved), mdd);
	KUNIT_EXPECT_TRUE(test, kgni_mdd_present(mdd, user + P, 2 * P));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_present(mdd, user + P - 1, 2));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_present(mdd, user + 3 * P - 1, 2));
	/* What has ended is there: who goes on finds out. */
	mdd->dead = true;
	KUNIT_EXPECT_TRUE(test, kgni_mdd_present(mdd, user, N * P));
	mdd->dead = false;
	KUNIT_EXPECT_EQ(test, used(f), 1);
	KUNIT_EXPECT_EQ(test, deregister(f, reserved), GNI_RC_SUCCESS);
}

/* By its index, whatever the handle says. */
static void region_with_an_index(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_ioc_mem_register arg = args(user, N * P,
						GNI_MEM_RESERVE_REGION | GNI_MEM_USE_VMDH);

	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	arg.vmdh_index = 2;
	KUNIT_ASSERT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	arg.flags = GNI_MEM_UPDATE_REGION | GNI_MEM_USE_VMDH;
	memset(&arg.handle, 0, sizeof(arg.handle));
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fields(test, arg.handle).mdh, 2);
	KUNIT_EXPECT_EQ(test, fields(test, arg.handle).npages, N);
	arg.vmdh_index = 1;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_INVALID_PARAM);
	/* Or by the handle. */
	arg.vmdh_index = ANY;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, refused(f), 1);
}

static const struct updating {
	const char *name;
	u32 region, flags;	/* of the region, of the update */
	s64 at, length;
	u32 cq, segments;
	long rc;
	bool uncounted;
} updatings[] = {
	{ "all", GNI_MEM_RESERVE_REGION, 0, 0, N * P },
	{ "read-only", GNI_MEM_RESERVE_REGION | GNI_MEM_READ_ONLY, GNI_MEM_READ_ONLY, 0, P },
	{ "read-only of read-write", GNI_MEM_RESERVE_REGION, GNI_MEM_READ_ONLY, 0, P,
	  .rc = GNI_RC_PERMISSION_ERROR },
	{ "read-write of read-only", GNI_MEM_RESERVE_REGION | GNI_MEM_READ_ONLY, 0, 0, P,
	  .rc = GNI_RC_PERMISSION_ERROR },
	{ "a plain region", 0, 0, 0, P, .rc = GNI_RC_INVALID_PARAM },
	{ "beyond the end", GNI_MEM_RESERVE_REGION, 0, P, N * P, .rc = GNI_RC_INVALID_PARAM },
	{ "before the begin", GNI_MEM_RESERVE_REGION, 0, -1, 2, .rc = GNI_RC_INVALID_PARAM },
	{ "nothing", GNI_MEM_RESERVE_REGION, 0, 0, 0, .rc = GNI_RC_INVALID_PARAM },
	{ "a range that wraps", GNI_MEM_RESERVE_REGION, 0, P, -1, .rc = GNI_RC_INVALID_PARAM },
	{ "with a queue", GNI_MEM_RESERVE_REGION, 0, 0, P, .cq = 1, .rc = GNI_RC_INVALID_PARAM },
	{ "segments", GNI_MEM_RESERVE_REGION, 0, 0, P, .segments = 1,
	  .rc = GNI_RC_INVALID_PARAM, .uncounted = true },
	{ "and reserve", GNI_MEM_RESERVE_REGION, GNI_MEM_RESERVE_REGION, 0, P,
	  .rc = GNI_RC_INVALID_PARAM, .uncounted = true },
};

static void updating_desc(const struct updating *u, char *desc)
{
	strscpy(desc, u->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(updating, updatings, updating_desc);

static void updates(struct kunit *test)
{
	const struct updating *u = test->param_value;
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle h = registered(test, f, user, N * P, u->region);
	struct kgni_ioc_mem_register arg = args(user + u->at, u->length,
						u->flags | GNI_MEM_UPDATE_REGION);
	struct kgni_mdd *mdd = mdd_of(f, h);

	arg.handle = h;
	arg.cq = u->cq;
	arg.segments = u->segments;
	KUNIT_EXPECT_EQ(test, kgt_register(f, &arg), u->rc);
	KUNIT_EXPECT_EQ(test, refused(f), u->rc && !u->uncounted);
	if (u->region)
		KUNIT_EXPECT_EQ(test, mdd->mem->live, !u->rc);
	KUNIT_EXPECT_EQ(test, used(f), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&mdd->ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&mdd->mem->ref), 1);
}

static void updates_of_ones_own_only(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *member = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_file *other = kgt_attach(test, dev, 3, KGT_COOKIE + 1, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_mem_handle h = registered(test, f, user, N * P, GNI_MEM_RESERVE_REGION);
	struct kgni_mdd *mdd = mdd_of(f, h);

	KUNIT_EXPECT_EQ(test, update(member, &h, user, P, 0), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, update(other, &h, user, P, 0), GNI_RC_INVALID_PARAM);
	mdd->dead = true;
	KUNIT_EXPECT_EQ(test, update(f, &h, user, P, 0), GNI_RC_INVALID_PARAM);
	mdd->dead = false;
	KUNIT_EXPECT_FALSE(test, mdd->mem->live);
	KUNIT_EXPECT_EQ(test, deregister(f, h), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, update(f, &h, user, P, 0), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, refused(f), 4);
}

static long update_until_gone(void *arg)
{
	struct racer *r = arg;
	struct kgni_mem_handle h = r->of;
	u32 i;
	long rc;

	for (i = 0; !(rc = update(r->f, &h, r->user + i % N * P, P, 0)); i++) {
		complete(r->begun);
		cond_resched();
	}
	return rc;
}

/* What an update pins just then goes with the region. */
static void updates_beside_the_end(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	struct racer *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	DECLARE_COMPLETION_ONSTACK(begun);
	struct kgt_thread *t[2];
	u32 i, round;

	KUNIT_ASSERT_NOT_NULL(test, r);
	*r = (struct racer) { .f = f, .user = kgt_user(test, N * P, RW), .begun = &begun };
	for (round = 0; round < 10; round++) {
		reinit_completion(&begun);
		r->of = registered(test, f, r->user, N * P, GNI_MEM_RESERVE_REGION);
		for (i = 0; i < ARRAY_SIZE(t); i++)
			t[i] = kgt_thread(test, update_until_gone, r);
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&begun, KGT_SOON), 0);
		KUNIT_EXPECT_EQ(test, deregister(f, r->of), GNI_RC_SUCCESS);
		for (i = 0; i < ARRAY_SIZE(t); i++)
			KUNIT_EXPECT_EQ(test, kgt_join(t[i]), GNI_RC_INVALID_PARAM);
		KUNIT_EXPECT_EQ(test, used(f), 0);
	}
}

/* --- the list --------------------------------------------------------------- */

static void expect_listed(struct kunit *test, const struct kgni_ioc_mem_next *next,
			  struct kgni_mem_handle h, u64 addr, u64 length)
{
	KUNIT_EXPECT_EQ(test, next->handle.qword1, h.qword1);
	KUNIT_EXPECT_EQ(test, next->handle.qword2, h.qword2);
	KUNIT_EXPECT_EQ(test, next->addr, addr);
	KUNIT_EXPECT_EQ(test, next->length, length);
}

/* In the order in which they were made, with what they were made of. */
static void list_of_all(struct kunit *test)
{
	struct kgni_file *f = attached(test, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_ioc_mem_next next = { 0 };
	struct kgni_mem_handle h[4];

	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_NO_MATCH);
	KUNIT_ASSERT_EQ(test, set_block(f, 4), GNI_RC_SUCCESS);
	h[0] = registered(test, f, user + 5, 100, GNI_MEM_READ_ONLY);
	h[1] = registered(test, f, user, N * P, GNI_MEM_RESERVE_REGION);
	h[2] = registered(test, f, user + P, P, GNI_MEM_USE_VMDH);
	KUNIT_ASSERT_EQ(test, clone(f, h[2], user + P + 8, 8, GNI_MEM_MDD_SHARED, &h[3]), 0);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[0], user + 5, 100);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[1], user, N * P);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[2], user + P, P);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[3], user + P + 8, 8);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_NO_MATCH);
	/* A region that came to life is listed so. */
	KUNIT_EXPECT_EQ(test, update(f, &h[1], user, P, 0), GNI_RC_SUCCESS);
	next.handle = h[0];
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[1], user, N * P);
	KUNIT_EXPECT_EQ(test, refused(f), 0);
}

static void list_of_ones_own_only(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *member = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	unsigned long user = kgt_user(test, N * P, RW);
	struct kgni_ioc_mem_next next = { 0 };
	struct kgni_mem_handle h[2];
	struct kgni_mdd *mdd;

	h[0] = registered(test, f, user, P, 0);
	h[1] = registered(test, f, user + P, P, 0);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(member->nic, &next), GNI_RC_NO_MATCH);
	next.handle = h[0];
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(member->nic, &next), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, next.addr, 0);
	/* One that has ended cannot be gone on from, nor one that is just ending. */
	mdd = kgni_mdd_find(f->nic->job, &h[0]);
	KUNIT_ASSERT_NOT_NULL(test, mdd);
	KUNIT_EXPECT_EQ(test, deregister(f, h[0]), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_INVALID_STATE);
	kgni_mdd_put(mdd);
	KUNIT_EXPECT_EQ(test, refused(f), 2);
	next.handle = (struct kgni_mem_handle) { 0 };
	KUNIT_EXPECT_EQ(test, kgni_mdd_next(f->nic, &next), GNI_RC_SUCCESS);
	expect_listed(test, &next, h[1], user + P, P);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(segments_are_one_range),
	KUNIT_CASE(segments_that_cannot_be_read),
	KUNIT_CASE_PARAM(block_of_indices, block_gen_params),
	KUNIT_CASE(indices),
	KUNIT_CASE(index_is_all_that_counts),
	KUNIT_CASE(indices_of_a_job),
	KUNIT_CASE(one_of_many_gets_an_index),
	KUNIT_CASE_PARAM(shared_or_dedicated, sharing_gen_params),
	KUNIT_CASE_PARAM(clones, cloning_gen_params),
	KUNIT_CASE(clone_of_a_clone),
	KUNIT_CASE(clones_of_ones_own_only),
	KUNIT_CASE(clones_beside_the_end),
	KUNIT_CASE(region_comes_to_life),
	KUNIT_CASE(region_with_an_index),
	KUNIT_CASE_PARAM(updates, updating_gen_params),
	KUNIT_CASE(updates_of_ones_own_only),
	KUNIT_CASE(updates_beside_the_end),
	KUNIT_CASE(list_of_all),
	KUNIT_CASE(list_of_ones_own_only),
	{}
};

static struct kunit_suite region_suite = {
	.name = "kgni_region",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(region_suite);
