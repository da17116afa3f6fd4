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
 * Needs two NICs and root; with the argument "fds" it tells how many device
 * files it was started with.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <core/cqe.h>
#include <core/memhndl.h>
#include <core/ring.h>
#include <core/smsg.h>

#include "common.h"

#define USER		1000	/* the victim's */
#define OTHER		2000
#define OTHER_COOKIE	(COOKIE + 1)
#define TWIN_COOKIE	(COOKIE + 7)
#define OTHER_TAG	99
#define VICTIM_ID	7
#define ATTACKER_ID	8
#define NOBODY_ID	9
#define SEED		4711
#define MARK		0x5555aaaa5555aaaaULL

/* --- codes: what an attempt may come to ------------------------------------------------ */

/* GNI_RC_* as they are, errnos negative, and these. */
#define EVENT(status)	(0x100 + (int)(status))		/* the error of a source event */
#define DGRAM(state)	(0x200 + (int)(state))		/* what becomes of a datagram */
#define NO_CODE		0x300				/* nothing was tried */
#define HAS_READ	0x301				/* bytes of the victim's are there */
#define UNREAD		0x302				/* they should be, and are not */
#define REFUSED		EVENT(KGNI_ST_MDD_INVALID)

static const char *code_name(int code)
{
	static const char *const statuses[] = {
		"OK", "MDD_INVALID", "BOUNDS", "PROTECTION", "ADDRESS", "UNREACHABLE", "ABORTED",
		"PRODUCER_DIED", "NO_CQ", "REM_OVERRUN", "LINK",
	};
	static char text[2][48];
	static int turn;
	char *t = text[turn++ & 1];

	if (code < 0)
		return strerrorname_np(-code) ? strerrorname_np(-code) : "(unknown errno)";
	if (code < EVENT(0))
		return rc_name(code);
	if (code < DGRAM(0) && (size_t)(code - EVENT(0)) < ARRAY_SIZE(statuses)) {
		snprintf(t, sizeof(text[0]), "event %s", statuses[code - EVENT(0)]);
		return t;
	}
	switch (code) {
	case DGRAM(GNI_POST_PENDING):
		return "stays pending";
	case DGRAM(GNI_POST_COMPLETED):
		return "matched";
	case HAS_READ:
		return "HAS READ IT";
	case UNREAD:
		return "read nothing";
	case NO_CODE:
		return "not tried";
	}
	snprintf(t, sizeof(text[0]), "(code %#x)", code);
	return t;
}

/* --- who is who -------------------------------------------------------------------------- */

struct kind {
	const char *name;
	uid_t uid;		/* who attaches */
	uid_t child;		/* if not 0: a child, of this user, that inherits the file */
	uint32_t cookie;
	uint32_t ptag;
	unsigned int device;	/* the victim is on 0 */
	bool member;		/* of the victim's job: may do it all */
};

#define ANY	GNI_FIND_ALLOC_PTAG

static const struct kind kinds[] = {
	{ "other user", OTHER, 0, OTHER_COOKIE, ANY, 0 },
	{ "other user, same cookie", OTHER, 0, COOKIE, OTHER_TAG, 0 },
	{ "other user, 2nd NIC", OTHER, 0, COOKIE, ANY, 1 },
	{ "other job", USER, 0, OTHER_COOKIE, ANY, 0 },
	{ "other job, 2nd NIC", USER, 0, OTHER_COOKIE, ANY, 1 },
	{ "other tag, 2nd NIC", USER, 0, COOKIE, OTHER_TAG, 1 },
	{ "other user's child", USER, OTHER, OTHER_COOKIE, ANY, 0 },
	{ "user's child", OTHER, USER, OTHER_COOKIE, ANY, 0 },
};

static const struct kind members[] = {
	{ "MEMBER of the job", USER, 0, COOKIE, ANY, 0, true },
	{ "MEMBER, 2nd NIC", USER, 0, COOKIE, ANY, 1, true },
};

/* The user that makes the attempts. */
static uid_t acts_as(const struct kind *k)
{
	return k->child ? k->child : k->uid;
}

