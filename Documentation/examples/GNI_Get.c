// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Tells which devices there are, of which kind, and what is left of them. */
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
	gni_dev_res_desc_t mdds;
	gni_cdm_handle_t cdm;
	gni_nic_device_t kind;
	gni_nic_handle_t nic;
	uint32_t version, stalls, pe;
	int number, ids[64];
	uint8_t ptag;

	must("version", GNI_GetVersion(&version));
	if (version < GNI_VERSION)
		errx(1, "the library is older than this program's header");
	must("number", GNI_GetNumLocalDevices(&number));
	must("devices", GNI_GetLocalDeviceIds(64, ids));
	must("kind", GNI_GetDeviceType(&kind));
	must("resource", GNI_GetDevResInfo(ids[0], GNI_DEV_RES_MDD, &mdds));
	if (!mdds.available || mdds.available > mdds.total)
		errx(1, "no memory can be registered");
	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10009, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, ids[0], &pe, &nic));
	must("tag", GNI_GetPtag(ids[0], 0x10009, &ptag));
	if (ptag < GNI_PTAG_USER_START || ptag > GNI_PTAG_USER_END)
		errx(1, "tag %u is not for programs", ptag);
	must("reset", GNI_ResetNicStat(nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL));
	must("count", GNI_GetNicStat(nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL, &stalls));
	printf("version 0x%x, device %d is %s, stalls: %u\n", version, ids[0],
	       kind == GNI_DEVICE_ARIES ? "Aries" : "another", stalls);
	return GNI_CdmDestroy(cdm);
}
