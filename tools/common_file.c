// SPDX-License-Identifier: GPL-2.0-only
/* Files that appear whole or not at all, and paths that stay in a directory. */

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common.h"

static int open_beneath(int dirfd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static int path_fault(struct fault *f, const char *path)
{
	if (errno == EXDEV || errno == ELOOP)
		return fault_set(f, ST_FAILED, "%s: leads out of the directory that is served",
				 path);
	return fault_set(f, ST_FAILED, "%s: %s", path, strerror(errno));
}

/**
 * file_open_beneath - open a regular file for reading
 * @dirfd: a directory that the path and its links may not leave
 * @path: path in it
 * @f: what went wrong
 *
 * Return: a file descriptor, or -1 with @f set.
 */
int file_open_beneath(int dirfd, const char *path, struct fault *f)
{
	struct stat st;
	int fd = open_beneath(dirfd, path, O_RDONLY | O_NONBLOCK);

	if (fd < 0) {
		path_fault(f, path);
		return -1;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	fault_set(f, ST_FAILED, "%s: not a regular file", path);
	close(fd);
	return -1;
}

/* Splits @path; opens its directory. */
static int open_parent(struct outfile *o, int dirfd, const char *path, struct fault *f)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t len = slash ? (size_t)(slash - path) : 0;
	char dir[4096] = ".";

	if (!*base || !strcmp(base, ".") || !strcmp(base, "..") ||
	    strlen(base) >= sizeof(o->name) || len >= sizeof(dir))
		return fault_set(f, ST_FAILED, "'%s' is no name for a file", path);
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", len ? (int)len : 1, path);
	strcpy(o->name, base);
	if (dirfd == AT_FDCWD)
		o->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	else
		o->dir = open_beneath(dirfd, dir, O_PATH | O_DIRECTORY);
	return o->dir < 0 ? path_fault(f, path) : ST_OK;
}

/* What is there already and isn't a file: a device, a pipe. Not replaced. */
static bool in_place(struct outfile *o)
{
	struct stat st;

	return !fstatat(o->dir, o->name, &st, 0) && !S_ISREG(st.st_mode);
}

/**
 * outfile_create - begin to write a file
 * @o: out
 * @dirfd: a directory that the path and its links may not leave, or AT_FDCWD
 *	for a path that may lead anywhere
 * @path: where the file is to be
 * @f: what went wrong
 *
 * Return: ST_OK; then outfile_commit() or outfile_drop() is due. Or the fault's
 * status.
 */
int outfile_create(struct outfile *o, int dirfd, const char *path, struct fault *f)
{
	static unsigned int number;

	*o = (struct outfile){ .fd = -1, .dir = -1 };
	if (open_parent(o, dirfd, path, f))
		return f->status;
	if (in_place(o)) {
		if (dirfd == AT_FDCWD)
			o->fd = openat(o->dir, o->name, O_WRONLY | O_CLOEXEC);
		else
			errno = EEXIST;
	} else {
		snprintf(o->tmp, sizeof(o->tmp), ".gnicp.%d.%u", getpid(),
			 __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
		o->fd = openat(o->dir, o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (o->fd < 0) {
		path_fault(f, path);
		close(o->dir);
		o->dir = -1;
	}
	return f->status;
}

/**
 * outfile_commit - the file is whole: give it its name and mode
 * @o: the file; closed also when this fails
 * @mode: permission bits
 * @f: what went wrong
 *
 * Return: ST_OK or the fault's status.
 */
int outfile_commit(struct outfile *o, mode_t mode, struct fault *f)
{
	int err;

	err = *o->tmp && fchmod(o->fd, mode & 0777);
	err = close(o->fd) || err || (*o->tmp && renameat(o->dir, o->tmp, o->dir, o->name));
	o->fd = -1;
	if (err)
		fault_set(f, ST_FAILED, "%s: %s", o->name, strerror(errno));
	else
		*o->tmp = '\0';
	outfile_drop(o);
	return f->status;
}

/* Gives up what isn't committed; harmless otherwise. */
void outfile_drop(struct outfile *o)
{
	if (o->dir < 0)
		return;
	if (o->fd >= 0)
		close(o->fd);
	if (*o->tmp)
		unlinkat(o->dir, o->tmp, 0);
	close(o->dir);
	o->fd = -1;
	o->dir = -1;
}

int read_full(int fd, void *buf, size_t length, const char *what, struct fault *f)
{
	while (length) {
		ssize_t n = read(fd, buf, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fault_set(f, ST_FAILED, "%s: %s", what,
					 n ? strerror(errno) : "became shorter while it was read");
		buf = (char *)buf + n;
		length -= (size_t)n;
	}
	return ST_OK;
}

int write_full(int fd, const void *buf, size_t length, const char *what, struct fault *f)
{
	while (length) {
		ssize_t n = write(fd, buf, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fault_set(f, ST_FAILED, "%s: %s", what, strerror(errno));
		buf = (const char *)buf + n;
		length -= (size_t)n;
	}
	return ST_OK;
}
