// SPDX-License-Identifier: GPL-2.0-only
/* Processes: they start, meet, measure size by size, and end. */

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "gni_perf.h"

#define SPINS		4096
#define LOST_NS		(20 * NS_PER_S)
#define MEET_TICK_NS	(100 * NS_PER_MS)
#define EVENT_TICK_MS	5
#define HUGE_PAGE	(2UL << 20)

/* --- waiting -------------------------------------------------------------- */

/* It has looked for a while: the others may be gone. */
bool poll_slow(struct proc *p, struct poll *w)
{
	w->turns = 0;
	if (interrupted || atomic_load(&p->shared->abort))
		return false;
	sched_yield();
	if (++w->slow * p->spins % SPINS)
		return true;
	if (!w->since)
		w->since = now_ns();
	return now_ns() - w->since < LOST_NS;
}

/* Why poll_turn() said no. */
int poll_fault(struct proc *p)
{
	if (interrupted)
		return fault_set(&p->fault, ST_INTERRUPTED, "interrupted");
	if (atomic_load(&p->shared->abort))
		return fault_set(&p->fault, ST_FAILED, "another process failed");
	return fault_set(&p->fault, ST_PEER,
			 "%s: nothing happened for %u s: the peer hangs, or something got lost",
			 p->op->name, (unsigned int)(LOST_NS / NS_PER_S));
}

int call_fault(struct proc *p, const char *call, gni_return_t rc)
{
	if (rc == GNI_RC_ERROR_RESOURCE || rc == GNI_RC_ERROR_NOMEM)
		return fault_set(&p->fault, ST_DEVICE,
				 "%s: %s: what the device, the job (gnictl job) or the limit on locked memory (ulimit -l) allow is used up; ask for less, or for fewer",
				 call, rc_name(rc));
	return fault_set(&p->fault, ST_FAILED, "%s: %s", call, rc_name(rc));
}

/* As GNI_CqGetEvent(), but sleeps for a moment if there is none. */
gni_return_t event_sleep(gni_cq_handle_t cq, gni_cq_entry_t *event)
{
	gni_return_t rc = GNI_CqWaitEvent(cq, EVENT_TICK_MS, event);

	return rc == GNI_RC_TIMEOUT || (rc && interrupted) ? GNI_RC_NOT_DONE : rc;
}

static void futex(_Atomic uint32_t *word, int op, uint32_t value)
{
	const struct timespec tick = { .tv_nsec = (long)MEET_TICK_NS };

	syscall(SYS_futex, word, op, value, &tick, NULL, 0);
}

static void abort_all(struct shared *s)
{
	atomic_store(&s->abort, 1);
	futex(&s->generation, FUTEX_WAKE, INT32_MAX);
}

/* Wait, asleep, for all processes to come here. */
int meet(struct proc *p)
{
	struct shared *s = p->shared;
	uint32_t generation = atomic_load(&s->generation);

	if (atomic_fetch_add(&s->arrived, 1) + 1 == 2 * p->cfg->pairs) {
		atomic_store(&s->arrived, 0);
		atomic_fetch_add(&s->generation, 1);
		futex(&s->generation, FUTEX_WAKE, INT32_MAX);
	}
	while (atomic_load(&s->generation) == generation) {
		if (interrupted || atomic_load(&s->abort))
			return poll_fault(p);
		futex(&s->generation, FUTEX_WAIT, generation);
	}
	return ST_OK;
}

/* --- data ----------------------------------------------------------------- */

static uint8_t pattern(uint64_t at, uint64_t seed)
{
	return (uint8_t)(seed + at * 7 + (at >> 8) * 13);
}

void pattern_fill(char *buf, uint64_t size, uint64_t seed)
{
	uint64_t i;

	for (i = 0; i < size; i++)
		buf[i] = (char)pattern(i, seed);
}

int pattern_check(struct proc *p, const char *buf, uint64_t size, uint64_t seed)
{
	uint64_t i;

	for (i = 0; i < size; i++)
		if ((uint8_t)buf[i] != pattern(i, seed))
			return fault_set(&p->fault, ST_FAILED,
					 "%s: wrong data: byte %llu of %llu is 0x%02x, not 0x%02x",
					 p->op->name, (unsigned long long)i,
					 (unsigned long long)size, (uint8_t)buf[i],
					 pattern(i, seed));
	return ST_OK;
}

