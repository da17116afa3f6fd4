// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory handles that were not given out, and memory of others. Whatever a
 * handle holds: an error as documented, or an access that stays inside a live
 * registration of the same job. Needs two NICs.
 */
#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define LEN	(4 * PAGE)
#define FILL	0x3c
#define MARK	0x1122334455667788ULL
#define AT	(PAGE + 64)	/* where in the region forged transfers aim */

/* Regions of the job beside the target, so that forged numbers may hit. */
#define OTHERS	40

static struct target t;
static unsigned char *others;
static unsigned char *local;
static gni_mem_handle_t lmh;

static void setup(enum layout layout)
{
	gni_mem_handle_t mh;
	struct nic *n;
	int i;

	target_open(&t, layout, LEN, 0, 0);
	others = map_private(OTHERS * PAGE);
	local = map_private(LEN);
	n = &t.n;
	for (i = 0; i < OTHERS; i++)
		mem_open(n, others + i * PAGE, PAGE, NULL, i & 1, &mh);
	mem_open(n, local, LEN, NULL, 0, &lmh);
}

static void reset(void)
{
	memset(t.mem, FILL, LEN);
	memset(others, FILL, OTHERS * PAGE);
	memset(local, 0, LEN);
}

/* Only the eight bytes that were aimed at may have changed, and only by a success. */
static void check_target(gni_return_t rc, const char *what, unsigned int bit)
{
	if (rc == GNI_RC_SUCCESS)
		memset(t.mem + AT, FILL, 8);
	ok(all_bytes(t.mem, LEN, FILL), "%s, bit %u: %s", what, bit, rc_name(rc));
	ok(all_bytes(others, OTHERS * PAGE, FILL), "%s, bit %u: %s", what, bit, rc_name(rc));
}

static void post_forged(gni_post_type_t type, const gni_mem_handle_t *mh, unsigned int bit)
{
	gni_post_descriptor_t d;
	uint64_t value = MARK;
	gni_return_t rc;

	reset();
	*(uint64_t *)local = MARK;
	desc_init(&d, type, GLOBAL);
	desc_move(&d, type == GNI_POST_FMA_PUT ? (void *)&value : local, &lmh, &t.r, AT, 8);
	d.remote_mem_hndl = *mh;
	d.amo_cmd = GNI_FMA_ATOMIC_ADD;
	d.first_operand = 1;
	rc = post_wait(t.ep, t.n.tx, &d);
	ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "type %d, bit %u: %s", type, bit,
	   rc_name(rc));
	check_target(rc, "remote", bit);
	is_empty(t.n.tx);
}

static void get_forged(const gni_mem_handle_t *mh, unsigned int bit)
{
	gni_post_descriptor_t d;
	gni_return_t rc;

	reset();
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, local, &lmh, &t.r, AT, 8);
	d.remote_mem_hndl = *mh;
	rc = post_wait(t.ep, t.n.tx, &d);
	ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR, "get, bit %u: %s", bit,
	   rc_name(rc));
	ok(all_bytes(local, 8, rc == GNI_RC_SUCCESS ? FILL : 0), "get, bit %u", bit);
	check_target(rc, "get", bit);
}

static void try_remote(const gni_mem_handle_t *mh, unsigned int bit)
{
	post_forged(GNI_POST_FMA_PUT, mh, bit);
	post_forged(GNI_POST_RDMA_PUT, mh, bit);
	post_forged(GNI_POST_AMO, mh, bit);
	get_forged(mh, bit);
}

static gni_mem_handle_t flip(const gni_mem_handle_t *mh, unsigned int bit)
{
	gni_mem_handle_t forged = *mh;

	if (bit < 64)
		forged.qword1 ^= 1ULL << bit;
	else
		forged.qword2 ^= 1ULL << (bit - 64);
	return forged;
}

static void test_flip_remote(enum layout layout)
{
	gni_mem_handle_t forged;
	unsigned int bit;

	setup(layout);
	for (bit = 0; bit < 128; bit++) {
		forged = flip(&t.r.mh, bit);
		try_remote(&forged, bit);
	}
	/* What clients rebuild: no CRC, no count of pages. */
	reset();
	forged = t.r.mh;
	forged.qword2 = 12ULL << 28 | 0xfffffff;
	post_forged(GNI_POST_FMA_PUT, &forged, 128);
	get_forged(&forged, 128);
	target_close(&t);
}
ALL_LAYOUTS(test_flip_remote)

