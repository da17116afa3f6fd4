#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Error events, and whom errors end.
# timeout: 120
# expect-dmesg: kgni0: process [0-9]+ is ended for error
. "${0%/*}/lib.sh"

load_kgni nics=2
run_prog errors
run_prog asuser 1000 errors user
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
