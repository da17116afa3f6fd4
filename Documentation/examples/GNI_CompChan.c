// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Waits with poll() until a queue has an event. */
#include <err.h>
#include <poll.h>
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
	gni_post_descriptor_t wake = { .type = GNI_POST_CQWRITE };
	struct pollfd ready = { .events = POLLIN };
	gni_comp_chan_handle_t channel;
	gni_cq_handle_t queue, which;
	gni_cdm_handle_t cdm;
	gni_cq_entry_t event;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	uint32_t pe;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10006, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &queue));
	must("channel", GNI_CompChanCreate(nic, &channel));
	must("descriptor", GNI_CompChanFd(channel, &ready.fd));
	must("attach", GNI_CqAttachCompChan(queue, channel));
	must("arm", GNI_CqArmCompChan(&queue, 1));
	must("register", GNI_MemRegister(nic, (uintptr_t)page, sizeof(page), queue,
					 GNI_MEM_READWRITE, -1, &wake.remote_mem_hndl));
	must("endpoint", GNI_EpCreate(nic, NULL, &ep));
	must("bind", GNI_EpBind(ep, pe, 1));
	if (poll(&ready, 1, 0) != 0)
		errx(1, "nothing has come yet");
	wake.cq_mode = GNI_CQMODE_SILENT;
	wake.cqwrite_value = 99;
	must("write", GNI_PostCqWrite(ep, &wake));
	if (poll(&ready, 1, 10000) != 1)
		errx(1, "the event does not come");
	must("which", GNI_CompChanGetEvent(channel, &which));
	/* Armed once, told once: take all events, arm again, look again. */
	while (GNI_CqGetEvent(which, &event) == GNI_RC_SUCCESS)
		printf("poll() returned for event %u\n", (unsigned int)GNI_CQ_GET_DATA(event));
	must("arm", GNI_CqArmCompChan(&which, 1));
	return GNI_CdmDestroy(cdm);
}
