// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: protection domains of a device, named by ptag and cookie, and the
 * resources that are counted for them.
 *
 * A job begins when somebody attaches, or asks for its tag. It may have been
 * configured before: then it has the limits and the addresses that it was given,
 * and whoever is the first to attach with tag and cookie, or with the cookie
 * alone, is its user. What was configured goes when the last attachment does.
 *
 * The tables and the reference counts are under kgni_device.lock. Data paths
 * read the job table under RCU: a job is freed a grace period after its last
 * attachment, and then has no registrations left.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "kgni.h"
#include "core/ce.h"

/*
 * How much of each resource a device has, and a job may have of it unless it is
 * told otherwise. The jobs of a plain user together may have half of the device's.
 * Some are only there where the driver says that its devices are of one kind.
 */
static const struct {
	int total;
	int limit;
	const char *name;
	bool not_gemini;
	bool not_aries;
} kgni_res_table[KGNI_RES_COUNT] = {
	[KGNI_RES_MDD] = { 16384, KGNI_MH_MDH_MAX, "mdd" },
	[KGNI_RES_CQ] = { 16384, 4096, "cq" },
	[KGNI_RES_FMA] = { 2048, 512, "fma" },
	[KGNI_RES_BTE] = { 1 << 22, 1 << 20, "rdma" },
	[KGNI_RES_IOMMU] = { INT_MAX, INT_MAX, "iommu", .not_gemini = true },
	[KGNI_RES_SFMA] = { 65536, 65536, "sfma" },
	[KGNI_RES_CE] = { 1024, KGNI_CE_CHANNELS, "ce", .not_gemini = true },
	[KGNI_RES_DLA] = { 65536, 16384, "dla", .not_gemini = true },
	[KGNI_RES_MRT] = { 1 << 24, 1 << 24, "mrt", .not_aries = true },
	[KGNI_RES_GART] = { INT_MAX, INT_MAX, "gart", .not_aries = true },
};

static LIST_HEAD(kgni_domains);
static DEFINE_MUTEX(kgni_domains_lock);

/* A file may reserve this many ptags without attaching. */
#define KGNI_RESERVED_MAX	16
/* And a plain user may have this many jobs, so that ptags are left for others. */
#define KGNI_JOBS_PER_USER	128

/* Jobs of plain users only as configured. A parameter of the module. */
bool kgni_require_job;

void kgni_device_jobs_init(struct kgni_device *dev)
{
	mutex_init(&dev->lock);
	xa_init(&dev->jobs);
	xa_init(&dev->configs);
	INIT_LIST_HEAD(&dev->users);
	INIT_LIST_HEAD(&dev->nics);
}

/* Part of deleting a device: no job is left, though some may be configured. */
void kgni_device_jobs_exit(struct kgni_device *dev)
{
	struct kgni_job_config *config;
	unsigned long ptag;

	xa_for_each(&dev->configs, ptag, config)
		kfree(config);
	xa_destroy(&dev->configs);
	xa_destroy(&dev->jobs);
	kgni_ntt_free(dev);
}

/* A limit may be below what is taken already. */
static bool kgni_count_up(atomic_t *count, int n, int limit)
{
	int old = atomic_read(count);

	do {
		if (old > limit - n)
			return false;
	} while (!atomic_try_cmpxchg(count, &old, old + n));
	return true;
}

static int kgni_user_share(const struct kgni_job *job, enum kgni_res res)
{
	return job->privileged ? INT_MAX : kgni_res_table[res].total / 2;
}

/**
 * kgni_res_charge_many - take some of a resource
 * @job: who takes it
 * @res: of what
 * @n: how many
 *
 * Context: any.
 * Return: false if the job, its user or the device has not so many left.
 */
bool kgni_res_charge_many(struct kgni_job *job, enum kgni_res res, unsigned long n)
{
	if (n > INT_MAX || !kgni_count_up(&job->used[res], n, READ_ONCE(job->limit[res])))
		return false;
	if (!kgni_count_up(&job->user->used[res], n, kgni_user_share(job, res)))
		goto uncharge_job;
	if (kgni_count_up(&job->dev->used[res], n, kgni_res_table[res].total))
		return true;
	atomic_sub(n, &job->user->used[res]);
uncharge_job:
	atomic_sub(n, &job->used[res]);
	return false;
}

/**
 * kgni_res_uncharge_many - give some of a resource back
 * @job: who took it
 * @res: of what
 * @n: how many
 *
 * Context: any.
 */
