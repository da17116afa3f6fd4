#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make demo: builds everything, boots a VM and runs tools/demo.sh in it, on a
# file worth copying: the VM's kernel image.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"
cd "$TOP"

mkdir -p "$BUILD"
log=$BUILD/demo.log
quietly()
{
	"$@" >"$log" 2>&1 || { tail -n 50 "$log" >&2 && die "failed: $*"; }
}

echo "demo: installing what is missing"
tests/vm/deps.sh build vm
echo "demo: building the module, the library and the tools"
quietly make -j"$(nproc)" module lib tools
echo "demo: fetching the VM's kernel"
kernel=$(tests/vm/fetch-kernel.sh)
echo "demo: booting a VM"
tests/vm/vm.sh --file "$kernel/vmlinuz:/root/vmlinuz" --file tools/demo.sh:/root/demo.sh \
	exec 'bash /root/demo.sh /root/vmlinuz'
