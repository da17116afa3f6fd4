// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: that posts need no system call, that nothing gets through one whose
 * region was deregistered, and what a program may do with the mappings.
 * window ROUNDS: more of the races.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <gni/ring.h>
#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define BYTES	(16 * PAGE)
#define HUGE	(512UL * PAGE)

static unsigned long rounds = 1000;

/* --- no system call ------------------------------------------------------------------ */

static volatile char calls = SYSCALL_DISPATCH_FILTER_ALLOW;

/* From here on a system call is SIGSYS, while @calls says so. */
static void watch_calls(void)
{
	must(!prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &calls));
}

static void quietly(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *d)
{
	gni_post_descriptor_t *done = NULL;
	gni_return_t posted, got = GNI_RC_SUCCESS;
	gni_cq_entry_t event;

	calls = SYSCALL_DISPATCH_FILTER_BLOCK;
	posted = post(ep, d);
	if (posted == GNI_RC_SUCCESS)
		got = GNI_CqGetEvent(cq, &event);
	if (posted == GNI_RC_SUCCESS && got == GNI_RC_SUCCESS)
		got = GNI_GetCompleted(cq, event, &done);
	calls = SYSCALL_DISPATCH_FILTER_ALLOW;
	is_rc(posted, GNI_RC_SUCCESS);
	is_rc(got, GNI_RC_SUCCESS);
	ok(done == d);
}

static const gni_post_type_t kinds[] = {
	GNI_POST_FMA_PUT, GNI_POST_FMA_PUT_W_SYNCFLAG, GNI_POST_FMA_GET, GNI_POST_FMA_GET_W_FLAG,
	GNI_POST_AMO, GNI_POST_AMO_W_FLAG, GNI_POST_CQWRITE,
};

static void compose(gni_post_descriptor_t *d, gni_post_type_t type, const struct target *t,
		    void *local, const gni_mem_handle_t *lmh)
{
	desc_init(d, type, GLOBAL | REMOTE);
	desc_move(d, local, lmh, &t->r, 64, 8);
	d->amo_cmd = GNI_FMA_ATOMIC_FADD;
	d->first_operand = 1;
	d->sync_flag_addr = t->r.addr + 128;
	d->sync_flag_value = type;
	d->cqwrite_value = type;
	d->remote_mem_hndl = t->r.mh;
}

static void test_no_call(enum layout layout)
{
	uint64_t *local = map_private(PAGE);
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	struct target t;
	unsigned int i, n;

	target_open(&t, layout, BYTES, 0, 0);
	mem_open(&t.n, local, PAGE, NULL, GNI_MEM_READWRITE, &lmh);
	/* The first posts to a region open the window. */
	for (n = 0; n < 3; n++)
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			compose(&d, kinds[i], &t, local, &lmh);
			is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_SUCCESS, "kind %u", kinds[i]);
		}
	watch_calls();
	for (n = 0; n < 100; n++)
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			compose(&d, kinds[i], &t, local, &lmh);
			*local = n;
			quietly(t.ep, t.n.tx, &d);
			if (kinds[i] == GNI_POST_FMA_PUT)
				is_u64(*(uint64_t *)(t.mem + 64), n);
			if (kinds[i] == GNI_POST_FMA_GET_W_FLAG)
				is_u64((uint32_t)local[1], kinds[i]);
			if (kinds[i] == GNI_POST_AMO)
				is_u64(*local, *(uint64_t *)(t.mem + 64) - 1);
		}
	is_u64(*(uint64_t *)(t.mem + 128), GNI_POST_FMA_PUT_W_SYNCFLAG);
	target_close(&t);
}

ALL_LAYOUTS(test_no_call)

/* Messages, back and forth: with credits they need none either. */
static void test_no_call_smsg(void)
{
	gni_smsg_attr_t a = { .msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 8,
			      .msg_maxsize = 48 };
	gni_ep_handle_t ep[2];
	struct nic n[2];
	gni_smsg_attr_t attr[2];
	gni_cq_entry_t event;
	uint32_t size, i, k;
	uint64_t word;
	void *msg;

	must_do(GNI_SmsgBufferSizeNeeded(&a, &size));
	for (i = 0; i < 2; i++) {
		nic_open(&n[i], 0, i + 1);
		attr[i] = a;
		attr[i].msg_buffer = map_private(PAGE);
		attr[i].buff_size = size;
		mem_open(&n[i], attr[i].msg_buffer, PAGE, n[i].rx, GNI_MEM_READWRITE,
			 &attr[i].mem_hndl);
	}
	for (i = 0; i < 2; i++) {
		ep[i] = ep_open(&n[i], n[!i].pe, 2 - i);
		must_do(GNI_SmsgInit(ep[i], &attr[i], &attr[!i]));
	}
	watch_calls();
	for (k = 0; k < 2000; k++) {
		i = k & 1;
		word = k;
		calls = k < 40 ? SYSCALL_DISPATCH_FILTER_ALLOW : SYSCALL_DISPATCH_FILTER_BLOCK;
		if (GNI_SmsgSend(ep[i], &word, sizeof(word), NULL, 0, k) ||
		    GNI_CqGetEvent(n[i].tx, &event) || GNI_CqGetEvent(n[!i].rx, &event) ||
		    GNI_SmsgGetNext(ep[!i], &msg) || *(uint64_t *)msg != k ||
		    GNI_SmsgRelease(ep[!i]))
			break;
		/* What tells of credits. */
		while (GNI_CqGetEvent(n[i].rx, &event) == GNI_RC_SUCCESS)
			;
	}
	calls = SYSCALL_DISPATCH_FILTER_ALLOW;
	is_u64(k, 2000);
}

