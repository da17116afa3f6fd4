// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts. Every kind comes in here, is checked, and is carried out: FMA puts,
 * gets, AMOs and CQ writes before the call returns, RDMA by bte.c.
 *
 * What is wrong with the local side is the caller's mistake and is told by the
 * return code. What is wrong at the target the hardware would find out later:
 * the post succeeds and its completion event carries the error.
 *
 * Order at the target: data, then the sync flag, then the remote event; source
 * events come last.
 */
#include <linux/highmem.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"
#include "trace.h"

static_assert((int)KGNI_POST_RDMA_PUT == (int)GNI_POST_RDMA_PUT);
static_assert((int)KGNI_POST_RDMA_GET == (int)GNI_POST_RDMA_GET);
static_assert((int)KGNI_POST_FMA_PUT == (int)GNI_POST_FMA_PUT);
static_assert((int)KGNI_POST_FMA_PUT_W_SYNCFLAG == (int)GNI_POST_FMA_PUT_W_SYNCFLAG);
static_assert((int)KGNI_POST_FMA_GET == (int)GNI_POST_FMA_GET);
static_assert((int)KGNI_POST_AMO == (int)GNI_POST_AMO);
static_assert((int)KGNI_POST_CQWRITE == (int)GNI_POST_CQWRITE);
static_assert((int)KGNI_POST_FMA_GET_W_FLAG == (int)GNI_POST_FMA_GET_W_FLAG);
static_assert((int)KGNI_POST_AMO_W_FLAG == (int)GNI_POST_AMO_W_FLAG);
static_assert(KGNI_CQMODE_LOCAL == GNI_CQMODE_LOCAL_EVENT);
static_assert(KGNI_CQMODE_GLOBAL == GNI_CQMODE_GLOBAL_EVENT);
static_assert(KGNI_CQMODE_REMOTE == GNI_CQMODE_REMOTE_EVENT);
static_assert(KGNI_RDMA_FENCE == GNI_RDMAMODE_FENCE);
static_assert(KGNI_RDMA_GETWC_DIS == GNI_RDMAMODE_GETWC_DIS);
static_assert(KGNI_DLV_NO_ADAPT == GNI_DLVMODE_NO_ADAPT);
static_assert(KGNI_DLV_ORDERED_TAIL == GNI_DLVMODE_ORDERED_TAIL);
static_assert(KGNI_FLAG_SIZE == GNI_FMA_FLAGGED_RESPONSE_SIZE);

/* Puts up to this size need no memory but the stack. */
#define KGNI_FMA_STACK	256

static void kgni_xfer_release_atomic(struct kgni_xfer *x)
{
	if (x->remote)
		kgni_mdd_put_atomic(x->remote);
	if (x->local)
		kgni_mdd_put_atomic(x->local);
	if (x->src_cq)
		kgni_cq_put_atomic(x->src_cq);
}

/* Between two pieces of a transfer. A kernel client's has no process to serve. */
static void kgni_xfer_pause(struct kgni_xfer *x)
{
	if (x->kernel)
		return;
	if (fatal_signal_pending(current))
		x->status = KGNI_ST_ABORTED;
	cond_resched();
}

/* Is something lost on a way that may be tried again? Return: true if every try was. */
static bool kgni_xfer_lost(struct kgni_xfer *x, bool (*lost)(void))
{
	while (lost()) {
		if (!x->retries)
			return true;
		x->retries--;
	}
	return false;
}

/**
 * kgni_xfer_release - give back what a post refers to
 * @x: the post
 *
 * Context: process, may sleep; softirq too for a kernel client's.
 */
void kgni_xfer_release(struct kgni_xfer *x)
{
	if (x->kernel) {
		kgni_xfer_release_atomic(x);
		return;
	}
	if (x->remote)
		kgni_mdd_put(x->remote);
	if (x->local)
		kgni_mdd_put(x->local);
	if (x->src_cq)
		kgni_cq_put(x->src_cq);
}

