// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion queues: making and ending them, events from many producers, who is
 * woken and when, holes of dead producers.
 */
#include <linux/eventfd.h>

#include "kgt.h"

/*
 * An eventfd needs a file, which no thread here has: one of the test's own, by
 * number, in its place.
 */
struct eventfd_ctx {
	atomic_t refs;
	atomic_t signals;
};

static struct eventfd_ctx channels[2];

static struct eventfd_ctx *channel_get(int fd)
{
	if (fd < 0 || fd >= ARRAY_SIZE(channels))
		return ERR_PTR(-EBADF);
	atomic_inc(&channels[fd].refs);
	return &channels[fd];
}

static void channel_put(struct eventfd_ctx *ctx)
{
	atomic_dec(&ctx->refs);
}

static void channel_signal(struct eventfd_ctx *ctx)
{
	atomic_inc(&ctx->signals);
}

#define eventfd_ctx_fdget(fd)	channel_get(fd)
#define eventfd_ctx_put(ctx)	channel_put(ctx)
#define eventfd_signal(ctx, n)	channel_signal(ctx)

#include "../../kernel/cq.c"

static struct kgni_file *attached(struct kunit *test)
{
	return kgt_attach(test, kgt_device(test, KGT_PE), 1, KGT_COOKIE, 0);
}

static u64 entry(u64 n)
{
	return kgni_cqe_remote(n, KGNI_POST_FMA_PUT, KGNI_CQE_POST);
}

static atomic_t *cqs_of(struct kgni_file *f)
{
	return &f->nic->job->used[KGNI_RES_CQ];
}

/* --- making and ending ----------------------------------------------------- */

static const struct creation {
	const char *name;
	u32 entries, delay, mode, reserved;
	long rc;
	u32 slots, delay_got;
	u64 bytes;
} creations[] = {
	{ "1 entry", 1, 0, GNI_CQ_NOBLOCK, 0, GNI_RC_SUCCESS, 1, 0, 8192 },
	{ "2 entries", 2, 0, GNI_CQ_BLOCKING, 0, GNI_RC_SUCCESS, 2, 0, 8192 },
	{ "3 entries", 3, 2, GNI_CQ_BLOCKING, 0, GNI_RC_SUCCESS, 4, 2, 8192 },
	{ "512 entries", 512, 0, GNI_CQ_PHYS_PAGES, 0, GNI_RC_SUCCESS, 512, 0, 8192 },
	{ "513 entries", 513, 0, GNI_CQ_UNMANAGED, 0, GNI_RC_SUCCESS, 1024, 0, 12288 },
	{ "all modes", 16, 0, 0xd, 0, GNI_RC_SUCCESS, 16, 0, 8192 },
	{ "as many entries as can be", 1 << 20, 0, 0, 0, GNI_RC_SUCCESS, 1 << 20, 0,
	  4096 + (8 << 20) },
	{ "a delay of all slots", 4, 4, 0, 0, GNI_RC_SUCCESS, 4, 3, 8192 },
	{ "a long delay", 4, U32_MAX, 0, 0, GNI_RC_SUCCESS, 4, 3, 8192 },
	{ "a delay of one slot", 1, 1, 0, 0, GNI_RC_SUCCESS, 1, 0, 8192 },
	{ "no entries", 0, 0, 0, 0, GNI_RC_INVALID_PARAM },
	{ "emulated", 4, 0, GNI_CQ_EMULATED, 0, GNI_RC_INVALID_PARAM },
	{ "unknown mode", 4, 0, 0x10, 0, GNI_RC_INVALID_PARAM },
	{ "too many entries", (1 << 20) + 1, 0, 0, 0, GNI_RC_ERROR_RESOURCE },
	{ "far too many entries", U32_MAX, 0, 0, 0, GNI_RC_ERROR_RESOURCE },
	{ "reserved field", 4, 0, 0, 1, -EINVAL },
};

