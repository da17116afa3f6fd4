// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes killed in the middle of everything, a hundred rounds of it, while
 * two others go on: their data stays right, each of their posts has its one
 * event, and the devices get back all that the dead had. Needs two NICs.
 *
 *	storm [ROUNDS]
 */
#include <signal.h>

#include "common.h"

#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT
#define VICTIMS		4
#define SURVIVORS	2
#define VICTIM_LEN	(1UL << 20)
#define DUMP_LEN	(256 * 1024UL)
#define CHUNK		8192UL
#define CREDITS		8
#define MSG_MAX		128

/* What everybody knows of everybody, in shm->bytes. */
struct board {
	struct region dump[SURVIVORS];		/* for victims to write to */
	struct region data[SURVIVORS];		/* the survivors' own */
	gni_smsg_attr_t attr[SURVIVORS];
	struct region victim[VICTIMS];		/* may be stale */
	gni_smsg_attr_t victim_attr[VICTIMS];
	_Atomic unsigned int victims_up;
	_Atomic bool stop;
	_Atomic uint64_t exchanges[SURVIVORS];
	_Atomic uint64_t good, bad;		/* survivors' posts to victims */
	_Atomic uint64_t victim_ops;
};

static struct board *board;
static unsigned int rounds = 100;

static void attr_open(struct nic *n, gni_smsg_attr_t *attr, gni_cq_handle_t cq)
{
	unsigned int size;

	memset(attr, 0, sizeof(*attr));
	attr->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	attr->mbox_maxcredit = CREDITS;
	attr->msg_maxsize = MSG_MAX;
	must_do(GNI_SmsgBufferSizeNeeded(attr, &size));
	attr->msg_buffer = map_private(size);
	attr->buff_size = size;
	mem_open(n, attr->msg_buffer, size, cq, 0, &attr->mem_hndl);
}

/* --- survivors ----------------------------------------------------------------- */

struct survivor {
	int me;
	struct nic n;
	gni_ep_handle_t ep;		/* to the other survivor */
	gni_cq_handle_t rdma_cq;	/* for posts to victims */
	unsigned char *guarded;		/* guard page, dump, guard page */
	unsigned char *data;
	unsigned char *source;
	gni_mem_handle_t source_mh;
	uint32_t seed;
	uint32_t turn;
};

static void survivor_open(struct survivor *s)
{
	s->seed = 99 + s->me;
	nic_open(&s->n, s->me, 1 + s->me);
	s->rdma_cq = cq_open(&s->n, 64, GNI_CQ_NOBLOCK);
	s->guarded = map_private(DUMP_LEN + 2 * PAGE);
	memset(s->guarded, 0x3c, PAGE);
	memset(s->guarded + PAGE + DUMP_LEN, 0x3c, PAGE);
	region_open(&s->n, s->guarded + PAGE, DUMP_LEN, s->n.rx, 0, &board->dump[s->me]);
	s->data = map_private(CHUNK);
	region_open(&s->n, s->data, CHUNK, NULL, 0, &board->data[s->me]);
	s->source = map_private(VICTIM_LEN);
	memset(s->source, 0x99, VICTIM_LEN);
	mem_open(&s->n, s->source, VICTIM_LEN, NULL, 0, &s->source_mh);
	attr_open(&s->n, &board->attr[s->me], NULL);
	give(s->me);
	take(!s->me);
	s->ep = ep_open(&s->n, board->data[!s->me].pe, 1 + !s->me);
	must_do(GNI_SmsgInit(s->ep, &board->attr[s->me], &board->attr[!s->me]));
	give(2);
}

/* A chunk into the other's memory, by FMA or RDMA, and a message that says so. */
static void survivor_send(struct survivor *s)
{
	gni_post_type_t type = s->turn & 1 ? GNI_POST_FMA_PUT : GNI_POST_RDMA_PUT;
	gni_post_descriptor_t d;
	gni_cq_entry_t e;

	fill(s->source, CHUNK, s->turn);
	desc_init(&d, type, GLOBAL);
	desc_move(&d, s->source, &s->source_mh, &board->data[!s->me], 0, CHUNK);
	must_do(post_wait(s->ep, s->n.tx, &d));
	must_do(GNI_SmsgSend(s->ep, &s->turn, 4, NULL, 0, s->turn));
	must_do(next_event(s->n.tx, &e));
	is_u64(gni_cq_get_msg_id(e), s->turn);
}

