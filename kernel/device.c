// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: class gni, the files /dev/kgniN, and the way of an ioctl to the
 * object that serves it.
 *
 * A device can be deleted while files of it are open. It is then in the table
 * no more, so that no peer finds it, and marked as gone, so that no file
 * attaches and what is posted ends with an error. What attachments have stays
 * until their files are closed, and the device with it.
 */
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"

static struct class *kgni_class;
static dev_t kgni_devt;
/* No file opens before all devices are there: a start that fails has no users. */
static bool kgni_ready;
/* Devices by number; read under RCU. */
static struct kgni_device **kgni_devices;
static u32 kgni_pe_base;
/* Guards who changes the table; outside of all other locks. */
static DEFINE_MUTEX(kgni_devices_lock);

static const struct file_operations kgni_fops;

/**
 * kgni_file_nic - the attachment behind an open file
 * @file: any file
 *
 * Context: any; valid while the file is held.
 * Return: the attachment; NULL if it is no file of ours or not attached.
 */
struct kgni_nic *kgni_file_nic(struct file *file)
{
	struct kgni_file *f;

	if (file->f_op != &kgni_fops)
		return NULL;
	f = file->private_data;
	return smp_load_acquire(&f->nic);	/* pairs with kgni_nic_attach_end() */
}

/**
 * kgni_timeout - milliseconds of the interface as time to sleep
 * @ms: milliseconds, or KGNI_WAIT_FOREVER
 *
 * Context: any.
 * Return: the time; KTIME_MAX, which never ends, for more than 24 days.
 */
ktime_t kgni_timeout(u64 ms)
{
	return ms > INT_MAX ? KTIME_MAX : ms_to_ktime(ms);
}

static int kgni_open(struct inode *inode, struct file *file)
{
	struct kgni_device *dev = container_of(inode->i_cdev, struct kgni_device, cdev);
	struct kgni_file *f;

	if (!smp_load_acquire(&kgni_ready))	/* pairs with kgni_devices_init() */
		return -ENXIO;
	/* By a name that was found before it was deleted. */
	if (READ_ONCE(dev->gone))
		return -ENODEV;
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f)
		return -ENOMEM;
	f->dev = dev;
	f->windows = kgni_windows_new(file);
	if (!f->windows) {
		kfree(f);
		return -ENOMEM;
	}
	f->writable = file->f_mode & FMODE_WRITE;
	mutex_init(&f->lock);
	xa_init(&f->reserved);
	xa_init_flags(&f->eeqs, XA_FLAGS_ALLOC1);
	file->private_data = f;
	return nonseekable_open(inode, file);
}

static int kgni_release(struct inode *inode, struct file *file)
{
	struct kgni_file *f = file->private_data;
	struct kgni_job *job;
	unsigned long ptag;

	kgni_err_release_all(f);
	if (f->nic)
		kgni_nic_release(f->nic);
	xa_for_each(&f->reserved, ptag, job)
		kgni_job_put(job);
	xa_destroy(&f->reserved);
	kgni_windows_release(f->windows);
	kfree(f);
	return 0;
}

static int kgni_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kgni_nic *nic = kgni_file_nic(file);
	struct kgni_file *f = file->private_data;
	int rc = -EINVAL;

	if (nic && (u64)vma->vm_pgoff << PAGE_SHIFT >= KGNI_MMAP_WINDOWS)
		rc = kgni_windows_mmap(f->windows, vma);
	else if (nic)
		rc = kgni_cq_mmap(nic, vma);
	if (rc == -EINVAL)
		kgni_count_refusal(f->dev, KGNI_REFUSED_QUEUE);
	return rc;
}

static unsigned long kgni_area(struct file *file, unsigned long addr, unsigned long len,
			       unsigned long pgoff, unsigned long flags)
{
	struct kgni_file *f = file->private_data;

	return kgni_windows_area(f->windows, file, addr, len, pgoff, flags);
}

