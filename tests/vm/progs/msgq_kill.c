// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shared message queues between many processes, which come, go, and are killed. Needs
 * two NICs, which are two nodes, and UGNI_MSGQ_DIR or a hugetlbfs at /mnt/huge.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "common.h"

#define INSTS	GNI_MSGQ_NODE_INSTS_MAX
#define ALL	(2 * INSTS)
#define SIZE	64

/* What the processes of a case share. Instance i is on node i % 2. */
struct world {
	unsigned int insts;		/* of a node */
	uint32_t slots;
	uint32_t goal;			/* messages to each, or 0: until @stop */
	bool hostile;
	_Atomic bool stop;
	_Atomic bool leave;
	_Atomic unsigned int joined, begun, connected, ready;
	_Atomic bool stopped[ALL];
	gni_msgq_ep_attr_t attr[2];
	_Atomic bool killed[ALL];
	_Atomic uint32_t sent[ALL][ALL];	/* numbers whose events were good */
	_Atomic uint32_t got[ALL][ALL];		/* by, from: the last number */
	pid_t pid[ALL];
};

static struct world *w;

/* One process's view. */
static unsigned int me;
static struct nic nic;
static gni_msgq_handle_t q;
static gni_ep_handle_t ep[INSTS];
static uint32_t next[INSTS];		/* numbers of the messages to each */

static unsigned int other(unsigned int i)
{
	return i * 2 + !(me % 2);
}

static gni_msgq_attr_t attrs(unsigned int insts, uint32_t slots)
{
	return (gni_msgq_attr_t){
		.max_msg_sz = SIZE,
		.smsg_q_sz = slots,
		.rcv_pool_sz = 5,
		.num_msgq_eps = 2,
		.nloc_insts = insts,
		.rcv_cq_sz = 64,
	};
}

/* Numbers from each come in order, and none is left out. */
static int receive(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	uint32_t n;

	(void)cb_data;
	if (w->hostile)
		return snd_id & 1;
	memcpy(&n, msg, sizeof(n));
	must(snd_id < ALL && snd_id % 2 != me % 2, "from %u to %u", snd_id, me);
	ok(filled((char *)msg + 4, SIZE - 4, n + snd_id * 1000 + me), "from %u to %u", snd_id, me);
	is_u64(msg_tag, (uint8_t)n);
	is_u64(snd_pe != nic.pe, 1);
	is_u64(n, w->got[me][snd_id] + 1, "from %u to %u", snd_id, me);
	w->got[me][snd_id] = n;
	return 1;
}

static void progress(void)
{
	gni_return_t rc = GNI_MsgqProgress(q, 0);

	ok(rc == GNI_RC_SUCCESS || w->hostile, "%s", rc_name(rc));
}

/* All together wake so often that slow kernels get to something else, too. */
static void rest(void)
{
	usleep(20 * 2 * w->insts * time_scale());
}

static void wait_count(_Atomic unsigned int *count, unsigned int want)
{
	uint64_t end = now_ms() + PATIENCE;

	while (*count < want) {
		must(now_ms() < end, "%u of %u", *count, want);
		rest();
	}
}

static void count_up(_Atomic unsigned int *count)
{
	(*count)++;
}

/* The event of a send: only one to who was killed may fail. */
static void sent_event(unsigned int to, uint32_t n)
{
	gni_cq_entry_t ev = 0;
	gni_return_t rc = next_event(nic.tx, &ev);

	if (w->hostile)
		return;
	is_u64(gni_cq_get_msg_id(ev), n);
	if (rc == GNI_RC_TRANSACTION_ERROR) {
		ok(w->killed[to], "to %u: event %#llx", to, (unsigned long long)ev);
		return;
	}
	is_rc(rc, GNI_RC_SUCCESS);
	w->sent[me][to] = n;
}

/* Return: false if there is no credit. */
static bool send_next(unsigned int i)
{
	unsigned int to = other(i);
	uint32_t n = next[i] + 1;
	unsigned char buf[SIZE];
	gni_return_t rc;

	memcpy(buf, &n, 4);
	fill(buf + 4, SIZE - 4, n + me * 1000 + to);
	rc = GNI_MsgqSend(q, ep[i], buf, 4, buf + 4, SIZE - 4, n, (uint8_t)n);
	if (rc == GNI_RC_NOT_DONE)
		return false;
	if (rc != GNI_RC_SUCCESS) {
		ok(w->hostile, "%s", rc_name(rc));
		return false;
	}
	next[i] = n;
	sent_event(to, n);
	return true;
}