void kgni_res_uncharge_many(struct kgni_job *job, enum kgni_res res, unsigned long n)
{
	atomic_sub(n, &job->dev->used[res]);
	atomic_sub(n, &job->user->used[res]);
	atomic_sub(n, &job->used[res]);
}

/* The same of one. */
bool kgni_res_charge(struct kgni_job *job, enum kgni_res res)
{
	return kgni_res_charge_many(job, res, 1);
}

void kgni_res_uncharge(struct kgni_job *job, enum kgni_res res)
{
	kgni_res_uncharge_many(job, res, 1);
}

/* What a resource is called. */
const char *kgni_res_name(enum kgni_res res)
{
	return kgni_res_table[res].name;
}

/* Do devices have it? */
bool kgni_res_exists(enum kgni_res res)
{
	return !(kgni_gemini ? kgni_res_table[res].not_gemini : kgni_res_table[res].not_aries);
}

/* How many a device has. */
int kgni_res_total(enum kgni_res res)
{
	return kgni_res_table[res].total;
}

/* How many a job may have. */
int kgni_res_limit(const struct kgni_job *job, enum kgni_res res)
{
	return READ_ONCE(job->limit[res]);
}

/* @type is one that there is. */
static enum kgni_res kgni_res_of_device(u32 type)
{
	switch (type) {
	case GNI_DEV_RES_MDD: return KGNI_RES_MDD;
	case GNI_DEV_RES_CQ: return KGNI_RES_CQ;
	case GNI_DEV_RES_FMA: return KGNI_RES_FMA;
	case GNI_DEV_RES_CE: return KGNI_RES_CE;
	case GNI_DEV_RES_DLA: return KGNI_RES_DLA;
	default: return KGNI_RES_MRT;
	}
}

/* Likewise. */
static enum kgni_res kgni_res_of_job(u32 type)
{
	switch (type) {
	case GNI_JOB_RES_MDD: return KGNI_RES_MDD;
	case GNI_JOB_RES_CQ: return KGNI_RES_CQ;
	case GNI_JOB_RES_FMA: return KGNI_RES_FMA;
	case GNI_JOB_RES_RMDA: return KGNI_RES_BTE;
	case GNI_JOB_RES_IOMMU: return KGNI_RES_IOMMU;
	case GNI_JOB_RES_SFMA: return KGNI_RES_SFMA;
	case GNI_JOB_RES_CE: return KGNI_RES_CE;
	case GNI_JOB_RES_DLA: return KGNI_RES_DLA;
	case GNI_JOB_RES_MRT: return KGNI_RES_MRT;
	default: return KGNI_RES_GART;
	}
}

static long kgni_res_info_device(struct kgni_device *dev, struct kgni_ioc_res *arg)
{
	enum kgni_res res;

	if (arg->type <= GNI_DEV_RES_FIRST || arg->type >= GNI_DEV_RES_LAST)
		return GNI_RC_INVALID_PARAM;
	res = kgni_res_of_device(arg->type);
	if (!kgni_res_exists(res))
		return GNI_RC_ERROR_RESOURCE;
	arg->total = kgni_res_table[res].total;
	arg->used = atomic_read(&dev->used[res]);
	arg->available = arg->total - arg->used;
	arg->reserved_count = 0;
	return GNI_RC_SUCCESS;
}

/* What a job on this tag may have: as it runs, as it is configured, or by default. */
static void kgni_res_of_ptag(struct kgni_device *dev, u32 ptag, enum kgni_res res, u64 *used,
			     u64 *limit)
{
	struct kgni_job_config *config;
	struct kgni_job *job;

	mutex_lock(&dev->lock);
	job = xa_load(&dev->jobs, ptag);
	config = xa_load(&dev->configs, ptag);
	*used = job ? atomic_read(&job->used[res]) : 0;
	if (job)
		*limit = job->limit[res];
	else
		*limit = config ? config->limit[res] : kgni_res_table[res].limit;
	mutex_unlock(&dev->lock);
}

