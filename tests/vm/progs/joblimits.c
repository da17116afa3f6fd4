// SPDX-License-Identifier: GPL-2.0-only
/*
 * Configured jobs: who may be in them, what they may have, how they end.
 *
 *	joblimits		needs root
 *	joblimits user		a plain user may configure nothing
 *	joblimits required	with require_job=1, root
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "common.h"

#define PTAG		77
#define JOB		0x123456789abcdef0ULL
#define ALICE		1000
#define BOB		1001
#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT

static gni_return_t configure(uint64_t job, uint8_t ptag, uint32_t cookie)
{
	return GNI_ConfigureJob(0, job, ptag, cookie, NULL);
}

static gni_return_t limit(gni_job_limits_t l)
{
	return GNI_ConfigureJob(0, JOB, PTAG, COOKIE, &l);
}

static gni_return_t attach(struct nic *n, uint8_t ptag, uint32_t cookie, uint32_t modes)
{
	memset(n, 0, sizeof(*n));
	must_do(GNI_CdmCreate(1, ptag, cookie, modes, &n->cdm));
	return GNI_CdmAttach(n->cdm, 0, &n->pe, &n->h);
}

static void leave(struct nic *n)
{
	must_do(GNI_CdmDestroy(n->cdm));
}

/* The job is there no more, once somebody was in it. */
static void end_job(uint8_t ptag, uint32_t cookie)
{
	struct nic n;

	is_rc(attach(&n, ptag, cookie, 0), GNI_RC_SUCCESS);
	leave(&n);
}

static void be(uint32_t uid)
{
	must(!setgid(uid) && !setuid(uid));
}

/* --- arguments -------------------------------------------------------------------- */

static void test_arguments(void)
{
	gni_job_limits_t l = no_limits();

	is_rc(GNI_ConfigureJob(device_count(), JOB, PTAG, COOKIE, NULL), GNI_RC_NO_MATCH);
	is_rc(GNI_ConfigureJob(~0U, JOB, PTAG, COOKIE, NULL), GNI_RC_NO_MATCH);
	is_rc(configure(JOB, 0, COOKIE), GNI_RC_INVALID_PARAM);
	l.mdd_limit = -2;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
	l.mdd_limit = 16385;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.fma_limit = 2049;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.cq_limit = 16385;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.bte_limit = (1 << 22) + 1;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.a.m.ce_limit = 0x10;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
	l = no_limits();
	l.b.dla_limit = -2;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
	l.b.dla_limit = 65537;
	is_rc(limit(l), GNI_RC_ERROR_RESOURCE);
	l = no_limits();
	l.ntt_ctrl = 2;
	is_rc(limit(l), GNI_RC_INVALID_PARAM);
	l = no_limits();
	l.ntt_base = 0;
	l.ntt_size = 1;
	is_rc(limit(l), GNI_RC_NO_MATCH, "entries that are not set");
	/* Nothing of it has made a job. */
	is_rc(configure(JOB + 1, PTAG, COOKIE + 1), GNI_RC_SUCCESS);
	end_job(PTAG, COOKIE + 1);
	l = no_limits();
	l.a.m.ce_limit = GNI_JOB_CTRL_ALL_CE_MASK;
	l.a.m.iommu_limit = 200;
	l.b.dla_limit = 16;
	is_rc(limit(l), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 0, 4095);
	job_resource_is(PTAG, GNI_JOB_RES_DLA, 0, 16);
	end_job(PTAG, COOKIE);
}