static long kgni_info(struct kgni_file *f, void *arg)
{
	struct kgni_nic *nic = smp_load_acquire(&f->nic);	/* kgni_nic_attach_end() */
	struct kgni_ioc_info *info = arg;

	memset(info, 0, sizeof(*info));
	info->abi = KGNI_ABI_VERSION;
	info->device_id = f->dev->id;
	info->pe = f->dev->pe;
	/* Who is attached sees what its job calls it. */
	if (nic)
		kgni_ntt_from_pe(nic->job, f->dev->pe, &info->pe);
	info->device_type = kgni_device_type();
	info->cpu = cpumask_first(cpu_online_mask);
	info->version = GNI_VERSION;
	info->revision = KGNI_REVISION;
	info->ntt_gran = kgni_ntt_granularity(f->dev);
	strscpy(info->build, "kgni " KGNI_VERSION, sizeof(info->build));
	return GNI_RC_SUCCESS;
}

static long kgni_do_attach(struct kgni_file *f, void *arg)
{
	return kgni_nic_attach(f, arg);
}

static void kgni_end_attach(struct kgni_file *f, void *arg, bool told)
{
	kgni_nic_attach_end(f, told);
}

static long kgni_do_get_ptag(struct kgni_file *f, void *arg)
{
	return kgni_job_get_ptag(f, arg);
}

static void kgni_end_get_ptag(struct kgni_file *f, void *arg, bool told)
{
	kgni_job_get_ptag_end(f, arg, told);
}

static long kgni_do_res_info(struct kgni_file *f, void *arg)
{
	return kgni_res_info(f, arg);
}

static long kgni_do_cq_create(struct kgni_file *f, void *arg)
{
	return kgni_cq_create(f->nic, arg);
}

static void kgni_end_cq_create(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_ioc_cq_create *a = arg;

	if (!told)
		kgni_cq_destroy(f->nic, a->id);
}

static long kgni_do_cq_destroy(struct kgni_file *f, void *arg)
{
	struct kgni_ioc_cq_destroy *a = arg;

	return a->reserved ? -EINVAL : kgni_cq_destroy(f->nic, a->id);
}

static long kgni_do_cq_wait(struct kgni_file *f, void *arg)
{
	return kgni_cq_wait(f->dev, arg);
}

static long kgni_do_cq_wake(struct kgni_file *f, void *arg)
{
	return kgni_cq_wake(f->nic, arg);
}

static long kgni_do_cq_owed(struct kgni_file *f, void *arg)
{
	return kgni_cq_owed(f->nic, arg);
}

static long kgni_do_cq_notify(struct kgni_file *f, void *arg)
{
	return kgni_cq_set_notify(f->nic, arg);
}

static long kgni_do_mdd_block(struct kgni_file *f, void *arg)
{
	return kgni_mdd_set_block(f->nic, arg);
}

static long kgni_do_mem_next(struct kgni_file *f, void *arg)
{
	return kgni_mdd_next(f->nic, arg);
}

static long kgni_do_mem_register(struct kgni_file *f, void *arg)
{
	return kgni_mdd_register(f->nic, arg);
}

static void kgni_end_mem_register(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_ioc_mem_register *a = arg;

	/* An update made none; to fill pages that are there once more does no harm. */
	if (!told && !(a->flags & GNI_MEM_UPDATE_REGION))
		kgni_mdd_deregister(f->nic, &a->handle);
}

static long kgni_do_mem_deregister(struct kgni_file *f, void *arg)
{
	struct kgni_ioc_mem_deregister *a = arg;

	return kgni_mdd_deregister(f->nic, &a->handle);
}

static long kgni_do_post(struct kgni_file *f, void *arg)
{
	return kgni_post(f->nic, arg);
}

static long kgni_do_post_chain(struct kgni_file *f, void *arg)
{
	return kgni_post_chain(f->nic, arg);
}

static long kgni_do_window_open(struct kgni_file *f, void *arg)
{
	return kgni_window_open(f->windows, f->nic, arg);
}

static void kgni_end_window_open(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_ioc_window_open *a = arg;

	if (!told)
		kgni_window_close(f->windows, a->index);
}

