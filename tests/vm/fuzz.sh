#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the fuzzer of tests/vm/progs/fuzz.c in the debug VM for a while, from a
# random start, and tells what it reached; or makes one round again:
#
#	tests/vm/fuzz.sh MINUTES [START]
#	tests/vm/fuzz.sh --seed SEED [TIMES]
#
# FAULTS=1 has some allocations fail meanwhile.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"
cd "$TOP"

usage="usage: fuzz.sh MINUTES [START] or fuzz.sh --seed SEED [TIMES]"
flags=${FAULTS:+-f }
case ${1:-} in
--seed)
	[ -n "${2:-}" ] || die "$usage"
	minutes=60
	arguments="$flags-r ${3:-100} -s $2"
	;;
[1-9]*)
	minutes=$1
	arguments="$flags-p -t $((minutes * 60)) ${2:-$((RANDOM << 15 | RANDOM))}"
	;;
*) die "$usage" ;;
esac

dir=$("$VM_SRC/debug-kernel.sh")
export KDIR=$dir/headers KGNI_VM_KERNEL_DIR=$dir KGNI_VM_LOGS=$VM_BUILD/logs-fuzz
export KGNI_TEST_SCALE=${KGNI_TEST_SCALE:-8} KGNI_VM_MEMORY=${KGNI_VM_MEMORY:-1G}
export KGNI_TEST_TIMEOUT=$((minutes * 60 / KGNI_TEST_SCALE + 120))
make -j"$(nproc)" module KMOD_ARGS="UBSAN_SANITIZE=y KCOV_INSTRUMENT=y KCFLAGS=-g"
make -j"$(nproc)" lib tools tests-vm

# KASAN sees what these would, and without them all is three times as fast.
append="slub_debug=- page_owner=off page_poison=0"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "$arguments" >"$work/arguments"
echo "fuzz $arguments"
status=0
"$VM_SRC/vm.sh" --append "$append" --timeout $((minutes * 60 + 600 * KGNI_TEST_SCALE)) --sum "$work/sum" \
	--file "$work/arguments:/vm/fuzz" run 14_fuzz | grep --line-buffered -v '^# pcs ' || status=1
if grep -q '^# pcs ' "$KGNI_VM_LOGS/14_fuzz.sh.log"; then
	cp "$(make_var KMOD_DIR)/kgni.ko" "$KGNI_VM_LOGS/"
	"$VM_SRC/kcov-report.sh" "$KGNI_VM_LOGS/kgni.ko" "$KGNI_VM_LOGS/14_fuzz.sh.log"
fi
read -r passed failed skipped <"$work/sum" || die "the VM did not run"
tests/total.sh "$passed" "$failed" "$skipped"
exit $status
