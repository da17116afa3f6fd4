// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads as clients have them: with the locks that those take and none beside,
 * and with waits that they take no lock for and end by cancellation or signals.
 * Needs two NICs.
 */
#include <signal.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define MB	(1UL << 20)

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, fn, arg));
	return thread;
}

/* How often things are done, less where everything is slow. */
static unsigned int turns(unsigned int n)
{
	return n / time_scale();
}

/* --- a lock for each queue ------------------------------------------------------------ */

/*
 * One client has a lock each for: the queue of FMA posts and of messages' events;
 * the queue of RDMA posts; mailboxes that it sends to; mailboxes that it receives
 * from; and registers memory under none. All of it is on one endpoint.
 */
struct side {
	struct nic n;
	gni_ep_handle_t ep;
	gni_cq_handle_t rdma_cq;
	gni_smsg_attr_t attr;
	struct region r;
	struct region *to;
	pthread_mutex_t tx_lock;
	pthread_mutex_t rdma_lock;
	pthread_mutex_t send_lock;
	pthread_mutex_t receive_lock;
	_Atomic unsigned int fma_done;
	_Atomic unsigned int sends_done;
	_Atomic bool busy;
};

static struct side side[2];
static _Atomic unsigned int working;

#define FMA_POSTS	turns(2000)
#define RDMA_POSTS	turns(400)
#define SENDS		turns(3000)
#define DEPTH		8

/* All events of the first queue: of FMA posts and of messages. */
static void pump_tx(struct side *s)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;
	gni_return_t rc;

	pthread_mutex_lock(&s->tx_lock);
	rc = GNI_CqGetEvent(s->n.tx, &e);
	if (rc == GNI_RC_SUCCESS && gni_cq_get_type(e) == GNI_CQ_EVENT_TYPE_SMSG) {
		is_u64(gni_cq_get_msg_id(e), s->sends_done);
		s->sends_done++;
	} else if (rc == GNI_RC_SUCCESS) {
		is_rc(GNI_GetCompleted(s->n.tx, e, &d), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_inst_id(e), d->post_id & 0xffffff);
		s->fma_done++;
	} else {
		is_rc(rc, GNI_RC_NOT_DONE);
	}
	pthread_mutex_unlock(&s->tx_lock);
	if (rc != GNI_RC_SUCCESS)
		sched_yield();
}

static void *fma_poster(void *arg)
{
	static const gni_post_type_t types[] = { GNI_POST_FMA_PUT, GNI_POST_FMA_GET, GNI_POST_AMO };
	gni_post_descriptor_t d[DEPTH];
	struct side *s = arg;
	unsigned int i;
	gni_return_t rc;

	for (i = 0; i < FMA_POSTS; i++) {
		while (i - s->fma_done >= DEPTH)
			sched_yield();
		desc_init(&d[i % DEPTH], types[i % 3], GLOBAL);
		desc_move(&d[i % DEPTH], (void *)s->r.addr, &s->r.mh, s->to, 8, 8);
		d[i % DEPTH].amo_cmd = GNI_FMA_ATOMIC_FADD;
		d[i % DEPTH].post_id = s->to->id;
		/* Messages may have filled the queue: then it is to be tried again. */
		do {
			pthread_mutex_lock(&s->tx_lock);
			rc = GNI_PostFma(s->ep, &d[i % DEPTH]);
			pthread_mutex_unlock(&s->tx_lock);
		} while (rc == GNI_RC_ERROR_RESOURCE && !sched_yield());
		must_rc(rc, GNI_RC_SUCCESS);
	}
	while (s->fma_done < FMA_POSTS && !failures())
		sched_yield();
	working--;
	return NULL;
}

