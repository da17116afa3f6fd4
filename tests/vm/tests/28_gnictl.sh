#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# gnictl and the netlink family behind it: every command, as root and as an ordinary
# user; malformed messages; devices that come and go; a thousand jobs.
# long
# timeout: 600
. "${0%/*}/lib.sh"

status()
{
	"$@" >/dev/null 2>&1
	echo $?
}

# says TEXT DESCRIPTION COMMAND...: it fails with exit status 1 and these words.
says()
{
	local want=$1 description=$2 output rc=0

	shift 2
	output=$("$@" 2>&1) || rc=$?
	case $rc:$output in
	1:*"$want"*) ok "$description" ;;
	*)
		not_ok "$description"
		diag "exit status $rc: $output"
		;;
	esac
}

# field FILTER COMMAND...: what jq takes out of its JSON.
field()
{
	local filter=$1

	shift
	gnictl -j "$@" | jq -r "$filter"
}

kinds="dev bi job proc mem cq session"
# Few have those.
more_kinds="ce"

says "the module kgni is not loaded" "without the module it says so" gnictl dev
load_kgni nics=2

is "$(gnictl dev)" "DEVICE  PE  TYPE   STATE  JOBS  ATTACHED
kgni0    1  aries  up        0         0
kgni1    2  aries  up        0         0" "the table of devices"
is "$(field 'map(.device) | join(" ")' dev)" "kgni0 kgni1" "and the same as JSON"
for kind in $kinds $more_kinds stat "stat job" "stat proc"; do
	# shellcheck disable=SC2086
	is "$(gnictl -j $kind | jq type) $(gnictl -jp $kind | jq type)" '"array" "array"' \
		"$kind: valid JSON, where there are no jobs"
	# shellcheck disable=SC2086
	is "$(gnictl $kind | wc -l)" "$(case $kind in dev | bi | stat) echo 3 ;; *) echo 0 ;; esac)" \
		"$kind: a table, where there are no jobs"
done

# Usage.
is "$(status gnictl)" 2 "no command: usage"
is "$(status gnictl nonsense)" 2 "an unknown command: usage"
is "$(status gnictl --nonsense)" 2 "an unknown option: usage"
is "$(status gnictl help) $(status gnictl -h) $(status gnictl -V)" "0 0 0" "help and version"
for args in "dev kgni64" "dev kgni0 kgni1" "dev del" "dev del nonsense" "dev add kgni1 more" \
	"job ptag" "job ptag 0" "job ptag 255" "job pid 1" "proc pid" "proc pid x" "cq show x" \
	"stat job pid 1" "dev quiesce" "dev resume kgni0 x" "bi x" "bi set" "bi set kgni0" \
	"bi set kgni0 orbs" "bi set kgni0 bw" "bi set kgni0 bw 993" "bi set kgni0 bw 5 x" \
	"job add" "job add kgni0 id" "job add kgni0 id x" "job add kgni0 mdd -1" \
	"job add kgni0 ntt 1" "job add kgni0 x" "job del kgni0" "job del kgni0 ptag 0x" \
	"ntt add kgni0" "ntt add kgni0 x" "ntt add kgni0 1,2" "ntt add kgni0 1,2,3,4" \
	"job add kgni0 nonsense 1" "job suspend" "job suspend kgni0" "job suspend kgni0 ptag" \
	"job suspend kgni0 ptag 3 x" "job suspend kgni0 ptag 3 timeout" "job resume" \
	"job resume kgni0 ptag 3 timeout 1" "ce x" \
	"ntt add kgni0 size 256 1" "ntt del kgni0" "ntt del kgni0 8192" "ntt del kgni0 1 2 3"; do
	# shellcheck disable=SC2086
	is "$(status gnictl $args)" 2 "gnictl $args: usage"
done
says "No such device" "a device that is not there" gnictl dev kgni7
says "'gnictl dev' lists" "and what can be done about it" gnictl dev kgni7
fails "nowhere to print to" sh -c 'gnictl dev >/dev/full'