/* Return: false if the event found no room. */
static bool kgni_event_remote(struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	bool smsg = a->flags & KGNI_POST_SMSG;

	if (a->type == KGNI_POST_CQWRITE)
		return kgni_cq_push(x->remote->cq,
				    kgni_cqe_remote(a->cqwrite_value, a->type, KGNI_CQE_POST));
	if (!(a->cq_mode & KGNI_CQMODE_REMOTE) || !x->remote->cq)
		return true;
	/* A message is there, with its event or without, and will be found. */
	return kgni_cq_push(x->remote->cq,
			    kgni_cqe_remote(a->remote_event, a->type,
					    smsg ? KGNI_CQE_SMSG : KGNI_CQE_POST)) || smsg;
}

static void kgni_event_source(struct kgni_xfer *x, enum kgni_cqe_source source, u64 local)
{
	u64 entry = x->arg.src_event & KGNI_CQE_USER_MASK;

	/* In a message's entry the bit belongs to the transaction id. */
	if (kgni_cqe_type(entry) == KGNI_CQE_POST)
		entry = (entry & ~KGNI_CQE_LOCAL) | local;
	kgni_cq_push(x->src_cq, kgni_cqe_done(entry, source, x->status));
}

static enum kgni_stat kgni_post_stat(u32 type)
{
	switch (type) {
	case KGNI_POST_RDMA_PUT: return KGNI_STAT_RDMA_PUT;
	case KGNI_POST_RDMA_GET: return KGNI_STAT_RDMA_GET;
	case KGNI_POST_FMA_GET:
	case KGNI_POST_FMA_GET_W_FLAG: return KGNI_STAT_FMA_GET;
	case KGNI_POST_AMO:
	case KGNI_POST_AMO_W_FLAG: return KGNI_STAT_AMO;
	case KGNI_POST_CQWRITE: return KGNI_STAT_CQWRITE;
	case GNI_POST_CE: return KGNI_STAT_CE;
	}
	return KGNI_STAT_FMA_PUT;
}

/* The count of a transfer's bytes is next to that of the transfers. */
static_assert((int)KGNI_STAT_FMA_PUT + 1 == KGNI_STAT_FMA_PUT_BYTES);
static_assert((int)KGNI_STAT_FMA_GET + 1 == KGNI_STAT_FMA_GET_BYTES);
static_assert((int)KGNI_STAT_RDMA_PUT + 1 == KGNI_STAT_RDMA_PUT_BYTES);
static_assert((int)KGNI_STAT_RDMA_GET + 1 == KGNI_STAT_RDMA_GET_BYTES);

static void kgni_xfer_count(const struct kgni_xfer *x)
{
	enum kgni_stat stat = kgni_post_stat(x->arg.type);

	if (x->status != KGNI_ST_OK) {
		kgni_count(x->nic, KGNI_STAT_ERROR, 1);
		return;
	}
	kgni_count(x->nic, stat, 1);
	if (stat != KGNI_STAT_AMO && stat != KGNI_STAT_CQWRITE && stat != KGNI_STAT_CE)
		kgni_count(x->nic, stat + 1, x->arg.length);
	if (x->arg.flags & KGNI_POST_SMSG)
		kgni_count(x->nic, KGNI_STAT_SMSG, 1);
}

static void kgni_finish_remote(struct kgni_xfer *x)
{
	if (x->status == KGNI_ST_OK) {
		if (!kgni_event_remote(x))
			x->status = KGNI_ST_REM_OVERRUN;
		else if (x->far && kgni_xfer_lost(x, kgni_link_ack_lost))
			x->status = KGNI_ST_LINK;
	}
	if (x->status != KGNI_ST_OK)
		kgni_error_post(x);
	kgni_xfer_count(x);
	trace_kgni_complete(x);
}

static void kgni_finish_source(struct kgni_xfer *x, enum kgni_cqe_source source)
{
	u16 mode = x->arg.cq_mode;

	if (!x->src_cq)
		return;
	if (mode & KGNI_CQMODE_LOCAL)
		kgni_event_source(x, source, KGNI_CQE_LOCAL);
	if (mode & KGNI_CQMODE_GLOBAL)
		kgni_event_source(x, source, 0);
}

/**
 * kgni_xfer_finish - deliver the events of a post that is done
 * @x: the post; its status says how it ended
 * @source: who did it
 *
 * A post that failed has its source events, and no remote one, unless all that
 * failed is the way back. One whose remote event was lost tells so.
 *
 * Context: process.
 */
void kgni_xfer_finish(struct kgni_xfer *x, enum kgni_cqe_source source)
{
	kgni_finish_remote(x);
	kgni_finish_source(x, source);
}

