#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Segments, virtual handles, reserved ranges, clones, and kinds of memory.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni
run_prog region
unload_kgni
done_testing