# With a process that has something of each kind.
mkdir -p /tmp/served
gnicp serve --dir /tmp/served >/tmp/served.log 2>&1 &
server=$!
head -c 300000 /dev/urandom >/tmp/file
succeeds "a file is copied" gnicp put /tmp/file
is "$(field '.[0].attachments' dev kgni0)" 1 "one attachment"
is "$(field '.[] | "\(.device) \(.uid) \(.attachments)"' job)" "kgni0 0 1" "one job"
is "$(field '.[] | "\(.device) \(.pid) \(.command) \(.uid)"' proc)" "kgni0 $server gnicp 0" \
	"a process by its number and name"
is "$(field length mem pid $server)" "$(field '.[0].regions' proc)" "its regions"
is "$(field '[.[].pinned_bytes] | add' mem pid $server)" "$(field '.[0].pinned_bytes' proc)" \
	"their pages"
is "$(field length cq pid $server)" "$(field '.[0].cqs' proc)" "its queues"
is "$(field '.[0].state' session pid $server)" pending "its datagram"
is "$(field '.[0].rdma_put_bytes' stat kgni0)" 300000 "bytes that were moved, by device"
is "$(field '.[0].rdma_put_bytes' stat job)" 300000 "by job"
is "$(field '.[0].rdma_put_bytes' stat proc pid $server)" 0 "not those of others by process"
ptag=$(field '.[0].ptag' job)
is "$(field length job ptag "$ptag") $(field length job ptag 200)" "1 0" "jobs by their tag"
is "$(field length proc pid 1)" 0 "a process that has nothing"
is "$(field length proc kgni1)" 0 "a device that has nothing"
for kind in $kinds; do
	is "$(gnictl "$kind" | wc -l)" "$(($(field length "$kind") + 1))" \
		"$kind: as many rows as objects"
	is "$(gnictl "$kind" show | md5sum)" "$(gnictl "$kind" list | md5sum)" \
		"$kind: show and list"
	is "$(gnictl -jp "$kind" | jq -S -c .)" "$(gnictl -j "$kind" | jq -S -c .)" \
		"$kind: pretty or not, the same"
	is "$(($(gnictl -d "$kind" | wc -l) > $(gnictl "$kind" | wc -l)))" 1 "$kind: details"
done
is "$(gnictl d | md5sum)" "$(gnictl dev | md5sum)" "words may be shortened"

# An ordinary user sees devices, and of the rest what is his.
user()
{
	asuser 1000 "$@"
}
PATH=$PATH:/t/bin
is "$(user gnictl dev | md5sum)" "$(gnictl dev | md5sum)" "a user sees devices"
for kind in job proc mem cq ce session; do
	is "$(user gnictl -j "$kind")" "[]" "$kind: but not what is another's"
done
says "needs CAP_SYS_ADMIN; become root" "a user makes no device" user gnictl dev add
says "needs CAP_SYS_ADMIN; become root" "and deletes none" user gnictl dev del kgni1
is "$(user manyjobs 3 1 - gnictl -j job | jq -c 'map(.uid)')" "[1000,1000,1000]" \
	"a user sees jobs of his own"
is "$(user manyjobs 3 1 - gnictl -j proc | jq -r '.[0].command')" manyjobs "and processes"
kill $server
wait $server
is "$(field length job)" 0 "a job ends with its process"
is "$(field '.[0].rdma_put_bytes' stat kgni0)" 300000 "what it did is still counted"

