#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What one job or a child could try on another: tables of attempts, each refused.
# long
# timeout: 300
. "${0%/*}/lib.sh"

# The victim's reduction is to wait for as long as the attacks take.
load_kgni nics=2 ce_patience=3600
run_prog isolate
run_prog children
is "$(kgni_refcount)" 0 "nothing holds the module"
unload_kgni
done_testing
