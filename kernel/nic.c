// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attachments: what GNI_CdmAttach() makes of an open file.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/ratelimit.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kgni.h"
#include "trace.h"

/*
 * Memory is allocated under a process's lock, and memory may wait for what a client in
 * the kernel does under its own: lockdep is to tell them apart.
 */
static struct lock_class_key kgni_nic_kernel_lock;

static struct kgni_nic *kgni_nic_new(struct kgni_device *dev, struct kgni_job *job,
				     const struct kgni_ioc_attach *arg, bool kernel)
{
	struct kgni_nic *nic = kzalloc(sizeof(*nic), GFP_KERNEL_ACCOUNT);

	if (!nic)
		return NULL;
	nic->dev = dev;
	nic->job = job;
	nic->inst_id = arg->inst_id;
	nic->modes = arg->modes;
	nic->gfp = kernel ? GFP_NOIO : GFP_KERNEL_ACCOUNT;
	nic->owner = kernel ? NULL : get_pid(task_tgid(current));
	nic->cred = get_current_cred();
	if (kernel)
		strscpy(nic->comm, "(kernel)", sizeof(nic->comm));
	else
		get_task_comm(nic->comm, current);
	mutex_init(&nic->lock);
	if (kernel)
		lockdep_set_class(&nic->lock, &kgni_nic_kernel_lock);
	xa_init_flags(&nic->cqs, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&nic->mdds);
	kgni_bte_attach(nic);
	return nic;
}

static void kgni_nic_free(struct kgni_nic *nic)
{
	put_pid(nic->owner);
	put_cred(nic->cred);
	kfree(nic);
}

/* From here on those who list attachments find it. */
static void kgni_nic_publish(struct kgni_nic *nic)
{
	struct kgni_device *dev = nic->dev;

	mutex_lock(&dev->lock);
	nic->id = ++dev->last_nic;
	list_add_tail(&nic->dev_node, &dev->nics);
	kgni_netlink_nic(nic, false);
	trace_kgni_attach(nic);
	mutex_unlock(&dev->lock);
}

/* Nobody finds it any more; what it did is remembered. */
static void kgni_nic_unpublish(struct kgni_nic *nic)
{
	struct kgni_device *dev = nic->dev;

	mutex_lock(&dev->lock);
	list_del(&nic->dev_node);
	kgni_nic_stats(nic, &nic->job->stats);
	kgni_nic_stats(nic, &dev->stats);
	kgni_netlink_nic(nic, true);
	trace_kgni_detach(nic);
	mutex_unlock(&dev->lock);
}

/**
 * kgni_count - count what an attachment does
 * @nic: the attachment
 * @stat: what
 * @n: how often, or how many bytes
 *
 * Context: any.
 */
void kgni_count(struct kgni_nic *nic, enum kgni_stat stat, u64 n)
{
	atomic64_add(n, &nic->stats.n[stat]);
}

/**
 * kgni_stats_add - add what was counted to a sum
 * @sum: the sum
 * @stats: what is added
 *
 * Context: any.
 */
void kgni_stats_add(struct kgni_stats *sum, const struct kgni_stats *stats)
{
	int i;

	for (i = 0; i < KGNI_STAT_COUNT; i++)
		atomic64_add(atomic64_read(&stats->n[i]), &sum->n[i]);
}

/**
 * kgni_nic_stats - add what an attachment did to a sum
 * @nic: the attachment
 * @sum: the sum
 *
 * What was done through windows its own program counted, as it liked.
 *
 * Context: any.
 */
void kgni_nic_stats(const struct kgni_nic *nic, struct kgni_stats *sum)
{
	const u64 *counted = smp_load_acquire(&nic->counted);	/* see kgni_windows_pages() */
	int i;

	kgni_stats_add(sum, &nic->stats);
	for (i = 0; counted && i < KGNI_STAT_COUNT; i++)
		atomic64_add(READ_ONCE(counted[i]), &sum->n[i]);
}

static enum kgni_res kgni_nic_fma(const struct kgni_nic *nic)
{
	return nic->modes & GNI_CDM_MODE_FMA_SHARED ? KGNI_RES_SFMA : KGNI_RES_FMA;
}

/*
 * A client in the kernel knows nothing of being stopped, so it cannot join a job that
 * is, nor is one stopped that it is in: kgni_job_suspend_mark() finds it now.
 */
static bool kgni_nic_is_stopped(const struct kgni_nic *nic)
{
	bool suspended;

	mutex_lock(&nic->dev->lock);
	suspended = nic->job->suspended;
	mutex_unlock(&nic->dev->lock);
	return suspended;
}

/**
 * kgni_nic_make - attach to a device
 * @dev: the device
 * @arg: as for KGNI_IOC_ATTACH
 * @kernel: for a kernel client, as its credentials say, not for a process
 * @out: out: the attachment; kgni_nic_release() undoes it
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; as kgni_job_attach(); GNI_RC_ERROR_RESOURCE if no FMA
 * descriptor is left; GNI_RC_NOT_DONE for a kernel client if the job is suspended;
 * -ENOMEM.
 */
