// SPDX-License-Identifier: GPL-2.0-only
/*
 * withntt: run a command while two entries of the translation table of kgni0 are set.
 *
 *	withntt COMMAND [ARGUMENT...]
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gni_pub.h>

static gni_return_t configure(gni_ntt_entry_t *table, uint32_t *base)
{
	gni_ntt_descriptor_t d = { .group_size = 2, .granularity = 4, .u.table_v2 = table };

	return GNI_ConfigureNTT(0, &d, base);
}

int main(int argc, char **argv)
{
	gni_ntt_entry_t table[2] = { 0 };
	uint32_t base = 5;
	int status;
	pid_t pid;

	table[0].blck_addr = 100;
	table[1].blck_addr = 200;
	table[1].rplc_addr = 300;
	table[1].rplc_size = 1;
	if (argc < 2 || configure(table, &base) != GNI_RC_SUCCESS)
		return 125;
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || configure(NULL, &base) != GNI_RC_SUCCESS)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
