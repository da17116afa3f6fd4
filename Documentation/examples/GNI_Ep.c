// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Binds an endpoint to its own NIC and chooses the values that its events have. */
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
	static uint64_t word __attribute__((aligned(4096)));
	gni_post_descriptor_t put = { .type = GNI_POST_FMA_PUT }, *done;
	gni_cq_entry_t source, target;
	gni_cq_handle_t sent, arrived;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	uint64_t value = 42;
	uint32_t pe;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10002, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &sent));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &arrived));
	must("register", GNI_MemRegister(nic, (uintptr_t)&word, sizeof(word), arrived,
					 GNI_MEM_READWRITE, -1, &put.remote_mem_hndl));
	must("endpoint", GNI_EpCreate(nic, sent, &ep));
	must("bind", GNI_EpBind(ep, pe, 1));
	must("values", GNI_EpSetEventData(ep, 17, 23));
	put.cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT;
	put.local_addr = (uintptr_t)&value;
	put.remote_addr = (uintptr_t)&word;
	put.length = sizeof(word);
	must("put", GNI_PostFma(ep, &put));
	if (GNI_EpIdle(ep) != GNI_RC_NOT_DONE || GNI_EpUnbind(ep) != GNI_RC_NOT_DONE)
		errx(1, "the put is still under way");
	must("source event", GNI_CqWaitEvent(sent, 10000, &source));
	must("completion", GNI_GetCompleted(sent, source, &done));
	must("target event", GNI_CqWaitEvent(arrived, 10000, &target));
	must("idle", GNI_EpIdle(ep));
	must("unbind", GNI_EpUnbind(ep));
	must("destroy", GNI_EpDestroy(ep));
	printf("put %u: source event %u, target event %u\n", (unsigned int)word,
	       (unsigned int)GNI_CQ_GET_INST_ID(source),
	       (unsigned int)GNI_CQ_GET_REM_INST_ID(target));
	return GNI_CdmDestroy(cdm);
}
