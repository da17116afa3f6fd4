// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz [-r ROUNDS] [-t SECONDS] [-f] [-p] START
 * fuzz [-r TIMES] [-f] -s SEED
 *
 * The driver's ioctls and mappings under random calls.
 *
 * In a round some processes with two threads each, of one or several jobs and
 * users, on all NICs, share files, memory handles, memory and rings, and make
 * calls that are nearly right. In between they unmap, fork, start other
 * programs, close, pass files on, write nonsense into rings and lose their
 * memory; and they are killed. Every third round is a race: threads that do at
 * the same moment what must not be done at the same moment.
 *
 * Whatever they do, the driver answers with a code or an errno, another user's
 * job works beside them and sees none of it, the kernel does not complain, and
 * after each round all is given back.
 *
 * What a process calls, in which order and with which arguments, follows from
 * the round's seed, but for the handles and numbers that it learnt from other
 * processes; how they mix does not. The seed goes to the kernel's log before
 * the round. -s makes that round again, many times if need be.
 *
 * Where the kernel has KCOV, rounds that reached something new are kept, and
 * two of three rounds change one of these; their seeds are longer. -p prints
 * the places that were reached. With -f some allocations fail, where the
 * kernel has fault injection.
 */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "common_fuzz.h"

#define OUTSIDER	4242	/* user and cookie of the process that must not notice */
#define CHECK_LOCKED	16	/* rounds from one look at locked memory to the next */

struct world *world;

static struct options {
	uint32_t start;
	struct lineage seed;
	uint64_t rounds;
	uint64_t seconds;
	bool replay;
	bool faults;
	bool places;
} options;

/* --- the world ----------------------------------------------------------------- */

void world_make(void)
{
	int fd = memfd_create("world", 0);

	if (fd < 0 || ftruncate(fd, sizeof(*world)) || dup2(fd, WORLD_FD) != WORLD_FD) {
		perror("world");
		exit(1);
	}
	close(fd);
	world_find();
}

void world_find(void)
{
	void *mem = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED, WORLD_FD, 0);

	if (mem == MAP_FAILED)
		exit(1);
	world = mem;
	if (!shm)
		shm = map_shared(sizeof(*shm));
}

/* All of a path, with nothing said where it does not exist. */
static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		diag("%s: errno %d", path, errno);
	close(fd);
}

/* Allocations of all sorts may fail, without a trace in the log each time. */
static bool faults_open(void)
{
	static const char *const dirs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	static const char *const settings[][2] = {
		{ "ignore-gfp-wait", "N" }, { "ignore-gfp-highmem", "N" }, { "min-order", "0" },
		{ "verbose", "0" },
	};
	unsigned int i, j;
	char path[80];

	if (!options.faults || access("/proc/self/fail-nth", W_OK))
		return false;
	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		for (j = 0; j < ARRAY_SIZE(settings); j++) {
			snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dirs[i],
				 settings[j][0]);
			put_text(path, settings[j][1]);
		}
	}
	return true;
}

static void world_open(void)
{
	put_text("/proc/sys/vm/nr_hugepages", "2");
	world->devices = device_count();
	world->faults = faults_open();
	world->memfd = memfd_create("fuzz", 0);
	must(world->memfd >= 0 && !ftruncate(world->memfd, 64 * PAGE));
	world->eventfd = eventfd(0, EFD_NONBLOCK);
	must(world->eventfd >= 0);
	world->hugefd = memfd_create("huge", MFD_HUGETLB);
	if (world->hugefd >= 0 && (ftruncate(world->hugefd, 512 * PAGE) ||
				   fallocate(world->hugefd, 0, 0, 512 * PAGE))) {
		close(world->hugefd);
		world->hugefd = -1;
	}
}

static void world_close(void)
{
	close(world->memfd);
	close(world->eventfd);
	if (world->hugefd >= 0)
		close(world->hugefd);
	put_text("/proc/sys/vm/nr_hugepages", "0");
}

/* --- the kernel's log ---------------------------------------------------------- */

static int kmsg = -1;

static void log_open(void)
{
	kmsg = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
}

/* At level warning, so that the console has it when the kernel goes down. */
static void log_seed(uint64_t round, const char *seed)
{
	char line[LINEAGE_TEXT + 80];
	int n = snprintf(line, sizeof(line), "<4>fuzz: round %llu, %s, seed %s",
			 (unsigned long long)round, race_name(world->plan.race), seed);

	if (kmsg >= 0 && write(kmsg, line, n) != n)
		diag("/dev/kmsg: errno %d", errno);
}