/* A client's rebuilt handle names the same region and must work. */
static void test_rebuilt(void)
{
	static const unsigned int junk[] = { 0, 27, 28, 29, 56, 60, 63 };
	gni_post_descriptor_t d;
	uint64_t value = MARK;
	unsigned int i;

	setup(OTHER_NIC);
	for (i = 0; i <= ARRAY_SIZE(junk); i++) {
		reset();
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &value, NULL, &t.r, AT, 8);
		if (i < ARRAY_SIZE(junk))
			d.remote_mem_hndl.qword2 ^= 1ULL << junk[i];
		else
			d.remote_mem_hndl.qword2 = 12ULL << 28 | 0xfffffff;
		is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "%u", i);
		is_u64(*(uint64_t *)(t.mem + AT), MARK);
	}
	target_close(&t);
}

static void try_local(const gni_mem_handle_t *mh, gni_post_type_t type, unsigned int bit)
{
	gni_post_descriptor_t d;
	gni_return_t rc;

	reset();
	desc_init(&d, type, GLOBAL);
	desc_move(&d, local, mh, &t.r, AT, 8);
	d.amo_cmd = GNI_FMA_ATOMIC_FADD;
	d.first_operand = 0;
	rc = post_wait(t.ep, t.n.tx, &d);
	ok(rc == GNI_RC_SUCCESS || rc == GNI_RC_INVALID_PARAM || rc == GNI_RC_PERMISSION_ERROR,
	   "type %d, bit %u: %s", type, bit, rc_name(rc));
	if (rc == GNI_RC_SUCCESS && type != GNI_POST_RDMA_PUT)
		ok(all_bytes(local, 8, FILL), "bit %u", bit);
	ok(all_bytes(local + 8, LEN - 8, 0), "bit %u", bit);
	check_target(rc, "local", bit);
	is_empty(t.n.tx);
}

static void test_flip_local(void)
{
	gni_mem_handle_t forged;
	unsigned int bit;

	setup(PEER);
	for (bit = 0; bit < 128; bit++) {
		forged = flip(&lmh, bit);
		try_local(&forged, GNI_POST_FMA_GET, bit);
		try_local(&forged, GNI_POST_RDMA_GET, bit);
		try_local(&forged, GNI_POST_RDMA_PUT, bit);
		try_local(&forged, GNI_POST_AMO, bit);
	}
	target_close(&t);
}

static void test_random(void)
{
	gni_mem_handle_t forged;
	uint32_t seed = 1234567;
	int i;

	setup(PEER);
	for (i = 0; i < 500; i++) {
		forged.qword1 = (uint64_t)rnd(&seed) << 32 | rnd(&seed);
		forged.qword2 = (uint64_t)rnd(&seed) << 32 | rnd(&seed);
		if (i & 1)	/* the right address, any number */
			forged.qword1 = (forged.qword1 & ~((1ULL << 52) - 1)) | t.r.addr >> 12;
		try_remote(&forged, i);
		is_rc(GNI_MemDeregister(t.n.h, &forged), GNI_RC_INVALID_PARAM);
	}
	target_close(&t);
}

/* The flag in the handle gives no right that the registration lacks. */
static void test_rights(void)
{
	gni_mem_handle_t mh;
	gni_post_descriptor_t d;
	uint64_t value = MARK;
	struct region r;

	setup(SELF);
	reset();
	region_open(&t.n, map_private(PAGE), PAGE, NULL, GNI_MEM_READ_ONLY, &r);
	mh = r.mh;
	mh.qword2 &= ~(1ULL << 34);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, &r, 0, 8);
	d.remote_mem_hndl = mh;
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	ok(all_bytes((void *)r.addr, PAGE, 0));
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, (void *)r.addr, &mh, &t.r, 0, 8);
	is_rc(GNI_PostFma(t.ep, &d), GNI_RC_PERMISSION_ERROR);
	ok(all_bytes((void *)r.addr, PAGE, 0));
}

/* --- other jobs ---------------------------------------------------------------- */

struct foreign {
	struct region r[8];
	gni_smsg_attr_t attr;
};

static unsigned int foreign_device;
static uid_t foreign_uid;
static uint32_t foreign_cookie;

/*
 * Where nobody else has memory: registrations of our job may have the same
 * numbers as those of the stranger, but not the same addresses.
 */
#define FAR_AWAY	((void *)0x200000000000)

