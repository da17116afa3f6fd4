#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Each operation at the same time as each other that meets it at an object.
# long
# timeout: 600
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog pairs
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
