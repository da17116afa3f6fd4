// SPDX-License-Identifier: GPL-2.0-only
/*
 * The collective engine: trees of channels that combine what their members post.
 *
 * A channel belongs to an attachment. Its children are leaves, which are
 * attachments that post reductions, and channels; it has a channel above, or is
 * the root. Each end of an edge names the other: a channel by device and number,
 * a leaf by device and instance id, and once it has posted by its attachment.
 *
 * What a child gives is a part. A reduction of a channel gathers one part of each
 * child; those with one id belong together, and a child that comes with an id
 * again begins the next reduction of that id. When all are there they are
 * combined, in the order of the children's numbers and not in that of their
 * coming, so that rounding does not depend on who is fast. The sum is the
 * channel's part of a reduction of the channel above; that of the root goes to
 * all leaves.
 *
 * A member that ends, leaf or channel, breaks its tree: whoever names a broken
 * channel is broken as well. What was begun is over, with an error for those who
 * are left, and what is posted fails, until a channel is configured anew.
 *
 * Nothing moves where a device stands still: a sum waits at its channel, and
 * results in kgni_domain.ce_over, for kgni_ce_kick().
 *
 * kgni_domain.ce_lock guards all of it.
 */
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"
#include "trace.h"
#include "core/ce.h"

static_assert(KGNI_CE_CHILDREN == GNI_CE_MAX_CHILDREN);
static_assert(KGNI_CE_TWO_OP == GNI_CEMODE_TWO_OP);
static_assert(KGNI_CE_FPE_SHIFT == 1 && GNI_CEMODE_FPE_OP_INVAL == GNI_CE_FPE_OP_INVAL << 1);
static_assert(KGNI_CE_ROUND == (GNI_CE_MODE_ROUND_UP | GNI_CE_MODE_ROUND_DOWN |
				GNI_CE_MODE_ROUND_NEAR | GNI_CE_MODE_ROUND_ZERO));
static_assert(KGNI_CE_CQE == (GNI_CE_MODE_CQE_ONCOMP | GNI_CE_MODE_CQE_ONERR));
static_assert(KGNI_CE_CQE_ONCOMP == GNI_CE_MODE_CQE_ONCOMP);
static_assert(KGNI_CE_ROUTE == (GNI_CE_MODE_RC_NMIN_HASH | GNI_CE_MODE_RC_MIN_HASH |
				GNI_CE_MODE_RC_MNON_HASH | GNI_CE_MODE_RC_ADAPT));
static_assert(BIT(KGNI_CE_CHANNELS) - 1 == GNI_JOB_CTRL_ALL_CE_MASK);

/* Reductions that a leaf may have begun. */
#define KGNI_CE_PENDING_MAX	256
/* A member that nobody has seen yet must be there so many seconds after it is missed. */
unsigned int kgni_ce_patience = 10;

/**
 * struct kgni_ce_end - who is at the other end of an edge
 * @type: a gni_ce_child_t: an attachment or a channel
 * @pe: PE address of the device
 * @id: instance id of the attachment, number of the channel
 * @nic: a leaf's attachment, once it has posted; compared, never followed
 * @pending: a leaf's posts
 * @seen: a child that has given a part
 */
struct kgni_ce_end {
	u32 type;
	u32 pe;
	u32 id;
	struct kgni_nic *nic;
	u32 pending;
	bool seen;
};

/**
 * struct kgni_ce - a channel
 * @node: in the domain's ces
 * @nic: its owner
 * @id: its number, in the owner's job
 * @modes: GNI_CE_MODE_* bits
 * @broken: what is wrong with its tree; KGNI_ST_OK for nothing
 * @breaking: in the list of those whose reductions are about to end
 * @children: bits of the children that it has, 0 before it is configured
 * @child: the children, by their numbers
 * @parent: the channel above, of type GNI_CE_CHILD_UNUSED at the root
 * @number: what this one is to that
 * @cq: queue for its events, or NULL
 * @reds: reductions that are gathered here, oldest first
 * @count: those, and those that are part of one above
 * @misses: it waits for members that it has not seen
 * @deadline: they must be there then, jiffies
 */
struct kgni_ce {
	struct list_head node;
	struct kgni_nic *nic;
	u32 id;
	u32 modes;
	enum kgni_cqe_status broken;
	struct list_head breaking;
	u32 children;
	struct kgni_ce_end child[KGNI_CE_CHILDREN];
	struct kgni_ce_end parent;
	u32 number;
	struct kgni_cq *cq;
	struct list_head reds;
	unsigned int count;
	bool misses;
	unsigned long deadline;
};

/**
 * struct kgni_ce_part - what a child gives to a reduction
 * @node: in red->parts
 * @child: its number
 * @cmd: the command, a gni_ce_cmd_type_t
 * @mode: KGNI_CE_TWO_OP or 0
 * @value: what it gives
 * @status: KGNI_ST_OK, or what is wrong with it
 * @post: a leaf's post, or NULL
 * @red: the reduction of a channel below, or NULL
 */
struct kgni_ce_part {
	struct list_head node;
	u32 child;
	u32 cmd;
	u32 mode;
	struct kgni_ce_value value;
	enum kgni_cqe_status status;
	struct kgni_ce_post *post;
	struct kgni_ce_red *red;
};

/* A leaf's post: as others, so that it ends as others do. */
struct kgni_ce_post {
	struct kgni_xfer xfer;
	struct kgni_ce_part part;
};

/**
 * struct kgni_ce_red - a reduction, as far as a channel sees it
 * @node: in ce->reds; once it is over in @tree of the topmost one
 * @ce: the channel; NULL if there is none, or no more
 * @id: reduction id
 * @have: bits of the children that have given their parts
 * @parts: these parts, by the children's numbers
 * @part: the sum of them, and part of the channel above
 * @tree: once it is over: itself, and all below
 * @over: once it is over: in the domain's ce_over
 */
