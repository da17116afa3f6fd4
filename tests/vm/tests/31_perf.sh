#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# gni_perf: what it can measure runs, with all bytes right; its numbers add up; its
# formats can be read; what makes no sense is refused. Nothing here depends on time.
# long
# timeout: 240
. "${0%/*}/lib.sh"

perf()
{
	gni_perf -n 20 "$@"
}

# refused STATUS TEXT DESCRIPTION ARGUMENT...: that exit status, and these words.
refused()
{
	local want=$1 text=$2 description=$3 output rc=0

	shift 3
	output=$(gni_perf "$@" 2>&1) || rc=$?
	case $rc:$output in
	"$want:gni_perf: "*"$text"*) ok "$description" ;;
	*)
		not_ok "$description"
		diag "exit status $rc: $output"
		;;
	esac
}

# counted DESCRIPTION RESULTS OPERATIONS ARGUMENT...: so many results, each of so many
# operations, and as many in its histogram, between the least and the most.
counted()
{
	local description=$1 results=$2 operations=$3

	shift 3
	is "$(gni_perf --json -H "$@" | jq -c --argjson n "$operations" '[.results[]
		| .operations == $n and (.histogram == null or
			([.histogram[].count] | add) == $n) and
			(.min_us == null or (.min_us <= .p50_us and .p50_us <= .p90_us and
			.p90_us <= .p99_us and .p99_us <= .p999_us and .p999_us <= .max_us))]
		| [length, all]')" "[$results,true]" "$description"
}

test_all()
{
	local ops=put,get,rdma-put,rdma-get

	succeeds "latency, all bytes checked" perf $ops lat --check -s 4,8,1000,64K
	succeeds "bandwidth, all bytes checked" perf $ops bw --check -s 4,4096,100K,1M
	succeeds "rate, all bytes checked" perf $ops rate --check
	succeeds "odd sizes of puts" perf put,rdma-put lat,bw --check -s 1,3,4097
	succeeds "overlap" gni_perf -n 3 $ops overlap -s 64K
	succeeds "atomic operations and CQ writes" perf amo,cqwrite lat,rate
	for command in fadd add fadd32 add32 fand for fxor cswap fswap swap fimax ffpadd; do
		succeeds "atomic operation $command" perf amo lat,rate --amo "$command"
	done
	succeeds "messages, all bytes checked" perf smsg lat,bw,rate --check -s 1,8,100,4K,65535
	succeeds "messages of a shared queue, all bytes checked" \
		perf msgq lat,bw,rate --check -s 1,8,100,128
	succeeds "datagrams, all bytes checked" perf dgram lat,rate --check -s 1,8,100,128
	succeeds "registrations that are reached" perf reg,dereg lat,bw,rate --check -s 8,64K,1M
	succeeds "barriers, of which nobody comes out early" perf barrier,smsg-barrier lat --check
	succeeds "barriers of more than a channel has children" \
		gni_perf -n 3 -w 0 -p 17 barrier,smsg-barrier lat --check
	succeeds "for a time" gni_perf -t 0.05 $ops,smsg,msgq,reg lat,bw,rate
	succeeds "the others for a time" gni_perf -t 0.05 amo,cqwrite,dgram lat,rate
	succeeds "a barrier for a time" gni_perf -t 0.05 barrier,smsg-barrier lat
}

test_options()
{
	succeeds "without source events" perf put,rdma-put lat --silent --check -s 1,4K
	succeeds "with events at the target" perf put,rdma-put lat --remote-event --check -s 1,4K
	succeeds "one at a time" gni_perf -n 300 -W 1 put,cqwrite,amo,smsg,msgq rate
	succeeds "more than there is room for" gni_perf -n 3000 -W 4096 rdma-put,cqwrite rate
	succeeds "no warm-up" perf -w 0 put lat
	succeeds "not pinned" perf --no-pin put lat
	succeeds "both on one CPU" perf -c 0 put,smsg,msgq,cqwrite,barrier,smsg-barrier lat
	succeeds "huge pages" perf --huge rdma-put,reg bw --check -s 3M
	succeeds "endpoints and registrations in turn" gni_perf -n 500 put,get,amo rate,lat \
		--endpoints 50 --registrations 300
	succeeds "between two NICs" perf --peer-device 1 put,rdma-get,smsg lat,bw --check -s 4K
	succeeds "datagrams and barriers between two NICs" \
		perf --peer-device 1 dgram,barrier,smsg-barrier lat --check
	succeeds "a shared queue between two NICs, all bytes checked" \
		perf --peer-device 1 -p 3 msgq lat,rate --check -s 100
	succeeds "from the other NIC" perf --device 1 put,cqwrite,amo lat
	succeeds "an ordinary user" asuser 1000 gni_perf -n 20 put,smsg,msgq,barrier lat
}

