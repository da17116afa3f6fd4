// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posts. Latency of what writes is half of there and back: each side waits until
 * the last byte of the other's data has come, or an event that tells of it. That
 * of what brings something back lasts from the post to the event at the source.
 */

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "gni_perf.h"

/* Data may still be on their way when their last byte is seen: wait for so long. */
#define CHECK_NS	(5 * NS_PER_S)

/* --- one post --------------------------------------------------------------- */

static gni_post_descriptor_t describe(const struct proc *p, uint64_t size)
{
	bool writes = p->op->type != GNI_POST_FMA_GET && p->op->type != GNI_POST_RDMA_GET;

	return (gni_post_descriptor_t){
		.type = p->op->type,
		.cq_mode = p->cfg->silent ? GNI_CQMODE_SILENT : GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)(writes ? out_buf(p) : in_buf(p)),
		.local_mem_hndl = p->data.mdh,
		.remote_addr = p->peer->data_addr + (writes ? p->data.length / 2 : 0),
		.remote_mem_hndl = p->peer->data[0],
		.length = size,
		.amo_cmd = p->cfg->amo->cmd,
		.first_operand = 1,
	};
}

/* Endpoints and registrations take turns; without divisions, some of which are slow. */
static gni_return_t post_next(struct proc *p, gni_post_descriptor_t *d)
{
	gni_ep_handle_t ep = p->ep[p->next_ep];

	if (++p->next_ep == p->cfg->endpoints)
		p->next_ep = 0;
	if (p->initiator && p->cfg->regions > 1) {
		d->remote_mem_hndl = p->peer->data[p->next_region];
		if (++p->next_region == p->cfg->regions)
			p->next_region = 0;
	}
	return post(ep, d);
}

static COLD int post_fault(struct proc *p, gni_return_t rc, gni_cq_entry_t event)
{
	char why[100];

	if (rc != GNI_RC_TRANSACTION_ERROR)
		return call_fault(p, p->op->name, rc);
	/* What it needs of another process may have gone with that. */
	if (atomic_load(&p->shared->abort))
		return poll_fault(p);
	event_text(event, why, sizeof(why));
	return fault_set(&p->fault, ST_PEER, "%s: %s", p->op->name, why);
}

/* @rc: what came of asking for an event. Take the descriptor, if there is one. */
static int taken(struct proc *p, gni_return_t rc, gni_cq_entry_t event,
		 gni_post_descriptor_t **done)
{
	*done = NULL;
	if (rc == GNI_RC_NOT_DONE)
		return ST_OK;
	if (!rc)
		rc = GNI_GetCompleted(p->tx, event, done);
	return rc ? post_fault(p, rc, event) : ST_OK;
}

/* Take an event, if there is one, and the descriptor that it is of. */
static int take(struct proc *p, gni_post_descriptor_t **done)
{
	gni_cq_entry_t event = 0;
	gni_return_t rc = GNI_CqGetEvent(p->tx, &event);

	return taken(p, rc, event, done);
}

static int take_wait(struct proc *p)
{
	gni_post_descriptor_t *done = NULL;
	gni_cq_entry_t event = 0;
	struct poll w = { 0 };
	gni_return_t rc;

	do
		rc = event_wait(p, p->tx, &event);
	while (rc == GNI_RC_NOT_DONE && poll_turn(p, &w));
	if (rc == GNI_RC_NOT_DONE)
		return poll_fault(p);
	return taken(p, rc, event, &done);
}

/* Carry out one post to its end. */
int post_done(struct proc *p, gni_post_descriptor_t *d)
{
	gni_return_t rc = post(p->ep[0], d);

	return rc ? call_fault(p, p->op->name, rc) : take_wait(p);
}

static int post_and_take(struct proc *p, gni_post_descriptor_t *d)
{
	gni_return_t rc = post_next(p, d);

	return rc ? call_fault(p, p->op->name, rc) : take_wait(p);
}

