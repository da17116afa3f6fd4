#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Everything that judges the sources without running them; prints TAP, and after
# a failed step what the tools found.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/vm/env.sh"
# shellcheck source=tests/cases.sh
. "$TOP/tests/cases.sh"
cd "$TOP"

# What checkpatch may not complain about:
# CAMELCASE, NEW_TYPEDEFS: Cray's names, GNI_CdmCreate and gni_cq_handle_t.
# PREFER_KERNEL_TYPES: the interface has C's uint32_t.
# CONST_STRUCT, FILE_PATH_CHANGES: they are about the kernel's own tree.
ignored=CAMELCASE,NEW_TYPEDEFS,PREFER_KERNEL_TYPES
ignored+=,CONST_STRUCT,FILE_PATH_CHANGES
# And where user space compiles too:
# it lacks the kernel's headers with __packed, pr_err(), ARRAY_SIZE(), BIT(),
# READ_ONCE(), fallthrough and one atomic API for all architectures;
# REPEATED_WORD takes "enum layout layout" for prose, and EMBEDDED_FUNCTION_NAME
# a file's name for the function's.
ignored_user=$ignored,PREFER_DEFINED_ATTRIBUTE_MACRO,PREFER_PR_LEVEL,ARRAY_SIZE
ignored_user+=,BIT_MACRO,VOLATILE,PREFER_FALLTHROUGH,MACRO_ARG_REUSE,ARCH_DEFINES
ignored_user+=,REPEATED_WORD,EMBEDDED_FUNCTION_NAME
# In tests macros make tables, loops and whole functions, which checkpatch does
# not see through.
ignored_tests=$ignored_user,COMPLEX_MACRO,SUSPECT_CODE_INDENT,LINE_SPACING

# Tracepoints are laid out in a way of their own.
ignored_trace=$ignored,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE

checkpatch_dir=$BUILD/checkpatch
source_tar=usr/src/linux-source-6.1.tar.xz

# The project's files: what git knows or would add, so nothing that is ignored.
sources()
{
	git ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while read -r file; do
			[ ! -f "$file" ] || printf '%s\n' "$file"
		done
}

spdx()
{
	local file bad=0

	while read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' ||
			{ echo "$file: no SPDX line" && bad=1; }
	done < <(sources '*.c' '*.h' '*.sh' '*.in' '*.map' '*.mk' '*.rules' '*.py' \
		'*.awk' Makefile Kbuild .ci/run tests/vm/init)
	return $bad
}

# The source package's tarball, from the package if that isn't installed.
source_tarball()
{
	local tmp

	if [ -r "/$source_tar" ]; then
		cat "/$source_tar"
		return
	fi
	tmp=$(mktemp -d)
	(cd "$tmp" && { apt_download || { apt-get -q update && apt_download; }; }) >&2 &&
		dpkg --fsys-tarfile "$tmp"/*.deb | tar xO "./$source_tar"
	rm -rf "$tmp"
}

apt_download()
{
	apt-get -q -o Acquire::Retries=3 -o APT::Sandbox::User=root download linux-source-6.1
}

# Only its three files: the whole tree is large. tar stops reading when it has
# them, so the one who writes to it may end by SIGPIPE.
get_checkpatch()
{
	local dir=$checkpatch_dir names

	[ ! -x "$dir/checkpatch.pl" ] || return 0
	rm -rf "$dir" "$dir.new"
	mkdir -p "$dir.new"
	names=(linux-source-6.1/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch})
	source_tarball 2>"$dir.new/log" |
		tar xJ -C "$dir.new" --strip-components=2 --occurrence=1 "${names[@]}" || true
	if [ ! -x "$dir.new/checkpatch.pl" ]; then
		cat "$dir.new/log"
		return 1
	fi
	mkdir "$dir.new/include"
	mv "$dir.new" "$dir"
}

# run_checkpatch IGNORED FILE...; not in the source tree, where it would leave
# a cache file.
run_checkpatch()
{
	local types=$1

	shift
	[ $# -gt 0 ] || return 0
	(cd "$checkpatch_dir" && ./checkpatch.pl --no-tree --root=. --strict --terse --show-types \
		--quiet --no-summary --ignore "$types" -f "${@/#/$TOP/}") | sed "s|^$TOP/||"
}

checkpatch()
{
	local kernel user tests bad=0

	get_checkpatch || return
	mapfile -t kernel < <(sources 'kernel/*.[ch]' | grep -v -e '^kernel/core/' -e /trace.h)
	mapfile -t user < <(sources 'include/*.h' 'kernel/core/*.[ch]' 'lib/*.[ch]' \
		'tools/*.[ch]' 'Documentation/*.c')
	mapfile -t tests < <(sources 'tests/*.[ch]')
	run_checkpatch "$ignored" "${kernel[@]}" || bad=1
	run_checkpatch "$ignored_trace" kernel/trace.h || bad=1
	run_checkpatch "$ignored_user" "${user[@]}" || bad=1
	run_checkpatch "$ignored_tests" "${tests[@]}" || bad=1
	return $bad
}

# A warning of the compiler or of sparse fails this; a tree of its own, so that
# all of it is compiled.
module_warnings()
{
	local dir=$BUILD/lint/kmod log=$BUILD/lint/module.log

	rm -rf "$dir"
	mkdir -p "$dir"
	make -j"$(nproc)" KMOD_DIR="$dir" KMOD_ARGS="W=1 C=2" module >"$log" 2>&1 ||
		{ cat "$log" && return 1; }
	! grep -E 'warning:|error:' "$log"
}

# The stock kernel has no KUnit to link them with, but its headers.
kunit_compiles()
{
	local log=$BUILD/lint/kunit.log

	make -j"$(nproc)" KUNIT_DIR="$BUILD/lint/kunit" HAVE_KUNIT=y \
		KMOD_ARGS=KBUILD_MODPOST_WARN=1 kunit >"$log" 2>&1 || { cat "$log" && return 1; }
	! grep -E 'warning:|error:' "$log"
}

user_warnings()
{
	make -j"$(nproc)" B=build/lint WERROR=1 lib tools tests tests-fuzz
}

scripts()
{
	local files

	mapfile -t files < <({
		sources '*.sh' .ci/run tests/vm/init
		sources | grep -v '\.[a-z]*$' | while read -r file; do
			! head -c 30 "$file" | head -n 1 | tr -d '\0' | grep -qE '^#!.*sh$' ||
				printf '%s\n' "$file"
		done
	} | sort -u)
	# SC2012, SC2119: ls of device nodes; functions with optional arguments.
	shellcheck -x -e SC2012,SC2119 -P SCRIPTDIR -P . "${files[@]}"
}

check "every source file names its licence" spdx
check "shellcheck" scripts
check "checkpatch" checkpatch
check "what different CPUs write lies in lines of its own" tests/lines.sh
check "module: sparse and W=1 find nothing" module_warnings
check "KUnit suites compile" kunit_compiles
check "library, tools and tests compile with -Werror" user_warnings
done_checking
