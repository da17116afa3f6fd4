#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Jobs that are suspended, and devices that are quiesced.
# timeout: 300
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog standstill
run_prog asuser 1000 standstill user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
