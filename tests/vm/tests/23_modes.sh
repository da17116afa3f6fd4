#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Modes of communication domains, and the environment's say.
# timeout: 60
. "${0%/*}/lib.sh"

load_kgni
run_prog modes
unload_kgni
done_testing
