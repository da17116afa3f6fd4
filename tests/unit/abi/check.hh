// SPDX-License-Identifier: GPL-2.0-only
// The part of check.h that only C++ has.

template <class A, class B> struct same { enum { value = 0 }; };
template <class A> struct same<A, A> { enum { value = 1 }; };

#define SAME(a, b)	(same<a, b>::value == 1)
// C++ knows which enumeration an enumerator is of, but has no type to compare
// for those of the unnamed ones.
#define CHECK_ENUMERATOR(name, type) CHECK(SAME(__typeof__(name), type))
#define CHECK_CONST_TYPE(a, b)	CHECK(sizeof(a) == sizeof(b))
