// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: protection domains of a device, named by ptag and cookie, and the
 * resources that are counted for them.
 *
 * The job table and the reference counts are under kgni_device.lock. Data
 * paths read the table under RCU: a job is freed a grace period after its last
 * attachment, and then has no registrations left.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "kgni.h"

/*
 * How much of each resource a device has, and a job may have of it. The jobs of a plain user
 * together may have half of the device's.
 */
static const struct {
	int total;
	int limit;
	const char *name;
} kgni_res_table[KGNI_RES_COUNT] = {
	[KGNI_RES_MDD] = { 16384, KGNI_MH_MDH_MAX, "mdd" },
	[KGNI_RES_CQ] = { 16384, 4096, "cq" },
	[KGNI_RES_FMA] = { 2048, 512, "fma" },
	[KGNI_RES_BTE] = { 1 << 22, 1 << 20, "rdma" },
};

static LIST_HEAD(kgni_domains);
static DEFINE_MUTEX(kgni_domains_lock);

/* A file may reserve this many ptags without attaching. */
#define KGNI_RESERVED_MAX	16
/* And a plain user may have this many jobs, so that ptags are left for others. */
#define KGNI_JOBS_PER_USER	128

void kgni_device_jobs_init(struct kgni_device *dev)
{
	mutex_init(&dev->lock);
	xa_init(&dev->jobs);
	INIT_LIST_HEAD(&dev->users);
	INIT_LIST_HEAD(&dev->nics);
}

static bool kgni_count_up(atomic_t *count, int limit)
{
	return atomic_add_unless(count, 1, limit);
}

static int kgni_user_share(const struct kgni_job *job, enum kgni_res res)
{
	return job->privileged ? INT_MAX : kgni_res_table[res].total / 2;
}

/**
 * kgni_res_charge - take one of a resource
 * @job: who takes it
 * @res: of what
 *
 * Context: any.
 * Return: false if the job, its user or the device has none left.
 */
bool kgni_res_charge(struct kgni_job *job, enum kgni_res res)
{
	if (!kgni_count_up(&job->used[res], kgni_res_table[res].limit))
		return false;
	if (!kgni_count_up(&job->user->used[res], kgni_user_share(job, res)))
		goto uncharge_job;
	if (kgni_count_up(&job->dev->used[res], kgni_res_table[res].total))
		return true;
	atomic_dec(&job->user->used[res]);
uncharge_job:
	atomic_dec(&job->used[res]);
	return false;
}

/**
 * kgni_res_uncharge - give one of a resource back
 * @job: who took it
 * @res: of what
 *
 * Context: any.
 */
void kgni_res_uncharge(struct kgni_job *job, enum kgni_res res)
{
	atomic_dec(&job->dev->used[res]);
	atomic_dec(&job->user->used[res]);
	atomic_dec(&job->used[res]);
}

/* What a resource is called. */
const char *kgni_res_name(enum kgni_res res)
{
	return kgni_res_table[res].name;
}

/* How many a device has. */
int kgni_res_total(enum kgni_res res)
{
	return kgni_res_table[res].total;
}

/* How many a job may have. */
int kgni_res_limit(const struct kgni_job *job, enum kgni_res res)
{
	return kgni_res_table[res].limit;
}

static int kgni_res_of_device(u32 type)
{
	switch (type) {
	case GNI_DEV_RES_MDD: return KGNI_RES_MDD;
	case GNI_DEV_RES_CQ: return KGNI_RES_CQ;
	case GNI_DEV_RES_FMA: return KGNI_RES_FMA;
	}
	return -1;
}

static int kgni_res_of_job(u32 type)
{
	switch (type) {
	case GNI_JOB_RES_MDD: return KGNI_RES_MDD;
	case GNI_JOB_RES_CQ: return KGNI_RES_CQ;
	case GNI_JOB_RES_FMA: return KGNI_RES_FMA;
	case GNI_JOB_RES_RMDA: return KGNI_RES_BTE;
	}
	return -1;
}

static long kgni_res_info_device(struct kgni_device *dev, struct kgni_ioc_res *arg)
{
	int res;

	if (arg->type <= GNI_DEV_RES_FIRST || arg->type >= GNI_DEV_RES_LAST)
		return GNI_RC_INVALID_PARAM;
	res = kgni_res_of_device(arg->type);
	if (res < 0)
		return GNI_RC_ERROR_RESOURCE;
	arg->total = kgni_res_table[res].total;
	arg->used = atomic_read(&dev->used[res]);
	arg->available = arg->total - arg->used;
	arg->reserved_count = 0;
	return GNI_RC_SUCCESS;
}

