#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Random calls from processes that get in each other's way: a short slice, with
# the same seed each time and with one of now, which fuzz prints.
# timeout: 120
. "${0%/*}/lib.sh"

# As long as elsewhere where all is slower.
rounds=$((40000 / ${KGNI_TEST_SCALE:-1}))

load_kgni nics=2
run_prog fuzz 1 "$rounds"
run_prog fuzz "$(date +%s)" "$rounds"
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
