// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolation, the newer calls: clones, reserved regions, virtual indices, the list of
 * registrations, chains of posts, channels of queues. See isolate.c.
 */
#include <sys/eventfd.h>

#include <core/memhndl.h>

#include "common_isolate.h"

/* --- registrations ----------------------------------------------------------------- */

static int try_register(struct kgni_ioc_mem_register *arg)
{
	return call(a.fd, KGNI_IOC_MEM_REGISTER, arg);
}

static int try_clone(struct kgni_mem_handle of, uint64_t addr)
{
	struct kgni_ioc_mem_register arg = {
		.addr = addr, .length = PAGE, .flags = GNI_MEM_MDD_CLONE, .vmdh_index = ~0U,
		.handle = of,
	};

	return try_register(&arg);
}

void row_clone(int unused)
{
	int r;

	(void)unused;
	for (r = 0; r < REGIONS; r++)
		note(try_clone(known->mh[r], target_address(r)));
}

void row_clone_sweep(int unused)
{
	uint32_t mdh;

	(void)unused;
	for (mdh = 1; mdh <= KGNI_MH_MDH_MAX; mdh++)
		note(try_clone(guess(address(MAIN), mdh, 0), address(MAIN)));
}

/* The victim's file may: of all but what is read-only, or reserved. */
void row_heir_clone(int unused)
{
	(void)unused;
	note(try_clone(known->mh[MAIN], address(MAIN)));
	note(try_clone(known->mh[CLONE], address(CLONE)));
	note(try_clone(known->mh[SEGMENTS], 0));
}

static int update(struct kgni_mem_handle h, uint64_t addr, uint32_t flags, uint32_t index)
{
	struct kgni_ioc_mem_register arg = {
		.addr = addr, .length = PAGE, .flags = flags | GNI_MEM_UPDATE_REGION,
		.vmdh_index = index, .handle = h,
	};

	return try_register(&arg);
}

/* With the victim's addresses, and with one's own. */
void row_update(int unused)
{
	int r;

	(void)unused;
	for (r = 0; r < REGIONS; r++) {
		note(update(known->mh[r], target_address(r), 0, ~0U));
		note(update(known->mh[r], (uint64_t)a.local, 0, ~0U));
	}
}

void row_update_index(int unused)
{
	uint32_t i;

	(void)unused;
	for (i = 0; i < VICTIM_INDICES; i++)
		note(update((struct kgni_mem_handle){ 0, 0 }, address(VIRTUAL), GNI_MEM_USE_VMDH,
			    i));
}

static int take_index(uint32_t index, struct kgni_mem_handle *handle)
{
	struct kgni_ioc_mem_register arg = {
		.addr = (uint64_t)a.local, .length = PAGE, .flags = GNI_MEM_USE_VMDH,
		.vmdh_index = index,
	};
	int rc = try_register(&arg);

	*handle = arg.handle;
	return rc;
}

/* The handle is the victim's, bit by bit but for the address, and leads to one's own. */
void row_index(int unused)
{
	const uint64_t value = MARK;
	struct kgni_ioc_post post = {
		.type = GNI_POST_FMA_PUT, .remote_pe = a.pe, .length = 8,
		.local_addr = (uint64_t)&value, .remote_addr = (uint64_t)a.local,
	};
	struct kgni_ioc_mem_deregister dereg;

	(void)unused;
	note(take_index(VICTIM_INDEX, &dereg.handle));
	is_u64(dereg.handle.qword1 >> 52, known->mh[VIRTUAL].qword1 >> 52);
	post.remote = known->mh[VIRTUAL];
	is_u64(try_post(&post), GNI_RC_SUCCESS);
	ok(!memcmp(a.local, &value, 8), "not one's own, either");
	is_u64(call(a.fd, KGNI_IOC_MEM_DEREGISTER, &dereg), GNI_RC_SUCCESS);
}

void row_index_taken(int unused)
{
	struct kgni_mem_handle none;

	(void)unused;
	note(take_index(VICTIM_INDEX, &none));
}

void row_index_free(int unused)
{
	struct kgni_mem_handle handle;

	(void)unused;
	note(take_index(VICTIM_INDEX + 1, &handle));
}

/* An address is of the process that says it, and these are not mapped here. */
void row_addresses(int unused)
{
	static const uint32_t flags[] = { 0, GNI_MEM_READ_ONLY, GNI_MEM_MDD_SHARED };
	struct kgni_segment seg = { .length = PAGE };
	struct kgni_ioc_mem_register arg = { .vmdh_index = ~0U, .length = PAGE };
	unsigned int r, i;

	(void)unused;
	for (r = 0; r < REGIONS; r++) {
		for (i = 0; i < ARRAY_SIZE(flags); i++) {
			arg.addr = address(r);
			arg.segments = 0;
			arg.flags = flags[i];
			note(try_register(&arg));
			seg.addr = address(r);
			arg.addr = (uint64_t)&seg;
			arg.segments = 1;
			note(try_register(&arg));
		}
	}
}

