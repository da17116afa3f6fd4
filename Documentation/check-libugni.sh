#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares the tables in libugni.rst with gni_pub.h: each mode and statistic has
# a row, and no other. Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

page=Documentation/libugni.rst
header=include/gni_pub.h

# rows TITLE: names in the first column of the table under a title.
rows()
{
	awk -v title="$1" '$0 == title { on = 1; next }
		on && /^=+$/ { next }
		on && /^[A-Z].*[a-z]$/ && seen { exit }
		on && /^``[A-Z0-9_]+`` +(implemented|hint|refused|counts|0) / {
			gsub("`", "", $1); print $1; seen = 1 }' "$page" | sort
}

modes()
{
	sed -n 's/^#define GNI_CDM_MODE_\([A-Z0-9_]*\)[[:space:]].*/\1/p' "$header" |
		grep -v 'MASK$' | sort
}

statistics()
{
	sed -n 's/^\tGNI_STAT_\([A-Z0-9_]*\).*/\1/p' "$header" | sort
}

check "libugni.rst: modes" diff <(modes) <(rows 'Modes of a communication domain')
check "libugni.rst: statistics" diff <(statistics) <(rows 'Statistics')
done_checking
