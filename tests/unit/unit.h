/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the host unit tests share: cmocka with its includes, and random numbers
 * that are the same on every run.
 */
#ifndef _KGNI_UNIT_H
#define _KGNI_UNIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
/* ThreadSanitizer ignores fences; no test leans on one for plain data. */
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* splitmix64; @state is the seed at first. */
static inline uint64_t unit_rand(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 to @n - 1 */
static inline uint32_t unit_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(unit_rand(state) % n);
}

/* A word from those that break things most often, or any. */
static inline uint64_t unit_edge(uint64_t *state)
{
	static const uint64_t edges[] = {
		0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
		0xfffffffffffffffe, 0xffffffffffffffff, 0x7fffffff80000000,
		0xffffffff7fffffff, 0xffffffff80000000,
	};
	uint32_t i = unit_below(state, 2 * ARRAY_SIZE(edges));

	return i < ARRAY_SIZE(edges) ? edges[i] : unit_rand(state);
}

#endif /* _KGNI_UNIT_H */
