#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# IP over GNI: an interface on each of two NICs, each in a network namespace.
# long
# timeout: 400
. "${0%/*}/lib.sh"

ip=/usr/sbin/ip
ko=/lib/modules/$(uname -r)/extra/gnip.ko
scale=${KGNI_TEST_SCALE:-1}
# A stream that is not over before something is done to it.
long=$((200000000 / scale))
failures=/sys/kernel/debug/failslab

a()
{
	$ip netns exec a "$@"
}

b()
{
	$ip netns exec b "$@"
}

# wait_for COMMAND...: until it succeeds, or for 20 s.
wait_for()
{
	local i

	for ((i = 0; i < 200 * scale; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	"$@"
}

# load_gnip [PARAMETER=VALUE...]: two namespaces that reach each other.
load_gnip()
{
	insmod "$ko" "$@" || bail_out "insmod gnip.ko $*"
	$ip link set gnip0 netns a || bail_out "no gnip0"
	$ip link set gnip1 netns b || bail_out "no gnip1"
	set_up a gnip0 10.0.0.1
	set_up b gnip1 10.0.0.2
}

# set_up NETNS DEVICE ADDRESS
set_up()
{
	$ip -n "$1" addr add "$3/24" dev "$2"
	$ip -n "$1" link set "$2" up
}

reaches()
{
	# shellcheck disable=SC2317	# wait_for calls it
	a ping -q -c 1 -W 1 10.0.0.2
}

# stat DEVICE-OF NAME: a counter, summed over the queues.
stat()
{
	local device=gnip0

	[ "$1" = a ] || device=gnip1
	"$1" ethtool -S $device | awk -v name="$2" '
		{ sub(/^ *(q[0-9]_)?/, "") } $1 == name ":" { sum += $2 } END { print sum + 0 }'
}

# counted NETNS NAME BEFORE DESCRIPTION: the counter has grown.
counted()
{
	local now

	now=$(stat "$1" "$2")
	if [ "$now" -gt "$3" ]; then
		ok "$4"
	else
		not_ok "$4"
		diag "$2 is $now, as before"
	fi
}

# grown NETNS NAME BEFORE: as counted, without a result.
grown()
{
	# shellcheck disable=SC2317	# wait_for calls it
	[ "$(stat "$1" "$2")" -gt "$3" ]
}

serve()
{
	$ip netns exec b netecho serve 10.0.0.2 7 &
	server=$!
	wait_for a netecho rr 10.0.0.2 7 1 1
}

# In the background: a stream that must come back unharmed.
stream()
{
	local was

	was=$(stat a tx_packets)
	$ip netns exec a netecho bulk 10.0.0.2 7 "$1" >/tmp/stream 2>&1 &
	stream=$!
	wait_for under_way "$was"
}

# shellcheck disable=SC2317	# wait_for calls it
under_way()
{
	[ "$(stat a tx_packets)" -gt $(($1 + 30)) ] || ! kill -0 "$stream"
}

# end PID...
end()
{
	kill "$@" 2>/dev/null
	wait "$@" 2>/dev/null
}

# stream_ends DESCRIPTION: it does, and nothing was lost or changed.
stream_ends()
{
	if wait "$stream"; then
		ok "$1"
	else
		not_ok "$1"
		diag "$(cat /tmp/stream)"
	fi
}

# block_transfer BYTES: of frames that are larger.
block_transfer()
{
	echo "$1" >/sys/module/gnip/parameters/fma_max
}

test_device()
{
	is "$(a cat /sys/class/net/gnip0/address)" 02:47:00:00:00:01 \
		"the hardware address holds the PE address"
	is "$(a ethtool -i gnip0 | sed -n 's/^\(driver\|bus-info\): //p' | xargs)" "gnip kgni0" \
		"ethtool tells driver and device"
	succeeds "the carrier is there" wait_for a grep -q 1 /sys/class/net/gnip0/carrier
	is "$(a ethtool gnip0 | sed -n 's/.*Link detected: //p')" yes "ethtool sees the link"
	fails "the hardware address stays" $ip -n a link set gnip0 address 02:47:00:00:00:07
	fails "kgni.ko stays while gnip.ko is there" rmmod kgni
}

test_ipv6()
{
	local what="ping by the address that IPv6 makes of the PE address"

	if [ ! -e /proc/net/if_inet6 ]; then
		skip "$what" "this kernel has no IPv6"
		return
	fi
	# At an MTU of 68 there was none, and its addresses are gone.
	$ip -n a link set gnip0 down && $ip -n a link set gnip0 up
	$ip -n b link set gnip1 down && $ip -n b link set gnip1 up
	succeeds "$what" wait_for a ping -q -c 1 -W 1 "fe80::47:ff:fe00:2%gnip0"
}

test_ping()
{
	local mtu

	succeeds "a peer is found and reached" wait_for reaches
	is "$($ip -n a neigh show 10.0.0.2 | awk '{ print $5 }')" 02:47:00:00:00:02 \
		"by its PE address"
	for mtu in 68 576 1500 9000 16000 65520; do
		$ip -n a link set gnip0 mtu $mtu && $ip -n b link set gnip1 mtu $mtu
		succeeds "ping at MTU $mtu" wait_for a ping -q -c 3 -i 0.01 -M "do" \
			-s $((mtu - 28)) 10.0.0.2
	done
	fails "an MTU can be too small" $ip -n a link set gnip0 mtu 67
	fails "an MTU can be too large" $ip -n a link set gnip0 mtu 65521
	test_ipv6
	b sysctl -q net.ipv4.icmp_echo_ignore_broadcasts=0
	succeeds "a broadcast is heard" wait_for a ping -q -b -c 1 -W 1 10.0.0.255
}

test_neighbours()
{
	local before

	$ip -n a neigh flush dev gnip0 && $ip -n b neigh flush dev gnip1
	$ip -n a link set gnip0 arp off && $ip -n b link set gnip1 arp off
	$ip -n a neigh replace 10.0.0.2 lladdr 02:47:00:00:00:02 dev gnip0 nud permanent
	$ip -n b neigh replace 10.0.0.1 lladdr 02:47:00:00:00:01 dev gnip1 nud permanent
	succeeds "a neighbour that was entered by hand is reached" wait_for reaches
	before=$(stat a tx_no_peer)
	$ip -n a neigh replace 10.0.0.3 lladdr 02:00:00:00:00:03 dev gnip0 nud permanent
	fails "a hardware address that is not of a PE is nobody's" a ping -q -c 1 -W 1 10.0.0.3
	counted a tx_no_peer "$before" "and frames for it are counted"
	$ip -n a neigh replace 10.0.0.4 lladdr 02:47:00:00:00:09 dev gnip0 nud permanent
	fails "a PE that is not there is not reached" a ping -q -c 1 -W 1 10.0.0.4
	succeeds "which keeps nobody else from being reached" wait_for reaches
	$ip -n a neigh flush all nud permanent && $ip -n b neigh flush all nud permanent
	$ip -n a link set gnip0 arp on && $ip -n b link set gnip1 arp on
}

test_integrity()
{
	local size large

	serve
	large=$(stat a tx_large)
	for size in 1 64 1448 1985 2012 2013 4096 16384 65536 200000; do
		succeeds "requests of $size bytes come back as they were" \
			a netecho rr 10.0.0.2 7 $size 50
	done
	for size in 9 1400 2000 15000 65507; do
		succeeds "so do datagrams of $size bytes" a netecho udp 10.0.0.2 7 $size 50
	done
	stream 30000000
	stream_ends "a stream comes back as it was"
	counted a tx_large "$large" "large frames went into buffers of the peer"
	block_transfer 65536
	stream 10000000
	stream_ends "by FMA too"
	block_transfer 0
	stream 10000000
	stream_ends "by block transfer alone too"
	block_transfer 4096
	a ethtool -K gnip0 tso off tx off sg off >/dev/null
	stream 5000000
	stream_ends "without segmentation, checksums and scattered frames too"
	a ethtool -K gnip0 tso on tx on sg on >/dev/null
	$ip -n a link set gnip0 mtu 1500 && $ip -n b link set gnip1 mtu 1500
	stream 10000000
	stream_ends "at an MTU of 1500 too"
	$ip -n a link set gnip0 mtu 16000 && $ip -n b link set gnip1 mtu 16000
}

test_file()
{
	local sum

	head -c 10000000 /dev/urandom >/tmp/file
	sum=$(sha256sum </tmp/file)
	a bash -c 'exec 3<>/dev/tcp/10.0.0.2/7
		cat /tmp/file >&3 &
		head -c 10000000 <&3 >/tmp/copy'
	is "$(sha256sum </tmp/copy)" "$sum" "a file comes back with its hash"
	rm -f /tmp/file /tmp/copy
}

# ssh_b COMMAND: in the second namespace.
ssh_b()
{
	a dbclient -y -y -i /tmp/ssh/key root@10.0.0.2 "$@" 2>/tmp/ssh/log
}

# Lines that are typed, each when the one before has come back.
# shellcheck disable=SC2317	# succeeds calls it
typed()
{
	local i line

	coproc SSH { ssh_b cat; }
	for ((i = 0; i < 100; i++)); do
		echo "line $i" >&"${SSH[1]}"
		read -r line <&"${SSH[0]}" && [ "$line" = "line $i" ] || return
	done
	eval "exec ${SSH[1]}>&-"
	wait "$SSH_PID"
}

test_ssh()
{
	local sum

	mkdir -p /tmp/ssh /root/.ssh
	chmod 700 /root /root/.ssh
	dropbearkey -t ed25519 -f /tmp/ssh/host >/dev/null 2>&1
	dropbearkey -t ed25519 -f /tmp/ssh/key >/dev/null 2>&1
	dropbearkey -y -f /tmp/ssh/key | grep '^ssh-' >/root/.ssh/authorized_keys
	$ip netns exec b dropbear -F -r /tmp/ssh/host -p 10.0.0.2:22 &
	sshd=$!
	wait_for ssh_b true
	is "$(ssh_b cat /sys/class/net/gnip1/address)" 02:47:00:00:00:02 "ssh runs a command"
	succeeds "ssh types and sees what it types" typed
	head -c 3000000 /dev/urandom >/tmp/ssh/file
	sum=$(sha256sum </tmp/ssh/file)
	is "$(ssh_b sha256sum </tmp/ssh/file)" "$sum" "ssh copies a file there"
	is "$(ssh_b cat /tmp/ssh/file | sha256sum)" "$sum" "and back"
	end $sshd
	rm -r /tmp/ssh /root/.ssh
}

test_iperf()
{
	$ip netns exec b iperf3 -s >/dev/null 2>&1 &
	iperf=$!
	wait_for a iperf3 -c 10.0.0.2 -n 1K
	succeeds "iperf3 by TCP" a iperf3 -c 10.0.0.2 -n 30M
	succeeds "iperf3 the other way" a iperf3 -c 10.0.0.2 -n 10M -R
	succeeds "iperf3 with four streams" a iperf3 -c 10.0.0.2 -n 20M -P 4
	succeeds "iperf3 by small writes" a iperf3 -c 10.0.0.2 -n 200K -l 64 -N
	succeeds "iperf3 by UDP" a iperf3 -c 10.0.0.2 -u -b 0 -n 3M -l 1400
	succeeds "iperf3 by large datagrams" a iperf3 -c 10.0.0.2 -u -b 0 -n 3M -l 30000
	end $iperf
}

# What happens to the interfaces while a stream goes on, which then goes on.
test_changes()
{
	local mtu before

	stream 30000000
	for mtu in 1500 65520 576 16000; do
		$ip -n a link set gnip0 mtu $mtu
	done
	stream_ends "a stream survives changes of the MTU"
	stream 30000000
	$ip -n a link set gnip0 down
	$ip -n a link set gnip0 up
	stream_ends "a stream survives its interface being down and up again"
	before=$(stat a sessions_closed)
	stream 30000000
	$ip -n b link set gnip1 down
	wait_for grown a sessions_closed "$before"
	$ip -n b link set gnip1 up
	stream_ends "a stream survives its peer being down and up again"
	counted a sessions_closed "$before" "the peer said goodbye"
	$ip -n b link set gnip1 down
	$ip -n b link set gnip1 up
	succeeds "an idle peer that was down is reached again" wait_for reaches
}

test_queues()
{
	local size

	fails "the number of queues stays while the interface is up" \
		b ethtool -L gnip1 combined 1
	$ip -n b link set gnip1 down
	succeeds "it can be changed when it is down" b ethtool -L gnip1 combined 1
	$ip -n b link set gnip1 up
	wait_for reaches
	for size in 1 100 3000 65536; do
		succeeds "interfaces with different numbers talk, $size bytes at a time" \
			a netecho rr 10.0.0.2 7 $size 20
	done
	stream 10000000
	stream_ends "without harm"
	$ip -n b link set gnip1 down
	b ethtool -L gnip1 combined 2
	$ip -n b link set gnip1 up
	wait_for reaches
}

# shellcheck disable=SC2317	# wait_for calls it
carrier()
{
	[ "$(a cat /sys/class/net/gnip0/carrier)" = "$1" ]
}

test_quiesce()
{
	local file=/sys/kernel/debug/kgni/quiesce

	if [ ! -w $file ]; then
		skip "the carrier follows a quiesce" "nothing to quiesce with"
		return
	fi
	stream $long
	echo 1 1 >$file
	succeeds "a quiesce takes the carrier away" wait_for carrier 0
	echo 1 0 >$file
	succeeds "it comes back with the end" wait_for carrier 1
	stream_ends "a stream survives that"
}

# Block transfers of the first device are under way.
# shellcheck disable=SC2317	# wait_for calls it
transferring()
{
	gnictl -j proc | jq -e 'any(.[]; .device == "kgni0" and .rdma_running > 0)'
}

# A link that goes down must not keep others from their links, whatever stands still.
test_standstill()
{
	local file=/sys/kernel/debug/kgni/quiesce

	if [ ! -w $file ]; then
		skip "an interface goes down though its transfers stand still" "nothing to quiesce with"
		return
	fi
	stream $long
	echo 2 1 >$file
	succeeds "transfers stand still with the peer's device" wait_for transferring
	succeeds "an interface goes down though its transfers stand still" \
		$ip -n a link set gnip0 down
	fails "and not up again before they are over" $ip -n a link set gnip0 up
	fails "nor does it change its queues" a ethtool -L gnip0 combined 1
	echo 2 0 >$file
	succeeds "then it does" wait_for $ip -n a link set gnip0 up
	stream_ends "a stream survives that, too"
}

# What is on its way is lost; it comes again.
test_link()
{
	local dir=/sys/kernel/debug/kgni/fail_link before

	if [ ! -d $dir ]; then
		skip "streams survive lost links" "this kernel injects no failures"
		return
	fi
	before=$(stat a sessions_lost)
	stream 20000000
	echo -1 >$dir/times
	echo 100 >$dir/probability
	wait_for grown a sessions_lost "$before"
	echo 0 >$dir/probability
	stream_ends "a stream survives a lost link"
	counted a sessions_lost "$before" "the session was made anew"
}

# One in ten of the allocations that cannot wait for memory fails: those of frames that
# arrive are among them, and of what large ones that leave need.
test_memory()
{
	local before

	if [ ! -d $failures ]; then
		skip "frames are dropped where there is no memory" "this kernel injects no failures"
		return
	fi
	before=$(($(stat a rx_no_memory) + $(stat b rx_no_memory)))
	echo N >$failures/cache-filter
	echo Y >$failures/ignore-gfp-wait
	echo 0 >$failures/verbose
	echo -1 >$failures/times
	echo 10 >$failures/probability
	succeeds "what arrives though memory is short is as it was sent" \
		a netecho udp 10.0.0.2 7 15000 500
	stream 3000000
	stream_ends "and a stream makes up for what is lost"
	echo 0 >$failures/probability
	succeeds "frames that were dropped are counted" \
		test $(($(stat a rx_no_memory) + $(stat b rx_no_memory))) -gt "$before"
}

# there DEVICE, gone DEVICE: in the first namespace.
# shellcheck disable=SC2317	# wait_for calls them
there()
{
	[ -e "/sys/class/net/$1" ]
}

# shellcheck disable=SC2317
gone()
{
	! there "$1"
}

# By the interface of a third device, which is in no namespace of its own.
# shellcheck disable=SC2317	# wait_for calls it
reaches_by_third()
{
	ping -q -c 1 -W 1 -I gnip2 10.0.0.2
}

test_devices()
{
	local round

	for round in first second; do
		succeeds "a device is made for the $round time" gnictl dev add kgni2
		succeeds "its interface appears" wait_for there gnip2
		$ip addr add 10.0.0.3/24 dev gnip2 && $ip link set gnip2 up
		succeeds "and reaches others" wait_for reaches_by_third
		succeeds "the device is deleted" gnictl dev del kgni2 force
		succeeds "its interface goes" wait_for gone gnip2
	done
	# Between two looks.
	succeeds "a device is made" gnictl dev add kgni2
	wait_for there gnip2
	round=$(cat /sys/class/net/gnip2/ifindex)
	gnictl dev del kgni2 force && gnictl dev add kgni2 >/dev/null
	succeeds "one that was replaced has another interface" wait_for replaced "$round"
	stream 5000000
	stream_ends "which the others do not notice"
	gnictl dev del kgni2 force
	wait_for gone gnip2
}

# replaced INDEX: interface gnip2 is not the one that had it.
# shellcheck disable=SC2317	# wait_for calls it
replaced()
{
	there gnip2 && [ "$(cat /sys/class/net/gnip2/ifindex)" != "$1" ]
}

test_removal()
{
	stream 100000000
	succeeds "gnip.ko unloads under traffic" rmmod gnip
	end "$stream" "$server"
	load_gnip queues=1 buffers=4 peers=1-3,77
	succeeds "it comes again, with other parameters" wait_for reaches
	serve
	stream 10000000
	stream_ends "few buffers are enough"
	end "$server"
}

test_parameters()
{
	local parameter

	rmmod gnip
	for parameter in queues=0 queues=5 buffers=3 buffers=257 ptag=0 ptag=255 peers=x scan=3601 \
		peers=5-4 peers=1-2x; do
		fails "$parameter is refused" insmod "$ko" $parameter
	done
}

# No more memory is taken than before, but for some.
# shellcheck disable=SC2317	# wait_for calls it
settled()
{
	local now

	now=$(snapshot | sed -n 's/^kb_MemFree //p')
	[ $(($(printf '%s\n' "$before" | sed -n 's/^kb_MemFree //p') - now)) -lt $((8192 * scale)) ]
}

load_kgni nics=2
$ip netns add a
$ip netns add b
# What connections leave behind, whose processes and peers are gone, goes soon.
a sysctl -q net.ipv4.tcp_orphan_retries=1
b sysctl -q net.ipv4.tcp_orphan_retries=1
before=$(snapshot)
load_gnip
test_device
test_ping
test_neighbours
test_integrity
test_file
test_ssh
test_iperf
# Frames of both kinds on their way.
block_transfer 16384
test_changes
test_queues
test_quiesce
test_standstill
test_link
test_memory
block_transfer 4096
test_devices
test_removal
test_parameters
$ip netns del a
$ip netns del b
wait_for settled
same_resources "nothing is left behind" "$before" "$(snapshot)" 16384
unload_kgni
done_testing
