#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs groups of tests and closes with one line that counts all of them:
#
#	tests/check.sh [lint] [unit] [vm] [debug] [debug-short] [kcsan]
#
# A caller that sums several runs sets KGNI_RESULTS to a file, gets a line
# "passed failed skipped" there for each group, and no closing line.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/vm/env.sh"
# shellcheck source=tests/tap.sh
. "$TOP/tests/tap.sh"
cd "$TOP"

passed=0
failed=0
skipped=0
# Seconds, for one program: to end what hangs, also on a machine that is slow or busy.
unit_timeout=600

count()
{
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
	[ -z "${KGNI_RESULTS:-}" ] || printf '%d %d %d\n' "$@" >>"$KGNI_RESULTS"
}

# run_tap NAME COMMAND...: counts the TAP that a command prints; shows what is
# not a passed test.
run_tap()
{
	local name=$1 line status=0 started=$SECONDS verdict=pass

	shift
	tap_begin
	while IFS= read -r line; do
		case $line in
		"@exit status "*) status=${line##* } && continue ;;
		ok* | 1..[0-9]*) ;;
		?*) printf '%s\n' "$line" ;;
		esac
		tap_line "$line"
	done < <("$@" 2>&1 </dev/null; printf '\n@exit status %s\n' $?)
	if [ "$status" = 124 ]; then
		printf 'not ok - %s: killed after %d s\n' "$name" "$unit_timeout"
		tap_failed=$((tap_failed + 1))
	elif [ "$status" != 0 ] && [ "$tap_failed" = 0 ]; then
		printf 'not ok - %s: exit status %s\n' "$name" "$status"
		tap_failed=$((tap_failed + 1))
	elif ! tap_check_plan; then
		printf 'not ok - %s: %s\n' "$name" "$tap_problem"
		tap_failed=$((tap_failed + 1))
	fi
	[ "$tap_failed" = 0 ] || verdict=FAIL
	printf -- '-- %s: %s, %d ok, %d not ok, %d s\n' "$name" "$verdict" \
		"$tap_passed" "$tap_failed" $((SECONDS - started))
	count "$tap_passed" "$tap_failed" "$tap_skipped"
}

# GCC 12's sanitizers do not know the address layout that newer kernels
# randomize to.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
	fixed_layout=(setarch "$(uname -m)" -R)
fi

unit_programs()
{
	local program

	for program in $(make_var UNIT_ASAN) $(make_var UNIT_TSAN); do
		run_tap "${program#build/tests/}" env CMOCKA_MESSAGE_OUTPUT=TAP \
			timeout -k 5 $unit_timeout "${fixed_layout[@]}" "$program"
	done
}

check_unit()
{
	local script

	echo "== unit tests"
	make -j"$(nproc)" lib tests-unit tests-fuzz
	unit_programs
	run_tap fuzz timeout -k 5 $unit_timeout tests/fuzz/run.sh --check
	[ ! -e tests/unit/abi/run.sh ] ||
		run_tap abi timeout -k 5 $unit_timeout tests/unit/abi/run.sh build
	run_tap install timeout -k 5 $unit_timeout tests/install.sh
	for script in Documentation/check-*.sh; do
		[ ! -e "$script" ] || run_tap "$script" timeout -k 5 $unit_timeout "$script"
	done
}

check_vm()
{
	local sum p f s

	echo "== VM tests${KGNI_VM_KERNEL_DIR:+ in $KGNI_VM_KERNEL_DIR}"
	make -j"$(nproc)" module kunit kmodtest lib tools tests-vm
	sum=$(mktemp)
	tests/vm/vm.sh --sum "$sum" run || true
	if read -r p f s <"$sum"; then
		count "$p" "$f" "$s"
	else
		echo "not ok - the VM tests did not run"
		count 0 1 0
	fi
	rm -f "$sum"
}

# check_in_kernel debug|kcsan MODULE_ARGS: the VM tests again, in a kernel that
# sees more, where everything takes longer.
check_in_kernel()
{
	local dir

	dir=$(tests/vm/debug-kernel.sh "$1")
	KDIR=$dir/headers KMOD_ARGS="KCFLAGS=-g $2" \
		KGNI_VM_KERNEL_DIR=$dir KGNI_VM_LOGS=$VM_BUILD/logs-$1 \
		KGNI_TEST_SCALE=${KGNI_TEST_SCALE:-8} KGNI_VM_MEMORY=${KGNI_VM_MEMORY:-1G} check_vm
}

debug_args="UBSAN_SANITIZE=y KCOV_INSTRUMENT=y"
for group in "$@"; do
	case $group in
	lint) echo "== lint" && run_tap lint tests/lint.sh ;;
	unit) check_unit ;;
	vm) check_vm ;;
	debug) check_in_kernel debug "$debug_args" ;;
	debug-short) KGNI_TEST_SHORT=1 check_in_kernel debug "$debug_args" ;;
	kcsan) check_in_kernel kcsan "" ;;
	*) die "unknown group '$group': lint, unit, vm, debug, debug-short or kcsan" ;;
	esac
done
[ -n "${KGNI_RESULTS:-}" ] || tests/total.sh "$passed" "$failed" "$skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
