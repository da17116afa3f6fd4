#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs into a folder of its own, builds the program of Documentation/ and the
# module of tests/client/ against what is there and nothing else, and uninstalls.
# Prints TAP.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

dest=$(mktemp -d)
trap 'rm -rf "$dest"' EXIT
tree=$dest/tree

make_var()
{
	make -s "print-$1"
}

installed_pc()
{
	PKG_CONFIG_SYSROOT_DIR=$tree PKG_CONFIG_LIBDIR=$tree$libdir/pkgconfig \
		PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 pkg-config "$@"
}

# build_hello PACKAGE: from elsewhere, so that nothing of this tree is at hand.
build_hello()
{
	local flags

	flags=$(installed_pc --cflags --libs "$1")
	cp Documentation/hello_gni.c "$dest/"
	# shellcheck disable=SC2086
	(cd "$dest" && "${CC:-gcc}" -Wall -Wextra -Werror -o "hello-$1" hello_gni.c $flags)
}

# Where there is no NIC it says so, and ends.
run_hello()
{
	local output status=0

	output=$(LD_LIBRARY_PATH=$tree$libdir "$dest/hello-$1" 2>&1) || status=$?
	printf '%s\n' "$output"
	[ "$status" = 0 ] || { [ "$status" = 1 ] && [[ $output == *GNI_RC_* ]]; }
}

# The library that it found is the one that was installed.
links_installed()
{
	LD_LIBRARY_PATH=$tree$libdir ldd "$dest/hello-$1" | grep -F "$tree$libdir/libugni.so"
}

# Where a kernel client finds what it needs.
kernel_src()
{
	local src

	src=$(installed_pc --variable=kernelsrcdir cray-gni-headers)
	printf '%s\n' "$tree${src#"$tree"}"
}

# build_client: a kernel module, from elsewhere too.
build_client()
{
	local src

	src=$(kernel_src)
	cp -r tests/client "$dest/"
	make -C "$(make_var KDIR)" M="$dest/client" GNI_CFLAGS="-I$src/include" \
		KBUILD_EXTRA_SYMBOLS="$src/symvers/$(make_var KVER)/Module.symvers" modules
}

# It knows the versions of the symbols that it uses, and they are those of kgni.ko.
client_has_versions()
{
	local src crc name used=0

	src=$(kernel_src)
	while read -r crc name; do
		case $name in
		gni_* | kgni_*)
			grep -q "^$crc	$name	" "$src/symvers/$(make_var KVER)/Module.symvers" ||
				return 1
			used=$((used + 1))
			;;
		esac
	done < <(/sbin/modprobe --dump-modversions "$dest/client/gni_hello.ko")
	[ "$used" -ge 4 ]
}

all_headers()
{
	local header bad=0

	for header in include/*.h; do
		cmp "$header" "$tree$prefix/$header" || bad=1
	done
	for header in include/uapi/gni/*.h; do
		cmp "$header" "$tree$prefix/include/gni/${header##*/}" || bad=1
	done
	return "$bad"
}

# Everything that has a page is there, with its page.
all_tools()
{
	local tool bad=0

	for tool in $(make_var TOOLS); do
		[ -x "$tree$prefix/bin/${tool##*/}" ] || { echo "no ${tool##*/}" && bad=1; }
	done
	diff <({ find Documentation/man -name '*.[1-9]' -printf '%f\n' &&
		Documentation/gen-man.sh --list; } | sort) \
		<(find "$tree$prefix/share/man" -type f -printf '%f\n' | sort) || bad=1
	return "$bad"
}

# Output of find: nothing, or it fails and shows it.
none()
{
	local found

	found=$(find "$tree" "$@")
	printf '%s\n' "$found"
	[ -z "$found" ]
}

names_no_build_folder()
{
	! grep -rIlF "$PWD" "$tree"
}

run_checks()
{
	local package

	check "make ${targets[*]}" make "${targets[@]}" DESTDIR="$tree"
	check "the library has its names" \
		test -e "$tree$libdir/libugni.so" -a -e "$tree$libdir/libugni.a"
	check "all headers are there" all_headers
	check "tools and pages are there" all_tools
	check "everybody may read it all" none ! -type l ! -perm -444
	check "nobody may write to it" none ! -type l -perm /022
	check "nothing names the folder of the build" names_no_build_folder
	for package in cray-ugni libugni; do
		check "hello_gni.c builds by $package.pc" build_hello "$package"
		check "it uses what was installed" links_installed "$package"
		check "it runs" run_hello "$package"
	done
	if [ "${targets[*]}" = install ]; then
		check "a kernel client builds" build_client
		check "it has the versions of the symbols of kgni.ko" client_has_versions
	fi
	check "make uninstall" make uninstall DESTDIR="$tree"
	check "and nothing is left" none ! -type d
	done_checking
}

prefix=$(make_var PREFIX)
libdir=$(make_var LIBDIR)
# Without the headers of a kernel there is no module.
targets=(install-user install-source)
[ -z "$(make_var KVER)" ] || targets=(install)
run_checks