static void *rdma_poster(void *arg)
{
	unsigned char *local = map_private(64 * 1024);
	gni_post_descriptor_t d, *done;
	struct side *s = arg;
	gni_mem_handle_t mh;
	gni_cq_entry_t e;
	unsigned int i;
	gni_return_t rc;

	mem_open(&s->n, local, 64 * 1024, NULL, 0, &mh);
	for (i = 0; i < RDMA_POSTS; i++) {
		desc_init(&d, i & 1 ? GNI_POST_RDMA_GET : GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d, local, &mh, s->to, PAGE, 64 * 1024);
		d.src_cq_hndl = s->rdma_cq;
		memset(local, i, 64 * 1024);
		pthread_mutex_lock(&s->rdma_lock);
		rc = GNI_PostRdma(s->ep, &d);
		pthread_mutex_unlock(&s->rdma_lock);
		must_rc(rc, GNI_RC_SUCCESS);
		do {
			pthread_mutex_lock(&s->rdma_lock);
			rc = GNI_CqGetEvent(s->rdma_cq, &e);
			pthread_mutex_unlock(&s->rdma_lock);
		} while (rc == GNI_RC_NOT_DONE && !sched_yield());
		must_rc(rc, GNI_RC_SUCCESS);
		is_rc(GNI_GetCompleted(s->rdma_cq, e, &done), GNI_RC_SUCCESS);
		ok(done == &d);
		/* What is got is what was put before. */
		ok(all_bytes(local, 64 * 1024, i & 1 ? i - 1 : i), "turn %u", i);
	}
	is_rc(GNI_MemDeregister(s->n.h, &mh), GNI_RC_SUCCESS);
	working--;
	return NULL;
}

static void *sender(void *arg)
{
	struct side *s = arg;
	gni_return_t rc;
	uint32_t i;

	for (i = 0; i < SENDS; i++) {
		do {
			pthread_mutex_lock(&s->send_lock);
			rc = GNI_SmsgSendWTag(s->ep, &i, 4, &i, 4, i, i % 200);
			pthread_mutex_unlock(&s->send_lock);
		} while (rc == GNI_RC_NOT_DONE && !failures() && !sched_yield());
		must_rc(rc, GNI_RC_SUCCESS);
	}
	while (s->sends_done < SENDS && !failures())
		sched_yield();
	working--;
	return NULL;
}

/* The message is copied out and released with no lock at all. */
static void *receiver(void *arg)
{
	uint32_t copy[2], i = 0;
	struct side *s = arg;
	gni_return_t rc;
	uint8_t tag;
	void *msg;

	while (i < SENDS && !failures()) {
		tag = GNI_SMSG_ANY_TAG;
		pthread_mutex_lock(&s->receive_lock);
		rc = GNI_SmsgGetNextWTag(s->ep, &msg, &tag);
		pthread_mutex_unlock(&s->receive_lock);
		if (rc == GNI_RC_NOT_DONE) {
			sched_yield();
			continue;
		}
		must_rc(rc, GNI_RC_SUCCESS);
		memcpy(copy, msg, sizeof(copy));
		must_do(GNI_SmsgRelease(s->ep));
		must(copy[0] == i && copy[1] == i && tag == i % 200, "message %u", i);
		i++;
	}
	working--;
	return NULL;
}

static void *pumper(void *arg)
{
	struct side *s = arg;

	while (s->busy)
		pump_tx(s);
	return NULL;
}

static void *registrar(void *arg)
{
	unsigned char *buf = map_private(16 * PAGE);
	struct side *s = arg;
	gni_mem_handle_t mh[4];
	unsigned int i;

	while (s->busy) {
		for (i = 0; i < 4; i++)
			must_do(GNI_MemRegister(s->n.h, (uint64_t)buf + i * PAGE, 8 * PAGE,
						i & 1 ? s->n.rx : NULL, 0, -1, &mh[i]));
		for (i = 0; i < 4; i++)
			must_do(GNI_MemDeregister(s->n.h, &mh[i]));
	}
	return NULL;
}

