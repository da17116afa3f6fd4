// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* One process sends short messages to another; datagrams set up the connection. */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

static char mailbox[65536] __attribute__((aligned(4096)));

/* Mailboxes are made known to each other, and zero before anyone sends. */
static void connect_to(gni_nic_handle_t nic, gni_ep_handle_t ep, gni_cq_handle_t arrived)
{
	gni_smsg_attr_t peer, own = {
		.msg_type = GNI_SMSG_TYPE_MBOX, .msg_buffer = mailbox,
		.mbox_maxcredit = 4, .msg_maxsize = 64,
	};
	gni_post_state_t state;
	uint32_t addr, id;

	must("size", GNI_SmsgBufferSizeNeeded(&own, &own.buff_size));
	must("register", GNI_MemRegister(nic, (uintptr_t)mailbox, sizeof(mailbox), arrived,
					 GNI_MEM_READWRITE, -1, &own.mem_hndl));
	must("post", GNI_EpPostData(ep, &own, sizeof(own), &peer, sizeof(peer)));
	must("wait", GNI_EpPostDataWait(ep, 60000, &state, &addr, &id));
	must("init", GNI_SmsgInit(ep, &own, &peer));
}

int main(void)
{
	pid_t child = fork();
	gni_cq_handle_t sent, arrived;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_entry_t event;
	gni_ep_handle_t ep;
	gni_return_t rc;
	uint32_t pe;
	uint8_t tag = GNI_SMSG_ANY_TAG;
	char *text;
	int status;

	if (child < 0)
		err(1, "fork");
	must("create", GNI_CdmCreate(child ? 1 : 2, GNI_FIND_ALLOC_PTAG, 0x10008, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &sent));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &arrived));
	must("endpoint", GNI_EpCreate(nic, sent, &ep));
	must("bind", GNI_EpBind(ep, pe, child ? 2 : 1));
	connect_to(nic, ep, arrived);
	if (!child) {
		must("send", GNI_SmsgSendWTag(ep, "short ", 6, "message", 8, 9, 3));
		must("sent", GNI_CqWaitEvent(sent, 60000, &event));
		return GNI_CdmDestroy(cdm);
	}
	while ((rc = GNI_SmsgGetNextWTag(ep, (void **)&text, &tag)) == GNI_RC_NOT_DONE)
		must("arrival", GNI_CqWaitEvent(arrived, 60000, &event));
	must("receive", rc);
	printf("instance 2 sent a %s, with tag %u\n", text, tag);
	must("release", GNI_SmsgRelease(ep));
	return waitpid(child, &status, 0) != child || status || GNI_CdmDestroy(cdm);
}
