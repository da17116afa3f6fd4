// SPDX-License-Identifier: GPL-2.0-only
/*
 * Switches for tests, in debugfs under kgni/, for root:
 *
 *	inject	"PE CODE PTAG": have an error happen on the device with this PE
 *		address, a KGNI_ERR_* that concerns the protection tag
 *	quiesce	"PE 1" and "PE 0": have that device stand still, and go on
 *
 * and those of link.c.
 */
#include <linux/debugfs.h>

#include "kgni.h"

static struct dentry *kgni_debugfs;

/* What tests write: a few numbers, the first a PE address. */
static ssize_t kgni_debugfs_numbers(const char __user *buf, size_t count, unsigned int *number,
				    unsigned int want)
{
	char text[64];
	ssize_t n;

	n = strncpy_from_user(text, buf, min(count, sizeof(text)));
	if (n < 0)
		return n;
	text[min_t(size_t, count, sizeof(text) - 1)] = '\0';
	return sscanf(text, "%u %x %u", &number[0], &number[1], &number[2]) == want ? 0 : -EINVAL;
}

static ssize_t kgni_inject_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *pos)
{
	struct kgni_device *dev;
	unsigned int number[3];
	ssize_t rc = kgni_debugfs_numbers(buf, count, number, 3);

	if (rc)
		return rc;
	if (number[1] > U16_MAX || number[2] > U8_MAX)
		return -EINVAL;
	dev = kgni_device_get(number[0]);
	if (!dev)
		return -ENODEV;
	rc = kgni_error_inject(dev, number[1], number[2]);
	put_device(&dev->dev);
	return rc ?: count;
}

static const struct file_operations kgni_inject_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kgni_inject_write,
	.llseek = no_llseek,
};

static ssize_t kgni_quiesce_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *pos)
{
	struct kgni_device *dev;
	unsigned int number[3];
	ssize_t rc = kgni_debugfs_numbers(buf, count, number, 2);

	if (rc)
		return rc;
	if (number[1] > 1)
		return -EINVAL;
	dev = kgni_device_get(number[0]);
	if (!dev)
		return -ENODEV;
	rc = number[1] ? kgni_device_quiesce(dev) : kgni_device_unquiesce(dev);
	put_device(&dev->dev);
	return rc ? -EALREADY : count;
}

static const struct file_operations kgni_quiesce_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kgni_quiesce_write,
	.llseek = no_llseek,
};

/* What debugfs lacks is for tests to find out. */
void __init kgni_debugfs_init(void)
{
	kgni_debugfs = debugfs_create_dir("kgni", NULL);
	debugfs_create_file("inject", 0200, kgni_debugfs, NULL, &kgni_inject_fops);
	debugfs_create_file("quiesce", 0200, kgni_debugfs, NULL, &kgni_quiesce_fops);
	kgni_link_init(kgni_debugfs);
}

void kgni_debugfs_exit(void)
{
	debugfs_remove_recursive(kgni_debugfs);
}
