// SPDX-License-Identifier: GPL-2.0-only
/* Registrations of memory that is there: the initiators register, nobody else works. */

#include <stdlib.h>
#include <string.h>
#include "gni_perf.h"

/* What was registered can be reached: put two words from the first half into it. */
static int check_reach(struct proc *p, struct phase *ph, const gni_mem_handle_t *mdh, uint64_t i)
{
	uint64_t at[2] = { 0, ph->size - sizeof(i) };
	int k;

	for (k = 0; k < 2; k++) {
		gni_post_descriptor_t d = {
			.type = GNI_POST_FMA_PUT,
			.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
			.local_addr = (uintptr_t)&i,
			.remote_addr = (uintptr_t)in_buf(p) + at[k],
			.remote_mem_hndl = *mdh,
			.length = sizeof(i),
		};

		if (post_done(p, &d))
			return p->fault.status;
		if (memcmp(in_buf(p) + at[k], &i, sizeof(i)))
			return fault_set(&p->fault, ST_FAILED,
					 "reg: a put into it did not arrive");
	}
	return ST_OK;
}

static int reg_once(struct proc *p, struct phase *ph, uint64_t i, uint64_t *reg, uint64_t *dereg)
{
	uint64_t start = clock_ticks();
	gni_mem_handle_t mdh;
	gni_return_t rc;

	rc = GNI_MemRegister(p->nic.hndl, (uintptr_t)in_buf(p), ph->size, NULL,
			     GNI_MEM_READWRITE, (uint32_t)-1, &mdh);
	if (rc)
		return call_fault(p, "GNI_MemRegister", rc);
	*reg = clock_ticks() - start;
	if (p->cfg->check && check_reach(p, ph, &mdh, i))
		return p->fault.status;
	start = clock_ticks();
	rc = GNI_MemDeregister(p->nic.hndl, &mdh);
	*dereg = clock_ticks() - start;
	return rc ? call_fault(p, "GNI_MemDeregister", rc) : ST_OK;
}

static bool is_dereg(const struct proc *p)
{
	return p->op->name[0] == 'd';
}

/* Time counts only while what is measured goes on. */
static int reg_run(struct proc *p, struct phase *ph)
{
	struct sample *s = ph->sample;
	bool last = !p->initiator;
	uint64_t i, reg = 0, dereg = 0;

	for (i = 0; !last; i++) {
		last = run_last(ph, i, clock_ticks());
		if (reg_once(p, ph, i, &reg, &dereg))
			return p->fault.status;
		hist_add(&s->hist, is_dereg(p) ? dereg : reg);
		s->ops++;
	}
	s->end = s->start + s->hist.sum;
	return ST_OK;
}

/* The puts go to the process itself; other registrations of the region stand beside. */
static int reg_connect(struct proc *p)
{
	gni_return_t rc = GNI_EpUnbind(p->ep[0]);

	return rc ? call_fault(p, "GNI_EpUnbind", rc) : bind_endpoint(p, p->ep[0], p->me);
}

#define REG	.measures = LAT | BW | RATE, .multiple = 8, .max = 1ULL << 36,	\
		.connect = reg_connect, .run = reg_run

const struct op reg_ops[] = {
	{ .name = "reg", .what = "registration", REG },
	{ .name = "dereg", .what = "deregistration", REG },
	{ }
};
