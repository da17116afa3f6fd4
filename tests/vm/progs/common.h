/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the test programs of the VM share.
 *
 * A program is a table of cases. Each case runs in a process of its own with a
 * time limit, so whatever it leaves behind is the driver's to clean up, and
 * gives one line of TAP. Within a case, and in any process that it forks, ok()
 * and its kin say nothing unless they fail. After each case the devices must
 * have as much free as before it and no page more may be pinned.
 */
#ifndef KGNI_VM_COMMON_H
#define KGNI_VM_COMMON_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gni/kgni.h>
#include <gni_pub.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PAGE		4096UL
#define FOREVER		((uint64_t)-1)

/* --- checks -------------------------------------------------------------------- */

/* ok(condition[, format, ...]): the format may tell which turn of a loop. */
#define ok(cond, ...) \
	check_true(!!(cond), __FILE__, __LINE__, #cond, " " __VA_ARGS__)
/* is_rc(call, code[, format, ...]) */
#define is_rc(call, want, ...) \
	check_rc((call), (want), __FILE__, __LINE__, #call, " " __VA_ARGS__)
/* is_u64(value, wanted[, format, ...]) */
#define is_u64(got, want, ...) \
	check_u64((uint64_t)(got), (uint64_t)(want), __FILE__, __LINE__, #got, " " __VA_ARGS__)
/* As above; the process ends where they fail. */
#define must(cond, ...) \
	do { if (!ok(cond, __VA_ARGS__)) _exit(1); } while (0)
#define must_rc(call, want, ...) \
	do { if (!is_rc(call, want, __VA_ARGS__)) _exit(1); } while (0)
#define must_do(call)	must_rc(call, GNI_RC_SUCCESS)

bool check_true(bool good, const char *file, int line, const char *what,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
bool check_rc(gni_return_t got, gni_return_t want, const char *file, int line,
	      const char *what, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
bool check_u64(uint64_t got, uint64_t want, const char *file, int line,
	       const char *what, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
unsigned int failures(void);
const char *rc_name(gni_return_t rc);

/* --- cases --------------------------------------------------------------------- */

struct test {
	const char *name;
	void (*fn)(void);
	unsigned int seconds;	/* 0: 30; times time_scale() */
	bool leaves;		/* don't look at resources afterwards */
};

#define CASE(what, function, ...) \
	{ .name = (what), .fn = (function), ##__VA_ARGS__ }

#define SHM_SEMS	16
#define SHM_WORDS	64
#define SHM_BYTES	(1UL << 20)

/* Shared by the processes of a case, zero at its begin. */
struct shm {
	sem_t sem[SHM_SEMS];
	_Atomic uint64_t word[SHM_WORDS];
	_Atomic unsigned int failures;
	_Atomic unsigned int shown;
	unsigned char bytes[SHM_BYTES] __attribute__((aligned(4096)));
};

extern struct shm *shm;

int run_tests(const struct test *tests, size_t count);
#define RUN_TESTS(tests)	run_tests(tests, ARRAY_SIZE(tests))

/* --- processes, threads, time -------------------------------------------------- */

pid_t peer(void (*fn)(void *arg), void *arg);	/* fork; ends when fn returns */
void reap(pid_t pid);				/* a peer, which must end well */
void reap_killed(pid_t pid);			/* a peer that SIGKILL ended */
void give(int sem);				/* semaphores of shm */
void take(int sem);				/* fails the process after PATIENCE */
uint64_t now_ms(void);
/* Of what goes to another NIC so many in a hundred are lost, or so many answers. */
void losses(int lost, int ack_lost);
unsigned int time_scale(void);			/* KGNI_TEST_SCALE: for slow kernels */
unsigned int fewer(unsigned int n);		/* @n, or in slow kernels less, but not 0 */
void nap(void);					/* one millisecond */
pid_t thread_id(void);
bool asleep(pid_t tid);				/* is a thread blocked in the kernel */
void show_hang(pid_t pid);			/* what the threads of a process do there */

/* Milliseconds after which what is waited for won't come. */
#define PATIENCE	(20000ULL * time_scale())

/* wait_for(condition): gives up, and is false, after PATIENCE. */
#define wait_for(cond) __extension__({				\
	uint64_t end_ = now_ms() + PATIENCE;			\
	bool good_;						\
								\
	while (!(good_ = (cond)) && now_ms() < end_)		\
		nap();						\
	good_;							\
})

/* --- memory -------------------------------------------------------------------- */

void *map_private(size_t len);			/* zeroed pages */
void *map_shared(size_t len);			/* the same pages after fork() */
void fill(void *buf, size_t len, uint32_t seed);
bool filled(const void *buf, size_t len, uint32_t seed);
bool all_bytes(const void *buf, size_t len, unsigned char c);
uint32_t rnd(uint32_t *state);			/* xorshift; state is not 0 */

/* --- GNI ----------------------------------------------------------------------- */

#define COOKIE		GNI_JOB_CREATE_COOKIE(0x4b47, 0)
#define CQ_ENTRIES	1024

/* An attachment with a queue for source and one for target events. */
struct nic {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t h;
	gni_cq_handle_t tx;
	gni_cq_handle_t rx;
	uint32_t pe;
	uint32_t id;
};

/* A registered region, as it is told to peers. */
struct region {
	uint64_t addr;
	uint64_t len;
	gni_mem_handle_t mh;
	uint32_t pe;
	uint32_t id;
};

unsigned int device_count(void);
gni_job_limits_t no_limits(void);
/* Of a job on the first device. */
void job_resource_is(uint8_t ptag, gni_job_res_t type, uint64_t used, uint64_t most);
void nic_open(struct nic *n, uint32_t device, uint32_t id);
void nic_open_modes(struct nic *n, uint32_t device, uint32_t id, uint32_t modes);
void nic_close(struct nic *n);
gni_cq_handle_t cq_open(struct nic *n, uint32_t entries, gni_cq_mode_t mode);
gni_ep_handle_t ep_open(struct nic *n, uint32_t pe, uint32_t id);
void mem_open(struct nic *n, void *buf, size_t len, gni_cq_handle_t cq, uint32_t flags,
	      gni_mem_handle_t *mh);
void region_open(struct nic *n, void *buf, size_t len, gni_cq_handle_t cq, uint32_t flags,
		 struct region *r);

/*
 * A descriptor full of garbage but for type, cq_mode and what every type uses.
 * src_cq_hndl and rdma_mode are zero for RDMA and CQWRITE.
 */
void desc_init(gni_post_descriptor_t *d, gni_post_type_t type, uint16_t cq_mode);
/* Local and remote side of a transfer; lmh may be NULL where it isn't needed. */
void desc_move(gni_post_descriptor_t *d, void *local, const gni_mem_handle_t *lmh,
	       const struct region *r, uint64_t offset, uint64_t len);
/* An AMO with a global event; lmh may be NULL if it fetches nothing. */
void desc_amo(gni_post_descriptor_t *d, gni_fma_cmd_type_t cmd, void *local,
	      const gni_mem_handle_t *lmh, const struct region *r, uint64_t offset, uint64_t len,
	      uint64_t first, uint64_t second);
gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *d);

/* The next event of a queue; NOT_DONE only when none came within PATIENCE. */
gni_return_t next_event(gni_cq_handle_t cq, gni_cq_entry_t *event);
/* The next event of a source queue and its descriptor, which must be @want. */
gni_return_t complete(gni_cq_handle_t cq, gni_post_descriptor_t *want, gni_cq_entry_t *event);
/* Post and complete on the queue of the endpoint. */
gni_return_t post_wait(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *d);
/* No event on the queue now. */
#define is_empty(cq, ...) __extension__({				\
	gni_cq_entry_t event_ = 0;					\
									\
	is_rc(GNI_CqGetEvent(cq, &event_), GNI_RC_NOT_DONE, __VA_ARGS__);	\
})

/* --- targets of transfers ------------------------------------------------------ */

/* Where the target of a transfer is. */
enum layout {
	SELF,		/* the same attachment */
	TWO_CDMS,	/* another domain of this process */
	PEER,		/* another process on the same NIC */
	OTHER_NIC,	/* another process on another NIC */
	LAYOUTS
};

/* Instance ids of both ends, and the id that the initiator's endpoint is bound with. */
#define INITIATOR_ID	0x91234561U
#define TARGET_ID	0x81234562U
#define BIND_ID		0xc7654321U

/*
 * A region to transfer to and from. Its pages are seen by both ends whatever
 * the layout; n.rx or the like of its owner is its queue.
 */
struct target {
	enum layout layout;
	struct nic n;			/* the initiator */
	struct nic other;
	struct nic *m;			/* the target's owner, if in this process */
	gni_ep_handle_t ep;
	struct region r;
	unsigned char *mem;
	size_t len;
	uint32_t flags;
	pid_t pid;
	struct {
		struct region r;
	} *shared;
};

void target_open(struct target *t, enum layout layout, size_t len, uint32_t flags,
		 uint32_t modes);
/* The next event at the target, now; its owner deregisters the region. */
gni_return_t target_event(struct target *t, gni_cq_entry_t *event);
gni_return_t target_deregister(struct target *t);
void target_close(struct target *t);

/* One case for each layout: ALL_LAYOUTS(fn) defines what CASES(what, fn) lists. */
#define ALL_LAYOUTS(fn)						\
	static void fn##_self(void) { fn(SELF); }		\
	static void fn##_cdms(void) { fn(TWO_CDMS); }		\
	static void fn##_peer(void) { fn(PEER); }		\
	static void fn##_nics(void) { fn(OTHER_NIC); }
#define CASES(what, fn, ...)						\
	CASE(what ", to itself", fn##_self, ##__VA_ARGS__),		\
	CASE(what ", two domains", fn##_cdms, ##__VA_ARGS__),		\
	CASE(what ", two processes", fn##_peer, ##__VA_ARGS__),		\
	CASE(what ", two NICs", fn##_nics, ##__VA_ARGS__)

/* --- the driver's own interface, without the library --------------------------- */

struct raw_cq {
	uint32_t id;
	uint32_t slots;
	uint64_t offset;
	size_t len;
	void *mem;
};

int raw_open(unsigned int device);		/* a file, not attached */
/* A job to be configured, with no limit of its own. */
struct kgni_ioc_job raw_job(uint64_t job_id, uint32_t ptag, uint32_t cookie);
int raw_attach(unsigned int device, uint32_t id, uint32_t modes);
void raw_cq_open(int fd, uint32_t entries, uint32_t mode, struct raw_cq *cq);
struct kgni_mem_handle raw_mem_open(int fd, void *buf, size_t len, uint32_t flags, uint32_t cq);

#endif /* KGNI_VM_COMMON_H */
