#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Loading and unloading the module while the first, the second ... allocation fails.
#
# What the kernel itself says then (its warnings among them, where a tracepoint or
# a folder of sysfs can't be made) is no fault of the driver, and is much: it is
# judged here, and not shown to who looks through the messages after each test.
# long
# timeout: 400
. "${0%/*}/lib.sh"

[ -e /proc/self/fail-nth ] || skip_all "needs a kernel with fault injection"
leaks=/sys/kernel/debug/kmemleak
messages=/run/nth-load.log
faults='BUG|KASAN|UBSAN|WARNING:|general protection|possible (circular|recursive|irq lock)'
faults+='|inconsistent lock|suspicious RCU|refcount_t|ODEBUG|Bad page|while atomic'
faults+='|sleeping function|list_(add|del)|corrupt|unable to handle|kgni: .*(left|leak)'

# Where a slab's or a class's folder can't be made, 6.1 itself loses its name.
foreign_leaks()
{
	sed -n 's/^    \[<[0-9a-f]*>\] *\([a-z_]*\)+.*/\1/p;s/^unreferenced.*/-/p' $leaks |
		tr '\n' ' ' | tr -- - '\n' |
		grep -v '^ *$\|kobject_set_name.* \(sysfs_slab_add\|__class_register\) '
}

driver_faults()
{
	sed '1,/nth: the loads begin/d' $messages | grep -E "$faults" |
		grep -Ev 'WARNING: CPU: [0-9]+ PID: [0-9]+ at kernel/trace/'
}

# Traces of what the kernel could not have need not go to a slow console.
dmesg -n 1
echo "<6>nth: the loads begin" >/dev/kmsg
cat /dev/kmsg >$messages &
reader=$!
run_prog nth load
echo "<6>nth: the end" >/dev/kmsg
until grep -q 'nth: the end' $messages; do
	sleep 0.1
done
kill $reader
is "$(driver_faults)" "" "the kernel finds no fault with the driver"
dmesg -c >/dev/null
# A leak is old enough when the second scan sees it: a scan takes that long.
for _ in 1 2 3; do
	echo scan >$leaks
done
is "$(foreign_leaks)" "" "nothing leaks but in the kernel itself"
echo clear >$leaks
dmesg -c >/dev/null
done_testing
