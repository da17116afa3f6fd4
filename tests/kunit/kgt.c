// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module itself, in place of the driver's main.c, and what the suites share.
 */
#include <linux/kthread.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kgt.h"

/* As in main.c, which is not here. */
bool kgni_gemini;

static struct kgni_device *kgt_devices[8];
/* KUnit runs the suites in the context of who loads the module. */
static struct mm_struct *kgt_mm;

/* In place of the one in main.c. */
struct kgni_device *kgni_device_by_pe(u32 pe)
{
	struct kgni_device *dev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kgt_devices); i++) {
		dev = READ_ONCE(kgt_devices[i]);
		if (dev && dev->pe == pe)
			return dev;
	}
	return NULL;
}

int kgt_suite_init(struct kunit_suite *suite)
{
	if (!current->mm)
		return -EINVAL;
	mmget(current->mm);
	kgt_mm = current->mm;
	return kgni_bte_init();
}

void kgt_suite_exit(struct kunit_suite *suite)
{
	kgni_bte_exit();
	kgni_cq_exit();
	mmput(kgt_mm);
	kgt_mm = NULL;
}

struct kgt_device {
	struct kgni_device dev;
	struct kunit *test;
	long locked_vm;
};

static long kgt_locked_vm(void)
{
	return atomic_long_read(&current_user()->locked_vm);
}

static int kgt_device_init(struct kunit_resource *res, void *context)
{
	struct kgt_device *d = kzalloc(sizeof(*d), GFP_KERNEL);
	unsigned int i = 0;

	while (i < ARRAY_SIZE(kgt_devices) && kgt_devices[i])
		i++;
	if (!d || i == ARRAY_SIZE(kgt_devices)) {
		kfree(d);
		return -ENOMEM;
	}
	d->dev.id = i;
	d->dev.pe = *(u32 *)context;
	kgni_device_jobs_init(&d->dev);
	kgni_device_errors_init(&d->dev);
	kgni_device_quiesce_init(&d->dev);
	kgni_device_bi_init(&d->dev);
	d->locked_vm = kgt_locked_vm();
	kgt_devices[i] = &d->dev;
	res->data = d;
	return 0;
}

static void kgt_device_free(struct kunit_resource *res)
{
	struct kgt_device *d = res->data;
	struct kgni_device *dev = &d->dev;
	unsigned int i;

	KUNIT_EXPECT_TRUE(d->test, xa_empty(&dev->jobs));
	for (i = 0; i < KGNI_RES_COUNT; i++)
		KUNIT_EXPECT_EQ_MSG(d->test, atomic_read(&dev->used[i]), 0, "resource %u", i);
	/* The first device goes last. */
	if (!dev->id) {
		KUNIT_EXPECT_EQ(d->test, atomic64_read(&kgt_mm->pinned_vm), 0);
		KUNIT_EXPECT_EQ(d->test, kgt_locked_vm(), d->locked_vm);
	}
	kgt_devices[dev->id] = NULL;
	kgni_bi_stop(dev);
	kgni_device_jobs_exit(dev);
	kfree(d);
}

struct kgni_device *kgt_device(struct kunit *test, u32 pe)
{
	struct kgt_device *d = kunit_alloc_resource(test, kgt_device_init, kgt_device_free,
						    GFP_KERNEL, &pe);

	KUNIT_ASSERT_NOT_NULL(test, d);
	d->test = test;
	return &d->dev;
}

