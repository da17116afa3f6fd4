#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The node translation table, and jobs that have one.
# timeout: 90
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog ntt
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
