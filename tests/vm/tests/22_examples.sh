#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The examples of the manual pages: each one ends well and prints its line.
# timeout: 120
# shellcheck source=tests/vm/tests/lib.sh
. "${0%/*}/lib.sh"

dir=/usr/lib/kgni-examples

# What they print, "NAME LINE".
expected()
{
	cat <<-'END'
	GNI_Cdm attached to device 0, and through a checkpoint
	GNI_Ce all were there; sums: 4.5, 4.5, 4.5
	GNI_CompChan poll() returned for event 99
	GNI_Cq queue 1: 123; remote memory handle names no registration of the job; try again: no
	GNI_Ep put 42: source event 17, target event 23
	GNI_EpPostData instance 2 says: instance 2
	GNI_Errors code 0x5, category 0x4, event 1
	GNI_Get version 0x5c0000, device 0 is Aries, stalls: 0
	GNI_Job virtual address 0, 10 registrations at most, and 50 % of the device
	GNI_Mem 4 registrations, read-only: 1, rebuilt: right
	GNI_Msgq instance 1 sent "shared queue" with tag 3
	GNI_Post 40, then 42; chain: 7 and 8
	GNI_Smsg instance 2 sent a short message, with tag 3
	gni_cq_get source: type 0, value 6, status 0; target: type 0, value 5, status 0
	END
}

load_kgni
is "$(find "$dir" -type f | sed 's|.*/||' | sort)" \
	"$(expected | cut -d ' ' -f 1 | sort)" "it is known what each example prints"
while read -r name line; do
	output=$("$dir/$name" 2>&1)
	is "status $?: $output" "status 0: $line" "$name"
done < <(expected)
unload_kgni
done_testing
