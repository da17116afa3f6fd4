#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# RDMA puts and gets.
# timeout: 180
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog rdma
unload_kgni
done_testing
