// SPDX-License-Identifier: GPL-2.0-only
/* Shared message queues of two nodes, both in this process, in memory of /dev/shm. */
#include "fake_driver.h"
#include "msgq.h"
#include <gni/netlink.h>

#include <dirent.h>
#include <sched.h>
#include <sys/wait.h>

#define SIZE	40

struct side {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_handle_t cq;
	gni_msgq_handle_t q;
	gni_ep_handle_t ep;
	u32 pe;
	u32 id;
	u32 got[64];
	u32 count;
	int go_on;
};

static struct side a, b;
static char dir[64] = "/dev/shm/kgni-unit-XXXXXX";

static int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	struct side *s = cb_data;

	assert_int_equal(snd_id, s == &a ? b.id : a.id);
	assert_int_equal(snd_pe, s == &a ? b.pe : a.pe);
	memcpy(&s->got[s->count % 64], msg, 4);
	assert_int_equal(msg_tag, (u8)s->got[s->count % 64]);
	s->count++;
	return s->go_on;
}

static gni_msgq_attr_t shape(u32 slots, u32 insts)
{
	return (gni_msgq_attr_t){
		.max_msg_sz = SIZE, .smsg_q_sz = slots, .rcv_pool_sz = 3, .num_msgq_eps = 2,
		.nloc_insts = insts, .rcv_cq_sz = 16,
	};
}

static void side_open(struct side *s, u32 device, u32 id)
{
	memset(s, 0, sizeof(*s));
	s->id = id;
	s->go_on = 1;
	ok(GNI_CdmCreate(id, GNI_FIND_ALLOC_PTAG, 99, 0, &s->cdm));
	ok(GNI_CdmAttach(s->cdm, device, &s->pe, &s->nic));
	ok(GNI_CqCreate(s->nic, 64, 0, 0, NULL, NULL, &s->cq));
}

static void pair(u32 slots)
{
	gni_msgq_attr_t at = shape(slots, 1);
	gni_msgq_ep_attr_t at_a, at_b;
	u32 size = 0;

	fake.devices = 2;
	fake.post_answer = 0;
	fake.post_silent = false;
	fake.post_status = 0;
	fake.in_post = NULL;
	fake.in_link = NULL;
	side_open(&a, 0, 5);
	side_open(&b, 1, 6);
	ok(GNI_MsgqInit(a.nic, receive, &a, a.cq, &at, &a.q));
	ok(GNI_MsgqInit(b.nic, receive, &b, b.cq, &at, &b.q));
	ok(GNI_MsgqGetConnAttrs(a.q, b.pe, &at_a, &size));
	assert_int_equal(size, offsetof(gni_msgq_ep_attr_t, insts) + sizeof(at_a.insts[0]));
	ok(GNI_MsgqGetConnAttrs(b.q, a.pe, &at_b, NULL));
	ok(GNI_MsgqConnect(a.q, b.pe, &at_b));
	ok(GNI_MsgqConnect(b.q, a.pe, &at_a));
	ok(GNI_EpCreate(a.nic, a.cq, &a.ep));
	ok(GNI_EpBind(a.ep, b.pe, 6));
	ok(GNI_EpCreate(b.nic, b.cq, &b.ep));
	ok(GNI_EpBind(b.ep, a.pe, 5));
}

static void pair_end(void)
{
	ok(GNI_CdmDestroy(a.cdm));
	ok(GNI_CdmDestroy(b.cdm));
}

static int files(void)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	int n = 0;

	while ((entry = readdir(d)))
		n += entry->d_name[0] == 'k';
	closedir(d);
	return n;
}

static void remove_all(void)
{
	struct dirent *entry;
	char path[300];
	DIR *d = opendir(dir);

	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.200s", dir, entry->d_name);
		unlink(path);
	}
	closedir(d);
	rmdir(dir);
}

static gni_return_t send_number(struct side *s, u32 n)
{
	return GNI_MsgqSend(s->q, s->ep, &n, 4, NULL, 0, n, (u8)n);
}

