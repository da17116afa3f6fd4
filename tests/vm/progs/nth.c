// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each call of the driver again and again, while the first, the second ... thing
 * that it needs fails, until it gets through: memory, a copy from or to user space,
 * a pin. Each time it gives its code for that, leaves everything as it was, and gets
 * through when it is made again. See common_nth.h.
 *
 *	nth [row...]	ioctls and other system calls, and the library's calls
 *	nth load	loading and unloading the module, which is not loaded
 *
 * A new call is a row.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <core/cqe.h>
#include <core/ring.h>

#include "common_nth.h"

#define ALLOCATES	(BIT(KIND_SLAB) | BIT(KIND_USERCOPY))
#define COPIES		BIT(KIND_USERCOPY)
#define PINS		(ALLOCATES | BIT(KIND_PIN))

#define OTHER_COOKIE	(COOKIE + 1)
#define NOBODY		99
#define REGION		(64 * PAGE)

/* Calls return 0, a return code, or -errno. */
static long do_ioctl(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

static void must_ioctl(int fd, unsigned long cmd, void *arg)
{
	long rc = do_ioctl(fd, cmd, arg);

	must(!rc, "ioctl %#lx: %ld", cmd, rc);
}

/* --- files --------------------------------------------------------------------- */

static int fd = -1;

static void open_fd(void)
{
	fd = raw_open(0);
}

static void close_fd(void)
{
	must(!close(fd));
}

static long call_open(void)
{
	fd = open("/dev/kgni0", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static const struct row row_open = {
	.name = "open", .call = call_open, .undo = close_fd, .has = ALLOCATES,
};

static struct kgni_ioc_info info;

static long call_info(void)
{
	return do_ioctl(fd, KGNI_IOC_INFO, &info);
}

static const struct row row_info = {
	.name = "INFO", .setup = open_fd, .call = call_info, .has = COPIES,
};

static struct kgni_ioc_attach attach;

static void prepare_attach(void)
{
	open_fd();
	attach = (struct kgni_ioc_attach){
		.inst_id = 5, .ptag = GNI_FIND_ALLOC_PTAG, .cookie = OTHER_COOKIE,
	};
}

static long call_attach(void)
{
	return do_ioctl(fd, KGNI_IOC_ATTACH, &attach);
}

static const struct row row_attach = {
	.name = "ATTACH, new job", .prepare = prepare_attach, .call = call_attach,
	.undo = close_fd, .has = ALLOCATES,
};

static void setup_member(void)
{
	prepare_attach();
	must_ioctl(fd, KGNI_IOC_ATTACH, &attach);
	nth_ptag = attach.ptag;
}

static const struct row row_attach_member = {
	.name = "ATTACH, known job", .setup = setup_member, .prepare = prepare_attach,
	.call = call_attach, .undo = close_fd, .has = ALLOCATES,
};

static struct kgni_ioc_ptag ptag;

static long call_get_ptag(void)
{
	ptag.cookie = OTHER_COOKIE;
	return do_ioctl(fd, KGNI_IOC_GET_PTAG, &ptag);
}

static const struct row row_get_ptag = {
	.name = "GET_PTAG", .prepare = open_fd, .call = call_get_ptag, .undo = close_fd,
	.has = ALLOCATES,
};

static struct kgni_ioc_res res;

static long call_res_device(void)
{
	res.scope = KGNI_RES_DEVICE;
	res.type = GNI_DEV_RES_CQ;
	return do_ioctl(fd, KGNI_IOC_RES_INFO, &res);
}

static const struct row row_res_device = {
	.name = "RES_INFO, device", .setup = open_fd, .call = call_res_device, .has = COPIES,
};

static long call_res_job(void)
{
	res.scope = KGNI_RES_JOB;
	res.type = GNI_JOB_RES_CQ;
	res.ptag = nth_ptag;
	return do_ioctl(fd, KGNI_IOC_RES_INFO, &res);
}

static const struct row row_res_job = {
	.name = "RES_INFO, job", .setup = setup_member, .call = call_res_job, .has = COPIES,
};

/* --- an attachment with all that belongs to one -------------------------------- */

static struct raw_cq cq;
static struct kgni_ring_view ring;
static unsigned char *memory;
static struct kgni_mem_handle handle;

static void setup_attached(void)
{
	setup_member();
	raw_cq_open(fd, 64, GNI_CQ_BLOCKING, &cq);
	kgni_ring_view_init(&ring, cq.mem, cq.slots);
	memory = map_private(REGION);
	memset(memory, 1, REGION);
	handle = raw_mem_open(fd, memory, REGION, 0, cq.id);
}

/* --- queues -------------------------------------------------------------------- */

static struct kgni_ioc_cq_create create;
static struct kgni_ioc_cq_destroy destroy;

static long call_create(void)
{
	return do_ioctl(fd, KGNI_IOC_CQ_CREATE, &create);
}

static void undo_create(void)
{
	destroy.id = create.id;
	must_ioctl(fd, KGNI_IOC_CQ_DESTROY, &destroy);
}

static void prepare_create(void)
{
	create = (struct kgni_ioc_cq_create){ .entries = 2000, .mode = GNI_CQ_BLOCKING };
}

static const struct row row_cq_create = {
	.name = "CQ_CREATE", .setup = setup_member, .prepare = prepare_create,
	.call = call_create, .undo = undo_create, .has = ALLOCATES | BIT(KIND_PAGE),
};

static void prepare_destroy(void)
{
	prepare_create();
	must_ioctl(fd, KGNI_IOC_CQ_CREATE, &create);
}

static long call_destroy(void)
{
	destroy.id = create.id;
	return do_ioctl(fd, KGNI_IOC_CQ_DESTROY, &destroy);
}

static const struct row row_cq_destroy = {
	.name = "CQ_DESTROY", .setup = setup_member, .prepare = prepare_destroy,
	.call = call_destroy, .has = COPIES,
};

static void *mapping;

static long call_mmap(void)
{
	mapping = mmap(NULL, create.mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       create.mmap_offset);
	return mapping == MAP_FAILED ? -errno : 0;
}

static long call_munmap(void)
{
	return munmap(mapping, create.mmap_length) ? -errno : 0;
}

static void undo_mmap(void)
{
	must(!call_munmap());
	undo_create();
}

static const struct row row_mmap = {
	.name = "mmap of a ring", .setup = setup_member, .prepare = prepare_destroy,
	.call = call_mmap, .undo = undo_mmap, .has = BIT(KIND_SLAB),
};

static void prepare_munmap(void)
{
	prepare_destroy();
	must(!call_mmap());
}

static const struct row row_munmap = {
	.name = "munmap of a ring", .setup = setup_member, .prepare = prepare_munmap,
	.call = call_munmap, .undo = undo_create,
};

/* The pages of a ring are there from its mapping on. */
static long call_touch(void)
{
	size_t i;

	for (i = 0; i < create.mmap_length; i += PAGE)
		((volatile unsigned char *)mapping)[i];
	return 0;
}

static const struct row row_touch = {
	.name = "touching a ring", .setup = setup_member, .prepare = prepare_munmap,
	.call = call_touch, .undo = undo_mmap,
};

#define MANY	64

static struct kgni_cq_ref refs[MANY];
static struct kgni_ioc_cq_wait wait_arg;

/* The last of the queues has an event, which stays. */
static void setup_wait(void)
{
	struct kgni_ioc_post post = {
		.type = GNI_POST_CQWRITE, .cq_mode = GNI_CQMODE_SILENT, .cqwrite_value = 1,
	};
	struct raw_cq more;
	unsigned int i;

	setup_attached();
	for (i = 0; i < MANY - 1; i++) {
		raw_cq_open(fd, 8, GNI_CQ_BLOCKING, &more);
		refs[i] = (struct kgni_cq_ref){ fd, more.id };
	}
	refs[i] = (struct kgni_cq_ref){ fd, cq.id };
	post.remote = handle;
	post.remote_pe = attach.pe;
	must_ioctl(fd, KGNI_IOC_POST, &post);
	wait_arg = (struct kgni_ioc_cq_wait){
		.cqs = (uint64_t)refs, .count = MANY, .timeout_ms = KGNI_WAIT_FOREVER,
	};
}

static long call_wait(void)
{
	return do_ioctl(fd, KGNI_IOC_CQ_WAIT, &wait_arg);
}

static const struct row row_cq_wait = {
	.name = "CQ_WAIT, an event is there", .setup = setup_wait, .call = call_wait,
	.has = ALLOCATES,
};

static void setup_sleep(void)
{
	setup_wait();
	wait_arg.count = MANY - 1;
	wait_arg.timeout_ms = 1;
}

static long call_sleep(void)
{
	long rc = call_wait();

	return rc == GNI_RC_TIMEOUT ? 0 : rc;
}

static const struct row row_cq_sleep = {
	.name = "CQ_WAIT, none comes", .setup = setup_sleep, .call = call_sleep,
	.has = ALLOCATES,
};

static struct kgni_ioc_cq_notify notify;

static void setup_notify(void)
{
	setup_member();
	notify.fd = eventfd(0, EFD_CLOEXEC);
	must(notify.fd >= 0);
}

static long call_notify(void)
{
	notify.id = create.id;
	return do_ioctl(fd, KGNI_IOC_CQ_NOTIFY, &notify);
}

static const struct row row_cq_notify = {
	.name = "CQ_NOTIFY", .setup = setup_notify, .prepare = prepare_destroy,
	.call = call_notify, .undo = undo_create, .has = COPIES,
};

static struct kgni_ioc_cq_wake wake;

static long call_wake(void)
{
	wake.id = cq.id;
	return do_ioctl(fd, KGNI_IOC_CQ_WAKE, &wake);
}

static const struct row row_cq_wake = {
	.name = "CQ_WAKE", .setup = setup_wait, .call = call_wake, .has = COPIES,
};

static struct kgni_ioc_cq_owed owed;

static long call_owed(void)
{
	owed.id = cq.id;
	return do_ioctl(fd, KGNI_IOC_CQ_OWED, &owed);
}

static const struct row row_cq_owed = {
	.name = "CQ_OWED", .setup = setup_wait, .call = call_owed, .has = COPIES,
};

/* --- windows ------------------------------------------------------------------- */

static struct kgni_ioc_window_open window;

static long call_window_open(void)
{
	return do_ioctl(fd, KGNI_IOC_WINDOW_OPEN, &window);
}

static void prepare_window_open(void)
{
	window = (struct kgni_ioc_window_open){
		.remote_pe = attach.pe, .remote = handle, .flags = KGNI_WINDOW_QUEUE,
	};
}

static void undo_window_open(void)
{
	struct kgni_ioc_window_close arg = { .index = window.index };

	must(!ioctl(fd, KGNI_IOC_WINDOW_CLOSE, &arg));
}

static const struct row row_window_open = {
	.name = "WINDOW_OPEN", .setup = setup_attached, .prepare = prepare_window_open,
	.call = call_window_open, .undo = undo_window_open, .has = ALLOCATES,
};

/* --- registrations ------------------------------------------------------------- */

static struct kgni_ioc_mem_register reg;
static struct kgni_ioc_mem_deregister dereg;

static long call_register(void)
{
	return do_ioctl(fd, KGNI_IOC_MEM_REGISTER, &reg);
}

static void undo_register(void)
{
	dereg.handle = reg.handle;
	must_ioctl(fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
}

static void setup_register(void)
{
	setup_attached();
	reg = (struct kgni_ioc_mem_register){
		.length = 600 * PAGE, .cq = cq.id, .vmdh_index = ~0U,
	};
	reg.addr = (uint64_t)map_private(reg.length);
	memset((void *)reg.addr, 1, reg.length);
}

static const struct row row_register = {
	.name = "MEM_REGISTER", .setup = setup_register, .call = call_register,
	.undo = undo_register, .has = PINS,
};

/* Memory that the process never touched. */
#define FRESH	(12 * PAGE)

static void setup_fresh(void)
{
	setup_register();
	reg.length = FRESH;
}

static void prepare_fresh(void)
{
	must(!madvise((void *)reg.addr, FRESH, MADV_DONTNEED));
}

static const struct row row_register_fresh = {
	.name = "MEM_REGISTER, untouched memory", .setup = setup_fresh,
	.prepare = prepare_fresh, .call = call_register, .undo = undo_register,
	.has = PINS | BIT(KIND_PAGE),
};

static void setup_read_only(void)
{
	setup_fresh();
	reg.flags = GNI_MEM_READ_ONLY;
	must(!mprotect((void *)reg.addr, FRESH, PROT_READ));
}

static const struct row row_register_read_only = {
	.name = "MEM_REGISTER, read-only", .setup = setup_read_only,
	.prepare = prepare_fresh, .call = call_register, .undo = undo_register,
	.has = PINS | BIT(KIND_PAGE),
};

#define SEGMENTS	3

static struct kgni_segment segment[SEGMENTS];

static void setup_segments(void)
{
	unsigned int i;

	setup_register();
	for (i = 0; i < SEGMENTS; i++) {
		segment[i].addr = reg.addr + 100 * i * PAGE;
		segment[i].length = 50 * PAGE;
	}
	reg.addr = (uint64_t)segment;
	reg.segments = SEGMENTS;
}

static const struct row row_register_segments = {
	.name = "MEM_REGISTER, segments", .setup = setup_segments, .call = call_register,
	.undo = undo_register, .has = PINS,
};

static struct kgni_ioc_mem_register update;

static void prepare_update(void)
{
	reg.flags = GNI_MEM_RESERVE_REGION;
	reg.cq = 0;
	must_ioctl(fd, KGNI_IOC_MEM_REGISTER, &reg);
	update = reg;
	update.flags = GNI_MEM_UPDATE_REGION;
	update.length = 300 * PAGE;
}

static long call_update(void)
{
	return do_ioctl(fd, KGNI_IOC_MEM_REGISTER, &update);
}

static const struct row row_register_update = {
	.name = "MEM_REGISTER, update", .setup = setup_register, .prepare = prepare_update,
	.call = call_update, .undo = undo_register, .has = PINS,
};

static struct kgni_ioc_mem_register copy;

static long call_clone(void)
{
	copy = (struct kgni_ioc_mem_register){
		.addr = (uint64_t)memory, .length = REGION, .handle = handle,
		.flags = GNI_MEM_MDD_CLONE, .vmdh_index = ~0U,
	};
	return do_ioctl(fd, KGNI_IOC_MEM_REGISTER, &copy);
}

static void undo_clone(void)
{
	dereg.handle = copy.handle;
	must_ioctl(fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
}

static const struct row row_register_clone = {
	.name = "MEM_REGISTER, clone", .setup = setup_attached, .call = call_clone,
	.undo = undo_clone, .has = ALLOCATES,
};

static struct kgni_ioc_mem_next next;

static long call_next(void)
{
	next.handle = (struct kgni_mem_handle){ 0 };
	return do_ioctl(fd, KGNI_IOC_MEM_NEXT, &next);
}

static const struct row row_mem_next = {
	.name = "MEM_NEXT", .setup = setup_attached, .call = call_next, .has = COPIES,
};

static struct kgni_ioc_mdd_block block = { .entries = 100 };

static void prepare_block(void)
{
	prepare_attach();
	must(!call_attach());
}

static long call_block(void)
{
	return do_ioctl(fd, KGNI_IOC_MDD_BLOCK, &block);
}

static const struct row row_mdd_block = {
	.name = "MDD_BLOCK", .prepare = prepare_block, .call = call_block, .undo = close_fd,
	.has = COPIES,
};

static void prepare_deregister(void)
{
	must_ioctl(fd, KGNI_IOC_MEM_REGISTER, &reg);
}

static long call_deregister(void)
{
	dereg.handle = reg.handle;
	return do_ioctl(fd, KGNI_IOC_MEM_DEREGISTER, &dereg);
}

static const struct row row_deregister = {
	.name = "MEM_DEREGISTER", .setup = setup_register, .prepare = prepare_deregister,
	.call = call_deregister, .has = COPIES,
};

/* --- posts --------------------------------------------------------------------- */

static struct kgni_ioc_post post_arg;

/* From the first half of the region into the second, with an event for each side. */
static void setup_post(uint32_t type, uint64_t length)
{
	setup_attached();
	post_arg = (struct kgni_ioc_post){
		.type = type, .cq_mode = GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT,
		.src_cq = cq.id, .src_event = 1, .remote_event = 2, .remote_pe = attach.pe,
		.local_addr = (uint64_t)memory, .local = handle,
		.remote_addr = (uint64_t)memory + REGION / 2, .remote = handle,
		.length = length,
	};
}

static void setup_flag(void)
{
	setup_post(GNI_POST_FMA_PUT_W_SYNCFLAG, 64);
	post_arg.sync_addr = post_arg.remote_addr + 64;
}

static void setup_amo(void)
{
	setup_post(GNI_POST_AMO, 8);
	post_arg.amo_cmd = GNI_FMA_ATOMIC_FADD;
}

static long call_post(void)
{
	return do_ioctl(fd, KGNI_IOC_POST, &post_arg);
}

static uint64_t pop(void)
{
	u64 entry = 0;

	must(wait_for(kgni_ring_pop(&ring, &entry) == KGNI_RING_ENTRY), "no event");
	return entry;
}

/* Two events and no more; one that tells of a source that went away. */
static void undo_post(void)
{
	unsigned int events = 0;
	u64 entry;

	while (events < 2 && !kgni_cqe_status(pop()))
		events++;
	ok(events == 2 || nth_crippled, "%u events", events);
	ok(kgni_ring_pop(&ring, &entry) != KGNI_RING_ENTRY, "one event more");
}

#define POST_ROW(id, text, ...)						\
	static const struct row row_##id = {				\
		.name = "POST, " text, .setup = setup_##id,		\
		.call = call_post, .undo = undo_post, ##__VA_ARGS__	\
	}
#define POST(id, text, type, length, ...)				\
	static void setup_##id(void)					\
	{								\
		setup_post(type, length);				\
	}								\
	POST_ROW(id, text, ##__VA_ARGS__)

/* No memory now is no resource; what can't be read is no source. */
#define POST_CODES	.nomem = GNI_RC_ERROR_RESOURCE, .also = GNI_RC_INVALID_PARAM

/* On the stack; in memory of its own, which may be missing; and in pieces. */
POST(put_small, "FMA put, 64 bytes", GNI_POST_FMA_PUT, 64, .has = COPIES, POST_CODES);
POST(put, "FMA put, 2 KiB", GNI_POST_FMA_PUT, 2048, .has = ALLOCATES, POST_CODES);
POST(put_large, "FMA put, 96 KiB", GNI_POST_FMA_PUT, 24 * PAGE, .has = COPIES, POST_CODES);
POST_ROW(flag, "FMA put with flag", .has = COPIES, POST_CODES);
POST(get, "FMA get", GNI_POST_FMA_GET, 2048, .has = COPIES);
POST_ROW(amo, "AMO", .has = COPIES);
POST(cqwrite, "CQ write", GNI_POST_CQWRITE, 0, .has = COPIES);
POST(rdma_put_small, "RDMA put, 64 bytes", GNI_POST_RDMA_PUT, 64, .has = COPIES);
POST(rdma_put, "RDMA put, 96 KiB", GNI_POST_RDMA_PUT, 24 * PAGE, .has = ALLOCATES, POST_CODES);
POST(rdma_get, "RDMA get, 96 KiB", GNI_POST_RDMA_GET, 24 * PAGE, .has = ALLOCATES, POST_CODES);

static struct kgni_ioc_post chain[3];
static struct kgni_ioc_post_chain chain_arg = {
	.posts = (uint64_t)chain, .count = ARRAY_SIZE(chain),
};

/* The sources of all are read beforehand, and the first one tells of all. */
static void setup_chain(void)
{
	unsigned int i;

	setup_post(GNI_POST_FMA_PUT, 2048);
	for (i = 0; i < ARRAY_SIZE(chain); i++) {
		chain[i] = post_arg;
		if (i) {
			chain[i].src_cq = 0;
			chain[i].cq_mode = 0;
		}
	}
}

static long call_chain(void)
{
	return do_ioctl(fd, KGNI_IOC_POST_CHAIN, &chain_arg);
}

static const struct row row_chain = {
	.name = "POST_CHAIN", .setup = setup_chain, .call = call_chain, .undo = undo_post,
	.has = ALLOCATES, POST_CODES,
};

/* --- RDMA in a worker ---------------------------------------------------------- */

/*
 * What a worker does, no task's fail-nth counts but its own. All workers that may
 * take the copy get one that they don't reach; what is gone from it where the copy
 * was made is the number of points. There are none. A worker may do something for
 * others in between, hence several attempts.
 */
#define FAR		1000000
#define ATTEMPTS	20

static bool read_proc(const char *pid, const char *name, char *text, size_t size)
{
	char path[300];
	ssize_t got;
	int in;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	in = open(path, O_RDONLY);
	if (in < 0)
		return false;
	got = read(in, text, size - 1);
	close(in);
	text[got > 0 ? got : 0] = 0;
	return got > 0;
}

static void fail_nth_of(const char *pid, int n)
{
	char path[300], text[16];
	int out, len = snprintf(text, sizeof(text), "%d", n);

	snprintf(path, sizeof(path), "/proc/%.20s/fail-nth", pid);
	out = open(path, O_WRONLY);
	if (out < 0)
		return;
	ok(write(out, text, len) == len);
	close(out);
}

/* Calls fn for each worker that serves no CPU of its own. */
static void for_workers(void (*fn)(const char *pid, const char *comm))
{
	char comm[64];
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	must(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    read_proc(entry->d_name, "comm", comm, sizeof(comm)) &&
		    !strncmp(comm, "kworker/u", 9))
			fn(entry->d_name, comm);
	}
	closedir(dir);
}

static void worker_far(const char *pid, const char *comm)
{
	(void)comm;
	fail_nth_of(pid, FAR);
}

static void worker_off(const char *pid, const char *comm)
{
	(void)comm;
	fail_nth_of(pid, 0);
}

static int copiers, passed;

static void worker_look(const char *pid, const char *comm)
{
	char text[16];

	if (!strstr(comm, "kgni_bte") || !read_proc(pid, "fail-nth", text, sizeof(text)) ||
	    !atoi(text))
		return;
	copiers++;
	passed += FAR - atoi(text);
}

static bool copied_without_points(void)
{
	for_workers(worker_far);
	must(!call_post());
	undo_post();
	copiers = 0;
	passed = 0;
	for_workers(worker_look);
	for_workers(worker_off);
	return copiers && !passed;
}

static void test_worker(void)
{
	const unsigned int none[KINDS] = { 0 };
	unsigned int i;

	setup_post(GNI_POST_RDMA_PUT, 24 * PAGE);
	for (i = 0; i < ATTEMPTS && !copied_without_points(); i++)
		;
	ok(i < ATTEMPTS, "%d workers had the queue's work and %d points", copiers, passed);
	nth_result("RDMA in its worker", none);
}

/* --- datagrams ----------------------------------------------------------------- */

#define EP	7

static struct kgni_ioc_dgram_post dgram;
static struct kgni_ioc_dgram_test test;
static struct kgni_ioc_dgram_probe probe;
static struct kgni_ioc_dgram_cancel cancel;

static void prepare_bound(void)
{
	dgram = (struct kgni_ioc_dgram_post){
		.ep = EP, .flags = KGNI_DGRAM_BOUND, .remote_pe = attach.pe,
		.remote_id = NOBODY, .length = 4, .buf_size = 4, .data = "data",
	};
	test = (struct kgni_ioc_dgram_test){ .ep = EP };
	probe = (struct kgni_ioc_dgram_probe){ 0 };
	cancel = (struct kgni_ioc_dgram_cancel){ .ep = EP };
}

static long call_dgram_post(void)
{
	return do_ioctl(fd, KGNI_IOC_DGRAM_POST, &dgram);
}

static long call_dgram_test(void)
{
	return do_ioctl(fd, KGNI_IOC_DGRAM_TEST, &test);
}

static long call_dgram_probe(void)
{
	return do_ioctl(fd, KGNI_IOC_DGRAM_PROBE, &probe);
}

static long call_dgram_cancel(void)
{
	return do_ioctl(fd, KGNI_IOC_DGRAM_CANCEL, &cancel);
}

/* There is no datagram of the endpoint any more. */
static void no_dgram(void)
{
	must(call_dgram_test() == GNI_RC_NO_MATCH);
	must(call_dgram_probe() == GNI_RC_NO_MATCH);
}

static void consume(uint32_t state)
{
	must(!call_dgram_test());
	is_u64(test.state, state);
	no_dgram();
}

static void undo_bound(void)
{
	must(!call_dgram_cancel());
	consume(GNI_POST_TERMINATED);
}

static const struct row row_dgram_post = {
	.name = "DGRAM_POST", .setup = setup_member, .prepare = prepare_bound,
	.call = call_dgram_post, .undo = undo_bound, .has = ALLOCATES,
};

/* To itself: the wildcard of one endpoint and the bound datagram of another. */
static void prepare_match(void)
{
	prepare_bound();
	dgram.ep = EP + 1;
	dgram.flags = 0;
	must(!call_dgram_post());
	prepare_bound();
	dgram.remote_id = attach.inst_id;
}

static void undo_match(void)
{
	test.ep = EP + 1;
	must(!call_dgram_test());
	is_u64(test.state, GNI_POST_COMPLETED);
	ok(!memcmp(test.data, "data", 4));
	test.ep = EP;
	consume(GNI_POST_COMPLETED);
	ok(test.length == 0);
}

static const struct row row_dgram_match = {
	.name = "DGRAM_POST, a match", .setup = setup_member, .prepare = prepare_match,
	.call = call_dgram_post, .undo = undo_match, .has = ALLOCATES,
};

static void prepare_pending(void)
{
	prepare_bound();
	must(!call_dgram_post());
}

static const struct row row_dgram_pending = {
	.name = "DGRAM_TEST, pending", .setup = setup_member, .prepare = prepare_pending,
	.call = call_dgram_test, .undo = undo_bound, .has = COPIES,
};

static void prepare_done(void)
{
	prepare_match();
	must(!call_dgram_post());
	test.ep = EP + 1;
}

static void undo_test(void)
{
	is_u64(test.state, GNI_POST_COMPLETED);
	ok(!memcmp(test.data, "data", 4));
	test.ep = EP;
	consume(GNI_POST_COMPLETED);
}

static const struct row row_dgram_test = {
	.name = "DGRAM_TEST, completed", .setup = setup_member, .prepare = prepare_done,
	.call = call_dgram_test, .undo = undo_test, .has = COPIES,
};

static void prepare_terminated(void)
{
	prepare_pending();
	must(!call_dgram_cancel());
}

static void undo_probe(void)
{
	is_u64(probe.remote_id, NOBODY);
	consume(GNI_POST_TERMINATED);
}

static const struct row row_dgram_probe = {
	.name = "DGRAM_PROBE", .setup = setup_member, .prepare = prepare_terminated,
	.call = call_dgram_probe, .undo = undo_probe, .has = COPIES,
};

static void prepare_orphan(void)
{
	prepare_pending();
	cancel.flags = KGNI_DGRAM_EP_GONE;
	must(!call_dgram_cancel());
}

static void undo_orphan(void)
{
	is_u64(probe.remote_id, NOBODY);
	no_dgram();
}

static const struct row row_dgram_orphan = {
	.name = "DGRAM_PROBE, endpoint gone", .setup = setup_member,
	.prepare = prepare_orphan, .call = call_dgram_probe, .undo = undo_orphan,
	.has = COPIES,
};

static void undo_terminated(void)
{
	consume(GNI_POST_TERMINATED);
}

static const struct row row_dgram_cancel = {
	.name = "DGRAM_CANCEL", .setup = setup_member, .prepare = prepare_pending,
	.call = call_dgram_cancel, .undo = undo_terminated, .has = COPIES,
};

/* --- the end of a file --------------------------------------------------------- */

static int doomed;

/* An attachment with something of everything, and what is under way. */
static void prepare_close(void)
{
	int member = fd;

	prepare_attach();
	must(!call_attach());
	must(!call_get_ptag());
	prepare_destroy();
	must_ioctl(fd, KGNI_IOC_MEM_REGISTER, &reg);
	prepare_pending();
	post_arg.src_cq = create.id;
	must(!call_post());
	doomed = fd;
	fd = member;
}

static void setup_close(void)
{
	setup_post(GNI_POST_RDMA_PUT, 24 * PAGE);
	reg = (struct kgni_ioc_mem_register){
		.addr = (uint64_t)memory, .length = REGION, .vmdh_index = ~0U,
	};
}

static long call_close(void)
{
	return close(doomed) ? -errno : 0;
}

static const struct row row_close = {
	.name = "close", .setup = setup_close, .prepare = prepare_close, .call = call_close,
};

/* --- the library's calls ------------------------------------------------------- */

#define LIBRARY	.nomem = GNI_RC_ERROR_NOMEM, .fault = GNI_RC_INVALID_PARAM

static struct nic nic;
static gni_ep_handle_t ep;
static struct region region;
static gni_post_descriptor_t descr;

static void setup_nic(void)
{
	uint8_t tag;

	nic_open(&nic, 0, 1);
	ep = ep_open(&nic, nic.pe, 1);
	region_open(&nic, map_private(REGION), REGION, nic.rx, 0, &region);
	must_do(GNI_GetPtag(0, COOKIE, &tag));
	nth_ptag = tag;
}

static gni_cdm_handle_t cdm;

static void setup_cdm(void)
{
	must_do(GNI_CdmCreate(2, GNI_FIND_ALLOC_PTAG, OTHER_COOKIE, 0, &cdm));
}

static long lib_attach(void)
{
	gni_nic_handle_t h;
	uint32_t pe;

	return GNI_CdmAttach(cdm, 0, &pe, &h);
}

static void lib_detach(void)
{
	must_do(GNI_CdmDestroy(cdm));
	setup_cdm();
}

/* A device that can't be asked what it is, is none. */
static const struct row row_lib_attach = {
	.name = "GNI_CdmAttach", .setup = setup_cdm, .call = lib_attach, .undo = lib_detach,
	.also = GNI_RC_NO_MATCH, .has = ALLOCATES, LIBRARY,
};

static gni_cq_handle_t lib_cq;

static long lib_cq_create(void)
{
	return GNI_CqCreate(nic.h, 2000, 0, GNI_CQ_BLOCKING, NULL, NULL, &lib_cq);
}

static void lib_cq_destroy(void)
{
	must_do(GNI_CqDestroy(lib_cq));
}

static const struct row row_lib_cq_create = {
	.name = "GNI_CqCreate", .setup = setup_nic, .call = lib_cq_create,
	.undo = lib_cq_destroy, .has = ALLOCATES | BIT(KIND_PAGE), LIBRARY,
};

static gni_mem_handle_t lib_mh;

static void setup_lib_register(void)
{
	setup_nic();
	reg.length = 600 * PAGE;
	reg.addr = (uint64_t)map_private(reg.length);
	memset((void *)reg.addr, 1, reg.length);
}

static long lib_register(void)
{
	return GNI_MemRegister(nic.h, reg.addr, reg.length, nic.rx, 0, -1, &lib_mh);
}

static void lib_deregister(void)
{
	must_do(GNI_MemDeregister(nic.h, &lib_mh));
}

static const struct row row_lib_register = {
	.name = "GNI_MemRegister", .setup = setup_lib_register, .call = lib_register,
	.undo = lib_deregister, .has = PINS, LIBRARY,
};

static void setup_lib_dgram(void)
{
	setup_nic();
	must_do(GNI_EpUnbind(ep));
	must_do(GNI_EpBind(ep, nic.pe, NOBODY));
}

static long lib_dgram(void)
{
	return GNI_EpPostDataWId(ep, "data", 4, NULL, 0, 5);
}

static void lib_dgram_cancel(void)
{
	gni_post_state_t state;
	uint32_t pe, id;

	must_do(GNI_EpPostDataCancelById(ep, 5));
	must_do(GNI_EpPostDataTestById(ep, 5, &state, &pe, &id));
}

static const struct row row_lib_dgram = {
	.name = "GNI_EpPostDataWId", .setup = setup_lib_dgram, .call = lib_dgram,
	.undo = lib_dgram_cancel, .has = ALLOCATES, LIBRARY,
};

static long lib_post(void)
{
	return post(ep, &descr);
}

static void lib_complete(void)
{
	gni_return_t rc = complete(nic.tx, &descr, NULL);

	/* A source that can't be read to its end. */
	ok(rc == GNI_RC_SUCCESS || (nth_crippled && rc == GNI_RC_TRANSACTION_ERROR), "%s",
	   rc_name(rc));
}

/* The library's own memory comes with the first post. */
static void setup_lib_put(void)
{
	unsigned char *src = map_private(PAGE);

	/* By the driver; a window allocates nothing. */
	must(!setenv("UGNI_WINDOWS", "0", 1));
	setup_nic();
	memset(src, 1, PAGE);
	desc_init(&descr, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&descr, src, NULL, &region, 0, PAGE / 2);
	must(!lib_post());
	lib_complete();
}

static const struct row row_lib_put = {
	.name = "GNI_PostFma", .setup = setup_lib_put, .call = lib_post,
	.undo = lib_complete, .nomem = GNI_RC_ERROR_RESOURCE,
	.fault = GNI_RC_INVALID_PARAM, .has = ALLOCATES,
};

static void setup_lib_rdma(void)
{
	setup_nic();
	desc_init(&descr, GNI_POST_RDMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&descr, (void *)region.addr, &region.mh, &region, 32 * PAGE, 32 * PAGE);
	must(!lib_post());
	lib_complete();
}

static const struct row row_lib_rdma = {
	.name = "GNI_PostRdma", .setup = setup_lib_rdma, .call = lib_post,
	.undo = lib_complete, .nomem = GNI_RC_ERROR_RESOURCE,
	.fault = GNI_RC_INVALID_PARAM, .has = ALLOCATES,
};

static gni_cq_handle_t many[MANY];

static void setup_lib_monitor(void)
{
	unsigned int i;

	setup_nic();
	for (i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = cq_open(&nic, 8, GNI_CQ_BLOCKING);
}

static long lib_monitor(void)
{
	uint32_t which;
	gni_return_t rc = GNI_CqVectorMonitor(many, ARRAY_SIZE(many), 1, &which);

	return rc == GNI_RC_TIMEOUT ? 0 : rc;
}

static const struct row row_lib_monitor = {
	.name = "GNI_CqVectorMonitor", .setup = setup_lib_monitor, .call = lib_monitor,
	.has = ALLOCATES, LIBRARY,
};

/* --- the module ---------------------------------------------------------------- */

static int ko;

static void setup_ko(void)
{
	struct utsname name;
	char path[200];

	must(!uname(&name));
	snprintf(path, sizeof(path), "/lib/modules/%s/extra/kgni.ko", name.release);
	ko = open(path, O_RDONLY);
	must(ko >= 0, "%s", path);
}

static long call_load(void)
{
	return syscall(SYS_finit_module, ko, "nics=2", 0) ? -errno : 0;
}

/* What the kernel does before it asks the module, which wants no such number. */
static void load_refused(void)
{
	must(syscall(SYS_finit_module, ko, "nics=0", 0) && errno == EINVAL);
}

static long call_unload(void)
{
	return syscall(SYS_delete_module, "kgni", O_NONBLOCK) ? -errno : 0;
}

static void must_load(void)
{
	must(!call_load());
}

static void must_unload(void)
{
	must(!call_unload());
}

static bool word_in(const char *path, const char *word)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(path, "r");

	must(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	fclose(f);
	return found;
}

static void count_module(struct counters *c)
{
	nth_count(c, "modules", word_in("/proc/modules", "kgni "));
	nth_count(c, "character devices", word_in("/proc/devices", " kgni"));
	nth_count(c, "slabs", word_in("/proc/slabinfo", "kgni_bte_req"));
	nth_count(c, "folder of the module", !access("/sys/module/kgni", F_OK));
	nth_count(c, "class", !access("/sys/class/gni", F_OK));
	nth_count(c, "folder of a device", !access("/sys/devices/virtual/gni", F_OK));
	nth_count(c, "file of a device", !access("/dev/kgni0", F_OK));
}

static const struct row row_load = {
	.name = "finit_module", .setup = setup_ko, .call = call_load, .undo = must_unload,
	.count = count_module, .outside = load_refused, .has = ALLOCATES | BIT(KIND_PAGE),
	.once = true,
};

static const struct row row_unload = {
	.name = "delete_module", .setup = setup_ko, .prepare = must_load,
	.call = call_unload, .count = count_module, .has = COPIES,
};

/* --- error queues --------------------------------------------------------------- */

static struct kgni_ioc_err_subscribe subscribe;
static struct kgni_error_event err_event;

static void prepare_subscribe(void)
{
	subscribe = (struct kgni_ioc_err_subscribe){ .mask = 0xff };
}

static long call_subscribe(void)
{
	return do_ioctl(fd, KGNI_IOC_ERR_SUBSCRIBE, &subscribe);
}

static void undo_subscribe(void)
{
	struct kgni_ioc_err_release arg = { .id = subscribe.id };

	must_ioctl(fd, KGNI_IOC_ERR_RELEASE, &arg);
}

static const struct row row_err_subscribe = {
	.name = "ERR_SUBSCRIBE", .setup = setup_member, .prepare = prepare_subscribe,
	.call = call_subscribe, .undo = undo_subscribe, .has = ALLOCATES,
};

static void prepare_err_event(void)
{
	struct kgni_ioc_post none = { .type = GNI_POST_CQWRITE, .remote_pe = ~0U };

	prepare_subscribe();
	must(!call_subscribe());
	must_ioctl(fd, KGNI_IOC_POST, &none);
}

/* An event that could not be told is there when the call is made again. */
static long call_err_wait(void)
{
	uint32_t count = 0;
	struct kgni_ioc_err_wait arg = {
		.id = subscribe.id, .max = 1,
		.events = (uint64_t)&err_event, .count = (uint64_t)&count,
	};
	long rc = do_ioctl(fd, KGNI_IOC_ERR_WAIT, &arg);

	if (!rc) {
		is_u64(count, 1);
		is_u64(err_event.serial, 1);
	}
	return rc;
}

static const struct row row_err_wait = {
	.name = "ERR_WAIT", .setup = setup_member, .prepare = prepare_err_event,
	.call = call_err_wait, .undo = undo_subscribe, .has = COPIES,
	.also = GNI_RC_PERMISSION_ERROR,
};

static long call_err_set(void)
{
	struct kgni_ioc_err_set arg = {
		.id = subscribe.id, .what = KGNI_ERR_SET_MASK, .value = 1,
	};

	return do_ioctl(fd, KGNI_IOC_ERR_SET, &arg);
}

static const struct row row_err_set = {
	.name = "ERR_SET", .setup = setup_member, .prepare = prepare_err_event,
	.call = call_err_set, .undo = undo_subscribe, .has = COPIES,
};

static long call_err_release(void)
{
	struct kgni_ioc_err_release arg = { .id = subscribe.id };

	return do_ioctl(fd, KGNI_IOC_ERR_RELEASE, &arg);
}

static const struct row row_err_release = {
	.name = "ERR_RELEASE", .setup = setup_member, .prepare = prepare_err_event,
	.call = call_err_release, .has = COPIES,
};

/* --- jobs and their addresses ----------------------------------------------------- */

static struct kgni_ntt_entry ntt_entry = { .block = 1 };
static struct kgni_ioc_ntt ntt;
static struct kgni_ioc_job job;

static void prepare_ntt(void)
{
	ntt = (struct kgni_ioc_ntt){
		.entries = (uint64_t)&ntt_entry, .count = 1, .base = ~0U, .granularity = 1,
	};
}

static long call_ntt(void)
{
	return do_ioctl(fd, KGNI_IOC_NTT_CONFIGURE, &ntt);
}

static void undo_ntt(void)
{
	struct kgni_ioc_ntt clear = { .count = ~0U, .base = ~0U };

	/* One that was set and could not be told of is none. */
	is_u64(ntt.base, 0);
	must_ioctl(fd, KGNI_IOC_NTT_CONFIGURE, &clear);
}

static const struct row row_ntt_configure = {
	.name = "NTT_CONFIGURE", .setup = open_fd, .prepare = prepare_ntt, .call = call_ntt,
	.undo = undo_ntt, .has = ALLOCATES,
};

static void prepare_job(void)
{
	job = raw_job(1, 77, OTHER_COOKIE);
}

static long call_job(void)
{
	return do_ioctl(fd, KGNI_IOC_JOB_CONFIGURE, &job);
}

static void undo_job(void)
{
	struct kgni_ioc_attach a = { .ptag = 77, .cookie = OTHER_COOKIE };
	int member = raw_open(0);

	must_ioctl(member, KGNI_IOC_ATTACH, &a);
	must(!close(member));
}

static const struct row row_job_configure = {
	.name = "JOB_CONFIGURE", .setup = open_fd, .prepare = prepare_job, .call = call_job,
	.undo = undo_job, .has = ALLOCATES,
};

static struct kgni_ioc_suspend suspend;

static long call_suspend(void)
{
	suspend = (struct kgni_ioc_suspend){ .ptag = nth_ptag, .cookie = OTHER_COOKIE };
	return do_ioctl(fd, KGNI_IOC_JOB_SUSPEND, &suspend);
}

static void undo_suspend(void)
{
	suspend.flags = KGNI_SUSPEND_RESUME;
	must_ioctl(fd, KGNI_IOC_JOB_SUSPEND, &suspend);
}

static const struct row row_job_suspend = {
	.name = "JOB_SUSPEND", .setup = setup_member, .call = call_suspend, .undo = undo_suspend,
	.has = COPIES,
};

static long call_bi_set(void)
{
	struct kgni_ioc_bi_set arg = { .bw = 100, .modes = GNI_BI_FLAG_APPLY_NOW };

	return do_ioctl(fd, KGNI_IOC_BI_SET, &arg);
}

static const struct row row_bi_set = {
	.name = "BI_SET", .setup = open_fd, .call = call_bi_set, .has = COPIES,
};

static long call_bi_get(void)
{
	struct kgni_ioc_bi_get arg;

	return do_ioctl(fd, KGNI_IOC_BI_GET, &arg);
}

static const struct row row_bi_get = {
	.name = "BI_GET", .setup = open_fd, .call = call_bi_get, .has = COPIES,
};

static long call_bi_wait(void)
{
	struct kgni_ioc_bi_wait arg = { .timeout_ms = PATIENCE };

	return do_ioctl(fd, KGNI_IOC_BI_WAIT, &arg);
}

static const struct row row_bi_wait = {
	.name = "BI_WAIT", .setup = open_fd, .call = call_bi_wait, .has = COPIES,
};

/* --- the collective engine ------------------------------------------------------ */

static struct kgni_ioc_ce_create ce_create;
static struct kgni_ce_edge ce_edges[2];
static struct kgni_ioc_ce_configure ce_configure;
static struct kgni_ioc_ce_post ce_post;

static long call_ce_create(void)
{
	return do_ioctl(fd, KGNI_IOC_CE_CREATE, &ce_create);
}

static long call_ce_destroy(void)
{
	struct kgni_ioc_ce_destroy arg = { .id = ce_create.id };

	return do_ioctl(fd, KGNI_IOC_CE_DESTROY, &arg);
}

static void prepare_ce(void)
{
	must(!call_ce_create());
}

static void undo_ce(void)
{
	is_u64(ce_create.id, 0);
	must(!call_ce_destroy());
}

static const struct row row_ce_create = {
	.name = "CE_CREATE", .setup = setup_member, .call = call_ce_create, .undo = undo_ce,
	.has = ALLOCATES,
};

static const struct row row_ce_destroy = {
	.name = "CE_DESTROY", .setup = setup_member, .prepare = prepare_ce,
	.call = call_ce_destroy, .has = COPIES,
};

/* A channel whose two leaves are this process. */
static void setup_ce(void)
{
	unsigned int i;

	setup_attached();
	prepare_ce();
	for (i = 0; i < ARRAY_SIZE(ce_edges); i++)
		ce_edges[i] = (struct kgni_ce_edge){
			.pe = attach.pe, .id = attach.inst_id, .child = i, .type = GNI_CE_CHILD_PE,
		};
	ce_configure = (struct kgni_ioc_ce_configure){
		.children = (uint64_t)ce_edges, .count = ARRAY_SIZE(ce_edges), .cq = cq.id,
		.id = ce_create.id,
	};
	ce_post = (struct kgni_ioc_ce_post){
		.cmd = GNI_FMA_CE_IADD, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .src_cq = cq.id,
		.src_event = 1, .remote_pe = attach.pe, .result = (uint64_t)memory,
		.local = handle, .red_id = 1,
	};
}

static long call_ce_configure(void)
{
	return do_ioctl(fd, KGNI_IOC_CE_CONFIGURE, &ce_configure);
}

static const struct row row_ce_configure = {
	.name = "CE_CONFIGURE", .setup = setup_ce, .call = call_ce_configure, .has = ALLOCATES,
};

static void setup_ce_tree(void)
{
	setup_ce();
	must(!call_ce_configure());
}

static long ce_post_as(unsigned int child)
{
	ce_post.child = child;
	return do_ioctl(fd, KGNI_IOC_CE_POST, &ce_post);
}

static void ce_events(void)
{
	uint64_t e;

	while (kgni_ring_pop(&ring, &e) == KGNI_RING_ENTRY)
		is_u64(kgni_cqe_status(e), KGNI_ST_OK);
}

static long call_ce_first(void)
{
	return ce_post_as(0);
}

static void undo_ce_first(void)
{
	must(!ce_post_as(1));
	ce_events();
}

static const struct row row_ce_first = {
	.name = "CE_POST, the first", .setup = setup_ce_tree, .call = call_ce_first,
	.undo = undo_ce_first, .nomem = GNI_RC_ERROR_RESOURCE, .has = ALLOCATES,
};

static void prepare_ce_last(void)
{
	must(!ce_post_as(0));
}

static long call_ce_last(void)
{
	return ce_post_as(1);
}

static const struct row row_ce_last = {
	.name = "CE_POST, the last", .setup = setup_ce_tree, .prepare = prepare_ce_last,
	.call = call_ce_last, .undo = ce_events, .nomem = GNI_RC_ERROR_RESOURCE,
	.has = ALLOCATES,
};

/* One that fails at the channel, and needs memory to tell so. */
static long call_ce_nowhere(void)
{
	return ce_post_as(31);
}

static void undo_ce_nowhere(void)
{
	uint64_t e = 0;

	must(kgni_ring_pop(&ring, &e) == KGNI_RING_ENTRY);
	is_u64(kgni_cqe_status(e), KGNI_ST_NO_CE);
}

static const struct row row_ce_nowhere = {
	.name = "CE_POST, to nowhere", .setup = setup_ce_tree, .call = call_ce_nowhere,
	.undo = undo_ce_nowhere, .nomem = GNI_RC_ERROR_RESOURCE, .has = ALLOCATES,
};

/* --- tables -------------------------------------------------------------------- */

#define ROWS(row)							\
	row(open) row(close) row(info) row(attach) row(attach_member)	\
	row(get_ptag) row(res_device) row(res_job) row(cq_create)	\
	row(cq_destroy) row(cq_wait) row(cq_sleep) row(mmap)		\
	row(munmap) row(touch) row(register) row(register_fresh)	\
	row(register_read_only) row(register_segments)			\
	row(register_update) row(register_clone) row(mem_next)		\
	row(mdd_block) row(cq_notify) row(cq_wake) row(cq_owed)		\
	row(window_open)						\
	row(chain) row(deregister) row(put_small) row(put)		\
	row(put_large) row(flag) row(get) row(amo) row(cqwrite)		\
	row(rdma_put_small) row(rdma_put) row(rdma_get)			\
	row(dgram_post) row(dgram_match) row(dgram_pending)		\
	row(dgram_test) row(dgram_probe) row(dgram_orphan)		\
	row(dgram_cancel) row(err_subscribe) row(err_wait)		\
	row(err_set) row(err_release) row(ntt_configure)		\
	row(ce_create) row(ce_destroy) row(ce_configure) row(ce_first)	\
	row(ce_last) row(ce_nowhere)					\
	row(job_configure) row(job_suspend) row(bi_set) row(bi_get)	\
	row(bi_wait) row(lib_attach) row(lib_cq_create)		\
	row(lib_register) row(lib_dgram) row(lib_put) row(lib_rdma)	\
	row(lib_monitor)
#define MODULE_ROWS(row)	row(load) row(unload)

#define FUNCTION(id)	static void test_##id(void) { nth_run(&row_##id); }
#define TEST(id)	{ .name = #id, .fn = test_##id, .seconds = 240 },

ROWS(FUNCTION)
MODULE_ROWS(FUNCTION)

static const struct test tests[] = {
	ROWS(TEST)
	CASE("RDMA in its worker", test_worker),
};

static const struct test module_tests[] = {
	MODULE_ROWS(TEST)
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "load"))
		return nth_main(1, argv, module_tests, ARRAY_SIZE(module_tests));
	return nth_main(argc, argv, tests, ARRAY_SIZE(tests));
}
