#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Reads what guest-run.sh says on standard input, shows it, and judges each
# test by its TAP, its exit status and the kernel's messages. Kills the VM
# where it says nothing for too long. Leaves "passed failed skipped" in SUMFILE.
#
#	report.sh QEMU_PID TOKEN CONSOLE_LOG LOG_DIR SUMFILE BOOT_SECONDS TEST...
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=tests/tap.sh
. "$TOP/tests/tap.sh"

qemu=$1
token=$2
console=$3
logs=$4
sumfile=$5
boot_seconds=$6
shift 6
tests=("$@")

# Signs of trouble in the kernel's log, whoever made it.
splat='WARNING:|BUG:|BUG |Oops|KASAN|KCSAN|UBSAN|Call Trace|general protection'
splat+='|[Kk]ernel panic|rcu.*(stall|detected)|INFO: task .* blocked'
splat+='|possible (circular|recursive|irq lock)|inconsistent lock state|suspicious RCU'
splat+='|lockdep|DEBUG_LOCKS|refcount_t|[Ll]eak|soft lockup|hard LOCKUP|Bad page'
splat+='|scheduling while atomic|sleeping function|list_(add|del)|corrupt'
splat+='|unable to handle|nobody cared|segfault|traps:|Out of memory|oom-kill'
# What a report of KCSAN consists of, between its title and a line of "=".
kcsan_lines='^$|^ |^(read|write|read-write|race|assert no) |^value changed: |^Reported by Kernel Conc'
kcsan_lines+='|^(CPU|Hardware name|Workqueue): |^[0-9]+ locks? held|^irq event stamp'
# What Debian's kernel says about every module that isn't its own.
allowed='kgni: loading out-of-tree module|kgni: module verification failed'

total_passed=0
total_failed=0
total_skipped=0
current=

# header TEST NAME: the values of "# NAME: value" lines at a test file's top.
header()
{
	sed -n "/^[^#]/q;s/^# $2: *//p" "$VM_SRC/tests/$1"
}

show()
{
	printf '%s\n' "$1"
	[ -z "$current" ] || printf '%s\n' "$1" >>"$logs/$current.log"
}

# A failure that the harness found, not the test.
fail()
{
	show "not ok - $current: $1"
	tap_failed=$((tap_failed + 1))
}

begin_test()
{
	current=$1
	: >"$logs/$current.log"
	tap_begin
	bad_messages=()
	races=0
	aside=
	race=()
	context=0
	expected=$(header "$current" expect-dmesg | paste -sd '|')
	limit=$(test_limit "$current")
	started=$SECONDS
	printf '== %s\n' "$current"
}

# race_message TEXT: takes the lines of a data race's report. The kernel's own
# races are not ours to judge: it counts only with a function of kgni in one of its
# stacks. What an interrupt happened to interrupt is no part of that.
race_message()
{
	local text=$1

	[[ $text =~ ^\[[^]]*\]\ ?(.*) ]] && text=${BASH_REMATCH[1]}
	if [[ $text == "BUG: KCSAN: "* ]]; then
		end_race
		race=("$text")
		race_is_ours=
		interrupted=
	elif [ ${#race[@]} = 0 ]; then
		return 1
	elif [[ $text == ======* ]]; then
		end_race
	elif [[ $text =~ $kcsan_lines ]]; then
		race+=("$text")
		case $text in
		"") interrupted= ;;
		" asm_"*) interrupted=1 ;;
		" "*"[kgni"*) [ -n "$interrupted" ] || race_is_ours=1 ;;
		esac
	else
		return 1
	fi
}

