// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domains, attachments, endpoints, and what fails.
 */
#include <linux/module.h>

#include "kct.h"

static void domains(void)
{
	gni_cdm_handle_t cdm = NULL, other = NULL;
	gni_nic_handle_t nic = NULL, nic2 = NULL;
	u32 pe = 0, pe2 = 0;

	kct_eq(gni_cdm_create(1, 0, KCT_COOKIE, 0, &cdm), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cdm_create(1, KCT_PTAG, KCT_COOKIE, 0, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cdm_destroy(NULL), GNI_RC_INVALID_PARAM);
	if (!kct_ok(gni_cdm_create(1, KCT_PTAG, KCT_COOKIE, 0, &cdm)))
		return;
	kct_eq(gni_cdm_attach(NULL, 0, &pe, &nic), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cdm_attach(cdm, 0, NULL, &nic), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cdm_attach(cdm, 0, &pe, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cdm_attach(cdm, 4711, &pe, &nic), GNI_RC_NO_MATCH);
	kct_ok(gni_cdm_attach(cdm, 0, &pe, &nic));
	kct_eq(gni_cdm_attach(cdm, 0, &pe2, &nic2), GNI_RC_INVALID_STATE);
	kct_true(!nic2);
	kct_ok(gni_cdm_attach(cdm, -1, &pe2, &nic2));
	kct_eq(pe2, pe + 1);
	/* Several domains, one device, one job. */
	kct_ok(gni_cdm_create(2, KCT_PTAG, KCT_COOKIE, 0, &other));
	kct_ok(gni_cdm_attach(other, 0, &pe2, &nic2));
	kct_eq(pe2, pe);
	kct_ok(gni_cdm_destroy(other));
	/* The tag with another cookie: a code that clients know. */
	kct_ok(gni_cdm_create(2, KCT_PTAG, KCT_COOKIE + 1, 0, &other));
	kct_eq(gni_cdm_attach(other, 0, &pe2, &nic2), GNI_RC_INVALID_PARAM);
	kct_ok(gni_cdm_destroy(other));
	kct_ok(gni_cdm_destroy(cdm));
}

/* A client starts and stops many times in one boot, with the same ids. */
static void again(void)
{
	struct kct_client c;
	int i;

	for (i = 0; i < 20; i++) {
		if (!kct_client_init(&c, 1, 0, 0))
			break;
		kct_client_exit(&c);
	}
}

/* Every ptag that kernel clients have, whoever loads them. */
static void kernel_tags(void)
{
	static const u8 tags[] = { GNI_PTAG_LND, GNI_PTAG_OFED, GNI_PTAG_HSNBOOT,
				   GNI_FIND_ALLOC_PTAG };
	struct kct_client c;
	int i;

	for (i = 0; i < ARRAY_SIZE(tags); i++) {
		kct_client_init_job(&c, 1, 0, 0, tags[i], KCT_COOKIE + i);
		kct_client_exit(&c);
	}
}

static void endpoints(void)
{
	gni_ep_handle_t ep = NULL, unused = NULL;
	struct kct_client a, b;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 0, 0))
		return;
	kct_eq(gni_ep_create(NULL, a.src.cq, &ep), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_create(a.nic, b.src.cq, &ep), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_create(a.nic, a.src.cq, NULL), GNI_RC_INVALID_PARAM);
	/* A handle of another kind. */
	kct_eq(gni_ep_create((gni_nic_handle_t)a.cdm, NULL, &ep), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_create(a.nic, (gni_cq_handle_t)a.nic, &ep), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_create(a.nic, NULL, &unused));
	kct_ok(gni_ep_create(a.nic, a.src.cq, &ep));
	kct_eq(gni_ep_unbind(ep), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_bind(ep, b.pe, b.inst));
	kct_eq(gni_ep_bind(ep, b.pe, b.inst), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_unbind(ep));
	kct_eq(gni_ep_unbind(ep), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_bind(ep, b.pe, b.inst));
	kct_ok(gni_ep_set_eventdata(ep, 5, 6));
	kct_eq(gni_cq_destroy(a.src.cq), GNI_RC_ERROR_RESOURCE);
	/* Bound, and it goes; the other goes with its domain. */
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
	kct_eq(gni_ep_bind(NULL, 0, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_unbind(NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_destroy(NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_ep_set_eventdata(NULL, 0, 0), GNI_RC_INVALID_PARAM);
}

static void queues(void)
{
	gni_cq_handle_t cq = NULL;
	struct kct_client c;
	gni_cq_entry_t e;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	kct_eq(gni_cq_create(NULL, 1, 0, NULL, 0, &cq), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cq_create(c.nic, 0, 0, NULL, 0, &cq), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cq_create(c.nic, 1, 0, NULL, 0, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cq_create(c.nic, (1 << 20) + 1, 0, NULL, 0, &cq), GNI_RC_ERROR_RESOURCE);
	kct_ok(gni_cq_create(c.nic, 1000, 0, NULL, 0, &cq));
	kct_eq(gni_cq_get_event(cq, &e), GNI_RC_NOT_DONE);
	kct_eq(gni_cq_get_event(NULL, &e), GNI_RC_INVALID_PARAM);
	kct_eq(gni_cq_get_event(cq, NULL), GNI_RC_INVALID_PARAM);
	kct_ok(gni_cq_destroy(cq));
	kct_eq(gni_cq_destroy(NULL), GNI_RC_INVALID_PARAM);
	kct_client_exit(&c);
}

static void version(void)
{
	u32 *v = symbol_get(kgni_driver_version);

	if (!kct_true(v))
		return;
	kct_eq(*v, GNI_VERSION);
	/* What clients ask before they trust in the calls' own locks. */
	kct_true(*v >= GNI_VERSION_CHECK(0, 0x45, 0xb9));
	symbol_put(kgni_driver_version);
}

/* The first error since the last look, of this CPU. */
static void last_error(void)
{
	struct kct_client c;
	gni_errno_t e;

	if (!kct_client_init(&c, 1, 0, 0))
		return;
	preempt_disable();
	gni_get_errno(c.nic, &e);
	kct_eq(gni_get_errno(c.nic, &e), GNI_RC_INVALID_STATE);
	kct_eq(gni_ep_bind(NULL, 0, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_post_fma(NULL, NULL), GNI_RC_INVALID_PARAM);
	kct_ok(gni_get_errno(c.nic, &e));
	kct_true(e.valid && !strcmp(e.func, "gni_ep_bind"));
	kct_eq(e.data1, GNI_RC_INVALID_PARAM);
	kct_true(e.lineno && e.errno);
	kct_eq(gni_get_errno(c.nic, &e), GNI_RC_INVALID_STATE);
	kct_eq(gni_get_errno(c.nic, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_get_errno(NULL, &e), GNI_RC_INVALID_PARAM);
	preempt_enable();
	kct_client_exit(&c);
}

const struct kct_test kct_object_tests[] = {
	{ "domains attach to devices", domains },
	{ "a client comes and goes many times", again },
	{ "kernel clients have their own tags", kernel_tags },
	{ "endpoints are made, bound and destroyed", endpoints },
	{ "queues are made and destroyed", queues },
	{ "kgni_driver_version says what clients ask for", version },
	{ "gni_get_errno() keeps the first error", last_error },
	{ }
};
