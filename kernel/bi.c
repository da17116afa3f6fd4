// SPDX-License-Identifier: GPL-2.0-only
/*
 * Balanced injection: a device moves what its attachments post for a share of the
 * time only, as core/pace.h has it; in percent of what it can do, or in entries of
 * the buffer of outstanding requests that Aries has, of which it may use so many.
 *
 * Each piece of a transfer asks before it is moved, under rcu_read_lock(), so that
 * a change is in force for all after a grace period: then it is committed. While
 * the device is quiesced a change waits for the end of that. The end is also when
 * the network has throttled the device, for which there may be a share of its own.
 *
 * Clients in the kernel cannot wait, so their FMA posts are not held. Their RDMA is.
 */
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "kgni.h"

/* Module parameters: the system's settings, percent. */
unsigned int kgni_bi_bw = GNI_BI_INJECT_BW_MAX;
unsigned int kgni_bi_aot_bw = GNI_BI_INJECT_BW_MAX;

#define KGNI_BI_FLAGS	(GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_APPLY_AFTER_THROTTLE | \
			 GNI_BI_FLAG_USE_DEFAULT_SETTINGS | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES)
#define KGNI_BI_APPLY	(GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_APPLY_AFTER_THROTTLE)

/* 0 of either is no limit, as all of it is none. */
static struct kgni_bi_share kgni_bi_share_of(u32 value, bool orbs)
{
	const u16 all = orbs ? GNI_BI_INJECT_BW_ORB_MAX : GNI_BI_INJECT_BW_MAX;

	return (struct kgni_bi_share) { .num = value ?: all, .den = all };
}

/* A share in @parts, not less than one. */
static u16 kgni_bi_parts(struct kgni_bi_share share, u32 parts)
{
	return max(DIV_ROUND_CLOSEST(share.num * parts, share.den), 1U);
}

static void kgni_bi_force(struct kgni_bi *bi, struct kgni_bi_share share)
{
	bi->now = share;
	kgni_pace_set(&bi->pace, share.num, share.den);
	WRITE_ONCE(bi->active, share.num < share.den);
}

/* bi->lock is held, so that none is queued after kgni_bi_stop(). */
static void kgni_bi_apply(struct kgni_bi *bi)
{
	if (bi->next.den)
		kgni_bi_force(bi, bi->next);
	bi->next.den = 0;
	bi->applied = bi->seq;
	bi->held = false;
	queue_work(system_wq, &bi->work);
}

/* Once nothing moves by the share of before, a change is committed. */
static void kgni_bi_commit(struct work_struct *work)
{
	struct kgni_bi *bi = container_of(work, struct kgni_bi, work);
	u16 applied;

	spin_lock_bh(&bi->lock);
	applied = bi->applied;
	spin_unlock_bh(&bi->lock);
	kgni_windows_paced();
	synchronize_rcu();
	WRITE_ONCE(bi->done, applied);
	wake_up_all(&bi->wq);
}

/* Whoever waits for the share of before need not any more. */
static void kgni_bi_changed(struct kgni_device *dev)
{
	wake_up_all(&dev->bi.wq);
	kgni_domains_kick();
}

/* Part of making a device. */
void kgni_device_bi_init(struct kgni_device *dev)
{
	struct kgni_bi *bi = &dev->bi;

	spin_lock_init(&bi->lock);
	INIT_WORK(&bi->work, kgni_bi_commit);
	init_waitqueue_head(&bi->wq);
	kgni_bi_force(bi, kgni_bi_share_of(kgni_bi_bw, false));
	bi->flags = GNI_BI_FLAG_USE_DEFAULT_SETTINGS;
}

/**
 * kgni_bi_stop - part of deleting a device: nothing is held any more
 * @dev: the device
 *
 * Context: process, may sleep.
 */
void kgni_bi_stop(struct kgni_device *dev)
{
	struct kgni_bi *bi = &dev->bi;

	spin_lock_bh(&bi->lock);
	bi->stopped = true;
	kgni_bi_force(bi, kgni_bi_share_of(0, false));
	spin_unlock_bh(&bi->lock);
	cancel_work_sync(&bi->work);
	WRITE_ONCE(bi->done, bi->seq);
	kgni_bi_changed(dev);
}

static long kgni_bi_check(u32 value, u16 modes)
{
	u32 most = modes & GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES ? GNI_BI_INJECT_BW_ORB_MAX :
								  GNI_BI_INJECT_BW_MAX;

	return value > most ? GNI_RC_INVALID_PARAM : GNI_RC_SUCCESS;
}