/* --- races with the end of a region ---------------------------------------------------- */

enum word {
	PHASE = 1,	/* 2 * round: registered; and 1: deregistered */
	QWORD1,
	QWORD2,
	POSTS,
	ACK,
	ADDED,
	MAYBE,
	TARGET_PE,
	WRONG,
	STOP,
};

static _Atomic uint64_t *at(enum word w)
{
	return &shm->word[w];
}

static void await(enum word w, uint64_t value)
{
	while (atomic_load(at(w)) != value && !atomic_load(at(STOP)))
		sched_yield();
}

/* Shared by processes; the script has the kernel keep pages for it. */
static void *map_huge(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	must(p != MAP_FAILED);
	return p;
}

/* The race, as both sides know it; posts go to the first BYTES of the region. */
static struct {
	uint64_t *mem;
	uint64_t len;
	unsigned int device;
} race;

#define SENTINEL	0x5a5a5a5a5a5a5a5aULL
#define LATE_POSTS	6

/* One post of a round; @wait: the deregistration was over before it. */
static void one_post(struct nic *n, gni_ep_handle_t ep, struct region *r, uint64_t phase,
		     uint64_t i)
{
	uint64_t before, value = phase << 24 | i, word = 8 + i % (BYTES / 8 - 8);
	bool amo = !(i & 3);
	gni_post_descriptor_t d;
	gni_return_t rc;

	if (amo) {
		desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, r, 0, 8, 1, 0);
	} else {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, &value, NULL, r, word * 8, 8);
	}
	before = atomic_load(at(PHASE));
	rc = post_wait(ep, n->tx, &d);
	if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR)
		atomic_fetch_add(at(WRONG), 1);
	if (amo)
		atomic_fetch_add(at(rc == GNI_RC_SUCCESS ? ADDED : MAYBE), 1);
	else if (rc == GNI_RC_SUCCESS && race.mem[word] != value &&
		 atomic_load(at(PHASE)) == phase)
		atomic_fetch_add(at(WRONG), 1ULL << 16);	/* it is not there */
	if (before != phase && rc == GNI_RC_SUCCESS)
		atomic_fetch_add(at(WRONG), 1ULL << 32);
}

static void initiator(void *arg)
{
	uint64_t phase, late, i, round;
	struct region r = { .addr = (uint64_t)race.mem, .len = race.len };
	gni_ep_handle_t ep;
	struct nic n;

	(void)arg;
	nic_open(&n, race.device, INITIATOR_ID);
	ep = ep_open(&n, (uint32_t)atomic_load(at(TARGET_PE)), TARGET_ID);
	for (round = 1; round <= rounds && !atomic_load(at(STOP)); round++) {
		phase = 2 * round;
		await(PHASE, phase);
		r.mh.qword1 = atomic_load(at(QWORD1));
		r.mh.qword2 = atomic_load(at(QWORD2));
		for (i = 0, late = 0; late < LATE_POSTS; i++) {
			late += atomic_load(at(PHASE)) != phase;
			one_post(&n, ep, &r, phase, i);
			atomic_fetch_add(at(POSTS), 1);
		}
		atomic_store(at(ACK), round);
	}
}

static void *initiator_thread(void *arg)
{
	initiator(arg);
	return NULL;
}

/* No byte changes any more, whoever posts. */
static bool untouched(void)
{
	unsigned int i;

	for (i = 0; i < BYTES / 8; i++)
		if (__atomic_load_n(&race.mem[i], __ATOMIC_RELAXED) != SENTINEL)
			return false;
	return true;
}

static bool one_round(struct nic *n, uint64_t round, uint32_t *seed)
{
	uint64_t posts, count;
	gni_mem_handle_t mh;
	unsigned int i;
	bool good;

	memset(race.mem, 0, BYTES);
	atomic_store(at(ADDED), 0);
	atomic_store(at(MAYBE), 0);
	mem_open(n, race.mem, race.len, NULL, GNI_MEM_READWRITE, &mh);
	atomic_store(at(QWORD1), mh.qword1);
	atomic_store(at(QWORD2), mh.qword2);
	posts = atomic_load(at(POSTS)) + 1 + rnd(seed) % 40;
	atomic_store(at(PHASE), 2 * round);
	while (atomic_load(at(POSTS)) < posts)
		sched_yield();
	must_do(GNI_MemDeregister(n->h, &mh));
	atomic_store(at(PHASE), 2 * round + 1);
	count = race.mem[0];
	for (i = 0; i < BYTES / 8; i++)
		race.mem[i] = SENTINEL;
	good = untouched();
	await(ACK, round);
	good &= untouched();
	return ok(good, "round %lu: memory changed", round) &
	       ok(atomic_load(at(ADDED)) <= count, "round %lu: counted %lu of %lu", round, count,
		  atomic_load(at(ADDED))) &
	       ok(count <= atomic_load(at(ADDED)) + atomic_load(at(MAYBE)), "round %lu", round) &
	       is_u64(atomic_load(at(WRONG)), 0, "round %lu", round);
}

