// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Communication domains and their attachments. Driver: kernel/nic.c for
 * attaching, kernel/job.c for protection tags and cookies.
 */
#include <stdlib.h>
#include <string.h>

#include "ugni.h"

/**
 * ugni_open_device - open a device whose driver speaks our language
 * @device: N of /dev/kgniN
 * @fd: out: the file
 * @info: out: what the device is
 *
 * Return: GNI_RC_SUCCESS; GNI_RC_NO_MATCH if there is no such device, or none
 * that this library can talk to; others as opening the file gives them.
 */
gni_return_t ugni_open_device(u32 device, int *fd, struct kgni_ioc_info *info)
{
	gni_return_t rc;
	int ret;

	if (device >= KGNI_MAX_DEVICES)
		return ugni_bad(GNI_RC_NO_MATCH, "device_id is %u, devices have 0 to %u", device,
				KGNI_MAX_DEVICES - 1);
	ret = ugni_sys_open(device);
	if (ret < 0)
		return ugni_more(ugni_answer(ret), "opening " KGNI_DEVICE_PATH, device);
	rc = ugni_call(ret, KGNI_IOC_INFO, info);
	if (rc == GNI_RC_SUCCESS && info->abi == KGNI_ABI_VERSION) {
		*fd = ret;
		return GNI_RC_SUCCESS;
	}
	ugni_sys_close(ret);
	return ugni_bad(GNI_RC_NO_MATCH, "the driver of " KGNI_DEVICE_PATH
			" does not speak version %u of its interface", device, KGNI_ABI_VERSION);
}