static long kgni_do_window_close(struct kgni_file *f, void *arg)
{
	struct kgni_ioc_window_close *a = arg;

	return a->reserved ? -EINVAL : kgni_window_close(f->windows, a->index);
}

static long kgni_do_window_wake(struct kgni_file *f, void *arg)
{
	return kgni_window_wake(f->windows, f->nic, arg);
}

static long kgni_do_dgram_post(struct kgni_file *f, void *arg)
{
	return kgni_dgram_post(f->nic, arg);
}

/* Calls that tell the end of a datagram, and the datagram while they tell it. */
struct kgni_dgram_test_arg {
	struct kgni_ioc_dgram_test arg;
	struct kgni_dgram *taken;
};

struct kgni_dgram_probe_arg {
	struct kgni_ioc_dgram_probe arg;
	struct kgni_dgram *taken;
};

static long kgni_do_dgram_test(struct kgni_file *f, void *arg)
{
	struct kgni_dgram_test_arg *a = arg;

	return kgni_dgram_test(f->nic, &a->arg, &a->taken);
}

static void kgni_end_dgram_test(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_dgram_test_arg *a = arg;

	if (a->taken)
		kgni_dgram_told(f->nic, a->taken, told);
}

static long kgni_do_dgram_probe(struct kgni_file *f, void *arg)
{
	struct kgni_dgram_probe_arg *a = arg;

	return kgni_dgram_probe(f->nic, &a->arg, &a->taken);
}

static void kgni_end_dgram_probe(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_dgram_probe_arg *a = arg;

	if (a->taken)
		kgni_dgram_told(f->nic, a->taken, told);
}

static long kgni_do_dgram_cancel(struct kgni_file *f, void *arg)
{
	return kgni_dgram_cancel(f->nic, arg);
}

static long kgni_do_err_subscribe(struct kgni_file *f, void *arg)
{
	return kgni_err_subscribe(f, arg);
}

static void kgni_end_err_subscribe(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_ioc_err_subscribe *a = arg;
	struct kgni_ioc_err_release release = { .id = a->id, .flags = KGNI_ERR_ANYWAY };

	if (!told)
		kgni_err_release(f, &release);
}

static long kgni_do_err_release(struct kgni_file *f, void *arg)
{
	return kgni_err_release(f, arg);
}

static long kgni_do_err_wait(struct kgni_file *f, void *arg)
{
	return kgni_err_wait(f, arg);
}

static long kgni_do_err_set(struct kgni_file *f, void *arg)
{
	return kgni_err_set(f, arg);
}

static long kgni_do_job_configure(struct kgni_file *f, void *arg)
{
	return kgni_job_ioctl(f->dev, arg);
}

static long kgni_do_ntt_configure(struct kgni_file *f, void *arg)
{
	return kgni_ntt_ioctl(f->dev, arg);
}

static void kgni_end_ntt_configure(struct kgni_file *f, void *arg, bool told)
{
	const struct kgni_ioc_ntt *a = arg;
	struct kgni_ntt_args clear = { .count = a->count, .base = a->base };
	u32 base;

	if (!told && a->entries)
		kgni_ntt_configure(f->dev, &clear, &base);
}

static long kgni_do_job_suspend(struct kgni_file *f, void *arg)
{
	return kgni_suspend_ioctl(f->dev, arg);
}

static long kgni_do_bi_set(struct kgni_file *f, void *arg)
{
	return kgni_bi_ioctl(f->dev, arg);
}

static long kgni_do_bi_get(struct kgni_file *f, void *arg)
{
	kgni_bi_get(f->dev, arg);
	return GNI_RC_SUCCESS;
}

static long kgni_do_bi_wait(struct kgni_file *f, void *arg)
{
	struct kgni_ioc_bi_wait *a = arg;

	return kgni_bi_wait(f->dev, kgni_timeout(a->timeout_ms));
}

static long kgni_do_ce_create(struct kgni_file *f, void *arg)
{
	return kgni_ce_create(f->nic, arg);
}

static void kgni_end_ce_create(struct kgni_file *f, void *arg, bool told)
{
	struct kgni_ioc_ce_create *a = arg;

	if (!told)
		kgni_ce_destroy(f->nic, a->id);
}

