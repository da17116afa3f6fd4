// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of the netlink family while the first, the second ... allocation or copy
 * that they need fails: see common_nth.h. Answers are read by a thread, which is not
 * meant, so that what fails is what the command does.
 *
 *	nth_netlink [row...]
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common_netlink.h"
#include "common_nth.h"

#define ALLOCATES	BIT(KIND_SLAB)
#define MADE		5U	/* the device that is made */
#define PTAG		77U
#define JOB_COOKIE	(COOKIE + 7)
#define NTT_INDEX	16U
#define NTT_COUNT	4U

static uint16_t family;
static struct message asked;

/* --- answers ------------------------------------------------------------------- */

enum { IDLE, READ, STOP };

static struct {
	pthread_t thread;
	atomic_int turn;
	int fd;		/* where the command goes */
	long rc;
} reader;

/* What has come by now. Return: 0, -errno, or 1: there is more to be read. */
static long read_one(void)
{
	static unsigned char buf[65536] __attribute__((aligned(8)));
	ssize_t got = recv(reader.fd, buf, sizeof(buf), MSG_DONTWAIT);
	struct nlmsghdr *h = (struct nlmsghdr *)buf;

	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (; NLMSG_OK(h, got); h = NLMSG_NEXT(h, got)) {
		if (h->nlmsg_type == NLMSG_ERROR)
			return ((struct nlmsgerr *)NLMSG_DATA(h))->error;
		if (h->nlmsg_type == NLMSG_DONE)
			return *(int *)NLMSG_DATA(h);
	}
	return 1;
}

static void *reads(void *unused)
{
	int turn;

	for (;;) {
		while ((turn = atomic_load(&reader.turn)) == IDLE)
			sched_yield();
		if (turn == STOP)
			return unused;
		do
			reader.rc = read_one();
		while (reader.rc > 0);
		atomic_store(&reader.turn, IDLE);
	}
}

/* Commands are done when they are sent. Return: 0 or -errno. */
static long tell(void)
{
	asked.nlh.nlmsg_len = asked.len;
	if (send(reader.fd, asked.bytes, asked.len, 0) != (ssize_t)asked.len)
		return -errno;
	atomic_store(&reader.turn, READ);
	while (atomic_load(&reader.turn) != IDLE)
		;
	if (reader.rc) {
		/* A dump that failed would go on. */
		close(reader.fd);
		reader.fd = nl_socket();
	}
	return reader.rc;
}

/* --- commands ------------------------------------------------------------------ */

static void command(uint8_t cmd, uint16_t flags)
{
	nl_begin(&asked, family, flags, cmd);
	if (!(flags & NLM_F_DUMP))
		nl_add_u32(&asked, KGNI_A_DEV, 0);
}

static void of_device(uint8_t cmd, uint32_t id)
{
	nl_begin(&asked, family, 0, cmd);
	nl_add_u32(&asked, KGNI_A_DEV, id);
}

static void of_job(uint8_t cmd)
{
	const uint64_t id = 7;

	command(cmd, 0);
	nl_add_u32(&asked, KGNI_A_PTAG, PTAG);
	if (cmd == KGNI_CMD_JOB_GET)
		return;
	nl_add_u32(&asked, KGNI_A_COOKIE, JOB_COOKIE);
	nl_add(&asked, KGNI_A_JOB_ID, &id, sizeof(id));
}

static void of_entries(uint8_t cmd)
{
	static const struct kgni_ntt_entry entries[NTT_COUNT] = {
		{ .block = 10 }, { .block = 11 }, { .block = 12 }, { .block = 13 },
	};

	command(cmd, 0);
	nl_add_u32(&asked, KGNI_A_INDEX, NTT_INDEX);
	if (cmd == KGNI_CMD_NTT_SET) {
		nl_add_u32(&asked, KGNI_A_GRANULARITY, 1);
		nl_add(&asked, KGNI_A_ENTRIES, entries, sizeof(entries));
	} else {
		nl_add_u32(&asked, KGNI_A_COUNT, NTT_COUNT);
	}
}

static void of_bi(uint32_t bw)
{
	command(KGNI_CMD_BI_SET, 0);
	nl_add_u32(&asked, KGNI_A_BW, bw);
	nl_add_u32(&asked, KGNI_A_AOT_BW, bw);
	nl_add_u32(&asked, KGNI_A_FLAGS,
		   GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_APPLY_AFTER_THROTTLE);
}

/* --- what there is ------------------------------------------------------------- */

static int counter;

static unsigned int dumped(uint8_t cmd)
{
	struct message m;
	unsigned int n = 0;

	nl_begin(&m, family, NLM_F_DUMP, cmd);
	must(!nl_ask(counter, &m, family, &n));
	return n;
}

static uint32_t state(void)
{
	struct message m, got = { 0 };
	const struct nlattr *a;

	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
	nl_add_u32(&m, KGNI_A_DEV, 0);
	must(nl_send(counter, &m) && !nl_answer(counter, family, NULL, &got));
	a = nl_find(&got, KGNI_A_STATE);
	must(a);
	return *(const uint32_t *)(a + 1);
}

static void count_all(struct counters *c)
{
	gni_bi_desc_t bi;

	must_do(GNI_GetBIConfig(0, &bi));
	nth_count(c, "devices", dumped(KGNI_CMD_DEV_GET));
	nth_count(c, "jobs", dumped(KGNI_CMD_JOB_GET));
	nth_count(c, "attachments", dumped(KGNI_CMD_NIC_GET));
	nth_count(c, "entries", dumped(KGNI_CMD_NTT_GET));
	nth_count(c, "percent", bi.current_bw);
	nth_count(c, "state of the device", state());
}

