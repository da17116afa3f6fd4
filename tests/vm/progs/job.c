// SPDX-License-Identifier: GPL-2.0-only
/*
 * Communication domains, attachment, jobs, and what can be asked about devices,
 * jobs and versions.
 *
 *	job		needs two NICs and root
 *	job user	the same questions as a plain user
 *	job none	with no NIC on the machine
 */
#include <sys/resource.h>

#include "common.h"

#define OTHER_COOKIE	GNI_JOB_CREATE_COOKIE(0x4b48, 0)
#define PTAG		77
#define USER		1000

static gni_cdm_handle_t cdm_open(uint32_t id, uint8_t ptag, uint32_t cookie, uint32_t modes)
{
	gni_cdm_handle_t cdm = NULL;

	must_do(GNI_CdmCreate(id, ptag, cookie, modes, &cdm));
	return cdm;
}

static gni_return_t attach(gni_cdm_handle_t cdm, uint32_t device)
{
	gni_nic_handle_t nic;
	uint32_t pe;

	return GNI_CdmAttach(cdm, device, &pe, &nic);
}

/* One attachment of a fresh domain, which is gone again afterwards. */
static gni_return_t try_attach(uint8_t ptag, uint32_t cookie)
{
	gni_cdm_handle_t cdm = cdm_open(1, ptag, cookie, 0);
	gni_return_t rc = attach(cdm, 0);

	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	return rc;
}

static void become_user(void)
{
	must(!setgid(USER) && !setuid(USER));
}

static void test_cdm(void)
{
	gni_cdm_handle_t cdm = NULL;

	is_rc(GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0, NULL), GNI_RC_INVALID_PARAM);
	must_do(GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0, &cdm));
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_INVALID_PARAM, "destroyed twice");
	is_rc(GNI_CdmDestroy(NULL), GNI_RC_INVALID_PARAM);
	is_rc(attach(cdm, 0), GNI_RC_INVALID_PARAM, "after destruction");
}

static void test_attach(void)
{
	gni_cdm_handle_t cdm = cdm_open(0x80000001, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	uint32_t pe = 0, address = 0, cpu = ~0U;
	gni_nic_handle_t nic = NULL;

	is_rc(GNI_CdmAttach(cdm, 0, NULL, &nic), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CdmAttach(cdm, 0, &pe, NULL), GNI_RC_INVALID_PARAM);
	is_rc(attach(NULL, 0), GNI_RC_INVALID_PARAM);
	is_rc(attach(cdm, device_count()), GNI_RC_NO_MATCH);
	is_rc(attach(cdm, 63), GNI_RC_NO_MATCH);
	is_rc(attach(cdm, 1000000), GNI_RC_NO_MATCH);
	is_rc(GNI_CdmAttach(cdm, 0, &pe, &nic), GNI_RC_SUCCESS, "after failures");
	ok(nic);
	is_rc(GNI_CdmGetNicAddress(0, &address, &cpu), GNI_RC_SUCCESS);
	is_u64(pe, address);
	ok(cpu < (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	is_rc(attach(cdm, 0), GNI_RC_INVALID_STATE, "twice");
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
}

static void test_nearest(void)
{
	gni_cdm_handle_t cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	uint32_t pe[2] = { 0 }, address, cpu;
	gni_nic_handle_t nic[2] = { NULL };
	int i;

	must(device_count() == 2);
	for (i = 0; i < 2; i++) {
		is_rc(GNI_CdmAttach(cdm, -1, &pe[i], &nic[i]), GNI_RC_SUCCESS);
		is_rc(GNI_CdmGetNicAddress(i, &address, &cpu), GNI_RC_SUCCESS);
		is_u64(pe[i], address, "NIC %d", i);
	}
	ok(nic[0] != nic[1]);
	is_rc(attach(cdm, -1), GNI_RC_INVALID_STATE, "no device left");
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	is_rc(attach(cdm, 0), GNI_RC_SUCCESS);
	is_rc(GNI_CdmAttach(cdm, -1, &pe[0], &nic[0]), GNI_RC_SUCCESS);
	is_u64(pe[0], pe[1], "the device that is left");
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
}

static void test_many_domains(void)
{
	gni_cdm_handle_t cdm[16];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cdm); i++) {
		cdm[i] = cdm_open(i, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
		is_rc(attach(cdm[i], 0), GNI_RC_SUCCESS, "domain %u", i);
	}
	/* The same instance id again is not the driver's concern. */
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, COOKIE), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(cdm); i++)
		is_rc(GNI_CdmDestroy(cdm[i]), GNI_RC_SUCCESS);
}