static void creation_desc(const struct creation *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(creation, creations, creation_desc);

static void create(struct kunit *test)
{
	const struct creation *c = test->param_value;
	struct kgni_file *f = attached(test);
	struct kgni_ioc_cq_create arg = {
		.entries = c->entries, .delay = c->delay, .mode = c->mode, .reserved = c->reserved,
	};
	struct kgni_cq *cq;

	KUNIT_ASSERT_EQ(test, kgni_cq_create(f->nic, &arg), c->rc);
	KUNIT_EXPECT_EQ(test, atomic_read(cqs_of(f)), !c->rc);
	if (c->rc)
		return;
	KUNIT_EXPECT_NE(test, arg.id, 0);
	KUNIT_EXPECT_EQ(test, arg.slots, c->slots);
	KUNIT_EXPECT_EQ(test, arg.mmap_length, c->bytes);
	KUNIT_EXPECT_EQ(test, arg.mmap_offset, (u64)arg.id << 32);
	cq = kgni_cq_find(f->nic, arg.id);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	KUNIT_EXPECT_EQ(test, cq->view.mask, c->slots - 1);
	KUNIT_EXPECT_EQ(test, cq->delay, c->delay_got);
	KUNIT_EXPECT_EQ(test, cq->npages << PAGE_SHIFT, c->bytes);
	KUNIT_EXPECT_NULL(test, memchr_inv(cq->mem, 0, c->bytes));
	kgni_cq_put(cq);
}

static void ids(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *g = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_cq *cq[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		cq[i] = kgt_cq(test, f, 4, 0);
		KUNIT_EXPECT_EQ(test, cq[i]->id, i + 1);
	}
	/* Each file has names of its own. */
	KUNIT_EXPECT_NULL(test, kgni_cq_find(g->nic, 2));
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(g->nic, 2), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, kgni_cq_find(f->nic, 0));
	KUNIT_EXPECT_NULL(test, kgni_cq_find(f->nic, U32_MAX));
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, 2), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, 2), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, 0), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, kgni_cq_find(f->nic, 2));
	KUNIT_EXPECT_EQ(test, atomic_read(cqs_of(f)), 2);
}

static void no_queue_left(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_ioc_cq_create arg = { .entries = 4 };

	atomic_set(cqs_of(f), 4096);
	KUNIT_EXPECT_EQ(test, kgni_cq_create(f->nic, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_TRUE(test, xa_empty(&f->nic->cqs));
	atomic_set(cqs_of(f), 0);
}

/* The pages of rings are charged as locked memory. */
static void no_locked_memory_left(struct kunit *test)
{
	struct rlimit *rlim = &current->signal->rlim[RLIMIT_MEMLOCK];
	const struct cred *alice = kgt_cred(test, 1000);
	struct kgni_file *f = attached(test);
	struct kgni_ioc_cq_create arg = { .entries = 513 };
	unsigned long base = atomic_long_read(&current_user()->locked_vm);
	const struct cred *old;
	long rc[2];

	rlim->rlim_cur = (base + 5) << PAGE_SHIFT;
	old = override_creds(alice);
	rc[0] = kgni_cq_create(f->nic, &arg);
	rc[1] = kgni_cq_create(f->nic, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc[0], GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, rc[1], GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, atomic_read(cqs_of(f)), 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&current_user()->locked_vm), base + 3);
}

/* What still delivers to it delivers to nobody, and into memory that is there. */
static void outlives_its_destruction(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = kgni_cq_find(f->nic, kgt_cq(test, f, 2, 0)->id);
	u32 i;

	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 2);
	KUNIT_EXPECT_FALSE(test, cq->dead);
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, cq->id), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, cq->dead);
	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(cqs_of(f)), 0);
	for (i = 0; i < 5; i++)
		kgni_cq_push(cq, entry(i));
	kgni_cq_put(cq);
}

/* --- events ---------------------------------------------------------------- */

static void first_in_first_out(struct kunit *test)
{
	struct kgni_cq *cq = kgt_cq(test, attached(test), 100, 0);
	u32 i, round;

	for (round = 0; round < 5; round++) {
		for (i = 0; i < 100; i++)
			kgni_cq_push(cq, entry(i));
		for (i = 0; i < 100; i++)
			KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(i));
		KUNIT_EXPECT_EQ(test, kgt_pop(cq), 0);
	}
}

static void overrun(struct kunit *test)
{
	struct kgni_cq *cq = kgt_cq(test, attached(test), 4, 0);
	u32 i;

	for (i = 0; i < 7; i++)
		kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), KGNI_CQE_OVERRUN);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(i));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), 0);
	kgni_cq_push(cq, entry(9));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(9));
}

static void unmanaged_takes_nothing(struct kunit *test)
{
	struct kgni_cq *cq = kgt_cq(test, attached(test), 2, GNI_CQ_UNMANAGED);
	u32 i;

	for (i = 0; i < 5; i++)
		kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(cq->mem, 0, kgni_cq_bytes(2)));
}

