// SPDX-License-Identifier: GPL-2.0-only
/*
 * kgni_leak_test.ko: a client that goes and leaves its domain behind, with a
 * queue that has a handler, a registration that peers may write to, and a post
 * under way.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include <gni_pub.h>

static u64 leak_target[512];

static void leak_handler(u32 devid, u64 data)
{
}

static int __init leak_init(void)
{
	gni_mem_handle_t hndl;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	u32 pe;

	if (gni_cdm_create(7, GNI_PTAG_OFED, GNI_JOB_CREATE_COOKIE(GNI_PKEY_OFED, 0), 0, &cdm) ||
	    gni_cdm_attach(cdm, 0, &pe, &nic) ||
	    gni_cq_create(nic, 16, 0, leak_handler, 0, &cq) ||
	    gni_mem_register(nic, (uintptr_t)leak_target, sizeof(leak_target), cq, 0, &hndl) ||
	    gni_ep_create(nic, cq, &ep) || gni_ep_bind(ep, pe, 7) ||
	    gni_ep_postdata_w_id(ep, NULL, 0, NULL, 0, 1))
		return -EIO;
	return 0;
}

static void __exit leak_exit(void)
{
}

module_init(leak_init);
module_exit(leak_exit);

MODULE_DESCRIPTION("A client of kgni that cleans nothing up");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
