// SPDX-License-Identifier: GPL-2.0-only
/*
 * Standing still: a device that is quiesced, and a job that is suspended.
 *
 * On a quiesced device no data moves, from it or to it. What was begun stops
 * between two pieces and goes on afterwards, and nobody is told of an error.
 * Each piece is moved under rcu_read_lock() by who saw the device open, so that
 * after synchronize_rcu() none is.
 *
 * A suspended job begins nothing, and what it had begun is finished: who posts is
 * counted in nic->posting, and RDMA in bte->inflight. RDMA that waits for its
 * turn goes on waiting.
 *
 * Those who wait for either to end sleep on one queue.
 */
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "kgni.h"

static DECLARE_WAIT_QUEUE_HEAD(kgni_still_wq);

/* Does an attachment's device stand still, or the one behind the address @to? */
static bool kgni_stands_still(const struct kgni_nic *nic, const u32 *to)
{
	struct kgni_device *dev;
	bool still = READ_ONCE(nic->dev->quiesced) && !READ_ONCE(nic->dev->gone);

	if (still || !to)
		return still;
	rcu_read_lock();
	dev = kgni_device_of(nic->job, *to);
	still = dev && READ_ONCE(dev->quiesced);
	rcu_read_unlock();
	return still;
}

/**
 * kgni_flows - may data of a post move, as far as its devices do not stand still
 * @x: the post
 *
 * Context: any.
 * Return: false if not before kgni_go_on().
 */
bool kgni_flows(const struct kgni_xfer *x)
{
	struct kgni_device *dev;
	bool still = kgni_stands_still(x->nic, NULL);

	if (still || !x->far)
		return !still;
	rcu_read_lock();
	dev = kgni_device_by_pe(x->pe);
	still = dev && READ_ONCE(dev->quiesced);
	rcu_read_unlock();
	return !still;
}

/**
 * kgni_flow_try - begin to move a piece of a transfer
 * @x: the transfer
 *
 * Context: any. Do not sleep before kgni_flow_end().
 * Return: false if it must not move now, and kgni_flow_end() is not due.
 */
bool kgni_flow_try(struct kgni_xfer *x)
{
	rcu_read_lock();
	if (likely(kgni_flows(x) && kgni_bi_try(x))) {
		/* Sparse knows of no locks that stay held on one way only. */
		__release(RCU);
		return true;
	}
	rcu_read_unlock();
	return false;
}

/* Wait until a piece may be moved, or it is worth asking. Return: 0, or -ERESTARTSYS. */
static int kgni_flow_wait(const struct kgni_xfer *x)
{
	if (!kgni_flows(x))
		return wait_event_killable(kgni_still_wq, kgni_flows(x));
	return kgni_bi_sleep(x->nic->dev);
}

/**
 * kgni_flow_begin - the same, after it has waited until it may move
 * @x: the transfer, of a process; or of a client in the kernel that has begun a
 *	larger piece, of which this is a part
 *
 * Context: process, may sleep; any for a client in the kernel.
 * Return: false if a fatal signal came first, and kgni_flow_end() is not due.
 */
bool kgni_flow_begin(struct kgni_xfer *x)
{
	if (x->kernel) {
		rcu_read_lock();
		__release(RCU);
		return true;
	}
	while (!kgni_flow_try(x))
		if (kgni_flow_wait(x))
			return false;
	return true;
}

/**
 * kgni_window_flows - may the windows of an attachment have pages
 * @nic: the attachment
 * @to: device that the window is to
 *
 * Context: any.
 * Return: false while one of the devices stands still, or the job.
 */
bool kgni_window_flows(const struct kgni_nic *nic, const struct kgni_device *to)
{
	if (unlikely(READ_ONCE(nic->dev->gone)))
		return true;
	return !READ_ONCE(nic->job->suspended) && !READ_ONCE(nic->dev->quiesced) &&
	       !READ_ONCE(to->quiesced);
}

/**
 * kgni_window_stand - wait until they may
 * @nic: the attachment
 * @to: device that the window is to
 * @interruptible: any signal ends the wait, not a fatal one alone
 *
 * Context: process, may sleep.
 */