static void join(void)
{
	gni_msgq_attr_t at = attrs(w->insts, w->slots);
	unsigned int i, node = me % 2;

	nic_open(&nic, node, me);
	must_do(GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q));
	count_up(&w->joined);
	wait_count(&w->joined, 2 * w->insts);
	if (me < 2) {
		/* PE addresses of devices follow each other. */
		must_do(GNI_MsgqGetConnAttrs(q, node ? nic.pe - 1 : nic.pe + 1, &w->attr[node],
					     NULL));
		is_u64(w->attr[node].num_insts, w->insts);
		count_up(&w->begun);
		wait_count(&w->begun, 2);
		must_do(GNI_MsgqConnect(q, w->attr[!node].pe_addr, &w->attr[!node]));
		count_up(&w->connected);
	}
	wait_count(&w->connected, 2);
	for (i = 0; i < w->insts; i++)
		ep[i] = ep_open(&nic, w->attr[!node].pe_addr, other(i));
}

static void worker(void *arg)
{
	uint32_t seed = 1 + (uint32_t)(uintptr_t)arg * 77, i;
	bool sent;

	me = (unsigned int)(uintptr_t)arg;
	join();
	count_up(&w->ready);
	/* Those that send to a goal begin at different ones. */
	for (i = me; !w->stop; i++) {
		sent = false;
		if (!w->goal)
			sent = send_next(rnd(&seed) % w->insts);
		else if (next[i % w->insts] < w->goal)
			sent = send_next(i % w->insts);
		progress();
		if (!sent)
			rest();
	}
	w->stopped[me] = true;
	while (!w->leave) {
		progress();
		rest();
	}
	progress();
	if (w->hostile)
		_exit(0);
	for (i = 0; i < w->insts; i++)
		is_rc(GNI_EpDestroy(ep[i]), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(q), GNI_RC_SUCCESS);
	nic_close(&nic);
}

static void world_begin(unsigned int insts, uint32_t slots)
{
	if (!w)
		w = map_shared(sizeof(*w));
	memset(w, 0, sizeof(*w));
	w->insts = insts;
	w->slots = slots;
}

static void world_start(void)
{
	unsigned int i;

	for (i = 0; i < 2 * w->insts; i++)
		w->pid[i] = peer(worker, (void *)(uintptr_t)i);
	wait_count(&w->ready, 2 * w->insts);
}

/* Nobody sends any more ... */
static bool all_stopped(void)
{
	unsigned int i;

	for (i = 0; i < 2 * w->insts; i++)
		if (!w->killed[i] && !w->stopped[i])
			return false;
	return true;
}

/* ... and all that was sent between those who live has come. */
static bool all_there(void)
{
	unsigned int i, j;

	for (i = 0; i < 2 * w->insts; i++)
		for (j = !(i % 2); j < 2 * w->insts; j += 2)
			if (!w->killed[i] && !w->killed[j] && w->got[j][i] != w->sent[i][j])
				return false;
	return true;
}

static bool goal_reached(void)
{
	unsigned int i, j;

	for (i = 0; i < 2 * w->insts; i++)
		for (j = !(i % 2); j < 2 * w->insts; j += 2)
			if (w->got[j][i] != w->goal)
				return false;
	return true;
}

static uint64_t received(void)
{
	uint64_t sum = 0;
	unsigned int i, j;

	for (i = 0; i < 2 * w->insts; i++)
		for (j = !(i % 2); j < 2 * w->insts; j += 2)
			sum += w->got[j][i];
	return sum;
}

/* As long as it goes on it will get there. */
static void reach_goal(void)
{
	uint64_t was;

	while (!goal_reached()) {
		was = received();
		must(wait_for(goal_reached() || received() != was), "%llu received",
		     (unsigned long long)was);
	}
}

static void world_end(void)
{
	unsigned int i;

	w->stop = true;
	ok(wait_for(all_stopped()));
	ok(wait_for(all_there()));
	w->leave = true;
	for (i = 0; i < 2 * w->insts; i++)
		if (!w->killed[i])
			reap(w->pid[i]);
}

static const char *dir(void)
{
	const char *chosen = getenv("UGNI_MSGQ_DIR");

	return chosen ? chosen : "/mnt/huge";
}

static int files(void)
{
	struct dirent *entry;
	int count = 0;
	DIR *d = opendir(dir());

	must(d);
	while ((entry = readdir(d)))
		count += !strncmp(entry->d_name, "kgni-msgq-", 10);
	closedir(d);
	return count;
}

