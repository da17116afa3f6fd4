/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for the kernel's header of this name, so that the kernel half of
 * gni_pub.h can be compiled on the host: the same types, and nothing else.
 */
#ifndef _LINUX_TYPES_H
#define _LINUX_TYPES_H

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;

#endif /* _LINUX_TYPES_H */
