// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Hears of a post of its own that goes nowhere. */
#include <err.h>
#include <stdio.h>
#include <gni_pub.h>

#define CATEGORIES	(GNI_ERRMASK_CRITICAL | GNI_ERRMASK_TRANSACTION)

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

int main(void)
{
	gni_post_descriptor_t post = { .type = GNI_POST_CQWRITE };
	gni_error_event_t event;
	gni_error_mask_t before;
	gni_err_handle_t errors;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	uint32_t pe, count;
	uint8_t ptag;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x1000b, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("subscribe", GNI_SubscribeErrors(nic, 0, GNI_ERRMASK_CRITICAL, 16, &errors));
	must("mask", GNI_SetErrorMask(errors, CATEGORIES, &before));
	must("tag", GNI_GetPtag(0, 0x1000b, &ptag));
	must("own errors", GNI_SetErrorPtag(errors, ptag));
	must("endpoint", GNI_EpCreate(nic, NULL, &ep));
	must("bind", GNI_EpBind(ep, 0x7fffffff, 1));	/* nobody is there */
	must("post", GNI_PostCqWrite(ep, &post));
	must("wait", GNI_WaitErrorEvents(errors, &event, 1, 0, &count));
	if (GNI_GetErrorEvent(errors, &event) != GNI_RC_NOT_DONE)
		errx(1, "there is one more");
	must("mask", GNI_GetErrorMask(errors, &before));
	if (before != CATEGORIES || event.ptag != ptag)
		errx(1, "not ours");
	printf("code 0x%x, category 0x%x, event %u\n", event.error_code, event.error_category,
	       event.serial_number);
	must("release", GNI_ReleaseErrors(errors));
	return GNI_CdmDestroy(cdm);
}
