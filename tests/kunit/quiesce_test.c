// SPDX-License-Identifier: GPL-2.0-only
/* Devices and jobs that stand still: who waits, who is told, who may not. */
#include <linux/delay.h>

#include "kgt.h"
#include "../../kernel/quiesce.c"

static struct kgni_job_name name_of(const struct kgni_nic *nic)
{
	return (struct kgni_job_name) { .ptag = nic->job->ptag, .cookie = nic->job->cookie };
}

static long suspend(struct kgni_nic *nic, ktime_t timeout)
{
	struct kgni_job_name name = name_of(nic);

	return kgni_job_suspend(nic->dev, &name, timeout);
}

static long resume(struct kgni_nic *nic)
{
	struct kgni_job_name name = name_of(nic);

	return kgni_job_resume(nic->dev, &name);
}

static void switches(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);

	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_FALSE(test, kgni_device_is_quiesced(dev));
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_TRUE(test, kgni_device_is_quiesced(dev));
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, kgni_device_is_quiesced(dev));
}

struct told {
	struct kgni_watch watch;
	unsigned int times;
	u64 ms;
};

static void tell(void *context, u64 ms)
{
	struct told *t = context;

	t->times++;
	t->ms = ms;
}

static void watches(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct told t[2] = { };
	int i;

	for (i = 0; i < 2; i++) {
		t[i].watch.fn = tell;
		t[i].watch.context = &t[i];
		kgni_watch_add(dev, &t[i].watch);
	}
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t[0].times, 0);
	msleep(20);
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
	kgni_watch_del(dev, &t[0].watch);
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, t[0].times, 1);
	KUNIT_EXPECT_GE(test, t[0].ms, 20);
	KUNIT_EXPECT_EQ(test, t[1].times, 2);
	kgni_watch_del(dev, &t[1].watch);
}

static long begins(void *arg)
{
	struct kgni_nic *nic = arg;
	bool begun = kgni_begin(nic, NULL);

	if (begun)
		kgni_end(nic);
	return begun;
}

static void who_posts_waits(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *other = kgt_device(test, KGT_PE + 1);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgni_nic *mate = kgt_attach(test, dev, 2, KGT_COOKIE, 0)->nic;
	struct kgni_nic *stranger = kgt_attach(test, dev, 3, KGT_COOKIE + 1, 0)->nic;
	struct kgt_thread *a, *b;

	KUNIT_ASSERT_EQ(test, suspend(nic, 0), GNI_RC_SUCCESS);
	a = kgt_thread(test, begins, nic);
	b = kgt_thread(test, begins, mate);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(a));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(b));
	KUNIT_EXPECT_TRUE(test, begins(stranger));
	KUNIT_EXPECT_FALSE(test, kgni_may_start(nic));
	KUNIT_EXPECT_EQ(test, resume(mate), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgt_join(a));
	KUNIT_EXPECT_TRUE(test, kgt_join(b));
	KUNIT_EXPECT_EQ(test, atomic_read(&nic->posting), 0);
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, begins(nic));
	KUNIT_EXPECT_FALSE(test, kgni_begin_now(nic, &other->pe));
	KUNIT_EXPECT_TRUE(test, kgni_begin_now(nic, &dev->pe));
	kgni_end(nic);
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	a = kgt_thread(test, begins, nic);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(a));
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_NOT_DONE);
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(other), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(a));
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgt_join(a));
}

/* A signal ends the wait: the case ends it. */
static void signals(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgt_thread *t;

	KUNIT_ASSERT_EQ(test, suspend(nic, 0), GNI_RC_SUCCESS);
	t = kgt_thread(test, begins, nic);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	send_sig(SIGUSR1, t->task, 1);
	KUNIT_EXPECT_FALSE(test, kgt_join(t));
	KUNIT_EXPECT_EQ(test, atomic_read(&nic->posting), 0);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_SUCCESS);
}

static long suspends(void *arg)
{
	return suspend(arg, KTIME_MAX);
}