static void event(struct side *s, u32 n, gni_return_t rc)
{
	gni_cq_entry_t e = 0;

	assert_int_equal(GNI_CqGetEvent(s->cq, &e), rc);
	assert_int_equal(gni_cq_get_msg_id(e), n);
	assert_int_equal(gni_cq_get_type(e), GNI_CQ_EVENT_TYPE_MSGQ);
}

static void test_messages(void **state)
{
	u32 i, n;

	(void)state;
	for (n = 1; n < 12; n++) {
		pair(n);
		assert_int_equal(files(), 2);
		for (i = 0; i < 50; i++) {
			ok(send_number(&a, i));
			event(&a, i, GNI_RC_SUCCESS);
			ok(send_number(&b, i));
			event(&b, i, GNI_RC_SUCCESS);
			ok(GNI_MsgqProgress(b.q, 0));
			ok(GNI_MsgqProgress(a.q, 0));
			assert_int_equal(b.got[i % 64], i);
			assert_int_equal(a.got[i % 64], i);
			ok(GNI_MsgqIdle(a.q));
			/* What is consumed is told when half of it is, or on demand. */
			if (n % 2 && send_number(&a, 99) == GNI_RC_SUCCESS) {
				event(&a, 99, GNI_RC_SUCCESS);
				ok(GNI_MsgqProgress(b.q, 0));
				b.count--;
			}
		}
		ok(GNI_EpDestroy(a.ep));
		ok(GNI_MsgqRelease(a.q));
		assert_int_equal(files(), 1);
		ok(GNI_MsgqRelease(b.q));
		pair_end();
		assert_int_equal(files(), 0);
		assert_int_equal(fake.open_files, 0);
	}
}

/* The driver has no room: nothing was sent, and it goes on as if nothing had been. */
/* What the library keeps of a queue's entries takes room, too. */
static void test_kept(void **state)
{
	const u64 entry = kgni_cqe_remote(1, GNI_POST_FMA_PUT, KGNI_CQE_POST);
	gni_cq_entry_t e;
	u32 i;

	(void)state;
	pair(4);
	for (i = 0; i < 64; i++)
		assert_true(ugni_cq_keep(a.cq, entry));
	ok(send_number(&a, 1));
	assert_int_equal(GNI_CqGetEvent(a.cq, &e), GNI_RC_ERROR_RESOURCE);
	for (i = 0; i < 64; i++)
		ok(GNI_CqGetEvent(a.cq, &e));
	assert_int_equal(GNI_CqGetEvent(a.cq, &e), GNI_RC_NOT_DONE);
	ok(send_number(&a, 2));
	event(&a, 2, GNI_RC_SUCCESS);
	pair_end();
}

static void test_busy(void **state)
{
	gni_cq_entry_t e;

	(void)state;
	pair(4);
	ok(send_number(&a, 1));
	fake.post_answer = GNI_RC_ERROR_RESOURCE;
	assert_int_equal(send_number(&a, 2), GNI_RC_NOT_DONE);
	fake.post_answer = -ENOMEM;
	assert_int_equal(send_number(&a, 2), GNI_RC_NOT_DONE);
	fake.post_answer = 0;
	ok(send_number(&a, 2));
	event(&a, 1, GNI_RC_SUCCESS);
	event(&a, 2, GNI_RC_SUCCESS);
	assert_int_equal(GNI_CqGetEvent(a.cq, &e), GNI_RC_NOT_DONE);
	ok(GNI_MsgqProgress(b.q, 0));
	assert_int_equal(b.count, 2);
	assert_int_equal(b.got[1], 2);
	/* The target is not there. */
	fake.post_status = KGNI_ST_MDD_INVALID;
	fake.in_link = NULL;
	pair_end();
}

static int lost_left, lost_how;

static int lose(const struct kgni_ioc_post *arg)
{
	(void)arg;
	return lost_left && lost_left-- ? lost_how : 0;
}

