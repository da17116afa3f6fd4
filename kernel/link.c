// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way to another NIC, and how tests break it: two attributes of the
 * kernel's fault injection, in debugfs under kgni/, see
 * Documentation/fault-injection/. Both end a post whose target is on another
 * NIC with KGNI_ST_LINK: fail_link before anything is done, fail_link_ack after
 * all of it is, as if only the answer had been lost.
 *
 * Kernels without fault injection in debugfs have nothing of this.
 */
#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "kgni.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

static DECLARE_FAULT_ATTR(kgni_fail_link);
static DECLARE_FAULT_ATTR(kgni_fail_link_ack);

/* Not asked when off: tests that count faults of the task would count it. */
static bool kgni_link_fault(struct fault_attr *attr)
{
	return READ_ONCE(attr->probability) && should_fail(attr, 1);
}

/**
 * kgni_link_lost - is a post to another NIC lost on its way
 *
 * Context: any.
 * Return: true if a test wants it so.
 */
bool kgni_link_lost(void)
{
	return kgni_link_fault(&kgni_fail_link);
}

/**
 * kgni_link_ack_lost - is the answer of another NIC lost
 *
 * Context: any.
 * Return: true if a test wants it so.
 */
bool kgni_link_ack_lost(void)
{
	return kgni_link_fault(&kgni_fail_link_ack);
}

/* What debugfs lacks is for tests to find out. */
void __init kgni_link_init(struct dentry *dir)
{
	kgni_fail_link.verbose = 0;
	kgni_fail_link_ack.verbose = 0;
	fault_create_debugfs_attr("fail_link", dir, &kgni_fail_link);
	fault_create_debugfs_attr("fail_link_ack", dir, &kgni_fail_link_ack);
}

#endif /* CONFIG_FAULT_INJECTION_DEBUG_FS */
