// SPDX-License-Identifier: GPL-2.0-only
/* Datagrams: what is told to the driver, and what becomes of its answers. */
#include "fake_driver.h"

static void test_post(void **state)
{
	char in[GNI_DATAGRAM_MAXSIZE + 1] = "hello", out[GNI_DATAGRAM_MAXSIZE];
	struct fake_side s;
	gni_ep_handle_t ep;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_EpPostData(s.ep, in, 6, out, 128));
	assert_int_equal(fake.dgram.flags, KGNI_DGRAM_BOUND);
	assert_int_equal(fake.dgram.remote_pe, 7);
	assert_int_equal(fake.dgram.remote_id, 22);
	assert_int_equal(fake.dgram.length, 6);
	assert_int_equal(fake.dgram.buf_size, 128);
	assert_string_equal(fake.dgram.data, "hello");
	ok(GNI_EpCreate(s.nic, NULL, &ep));
	ok(GNI_EpPostDataWId(ep, NULL, 0, NULL, 0, 0x123456789abcdef0));
	assert_int_equal(fake.dgram.flags, KGNI_DGRAM_WITH_ID);
	assert_int_equal(fake.dgram.id, 0x123456789abcdef0);
	assert_int_not_equal(fake.dgram.ep, ugni_index(&ugni_eps, s.ep));
	assert_int_equal(GNI_EpPostDataWId(ep, in, 1, out, 1, ~0ULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostData(ep, in, 129, out, 1), GNI_RC_SIZE_ERROR);
	assert_int_equal(GNI_EpPostData(ep, in, 1, out, 129), GNI_RC_SIZE_ERROR);
	assert_int_equal(GNI_EpPostData(ep, NULL, 1, out, 1), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostData(ep, in, 1, NULL, 1), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostData(NULL, in, 1, out, 1), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostData((void *)s.nic, in, 1, out, 1), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

/* A post that fails leaves the one before it, and its buffer, alone. */
static void test_buffer(void **state)
{
	char out[16], other[16];
	gni_post_state_t st = GNI_POST_ERROR;
	struct fake_side s;
	u32 pe = 1, id = 2;

	(void)state;
	fake_side(&s, 0, 4);
	memset(out, 'o', sizeof(out));
	memset(other, 'o', sizeof(other));
	ok(GNI_EpPostData(s.ep, NULL, 0, out, 8));
	fake.dgram_answer = GNI_RC_ERROR_RESOURCE;
	assert_int_equal(GNI_EpPostData(s.ep, NULL, 0, other, 16), GNI_RC_ERROR_RESOURCE);
	fake.dgram_answer = 0;
	fake.dgram_test = (struct kgni_ioc_dgram_test){ .state = GNI_POST_PENDING, .length = 9,
							.remote_pe = 8, .remote_id = 9 };
	ok(GNI_EpPostDataTest(s.ep, &st, &pe, &id));
	assert_int_equal(st, GNI_POST_PENDING);
	assert_int_equal(pe, 1);
	assert_int_equal(out[0], 'o');
	fake.dgram_test.state = GNI_POST_COMPLETED;
	memset(fake.dgram_test.data, 'd', GNI_DATAGRAM_MAXSIZE);
	fake.dgram_test.length = 100;	/* more than there is room for */
	ok(GNI_EpPostDataTest(s.ep, &st, &pe, &id));
	assert_int_equal(st, GNI_POST_COMPLETED);
	assert_int_equal(pe, 8);
	assert_int_equal(id, 9);
	assert_memory_equal(out, "ddddddddoooooooo", 16);
	assert_memory_equal(other, "oooooooooooooooo", 16);
	fake_side_end(&s);
}

static void test_test(void **state)
{
	gni_post_state_t st = GNI_POST_PENDING;
	struct fake_side s;
	u32 pe = 1, id = 2;

	(void)state;
	fake_side(&s, 0, 4);
	fake.dgram_test.state = GNI_POST_TERMINATED;
	ok(GNI_EpPostDataTestById(s.ep, 5, &st, &pe, &id));
	assert_int_equal(st, GNI_POST_TERMINATED);
	assert_int_equal(fake.dgram_test.id, 5);
	assert_int_equal(fake.dgram_test.flags, KGNI_DGRAM_WITH_ID);
	assert_int_equal(fake.dgram_test.timeout_ms, 0);
	fake.dgram_answer = GNI_RC_NO_MATCH;
	assert_int_equal(GNI_EpPostDataTest(s.ep, &st, &pe, &id), GNI_RC_NO_MATCH);
	fake.dgram_answer = GNI_RC_SIZE_ERROR;
	assert_int_equal(GNI_EpPostDataTest(s.ep, &st, &pe, &id), GNI_RC_SIZE_ERROR);
	assert_int_equal(GNI_EpPostDataTestById(s.ep, ~0ULL, &st, &pe, &id), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataTest(s.ep, NULL, &pe, &id), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataTest(s.ep, &st, NULL, &id), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataTest(s.ep, &st, &pe, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataTest(NULL, &st, &pe, &id), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

static void test_wait(void **state)
{
	gni_post_state_t st = GNI_POST_PENDING;
	struct fake_side s;
	u32 pe, id;

	(void)state;
	fake_side(&s, 0, 4);
	assert_int_equal(GNI_EpPostDataWait(s.ep, 0, &st, &pe, &id), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataWaitById(s.ep, 1, 0, &st, &pe, &id), GNI_RC_INVALID_PARAM);
	fake.dgram_test = (struct kgni_ioc_dgram_test){ .state = GNI_POST_PENDING };
	assert_int_equal(GNI_EpPostDataWait(s.ep, 5, &st, &pe, &id), GNI_RC_TIMEOUT);
	fake.dgram_answer = GNI_RC_TIMEOUT;
	assert_int_equal(GNI_EpPostDataWait(s.ep, 5, &st, &pe, &id), GNI_RC_TIMEOUT);
	fake.dgram_answer = -EINTR;
	assert_int_equal(GNI_EpPostDataWait(s.ep, 5, &st, &pe, &id), GNI_RC_TIMEOUT);
	fake.dgram_answer = GNI_RC_NO_MATCH;
	assert_int_equal(GNI_EpPostDataWaitById(s.ep, 1, ~0U, &st, &pe, &id), GNI_RC_NO_MATCH);
	assert_true(fake.dgram_test.timeout_ms == KGNI_WAIT_FOREVER);
	fake.dgram_answer = 0;
	fake.dgram_test.state = GNI_POST_COMPLETED;
	ok(GNI_EpPostDataWaitById(s.ep, 1, ~0U, &st, &pe, &id));
	assert_int_equal(st, GNI_POST_COMPLETED);
	fake_side_end(&s);
}

static void test_probe(void **state)
{
	struct fake_side s;
	u32 pe = 0, id = 0;
	u64 dgram = 0;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_PostDataProbe(s.nic, &pe, &id));
	assert_int_equal(pe, 5);
	assert_int_equal(id, 6);
	ok(GNI_PostDataProbeById(s.nic, &dgram));
	assert_int_equal(dgram, 0x1234);
	ok(GNI_PostdataProbeWaitById(s.nic, ~0U, &dgram));
	fake.dgram_answer = GNI_RC_NO_MATCH;
	assert_int_equal(GNI_PostDataProbe(s.nic, &pe, &id), GNI_RC_NO_MATCH);
	assert_int_equal(GNI_PostDataProbeById(s.nic, &dgram), GNI_RC_NO_MATCH);
	assert_int_equal(GNI_PostdataProbeWaitById(s.nic, 0, &dgram), GNI_RC_TIMEOUT);
	fake.dgram_answer = -EINTR;
	assert_int_equal(GNI_PostdataProbeWaitById(s.nic, 3, &dgram), GNI_RC_TIMEOUT);
	assert_int_equal(GNI_PostDataProbe(s.nic, NULL, &id), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_PostDataProbe(s.nic, &pe, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_PostDataProbeById(s.nic, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_PostDataProbeById((void *)s.ep, &dgram), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_PostdataProbeWaitById(NULL, 1, &dgram), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
}

static void test_cancel(void **state)
{
	struct fake_side s;
	gni_ep_handle_t ep;

	(void)state;
	fake_side(&s, 0, 4);
	ok(GNI_EpPostDataCancelById(s.ep, 3));
	assert_int_equal(fake.dgram_cancel.id, 3);
	assert_int_equal(fake.dgram_cancel.flags, KGNI_DGRAM_WITH_ID);
	ok(GNI_EpPostDataCancel(s.ep));
	assert_int_equal(fake.dgram_cancel.flags, 0);
	assert_int_equal(GNI_EpPostDataCancelById(s.ep, ~0ULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpPostDataCancel(NULL), GNI_RC_INVALID_PARAM);
	/* An endpoint that goes takes leave of the driver if it ever posted. */
	ok(GNI_EpCreate(s.nic, NULL, &ep));
	memset(&fake.dgram_cancel, 0, sizeof(fake.dgram_cancel));
	ok(GNI_EpDestroy(ep));
	assert_int_equal(fake.dgram_cancel.flags, 0);
	ok(GNI_EpPostData(s.ep, NULL, 0, NULL, 0));
	ok(GNI_EpDestroy(s.ep));
	assert_int_equal(fake.dgram_cancel.flags, KGNI_DGRAM_EP_GONE);
	assert_int_equal(fake.dgram_cancel.ep, fake.dgram.ep);
	fake_side_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_buffer),
		cmocka_unit_test(test_test),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_probe),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