static long kgni_do_ce_destroy(struct kgni_file *f, void *arg)
{
	struct kgni_ioc_ce_destroy *a = arg;

	return a->reserved ? -EINVAL : kgni_ce_destroy(f->nic, a->id);
}

static long kgni_do_ce_configure(struct kgni_file *f, void *arg)
{
	return kgni_ce_configure(f->nic, arg);
}

static long kgni_do_ce_post(struct kgni_file *f, void *arg)
{
	return kgni_ce_post(f->nic, arg);
}

#define KGNI_NEEDS_NIC	true

/*
 * @end comes after a @call that returned GNI_RC_SUCCESS. Where the caller could
 * not be told, it does not know of what was made for it: @end takes it back.
 */
static const struct kgni_ioctl_desc {
	unsigned int cmd;
	long (*call)(struct kgni_file *f, void *arg);
	bool needs_nic;
	void (*end)(struct kgni_file *f, void *arg, bool told);
} kgni_ioctls[] = {
	{ KGNI_IOC_POST, kgni_do_post, KGNI_NEEDS_NIC },
	{ KGNI_IOC_POST_CHAIN, kgni_do_post_chain, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CQ_WAIT, kgni_do_cq_wait, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CQ_WAKE, kgni_do_cq_wake, KGNI_NEEDS_NIC },
	{ KGNI_IOC_WINDOW_WAKE, kgni_do_window_wake, KGNI_NEEDS_NIC },
	{ KGNI_IOC_WINDOW_OPEN, kgni_do_window_open, KGNI_NEEDS_NIC, kgni_end_window_open },
	{ KGNI_IOC_WINDOW_CLOSE, kgni_do_window_close, KGNI_NEEDS_NIC },
	{ KGNI_IOC_DGRAM_TEST, kgni_do_dgram_test, KGNI_NEEDS_NIC, kgni_end_dgram_test },
	{ KGNI_IOC_DGRAM_PROBE, kgni_do_dgram_probe, KGNI_NEEDS_NIC, kgni_end_dgram_probe },
	{ KGNI_IOC_DGRAM_POST, kgni_do_dgram_post, KGNI_NEEDS_NIC },
	{ KGNI_IOC_DGRAM_CANCEL, kgni_do_dgram_cancel, KGNI_NEEDS_NIC },
	{ KGNI_IOC_MEM_REGISTER, kgni_do_mem_register, KGNI_NEEDS_NIC, kgni_end_mem_register },
	{ KGNI_IOC_MEM_DEREGISTER, kgni_do_mem_deregister, KGNI_NEEDS_NIC },
	{ KGNI_IOC_MDD_BLOCK, kgni_do_mdd_block, KGNI_NEEDS_NIC },
	{ KGNI_IOC_MEM_NEXT, kgni_do_mem_next, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CQ_NOTIFY, kgni_do_cq_notify, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CQ_OWED, kgni_do_cq_owed, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CQ_CREATE, kgni_do_cq_create, KGNI_NEEDS_NIC, kgni_end_cq_create },
	{ KGNI_IOC_CQ_DESTROY, kgni_do_cq_destroy, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CE_POST, kgni_do_ce_post, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CE_CREATE, kgni_do_ce_create, KGNI_NEEDS_NIC, kgni_end_ce_create },
	{ KGNI_IOC_CE_CONFIGURE, kgni_do_ce_configure, KGNI_NEEDS_NIC },
	{ KGNI_IOC_CE_DESTROY, kgni_do_ce_destroy, KGNI_NEEDS_NIC },
	{ KGNI_IOC_INFO, kgni_info },
	{ KGNI_IOC_ATTACH, kgni_do_attach, false, kgni_end_attach },
	{ KGNI_IOC_GET_PTAG, kgni_do_get_ptag, false, kgni_end_get_ptag },
	{ KGNI_IOC_RES_INFO, kgni_do_res_info },
	{ KGNI_IOC_ERR_SUBSCRIBE, kgni_do_err_subscribe, false, kgni_end_err_subscribe },
	{ KGNI_IOC_ERR_RELEASE, kgni_do_err_release },
	{ KGNI_IOC_ERR_WAIT, kgni_do_err_wait },
	{ KGNI_IOC_ERR_SET, kgni_do_err_set },
	{ KGNI_IOC_JOB_CONFIGURE, kgni_do_job_configure },
	{ KGNI_IOC_JOB_SUSPEND, kgni_do_job_suspend },
	{ KGNI_IOC_NTT_CONFIGURE, kgni_do_ntt_configure, false, kgni_end_ntt_configure },
	{ KGNI_IOC_BI_SET, kgni_do_bi_set },
	{ KGNI_IOC_BI_GET, kgni_do_bi_get },
	{ KGNI_IOC_BI_WAIT, kgni_do_bi_wait },
};