static void drop_to(uid_t uid)
{
	must(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
}

static int call(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

static int attach(int fd, uint32_t id, uint32_t ptag, uint32_t cookie, uint32_t *tag,
		  uint32_t *pe)
{
	struct kgni_ioc_attach arg = { .inst_id = id, .ptag = ptag, .cookie = cookie };
	int rc = call(fd, KGNI_IOC_ATTACH, &arg);

	if (tag)
		*tag = arg.ptag;
	if (pe)
		*pe = arg.pe;
	return rc;
}

/* --- the victim -------------------------------------------------------------------------- */

/* Where nobody else has memory. Pages between the regions are not registered. */
#define VICTIM_AT	((unsigned char *)0x200000000000)
#define VICTIM_PAGES	16
#define VICTIM_LEN	(VICTIM_PAGES * PAGE)
#define VICTIM_QUEUES	8

enum region_name { MAIN, READ_ONLY, MAILBOX, QUIET, REGIONS };

static const struct {
	unsigned int page;
	unsigned int pages;
	uint32_t flags;
	int queue;		/* index, -1 for none */
} layout[REGIONS] = {
	[MAIN] = { 1, 4, 0, 5 },
	[READ_ONLY] = { 6, 2, GNI_MEM_READ_ONLY, 6 },
	[MAILBOX] = { 9, 2, 0, 7 },
	[QUIET] = { 12, 3, 0, -1 },
};

enum { EP_WILD = 1, EP_BOUND, EP_NAMED };

#define NAME	0x1234567890ULL

/* What the attackers know: everything. */
struct knowledge {
	pid_t pid;
	int fd;
	uint32_t pe;
	uint32_t ptag;
	struct kgni_mem_handle mh[REGIONS];
	struct raw_cq cq[VICTIM_QUEUES];
};

#define SEM_READY	0
#define SEM_ASK		1
#define SEM_ANSWER	2

enum { ASK_QUIT, ASK_REMEMBER, ASK_CHANGES };

#define WORD_ASK	0
#define WORD_CHANGES	1

#define CHANGED_MEMORY	1
#define CHANGED_RINGS	2
#define CHANGED_DGRAMS	4
#define CHANGED_COUNTS	8

static const int counted[] = { GNI_JOB_RES_MDD, GNI_JOB_RES_CQ, GNI_JOB_RES_FMA };

static struct victim {
	const struct kind *attacker;
	struct knowledge *k;	/* shared */
	unsigned char *mem;
	unsigned char *was[VICTIM_QUEUES];
	uint64_t used[ARRAY_SIZE(counted)];
} victim;

static void expected_memory(unsigned char *mem)
{
	fill(mem, VICTIM_LEN, SEED);
	memset(mem + layout[MAILBOX].page * PAGE, 0, layout[MAILBOX].pages * PAGE);
}

static uint64_t address(enum region_name r)
{
	return (uint64_t)VICTIM_AT + layout[r].page * PAGE;
}

static struct kgni_ioc_dgram_post bound_dgram(uint32_t ep, uint32_t pe, uint32_t id)
{
	return (struct kgni_ioc_dgram_post){
		.ep = ep, .flags = KGNI_DGRAM_BOUND, .remote_pe = pe, .remote_id = id,
		.length = 8, .buf_size = 8, .data = "secret!",
	};
}

static void victim_dgrams(void)
{
	struct kgni_ioc_dgram_post post = { .ep = EP_WILD, .length = 8, .buf_size = 8 };
	struct kgni_ioc_info info;
	int fd = raw_open(victim.attacker->device);

	must(!call(fd, KGNI_IOC_INFO, &info));
	close(fd);
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
	post = bound_dgram(EP_BOUND, info.pe, ATTACKER_ID);
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
	post = bound_dgram(EP_NAMED, info.pe, NOBODY_ID);
	post.flags |= KGNI_DGRAM_WITH_ID;
	post.id = NAME;
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
}

static int dgram_state(int fd, uint32_t ep, uint32_t flags, uint64_t id)
{
	struct kgni_ioc_dgram_test arg = { .ep = ep, .flags = flags, .id = id };
	int rc = call(fd, KGNI_IOC_DGRAM_TEST, &arg);

	return rc ? rc : DGRAM(arg.state);
}

static bool dgrams_pend(void)
{
	const int pending = DGRAM(GNI_POST_PENDING);
	int fd = victim.k->fd;

	return dgram_state(fd, EP_WILD, 0, 0) == pending &&
	       dgram_state(fd, EP_BOUND, 0, 0) == pending &&
	       dgram_state(fd, EP_NAMED, KGNI_DGRAM_WITH_ID, NAME) == pending;
}

static void count_used(uint64_t *used)
{
	struct kgni_ioc_res arg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		arg = (struct kgni_ioc_res){
			.scope = KGNI_RES_JOB, .type = counted[i], .ptag = victim.k->ptag,
		};
		must(!call(victim.k->fd, KGNI_IOC_RES_INFO, &arg));
		used[i] = arg.used;
	}
}

/* An event in a queue of the victim's own. */
static void own_event(enum region_name r, uint64_t value)
{
	struct kgni_ioc_post post = {
		.type = GNI_POST_CQWRITE, .remote_pe = victim.k->pe, .remote = victim.k->mh[r],
		.cqwrite_value = value,
	};

	must(!call(victim.k->fd, KGNI_IOC_POST, &post));
}

static void victim_objects(void)
{
	struct knowledge *k = victim.k;
	int i;

	k->pid = getpid();
	k->fd = raw_open(0);
	must(!attach(k->fd, VICTIM_ID, ANY, COOKIE, &k->ptag, &k->pe));
	for (i = 0; i < VICTIM_QUEUES; i++) {
		raw_cq_open(k->fd, 64, GNI_CQ_BLOCKING, &k->cq[i]);
		victim.was[i] = map_private(k->cq[i].len);
	}
	for (i = 0; i < REGIONS; i++)
		k->mh[i] = raw_mem_open(k->fd, VICTIM_AT + layout[i].page * PAGE,
					layout[i].pages * PAGE, layout[i].flags,
					layout[i].queue < 0 ? 0 : k->cq[layout[i].queue].id);
	for (i = 0; i < 5; i++)
		own_event(i & 1 ? MAIN : READ_ONLY, i);
	victim_dgrams();
}

static void remember(void)
{
	int i;

	for (i = 0; i < VICTIM_QUEUES; i++)
		memcpy(victim.was[i], victim.k->cq[i].mem, victim.k->cq[i].len);
	count_used(victim.used);
}

static bool rings_kept(void)
{
	int i;

	for (i = 0; i < VICTIM_QUEUES; i++)
		if (memcmp(victim.was[i], victim.k->cq[i].mem, victim.k->cq[i].len))
			return false;
	return true;
}

static unsigned int victim_changes(void)
{
	static unsigned char *want;
	uint64_t used[ARRAY_SIZE(counted)];
	unsigned int changes = 0;

	if (!want) {
		want = map_private(VICTIM_LEN);
		expected_memory(want);
	}
	count_used(used);
	if (memcmp(victim.mem, want, VICTIM_LEN))
		changes |= CHANGED_MEMORY;
	if (!rings_kept())
		changes |= CHANGED_RINGS;
	if (!dgrams_pend())
		changes |= CHANGED_DGRAMS;
	if (memcmp(used, victim.used, sizeof(used)))
		changes |= CHANGED_COUNTS;
	return changes;
}

/* What was attacked in vain works still, and its owner may do it all. */
static void still_works(void)
{
	struct knowledge *k = victim.k;
	struct kgni_ioc_mem_deregister dereg;
	struct kgni_ioc_cq_destroy destroy = { 0 };
	struct kgni_ioc_post post = {
		.type = GNI_POST_RDMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .src_cq = k->cq[0].id,
		.src_event = 1, .remote_pe = k->pe, .local_addr = address(READ_ONLY),
		.local = k->mh[READ_ONLY], .remote_addr = address(QUIET), .remote = k->mh[QUIET],
		.length = PAGE,
	};
	struct kgni_ring_view ring;
	uint64_t e = 0;
	int i;

	is_u64(call(k->fd, KGNI_IOC_POST, &post), GNI_RC_SUCCESS);
	kgni_ring_view_init(&ring, k->cq[0].mem, k->cq[0].slots);
	ok(wait_for(kgni_ring_pop(&ring, &e) == KGNI_RING_ENTRY));
	is_u64(kgni_cqe_status(e), KGNI_ST_OK);
	ok(!memcmp((void *)address(QUIET), (void *)address(READ_ONLY), PAGE));
	for (i = 0; i < REGIONS; i++) {
		dereg.handle = k->mh[i];
		is_u64(call(k->fd, KGNI_IOC_MEM_DEREGISTER, &dereg), GNI_RC_SUCCESS, "%d", i);
	}
	for (i = 0; i < VICTIM_QUEUES; i++) {
		destroy.id = k->cq[i].id;
		is_u64(call(k->fd, KGNI_IOC_CQ_DESTROY, &destroy), GNI_RC_SUCCESS, "%d", i);
	}
}

/* Answers until it is told to end; returns whether all was in order. */
static void victim_serve(void)
{
	bool harmed = false;

	for (;;) {
		take(SEM_ASK);
		switch (shm->word[WORD_ASK]) {
		case ASK_REMEMBER:
			remember();
			break;
		case ASK_CHANGES:
			shm->word[WORD_CHANGES] = victim_changes();
			harmed |= shm->word[WORD_CHANGES];
			break;
		default:
			if (!harmed)
				still_works();
			return;
		}
		give(SEM_ANSWER);
	}
}

static void victim_begin(void)
{
	drop_to(USER);
	/* So that only its user keeps others from its files in /proc. */
	prctl(PR_SET_DUMPABLE, 1);
	victim.mem = mmap(VICTIM_AT, VICTIM_LEN, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(victim.mem == VICTIM_AT);
	expected_memory(victim.mem);
	victim_objects();
}

static void victim_main(void *arg)
{
	victim.attacker = arg;
	victim_begin();
	give(SEM_READY);
	victim_serve();
}

static unsigned int ask(int what)
{
	shm->word[WORD_ASK] = what;
	give(SEM_ASK);
	if (what != ASK_QUIT)
		take(SEM_ANSWER);
	return shm->word[WORD_CHANGES];
}

/* --- the attacker ------------------------------------------------------------------------- */

#define LOCAL_PAGES	4
#define LOCAL_LEN	(LOCAL_PAGES * PAGE)
#define LOCAL_FILL	0x11

static struct attacker {
	const struct kind *k;
	const struct knowledge *v;
	int fd;
	int spare;		/* a file that is not attached, opened by who attached */
	uint32_t pe;
	uint32_t ptag;
	struct raw_cq cq[2];
	struct kgni_ring_view ring;
	unsigned char *local;
	struct kgni_mem_handle lmh;
	const unsigned char *expected;	/* what the victim's memory holds */
	/* of the row that is being tried: */
	int want;
	int got;
	unsigned int attempts;
	unsigned int refused;
} a;

/* The outcome of an attempt; a row shows the first that is not as it should be. */
static void note(int code)
{
	a.attempts++;
	a.refused += code != GNI_RC_SUCCESS && code == a.want;
	if (a.got == NO_CODE || a.got == a.want)
		a.got = code;
}

static void attacker_begin(const struct kind *k, struct knowledge *v)
{
	a.k = k;
	a.v = v;
	must(!setgroups(0, NULL) && !setegid(k->uid) && !seteuid(k->uid));
	a.fd = raw_open(k->device);
	a.spare = raw_open(0);
	must(!attach(a.fd, ATTACKER_ID, k->ptag, k->cookie, &a.ptag, &a.pe));
	must(!seteuid(0) && !setegid(0));
}

static void attacker_objects(void)
{
	unsigned char *expected = map_private(VICTIM_LEN);
	unsigned int i;

	expected_memory(expected);
	a.expected = expected;
	for (i = 0; i < ARRAY_SIZE(a.cq); i++)
		raw_cq_open(a.fd, 64, GNI_CQ_BLOCKING, &a.cq[i]);
	kgni_ring_view_init(&a.ring, a.cq[0].mem, a.cq[0].slots);
	a.local = map_private(LOCAL_LEN);
	a.lmh = raw_mem_open(a.fd, a.local, LOCAL_LEN, 0, a.cq[1].id);
}

/* Post with a source event. Returns the code, or the event's error. */
static int try_post(struct kgni_ioc_post *post)
{
	uint64_t e = 0;
	int rc;

	post->cq_mode |= GNI_CQMODE_GLOBAL_EVENT;
	post->src_cq = a.cq[0].id;
	post->src_event = 1;
	rc = call(a.fd, KGNI_IOC_POST, post);
	if (rc)
		return rc;
	if (!wait_for(kgni_ring_pop(&a.ring, &e) == KGNI_RING_ENTRY))
		return -ETIME;
	return kgni_cqe_status(e) ? EVENT(kgni_cqe_status(e)) : GNI_RC_SUCCESS;
}

/* --- rows: transfers ------------------------------------------------------------------------ */

static const struct transfer {
	gni_post_type_t type;
	uint32_t length;
	uint32_t amo_cmd;
	bool reads;		/* bytes of the target come back */
} transfers[] = {
	{ GNI_POST_FMA_PUT, 64 },
	{ GNI_POST_FMA_PUT, 2 * PAGE },
	{ GNI_POST_FMA_PUT_W_SYNCFLAG, 64 },
	{ GNI_POST_FMA_GET, 64, 0, true },
	{ GNI_POST_AMO, 8, GNI_FMA_ATOMIC_ADD },
	{ GNI_POST_AMO, 8, GNI_FMA_ATOMIC_FADD, true },
	{ GNI_POST_RDMA_PUT, 64 },
	{ GNI_POST_RDMA_PUT, 2 * PAGE },
	{ GNI_POST_RDMA_GET, 64, 0, true },
	{ GNI_POST_RDMA_GET, 2 * PAGE, 0, true },
	{ GNI_POST_CQWRITE },
};

enum { FMA_PUT, FMA_PUT_LONG, FMA_FLAG, FMA_GET, AMO_ADD, AMO_FADD, RDMA_PUT, RDMA_PUT_LONG,
       RDMA_GET, RDMA_GET_LONG, CQ_WRITE };

/* From or to the attacker's memory, at the victim's region. */
static struct kgni_ioc_post aimed_post(const struct transfer *t, enum region_name r)
{
	return (struct kgni_ioc_post){
		.type = t->type, .cq_mode = GNI_CQMODE_REMOTE_EVENT, .remote_event = 0x666,
		.remote_pe = a.v->pe, .local_addr = (uint64_t)a.local, .local = a.lmh,
		.remote_addr = address(r), .remote = a.v->mh[r], .length = t->length,
		.sync_addr = address(r), .sync_value = MARK, .amo_cmd = t->amo_cmd,
		.operand = { 1 }, .cqwrite_value = MARK,
	};
}

static int judge_read(const struct transfer *t, enum region_name r, int rc)
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

static void row_remote(int which)
{
	const struct transfer *t = &transfers[which];
	struct kgni_ioc_post post;
	int r;

	for (r = 0; r < (a.k->member ? 1 : REGIONS); r++) {
		post = aimed_post(t, r);
		note(try_transfer(t, &post, r));
	}
}

/* The victim's handle for the local side, the attacker's own for the other. */
static void row_local(int which)
{
	const struct transfer *t = &transfers[which];
	struct kgni_ioc_post post;
	int r, rc;

	for (r = 0; r < (a.k->member ? 1 : REGIONS); r++) {
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
		post.remote_pe = a.v->pe + i;
		note(try_transfer(&transfers[which], &post, MAIN));
	}
}

static void row_no_pe(int which)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	uint32_t pe;

	for (pe = 0; pe < 256; pe++) {
		if (pe - a.v->pe < device_count())
			continue;
		post.remote_pe = pe;
		note(try_transfer(&transfers[which], &post, MAIN));
		post.remote_pe = a.v->pe + (pe << 24 | 1U << 20);
		note(try_transfer(&transfers[which], &post, MAIN));
	}
}

/* --- rows: guessed handles --------------------------------------------------------------------- */

static struct kgni_mem_handle guess(uint64_t va, uint16_t mdh, uint8_t flags)
{
	struct kgni_mh mh = {
		.va = va, .npages = layout[MAIN].pages, .mdh = mdh, .page_shift = 12, .flags = flags,
	};
	struct kgni_mem_handle h;

	kgni_mh_pack(&mh, &h.qword1, &h.qword2);
	return h;
}

/* A member's guesses hit once, which is what makes its row. */
static void note_guess(int code)
{
	if (a.k->member && code == REFUSED)
		a.attempts++;
	else
		note(code);
}

static void sweep_remote(int which, uint8_t flags)
{
	struct kgni_ioc_post post = aimed_post(&transfers[which], MAIN);
	uint32_t mdh;

	memset(a.local, LOCAL_FILL, LOCAL_LEN);
	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++) {
		post.remote = guess(address(MAIN), mdh, flags);
		note_guess(try_post(&post));
	}
	if (transfers[which].reads && !a.k->member)
		note(all_bytes(a.local, LOCAL_LEN, LOCAL_FILL) ? a.want : HAS_READ);
}

