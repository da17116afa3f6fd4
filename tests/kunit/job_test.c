// SPDX-License-Identifier: GPL-2.0-only
/* Jobs: the table of a device, who may join what, limits, and peers. */
#include <linux/sched/signal.h>

#include "kgt.h"
#include "../../kernel/job.c"

enum { ROOT, ALICE, BOB, USERS };

struct users {
	const struct cred *cred[USERS];
};

static void users_init(struct kunit *test, struct users *u)
{
	u->cred[ROOT] = current_cred();
	u->cred[ALICE] = kgt_cred(test, 1000);
	u->cred[BOB] = kgt_cred(test, 1001);
}

static long attach_as(const struct cred *cred, struct kgni_device *dev, u32 *ptag, u32 cookie,
		      struct kgni_job **job)
{
	const struct cred *old = override_creds(cred);
	long rc = kgni_job_attach(dev, ptag, cookie, job);

	revert_creds(old);
	return rc;
}

static void member_free(struct kunit_resource *res)
{
	kgni_job_put(res->data);
}

/* Join a job until the case ends, or until leave(). */
static struct kgni_job *join_as(struct kunit *test, const struct cred *cred,
				struct kgni_device *dev, u32 ptag, u32 cookie)
{
	struct kgni_job *job = NULL;

	KUNIT_ASSERT_EQ(test, attach_as(cred, dev, &ptag, cookie, &job), GNI_RC_SUCCESS);
	kunit_alloc_resource(test, NULL, member_free, GFP_KERNEL, job);
	KUNIT_EXPECT_EQ(test, job->ptag, ptag);
	return job;
}

static struct kgni_job *join(struct kunit *test, struct kgni_device *dev, u32 ptag, u32 cookie)
{
	return join_as(test, current_cred(), dev, ptag, cookie);
}

static bool is_member_of(struct kunit *test, struct kunit_resource *res, void *job)
{
	return res->free == member_free && res->data == job;
}

static void leave(struct kunit *test, struct kgni_job *job)
{
	KUNIT_EXPECT_EQ(test, kunit_destroy_resource(test, is_member_of, job), 0);
}

static unsigned int jobs(struct kgni_device *dev)
{
	struct kgni_job *job;
	unsigned long ptag;
	unsigned int n = 0;

	xa_for_each(&dev->jobs, ptag, job)
		n++;
	return n;
}

/*
 * Who may join what, where there are: Alice's job 10 with cookie 0xa, root's job
 * 11 with cookie 0xb, root's job 1, both's jobs 20 and 30 with cookie 0xc, root's first.
 */
static const struct joining {
	const char *name;
	u32 ptag, cookie;
	int user;
	long rc;
	u32 got;
} joinings[] = {
	{ "ptag 0", 0, 0xd, ROOT, GNI_RC_INVALID_PARAM },
	{ "ptag 256", 256, 0xd, ROOT, GNI_RC_INVALID_PARAM },
	{ "ptag of 32 bits", 0x1000000a, 0xa, ALICE, GNI_RC_INVALID_PARAM },
	{ "kernel's ptag 1 as a user", 1, 0xd, ALICE, GNI_RC_PERMISSION_ERROR },
	{ "kernel's ptag 2 as a user", 2, 0xd, ALICE, GNI_RC_PERMISSION_ERROR },
	{ "kernel's ptag 254 as a user", 254, 0xd, ALICE, GNI_RC_PERMISSION_ERROR },
	{ "kernel's ptag 1 of another cookie", 1, 0xd, ROOT, GNI_RC_PERMISSION_ERROR },
	{ "kernel's ptag 2 as root", 2, 0xd, ROOT, GNI_RC_SUCCESS, 2 },
	{ "kernel's ptag 254 as root", 254, 0xd, ROOT, GNI_RC_SUCCESS, 254 },
	{ "first user ptag", 3, 0xd, ALICE, GNI_RC_SUCCESS, 3 },
	{ "last user ptag", 253, 0xd, ALICE, GNI_RC_SUCCESS, 253 },
	{ "her job", 10, 0xa, ALICE, GNI_RC_SUCCESS, 10 },
	{ "her job by cookie", GNI_FIND_ALLOC_PTAG, 0xa, ALICE, GNI_RC_SUCCESS, 10 },
	{ "her job, other cookie", 10, 0xb, ALICE, GNI_RC_PERMISSION_ERROR },
	{ "another's job", 10, 0xa, BOB, GNI_RC_PERMISSION_ERROR },
	{ "another's cookie", GNI_FIND_ALLOC_PTAG, 0xa, BOB, GNI_RC_SUCCESS, 3 },
	{ "another's job as root", 10, 0xa, ROOT, GNI_RC_SUCCESS, 10 },
	{ "another's cookie as root", GNI_FIND_ALLOC_PTAG, 0xa, ROOT, GNI_RC_SUCCESS, 3 },
	{ "root's job as a user", 11, 0xb, ALICE, GNI_RC_PERMISSION_ERROR },
	{ "own job before another's, user", GNI_FIND_ALLOC_PTAG, 0xc, ALICE, GNI_RC_SUCCESS, 30 },
	{ "own job before another's, root", GNI_FIND_ALLOC_PTAG, 0xc, ROOT, GNI_RC_SUCCESS, 20 },
	{ "a new cookie", GNI_FIND_ALLOC_PTAG, 0xd, ALICE, GNI_RC_SUCCESS, 3 },
	{ "cookie 0", GNI_FIND_ALLOC_PTAG, 0, ALICE, GNI_RC_SUCCESS, 3 },
};

