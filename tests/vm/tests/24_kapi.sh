#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The interface for kernel clients, by modules that use it: tests/kmod/.
# timeout: 300
# expect-dmesg: kgni: module kgni_leak_test leaves without gni_cdm_destroy\(\)
# expect-dmesg: kgni_client_test: # call: gni_
# expect-dmesg: kmemleak: Cannot allocate a scan area
. "${0%/*}/lib.sh"

dir=/lib/modules/$(uname -r)/extra

# convert: results that a module left in the log, as ours.
convert()
{
	local line planned='' seen=0

	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok * - }" ;;
		"not ok "*) not_ok "${line#not ok * - }" ;;
		1..*) planned=${line#1..} && continue ;;
		"# "*) diag "${line#"# "}" && continue ;;
		*) continue ;;
		esac
		seen=$((seen + 1))
	done
	is "$seen" "$planned" "all tests ran"
}

# log_since MARK MODULE: what the module said since then, without times.
log_since()
{
	dmesg | sed -n "/$1/,\$s/^\[ *[0-9.]*\] $2: //p"
}

[ -e "$dir/kgni_client_test.ko" ] || bail_out "no kgni_client_test.ko; make kmodtest"
load_kgni nics=2
mark="kapi begins $RANDOM"
echo "<6>$mark" >/dev/kmsg
succeeds "kgni_client_test.ko loads" insmod "$dir/kgni_client_test.ko"
convert < <(log_since "$mark" kgni_client_test)
fails "kgni.ko stays while a client uses it" rmmod kgni
succeeds "kgni_client_test.ko unloads" rmmod kgni_client_test
# Again: what the kernel keeps for later it has by now.
before=$(snapshot)
succeeds "it loads again" insmod "$dir/kgni_client_test.ko"
succeeds "and unloads" rmmod kgni_client_test
same_resources "clients left nothing behind" "$before" "$(snapshot)"

# nth KIND: calls of a client while their nth allocation fails, of that kind only.
nth()
{
	local slab=/sys/kernel/debug/failslab page=/sys/kernel/debug/fail_page_alloc knobs

	for knobs in $slab $page; do
		echo 0 >"$knobs/probability"
		echo 1000000 >"$knobs/times"
		echo 0 >"$knobs/verbose"
		echo N >"$knobs/task-filter"
		echo N >"$knobs/ignore-gfp-wait"
	done
	echo N >$page/ignore-gfp-highmem
	if [ "$1" = slab ]; then
		echo N >$slab/cache-filter
		echo 99 >$page/min-order
	else
		echo Y >$slab/cache-filter
		echo 0 >$page/min-order
	fi
	mark="allocations fail $RANDOM"
	echo "<6>$mark" >/dev/kmsg
	succeeds "it loads for allocations of kind $1" insmod "$dir/kgni_client_test.ko" nth="$1"
	convert < <(log_since "$mark" kgni_client_test)
	succeeds "and unloads" rmmod kgni_client_test
}

if [ -d /sys/kernel/debug/fail_page_alloc ]; then
	before=$(snapshot)
	nth slab
	nth page
	same_resources "failed calls left nothing behind" "$before" "$(snapshot)"
else
	skip "calls whose nth allocation fails" "needs a kernel with fault injection"
fi

if [ -d /sys/kernel/debug/kgni/fail_link ]; then
	mark="ways fail $RANDOM"
	echo "<6>$mark" >/dev/kmsg
	succeeds "it loads for ways that fail" insmod "$dir/kgni_client_test.ko" lossy=1
	convert < <(log_since "$mark" kgni_client_test)
	succeeds "and unloads" rmmod kgni_client_test
else
	skip "messages are sent again" "needs a kernel with fault injection"
fi

# Processes talk to kernel clients, on their NIC and from another, if they may.
for device in 0 1; do
	succeeds "kgni_serve_test.ko loads" insmod "$dir/kgni_serve_test.ko"
	run_prog kclient $device
	is "$(gnictl -j cq | jq -c 'length > 0 and all(.pid == null)')" true \
		"gnictl lists queues of kernel clients"
	run_prog asuser 1000 kclient user
	succeeds "kgni_serve_test.ko unloads" rmmod kgni_serve_test
done

before=$(snapshot)
mark="a client forgets $RANDOM"
echo "<6>$mark" >/dev/kmsg
succeeds "kgni_leak_test.ko loads" insmod "$dir/kgni_leak_test.ko"
succeeds "kgni_leak_test.ko unloads" rmmod kgni_leak_test
is "$(log_since "$mark" kgni)" \
	"module kgni_leak_test leaves without gni_cdm_destroy() of its domain: inst_id 7, ptag 2, cookie 0x20000" \
	"a client that leaks is named"
same_resources "and nothing of it is left" "$before" "$(snapshot)"

# The code that made a domain may be freed, and another module lie there, and go.
succeeds "kgni_serve_test.ko loads" insmod "$dir/kgni_serve_test.ko"
mark="others come and go $RANDOM"
echo "<6>$mark" >/dev/kmsg
for _ in {1..20}; do
	insmod "$dir/kgni_leak_test.ko" && rmmod kgni_leak_test
done
is "$(log_since "$mark" kgni | grep -c 'inst_id 7,')" 20 "20 modules left a domain"
is "$(log_since "$mark" kgni | grep -c 'leaves without')" 20 "and no other lost its own"
run_prog kclient 0
# Its device goes before it does.
succeeds "a device is deleted under a client" gnictl dev del kgni0 force
succeeds "kgni_serve_test.ko unloads" rmmod kgni_serve_test
unload_kgni
done_testing
