// SPDX-License-Identifier: GPL-2.0-only
/*
 * The devices and their files: nodes, attributes, and the way of a call from
 * user memory to the object that serves it and back.
 */
#include <linux/anon_inodes.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/mman.h>

#include "kgt.h"
#include "../../kernel/device.c"

/* --- devices --------------------------------------------------------------- */

static const struct number {
	unsigned int count;
	u32 base;
} numbers[] = {
	{ 1, 1 }, { 3, 100 }, { KGNI_MAX_DEVICES, U32_MAX - KGNI_MAX_DEVICES },
};

static void number_desc(const struct number *n, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u from PE %u", n->count, n->base);
}

KUNIT_ARRAY_PARAM(number, numbers, number_desc);

/* What an attribute of a device reads. */
static const char *read_attribute(struct kgni_device *dev, const char *name, char *buf)
{
	struct attribute **a;

	for (a = kgni_device_groups[0]->attrs; *a; a++) {
		struct device_attribute *d = container_of(*a, struct device_attribute, attr);

		if (!strcmp((*a)->name, name) && d->show(&dev->dev, d, buf) > 0)
			return buf;
	}
	return "none";
}

static void check_device(struct kunit *test, struct kgni_device *dev, u32 id, u32 pe)
{
	char *buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	char want[20];

	/* sysfs_emit() wants a page for itself. */
	KUNIT_ASSERT_TRUE(test, buf && !offset_in_page(buf));
	KUNIT_EXPECT_EQ(test, dev->id, id);
	KUNIT_EXPECT_EQ(test, dev->pe, pe);
	snprintf(want, sizeof(want), "kgni%u", id);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->dev), want);
	KUNIT_EXPECT_EQ(test, MINOR(dev->dev.devt), id);
	snprintf(want, sizeof(want), "%u\n", pe);
	KUNIT_EXPECT_STREQ(test, read_attribute(dev, "address", buf), want);
	KUNIT_EXPECT_STREQ(test, read_attribute(dev, "type", buf), "aries\n");
	KUNIT_EXPECT_STREQ(test, read_attribute(dev, "state", buf), "up\n");
	kunit_kfree(test, buf);
}

static void devices(struct kunit *test)
{
	const struct number *n = test->param_value;
	struct kgni_device **table = kunit_kcalloc(test, KGNI_MAX_DEVICES, sizeof(*table),
						    GFP_KERNEL);
	umode_t mode = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_EQ(test, kgni_devices_init(n->count, n->base, table), 0);
	for (i = 0; i < n->count; i++)
		check_device(test, table[i], i, n->base + i);
	KUNIT_EXPECT_NULL(test, kgni_devnode(&table[0]->dev, &mode));
	KUNIT_EXPECT_EQ(test, mode, 0666);
	kgni_devices_exit();
	for (i = 0; i < n->count; i++)
		KUNIT_EXPECT_NULL(test, table[i]);
}

/* The number of the device with this number or the next one, and -1 if there is none. */
static int next_id(u32 id)
{
	struct kgni_device *dev = kgni_device_next(id);
	int got = dev ? dev->id : -1;

	if (dev)
		put_device(&dev->dev);
	return got;
}

static int id_of_pe(u32 pe)
{
	struct kgni_device *dev = kgni_device_get(pe);
	int got = dev ? dev->id : -1;

	if (dev)
		put_device(&dev->dev);
	return got;
}

static int add_id(u32 id)
{
	struct kgni_device *dev = kgni_device_add(id);
	int got = PTR_ERR_OR_ZERO(dev);

	if (got)
		return got;
	got = dev->id;
	put_device(&dev->dev);
	return got;
}

