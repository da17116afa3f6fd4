// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a launcher tells a device of the jobs that it is going to start, of their
 * addresses, and of jobs that it is going to stop. Driver: kernel/job.c,
 * kernel/ntt.c and kernel/quiesce.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ugni.h"

/* A byte of a limit for Aries: all ones leave it as it is. */
static int byte_limit(uint8_t limit)
{
	return limit == (uint8_t)GNI_JOB_INVALID_LIMIT ? KGNI_JOB_KEEP : limit;
}

static gni_return_t device_type(u32 device, u32 *type)
{
	struct kgni_ioc_info info;
	gni_return_t rc = ugni_control_call(device, KGNI_IOC_INFO, &info);

	if (rc == GNI_RC_SUCCESS)
		*type = info.device_type;
	return rc;
}

/* What the kinds of devices have in the same place. */
static void own_limits(struct kgni_ioc_job *arg, const gni_job_limits_t *l, u32 type)
{
	if (type == GNI_DEVICE_GEMINI) {
		arg->mrt_limit = l->a.mrt_limit;
		arg->gart_limit = l->b.gart_limit;
		return;
	}
	arg->ce_limit = byte_limit(l->a.m.ce_limit);
	arg->iommu_limit = byte_limit(l->a.m.iommu_limit);
	arg->dla_limit = l->b.dla_limit;
}

static gni_return_t job_limits(struct kgni_ioc_job *arg, const gni_job_limits_t *l, u32 device)
{
	const gni_job_limits_t none = {
		.mdd_limit = GNI_JOB_INVALID_LIMIT, .a.mrt_limit = GNI_JOB_INVALID_LIMIT,
		.b.dla_limit = GNI_JOB_INVALID_LIMIT, .fma_limit = GNI_JOB_INVALID_LIMIT,
		.bte_limit = GNI_JOB_INVALID_LIMIT, .cq_limit = GNI_JOB_INVALID_LIMIT,
		.ntt_ctrl = GNI_JOB_INVALID_LIMIT,
	};
	u32 type = GNI_DEVICE_ARIES;
	gni_return_t rc = l ? device_type(device, &type) : GNI_RC_SUCCESS;

	if (rc != GNI_RC_SUCCESS)
		return rc;
	arg->ce_limit = KGNI_JOB_KEEP;
	arg->iommu_limit = KGNI_JOB_KEEP;
	arg->dla_limit = KGNI_JOB_KEEP;
	arg->mrt_limit = KGNI_JOB_KEEP;
	arg->gart_limit = KGNI_JOB_KEEP;
	l = l ?: &none;
	own_limits(arg, l, type);
	arg->mdd_limit = l->mdd_limit;
	arg->fma_limit = l->fma_limit;
	arg->bte_limit = l->bte_limit;
	arg->cq_limit = l->cq_limit;
	arg->ntt_base = l->ntt_base;
	arg->ntt_size = l->ntt_size;
	if (l->ntt_ctrl == GNI_JOB_INVALID_LIMIT || !l->ntt_ctrl)
		return GNI_RC_SUCCESS;
	if (l->ntt_ctrl != GNI_JOB_CTRL_NTT_CLEANUP)
		return ugni_bad(GNI_RC_INVALID_PARAM, "ntt_ctrl is 0x%x", l->ntt_ctrl);
	arg->flags |= KGNI_JOB_NTT_CLEAR;
	return GNI_RC_SUCCESS;
}

/* The kinds of devices have their own kinds of tables. */
static void ntt_entry(const gni_ntt_descriptor_t *d, u32 type, u32 i, struct kgni_ntt_entry *e)
{
	if (type == GNI_DEVICE_GEMINI) {
		e->block = d->u.table[i];
		return;
	}
	e->block = d->u.table_v2[i].blck_addr;
	e->replacement = d->u.table_v2[i].rplc_addr;
	e->replaced = d->u.table_v2[i].rplc_size;
}

static gni_return_t ntt_fill(struct kgni_ntt_entry *entries, const gni_ntt_descriptor_t *d,
			     u32 device)
{
	u32 i, type = GNI_DEVICE_ARIES;
	gni_return_t rc = device_type(device, &type);

	for (i = 0; rc == GNI_RC_SUCCESS && i < d->group_size; i++)
		ntt_entry(d, type, i, &entries[i]);
	return rc;
}

/* The driver's form of a descriptor; its entries are to be freed. */
static gni_return_t ntt_open(struct kgni_ioc_ntt *arg, const gni_ntt_descriptor_t *d, u32 base,
			     u32 device, struct kgni_ntt_entry **entries)
{
	gni_return_t rc;

	*entries = NULL;
	*arg = (struct kgni_ioc_ntt){
		.count = d->group_size, .base = base, .granularity = d->granularity,
	};
	if (!d->u.table)
		return GNI_RC_SUCCESS;
	if (d->group_size > KGNI_NTT_ENTRIES)
		return ugni_bad(GNI_RC_ERROR_RESOURCE, "group_size is %u, the table has %u",
				d->group_size, KGNI_NTT_ENTRIES);
	*entries = calloc(d->group_size + 1UL, sizeof(**entries));
	if (!*entries)
		return ugni_nomem("table");
	rc = ntt_fill(*entries, d, device);
	arg->entries = (uintptr_t)*entries;
	return rc;
}