#define EVENTS	3000

struct producer {
	struct kgni_cq *cq;
	u32 who;
};

static long produce(void *arg)
{
	struct producer *p = arg;
	u32 i;

	for (i = 0; i < EVENTS; i++) {
		kgni_cq_push(p->cq, entry((u64)p->who << 32 | i));
		if (i % 64 == p->who)
			schedule();
	}
	return 0;
}

static const struct crowd {
	u32 producers, slots;
} crowds[] = {
	{ 1, 16 }, { 2, 8192 }, { 4, 16384 }, { 4, 64 }, { 4, 4 }, { 3, 1 },
};

static void crowd_desc(const struct crowd *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u producers, %u slots", c->producers, c->slots);
}

KUNIT_ARRAY_PARAM(crowd, crowds, crowd_desc);

struct tally {
	u32 next[4];		/* what is due of each producer */
	u32 got;
	u32 overruns;
	u32 strange;		/* not what a producer pushed, or out of order */
};

static void account(struct tally *t, u64 e)
{
	u32 who = e >> 32 & 0xffff;
	u32 n = e;

	if (e == KGNI_CQE_OVERRUN) {
		t->overruns++;
		return;
	}
	t->got++;
	if (who >= ARRAY_SIZE(t->next) || n < t->next[who] || e != entry((u64)who << 32 | n))
		t->strange++;
	else
		t->next[who] = n + 1;
}

/* Kernel threads push, this one pops. */
static void producers(struct kunit *test)
{
	const struct crowd *c = test->param_value;
	struct producer *p = kunit_kcalloc(test, c->producers, sizeof(*p), GFP_KERNEL);
	struct kgni_cq *cq = kgt_cq(test, attached(test), c->slots, 0);
	struct kgt_thread *t[4];
	struct tally tally = { 0 };
	u32 i, running = c->producers;
	u64 e;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < c->producers; i++) {
		p[i] = (struct producer) { .cq = cq, .who = i };
		t[i] = kgt_thread(test, produce, &p[i]);
	}
	do {
		for (running = i = 0; i < c->producers; i++)
			running += !completion_done(&t[i]->done);
		while ((e = kgt_pop(cq)))
			account(&tally, e);
		schedule();
	} while (running);
	KUNIT_EXPECT_EQ(test, tally.strange, 0);
	KUNIT_EXPECT_EQ(test, kgni_ring_count(&cq->view), 0);
	if (c->slots >= EVENTS * c->producers || !tally.overruns)
		KUNIT_EXPECT_EQ(test, tally.got, EVENTS * c->producers);
	KUNIT_EXPECT_GE(test, tally.got, c->slots >= 16 ? 16 : c->slots);
}

/* --- completion channels and masks ----------------------------------------- */

static long attach_channel(struct kgni_file *f, u32 id, int fd)
{
	struct kgni_ioc_cq_notify arg = { .id = id, .fd = fd };

	return kgni_cq_set_notify(f->nic, &arg);
}

static long wake(struct kgni_file *f, struct kgni_cq *cq)
{
	struct kgni_ioc_cq_wake arg = { .id = cq->id };

	return kgni_cq_wake(f->nic, &arg);
}

static int signals(void)
{
	return atomic_xchg(&channels[0].signals, 0);
}

/* A queue with a channel. */
static struct kgni_cq *notifying(struct kunit *test, struct kgni_file *f, u32 delay)
{
	struct kgni_cq *cq = kgt_cq(test, f, 8, 0);

	cq->delay = delay;
	signals();
	KUNIT_ASSERT_EQ(test, attach_channel(f, cq->id, 0), GNI_RC_SUCCESS);
	return cq;
}