static void come_and_go(struct kunit *test)
{
	struct kgni_device **table = kunit_kcalloc(test, KGNI_MAX_DEVICES, sizeof(*table),
						   GFP_KERNEL);
	struct kgni_device *dev;

	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_EQ(test, kgni_devices_init(2, 100, table), 0);
	KUNIT_EXPECT_EQ(test, add_id(KGNI_DEVICE_ANY), 2);
	check_device(test, table[2], 2, 102);
	KUNIT_EXPECT_EQ(test, add_id(63), 63);
	KUNIT_EXPECT_EQ(test, add_id(2), -EEXIST);
	KUNIT_EXPECT_EQ(test, add_id(KGNI_MAX_DEVICES), -ENOSPC);
	KUNIT_EXPECT_EQ(test, next_id(3), 63);
	KUNIT_EXPECT_EQ(test, next_id(KGNI_MAX_DEVICES), -1);
	KUNIT_EXPECT_EQ(test, id_of_pe(101), 1);
	KUNIT_EXPECT_EQ(test, id_of_pe(163), 63);
	KUNIT_EXPECT_EQ(test, id_of_pe(103), -1);
	KUNIT_EXPECT_EQ(test, id_of_pe(99), -1);
	KUNIT_EXPECT_EQ(test, id_of_pe(164), -1);

	dev = table[1];
	get_device(&dev->dev);
	KUNIT_EXPECT_EQ(test, kgni_device_delete(1, false), 0);
	KUNIT_EXPECT_TRUE(test, dev->gone);
	KUNIT_EXPECT_NULL(test, table[1]);
	put_device(&dev->dev);
	KUNIT_EXPECT_EQ(test, kgni_device_delete(1, false), -ENODEV);
	KUNIT_EXPECT_EQ(test, kgni_device_delete(1, true), -ENODEV);
	KUNIT_EXPECT_EQ(test, kgni_device_delete(KGNI_MAX_DEVICES, true), -ENODEV);
	KUNIT_EXPECT_EQ(test, add_id(KGNI_DEVICE_ANY), 1);
	KUNIT_EXPECT_EQ(test, add_id(KGNI_DEVICE_ANY), 3);
	kgni_devices_exit();
}

/* One that is used goes by force only, and takes nobody more. */
static void gone(struct kunit *test)
{
	struct kgni_device **table = kunit_kcalloc(test, KGNI_MAX_DEVICES, sizeof(*table),
						   GFP_KERNEL);
	struct kgni_ioc_attach arg = { .ptag = GNI_FIND_ALLOC_PTAG, .cookie = 5 };
	struct kgni_ioc_dgram_post post = { .ep = 1 };
	struct kgni_file *f, *late;
	struct kgni_device *dev;

	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_EQ(test, kgni_devices_init(1, 100, table), 0);
	dev = table[0];
	get_device(&dev->dev);
	f = kgt_attach(test, dev, 1, 5, 0);
	late = kgt_open(test, dev);
	KUNIT_EXPECT_EQ(test, kgni_dgram_post(f->nic, &post), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, kgni_device_delete(0, false), -EBUSY);
	KUNIT_EXPECT_FALSE(test, dev->gone);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->nic->dgram_wild));
	KUNIT_EXPECT_EQ(test, kgni_device_delete(0, true), 0);
	KUNIT_EXPECT_TRUE(test, dev->gone);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->nic->dgram_wild));
	KUNIT_EXPECT_FALSE(test, list_empty(&f->nic->dgram_done));
	post.ep = 2;
	KUNIT_EXPECT_EQ(test, kgni_dgram_post(f->nic, &post), GNI_RC_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(late, &arg), -ENODEV);
	kgt_close(f);
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->nics));
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->jobs));
	put_device(&dev->dev);
	kgni_devices_exit();
}

static const struct span {
	u64 ms;
	ktime_t time;
} spans[] = {
	{ 0, 0 }, { 1, NSEC_PER_MSEC }, { 1000, NSEC_PER_SEC }, { 3600000, 3600 * NSEC_PER_SEC },
	{ INT_MAX + 1ULL, KTIME_MAX }, { U32_MAX, KTIME_MAX }, { 1ULL << 32, KTIME_MAX },
	{ KGNI_WAIT_FOREVER, KTIME_MAX },
};

static void span_desc(const struct span *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu ms", s->ms);
}

KUNIT_ARRAY_PARAM(span, spans, span_desc);

static void timeout(struct kunit *test)
{
	const struct span *s = test->param_value;

	KUNIT_EXPECT_EQ(test, kgni_timeout(s->ms), s->time);
}

/* --- files ----------------------------------------------------------------- */