static gni_return_t configure(u32 device, struct kgni_ioc_job *arg)
{
	gni_return_t rc = ugni_control_call(device, KGNI_IOC_JOB_CONFIGURE, arg);

	return rc == GNI_RC_SUCCESS ? rc :
	       ugni_more(rc, "for job 0x%llx with ptag %u, cookie 0x%x",
			 (unsigned long long)arg->job_id, arg->ptag, arg->cookie);
}

static gni_return_t configure_both(u32 device, struct kgni_ioc_job *arg,
				   const gni_ntt_descriptor_t *d, u32 *base)
{
	struct kgni_ntt_entry *entries;
	gni_return_t rc;

	if (!base)
		return ugni_bad(GNI_RC_INVALID_PARAM, "ntt_base is NULL");
	if (!d->u.table)
		return ugni_bad(GNI_RC_INVALID_PARAM, "the table is NULL, to clear entries");
	rc = ntt_open(&arg->ntt, d, *base, device, &entries);
	arg->flags |= KGNI_JOB_NTT;
	if (rc == GNI_RC_SUCCESS)
		rc = configure(device, arg);
	if (rc == GNI_RC_SUCCESS)
		*base = arg->ntt.base;
	free(entries);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_ConfigureJob(uint32_t device_id, uint64_t job_id, uint8_t ptag,
					  uint32_t cookie, gni_job_limits_t *limits)
{
	struct kgni_ioc_job arg = { .job_id = job_id, .ptag = ptag, .cookie = cookie };
	gni_return_t rc = job_limits(&arg, limits, device_id);

	return ugni_end(rc == GNI_RC_SUCCESS ? configure(device_id, &arg) : rc);
}

UGNI_PUBLIC gni_return_t GNI_ConfigureNTTandJob(int device_id, uint64_t job_id, uint8_t ptag,
						uint32_t cookie, gni_job_limits_t *limits,
						gni_ntt_descriptor_t *ntt_desc,
						uint32_t *ntt_base)
{
	struct kgni_ioc_job arg = { .job_id = job_id, .ptag = ptag, .cookie = cookie };
	gni_return_t rc = job_limits(&arg, limits, device_id);

	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	if (!ntt_desc)
		return ugni_end(configure((u32)device_id, &arg));
	return ugni_end(configure_both((u32)device_id, &arg, ntt_desc, ntt_base));
}

UGNI_PUBLIC gni_return_t GNI_ConfigureNTT(int device_id, gni_ntt_descriptor_t *ntt_desc,
					  uint32_t *ntt_base)
{
	struct kgni_ntt_entry *entries;
	struct kgni_ioc_ntt arg;
	gni_return_t rc;

	if (!ntt_desc)
		return ugni_end(ugni_null(ntt_desc));
	if (!ntt_base)
		return ugni_end(ugni_null(ntt_base));
	rc = ntt_open(&arg, ntt_desc, *ntt_base, (u32)device_id, &entries);
	if (rc == GNI_RC_SUCCESS)
		rc = ugni_control_call((u32)device_id, KGNI_IOC_NTT_CONFIGURE, &arg);
	if (rc == GNI_RC_SUCCESS)
		*ntt_base = arg.base;
	free(entries);
	return ugni_end(rc);
}

/* For both calls a device that is not there is a wrong parameter. */
static gni_return_t suspend(u32 device, struct kgni_ioc_suspend *arg)
{
	gni_return_t rc;
	int fd, ret;

	rc = ugni_control_fd(device, &fd);
	if (rc == GNI_RC_NO_MATCH)
		return ugni_bad(GNI_RC_INVALID_PARAM, "there is no device %u", device);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	ret = ugni_sys_wait(fd, KGNI_IOC_JOB_SUSPEND, arg);
	if (ret == -EINTR)
		return ugni_bad(GNI_RC_NOT_DONE, "a signal ended the wait");
	rc = ugni_answer(ret);
	return rc == GNI_RC_SUCCESS ? rc :
	       ugni_more(rc, "for job 0x%llx with ptag %u, cookie 0x%x",
			 (unsigned long long)arg->job_id, arg->ptag, arg->cookie);
}

UGNI_PUBLIC gni_return_t GNI_SuspendJob(uint32_t device_id, uint64_t job_id, uint8_t ptag,
					uint32_t cookie, uint32_t timeout)
{
	struct kgni_ioc_suspend arg = {
		.job_id = job_id, .ptag = ptag, .cookie = cookie, .timeout_ms = timeout,
	};

	return ugni_end(suspend(device_id, &arg));
}

UGNI_PUBLIC gni_return_t GNI_ResumeJob(uint32_t device_id, uint64_t job_id, uint8_t ptag,
				       uint32_t cookie)
{
	struct kgni_ioc_suspend arg = {
		.job_id = job_id, .ptag = ptag, .cookie = cookie, .flags = KGNI_SUSPEND_RESUME,
	};

	return ugni_end(suspend(device_id, &arg));
}
