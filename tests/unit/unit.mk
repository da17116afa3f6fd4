# SPDX-License-Identifier: GPL-2.0-only
# What single unit tests need besides: see Documentation/testing.rst.

# All calls that there are.
UNIT_CFLAGS_test_lib_debug := -DUGNI_MAP='"$(TOP)/lib/libugni.map"'

# It changes the rounding mode of the floating point unit and reads its exceptions.
UNIT_CFLAGS_test_core_fp := -frounding-math -ftrapping-math
UNIT_LIBS_test_core_fp := -lm

# It includes the parts of gnictl that need no driver.
UNIT_CFLAGS_test_gnictl := -isystem /usr/include/libnl3

# It includes the parts of gni_perf that need no driver.
UNIT_LIBS_test_gni_perf := -lm

# This one, too, changes the rounding mode and reads exceptions.
UNIT_CFLAGS_test_core_ce := -frounding-math -ftrapping-math
UNIT_LIBS_test_core_ce := -lm
