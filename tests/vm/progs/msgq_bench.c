// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a shared message queue takes beside short messages: memory and time, for
 * instances on two nodes, which are two NICs. Not a test: msgq_bench [INSTANCES...]
 * prints a table for Documentation/msgq.rst.
 *
 * Every instance can send to every one of the other node, with as many messages on
 * their way to each as CREDITS; those of the first node then send so many in turn.
 * Who waits for messages sleeps, and who waits for credits lets others run. Either
 * kind is measured in turn, ROUNDS times.
 *
 * Memory is what processes take beyond those that have no more than endpoints: when
 * all is set up, and when every instance of the first node has sent to every other one.
 */
#include <time.h>

#include "common.h"

#define INSTS		GNI_MSGQ_NODE_INSTS_MAX
#define SIZE		64
#define CREDITS		8
#define MESSAGES	20000
#define ROUNDS		3
#define NAP_MS		50
/* After processes ended the kernel takes a while until all is free. */
#define SETTLE_MS	500

enum kind {
	NOTHING,	/* but endpoints */
	SHORT,		/* short messages */
	SHARED,		/* a shared queue */
	KINDS,
};

struct world {
	unsigned int insts;
	enum kind kind;
	_Atomic unsigned int ready, joined, connected;
	_Atomic bool go, leave;
	_Atomic uint64_t got;
	_Atomic uint64_t began, ended;	/* us */
	gni_msgq_ep_attr_t attr[2];
	gni_smsg_attr_t mbox[2 * INSTS][INSTS];
	pid_t pid[2 * INSTS];
};

static struct world *w;
static unsigned int me;
static struct nic nic;
static gni_msgq_handle_t q;
static gni_cq_handle_t rx;	/* short messages: where to sleep */
static gni_ep_handle_t ep[INSTS];

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

/* The sum of what a file has in lines of that form. */
static long sum_of(const char *path, const char *format)
{
	char line[128];
	long sum = 0, n;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* With the pages that each CPU keeps: they are free, and can be more than what is measured. */
static long free_kb(void)
{
	return sum_of("/proc/meminfo", "MemFree: %ld") +
	       sum_of("/proc/zoneinfo", " count: %ld") * (sysconf(_SC_PAGESIZE) / 1024);
}

static unsigned int other(unsigned int i)
{
	return i * 2 + !(me % 2);
}

static uint64_t all_messages(void)
{
	return (uint64_t)MESSAGES / w->insts * w->insts;
}

static void count_one(void)
{
	if (++w->got == all_messages())
		w->ended = now_us();
}

static int count(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	(void)snd_id;
	(void)snd_pe;
	(void)msg;
	(void)msg_tag;
	(void)cb_data;
	count_one();
	return 1;
}

static gni_msgq_attr_t attrs(void)
{
	return (gni_msgq_attr_t){
		.max_msg_sz = SIZE,
		.smsg_q_sz = CREDITS * w->insts,
		.rcv_pool_sz = 16,
		.num_msgq_eps = 1,
		.nloc_insts = w->insts,
		.modes = GNI_MSGQ_MODE_BLOCKING,
		.rcv_cq_sz = CREDITS * w->insts,
	};
}

static void set_up_shared(void)
{
	gni_msgq_attr_t at = attrs();
	unsigned int node = me % 2;

	must_do(GNI_MsgqInit(nic.h, count, NULL, nic.tx, &at, &q));
	w->joined++;
	must(wait_for(w->joined == 2 * w->insts));
	if (me < 2) {
		must_do(GNI_MsgqGetConnAttrs(q, node ? nic.pe - 1 : nic.pe + 1, &w->attr[node],
					     NULL));
		w->connected++;
		must(wait_for(w->connected >= 2));
		must_do(GNI_MsgqConnect(q, w->attr[!node].pe_addr, &w->attr[!node]));
		w->connected++;
	}
	must(wait_for(w->connected == 4));
}

static void set_up_short(void)
{
	gni_smsg_attr_t at = { .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = CREDITS,
			       .msg_maxsize = SIZE };
	gni_mem_handle_t mh;
	unsigned int i;
	char *mem;

	must_do(GNI_SmsgBufferSizeNeeded(&at, &at.buff_size));
	mem = map_private((size_t)at.buff_size * w->insts);
	rx = cq_open(&nic, 4 * CREDITS * w->insts, GNI_CQ_BLOCKING);
	mem_open(&nic, mem, (size_t)at.buff_size * w->insts, rx, 0, &mh);
	at.msg_buffer = mem;
	at.mem_hndl = mh;
	for (i = 0; i < w->insts; i++) {
		at.mbox_offset = i * at.buff_size;
		w->mbox[me][i] = at;
	}
	w->joined++;
	must(wait_for(w->joined == 2 * w->insts));
	for (i = 0; i < w->insts; i++)
		must_do(GNI_SmsgInit(ep[i], &w->mbox[me][i], &w->mbox[other(i)][me / 2]));
}

static void send_one(unsigned int i)
{
	static char buf[SIZE];
	gni_cq_entry_t ev;
	gni_return_t rc;

	do
		rc = w->kind == SHARED ? GNI_MsgqSend(q, ep[i], buf, SIZE, NULL, 0, 1, 1) :
					 GNI_SmsgSend(ep[i], buf, SIZE, NULL, 0, 1);
	while (rc == GNI_RC_NOT_DONE && !sched_yield());
	must_do(rc);
	must_do(next_event(nic.tx, &ev));
}

static void receive_from(unsigned int i)
{
	void *msg;

	while (i < w->insts && GNI_SmsgGetNext(ep[i], &msg) == GNI_RC_SUCCESS) {
		count_one();
		must_do(GNI_SmsgRelease(ep[i]));
	}
}

static void receive_some(void)
{
	gni_cq_entry_t ev;

	if (w->kind == SHARED)
		must_do(GNI_MsgqProgress(q, NAP_MS));
	else if (GNI_CqWaitEvent(rx, NAP_MS, &ev) == GNI_RC_SUCCESS)
		receive_from(gni_cq_get_rem_inst_id(ev) / 2);
}

static void instance(void *arg)
{
	unsigned int i, n;

	me = (unsigned int)(uintptr_t)arg;
	nic_open(&nic, me % 2, me);
	for (i = 0; i < w->insts; i++)
		ep[i] = ep_open(&nic, me % 2 ? nic.pe - 1 : nic.pe + 1, other(i));
	if (w->kind == SHARED)
		set_up_shared();
	else if (w->kind == SHORT)
		set_up_short();
	w->ready++;
	must(wait_for(w->go || w->leave));
	for (n = 0; w->go && !(me % 2) && n < MESSAGES / w->insts; n++)
		send_one(n % w->insts);
	while (!w->leave)
		if (me % 2 && w->kind != NOTHING)
			receive_some();
		else
			usleep(1000 * NAP_MS);
}

/* What was measured of one kind in each round. */
struct figures {
	double rate[ROUNDS];
	double kb[ROUNDS];	/* when all is set up */
	double used_kb[ROUNDS];	/* when all have sent */
};

static void send_all(void)
{
	w->began = now_us();
	w->go = true;
	while (!w->ended)
		usleep(1000);
}

static void run(unsigned int insts, enum kind kind, struct figures *f, unsigned int round)
{
	unsigned int i;
	long before;

	memset(w, 0, sizeof(*w));
	w->insts = insts;
	w->kind = kind;
	usleep(1000 * SETTLE_MS);
	before = free_kb();
	for (i = 0; i < 2 * insts; i++)
		w->pid[i] = peer(instance, (void *)(uintptr_t)i);
	must(wait_for(w->ready == 2 * insts));
	usleep(1000 * SETTLE_MS);
	f->kb[round] = before - free_kb();
	if (kind != NOTHING) {
		send_all();
		f->rate[round] = all_messages() * 1e6 / (w->ended - w->began);
		f->used_kb[round] = before - free_kb();
	}
	w->leave = true;
	for (i = 0; i < 2 * insts; i++)
		reap(w->pid[i]);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(values[0]), compare);
	return values[ROUNDS / 2];
}

