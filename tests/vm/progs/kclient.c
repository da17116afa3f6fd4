// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program and a kernel client, kgni_serve_test.ko: they meet by datagrams, move
 * data, and exchange messages.
 *
 *	kclient DEVICE	as root; leaves what it was told in /tmp/kclient.hello
 *	kclient user	as anybody: is told nothing, and reaches nothing
 */
#include <fcntl.h>

#include "common.h"
#include "../../kmod/serve.h"

#define HELLO	"/tmp/kclient.hello"
#define MSGS	200

static uint32_t device;

/* In the client's job: by its tag and its cookie. */
static void open_job(struct nic *n)
{
	memset(n, 0, sizeof(*n));
	n->id = 60;
	must_do(GNI_CdmCreate(n->id, SERVE_PTAG, SERVE_COOKIE, 0, &n->cdm));
	must_do(GNI_CdmAttach(n->cdm, device, &n->pe, &n->h));
	n->tx = cq_open(n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
	n->rx = cq_open(n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
}

static void keep(const struct serve_hello *hello)
{
	int fd = open(HELLO, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ok(fd >= 0 && write(fd, hello, sizeof(*hello)) == sizeof(*hello));
	close(fd);
}

static uint32_t server_pe(void)
{
	uint32_t pe, cpu;

	must_do(GNI_CdmGetNicAddress(0, &pe, &cpu));
	return pe;
}

/* Swap what each has to tell. */
static void meet(gni_ep_handle_t ep, const struct serve_hello *mine, struct serve_hello *yours)
{
	gni_post_state_t state;
	uint32_t pe, inst;

	must_do(GNI_EpPostData(ep, (void *)mine, sizeof(*mine), yours, sizeof(*yours)));
	must_do(GNI_EpPostDataWait(ep, PATIENCE, &state, &pe, &inst));
	is_u64(state, GNI_POST_COMPLETED);
	is_u64(inst, SERVE_INST);
}

/* Put, and get back, by FMA and RDMA; AMO; events for the kernel's queue. */
static void move(struct nic *n, gni_ep_handle_t ep, const struct serve_hello *h,
		 unsigned char *mem, const gni_mem_handle_t *mh)
{
	struct region r = { .addr = h->addr, .len = SERVE_SIZE / 2, .mh = h->hndl };
	gni_post_descriptor_t d;
	uint64_t *word = (uint64_t *)mem;
	int rdma;

	for (rdma = 0; rdma < 2; rdma++) {
		fill(mem, 12000, rdma + 1);
		desc_init(&d, rdma ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT,
			  GNI_CQMODE_GLOBAL_EVENT);
		desc_move(&d, mem, mh, &r, 4, 12000);
		is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
		memset(mem, 0, 12000);
		desc_init(&d, rdma ? GNI_POST_RDMA_GET : GNI_POST_FMA_GET,
			  GNI_CQMODE_GLOBAL_EVENT);
		desc_move(&d, mem, mh, &r, 4, 12000);
		is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
		ok(filled(mem, 12000, rdma + 1));
	}
	*word = 40;
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, word, mh, &r, 0, 8);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, word, mh, &r, 0, 8, 2, 0);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	is_u64(*word, 40);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, word, mh, &r, 0, 8, 0, 0);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	is_u64(*word, 42);
	/* Not a byte more than it registered. */
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, word, mh, &r, SERVE_SIZE - 4, 8);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_TRANSACTION_ERROR);
	desc_init(&d, GNI_POST_CQWRITE, GNI_CQMODE_GLOBAL_EVENT);
	d.remote_mem_hndl = r.mh;
	d.cqwrite_value = 7;
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
}

/* Each message comes back, after its number was put into our memory. */
static void messages(struct nic *n, gni_ep_handle_t ep, const uint64_t *word)
{
	gni_cq_entry_t e;
	uint64_t i;
	void *msg;

	for (i = 1; i <= MSGS; i++) {
		must(wait_for(GNI_SmsgSend(ep, &i, sizeof(i), NULL, 0, i) == GNI_RC_SUCCESS));
		must(wait_for(GNI_SmsgGetNext(ep, &msg) == GNI_RC_SUCCESS));
		is_u64(*(uint64_t *)msg, i);
		is_u64(*(volatile const uint64_t *)word, i);
		is_rc(GNI_SmsgRelease(ep), GNI_RC_SUCCESS);
		while (GNI_CqGetEvent(n->tx, &e) == GNI_RC_SUCCESS)
			;
		while (GNI_CqGetEvent(n->rx, &e) == GNI_RC_SUCCESS)
			;
	}
}