struct kgni_ce_red {
	struct list_head node;
	struct kgni_ce *ce;
	u64 id;
	u32 have;
	struct list_head parts;
	struct kgni_ce_part part;
	struct list_head tree;
	struct list_head over;
};

/* --- who is who --------------------------------------------------------------- */

static bool kgni_ce_still(const struct kgni_nic *nic)
{
	return kgni_device_is_quiesced(nic->dev) && !READ_ONCE(nic->dev->gone);
}

static struct kgni_ce *kgni_ce_find(struct kgni_domain *d, const struct kgni_job *job, u32 pe,
				    u32 id)
{
	struct kgni_ce *ce;

	list_for_each_entry(ce, &d->ces, node)
		if (ce->id == id && ce->nic->dev->pe == pe && !READ_ONCE(ce->nic->dev->gone) &&
		    kgni_job_same(ce->nic->job, job))
			return ce;
	return NULL;
}

static struct kgni_ce *kgni_ce_own(struct kgni_nic *nic, u32 id)
{
	struct kgni_ce *ce;

	list_for_each_entry(ce, &nic->job->domain->ces, node)
		if (ce->nic == nic && ce->id == id)
			return ce;
	kgni_count_refusal(nic->dev, KGNI_REFUSED_CHANNEL);
	return NULL;
}

static bool kgni_ce_is(const struct kgni_ce *ce, const struct kgni_ce_end *end)
{
	return end->type == GNI_CE_CHILD_VCE && end->id == ce->id &&
	       end->pe == ce->nic->dev->pe;
}

/* Does a channel name another one, as parent or as child? */
static bool kgni_ce_names(const struct kgni_ce *ce, const struct kgni_ce *other)
{
	int i;

	if (!kgni_job_same(ce->nic->job, other->nic->job))
		return false;
	if (kgni_ce_is(other, &ce->parent))
		return true;
	for (i = 0; i < KGNI_CE_CHILDREN; i++)
		if (kgni_ce_is(other, &ce->child[i]))
			return true;
	return false;
}

/* Is somebody attached by the name that a channel has for a leaf? */
static bool kgni_ce_attached(struct kgni_domain *d, const struct kgni_ce *ce,
			     const struct kgni_ce_end *leaf)
{
	struct kgni_nic *nic;
	bool found = false;

	spin_lock_bh(&d->lock);
	list_for_each_entry(nic, &d->nics, node)
		if (nic->inst_id == leaf->id && nic->dev->pe == leaf->pe &&
		    !READ_ONCE(nic->dev->gone) && kgni_job_same(nic->job, ce->nic->job))
			found = true;
	spin_unlock_bh(&d->lock);
	return found;
}

/* --- the end of a reduction --------------------------------------------------- */

static void kgni_ce_post_free(struct kgni_ce_post *p)
{
	kgni_xfer_release(&p->xfer);
	kfree(p);
}

/* It was accepted: its queue waits for the event, which has come or never will. */
static void kgni_ce_post_end(struct kgni_ce_post *p)
{
	if (p->xfer.src_cq)
		atomic_dec_return_release(&p->xfer.src_cq->owed);	/* see kgni_cq_owed() */
	kgni_ce_post_free(p);
}

static void kgni_ce_store(struct kgni_mdd *mdd, u64 addr, u64 value)
{
	u64 *word = kgni_mdd_map(mdd, addr);

	core_store_release(word, value);	/* pairs with GNI_CeCheckResult() */
	kunmap_local(word);
}

/* The control word comes last: who sees it sees the values. */
static enum kgni_cqe_status kgni_ce_write(struct kgni_xfer *x, const struct kgni_ce_red *top)
{
	const struct kgni_ce_part *sum = &top->part;
	u64 to = x->arg.local_addr;

	if (!kgni_mdd_enter(x->local))
		return sum->status == KGNI_ST_OK ? KGNI_ST_ABORTED : sum->status;
	kgni_ce_store(x->local, to + offsetof(gni_ce_result_t, result1), sum->value.v[0]);
	kgni_ce_store(x->local, to + offsetof(gni_ce_result_t, result2), sum->value.v[1]);
	kgni_ce_store(x->local, to + offsetof(gni_ce_result_t, control),
		      kgni_ce_control(top->id, sum->value.fpe, sum->status));
	kgni_mdd_exit(x->local);
	return sum->status;
}

static void kgni_ce_tell_channel(const struct kgni_ce *ce, const struct kgni_ce_red *top)
{
	enum kgni_cqe_status status = top->part.status;

	if (!ce->cq || !(ce->modes & KGNI_CE_CQE))
		return;
	if (status != KGNI_ST_OK || ce->modes & KGNI_CE_CQE_ONCOMP)
		kgni_cq_push(ce->cq, kgni_cqe_ce(ce->id, top->id, status));
}

/* Tell all members. Under rcu_read_lock(). */
static void kgni_ce_tell(struct kgni_ce_red *top)
{
	struct kgni_ce_part *part;
	struct kgni_ce_red *red;

	list_for_each_entry(red, &top->tree, node) {
		list_for_each_entry(part, &red->parts, node) {
			if (!part->post)
				continue;
			part->post->xfer.status = kgni_ce_write(&part->post->xfer, top);
			kgni_xfer_finish(&part->post->xfer, KGNI_CQE_FMA);
		}
		if (red->ce)
			kgni_ce_tell_channel(red->ce, top);
	}
}