static void one_channel_a_queue(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = kgt_cq(test, f, 8, 0);
	atomic64_t *refused = &f->dev->refused[KGNI_REFUSED_QUEUE];

	KUNIT_EXPECT_EQ(test, attach_channel(f, cq->id, -1), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_NULL(test, cq->notify);
	KUNIT_EXPECT_EQ(test, attach_channel(f, 99, 0), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, atomic64_read(refused), 1);
	KUNIT_EXPECT_EQ(test, attach_channel(f, cq->id, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, attach_channel(f, cq->id, 1), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, attach_channel(f, cq->id, 0), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_PTR_EQ(test, cq->notify, &channels[0]);
	KUNIT_EXPECT_EQ(test, atomic_read(&channels[0].refs), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&channels[1].refs), 0);
	/* It goes with the queue's last user. */
	kref_get(&cq->ref);
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, cq->id), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&channels[0].refs), 1);
	kgni_cq_put(cq);
	KUNIT_EXPECT_EQ(test, atomic_read(&channels[0].refs), 0);
	KUNIT_EXPECT_EQ(test, attach_channel(f, 1, 0), GNI_RC_INVALID_PARAM);
}

/* One signal for each time that one was asked for. */
static void one_signal_a_request(struct kunit *test)
{
	struct kgni_cq *cq = notifying(test, attached(test), 0);

	kgni_cq_push(cq, entry(1));
	KUNIT_EXPECT_EQ(test, signals(), 0);
	kgni_ring_notify_arm(&cq->view);
	KUNIT_EXPECT_EQ(test, signals(), 0);
	kgni_cq_push(cq, entry(2));
	kgni_cq_push(cq, entry(3));
	KUNIT_EXPECT_EQ(test, signals(), 1);
	KUNIT_EXPECT_EQ(test, cq->view.ring->notify, 0);
	kgni_ring_notify_arm(&cq->view);
	kgni_ring_notify_arm(&cq->view);
	kgni_cq_push(cq, entry(4));
	KUNIT_EXPECT_EQ(test, signals(), 1);
}

static void no_channel_no_signal(struct kunit *test)
{
	struct kgni_cq *cq = kgt_cq(test, attached(test), 8, 0);

	signals();
	kgni_ring_notify_arm(&cq->view);
	KUNIT_EXPECT_TRUE(test, kgni_cq_push(cq, entry(1)));
	KUNIT_EXPECT_EQ(test, signals(), 0);
	KUNIT_EXPECT_EQ(test, cq->view.ring->notify, 1);
}

static const u32 channel_delays[] = { 0, 1, 3, 7 };

static void channel_delay_desc(const u32 *delay, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "delay %u", *delay);
}

KUNIT_ARRAY_PARAM(channel_delay, channel_delays, channel_delay_desc);

static void signal_beyond_the_delay(struct kunit *test)
{
	u32 i, delay = *(const u32 *)test->param_value;
	struct kgni_cq *cq = notifying(test, attached(test), delay);

	kgni_ring_notify_arm(&cq->view);
	for (i = 0; i < delay; i++)
		kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, signals(), 0);
	kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, signals(), 1);
}

/* What is lost is told whatever the delay. */
static void signal_of_an_overrun(struct kunit *test)
{
	struct kgni_cq *cq = notifying(test, attached(test), 100);
	u32 i;

	kgni_ring_notify_arm(&cq->view);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_TRUE(test, kgni_cq_push(cq, entry(i)));
	KUNIT_EXPECT_EQ(test, signals(), 0);
	KUNIT_EXPECT_FALSE(test, kgni_cq_push(cq, entry(9)));
	KUNIT_EXPECT_EQ(test, signals(), 1);
}

/* Who masks the queue is told nothing until it looks again itself. */
static void masked(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = notifying(test, f, 0);
	u32 i;

	WRITE_ONCE(cq->view.ring->masked, 1);
	kgni_ring_notify_arm(&cq->view);
	for (i = 0; i < 9; i++)
		kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 0);
	KUNIT_EXPECT_EQ(test, cq->view.ring->notify, 1);
	WRITE_ONCE(cq->view.ring->masked, 0);
	KUNIT_EXPECT_EQ(test, signals(), 0);
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 1);
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 0);
}

/* Where nothing has come there is nothing to tell; where it has, no delay holds it. */
static void wakes(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = notifying(test, f, 5);
	struct kgni_ioc_cq_wake arg = { .id = 99 };

	kgni_ring_notify_arm(&cq->view);
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 0);
	kgni_cq_push(cq, entry(1));
	KUNIT_EXPECT_EQ(test, signals(), 0);
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 1);
	KUNIT_EXPECT_EQ(test, kgni_cq_wake(f->nic, &arg), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, atomic64_read(&f->dev->refused[KGNI_REFUSED_QUEUE]), 1);
	arg = (struct kgni_ioc_cq_wake) { .id = cq->id, .reserved = 1 };
	KUNIT_EXPECT_EQ(test, kgni_cq_wake(f->nic, &arg), -EINVAL);
}