static void joining_desc(const struct joining *j, char *desc)
{
	strscpy(desc, j->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(joining, joinings, joining_desc);

static void who_may_join(struct kunit *test)
{
	const struct joining *j = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = NULL;
	u32 ptag = j->ptag;
	struct users u;
	unsigned int n;

	users_init(test, &u);
	join_as(test, u.cred[ALICE], dev, 10, 0xa);
	join(test, dev, 11, 0xb);
	join(test, dev, 1, 0xe);
	join(test, dev, 20, 0xc);
	join_as(test, u.cred[ALICE], dev, 30, 0xc);
	n = jobs(dev);
	KUNIT_ASSERT_EQ(test, attach_as(u.cred[j->user], dev, &ptag, j->cookie, &job), j->rc);
	if (j->rc) {
		KUNIT_EXPECT_EQ(test, jobs(dev), n);
		KUNIT_EXPECT_EQ(test, ptag, j->ptag);
		return;
	}
	KUNIT_EXPECT_EQ(test, ptag, j->got);
	KUNIT_EXPECT_EQ(test, job->ptag, j->got);
	KUNIT_EXPECT_EQ(test, job->cookie, j->cookie);
	kgni_job_put(job);
	KUNIT_EXPECT_EQ(test, jobs(dev), n);
}

static void ends_with_its_last_member(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = join(test, dev, 7, KGT_COOKIE);

	KUNIT_EXPECT_PTR_EQ(test, join(test, dev, 7, KGT_COOKIE), job);
	KUNIT_EXPECT_PTR_EQ(test, join(test, dev, GNI_FIND_ALLOC_PTAG, KGT_COOKIE), job);
	leave(test, job);
	leave(test, job);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&dev->jobs, 7), job);
	leave(test, job);
	KUNIT_EXPECT_NULL(test, xa_load(&dev->jobs, 7));
	/* And another may have the tag. */
	join(test, dev, 7, KGT_COOKIE + 1);
}

static void automatic_ptags(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job, *fifth = NULL;
	u32 ptag = GNI_FIND_ALLOC_PTAG;
	u32 i, n = 0;

	for (i = 3; i <= 253; i++) {
		/* 128 is set aside. */
		if (i == 128)
			continue;
		job = join(test, dev, GNI_FIND_ALLOC_PTAG, 1000 + n++);
		KUNIT_ASSERT_EQ(test, job->ptag, i);
		KUNIT_EXPECT_TRUE(test, job->automatic);
		if (i == 5)
			fifth = job;
	}
	KUNIT_EXPECT_EQ(test, kgni_job_attach(dev, &ptag, 1, &job), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, jobs(dev), n);
	leave(test, fifth);
	KUNIT_EXPECT_EQ(test, join(test, dev, GNI_FIND_ALLOC_PTAG, 1)->ptag, 5);
	KUNIT_EXPECT_FALSE(test, join(test, dev, 128, 2)->automatic);
}

static void jobs_of_one_user(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	u32 ptag = GNI_FIND_ALLOC_PTAG;
	struct kgni_job *job;
	struct users u;
	u32 i;

	users_init(test, &u);
	for (i = 0; i < KGNI_JOBS_PER_USER; i++)
		join_as(test, u.cred[ALICE], dev, GNI_FIND_ALLOC_PTAG, i);
	KUNIT_EXPECT_EQ(test, attach_as(u.cred[ALICE], dev, &ptag, i, &job), GNI_RC_ERROR_RESOURCE);
	ptag = 200;
	KUNIT_EXPECT_EQ(test, attach_as(u.cred[ALICE], dev, &ptag, i, &job), GNI_RC_ERROR_RESOURCE);
	/* Those that she has she may join, and others are not in her way. */
	join_as(test, u.cred[ALICE], dev, GNI_FIND_ALLOC_PTAG, 0);
	join_as(test, u.cred[BOB], dev, GNI_FIND_ALLOC_PTAG, i);
	join(test, dev, GNI_FIND_ALLOC_PTAG, i + 1);
}

static const enum kgni_res resources[] = {
	KGNI_RES_MDD, KGNI_RES_CQ, KGNI_RES_FMA, KGNI_RES_BTE, KGNI_RES_IOMMU, KGNI_RES_SFMA,
	KGNI_RES_CE, KGNI_RES_DLA, KGNI_RES_MRT, KGNI_RES_GART,
};

