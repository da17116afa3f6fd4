// SPDX-License-Identifier: GPL-2.0-only
/*
 * What clients rely on about domains, endpoints, memory, mailboxes and
 * datagrams, where no other program shows it: rows of CONTRACT.md.
 *
 *	contract_setup		needs two NICs
 *	contract_setup one	with the driver's default: one NIC
 */
#include <fcntl.h>

#include "common.h"
#include "core/memhndl.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define MB	(1UL << 20)

/* --- devices ------------------------------------------------------------------------ */

/* Several clients refuse a node with two. */
static void test_one_device(void)
{
	int count = 0, ids[4] = { -1, -1, -1, -1 };
	uint32_t pe, address, cpu;
	gni_nic_device_t type = 0;
	gni_job_res_desc_t mdd;
	gni_version_info_t v;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;

	is_rc(GNI_GetDeviceType(&type), GNI_RC_SUCCESS, "before there is any domain");
	is_u64(type, GNI_DEVICE_ARIES);
	is_rc(GNI_GetNumLocalDevices(&count), GNI_RC_SUCCESS);
	is_u64(count, 1);
	is_rc(GNI_GetLocalDeviceIds(4, ids), GNI_RC_SUCCESS);
	ok(ids[0] == 0 && ids[1] == -1);
	must_do(GNI_GetVersionInformation(&v));
	ok(v.ugni_version >> 24 == GNI_MAJOR_REV && (v.ugni_version >> 16 & 0xff) >= 0x5c,
	   "%#x", v.ugni_version);
	ok(v.kgni_version >> 24 == GNI_MAJOR_REV && (v.kgni_version >> 16 & 0xff) >= 0x5c,
	   "%#x", v.kgni_version);
	must_do(GNI_GetJobResInfo(0, 17, GNI_JOB_RES_MDD, &mdd));
	ok((mdd.limit - 20) / 64 > 0);
	must_do(GNI_CdmCreate(0x80001234, GNI_FIND_ALLOC_PTAG, COOKIE, 0, &cdm));
	must_do(GNI_CdmAttach(cdm, 0, &pe, &nic));
	must_do(GNI_CdmGetNicAddress(0, &address, &cpu));
	is_u64(pe, address);
	ok(!access("/sys/class/gni/kgni0", F_OK));
}

/* --- domains ------------------------------------------------------------------------ */

#define IFACES	4

struct domains {
	struct nic md;			/* has all the memory */
	struct nic iface[IFACES];	/* have queues and endpoints */
	unsigned char *mem;
	struct region r;
};

static void domains_open(struct domains *s)
{
	int i;

	nic_open(&s->md, 0, 0x80000000);
	s->mem = map_private(16 * PAGE);
	region_open(&s->md, s->mem, 16 * PAGE, NULL, 0, &s->r);
	for (i = 0; i < IFACES; i++)
		nic_open_modes(&s->iface[i], 0, 0x80000001 + i, GNI_CDM_MODE_FMA_SHARED);
}

static void iface_posts(struct domains *s, struct nic *n, gni_ep_handle_t ep, uint32_t seed)
{
	unsigned char *a = s->mem, *b = s->mem + 8 * PAGE;
	gni_post_descriptor_t d;

	fill(a, 4 * PAGE, seed);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, a, &s->r.mh, &s->r, 8 * PAGE, 4 * PAGE);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	ok(filled(b, 4 * PAGE, seed), "put");
	fill(b, 4 * PAGE, seed + 1);
	desc_init(&d, GNI_POST_RDMA_GET, GLOBAL);
	desc_move(&d, a, &s->r.mh, &s->r, 8 * PAGE, 4 * PAGE);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	ok(filled(a, 4 * PAGE, seed + 1), "get");
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, a, &s->r.mh, &s->r, 8 * PAGE, 8, 1, 0);
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_SUCCESS);
	is_u64(*(uint64_t *)b, *(uint64_t *)a + 1, "fetch and add");
}

