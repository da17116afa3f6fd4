#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's part of bench.sh: bench-guest.sh ROUNDS. Prints a line for each figure
# of each round: "@ TEST SIZE UNIT WHO VALUE". bench-guest.sh 0 draws pictures into
# /share instead.
set -euo pipefail

rounds=$1
address=10.9.0.1
# Seconds for one figure of gni_perf's.
time=0.3
log=/tmp/bench.log
json=/tmp/bench.json

# say TEST SIZE UNIT WHO VALUE
say()
{
	[ -n "$5" ] || { echo "bench: $4 gave no figure for $1 $2" >&2 && cat "$log" >&2; }
	printf '@ %s %s %s %s %s\n' "$1" "$2" "$3" "$4" "${5:-0}"
}

set_up()
{
	local module

	cp -r /peers/usr/. /usr/
	cp -r /peers/etc/. /etc/
	insmod "/lib/modules/$(uname -r)/extra/kgni.ko"
	for module in dummy crc32_generic ib_uverbs rdma_rxe rdma_ucm; do
		modprobe "$module"
	done
	mkdir -p /dev/shm
	mount -t tmpfs tmpfs /dev/shm
	export UGNI_MSGQ_DIR=/dev/shm
	ulimit -l unlimited
	echo "127.0.0.1 localhost" >/etc/hosts
	ip link set lo up
	ip link add bench0 type dummy
	ip addr add $address/24 dev bench0
	ip link set bench0 up
	rdma link add rxe0 type rxe netdev bench0
	export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu
}

# figure FIELD OPERATION MEASURE ARGUMENT...: one number of gni_perf's. What reads it starts
# after that: it would take the CPUs that are measured on.
figure()
{
	local field=$1

	shift
	gni_perf --json "$@" >"$json" 2>"$log" || true
	jq ".results[0].$field" "$json"
}

# The same, of as much as fits into the time.
perf()
{
	figure "$@" -t "$time"
}

# The same, of as many as UCX is asked for.
brief()
{
	figure "$@" -n 50000
}

# Each of these starts a server on CPU 1, then its client on CPU 0, and leaves what
# the client says in the log.
pair()
{
	local server pid try

	read -ra server <<<"$1"
	shift
	taskset -c 1 "${server[@]}" >/dev/null 2>&1 &
	pid=$!
	for try in 1 2 3 4 5 6 7 8 9; do
		sleep 0.3
		! taskset -c 0 "$@" >"$log" 2>&1 || break
	done
	[ "$try" != 9 ] || kill "$pid"
	wait "$pid" || true
}

ucx()
{
	pair "ucx_perftest -d memory -x posix" ucx_perftest -d memory -x posix localhost "$@"
}

# The last line's number: 4 for the mean latency (the median has no fractions of a
# microsecond), 6 for MB/s (of 2^20 bytes), 8 for messages/s.
ucx_final()
{
	awk -v n="$1" '/^Final:/ { print $(n + 1) }' "$log"
}

# Means, since not all of them tell medians.
latencies()
{
	local put

	say put_lat 8 us kgni "$(brief mean_us put lat)"
	say put_lat 8 us raw "$(raw pingpong 200000)"
	ucx -t put_lat -s 8 -n 50000
	put=$(ucx_final 4)
	say put_lat 8 us ucx "$put"
	say put_lat_no_event 8 us kgni "$(brief mean_us put lat --silent)"
	say put_lat_no_event 8 us ucx "$put"
	say get_lat 8 us kgni "$(brief mean_us get lat)"
	ucx -t get -D bcopy -s 8 -n 50000
	say get_lat 8 us ucx "$(ucx_final 4)"
	say amo_lat 8 us kgni "$(brief mean_us amo lat)"
	say amo_lat 8 us raw "$(raw atomic 1000000)"
	ucx -t fadd -s 8 -n 50000
	say amo_lat 8 us ucx "$(ucx_final 4)"
	say smsg_lat 8 us kgni "$(brief mean_us smsg lat)"
	ucx -t am_lat -s 8 -n 50000
	say smsg_lat 8 us ucx "$(ucx_final 4)"
	pair "fi_pingpong -p shm -e rdm -I 1000 -S 8" \
		fi_pingpong -p shm -e rdm -I 1000 -S 8 localhost
	say smsg_lat 8 us libfabric "$(awk 'END { print $7 }' "$log")"
	say msgq_lat 8 us kgni "$(perf mean_us msgq lat)"
	say msgq_lat 8 us smsg "$(perf mean_us smsg lat)"
	say rdma_put_lat 8 us kgni "$(perf mean_us rdma-put lat)"
	pair "ib_write_lat -d rxe0 -x 1 -F -s 8 -n 1000" \
		ib_write_lat -d rxe0 -x 1 -F -s 8 -n 1000 $address
	say rdma_put_lat 8 us rxe "$(awk '$1 == 8 { print $6 }' "$log")"
	say syscall 0 us raw "$(raw syscall 300000)"
}

