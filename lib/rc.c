// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From the driver's answers to return codes, and timeouts. The driver answers
 * with a GNI return code where it understood the call, with an errno where not
 * (include/uapi/gni/kgni.h).
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "ugni.h"

gni_return_t ugni_rc(int ret)
{
	if (ret >= 0)
		return ret <= GNI_RC_ERROR_NOMEM ? (gni_return_t)ret : GNI_RC_INVALID_STATE;
	switch (-ret) {
	case EFAULT:
	case EINVAL:
		return GNI_RC_INVALID_PARAM;
	case ENOMEM:
		return GNI_RC_ERROR_NOMEM;
	case EPERM:
	case EACCES:
		return GNI_RC_PERMISSION_ERROR;
	case ENODEV:
	case ENOENT:
	case ENXIO:
		return GNI_RC_NO_MATCH;
	case EMFILE:
	case ENFILE:
	case EBUSY:
	case EAGAIN:
		return GNI_RC_ERROR_RESOURCE;
	default:
		return GNI_RC_INVALID_STATE;
	}
}

/* The same of what a system call on a device returned, and that noted. */
gni_return_t ugni_answer(int ret)
{
	gni_return_t rc = ugni_rc(ret);

	if (ret < 0)
		return ugni_bad(rc, "a call of the driver failed with %s",
				strerrorname_np(-ret) ?: "an errno without a name");
	return rc == GNI_RC_SUCCESS ? rc : ugni_bad(rc, "the driver refused");
}

/* For calls that do not wait: a signal is no reason to give up. */
gni_return_t ugni_call(int fd, unsigned long cmd, void *arg)
{
	int ret;

	do
		ret = ugni_sys_ioctl(fd, cmd, arg);
	while (ret == -EINTR);
	return ugni_answer(ret);
}

/**
 * ugni_nic_call - ask the driver for something of a NIC handle
 * @nic: NIC handle
 * @cmd: KGNI_IOC_*, one that does not wait
 * @arg: its structure
 *
 * Return: GNI_RC_INVALID_PARAM at a checkpoint, when there is nothing behind
 * the handle; else as the driver answers.
 */
gni_return_t ugni_nic_call(const struct gni_nic *nic, unsigned long cmd, void *arg)
{
	if (ugni_away(nic))
		return ugni_bad(GNI_RC_INVALID_PARAM, UGNI_AWAY);
	return ugni_call(nic->fd, cmd, arg);
}

static u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000 + (u64)ts.tv_nsec / 1000;
}

/**
 * ugni_deadline - when a timeout that begins now is over
 * @timeout_ms: milliseconds, or KGNI_WAIT_FOREVER
 *
 * Return: for ugni_remaining().
 */
u64 ugni_deadline(u64 timeout_ms)
{
	u64 now;

	if (!timeout_ms || timeout_ms == KGNI_WAIT_FOREVER)
		return timeout_ms;
	now = now_us();
	if (timeout_ms >= (KGNI_WAIT_FOREVER - now) / 1000)
		return KGNI_WAIT_FOREVER;
	return now + timeout_ms * 1000;
}

/**
 * ugni_remaining - how much of a timeout is left
 * @deadline: what ugni_deadline() said
 *
 * Return: milliseconds, rounded up; 0 when it is over; KGNI_WAIT_FOREVER.
 */
u64 ugni_remaining(u64 deadline)
{
	u64 now;

	if (!deadline || deadline == KGNI_WAIT_FOREVER)
		return deadline;
	now = now_us();
	return now >= deadline ? 0 : (deadline - now + 999) / 1000;
}