/* Room for the argument of any call. */
union kgni_ioctl_arg {
	struct kgni_ioc_info info;
	struct kgni_ioc_attach attach;
	struct kgni_ioc_ptag ptag;
	struct kgni_ioc_res res;
	struct kgni_ioc_cq_create cq_create;
	struct kgni_ioc_cq_destroy cq_destroy;
	struct kgni_ioc_cq_wait cq_wait;
	struct kgni_ioc_cq_wake cq_wake;
	struct kgni_ioc_cq_notify cq_notify;
	struct kgni_ioc_cq_owed cq_owed;
	struct kgni_ioc_mdd_block mdd_block;
	struct kgni_ioc_mem_next mem_next;
	struct kgni_ioc_mem_register mem_register;
	struct kgni_ioc_mem_deregister mem_deregister;
	struct kgni_ioc_post post;
	struct kgni_ioc_post_chain post_chain;
	struct kgni_ioc_window_open window_open;
	struct kgni_ioc_window_close window_close;
	struct kgni_ioc_window_wake window_wake;
	struct kgni_ioc_dgram_post dgram_post;
	struct kgni_dgram_test_arg dgram_test;
	struct kgni_dgram_probe_arg dgram_probe;
	struct kgni_ioc_dgram_cancel dgram_cancel;
	struct kgni_ioc_err_subscribe err_subscribe;
	struct kgni_ioc_err_release err_release;
	struct kgni_ioc_err_wait err_wait;
	struct kgni_ioc_err_set err_set;
	struct kgni_ioc_job job;
	struct kgni_ioc_ntt ntt;
	struct kgni_ioc_suspend suspend;
	struct kgni_ioc_bi_set bi_set;
	struct kgni_ioc_bi_get bi_get;
	struct kgni_ioc_bi_wait bi_wait;
	struct kgni_ioc_ce_create ce_create;
	struct kgni_ioc_ce_destroy ce_destroy;
	struct kgni_ioc_ce_configure ce_configure;
	struct kgni_ioc_ce_post ce_post;
};

static long kgni_ioctl(struct file *file, unsigned int cmd, unsigned long uarg)
{
	void __user *user = (void __user *)uarg;
	struct kgni_file *f = file->private_data;
	const struct kgni_ioctl_desc *d = kgni_ioctls;
	unsigned int size = _IOC_SIZE(cmd);
	union kgni_ioctl_arg arg;
	bool told = true;
	long rc;

	while (d->cmd != cmd)
		if (++d == kgni_ioctls + ARRAY_SIZE(kgni_ioctls))
			return -ENOTTY;
	if (d->needs_nic && !kgni_file_nic(file))
		return GNI_RC_INVALID_STATE;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&arg, user, size))
		return -EFAULT;
	/* The answer must have a place to go before anything is done: try it. */
	if (_IOC_DIR(cmd) == (_IOC_READ | _IOC_WRITE) && copy_to_user(user, &arg, size))
		return -EFAULT;
	rc = d->call(f, &arg);
	if (rc >= 0 && _IOC_DIR(cmd) & _IOC_READ)
		told = !copy_to_user(user, &arg, size);
	if (!rc && d->end)
		d->end(f, &arg, told);
	return told ? rc : -EFAULT;
}

