#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# KUnit suites of the driver's objects, where the kernel has KUnit: each case is
# one result, and each parameter of one that has parameters.
# timeout: 240
# expect-dmesg: kgni_test: (loading out-of-tree module|module verification failed)
. "${0%/*}/lib.sh"

suite=
cases=
planned=0

# begin_suite NAME
begin_suite()
{
	suite=$1
	cases=0
	bad=$tap_failures
}

# end_suite ok|not: KUnit's verdict on it, after its cases.
end_suite()
{
	[ "$cases" = "$planned" ] || not_ok "$suite: planned $planned cases, saw $cases"
	[ "$1" = ok ] || [ "$tap_failures" -gt "$bad" ] || not_ok "$suite: failed as a whole"
	suites=$((suites + 1))
}

# result LINE NAME: a result of KUnit's as one of ours.
result()
{
	case $1 in
	*" # SKIP "*) skip "${2%% # SKIP *}" "${1##* # SKIP }" ;;
	ok*) ok "$2" ;;
	*) not_ok "$2" ;;
	esac
}

# KUnit indents cases by 4 spaces and their parameters by 8; those of a case
# come before it.
convert()
{
	local line text case='' params=0

	while IFS= read -r line; do
		text=${line#"${line%%[! ]*}"}
		case $line in
		"        # Subtest: "*) case=${text#*: } params=0 ;;
		"        ok "* | "        not ok "*)
			params=$((params + 1))
			result "$text" "$suite: $case: ${text#*ok "$params" }"
			;;
		"    # Subtest: "*) begin_suite "${text#*: }" ;;
		"    1.."*) planned=${text#1..} ;;
		"    ok "* | "    not ok "*)
			cases=$((cases + 1))
			[ "$params" -gt 0 ] || result "$text" "$suite: ${text#*ok "$cases" }"
			params=0
			;;
		"ok "* | "not ok "*) end_suite "${line%% *}" ;;
		*"# "*": pass:"* | *"KTAP version"*) ;;
		*) diag "$line" ;;
		esac
	done
}

# The log since a mark that was put there, without times.
log_since()
{
	dmesg | sed -n "/$1/,\$s/^\[ *[0-9.]*\] //p" | sed 1d
}

ko=/lib/modules/$(uname -r)/extra/kgni_test.ko
[ -d /sys/kernel/debug/kunit ] || skip_all "this kernel has no KUnit"
[ -e "$ko" ] || bail_out "no kgni_test.ko; make kunit"
mark="kunit begins $RANDOM"
suites=0
echo "<6>$mark" >/dev/kmsg
succeeds "kgni_test.ko loads" insmod "$ko"
convert < <(log_since "$mark")
is "$suites" "$(ls /sys/kernel/debug/kunit | wc -l)" "all suites ran"
is "$((suites > 0))" 1 "KUnit is enabled"
succeeds "kgni_test.ko unloads" rmmod kgni_test
done_testing
