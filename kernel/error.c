// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error events: what went wrong on a device, told to those who asked, and the
 * programs that are ended for it.
 *
 * A queue belongs to an open file, or to a client in the kernel. It takes the
 * events of the categories and of the protection tag that it asks for; one of
 * all tags is for the privileged. Who fails many transactions is heard by its
 * own job's queues and by those of the privileged, and costs nobody else time.
 * An event that finds no room is dropped, and leaves a gap in the serial
 * numbers.
 *
 * All of it is under kgni_device.eeq_lock, which may be taken anywhere.
 */
#include <linux/capability.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"
#include "trace.h"

/* Error queues of one file. */
#define KGNI_EEQS_PER_FILE	16
/* And of one protection tag: an event is told to all of them with interrupts off. */
#define KGNI_EEQS_PER_PTAG	1024

static_assert(sizeof(struct kgni_error_event) == sizeof(gni_error_event_t));
static_assert(offsetof(struct kgni_error_event, info) == offsetof(gni_error_event_t, info_mmrs));
static_assert(offsetof(struct kgni_error_event, time) == offsetof(gni_error_event_t, timestamp));

/**
 * struct kgni_eeq - an error queue
 * @ref: its owner, and calls inside it
 * @dev: device
 * @node: in dev->eeqs
 * @args: what it was asked to be; mask and ptag change
 * @dead: released
 * @calls: which functions are to be called, KGNI_EEQ_CALL_*
 * @waiters: threads that wait for events
 * @serial: events so far, those included that found no room
 * @head: place of the oldest event
 * @count: how many there are
 * @call: calls the functions of @args
 * @wq: woken by events
 * @taking: one thread of user space at a time takes events
 * @events: the ring
 */
struct kgni_eeq {
	struct kref ref;
	struct kgni_device *dev;
	struct list_head node;
	struct kgni_eeq_args args;
	bool dead;
	unsigned long calls;
	unsigned int waiters;
	u32 serial;
	u32 head;
	u32 count;
	struct irq_work call;
	wait_queue_head_t wq;
	struct mutex taking;	/* what is between a look at the oldest event and its end */
	gni_error_event_t events[];
};

enum {
	KGNI_EEQ_CALL_EVENT,
	KGNI_EEQ_CALL_CRITICAL,
};

/* Part of making a device. */
void kgni_device_errors_init(struct kgni_device *dev)
{
	unsigned int i;

	spin_lock_init(&dev->eeq_lock);
	for (i = 0; i < ARRAY_SIZE(dev->eeqs); i++)
		INIT_LIST_HEAD(&dev->eeqs[i]);
}

static void kgni_eeq_free(struct kref *ref)
{
	kvfree(container_of(ref, struct kgni_eeq, ref));
}

static void kgni_eeq_call(struct irq_work *work)
{
	struct kgni_eeq *eeq = container_of(work, struct kgni_eeq, call);
	const struct kgni_eeq_args *a = &eeq->args;

	if (test_and_clear_bit(KGNI_EEQ_CALL_EVENT, &eeq->calls) && a->new_event)
		a->new_event(a->context);
	if (test_and_clear_bit(KGNI_EEQ_CALL_CRITICAL, &eeq->calls) && a->critical)
		a->critical(a->context);
}

/**
 * kgni_eeq_create - make an error queue; events enter it from now on
 * @dev: whose errors
 * @args: what it is to be like
 *
 * Context: process, may sleep; dev->eeq_lock is not held.
 * Return: the queue, to be given to kgni_eeq_release(); NULL without memory.
 */
struct kgni_eeq *kgni_eeq_create(struct kgni_device *dev, const struct kgni_eeq_args *args)
{
	struct kgni_eeq *eeq = kvzalloc(struct_size(eeq, events, args->size), GFP_KERNEL_ACCOUNT);