static const struct file_operations kgni_fops = {
	.owner = THIS_MODULE,
	.open = kgni_open,
	.release = kgni_release,
	.unlocked_ioctl = kgni_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = kgni_mmap,
	.get_unmapped_area = kgni_area,
	.llseek = no_llseek,
};

static void kgni_device_free(struct device *dev)
{
	struct kgni_device *kdev = container_of(dev, struct kgni_device, dev);

	kgni_device_jobs_exit(kdev);
	kfree(kdev);
}

static struct kgni_device *kgni_device_new(u32 id, u32 pe)
{
	struct kgni_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int rc;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->id = id;
	dev->pe = pe;
	dev->window_bytes = KGNI_WINDOW_SMALL;
	kgni_device_jobs_init(dev);
	kgni_device_errors_init(dev);
	kgni_device_quiesce_init(dev);
	kgni_device_bi_init(dev);
	device_initialize(&dev->dev);
	dev->dev.class = kgni_class;
	dev->dev.devt = MKDEV(MAJOR(kgni_devt), id);
	dev->dev.groups = kgni_device_groups;
	dev->dev.release = kgni_device_free;
	cdev_init(&dev->cdev, &kgni_fops);
	dev->cdev.owner = THIS_MODULE;
	rc = dev_set_name(&dev->dev, "kgni%u", id);
	if (!rc)
		rc = cdev_device_add(&dev->cdev, &dev->dev);
	if (rc) {
		put_device(&dev->dev);
		return ERR_PTR(rc);
	}
	return dev;
}

static char *kgni_devnode(struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0666;
	return NULL;
}

/**
 * kgni_device_next - find a device by its number
 * @id: the number
 *
 * Context: process.
 * Return: the device with this number or else the next one, for put_device();
 * NULL if there is none.
 */
struct kgni_device *kgni_device_next(u32 id)
{
	struct kgni_device *dev = NULL;

	mutex_lock(&kgni_devices_lock);
	for (; id < KGNI_MAX_DEVICES && !dev; id++)
		dev = kgni_devices[id];
	if (dev)
		get_device(&dev->dev);
	mutex_unlock(&kgni_devices_lock);
	return dev;
}

/**
 * kgni_device_get - find the device with a PE address, to keep it
 * @pe: the address
 *
 * Context: process, may sleep.
 * Return: the device, for put_device(), or NULL.
 */
struct kgni_device *kgni_device_get(u32 pe)
{
	struct kgni_device *dev = kgni_device_next(pe - kgni_pe_base);

	if (!dev || dev->pe == pe)
		return dev;
	put_device(&dev->dev);
	return NULL;
}

static struct kgni_device *kgni_device_add_locked(u32 id)
{
	struct kgni_device *dev;

	if (id == KGNI_DEVICE_ANY)
		for (id = 0; id < KGNI_MAX_DEVICES && kgni_devices[id];)
			id++;
	if (id >= KGNI_MAX_DEVICES)
		return ERR_PTR(-ENOSPC);
	if (kgni_devices[id])
		return ERR_PTR(-EEXIST);
	dev = kgni_device_new(id, kgni_pe_base + id);
	if (!IS_ERR(dev))
		smp_store_release(&kgni_devices[id], dev);	/* see kgni_device_by_pe() */
	return dev;
}

/**
 * kgni_device_add - make a device and its file
 * @id: its number, KGNI_DEVICE_ANY for the lowest that is free
 *
 * Context: process, may sleep.
 * Return: the device, for put_device(); or -EEXIST, -ENOSPC, -ENOMEM.
 */
struct kgni_device *kgni_device_add(u32 id)
{
	struct kgni_device *dev;

	mutex_lock(&kgni_devices_lock);
	dev = kgni_device_add_locked(id);
	if (!IS_ERR(dev))
		get_device(&dev->dev);
	mutex_unlock(&kgni_devices_lock);
	return dev;
}

