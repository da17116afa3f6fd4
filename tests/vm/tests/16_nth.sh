#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each call while the first, the second ... allocation, copy or pin that it leads to
# fails: what failed, what the call said, and what it left behind, as a table.
# timeout: 400
# expect-dmesg: Huh VM_FAULT_OOM leaked out
# expect-dmesg: kmemleak: Cannot allocate a scan area
# expect-dmesg: debugfs: out of free dentries
# expect-dmesg: kmem_cache_create.*kgni_bte_req.* failed with error -(12|22)
# expect-dmesg: kobject_add_internal failed for .* \(error: -12
# expect-dmesg: Call Trace:
# expect-dmesg: \] +(\? )?[A-Za-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+( \[kgni\])?$
. "${0%/*}/lib.sh"

[ -e /proc/self/fail-nth ] || skip_all "needs a kernel with fault injection"
load_kgni
run_prog nth
unload_kgni
# Traces of what the kernel could not have need not go to a slow console.
dmesg -n 1
run_prog nth load
done_testing