static void survivor_receive(struct survivor *s)
{
	uint64_t end = now_ms() + PATIENCE;
	void *msg = NULL;

	while (GNI_SmsgGetNext(s->ep, &msg) == GNI_RC_NOT_DONE && now_ms() < end)
		sched_yield();
	must(msg, "survivor %d waits for turn %u", s->me, s->turn);
	is_u64(*(uint32_t *)msg, s->turn);
	ok(filled(s->data, CHUNK, s->turn), "survivor %d, turn %u", s->me, s->turn);
	must_do(GNI_SmsgRelease(s->ep));
}

/* One post to where a victim is, or was: one event, whatever becomes of it. */
static void survivor_touch_victim(struct survivor *s)
{
	struct region r = board->victim[rnd(&s->seed) % VICTIMS];
	gni_post_descriptor_t d, *done = NULL;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	gni_return_t rc;

	if (!r.len)
		return;
	ep = ep_open(&s->n, r.pe, r.id);
	desc_init(&d, rnd(&s->seed) & 1 ? GNI_POST_RDMA_PUT : GNI_POST_RDMA_GET, GLOBAL);
	desc_move(&d, s->source + CHUNK, &s->source_mh, &r, 0, VICTIM_LEN / 2);
	d.src_cq_hndl = s->rdma_cq;
	must_do(GNI_PostRdma(ep, &d));
	rc = next_event(s->rdma_cq, &e);
	must(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "%s", rc_name(rc));
	is_rc(GNI_GetCompleted(s->rdma_cq, e, &done), rc);
	ok(done == &d);
	is_empty(s->rdma_cq);
	atomic_fetch_add(rc == GNI_RC_SUCCESS ? &board->good : &board->bad, 1);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
}

static void survivor_main(void *arg)
{
	struct survivor s = { .me = *(int *)arg };
	gni_cq_entry_t e;
	gni_return_t rc;

	survivor_open(&s);
	for (s.turn = 1; ; s.turn++) {
		if (!s.me) {
			/* The last turn is the one that both know to be. */
			uint32_t last = board->stop;

			shm->word[0] = last;
			survivor_send(&s);
			survivor_receive(&s);
			board->exchanges[0]++;
			if (last)
				break;
		} else {
			survivor_receive(&s);
			uint32_t last = shm->word[0];

			survivor_send(&s);
			board->exchanges[1]++;
			if (last)
				break;
		}
		survivor_touch_victim(&s);
		/* Events of what victims did here, an overrun among them. */
		do
			rc = GNI_CqGetEvent(s.n.rx, &e);
		while (rc != GNI_RC_NOT_DONE);
	}
	ok(all_bytes(s.guarded, PAGE, 0x3c) &&
	   all_bytes(s.guarded + PAGE + DUMP_LEN, PAGE, 0x3c), "around the dump");
	is_empty(s.n.tx);
	is_rc(GNI_EpUnbind(s.ep), GNI_RC_SUCCESS);
}

/* --- victims ------------------------------------------------------------------- */

struct victim {
	int me;
	struct nic n;
	unsigned char *mem;
	gni_mem_handle_t mh;
	gni_cq_handle_t cq;		/* something to sleep on */
	gni_ep_handle_t ep[SURVIVORS];
	gni_ep_handle_t smsg_ep;
	gni_ep_handle_t wild;
	gni_post_descriptor_t d[16];
	uint32_t seed;
};

static void *sleeper(void *arg)
{
	struct victim *v = arg;
	gni_cq_entry_t e;

	GNI_CqWaitEvent(v->cq, FOREVER, &e);
	return NULL;
}

static void *prober(void *arg)
{
	struct victim *v = arg;
	uint64_t id;

	for (;;)
		GNI_PostdataProbeWaitById(v->n.h, -1, &id);
	return NULL;
}