/* What one domain registers, all domains of the process and job may use as their own. */
static void test_handles_of_domains(void)
{
	gni_ep_handle_t ep;
	struct domains s;
	int i;

	domains_open(&s);
	for (i = 0; i < IFACES; i++) {
		ep = ep_open(&s.iface[i], s.md.pe, s.md.id);
		iface_posts(&s, &s.iface[i], ep, 10 * i);
	}
	is_rc(GNI_MemDeregister(s.iface[0].h, &s.r.mh), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemDeregister(s.md.h, &s.r.mh), GNI_RC_SUCCESS);
}

/* Endpoints and memory, then the domain's queues, in the order of one client. */
static void test_tear_down(void)
{
	gni_ep_handle_t ep[3];
	gni_post_descriptor_t d;
	struct region r;
	struct nic n;
	int i;

	nic_open(&n, 0, 1);
	for (i = 0; i < 3; i++)
		ep[i] = ep_open(&n, n.pe, i);
	region_open(&n, map_private(4 * PAGE), 4 * PAGE, n.rx, 0, &r);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | GNI_CQMODE_REMOTE_EVENT);
	desc_move(&d, "bye", NULL, &r, 0, 4);
	is_rc(post_wait(ep[0], n.tx, &d), GNI_RC_SUCCESS);
	for (i = 0; i < 3; i++)
		is_rc(GNI_EpDestroy(ep[i]), GNI_RC_SUCCESS);
	must(!munmap((void *)r.addr, r.len));
	is_rc(GNI_MemDeregister(n.h, &r.mh), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(n.tx), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(n.rx), GNI_RC_SUCCESS, "with an event in it");
	is_rc(GNI_CdmDestroy(n.cdm), GNI_RC_SUCCESS);
}

/* --- endpoints ---------------------------------------------------------------------- */

#define ENDPOINTS	32000

/* Clients have that many, and use the low 24 bits of handles as keys. */
static void test_endpoints(void)
{
	static gni_ep_handle_t ep[ENDPOINTS];
	unsigned char *seen = calloc(1, 1 << 24);
	unsigned int i;
	struct nic n;

	must(seen);
	nic_open(&n, 0, 1);
	for (i = 0; i < ENDPOINTS; i++) {
		must_do(GNI_EpCreate(n.h, n.tx, &ep[i]));
		must_do(GNI_EpBind(ep[i], n.pe, i));
		must(!seen[(uintptr_t)ep[i] & 0xffffff], "endpoint %u", i);
		seen[(uintptr_t)ep[i] & 0xffffff] = 1;
	}
	for (i = 0; i < ENDPOINTS; i++)
		must_do(GNI_EpDestroy(ep[i]));
}

/* --- memory ------------------------------------------------------------------------- */

static gni_return_t put_by(gni_ep_handle_t ep, struct nic *n, gni_mem_handle_t mh, void *to,
			   void *from, const gni_mem_handle_t *lmh)
{
	struct region r = { .addr = (uint64_t)to, .mh = mh };
	gni_post_descriptor_t d;

	desc_init(&d, lmh ? GNI_POST_RDMA_PUT : GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, from, lmh, &r, 0, 64);
	return post_wait(ep, n->tx, &d);
}