static bool has_one_of(const char *text, const char *const *words, unsigned int n)
{
	while (n--)
		if (strstr(text, words[n]))
			return true;
	return false;
}

/* What a slow machine leads to, and failing allocations outside of the driver. */
static bool is_known(const char *text)
{
	static const char *const slow[] = {
		"hrtimer: interrupt took", "clocksource: ", "sched: RT throttling activated",
		"NOHZ tick-stop error",
	};
	static const char *const faults[] = {
		"kmemleak: Cannot allocate", "Huh VM_FAULT_OOM leaked out",
		"Kernel memory leak detector disabled",
	};

	return has_one_of(text, slow, ARRAY_SIZE(slow)) ||
	       (world->faults && has_one_of(text, faults, ARRAY_SIZE(faults)));
}

/* The same as aside_message() in report.sh: a stack that is shown for pinned pages. */
static bool is_aside(const char *text)
{
	static bool aside;
	bool was;

	aside = aside || strstr(text, "FAULT_FLAG_ALLOW_RETRY missing");
	was = aside;
	if (strstr(text, "</TASK>"))
		aside = false;
	return was;
}

/* Has the kernel warned of something since the last time? Shows a few lines. */
static bool log_is_clean(void)
{
	unsigned int bad = 0;
	char record[8192], *text;
	int prefix;
	ssize_t n;

	for (;;) {
		n = read(kmsg, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return !bad;
		record[n] = 0;
		text = strchr(record, ';');
		prefix = atoi(record);
		/* Facility 0 is the kernel itself; levels from 5 on are harmless. */
		if (!text || prefix >> 3 || (prefix & 7) > 4 || is_known(text) || is_aside(text))
			continue;
		if (bad++ < 20)
			diag("the kernel: %.*s", (int)strcspn(text + 1, "\n"), text + 1);
	}
}

/* --- what a round must give back ------------------------------------------------ */

struct stock {
	uint64_t used[KGNI_MAX_DEVICES][GNI_DEV_RES_LAST];
	uint32_t ptag[KGNI_MAX_DEVICES];	/* the lowest that is free */
	uint64_t pinned;
	int users;
};

static int module_users(void)
{
	FILE *f = fopen("/sys/module/kgni/refcnt", "r");
	int n = -1;

	if (!f || fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static uint64_t pinned_pages(void)
{
	unsigned long long value, pinned = 0;
	char line[128];
	FILE *f;

	put_text("/proc/sys/vm/stat_refresh", "1");
	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "nr_foll_pin_acquired %llu", &value) == 1)
			pinned += value;
		if (sscanf(line, "nr_foll_pin_released %llu", &value) == 1)
			pinned -= value;
	}
	if (f)
		fclose(f);
	return pinned;
}

static void stock_of(struct stock *s, unsigned int device)
{
	struct kgni_ioc_ptag ptag = { .cookie = COOKIE + 1000 };
	struct kgni_ioc_res res;
	int fd = raw_open(device);
	uint32_t type;

	for (type = 0; type < GNI_DEV_RES_LAST; type++) {
		res = (struct kgni_ioc_res){ .scope = KGNI_RES_DEVICE, .type = type };
		if (ioctl(fd, KGNI_IOC_RES_INFO, &res) == GNI_RC_SUCCESS)
			s->used[device][type] = res.used;
	}
	if (ioctl(fd, KGNI_IOC_GET_PTAG, &ptag) == GNI_RC_SUCCESS)
		s->ptag[device] = ptag.ptag;
	close(fd);
}

static void take_stock(struct stock *s)
{
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < world->devices; i++)
		stock_of(s, i);
	s->pinned = pinned_pages();
	s->users = module_users();
}

static void show_difference(const struct stock *was, const struct stock *now)
{
	unsigned int i, type;

	for (i = 0; i < world->devices; i++) {
		for (type = 0; type < GNI_DEV_RES_LAST; type++)
			is_u64(now->used[i][type], was->used[i][type],
			       "resource %u of device %u", type, i);
		is_u64(now->ptag[i], was->ptag[i], "free tag of device %u", i);
	}
	is_u64(now->pinned, was->pinned, "pages");
	is_u64(now->users, was->users, "users of the module");
}

static bool same_stock(const struct stock *was)
{
	struct stock now;

	take_stock(&now);
	return !memcmp(was, &now, sizeof(now));
}