/* bi->lock is held; the values are in order. */
static void kgni_bi_change(struct kgni_device *dev, u16 bw, u16 aot_bw, u16 modes)
{
	bool orbs = modes & GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
	struct kgni_bi *bi = &dev->bi;

	bi->flags = modes;
	if (modes & GNI_BI_FLAG_USE_DEFAULT_SETTINGS) {
		bw = kgni_bi_bw;
		aot_bw = kgni_bi_aot_bw;
		orbs = false;
		modes |= modes & KGNI_BI_APPLY ? 0 : KGNI_BI_APPLY;
	}
	if (modes & GNI_BI_FLAG_APPLY_NOW)
		bi->next = kgni_bi_share_of(bw, orbs);
	bi->aot.den = 0;
	if (modes & GNI_BI_FLAG_APPLY_AFTER_THROTTLE)
		bi->aot = kgni_bi_share_of(aot_bw, orbs);
	WRITE_ONCE(bi->seq, bi->seq + 1);
	bi->held = kgni_device_is_quiesced(dev);
	if (!bi->held)
		kgni_bi_apply(bi);
}

/**
 * kgni_bi_set - change how much a device may inject
 * @dev: the device
 * @bw: how much, percent or entries; 0 for no limit
 * @aot_bw: the same for after the next quiesce
 * @modes: GNI_BI_FLAG_* bits: which of them count
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM for a value that counts and is out of
 * range, for other modes, and if nothing is to be changed; -ENODEV if the device is
 * deleted.
 */
long kgni_bi_set(struct kgni_device *dev, u16 bw, u16 aot_bw, u16 modes)
{
	struct kgni_bi *bi = &dev->bi;
	bool values = !(modes & GNI_BI_FLAG_USE_DEFAULT_SETTINGS);
	long rc = GNI_RC_SUCCESS;

	if (modes & ~KGNI_BI_FLAGS ||
	    !(modes & (KGNI_BI_APPLY | GNI_BI_FLAG_USE_DEFAULT_SETTINGS)))
		return GNI_RC_INVALID_PARAM;
	if (values && modes & GNI_BI_FLAG_APPLY_NOW)
		rc = kgni_bi_check(bw, modes);
	if (!rc && values && modes & GNI_BI_FLAG_APPLY_AFTER_THROTTLE)
		rc = kgni_bi_check(aot_bw, modes);
	if (rc)
		return rc;
	spin_lock_bh(&bi->lock);
	if (bi->stopped)
		rc = -ENODEV;
	else
		kgni_bi_change(dev, bw, aot_bw, modes);
	spin_unlock_bh(&bi->lock);
	if (!rc) {
		kgni_netlink_bi(dev);
		kgni_bi_changed(dev);
	}
	return rc;
}

/* Part of kgni_device_unquiesce(): what waited for that, and the share for after it. */
void kgni_bi_throttled(struct kgni_device *dev)
{
	struct kgni_bi *bi = &dev->bi;
	bool changed;

	spin_lock_bh(&bi->lock);
	changed = !bi->stopped && (bi->held || bi->aot.den);
	if (changed && bi->held)
		kgni_bi_apply(bi);
	if (changed && bi->aot.den)
		kgni_bi_force(bi, bi->aot);
	spin_unlock_bh(&bi->lock);
	if (changed) {
		kgni_netlink_bi(dev);
		kgni_bi_changed(dev);
	}
}

/**
 * kgni_bi_get - what a device may inject, and did
 * @dev: the device
 * @out: out: that
 *
 * Context: any but interrupts.
 */
void kgni_bi_get(struct kgni_device *dev, struct kgni_ioc_bi_get *out)
{
	struct kgni_bi *bi = &dev->bi;
	struct kgni_bi_share aot;

	memset(out, 0, sizeof(*out));
	spin_lock_bh(&bi->lock);
	aot = bi->aot.den ? bi->aot : kgni_bi_share_of(kgni_bi_aot_bw, false);
	out->bw = kgni_bi_parts(bi->now, GNI_BI_INJECT_BW_MAX);
	out->norbs = kgni_bi_parts(bi->now, GNI_BI_INJECT_BW_ORB_MAX);
	out->aot_bw = kgni_bi_parts(aot, GNI_BI_INJECT_BW_MAX);
	out->flags = bi->flags;
	out->changes = bi->seq;
	out->committed = READ_ONCE(bi->done);
	out->open_ns = bi->pace.open_ns;
	out->closed_ns = bi->pace.closed_ns;
	out->late_ns = bi->pace.late_ns;
	spin_unlock_bh(&bi->lock);
	out->sys_bw = kgni_bi_bw ?: GNI_BI_INJECT_BW_MAX;
	out->sys_aot_bw = kgni_bi_aot_bw ?: GNI_BI_INJECT_BW_MAX;
}

