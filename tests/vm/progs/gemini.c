// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is different where the driver says that its devices are Gemini: limits of what
 * translates addresses, the form of translation tables, no collective engine. Needs
 * root, one NIC, and device=gemini.
 */
#include <sys/ioctl.h>

#include "common.h"

#define PTAG		77
#define JOB		5
#define BLOCK		(128UL << 10)
#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT

static gni_return_t limit(gni_job_limits_t l)
{
	return GNI_ConfigureJob(0, JOB, PTAG, COOKIE, &l);
}

static void join(struct nic *n)
{
	memset(n, 0, sizeof(*n));
	must_do(GNI_CdmCreate(1, PTAG, COOKIE, 0, &n->cdm));
	must_do(GNI_CdmAttach(n->cdm, 0, &n->pe, &n->h));
}

static void leave(struct nic *n)
{
	must_do(GNI_CdmDestroy(n->cdm));
}

/* Memory that begins where a block does. */
static char *blocks(unsigned int n)
{
	char *mem = map_private((n + 1) * BLOCK);

	return mem + (-(uintptr_t)mem & (BLOCK - 1));
}

static gni_return_t enter(struct nic *n, char *mem, size_t len, uint32_t flags,
			  gni_mem_handle_t *mh)
{
	return GNI_MemRegister(n->h, (uintptr_t)mem, len, NULL, flags, -1, mh);
}

static void test_kind(void)
{
	gni_nic_device_t type = GNI_DEVICE_ARIES;
	gni_job_res_desc_t job;
	gni_dev_res_desc_t dev;
	gni_ce_handle_t ce;
	struct nic n;

	is_rc(GNI_GetDeviceType(&type), GNI_RC_SUCCESS);
	is_u64(type, GNI_DEVICE_GEMINI);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_MRT, &dev), GNI_RC_SUCCESS);
	is_u64(dev.available, dev.total);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_CE, &dev), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_DLA, &dev), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_MRT, &job), GNI_RC_SUCCESS);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_GART, &job), GNI_RC_SUCCESS);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_IOMMU, &job), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_CE, &job), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_DLA, &job), GNI_RC_ERROR_RESOURCE);
	nic_open(&n, 0, 1);
	is_rc(GNI_CeCreate(n.h, &ce), GNI_RC_ILLEGAL_OP);
	nic_close(&n);
}

static void test_arguments(void)
{
	gni_job_limits_t l = no_limits();

	l.a.mrt_limit = -2;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
	l.a.mrt_limit = (1 << 24) + 1;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.b.gart_limit = -2;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
}

/* Limits of what it does not have. */
static void test_other_kind(void)
{
	struct kgni_ioc_job job = raw_job(JOB, PTAG, COOKIE);
	__s32 *fields[] = { &job.ce_limit, &job.iommu_limit, &job.dla_limit };
	int fd = raw_open(0);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		*fields[i] = 1;
		is_u64(ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job), GNI_RC_INVALID_PARAM, "%zu", i);
		*fields[i] = KGNI_JOB_KEEP;
	}
	close(fd);
}

static int attribute(gni_mem_handle_t *mh, gni_mem_handle_attr_t what)
{
	int value = -1;

	is_rc(GNI_MemHndlQueryAttr(mh, what, &value), GNI_RC_SUCCESS);
	return value;
}