static void side_open(struct side *s, unsigned int device)
{
	unsigned int size;
	void *mem;

	nic_open(&s->n, device, 0x70 + device);
	s->rdma_cq = cq_open(&s->n, 16, GNI_CQ_NOBLOCK);
	region_open(&s->n, map_private(32 * PAGE), 32 * PAGE, NULL, 0, &s->r);
	s->attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	s->attr.mbox_maxcredit = 16;
	s->attr.msg_maxsize = 64;
	must_do(GNI_SmsgBufferSizeNeeded(&s->attr, &size));
	mem = map_private(size);
	s->attr.msg_buffer = mem;
	s->attr.buff_size = size;
	mem_open(&s->n, mem, size, s->n.rx, 0, &s->attr.mem_hndl);
	pthread_mutex_init(&s->tx_lock, NULL);
	pthread_mutex_init(&s->rdma_lock, NULL);
	pthread_mutex_init(&s->send_lock, NULL);
	pthread_mutex_init(&s->receive_lock, NULL);
}

#define SIDE_WORKS	4

static void side_start(struct side *s, pthread_t *thread)
{
	s->busy = true;
	thread[0] = start(fma_poster, s);
	thread[1] = start(rdma_poster, s);
	thread[2] = start(sender, s);
	thread[3] = start(receiver, s);
	thread[SIDE_WORKS] = start(pumper, s);
	thread[SIDE_WORKS + 1] = start(registrar, s);
}

static void test_locks_of_queues(void)
{
	pthread_t thread[2][SIDE_WORKS + 2];
	unsigned int i, j;

	for (i = 0; i < 2; i++)
		side_open(&side[i], i);
	for (i = 0; i < 2; i++) {
		side[i].to = &side[!i].r;
		side[i].ep = ep_open(&side[i].n, side[!i].n.pe, side[!i].n.id);
		must_do(GNI_SmsgInit(side[i].ep, &side[i].attr, &side[!i].attr));
	}
	working = 2 * SIDE_WORKS;
	for (i = 0; i < 2; i++)
		side_start(&side[i], thread[i]);
	while (working && !failures())
		nap();
	for (i = 0; i < 2; i++)
		side[i].busy = false;
	for (i = 0; i < 2; i++) {
		for (j = 0; j < ARRAY_SIZE(thread[i]) && !failures(); j++)
			pthread_join(thread[i][j], NULL);
		is_rc(GNI_EpUnbind(side[i].ep), GNI_RC_SUCCESS, "nothing is out");
		is_empty(side[i].rdma_cq);
	}
}

/* --- deregistration without a lock ------------------------------------------------------ */

#define HANDED	4

static struct target t;
static pthread_mutex_t nic_lock = PTHREAD_MUTEX_INITIALIZER;
static gni_mem_handle_t handed[HANDED];
static sem_t full, room;

static void *deregisterer(void *arg)
{
	unsigned int i;

	for (i = 0; i < turns(2000); i++) {
		sem_wait(&full);
		must_do(GNI_MemDeregister(t.n.h, &handed[i % HANDED]));
		sem_post(&room);
	}
	return arg;
}

/* One thread registers and posts under the lock, another deregisters under none. */
static void test_deregister_unlocked(void)
{
	unsigned char *buf = map_private(16 * PAGE);
	gni_post_descriptor_t d;
	gni_mem_handle_t mh;
	pthread_t thread;
	unsigned int i;

	target_open(&t, PEER, 4 * PAGE, 0, 0);
	sem_init(&full, 0, 0);
	sem_init(&room, 0, HANDED);
	thread = start(deregisterer, NULL);
	for (i = 0; i < turns(2000); i++) {
		sem_wait(&room);
		pthread_mutex_lock(&nic_lock);
		must_do(GNI_MemRegister(t.n.h, (uint64_t)buf + i % 8 * PAGE, 2 * PAGE, NULL, 0, -1,
					&mh));
		memset(buf + i % 8 * PAGE, i, 2 * PAGE);
		desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d, buf + i % 8 * PAGE, &mh, &t.r, 0, 2 * PAGE);
		is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "turn %u", i);
		pthread_mutex_unlock(&nic_lock);
		ok(all_bytes(t.mem, 2 * PAGE, i), "turn %u", i);
		handed[i % HANDED] = mh;
		sem_post(&full);
	}
	pthread_join(thread, NULL);
	target_close(&t);
}

