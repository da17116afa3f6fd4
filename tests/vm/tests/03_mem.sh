#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Memory registration.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni
run_prog mem
run_prog asuser 1000 mem user
unload_kgni
done_testing