/* May they be told: do the devices of all members go? Under rcu_read_lock(). */
static bool kgni_ce_flows(const struct kgni_ce_red *top)
{
	const struct kgni_ce_part *part;
	const struct kgni_ce_red *red;

	list_for_each_entry(red, &top->tree, node) {
		if (red->ce && kgni_ce_still(red->ce->nic))
			return false;
		list_for_each_entry(part, &red->parts, node)
			if (part->post && kgni_ce_still(part->post->xfer.nic))
				return false;
	}
	return true;
}

static void kgni_ce_free_tree(struct kgni_ce_red *top)
{
	struct kgni_ce_part *part, *next_part;
	struct kgni_ce_red *red, *next;
	LIST_HEAD(tree);

	list_splice(&top->tree, &tree);
	list_for_each_entry_safe(red, next, &tree, node) {
		list_for_each_entry_safe(part, next_part, &red->parts, node)
			if (part->post)
				kgni_ce_post_end(part->post);
		kfree(red);
	}
}

/* Tell of all that is over, as far as devices go. */
static void kgni_ce_deliver(struct kgni_domain *d)
{
	struct kgni_ce_red *top, *next;
	bool flows;

	list_for_each_entry_safe(top, next, &d->ce_over, over) {
		rcu_read_lock();	/* see kgni_device_quiesce() */
		flows = kgni_ce_flows(top);
		if (flows)
			kgni_ce_tell(top);
		rcu_read_unlock();
		if (!flows)
			continue;
		list_del(&top->over);
		kgni_ce_free_tree(top);
		cond_resched();
	}
}

static void kgni_ce_leaf_done(struct kgni_ce_red *red, const struct kgni_ce_part *part)
{
	if (red->ce)
		red->ce->child[part->child].pending--;
}

/* A reduction is over, here and below. */
static void kgni_ce_finish(struct kgni_domain *d, struct kgni_ce_red *top,
			   enum kgni_cqe_status status)
{
	struct kgni_ce_part *part;
	struct kgni_ce_red *red;

	top->part.status = status;
	if (status != KGNI_ST_OK)
		top->part.value = (struct kgni_ce_value){ };
	list_move_tail(&top->node, &top->tree);
	/* It grows meanwhile. */
	list_for_each_entry(red, &top->tree, node) {
		if (red->ce)
			red->ce->count--;
		list_for_each_entry(part, &red->parts, node) {
			if (part->red)
				list_move_tail(&part->red->node, &top->tree);
			else
				kgni_ce_leaf_done(red, part);
		}
	}
	list_add_tail(&top->over, &d->ce_over);
}

/* --- trees that break --------------------------------------------------------- */

static void kgni_ce_mark(struct kgni_ce *ce, enum kgni_cqe_status status, struct list_head *list)
{
	ce->broken = status;
	list_add_tail(&ce->breaking, list);
}

/* A channel's tree will complete nothing any more. */
static void kgni_ce_break(struct kgni_domain *d, struct kgni_ce *ce, enum kgni_cqe_status status)
{
	struct kgni_ce_red *red, *next;
	struct kgni_ce *other;
	LIST_HEAD(breaking);

	kgni_ce_mark(ce, status, &breaking);
	while (!list_empty(&breaking)) {
		ce = list_first_entry(&breaking, struct kgni_ce, breaking);
		list_del(&ce->breaking);
		ce->misses = false;
		list_for_each_entry_safe(red, next, &ce->reds, node)
			kgni_ce_finish(d, red, status);
		list_for_each_entry(other, &d->ces, node)
			if (other->broken == KGNI_ST_OK && kgni_ce_names(other, ce))
				kgni_ce_mark(other, status, &breaking);
	}
}

/* --- gathering parts ---------------------------------------------------------- */

static struct kgni_ce_red *kgni_ce_red_new(struct kgni_ce *ce, u64 id, gfp_t gfp)
{
	struct kgni_ce_red *red = kzalloc(sizeof(*red), gfp);

	if (!red)
		return NULL;
	INIT_LIST_HEAD(&red->node);
	INIT_LIST_HEAD(&red->parts);
	INIT_LIST_HEAD(&red->tree);
	red->ce = ce;
	red->id = id;
	red->part.red = red;
	if (ce) {
		list_add_tail(&red->node, &ce->reds);
		ce->count++;
	}
	return red;
}

static void kgni_ce_add(struct kgni_ce_red *red, struct kgni_ce_part *part)
{
	struct kgni_ce_part *after;

	list_for_each_entry(after, &red->parts, node)
		if (after->child > part->child)
			break;
	list_add_tail(&part->node, &after->node);
	red->have |= BIT(part->child);
}

/* A reduction has begun that some members were not seen before: they had better be there. */
static void kgni_ce_expect(struct kgni_domain *d, struct kgni_ce *ce)
{
	int i;

	for (i = 0; i < KGNI_CE_CHILDREN && !ce->misses; i++)
		ce->misses = ce->children & BIT(i) && !ce->child[i].seen;
	if (!ce->misses)
		return;
	ce->deadline = jiffies + kgni_ce_patience * HZ;
	queue_delayed_work(system_wq, &d->ce_work, kgni_ce_patience * HZ);
}

/* The oldest reduction of this id that waits for this child, or a new one. */
static struct kgni_ce_red *kgni_ce_join(struct kgni_domain *d, struct kgni_ce *ce, u64 id,
					struct kgni_ce_part *part, gfp_t gfp)
{
	struct kgni_ce_red *red;

	ce->child[part->child].seen = true;
	list_for_each_entry(red, &ce->reds, node)
		if (red->id == id && !(red->have & BIT(part->child)))
			goto found;
	red = kgni_ce_red_new(ce, id, gfp);
	if (!red)
		return NULL;
	if (!ce->misses)
		kgni_ce_expect(d, ce);
found:
	kgni_ce_add(red, part);
	return red;
}