# Channels of the collective engine.
is "$(withce gnictl -j ce kgni0 | jq -r '.[] | [.channel, .state, .children, .seen, .parent_pe,
	.parent, .reductions, .cq, .modes] | map(. // "-") | join(" ")')" "0 whole 2 0 - - 0 - 1
1 whole 1 0 1 0 0 - 0
2 new 0 0 - - 0 - 0" "a tree of two channels, and one without a place"
is "$(withce gnictl ce | sed -n 's/^kgni0 .* withce  *//p')" \
	"0  whole         2     0          -          -           0   -
1  whole         1     0          1          0           0   -
2  new           0     0          -          -           0   -" "as a table"
is "$(withce sh -c 'gnictl -d ce; gnictl -d proc' | grep -c -e round-up -e 'channels: 3$')" 2 \
	"and in details"
is "$(withce gnictl -j proc | jq .[0].channels) $(withce gnictl -j ce kgni1) $(gnictl -j ce)" \
	"3 [] []" "and nowhere else"
is "$(withce asuser 1000 gnictl -j ce) $(user withce gnictl -j ce | jq length)" "[] 3" \
	"a user sees his own"

# Translation tables.
is "$(gnictl -j ntt)" "[]" "no translation"
is "$(withntt gnictl ntt kgni0)" "DEVICE  ENTRY  ADDRESSES   PE  REPLACED  BY-PE
kgni0       5          4  100         0      0
kgni0       6          4  200         1    300" "two entries of a translation table"
is "$(withntt gnictl -j ntt kgni1)" "[]" "none of another device"
says "Operation not permitted; become root" "users do not see where NICs are" user gnictl ntt

# Devices that stand still.
succeeds "a device stands still" gnictl dev quiesce kgni1
is "$(field 'map(.state) | join(" ")' dev)" "up quiesced" "and says so"
says "stands still already" "once more" gnictl dev quiesce kgni1
succeeds "it goes on" gnictl dev resume kgni1
is "$(field 'map(.state) | join(" ")' dev)" "up up" "and says so, too"
says "does not stand still" "once more" gnictl dev resume kgni1
says "there is no such device" "one that is not there" gnictl dev quiesce kgni7
says "needs CAP_SYS_ADMIN; become root" "users stop nothing" user gnictl dev quiesce kgni0
says "needs CAP_SYS_ADMIN; become root" "and have nothing go on" user gnictl dev resume kgni0

# Balanced injection.
is "$(gnictl bi kgni0)" "DEVICE     BW  AFTER-THROTTLE  ORBS  DEFAULT
kgni0   100 %           100 %   992    100 %" "nothing is held"
succeeds "a device is held" gnictl bi set kgni0 bw 50 aot 25
is "$(field '.[] | "\(.device) \(.bw) \(.aot_bw) \(.orbs) \(.flags)"' bi)" \
	"kgni0 50 25 496 3
kgni1 100 100 992 4" "and no other"
succeeds "by outstanding requests" gnictl bi set kgni0 bw 99 orbs
is "$(field '.[0] | "\(.bw) \(.orbs)"' bi)" "10 99" "which is a tenth"
succeeds "back to what was" gnictl bi set kgni0 default
is "$(field '.[0] | "\(.bw) \(.aot_bw) \(.flags)"' bi)" "100 100 4" "which it is"
says "a value or a flag is out of range" "more than all" gnictl bi set kgni0 bw 101
says "there is no such device" "where nothing is" gnictl bi set kgni9 bw 1
says "needs CAP_SYS_ADMIN; become root" "users hold nothing" user gnictl bi set kgni0 bw 1
is "$(user gnictl bi | md5sum)" "$(gnictl bi | md5sum)" "but see what is held"

# Configured jobs.
is "$(field '.[0] | "\(.ptag) \(.cookie) \(.job_id) \(.running) \(.uid) \(.resources.mdd_total)"' \
	job add kgni0 id 0x100000001 cookie 77 ptag 90 mdd 3 rdma 4)" \
	"90 77 4294967297 false null 3" "a job is configured"
is "$(gnictl job ptag 90)" "DEVICE  PTAG  COOKIE  UID  ATTACHED
kgni0     90    0x4d    -         0" "and listed"
is "$(field '.[0].ptag' job kgni0 ptag 90) $(user gnictl -j job)" "90 []" "but not for users"
is "$(field '.[0].resources.mdd_total' job add kgni0 id 0x100000001 cookie 77 ptag 90 mdd 5)" 5 \
	"its limits are changed"
is "$(field '.[0].resources | "\(.mdd_total) \(.rdma_total) \(.cq_total)"' job ptag 90)" \
	"5 4 4096" "and others stay"
says "the tag belongs to another job" "another cookie" gnictl job add kgni0 id 1 cookie 78 ptag 90
says "the device has not so much" "more than there is" \
	gnictl job add kgni0 id 2 cookie 3 mdd 1000000
says "needs an id and a cookie" "half of a job" gnictl job add kgni0 id 2
says "these entries are not set" "without addresses" \
	gnictl job add kgni0 id 2 cookie 3 ntt 0 2
is "$(field '.[0] | "\(.index) \(.granularity) \(.block)"' ntt add kgni0 at 100 size 4 1 9,1,33)" \
	"100 4 1" "addresses are made"
is "$(gnictl ntt kgni0)" "DEVICE  ENTRY  ADDRESSES  PE  REPLACED  BY-PE
kgni0     100          4   1         0      0
kgni0     101          4   9         1     33" "and listed"
is "$(field '.[0] | "\(.ntt_base) \(.ntt_size) \(.ntt_clear) \(.automatic)"' \
	job add kgni0 id 2 cookie 3 ntt 100 2 clear)" "100 2 true true" "a job with addresses"
says "not so many are free" "they are its own" gnictl ntt del kgni0 101
says "another granularity" "and others are like them" gnictl ntt add kgni0 7
says "the job has addresses" "and no others" \
	gnictl job add kgni0 id 2 cookie 3 ntt 101 1
tag=$(field '.[] | select(.cookie == 3).ptag' job)
succeeds "a job is forgotten" gnictl job del kgni0 ptag "$tag"
is "$(gnictl -j ntt)" "[]" "with its addresses"
says "there is no such job" "once more" gnictl job del kgni0 ptag "$tag"
says "beyond the table" "no room at the end" gnictl ntt add kgni0 at 8191 1 2
succeeds "entries are set" gnictl ntt add kgni0 at 8190 5 6
succeeds "one is cleared" gnictl ntt del kgni0 8190
is "$(field 'map(.index) | join(" ")' ntt)" 8191 "and the other is not"
succeeds "all of them are" gnictl ntt del kgni0 all
is "$(gnictl -j ntt)" "[]" "none is left"
for args in "job add kgni0 id 1 cookie 1" "ntt add kgni0 1" "ntt del kgni0 all" \
	"job del kgni0 ptag 90"; do
	# shellcheck disable=SC2086
	fails "as a user: $args" user gnictl $args
done
is "$(field 'map(.ptag) | join(" ")' job)" 90 "one is left"
succeeds "it is forgotten" gnictl job del kgni0 ptag 90
cat >/tmp/runs <<'EOF'
gnictl job del kgni0 ptag "$(gnictl -j job | jq -r '.[] | select(.running).ptag')"
EOF
says "no such job is configured" "one that runs and was not configured" \
	manyjobs 1 1 - sh /tmp/runs

# Limits of what else there is.
is "$(field '.[0].resources | "\(.ce_total) \(.dla_total) \(.iommu_total)"' \
	job add kgni0 id 7 cookie 7 ptag 91 ce 2 dla 100 iommu 1000)" "2 100 1000" \
	"limits of channels, chains and memory"
says "no such resource" "but not of what other devices have" \
	gnictl job add kgni0 id 7 cookie 7 ptag 91 mrt 1
succeeds "it is forgotten, too" gnictl job del kgni0 ptag 91

# Jobs that stand still.
cat >/tmp/still <<'EOF'
ptag=$(gnictl -j job | jq .[0].ptag)
suspended() { gnictl -j job | jq -c 'map(.suspended)'; }
suspended
asuser 1000 gnictl job suspend kgni0 ptag "$ptag" 2>&1
gnictl job resume kgni0 ptag "$ptag" 2>&1
gnictl job suspend kgni0 ptag "$ptag" && suspended
gnictl job suspend kgni0 ptag "$ptag" timeout 0 2>&1
gnictl job resume kgni0 ptag "$ptag" && suspended
gnictl dev quiesce kgni0
gnictl job suspend kgni0 ptag "$ptag" timeout 100 2>&1
gnictl dev resume kgni0
EOF
is "$(manyjobs 1 1 - bash /tmp/still | sed 's/ptag [0-9]*:/ptag N:/')" "[false]
gnictl: job suspend: kgni0: the job is another user's; become root and try again
gnictl: job resume: kgni0, ptag N: it is not suspended
[true]
gnictl: job suspend: kgni0, ptag N: it is suspended already
[false]
gnictl: job suspend: kgni0, ptag N: its device stands still, or it was resumed meanwhile" \
	"a job stands still, and goes on"
cat >/tmp/mine <<'EOF'
gnictl job suspend kgni0 ptag "$(gnictl -j job | jq .[0].ptag)"
EOF
says "needs CAP_SYS_ADMIN; become root" "not by its own user" user manyjobs 1 1 - bash /tmp/mine
says "there is no such job" "nor where there is none" gnictl job suspend kgni0 ptag 3
succeeds "a job is configured" gnictl job add kgni0 id 5 cookie 5 ptag 95
says "it does not run" "one that does not run" gnictl job suspend kgni0 ptag 95
succeeds "and forgotten" gnictl job del kgni0 ptag 95

# All of it in one file.
succeeds "a dump" gnictl dump /tmp/dumped
is "$(stat -c %a /tmp/dumped)" 600 "that only its owner reads"
is "$(jq -r '[.gnictl, (.dev | length), .files["/sys/module/kgni/parameters/nics"]] | join(" ")' \
	/tmp/dumped)" "$(gnictl -V | cut -d ' ' -f 2) 2 2" "with what belongs there"
is "$(jq -r '(.log | length) > 0 and (keys | length) == 15' /tmp/dumped)" true "and the log"
is "$(user gnictl dump | jq -r '.uid')" 1000 "a user's dump"
fails "a dump to where there is no room" sh -c 'gnictl dump >/dev/full'
is "$(status gnictl dump /dev/full) $(status gnictl dump /nowhere/file)" "1 1" \
	"or that cannot be written"
is "$(status gnictl dump one two)" 2 "more than one file: usage"

# What happens. One line tells when listening begins.
listening()
{
	rm -f /tmp/listening
	mkfifo /tmp/listening
	"$@" >/tmp/events 2>/tmp/listening &
	monitor=$!
	read -r said </tmp/listening
}
# For those that end when they have seen so many: fewer may come.
patience=$((120 * ${KGNI_TEST_SCALE:-1}))
listening timeout "$patience" gnictl monitor count 6
is "$said" "gnictl: listening" "monitor says that it listens"
gnictl dev add kgni9 >/dev/null
manyjobs 1 1 - true
gnictl dev del kgni9
wait $monitor
is $? 0 "monitor ends when it has seen enough"
is "$(cut -d ' ' -f 2 /tmp/events | tr '\n' ' ')" \
	"device-added job-began attached detached job-ended device-deleted " \
	"devices, jobs and processes come and go"
is "$(sed -n 's/.* attached .* command \([^ ]*\).*/\1/p' /tmp/events)" manyjobs "with their names"
listening gnictl -j monitor all
manyjobs 2 1 - true
kill -TERM $monitor
wait $monitor
is $? 0 "monitor ends by a signal"
listening user timeout "$patience" gnictl -j monitor devices count 1
manyjobs 1 1 - true
gnictl dev add kgni9 >/dev/null
wait $monitor
is $? 0 "users are told of devices"
is "$(jq -r '"\(.event) \(.device)"' /tmp/events)" "device-added kgni9" "and of nothing else"
gnictl dev del kgni9
says "needs CAP_SYS_ADMIN; become root" "and cannot ask for more" user gnictl monitor all
# The error events of both turns are counted, too.
listening timeout "$patience" gnictl -j monitor all count 16
gnictl dev quiesce kgni1
gnictl dev resume kgni1
gnictl bi set kgni1 bw 40
gnictl bi set kgni1 default
gnictl job add kgni1 id 9 cookie 9 ptag 99 mdd 17 >/dev/null
gnictl job del kgni1 ptag 99
cat >/tmp/turns <<'EOF'
ptag=$(gnictl -j job kgni0 | jq .[0].ptag)
gnictl job suspend kgni0 ptag "$ptag" && gnictl job resume kgni0 ptag "$ptag"
EOF
manyjobs 1 1 - bash /tmp/turns
gnictl dev add kgni9 >/dev/null
gnictl dev del kgni9
wait $monitor
is "$(jq -r 'select(.event != "error") |
	"\(.event) \(.device) \(.state // .bw // .resources.mdd_total)"' /tmp/events)" \
	"device-quiesced kgni1 quiesced
device-resumed kgni1 up
injection-set kgni1 40
injection-set kgni1 100
job-configured kgni1 17
job-forgotten kgni1 17
job-began kgni0 4095
attached kgni0 null
job-suspended kgni0 4095
job-resumed kgni0 4095
detached kgni0 null
job-ended kgni0 4095
device-added kgni9 up
device-deleted kgni9 gone" "what administrators do is told"

# Errors, real ones and others.
listening timeout "$patience" gnictl -j event count 3
succeeds "an error is injected" gnictl inject kgni1 memory-corrected ptag 9
succeeds "another" gnictl inject kgni1 diag
gni_guard >/dev/null 2>&1
wait $monitor
is "$(jq -r '[.event, .device, .error, .category, .ptag] | join(" ")' /tmp/events | head -n 2 |
	tr '\n' ';')" "error kgni1 memory-corrected correctable-memory 9;error kgni1 diag diag-only ;" \
	"and told"
