#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# FMA puts and gets.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog fma
unload_kgni
done_testing
