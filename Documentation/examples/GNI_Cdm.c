// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Attaches a communication domain to a device, and takes it through a checkpoint. */
#include <err.h>
#include <stdio.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

int main(void)
{
	uint32_t address, cpu, pe;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;

	must("address", GNI_CdmGetNicAddress(0, &address, &cpu));
	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10001,
				     GNI_CDM_MODE_FMA_SHARED, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	if (pe != address)
		errx(1, "PE %u is not %u", pe, address);
	if (GNI_CdmAttach(cdm, 0, &pe, &nic) != GNI_RC_INVALID_STATE)
		errx(1, "a domain attaches to a device once");
	/* Nothing is under way here; otherwise GNI_EpIdle() comes first. */
	must("checkpoint", GNI_CdmCheckpoint(cdm));
	must("resume", GNI_CdmResume(cdm));
	must("destroy", GNI_CdmDestroy(cdm));
	puts("attached to device 0, and through a checkpoint");
	return 0;
}
