#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds the debug VM's kernel from Debian's linux-source-6.1 with debug.config,
# and prints the folder in build/vm/ that it is kept in: vmlinuz, lib/modules/
# (a KGNI_VM_KERNEL_DIR), headers/ (a KDIR), vmlinux and its log. Does nothing
# where the same source, configuration and compiler made one already.
#
#	debug-kernel.sh [debug | kcsan]
#
# kcsan: what kcsan.config says goes before debug.config.
set -euo pipefail
# shellcheck source=tests/vm/env.sh
. "$(dirname "$0")/env.sh"

package=linux-source-6.1
tarball=/usr/src/$package.tar.xz
variant=${1:-debug}
configs=("$VM_SRC/debug.config")
case $variant in
debug) ;;
kcsan) configs+=("$VM_SRC/kcsan.config") ;;
*) die "unknown kernel '$variant': debug or kcsan" ;;
esac

# What an x86 kernel without most drivers leaves out of the source tree, but for
# the Kconfig files, which name each other.
unused=('arch/[!x]*.[chS]' '*.dts' '*.dtsi' 'Documentation/*.*' 'drivers/gpu/*.[ch]' 'drivers/media/*.[ch]'
	'drivers/net/ethernet/*.[ch]' 'drivers/net/wireless/*.[ch]' 'drivers/scsi/*.[ch]'
	'drivers/staging/*.[ch]' 'drivers/usb/*.[ch]' 'sound/*.[ch]' tools/perf tools/testing)

key()
{
	{
		dpkg-query -W "$package" 2>/dev/null || die "no $package: tests/vm/deps.sh debug"
		gcc -dumpfullversion
		cat "${configs[@]}"
	} | sha256sum | cut -c 1-12
}

# merge_configs FILE...: the last word on each option. One that is switched off
# late takes those that are named after it along (KASAN: KASAN_INLINE).
merge_configs()
{
	awk '
	/^CONFIG_/ { name = substr($0, 1, index($0, "=") - 1) }
	/^# CONFIG_.* is not set$/ { name = $2; if (FILENAME != ARGV[1]) off[name] = 1 }
	/^(# )?CONFIG_/ { if (!(name in text)) order[++n] = name; text[name] = $0 }
	END {
		for (i = 1; i <= n; i++) {
			drop = 0
			for (name in off)
				drop = drop || index(order[i], name "_") == 1
			if (!drop)
				print text[order[i]]
		}
	}' "$@"
}

# An option that the fragments ask for and the kernel has no more, or not
# without another one, would be left out in silence.
check_config()
{
	local line name bad=0

	while read -r line; do
		case $line in
		CONFIG_*) name=${line%%=*} ;;
		*) name=${line#\# } && name=${name%% *} ;;
		esac
		grep -qxF "$line" .config && continue
		[[ $line == "#"* ]] && ! grep -q "^$name=" .config && continue
		echo "wanted: '$line', but the kernel says '$(grep -w "$name" .config)'"
		bad=1
	done <"$1"
	return $bad
}

# Chained, since its caller looks at the status.
build()
{
	tar xJf "$tarball" --strip-components=1 "${unused[@]/#/--exclude=$package/}" &&
		merge_configs "${configs[@]}" >wanted.config &&
		make -s KCONFIG_ALLCONFIG=wanted.config allnoconfig &&
		check_config wanted.config &&
		nice make -s -j"$(nproc)" bzImage modules &&
		make -s INSTALL_MOD_PATH="$1" modules_install &&
		rm -f "$1"/lib/modules/*/{build,source} &&
		cp vmlinux "$1/" &&
		cp "$(make -s image_name)" "$1/vmlinuz" &&
		keep_headers "$1/headers"
}

# What building a module against this kernel reads; see the kernel's own
# scripts/package/builddeb.
keep_headers()
{
	mkdir "$1"
	{
		find . arch/x86 -maxdepth 1 -name 'Makefile*'
		find include scripts arch/x86/include -type f -o -type l
		echo arch/x86/Kbuild
		echo tools/objtool/objtool
		echo Module.symvers
		echo .config
	} | tar c --no-recursion -T - | tar x -C "$1"
}

dir=$VM_BUILD/$variant-$(key)
if [ ! -e "$dir/vmlinuz" ]; then
	mkdir -p "$VM_BUILD"
	exec 9>"$VM_BUILD/$variant.lock"
	flock 9
fi
if [ ! -e "$dir/vmlinuz" ]; then
	echo "building the $variant kernel, once (log: ${dir#"$TOP/"}.log)" >&2
	rm -rf "$VM_BUILD/$variant.build" "$VM_BUILD/$variant"-*.new
	mkdir "$VM_BUILD/$variant.build" "$dir.new"
	started=$SECONDS
	(cd "$VM_BUILD/$variant.build" && build "$dir.new") >"$dir.log" 2>&1 9>&- || {
		tail -n 30 "$dir.log" >&2
		die "the $variant kernel does not build"
	}
	rm -rf "$VM_BUILD/$variant.build"
	mv "$dir.log" "$dir.new/build.log"
	mv "$dir.new" "$dir"
	echo "built it in $((SECONDS - started)) s" >&2
fi
printf '%s\n' "$dir"