static void row_sweep(int which)
{
	sweep_remote(which, 0);
}

static void row_sweep_v2(int which)
{
	sweep_remote(which, KGNI_MH_V2);
}

static void row_sweep_vmdh(int which)
{
	sweep_remote(which, KGNI_MH_VMDH);
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
		kgni_mh_unpack(a.v->mh[r].qword1, a.v->mh[r].qword2, &mh);
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
		note(deregister(a.v->mh[r]));
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

/* --- rows: short messages ----------------------------------------------------------------------- */

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
	gni_smsg_attr_t theirs = mailbox(address(MAILBOX), a.v->mh[MAILBOX]);
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
	ep = ep_open(&n, a.v->pe, VICTIM_ID);
	must_do(GNI_SmsgInit(ep, &mine, &theirs));
	must_do(GNI_SmsgSend(ep, "spam", 5, NULL, 0, 1));
	note(next_event(n.tx, &e));
	is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
}

/* --- rows: queues ----------------------------------------------------------------------------------- */

static bool is_own_queue(uint32_t id)
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

/* Calls @fn with each id of the victim's that the attacker does not have, too. */
static void each_queue(int (*fn)(const struct raw_cq *cq))
{
	int i;

	for (i = 0; i < VICTIM_QUEUES; i++)
		if (!is_own_queue(a.v->cq[i].id))
			note(fn(&a.v->cq[i]));
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
	return wait_on(a.v->fd, cq->id);
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
	for (id = 0; id < 8192; id++)
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

static void row_map_spare(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < VICTIM_QUEUES; i++)
		note(try_map(a.spare, a.v->cq[i].offset, a.v->cq[i].len));
}

