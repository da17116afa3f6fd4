// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers of the netlink family: what a message says about each kind of object,
 * and dumps of them.
 *
 * A dump goes from device to device, in each from attachment to attachment, or
 * from job to job, and in those from object to object. Each of these has a
 * number that only grows, so that a dump goes on behind what it said last,
 * whatever vanished meanwhile. While a message is filled kgni_device.lock is
 * held, and inside it what guards the objects; nothing is allocated then.
 */
#include "nl.h"

/**
 * kgni_nl_sees - may somebody see what a user has
 * @viewer: who looks
 * @uid: the user
 *
 * Context: any.
 * Return: true if it is so.
 */
bool kgni_nl_sees(const struct kgni_nl_viewer *viewer, kuid_t uid)
{
	return viewer->all || uid_eq(viewer->uid, uid);
}

static bool kgni_nl_sees_nic(const struct kgni_nl_viewer *viewer, const struct kgni_nic *nic)
{
	return kgni_nl_sees(viewer, nic->cred->euid) || kgni_nl_sees(viewer, nic->job->uid);
}

static void *kgni_nl_begin(const struct kgni_nl_msg *m)
{
	void *hdr = genlmsg_put(m->skb, m->portid, m->seq, &kgni_nl_family,
				m->cb ? NLM_F_MULTI : 0, m->cmd);

	if (hdr && m->cb)
		genl_dump_check_consistent(m->cb, hdr);
	return hdr;
}

/* Return: @error, or 0 if the message is whole. */
static int kgni_nl_end(const struct kgni_nl_msg *m, void *hdr, bool whole)
{
	if (whole) {
		genlmsg_end(m->skb, hdr);
		return 0;
	}
	genlmsg_cancel(m->skb, hdr);
	return -EMSGSIZE;
}

static bool kgni_nl_u32(const struct kgni_nl_msg *m, int attr, u32 value)
{
	return !nla_put_u32(m->skb, attr, value);
}

static bool kgni_nl_u64(const struct kgni_nl_msg *m, int attr, u64 value)
{
	return !nla_put_u64_64bit(m->skb, attr, value, KGNI_A_PAD);
}

static bool kgni_nl_str(const struct kgni_nl_msg *m, int attr, const char *value)
{
	return !nla_put_string(m->skb, attr, value);
}

static bool kgni_nl_flag(const struct kgni_nl_msg *m, int attr, bool set)
{
	return !set || !nla_put_flag(m->skb, attr);
}

static bool kgni_nl_uid(const struct kgni_nl_msg *m, int attr, kuid_t uid)
{
	struct user_namespace *ns = m->notify ? &init_user_ns : current_user_ns();

	return kgni_nl_u32(m, attr, from_kuid_munged(ns, uid));
}

static bool kgni_nl_one_res(const struct kgni_nl_msg *m, const char *name, u32 used, u32 total)
{
	struct nlattr *nest = nla_nest_start(m->skb, KGNI_A_RES);

	if (!nest || !kgni_nl_str(m, KGNI_RES_A_NAME, name) ||
	    !kgni_nl_u32(m, KGNI_RES_A_USED, used) || !kgni_nl_u32(m, KGNI_RES_A_TOTAL, total))
		return false;
	nla_nest_end(m->skb, nest);
	return true;
}

/* Of a job, or if it is NULL, of a device. */
static bool kgni_nl_res(const struct kgni_nl_msg *m, struct kgni_device *dev,
			struct kgni_job *job)
{
	struct nlattr *nest = nla_nest_start(m->skb, KGNI_A_RES);
	enum kgni_res res;

	if (!nest)
		return false;
	for (res = 0; res < KGNI_RES_COUNT; res++) {
		atomic_t *used = job ? job->used : dev->used;

		if (kgni_res_exists(res) &&
		    !kgni_nl_one_res(m, kgni_res_name(res), atomic_read(&used[res]),
				     job ? kgni_res_limit(job, res) : kgni_res_total(res)))
			return false;
	}
	nla_nest_end(m->skb, nest);
	return true;
}

