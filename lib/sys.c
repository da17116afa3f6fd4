// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The system calls that reach the driver (kernel/device.c), and nothing else:
 * unit tests have a driver of their own behind these names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ugni.h"

static void device_path(char *path, size_t size, u32 device)
{
	snprintf(path, size, KGNI_DEVICE_PATH, device);
}

bool ugni_sys_exists(u32 device)
{
	char path[32];

	device_path(path, sizeof(path), device);
	return !access(path, F_OK);
}

/* Return: a descriptor, or -errno. */
int ugni_sys_open(u32 device)
{
	char path[32];
	int fd, state;

	device_path(path, sizeof(path), device);
	/* Callers hold locks, and open() and close() are where a thread may end. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	fd = open(path, O_RDWR | O_CLOEXEC);
	pthread_setcancelstate(state, NULL);
	return fd < 0 ? -errno : fd;
}

void ugni_sys_close(int fd)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	close(fd);
	pthread_setcancelstate(state, NULL);
}

/* Return: a gni_return_t, or -errno. */
int ugni_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

/*
 * For calls that wait, and hold no lock: a point where the thread may be
 * cancelled, deferred cancellation included. ioctl() itself is none.
 */
int ugni_sys_wait(int fd, unsigned long cmd, void *arg)
{
	int ret, type;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = ugni_sys_ioctl(fd, cmd, arg);
	pthread_setcanceltype(type, NULL);
	return ret;
}

void *ugni_sys_map(int fd, u64 offset, u64 length, int *error)
{
	void *mem = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	if (mem == MAP_FAILED) {
		*error = -errno;
		return NULL;
	}
	return mem;
}

/* Give the memory back but keep the addresses: who still looks there sees zeros. */
void ugni_sys_vacate(void *mem, u64 length)
{
	mmap(mem, length, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void ugni_sys_unmap(void *mem, u64 length)
{
	munmap(mem, length);
}

/* Return: where it is mapped, or NULL. */
void *ugni_sys_window(int fd, u64 offset, u64 length, bool write)
{
	void *mem = mmap(NULL, length, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			 fd, (off_t)offset);

	return mem == MAP_FAILED ? NULL : mem;
}

/* Is memory there, of which whole pages are asked for, to be read? It is brought in. */
bool ugni_sys_readable(u64 addr, u64 length)
{
	return !madvise((void *)(uintptr_t)addr, length, MADV_POPULATE_READ);
}

/* A line for whoever debugs the program; it is no harm if that fails. */
void ugni_sys_print(const char *line, size_t length)
{
	ssize_t ret = write(STDERR_FILENO, line, length);

	(void)ret;
}

/* A count that is taken from one by one. Return: a descriptor, or -errno. */
int ugni_sys_eventfd(void)
{
	int fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* read() and write() are where a thread may end, and callers do not expect it. */
void ugni_sys_eventfd_add(int fd)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	eventfd_write(fd, 1);
	pthread_setcancelstate(state, NULL);
}

/* Return: false if the count is zero. */
bool ugni_sys_eventfd_take(int fd)
{
	eventfd_t value;
	int state, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = eventfd_read(fd, &value);
	pthread_setcancelstate(state, NULL);
	return !ret;
}