/* Is it an open file of a device, by what it answers? */
bool ugni_is_device(int fd)
{
	struct kgni_ioc_info info;

	return fd >= 0 && ugni_call(fd, KGNI_IOC_INFO, &info) == GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_CdmCreate(uint32_t inst_id, uint8_t ptag, uint32_t cookie,
				       uint32_t modes, gni_cdm_handle_t *cdm_hndl)
{
	struct gni_cdm *cdm;

	if (!cdm_hndl)
		return ugni_end(ugni_null(cdm_hndl));
	cdm = ugni_alloc(&ugni_cdms);
	if (!cdm)
		return ugni_end(ugni_nomem("domain"));
	cdm->inst_id = inst_id;
	cdm->ptag = ptag;
	cdm->cookie = cookie;
	cdm->modes = modes;
	ugni_publish(&ugni_cdms, cdm);
	*cdm_hndl = cdm;
	return GNI_RC_SUCCESS;
}

/* The driver undoes whatever was made through the file when it is closed. */
static void nic_destroy(struct gni_nic *nic)
{
	ugni_err_release_all(nic);
	ugni_ce_destroy_all(nic);
	ugni_msgq_release_all(nic);
	ugni_ep_destroy_all(nic);
	ugni_cq_destroy_all(nic);
	ugni_chan_destroy_all(nic);
	if (!ugni_retire(&ugni_nics, nic))
		return;
	ugni_windows_end(nic);
	if (!ugni_away(nic))
		ugni_sys_close(nic->fd);
	ugni_free(&ugni_nics, nic);
}

UGNI_PUBLIC gni_return_t GNI_CdmDestroy(gni_cdm_handle_t cdm_hndl)
{
	struct gni_cdm *cdm = ugni_lock(&ugni_cdms, cdm_hndl);
	u32 i;

	if (!cdm)
		return ugni_end(ugni_no("domain", cdm_hndl));
	ugni_retire(&ugni_cdms, cdm);
	for (i = 0; i < KGNI_MAX_DEVICES; i++)
		if (cdm->nic[i])
			nic_destroy(cdm->nic[i]);
	ugni_unlock(cdm);
	ugni_free(&ugni_cdms, cdm);
	return GNI_RC_SUCCESS;
}

/* The environment has the last word on sharing FMA descriptors: 0 or 1. */
static u32 attach_modes(u32 modes)
{
	const u32 both = GNI_CDM_MODE_FMA_SHARED | GNI_CDM_MODE_FMA_DEDICATED;
	const char *shared = secure_getenv("UGNI_FMA_SHARED");

	if (!shared || (strcmp(shared, "0") && strcmp(shared, "1")))
		return modes;
	return (modes & ~both) |
	       (*shared == '1' ? GNI_CDM_MODE_FMA_SHARED : GNI_CDM_MODE_FMA_DEDICATED);
}

static gni_return_t nic_attach(const struct gni_cdm *cdm, int fd, u32 *pe, struct gni_nic **out)
{
	struct kgni_ioc_attach arg = {
		.inst_id = cdm->inst_id,
		.ptag = cdm->ptag,
		.cookie = cdm->cookie,
		.modes = attach_modes(cdm->modes),
	};
	struct gni_nic *nic;
	gni_return_t rc;

	rc = ugni_call(fd, KGNI_IOC_ATTACH, &arg);
	if (rc != GNI_RC_SUCCESS)
		return ugni_more(rc, "attaching with ptag %u, cookie 0x%x, modes 0x%x", arg.ptag,
				 arg.cookie, arg.modes);
	nic = ugni_alloc(&ugni_nics);
	if (!nic)
		return ugni_nomem("NIC handle");
	nic->fd = fd;
	nic->pe = arg.pe;
	nic->local_window = &ugni_no_window;
	nic->ptag = (u8)arg.ptag;
	nic->cookie = cdm->cookie;
	nic->inst_id = cdm->inst_id;
	nic->modes = arg.modes;
	nic->dlvr_mode = GNI_DLVMODE_PERFORMANCE;
	nic->max_retrans = FMA_SMSG_MAX_RETRANS_DEFAULT;
	ugni_publish(&ugni_nics, nic);
	*pe = arg.pe;
	*out = nic;
	return GNI_RC_SUCCESS;
}

static gni_return_t attach_device(struct gni_cdm *cdm, u32 device, u32 *pe, struct gni_nic **nic)
{
	struct kgni_ioc_info info;
	gni_return_t rc;
	int fd;

	if (cdm->checkpoint)
		return ugni_bad(GNI_RC_INVALID_STATE, UGNI_AWAY);
	if (device < KGNI_MAX_DEVICES && cdm->nic[device])
		return ugni_bad(GNI_RC_INVALID_STATE, "the domain is attached to device %u already",
				device);
	rc = ugni_open_device(device, &fd, &info);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	rc = nic_attach(cdm, fd, pe, nic);
	if (rc == GNI_RC_SUCCESS)
		cdm->nic[device] = *nic;
	else
		ugni_sys_close(fd);
	return rc;
}

/* The lowest device that is there and not attached yet. */
static gni_return_t attach_any(struct gni_cdm *cdm, u32 *pe, struct gni_nic **nic)
{
	gni_return_t rc;
	u32 i;

	for (i = 0; i < KGNI_MAX_DEVICES; i++) {
		if (cdm->nic[i])
			continue;
		rc = attach_device(cdm, i, pe, nic);
		if (rc != GNI_RC_NO_MATCH)
			return rc;
	}
	return ugni_bad(GNI_RC_INVALID_STATE, "no device is left to attach to");
}

UGNI_PUBLIC gni_return_t GNI_CdmAttach(gni_cdm_handle_t cdm_hndl, uint32_t device_id,
				       uint32_t *local_addr, gni_nic_handle_t *nic_hndl)
{
	struct gni_cdm *cdm;
	gni_return_t rc;

	if (!local_addr)
		return ugni_end(ugni_null(local_addr));
	if (!nic_hndl)
		return ugni_end(ugni_null(nic_hndl));
	cdm = ugni_lock(&ugni_cdms, cdm_hndl);
	if (!cdm)
		return ugni_end(ugni_no("domain", cdm_hndl));
	if (device_id == (uint32_t)-1)
		rc = attach_any(cdm, local_addr, nic_hndl);
	else
		rc = attach_device(cdm, device_id, local_addr, nic_hndl);
	ugni_unlock(cdm);
	return ugni_end(rc);
}

/* --- checkpoint ------------------------------------------------------------------- */

static gni_return_t set_checkpoint(gni_cdm_handle_t cdm_handle, bool on)
{
	struct gni_cdm *cdm = ugni_lock(&ugni_cdms, cdm_handle);
	u32 i;

	if (!cdm)
		return ugni_no("domain", cdm_handle);
	cdm->checkpoint = on;
	for (i = 0; i < KGNI_MAX_DEVICES; i++) {
		if (!cdm->nic[i])
			continue;
		if (on && !ugni_away(cdm->nic[i]))
			ugni_windows_drop(cdm->nic[i]);
		core_store(&cdm->nic[i]->checkpoint, on);
	}
	ugni_unlock(cdm);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_CdmCheckpoint(gni_cdm_handle_t cdm_handle)
{
	gni_return_t rc = set_checkpoint(cdm_handle, true);

	/* After a restart those would be gone too; who needs them opens them again. */
	if (rc == GNI_RC_SUCCESS)
		ugni_control_close_all();
	return ugni_end(rc);
}

UGNI_PUBLIC gni_return_t GNI_CdmResume(gni_cdm_handle_t cdm_handle)
{
	return ugni_end(set_checkpoint(cdm_handle, false));
}