/* --- connections ------------------------------------------------------------------------ */

#define CONNECTS	turns(400)

static struct nic server, client;
static gni_ep_handle_t wild;
static _Atomic bool connecting;

/* Waits for datagrams without the lock, and takes it for all else. */
static void *acceptor(void *arg)
{
	gni_post_state_t state;
	uint32_t pe, id, buf;
	unsigned int i;
	uint64_t which;

	for (i = 0; i < CONNECTS; i++) {
		must_do(GNI_PostdataProbeWaitById(server.h, PATIENCE, &which));
		is_u64(which, 9);
		pthread_mutex_lock(&nic_lock);
		must_do(GNI_EpPostDataTestById(wild, 9, &state, &pe, &id));
		is_u64(state, GNI_POST_COMPLETED);
		if (i < CONNECTS - 1)
			must_do(GNI_EpPostDataWId(wild, &i, 4, &buf, 4, 9));
		pthread_mutex_unlock(&nic_lock);
	}
	return arg;
}

/* Binds without the lock. */
static void *connector(void *arg)
{
	gni_post_state_t state;
	gni_ep_handle_t ep;
	uint32_t pe, id, buf;
	unsigned int i;

	for (i = 0; i < CONNECTS; i++) {
		pthread_mutex_lock(&nic_lock);
		must_do(GNI_EpCreate(client.h, NULL, &ep));
		pthread_mutex_unlock(&nic_lock);
		must_do(GNI_EpBind(ep, server.pe, server.id));
		pthread_mutex_lock(&nic_lock);
		must_do(GNI_EpPostDataWId(ep, &i, 4, &buf, 4, i));
		pthread_mutex_unlock(&nic_lock);
		must_do(GNI_EpPostDataWaitById(ep, i, PATIENCE, &state, &pe, &id));
		is_u64(state, GNI_POST_COMPLETED);
		pthread_mutex_lock(&nic_lock);
		must_do(GNI_EpDestroy(ep));
		pthread_mutex_unlock(&nic_lock);
	}
	connecting = false;
	return arg;
}

static void test_connections(void)
{
	pthread_t thread[2];
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct region r;
	uint32_t buf;
	uint64_t i;

	nic_open(&server, 0, 1);
	nic_open(&client, 1, 2);
	ep = ep_open(&client, server.pe, 1);
	region_open(&server, map_private(PAGE), PAGE, NULL, 0, &r);
	must_do(GNI_EpCreate(server.h, NULL, &wild));
	must_do(GNI_EpPostDataWId(wild, "a", 1, &buf, 4, 9));
	connecting = true;
	thread[0] = start(acceptor, NULL);
	thread[1] = start(connector, NULL);
	for (i = 1; connecting && !failures(); i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &i, NULL, &r, 0, 8);
		pthread_mutex_lock(&nic_lock);
		is_rc(post_wait(ep, client.tx, &d), GNI_RC_SUCCESS);
		pthread_mutex_unlock(&nic_lock);
		is_u64(*(uint64_t *)r.addr, i);
	}
	pthread_join(thread[1], NULL);
	pthread_join(thread[0], NULL);
}

/* --- waits without a lock ---------------------------------------------------------------- */

enum wait_call { WAIT_EVENT, VECTOR_WAIT, VECTOR_MONITOR, PROBE_WAIT, DATAGRAM_WAIT, WAIT_CALLS };

struct bench {
	struct nic n;
	gni_ep_handle_t ep;	/* to ourselves */
	gni_ep_handle_t wild;
	gni_cq_handle_t cq[3];
	struct region r[3];
};

static struct bench bench;
static _Atomic bool stop;

