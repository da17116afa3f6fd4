#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Configured jobs and their limits.
# timeout: 240
. "${0%/*}/lib.sh"

load_kgni
run_prog joblimits
run_prog asuser 1000 joblimits user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
load_kgni require_job=1
run_prog joblimits required
unload_kgni
done_testing
