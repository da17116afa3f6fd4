/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites share: devices, files with attachments, queues, registrations
 * of the kernel's own pages, user memory, users and threads. All of it is made
 * for one test case and ends with it, youngest first; what a device still has
 * lent out then is a failure of the case.
 */
#ifndef _KGT_H
#define _KGT_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/sched.h>

#include "../../kernel/kgni.h"

/* How long something that must happen may take, and what must not is given. */
#define KGT_SOON	msecs_to_jiffies(120000)
#define KGT_NEVER	msecs_to_jiffies(60)

/* Wait until a condition holds, which must happen. Return: does it? */
#define kgt_until(condition) ({						\
	unsigned long __end = jiffies + KGT_SOON;			\
	bool __over, __met;						\
									\
	for (;;) {							\
		__over = time_after(jiffies, __end);			\
		__met = (condition);					\
		if (__met || __over)					\
			break;						\
		schedule_timeout_uninterruptible(1);			\
	}								\
	__met;								\
})

#define KGT_PE		100
#define KGT_COOKIE	0xc00c1e

/* Of the suites that use devices: the BTE's workers, and the loader's memory. */
int kgt_suite_init(struct kunit_suite *suite);
void kgt_suite_exit(struct kunit_suite *suite);

/* A device without a file of its own; kgni_device_by_pe() finds it. */
struct kgni_device *kgt_device(struct kunit *test, u32 pe);

/* An open file of a device. Closing it is the driver's own clean-up. */
struct kgni_file *kgt_open(struct kunit *test, struct kgni_device *dev);
void kgt_close(struct kgni_file *f);

/* KGNI_IOC_ATTACH of a caller that has its answer. */
long kgt_nic_attach(struct kgni_file *f, struct kgni_ioc_attach *arg);
/* Open and attach, with GNI_FIND_ALLOC_PTAG. */
struct kgni_file *kgt_attach(struct kunit *test, struct kgni_device *dev, u32 inst_id,
			     u32 cookie, u32 modes);

/* A queue, borrowed: it goes with its attachment. */
struct kgni_cq *kgt_cq(struct kunit *test, struct kgni_file *f, u32 entries, u32 mode);
/* The oldest event; 0 if there is none, KGNI_CQE_OVERRUN if some were lost. */
u64 kgt_pop(struct kgni_cq *cq);

/**
 * struct kgt_mem - a registration of pages that the kernel gave
 * @test: who made it
 * @f: through which file
 * @mdd: the registration, borrowed, valid until it is deregistered
 * @handle: its handle
 * @base: its address; nothing of user space is there
 * @npages: how many
 * @pages: they live until the test case ends, the youngest first
 */
struct kgt_mem {
	struct kunit *test;
	struct kgni_file *f;
	struct kgni_mdd *mdd;
	struct kgni_mem_handle handle;
	u64 base;
	unsigned long npages;
	struct page **pages;
};

/* mdd_test.c */
struct kgt_mem *kgt_mem(struct kunit *test, struct kgni_file *f, unsigned long npages,
			u32 flags, struct kgni_cq *cq);
u8 *kgt_at(const struct kgt_mem *m, u64 addr);
/* Bytes that depend on their address and a seed. */
u8 kgt_byte(u64 offset, u8 seed);
void kgt_fill(struct kgt_mem *m, u8 seed);
/* How many bytes of [from, to), counted from the base, are not what kgt_fill() wrote. */
u64 kgt_differ(const struct kgt_mem *m, u64 from, u64 to, u8 seed);

/* User memory: a private mapping in the address space of who loads the module. */
unsigned long kgt_user(struct kunit *test, size_t size, unsigned long prot);
void kgt_unmap(unsigned long addr, size_t size);
/* A new mapping in place of what is there. */
void kgt_remap(struct kunit *test, unsigned long addr, size_t size, unsigned long prot);
u8 kgt_peek(unsigned long addr);
void kgt_poke(unsigned long addr, u8 byte);
/* KGNI_IOC_MEM_REGISTER of user memory. */
long kgt_register(struct kgni_file *f, struct kgni_ioc_mem_register *arg);
/* Between these two user memory is at hand. No assertions there. */
void kgt_mm_begin(void);
void kgt_mm_end(void);
struct mm_struct *kgt_mm_get(void);

/* Somebody else, without privileges. */
const struct cred *kgt_cred(struct kunit *test, uid_t uid);

/**
 * struct kgt_thread - a thread beside the test case
 * @fn: what it runs
 * @arg: its argument
 * @rc: what @fn returned, once it is @done
 * @begun: completed before @fn is called, once signals reach the thread
 * @done: completed when @fn has returned
 * @task: the thread
 * @test: who made it
 */
struct kgt_thread {
	long (*fn)(void *arg);
	void *arg;
	long rc;
	struct completion begun;
	struct completion done;
	struct task_struct *task;
	struct kunit *test;
};

/* A signal ends what it waits for, if the case ends before it. */
struct kgt_thread *kgt_thread(struct kunit *test, long (*fn)(void *arg), void *arg);
/* Does it come to sleep, and is it still at work after a while? */
bool kgt_is_waiting(struct kgt_thread *t);
/* What it returned; fails the case if it does not end. */
long kgt_join(struct kgt_thread *t);

/* splitmix64; @state is the seed at first. */
u64 kgt_rand(u64 *state);

#endif /* _KGT_H */
