// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory that the instances of a node share for message queues: a file of
 * hugetlbfs, or of tmpfs where the environment names such a directory, with a name
 * that is the node's and the job's.
 *
 * Who is alive is told by locks on bytes of the file, which the kernel takes back
 * from an open file when the last process closes it, however that ends: one byte
 * for each instance, and one for who joins, leaves, or changes connections. What
 * is in the file proves nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "msgq.h"

#define MOUNTS		"/proc/self/mounts"
#define SETUP_BYTE	4096
/* Between tries for that byte, us: ever longer, as there may be many who want it. */
#define SETUP_REST	1000
#define SETUP_REST_MAX	16000
#define SETUP_PATIENCE	10000000
#define OPEN_TRIES	1000
/* What is said where nobody can be asked. */
#define HUGE_PAGE	(2UL << 20)

/* --- where the file is --------------------------------------------------------- */

/* Is memory of that file system there to stay, so that it can be registered? */
static bool usable(const char *dir, size_t *page)
{
	struct statfs s;

	if (statfs(dir, &s) || (s.f_type != HUGETLBFS_MAGIC && s.f_type != TMPFS_MAGIC))
		return false;
	*page = (size_t)s.f_bsize;
	return true;
}

/* The first hugetlbfs that we may make files in. */
static bool find_hugetlbfs(char *dir, size_t size, size_t *page)
{
	struct mntent entry;
	char strings[4096];
	bool found = false;
	FILE *f;

	f = setmntent(MOUNTS, "re");
	if (!f)
		return false;
	while (!found && getmntent_r(f, &entry, strings, sizeof(strings))) {
		if (strcmp(entry.mnt_type, "hugetlbfs") || strlen(entry.mnt_dir) >= size ||
		    access(entry.mnt_dir, R_OK | W_OK | X_OK) || !usable(entry.mnt_dir, page))
			continue;
		strcpy(dir, entry.mnt_dir);
		found = true;
	}
	endmntent(f);
	return found;
}

/* @dir: out: the directory; @page: out: what sizes of files are multiples of */
static bool find_dir(char *dir, size_t size, size_t *page)
{
	const char *chosen = secure_getenv("UGNI_MSGQ_DIR");

	if (!chosen)
		return find_hugetlbfs(dir, size, page);
	if (strlen(chosen) >= size || !usable(chosen, page))
		return false;
	strcpy(dir, chosen);
	return true;
}

/* Bytes of a page of the memory that a region would be of. */
size_t ugni_region_page(void)
{
	char dir[UGNI_REGION_PATH];
	size_t page;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	if (!find_dir(dir, sizeof(dir), &page))
		page = HUGE_PAGE;
	pthread_setcancelstate(state, NULL);
	return page;
}

/* --- locks ------------------------------------------------------------------------ */

static struct flock byte_lock(off_t byte, off_t count, short type)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = count,
	};
}

static bool try_byte(int fd, off_t byte)
{
	struct flock l = byte_lock(byte, 1, F_WRLCK);

	return !fcntl(fd, F_OFD_SETLK, &l);
}

static void free_byte(int fd, off_t byte)
{
	struct flock l = byte_lock(byte, 1, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &l);
}