	if (!eeq)
		return NULL;
	kref_init(&eeq->ref);
	eeq->dev = dev;
	eeq->args = *args;
	init_irq_work(&eeq->call, kgni_eeq_call);
	init_waitqueue_head(&eeq->wq);
	mutex_init(&eeq->taking);
	spin_lock_irq(&dev->eeq_lock);
	list_add_tail(&eeq->node, &dev->eeqs[args->ptag]);
	dev->eeq_count[args->ptag]++;
	spin_unlock_irq(&dev->eeq_lock);
	return eeq;
}

/**
 * kgni_eeq_release - end an error queue
 * @eeq: the queue
 * @anyway: even if a thread waits for events: its wait ends
 *
 * Context: process, may sleep; waits for its functions to return.
 * Return: GNI_RC_SUCCESS; GNI_RC_NOT_DONE if a thread waits, and all is as
 * before; GNI_RC_INVALID_PARAM if another thread has released it.
 */
long kgni_eeq_release(struct kgni_eeq *eeq, bool anyway)
{
	long rc = GNI_RC_SUCCESS;

	spin_lock_irq(&eeq->dev->eeq_lock);
	if (eeq->dead)
		rc = GNI_RC_INVALID_PARAM;
	else if (eeq->waiters && !anyway)
		rc = GNI_RC_NOT_DONE;
	if (!rc) {
		eeq->dead = true;
		list_del(&eeq->node);
		eeq->dev->eeq_count[eeq->args.ptag]--;
	}
	spin_unlock_irq(&eeq->dev->eeq_lock);
	if (rc)
		return rc;
	irq_work_sync(&eeq->call);
	wake_up_all(&eeq->wq);
	kref_put(&eeq->ref, kgni_eeq_free);
	return rc;
}

/**
 * kgni_eeq_get_mask - which categories an error queue takes
 * @eeq: the queue
 *
 * Context: any.
 * Return: GNI_ERRMASK_* bits.
 */
u8 kgni_eeq_get_mask(struct kgni_eeq *eeq)
{
	return READ_ONCE(eeq->args.mask);
}

/**
 * kgni_eeq_set_mask - choose the categories that an error queue takes
 * @eeq: the queue
 * @mask: GNI_ERRMASK_* bits; events that are in the queue stay
 *
 * Context: any.
 * Return: those before.
 */
u8 kgni_eeq_set_mask(struct kgni_eeq *eeq, u8 mask)
{
	return xchg(&eeq->args.mask, mask);
}

/**
 * kgni_eeq_set_ptag - choose whose errors a queue takes
 * @eeq: the queue
 * @ptag: protection tag, 0 for all; events that are in the queue stay
 *
 * Context: any.
 * Return: the one before.
 */
u8 kgni_eeq_set_ptag(struct kgni_eeq *eeq, u8 ptag)
{
	unsigned long flags;
	u8 old;

	spin_lock_irqsave(&eeq->dev->eeq_lock, flags);
	old = eeq->args.ptag;
	eeq->args.ptag = ptag;
	if (!eeq->dead) {
		list_move_tail(&eeq->node, &eeq->dev->eeqs[ptag]);
		eeq->dev->eeq_count[old]--;
		eeq->dev->eeq_count[ptag]++;
	}
	spin_unlock_irqrestore(&eeq->dev->eeq_lock, flags);
	return old;
}

/* dev->eeq_lock is held. */
static void kgni_eeq_add(struct kgni_eeq *eeq, const gni_error_event_t *event)
{
	const struct kgni_eeq_args *a = &eeq->args;
	u32 at = eeq->head + eeq->count;

	eeq->serial++;
	if (eeq->count < a->size) {
		at = at < a->size ? at : at - a->size;
		eeq->events[at] = *event;
		eeq->events[at].serial_number = eeq->serial;
		eeq->count++;
		wake_up_all(&eeq->wq);
	}
	if (!a->new_event && !a->critical)
		return;
	set_bit(KGNI_EEQ_CALL_EVENT, &eeq->calls);
	if (event->error_category & GNI_ERRMASK_CRITICAL)
		set_bit(KGNI_EEQ_CALL_CRITICAL, &eeq->calls);
	irq_work_queue(&eeq->call);
}