void kgni_window_stand(const struct kgni_nic *nic, const struct kgni_device *to,
		       bool interruptible)
{
	if (interruptible)
		wait_event_interruptible(kgni_still_wq, kgni_window_flows(nic, to));
	else
		wait_event_killable(kgni_still_wq, kgni_window_flows(nic, to));
}

/* The piece was moved. */
void kgni_flow_end(struct kgni_xfer *x)
{
	kgni_bi_end(x);
	__acquire(RCU);
	rcu_read_unlock();
}

/* May this attachment begin something that goes to the address @to, or to no single one? */
static bool kgni_may_begin(const struct kgni_nic *nic, const u32 *to)
{
	/* Where the device is deleted nobody could have it go on. */
	if (READ_ONCE(nic->job->suspended) && !READ_ONCE(nic->dev->gone))
		return false;
	return !kgni_stands_still(nic, to);
}

/**
 * kgni_may_start - may RDMA that waits be started
 * @nic: its attachment
 *
 * Context: any.
 * Return: false if not before kgni_bte_kick().
 */
bool kgni_may_start(const struct kgni_nic *nic)
{
	return kgni_may_begin(nic, NULL);
}

/* Begin a post if it may. Return: false if not now, and kgni_end() is not due. */
static bool kgni_begin_now(struct kgni_nic *nic, const u32 *to)
{
	atomic_inc(&nic->posting);
	smp_mb__after_atomic();		/* pairs with kgni_job_suspend_mark() */
	if (likely(kgni_may_begin(nic, to)))
		return true;
	kgni_end(nic);
	return false;
}

/**
 * kgni_begin - begin a post
 * @nic: who posts
 * @to: the address that it is for, or NULL if it is for several
 *
 * Context: process, may sleep.
 * Return: true, and kgni_end() is due; false if a signal came before it could.
 */
bool kgni_begin(struct kgni_nic *nic, const u32 *to)
{
	while (!kgni_begin_now(nic, to))
		if (wait_event_interruptible(kgni_still_wq, kgni_may_begin(nic, to)))
			return false;
	return true;
}

/* A post was carried out, or queued. Context: any. */
void kgni_end(struct kgni_nic *nic)
{
	if (atomic_dec_and_test(&nic->posting))
		kgni_settled(nic);
}

/* Something of an attachment is done: somebody may wait for that. Context: any. */
void kgni_settled(const struct kgni_nic *nic)
{
	if (unlikely(READ_ONCE(nic->job->suspended)))
		wake_up_all(&kgni_still_wq);
}

/* Something that stood still may go on: devices, jobs, or what waited for them. */
void kgni_go_on(void)
{
	wake_up_all(&kgni_still_wq);
	kgni_domains_kick();
}

/* --- devices ---------------------------------------------------------------- */

/* Part of making a device. */
void kgni_device_quiesce_init(struct kgni_device *dev)
{
	mutex_init(&dev->quiesce_lock);
	spin_lock_init(&dev->watch_lock);
	INIT_LIST_HEAD(&dev->watches);
}

/**
 * kgni_watch_add - be told when a quiesce of a device ends
 * @dev: the device
 * @watch: whom to tell, and how
 *
 * Context: process.
 */
void kgni_watch_add(struct kgni_device *dev, struct kgni_watch *watch)
{
	spin_lock_bh(&dev->watch_lock);
	list_add_tail(&watch->node, &dev->watches);
	spin_unlock_bh(&dev->watch_lock);
}

/* Undo kgni_watch_add(): when it returns the function has. */
void kgni_watch_del(struct kgni_device *dev, struct kgni_watch *watch)
{
	spin_lock_bh(&dev->watch_lock);
	list_del(&watch->node);
	spin_unlock_bh(&dev->watch_lock);
}

static void kgni_tell_watches(struct kgni_device *dev, u64 ms)
{
	struct kgni_watch *watch;

	spin_lock_bh(&dev->watch_lock);
	list_for_each_entry(watch, &dev->watches, node)
		watch->fn(watch->context, ms);
	spin_unlock_bh(&dev->watch_lock);
}