static bool kgni_nl_stats(const struct kgni_nl_msg *m, const struct kgni_stats *stats)
{
	struct nlattr *nest = nla_nest_start(m->skb, KGNI_A_STATS);
	int i;

	if (!nest)
		return false;
	for (i = 0; i < KGNI_STAT_COUNT; i++)
		if (nla_put_u64_64bit(m->skb, i + 1, atomic64_read(&stats->n[i]), 0))
			return false;
	nla_nest_end(m->skb, nest);
	return true;
}

/* What attachments of @job, or of all jobs, did, and how many there are now. dev->lock is held. */
static u32 kgni_nl_sum(struct kgni_device *dev, struct kgni_job *job, struct kgni_stats *sum)
{
	struct kgni_nic *nic;
	u32 n = 0;

	memset(sum, 0, sizeof(*sum));
	kgni_stats_add(sum, job ? &job->stats : &dev->stats);
	list_for_each_entry(nic, &dev->nics, dev_node) {
		if (job && nic->job != job)
			continue;
		kgni_nic_stats(nic, sum);
		n++;
	}
	return n;
}

static u32 kgni_nl_device_state(const struct kgni_device *dev)
{
	if (dev->gone)
		return KGNI_DEV_GONE;
	return kgni_device_is_quiesced(dev) ? KGNI_DEV_QUIESCED : KGNI_DEV_UP;
}

static u32 kgni_nl_count_jobs(struct kgni_device *dev)
{
	struct kgni_job *job;
	unsigned long ptag;
	u32 n = 0;

	xa_for_each(&dev->jobs, ptag, job)
		n++;
	return n;
}

/**
 * kgni_nl_fill_device - say what a device is
 * @m: the message
 * @dev: the device; its lock is held
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_device(const struct kgni_nl_msg *m, struct kgni_device *dev)
{
	void *hdr = kgni_nl_begin(m);
	struct kgni_stats sum;
	u32 nics;

	if (!hdr)
		return -EMSGSIZE;
	nics = kgni_nl_sum(dev, NULL, &sum);
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, dev->id) &&
			   kgni_nl_u32(m, KGNI_A_PE, dev->pe) &&
			   kgni_nl_u32(m, KGNI_A_TYPE, kgni_device_type()) &&
			   kgni_nl_u32(m, KGNI_A_STATE, kgni_nl_device_state(dev)) &&
			   kgni_nl_str(m, KGNI_A_VERSION, KGNI_VERSION) &&
			   kgni_nl_u32(m, KGNI_A_JOBS, kgni_nl_count_jobs(dev)) &&
			   kgni_nl_u32(m, KGNI_A_NICS, nics) &&
			   kgni_nl_res(m, dev, NULL) &&
			   kgni_nl_stats(m, &sum));
}

/* What was configured of a job, if anything was. dev->lock is held. */
static bool kgni_nl_config(const struct kgni_nl_msg *m, const struct kgni_job_config *c)
{
	return !c || !c->configured ||
	       (kgni_nl_u64(m, KGNI_A_JOB_ID, c->job_id) &&
		kgni_nl_flag(m, KGNI_A_NTT_CLEAR, c->ntt_clear) &&
		(!c->ntt_size || (kgni_nl_u32(m, KGNI_A_NTT_BASE, c->ntt_base) &&
				  kgni_nl_u32(m, KGNI_A_NTT_SIZE, c->ntt_size))));
}

static bool kgni_nl_limits(const struct kgni_nl_msg *m, const int *limit)
{
	struct nlattr *nest = nla_nest_start(m->skb, KGNI_A_RES);
	enum kgni_res res;

	if (!nest)
		return false;
	for (res = 0; res < KGNI_RES_COUNT; res++)
		if (kgni_res_exists(res) &&
		    !kgni_nl_one_res(m, kgni_res_name(res), 0, limit[res]))
			return false;
	nla_nest_end(m->skb, nest);
	return true;
}

