/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kgni_client_test.ko: what its files share. A test is a function that checks
 * things; each check that fails is told, and each test is one line of TAP in the
 * kernel log. Whatever a test waits for comes, or has failed after KCT_SOON.
 */
#ifndef _KCT_H
#define _KCT_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/wait.h>

#include <gni_pub.h>

#define KCT_SOON	msecs_to_jiffies(60000)
#define KCT_PTAG	GNI_PTAG_LND
#define KCT_COOKIE	GNI_JOB_CREATE_COOKIE(GNI_PKEY_LND, 0)
#define KCT_ENTRIES	64

/* Checks of the test that runs. */
bool kct_check(bool ok, const char *what, const char *func, int line);
bool kct_check_rc(u64 got, u64 want, const char *what, const char *func, int line);
#define kct_true(cond)		kct_check(cond, #cond, __func__, __LINE__)
#define kct_eq(call, want)	kct_check_rc(call, want, #call, __func__, __LINE__)
#define kct_ok(call)		kct_eq(call, GNI_RC_SUCCESS)

/* Where a client may be when it calls. */
enum kct_context {
	KCT_PROCESS,
	KCT_SOFTIRQ,
	KCT_WORK,
	KCT_SPINLOCK,
	KCT_CONTEXTS
};

/* Run a function there, to its end. */
void kct_run_in(enum kct_context where, void (*fn)(void *arg), void *arg);

/* Have a process run a command. */
bool kct_run(const char *script);
/* Have a process write a line to a file of the driver in debugfs. */
bool kct_command(const char *file, const char *line);

/* A queue, and what its handler has seen. */
struct kct_cq {
	gni_cq_handle_t cq;
	u32 devid;
	atomic_t calls;
	atomic_t wrong;
	bool gone;
	wait_queue_head_t wq;
};

/* One client: a domain with an attachment and two queues. */
struct kct_client {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	u32 inst;
	u32 dev;
	u32 pe;
	struct kct_cq src;
	struct kct_cq dst;
};

bool kct_client_init(struct kct_client *c, u32 inst, u32 dev, u32 modes);
bool kct_client_init_job(struct kct_client *c, u32 inst, u32 dev, u32 modes, u8 ptag, u32 cookie);
void kct_client_exit(struct kct_client *c);
bool kct_cq_init(struct kct_client *c, struct kct_cq *q, u32 entries, u32 delay);
void kct_cq_exit(struct kct_cq *q);
/* Wait for an event; what gni_cq_get_event() says of it. */
gni_return_t kct_next_event(struct kct_cq *q, gni_cq_entry_t *e);
/* Wait for a post's event and take its descriptor. */
gni_return_t kct_complete(struct kct_cq *q, gni_post_descriptor_t *want);
/* An endpoint of @from, on its source queue, bound to @to. */
gni_ep_handle_t kct_ep(struct kct_client *from, const struct kct_client *to);

/* Kinds of memory. */
enum kct_kind {
	KCT_SLAB,
	KCT_VMALLOC,
	KCT_PAGES,	/* physical segments, in no order */
	KCT_KINDS
};

/* A registered region. */
struct kct_mem {
	struct kct_client *c;
	enum kct_kind kind;
	u8 *at;			/* where we see it */
	u64 addr;		/* how posts address it */
	size_t size;
	struct page **pages;
	gni_mem_handle_t hndl;
};

bool kct_mem_init(struct kct_mem *m, struct kct_client *c, enum kct_kind kind, size_t size,
		  u32 flags, gni_cq_handle_t dst_cq);
void kct_mem_exit(struct kct_mem *m);
void kct_mem_fill(struct kct_mem *m, u8 seed);
bool kct_mem_holds(const struct kct_mem *m, size_t from, size_t n, size_t source, u8 seed);

/* One test. */
struct kct_test {
	const char *name;
	void (*fn)(void);
};

extern const struct kct_test kct_object_tests[];
extern const struct kct_test kct_mem_tests[];
extern const struct kct_test kct_post_tests[];
extern const struct kct_test kct_event_tests[];
extern const struct kct_test kct_dgram_tests[];
extern const struct kct_test kct_smsg_tests[];
extern const struct kct_test kct_lossy_tests[];
extern const struct kct_test kct_error_tests[];
extern const struct kct_test kct_nth_tests[];

/* Run kct_lossy_tests only, with ways that fail. */
extern bool kct_lossy;

/* What allocations kct_nth_tests is to make fail; NULL: run the other tests. */
extern char *kct_nth;

#endif /* _KCT_H */
