// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What can be asked without a communication domain, through one control file a
 * device that stays open once it was needed, but for checkpoints: a protection
 * tag that the driver made for GNI_GetPtag() lives as long as it. Driver: kernel/device.c, and
 * kernel/job.c for tags and resources. Statistics of a NIC handle are counted
 * by the library.
 */
#include <stdio.h>
#include <string.h>

#include "ugni.h"

#ifndef KGNI_VERSION
#define KGNI_VERSION	"unknown"
#endif

#define UGNI_REVISION	1

/* One device's control file, and what does not change about the device. */
struct control {
	bool open;
	int fd;
	struct kgni_ioc_info info;
};

static struct control controls[KGNI_MAX_DEVICES];
static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;

/**
 * control_call - ask a device, after opening it if need be
 * @device: N of /dev/kgniN
 * @cmd: what to ask, or 0 for no more than what @out tells
 * @arg: for @cmd
 * @out: out: its control file; NULL if it does not matter
 *
 * Return: GNI_RC_NO_MATCH if there is no such device; else as the driver says.
 */
static gni_return_t control_call(u32 device, unsigned long cmd, void *arg,
				 const struct control **out)
{
	gni_return_t rc = GNI_RC_SUCCESS;
	struct control *c;

	if (device >= KGNI_MAX_DEVICES)
		return ugni_bad(GNI_RC_NO_MATCH, "device_id is %u, devices have 0 to %u", device,
				KGNI_MAX_DEVICES - 1);
	c = &controls[device];
	ugni_watch_forks();
	pthread_mutex_lock(&control_lock);
	if (!c->open) {
		rc = ugni_open_device(device, &c->fd, &c->info);
		c->open = rc == GNI_RC_SUCCESS;
	}
	if (c->open && cmd)
		rc = ugni_call(c->fd, cmd, arg);
	pthread_mutex_unlock(&control_lock);
	if (out)
		*out = c;
	return rc;
}

/* The same for other files. */
gni_return_t ugni_control_call(u32 device, unsigned long cmd, void *arg)
{
	return control_call(device, cmd, arg, NULL);
}

/* For calls that wait: the control file itself, which stays open until a checkpoint. */
gni_return_t ugni_control_fd(u32 device, int *fd)
{
	const struct control *c = NULL;
	gni_return_t rc = control_call(device, 0, NULL, &c);

	if (rc == GNI_RC_SUCCESS)
		*fd = c->fd;
	return rc;
}

/* What does not change about a device. */
static gni_return_t control_get(u32 device, const struct control **out)
{
	return control_call(device, 0, NULL, out);
}

static gni_return_t no_device(void)
{
	return ugni_bad(GNI_RC_ERROR_RESOURCE, "there is no device, or none that may be used");
}

static gni_return_t control_any(const struct control **out)
{
	gni_return_t rc;
	u32 i;

	for (i = 0; i < KGNI_MAX_DEVICES; i++) {
		if (!ugni_sys_exists(i))
			continue;
		rc = control_get(i, out);
		if (rc == GNI_RC_SUCCESS)
			return rc;
	}
	return no_device();
}

static void close_all(void)
{
	u32 i;

	for (i = 0; i < KGNI_MAX_DEVICES; i++) {
		if (controls[i].open)
			ugni_sys_close(controls[i].fd);
		controls[i].open = false;
	}
}

/* Before a checkpoint: what needs them later opens them again. */
void ugni_control_close_all(void)
{
	pthread_mutex_lock(&control_lock);
	close_all();
	pthread_mutex_unlock(&control_lock);
}

/* In a child process, whose parent's files these are. */
void ugni_control_forked(void)
{
	pthread_mutex_init(&control_lock, NULL);
	close_all();
}

UGNI_PUBLIC gni_return_t GNI_CdmGetNicAddress(uint32_t device_id, uint32_t *address,
					      uint32_t *cpu_id)
{
	const struct control *c;
	gni_return_t rc;

	if (!address)
		return ugni_end(ugni_null(address));
	if (!cpu_id)
		return ugni_end(ugni_null(cpu_id));
	rc = control_get(device_id, &c);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	*address = c->info.pe;
	*cpu_id = c->info.cpu;
	return GNI_RC_SUCCESS;
}

/* Return: how many devices there are; the first @len of them in @ids. */
static int list_devices(int len, int *ids)
{
	int n = 0;
	u32 i;

	for (i = 0; i < KGNI_MAX_DEVICES; i++) {
		if (!ugni_sys_exists(i))
			continue;
		if (n < len)
			ids[n] = (int)i;
		n++;
	}
	return n;
}

UGNI_PUBLIC gni_return_t GNI_GetNumLocalDevices(int *num_devices)
{
	int n;

	if (!num_devices)
		return ugni_end(ugni_null(num_devices));
	n = list_devices(0, NULL);
	if (!n)
		return ugni_end(no_device());
	*num_devices = n;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_GetLocalDeviceIds(int len, int *device_ids)
{
	if (len <= 0)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "len is %d", len));
	if (!device_ids)
		return ugni_end(ugni_null(device_ids));
	return list_devices(len, device_ids) ? GNI_RC_SUCCESS : ugni_end(no_device());
}

