// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that the kernel doesn't get: each call again and again, with the first,
 * the second ... allocation that it leads to made to fail, until it gets through.
 * Needs a kernel with fault injection, and root.
 */
#include <fcntl.h>

#include "common.h"

#define NTH_MAX	500	/* no call allocates as often as that */

static int nth_fd;

/* The next but @n - 1 allocation, or copy from or to user space, fails. */
static void fail_nth(int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	must(pwrite(nth_fd, text, len, 0) == len);
}

/* Whether it has, and an end of that. */
static bool failed(void)
{
	char text[16] = "";
	ssize_t got = pread(nth_fd, text, sizeof(text) - 1, 0);

	/* What was still to fail may fail the question, or the end of it. */
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		got = -1;
	return got > 0 && !atoi(text);
}

/*
 * A call under test, what undoes it, and its code for missing memory; @other is
 * one more that may come, of what it does beside allocating.
 */
struct call {
	gni_return_t (*call)(void);
	void (*undo)(void);
	gni_return_t nomem;
	gni_return_t other;
};

/* The call that @undo undoes has lost an allocation or a copy. */
static bool crippled;

static struct nic nic;
static gni_ep_handle_t ep;
static struct region region;
static gni_post_descriptor_t descr;

/*
 * The call fails as often as an allocation does, says so, has done nothing, and
 * gets through in the end. A copy that fails is a bad pointer.
 */
static void try_call(const struct call *c, const char *what)
{
	unsigned int n, told = 0;
	gni_return_t rc;

	for (n = 1; n < NTH_MAX; n++) {
		bool missing;

		fail_nth(n);
		rc = c->call();
		missing = failed();
		if (rc == GNI_RC_SUCCESS) {
			crippled = missing;
			c->undo();
			if (!missing)
				break;
			/* It could do without, or tried again. */
			continue;
		}
		ok(missing, "%s, allocation %u: %s", what, n, rc_name(rc));
		ok(rc == c->nomem || rc == GNI_RC_ERROR_NOMEM || rc == GNI_RC_ERROR_RESOURCE ||
		   rc == GNI_RC_INVALID_PARAM || rc == c->other, "%s, allocation %u: %s", what, n,
		   rc_name(rc));
		told += rc == c->nomem;
	}
	ok(n < NTH_MAX, "%s never gets through", what);
	ok(told, "%s never says %s", what, rc_name(c->nomem));
}

static void setup(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	must(nth_fd >= 0);
	nic_open(&nic, 0, 1);
	ep = ep_open(&nic, nic.pe, 1);
	region_open(&nic, map_private(64 * PAGE), 64 * PAGE, nic.rx, 0, &region);
}

static gni_cdm_handle_t cdm;

static gni_return_t attach(void)
{
	gni_nic_handle_t h;
	gni_return_t rc;
	uint32_t pe;

	rc = GNI_CdmAttach(cdm, 0, &pe, &h);
	return rc;
}

static void detach(void)
{
	must_do(GNI_CdmDestroy(cdm));
	must_do(GNI_CdmCreate(2, GNI_FIND_ALLOC_PTAG, COOKIE + 1, 0, &cdm));
}

static void test_attach(void)
{
	/* A path that can't be looked up is one that isn't there. */
	static const struct call c = { attach, detach, GNI_RC_ERROR_NOMEM, GNI_RC_NO_MATCH };

	setup();
	must_do(GNI_CdmCreate(2, GNI_FIND_ALLOC_PTAG, COOKIE + 1, 0, &cdm));
	try_call(&c, "CdmAttach");
}

static gni_cq_handle_t cq;

static gni_return_t cq_create(void)
{
	return GNI_CqCreate(nic.h, 2000, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq);
}

static void cq_destroy(void)
{
	must_do(GNI_CqDestroy(cq));
}

static void test_cq_create(void)
{
	static const struct call c = { cq_create, cq_destroy, GNI_RC_ERROR_NOMEM, 0 };

	setup();
	try_call(&c, "CqCreate");
}

