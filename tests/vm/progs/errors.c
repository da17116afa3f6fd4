// SPDX-License-Identifier: GPL-2.0-only
/*
 * Error events: who is told of what, and who is ended for it.
 *
 *	errors		needs two NICs, root and debugfs
 *	errors user	what a plain user may have
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include "common.h"
#include "core/cqe.h"

#define ALL		0xff
#define TRANSACTION	GNI_ERRMASK_TRANSACTION
#define TRANSLATION	GNI_ERRMASK_ADDRESS_TRANSLATION
#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT
#define NOWHERE		0x7fffffffU
#define OTHER_COOKIE	(COOKIE + 7)

static gni_err_handle_t subscribe(struct nic *n, gni_error_mask_t mask, uint32_t size)
{
	gni_err_handle_t err = NULL;

	must_do(GNI_SubscribeErrors(n->h, 0, mask, size, &err));
	return err;
}

static gni_err_handle_t subscribe_device(uint32_t device, gni_error_mask_t mask)
{
	gni_err_handle_t err = NULL;

	must_do(GNI_SubscribeErrors(NULL, device, mask, 0, &err));
	return err;
}

#define no_event(err, ...) __extension__({					\
	gni_error_event_t event_;						\
										\
	is_rc(GNI_GetErrorEvent(err, &event_), GNI_RC_NOT_DONE, __VA_ARGS__);	\
})

/* The oldest event is this one. */
static gni_error_event_t event_is(gni_err_handle_t err, uint32_t code, uint32_t category,
				  uint8_t ptag)
{
	gni_error_event_t e = { 0 };

	is_rc(GNI_GetErrorEvent(err, &e), GNI_RC_SUCCESS, "for code 0x%x", code);
	is_u64(e.error_code, code);
	is_u64(e.error_category, category);
	is_u64(e.ptag, ptag);
	return e;
}

static uint8_t ptag_of(uint32_t device, uint32_t cookie)
{
	uint8_t ptag = 0;

	must_do(GNI_GetPtag(device, cookie, &ptag));
	return ptag;
}

/* A CQ write to an address that nobody has. */
static void fail_post(struct nic *n)
{
	gni_ep_handle_t ep = ep_open(n, NOWHERE, 1);
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	memset(&d.remote_mem_hndl, 0, sizeof(d.remote_mem_hndl));
	is_rc(post_wait(ep, n->tx, &d), GNI_RC_TRANSACTION_ERROR);
	must_do(GNI_EpDestroy(ep));
}

static void inject(uint32_t pe, uint32_t code, uint32_t ptag)
{
	int fd = open("/sys/kernel/debug/kgni/inject", O_WRONLY);
	char text[64];
	int n = snprintf(text, sizeof(text), "%u %x %u", pe, code, ptag);

	must(fd >= 0);
	must(write(fd, text, n) == n, "%s", text);
	close(fd);
}

/* --- the calls -------------------------------------------------------------------- */

