// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which of the copies of kernel/core/copy.h is the fastest here. */
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "ugni.h"
#include "core/copy.h"

/* Does the CPU say that it moves strings fast (ERMS)? */
static bool ask_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int a, b = 0, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1U << 9;
#else
	return true;
#endif
}

static bool strings;

static __attribute__((constructor)) void copy_init(void)
{
	strings = ask_cpu();
}

/* As memmove(). */
void ugni_copy_bytes(void *dst, const void *src, u64 n)
{
	kgni_copy(dst, src, n, strings);
}
