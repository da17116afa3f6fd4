#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Shows what kgni does, from insmod to rmmod, on the machine it runs on: a
# virtual one, best of all. Needs root, the tools in PATH, and nobody else who
# uses kgni. It ends with an error as soon as anything isn't as it must be.
#
#	demo.sh [FILE]	the file to copy, some MB; $DEMO_FILE otherwise, or random bytes
#	KGNI_KO=	the module (looked for in /lib/modules otherwise)

set -u

work=/tmp/kgni-demo
file=${1:-${DEMO_FILE:-}}
server=
step=0

say()
{
	printf '%s\n' "$*"
}

heading()
{
	step=$((step + 1))
	printf '\n=== %s. %s ===\n\n' "$step" "$*"
}

cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$work"
}

fail()
{
	printf '\ndemo: FAILED: %s\n' "$*" >&2
	[ ! -s "$work/server.log" ] || {
		say "what the server said:" >&2
		cat "$work/server.log" >&2
	}
	exit 1
}

# Shows a command as one would type it, runs it, and wants it to succeed.
run()
{
	say "\$ $*"
	"$@" || fail "'$*' ended with status $?"
}

find_module()
{
	KGNI_KO=${KGNI_KO:-$(find /lib/modules -name 'kgni.ko*' 2>/dev/null | head -n 1)}
	[ -e "${KGNI_KO:-none}" ] || fail "there is no kgni.ko: name it in KGNI_KO"
}

load()
{
	# shellcheck disable=SC2086
	run insmod "$KGNI_KO" $1
	run ls -l /dev/kgni*
}

unload()
{
	run rmmod kgni
		[ ! -e /dev/kgni0 ] || fail "/dev/kgni0 is still there after rmmod"
}

make_file()
{
	mkdir -p "$work/served" "$work/back" || fail "cannot make $work"
	if [ -n "$file" ]; then
		name=${file##*/}
		cp "$file" "$work/$name" || fail "cannot copy $file"
	else
		name=random-bytes
		head -c 8000000 /dev/urandom > "$work/$name" || fail "cannot make a file"
	fi
}

start_server()
{
	say "\$ gnicp serve --dir served${*:+ $*} &"
	rm -f "$work/server.log"
	gnicp serve --dir "$work/served" "$@" > "$work/server.log" 2>&1 &
	server=$!
	n=0
	until grep -q '^serving' "$work/server.log" 2> /dev/null; do
		n=$((n + 1))
		[ $n -le 100 ] || fail "the server does not start"
		kill -0 $server 2>/dev/null || fail "the server ended"
		sleep 0.1
	done
	cat "$work/server.log"
}

# Ends the server; it must have served $1 transfers and met no error.
stop_server()
{
	kill -TERM "$server"
	wait "$server" || fail "the server ended with status $?"
	server=
	say
	say "the server's log:"
	sed -e '/ odd:/d' -e 's/^/  /' "$work/server.log"
	[ "$(grep -c -E '^(put|get) ' "$work/server.log")" = "$1" ] ||
		fail "the server should have served $1 transfers"
}

same()
{
	say "\$ cmp $*"
	cmp "$1" "$2" || fail "$2 differs from $1"
	say "  equal"
	say
}

# There by RDMA puts, back by RDMA gets and by FMA gets; $@: options.
copy_all()
{
	rm -rf "$work/back" "$work/served/$name"
	mkdir -p "$work/back"
	say
	run gnicp put "$@" "$name"
	same "$name" "served/$name"
	run gnicp get "$@" "$name" back/by-rdma
	same "$name" back/by-rdma
	run gnicp get --fma "$@" "$name" back/by-fma
	same "$name" back/by-fma
}

# Lengths that are no multiple of a word or a block, there and back.
copy_odd_sizes()
{
	say "sizes that fit no word and no block, there and back:"
	for bytes in 0 1 4095 131071 131073 300001; do
		head -c $bytes "$name" > odd
		gnicp put --quiet odd || fail "put of $bytes bytes"
		for how in "" --fma; do
			rm -f back/odd
			# shellcheck disable=SC2086
			gnicp get --quiet $how odd back/odd || fail "get $how of $bytes bytes"
			cmp odd back/odd || fail "$bytes bytes came back different"
		done
		say "  $bytes bytes: equal"
	done
}

# A third process, with the ptag of the server's job, but not its cookie.
wrong_cookie()
{
	ptag=$(sed -n 's/^serving.*ptag \([0-9]*\).*/\1/p' "$work/server.log")
	say "\$ gnicp put --ptag $ptag --cookie 0xbad $name"
	gnicp put --quiet --ptag "$ptag" --cookie 0xbad "$name" > "$work/refused.log" 2>&1
	status=$?
	sed 's/^/  /' "$work/refused.log"
	[ $status -eq 3 ] || fail "a wrong cookie should give exit status 3, not $status"
	say "  exit status 3, as it should be"
}

address()
{
	cat "/sys/class/gni/kgni$1/address"
}

# What the kernel must not say.
kernel_log_clean()
{
	if dmesg | grep -E 'WARNING|BUG:|Oops|KASAN|UBSAN|Call Trace|refcount_t|page_counter'; then
		fail "the kernel warned: see above"
	fi
}

trap cleanup EXIT
trap 'exit 1' INT TERM
[ "$(id -u)" = 0 ] || fail "only root can load the module"
command -v gnicp > /dev/null || fail "gnicp is not in PATH"
[ ! -d /sys/module/kgni ] || fail "kgni is loaded already: rmmod kgni"
find_module
make_file
cd "$work" || exit 1

say "kgni demo: Linux $(uname -r), $(wc -c < "$name") bytes to copy ($name)"

heading "load the driver: one virtual NIC"
load ""

heading "copy a file between two processes, and back"
start_server
copy_all
copy_odd_sizes

heading "a third process with a wrong cookie is refused"
wrong_cookie
stop_server 21

heading "memory is guarded"
say "A put outside a registered region ends with a transaction error and changes"
say "nothing; every attempt below is made for real, and the memory compared."
say
run gni_guard

heading "latency"
run gni_perf put,get,amo,smsg,barrier lat -n 2000
run gni_perf rdma-put,rdma-get lat -s 4K -n 2000

heading "two NICs, one process on each"
unload
load nics=2
start_server --device 0
copy_all --device 1 --peer "$(address 0)"
stop_server 3
say
run gni_perf put,get,smsg lat -n 2000 --device 0 --peer-device 1

heading "unload"
unload
kernel_log_clean
say "  the kernel had nothing to complain about"

printf '\ndemo: everything came out right\n'