static void test_triplets(void)
{
	struct nic n;

	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_SUCCESS);
	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_SUCCESS, "again");
	is_rc(configure(JOB + 1, PTAG, COOKIE), GNI_RC_INVALID_STATE, "another job");
	is_rc(configure(JOB, PTAG, COOKIE + 1), GNI_RC_INVALID_STATE, "another cookie");
	is_rc(configure(JOB, PTAG + 1, COOKIE), GNI_RC_SUCCESS, "another tag");
	is_rc(configure(JOB, PTAG + 2, COOKIE + 1), GNI_RC_SUCCESS, "and cookie");
	is_rc(attach(&n, PTAG, COOKIE + 1, 0), GNI_RC_PERMISSION_ERROR);
	leave(&n);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_SUCCESS, "while it runs");
	is_rc(configure(JOB + 1, PTAG, COOKIE), GNI_RC_INVALID_STATE);
	leave(&n);
	/* It has ended: the tag is anybody's. */
	is_rc(configure(JOB + 1, PTAG, COOKIE + 1), GNI_RC_SUCCESS);
	end_job(PTAG, COOKIE + 1);
	end_job(PTAG + 1, COOKIE);
	end_job(PTAG + 2, COOKIE + 1);
	/* One that runs and was not configured. */
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(configure(JOB, PTAG, COOKIE + 1), GNI_RC_INVALID_STATE);
	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_SUCCESS);
	is_rc(configure(JOB + 1, PTAG, COOKIE), GNI_RC_INVALID_STATE);
	leave(&n);
	is_rc(configure(JOB + 1, PTAG, COOKIE + 1), GNI_RC_SUCCESS);
	end_job(PTAG, COOKIE + 1);
}

/* As a client does that runs as root: before it attaches, and again. */
static void as_client(uint8_t ptag)
{
	gni_job_limits_t l = no_limits();
	gni_job_res_desc_t desc;
	uint8_t found = 0;
	struct nic n;
	int i, turn;

	l.ntt_size = 0;
	l.ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP;
	for (turn = 0; turn < 3; turn++) {
		for (i = 0; i < 20; i++)
			is_rc(GNI_ConfigureJob(0, 0, ptag, COOKIE, &l), GNI_RC_SUCCESS, "%d", i);
		is_rc(attach(&n, ptag, COOKIE, GNI_CDM_MODE_ERR_NO_KILL), GNI_RC_SUCCESS);
		is_rc(GNI_ConfigureJob(0, 0, ptag, COOKIE, &l), GNI_RC_SUCCESS);
		is_rc(GNI_GetPtag(0, COOKIE, &found), GNI_RC_SUCCESS);
		ok(ptag == GNI_FIND_ALLOC_PTAG || ptag == found);
		is_rc(GNI_GetJobResInfo(0, found, GNI_JOB_RES_MDD, &desc), GNI_RC_SUCCESS);
		is_u64(desc.limit, 4095);
		leave(&n);
	}
}

static void test_client(void)
{
	as_client(GNI_FIND_ALLOC_PTAG);
	as_client(PTAG);
}

/* --- limits ------------------------------------------------------------------------- */

static void test_mdds(void)
{
	gni_job_limits_t l = no_limits();
	gni_mem_handle_t mh[4];
	char *mem = map_private(PAGE);
	struct nic n, m;
	int i;

	l.mdd_limit = 3;
	is_rc(limit(l), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 0, 3);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(attach(&m, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	for (i = 0; i < 3; i++)
		mem_open(i == 1 ? &m : &n, mem, PAGE, NULL, 0, &mh[i]);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 3, 3);
	is_rc(GNI_MemRegister(n.h, (uintptr_t)mem, PAGE, NULL, 0, -1, &mh[3]),
	      GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_MemDeregister(m.h, &mh[1]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 2, 3);
	mem_open(&n, mem, PAGE, NULL, 0, &mh[1]);
	/* Lower than what there is: it stays, and no more come until some have gone. */
	l.mdd_limit = 1;
	is_rc(limit(l), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 3, 1);
	for (i = 0; i < 3; i++) {
		is_rc(GNI_MemRegister(n.h, (uintptr_t)mem, PAGE, NULL, 0, -1, &mh[3]),
		      GNI_RC_ERROR_RESOURCE);
		is_rc(GNI_MemDeregister(n.h, &mh[i]), GNI_RC_SUCCESS);
	}
	mem_open(&n, mem, PAGE, NULL, 0, &mh[0]);
	/* A field that is left as it is. */
	is_rc(limit(no_limits()), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 1, 1);
	l.mdd_limit = 10;
	is_rc(limit(l), GNI_RC_SUCCESS);
	mem_open(&n, mem, PAGE, NULL, 0, &mh[1]);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 2, 10);
	leave(&n);
	leave(&m);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 0, 4095);
}