static void race_begin(unsigned int device, struct nic *n)
{
	if (!race.mem) {
		race.len = BYTES;
		race.mem = map_shared(BYTES);
	}
	race.device = device;
	rounds /= time_scale();
	nic_open(n, 0, TARGET_ID);
	atomic_store(at(TARGET_PE), n->pe);
}

static void race_rounds(struct nic *n)
{
	uint32_t seed = 4711;
	uint64_t round;

	for (round = 1; round <= rounds; round++)
		if (!one_round(n, round, &seed))
			break;
	atomic_store(at(STOP), 1);
}

static void race_processes(unsigned int device)
{
	struct nic n;
	pid_t pid;

	race_begin(device, &n);
	pid = peer(initiator, NULL);
	race_rounds(&n);
	reap(pid);
	diag("%lu posts, %lu rounds", atomic_load(at(POSTS)), rounds);
}

static void test_race_peer(void)
{
	race_processes(0);
}

static void test_race_nics(void)
{
	race_processes(1);
}

/* The same where all of the window is one huge page. */
static void test_race_huge(void)
{
	race.len = HUGE;
	race.mem = map_huge(HUGE);
	race_processes(0);
}

static void test_race_threads(void)
{
	pthread_t thread;
	struct nic n;

	/* Every round has CPUs that share the address space wait for each other. */
	rounds /= 10;
	race_begin(0, &n);
	must(!pthread_create(&thread, NULL, initiator_thread, NULL));
	race_rounds(&n);
	must(!pthread_join(thread, NULL));
}

/* Gets into a region that another thread takes back. */
struct getter {
	struct target t;
	uint64_t *local;
	gni_mem_handle_t lmh;
};

static void *get_on(void *arg)
{
	struct getter *g = arg;
	gni_post_descriptor_t d;
	gni_return_t rc;

	while (!atomic_load(at(STOP))) {
		desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
		d.local_mem_hndl.qword1 = atomic_load(at(QWORD1));
		d.local_mem_hndl.qword2 = atomic_load(at(QWORD2));
		desc_move(&d, g->local, &d.local_mem_hndl, &g->t.r, 0, PAGE);
		rc = post(g->t.ep, &d);
		if (rc == GNI_RC_SUCCESS)
			rc = complete(g->t.n.tx, &d, NULL);
		atomic_fetch_add(at(POSTS), 1);
		if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR &&
		    rc != GNI_RC_INVALID_PARAM)
			atomic_fetch_add(at(WRONG), 1);
	}
	return NULL;
}

static void test_race_local(void)
{
	unsigned long round, n = rounds / 20 / time_scale();
	struct getter g;
	pthread_t thread;
	uint64_t posts;

	target_open(&g.t, SELF, PAGE, 0, 0);
	g.local = map_private(PAGE);
	memset(g.t.mem, 0x77, PAGE);
	must(!pthread_create(&thread, NULL, get_on, &g));
	for (round = 0; round < n; round++) {
		mem_open(&g.t.n, g.local, PAGE, NULL, GNI_MEM_READWRITE, &g.lmh);
		atomic_store(at(QWORD2), g.lmh.qword2);
		atomic_store(at(QWORD1), g.lmh.qword1);
		posts = atomic_load(at(POSTS)) + 1 + round % 8;
		while (atomic_load(at(POSTS)) < posts)
			sched_yield();
		must_do(GNI_MemDeregister(g.t.n.h, &g.lmh));
		memset(g.local, 0x11, PAGE);
		posts = atomic_load(at(POSTS)) + 3;
		while (atomic_load(at(POSTS)) < posts)
			sched_yield();
		if (!ok(all_bytes(g.local, PAGE, 0x11), "round %lu", round))
			break;
	}
	atomic_store(at(STOP), 1);
	must(!pthread_join(thread, NULL));
	is_u64(atomic_load(at(WRONG)), 0);
}

/* --- the target dies -------------------------------------------------------------------- */

static void victim(void *arg)
{
	struct nic n;
	gni_mem_handle_t mh;

	(void)arg;
	nic_open(&n, 0, TARGET_ID);
	mem_open(&n, race.mem, BYTES, n.rx, GNI_MEM_READWRITE, &mh);
	atomic_store(at(QWORD1), mh.qword1);
	atomic_store(at(QWORD2), mh.qword2);
	atomic_store(at(TARGET_PE), n.pe);
	give(0);
	take(1);
}

