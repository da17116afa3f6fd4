// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies of what posts move. The C library's are fast where the processor moves strings
 * fast, or vectors; an emulator does neither, and is best at words (kernel/mdd.c has the
 * same).
 */
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "ugni.h"

#define BLOCK	64

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

static bool by_words;

static __attribute__((constructor)) void copy_init(void)
{
	by_words = !ask_cpu();
}

/* All of a block is read before any of it is written: TLBs of emulators like that. */
static inline void copy_block(u64 *dst, const u64 *src)
{
	u64 a = core_load(&src[0]), b = core_load(&src[1]), c = core_load(&src[2]);
	u64 d = core_load(&src[3]), e = core_load(&src[4]), f = core_load(&src[5]);
	u64 g = core_load(&src[6]), h = core_load(&src[7]);

	core_store(&dst[0], a);
	core_store(&dst[1], b);
	core_store(&dst[2], c);
	core_store(&dst[3], d);
	core_store(&dst[4], e);
	core_store(&dst[5], f);
	core_store(&dst[6], g);
	core_store(&dst[7], h);
}

/* As memmove(). */
void ugni_copy_bytes(void *dst, const void *src, u64 n)
{
	const uintptr_t align = (uintptr_t)dst | (uintptr_t)src;
	const u64 *from = src;
	u64 *to = dst;

	if (n == 4 && !(align & 3)) {
		core_store((u32 *)dst, core_load((const u32 *)src));
		return;
	}
	if (by_words && !(align & 7) && (uintptr_t)dst - (uintptr_t)src >= n) {
		for (; n >= BLOCK; n -= BLOCK, from += BLOCK / 8, to += BLOCK / 8)
			copy_block(to, from);
		for (; n >= 8; n -= 8)
			core_store(to++, core_load(from++));
	}
	memmove(to, from, n);
}