static void test_modes(void)
{
	static const uint32_t modes[] = {
		GNI_CDM_MODE_FORK_NOCOPY | GNI_CDM_MODE_ERR_NO_KILL,
		GNI_CDM_MODE_FORK_FULLCOPY | GNI_CDM_MODE_CACHED_AMO_ENABLED,
		GNI_CDM_MODE_FORK_PARTCOPY | GNI_CDM_MODE_ERR_NO_KILL |
			GNI_CDM_MODE_FAST_DATAGRAM_POLL | GNI_CDM_MODE_FMA_SHARED |
			GNI_CDM_MODE_FMA_SMALL_WINDOW | GNI_CDM_MODE_MDD_SHARED,
		GNI_CDM_MODE_FMA_DEDICATED | GNI_CDM_MODE_MDD_DEDICATED |
			GNI_CDM_MODE_BTE_SINGLE_CHANNEL | GNI_CDM_MODE_DUAL_EVENTS,
		GNI_CDM_MODE_FLBTE_DISABLE | GNI_CDM_MODE_USE_PCI_IOMMU,
		GNI_CDM_MODE_CQ_NIC_LOCAL_PLACEMENT | GNI_CDM_MODE_ERR_ALL_KILL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		gni_cdm_handle_t cdm = cdm_open(i, GNI_FIND_ALLOC_PTAG, COOKIE, modes[i]);

		is_rc(attach(cdm, 0), GNI_RC_SUCCESS, "modes %#x", modes[i]);
		is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	}
}

static void finds_ptag(void *arg)
{
	uint8_t ptag = 0;

	(void)arg;
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_u64(ptag, PTAG);
}

static void test_ptags(void)
{
	gni_cdm_handle_t cdm;

	cdm = cdm_open(1, PTAG, COOKIE, 0);
	is_rc(attach(cdm, 0), GNI_RC_SUCCESS);
	/* In another process, since a ptag that was asked for stays while that lives. */
	reap(peer(finds_ptag, NULL));
	is_rc(try_attach(PTAG, COOKIE), GNI_RC_SUCCESS, "same job");
	is_rc(try_attach(PTAG, OTHER_COOKIE), GNI_RC_PERMISSION_ERROR, "other cookie");
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, COOKIE), GNI_RC_SUCCESS, "found by cookie");
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	is_rc(try_attach(PTAG, OTHER_COOKIE), GNI_RC_SUCCESS, "the old job has ended");
	/* Tags of the kernel's own are for root; 0 is nobody's. */
	is_rc(try_attach(GNI_PTAG_LND, COOKIE), GNI_RC_SUCCESS);
	is_rc(try_attach(GNI_PTAG_OFED, COOKIE), GNI_RC_SUCCESS);
	is_rc(try_attach(GNI_PTAG_HSNBOOT, COOKIE), GNI_RC_SUCCESS);
	if (GNI_CdmCreate(1, 0, COOKIE, 0, &cdm) == GNI_RC_SUCCESS)
		is_rc(attach(cdm, 0), GNI_RC_INVALID_PARAM);
}

