#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Writes into completion queues.
# timeout: 60
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog cqwrite
unload_kgni
done_testing