static_assert(ARRAY_SIZE(resources) == KGNI_RES_COUNT);

static void resource_desc(const enum kgni_res *res, char *desc)
{
	static const char *const names[] = {
		"MDD", "CQ", "FMA", "BTE", "IOMMU", "SFMA", "CE", "DLA", "MRT", "GART"
	};

	strscpy(desc, names[*res], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(resource, resources, resource_desc);

static void limit_of_a_job(struct kunit *test)
{
	enum kgni_res res = *(const enum kgni_res *)test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = join(test, dev, 7, 7);
	struct kgni_job *other = join(test, dev, 8, 8);
	int limit = kgni_res_table[res].limit;

	atomic_set(&job->used[res], limit - 2);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[res]), limit);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[res]), 2);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(other, res));
	kgni_res_uncharge(job, res);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	kgni_res_uncharge(job, res);
	kgni_res_uncharge(job, res);
	kgni_res_uncharge(other, res);
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[res]), limit - 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&other->used[res]), 0);
}

static void total_of_a_device(struct kunit *test)
{
	enum kgni_res res = *(const enum kgni_res *)test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = join(test, dev, 7, 7);
	int total = kgni_res_table[res].total;

	atomic_set(&dev->used[res], total - 1);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[res]), total);
	/* What was refused counts for nobody. */
	KUNIT_EXPECT_EQ(test, atomic_read(&job->used[res]), 1);
	kgni_res_uncharge(job, res);
	atomic_set(&dev->used[res], 0);
}

/* All jobs of a plain user together leave half of a device's for others. */
static void share_of_a_user(struct kunit *test)
{
	enum kgni_res res = *(const enum kgni_res *)test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	int share = kgni_res_table[res].total / 2;
	struct kgni_job *job, *second, *bobs;
	struct users u;

	users_init(test, &u);
	job = join_as(test, u.cred[ALICE], dev, 7, 7);
	second = join_as(test, u.cred[ALICE], dev, 8, 8);
	bobs = join_as(test, u.cred[BOB], dev, 9, 9);
	KUNIT_ASSERT_PTR_EQ(test, job->user, second->user);
	atomic_set(&job->user->used[res], share - 1);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge(second, res));
	KUNIT_EXPECT_EQ(test, atomic_read(&second->used[res]), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&job->user->used[res]), share);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(bobs, res));
	kgni_res_uncharge(bobs, res);
	kgni_res_uncharge(job, res);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(second, res));
	kgni_res_uncharge(second, res);
	/* Root may have it all. */
	job = join(test, dev, 10, 10);
	atomic_set(&job->user->used[res], share);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, res));
	kgni_res_uncharge(job, res);
}

static const struct query {
	const char *name;
	u32 scope, type, ptag, reserved;
	long rc;
	u64 total, used;
} queries[] = {
	{ "MDDs of the device", KGNI_RES_DEVICE, GNI_DEV_RES_MDD, 0, 0, GNI_RC_SUCCESS, 16384, 5 },
	{ "CQs of the device", KGNI_RES_DEVICE, GNI_DEV_RES_CQ, 0, 0, GNI_RC_SUCCESS, 16384, 0 },
	{ "FMA of the device", KGNI_RES_DEVICE, GNI_DEV_RES_FMA, 0, 0, GNI_RC_SUCCESS, 2048, 0 },
	{ "CEs of the device", KGNI_RES_DEVICE, GNI_DEV_RES_CE, 0, 0, GNI_RC_SUCCESS, 1024, 0 },
	{ "DLA of the device", KGNI_RES_DEVICE, GNI_DEV_RES_DLA, 0, 0, GNI_RC_SUCCESS, 65536, 0 },
	{ "MRT of the device", KGNI_RES_DEVICE, GNI_DEV_RES_MRT, 0, 0, GNI_RC_ERROR_RESOURCE },
	{ "first of the device", KGNI_RES_DEVICE, GNI_DEV_RES_FIRST, 0, 0, GNI_RC_INVALID_PARAM },
	{ "last of the device", KGNI_RES_DEVICE, GNI_DEV_RES_LAST, 0, 0, GNI_RC_INVALID_PARAM },
	{ "any of the device", KGNI_RES_DEVICE, U32_MAX, 0, 0, GNI_RC_INVALID_PARAM },
	{ "MDDs of a job", KGNI_RES_JOB, GNI_JOB_RES_MDD, 7, 0, GNI_RC_SUCCESS, 4095, 3 },
	{ "MDDs of another job", KGNI_RES_JOB, GNI_JOB_RES_MDD, 8, 0, GNI_RC_SUCCESS, 4095, 2 },
	{ "MDDs of no job", KGNI_RES_JOB, GNI_JOB_RES_MDD, 9, 0, GNI_RC_SUCCESS, 4095, 0 },
	{ "CQs of a job", KGNI_RES_JOB, GNI_JOB_RES_CQ, 7, 0, GNI_RC_SUCCESS, 4096, 0 },
	{ "FMA of a job", KGNI_RES_JOB, GNI_JOB_RES_FMA, 7, 0, GNI_RC_SUCCESS, 512, 0 },
	{ "CEs of a job", KGNI_RES_JOB, GNI_JOB_RES_CE, 7, 0, GNI_RC_SUCCESS, 4, 0 },
	{ "RDMA of a job", KGNI_RES_JOB, GNI_JOB_RES_RMDA, 7, 0, GNI_RC_SUCCESS, 1 << 20, 0 },
	{ "DLA of a job", KGNI_RES_JOB, GNI_JOB_RES_DLA, 7, 0, GNI_RC_SUCCESS, 16384, 0 },
	{ "GART of a job", KGNI_RES_JOB, GNI_JOB_RES_GART, 7, 0, GNI_RC_ERROR_RESOURCE },
	{ "first of a job", KGNI_RES_JOB, GNI_JOB_RES_FIRST, 7, 0, GNI_RC_INVALID_PARAM },
	{ "last of a job", KGNI_RES_JOB, GNI_JOB_RES_LAST, 7, 0, GNI_RC_INVALID_PARAM },
	{ "ptag 0", KGNI_RES_JOB, GNI_JOB_RES_MDD, 0, 0, GNI_RC_INVALID_PARAM },
	{ "ptag 256", KGNI_RES_JOB, GNI_JOB_RES_MDD, 256, 0, GNI_RC_INVALID_PARAM },
	{ "unknown scope", 2, GNI_DEV_RES_MDD, 7, 0, -EINVAL },
	{ "reserved field", KGNI_RES_DEVICE, GNI_DEV_RES_MDD, 0, 1, -EINVAL },
};