/**
 * kgni_nl_fill_config - say what a job is to be that does not run
 * @m: the message
 * @dev: the device; its lock is held
 * @c: what was configured
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_config(const struct kgni_nl_msg *m, struct kgni_device *dev,
			const struct kgni_job_config *c)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, dev->id) &&
			   kgni_nl_u32(m, KGNI_A_PTAG, c->ptag) &&
			   kgni_nl_u32(m, KGNI_A_COOKIE, c->cookie) &&
			   kgni_nl_flag(m, KGNI_A_AUTO, c->automatic) &&
			   kgni_nl_config(m, c) &&
			   kgni_nl_u32(m, KGNI_A_NICS, 0) &&
			   kgni_nl_limits(m, c->limit));
}

/**
 * kgni_nl_fill_job - say what a job is
 * @m: the message
 * @job: the job; the lock of its device is held
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_job(const struct kgni_nl_msg *m, struct kgni_job *job)
{
	void *hdr = kgni_nl_begin(m);
	struct kgni_stats sum;
	u32 nics;

	if (!hdr)
		return -EMSGSIZE;
	nics = kgni_nl_sum(job->dev, job, &sum);
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, job->dev->id) &&
			   kgni_nl_u32(m, KGNI_A_PTAG, job->ptag) &&
			   kgni_nl_u32(m, KGNI_A_COOKIE, job->cookie) &&
			   kgni_nl_uid(m, KGNI_A_UID, job->uid) &&
			   kgni_nl_flag(m, KGNI_A_AUTO, job->automatic) &&
			   kgni_nl_flag(m, KGNI_A_SUSPENDED, job->suspended) &&
			   kgni_nl_config(m, xa_load(&job->dev->configs, job->ptag)) &&
			   kgni_nl_u32(m, KGNI_A_NICS, nics) &&
			   kgni_nl_res(m, job->dev, job) &&
			   kgni_nl_stats(m, &sum));
}

/**
 * kgni_nl_fill_named - say what a job is that runs, or what it is to be
 * @m: the message
 * @dev: its device; its lock is held
 * @ptag: its protection tag
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_named(const struct kgni_nl_msg *m, struct kgni_device *dev, u32 ptag)
{
	struct kgni_job *job = xa_load(&dev->jobs, ptag);

	return job ? kgni_nl_fill_job(m, job) :
		     kgni_nl_fill_config(m, dev, xa_load(&dev->configs, ptag));
}

/* Whose it is: in messages about attachments and about what they have. */
static bool kgni_nl_owner(const struct kgni_nl_msg *m, const struct kgni_nic *nic)
{
	u32 pid = m->notify ? pid_nr(nic->owner) : pid_vnr(nic->owner);

	return kgni_nl_u32(m, KGNI_A_DEV, nic->dev->id) &&
	       kgni_nl_u32(m, KGNI_A_NIC, nic->id) &&
	       kgni_nl_u32(m, KGNI_A_PTAG, nic->job->ptag) &&
	       (!pid || kgni_nl_u32(m, KGNI_A_PID, pid)) &&
	       kgni_nl_str(m, KGNI_A_COMM, nic->comm);
}

static u32 kgni_nl_count_cqs(struct kgni_nic *nic)
{
	struct kgni_cq *cq;
	unsigned long id;
	u32 n = 0;

	xa_for_each(&nic->cqs, id, cq)
		n++;
	return n;
}

static bool kgni_nl_holds(const struct kgni_nl_msg *m, struct kgni_nic *nic)
{
	u32 nmdds;
	u64 pages;

	mutex_lock(&nic->lock);
	nmdds = nic->nmdds;
	pages = nic->mdd_pages;
	mutex_unlock(&nic->lock);
	return kgni_nl_u32(m, KGNI_A_MEMS, nmdds) && kgni_nl_u64(m, KGNI_A_PAGES, pages) &&
	       kgni_nl_u32(m, KGNI_A_CQS, kgni_nl_count_cqs(nic)) &&
	       kgni_nl_u32(m, KGNI_A_CES, kgni_ce_count(nic)) &&
	       kgni_nl_u32(m, KGNI_A_DGRAMS, kgni_dgram_count(nic)) &&
	       kgni_nl_u32(m, KGNI_A_POSTS, kgni_bte_count(nic));
}