void row_next(int unused)
{
	int r;

	(void)unused;
	for (r = 0; r < REGIONS; r++) {
		struct kgni_ioc_mem_next arg = { .handle = known->mh[r] };

		note(call(a.fd, KGNI_IOC_MEM_NEXT, &arg));
		ok(!arg.addr && !arg.length, "told of %#llx", (unsigned long long)arg.addr);
	}
}

void row_list(int unused)
{
	struct kgni_ioc_mem_next arg = { .addr = 0 };
	unsigned int n = 0;
	int rc;

	(void)unused;
	while (!(rc = call(a.fd, KGNI_IOC_MEM_NEXT, &arg))) {
		note(rc);
		is_u64(arg.addr, (uint64_t)a.local);
		n++;
	}
	is_u64(rc, GNI_RC_NO_MATCH);
	is_u64(n, 1);
}

/* --- chains ------------------------------------------------------------------------ */

/* A put from one place of one's own to another. */
static struct kgni_ioc_post own_post(void)
{
	return (struct kgni_ioc_post){
		.type = GNI_POST_FMA_PUT, .remote_pe = a.pe, .remote = a.lmh, .length = 8,
		.local_addr = (uint64_t)a.local + PAGE, .local = a.lmh,
		.remote_addr = (uint64_t)a.local + 2 * PAGE,
	};
}

/* What is tried between two that are in order. */
static int try_chain(const struct kgni_ioc_post *post, uint32_t queue)
{
	struct kgni_ioc_post posts[3] = { own_post(), *post, own_post() };
	struct kgni_ioc_post_chain arg = { .posts = (uint64_t)posts, .count = 3 };
	int rc;

	posts[0].cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	posts[0].src_cq = queue;
	posts[0].src_event = 1;
	rc = call(a.fd, KGNI_IOC_POST_CHAIN, &arg);
	return rc ? rc : source_event();
}

void row_chain(int which)
{
	const struct transfer *t = &transfers[which];
	struct kgni_ioc_post post;
	int r, rc;

	for (r = 0; r < (a.k->member ? 1 : REGIONS); r++) {
		memset(a.local, LOCAL_FILL, LOCAL_LEN);
		post = aimed_post(t, r);
		rc = try_chain(&post, a.cq[0].id);
		note(t->reads ? judge_read(t, r, rc) : rc);
	}
}

void row_chain_local(int which)
{
	struct kgni_ioc_post post;
	int r;

	for (r = 0; r < (a.k->member ? 1 : REGIONS); r++) {
		memset(a.local, LOCAL_FILL, LOCAL_LEN);
		post = aimed_post(&transfers[which], r);
		post.local_addr = post.remote_addr;
		post.local = post.remote;
		post.remote_pe = a.pe;
		post.remote_addr = (uint64_t)a.local;
		post.remote = a.lmh;
		note(try_chain(&post, a.cq[0].id));
	}
}

static int chain_to_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_post post = own_post();

	return try_chain(&post, cq->id);
}

void row_chain_source(int unused)
{
	(void)unused;
	each_queue(chain_to_queue);
}

/* --- channels ---------------------------------------------------------------------- */

static int notify_by_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_cq_notify arg = { .id = cq->id, .fd = eventfd(0, EFD_CLOEXEC) };
	int rc;

	must(arg.fd >= 0);
	rc = call(a.fd, KGNI_IOC_CQ_NOTIFY, &arg);
	close(arg.fd);
	return rc;
}

void row_notify(int unused)
{
	(void)unused;
	each_queue(notify_by_queue);
}

static int wake_queue(const struct raw_cq *cq)
{
	struct kgni_ioc_cq_wake arg = { .id = cq->id };

	return call(a.fd, KGNI_IOC_CQ_WAKE, &arg);
}

void row_wake(int unused)
{
	(void)unused;
	each_queue(wake_queue);
}

/* --- the collective engine ------------------------------------------------------ */

