/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs of operations that meet at one object, at the same time.
 *
 * An object is a table of operations. For each pair of them, and each place
 * where two can share the object, rounds are run: the object is made anew, two
 * sides start their operations together, give or take a short random delay, and
 * when both are through, codes, data, events and counts are compared with what
 * they may be. What can be done again is done again until the other is through.
 * Rounds go on until one side was in its operation while the other was in its own;
 * a pair that never was fails.
 *
 * One side is the case's own process. The other is its second thread, or a
 * process: with the same open file, with an attachment of its own in the same
 * job, or with one on another NIC. Where an operation is the death of the
 * object's owner, that is a process of its own, made anew each round.
 */
#ifndef KGNI_VM_COMMON_PAIRS_H
#define KGNI_VM_COMMON_PAIRS_H

#include <core/cqe.h>
#include <core/ring.h>

#include "common_matrix.h"
#include "common_victim.h"

enum place { IN_THREADS, BY_FILE, BY_JOB, BY_NIC, PLACES };

#define AT(place)	(1U << (place))

/* Sets of codes: bits by their place in codes[] of common_pairs.c. */
enum {
	C_OK = 1 << 0, C_PARAM = 1 << 1, C_RESOURCE = 1 << 2, C_TIMEOUT = 1 << 3,
	C_STATE = 1 << 4, C_NO_MATCH = 1 << 5, C_NOT_DONE = 1 << 6,
	C_GONE = 1 << 7 | 1 << 8,	/* events of a post: not registered, aborted */
	C_PENDING = 1 << 9, C_MATCHED = 1 << 10, C_ENDED = 1 << 11,
	C_BADF = 1 << 12, C_EINVAL = 1 << 13,
	C_MISSING = 1 << 14,		/* event of a post: no page there */
};

/* What an operation does to the other. */
#define ENDS_MEMORY	1	/* no registration */
#define ENDS_QUEUE	2	/* no queue */
#define ENDS_FILE	4	/* no file where both have the same; else both of the above */
#define ATTACHES	8

/* What can be done once can be done to this many more, made for that. */
#define MORE	15

struct side;

/**
 * struct op - an operation
 * @name: for the report
 * @fn: does it; returns a code as common_matrix.h has them
 * @after: what follows at once, outside of what is timed
 * @arg: for @fn
 * @len: bytes of its slot that it moves
 * @codes: what it may come to, whatever the other does
 * @on: and what also, where the other does such a thing: by bit of ENDS_... and ATTACHES
 * @effects: what it does to the other
 * @owner: only by the file that has the object
 * @once: it can be done once; where that is so of both, each does it to several
 * @quick: no call, so it is done more often
 */
struct op {
	const char *name;
	int (*fn)(struct side *s);
	void (*after)(struct side *s, int code);
	int arg;
	size_t len;
	uint32_t codes;
	uint32_t on[4];
	unsigned int effects;
	bool owner;
	bool once;
	bool quick;
};

#define ON_MEMORY(c)	.on[0] = (c)
#define ON_QUEUE(c)	.on[1] = (c)
#define ON_FILE(c)	.on[2] = (c)
#define ON_ATTACH(c)	.on[3] = (c)

/**
 * struct object - what operations meet at
 * @name: for the report
 * @ops: the operations
 * @count: how many
 * @places: AT() bits
 * @begin: before the first round of a case, or NULL
 * @open: make it; by its owner
 * @side_open: before a round, on each side
 * @side_close: after a round, on each side
 * @check: look at what became of it; before @close
 * @close: end it; not where the owner has died
 */
struct object {
	const char *name;
	const struct op *ops;
	unsigned int count;
	unsigned int places;
	void (*begin)(void);
	void (*open)(void);
	void (*side_open)(struct side *s);
	void (*side_close)(struct side *s);
	void (*check)(void);
	void (*close)(void);
};

/* One of the two, where it runs. */
struct side {
	int me;
	unsigned int turns;	/* rounds that it took part in */
	bool own;		/* has an attachment of its own */
	unsigned int i;		/* which of several alike, below w->times */
	int fd;			/* the file it works with */
	int more_fd[MORE];
	int spare[MORE + 1];	/* files that are not attached */
	int held[MORE + 1];	/* and such that are */
	uint32_t pe;
	bool mapped;		/* it has its ring and takes its events */
	struct raw_cq cq;
	struct kgni_ring_view ring;
	struct kgni_ring_view queue;	/* of the object */
	void *extra[MORE + 1];	/* other mappings of that */
	struct kgni_mem_handle lmh;
	struct kgni_ioc_window_open window;	/* to the target, mapped if win_data is set */
	unsigned char *win_data;
	void *win_ring;
	const struct kgni_window_state *win_state;
};

/* What a side has done in a round. */
struct result {
	_Atomic unsigned int turns;	/* twice as often as it has, odd during it */
	_Atomic bool through;
	unsigned int done;		/* with success */
	unsigned int overlaps;
	unsigned int ended;		/* datagrams or reductions that it has seen the end of */
	unsigned int posted;		/* reductions that it takes part in */
};

