// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: parameters, start and end, and the table of devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/nospec.h>

#include "kgni.h"

static unsigned int nics = 1;
module_param(nics, uint, 0444);
MODULE_PARM_DESC(nics, "how many virtual NICs to make, 1 to 64 (default 1)");

static char *device = "aries";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "what NICs are to be: aries (default) or gemini");

static unsigned int pe_base = 1;
module_param(pe_base, uint, 0444);
MODULE_PARM_DESC(pe_base, "PE address of the first NIC; the others follow (default 1)");

module_param_named(require_job, kgni_require_job, bool, 0444);
MODULE_PARM_DESC(require_job,
		 "plain users attach to jobs only that GNI_ConfigureJob() told of (default 0)");

module_param_named(bi_bw, kgni_bi_bw, uint, 0444);
MODULE_PARM_DESC(bi_bw, "balanced injection: percent of what a NIC can move (default 100)");

module_param_named(bi_aot_bw, kgni_bi_aot_bw, uint, 0444);
MODULE_PARM_DESC(bi_aot_bw, "the same for after it stood still (default 100)");

module_param_named(ce_patience, kgni_ce_patience, uint, 0444);
MODULE_PARM_DESC(ce_patience,
		 "seconds that a reduction waits for members nobody has seen, 1 to 3600 (default 10)");

/* They are to be of that kind. */
bool kgni_gemini;

static struct kgni_device *kgni_table[KGNI_MAX_DEVICES];

/**
 * kgni_device_by_pe - find the local device that has a PE address
 * @pe: the address
 *
 * Context: under rcu_read_lock(), which keeps it.
 * Return: the device, or NULL if the address is not of this machine.
 */
struct kgni_device *kgni_device_by_pe(u32 pe)
{
	u32 i = pe - pe_base;

	if (i >= KGNI_MAX_DEVICES)
		return NULL;
	/* pairs with kgni_device_add_locked() */
	return smp_load_acquire(&kgni_table[array_index_nospec(i, KGNI_MAX_DEVICES)]);
}

static int __init kgni_check_parameters(void)
{
	kgni_gemini = !strcmp(device, "gemini");
	if (!kgni_gemini && strcmp(device, "aries")) {
		pr_err("device=%s must be aries or gemini\n", device);
		return -EINVAL;
	}
	if (!nics || nics > KGNI_MAX_DEVICES || pe_base > U32_MAX - KGNI_MAX_DEVICES) {
		pr_err("nics=%u must be 1 to %u, pe_base=%u at most %u\n", nics,
		       KGNI_MAX_DEVICES, pe_base, U32_MAX - KGNI_MAX_DEVICES);
		return -EINVAL;
	}
	if (kgni_bi_bw > GNI_BI_INJECT_BW_MAX || kgni_bi_aot_bw > GNI_BI_INJECT_BW_MAX) {
		pr_err("bi_bw=%u and bi_aot_bw=%u must be at most %u\n", kgni_bi_bw,
		       kgni_bi_aot_bw, GNI_BI_INJECT_BW_MAX);
		return -EINVAL;
	}
	if (!kgni_ce_patience || kgni_ce_patience > 3600) {
		pr_err("ce_patience=%u must be 1 to 3600\n", kgni_ce_patience);
		return -EINVAL;
	}
	return 0;
}

static int __init kgni_init(void)
{
	int rc = kgni_check_parameters();

	if (rc)
		return rc;
	rc = kgni_bte_init();
	if (rc)
		return rc;
	rc = kapi_init();
	if (rc)
		goto bte;
	kgni_debugfs_init();
	rc = kgni_devices_init(nics, pe_base, kgni_table);
	if (rc)
		goto exit_debugfs;
	rc = kgni_netlink_init();
	if (!rc)
		return 0;
	kgni_devices_exit();
exit_debugfs:
	kgni_debugfs_exit();
	kapi_exit();
bte:
	kgni_bte_exit();
	return rc;
}

static void __exit kgni_exit(void)
{
	kgni_netlink_exit();
	kgni_devices_exit();
	kgni_debugfs_exit();
	kapi_exit();
	kgni_bte_exit();
	kgni_cq_exit();
	/* Objects freed by RCU callbacks are gone before the code is. */
	rcu_barrier();
}

module_init(kgni_init);
module_exit(kgni_exit);

MODULE_DESCRIPTION("Generic Network Interface (GNI) without the hardware");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(KGNI_VERSION);
