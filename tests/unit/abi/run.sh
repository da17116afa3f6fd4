#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compare include/gni_pub.h with gni_abi.tsv, in every dialect that programs
# use. Prints TAP; fails if any case does.
#
#	run.sh BUILD_DIR	CC, CXX and PYTHON name the programs to use
set -eu -o pipefail

[ $# -eq 1 ] || { echo "usage: $0 BUILD_DIR" >&2; exit 2; }
: "${CC:=gcc}" "${CXX:=g++}" "${PYTHON:=python3}"

src=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cases.sh
. "$src/../../cases.sh"
include=$(cd "$src/../../../include" && pwd)
header=$include/gni_pub.h
table=$src/gni_abi.tsv
mkdir -p "$1/abi"
out=$(cd "$1/abi" && pwd)
export PYTHONDONTWRITEBYTECODE=1

aries=-DCRAY_CONFIG_GHAL_ARIES
warn="-Wall -Wextra -Werror"
user="-I$include -I$src"
# As the kernel does: no header but those that are named.
kernel="-nostdinc -D__KERNEL__ -I$src/kernel_shim -I$include -I$src"

# compile LANGUAGE STANDARD FLAGS FILE OBJECT; FLAGS and CC are split at blanks.
compile() {
	local cc=$CC
	[ "$1" = c ] || cc=$CXX
	# shellcheck disable=SC2086
	$cc -x "$1" -std="$2" $3 -c "$4" -o "$5"
}

# table_check LANGUAGE STANDARD FLAGS FILE DIR: compile a file of gen.py's, link
# it with the stand-ins and run it.
table_check() {
	local exe=$5/check
	rm -f "$exe" "$exe"*.o
	# shellcheck disable=SC2086
	compile "$1" "$2" "$warn $3" "$5/$4" "$exe.o" &&
		compile c gnu11 "$warn $3" "$5/stubs.c" "$exe-stubs.o" &&
		compile c gnu11 "$warn $user" "$src/main.c" "$exe-main.o" &&
		$CXX "$exe.o" "$exe-stubs.o" "$exe-main.o" -o "$exe" &&
		"$exe"
}

# marks FILE FLAGS...: rows of the table that the compiler sees a check of.
marks() {
	# shellcheck disable=SC2086
	$CC -E -P $2 "$out/$1" | grep -o 'gni_abi_row_[0-9]*' | sort -u
}

all_rows() {
	local got
	got=$({ marks user.c "$user $aries"; marks kernel.c "$kernel $aries"; } | sort -u | wc -l)
	echo "$got are checked"
	[ "$got" -eq "$rows" ]
}

# Without Aries only the statistics of the table that Aries adds go unchecked.
rows_without_aries() {
	local only
	only=$(comm -23 <(marks user.c "$user $aries") <(marks user.c "$user") |
		sed 's/gni_abi_row_//' | while read -r row; do sed -n "${row}p" "$table"; done)
	echo "$only"
	[ "$(grep -c -E 'GNI_STAT_(DLA|FLBTE)_' <<< "$only")" -eq 12 ] &&
		[ "$(wc -l <<< "$only")" -eq 12 ]
}

# alone LANGUAGE STANDARD FLAGS: the header by itself, strictly, included twice.
alone() {
	local flags="-I$include $warn -Wpedantic $3"
	printf '#include "gni_pub.h"\n#include "gni_pub.h"\nint alone;\n' > "$out/alone.c"
	compile "$1" "$2" "$flags" "$out/alone.c" "$out/alone.o" &&
		sed -i '1i #include <stdint.h>' "$out/alone.c" &&
		compile "$1" "$2" "$flags" "$out/alone.c" "$out/alone.o"
}

inline_accessors() {
	compile c gnu11 "-I$include $warn -DGNI_INLINE_CQ_FUNCTIONS -Wno-unused-function" \
		"$out/inline.c" "$out/inline.o" &&
		! compile c gnu11 "-I$include" "$out/inline.c" "$out/inline.o"
}

errno_macro() {
	cat > "$out/errno.c" <<-'END'
	int *errno_location(void);
	#define errno (*errno_location())
	#include "gni_pub.h"
	int get(gni_errno_t *e);
	int get(gni_errno_t *e)
	{
		return e->err + errno;
	}
	END
	compile c gnu11 "$warn $kernel" "$out/errno.c" "$out/errno.o"
}

# differs NAME LANGUAGE FILE FLAGS SED: with one row of the table changed by a
# sed command, the check fails and points to that row.
differs() {
	check "a wrong row is noticed: $1" wrong_row "${@:2}"
}

wrong_row() {
	local dir=$out/wrong log=$out/wrong.log std=gnu11 row
	rm -rf "$dir" && mkdir "$dir" && sed -E "$4" "$table" > "$dir/gni_abi.tsv" || return 1
	row=$({ diff "$table" "$dir/gni_abi.tsv" || true; } | sed -n 's/^\([0-9]*\)c\1$/\1/p')
	[[ $row =~ ^[0-9]+$ ]] || { echo "changed not one row: $4"; return 1; }
	"$PYTHON" "$src/gen.py" "$dir/gni_abi.tsv" "$dir" || return 1
	[ "$1" = c ] || std=gnu++17
	if table_check "$1" "$std" "$3 $aries" "$2" "$dir" > "$log" 2>&1; then
		echo "row $row is wrong and nothing failed"
		return 1
	fi
	grep -q "gni_abi.tsv:$row:" "$log" || { cat "$log"; return 1; }
}

# refused SED: gen.py itself ends at a row that it does not understand.
refused() {
	rm -rf "$out/wrong" && mkdir "$out/wrong" &&
		sed -E "$1" "$table" > "$out/wrong/gni_abi.tsv" &&
		! cmp -s "$table" "$out/wrong/gni_abi.tsv" &&
		! "$PYTHON" "$src/gen.py" "$out/wrong/gni_abi.tsv" "$out/wrong"
}

# undocumented SED: docs.py notices a header changed by a sed command.
undocumented() {
	sed -E "$1" "$header" > "$out/undocumented.h" &&
		! cmp -s "$header" "$out/undocumented.h" &&
		! "$PYTHON" "$src/docs.py" "$out/undocumented.h" "$table"
}

echo "TAP version 13"
check "the table is understood" "$PYTHON" "$src/gen.py" "$table" "$out"
rows=$(grep -c '^[^#]' "$table" || true)
check "every one of the table's $rows rows is checked" all_rows
check "without Aries only its statistics go unchecked" rows_without_aries

for std in gnu89 c99 c11 gnu11; do
	check "user, C, $std" table_check c "$std" "$user $aries" user.c "$out"
done
for std in c++98 c++11 c++17; do
	check "user, C++, $std" table_check c++ "$std" "$user $aries" user.c "$out"
done
check "user, C, c11, without Aries" table_check c c11 "$user" user.c "$out"
check "user, C++, c++11, without Aries" table_check c++ c++11 "$user" user.c "$out"
for std in gnu89 gnu11; do
	check "kernel, C, $std" table_check c "$std" "$kernel $aries" kernel.c "$out"
done
check "kernel, C, gnu11, without Aries" table_check c gnu11 "$kernel" kernel.c "$out"
check "kernel, types as C++ tells them apart" \
	table_check c++ gnu++17 "$kernel $aries" kernel.c "$out"
check "kernel, where errno is a macro" errno_macro

for std in c90 c99 c11; do
	check "with only stdint.h, and alone, C, $std" alone c "$std" "$aries"
done
for std in c++98 c++11 c++17; do
	check "with only stdint.h, and alone, C++, $std" alone c++ "$std" "$aries"
done
check "beside other meanings of IN, OUT and INOUT" alone c c11 "-DIN=1 -DOUT=2 -DINOUT=3"
check "accessors that the program brings" inline_accessors
check "names newer than 0x5c, C, c99" \
	compile c c99 "-I$include $warn -Wpedantic" "$src/client.c" "$out/client.o"
check "names newer than 0x5c, C++, c++11" \
	compile c++ c++11 "-I$include $warn -Wpedantic" "$src/client.c" "$out/client.o"

check "every function and structure is documented" "$PYTHON" "$src/docs.py" "$header" "$table"
check "a missing comment is noticed" undocumented 's/^ \* GNI_EpBind\(\) - .*/ * nothing/'
check "a parameter that the comment leaves out is noticed" \
	undocumented '/^ \* @dlvr_mode: GNI_DLVMODE_\* bits$/d'
check "a function that is missing is noticed" undocumented 's/^(gni_return_t) GNI_CeGetId/\1 other/'

differs "value of an enum" c user.c "$user" 's/(\tGNI_RC_TIMEOUT\t)4$/\15/'
differs "value of an unnamed enum" c user.c "$user" 's/(\tGNI_PKEY_MAX\t)65534$/\165533/'
differs "enum that a value is of" c++ user.c "$user" \
	's/^enum\tgni_ce_child_t(\tGNI_CE_CHILD_PE)/enum\tgni_dev_res_t\1/'
differs "number of statistics" c user.c "$user" 's/(\tGNI_NUM_STATS\t)19$/\120/'
differs "value of a macro" c user.c "$user" 's/(\tGNI_DATAGRAM_MAXSIZE\t)128/\1127/'
differs "type of a macro" c user.c "$user" 's/(\tGNI_CQ_EVENT_TYPE_SMSG\t)0x1ULL/\10x1/'
differs "bit of a macro" c user.c "$user" 's/(\tGNI_ERRMASK_TRANSIENT\t)BIT\(4\)/\1BIT(3)/'
differs "macro with an argument" c user.c "$user" 's/(GNI_GET_MINOR\(value\).*)16/\115/'
differs "macro with three arguments" c user.c "$user" 's/(GNI_VERSION_CHECK.*\| )code/\1min/'
differs "macro that names an accessor" c user.c "$user" \
	's/(\tGNI_CQ_GET_TID\t).*/\1gni_cq_get_msg_id/'
differs "macro that calls an accessor" c user.c "$user" \
	's/(\tGNI_CQ_STATUS_OK.*)gni_cq_get_status/\1gni_cq_get_info/'
differs "macro that changes an event" c user.c "$user" \
	's/(\tGNI_CQ_SET_TYPE.*)gni_cq_set_type/\1gni_cq_set_tid/'
differs "size of a structure" c user.c "$user" 's/^(struct\tgni_job_limits\t)36/\140/'
differs "offset of a field" c user.c "$user" 's/^(field\tgni_post_descriptor\tlength\t)96/\188/'
differs "size of a field" c user.c "$user" 's/^(field.*info_mmrs\[4\]\t16\t)32/\124/'
differs "type of a field" c user.c "$user" 's/^(field.*\tmdd_limit\t.*\t)int32_t/\1uint32_t/'
differs "length of an array" c user.c "$user" 's/^(field\tgni_msgq_ep_attr\tinsts)\[48\]/\1[47]/'
differs "enum type of a field" c++ user.c "$user" \
	's/^(field\tgni_post_descriptor\tamo_cmd\t.*\t)gni_fma_cmd_type_t/\1uint32_t/'
differs "name of a field" c user.c "$user" 's/^(field.*\ta\.m\.)iommu_limit/\1other/'
differs "parameter of a function" c user.c "$user" 's/(\tGNI_EpBind\t.*)uint32_t remote_id/\1uint64_t remote_id/'
differs "enum parameter of a function" c++ user.c "$user" \
	's/(\tGNI_GetNicStat\t.*)gni_statistic_t stat/\1uint32_t stat/'
differs "number of parameters of a function" c user.c "$user" \
	's/(\tGNI_CdmDestroy\t.*)$/\1, int more/'
differs "return type of a function" c user.c "$user" 's/(\tGNI_MsgqSize\t)gni_return_t/\1void/'
differs "function that is not there" c user.c "$user" 's/\tGNI_CeDestroy\t/\tGNI_CeDestroyAll\t/'
differs "function of the other side" c user.c "$user" 's/kernel(\tgni_ep_bind\t)/user\1/'
differs "accessor" c user.c "$user" 's/(\tgni_cq_overrun\t)uint64_t/\1uint32_t/'
differs "kernel function" c kernel.c "$kernel" 's/(\tgni_mem_deregister\t.*)int hold/\1unsigned int hold/'
differs "kernel function's return type" c kernel.c "$kernel" \
	's/(\tgni_get_quiesce_status\t)uint32_t/\1int/'
differs "kernel structure" c kernel.c "$kernel" 's/^(field\tgni_errno\tlineno.*\t)int/\1long/'
differs "range of fields" c kernel.c "$kernel" 's/(\tdata1\.\.data)4/\15/'

check "a row of an unknown kind is refused" refused 's/^enum(\t.*GNI_RC_TIMEOUT)/enumerator\1/'
check "a row that lost a column is refused" refused 's/^(struct\tgni_job_limits)\t36/\1/'

done_checking
