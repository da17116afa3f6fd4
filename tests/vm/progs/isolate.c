// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolation: a victim with memory, queues, a mailbox and datagrams, and
 * attackers of several kinds who know all about it, exact handles, addresses,
 * ids and file offsets, and try everything one could. Each attempt must be
 * refused with the documented code, and after each row of the table the victim
 * finds its memory and its rings as they were, byte for byte, and its datagrams
 * and counts too.
 *
 * The same attempts are made by one who may, a member of the job or a child that
 * was left the victim's file: then they must work and the victim must see it.
 * That shows that the attempts are well aimed and the checks find harm.
 *
 * Needs two NICs and root.
 */
#include <fcntl.h>
#include <grp.h>
#include <sys/syscall.h>

#include <core/memhndl.h>
#include <core/ring.h>
#include <core/smsg.h>

#include "common_isolate.h"

#define OTHER		2000
#define OTHER_COOKIE	(COOKIE + 1)
#define TWIN_COOKIE	(COOKIE + 7)
#define OTHER_TAG	99

/* --- who is who -------------------------------------------------------------------- */

#define KIND(name_, uid_, cookie_, ptag_, device_, ...)				\
	{ .name = (name_), .uid = (uid_), .cookie = (cookie_), .ptag = (ptag_),	\
	  .device = (device_), ##__VA_ARGS__ }

static const struct kind kinds[] = {
	KIND("other user", OTHER, OTHER_COOKIE, ANY, 0),
	KIND("other user, same cookie", OTHER, COOKIE, OTHER_TAG, 0),
	KIND("other user, 2nd NIC", OTHER, COOKIE, ANY, 1),
	KIND("other job", USER, OTHER_COOKIE, ANY, 0),
	KIND("other job, 2nd NIC", USER, OTHER_COOKIE, ANY, 1),
	KIND("other tag, 2nd NIC", USER, COOKIE, OTHER_TAG, 1),
	KIND("other user's child", USER, OTHER_COOKIE, ANY, 0, .child = OTHER),
	KIND("user's child", OTHER, OTHER_COOKIE, ANY, 0, .child = USER),
	KIND("root, same cookie", 0, COOKIE, ANY, 0),
	KIND("member of the job", USER, COOKIE, ANY, 0, .member = true),
};

static const struct kind members[] = {
	KIND("MEMBER of the job", USER, COOKIE, ANY, 0, .member = true),
	KIND("MEMBER, 2nd NIC", USER, COOKIE, ANY, 1, .member = true),
};

/* The user that makes the attempts. */
static uid_t acts_as(const struct kind *k)
{
	return k->child ? k->child : k->uid;
}

/* --- the attacker ------------------------------------------------------------------ */

struct attacker a;

static void attacker_begin(const struct kind *k)
{
	a.k = k;
	must(!setgroups(0, NULL) && !setegid(k->uid) && !seteuid(k->uid));
	a.fd = raw_open(k->device);
	a.spare = raw_open(0);
	must(!attach(a.fd, ATTACKER_ID, k->ptag, k->cookie, &a.ptag, &a.pe));
	must(!seteuid(0) && !setegid(0));
}

static void attacker_objects(void)
{
	struct kgni_ioc_mdd_block block = { .entries = VICTIM_INDICES };
	unsigned char *expected = map_private(VICTIM_LEN);
	unsigned int i;

	expected_memory(expected);
	a.expected = expected;
	for (i = 0; i < ARRAY_SIZE(a.cq); i++)
		raw_cq_open(a.fd, 64, GNI_CQ_BLOCKING, &a.cq[i]);
	kgni_ring_view_init(&a.ring, a.cq[0].mem, a.cq[0].slots);
	a.local = map_private(LOCAL_LEN);
	a.lmh = raw_mem_open(a.fd, a.local, LOCAL_LEN, 0, a.cq[1].id);
	must(!call(a.fd, KGNI_IOC_MDD_BLOCK, &block));
}

int source_event(void)
{
	uint64_t e = 0;

	if (!wait_for(kgni_ring_pop(&a.ring, &e) == KGNI_RING_ENTRY))
		return -ETIME;
	return kgni_cqe_status(e) ? EVENT(kgni_cqe_status(e)) : GNI_RC_SUCCESS;
}

int try_post(struct kgni_ioc_post *post)
{
	int rc;

	post->cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
	post->src_cq = a.cq[0].id;
	post->src_event = 1;
	rc = call(a.fd, KGNI_IOC_POST, post);
	return rc ? rc : source_event();
}

/* --- rows: transfers --------------------------------------------------------------- */

const struct transfer transfers[TRANSFERS] = {
	[FMA_PUT] = { .type = GNI_POST_FMA_PUT, .length = 64 },
	[FMA_PUT_LONG] = { .type = GNI_POST_FMA_PUT, .length = 2 * PAGE },
	[FMA_FLAG] = { .type = GNI_POST_FMA_PUT_W_SYNCFLAG, .length = 64 },
	[FMA_GET] = { .type = GNI_POST_FMA_GET, .length = 64, .reads = true },
	[AMO_ADD] = { .type = GNI_POST_AMO, .length = 8, .amo_cmd = GNI_FMA_ATOMIC_ADD },
	[AMO_FADD] = { .type = GNI_POST_AMO, .length = 8, .amo_cmd = GNI_FMA_ATOMIC_FADD,
		       .reads = true },
	[RDMA_PUT] = { .type = GNI_POST_RDMA_PUT, .length = 64 },
	[RDMA_PUT_LONG] = { .type = GNI_POST_RDMA_PUT, .length = 2 * PAGE },
	[RDMA_GET] = { .type = GNI_POST_RDMA_GET, .length = 64, .reads = true },
	[RDMA_GET_LONG] = { .type = GNI_POST_RDMA_GET, .length = 2 * PAGE, .reads = true },
	[CQ_WRITE] = { .type = GNI_POST_CQWRITE },
	[GET_FLAG] = { .type = GNI_POST_FMA_GET_W_FLAG, .length = 32, .reads = true },
	[AMO_FLAG] = { .type = GNI_POST_AMO_W_FLAG, .length = 8, .amo_cmd = GNI_FMA_ATOMIC_FADD,
		       .reads = true },
};

/* From or to the attacker's memory, at the victim's region. */
struct kgni_ioc_post aimed_post(const struct transfer *t, enum region_name r)
{
	return (struct kgni_ioc_post){
		.type = t->type, .cq_mode = GNI_CQMODE_REMOTE_EVENT, .remote_event = 0x666,
		.remote_pe = known->pe, .local_addr = (uint64_t)a.local, .local = a.lmh,
		.remote_addr = target_address(r), .remote = known->mh[r], .length = t->length,
		.sync_addr = target_address(r), .sync_value = MARK, .amo_cmd = t->amo_cmd,
		.operand = { 1 }, .cqwrite_value = MARK,
	};
}

int judge_read(const struct transfer *t, enum region_name r, int rc)
{
	const unsigned char *theirs = a.expected + layout[r].page * PAGE;

	if (rc == GNI_RC_SUCCESS)
		return memcmp(a.local, theirs, t->length) ? UNREAD : rc;
	return all_bytes(a.local, LOCAL_LEN, LOCAL_FILL) ? rc : HAS_READ;
}

static int try_transfer(const struct transfer *t, struct kgni_ioc_post *post, enum region_name r)
{
	int rc;

	memset(a.local, LOCAL_FILL, LOCAL_LEN);
	rc = try_post(post);
	return t->reads ? judge_read(t, r, rc) : rc;
}

static void remote_rows(const struct transfer *t, int r, int end)
{
	struct kgni_ioc_post post;

	for (; r < end; r++) {
		post = aimed_post(t, r);
		note(try_transfer(t, &post, r));
	}
}

static void row_remote(int which)
{
	remote_rows(&transfers[which], 0, a.k->member ? 1 : OTHER_KINDS);
}

static void row_remote_kinds(int which)
{
	remote_rows(&transfers[which], OTHER_KINDS, REGIONS);
}

/* The victim's handle for the local side, the attacker's own for the other. */
static void local_rows(const struct transfer *t, int r, int end)
{
	struct kgni_ioc_post post;
	int rc;

	for (; r < end; r++) {
		post = aimed_post(t, r);
		post.local_addr = post.remote_addr;
		post.local = post.remote;
		post.remote_pe = a.pe;
		post.remote_addr = (uint64_t)a.local;
		post.remote = a.lmh;
		memset(a.local, LOCAL_FILL, LOCAL_LEN);
		rc = try_post(&post);
		note(rc || t->type == GNI_POST_RDMA_PUT ? judge_read(t, r, rc) : rc);
	}
}

static void row_local(int which)
{
	local_rows(&transfers[which], 0, a.k->member ? 1 : OTHER_KINDS);
}

static void row_local_kinds(int which)
{
	local_rows(&transfers[which], OTHER_KINDS, REGIONS);
}

/* An FMA put's source is an address of its own process, whatever the handle says. */
static void row_local_put(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);

	post.local_addr = post.remote_addr;
	post.local = post.remote;
	post.remote_pe = a.pe;
	post.remote_addr = (uint64_t)a.local;
	post.remote = a.lmh;
	note(try_post(&post));
}

