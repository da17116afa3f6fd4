# SPDX-License-Identifier: GPL-2.0-only
# What single unit tests need besides: see Documentation/testing.rst.

# All calls that there are.
UNIT_CFLAGS_test_lib_debug := -DUGNI_MAP='"$(TOP)/lib/libugni.map"'