static unsigned char *fresh;
static gni_mem_handle_t mh;

static gni_return_t mem_register(void)
{
	return GNI_MemRegister(nic.h, (uint64_t)fresh, 600 * PAGE, nic.rx, 0, -1, &mh);
}

static void mem_deregister(void)
{
	must_do(GNI_MemDeregister(nic.h, &mh));
}

static void test_mem_register(void)
{
	static const struct call c = { mem_register, mem_deregister, GNI_RC_ERROR_NOMEM, 0 };

	setup();
	fresh = map_private(600 * PAGE);
	memset(fresh, 1, 600 * PAGE);
	try_call(&c, "MemRegister");
}

static gni_return_t dgram_post(void)
{
	return GNI_EpPostDataWId(ep, "data", 4, NULL, 0, 5);
}

static void dgram_cancel(void)
{
	gni_post_state_t state;
	uint32_t pe, id;

	must_do(GNI_EpPostDataCancelById(ep, 5));
	must_do(GNI_EpPostDataTestById(ep, 5, &state, &pe, &id));
}

static void test_dgram_post(void)
{
	static const struct call c = { dgram_post, dgram_cancel, GNI_RC_ERROR_NOMEM, 0 };

	setup();
	/* Bound to somebody who isn't there. */
	must_do(GNI_EpUnbind(ep));
	must_do(GNI_EpBind(ep, nic.pe, 99));
	try_call(&c, "EpPostDataWId");
}

static gni_return_t post_descr(void)
{
	return post(ep, &descr);
}

static void complete_descr(void)
{
	gni_return_t rc = complete(nic.tx, &descr, NULL);

	/* A source that can't be read to its end. */
	ok(rc == GNI_RC_SUCCESS || (crippled && rc == GNI_RC_TRANSACTION_ERROR), "%s",
	   rc_name(rc));
}

static void test_post_fma(void)
{
	static const struct call c = { post_descr, complete_descr, GNI_RC_ERROR_RESOURCE, 0 };
	unsigned char *src = map_private(PAGE);

	/* Too much for the stack, too little for the driver to find memory elsewhere. */
	setup();
	memset(src, 1, PAGE);
	desc_init(&descr, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&descr, src, NULL, &region, 0, PAGE / 2);
	/* The library's own memory comes first. */
	must_do(post_descr());
	complete_descr();
	try_call(&c, "PostFma");
}

static void test_post_rdma(void)
{
	static const struct call c = { post_descr, complete_descr, GNI_RC_ERROR_RESOURCE, 0 };

	setup();
	desc_init(&descr, GNI_POST_RDMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&descr, (void *)region.addr, &region.mh, &region, 32 * PAGE, 32 * PAGE);
	must_do(post_descr());
	complete_descr();
	try_call(&c, "PostRdma");
}

static gni_cq_handle_t many[64];

static gni_return_t vector_wait(void)
{
	gni_return_t rc;
	uint32_t which;

	rc = GNI_CqVectorMonitor(many, ARRAY_SIZE(many), 1, &which);
	return rc == GNI_RC_TIMEOUT ? GNI_RC_SUCCESS : rc;
}

static void nothing(void)
{
}

static void test_vector_monitor(void)
{
	static const struct call c = { vector_wait, nothing, GNI_RC_ERROR_NOMEM, 0 };
	unsigned int i;

	setup();
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = cq_open(&nic, 8, GNI_CQ_BLOCKING);
	try_call(&c, "CqVectorMonitor");
}

static const struct test tests[] = {
	CASE("CdmAttach", test_attach),
	CASE("CqCreate", test_cq_create),
	CASE("MemRegister", test_mem_register),
	CASE("EpPostDataWId", test_dgram_post),
	CASE("PostFma", test_post_fma),
	CASE("PostRdma", test_post_rdma),
	CASE("CqVectorMonitor", test_vector_monitor),
};

int main(void)
{
	return RUN_TESTS(tests);
}