/* Make one part of all. */
static void kgni_ce_sum(struct kgni_ce_red *red)
{
	u32 round = kgni_ce_round(red->ce->modes);
	struct kgni_ce_part *sum = &red->part;
	struct kgni_ce_part *part;
	struct kgni_ce_cmd cmd;

	part = list_first_entry(&red->parts, struct kgni_ce_part, node);
	sum->cmd = part->cmd;
	sum->mode = part->mode;
	sum->value = part->value;
	sum->status = part->status;
	kgni_ce_decode(sum->cmd, &cmd);
	list_for_each_entry_continue(part, &red->parts, node) {
		if (sum->status != KGNI_ST_OK)
			break;
		if (part->status != KGNI_ST_OK)
			sum->status = part->status;
		else if (part->cmd != sum->cmd || part->mode != sum->mode)
			sum->status = KGNI_ST_CE_DIFFER;
		else
			kgni_ce_combine(&cmd, sum->mode, round, &sum->value, &part->value);
	}
}

/* Must the sum of a reduction wait? Then somebody has it go on: kgni_ce_run(). */
static bool kgni_ce_waits(const struct kgni_ce *ce, const struct kgni_ce *up)
{
	return !up->children || kgni_ce_still(ce->nic) || kgni_ce_still(up->nic);
}

static struct kgni_ce *kgni_ce_above(struct kgni_domain *d, const struct kgni_ce *ce)
{
	if (ce->parent.type == GNI_CE_CHILD_UNUSED)
		return NULL;
	return kgni_ce_find(d, ce->nic->job, ce->parent.pe, ce->parent.id);
}

/* What keeps a channel's sums from the channel above; KGNI_ST_OK: nothing. */
static enum kgni_cqe_status kgni_ce_refuses(const struct kgni_ce *up, const struct kgni_ce *ce)
{
	if (!up)
		return KGNI_ST_NO_CE;
	if (up->broken != KGNI_ST_OK)
		return up->broken;
	return kgni_ce_is(ce, &up->child[ce->number]) ? KGNI_ST_OK : KGNI_ST_NO_CE;
}

/*
 * Hand on a reduction that has all parts. Return: the one that it became part of;
 * NULL if it is over or has to wait.
 */
static struct kgni_ce_red *kgni_ce_hand_on(struct kgni_domain *d, struct kgni_ce_red *red)
{
	enum kgni_cqe_status status;
	struct kgni_ce *ce = red->ce;
	struct kgni_ce *up;

	if (ce->parent.type == GNI_CE_CHILD_UNUSED) {
		kgni_ce_sum(red);
		kgni_ce_finish(d, red, red->part.status);
		return NULL;
	}
	up = kgni_ce_above(d, ce);
	if (up && kgni_ce_waits(ce, up))
		return NULL;
	status = kgni_ce_refuses(up, ce);
	if (status != KGNI_ST_OK) {
		kgni_ce_break(d, ce, status);
		return NULL;
	}
	kgni_ce_sum(red);
	list_del_init(&red->node);
	red->part.child = ce->number;
	/* Members elsewhere would wait for ever for a part that got lost for want of memory. */
	return kgni_ce_join(d, up, red->id, &red->part, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
}

static bool kgni_ce_complete(const struct kgni_ce_red *red)
{
	return red->have == red->ce->children;
}

/* One of the same id that waits goes first: that is how they are told apart above. */
static struct kgni_ce_red *kgni_ce_oldest(struct kgni_ce_red *red)
{
	struct kgni_ce_red *oldest;

	list_for_each_entry(oldest, &red->ce->reds, node)
		if (oldest->id == red->id && kgni_ce_complete(oldest))
			break;
	return oldest;
}

static void kgni_ce_advance(struct kgni_domain *d, struct kgni_ce_red *red)
{
	while (red && kgni_ce_complete(red))
		red = kgni_ce_hand_on(d, kgni_ce_oldest(red));
}

/* --- what waited -------------------------------------------------------------- */

/* A reduction that need not wait any more. */
static struct kgni_ce_red *kgni_ce_movable(struct kgni_domain *d)
{
	struct kgni_ce_red *red;
	struct kgni_ce *ce, *up;

