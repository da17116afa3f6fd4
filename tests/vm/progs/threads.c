// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several threads with one NIC handle: calls may overlap, also on one endpoint
 * and one queue, and those that block hold up nobody. Needs two NICs.
 */
#include <signal.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define POSTS	400

static struct target t;
static _Atomic bool stop;

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, fn, arg));
	return thread;
}

static void join(pthread_t thread)
{
	pthread_join(thread, NULL);
}

/* Each post's id is the address of its flag. */
static void expect_post(gni_post_descriptor_t *d, _Atomic int *flag)
{
	atomic_store(flag, 0);
	d->post_id = (uint64_t)flag;
}

/* Take one event, of whichever thread, and tell the poster. */
static bool serve(gni_cq_handle_t cq)
{
	gni_post_descriptor_t *d = NULL;
	gni_cq_entry_t e;
	gni_return_t rc = GNI_CqGetEvent(cq, &e);

	if (rc == GNI_RC_NOT_DONE)
		return false;
	is_rc(rc, GNI_RC_SUCCESS);
	is_rc(GNI_GetCompleted(cq, e, &d), GNI_RC_SUCCESS);
	if (ok(d))
		atomic_fetch_add((_Atomic int *)d->post_id, 1);
	return true;
}

static void finish(gni_cq_handle_t cq, _Atomic int *flag)
{
	uint64_t end = now_ms() + PATIENCE;

	while (!atomic_load(flag) && now_ms() < end) {
		if (!serve(cq))
			sched_yield();
	}
	is_u64(atomic_load(flag), 1);
}

/* --- posts and completions ----------------------------------------------------- */

static void *putter(void *arg)
{
	size_t at = (uintptr_t)arg * 1024;
	gni_post_descriptor_t d;
	_Atomic int flag;
	uint64_t i;

	for (i = 1; i <= POSTS; i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &i, NULL, &t.r, at, 8);
		expect_post(&d, &flag);
		must_do(GNI_PostFma(t.ep, &d));
		finish(t.n.tx, &flag);
		is_u64(*(uint64_t *)(t.mem + at), i);
	}
	return NULL;
}

static void test_one_endpoint(void)
{
	pthread_t thread[4];
	uintptr_t i;

	target_open(&t, PEER, 2 * PAGE, 0, 0);
	for (i = 0; i < 4; i++)
		thread[i] = start(putter, (void *)i);
	for (i = 0; i < 4; i++)
		join(thread[i]);
	is_empty(t.n.tx);
	target_close(&t);
}

static void *rdma_putter(void *arg)
{
	gni_cq_handle_t cq = cq_open(&t.n, 64, GNI_CQ_NOBLOCK);
	unsigned char *local = map_private(65536);
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	_Atomic int flag;
	uint64_t i;

	mem_open(&t.n, local, 65536, NULL, 0, &lmh);
	for (i = 1; i <= POSTS; i++) {
		memset(local, i, 65536);
		desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
		desc_move(&d, local, &lmh, &t.r, 2 * PAGE, 65536);
		d.src_cq_hndl = cq;
		expect_post(&d, &flag);
		must_do(GNI_PostRdma(t.ep, &d));
		finish(cq, &flag);
		ok(all_bytes(t.mem + 2 * PAGE, 65536, i));
	}
	is_rc(GNI_MemDeregister(t.n.h, &lmh), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);
	return arg;
}

/* RDMA with a queue of its own, FMA with the endpoint's. */
static void test_two_queues(void)
{
	pthread_t a, b;

	target_open(&t, OTHER_NIC, 2 * PAGE + 65536, 0, 0);
	a = start(putter, (void *)0);
	b = start(rdma_putter, NULL);
	join(a);
	join(b);
	is_rc(GNI_EpUnbind(t.ep), GNI_RC_SUCCESS);
	target_close(&t);
}

static void *registrar(void *arg)
{
	unsigned char *buf = map_private(64 * PAGE);
	gni_mem_handle_t mh[8];
	unsigned int i, n;

	for (n = 0; !stop; n++) {
		for (i = 0; i < 8; i++)
			must_do(GNI_MemRegister(t.n.h, (uint64_t)buf + i * 3 * PAGE, 5 * PAGE, NULL,
						0, -1, &mh[i]));
		for (i = 0; i < 8; i++)
			must_do(GNI_MemDeregister(t.n.h, &mh[i]));
	}
	munmap(buf, 64 * PAGE);
	ok(n > 0);
	return arg;
}