static void row_other_pe(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	unsigned int i;

	for (i = 0; i < device_count(); i++) {
		post.remote_pe = known->pe + i;
		note(try_transfer(&transfers[which], &post, MAIN));
	}
}

static void row_no_pe(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	unsigned int count = device_count();
	uint32_t pe;

	for (pe = 0; pe < 256; pe++) {
		if (pe - known->pe < count)
			continue;
		post.remote_pe = pe;
		note(try_transfer(&transfers[which], &post, MAIN));
		post.remote_pe = known->pe + (pe << 24 | 1U << 20);
		note(try_transfer(&transfers[which], &post, MAIN));
	}
}

/* --- rows: guessed handles --------------------------------------------------------- */

struct kgni_mem_handle guess(uint64_t va, uint16_t mdh, uint8_t flags)
{
	struct kgni_mh mh = {
		.va = va, .npages = layout[MAIN].pages, .mdh = mdh, .page_shift = 12,
		.flags = flags,
	};
	uint64_t q1, q2;

	kgni_mh_pack(&mh, &q1, &q2);
	return (struct kgni_mem_handle){ q1, q2 };
}

/* A member's guesses hit once, which is what makes its row. */
static void note_guess(int code)
{
	if (a.k->member && code == REFUSED)
		trial.attempts++;
	else
		note(code);
}

static void sweep_remote(int which, enum region_name r, uint8_t flags)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], r);
	uint32_t mdh;

	memset(a.local, LOCAL_FILL, LOCAL_LEN);
	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++) {
		post.remote = guess(address(r), mdh, flags);
		note_guess(try_post(&post));
	}
	if (transfers[which].reads && !a.k->member && !all_bytes(a.local, LOCAL_LEN, LOCAL_FILL))
		note(HAS_READ);
}

static void row_sweep(int which)
{
	sweep_remote(which, MAIN, 0);
}

static void row_sweep_v2(int which)
{
	sweep_remote(which, MAIN, KGNI_MH_V2);
}

static void row_sweep_vmdh(int which)
{
	sweep_remote(which, VIRTUAL, KGNI_MH_VMDH);
}

static void row_sweep_local(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	uint32_t mdh;

	post.local_addr = address(MAIN);
	post.remote_pe = a.pe;
	post.remote_addr = (uint64_t)a.local;
	post.remote = a.lmh;
	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++) {
		post.local = guess(address(MAIN), mdh, 0);
		note(try_post(&post));
	}
}

/* Every page of the victim's and around as the region's first. */
static void row_sweep_va(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	const uint64_t end = (uint64_t)VICTIM_AT + VICTIM_LEN + 8 * PAGE;
	struct kgni_mh mh;
	uint64_t va;
	int r;

	for (r = 0; r < REGIONS; r++) {
		kgni_mh_unpack(known->mh[r].qword1, known->mh[r].qword2, &mh);
		for (va = (uint64_t)VICTIM_AT - 8 * PAGE; va < end; va += PAGE) {
			post.remote = guess(va, mh.mdh, 0);
			post.remote_addr = va;
			note(try_post(&post));
		}
	}
}

static int deregister(struct kgni_mem_handle h)
{
	struct kgni_ioc_mem_deregister arg = { .handle = h };

	return call(a.fd, KGNI_IOC_MEM_DEREGISTER, &arg);
}

