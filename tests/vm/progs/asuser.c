// SPDX-License-Identifier: GPL-2.0-only
/*
 * asuser: run a program as another user, without groups or capabilities.
 *
 *	asuser UID program [argument...]
 */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *end;
	unsigned long id;

	if (argc < 3) {
		fprintf(stderr, "usage: asuser UID program [argument...]\n");
		return 125;
	}
	errno = 0;
	id = strtoul(argv[1], &end, 10);
	if (errno || *end || end == argv[1] || id != (uid_t)id) {
		fprintf(stderr, "asuser: bad user id: %s\n", argv[1]);
		return 125;
	}
	if (setgroups(0, NULL) || setgid(id) || setuid(id)) {
		perror("asuser");
		return 126;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
