#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Atomic memory operations.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog amo
run_prog amo_threads
unload_kgni
done_testing
