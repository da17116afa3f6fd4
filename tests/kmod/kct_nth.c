// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each call again and again, while the first, the second ... allocation that it leads
 * to fails, until it gets through with nothing left to fail. Each time it gives a code
 * that Documentation/kapi.rst has for it, leaves what devices and jobs count as it was,
 * and gets through when it is made again. Whoever loads the module with nth=KIND has
 * set the kernel's fault injection up, so that only allocations of that kind count:
 * KIND is for the table. A new call is a row.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mman.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <uapi/gni/kgni.h>

#include "kct.h"

#ifdef CONFIG_FAULT_INJECTION

#define NTH_MAX		1000	/* no call has as many points */
#define DEVICES		2
#define OTHER_PTAG	GNI_PTAG_OFED
#define OTHER_COOKIE	(KCT_COOKIE + 1)
#define NOBODY		0x7fffffff
#define CREDITS		8
#define MAXSIZE		512
#define ID		0x1234

#define BIG		(600 * PAGE_SIZE)
#define PAGES		600	/* more than fit into a page of pointers */
#define LENGTH		(16 * PAGE_SIZE)

/* --- what must be as before ------------------------------------------------------------- */

#define PER_DEVICE	(GNI_DEV_RES_LAST + 2 * GNI_JOB_RES_LAST)

struct counters {
	s64 value[DEVICES * PER_DEVICE];
};

/* The driver counts for processes: so we ask as the one that loads us. */
static struct file *asked[DEVICES];
static unsigned long question;

static s64 ask(struct file *f, u32 scope, u32 type, u32 ptag)
{
	struct kgni_ioc_res arg = { .scope = scope, .type = type, .ptag = ptag };
	void __user *at = (void __user *)question;
	long rc;

	if (!kct_true(!copy_to_user(at, &arg, sizeof(arg))))
		return -1;
	rc = f->f_op->unlocked_ioctl(f, KGNI_IOC_RES_INFO, question);
	if (!kct_true(!copy_from_user(&arg, at, sizeof(arg))))
		return -1;
	return rc ? -1 - abs(rc) : arg.used;
}

static void count(struct counters *c)
{
	s64 *value = c->value;
	u32 i, type;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < DEVICES; i++) {
		for (type = GNI_DEV_RES_FIRST + 1; type < GNI_DEV_RES_LAST; type++)
			*value++ = ask(asked[i], KGNI_RES_DEVICE, type, 0);
		for (type = GNI_JOB_RES_FIRST + 1; type < GNI_JOB_RES_LAST; type++) {
			*value++ = ask(asked[i], KGNI_RES_JOB, type, KCT_PTAG);
			*value++ = ask(asked[i], KGNI_RES_JOB, type, OTHER_PTAG);
		}
	}
}

/* What a worker still has to give back comes back. */
static bool is_as(const struct counters *was)
{
	unsigned long end = jiffies + KCT_SOON;
	struct counters now;

	for (count(&now); memcmp(was, &now, sizeof(now)); count(&now)) {
		if (time_after(jiffies, end))
			return false;
		msleep(20);
	}
	return true;
}

