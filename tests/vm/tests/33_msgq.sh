#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Shared message queues, in ordinary shared memory and in huge pages.
# long
# timeout: 400
. "${0%/*}/lib.sh"

load_kgni nics=2
export UGNI_MSGQ_DIR=/dev/shm
run_prog msgq
run_prog asuser 1000 msgq user
run_prog msgq_kill
unset UGNI_MSGQ_DIR
mkdir -p /mnt/huge
if mount -t hugetlbfs -o mode=1777 none /mnt/huge; then
	pages=$(cat /proc/sys/vm/nr_hugepages)
	echo 16 >/proc/sys/vm/nr_hugepages
	run_prog msgq
	# In a slow kernel once has to do.
	[ "${KGNI_TEST_SCALE:-1}" -gt 1 ] || run_prog msgq_kill
	umount /mnt/huge
	echo "$pages" >/proc/sys/vm/nr_hugepages
else
	skip "huge pages" "no hugetlbfs"
fi
unload_kgni
done_testing
