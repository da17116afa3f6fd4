#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Gets the stock kernel that the module is built for into build/vm/: vmlinuz
# and lib/modules/. Prints the folder. Does nothing where it is there already.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

kver=$(kernel_release)
dir=$(kernel_dir "$kver")

unpack_package()
{
	local package=linux-image-$1 tmp=$2 log=$2/apt.log

	echo "fetching kernel package $package" >&2
	# A stale package list names a version that is gone: update, try again.
	(cd "$tmp" && apt_download "$package" >"$log" 2>&1) ||
		(cd "$tmp" && apt-get -q update >>"$log" 2>&1 &&
			apt_download "$package" >>"$log" 2>&1) || {
		tail -n 5 "$log" >&2
		die "no kernel image for headers $1: install the newest headers" \
			"(apt-get install linux-headers-amd64), or name other ones by KDIR="
	}
	dpkg -x "$tmp/$package"_*.deb "$tmp/root"
	rm -f "$tmp/$package"_*.deb
	mv "$tmp/root/boot/vmlinuz-$1" "$tmp/root/vmlinuz"
}

apt_download()
{
	apt-get -q -o Acquire::Retries=3 -o APT::Sandbox::User=root download "$1"
}

copy_installed()
{
	mkdir -p "$2/root/lib/modules"
	cp "/boot/vmlinuz-$1" "$2/root/vmlinuz"
	cp -r "/lib/modules/$1" "$2/root/lib/modules/"
}

if [ ! -e "$dir/vmlinuz" ]; then
	mkdir -p "$VM_BUILD"
	tmp=$(mktemp -d "$VM_BUILD/fetch.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	if [ -r "/boot/vmlinuz-$kver" ] && [ -d "/lib/modules/$kver/kernel" ]; then
		copy_installed "$kver" "$tmp"
	else
		unpack_package "$kver" "$tmp"
	fi
	/sbin/depmod -b "$tmp/root" "$kver"
	chmod 755 "$tmp/root"
	rm -rf "$dir"
	mv "$tmp/root" "$dir"
fi
printf '%s\n' "$dir"