/* dev->eeq_lock is held. */
static void kgni_eeqs_add(struct list_head *eeqs, const gni_error_event_t *event)
{
	struct kgni_eeq *eeq;

	list_for_each_entry(eeq, eeqs, node)
		if (READ_ONCE(eeq->args.mask) & event->error_category)
			kgni_eeq_add(eeq, event);
}

/**
 * kgni_error_raise - tell of an error
 * @dev: where it was met
 * @code: which, KGNI_ST_* or KGNI_ERR_*
 * @category: the GNI_ERRMASK_* bit that it comes under
 * @ptag: protection tag that it concerns, or 0
 * @info: four words about it, or NULL
 *
 * Context: any.
 */
void kgni_error_raise(struct kgni_device *dev, u16 code, u8 category, u8 ptag, const u64 *info)
{
	gni_error_event_t event = {
		.error_code = code,
		.error_category = category,
		.ptag = ptag,
	};
	unsigned long flags;

	trace_kgni_error(dev, code, category, ptag);
	kgni_netlink_error(dev, code, category, ptag, info);
	if (list_empty_careful(&dev->eeqs[0]) && list_empty_careful(&dev->eeqs[ptag]))
		return;
	if (info)
		memcpy(event.info_mmrs, info, sizeof(event.info_mmrs));
	spin_lock_irqsave(&dev->eeq_lock, flags);
	event.timestamp = ktime_get_real_ns();
	kgni_eeqs_add(&dev->eeqs[0], &event);
	if (ptag)
		kgni_eeqs_add(&dev->eeqs[ptag], &event);
	spin_unlock_irqrestore(&dev->eeq_lock, flags);
}

/* --- taking events ---------------------------------------------------------- */

/* The oldest event, which stays. */
static bool kgni_eeq_peek(struct kgni_eeq *eeq, gni_error_event_t *event)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&eeq->dev->eeq_lock, flags);
	found = eeq->count;
	if (found)
		*event = eeq->events[eeq->head];
	spin_unlock_irqrestore(&eeq->dev->eeq_lock, flags);
	return found;
}

/**
 * kgni_eeq_take - take the oldest event of a queue
 * @eeq: the queue
 * @event: out: the event; NULL to drop it
 *
 * Context: any.
 * Return: GNI_RC_SUCCESS or GNI_RC_NOT_DONE.
 */
long kgni_eeq_take(struct kgni_eeq *eeq, gni_error_event_t *event)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&eeq->dev->eeq_lock, flags);
	found = eeq->count;
	if (found) {
		if (event)
			*event = eeq->events[eeq->head];
		eeq->head = eeq->head + 1 < eeq->args.size ? eeq->head + 1 : 0;
		eeq->count--;
	}
	spin_unlock_irqrestore(&eeq->dev->eeq_lock, flags);
	return found ? GNI_RC_SUCCESS : GNI_RC_NOT_DONE;
}

static void kgni_eeq_waiting(struct kgni_eeq *eeq, int change)
{
	spin_lock_irq(&eeq->dev->eeq_lock);
	eeq->waiters += change;
	spin_unlock_irq(&eeq->dev->eeq_lock);
}

/* Sleep until there is an event. Return: GNI_RC_SUCCESS or why not. */
static long kgni_eeq_sleep(struct kgni_eeq *eeq, ktime_t timeout)
{
	int error;

	kgni_eeq_waiting(eeq, 1);
	error = wait_event_interruptible_hrtimeout(eeq->wq, READ_ONCE(eeq->count) ||
						   READ_ONCE(eeq->dead), timeout);
	kgni_eeq_waiting(eeq, -1);
	if (READ_ONCE(eeq->dead))
		return GNI_RC_INVALID_PARAM;
	if (error == -ETIME)
		return GNI_RC_TIMEOUT;
	return error ? -EINTR : GNI_RC_SUCCESS;
}

