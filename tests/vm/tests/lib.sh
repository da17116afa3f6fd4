# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the numbered test files, inside the VM:
#
#	. "${0%/*}/lib.sh"
#	load_kgni nics=2
#	is "$(ls /dev/kgni* | wc -l)" 2 "one device node a NIC"
#	run_prog attach -v
#	unload_kgni
#	done_testing
#
# Lines at a test file's top: "# timeout: SECONDS" (120), and for each kernel
# message that the test provokes "# expect-dmesg: EXTENDED-REGEX".

tap_count=0
tap_failures=0

# plan N: say beforehand how many results come; else done_testing does it.
plan()
{
	tap_planned=$1
	printf '1..%d\n' "$1"
}

# done_testing: the plan, and the exit status. The last line of a test file.
done_testing()
{
	[ -n "${tap_planned:-}" ] || printf '1..%d\n' "$tap_count"
	exit $((tap_failures > 0))
}

# skip_all REASON: the whole file does not apply here.
skip_all()
{
	printf '1..0 # SKIP %s\n' "$*"
	exit 0
}

bail_out()
{
	printf 'Bail out! %s\n' "$*"
	exit 1
}

diag()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

ok()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$*"
}

not_ok()
{
	tap_count=$((tap_count + 1))
	tap_failures=$((tap_failures + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$*"
}

# skip DESCRIPTION REASON
skip()
{
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

# is GOT EXPECTED DESCRIPTION
is()
{
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:      $1"
		diag "expected: $2"
	fi
}

# succeeds DESCRIPTION COMMAND...; its output is shown where it fails.
succeeds()
{
	local description=$1 output status=0

	shift
	output=$("$@" 2>&1) || status=$?
	if [ "$status" = 0 ]; then
		ok "$description"
	else
		not_ok "$description"
		diag "exit status $status of: $*"
		diag "$output"
	fi
}

# fails DESCRIPTION COMMAND...: a plain failure, not a signal.
fails()
{
	local description=$1 output status=0

	shift
	output=$("$@" 2>&1) || status=$?
	if [ "$status" != 0 ] && [ "$status" -lt 126 ]; then
		ok "$description"
	else
		not_ok "$description"
		diag "exit status $status of: $*"
		diag "$output"
	fi
}

kgni_loaded()
{
	grep -q '^kgni ' /proc/modules
}

# load_kgni [PARAMETER=VALUE...]: one result; without the module there is
# nothing to test. The chmod stands for the udev rule, which the VM lacks.
load_kgni()
{
	local ko

	ko=/lib/modules/$(uname -r)/extra/kgni.ko
	insmod "$ko" "$@" || bail_out "insmod kgni.ko $*"
	chmod 0666 /dev/kgni[0-9]* || bail_out "no /dev/kgni0"
	ok "kgni.ko loads${*:+ with $*}"
}

# unload_kgni: one result.
unload_kgni()
{
	succeeds "kgni.ko unloads" rmmod kgni
}

# How many hold the module, as lsmod's "Used by" says; nothing when not loaded.
kgni_refcount()
{
	sed -n 's/^kgni [0-9]* \([0-9]*\) .*/\1/p' /proc/modules
}

# run_prog PROGRAM [ARGUMENT...]: takes over the TAP results of a program that
# stands in /t/bin or /usr/bin, and adds one where it crashes, fails without a
# failed result, or ends early. As another user: run_prog asuser 1000 PROGRAM...
run_prog()
{
	local name=$1 line text planned='' seen=0 status=0 before=$tap_failures

	[ "$name" != asuser ] || name="$3 as $2"
	while IFS= read -r line; do
		case $line in
		"@exit status "*) status=${line##* } ;;
		1..[0-9]*) planned=${line#1..} planned=${planned%%[!0-9]*} ;;
		ok*"# SKIP"* | "not ok"*"# SKIP"*)
			seen=$((seen + 1))
			skip "$name" "${line#*# SKIP }"
			;;
		ok | "ok "* | "not ok"*)
			seen=$((seen + 1))
			text=$(printf '%s\n' "$line" | sed -E 's/^(not )?ok *[0-9]* *-? *//')
			case $line in
			ok*) ok "$name: $text" ;;
			*) not_ok "$name: $text" ;;
			esac
			;;
		?*) printf '%s\n' "$line" ;;
		esac
	done < <("$@"; printf '\n@exit status %s\n' $?)
	if [ "$status" -gt 128 ]; then
		not_ok "$name: killed by signal $((status - 128))"
	elif [ "$status" != 0 ] && [ "$tap_failures" = "$before" ]; then
		not_ok "$name: exit status $status"
	elif [ -z "$planned" ]; then
		not_ok "$name: no TAP plan"
	elif [ "$planned" = 0 ] && [ "$seen" = 0 ]; then
		skip "$name" "nothing to test"
	elif [ "$planned" != "$seen" ]; then
		not_ok "$name: planned $planned results, saw $seen"
	fi
}

vmstat()
{
	sed -n "s/^$1 //p" /proc/vmstat
}

# snapshot: "name value" lines of what a driver that leaks would not give back:
# pages pinned, users of the module, objects in the slabs of its own, memory.
snapshot()
{
	local file

	sync
	echo 3 >/proc/sys/vm/drop_caches
	# What each CPU has counted for itself and not yet told.
	[ ! -w /proc/sys/vm/stat_refresh ] || echo 1 >/proc/sys/vm/stat_refresh
	# KASAN keeps freed objects back until it is told to let go.
	for file in /sys/kernel/slab/kgni*/shrink; do
		[ ! -w "$file" ] || echo 1 >"$file"
	done
	printf 'pinned_pages %d\n' \
		$(($(vmstat nr_foll_pin_acquired) - $(vmstat nr_foll_pin_released)))
	printf 'module_users %d\n' "$(kgni_refcount)"
	sed -n 's/^\(kgni[^ ]*\) *\([0-9]*\) .*/slab_\1 \2/p' /proc/slabinfo
	# The free pages that each CPU has for itself can be tens of megabytes.
	awk '$1 == "count:" { pages += $2 }
		$1 ~ /^(MemFree|SUnreclaim|VmallocUsed|Percpu):$/ {
			sub(":", "", $1)
			print "kb_" $1, $2 + ($1 == "MemFree" ? 4 * pages : 0)
		}' /proc/zoneinfo /proc/meminfo
}

# same_resources DESCRIPTION BEFORE AFTER [SLACK_KB]: two snapshots are alike;
# figures of memory, which others use too, may differ by the slack (4096), and by
# more where a debug kernel keeps what was freed for a while.
same_resources()
{
	local slack=$((${4:-4096} * ${KGNI_TEST_SCALE:-1})) problems

	problems=$(printf '%s\n' "$2" | while read -r name was; do
		now=$(printf '%s\n' "$3" | sed -n "s/^$name //p")
		difference=$((${now:-0} - was))
		case $name in
		kb_*) [ "${difference#-}" -le "$slack" ] || echo "$name: $was, now $now" ;;
		*) [ "$difference" = 0 ] || echo "$name: $was, now $now" ;;
		esac
	done)
	is "$problems" "" "$1"
}
