#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# gnicp: copies that come out right, and every way in which they can't.
# long
# timeout: 600
# shellcheck source=tests/vm/tests/lib.sh
. "${0%/*}/lib.sh"

work=/tmp/gnicp
server=
scale=${KGNI_TEST_SCALE:-1}
# How often is looked for what must come, ten times a second.
tries=$((300 * scale))

# start_server [OPTION...]
start_server()
{
	gnicp serve --dir "$work/served" "$@" > "$work/log" 2>&1 &
	server=$!
	for _ in $(seq "$tries"); do
		grep -q ^serving "$work/log" && return
		sleep 0.1
	done
	bail_out "gnicp serve does not start: $(cat "$work/log")"
}

stop_server()
{
	kill -TERM "$server"
	wait "$server"
	is $? 0 "the server ends well on SIGTERM"
}

# gives STATUS PATTERN DESCRIPTION COMMAND...: its exit status and message
gives()
{
	local status=$1 pattern=$2 description=$3 output got=0

	shift 3
	output=$("$@" 2>&1) || got=$?
	if [ "$got" = "$status" ] && printf '%s\n' "$output" | grep -q -- "$pattern"; then
		ok "$description"
	else
		not_ok "$description"
		diag "status $got, expected $status and '$pattern': $*"
		diag "$output"
	fi
}

# round_trip DESCRIPTION FILE [OPTION...]
round_trip()
{
	local description=$1 file=$2

	shift 2
	rm -f "$work/served/x" "$work/back"
	gnicp put -q "$@" "$file" x && gnicp get -q "$@" x "$work/back" &&
		cmp "$file" "$work/served/x" && cmp "$file" "$work/back"
	is $? 0 "$description"
}

# no_traces DESCRIPTION: nothing half-written is left, here or there
no_traces()
{
	is "$(find "$work" -name '.gnicp*')" "" "$1"
}

# What a killed peer left to be found out is found out within a few seconds.
wait_gone()
{
	for _ in $(seq "$tries"); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	return 1
}

wait_log()
{
	for _ in $(seq "$tries"); do
		grep -q -- "$1" "$work/log" && return 0
		sleep 0.1
	done
	return 1
}

# What the files take of memory comes and goes; the counters of pinned pages are
# a CPU's each until they are read.
resources()
{
	cat /proc/sys/vm/stat_refresh
	snapshot | grep -v MemFree
}

# moving FOLDER: waits until a copy into it is under way
moving()
{
	for _ in $(seq $((10 * tries))); do
		[ -z "$(find "$1" -maxdepth 1 -name '.gnicp*' -size +0)" ] || return 0
		sleep 0.01
	done
	return 1
}

test_copies()
{
	local bytes how

	start_server
	head -c 3000001 /dev/urandom > "$work/file"
	for how in "" --fma; do
		# shellcheck disable=SC2086
		round_trip "copy there and back ${how:---rdma}" "$work/file" $how
		for bytes in 0 1 5 131071 131073; do
			head -c $bytes "$work/file" > "$work/small"
			# shellcheck disable=SC2086
			round_trip "$bytes bytes ${how:---rdma}" "$work/small" $how
		done
	done
	round_trip "deep and narrow" "$work/file" --depth 256 --block 4K
	round_trip "one block on the way" "$work/file" --depth 1 --block 68K
	chmod 640 "$work/file"
	gnicp put -q "$work/file" mode && gnicp get -q mode "$work/mode"
	is "$(stat -c %a "$work/served/mode" "$work/mode" | tr '\n' ' ')" "640 640 " \
		"permission bits go along"
	mkdir -p "$work/served/sub" "$work/dir"
	gnicp put -q "$work/file" sub/name && gnicp get -q sub/name "$work/dir"
	succeeds "names with folders" cmp "$work/file" "$work/dir/name"
	succeeds "get into a device" gnicp get -q mode /dev/null
	is "$(stat -c %F /dev/null)" "character special file" "/dev/null is still there"
	stop_server
}

test_many()
{
	local i pids=() bad=0

	start_server --clients 3
	for i in $(seq 8); do
		gnicp put -q "$work/file" "many$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || bad=1
	done
	is $bad 0 "eight clients, three at once"
	for i in $(seq 8); do
		cmp "$work/file" "$work/served/many$i" || bad=1
	done
	is $bad 0 "all their files are right"
	stop_server
	start_server --once
	succeeds "a client for a server that serves one" gnicp put -q "$work/file"
	wait "$server"
	is $? 0 "then it exits with that one's status"
	start_server --once
	gives 1 "No such file" "a file that isn't there" gnicp get nothing "$work/nothing"
	wait "$server"
	is $? 1 "the server's status tells of that"
}

