#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each call while the first, the second ... allocation, copy or pin that it leads to
# fails: what failed, what the call said, and what it left behind, as a table.
# long
# timeout: 400
# expect-dmesg: Huh VM_FAULT_OOM leaked out
# expect-dmesg: kobject_add_internal failed for kgni5 \(error: -12
# expect-dmesg: kmemleak: Cannot allocate a scan area
. "${0%/*}/lib.sh"

[ -e /proc/self/fail-nth ] || skip_all "needs a kernel with fault injection"
load_kgni
run_prog nth
run_prog nth_netlink
unload_kgni
done_testing
