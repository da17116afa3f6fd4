#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a run of fuzz -p reached in kgni.ko, which was built with KCOV_INSTRUMENT=y
# and KCFLAGS=-g: a line for each file of kernel/ with the places reached and all
# places, which are the calls that KCOV has the compiler insert.
#
#	kcov-report.sh [--missed] KGNI_KO LOG...
#
# LOG has lines "pcs SECTION OFFSET..."; several runs of one build add up.
# --missed also lists the lines that have places and none that was reached. What
# runs once, when the module is loaded or unloaded, no call can reach.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

missed=0
if [ "${1:-}" = --missed ]; then
	missed=1
	shift
fi
[ $# -ge 2 ] || die "usage: kcov-report.sh [--missed] KGNI_KO LOG..."
ko=$1
shift

# "SECTION OFFSET" of the operand of each inserted call, outside of init and exit.
places()
{
	readelf -rW "$ko" | awk '
		/^Relocation section/ { section = $3; gsub(/\047|\.rela/, "", section) }
		/__sanitizer_cov_trace_pc/ && section ~ /^\.text(\.unlikely)?$/ {
			print section, $1
		}'
}

# "SECTION OFFSET FILE:LINE" of places: in an inlined function of the project
# the line is there, in one of the kernel's it is the line that calls it.
locate()
{
	local section

	for section in .text .text.unlikely; do
		awk -v section=$section '$1 == section { print $2 }' <<<"$1" |
			addr2line -a -i -j $section -e "$ko" | awk -v section=$section '
			/^0x/ { offset = $1; next }
			offset && match($1, /\/kmod\/[^\/]*\/kernel\//) {
				line = "kernel/" substr($1, RSTART + RLENGTH)
				print section, offset, line
				offset = ""
			}'
	done
}

# "SECTION OFFSET" where calls return to: what KCOV tells.
reached()
{
	sed -n 's/^.*# pcs \(\.[^ ]*\)/\1/p' "$@" |
		awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u
}

found=$(places)
[ -n "$found" ] || die "$ko is not built with KCOV_INSTRUMENT=y"
awk -v missed=$missed '
	function number(hex,    i, n) {
		sub(/^0x/, "", hex)
		for (i = 1; i <= length(hex); i++)
			n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
		return n
	}
	function row(name, some, all) {
		return sprintf("%-28s %6d %6d %5.1f %%", name, some, all, 100 * some / all)
	}
	NR == FNR { seen[$1, number($2)] = 1; next }
	{
		split($3, at, ":")
		file = at[1]
		line = file ":" (at[2] + 0)
		hit = ($1, number($2) + 4) in seen
		if (!(file in all))
			files[++count] = file
		all[file]++
		some[file] += hit
		if (!(line in lines))
			order[++last] = line
		lines[line] += hit
		all_sum++
		some_sum += hit
	}
	END {
		printf "%-28s %6s %6s\n", "file", "of its", "places"
		for (i = 1; i <= count; i++)
			print row(files[i], some[files[i]], all[files[i]]) | "sort"
		close("sort")
		print row("all", some_sum, all_sum)
		for (i = 1; missed && i <= last; i++)
			if (!lines[order[i]])
				print "missed: " order[i] | "sort -u -t: -k2,2 -k3,3n"
	}' <(reached "$@") <(locate "$found")