/* --- latency of what brings something back --------------------------------- */

static MEASURED int run_there(struct proc *p, struct phase *ph)
{
	gni_post_descriptor_t d = describe(p, ph->size);
	uint64_t i, before = ph->sample->start;
	bool last = !p->initiator;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, before);
		if (post_and_take(p, &d))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

/* --- latency of what writes ------------------------------------------------- */

static uint8_t mark(uint64_t i)
{
	return (uint8_t)(i + 1);
}

static int wait_event(struct proc *p, gni_cq_entry_t *event)
{
	struct poll w = { 0 };
	gni_return_t rc;

	while ((rc = event_wait(p, p->rx, event)) == GNI_RC_NOT_DONE)
		if (!poll_turn(p, &w))
			return poll_fault(p);
	return rc ? call_fault(p, "GNI_CqGetEvent", rc) : ST_OK;
}

static int wait_byte(struct proc *p, uint64_t size, uint64_t i)
{
	volatile uint8_t *byte = (uint8_t *)in_buf(p) + size - 1;
	struct poll w = { 0 };

	while (*byte != mark(i))
		if (!poll_turn(p, &w))
			return poll_fault(p);
	atomic_thread_fence(memory_order_acquire);
	return ST_OK;
}

/* The bytes before the mark are what the other side sent. */
static COLD __attribute__((noinline))
int check_arrival(struct proc *p, struct phase *ph, uint64_t i)
{
	uint64_t start = now_ns();
	struct fault none = p->fault;

	while (pattern_check(p, in_buf(p), ph->size - 1, ph->seed + i)) {
		if (now_ns() - start > CHECK_NS || interrupted)
			return p->fault.status;
		p->fault = none;
		sched_yield();
	}
	return ST_OK;
}

/* Number @i of the other side's has come. */
static int wait_arrival(struct proc *p, struct phase *ph, uint64_t i)
{
	gni_cq_entry_t event;

	if (p->op->type == GNI_POST_CQWRITE) {
		if (wait_event(p, &event))
			return p->fault.status;
		if (GNI_CQ_GET_DATA(event) == i)
			return ST_OK;
		return fault_set(&p->fault, ST_FAILED,
				 "cqwrite: value %llu came in place of %llu",
				 (unsigned long long)GNI_CQ_GET_DATA(event),
				 (unsigned long long)i);
	}
	if (p->cfg->remote_event && wait_event(p, &event))
		return p->fault.status;
	if (!p->cfg->remote_event && wait_byte(p, ph->size, i))
		return p->fault.status;
	return p->cfg->check ? check_arrival(p, ph, i) : ST_OK;
}

static int send_nth(struct proc *p, struct phase *ph, gni_post_descriptor_t *d, uint64_t i)
{
	gni_return_t rc;

	d->cqwrite_value = i;
	if (p->cfg->check && p->op->type != GNI_POST_CQWRITE)
		pattern_fill(out_buf(p), ph->size - 1, ph->seed + i);
	if (p->op->type != GNI_POST_CQWRITE)
		out_buf(p)[ph->size - 1] = (char)mark(i);
	rc = post_next(p, d);
	return rc ? call_fault(p, p->op->name, rc) : ST_OK;
}

static int settle(struct proc *p)
{
	return p->cfg->silent ? ST_OK : take_wait(p);
}

static MEASURED int ping(struct proc *p, struct phase *ph, gni_post_descriptor_t *d)
{
	uint64_t i, before = ph->sample->start;
	bool last = false;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, before);
		if (last)
			atomic_store(&p->me->limit, i + 1);
		/* The event of one's own comes while the other side answers. */
		if (send_nth(p, ph, d, i) || settle(p) || wait_arrival(p, ph, i))
			return p->fault.status;
		before = sample_lap(ph->sample, before);
	}
	ph->sample->end = before;
	return ST_OK;
}

