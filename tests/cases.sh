# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by scripts that check something: a case is a command that succeeds. Prints
# TAP.

cases=0
cases_failed=0

# check NAME COMMAND...: one case, with what the command said if it failed. The shell
# does not stop at errors inside of functions that are called so: they say && or ||.
check()
{
	local name=$1 output

	shift
	cases=$((cases + 1))
	if output=$("$@" 2>&1); then
		echo "ok $cases - $name"
	else
		echo "not ok $cases - $name"
		printf '%s\n' "$output" | sed 's/^/# /'
		cases_failed=$((cases_failed + 1))
	fi
}

# skip NAME WHY: a case that cannot be tried here.
skip()
{
	cases=$((cases + 1))
	echo "ok $cases - $1 # SKIP $2"
}

# silent COMMAND...: for what tells of faults, and of nothing else.
silent()
{
	local output

	output=$("$@" 2>&1) || { printf '%s\n' "$output" && return 1; }
	printf '%s' "$output"
	[ -z "$output" ]
}

# done_checking: the plan. Fails if a case did.
done_checking()
{
	echo "1..$cases"
	[ "$cases_failed" = 0 ]
}