static void test_killed(void)
{
	struct region r = { .len = BYTES };
	uint64_t value = 1, posts;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	gni_return_t rc;
	unsigned int i;
	struct nic n;
	pid_t pid;

	race.mem = map_shared(BYTES);
	r.addr = (uint64_t)race.mem;
	nic_open(&n, 0, INITIATOR_ID);
	for (i = 0; i < 200 / time_scale(); i++) {
		pid = peer(victim, NULL);
		take(0);
		r.mh.qword1 = atomic_load(at(QWORD1));
		r.mh.qword2 = atomic_load(at(QWORD2));
		ep = ep_open(&n, (uint32_t)atomic_load(at(TARGET_PE)), TARGET_ID);
		for (posts = 0; ; posts++) {
			if (posts == 50)
				must(!kill(pid, SIGKILL));
			desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | (posts & 1 ? REMOTE : 0));
			desc_move(&d, &value, NULL, &r, posts % 512 * 8, 8);
			rc = post_wait(ep, n.tx, &d);
			if (rc == GNI_RC_SUCCESS)
				continue;
			/* The queue of one that is stopped fills up first. */
			if (rc != GNI_RC_TRANSACTION_ERROR || waitpid(pid, NULL, WNOHANG) == pid)
				break;
		}
		is_rc(rc, GNI_RC_TRANSACTION_ERROR, "turn %u", i);
		must_do(GNI_EpDestroy(ep));
	}
}

/* --- bounds ------------------------------------------------------------------------------ */

#define MANY	24

/* More regions than there may be windows, in a small and in a large order. */
static void test_lru(void)
{
	struct region r[MANY];
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	uint32_t seed = 1, i, k;
	uint64_t value;
	struct nic n;

	setenv("UGNI_WINDOWS", "5", 1);
	nic_open(&n, 0, 1);
	ep = ep_open(&n, n.pe, 1);
	for (i = 0; i < MANY; i++)
		region_open(&n, map_private(PAGE), PAGE, n.rx, GNI_MEM_READWRITE, &r[i]);
	for (k = 0; k < 20000 / time_scale(); k++) {
		i = k & 256 ? rnd(&seed) % MANY : rnd(&seed) % 4;
		value = k;
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
		desc_move(&d, &value, NULL, &r[i], 8 * (k & 15), 8);
		if (!is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS) ||
		    !is_rc(next_event(n.rx, &(gni_cq_entry_t){ 0 }), GNI_RC_SUCCESS) ||
		    !is_u64(((uint64_t *)r[i].addr)[k & 15], k))
			break;
	}
}

/* Parts of a region, each in a window of its own, and what lies in two of them. */
static void test_small(void)
{
	struct region r;
	gni_post_descriptor_t d;
	unsigned char *mem = map_private(64 * PAGE), *src = map_private(64 * PAGE);
	gni_ep_handle_t ep;
	uint32_t seed = 3, k, at_, len;
	struct nic n;

	nic_open_modes(&n, 0, 1, GNI_CDM_MODE_FMA_SMALL_WINDOW);
	ep = ep_open(&n, n.pe, 1);
	region_open(&n, mem, 64 * PAGE, NULL, GNI_MEM_READWRITE, &r);
	for (k = 0; k < 4000 / time_scale(); k++) {
		at_ = rnd(&seed) % (60 * PAGE);
		len = 1 + rnd(&seed) % (k & 1 ? 64 : 4 * PAGE);
		fill(src, len, k);
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, src, NULL, &r, at_, len);
		if (!is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS) ||
		    !ok(filled(mem + at_, len, k), "turn %u: %u bytes at %u", k, len, at_))
			break;
	}
}

/* --- the mappings, by hand ------------------------------------------------------------------ */

struct by_hand {
	int fd;
	int owner;
	uint32_t pe;
	unsigned char *mem;
	struct raw_cq cq;
	struct kgni_mem_handle mh;
	struct kgni_ioc_window_open w;
};

static int hand_attach(uint32_t modes, uint32_t *pe)
{
	struct kgni_ioc_attach arg = {
		.ptag = GNI_FIND_ALLOC_PTAG, .cookie = COOKIE, .modes = modes,
	};
	int fd = raw_open(0);

	must(ioctl(fd, KGNI_IOC_ATTACH, &arg) == GNI_RC_SUCCESS);
	*pe = arg.pe;
	return fd;
}

static long hand_open(struct by_hand *h)
{
	h->w = (struct kgni_ioc_window_open){
		.remote_pe = h->pe, .remote = h->mh, .addr = (uint64_t)h->mem,
	};
	return ioctl(h->fd, KGNI_IOC_WINDOW_OPEN, &h->w);
}

/* A window of memory that is there. */
static void hand_begin_at(struct by_hand *h, void *mem, size_t len, uint32_t modes,
			  uint32_t flags)
{
	h->fd = hand_attach(modes, &h->pe);
	h->owner = hand_attach(0, &h->pe);
	h->mem = mem;
	raw_cq_open(h->owner, 16, GNI_CQ_BLOCKING, &h->cq);
	h->mh = raw_mem_open(h->owner, mem, len, flags, h->cq.id);
	must(hand_open(h) == GNI_RC_SUCCESS);
}

static void hand_begin(struct by_hand *h, uint32_t modes, uint32_t flags)
{
	hand_begin_at(h, map_shared(BYTES), BYTES, modes, flags);
}

static void *hand_map(const struct by_hand *h, int prot, int flags)
{
	return mmap(NULL, h->w.length, prot, flags, h->fd, (off_t)h->w.data_offset);
}

static const struct kgni_window_state *hand_state(const struct by_hand *h)
{
	void *p = mmap(NULL, KGNI_MMAP_STATE_SIZE, PROT_READ, MAP_SHARED, h->fd,
		       (off_t)KGNI_MMAP_STATE);

	must(p != MAP_FAILED);
	return p;
}

