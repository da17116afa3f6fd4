// SPDX-License-Identifier: GPL-2.0-only
/*
 * kgni_client_test.ko: drives every call of the kernel interface, from process,
 * softirq and workqueue context, when it is loaded. It needs kgni.ko with two
 * NICs or more. Results are TAP in the kernel log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kmod.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "kct.h"

char *kct_nth;
module_param_named(nth, kct_nth, charp, 0444);
MODULE_PARM_DESC(nth, "only run calls while allocations of this kind fail, see kct_nth.c");

bool kct_lossy;
module_param_named(lossy, kct_lossy, bool, 0444);
MODULE_PARM_DESC(lossy, "only send messages over ways that fail, as the kernel's fault injection has it");

static unsigned int kct_number;
static atomic_t kct_problems;

/* --- checks --------------------------------------------------------------------------- */

bool kct_check(bool ok, const char *what, const char *func, int line)
{
	if (!ok && atomic_inc_return(&kct_problems) < 20)
		pr_info("# %s:%d: not so: %s\n", func, line, what);
	return ok;
}

bool kct_check_rc(u64 got, u64 want, const char *what, const char *func, int line)
{
	if (got != want && atomic_inc_return(&kct_problems) < 20)
		pr_info("# %s:%d: %s is %llu, not %llu\n", func, line, what, got, want);
	return got == want;
}

static void kct_run_tests(const struct kct_test *t)
{
	for (; t->fn; t++) {
		atomic_set(&kct_problems, 0);
		t->fn();
		kct_number++;
		pr_info("%sok %u - %s\n", atomic_read(&kct_problems) ? "not " : "", kct_number,
			t->name);
	}
}

/* --- contexts ------------------------------------------------------------------------- */

struct kct_job {
	struct tasklet_struct tasklet;
	struct work_struct work;
	struct completion done;
	void (*fn)(void *arg);
	void *arg;
};

static void kct_tasklet_fn(struct tasklet_struct *t)
{
	struct kct_job *job = from_tasklet(job, t, tasklet);

	job->fn(job->arg);
	complete(&job->done);
}

static void kct_work_fn(struct work_struct *work)
{
	struct kct_job *job = container_of(work, struct kct_job, work);

	job->fn(job->arg);
	complete(&job->done);
}

void kct_run_in(enum kct_context where, void (*fn)(void *arg), void *arg)
{
	static DEFINE_SPINLOCK(lock);
	struct kct_job job = { .fn = fn, .arg = arg };

	init_completion(&job.done);
	switch (where) {
	case KCT_SOFTIRQ:
		tasklet_setup(&job.tasklet, kct_tasklet_fn);
		tasklet_schedule(&job.tasklet);
		wait_for_completion(&job.done);
		tasklet_kill(&job.tasklet);
		break;
	case KCT_WORK:
		INIT_WORK_ONSTACK(&job.work, kct_work_fn);
		schedule_work(&job.work);
		wait_for_completion(&job.done);
		flush_work(&job.work);
		destroy_work_on_stack(&job.work);
		break;
	case KCT_SPINLOCK:
		spin_lock(&lock);
		fn(arg);
		spin_unlock(&lock);
		break;
	default:
		fn(arg);
	}
}

/* --- processes ------------------------------------------------------------------------ */

bool kct_run(const char *script)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char sh[] = "/bin/sh", c[] = "-c", copy[128];
	char *env[2] = { path };
	char *argv[4] = { sh, c, copy };

	strscpy(copy, script, sizeof(copy));
	return kct_eq(call_usermodehelper(argv[0], argv, env, UMH_WAIT_PROC), 0);
}

bool kct_command(const char *file, const char *line)
{
	char script[128];

	snprintf(script, sizeof(script), "echo %s >/sys/kernel/debug/kgni/%s", line, file);
	return kct_run(script);
}

/* --- clients -------------------------------------------------------------------------- */