/* Into memory of the attacker's own. */
static int try_ce_post(uint32_t ce, uint32_t child)
{
	struct kgni_ioc_ce_post post = {
		.cmd = GNI_FMA_CE_IADD, .cq_mode = GNI_CQMODE_GLOBAL_EVENT, .src_cq = a.cq[0].id,
		.src_event = 1, .remote_pe = known->pe, .result = (uint64_t)a.local,
		.local = a.lmh, .red_id = VICTIM_REDUCTION, .operand = { MARK }, .ce = ce,
		.child = child,
	};
	int rc = call(a.fd, KGNI_IOC_CE_POST, &post);

	return rc ? rc : source_event();
}

/* What the victim's own reduction waits for. */
void row_ce_post(int unused)
{
	(void)unused;
	note(try_ce_post(0, 0));
}

void row_ce_sweep(int unused)
{
	uint32_t ce, child;

	(void)unused;
	for (ce = 0; ce < 8; ce++)
		for (child = 0; child < 34; child++)
			note(try_ce_post(ce, child));
	note(try_ce_post(~0U, 0));
	note(try_ce_post(0, ~0U));
}

/* So that the attacker is all of its tree. */
void row_ce_configure(int unused)
{
	struct kgni_ce_edge edge = { .pe = a.pe, .id = ATTACKER_ID, .type = GNI_CE_CHILD_PE };
	struct kgni_ioc_ce_configure arg = { .children = (uint64_t)&edge, .count = 1 };

	(void)unused;
	for (arg.id = 0; arg.id < 8; arg.id++)
		note(call(a.fd, KGNI_IOC_CE_CONFIGURE, &arg));
}

void row_ce_destroy(int unused)
{
	struct kgni_ioc_ce_destroy arg = { 0 };

	(void)unused;
	for (arg.id = 0; arg.id < 8; arg.id++)
		note(call(a.fd, KGNI_IOC_CE_DESTROY, &arg));
}

/* --- rows: what only administrators may ---------------------------------------------- */

/* At the victim's device. */
static int call_device(unsigned long cmd, void *arg)
{
	int fd = raw_open(0), rc = call(fd, cmd, arg);

	close(fd);
	return rc;
}

/* Neither a setting that is in order nor any other one is looked at. */
void row_bi_set(int unused)
{
	static const uint16_t modes[] = {
		GNI_BI_FLAG_APPLY_NOW, GNI_BI_FLAG_APPLY_AFTER_THROTTLE,
		GNI_BI_FLAG_USE_DEFAULT_SETTINGS,
		GNI_BI_FLAG_APPLY_NOW | GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES, 0, 0xffff,
	};
	struct kgni_ioc_bi_get before = { 0 }, after = { 0 };
	struct kgni_ioc_bi_set set = { .bw = 1, .aot_bw = 1 };
	size_t i;

	(void)unused;
	is_u64(call_device(KGNI_IOC_BI_GET, &before), GNI_RC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		set.modes = modes[i];
		note(call_device(KGNI_IOC_BI_SET, &set));
	}
	is_u64(call_device(KGNI_IOC_BI_GET, &after), GNI_RC_SUCCESS);
	ok(!memcmp(&before, &after, sizeof(before)), "nothing was changed");
}

void row_bi_look(int unused)
{
	struct kgni_ioc_bi_wait wait = { 0 };
	struct kgni_ioc_bi_get get = { 0 };

	(void)unused;
	note(call_device(KGNI_IOC_BI_GET, &get));
	is_u64(get.bw, 100);
	note(call_device(KGNI_IOC_BI_WAIT, &wait));
}

void row_suspend(int flags)
{
	struct kgni_ioc_suspend arg = {
		.ptag = known->ptag, .cookie = COOKIE, .timeout_ms = 100, .flags = flags,
	};

	note(call_device(KGNI_IOC_JOB_SUSPEND, &arg));
}

void row_configure(int unused)
{
	struct kgni_ioc_job arg;

	(void)unused;
	memset(&arg, 0xff, sizeof(arg));
	arg.job_id = 1;
	arg.ptag = known->ptag;
	arg.cookie = COOKIE;
	arg.flags = 0;
	arg.mdd_limit = 0;
	arg.ntt = (struct kgni_ioc_ntt){ 0 };
	note(call_device(KGNI_IOC_JOB_CONFIGURE, &arg));
}

void row_translate(int unused)
{
	struct kgni_ntt_entry entry = { .block = known->pe };
	struct kgni_ioc_ntt arg = {
		.entries = (uint64_t)&entry, .count = 1, .base = ~0U, .granularity = 1,
	};

	(void)unused;
	note(call_device(KGNI_IOC_NTT_CONFIGURE, &arg));
	arg = (struct kgni_ioc_ntt){ .count = ~0U, .base = ~0U };
	note(call_device(KGNI_IOC_NTT_CONFIGURE, &arg));
}