is "$(jq -r 'select(.device == "kgni0") | "\(.error) \(.info.word2 > 0)"' /tmp/events)" \
	"bounds true" "and so are those of programs"
says "this error cannot be injected" "not every error can be injected" gnictl inject kgni0 bounds
says "there is no such device" "and not everywhere" gnictl inject kgni5 diag
says "needs CAP_SYS_ADMIN" "nor by everybody" user gnictl inject kgni0 diag
is "$(status gnictl inject) $(status gnictl inject kgni0) $(status gnictl inject kgni0 x)" "2 2 2" \
	"inject: usage"
is "$(status gnictl monitor nothing) $(status gnictl monitor count 0)" "2 2" "monitor: usage"

# Rates.
is "$(manyjobs 2 1 - gnictl -j top interval 1 count 1 |
	jq -r 'group_by(.kind) | map("\(.[0].kind) \(length)") | join(" ")')" "dev 2 job 2 proc 2" \
	"top shows devices, jobs and processes"
is "$(gnictl top kgni1 interval 1 count 2 | grep -c '^kgni1 .* 0 B/s *0 B/s *100 % *0 %$')" 2 \
	"nothing moves where nobody is"
gnictl bi set kgni0 bw 10
gni_perf -t 20 -s 64K put bw >/dev/null 2>&1 &
traffic=$!
until [ "$(field '.[0].fma_put' stat kgni0)" -gt 0 ]; do
	kill -0 $traffic || break