static void waits_for_what_was_begun(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgni_nic *stranger = kgt_attach(test, dev, 2, KGT_COOKIE + 1, 0)->nic;
	struct kgt_thread *t;

	KUNIT_ASSERT_TRUE(test, kgni_begin(stranger, NULL));
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_INVALID_STATE);
	kgni_end(stranger);
	KUNIT_ASSERT_TRUE(test, kgni_begin(nic, NULL));
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_EQ(test, suspend(nic, ms_to_ktime(5)), GNI_RC_TIMEOUT);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_INVALID_STATE);
	t = kgt_thread(test, suspends, nic);
	KUNIT_EXPECT_TRUE(test, kgt_until(READ_ONCE(nic->job->suspended)));
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_INVALID_STATE);
	kgni_end(nic);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_SUCCESS);
}

/* What has no owner is a client's in the kernel. */
static void kernel_clients(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgni_nic *mate = kgt_attach(test, dev, 2, KGT_COOKIE, 0)->nic;
	struct kgni_xfer x = { .nic = mate, .kernel = true };
	struct pid *owner = mate->owner;

	mate->owner = NULL;
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_ERROR_RESOURCE);
	mate->owner = owner;
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_SUCCESS);
	/* They do not wait for a device. */
	KUNIT_EXPECT_TRUE(test, kgni_flow_try(&x));
	kgni_flow_end(&x);
	KUNIT_EXPECT_EQ(test, kgni_device_quiesce(dev), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
}

/* One that joined a job that is stopped would not know why nothing moves. */
static void kernel_clients_join(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgni_ioc_attach arg = {
		.inst_id = 2, .ptag = nic->job->ptag, .cookie = KGT_COOKIE,
	};
	int fma = atomic_read(&dev->used[KGNI_RES_FMA]);
	struct kgni_nic *client;

	KUNIT_ASSERT_EQ(test, suspend(nic, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_nic_make(dev, &arg, true, &client), GNI_RC_NOT_DONE);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_FMA]), fma);
	KUNIT_EXPECT_EQ(test, resume(nic), GNI_RC_SUCCESS);
	KUNIT_ASSERT_EQ(test, kgni_nic_make(dev, &arg, true, &client), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, suspend(nic, 0), GNI_RC_ERROR_RESOURCE);
	kgni_nic_release(client);
}

struct piece {
	struct kgni_xfer x;
	bool begun, over;
};

static long moves(void *arg)
{
	struct piece *p = arg;

	if (!kgni_flow_begin(&p->x))
		return -EINTR;
	WRITE_ONCE(p->begun, true);
	while (!READ_ONCE(p->over))
		cpu_relax();
	kgni_flow_end(&p->x);
	return 0;
}

static long quiesces(void *arg)
{
	return kgni_device_quiesce(arg);
}

/* A quiesce waits for a piece that is being moved. */
static void waits_for_pieces(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct piece *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct kgt_thread *mover, *t;

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->x.nic = nic;
	mover = kgt_thread(test, moves, p);
	while (!READ_ONCE(p->begun))
		usleep_range(500, 2000);
	t = kgt_thread(test, quiesces, dev);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	WRITE_ONCE(p->over, true);
	KUNIT_EXPECT_EQ(test, kgt_join(mover), 0);
	KUNIT_EXPECT_EQ(test, kgt_join(t), GNI_RC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, kgni_flow_try(&p->x));
	KUNIT_EXPECT_EQ(test, kgni_device_unquiesce(dev), GNI_RC_SUCCESS);
}

static struct kunit_case quiesce_cases[] = {
	KUNIT_CASE(switches),
	KUNIT_CASE(watches),
	KUNIT_CASE(who_posts_waits),
	KUNIT_CASE(signals),
	KUNIT_CASE(waits_for_what_was_begun),
	KUNIT_CASE(kernel_clients),
	KUNIT_CASE(kernel_clients_join),
	KUNIT_CASE(waits_for_pieces),
	{}
};

static struct kunit_suite quiesce_suite = {
	.name = "kgni_quiesce",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = quiesce_cases,
};

kunit_test_suite(quiesce_suite);
