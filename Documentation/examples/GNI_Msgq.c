// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Two instances of a node share a queue; the node's connection leads to itself here. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

/* One message is enough: 0 has GNI_MsgqProgress() return. */
static int show(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	(void)snd_pe;
	(void)cb_data;
	printf("instance %u sent \"%s\" with tag %u\n", snd_id, (char *)msg, msg_tag);
	return 0;
}

int main(void)
{
	gni_msgq_attr_t shape = {
		.max_msg_sz = 64, .smsg_q_sz = 8, .rcv_pool_sz = 8, .num_msgq_eps = 1,
		.nloc_insts = 2, .modes = GNI_MSGQ_MODE_BLOCKING, .rcv_cq_sz = 64,
	};
	gni_msgq_ep_attr_t node;
	gni_msgq_handle_t queue;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_entry_t event;
	gni_cq_handle_t sent;
	gni_ep_handle_t ep;
	gni_return_t rc;
	pid_t child;
	uint32_t pe;
	int status;

	setenv("UGNI_MSGQ_DIR", "/dev/shm", 0);	/* for machines without huge pages */
	child = fork();
	if (child < 0)
		err(1, "fork");
	must("create", GNI_CdmCreate(child ? 1 : 2, GNI_FIND_ALLOC_PTAG, 0x1000c, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &sent));
	must("join", GNI_MsgqInit(nic, show, NULL, sent, &shape, &queue));
	if (!child) {
		if (GNI_MsgqProgress(queue, 60000) != GNI_RC_NOT_DONE)
			errx(1, "no message came");
		must("leave", GNI_MsgqRelease(queue));
		fflush(stdout);
		_exit(GNI_CdmDestroy(cdm));
	}
	/* Once the other one has joined; between two nodes they exchange what they get. */
	while ((rc = GNI_MsgqGetConnAttrs(queue, pe, &node, NULL)) == GNI_RC_PERMISSION_ERROR)
		usleep(1000);
	must("begin", rc);
	must("connect", GNI_MsgqConnect(queue, pe, &node));
	must("endpoint", GNI_EpCreate(nic, sent, &ep));
	must("bind", GNI_EpBind(ep, pe, 2));
	must("send", GNI_MsgqSend(queue, ep, "shared ", 7, "queue", 6, 9, 3));
	must("sent", GNI_CqWaitEvent(sent, 60000, &event));
	if (waitpid(child, &status, 0) != child || status)
		return 1;
	must("leave", GNI_MsgqRelease(queue));
	return GNI_CdmDestroy(cdm);
}
