# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only
# Sourced: counts the lines of one TAP stream.

tap_begin()
{
	tap_passed=0
	tap_failed=0
	tap_skipped=0
	tap_plan=
	tap_problem=
}

tap_line()
{
	case $1 in
	1..[0-9]*)
		tap_plan=${1#1..}
		tap_plan=${tap_plan%%[!0-9]*}
		[[ $tap_plan != 0 ]] || tap_skipped=1
		;;
	"ok"*"# SKIP"* | "ok"*"# skip"* | "not ok"*"# SKIP"*)
		tap_skipped=$((tap_skipped + 1))
		;;
	ok | "ok "*) tap_passed=$((tap_passed + 1)) ;;
	"not ok"*) tap_failed=$((tap_failed + 1)) ;;
	"Bail out!"*) tap_problem=$1 ;;
	esac
}

# Whether the stream was whole: a plan, and as many results. Says why not in
# tap_problem.
tap_check_plan()
{
	local seen=$((tap_passed + tap_failed + tap_skipped))

	[ -z "$tap_problem" ] || return 1
	if [ -z "$tap_plan" ]; then
		tap_problem="no TAP plan"
	elif [ "$tap_plan" = 0 ]; then
		[ "$seen" = 1 ] || tap_problem="results after an empty plan"
	elif [ "$tap_plan" != "$seen" ]; then
		tap_problem="planned $tap_plan results, saw $seen"
	fi
	[ -z "$tap_problem" ]
}