static bool asking_init(void)
{
	static const char *const path[DEVICES] = { "/dev/kgni0", "/dev/kgni1" };
	int i;

	question = vm_mmap(NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (!kct_true(!IS_ERR_VALUE(question)))
		return false;
	for (i = 0; i < DEVICES; i++) {
		asked[i] = filp_open(path[i], O_RDWR, 0);
		if (!kct_true(!IS_ERR(asked[i])))
			return false;
	}
	return true;
}

static void asking_exit(void)
{
	int i;

	for (i = 0; i < DEVICES; i++)
		if (!IS_ERR_OR_NULL(asked[i]))
			filp_close(asked[i], NULL);
	if (question && !IS_ERR_VALUE(question))
		vm_munmap(question, PAGE_SIZE);
}

/* --- two clients that could talk, and what a call needs ----------------------------------- */

static struct kct_client a, b;
static struct kct_mem near, far, mbox_a, mbox_b;
static gni_ep_handle_t ep, ep_a, ep_b, lonely;
static gni_smsg_attr_t attr_a, attr_b;
static gni_cdm_handle_t cdm;
static gni_nic_handle_t nic;
static gni_cq_handle_t cq;
static gni_mem_handle_t hndl;
static gni_err_handle_t err;
static gni_post_descriptor_t descr;
static gni_mem_segment_t *segments;
static gni_cq_entry_t entry;
static gni_post_state_t state;
static gni_error_event_t event;
static void *header;
static u64 word, id;
static u32 pe, inst;
static u8 text[GNI_DATAGRAM_MAXSIZE];

static bool mbox_init(struct kct_client *c, struct kct_mem *m, gni_smsg_attr_t *attr)
{
	unsigned int size = 0;

	memset(attr, 0, sizeof(*attr));
	attr->msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	attr->mbox_maxcredit = CREDITS;
	attr->msg_maxsize = MAXSIZE;
	if (!kct_ok(gni_smsg_buff_size_needed(attr, &size)) ||
	    !kct_mem_init(m, c, KCT_VMALLOC, size, 0, c->dst.cq))
		return false;
	attr->msg_buffer = m->at;
	attr->buff_size = size;
	attr->mem_hndl = m->hndl;
	return true;
}

static bool clients_init(void)
{
	u32 i;

	segments = kcalloc(PAGES, sizeof(*segments), GFP_KERNEL);
	if (!kct_true(segments) || !kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 1, 0) ||
	    !kct_mem_init(&near, &a, KCT_VMALLOC, BIG, 0, NULL) ||
	    !kct_mem_init(&far, &b, KCT_PAGES, LENGTH, 0, NULL) ||
	    !mbox_init(&a, &mbox_a, &attr_a) || !mbox_init(&b, &mbox_b, &attr_b))
		return false;
	for (i = 0; i < PAGES; i++) {
		segments[i].address = (uintptr_t)near.at + i * PAGE_SIZE;
		segments[i].length = PAGE_SIZE;
	}
	ep = kct_ep(&a, &b);
	ep_a = kct_ep(&a, &b);
	ep_b = kct_ep(&b, &a);
	return ep && ep_a && ep_b && kct_ok(gni_ep_create(a.nic, NULL, &lonely)) &&
	       kct_ok(gni_ep_bind(lonely, a.pe, NOBODY)) &&
	       kct_ok(gni_smsg_init(ep_a, &attr_a, &attr_b)) &&
	       kct_ok(gni_smsg_init(ep_b, &attr_b, &attr_a));
}

/* Domains take with them what was made through them. */
static void clients_exit(void)
{
	gni_ep_handle_t *const eps[] = { &ep, &ep_a, &ep_b, &lonely };
	int i;

	for (i = 0; i < ARRAY_SIZE(eps); i++) {
		if (*eps[i])
			kct_ok(gni_ep_destroy(*eps[i]));
		*eps[i] = NULL;
	}
	kct_mem_exit(&near);
	kct_mem_exit(&far);
	kct_mem_exit(&mbox_a);
	kct_mem_exit(&mbox_b);
	kct_client_exit(&a);
	kct_client_exit(&b);
	kfree(segments);
	segments = NULL;
}

/* --- calls -------------------------------------------------------------------------------- */

/*
 * A row: its call, what comes before each call, and what undoes both where the call got
 * through. @codes: bit n for return code n that it may give where memory is missing.
 */
struct row {
	const char *name;
	void (*prepare)(void);
	void (*call)(void);
	void (*undo)(void);
	u32 codes;
};

/* What the call of a row said last. */
static gni_return_t result;

static gni_return_t did(void (*call)(void))
{
	call();
	return result;
}

#define CALL(name, expr)	static void name(void) { result = (expr); }
#define STEP(name, call)	static void name(void) { kct_ok(did(call)); }
#define UNDO(name, expr)	static void name(void) { kct_ok(expr); }

CALL(cdm_create, gni_cdm_create(5, OTHER_PTAG, OTHER_COOKIE, 0, &cdm))
CALL(cdm_create_member, gni_cdm_create(5, KCT_PTAG, KCT_COOKIE, 0, &cdm))
STEP(make_cdm, cdm_create)
STEP(make_member, cdm_create_member)
CALL(cdm_destroy, gni_cdm_destroy(cdm))
STEP(end_cdm, cdm_destroy)
CALL(cdm_attach, gni_cdm_attach(cdm, 0, &pe, &nic))
static void make_attached(void)
{
	make_member();
	kct_ok(did(cdm_attach));
}

CALL(ep_create, gni_ep_create(a.nic, a.src.cq, &ep))
STEP(make_ep, ep_create)
CALL(ep_destroy, gni_ep_destroy(ep))
STEP(end_ep, ep_destroy)
CALL(ep_bind, gni_ep_bind(ep, b.pe, b.inst))
static void make_bound(void)
{
	make_ep();
	kct_ok(did(ep_bind));
}

