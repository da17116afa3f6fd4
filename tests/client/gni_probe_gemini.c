// SPDX-License-Identifier: GPL-2.0-only
/* The same for clients that chose the other chip. */
#define CONFIG_CRAY_GEMINI 1

#include "gni_probe.c"