static void test_found_ptag(void)
{
	gni_cdm_handle_t cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	gni_cdm_handle_t other = cdm_open(1, GNI_FIND_ALLOC_PTAG, OTHER_COOKIE, 0);
	uint8_t ptag = 0, other_ptag = 0;

	is_rc(attach(cdm, 0), GNI_RC_SUCCESS);
	is_rc(attach(other, 0), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(0, OTHER_COOKIE, &other_ptag), GNI_RC_SUCCESS);
	ok(ptag >= GNI_PTAG_USER_START && ptag <= GNI_PTAG_USER_END, "ptag %u", ptag);
	ok(ptag != other_ptag);
	is_rc(try_attach(ptag, COOKIE), GNI_RC_SUCCESS);
	is_rc(try_attach(ptag, OTHER_COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	is_rc(GNI_CdmDestroy(other), GNI_RC_SUCCESS);
}

static void test_get_ptag(void)
{
	uint8_t ptag = 0;

	/* Before there is any domain, as launchers' clients do. */
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	ok(ptag >= GNI_PTAG_USER_START && ptag <= GNI_PTAG_USER_END, "ptag %u", ptag);
	is_rc(try_attach(ptag, COOKIE), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(device_count(), COOKIE, &ptag), GNI_RC_NO_MATCH);
	is_rc(GNI_GetPtag(0, COOKIE, NULL), GNI_RC_INVALID_PARAM);
}

static void child_gets_ptag(void *arg)
{
	uint8_t ptag = 0;

	(void)arg;
	is_rc(GNI_GetPtag(0, OTHER_COOKIE, &ptag), GNI_RC_SUCCESS);
	shm->word[0] = ptag;
}

/* What a child asked for ends with the child, though the parent asked before. */
static void test_get_ptag_forked(void)
{
	uint8_t ptag = 0;

	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	reap(peer(child_gets_ptag, NULL));
	is_rc(try_attach(shm->word[0], COOKIE + 2), GNI_RC_SUCCESS, "ptag %u is free",
	      (unsigned int)shm->word[0]);
}

static void test_ptags_run_out(void)
{
	gni_cdm_handle_t cdm[256];
	gni_return_t rc = GNI_RC_SUCCESS;
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(cdm) && rc == GNI_RC_SUCCESS; n++) {
		cdm[n] = cdm_open(n, GNI_FIND_ALLOC_PTAG, COOKIE + n, GNI_CDM_MODE_FMA_SHARED);
		rc = attach(cdm[n], 0);
	}
	is_rc(rc, GNI_RC_ERROR_RESOURCE, "job %u", n);
	/* One tag in the middle is for a kernel client. */
	is_u64(n - 1, GNI_PTAG_USER_END - GNI_PTAG_USER_START);
	if (rc == GNI_RC_ERROR_RESOURCE) {
		uint8_t ptag;

		is_rc(GNI_GetPtag(0, COOKIE + 1000, &ptag), GNI_RC_ERROR_RESOURCE);
		is_rc(GNI_CdmDestroy(cdm[3]), GNI_RC_SUCCESS);
		is_rc(attach(cdm[n - 1], 0), GNI_RC_SUCCESS, "after another job's end");
	}
}

/* --- users --------------------------------------------------------------------- */

static void user_attaches(void *arg)
{
	uint8_t ptag = 0;

	(void)arg;
	become_user();
	is_rc(try_attach(PTAG, COOKIE), GNI_RC_PERMISSION_ERROR, "root's job by tag");
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, COOKIE), GNI_RC_SUCCESS, "a job of its own");
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	ok(ptag != PTAG, "root's cookie leads to root's job: tag %u", ptag);
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, OTHER_COOKIE), GNI_RC_SUCCESS, "a job of its own");
}

static void test_other_user(void)
{
	gni_cdm_handle_t cdm = cdm_open(1, PTAG, COOKIE, 0);

	is_rc(attach(cdm, 0), GNI_RC_SUCCESS);
	reap(peer(user_attaches, NULL));
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
}

static void user_holds_job(void *arg)
{
	gni_cdm_handle_t cdm;

	(void)arg;
	become_user();
	cdm = cdm_open(1, PTAG, COOKIE, 0);
	is_rc(attach(cdm, 0), GNI_RC_SUCCESS);
	give(0);
	take(1);
}

static void test_root_joins(void)
{
	pid_t pid = peer(user_holds_job, NULL);
	uint8_t ptag = 0;

	take(0);
	is_rc(try_attach(PTAG, COOKIE), GNI_RC_SUCCESS, "root joins by tag");
	/* But is not lured in by a cookie. */
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, COOKIE), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	ok(ptag != PTAG, "the user's cookie leads to the user's job: tag %u", ptag);
	give(1);
	reap(pid);
}

