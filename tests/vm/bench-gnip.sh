#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Throughput and latency of gnip, its large frames by RDMA and by FMA, beside veth and
# beside loopback, in one boot of the VM: a table. Each figure is the median of ROUNDS
# (3) interleaved rounds.
# Wants a build (make module lib tools tests-vm), and a machine that is idle.
#
#	tests/vm/bench-gnip.sh [ROUNDS]
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

exec "$VM_SRC/vm.sh" --modules veth --timeout $((900 * ${KGNI_TEST_SCALE:-1})) \
	--file "$VM_SRC/bench-gnip-guest.sh:/vm/bench-gnip-guest.sh" \
	exec "bash /vm/bench-gnip-guest.sh ${1:-3}"
