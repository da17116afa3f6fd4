// SPDX-License-Identifier: GPL-2.0-only
/* The request table: every id names one request, and only while it lives. */
#include "fake_driver.h"

static void test_ids(void **state)
{
	static u32 tid[1000];
	struct ugni_reqs t = { 0 };
	struct ugni_req *r;
	u32 i, j;

	(void)state;
	ugni_reqs_init(&t);
	for (i = 0; i < 1000; i++) {
		ok(ugni_req_get(&t, i % 2, &r, &tid[i]));
		r->descr = (void *)(uintptr_t)(i + 1);
		assert_int_equal(tid[i] >> UGNI_REQ_INDEX_BITS, 0);
	}
	for (i = 0; i < 1000; i++) {
		r = ugni_req_find(&t, tid[i], i % 2);
		assert_ptr_equal(r->descr, (void *)(uintptr_t)(i + 1));
		assert_null(ugni_req_find(&t, tid[i], !(i % 2)));
	}
	for (i = 0; i < 1000; i += 2)
		ugni_req_put(&t, ugni_req_find(&t, tid[i], false));
	for (i = 0; i < 1000; i++)
		assert_int_equal(!!ugni_req_find(&t, tid[i], i % 2), i % 2);
	/* First those that were never used. */
	for (j = 0; j < 500; j++) {
		ok(ugni_req_get(&t, false, &r, &i));
		assert_non_null(ugni_req_find(&t, i, false));
		assert_int_equal(i >> UGNI_REQ_INDEX_BITS, j >= 24);
	}
	for (i = 0; i < 1000; i += 2)
		assert_null(ugni_req_find(&t, tid[i], false));
	assert_int_equal(t.used, 1024);
	ugni_reqs_destroy(&t);
}

/* Any 29 bits may come in an event. */
static void test_wild(void **state)
{
	struct ugni_reqs t = { 0 };
	struct ugni_req *r;
	u64 seed = 2;
	u32 tid, i;

	(void)state;
	ugni_reqs_init(&t);
	for (i = 0; i < 1000; i++)
		assert_null(ugni_req_find(&t, (u32)unit_edge(&seed), i % 2));
	ok(ugni_req_get(&t, false, &r, &tid));
	for (i = 0; i < 100000; i++) {
		u32 wild = (u32)unit_rand(&seed);

		assert_ptr_equal(ugni_req_find(&t, wild, false), wild == tid ? r : NULL);
	}
	ugni_reqs_destroy(&t);
}

/* One request at a time: how many uses until an id comes again. */
static u32 reuse_distance(bool smsg)
{
	struct ugni_reqs t = { 0 };
	u32 first, tid = ~0U, n = 0;
	struct ugni_req *r;

	ugni_reqs_init(&t);
	ok(ugni_req_get(&t, smsg, &r, &first));
	ugni_req_put(&t, r);
	while (tid != first) {
		ok(ugni_req_get(&t, smsg, &r, &tid));
		ugni_req_put(&t, r);
		n++;
	}
	ugni_reqs_destroy(&t);
	return n;
}

static void test_generations(void **state)
{
	(void)state;
	assert_int_equal(reuse_distance(false), 256 * 512);
	assert_int_equal(reuse_distance(true), 256 * 4);
}

static void test_exhaustion(void **state)
{
	struct ugni_reqs t = { 0 };
	struct ugni_req *r;
	u32 tid, i;

	(void)state;
	ugni_reqs_init(&t);
	for (i = 0; i < UGNI_REQ_MAX - 1; i++) {
		ok(ugni_req_get(&t, false, &r, &tid));
		assert_int_equal(tid, i);
		r->ep = (void *)(uintptr_t)(i + 1);
	}
	assert_int_equal(ugni_req_get(&t, false, &r, &tid), GNI_RC_ERROR_RESOURCE);
	for (i = 0; i < UGNI_REQ_MAX - 1; i++)
		assert_ptr_equal(ugni_req_at(&t, i)->ep, (void *)(uintptr_t)(i + 1));
	assert_null(ugni_req_at(&t, UGNI_REQ_MAX));
	/* The last of the list stays in it. */
	ugni_req_put(&t, ugni_req_at(&t, 12345));
	ok(ugni_req_get(&t, false, &r, &tid));
	assert_int_equal(tid, UGNI_REQ_MAX - 1);
	ugni_req_put(&t, r);
	ok(ugni_req_get(&t, false, &r, &tid));
	assert_int_equal(tid, 12345 | 1U << UGNI_REQ_INDEX_BITS);
	ugni_reqs_destroy(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_wild),
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_exhaustion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