/*
 * Closed when this returns: its device goes next. A kernel thread's fput() may
 * leave that to a worker, which nothing waits for.
 */
static void file_free(struct kunit_resource *res)
{
	if (current->flags & PF_KTHREAD)
		__fput_sync(res->data);
	else
		fput(res->data);
}

/* A file with the driver's operations, and on no file system. */
static struct file *anon_file(struct kunit *test, const struct file_operations *fops, int flags)
{
	struct file *file = anon_inode_getfile("kgt", fops, NULL, flags);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	kunit_alloc_resource(test, NULL, file_free, GFP_KERNEL, file);
	return file;
}

static struct file *open_device(struct kunit *test, struct kgni_device *dev, int flags)
{
	struct file *file = anon_file(test, &kgni_fops, flags);
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, inode);
	inode->i_cdev = &dev->cdev;
	kgni_ready = true;
	KUNIT_ASSERT_EQ(test, kgni_open(inode, file), 0);
	return file;
}

static bool is_file(struct kunit *test, struct kunit_resource *res, void *file)
{
	return res->free == file_free && res->data == file;
}

static void close_file(struct kunit *test, struct file *file)
{
	KUNIT_EXPECT_EQ(test, kunit_destroy_resource(test, is_file, file), 0);
}

/* A call with its argument in a page of user memory, which is changed by it. */
static long call(struct file *file, unsigned int cmd, unsigned long user, void *arg)
{
	unsigned int size = _IOC_SIZE(cmd);
	long rc = -EIO;

	kgt_mm_begin();
	if (!copy_to_user((void __user *)user, arg, size)) {
		rc = kgni_ioctl(file, cmd, user);
		if (copy_from_user(arg, (void __user *)user, size))
			rc = -EIO;
	}
	kgt_mm_end();
	return rc;
}

static struct kgni_ioc_attach attach_args(void)
{
	return (struct kgni_ioc_attach) {
		.inst_id = 1, .ptag = GNI_FIND_ALLOC_PTAG, .cookie = KGT_COOKIE,
	};
}

static const int open_flags[] = { O_RDONLY, O_WRONLY, O_RDWR };

static void open_flag_desc(const int *flags, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mode %d", *flags);
}

KUNIT_ARRAY_PARAM(open_flag, open_flags, open_flag_desc);

static void open_file(struct kunit *test)
{
	int flags = *(const int *)test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, flags);
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	struct kgni_file *f = file->private_data;
	struct kgni_ioc_attach arg = attach_args();

	KUNIT_EXPECT_PTR_EQ(test, f->dev, dev);
	KUNIT_EXPECT_NULL(test, f->nic);
	KUNIT_EXPECT_EQ(test, f->writable, flags != O_RDONLY);
	KUNIT_EXPECT_FALSE(test, file->f_mode & FMODE_PREAD);
	KUNIT_EXPECT_EQ(test, call(file, KGNI_IOC_ATTACH, user, &arg),
			f->writable ? GNI_RC_SUCCESS : -EACCES);
}

static void not_before_all_are_ready(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);
	struct file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, inode && file);
	inode->i_cdev = &dev->cdev;
	kgni_ready = false;
	KUNIT_EXPECT_EQ(test, kgni_open(inode, file), -ENXIO);
	KUNIT_EXPECT_NULL(test, file->private_data);
	kgni_ready = true;
}

static const struct file_operations other_fops = {
	.owner = THIS_MODULE,
};

static void attachment_of_a_file(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDWR);
	struct file *other = anon_file(test, &other_fops, O_RDWR);
	struct kgni_file *f = file->private_data;
	struct kgni_ioc_attach arg = attach_args();

	other->private_data = f;
	KUNIT_EXPECT_NULL(test, kgni_file_nic(file));
	KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_PTR_EQ(test, kgni_file_nic(file), f->nic);
	KUNIT_EXPECT_NULL(test, kgni_file_nic(other));
}