static void bench_open(void)
{
	struct bench *b = &bench;
	int i;

	nic_open(&b->n, 0, 5);
	b->ep = ep_open(&b->n, b->n.pe, 77);
	must_do(GNI_EpCreate(b->n.h, NULL, &b->wild));
	for (i = 0; i < 3; i++) {
		b->cq[i] = cq_open(&b->n, 4096, GNI_CQ_BLOCKING);
		region_open(&b->n, map_private(PAGE), PAGE, b->cq[i], 0, &b->r[i]);
	}
}

static void poke(int i, uint64_t value)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
	d.remote_mem_hndl = bench.r[i].mh;
	d.cqwrite_value = value;
	must_do(GNI_PostCqWrite(bench.ep, &d));
}

static gni_return_t wait_once(enum wait_call call, uint64_t timeout, gni_cq_entry_t *e,
			      uint32_t *which)
{
	gni_post_state_t state;
	uint32_t pe, inst;
	uint64_t id;

	*which = 0;
	switch (call) {
	case WAIT_EVENT:
		return GNI_CqWaitEvent(bench.cq[0], timeout, e);
	case VECTOR_WAIT:
		return GNI_CqVectorWaitEvent(bench.cq, 3, timeout, e, which);
	case VECTOR_MONITOR:
		return GNI_CqVectorMonitor(bench.cq, 3, timeout, which);
	case PROBE_WAIT:
		return GNI_PostdataProbeWaitById(bench.n.h, timeout, &id);
	default:
		return GNI_EpPostDataWaitById(bench.wild, 3, timeout, &state, &pe, &inst);
	}
}

/* A thread that is cancelled wherever it is, asleep, awake or on its way. */
static void *cancelled(void *arg)
{
	enum wait_call call = (uintptr_t)arg;
	gni_cq_entry_t e;
	uint32_t which;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	shm->word[0] = 1;
	for (;;)
		wait_once(call, FOREVER, &e, &which);
	return NULL;
}

/* After the cancellation all works as before: no lock is held, nothing waits. */
static void still_works(int i)
{
	gni_post_descriptor_t d;
	gni_cq_entry_t e = 0;
	uint64_t value = i;

	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, &bench.r[1], 0, 8);
	is_rc(post_wait(bench.ep, bench.n.tx, &d), GNI_RC_SUCCESS);
	for (i = 0; i < 3; i++) {
		while (GNI_CqGetEvent(bench.cq[i], &e) == GNI_RC_SUCCESS)
			;
		poke(i, 0xabc000 + value);
		is_rc(GNI_CqWaitEvent(bench.cq[i], PATIENCE, &e), GNI_RC_SUCCESS);
		is_u64(gni_cq_get_data(e), 0xabc000 + value);
	}
}

/* Threads are cancelled in a wait while events come to the queues that they wait for. */
static void try_cancel(enum wait_call call)
{
	void *result = NULL;
	unsigned int i, j;
	pthread_t thread;
	char buf[8];

	bench_open();
	must_do(GNI_EpPostDataWId(bench.wild, "w", 2, buf, 8, 3));
	for (i = 0; i < turns(160); i++) {
		shm->word[0] = 0;
		thread = start(cancelled, (void *)(uintptr_t)call);
		while (!shm->word[0])
			sched_yield();
		/* Each time at another moment: some events after it began to wait. */
		for (j = 0; j < i % 16; j++)
			poke(j % 3, j);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		ok(result == PTHREAD_CANCELED);
		still_works(i);
	}
	is_rc(GNI_EpPostDataCancelById(bench.wild, 3), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(bench.wild), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(bench.ep), GNI_RC_SUCCESS);
	is_rc(GNI_CdmDestroy(bench.n.cdm), GNI_RC_SUCCESS);
}

static void test_cancel_wait(void)
{
	try_cancel(WAIT_EVENT);
}

static void test_cancel_vector(void)
{
	try_cancel(VECTOR_WAIT);
}

static void test_cancel_monitor(void)
{
	try_cancel(VECTOR_MONITOR);
}

static void test_cancel_probe(void)
{
	try_cancel(PROBE_WAIT);
}

static void test_cancel_datagram(void)
{
	try_cancel(DATAGRAM_WAIT);
}