/* Whatever another case left that failed. */
static void clean(void)
{
	struct dirent *entry;
	char path[300];
	DIR *d = opendir(dir());

	must(d);
	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.200s", dir(), entry->d_name);
		if (!strncmp(entry->d_name, "kgni-msgq-", 10))
			unlink(path);
	}
	closedir(d);
}

static void kill_one(unsigned int i)
{
	w->killed[i] = true;
	kill(w->pid[i], SIGKILL);
	reap_killed(w->pid[i]);
}

/* --- many -------------------------------------------------------------------------- */

static void test_many(void)
{
	clean();
	world_begin(time_scale() > 1 ? INSTS / 3 : INSTS, 96);
	w->goal = 1;
	world_start();
	reach_goal();
	world_end();
	is_u64(files(), 0);
}

static void few_slots(void)
{
	world_begin(8, 3);
	w->goal = 5;
	world_start();
	reach_goal();
	world_end();
}

static void test_few_slots(void)
{
	clean();
	few_slots();
	is_u64(files(), 0);
}

/* --- deaths ---------------------------------------------------------------------------- */

/* Messages that survivors send from now on arrive. */
static bool moved(const uint32_t *before)
{
	unsigned int i, j;

	for (i = 0; i < 2; i++) {
		j = !i;
		if (w->got[j][i] <= before[i] + 2 * w->slots + 2)
			return false;
	}
	return true;
}

static void test_storm(void)
{
	uint32_t seed = 4711, before[2];
	unsigned int round, i, kills;

	clean();
	for (round = 0; round < 8; round++) {
		world_begin(5, 1 + round * 2);
		world_start();
		for (kills = 0; kills < 8; ) {
			i = 2 + rnd(&seed) % 8;	/* the first of each node live */
			if (w->killed[i])
				continue;
			usleep(rnd(&seed) % 4000);
			kill_one(i);
			kills++;
		}
		for (i = 0; i < 2; i++)
			before[i] = w->got[!i][i];
		ok(wait_for(moved(before)), "round %u: %u %u", round, w->got[1][0], w->got[0][1]);
		world_end();
		is_u64(files(), 0);
	}
}

/* All die, and what they leave is no use to anybody. */
static void test_leftovers(void)
{
	unsigned int round, i;

	clean();
	for (round = 0; round < 4; round++) {
		world_begin(3, 4);
		world_start();
		usleep(3000);
		for (i = 0; i < 6; i++)
			kill_one(i);
		is_u64(files(), 2);
	}
	few_slots();
	is_u64(files(), 0);
}

/* Credits that a dead receiver holds come back. */
static void receiver(void *arg)
{
	gni_msgq_attr_t at = attrs(2, 8);

	nic_open(&nic, 1, 3);
	must_do(GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q));
	give(0);
	take(1);
	(void)arg;
}

