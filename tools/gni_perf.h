/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gni_perf measures GNI operations between pairs of processes.
 *
 *	gni_perf.c		the command line, and what there is to measure
 *	gni_perf_clock.c	a clock and histograms
 *	gni_perf_proc.c		processes: start, meet, measure size by size, end
 *	gni_perf_post.c		posts
 *	gni_perf_msg.c		short messages, datagrams
 *	gni_perf_msgq.c		shared message queues
 *	gni_perf_barrier.c	barriers
 *	gni_perf_reg.c		registrations
 *	gni_perf_out.c		tables, CSV, JSON
 *	gni_perf_plot.c		SVG
 *
 * Process 2k is the initiator of pair k and measures, 2k + 1 is its target. They
 * tell each other where their memory is, when to begin and when to end in memory
 * that they share; what is measured uses GNI only.
 */
#ifndef _TOOLS_GNI_PERF_H
#define _TOOLS_GNI_PERF_H

#include <stdio.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include "common.h"

#define PERF_SIZES	64
#define PERF_PAIRS	64
#define PERF_REGIONS	4000
#define PERF_ENDPOINTS	4096
#define PERF_ROUNDS	7	/* of a barrier of 2 * PERF_PAIRS processes */
#define PERF_CHANNELS	4	/* of the collective engine, on a NIC */

/*
 * A loop that is measured: all but GNI's calls becomes part of it, and it does not lie across
 * pages, from one to another of which emulators go slowly.
 */
#define MEASURED	__attribute__((noinline, flatten, aligned(4096)))
#define COLD		__attribute__((cold))

/* --- clock and histograms --------------------------------------------------- */

/* A power of two is divided into so many buckets: values are off by less than 2 %. */
#define HIST_STEPS	64
#define HIST_BUCKETS	(42 * HIST_STEPS)

/**
 * struct hist - how long each of many operations took, in ticks
 * @count: how many there are
 * @sum: of all
 * @min: the least
 * @max: the most
 * @bucket: how many there are in each range of values
 */
struct hist {
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

extern bool clock_tsc;

void clock_init(void);
double clock_ns(double ticks);
uint64_t clock_from_ns(uint64_t ns);

static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	if (clock_tsc)
		return __rdtsc();
#endif
	return now_ns();
}

/*
 * Values below HIST_STEPS have a bucket each. From there on each power of two has
 * HIST_STEPS of them: @shift is how many low bits do not count.
 */
static inline unsigned int hist_index(uint64_t ticks)
{
	unsigned int shift, i;

	if (ticks < HIST_STEPS)
		return (unsigned int)ticks;
	shift = 57U - (unsigned int)__builtin_clzll(ticks);
	i = (shift + 1) * HIST_STEPS + (unsigned int)((ticks >> shift) - HIST_STEPS);
	return i < HIST_BUCKETS ? i : HIST_BUCKETS - 1;
}

static inline void hist_add(struct hist *h, uint64_t ticks)
{
	if (!h->count || ticks < h->min)
		h->min = ticks;
	if (ticks > h->max)
		h->max = ticks;
	h->count++;
	h->sum += ticks;
	h->bucket[hist_index(ticks)]++;
}

void hist_merge(struct hist *to, const struct hist *from);
uint64_t hist_percentile(const struct hist *h, double percent);
uint64_t hist_bucket_start(unsigned int i);

/* --- what to do -------------------------------------------------------------- */

enum measure {
	LAT = 1,
	BW = 2,
	RATE = 4,
	OVERLAP = 8,
};

/**
 * struct config - what the user wants
 * @nic: the initiators' NIC
 * @peer_device: N of /dev/kgniN of the targets
 * @size: sizes, @sizes of them; none: what is usual
 * @iterations: how often; 0: what is usual
 * @warmup: how often before that; UINT64_MAX: a tenth
 * @time: instead of @iterations, ns
 * @window: posts or messages under way at once
 * @pairs: pairs of processes
 * @cpu: CPUs that they go to, in turn; @cpus of them
 * @pin: stay on them
 * @amo: command, and its name
 * @endpoints: endpoints that are used in turn
 * @regions: registrations that are used in turn
 * @silent: no source events
 * @remote_event: the target waits for events, not for bytes
 * @huge: huge pages
 * @check: check all bytes
 */
struct config {
	struct nic_opts nic;
	uint32_t peer_device;
	uint64_t size[PERF_SIZES];
	uint32_t sizes;
	uint64_t iterations;
	uint64_t warmup;
	uint64_t time;
	uint32_t window;
	uint32_t pairs;
	uint32_t cpu[2 * PERF_PAIRS];
	uint32_t cpus;
	bool pin;
	const struct amo *amo;
	uint32_t endpoints;
	uint32_t regions;
	bool silent;
	bool remote_event;
	bool huge;
	bool check;
};

/**
 * struct amo - an atomic operation
 * @name: as on the command line
 * @cmd: command
 * @size: bytes of the operand
 * @adds: the operand is added, so the target's memory tells how many there were
 */