/* What both know of a round; shared. */
struct world {
	const struct object *object;
	enum place place;
	const struct op *op[2];
	unsigned int round;
	uint32_t seed;
	unsigned int delay[2];		/* ns */
	pid_t owner;
	pid_t second;			/* one more that is killed */
	int fd;
	uint32_t pe, ptag;
	uint32_t b_pe;			/* of side 1, where it is its own */
	struct raw_cq cq[2];		/* for source events of the sides */
	struct raw_cq queue;
	struct kgni_mem_handle target, dump, local[2];
	unsigned int times;		/* how often, for what can be done once */
	int more_fd[MORE];
	uint32_t more_queue[MORE];
	struct kgni_mem_handle more_target[MORE];
	_Atomic unsigned int turn, ready, go, finished, left;	/* only grow */
	_Atomic bool quit, filled, inside;
	_Atomic int lock;
	_Atomic unsigned int pushed, popped;	/* events of the queue */
	_Atomic bool met;		/* both were at it at once */
	struct result result[2];
};

extern struct world *w;

#define OWNER_ID	11
#define B_ID		12

/* The owner dies: kills it. The last operation of each table. */
int op_kill(struct side *s);
#define OP_KILL(after_)							\
	{ .name = "owner killed", .fn = op_kill, .after = (after_), .codes = C_OK,	\
	  .effects = ENDS_FILE, .owner = true, .once = true }

bool owner_dies(void);			/* in this round */
uint64_t now_ns(void);
/* Runs all pairs of an object at a place. */
void run_pairs(const struct object *object, enum place place);

/* The objects. */
extern const struct object memory_object, region_object, bte_object, queue_object, ring_object;
extern const struct object dgram_object, job_object, pool_object, file_object;
extern const struct object window_object, channel_object;

/* Two pieces of a transfer. */
#define LONG		(20 * PAGE)

/* The target: a page of words, and a slot for each side. */
#define TARGET_LEN	(PAGE + 2 * LONG)
#define DUMP_LEN	(2 * LONG)
#define QUEUE_LEN	2048

/* What is registered and posted to; channel is a file to be told by. */
extern struct pairs_memory {
	unsigned char *target, *dump, *local[2];
	int channel;		/* made early, lest it take the number of a file that closes */
} mem;

/* A mapping of the owner's queue, unless the owner is another or closes it. */
extern void *queue_mem;
extern struct kgni_ring_view queue_view;

/* Of use to several: common_pairs_mem.c. */
unsigned char stamp(int me);		/* a side's byte, in this round */
uint64_t bytes8(unsigned char c);
uint64_t *word_at(size_t offset);
unsigned char *slot(int me);
bool any_is(int (*fn)(struct side *s));
bool rings_mapped(int me);
void *map_ring(struct side *s, struct raw_cq *cq, struct kgni_ring_view *view);
bool take_entry(const struct kgni_ring_view *ring);
int do_target_post(struct side *s, struct kgni_ioc_post *p);
int register_at(struct side *s, void *addr, size_t len, uint32_t queue);
void mem_begin(void);
void mem_open_world(void);
void mem_close_world(void);
void mem_side_open(struct side *s);
void mem_side_close(struct side *s);
void mem_check(void);
bool owner_closes(void);		/* in this round */
void more_files(bool attached);
void close_more_files(void);
void mem_side_file(struct side *s);
void mem_side_file_close(struct side *s);
int op_close(struct side *s);
void after_close(struct side *s, int code);
int op_word(struct side *s);
int op_chain(struct side *s);
int op_cqwrite(struct side *s);
int op_register(struct side *s);
int op_deregister(struct side *s);
void after_deregister(struct side *s, int code);
int op_destroy(struct side *s);
int op_fork(struct side *s);
void after_kill(struct side *s, int code);

/* Operations that several tables have. */
#define REGISTER	{ .name = "register", .fn = op_register, .codes = C_OK, .owner = true }
#define DEREGISTER								\
	{ .name = "deregister", .fn = op_deregister, .after = after_deregister,	\
	  .codes = C_OK, ON_MEMORY(C_PARAM), .effects = ENDS_MEMORY, .owner = true, .once = true }
#define CLOSE									\
	{ .name = "close", .fn = op_close, .after = after_close, .codes = C_OK,	\
	  .effects = ENDS_FILE, .owner = true, .once = true }
#define DESTROY									\
	{ .name = "destroy", .fn = op_destroy, .codes = C_OK, ON_QUEUE(C_PARAM),	\
	  .effects = ENDS_QUEUE, .owner = true, .once = true }
#define KILL	OP_KILL(after_kill)
#define CQWRITE	{ .name = "CQ write", .fn = op_cqwrite, .codes = C_OK, ON_MEMORY(C_GONE) }
#define CHAIN	{ .name = "chain", .fn = op_chain, .codes = C_OK, ON_MEMORY(C_GONE) }
#define WORD	{ .name = "FMA put, word", .fn = op_word, .codes = C_OK, ON_MEMORY(C_GONE) }

#endif /* KGNI_VM_COMMON_PAIRS_H */