static void *maker(void *arg)
{
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	unsigned int n;

	for (n = 0; !stop; n++) {
		must_do(GNI_CqCreate(t.n.h, 32, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq));
		must_do(GNI_EpCreate(t.n.h, cq, &ep));
		must_do(GNI_EpBind(ep, t.r.pe, 5));
		is_rc(GNI_CqDestroy(cq), GNI_RC_ERROR_RESOURCE);
		must_do(GNI_EpDestroy(ep));
		must_do(GNI_CqDestroy(cq));
	}
	ok(n > 0);
	return arg;
}

/* Registration, endpoints and queues come and go beside the posts. */
static void test_churn(void)
{
	pthread_t thread[6];
	uintptr_t i;

	target_open(&t, PEER, 2 * PAGE + 65536, 0, 0);
	thread[0] = start(registrar, NULL);
	thread[1] = start(registrar, NULL);
	thread[2] = start(maker, NULL);
	for (i = 3; i < 5; i++)
		thread[i] = start(putter, (void *)(i - 3));
	thread[5] = start(rdma_putter, NULL);
	for (i = 3; i < 6; i++)
		join(thread[i]);
	stop = true;
	for (i = 0; i < 3; i++)
		join(thread[i]);
	target_close(&t);
}

/* --- waiting ------------------------------------------------------------------- */

#define EVENTS	2000
#define QUIT	0xffffffULL

static gni_cq_handle_t wait_cq;
static struct region wait_region;
static _Atomic unsigned int taken;
static _Atomic unsigned char times[EVENTS];

static void poke(uint64_t value)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
	d.remote_mem_hndl = wait_region.mh;
	d.cqwrite_value = value;
	must_do(GNI_PostCqWrite(t.ep, &d));
}

static bool count_event(gni_cq_entry_t e)
{
	uint64_t value = gni_cq_get_data(e);

	if (value == QUIT)
		return false;
	must(value < EVENTS);
	atomic_fetch_add(&times[value], 1);
	atomic_fetch_add(&taken, 1);
	return true;
}

static void *waiter(void *arg)
{
	gni_cq_entry_t e;

	do
		must_do(GNI_CqWaitEvent(wait_cq, FOREVER, &e));
	while (count_event(e));
	return arg;
}

static void *poller(void *arg)
{
	gni_cq_entry_t e;

	while (!stop) {
		if (GNI_CqTestEvent(wait_cq) == GNI_RC_SUCCESS &&
		    GNI_CqGetEvent(wait_cq, &e) == GNI_RC_SUCCESS) {
			ok(count_event(e), "the pollers are told to quit after this one");
		} else {
			sched_yield();
		}
	}
	return arg;
}

static void *poker(void *arg)
{
	uint64_t i, from = (uintptr_t)arg;

	for (i = from; i < EVENTS; i += 2) {
		poke(i);
		if (i % 50 == from)
			nap();
	}
	return NULL;
}

