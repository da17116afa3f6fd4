// SPDX-License-Identifier: GPL-2.0-only
/*
 * What configure scripts of clients compile to see whether there is GNI: the one
 * call, with the chip chosen as they do.
 */
#ifndef CONFIG_CRAY_GEMINI
#define CONFIG_CRAY_ARIES 1
#endif

#include <linux/module.h>

#include <gni_pub.h>

static int __init probe_init(void)
{
	gni_cdm_handle_t cdm;

	if (gni_cdm_create(0, 1, 1, 0, &cdm))
		return -EIO;
	gni_cdm_destroy(cdm);
	return 0;
}

module_init(probe_init);

MODULE_DESCRIPTION("Is there GNI");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
