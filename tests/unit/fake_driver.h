/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A driver for tests of the library: it stands in for lib/sys.c, and all of
 * its peers are in this process, so remote addresses are plain addresses and
 * a memory handle has the id of the queue behind the region where others have the
 * number of the registration; tests may give that id alone. It carries
 * out FMA puts, CQ writes, and gets with KGNI_POST_REPORT; other posts it only
 * answers.
 */
#ifndef _KGNI_FAKE_DRIVER_H
#define _KGNI_FAKE_DRIVER_H

#include "unit.h"
#include "ugni.h"

#include <errno.h>
#include <unistd.h>

#define FAKE_FD		1000
/* What in_link() may answer. */
#define FAKE_LOST	1	/* nothing arrives */
#define FAKE_ACK_LOST	2	/* all of it arrives, and nobody knows */
#define FAKE_CQS	64

struct fake_cq {
	bool notify;
	bool used;
	u32 slots;
	u32 mode;
	void *mem;
	struct kgni_ring_view view;
};

static struct {
	pthread_mutex_t lock;
	u32 devices;
	u32 device_type;
	u32 abi;
	int open_files;
	int mappings;			/* made, less those given back */
	int attach_answer;
	int post_answer;		/* if not 0, for every post */
	bool post_silent;		/* accept, deliver no event yet */
	u32 post_status;		/* how transactions end */
	int wait_answer;		/* if not 0, for every wait */
	bool owed;			/* posts are under way */
	unsigned int calls;
	unsigned int waits;
	struct kgni_ioc_post last;
	struct kgni_ioc_dgram_post dgram;
	struct kgni_ioc_dgram_test dgram_test;
	struct kgni_ioc_dgram_cancel dgram_cancel;
	struct kgni_ioc_job job;
	struct kgni_ioc_ntt ntt;
	struct kgni_ntt_entry entries[4];	/* of the last table */
	struct kgni_ioc_attach attach;
	struct kgni_ioc_ce_configure ce_configure;
	struct kgni_ce_edge ce_edges[32];
	struct kgni_ioc_ce_post ce_post;
	u32 ces;				/* channels made, less those destroyed */
	int ce_answer;
	int dgram_answer;
	int eventfd_answer;
	unsigned int told;
	unsigned int wakes;
	u32 chain;
	void (*in_post)(const struct kgni_ioc_post *arg);
	void (*in_wait)(void);
	void (*in_owed)(void);
	void *(*map)(u64 offset, u64 length);	/* of windows, with the next */
	int (*window)(struct kgni_ioc_window_open *arg);
	unsigned int window_closes;
	unsigned int window_wakes;
	struct kgni_ioc_window_wake woken;
	void (*in_window_wake)(void);
	int (*in_link)(const struct kgni_ioc_post *arg);	/* does its way fail */
	struct fake_cq cq[FAKE_CQS];
} fake = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .devices = 1, .device_type = GNI_DEVICE_ARIES,
	.abi = KGNI_ABI_VERSION,
};

bool ugni_sys_exists(u32 device)
{
	return device < fake.devices;
}

int ugni_sys_open(u32 device)
{
	if (device >= fake.devices)
		return -ENOENT;
	return FAKE_FD + 100 * (int)device + __atomic_fetch_add(&fake.open_files, 1,
								__ATOMIC_RELAXED);
}

void ugni_sys_close(int fd)
{
	(void)fd;
	__atomic_fetch_sub(&fake.open_files, 1, __ATOMIC_RELAXED);
}

void *ugni_sys_map(int fd, u64 offset, u64 length, int *error)
{
	(void)fd;
	(void)length;
	*error = -ENOMEM;
	__atomic_fetch_add(&fake.mappings, !!offset, __ATOMIC_RELAXED);
	return offset ? fake.cq[offset].mem : NULL;
}

void ugni_sys_vacate(void *mem, u64 length)
{
	(void)mem;
	(void)length;
	__atomic_fetch_sub(&fake.mappings, 1, __ATOMIC_RELAXED);
}

void ugni_sys_unmap(void *mem, u64 length)
{
	(void)mem;
	(void)length;
}

