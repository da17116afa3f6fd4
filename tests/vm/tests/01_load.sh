#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Loading and unloading, parameters, device nodes, sysfs.
# timeout: 60
# expect-dmesg: kgni: nics=
# expect-dmesg: kgni: ce_patience=
# expect-dmesg: kgni: .* invalid for parameter
. "${0%/*}/lib.sh"

# Attributes of the NICs, one line each.
nics()
{
	local dir

	for dir in /sys/class/gni/kgni*; do
		echo "${dir##*/} $(cat "$dir/address" "$dir/type" "$dir/state" | tr '\n' ' ')"
	done
}

load_kgni
is "$(ls /dev/kgni*)" /dev/kgni0 "one device node"
is "$(stat -c %F /dev/kgni0)" "character special file" "it is a character device"
is "$(nics)" "kgni0 1 aries up " "address, type and state in sysfs"
is "$(cat /sys/module/kgni/parameters/nics)" 1 "nics parameter"
is "$(kgni_refcount)" 0 "not in use"

exec 3<>/dev/kgni0
is "$(($(kgni_refcount) > 0))" 1 "in use while a file is open"
fails "unloading is refused while a file is open" rmmod kgni
is "$(nics)" "kgni0 1 aries up " "and does no harm"
exec 3>&-
is "$(kgni_refcount)" 0 "not in use again"
unload_kgni
is "$(ls /dev/kgni* /sys/class/gni 2>/dev/null)" "" "nothing is left in /dev and /sys"

load_kgni nics=3 pe_base=100
is "$(ls /dev/kgni* | wc -l)" 3 "three device nodes"
is "$(nics | tr '\n' ';')" "kgni0 100 aries up ;kgni1 101 aries up ;kgni2 102 aries up ;" \
	"addresses from pe_base"
unload_kgni

ko=/lib/modules/$(uname -r)/extra/kgni.ko
load_kgni nics=64
is "$(ls /dev/kgni* | wc -l)" 64 "64 device nodes"
unload_kgni
fails "nics=0 is refused" insmod "$ko" nics=0
fails "nics=65 is refused" insmod "$ko" nics=65
fails "nics=-1 is refused" insmod "$ko" nics=-1
fails "pe_base beyond 32 bits is refused" insmod "$ko" pe_base=4294967295
fails "ce_patience=0 is refused" insmod "$ko" ce_patience=0
fails "ce_patience=3601 is refused" insmod "$ko" ce_patience=3601
fails "unknown values are refused" insmod "$ko" nics=many
is "$(kgni_loaded && echo loaded)" "" "and leave nothing loaded"

before=$(snapshot)
failures=0
for ((i = 0; i < 20; i++)); do
	insmod "$ko" nics=$((i % 4 + 1)) && rmmod kgni || failures=$((failures + 1))
done
is "$failures" 0 "20 times loaded and unloaded"
same_resources "without leaving anything" "$before" "$(snapshot)"
done_testing