static void test_memory(void)
{
	gni_job_limits_t l = no_limits();
	const uint64_t mib = 1 << 20;
	gni_mem_handle_t mh[2], more;
	char *mem = map_private(4 * mib);
	struct nic n;

	l.a.m.iommu_limit = 1;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_IOMMU, 0, 2 * mib);
	mem_open(&n, mem, mib, NULL, 0, &mh[0]);
	mem_open(&n, mem, mib, NULL, 0, &mh[1]);
	job_resource_is(PTAG, GNI_JOB_RES_IOMMU, 2 * mib, 2 * mib);
	is_rc(GNI_MemRegister(n.h, (uintptr_t)mem, 1, NULL, 0, -1, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_MemDeregister(n.h, &mh[0]), GNI_RC_SUCCESS);
	is_rc(GNI_MemRegister(n.h, (uintptr_t)mem, mib + 1, NULL, 0, -1, &more),
	      GNI_RC_ERROR_RESOURCE);
	job_resource_is(PTAG, GNI_JOB_RES_IOMMU, mib, 2 * mib);
	job_resource_is(PTAG, GNI_JOB_RES_MDD, 1, 4095);
	/* Whole pages count. */
	mem_open(&n, mem + PAGE - 1, 2, NULL, 0, &mh[0]);
	job_resource_is(PTAG, GNI_JOB_RES_IOMMU, mib + 2 * PAGE, 2 * mib);
	leave(&n);
}

static void test_queues(void)
{
	gni_job_limits_t l = no_limits();
	gni_cq_handle_t cq[2], more;
	struct nic n;

	l.cq_limit = 2;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	cq[0] = cq_open(&n, 1, GNI_CQ_NOBLOCK);
	cq[1] = cq_open(&n, 1, GNI_CQ_NOBLOCK);
	job_resource_is(PTAG, GNI_JOB_RES_CQ, 2, 2);
	is_rc(GNI_CqCreate(n.h, 1, 0, GNI_CQ_NOBLOCK, NULL, NULL, &more), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_CqDestroy(cq[0]), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_CQ, 1, 2);
	cq[0] = cq_open(&n, 1, GNI_CQ_NOBLOCK);
	leave(&n);
}

static void test_fma(void)
{
	gni_job_limits_t l = no_limits();
	struct nic n, m, shared;

	l.fma_limit = 0;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_ERROR_RESOURCE);
	leave(&n);
	/* That was no end of the job. */
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 0, 0);
	is_rc(attach(&shared, PTAG, COOKIE, GNI_CDM_MODE_FMA_SHARED), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_SFMA, 1, 65536);
	l.fma_limit = 1;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 1, 1);
	is_rc(attach(&m, PTAG, COOKIE, 0), GNI_RC_ERROR_RESOURCE);
	leave(&m);
	leave(&n);
	is_rc(attach(&m, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	leave(&m);
	leave(&shared);
}

static bool no_rdma(void)
{
	gni_job_res_desc_t u;

	return GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_RMDA, &u) || !u.used;
}

static void test_rdma(void)
{
	gni_job_limits_t l = no_limits();
	gni_post_descriptor_t d;
	size_t len = 16 * PAGE;
	gni_ep_handle_t ep;
	struct region r;
	struct nic n;

	l.bte_limit = 0;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	n.tx = cq_open(&n, 16, GNI_CQ_NOBLOCK);
	region_open(&n, map_private(len), len, NULL, 0, &r);
	ep = ep_open(&n, n.pe, 1);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)r.addr, &r.mh, &r, len / 2, len / 2);
	is_rc(GNI_PostRdma(ep, &d), GNI_RC_ERROR_RESOURCE);
	job_resource_is(PTAG, GNI_JOB_RES_RMDA, 0, 0);
	l.bte_limit = 1;
	is_rc(limit(l), GNI_RC_SUCCESS);
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
	ok(wait_for(no_rdma()));
	job_resource_is(PTAG, GNI_JOB_RES_RMDA, 0, 1);
	leave(&n);
}

static void quiesce(bool on)
{
	int fd = open("/sys/kernel/debug/kgni/quiesce", O_WRONLY);

	must(fd >= 0 && dprintf(fd, "1 %u", on) > 0);
	close(fd);
}

/* Puts that follow each other in chains. */
struct chain {
	struct nic n;
	gni_ep_handle_t ep;
	struct region r;
	gni_post_descriptor_t d;
	gni_ct_put_post_descriptor_t next[3];
};