void *ugni_sys_window(int fd, u64 offset, u64 length, bool write)
{
	(void)fd;
	(void)write;
	return fake.map ? fake.map(offset, length) : NULL;
}

bool ugni_sys_readable(u64 addr, u64 length)
{
	(void)length;
	return addr >= 65536;
}

/* What UGNI_DEBUG printed last, and how many lines there were. */
static char fake_line[512];
static u32 fake_lines;
static void (*fake_each_line)(const char *line);

void ugni_sys_print(const char *line, size_t length)
{
	pthread_mutex_lock(&fake.lock);
	assert_true(length < sizeof(fake_line) && line[length - 1] == '\n');
	memcpy(fake_line, line, length);
	fake_line[length - 1] = '\0';
	fake_lines++;
	if (fake_each_line)
		fake_each_line(fake_line);
	pthread_mutex_unlock(&fake.lock);
}

/* One count stands for all completion channels. */
int ugni_sys_eventfd(void)
{
	if (fake.eventfd_answer)
		return fake.eventfd_answer;
	return FAKE_FD + __atomic_fetch_add(&fake.open_files, 1, __ATOMIC_RELAXED);
}

void ugni_sys_eventfd_add(int fd)
{
	(void)fd;
	__atomic_fetch_add(&fake.told, 1, __ATOMIC_RELAXED);
}

