#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the manual pages of section 3 from Documentation/man/*.3.in, gni_pub.h
# and Documentation/examples/, and for each call a page that leads to its group's.
#
#	Documentation/gen-man.sh DIR		write them to DIR
#	Documentation/gen-man.sh --list		their names
#	Documentation/gen-man.sh --calls	"CALL GROUP" for each call that a page has
set -euo pipefail
cd "$(dirname "$0")/.."

calls()
{
	local page

	for page in Documentation/man/*.3.in; do
		awk -v group="$(basename "$page" .3.in)" '
			/^\.SH/ { on = $2 == "NAME"; next }
			on { on = !sub(/ *\\-.*/, ""); n = split($0, name, /[, ]+/)
				for (i = 1; i <= n; i++) if (name[i]) print name[i], group }' "$page"
	done
}

list()
{
	{ calls | tr ' ' '\n'; } | sort -u | sed 's/$/.3/'
}

# A call whose name is that of its group has the page itself.
write_all()
{
	local page group call

	mkdir -p "$1"
	for page in Documentation/man/*.3.in; do
		group=$(basename "$page" .3.in)
		awk -v example="Documentation/examples/$group.c" -f Documentation/gen-man.awk \
			include/gni_pub.h "$page" >"$1/$group.3"
	done
	while read -r call group; do
		[ "$call" = "$group" ] || printf '.so man3/%s.3\n' "$group" >"$1/$call.3"
	done < <(calls)
}

case ${1:-} in
--list) list ;;
--calls) calls ;;
'' | -*) echo "usage: Documentation/gen-man.sh DIR | --list | --calls" >&2 && exit 2 ;;
*) cd "$OLDPWD" && mkdir -p "$1" && dir=$(realpath "$1") && cd - >/dev/null && write_all "$dir" ;;
esac
