#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Chains, flagged responses, delivery modes and order.
# timeout: 180
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog posts
unload_kgni
done_testing