static void row_deregister(int unused)
{
	int r;

	(void)unused;
	for (r = 0; r < REGIONS; r++)
		note(deregister(known->mh[r]));
}

static void try_window(struct kgni_mem_handle h, uint64_t addr)
{
	struct kgni_ioc_window_open w = { .remote_pe = known->pe, .remote = h, .addr = addr };
	int rc = call(a.fd, KGNI_IOC_WINDOW_OPEN, &w);
	uint64_t *mem;

	note(rc);
	if (rc || !(w.rights & KGNI_WINDOW_WRITE))
		return;
	mem = mmap(NULL, w.length, PROT_READ | PROT_WRITE, MAP_SHARED, a.fd, (off_t)w.data_offset);
	must(mem != MAP_FAILED);
	mem[(addr - w.addr) / 8] ^= ~0ULL;
}

static void row_window(int unused)
{
	(void)unused;
	try_window(known->mh[MAIN], address(MAIN));
}

static void row_window_sweep(int unused)
{
	uint32_t mdh;

	(void)unused;
	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++)
		try_window(guess(address(MAIN), mdh, 0), address(MAIN));
}

static void row_deregister_sweep(int flags)
{
	uint32_t mdh;

	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++)
		note(deregister(guess(address(MAIN), mdh, flags)));
}

/* In a new job: registrations are numbered anew, so a twin has the same handle. */
static void twin_put(int fd, unsigned char *mem)
{
	struct kgni_ioc_attach at = { .inst_id = 1, .ptag = ANY, .cookie = TWIN_COOKIE };
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_PUT], MAIN);
	struct kgni_mem_handle twin;

	must(!call(fd, KGNI_IOC_ATTACH, &at));
	twin = raw_mem_open(fd, mem, layout[MAIN].pages * PAGE, 0, 0);
	is_u64(twin.qword1, post.remote.qword1, "no twin");
	is_u64(twin.qword2, post.remote.qword2, "no twin");
	memset(a.local, LOCAL_FILL, LOCAL_LEN);
	post.remote_pe = at.pe;
	note(call(fd, KGNI_IOC_POST, &post));
	ok(all_bytes(mem, 64, LOCAL_FILL), "not one's own memory, either");
}

static void row_twin(int unused)
{
	unsigned char *mem = mmap((void *)address(MAIN), layout[MAIN].pages * PAGE,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int fd = raw_open(a.k->device);

	(void)unused;
	must(mem == (void *)address(MAIN));
	twin_put(fd, mem);
	close(fd);
	munmap(mem, layout[MAIN].pages * PAGE);
}

/* --- rows: short messages ---------------------------------------------------------- */

static void row_message(int unused)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_FLAG], MAILBOX);

	(void)unused;
	post.flags = KGNI_POST_SMSG;
	post.sync_addr += KGNI_SMSG_SLOTS_OFFSET;
	post.sync_value = kgni_smsg_word(0, post.length, 1);
	post.remote_addr = post.sync_addr + KGNI_SMSG_PAYLOAD;
	note(try_post(&post));
}

static void row_credits(int unused)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_FLAG], MAILBOX);

	(void)unused;
	post.flags = KGNI_POST_SMSG;
	post.length = 0;
	post.sync_value = 1;
	note(try_post(&post));
}

static gni_smsg_attr_t mailbox(uint64_t addr, struct kgni_mem_handle mh)
{
	return (gni_smsg_attr_t){
		.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 4, .msg_maxsize = 64,
		.msg_buffer = (void *)addr, .buff_size = PAGE,
		.mem_hndl = { mh.qword1, mh.qword2 },
	};
}

/* As a program would, by the library. */
static void row_library(int unused)
{
	gni_smsg_attr_t mine = mailbox((uint64_t)a.local, a.lmh);
	gni_smsg_attr_t theirs = mailbox(address(MAILBOX), known->mh[MAILBOX]);
	gni_cdm_handle_t cdm;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	struct nic n;

	(void)unused;
	memset(a.local, 0, LOCAL_LEN);
	memset(&n, 0, sizeof(n));
	must_do(GNI_CdmCreate(ATTACKER_ID, a.ptag, a.k->cookie, 0, &cdm));
	must_do(GNI_CdmAttach(cdm, a.k->device, &n.pe, &n.h));
	n.tx = cq_open(&n, 64, GNI_CQ_NOBLOCK);
	ep = ep_open(&n, known->pe, VICTIM_ID);
	must_do(GNI_SmsgInit(ep, &mine, &theirs));
	must_do(GNI_SmsgSend(ep, "spam", 5, NULL, 0, 1));
	note(next_event(n.tx, &e));
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
}

/* --- rows: queues ------------------------------------------------------------------ */

bool is_own_queue(uint32_t id)
{
	return id == a.cq[0].id || id == a.cq[1].id;
}

static int try_map(int fd, uint64_t offset, size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (mem == MAP_FAILED)
		return -errno;
	memset((char *)mem + KGNI_RING_SLOTS_OFFSET, 0x66, 64);
	munmap(mem, len);
	return GNI_RC_SUCCESS;
}

void each_queue(int (*fn)(const struct raw_cq *cq))
{
	int i;

	for (i = 0; i < VICTIM_QUEUES; i++)
		if (!is_own_queue(known->cq[i].id))
			note(fn(&known->cq[i]));
}

static int map_queue(const struct raw_cq *cq)
{
	return try_map(a.fd, cq->offset, cq->len);
}

static int post_to_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_PUT], MAIN);

	post.remote_pe = a.pe;
	post.remote_addr = (uint64_t)a.local;
	post.remote = a.lmh;
	post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	post.src_cq = cq->id;
	return call(a.fd, KGNI_IOC_POST, &post);
}

static int register_with_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_mem_register arg = {
		.addr = (uint64_t)a.local, .length = PAGE, .cq = cq->id, .vmdh_index = ~0U,
	};

	return call(a.fd, KGNI_IOC_MEM_REGISTER, &arg);
}

static int destroy_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_cq_destroy arg = { .id = cq->id };

	return call(a.fd, KGNI_IOC_CQ_DESTROY, &arg);
}

static int wait_on(int file, uint32_t id)
{
	struct kgni_cq_ref ref = { .fd = file, .id = id };
	struct kgni_ioc_cq_wait arg = { .cqs = (uint64_t)&ref, .count = 1 };

	return call(a.fd, KGNI_IOC_CQ_WAIT, &arg);
}

