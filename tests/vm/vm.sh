#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots the stock kernel that the module is built for in QEMU, from an initramfs
# with what the build made, and runs something there. See usage() below.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

usage()
{
	cat <<'EOF'
usage: tests/vm/vm.sh [option...] run [test...]   numbered tests: all, or those named
                                                  (files of tests/vm/tests, or their numbers)
       tests/vm/vm.sh [option...] exec 'command'  one command; exits with its status
       tests/vm/vm.sh [option...] shell           a shell in the VM; 'exit' ends the VM
       tests/vm/vm.sh [option...] -- command...   as exec

  --file SRC:DST     put a file or folder into the guest (may be repeated)
  --memory SIZE      as QEMU's -m ($KGNI_VM_MEMORY, else 3G)
  --cpus N           (2)
  --timeout SECONDS  for the whole VM (run: 2400, exec: 600)
  --share DIR        show a folder of this machine as /share in the guest
  --gcov DIR         run: leave the counters of modules built with gcov there
  --modules "NAME…"  more modules of the stock kernel to have in the guest
  --append "ARG…"    more kernel command line
  --sum FILE         run: leave "passed failed skipped" there, print no total

The guest has kgni.ko where modprobe finds it (load_kgni in the tests), tools in
/usr/bin, libugni.so.0 in /usr/lib, programs of tests/vm/progs in /t/bin, tests in
/t/tests, and a user of uid 1000. Logs are left in build/vm/logs/.

Environment: KGNI_VM_ACCEL=tcg|kvm (else a short boot under KVM decides),
KGNI_TEST_TIMEOUT (seconds for a test with no "# timeout:" line; 120),
KGNI_TEST_SHORT (not empty: all tests but those with a line "# long"),
KGNI_TEST_SCALE (what every time limit is multiplied by, also in the guest; 1),
KGNI_VM_KERNEL_DIR (a folder with vmlinuz and lib/modules/ in place of Debian's).
EOF
}

memory=${KGNI_VM_MEMORY:-3G}
cpus=2
timeout=
share=
modules=
append=
sum=
image_args=()
export KGNI_TEST_TIMEOUT=${KGNI_TEST_TIMEOUT:-120} KGNI_TEST_SCALE=${KGNI_TEST_SCALE:-1}

need_value()
{
	[ "$1" -ge 2 ] || die "$2 needs a value"
}

while [ $# -gt 0 ]; do
	case $1 in
	--help | -h) usage && exit ;;
	--) break ;;
	--*) need_value $# "$1" ;;
	*) break ;;
	esac
	case $1 in
	--file) image_args+=(--file "$2") ;;
	--memory) memory=$2 ;;
	--cpus) cpus=$2 ;;
	--timeout) timeout=$2 ;;
	--share) share=$(realpath "$2") ;;
	--gcov) share=$(realpath "$2") && append+=" vm.gcov" ;;
	--modules) modules+=" $2" ;;
	--append) append+=" $2" ;;
	--sum) sum=$2 ;;
	*) die "unknown option $1; see --help" ;;
	esac
	shift 2
done
[ $# -gt 0 ] || { usage >&2 && exit 2; }
mode=$1
shift
case $mode in
--) mode="exec" ;;
esac

KVER=$(kernel_release)
export KVER
kernel=$("$VM_SRC/fetch-kernel.sh")
work=$(mktemp -d)
logs=${KGNI_VM_LOGS:-$VM_BUILD/logs}
qemu_pid=

