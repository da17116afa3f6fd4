#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Balanced injection.
# timeout: 300
# expect-dmesg: kgni: bi_bw=101 and bi_aot_bw=100 must be at most 100
. "${0%/*}/lib.sh"

fails "a setting that cannot be" insmod "/lib/modules/$(uname -r)/extra/kgni.ko" bi_bw=101
load_kgni nics=2 bi_aot_bw=80
run_prog bi
run_prog asuser 1000 bi user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