/**
 * kgni_xfer_chunk - copy one piece of a transfer between registrations
 * @dst: where to, referenced
 * @daddr: address there, covered
 * @src: where from, referenced
 * @saddr: address there, covered
 * @n: bytes, at most KGNI_CHUNK
 *
 * Context: process.
 * Return: KGNI_ST_OK, or KGNI_ST_ABORTED if one of them is deregistered.
 */
enum kgni_cqe_status kgni_xfer_chunk(struct kgni_mdd *dst, u64 daddr, struct kgni_mdd *src,
				     u64 saddr, size_t n)
{
	enum kgni_cqe_status status = KGNI_ST_ABORTED;

	if (!kgni_mdd_enter(dst))
		return status;
	if (kgni_mdd_enter(src)) {
		kgni_mdd_copy(dst, daddr, src, saddr, n);
		kgni_mdd_exit(src);
		status = KGNI_ST_OK;
	}
	kgni_mdd_exit(dst);
	return status;
}

static void kgni_fma_get(struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	u64 done = 0;

	while (done < a->length && x->status == KGNI_ST_OK) {
		size_t n = min_t(u64, a->length - done, KGNI_CHUNK);

		x->status = KGNI_ST_ABORTED;
		if (kgni_flow_begin(x)) {
			x->status = kgni_xfer_chunk(x->local, a->local_addr + done,
						    x->remote, a->remote_addr + done, n);
			kgni_flow_end(x);
		}
		done += n;
		kgni_xfer_pause(x);
	}
}

static enum kgni_cqe_status kgni_fma_store(struct kgni_xfer *x, u64 addr, const void *src,
					   size_t n)
{
	enum kgni_cqe_status status = KGNI_ST_ABORTED;

	if (!kgni_flow_begin(x))
		return status;
	if (kgni_mdd_enter(x->remote)) {
		kgni_mdd_write(x->remote, addr, src, n);
		kgni_mdd_exit(x->remote);
		status = KGNI_ST_OK;
	}
	kgni_flow_end(x);
	return status;
}

/*
 * Copy a put's source into @buf, piece by piece, and from there into the
 * target. User memory is read while nothing at the target is held, since
 * reading it may take for ever. Only a fault in the first piece can be told to
 * the caller; a later one means that the source went away meanwhile.
 */
static long kgni_fma_put_pieces(struct kgni_xfer *x, void *buf, size_t size)
{
	const struct kgni_ioc_post *a = &x->arg;
	u64 done = 0;

	while (done < a->length && x->status == KGNI_ST_OK) {
		size_t n = min_t(u64, a->length - done, size);

		if (copy_from_user(buf, u64_to_user_ptr(a->local_addr + done), n)) {
			if (!done)
				return GNI_RC_INVALID_PARAM;
			x->status = KGNI_ST_ADDRESS;
			break;
		}
		x->status = kgni_fma_store(x, a->remote_addr + done, buf, n);
		done += n;
		kgni_xfer_pause(x);
	}
	return GNI_RC_SUCCESS;
}

/* The flag: one 8-byte store that orders the data before it. @mdd is entered. */
static void kgni_fma_set_flag(struct kgni_mdd *mdd, u64 addr, u64 value)
{
	u64 *flag = kgni_mdd_map(mdd, addr);

	core_store_release(flag, value);
	kunmap_local(flag);
}

static enum kgni_cqe_status kgni_fma_flag(struct kgni_mdd *mdd, u64 addr, u64 value)
{
	if (!kgni_mdd_enter(mdd))
		return KGNI_ST_ABORTED;
	kgni_fma_set_flag(mdd, addr, value);
	kgni_mdd_exit(mdd);
	return KGNI_ST_OK;
}

static long kgni_fma_put(struct kgni_xfer *x, void *buf, size_t size)
{
	const struct kgni_ioc_post *a = &x->arg;
	long rc = kgni_fma_put_pieces(x, buf, size);

	if (rc || x->status != KGNI_ST_OK || a->type != KGNI_POST_FMA_PUT_W_SYNCFLAG)
		return rc;
	x->status = KGNI_ST_ABORTED;
	if (kgni_flow_begin(x)) {
		x->status = kgni_fma_flag(x->remote, a->sync_addr, a->sync_value);
		kgni_flow_end(x);
	}
	return rc;
}