static void test_peer(void)
{
	unsigned char *mem = map_private(SERVE_SIZE);
	struct serve_hello mine = { .addr = (uint64_t)mem }, yours = { 0 };
	gni_ep_handle_t ep;
	unsigned int size;
	struct nic n;

	open_job(&n);
	mem_open(&n, mem, SERVE_SIZE, n.rx, 0, &mine.hndl);
	mine.attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	mine.attr.msg_buffer = mem;
	mine.attr.mbox_offset = SERVE_SIZE / 2;
	mine.attr.mbox_maxcredit = SERVE_CREDITS;
	mine.attr.msg_maxsize = SERVE_MAXSIZE;
	must_do(GNI_SmsgBufferSizeNeeded(&mine.attr, &size));
	mine.attr.buff_size = size;
	mine.attr.mem_hndl = mine.hndl;
	ep = ep_open(&n, server_pe(), SERVE_INST);
	meet(ep, &mine, &yours);
	keep(&yours);
	must_do(GNI_SmsgInit(ep, &mine.attr, &yours.attr));
	move(&n, ep, &yours, mem, &mine.hndl);
	messages(&n, ep, (uint64_t *)mem);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(n.h, &mine.hndl), GNI_RC_SUCCESS);
	nic_close(&n);
}

/* The tag is not for users; their own job with the cookie is another. */
static void test_user(void)
{
	uint64_t *mem = map_private(PAGE);
	struct serve_hello hello;
	struct region r = { .len = SERVE_SIZE };
	gni_post_descriptor_t d;
	gni_post_state_t state;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	struct nic n = { .id = 61 };
	gni_mem_handle_t mh;
	gni_ep_handle_t ep;
	uint32_t pe, inst;
	int fd = open(HELLO, O_RDONLY);

	must(fd >= 0 && read(fd, &hello, sizeof(hello)) == sizeof(hello));
	must_do(GNI_CdmCreate(60, SERVE_PTAG, SERVE_COOKIE, 0, &cdm));
	is_rc(GNI_CdmAttach(cdm, 0, &pe, &nic), GNI_RC_PERMISSION_ERROR);
	must_do(GNI_CdmCreate(n.id, GNI_FIND_ALLOC_PTAG, SERVE_COOKIE, 0, &n.cdm));
	must_do(GNI_CdmAttach(n.cdm, 0, &n.pe, &n.h));
	n.tx = cq_open(&n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
	n.rx = cq_open(&n, CQ_ENTRIES, GNI_CQ_NOBLOCK);
	mem_open(&n, mem, PAGE, NULL, 0, &mh);
	ep = ep_open(&n, server_pe(), SERVE_INST);
	r.addr = hello.addr;
	r.mh = hello.hndl;
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, mem, &mh, &r, 0, 8);
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	desc_init(&d, GNI_POST_RDMA_GET, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, mem, &mh, &r, 0, PAGE);
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	ok(all_bytes(mem, PAGE, 0));
	/* Nor is kernel memory its own to register, or to post from. */
	is_rc(GNI_MemRegister(n.h, hello.addr, 8, NULL, 0, -1, &mh), GNI_RC_INVALID_PARAM);
	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, (void *)hello.addr, NULL, &r, 0, 8);
	d.remote_mem_hndl = mh;
	d.remote_addr = (uint64_t)mem;
	is_rc(GNI_PostFma(ep, &d), GNI_RC_INVALID_PARAM);
	must_do(GNI_EpPostData(ep, mem, 8, mem, 8));
	is_rc(GNI_EpPostDataTest(ep, &state, &pe, &inst), GNI_RC_SUCCESS);
	is_u64(state, GNI_POST_PENDING);
}

int main(int argc, char **argv)
{
	static const struct test peer_tests[] = {
		CASE("a program and a kernel client", test_peer, .leaves = true),
	};
	static const struct test user_tests[] = {
		CASE("a user's program and a kernel client", test_user, .leaves = true),
	};

	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	device = argc > 1 ? atoi(argv[1]) : 0;
	return RUN_TESTS(peer_tests);
}
