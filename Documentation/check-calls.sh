#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares the table of calls in calls.rst with the sources it is made from, and
# what libugni.so exports with the table, with libugni.map, and with all of the
# interface that is for programs. Prints TAP.
#
#	Documentation/check-calls.sh [BUILD_DIR]	(build)
#	Documentation/check-calls.sh --update		write calls.rst anew
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

page=Documentation/calls.rst
map=lib/libugni.map
table=tests/unit/abi/gni_abi.tsv

update()
{
	local tmp

	tmp=$(mktemp)
	Documentation/gen-calls.sh >"$tmp" && cat "$tmp" >"$page"
	rm -f "$tmp"
}

same_page()
{
	diff -u "$page" <(Documentation/gen-calls.sh) && return
	echo "Documentation/check-calls.sh --update writes it"
	return 1
}

# Functions and data; not the name of the version, which is absolute.
exported()
{
	nm -D --defined-only --format=posix "$build/lib/libugni.so" |
		awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort
}

mapped()
{
	sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' "$map" | sort
}

# Calls that the page says are built, without those of the driver.
built()
{
	sed -n '/^Calls for kernel clients$/q;p' "$page" |
		awk '$2 == "built" { gsub(/`/, "", $1); print $1 }' | sort
}

same_names()
{
	[ -n "$1" ] && diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}

# gni_err_str and gni_statistic_str are tables, not calls.
exported_calls()
{
	exported | grep -v '_str$'
}

# What the interface has for programs; no exceptions.
missing()
{
	awk -F '\t' '$1 == "func" && ($2 == "user" || $2 == "accessor") { print $3 }' "$table" |
		grep . | grep -vxF -f <(exported)
}

every_call_exported()
{
	[ -s "$table" ] && ! missing
}

every_call_has_a_file()
{
	! awk '$2 == "built" && $3 == "-"' "$page" | grep .
}

run_checks()
{
	check "calls.rst: is what gen-calls.sh writes" same_page
	check "libugni.so exports what libugni.map names" same_names "$(mapped)" "$(exported)"
	check "libugni.so exports every call and accessor of the interface" every_call_exported
	check "calls.rst: what libugni.so exports is built" \
		same_names "$(built)" "$(exported_calls)"
	check "calls.rst: what is built is in a file" every_call_has_a_file
	done_checking
}

build=${1:-build}
case $build in
--update) update ;;
*) run_checks ;;
esac