/* The same, flag and all, from memory of a kernel client, which vouches for it. */
static void kgni_fma_put_kernel(struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	u64 to = a->remote_addr;
	u32 i;

	if (!kgni_mdd_enter(x->remote)) {
		x->status = KGNI_ST_ABORTED;
		return;
	}
	for (i = 0; i < x->pieces; i++) {
		kgni_mdd_write(x->remote, to, x->src[i].iov_base, x->src[i].iov_len);
		to += x->src[i].iov_len;
	}
	if (a->type == KGNI_POST_FMA_PUT_W_SYNCFLAG)
		kgni_fma_set_flag(x->remote, a->sync_addr, a->sync_value);
	kgni_mdd_exit(x->remote);
	x->moved = true;
}

/* Behind the data of a response comes the flag, which orders the data before it. */
static void kgni_fma_response_flag(struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	u32 *flag;

	if (x->status != KGNI_ST_OK || !kgni_post_rule(a->type)->flag)
		return;
	if (!kgni_mdd_enter(x->local)) {
		x->status = KGNI_ST_ABORTED;
		return;
	}
	flag = kgni_mdd_map(x->local, a->local_addr + a->length);
	core_store_release(flag, (u32)a->sync_value);
	kunmap_local(flag);
	kgni_mdd_exit(x->local);
}

/* Carry out an AMO on each element of the range, both sides entered. */
static void kgni_amo_range(struct kgni_xfer *x, u64 done, size_t n)
{
	const struct kgni_ioc_post *a = &x->arg;
	u64 end = done + n;
	void *word;
	u64 old;

	for (; done < end; done += x->amo.size) {
		word = kgni_mdd_map(x->remote, a->remote_addr + done);
		old = kgni_amo_exec(&x->amo, word, a->operand[0], a->operand[1]);
		kunmap_local(word);
		if (x->local)
			kgni_mdd_write(x->local, a->local_addr + done, &old, x->amo.size);
	}
}

static enum kgni_cqe_status kgni_amo_chunk(struct kgni_xfer *x, u64 done, size_t n)
{
	if (!kgni_mdd_enter(x->remote))
		return KGNI_ST_ABORTED;
	if (x->local && !kgni_mdd_enter(x->local)) {
		kgni_mdd_exit(x->remote);
		return KGNI_ST_ABORTED;
	}
	kgni_amo_range(x, done, n);
	if (x->local)
		kgni_mdd_exit(x->local);
	kgni_mdd_exit(x->remote);
	return KGNI_ST_OK;
}

static void kgni_amo(struct kgni_xfer *x)
{
	u64 done = 0;

	while (done < x->arg.length && x->status == KGNI_ST_OK) {
		size_t n = min_t(u64, x->arg.length - done, PAGE_SIZE);

		x->status = KGNI_ST_ABORTED;
		if (kgni_flow_begin(x)) {
			x->status = kgni_amo_chunk(x, done, n);
			kgni_flow_end(x);
		}
		done += n;
		kgni_xfer_pause(x);
	}
}

static bool kgni_is_put(const struct kgni_xfer *x)
{
	return x->arg.type == KGNI_POST_FMA_PUT || x->arg.type == KGNI_POST_FMA_PUT_W_SYNCFLAG;
}

/* Could a put's source be read now? It is no longer than its target, if that is in order. */
static long kgni_fma_check_source(const struct kgni_xfer *x)
{
	const void __user *src = u64_to_user_ptr(x->arg.local_addr);
	u64 length = x->arg.length;

	if (!kgni_is_put(x) || !length || x->status != KGNI_ST_OK)
		return GNI_RC_SUCCESS;
	return access_ok(src, length) && !fault_in_readable(src, length) ? GNI_RC_SUCCESS :
									   GNI_RC_INVALID_PARAM;
}

/* How large a buffer a post wants. */
static size_t kgni_fma_buffer(const struct kgni_xfer *x)
{
	return kgni_is_put(x) ? min_t(u64, x->arg.length, KGNI_CHUNK) : 0;
}