/* Both have a queue of this number: what one maps is one's own. */
static void row_map_same(int unused)
{
	const struct raw_cq *cq = &a.cq[1];

	(void)unused;
	memset((char *)cq->mem + KGNI_RING_SLOTS_OFFSET, 0, 64);
	note(try_map(a.fd, a.v->cq[1].offset, a.v->cq[1].len));
	is_u64(a.v->cq[1].id, cq->id);
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
	if (fcntl(a.v->fd, F_GETFD) < 0) {
		null = open("/dev/null", O_RDWR);
		must(dup2(null, a.v->fd) == a.v->fd);
		for (i = 0; i < VICTIM_QUEUES; i++)
			note(wait_by_its_fd(&a.v->cq[i]));
		close(a.v->fd);
		close(null);
	} else {
		each_queue(wait_by_its_fd);
	}
}

/* --- rows: datagrams ----------------------------------------------------------------------------------- */

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
	struct kgni_ioc_dgram_post post = bound_dgram(10, a.v->pe, VICTIM_ID);

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
	note(dgram_state(a.fd, EP_NAMED, KGNI_DGRAM_WITH_ID, NAME));
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
	for (arg.ep = EP_WILD; arg.ep <= EP_NAMED; arg.ep++) {
		arg.flags = 0;
		note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
		arg.flags = KGNI_DGRAM_EP_GONE;
		note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
	}
	arg = (struct kgni_ioc_dgram_cancel){
		.ep = EP_NAMED, .flags = KGNI_DGRAM_WITH_ID, .id = NAME,
	};
	note(call(a.fd, KGNI_IOC_DGRAM_CANCEL, &arg));
}

/* --- rows: to become a member ------------------------------------------------------------------------------ */

/* With a new file of the victim's device. */
static int try_attach(uint32_t ptag, uint32_t cookie)
{
	int fd = raw_open(0);
	int rc = attach(fd, VICTIM_ID, ptag, cookie, NULL, NULL);

	close(fd);
	return rc;
}

static void row_attach_cookie(int unused)
{
	(void)unused;
	note(try_attach(ANY, COOKIE));
}

static void row_attach_both(int unused)
{
	(void)unused;
	note(try_attach(a.v->ptag, COOKIE));
}

static void row_attach_tag(int unused)
{
	unsigned int bit;

	(void)unused;
	note(try_attach(a.v->ptag, OTHER_COOKIE));
	for (bit = 0; bit < 32; bit++)
		note(try_attach(a.v->ptag, COOKIE ^ 1U << bit));
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
	note(try_attach(256 + a.v->ptag, COOKIE));
	note(try_attach(0x80000000U + a.v->ptag, COOKIE));
	note(try_attach(~0U, COOKIE));
}

static void row_attach_again(int unused)
{
	(void)unused;
	note(attach(a.fd, VICTIM_ID, ANY, COOKIE, NULL, NULL));
	note(attach(a.fd, VICTIM_ID, a.v->ptag, COOKIE, NULL, NULL));
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
	note(attach(a.spare, VICTIM_ID, ANY, COOKIE, NULL, NULL));
	note(attach(a.spare, VICTIM_ID, a.v->ptag, COOKIE, NULL, NULL));
}