/**
 * struct kgni_eeq_room - where a caller wants events
 * @max: how many it has room for
 * @more: how long it waits for more once there is one
 * @user: their place, in user space, and
 * @told: that of their count; or
 * @kernel: in the kernel
 */
struct kgni_eeq_room {
	u32 max;
	ktime_t more;
	struct kgni_error_event __user *user;
	u32 __user *told;
	gni_error_event_t *kernel;
};

static bool kgni_eeq_tell(const struct kgni_eeq_room *room, u32 at, const gni_error_event_t *event)
{
	return !copy_to_user(&room->user[at], event, sizeof(*event)) &&
	       !put_user(at + 1, room->told);
}

/* Take an event to where it is wanted; one that cannot be told stays. */
static long kgni_eeq_move(struct kgni_eeq *eeq, const struct kgni_eeq_room *room, u32 at)
{
	gni_error_event_t event;
	long rc = GNI_RC_NOT_DONE;

	if (room->kernel)
		return kgni_eeq_take(eeq, &room->kernel[at]);
	if (mutex_lock_interruptible(&eeq->taking))
		return -EINTR;
	if (kgni_eeq_peek(eeq, &event)) {
		rc = GNI_RC_PERMISSION_ERROR;
		if (kgni_eeq_tell(room, at, &event))
			rc = kgni_eeq_take(eeq, NULL);
	}
	mutex_unlock(&eeq->taking);
	return rc;
}

/*
 * Take events until there is no room, or none comes in time: at first @first,
 * then until @room->more after the first one came.
 */
static long kgni_eeq_collect(struct kgni_eeq *eeq, const struct kgni_eeq_room *room,
			     ktime_t first, u32 *count)
{
	ktime_t end = KTIME_MAX, left = first;
	long rc;

	for (*count = 0; *count < room->max; ) {
		rc = kgni_eeq_move(eeq, room, *count);
		if (rc == GNI_RC_NOT_DONE) {
			if (!left)
				return *count && !room->more ? GNI_RC_SUCCESS : rc;
			rc = kgni_eeq_sleep(eeq, left);
			if (rc)
				return rc;
		} else if (rc) {
			return rc;
		} else if (!(*count)++) {
			end = ktime_add_safe(ktime_get(), room->more);
		}
		if (*count)
			left = max_t(ktime_t, 0, ktime_sub(end, ktime_get()));
	}
	return GNI_RC_SUCCESS;
}

/* What came counts for more than why no more did. */
static long kgni_eeq_verdict(long rc, u32 count)
{
	if (count && (rc == -EINTR || rc == GNI_RC_NOT_DONE || rc == GNI_RC_INVALID_PARAM))
		return GNI_RC_TIMEOUT;
	return rc;
}

/**
 * kgni_eeq_wait - wait for events of a queue and take them
 * @eeq: the queue
 * @events: out: the events
 * @max: room there, 1 or more
 * @more_ms: how long to wait for more once the first has come, milliseconds
 * @count: out: how many came
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS if there is no more room, or @more_ms is 0;
 * GNI_RC_TIMEOUT if the time is over; GNI_RC_INVALID_PARAM if the queue was
 * released meanwhile; -EINTR if a signal came first.
 */
long kgni_eeq_wait(struct kgni_eeq *eeq, gni_error_event_t *events, u32 max, u32 more_ms,
		   u32 *count)
{
	struct kgni_eeq_room room = {
		.max = max,
		.more = kgni_timeout(more_ms),
		.kernel = events,
	};
	long rc;

	kref_get(&eeq->ref);
	rc = kgni_eeq_collect(eeq, &room, KTIME_MAX, count);
	rc = kgni_eeq_verdict(rc, *count);
	kref_put(&eeq->ref, kgni_eeq_free);
	return rc;
}

