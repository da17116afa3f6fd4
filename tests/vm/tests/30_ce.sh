#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The collective engine.
# timeout: 400
. "${0%/*}/lib.sh"

# Members that nobody has seen are missed soon.
load_kgni nics=2 ce_patience=2
run_prog ce
run_prog ce_tree
run_prog ce_death
unload_kgni
done_testing
