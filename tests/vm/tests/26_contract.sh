#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What clients rely on: the rows of CONTRACT.md that no other test has.
# timeout: 300
. "${0%/*}/lib.sh"

load_kgni
run_prog contract_setup one
unload_kgni
load_kgni nics=2
run_prog contract_setup
run_prog contract_event
run_prog contract_threads
unload_kgni
done_testing