static void test_arguments(void)
{
	gni_err_handle_t err = NULL, more[16];
	gni_error_mask_t mask = 0;
	gni_error_event_t e;
	uint32_t num, i;
	struct nic n;

	nic_open(&n, 0, 1);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, 0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SubscribeErrors((void *)&n, 0, ALL, 0, &err), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SubscribeErrors(NULL, device_count(), ALL, 0, &err), GNI_RC_NO_MATCH);
	is_rc(GNI_SubscribeErrors(NULL, 5000, ALL, 0, &err), GNI_RC_NO_MATCH);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, 4097, &err), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, ~0U, &err), GNI_RC_ERROR_RESOURCE);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, 4096, &err), GNI_RC_SUCCESS);
	is_rc(GNI_GetErrorMask(err, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetErrorMask(err, &mask), GNI_RC_SUCCESS);
	is_u64(mask, ALL);
	is_rc(GNI_SetErrorMask(err, TRANSACTION, &mask), GNI_RC_SUCCESS);
	is_u64(mask, ALL);
	is_rc(GNI_SetErrorMask(err, 0, NULL), GNI_RC_SUCCESS);
	is_rc(GNI_GetErrorMask(err, &mask), GNI_RC_SUCCESS);
	is_u64(mask, 0);
	is_rc(GNI_GetErrorEvent(err, NULL), GNI_RC_INVALID_PARAM);
	no_event(err);
	is_rc(GNI_WaitErrorEvents(err, NULL, 1, 0, &num), GNI_RC_INVALID_PARAM);
	is_rc(GNI_WaitErrorEvents(err, &e, 0, 0, &num), GNI_RC_INVALID_PARAM);
	is_rc(GNI_WaitErrorEvents(err, &e, 1, 0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_ReleaseErrors(err), GNI_RC_SUCCESS);
	is_rc(GNI_ReleaseErrors(err), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetErrorMask(err, &mask), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetErrorMask(err, 1, &mask), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetErrorPtag(err, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_GetErrorEvent(err, &e), GNI_RC_INVALID_PARAM);
	is_rc(GNI_WaitErrorEvents(err, &e, 1, 0, &num), GNI_RC_INVALID_PARAM);
	for (i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = subscribe(&n, ALL, 1);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, 0, &err), GNI_RC_ERROR_RESOURCE, "the 17th");
	is_rc(GNI_ReleaseErrors(more[3]), GNI_RC_SUCCESS);
	is_rc(GNI_SubscribeErrors(n.h, 0, ALL, 0, &err), GNI_RC_SUCCESS);
	nic_close(&n);
	is_rc(GNI_ReleaseErrors(err), GNI_RC_INVALID_PARAM, "it went with the NIC");
}

/* --- causes ------------------------------------------------------------------------- */

static gni_mem_handle_t no_region(void)
{
	return (gni_mem_handle_t){ .qword1 = 0x10000000fffULL };
}

/* One kind of mistake, and what is told of it: at the target's NIC, too. */
static void check_cause(struct target *t, gni_post_descriptor_t *d, uint32_t code,
			uint32_t category)
{
	bool far = t->layout == OTHER_NIC;
	gni_err_handle_t mine = subscribe(&t->n, ALL, 0);
	gni_err_handle_t theirs = subscribe_device(far ? 1 : 0, ALL);
	gni_err_handle_t others = subscribe(&t->n, (uint8_t)~category, 0);
	uint8_t ptag = ptag_of(0, COOKIE);
	gni_error_event_t e;

	is_rc(post_wait(t->ep, t->n.tx, d), GNI_RC_TRANSACTION_ERROR);
	e = event_is(mine, code, category, ptag);
	is_u64(e.serial_number, 1);
	is_u64(e.info_mmrs[0], d->remote_addr);
	is_u64(e.info_mmrs[1], d->remote_mem_hndl.qword1);
	is_u64(e.info_mmrs[2], d->length);
	is_u64(e.info_mmrs[3], (uint64_t)t->r.pe << 32 | d->type);
	ok(e.timestamp / 1000000000ULL + 5 > (uint64_t)time(NULL));
	no_event(mine);
	e = event_is(theirs, code, category, far ? ptag_of(1, COOKIE) : ptag);
	is_u64(e.info_mmrs[3], (uint64_t)t->n.pe << 32 | d->type);
	no_event(theirs);
	no_event(others);
	is_rc(GNI_ReleaseErrors(mine), GNI_RC_SUCCESS);
	is_rc(GNI_ReleaseErrors(theirs), GNI_RC_SUCCESS);
	is_rc(GNI_ReleaseErrors(others), GNI_RC_SUCCESS);
}

static void test_causes(enum layout layout)
{
	gni_post_descriptor_t d;
	uint64_t value = 1;
	struct target t;

	target_open(&t, layout, PAGE, GNI_MEM_READ_ONLY, 0);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, &t.r, 8, 8);
	check_cause(&t, &d, KGNI_ST_PROTECTION, TRANSACTION);
	d.remote_mem_hndl = no_region();
	check_cause(&t, &d, KGNI_ST_MDD_INVALID, TRANSACTION);
	desc_move(&d, &value, NULL, &t.r, PAGE - 4, 8);
	check_cause(&t, &d, KGNI_ST_BOUNDS, TRANSLATION);
	target_close(&t);
	target_open(&t, layout, PAGE, GNI_MEM_RESERVE_REGION, 0);
	desc_move(&d, &value, NULL, &t.r, 0, 8);
	check_cause(&t, &d, KGNI_ST_ADDRESS, TRANSLATION);
	target_close(&t);
}