done
is "$(gnictl -j top interval 2 count 1 | jq -r '.[] | select(.kind == "dev") |
	"\(.device) \(.bw) \(.held_percent > 0 and .held_percent <= 100)"')" "kgni0 10 true
kgni1 100 false" "and that a device is held"
kill $traffic
wait $traffic
gnictl bi set kgni0 default
is "$(status gnictl top interval 0) $(status gnictl top count) $(status gnictl top x)" "2 2 2" \
	"top: usage"

# Completion.
# shellcheck source=tools/gnictl.bash
. /usr/share/bash-completion/completions/gnictl
completes()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_gnictl
	echo "${COMPREPLY[@]}"
}
is "$(completes gnictl m)" "mem monitor" "completion of commands"
is "$(completes gnictl -j dev k)" "kgni0 kgni1" "of devices"
is "$(completes gnictl dev quiesce '')" "kgni0 kgni1" "of those that may stand still"
is "$(completes gnictl bi set kgni0 b)" bw "of settings"
is "$(completes gnictl job add kgni0 c)" "cookie cq ce clear" "of what a job may have"
is "$(completes gnictl job s)" "show suspend" "of what is done to jobs"
is "$(completes gnictl job suspend kgni0 ptag 3 '')" timeout "and how"
is "$(completes gnictl ce '')" "show ptag pid kgni0 kgni1" "of channels"
is "$(completes gnictl ntt del kgni0 '')" all "and of entries"
is "$(completes gnictl dev del kgni0 '')" force "of what comes behind one"
is "$(completes gnictl proc p)" "ptag pid" "of filters"
cat >/tmp/tags <<'EOF'
. /usr/share/bash-completion/completions/gnictl
COMP_WORDS=(gnictl job ptag '') COMP_CWORD=3
_gnictl
echo "${COMPREPLY[@]}"
EOF
is "$(manyjobs 1 1 - bash /tmp/tags)" "$(manyjobs 1 1 - gnictl -j job | jq .[0].ptag)" \
	"and of tags"