/* --- the calls of a file ---------------------------------------------------- */

static struct kgni_eeq *kgni_err_find(struct kgni_file *f, u32 id)
{
	struct kgni_eeq *eeq;

	xa_lock(&f->eeqs);
	eeq = xa_load(&f->eeqs, id);
	if (eeq)
		kref_get(&eeq->ref);
	xa_unlock(&f->eeqs);
	return eeq;
}

/* Whose errors may the file have without asking for privileges? 0: nobody's. */
static u8 kgni_err_ptag(struct kgni_file *f)
{
	struct kgni_nic *nic = smp_load_acquire(&f->nic);	/* kgni_nic_attach_end() */

	return nic ? nic->job->ptag : 0;
}

/* Who has no tag is privileged. */
static bool kgni_err_full(struct kgni_file *f, u8 ptag)
{
	unsigned long id, n = 0;
	struct kgni_eeq *eeq;

	if (ptag && READ_ONCE(f->dev->eeq_count[ptag]) >= KGNI_EEQS_PER_PTAG)
		return true;
	xa_for_each(&f->eeqs, id, eeq)
		n++;
	return n >= KGNI_EEQS_PER_FILE;
}

/* KGNI_IOC_ERR_SUBSCRIBE. */
long kgni_err_subscribe(struct kgni_file *f, struct kgni_ioc_err_subscribe *arg)
{
	struct kgni_eeq_args args = {
		.size = arg->events ?: KGNI_EEQ_DEFAULT,
		.mask = arg->mask,
		.ptag = kgni_err_ptag(f),
	};
	struct kgni_eeq *eeq;
	int rc;

	if (arg->reserved)
		return -EINVAL;
	if (arg->mask > U8_MAX || (!args.ptag && !capable(CAP_SYS_ADMIN)))
		return GNI_RC_INVALID_PARAM;
	if (args.size > KGNI_EEQ_MAX || kgni_err_full(f, args.ptag))
		return GNI_RC_ERROR_RESOURCE;
	eeq = kgni_eeq_create(f->dev, &args);
	if (!eeq)
		return -ENOMEM;
	rc = xa_alloc_cyclic(&f->eeqs, &arg->id, eeq, xa_limit_31b, &f->next_eeq,
			     GFP_KERNEL_ACCOUNT);
	if (rc >= 0)
		return GNI_RC_SUCCESS;
	kgni_eeq_release(eeq, true);
	return rc;
}

/* KGNI_IOC_ERR_RELEASE. */
long kgni_err_release(struct kgni_file *f, const struct kgni_ioc_err_release *arg)
{
	struct kgni_eeq *eeq;
	long rc;

	if (arg->flags & ~KGNI_ERR_ANYWAY)
		return -EINVAL;
	eeq = kgni_err_find(f, arg->id);
	if (!eeq)
		return GNI_RC_INVALID_PARAM;
	rc = kgni_eeq_release(eeq, arg->flags & KGNI_ERR_ANYWAY);
	if (!rc)
		xa_erase(&f->eeqs, arg->id);
	kref_put(&eeq->ref, kgni_eeq_free);
	return rc;
}

/* KGNI_IOC_ERR_WAIT. */
long kgni_err_wait(struct kgni_file *f, const struct kgni_ioc_err_wait *arg)
{
	struct kgni_eeq_room room = {
		.max = arg->max,
		.more = kgni_timeout(arg->more_ms),
		.user = u64_to_user_ptr(arg->events),
		.told = u64_to_user_ptr(arg->count),
	};
	struct kgni_eeq *eeq;
	u32 count;
	long rc;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->max)
		return GNI_RC_INVALID_PARAM;
	eeq = kgni_err_find(f, arg->id);
	if (!eeq)
		return GNI_RC_INVALID_PARAM;
	rc = kgni_eeq_collect(eeq, &room, kgni_timeout(arg->timeout_ms), &count);
	kref_put(&eeq->ref, kgni_eeq_free);
	return kgni_eeq_verdict(rc, count);
}

