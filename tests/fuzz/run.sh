#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the fuzz targets, which the Makefile builds (tests-fuzz).
#
#	tests/fuzz/run.sh SECONDS	look for new inputs; all share the time
#	tests/fuzz/run.sh --check	a short slice, the same each time; prints TAP
#	tests/fuzz/run.sh --keep	add to tests/fuzz/corpus/ what the former found
#
# An input that breaks something is left in build/fuzz/, and a target's output in
# build/fuzz/TARGET.log. build/fuzz/TARGET FILE runs one input.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/../vm/env.sh"
cd "$TOP"

out=$BUILD/fuzz
kept=tests/fuzz/corpus
check_runs=20000
# A longer input reaches nothing that a short one doesn't.
common=(-max_len=512 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1)
targets=()
for source in tests/fuzz/fuzz_*.c; do
	targets+=("$(basename "$source" .c)")
done

# As tests/check.sh does: the sanitizers want an address layout that they know.
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
	fixed_layout=(setarch "$(uname -m)" -R)
fi

# run TARGET ARGUMENT...: false where something broke.
run()
{
	local target=$1

	shift
	"${fixed_layout[@]}" "$out/$target" "${common[@]}" -artifact_prefix="$out/$target-" "$@" \
		>"$out/$target.log" 2>&1 </dev/null
}

# What the log of a target's run says.
executions()
{
	sed -n 's/^stat::number_of_executed_units: *//p' "$out/$1.log"
}

edges()
{
	local total

	total=$(sed -n 's/^INFO: Loaded .*(\([0-9]*\) inline 8-bit counters).*/\1/p' "$out/$1.log")
	printf '%d of %d\n' "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$out/$1.log" | tail -n 1)" \
		"$total"
}

show_failure()
{
	grep -v '^"' "$out/$1.log" | tail -n 40
	sed -n 's/.*Test unit written to /the input: /p' "$out/$1.log"
}

fuzz()
{
	local target seconds=$(($1 / ${#targets[@]})) bad=0 finding

	printf '%-14s %12s %12s  %s\n' target executions edges finding
	for target in "${targets[@]}"; do
		mkdir -p "$out/corpus/$target"
		finding=none
		run "$target" -max_total_time=$((seconds > 0 ? seconds : 1)) \
			"$out/corpus/$target" "$kept/$target" || finding=FOUND
		printf '%-14s %12s %12s  %s\n' "$target" "$(executions "$target")" \
			"$(edges "$target")" "$finding"
		[ "$finding" = none ] || { show_failure "$target" && bad=1; }
	done
	return $bad
}

# result STATUS DESCRIPTION TARGET
result()
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		show_failure "$3"
		failed=1
	fi
}

# Each kept input once, then a search from them that starts from one seed.
check()
{
	local target status new inputs

	number=0
	failed=0
	for target in "${targets[@]}"; do
		inputs=("$kept/$target"/*)
		status=0
		run "$target" "${inputs[@]}" || status=1
		result $status "$target: the ${#inputs[@]} kept inputs" "$target"
		new=$(mktemp -d)
		status=0
		run "$target" -seed=1 -runs=$check_runs -reload=0 "$new" "$kept/$target" || status=1
		rm -rf "$new"
		result $status "$target: $(executions "$target") runs, $(edges "$target") edges" \
			"$target"
	done
	echo "1..$number"
	return $failed
}

# The inputs that reach something of their own, of those found so far.
keep()
{
	local target

	for target in "${targets[@]}"; do
		mkdir -p "$out/corpus/$target" "$kept/$target"
		run "$target" -merge=1 -use_counters=0 "$kept/$target" "$out/corpus/$target"
		printf '%s: %d inputs, %d bytes\n' "$target" \
			"$(find "$kept/$target" -type f | wc -l)" \
			"$(cat "$kept/$target"/* | wc -c)"
	done
}

case ${1:-} in
--check) check ;;
--keep) keep ;;
'' | *[!0-9]*) sed -n '3,10s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
*) fuzz "$1" ;;
esac
