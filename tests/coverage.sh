#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which lines of kernel/ the numbered tests reach: builds kgni.ko and
# kgni_test.ko with gcov, runs the tests, all or those named, in the debug VM,
# and prints a table by file, both modules taken together.
#
#	tests/coverage.sh [TEST...]
#
# Leaves in build/coverage/: summary.txt (the table), unreached.txt (each line
# that was not reached), index.html (the annotated sources).
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/vm/env.sh"
cd "$TOP"

out=$BUILD/coverage
data=$out/data

# The counters come under the full path of the object that counted; what the
# compiler knew about it (.gcno) is there.
join_notes()
{
	local file

	while read -r file; do
		cp "${file%.gcda}.gcno" "$data${file%.gcda}.gcno"
	done < <(find "$data" -name '*.gcda' -printf '/%P\n')
}

# Each module was built in a tree of links to the sources: what it says about
# kernel/bte.c there is about the same file here. The compiler ran in KDIR.
merge()
{
	local tree traces=()

	for tree in "$BUILD"/kmod/*/ "$BUILD"/kunit/*/; do
		[ -d "$data$tree" ] || continue
		traces+=(-a "$out/${#traces[@]}.json")
		gcovr --root "$tree" --filter "$TOP/kernel/" --object-directory "$KDIR" \
			--json "${traces[-1]}" "$data$tree"
	done
	gcovr --root "$TOP" "${traces[@]}" --txt "$out/summary.txt" \
		--json "$out/coverage.json" --html-details "$out/index.html"
}

unreached()
{
	python3 - "$out/coverage.json" <<'EOF'
import json, sys
for file in json.load(open(sys.argv[1]))["files"]:
    source = open(file["file"]).read().splitlines()
    for line in file["lines"]:
        if not line["count"] and not line["gcovr/noncode"]:
            number = line["line_number"]
            print(f'{file["file"]}:{number}: {source[number - 1].strip()}')
EOF
}

dir=$(tests/vm/debug-kernel.sh)
export KDIR=$dir/headers KGNI_VM_KERNEL_DIR=$dir KGNI_VM_LOGS=$VM_BUILD/logs-coverage
export KGNI_TEST_SCALE=${KGNI_TEST_SCALE:-8} KGNI_VM_MEMORY=${KGNI_VM_MEMORY:-1G}
make -j"$(nproc)" module kunit kmodtest lib tools tests-vm \
	KMOD_ARGS="GCOV_PROFILE=y KCFLAGS='-g -fprofile-update=atomic'"
rm -rf "$out"
mkdir -p "$data"
status=0
# What looks for bugs is not needed to count lines, and without it all is faster.
append="slub_debug=- page_owner=off page_poison=0 kmemleak=off"
tests/vm/vm.sh --append "$append" --gcov "$data" run "$@" || status=1
join_notes
merge
unreached >"$out/unreached.txt"
cat "$out/summary.txt"
exit "$status"