/**
 * kgni_nl_fill_nic - say what an attachment is
 * @m: the message
 * @nic: the attachment; the lock of its device is held
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_nic(const struct kgni_nl_msg *m, struct kgni_nic *nic)
{
	void *hdr = kgni_nl_begin(m);
	struct kgni_stats sum = { };

	if (!hdr)
		return -EMSGSIZE;
	kgni_nic_stats(nic, &sum);
	return kgni_nl_end(m, hdr,
			   kgni_nl_owner(m, nic) &&
			   kgni_nl_u32(m, KGNI_A_COOKIE, nic->job->cookie) &&
			   kgni_nl_uid(m, KGNI_A_UID, nic->cred->euid) &&
			   kgni_nl_u32(m, KGNI_A_INST, nic->inst_id) &&
			   kgni_nl_u32(m, KGNI_A_MODES, nic->modes) &&
			   kgni_nl_holds(m, nic) &&
			   kgni_nl_stats(m, &sum));
}

static int kgni_nl_fill_mem(const struct kgni_nl_msg *m, struct kgni_nic *nic,
			    const struct kgni_mdd *mdd)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_owner(m, nic) &&
			   kgni_nl_u32(m, KGNI_A_MDH, mdd->mdh) &&
			   kgni_nl_u32(m, KGNI_A_FLAGS, mdd->flags) &&
			   kgni_nl_u64(m, KGNI_A_ADDR, mdd->addr) &&
			   kgni_nl_u64(m, KGNI_A_LENGTH, mdd->length) &&
			   kgni_nl_u64(m, KGNI_A_PAGES, mdd->npages) &&
			   (!mdd->cq || kgni_nl_u32(m, KGNI_A_CQ, mdd->cq->id)));
}

static int kgni_nl_fill_cq(const struct kgni_nl_msg *m, struct kgni_nic *nic,
			   const struct kgni_cq *cq)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_owner(m, nic) &&
			   kgni_nl_u32(m, KGNI_A_CQ, cq->id) &&
			   kgni_nl_u32(m, KGNI_A_MODES, cq->mode) &&
			   kgni_nl_u32(m, KGNI_A_SLOTS, cq->slots) &&
			   kgni_nl_u32(m, KGNI_A_FILL, kgni_ring_count(&cq->view)) &&
			   kgni_nl_u32(m, KGNI_A_MAPS, atomic_read(&cq->maps)) &&
			   kgni_nl_u64(m, KGNI_A_PAGES, cq->npages));
}

static int kgni_nl_fill_dgram(const struct kgni_nl_msg *m, struct kgni_nic *nic,
			      const struct kgni_dgram_info *d)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_owner(m, nic) &&
			   kgni_nl_u32(m, KGNI_A_EP, d->ep) &&
			   kgni_nl_u32(m, KGNI_A_STATE, d->state) &&
			   kgni_nl_u64(m, KGNI_A_LENGTH, d->length) &&
			   (!d->with_id || kgni_nl_u64(m, KGNI_A_ID, d->id)) &&
			   (!d->has_peer || (kgni_nl_u32(m, KGNI_A_REMOTE_PE, d->remote_pe) &&
					     kgni_nl_u32(m, KGNI_A_REMOTE_INST, d->remote_id))));
}

static int kgni_nl_fill_ce(const struct kgni_nl_msg *m, struct kgni_nic *nic,
			   const struct kgni_ce_info *ce)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_owner(m, nic) &&
			   kgni_nl_u32(m, KGNI_A_CE, ce->id) &&
			   kgni_nl_u32(m, KGNI_A_CHILDREN, ce->children) &&
			   kgni_nl_u32(m, KGNI_A_SEEN, ce->seen) &&
			   kgni_nl_u32(m, KGNI_A_STATUS, ce->status) &&
			   kgni_nl_u32(m, KGNI_A_REDUCTIONS, ce->reductions) &&
			   kgni_nl_u32(m, KGNI_A_MODES, ce->modes) &&
			   (!ce->cq || kgni_nl_u32(m, KGNI_A_CQ, ce->cq)) &&
			   (!ce->has_parent || (kgni_nl_u32(m, KGNI_A_PARENT, ce->parent) &&
						kgni_nl_u32(m, KGNI_A_REMOTE_PE, ce->parent_pe))));
}

/**
 * kgni_nl_fill_ntt - say what an entry of a translation table is
 * @m: the message
 * @dev: the device; its lock is held
 * @index: number of the entry
 * @granularity: that of the table
 * @e: the entry
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_ntt(const struct kgni_nl_msg *m, struct kgni_device *dev, u32 index,
		     u32 granularity, const struct kgni_ntt_entry *e)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, dev->id) &&
			   kgni_nl_u32(m, KGNI_A_INDEX, index) &&
			   kgni_nl_u32(m, KGNI_A_GRANULARITY, granularity) &&
			   kgni_nl_u32(m, KGNI_A_BLOCK, e->block) &&
			   kgni_nl_u32(m, KGNI_A_REPLACED, e->replaced) &&
			   kgni_nl_u32(m, KGNI_A_REPLACEMENT, e->replacement));
}

/**
 * kgni_nl_fill_bi - say how much a device may inject
 * @m: the message
 * @dev: the device
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_bi(const struct kgni_nl_msg *m, struct kgni_device *dev)
{
	void *hdr = kgni_nl_begin(m);
	struct kgni_ioc_bi_get bi;

	if (!hdr)
		return -EMSGSIZE;
	kgni_bi_get(dev, &bi);
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, dev->id) &&
			   kgni_nl_u32(m, KGNI_A_BW, bi.bw) &&
			   kgni_nl_u32(m, KGNI_A_AOT_BW, bi.aot_bw) &&
			   kgni_nl_u32(m, KGNI_A_NORBS, bi.norbs) &&
			   kgni_nl_u32(m, KGNI_A_FLAGS, bi.flags) &&
			   kgni_nl_u32(m, KGNI_A_SYS_BW, bi.sys_bw) &&
			   kgni_nl_u32(m, KGNI_A_SYS_AOT_BW, bi.sys_aot_bw) &&
			   kgni_nl_u32(m, KGNI_A_CHANGES, bi.changes) &&
			   kgni_nl_u32(m, KGNI_A_COMMITTED, bi.committed) &&
			   kgni_nl_u64(m, KGNI_A_OPEN_NS, bi.open_ns) &&
			   kgni_nl_u64(m, KGNI_A_CLOSED_NS, bi.closed_ns) &&
			   kgni_nl_u64(m, KGNI_A_LATE_NS, bi.late_ns));
}

/**
 * kgni_nl_fill_error - say what an error is
 * @m: the message
 * @dev: as for kgni_error_raise(), as all that follow
 * @code: which
 * @category: which kind
 * @ptag: whom it concerns, or 0
 * @info: four words about it, or NULL
 *
 * Context: any.
 * Return: 0 or -EMSGSIZE.
 */