#define TURNS	2000

struct turns {
	struct kgni_cq *cq;
	u32 turn;
};

static long push_in_turn(void *arg)
{
	struct turns *t = arg;
	u32 i;

	for (i = 1; i <= TURNS; i++) {
		while (smp_load_acquire(&t->turn) < i) {	/* see no_signal_is_lost() */
			if (signal_pending(current))
				return -EINTR;
			cond_resched();
		}
		kgni_cq_push(t->cq, entry(i));
	}
	return 0;
}

static bool signal_comes(void)
{
	unsigned long end = jiffies + KGT_SOON;

	while (!atomic_add_unless(&channels[0].signals, -1, 0)) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return true;
}

/*
 * Arming is answered once: by who finds an event that is there, or by the channel.
 * What the channel tells of may be taken already, where a producer that was slow to
 * tell finds the queue armed anew; so one that finds nothing arms again.
 */
static void no_signal_is_lost(struct kunit *test)
{
	struct kgni_cq *cq = notifying(test, attached(test), 0);
	struct turns *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct kgt_thread *thread;
	u32 got = 0, armed = 0;
	bool told = true;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->cq = cq;
	thread = kgt_thread(test, push_in_turn, t);
	while (told && got < TURNS && armed < 2 * TURNS) {
		smp_store_release(&t->turn, got + 1);	/* pairs with push_in_turn() */
		kgni_ring_notify_arm(&cq->view);
		armed++;
		if (!kgni_ring_ready(&cq->view) || !kgni_ring_notify_disarm(&cq->view))
			told = signal_comes();
		if (kgt_pop(cq) == entry(got + 1))
			got++;
	}
	KUNIT_EXPECT_TRUE(test, told);
	KUNIT_EXPECT_EQ(test, got, TURNS);
	KUNIT_EXPECT_EQ(test, kgt_join(thread), 0);
	KUNIT_EXPECT_EQ(test, signals(), 0);
}

/* --- sleepers -------------------------------------------------------------- */

struct sleeper {
	struct kgni_cq_waiter w[3];
	u32 count;
	u64 timeout_ms;
	u32 which;
};

static long sleep_on(void *arg)
{
	struct sleeper *s = arg;

	return kgni_cq_sleep(s->w, s->count, s->timeout_ms, &s->which);
}

static struct sleeper *sleeper(struct kunit *test, u64 timeout_ms)
{
	struct sleeper *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->timeout_ms = timeout_ms;
	s->which = 77;
	return s;
}

static struct kgni_cq *blocking(struct kunit *test, struct kgni_file *f, u32 delay)
{
	struct kgni_cq *cq = kgt_cq(test, f, 8, GNI_CQ_BLOCKING);

	cq->delay = delay;
	return cq;
}

/* A thread that sleeps for one queue's events. */
static struct kgt_thread *sleep_for(struct kunit *test, struct kgni_cq *cq)
{
	struct sleeper *s = sleeper(test, KGNI_WAIT_FOREVER);
	struct kgt_thread *t;

	s->w[s->count++].cq = cq;
	t = kgt_thread(test, sleep_on, s);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_EQ(test, cq->view.ring->armed, 1);
	return t;
}

static const u32 delays[] = { 0, 1, 3, 7 };

static void delay_desc(const u32 *delay, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "delay %u", *delay);
}

KUNIT_ARRAY_PARAM(delay, delays, delay_desc);

static void woken_beyond_the_delay(struct kunit *test)
{
	u32 delay = *(const u32 *)test->param_value;
	struct kgni_cq *cq = blocking(test, attached(test), delay);
	struct kgt_thread *t = sleep_for(test, cq);
	u32 i;

	for (i = 0; i < delay; i++)
		kgni_cq_push(cq, entry(i));
	if (delay)
		KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	kgni_cq_push(cq, entry(i));
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	for (i = 0; i <= delay; i++)
		KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(i));
}