/**
 * kgni_device_is_quiesced - does a device stand still
 * @dev: the device
 *
 * Context: any.
 * Return: true if so.
 */
bool kgni_device_is_quiesced(const struct kgni_device *dev)
{
	return READ_ONCE(dev->quiesced);
}

/**
 * kgni_device_quiesce - have a device stand still
 * @dev: the device
 *
 * When it returns no data moves from or to the device. Nothing fails for that.
 *
 * Context: process, may sleep; waits for pieces of transfers only.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_STATE if it stands still.
 */
long kgni_device_quiesce(struct kgni_device *dev)
{
	const u64 info[4] = { 1 };
	long rc = GNI_RC_INVALID_STATE;

	mutex_lock(&dev->quiesce_lock);
	if (!dev->quiesced) {
		dev->quiesced_at = ktime_get();
		WRITE_ONCE(dev->quiesced, true);
		synchronize_rcu();
		kgni_windows_still(dev, NULL);
		kgni_error_raise(dev, KGNI_ERR_QUIESCE, GNI_ERRMASK_INFORMATIONAL, 0, info);
		kgni_netlink_device(dev, KGNI_CMD_DEV_QUIESCE);
		rc = GNI_RC_SUCCESS;
	}
	mutex_unlock(&dev->quiesce_lock);
	return rc;
}

/**
 * kgni_device_unquiesce - have a device go on
 * @dev: the device
 *
 * Clients in the kernel are told how long it stood still, for their timers.
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_STATE if it does not stand still.
 */
long kgni_device_unquiesce(struct kgni_device *dev)
{
	long rc = GNI_RC_INVALID_STATE;
	u64 info[4] = { 0 };

	mutex_lock(&dev->quiesce_lock);
	if (dev->quiesced) {
		info[1] = ktime_ms_delta(ktime_get(), dev->quiesced_at);
		WRITE_ONCE(dev->quiesced, false);
		kgni_bi_throttled(dev);
		kgni_tell_watches(dev, info[1]);
		kgni_error_raise(dev, KGNI_ERR_QUIESCE, GNI_ERRMASK_INFORMATIONAL, 0, info);
		kgni_netlink_device(dev, KGNI_CMD_DEV_RESUME);
		kgni_go_on();
		rc = GNI_RC_SUCCESS;
	}
	mutex_unlock(&dev->quiesce_lock);
	return rc;
}

/* --- jobs ------------------------------------------------------------------- */

/* Is one of the members a client in the kernel? It knows nothing of being stopped. */
static bool kgni_job_is_kernels(struct kgni_job *job)
{
	struct kgni_nic *nic;
	bool found = false;

	spin_lock_bh(&job->domain->lock);
	list_for_each_entry(nic, &job->domain->nics, node)
		found |= nic->job == job && !nic->owner;
	spin_unlock_bh(&job->domain->lock);
	return found;
}

/* Is nothing of the job on its way? */
static bool kgni_job_is_idle(struct kgni_job *job)
{
	struct kgni_nic *nic;
	bool idle = true;

	spin_lock_bh(&job->domain->lock);
	list_for_each_entry(nic, &job->domain->nics, node)
		if (nic->job == job && (atomic_read(&nic->posting) || kgni_bte_count(nic)))
			idle = false;
	spin_unlock_bh(&job->domain->lock);
	return idle;
}

/* dev->lock is held. */
static void kgni_job_go_on(struct kgni_job *job)
{
	if (!job->suspended)
		return;
	WRITE_ONCE(job->suspended, false);
	kgni_netlink_job(job, KGNI_CMD_JOB_RESUME);
	kgni_go_on();
}

/* Does the job stand still for the suspension of this number? */
static bool kgni_job_is_suspended(const struct kgni_job *job, u32 number)
{
	return READ_ONCE(job->suspended) && READ_ONCE(job->suspensions) == number;
}

/* Others may have ended this one meanwhile, and begun another. */
static void kgni_job_unsuspend(struct kgni_job *job, u32 number)
{
	mutex_lock(&job->dev->lock);
	if (kgni_job_is_suspended(job, number))
		kgni_job_go_on(job);
	mutex_unlock(&job->dev->lock);
}