static int wait_for_queue(const struct raw_cq *cq)
{
	return wait_on(a.fd, cq->id);
}

/* The number of the victim's file is one of /dev/null here. */
static int wait_by_its_fd(const struct raw_cq *cq)
{
	return wait_on(known->fd, cq->id);
}

static void row_map(int unused)
{
	(void)unused;
	each_queue(map_queue);
}

static void row_map_sweep(int unused)
{
	uint64_t id;

	(void)unused;
	for (id = 0; id < 1U << 31; id = id < 1024 ? id + 1 : id * 2)
		if (!is_own_queue(id))
			note(try_map(a.fd, id * a.cq[0].offset / a.cq[0].id, a.cq[0].len));
}

/* Beside and beyond the ring that is one's own. */
static void row_map_beyond(int unused)
{
	const struct raw_cq *cq = &a.cq[0];
	size_t n;

	(void)unused;
	for (n = PAGE; n <= 64 * PAGE; n += PAGE) {
		if (n != cq->len)
			note(try_map(a.fd, cq->offset, n));
		note(try_map(a.fd, cq->offset + n, cq->len));
		note(try_map(a.fd, cq->offset - n, cq->len));
	}
}

/* Windows that were not opened. */
static void row_map_windows(int unused)
{
	uint64_t i;

	(void)unused;
	for (i = 0; i < 1ULL << 14; i = i < 64 ? i + 1 : i * 2)
		note(try_map(a.fd, KGNI_MMAP_WINDOWS + (i << 44), PAGE));
}

static void row_map_spare(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < VICTIM_QUEUES; i++)
		note(try_map(a.spare, known->cq[i].offset, known->cq[i].len));
}

/* Both have a queue of this number: what one maps is one's own. */
static void row_map_same(int unused)
{
	const struct raw_cq *cq = &a.cq[1];

	(void)unused;
	memset((char *)cq->mem + KGNI_RING_SLOTS_OFFSET, 0, 64);
	note(try_map(a.fd, known->cq[1].offset, known->cq[1].len));
	is_u64(known->cq[1].id, cq->id);
	ok(all_bytes((char *)cq->mem + KGNI_RING_SLOTS_OFFSET, 64, 0x66), "not one's own, either");
	memset((char *)cq->mem + KGNI_RING_SLOTS_OFFSET, 0, 64);
}

static void row_source(int unused)
{
	(void)unused;
	each_queue(post_to_queue);
}

static void row_register(int unused)
{
	(void)unused;
	each_queue(register_with_queue);
}

static void row_destroy(int unused)
{
	(void)unused;
	each_queue(destroy_queue);
}

static void row_wait(int unused)
{
	(void)unused;
	each_queue(wait_for_queue);
}

static void row_wait_fd(int unused)
{
	int i, null = -1;

	(void)unused;
	if (fcntl(known->fd, F_GETFD) < 0) {
		null = open("/dev/null", O_RDWR);
		must(dup2(null, known->fd) == known->fd);
		for (i = 0; i < VICTIM_QUEUES; i++)
			note(wait_by_its_fd(&known->cq[i]));
		close(known->fd);
		close(null);
	} else {
		each_queue(wait_by_its_fd);
	}
}

/* --- rows: datagrams --------------------------------------------------------------- */

/* Posts one, sees what becomes of it, and takes it back. */
static int try_dgram(struct kgni_ioc_dgram_post *post)
{
	struct kgni_ioc_dgram_test test = { .ep = post->ep, .timeout_ms = 30 };
	struct kgni_ioc_dgram_cancel cancel = { .ep = post->ep };
	int rc = call(a.fd, KGNI_IOC_DGRAM_POST, post);

	if (rc)
		return rc;
	rc = call(a.fd, KGNI_IOC_DGRAM_TEST, &test);
	if (rc != GNI_RC_TIMEOUT)
		return rc ? rc : DGRAM(test.state);
	is_u64(test.length, 0);
	rc = dgram_state(a.fd, post->ep, 0, 0);
	is_u64(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &cancel), GNI_RC_SUCCESS);
	if (post->flags & KGNI_DGRAM_BOUND)
		is_u64(dgram_state(a.fd, post->ep, 0, 0), DGRAM(GNI_POST_TERMINATED));
	return rc;
}

static void row_dgram_bound(int unused)
{
	struct kgni_ioc_dgram_post post = bound_dgram(10, known->pe, VICTIM_ID);

	(void)unused;
	note(try_dgram(&post));
}

static void row_dgram_wild(int unused)
{
	struct kgni_ioc_dgram_post post = { .ep = 11, .length = 8, .buf_size = 128 };

	(void)unused;
	note(try_dgram(&post));
}

static void row_dgram_test(int unused)
{
	(void)unused;
	note(dgram_state(a.fd, EP_WILD, 0, 0));
	note(dgram_state(a.fd, EP_BOUND, 0, 0));
	note(dgram_state(a.fd, EP_NAMED, 0, 0));
	note(dgram_state(a.fd, EP_NAMED, KGNI_DGRAM_WITH_ID, DGRAM_NAME));
}

static void row_dgram_probe(int unused)
{
	struct kgni_ioc_dgram_probe probe = { 0 };

	(void)unused;
	note(call(a.fd, KGNI_IOC_DGRAM_PROBE, &probe));
	probe.flags = KGNI_DGRAM_WITH_ID;
	note(call(a.fd, KGNI_IOC_DGRAM_PROBE, &probe));
}

static void row_dgram_cancel(int unused)
{
	struct kgni_ioc_dgram_cancel arg = { 0 };

	(void)unused;
	for (arg.ep = EP_WILD; arg.ep <= EP_NAMED; arg.ep++)
		note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
	arg = (struct kgni_ioc_dgram_cancel){
		.ep = EP_NAMED, .flags = KGNI_DGRAM_WITH_ID, .id = DGRAM_NAME,
	};
	note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
}

static void row_dgram_gone(int unused)
{
	struct kgni_ioc_dgram_cancel arg = { .flags = KGNI_DGRAM_EP_GONE };

	(void)unused;
	for (arg.ep = EP_WILD; arg.ep <= EP_NAMED; arg.ep++)
		note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
}

/* --- rows: to become a member ------------------------------------------------------ */