int kgni_nl_fill_error(const struct kgni_nl_msg *m, struct kgni_device *dev, u16 code, u8 category,
		       u8 ptag, const u64 *info)
{
	void *hdr = kgni_nl_begin(m);

	if (!hdr)
		return -EMSGSIZE;
	return kgni_nl_end(m, hdr,
			   kgni_nl_u32(m, KGNI_A_DEV, dev->id) &&
			   kgni_nl_u32(m, KGNI_A_CODE, code) &&
			   kgni_nl_u32(m, KGNI_A_CATEGORY, category) &&
			   (!ptag || kgni_nl_u32(m, KGNI_A_PTAG, ptag)) &&
			   (!info || !nla_put(m->skb, KGNI_A_INFO, 4 * sizeof(*info), info)));
}

/* --- dumps -------------------------------------------------------------------- */

/**
 * struct kgni_nl_walk - one call of a dump
 * @m: the messages
 * @d: where it is
 */
struct kgni_nl_walk {
	struct kgni_nl_msg m;
	struct kgni_nl_dump *d;
};

/* The objects of a device, from w->d->nic and w->d->at on; dev->lock is held. */
typedef int (*kgni_nl_device_fn)(struct kgni_nl_walk *w, struct kgni_device *dev);
/* The objects of an attachment, from w->d->at on. */
typedef int (*kgni_nl_nic_fn)(struct kgni_nl_walk *w, struct kgni_nic *nic);

