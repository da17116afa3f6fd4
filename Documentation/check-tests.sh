#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares the tables of tests/vm/ with the tests and the interface: CONTRACT.md
# names tests that are there; RETURNS.md has every return code that gni_pub.h
# documents for a call that is built, and names programs that make that call.
# Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

contract=tests/vm/CONTRACT.md
returns=tests/vm/RETURNS.md
progs=tests/vm/progs

# Rows of the tables of CONTRACT.md: number, and each test that it names on a
# line of its own.
contract_tests()
{
	awk -F ' \\| ' '/^\| [0-9]/ {
		sub(/^\| /, "", $1); tests = $3; sub(/ *\|$/, "", tests)
		n = gsub(/"[^"]*"/, "&", tests)
		gsub(/", /, "\"\n", tests)
		n = split(tests, line, "\n")
		for (i = 1; i <= n; i++) {
			if (line[i] !~ /"/)
				gsub(/, /, "\n" $1 "\t", line[i])
			else if (line[i] !~ /^[a-z_]+ "/) {
				before = line[i]; sub(/, [a-z_]+ "[^"]*"$/, "", before)
				after = substr(line[i], length(before) + 3)
				gsub(/, /, "\n" $1 "\t", before)
				line[i] = before "\n" $1 "\t" after
			}
			print $1 "\t" line[i]
		}
	}' "$contract"
}

# Is there a test of that name, in quotes, in a table of tests/kmod/.
find_kmod_test()
{
	grep -qhF -e "	{ $1," tests/kmod/kct_*.c
}

# A test that CONTRACT.md names; nothing is said if it is there.
find_test()
{
	local test=$1 prog case

	case $test in
	"kmod "*) find_kmod_test "${test#* }" ;;
	*\"*)
		prog=${test%% *}
		case=${test#* }
		grep -qsF -e "CASE($case," -e "CASES($case," "$progs/$prog.c"
		;;
	"unit "*/*) [ -x "tests/unit/${test#* }" ] ;;
	"unit "*) [ -e "tests/unit/${test#* }.c" ] ;;
	[0-9][0-9]_*) [ -x "tests/vm/tests/$test.sh" ] ;;
	*.sh) [ -x "tests/$test" ] || [ -x "Documentation/$test" ] ;;
	*) false ;;
	esac
}

contract_names()
{
	local row test

	while IFS=$'\t' read -r row test; do
		find_test "$test" || echo "row $row: there is no test $test"
	done < <(contract_tests)
}

# Rows are numbered 1.1, 1.2 ... in the sections of the same number.
contract_numbers()
{
	awk -F '[ .|]+' '/^## / { section = $2; last = 0 }
		/^\| [0-9]/ && ($2 != section || $3 != ++last) { print "row " $2 "." $3 }' \
		"$contract"
}

# "CALL CODE" for every code that the header documents for a call that is built.
documented()
{
	awk 'NR == FNR { if (/^\tGNI_/) { gsub(/[\t;]/, ""); built[$0] = 1 } next }
		/^ \* GNI_[A-Za-z]*\(\) - / { call = $2; sub(/\(\)/, "", call) }
		/^ \* \* %GNI_RC_/ && call in built { code = $3; sub(/^%GNI_RC_/, "", code)
			print substr(call, 5), code }
		/^ \*\// { call = "" }' lib/libugni.map include/gni_pub.h | sort -u
}

# "CALL CODE WHERE" for each row of RETURNS.md.
returned()
{
	awk -F '|' '/^\| / && $2 !~ /call|---/ {
		gsub(/ /, "", $2); if ($2) call = $2
		gsub(/ |\(\*\)/, "", $3); sub(/^ */, "", $4)
		print call, $3, $4 }' "$returns"
}

returns_complete()
{
	comm -23 <(documented) <(returned | cut -d ' ' -f 1,2 | sort -u) |
		sed 's/^/no row for /'
}

# Does a program, or what they have in common, make a call; nth does without the library.
calls()
{
	[ "$1" = nth ] || grep -qF "GNI_$2" "$progs/$1.c" "$progs"/common*.c
}

returns_programs()
{
	local call code where prog suite

	while read -r call code where; do
		case $where in
		never:*) continue ;;
		*", by "*) where=${where%%, by *} ;;
		esac
		while read -r prog suite; do
			if [ "$prog" = kunit ]; then
				[ -e "tests/kunit/${suite}_test.c" ] ||
					echo "$call $code: there is no KUnit suite $suite"
			elif [ ! -e "$progs/$prog.c" ]; then
				echo "$call $code: there is no program $prog"
			elif ! calls "$prog" "$call"; then
				echo "$call $code: $prog does not call it"
			fi
		done <<<"${where//, /$'\n'}"
	done < <(returned)
}

check "CONTRACT.md: numbers" silent contract_numbers
check "CONTRACT.md: tests that are there" silent contract_names
check "RETURNS.md: every documented code of every call" silent returns_complete
check "RETURNS.md: programs that make the call" silent returns_programs
done_checking
