#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Random calls from processes that get in each other's way: a short slice, with
# the same start each time and with one of now, which fuzz prints. fuzz.sh on the
# host leaves other arguments in /vm/fuzz; the limit of time is then its own. The
# messages are those of failing allocations, which it may ask for.
# expect-dmesg: kmemleak: Cannot allocate|Kernel memory leak detector disabled
# expect-dmesg: Huh VM_FAULT_OOM leaked out
. "${0%/*}/lib.sh"

load_kgni nics=2
if [ -e /vm/fuzz ]; then
	read -r -a arguments </vm/fuzz
	run_prog fuzz "${arguments[@]}"
else
	run_prog fuzz -t 20 -r 100 1
	run_prog fuzz -t 20 -r 100 "$(date +%s)"
fi
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