static void deregister(const struct by_hand *h)
{
	struct kgni_ioc_mem_deregister arg = { .handle = h->mh };

	must(ioctl(h->owner, KGNI_IOC_MEM_DEREGISTER, &arg) == GNI_RC_SUCCESS);
}

#define RW	(PROT_READ | PROT_WRITE)
#define refused(call, error)	ok((call) == MAP_FAILED && errno == (error), #error)

static void test_map(void)
{
	const struct kgni_window_state *state;
	struct by_hand h;
	unsigned char *p;

	hand_begin(&h, 0, 0);
	is_u64(h.w.addr, h.mem);
	is_u64(h.w.length, BYTES);
	is_u64(h.w.rights, KGNI_WINDOW_WRITE | KGNI_WINDOW_EVENTS);
	is_u64(h.w.slots, h.cq.slots);
	refused(hand_map(&h, RW, MAP_PRIVATE), EINVAL);
	refused(hand_map(&h, RW | PROT_EXEC, MAP_SHARED), EINVAL);
	refused(mmap(NULL, PAGE, RW, MAP_SHARED, h.fd, (off_t)h.w.data_offset), EINVAL);
	refused(mmap(NULL, PAGE, RW, MAP_SHARED, h.fd, (off_t)(h.w.data_offset + PAGE)), EINVAL);
	refused(mmap(NULL, h.w.length, RW, MAP_SHARED, h.owner, (off_t)h.w.data_offset), EINVAL);
	refused(mmap(NULL, KGNI_MMAP_STATE_SIZE, RW, MAP_SHARED, h.fd, (off_t)KGNI_MMAP_STATE),
		EACCES);
	refused(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, h.fd, (off_t)KGNI_MMAP_STATE), EINVAL);
	refused(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, h.fd, (off_t)KGNI_MMAP_STATS), EINVAL);
	refused(mmap(NULL, h.w.length, RW, MAP_SHARED, h.fd,
		     (off_t)(h.w.data_offset + (1ULL << 44))), EINVAL);
	state = hand_state(&h);
	ok(mprotect((void *)(uintptr_t)state, KGNI_MMAP_STATE_SIZE, RW) == -1 && errno == EACCES);
	is_u64(state->live[h.w.index], 1);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	h.mem[5] = 7;
	is_u64(p[5], 7);
	p[5 * PAGE] = 9;
	is_u64(h.mem[5 * PAGE], 9);
	ok(mprotect(p, h.w.length, RW | PROT_EXEC) == -1);
	ok(mremap(p, h.w.length, 2 * h.w.length, MREMAP_MAYMOVE) == MAP_FAILED);
	ok(mremap(p, h.w.length, h.w.length, MREMAP_MAYMOVE | MREMAP_FIXED, p + (1UL << 30)) ==
	   MAP_FAILED);
	ok(munmap(p, PAGE) == -1);
	deregister(&h);
	is_u64(state->live[h.w.index], 0);
	p[5] = 11;
	p[6 * PAGE] = 12;
	is_u64(h.mem[5], 7, "nothing gets through");
	is_u64(h.mem[6 * PAGE], 0);
	must(!munmap(p, h.w.length));
	is_u64(hand_open(&h), GNI_RC_INVALID_PARAM);
}

/* A window of a read-only region can't become one to write through. */
static void test_read_only(void)
{
	struct by_hand h;
	unsigned char *p;

	hand_begin(&h, 0, GNI_MEM_READ_ONLY);
	is_u64(h.w.rights & KGNI_WINDOW_WRITE, 0);
	refused(hand_map(&h, RW, MAP_SHARED), EACCES);
	p = hand_map(&h, PROT_READ, MAP_SHARED);
	must(p != MAP_FAILED);
	h.mem[1] = 3;
	is_u64(p[1], 3);
	ok(mprotect(p, h.w.length, RW) == -1 && errno == EACCES);
}

/* Nothing of the kernel's may keep a page of it. */
static void no_pin(const struct by_hand *h, unsigned char *p)
{
	struct kgni_ioc_mem_register reg = { .addr = (uint64_t)p, .length = PAGE,
					     .vmdh_index = ~0U };
	struct iovec to = { .iov_base = p, .iov_len = 8 }, from = { .iov_len = 8 };
	int pipe_fd[2], null = open("/dev/zero", O_RDWR);
	uint64_t word = 1;

	p[0] = 1;
	is_u64(ioctl(h->fd, KGNI_IOC_MEM_REGISTER, &reg), GNI_RC_INVALID_PARAM);
	from.iov_base = &word;
	ok(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == -1);
	must(!pipe(pipe_fd));
	to.iov_len = PAGE;
	ok(vmsplice(pipe_fd[1], &to, 1, 0) == -1);
	/* To be copied to and from is all right. */
	ok(read(null, p, 8) == 8 && !p[0]);
}

static void test_no_pin(void)
{
	struct by_hand h;
	unsigned char *p;

	hand_begin(&h, 0, 0);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	no_pin(&h, p);
}

/* --- huge pages ------------------------------------------------------------------------------ */

#define HUGES	4

