// SPDX-License-Identifier: GPL-2.0-only
/*
 * Datagrams: how processes meet. Two posted datagrams match when each is
 * willing to talk to the other's (PE address, instance id) in one protection
 * domain: bound to it, or a wildcard. A match completes both and gives each the
 * other's data.
 *
 * A datagram is in these places, all under the lock of its domain:
 *	nic->dgram_eps		from its post until it is consumed, or its
 *				endpoint is destroyed
 *	domain->inbound		bound and pending
 *	nic->dgram_wild		wildcard and pending
 *	nic->dgram_peers	its peer is known: bound, or completed
 *	nic->dgram_done		its state is final
 *
 * One whose end is being told stays in its places, so that it is still there if the
 * telling fails, but only who tells it ends it: kgni_dgram_told().
 */
#include <linux/hash.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kgni.h"
#include "trace.h"

/* No device has it: main.c. */
#define KGNI_PE_NONE		U32_MAX
#define KGNI_DGRAM_PER_NIC	16384
/* Of those whose endpoint is gone only so many are kept for a probe to find. */
#define KGNI_DGRAM_ORPHANS	1024

static_assert(KGNI_DGRAM_MAX == GNI_DATAGRAM_MAXSIZE);

struct kgni_dgram {
	struct kgni_nic *nic;
	struct hlist_node ep_node;
	struct hlist_node peer_node;
	struct list_head pending_node;
	struct list_head done_node;
	u64 id;
	u32 ep;
	bool with_id;
	bool bound;
	bool orphan;
	bool telling;		/* whoever is told of its end has not been yet */
	u32 state;
	u32 remote_pe;		/* of the device */
	u32 remote_addr;	/* the same as its poster's job says it */
	u32 remote_id;
	u16 length;
	u16 buf_size;
	u16 got;
	void *buf;		/* a kernel client's, for what the peer sent */
	u8 data[KGNI_DGRAM_MAX];
	u8 got_data[KGNI_DGRAM_MAX];
};

static void kgni_dgram_lock(struct kgni_nic *nic)
	__acquires(&nic->job->domain->lock)
{
	spin_lock_bh(&nic->job->domain->lock);
}

static void kgni_dgram_unlock(struct kgni_nic *nic)
	__releases(&nic->job->domain->lock)
{
	spin_unlock_bh(&nic->job->domain->lock);
}

static u64 kgni_peer_key(u32 pe, u32 id)
{
	return (u64)pe << 32 | id;
}

static struct list_head *kgni_inbound(struct kgni_domain *domain, u32 pe, u32 id)
{
	return &domain->inbound[hash_64(kgni_peer_key(pe, id), KGNI_DGRAM_HASH_BITS)];
}

/* Part of making a domain. */
void kgni_domain_dgrams_init(struct kgni_domain *domain)
{
	unsigned int i;

	INIT_LIST_HEAD(&domain->nics);
	for (i = 0; i < ARRAY_SIZE(domain->inbound); i++)
		INIT_LIST_HEAD(&domain->inbound[i]);
}

/* Part of attaching: from here on peers find the attachment. */
void kgni_dgram_attach(struct kgni_nic *nic)
{
	hash_init(nic->dgram_eps);
	hash_init(nic->dgram_peers);
	INIT_LIST_HEAD(&nic->dgram_wild);
	INIT_LIST_HEAD(&nic->dgram_done);
	init_waitqueue_head(&nic->dgram_wq);
	kgni_dgram_lock(nic);
	list_add_tail(&nic->node, &nic->job->domain->nics);
	kgni_dgram_unlock(nic);
}

static void kgni_dgram_know_peer(struct kgni_dgram *d)
{
	hash_add(d->nic->dgram_peers, &d->peer_node, kgni_peer_key(d->remote_addr, d->remote_id));
}

/* Take a datagram out of all places and free it. */
static void kgni_dgram_drop(struct kgni_dgram *d)
{
	hash_del(&d->ep_node);
	hash_del(&d->peer_node);
	list_del(&d->pending_node);
	list_del(&d->done_node);
	kgni_netlink_changed();
	if (d->orphan)
		d->nic->dgram_orphans--;
	else
		d->nic->dgram_count--;
	kfree(d);
}

