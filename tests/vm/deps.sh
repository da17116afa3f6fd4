#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs the Debian packages that the build, the VM tests and the lint step
# need. Leaves apt alone where everything is there already.
#
#	tests/vm/deps.sh [build] [vm] [debug] [coverage] [lint] [fuzz]
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

build_packages=(gcc g++ python3 libc6-dev make kmod libcmocka-dev libssl-dev libnl-3-dev
	libnl-genl-3-dev util-linux pkgconf groff-base)
vm_packages=(make qemu-system-x86 busybox-static bash cpio kmod jq iproute2 iputils-ping
	iperf3 ethtool dropbear-bin)
debug_packages=(linux-source-6.1 bc bison flex libelf-dev xz-utils)
coverage_packages=(gcovr python3)
lint_packages=(git sparse shellcheck perl xz-utils dwarves)
fuzz_packages=(clang libclang-rt-14-dev)

have_package()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root()
{
	[ "$(id -u)" = 0 ] || die "not root; install by hand: $*"
}

apt()
{
	DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# A machine that never ran 'apt-get update', or not lately, knows no packages
# or old ones: then update and try again.
install()
{
	as_root "$@"
	echo "deps: installing $*"
	apt install -y --no-install-recommends "$@" >"$log" 2>&1 && return
	apt update >>"$log" 2>&1 || true
	apt install -y --no-install-recommends "$@" >>"$log" 2>&1 && return
	tail -n 30 "$log" >&2
	die "apt-get could not install: $*"
}

image_known()
{
	[ -n "$(apt-cache show --no-all-versions "linux-image-$1" 2>/dev/null)" ]
}

# The VM boots the kernel that the module is built for. Debian drops images of
# older ABI names; then newer headers are needed, for which there is one.
check_image()
{
	local kver

	kver=$(make_var KVER)
	if [ -e "$(kernel_dir "$kver")/vmlinuz" ] || [ -e "/boot/vmlinuz-$kver" ] ||
		[ -n "${KDIR:-}" ] || image_known "$kver"; then
		return
	fi
	as_root "linux-headers-amd64"
	apt update >"$log" 2>&1 || true
	image_known "$kver" || install linux-headers-amd64
}

packages=()
modes=${*:-build vm lint}
for mode in $modes; do
	case $mode in
	build) packages+=("${build_packages[@]}") ;;
	vm) packages+=("${vm_packages[@]}") ;;
	debug) packages+=("${debug_packages[@]}") ;;
	coverage) packages+=("${coverage_packages[@]}") ;;
	lint) packages+=("${lint_packages[@]}") ;;
	fuzz) packages+=("${fuzz_packages[@]}") ;;
	*) die "unknown mode '$mode': build, vm, debug, coverage, lint or fuzz" ;;
	esac
done

missing=()
for package in $(printf '%s\n' "${packages[@]}" | sort -u); do
	have_package "$package" || missing+=("$package")
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ ${#missing[@]} = 0 ] || install "${missing[@]}"
[ -n "$(make_var KVER)" ] || install linux-headers-amd64
case " $modes " in
*" vm "*) check_image ;;
esac