/* Bytes of this process's page tables. */
static long page_tables(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = -1;

	must(f);
	while (kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmPTE: %ld kB", &kib);
	fclose(f);
	must(kib >= 0);
	return kib << 10;
}

/* What is written by way of the window, a word a page, is in the region. */
static void through(const struct by_hand *h, unsigned char *p, uint64_t value)
{
	uint64_t bad = 0, i;

	for (i = 0; i < h->w.length; i += PAGE)
		*(uint64_t *)(p + i + 8) = value + i;
	for (i = 0; i < h->w.length; i += PAGE)
		bad += *(uint64_t *)(h->w.addr + i + 8) != value + i;
	is_u64(bad, 0, "value %lu", value);
}

/* All that the kernel says of a process's memory. */
static void read_all(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY);

	/* Kernels without NUMA have less. */
	must(fd >= 0 || errno == ENOENT, "%s", path);
	while (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

/* What a program may do to any mapping of its own. */
static void handle_roughly(unsigned char *p, size_t len)
{
	static const int advice[] = { MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_HUGEPAGE,
				      MADV_NOHUGEPAGE, MADV_WILLNEED, MADV_POPULATE_WRITE };
	static unsigned char vec[HUGES * 512];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(advice); i++)
		madvise(p, len, advice[i]);
	ok(!mincore(p, len, vec));
	ok(!mlock(p, len) && !munlock(p, len));
	ok(!mprotect(p, len, PROT_READ));
	is_u64(p[0], 0, "to be read");
	ok(!mprotect(p, len, RW));
	ok(mprotect(p, PAGE, PROT_READ) == -1, "not a part");
	ok(mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, p + (1UL << 30) + PAGE) ==
	   MAP_FAILED);
	ok(mremap(p, len, len / 2, 0) == MAP_FAILED);
	ok(munmap(p + PAGE, PAGE) == -1);
	read_all("/proc/self/smaps");
	read_all("/proc/self/numa_maps");
	read_all("/proc/self/maps");
}

static void test_huge(void)
{
	unsigned char *mem = map_huge(HUGES * HUGE), *p;
	struct by_hand h;
	long tables;

	hand_begin_at(&h, mem, HUGES * HUGE, 0, 0);
	is_u64(h.w.length, HUGES * HUGE);
	memset(mem, 0, HUGES * HUGE);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	is_u64((uint64_t)p % HUGE, 0, "at addresses for huge pages");
	/* A page is brought in by reading, another by writing, each all at once. */
	p[0] = 0;
	tables = page_tables();
	is_u64(p[HUGE + 5], 0);
	through(&h, p, 1000);
	/* Where they lie across what a table of the next level has, there is one of these more. */
	ok(page_tables() - tables < (HUGES - 1) * (long)PAGE, "no tables of small pages");
	no_pin(&h, p);
	handle_roughly(p, h.w.length);
	through(&h, p, 2000);
	no_pin(&h, p);
	deregister(&h);
	p[5] = 11;
	p[HUGE + 6] = 12;
	is_u64(mem[5], 0, "nothing gets through");
	is_u64(mem[HUGE + 6], 0);
	must(!munmap(p, h.w.length));
}

/* Huge pages that the region only has parts of, and addresses that suit no huge page. */
static void test_huge_parts(void)
{
	unsigned char *mem = map_huge(HUGES * HUGE), *p, *room;
	struct by_hand h;

	hand_begin_at(&h, mem + 3 * PAGE, (HUGES - 1) * HUGE, 0, 0);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	is_u64((uint64_t)p % HUGE, 3 * PAGE);
	/* What lies before and after one is brought in around it. */
	p[HUGE] = 1;
	through(&h, p, 3000);
	room = map_private(HUGES * HUGE + HUGE);
	p = mmap(room + PAGE, h.w.length, RW, MAP_SHARED | MAP_FIXED, h.fd,
		 (off_t)h.w.data_offset);
	must(p == room + PAGE);
	through(&h, p, 4000);
	no_pin(&h, p);
	deregister(&h);
	p[HUGE] = 12;
	is_u64(((unsigned char *)h.w.addr)[HUGE], 1, "nothing gets through");
}

/* Private memory, in huge pages if the kernel likes, but for one that is small. */
static void test_huge_broken(void)
{
	unsigned char *room = map_private((HUGES + 1) * HUGE), *mem, *p;
	struct by_hand h;

	mem = (unsigned char *)(((uintptr_t)room + HUGE - 1) & ~(HUGE - 1));
	madvise(mem, HUGES * HUGE, MADV_HUGEPAGE);
	memset(mem, 1, HUGES * HUGE);
	must(!madvise(mem + HUGE + 7 * PAGE, PAGE, MADV_DONTNEED));
	memset(mem, 0, HUGES * HUGE);
	hand_begin_at(&h, mem, HUGES * HUGE, 0, 0);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	through(&h, p, 5000);
	no_pin(&h, p + HUGE);
	must(!munmap(room, (HUGES + 1) * HUGE));
	/* What is registered stays until it is no more, and so does the window. */
	p[7] = 9;
	is_u64(p[7], 9);
	deregister(&h);
	is_u64(p[7], 0);
}