static void kgni_dgram_describe(const struct kgni_dgram *d, struct kgni_dgram_info *info)
{
	info->id = d->id;
	info->ep = d->ep;
	info->state = d->state;
	info->remote_pe = d->remote_addr;
	info->remote_id = d->remote_id;
	info->length = d->length;
	info->with_id = d->with_id;
	info->has_peer = d->bound || d->state == GNI_POST_COMPLETED;
}

static void kgni_dgram_trace(const struct kgni_dgram *d)
{
	struct kgni_dgram_info info;

	if (!trace_kgni_dgram_enabled())
		return;
	kgni_dgram_describe(d, &info);
	trace_kgni_dgram(d->nic, &info);
}

static void kgni_dgram_finish(struct kgni_dgram *d, u32 state)
{
	d->state = state;
	kgni_netlink_changed();
	kgni_dgram_trace(d);
	list_del_init(&d->pending_node);
	list_add_tail(&d->done_node, &d->nic->dgram_done);
	wake_up_all(&d->nic->dgram_wq);
}

static void kgni_dgram_deliver(struct kgni_dgram *d, const struct kgni_dgram *from)
{
	d->got = from->length;
	memcpy(d->got_data, from->data, from->length);
	if (!d->bound) {
		d->remote_pe = from->nic->dev->pe;
		kgni_ntt_from_pe(d->nic->job, d->remote_pe, &d->remote_addr);
		d->remote_id = from->nic->inst_id;
		kgni_dgram_know_peer(d);
	}
	kgni_count(d->nic, KGNI_STAT_DGRAM_MATCHED, 1);
	kgni_dgram_finish(d, GNI_POST_COMPLETED);
}

static void kgni_dgram_match(struct kgni_dgram *a, struct kgni_dgram *b)
{
	kgni_dgram_deliver(a, b);
	kgni_dgram_deliver(b, a);
}

/* Would a pending bound datagram talk to this attachment? */
static bool kgni_dgram_wants(const struct kgni_dgram *d, const struct kgni_nic *nic)
{
	return d->remote_pe == nic->dev->pe && d->remote_id == nic->inst_id &&
	       kgni_job_same(d->nic->job, nic->job);
}

static struct kgni_dgram *kgni_dgram_find(struct kgni_nic *nic, u32 ep)
{
	struct kgni_dgram *d;

	hash_for_each_possible(nic->dgram_eps, d, ep_node, ep)
		if (d->ep == ep)
			return d;
	return NULL;
}

static struct kgni_dgram *kgni_dgram_find_named(struct kgni_nic *nic, u32 ep, u64 id, u32 flags)
{
	struct kgni_dgram *d = kgni_dgram_find(nic, ep);
	bool with_id = flags & KGNI_DGRAM_WITH_ID;

	if (!d || d->telling || d->with_id != with_id || (with_id && d->id != id))
		return NULL;
	return d;
}

static bool kgni_dgram_peer_busy(struct kgni_nic *nic, u32 addr, u32 id)
{
	struct kgni_dgram *d;

	hash_for_each_possible(nic->dgram_peers, d, peer_node, kgni_peer_key(addr, id))
		if (d->remote_addr == addr && d->remote_id == id)
			return true;
	return false;
}

/* A peer that a job has no address for cannot be told to it. */
static bool kgni_dgram_knows(const struct kgni_nic *nic, const struct kgni_nic *peer)
{
	u32 addr;

	return kgni_ntt_from_pe(nic->job, peer->dev->pe, &addr);
}

/* The oldest datagram that is aimed at us and would do for @d. */
static struct kgni_dgram *kgni_dgram_inbound_for(const struct kgni_dgram *d)
{
	struct kgni_nic *nic = d->nic;
	struct list_head *inbound = kgni_inbound(nic->job->domain, nic->dev->pe, nic->inst_id);
	struct kgni_dgram *other;

	list_for_each_entry(other, inbound, pending_node) {
		if (!kgni_dgram_wants(other, nic))
			continue;
		if (d->bound ? kgni_dgram_wants(d, other->nic) :
			       kgni_dgram_knows(nic, other->nic))
			return other;
	}
	return NULL;
}