/* The delay holds no events back from those that come to look. */
static void no_sleep_with_an_event(struct kunit *test)
{
	struct kgni_cq *cq = blocking(test, attached(test), 7);
	struct sleeper *s = sleeper(test, KGNI_WAIT_FOREVER);

	kgni_cq_push(cq, entry(1));
	s->w[s->count++].cq = cq;
	KUNIT_EXPECT_EQ(test, sleep_on(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, s->which, 0);
}

static void woken_by_an_overrun(struct kunit *test)
{
	struct kgni_cq *cq = blocking(test, attached(test), 7);
	struct kgt_thread *t;
	u32 i;

	for (i = 0; i < 8; i++)
		cq->view.ring->tail++;
	t = sleep_for(test, cq);
	kgni_cq_push(cq, entry(1));
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), KGNI_CQE_OVERRUN);
}

/* A sleeper sleeps through what comes to a masked queue; unmasked, it is woken by hand. */
static void masked_sleeper(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = blocking(test, f, 0);
	struct kgt_thread *t = sleep_for(test, cq);

	WRITE_ONCE(cq->view.ring->masked, 1);
	kgni_cq_push(cq, entry(1));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	WRITE_ONCE(cq->view.ring->masked, 0);
	KUNIT_EXPECT_EQ(test, wake(f, cq), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
}

/* One event is told to the channel and to the sleeper. */
static void sleeper_and_channel(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = blocking(test, f, 0);
	struct kgt_thread *t;

	signals();
	KUNIT_ASSERT_EQ(test, attach_channel(f, cq->id, 0), GNI_RC_SUCCESS);
	t = sleep_for(test, cq);
	kgni_ring_notify_arm(&cq->view);
	kgni_cq_push(cq, entry(1));
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, signals(), 1);
}

static void woken_by_the_end_of_the_queue(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = kgni_cq_find(f->nic, blocking(test, f, 0)->id);
	struct kgt_thread *t = sleep_for(test, cq);

	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(f->nic, cq->id), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_INVALID_PARAM);
	kgni_cq_put(cq);
}

static void woken_by_a_signal(struct kunit *test)
{
	struct kgt_thread *t = sleep_for(test, blocking(test, attached(test), 0));

	send_sig(SIGUSR1, t->task, 1);
	KUNIT_EXPECT_EQ(test, kgt_join(t), -EINTR);
}

static void timeouts(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct sleeper *s = sleeper(test, 0);
	ktime_t start = ktime_get();

	s->w[s->count++].cq = blocking(test, f, 0);
	s->w[s->count++].cq = blocking(test, f, 0);
	KUNIT_EXPECT_EQ(test, sleep_on(s), GNI_RC_TIMEOUT);
	s->timeout_ms = 50;
	KUNIT_EXPECT_EQ(test, sleep_on(s), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 50);
	KUNIT_EXPECT_EQ(test, s->which, 77);
	kgni_cq_push(s->w[1].cq, entry(1));
	KUNIT_EXPECT_EQ(test, sleep_on(s), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, s->which, 1);
	KUNIT_EXPECT_FALSE(test, wq_has_sleeper(&s->w[0].cq->wq));
	KUNIT_EXPECT_FALSE(test, wq_has_sleeper(&s->w[1].cq->wq));
}

static void one_of_several(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	u32 i, n;

	for (n = 0; n < 3; n++) {
		struct sleeper *s = sleeper(test, KGNI_WAIT_FOREVER);
		struct kgt_thread *t;

		for (i = 0; i < 3; i++)
			s->w[s->count++].cq = blocking(test, f, 0);
		t = kgt_thread(test, sleep_on, s);
		KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
		kgni_cq_push(s->w[n].cq, entry(n));
		KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
		KUNIT_EXPECT_EQ(test, s->which, n);
	}
}

/* One queue named twice, and several sleepers for one queue. */
static void several_for_one(struct kunit *test)
{
	struct kgni_cq *cq = blocking(test, attached(test), 0);
	struct sleeper *s = sleeper(test, KGNI_WAIT_FOREVER);
	struct kgt_thread *t[4];
	u32 i;

	for (i = 0; i < 3; i++)
		t[i] = sleep_for(test, cq);
	s->w[s->count++].cq = cq;
	s->w[s->count++].cq = cq;
	t[3] = kgt_thread(test, sleep_on, s);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t[3]));
	kgni_cq_push(cq, entry(1));
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kgt_join(t[i]), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, wq_has_sleeper(&cq->wq));
}

/* Consumer and producer in step: a lost wake-up is a hang. */
#define PATIENCE	jiffies_to_msecs(KGT_SOON)

struct ping {
	struct kgni_cq *there, *back;
	u32 rounds;
};