struct amo {
	const char *name;
	gni_fma_cmd_type_t cmd;
	uint8_t size;
	bool adds;
};

struct proc;
struct phase;

/**
 * struct op - something to measure
 * @name: as on the command line
 * @what: in words
 * @measures: those that make sense
 * @type: of posts
 * @multiple: sizes are multiples of it; 0 if there are none
 * @max: largest size
 * @two_way: latency is half of there and back
 * @all: all processes take part, not pairs
 * @setup: make what the operation needs, before processes meet
 * @connect: the same, after they have
 * @begin: before each phase
 * @run: a phase, by both sides
 * @verify: after each phase
 * @send: of messages: one by this endpoint
 * @receive: of messages: number @i of a phase, and see that it is the one
 * @barrier: of barriers: number @i
 * @end: undo @setup and @connect
 */
struct op {
	const char *name;
	const char *what;
	unsigned int measures;
	gni_post_type_t type;
	uint32_t multiple;
	uint64_t max;
	bool two_way;
	bool all;
	int (*setup)(struct proc *p);
	int (*connect)(struct proc *p);
	int (*begin)(struct proc *p, struct phase *ph);
	int (*run)(struct proc *p, struct phase *ph);
	int (*verify)(struct proc *p, struct phase *ph);
	int (*send)(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size);
	int (*receive)(struct proc *p, struct phase *ph, uint64_t i);
	int (*barrier)(struct proc *p, uint64_t i);
	void (*end)(struct proc *p);
};

extern const struct op post_ops[], msg_ops[], reg_ops[], barrier_ops[];

/* --- what processes share ---------------------------------------------------- */

/**
 * struct sample - what one process measured for one size
 * @ops: operations
 * @start: when they began, ticks
 * @end: when they were over
 * @transfer: overlap: a transfer alone, ticks
 * @compute: a computation alone
 * @during: the same computation during a transfer
 * @total: both at once
 * @hist: how long each took, if that was measured
 */
struct sample {
	uint64_t ops;
	uint64_t start;
	uint64_t end;
	double transfer;
	double compute;
	double during;
	double total;
	struct hist hist;
};

/**
 * struct side - where a process's memory is
 * @pe: address of its NIC
 * @inst: instance id
 * @data_addr: data region
 * @mbox_addr: region of mailboxes
 * @mbox: its handle
 * @data: registrations of the data region, used in turn
 * @node: message queue of the first process of a node: what the other node is told
 * @channel: barrier: numbers of the first process's channels
 * @come: barriers that it has come to
 * @fault: what went wrong
 * @limit: of an initiator: how many operations there are, once that is known
 * @apart: from what the next process writes
 */
struct side {
	uint32_t pe;
	uint32_t inst;
	uint64_t data_addr;
	uint64_t mbox_addr;
	gni_mem_handle_t mbox;
	gni_mem_handle_t data[PERF_REGIONS];
	gni_msgq_ep_attr_t node;
	uint32_t channel[PERF_CHANNELS];
	struct fault fault;
	atomic_uint_fast64_t come;
	atomic_uint_fast64_t limit;
	char apart[128];
};

/**
 * struct shared - memory that all processes share
 * @abort: all must end
 * @arrived: how many wait for the others
 * @generation: counts meetings
 * @side: one a process
 * @sample: of process p and size n: p * sizes + n
 */
struct shared {
	_Atomic uint32_t abort;
	_Atomic uint32_t arrived;
	_Atomic uint32_t generation;
	struct side *side;
	struct sample *sample;
};

/**
 * struct phase - operations of one size that are done in one go
 * @size: bytes
 * @n: how many, 0 if @ticks decides
 * @ticks: for how long
 * @seed: of the data
 * @sample: what was measured
 */
struct phase {
	uint64_t size;
	uint64_t n;
	uint64_t ticks;
	uint64_t seed;
	struct sample *sample;
};

/**
 * struct proc - a process
 * @cfg: what to do
 * @op: operation
 * @measure: what is measured of it
 * @shared: memory shared by all
 * @me: this process's part of it
 * @peer: the other one of the pair
 * @rank: number of the process
 * @initiator: it is the one that measures
 * @max: largest size
 * @spins: how often it looks before it lets others run
 * @sleeps: it sleeps until there are events: there are more processes than CPUs
 * @fault: what went wrong
 * @nic: its NIC
 * @tx: source events
 * @rx: target events
 * @ep: endpoints bound to the peer
 * @next_ep: the one whose turn it is
 * @data: two buffers of @max bytes: what is sent, and where things arrive
 * @extra: more registrations of it
 * @next_region: of the target's registrations, the one whose turn it is
 * @mbox: mailboxes
 * @desc: descriptors, one for each post under way
 * @unused: those that are not
 * @done: operations in all, warm-up included
 * @priv: of the operation
 */