rates()
{
	say smsg_rate 64 1/s kgni "$(figure per_s smsg rate -s 64 -n 200000)"
	ucx -t am_bw -D short -s 64 -n 200000
	say smsg_rate 64 1/s ucx "$(ucx_final 8)"
	say msgq_rate 64 1/s kgni "$(perf per_s msgq rate -s 64)"
	say msgq_rate 64 1/s smsg "$(perf per_s smsg rate -s 64)"
}

# Of so many processes, who are more than the CPUs: medians.
barriers()
{
	local members

	for members in 2 64; do
		say barrier "$members" us kgni \
			"$(perf p50_us barrier lat -w 10 -p $((members / 2)))"
		say barrier "$members" us smsg \
			"$(perf p50_us smsg-barrier lat -w 10 -p $((members / 2)))"
	done
}

bandwidths()
{
	local size op copy put

	for size in 4096 65536 1048576; do
		copy=$(raw memcpy $size $((268435456 / size)))
		ucx -t put_bw -s $size -n $((134217728 / size))
		put=$(ucx_final 6)
		for op in put get rdma-put rdma-get; do
			say "${op//-/_}_bw" $size MB/s kgni "$(perf mb_per_s $op bw -s $size)"
			say "${op//-/_}_bw" $size MB/s memcpy "$copy"
			say "${op//-/_}_bw" $size MB/s ucx_put "$(awk -v mb="$put" \
				'BEGIN { print mb * 1.048576 }')"
		done
	done
	pair "ib_write_bw -d rxe0 -x 1 -F -s 1048576 -n 100" \
		ib_write_bw -d rxe0 -x 1 -F -s 1048576 -n 100 $address
	say rdma_put_bw 1048576 MB/s rxe \
		"$(awk '$1 == 1048576 { print $4 * 1.048576 }' "$log")"
}

# What should not depend on how much there is of something, beside its cost with one.
flatness()
{
	local one few many

	one=$(perf per_s put rate)
	few=$(raw pages 1 1000000)
	many=$(raw pages 4000 1000000)
	say put_cost_endpoints 8 1/s one "$one"
	say put_cost_endpoints 8 1/s kgni "$(perf per_s put rate --endpoints 1000)"
	say put_cost_regions 8 1/s one "$one"
	# What a store to one of so many mappings takes longer, added to a put to one region.
	say put_cost_regions 8 1/s one_pages "$(awk -v one="$one" -v few="$few" -v many="$many" \
		'BEGIN { if (one > 0) print 1 / (1 / one + (many - few) / 1e6) }')"
	say put_cost_regions 8 1/s kgni "$(perf per_s put rate --registrations 4000)"
	say put_cost_64_regions 8 1/s one "$one"
	say put_cost_64_regions 8 1/s kgni "$(perf per_s put rate --registrations 64)"
}

registration()
{
	say reg 67108864 us kgni "$(perf p50_us reg lat -s 64M)"
	say reg 67108864 us rxe "$(regmr 67108864 50)"
	say reg 4096 us kgni "$(perf p50_us reg lat -s 4K)"
	say reg 4096 us rxe "$(regmr 4096 1000)"
}

# The same computation during a transfer and alone.
overlap()
{
	gni_perf -n 5 -w 1 --json rdma-put overlap -s 64M >"$log" 2>&1
	say compute_during_put 67108864 us kgni "$(jq .results[0].compute_then_us "$log")"
	say compute_during_put 67108864 us alone "$(jq .results[0].compute_us "$log")"
}

pictures()
{
	gni_perf -t "$time" put,get,rdma-put,rdma-get,smsg lat,bw -s 8:32K \
		--plot /share/performance-small.svg
	gni_perf -t "$time" put,get,rdma-put,rdma-get lat,bw -s 4K:16M \
		--plot /share/performance-large.svg
}

set_up
[ "$rounds" != 0 ] || pictures
for ((round = 1; round <= rounds; round++)); do
	latencies
	rates
	barriers
	bandwidths
	flatness
	registration
	overlap
done