static long kgni_res_info_job(struct kgni_device *dev, struct kgni_ioc_res *arg)
{
	enum kgni_res res;

	if (arg->type <= GNI_JOB_RES_FIRST || arg->type >= GNI_JOB_RES_LAST ||
	    !arg->ptag || arg->ptag > U8_MAX)
		return GNI_RC_INVALID_PARAM;
	res = kgni_res_of_job(arg->type);
	if (!kgni_res_exists(res))
		return GNI_RC_ERROR_RESOURCE;
	kgni_res_of_ptag(dev, arg->ptag, res, &arg->used, &arg->total);
	arg->available = arg->total > arg->used ? arg->total - arg->used : 0;
	arg->reserved_count = 0;
	if (res == KGNI_RES_IOMMU) {
		arg->total <<= PAGE_SHIFT;
		arg->used <<= PAGE_SHIFT;
		arg->available <<= PAGE_SHIFT;
	}
	return GNI_RC_SUCCESS;
}

/*
 * KGNI_IOC_RES_INFO. Anybody may ask about any job, as about the memory and the
 * time that others' processes use: who shares a device wants to know who uses it
 * up, and numbers tell nothing of what is in it.
 */
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
	kgni_domain_ces_init(d);
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

/* Likewise a configured job with this cookie that nobody has begun yet. */
static struct kgni_job_config *kgni_config_by_cookie(struct kgni_device *dev, u32 cookie)
{
	struct kgni_job_config *config;
	unsigned long ptag;

	xa_for_each(&dev->configs, ptag, config)
		if (config->cookie == cookie && !xa_load(&dev->jobs, ptag))
			return config;
	return NULL;
}

