# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by init, as process 1: runs the tests that /vm/tests lists ("name
# seconds" lines) and reports to report.sh on the host in lines that start with
# @@ and the token of this boot, between the tests' own output.

token=$(cat /vm/token)

say()
{
	printf '@@%s %s\n' "$token" "$*"
}

# Ends a test that takes too long: first what it hangs in goes to the kernel
# log, then every process but this and process 1 is killed. What survives that
# is stuck in the kernel, and so the VM ends.
watchdog()
{
	sleep "$1"
	touch /run/timeout
	for proc in /proc/[2-9]* /proc/1[0-9]*; do
		command=$(tr '\0' ' ' < "$proc/cmdline" | cut -c 1-100)
		# Kernel threads have none; those of init are not what hangs.
		case $command in
		"" | *"sh /init "*) continue ;;
		esac
		echo "<6>hung test: ${proc#/proc/}: $command"
		sed 's/^/<6>hung test:     /' "$proc/stack"
	done 2>/dev/null | while read -r line; do
		echo "$line" > /dev/kmsg
	done
	kill -9 -1
	sleep 10
	dmesg -r | tail -n 1000 | sed "s/^/@@$token dmesg /"
	say wedged
	drain
	poweroff -f
}

kgni_loaded()
{
	grep -q '^kgni ' /proc/modules
}

# The rest is for the debug kernel, see debug.config; others lack these files.
leaks=/sys/kernel/debug/kmemleak
warn_once=/sys/kernel/debug/clear_warn_once

uptime_seconds()
{
	sed 's/\..*//' /proc/uptime
}

# Looking for leaks takes longer than many a test: it waits until there were some
# minutes of tests, or no more follow. Traces say which program it was.
leaks_due()
{
	[ "$left" = 0 ] || [ $(($(uptime_seconds) - looked)) -ge 240 ]
}

# A leak is one that is older than 5 s and that two scans find unchanged.
find_leaks()
{
	looked=$(uptime_seconds)
	[ -w $leaks ] || return
	sleep 6
	echo scan > $leaks
	echo scan > $leaks
}

forget_leaks()
{
	[ ! -w $leaks ] || echo clear > $leaks
	suspects=
}

# Loaded anew, kgni.ko lies where it lay, and traces have its names.
show_leaks()
{
	[ -r $leaks ] && grep -q . $leaks || return
	say "bad left by one of these tests:$suspects"
	kgni_loaded || insmod "/lib/modules/$(uname -r)/extra/kgni.ko" 2>/dev/null
	grep -v '^    [0-9a-f][0-9a-f] ' $leaks | sed "s/^/@@$token bad /"
	rmmod kgni 2>/dev/null
}

# Its first complaint switches lockdep off for good.
lockdep_off()
{
	grep -q 'debug_locks: *0' /proc/lockdep_stats 2>/dev/null
}

run_one()
{
	lockdep_off && was_off=1
	[ ! -w $warn_once ] || echo 1 > $warn_once
	rm -f /run/timeout
	dmesg -c > /dev/null
	say "begin $1"
	setsid "/t/tests/$1" < /dev/null 2>&1 &
	test_pid=$!
	watchdog "$2" &
	watchdog_pid=$!
	wait "$test_pid"
	rc=$?
	[ ! -e /run/timeout ] || rc=timeout
	# Process 1's kill -1 spares only itself: no test leaves processes behind.
	kill -9 -1
	wait "$watchdog_pid" 2>/dev/null
	if kgni_loaded && ! rmmod kgni; then
		say "bad kgni.ko can't be unloaded after the test"
	fi
	if [ -z "$was_off" ] && lockdep_off; then
		say "bad lockdep has switched itself off: what follows runs without it"
	fi
	suspects="$suspects $1"
	due=
	if leaks_due; then
		due=1
		find_leaks
	fi
	echo
	dmesg -r -c | sed "s/^/@@$token dmesg /"
	if [ -n "$due" ]; then
		show_leaks
		forget_leaks
	fi
	say "end $1 $rc"
}

# What a module built with gcov has counted, over all its loads, for the host.
save_gcov()
{
	grep -q vm.gcov /proc/cmdline && cd /sys/kernel/debug/gcov || return
	find . -name '*.gcda' | while read -r file; do
		mkdir -p "/share/${file%/*}"
		cat "$file" > "/share/$file"
	done
}

cd /tmp || exit
uname -r | { read -r release; say "kernel $release"; }
was_off=
find_leaks
forget_leaks
left=$(wc -l < /vm/tests)
while read -r name seconds; do
	left=$((left - 1))
	run_one "$name" "$seconds"
done < /vm/tests
save_gcov
say finished