/* With a new file of the victim's device. */
static int try_attach(uint32_t ptag, uint32_t cookie)
{
	int fd = raw_open(0);
	int rc = attach(fd, VICTIM_ID, ptag, cookie, NULL, NULL);

	close(fd);
	return rc;
}

/*
 * With the cookie alone one is led into a job of one's own: whatever goes from
 * there to the victim does not arrive.
 */
static void row_attach_cookie(int unused)
{
	struct kgni_ioc_dgram_post dgram = bound_dgram(1, known->pe, VICTIM_ID);
	struct kgni_ioc_post post;
	uint32_t tag = 0;
	unsigned int i;
	int fd = raw_open(0);

	(void)unused;
	note(attach(fd, ATTACKER_ID, ANY, COOKIE, &tag, NULL));
	ok(tag && tag != known->ptag, "tag %u", tag);
	raw_mem_open(fd, a.local, PAGE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(transfers); i++) {
		post = aimed_post(&transfers[i], MAIN);
		if (transfers[i].type != GNI_POST_FMA_PUT && transfers[i].type != GNI_POST_CQWRITE)
			continue;
		note(call(fd, KGNI_IOC_POST, &post));
		trial.unseen++;
	}
	note(call(fd, KGNI_IOC_DGRAM_POST, &dgram));
	is_u64(dgram_state(fd, 1, 0, 0), DGRAM(GNI_POST_PENDING));
	close(fd);
}

static void row_attach_both(int unused)
{
	(void)unused;
	note(try_attach(known->ptag, COOKIE));
}

static void row_attach_tag(int unused)
{
	unsigned int bit;

	(void)unused;
	note(try_attach(known->ptag, OTHER_COOKIE));
	for (bit = 0; bit < 32; bit++)
		note(try_attach(known->ptag, COOKIE ^ 1U << bit));
}

static void row_attach_kernel(int unused)
{
	(void)unused;
	note(try_attach(1, COOKIE));
	note(try_attach(2, COOKIE));
	note(try_attach(254, COOKIE));
}

static void row_attach_wrong(int unused)
{
	(void)unused;
	note(try_attach(0, COOKIE));
	note(try_attach(256, COOKIE));
	note(try_attach(256 + known->ptag, COOKIE));
	note(try_attach(0x80000000U + known->ptag, COOKIE));
	note(try_attach(~0U, COOKIE));
}

static void row_attach_again(int unused)
{
	(void)unused;
	note(attach(a.fd, VICTIM_ID, ANY, COOKIE, NULL, NULL));
	note(attach(a.fd, VICTIM_ID, known->ptag, COOKIE, NULL, NULL));
}

static void row_attach_reading(int unused)
{
	int fd = open("/dev/kgni0", O_RDONLY | O_CLOEXEC);

	(void)unused;
	must(fd >= 0);
	note(attach(fd, VICTIM_ID, ANY, COOKIE, NULL, NULL));
	close(fd);
}

/* The file was opened by a user who might. */
static void row_attach_spare(int unused)
{
	(void)unused;
	note(attach(a.spare, VICTIM_ID, known->ptag, COOKIE, NULL, NULL));
}

static void row_get_ptag(int unused)
{
	struct kgni_ioc_ptag arg = { .cookie = COOKIE };
	int fd = raw_open(0);

	(void)unused;
	note(call(fd, KGNI_IOC_GET_PTAG, &arg));
	ok(arg.ptag && arg.ptag != known->ptag, "tag %u", arg.ptag);
	close(fd);
}

static void row_unattached(int unused)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_PUT], MAIN);
	struct kgni_ioc_mem_deregister dereg = { .handle = known->mh[MAIN] };
	struct kgni_ioc_cq_destroy destroy = { .id = known->cq[0].id };
	struct kgni_cq_ref ref = { .fd = a.spare, .id = known->cq[0].id };
	struct kgni_ioc_cq_wait wait = { .cqs = (uint64_t)&ref, .count = 1 };
	struct kgni_ioc_dgram_cancel cancel = { .ep = EP_WILD };

	(void)unused;
	note(call(a.spare, KGNI_IOC_POST, &post));
	note(call(a.spare, KGNI_IOC_MEM_DEREGISTER, &dereg));
	note(call(a.spare, KGNI_IOC_CQ_DESTROY, &destroy));
	note(call(a.spare, KGNI_IOC_CQ_WAIT, &wait));
	note(call(a.spare, KGNI_IOC_DGRAM_CANCEL, &cancel));
}

static int open_proc_fd(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", known->pid, known->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void row_proc_fd(int unused)
{
	(void)unused;
	note(open_proc_fd());
}

/* The same user may open it: a new file then, which is not attached. */
static void row_proc_fd_use(int unused)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_PUT], MAIN);
	int fd = open_proc_fd();

	(void)unused;
	must(fd >= 0);
	note(call(fd, KGNI_IOC_POST, &post));
	close(fd);
}

static void row_getfd(int unused)
{
	int pidfd = syscall(SYS_pidfd_open, known->pid, 0);
	int fd;

	(void)unused;
	must(pidfd >= 0);
	fd = syscall(SYS_pidfd_getfd, pidfd, known->fd, 0);
	note(fd < 0 ? -errno : GNI_RC_SUCCESS);
	close(pidfd);
	if (fd >= 0)
		close(fd);
}

/* --- the table --------------------------------------------------------------------- */

/* Who makes a row, beside the members. */
enum who {
	ALL,
	USERS,		/* all but root */
	STRANGERS,	/* users that are not the victim's */
	KNOWN,		/* the victim's user */
	NOT_KNOWN,	/* strangers and root */
	CHILDREN,	/* strangers with files that the victim's user opened */
	GROWN_UP,	/* no children: the library is to attach by itself */
	MEMBERS,	/* members only, by rows that are personal */
};

/* What a member does by it: nothing of interest, harm, or read. */
enum member { SKIP, HARMS, READS, HARMS_NEAR, READS_NEAR };

#define WAITS	DGRAM(GNI_POST_PENDING)
#define MATCHED	DGRAM(GNI_POST_COMPLETED)
#define PARAM	GNI_RC_INVALID_PARAM
#define PERM	GNI_RC_PERMISSION_ERROR