static int kgni_nl_walk_device(struct kgni_nl_walk *w, struct kgni_device *dev,
			       kgni_nl_device_fn fn)
{
	int rc;

	if (w->d->dev != dev->id) {
		w->d->dev = dev->id;
		w->d->nic = 0;
		w->d->at = 0;
	}
	mutex_lock(&dev->lock);
	rc = fn(w, dev);
	mutex_unlock(&dev->lock);
	if (rc)
		return rc;
	w->d->dev = dev->id + 1;
	w->d->nic = 0;
	w->d->at = 0;
	return 0;
}

static int kgni_nl_walk(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			kgni_nl_device_fn fn)
{
	struct kgni_nl_dump *d = (struct kgni_nl_dump *)cb->ctx;
	struct kgni_nl_walk w = {
		.m = {
			.skb = skb,
			.cb = cb,
			.portid = NETLINK_CB(cb->skb).portid,
			.seq = cb->nlh->nlmsg_seq,
			.cmd = cmd,
		},
		.d = d,
	};
	struct kgni_device *dev;
	int rc = 0;

	cb->seq = kgni_netlink_generation();
	while (!rc && (dev = kgni_device_next(d->dev))) {
		if (d->only_dev == KGNI_NL_ANY || d->only_dev == dev->id)
			rc = kgni_nl_walk_device(&w, dev, fn);
		else
			d->dev = dev->id < d->only_dev ? dev->id + 1 : KGNI_MAX_DEVICES;
		put_device(&dev->dev);
	}
	return skb->len ? skb->len : rc;
}

static int kgni_nl_each_device(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_fill_device(&w->m, dev);
}

/* KGNI_CMD_DEV_GET. */
int kgni_nl_dump_devices(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_DEV_NEW, kgni_nl_each_device);
}

/* A job that runs, or else one that was configured: its cookie is for few to know. */
static int kgni_nl_one_job(struct kgni_nl_walk *w, struct kgni_device *dev, u32 ptag)
{
	struct kgni_job_config *config = xa_load(&dev->configs, ptag);
	struct kgni_job *job = xa_load(&dev->jobs, ptag);

	if (job)
		return kgni_nl_sees(&w->d->viewer, job->uid) ? kgni_nl_fill_job(&w->m, job) : 0;
	return config && w->d->viewer.all ? kgni_nl_fill_config(&w->m, dev, config) : 0;
}

static int kgni_nl_each_job(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	int rc;

	for (; w->d->nic <= U8_MAX; w->d->nic++) {
		if (w->d->ptag && w->d->ptag != w->d->nic)
			continue;
		rc = kgni_nl_one_job(w, dev, w->d->nic);
		if (rc)
			return rc;
	}
	return 0;
}

/* KGNI_CMD_JOB_GET. */
int kgni_nl_dump_jobs(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_JOB_NEW, kgni_nl_each_job);
}

static int kgni_nl_each_bi(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_fill_bi(&w->m, dev);
}

/* KGNI_CMD_BI_GET. */
int kgni_nl_dump_bi(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_BI_NEW, kgni_nl_each_bi);
}

static int kgni_nl_each_ntt(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	const struct kgni_ntt_entry *e;
	u32 granularity;
	int rc;

	while ((e = kgni_ntt_next(dev, &w->d->nic, &granularity))) {
		rc = kgni_nl_fill_ntt(&w->m, dev, w->d->nic, granularity, e);
		if (rc)
			return rc;
		w->d->nic++;
	}
	return 0;
}

/* KGNI_CMD_NTT_GET. */
int kgni_nl_dump_ntt(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_NTT_NEW, kgni_nl_each_ntt);
}

static bool kgni_nl_wanted(const struct kgni_nl_dump *d, const struct kgni_nic *nic)
{
	return kgni_nl_sees_nic(&d->viewer, nic) && (!d->ptag || d->ptag == nic->job->ptag) &&
	       (!d->pid || d->pid == pid_vnr(nic->owner));
}