static void check_stock(const struct stock *was)
{
	struct stock now;

	if (wait_for(same_stock(was)))
		return;
	take_stock(&now);
	show_difference(was, &now);
}

static void become(uint32_t uid)
{
	if (!geteuid() && uid && (setgroups(0, NULL) || setgid(uid) || setuid(uid)))
		_exit(1);
}

/* A user may lock what he may, and no page more: nothing is charged to him. */
static void check_locked(void *uid)
{
	struct rlimit four = { 4 * PAGE, 4 * PAGE };
	struct kgni_ioc_mem_register r = {
		.addr = (uint64_t)map_private(5 * PAGE), .length = 4 * PAGE, .vmdh_index = ~0U,
	};
	int fd;

	become(*(uint32_t *)uid);
	must(!setrlimit(RLIMIT_MEMLOCK, &four));
	fd = raw_attach(0, 1, 0);
	is_u64(ioctl(fd, KGNI_IOC_MEM_REGISTER, &r), GNI_RC_SUCCESS, "four pages");
	r.addr += 4 * PAGE;
	r.length = PAGE;
	is_u64(ioctl(fd, KGNI_IOC_MEM_REGISTER, &r), GNI_RC_ERROR_RESOURCE, "one more");
}

static void check_users(void)
{
	static uint32_t uids[] = { 1000, 1001 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(uids) && !geteuid(); i++)
		reap(peer(check_locked, &uids[i]));
}

/* --- processes ----------------------------------------------------------------- */

struct lane {
	unsigned int proc;
	unsigned int thread;
};

static void *lane_run(void *p)
{
	const struct lane *l = p;
	unsigned int lane = l->proc * THREADS + l->thread, i;
	const struct plan *plan = &world->plan;

	thread_index = l->thread;
	for (i = 0; i < plan->count[lane]; i++) {
		draw_begin(plan->genes[lane][i]);
		act();
		kcov_step();
		atomic_fetch_add(&world->progress[l->proc], 1);
	}
	return NULL;
}

static void *lane_thread(void *p)
{
	const struct lane *l = p;

	fault_begin();
	kcov_begin(l->proc * THREADS + l->thread);
	return lane_run(p);
}