static MEASURED int pong(struct proc *p, struct phase *ph, gni_post_descriptor_t *d)
{
	uint64_t i;

	for (i = 0; i < limit_of(p->peer); i++)
		if (wait_arrival(p, ph, i) || send_nth(p, ph, d, i) || settle(p))
			return p->fault.status;
	return ST_OK;
}

static int run_there_and_back(struct proc *p, struct phase *ph)
{
	gni_post_descriptor_t d = describe(p, ph->size);

	if (p->cfg->remote_event && d.type != GNI_POST_CQWRITE)
		d.cq_mode |= GNI_CQMODE_REMOTE_EVENT;
	return p->initiator ? ping(p, ph, &d) : pong(p, ph, &d);
}

/* --- streams --------------------------------------------------------------- */

/*
 * A queue must not overrun: the target of CQ writes returns a value for every half
 * window that it has taken, and no more than a window is ever on its way.
 */
struct flood {
	uint64_t posted;
	uint64_t done;
	uint64_t acked;
	bool acks;
};

static uint64_t ack_every(const struct proc *p)
{
	return p->cfg->window < 2 ? 1 : p->cfg->window / 2;
}

static bool has_room(const struct proc *p, const struct flood *st)
{
	return st->posted - st->done < p->cfg->window &&
	       (!st->acks || st->posted - st->acked < p->cfg->window);
}

/* Return: true if it was posted, or the phase failed. */
static bool flood_post(struct proc *p, struct flood *st)
{
	gni_post_descriptor_t *d = p->unused[p->cfg->window - 1 - (st->posted - st->done)];
	gni_return_t rc;

	d->cqwrite_value = st->posted;
	rc = post_next(p, d);
	/* The device has no room for more at the moment. */
	if (rc == GNI_RC_ERROR_RESOURCE && st->posted > st->done)
		return false;
	if (rc)
		call_fault(p, p->op->name, rc);
	st->posted++;
	return true;
}

/* Take all events there are. Return: true if there was one, or the phase failed. */
static bool flood_take(struct proc *p, struct flood *st)
{
	gni_post_descriptor_t *done;
	uint64_t before = st->done;
	gni_cq_entry_t event;

	while (!take(p, &done) && done)
		p->unused[p->cfg->window - (st->posted - st->done++)] = done;
	if (st->acks && !GNI_CqGetEvent(p->rx, &event)) {
		st->acked += ack_every(p);
		return true;
	}
	return st->done != before || p->fault.status;
}

static MEASURED int flood_out(struct proc *p, struct phase *ph)
{
	struct flood st = { .acks = p->op->type == GNI_POST_CQWRITE };
	struct poll w = { 0 };
	bool last = false;

	while ((!last || st.done < st.posted) && !p->fault.status) {
		while (!last && has_room(p, &st)) {
			last = run_last(ph, st.posted, ph->n ? 0 : clock_ticks());
			if (last)
				atomic_store(&p->me->limit, st.posted + 1);
			if (!flood_post(p, &st)) {
				last = false;
				atomic_store(&p->me->limit, UINT64_MAX);
				break;
			}
		}
		if (flood_take(p, &st))
			w = (struct poll){ 0 };
		else if (!poll_turn(p, &w))
			return poll_fault(p);
	}
	ph->sample->end = clock_ticks();
	ph->sample->ops = st.done;
	return p->fault.status;
}

/* The target of CQ writes. Their values add up, in whichever order they come. */
static MEASURED int flood_in(struct proc *p, struct phase *ph)
{
	gni_post_descriptor_t ack = describe(p, 0);
	uint64_t n, sum = 0;
	gni_cq_entry_t event;

	(void)ph;
	for (n = 0; n < limit_of(p->peer); n++) {
		if (wait_event(p, &event))
			return p->fault.status;
		sum += GNI_CQ_GET_DATA(event);
		if ((n + 1) % ack_every(p) == 0 && post_and_take(p, &ack))
			return p->fault.status;
	}
	if (sum != n * (n - 1) / 2)
		return fault_set(&p->fault, ST_FAILED, "cqwrite: values got lost or came twice");
	return ST_OK;
}