test_refusals()
{
	echo secret > "$work/secret"
	ln -sf ../secret "$work/served/link"
	start_server
	gives 1 "leads out" "get ../" gnicp get ../secret "$work/x"
	gives 1 "leads out" "get by a link" gnicp get link "$work/x"
	gives 1 "leads out" "get by an absolute path" gnicp get /etc/passwd "$work/x"
	gives 1 "leads out" "put ../" gnicp put "$work/file" ../x
	gives 1 "leads out" "put by an absolute path" gnicp put "$work/file" /tmp/x
	gives 1 "no name" "put to no name" gnicp put "$work/file" sub/
	gives 1 "File exists" "put onto a folder" gnicp put "$work/file" sub
	gives 1 "not a regular" "get a folder" gnicp get sub "$work/x"
	gives 1 "control" "names with control characters" gnicp get $'a\033b' "$work/x"
	gives 1 "No such file" "put a file that isn't there" gnicp put /nothing
	gives 1 "No such file" "get into a folder that isn't there" gnicp get mode /nothing/x
	gives 4 "no answer" "nobody at the instance" gnicp put --inst 9 --timeout 1 "$work/file"
	gives 4 "no answer" "nobody at the PE" gnicp put --peer 77 --timeout 1 "$work/file"
	gives 4 "no answer" "another cookie" gnicp put --cookie 77 --timeout 1 "$work/file"
	gives 3 "no /dev/kgni5" "no such device" gnicp put --device 5 "$work/file"
	gives 3 "refused" "the job's ptag with another cookie" \
		gnicp put --cookie 77 --ptag "$(sed -n 's/.*ptag \([0-9]*\).*/\1/p' "$work/log")" \
		"$work/file"
	gives 4 "for the same user" "the job's cookie as another user" \
		asuser 1000 gnicp put --cookie 0x6e670000 --timeout 1 /etc/passwd
	gives 2 "out of range" "a block of 5 bytes" gnicp put --block 5 "$work/file"
	gives 2 "commands" "no such command" gnicp steal
	stop_server
	start_server --read-only
	gives 1 "takes no files" "put to a read-only server" gnicp put "$work/file"
	succeeds "get from a read-only server" gnicp get -q mode "$work/x"
	stop_server
	no_traces "refused copies leave nothing behind"
}

test_plain_user()
{
	chmod 777 "$work/served"
	asuser 1000 gnicp serve --dir "$work/served" > "$work/log" 2>&1 &
	server=$!
	wait_log ^serving
	succeeds "a plain user copies" asuser 1000 gnicp put -q /usr/bin/gnicp plain
	succeeds "what arrived is right" cmp /usr/bin/gnicp "$work/served/plain"
	gives 3 "ulimit -l" "too little memory may be locked" \
		bash -c 'ulimit -l 64; exec asuser 1000 gnicp put /usr/bin/gnicp'
	stop_server
}

test_deaths()
{
	truncate -s 300M "$work/big" "$work/served/big"
	start_server --timeout $((10 * scale))
	for how in put get; do
		if [ $how = put ]; then
			gnicp put -q "$work/big" new &
			victim=$!
			moving "$work/served"
		else
			gnicp get -q big "$work/new" &
			victim=$!
			moving "$work"
		fi
		kill -KILL $victim
		wait_log "is gone"
		is $? 0 "the server sees that a client died in a $how"
		: > "$work/log"
	done
	is "$(find "$work/served" -name '.gnicp*')" "" "and leaves nothing behind"
	rm -f "$work"/.gnicp*
	round_trip "it goes on to serve" "$work/file"

	gnicp get -q big "$work/new" &
	victim=$!
	moving "$work"
	kill -INT $victim
	wait $victim
	is $? 130 "an interrupted client says so"
	wait_log "interrupted"
	is $? 0 "and tells the server"

	gnicp put -q --timeout $((2 * scale)) "$work/big" new 2> "$work/err" &
	client=$!
	moving "$work/served"
	kill -STOP "$server"
	wait $client
	is $? 4 "a client gives up a server that stands still"
	kill -CONT "$server"
	succeeds "and says so" grep "nothing heard" "$work/err"
	for _ in $(seq "$tries"); do
		[ -n "$(find "$work/served" -name '.gnicp*')" ] || break
		sleep 0.1
	done

	gnicp put -q "$work/big" new 2> "$work/err" &
	client=$!
	moving "$work/served"
	kill -KILL "$server"
	wait_gone $client
	is $? 0 "a client sees that the server died"
	wait $client
	is $? 4 "with status 4"
	succeeds "and says so" grep "is gone" "$work/err"
	rm -f "$work"/served/.gnicp*
	start_server
	round_trip "a new server takes its place" "$work/file"
	stop_server
	no_traces "nothing half-written is left"
}

mkdir -p "$work/served"
load_kgni
test_copies
before=$(resources)
test_many
test_refusals
test_plain_user
test_deaths
run_ok()
{
	succeeds "$*" "$@"
}
run_ok gni_guard
rm -rf "$work"/*big* "$work"/served/*big* "$work"/served/many*
same_resources "all that was taken is given back" "$before" "$(resources)" 16384
unload_kgni
gives 3 "load the driver" "without the driver" gnicp put /etc/passwd
load_kgni nics=2
start_server --device 1
round_trip "between two NICs" "$work/file" --device 0 \
	--peer "$(cat /sys/class/gni/kgni1/address)"
stop_server
run_ok gni_guard --device 1
unload_kgni
done_testing