	list_for_each_entry(ce, &d->ces, node) {
		up = kgni_ce_above(d, ce);
		if (up && kgni_ce_waits(ce, up))
			continue;
		list_for_each_entry(red, &ce->reds, node)
			if (kgni_ce_complete(red))
				return red;
	}
	return NULL;
}

/* Have all go on that may. */
static void kgni_ce_run(struct kgni_domain *d)
{
	struct kgni_ce_red *red;

	while ((red = kgni_ce_movable(d)))
		kgni_ce_advance(d, red);
	kgni_ce_deliver(d);
}

/* Is a member that was never seen not even there? */
static bool kgni_ce_absent(struct kgni_domain *d, const struct kgni_ce *ce,
			   const struct kgni_ce_end *end)
{
	if (end->seen || end->type == GNI_CE_CHILD_UNUSED)
		return false;
	if (end->type == GNI_CE_CHILD_PE)
		return !kgni_ce_attached(d, ce, end);
	return !kgni_ce_find(d, ce->nic->job, end->pe, end->id);
}

static void kgni_ce_check_members(struct kgni_domain *d, struct kgni_ce *ce)
{
	int i;

	ce->misses = false;
	for (i = 0; i < KGNI_CE_CHILDREN; i++) {
		if (!kgni_ce_absent(d, ce, &ce->child[i]))
			continue;
		kgni_ce_break(d, ce, KGNI_ST_CE_MEMBER);
		return;
	}
}

/* Look after those who miss members; @now: jiffies. */
static void kgni_ce_check_all(struct kgni_domain *d, unsigned long now)
{
	unsigned long next = 0;
	struct kgni_ce *ce;

	list_for_each_entry(ce, &d->ces, node) {
		if (ce->misses && time_after_eq(now, ce->deadline))
			kgni_ce_check_members(d, ce);
	}
	list_for_each_entry(ce, &d->ces, node)
		if (ce->misses && (!next || ce->deadline - now < next))
			next = ce->deadline - now;
	if (next)
		queue_delayed_work(system_wq, &d->ce_work, next);
}

static void kgni_ce_work(struct work_struct *work)
{
	struct kgni_domain *d = container_of(work, struct kgni_domain, ce_work.work);

	mutex_lock(&d->ce_lock);
	kgni_ce_check_all(d, jiffies);
	kgni_ce_run(d);
	mutex_unlock(&d->ce_lock);
}

/**
 * kgni_ce_kick - what kept results from moving may be over
 * @d: whose
 *
 * Context: any; a member of the domain stays attached meanwhile.
 */
void kgni_ce_kick(struct kgni_domain *d)
{
	if (READ_ONCE(d->ce_used))
		mod_delayed_work(system_wq, &d->ce_work, 0);
}

/* Part of making a domain. */
void kgni_domain_ces_init(struct kgni_domain *d)
{
	mutex_init(&d->ce_lock);
	INIT_LIST_HEAD(&d->ces);
	INIT_LIST_HEAD(&d->ce_over);
	INIT_DELAYED_WORK(&d->ce_work, kgni_ce_work);
}

/* --- posts -------------------------------------------------------------------- */

static long kgni_ce_post_check(const struct kgni_nic *nic, const struct kgni_ioc_ce_post *arg)
{
	const u16 dual = KGNI_CQMODE_LOCAL | KGNI_CQMODE_GLOBAL;
	struct kgni_ce_cmd cmd;

	if (!kgni_ce_decode(arg->cmd, &cmd) || arg->mode & ~KGNI_CE_POST_MODES ||
	    arg->red_id > KGNI_CE_RED_ID_MAX || arg->cq_mode & ~KGNI_CQMODE_ALL)
		return GNI_RC_INVALID_PARAM;
	if ((arg->cq_mode & dual) == dual && !(nic->modes & GNI_CDM_MODE_DUAL_EVENTS))
		return GNI_RC_INVALID_PARAM;
	return arg->result % sizeof(u64) ? GNI_RC_ALIGNMENT_ERROR : GNI_RC_SUCCESS;
}

/* The memory for the result. */
static long kgni_ce_post_local(struct kgni_nic *nic, struct kgni_xfer *x)
{
	u64 addr = x->arg.local_addr;

	x->local = kgni_mdd_find(nic->job, &x->arg.local);
	if (!x->local || !kgni_mdd_covers(x->local, addr, x->arg.length) ||
	    !kgni_mdd_present(x->local, addr, x->arg.length))
		return GNI_RC_INVALID_PARAM;
	return x->local->flags & GNI_MEM_READ_ONLY ? GNI_RC_PERMISSION_ERROR : GNI_RC_SUCCESS;
}

static void kgni_ce_post_fill(struct kgni_ce_post *p, struct kgni_nic *nic,
			      const struct kgni_ioc_ce_post *arg)
{
	struct kgni_ce_cmd cmd;

	p->xfer.nic = nic;
	p->xfer.arg = (struct kgni_ioc_post){
		.type = GNI_POST_CE,
		.cq_mode = arg->cq_mode & ~KGNI_CQMODE_REMOTE,
		.src_cq = arg->src_cq,
		.src_event = arg->src_event,
		.remote_pe = arg->remote_pe,
		.local_addr = arg->result,
		.local = arg->local,
		.remote_addr = arg->red_id,
		.length = sizeof(gni_ce_result_t),
	};
	kgni_ce_decode(arg->cmd, &cmd);
	p->part.post = p;
	p->part.child = arg->child;
	p->part.cmd = arg->cmd;
	p->part.mode = kgni_ce_chooses(&cmd) ? 0 : arg->mode & KGNI_CE_TWO_OP;
	p->part.value = kgni_ce_begin(&cmd, arg->mode, arg->operand[0], arg->operand[1]);
}

/* Find what a post refers to; whatever comes out, kgni_ce_post_free() is due. */
static long kgni_ce_post_prepare(struct kgni_ce_post *p, struct kgni_nic *nic,
				 const struct kgni_ioc_ce_post *arg)
{
	long rc;

	kgni_ce_post_fill(p, nic, arg);
	if (arg->src_cq) {
		p->xfer.src_cq = kgni_cq_named(nic, arg->src_cq);
		if (!p->xfer.src_cq)
			return GNI_RC_INVALID_PARAM;
	}
	rc = kgni_ce_post_local(nic, &p->xfer);
	if (rc)
		kgni_count_refusal(nic->dev, KGNI_REFUSED_MEMORY);
	else
		trace_kgni_post(&p->xfer);
	return rc;
}

/* Find the channel that a post is for. Return: what is wrong there. */
static enum kgni_cqe_status kgni_ce_target(struct kgni_nic *nic, u32 address, u32 id, u32 child,
					   struct kgni_ce **out)
{
	const struct kgni_ce_end *leaf;
	struct kgni_device *dev;
	struct kgni_ce *ce;
	u32 pe = 0;