static void user_wants_kernel_tags(void *arg)
{
	(void)arg;
	become_user();
	is_rc(try_attach(GNI_PTAG_LND, COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(try_attach(GNI_PTAG_OFED, COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(try_attach(GNI_PTAG_HSNBOOT, COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(try_attach(GNI_PTAG_USER_START, COOKIE), GNI_RC_SUCCESS);
	is_rc(try_attach(GNI_PTAG_USER_END, COOKIE), GNI_RC_SUCCESS);
}

static void test_kernel_tags(void)
{
	reap(peer(user_wants_kernel_tags, NULL));
}

/* A plain user can't take all tags from the others. */
static void user_wants_all(void *arg)
{
	gni_return_t rc = GNI_RC_SUCCESS;
	unsigned int n;

	(void)arg;
	become_user();
	for (n = 0; n < 255 && rc == GNI_RC_SUCCESS; n++)
		rc = attach(cdm_open(n, GNI_FIND_ALLOC_PTAG, OTHER_COOKIE + n,
				     GNI_CDM_MODE_FMA_SHARED), 0);
	is_rc(rc, GNI_RC_ERROR_RESOURCE);
	ok(n > 16 && n < 250, "%u jobs", n);
	give(0);
	take(1);
}

static void test_user_limit(void)
{
	pid_t pid = peer(user_wants_all, NULL);

	take(0);
	is_rc(try_attach(GNI_FIND_ALLOC_PTAG, COOKIE - 1), GNI_RC_SUCCESS);
	give(1);
	reap(pid);
}

/* So many attachments by each of so many processes would be all that the device has. */
#define HOARDERS	5

static void user_hoards(void *arg)
{
	struct rlimit files = { 1024, 1024 };
	gni_return_t rc = GNI_RC_SUCCESS;
	int job = *(int *)arg;
	unsigned int n;

	setrlimit(RLIMIT_NOFILE, &files);
	become_user();
	for (n = 0; n < 1000 && rc == GNI_RC_SUCCESS; n++)
		rc = attach(cdm_open(n, GNI_FIND_ALLOC_PTAG, OTHER_COOKIE + job, 0), 0);
	is_rc(rc, GNI_RC_ERROR_RESOURCE);
	give(0);
	take(1);
}

/* Nor with one job after another all of what jobs have. */
static void test_user_share(void)
{
	pid_t pid[HOARDERS];
	int i;

	for (i = 0; i < HOARDERS; i++) {
		pid[i] = peer(user_hoards, &i);
		take(0);
	}
	is_rc(try_attach(PTAG, COOKIE), GNI_RC_SUCCESS, "what is left for others");
	for (i = 0; i < HOARDERS; i++)
		give(1);
	for (i = 0; i < HOARDERS; i++)
		reap(pid[i]);
}

/* --- resources ----------------------------------------------------------------- */

static uint64_t dev_available(gni_dev_res_t type)
{
	gni_dev_res_desc_t desc = { 0 };

	is_rc(GNI_GetDevResInfo(0, type, &desc), GNI_RC_SUCCESS, "type %d", type);
	ok(desc.available <= desc.total, "type %d", type);
	is_u64(desc.available + desc.held + desc.reserved, desc.total, "type %d", type);
	return desc.available;
}

static uint64_t job_used(uint8_t ptag, gni_job_res_t type)
{
	gni_job_res_desc_t desc = { 0 };

	is_rc(GNI_GetJobResInfo(0, ptag, type, &desc), GNI_RC_SUCCESS, "type %d", type);
	ok(desc.used <= desc.limit, "type %d: %llu of %llu", type,
	   (unsigned long long)desc.used, (unsigned long long)desc.limit);
	return desc.used;
}

static void test_fma_runs_out(void)
{
	struct rlimit files = { 4096, 4096 };
	static gni_cdm_handle_t cdm[4000];
	gni_return_t rc = GNI_RC_SUCCESS;
	gni_job_res_desc_t job = { 0 };
	unsigned int n;

	setrlimit(RLIMIT_NOFILE, &files);
	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_FMA, &job));
	must(job.limit > 0 && job.limit < ARRAY_SIZE(cdm));
	ok(job.limit <= dev_available(GNI_DEV_RES_FMA));
	for (n = 0; n < ARRAY_SIZE(cdm) && rc == GNI_RC_SUCCESS; n++) {
		cdm[n] = cdm_open(n, PTAG, COOKIE, n & 1 ? GNI_CDM_MODE_FMA_DEDICATED : 0);
		rc = attach(cdm[n], 0);
	}
	is_rc(rc, GNI_RC_ERROR_RESOURCE);
	is_u64(n - 1, job.limit);
	is_u64(job_used(PTAG, GNI_JOB_RES_FMA), job.limit);
	cdm[0] = cdm_open(n, PTAG, COOKIE, GNI_CDM_MODE_FMA_SHARED);
	is_rc(attach(cdm[0], 0), GNI_RC_SUCCESS, "shared needs none");
	is_rc(GNI_CdmDestroy(cdm[1]), GNI_RC_SUCCESS);
	is_rc(attach(cdm[n - 1], 0), GNI_RC_SUCCESS, "once one is free");
}

static void test_file_limit(void)
{
	struct rlimit files = { 3, 3 };
	gni_cdm_handle_t cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	gni_comp_chan_handle_t chan;
	gni_nic_handle_t nic;
	uint32_t pe;

	must(!setrlimit(RLIMIT_NOFILE, &files));
	is_rc(attach(cdm, 0), GNI_RC_ERROR_RESOURCE);
	close(0);
	is_rc(GNI_CdmAttach(cdm, 0, &pe, &nic), GNI_RC_SUCCESS, "with a file descriptor free");
	is_rc(GNI_CompChanCreate(nic, &chan), GNI_RC_ERROR_RESOURCE);
}

/* Not a byte more for this process; what it has it keeps. */
static void use_up_memory(void)
{
	struct rlimit limit = { PAGE, PAGE };
	size_t size;

	must(!setrlimit(RLIMIT_AS, &limit));
	for (size = 65536; size >= 16; size /= 2) {
		void *volatile p;

		do
			p = malloc(size);
		while (p);
	}
}

static void no_memory_at_first(void *arg)
{
	gni_cdm_handle_t cdm;

	(void)arg;
	use_up_memory();
	is_rc(GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0, &cdm), GNI_RC_ERROR_NOMEM);
}

static void no_memory_to_attach(void *arg)
{
	gni_cdm_handle_t cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);

	(void)arg;
	use_up_memory();
	is_rc(attach(cdm, 0), GNI_RC_ERROR_NOMEM);
}

static void no_memory_for_objects(void *arg)
{
	gni_cdm_handle_t cdm = cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0);
	gni_comp_chan_handle_t chan;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	uint32_t pe;

	(void)arg;
	must_do(GNI_CdmAttach(cdm, 0, &pe, &nic));
	use_up_memory();
	is_rc(GNI_EpCreate(nic, NULL, &ep), GNI_RC_ERROR_NOMEM);
	is_rc(GNI_CqCreate(nic, 16, 0, 0, NULL, NULL, &cq), GNI_RC_ERROR_NOMEM);
	is_rc(GNI_CompChanCreate(nic, &chan), GNI_RC_ERROR_NOMEM);
}

static void no_memory_for_requests(void *arg)
{
	gni_post_descriptor_t d;
	gni_smsg_attr_t attr = {
		.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 1, .msg_maxsize = 60000,
	};
	gni_ep_handle_t ep;
	struct region r;
	struct nic n;

	(void)arg;
	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	region_open(&n, map_private(65536), 65536, NULL, 0, &r);
	attr.msg_buffer = (void *)r.addr;
	attr.buff_size = 65536;
	attr.mem_hndl = r.mh;
	use_up_memory();
	is_rc(GNI_SmsgInit(ep, &attr, &attr), GNI_RC_ERROR_NOMEM);
	desc_init(&d, GNI_POST_RDMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, (void *)r.addr, &r.mh, &r, 0, 8);
	is_rc(GNI_PostRdma(ep, &d), GNI_RC_ERROR_NOMEM);
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, (void *)r.addr, NULL, &r, 0, 8);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_ERROR_NOMEM);
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS, "nothing is outstanding");
	is_empty(n.tx);
}