static long kgni_res_info_job(struct kgni_device *dev, struct kgni_ioc_res *arg)
{
	struct kgni_job *job;
	int res;

	if (arg->type <= GNI_JOB_RES_FIRST || arg->type >= GNI_JOB_RES_LAST ||
	    !arg->ptag || arg->ptag > U8_MAX)
		return GNI_RC_INVALID_PARAM;
	res = kgni_res_of_job(arg->type);
	if (res < 0)
		return GNI_RC_ERROR_RESOURCE;
	arg->total = kgni_res_table[res].limit;
	arg->used = 0;
	rcu_read_lock();
	job = xa_load(&dev->jobs, arg->ptag);
	if (job)
		arg->used = atomic_read(&job->used[res]);
	rcu_read_unlock();
	arg->available = arg->total - arg->used;
	arg->reserved_count = 0;
	return GNI_RC_SUCCESS;
}

/* KGNI_IOC_RES_INFO. A ptag without a job has the default limits. */
long kgni_res_info(struct kgni_file *f, struct kgni_ioc_res *arg)
{
	if (arg->reserved)
		return -EINVAL;
	switch (arg->scope) {
	case KGNI_RES_DEVICE:
		return kgni_res_info_device(f->dev, arg);
	case KGNI_RES_JOB:
		return kgni_res_info_job(f->dev, arg);
	}
	return -EINVAL;
}

/**
 * kgni_pages_charge - charge memory that stays to the calling user
 * @user: out: whom to give it back to
 * @npages: how much, pages
 *
 * Counted for the user and not for the process, since an open file, and what
 * it holds, may outlive the address space by exec() or by being passed on.
 *
 * Context: process.
 * Return: false if the user's total would pass RLIMIT_MEMLOCK, without
 * CAP_IPC_LOCK.
 */
bool kgni_pages_charge(struct user_struct **user, unsigned long npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct user_struct *u = get_uid(current_user());

	if (atomic_long_add_return(npages, &u->locked_vm) > limit && !capable(CAP_IPC_LOCK)) {
		kgni_pages_uncharge(u, npages);
		return false;
	}
	*user = u;
	return true;
}

/**
 * kgni_pages_uncharge - undo kgni_pages_charge()
 * @user: as it said
 * @npages: as it was told
 *
 * Context: process.
 */
void kgni_pages_uncharge(struct user_struct *user, unsigned long npages)
{
	atomic_long_sub(npages, &user->locked_vm);
	free_uid(user);
}

static struct kgni_domain *kgni_domain_new(u32 cookie, kuid_t uid)
{
	struct kgni_domain *d = kzalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);

	if (!d)
		return NULL;
	d->cookie = cookie;
	d->uid = uid;
	spin_lock_init(&d->lock);
	kgni_domain_dgrams_init(d);
	list_add(&d->node, &kgni_domains);
	return d;
}

/* Find or make the domain of a cookie and a user; undo with kgni_domain_put(). */
static struct kgni_domain *kgni_domain_get(u32 cookie, kuid_t uid)
{
	struct kgni_domain *d;

	mutex_lock(&kgni_domains_lock);
	list_for_each_entry(d, &kgni_domains, node)
		if (d->cookie == cookie && uid_eq(d->uid, uid))
			goto found;
	d = kgni_domain_new(cookie, uid);
found:
	if (d)
		d->refs++;
	mutex_unlock(&kgni_domains_lock);
	return d;
}

static void kgni_domain_put(struct kgni_domain *d)
{
	mutex_lock(&kgni_domains_lock);
	if (!--d->refs) {
		list_del(&d->node);
		kfree(d);
	}
	mutex_unlock(&kgni_domains_lock);
}

/* May the caller be a member of this job? */
static bool kgni_job_allowed(const struct kgni_job *job)
{
	return uid_eq(job->uid, current_euid()) || capable(CAP_SYS_ADMIN);
}

/*
 * The caller's own job with this cookie. One of another user is no match, not
 * for root either: who joins a job opens memory to it, and must say so by the
 * ptag.
 */
static struct kgni_job *kgni_job_by_cookie(struct kgni_device *dev, u32 cookie)
{
	struct kgni_job *job;
	unsigned long ptag;

	xa_for_each(&dev->jobs, ptag, job)
		if (job->cookie == cookie && uid_eq(job->uid, current_euid()))
			return job;
	return NULL;
}

/* The lowest user ptag that no job has, 0 if all are taken. */
static u32 kgni_job_free_ptag(struct kgni_device *dev)
{
	u32 ptag;

	for (ptag = GNI_PTAG_USER_START; ptag <= GNI_PTAG_USER_END; ptag++)
		if (ptag != GNI_PTAG_LND_KNC && !xa_load(&dev->jobs, ptag))
			return ptag;
	return 0;
}

