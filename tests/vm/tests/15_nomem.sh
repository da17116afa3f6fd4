#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every allocation of the driver fails once.
# timeout: 120
# expect-dmesg: kmemleak: Cannot allocate
# expect-dmesg: Huh VM_FAULT_OOM leaked out
. "${0%/*}/lib.sh"

[ -e /proc/self/fail-nth ] || skip_all "needs a kernel with fault injection"
# All allocations, small or large, and no traces in the log.
for dir in /sys/kernel/debug/fail*/; do
	for setting in ignore-gfp-wait=N ignore-gfp-highmem=N min-order=0 verbose=0; do
		[ ! -e "$dir${setting%=*}" ] || echo "${setting#*=}" >"$dir${setting%=*}"
	done
done
load_kgni
run_prog nomem
unload_kgni
done_testing
