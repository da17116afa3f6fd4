#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# gni_perf beside the machine's own limits, UCX, libfabric and soft-RoCE, in one boot
# of the VM and in turn: medians of ROUNDS (5), with the least and the most. Leaves
# build/bench.tsv, "test size unit ours peer peer_value ratio". Wants a build (make
# module lib tools), and a machine that is idle.
#
#	tests/vm/bench.sh [ROUNDS]
#	tests/vm/bench.sh pictures	draws Documentation/performance-*.svg
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

rounds=${1:-5}
out=$BUILD/bench
peers=$("$VM_SRC/fetch-peers.sh")
libs=$peers/usr/lib/$(gcc -print-multiarch)
rdma=$(PATH=$PATH:/usr/sbin:/sbin command -v rdma) || die "no rdma: tests/vm/deps.sh vm"

programs()
{
	local flags=(-O2 -Wall -Wextra -D_GNU_SOURCE)

	mkdir -p "$out"
	gcc "${flags[@]}" -o "$out/raw" "$VM_SRC/bench/raw.c"
	gcc "${flags[@]}" -I"$peers/usr/include" -L"$libs" -Wl,-rpath-link,"$libs" \
		-o "$out/regmr" "$VM_SRC/bench/regmr.c" -libverbs
}

# guest ROUNDS: what the guest prints.
guest()
{
	local modules="dummy crc32_generic ib_uverbs rdma_rxe rdma_ucm"

	"$VM_SRC/vm.sh" --modules "$modules" --timeout $((400 * $1 + 600)) --share "$out" \
		--file "$peers:/peers" --file "$rdma:/usr/bin/rdma" \
		--file "$out/raw:/usr/bin/raw" --file "$out/regmr:/usr/bin/regmr" \
		--file "$VM_SRC/bench-guest.sh:/vm/bench-guest.sh" \
		exec "bash /vm/bench-guest.sh $1"
}

# Figures go to a file; on the terminal there is a dot for each.
measure()
{
	guest "$rounds" | tee "$out/log" | while IFS= read -r line; do
		case $line in
		"@ "*) printf '%s\n' "${line#@ }" && printf . >&2 ;;
		*) printf '%s\n' "$line" >&2 ;;
		esac
	done >"$out/figures"
	echo >&2
}

# figures: "test size unit who median least most" lines, in the order of the figures.
medians()
{
	awk '
	function sort(v, n, i, k, x) {
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (k = i - 1; k && v[k] > x; k--)
				v[k + 1] = v[k]
			v[k + 1] = x
		}
	}
	{
		key = $1 " " $2 " " $3 " " $4
		if (!(key in count))
			order[++keys] = key
		value[key, ++count[key]] = $5 + 0
	}
	END {
		for (i = 1; i <= keys; i++) {
			n = count[order[i]]
			for (k = 1; k <= n; k++)
				v[k] = value[order[i], k]
			sort(v, n)
			print order[i], v[int((n + 1) / 2)], v[1], v[n]
		}
	}' "$out/figures"
}

# A row for each of the others that a test of ours stands beside.
compare()
{
	awk -v OFS='\t' '
	{ test = $1 " " $2 " " $3 }
	$4 == "kgni" { ours[test] = $5; next }
	{ line[++n] = $0 }
	END {
		print "test", "size", "unit", "ours", "peer", "peer_value", "ratio"
		for (i = 1; i <= n; i++) {
			split(line[i], f, " ")
			test = f[1] " " f[2] " " f[3]
			if (test in ours && f[5] > 0)
				print f[1], f[2], f[3], ours[test], f[4], f[5],
					sprintf("%.3g", ours[test] / f[5])
		}
	}' "$out/medians"
}

table()
{
	printf '%-22s %9s %-5s %-10s %12s %12s %12s\n' test size unit who median least most
	while read -r test size unit who median least most; do
		printf '%-22s %9s %-5s %-10s %12s %12s %12s\n' "$test" "$size" "$unit" "$who" \
			"$median" "$least" "$most"
	done <"$out/medians"
	echo
	while IFS=$'\t' read -r test size unit ours peer value ratio; do
		printf '%-22s %9s %-5s %12s %-10s %12s %8s\n' "$test" "$size" "$unit" "$ours" \
			"$peer" "$value" "$ratio"
	done <"$BUILD/bench.tsv"
}

programs
if [ "$rounds" = pictures ]; then
	guest 0
	mv "$out"/performance-*.svg "$TOP/Documentation/"
	exit
fi
measure
medians >"$out/medians"
compare >"$BUILD/bench.tsv"
table
