// SPDX-License-Identifier: GPL-2.0-only
/* Error queues: who hears of what, functions that are called, waits. */
#include "kgt.h"
#include "../../kernel/error.c"

#define TRANSACTION	GNI_ERRMASK_TRANSACTION
#define CRITICAL	GNI_ERRMASK_CRITICAL

static void queue_free(struct kunit_resource *res)
{
	struct kgni_eeq *eeq = res->data;

	kgni_eeq_release(eeq, true);
	kref_put(&eeq->ref, kgni_eeq_free);
}

/* Until the case ends; it may be released before. */
static struct kgni_eeq *queue(struct kunit *test, struct kgni_device *dev,
			      struct kgni_eeq_args args)
{
	struct kgni_eeq *eeq = kgni_eeq_create(dev, &args);

	KUNIT_ASSERT_NOT_NULL(test, eeq);
	kref_get(&eeq->ref);
	kunit_alloc_resource(test, NULL, queue_free, GFP_KERNEL, eeq);
	return eeq;
}

static struct kgni_eeq *simple(struct kunit *test, struct kgni_device *dev, u8 mask, u8 ptag)
{
	struct kgni_eeq_args args = { .size = 4, .mask = mask, .ptag = ptag };

	return queue(test, dev, args);
}

static void takes(struct kunit *test, struct kgni_eeq *eeq, u16 code, u32 serial)
{
	gni_error_event_t e = { 0 };

	KUNIT_EXPECT_EQ(test, kgni_eeq_take(eeq, &e), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e.error_code, code);
	KUNIT_EXPECT_EQ(test, e.serial_number, serial);
}

static void is_empty(struct kunit *test, struct kgni_eeq *eeq)
{
	gni_error_event_t e;

	KUNIT_EXPECT_EQ(test, kgni_eeq_take(eeq, &e), GNI_RC_NOT_DONE);
}

static void who_hears(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *other = kgt_device(test, KGT_PE + 1);
	struct kgni_eeq *five = simple(test, dev, TRANSACTION, 5);
	struct kgni_eeq *six = simple(test, dev, TRANSACTION | CRITICAL, 6);
	struct kgni_eeq *all = simple(test, dev, 0xff, 0);
	struct kgni_eeq *none = simple(test, dev, 0, 0);
	struct kgni_eeq *there = simple(test, other, 0xff, 0);

	kgni_error_raise(dev, 1, TRANSACTION, 5, NULL);
	kgni_error_raise(dev, 2, CRITICAL, 5, NULL);
	kgni_error_raise(dev, 3, CRITICAL, 6, NULL);
	kgni_error_raise(dev, 4, TRANSACTION, 0, NULL);
	takes(test, five, 1, 1);
	is_empty(test, five);
	takes(test, six, 3, 1);
	is_empty(test, six);
	takes(test, all, 1, 1);
	takes(test, all, 2, 2);
	takes(test, all, 3, 3);
	takes(test, all, 4, 4);
	is_empty(test, all);
	is_empty(test, none);
	is_empty(test, there);
}

static void what_it_says(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_eeq *eeq = simple(test, dev, 0xff, 0);
	const u64 info[4] = { 1, 2, 3, ~0ULL };
	u64 before = ktime_get_real_ns();
	gni_error_event_t e;

	kgni_error_raise(dev, 0xfffe, BIT(7), 0xff, info);
	KUNIT_ASSERT_EQ(test, kgni_eeq_take(eeq, &e), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e.error_code, 0xfffe);
	KUNIT_EXPECT_EQ(test, e.error_category, BIT(7));
	KUNIT_EXPECT_EQ(test, e.ptag, 0xff);
	KUNIT_EXPECT_GE(test, e.timestamp, before);
	KUNIT_EXPECT_EQ(test, memcmp(e.info_mmrs, info, sizeof(info)), 0);
}

