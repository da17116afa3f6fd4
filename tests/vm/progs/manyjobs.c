// SPDX-License-Identifier: GPL-2.0-only
/*
 * manyjobs: run a command while there are many jobs, each with one attachment.
 *
 *	manyjobs COUNT DEVICES CHURN COMMAND [ARGUMENT...]
 *
 * They are spread over the first DEVICES devices. With CHURN "churn" they end and
 * begin anew, one after the other, while the command runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gni/kgni.h>
#include <gni_pub.h>

static int attach(unsigned int device, unsigned int cookie)
{
	struct kgni_ioc_attach arg = { .ptag = GNI_FIND_ALLOC_PTAG, .cookie = cookie,
				       .modes = GNI_CDM_MODE_FMA_SHARED };
	char path[32];
	long rc;
	int fd;

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	rc = fd < 0 ? -1 : ioctl(fd, KGNI_IOC_ATTACH, &arg);
	if (rc == GNI_RC_SUCCESS)
		return fd;
	fprintf(stderr, "manyjobs: %s: job %u: %s\n", path, cookie,
		rc < 0 ? strerror(errno) : "refused");
	exit(125);
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execvp(command[0], command);
	_exit(127);
}

int main(int argc, char **argv)
{
	unsigned int i, count, devices, turns = 0;
	struct rlimit files;
	int *fd, status;
	pid_t pid;

	if (argc < 5)
		return 125;
	count = atoi(argv[1]);
	devices = atoi(argv[2]);
	files.rlim_cur = count + 64;
	files.rlim_max = count + 64;
	fd = calloc(count, sizeof(*fd));
	if (!fd || !count || !devices || setrlimit(RLIMIT_NOFILE, &files)) {
		perror("manyjobs");
		return 125;
	}
	for (i = 0; i < count; i++)
		fd[i] = attach(i % devices, i + 1);
	pid = start(argv + 4);
	if (strcmp(argv[3], "churn")) {
		if (waitpid(pid, &status, 0) != pid)
			return 125;
	} else {
		while (!waitpid(pid, &status, WNOHANG)) {
			i = turns++ % count;
			close(fd[i]);
			fd[i] = attach(i % devices, i + 1);
		}
		fprintf(stderr, "manyjobs: %u jobs ended and began anew\n", turns);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