/* A client makes the handle of a key itself: the key, the flag, no address, no CRC. */
static void test_vmdh_key(void)
{
	unsigned char *mem = map_private(4 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh, lmh, made;
	gni_ep_handle_t ep;
	struct nic n;
	uint64_t key = 200;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	must_do(GNI_SetMddResources(n.h, 256 + 256));
	must_do(GNI_MemRegister(n.h, (uint64_t)mem, 4 * PAGE, NULL, GNI_MEM_USE_VMDH, key, &mh));
	mem_open(&n, src, PAGE, NULL, 0, &lmh);
	made.qword1 = key << 52;
	made.qword2 = 0xfffffffULL | 12ULL << 28 | (uint64_t)KGNI_MH_VMDH << 34;
	fill(src, PAGE, 1);
	is_rc(put_by(ep, &n, made, mem + PAGE + 8, src, NULL), GNI_RC_SUCCESS);
	ok(filled(mem + PAGE + 8, 64, 1), "FMA");
	is_rc(put_by(ep, &n, made, mem + 2 * PAGE + 8, src, &lmh), GNI_RC_SUCCESS);
	ok(filled(mem + 2 * PAGE + 8, 64, 1), "RDMA");
	made.qword1 = (key + 1) << 52;
	is_rc(put_by(ep, &n, made, mem, src, NULL), GNI_RC_TRANSACTION_ERROR, "another key");
}

/* Segments have offsets, not addresses: an FMA put finds no source there. */
static void test_segment_source(void)
{
	unsigned char *mem = map_private(4 * PAGE), *to = map_private(4 * PAGE);
	gni_mem_segment_t seg[] = {
		{ (uint64_t)mem + 2 * PAGE, PAGE }, { (uint64_t)mem, PAGE },
	};
	gni_mem_handle_t mh;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	struct region r;
	struct nic n;

	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	memset(mem, 1, 4 * PAGE);
	must_do(GNI_MemRegisterSegments(n.h, seg, 2, NULL, 0, -1, &mh));
	region_open(&n, to, 4 * PAGE, NULL, 0, &r);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, (void *)PAGE, &mh, &r, 0, 64);
	is_rc(GNI_PostFma(ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(to, 4 * PAGE, 0));
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)PAGE, &mh, &r, 0, 64);
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS, "fine for RDMA");
	ok(all_bytes(to, 64, 1));
}

/* --- mailboxes ---------------------------------------------------------------------- */

static void *map_zero(size_t len)
{
	int fd = open("/dev/zero", O_RDWR);
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	must(fd >= 0 && p != MAP_FAILED);
	close(fd);
	return p;
}

static void attr_init(gni_smsg_attr_t *attr, void *mem, gni_mem_handle_t mh, uint32_t offset)
{
	unsigned int size;

	memset(attr, 0, sizeof(*attr));
	attr->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	attr->mbox_maxcredit = 8;
	attr->msg_maxsize = 64;
	must_do(GNI_SmsgBufferSizeNeeded(attr, &size));
	attr->buff_size = size;
	attr->msg_buffer = mem;
	attr->mem_hndl = mh;
	attr->mbox_offset = offset;
}

/* A message each way, with what both ends are told of it. */
static void exchange(struct nic *from, gni_ep_handle_t a, gni_ep_handle_t b, uint32_t msg_id)
{
	uint8_t tag = GNI_SMSG_ANY_TAG;
	gni_cq_entry_t e = 0;
	void *msg, *again;

	is_rc(GNI_SmsgSendWTag(a, "he", 2, "llo", 4, msg_id, 0x31), GNI_RC_SUCCESS);
	must_do(next_event(from->tx, &e));
	is_u64(gni_cq_get_msg_id(e), msg_id);
	is_u64(gni_cq_get_inst_id(e), msg_id & 0xffffff);
	must_do(GNI_SmsgGetNextWTag(b, &msg, &tag));
	is_u64(tag, 0x31);
	ok(!strcmp(msg, "hello"));
	/* Until it is released, every call gets the same. */
	tag = GNI_SMSG_ANY_TAG;
	must_do(GNI_SmsgGetNextWTag(b, &again, &tag));
	is_u64(tag, 0x31);
	ok(msg == again);
	is_rc(GNI_SmsgRelease(b), GNI_RC_SUCCESS);
}

/* Mailboxes in memory that another domain registered. */
static void test_mailboxes_of_domain(void)
{
	gni_smsg_attr_t attr[2];
	gni_ep_handle_t ep[2];
	struct domains s;
	int i;

	domains_open(&s);
	for (i = 0; i < 2; i++) {
		attr_init(&attr[i], s.mem, s.r.mh, i * 8 * PAGE);
		ep[i] = ep_open(&s.iface[i], s.md.pe, s.iface[!i].id);
	}
	for (i = 0; i < 2; i++)
		must_do(GNI_SmsgInit(ep[i], &attr[i], &attr[!i]));
	for (i = 0; i < 100; i++)
		exchange(&s.iface[i & 1], ep[i & 1], ep[!(i & 1)], i);
}