struct toucher {
	const struct by_hand *h;
	unsigned char *p;
	uint64_t first;
};

static void *touch(void *arg)
{
	const struct toucher *t = arg;
	uint64_t i;

	for (i = t->first; i < t->h->w.length; i += 4 * PAGE)
		__atomic_fetch_add((uint64_t *)(t->p + i), 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Threads that fault in the same huge page at once. */
static void test_huge_threads(void)
{
	unsigned char *mem = map_huge(HUGES * HUGE);
	unsigned int turn, k, turns = 200 / (unsigned int)time_scale();
	struct toucher t[4];
	pthread_t thread[4];
	struct by_hand h;
	uint64_t i, bad = 0;

	hand_begin_at(&h, mem, HUGES * HUGE, 0, 0);
	for (turn = 0; turn < turns; turn++) {
		for (k = 0; k < ARRAY_SIZE(t); k++)
			t[k] = (struct toucher){ .h = &h, .first = k * PAGE };
		t[0].p = hand_map(&h, RW, MAP_SHARED);
		must(t[0].p != MAP_FAILED);
		for (k = 0; k < ARRAY_SIZE(t); k++) {
			t[k].p = t[0].p;
			must(!pthread_create(&thread[k], NULL, touch, &t[k]));
		}
		for (k = 0; k < ARRAY_SIZE(t); k++)
			must(!pthread_join(thread[k], NULL));
		must(!munmap(t[0].p, h.w.length));
	}
	for (i = 0; i < h.w.length; i += PAGE)
		bad += *(uint64_t *)(mem + i) != turns;
	is_u64(bad, 0);
}

/* Closed by name, but still mapped: it ends with its region all the same. */
static void test_closed(void)
{
	struct kgni_ioc_window_close close_arg = { 0 };
	struct by_hand h;
	unsigned char *p;
	int status;
	pid_t pid;

	hand_begin(&h, 0, 0);
	p = hand_map(&h, RW, MAP_SHARED);
	must(p != MAP_FAILED);
	p[0] = 1;
	close_arg.index = h.w.index;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_CLOSE, &close_arg), GNI_RC_SUCCESS);
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_CLOSE, &close_arg), GNI_RC_INVALID_PARAM);
	refused(hand_map(&h, RW, MAP_SHARED), EINVAL);
	p[1] = 2;
	is_u64(h.mem[1], 2, "it is still there");
	/* A child has no window. */
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile unsigned char *)p = 3;
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	deregister(&h);
	p[2] = 3;
	is_u64(h.mem[2], 0);
	close(h.fd);
	p[3] = 3;
	is_u64(h.mem[3], 0);
}

/* The producer of an entry dies before it has written it. */
static void test_hole(void)
{
	struct kgni_ring *ring;
	uint64_t *slots;
	struct by_hand h;
	unsigned int i;
	pid_t pid;

	hand_begin(&h, 0, 0);
	for (i = 0; i < 40; i++) {
		pid = fork();
		if (!pid) {
			uint32_t pe;

			h.fd = hand_attach(0, &pe);
			must(hand_open(&h) == GNI_RC_SUCCESS);
			ring = mmap(NULL, h.w.ring_length, RW, MAP_SHARED, h.fd,
				    (off_t)h.w.ring_offset);
			must(ring != MAP_FAILED);
			__atomic_fetch_add(&ring->tail, 1, __ATOMIC_SEQ_CST);
			raise(SIGKILL);
		}
		reap_killed(pid);
		ring = h.cq.mem;
		slots = (uint64_t *)((char *)h.cq.mem + KGNI_RING_SLOTS_OFFSET);
		is_u64(ring->tail, i + 1);
		/* Source DRIVER, status PRODUCER_DIED. */
		is_u64(slots[i % h.cq.slots] >> 56, 7 << 3 | 4, "turn %u", i);
		/* The consumer takes it. */
		slots[i % h.cq.slots] = (i + h.cq.slots) & ~(h.cq.slots - 1);
		__atomic_store_n(&ring->head, i + 1, __ATOMIC_RELEASE);
	}
}

/* Who may not: another job, another address, queues of regions without one. */
static void test_refused(void)
{
	struct kgni_ioc_window_wake wake = { 0 };
	struct kgni_ioc_window_open w;
	struct by_hand h;
	uint64_t block[512];
	unsigned int i;

	hand_begin(&h, 0, 0);
	w = h.w;
	w.addr = (uint64_t)h.mem + BYTES;
	w.flags = 0;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w), GNI_RC_INVALID_PARAM);
	w = h.w;
	w.remote_pe++;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w), GNI_RC_INVALID_PARAM);
	w = h.w;
	w.flags = 2;
	ok(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w) == -1 && errno == EINVAL);
	w = h.w;
	w.flags = KGNI_WINDOW_QUEUE;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w), GNI_RC_SUCCESS);
	is_u64(w.length, 0);
	w = h.w;
	w.flags = KGNI_WINDOW_QUEUE;
	w.remote = raw_mem_open(h.owner, block, sizeof(block), 0, 0);
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w), GNI_RC_INVALID_PARAM, "no queue");
	w = h.w;
	w.remote = raw_mem_open(h.owner, h.mem, BYTES, GNI_MEM_RESERVE_REGION, 0);
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_OPEN, &w), GNI_RC_PERMISSION_ERROR, "reserved");
	wake.index = h.w.index;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_WAKE, &wake), GNI_RC_SUCCESS);
	wake.index = KGNI_WINDOWS_MAX;
	is_u64(ioctl(h.fd, KGNI_IOC_WINDOW_WAKE, &wake), GNI_RC_INVALID_PARAM);
	wake.status = 1;
	ok(ioctl(h.fd, KGNI_IOC_WINDOW_WAKE, &wake) == -1 && errno == EINVAL);
	/* The other file's windows are its own. */
	wake.status = 0;
	wake.index = h.w.index;
	is_u64(ioctl(h.owner, KGNI_IOC_WINDOW_WAKE, &wake), GNI_RC_INVALID_PARAM);
	for (i = 0; i <= KGNI_WINDOWS_MAX; i++)
		if (hand_open(&h) != GNI_RC_SUCCESS)
			break;
	/* Two there are already. */
	is_u64(i, KGNI_WINDOWS_MAX - 2);
	is_u64(hand_open(&h), GNI_RC_ERROR_RESOURCE);
}