static void kct_handler(u32 devid, u64 data)
{
	struct kct_cq *q = (struct kct_cq *)(uintptr_t)data;

	if (devid != q->devid || READ_ONCE(q->gone) || !in_softirq())
		atomic_inc(&q->wrong);
	atomic_inc(&q->calls);
	wake_up_all(&q->wq);
}

bool kct_cq_init(struct kct_client *c, struct kct_cq *q, u32 entries, u32 delay)
{
	memset(q, 0, sizeof(*q));
	q->devid = c->dev;
	init_waitqueue_head(&q->wq);
	return kct_ok(gni_cq_create(c->nic, entries, delay, kct_handler, (uintptr_t)q, &q->cq));
}

void kct_cq_exit(struct kct_cq *q)
{
	if (!q->cq)
		return;
	kct_ok(gni_cq_destroy(q->cq));
	WRITE_ONCE(q->gone, true);
	kct_eq(atomic_read(&q->wrong), 0);
	q->cq = NULL;
}

gni_return_t kct_next_event(struct kct_cq *q, gni_cq_entry_t *e)
{
	gni_return_t rc = GNI_RC_NOT_DONE;

	wait_event_timeout(q->wq, (rc = gni_cq_get_event(q->cq, e)) != GNI_RC_NOT_DONE, KCT_SOON);
	return rc;
}

gni_return_t kct_complete(struct kct_cq *q, gni_post_descriptor_t *want)
{
	gni_post_descriptor_t *d = NULL;
	gni_cq_entry_t e = 0;
	gni_return_t rc = kct_next_event(q, &e);

	if (!kct_true(rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR))
		return rc;
	kct_eq(GNI_CQ_GET_TYPE(e), GNI_CQ_EVENT_TYPE_POST);
	kct_eq(gni_get_completed(q->cq, e, &d), rc);
	kct_true(d == want);
	kct_true(d && d->status == rc);
	return rc;
}

bool kct_client_init_job(struct kct_client *c, u32 inst, u32 dev, u32 modes, u8 ptag, u32 cookie)
{
	memset(c, 0, sizeof(*c));
	c->inst = inst;
	c->dev = dev;
	return kct_ok(gni_cdm_create(inst, ptag, cookie, modes, &c->cdm)) &&
	       kct_ok(gni_cdm_attach(c->cdm, dev, &c->pe, &c->nic)) &&
	       kct_cq_init(c, &c->src, KCT_ENTRIES, 0) && kct_cq_init(c, &c->dst, KCT_ENTRIES, 0);
}

bool kct_client_init(struct kct_client *c, u32 inst, u32 dev, u32 modes)
{
	return kct_client_init_job(c, inst, dev, modes, KCT_PTAG, KCT_COOKIE);
}

void kct_client_exit(struct kct_client *c)
{
	if (!c->cdm)
		return;
	kct_cq_exit(&c->src);
	kct_cq_exit(&c->dst);
	kct_ok(gni_cdm_destroy(c->cdm));
	c->cdm = NULL;
}

gni_ep_handle_t kct_ep(struct kct_client *from, const struct kct_client *to)
{
	gni_ep_handle_t ep = NULL;

	if (kct_ok(gni_ep_create(from->nic, from->src.cq, &ep)))
		kct_ok(gni_ep_bind(ep, to->pe, to->inst));
	return ep;
}

/* --- memory ----------------------------------------------------------------------------- */

static void kct_mem_free(struct kct_mem *m)
{
	size_t i;

	switch (m->kind) {
	case KCT_SLAB:
		kfree(m->at);
		break;
	case KCT_VMALLOC:
		vfree(m->at);
		break;
	default:
		if (m->at)
			vunmap(m->at);
		for (i = 0; m->pages && i < m->size / PAGE_SIZE; i++)
			if (m->pages[i])
				__free_page(m->pages[i]);
		kfree(m->pages);
	}
	m->at = NULL;
}

static void kct_mem_alloc_pages(struct kct_mem *m)
{
	size_t i, n = m->size / PAGE_SIZE;

	m->pages = kcalloc(n, sizeof(*m->pages), GFP_KERNEL);
	for (i = 0; m->pages && i < n; i++) {
		/* From both ends, so that they do not follow each other. */
		size_t at = i % 2 ? n - 1 - i / 2 : i / 2;

		m->pages[at] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!m->pages[at])
			return;
	}
	if (m->pages)
		m->at = vmap(m->pages, n, VM_MAP, PAGE_KERNEL);
}

