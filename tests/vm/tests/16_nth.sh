#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each call while the first, the second ... allocation, copy or pin that it leads to
# fails: what failed, what the call said, and what it left behind, as a table.
# long
# timeout: 400
# expect-dmesg: Huh VM_FAULT_OOM leaked out
# expect-dmesg: kmemleak: Cannot allocate a scan area
# expect-dmesg: debugfs: out of free dentries
# expect-dmesg: kmem_cache_create.*kgni_bte_req.* failed with error -(12|22)
# expect-dmesg: kobject_add_internal failed for .* \(error: -12
# expect-dmesg: kmemleak: [0-9]+ new suspected memory leaks
# expect-dmesg: kgni: nics=0 must be 1 to
# expect-dmesg: CPU: [0-9]+ PID: [0-9]+ Comm: nth
# expect-dmesg: Call Trace:
# expect-dmesg: kobject: can not set name properly!
# expect-dmesg: \] +(\? )?[A-Za-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+( \[kgni\])?$
. "${0%/*}/lib.sh"

[ -e /proc/self/fail-nth ] || skip_all "needs a kernel with fault injection"
load_kgni
run_prog nth
unload_kgni
leaks=/sys/kernel/debug/kmemleak

# Where a slab's or a class's folder can't be made, 6.1 itself loses its name.
foreign_leaks()
{
	sed -n 's/^    \[<[0-9a-f]*>\] *\([a-z_]*\)+.*/\1/p;s/^unreferenced.*/-/p' $leaks |
		tr '\n' ' ' | tr -- - '\n' |
		grep -v '^ *$\|kobject_set_name.* \(sysfs_slab_add\|__class_register\) '
}

# Traces of what the kernel could not have need not go to a slow console.
dmesg -n 1
run_prog nth load
# A leak is old enough when the second scan sees it: a scan takes that long.
for _ in 1 2 3; do
	echo scan >$leaks
done
is "$(foreign_leaks)" "" "nothing leaks but in the kernel itself"
echo clear >$leaks
done_testing