static int run_flood(struct proc *p, struct phase *ph)
{
	uint32_t i;

	if (!p->initiator)
		return p->op->type == GNI_POST_CQWRITE ? flood_in(p, ph) : ST_OK;
	for (i = 0; i < p->cfg->window; i++) {
		p->desc[i] = describe(p, ph->size);
		p->unused[i] = &p->desc[i];
	}
	return flood_out(p, ph);
}

/* --- overlap --------------------------------------------------------------- */

#define WORK_NS		(50 * NS_PER_MS)

/* A computation that leaves memory alone. */
static uint64_t compute(uint64_t units)
{
	uint64_t x = 88172645463325252ULL;

	while (units--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r" (x));
	}
	return x;
}

/* Units of computation in a tick. */
static double compute_speed(void)
{
	uint64_t units = 1000, start, took;

	for (;; units *= 2) {
		start = clock_ticks();
		compute(units);
		took = clock_ticks() - start;
		if (took > clock_from_ns(WORK_NS))
			return (double)units / (double)took;
	}
}

/* Posts, computes, waits: ticks of the computation and of everything. */
static int both(struct proc *p, gni_post_descriptor_t *d, uint64_t units, struct hist *during,
		struct hist *total)
{
	uint64_t start = clock_ticks(), begun;
	gni_return_t rc = post_next(p, d);

	if (rc)
		return call_fault(p, p->op->name, rc);
	begun = clock_ticks();
	compute(units);
	hist_add(during, clock_ticks() - begun);
	if (take_wait(p))
		return p->fault.status;
	hist_add(total, clock_ticks() - start);
	return ST_OK;
}

static double median(const struct hist *h)
{
	return (double)hist_percentile(h, 50);
}

static int transfers(struct proc *p, struct phase *ph, gni_post_descriptor_t *d,
		     struct hist *alone)
{
	uint64_t i, start = clock_ticks();
	bool last = false;

	for (i = 0; !last; i++) {
		last = ph->n ? i + 1 >= ph->n : start - ph->sample->start >= ph->ticks / 3;
		if (post_and_take(p, d))
			return p->fault.status;
		hist_add(alone, clock_ticks() - start);
		start = clock_ticks();
	}
	return ST_OK;
}

/* Transfers alone; then in turn the computation that takes as long, and both at once. */
static int overlap(struct proc *p, struct phase *ph, gni_post_descriptor_t *d,
		   struct hist hist[4])
{
	double speed = compute_speed();
	struct sample *s = ph->sample;
	uint64_t units, start;
	bool last = false;

	if (transfers(p, ph, d, &hist[0]))
		return p->fault.status;
	units = (uint64_t)(median(&hist[0]) * speed) + 1;
	while (!last) {
		start = clock_ticks();
		last = run_last(ph, s->ops++, start);
		compute(units);
		hist_add(&hist[1], clock_ticks() - start);
		if (both(p, d, units, &hist[2], &hist[3]))
			return p->fault.status;
	}
	s->end = clock_ticks();
	s->transfer = median(&hist[0]);
	s->compute = median(&hist[1]);
	s->during = median(&hist[2]);
	s->total = median(&hist[3]);
	return ST_OK;
}

static int run_overlap(struct proc *p, struct phase *ph)
{
	gni_post_descriptor_t d = describe(p, ph->size);
	struct hist *hist;

	if (!p->initiator)
		return ST_OK;
	hist = calloc(4, sizeof(*hist));
	if (!hist)
		return call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
	overlap(p, ph, &d, hist);
	free(hist);
	return p->fault.status;
}

/* --- all of them ----------------------------------------------------------- */

static int post_setup(struct proc *p)
{
	p->desc = calloc(p->cfg->window, sizeof(*p->desc));
	p->unused = calloc(p->cfg->window, sizeof(*p->unused));
	return p->desc && p->unused ? ST_OK : call_fault(p, "memory", GNI_RC_ERROR_NOMEM);
}