/* Find or make the user; undo with kgni_user_put(). */
static struct kgni_user *kgni_user_get(struct kgni_device *dev, kuid_t uid)
{
	struct kgni_user *u;

	list_for_each_entry(u, &dev->users, node)
		if (uid_eq(u->uid, uid))
			goto found;
	u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
	if (!u)
		return NULL;
	u->uid = uid;
	list_add(&u->node, &dev->users);
found:
	u->refs++;
	return u;
}

static void kgni_user_put(struct kgni_user *u)
{
	if (--u->refs)
		return;
	list_del(&u->node);
	kfree(u);
}

/* Fill in whose job it is, and take what that needs. */
static long kgni_job_set_owner(struct kgni_job *job)
{
	job->uid = current_euid();
	job->privileged = capable(CAP_SYS_ADMIN);
	job->user = kgni_user_get(job->dev, job->uid);
	if (!job->user)
		return -ENOMEM;
	if (job->user->refs > KGNI_JOBS_PER_USER && !job->privileged) {
		kgni_user_put(job->user);
		return GNI_RC_ERROR_RESOURCE;
	}
	job->domain = kgni_domain_get(job->cookie, job->uid);
	if (job->domain)
		return GNI_RC_SUCCESS;
	kgni_user_put(job->user);
	return -ENOMEM;
}

static void kgni_job_unset_owner(struct kgni_job *job)
{
	kgni_domain_put(job->domain);
	kgni_user_put(job->user);
}

/* Add a job, without references. @ptag: GNI_FIND_ALLOC_PTAG for any. */
static long kgni_job_new(struct kgni_device *dev, u32 ptag, u32 cookie, struct kgni_job **out)
{
	bool automatic = ptag == GNI_FIND_ALLOC_PTAG;
	struct kgni_job *job;
	long rc;

	if (automatic)
		ptag = kgni_job_free_ptag(dev);
	if (!ptag)
		return GNI_RC_ERROR_RESOURCE;
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return -ENOMEM;
	job->dev = dev;
	job->ptag = ptag;
	job->cookie = cookie;
	job->automatic = automatic;
	job->next_mdh = 1;
	xa_init_flags(&job->mdds, XA_FLAGS_ALLOC1);
	xa_init_flags(&job->vmdhs, XA_FLAGS_ALLOC);
	rc = kgni_job_set_owner(job);
	if (rc)
		goto free;
	rc = xa_insert(&dev->jobs, ptag, job, GFP_KERNEL_ACCOUNT);
	if (rc)
		goto unset_owner;
	*out = job;
	kgni_netlink_job(job, false);
	return GNI_RC_SUCCESS;

unset_owner:
	kgni_job_unset_owner(job);
free:
	kfree(job);
	return rc;
}

/* Find the job that a caller names, or make it. dev->lock is held. */
static long kgni_job_find_or_new(struct kgni_device *dev, u32 ptag, u32 cookie,
				 struct kgni_job **out)
{
	struct kgni_job *job;

	if (ptag == GNI_FIND_ALLOC_PTAG)
		job = kgni_job_by_cookie(dev, cookie);
	else
		job = xa_load(&dev->jobs, ptag);
	if (!job)
		return kgni_job_new(dev, ptag, cookie, out);
	if (job->cookie != cookie || !kgni_job_allowed(job))
		return GNI_RC_PERMISSION_ERROR;
	*out = job;
	return GNI_RC_SUCCESS;
}

static bool kgni_ptag_is_kernels(u32 ptag)
{
	return ptag < GNI_PTAG_USER_START || ptag == GNI_PTAG_HSNBOOT;
}

/**
 * kgni_job_attach - become a member of a job
 * @dev: the device
 * @ptag: in: the tag, or GNI_FIND_ALLOC_PTAG; out: the tag of the job
 * @cookie: the cookie of the job
 * @job: out: the job, referenced; give it back with kgni_job_put()
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM for a ptag that cannot be;
 * GNI_RC_PERMISSION_ERROR if the tag has another cookie, or the job another
 * user, or the tag is for kernel clients; GNI_RC_ERROR_RESOURCE if all tags
 * are taken; -ENOMEM; -ENODEV if the device is deleted.
 */