end_race()
{
	[ ${#race[@]} -gt 0 ] || return 0
	if [ -n "$race_is_ours" ]; then
		bad_messages+=("${race[@]}")
	else
		races=$((races + 1))
	fi
	race=()
}

# aside_message TEXT: takes the lines, up to the end of the stack, in which a kernel
# with DEBUG_VM tells that pages were pinned for long that a userfaultfd had to provide.
# They can't be in any driver, which then gets EFAULT.
aside_message()
{
	[[ $1 != *"FAULT_FLAG_ALLOW_RETRY missing"* ]] || aside=1
	[ -n "$aside" ] || return 1
	[[ $1 != *"</TASK>"* ]] || aside=
}

kernel_message()
{
	local text=$1 level

	printf '%s\n' "$text" >>"$logs/$current.log"
	[[ $text =~ ^\<([0-9]+)\>(.*) ]] || return 0
	level=$((BASH_REMATCH[1] & 7))
	text=${BASH_REMATCH[2]}
	if [[ $text == *"hung test: "* ]]; then
		printf '# %s\n' "$text"
		return
	fi
	aside_message "$text" && return
	race_message "$text" && return
	[[ $text =~ $allowed ]] && return
	[[ -n $expected && $text =~ $expected ]] && return
	if [[ $text =~ $splat || ($level -le 4 && $text == *kgni*) ]]; then
		context=30
	fi
	if [ "$context" -gt 0 ]; then
		context=$((context - 1))
		bad_messages+=("$text")
	fi
}

# Trouble that the guest itself noticed.
complaint()
{
	printf '%s\n' "$1" >>"$logs/$current.log"
	bad_messages+=("$1")
}

end_test()
{
	local status=$1 message verdict=pass

	case $status in
	0) ;;
	timeout) fail "killed after $limit s" ;;
	*) [ "$tap_failed" -gt 0 ] || fail "exit status $status" ;;
	esac
	[ "$status" != 0 ] || tap_check_plan || fail "$tap_problem"
	end_race
	[ "$races" = 0 ] || show "# KCSAN: $races races of the kernel's own, left aside"
	if [ ${#bad_messages[@]} -gt 0 ]; then
		fail "the kernel complains"
		for message in "${bad_messages[@]:0:100}"; do
			printf '#   %s\n' "$message"
		done
		printf '#   (the rest is in %s)\n' "$logs/$current.log"
	fi
	[ "$tap_failed" = 0 ] || verdict=FAIL
	printf -- '-- %s: %s, %d ok, %d not ok, %d s\n' "$current" "$verdict" \
		"$tap_passed" "$tap_failed" $((SECONDS - started))
	total_passed=$((total_passed + tap_passed))
	total_failed=$((total_failed + tap_failed))
	total_skipped=$((total_skipped + tap_skipped))
	tests=("${tests[@]:1}")
	current=
}

# The VM is gone, or silent for too long: the test that ran and those that
# should have followed have failed.
vm_died()
{
	local name

	printf -- '---- the end of the VM console (%s):\n' "$logs/console.log"
	tail -n 100 "$console" || true
	printf -- '----\n'
	if [ -n "$current" ]; then
		fail "$1"
		end_test died
	fi
	for name in "${tests[@]}"; do
		printf 'not ok - %s: not run, the VM died\n' "$name"
		total_failed=$((total_failed + 1))
	done
}

handle()
{
	case $1 in
	"begin "*) begin_test "${1#begin }" ;;
	"dmesg "*) [ -z "$current" ] || kernel_message "${1#dmesg }" ;;
	"bad "*) complaint "${1#bad }" ;;
	"end "*) end_test "${1##* }" ;;
	"kernel "*) printf 'vm: booted %s in %d s\n' "${1#kernel }" "$SECONDS" ;;
	esac
}

why="the VM died"
finished=
while :; do
	if [ -n "$current" ]; then
		wait_for=$((limit + 40 * KGNI_TEST_SCALE + started - SECONDS))
	else
		wait_for=$boot_seconds
	fi
	status=0
	line=
	[ "$wait_for" -gt 0 ] || wait_for=1
	IFS= read -r -t "$wait_for" line || status=$?
	if [ "$status" -gt 128 ]; then
		why="no answer from the VM in time: killed"
		kill -TERM "$qemu" 2>/dev/null || true
		break
	fi
	case $line in
	"@@$token finished") finished=1 ;;
	"@@$token wedged") why="hung in the kernel" ;;
	"@@$token "*) handle "${line#"@@$token "}" ;;
	?*)
		show "$line"
		[ -z "$current" ] || tap_line "$line"
		;;
	esac
	[ "$status" = 0 ] || break
done
if [ -z "$finished" ] || [ ${#tests[@]} -gt 0 ]; then
	vm_died "$why"
fi
printf '%d %d %d\n' "$total_passed" "$total_failed" "$total_skipped" >"$sumfile"