/* Two threads sleep on a queue, one polls it, two fill it: every event once. */
static void test_wait_and_poll(void)
{
	pthread_t wait[2], poll, fill_thread[2];
	unsigned int i;

	target_open(&t, SELF, PAGE, 0, 0);
	wait_cq = cq_open(&t.n, EVENTS + 16, GNI_CQ_BLOCKING);
	region_open(&t.n, map_private(PAGE), PAGE, wait_cq, 0, &wait_region);
	for (i = 0; i < 2; i++)
		wait[i] = start(waiter, NULL);
	poll = start(poller, NULL);
	for (i = 0; i < 2; i++)
		fill_thread[i] = start(poker, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		join(fill_thread[i]);
	ok(wait_for(taken == EVENTS), "%u of %u events", taken, EVENTS);
	stop = true;
	join(poll);
	for (i = 0; i < 2; i++)
		poke(QUIT);
	for (i = 0; i < 2; i++)
		join(wait[i]);
	for (i = 0; i < EVENTS; i++)
		is_u64(times[i], 1, "event %u", i);
}

static void *monitor(void *arg)
{
	gni_cq_handle_t cq[2] = { cq_open(&t.n, 8, GNI_CQ_BLOCKING), wait_cq };
	unsigned int *seen = arg;
	gni_return_t rc;
	uint32_t which;

	while (!stop) {
		rc = GNI_CqVectorMonitor(cq, 2, 5, &which);
		if (rc == GNI_RC_SUCCESS) {
			is_u64(which, 1);
			(*seen)++;
			sched_yield();
		} else {
			is_rc(rc, GNI_RC_TIMEOUT);
		}
	}
	return NULL;
}

/* A monitor needs no lock though others empty the queue under it. */
static void test_monitor(void)
{
	unsigned int seen = 0, i;
	pthread_t mon, poll, fill_thread[2];

	target_open(&t, SELF, PAGE, 0, 0);
	wait_cq = cq_open(&t.n, EVENTS, GNI_CQ_BLOCKING);
	region_open(&t.n, map_private(PAGE), PAGE, wait_cq, 0, &wait_region);
	mon = start(monitor, &seen);
	/* Nobody takes this one before the monitor has seen it. */
	poke(0);
	ok(wait_for(*(volatile unsigned int *)&seen));
	poll = start(poller, NULL);
	for (i = 0; i < 2; i++)
		fill_thread[i] = start(poker, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		join(fill_thread[i]);
	ok(wait_for(taken == EVENTS + 1), "%u of %u events", taken, EVENTS);
	stop = true;
	join(mon);
	join(poll);
}

/* A blocked waiter doesn't hold up posts and completions on the same NIC. */
static void *blocked(void *arg)
{
	gni_cq_entry_t e;
	uint64_t id;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	if (arg)
		GNI_PostdataProbeWaitById(t.n.h, -1, &id);
	else
		GNI_CqWaitEvent(wait_cq, FOREVER, &e);
	ok(false, "nothing ends this wait");
	return NULL;
}

static void test_blocked(void)
{
	pthread_t wait[2];
	gni_ep_handle_t ep;
	uintptr_t i;

	target_open(&t, PEER, 2 * PAGE, 0, 0);
	wait_cq = cq_open(&t.n, 16, GNI_CQ_BLOCKING);
	for (i = 0; i < 2; i++)
		wait[i] = start(blocked, (void *)i);
	putter((void *)0);
	ep = ep_open(&t.n, t.r.pe, 77);
	must_do(GNI_EpPostData(ep, NULL, 0, NULL, 0));
	must_do(GNI_EpPostDataCancel(ep));
	must_do(GNI_EpDestroy(ep));
	for (i = 0; i < 2; i++) {
		pthread_cancel(wait[i]);
		join(wait[i]);
	}
	is_rc(GNI_CqDestroy(wait_cq), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(t.ep), GNI_RC_SUCCESS);
	is_rc(GNI_CdmDestroy(t.n.cdm), GNI_RC_SUCCESS);
	target_close(&t);
}

/* --- short messages ------------------------------------------------------------ */

#define MESSAGES	3000

static struct nic n[2];
static gni_ep_handle_t ep[2];

static void *sender(void *arg)
{
	uintptr_t who = (uintptr_t)arg;
	gni_cq_entry_t e;
	gni_return_t rc;
	uint64_t end;
	uint32_t i;

	for (i = 0; i < MESSAGES; i++) {
		end = now_ms() + PATIENCE;
		while ((rc = GNI_SmsgSend(ep[who], &i, 4, NULL, 0, i)) == GNI_RC_NOT_DONE &&
		       now_ms() < end)
			sched_yield();
		must_rc(rc, GNI_RC_SUCCESS);
		must_do(next_event(n[who].tx, &e));
		is_u64(gni_cq_get_msg_id(e), i);
	}
	return NULL;
}

static void *receiver(void *arg)
{
	uintptr_t who = (uintptr_t)arg;
	uint64_t end = now_ms() + PATIENCE;
	gni_return_t rc;
	uint32_t i = 0;
	void *msg;

	while (i < MESSAGES && now_ms() < end) {
		rc = GNI_SmsgGetNext(ep[who], &msg);
		if (rc == GNI_RC_NOT_DONE) {
			sched_yield();
			continue;
		}
		must_rc(rc, GNI_RC_SUCCESS);
		must(*(uint32_t *)msg == i);
		must_do(GNI_SmsgRelease(ep[who]));
		i++;
	}
	is_u64(i, MESSAGES);
	return NULL;
}

/* One thread sends and one receives on each end. */
static void test_smsg(void)
{
	gni_smsg_attr_t attr[2];
	pthread_t thread[4];
	unsigned int size;
	uintptr_t i;

	for (i = 0; i < 2; i++) {
		nic_open(&n[i], i, i + 1);
		memset(&attr[i], 0, sizeof(attr[i]));
		attr[i].msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
		attr[i].mbox_maxcredit = 16;
		attr[i].msg_maxsize = 64;
		must_do(GNI_SmsgBufferSizeNeeded(&attr[i], &size));
		attr[i].msg_buffer = map_private(size);
		attr[i].buff_size = size;
		mem_open(&n[i], attr[i].msg_buffer, size, NULL, 0, &attr[i].mem_hndl);
	}
	for (i = 0; i < 2; i++) {
		ep[i] = ep_open(&n[i], n[!i].pe, n[!i].id);
		must_do(GNI_SmsgInit(ep[i], &attr[i], &attr[!i]));
	}
	for (i = 0; i < 4; i++)
		thread[i] = start(i & 1 ? sender : receiver, (void *)(i / 2));
	for (i = 0; i < 4; i++)
		join(thread[i]);
}

/* --- datagrams ----------------------------------------------------------------- */

#define DGRAMS	300

static void *dgram_server(void *arg)
{
	gni_ep_handle_t wild = arg;
	gni_post_state_t state;
	uint32_t pe, id, buf;
	uint64_t which;
	int i;

	for (i = 0; i < DGRAMS; i++) {
		must_do(GNI_EpPostDataWId(wild, NULL, 0, &buf, 4, 9));
		must_do(GNI_PostdataProbeWaitById(n[0].h, PATIENCE, &which));
		is_u64(which, 9);
		must_do(GNI_EpPostDataTestById(wild, 9, &state, &pe, &id));
		is_u64(state, GNI_POST_COMPLETED);
		is_u64(buf, id);
	}
	return NULL;
}

static void *dgram_client(void *arg)
{
	struct nic *me = arg;
	gni_ep_handle_t to = ep_open(me, n[0].pe, n[0].id);
	gni_post_state_t state;
	uint32_t pe, id;
	int i;

	for (i = 0; i < DGRAMS / 2; i++) {
		must_do(GNI_EpPostData(to, &me->id, 4, NULL, 0));
		must_do(GNI_EpPostDataWait(to, PATIENCE, &state, &pe, &id));
		is_u64(state, GNI_POST_COMPLETED);
	}
	return NULL;
}

static void test_dgrams(void)
{
	pthread_t server, client[2];
	struct nic more;
	gni_ep_handle_t wild;

	nic_open(&n[0], 0, 100);
	nic_open(&n[1], 0, 101);
	nic_open(&more, 1, 102);
	must_do(GNI_EpCreate(n[0].h, NULL, &wild));
	server = start(dgram_server, wild);
	client[0] = start(dgram_client, &n[1]);
	client[1] = start(dgram_client, &more);
	join(client[0]);
	join(client[1]);
	join(server);
}

static const struct test tests[] = {
	CASE("posts on one endpoint", test_one_endpoint),
	CASE("FMA and RDMA on one endpoint", test_two_queues),
	CASE("registration, endpoints and queues come and go", test_churn, 60),
	CASE("waiting and polling on one queue", test_wait_and_poll),
	CASE("monitoring beside polling", test_monitor),
	CASE("blocked threads hold up nobody", test_blocked),
	CASE("sending and receiving on one endpoint", test_smsg),
	CASE("datagrams", test_dgrams),
};

int main(void)
{
	return RUN_TESTS(tests);
}
