// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: which regions have them, what they tell, and how they end. What is mapped
 * is for the numbered tests.
 */
#include "kgt_scene.h"
#include "../../kernel/window.c"

/* The windows of a file that nothing is mapped from. */
struct view {
	struct kgt_scene *s;
	struct address_space none;
	struct file file;
	struct kgni_windows *set;
};

static void view_free(struct kunit_resource *res)
{
	struct view *v = res->data;

	kgni_windows_release(v->set);
	/* The page of counts goes with them, and the attachment lives on. */
	v->s->f->nic->counted = NULL;
	kfree(v);
}

static int view_init(struct kunit_resource *res, void *context)
{
	struct view *v = kzalloc(sizeof(*v), GFP_KERNEL);

	if (!v)
		return -ENOMEM;
	v->s = context;
	address_space_init_once(&v->none);
	v->file.f_mapping = &v->none;
	v->set = kgni_windows_new(&v->file);
	if (!v->set) {
		kfree(v);
		return -ENOMEM;
	}
	res->data = v;
	return 0;
}

/* It is the test case's. */
static void keep_device(struct device *dev)
{
}

static struct view *view(struct kunit *test, u32 how, u32 flags)
{
	struct kgt_scene *s = kgt_scene(test, how, 0, flags);
	struct view *v;

	/* Windows hold the device that they are to. */
	s->peer->dev->dev.release = keep_device;
	device_initialize(&s->peer->dev->dev);
	v = kunit_alloc_resource(test, view_init, view_free, GFP_KERNEL, s);

	KUNIT_ASSERT_NOT_NULL(test, v);
	KUNIT_EXPECT_PTR_EQ(test, v->file.f_mapping, &v->set->mapping);
	return v;
}

static struct kgni_ioc_window_open asked(const struct view *v)
{
	return (struct kgni_ioc_window_open) {
		.remote_pe = KGT_PE + 1,
		.remote = v->s->remote->handle,
		.addr = v->s->remote->base + PAGE_SIZE + 8,
	};
}

static long open(struct view *v, struct kgni_ioc_window_open *arg)
{
	*arg = asked(v);
	return kgni_window_open(v->set, v->s->f->nic, arg);
}

static bool live(const struct view *v, u32 index)
{
	return v->set->state->live[index];
}

static void tells(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	struct kgni_window *w;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.addr, v->s->remote->base);
	KUNIT_EXPECT_EQ(test, arg.length, (u64)BYTES);
	KUNIT_EXPECT_EQ(test, arg.rights, (u32)(KGNI_WINDOW_WRITE | KGNI_WINDOW_EVENTS));
	KUNIT_EXPECT_EQ(test, arg.slots, v->s->dst->slots);
	KUNIT_EXPECT_EQ(test, arg.ring_length, (u64)v->s->dst->npages << PAGE_SHIFT);
	KUNIT_EXPECT_GE(test, arg.data_offset, KGNI_MMAP_WINDOWS);
	KUNIT_EXPECT_NE(test, arg.data_offset, arg.ring_offset);
	KUNIT_EXPECT_TRUE(test, live(v, arg.index));
	w = kgni_window_find(v->set, arg.index);
	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_EXPECT_PTR_EQ(test, w->mdd, v->s->remote->mdd);
	kgni_window_put(w);
	KUNIT_EXPECT_EQ(test, kgni_window_close(v->set, arg.index), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, live(v, arg.index));
	KUNIT_EXPECT_EQ(test, kgni_window_close(v->set, arg.index), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, kgni_window_find(v->set, arg.index));
	/* A queue alone; and a region that has none. */
	arg = asked(v);
	arg.flags = KGNI_WINDOW_QUEUE;
	arg.addr = 0;
	KUNIT_EXPECT_EQ(test, kgni_window_open(v->set, v->s->f->nic, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.length, 0ULL);
}

static void rights(struct kunit *test)
{
	struct view *v = view(test, NO_CQ, GNI_MEM_READ_ONLY);
	struct kgni_ioc_window_open arg;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.rights, 0U);
	KUNIT_EXPECT_EQ(test, arg.ring_length, 0ULL);
	arg = asked(v);
	arg.flags = KGNI_WINDOW_QUEUE;
	KUNIT_EXPECT_EQ(test, kgni_window_open(v->set, v->s->f->nic, &arg), GNI_RC_INVALID_PARAM);
}

