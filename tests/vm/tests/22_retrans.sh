#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Ways between NICs that fail: messages that are sent again, reductions that are not.
# long
# timeout: 400
. "${0%/*}/lib.sh"

load_kgni nics=2
if [ -d /sys/kernel/debug/kgni/fail_link ]; then
	# What goes by a window does not get lost.
	export UGNI_WINDOWS=0
	run_prog retrans
	UGNI_MSGQ_DIR=/dev/shm run_prog msgq lossy
	run_prog ce_tree lossy
else
	skip "messages are sent again" "needs a kernel with fault injection"
fi
unload_kgni
done_testing
