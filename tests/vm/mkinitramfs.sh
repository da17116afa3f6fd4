#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes the VM's initramfs: busybox, bash, kmod, programs for networking, kgni.ko,
# gnip.ko, what the build made for the VM, and the test files.
#
#	mkinitramfs.sh -o OUT.cpio [--modules "NAME..."] [--file SRC:DST]...
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

out=
modules=
files=()
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2 ;;
	--modules) modules=$2 ;;
	--file) files+=("$2") ;;
	*) die "unknown argument '$1'" ;;
	esac
	shift 2
done
[ -n "$out" ] || die "no -o"

kver=$(kernel_release)
kdir=$(kernel_dir "$kver")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# The shared libraries of a program, except ours, which stands in /usr/lib.
add_libs()
{
	local lib

	{ ldd "$@" 2>/dev/null || true; } |
		sed -nE 's/^\t(.* => )?(\/[^ ]+) \(.*/\2/p' | sort -u |
		while read -r lib; do
			case $lib in
			*/libugni.so*) continue ;;
			esac
			[ -e "$root$lib" ] && continue
			mkdir -p "$root${lib%/*}"
			cp -L "$lib" "$root$lib"
		done
}

add_programs()
{
	local dst=$root$1

	shift
	[ $# -gt 0 ] || return 0
	mkdir -p "$dst"
	cp -L "$@" "$dst/"
	add_libs "$@"
}

add_base()
{
	local applet busybox

	mkdir -p "$root"/{dev,proc,sys,tmp,run,root,etc,t,vm,usr/{bin,sbin,lib,lib64}}
	mkdir -p "$root/home/user"
	chmod 1777 "$root/tmp"
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	busybox=$(command -v busybox) || die "no busybox"
	cp "$busybox" "$root/usr/bin/busybox"
	for applet in $("$busybox" --list); do
		case $applet in
		busybox) ;;
		*) ln -s busybox "$root/usr/bin/$applet" ;;
		esac
	done
	rm -f "$root"/usr/bin/{insmod,rmmod,modprobe,modinfo,depmod,lsmod}
	add_programs /usr/bin "$(command -v bash)" "$(command -v jq)"
	add_programs /usr/sbin "$(command -v kmod || echo /bin/kmod)"
	for applet in insmod rmmod modprobe modinfo depmod lsmod; do
		ln -s kmod "$root/usr/sbin/$applet"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n' \
		>"$root/etc/passwd"
	printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
	install -m 755 "$VM_SRC/init" "$root/init"
	install -m 644 "$VM_SRC/guest-run.sh" "$root/vm/guest-run.sh"
}

# Of these networking programs busybox has none, or lesser ones; those of sbin come first.
add_network()
{
	local name

	for name in ip ping iperf3 ethtool dropbear dropbearkey dbclient; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$name" || die "no $name: tests/vm/deps.sh vm"
	done | {
		mapfile -t paths
		add_programs /usr/sbin "${paths[@]}"
	}
}

# Kernel modules with what they depend on, ours, and those of tests if they are built,
# without debug information: it makes up most of them, and of the time to load them.
add_modules()
{
	local moddir=lib/modules/$kver name path

	mkdir -p "$root/$moddir/extra"
	cp "$kdir/$moddir"/modules.{order,builtin,builtin.modinfo} "$root/$moddir/"
	for name in $modules; do
		/sbin/modprobe -d "$kdir" -S "$kver" --show-depends "$name" ||
			die "kernel $kver has no module '$name'"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r path; do
		install -D -m 644 "$path" "$root${path#"$kdir"}"
	done
	for path in "$BUILD/kmod/$kver"/{kgni,gnip}.ko "$BUILD/kunit/$kver/kgni_test.ko" \
		"$BUILD/kmodtest/$kver"/*.ko; do
		[ ! -e "$path" ] || strip -g -o "$root/$moddir/extra/${path##*/}" "$path"
	done
	/sbin/depmod -b "$root" "$kver"
}

shopt -s nullglob
add_base
add_network
add_modules
add_programs /usr/lib "$BUILD"/lib/libugni.so.0
add_programs /usr/bin "$BUILD"/tools/*
add_programs /t/bin "$BUILD"/tests/vm/*
add_programs /usr/lib/kgni-examples "$BUILD"/examples/*
install -D -m 644 "$TOP/tools/gnictl.bash" "$root/usr/share/bash-completion/completions/gnictl"
cp -r "$VM_SRC/tests" "$root/t/tests"
chmod -R a+rX "$root/t"
for file in "$root"/t/tests/*.sh; do
	chmod 755 "$file"
done
for file in "${files[@]}"; do
	mkdir -p "$root$(dirname "${file#*:}")"
	cp -rL "${file%%:*}" "$root${file#*:}"
done
ldconfig -r "$root" 2>/dev/null || true

mkdir -p "$(dirname "$out")"
(cd "$root" && find . -print0 | sort -z |
	cpio --null --quiet -o -H newc -R 0:0) >"$out.tmp"
mv "$out.tmp" "$out"