static void test_no_memory(void)
{
	reap(peer(no_memory_at_first, NULL));
	reap(peer(no_memory_to_attach, NULL));
	reap(peer(no_memory_for_objects, NULL));
	reap(peer(no_memory_for_requests, NULL));
}

static void test_counts(void)
{
	uint64_t fma = dev_available(GNI_DEV_RES_FMA), cqs, mdds;
	gni_mem_handle_t mh[3];
	gni_cdm_handle_t cdm;
	gni_cq_handle_t cq;
	gni_nic_handle_t nic;
	char *buf = map_private(PAGE);
	uint32_t pe;
	int i;

	cqs = dev_available(GNI_DEV_RES_CQ);
	mdds = dev_available(GNI_DEV_RES_MDD);
	cdm = cdm_open(1, PTAG, COOKIE, 0);
	must_do(GNI_CdmAttach(cdm, 0, &pe, &nic));
	is_u64(dev_available(GNI_DEV_RES_FMA), fma - 1);
	is_u64(job_used(PTAG, GNI_JOB_RES_FMA), 1);
	is_u64(job_used(PTAG, GNI_JOB_RES_CQ), 0);
	is_u64(job_used(PTAG, GNI_JOB_RES_MDD), 0);
	must_do(GNI_CqCreate(nic, 10, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
	is_u64(dev_available(GNI_DEV_RES_CQ), cqs - 1);
	is_u64(job_used(PTAG, GNI_JOB_RES_CQ), 1);
	for (i = 0; i < 3; i++)
		must_do(GNI_MemRegister(nic, (uint64_t)buf, PAGE, NULL, 0, -1, &mh[i]));
	is_u64(job_used(PTAG, GNI_JOB_RES_MDD), 3);
	is_u64(dev_available(GNI_DEV_RES_MDD), mdds - 3);
	for (i = 0; i < 3; i++)
		is_rc(GNI_MemDeregister(nic, &mh[i]), GNI_RC_SUCCESS);
	is_u64(job_used(PTAG, GNI_JOB_RES_MDD), 0);
	is_u64(dev_available(GNI_DEV_RES_MDD), mdds);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	is_u64(job_used(PTAG, GNI_JOB_RES_CQ), 0);
	is_u64(dev_available(GNI_DEV_RES_CQ), cqs);
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	is_u64(dev_available(GNI_DEV_RES_FMA), fma);
	is_u64(job_used(PTAG, GNI_JOB_RES_FMA), 0);
}

/* What destroying a domain takes with it. */
static void test_destroy_cleans(void)
{
	uint64_t cqs = dev_available(GNI_DEV_RES_CQ), mdds = dev_available(GNI_DEV_RES_MDD);
	gni_mem_handle_t mh;
	gni_ep_handle_t ep;
	struct nic n;

	nic_open(&n, 0, 1);
	mem_open(&n, map_private(PAGE), PAGE, n.rx, 0, &mh);
	ep = ep_open(&n, n.pe, n.id);
	is_rc(GNI_CdmDestroy(n.cdm), GNI_RC_SUCCESS);
	is_u64(dev_available(GNI_DEV_RES_CQ), cqs);
	is_u64(dev_available(GNI_DEV_RES_MDD), mdds);
	is_rc(GNI_EpUnbind(ep), GNI_RC_INVALID_PARAM, "went with the domain");
	is_rc(GNI_CqDestroy(n.tx), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemDeregister(n.h, &mh), GNI_RC_INVALID_PARAM);
}

static void test_res_info(void)
{
	gni_job_res_desc_t job;
	gni_dev_res_desc_t dev;
	gni_return_t rc;
	int type, absent = 0;

	for (type = GNI_DEV_RES_FIRST + 1; type < GNI_DEV_RES_LAST; type++) {
		rc = GNI_GetDevResInfo(0, type, &dev);
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "device %d: %s", type,
		   rc_name(rc));
		absent += rc != GNI_RC_SUCCESS;
	}
	ok(absent, "Aries has no MRT");
	absent = 0;
	for (type = GNI_JOB_RES_FIRST + 1; type < GNI_JOB_RES_LAST; type++) {
		rc = GNI_GetJobResInfo(0, PTAG, type, &job);
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "job %d: %s", type,
		   rc_name(rc));
		absent += rc != GNI_RC_SUCCESS;
	}
	ok(absent, "Aries has no GART");
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_FIRST, &dev), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_LAST, &dev), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetDevResInfo(0, -1, &dev), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_CQ, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetDevResInfo(device_count(), GNI_DEV_RES_CQ, &dev), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_FIRST, &job), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_LAST, &job), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_CQ, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(0, 0, GNI_JOB_RES_CQ, &job), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(device_count(), PTAG, GNI_JOB_RES_CQ, &job),
	      GNI_RC_INVALID_PARAM);
}