struct proc {
	const struct config *cfg;
	const struct op *op;
	enum measure measure;
	struct shared *shared;
	struct side *me;
	struct side *peer;
	uint32_t rank;
	bool initiator;
	uint64_t max;
	uint32_t spins;
	bool sleeps;
	struct fault fault;
	struct nic nic;
	gni_cq_handle_t tx;
	gni_cq_handle_t rx;
	gni_ep_handle_t *ep;
	uint32_t next_ep;
	struct region data;
	gni_mem_handle_t *extra;
	uint32_t extras;
	uint32_t next_region;
	struct region mbox;
	gni_post_descriptor_t *desc;
	gni_post_descriptor_t **unused;
	uint64_t done;
	void *priv;
};

/**
 * struct poll - a loop that waits for something without sleeping
 * @turns: how often it looked since poll_slow()
 * @slow: how often that was called
 * @since: when it began to be long, ns
 */
struct poll {
	uint32_t turns;
	uint32_t slow;
	uint64_t since;
};

int meet(struct proc *p);
COLD bool poll_slow(struct proc *p, struct poll *w);
COLD int poll_fault(struct proc *p);
COLD int call_fault(struct proc *p, const char *call, gni_return_t rc);
gni_return_t event_sleep(gni_cq_handle_t cq, gni_cq_entry_t *event);
int post_done(struct proc *p, gni_post_descriptor_t *d);
int bind_endpoint(struct proc *p, gni_ep_handle_t ep, const struct side *to);
uint64_t phase_count(const struct config *cfg, enum measure measure, uint64_t size);
void pattern_fill(char *buf, uint64_t size, uint64_t seed);
int pattern_check(struct proc *p, const char *buf, uint64_t size, uint64_t seed);

int make_mboxes(struct proc *p, uint32_t n);
int open_mbox(struct proc *p, gni_ep_handle_t ep, uint32_t mine, const struct side *peer,
	      uint32_t theirs);
int drain(struct proc *p, gni_cq_handle_t cq);
bool msg_again(struct proc *p, struct poll *w, gni_return_t rc, const char *call);
int msg_check(struct proc *p, struct phase *ph, const void *msg, uint64_t i);
int msg_run(struct proc *p, struct phase *ph);
int smsg_send(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size);
int msgq_setup(struct proc *p);
int msgq_connect(struct proc *p);
int msgq_send(struct proc *p, gni_ep_handle_t ep, void *data, uint64_t size);
int msgq_receive(struct proc *p, struct phase *ph, uint64_t i);
void msgq_end(struct proc *p);

/* One turn of such a loop. Return: false if it is to be given up. */
static inline bool poll_turn(struct proc *p, struct poll *w)
{
	return ++w->turns < p->spins ? true : poll_slow(p, w);
}

/*
 * The next event, or a moment without one, as GNI_CqGetEvent() has it. Where processes are
 * many, those that wait must not take turns with those that work.
 */
static inline gni_return_t event_wait(struct proc *p, gni_cq_handle_t cq, gni_cq_entry_t *event)
{
	return p->sleeps ? event_sleep(cq, event) : GNI_CqGetEvent(cq, event);
}

/* An operation that began at @before is over. Return: when that was, ticks. */
static inline uint64_t sample_lap(struct sample *s, uint64_t before)
{
	uint64_t now = clock_ticks();

	hist_add(&s->hist, now - before);
	s->ops++;
	return now;
}

/* Is operation @i the last one? */
static inline bool run_last(const struct phase *ph, uint64_t i, uint64_t now)
{
	return ph->n ? i + 1 >= ph->n : now - ph->sample->start >= ph->ticks;
}

static inline uint64_t limit_of(const struct side *s)
{
	return atomic_load_explicit(&s->limit, memory_order_acquire);
}

/* What is sent, and where things arrive. */
static inline char *out_buf(const struct proc *p)
{
	return p->data.addr;
}

static inline char *in_buf(const struct proc *p)
{
	return p->data.addr + p->data.length / 2;
}

/**
 * struct row - a result
 * @op: operation
 * @measure: what was measured of it
 * @size: bytes
 * @pairs: pairs
 * @sample: of all pairs together: operations and histogram added up
 * @seconds: from the first one's begin to the last one's end
 */
struct row {
	const struct op *op;
	enum measure measure;
	uint64_t size;
	uint32_t pairs;
	struct sample sample;
	double seconds;
};

int measure(const struct config *cfg, const struct op *op, enum measure m, struct row *rows,
	    struct fault *f);

/* --- output ------------------------------------------------------------------ */

const char *measure_name(enum measure m);
double row_us(const struct row *r, double ticks);
double row_mb_per_s(const struct row *r);
double row_per_s(const struct row *r);
void table_print(FILE *f, const struct config *cfg, const struct row *rows, uint32_t n,
		 bool histogram);
void csv_print(FILE *f, const struct row *rows, uint32_t n);
void json_print(FILE *f, const struct config *cfg, const struct row *rows, uint32_t n,
		bool histogram);
void plot_print(FILE *f, const struct row *rows, uint32_t n);

#endif /* _TOOLS_GNI_PERF_H */