/* Carry out all but RDMA; @buf is of use for puts, and of KGNI_FMA_STACK bytes or more. */
static long kgni_fma_run(struct kgni_xfer *x, void *buf, size_t size)
{
	if (x->status != KGNI_ST_OK)
		return GNI_RC_SUCCESS;
	switch (x->arg.type) {
	case KGNI_POST_CQWRITE:
		/* Also what has no data waits while its target stands still. */
		if (kgni_flow_begin(x))
			kgni_flow_end(x);
		else
			x->status = KGNI_ST_ABORTED;
		break;
	case KGNI_POST_FMA_PUT:
	case KGNI_POST_FMA_PUT_W_SYNCFLAG:
		return kgni_fma_put(x, buf, size);
	case KGNI_POST_FMA_GET:
	case KGNI_POST_FMA_GET_W_FLAG:
		kgni_fma_get(x);
		break;
	case KGNI_POST_AMO:
	case KGNI_POST_AMO_W_FLAG:
		kgni_amo(x);
		break;
	}
	kgni_fma_response_flag(x);
	return GNI_RC_SUCCESS;
}

/* A put of one piece need not look at its source twice. */
static long kgni_fma_post(struct kgni_xfer *x)
{
	size_t size = kgni_fma_buffer(x);
	u8 small[KGNI_FMA_STACK];
	void *buf;
	long rc;

	if (size <= sizeof(small) || x->status != KGNI_ST_OK)
		return kgni_fma_run(x, small, sizeof(small));
	rc = x->arg.length > size ? kgni_fma_check_source(x) : GNI_RC_SUCCESS;
	if (rc)
		return rc;
	buf = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return GNI_RC_ERROR_RESOURCE;
	rc = kgni_fma_run(x, buf, size);
	kvfree(buf);
	return rc;
}

static bool kgni_needs_local(const struct kgni_xfer *x)
{
	const struct kgni_post_rule *r = kgni_post_rule(x->arg.type);

	return r->local || (r->amo && x->amo.fetch);
}

static long kgni_xfer_local(struct kgni_nic *nic, struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	const struct kgni_post_rule *r = kgni_post_rule(a->type);
	u64 length = a->length + (r->flag ? KGNI_FLAG_SIZE : 0);

	if (!kgni_needs_local(x))
		return GNI_RC_SUCCESS;
	x->local = x->phys ? kgni_mdd_phys(nic, a->local_addr, length) :
			     kgni_mdd_find(nic->job, &a->local);
	if (!x->local || !kgni_mdd_covers(x->local, a->local_addr, length) ||
	    !kgni_mdd_present(x->local, a->local_addr, length))
		return GNI_RC_INVALID_PARAM;
	if ((r->local_write || r->amo) && x->local->flags & GNI_MEM_READ_ONLY)
		return GNI_RC_PERMISSION_ERROR;
	return GNI_RC_SUCCESS;
}

/* Under rcu_read_lock(). */
static struct kgni_mdd *kgni_remote_find(struct kgni_nic *nic, struct kgni_device *dev,
					 const struct kgni_mem_handle *handle)
{
	struct kgni_job *job = kgni_job_peer(dev, nic->job);

	return job ? kgni_mdd_find(job, handle) : NULL;
}

/* A CQ write has no address at the target, whatever its fields say. */
static bool kgni_remote_covers(const struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;

	if (a->type == KGNI_POST_CQWRITE)
		return true;
	if (a->length && !kgni_mdd_covers(x->remote, a->remote_addr, a->length))
		return false;
	return a->type != KGNI_POST_FMA_PUT_W_SYNCFLAG ||
	       kgni_mdd_covers(x->remote, a->sync_addr, sizeof(u64));
}

/* Covered, see above. */
static bool kgni_remote_present(const struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;

	if (a->type == KGNI_POST_CQWRITE)
		return true;
	return kgni_mdd_present(x->remote, a->remote_addr, a->length) &&
	       (a->type != KGNI_POST_FMA_PUT_W_SYNCFLAG ||
		kgni_mdd_present(x->remote, a->sync_addr, sizeof(u64)));
}