static void row_get_ptag(int unused)
{
	struct kgni_ioc_ptag arg = { .cookie = COOKIE };
	int fd = raw_open(0);

	(void)unused;
	note(call(fd, KGNI_IOC_GET_PTAG, &arg));
	is_u64(arg.ptag, 0);
	close(fd);
}

static void row_unattached(int unused)
{
	struct kgni_ioc_post post = aimed_post(&transfers[FMA_PUT], MAIN);
	struct kgni_ioc_mem_deregister dereg = { .handle = a.v->mh[MAIN] };
	struct kgni_ioc_cq_destroy destroy = { .id = a.v->cq[0].id };
	struct kgni_cq_ref ref = { .fd = a.spare, .id = a.v->cq[0].id };
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

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", a.v->pid, a.v->fd);
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
	int pidfd = syscall(SYS_pidfd_open, a.v->pid, 0);
	int fd;

	(void)unused;
	must(pidfd >= 0);
	fd = syscall(SYS_pidfd_getfd, pidfd, a.v->fd, 0);
	note(fd < 0 ? -errno : GNI_RC_SUCCESS);
	close(pidfd);
	if (fd >= 0)
		close(fd);
}

/* --- the table ------------------------------------------------------------------------------------------------ */

/* Who makes a row, beside the members. */
enum who {
	ALL,
	STRANGERS,	/* of another user than the victim's */
	KNOWN,		/* of the victim's user */
	NO_COOKIE,	/* strangers that have no job of the cookie on the device */
	CHILDREN,	/* strangers with files that the victim's user opened */
	GROWN_UP,	/* no children: the library is to attach by itself */
};

/* What a member does by it: nothing of interest, harm, or read. */
enum member { SKIP, HARMS, READS, HARMS_NEAR, READS_NEAR };

struct row {
	const char *what;
	void (*fn)(int arg);
	int arg;
	int code;
	enum who who;
	enum member member;	/* _NEAR: on the victim's device only */
	int member_code;
};

#define WAITS	DGRAM(GNI_POST_PENDING)
#define MATCHED	DGRAM(GNI_POST_COMPLETED)
#define PARAM	GNI_RC_INVALID_PARAM
#define PERM	GNI_RC_PERMISSION_ERROR

static const struct row rows[] = {
	{ "FMA put", row_remote, FMA_PUT, REFUSED, ALL, HARMS },
	{ "FMA put, two pages", row_remote, FMA_PUT_LONG, REFUSED, ALL, HARMS },
	{ "FMA put with flag", row_remote, FMA_FLAG, REFUSED, ALL, HARMS },
	{ "FMA get", row_remote, FMA_GET, REFUSED, ALL, READS },
	{ "AMO add", row_remote, AMO_ADD, REFUSED, ALL, HARMS },
	{ "AMO fetch and add", row_remote, AMO_FADD, REFUSED, ALL, HARMS },
	{ "RDMA put", row_remote, RDMA_PUT, REFUSED, ALL, HARMS },
	{ "RDMA put, queued", row_remote, RDMA_PUT_LONG, REFUSED, ALL, HARMS },
	{ "RDMA get", row_remote, RDMA_GET, REFUSED, ALL, READS },
	{ "RDMA get, queued", row_remote, RDMA_GET_LONG, REFUSED, ALL, READS },
	{ "CQ write", row_remote, CQ_WRITE, REFUSED, ALL, HARMS },
	{ "FMA put to other PEs", row_other_pe, FMA_PUT, REFUSED, ALL },
	{ "FMA get from other PEs", row_other_pe, FMA_GET, REFUSED, ALL },
	{ "FMA put to PEs that are not", row_no_pe, FMA_PUT, EVENT(KGNI_ST_UNREACHABLE), ALL },
	{ "its handle as local: FMA put", row_local_put, FMA_PUT, PARAM, ALL },
	{ "its handle as local: FMA get", row_local, FMA_GET, PARAM, ALL, HARMS_NEAR },
	{ "its handle as local: AMO fetch", row_local, AMO_FADD, PARAM, ALL, HARMS_NEAR },
	{ "its handle as local: RDMA put", row_local, RDMA_PUT, PARAM, ALL, READS_NEAR },
	{ "its handle as local: RDMA put q.", row_local, RDMA_PUT_LONG, PARAM, ALL, READS_NEAR },
	{ "its handle as local: RDMA get", row_local, RDMA_GET, PARAM, ALL, HARMS_NEAR },
	{ "its handle as local: RDMA get q.", row_local, RDMA_GET_LONG, PARAM, ALL, HARMS_NEAR },
	{ "mdh 1..4095: FMA put", row_sweep, FMA_PUT, REFUSED, ALL, HARMS },
	{ "mdh 1..4095: FMA get", row_sweep, FMA_GET, REFUSED, ALL, SKIP },
	{ "mdh 1..4095: AMO", row_sweep, AMO_ADD, REFUSED, ALL, HARMS },
	{ "mdh 1..4095: RDMA put", row_sweep, RDMA_PUT, REFUSED, ALL, HARMS },
	{ "mdh 1..4095: CQ write", row_sweep, CQ_WRITE, REFUSED, ALL, HARMS },
	{ "mdh 1..4095: as local, RDMA get", row_sweep_local, RDMA_GET, PARAM, ALL },
	{ "mdh 1..4095, version 2: FMA put", row_sweep_v2, FMA_PUT, REFUSED, ALL, HARMS },
	{ "mdh 1..4095, VMDH: FMA put", row_sweep_vmdh, FMA_PUT, REFUSED, ALL },
	{ "its mdh, addresses around: FMA put", row_sweep_va, FMA_PUT, REFUSED, ALL },
	{ "deregister its handles", row_deregister, 0, PARAM, ALL },
	{ "mdh 1..4095: deregister", row_deregister_sweep, 0, PARAM, ALL },
	{ "mdh 1..4095, version 2: deregister", row_deregister_sweep, KGNI_MH_V2, PARAM, ALL },
	{ "a twin of its handle reaches one's own", row_twin, 0, GNI_RC_SUCCESS, ALL },
	{ "message into its mailbox", row_message, 0, REFUSED, ALL, HARMS },
	{ "credits into its mailbox", row_credits, 0, REFUSED, ALL, HARMS },
	{ "GNI_SmsgSend() to it", row_library, 0, GNI_RC_TRANSACTION_ERROR, GROWN_UP, HARMS },
	{ "map its queues by one's own file", row_map, 0, -EINVAL, ALL },
	{ "map queues 0..8191", row_map_sweep, 0, -EINVAL, ALL },
	{ "map beside one's own queue", row_map_beyond, 0, -EINVAL, ALL },
	{ "map its queues, not attached", row_map_spare, 0, -EINVAL, ALL },
	{ "a queue of the same number is one's own", row_map_same, 0, GNI_RC_SUCCESS, ALL },
	{ "its queues for source events", row_source, 0, PARAM, ALL },
	{ "register with its queues", row_register, 0, PARAM, ALL },
	{ "destroy its queues", row_destroy, 0, PARAM, ALL },
	{ "wait for its queues", row_wait, 0, PARAM, ALL },
	{ "wait for them by its file's number", row_wait_fd, 0, PARAM, ALL },
	{ "datagram bound to it", row_dgram_bound, 0, WAITS, ALL, HARMS, MATCHED },
	{ "wildcard for what it sends", row_dgram_wild, 0, WAITS, ALL, HARMS, MATCHED },
	{ "ask for the state of its datagrams", row_dgram_test, 0, GNI_RC_NO_MATCH, ALL },
	{ "probe for its datagrams", row_dgram_probe, 0, GNI_RC_NO_MATCH, ALL },
	{ "cancel its datagrams", row_dgram_cancel, 0, GNI_RC_NO_MATCH, ALL },
	{ "attach with its cookie", row_attach_cookie, 0, PERM, NO_COOKIE },
	{ "attach with its tag and cookie", row_attach_both, 0, PERM, STRANGERS },
	{ "attach with its tag, cookies like it", row_attach_tag, 0, PERM, ALL },
	{ "attach with the kernel's tags", row_attach_kernel, 0, PERM, ALL },
	{ "attach with tags that are none", row_attach_wrong, 0, PARAM, ALL },
	{ "attach as it once more", row_attach_again, 0, GNI_RC_INVALID_STATE, ALL },
	{ "attach by a file open for reading", row_attach_reading, 0, -EACCES, ALL },
	{ "attach by an inherited file", row_attach_spare, 0, PERM, CHILDREN },
	{ "ask for the tag of its cookie", row_get_ptag, 0, GNI_RC_NO_MATCH, NO_COOKIE },
	{ "calls on a file that's not attached", row_unattached, 0, GNI_RC_INVALID_STATE, ALL },
	{ "open its file in /proc", row_proc_fd, 0, -EACCES, STRANGERS },
	{ "open its file in /proc and post", row_proc_fd_use, 0, GNI_RC_INVALID_STATE, KNOWN },
	{ "take its file: pidfd_getfd()", row_getfd, 0, -EPERM, STRANGERS },
};

