#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the manual pages of section 3 and checks that each call that libugni
# exports has one, complete and with the example of that name. Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

map=lib/libugni.map
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
pages=$tmp/man3

# Tables of strings are on a page, but have none of their own.
exported()
{
	sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' "$map" | grep -v '_str$' | sort
}

groups()
{
	Documentation/gen-man.sh --calls | cut -d ' ' -f 2 | sort -u
}

calls_on_one_page_each()
{
	diff <(exported) <(Documentation/gen-man.sh --calls | cut -d ' ' -f 1 | sort)
}

string_tables()
{
	local name bad=0

	while read -r name; do
		grep -q "$name" "$pages/GNI_Get.3" || { echo "$name is on no page" && bad=1; }
	done < <(sed -n 's/^\t\([a-z_]*_str\);$/\1/p' "$map")
	return "$bad"
}

pages_as_listed()
{
	diff <(Documentation/gen-man.sh --list) <(cd "$pages" && printf '%s\n' * | sort)
}

# What man follows exists, and is a page.
links()
{
	local file target bad=0

	while read -r file; do
		read -r _ target <"$file"
		grep -q '^\.TH ' "$tmp/$target" || { echo "$file leads nowhere" && bad=1; }
	done < <(grep -lr '^\.so ' "$pages")
	return "$bad"
}

# section PAGE TITLE: its text.
section()
{
	awk -v title=".SH $2" '/^\.SH / { on = $0 == title; next } on' "$pages/$1.3"
}

# Nothing is left of the template's lines, and no section is empty.
complete()
{
	local group title bad=0

	while read -r group; do
		for title in NAME SYNOPSIS DESCRIPTION "RETURN VALUES" THREADS EXAMPLE "SEE ALSO"; do
			grep -q '[a-z]' <<<"$(section "$group" "$title")" ||
				{ echo "$group.3: nothing under $title" && bad=1; }
		done
		! grep '^@' "$pages/$group.3" || { echo "$group.3: see above" && bad=1; }
	done < <(groups)
	return "$bad"
}

# Each call has its prototype, its description and, if it returns something, that.
calls_described()
{
	local call group text bad=0

	while read -r call group; do
		grep -q "[ *]$call(" <<<"$(section "$group" SYNOPSIS)" ||
			{ echo "$call: no prototype" && bad=1; }
		for text in DESCRIPTION "RETURN VALUES"; do
			[[ $text$call != RETURN*gni_cq_set_* && $text$call != RETURN*_clr_* ]] || continue
			section "$group" "$text" | awk -v title=".SS $call()" '
				last == title && /^([A-Z0-9]|\.TP)/ { found = 1 }
				{ last = $0 } END { exit !found }' ||
				{ echo "$call: nothing in $text" && bad=1; }
		done
		grep -q "^\.BR $call ()" <<<"$(section "$group" THREADS)" ||
			{ echo "$call: nothing in THREADS" && bad=1; }
	done < <(Documentation/gen-man.sh --calls)
	return "$bad"
}

# One example a page, whose text is the file's.
examples()
{
	local group bad=0

	diff <(groups) <(cd Documentation/examples && printf '%s\n' *.c | sed 's/\.c$//' | sort) ||
		return
	while read -r group; do
		diff <(section "$group" EXAMPLE | sed -e '/^\.\(EX\|EE\|in\)/d' -e 's/^\\&//' \
			-e 's/\\-/-/g' -e 's/\\e/\\/g') \
			<(sed '/SPDX-License-Identifier/d' "Documentation/examples/$group.c" |
				expand) || bad=1
	done < <(groups)
	return "$bad"
}

see_also()
{
	local group name part bad=0

	while read -r group; do
		while read -r name part; do
			[ "$part" = 2 ] || [ "$part" = 7 ] || [ -e "$pages/$name.3" ] ||
				[ -e "Documentation/man/$name.$part" ] ||
				{ echo "$group.3: there is no $name($part)" && bad=1; }
		done < <(section "$group" "SEE ALSO" | tr -d '(),' | sed 's/^\.BR //')
	done < <(groups)
	return "$bad"
}

formatted()
{
	local page bad=0

	for page in Documentation/man/*.[1-9] $(groups | sed "s|.*|$pages/&.3|"); do
		! groff -man -Tutf8 -ww -z "$page" 2>&1 | grep . || bad=1
	done
	return "$bad"
}

check "manual pages: they can be made" Documentation/gen-man.sh "$pages"
check "manual pages: what libugni exports is on one page each" calls_on_one_page_each
check "manual pages: tables of strings" string_tables
check "manual pages: the list of pages" pages_as_listed
check "manual pages: links lead to pages" links
check "manual pages: sections" complete
check "manual pages: every call is described" calls_described
check "manual pages: examples are the files" examples
check "manual pages: what they refer to exists" see_also
if command -v groff >/dev/null; then
	check "manual pages: groff has nothing to say" formatted
else
	skip "manual pages: groff" "there is no groff"
fi
done_checking