CALL(ep_unbind, gni_ep_unbind(ep))
CALL(ep_set_eventdata, gni_ep_set_eventdata(ep, 1, 2))

CALL(cq_create, gni_cq_create(a.nic, 2000, 0, NULL, 0, &cq))
STEP(make_cq, cq_create)
CALL(cq_destroy, gni_cq_destroy(cq))
STEP(end_cq, cq_destroy)
CALL(cq_get_event, gni_cq_get_event(a.src.cq, &entry) == GNI_RC_NOT_DONE ?
		   GNI_RC_SUCCESS : GNI_RC_INVALID_STATE)

CALL(register_slab, gni_mem_register(a.nic, (uintptr_t)segments, PAGES, a.dst.cq, 0, &hndl))
CALL(register_vmalloc, gni_mem_register(a.nic, (uintptr_t)near.at, BIG, a.dst.cq, 0, &hndl))
CALL(register_virtual, gni_mem_register_segments(a.nic, segments, PAGES, a.dst.cq, 0, &hndl))
static void register_phys(void)
{
	/* The same page again and again is as good as another. */
	static gni_mem_segment_t seg[PAGES];
	u32 i;

	for (i = 0; i < PAGES; i++)
		seg[i].address = page_to_phys(far.pages[i % (LENGTH / PAGE_SIZE)]);
	result = gni_mem_register_segments(a.nic, seg, PAGES, NULL, GNI_MEM_PHYS_SEGMENTS, &hndl);
}

STEP(make_mem, register_vmalloc)
CALL(deregister, gni_mem_deregister(a.nic, &hndl, 0))
STEP(end_mem, deregister)
CALL(deregister_hold, gni_mem_deregister(a.nic, &hndl, 3600 * 1000))
CALL(mdd_release, gni_mem_mdd_release(a.nic, &hndl))
STEP(end_hold, mdd_release)
static void make_hold(void)
{
	make_mem();
	kct_ok(did(deregister_hold));
}

static void make_post(gni_post_type_t type, size_t length)
{
	memset(&descr, 0, sizeof(descr));
	descr.type = type;
	descr.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	descr.local_addr = near.addr;
	descr.local_mem_hndl = near.hndl;
	descr.remote_addr = far.addr;
	descr.remote_mem_hndl = far.hndl;
	descr.length = length;
}

static void make_put(void)
{
	make_post(GNI_POST_RDMA_PUT, LENGTH);
}

static void make_fma_put(void)
{
	make_post(GNI_POST_FMA_PUT, 64);
}

static void make_fma_get(void)
{
	make_post(GNI_POST_FMA_GET, 64);
}

CALL(post_rdma, gni_post_rdma(ep, &descr))
CALL(post_fma, gni_post_fma(ep, &descr))
UNDO(end_post, kct_complete(&a.src, &descr))
static void make_completed(void)
{
	make_fma_put();
	kct_ok(did(post_fma));
	kct_ok(kct_next_event(&a.src, &entry));
}

static void get_completed(void)
{
	gni_post_descriptor_t *d;

	result = gni_get_completed(a.src.cq, entry, &d);
}

CALL(postdata, gni_ep_postdata(lonely, "hello", 6, text, sizeof(text)))
STEP(make_dgram, postdata)
CALL(postdata_test, gni_ep_postdata_test(lonely, &state, &pe, &inst))
CALL(cancel, gni_ep_postdata_cancel(lonely))
STEP(take_dgram, postdata_test)
static void end_dgram(void)
{
	/* One that was bound to a peer is there until its end was told. */
	kct_ok(did(cancel));
	take_dgram();
}

CALL(postdata_w_id, gni_ep_postdata_w_id(lonely, "hello", 6, text, sizeof(text), ID))
STEP(make_dgram_w_id, postdata_w_id)
CALL(test_by_id, gni_ep_postdata_test_by_id(lonely, ID, &state, &pe, &inst))
CALL(cancel_by_id, gni_ep_postdata_cancel_by_id(lonely, ID))
STEP(take_dgram_w_id, test_by_id)
static void end_dgram_w_id(void)
{
	kct_ok(did(cancel_by_id));
	take_dgram_w_id();
}

CALL(probe, gni_postdata_probe(a.nic, &pe, &inst) == GNI_RC_NO_MATCH ?
	    GNI_RC_SUCCESS : GNI_RC_INVALID_STATE)
CALL(probe_by_id, gni_postdata_probe_by_id(a.nic, &id) == GNI_RC_NO_MATCH ?
		  GNI_RC_SUCCESS : GNI_RC_INVALID_STATE)