/* What fma_sm_win_sz says is what a small window has. */
static void test_small_size(void)
{
	const char *path = "/sys/class/gni/kgni0/fma_sm_win_sz";
	struct by_hand h;
	FILE *f = fopen(path, "r+");

	if (!f)		/* a plain user */
		return;
	is_u64(fprintf(f, "8192\n") > 0 && !fflush(f), 1);
	hand_begin(&h, GNI_CDM_MODE_FMA_SMALL_WINDOW, 0);
	is_u64(h.w.length, 8192);
	h.mem += 3 * PAGE;
	must(hand_open(&h) == GNI_RC_SUCCESS);
	is_u64(h.w.addr, h.mem - PAGE);
	is_u64(h.w.length, 8192);
	rewind(f);
	is_u64(fprintf(f, "32768\n") > 0 && !fflush(f), 1);
	fclose(f);
}

/* Whoever sleeps is woken by what comes through a window, not before enough is there. */
static void sleeper(void *arg)
{
	gni_cq_handle_t cq;
	gni_cq_entry_t event;
	gni_mem_handle_t mh;
	struct nic n;
	unsigned int i;

	(void)arg;
	nic_open(&n, 0, TARGET_ID);
	cq = cq_open(&n, 64, GNI_CQ_BLOCKING);
	mem_open(&n, race.mem, BYTES, cq, GNI_MEM_READWRITE, &mh);
	atomic_store(at(QWORD1), mh.qword1);
	atomic_store(at(QWORD2), mh.qword2);
	atomic_store(at(TARGET_PE), n.pe);
	give(0);
	for (i = 0; i < 2000 / time_scale(); i++) {
		is_rc(GNI_CqWaitEvent(cq, PATIENCE, &event), GNI_RC_SUCCESS, "turn %u", i);
		atomic_store(at(ACK), i + 1);
	}
}

static void test_wake(void)
{
	struct region r = { .len = BYTES };
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	unsigned int i;
	struct nic n;
	pid_t pid;

	race.mem = map_shared(BYTES);
	r.addr = (uint64_t)race.mem;
	nic_open(&n, 0, INITIATOR_ID);
	pid = peer(sleeper, NULL);
	take(0);
	r.mh.qword1 = atomic_load(at(QWORD1));
	r.mh.qword2 = atomic_load(at(QWORD2));
	ep = ep_open(&n, (uint32_t)atomic_load(at(TARGET_PE)), TARGET_ID);
	for (i = 0; i < 2000 / time_scale(); i++) {
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
		desc_move(&d, &i, NULL, &r, 0, 4);
		is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
		if (!ok(wait_for(atomic_load(at(ACK)) == i + 1), "turn %u", i))
			break;
	}
	reap(pid);
}

static const struct test tests[] = {
	CASES("no system call", test_no_call),
	CASE("no system call: messages", test_no_call_smsg),
	CASE("deregistered meanwhile, two processes", test_race_peer, .seconds = 240),
	CASE("deregistered meanwhile, two NICs", test_race_nics, .seconds = 240),
	CASE("deregistered meanwhile, a huge page", test_race_huge, .seconds = 240),
	CASE("deregistered meanwhile, two threads", test_race_threads, .seconds = 240),
	CASE("local region deregistered meanwhile", test_race_local, .seconds = 120),
	CASE("target killed", test_killed, .seconds = 120),
	CASE("more regions than windows", test_lru),
	CASE("small windows", test_small),
	CASE("small windows: their size", test_small_size),
	CASE("sleepers", test_wake, .seconds = 60),
	CASE("mappings", test_map),
	CASE("mappings: read-only", test_read_only),
	CASE("mappings: nobody keeps a page", test_no_pin),
	CASE("mappings: closed", test_closed),
	CASE("huge pages", test_huge),
	CASE("huge pages: parts", test_huge_parts),
	CASE("huge pages: broken ones", test_huge_broken),
	CASE("huge pages: threads", test_huge_threads, .seconds = 60),
	CASE("a producer dies", test_hole),
	CASE("refused", test_refused),
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 0);
	return RUN_TESTS(tests);
}
