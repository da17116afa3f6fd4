#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Windows: posts without a system call, and their end.
# timeout: 600
# expect-dmesg: window\[[0-9]+\]: segfault
. "${0%/*}/lib.sh"

load_kgni nics=2
pages=$(cat /proc/sys/vm/nr_hugepages)
echo 8 >/proc/sys/vm/nr_hugepages
run_prog window
run_prog asuser 1000 window 100
echo "$pages" >/proc/sys/vm/nr_hugepages
unload_kgni
done_testing