static void changes_of_mind(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_eeq *eeq = simple(test, dev, TRANSACTION, 5);

	KUNIT_EXPECT_EQ(test, kgni_eeq_set_ptag(eeq, 0), 5);
	kgni_error_raise(dev, 1, TRANSACTION, 6, NULL);
	KUNIT_EXPECT_EQ(test, kgni_eeq_set_ptag(eeq, 7), 0);
	kgni_error_raise(dev, 2, TRANSACTION, 6, NULL);
	kgni_error_raise(dev, 3, TRANSACTION, 0, NULL);
	KUNIT_EXPECT_EQ(test, kgni_eeq_set_mask(eeq, CRITICAL), TRANSACTION);
	KUNIT_EXPECT_EQ(test, kgni_eeq_get_mask(eeq), CRITICAL);
	kgni_error_raise(dev, 4, TRANSACTION, 7, NULL);
	kgni_error_raise(dev, 5, CRITICAL, 7, NULL);
	takes(test, eeq, 1, 1);
	takes(test, eeq, 5, 2);
	is_empty(test, eeq);
}

/* The ring goes round, and what finds no room leaves a gap. */
static void overflow(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_eeq *eeq = simple(test, dev, 0xff, 0);
	u32 i, serial = 0;

	for (i = 0; i < 7; i++) {
		kgni_error_raise(dev, 10 + i, TRANSACTION, 0, NULL);
		takes(test, eeq, 10 + i, ++serial);
	}
	for (i = 0; i < 9; i++)
		kgni_error_raise(dev, 20 + i, TRANSACTION, 0, NULL);
	for (i = 0; i < 4; i++)
		takes(test, eeq, 20 + i, serial + 1 + i);
	is_empty(test, eeq);
	kgni_error_raise(dev, 30, TRANSACTION, 0, NULL);
	takes(test, eeq, 30, serial + 10);
}

struct called {
	struct completion event, critical;
	atomic_t events, criticals;
	bool in_task;
	struct kgni_eeq *eeq;
	gni_error_event_t got;
};

/* A client takes the event there and then. */
static void on_event(void *context)
{
	struct called *c = context;

	c->in_task |= in_task();
	if (c->eeq)
		kgni_eeq_take(c->eeq, &c->got);
	atomic_inc(&c->events);
	complete(&c->event);
}

static void on_critical(void *context)
{
	struct called *c = context;

	c->in_task |= in_task();
	atomic_inc(&c->criticals);
	complete(&c->critical);
}

static struct called *called(struct kunit *test)
{
	struct called *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	init_completion(&c->event);
	init_completion(&c->critical);
	return c;
}

static void calls(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct called *c = called(test);
	struct kgni_eeq_args args = {
		.size = 4, .mask = 0xff, .ptag = 5, .new_event = on_event, .critical = on_critical,
		.context = c,
	};

	c->eeq = queue(test, dev, args);
	kgni_error_raise(dev, 1, TRANSACTION, 5, NULL);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&c->event, KGT_SOON));
	KUNIT_EXPECT_EQ(test, c->got.error_code, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->criticals), 0);
	kgni_error_raise(dev, 2, CRITICAL, 5, NULL);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&c->critical, KGT_SOON));
	KUNIT_EXPECT_EQ(test, c->got.error_code, 2);
	kgni_error_raise(dev, 3, CRITICAL, 6, NULL);
	KUNIT_EXPECT_EQ(test, kgni_eeq_release(c->eeq, false), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->events), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->criticals), 1);
	KUNIT_EXPECT_FALSE(test, c->in_task);
}

/* One that holds nothing, and calls for what is critical alone. */
static void calls_without_a_queue(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct called *c = called(test);
	struct kgni_eeq_args args = { .mask = CRITICAL, .critical = on_critical, .context = c };
	struct kgni_eeq *eeq = queue(test, dev, args);

	kgni_error_raise(dev, 1, TRANSACTION, 5, NULL);
	kgni_error_critical(dev, KGNI_ERR_MEMORY, 0, NULL);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&c->critical, KGT_SOON));
	KUNIT_EXPECT_EQ(test, atomic_read(&c->criticals), 1);
	is_empty(test, eeq);
}

