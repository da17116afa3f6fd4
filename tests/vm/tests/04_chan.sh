#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion channels and interrupt masks.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog chan
unload_kgni
done_testing