static void worker_free(unsigned int proc)
{
	struct lane lanes[THREADS];
	pthread_t thread[THREADS];
	unsigned int i;

	call_setup();
	for (i = 0; i < THREADS; i++) {
		lanes[i] = (struct lane){ proc, i };
		if (i)
			must(!pthread_create(&thread[i], NULL, lane_thread, &lanes[i]));
	}
	lane_run(&lanes[0]);
	for (i = 1; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void worker(unsigned int proc)
{
	const struct plan *plan = &world->plan;
	struct rlimit few;

	self = plan->who[proc];
	few = (struct rlimit){ self.pages * PAGE, self.pages * PAGE };
	if (self.pages && !plan->race)
		setrlimit(RLIMIT_MEMLOCK, &few);
	draw_begin(plan->genes[proc * THREADS][0]);
	act_setup();
	if (!plan->race) {
		fault_begin();
		kcov_begin(proc * THREADS);
	}
	become(self.uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (plan->race)
		race_run(plan);
	else
		worker_free(proc);
	_exit(0);
}

static pid_t start_worker(unsigned int proc)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid)
		worker(proc);
	return pid;
}

/* --- one who must not notice --------------------------------------------------- */

struct outsider {
	int fd;
	uint32_t pe;
	struct raw_cq cq;
	unsigned char *mem;
	struct kgni_mem_handle mh;
};

static uint32_t events(const struct outsider *o)
{
	return __atomic_load_n((uint32_t *)o->cq.mem, __ATOMIC_ACQUIRE);
}

/* One transfer within its memory, whose upper half follows the lower one. */
static void outsider_turn(struct outsider *o, uint32_t turn)
{
	static const uint8_t types[] = {
		GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT, GNI_POST_FMA_GET, GNI_POST_RDMA_GET,
	};
	uint8_t type = types[turn % ARRAY_SIZE(types)];
	bool get = type == GNI_POST_FMA_GET || type == GNI_POST_RDMA_GET;
	size_t half = 8 * PAGE, len = turn % 3 ? 64 : half;
	unsigned char *to = o->mem + half;
	struct kgni_ioc_post p = {
		.type = type, .remote_pe = o->pe, .cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.src_cq = o->cq.id, .local = o->mh, .remote = o->mh, .length = len,
		.local_addr = (uint64_t)(get ? to : o->mem),
		.remote_addr = (uint64_t)(get ? o->mem : to),
	};
	uint32_t before = events(o), i;

	for (i = 0; i < len; i++)
		o->mem[i] = (unsigned char)(i * 7 + turn);
	is_u64(ioctl(o->fd, KGNI_IOC_POST, &p), GNI_RC_SUCCESS, "turn %u", turn);
	ok(wait_for(events(o) != before), "turn %u: no event", turn);
	ok(!memcmp(o->mem, to, len), "turn %u: what was written is not there", turn);
	/* The ring is emptied without reading it: head follows tail. */
	memset((char *)o->cq.mem + PAGE, 0, o->cq.len - PAGE);
	__atomic_store_n((uint32_t *)o->cq.mem, 0, __ATOMIC_RELEASE);
}

static void outsider(void *arg)
{
	struct kgni_ioc_attach a = { .inst_id = 1, .ptag = GNI_FIND_ALLOC_PTAG,
				     .cookie = OUTSIDER };
	struct outsider o = { .mem = map_private(18 * PAGE) };
	uint32_t turn;

	(void)arg;
	setpgid(0, 0);
	become(OUTSIDER);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	o.fd = raw_open(0);
	must(ioctl(o.fd, KGNI_IOC_ATTACH, &a) == GNI_RC_SUCCESS);
	o.pe = a.pe;
	raw_cq_open(o.fd, 64, GNI_CQ_NOBLOCK, &o.cq);
	o.mh = raw_mem_open(o.fd, o.mem, 16 * PAGE, 0, 0);
	memset(o.mem + 16 * PAGE, 0x5a, 2 * PAGE);
	for (turn = 0; !world->stop || turn < 8; turn++) {
		outsider_turn(&o, turn);
		atomic_fetch_add(&world->outside, 1);
		usleep(50000);
	}
	ok(all_bytes(o.mem + 16 * PAGE, 2 * PAGE, 0x5a), "memory that is not registered");
}

static pid_t start_outsider(void)
{
	pid_t pid = peer(outsider, NULL);

	setpgid(pid, pid);
	must(wait_for(world->outside > 0));
	return pid;
}

/* --- rounds -------------------------------------------------------------------- */

static pid_t pids[PROCS];

/* Processes of rounds are in the group of this one; the outsider is not. */
static bool reap_some(void)
{
	unsigned int i;
	pid_t pid;

	while ((pid = waitpid(0, NULL, WNOHANG)) > 0)
		for (i = 0; i < PROCS; i++)
			if (pids[i] == pid)
				pids[i] = 0;
	for (i = 0; i < PROCS; i++)
		if (pids[i])
			return false;
	return true;
}

static bool no_child_is_left(void)
{
	return reap_some() && waitpid(0, NULL, WNOHANG) < 0 && errno == ECHILD;
}

static bool came_far_enough(const struct trouble *t)
{
	reap_some();
	return !pids[t->proc] || world->progress[t->proc] >= t->after;
}

static void make_trouble(const struct trouble *t)
{
	uint64_t end = now_ms() + PATIENCE;
	pid_t pid = pids[t->proc];

	while (!came_far_enough(t) && now_ms() < end)
		usleep(3000);
	if (!pids[t->proc])
		return;
	switch (t->kind) {
	case STOP_FOR_A_WHILE:
		kill(pid, SIGSTOP);
		usleep(2000 * time_scale());
		kill(pid, SIGCONT);
		break;
	case INTERRUPT:
		kill(pid, SIGUSR1);
		break;
	default:
		kill(pid, SIGKILL);
		if (!wait_for(reap_some() || !pids[t->proc]))
			break;
		world->progress[t->proc] = 0;
		if (t->kind == KILL_AND_RESTART)
			pids[t->proc] = start_worker(t->proc);
	}
}

static void end_round(void)
{
	uint64_t end = now_ms() + PATIENCE;
	unsigned int i;

	while (!reap_some() && now_ms() < end)
		usleep(5000);
	for (i = 0; i < PROCS; i++) {
		if (!ok(!pids[i], "process %u does not end", i))
			show_hang(pids[i]);
		if (pids[i])
			kill(pids[i], SIGKILL);
	}
	if (ok(wait_for(no_child_is_left()), "a process survives SIGKILL"))
		return;
	for (i = 0; i < PROCS; i++)
		if (pids[i])
			show_hang(pids[i]);
}

/* Files in flight are no one's once both ends are closed. */
static void run_plan(void)
{
	const struct plan *plan = &world->plan;
	unsigned int i, procs = plan->race ? 1 : plan->procs;

	memset(world->seen, 0, sizeof(world->seen));
	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, world->mailbox));
	for (i = 0; i < procs; i++) {
		world->progress[i] = 0;
		pids[i] = start_worker(i);
	}
	for (i = 0; i < plan->troubles && !plan->race; i++)
		make_trouble(&plan->trouble[i]);
	end_round();
	close(world->mailbox[0]);
	close(world->mailbox[1]);
}