UGNI_PUBLIC gni_return_t GNI_GetVersion(uint32_t *version)
{
	if (!version)
		return ugni_end(ugni_null(version));
	*version = GNI_VERSION;
	return GNI_RC_SUCCESS;
}

/* Without a driver its half stays zero. */
UGNI_PUBLIC gni_return_t GNI_GetVersionInformation(gni_version_info_t *version_info)
{
	gni_version_info_t *v = version_info;
	const struct control *c;

	if (!v)
		return ugni_end(ugni_null(version_info));
	memset(v, 0, sizeof(*v));
	v->ugni_version = GNI_VERSION;
	v->ugni_svn_revision = UGNI_REVISION;
	snprintf(v->ugni_build_string, sizeof(v->ugni_build_string), "libugni " KGNI_VERSION);
	if (control_any(&c) != GNI_RC_SUCCESS)
		return GNI_RC_SUCCESS;
	v->kgni_version = c->info.version;
	v->kgni_svn_revision = c->info.revision;
	snprintf(v->kgni_build_string, sizeof(v->kgni_build_string), "%.*s",
		 (int)sizeof(c->info.build), c->info.build);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_GetDeviceType(gni_nic_device_t *dev_type)
{
	const struct control *c;
	gni_return_t rc;

	if (!dev_type)
		return ugni_end(ugni_null(dev_type));
	rc = control_any(&c);
	if (rc == GNI_RC_SUCCESS)
		*dev_type = (gni_nic_device_t)c->info.device_type;
	return ugni_end(rc);
}

static gni_return_t res_info(u32 device, struct kgni_ioc_res *arg)
{
	gni_return_t rc = control_call(device, KGNI_IOC_RES_INFO, arg, NULL);

	/* No code is documented for a device that is not there. */
	if (rc == GNI_RC_NO_MATCH)
		return ugni_bad(GNI_RC_INVALID_PARAM, "device_id %u is no device", device);
	return rc == GNI_RC_SUCCESS ? rc : ugni_more(rc, "res_type is %u, ptag %u", arg->type,
						     arg->ptag);
}

UGNI_PUBLIC gni_return_t GNI_GetDevResInfo(uint32_t device_id, gni_dev_res_t res_type,
					   gni_dev_res_desc_t *res_desc)
{
	struct kgni_ioc_res arg = { .scope = KGNI_RES_DEVICE, .type = res_type };
	gni_return_t rc;

	if (!res_desc)
		return ugni_end(ugni_null(res_desc));
	rc = res_info(device_id, &arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	res_desc->available = arg.available;
	res_desc->reserved = arg.reserved_count;
	res_desc->held = arg.used;
	res_desc->total = arg.total;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_GetJobResInfo(uint32_t device_id, uint8_t ptag,
					   gni_job_res_t res_type, gni_job_res_desc_t *res_desc)
{
	struct kgni_ioc_res arg = { .scope = KGNI_RES_JOB, .type = res_type, .ptag = ptag };
	gni_return_t rc;

	if (!res_desc)
		return ugni_end(ugni_null(res_desc));
	rc = res_info(device_id, &arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	res_desc->used = arg.used;
	res_desc->limit = arg.total;
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_GetPtag(uint32_t device_id, uint32_t cookie, uint8_t *ptag)
{
	struct kgni_ioc_ptag arg = { .cookie = cookie };
	gni_return_t rc;

	if (!ptag)
		return ugni_end(ugni_null(ptag));
	rc = control_call(device_id, KGNI_IOC_GET_PTAG, &arg, NULL);
	if (rc == GNI_RC_SUCCESS)
		*ptag = (uint8_t)arg.ptag;
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_GetNttGran(uint32_t device_id, uint32_t *ntt_gran)
{
	struct kgni_ioc_info info;
	gni_return_t rc;

	if (!ntt_gran)
		return ugni_end(ugni_null(ntt_gran));
	rc = control_call(device_id, KGNI_IOC_INFO, &info, NULL);
	/* No code is documented for a device that is not there. */
	if (rc == GNI_RC_NO_MATCH)
		rc = ugni_bad(GNI_RC_INVALID_PARAM, "there is no device %u", device_id);
	if (rc == GNI_RC_SUCCESS)
		*ntt_gran = info.ntt_gran;
	return ugni_end(rc);
}

/* --- statistics ----------------------------------------------------------------------- */

static gni_return_t nic_stat(gni_nic_handle_t nic_hndl, gni_statistic_t stat, u32 **counter)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);

	if (!nic)
		return ugni_no("NIC handle", nic_hndl);
	if ((unsigned int)stat >= GNI_NUM_STATS)
		return ugni_bad(GNI_RC_INVALID_PARAM, "stat is %u, there are 0 to %u",
				(unsigned int)stat, GNI_NUM_STATS - 1);
	*counter = &nic->stat[stat];
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_GetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat,
					uint32_t *value)
{
	gni_return_t rc;
	u32 *counter;

	if (!value)
		return ugni_end(ugni_null(value));
	rc = nic_stat(nic_hndl, stat, &counter);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	*value = core_load(counter);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_ResetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat)
{
	gni_return_t rc;
	u32 *counter;

	rc = nic_stat(nic_hndl, stat, &counter);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	core_store(counter, 0);
	return GNI_RC_SUCCESS;
}
