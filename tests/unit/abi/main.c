// SPDX-License-Identifier: GPL-2.0-only
/* Runs the checks of the file that it is linked with. */
#include <stdio.h>

#include "check.h"

static int failed;

static void fail(int row)
{
	fprintf(stderr, "gni_abi.tsv:%d: the macro expands to something else\n", row);
	failed = 1;
}

int main(void)
{
	gni_abi_run(fail);
	return failed;
}
