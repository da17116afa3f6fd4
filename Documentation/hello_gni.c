// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Puts a greeting into registered memory through the NIC and waits until both
 * ends know. cc hello_gni.c $(pkg-config --cflags --libs cray-ugni)
 */
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
	static char inbox[4096] __attribute__((aligned(4096)));
	char text[] = "hello, gni";
	gni_post_descriptor_t put = { .type = GNI_POST_FMA_PUT }, *done;
	gni_cq_handle_t sent, arrived;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	gni_mem_handle_t mem;
	gni_cq_entry_t event;
	uint32_t pe;

	must("create", GNI_CdmCreate(7, GNI_FIND_ALLOC_PTAG, 0x12345678, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &sent));
	must("queue", GNI_CqCreate(nic, 64, 0, GNI_CQ_BLOCKING, NULL, NULL, &arrived));
	must("register", GNI_MemRegister(nic, (uintptr_t)inbox, sizeof(inbox), arrived,
					 GNI_MEM_READWRITE, -1, &mem));
	must("endpoint", GNI_EpCreate(nic, sent, &ep));
	must("bind", GNI_EpBind(ep, pe, 7));	/* to ourselves */
	put.cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
	put.local_addr = (uintptr_t)text;
	put.remote_addr = (uintptr_t)inbox;
	put.remote_mem_hndl = mem;
	put.length = sizeof(text);
	must("put", GNI_PostFma(ep, &put));
	must("source event", GNI_CqWaitEvent(sent, 1000, &event));
	must("completion", GNI_GetCompleted(sent, event, &done));
	must("remote event", GNI_CqWaitEvent(arrived, 1000, &event));
	printf("PE %u, instance %u got: %s\n", pe, (unsigned int)GNI_CQ_GET_INST_ID(event), inbox);
	return GNI_CdmDestroy(cdm);
}
