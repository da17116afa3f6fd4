#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Communication domains, jobs, users, resources, versions.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog job
run_prog asuser 1000 job user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
run_prog job none
done_testing