static void chain_open(struct chain *c)
{
	is_rc(attach(&c->n, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	c->n.tx = cq_open(&c->n, 16, GNI_CQ_NOBLOCK);
	region_open(&c->n, map_private(PAGE), PAGE, NULL, 0, &c->r);
	c->ep = ep_open(&c->n, c->n.pe, 1);
}

/* A chain of @n puts, 2 to 4. */
static gni_return_t chain_post(struct chain *c, unsigned int n)
{
	unsigned int i;

	desc_init(&c->d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&c->d, (void *)c->r.addr, NULL, &c->r, 64, 8);
	c->d.next_descr = &c->next[0];
	for (i = 0; i < n - 1; i++)
		c->next[i] = (gni_ct_put_post_descriptor_t){
			.next_descr = i < n - 2 ? &c->next[i + 1] : NULL,
			.local_addr = c->r.addr, .length = 8, .remote_addr = c->r.addr + 72,
			.remote_mem_hndl = c->r.mh,
		};
	return GNI_CtPostFma(c->ep, &c->d);
}

static void waits_with_chain(void *arg)
{
	struct chain c;

	(void)arg;
	chain_open(&c);
	give(0);
	take(1);
	must_do(chain_post(&c, 2));
	is_rc(complete(c.n.tx, &c.d, NULL), GNI_RC_SUCCESS);
	leave(&c.n);
}

static bool chains_have(uint64_t n)
{
	gni_job_res_desc_t u;

	return !GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_DLA, &u) && u.used == n;
}

static void test_chains(void)
{
	gni_job_limits_t l = no_limits();
	gni_dev_res_desc_t dev;
	struct chain c;
	pid_t pid;
	int i;

	l.b.dla_limit = 3;
	is_rc(limit(l), GNI_RC_SUCCESS);
	chain_open(&c);
	is_rc(chain_post(&c, 4), GNI_RC_ERROR_RESOURCE);
	is_rc(chain_post(&c, 3), GNI_RC_SUCCESS);
	is_rc(complete(c.n.tx, &c.d, NULL), GNI_RC_SUCCESS);
	job_resource_is(PTAG, GNI_JOB_RES_DLA, 0, 3);
	/* One that waits in the driver keeps what it has, and is ended with its process. */
	for (i = 0; i < 2; i++) {
		pid = peer(waits_with_chain, NULL);
		take(0);
		quiesce(true);
		give(1);
		ok(wait_for(chains_have(2)));
		is_rc(chain_post(&c, 2), GNI_RC_ERROR_RESOURCE);
		must_do(GNI_GetDevResInfo(0, GNI_DEV_RES_DLA, &dev));
		is_u64(dev.held, 2);
		if (i)
			must(!kill(pid, SIGKILL));
		else
			quiesce(false);
		if (i)
			reap_killed(pid);
		else
			reap(pid);
		job_resource_is(PTAG, GNI_JOB_RES_DLA, 0, 3);
	}
	quiesce(false);
	is_rc(chain_post(&c, 2), GNI_RC_SUCCESS);
	is_rc(complete(c.n.tx, &c.d, NULL), GNI_RC_SUCCESS);
	leave(&c.n);
}

/* Limits of what devices of another kind have. */
static void test_other_kind(void)
{
	struct kgni_ioc_job job = raw_job(JOB, PTAG, COOKIE);
	int fd = raw_open(0);

	job.mrt_limit = 1;
	is_u64(ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job), GNI_RC_INVALID_PARAM);
	job.mrt_limit = KGNI_JOB_KEEP;
	job.gart_limit = 1;
	is_u64(ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job), GNI_RC_INVALID_PARAM);
	job.gart_limit = KGNI_JOB_KEEP;
	is_u64(ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job), GNI_RC_SUCCESS);
	close(fd);
	end_job(PTAG, COOKIE);
}

/* --- users ---------------------------------------------------------------------------- */

