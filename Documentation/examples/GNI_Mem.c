// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Registers memory in three ways, asks about it, and works out a peer's handle. */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

static char pages[4][4096] __attribute__((aligned(4096)));

int main(void)
{
	gni_mem_segment_t parts[2] = {
		{ (uintptr_t)pages[3], 4096 }, { (uintptr_t)pages[1], 4096 },
	};
	gni_mem_handle_t fixed, joined, mine[2], peer, next = { 0 };
	uint64_t address, length;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	int count = 0, yes;
	uint32_t pe;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10004, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("read-only", GNI_MemRegister(nic, (uintptr_t)pages, sizeof(pages), NULL,
					  GNI_MEM_READ_ONLY, -1, &fixed));
	must("segments", GNI_MemRegisterSegments(nic, parts, 2, NULL, GNI_MEM_READWRITE,
						 -1, &joined));
	must("block", GNI_SetMddResources(nic, 2));
	for (int i = 0; i < 2; i++)
		must("virtual", GNI_MemRegister(nic, (uintptr_t)pages[0], 4096, NULL,
						GNI_MEM_USE_VMDH, i, &mine[i]));
	must("attribute", GNI_MemHndlQueryAttr(&fixed, GNI_MEMHNDL_ATTR_READONLY, &yes));
	while (GNI_MemQueryHndls(nic, -1, &next, &address, &length) == GNI_RC_SUCCESS)
		count++;
	/* A peer that lays out its memory as we do has this one at index 1. */
	must("rebuild", GNI_RebuildMemHndl(&mine[0], 1, &peer));
	printf("%d registrations, read-only: %d, rebuilt: %s\n", count, yes,
	       memcmp(&peer, &mine[1], sizeof(peer)) ? "wrong" : "right");
	must("deregister", GNI_MemDeregister(nic, &joined));
	return GNI_CdmDestroy(cdm);
}
