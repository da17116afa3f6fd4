// SPDX-License-Identifier: GPL-2.0-only
/*
 * A victim: see common_victim.h. It speaks to the driver without the library, so
 * that it knows where its rings are.
 */
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <core/ring.h>

#include "common_matrix.h"
#include "common_victim.h"

#define NOBODY_ID	9
#define SEED		4711

struct knowledge *known;

const struct victim_region layout[REGIONS] = {
	[MAIN] = { .page = 1, .pages = 4, .flags = 0, .queue = 5 },
	[READ_ONLY] = { .page = 6, .pages = 2, .flags = GNI_MEM_READ_ONLY, .queue = 6 },
	[MAILBOX] = { .page = 9, .pages = 2, .flags = 0, .queue = 7 },
	[QUIET] = { .page = 12, .pages = 3, .flags = 0, .queue = -1 },
	[SHARED_MDD] = { .page = 16, .pages = 2, .flags = GNI_MEM_MDD_SHARED, .queue = 6 },
	[VIRTUAL] = { .page = 19, .pages = 2, .flags = GNI_MEM_USE_VMDH, .queue = 6 },
	[SEGMENTS] = { .page = 22, .pages = 2, .queue = 6, .segments = 2 },
	[RESERVED] = { .page = 25, .pages = 3, .flags = GNI_MEM_RESERVE_REGION, .queue = 6 },
	[CLONE] = { .page = 2, .pages = 2, .flags = GNI_MEM_MDD_CLONE, .queue = 6 },
};

void drop_to(uid_t uid)
{
	must(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid));
}

int call(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

int attach(int fd, uint32_t id, uint32_t ptag, uint32_t cookie, uint32_t *tag, uint32_t *pe)
{
	struct kgni_ioc_attach arg = { .inst_id = id, .ptag = ptag, .cookie = cookie };
	int rc = call(fd, KGNI_IOC_ATTACH, &arg);

	if (tag)
		*tag = arg.ptag;
	if (pe)
		*pe = arg.pe;
	return rc;
}

#define SEM_READY	0
#define SEM_ASK		1
#define SEM_ANSWER	2

enum { ASK_QUIT, ASK_REMEMBER, ASK_CHANGES };

#define WORD_ASK	0
#define WORD_CHANGES	1

static const int counted[] = {
	GNI_JOB_RES_MDD, GNI_JOB_RES_CQ, GNI_JOB_RES_FMA, GNI_JOB_RES_CE,
};

static struct {
	unsigned int attacker;	/* its device */
	struct knowledge *k;	/* shared */
	pid_t pid;
	unsigned char *mem;
	unsigned char *was[VICTIM_QUEUES];
	uint64_t used[ARRAY_SIZE(counted)];
} victim;

void expected_memory(unsigned char *mem)
{
	fill(mem, VICTIM_LEN, SEED);
	memset(mem + layout[MAILBOX].page * PAGE, 0, layout[MAILBOX].pages * PAGE);
}

uint64_t address(enum region_name r)
{
	return (uint64_t)VICTIM_AT + layout[r].page * PAGE;
}

uint64_t target_address(enum region_name r)
{
	return layout[r].segments ? 0 : address(r);
}

struct kgni_ioc_dgram_post bound_dgram(uint32_t ep, uint32_t pe, uint32_t id)
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
	int fd = raw_open(victim.attacker);

	must(!call(fd, KGNI_IOC_INFO, &info));
	close(fd);
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
	post = bound_dgram(EP_BOUND, info.pe, ATTACKER_ID);
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
	post = bound_dgram(EP_NAMED, info.pe, NOBODY_ID);
	post.flags |= KGNI_DGRAM_WITH_ID;
	post.id = DGRAM_NAME;
	must(!call(victim.k->fd, KGNI_IOC_DGRAM_POST, &post));
}

int dgram_state(int fd, uint32_t ep, uint32_t flags, uint64_t id)
{
	struct kgni_ioc_dgram_test arg = { .ep = ep, .flags = flags, .id = id };
	int rc = call(fd, KGNI_IOC_DGRAM_TEST, &arg);

	return rc ? rc : DGRAM(arg.state);
}