static void query_desc(const struct query *q, char *desc)
{
	strscpy(desc, q->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(query, queries, query_desc);

static void resource_info(struct kunit *test)
{
	const struct query *q = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_ioc_res arg = {
		.scope = q->scope, .type = q->type, .ptag = q->ptag, .reserved = q->reserved,
	};
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_job *a = join(test, dev, 7, 7);
	struct kgni_job *b = join(test, dev, 8, 8);
	long rc;
	int i;

	for (i = 0; i < 5; i++)
		kgni_res_charge(i < 3 ? a : b, KGNI_RES_MDD);
	rc = kgni_res_info(f, &arg);
	for (i = 0; i < 5; i++)
		kgni_res_uncharge(i < 3 ? a : b, KGNI_RES_MDD);
	KUNIT_ASSERT_EQ(test, rc, q->rc);
	if (rc)
		return;
	KUNIT_EXPECT_EQ(test, arg.total, q->total);
	KUNIT_EXPECT_EQ(test, arg.used, q->used);
	KUNIT_EXPECT_EQ(test, arg.available, q->total - q->used);
	KUNIT_EXPECT_EQ(test, arg.reserved_count, 0);
}

/* Pages that stay, against RLIMIT_MEMLOCK: the thread's own limit, so it may be changed. */
static void locked_pages(struct kunit *test)
{
	struct rlimit *rlim = &current->signal->rlim[RLIMIT_MEMLOCK];
	const struct cred *alice = kgt_cred(test, 1000);
	struct user_struct *user[3] = { NULL };
	unsigned long base = atomic_long_read(&current_user()->locked_vm);
	const struct cred *old;
	bool got[3];

	rlim->rlim_cur = (base + 5) << PAGE_SHIFT;
	old = override_creds(alice);
	got[0] = kgni_pages_charge(&user[0], 4);
	got[1] = kgni_pages_charge(&user[1], 2);
	got[2] = kgni_pages_charge(&user[2], 1);
	revert_creds(old);
	KUNIT_EXPECT_TRUE(test, got[0]);
	KUNIT_EXPECT_FALSE(test, got[1]);
	KUNIT_EXPECT_TRUE(test, got[2]);
	/* Who has CAP_IPC_LOCK is not bound by it. */
	KUNIT_EXPECT_TRUE(test, kgni_pages_charge(&user[1], 100));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&user[0]->locked_vm), base + 105);
	kgni_pages_uncharge(user[0], 4);
	kgni_pages_uncharge(user[1], 100);
	kgni_pages_uncharge(user[2], 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&current_user()->locked_vm), base);
}

/* Jobs of two devices, or of one. */
static const struct pair {
	const char *name;
	bool same_dev, same_domain, same_ptag, auto_a, auto_b, same;
} pairs[] = {
	{ "both automatic", false, true, false, true, true, true },
	{ "both automatic, one ptag", false, true, true, true, true, true },
	{ "both explicit, one ptag", false, true, true, false, false, true },
	{ "both explicit", false, true, false, false, false, false },
	{ "one automatic", false, true, false, true, false, false },
	{ "the other automatic", false, true, false, false, true, false },
	{ "one automatic, one ptag", false, true, true, true, false, true },
	{ "another domain, one ptag", false, false, true, false, false, false },
	{ "another domain, automatic", false, false, false, true, true, false },
	{ "another domain, automatic, one ptag", false, false, true, true, true, false },
	{ "one device", true, true, false, false, false, false },
	{ "one device, automatic", true, true, false, true, true, false },
};