test_results()
{
	counted "latencies are counted" 8 50 -n 50 -s 8,16 put,get,rdma-put,smsg lat
	counted "and those of two pairs" 5 60 -n 30 -p 2 put,smsg,msgq,dgram,cqwrite lat
	counted "a barrier is counted by all initiators" 2 60 -n 20 -p 3 barrier,smsg-barrier lat
	counted "streams are counted" 6 200 -n 100 -p 2 put,get,amo,cqwrite,smsg,msgq rate
	counted "registrations are counted" 4 9 -n 9 -s 8,4K reg,dereg lat
	is "$(perf put,smsg lat,bw -s 8,64 --csv | awk -F, 'NR == 1 { n = NF }
		NF != n { bad++ } END { print NR, bad + 0 }')" "9 0" "CSV: a head, equally long rows"
	is "$(perf put lat --csv | cut -d , -f 1-5 | tail -n 1)" "put,lat,8,1,20" "CSV: a row"
	is "$(perf put lat -s 8:100 --json | jq -c '[.results[].size]')" "[8,16,32,64,100]" \
		"a range of sizes"
	is "$(perf rdma-get overlap -s 64K --json |
		jq -c '.results[0] | [.transfer_us, .compute_us, .both_us] | map(. > 0)')" \
		"[true,true,true]" "overlap has its parts"
	is "$(perf put,get lat,bw -s 8:64 | grep -c '^#')" 4 "tables have titles"
	succeeds "a picture" perf put,get lat,bw -s 8:64K --plot /tmp/perf.svg
	is "$(grep -c '<polyline' /tmp/perf.svg) $(grep -c '<polygon' /tmp/perf.svg)" "4 2" \
		"with a curve for each"
	is "$(sed -n '1s/ .*//p' /tmp/perf.svg) $(tail -n 1 /tmp/perf.svg)" "<svg </svg>" \
		"which is whole"
	is "$(grep -c 'nan\|inf' /tmp/perf.svg)" 0 "and has numbers only"
	rm -f /tmp/perf.svg
}

test_refusals()
{
	refused 2 "what is to be measured" "nothing to do"
	refused 2 "there is no operation 'putt'; these are: put get" "no such operation" putt lat
	refused 2 "lat, bw, rate and overlap can" "no such measure" put late
	refused 2 "amo has no bw; it has: lat rate" "what makes no sense" amo bw
	refused 2 "amo has no size" "no sizes there" amo lat -s 8
	refused 2 "no multiple of 4" "a size that gets do not have" get lat -s 5
	refused 2 "at most 128 bytes" "a size that is too large" dgram lat -s 129
	refused 2 "msgq: at most 128 bytes" "a size that shared queues do not have" msgq lat -s 129
	refused 2 "at most 48 processes" "more than a shared queue is for" msgq lat -p 25
	refused 2 "room for 125 processes" "more than a tree has room for" barrier lat -p 63
	UGNI_MSGQ_DIR=/nowhere refused 3 "set UGNI_MSGQ_DIR to a tmpfs" \
		"no memory for a shared queue" msgq lat
	refused 2 "--size: '0'" "size 0" put lat -s 0
	refused 2 "--size: '8:4'" "a range that ends before it begins" put lat -s 8:4
	refused 2 "--size: '8x'" "a size with a wrong unit" put lat -s 8x
	refused 2 "--iterations: '0' is out of range" "no iterations" put lat -n 0
	refused 2 "--time: '-1'" "a negative time" put lat -t -1
	refused 2 "--pairs: '65'" "too many pairs" put lat -p 65
	refused 2 "--window: 'x'" "a window that is no number" put lat -W x
	refused 2 "cannot run on CPU 77" "a CPU that is not there" put lat -c 77
	refused 2 "not for get lat" "silent gets" get lat --silent
	refused 2 "--amo: 'nand'" "no such command" amo lat --amo nand
	refused 2 "smsg uses one endpoint" "endpoints of messages" smsg lat --endpoints 2
	refused 3 "there is no /dev/kgni7" "no such NIC" put lat --device 7
	refused 1 "cannot write /nowhere" "a picture that cannot be written" \
		put lat --plot /nowhere/x.svg
	is "$(asuser 1000 gni_perf put lat --ptag 1 2>&1 | cut -c 1-45)" \
		"gni_perf: refused: ptag 1 is not yours to use" "a ptag of the kernel's"
}

# children_of PID, which /proc/PID/task/PID/children tells in some kernels only.
children_of()
{
	grep -ls "^PPid:[[:space:]]$1$" /proc/[0-9]*/status | grep -o '[0-9]*'
}

# A process that is killed takes the others with it, and leaves nothing behind.
test_deaths()
{
	local pid i children

	for i in 0 1; do
		gni_perf put,smsg lat -t 30 >/dev/null 2>/tmp/perf.err &
		pid=$!
		children=()
		while [ ${#children[@]} -lt 2 ] && kill -0 "$pid"; do
			mapfile -t children < <(children_of "$pid")
		done
		kill -KILL "${children[i]}"
		wait "$pid"
		is "$? $(cat /tmp/perf.err)" "1 gni_perf: a process was killed by signal 9" \
			"process $i is killed: all end, with a message"
	done
	rm -f /tmp/perf.err
}

refused 3 "load the driver" "without the driver" put lat
load_kgni nics=2
export UGNI_MSGQ_DIR=/dev/shm
ulimit -l unlimited
before=$(snapshot)
test_all
test_options
test_results
test_refusals
test_deaths
same_resources "all that was taken is given back" "$before" "$(snapshot)" 16384
unload_kgni
done_testing