/* Nothing but a tag, and an id that is none, from a mapping of /dev/zero to another. */
static void test_empty_message(void)
{
	uint8_t tag = GNI_SMSG_ANY_TAG;
	gni_mem_handle_t mh[2];
	gni_smsg_attr_t attr[2];
	gni_ep_handle_t ep[2];
	gni_cq_entry_t e = 0;
	struct nic n[2];
	void *mem, *msg;
	int i;

	for (i = 0; i < 2; i++) {
		nic_open(&n[i], i, 0x90000000 + i);
		mem = map_zero(4 * PAGE);
		mem_open(&n[i], mem, 4 * PAGE, n[i].rx, 0, &mh[i]);
		attr_init(&attr[i], mem, mh[i], 0);
	}
	for (i = 0; i < 2; i++) {
		ep[i] = ep_open(&n[i], n[!i].pe, n[!i].id);
		must_do(GNI_SmsgInit(ep[i], &attr[i], &attr[!i]));
	}
	is_rc(GNI_SmsgSendWTag(ep[0], NULL, 0, NULL, 0, -1, 7), GNI_RC_SUCCESS);
	must_do(next_event(n[0].tx, &e));
	is_u64(gni_cq_get_msg_id(e), 0xffffffff);
	is_u64(gni_cq_get_inst_id(e), 0xffffff);
	must_do(next_event(n[1].rx, &e));
	is_u64(gni_cq_get_rem_inst_id(e), n[0].id);
	is_rc(GNI_SmsgGetNextWTag(ep[1], &msg, &tag), GNI_RC_SUCCESS);
	is_u64(tag, 7);
	is_rc(GNI_SmsgRelease(ep[1]), GNI_RC_SUCCESS);
	exchange(&n[1], ep[1], ep[0], 5);
}

/* --- datagrams ---------------------------------------------------------------------- */

static gni_ep_handle_t unbound(struct nic *n)
{
	gni_ep_handle_t ep = NULL;

	must_do(GNI_EpCreate(n->h, n->tx, &ep));
	return ep;
}

static void finished(gni_ep_handle_t ep, uint64_t id, const struct nic *from)
{
	gni_post_state_t state = GNI_POST_ERROR;
	uint32_t pe = 0, inst = 0;

	/* Some wait without end for what a probe told of. */
	is_rc(GNI_EpPostDataWaitById(ep, id, -1, &state, &pe, &inst), GNI_RC_SUCCESS);
	is_u64(state, GNI_POST_COMPLETED);
	is_u64(pe, from->pe);
	is_u64(inst, from->id);
}

/* Ends exchange their mailboxes by datagram; the wildcard's endpoint becomes the channel. */
static void test_wildcard_becomes_channel(void)
{
	gni_smsg_attr_t mine[2], theirs[2];
	gni_ep_handle_t wild, dgram, ep;
	gni_mem_handle_t mh;
	struct nic n[2];
	void *mem;
	int i;

	_Static_assert(sizeof(mine[0]) <= GNI_DATAGRAM_MAXSIZE, "fits into a datagram");
	for (i = 0; i < 2; i++) {
		nic_open(&n[i], i, 40 + i);
		mem = map_zero(4 * PAGE);
		mem_open(&n[i], mem, 4 * PAGE, n[i].rx, 0, &mh);
		attr_init(&mine[i], mem, mh, 64 * i);
	}
	wild = unbound(&n[0]);
	must_do(GNI_EpPostDataWId(wild, &mine[0], sizeof(mine[0]), &theirs[0], sizeof(theirs[0]),
				  9));
	dgram = ep_open(&n[1], n[0].pe, n[0].id);
	must_do(GNI_EpPostDataWId(dgram, &mine[1], sizeof(mine[1]), &theirs[1],
				  sizeof(theirs[1]), 8));
	finished(wild, 9, &n[1]);
	finished(dgram, 8, &n[0]);
	/* Ids of connections, not of instances. */
	must_do(GNI_EpBind(wild, n[1].pe, 0x12345));
	must_do(GNI_SmsgInit(wild, &mine[0], &theirs[0]));
	ep = ep_open(&n[1], n[0].pe, 0x54321);
	must_do(GNI_SmsgInit(ep, &mine[1], &theirs[1]));
	is_rc(GNI_EpUnbind(dgram), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(dgram), GNI_RC_SUCCESS);
	for (i = 0; i < 20; i++)
		exchange(&n[i & 1], i & 1 ? ep : wild, i & 1 ? wild : ep, i);
}