static void pair_desc(const struct pair *p, char *desc)
{
	strscpy(desc, p->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pair, pairs, pair_desc);

static void one_protection_domain(struct kunit *test)
{
	const struct pair *p = test->param_value;
	/* Only compared, so any addresses will do. */
	struct kgni_device *devs = (void *)test;
	struct kgni_domain *domains = (void *)test;
	struct kgni_job a = {
		.dev = &devs[0], .domain = &domains[0], .ptag = 10, .automatic = p->auto_a,
	};
	struct kgni_job b = {
		.dev = &devs[!p->same_dev], .domain = &domains[!p->same_domain],
		.ptag = p->same_ptag ? 10 : 11, .automatic = p->auto_b,
	};

	KUNIT_EXPECT_EQ(test, kgni_job_same(&a, &b), p->same);
	KUNIT_EXPECT_EQ(test, kgni_job_same(&b, &a), p->same);
	KUNIT_EXPECT_TRUE(test, kgni_job_same(&a, &a));
}

static struct kgni_job *peer(struct kgni_device *dev, struct kgni_job *job)
{
	struct kgni_job *p;

	rcu_read_lock();
	p = kgni_job_peer(dev, job);
	rcu_read_unlock();
	return p;
}

static void peers_on_another_device(struct kunit *test)
{
	struct kgni_device *a = kgt_device(test, KGT_PE);
	struct kgni_device *b = kgt_device(test, KGT_PE + 1);
	struct kgni_job *mine = join(test, a, GNI_FIND_ALLOC_PTAG, KGT_COOKIE);
	struct kgni_job *theirs;

	KUNIT_EXPECT_PTR_EQ(test, peer(a, mine), mine);
	KUNIT_EXPECT_NULL(test, peer(b, mine));
	/* The tag is taken there: the driver chooses another. */
	join(test, b, mine->ptag, KGT_COOKIE + 1);
	KUNIT_EXPECT_NULL(test, peer(b, mine));
	theirs = join(test, b, GNI_FIND_ALLOC_PTAG, KGT_COOKIE);
	KUNIT_EXPECT_NE(test, theirs->ptag, mine->ptag);
	KUNIT_EXPECT_PTR_EQ(test, peer(b, mine), theirs);
	KUNIT_EXPECT_PTR_EQ(test, peer(a, theirs), mine);
	leave(test, theirs);
	KUNIT_EXPECT_NULL(test, peer(b, mine));
}

static void peers_with_a_ptag(struct kunit *test)
{
	struct kgni_device *a = kgt_device(test, KGT_PE);
	struct kgni_device *b = kgt_device(test, KGT_PE + 1);
	struct kgni_job *mine = join(test, a, 50, KGT_COOKIE);

	join(test, b, 51, KGT_COOKIE);
	join(test, b, GNI_FIND_ALLOC_PTAG, KGT_COOKIE);
	KUNIT_EXPECT_NULL(test, peer(b, mine));
	KUNIT_EXPECT_NULL(test, peer(b, join(test, a, 52, KGT_COOKIE)));
	KUNIT_EXPECT_PTR_EQ(test, peer(b, join(test, a, 51, KGT_COOKIE)), xa_load(&b->jobs, 51));
}

static void no_peers_of_other_users(struct kunit *test)
{
	struct kgni_device *a = kgt_device(test, KGT_PE);
	struct kgni_device *b = kgt_device(test, KGT_PE + 1);
	struct kgni_job *alices, *bobs;
	struct users u;

	users_init(test, &u);
	alices = join_as(test, u.cred[ALICE], a, 50, KGT_COOKIE);
	bobs = join_as(test, u.cred[BOB], b, 50, KGT_COOKIE);
	KUNIT_EXPECT_NULL(test, peer(b, alices));
	KUNIT_EXPECT_NULL(test, peer(a, bobs));
	alices = join_as(test, u.cred[ALICE], a, GNI_FIND_ALLOC_PTAG, 5);
	bobs = join_as(test, u.cred[BOB], b, GNI_FIND_ALLOC_PTAG, 5);
	KUNIT_EXPECT_NULL(test, peer(b, alices));
	KUNIT_EXPECT_NULL(test, peer(a, bobs));
}

static void domains(struct kunit *test)
{
	struct kgni_device *a = kgt_device(test, KGT_PE);
	struct kgni_device *b = kgt_device(test, KGT_PE + 1);
	struct kgni_domain *d;
	struct kgni_job *job;
	struct users u;

	users_init(test, &u);
	KUNIT_EXPECT_TRUE(test, list_empty(&kgni_domains));
	job = join(test, a, 7, KGT_COOKIE);
	d = job->domain;
	KUNIT_EXPECT_PTR_EQ(test, join(test, b, 8, KGT_COOKIE)->domain, d);
	KUNIT_EXPECT_PTR_NE(test, join(test, b, 9, KGT_COOKIE + 1)->domain, d);
	KUNIT_EXPECT_PTR_NE(test, join_as(test, u.cred[ALICE], b, 10, KGT_COOKIE)->domain, d);
	leave(test, job);
	KUNIT_EXPECT_PTR_EQ(test, join(test, a, 11, KGT_COOKIE)->domain, d);
}

static u32 get_ptag(struct kunit *test, struct kgni_file *f, u32 cookie)
{
	struct kgni_ioc_ptag arg = { .cookie = cookie };

	KUNIT_EXPECT_EQ(test, kgni_job_get_ptag(f, &arg), GNI_RC_SUCCESS);
	return arg.ptag;
}

static void reserved_ptags(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_open(test, dev), *g = kgt_open(test, dev);
	struct kgni_ioc_ptag arg = { .cookie = 100 };
	u32 i;

	for (i = 0; i < KGNI_RESERVED_MAX; i++)
		KUNIT_EXPECT_EQ(test, get_ptag(test, f, i), GNI_PTAG_USER_START + i);
	KUNIT_EXPECT_EQ(test, jobs(dev), KGNI_RESERVED_MAX);
	KUNIT_EXPECT_EQ(test, kgni_job_get_ptag(f, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, jobs(dev), KGNI_RESERVED_MAX);
	/* Asking again costs nothing, and who attaches finds the tag. */
	KUNIT_EXPECT_EQ(test, get_ptag(test, f, 3), GNI_PTAG_USER_START + 3);
	KUNIT_EXPECT_EQ(test, get_ptag(test, g, 3), GNI_PTAG_USER_START + 3);
	KUNIT_EXPECT_EQ(test, join(test, dev, GNI_FIND_ALLOC_PTAG, 3)->ptag,
			GNI_PTAG_USER_START + 3);
	kgt_close(f);
	KUNIT_EXPECT_EQ(test, jobs(dev), 1);
}

static void ptag_of_a_living_job(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_open(test, dev);
	struct kgni_ioc_ptag arg = { .cookie = 9 };
	struct kgni_job *job = join(test, dev, 77, KGT_COOKIE);
	const struct cred *old;
	struct users u;
	long rc;

	users_init(test, &u);
	KUNIT_EXPECT_EQ(test, get_ptag(test, f, KGT_COOKIE), 77);
	/* The question does not keep the job. */
	leave(test, job);
	KUNIT_EXPECT_EQ(test, jobs(dev), 0);
	/* Another's cookie is no answer: the caller gets a tag of his own. */
	join_as(test, u.cred[ALICE], dev, 78, 9);
	old = override_creds(u.cred[BOB]);
	rc = kgni_job_get_ptag(f, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc, GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.ptag, GNI_PTAG_USER_START);
	KUNIT_EXPECT_EQ(test, jobs(dev), 2);
	kgt_close(f);
	KUNIT_EXPECT_EQ(test, jobs(dev), 1);
}

static long join_and_leave(void *arg)
{
	struct kgni_device *dev = arg;
	struct kgni_job *job;
	long rc;
	u32 i;

	for (i = 0; i < 500; i++) {
		u32 ptag = i % 3 ? GNI_FIND_ALLOC_PTAG : 100;

		rc = kgni_job_attach(dev, &ptag, ptag == 100 ? 100 : i % 5, &job);
		if (rc)
			return rc;
		if (!kgni_res_charge(job, KGNI_RES_MDD))
			return -ENOSPC;
		if (i % 7 == 0)
			schedule();
		kgni_res_uncharge(job, KGNI_RES_MDD);
		kgni_job_put(job);
	}
	return 0;
}

static void many_come_and_go(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgt_thread *t[4];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = kgt_thread(test, join_and_leave, dev);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), 0);
	KUNIT_EXPECT_EQ(test, jobs(dev), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&kgni_domains));
}