static long kgni_job_suspend_mark(struct kgni_device *dev, const struct kgni_job_name *name,
				  struct kgni_job **out)
{
	struct kgni_job *job = kgni_job_named(dev, name);

	if (!job)
		return GNI_RC_INVALID_PARAM;
	if (job->suspended)
		return GNI_RC_INVALID_STATE;
	if (kgni_job_is_kernels(job))
		return GNI_RC_ERROR_RESOURCE;
	/* What it has begun would not end. */
	if (kgni_device_is_quiesced(dev))
		return GNI_RC_NOT_DONE;
	WRITE_ONCE(job->suspensions, job->suspensions + 1);
	WRITE_ONCE(job->suspended, true);
	smp_mb();			/* pairs with kgni_begin_now() */
	kgni_netlink_job(job, KGNI_CMD_JOB_SUSPEND);
	job->refs++;
	*out = job;
	return GNI_RC_SUCCESS;
}

/* Wait until nothing of a suspended job is on its way, or it is not suspended any more. */
static long kgni_job_settle(struct kgni_job *job, u32 number, ktime_t timeout)
{
	int error = 0;

	if (!kgni_job_is_idle(job))
		error = !timeout ? -ETIME :
			wait_event_interruptible_hrtimeout(kgni_still_wq,
							   kgni_job_is_idle(job) ||
							   !kgni_job_is_suspended(job, number),
							   timeout);
	if (error)
		return error == -ETIME ? GNI_RC_TIMEOUT : GNI_RC_NOT_DONE;
	return kgni_job_is_suspended(job, number) ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

/**
 * kgni_job_suspend - have a job stand still
 * @dev: the device
 * @name: the job, which has members
 * @timeout: how long to wait until nothing of it is on its way
 *
 * What its members post from now on waits for kgni_job_resume().
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if there is no such job;
 * GNI_RC_INVALID_STATE if it is suspended, or about to be; GNI_RC_ERROR_RESOURCE
 * if clients in the kernel are in it; GNI_RC_NOT_DONE if the device is quiesced, a
 * signal came, or the job was resumed meanwhile; GNI_RC_TIMEOUT. Unless it succeeds
 * the job goes on.
 */
long kgni_job_suspend(struct kgni_device *dev, const struct kgni_job_name *name, ktime_t timeout)
{
	struct kgni_job *job;
	long rc;
	u32 number;

	mutex_lock(&dev->lock);
	rc = kgni_job_suspend_mark(dev, name, &job);
	number = rc ? 0 : job->suspensions;
	mutex_unlock(&dev->lock);
	if (rc)
		return rc;
	kgni_windows_still(NULL, job);
	rc = kgni_job_settle(job, number, timeout);
	if (rc)
		kgni_job_unsuspend(job, number);
	kgni_job_put(job);
	return rc;
}

/**
 * kgni_job_resume - have a suspended job go on
 * @dev: the device
 * @name: the job
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM if there is no such job;
 * GNI_RC_INVALID_STATE if it is not suspended.
 */
long kgni_job_resume(struct kgni_device *dev, const struct kgni_job_name *name)
{
	struct kgni_job *job;
	long rc = GNI_RC_INVALID_PARAM;

	mutex_lock(&dev->lock);
	job = kgni_job_named(dev, name);
	if (job) {
		rc = job->suspended ? GNI_RC_SUCCESS : GNI_RC_INVALID_STATE;
		kgni_job_go_on(job);
	}
	mutex_unlock(&dev->lock);
	return rc;
}

/* KGNI_IOC_JOB_SUSPEND. */
long kgni_suspend_ioctl(struct kgni_device *dev, const struct kgni_ioc_suspend *arg)
{
	const struct kgni_job_name name = {
		.job_id = arg->job_id, .ptag = arg->ptag, .cookie = arg->cookie,
	};

	if (arg->reserved || arg->flags & ~KGNI_SUSPEND_RESUME)
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	if (arg->flags & KGNI_SUSPEND_RESUME)
		return kgni_job_resume(dev, &name);
	return kgni_job_suspend(dev, &name, kgni_timeout(arg->timeout_ms));
}