/* The oldest wildcard of an attachment that @d is bound to. */
static struct kgni_dgram *kgni_dgram_wild_for(const struct kgni_dgram *d)
{
	struct kgni_nic *nic;

	list_for_each_entry(nic, &d->nic->job->domain->nics, node)
		if (kgni_dgram_wants(d, nic) && !list_empty(&nic->dgram_wild) &&
		    kgni_dgram_knows(nic, d->nic))
			return list_first_entry(&nic->dgram_wild, struct kgni_dgram, pending_node);
	return NULL;
}

static void kgni_dgram_pend(struct kgni_dgram *d)
{
	struct kgni_nic *nic = d->nic;

	if (d->bound)
		list_add_tail(&d->pending_node,
			      kgni_inbound(nic->job->domain, d->remote_pe, d->remote_id));
	else
		list_add_tail(&d->pending_node, &nic->dgram_wild);
}

static long kgni_dgram_post_locked(struct kgni_dgram *d)
{
	struct kgni_nic *nic = d->nic;
	struct kgni_dgram *other;

	if (READ_ONCE(nic->dev->gone))
		return GNI_RC_INVALID_STATE;
	if (nic->dgram_count >= KGNI_DGRAM_PER_NIC || kgni_dgram_find(nic, d->ep))
		return GNI_RC_ERROR_RESOURCE;
	if (d->bound && kgni_dgram_peer_busy(nic, d->remote_addr, d->remote_id))
		return GNI_RC_ERROR_RESOURCE;
	other = kgni_dgram_inbound_for(d);
	if (!other && d->bound)
		other = kgni_dgram_wild_for(d);
	nic->dgram_count++;
	hash_add(nic->dgram_eps, &d->ep_node, d->ep);
	kgni_netlink_changed();
	kgni_dgram_trace(d);
	if (d->bound)
		kgni_dgram_know_peer(d);
	kgni_count(nic, KGNI_STAT_DGRAM, 1);
	if (other)
		kgni_dgram_match(other, d);
	else
		kgni_dgram_pend(d);
	return GNI_RC_SUCCESS;
}

static struct kgni_dgram *kgni_dgram_new(struct kgni_nic *nic,
					 const struct kgni_ioc_dgram_post *arg)
{
	struct kgni_dgram *d = kzalloc(sizeof(*d), nic->gfp);

	if (!d)
		return NULL;
	d->nic = nic;
	INIT_LIST_HEAD(&d->pending_node);
	INIT_LIST_HEAD(&d->done_node);
	d->id = arg->id;
	d->ep = arg->ep;
	d->with_id = arg->flags & KGNI_DGRAM_WITH_ID;
	d->bound = arg->flags & KGNI_DGRAM_BOUND;
	d->state = GNI_POST_PENDING;
	if (d->bound) {
		d->remote_addr = arg->remote_pe;
		if (!kgni_ntt_to_pe(nic->job, arg->remote_pe, &d->remote_pe))
			d->remote_pe = KGNI_PE_NONE;
		d->remote_id = arg->remote_id;
	}
	d->length = arg->length;
	d->buf_size = arg->buf_size;
	memcpy(d->data, arg->data, arg->length);
	return d;
}

/**
 * kgni_dgram_post_kernel - post a datagram for a kernel client
 * @nic: who posts
 * @arg: as for KGNI_IOC_DGRAM_POST
 * @buf: where its client wants what the peer sent, see kgni_dgram_buf()
 *
 * Context: process, may sleep.
 * Return: as KGNI_IOC_DGRAM_POST.
 */