/* --- configured jobs --------------------------------------------------------------- */

static struct kgni_job_args job_args(u64 id, u32 ptag, u32 cookie)
{
	struct kgni_job_args args = { .job_id = id, .ptag = ptag, .cookie = cookie };

	memset(args.limit, 0xff, sizeof(args.limit));
	return args;
}

static long configure(struct kgni_device *dev, u64 id, u32 ptag, u32 cookie)
{
	struct kgni_job_args args = job_args(id, ptag, cookie);

	return kgni_job_configure(dev, &args);
}

/* Where job 1 is configured with ptag 10, cookie 0xa, and 0xb runs with ptag 11. */
static const struct configuring {
	const char *name;
	u64 id;
	u32 ptag, cookie;
	int mdds;
	long rc;
	u32 got;
} configurings[] = {
	{ "a new one", 2, 12, 0xc, -1, GNI_RC_SUCCESS, 12 },
	{ "the same", 1, 10, 0xa, -1, GNI_RC_SUCCESS, 10 },
	{ "another job", 2, 10, 0xa, -1, GNI_RC_INVALID_STATE },
	{ "another cookie", 1, 10, 0xb, -1, GNI_RC_INVALID_STATE },
	{ "one that runs", 2, 11, 0xb, 5, GNI_RC_SUCCESS, 11 },
	{ "one that runs, another cookie", 2, 11, 0xc, 5, GNI_RC_INVALID_STATE },
	{ "any ptag", 2, GNI_FIND_ALLOC_PTAG, 0xc, -1, GNI_RC_SUCCESS, 3 },
	{ "any ptag, its cookie runs", 2, GNI_FIND_ALLOC_PTAG, 0xb, -1, GNI_RC_SUCCESS, 11 },
	{ "any ptag, as another", 1, GNI_FIND_ALLOC_PTAG, 0xa, -1, GNI_RC_SUCCESS, 3 },
	{ "kernel's ptag", 2, 1, 0xc, -1, GNI_RC_SUCCESS, 1 },
	{ "ptag 0", 2, 0, 0xc, -1, GNI_RC_INVALID_PARAM },
	{ "ptag 256", 2, 256, 0xc, -1, GNI_RC_INVALID_PARAM },
	{ "no registrations", 2, 12, 0xc, 0, GNI_RC_SUCCESS, 12 },
	{ "all registrations", 2, 12, 0xc, 16384, GNI_RC_SUCCESS, 12 },
	{ "more registrations", 2, 12, 0xc, 16385, GNI_RC_ERROR_RESOURCE },
	{ "fewer registrations", 2, 12, 0xc, -2, GNI_RC_INVALID_PARAM },
};

