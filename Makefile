# SPDX-License-Identifier: GPL-2.0-only
# kgni: kernel module, user library, tools and tests. `make help` tells more.

VERSION := 0.1.0
# The shared library's file name; its soname is Cray's, libugni.so.0.
LIBUGNI_VERSION := 0.6.0

TOP := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
# Where products go. `make lint` builds a second time elsewhere.
B ?= build

ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS ?= -O2 -g
PREFIX ?= /usr
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(2)')

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all
all: module lib tools tests man

# --- the kernel to build for --------------------------------------------------

newest_headers = $(shell ls -d /usr/src/linux-headers-6.1.*-amd64 2>/dev/null | \
	grep -E '/linux-headers-6\.1\.[0-9]+-[0-9]+-amd64$$' | sort -V | tail -n 1)
ifeq ($(origin KDIR),undefined)
KDIR := $(patsubst %/Makefile,%,$(wildcard /lib/modules/$(shell uname -r)/build/Makefile))
ifeq ($(KDIR),)
KDIR := $(newest_headers)
endif
endif
# Not kernel.release: in Debian's headers that isn't the ABI name.
KVER := $(if $(KDIR),$(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"/\1/p' \
	'$(KDIR)/include/generated/utsrelease.h' 2>/dev/null))

KMOD_DIR ?= $(B)/kmod/$(if $(KVER),$(KVER),none)

# --- module -------------------------------------------------------------------

# Kbuild puts objects beside sources, so it gets a tree of links to them. It
# keeps track of what changed by itself.
.PHONY: module
# Kbuild chooses its own compiler: CC= and the like are for user space.
module: MAKEOVERRIDES :=
module:
	$(if $(KVER),,$(error no kernel headers found: `make deps` installs them, KDIR= names a prepared kernel build tree))
	$(Q)mkdir -p '$(KMOD_DIR)'
	$(Q)ln -sfn '$(TOP)/Kbuild' '$(KMOD_DIR)/Kbuild'
	$(Q)ln -sfn '$(TOP)/include' '$(KMOD_DIR)/include'
	$(Q)cp -rsnT '$(TOP)/kernel' '$(KMOD_DIR)/kernel'
	$(Q)find '$(KMOD_DIR)/kernel' -xtype l -delete
	$(Q)$(MAKE) -C '$(KDIR)' $(if $(V),V=$(V)) M='$(abspath $(KMOD_DIR))' KGNI_VERSION=$(VERSION) \
		$(if $(filter 1,$(WERROR)),KGNI_WERROR=y) $(KMOD_ARGS) modules

# KUnit suites linked with the driver's objects, where the kernel has KUnit.
KUNIT_DIR ?= $(B)/kunit/$(if $(KVER),$(KVER),none)
HAVE_KUNIT = $(shell grep -s '^CONFIG_KUNIT=' '$(KDIR)/include/config/auto.conf')

.PHONY: kunit
kunit: MAKEOVERRIDES :=
kunit:
ifeq ($(HAVE_KUNIT),)
	$(call say,SKIP,kgni_test.ko: no KUnit in $(KDIR))
else
	$(Q)mkdir -p '$(KUNIT_DIR)/tests'
	$(Q)ln -sfn '$(TOP)/tests/kunit/Kbuild' '$(KUNIT_DIR)/Kbuild'
	$(Q)ln -sfn '$(TOP)/include' '$(KUNIT_DIR)/include'
	$(Q)cp -rsnT '$(TOP)/kernel' '$(KUNIT_DIR)/kernel'
	$(Q)cp -rsnT '$(TOP)/tests/kunit' '$(KUNIT_DIR)/tests/kunit'
	$(Q)find '$(KUNIT_DIR)' -xtype l -delete
	$(Q)$(MAKE) -C '$(KDIR)' $(if $(V),V=$(V)) M='$(abspath $(KUNIT_DIR))' KGNI_VERSION=$(VERSION) \
		$(if $(filter 1,$(WERROR)),KGNI_WERROR=y) $(KMOD_ARGS) modules
endif

# Clients of the kernel interface, for tests. They see what other modules see:
# gni_pub.h and the symbols of kgni.ko.
KMODTEST_DIR ?= $(B)/kmodtest/$(if $(KVER),$(KVER),none)

.PHONY: kmodtest
kmodtest: MAKEOVERRIDES :=
kmodtest: module
	$(Q)mkdir -p '$(KMODTEST_DIR)/include'
	$(Q)cp -rsnT '$(TOP)/tests/kmod' '$(KMODTEST_DIR)'
	$(Q)ln -sfn '$(TOP)/include/gni_pub.h' '$(KMODTEST_DIR)/include/gni_pub.h'
	$(Q)ln -sfn '$(TOP)/include/uapi' '$(KMODTEST_DIR)/include/uapi'
	$(Q)find '$(KMODTEST_DIR)' -xtype l -delete
	$(Q)rm -f '$(KMODTEST_DIR)/Module.symvers'
	$(Q)$(MAKE) -C '$(KDIR)' $(if $(V),V=$(V)) M='$(abspath $(KMODTEST_DIR))' \
		KBUILD_EXTRA_SYMBOLS='$(abspath $(KMOD_DIR))/Module.symvers' \
		$(if $(filter 1,$(WERROR)),KGNI_WERROR=y) $(KMOD_ARGS) modules

# --- user space: flags and rules ------------------------------------------------

CORE_SRCS := $(wildcard kernel/core/*.c)
LIB_SRCS := $(strip $(wildcard lib/*.c) $(CORE_SRCS))
TOOL_COMMON := $(wildcard tools/common*.c)
# gnictl and gni_perf consist of several files.
GNICTL_PARTS := $(wildcard tools/gnictl_*.c)
PERF_PARTS := $(wildcard tools/gni_perf_*.c)
TOOL_SRCS := $(filter-out $(TOOL_COMMON) $(GNICTL_PARTS) $(PERF_PARTS),$(wildcard tools/*.c))
UNIT_COMMON := $(wildcard tests/unit/common*.c)
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
FUZZ_SRCS := $(wildcard tests/fuzz/fuzz_*.c)
VM_COMMON := $(wildcard tests/vm/progs/common*.c)
VM_SRCS := $(filter-out $(VM_COMMON),$(wildcard tests/vm/progs/*.c))

# Per-program extras: TOOL_LIBS_<tool>, and for tests/unit/test_x.c
# UNIT_CFLAGS_test_x, UNIT_LDFLAGS_test_x, UNIT_LIBS_test_x (in unit.mk).
VM_LIBS_ce := -lm
VM_LIBS_ce_tree := -lm
VM_LIBS_ce_death := -lm
TOOL_LIBS_gnicp := -lcrypto
TOOL_LIBS_gni_perf := -lm
TOOL_LIBS_gnictl := -lnl-genl-3 -lnl-3
-include tests/unit/unit.mk
# Unit tests that are built and run a second time, under ThreadSanitizer.
TSAN_TESTS ?= $(patsubst tests/unit/%.c,%,$(if $(UNIT_SRCS),$(shell grep -l pthread_create $(UNIT_SRCS))))

INCLUDES := -Iinclude -Iinclude/uapi -Ikernel
base_cflags := -std=gnu11 $(CFLAGS) -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) \
	-D_GNU_SOURCE -DCRAY_CONFIG_GHAL_ARIES -DKGNI_VERSION='"$(VERSION)"' $(INCLUDES)
depflags = -MMD -MP -MF $(@:.o=.d)
asan_cflags := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# The fuzz targets' compiler has libFuzzer.
FUZZ_CC ?= clang
fuzz_sanitize := address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# TSan does not model fences; what it makes of the ring's is for its tests to say.
tsan_cflags := -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan

# Objects depend on this file, which changes when the flags do.
FLAGS_FILE := $(B)/.flags
flags_now := $(CC) $(base_cflags) $(CPPFLAGS) $(LDFLAGS)
$(FLAGS_FILE): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(flags_now))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(flags_now))' > $@
.PHONY: FORCE
FORCE:

objs = $(patsubst %.c,$(B)/$(1)/%.o,$(2))
lib_objs := $(call objs,obj,$(LIB_SRCS))
$(lib_objs): extra_cflags := -fPIC -fvisibility=hidden
$(call objs,obj,$(wildcard tests/vm/progs/*.c)): extra_cflags := -Itests/vm/progs
$(call objs,obj,$(wildcard tools/*.c)): extra_cflags := -Itools
# What it measures are calls of the library.
$(call objs,obj,$(wildcard tools/gni_perf*.c)): extra_cflags := -Itools -fno-plt
$(call objs,obj,$(wildcard tools/gnictl*.c)): extra_cflags := -Itools -isystem /usr/include/libnl3

$(B)/obj/%.o: %.c Makefile $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(base_cflags) $(CPPFLAGS) $(extra_cflags) $(depflags) -c -o $@ $<

unit_cflags = -Ilib -Itests/unit $(UNIT_CFLAGS_$(basename $(notdir $<)))
$(B)/asan/%.o: %.c Makefile $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC ASAN,$<)
	$(Q)$(CC) $(base_cflags) $(CPPFLAGS) $(asan_cflags) $(unit_cflags) $(depflags) -c -o $@ $<

$(B)/tsan/%.o: %.c Makefile $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC TSAN,$<)
	$(Q)$(CC) $(base_cflags) $(CPPFLAGS) $(tsan_cflags) $(unit_cflags) $(depflags) -c -o $@ $<

$(B)/fuzz/obj/%.o: %.c Makefile $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC FUZZ,$<)
	$(Q)$(FUZZ_CC) $(base_cflags) $(CPPFLAGS) -fsanitize=fuzzer-no-link,$(fuzz_sanitize) \
		-Ilib -Itests/unit -Itests/fuzz $(depflags) -c -o $@ $<

$(B)/%.a:
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# --- library ------------------------------------------------------------------

LIB_MAP := $(wildcard lib/libugni.map)
LIB_REAL := libugni.so.$(LIBUGNI_VERSION)
LIB_PRODUCTS := $(if $(LIB_SRCS),$(addprefix $(B)/lib/,libugni.a libugni.so libugni.so.0 $(LIB_REAL)))

.PHONY: lib
lib: $(LIB_PRODUCTS)

$(B)/lib/libugni.a: $(lib_objs)

$(B)/lib/$(LIB_REAL): $(lib_objs) $(LIB_MAP)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libugni.so.0 -Wl,-z,defs \
		$(addprefix -Wl$(comma)--version-script=,$(LIB_MAP)) -o $@ $(lib_objs) -lpthread
comma := ,

$(B)/lib/libugni.so $(B)/lib/libugni.so.0: $(B)/lib/$(LIB_REAL)
	$(Q)ln -sf $(LIB_REAL) $@

# --- tools --------------------------------------------------------------------

# From bin/ the library is at ../lib, in the build tree as when installed.
TOOLS := $(patsubst tools/%.c,$(B)/tools/%,$(TOOL_SRCS))
ugni_dep := $(if $(LIB_SRCS),$(B)/lib/libugni.so)
ugni_link := -Wl,--as-needed $(if $(LIB_SRCS),-L$(B)/lib -lugni)

.PHONY: tools
tools: $(TOOLS)

# What programs share is in archives: each takes what it uses.
tool_common := $(if $(TOOL_COMMON),$(B)/obj/tools/common.a)
$(B)/obj/tools/common.a: $(call objs,obj,$(TOOL_COMMON))

$(B)/tools/gnictl: $(call objs,obj,$(GNICTL_PARTS))
$(B)/tools/gni_perf: $(call objs,obj,$(PERF_PARTS))

$(TOOLS): $(B)/tools/%: $(B)/obj/tools/%.o $(tool_common) $(ugni_dep)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(ugni_link) \
		-Wl,-rpath,'$$ORIGIN/../lib' $(TOOL_LIBS_$*) -lpthread

# --- tests --------------------------------------------------------------------

UNIT_ASAN := $(patsubst tests/unit/%.c,$(B)/tests/asan/%,$(UNIT_SRCS))
UNIT_TSAN := $(patsubst %,$(B)/tests/tsan/%,$(TSAN_TESTS))
VM_PROGS := $(patsubst tests/vm/progs/%.c,$(B)/tests/vm/%,$(VM_SRCS))

# Of the manual pages; built as their readers build them.
EXAMPLE_SRCS := $(wildcard Documentation/examples/*.c)
EXAMPLES := $(patsubst Documentation/examples/%.c,$(B)/examples/%,$(EXAMPLE_SRCS))

FUZZ_PROGS := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRCS))

.PHONY: tests tests-unit tests-vm tests-fuzz examples
tests: tests-unit tests-vm
tests-unit: $(UNIT_ASAN) $(UNIT_TSAN)
tests-vm: $(VM_PROGS) examples
examples: $(EXAMPLES)
tests-fuzz: $(FUZZ_PROGS)

$(B)/asan/libugni.a: $(call objs,asan,$(LIB_SRCS))
$(B)/tsan/libugni.a: $(call objs,tsan,$(LIB_SRCS))

unit_link = -lcmocka $(UNIT_LIBS_$*) -lpthread
$(UNIT_ASAN): $(B)/tests/asan/%: $(B)/asan/tests/unit/%.o $(call objs,asan,$(UNIT_COMMON)) $(B)/asan/libugni.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(asan_cflags) $(LDFLAGS) $(UNIT_LDFLAGS_$*) -o $@ $^ $(unit_link)

$(UNIT_TSAN): $(B)/tests/tsan/%: $(B)/tsan/tests/unit/%.o $(call objs,tsan,$(UNIT_COMMON)) $(B)/tsan/libugni.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(tsan_cflags) $(LDFLAGS) $(UNIT_LDFLAGS_$*) -o $@ $^ $(unit_link)

$(B)/fuzz/libugni.a: $(call objs,fuzz/obj,$(LIB_SRCS))

$(FUZZ_PROGS): $(B)/fuzz/%: $(B)/fuzz/obj/tests/fuzz/%.o $(B)/fuzz/libugni.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(CFLAGS) -fsanitize=fuzzer,$(fuzz_sanitize) $(LDFLAGS) -o $@ $^ \
		-lcmocka -lpthread

vm_common := $(if $(VM_COMMON),$(B)/obj/tests/vm/progs/common.a)
$(B)/obj/tests/vm/progs/common.a: $(call objs,obj,$(VM_COMMON))

$(VM_PROGS): $(B)/tests/vm/%: $(B)/obj/tests/vm/progs/%.o $(vm_common) $(ugni_dep)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $(ugni_link) $(VM_LIBS_$*) -lpthread

$(EXAMPLES): $(B)/examples/%: Documentation/examples/%.c include/gni_pub.h $(ugni_dep) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -Wall -Wextra -Werror -Iinclude -DCRAY_CONFIG_GHAL_ARIES \
		-o $@ $< $(ugni_link)

# Keep objects of chained rules, and read what the compiler found they include.
.SECONDARY:
-include $(shell find $(B)/obj $(B)/asan $(B)/tsan $(B)/fuzz/obj -name '*.d' 2>/dev/null)

# --- manual pages -------------------------------------------------------------

# Those of section 3 are made: a page for each group of calls, and one for each
# call that leads there.
MAN_IN := $(wildcard Documentation/man/*.3.in)
MAN_GEN := Documentation/gen-man.sh Documentation/gen-man.awk
MAN3 = $(addprefix $(B)/man/,$(shell Documentation/gen-man.sh --list))

.PHONY: man
man: $(B)/man/.made

$(B)/man/.made: $(MAN_IN) $(MAN_GEN) include/gni_pub.h $(EXAMPLE_SRCS)
	$(call say,MAN,$(@D))
	$(Q)rm -rf $(@D)
	$(Q)Documentation/gen-man.sh $(@D)
	@touch $@

# --- running ------------------------------------------------------------------

# deps.sh may install newer headers than this make has looked at: what follows
# it builds in a make of its own.
.PHONY: deps demo check check-unit check-vm lint
deps:
	$(Q)tests/vm/deps.sh build vm lint fuzz

check check-unit check-vm:
	$(Q)tests/vm/deps.sh build $(if $(filter check-unit,$@),,vm) $(if $(filter check-vm,$@),,fuzz)
	$(Q)tests/check.sh $(if $(filter check,$@),unit vm,$(@:check-%=%))

# The VM tests again under KASAN, lockdep and more, or looking for data races; the
# first time builds that kernel.
.PHONY: debug-kernel check-debug check-kcsan coverage
debug-kernel:
	$(Q)tests/vm/deps.sh debug
	$(Q)dir=$$(tests/vm/debug-kernel.sh) && \
		printf 'KDIR=%s/headers\nKGNI_VM_KERNEL_DIR=%s\n' "$$dir" "$$dir"

check-debug check-kcsan:
	$(Q)tests/vm/deps.sh build vm debug
	$(Q)tests/check.sh $(@:check-%=%)

# Which lines of kernel/ the VM tests reach: all of them, or those in TESTS=.
coverage:
	$(Q)tests/vm/deps.sh build vm debug coverage
	$(Q)tests/coverage.sh $(TESTS)

# Look for new inputs that break something; all targets share the time.
.PHONY: fuzz
SECONDS ?= 60
fuzz:
	$(Q)tests/vm/deps.sh build fuzz
	$(Q)$(MAKE) tests-fuzz
	$(Q)tests/fuzz/run.sh $(SECONDS)

# The same for the driver, in the debug VM.
.PHONY: fuzz-vm
MINUTES ?= 20
fuzz-vm:
	$(Q)tests/vm/deps.sh build vm debug
	$(Q)tests/vm/fuzz.sh $(MINUTES)

lint:
	$(Q)tests/vm/deps.sh build lint fuzz
	$(Q)tests/check.sh lint

demo:
	$(Q)tests/vm/demo.sh

# What IP over GNI takes beside other ways on this machine.
.PHONY: bench-gnip
ROUNDS ?= 3
bench-gnip:
	$(Q)tests/vm/deps.sh build vm
	$(Q)$(MAKE) module lib tools tests-vm
	$(Q)tests/vm/bench-gnip.sh $(ROUNDS)

# gni_perf beside the limits of the machine, UCX, libfabric and soft-RoCE, with 5
# rounds unless ROUNDS= says; PICTURES=1 draws curves into Documentation/ instead.
.PHONY: bench
bench:
	$(Q)tests/vm/deps.sh build vm
	$(Q)$(MAKE) module lib tools
	$(Q)tests/vm/bench.sh $(if $(PICTURES),pictures,$(if $(filter file,$(origin ROUNDS)),5,$(ROUNDS)))

# For scripts: one variable's value.
print-%:
	@printf '%s\n' '$($*)'

# --- installation ---------------------------------------------------------------

INSTALL ?= install
SRCDIR = /usr/src/kgni-$(VERSION)
MODDIR = /lib/modules/$(KVER)/extra
in_data = $(INSTALL) -m 644 -t '$(DESTDIR)$(1)'
subst_pc = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
	-e 's|@VERSION@|$(VERSION)|g' -e 's|@SRCDIR@|$(SRCDIR)|g'
COMPLETIONS = $(PREFIX)/share/bash-completion/completions
MAN_PAGES = $(wildcard Documentation/man/*.[1-9]) $(MAN3)

.PHONY: install install-user install-module install-source uninstall
install: install-user install-module install-source

install-user: lib tools man
	$(Q)$(INSTALL) -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(PREFIX)/bin' \
		'$(DESTDIR)$(PREFIX)/include/gni' '$(DESTDIR)/usr/lib/udev/rules.d'
	$(Q)$(if $(LIB_SRCS),cp -P $(LIB_PRODUCTS) '$(DESTDIR)$(LIBDIR)/')
	$(Q)$(if $(TOOLS),$(INSTALL) -m 755 -t '$(DESTDIR)$(PREFIX)/bin' $(TOOLS))
	$(Q)$(call in_data,$(PREFIX)/include) include/*.h
	$(Q)$(call in_data,$(PREFIX)/include/gni) include/uapi/gni/*.h
	$(Q)for pc in lib/*.pc.in; do \
		out='$(DESTDIR)$(LIBDIR)/pkgconfig/'$$(basename "$$pc" .in); \
		$(subst_pc) "$$pc" > "$$out" && chmod 644 "$$out" || exit 1; done
	$(Q)for page in $(MAN_PAGES); do \
		dir='$(DESTDIR)$(PREFIX)/share/man/man'$${page##*.}; \
		$(INSTALL) -d "$$dir" && $(INSTALL) -m 644 -t "$$dir" "$$page" || exit 1; done
	$(Q)$(call in_data,/usr/lib/udev/rules.d) kernel/60-kgni.rules
	$(Q)$(INSTALL) -D -m 644 tools/gnictl.bash '$(DESTDIR)$(COMPLETIONS)/gnictl'
	$(Q)$(if $(DESTDIR),,ldconfig)

install-module: module
	$(Q)$(INSTALL) -d '$(DESTDIR)$(MODDIR)' '$(DESTDIR)$(SRCDIR)/symvers/$(KVER)'
	$(Q)$(call in_data,$(MODDIR)) '$(KMOD_DIR)/kgni.ko' '$(KMOD_DIR)/gnip.ko'
	$(Q)sed 's|\t[^\t]*/kgni\t|\textra/kgni\t|' '$(KMOD_DIR)/Module.symvers' \
		> '$(DESTDIR)$(SRCDIR)/symvers/$(KVER)/Module.symvers'
	$(Q)chmod 644 '$(DESTDIR)$(SRCDIR)/symvers/$(KVER)/Module.symvers'
	$(Q)$(if $(DESTDIR),,test ! -f '/lib/modules/$(KVER)/modules.order' || depmod '$(KVER)')

# What DKMS builds from, and the headers that kernel clients build against.
install-source:
	$(Q)$(INSTALL) -d '$(DESTDIR)$(SRCDIR)'
	$(Q)cp -r Kbuild LICENSE include kernel '$(DESTDIR)$(SRCDIR)/'
	$(Q)rm -f '$(DESTDIR)$(SRCDIR)/kernel/dkms.conf.in'
	$(Q)$(subst_pc) kernel/dkms.conf.in > '$(DESTDIR)$(SRCDIR)/dkms.conf'

uninstall:
	rm -f $(addprefix '$(DESTDIR)$(PREFIX)/bin/,$(addsuffix ',$(notdir $(TOOLS))))
	rm -f '$(DESTDIR)$(LIBDIR)'/libugni.a '$(DESTDIR)$(LIBDIR)'/libugni.so*
	rm -f $(patsubst lib/%.in,'$(DESTDIR)$(LIBDIR)/pkgconfig/%',$(wildcard lib/*.pc.in))
	rm -f $(patsubst include/%,'$(DESTDIR)$(PREFIX)/include/%',$(wildcard include/*.h))
	rm -f $(patsubst include/uapi/%,'$(DESTDIR)$(PREFIX)/include/%',$(wildcard include/uapi/gni/*.h))
	rm -f $(foreach p,$(MAN_PAGES),'$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(p)))/$(notdir $(p))')
	rm -f '$(DESTDIR)/usr/lib/udev/rules.d/60-kgni.rules' '$(DESTDIR)$(COMPLETIONS)/gnictl'
	rm -f '$(DESTDIR)'/lib/modules/*/extra/kgni.ko '$(DESTDIR)'/lib/modules/*/extra/gnip.ko
	rm -rf '$(DESTDIR)$(SRCDIR)'

.PHONY: clean help
clean:
	$(Q)rm -rf build $(B)

help:
	@echo 'make             module, library, tools and tests, under build/'
	@echo 'make deps        install the Debian packages that all of this needs'
	@echo 'make module      kgni.ko and gnip.ko for KDIR=$(KDIR)'
	@echo 'make kunit       kgni_test.ko, its KUnit suites, if that kernel has KUnit'
	@echo 'make lib tools tests man examples'
	@echo 'make check       unit, ABI and VM tests; check-unit and check-vm: some of them'
	@echo 'make check-debug the VM tests in a debug kernel, which debug-kernel builds'
	@echo 'make check-kcsan the VM tests in a kernel that looks for data races'
	@echo 'make coverage    lines of kernel/ that the VM tests reach; TESTS="03 20" for some'
	@echo 'make fuzz        look for bugs in kernel/core/ and lib/ with libFuzzer; SECONDS=60'
	@echo 'make fuzz-vm     look for bugs in the driver, in the debug VM; MINUTES=20'
	@echo 'make lint        checkpatch, sparse, W=1 and -Werror builds, shellcheck'
	@echo 'make demo        boot a VM that runs tools/demo.sh'
	@echo 'make bench       gni_perf beside others, in the VM; ROUNDS=5, or PICTURES=1'
	@echo 'make bench-gnip  IP over GNI beside veth and loopback, in the VM; ROUNDS=3'
	@echo 'make install     DESTDIR= PREFIX=/usr LIBDIR=PREFIX/lib; also uninstall,'
	@echo '                 install-user, install-module, install-source'
	@echo 'make clean       remove build/'
	@echo 'Variables: KDIR CC CFLAGS LDFLAGS V=1 WERROR=1; tests/vm/vm.sh --help for the VM'