static void print_kind(const char *kind, unsigned int insts, unsigned int bytes, struct figures *f)
{
	printf("%9u  %4s  %9u  %7.0f  %7.0f  %8.0f", insts, kind, bytes, median(f->kb),
	       median(f->used_kb), median(f->rate));
	printf(" %8.0f %8.0f\n", f->rate[0], f->rate[ROUNDS - 1]);
}

static void bench(unsigned int insts)
{
	gni_smsg_attr_t at = { .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = CREDITS,
			       .msg_maxsize = SIZE };
	struct figures f[KINDS];
	unsigned int round, kind;
	gni_msgq_attr_t a;
	uint32_t size, mbox;

	for (round = 0; round < ROUNDS; round++) {
		for (kind = 0; kind < KINDS; kind++)
			run(insts, kind, &f[kind], round);
		for (kind = NOTHING + 1; kind < KINDS; kind++) {
			f[kind].kb[round] -= f[NOTHING].kb[round];
			f[kind].used_kb[round] -= f[NOTHING].kb[round];
		}
	}
	a = attrs();
	must_do(GNI_MsgqSize(&a, &size));
	must_do(GNI_SmsgBufferSizeNeeded(&at, &mbox));
	print_kind("SMSG", insts, mbox * insts, &f[SHORT]);
	print_kind("MSGQ", insts, size / insts, &f[SHARED]);
}

int main(int argc, char **argv)
{
	static const unsigned int usual[] = { 8, 16, 32, 48 };
	unsigned int i;

	shm = map_shared(sizeof(*shm));
	w = map_shared(sizeof(*w));
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("                      bytes   all, kB                  messages/s\n");
	printf("instances  kind  an instance  set up     used    median    least     most\n");
	for (i = 0; i < (argc > 1 ? (unsigned int)argc - 1 : ARRAY_SIZE(usual)); i++)
		bench(argc > 1 ? (unsigned int)atoi(argv[i + 1]) : usual[i]);
	return failures() != 0;
}
