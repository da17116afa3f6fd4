// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attributes of /sys/class/gni/kgniN.
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
	return sysfs_emit(buf, "aries\n");
}
static DEVICE_ATTR_RO(type);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "up\n");
}
static DEVICE_ATTR_RO(state);

static struct attribute *kgni_device_attrs[] = {
	&dev_attr_address.attr,
	&dev_attr_type.attr,
	&dev_attr_state.attr,
	NULL
};

static const struct attribute_group kgni_device_group = {
	.attrs = kgni_device_attrs,
};

const struct attribute_group *kgni_device_groups[] = {
	&kgni_device_group,
	NULL
};
