// SPDX-License-Identifier: GPL-2.0-only
/*
 * Targets for transfers: see common.h.
 */
#include "common.h"

enum { CMD_QUIT, CMD_EVENT, CMD_DEREGISTER };

/* Semaphores and words of shm that peers use; cases keep to lower numbers. */
#define SEM_CMD		14
#define SEM_DONE	15
#define WORD_CMD	60
#define WORD_RC		61
#define WORD_EVENT	62

/* Until a command comes, or the case ends. */
static void take_command(void)
{
	while (sem_wait(&shm->sem[SEM_CMD]))
		must(errno == EINTR);
}

static void serve(struct nic *n, struct region *r)
{
	gni_cq_entry_t e;

	for (;;) {
		take_command();
		e = 0;
		switch (shm->word[WORD_CMD]) {
		case CMD_EVENT:
			shm->word[WORD_RC] = GNI_CqGetEvent(n->rx, &e);
			shm->word[WORD_EVENT] = e;
			break;
		case CMD_DEREGISTER:
			shm->word[WORD_RC] = GNI_MemDeregister(n->h, &r->mh);
			break;
		default:
			return;
		}
		give(SEM_DONE);
	}
}

static void target_peer(void *arg)
{
	struct target *t = arg;
	struct nic n;

	nic_open(&n, t->layout == OTHER_NIC ? 1 : 0, TARGET_ID);
	region_open(&n, t->mem, t->len, n.rx, t->flags, &t->shared->r);
	give(SEM_DONE);
	serve(&n, &t->shared->r);
}

static void target_local(struct target *t)
{
	t->m = &t->n;
	if (t->layout == TWO_CDMS) {
		t->m = &t->other;
		nic_open(t->m, 0, TARGET_ID);
	}
	region_open(t->m, t->mem, t->len, t->m->rx, t->flags, &t->r);
}

void target_open(struct target *t, enum layout layout, size_t len, uint32_t flags, uint32_t modes)
{
	memset(t, 0, sizeof(*t));
	t->layout = layout;
	t->len = len;
	t->flags = flags;
	t->mem = map_shared(len);
	t->shared = map_shared(sizeof(*t->shared));
	if (layout == PEER || layout == OTHER_NIC) {
		t->pid = peer(target_peer, t);
		take(SEM_DONE);
		t->r = t->shared->r;
	}
	nic_open_modes(&t->n, 0, INITIATOR_ID, modes);
	if (!t->pid)
		target_local(t);
	t->ep = ep_open(&t->n, t->r.pe, BIND_ID);
}

static gni_return_t command(int cmd)
{
	shm->word[WORD_CMD] = cmd;
	give(SEM_CMD);
	take(SEM_DONE);
	return shm->word[WORD_RC];
}

gni_return_t target_event(struct target *t, gni_cq_entry_t *event)
{
	gni_return_t rc;

	if (!t->pid)
		return GNI_CqGetEvent(t->m->rx, event);
	rc = command(CMD_EVENT);
	*event = shm->word[WORD_EVENT];
	return rc;
}

gni_return_t target_deregister(struct target *t)
{
	return t->pid ? command(CMD_DEREGISTER) : GNI_MemDeregister(t->m->h, &t->r.mh);
}

void target_close(struct target *t)
{
	if (t->pid) {
		shm->word[WORD_CMD] = CMD_QUIT;
		give(SEM_CMD);
		reap(t->pid);
	}
}