static bool applies(const struct row *row, const struct kind *k)
{
	bool stranger = acts_as(k) != USER;

	switch (row->who) {
	case ALL:
		return true;
	case STRANGERS:
		return stranger;
	case KNOWN:
		return !stranger;
	case NO_COOKIE:
		return stranger && (k->cookie != COOKIE || k->device);
	case CHILDREN:
		return stranger && k->uid == USER;
	default:
		return !k->child;
	}
}

/* All cases together; in memory that all processes share. */
static struct totals {
	unsigned int rows;
	unsigned int attempts;
	unsigned int refused;
	unsigned int harmless;	/* attempts that succeed and reach nothing of the victim's */
	unsigned int controls;
} *totals;

static const char *changes_name(unsigned int changes)
{
	static char text[64];

	if (!changes)
		return "untouched";
	snprintf(text, sizeof(text), "CHANGED:%s%s%s%s",
		 changes & CHANGED_MEMORY ? " memory" : "",
		 changes & CHANGED_RINGS ? " rings" : "",
		 changes & CHANGED_DGRAMS ? " datagrams" : "",
		 changes & CHANGED_COUNTS ? " counts" : "");
	return text;
}

static void print_head(const char *who)
{
	diag("");
	diag("%-39s | %-23s | %8s | %-19s | %-19s | victim", "attempt", who, "attempts", "code",
	     "expected");
}

static void print_row(const char *what, const char *who, unsigned int changes)
{
	diag("%-39s | %-23s | %8u | %-19s | %-19s | %s", what, who, a.attempts, code_name(a.got),
	     code_name(a.want), changes_name(changes));
}

static void row_begin(int want)
{
	a.want = want;
	a.got = NO_CODE;
	a.attempts = 0;
	a.refused = 0;
}

/* One row against a victim that must not notice. */
static void refused_row(const struct row *row, const char *who)
{
	unsigned int changes;

	row_begin(row->code);
	row->fn(row->arg);
	changes = ask(ASK_CHANGES);
	print_row(row->what, who, changes);
	ok(a.got == a.want, "%s by %s: %s, not %s", row->what, who, code_name(a.got),
	   code_name(a.want));
	ok(!changes, "%s by %s: %s", row->what, who, changes_name(changes));
	totals->rows++;
	totals->attempts += a.attempts;
	totals->refused += a.refused;
	if (a.want == GNI_RC_SUCCESS)
		totals->harmless += a.attempts;
}

static void attack(void)
{
	unsigned int i;

	attacker_objects();
	ask(ASK_REMEMBER);
	print_head("attacker");
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (applies(&rows[i], a.k))
			refused_row(&rows[i], a.k->name);
}

static void attack_child(void *arg)
{
	(void)arg;
	drop_to(a.k->child);
	attack();
}

static void attacker_main(void *arg)
{
	attacker_begin(arg, victim.k);
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
	pid_t pid;

	victim.k = map_shared(sizeof(*victim.k));
	pid = peer(victim_main, (void *)k);
	take(SEM_READY);
	reap(peer(attacker_main, (void *)k));
	ask(ASK_QUIT);
	reap(pid);
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

/* --- those who may -------------------------------------------------------------------------------------------------- */

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
	unsigned int changes;

	attacker_begin(arg, victim.k);
	drop_to(USER);
	attacker_objects();
	ask(ASK_REMEMBER);
	row_begin(row->member_code);
	row->fn(row->arg);
	changes = ask(ASK_CHANGES);
	print_row(row->what, a.k->name, changes);
	ok(a.got == a.want, "%s: %s", row->what, code_name(a.got));
	if (row->member == HARMS || row->member == HARMS_NEAR)
		ok(changes, "%s: the victim has not noticed", row->what);
	totals->controls++;
}

static void test_members(const struct kind *k)
{
	unsigned int i;
	pid_t pid;

	victim.k = map_shared(sizeof(*victim.k));
	print_head("who may");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!harms(&rows[i], k))
			continue;
		member_row = &rows[i];
		pid = peer(victim_main, (void *)k);
		take(SEM_READY);
		reap(peer(member_main, (void *)k));
		ask(ASK_QUIT);
		reap(pid);
	}
}

