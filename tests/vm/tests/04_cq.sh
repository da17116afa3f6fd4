#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion queues.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog cq
unload_kgni
done_testing