static long answer(void *arg)
{
	struct ping *p = arg;
	struct kgni_cq_waiter w = { .cq = p->there };
	u32 i, which;
	long rc;

	for (i = 0; i < p->rounds; i++) {
		rc = kgni_cq_sleep(&w, 1, PATIENCE, &which);
		if (rc)
			return rc;
		kgni_cq_push(p->back, kgt_pop(p->there));
	}
	return 0;
}

static void no_wakeup_is_lost(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct ping *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct kgni_cq_waiter w = { 0 };
	struct kgt_thread *t;
	u32 i, which;

	KUNIT_ASSERT_NOT_NULL(test, p);
	*p = (struct ping) { blocking(test, f, 0), blocking(test, f, 0), 2000 };
	w.cq = p->back;
	t = kgt_thread(test, answer, p);
	for (i = 0; i < p->rounds; i++) {
		kgni_cq_push(p->there, entry(i));
		KUNIT_ASSERT_EQ(test, kgni_cq_sleep(&w, 1, PATIENCE, &which), GNI_RC_SUCCESS);
		KUNIT_ASSERT_EQ(test, kgt_pop(p->back), entry(i));
	}
	KUNIT_EXPECT_EQ(test, kgt_join(t), 0);
}

static const struct bad_wait {
	const char *name;
	u32 count;
	u64 cqs;
	long rc;
} bad_waits[] = {
	{ "no queues", 0, 0, GNI_RC_INVALID_PARAM },
	{ "too many queues", KGNI_CQ_WAIT_MAX + 1, 0, GNI_RC_INVALID_PARAM },
	{ "far too many queues", U32_MAX, 0, GNI_RC_INVALID_PARAM },
	{ "an array that is not there", 3, 0, -EFAULT },
	{ "an array of the kernel's", 3, 0xffff888000000000, -EFAULT },
};

static void bad_wait_desc(const struct bad_wait *b, char *desc)
{
	strscpy(desc, b->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bad_wait, bad_waits, bad_wait_desc);

static void bad_calls(struct kunit *test)
{
	const struct bad_wait *b = test->param_value;
	struct kgni_ioc_cq_wait arg = { .count = b->count, .cqs = b->cqs };
	long rc;

	kgt_mm_begin();
	rc = kgni_cq_wait(NULL, &arg);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, rc, b->rc);
}

/* --- mappings -------------------------------------------------------------- */

/* As if a process that has the ring ended. */
static void unmap(struct kgni_cq *cq)
{
	struct vm_area_struct vma = { .vm_private_data = cq };

	kgni_cq_vma_open(&vma);
	kgni_cq_vma_close(&vma);
}

static void dead_producer(struct kunit *test)
{
	struct kgni_cq *cq = kgt_cq(test, attached(test), 8, 0);

	kgni_cq_push(cq, entry(1));
	cq->view.ring->tail++;
	kgni_cq_push(cq, entry(2));
	cq->view.ring->tail++;
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(1));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), 0);
	unmap(cq);
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), kgni_cqe_hole());
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), entry(2));
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), kgni_cqe_hole());
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->maps), 0);
}

static void dead_producer_wakes(struct kunit *test)
{
	struct kgni_cq *cq = blocking(test, attached(test), 7);
	struct kgt_thread *t = sleep_for(test, cq);

	cq->view.ring->tail++;
	unmap(cq);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_pop(cq), kgni_cqe_hole());
}

/* Mappings end while producers live: what these push arrives all the same. */
static void repair_beside_producers(struct kunit *test)
{
	struct producer *p = kunit_kcalloc(test, 2, sizeof(*p), GFP_KERNEL);
	struct kgni_cq *cq = kgt_cq(test, attached(test), 16384, 0);
	struct kgt_thread *t[2];
	struct tally tally = { 0 };
	u32 i;
	u64 e;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < 2; i++) {
		p[i] = (struct producer) { .cq = cq, .who = i };
		t[i] = kgt_thread(test, produce, &p[i]);
	}
	while (!completion_done(&t[0]->done) || !completion_done(&t[1]->done)) {
		unmap(cq);
		schedule();
	}
	while ((e = kgt_pop(cq)))
		if (e != kgni_cqe_hole())
			account(&tally, e);
	KUNIT_EXPECT_EQ(test, tally.strange, 0);
	KUNIT_EXPECT_EQ(test, tally.overruns, 0);
	KUNIT_EXPECT_EQ(test, tally.got, 2 * EVENTS);
}