static int kgni_nl_walk_nics(struct kgni_nl_walk *w, struct kgni_device *dev, kgni_nl_nic_fn fn)
{
	struct kgni_nl_dump *d = w->d;
	struct kgni_nic *nic;
	int rc;

	list_for_each_entry(nic, &dev->nics, dev_node) {
		if (nic->id < d->nic || !kgni_nl_wanted(d, nic))
			continue;
		if (nic->id > d->nic) {
			d->nic = nic->id;
			d->at = 0;
		}
		rc = fn(w, nic);
		if (rc)
			return rc;
	}
	return 0;
}

static int kgni_nl_one_nic(struct kgni_nl_walk *w, struct kgni_nic *nic)
{
	return kgni_nl_fill_nic(&w->m, nic);
}

static int kgni_nl_each_nic(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_walk_nics(w, dev, kgni_nl_one_nic);
}

/* KGNI_CMD_NIC_GET. */
int kgni_nl_dump_nics(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_NIC_NEW, kgni_nl_each_nic);
}

static int kgni_nl_mems_of(struct kgni_nl_walk *w, struct kgni_nic *nic)
{
	struct kgni_mdd *mdd;
	int rc = 0;

	mutex_lock(&nic->lock);
	list_for_each_entry(mdd, &nic->mdds, node) {
		if (mdd->number < w->d->at)
			continue;
		w->d->at = mdd->number;
		rc = kgni_nl_fill_mem(&w->m, nic, mdd);
		if (rc)
			break;
	}
	mutex_unlock(&nic->lock);
	return rc;
}

static int kgni_nl_each_mem(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_walk_nics(w, dev, kgni_nl_mems_of);
}

/* KGNI_CMD_MEM_GET. */
int kgni_nl_dump_mems(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_MEM_NEW, kgni_nl_each_mem);
}

static int kgni_nl_cqs_of(struct kgni_nl_walk *w, struct kgni_nic *nic)
{
	struct kgni_cq *cq;
	int rc = 0;

	while (!rc && (cq = kgni_cq_next(nic, w->d->at))) {
		w->d->at = cq->id;
		rc = kgni_nl_fill_cq(&w->m, nic, cq);
		if (!rc)
			w->d->at++;
		kgni_cq_put(cq);
	}
	return rc;
}

static int kgni_nl_each_cq(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_walk_nics(w, dev, kgni_nl_cqs_of);
}

/* KGNI_CMD_CQ_GET. */
int kgni_nl_dump_cqs(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_CQ_NEW, kgni_nl_each_cq);
}

/* For walks of what an attachment has. */
struct kgni_nl_of {
	struct kgni_nl_walk *w;
	struct kgni_nic *nic;
};

static int kgni_nl_one_dgram(void *arg, const struct kgni_dgram_info *info)
{
	struct kgni_nl_of *a = arg;

	return kgni_nl_fill_dgram(&a->w->m, a->nic, info);
}

static int kgni_nl_dgrams_of(struct kgni_nl_walk *w, struct kgni_nic *nic)
{
	struct kgni_nl_of arg = { .w = w, .nic = nic };

	return kgni_dgram_walk(nic, &w->d->at, kgni_nl_one_dgram, &arg);
}

static int kgni_nl_each_dgram(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_walk_nics(w, dev, kgni_nl_dgrams_of);
}

/* KGNI_CMD_DGRAM_GET. */
int kgni_nl_dump_dgrams(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_DGRAM_NEW, kgni_nl_each_dgram);
}

static int kgni_nl_one_ce(void *arg, const struct kgni_ce_info *info)
{
	struct kgni_nl_of *a = arg;

	return kgni_nl_fill_ce(&a->w->m, a->nic, info);
}

static int kgni_nl_ces_of(struct kgni_nl_walk *w, struct kgni_nic *nic)
{
	struct kgni_nl_of arg = { .w = w, .nic = nic };

	return kgni_ce_walk(nic, &w->d->at, kgni_nl_one_ce, &arg);
}

static int kgni_nl_each_ce(struct kgni_nl_walk *w, struct kgni_device *dev)
{
	return kgni_nl_walk_nics(w, dev, kgni_nl_ces_of);
}

/* KGNI_CMD_CE_GET. */
int kgni_nl_dump_ces(struct sk_buff *skb, struct netlink_callback *cb)
{
	return kgni_nl_walk(skb, cb, KGNI_CMD_CE_NEW, kgni_nl_each_ce);
}