ALL_LAYOUTS(test_causes)

static void test_rdma(void)
{
	gni_post_descriptor_t d;
	gni_err_handle_t err;
	struct region l;
	struct target t;
	size_t len = 64 * PAGE;

	target_open(&t, SELF, len, GNI_MEM_READ_ONLY, 0);
	region_open(&t.n, map_private(len), len, NULL, 0, &l);
	err = subscribe(&t.n, ALL, 0);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)l.addr, &l.mh, &t.r, 0, len);
	is_rc(post_wait(t.ep, t.n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	event_is(err, KGNI_ST_PROTECTION, TRANSACTION, ptag_of(0, COOKIE));
	no_event(err);
	target_close(&t);
}

static void test_no_queue(void)
{
	gni_err_handle_t err, lost;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	struct region r;
	struct nic n;

	nic_open(&n, 0, 1);
	err = subscribe(&n, TRANSACTION, 0);
	lost = subscribe(&n, GNI_ERRMASK_TRANSIENT, 0);
	region_open(&n, map_private(PAGE), PAGE, NULL, 0, &r);
	ep = ep_open(&n, n.pe, 1);
	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	d.remote_mem_hndl = r.mh;
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	event_is(err, KGNI_ST_NO_CQ, TRANSACTION, ptag_of(0, COOKIE));
	cq = cq_open(&n, 1, GNI_CQ_NOBLOCK);
	region_open(&n, map_private(PAGE), PAGE, cq, 0, &r);
	d.remote_mem_hndl = r.mh;
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
	no_event(lost);
	is_rc(post_wait(ep, n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	event_is(lost, KGNI_ST_REM_OVERRUN, GNI_ERRMASK_TRANSIENT, ptag_of(0, COOKIE));
	no_event(err);
	must_do(GNI_CdmDestroy(n.cdm));
}

/* A job that has nobody at the target: what that NIC's administrator sees. */
static void test_no_job(void)
{
	gni_err_handle_t err = subscribe_device(1, ALL);
	uint32_t pe, cpu;
	gni_post_descriptor_t d;
	struct nic n;

	nic_open(&n, 0, 1);
	must_do(GNI_CdmGetNicAddress(1, &pe, &cpu));
	desc_init(&d, GNI_POST_CQWRITE, GLOBAL);
	d.remote_mem_hndl = no_region();
	is_rc(post_wait(ep_open(&n, pe, 1), n.tx, &d), GNI_RC_TRANSACTION_ERROR);
	event_is(err, KGNI_ERR_NO_JOB, GNI_ERRMASK_UNKNOWN_TRANSACTION, 0);
	no_event(err);
	must_do(GNI_CdmDestroy(n.cdm));
}

/* --- who hears of it ------------------------------------------------------------------ */

static void other_job(void *arg)
{
	struct nic n = { 0 };

	(void)arg;
	must_do(GNI_CdmCreate(2, GNI_FIND_ALLOC_PTAG, OTHER_COOKIE, 0, &n.cdm));
	must_do(GNI_CdmAttach(n.cdm, 0, &n.pe, &n.h));
	n.tx = cq_open(&n, 16, GNI_CQ_NOBLOCK);
	shm->word[0] = ptag_of(0, OTHER_COOKIE);
	give(0);
	take(1);
	fail_post(&n);
	give(0);
	take(1);
}

static void test_ptags(void)
{
	gni_err_handle_t mine, all, one;
	uint8_t ptag, other;
	struct nic n;
	pid_t pid;

	nic_open(&n, 0, 1);
	ptag = ptag_of(0, COOKIE);
	mine = subscribe(&n, ALL, 0);
	all = subscribe_device(0, ALL);
	one = subscribe_device(0, ALL);
	pid = peer(other_job, NULL);
	take(0);
	other = shm->word[0];
	is_rc(GNI_SetErrorPtag(one, other), GNI_RC_SUCCESS);
	fail_post(&n);
	give(1);
	take(0);
	event_is(mine, KGNI_ST_UNREACHABLE, TRANSACTION, ptag);
	no_event(mine);
	event_is(all, KGNI_ST_UNREACHABLE, TRANSACTION, ptag);
	event_is(all, KGNI_ST_UNREACHABLE, TRANSACTION, other);
	no_event(all);
	event_is(one, KGNI_ST_UNREACHABLE, TRANSACTION, other);
	no_event(one);
	/* Root's may be turned to any tag, the NIC's own one, too. */
	is_rc(GNI_SetErrorPtag(mine, 0), GNI_RC_SUCCESS);
	is_rc(GNI_SetErrorPtag(one, ptag), GNI_RC_SUCCESS);
	fail_post(&n);
	event_is(mine, KGNI_ST_UNREACHABLE, TRANSACTION, ptag);
	event_is(one, KGNI_ST_UNREACHABLE, TRANSACTION, ptag);
	give(1);
	reap(pid);
	nic_close(&n);
}

static void test_masks(void)
{
	gni_err_handle_t err;
	gni_error_mask_t old;
	struct nic n;

	nic_open(&n, 0, 1);
	err = subscribe(&n, TRANSLATION, 0);
	fail_post(&n);
	no_event(err);
	is_rc(GNI_SetErrorMask(err, TRANSACTION | TRANSLATION, &old), GNI_RC_SUCCESS);
	is_u64(old, TRANSLATION);
	fail_post(&n);
	is_rc(GNI_SetErrorMask(err, 0, &old), GNI_RC_SUCCESS);
	fail_post(&n);
	event_is(err, KGNI_ST_UNREACHABLE, TRANSACTION, ptag_of(0, COOKIE));
	no_event(err);
	nic_close(&n);
}

static void test_overflow(void)
{
	gni_err_handle_t err;
	gni_error_event_t e;
	struct nic n;
	uint32_t i;

	nic_open(&n, 0, 1);
	err = subscribe(&n, ALL, 4);
	for (i = 0; i < 10; i++)
		fail_post(&n);
	for (i = 0; i < 4; i++) {
		e = event_is(err, KGNI_ST_UNREACHABLE, TRANSACTION, ptag_of(0, COOKIE));
		is_u64(e.serial_number, i + 1);
	}
	no_event(err);
	/* The gap tells of six that were lost. */
	fail_post(&n);
	e = event_is(err, KGNI_ST_UNREACHABLE, TRANSACTION, ptag_of(0, COOKIE));
	is_u64(e.serial_number, 11);
	nic_close(&n);
	/* The default holds 64. */
	nic_open(&n, 0, 1);
	err = subscribe(&n, ALL, 0);
	for (i = 0; i < 70; i++)
		fail_post(&n);
	for (i = 0; GNI_GetErrorEvent(err, &e) == GNI_RC_SUCCESS; i++)
		is_u64(e.serial_number, i + 1);
	is_u64(i, 64);
	nic_close(&n);
}

/* --- waiting ------------------------------------------------------------------------------ */

static struct waiter {
	gni_err_handle_t err;
	gni_error_event_t events[8];
	uint32_t size, timeout, num;
	_Atomic pid_t tid;
	gni_return_t rc;
	pthread_t thread;
} w;

static void *wait_thread(void *arg)
{
	(void)arg;
	w.tid = thread_id();
	w.rc = GNI_WaitErrorEvents(w.err, w.events, w.size, w.timeout, &w.num);
	return NULL;
}

static void wait_begin(gni_err_handle_t err, uint32_t size, uint32_t timeout)
{
	w.err = err;
	w.size = size;
	w.timeout = timeout;
	w.num = 99;
	w.tid = 0;
	must(!pthread_create(&w.thread, NULL, wait_thread, NULL));
	must(wait_for(w.tid && asleep(w.tid)));
}

static void wait_end(gni_return_t rc, uint32_t num)
{
	must(!pthread_join(w.thread, NULL));
	is_rc(w.rc, rc);
	is_u64(w.num, num);
}

/* Each event looks at all queues of its tag: there are not too many. */
static void test_too_many(void)
{
	struct kgni_ioc_attach other = {
		.ptag = GNI_FIND_ALLOC_PTAG, .cookie = OTHER_COOKIE,
		.modes = GNI_CDM_MODE_FMA_SHARED,
	};
	struct kgni_ioc_err_subscribe arg = { .mask = ALL, .events = 1 };
	int first = raw_attach(0, 0, GNI_CDM_MODE_FMA_SHARED);
	int fd = first, n, rc;

	for (n = 0; n < 2000; n++) {
		if (n && n % 16 == 0)
			fd = raw_attach(0, n, GNI_CDM_MODE_FMA_SHARED);
		rc = ioctl(fd, KGNI_IOC_ERR_SUBSCRIBE, &arg);
		if (rc)
			break;
	}
	is_u64(rc, GNI_RC_ERROR_RESOURCE);
	is_u64(n, 1024);
	close(first);
	is_u64(ioctl(fd, KGNI_IOC_ERR_SUBSCRIBE, &arg), GNI_RC_SUCCESS, "some are free again");
	fd = raw_open(0);
	must(!ioctl(fd, KGNI_IOC_ATTACH, &other));
	is_u64(ioctl(fd, KGNI_IOC_ERR_SUBSCRIBE, &arg), GNI_RC_SUCCESS, "another job");
}

static void test_wait(void)
{
	gni_err_handle_t err;
	uint32_t i, num;
	struct nic n;

	nic_open(&n, 0, 1);
	err = subscribe(&n, ALL, 0);
	wait_begin(err, 1, 0);
	is_rc(GNI_ReleaseErrors(err), GNI_RC_NOT_DONE);
	fail_post(&n);
	wait_end(GNI_RC_SUCCESS, 1);
	is_u64(w.events[0].serial_number, 1);
	/* More of them, until there is no room. */
	wait_begin(err, 3, 100000 * time_scale());
	fail_post(&n);
	must(wait_for(asleep(w.tid)));
	fail_post(&n);
	must(wait_for(asleep(w.tid)));
	fail_post(&n);
	wait_end(GNI_RC_SUCCESS, 3);
	for (i = 0; i < 3; i++)
		is_u64(w.events[i].serial_number, 2 + i);
	/* Or until the time is over. */
	fail_post(&n);
	fail_post(&n);
	is_rc(GNI_WaitErrorEvents(err, w.events, 8, 20, &num), GNI_RC_TIMEOUT);
	is_u64(num, 2);
	/* With no time, what is there. */
	fail_post(&n);
	fail_post(&n);
	is_rc(GNI_WaitErrorEvents(err, w.events, 8, 0, &num), GNI_RC_SUCCESS);
	is_u64(num, 2);
	is_u64(w.events[1].serial_number, 8);
	is_rc(GNI_ReleaseErrors(err), GNI_RC_SUCCESS);
	nic_close(&n);
}

static void nothing(int sig)
{
	(void)sig;
}

static void test_wait_ends(void)
{
	struct sigaction sa = { .sa_handler = nothing };
	gni_err_handle_t err;
	char *page = map_private(PAGE);
	uint32_t num;
	struct nic n;

	must(!sigaction(SIGUSR1, &sa, NULL));
	nic_open(&n, 0, 1);
	err = subscribe(&n, ALL, 0);
	wait_begin(err, 1, 0);
	must(!pthread_kill(w.thread, SIGUSR1));
	wait_end(GNI_RC_NOT_DONE, 0);
	/* After the first has come it is told, signal or not. */
	wait_begin(err, 2, 100000 * time_scale());
	fail_post(&n);
	must(wait_for(asleep(w.tid)));
	must(!pthread_kill(w.thread, SIGUSR1));
	wait_end(GNI_RC_TIMEOUT, 1);
	/* No place to tell it: it stays. */
	must(!mprotect(page, PAGE, PROT_READ));
	fail_post(&n);
	is_rc(GNI_WaitErrorEvents(err, (void *)page, 1, 0, &num), GNI_RC_PERMISSION_ERROR);
	is_u64(num, 0);
	is_rc(GNI_WaitErrorEvents(err, w.events, 1, 0, &num), GNI_RC_SUCCESS);
	is_u64(w.events[0].serial_number, 2);
	/* The domain goes, and the queue with it. */
	wait_begin(err, 1, 0);
	nic_close(&n);
	wait_end(GNI_RC_INVALID_PARAM, 0);
}

/* --- who is ended ---------------------------------------------------------------------------- */

struct victim {
	uint32_t modes;
	gni_post_type_t type;
};

static void victim_post(void *arg)
{
	const struct victim *v = arg;
	gni_post_descriptor_t d;
	struct region r, l;
	struct nic n;
	size_t len = 64 * PAGE;

	nic_open_modes(&n, 0, 1, v->modes);
	region_open(&n, map_private(len), len, NULL, GNI_MEM_READ_ONLY, &r);
	region_open(&n, map_private(len), len, NULL, 0, &l);
	desc_init(&d, v->type, GLOBAL);
	desc_move(&d, (void *)l.addr, &l.mh, &r, 0, len);
	is_rc(post_wait(ep_open(&n, n.pe, 1), n.tx, &d), GNI_RC_TRANSACTION_ERROR);
}

static void post_as(uint32_t modes, gni_post_type_t type, bool ends)
{
	struct victim v = { modes, type };
	pid_t pid = peer(victim_post, &v);

	if (ends)
		reap_killed(pid);
	else
		reap(pid);
}

#define NO_KILL		GNI_CDM_MODE_ERR_NO_KILL
#define ALL_KILL	GNI_CDM_MODE_ERR_ALL_KILL

static void test_kill(void)
{
	static const gni_post_type_t types[] = { GNI_POST_FMA_PUT, GNI_POST_RDMA_PUT };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		post_as(0, types[i], false);
		post_as(NO_KILL, types[i], false);
		post_as(NO_KILL | ALL_KILL, types[i], false);
		post_as(ALL_KILL, types[i], true);
	}
}

/* One that has become another user's meanwhile is not ended. */
static void grown_victim(void *arg)
{
	struct nic n;

	(void)arg;
	must(!setresuid(1000, 1000, 0));
	nic_open_modes(&n, 0, 1, ALL_KILL);
	must(!setresuid(0, 0, 0));
	fail_post(&n);
	must(!setresuid(1000, 0, 0));
	give(0);
	fail_post(&n);
}

static void test_kill_not_another(void)
{
	pid_t pid = peer(grown_victim, NULL);

	take(0);
	reap_killed(pid);
}

/* An injected error of memory, while a process of the job sits there. */
static void critical_victim(void *arg)
{
	const uint32_t *modes = arg;
	gni_err_handle_t err;
	gni_error_event_t e;
	uint32_t num;
	struct nic n;

	nic_open_modes(&n, 0, 1, *modes);
	err = subscribe(&n, GNI_ERRMASK_CRITICAL, 0);
	shm->word[0] = ptag_of(0, COOKIE);
	shm->word[1] = n.pe;
	give(0);
	is_rc(GNI_WaitErrorEvents(err, &e, 1, 0, &num), GNI_RC_SUCCESS);
	is_u64(e.error_code, KGNI_ERR_MEMORY);
	is_u64(e.ptag, shm->word[0]);
	/* Whoever is to be ended is it by now, or soon. */
	take(1);
}

static void critical(uint32_t modes, bool ends)
{
	pid_t pid = peer(critical_victim, &modes);

	take(0);
	inject(shm->word[1], KGNI_ERR_MEMORY, shm->word[0]);
	if (ends) {
		reap_killed(pid);
	} else {
		give(1);
		reap(pid);
	}
}

static void test_critical(void)
{
	critical(0, true);
	critical(ALL_KILL, true);
	critical(NO_KILL, false);
	critical(NO_KILL | ALL_KILL, false);
}

static void test_injected(void)
{
	gni_err_handle_t err, all = subscribe_device(0, ALL);
	uint8_t ptag;
	struct nic n;

	nic_open_modes(&n, 0, 1, NO_KILL);
	ptag = ptag_of(0, COOKIE);
	err = subscribe(&n, ALL, 0);
	inject(n.pe, KGNI_ERR_MEMORY_CORRECTED, ptag);
	inject(n.pe, KGNI_ERR_DIAG, ptag);
	inject(n.pe, KGNI_ERR_DIAG, ptag + 1);
	inject(n.pe, KGNI_ERR_MEMORY_CORRECTED, 0);
	event_is(err, KGNI_ERR_MEMORY_CORRECTED, GNI_ERRMASK_CORRECTABLE_MEMORY, ptag);
	event_is(err, KGNI_ERR_DIAG, GNI_ERRMASK_DIAG_ONLY, ptag);
	no_event(err);
	event_is(all, KGNI_ERR_MEMORY_CORRECTED, GNI_ERRMASK_CORRECTABLE_MEMORY, ptag);
	event_is(all, KGNI_ERR_DIAG, GNI_ERRMASK_DIAG_ONLY, ptag);
	event_is(all, KGNI_ERR_DIAG, GNI_ERRMASK_DIAG_ONLY, ptag + 1);
	event_is(all, KGNI_ERR_MEMORY_CORRECTED, GNI_ERRMASK_CORRECTABLE_MEMORY, 0);
	no_event(all);
	nic_close(&n);
}

/* --- plain users ------------------------------------------------------------------------------ */

static void test_user(void)
{
	gni_err_handle_t err = NULL;
	uint8_t ptag;
	struct nic n;

	is_rc(GNI_SubscribeErrors(NULL, 0, ALL, 0, &err), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SubscribeErrors(NULL, device_count(), ALL, 0, &err), GNI_RC_NO_MATCH);
	nic_open(&n, 0, 1);
	ptag = ptag_of(0, COOKIE);
	err = subscribe(&n, ALL, 0);
	is_rc(GNI_SetErrorPtag(err, 0), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SetErrorPtag(err, ptag + 1), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SetErrorPtag(err, 1), GNI_RC_PERMISSION_ERROR);
	is_rc(GNI_SetErrorPtag(err, ptag), GNI_RC_SUCCESS);
	fail_post(&n);
	event_is(err, KGNI_ST_UNREACHABLE, TRANSACTION, ptag);
	post_as(ALL_KILL, GNI_POST_FMA_PUT, true);
	ok(access("/sys/kernel/debug/kgni/inject", F_OK));
	nic_close(&n);
}

static const struct test tests[] = {
	CASE("arguments", test_arguments),
	CASES("causes", test_causes),
	CASE("RDMA", test_rdma),
	CASE("queues that are not there, or full", test_no_queue),
	CASE("a job that is not there", test_no_job),
	CASE("protection tags", test_ptags),
	CASE("masks", test_masks),
	CASE("more events than fit", test_overflow),
	CASE("more queues than may be", test_too_many),
	CASE("waiting", test_wait),
	CASE("ends of waits", test_wait_ends),
	CASE("modes of being ended", test_kill),
	CASE("a process that has grown is not ended", test_kill_not_another),
	CASE("critical errors", test_critical),
	CASE("injected errors", test_injected),
};

static const struct test user_tests[] = {
	CASE("a plain user", test_user),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "user"))
		return RUN_TESTS(user_tests);
	return RUN_TESTS(tests);
}