static void victim_open(struct victim *v)
{
	int peer = v->me ^ 1, i;
	pthread_t thread;

	nic_open(&v->n, v->me & 1, 100 + v->me);
	v->cq = cq_open(&v->n, 16, GNI_CQ_BLOCKING);
	v->mem = map_private(VICTIM_LEN);
	region_open(&v->n, v->mem, VICTIM_LEN, v->n.rx, 0, &board->victim[v->me]);
	v->mh = board->victim[v->me].mh;
	attr_open(&v->n, &board->victim_attr[v->me], v->n.rx);
	for (i = 0; i < SURVIVORS; i++)
		v->ep[i] = ep_open(&v->n, board->dump[i].pe, board->dump[i].id);
	must_do(GNI_EpCreate(v->n.h, NULL, &v->wild));
	must(!pthread_create(&thread, NULL, sleeper, v));
	must(!pthread_create(&thread, NULL, prober, v));
	atomic_fetch_add(&board->victims_up, 1);
	/* The peer may be dead before it is up: then there are no messages to it. */
	for (i = 0; i < 50 && board->victims_up < VICTIMS; i++)
		nap();
	v->smsg_ep = ep_open(&v->n, board->victim[peer].pe, 100 + peer);
	if (board->victims_up == VICTIMS)
		must_do(GNI_SmsgInit(v->smsg_ep, &board->victim_attr[v->me],
				     &board->victim_attr[peer]));
}

/* Victims check no results: they are there to do as much as they can. */
static void victim_rdma(struct victim *v)
{
	int to = rnd(&v->seed) % SURVIVORS, i;

	for (i = 0; i < 16; i++) {
		desc_init(&v->d[i], rnd(&v->seed) & 1 ? GNI_POST_RDMA_PUT : GNI_POST_RDMA_GET,
			  GLOBAL | GNI_CQMODE_REMOTE_EVENT);
		desc_move(&v->d[i], v->mem, &v->mh, &board->dump[to], 0, DUMP_LEN);
		GNI_PostRdma(v->ep[to], &v->d[i]);
	}
}

static void victim_fma(struct victim *v)
{
	int to = rnd(&v->seed) % SURVIVORS, i;

	for (i = 0; i < 16; i++) {
		desc_init(&v->d[i], GNI_POST_FMA_PUT, GNI_CQMODE_REMOTE_EVENT);
		desc_move(&v->d[i], v->mem, NULL, &board->dump[to], rnd(&v->seed) % PAGE, 20000);
		GNI_PostFma(v->ep[to], &v->d[i]);
		desc_init(&v->d[i], GNI_POST_AMO, GNI_CQMODE_SILENT);
		desc_move(&v->d[i], v->mem, &v->mh, &board->dump[to], 8 * i, 8);
		v->d[i].amo_cmd = GNI_FMA_ATOMIC_FADD;
		GNI_PostFma(v->ep[to], &v->d[i]);
	}
}

static void victim_smsg(struct victim *v)
{
	void *msg;
	int i;

	for (i = 0; i < 32; i++) {
		GNI_SmsgSend(v->smsg_ep, v->mem, MSG_MAX, NULL, 0, i);
		if (GNI_SmsgGetNext(v->smsg_ep, &msg) == GNI_RC_SUCCESS)
			GNI_SmsgRelease(v->smsg_ep);
	}
}

static void victim_register(struct victim *v)
{
	gni_mem_handle_t mh[8];
	int i, n = 0;

	for (i = 0; i < 8; i++)
		n += GNI_MemRegister(v->n.h, (uint64_t)v->mem + i * PAGE, 20 * PAGE, v->n.rx, 0, -1,
				     &mh[i]) == GNI_RC_SUCCESS;
	for (i = 0; i < n; i++)
		GNI_MemDeregister(v->n.h, &mh[i]);
}

static void victim_dgram(struct victim *v)
{
	static char buf[128];
	gni_ep_handle_t ep;
	int i;

	for (i = 0; i < 8; i++) {
		GNI_EpPostDataWId(v->wild, buf, 128, buf, 128, 1);
		if (GNI_EpCreate(v->n.h, NULL, &ep) != GNI_RC_SUCCESS)
			continue;
		GNI_EpBind(ep, board->victim[v->me ^ 1].pe, 100 + (v->me ^ 1));
		GNI_EpPostDataWId(ep, buf, 128, buf, 128, 2);
		GNI_EpDestroy(ep);
	}
}