static void closing_gives_all_back(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDWR);
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	struct kgni_ioc_attach attach = attach_args();
	struct kgni_ioc_ptag ptag = { .cookie = 1 };

	KUNIT_EXPECT_EQ(test, call(file, KGNI_IOC_GET_PTAG, user, &ptag), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, ptag.ptag, GNI_PTAG_USER_START);
	KUNIT_EXPECT_EQ(test, call(file, KGNI_IOC_ATTACH, user, &attach), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, attach.ptag, GNI_PTAG_USER_START + 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_FMA]), 1);
	close_file(test, file);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->jobs));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->used[KGNI_RES_FMA]), 0);
}

/* --- calls ----------------------------------------------------------------- */

static const unsigned int bad_cmds[] = {
	0, ~0U, KGNI_IOC_INFO + 1, _IOR('k', 0x00, struct kgni_ioc_info),
	_IOW(KGNI_IOC_MAGIC, 0x00, struct kgni_ioc_info), _IO(KGNI_IOC_MAGIC, 0x00),
	_IOW(KGNI_IOC_MAGIC, 0x30, struct kgni_ioc_cq_create),
	_IOWR(KGNI_IOC_MAGIC, 0x44, struct kgni_ioc_dgram_cancel),
};

static void cmd_desc(const unsigned int *cmd, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "0x%08x", *cmd);
}

KUNIT_ARRAY_PARAM(bad_cmd, bad_cmds, cmd_desc);

static void unknown_calls(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDWR);
	unsigned int cmd = *(const unsigned int *)test->param_value;

	KUNIT_EXPECT_EQ(test, kgni_ioctl(file, cmd, 0), -ENOTTY);
}

static void ioctl_desc(const struct kgni_ioctl_desc *d, char *desc)
{
	cmd_desc(&d->cmd, desc);
}

KUNIT_ARRAY_PARAM(ioctl, kgni_ioctls, ioctl_desc);

static void calls_before_attaching(struct kunit *test)
{
	const struct kgni_ioctl_desc *d = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDWR);
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	union kgni_ioctl_arg arg = { 0 };
	long rc = call(file, d->cmd, user, &arg);

	if (d->needs_nic)
		KUNIT_EXPECT_EQ(test, rc, GNI_RC_INVALID_STATE);
	else
		KUNIT_EXPECT_NE(test, rc, GNI_RC_INVALID_STATE);
}

static unsigned int count_of(struct xarray *xa)
{
	unsigned long index;
	unsigned int n = 0;
	void *entry;

	xa_for_each(xa, index, entry)
		n++;
	return n;
}

/* An argument that cannot be read, or not be answered: nothing is done. */
static void bad_pointers(struct kunit *test)
{
	const struct kgni_ioctl_desc *d = test->param_value;
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDWR);
	unsigned long ro = kgt_user(test, 2 * PAGE_SIZE, PROT_READ);
	struct kgni_file *f = file->private_data;
	struct kgni_ioc_attach arg = attach_args();
	long rc[4];

	/* Not for the call that would do it once more. */
	if (d->needs_nic)
		KUNIT_EXPECT_EQ(test, kgt_nic_attach(f, &arg), GNI_RC_SUCCESS);
	kgt_mm_begin();
	vm_munmap(ro + PAGE_SIZE, PAGE_SIZE);
	rc[0] = kgni_ioctl(file, d->cmd, 0);
	rc[1] = kgni_ioctl(file, d->cmd, 0xffff888000000000);
	rc[2] = kgni_ioctl(file, d->cmd, ro + PAGE_SIZE - 4);
	rc[3] = kgni_ioctl(file, d->cmd, ro);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, rc[0], -EFAULT);
	KUNIT_EXPECT_EQ(test, rc[1], -EFAULT);
	if (_IOC_SIZE(d->cmd) > 4)
		KUNIT_EXPECT_EQ(test, rc[2], -EFAULT);
	if (_IOC_DIR(d->cmd) & _IOC_READ)
		KUNIT_EXPECT_EQ(test, rc[3], -EFAULT);
	KUNIT_EXPECT_EQ(test, !!f->nic, d->needs_nic);
	KUNIT_EXPECT_EQ(test, count_of(&dev->jobs), d->needs_nic);
}

