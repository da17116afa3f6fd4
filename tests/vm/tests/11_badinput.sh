#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Bad input: handles, memory handles, ioctls, mmap.
# timeout: 180
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog badargs
run_prog forge
run_prog raw
run_prog asuser 1000 raw
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