/* Ways that fail: what may have arrived is put again until it is known to have. */
static void test_link(void **state)
{
	u32 how, times, n, sent = 0;
	gni_cq_entry_t e;

	(void)state;
	for (how = FAKE_LOST; how <= FAKE_ACK_LOST; how++) {
		pair(3);
		fake.in_link = lose;
		ok(GNI_SmsgSetMaxRetrans(a.nic, 2));
		for (times = 1, n = 0; times < 9; times++) {
			lost_left = (int)times;
			lost_how = (int)how;
			ok(send_number(&a, n));
			event(&a, n++, times > 2 ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS);
			/* From here on the way is good, or will be soon. */
			for (sent = 0; sent < 5 && send_number(&a, n) != GNI_RC_SUCCESS; sent++)
				assert_int_equal(GNI_CqGetEvent(a.cq, &e), GNI_RC_NOT_DONE);
			assert_true(sent < 5);
			event(&a, n++, GNI_RC_SUCCESS);
			lost_left = 0;
			do
				ok(GNI_MsgqProgress(b.q, 0));
			while (GNI_MsgqIdle(b.q) == GNI_RC_NOT_DONE);
			/* All came, each once, in order. */
			assert_int_equal(b.count, n);
			assert_int_equal(b.got[(n - 2) % 64], n - 2);
			assert_int_equal(b.got[(n - 1) % 64], n - 1);
		}
		pair_end();
	}
}