/* Has memory in a job of its own, which must stay as it is. */
static void stranger(void *arg)
{
	struct foreign *f = (struct foreign *)shm->bytes;
	unsigned char *mem = mmap(FAR_AWAY, 8 * PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	gni_cdm_handle_t cdm;
	gni_cq_entry_t e;
	struct nic n;
	int i;

	(void)arg;
	must(mem == FAR_AWAY);
	must(!setgid(foreign_uid) && !setuid(foreign_uid));
	memset(&n, 0, sizeof(n));
	n.id = 7;
	must_do(GNI_CdmCreate(7, GNI_FIND_ALLOC_PTAG, foreign_cookie, 0, &cdm));
	must_do(GNI_CdmAttach(cdm, foreign_device, &n.pe, &n.h));
	n.rx = cq_open(&n, 64, GNI_CQ_NOBLOCK);
	memset(mem, FILL, 8 * PAGE);
	for (i = 0; i < 8; i++)
		region_open(&n, mem + i * PAGE, PAGE, n.rx, 0, &f->r[i]);
	give(0);
	take(1);
	ok(all_bytes(mem, 8 * PAGE, FILL), "a stranger has written");
	is_rc(GNI_CqGetEvent(n.rx, &e), GNI_RC_NOT_DONE, "a stranger has sent an event");
}

static void try_foreign(const struct region *r)
{
	static const int types[] = {
		GNI_POST_FMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_AMO,
		GNI_POST_RDMA_PUT, GNI_POST_RDMA_GET, GNI_POST_CQWRITE,
	};
	gni_ep_handle_t ep = ep_open(&t.n, r->pe, r->id);
	gni_post_descriptor_t d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		memset(local, 0, LEN);
		desc_init(&d, types[i], GLOBAL | GNI_CQMODE_REMOTE_EVENT);
		desc_move(&d, local, &lmh, r, 64, 8);
		d.sync_flag_addr = r->addr;
		d.amo_cmd = GNI_FMA_ATOMIC_FADD;
		is_rc(post_wait(ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "type %d", types[i]);
		ok(all_bytes(local, LEN, 0), "type %d has read", types[i]);
		is_empty(t.n.tx);
	}
	/* As the local side it is worth nothing, either. */
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)r->addr, &r->mh, &t.r, 0, 8);
	is_rc(GNI_PostRdma(t.ep, &d), GNI_RC_INVALID_PARAM);
	d.type = GNI_POST_RDMA_GET;
	is_rc(GNI_PostRdma(t.ep, &d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemDeregister(t.n.h, (gni_mem_handle_t *)&r->mh), GNI_RC_INVALID_PARAM);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
}

/* A message to a mailbox of another job. */
static void try_foreign_smsg(const struct region *r)
{
	gni_ep_handle_t ep = ep_open(&t.n, r->pe, r->id);
	gni_smsg_attr_t mine = {
		.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 2, .msg_maxsize = 64,
		.msg_buffer = local, .buff_size = LEN, .mem_hndl = lmh,
	}, theirs = mine;
	gni_cq_entry_t e;

	theirs.msg_buffer = (void *)r->addr;
	theirs.buff_size = PAGE;
	theirs.mem_hndl = r->mh;
	must_do(GNI_SmsgInit(ep, &mine, &theirs));
	is_rc(GNI_SmsgSend(ep, "spam", 5, NULL, 0, 1), GNI_RC_SUCCESS);
	is_rc(next_event(t.n.tx, &e), GNI_RC_TRANSACTION_ERROR);
	is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
}

static void test_foreign(unsigned int device, uid_t uid, uint32_t cookie)
{
	struct foreign *f = (struct foreign *)shm->bytes;
	pid_t pid;
	int i;

	foreign_device = device;
	foreign_uid = uid;
	foreign_cookie = cookie;
	pid = peer(stranger, NULL);
	take(0);
	setup(SELF);
	for (i = 0; i < 8; i++) {
		try_foreign(&f->r[i]);
		try_foreign_smsg(&f->r[i]);
	}
	give(1);
	reap(pid);
}

static void test_foreign_cookie(void)
{
	test_foreign(0, 0, COOKIE + 1);
}

static void test_foreign_cookie_nics(void)
{
	test_foreign(1, 0, COOKIE + 1);
}

static void test_foreign_user(void)
{
	test_foreign(0, 1000, COOKIE + 1);
}

/* The same cookie on another NIC is another job when the user is another. */
static void test_foreign_user_nics(void)
{
	test_foreign(1, 1000, COOKIE);
}

static const struct test tests[] = {
	CASES("every bit of a remote handle", test_flip_remote),
	CASE("handles that clients rebuild", test_rebuilt),
	CASE("every bit of a local handle", test_flip_local),
	CASE("random handles", test_random),
	CASE("rights are not in the handle", test_rights),
	CASE("memory of another job", test_foreign_cookie),
	CASE("memory of another job, two NICs", test_foreign_cookie_nics),
	CASE("memory of another user's job", test_foreign_user),
	CASE("memory of another user, same cookie, two NICs", test_foreign_user_nics),
};

int main(void)
{
	return RUN_TESTS(tests);
}
