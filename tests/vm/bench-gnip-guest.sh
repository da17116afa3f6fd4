#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's part of bench-gnip.sh: bench-gnip-guest.sh ROUNDS
set -euo pipefail

rounds=$1
ip=/usr/sbin/ip
paths=(loopback veth gnip gnip-fma)
# Where the client is, and the server's address.
declare -A from=([loopback]=b [veth]=a [gnip]=a [gnip-fma]=a)
declare -A addr=([loopback]=127.0.0.1 [veth]=10.1.0.2 [gnip]=10.2.0.2 [gnip-fma]=10.2.0.2)
fma_max=/sys/module/gnip/parameters/fma_max
# The largest frame part that goes by FMA; above it goes RDMA.
declare -A by_fma=([gnip]=$((4 << 10)) [gnip-fma]=$((64 << 10)))
figures=("TCP 1 stream, Mbit/s" "TCP 2 streams, Mbit/s" "UDP 1400 bytes, Mbit/s"
	"TCP 1 byte there and back, us" "TCP 1 KiB there and back, us"
	"TCP 16 KiB there and back, us" "ping, us")

net()
{
	insmod "/lib/modules/$(uname -r)/extra/kgni.ko" nics=2
	insmod "/lib/modules/$(uname -r)/extra/gnip.ko"
	modprobe veth
	$ip netns add a
	$ip netns add b
	$ip link add veth0 netns a type veth peer name veth1 netns b
	$ip link set gnip0 netns a
	$ip link set gnip1 netns b
	link a lo 127.0.0.2
	link b lo 127.0.0.2
	link a veth0 10.1.0.1
	link b veth1 10.1.0.2
	link a gnip0 10.2.0.1
	link b gnip1 10.2.0.2
}

# link NETNS DEVICE ADDRESS
link()
{
	$ip -n "$1" addr add "$3/24" dev "$2"
	$ip -n "$1" link set "$2" up
}

servers()
{
	$ip netns exec b iperf3 -s -D
	for path in loopback veth gnip; do
		$ip netns exec b netecho serve "${addr[$path]}" 7 &
	done
	for path in "${paths[@]}"; do
		# Connects, and meets its peer.
		until client "$path" netecho rr "${addr[$path]}" 7 1 10 &&
			client "$path" iperf3 -c "${addr[$path]}" -n 1M; do
			sleep 0.2
		done >/dev/null 2>&1
	done
}

client()
{
	local path=$1

	shift
	$ip netns exec "${from[$path]}" "$@"
}

# iperf PATH ARGUMENT...: Mbit/s that arrived.
iperf()
{
	local path=$1

	shift
	client "$path" iperf3 -c "${addr[$path]}" -f m "$@" |
		awk '/receiver/ { for (i = 1; i < NF; i++) if ($(i + 1) == "Mbits/sec") n = $i }
			END { print n }'
}

rr()
{
	client "$1" netecho rr "${addr[$1]}" 7 "$2" "$3" | awk '{ print $3 }'
}

# measure PATH: the figures, in their order.
measure()
{
	[ -z "${by_fma[$1]:-}" ] || echo "${by_fma[$1]}" >$fma_max
	iperf "$1" -n 150M
	iperf "$1" -n 150M -P 2
	iperf "$1" -u -b 0 -l 1400 -n 30M
	rr "$1" 1 1000
	rr "$1" 1024 1000
	rr "$1" 16384 300
	client "$1" ping -q -i 0.002 -c 200 "${addr[$1]}" |
		awk -F/ '/^rtt/ { printf "%.0f\n", $5 * 1000 }'
}

median()
{
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

table()
{
	local i path

	printf '%-32s' ""
	printf '%12s' "${paths[@]}"
	echo
	for i in "${!figures[@]}"; do
		printf '%-32s' "${figures[i]}"
		for path in "${paths[@]}"; do
			printf '%12s' "$(sed -n "$((i + 1))p" "/tmp/$path".* | median)"
		done
		echo
	done
}

net
servers
for ((round = 1; round <= rounds; round++)); do
	for path in "${paths[@]}"; do
		measure "$path" >"/tmp/$path.$round"
	done
done
table