long kgni_dgram_post_kernel(struct kgni_nic *nic, struct kgni_ioc_dgram_post *arg, void *buf)
{
	struct kgni_dgram *d;
	long rc;

	if (arg->reserved || arg->flags & ~(KGNI_DGRAM_BOUND | KGNI_DGRAM_WITH_ID))
		return -EINVAL;
	if (arg->flags & KGNI_DGRAM_WITH_ID && arg->id == U64_MAX)
		return GNI_RC_INVALID_PARAM;
	if (arg->length > KGNI_DGRAM_MAX || arg->buf_size > KGNI_DGRAM_MAX)
		return GNI_RC_SIZE_ERROR;
	d = kgni_dgram_new(nic, arg);
	if (!d)
		return -ENOMEM;
	d->buf = buf;
	kgni_dgram_lock(nic);
	rc = kgni_dgram_post_locked(d);
	kgni_dgram_unlock(nic);
	if (rc)
		kfree(d);
	return rc;
}

/* KGNI_IOC_DGRAM_POST. */
long kgni_dgram_post(struct kgni_nic *nic, struct kgni_ioc_dgram_post *arg)
{
	long rc;

	if (!kgni_begin(nic, arg->flags & KGNI_DGRAM_BOUND ? &arg->remote_pe : NULL))
		return -EINTR;
	rc = kgni_dgram_post_kernel(nic, arg, NULL);
	kgni_end(nic);
	return rc;
}

/* What kgni_dgram_post_kernel() was given; of a datagram whose end is being told. */
void *kgni_dgram_buf(const struct kgni_dgram *d)
{
	return d->buf;
}

/**
 * kgni_dgram_told - the end of a datagram was told
 * @nic: its attachment
 * @d: as kgni_dgram_test() or kgni_dgram_probe() gave it
 * @told: or it could not be: it is there again, as if nobody had asked
 *
 * Context: process.
 */
void kgni_dgram_told(struct kgni_nic *nic, struct kgni_dgram *d, bool told)
{
	kgni_dgram_lock(nic);
	d->telling = false;
	if (told)
		kgni_dgram_drop(d);
	else
		wake_up_all(&nic->dgram_wq);
	kgni_dgram_unlock(nic);
}

static long kgni_dgram_test_locked(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg,
				   struct kgni_dgram **taken)
{
	struct kgni_dgram *d = kgni_dgram_find_named(nic, arg->ep, arg->id, arg->flags);

	if (!d)
		return GNI_RC_NO_MATCH;
	arg->state = d->state;
	if (d->state == GNI_POST_PENDING)
		return GNI_RC_SUCCESS;
	arg->remote_pe = d->remote_addr;
	arg->remote_id = d->remote_id;
	if (d->got > d->buf_size) {
		kgni_dgram_drop(d);
		return GNI_RC_SIZE_ERROR;
	}
	arg->length = d->got;
	memcpy(arg->data, d->got_data, d->got);
	d->telling = true;
	*taken = d;
	return GNI_RC_SUCCESS;
}

static bool kgni_dgram_try_test(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg,
				struct kgni_dgram **taken, long *rc)
{
	kgni_dgram_lock(nic);
	*rc = kgni_dgram_test_locked(nic, arg, taken);
	kgni_dgram_unlock(nic);
	return *rc || arg->state != GNI_POST_PENDING;
}

static long kgni_dgram_wait_test(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg,
				 struct kgni_dgram **taken)
{
	long rc;
	int error;

	*taken = NULL;
	if (arg->reserved || arg->flags & ~KGNI_DGRAM_WITH_ID)
		return -EINVAL;
	if (arg->flags & KGNI_DGRAM_WITH_ID && arg->id == U64_MAX)
		return GNI_RC_INVALID_PARAM;
	arg->length = 0;
	arg->remote_pe = 0;
	arg->remote_id = 0;
	memset(arg->data, 0, sizeof(arg->data));
	if (kgni_dgram_try_test(nic, arg, taken, &rc) || !arg->timeout_ms)
		return rc;
	error = wait_event_interruptible_hrtimeout(nic->dgram_wq,
						   kgni_dgram_try_test(nic, arg, taken, &rc),
						   kgni_timeout(arg->timeout_ms));
	if (error == -ETIME)
		return GNI_RC_TIMEOUT;
	return error ? -EINTR : rc;
}

/* KGNI_IOC_DGRAM_TEST. What it puts into @taken is for kgni_dgram_told(). */
long kgni_dgram_test(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg,
		     struct kgni_dgram **taken)
{
	long rc = kgni_dgram_wait_test(nic, arg, taken);

