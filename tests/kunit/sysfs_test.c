// SPDX-License-Identifier: GPL-2.0-only
/* What a device tells by its attributes: above all, what it refused its users. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "kgt_scene.h"
#include "../../kernel/sysfs.c"

static const char *read(struct kgni_device *dev, struct attribute **attrs, const char *name,
			char *buf)
{
	for (; *attrs; attrs++) {
		struct device_attribute *d = container_of(*attrs, struct device_attribute, attr);

		if (!strcmp((*attrs)->name, name) && d->show(&dev->dev, d, buf) > 0)
			return buf;
	}
	return "none";
}

static char *page_for(struct kunit *test)
{
	char *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	/* sysfs_emit() wants a page for itself. */
	KUNIT_ASSERT_TRUE(test, buf && !offset_in_page(buf));
	return buf;
}

static void counters(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	static const char *const names[] = { "attach", "memory", "queue", "datagram", "channel" };
	char *buf = page_for(test);
	u32 i, n;

	KUNIT_EXPECT_STREQ(test, kgni_refused_group.name, "refused");
	for (i = 0; i < KGNI_REFUSALS; i++) {
		KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, names[i], buf), "0\n");
		for (n = 0; n <= i; n++)
			kgni_count_refusal(dev, i);
	}
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "attach", buf), "1\n");
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "memory", buf), "2\n");
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "queue", buf), "3\n");
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "datagram", buf), "4\n");
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "channel", buf), "5\n");
	atomic64_set(&dev->refused[KGNI_REFUSED_QUEUE], S64_MAX);
	KUNIT_EXPECT_STREQ(test, read(dev, kgni_refused_attrs, "queue", buf),
			   "9223372036854775807\n");
}

/* --- what counts ------------------------------------------------------------ */

static struct kgni_mem_handle no_handle(void)
{
	struct kgni_mh mh = { .va = 0x1000, .npages = 1, .mdh = 77, .page_shift = PAGE_SHIFT };
	struct kgni_mem_handle h;

	kgni_mh_pack(&mh, &h.qword1, &h.qword2);
	return h;
}

static long attach_as(struct kgt_scene *s, struct kgni_ioc_attach arg, bool writable)
{
	struct kgni_file *f = kgt_open(s->test, s->f->dev);

	f->writable = writable;
	arg.inst_id = 9;
	return kgt_nic_attach(f, &arg);
}

static long do_attach_tag(struct kgt_scene *s)
{
	return attach_as(s, (struct kgni_ioc_attach) {
		.ptag = s->f->nic->job->ptag, .cookie = KGT_COOKIE + 5 }, true);
}

static long do_attach_reading(struct kgt_scene *s)
{
	return attach_as(s, (struct kgni_ioc_attach) {
		.ptag = GNI_FIND_ALLOC_PTAG, .cookie = KGT_COOKIE }, false);
}

static long do_attach_wrong(struct kgt_scene *s)
{
	return attach_as(s, (struct kgni_ioc_attach) { .cookie = KGT_COOKIE }, true);
}

static long do_post_foreign(struct kgt_scene *s)
{
	kgt_compose(s, PUT);
	return kgt_run(s);
}

static long do_post_local(struct kgt_scene *s)
{
	kgt_compose(s, GET);
	s->post.local = no_handle();
	return kgt_run(s);
}

static long do_post_queue(struct kgt_scene *s)
{
	kgt_compose(s, PUT);
	s->post.src_cq = 99;
	return kgt_run(s);
}

static long do_post_malformed(struct kgt_scene *s)
{
	kgt_compose(s, PUT);
	s->post.reserved = 1;
	return kgt_run(s);
}

static long do_deregister(struct kgt_scene *s)
{
	struct kgni_mem_handle h = no_handle();

	return kgni_mdd_deregister(s->f->nic, &h);
}

static long do_next(struct kgt_scene *s)
{
	struct kgni_ioc_mem_next arg = { .handle = no_handle() };

	return kgni_mdd_next(s->f->nic, &arg);
}

static long do_next_none(struct kgt_scene *s)
{
	struct kgni_ioc_mem_next arg = { .handle = s->local->handle };

	return kgni_mdd_next(s->f->nic, &arg);
}

static long do_register(struct kgt_scene *s, u32 flags, u32 cq)
{
	struct kgni_ioc_mem_register arg = {
		.addr = s->user, .length = PAGE_SIZE, .flags = flags, .cq = cq,
		.vmdh_index = ~0U, .handle = no_handle(),
	};

	return kgt_register(s->f, &arg);
}

static long do_clone(struct kgt_scene *s)
{
	return do_register(s, GNI_MEM_MDD_CLONE, 0);
}

static long do_update(struct kgt_scene *s)
{
	return do_register(s, GNI_MEM_UPDATE_REGION, 0);
}

static long do_register_queue(struct kgt_scene *s)
{
	return do_register(s, 0, 99);
}

static long do_register_flags(struct kgt_scene *s)
{
	return do_register(s, GNI_MEM_CUDA, 0);
}

static long do_destroy(struct kgt_scene *s)
{
	return kgni_cq_destroy(s->f->nic, 99);
}