static void info(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct file *file = open_device(test, dev, O_RDONLY);
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	struct kgni_ioc_info arg;

	memset(&arg, 0xff, sizeof(arg));
	KUNIT_EXPECT_EQ(test, call(file, KGNI_IOC_INFO, user, &arg), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, arg.abi, KGNI_ABI_VERSION);
	KUNIT_EXPECT_EQ(test, arg.device_id, dev->id);
	KUNIT_EXPECT_EQ(test, arg.pe, KGT_PE);
	KUNIT_EXPECT_EQ(test, arg.device_type, GNI_DEVICE_ARIES);
	KUNIT_EXPECT_TRUE(test, cpu_online(arg.cpu));
	KUNIT_EXPECT_EQ(test, arg.version, GNI_VERSION);
	KUNIT_EXPECT_EQ(test, arg.ntt_gran, 1);
	KUNIT_EXPECT_EQ(test, strncmp(arg.build, "kgni ", 5), 0);
	KUNIT_EXPECT_NOT_NULL(test, memchr(arg.build, 0, sizeof(arg.build)));
}

/* --- rings in user memory -------------------------------------------------- */

struct mapped {
	struct file *file;
	struct kgni_cq *cq;
	unsigned long at;
	size_t length;
};

static unsigned long map(struct mapped *m, u64 offset, unsigned long prot)
{
	unsigned long at;

	kgt_mm_begin();
	at = vm_mmap(m->file, 0, m->length, prot, MAP_SHARED, offset);
	kgt_mm_end();
	return at;
}

static void unmap(unsigned long at, size_t length)
{
	kgt_mm_begin();
	vm_munmap(at, length);
	kgt_mm_end();
}

static void map_ring(struct kunit *test, struct mapped *m)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	struct kgni_ioc_attach attach = attach_args();
	struct kgni_ioc_cq_create create = { .entries = 4, .mode = GNI_CQ_BLOCKING };

	m->file = open_device(test, dev, O_RDWR);
	KUNIT_EXPECT_EQ(test, call(m->file, KGNI_IOC_ATTACH, user, &attach), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, call(m->file, KGNI_IOC_CQ_CREATE, user, &create), GNI_RC_SUCCESS);
	m->length = create.mmap_length;
	m->at = map(m, create.mmap_offset, PROT_READ | PROT_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(m->at));
	m->cq = kgni_cq_find(kgni_file_nic(m->file), create.id);
	KUNIT_ASSERT_NOT_NULL(test, m->cq);
	kgni_cq_put(m->cq);
}

static u64 ring_word(struct mapped *m, size_t offset, size_t size)
{
	u64 v = 0;

	kgt_mm_begin();
	if (copy_from_user(&v, (void __user *)(m->at + offset), size))
		v = ~0ULL;
	kgt_mm_end();
	return v;
}

static void ring_in_user_memory(struct kunit *test)
{
	u64 entry = kgni_cqe_remote(5, KGNI_POST_FMA_PUT, KGNI_CQE_POST);
	struct mapped m;

	map_ring(test, &m);
	KUNIT_EXPECT_EQ(test, kref_read(&m.cq->ref), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&m.cq->maps), 1);
	KUNIT_EXPECT_EQ(test, ring_word(&m, offsetof(struct kgni_ring, tail), 4), 0);
	kgni_cq_push(m.cq, entry);
	KUNIT_EXPECT_EQ(test, ring_word(&m, offsetof(struct kgni_ring, tail), 4), 1);
	KUNIT_EXPECT_EQ(test, ring_word(&m, KGNI_RING_SLOTS_OFFSET, 8), entry);
	/* A part of it cannot be unmapped, and it stays when the queue goes. */
	kgt_mm_begin();
	KUNIT_EXPECT_NE(test, vm_munmap(m.at, PAGE_SIZE), 0);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, kgni_cq_destroy(kgni_file_nic(m.file), m.cq->id), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, ring_word(&m, KGNI_RING_SLOTS_OFFSET, 8), entry);
	KUNIT_EXPECT_EQ(test, kref_read(&m.cq->ref), 1);
	unmap(m.at, m.length);
}

