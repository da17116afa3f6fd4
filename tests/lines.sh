#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whether what different CPUs write lies in cache lines of its own, where programs and
# driver share memory, by what pahole says of the compiled structures.
#
#	tests/lines.sh		prints what is wrong, and fails; or nothing
set -euo pipefail
cd "$(dirname "$0")/.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# One row for each structure: in its memory, members that one side writes, on a line;
# those of the next |. What is not named is padding, or written by nobody.
rows()
{
	cat <<-'ROWS'
	kgni_ring tail | head | armed overrun masked notify
	kgni_window_state flags | live
	mailbox credits | scratch | slot
	ROWS
}

# A mailbox is laid out by numbers.
source_code()
{
	cat <<-'C'
	#include <gni/kgni.h>
	#include <gni/ring.h>
	#include "core/smsg.h"

	struct mailbox {
		u64 credits;
		u8 pad[KGNI_SMSG_SCRATCH - 8];
		u64 scratch;
		u8 pad2[KGNI_SMSG_SLOTS_OFFSET - KGNI_SMSG_SCRATCH - 8];
		u8 slot[KGNI_SMSG_ALIGN];
	};

	struct kgni_ring ring;
	struct kgni_window_state state;
	struct mailbox mailbox;
	C
}

# Member, its first and its last line, of a structure.
lines_of()
{
	pahole -C "$1" "$tmp/lines.o" |
		sed -n 's/.* \([a-z_0-9]*\)\(\[[0-9]*\]\)\?; *\/\* *\([0-9]*\) *\([0-9]*\) \*\//\1 \3 \4/p' |
		awk '{ print $1, int($2 / 64), int(($2 + $3 - 1) / 64) }'
}

# judge STRUCTURE MEMBERS: groups, with | in between.
judge()
{
	lines_of "$1" | awk -v name="$1" -v row="$2" '
		{ first[$1] = $2; last[$1] = $3 }
		END {
			n = split(row, group, / *\| */)
			for (i = 1; i <= n; i++) {
				members = split(group[i], member, / +/)
				for (j = 1; j <= members; j++)
					take(member[j], i)
			}
			exit bad
		}
		function take(m, i,	line)
		{
			if (!(m in first)) {
				print name " has no member " m
				bad = 1
			}
			for (line = first[m]; line <= last[m]; line++) {
				if (line in whose && whose[line] != i) {
					print name ": " m " shares line " line " with what others write"
					bad = 1
				}
				whose[line] = i
			}
		}'
}

bad=0
source_code >"$tmp/lines.c"
"${CC:-gcc}" -g -c -Iinclude -Iinclude/uapi -Ikernel -o "$tmp/lines.o" "$tmp/lines.c"
while read -r name members; do
	judge "$name" "$members" || bad=1
done < <(rows)
exit "$bad"