/* Does another open file hold one of the bytes? */
static bool held(int fd, off_t byte, off_t count)
{
	struct flock l = byte_lock(byte, count, F_WRLCK);

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

/* Is another instance alive? */
bool ugni_region_alive(const struct ugni_region *r, u32 inst)
{
	return held(r->fd, inst, 1);
}

/* Is any other? */
bool ugni_region_others(const struct ugni_region *r)
{
	return held(r->fd, 0, KGNI_MSGQ_INSTS_MAX);
}

/* Be an instance, unless another is. It ends with the region. */
bool ugni_region_claim(const struct ugni_region *r, u32 inst)
{
	return try_byte(r->fd, inst);
}

/**
 * ugni_region_lock - exclude the other processes
 * @r: the region
 *
 * Context: the caller excludes other threads; not to be cancelled.
 * Return: false if one of them holds on for too long.
 */
bool ugni_region_lock(const struct ugni_region *r)
{
	u32 rest = SETUP_REST, rested;

	for (rested = 0; rested < SETUP_PATIENCE; rested += rest) {
		if (try_byte(r->fd, SETUP_BYTE))
			return true;
		if (rested && rest < SETUP_REST_MAX)
			rest *= 2;
		usleep(rest);
	}
	return false;
}

void ugni_region_unlock(const struct ugni_region *r)
{
	free_byte(r->fd, SETUP_BYTE);
}

/* --- the file ----------------------------------------------------------------------- */

/* A file of ours that nobody else may open. */
static bool private_file(int fd, struct stat *s)
{
	return !fstat(fd, s) && S_ISREG(s->st_mode) && s->st_uid == geteuid() &&
	       !(s->st_mode & 0077);
}

/*
 * Open the file and lock it. Between the two whoever was the last may have
 * removed it; then there is another one.
 */
static gni_return_t open_locked(struct ugni_region *r)
{
	struct stat s;
	u32 i;

	for (i = 0; i < OPEN_TRIES; i++) {
		r->fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (r->fd < 0)
			return ugni_bad(errno == ENOMEM || errno == ENOSPC ||
					errno == EMFILE || errno == ENFILE ?
					GNI_RC_ERROR_NOMEM : GNI_RC_PERMISSION_ERROR,
					"%s cannot be opened: %s", r->path, strerror(errno));
		if (!private_file(r->fd, &s)) {
			close(r->fd);
			return ugni_bad(GNI_RC_PERMISSION_ERROR, "%s is not this user's own",
					r->path);
		}
		if (!ugni_region_lock(r)) {
			close(r->fd);
			return ugni_bad(GNI_RC_INVALID_STATE, "another instance does not let go");
		}
		if (!fstat(r->fd, &s) && s.st_nlink)
			return GNI_RC_SUCCESS;
		close(r->fd);
	}
	return ugni_bad(GNI_RC_INVALID_STATE, "%s comes and goes", r->path);
}

/* What processes left that all died counts for nothing. */
static gni_return_t size_file(struct ugni_region *r)
{
	struct stat s;
	int error;

	r->fresh = !ugni_region_others(r);
	if (!r->fresh) {
		if (fstat(r->fd, &s) || (u64)s.st_size != r->size)
			return ugni_bad(GNI_RC_INVALID_STATE,
					"other instances' attributes make a queue of %llu bytes, not %llu",
					(unsigned long long)s.st_size, (unsigned long long)r->size);
		return GNI_RC_SUCCESS;
	}
	if (ftruncate(r->fd, 0) || ftruncate(r->fd, (off_t)r->size))
		return ugni_bad(GNI_RC_ERROR_NOMEM, "%s cannot have %llu bytes", r->path,
				(unsigned long long)r->size);
	error = posix_fallocate(r->fd, 0, (off_t)r->size);
	if (error)
		return ugni_bad(GNI_RC_ERROR_NOMEM, "no memory for the %llu bytes of %s: %s",
				(unsigned long long)r->size, r->path, strerror(error));
	return GNI_RC_SUCCESS;
}

static gni_return_t map_file(struct ugni_region *r)
{
	r->mem = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->mem == MAP_FAILED)
		return ugni_bad(GNI_RC_ERROR_NOMEM, "%s cannot be mapped: %s", r->path,
				strerror(errno));
	/* A child that dies with the parent's lock would be taken for the parent. */
	madvise(r->mem, r->size, MADV_DONTFORK);
	return GNI_RC_SUCCESS;
}

/**
 * ugni_region_open - map the region of a node and job, and exclude others from it
 * @r: out: the region
 * @nic: NIC handle
 * @size: bytes that are needed
 *
 * Context: not to be cancelled.
 * Return: GNI_RC_SUCCESS, with @r->fresh if there is no other instance, then it is
 * all zeros; GNI_RC_PERMISSION_ERROR without a file system for it;
 * GNI_RC_INVALID_STATE if the others' region is another; GNI_RC_ERROR_NOMEM.
 */
gni_return_t ugni_region_open(struct ugni_region *r, const struct gni_nic *nic, u64 size)
{
	char dir[UGNI_REGION_PATH - 80];
	gni_return_t rc;
	size_t page;

	if (!find_dir(dir, sizeof(dir), &page))
		return ugni_bad(GNI_RC_PERMISSION_ERROR,
				"there is no hugetlbfs to write to, and UGNI_MSGQ_DIR names no tmpfs");
	r->size = kgni_msgq_round(size, page);
	snprintf(r->path, sizeof(r->path), "%s/kgni-msgq-%u-%u-%u-%x", dir,
		 (unsigned int)geteuid(), nic->pe, nic->ptag, nic->cookie);
	rc = open_locked(r);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = size_file(r);
	if (rc == GNI_RC_SUCCESS)
		rc = map_file(r);
	if (rc == GNI_RC_SUCCESS)
		return rc;
	if (r->fresh)
		unlink(r->path);
	close(r->fd);
	return rc;
}

/* A forked child has the file, and must not keep its parent's locks. */
void ugni_region_forked(struct ugni_region *r)
{
	close(r->fd);
}

/**
 * ugni_region_close - leave a region
 * @r: the region
 * @locked: the others are excluded; then it is removed by the last
 */
void ugni_region_close(struct ugni_region *r, bool locked)
{
	if (locked && !ugni_region_others(r))
		unlink(r->path);
	munmap(r->mem, r->size);
	close(r->fd);
}
