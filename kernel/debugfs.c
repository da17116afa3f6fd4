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

/* A switch: how many numbers it wants, and what it does with those after the first. */
struct kgni_switch {
	unsigned int want;
	ssize_t (*turn)(struct kgni_device *dev, const unsigned int *number);
};

static ssize_t kgni_switch_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *pos)
{
	const struct kgni_switch *s = file->private_data;
	struct kgni_device *dev;
	unsigned int number[3];
	ssize_t rc = kgni_debugfs_numbers(buf, count, number, s->want);

	if (rc)
		return rc;
	dev = kgni_device_get(number[0]);
	if (!dev)
		return -ENODEV;
	rc = s->turn(dev, number + 1);
	put_device(&dev->dev);
	return rc ?: count;
}

static const struct file_operations kgni_switch_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kgni_switch_write,
	.llseek = no_llseek,
};

static ssize_t kgni_turn_inject(struct kgni_device *dev, const unsigned int *number)
{
	if (number[0] > U16_MAX || number[1] > U8_MAX)
		return -EINVAL;
	return kgni_error_inject(dev, number[0], number[1]);
}

static const struct kgni_switch kgni_switch_inject = { 3, kgni_turn_inject };

static ssize_t kgni_turn_quiesce(struct kgni_device *dev, const unsigned int *number)
{
	if (number[0] > 1)
		return -EINVAL;
	return (number[0] ? kgni_device_quiesce(dev) : kgni_device_unquiesce(dev)) ? -EALREADY : 0;
}

static const struct kgni_switch kgni_switch_quiesce = { 2, kgni_turn_quiesce };

static void __init kgni_switch_init(const char *name, const struct kgni_switch *s)
{
	debugfs_create_file(name, 0200, kgni_debugfs, (void *)s, &kgni_switch_fops);
}

/* What debugfs lacks is for tests to find out. */
void __init kgni_debugfs_init(void)
{
	kgni_debugfs = debugfs_create_dir("kgni", NULL);
	kgni_switch_init("inject", &kgni_switch_inject);
	kgni_switch_init("quiesce", &kgni_switch_quiesce);
	kgni_link_init(kgni_debugfs);
}

void kgni_debugfs_exit(void)
{
	debugfs_remove_recursive(kgni_debugfs);
}