/* At a checkpoint nothing of the device is touched, and all can be given back. */
static void test_checkpoint(void **state)
{
	gni_msgq_ep_attr_t at;
	gni_msgq_attr_t s = shape(3, 1);
	gni_msgq_handle_t q;
	unsigned int calls;

	(void)state;
	pair(3);
	ok(GNI_CdmCheckpoint(a.cdm));
	calls = fake.calls;
	assert_int_equal(send_number(&a, 1), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MsgqProgress(a.q, 0), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MsgqGetConnAttrs(a.q, 3, &at, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MsgqConnRelease(a.q, b.pe), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MsgqInit(a.nic, receive, &a, a.cq, &s, &q), GNI_RC_INVALID_PARAM);
	ok(GNI_MsgqIdle(a.q));
	assert_int_equal(fake.calls, calls);
	ok(GNI_CdmResume(a.cdm));
	ok(send_number(&a, 1));
	event(&a, 1, GNI_RC_SUCCESS);
	ok(GNI_MsgqProgress(b.q, 0));
	assert_int_equal(b.count, 1);
	ok(GNI_CdmCheckpoint(a.cdm));
	calls = fake.calls;
	ok(GNI_MsgqRelease(a.q));
	assert_int_equal(GNI_MsgqRelease(a.q), GNI_RC_INVALID_PARAM);
	assert_int_equal(fake.calls, calls);
	pair_end();
}

/* --- windows ---------------------------------------------------------------------- */

#define WINDOWS		8
#define DATA_AT		KGNI_MMAP_WINDOWS
#define RING_AT		(KGNI_MMAP_WINDOWS + 100)
/* Marks of windows: so far apart that a message has room between them. */
#define MARK(i)		(200 * ((i) + 1))

static struct {
	struct kgni_window_state page;
	struct kgni_window_state *state;
	u64 counted[512];
	u32 opens;
	u32 memory;			/* so many of them led to mailboxes */
	u64 refused;			/* a registration that is no more */
	char *data[WINDOWS];
	char *instead;			/* where the next one to memory leads, or NULL */
	u32 posts;
} win;

static int open_window(struct kgni_ioc_window_open *a)
{
	u32 i = win.opens, cq = fake_region_cq(a->remote.qword1);

	if (a->remote.qword1 == win.refused || !fake_cq(cq))
		return GNI_RC_INVALID_PARAM;
	assert_true(i < WINDOWS);
	win.opens++;
	a->addr = a->remote.qword2;
	a->length = a->flags & KGNI_WINDOW_QUEUE ? 0 : 1 << 16;
	win.data[i] = win.instead ? win.instead : (char *)(uintptr_t)a->addr;
	win.memory += !!a->length;
	a->index = MARK(i);
	a->rights = KGNI_WINDOW_WRITE | KGNI_WINDOW_EVENTS;
	a->data_offset = DATA_AT + i;
	a->ring_offset = RING_AT + cq;
	a->ring_length = 4096;
	a->slots = fake_cq(cq)->slots;
	a->delay = 0;
	win.state->live[MARK(i)] = 1;
	return GNI_RC_SUCCESS;
}

static void *map_window(u64 offset, u64 length)
{
	(void)length;
	if (offset == KGNI_MMAP_STATE)
		return win.state;
	if (offset == KGNI_MMAP_STATS)
		return win.counted;
	if (offset >= RING_AT)
		return fake_cq((u32)(offset - RING_AT))->mem;
	return win.data[offset - DATA_AT];
}

static void count_post(const struct kgni_ioc_post *arg)
{
	(void)arg;
	win.posts++;
}

static void windows_on(void)
{
	memset(&win, 0, sizeof(win));
	win.state = &win.page;
	fake.window = open_window;
	fake.map = map_window;
	fake.in_post = count_post;
}

static void windows_off(void)
{
	fake.map = NULL;
	fake.in_post = NULL;
}

/* A second instance on b's node, and a's endpoint to it. */
static struct side c;

static void trio(void)
{
	gni_msgq_attr_t one = shape(64, 1), two = shape(64, 2);
	gni_msgq_ep_attr_t at_a, at_b;

	fake.devices = 2;
	side_open(&a, 0, 5);
	side_open(&b, 1, 6);
	side_open(&c, 1, 7);
	ok(GNI_MsgqInit(a.nic, receive, &a, a.cq, &one, &a.q));
	ok(GNI_MsgqInit(b.nic, receive, &b, b.cq, &two, &b.q));
	ok(GNI_MsgqInit(c.nic, receive, &c, c.cq, &two, &c.q));
	ok(GNI_MsgqGetConnAttrs(a.q, b.pe, &at_a, NULL));
	ok(GNI_MsgqGetConnAttrs(b.q, a.pe, &at_b, NULL));
	ok(GNI_MsgqConnect(a.q, b.pe, &at_b));
	ok(GNI_MsgqConnect(b.q, a.pe, &at_a));
	ok(GNI_EpCreate(a.nic, a.cq, &b.ep));
	ok(GNI_EpBind(b.ep, b.pe, 6));
	ok(GNI_EpCreate(a.nic, a.cq, &c.ep));
	ok(GNI_EpBind(c.ep, b.pe, 7));
}

/* From a. */
static void send_to(struct side *to, u32 n)
{
	ok(GNI_MsgqSend(a.q, to->ep, &n, 4, NULL, 0, n, (u8)n));
	event(&a, n, GNI_RC_SUCCESS);
	ok(GNI_MsgqProgress(to->q, 0));
	assert_int_equal(to->got[(to->count - 1) % 64], n);
}

static void trio_end(void)
{
	pair_end();
	ok(GNI_CdmDestroy(c.cdm));
	assert_int_equal(files(), 0);
}

static void send_both(u32 from, u32 to)
{
	for (; from < to; from++) {
		send_to(&b, from);
		send_to(&c, from);
	}
}

/* One window to the memory that all instances of a node have, and to the rest of the queues. */
static void test_windows(void **state)
{
	(void)state;
	windows_on();
	trio();
	send_both(0, 5);
	assert_int_equal(win.memory, 1);
	assert_int_equal(win.opens, 2);
	win.posts = 0;
	send_both(5, 30);
	/* The other node gives slots back now and then. */
	assert_true(win.posts <= 2);
	assert_int_equal(b.count, 30);
	assert_int_equal(c.count, 30);
	trio_end();
	windows_off();
}

/* Locks of the region that were held while the driver woke somebody, who may want them. */
static u32 held;

static void count_locks(void)
{
	const struct kgni_msgq_view *v = &((struct gni_msgq *)a.q)->view;
	const struct kgni_msgq_conn *conn = kgni_msgq_conn(v, kgni_msgq_lookup(v, b.pe));

	held += !!conn->tx_lock + !!conn->rx_lock;
}

static void sleep_at(const struct side *s)
{
	kgni_ring_arm(&((struct gni_msgq *)s->q)->rcv->ring);
}

static void test_windows_wake(void **state)
{
	u32 n;

	(void)state;
	windows_on();
	trio();
	held = 0;
	fake.in_window_wake = count_locks;
	send_both(0, 5);
	fake.window_wakes = 0;
	for (n = 5; n < 15; n++) {
		sleep_at(&b);
		sleep_at(&c);
		send_both(n, n + 1);
	}
	assert_int_equal(fake.window_wakes, 20);
	assert_int_equal(held, 0);
	fake.in_window_wake = NULL;
	trio_end();
	windows_off();
}

/* The instance whose registration is gone by ends: by another one it goes on. */
static void test_window_gone(void **state)
{
	u32 n, used;

	(void)state;
	windows_on();
	trio();
	send_both(0, 5);
	assert_int_equal(win.memory, 1);
	win.refused = b.q->handle.qword1;
	for (used = 0; used < WINDOWS; used++)
		win.state->live[MARK(used)] = used == 1;
	for (n = 5; n < 20; n++)
		send_to(&c, n);
	win.posts = 0;
	for (; n < 40; n++)
		send_to(&c, n);
	assert_true(win.posts <= 2);
	assert_int_equal(c.count, 40);
	win.refused = 0;
	trio_end();
	windows_off();
}

/* The target of all messages from a is there, or not. */
static void b_there(bool there)
{
	fake.cq[b.q->rcv->id].used = there;
}

/* A message of which nobody knows is put again before the next one. */
static void put_again(u32 got)
{
	const u32 conn = kgni_msgq_lookup(&a.q->view, b.pe);

	assert_int_not_equal(kgni_msgq_conn(&a.q->view, conn)->intent.word, 0);
	b_there(true);
	ok(send_number(&a, 7));
	event(&a, 7, GNI_RC_SUCCESS);
	do
		ok(GNI_MsgqProgress(b.q, 0));
	while (GNI_MsgqIdle(b.q) == GNI_RC_NOT_DONE);
	assert_int_equal(b.count, got + 2);
	assert_int_equal(b.got[got], 0);
	assert_int_equal(b.got[got + 1], 7);
}

/* The post that comes after this one is refused. */
static void refuse_next(const struct kgni_ioc_post *arg)
{
	(void)arg;
	fake.post_status = KGNI_ST_MDD_INVALID;
}

/* The window ends while the message goes there, and the driver does not find the target. */
static void test_window_ended(void **state)
{
	char *mbox;

	(void)state;
	windows_on();
	pair(4);
	ok(send_number(&a, 3));
	event(&a, 3, GNI_RC_SUCCESS);
	ok(GNI_MsgqProgress(b.q, 0));
	assert_int_equal(b.count, 1);
	/* The next message, a zero, lies where the mark of its window is. */
	mbox = kgni_msgq_mbox(&b.q->view, kgni_msgq_lookup(&b.q->view, a.pe));
	win.state = (void *)(mbox + kgni_msgq_slot(&b.q->view.shape, 1) + KGNI_MSGQ_PAYLOAD -
			     offsetof(struct kgni_window_state, live[MARK(0)]));
	assert_true((char *)win.state > mbox && !win.state->flags);
	/* The way is tried, by the driver, before the message goes there. */
	fake.in_post = refuse_next;
	ok(send_number(&a, 0));
	event(&a, 0, GNI_RC_TRANSACTION_ERROR);
	assert_int_equal(win.opens, 1);
	assert_int_equal(win.state->live[MARK(0)], 0);
	fake.in_post = NULL;
	fake.post_status = 0;
	put_again(1);
	pair_end();
	windows_off();
}

/* A window that leads to other memory: nothing is put there. */
static void test_window_elsewhere(void **state)
{
	static char other[1 << 16], zeros[1 << 16];
	u32 n;

	(void)state;
	windows_on();
	trio();
	win.instead = other;
	for (n = 0; n < 20; n++)
		send_to(&c, n);
	assert_true(win.memory);
	assert_memory_equal(other, zeros, sizeof(other));
	assert_int_equal(c.count, 20);
	win.instead = NULL;
	trio_end();
	windows_off();
}

static int lose_and_end(const struct kgni_ioc_post *arg)
{
	(void)arg;
	if (!lost_left)
		return 0;
	lost_left = 0;
	b_there(false);
	return FAKE_ACK_LOST;
}

/* The same, where the way fails, and then the target is gone. */
static void test_link_ended(void **state)
{
	(void)state;
	pair(4);
	ok(GNI_SmsgSetMaxRetrans(a.nic, 2));
	fake.in_link = lose_and_end;
	lost_left = 1;
	ok(send_number(&a, 0));
	event(&a, 0, GNI_RC_TRANSACTION_ERROR);
	put_again(0);
	pair_end();
}

/* --- threads: two send by endpoints of their own, two receive ---------------------- */

#define EACH	400

static u32 counted;

static int count(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	(void)snd_pe;
	(void)msg;
	(void)msg_tag;
	(void)cb_data;
	assert_int_equal(snd_id, 5);
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
	return 1;
}

static void *sender(void *arg)
{
	gni_ep_handle_t ep = arg;
	gni_cq_entry_t e;
	gni_return_t rc;
	u32 n;

	for (n = 0; n < EACH; n++) {
		while ((rc = GNI_MsgqSend(a.q, ep, &n, 4, NULL, 0, n, 0)) == GNI_RC_NOT_DONE)
			sched_yield();
		ok(rc);
		/* Either thread may have the event. */
		while (GNI_CqGetEvent(a.cq, &e) != GNI_RC_SUCCESS)
			sched_yield();
	}
	return NULL;
}

static void *receiver(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&counted, __ATOMIC_RELAXED) < 2 * EACH)
		ok(GNI_MsgqProgress(b.q, 0));
	return NULL;
}