/* A channel with two leaves: the attacker it expects, and the victim, which has posted. */
static void victim_channel(void)
{
	struct kgni_ce_edge edge[2] = {
		{ .id = ATTACKER_ID, .child = 0, .type = GNI_CE_CHILD_PE },
		{ .id = VICTIM_ID, .child = 1, .type = GNI_CE_CHILD_PE, .pe = victim.k->pe },
	};
	struct kgni_ioc_ce_create create = { 0 };
	struct kgni_ioc_ce_configure configure = { .children = (uint64_t)edge, .count = 2 };
	struct kgni_ioc_ce_post post = {
		.cmd = GNI_FMA_CE_IADD, .remote_pe = victim.k->pe, .child = 1,
		.result = address(QUIET) + PAGE, .local = victim.k->mh[QUIET],
		.red_id = VICTIM_REDUCTION,
	};
	struct kgni_ioc_info info;
	int fd = raw_open(victim.attacker);

	must(!call(fd, KGNI_IOC_INFO, &info));
	close(fd);
	edge[0].pe = info.pe;
	must(!call(victim.k->fd, KGNI_IOC_CE_CREATE, &create) && !create.id);
	must(!call(victim.k->fd, KGNI_IOC_CE_CONFIGURE, &configure));
	must(!call(victim.k->fd, KGNI_IOC_CE_POST, &post));
}

static bool dgrams_pend(void)
{
	const int pending = DGRAM(GNI_POST_PENDING);
	int fd = victim.k->fd;

	return dgram_state(fd, EP_WILD, 0, 0) == pending &&
	       dgram_state(fd, EP_BOUND, 0, 0) == pending &&
	       dgram_state(fd, EP_NAMED, KGNI_DGRAM_WITH_ID, DGRAM_NAME) == pending;
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

/* Pages of a reserved region, but for the last. */
static void fill_region(struct kgni_ioc_mem_register *arg)
{
	arg->flags = GNI_MEM_UPDATE_REGION;
	arg->length -= PAGE;
	arg->cq = 0;
	must(!call(victim.k->fd, KGNI_IOC_MEM_REGISTER, arg));
}

static struct kgni_mem_handle open_region(enum region_name r)
{
	const struct victim_region *l = &layout[r];
	struct kgni_segment seg[2] = {
		{ address(r), PAGE }, { address(r) + PAGE, PAGE },
	};
	struct kgni_ioc_mem_register arg = {
		.addr = l->segments ? (uint64_t)seg : address(r), .length = l->pages * PAGE,
		.flags = l->flags, .cq = l->queue < 0 ? 0 : victim.k->cq[l->queue].id,
		.vmdh_index = VICTIM_INDEX, .segments = l->segments,
		.handle = victim.k->mh[MAIN],
	};

	must(!call(victim.k->fd, KGNI_IOC_MEM_REGISTER, &arg), "region %d", r);
	if (l->flags & GNI_MEM_RESERVE_REGION)
		fill_region(&arg);
	return arg.handle;
}

static void victim_objects(void)
{
	struct kgni_ioc_mdd_block block = { .entries = VICTIM_INDICES };
	struct knowledge *k = victim.k;
	int i;

	k->pid = getpid();
	k->fd = raw_open(0);
	must(!attach(k->fd, VICTIM_ID, ANY, COOKIE, &k->ptag, &k->pe));
	for (i = 0; i < VICTIM_QUEUES; i++) {
		raw_cq_open(k->fd, 64, GNI_CQ_BLOCKING, &k->cq[i]);
		victim.was[i] = map_private(k->cq[i].len);
	}
	must(!call(k->fd, KGNI_IOC_MDD_BLOCK, &block));
	for (i = 0; i < REGIONS; i++)
		k->mh[i] = open_region(i);
	for (i = 0; i < 5; i++)
		own_event(i & 1 ? MAIN : READ_ONLY, i);
	victim_dgrams();
	victim_channel();
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

static unsigned int changes_now(void)
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
		.type = GNI_POST_RDMA_PUT, .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.src_cq = k->cq[0].id, .src_event = 1, .remote_pe = k->pe, .length = PAGE,
		.local_addr = address(READ_ONLY), .local = k->mh[READ_ONLY],
		.remote_addr = address(QUIET), .remote = k->mh[QUIET],
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

/* Answers until it is told to end. */
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
			shm->word[WORD_CHANGES] = changes_now();
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

static void victim_main(void *unused)
{
	(void)unused;
	victim_begin();
	give(SEM_READY);
	victim_serve();
}

static unsigned int ask(int what)
{
	shm->word[WORD_ASK] = what;
	give(SEM_ASK);
	take(SEM_ANSWER);
	return shm->word[WORD_CHANGES];
}

void victim_start(unsigned int device)
{
	victim.attacker = device;
	victim.k = map_shared(sizeof(*victim.k));
	known = victim.k;
	victim.pid = peer(victim_main, NULL);
	take(SEM_READY);
}

void victim_remember(void)
{
	ask(ASK_REMEMBER);
}

unsigned int victim_changes(void)
{
	return ask(ASK_CHANGES);
}

void victim_end(void)
{
	shm->word[WORD_ASK] = ASK_QUIT;
	give(SEM_ASK);
	reap(victim.pid);
}