/* --- a process's things --------------------------------------------------- */

static int pin(struct proc *p)
{
	uint32_t cpu = p->cfg->cpu[p->rank % p->cfg->cpus];
	cpu_set_t set;

	if (!p->cfg->pin)
		return ST_OK;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return ST_OK;
	return fault_set(&p->fault, ST_USAGE,
			 "cannot run on CPU %u: %s; -c names CPUs, --no-pin does without",
			 cpu, strerror(errno));
}

static int make_queues(struct proc *p)
{
	gni_cq_mode_t mode = p->sleeps ? GNI_CQ_BLOCKING : GNI_CQ_NOBLOCK;
	uint32_t entries = 4 * p->cfg->window + 64;
	gni_return_t rc;
	uint32_t i;

	rc = GNI_CqCreate(p->nic.hndl, entries, 0, mode, NULL, NULL, &p->tx);
	if (!rc)
		rc = GNI_CqCreate(p->nic.hndl, entries, 0, mode, NULL, NULL, &p->rx);
	if (rc)
		return call_fault(p, "GNI_CqCreate", rc);
	p->ep = calloc(p->cfg->endpoints, sizeof(*p->ep));
	for (i = 0; p->ep && i < p->cfg->endpoints && !rc; i++)
		rc = GNI_EpCreate(p->nic.hndl, p->tx, &p->ep[i]);
	return rc || !p->ep ? call_fault(p, "GNI_EpCreate", rc ? rc : GNI_RC_ERROR_NOMEM) : ST_OK;
}

