#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Writes calls.rst to stdout: every call of the interface, by the names of
# tests/unit/abi/gni_abi.tsv and of what gni_pub.h has beyond them, with what
# lib/libugni.map, lib/, kernel/ and the manual pages say about it.
#
#	Documentation/gen-calls.sh > Documentation/calls.rst
set -euo pipefail
cd "$(dirname "$0")/.."

table=tests/unit/abi/gni_abi.tsv
header=include/gni_pub.h
map=lib/libugni.map
bt='``'
row_format='%-33s  %-13s  %-25s  %-18s  %s\n'

# names KIND: calls of the table, of one kind.
names()
{
	awk -F '\t' -v kind="$1" '$1 == "func" && $2 == kind { print $3 }' "$table"
}

# Calls for programs that the header has and the table has not.
newer()
{
	sed -n 's/^gni_return_t \(GNI_[A-Za-z]*\)(.*/\1/p' "$header" |
		grep -vxF -f <(names user) || true
}

# "NAME summary" of every function, from its kernel-doc comment.
summaries()
{
	sed -nE 's/^ \* (GNI_[A-Za-z_]*|gni_[a-z_]*)\(\) - (.*)/\1 \2/p' "$header"
}

# "NAME file" of every function and table that lib/ makes public. What is said of it may
# have a line of its own, before the one with the name.
files()
{
	awk '/^UGNI_PUBLIC / && !/[ *](GNI_[A-Za-z]*|gni_[a-z_]*)[([]/ {
			getline more; $0 = $0 " " more }
		/^UGNI_PUBLIC / { print FILENAME ":" $0 }' lib/*.c |
		sed -nE 's/^(lib\/[^:]*):.*[ *](GNI_[A-Za-z]*|gni_[a-z_]*)[([].*/\2 \1/p'
}

# "NAME page" of every call that a manual page has.
pages()
{
	Documentation/gen-man.sh --calls | sed 's/$/(3)/'
}

# "NAME file" of what the driver exports to other modules.
driver_files()
{
	grep -HoE '^EXPORT_SYMBOL_GPL\(gni_[a-z_]*\)' kernel/*.c |
		sed -E 's/^([^:]*):.*\((.*)\)/\2 \1/'
}

# lookup NAME LIST: the rest of the line of a name, or "-".
lookup()
{
	awk -v name="$1" '$1 == name { sub(/^[^ ]* /, ""); print; found = 1; exit }
		END { if (!found) print "-" }' <<<"$2"
}

rule()
{
	# shellcheck disable=SC2059
	printf "$row_format" "$(dashes 33)" "$(dashes 13)" "$(dashes 25)" "$(dashes 18)" \
		"$(dashes 50)"
}

dashes()
{
	printf '%*s' "$1" '' | tr ' ' '='
}

# row NAME LIST-OF-BUILT LIST-OF-FILES
row()
{
	local state=built file

	grep -qxF "$1" <<<"$2" || state="not built yet"
	file=$(lookup "$1" "$3")
	[ "$file" = - ] || file=$bt$file$bt
	# shellcheck disable=SC2059
	printf "$row_format" "$bt$1$bt" "$state" "$file" "$(lookup "$1" "$all_pages")" \
		"$(lookup "$1" "$all_summaries")"
}

# section TITLE TEXT BUILT FILES NAME...
section()
{
	local title=$1 text=$2 built=$3 in=$4 name count

	shift 4
	count=$(printf '%s\n' "$@" | grep -cxF -f <(printf '%s\n' "$built") || true)
	printf '\n%s\n%s\n\n%s\n\n' "$title" "${title//?/=}" "$text"
	printf '%d of %d are built.\n\n' "$count" $#
	rule
	# shellcheck disable=SC2059
	printf "$row_format" call state file page "what it does"
	rule
	for name in "$@"; do
		row "$name" "$built" "$in"
	done
	rule
}

head_of_page()
{
	cat <<-'END'
	.. SPDX-License-Identifier: GPL-2.0-only
	.. Written by Documentation/gen-calls.sh, which check-calls.sh holds it against.

	===============================
	The calls, and how far they are
	===============================

	Every function of interface version 0x5c, and those of newer versions that
	``gni_pub.h`` has. ``libugni.so`` exports all that are for programs. A page is a
	manual page of section 3; ``man`` finds it by the name of each call.
	END
}

all_summaries=$(summaries)
all_pages=$(pages)
exports=$(sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' "$map")
lib_files=$(files)
driver_files=$(driver_files)
driver_exports=$(cut -d ' ' -f 1 <<<"$driver_files")

mapfile -t user < <(names user)
mapfile -t newer < <(newer)
mapfile -t accessors < <(names accessor)
mapfile -t kernel < <(names kernel)
head_of_page
section "Calls for programs" "Of interface version 0x5c." "$exports" "$lib_files" "${user[@]}"
section "Newer calls for programs" "Programs test for them." "$exports" "$lib_files" \
	"${newer[@]}"
section "Accessors" "What is in an event, and in the result of a reduction." "$exports" \
	"$lib_files" "${accessors[@]}"
section "Calls for kernel clients" "Exported by the driver to other modules, when they are built: see kapi.rst." \
	"$driver_exports" "$driver_files" "${kernel[@]}"
