// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Waits on two queues, masks one, and reads what an event of failure says. */
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
	static char page[4096] __attribute__((aligned(4096)));
	gni_post_descriptor_t wake = { .type = GNI_POST_CQWRITE }, *done;
	gni_cq_handle_t queues[2];
	uint32_t pe, which, again;
	gni_cdm_handle_t cdm;
	gni_cq_entry_t event;
	gni_nic_handle_t nic;
	gni_mem_handle_t mem;
	gni_ep_handle_t ep;
	char text[256];

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10005, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	for (int i = 0; i < 2; i++)
		must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &queues[i]));
	must("register", GNI_MemRegister(nic, (uintptr_t)page, sizeof(page), queues[1],
					 GNI_MEM_READWRITE, -1, &mem));
	must("endpoint", GNI_EpCreate(nic, queues[0], &ep));
	must("bind", GNI_EpBind(ep, pe, 1));
	wake.cq_mode = GNI_CQMODE_SILENT;
	wake.remote_mem_hndl = mem;
	wake.cqwrite_value = 123;
	must("write", GNI_PostCqWrite(ep, &wake));
	must("wait", GNI_CqVectorWaitEvent(queues, 2, 10000, &event, &which));
	printf("queue %u: %u; ", which, (unsigned int)GNI_CQ_GET_DATA(event));

	must("mask", GNI_CqInterruptMask(queues[0]));
	if (GNI_CqVectorMonitor(queues, 1, 10000, &which) != GNI_RC_NOT_DONE)
		errx(1, "a masked queue wakes nobody");
	must("unmask", GNI_CqInterruptUnmask(queues[0]));

	/* The region is gone when the next write comes. */
	must("deregister", GNI_MemDeregister(nic, &mem));
	wake.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	must("write", GNI_PostCqWrite(ep, &wake));
	if (GNI_CqWaitEvent(queues[0], 10000, &event) != GNI_RC_TRANSACTION_ERROR ||
	    GNI_GetCompleted(queues[0], event, &done) != GNI_RC_TRANSACTION_ERROR)
		errx(1, "there is nowhere to write to");
	must("text", GNI_CqErrorStr(event, text, sizeof(text)));
	must("recoverable", GNI_CqErrorRecoverable(event, &again));
	printf("%s; try again: %s\n", text, again ? "yes" : "no");
	return GNI_CdmDestroy(cdm);
}