/* Memory on a boundary of huge pages, touched. */
static int make_memory(struct proc *p)
{
	uint64_t half = (p->max + 4095) & ~4095ULL;
	char *mem;

	if (p->cfg->huge)
		half = (half + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	p->data = (struct region){ .nic = &p->nic, .length = 2 * half };
	mem = mmap(NULL, 2 * half + HUGE_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return fault_set(&p->fault, ST_FAILED, "out of memory (%s)", fmt_size(2 * half));
	p->data.addr = (char *)(((uintptr_t)mem + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	if (p->cfg->huge && madvise(p->data.addr, 2 * half, MADV_HUGEPAGE))
		return fault_set(&p->fault, ST_FAILED, "--huge: no huge pages here: %s",
				 strerror(errno));
	memset(p->data.addr, 0, 2 * half);
	return ST_OK;
}

static gni_return_t register_data(struct proc *p, gni_mem_handle_t *mdh)
{
	return GNI_MemRegister(p->nic.hndl, (uintptr_t)p->data.addr, p->data.length, p->rx,
			       GNI_MEM_READWRITE, (uint32_t)-1, mdh);
}

/*
 * Where several registrations are asked for, it is the targets of posts that have
 * them; of other operations, the initiators.
 */
static int make_regions(struct proc *p)
{
	uint32_t n = p->initiator == !p->op->type ? p->cfg->regions : 1;
	gni_return_t rc = register_data(p, &p->data.mdh);

	p->me->data[0] = p->data.mdh;
	p->extra = calloc(n, sizeof(*p->extra));
	if (!p->extra)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	while (!rc && p->extras + 1 < n) {
		rc = register_data(p, &p->extra[p->extras]);
		if (!rc) {
			p->me->data[p->extras + 1] = p->extra[p->extras];
			p->extras++;
		}
	}
	return rc ? call_fault(p, "GNI_MemRegister", rc) : ST_OK;
}

int bind_endpoint(struct proc *p, gni_ep_handle_t ep, const struct side *to)
{
	gni_return_t rc = GNI_EpBind(ep, to->pe, to->inst);

	return rc ? call_fault(p, "GNI_EpBind", rc) : ST_OK;
}

static int set_up(struct proc *p)
{
	struct nic_opts o = p->cfg->nic;
	uint32_t i;

	if (!p->initiator)
		o.device = p->cfg->peer_device;
	if (pin(p) || nic_open(&p->nic, &o, (uint32_t)getpid(), &p->fault) ||
	    make_queues(p) || make_memory(p) || make_regions(p))
		return p->fault.status;
	p->me->pe = p->nic.pe;
	p->me->inst = p->nic.inst;
	p->me->data_addr = (uintptr_t)p->data.addr;
	if ((p->op->setup && p->op->setup(p)) || meet(p))
		return p->fault.status;
	for (i = 0; i < p->cfg->endpoints; i++)
		if (bind_endpoint(p, p->ep[i], p->peer))
			return p->fault.status;
	return p->op->connect ? p->op->connect(p) : ST_OK;
}

/* What GNI_CdmDestroy() would do as well, but for the memory. */
static void tear_down(struct proc *p)
{
	uint32_t i;

	if (p->op->end)
		p->op->end(p);
	for (i = 0; p->ep && i < p->cfg->endpoints; i++)
		if (p->ep[i])
			GNI_EpDestroy(p->ep[i]);
	for (i = 0; i < p->extras; i++)
		GNI_MemDeregister(p->nic.hndl, &p->extra[i]);
	region_free(&p->mbox);
	nic_close(&p->nic);
	free(p->ep);
	free(p->extra);
}

/* --- measuring ------------------------------------------------------------ */

/* How often an operation is done, if the user does not say. */
static uint64_t usual_count(enum measure measure, uint64_t size)
{
	uint64_t few = measure == OVERLAP ? 5 : 20, many = measure == OVERLAP ? 20 : 10000;
	uint64_t n = (256ULL << 20) / (size + 1);

	if (n > many)
		n = many;
	return n < few ? few : n;
}

uint64_t phase_count(const struct config *cfg, enum measure measure, uint64_t size)
{
	return cfg->iterations ? cfg->iterations : usual_count(measure, size);
}

static int run_phase(struct proc *p, struct phase *ph)
{
	memset(ph->sample, 0, sizeof(*ph->sample));
	atomic_store(&p->me->limit, UINT64_MAX);
	if ((p->op->begin && p->op->begin(p, ph)) || meet(p))
		return p->fault.status;
	ph->sample->start = clock_ticks();
	if (p->op->run(p, ph) || meet(p))
		return p->fault.status;
	p->done += ph->sample->ops;
	if ((p->op->verify && p->op->verify(p, ph)) || meet(p))
		return p->fault.status;
	return ST_OK;
}

/* Each registration is posted to often enough for all that it needs to be there. */
#define ENOUGH		4

static uint64_t usual_warmup(const struct config *cfg, uint64_t n)
{
	uint64_t all = ENOUGH * (uint64_t)cfg->regions;

	return n / 10 + 1 > all ? n / 10 + 1 : all;
}

static int run_size(struct proc *p, uint64_t size, struct sample *sample)
{
	uint64_t n = phase_count(p->cfg, p->measure, size);
	struct phase ph = { .size = size, .sample = sample };

	ph.n = p->cfg->warmup == UINT64_MAX ? usual_warmup(p->cfg, n) : p->cfg->warmup;
	if (ph.n && run_phase(p, &ph))
		return p->fault.status;
	ph.n = p->cfg->time ? 0 : n;
	ph.ticks = clock_from_ns(p->cfg->time);
	ph.seed++;
	return run_phase(p, &ph);
}

static void child(struct proc *p)
{
	struct sample *sample = p->shared->sample + (size_t)p->rank * p->cfg->sizes;
	uint32_t i;

	/* The parent may die; then so does this. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_up(p);
	for (i = 0; i < p->cfg->sizes && !p->fault.status; i++)
		run_size(p, p->cfg->size[i], &sample[i]);
	p->me->fault = p->fault;
	if (p->fault.status)
		abort_all(p->shared);
	tear_down(p);
	_exit(p->fault.status);
}

/* --- the parent ----------------------------------------------------------- */

static struct shared *shared_new(const struct config *cfg)
{
	size_t procs = 2 * cfg->pairs;
	size_t sides = procs * sizeof(struct side);
	size_t samples = procs * cfg->sizes * sizeof(struct sample);
	char *mem = mmap(NULL, 4096 + sides + samples, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shared *s = (struct shared *)mem;

	if (mem == MAP_FAILED)
		return NULL;
	s->side = (struct side *)(mem + 4096);
	s->sample = (struct sample *)(mem + 4096 + sides);
	return s;
}

static void shared_free(const struct config *cfg, struct shared *s)
{
	size_t procs = 2 * cfg->pairs;

	munmap(s, 4096 + procs * sizeof(struct side) +
	       procs * cfg->sizes * sizeof(struct sample));
}

static uint64_t largest(const struct config *cfg)
{
	uint64_t max = 64;
	uint32_t i;

	for (i = 0; i < cfg->sizes; i++)
		if (cfg->size[i] > max)
			max = cfg->size[i];
	return max;
}

static void start(const struct config *cfg, const struct op *op, enum measure m,
		  struct shared *s, uint32_t rank)
{
	struct proc p = {
		.cfg = cfg,
		.op = op,
		.measure = m,
		.shared = s,
		.rank = rank,
		.initiator = rank % 2 == 0,
		.me = &s->side[rank],
		.peer = &s->side[rank ^ 1],
		.max = largest(cfg),
		.sleeps = 2 * cfg->pairs > cfg->cpus,
	};

	p.spins = p.sleeps ? 16 : SPINS;
	child(&p);
}

/* The first fault that is not only another one's consequence. */
static void find_fault(const struct config *cfg, const struct shared *s, struct fault *f)
{
	uint32_t i;

	for (i = 0; i < 2 * cfg->pairs; i++) {
		const struct fault *g = &s->side[i].fault;

		if (g->status && strcmp(g->text, "another process failed"))
			fault_set(f, g->status, "%s", g->text);
	}
}

/* Wait for all @n children. A signal to the parent alone is one to all. */
static void reap(const struct config *cfg, struct shared *s, uint32_t n, struct fault *f)
{
	int status = 0;

	while (n--) {
		while (wait(&status) < 0 && errno == EINTR)
			abort_all(s);
		if (WIFSIGNALED(status)) {
			abort_all(s);
			fault_set(f, ST_FAILED, "a process was killed by signal %d",
				  WTERMSIG(status));
		}
	}
	if (interrupted)
		fault_set(f, ST_INTERRUPTED, "interrupted");
	find_fault(cfg, s, f);
}

static void collect(const struct config *cfg, const struct op *op, enum measure m,
		    const struct shared *s, struct row *rows)
{
	uint32_t i, k;

	for (i = 0; i < cfg->sizes; i++) {
		struct row *r = &rows[i];
		struct sample *sum = &r->sample;

		*r = (struct row){ .op = op, .measure = m, .size = cfg->size[i],
				   .pairs = cfg->pairs };
		for (k = 0; k < 2 * cfg->pairs; k += 2) {
			const struct sample *x = &s->sample[(size_t)k * cfg->sizes + i];

			hist_merge(&sum->hist, &x->hist);
			sum->ops += x->ops;
			if (!k || x->start < sum->start)
				sum->start = x->start;
			if (x->end > sum->end)
				sum->end = x->end;
			sum->transfer += x->transfer / cfg->pairs;
			sum->compute += x->compute / cfg->pairs;
			sum->during += x->during / cfg->pairs;
			sum->total += x->total / cfg->pairs;
		}
		r->seconds = clock_ns((double)(sum->end - sum->start)) / (double)NS_PER_S;
	}
}

/**
 * measure - measure one thing for all sizes
 * @cfg: how
 * @op: operation
 * @m: what of it
 * @rows: out: a result for each size
 * @f: what went wrong
 *
 * Return: ST_OK or the fault's status.
 */
int measure(const struct config *cfg, const struct op *op, enum measure m, struct row *rows,
	    struct fault *f)
{
	struct shared *s = shared_new(cfg);
	pid_t pid;
	uint32_t n;

	if (!s)
		return fault_set(f, ST_FAILED, "out of memory");
	fflush(stdout);
	for (n = 0; n < 2 * cfg->pairs; n++) {
		pid = fork();
		if (!pid)
			start(cfg, op, m, s, n);
		if (pid < 0) {
			fault_set(f, ST_FAILED, "fork: %s", strerror(errno));
			abort_all(s);
			break;
		}
	}
	reap(cfg, s, n, f);
	if (!f->status)
		collect(cfg, op, m, s, rows);
	shared_free(cfg, s);
	return f->status;
}