CALL(probe_wait_by_id, gni_postdata_probe_wait_by_id(a.nic, 1, &id) == GNI_RC_TIMEOUT ?
		       GNI_RC_SUCCESS : GNI_RC_INVALID_STATE)

CALL(smsg_init, gni_smsg_init(ep, &attr_a, &attr_b))
CALL(smsg_send, gni_smsg_send(ep_a, &word, sizeof(word), text, 100, 7))
STEP(make_smsg, smsg_send)
CALL(smsg_getnext, gni_smsg_getnext(ep_b, &header))
CALL(smsg_release, gni_smsg_release(ep_b))
static void take_smsg(void)
{
	gni_cq_entry_t e;

	kct_ok(kct_next_event(&a.src, &e));
	kct_ok(kct_next_event(&b.dst, &e));
}

static void make_getting(void)
{
	make_smsg();
	take_smsg();
	kct_ok(did(smsg_getnext));
}

STEP(end_getnext, smsg_release)
static void make_sent(void)
{
	make_smsg();
	take_smsg();
}

static void end_smsg(void)
{
	take_smsg();
	kct_ok(did(smsg_getnext));
	kct_ok(did(smsg_release));
}

static void subscribe(void)
{
	err = NULL;
	result = gni_subscribe_errors(a.nic, 0xff, 300, NULL, NULL, &err);
	/* A handle that was given early is not left pointing at nothing. */
	kct_true(result == GNI_RC_SUCCESS || !err);
}

STEP(make_err, subscribe)
CALL(release_errors, gni_release_errors(err))
STEP(end_err, release_errors)
CALL(get_error_event, gni_get_error_event(err, &event) == GNI_RC_NOT_DONE ?
		      GNI_RC_SUCCESS : GNI_RC_INVALID_STATE)
static void quiesce_ended(gni_nic_handle_t which, u64 ms)
{
}

CALL(set_quiesce, gni_set_quiesce_callback(a.nic, quiesce_ended))
UNDO(unset_quiesce, gni_set_quiesce_callback(a.nic, NULL))

#define RESOURCE	BIT(GNI_RC_ERROR_RESOURCE)
#define NOMEM		BIT(GNI_RC_ERROR_NOMEM)
#define NOT_DONE	BIT(GNI_RC_NOT_DONE)

static const struct row rows[] = {
	{ "cdm_create", NULL, cdm_create, end_cdm, RESOURCE },
	{ "cdm_attach, new job", make_cdm, cdm_attach, end_cdm, RESOURCE },
	{ "cdm_attach, known job", make_member, cdm_attach, end_cdm, RESOURCE },
	{ "cdm_destroy", make_attached, cdm_destroy, NULL, 0 },
	{ "ep_create", NULL, ep_create, end_ep, NOMEM },
	{ "ep_bind", make_ep, ep_bind, end_ep, 0 },
	{ "ep_unbind", make_bound, ep_unbind, end_ep, 0 },
	{ "ep_set_eventdata", make_ep, ep_set_eventdata, end_ep, 0 },
	{ "ep_destroy", make_bound, ep_destroy, NULL, 0 },
	{ "cq_create", NULL, cq_create, end_cq, RESOURCE | NOMEM },
	{ "cq_destroy", make_cq, cq_destroy, NULL, 0 },
	{ "cq_get_event", NULL, cq_get_event, NULL, 0 },
	{ "mem_register, kmalloc", NULL, register_slab, end_mem, RESOURCE },
	{ "mem_register, vmalloc", NULL, register_vmalloc, end_mem, RESOURCE },
	{ "mem_register_segments, virtual", NULL, register_virtual, end_mem, RESOURCE },
	{ "mem_register_segments, physical", NULL, register_phys, end_mem, RESOURCE },
	{ "mem_deregister", make_mem, deregister, NULL, 0 },
	{ "mem_deregister, with hold", make_mem, deregister_hold, end_hold, 0 },
	{ "mem_mdd_release", make_hold, mdd_release, NULL, 0 },
	{ "post_rdma", make_put, post_rdma, end_post, RESOURCE },
	{ "post_fma, put", make_fma_put, post_fma, end_post, RESOURCE },
	{ "post_fma, get", make_fma_get, post_fma, end_post, RESOURCE },
	{ "get_completed", make_completed, get_completed, NULL, 0 },
	{ "ep_postdata", NULL, postdata, end_dgram, RESOURCE | NOMEM },
	{ "ep_postdata_test", make_dgram, postdata_test, end_dgram, 0 },
	{ "ep_postdata_cancel", make_dgram, cancel, take_dgram, 0 },
	{ "ep_postdata_w_id", NULL, postdata_w_id, end_dgram_w_id, RESOURCE | NOMEM },
	{ "ep_postdata_test_by_id", make_dgram_w_id, test_by_id, end_dgram_w_id, 0 },
	{ "ep_postdata_cancel_by_id", make_dgram_w_id, cancel_by_id, take_dgram_w_id, 0 },
	{ "postdata_probe", NULL, probe, NULL, 0 },
	{ "postdata_probe_by_id", NULL, probe_by_id, NULL, 0 },
	{ "postdata_probe_wait_by_id", NULL, probe_wait_by_id, NULL, 0 },
	{ "smsg_init", make_bound, smsg_init, end_ep, RESOURCE },
	{ "smsg_send", NULL, smsg_send, end_smsg, RESOURCE | NOT_DONE },
	{ "smsg_getnext", make_sent, smsg_getnext, end_getnext, 0 },
	{ "smsg_release", make_getting, smsg_release, NULL, 0 },
	{ "subscribe_errors", NULL, subscribe, end_err, NOMEM },
	{ "get_error_event", make_err, get_error_event, end_err, 0 },
	{ "release_errors", make_err, release_errors, NULL, 0 },
	{ "set_quiesce_callback", NULL, set_quiesce, unset_quiesce, 0 },
};