/* May the file's queues take the errors of this tag? */
static bool kgni_err_may(struct kgni_file *f, u32 ptag)
{
	return (ptag && ptag == kgni_err_ptag(f)) || capable(CAP_SYS_ADMIN);
}

static long kgni_err_set_what(struct kgni_file *f, struct kgni_eeq *eeq,
			      struct kgni_ioc_err_set *arg)
{
	switch (arg->what) {
	case KGNI_ERR_GET_MASK:
		arg->old = kgni_eeq_get_mask(eeq);
		break;
	case KGNI_ERR_SET_MASK:
		arg->old = kgni_eeq_set_mask(eeq, arg->value);
		break;
	case KGNI_ERR_SET_PTAG:
		if (!kgni_err_may(f, arg->value))
			return GNI_RC_PERMISSION_ERROR;
		arg->old = kgni_eeq_set_ptag(eeq, arg->value);
	}
	return GNI_RC_SUCCESS;
}

/* KGNI_IOC_ERR_SET. */
long kgni_err_set(struct kgni_file *f, struct kgni_ioc_err_set *arg)
{
	struct kgni_eeq *eeq;
	long rc;

	if (arg->what > KGNI_ERR_SET_PTAG)
		return -EINVAL;
	eeq = kgni_err_find(f, arg->id);
	if (!eeq)
		return GNI_RC_INVALID_PARAM;
	rc = arg->value > U8_MAX && arg->what != KGNI_ERR_GET_MASK ? GNI_RC_INVALID_PARAM :
								     kgni_err_set_what(f, eeq, arg);
	kref_put(&eeq->ref, kgni_eeq_free);
	return rc;
}

/* Part of closing a file: no call is inside it. */
void kgni_err_release_all(struct kgni_file *f)
{
	struct kgni_eeq *eeq;
	unsigned long id;

	xa_for_each(&f->eeqs, id, eeq)
		kgni_eeq_release(eeq, true);
	xa_destroy(&f->eeqs);
}

/* --- causes ----------------------------------------------------------------- */

/* The categories of what may become of a post. */
static const u8 kgni_post_category[KGNI_ST_COUNT] = {
	[KGNI_ST_MDD_INVALID] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_BOUNDS] = GNI_ERRMASK_ADDRESS_TRANSLATION,
	[KGNI_ST_PROTECTION] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_ADDRESS] = GNI_ERRMASK_ADDRESS_TRANSLATION,
	[KGNI_ST_UNREACHABLE] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_ABORTED] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_PRODUCER_DIED] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_NO_CQ] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_REM_OVERRUN] = GNI_ERRMASK_TRANSIENT,
	[KGNI_ST_LINK] = GNI_ERRMASK_TRANSIENT,
	[KGNI_ST_NO_CE] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_CE_MEMBER] = GNI_ERRMASK_TRANSACTION,
	[KGNI_ST_CE_DIFFER] = GNI_ERRMASK_TRANSACTION,
};

/*
 * The job that a post from another device was for. Return: its ptag, 0 if it is
 * not here; @from: the poster's address as that job knows it, 0 if it does not.
 */
static u8 kgni_error_peer(struct kgni_device *dev, const struct kgni_xfer *x, u32 *from)
{
	u8 ptag = 0;
	struct kgni_job *job;

	*from = x->nic->dev->pe;
	rcu_read_lock();
	job = kgni_job_peer(dev, x->nic->job);
	if (job) {
		ptag = job->ptag;
		if (!kgni_ntt_from_pe(job, x->nic->dev->pe, from))
			*from = 0;
	}
	rcu_read_unlock();
	return ptag;
}