/* A producer in user space reserves a place and is gone. */
static void hole_of_a_user(struct kunit *test)
{
	struct mapped m;
	u32 tail = 1;

	map_ring(test, &m);
	kgt_mm_begin();
	KUNIT_EXPECT_EQ(test, copy_to_user((void __user *)m.at, &tail, sizeof(tail)), 0);
	kgt_mm_end();
	KUNIT_EXPECT_EQ(test, kgt_pop(m.cq), 0);
	unmap(m.at, m.length);
	KUNIT_EXPECT_EQ(test, kgt_pop(m.cq), kgni_cqe_hole());
	KUNIT_EXPECT_EQ(test, atomic_read(&m.cq->maps), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&m.cq->ref), 1);
}

static void nothing_to_map(struct kunit *test)
{
	struct kgni_device *dev = kgt_device(test, KGT_PE);
	struct mapped m = { .file = open_device(test, dev, O_RDWR), .length = 2 * PAGE_SIZE };

	KUNIT_EXPECT_EQ(test, (long)map(&m, 1ULL << 32, PROT_READ), -EINVAL);
}

/* --- waits on queues of files ---------------------------------------------- */

static int install(struct file *file)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd >= 0)
		fd_install(fd, get_file(file));
	return fd;
}

static long wait_for_one(struct mapped *m, unsigned long user, int fd, u32 id)
{
	struct kgni_cq_ref ref = { .fd = fd, .id = id };
	struct kgni_ioc_cq_wait arg = { .cqs = user + 512, .count = 1 };
	int rc;

	kgt_mm_begin();
	rc = copy_to_user((void __user *)(user + 512), &ref, sizeof(ref));
	kgt_mm_end();
	return rc ? -EIO : call(m->file, KGNI_IOC_CQ_WAIT, user, &arg);
}

static void wait_by_file(struct kunit *test)
{
	unsigned long user = kgt_user(test, PAGE_SIZE, PROT_READ | PROT_WRITE);
	struct kgni_ioc_cq_create create = { .entries = 4 };
	struct file *other, *unattached;
	int fd, other_fd, unattached_fd;
	struct mapped m;

	map_ring(test, &m);
	other = anon_file(test, &other_fops, O_RDWR);
	unattached = open_device(test, ((struct kgni_file *)m.file->private_data)->dev, O_RDWR);
	KUNIT_EXPECT_EQ(test, call(m.file, KGNI_IOC_CQ_CREATE, user, &create), GNI_RC_SUCCESS);
	fd = install(m.file);
	other_fd = install(other);
	unattached_fd = install(unattached);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, fd, m.cq->id), GNI_RC_TIMEOUT);
	kgni_cq_push(m.cq, kgni_cqe_hole());
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, fd, m.cq->id), GNI_RC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, fd, create.id), GNI_RC_ERROR_RESOURCE);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, fd, 99), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, -1, 1), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, 999999, 1), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, other_fd, 1), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, wait_for_one(&m, user, unattached_fd, 1), GNI_RC_INVALID_PARAM);
	KUNIT_EXPECT_EQ(test, kref_read(&m.cq->ref), 2);
	close_fd(fd);
	close_fd(other_fd);
	close_fd(unattached_fd);
	unmap(m.at, m.length);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(devices, number_gen_params),
	KUNIT_CASE(come_and_go),
	KUNIT_CASE(gone),
	KUNIT_CASE_PARAM(timeout, span_gen_params),
	KUNIT_CASE_PARAM(open_file, open_flag_gen_params),
	KUNIT_CASE(not_before_all_are_ready),
	KUNIT_CASE(attachment_of_a_file),
	KUNIT_CASE(closing_gives_all_back),
	KUNIT_CASE_PARAM(unknown_calls, bad_cmd_gen_params),
	KUNIT_CASE_PARAM(calls_before_attaching, ioctl_gen_params),
	KUNIT_CASE_PARAM(bad_pointers, ioctl_gen_params),
	KUNIT_CASE(info),
	KUNIT_CASE(ring_in_user_memory),
	KUNIT_CASE(hole_of_a_user),
	KUNIT_CASE(nothing_to_map),
	KUNIT_CASE(wait_by_file),
	{}
};

static struct kunit_suite device_suite = {
	.name = "kgni_device",
	.suite_init = kgt_suite_init,
	.suite_exit = kgt_suite_exit,
	.test_cases = cases,
};

kunit_test_suite(device_suite);
