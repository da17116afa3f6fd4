// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Two processes exchange datagrams: one asks for the other, which takes anyone. */
#include <err.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

/* Every process attaches by itself: nothing of GNI outlives a fork(). */
static gni_ep_handle_t endpoint(uint32_t instance, uint32_t *pe, gni_cdm_handle_t *cdm)
{
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;

	must("create", GNI_CdmCreate(instance, GNI_FIND_ALLOC_PTAG, 0x10003, 0, cdm));
	must("attach", GNI_CdmAttach(*cdm, 0, pe, &nic));
	must("endpoint", GNI_EpCreate(nic, NULL, &ep));
	return ep;
}

int main(void)
{
	char question[16] = "who are you?", answer[16] = "instance 2", got[16];
	pid_t child = fork();
	gni_post_state_t state;
	uint32_t pe, addr, id;
	gni_cdm_handle_t cdm;
	gni_ep_handle_t ep;
	int status;

	if (child < 0)
		err(1, "fork");
	ep = endpoint(child ? 1 : 2, &pe, &cdm);
	if (child) {
		must("bind", GNI_EpBind(ep, pe, 2));
		must("post", GNI_EpPostData(ep, question, 16, got, 16));
	} else {
		must("post", GNI_EpPostDataWId(ep, answer, 16, got, 16, 0xabc));
	}
	if (!child) {
		must("wait", GNI_EpPostDataWaitById(ep, 0xabc, 60000, &state, &addr, &id));
		return state != GNI_POST_COMPLETED || id != 1 || GNI_CdmDestroy(cdm);
	}
	must("wait", GNI_EpPostDataWait(ep, 60000, &state, &addr, &id));
	if (state != GNI_POST_COMPLETED || waitpid(child, &status, 0) != child || status)
		errx(1, "state %d, status of the child %d", state, status);
	printf("instance %u says: %s\n", id, got);
	return GNI_CdmDestroy(cdm);
}
