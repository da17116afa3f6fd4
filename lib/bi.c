// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How much a device may inject. Driver: kernel/bi.c. */
#include <errno.h>

#include "ugni.h"

/* For all of these calls a device that is not there is a wrong parameter. */
static gni_return_t bi_end(gni_return_t rc, u32 device)
{
	return rc != GNI_RC_NO_MATCH ? rc :
	       ugni_bad(GNI_RC_INVALID_PARAM, "there is no device %u", device);
}

UGNI_PUBLIC gni_return_t GNI_SetBIConfig(uint32_t device_id, uint16_t bw, uint16_t aot_bw,
					 uint16_t modes)
{
	struct kgni_ioc_bi_set arg = { .bw = bw, .aot_bw = aot_bw, .modes = modes };
	gni_return_t rc = bi_end(ugni_control_call(device_id, KGNI_IOC_BI_SET, &arg), device_id);

	return ugni_end(rc == GNI_RC_SUCCESS ? rc :
			ugni_more(rc, "for bw %u, aot_bw %u, modes 0x%x", bw, aot_bw, modes));
}

UGNI_PUBLIC gni_return_t GNI_GetBIConfig(uint32_t device_id, gni_bi_desc_t *desc)
{
	struct kgni_ioc_bi_get arg;
	gni_return_t rc;

	if (!desc)
		return ugni_end(ugni_null(desc));
	rc = bi_end(ugni_control_call(device_id, KGNI_IOC_BI_GET, &arg), device_id);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	*desc = (gni_bi_desc_t){
		.current_bw = arg.bw,
		.current_aot_bw = arg.aot_bw,
		.current_norbs = arg.norbs,
		.flags = arg.flags,
		.sys_def_bw = arg.sys_bw,
		.sys_def_aot_bw = arg.sys_aot_bw,
		.cle_seqnum = arg.changes,
		.hss_seqnum = arg.committed,
	};
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_BISyncWait(uint32_t device_id, uint32_t timeout)
{
	u64 deadline = ugni_deadline(timeout);
	struct kgni_ioc_bi_wait arg;
	gni_return_t rc;
	int fd, ret;

	rc = bi_end(ugni_control_fd(device_id, &fd), device_id);
	if (rc != GNI_RC_SUCCESS)
		return ugni_end(rc);
	do {
		arg.timeout_ms = ugni_remaining(deadline);
		ret = ugni_sys_wait(fd, KGNI_IOC_BI_WAIT, &arg);
	} while (ret == -EINTR);
	return ugni_end(ugni_answer(ret));
}