/* One endpoint is bound to peer after peer, for a datagram each. */
static void test_bound_anew(void)
{
	gni_ep_handle_t ep, wild[3];
	char buf[8], peer_buf[8];
	struct nic n, to[3];
	int i;

	nic_open(&n, 0, 77);
	ep = unbound(&n);
	for (i = 0; i < 3; i++) {
		nic_open(&to[i], i & 1, 100 + i);
		wild[i] = unbound(&to[i]);
	}
	for (i = 0; i < 30; i++) {
		must_do(GNI_EpPostDataWId(wild[i % 3], "w", 2, peer_buf, 8, 1));
		must_do(GNI_EpBind(ep, to[i % 3].pe, to[i % 3].id));
		must_do(GNI_EpPostDataWId(ep, "b", 2, buf, 8, i));
		finished(ep, i, &to[i % 3]);
		finished(wild[i % 3], 1, &n);
		ok(!strcmp(buf, "w") && !strcmp(peer_buf, "b"));
		is_rc(GNI_EpUnbind(ep), GNI_RC_SUCCESS);
	}
}

#define BOUND	128
#define WILD	4

static void expect_pending(gni_ep_handle_t ep, uint64_t id)
{
	gni_post_state_t state = GNI_POST_ERROR;
	uint32_t pe, inst;

	is_rc(GNI_EpPostDataTestById(ep, id, &state, &pe, &inst), GNI_RC_SUCCESS);
	is_u64(state, GNI_POST_PENDING, "%llu", (unsigned long long)id);
}

/* Those of the bound datagrams that nobody answered. */
static void expect_cancelled(struct nic *n, gni_ep_handle_t *ep)
{
	gni_post_state_t state = GNI_POST_ERROR;
	uint32_t pe, inst;
	uint64_t id;
	int i;

	for (i = 0; i < BOUND; i++) {
		if (i % 32)
			is_rc(GNI_EpPostDataCancelById(ep[i], i), GNI_RC_SUCCESS);
	}
	for (i = 0; i < BOUND - BOUND / 32; i++) {
		must_do(GNI_PostDataProbeById(n->h, &id));
		must(id < BOUND && id % 32);
		must_do(GNI_EpPostDataTestById(ep[id], id, &state, &pe, &inst));
		is_u64(state, GNI_POST_TERMINATED);
	}
	is_rc(GNI_PostDataProbeById(n->h, &id), GNI_RC_NO_MATCH);
}

/* 128 bound ones and 4 wildcards are under way at a time on one NIC handle. */
static void test_many_datagrams(void)
{
	gni_ep_handle_t ep[BOUND], wild[WILD], back;
	struct nic n, peer[WILD], guest;
	char in[8], out[8];
	int i;

	nic_open_modes(&n, 0, 7, GNI_CDM_MODE_FAST_DATAGRAM_POLL);
	for (i = 0; i < WILD; i++) {
		wild[i] = unbound(&n);
		must_do(GNI_EpPostDataWId(wild[i], "w", 2, in, 8, 1000 + i));
	}
	for (i = 0; i < BOUND; i++) {
		ep[i] = ep_open(&n, n.pe, 500 + i);
		must_do(GNI_EpPostDataWId(ep[i], "b", 2, in, 8, i));
	}
	for (i = 0; i < BOUND; i++)
		expect_pending(ep[i], i);
	for (i = 0; i < WILD; i++) {
		nic_open_modes(&peer[i], 0, 500 + 32 * i, GNI_CDM_MODE_FAST_DATAGRAM_POLL);
		back = ep_open(&peer[i], n.pe, n.id);
		must_do(GNI_EpPostDataWId(back, "p", 2, out, 8, 5));
		finished(ep[32 * i], 32 * i, &peer[i]);
		finished(back, 5, &n);
		ok(!strcmp(in, "p") && !strcmp(out, "b"));
	}
	nic_open(&guest, 1, 3);
	back = ep_open(&guest, n.pe, n.id);
	must_do(GNI_EpPostDataWId(back, "g", 2, out, 8, 6));
	finished(wild[0], 1000, &guest);
	for (i = 1; i < WILD; i++)
		expect_pending(wild[i], 1000 + i);
	expect_cancelled(&n, ep);
}