static void test_threads(void **state)
{
	gni_msgq_attr_t at = shape(5, 1);
	gni_msgq_ep_attr_t at_a, at_b;
	pthread_t thread[4];
	gni_ep_handle_t second;
	u32 i;

	(void)state;
	pair(5);
	ok(GNI_MsgqRelease(b.q));
	ok(GNI_MsgqConnRelease(a.q, b.pe));
	ok(GNI_MsgqInit(b.nic, count, NULL, NULL, &at, &b.q));
	ok(GNI_MsgqGetConnAttrs(a.q, b.pe, &at_a, NULL));
	ok(GNI_MsgqGetConnAttrs(b.q, a.pe, &at_b, NULL));
	ok(GNI_MsgqConnect(a.q, b.pe, &at_b));
	ok(GNI_MsgqConnect(b.q, a.pe, &at_a));
	ok(GNI_EpCreate(a.nic, a.cq, &second));
	ok(GNI_EpBind(second, b.pe, 6));
	counted = 0;
	pthread_create(&thread[0], NULL, sender, a.ep);
	pthread_create(&thread[1], NULL, sender, second);
	pthread_create(&thread[2], NULL, receiver, NULL);
	pthread_create(&thread[3], NULL, receiver, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(counted, 2 * EACH);
	ok(GNI_MsgqIdle(a.q));
	ok(GNI_MsgqIdle(b.q));
	pair_end();
}

/* A child of fork() has no handle, and can have one of its own. */
static void test_fork(void **state)
{
	gni_msgq_attr_t s = shape(3, 2);
	gni_msgq_handle_t q;
	int status;
	pid_t pid;

	(void)state;
	fake.devices = 2;
	side_open(&a, 0, 5);
	ok(GNI_MsgqInit(a.nic, receive, &a, a.cq, &s, &a.q));
	pid = fork();
	if (!pid) {
		if (GNI_MsgqIdle(a.q) != GNI_RC_INVALID_PARAM)
			_exit(1);
		side_open(&b, 0, 6);
		if (GNI_MsgqInit(b.nic, receive, &b, b.cq, &s, &q) != GNI_RC_SUCCESS)
			_exit(2);
		_exit(GNI_MsgqRelease(q));
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(files(), 1);
	ok(GNI_CdmDestroy(a.cdm));
	assert_int_equal(files(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_windows_wake),
		cmocka_unit_test(test_window_gone),
		cmocka_unit_test(test_window_ended),
		cmocka_unit_test(test_window_elsewhere),
		cmocka_unit_test(test_link_ended),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
		/* It leaves an instance behind until the program ends. */
		cmocka_unit_test(test_checkpoint),
	};
	int failed;

	if (!mkdtemp(dir))
		return 77;
	setenv("UGNI_MSGQ_DIR", dir, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	remove_all();
	return failed;
}