/* --- injections ---------------------------------------------------------------------------- */

/* A line of the table. */
struct line {
	u32 points;
	u32 survived;	/* failures that the call could do without */
	u32 leaks;
	u32 codes;
};

static struct line all;

static void print_line(const char *name, const struct line *l)
{
	pr_info("# %-32s | %s |%6u |%9u |%6u |%s%s%s\n", name, kct_nth, l->points, l->survived,
		l->leaks, l->codes & RESOURCE ? " ERROR_RESOURCE" : "",
		l->codes & NOMEM ? " ERROR_NOMEM" : "", l->codes & NOT_DONE ? " NOT_DONE" : "");
}

/* The call, while its @nth allocation fails. Return: there was one. */
static bool call_failing(const struct row *row, int nth, gni_return_t *rc)
{
	bool used_up;

	current->fail_nth = nth;
	row->call();
	*rc = result;
	used_up = !current->fail_nth;
	current->fail_nth = 0;
	return used_up;
}

/* One point. Return: go on with the next. */
static bool one_point(const struct row *row, int nth, const struct counters *prepared,
		      struct line *l)
{
	gni_return_t rc;
	bool failed = call_failing(row, nth, &rc);

	l->points += failed;
	if (rc == GNI_RC_SUCCESS) {
		l->survived += failed;
		return failed;
	}
	l->codes |= BIT(rc);
	if (!kct_true(failed) || !kct_true(row->codes & BIT(rc)))
		pr_info("# %s: code %u at point %d\n", row->name, rc, nth);
	if (!kct_true(is_as(prepared)))
		l->leaks++;
	kct_ok(did(row->call));
	return failed && !l->leaks;
}

static void run_row(const struct row *row)
{
	static struct counters idle, prepared;
	struct line l = { 0 };
	bool more = true;
	int nth;

	count(&idle);
	for (nth = 1; more && kct_true(nth < NTH_MAX); nth++) {
		if (row->prepare)
			row->prepare();
		count(&prepared);
		more = one_point(row, nth, &prepared, &l);
		if (row->undo)
			row->undo();
		if (!kct_true(is_as(&idle))) {
			l.leaks++;
			break;
		}
	}
	print_line(row->name, &l);
	all.points += l.points;
	all.survived += l.survived;
	all.leaks += l.leaks;
	all.codes |= l.codes;
}

static void nth_allocation(void)
{
	gni_ep_handle_t keep;
	int i;

	if (!asking_init() || !clients_init())
		goto out;
	keep = ep;
	pr_info("# %-32s | kind | points | survived | leaks | answers\n", "call: gni_");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		run_row(&rows[i]);
		ep = keep;
	}
	print_line("all", &all);
	kct_true(all.points);
	kct_eq(all.leaks, 0);
out:
	clients_exit();
	asking_exit();
}

const struct kct_test kct_nth_tests[] = {
	{ "calls whose nth allocation fails leave nothing behind", nth_allocation },
	{ }
};

#else

const struct kct_test kct_nth_tests[] = { { } };

#endif
