# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the scripts beside it: where things are.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
VM_SRC=$TOP/tests/vm
BUILD=$TOP/build
VM_BUILD=$BUILD/vm

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# make_var NAME: a variable of the Makefile.
make_var()
{
	make --no-print-directory -s -C "$TOP" "print-$1"
}

# The kernel release that the module is built for.
kernel_release()
{
	local kver=${KVER:-$(make_var KVER)}

	[ -n "$kver" ] || die "no kernel headers found: 'make deps' installs them"
	printf '%s\n' "$kver"
}

# test_limit TEST: seconds that a numbered test may take, from its "# timeout:" line.
test_limit()
{
	local seconds

	seconds=$(sed -n '/^[^#]/q;s/^# timeout: *//p' "$VM_SRC/tests/$1")
	printf '%d\n' $((${seconds:-${KGNI_TEST_TIMEOUT:-120}} * ${KGNI_TEST_SCALE:-1}))
}

# Where fetch-kernel.sh puts vmlinuz and lib/modules/.
kernel_dir()
{
	printf '%s\n' "${KGNI_VM_KERNEL_DIR:-$VM_BUILD/kernel-$1}"
}