/* One client cancels its wildcard and destroys the endpoint, and asks no more. */
static void test_wildcard_left(void)
{
	gni_ep_handle_t ep;
	struct nic n;
	char buf[8];
	uint64_t id;
	int i;

	nic_open(&n, 0, 7);
	for (i = 0; i < 10; i++) {
		ep = unbound(&n);
		must_do(GNI_EpPostDataWId(ep, "w", 2, buf, 8, i));
		is_rc(GNI_EpPostDataCancelById(ep, i), GNI_RC_SUCCESS);
		is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
		is_rc(GNI_PostDataProbeById(n.h, &id), GNI_RC_NO_MATCH);
	}
}

/* --- statistics --------------------------------------------------------------------- */

static uint32_t counted(struct nic *n, gni_statistic_t which)
{
	uint32_t value = ~0U;

	is_rc(GNI_GetNicStat(n->h, which, &value), GNI_RC_SUCCESS);
	return value;
}

/* A send that the source queue has no room for, and no other, is counted as such. */
static void test_stall_counted(void)
{
	gni_smsg_attr_t attr;
	gni_cq_handle_t one;
	gni_mem_handle_t mh;
	gni_ep_handle_t ep;
	struct nic n;
	void *mem = map_zero(4 * PAGE);
	int i;

	nic_open(&n, 0, 7);
	mem_open(&n, mem, 4 * PAGE, n.rx, 0, &mh);
	attr_init(&attr, mem, mh, 0);
	one = cq_open(&n, 1, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(n.h, one, &ep));
	must_do(GNI_EpBind(ep, n.pe, 7));
	must_do(GNI_SmsgInit(ep, &attr, &attr));
	is_rc(GNI_SmsgSend(ep, "a", 1, NULL, 0, 1), GNI_RC_SUCCESS);
	for (i = 1; i <= 3; i++) {
		is_rc(GNI_SmsgSend(ep, "b", 1, NULL, 0, 1), GNI_RC_NOT_DONE);
		is_u64(counted(&n, GNI_STAT_SMSG_REQ_STALL), i);
	}
	for (i = 0; i < GNI_NUM_STATS; i++) {
		if (i != GNI_STAT_SMSG_REQ_STALL)
			is_u64(counted(&n, i), 0, "%d", i);
	}
	is_rc(GNI_ResetNicStat(n.h, GNI_STAT_SMSG_REQ_STALL), GNI_RC_SUCCESS);
	is_u64(counted(&n, GNI_STAT_SMSG_REQ_STALL), 0);
}

static const struct test one_tests[] = {
	CASE("one device by default", test_one_device),
};

static const struct test tests[] = {
	CASE("all domains of a process use a handle as their own", test_handles_of_domains),
	CASE("torn down in a client's order", test_tear_down),
	CASE("32000 endpoints, told apart by 24 bits", test_endpoints),
	CASE("a key's handle without address and CRC", test_vmdh_key),
	CASE("segments are no source of an FMA put", test_segment_source),
	CASE("mailboxes in another domain's memory", test_mailboxes_of_domain),
	CASE("a message with nothing but a tag", test_empty_message),
	CASE("a wildcard's endpoint becomes a channel", test_wildcard_becomes_channel),
	CASE("an endpoint bound anew for each datagram", test_bound_anew),
	CASE("128 bound datagrams and 4 wildcards", test_many_datagrams),
	CASE("a wildcard cancelled and left", test_wildcard_left),
	CASE("stalled sends are counted", test_stall_counted),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "one"))
		return RUN_TESTS(one_tests);
	return RUN_TESTS(tests);
}
