#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Random calls from processes that get in each other's way: a short slice, with
# the same seed each time and with one of now, which fuzz prints.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog fuzz 1 40000
run_prog fuzz "$(date +%s)" 40000
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