	if (rc == GNI_RC_NO_MATCH)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_DATAGRAM);
	return rc;
}

static long kgni_dgram_probe_locked(struct kgni_nic *nic, struct kgni_ioc_dgram_probe *arg,
				    struct kgni_dgram **taken)
{
	bool with_id = arg->flags & KGNI_DGRAM_WITH_ID;
	struct kgni_dgram *d;

	list_for_each_entry(d, &nic->dgram_done, done_node) {
		if (d->telling || d->with_id != with_id)
			continue;
		arg->id = d->id;
		arg->remote_pe = d->remote_addr;
		arg->remote_id = d->remote_id;
		/* Nobody can ask for its state: this report is its end. */
		if (d->orphan) {
			d->telling = true;
			*taken = d;
		}
		return GNI_RC_SUCCESS;
	}
	return GNI_RC_NO_MATCH;
}

static bool kgni_dgram_try_probe(struct kgni_nic *nic, struct kgni_ioc_dgram_probe *arg,
				 struct kgni_dgram **taken)
{
	long rc;

	kgni_dgram_lock(nic);
	rc = kgni_dgram_probe_locked(nic, arg, taken);
	kgni_dgram_unlock(nic);
	return rc == GNI_RC_SUCCESS;
}

/* KGNI_IOC_DGRAM_PROBE. What it puts into @taken is for kgni_dgram_told(). */
long kgni_dgram_probe(struct kgni_nic *nic, struct kgni_ioc_dgram_probe *arg,
		      struct kgni_dgram **taken)
{
	int error;

	*taken = NULL;
	if (arg->reserved || arg->flags & ~KGNI_DGRAM_WITH_ID)
		return -EINVAL;
	if (kgni_dgram_try_probe(nic, arg, taken))
		return GNI_RC_SUCCESS;
	if (!arg->timeout_ms)
		return GNI_RC_NO_MATCH;
	error = wait_event_interruptible_hrtimeout(nic->dgram_wq,
						   kgni_dgram_try_probe(nic, arg, taken),
						   kgni_timeout(arg->timeout_ms));
	if (error == -ETIME)
		return GNI_RC_TIMEOUT;
	return error ? -EINTR : GNI_RC_SUCCESS;
}

static void kgni_dgram_drop_orphan(struct kgni_nic *nic)
{
	struct kgni_dgram *d;

	list_for_each_entry(d, &nic->dgram_done, done_node) {
		if (d->orphan && !d->telling) {
			kgni_dgram_drop(d);
			return;
		}
	}
}

static void kgni_dgram_orphan(struct kgni_dgram *d)
{
	struct kgni_nic *nic = d->nic;

	d->orphan = true;
	hash_del(&d->ep_node);
	hash_del(&d->peer_node);
	nic->dgram_count--;
	if (++nic->dgram_orphans > KGNI_DGRAM_ORPHANS)
		kgni_dgram_drop_orphan(nic);
}

static long kgni_dgram_cancel_locked(struct kgni_nic *nic, struct kgni_ioc_dgram_cancel *arg)
{
	bool ep_gone = arg->flags & KGNI_DGRAM_EP_GONE;
	struct kgni_dgram *d;

	if (ep_gone)
		d = kgni_dgram_find(nic, arg->ep);
	else
		d = kgni_dgram_find_named(nic, arg->ep, arg->id, arg->flags);
	if (!d)
		return GNI_RC_NO_MATCH;
	if (d->state == GNI_POST_PENDING) {
		if (!d->bound && !ep_gone) {
			kgni_dgram_drop(d);
			wake_up_all(&nic->dgram_wq);
			return GNI_RC_SUCCESS;
		}
		kgni_dgram_finish(d, GNI_POST_TERMINATED);
	}
	if (ep_gone)
		kgni_dgram_orphan(d);
	return GNI_RC_SUCCESS;
}

/*
 * KGNI_IOC_DGRAM_CANCEL. A wildcard is gone at once; a bound datagram is
 * terminated and waits to be consumed; one that is finished stays as it is.
 */
