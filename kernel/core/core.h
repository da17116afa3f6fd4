/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ground of kernel/core/: fixed-width types and the few atomic operations that
 * its code needs, the same in the kernel and in user space.
 *
 * core_cmpxchg() and core_xchg() are full barriers on both sides; loads and
 * stores without a suffix order nothing.
 */
#ifndef _KGNI_CORE_H
#define _KGNI_CORE_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/string.h>
#include <linux/atomic.h>
#include <asm/barrier.h>

#define core_load(p)			READ_ONCE(*(p))
#define core_store(p, v)		WRITE_ONCE(*(p), v)
/* Barriers are commented where these are used. */
#define core_load_acquire(p)		smp_load_acquire(p)	/* see above */
#define core_store_release(p, v)	smp_store_release(p, v)	/* see above */
#define core_cmpxchg(p, old, new)	cmpxchg(p, old, new)
#define core_xchg(p, v)			xchg(p, v)
#define core_mb()			smp_mb()		/* see above */

#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define core_load(p)			__atomic_load_n(p, __ATOMIC_RELAXED)
#define core_store(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)
#define core_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define core_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define core_mb()			__atomic_thread_fence(__ATOMIC_SEQ_CST)
/* A sequentially consistent exchange alone lets later loads pass it on some machines. */
#if defined(__x86_64__) || defined(__i386__)
#define core_mb_exchange()		((void)0)
#else
#define core_mb_exchange()		core_mb()
#endif
#define core_cmpxchg(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	core_mb_exchange();						\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	core_mb_exchange();						\
	old_;								\
})
#define core_xchg(p, v)			__extension__({			\
	__typeof__(*(p)) was_;						\
									\
	core_mb_exchange();						\
	was_ = __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);		\
	core_mb_exchange();						\
	was_;								\
})

#endif /* __KERNEL__ */

#define CORE_BITS(val, shift, width)	(((val) >> (shift)) & ((1ULL << (width)) - 1))

#endif /* _KGNI_CORE_H */