# Devices.
is "$(field '.[0].device' dev add)" kgni2 "one more device, the lowest number that is free"
is "$(cat /sys/class/gni/kgni2/address)" 3 "with the address that goes with it"
is "$(field '.[0].device' dev add kgni63)" kgni63 "one with a number of its own"
says "there is such a device" "the same again" gnictl dev add kgni63
succeeds "a device is deleted" gnictl dev del kgni63
says "there is no such device" "and cannot be deleted again" gnictl dev del kgni63
says "in use" "one that is used stays" manyjobs 1 3 - gnictl dev del kgni0
succeeds "unless by force" manyjobs 3 3 - gnictl dev del kgni2 force
is "$(ls -d /dev/kgni* | tr '\n' ' ')" "/dev/kgni0 /dev/kgni1 " "the files go with the devices"
run_prog nicdel

# Messages that gnictl would not send.
run_prog netlink
run_prog asuser 1000 netlink user
is "$(field 'map(.device) | join(" ")' dev)" "kgni0 kgni1" "devices are in order after that"

# A thousand jobs.
for i in 2 3 4; do
	gnictl dev add kgni$i >/dev/null
done
is "$(manyjobs 1000 5 - sh -c 'gnictl -j job; gnictl -j proc; gnictl -j job kgni3' |
	jq -s -c 'map(length)')" "[1000,1000,200]" "a thousand jobs, processes, those of one device"
cat >/tmp/churned <<'EOF'
for i in 1 2 3; do
	gnictl -j job >/tmp/jobs 2>/dev/null || exit 1
	jq -e 'length > 900 and length == (unique_by(.device, .ptag) | length)' /tmp/jobs || exit 2
	gnictl -j proc >/tmp/procs 2>/dev/null || exit 3
	jq -e 'length > 900 and length == (unique_by(.device, .attachment) | length)' /tmp/procs ||
		exit 4
done
EOF
succeeds "lists while jobs end and begin" manyjobs 1000 5 churn sh /tmp/churned
is "$(field length job)" 0 "all of them are gone"
unload_kgni
load_kgni nics=3
is "$(field '.[0].rdma_put_bytes' stat kgni0)" 0 "counters begin anew"
unload_kgni
done_testing
