// SPDX-License-Identifier: GPL-2.0-only
/*
 * withce: run a command while there are three channels of the collective engine on
 * kgni0: a root, one below it, and one that is in no tree.
 *
 *	withce COMMAND [ARGUMENT...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gni_pub.h>

#define INSTANCE	5

static uint32_t pe;
static gni_nic_handle_t nic;

static void must(gni_return_t rc)
{
	if (rc == GNI_RC_SUCCESS)
		return;
	fprintf(stderr, "withce: %s\n", gni_err_str[rc]);
	exit(125);
}

static gni_ep_handle_t edge(uint32_t channel, uint32_t child, gni_ce_child_t type)
{
	gni_ep_handle_t ep;

	must(GNI_EpCreate(nic, NULL, &ep));
	must(GNI_EpBind(ep, pe, INSTANCE));
	must(GNI_EpSetCeAttr(ep, channel, child, type));
	return ep;
}

static void make_tree(void)
{
	gni_ep_handle_t children[2];
	gni_ce_handle_t ce[3];
	uint32_t id[3];
	int i;

	for (i = 0; i < 3; i++) {
		must(GNI_CeCreate(nic, &ce[i]));
		must(GNI_CeGetId(ce[i], &id[i]));
	}
	children[0] = edge(-1, 0, GNI_CE_CHILD_PE);
	children[1] = edge(id[1], 1, GNI_CE_CHILD_VCE);
	must(GNI_CeConfigure(ce[0], children, 2, NULL, NULL, GNI_CE_MODE_ROUND_UP));
	children[0] = edge(-1, 0, GNI_CE_CHILD_PE);
	must(GNI_CeConfigure(ce[1], children, 1, edge(id[0], 1, GNI_CE_CHILD_VCE), NULL, 0));
}

int main(int argc, char **argv)
{
	gni_cdm_handle_t cdm;
	int status;
	pid_t pid;

	if (argc < 2)
		return 125;
	must(GNI_CdmCreate(INSTANCE, GNI_FIND_ALLOC_PTAG, 0xce, 0, &cdm));
	must(GNI_CdmAttach(cdm, 0, &pe, &nic));
	make_tree();
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
