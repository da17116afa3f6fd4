// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second thing that configure scripts compile: whether there is a resource
 * manager, beside GNI.
 */
#define CONFIG_CRAY_ARIES 1

#include <linux/module.h>

#include <gni_pub.h>
#include "krca_lib.h"

static int __init rca_init(void)
{
	gni_nic_handle_t nic;
	gni_cdm_handle_t cdm;
	nic_addr_t addr;
	rca_nid_t nid;
	int ret = -EIO;

	if (gni_cdm_create(1, GNI_PTAG_OFED, GNI_JOB_CREATE_COOKIE(GNI_PKEY_OFED, 0), 0, &cdm))
		return -EIO;
	if (!gni_cdm_attach(cdm, 0, &nid, &nic) && krca_nid_to_nicaddrs(nid, 1, &addr) == 1 &&
	    addr == nid)
		ret = krca_register(&(struct krca_ticket){ }, 0, 0, 0);
	gni_cdm_destroy(cdm);
	return ret;
}

module_init(rca_init);

MODULE_DESCRIPTION("Is there a resource manager beside GNI");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