static void alice_joins(void *arg)
{
	gni_job_limits_t l = no_limits();
	uint8_t ptag = 0;
	struct nic n;

	be(ALICE);
	is_rc(attach(&n, *(uint8_t *)arg, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_u64(ptag, PTAG);
	is_rc(limit(l), GNI_RC_PERMISSION_ERROR);
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 1, 5);
	give(0);
	take(1);
}

static void bob_may_not(void *arg)
{
	uint8_t ptag = 0;
	struct nic n;

	(void)arg;
	be(BOB);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_PERMISSION_ERROR);
	is_rc(attach(&n, PTAG, COOKIE + 1, 0), GNI_RC_PERMISSION_ERROR);
	/* With the same cookie he has another job. */
	is_rc(attach(&n, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	ok(ptag && ptag != PTAG);
}

/* Configured by root, begun by whoever has tag and cookie, or the cookie. */
static void begun_by(uint8_t ptag)
{
	gni_job_limits_t l = no_limits();
	pid_t pid;

	l.fma_limit = 5;
	is_rc(limit(l), GNI_RC_SUCCESS);
	pid = peer(alice_joins, &ptag);
	take(0);
	reap(peer(bob_may_not, NULL));
	give(1);
	reap(pid);
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 0, 512);
}

static void test_users(void)
{
	begun_by(PTAG);
	begun_by(GNI_FIND_ALLOC_PTAG);
}

static void asks(void *arg)
{
	uint8_t ptag = 0;

	(void)arg;
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_u64(ptag, PTAG);
}

/* Who only asks begins no job that could end. */
static void test_asking(void)
{
	gni_job_limits_t l = no_limits();

	l.fma_limit = 5;
	is_rc(limit(l), GNI_RC_SUCCESS);
	reap(peer(asks, NULL));
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 0, 5);
	reap(peer(asks, NULL));
	end_job(PTAG, COOKIE);
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 0, 512);
}

static int try_attach(uint32_t cookie)
{
	struct kgni_ioc_attach arg = { .ptag = GNI_FIND_ALLOC_PTAG, .cookie = cookie };

	return ioctl(raw_open(0), KGNI_IOC_ATTACH, &arg);
}

/* One user, however many jobs, leaves half of the descriptors for others. */
static void greedy(void *arg)
{
	struct rlimit many = { 8192, 8192 };
	unsigned int n = 0, job;

	(void)arg;
	must(!setrlimit(RLIMIT_NOFILE, &many));
	be(ALICE);
	for (job = 0; job < 4; job++)
		while (try_attach(COOKIE + 10 + job) == GNI_RC_SUCCESS)
			n++;
	is_u64(n, 1024);
	give(0);
	take(1);
}

static void modest(void *arg)
{
	struct nic n;

	(void)arg;
	be(BOB);
	is_rc(attach(&n, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_SUCCESS);
}

static void test_greedy(void)
{
	pid_t pid = peer(greedy, NULL);

	take(0);
	reap(peer(modest, NULL));
	give(1);
	reap(pid);
}

/* 200 processes of a job at a limit of 50: never more, and all of it comes back. */
static void contends(void *arg)
{
	int i, rc, fd;

	(void)arg;
	be(ALICE);
	for (i = 0; i < 20; i++) {
		struct kgni_ioc_attach a = { .ptag = PTAG, .cookie = COOKIE };

		fd = raw_open(0);
		rc = ioctl(fd, KGNI_IOC_ATTACH, &a);
		ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_ERROR_RESOURCE, "%d", rc);
		if (rc == GNI_RC_SUCCESS) {
			uint64_t in = ++shm->word[0];

			must(in <= 50, "%u are in", (unsigned int)in);
			sched_yield();
			shm->word[0]--;
			shm->word[1]++;
		}
		close(fd);
	}
}