	rcu_read_lock();
	dev = READ_ONCE(nic->dev->gone) ? NULL : kgni_device_of(nic->job, address);
	if (dev)
		pe = dev->pe;
	rcu_read_unlock();
	if (!dev)
		return KGNI_ST_UNREACHABLE;
	ce = kgni_ce_find(nic->job->domain, nic->job, pe, id);
	if (!ce || child >= KGNI_CE_CHILDREN)
		return KGNI_ST_NO_CE;
	if (ce->broken != KGNI_ST_OK)
		return ce->broken;
	leaf = &ce->child[child];
	if (leaf->type != GNI_CE_CHILD_PE || leaf->pe != nic->dev->pe ||
	    (leaf->nic && leaf->nic != nic))
		return KGNI_ST_NO_CE;
	*out = ce;
	return ce->nic->dev != nic->dev && kgni_link_lost() ? KGNI_ST_LINK : KGNI_ST_OK;
}

/* A post that has no reduction is one of its own, and over. */
static long kgni_ce_fail(struct kgni_domain *d, struct kgni_ce_post *p, u64 id,
			 enum kgni_cqe_status status)
{
	struct kgni_ce_red *red = kgni_ce_red_new(NULL, id, GFP_KERNEL_ACCOUNT);

	if (!red)
		return GNI_RC_ERROR_RESOURCE;
	p->part.child = 0;	/* it may have said anything */
	if (status == KGNI_ST_NO_CE)
		kgni_count_refusal(p->xfer.nic->dev, KGNI_REFUSED_CHANNEL);
	kgni_ce_add(red, &p->part);
	kgni_ce_finish(d, red, status);
	return GNI_RC_SUCCESS;
}

static long kgni_ce_give(struct kgni_domain *d, struct kgni_ce *ce, u64 id,
			 struct kgni_ce_post *p)
{
	struct kgni_ce_end *leaf = &ce->child[p->part.child];
	struct kgni_ce_red *red;

	if (leaf->pending >= KGNI_CE_PENDING_MAX)
		return GNI_RC_ERROR_RESOURCE;
	red = kgni_ce_join(d, ce, id, &p->part, GFP_KERNEL_ACCOUNT);
	if (!red)
		return GNI_RC_ERROR_RESOURCE;
	leaf->pending++;
	leaf->nic = p->xfer.nic;
	kgni_ce_advance(d, red);
	return GNI_RC_SUCCESS;
}

static long kgni_ce_enter(struct kgni_ce_post *p, const struct kgni_ioc_ce_post *arg)
{
	struct kgni_nic *nic = p->xfer.nic;
	struct kgni_domain *d = nic->job->domain;
	enum kgni_cqe_status status;
	struct kgni_ce *ce = NULL;
	long rc;

	if (p->xfer.src_cq)
		atomic_inc(&p->xfer.src_cq->owed);
	mutex_lock(&d->ce_lock);
	status = kgni_ce_target(nic, arg->remote_pe, arg->ce, arg->child, &ce);
	if (status == KGNI_ST_OK)
		rc = kgni_ce_give(d, ce, arg->red_id, p);
	else
		rc = kgni_ce_fail(d, p, arg->red_id, status);
	kgni_ce_deliver(d);
	mutex_unlock(&d->ce_lock);
	if (rc)
		kgni_ce_post_end(p);
	return rc;
}

/**
 * kgni_ce_post - KGNI_IOC_CE_POST: take part in a reduction
 * @nic: who posts
 * @arg: what
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS, and the source events come when the reduction is over;
 * GNI_RC_INVALID_PARAM, GNI_RC_ALIGNMENT_ERROR, GNI_RC_PERMISSION_ERROR for
 * mistakes on the local side; GNI_RC_ERROR_RESOURCE if it cannot be taken now;
 * -EINTR if a signal came first. Unless it is GNI_RC_SUCCESS nothing was done and
 * no event comes.
 */
long kgni_ce_post(struct kgni_nic *nic, const struct kgni_ioc_ce_post *arg)
{
	struct kgni_ce_post *p;
	long rc = kgni_ce_post_check(nic, arg);

	if (rc)
		return rc;
	if (!kgni_begin(nic, &arg->remote_pe))
		return -EINTR;
	rc = GNI_RC_ERROR_RESOURCE;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (p) {
		rc = kgni_ce_post_prepare(p, nic, arg);
		if (rc)
			kgni_ce_post_free(p);
		else
			rc = kgni_ce_enter(p, arg);
	}
	kgni_end(nic);
	return rc;
}

/* --- channels ----------------------------------------------------------------- */

/* Give it a number that the job may use. */
static bool kgni_ce_number(struct kgni_ce *ce)
{
	struct kgni_job *job = ce->nic->job;
	u32 free = READ_ONCE(job->ce_mask) & ~job->ces_used;

	if (!free)
		return false;
	ce->id = __ffs(free);
	job->ces_used |= BIT(ce->id);
	return true;
}

static bool kgni_ce_publish(struct kgni_ce *ce)
{
	struct kgni_domain *d = ce->nic->job->domain;
	bool done;

	mutex_lock(&d->ce_lock);
	WRITE_ONCE(d->ce_used, true);
	done = kgni_ce_number(ce);
	if (done)
		list_add_tail(&ce->node, &d->ces);
	mutex_unlock(&d->ce_lock);
	return done;
}

/* KGNI_IOC_CE_CREATE. */
long kgni_ce_create(struct kgni_nic *nic, struct kgni_ioc_ce_create *arg)
{
	struct kgni_ce *ce;

	if (arg->reserved)
		return -EINVAL;
	if (!kgni_res_exists(KGNI_RES_CE))
		return GNI_RC_ILLEGAL_OP;
	if (!kgni_res_charge(nic->job, KGNI_RES_CE))
		return GNI_RC_ERROR_RESOURCE;
	ce = kzalloc(sizeof(*ce), GFP_KERNEL_ACCOUNT);
	if (!ce) {
		kgni_res_uncharge(nic->job, KGNI_RES_CE);
		return -ENOMEM;
	}
	ce->nic = nic;
	ce->broken = KGNI_ST_NO_CE;
	INIT_LIST_HEAD(&ce->reds);
	if (!kgni_ce_publish(ce)) {
		kfree(ce);
		kgni_res_uncharge(nic->job, KGNI_RES_CE);
		return GNI_RC_ERROR_RESOURCE;
	}
	arg->id = ce->id;
	kgni_netlink_changed();
	return GNI_RC_SUCCESS;
}

static void kgni_ce_kill(struct kgni_domain *d, struct kgni_ce *ce)
{
	struct kgni_ce_red *top, *red;

	kgni_ce_break(d, ce, KGNI_ST_CE_MEMBER);
	list_for_each_entry(top, &d->ce_over, over)
		list_for_each_entry(red, &top->tree, node)
			if (red->ce == ce)
				red->ce = NULL;
	list_del(&ce->node);
	ce->nic->job->ces_used &= ~BIT(ce->id);
	kgni_res_uncharge(ce->nic->job, KGNI_RES_CE);
	if (ce->cq)
		kgni_cq_put(ce->cq);
	kfree(ce);
	kgni_netlink_changed();
}

/* KGNI_IOC_CE_DESTROY. */
long kgni_ce_destroy(struct kgni_nic *nic, u32 id)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce *ce;