static bool kct_mem_alloc(struct kct_mem *m)
{
	switch (m->kind) {
	case KCT_SLAB:
		m->at = kzalloc(m->size, GFP_KERNEL);
		break;
	case KCT_VMALLOC:
		m->at = vzalloc(m->size);
		break;
	default:
		kct_mem_alloc_pages(m);
	}
	return kct_true(m->at);
}

/* Only addresses are filled in, as clients do. */
static gni_return_t kct_mem_register_pages(struct kct_mem *m, u32 flags, gni_cq_handle_t dst_cq)
{
	size_t i, n = m->size / PAGE_SIZE;
	gni_mem_segment_t *seg = kmalloc_array(n, sizeof(*seg), GFP_KERNEL);
	gni_return_t rc;

	if (!seg)
		return GNI_RC_ERROR_NOMEM;
	memset(seg, 0xa5, n * sizeof(*seg));
	for (i = 0; i < n; i++)
		seg[i].address = page_to_phys(m->pages[i]);
	rc = gni_mem_register_segments(m->c->nic, seg, n, dst_cq,
				       flags | GNI_MEM_PHYS_SEGMENTS | GNI_MEM_RELAXED_PI_ORDERING,
				       &m->hndl);
	kfree(seg);
	return rc;
}

bool kct_mem_init(struct kct_mem *m, struct kct_client *c, enum kct_kind kind, size_t size,
		  u32 flags, gni_cq_handle_t dst_cq)
{
	gni_return_t rc;

	memset(m, 0, sizeof(*m));
	m->c = c;
	m->kind = kind;
	m->size = size;
	if (!kct_mem_alloc(m))
		return false;
	if (kind == KCT_PAGES) {
		rc = kct_mem_register_pages(m, flags, dst_cq);
	} else {
		m->addr = (uintptr_t)m->at;
		rc = gni_mem_register(c->nic, m->addr, size, dst_cq,
				      flags | (kind == KCT_SLAB ? GNI_MEM_PHYS_CONT : 0),
				      &m->hndl);
	}
	return kct_ok(rc);
}

void kct_mem_exit(struct kct_mem *m)
{
	if (!m->at)
		return;
	kct_ok(gni_mem_deregister(m->c->nic, &m->hndl, 0));
	kct_mem_free(m);
}

static u8 kct_byte(size_t at, u8 seed)
{
	return at * 7 + at / 251 + seed;
}

void kct_mem_fill(struct kct_mem *m, u8 seed)
{
	size_t i;

	for (i = 0; i < m->size; i++)
		m->at[i] = kct_byte(i, seed);
}

/* Are the @n bytes from @from on those that kct_mem_fill() wrote from @source on? */
bool kct_mem_holds(const struct kct_mem *m, size_t from, size_t n, size_t source, u8 seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (m->at[from + i] != kct_byte(source + i, seed))
			return false;
	return true;
}

/* --- the module ------------------------------------------------------------------------- */

static void kct_run_all(void)
{
	kct_run_tests(kct_object_tests);
	kct_run_tests(kct_mem_tests);
	kct_run_tests(kct_post_tests);
	kct_run_tests(kct_event_tests);
	kct_run_tests(kct_dgram_tests);
	kct_run_tests(kct_smsg_tests);
	kct_run_tests(kct_error_tests);
}

static int __init kct_init(void)
{
	if (kct_nth)
		kct_run_tests(kct_nth_tests);
	else if (kct_lossy)
		kct_run_tests(kct_lossy_tests);
	else
		kct_run_all();
	pr_info("1..%u\n", kct_number);
	return 0;
}

static void __exit kct_exit(void)
{
}

module_init(kct_init);
module_exit(kct_exit);

MODULE_DESCRIPTION("Tests of the interface of kgni for kernel clients");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