/* What clients divide by the number of processes must leave something. */
static void test_limits(void)
{
	gni_job_res_desc_t fma, cq, mdd;

	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_FMA, &fma));
	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_CQ, &cq));
	must_do(GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_MDD, &mdd));
	ok(fma.limit >= 64, "%llu", (unsigned long long)fma.limit);
	ok(cq.limit / 8 >= 64, "%llu", (unsigned long long)cq.limit);
	ok(mdd.limit >= 4095, "%llu", (unsigned long long)mdd.limit);
}

static void test_devices(void)
{
	uint32_t pe[2] = { 0 }, cpu, gran = 0;
	gni_nic_device_t type = GNI_DEVICE_GEMINI;
	int n = 0, ids[4] = { -1, -1, -1, -1 };

	is_rc(GNI_GetNumLocalDevices(&n), GNI_RC_SUCCESS);
	is_u64(n, 2);
	is_rc(GNI_GetNumLocalDevices(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetLocalDeviceIds(1, ids), GNI_RC_SUCCESS);
	ok(ids[0] == 0 && ids[1] == -1);
	is_rc(GNI_GetLocalDeviceIds(4, ids), GNI_RC_SUCCESS);
	ok(ids[0] == 0 && ids[1] == 1 && ids[2] == -1);
	is_rc(GNI_GetLocalDeviceIds(4, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetLocalDeviceIds(0, ids), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetLocalDeviceIds(-1, ids), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetDeviceType(&type), GNI_RC_SUCCESS);
	is_u64(type, GNI_DEVICE_ARIES);
	is_rc(GNI_GetDeviceType(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetNttGran(0, &gran), GNI_RC_SUCCESS);
	ok(gran && !(gran & (gran - 1)), "%u", gran);
	is_rc(GNI_GetNttGran(0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetNttGran(device_count(), &gran), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CdmGetNicAddress(0, &pe[0], &cpu), GNI_RC_SUCCESS);
	is_rc(GNI_CdmGetNicAddress(1, &pe[1], &cpu), GNI_RC_SUCCESS);
	is_u64(pe[1], pe[0] + 1);
	is_rc(GNI_CdmGetNicAddress(2, &pe[1], &cpu), GNI_RC_NO_MATCH);
	is_rc(GNI_CdmGetNicAddress(-1, &pe[1], &cpu), GNI_RC_NO_MATCH);
	is_rc(GNI_CdmGetNicAddress(0, NULL, &cpu), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CdmGetNicAddress(0, &pe[0], NULL), GNI_RC_INVALID_PARAM);
}

static void test_version(void)
{
	gni_version_info_t info;
	uint32_t version = 0;

	memset(&info, 0xff, sizeof(info));
	is_rc(GNI_GetVersion(&version), GNI_RC_SUCCESS);
	is_rc(GNI_GetVersion(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetVersionInformation(&info), GNI_RC_SUCCESS);
	is_rc(GNI_GetVersionInformation(NULL), GNI_RC_INVALID_PARAM);
	is_u64(info.ugni_version, version);
	ok(GNI_GET_MAJOR(version) == GNI_MAJOR_REV && GNI_GET_MINOR(version) >= GNI_MINOR_REV);
	ok(GNI_GET_MAJOR(info.kgni_version) == GNI_MAJOR_REV &&
	   GNI_GET_MINOR(info.kgni_version) >= GNI_MINOR_REV);
	ok(memchr(info.ugni_build_string, 0, sizeof(info.ugni_build_string)));
	ok(memchr(info.kgni_build_string, 0, sizeof(info.kgni_build_string)));
	ok(info.ugni_build_string[0] && info.kgni_build_string[0]);
}

static void test_stats(void)
{
	uint32_t value = 77;
	struct nic n;
	int i;

	nic_open(&n, 0, 1);
	for (i = 0; i < GNI_NUM_STATS; i++) {
		is_rc(GNI_GetNicStat(n.h, i, &value), GNI_RC_SUCCESS, "%d", i);
		is_u64(value, 0, "%d", i);
		is_rc(GNI_ResetNicStat(n.h, i), GNI_RC_SUCCESS, "%d", i);
		ok(gni_statistic_str[i] && *gni_statistic_str[i], "%d", i);
	}
	is_rc(GNI_GetNicStat(n.h, GNI_NUM_STATS, &value), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetNicStat(n.h, -1, &value), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetNicStat(n.h, 0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetNicStat(NULL, 0, &value), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResetNicStat(n.h, GNI_NUM_STATS), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ResetNicStat(NULL, 0), GNI_RC_INVALID_PARAM);
	for (i = 0; i <= GNI_RC_ERROR_NOMEM; i++)
		ok(gni_err_str[i] && *gni_err_str[i], "%d", i);
	nic_close(&n);
}

/* --- endpoints ----------------------------------------------------------------- */

static void test_endpoints(void)
{
	gni_ep_handle_t ep = NULL, other = NULL;
	struct nic n, m;

	nic_open(&n, 0, 1);
	nic_open(&m, 0, 2);
	is_rc(GNI_EpCreate(n.h, n.tx, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpCreate(NULL, n.tx, &ep), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpCreate(n.h, m.tx, &ep), GNI_RC_INVALID_PARAM, "queue of another NIC");
	is_rc(GNI_EpCreate(n.h, NULL, &other), GNI_RC_SUCCESS, "no queue");
	is_rc(GNI_EpCreate(n.h, n.tx, &ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(ep), GNI_RC_INVALID_PARAM, "never bound");
	is_rc(GNI_EpSetEventData(ep, 1, 2), GNI_RC_SUCCESS);
	is_rc(GNI_EpBind(ep, n.pe, 0xffffffff), GNI_RC_SUCCESS);
	is_rc(GNI_EpBind(ep, n.pe, 5), GNI_RC_INVALID_PARAM, "bound already");
	is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpUnbind(ep), GNI_RC_INVALID_PARAM, "unbound already");
	is_rc(GNI_EpBind(ep, 9999, 5), GNI_RC_SUCCESS, "nobody's address is no error yet");
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS, "while bound");
	is_rc(GNI_EpDestroy(ep), GNI_RC_INVALID_PARAM, "twice");
	is_rc(GNI_EpSetEventData(ep, 1, 2), GNI_RC_INVALID_PARAM, "stale");
	is_rc(GNI_EpBind(ep, n.pe, 5), GNI_RC_INVALID_PARAM, "stale");
	is_rc(GNI_EpDestroy(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpDestroy(other), GNI_RC_SUCCESS);
	nic_close(&n);
	nic_close(&m);
}

/* Clients use the low 24 bits of handles as keys. */
static void test_many_endpoints(void)
{
	enum { N = 4000 };
	static gni_ep_handle_t ep[N];
	struct nic n;
	unsigned char *seen = calloc(1, 1 << 24);
	int i;

	nic_open(&n, 0, 1);
	must(seen);
	for (i = 0; i < N; i++) {
		ep[i] = ep_open(&n, n.pe, i);
		ok(!seen[(uintptr_t)ep[i] & 0xffffff], "endpoint %d", i);
		seen[(uintptr_t)ep[i] & 0xffffff] = 1;
	}
	for (i = 0; i < N; i++)
		is_rc(GNI_EpDestroy(ep[i]), GNI_RC_SUCCESS, "endpoint %d", i);
	nic_close(&n);
}

/* --- no device ----------------------------------------------------------------- */

static void test_no_device(void)
{
	gni_nic_device_t type;
	gni_dev_res_desc_t dev;
	gni_job_res_desc_t job;
	uint32_t pe, cpu, version;
	uint8_t ptag;
	int n;

	is_rc(GNI_GetNumLocalDevices(&n), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetLocalDeviceIds(1, &n), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_GetDeviceType(&type), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_CdmGetNicAddress(0, &pe, &cpu), GNI_RC_NO_MATCH);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_NO_MATCH);
	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_CQ, &dev), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetJobResInfo(0, 3, GNI_JOB_RES_CQ, &job), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetVersion(&version), GNI_RC_SUCCESS);
	is_rc(attach(cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0), 0), GNI_RC_NO_MATCH);
	is_rc(attach(cdm_open(1, GNI_FIND_ALLOC_PTAG, COOKIE, 0), -1), GNI_RC_INVALID_STATE);
}

#define USER_TESTS							\
	CASE("domains: create and destroy", test_cdm),			\
	CASE("attach to a device", test_attach),				\
	CASE("attach to the nearest device", test_nearest),		\
	CASE("many domains in a process", test_many_domains),		\
	CASE("modes", test_modes),					\
	CASE("an automatic ptag is a job's own", test_found_ptag),	\
	CASE("GetPtag", test_get_ptag),					\
	CASE("GetPtag in a child", test_get_ptag_forked),		\
	CASE("FMA descriptors run out", test_fma_runs_out),		\
	CASE("file descriptors run out", test_file_limit),		\
	CASE("memory runs out", test_no_memory),			\
	CASE("counts of resources follow use", test_counts),		\
	CASE("destroying a domain gives all back", test_destroy_cleans),	\
	CASE("resource queries", test_res_info),				\
	CASE("limits of a job", test_limits),				\
	CASE("devices", test_devices),					\
	CASE("versions", test_version),					\
	CASE("statistics and strings", test_stats),			\
	CASE("endpoints", test_endpoints),				\
	CASE("many endpoints", test_many_endpoints)

static const struct test tests[] = {
	USER_TESTS,
	CASE("ptags and cookies", test_ptags),
	CASE("ptags run out", test_ptags_run_out),
	CASE("another user's job", test_other_user),
	CASE("root joins a user's job", test_root_joins),
	CASE("tags of the kernel", test_kernel_tags),
	CASE("a user can't take all tags", test_user_limit),
	CASE("a user can't take all FMA descriptors", test_user_share),
};

static const struct test user_tests[] = { USER_TESTS };
static const struct test no_device_tests[] = {
	CASE("no device on the machine", test_no_device),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	if (argc > 1 && !strcmp(argv[1], "none"))
		return RUN_TESTS(no_device_tests);
	return RUN_TESTS(tests);
}