static void test_dead_receiver(void)
{
	gni_msgq_attr_t one = attrs(1, 8), two = attrs(2, 8);
	gni_msgq_ep_attr_t at_a, at_b;
	gni_msgq_handle_t a, b;
	gni_ep_handle_t dead, live;
	gni_cq_entry_t ev = 0;
	struct nic na, nb;
	uint32_t n = 1;
	pid_t pid;
	int i;

	clean();
	world_begin(1, 8);
	w->hostile = true;
	pid = peer(receiver, NULL);
	take(0);
	nic_open(&na, 0, 0);
	nic_open(&nb, 1, 1);
	must_do(GNI_MsgqInit(na.h, receive, NULL, na.tx, &one, &a));
	must_do(GNI_MsgqInit(nb.h, receive, NULL, nb.tx, &two, &b));
	must_do(GNI_MsgqGetConnAttrs(a, nb.pe, &at_a, NULL));
	must_do(GNI_MsgqGetConnAttrs(b, na.pe, &at_b, NULL));
	must_do(GNI_MsgqConnect(a, nb.pe, &at_b));
	must_do(GNI_MsgqConnect(b, na.pe, &at_a));
	dead = ep_open(&na, nb.pe, 3);
	live = ep_open(&na, nb.pe, 1);
	for (i = 0; i < 8; i++) {
		is_rc(GNI_MsgqSend(a, dead, &n, 4, NULL, 0, 1, 1), GNI_RC_SUCCESS);
		is_rc(next_event(na.tx, &ev), GNI_RC_SUCCESS);
	}
	is_rc(GNI_MsgqSend(a, live, &n, 4, NULL, 0, 1, 1), GNI_RC_NOT_DONE);
	is_rc(GNI_MsgqConnRelease(b, na.pe), GNI_RC_NOT_DONE, "one has messages");
	kill(pid, SIGKILL);
	reap_killed(pid);
	for (i = 0; i < 100 && GNI_MsgqSend(a, live, &n, 4, NULL, 0, 1, 1) != GNI_RC_SUCCESS; i++)
		GNI_MsgqProgress(b, 0);
	ok(i < 100);
	is_rc(next_event(na.tx, &ev), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqSend(a, dead, &n, 4, NULL, 0, 9, 1), GNI_RC_SUCCESS);
	is_rc(next_event(na.tx, &ev), GNI_RC_TRANSACTION_ERROR);
	is_u64(gni_cq_get_msg_id(ev), 9);
	/* Another takes its place, and is known after the nodes are connected anew. */
	pid = peer(receiver, NULL);
	take(0);
	GNI_MsgqProgress(b, 0);
	for (i = 0; i < 100 && GNI_MsgqConnRelease(a, nb.pe) != GNI_RC_SUCCESS; i++)
		GNI_MsgqProgress(b, 0);
	ok(i < 100);
	is_rc(GNI_MsgqConnRelease(b, na.pe), GNI_RC_SUCCESS);
	must_do(GNI_MsgqGetConnAttrs(a, nb.pe, &at_a, NULL));
	must_do(GNI_MsgqGetConnAttrs(b, na.pe, &at_b, NULL));
	is_u64(at_b.num_insts, 2);
	must_do(GNI_MsgqConnect(a, nb.pe, &at_b));
	must_do(GNI_MsgqConnect(b, na.pe, &at_a));
	is_rc(GNI_MsgqSend(a, dead, &n, 4, NULL, 0, 10, 1), GNI_RC_SUCCESS);
	is_rc(next_event(na.tx, &ev), GNI_RC_SUCCESS, "not dead any more");
	give(1);
	reap(pid);
	is_rc(GNI_EpDestroy(dead), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(live), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(a), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(b), GNI_RC_SUCCESS);
	nic_close(&na);
	nic_close(&nb);
}

/* --- coming and going -------------------------------------------------------------------- */

#define COMERS	8
#define ROUNDS	15

/* Whoever is there first waits for the rest; the next round begins when all have left. */
static void come_and_go(void *arg)
{
	uint32_t seed = 99 + (uint32_t)(uintptr_t)arg, round;
	gni_msgq_attr_t at = attrs(COMERS, 4);
	gni_return_t rc;

	nic_open(&nic, 0, (uint32_t)(uintptr_t)arg);
	for (round = 1; round <= ROUNDS; round++) {
		usleep(rnd(&seed) % 2000);
		while ((rc = GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q)) ==
		       GNI_RC_INVALID_STATE)
			nap();
		must_do(rc);
		count_up(&w->joined);
		wait_count(&w->joined, COMERS * round);
		usleep(rnd(&seed) % 2000);
		must_do(GNI_MsgqRelease(q));
	}
	nic_close(&nic);
}

static void test_come_and_go(void)
{
	pid_t pid[COMERS];
	unsigned int i;

	clean();
	world_begin(COMERS, 4);
	for (i = 0; i < COMERS; i++)
		pid[i] = peer(come_and_go, (void *)(uintptr_t)i);
	for (i = 0; i < COMERS; i++)
		reap(pid[i]);
	is_u64(files(), 0);
}

/* Joins and leaves until it is killed. */
static void restless(void *arg)
{
	gni_msgq_attr_t at = attrs(4, 4);
	gni_msgq_ep_attr_t attr;

	nic_open(&nic, 0, (uint32_t)(uintptr_t)arg);
	for (;;) {
		if (GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q) != GNI_RC_SUCCESS)
			continue;
		if (GNI_MsgqGetConnAttrs(q, 9, &attr, NULL) == GNI_RC_SUCCESS)
			GNI_MsgqConnRelease(q, 9);
		count_up(&w->joined);
		is_rc(GNI_MsgqRelease(q), GNI_RC_SUCCESS);
	}
}

