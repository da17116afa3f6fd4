#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Peers killed in the middle of transfers: nothing leaks, survivors live.
# long
# timeout: 240
. "${0%/*}/lib.sh"

load_kgni nics=2
# The kernel's own caches grow in the first rounds.
run_prog storm 10
before=$(snapshot)
run_prog storm 100
after=$(snapshot)
same_resources "nothing has leaked" "$(grep -v MemFree <<<"$before")" "$after" 1024
same_resources "no memory is missing" "$(grep MemFree <<<"$before")" "$after" 16384
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