long kgni_nic_make(struct kgni_device *dev, struct kgni_ioc_attach *arg, bool kernel,
		   struct kgni_nic **out)
{
	struct kgni_job *job;
	struct kgni_nic *nic;
	long rc;
	u32 pe;

	rc = kgni_job_attach(dev, &arg->ptag, arg->cookie, &job);
	if (rc)
		return rc;
	rc = GNI_RC_NO_MATCH;
	if (!kgni_ntt_from_pe(job, dev->pe, &pe))
		goto put_job;
	nic = kgni_nic_new(dev, job, arg, kernel);
	if (!nic) {
		rc = -ENOMEM;
		goto put_job;
	}
	if (!kgni_res_charge(job, kgni_nic_fma(nic))) {
		rc = GNI_RC_ERROR_RESOURCE;
		goto free_nic;
	}
	kgni_dgram_attach(nic);
	if (kernel && kgni_nic_is_stopped(nic)) {
		kgni_dgram_release(nic);
		rc = GNI_RC_NOT_DONE;
		goto uncharge;
	}
	/* Programs still have to be told. */
	if (kernel)
		WRITE_ONCE(job->was_attached, true);
	kgni_nic_publish(nic);
	arg->pe = pe;
	*out = nic;
	return GNI_RC_SUCCESS;

uncharge:
	kgni_res_uncharge(job, kgni_nic_fma(nic));
free_nic:
	kgni_nic_free(nic);
put_job:
	kgni_job_put(job);
	return rc;
}

static long kgni_nic_attach_locked(struct kgni_file *f, struct kgni_ioc_attach *arg)
{
	if (f->nic || f->attaching)
		return GNI_RC_INVALID_STATE;
	return kgni_nic_make(f->dev, arg, false, &f->attaching);
}

/* KGNI_IOC_ATTACH. No call uses the attachment before kgni_nic_attach_end(). */
long kgni_nic_attach(struct kgni_file *f, struct kgni_ioc_attach *arg)
{
	long rc;

	if (arg->reserved)
		return -EINVAL;
	mutex_lock(&f->lock);
	rc = f->writable ? kgni_nic_attach_locked(f, arg) : -EACCES;
	mutex_unlock(&f->lock);
	if (rc == GNI_RC_PERMISSION_ERROR || rc == -EACCES)
		kgni_count_refusal(f->dev, KGNI_REFUSED_ATTACH);
	return rc;
}

/* The caller of kgni_nic_attach() has its answer, or cannot be given it. */
void kgni_nic_attach_end(struct kgni_file *f, bool told)
{
	mutex_lock(&f->lock);
	if (told) {
		WRITE_ONCE(f->attaching->job->was_attached, true);
		smp_store_release(&f->nic, f->attaching);	/* pairs with kgni_file_nic() */
	} else {
		kgni_nic_release(f->attaching);
	}
	f->attaching = NULL;
	mutex_unlock(&f->lock);
}

/**
 * kgni_nic_release - undo an attachment and all that was made through it
 * @nic: the attachment; no call is inside it any more
 *
 * Peers find the attachment no more; their transfers into its memory end or
 * fail first.
 *
 * Context: process, may sleep.
 */
void kgni_nic_release(struct kgni_nic *nic)
{
	kgni_dgram_release(nic);
	kgni_ce_release(nic);
	kgni_bte_release(nic);
	kgni_mdd_deregister_all(nic);
	kgni_cq_destroy_all(nic);
	kgni_nic_unpublish(nic);
	kgni_res_uncharge(nic->job, kgni_nic_fma(nic));
	kgni_job_put(nic->job);
	kgni_nic_free(nic);
}

/* A user may have processes ended as often as he likes: that is no warning. */
static struct ratelimit_state kgni_kill_told =
	RATELIMIT_STATE_INIT_FLAGS("kgni_nic_kill", DEFAULT_RATELIMIT_INTERVAL,
				   DEFAULT_RATELIMIT_BURST, RATELIMIT_MSG_ON_RELEASE);

/**
 * kgni_nic_kill - end the process that attached, for an error
 * @nic: its attachment
 * @code: which error
 *
 * It may have become one that its user may not end: then it goes on. Clients
 * in the kernel do, too.
 *
 * Context: any that does not hold locks of signals.
 */
void kgni_nic_kill(const struct kgni_nic *nic, u16 code)
{
	union sigval none = { };

	if (!nic->owner)
		return;
	if (__ratelimit(&kgni_kill_told))
		dev_info(&nic->dev->dev, "process %d is ended for error 0x%x\n",
			 pid_nr(nic->owner), code);
	kill_pid_usb_asyncio(SIGKILL, 0, none, nic->owner, nic->cred);
}
