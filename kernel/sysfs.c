// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of /sys/class/gni/kgniN; in refused/, how often its users asked for
 * what is not theirs.
 */
#include "kgni.h"

static struct kgni_device *to_kgni(struct device *dev)
{
	return container_of(dev, struct kgni_device, dev);
}

static ssize_t address_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_kgni(dev)->pe);
}
static DEVICE_ATTR_RO(address);

static ssize_t type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, kgni_gemini ? "gemini\n" : "aries\n");
}
static DEVICE_ATTR_RO(type);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, kgni_device_is_quiesced(to_kgni(dev)) ? "quiesced\n" : "up\n");
}
static DEVICE_ATTR_RO(state);

/* Bytes of a window of a domain with GNI_CDM_MODE_FMA_SMALL_WINDOW. */
static ssize_t fma_sm_win_sz_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_kgni(dev)->window_bytes));
}

static ssize_t fma_sm_win_sz_store(struct device *dev, struct device_attribute *attr,
				   const char *buf, size_t count)
{
	u32 bytes;
	int rc = kstrtou32(buf, 0, &bytes);

	if (rc)
		return rc;
	if (!bytes || bytes % KGNI_LINE_SIZE)
		return -EINVAL;
	WRITE_ONCE(to_kgni(dev)->window_bytes, bytes);
	return count;
}
static DEVICE_ATTR_RW(fma_sm_win_sz);

/**
 * kgni_count_refusal - count an access that is refused
 * @dev: device of the one who asked
 * @what: for what
 *
 * Context: any.
 */
void kgni_count_refusal(struct kgni_device *dev, enum kgni_refusal what)
{
	atomic64_inc(&dev->refused[what]);
}

static ssize_t refused_show(struct device *dev, char *buf, enum kgni_refusal what)
{
	return sysfs_emit(buf, "%lld\n", atomic64_read(&to_kgni(dev)->refused[what]));
}

static ssize_t attach_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return refused_show(dev, buf, KGNI_REFUSED_ATTACH);
}
static DEVICE_ATTR_RO(attach);

static ssize_t memory_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return refused_show(dev, buf, KGNI_REFUSED_MEMORY);
}
static DEVICE_ATTR_RO(memory);

static ssize_t queue_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return refused_show(dev, buf, KGNI_REFUSED_QUEUE);
}
static DEVICE_ATTR_RO(queue);

static ssize_t datagram_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return refused_show(dev, buf, KGNI_REFUSED_DATAGRAM);
}
static DEVICE_ATTR_RO(datagram);

static ssize_t channel_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return refused_show(dev, buf, KGNI_REFUSED_CHANNEL);
}
static DEVICE_ATTR_RO(channel);

static struct attribute *kgni_refused_attrs[] = {
	&dev_attr_attach.attr,
	&dev_attr_memory.attr,
	&dev_attr_queue.attr,
	&dev_attr_datagram.attr,
	&dev_attr_channel.attr,
	NULL
};

static const struct attribute_group kgni_refused_group = {
	.name = "refused",
	.attrs = kgni_refused_attrs,
};

static struct attribute *kgni_device_attrs[] = {
	&dev_attr_address.attr,
	&dev_attr_type.attr,
	&dev_attr_state.attr,
	&dev_attr_fma_sm_win_sz.attr,
	NULL
};

static const struct attribute_group kgni_device_group = {
	.attrs = kgni_device_attrs,
};

const struct attribute_group *kgni_device_groups[] = {
	&kgni_device_group,
	&kgni_refused_group,
	NULL
};