static const struct row rows[] = {
	ROW("FMA put", row_remote, FMA_PUT, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("FMA put, two pages", row_remote, FMA_PUT_LONG, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("FMA put with flag", row_remote, FMA_FLAG, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("FMA get", row_remote, FMA_GET, REFUSED, BY_MEMORY, .member = READS),
	ROW("AMO add", row_remote, AMO_ADD, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("AMO fetch and add", row_remote, AMO_FADD, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("RDMA put", row_remote, RDMA_PUT, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("RDMA put, queued", row_remote, RDMA_PUT_LONG, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("RDMA get", row_remote, RDMA_GET, REFUSED, BY_MEMORY, .member = READS),
	ROW("RDMA get, queued", row_remote, RDMA_GET_LONG, REFUSED, BY_MEMORY, .member = READS),
	ROW("CQ write", row_remote, CQ_WRITE, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("FMA get with flag", row_remote, GET_FLAG, REFUSED, BY_MEMORY, .member = READS),
	ROW("AMO with flag", row_remote, AMO_FLAG, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("regions of other kinds: FMA put", row_remote_kinds, FMA_PUT, REFUSED, BY_MEMORY,
	    .member = HARMS),
	ROW("regions of other kinds: FMA get", row_remote_kinds, FMA_GET, REFUSED, BY_MEMORY,
	    .member = READS),
	ROW("regions of other kinds: AMO", row_remote_kinds, AMO_ADD, REFUSED, BY_MEMORY,
	    .member = HARMS),
	ROW("regions of other kinds: RDMA put q.", row_remote_kinds, RDMA_PUT_LONG, REFUSED,
	    BY_MEMORY, .member = HARMS),
	ROW("regions of other kinds: RDMA get q.", row_remote_kinds, RDMA_GET_LONG, REFUSED,
	    BY_MEMORY, .member = READS),
	ROW("regions of other kinds: CQ write", row_remote_kinds, CQ_WRITE, REFUSED, BY_MEMORY,
	    .member = HARMS),
	ROW("chain with an FMA put", row_chain, FMA_PUT, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("chain with an FMA get", row_chain, FMA_GET, REFUSED, BY_MEMORY, .member = READS),
	ROW("chain with an AMO", row_chain, AMO_FADD, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("chain with a CQ write", row_chain, CQ_WRITE, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("FMA put to other PEs", row_other_pe, FMA_PUT, REFUSED, BY_MEMORY),
	ROW("FMA get from other PEs", row_other_pe, FMA_GET, REFUSED, BY_MEMORY),
	ROW("FMA put to PEs that are not", row_no_pe, FMA_PUT, EVENT(KGNI_ST_UNREACHABLE),
	    BY_MEMORY),
	ROW("its handle as local: FMA put", row_local_put, FMA_PUT, PARAM, UNCOUNTED),
	ROW("its handle as local: FMA get", row_local, FMA_GET, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("its handle as local: AMO fetch", row_local, AMO_FADD, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("its handle as local: RDMA put", row_local, RDMA_PUT, PARAM, BY_MEMORY,
	    .member = READS_NEAR),
	ROW("its handle as local: RDMA put q.", row_local, RDMA_PUT_LONG, PARAM, BY_MEMORY,
	    .member = READS_NEAR),
	ROW("its handle as local: RDMA get", row_local, RDMA_GET, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("its handle as local: RDMA get q.", row_local, RDMA_GET_LONG, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("its handle as local: get with flag", row_local, GET_FLAG, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("its handle as local: chain", row_chain_local, FMA_GET, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("other kinds as local: RDMA get", row_local_kinds, RDMA_GET, PARAM, BY_MEMORY,
	    .member = HARMS_NEAR),
	ROW("other kinds as local: RDMA put", row_local_kinds, RDMA_PUT, PARAM, BY_MEMORY,
	    .member = READS_NEAR),
	ROW("mdh 1..4095: FMA put", row_sweep, FMA_PUT, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("mdh 1..4095: FMA get", row_sweep, FMA_GET, REFUSED, BY_MEMORY),
	ROW("mdh 1..4095: AMO", row_sweep, AMO_ADD, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("mdh 1..4095: RDMA put", row_sweep, RDMA_PUT, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("mdh 1..4095: CQ write", row_sweep, CQ_WRITE, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("mdh 1..4095: as local, RDMA get", row_sweep_local, RDMA_GET, PARAM, BY_MEMORY),
	ROW("mdh 1..4095, version 2: FMA put", row_sweep_v2, FMA_PUT, REFUSED, BY_MEMORY,
	    .member = HARMS),
	ROW("indices 1..4095: FMA put", row_sweep_vmdh, FMA_PUT, REFUSED, BY_MEMORY,
	    .member = HARMS),
	ROW("its mdh, addresses around: FMA put", row_sweep_va, FMA_PUT, REFUSED, BY_MEMORY),
	ROW("window to its region", row_window, 0, PARAM, BY_MEMORY, .member = HARMS),
	ROW("mdh 1..4095: window", row_window_sweep, 0, PARAM, BY_MEMORY),
	ROW("deregister its handles", row_deregister, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("mdh 1..4095: deregister", row_deregister_sweep, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("mdh 1..4095, version 2: deregister", row_deregister_sweep, KGNI_MH_V2, PARAM,
	    BY_MEMORY, .personal = true),
	ROW("clone its regions", row_clone, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("mdh 1..4095: clone", row_clone_sweep, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("update its regions", row_update, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("indices 0..7: update", row_update_index, 0, PARAM, BY_MEMORY, .personal = true),
	ROW("an index of the same number is one's own", row_index, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("take its index", row_index_taken, 0, GNI_RC_ERROR_RESOURCE, UNCOUNTED,
	    .who = MEMBERS, .personal = true),
	ROW("register its addresses", row_addresses, 0, PARAM, UNCOUNTED, .personal = true),
	ROW("list what comes after its handles", row_next, 0, GNI_RC_INVALID_STATE, BY_MEMORY,
	    .personal = true),
	ROW("list all: one's own", row_list, 0, GNI_RC_SUCCESS, UNCOUNTED, .personal = true),
	ROW("a twin of its handle reaches one's own", row_twin, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("message into its mailbox", row_message, 0, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("credits into its mailbox", row_credits, 0, REFUSED, BY_MEMORY, .member = HARMS),
	ROW("GNI_SmsgSend() to it", row_library, 0, GNI_RC_TRANSACTION_ERROR, BY_MEMORY,
	    .who = GROWN_UP, .member = HARMS),
	ROW("map its queues by one's own file", row_map, 0, -EINVAL, BY_QUEUE, .personal = true),
	ROW("map queues 0..1024 and beyond", row_map_sweep, 0, -EINVAL, BY_QUEUE, .personal = true),
	ROW("map beside one's own queue", row_map_beyond, 0, -EINVAL, BY_QUEUE, .personal = true),
	ROW("map windows", row_map_windows, 0, -EINVAL, BY_QUEUE, .personal = true),
	ROW("map its queues, not attached", row_map_spare, 0, -EINVAL, BY_QUEUE, .personal = true),
	ROW("a queue of the same number is one's own", row_map_same, 0, GNI_RC_SUCCESS, UNCOUNTED,
	    .personal = true),
	ROW("its queues for source events", row_source, 0, PARAM, BY_QUEUE, .personal = true),
	ROW("its queues for events of a chain", row_chain_source, 0, PARAM, BY_QUEUE,
	    .personal = true),
	ROW("its queues to a channel of one's own", row_notify, 0, PARAM, BY_QUEUE,
	    .personal = true),
	ROW("wake its queues", row_wake, 0, PARAM, BY_QUEUE, .personal = true),
	ROW("register with its queues", row_register, 0, PARAM, BY_QUEUE, .personal = true),
	ROW("destroy its queues", row_destroy, 0, PARAM, BY_QUEUE, .personal = true),
	ROW("wait for its queues", row_wait, 0, PARAM, BY_QUEUE, .personal = true),
	ROW("wait for them by its file's number", row_wait_fd, 0, PARAM, BY_QUEUE,
	    .personal = true),
	ROW("the part that its reduction waits for", row_ce_post, 0, EVENT(KGNI_ST_NO_CE),
	    BY_CHANNEL, .member = HARMS),
	ROW("parts for channels 0..7", row_ce_sweep, 0, EVENT(KGNI_ST_NO_CE), BY_CHANNEL),
	ROW("give its channel another tree", row_ce_configure, 0, PARAM, BY_CHANNEL,
	    .personal = true),
	ROW("destroy its channel", row_ce_destroy, 0, PARAM, BY_CHANNEL, .personal = true),
	ROW("hold its device", row_bi_set, 0, PERM, UNCOUNTED, .who = USERS, .personal = true),
	ROW("look at how it is held", row_bi_look, 0, GNI_RC_SUCCESS, UNCOUNTED,
	    .personal = true),
	ROW("have its job stand still", row_suspend, 0, PERM, UNCOUNTED, .who = USERS,
	    .personal = true),
	ROW("have its job go on", row_suspend, KGNI_SUSPEND_RESUME, PERM, UNCOUNTED,
	    .who = USERS, .personal = true),
	ROW("give its job limits", row_configure, 0, PERM, UNCOUNTED, .who = USERS,
	    .personal = true),
	ROW("give it other addresses", row_translate, 0, PERM, UNCOUNTED, .who = USERS,
	    .personal = true),
	ROW("datagram bound to it", row_dgram_bound, 0, WAITS, UNCOUNTED,
	    .member = HARMS, .member_code = MATCHED),
	ROW("wildcard for what it sends", row_dgram_wild, 0, WAITS, UNCOUNTED,
	    .member = HARMS, .member_code = MATCHED),
	ROW("ask for the state of its datagrams", row_dgram_test, 0, GNI_RC_NO_MATCH, BY_DGRAM,
	    .personal = true),
	ROW("probe for its datagrams", row_dgram_probe, 0, GNI_RC_NO_MATCH, UNCOUNTED,
	    .personal = true),
	ROW("cancel its datagrams", row_dgram_cancel, 0, GNI_RC_NO_MATCH, BY_DGRAM,
	    .personal = true),
	ROW("end its endpoints", row_dgram_gone, 0, GNI_RC_NO_MATCH, UNCOUNTED,
	    .personal = true),
	ROW("attach with its cookie: one's own job", row_attach_cookie, 0, GNI_RC_SUCCESS,
	    BY_MEMORY, .who = NOT_KNOWN),
	ROW("attach with its tag and cookie", row_attach_both, 0, PERM, BY_ATTACH,
	    .who = STRANGERS),
	ROW("attach with its tag, cookies like it", row_attach_tag, 0, PERM, BY_ATTACH,
	    .personal = true),
	ROW("attach with the kernel's tags", row_attach_kernel, 0, PERM, BY_ATTACH,
	    .who = USERS, .personal = true),
	ROW("attach with tags that are none", row_attach_wrong, 0, PARAM, UNCOUNTED,
	    .personal = true),
	ROW("attach as it once more", row_attach_again, 0, GNI_RC_INVALID_STATE,
	    UNCOUNTED, .personal = true),
	ROW("attach by a file open for reading", row_attach_reading, 0, -EACCES, BY_ATTACH,
	    .personal = true),
	ROW("attach by an inherited file", row_attach_spare, 0, PERM, BY_ATTACH, .who = CHILDREN),
	ROW("ask for the tag: one's own", row_get_ptag, 0, GNI_RC_SUCCESS, UNCOUNTED,
	    .who = NOT_KNOWN),
	ROW("calls on a file not attached", row_unattached, 0, GNI_RC_INVALID_STATE, UNCOUNTED,
	    .personal = true),
	ROW("open its file in /proc", row_proc_fd, 0, -EACCES, UNCOUNTED, .who = STRANGERS),
	ROW("open its file in /proc and post", row_proc_fd_use, 0, GNI_RC_INVALID_STATE, UNCOUNTED,
	    .who = KNOWN),
	ROW("take its file: pidfd_getfd()", row_getfd, 0, -EPERM, UNCOUNTED, .who = STRANGERS),
};

static bool applies(const struct row *row, const struct kind *k)
{
	uid_t uid = acts_as(k);

	if (k->member)
		return row->personal;
	switch (row->who) {
	case USERS:
		return uid != 0;
	case STRANGERS:
		return uid != 0 && uid != USER;
	case KNOWN:
		return uid == USER;
	case NOT_KNOWN:
		return uid != USER;
	case CHILDREN:
		return uid != 0 && uid != USER && k->uid == USER;
	case GROWN_UP:
		return !k->child;
	case MEMBERS:
		return false;
	default:
		return true;
	}
}

static void attack(void)
{
	uint64_t before[REFUSAL_KINDS];
	const struct row *row;
	unsigned int i;

	attacker_objects();
	victim_remember();
	print_head("attacker");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		row = &rows[i];
		if (!applies(row, a.k))
			continue;
		row_begin(row->code);
		read_refusals(before);
		row->fn(row->arg);
		check_refusals(row, before);
		refused_row(row, a.k->name, victim_changes());
	}
}

static void attack_child(void *arg)
{
	(void)arg;
	drop_to(a.k->child);
	attack();
}

static void attacker_main(void *arg)
{
	attacker_begin(arg);
	if (a.k->child) {
		reap(peer(attack_child, NULL));
	} else {
		drop_to(a.k->uid);
		attack();
	}
}

static void test_kind(const struct kind *k)
{
	unsigned int before = totals->rows;

	victim_start(k->device);
	reap(peer(attacker_main, (void *)k));
	victim_end();
	ok(totals->rows > before);
}

static void test_other_user(void) { test_kind(&kinds[0]); }
static void test_other_user_cookie(void) { test_kind(&kinds[1]); }
static void test_other_user_nic(void) { test_kind(&kinds[2]); }
static void test_other_job(void) { test_kind(&kinds[3]); }
static void test_other_job_nic(void) { test_kind(&kinds[4]); }
static void test_other_tag_nic(void) { test_kind(&kinds[5]); }
static void test_other_child(void) { test_kind(&kinds[6]); }
static void test_user_child(void) { test_kind(&kinds[7]); }
static void test_root(void) { test_kind(&kinds[8]); }
static void test_member_refused(void) { test_kind(&kinds[9]); }

/* --- those who may ----------------------------------------------------------------- */

static bool harms(const struct row *row, const struct kind *k)
{
	switch (row->member) {
	case HARMS:
	case READS:
		return true;
	case HARMS_NEAR:
	case READS_NEAR:
		return k->device == 0;
	default:
		return false;
	}
}

static const struct row *member_row;

/* One row by one who may; what it does must be seen. */
static void member_main(void *arg)
{
	const struct row *row = member_row;

	attacker_begin(arg);
	drop_to(USER);
	attacker_objects();
	victim_remember();
	row_begin(row->member_code);
	row->fn(row->arg);
	allowed_row(row, a.k->name, victim_changes(),
		    row->member == HARMS || row->member == HARMS_NEAR);
}

static void test_members(const struct kind *k)
{
	unsigned int i;

	print_head("who may");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!harms(&rows[i], k))
			continue;
		member_row = &rows[i];
		victim_start(k->device);
		reap(peer(member_main, (void *)k));
		victim_end();
	}
}

static void test_member(void) { test_members(&members[0]); }
static void test_member_nic(void) { test_members(&members[1]); }

static void row_heir_wait(int unused)
{
	(void)unused;
	note(wait_for_queue(&known->cq[0]));
}

static void row_heir_cancel(int unused)
{
	struct kgni_ioc_dgram_cancel arg = { .ep = EP_BOUND };

	(void)unused;
	note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
}

/*
 * A file is the attachment: who was given the victim's may do what the victim
 * may, whoever it is. This is the other side of the rows about queues.
 */
static const struct row heir_rows[] = {
	ROW("map its queues", row_map, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("its queues for source events", row_source, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("register with its queues", row_register, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("destroy its queues", row_destroy, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("wait for its queue", row_heir_wait, 0, GNI_RC_TIMEOUT, UNCOUNTED),
	ROW("clone its regions", row_heir_clone, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("take an index", row_index_free, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("deregister its handles", row_deregister, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("cancel its datagram", row_heir_cancel, 0, GNI_RC_SUCCESS, UNCOUNTED),
};

static const struct kind heir = KIND("HEIR of its file", OTHER, COOKIE, ANY, 0, .member = true);

static void heir_main(void *arg)
{
	int pidfd = syscall(SYS_pidfd_open, known->pid, 0);
	const struct row *row = arg;

	a.k = &heir;
	a.fd = syscall(SYS_pidfd_getfd, pidfd, known->fd, 0);
	must(a.fd >= 0);
	a.pe = known->pe;
	drop_to(OTHER);
	a.local = map_private(LOCAL_LEN);
	a.lmh = raw_mem_open(a.fd, a.local, LOCAL_LEN, 0, 0);
	victim_remember();
	row_begin(row->code);
	row->fn(row->arg);
	allowed_row(row, heir.name, victim_changes(), true);
}

static void test_heir(void)
{
	unsigned int i;

	print_head("who may");
	for (i = 0; i < ARRAY_SIZE(heir_rows); i++) {
		victim_start(0);
		reap(peer(heir_main, (void *)&heir_rows[i]));
		victim_end();
	}
}

/* --- all together ------------------------------------------------------------------ */

/* No row that applies was left out, none was cut short. */
static void test_totals(void)
{
	unsigned int want = 0, controls = ARRAY_SIZE(heir_rows);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < ARRAY_SIZE(kinds); j++)
			want += applies(&rows[i], &kinds[j]);
		for (j = 0; j < ARRAY_SIZE(members); j++)
			controls += harms(&rows[i], &members[j]);
	}
	totals_check(want, controls);
}

#define SLOW	.seconds = 240

static const struct test tests[] = {
	CASE("a member of the job can do it all", test_member, SLOW),
	CASE("a member on another NIC can", test_member_nic, SLOW),
	CASE("who is given the victim's file can", test_heir, SLOW),
	CASE("another user can not", test_other_user, SLOW),
	CASE("another user with the same cookie can not", test_other_user_cookie, SLOW),
	CASE("another user on another NIC with the same cookie can not", test_other_user_nic, SLOW),
	CASE("another job of the user can not", test_other_job, SLOW),
	CASE("another job of the user on another NIC can not", test_other_job_nic, SLOW),
	CASE("another tag of the user on another NIC can not", test_other_tag_nic, SLOW),
	CASE("another user's child with a file of the user's can not", test_other_child, SLOW),
	CASE("the user's child with a file of another user's can not", test_user_child, SLOW),
	CASE("root in a job of its own can not", test_root, SLOW),
	CASE("a member of the job can not take the victim's own", test_member_refused, SLOW),
	CASE("nothing was left out", test_totals),
};

int main(void)
{
	totals_begin();
	return RUN_TESTS(tests);
}