/* --- signals ----------------------------------------------------------------------------- */

#define EVENTS	turns(6000)

static _Atomic unsigned int seen, interrupted;
static _Atomic unsigned char times[6000];

static void on_signal(int sig)
{
	(void)sig;
}

static void note(gni_cq_entry_t e)
{
	uint64_t value = gni_cq_get_data(e);

	must(value < EVENTS);
	times[value]++;
	seen++;
}

/* Takes events from under the lock, as those who poll do; @which says of which queue. */
static void take_locked(uint32_t which)
{
	gni_cq_entry_t e;
	gni_return_t rc;

	pthread_mutex_lock(&nic_lock);
	rc = GNI_CqGetEvent(bench.cq[which], &e);
	pthread_mutex_unlock(&nic_lock);
	if (rc == GNI_RC_SUCCESS)
		note(e);
	else
		is_rc(rc, GNI_RC_NOT_DONE);
}

/* What clients go on after: a signal, and another who was faster. */
static void *interrupted_waiter(void *arg)
{
	enum wait_call call = (uintptr_t)arg;
	gni_cq_entry_t e;
	gni_return_t rc;
	uint32_t which;

	while (!stop) {
		rc = wait_once(call, 20, &e, &which);
		if (rc == GNI_RC_SUCCESS && call == VECTOR_MONITOR)
			take_locked(which);
		else if (rc == GNI_RC_SUCCESS)
			note(e);
		else if (rc == (call == WAIT_EVENT ? GNI_RC_INVALID_STATE : GNI_RC_NOT_DONE))
			interrupted++;
		else
			is_rc(rc, GNI_RC_TIMEOUT);
	}
	return NULL;
}

static void *locked_poller(void *arg)
{
	unsigned int i;

	for (i = 0; !stop; i++) {
		if (GNI_CqTestEvent(bench.cq[i % 3]) == GNI_RC_SUCCESS)
			take_locked(i % 3);
		else
			sched_yield();
	}
	return arg;
}

/* Three kinds of wait and a poller on the same queues, signals all the time: no event is lost. */
static void test_signals(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	pthread_t wait[3], poll;
	unsigned int i, j;

	bench_open();
	sigaction(SIGUSR1, &act, NULL);
	for (i = 0; i < 3; i++)
		wait[i] = start(interrupted_waiter, (void *)(uintptr_t)i);
	poll = start(locked_poller, NULL);
	for (i = 0; i < EVENTS && !failures(); i++) {
		poke(i % 3, i);
		if (i % 7 == 0)
			pthread_kill(wait[i / 7 % 3], SIGUSR1);
	}
	ok(wait_for(seen == EVENTS || failures()), "%u of %u events", seen, EVENTS);
	/* With nothing to take, a signal ends a wait. */
	for (j = 0; !interrupted && j < 20000 && !failures(); j++) {
		pthread_kill(wait[j % 3], SIGUSR1);
		sched_yield();
	}
	ok(interrupted > 0);
	stop = true;
	for (i = 0; i < 3; i++)
		pthread_join(wait[i], NULL);
	pthread_join(poll, NULL);
	for (i = 0; i < EVENTS; i++)
		is_u64(times[i], 1, "event %u", i);
}

static const struct test tests[] = {
	CASE("a lock for each queue, one endpoint", test_locks_of_queues, 60),
	CASE("deregistration without the lock", test_deregister_unlocked, 60),
	CASE("binding and probing without the lock", test_connections, 60),
	CASE("cancelled in CqWaitEvent as events come", test_cancel_wait, 60),
	CASE("cancelled in CqVectorWaitEvent as events come", test_cancel_vector, 60),
	CASE("cancelled in CqVectorMonitor as events come", test_cancel_monitor, 60),
	CASE("cancelled in PostdataProbeWaitById as events come", test_cancel_probe, 60),
	CASE("cancelled in EpPostDataWaitById as events come", test_cancel_datagram, 60),
	CASE("waits without a lock among signals", test_signals, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