/* The lowest user ptag that no job has, 0 if all are taken. */
static u32 kgni_job_free_ptag(struct kgni_device *dev)
{
	u32 ptag;

	for (ptag = GNI_PTAG_USER_START; ptag <= GNI_PTAG_USER_END; ptag++)
		if (ptag != GNI_PTAG_LND_KNC && !xa_load(&dev->jobs, ptag) &&
		    !xa_load(&dev->configs, ptag))
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

static void kgni_limits_default(int *limit)
{
	int i;

	for (i = 0; i < KGNI_RES_COUNT; i++)
		limit[i] = kgni_res_table[i].limit;
}

/* What the job was configured to be, if it was. */
static bool kgni_job_take_config(struct kgni_job *job, const struct kgni_job_config *config)
{
	kgni_limits_default(job->limit);
	job->ce_mask = GNI_JOB_CTRL_ALL_CE_MASK;
	if (!config)
		return true;
	job->automatic = config->automatic;
	memcpy(job->limit, config->limit, sizeof(job->limit));
	job->ce_mask = config->ce_mask;
	if (!config->ntt_size)
		return true;
	job->ntt = kgni_ntt_map_new(job->dev, config->ntt_base, config->ntt_size);
	return job->ntt;
}

/* Add a job, without references. @config: NULL if nobody configured it. */
static long kgni_job_new(struct kgni_device *dev, const struct kgni_job_config *config, u32 ptag,
			 u32 cookie, struct kgni_job **out)
{
	bool automatic = ptag == GNI_FIND_ALLOC_PTAG;
	struct kgni_job *job;
	long rc;

	if (automatic)
		ptag = config ? config->ptag : kgni_job_free_ptag(dev);
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
	rc = -ENOMEM;
	if (!kgni_job_take_config(job, config))
		goto unset_owner;
	rc = xa_insert(&dev->jobs, ptag, job, GFP_KERNEL_ACCOUNT);
	if (rc)
		goto free_ntt;
	*out = job;
	kgni_netlink_job(job, KGNI_CMD_JOB_NEW);
	return GNI_RC_SUCCESS;

free_ntt:
	kgni_ntt_map_free(job->ntt);
unset_owner:
	kgni_job_unset_owner(job);
free:
	kfree(job);
	return rc;
}

/* Begin a job that is not there. dev->lock is held. */
static long kgni_job_begin(struct kgni_device *dev, u32 ptag, u32 cookie, struct kgni_job **out)
{
	struct kgni_job_config *config;

	if (ptag == GNI_FIND_ALLOC_PTAG)
		config = kgni_config_by_cookie(dev, cookie);
	else
		config = xa_load(&dev->configs, ptag);
	if (config && config->cookie != cookie)
		return GNI_RC_PERMISSION_ERROR;
	if (!config && kgni_require_job && !capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	return kgni_job_new(dev, config, ptag, cookie, out);
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
		return kgni_job_begin(dev, ptag, cookie, out);
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
 * user, or the tag is for kernel clients, or jobs have to be configured and this
 * one is not; GNI_RC_ERROR_RESOURCE if all tags are taken; -ENOMEM; -ENODEV if
 * the device is deleted.
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

/* A configured job has ended. dev->lock is held. */
static void kgni_config_free(struct kgni_device *dev, struct kgni_job_config *config)
{
	kgni_netlink_config(dev, config->ptag, KGNI_CMD_JOB_UNSET);
	xa_erase(&dev->configs, config->ptag);
	if (config->ntt_clear)
		kgni_ntt_clear(dev, config->ntt_base, config->ntt_size);
	kfree(config);
}

/* Nobody is a member: dev->lock is held. */
static void kgni_job_free(struct kgni_job *job)
{
	struct kgni_device *dev = job->dev;
	struct kgni_job_config *config = xa_load(&dev->configs, job->ptag);

	xa_erase(&dev->jobs, job->ptag);
	kgni_netlink_job(job, KGNI_CMD_JOB_DEL);
	xa_destroy(&job->mdds);
	xa_destroy(&job->vmdhs);
	kgni_job_unset_owner(job);
	if (config && job->was_attached)
		kgni_config_free(dev, config);
	kgni_ntt_map_free(job->ntt);
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
	if (rc == GNI_RC_PERMISSION_ERROR)
		rc = GNI_RC_NO_MATCH;
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

/* --- configured jobs -------------------------------------------------------- */

static int kgni_ptag_of_config(struct kgni_device *dev, const struct kgni_job_args *args)
{
	struct kgni_job_config *config;
	unsigned long ptag;
	struct kgni_job *job;

	if (args->ptag != GNI_FIND_ALLOC_PTAG)
		return args->ptag;
	xa_for_each(&dev->configs, ptag, config)
		if (config->automatic && config->job_id == args->job_id &&
		    config->cookie == args->cookie)
			return ptag;
	/* One that runs and was not configured, as the caller would find it. */
	job = kgni_job_by_cookie(dev, args->cookie);
	return job ? job->ptag : 0;
}

static struct kgni_job_config *kgni_config_new(const struct kgni_job_args *args, u32 ptag,
					       bool automatic)
{
	struct kgni_job_config *config = kzalloc(sizeof(*config), GFP_KERNEL_ACCOUNT);

	if (!config)
		return NULL;
	config->job_id = args->job_id;
	config->cookie = args->cookie;
	config->ptag = ptag;
	config->automatic = automatic;
	kgni_limits_default(config->limit);
	config->ce_mask = GNI_JOB_CTRL_ALL_CE_MASK;
	return config;
}

/* Find what a job is to be, or make it. dev->lock is held. */
static long kgni_config_get(struct kgni_device *dev, const struct kgni_job_args *args,
			    struct kgni_job_config **out)
{
	u32 ptag = kgni_ptag_of_config(dev, args);
	struct kgni_job_config *config = xa_load(&dev->configs, ptag);
	struct kgni_job *job = xa_load(&dev->jobs, ptag);
	int rc;

	if (config && (config->job_id != args->job_id || config->cookie != args->cookie))
		return GNI_RC_INVALID_STATE;
	if (job && job->cookie != args->cookie)
		return GNI_RC_INVALID_STATE;
	*out = config;
	if (config)
		return GNI_RC_SUCCESS;
	if (!ptag)
		ptag = kgni_job_free_ptag(dev);
	if (!ptag)
		return GNI_RC_ERROR_RESOURCE;
	config = kgni_config_new(args, ptag, job ? job->automatic :
				 args->ptag == GNI_FIND_ALLOC_PTAG);
	if (!config)
		return -ENOMEM;
	rc = xa_insert(&dev->configs, ptag, config, GFP_KERNEL_ACCOUNT);
	if (rc) {
		kfree(config);
		return rc;
	}
	*out = config;
	return GNI_RC_SUCCESS;
}

/* Give a job its entries of the translation table. dev->lock is held. */
static long kgni_config_set_ntt(struct kgni_device *dev, struct kgni_job_config *config,
				struct kgni_job_args *args)
{
	bool same = config->ntt_size && config->ntt_base == args->ntt_base &&
		    config->ntt_size == args->ntt_size;
	long rc;

	if (!args->ntt && (!args->ntt_size || same))
		return GNI_RC_SUCCESS;
	/* Addresses that programs may have told each other keep their meaning. */
	if (config->ntt_size || xa_load(&dev->jobs, config->ptag))
		return GNI_RC_ILLEGAL_OP;
	if (args->ntt) {
		rc = kgni_ntt_set(dev, args->ntt, &args->ntt_base);
		if (rc)
			return rc;
		args->ntt_size = args->ntt->count;
	}
	if (!kgni_ntt_is_set(dev, args->ntt_base, args->ntt_size))
		return GNI_RC_NO_MATCH;
	config->ntt_base = args->ntt_base;
	config->ntt_size = args->ntt_size;
	return GNI_RC_SUCCESS;
}

static void kgni_config_set_limits(struct kgni_device *dev, struct kgni_job_config *config,
				   const struct kgni_job_args *args)
{
	struct kgni_job *job = xa_load(&dev->jobs, config->ptag);
	int i;

	for (i = 0; i < KGNI_RES_COUNT; i++) {
		if (args->limit[i] == KGNI_JOB_KEEP)
			continue;
		config->limit[i] = args->limit[i];
		if (job)
			WRITE_ONCE(job->limit[i], args->limit[i]);
	}
	if (args->limit[KGNI_RES_CE] != KGNI_JOB_KEEP) {
		config->ce_mask = args->ce_mask;
		if (job)
			WRITE_ONCE(job->ce_mask, args->ce_mask);
	}
	if (args->ntt_clear)
		config->ntt_clear = true;
}

static long kgni_job_args_check(const struct kgni_job_args *args)
{
	int i;

	if (!args->ptag || args->ptag > U8_MAX || (args->ntt && !args->ntt->entries))
		return GNI_RC_INVALID_PARAM;
	for (i = 0; i < KGNI_RES_COUNT; i++) {
		if (args->limit[i] < KGNI_JOB_KEEP ||
		    (args->limit[i] != KGNI_JOB_KEEP && !kgni_res_exists(i)))
			return GNI_RC_INVALID_PARAM;
		if (args->limit[i] > kgni_res_table[i].total)
			return GNI_RC_ERROR_RESOURCE;
	}
	return GNI_RC_SUCCESS;
}

/**
 * kgni_job_configure - tell of a job, or change its limits
 * @dev: the device
 * @args: what to tell; ptag and ntt_base get the values that they have now
 *
 * Limits that are lower than what a job has take nothing from it.
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM for a ptag or a limit that cannot
 * be; GNI_RC_ERROR_RESOURCE for a limit beyond what the device has, if all tags
 * are taken, or as kgni_ntt_configure(); GNI_RC_INVALID_STATE if the tag belongs
 * to another job or cookie; GNI_RC_ILLEGAL_OP if the job's addresses would
 * change; GNI_RC_NO_MATCH if the entries named are not set; -ENOMEM. Nothing is
 * changed unless it succeeds.
 */
long kgni_job_configure(struct kgni_device *dev, struct kgni_job_args *args)
{
	struct kgni_job_config *config;
	bool is_new;
	long rc = kgni_job_args_check(args);

	if (rc)
		return rc;
	mutex_lock(&dev->lock);
	rc = kgni_config_get(dev, args, &config);
	if (rc)
		goto unlock;
	is_new = !config->configured;
	rc = kgni_config_set_ntt(dev, config, args);
	if (rc && is_new) {
		xa_erase(&dev->configs, config->ptag);
		kfree(config);
	}
	if (rc)
		goto unlock;
	config->configured = true;
	kgni_config_set_limits(dev, config, args);
	args->ptag = config->ptag;
	args->ntt_base = config->ntt_base;
	kgni_netlink_config(dev, config->ptag, KGNI_CMD_JOB_SET);
unlock:
	mutex_unlock(&dev->lock);
	return rc;
}

/**
 * kgni_job_unconfigure - forget what a job is to be
 * @dev: the device
 * @job_id: its name
 * @ptag: its protection tag
 * @cookie: its cookie
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if no such job is configured;
 * GNI_RC_INVALID_STATE if it runs.
 */
long kgni_job_unconfigure(struct kgni_device *dev, u64 job_id, u32 ptag, u32 cookie)
{
	struct kgni_job_config *config;
	long rc = GNI_RC_SUCCESS;

	mutex_lock(&dev->lock);
	config = xa_load(&dev->configs, ptag);
	if (!config || config->job_id != job_id || config->cookie != cookie)
		rc = GNI_RC_INVALID_PARAM;
	else if (xa_load(&dev->jobs, ptag))
		rc = GNI_RC_INVALID_STATE;
	else
		kgni_config_free(dev, config);
	mutex_unlock(&dev->lock);
	if (!rc)
		kgni_netlink_changed();
	return rc;
}

/* 2^N MiB in pages; more than the device counts is no limit. */
static long kgni_iommu_limit(s32 n, int *limit)
{
	const int mib = 20 - PAGE_SHIFT;

	if (n == KGNI_JOB_KEEP)
		return GNI_RC_SUCCESS;
	if (n < 0)
		return GNI_RC_INVALID_PARAM;
	*limit = n < 31 - mib ? 1 << (n + mib) : INT_MAX;
	return GNI_RC_SUCCESS;
}

static long kgni_job_args_of(const struct kgni_ioc_job *arg, struct kgni_job_args *args)
{
	*args = (struct kgni_job_args) {
		.job_id = arg->job_id,
		.ptag = arg->ptag,
		.cookie = arg->cookie,
		.limit = {
			[KGNI_RES_MDD] = arg->mdd_limit,
			[KGNI_RES_CQ] = arg->cq_limit,
			[KGNI_RES_FMA] = arg->fma_limit,
			[KGNI_RES_BTE] = arg->bte_limit,
			[KGNI_RES_IOMMU] = KGNI_JOB_KEEP,
			[KGNI_RES_SFMA] = KGNI_JOB_KEEP,
			[KGNI_RES_DLA] = arg->dla_limit,
			[KGNI_RES_MRT] = arg->mrt_limit,
			[KGNI_RES_GART] = arg->gart_limit,
		},
		.ntt_base = arg->ntt_base,
		.ntt_size = max(arg->ntt_size, 0),
		.ntt_clear = arg->flags & KGNI_JOB_NTT_CLEAR,
	};
	if (arg->ce_limit != KGNI_JOB_KEEP && arg->ce_limit & ~GNI_JOB_CTRL_ALL_CE_MASK)
		return GNI_RC_INVALID_PARAM;
	args->ce_mask = arg->ce_limit & GNI_JOB_CTRL_ALL_CE_MASK;
	args->limit[KGNI_RES_CE] = arg->ce_limit == KGNI_JOB_KEEP ? KGNI_JOB_KEEP :
								    hweight8(args->ce_mask);
	return kgni_iommu_limit(arg->iommu_limit, &args->limit[KGNI_RES_IOMMU]);
}

/* KGNI_IOC_JOB_CONFIGURE. */
long kgni_job_ioctl(struct kgni_device *dev, struct kgni_ioc_job *arg)
{
	struct kgni_ntt_args ntt = { };
	struct kgni_job_args args;
	long rc;

	if (arg->flags & ~(KGNI_JOB_NTT | KGNI_JOB_NTT_CLEAR))
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	rc = kgni_job_args_of(arg, &args);
	if (!rc && arg->flags & KGNI_JOB_NTT) {
		rc = kgni_ntt_fetch(&arg->ntt, &ntt);
		args.ntt = &ntt;
	}
	if (rc)
		return rc;
	rc = kgni_job_configure(dev, &args);
	if (!rc) {
		arg->ptag = args.ptag;
		arg->ntt.base = args.ntt_base;
	}
	kgni_ntt_drop(&ntt);
	return rc;
}

/**
 * kgni_job_named - find a job that runs
 * @dev: the device, locked
 * @name: its name
 *
 * Return: the job, or NULL.
 */
struct kgni_job *kgni_job_named(struct kgni_device *dev, const struct kgni_job_name *name)
{
	struct kgni_job_config *config = xa_load(&dev->configs, name->ptag);
	struct kgni_job *job = xa_load(&dev->jobs, name->ptag);

	if (!job || job->cookie != name->cookie || name->job_id != (config ? config->job_id : 0))
		return NULL;
	return job;
}

/* Something stood still and goes on: have RDMA that waited for it start. */
void kgni_domains_kick(void)
{
	struct kgni_domain *d;
	struct kgni_nic *nic;

	mutex_lock(&kgni_domains_lock);
	list_for_each_entry(d, &kgni_domains, node) {
		spin_lock_bh(&d->lock);
		list_for_each_entry(nic, &d->nics, node)
			kgni_bte_kick(nic);
		if (!list_empty(&d->nics))
			kgni_ce_kick(d);
		spin_unlock_bh(&d->lock);
	}
	mutex_unlock(&kgni_domains_lock);
}
