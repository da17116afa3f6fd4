// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion channels and interrupt masks. Needs two NICs.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "common.h"

static struct nic nic;
static gni_ep_handle_t self;
static unsigned char *mem;
static gni_comp_chan_handle_t chan;
static int fd;

#define CQS	4
static gni_cq_handle_t cq[CQS];
static gni_mem_handle_t mh[CQS];	/* CQ writes to it reach the queue of that number */

static void setup_delay(uint32_t delay)
{
	unsigned int i;

	nic_open(&nic, 0, 1);
	self = ep_open(&nic, nic.pe, nic.id);
	mem = map_private(PAGE);
	for (i = 0; i < CQS; i++) {
		must_do(GNI_CqCreate(nic.h, 16, delay, GNI_CQ_BLOCKING, NULL, NULL, &cq[i]));
		mem_open(&nic, mem, PAGE, cq[i], 0, &mh[i]);
	}
	must_do(GNI_CompChanCreate(nic.h, &chan));
	must_do(GNI_CompChanFd(chan, &fd));
	for (i = 0; i < CQS - 1; i++)
		must_do(GNI_CqAttachCompChan(cq[i], chan));
}

static void setup(void)
{
	setup_delay(0);
}

/* Put an event into the queue of this number. */
static void send_event(unsigned int i, uint64_t value)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_SILENT);
	d.remote_mem_hndl = mh[i];
	d.cqwrite_value = value;
	must_do(GNI_PostCqWrite(self, &d));
}

static bool readable(void)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	must(poll(&p, 1, 0) >= 0);
	return p.revents & POLLIN;
}

static void is_event(unsigned int i)
{
	gni_cq_handle_t which = NULL;

	ok(readable(), "%u", i);
	is_rc(GNI_CompChanGetEvent(chan, &which), GNI_RC_SUCCESS);
	ok(which == cq[i], "the queue that has it, %u", i);
}

static void is_quiet(void)
{
	gni_cq_handle_t which = NULL;

	ok(!readable());
	is_rc(GNI_CompChanGetEvent(chan, &which), GNI_RC_NOT_DONE);
}

static void drain(unsigned int i)
{
	gni_cq_entry_t e;

	while (GNI_CqGetEvent(cq[i], &e) == GNI_RC_SUCCESS)
		;
}

static void test_one_shot(void)
{
	gni_cq_handle_t both[2];

	setup();
	send_event(0, 1);
	is_quiet();
	/* An event that is there already counts. */
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	ok(readable() && readable(), "level-triggered");
	is_event(0);
	is_quiet();
	send_event(0, 2);
	is_quiet();
	drain(0);
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	is_quiet();
	send_event(0, 3);
	send_event(0, 4);
	is_event(0);
	is_quiet();
	drain(0);
	/* Armed, fired, armed again before it was asked for: one event. */
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	send_event(0, 5);
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	is_event(0);
	is_quiet();
	drain(0);
	/* Two queues, each has its own. */
	both[0] = cq[1];
	both[1] = cq[2];
	must_do(GNI_CqArmCompChan(both, 2));
	send_event(2, 1);
	send_event(1, 1);
	send_event(0, 1);
	is_event(1);
	is_event(2);
	is_quiet();
}

/* An overrun is something to be told of, too. */
static void test_overrun(void)
{
	unsigned int i;

	setup();
	for (i = 0; i < 16; i++)
		send_event(0, i);
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	is_event(0);
	drain(0);
	for (i = 0; i < 17; i++)
		send_event(0, i);
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	is_event(0);
}

