// SPDX-License-Identifier: GPL-2.0-only
/* Handles: any value may be passed as one, and is told from a live one. */
#include <sys/wait.h>

#include "fake_driver.h"

#define MANY	5000

static void *any_handle(void *arena, u64 value)
{
	return ugni_lookup(arena, (void *)(uintptr_t)value);
}

static void test_wild(void **state)
{
	struct ugni_arena *arenas[] = { &ugni_cdms, &ugni_nics, &ugni_eps, &ugni_cqs };
	u64 seed = 1, base;
	u32 i, j;

	(void)state;
	for (j = 0; j < ARRAY_SIZE(arenas); j++) {
		assert_null(any_handle(arenas[j], 0));
		ugni_free(arenas[j], ugni_alloc(arenas[j]));
		base = arenas[j]->base;
		assert_null(any_handle(arenas[j], base));
		assert_null(any_handle(arenas[j], base - 1));
		assert_null(any_handle(arenas[j], base + arenas[j]->committed - 1));
		assert_null(any_handle(arenas[j], base + arenas[j]->committed));
		assert_null(any_handle(arenas[j], base + ((u64)arenas[j]->max
							  << arenas[j]->shift)));
		for (i = 0; i < 10000; i++) {
			assert_null(any_handle(arenas[j], unit_edge(&seed)));
			assert_null(any_handle(arenas[j], base + unit_below(&seed, 1 << 26)));
		}
	}
}

/* All values near a live object, and the object as another type. */
static void test_near(void **state)
{
	struct fake_side s;
	uintptr_t p;
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	p = (uintptr_t)s.ep;
	for (i = -300; i <= 300; i++)
		assert_ptr_equal(any_handle(&ugni_eps, p + (u64)(int64_t)i), i ? NULL : s.ep);
	assert_null(ugni_lookup(&ugni_cqs, s.ep));
	assert_null(ugni_lookup(&ugni_nics, s.ep));
	assert_null(ugni_lookup(&ugni_cdms, s.ep));
	assert_null(ugni_lookup(&ugni_eps, s.cq));
	assert_null(ugni_lookup(&ugni_eps, s.nic));
	assert_null(ugni_lookup(&ugni_eps, s.cdm));
	fake_side_end(&s);
}

static int by_value(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Growth; endpoints differ in 24 bits; stale ones are stale for long. */
static void test_many(void **state)
{
	static gni_ep_handle_t ep[MANY];
	static u32 low[MANY];
	gni_ep_handle_t again;
	struct fake_side s;
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	for (i = 0; i < MANY; i++) {
		ok(GNI_EpCreate(s.nic, NULL, &ep[i]));
		low[i] = (uintptr_t)ep[i] & 0xffffff;
	}
	qsort(low, MANY, sizeof(low[0]), by_value);
	for (i = 1; i < MANY; i++)
		assert_int_not_equal(low[i], low[i - 1]);
	for (i = 0; i < MANY; i++)
		ok(GNI_EpDestroy(ep[i]));
	for (i = 0; i < MANY; i++)
		assert_int_equal(GNI_EpDestroy(ep[i]), GNI_RC_INVALID_PARAM);
	/* Used again oldest first: the youngest MANY - 1 are still found out. */
	ok(GNI_EpCreate(s.nic, NULL, &again));
	for (i = 1; i < MANY; i++)
		assert_ptr_not_equal(ep[i], again);
	for (i = 0; i < 200; i++) {
		ok(GNI_EpCreate(s.nic, NULL, &ep[0]));
		ok(GNI_EpDestroy(ep[0]));
	}
	for (i = 300; i < MANY; i++)
		assert_int_equal(GNI_EpBind(ep[i], 1, 1), GNI_RC_INVALID_PARAM);
	fake_side_end(&s);
	assert_int_equal(GNI_EpDestroy(again), GNI_RC_INVALID_PARAM);
}

/* @alone: nobody else makes endpoints, which might be one of those destroyed here. */
static void make_and_destroy(gni_nic_handle_t nic, bool alone)
{
	gni_ep_handle_t ep[16];
	int i, j;

	for (i = 0; i < 200; i++) {
		for (j = 0; j < 16; j++)
			ok(GNI_EpCreate(nic, NULL, &ep[j]));
		for (j = 0; j < 16; j++) {
			ok(GNI_EpBind(ep[j], 1, 2));
			ok(GNI_EpSetEventData(ep[j], 3, 4));
			ok(GNI_EpDestroy(ep[j]));
			if (alone)
				assert_int_equal(GNI_EpUnbind(ep[j]), GNI_RC_INVALID_PARAM);
		}
	}
}

static void test_alone(void **state)
{
	struct fake_side s;

	(void)state;
	fake_side(&s, 0, 4);
	make_and_destroy(s.nic, true);
	fake_side_end(&s);
}

static void *churn(void *arg)
{
	make_and_destroy(arg, false);
	return NULL;
}

static void test_threads(void **state)
{
	struct fake_side s;
	pthread_t thread[4];
	int i;

	(void)state;
	fake_side(&s, 0, 4);
	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, churn, s.nic);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	fake_side_end(&s);
}

/* Many threads destroy one endpoint: one of them does. */
static void *destroy(void *arg)
{
	return GNI_EpDestroy(arg) == GNI_RC_SUCCESS ? arg : NULL;
}

static void test_destroy_once(void **state)
{
	struct fake_side s;
	pthread_t thread[4];
	gni_ep_handle_t ep;
	int i, round, done;
	void *ret;

	(void)state;
	fake_side(&s, 0, 4);
	for (round = 0; round < 50; round++) {
		ok(GNI_EpCreate(s.nic, s.cq, &ep));
		for (i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, destroy, ep);
		for (i = 0, done = 0; i < 4; i++) {
			pthread_join(thread[i], &ret);
			done += !!ret;
		}
		assert_int_equal(done, 1);
	}
	fake_side_end(&s);
}

/* A child process has none of its parent's objects, and can have its own. */
static void test_fork(void **state)
{
	struct fake_side s, child;
	int status, files;
	u32 pe, cpu;
	pid_t pid;

	(void)state;
	ok(GNI_CdmGetNicAddress(0, &pe, &cpu));
	fake_side(&s, 0, 4);
	files = fake.open_files;
	assert_int_equal(files, 2);
	pid = fork();
	if (!pid) {
		if (fake.open_files || GNI_EpDestroy(s.ep) != GNI_RC_INVALID_PARAM ||
		    GNI_CqDestroy(s.cq) != GNI_RC_INVALID_PARAM ||
		    GNI_CdmDestroy(s.cdm) != GNI_RC_INVALID_PARAM)
			_exit(1);
		fake_side(&child, 0, 4);
		fake_side_end(&child);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	ok(GNI_EpUnbind(s.ep));
	fake_side_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wild),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_destroy_once),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
