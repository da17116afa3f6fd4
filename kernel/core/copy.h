/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies of what transactions move. */
#ifndef _KGNI_CORE_COPY_H
#define _KGNI_CORE_COPY_H

#include "core.h"

#define KGNI_COPY_BLOCK	64

/* All of a block is read before any of it is written: TLBs of emulators like that. */
static inline void kgni_copy_block(u64 *dst, const u64 *src)
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

/**
 * kgni_copy - as memmove(), but words that programs poll are never torn
 * @dst: where to
 * @src: where from
 * @n: bytes
 * @strings: memmove() is the fastest there is, as where the processor is fast at moving
 *	strings; an emulator is not, and is best at words
 *
 * Context: any.
 */
static inline void kgni_copy(void *dst, const void *src, size_t n, bool strings)
{
	const uintptr_t align = (uintptr_t)dst | (uintptr_t)src;
	const u64 *from = src;
	u64 *to = dst;

	if (n == 4 && !(align & 3)) {
		core_store((u32 *)dst, core_load((const u32 *)src));
		return;
	}
	if (n == 8 && !(align & 7)) {
		core_store(to, core_load(from));
		return;
	}
	if (!strings && !(align & 7) && (uintptr_t)dst - (uintptr_t)src >= n) {
		for (; n >= KGNI_COPY_BLOCK; n -= KGNI_COPY_BLOCK) {
			kgni_copy_block(to, from);
			from += KGNI_COPY_BLOCK / 8;
			to += KGNI_COPY_BLOCK / 8;
		}
		for (; n >= 8; n -= 8)
			core_store(to++, core_load(from++));
	}
	if (n)
		memmove(to, from, n);
}

#endif /* _KGNI_CORE_COPY_H */
