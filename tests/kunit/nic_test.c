// SPDX-License-Identifier: GPL-2.0-only
/* Attachments: what they take, and that they give it back. */
#include "kgt.h"
#include "../../kernel/nic.c"

static struct kgni_ioc_attach args(void)
{
	return (struct kgni_ioc_attach) {
		.inst_id = 5,
		.ptag = GNI_FIND_ALLOC_PTAG,
		.cookie = KGT_COOKIE,
		.modes = GNI_CDM_MODE_DUAL_EVENTS,
	};
}

static void attach(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_ioc_attach a = args();

	KUNIT_ASSERT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_SUCCESS);
	KUNIT_ASSERT_NOT_NULL(test, f->nic);
	KUNIT_EXPECT_EQ(test, a.pe, KGT_PE);
	KUNIT_EXPECT_EQ(test, a.ptag, GNI_PTAG_USER_START);
	KUNIT_EXPECT_EQ(test, f->nic->inst_id, 5);
	KUNIT_EXPECT_EQ(test, f->nic->modes, GNI_CDM_MODE_DUAL_EVENTS);
	KUNIT_EXPECT_PTR_EQ(test, f->nic->dev, dev);
	KUNIT_EXPECT_EQ(test, f->nic->job->ptag, a.ptag);
}

static void attach_twice(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 5, KGT_COOKIE, 0);
	struct kgni_ioc_attach a = args();
	struct kgni_nic *nic = f->nic;

	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_PTR_EQ(test, f->nic, nic);
	KUNIT_EXPECT_EQ(test, nic->job->refs, 1);
}

static const struct refusal {
	const char *name;
	u32 ptag, reserved;
	bool read_only;
	long rc;
} refusals[] = {
	{ "reserved field", GNI_FIND_ALLOC_PTAG, 1, false, -EINVAL },
	{ "file opened for reading", GNI_FIND_ALLOC_PTAG, 0, true, -EACCES },
	{ "ptag 0", 0, 0, false, GNI_RC_INVALID_PARAM },
	{ "ptag 256", 256, 0, false, GNI_RC_INVALID_PARAM },
	{ "another cookie's ptag", 50, 0, false, GNI_RC_PERMISSION_ERROR },
};

static void refusal_desc(const struct refusal *r, char *desc)
{
	strscpy(desc, r->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(refusal, refusals, refusal_desc);

static void refused(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *other = kgt_open(test, dev);
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_ioc_attach a = args();

	a.ptag = 50;
	a.cookie++;
	KUNIT_ASSERT_EQ(test, kgt_nic_attach(other, &a), GNI_RC_SUCCESS);
	a = args();
	a.ptag = r->ptag;
	a.reserved = r->reserved;
	f->writable = !r->read_only;
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), r->rc);
	KUNIT_EXPECT_NULL(test, f->nic);
	KUNIT_EXPECT_EQ(test, other->nic->job->refs, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_FMA]), 1);
}

static void fma_descriptors(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *first = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_ioc_attach a = args();
	atomic_t *used = &first->nic->job->used[KGNI_RES_FMA];

	KUNIT_EXPECT_EQ(test, atomic_read(used), 1);
	atomic_set(used, 512);
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_NULL(test, f->nic);
	KUNIT_EXPECT_EQ(test, first->nic->job->refs, 1);
	/* Who shares one needs none. */
	a = args();
	a.modes |= GNI_CDM_MODE_FMA_SHARED;
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(used), 512);
	kgt_close(f);
	KUNIT_EXPECT_EQ(test, atomic_read(used), 512);
	atomic_set(used, 511);
	a = args();
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(used), 512);
	atomic_set(used, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_FMA]), 2);
}

/* A failed attempt to make a job leaves no job. */
static void no_descriptor_no_job(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_ioc_attach a = args();

	atomic_set(&dev->used[KGNI_RES_FMA], 2048);
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &a), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->jobs));
	atomic_set(&dev->used[KGNI_RES_FMA], 0);
}

/* Everything at once; what is not given back the device complains of. */
static void release(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *keeper = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *f = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_ioc_dgram_post d = { .ep = 1 };
	struct kgni_job *job = keeper->nic->job;
	struct kgt_mem *m[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = kgt_mem(test, f, 4, 0, kgt_cq(test, f, 16, 0));
	for (d.ep = 0; d.ep < 10; d.ep++)
		KUNIT_EXPECT_EQ(test, kgni_dgram_post(f->nic, &d), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[KGNI_RES_MDD]), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[KGNI_RES_CQ]), 3);
	kgt_close(f);
	for (i = 0; i < KGNI_RES_COUNT; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&job->used[i]), i == KGNI_RES_FMA);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		KUNIT_EXPECT_NULL(test, kgni_mdd_find(job, &m[i]->handle));
	KUNIT_EXPECT_EQ(test, job->refs, 1);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(attach),
	KUNIT_CASE(attach_twice),
	KUNIT_CASE_PARAM(refused, refusal_gen_params),
	KUNIT_CASE(fma_descriptors),
	KUNIT_CASE(no_descriptor_no_job),
	KUNIT_CASE(release),
	{}
};

static struct kunit_suite nic_suite = {
	.name = "kgni_nic",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(nic_suite);
