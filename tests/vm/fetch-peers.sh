#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Gets what `make bench` compares with into build/vm/peers/: UCX, libfabric, perftest
# and what they need, as Debian packages that are unpacked there and not installed.
# Prints the folder. Does nothing where it is there already.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

dir=$VM_BUILD/peers
packages=(ucx-utils libfabric-bin perftest ibverbs-providers ibverbs-utils libibverbs-dev)

# All that they depend on, whatever is installed here.
download()
{
	apt-get -q -y -o Acquire::Retries=3 -o APT::Sandbox::User=root \
		-o Dir::State::status=/dev/null -o Dir::Cache::archives="$1" \
		-o Debug::NoLocking=1 --no-install-recommends --download-only \
		install "${packages[@]}"
}

# What the guest has from this machine stays out, and what only installing needs.
unpack()
{
	local deb

	for deb in "$1"/*.deb; do
		case ${deb##*/} in
		libc6_* | libc6-dev_* | linux-libc-dev_* | gcc-*-base_* | libgcc-s1_* | libcrypt* | \
			adduser_* | passwd_* | debconf_* | libpam* | libsemanage* | libaudit*) ;;
		*) dpkg -x "$deb" "$2" ;;
		esac
	done
	# An alternatives link, which installing would have made.
	ln -s ../libpsm1/libpsm_infinipath.so.1.16 \
		"$2/usr/lib/$(gcc -print-multiarch)/libpsm_infinipath.so.1"
	# One folder for libraries.
	cp -a "${2:?}/lib/." "$2/usr/lib/"
	rm -rf "${2:?}/lib" "${2:?}/usr/share"
}

if [ ! -d "$dir" ]; then
	mkdir -p "$VM_BUILD"
	tmp=$(mktemp -d "$VM_BUILD/fetch.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	mkdir -p "$tmp/debs/partial" "$tmp/root"
	echo "fetching ${packages[*]}" >&2
	if ! download "$tmp/debs" >"$tmp/log" 2>&1; then
		apt-get -q update >>"$tmp/log" 2>&1 || true
		download "$tmp/debs" >>"$tmp/log" 2>&1 ||
			{ tail -n 10 "$tmp/log" >&2 && die "cannot fetch what is compared with"; }
	fi
	unpack "$tmp/debs" "$tmp/root"
	chmod 755 "$tmp/root"
	mv "$tmp/root" "$dir"
fi
printf '%s\n' "$dir"
