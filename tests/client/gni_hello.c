// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least that a kernel client does: it attaches to a NIC, and leaves.
 */
#include <linux/module.h>

#include <gni_pub.h>

static gni_cdm_handle_t cdm;

static int __init hello_init(void)
{
	gni_nic_handle_t nic;
	gni_return_t rc;
	u32 pe;

	rc = gni_cdm_create(1, GNI_PTAG_OFED, GNI_JOB_CREATE_COOKIE(GNI_PKEY_OFED, 0), 0, &cdm);
	if (rc != GNI_RC_SUCCESS)
		return -ENOMEM;
	rc = gni_cdm_attach(cdm, 0, &pe, &nic);
	if (rc != GNI_RC_SUCCESS) {
		gni_cdm_destroy(cdm);
		return -ENODEV;
	}
	pr_info("gni_hello: this node is %u, its driver has version 0x%x\n", pe,
		kgni_driver_version);
	return 0;
}

static void __exit hello_exit(void)
{
	gni_cdm_destroy(cdm);
}

module_init(hello_init);
module_exit(hello_exit);

MODULE_DESCRIPTION("A client of kgni");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
