/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts of fuzz share. common_fuzz_plan.c makes the plan of a round
 * from its seed, common_fuzz_kcov.c tells what a round reached,
 * common_fuzz_call.c makes the calls, common_fuzz_act.c all else that a process
 * does, common_fuzz_race.c has the races, and fuzz.c runs rounds.
 */
#ifndef KGNI_VM_COMMON_FUZZ_H
#define KGNI_VM_COMMON_FUZZ_H

#include "common.h"

#define PROCS		4	/* processes of a round */
#define THREADS		2	/* of each; a race has one process with SIDES */
#define SIDES		3
#define LANES		(PROCS * THREADS)
#define GENES		384	/* steps of a thread at most */
#define TROUBLES	8
#define FILES		10
#define RINGS		4
#define HANDLES		64
#define OWN		16
#define LAST_CODE	GNI_RC_ERROR_NOMEM
#define CALLS		40

/* --- plans --------------------------------------------------------------------- */

/*
 * What a step does follows from random draws that start at its seed. The tweak,
 * if there is one, replaces one of these draws by another.
 */
struct gene {
	uint32_t seed;
	uint32_t tweak;
};

enum trouble_kind {
	KILL,
	KILL_AND_RESTART,
	STOP_FOR_A_WHILE,
	INTERRUPT,
	TROUBLE_KINDS
};

/* Something that happens to a process once it has made so many steps. */
struct trouble {
	enum trouble_kind kind;
	unsigned int proc;
	unsigned int after;
};

/* A process: who it is, which job is its own, how many pages it may lock (0: any). */
struct who {
	uint32_t uid;
	uint32_t cookie;
	uint32_t pages;
};

struct plan {
	unsigned int race;	/* 0: everyone for himself, else number of a race */
	unsigned int procs;
	struct who who[PROCS];
	unsigned int count[LANES];
	struct gene genes[LANES][GENES];
	unsigned int troubles;
	struct trouble trouble[TROUBLES];
};

#define LINEAGE_MAX	24
#define LINEAGE_TEXT	(LINEAGE_MAX * 9 + 1)

/* The seed of a round: a number, and one for each change that was made to it. */
struct lineage {
	unsigned int n;
	uint32_t word[LINEAGE_MAX];
};

void plan_make(struct plan *plan, const struct lineage *l);
void lineage_print(const struct lineage *l, char text[LINEAGE_TEXT]);
bool lineage_parse(struct lineage *l, const char *text);
/* The lineage of the next round; @index makes those that have no parent. */
void lineage_next(struct lineage *l, uint32_t start, uint64_t index, bool guided);
/* This one reached something new. */
void corpus_add(const struct lineage *l);
unsigned int corpus_size(void);

/* Draws of the calling thread. */
void draw_begin(struct gene gene);
uint32_t draw(void);
uint32_t below(uint32_t n);
bool one_in(uint32_t n);
uint64_t draw64(void);
uint64_t odd_number(void);
uint64_t mostly(uint32_t n);	/* mostly below n */

/* --- what all processes of a run share ----------------------------------------- */

#define TEXT_MAX	(1U << 20)	/* bytes of the module's code */
#define EDGES		(1U << 16)

/* A registration that a process told others of; it may be gone. */
struct seen {
	struct kgni_mem_handle mh;
	uint64_t addr;
	uint64_t len;
	uint32_t pe;
	uint32_t cookie;
};

/* Torn values are welcome. */
struct world {
	struct plan plan;
	struct seen seen[HANDLES];
	unsigned int devices;
	bool faults;
	int memfd;
	int hugefd;
	int eventfd;
	int mailbox[2];
	_Atomic bool stop;		/* the one who must not notice shall end */
	_Atomic uint64_t outside;
	_Atomic unsigned int progress[PROCS];
	_Atomic uint64_t codes[CALLS][LAST_CODE + 2];
	_Atomic uint64_t maps;
	_Atomic uint64_t others;
	/* kcov */
	uint64_t text;
	_Atomic unsigned char pc[TEXT_MAX];
	_Atomic unsigned char edge[EDGES];
	_Atomic uint32_t pcs;
	_Atomic uint32_t edges;
	_Atomic uint32_t fresh;
};

extern struct world *world;
#define WORLD_FD	60	/* where a program that was started anew finds it */

void world_make(void);
void world_find(void);

/* --- coverage ------------------------------------------------------------------ */

bool kcov_open(void);			/* before processes are made; false: no KCOV here */
void kcov_begin(unsigned int lane);	/* the calling thread is traced from now on */
void kcov_step(void);			/* note what it reached since the last time */
void kcov_round(void);			/* note what workers of the driver reached */
void kcov_print(void);

/* --- a process ----------------------------------------------------------------- */

/* Where areas and rings lie: far from all else, so that near misses hit nothing. */
#define AREA_MAX	(8UL << 20)
#define RING_MAX	(16UL << 20)
#define ARENA		(AREAS * AREA_MAX + THREADS * RINGS * RING_MAX)

enum area_kind {
	ANON,		/* private */
	MEMFD,		/* shared by all processes, truncated now and then */
	READ_ONLY,
	HUGE,		/* private, of huge pages if the kernel likes */
	PIECES,		/* a page each of this and that */
	FORKED,		/* shared memory without a file */
	HUGETLB,	/* shared by all processes; ordinary where there are no huge pages */
	AREAS
};

struct area {
	unsigned char *mem;
	size_t len;
};

struct ring {
	unsigned char *mem;
	size_t len;
};

struct own_mem {
	int fd;
	uint32_t flags;
	struct kgni_mem_handle mh;
	uint64_t addr;
	uint64_t len;
};

struct own_cq {
	int fd;
	uint64_t offset;
	size_t len;
};

/* One process's: also torn. */
extern unsigned char *arena;
extern struct area areas[AREAS];
extern _Atomic int files[FILES];
extern struct own_mem own_mem[OWN];
extern struct own_cq own_cq[OWN];
extern struct who self;
/* One thread's. */
extern __thread struct ring rings[RINGS];
extern __thread unsigned int thread_index;
extern __thread bool is_child;

int some_file(void);
int some_file_or_not(void);
const struct area *some_area(void);
unsigned char *some_place(void);

/* common_fuzz_call.c */
void fill_attach(struct kgni_ioc_attach *p);
void fill_post(struct kgni_ioc_post *p, uint32_t pe);
void fault_begin(void);			/* of the calling thread, before it is another user's */
void do_call(void);
void do_wrong_call(void);
void call_setup(void);			/* an attachment of each device, with memory and queues */
void show_codes(void);
uint64_t count_calls(void);

/* common_fuzz_act.c */
void area_new(enum area_kind kind);
void set_file(unsigned int i, int fd);
void act(void);				/* one step; a wrong touch ends it */
void act_setup(void);			/* the process's memory */
int act_after_exec(int argc, char **argv);

/* common_fuzz_race.c */
unsigned int race_count(void);
const char *race_name(unsigned int race);
void race_run(const struct plan *plan);

#endif /* KGNI_VM_COMMON_FUZZ_H */