/* Many at once, from where nothing may sleep. */
static long raise_many(void *arg)
{
	struct kgni_device *dev = arg;
	unsigned long flags;
	u32 i;

	for (i = 0; i < 1000; i++) {
		local_irq_save(flags);
		kgni_error_raise(dev, 1, TRANSACTION, 5, NULL);
		local_irq_restore(flags);
	}
	return 0;
}

static void from_several(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct called *c = called(test);
	struct kgni_eeq_args args = {
		.size = KGNI_EEQ_MAX, .mask = 0xff, .new_event = on_event, .context = c,
	};
	struct kgni_eeq *eeq = queue(test, dev, args);
	struct kgt_thread *a = kgt_thread(test, raise_many, dev);
	struct kgt_thread *b = kgt_thread(test, raise_many, dev);
	u32 i;

	kgt_join(a);
	kgt_join(b);
	for (i = 0; i < 2000; i++)
		takes(test, eeq, 1, i + 1);
	is_empty(test, eeq);
	KUNIT_EXPECT_EQ(test, kgni_eeq_release(eeq, false), GNI_RC_SUCCESS);
	i = atomic_read(&c->events);
	KUNIT_EXPECT_TRUE(test, i > 0 && i <= 2000);
	KUNIT_EXPECT_FALSE(test, c->in_task);
}

struct wait {
	struct kgni_eeq *eeq;
	gni_error_event_t events[4];
	u32 max, more_ms, count;
};

static long wait_thread(void *arg)
{
	struct wait *w = arg;

	return kgni_eeq_wait(w->eeq, w->events, w->max, w->more_ms, &w->count);
}

static struct kgt_thread *waiter(struct kunit *test, struct wait *w)
{
	struct kgt_thread *t = kgt_thread(test, wait_thread, w);

	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	return t;
}

static void waits(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct wait w = { .eeq = simple(test, dev, 0xff, 0), .max = 1 };
	struct kgt_thread *t = waiter(test, &w);

	KUNIT_EXPECT_EQ(test, kgni_eeq_release(w.eeq, false), GNI_RC_NOT_DONE);
	kgni_error_raise(dev, 1, TRANSACTION, 5, NULL);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, w.count, 1);
	/* Two more come while it waits for them. */
	w.max = 3;
	w.more_ms = 1000000;
	t = waiter(test, &w);
	kgni_error_raise(dev, 2, TRANSACTION, 5, NULL);
	kgni_error_raise(dev, 3, TRANSACTION, 5, NULL);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	kgni_error_raise(dev, 4, TRANSACTION, 5, NULL);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, w.count, 3);
	KUNIT_EXPECT_EQ(test, w.events[2].serial_number, 4);
	/* None do. */
	w.more_ms = 1;
	t = waiter(test, &w);
	kgni_error_raise(dev, 5, TRANSACTION, 5, NULL);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_EQ(test, w.count, 1);
	t = waiter(test, &w);
	KUNIT_EXPECT_EQ(test, kgni_eeq_release(w.eeq, true), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, w.count, 0);
}

/* --- the calls of a file ---------------------------------------------------------- */

static const struct subscription {
	const char *name;
	bool attached, root;
	u32 mask, events, reserved;
	long rc;
} subscriptions[] = {
	{ "attached", true, false, 0xff, 0, 0, GNI_RC_SUCCESS },
	{ "of a device", false, true, 0xff, 0, 0, GNI_RC_SUCCESS },
	{ "of a device, plain user", false, false, 0xff, 0, 0, GNI_RC_INVALID_PARAM },
	{ "mask of 9 bits", true, true, 0x100, 0, 0, GNI_RC_INVALID_PARAM },
	{ "largest", true, false, 0xff, 4096, 0, GNI_RC_SUCCESS },
	{ "larger", true, true, 0xff, 4097, 0, GNI_RC_ERROR_RESOURCE },
	{ "reserved field", true, true, 0xff, 0, 1, -EINVAL },
};