long kgni_job_attach(struct kgni_device *dev, u32 *ptag, u32 cookie, struct kgni_job **job)
{
	long rc;

	if (!*ptag || *ptag > U8_MAX)
		return GNI_RC_INVALID_PARAM;
	if (kgni_ptag_is_kernels(*ptag) && !capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	mutex_lock(&dev->lock);
	rc = dev->gone ? -ENODEV : kgni_job_find_or_new(dev, *ptag, cookie, job);
	if (!rc) {
		(*job)->refs++;
		*ptag = (*job)->ptag;
	}
	mutex_unlock(&dev->lock);
	return rc;
}

/* Nobody is a member: dev->lock is held. */
static void kgni_job_free(struct kgni_job *job)
{
	xa_erase(&job->dev->jobs, job->ptag);
	kgni_netlink_job(job, true);
	xa_destroy(&job->mdds);
	xa_destroy(&job->vmdhs);
	kgni_job_unset_owner(job);
	kfree_rcu(job, rcu);
}

/**
 * kgni_job_put - end a membership
 * @job: the job; ends with its last member
 *
 * Context: process, may sleep.
 */
void kgni_job_put(struct kgni_job *job)
{
	struct kgni_device *dev = job->dev;

	mutex_lock(&dev->lock);
	if (!--job->refs)
		kgni_job_free(job);
	mutex_unlock(&dev->lock);
}

/* A reservation whose maker is still to be told of it. */
#define KGNI_RESERVED_UNTOLD	XA_MARK_0

/* Hold a new job until the file closes. */
static long kgni_job_reserve(struct kgni_file *f, struct kgni_job *job)
{
	unsigned long index, n = 0;
	void *entry;
	int rc;

	xa_for_each(&f->reserved, index, entry)
		n++;
	if (n >= KGNI_RESERVED_MAX)
		return GNI_RC_ERROR_RESOURCE;
	rc = xa_insert(&f->reserved, job->ptag, job, GFP_KERNEL_ACCOUNT);
	if (rc)
		return rc;
	xa_set_mark(&f->reserved, job->ptag, KGNI_RESERVED_UNTOLD);
	job->refs++;
	return GNI_RC_SUCCESS;
}

/* KGNI_IOC_GET_PTAG. */
long kgni_job_get_ptag(struct kgni_file *f, struct kgni_ioc_ptag *arg)
{
	struct kgni_device *dev = f->dev;
	struct kgni_job *job;
	long rc;

	mutex_lock(&f->lock);
	mutex_lock(&dev->lock);
	rc = dev->gone ? -ENODEV :
			 kgni_job_find_or_new(dev, GNI_FIND_ALLOC_PTAG, arg->cookie, &job);
	if (!rc) {
		arg->ptag = job->ptag;
		if (!job->refs)
			rc = kgni_job_reserve(f, job);
		else
			xa_clear_mark(&f->reserved, job->ptag, KGNI_RESERVED_UNTOLD);
		if (!job->refs)
			kgni_job_free(job);
	}
	mutex_unlock(&dev->lock);
	mutex_unlock(&f->lock);
	return rc;
}

/* The caller of kgni_job_get_ptag() has its answer, or cannot be given it. */
void kgni_job_get_ptag_end(struct kgni_file *f, const struct kgni_ioc_ptag *arg, bool told)
{
	struct kgni_job *job = NULL;

	mutex_lock(&f->lock);
	if (told)
		xa_clear_mark(&f->reserved, arg->ptag, KGNI_RESERVED_UNTOLD);
	else if (xa_get_mark(&f->reserved, arg->ptag, KGNI_RESERVED_UNTOLD))
		job = xa_erase(&f->reserved, arg->ptag);
	mutex_unlock(&f->lock);
	if (job)
		kgni_job_put(job);
}

/**
 * kgni_job_same - are two jobs one protection domain
 * @a: a job
 * @b: a job, perhaps of another device
 *
 * Tags that the driver chose may differ from device to device: the cookie
 * tells.
 *
 * Context: any.
 * Return: true if members of one may reach the other's memory.
 */
bool kgni_job_same(const struct kgni_job *a, const struct kgni_job *b)
{
	if (a == b)
		return true;
	return a->dev != b->dev && a->domain == b->domain &&
	       (a->ptag == b->ptag || (a->automatic && b->automatic));
}

/**
 * kgni_job_peer - find the job on a device that is one domain with a job
 * @dev: the device
 * @job: the job
 *
 * Context: under rcu_read_lock().
 * Return: the job, valid until rcu_read_unlock(), or NULL.
 */
struct kgni_job *kgni_job_peer(struct kgni_device *dev, struct kgni_job *job)
{
	struct kgni_job *peer;
	unsigned long ptag;

	if (dev == job->dev)
		return job;
	peer = xa_load(&dev->jobs, job->ptag);
	if (peer && kgni_job_same(job, peer))
		return peer;
	if (!job->automatic)
		return NULL;
	xa_for_each(&dev->jobs, ptag, peer)
		if (kgni_job_same(job, peer))
			return peer;
	return NULL;
}