bool ugni_sys_eventfd_take(int fd)
{
	unsigned int told = __atomic_load_n(&fake.told, __ATOMIC_RELAXED);

	(void)fd;
	while (told && !__atomic_compare_exchange_n(&fake.told, &told, told - 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return told;
}

static inline struct fake_cq *fake_cq(u32 id)
{
	return id && id < FAKE_CQS && fake.cq[id].used ? &fake.cq[id] : NULL;
}

static inline bool fake_push(u32 id, u64 entry)
{
	struct fake_cq *cq = fake_cq(id);
	bool pushed;

	if (!cq || cq->mode & GNI_CQ_UNMANAGED)
		return false;
	pushed = kgni_ring_push(&cq->view, entry);
	if (cq->notify && !kgni_ring_masked(&cq->view) && kgni_ring_notify_disarm(&cq->view))
		ugni_sys_eventfd_add(FAKE_FD);
	return pushed;
}

static inline int fake_cq_create(struct kgni_ioc_cq_create *a)
{
	struct fake_cq *cq;
	u32 id = 1;

	if (!a->entries || a->mode & ~(u32)(GNI_CQ_BLOCKING | GNI_CQ_UNMANAGED))
		return GNI_RC_INVALID_PARAM;
	while (id < FAKE_CQS && fake.cq[id].used)
		id++;
	if (id == FAKE_CQS)
		return GNI_RC_ERROR_RESOURCE;
	cq = &fake.cq[id];
	for (cq->slots = 1; cq->slots < a->entries;)
		cq->slots *= 2;
	cq->mode = a->mode;
	cq->notify = false;
	cq->used = true;
	a->id = id;
	a->slots = cq->slots;
	a->mmap_offset = id;
	a->mmap_length = KGNI_RING_SLOTS_OFFSET + cq->slots * sizeof(u64);
	cq->mem = aligned_alloc(4096, (a->mmap_length + 4095) & ~4095ULL);
	memset(cq->mem, 0, a->mmap_length);
	kgni_ring_view_init(&cq->view, cq->mem, cq->slots);
	return GNI_RC_SUCCESS;
}

static inline int fake_cq_destroy(u32 id)
{
	struct fake_cq *cq = fake_cq(id);

	if (!cq)
		return GNI_RC_INVALID_PARAM;
	cq->used = false;
	free(cq->mem);
	return GNI_RC_SUCCESS;
}

static inline int fake_cq_wait(struct kgni_ioc_cq_wait *a)
{
	const struct kgni_cq_ref *refs = (void *)(uintptr_t)a->cqs;
	u64 waited;
	u32 i;

	if (fake.in_wait) {
		fake.in_wait();
		return GNI_RC_SUCCESS;
	}
	if (fake.wait_answer)
		return fake.wait_answer;
	for (waited = 0; waited <= a->timeout_ms; waited++) {
		for (i = 0; i < a->count; i++) {
			if (!kgni_ring_ready(&fake_cq(refs[i].id)->view))
				continue;
			a->which = i;
			return GNI_RC_SUCCESS;
		}
		usleep(1000);
	}
	return GNI_RC_TIMEOUT;
}

static inline u32 fake_region_cq(u64 qword1)
{
	return qword1 < FAKE_CQS ? (u32)qword1 : (u32)(qword1 >> 52);
}

/* What was registered here with a queue is there as long as that. */
static inline bool fake_region_gone(const struct kgni_mem_handle *h)
{
	return h->qword1 >> 52 && h->qword2 >> 12 == CORE_BITS(h->qword1, 0, 52) &&
	       !fake_cq((u32)(h->qword1 >> 52));
}

/* Without a flag behind it, what is put may be looked at meanwhile. */
static inline void fake_put_bytes(const struct kgni_ioc_post *a)
{
	const u8 *from = (u8 *)(uintptr_t)a->local_addr;
	u8 *to = (u8 *)(uintptr_t)a->remote_addr;
	u64 i;

	for (i = 0; i < a->length; i++)
		core_store_release(&to[i], core_load(&from[i]));
}

/* The put itself; two ends of a channel see it as they would the driver's. */
static inline void fake_put(const struct kgni_ioc_post *a)
{
	if (a->type == GNI_POST_FMA_GET && a->flags & KGNI_POST_REPORT)
		memcpy((void *)(uintptr_t)a->local_addr, (void *)(uintptr_t)a->remote_addr,
		       a->length);
	if (a->type != GNI_POST_FMA_PUT && a->type != GNI_POST_FMA_PUT_W_SYNCFLAG)
		return;
	if (a->type == GNI_POST_FMA_PUT)
		fake_put_bytes(a);
	else if (a->length)
		memcpy((void *)(uintptr_t)a->remote_addr, (void *)(uintptr_t)a->local_addr,
		       a->length);
	if (a->type == GNI_POST_FMA_PUT_W_SYNCFLAG)
		core_store_release((u64 *)(uintptr_t)a->sync_addr, a->sync_value);
}

static inline void fake_end(const struct kgni_ioc_post *a, int link, u32 status)
{
	enum kgni_cqe_source source = a->type <= GNI_POST_RDMA_GET ? KGNI_CQE_BTE : KGNI_CQE_FMA;
	u64 entry = kgni_cqe_done(a->src_event, source, link ? KGNI_ST_LINK : status);

	if (a->cq_mode & GNI_CQMODE_REMOTE_EVENT && !status && link != FAKE_LOST)
		fake_push(fake_region_cq(a->remote.qword1),
			  kgni_cqe_remote(a->remote_event, a->type, a->flags & KGNI_POST_SMSG ?
					  KGNI_CQE_SMSG : KGNI_CQE_POST));
	if (a->src_cq && a->cq_mode & GNI_CQMODE_LOCAL_EVENT)
		fake_push(a->src_cq, entry | KGNI_CQE_LOCAL);
	if (a->src_cq && a->cq_mode & GNI_CQMODE_GLOBAL_EVENT)
		fake_push(a->src_cq, entry);
}

static inline void fake_events(const struct kgni_ioc_post *a, int link)
{
	fake_end(a, link, fake.post_status);
}

static inline int fake_post(const struct kgni_ioc_post *a)
{
	u32 status = fake.post_status;
	int link;

	if (fake.in_post)
		fake.in_post(a);
	fake.last = *a;
	if (fake.post_answer)
		return fake.post_answer;
	link = fake.in_link ? fake.in_link(a) : 0;
	if (fake_region_gone(&a->remote))
		status = KGNI_ST_MDD_INVALID;
	else if (link != FAKE_LOST)
		fake_put(a);
	if (!fake.post_silent)
		fake_end(a, link, status);
	return link && a->flags & KGNI_POST_REPORT ? GNI_RC_TRANSACTION_ERROR : GNI_RC_SUCCESS;
}

static inline int fake_post_chain(const struct kgni_ioc_post_chain *a)
{
	const struct kgni_ioc_post *posts = (void *)(uintptr_t)a->posts;
	u32 i;

	fake.chain = a->count;
	for (i = a->count; i-- && !fake.post_answer; )
		fake_post(&posts[i]);
	return fake.post_answer;
}

static inline int fake_cq_notify(const struct kgni_ioc_cq_notify *a)
{
	struct fake_cq *cq = fake_cq(a->id);

	if (!cq)
		return GNI_RC_INVALID_PARAM;
	cq->notify = true;
	return GNI_RC_SUCCESS;
}

static inline int fake_info(int fd, struct kgni_ioc_info *info)
{
	memset(info, 0, sizeof(*info));
	info->abi = fake.abi;
	info->device_id = (u32)(fd - FAKE_FD) / 100;
	info->pe = 7 + info->device_id;
	info->device_type = fake.device_type;
	info->cpu = 3;
	info->version = GNI_VERSION;
	info->revision = 42;
	memset(info->build, 'x', sizeof(info->build));	/* not terminated */
	return GNI_RC_SUCCESS;
}

/* A table, for 100 and those behind it. */
static inline int fake_ntt(struct kgni_ioc_ntt *arg)
{
	fake.ntt = *arg;
	memset(fake.entries, 0, sizeof(fake.entries));
	if (arg->entries)
		memcpy(fake.entries, (void *)(uintptr_t)arg->entries,
		       arg->count * sizeof(fake.entries[0]));
	arg->base = 100;
	return GNI_RC_SUCCESS;
}

static inline int fake_job(struct kgni_ioc_job *arg)
{
	fake.job = *arg;
	return arg->flags & KGNI_JOB_NTT ? fake_ntt(&arg->ntt) : GNI_RC_SUCCESS;
}

static inline int fake_call(int fd, unsigned long cmd, void *arg)
{
	struct kgni_ioc_mem_register *reg = arg;
	struct kgni_ioc_dgram_test *test = arg;
	struct kgni_ioc_res *res = arg;

	switch (cmd) {
	case KGNI_IOC_INFO:
		return fake_info(fd, arg);
	case KGNI_IOC_ATTACH:
		fake.attach = *(struct kgni_ioc_attach *)arg;
		((struct kgni_ioc_attach *)arg)->pe = 7 + (u32)(fd - FAKE_FD) / 100;
		return fake.attach_answer;
	case KGNI_IOC_CQ_CREATE:
		return fake_cq_create(arg);
	case KGNI_IOC_CQ_DESTROY:
		return fake_cq_destroy(((struct kgni_ioc_cq_destroy *)arg)->id);
	case KGNI_IOC_MEM_REGISTER:
		reg->handle.qword1 = reg->cq ? (u64)reg->cq << 52 | reg->addr >> 12 : 0;
		reg->handle.qword2 = reg->addr;
		return GNI_RC_SUCCESS;
	case KGNI_IOC_MEM_DEREGISTER:
		return GNI_RC_SUCCESS;
	case KGNI_IOC_POST:
		return fake_post(arg);
	case KGNI_IOC_WINDOW_OPEN:
		return fake.window(arg);
	case KGNI_IOC_WINDOW_CLOSE:
		fake.window_closes++;
		return GNI_RC_SUCCESS;
	case KGNI_IOC_WINDOW_WAKE:
		fake.window_wakes++;
		fake.woken = *(struct kgni_ioc_window_wake *)arg;
		if (fake.in_window_wake)
			fake.in_window_wake();
		return GNI_RC_SUCCESS;
	case KGNI_IOC_POST_CHAIN:
		return fake_post_chain(arg);
	case KGNI_IOC_CQ_NOTIFY:
		return fake_cq_notify(arg);
	case KGNI_IOC_CQ_OWED:
		if (fake.in_owed)
			fake.in_owed();
		return fake.owed ? GNI_RC_NOT_DONE : GNI_RC_SUCCESS;
	case KGNI_IOC_CQ_WAKE:
		fake.wakes++;
		return GNI_RC_SUCCESS;
	case KGNI_IOC_GET_PTAG:
		((struct kgni_ioc_ptag *)arg)->ptag = 77;
		return GNI_RC_SUCCESS;
	case KGNI_IOC_RES_INFO:
		res->available = 1;
		res->reserved_count = 2;
		res->used = 3;
		res->total = 4;
		return res->type ? GNI_RC_SUCCESS : GNI_RC_INVALID_PARAM;
	case KGNI_IOC_JOB_CONFIGURE:
		return fake_job(arg);
	case KGNI_IOC_NTT_CONFIGURE:
		return fake_ntt(arg);
	case KGNI_IOC_DGRAM_POST:
		fake.dgram = *(struct kgni_ioc_dgram_post *)arg;
		return fake.dgram_answer;
	case KGNI_IOC_DGRAM_TEST:
		fake.dgram_test.timeout_ms = test->timeout_ms;
		fake.dgram_test.ep = test->ep;
		fake.dgram_test.id = test->id;
		fake.dgram_test.flags = test->flags;
		*test = fake.dgram_test;
		return fake.dgram_answer;
	case KGNI_IOC_DGRAM_PROBE:
		((struct kgni_ioc_dgram_probe *)arg)->id = 0x1234;
		((struct kgni_ioc_dgram_probe *)arg)->remote_pe = 5;
		((struct kgni_ioc_dgram_probe *)arg)->remote_id = 6;
		return fake.dgram_answer;
	case KGNI_IOC_DGRAM_CANCEL:
		fake.dgram_cancel = *(struct kgni_ioc_dgram_cancel *)arg;
		return fake.dgram_answer;
	case KGNI_IOC_CE_CREATE:
		((struct kgni_ioc_ce_create *)arg)->id = 3;
		fake.ces += !fake.ce_answer;
		return fake.ce_answer;
	case KGNI_IOC_CE_DESTROY:
		fake.ces--;
		return GNI_RC_SUCCESS;
	case KGNI_IOC_CE_CONFIGURE:
		fake.ce_configure = *(struct kgni_ioc_ce_configure *)arg;
		memcpy(fake.ce_edges, (void *)(uintptr_t)fake.ce_configure.children,
		       fake.ce_configure.count * sizeof(fake.ce_edges[0]));
		return fake.ce_answer;
	case KGNI_IOC_CE_POST:
		fake.ce_post = *(struct kgni_ioc_ce_post *)arg;
		return fake.ce_answer;
	}
	return -ENOTTY;
}

int ugni_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret;

	if (cmd == KGNI_IOC_WINDOW_OPEN && !fake.map)
		return -ENOTTY;
	__atomic_fetch_add(&fake.calls, 1, __ATOMIC_RELAXED);
	if (cmd == KGNI_IOC_CQ_WAIT) {
		__atomic_fetch_add(&fake.waits, 1, __ATOMIC_RELAXED);
		return fake_cq_wait(arg);
	}
	pthread_mutex_lock(&fake.lock);
	ret = fake_call(fd, cmd, arg);
	pthread_mutex_unlock(&fake.lock);
	return ret;
}

int ugni_sys_wait(int fd, unsigned long cmd, void *arg)
{
	return ugni_sys_ioctl(fd, cmd, arg);
}

/* --- what most tests begin with ------------------------------------------------------- */

struct fake_side {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
};

#define ok(call)	assert_int_equal(call, GNI_RC_SUCCESS)

static inline void fake_side(struct fake_side *s, u32 modes, u32 entries)
{
	u32 pe;

	fake.post_answer = 0;
	fake.post_silent = false;
	fake.post_status = 0;
	fake.wait_answer = 0;
	fake.dgram_answer = 0;
	fake.attach_answer = 0;
	fake.in_post = NULL;
	fake.in_wait = NULL;
	fake.in_owed = NULL;
	fake.in_link = NULL;
	ok(GNI_CdmCreate(11, GNI_FIND_ALLOC_PTAG, 99, modes, &s->cdm));
	ok(GNI_CdmAttach(s->cdm, 0, &pe, &s->nic));
	ok(GNI_CqCreate(s->nic, entries, 0, GNI_CQ_BLOCKING, NULL, NULL, &s->cq));
	ok(GNI_EpCreate(s->nic, s->cq, &s->ep));
	ok(GNI_EpBind(s->ep, 7, 22));
}

static inline void fake_side_end(struct fake_side *s)
{
	ok(GNI_CdmDestroy(s->cdm));
}

#endif /* _KGNI_FAKE_DRIVER_H */