static long refused(struct view *v, struct kgni_ioc_window_open arg)
{
	long rc = kgni_window_open(v->set, v->s->f->nic, &arg);

	return rc;
}

static void refuses(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	atomic64_t *count = &v->s->f->dev->refused[KGNI_REFUSED_MEMORY];
	struct kgni_ioc_window_open arg = asked(v);
	struct kgni_mdd *mdd = v->s->remote->mdd;
	s64 before = atomic64_read(count);

	arg.addr = v->s->remote->base + BYTES;
	KUNIT_EXPECT_EQ(test, refused(v, arg), GNI_RC_INVALID_PARAM);
	arg = asked(v);
	arg.remote_pe = KGT_PE + 7;
	KUNIT_EXPECT_EQ(test, refused(v, arg), GNI_RC_INVALID_PARAM);
	arg = asked(v);
	arg.remote.qword1 ^= 1;
	KUNIT_EXPECT_EQ(test, refused(v, arg), GNI_RC_INVALID_PARAM);
	arg = asked(v);
	mdd->mem->sparse = true;
	KUNIT_EXPECT_EQ(test, refused(v, arg), GNI_RC_PERMISSION_ERROR);
	mdd->mem->sparse = false;
	mdd->exact = true;
	KUNIT_EXPECT_EQ(test, refused(v, arg), GNI_RC_PERMISSION_ERROR);
	mdd->exact = false;
	KUNIT_EXPECT_EQ(test, atomic64_read(count), before + 5);
	arg.flags = 2;
	KUNIT_EXPECT_EQ(test, refused(v, arg), -EINVAL);
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
}

/* Another job's region, and one of another user whose job somebody joined. */
static void strangers(struct kunit *test)
{
	struct view *v = view(test, FOREIGN, 0);
	struct kgni_ioc_window_open arg;

	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_INVALID_PARAM);
}

static void users(struct kunit *test)
{
	const struct cred *cred = kgt_cred(test, 4711);
	struct view *v = view(test, 0, 0);
	struct kgni_nic *nic = v->s->f->nic;
	struct kgni_ioc_window_open arg;
	const struct cred *own = nic->cred;

	nic->cred = cred;
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_PERMISSION_ERROR);
	nic->cred = own;
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
}

static void limit(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	u32 i;

	for (i = 0; i < KGNI_WINDOWS_MAX; i++)
		KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, kgni_window_close(v->set, 17), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.index, 17U);
}

static void small(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;

	v->s->f->nic->modes |= GNI_CDM_MODE_FMA_SMALL_WINDOW;
	v->s->f->dev->window_bytes = 64;
	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.addr, v->s->remote->base + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, arg.length, (u64)PAGE_SIZE);
	v->s->f->dev->window_bytes = 2 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.addr, v->s->remote->base);
	KUNIT_EXPECT_EQ(test, arg.length, (u64)2 * PAGE_SIZE);
	arg = asked(v);
	arg.addr = v->s->remote->base + 2 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, kgni_window_open(v->set, v->s->f->nic, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.length, (u64)PAGE_SIZE);
}

static void ends(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	struct kgni_window *w;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	w = kgni_window_find(v->set, arg.index);
	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(v->s->peer->nic, &v->s->remote->handle),
			GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, live(v, arg.index));
	KUNIT_EXPECT_FALSE(test, kgni_mdd_enter(w->mdd));
	KUNIT_EXPECT_TRUE(test, list_empty(&w->node));
	kgni_window_put(w);
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_INVALID_PARAM);
}