/* Mappings that are refused, so that no page table is needed for them. */
static const struct mapping {
	const char *name;
	u64 offset;		/* of queue 1 is 1 << 32 */
	unsigned long size;
	unsigned long flags;
} mappings[] = {
	{ "private", 1ULL << 32, 8192, 0 },
	{ "for execution", 1ULL << 32, 8192, VM_SHARED | VM_EXEC },
	{ "no such queue", 2ULL << 32, 8192, VM_SHARED },
	{ "queue 0", 0, 8192, VM_SHARED },
	{ "queue of a big number", 1ULL << 62 | 1ULL << 32, 8192, VM_SHARED },
	{ "within the ring", 1ULL << 32 | 4096, 4096, VM_SHARED },
	{ "half of the ring", 1ULL << 32, 4096, VM_SHARED },
	{ "more than the ring", 1ULL << 32, 12288, VM_SHARED },
};

static void mapping_desc(const struct mapping *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mapping, mappings, mapping_desc);

static void bad_mappings(struct kunit *test)
{
	const struct mapping *m = test->param_value;
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = kgt_cq(test, f, 512, 0);
	struct vm_area_struct vma = {
		.vm_start = 0x10000, .vm_end = 0x10000 + m->size,
		.vm_pgoff = m->offset >> PAGE_SHIFT, .vm_flags = m->flags,
	};

	KUNIT_EXPECT_EQ(test, kgni_cq_mmap(f->nic, &vma), -EINVAL);
	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->maps), 0);
	KUNIT_EXPECT_NULL(test, vma.vm_ops);
}

static void mapped_too_often(struct kunit *test)
{
	struct kgni_file *f = attached(test);
	struct kgni_cq *cq = kgt_cq(test, f, 512, 0);
	struct vm_area_struct vma = {
		.vm_start = 0x10000, .vm_end = 0x12000,
		.vm_pgoff = 1ULL << 32 >> PAGE_SHIFT, .vm_flags = VM_SHARED,
	};

	atomic_set(&cq->maps, KGNI_CQ_MAPS_MAX);
	KUNIT_EXPECT_EQ(test, kgni_cq_mmap(f->nic, &vma), -EBUSY);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->maps), KGNI_CQ_MAPS_MAX);
	KUNIT_EXPECT_EQ(test, kref_read(&cq->ref), 1);
	atomic_set(&cq->maps, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(create, creation_gen_params),
	KUNIT_CASE(ids),
	KUNIT_CASE(no_queue_left),
	KUNIT_CASE(no_locked_memory_left),
	KUNIT_CASE(outlives_its_destruction),
	KUNIT_CASE(first_in_first_out),
	KUNIT_CASE(overrun),
	KUNIT_CASE(unmanaged_takes_nothing),
	KUNIT_CASE_PARAM(producers, crowd_gen_params),
	KUNIT_CASE(one_channel_a_queue),
	KUNIT_CASE(one_signal_a_request),
	KUNIT_CASE(no_channel_no_signal),
	KUNIT_CASE_PARAM(signal_beyond_the_delay, channel_delay_gen_params),
	KUNIT_CASE(signal_of_an_overrun),
	KUNIT_CASE(masked),
	KUNIT_CASE(wakes),
	KUNIT_CASE(no_signal_is_lost),
	KUNIT_CASE(masked_sleeper),
	KUNIT_CASE(sleeper_and_channel),
	KUNIT_CASE_PARAM(woken_beyond_the_delay, delay_gen_params),
	KUNIT_CASE(no_sleep_with_an_event),
	KUNIT_CASE(woken_by_an_overrun),
	KUNIT_CASE(woken_by_the_end_of_the_queue),
	KUNIT_CASE(woken_by_a_signal),
	KUNIT_CASE(timeouts),
	KUNIT_CASE(one_of_several),
	KUNIT_CASE(several_for_one),
	KUNIT_CASE(no_wakeup_is_lost),
	KUNIT_CASE_PARAM(bad_calls, bad_wait_gen_params),
	KUNIT_CASE(dead_producer),
	KUNIT_CASE(dead_producer_wakes),
	KUNIT_CASE(repair_beside_producers),
	KUNIT_CASE_PARAM(bad_mappings, mapping_gen_params),
	KUNIT_CASE(mapped_too_often),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "kgni_cq",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(cq_suite);