/* What the device of the target saw of it: nothing of what was lost on the way. */
static void kgni_error_target(const struct kgni_xfer *x, u64 *info)
{
	struct kgni_device *dev;
	u32 from;
	u8 ptag;

	rcu_read_lock();
	dev = kgni_device_of(x->nic->job, x->arg.remote_pe);
	if (!dev || dev == x->nic->dev || x->status == KGNI_ST_LINK)
		goto unlock;
	ptag = kgni_error_peer(dev, x, &from);
	info[3] = (u64)from << 32 | x->arg.type;
	if (ptag)
		kgni_error_raise(dev, x->status, kgni_post_category[x->status], ptag, info);
	else
		kgni_error_raise(dev, KGNI_ERR_NO_JOB, GNI_ERRMASK_UNKNOWN_TRANSACTION, 0, info);
unlock:
	rcu_read_unlock();
}

/**
 * kgni_error_post - tell of a post that failed
 * @x: the post
 *
 * Context: process.
 */
void kgni_error_post(const struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	const u32 kill = GNI_CDM_MODE_ERR_ALL_KILL | GNI_CDM_MODE_ERR_NO_KILL;
	u64 info[4] = {
		a->remote_addr, a->remote.qword1, a->length, (u64)a->remote_pe << 32 | a->type,
	};

	kgni_error_raise(x->nic->dev, x->status, kgni_post_category[x->status],
			 x->nic->job->ptag, info);
	kgni_error_target(x, info);
	if ((x->nic->modes & kill) == GNI_CDM_MODE_ERR_ALL_KILL)
		kgni_nic_kill(x->nic, x->status);
}

/* End those of a job that did not choose otherwise. Under rcu_read_lock(). */
static void kgni_error_kill(struct kgni_job *job, u16 code)
{
	struct kgni_domain *domain = job->domain;
	struct kgni_nic *nic;

	spin_lock_bh(&domain->lock);
	list_for_each_entry(nic, &domain->nics, node)
		if (nic->job == job && !(nic->modes & GNI_CDM_MODE_ERR_NO_KILL))
			kgni_nic_kill(nic, code);
	spin_unlock_bh(&domain->lock);
}

/**
 * kgni_error_critical - tell of an error that no program recovers from
 * @dev: where it was met
 * @code: which
 * @ptag: protection tag that it concerns; 0 for all
 * @info: four words about it, or NULL
 *
 * Programs that it concerns are ended, unless they chose GNI_CDM_MODE_ERR_NO_KILL.
 *
 * Context: process.
 */
void kgni_error_critical(struct kgni_device *dev, u16 code, u8 ptag, const u64 *info)
{
	struct kgni_job *job;
	unsigned long index;

	kgni_error_raise(dev, code, GNI_ERRMASK_CRITICAL, ptag, info);
	mutex_lock(&dev->lock);
	xa_for_each(&dev->jobs, index, job)
		if (!ptag || job->ptag == ptag)
			kgni_error_kill(job, code);
	mutex_unlock(&dev->lock);
}

/**
 * kgni_error_inject - have an error happen that tests ask for
 * @dev: where
 * @code: KGNI_ERR_MEMORY_CORRECTED, KGNI_ERR_MEMORY or KGNI_ERR_DIAG
 * @ptag: protection tag that it concerns, 0 for none in particular
 *
 * Context: process; for the privileged.
 * Return: 0; -EINVAL for other codes.
 */
long kgni_error_inject(struct kgni_device *dev, u16 code, u8 ptag)
{
	switch (code) {
	case KGNI_ERR_MEMORY_CORRECTED:
		kgni_error_raise(dev, code, GNI_ERRMASK_CORRECTABLE_MEMORY, ptag, NULL);
		return 0;
	case KGNI_ERR_MEMORY:
		kgni_error_critical(dev, code, ptag, NULL);
		return 0;
	case KGNI_ERR_DIAG:
		kgni_error_raise(dev, code, GNI_ERRMASK_DIAG_ONLY, ptag, NULL);
		return 0;
	}
	return -EINVAL;
}