static int kgt_file_init(struct kunit_resource *res, void *context)
{
	struct kgni_file *f = kzalloc(sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->dev = context;
	f->writable = true;
	mutex_init(&f->lock);
	xa_init(&f->reserved);
	xa_init_flags(&f->eeqs, XA_FLAGS_ALLOC1);
	res->data = f;
	return 0;
}

void kgt_close(struct kgni_file *f)
{
	struct kgni_job *job;
	unsigned long ptag;

	kgni_err_release_all(f);
	if (f->nic)
		kgni_nic_release(f->nic);
	f->nic = NULL;
	xa_for_each(&f->reserved, ptag, job)
		kgni_job_put(job);
	xa_destroy(&f->reserved);
}

static void kgt_file_free(struct kunit_resource *res)
{
	kgt_close(res->data);
	kfree(res->data);
}

struct kgni_file *kgt_open(struct kunit *test, struct kgni_device *dev)
{
	struct kgni_file *f = kunit_alloc_resource(test, kgt_file_init, kgt_file_free,
						   GFP_KERNEL, dev);

	KUNIT_ASSERT_NOT_NULL(test, f);
	return f;
}

long kgt_nic_attach(struct kgni_file *f, struct kgni_ioc_attach *arg)
{
	long rc = kgni_nic_attach(f, arg);

	if (!rc)
		kgni_nic_attach_end(f, true);
	return rc;
}

struct kgni_file *kgt_attach(struct kunit *test, struct kgni_device *dev, u32 inst_id,
			     u32 cookie, u32 modes)
{
	struct kgni_ioc_attach arg = {
		.inst_id = inst_id,
		.ptag = GNI_FIND_ALLOC_PTAG,
		.cookie = cookie,
		.modes = modes,
	};
	struct kgni_file *f = kgt_open(test, dev);

	KUNIT_ASSERT_EQ(test, kgt_nic_attach(f, &arg), GNI_RC_SUCCESS);
	return f;
}

struct kgni_cq *kgt_cq(struct kunit *test, struct kgni_file *f, u32 entries, u32 mode)
{
	struct kgni_ioc_cq_create arg = { .entries = entries, .mode = mode };
	struct kgni_cq *cq;

	KUNIT_ASSERT_EQ(test, kgni_cq_create(f->nic, &arg), GNI_RC_SUCCESS);
	cq = kgni_cq_find(f->nic, arg.id);
	KUNIT_ASSERT_NOT_NULL(test, cq);
	kgni_cq_put(cq);
	return cq;
}

u64 kgt_pop(struct kgni_cq *cq)
{
	u64 entry;

	switch (kgni_ring_pop(&cq->view, &entry)) {
	case KGNI_RING_ENTRY:
		return entry;
	case KGNI_RING_OVERRUN:
		return KGNI_CQE_OVERRUN;
	default:
		return 0;
	}
}

/*
 * An assertion that fails ends the thread of the case; what is left then is
 * cleaned up by the loader itself.
 */
void kgt_mm_begin(void)
{
	if (current->mm != kgt_mm)
		kthread_use_mm(kgt_mm);
}

void kgt_mm_end(void)
{
	if (current->flags & PF_KTHREAD)
		kthread_unuse_mm(kgt_mm);
}

struct mm_struct *kgt_mm_get(void)
{
	mmgrab(kgt_mm);
	return kgt_mm;
}

struct kgt_user {
	unsigned long addr;
	size_t size;
	unsigned long prot;
};

static int kgt_user_init(struct kunit_resource *res, void *context)
{
	struct kgt_user *u = kmemdup(context, sizeof(*u), GFP_KERNEL);

	if (!u)
		return -ENOMEM;
	kgt_mm_begin();
	u->addr = vm_mmap(NULL, 0, u->size, u->prot, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	kgt_mm_end();
	if (IS_ERR_VALUE(u->addr)) {
		kfree(u);
		return -ENOMEM;
	}
	res->data = u;
	return 0;
}

static void kgt_user_free(struct kunit_resource *res)
{
	struct kgt_user *u = res->data;

	kgt_mm_begin();
	vm_munmap(u->addr, u->size);
	kgt_mm_end();
	kfree(u);
}

unsigned long kgt_user(struct kunit *test, size_t size, unsigned long prot)
{
	struct kgt_user arg = { .size = size, .prot = prot };
	struct kgt_user *u = kunit_alloc_resource(test, kgt_user_init, kgt_user_free,
						  GFP_KERNEL, &arg);

	KUNIT_ASSERT_NOT_NULL(test, u);
	return u->addr;
}

void kgt_unmap(unsigned long addr, size_t size)
{
	kgt_mm_begin();
	vm_munmap(addr, size);
	kgt_mm_end();
}

void kgt_remap(struct kunit *test, unsigned long addr, size_t size, unsigned long prot)
{
	unsigned long at;

	kgt_mm_begin();
	at = vm_mmap(NULL, addr, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, 0);
	kgt_mm_end();
	KUNIT_ASSERT_EQ(test, at, addr);
}

u8 kgt_peek(unsigned long addr)
{
	u8 byte = 0;
	int rc;

	kgt_mm_begin();
	rc = get_user(byte, (u8 __user *)addr);
	kgt_mm_end();
	return rc ? 0xee : byte;
}

void kgt_poke(unsigned long addr, u8 byte)
{
	kgt_mm_begin();
	if (put_user(byte, (u8 __user *)addr))
		pr_err("kgt: user memory at 0x%lx is gone\n", addr);
	kgt_mm_end();
}

long kgt_register(struct kgni_file *f, struct kgni_ioc_mem_register *arg)
{
	long rc;

	kgt_mm_begin();
	rc = kgni_mdd_register(f->nic, arg);
	kgt_mm_end();
	return rc;
}

static int kgt_cred_init(struct kunit_resource *res, void *context)
{
	kuid_t uid = KUIDT_INIT(*(uid_t *)context);
	struct cred *cred = prepare_creds();

	if (!cred)
		return -ENOMEM;
	cred->uid = uid;
	cred->euid = uid;
	cred->suid = uid;
	cred->fsuid = uid;
	cap_clear(cred->cap_effective);
	cap_clear(cred->cap_permitted);
	res->data = cred;
	return 0;
}

static void kgt_cred_free(struct kunit_resource *res)
{
	put_cred(res->data);
}

const struct cred *kgt_cred(struct kunit *test, uid_t uid)
{
	const struct cred *cred = kunit_alloc_resource(test, kgt_cred_init, kgt_cred_free,
						       GFP_KERNEL, &uid);

	KUNIT_ASSERT_NOT_NULL(test, cred);
	return cred;
}

static int kgt_thread_fn(void *arg)
{
	struct kgt_thread *t = arg;

	allow_signal(SIGUSR1);
	complete_all(&t->begun);
	t->rc = t->fn(t->arg);
	complete_all(&t->done);
	return 0;
}

static int kgt_thread_init(struct kunit_resource *res, void *context)
{
	struct kgt_thread *t = kmemdup(context, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	init_completion(&t->begun);
	init_completion(&t->done);
	t->task = kthread_create(kgt_thread_fn, t, "kgt");
	if (IS_ERR(t->task)) {
		kfree(t);
		return -ENOMEM;
	}
	get_task_struct(t->task);
	wake_up_process(t->task);
	res->data = t;
	return 0;
}

static void kgt_thread_free(struct kunit_resource *res)
{
	struct kgt_thread *t = res->data;

	/* A signal that came before it is ready for one would be lost. */
	if (wait_for_completion_timeout(&t->begun, KGT_SOON) && !completion_done(&t->done))
		send_sig(SIGUSR1, t->task, 1);
	if (!wait_for_completion_timeout(&t->done, KGT_SOON)) {
		KUNIT_FAIL(t->test, "a thread hangs");
		return;
	}
	kthread_stop(t->task);
	put_task_struct(t->task);
	kfree(t);
}

struct kgt_thread *kgt_thread(struct kunit *test, long (*fn)(void *arg), void *arg)
{
	struct kgt_thread args = { .fn = fn, .arg = arg, .test = test };
	struct kgt_thread *t = kunit_alloc_resource(test, kgt_thread_init, kgt_thread_free,
						    GFP_KERNEL, &args);

	KUNIT_ASSERT_NOT_NULL(test, t);
	return t;
}

/*
 * What has begun and is off its processor's queue sleeps. Its state says less: who is about
 * to sleep sets that first, and then looks whether it has to.
 */
static bool kgt_is_asleep(struct kgt_thread *t)
{
	/* With __schedule(): what it did before it slept is seen. */
	return completion_done(&t->begun) && !smp_load_acquire(&t->task->on_rq);
}

bool kgt_is_waiting(struct kgt_thread *t)
{
	if (!kgt_until(kgt_is_asleep(t) || completion_done(&t->done)))
		return false;
	return !wait_for_completion_timeout(&t->done, KGT_NEVER);
}

long kgt_join(struct kgt_thread *t)
{
	if (!wait_for_completion_timeout(&t->done, KGT_SOON))
		KUNIT_FAIL(t->test, "a thread does not end");
	return READ_ONCE(t->rc);
}

u64 kgt_rand(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

MODULE_DESCRIPTION("KUnit tests of kgni");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