/* Returns whether all is well. */
static bool run_round(uint64_t round, const struct lineage *l, const struct stock *stock)
{
	unsigned int before = failures();
	char seed[LINEAGE_TEXT];

	plan_make(&world->plan, l);
	lineage_print(l, seed);
	log_seed(round, seed);
	world->fresh = 0;
	run_plan();
	kcov_round();
	if (world->fresh)
		corpus_add(l);
	check_stock(stock);
	if (round % CHECK_LOCKED == 0)
		check_users();
	if (kmsg >= 0)
		ok(log_is_clean(), "the kernel complains");
	if (failures() == before)
		return true;
	diag("round %llu, %s: to make it again: fuzz%s -s %s", (unsigned long long)round,
	     race_name(world->plan.race), world->faults ? " -f" : "", seed);
	return false;
}

static void show_figures(uint64_t rounds)
{
	diag("%llu rounds, %u kept, %llu ioctls, %llu mappings, %llu others, %llu turns outside",
	     (unsigned long long)rounds, corpus_size(), (unsigned long long)count_calls(),
	     (unsigned long long)world->maps, (unsigned long long)world->others,
	     (unsigned long long)world->outside);
}

static uint64_t run_rounds(bool guided, const struct stock *stock)
{
	uint64_t end = now_ms() + options.seconds * 1000, next = now_ms() + 30000, round;
	struct lineage l = options.seed;

	for (round = 0; round < options.rounds && now_ms() < end; round++) {
		if (!options.replay)
			lineage_next(&l, options.start, round, guided);
		if (!run_round(round, &l, stock))
			return round + 1;
		if (now_ms() > next) {
			show_figures(round + 1);
			next = now_ms() + 30000;
		}
	}
	return round;
}

static void fuzz(void)
{
	struct stock stock;
	uint64_t rounds;
	pid_t watcher;
	bool guided;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	world_open();
	log_open();
	watcher = start_outsider();
	guided = kcov_open();
	take_stock(&stock);
	rounds = run_rounds(guided, &stock);
	world->stop = true;
	reap(watcher);
	ok(world->outside >= 8, "the other user's job got nowhere");
	world_close();
	show_figures(rounds);
	show_codes();
	if (guided)
		diag("%u places, %u pairs of places", world->pcs, world->edges);
	if (options.places)
		kcov_print();
}

static int usage(void)
{
	fprintf(stderr, "usage: fuzz [-r ROUNDS] [-t SECONDS] [-f] [-p] START\n"
		"       fuzz [-r TIMES] [-f] -s SEED\n");
	return 2;
}

static bool parse(int argc, char **argv)
{
	int c;

	options.rounds = UINT64_MAX;
	options.seconds = UINT32_MAX;
	while ((c = getopt(argc, argv, "r:t:s:fp")) != -1) {
		switch (c) {
		case 'r':
			options.rounds = strtoull(optarg, NULL, 0);
			break;
		case 't':
			options.seconds = strtoull(optarg, NULL, 0);
			break;
		case 's':
			options.replay = true;
			if (!lineage_parse(&options.seed, optarg))
				return false;
			break;
		case 'f':
			options.faults = true;
			break;
		case 'p':
			options.places = true;
			break;
		default:
			return false;
		}
	}
	if (options.rounds == UINT64_MAX && options.seconds == UINT32_MAX)
		options.rounds = 1;
	if (options.replay)
		return optind == argc;
	if (optind + 1 != argc)
		return false;
	options.start = (uint32_t)strtoul(argv[optind], NULL, 0);
	return true;
}

int main(int argc, char **argv)
{
	struct test tests[] = { CASE("all is given back and nobody else noticed", fuzz, 7200) };

	if (argc > 3 && !strcmp(argv[1], "--after-exec"))
		return act_after_exec(argc, argv);
	if (!parse(argc, argv))
		return usage();
	if (!options.replay)
		diag("fuzz from %u", options.start);
	world_make();
	return RUN_TESTS(tests);
}