/* It was found, and ends before the window is one of its. */
static void ends_meanwhile(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_nic *nic = v->s->f->nic;
	struct kgni_ioc_window_open arg = asked(v);
	struct kgni_window *w;

	KUNIT_ASSERT_EQ(test, kgni_windows_pages(v->set, nic), 0);
	w = kgni_window_new(v->set, nic);
	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_EXPECT_EQ(test, kgni_window_prepare(nic, w, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_mdd_deregister(v->s->peer->nic, &v->s->remote->handle),
			GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_window_publish(nic, w), GNI_RC_INVALID_PARAM);
	kgni_window_destroy(w);
}

static void gone(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	struct kgni_window *w;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	w = kgni_window_find(v->set, arg.index);
	KUNIT_ASSERT_NOT_NULL(test, w);
	WRITE_ONCE(v->s->peer->dev->gone, true);
	kgni_windows_gone(v->s->peer->dev);
	KUNIT_EXPECT_FALSE(test, live(v, arg.index));
	KUNIT_EXPECT_TRUE(test, w->dead);
	kgni_window_put(w);
	KUNIT_EXPECT_EQ(test, open(v, &arg), GNI_RC_INVALID_PARAM);
	WRITE_ONCE(v->s->peer->dev->gone, false);
}

static void stands_still(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_nic *nic = v->s->f->nic;
	struct kgni_device *to = v->s->peer->dev;
	struct kgni_ioc_window_open arg;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgni_window_flows(nic, to));
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(to), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, kgni_window_flows(nic, to));
	KUNIT_EXPECT_TRUE(test, live(v, arg.index));
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(to), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgni_window_flows(nic, to));
	WRITE_ONCE(nic->job->suspended, true);
	KUNIT_EXPECT_FALSE(test, kgni_window_flows(nic, to));
	WRITE_ONCE(nic->job->suspended, false);
	/* The job of the target may be suspended: it posts nothing. */
	WRITE_ONCE(v->s->peer->nic->job->suspended, true);
	KUNIT_EXPECT_TRUE(test, kgni_window_flows(nic, to));
	WRITE_ONCE(v->s->peer->nic->job->suspended, false);
}

static void wakes(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_nic *nic = v->s->f->nic;
	struct kgni_ioc_window_wake wake = { };
	struct kgni_ioc_window_open arg;

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	wake.index = arg.index;
	kgni_ring_arm(&v->s->dst->view);
	KUNIT_EXPECT_EQ(test, kgni_window_wake(v->set, nic, &wake), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, v->s->dst->view.ring->armed, 0U);
	wake.status = KGNI_ST_REM_OVERRUN;
	KUNIT_EXPECT_EQ(test, kgni_window_wake(v->set, nic, &wake), (long)-EINVAL);
	wake.type = KGNI_POST_FMA_PUT;
	KUNIT_EXPECT_EQ(test, kgni_window_wake(v->set, nic, &wake), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic64_read(&nic->stats.n[KGNI_STAT_ERROR]), 1LL);
	wake.status = KGNI_ST_BOUNDS;
	KUNIT_EXPECT_EQ(test, kgni_window_wake(v->set, nic, &wake), (long)-EINVAL);
	wake.status = 0;
	wake.index++;
	KUNIT_EXPECT_EQ(test, kgni_window_wake(v->set, nic, &wake), GNI_RC_INVALID_PARAM);
}

static void watched(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	u32 *flags;

	kgni_windows_watch_on();
	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	flags = &v->set->state->flags;
	KUNIT_EXPECT_EQ(test, *flags, (u32)KGNI_DRIVER_ONLY);
	kgni_windows_watch_on();
	kgni_windows_watch_off();
	KUNIT_EXPECT_EQ(test, *flags, (u32)KGNI_DRIVER_ONLY);
	kgni_windows_watch_off();
	KUNIT_EXPECT_EQ(test, *flags, 0U);
}

/* What a program counted is part of what its attachment did. */
static void counts(struct kunit *test)
{
	struct view *v = view(test, 0, 0);
	struct kgni_ioc_window_open arg;
	struct kgni_stats sum = { };

	KUNIT_ASSERT_EQ(test, open(v, &arg), GNI_RC_SUCCESS);
	((u64 *)page_address(v->set->stats))[KGNI_STAT_AMO] = 5;
	kgni_count(v->s->f->nic, KGNI_STAT_AMO, 2);
	kgni_nic_stats(v->s->f->nic, &sum);
	KUNIT_EXPECT_EQ(test, atomic64_read(&sum.n[KGNI_STAT_AMO]), 7LL);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(tells),
	KUNIT_CASE(rights),
	KUNIT_CASE(refuses),
	KUNIT_CASE(strangers),
	KUNIT_CASE(users),
	KUNIT_CASE(limit),
	KUNIT_CASE(small),
	KUNIT_CASE(ends),
	KUNIT_CASE(ends_meanwhile),
	KUNIT_CASE(gone),
	KUNIT_CASE(stands_still),
	KUNIT_CASE(wakes),
	KUNIT_CASE(watched),
	KUNIT_CASE(counts),
	{}
};

static struct kunit_suite window_suite = {
	.name = "kgni_window",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
