/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files that gen.py writes are made of, in any dialect of C and C++
 * that has GNU's __typeof__.
 */
#ifndef _ABI_CHECK_H
#define _ABI_CHECK_H

#define CAT_(a, b)	a ## b
#define CAT(a, b)	CAT_(a, b)

/* Marks a row of the table as checked; run.sh looks for the marks. */
#define ROW(n)		typedef char gni_abi_row_ ## n

#if defined __cplusplus && __cplusplus >= 201103L
#define CHECK(...)	static_assert((__VA_ARGS__), #__VA_ARGS__)
#elif !defined __cplusplus && __STDC_VERSION__ >= 201112L
#define CHECK(...)	_Static_assert((__VA_ARGS__), #__VA_ARGS__)
#else
#define CHECK(...)	typedef char CAT(gni_abi_check_, __COUNTER__)[(__VA_ARGS__) ? 1 : -1]
#endif

#ifdef __cplusplus

#include "check.hh"

#else

#define SAME(a, b)	__builtin_types_compatible_p(a, b)
#define CHECK_ENUMERATOR(name, type) CHECK(sizeof(type) == sizeof(name))
#define CHECK_CONST_TYPE(a, b)	CHECK(SAME(__typeof__(a), __typeof__(b)))

#endif /* __cplusplus */

#ifdef __cplusplus
extern "C" {
#endif

/* Runs what cannot be checked at compile time; calls @fail for wrong rows. */
void gni_abi_run(void (*fail)(int row));

#ifdef __cplusplus
}
#endif

#endif /* _ABI_CHECK_H */