static bool kgni_bi_is_done(struct kgni_bi *bi, u16 seq)
{
	return (s16)(READ_ONCE(bi->done) - seq) >= 0;
}

/**
 * kgni_bi_wait - wait until all changes of before are committed
 * @dev: the device
 * @timeout: how long
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_TIMEOUT; -EINTR if a signal came.
 */
long kgni_bi_wait(struct kgni_device *dev, ktime_t timeout)
{
	struct kgni_bi *bi = &dev->bi;
	u16 seq = READ_ONCE(bi->seq);
	int error;

	if (kgni_bi_is_done(bi, seq))
		return GNI_RC_SUCCESS;
	if (!timeout)
		return GNI_RC_TIMEOUT;
	error = wait_event_interruptible_hrtimeout(bi->wq, kgni_bi_is_done(bi, seq), timeout);
	return !error ? GNI_RC_SUCCESS : error == -ETIME ? GNI_RC_TIMEOUT : -EINTR;
}

/* KGNI_IOC_BI_SET. */
long kgni_bi_ioctl(struct kgni_device *dev, const struct kgni_ioc_bi_set *arg)
{
	if (arg->reserved)
		return -EINVAL;
	if (!capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	return kgni_bi_set(dev, arg->bw, arg->aot_bw, arg->modes);
}

/* --- what moves --------------------------------------------------------------- */

/* May this one be told to wait? */
static bool kgni_bi_holds(const struct kgni_xfer *x)
{
	return !x->kernel || kgni_post_rule(x->arg.type)->bte;
}

/* kgni_bi_try(), where something is held. */
bool kgni_bi_try_slow(struct kgni_xfer *x)
{
	struct kgni_bi *bi = &x->nic->dev->bi;
	u64 until;

	if (!kgni_bi_holds(x))
		return true;
	spin_lock_bh(&bi->lock);
	/* It may have been changed a moment ago. */
	until = bi->active ? kgni_pace_ask(&bi->pace, ktime_get_ns()) : 0;
	x->paced = bi->active && !until;
	spin_unlock_bh(&bi->lock);
	return !until;
}

/* A piece that was counted was moved. */
void kgni_bi_end_slow(struct kgni_xfer *x)
{
	struct kgni_bi *bi = &x->nic->dev->bi;

	x->paced = false;
	spin_lock_bh(&bi->lock);
	kgni_pace_moved(&bi->pace, ktime_get_ns());
	spin_unlock_bh(&bi->lock);
}

/**
 * kgni_bi_until - when a device goes on
 * @dev: the device
 *
 * Context: any but interrupts.
 * Return: the time, by ktime_get_ns(); 0 if it may at once.
 */
u64 kgni_bi_until(struct kgni_device *dev)
{
	struct kgni_bi *bi = &dev->bi;
	u64 until;

	spin_lock_bh(&bi->lock);
	until = bi->pace.until;
	spin_unlock_bh(&bi->lock);
	return until > ktime_get_ns() ? until : 0;
}

/* Is a device closed until then, and not for longer or no more? */
static bool kgni_bi_is_closed(struct kgni_bi *bi, u64 until)
{
	bool same;

	spin_lock_bh(&bi->lock);
	same = bi->pace.until == until;
	spin_unlock_bh(&bi->lock);
	return same;
}

/**
 * kgni_bi_sleep - wait until a device may go on, or its share is changed
 * @dev: the device
 *
 * Context: process, may sleep.
 * Return: 0, or -ERESTARTSYS if a fatal signal came first.
 */
int kgni_bi_sleep(struct kgni_device *dev)
{
	u64 now, until = kgni_bi_until(dev);
	struct kgni_bi *bi = &dev->bi;
	int error;

	now = ktime_get_ns();
	if (until <= now)
		return 0;
	might_sleep();
	error = __wait_event_hrtimeout(bi->wq, !kgni_bi_is_closed(bi, until),
				       ns_to_ktime(until - now), TASK_KILLABLE);
	return error == -ETIME ? 0 : error;
}
