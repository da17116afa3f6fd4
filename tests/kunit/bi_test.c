// SPDX-License-Identifier: GPL-2.0-only
/* Balanced injection: who is held, what changes when. The times are core/pace.h's. */
#include "kgt.h"
#include "../../kernel/bi.c"

#define NOW	GNI_BI_FLAG_APPLY_NOW
#define AFTER	GNI_BI_FLAG_APPLY_AFTER_THROTTLE

/* As if the stretch had begun long ago: the next piece of who may be held is, for an hour. */
static void close_gate(struct kunit *test, struct kgni_nic *nic)
{
	struct kgni_xfer x = { .nic = nic, .arg.type = KGNI_POST_FMA_PUT };
	struct kgni_bi *bi = &nic->dev->bi;

	spin_lock_bh(&bi->lock);
	bi->pace.opened = ktime_get_ns() - KGNI_PACE_STRETCH_MAX;
	bi->pace.moving = 1;
	spin_unlock_bh(&bi->lock);
	KUNIT_EXPECT_FALSE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_FALSE(test, x.paced);
	spin_lock_bh(&bi->lock);
	bi->pace.until += 3600 * NSEC_PER_SEC;
	spin_unlock_bh(&bi->lock);
}

static void who_is_held(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_device *other = kgt_device(test, KGT_PE + 1);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgni_nic *far = kgt_attach(test, other, 1, KGT_COOKIE, 0)->nic;
	struct kgni_xfer x = { .nic = nic, .arg.type = KGNI_POST_FMA_PUT };
	struct kgni_xfer y = { .nic = far, .far = true, .pe = KGT_PE };

	KUNIT_EXPECT_FALSE(test, kgni_bi_active(dev));
	KUNIT_EXPECT_TRUE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_FALSE(test, x.paced);
	kgni_flow_end(&x);
	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 1, 0, NOW), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgni_bi_active(dev));
	close_gate(test, nic);
	KUNIT_EXPECT_FALSE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_FALSE(test, x.paced);
	KUNIT_EXPECT_TRUE(test, kgni_flows(&x));
	KUNIT_EXPECT_GT(test, kgni_bi_until(dev), ktime_get_ns());
	/* Whose FMA cannot wait is not, nor who posts elsewhere. */
	x.kernel = true;
	KUNIT_EXPECT_TRUE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_FALSE(test, x.paced);
	kgni_flow_end(&x);
	x.arg.type = KGNI_POST_RDMA_PUT;
	KUNIT_EXPECT_FALSE(test, kgni_flow_try(&x));
	KUNIT_EXPECT_TRUE(test, kgni_flow_try(&y));
	kgni_flow_end(&y);
	/* It ends with the setting, and a piece is counted once. */
	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 2, 0, NOW), GNI_RC_SUCCESS);
	dev->bi.pace.moving = 0;
	KUNIT_EXPECT_EQ(test, kgni_bi_until(dev), 0);
	KUNIT_EXPECT_TRUE(test, kgni_bi_try(&x));
	KUNIT_EXPECT_TRUE(test, x.paced);
	KUNIT_EXPECT_EQ(test, dev->bi.pace.moving, 1);
	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 0, 0, NOW), GNI_RC_SUCCESS);
	kgni_bi_end(&x);
	KUNIT_EXPECT_EQ(test, dev->bi.pace.moving, 0);
	KUNIT_EXPECT_FALSE(test, kgni_bi_active(dev));
}

static long begins(void *arg)
{
	struct kgni_xfer x = { .nic = arg, .arg.type = KGNI_POST_FMA_PUT };
	bool begun = kgni_flow_begin(&x);

	if (begun)
		kgni_flow_end(&x);
	return begun;
}

/* A wait of an hour ends at once where what it is for does. */
static void who_waits(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_nic *nic = kgt_attach(test, dev, 1, KGT_COOKIE, 0)->nic;
	struct kgt_thread *t;

	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 1, 0, NOW | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES),
			GNI_RC_SUCCESS);
	close_gate(test, nic);
	t = kgt_thread(test, begins, nic);
	KUNIT_EXPECT_TRUE(test, kgt_is_waiting(t));
	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 100, 0, NOW), GNI_RC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, kgt_join(t));
}

static void stops(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct kgni_ioc_bi_get got;

	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 10, 20, NOW | AFTER), GNI_RC_SUCCESS);
	kgni_bi_stop(dev);
	KUNIT_EXPECT_FALSE(test, kgni_bi_active(dev));
	KUNIT_EXPECT_EQ(test, kgni_bi_wait(dev, 0), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_bi_set(dev, 10, 20, NOW | AFTER), -ENODEV);
	kgni_bi_throttled(dev);
	kgni_bi_get(dev, &got);
	KUNIT_EXPECT_EQ(test, got.bw, 100);
}

static struct kunit_case bi_cases[] = {
	KUNIT_CASE(who_is_held),
	KUNIT_CASE(who_waits),
	KUNIT_CASE(stops),
	{}
};

static struct kunit_suite bi_suite = {
	.name = "kgni_bi",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = bi_cases,
};

kunit_test_suite(bi_suite);
