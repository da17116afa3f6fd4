#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Configured jobs and their limits.
# timeout: 240
# expect-dmesg: kgni: device=x must be aries or gemini
. "${0%/*}/lib.sh"

load_kgni
run_prog joblimits
run_prog asuser 1000 joblimits user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
load_kgni require_job=1
run_prog joblimits required
unload_kgni
fails "a kind of devices that there is not" insmod "/lib/modules/$(uname -r)/extra/kgni.ko" device=x
load_kgni device=gemini
is "$(cat /sys/class/gni/kgni0/type) $(gnictl -j dev | jq -r '.[0].type')" "gemini gemini" \
	"devices of the other kind"
is "$(gnictl -j dev | jq -c '.[0].resources | map_values(0) | keys')" \
	'["cq","cq_total","fma","fma_total","gart","gart_total","mdd","mdd_total","mrt","mrt_total","rdma","rdma_total","sfma","sfma_total"]' \
	"and what they have"
run_prog gemini
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