static long do_wake(struct kgt_scene *s)
{
	struct kgni_ioc_cq_wake arg = { .id = 99 };

	return kgni_cq_wake(s->f->nic, &arg);
}

static long do_notify(struct kgt_scene *s)
{
	struct kgni_ioc_cq_notify arg = { .id = 99, .fd = -1 };

	return kgni_cq_set_notify(s->f->nic, &arg);
}

static long do_notify_no_channel(struct kgt_scene *s)
{
	struct kgni_ioc_cq_notify arg = { .id = s->src->id, .fd = -1 };

	return kgni_cq_set_notify(s->f->nic, &arg);
}

/* Zeros: the queue 0 of the file 0, which no kernel thread has open. */
static long do_wait(struct kgt_scene *s)
{
	struct kgni_ioc_cq_wait arg = { .cqs = s->user, .count = 1 };
	long rc;

	kgt_mm_begin();
	rc = kgni_cq_wait(s->f->dev, &arg);
	kgt_mm_end();
	return rc;
}

static long do_dgram_test(struct kgt_scene *s)
{
	struct kgni_ioc_dgram_test arg = { .ep = 7 };
	struct kgni_dgram *taken;

	return kgni_dgram_test(s->f->nic, &arg, &taken);
}

static long cancel(struct kgt_scene *s, u32 flags)
{
	struct kgni_ioc_dgram_cancel arg = { .ep = 7, .flags = flags };

	return kgni_dgram_cancel(s->f->nic, &arg);
}

static long do_dgram_cancel(struct kgt_scene *s)
{
	return cancel(s, 0);
}

static long do_dgram_gone(struct kgt_scene *s)
{
	return cancel(s, KGNI_DGRAM_EP_GONE);
}

static long do_dgram_probe(struct kgt_scene *s)
{
	struct kgni_ioc_dgram_probe arg = { 0 };
	struct kgni_dgram *taken;

	return kgni_dgram_probe(s->f->nic, &arg, &taken);
}

#define NONE	KGNI_REFUSALS

static const struct act {
	const char *name;
	long (*fn)(struct kgt_scene *s);
	long rc;
	enum kgni_refusal counted;
} acts[] = {
	{ "attach to a tag", do_attach_tag, GNI_RC_PERMISSION_ERROR, KGNI_REFUSED_ATTACH },
	{ "attach, reading", do_attach_reading, -EACCES, KGNI_REFUSED_ATTACH },
	{ "attach to no tag", do_attach_wrong, GNI_RC_INVALID_PARAM, NONE },
	{ "post to another job", do_post_foreign, GNI_RC_SUCCESS, KGNI_REFUSED_MEMORY },
	{ "post from nowhere", do_post_local, GNI_RC_INVALID_PARAM, KGNI_REFUSED_MEMORY },
	{ "post with no queue", do_post_queue, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "malformed post", do_post_malformed, -EINVAL, NONE },
	{ "deregister", do_deregister, GNI_RC_INVALID_PARAM, KGNI_REFUSED_MEMORY },
	{ "list", do_next, GNI_RC_INVALID_STATE, KGNI_REFUSED_MEMORY },
	{ "end of the list", do_next_none, GNI_RC_NO_MATCH, NONE },
	{ "clone", do_clone, GNI_RC_INVALID_PARAM, KGNI_REFUSED_MEMORY },
	{ "update", do_update, GNI_RC_INVALID_PARAM, KGNI_REFUSED_MEMORY },
	{ "register with a queue", do_register_queue, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "register with a flag", do_register_flags, GNI_RC_INVALID_PARAM, NONE },
	{ "destroy", do_destroy, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "wake", do_wake, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "notify", do_notify, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "notify nobody", do_notify_no_channel, GNI_RC_INVALID_PARAM, NONE },
	{ "wait", do_wait, GNI_RC_INVALID_PARAM, KGNI_REFUSED_QUEUE },
	{ "state of a datagram", do_dgram_test, GNI_RC_NO_MATCH, KGNI_REFUSED_DATAGRAM },
	{ "cancel a datagram", do_dgram_cancel, GNI_RC_NO_MATCH, KGNI_REFUSED_DATAGRAM },
	{ "end of an endpoint", do_dgram_gone, GNI_RC_NO_MATCH, NONE },
	{ "probe", do_dgram_probe, GNI_RC_NO_MATCH, NONE },
};

static void act_desc(const struct act *a, char *desc)
{
	strscpy(desc, a->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(act, acts, act_desc);

/* Once, on the device of who asked, and as one thing. */
static void counted_once(struct kunit *test)
{
	const struct act *a = test->param_value;
	struct kgt_scene *s = kgt_scene(test, FOREIGN, 0, 0);
	u32 i;

	KUNIT_EXPECT_EQ(test, a->fn(s), a->rc);
	for (i = 0; i < KGNI_REFUSALS; i++) {
		KUNIT_EXPECT_EQ(test, atomic64_read(&s->f->dev->refused[i]), i == a->counted);
		KUNIT_EXPECT_EQ(test, atomic64_read(&s->peer->dev->refused[i]), 0);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(counters),
	KUNIT_CASE_PARAM(counted_once, act_gen_params),
	{}
};

static struct kunit_suite sysfs_suite = {
	.name = "kgni_sysfs",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(sysfs_suite);
