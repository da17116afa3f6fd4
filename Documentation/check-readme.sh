#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Checks README.md against the tree: its example is hello_gni.c, which compiles
# and links against what was built, and its table has every call that libugni
# exports, in the files that it names. Prints TAP.
#
#	Documentation/check-readme.sh [BUILD_DIR]	(build)
#	Documentation/check-readme.sh --update		copy hello_gni.c into README.md
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

example=Documentation/hello_gni.c
map=lib/libugni.map
bt='`'

# The first block of C in README.md.
readme_code()
{
	# shellcheck disable=SC2016
	sed -n '/^```c$/,/^```$/{/^```/d;p}' README.md
}

update()
{
	local tmp

	# shellcheck disable=SC2016
	grep -q '^```c$' README.md || { echo "no block of C in README.md" >&2 && exit 1; }
	tmp=$(mktemp)
	# shellcheck disable=SC2016
	{
		sed -n '1,/^```c$/p' README.md
		cat "$example"
		sed '1,/^```c$/d' README.md | sed -n '/^```$/,$p'
	} >"$tmp"
	cat "$tmp" >README.md
	rm -f "$tmp"
}

same_example()
{
	diff -u <(readme_code) "$example" && return
	echo "Documentation/check-readme.sh --update copies it"
	return 1
}

compiles()
{
	local tmp status=0

	tmp=$(mktemp -d)
	readme_code >"$tmp/example.c"
	"${CC:-gcc}" -std=c99 -Wall -Wextra -Werror -Iinclude -DCRAY_CONFIG_GHAL_ARIES \
		-o "$tmp/example" "$tmp/example.c" -L"$build/lib" -lugni || status=1
	rm -rf "$tmp"
	return "$status"
}

exported()
{
	sed -n 's/^\t\([A-Za-z_0-9]*\);$/\1/p' "$map" | sort
}

# "name file" for every name in the table's rows.
table()
{
	local row file name

	grep -E "^\| ${bt}(GNI_|gni_)" README.md | while IFS= read -r row; do
		file=$(printf '%s\n' "$row" | cut -d '|' -f 3 | tr -d " $bt")
		for name in $(printf '%s\n' "$row" | cut -d '|' -f 2 | tr -d ",$bt"); do
			echo "$name $file"
		done
	done
}

all_calls()
{
	diff <(exported) <(table | cut -d ' ' -f 1 | sort)
}

library_files()
{
	local name file bad=0

	while read -r name file; do
		grep -qPz "(?m)^UGNI_PUBLIC [^\n]*(\n[^\n]*)?[ *]${name}[(\[]" "$file" ||
			{ echo "$name is not in $file" && bad=1; }
	done < <(table)
	return "$bad"
}

# Functions of the driver, each in the file named last before it.
driver_files()
{
	local word file='' bad=0

	while read -r word; do
		case $word in
		kernel/*) file=$word ;;
		kgni_*) grep -qE "^[a-z].*[ *]${word%()}\(" "$file" ||
			{ echo "$word is not in $file" && bad=1; } ;;
		esac
	done < <(grep -E "^\| ${bt}(GNI_|gni_)" README.md | cut -d '|' -f 5 |
		grep -oE "kernel/[a-z/]*\.[ch]|kgni_[a-z_]*\(\)")
	return "$bad"
}

# ioctls that the table names exist.
ioctl_names()
{
	local name bad=0

	while read -r name; do
		grep -qE "^#define KGNI_IOC_${name}[[:space:]]" include/uapi/gni/kgni.h ||
			{ echo "there is no KGNI_IOC_$name" && bad=1; }
	done < <(grep -E "^\| ${bt}GNI_" README.md | cut -d '|' -f 4 |
		grep -oE '[A-Z]+_?[A-Z]+' | sort -u)
	return "$bad"
}

links()
{
	local link bad=0

	while read -r link; do
		[ -e "$link" ] || { echo "README.md links to $link" && bad=1; }
	done < <(grep -oE '\]\([^)#:]*\)' README.md | sed 's/^](\(.*\))$/\1/')
	return "$bad"
}

run_checks()
{
	check "README: the example is $example" same_example
	check "README: the example compiles and links" compiles
	check "README: its table has what libugni exports, and no more" all_calls
	check "README: calls are in the files of lib/ that it names" library_files
	check "README: functions are in the files of kernel/ that it names" driver_files
	check "README: the ioctls that it names exist" ioctl_names
	check "README: its links lead somewhere" links
	done_checking
}

build=${1:-build}
case $build in
--update) update ;;
*) run_checks ;;
esac