static void subscription_desc(const struct subscription *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(subscription, subscriptions, subscription_desc);

static void subscribe(struct kunit *test)
{
	const struct subscription *s = test->param_value;
	struct kgni_ioc_err_subscribe arg = {
		.mask = s->mask, .events = s->events, .reserved = s->reserved,
	};
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	const struct cred *alice = kgt_cred(test, 1000), *old;
	struct kgni_file *f;
	long rc;

	f = s->attached ? kgt_attach(test, dev, 1, KGT_COOKIE, 0) : kgt_open(test, dev);
	old = override_creds(s->root ? current_cred() : alice);
	rc = kgni_err_subscribe(f, &arg);
	revert_creds(old);
	KUNIT_EXPECT_EQ(test, rc, s->rc);
	KUNIT_EXPECT_EQ(test, xa_empty(&f->eeqs), rc != GNI_RC_SUCCESS);
}

static void queues_of_a_file(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_file *f = kgt_attach(test, dev, 1, KGT_COOKIE, 0);
	struct kgni_file *g = kgt_attach(test, dev, 2, KGT_COOKIE, 0);
	struct kgni_ioc_err_subscribe arg = { .mask = 0xff };
	struct kgni_ioc_err_release release = { };
	u32 i;

	for (i = 0; i < KGNI_EEQS_PER_FILE; i++)
		KUNIT_EXPECT_EQ(test, kgni_err_subscribe(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_err_subscribe(f, &arg), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, kgni_err_subscribe(g, &arg), GNI_RC_SUCCESS);
	/* Only those of one's own file, and each once. */
	release.id = 2;
	KUNIT_EXPECT_EQ(test, kgni_err_release(g, &release), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgni_err_release(f, &release), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_err_release(f, &release), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kgni_err_subscribe(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.id, KGNI_EEQS_PER_FILE + 1);
}

static void injections(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_eeq *eeq = simple(test, dev, 0xff, 0);

	KUNIT_EXPECT_EQ(test, kgni_error_inject(dev, KGNI_ERR_MEMORY_CORRECTED, 5), 0);
	KUNIT_EXPECT_EQ(test, kgni_error_inject(dev, KGNI_ERR_DIAG, 5), 0);
	KUNIT_EXPECT_EQ(test, kgni_error_inject(dev, KGNI_ERR_MEMORY, 5), 0);
	KUNIT_EXPECT_EQ(test, kgni_error_inject(dev, KGNI_ERR_NO_JOB, 5), -EINVAL);
	KUNIT_EXPECT_EQ(test, kgni_error_inject(dev, KGNI_ST_LINK, 5), -EINVAL);
	takes(test, eeq, KGNI_ERR_MEMORY_CORRECTED, 1);
	takes(test, eeq, KGNI_ERR_DIAG, 2);
	takes(test, eeq, KGNI_ERR_MEMORY, 3);
	is_empty(test, eeq);
}

static struct kunit_case error_cases[] = {
	KUNIT_CASE(who_hears),
	KUNIT_CASE(what_it_says),
	KUNIT_CASE(changes_of_mind),
	KUNIT_CASE(overflow),
	KUNIT_CASE(calls),
	KUNIT_CASE(calls_without_a_queue),
	KUNIT_CASE(from_several),
	KUNIT_CASE(waits),
	KUNIT_CASE_PARAM(subscribe, subscription_gen_params),
	KUNIT_CASE(queues_of_a_file),
	KUNIT_CASE(injections),
	{}
};

static struct kunit_suite error_suite = {
	.name = "kgni_error",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = error_cases,
};

kunit_test_suite(error_suite);