	mutex_lock(&d->ce_lock);
	ce = kgni_ce_own(nic, id);
	if (ce) {
		kgni_ce_kill(d, ce);
		kgni_ce_deliver(d);
	}
	mutex_unlock(&d->ce_lock);
	return ce ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
}

/* Who is at the other end of an edge of @ce. */
static bool kgni_ce_end_of(const struct kgni_ce *ce, const struct kgni_ce_edge *edge,
			   struct kgni_ce_end *end)
{
	*end = (struct kgni_ce_end){ .type = edge->type, .id = edge->id };
	if (edge->type != GNI_CE_CHILD_PE && edge->type != GNI_CE_CHILD_VCE)
		return false;
	return edge->child < KGNI_CE_CHILDREN &&
	       kgni_ntt_to_pe(ce->nic->job, edge->pe, &end->pe) && !kgni_ce_is(ce, end);
}

/* Find the members of a tree around @ce: @new has the result. */
static bool kgni_ce_ends_of(const struct kgni_ce *ce, const struct kgni_ioc_ce_configure *arg,
			    const struct kgni_ce_edge *edges, struct kgni_ce *new)
{
	u32 i, child;

	for (i = 0; i < arg->count; i++) {
		struct kgni_ce_end end;

		child = edges[i].child;
		if (!kgni_ce_end_of(ce, &edges[i], &end) || new->children & BIT(child))
			return false;
		new->child[child] = end;
		new->children |= BIT(child);
	}
	new->number = arg->parent.child;
	if (arg->parent.type == GNI_CE_CHILD_UNUSED)
		return true;
	return arg->parent.type == GNI_CE_CHILD_VCE &&
	       kgni_ce_end_of(ce, &arg->parent, &new->parent);
}

/* @new: a channel in name only; the queue that was is handed back in it. */
static void kgni_ce_set(struct kgni_domain *d, struct kgni_ce *ce, struct kgni_ce *new)
{
	if (ce->count)
		kgni_ce_break(d, ce, KGNI_ST_CE_MEMBER);
	ce->broken = KGNI_ST_OK;
	ce->misses = false;
	ce->modes = new->modes;
	ce->children = new->children;
	memcpy(ce->child, new->child, sizeof(ce->child));
	ce->parent = new->parent;
	ce->number = new->number;
	swap(ce->cq, new->cq);
}

static long kgni_ce_configure_locked(struct kgni_nic *nic,
				     const struct kgni_ioc_ce_configure *arg,
				     const struct kgni_ce_edge *edges, struct kgni_ce *new)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce *ce = kgni_ce_own(nic, arg->id);

	if (!ce || !kgni_ce_ends_of(ce, arg, edges, new))
		return GNI_RC_INVALID_PARAM;
	if (arg->cq) {
		new->cq = kgni_cq_named(nic, arg->cq);
		if (!new->cq)
			return GNI_RC_INVALID_PARAM;
	}
	kgni_ce_set(d, ce, new);
	/* Channels below may have waited for it. */
	kgni_ce_run(d);
	return GNI_RC_SUCCESS;
}

/**
 * kgni_ce_configure - KGNI_IOC_CE_CONFIGURE: give a channel its place in a tree
 * @nic: its owner
 * @arg: the place
 *
 * What was begun at a place that it had before is over, with an error.
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM; -EFAULT; -ENOMEM.
 */
long kgni_ce_configure(struct kgni_nic *nic, const struct kgni_ioc_ce_configure *arg)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce_edge *edges;
	struct kgni_ce *new;
	long rc = -ENOMEM;

	if (!arg->count || arg->count > KGNI_CE_CHILDREN || !kgni_ce_modes_ok(arg->modes))
		return GNI_RC_INVALID_PARAM;
	edges = memdup_user(u64_to_user_ptr(arg->children), arg->count * sizeof(*edges));
	if (IS_ERR(edges))
		return PTR_ERR(edges);
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (new) {
		new->modes = arg->modes;
		mutex_lock(&d->ce_lock);
		rc = kgni_ce_configure_locked(nic, arg, edges, new);
		mutex_unlock(&d->ce_lock);
		if (new->cq)
			kgni_cq_put(new->cq);
		kfree(new);
	}
	kfree(edges);
	return rc;
}