static void test_member(void) { test_members(&members[0]); }
static void test_member_nic(void) { test_members(&members[1]); }

static void row_heir_wait(int unused)
{
	(void)unused;
	note(wait_for_queue(&a.v->cq[0]));
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
	{ "map its queues", row_map, 0, GNI_RC_SUCCESS },
	{ "its queues for source events", row_source, 0, GNI_RC_SUCCESS },
	{ "register with its queues", row_register, 0, GNI_RC_SUCCESS },
	{ "destroy its queues", row_destroy, 0, GNI_RC_SUCCESS },
	{ "wait for its queue", row_heir_wait, 0, GNI_RC_TIMEOUT },
	{ "deregister its handles", row_deregister, 0, GNI_RC_SUCCESS },
	{ "cancel its datagram", row_heir_cancel, 0, GNI_RC_SUCCESS },
};

static const struct kind heir = { "HEIR of its file", OTHER, 0, COOKIE, ANY, 0, true };

static void heir_main(void *arg)
{
	int pidfd = syscall(SYS_pidfd_open, victim.k->pid, 0);
	unsigned int changes;

	a.k = &heir;
	a.v = victim.k;
	a.fd = syscall(SYS_pidfd_getfd, pidfd, victim.k->fd, 0);
	must(a.fd >= 0);
	a.pe = victim.k->pe;
	drop_to(OTHER);
	a.local = map_private(LOCAL_LEN);
	a.lmh = raw_mem_open(a.fd, a.local, LOCAL_LEN, 0, 0);
	ask(ASK_REMEMBER);
	member_row = arg;
	row_begin(member_row->code);
	member_row->fn(member_row->arg);
	changes = ask(ASK_CHANGES);
	print_row(member_row->what, heir.name, changes);
	ok(a.got == a.want, "%s: %s", member_row->what, code_name(a.got));
	ok(changes, "%s: the victim has not noticed", member_row->what);
	totals->controls++;
}

static void test_heir(void)
{
	unsigned int i;
	pid_t pid;

	victim.k = map_shared(sizeof(*victim.k));
	print_head("who may");
	for (i = 0; i < ARRAY_SIZE(heir_rows); i++) {
		pid = peer(victim_main, (void *)&heir);
		take(SEM_READY);
		reap(peer(heir_main, (void *)&heir_rows[i]));
		ask(ASK_QUIT);
		reap(pid);
	}
}

/* --- children of a program with the library -------------------------------------------- */

#define WORD_CODE	2
#define MAX_RINGS	8

/* The parent: all of this is in its children's memory, too. */
static struct {
	struct nic n;
	struct region r;
	gni_ep_handle_t ep;
	gni_post_descriptor_t d;
	unsigned char *mem;
	unsigned char *was;
	char *ring[MAX_RINGS];
	char *ring_was[MAX_RINGS];
	size_t ring_len[MAX_RINGS];
	int rings;
	int fd[MAX_RINGS];
	int fds;
} p;

#define PARENT_LEN	(4 * PAGE)

static bool is_device(const char *path)
{
	return !strncmp(path, "/dev/kgni", 9);
}

/* Where the library has mapped its rings. */
static void find_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, end;
	char line[512], path[256];

	must(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &begin, &end, path) != 3 ||
		    !is_device(path) || p.rings == MAX_RINGS)
			continue;
		p.ring[p.rings] = (char *)begin;
		p.ring_len[p.rings] = end - begin;
		p.ring_was[p.rings] = map_private(end - begin);
		memcpy(p.ring_was[p.rings], p.ring[p.rings], end - begin);
		p.rings++;
	}
	fclose(maps);
	must(p.rings == 2);
}

/* Calls @found with the number of each device file that this process has. */
static int device_files(int *numbers, int max)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[PATH_MAX], target[PATH_MAX];
	struct dirent *entry;
	int n = 0;
	ssize_t len;

	must(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = 0;
		if (is_device(target) && n < max)
			numbers[n++] = atoi(entry->d_name);
	}
	closedir(dir);
	return n;
}

static void parent_begin(void)
{
	gni_smsg_attr_t attr;

	drop_to(USER);
	nic_open(&p.n, 0, VICTIM_ID);
	p.mem = map_private(PARENT_LEN);
	p.was = map_private(PARENT_LEN);
	fill(p.mem, PARENT_LEN, SEED);
	memset(p.mem, 0, PAGE);
	memcpy(p.was, p.mem, PARENT_LEN);
	region_open(&p.n, p.mem, PARENT_LEN, p.n.rx, 0, &p.r);
	p.ep = ep_open(&p.n, p.n.pe, VICTIM_ID);
	attr = mailbox((uint64_t)p.mem, (struct kgni_mem_handle){ p.r.mh.qword1, p.r.mh.qword2 });
	must_do(GNI_SmsgInit(p.ep, &attr, &attr));
	desc_init(&p.d, GNI_POST_CQWRITE, GNI_CQMODE_GLOBAL_EVENT);
	p.d.remote_mem_hndl = p.r.mh;
	must_do(post(p.ep, &p.d));
	find_rings();
	p.fds = device_files(p.fd, MAX_RINGS);
	must(p.fds > 0);
}

static unsigned int parent_changes(void)
{
	unsigned int changes = memcmp(p.mem, p.was, PARENT_LEN) ? CHANGED_MEMORY : 0;
	int i;

	for (i = 0; i < p.rings; i++)
		if (memcmp(p.ring[i], p.ring_was[i], p.ring_len[i]))
			changes |= CHANGED_RINGS;
	return changes;
}

static void row_child_post(int type)
{
	desc_init(&p.d, type, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&p.d, p.mem, &p.r.mh, &p.r, PAGE, 8);
	note(post(p.ep, &p.d));
}

static void row_child_smsg(int unused)
{
	void *header;

	(void)unused;
	note(GNI_SmsgSend(p.ep, "spam", 5, NULL, 0, 1));
	note(GNI_SmsgGetNext(p.ep, &header));
	note(GNI_SmsgRelease(p.ep));
}

static void row_child_events(int unused)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e = 0;
	uint32_t which;

	(void)unused;
	note(GNI_CqGetEvent(p.n.rx, &e));
	note(GNI_CqTestEvent(p.n.rx));
	note(GNI_CqWaitEvent(p.n.rx, 0, &e));
	note(GNI_CqVectorMonitor(&p.n.rx, 1, 0, &which));
	note(GNI_GetCompleted(p.n.tx, e, &d));
}