static void test_errors(void)
{
	gni_comp_chan_handle_t second, far_chan;
	gni_cq_handle_t polled, which, list[2];
	struct nic far;
	int n;

	setup();
	nic_open(&far, 1, 2);
	polled = cq_open(&nic, 8, GNI_CQ_NOBLOCK);
	is_rc(GNI_CompChanCreate(NULL, &second), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CompChanCreate(nic.h, NULL), GNI_RC_INVALID_PARAM);
	must_do(GNI_CompChanCreate(nic.h, &second));
	must_do(GNI_CompChanCreate(far.h, &far_chan));
	is_rc(GNI_CompChanFd(NULL, &n), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CompChanFd(second, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CompChanGetEvent((void *)8, &which), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CompChanGetEvent(second, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqAttachCompChan(cq[0], second), GNI_RC_INVALID_STATE, "attached");
	is_rc(GNI_CqAttachCompChan(cq[CQS - 1], far_chan), GNI_RC_INVALID_PARAM, "another NIC");
	is_rc(GNI_CqAttachCompChan(polled, second), GNI_RC_INVALID_PARAM, "not blocking");
	is_rc(GNI_CqAttachCompChan(NULL, second), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqAttachCompChan(cq[CQS - 1], NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqAttachCompChan(cq[CQS - 1], (void *)cq[0]), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqArmCompChan(NULL, 1), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqArmCompChan(cq, 0), GNI_RC_INVALID_PARAM);
	list[0] = cq[0];
	list[1] = cq[CQS - 1];
	send_event(0, 1);
	is_rc(GNI_CqArmCompChan(list, 2), GNI_RC_INVALID_STATE, "not attached");
	list[1] = NULL;
	is_rc(GNI_CqArmCompChan(list, 2), GNI_RC_INVALID_PARAM);
	is_quiet();
	is_rc(GNI_CompChanDestroy(chan), GNI_RC_ERROR_RESOURCE, "queues are attached");
	is_rc(GNI_CompChanDestroy(second), GNI_RC_SUCCESS);
	is_rc(GNI_CompChanDestroy(second), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CompChanFd(second, &n), GNI_RC_INVALID_PARAM);
}

/* A queue that goes takes with it what it had to say. */
static void test_destroy(void)
{
	gni_cq_handle_t which;
	int i, files = 0, now = 0;

	setup();
	for (i = 0; i < 256; i++)
		files += fcntl(i, F_GETFD) >= 0;
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	send_event(0, 1);
	must_do(GNI_CqArmCompChan(&cq[1], 1));
	must_do(GNI_CqDestroy(cq[0]));
	is_rc(GNI_CompChanGetEvent(chan, &which), GNI_RC_NOT_DONE);
	ok(!readable());
	send_event(1, 1);
	is_event(1);
	must_do(GNI_CqDestroy(cq[1]));
	must_do(GNI_CqDestroy(cq[2]));
	is_rc(GNI_CompChanDestroy(chan), GNI_RC_SUCCESS);
	for (i = 0; i < 256; i++)
		now += fcntl(i, F_GETFD) >= 0;
	is_u64(now, files - 1);
	/* And with the domain goes what is left. */
	must_do(GNI_CompChanCreate(nic.h, &chan));
	must_do(GNI_CqAttachCompChan(cq[3], chan));
	must_do(GNI_EpDestroy(self));
	nic_close(&nic);
	is_rc(GNI_CompChanDestroy(chan), GNI_RC_INVALID_PARAM);
	for (now = i = 0; i < 256; i++)
		now += fcntl(i, F_GETFD) >= 0;
	is_u64(now, files - 2, "no file is left");
}

#define MESSAGES	3000

static void *sender(void *arg)
{
	uint32_t seed = 1 + *(unsigned int *)arg;
	unsigned int i;

	for (i = 0; i < MESSAGES; i++) {
		send_event(*(unsigned int *)arg, i);
		if (!(rnd(&seed) % 8))
			sched_yield();
		/* The queue has 16 entries: wait for the reader now and then. */
		if (i % 8 == 7)
			take(*(unsigned int *)arg);
	}
	return NULL;
}

/* As an event loop does it: arm, then drain, then sleep in epoll. */
static void test_event_loop(void)
{
	unsigned int number[CQS - 1], got[CQS - 1] = { 0 }, i, left = (CQS - 1) * MESSAGES;
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);
	pthread_t thread[CQS - 1];
	gni_cq_handle_t which;
	gni_cq_entry_t e;

	setup();
	must(ep >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	must_do(GNI_CqArmCompChan(cq, CQS - 1));
	for (i = 0; i < CQS - 1; i++) {
		number[i] = i;
		must(!pthread_create(&thread[i], NULL, sender, &number[i]));
	}
	while (left) {
		must(epoll_wait(ep, &ev, 1, (int)PATIENCE) == 1, "%u left", left);
		while (GNI_CompChanGetEvent(chan, &which) == GNI_RC_SUCCESS) {
			for (i = 0; i < CQS - 1 && cq[i] != which; i++)
				;
			must(i < CQS - 1);
			must_do(GNI_CqArmCompChan(&which, 1));
			while (GNI_CqGetEvent(which, &e) == GNI_RC_SUCCESS) {
				is_u64(gni_cq_get_data(e), got[i]);
				left--;
				if (got[i]++ % 8 == 7)
					give(i);
			}
		}
	}
	for (i = 0; i < CQS - 1; i++)
		must(!pthread_join(thread[i], NULL));
	close(ep);
}

/* --- masks ------------------------------------------------------------------------ */

struct waiter {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool done;
	gni_return_t rc;
	gni_cq_entry_t e;
	uint64_t timeout;
};

static void *wait_thread(void *arg)
{
	struct waiter *w = arg;

	w->tid = thread_id();
	w->rc = GNI_CqWaitEvent(cq[0], w->timeout, &w->e);
	w->done = true;
	return NULL;
}

static void begin_wait(struct waiter *w, uint64_t timeout)
{
	memset(w, 0, sizeof(*w));
	w->timeout = timeout;
	must(!pthread_create(&w->thread, NULL, wait_thread, w));
	/* A timeout may be over before anybody looks. */
	must(wait_for(w->tid && (asleep(w->tid) || (w->done && timeout != FOREVER))));
}

static void end_wait(struct waiter *w, gni_return_t rc)
{
	must(wait_for(w->done));
	must(!pthread_join(w->thread, NULL));
	is_rc(w->rc, rc);
}

static void test_mask(void)
{
	gni_cq_entry_t e;
	struct waiter w;
	uint32_t which;
	unsigned int i;

	setup();
	must_do(GNI_CqInterruptMask(cq[0]));
	must_do(GNI_CqInterruptMask(cq[0]));
	/* Those that may say so do not wait for what would not wake them. */
	is_rc(GNI_CqVectorMonitor(cq, 2, FOREVER, &which), GNI_RC_NOT_DONE);
	is_rc(GNI_CqVectorWaitEvent(cq, 2, FOREVER, &e, &which), GNI_RC_NOT_DONE);
	begin_wait(&w, FOREVER);
	send_event(0, 7);
	for (i = 0; i < 50; i++)
		nap();
	ok(!w.done, "masked: nobody is woken");
	must_do(GNI_CqInterruptUnmask(cq[0]));
	for (i = 0; i < 20; i++)
		nap();
	ok(!w.done, "masked twice");
	must_do(GNI_CqInterruptUnmask(cq[0]));
	end_wait(&w, GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(w.e), 7);
	is_rc(GNI_CqInterruptUnmask(cq[0]), GNI_RC_NOT_DONE, "not masked");
	/* What is there is found, masked or not. */
	must_do(GNI_CqInterruptMask(cq[0]));
	send_event(0, 8);
	is_rc(GNI_CqVectorMonitor(cq, 2, FOREVER, &which), GNI_RC_SUCCESS);
	is_rc(GNI_CqVectorWaitEvent(cq, 2, FOREVER, &e, &which), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(e), 8);
	/* The timeout counts all the same, and then finds what came. */
	begin_wait(&w, 300);
	end_wait(&w, GNI_RC_TIMEOUT);
	begin_wait(&w, 2000 * time_scale());
	send_event(0, 9);
	end_wait(&w, GNI_RC_SUCCESS);
	/* Other queues of the vector are not masked, but the call is. */
	send_event(1, 1);
	is_rc(GNI_CqVectorMonitor(cq, 2, FOREVER, &which), GNI_RC_SUCCESS);
	is_u64(which, 1);
}

static void test_mask_errors(void)
{
	gni_cq_handle_t polled, sink;
	unsigned int i;

	setup();
	polled = cq_open(&nic, 8, GNI_CQ_NOBLOCK);
	sink = cq_open(&nic, 8, GNI_CQ_BLOCKING | GNI_CQ_UNMANAGED);
	is_rc(GNI_CqInterruptMask(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqInterruptUnmask(NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqInterruptMask(polled), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqInterruptUnmask(polled), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqInterruptMask(sink), GNI_RC_INVALID_PARAM);
	is_rc(GNI_CqInterruptUnmask(cq[0]), GNI_RC_NOT_DONE);
	for (i = 0; i < 0xffff; i++)
		must_do(GNI_CqInterruptMask(cq[0]));
	is_rc(GNI_CqInterruptMask(cq[0]), GNI_RC_NOT_DONE, "no higher");
	for (i = 0; i < 0xffff; i++)
		must_do(GNI_CqInterruptUnmask(cq[0]));
	is_rc(GNI_CqInterruptUnmask(cq[0]), GNI_RC_NOT_DONE);
}

/* The channel's file is an interrupt as well. */
static void test_mask_chan(void)
{
	setup();
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	must_do(GNI_CqInterruptMask(cq[0]));
	send_event(0, 1);
	is_quiet();
	must_do(GNI_CqInterruptUnmask(cq[0]));
	is_event(0);
	is_quiet();
}

/* Some events may gather before anybody is told. */
static void test_delay(void)
{
	struct waiter w;
	unsigned int i;

	setup_delay(3);
	must_do(GNI_CqArmCompChan(&cq[0], 1));
	for (i = 0; i < 3; i++) {
		send_event(0, i);
		ok(!readable());
	}
	send_event(0, 3);
	is_event(0);
	drain(0);
	begin_wait(&w, FOREVER);
	for (i = 0; i < 3; i++)
		send_event(0, i);
	for (i = 0; i < 50; i++)
		nap();
	ok(!w.done);
	send_event(0, 3);
	end_wait(&w, GNI_RC_SUCCESS);
	is_u64(gni_cq_get_data(w.e), 0);
}

static const struct test tests[] = {
	CASE("channel: one shot", test_one_shot),
	CASE("channel: overrun", test_overrun),
	CASE("channel: what is refused", test_errors),
	CASE("channel: destroyed", test_destroy),
	CASE("channel: event loop", test_event_loop),
	CASE("mask", test_mask),
	CASE("mask: what is refused", test_mask_errors),
	CASE("mask: channel", test_mask_chan),
	CASE("delay count", test_delay),
};

int main(void)
{
	return RUN_TESTS(tests);
}