/* Find the target, and what it would say. */
static enum kgni_cqe_status kgni_xfer_remote(struct kgni_nic *nic, struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	struct kgni_device *dev;

	rcu_read_lock();
	dev = READ_ONCE(nic->dev->gone) ? NULL : kgni_device_of(nic->job, a->remote_pe);
	x->far = dev != nic->dev;
	if (dev) {
		x->pe = dev->pe;
		x->remote = kgni_remote_find(nic, dev, &a->remote);
	}
	rcu_read_unlock();
	if (!dev)
		return KGNI_ST_UNREACHABLE;
	if (!x->remote)
		return KGNI_ST_MDD_INVALID;
	if (a->type == KGNI_POST_CQWRITE && !x->remote->cq)
		return KGNI_ST_NO_CQ;
	if (!kgni_remote_covers(x))
		return KGNI_ST_BOUNDS;
	if (kgni_post_rule(a->type)->remote_write && x->remote->flags & GNI_MEM_READ_ONLY)
		return KGNI_ST_PROTECTION;
	if (!kgni_remote_present(x))
		return KGNI_ST_ADDRESS;
	return x->far && kgni_xfer_lost(x, kgni_link_lost) ? KGNI_ST_LINK : KGNI_ST_OK;
}

static long kgni_xfer_check(struct kgni_nic *nic, struct kgni_xfer *x)
{
	const struct kgni_ioc_post *a = &x->arg;
	const u16 dual = KGNI_CQMODE_LOCAL | KGNI_CQMODE_GLOBAL;

	switch (kgni_post_check(a, &x->amo)) {
	case KGNI_RULE_OK:
		break;
	case KGNI_RULE_ALIGN:
		return GNI_RC_ALIGNMENT_ERROR;
	default:
		return GNI_RC_INVALID_PARAM;
	}
	if ((a->cq_mode & dual) == dual && !(nic->modes & GNI_CDM_MODE_DUAL_EVENTS))
		return GNI_RC_INVALID_PARAM;
	if (!a->src_cq)
		return GNI_RC_SUCCESS;
	x->src_cq = kgni_cq_named(nic, a->src_cq);
	return x->src_cq ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/* Check all of a post; whatever comes out, kgni_xfer_release() is due. */
static long kgni_xfer_prepare(struct kgni_nic *nic, struct kgni_xfer *x)
{
	long rc;

	x->nic = nic;
	if (x->arg.reserved || x->arg.flags & ~KGNI_POST_FLAGS)
		return -EINVAL;
	rc = kgni_xfer_check(nic, x);
	if (rc)
		return rc;
	rc = kgni_xfer_local(nic, x);
	if (!rc)
		x->status = kgni_xfer_remote(nic, x);
	if (rc || x->status != KGNI_ST_OK)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	if (!rc)
		trace_kgni_post(x);
	return rc;
}

/* A client in the kernel cannot wait, so all of it is one piece. */
static long kgni_fma_post_kernel(struct kgni_xfer *x)
{
	long rc = GNI_RC_SUCCESS;

	if (!kgni_flow_try(x))
		return GNI_RC_ERROR_RESOURCE;
	if (!kgni_is_put(x))
		rc = kgni_fma_run(x, NULL, 0);
	else if (x->status == KGNI_ST_OK)
		kgni_fma_put_kernel(x);
	kgni_flow_end(x);
	return rc;
}

/**
 * kgni_xfer_post - check a transaction and carry it out or queue it
 * @nic: who posts
 * @x: what; all that it refers to is given back
 *
 * Context: process, may sleep; softirq too for a kernel client's.
 * Return: as kgni_post(); @x->status says how an FMA post ended.
 */
long kgni_xfer_post(struct kgni_nic *nic, struct kgni_xfer *x)
{
	long rc = kgni_xfer_prepare(nic, x);

	if (rc)
		goto release;
	if (kgni_post_rule(x->arg.type)->bte)
		return kgni_bte_post(nic, x);
	rc = x->kernel ? kgni_fma_post_kernel(x) : kgni_fma_post(x);
	if (!rc)
		kgni_xfer_finish(x, KGNI_CQE_FMA);
release:
	kgni_xfer_release(x);
	return rc;
}

/**
 * kgni_post - KGNI_IOC_POST: check a transaction and carry it out or queue it
 * @nic: who posts
 * @arg: what
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM, GNI_RC_ALIGNMENT_ERROR,
 * GNI_RC_PERMISSION_ERROR for mistakes on the local side; GNI_RC_ERROR_RESOURCE
 * if it cannot be taken now; -errno. Unless it is GNI_RC_SUCCESS nothing was
 * done and no event comes. With KGNI_POST_REPORT also GNI_RC_TRANSACTION_ERROR,
 * for an FMA post whose way to the target failed: it may have been carried out,
 * and its events come.
 */
long kgni_post(struct kgni_nic *nic, struct kgni_ioc_post *arg)
{
	struct kgni_xfer x = { .arg = *arg };
	long rc;

	if (!kgni_begin(nic, &arg->remote_pe))
		return -EINTR;
	rc = kgni_xfer_post(nic, &x);
	kgni_end(nic);
	if (!rc && arg->flags & KGNI_POST_REPORT && x.status == KGNI_ST_LINK &&
	    !kgni_post_rule(arg->type)->bte)
		rc = GNI_RC_TRANSACTION_ERROR;
	return rc;
}

/* Fetch and check an element of a chain. */
static long kgni_chain_prepare(struct kgni_nic *nic, const struct kgni_ioc_post_chain *chain,
			       u32 i, struct kgni_xfer *x)
{
	const struct kgni_ioc_post __user *posts = u64_to_user_ptr(chain->posts);
	long rc;

	if (copy_from_user(&x->arg, posts + i, sizeof(x->arg)))
		return -EFAULT;
	rc = kgni_xfer_prepare(nic, x);
	if (rc)
		return rc;
	if (kgni_post_rule(x->arg.type)->bte || (i && x->src_cq))
		return GNI_RC_INVALID_PARAM;
	return kgni_fma_check_source(x);
}

/* Carry out a chain that was checked; the first element's status is that of all. */
static void kgni_chain_run(struct kgni_xfer *x, u32 count, void *buf, size_t size)
{
	enum kgni_cqe_status status = KGNI_ST_OK;
	u32 i;

	for (i = 0; i < count; i++) {
		/* The source was there a moment ago. */
		if (kgni_fma_run(&x[i], buf, size))
			x[i].status = KGNI_ST_ADDRESS;
		kgni_finish_remote(&x[i]);
		if (status == KGNI_ST_OK)
			status = x[i].status;
		cond_resched();
	}
	x->status = status;
	kgni_finish_source(x, KGNI_CQE_FMA);
}

/* Check a whole chain, then carry it out. @x has room for it, and is all zeros. */
static long kgni_chain(struct kgni_nic *nic, const struct kgni_ioc_post_chain *arg,
		       struct kgni_xfer *x)
{
	size_t size = KGNI_FMA_STACK;
	void *buf;
	long rc;
	u32 i;

	for (i = 0; i < arg->count; i++) {
		rc = kgni_chain_prepare(nic, arg, i, &x[i]);
		if (rc)
			return rc;
		size = max(size, kgni_fma_buffer(&x[i]));
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	buf = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return GNI_RC_ERROR_RESOURCE;
	kgni_chain_run(x, arg->count, buf, size);
	kvfree(buf);
	return GNI_RC_SUCCESS;
}

/**
 * kgni_post_chain - KGNI_IOC_POST_CHAIN: several transactions with one completion
 * @nic: who posts
 * @arg: what
 *
 * An element that fails at its target does not keep the others from being
 * carried out; the completion tells of the first failure.
 *
 * Context: process, may sleep.
 * Return: as kgni_post(), for the first element that is not in order.
 */
long kgni_post_chain(struct kgni_nic *nic, const struct kgni_ioc_post_chain *arg)
{
	struct kgni_xfer *x;
	long rc;
	u32 i;

	if (arg->reserved)
		return -EINVAL;
	if (!arg->count || arg->count > KGNI_CHAIN_MAX)
		return GNI_RC_INVALID_PARAM;
	if (!kgni_res_charge_many(nic->job, KGNI_RES_DLA, arg->count))
		return GNI_RC_ERROR_RESOURCE;
	rc = GNI_RC_ERROR_RESOURCE;
	x = kvcalloc(arg->count, sizeof(*x), GFP_KERNEL_ACCOUNT);
	if (!x)
		goto uncharge;
	rc = -EINTR;
	if (kgni_begin(nic, NULL)) {
		rc = kgni_chain(nic, arg, x);
		kgni_end(nic);
	}
	for (i = 0; i < arg->count; i++)
		kgni_xfer_release(&x[i]);
	kvfree(x);
uncharge:
	kgni_res_uncharge_many(nic->job, KGNI_RES_DLA, arg->count);
	return rc;
}