static void test_killed_joining(void)
{
	gni_msgq_attr_t at = attrs(1, 4);
	unsigned int round, i, was;
	uint32_t seed = 5;
	pid_t pid[4];

	clean();
	world_begin(4, 4);
	for (round = 0; round < 25; round++) {
		for (i = 0; i < 4; i++)
			pid[i] = peer(restless, (void *)(uintptr_t)i);
		was = w->joined;
		must(wait_for(w->joined > was + 10));
		for (i = 0; i < 4; i++) {
			usleep(rnd(&seed) % 500);
			kill(pid[i], SIGKILL);
			reap_killed(pid[i]);
		}
	}
	nic_open(&nic, 0, 1);
	is_rc(GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q), GNI_RC_SUCCESS);
	is_rc(GNI_MsgqRelease(q), GNI_RC_SUCCESS);
	nic_close(&nic);
	is_u64(files(), 0);
}

/* --- fork --------------------------------------------------------------------------------- */

static void forker(void *arg)
{
	gni_msgq_attr_t at = attrs(2, 8);

	(void)arg;
	nic_open(&nic, 0, 7);
	must_do(GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &q));
	if (!fork()) {
		is_rc(GNI_MsgqProgress(q, 0), GNI_RC_INVALID_PARAM);
		is_rc(GNI_MsgqIdle(q), GNI_RC_INVALID_PARAM);
		is_rc(GNI_MsgqRelease(q), GNI_RC_INVALID_PARAM);
		give(0);
		take(1);
		_exit(0);
	}
	take(2);
}

/* A child has nothing of its parent's, and does not keep its place when that dies. */
static void test_fork(void)
{
	gni_msgq_attr_t at = attrs(2, 8);
	gni_msgq_handle_t mine;
	pid_t pid;

	clean();
	world_begin(2, 8);
	pid = peer(forker, NULL);
	take(0);
	nic_open(&nic, 0, 8);
	must_do(GNI_MsgqInit(nic.h, receive, NULL, nic.tx, &at, &mine));
	kill(pid, SIGKILL);
	reap_killed(pid);
	pid = peer(forker, NULL);	/* the same id again */
	take(0);
	give(1);
	give(1);
	give(2);
	reap(pid);
	is_rc(GNI_MsgqRelease(mine), GNI_RC_SUCCESS);
	nic_close(&nic);
}

/* --- hostile --------------------------------------------------------------------------------- */

/* Writes whatever wherever, to all regions. */
static void scribbler(void *arg)
{
	uint32_t seed = 12345;
	struct dirent *entry;
	char path[300];
	uint32_t *mem[2];
	size_t size = 0;
	int fd, n = 0, i;
	DIR *d = opendir(dir());

	(void)arg;
	must(d);
	while (n < 2 && (entry = readdir(d))) {
		if (strncmp(entry->d_name, "kgni-msgq-", 10))
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir(), entry->d_name);
		fd = open(path, O_RDWR);
		must(fd >= 0);
		size = lseek(fd, 0, SEEK_END);
		mem[n] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		must(mem[n] != MAP_FAILED);
		n++;
	}
	must(n == 2);
	for (i = 0; i < 400000; i++) {
		/* The head and connections are where most of it can go wrong. */
		size_t at = rnd(&seed) % (i & 1 ? size / 4 : 1500);
		uint32_t value = rnd(&seed);

		mem[i >> 1 & 1][at] = value & 7 ? value % 50 : value;
		if (i % 100 == 0)
			sched_yield();
	}
	count_up(&w->begun);
}

static void test_hostile(void)
{
	unsigned int i;
	pid_t pid;

	clean();
	world_begin(3, 5);
	world_start();
	w->hostile = true;
	w->begun = 0;
	pid = peer(scribbler, NULL);
	reap(pid);
	is_u64(w->begun, 1);
	w->stop = true;
	w->leave = true;
	for (i = 0; i < 6; i++)
		reap(w->pid[i]);
	/* What is left does no harm to those who come after it. */
	few_slots();
	is_u64(files(), 0);
}

static const struct test tests[] = {
	CASE("48 instances on each of two nodes, 16 in slow kernels", test_many, .seconds = 150),
	CASE("more instances than slots", test_few_slots, .seconds = 60),
	CASE("a dead receiver's credits, and who takes its place", test_dead_receiver),
	CASE("instances killed while all send to all", test_storm, .seconds = 100),
	CASE("all killed, and the next ones", test_leftovers, .seconds = 60),
	CASE("joining and leaving in any order", test_come_and_go, .seconds = 60),
	CASE("killed while they join and leave", test_killed_joining, .seconds = 60),
	CASE("fork", test_fork),
	CASE("regions that others write to", test_hostile, .seconds = 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