/* Return: false if it is used and @force is not set. */
static bool kgni_device_mark_gone(struct kgni_device *dev, bool force)
{
	struct kgni_nic *nic;
	bool go;

	mutex_lock(&dev->lock);
	go = force || xa_empty(&dev->jobs);
	if (go) {
		WRITE_ONCE(dev->gone, true);
		list_for_each_entry(nic, &dev->nics, dev_node) {
			kgni_dgram_gone(nic);
			kgni_ce_gone(nic);
		}
	}
	mutex_unlock(&dev->lock);
	return go;
}

/* Whoever found it under RCU before may still use it. */
static void kgni_device_remove(struct kgni_device *dev)
{
	WRITE_ONCE(kgni_devices[dev->id], NULL);
	cdev_device_del(&dev->cdev, &dev->dev);
	kgni_bi_stop(dev);
}

/**
 * kgni_device_delete - delete a device and its file
 * @id: its number
 * @force: also if it has jobs
 *
 * Context: process, may sleep.
 * Return: 0; -ENODEV if there is none; -EBUSY if it has jobs.
 */
int kgni_device_delete(u32 id, bool force)
{
	struct kgni_device *dev;
	int rc = -ENODEV;

	mutex_lock(&kgni_devices_lock);
	dev = id < KGNI_MAX_DEVICES ? kgni_devices[array_index_nospec(id, KGNI_MAX_DEVICES)] :
				      NULL;
	if (dev)
		rc = kgni_device_mark_gone(dev, force) ? 0 : -EBUSY;
	if (!rc)
		kgni_device_remove(dev);
	mutex_unlock(&kgni_devices_lock);
	if (rc)
		return rc;
	synchronize_rcu();
	kgni_windows_gone(dev);
	/* Nobody else can end a quiesce now, and clients wait for its end. */
	kgni_device_unquiesce(dev);
	kgni_go_on();
	put_device(&dev->dev);
	return 0;
}

/* No file is open, so nobody uses them. */
static void kgni_devices_delete(void)
{
	struct kgni_device *dev;
	u32 id;

	mutex_lock(&kgni_devices_lock);
	for (id = 0; id < KGNI_MAX_DEVICES; id++) {
		dev = kgni_devices[id];
		if (!dev)
			continue;
		kgni_device_remove(dev);
		put_device(&dev->dev);
	}
	mutex_unlock(&kgni_devices_lock);
}

/**
 * kgni_devices_init - make the devices and their files
 * @count: how many
 * @pe_base: PE address of the first
 * @table: out: the devices; room for KGNI_MAX_DEVICES
 *
 * Context: process, may sleep.
 * Return: 0 or -errno, with nothing left behind.
 */
int kgni_devices_init(unsigned int count, u32 pe_base, struct kgni_device **table)
{
	struct kgni_device *dev;
	unsigned int i;
	int rc;

	kgni_devices = table;
	kgni_pe_base = pe_base;
	rc = alloc_chrdev_region(&kgni_devt, 0, KGNI_MAX_DEVICES, "kgni");
	if (rc)
		return rc;
	kgni_class = class_create(THIS_MODULE, "gni");
	if (IS_ERR(kgni_class)) {
		rc = PTR_ERR(kgni_class);
		goto unregister;
	}
	kgni_class->devnode = kgni_devnode;
	for (i = 0; i < count; i++) {
		dev = kgni_device_add(i);
		if (IS_ERR(dev)) {
			rc = PTR_ERR(dev);
			goto delete;
		}
		put_device(&dev->dev);
	}
	smp_store_release(&kgni_ready, true);	/* pairs with kgni_open() */
	return 0;

delete:
	kgni_devices_delete();
	class_destroy(kgni_class);
unregister:
	unregister_chrdev_region(kgni_devt, KGNI_MAX_DEVICES);
	return rc;
}

/**
 * kgni_devices_exit - delete all devices, and undo kgni_devices_init()
 *
 * Context: process, may sleep; no file is open.
 */
void kgni_devices_exit(void)
{
	kgni_devices_delete();
	class_destroy(kgni_class);
	unregister_chrdev_region(kgni_devt, KGNI_MAX_DEVICES);
}