static void row_child_memory(int unused)
{
	gni_mem_handle_t mh = p.r.mh;

	(void)unused;
	note(GNI_MemDeregister(p.n.h, &mh));
	note(GNI_MemRegister(p.n.h, (uint64_t)p.mem, PAGE, NULL, 0, -1, &mh));
}

static void row_child_dgram(int unused)
{
	char data[8] = "";

	(void)unused;
	note(GNI_EpPostData(p.ep, data, 8, data, 8));
	note(GNI_EpPostDataCancel(p.ep));
}

static void row_child_end(int unused)
{
	(void)unused;
	note(GNI_EpUnbind(p.ep));
	note(GNI_EpDestroy(p.ep));
	note(GNI_CqDestroy(p.n.tx));
	note(GNI_CqDestroy(p.n.rx));
	note(GNI_CdmDestroy(p.n.cdm));
}

static void row_child_make(int unused)
{
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	uint32_t pe;

	(void)unused;
	note(GNI_CdmAttach(p.n.cdm, 1, &pe, &nic));
	note(GNI_CqCreate(p.n.h, 4, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
	note(GNI_EpCreate(p.n.h, NULL, &ep));
}

static void row_child_files(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < p.fds; i++)
		note(fcntl(p.fd[i], F_GETFD) < 0 ? -errno : GNI_RC_SUCCESS);
}

static void row_child_rings(int unused)
{
	unsigned char there[512];
	int i;

	(void)unused;
	for (i = 0; i < p.rings; i++)
		note(mincore(p.ring[i], p.ring_len[i], there) ? -errno : GNI_RC_SUCCESS);
}

/* The child has a copy. */
static void row_child_write(int unused)
{
	(void)unused;
	memset(p.mem, 0x66, PARENT_LEN);
	note(GNI_RC_SUCCESS);
}

/* A child that is made without fork() and runs another program. */
static void row_child_exec(int unused)
{
	char *argv[] = { "isolate", "fds", NULL };
	int status = 0;
	pid_t pid;

	(void)unused;
	must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	note(WEXITSTATUS(status) ? GNI_RC_SUCCESS : -EBADF);
}

static const struct row child_rows[] = {
	{ "GNI_PostFma()", row_child_post, GNI_POST_FMA_PUT, PARAM },
	{ "GNI_PostFma(), get", row_child_post, GNI_POST_FMA_GET, PARAM },
	{ "GNI_PostRdma()", row_child_post, GNI_POST_RDMA_PUT, PARAM },
	{ "GNI_PostCqWrite()", row_child_post, GNI_POST_CQWRITE, PARAM },
	{ "GNI_Smsg...()", row_child_smsg, 0, PARAM },
	{ "GNI_Cq...Event(), GNI_GetCompleted()", row_child_events, 0, PARAM },
	{ "GNI_MemDeregister(), GNI_MemRegister()", row_child_memory, 0, PARAM },
	{ "GNI_EpPostData...()", row_child_dgram, 0, PARAM },
	{ "GNI_CdmAttach(), GNI_..Create()", row_child_make, 0, PARAM },
	{ "GNI_...Destroy()", row_child_end, 0, PARAM },
	{ "use its files", row_child_files, 0, -EBADF },
	{ "touch its rings", row_child_rings, 0, -ENOMEM },
	{ "write to its memory: a copy", row_child_write, 0, GNI_RC_SUCCESS },
	{ "its files after exec", row_child_exec, 0, -EBADF },
};

static void child_main(void *arg)
{
	const struct row *row = arg;

	row->fn(row->arg);
	shm->word[WORD_CODE] = (uint64_t)(int64_t)a.got;
	shm->word[WORD_CODE + 1] = a.attempts;
	shm->word[WORD_CODE + 2] = a.refused;
}

static void child_row(const struct row *row)
{
	static const char who[] = "child, by the library";
	unsigned int changes;

	row_begin(row->code);
	if (row->fn == row_child_exec) {
		child_main((void *)row);
	} else {
		reap(peer(child_main, (void *)row));
		a.got = (int)(int64_t)shm->word[WORD_CODE];
		a.attempts = shm->word[WORD_CODE + 1];
		a.refused = shm->word[WORD_CODE + 2];
	}
	changes = parent_changes();
	print_row(row->what, who, changes);
	ok(a.got == a.want, "%s: %s, not %s", row->what, code_name(a.got), code_name(a.want));
	ok(!changes, "%s: %s", row->what, changes_name(changes));
	totals->rows++;
	totals->attempts += a.attempts;
	totals->refused += a.refused;
	if (a.want == GNI_RC_SUCCESS)
		totals->harmless += a.attempts;
}

/* What the children tried in vain works here. */
static void parent_end(void)
{
	gni_cq_entry_t e;

	is_rc(next_event(p.n.rx, &e), GNI_RC_SUCCESS);
	is_rc(complete(p.n.tx, &p.d, NULL), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(p.ep, "self", 5, NULL, 0, 1), GNI_RC_SUCCESS);
	is_rc(next_event(p.n.tx, &e), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(p.n.h, &p.r.mh), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(p.ep), GNI_RC_SUCCESS);
	nic_close(&p.n);
}

static void test_library_child(void)
{
	unsigned int i;

	parent_begin();
	print_head("attacker");
	for (i = 0; i < ARRAY_SIZE(child_rows); i++)
		child_row(&child_rows[i]);
	parent_end();
}

/* --- all together ----------------------------------------------------------------------- */

/* No row that applies was left out, none was cut short. */
static void test_totals(void)
{
	unsigned int want = ARRAY_SIZE(child_rows), controls = ARRAY_SIZE(heir_rows);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < ARRAY_SIZE(kinds); j++)
			want += applies(&rows[i], &kinds[j]);
		for (j = 0; j < ARRAY_SIZE(members); j++)
			controls += harms(&rows[i], &members[j]);
	}
	is_u64(totals->rows, want);
	is_u64(totals->controls, controls);
	is_u64(totals->refused + totals->harmless, totals->attempts);
	diag("%u rows, %u attempts: %u refused, %u harmless; %u rows by those who may",
	     totals->rows, totals->attempts, totals->refused, totals->harmless,
	     totals->controls);
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
	CASE("a child of the victim by the library can not", test_library_child, SLOW),
	CASE("nothing was left out", test_totals),
};

int main(int argc, char **argv)
{
	int numbers[64];

	if (argc > 1 && !strcmp(argv[1], "fds"))
		return device_files(numbers, ARRAY_SIZE(numbers));
	totals = map_shared(sizeof(*totals));
	return RUN_TESTS(tests);
}
