#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Checkpoints.
# timeout: 60
. "${0%/*}/lib.sh"

load_kgni
run_prog checkpoint
unload_kgni
done_testing