static void test_contention(void)
{
	gni_job_limits_t l = no_limits();
	struct nic shared;
	pid_t pid[200];
	unsigned int i;

	l.fma_limit = 50;
	is_rc(limit(l), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = peer(contends, NULL);
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		reap(pid[i]);
	ok(shm->word[1]);
	job_resource_is(PTAG, GNI_JOB_RES_FMA, 0, 512);
	is_rc(attach(&shared, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	leave(&shared);
}

/* --- many ------------------------------------------------------------------------------ */

static void traffic(void *arg)
{
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	uint64_t value = 0;
	struct region r;
	struct nic n;

	(void)arg;
	nic_open(&n, 0, 1);
	region_open(&n, map_private(PAGE), PAGE, NULL, 0, &r);
	ep = ep_open(&n, n.pe, 1);
	give(0);
	while (!shm->word[0]) {
		value++;
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &value, NULL, &r, 0, 8);
		must_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
		must(*(uint64_t *)r.addr == value);
	}
	ok(value > 1);
}

static void test_many(void)
{
	gni_job_limits_t l = no_limits();
	pid_t pid = peer(traffic, NULL);
	gni_mem_handle_t mh;
	unsigned int i;
	struct nic n;

	take(0);
	for (i = 0; i < 1000; i++) {
		uint8_t ptag = 100 + i % 50;
		uint32_t cookie = COOKIE + 1 + i;

		l.mdd_limit = i % 3;
		must_rc(GNI_ConfigureJob(0, i, ptag, cookie, &l), GNI_RC_SUCCESS, "job %u", i);
		must_rc(attach(&n, ptag, cookie, 0), GNI_RC_SUCCESS, "job %u", i);
		must_rc(GNI_MemRegister(n.h, (uintptr_t)shm->bytes, 8, NULL, 0, -1, &mh),
			i % 3 ? GNI_RC_SUCCESS : GNI_RC_ERROR_RESOURCE, "job %u", i);
		leave(&n);
	}
	shm->word[0] = 1;
	reap(pid);
}

/* --- only configured ones --------------------------------------------------------------- */

static void not_configured(void *arg)
{
	uint8_t ptag;
	struct nic n;

	(void)arg;
	be(ALICE);
	is_rc(attach(&n, PTAG, COOKIE, 0), GNI_RC_PERMISSION_ERROR);
	leave(&n);
	is_rc(attach(&n, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_PERMISSION_ERROR);
	leave(&n);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_NO_MATCH);
}

static void configured(void *arg)
{
	uint8_t ptag = 0;
	struct nic n, m;

	(void)arg;
	be(ALICE);
	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_u64(ptag, PTAG);
	is_rc(attach(&n, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	is_rc(attach(&m, PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	leave(&n);
	leave(&m);
}

static void test_required(void)
{
	struct nic n;

	reap(peer(not_configured, NULL));
	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_SUCCESS);
	reap(peer(configured, NULL));
	reap(peer(not_configured, NULL));
	/* Root needs no leave. */
	is_rc(attach(&n, GNI_FIND_ALLOC_PTAG, COOKIE, 0), GNI_RC_SUCCESS);
	leave(&n);
}

/* --- plain users -------------------------------------------------------------------------- */

static void test_user(void)
{
	gni_ntt_entry_t entry = { .blck_addr = 1 };
	gni_ntt_descriptor_t ntt = { .group_size = 1, .granularity = 1, .u.table_v2 = &entry };
	gni_job_limits_t l = no_limits();
	uint32_t base = -1;

	is_rc(configure(JOB, PTAG, COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(configure(0, GNI_FIND_ALLOC_PTAG, COOKIE), GNI_RC_PERMISSION_ERROR);
	is_rc(limit(l), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_ConfigureNTT(0, &ntt, &base), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_ConfigureNTTandJob(0, JOB, PTAG, COOKIE, &l, &ntt, &base),
	      GNI_RC_PERMISSION_ERROR);
	is_u64(base, ~0U);
	ntt.u.table_v2 = NULL;
	ntt.group_size = -1;
	is_rc(GNI_ConfigureNTT(0, &ntt, &base), GNI_RC_PERMISSION_ERROR);
}

static const struct test tests[] = {
	CASE("arguments", test_arguments),
	CASE("triplets", test_triplets),
	CASE("as clients call it", test_client),
	CASE("limit of registrations", test_mdds),
	CASE("limit of registered memory", test_memory),
	CASE("limit of queues", test_queues),
	CASE("limit of FMA descriptors", test_fma),
	CASE("limit of RDMA posts", test_rdma),
	CASE("limit of posts in chains", test_chains, .seconds = 60),
	CASE("limits of another kind of devices", test_other_kind),
	CASE("users", test_users),
	CASE("asking for the tag", test_asking),
	CASE("a greedy user", test_greedy, .seconds = 60),
	CASE("200 processes at a limit", test_contention, .seconds = 90),
	CASE("1000 jobs, with traffic", test_many, .seconds = 90),
};

static const struct test required_tests[] = {
	CASE("jobs have to be configured", test_required),
};

static const struct test user_tests[] = {
	CASE("a plain user", test_user),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	if (argc > 1 && !strcmp(argv[1], "required"))
		return RUN_TESTS(required_tests);
	return RUN_TESTS(tests);
}