static void victim_objects(struct victim *v)
{
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	int i;

	for (i = 0; i < 4; i++) {
		if (GNI_CqCreate(v->n.h, 5000, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq) !=
		    GNI_RC_SUCCESS)
			continue;
		if (GNI_EpCreate(v->n.h, cq, &ep) == GNI_RC_SUCCESS)
			GNI_EpDestroy(ep);
		GNI_CqDestroy(cq);
	}
}

static void victim_drain(struct victim *v)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;

	while (GNI_CqGetEvent(v->n.tx, &e) != GNI_RC_NOT_DONE)
		GNI_GetCompleted(v->n.tx, e, &d);
	while (GNI_CqGetEvent(v->n.rx, &e) != GNI_RC_NOT_DONE)
		;
}

static void victim_main(void *arg)
{
	static void (*const acts[])(struct victim *v) = {
		victim_rdma, victim_fma, victim_smsg, victim_register, victim_dgram,
		victim_objects,
	};
	static struct victim v;

	v.me = *(int *)arg;
	v.seed = shm->word[1] * VICTIMS + v.me + 1;
	victim_open(&v);
	give(3);
	for (;;) {
		acts[rnd(&v.seed) % ARRAY_SIZE(acts)](&v);
		victim_drain(&v);
		atomic_fetch_add(&board->victim_ops, 1);
	}
}

/* --- the storm ----------------------------------------------------------------- */

static uint64_t in_use(unsigned int device)
{
	gni_dev_res_desc_t desc;
	uint64_t sum = 0;
	int type;

	for (type = GNI_DEV_RES_FIRST + 1; type < GNI_DEV_RES_LAST; type++) {
		if (GNI_GetDevResInfo(device, type, &desc) == GNI_RC_SUCCESS)
			sum = sum * 100000 + desc.held;
	}
	return sum;
}

/* Busy victims, and then a moment that is as good as any other to die. */
static void storm_round(uint32_t *seed, unsigned int round)
{
	pid_t pid[VICTIMS];
	int i;

	board->victims_up = 0;
	shm->word[1] = round + 1;
	for (i = 0; i < VICTIMS; i++)
		pid[i] = peer(victim_main, &i);
	/* Some rounds are over before anybody is set up. */
	if (round % 8)
		take(3);
	for (i = rnd(seed) % 25 * time_scale(); i; i--)
		nap();
	for (i = 0; i < VICTIMS; i++) {
		kill(pid[i], SIGKILL);
		if (rnd(seed) & 1)
			sched_yield();
	}
	for (i = 0; i < VICTIMS; i++)
		reap_killed(pid[i]);
	/* What is left of the semaphore belongs to the dead. */
	while (!sem_trywait(&shm->sem[3]))
		;
}

static void test_storm(void)
{
	uint64_t before[2];
	uint32_t seed = 4711;
	unsigned int round;
	pid_t pid[SURVIVORS];
	int i;

	board = (struct board *)shm->bytes;
	for (i = 0; i < SURVIVORS; i++)
		pid[i] = peer(survivor_main, &i);
	for (i = 0; i < SURVIVORS; i++)
		take(2);
	/* Count with a domain less: each survivor touches victims in turn. */
	for (i = 0; i < 2; i++)
		before[i] = in_use(i);
	for (round = 0; round < rounds && !failures(); round++) {
		storm_round(&seed, round);
		for (i = 0; i < 2; i++)
			ok(wait_for(in_use(i) == before[i]),
			   "round %u, device %d: %llu in use, now %llu", round, i,
			   (unsigned long long)before[i], (unsigned long long)in_use(i));
	}
	board->stop = true;
	for (i = 0; i < SURVIVORS; i++)
		reap(pid[i]);
	diag("%u rounds, %llu turns of victims", round, (unsigned long long)board->victim_ops);
	diag("survivors: %llu exchanges, %llu posts to victims done, %llu failed",
	     (unsigned long long)board->exchanges[0], (unsigned long long)board->good,
	     (unsigned long long)board->bad);
	ok(board->exchanges[0] > rounds && board->exchanges[0] == board->exchanges[1]);
	ok(board->good > 0 && board->bad > 0, "victims were hit alive and dead");
	ok(board->victim_ops > rounds, "victims were busy");
}

static const struct test tests[] = {
	CASE("rounds of killed peers", test_storm, 150),
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	return RUN_TESTS(tests);
}