/* --- rows ---------------------------------------------------------------------- */

/* Something of each kind to tell of; and somebody who listens. */
static void setup(void)
{
	static struct nic n, peer;
	static struct region r;
	static char data[32];
	gni_ep_handle_t ep;
	int listener;
	uint32_t group = 0;

	counter = nl_socket();
	reader.fd = nl_socket();
	listener = nl_socket();
	family = nl_resolve(counter, KGNI_GENL_GROUP_EVENTS, &group);
	must(!setsockopt(listener, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)));
	nic_open(&n, 0, 1);
	nic_open(&peer, 0, 2);
	region_open(&n, map_private(PAGE), PAGE, NULL, 0, &r);
	must_do(GNI_EpCreate(n.h, n.tx, &ep));
	must_do(GNI_EpBind(ep, peer.pe, 2));
	must_do(GNI_EpPostDataWId(ep, data, sizeof(data), data, sizeof(data), 9));
	must(!pthread_create(&reader.thread, NULL, reads, NULL));
}

/* What is to be there before, and is not to be there after. */
static void must_tell(void)
{
	long rc = tell();

	must(!rc, "command %u: %ld", ((struct genlmsghdr *)NLMSG_DATA(&asked.nlh))->cmd, rc);
}

#define NONE	((void)0)

#define ROW(id, title, before, ask, after)				\
	static void prepare_##id(void) { before; ask; }			\
	static void undo_##id(void) { after; }				\
	static const struct row row_##id = {				\
		.name = title, .setup = setup, .prepare = prepare_##id,	\
		.call = tell, .undo = undo_##id, .count = count_all,	\
		.also = -ENOBUFS, .has = ALLOCATES,			\
	}

#define DUMP(id, cmd)							\
	ROW(id, #cmd ", all", NONE, command(KGNI_CMD_##cmd, NLM_F_DUMP), NONE)

DUMP(devs, DEV_GET);
DUMP(jobs, JOB_GET);
DUMP(nics, NIC_GET);
DUMP(mems, MEM_GET);
DUMP(cqs, CQ_GET);
DUMP(dgrams, DGRAM_GET);
DUMP(ntts, NTT_GET);
DUMP(bis, BI_GET);
DUMP(ces, CE_GET);

static void made(uint8_t cmd)
{
	of_device(cmd, MADE);
	must_tell();
}

static void set_job(void)
{
	of_job(KGNI_CMD_JOB_SET);
	must_tell();
}

static void unset_job(void)
{
	of_job(KGNI_CMD_JOB_UNSET);
	must_tell();
}

static void set_entries(void)
{
	of_entries(KGNI_CMD_NTT_SET);
	must_tell();
}

static void unset_entries(void)
{
	of_entries(KGNI_CMD_NTT_UNSET);
	must_tell();
}

static void told(uint8_t cmd)
{
	command(cmd, 0);
	must_tell();
}

static void told_bi(void)
{
	of_bi(0);
	must_tell();
	must_do(GNI_BISyncWait(0, (uint32_t)PATIENCE));
}

static void injection(void)
{
	command(KGNI_CMD_INJECT, 0);
	nl_add_u32(&asked, KGNI_A_CODE, KGNI_ERR_DIAG);
}

ROW(dev, "DEV_GET", NONE, of_device(KGNI_CMD_DEV_GET, 0), NONE);
ROW(dev_new, "DEV_NEW", NONE, of_device(KGNI_CMD_DEV_NEW, MADE), made(KGNI_CMD_DEV_DEL));
ROW(dev_del, "DEV_DEL", made(KGNI_CMD_DEV_NEW), of_device(KGNI_CMD_DEV_DEL, MADE), NONE);
ROW(quiesce, "DEV_QUIESCE", NONE, command(KGNI_CMD_DEV_QUIESCE, 0), told(KGNI_CMD_DEV_RESUME));
ROW(resume, "DEV_RESUME", told(KGNI_CMD_DEV_QUIESCE), command(KGNI_CMD_DEV_RESUME, 0), NONE);
ROW(bi_set, "BI_SET", NONE, of_bi(50), told_bi());
ROW(job_set, "JOB_SET", NONE, of_job(KGNI_CMD_JOB_SET), unset_job());
ROW(job_get, "JOB_GET", set_job(), of_job(KGNI_CMD_JOB_GET), unset_job());
ROW(job_unset, "JOB_UNSET", set_job(), of_job(KGNI_CMD_JOB_UNSET), NONE);
ROW(ntt_set, "NTT_SET", NONE, of_entries(KGNI_CMD_NTT_SET), unset_entries());
ROW(ntt_unset, "NTT_UNSET", set_entries(), of_entries(KGNI_CMD_NTT_UNSET), NONE);
ROW(inject, "INJECT", NONE, injection(), NONE);

#define ROWS(row)							\
	row(devs) row(jobs) row(nics) row(mems) row(cqs) row(dgrams)	\
	row(ntts) row(bis) row(ces) row(dev) row(dev_new) row(dev_del)	\
	row(quiesce) row(resume) row(bi_set) row(job_set) row(job_get)	\
	row(job_unset) row(ntt_set) row(ntt_unset) row(inject)

#define FUNCTION(id)	static void test_##id(void) { nth_run(&row_##id); }
#define TEST(id)	{ .name = #id, .fn = test_##id, .seconds = 240 },

ROWS(FUNCTION)

static const struct test tests[] = {
	ROWS(TEST)
};

int main(int argc, char **argv)
{
	return nth_main(argc, argv, tests, ARRAY_SIZE(tests));
}