/* --- what there is ------------------------------------------------------------- */

/* How many channels an attachment has. */
unsigned int kgni_ce_count(struct kgni_nic *nic)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce *ce;
	unsigned int n = 0;

	if (!READ_ONCE(d->ce_used))
		return 0;
	mutex_lock(&d->ce_lock);
	list_for_each_entry(ce, &d->ces, node)
		n += ce->nic == nic;
	mutex_unlock(&d->ce_lock);
	return n;
}

static void kgni_ce_describe(const struct kgni_ce *ce, struct kgni_ce_info *info)
{
	int i;

	*info = (struct kgni_ce_info) {
		.id = ce->id,
		.children = hweight32(ce->children),
		.parent = ce->parent.id,
		.status = ce->broken,
		.reductions = ce->count,
		.modes = ce->modes,
		.cq = ce->cq ? ce->cq->id : 0,
	};
	info->has_parent = ce->parent.type == GNI_CE_CHILD_VCE &&
			   kgni_ntt_from_pe(ce->nic->job, ce->parent.pe, &info->parent_pe);
	for (i = 0; i < KGNI_CE_CHILDREN; i++)
		info->seen += ce->child[i].seen;
}

/* The channel of this number, or the one after it. ce_lock is held. */
static struct kgni_ce *kgni_ce_next(const struct kgni_nic *nic, u64 id)
{
	struct kgni_ce *ce, *next = NULL;

	list_for_each_entry(ce, &nic->job->domain->ces, node)
		if (ce->nic == nic && ce->id >= id && (!next || ce->id < next->id))
			next = ce;
	return next;
}

/**
 * kgni_ce_walk - look at all channels of an attachment
 * @nic: the attachment
 * @at: where to begin, 0 at first; out: the one that @fn refused
 * @fn: what looks, under the domain's lock; ends the walk unless it returns 0
 * @arg: for @fn
 *
 * Context: process, may sleep.
 * Return: what @fn returned last, or 0.
 */
int kgni_ce_walk(struct kgni_nic *nic, u64 *at, kgni_ce_fn fn, void *arg)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce_info info;
	struct kgni_ce *ce;
	int rc = 0;

	mutex_lock(&d->ce_lock);
	while (!rc && (ce = kgni_ce_next(nic, *at))) {
		kgni_ce_describe(ce, &info);
		*at = ce->id;
		rc = fn(arg, &info);
		if (!rc)
			++*at;
	}
	mutex_unlock(&d->ce_lock);
	return rc;
}

/* --- members that end --------------------------------------------------------- */

/* Is an attachment that ends this child of a channel, by what it posted or by its name? */
static bool kgni_ce_is_leaf(struct kgni_domain *d, const struct kgni_ce *ce,
			    const struct kgni_ce_end *leaf, const struct kgni_nic *nic)
{
	if (leaf->type != GNI_CE_CHILD_PE)
		return false;
	if (leaf->nic)
		return leaf->nic == nic;
	return leaf->pe == nic->dev->pe && leaf->id == nic->inst_id &&
	       kgni_job_same(ce->nic->job, nic->job) && !kgni_ce_attached(d, ce, leaf);
}

static void kgni_ce_lose(struct kgni_domain *d, struct kgni_ce *ce, const struct kgni_nic *nic)
{
	bool lost = false;
	int i;

	for (i = 0; i < KGNI_CE_CHILDREN; i++) {
		if (!kgni_ce_is_leaf(d, ce, &ce->child[i], nic))
			continue;
		ce->child[i].nic = NULL;
		lost = true;
	}
	if (lost)
		kgni_ce_break(d, ce, KGNI_ST_CE_MEMBER);
}

/* What was not told to it yet never will. */
static void kgni_ce_drop(struct kgni_domain *d, const struct kgni_nic *nic)
{
	struct kgni_ce_part *part, *next;
	struct kgni_ce_red *top, *red;

	list_for_each_entry(top, &d->ce_over, over)
		list_for_each_entry(red, &top->tree, node)
			list_for_each_entry_safe(part, next, &red->parts, node) {
				if (!part->post || part->post->xfer.nic != nic)
					continue;
				list_del(&part->node);
				kgni_ce_post_end(part->post);
			}
}

/* Part of deleting a device: its attachments post no more. */
void kgni_ce_gone(struct kgni_nic *nic)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce *ce;

	mutex_lock(&d->ce_lock);
	list_for_each_entry(ce, &d->ces, node) {
		if (ce->nic == nic)
			kgni_ce_break(d, ce, KGNI_ST_CE_MEMBER);
		kgni_ce_lose(d, ce, nic);
	}
	kgni_ce_deliver(d);
	mutex_unlock(&d->ce_lock);
}

/* Part of kgni_nic_release(), after others find the attachment no more by its name. */
void kgni_ce_release(struct kgni_nic *nic)
{
	struct kgni_domain *d = nic->job->domain;
	struct kgni_ce *ce, *next;

	if (!READ_ONCE(d->ce_used))
		return;
	mutex_lock(&d->ce_lock);
	list_for_each_entry(ce, &d->ces, node)
		kgni_ce_lose(d, ce, nic);
	list_for_each_entry_safe(ce, next, &d->ces, node)
		if (ce->nic == nic)
			kgni_ce_kill(d, ce);
	kgni_ce_drop(d, nic);
	kgni_ce_deliver(d);
	mutex_unlock(&d->ce_lock);
	/* The domain may go with its last member. */
	flush_delayed_work(&d->ce_work);
}