static void test_mrt(void)
{
	gni_job_limits_t l = no_limits();
	gni_mem_handle_t mh[2], more;
	char *mem = blocks(4);
	struct nic n;

	l.a.mrt_limit = 3;
	is_rc(limit(l), GNI_RC_SUCCESS);
	join(&n);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 0, 3);
	is_rc(enter(&n, mem, 4 * BLOCK, 0, &more), GNI_RC_ERROR_RESOURCE);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 0, 3);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 0, 4095);
	is_rc(enter(&n, mem, 2 * BLOCK, 0, &mh[0]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 2, 3);
	is_u64(attribute(&mh[0], GNI_MEMHNDL_ATTR_MRT), 1);
	is_u64(attribute(&mh[0], GNI_MEMHNDL_ATTR_GART), 0);
	/* Two bytes may be in two blocks. */
	is_rc(enter(&n, mem + BLOCK - 1, 2, 0, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(enter(&n, mem + BLOCK - 1, 1, 0, &mh[1]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 3, 3);
	is_rc(enter(&n, mem, 1, 0, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_MemDeregister(n.h, &mh[0]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 1, 3);
	is_rc(enter(&n, mem + BLOCK - 1, 2, 0, &mh[0]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 3, 3);
	/* Pages of the other kind are no blocks. */
	is_rc(enter(&n, mem, 2 * BLOCK, GNI_MEM_USE_GART, &more), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 3, 3);
	/* What a program says of its memory does not get it around. */
	is_rc(enter(&n, mem, 1, GNI_MEM_PHYS_CONT, &more), GNI_RC_ERROR_RESOURCE);
	leave(&n);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 0, 1 << 24);
}

static void test_gart(void)
{
	gni_job_limits_t l = no_limits();
	gni_mem_handle_t mh[2], more;
	char *mem = blocks(1);
	struct nic n;

	l.b.gart_limit = 5;
	is_rc(limit(l), GNI_RC_SUCCESS);
	join(&n);
	is_rc(enter(&n, mem, 3 * PAGE, GNI_MEM_USE_GART, &mh[0]), GNI_RC_SUCCESS);
	is_rc(enter(&n, mem + PAGE - 1, 2, GNI_MEM_USE_GART, &mh[1]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_GART, 5, 5);
	job_resource_is(PTAG, GNI_JOB_RES_MRT, 0, 1 << 24);
	is_u64(attribute(&mh[0], GNI_MEMHNDL_ATTR_MRT), 0);
	is_u64(attribute(&mh[0], GNI_MEMHNDL_ATTR_GART), 1);
	is_rc(enter(&n, mem, 1, GNI_MEM_USE_GART, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(enter(&n, mem, 1, 0, &more), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(n.h, &mh[1]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_GART, 3, 5);
	is_rc(enter(&n, mem, 3 * PAGE, GNI_MEM_USE_GART, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(enter(&n, mem, 2 * PAGE, GNI_MEM_USE_GART, &more), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_GART, 5, 5);
	leave(&n);
	job_resource_is(PTAG, GNI_JOB_RES_GART, 0, 0x7fffffff);
}

/* Tables are of addresses alone, of blocks without replacements. */
static void test_table(void)
{
	uint32_t table[] = { 100, 1, 7 }, base = -1, gran = 0;
	gni_ntt_descriptor_t d = { .group_size = 3, .granularity = 1, .u.table = table };
	gni_job_limits_t l = no_limits();
	struct nic n;

	l.ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP;
	is_rc(GNI_ConfigureNTTandJob(0, JOB, PTAG, COOKIE, &l, &d, &base), GNI_RC_SUCCESS);
	is_rc(GNI_GetNttGran(0, &gran), GNI_RC_SUCCESS);
	is_u64(gran, 1);
	join(&n);
	is_u64(n.pe, 1, "the second entry is this NIC");
	leave(&n);
	d.u.table = NULL;
	is_rc(GNI_ConfigureNTT(0, &d, &base), GNI_RC_SUCCESS, "they were cleared");
}

/* Memory that is translated either way is moved like any other. */
static void test_moves(void)
{
	static const uint32_t flags[] = { 0, GNI_MEM_USE_GART };
	static const gni_post_type_t types[] = {
		GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET,
	};
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct region l, r;
	size_t i, j;
	struct nic n;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		region_open(&n, map_private(PAGE), PAGE, NULL, flags[i], &l);
		region_open(&n, map_private(PAGE), PAGE, NULL, flags[!i], &r);
		for (j = 0; j < ARRAY_SIZE(types); j++) {
			bool get = types[j] == GNI_POST_FMA_GET || types[j] == GNI_POST_RDMA_GET;

			fill((void *)(get ? r.addr : l.addr), PAGE, 10 * i + j);
			desc_init(&d, types[j], GLOBAL);
			desc_move(&d, (void *)l.addr, &l.mh, &r, 0, PAGE);
			is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
			ok(filled((void *)(get ? l.addr : r.addr), PAGE, 10 * i + j));
		}
	}
	must_do(GNI_EpDestroy(ep));
	nic_close(&n);
}

static const struct test tests[] = {
	CASE("what there is", test_kind),
	CASE("arguments", test_arguments),
	CASE("limits of another kind of devices", test_other_kind),
	CASE("limit of blocks", test_mrt),
	CASE("limit of pages", test_gart),
	CASE("a translation table", test_table),
	CASE("transfers", test_moves),
};

int main(void)
{
	return RUN_TESTS(tests);
}
