#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# One NIC, many threads.
# timeout: 120
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog threads
unload_kgni
done_testing