cleanup()
{
	if [ -n "$qemu_pid" ] && kill -TERM "$qemu_pid" 2>/dev/null; then
		wait "$qemu_pid" 2>/dev/null || true
	fi
	[ ! -e "$work/console.log" ] || cp "$work/console.log" "$logs/console.log"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir -p "$logs"

# The flags that decide speed and timekeeping under TCG: no ERMS (TCG's rep movsb
# is slow), a TSC that the kernel trusts.
qemu_args()
{
	local accel=$1 mode=$2 timing=

	qemu=(qemu-system-x86_64)
	if [ "$accel" = kvm ]; then
		qemu+=(-accel kvm -cpu host)
	else
		qemu+=(-accel "tcg,thread=multi" -cpu "max,-erms")
		timing=tsc=reliable
	fi
	qemu+=(-smp "$cpus" -m "$memory" -display none -no-reboot -nodefaults
		-kernel "$kernel/vmlinuz" -initrd "$work/initrd.cpio"
		-serial "file:$work/console.log"
		-append "console=ttyS0 panic=-1 quiet loglevel=5 log_buf_len=8M $timing \
vm.mode=$mode vm.scale=$KGNI_TEST_SCALE${share:+ vm.share}$append")
	if [ -n "$share" ]; then
		qemu+=(-virtfs "local,path=$share,mount_tag=share,security_model=none")
	fi
}

# Whether a stock kernel boots under KVM here: it may hang although /dev/kvm is
# there. The answer is kept in build/vm/.
choose_accel()
{
	local answer=$VM_BUILD/accel

	if [ -n "${KGNI_VM_ACCEL:-}" ]; then
		accel=$KGNI_VM_ACCEL
		return
	fi
	if [ ! -s "$answer" ]; then
		echo tcg >"$work/accel"
		if [ -r /dev/kvm ] && [ -w /dev/kvm ]; then
			qemu_args kvm probe
			timeout -k 1 15 "${qemu[@]}" </dev/null >/dev/null 2>&1 || true
			! grep -q '^@@status 0' "$work/console.log" 2>/dev/null ||
				echo kvm >"$work/accel"
		fi
		cp "$work/accel" "$answer"
		echo "vm: $(cat "$answer") it is (build/vm/accel)" >&2
	fi
	accel=$(cat "$answer")
}

make_image()
{
	[ -z "$share" ] || modules+=" virtio_pci 9pnet_virtio 9p"
	"$VM_SRC/mkinitramfs.sh" -o "$work/initrd.cpio" --modules "$modules" \
		"${image_args[@]}"
	choose_accel
	qemu_args "$accel" "$mode"
}

# Starts QEMU in the background, with the guest's ttyS1 in $work/out.
start()
{
	mkfifo "$work/out"
	timeout -k 5 "$1" "${qemu[@]}" -chardev stdio,id=guest,signal=off \
		-serial chardev:guest </dev/null >"$work/out" 2>"$work/qemu.err" &
	qemu_pid=$!
}

select_tests()
{
	local want file found short

	cd "$VM_SRC/tests"
	if [ $# = 0 ]; then
		set -- [0-9]*_*.sh
		if [ -n "${KGNI_TEST_SHORT:-}" ]; then
			mapfile -t short < <(grep -L '^# long$' "$@")
			set -- "${short[@]}"
		fi
	fi
	for want in "$@"; do
		found=
		for file in [0-9]*_*.sh; do
			case $file in
			"${want##*/}" | "${want##*/}.sh" | "${want}_"*) found=1 && tests+=("$file") ;;
			esac
		done
		[ -n "$found" ] || die "no test '$want' in tests/vm/tests"
	done
	cd "$TOP"
}

run_tests()
{
	local test token passed failed skipped

	tests=()
	select_tests "$@"
	token=$RANDOM$RANDOM
	echo "$token" >"$work/token"
	for test in "${tests[@]}"; do
		echo "$test $(test_limit "$test")"
	done >"$work/tests"
	image_args+=(--file "$work/token:/vm/token" --file "$work/tests:/vm/tests")
	make_image
	start "${timeout:-$((2400 * KGNI_TEST_SCALE))}"
	"$VM_SRC/report.sh" "$qemu_pid" "$token" "$work/console.log" "$logs" "$work/sum" \
		$((120 * KGNI_TEST_SCALE)) "${tests[@]}" <"$work/out"
	cat "$work/qemu.err" >&2
	read -r passed failed skipped <"$work/sum"
	[ -z "$sum" ] || cp "$work/sum" "$sum"
	[ -n "$sum" ] || "$TOP/tests/total.sh" "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

exec_command()
{
	local status qemu_status=0

	printf '%s\n' "$*" >"$work/command"
	image_args+=(--file "$work/command:/vm/command")
	make_image
	start "${timeout:=$((600 * KGNI_TEST_SCALE))}"
	cat "$work/out"
	wait "$qemu_pid" || qemu_status=$?
	qemu_pid=
	cat "$work/qemu.err" >&2
	status=$(sed -n 's/^@@status \([0-9]*\).*/\1/p' "$work/console.log" | tail -n 1)
	if [ -z "$status" ]; then
		echo "---- the end of the VM console (build/vm/logs/console.log):" >&2
		tail -n 100 "$work/console.log" >&2
		[ $qemu_status != 124 ] || die "killed after $timeout s"
		die "the VM died"
	fi
	return "$status"
}

case $mode in
run)
	run_tests "$@"
	;;
exec)
	[ $# -gt 0 ] || die "exec what?"
	exec_command "$@"
	;;
shell)
	make_image
	"${qemu[@]}" -serial mon:stdio
	;;
*)
	die "unknown command '$mode'; see --help"
	;;
esac
