/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzz targets share: the input as a stream of numbers, memory that is
 * no byte larger than it has to be, and check(), which ends the program.
 *
 * A stream that has run out gives zeros, so every input means something.
 */
#ifndef _KGNI_FUZZ_H
#define _KGNI_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sanitizer/asan_interface.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

/* check(condition, format, ...): the format tells what is wrong. */
#define check(cond, ...)						\
	do {								\
		if (!(cond))						\
			fuzz_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);	\
	} while (0)

#define fuzz_failed(file, line, what, ...)				\
	do {								\
		fprintf(stderr, "%s:%d: false: %s: ", file, line, what);	\
		fprintf(stderr, __VA_ARGS__);				\
		fputc('\n', stderr);					\
		abort();						\
	} while (0)

static inline uint64_t input_bytes(struct input *in, unsigned int n)
{
	uint64_t value = 0;
	unsigned int i;

	for (i = 0; i < n && in->left; i++, in->left--)
		value |= (uint64_t)*in->at++ << 8 * i;
	return value;
}

static inline uint8_t input_u8(struct input *in)
{
	return (uint8_t)input_bytes(in, 1);
}

static inline uint16_t input_u16(struct input *in)
{
	return (uint16_t)input_bytes(in, 2);
}

static inline uint32_t input_u32(struct input *in)
{
	return (uint32_t)input_bytes(in, 4);
}

static inline uint64_t input_u64(struct input *in)
{
	return input_bytes(in, 8);
}

/* 0 to @n - 1; @n is at most 256. */
static inline uint32_t input_below(struct input *in, uint32_t n)
{
	return input_u8(in) % n;
}

/* A number near one that breaks things, or any. */
static inline uint64_t input_edge(struct input *in)
{
	uint8_t how = input_u8(in);

	switch (how >> 6) {
	case 0:
		return how & 63;
	case 1:
		return (1ULL << (how & 63)) + input_u8(in) - 128;
	case 2:
		return ~0ULL - (how & 63);
	}
	return input_u64(in);
}

/* Zeroed; @align is a power of two, 8 or more. Free it with free(). */
static inline void *fuzz_memory(size_t align, size_t size)
{
	void *mem;

	if (posix_memalign(&mem, align, size))
		abort();
	memset(mem, 0, size);
	return mem;
}

/* Look at every byte, as one who was handed them may. */
static inline uint32_t fuzz_read(const void *mem, size_t size)
{
	const volatile uint8_t *p = mem;
	uint32_t sum = 0;

	while (size--)
		sum = sum * 31 + *p++;
	return sum;
}

#endif /* _KGNI_FUZZ_H */