static void post_end(struct proc *p)
{
	free(p->desc);
	free(p->unused);
}

static bool gets(const struct proc *p)
{
	return p->op->type == GNI_POST_FMA_GET || p->op->type == GNI_POST_RDMA_GET;
}

/* What arrives is not what was there before. */
static int post_begin(struct proc *p, struct phase *ph)
{
	memset(in_buf(p), 0, ph->size);
	if (p->cfg->check && p->initiator != gets(p))
		pattern_fill(out_buf(p), ph->size, ph->seed);
	return ST_OK;
}

/* What the target of a stream returned last, nobody waited for. */
static int cqwrite_begin(struct proc *p, struct phase *ph)
{
	gni_cq_entry_t event;

	(void)ph;
	while (!GNI_CqGetEvent(p->rx, &event))
		;
	return ST_OK;
}

static int post_run(struct proc *p, struct phase *ph)
{
	if (p->measure == OVERLAP)
		return run_overlap(p, ph);
	if (p->measure != LAT)
		return run_flood(p, ph);
	return p->op->two_way ? run_there_and_back(p, ph) : run_there(p, ph);
}

/* Whoever has the data now; there and back they were checked each time. */
static int post_verify(struct proc *p, struct phase *ph)
{
	if (!p->cfg->check || p->initiator != gets(p) || (p->measure == LAT && p->op->two_way))
		return ST_OK;
	return pattern_check(p, in_buf(p), ph->size, ph->seed);
}

/* How many were added in all is what the initiator counted in this phase. */
static int amo_verify(struct proc *p, struct phase *ph)
{
	/* The initiator is the process before this one. */
	const struct sample *s = ph->sample - p->cfg->sizes;
	uint64_t value = 0;

	if (p->initiator || !p->cfg->amo->adds)
		return ST_OK;
	memcpy(&value, in_buf(p), p->cfg->amo->size);
	if (value == (p->cfg->amo->size == 8 ? s->ops : (uint32_t)s->ops))
		return ST_OK;
	return fault_set(&p->fault, ST_FAILED, "amo: %llu were done, memory says %llu",
			 (unsigned long long)s->ops, (unsigned long long)value);
}

#define ANY_SIZE	(1ULL << 31)
#define COMMON		.setup = post_setup, .begin = post_begin, .run = post_run,	\
			.verify = post_verify, .end = post_end

const struct op post_ops[] = {
	{ .name = "put", .what = "FMA put", .measures = LAT | BW | RATE | OVERLAP,
	  .type = GNI_POST_FMA_PUT, .multiple = 1, .max = ANY_SIZE, .two_way = true, COMMON },
	{ .name = "get", .what = "FMA get", .measures = LAT | BW | RATE | OVERLAP,
	  .type = GNI_POST_FMA_GET, .multiple = 4, .max = ANY_SIZE, COMMON },
	{ .name = "amo", .what = "atomic operation", .measures = LAT | RATE,
	  .type = GNI_POST_AMO, .setup = post_setup, .begin = post_begin, .run = post_run,
	  .verify = amo_verify, .end = post_end },
	{ .name = "cqwrite", .what = "CQ write", .measures = LAT | RATE,
	  .type = GNI_POST_CQWRITE, .two_way = true, .setup = post_setup,
	  .begin = cqwrite_begin, .run = post_run, .end = post_end },
	{ .name = "rdma-put", .what = "RDMA put", .measures = LAT | BW | RATE | OVERLAP,
	  .type = GNI_POST_RDMA_PUT, .multiple = 1, .max = ANY_SIZE, .two_way = true, COMMON },
	{ .name = "rdma-get", .what = "RDMA get", .measures = LAT | BW | RATE | OVERLAP,
	  .type = GNI_POST_RDMA_GET, .multiple = 4, .max = ANY_SIZE, COMMON },
	{ }
};