long kgni_dgram_cancel(struct kgni_nic *nic, struct kgni_ioc_dgram_cancel *arg)
{
	long rc;

	if (arg->flags & ~(KGNI_DGRAM_WITH_ID | KGNI_DGRAM_EP_GONE))
		return -EINVAL;
	if (arg->flags & KGNI_DGRAM_WITH_ID && arg->id == U64_MAX)
		return GNI_RC_INVALID_PARAM;
	kgni_dgram_lock(nic);
	rc = kgni_dgram_cancel_locked(nic, arg);
	kgni_dgram_unlock(nic);
	/* An endpoint may well end without one. */
	if (rc == GNI_RC_NO_MATCH && !(arg->flags & KGNI_DGRAM_EP_GONE))
		kgni_count_refusal(nic->dev, KGNI_REFUSED_DATAGRAM);
	return rc;
}

/* How many datagrams of an attachment have an endpoint. */
unsigned int kgni_dgram_count(struct kgni_nic *nic)
{
	unsigned int n;

	kgni_dgram_lock(nic);
	n = nic->dgram_count;
	kgni_dgram_unlock(nic);
	return n;
}

/**
 * kgni_dgram_walk - look at all datagrams of an attachment that have an endpoint
 * @nic: the attachment
 * @at: where to begin, 0 at first; out: the one that @fn refused
 * @fn: what looks, under the domain's spinlock; ends the walk unless it returns 0
 * @arg: for @fn
 *
 * A walk that goes on later may miss some, or see some twice, if any came or
 * went meanwhile: only their place in a bucket tells where it was.
 *
 * Context: process.
 * Return: what @fn returned last, or 0.
 */
int kgni_dgram_walk(struct kgni_nic *nic, u64 *at, kgni_dgram_fn fn, void *arg)
{
	u32 bucket = *at >> 32, first = *at, n;
	struct kgni_dgram_info info;
	struct kgni_dgram *d;
	int rc = 0;

	kgni_dgram_lock(nic);
	for (; bucket < HASH_SIZE(nic->dgram_eps) && !rc; bucket++, first = 0) {
		n = 0;
		hlist_for_each_entry(d, &nic->dgram_eps[bucket], ep_node) {
			if (n++ < first)
				continue;
			kgni_dgram_describe(d, &info);
			*at = (u64)bucket << 32 | (n - 1);
			rc = fn(arg, &info);
			if (rc)
				break;
		}
	}
	kgni_dgram_unlock(nic);
	return rc;
}

static void kgni_dgram_fail_all(struct list_head *pending, const struct kgni_device *dev)
{
	struct kgni_dgram *d, *next;

	list_for_each_entry_safe(d, next, pending, pending_node)
		if (d->nic->dev == dev)
			kgni_dgram_finish(d, GNI_POST_ERROR);
}

/**
 * kgni_dgram_gone - end the datagrams of an attachment whose device is deleted
 * @nic: the attachment; its device is marked
 *
 * Those that are pending end with GNI_POST_ERROR, and no more can be posted.
 *
 * Context: process.
 */
void kgni_dgram_gone(struct kgni_nic *nic)
{
	struct kgni_domain *domain = nic->job->domain;
	unsigned int i;

	kgni_dgram_lock(nic);
	kgni_dgram_fail_all(&nic->dgram_wild, nic->dev);
	for (i = 0; i < ARRAY_SIZE(domain->inbound); i++)
		kgni_dgram_fail_all(&domain->inbound[i], nic->dev);
	kgni_dgram_unlock(nic);
}

/* Part of kgni_nic_release(): peers find the attachment and its posts no more. */
void kgni_dgram_release(struct kgni_nic *nic)
{
	struct kgni_dgram *d, *next;
	struct hlist_node *tmp;
	int bucket;

	kgni_dgram_lock(nic);
	list_del(&nic->node);
	hash_for_each_safe(nic->dgram_eps, bucket, tmp, d, ep_node)
		kgni_dgram_drop(d);
	list_for_each_entry_safe(d, next, &nic->dgram_done, done_node)
		kgni_dgram_drop(d);
	kgni_dgram_unlock(nic);
}