static void configuring_desc(const struct configuring *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(configuring, configurings, configuring_desc);

static unsigned int configs(struct kgni_device *dev)
{
	struct kgni_job_config *config;
	unsigned long ptag;
	unsigned int n = 0;

	xa_for_each(&dev->configs, ptag, config)
		n++;
	return n;
}

static void what_may_be_configured(struct kunit *test)
{
	const struct configuring *c = test->param_value;
	struct kgni_job_args args = job_args(c->id, c->ptag, c->cookie);
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = join(test, dev, 11, 0xb);

	KUNIT_ASSERT_EQ(test, configure(dev, 1, 10, 0xa), GNI_RC_SUCCESS);
	args.limit[KGNI_RES_MDD] = c->mdds;
	KUNIT_ASSERT_EQ(test, kgni_job_configure(dev, &args), c->rc);
	if (c->rc) {
		KUNIT_EXPECT_EQ(test, configs(dev), 1);
		return;
	}
	KUNIT_EXPECT_EQ(test, args.ptag, c->got);
	KUNIT_EXPECT_EQ(test, configs(dev), c->got == 10 ? 1 : 2);
	if (c->got == 11 && c->mdds >= 0)
		KUNIT_EXPECT_EQ(test, job->limit[KGNI_RES_MDD], c->mdds);
	/* And again. */
	KUNIT_EXPECT_EQ(test, kgni_job_configure(dev, &args), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, args.ptag, c->got);
}

static void configured_job(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job_args args = job_args(1, 10, 0xa);
	u32 ptag = GNI_FIND_ALLOC_PTAG;
	struct kgni_job *job, *other;
	struct kgni_file *f;
	struct users u;

	users_init(test, &u);
	args.limit[KGNI_RES_CQ] = 1;
	KUNIT_ASSERT_EQ(test, kgni_job_configure(dev, &args), GNI_RC_SUCCESS);
	/* Others' tags are chosen around it, and it is found by its cookie. */
	KUNIT_EXPECT_EQ(test, join(test, dev, GNI_FIND_ALLOC_PTAG, 0xb)->ptag, 3);
	ptag = 10;
	KUNIT_EXPECT_EQ(test, attach_as(u.cred[ALICE], dev, &ptag, 0xb, &job),
			GNI_RC_PERMISSION_ERROR);
	job = join_as(test, u.cred[ALICE], dev, GNI_FIND_ALLOC_PTAG, 0xa);
	KUNIT_EXPECT_EQ(test, job->ptag, 10);
	KUNIT_EXPECT_FALSE(test, job->automatic);
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, KGNI_RES_CQ));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge(job, KGNI_RES_CQ));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge_many(job, KGNI_RES_MDD, 4096));
	KUNIT_EXPECT_TRUE(test, kgni_res_charge_many(job, KGNI_RES_MDD, 4095));
	kgni_res_uncharge_many(job, KGNI_RES_MDD, 4095);
	kgni_res_uncharge(job, KGNI_RES_CQ);
	/* It is hers now; with the cookie alone others have jobs of their own. */
	KUNIT_EXPECT_EQ(test, attach_as(u.cred[BOB], dev, &ptag, 0xa, &other),
			GNI_RC_PERMISSION_ERROR);
	KUNIT_EXPECT_EQ(test, join_as(test, u.cred[BOB], dev, GNI_FIND_ALLOC_PTAG, 0xa)->ptag, 4);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 1, 10, 0xa), GNI_RC_INVALID_STATE);
	/* No program attached, so it is to come yet. */
	leave(test, job);
	KUNIT_EXPECT_EQ(test, configs(dev), 1);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 2, 10, 0xa), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 1, 10, 0xb), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 1, 11, 0xa), GNI_RC_INVALID_PARAM);
	f = kgt_attach(test, dev, 1, 0xa, 0);
	KUNIT_EXPECT_EQ(test, f->nic->job->ptag, 10);
	kgt_close(f);
	KUNIT_EXPECT_EQ(test, configs(dev), 0);
	KUNIT_EXPECT_EQ(test, kgni_job_unconfigure(dev, 1, 10, 0xa), GNI_RC_INVALID_PARAM);
}

