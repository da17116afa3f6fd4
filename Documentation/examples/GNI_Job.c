// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A launcher, which is root, and the job's program in one. */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <gni_pub.h>

#define JOB	1234
#define PTAG	50
#define COOKIE	0x1000c

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

/* One entry of the table is all that a job on this NIC alone needs. */
static void launch(void)
{
	gni_ntt_entry_t here = { 0 };
	gni_ntt_descriptor_t table = { .group_size = 1, .granularity = 1, .u.table_v2 = &here };
	uint32_t base = -1, cpu;
	gni_job_limits_t limits;

	must("address", GNI_CdmGetNicAddress(0, &here.blck_addr, &cpu));
	memset(&limits, 0xff, sizeof(limits));	/* GNI_JOB_INVALID_LIMIT everywhere */
	must("job", GNI_ConfigureJob(0, JOB, PTAG, COOKIE, &limits));
	limits.mdd_limit = 10;
	limits.ntt_ctrl = GNI_JOB_CTRL_NTT_CLEANUP;
	must("table and job", GNI_ConfigureNTTandJob(0, JOB, PTAG, COOKIE, &limits, &table, &base));
}

int main(void)
{
	gni_ntt_descriptor_t all = { .group_size = -1 };
	gni_job_res_desc_t mdds;
	gni_bi_desc_t injection;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	uint32_t address, base = -1;

	launch();
	must("create", GNI_CdmCreate(1, PTAG, COOKIE, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &address, &nic));
	must("resource", GNI_GetJobResInfo(0, PTAG, GNI_JOB_RES_MDD, &mdds));
	/* Between these two its programs may be stopped, and moved. */
	must("suspend", GNI_SuspendJob(0, JOB, PTAG, COOKIE, 1000));
	must("resume", GNI_ResumeJob(0, JOB, PTAG, COOKIE));
	/* It may have half of the device for itself. */
	must("inject", GNI_SetBIConfig(0, 50, 0, GNI_BI_FLAG_APPLY_NOW));
	must("committed", GNI_BISyncWait(0, 10000));
	must("ask", GNI_GetBIConfig(0, &injection));
	printf("virtual address %u, %u registrations at most, and %u %% of the device\n", address,
	       (unsigned int)mdds.limit, injection.current_bw);
	must("default", GNI_SetBIConfig(0, 0, 0, GNI_BI_FLAG_USE_DEFAULT_SETTINGS));
	must("destroy", GNI_CdmDestroy(cdm));
	/* For what jobs that did not ask for it have left. */
	must("clear", GNI_ConfigureNTT(0, &all, &base));
	return 0;
}