static void limits_change(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_job *job = join(test, dev, 10, 0xa);
	struct kgni_job_args args = job_args(1, 10, 0xa);
	int i;

	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, KGNI_RES_CQ));
	args.limit[KGNI_RES_CQ] = 3;
	KUNIT_EXPECT_EQ(test, kgni_job_configure(dev, &args), GNI_RC_SUCCESS);
	for (i = 5; i > 2; i--) {
		KUNIT_EXPECT_FALSE(test, kgni_res_charge(job, KGNI_RES_CQ));
		kgni_res_uncharge(job, KGNI_RES_CQ);
	}
	KUNIT_EXPECT_TRUE(test, kgni_res_charge(job, KGNI_RES_CQ));
	KUNIT_EXPECT_FALSE(test, kgni_res_charge(job, KGNI_RES_CQ));
	kgni_res_uncharge_many(job, KGNI_RES_CQ, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_CQ]), 0);
}

static void only_configured_jobs(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_ioc_ptag arg = { .cookie = 0xa };
	struct kgni_file *f = kgt_open(test, dev);
	u32 any = GNI_FIND_ALLOC_PTAG, ptag = 10;
	struct kgni_job *job = NULL;
	const struct cred *old;
	struct users u;
	long rc[3];

	users_init(test, &u);
	kgni_require_job = true;
	rc[0] = attach_as(u.cred[ALICE], dev, &any, 0xa, &job);
	rc[1] = attach_as(u.cred[ALICE], dev, &ptag, 0xa, &job);
	old = override_creds(u.cred[ALICE]);
	rc[2] = kgni_job_get_ptag(f, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc[0], GNI_RC_PERMISSION_ERROR);
	KUNIT_EXPECT_EQ(test, rc[1], GNI_RC_PERMISSION_ERROR);
	KUNIT_EXPECT_EQ(test, rc[2], GNI_RC_NO_MATCH);
	KUNIT_EXPECT_EQ(test, jobs(dev), 0);
	KUNIT_EXPECT_EQ(test, configure(dev, 1, 10, 0xa), GNI_RC_SUCCESS);
	rc[0] = attach_as(u.cred[ALICE], dev, &any, 0xa, &job);
	rc[1] = kgni_job_attach(dev, &ptag, 0xb, &job);
	kgni_require_job = false;
	KUNIT_EXPECT_EQ(test, rc[0], GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, any, 10);
	KUNIT_EXPECT_EQ(test, rc[1], GNI_RC_PERMISSION_ERROR);
	if (!rc[0])
		kgni_job_put(job);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(who_may_join, joining_gen_params),
	KUNIT_CASE(ends_with_its_last_member),
	KUNIT_CASE(automatic_ptags),
	KUNIT_CASE(jobs_of_one_user),
	KUNIT_CASE_PARAM(limit_of_a_job, resource_gen_params),
	KUNIT_CASE_PARAM(total_of_a_device, resource_gen_params),
	KUNIT_CASE_PARAM(share_of_a_user, resource_gen_params),
	KUNIT_CASE_PARAM(resource_info, query_gen_params),
	KUNIT_CASE(locked_pages),
	KUNIT_CASE_PARAM(one_protection_domain, pair_gen_params),
	KUNIT_CASE(peers_on_another_device),
	KUNIT_CASE(peers_with_a_ptag),
	KUNIT_CASE(no_peers_of_other_users),
	KUNIT_CASE(domains),
	KUNIT_CASE(reserved_ptags),
	KUNIT_CASE(ptag_of_a_living_job),
	KUNIT_CASE(many_come_and_go),
	KUNIT_CASE_PARAM(what_may_be_configured, configuring_gen_params),
	KUNIT_CASE(configured_job),
	KUNIT_CASE(limits_change),
	KUNIT_CASE(only_configured_jobs),
	{}
};

static struct kunit_suite job_suite = {
	.name = "kgni_job",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(job_suite);
