// SPDX-License-Identifier: GPL-2.0-only
/*
 * The node translation table: PE addresses as a job sees them, and those that
 * there are. An entry stands for as many virtual addresses as the table's
 * granularity says: entry i of a job for those from i * granularity on.
 *
 * The table is under kgni_device.lock. A job takes a copy of its entries when it
 * begins, and entries of a configured job do not change, so what translates
 * needs no lock.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kgni.h"

/**
 * struct kgni_ntt - the table of a device; made when first needed
 * @granularity: virtual addresses of an entry
 * @set: which entries are set
 * @entry: the entries
 */
struct kgni_ntt {
	u32 granularity;
	DECLARE_BITMAP(set, KGNI_NTT_ENTRIES);
	struct kgni_ntt_entry entry[KGNI_NTT_ENTRIES];
};

/**
 * struct kgni_ntt_map - what a job's virtual addresses mean
 * @rcu: for the free
 * @granularity: virtual addresses of an entry
 * @size: how many entries
 * @entry: the entries
 */
struct kgni_ntt_map {
	struct rcu_head rcu;
	u32 granularity;
	u32 size;
	struct kgni_ntt_entry entry[];
};

/* Part of deleting a device. */
void kgni_ntt_free(struct kgni_device *dev)
{
	kvfree(dev->ntt);
	dev->ntt = NULL;
}

/**
 * kgni_ntt_granularity - virtual addresses of an entry of a device's table
 * @dev: the device
 *
 * Context: process, may sleep.
 * Return: the number, 1 for a table without entries.
 */
u32 kgni_ntt_granularity(struct kgni_device *dev)
{
	u32 n;

	mutex_lock(&dev->lock);
	n = dev->ntt && !bitmap_empty(dev->ntt->set, KGNI_NTT_ENTRIES) ? dev->ntt->granularity : 1;
	mutex_unlock(&dev->lock);
	return n;
}

/**
 * kgni_ntt_next - find an entry that is set
 * @dev: the device, locked
 * @at: number of the entry; out: of the one that was found
 * @granularity: out: that of the table
 *
 * Return: this entry or the next one that is set; NULL if there is none.
 */
const struct kgni_ntt_entry *kgni_ntt_next(struct kgni_device *dev, u32 *at, u32 *granularity)
{
	struct kgni_ntt *ntt = dev->ntt;

	if (!ntt)
		return NULL;
	*at = find_next_bit(ntt->set, KGNI_NTT_ENTRIES, *at);
	*granularity = ntt->granularity;
	return *at < KGNI_NTT_ENTRIES ? &ntt->entry[*at] : NULL;
}

static bool kgni_ntt_inside(u32 base, u32 count)
{
	return count && base < KGNI_NTT_ENTRIES && count <= KGNI_NTT_ENTRIES - base;
}

/* Is an entry from @base on that of a job? dev->lock is held. */
static bool kgni_ntt_used(struct kgni_device *dev, u32 base, u32 count)
{
	struct kgni_job_config *c;
	unsigned long ptag;

	xa_for_each(&dev->configs, ptag, c)
		if (c->ntt_size && base < c->ntt_base + c->ntt_size && c->ntt_base < base + count)
			return true;
	return false;
}

/**
 * kgni_ntt_is_set - are there such entries
 * @dev: the device, locked
 * @base: the first
 * @count: how many
 *
 * Return: true if all of them are set.
 */
bool kgni_ntt_is_set(struct kgni_device *dev, u32 base, u32 count)
{
	return dev->ntt && kgni_ntt_inside(base, count) &&
	       find_next_zero_bit(dev->ntt->set, base + count, base) == base + count;
}

/**
 * kgni_ntt_clear - clear entries of a job that ends
 * @dev: the device, locked
 * @base: the first
 * @count: how many; those that another job has, too, stay
 */
void kgni_ntt_clear(struct kgni_device *dev, u32 base, u32 count)
{
	for (; count; base++, count--) {
		if (kgni_ntt_used(dev, base, 1))
			continue;
		clear_bit(base, dev->ntt->set);
		memset(&dev->ntt->entry[base], 0, sizeof(dev->ntt->entry[base]));
	}
	kgni_netlink_changed();
}

static long kgni_ntt_clear_some(struct kgni_device *dev, const struct kgni_ntt_args *args)
{
	if (args->count == U32_MAX && args->base == U32_MAX) {
		if (dev->ntt)
			kgni_ntt_clear(dev, 0, KGNI_NTT_ENTRIES);
		return GNI_RC_SUCCESS;
	}
	if (!kgni_ntt_inside(args->base, args->count))
		return GNI_RC_INVALID_PARAM;
	if (kgni_ntt_used(dev, args->base, args->count))
		return GNI_RC_ERROR_RESOURCE;
	if (dev->ntt)
		kgni_ntt_clear(dev, args->base, args->count);
	return GNI_RC_SUCCESS;
}

/* Addresses do not wrap, and no more are replaced than there are. */
static bool kgni_ntt_entry_valid(const struct kgni_ntt_entry *e, u32 granularity)
{
	return e->replaced <= granularity && e->block <= U32_MAX - granularity &&
	       e->replacement <= U32_MAX - granularity;
}

static long kgni_ntt_check(const struct kgni_ntt_args *args)
{
	u32 i;

	if (!args->count || !args->granularity || args->granularity > U8_MAX)
		return GNI_RC_INVALID_PARAM;
	if (args->count > KGNI_NTT_ENTRIES)
		return GNI_RC_ERROR_RESOURCE;
	for (i = 0; i < args->count; i++)
		if (!kgni_ntt_entry_valid(&args->entries[i], args->granularity))
			return GNI_RC_INVALID_PARAM;
	return GNI_RC_SUCCESS;
}

/* Where the entries go. Return: GNI_RC_SUCCESS, or why they cannot. */
static long kgni_ntt_place(struct kgni_device *dev, const struct kgni_ntt_args *args, u32 *base)
{
	struct kgni_ntt *ntt = dev->ntt;

	*base = args->base;
	if (*base == U32_MAX) {
		*base = bitmap_find_next_zero_area(ntt->set, KGNI_NTT_ENTRIES, 0, args->count, 0);
		if (*base >= KGNI_NTT_ENTRIES)
			return GNI_RC_ERROR_RESOURCE;
	} else if (!kgni_ntt_inside(*base, args->count)) {
		return GNI_RC_INVALID_PARAM;
	}
	if (kgni_ntt_used(dev, *base, args->count))
		return GNI_RC_ERROR_RESOURCE;
	/* One table, one granularity. */
	if (!bitmap_empty(ntt->set, KGNI_NTT_ENTRIES) && ntt->granularity != args->granularity)
		return GNI_RC_ERROR_RESOURCE;
	return GNI_RC_SUCCESS;
}

/**
 * kgni_ntt_set - set or clear entries
 * @dev: the device, locked
 * @args: which
 * @base: out: the first
 *
 * Context: process, may sleep.
 * Return: as kgni_ntt_configure().
 */
long kgni_ntt_set(struct kgni_device *dev, const struct kgni_ntt_args *args, u32 *base)
{
	long rc;

	*base = args->base;
	if (!args->entries)
		return kgni_ntt_clear_some(dev, args);
	rc = kgni_ntt_check(args);
	if (rc)
		return rc;
	if (!dev->ntt)
		dev->ntt = kvzalloc(sizeof(*dev->ntt), GFP_KERNEL_ACCOUNT);
	if (!dev->ntt)
		return -ENOMEM;
	rc = kgni_ntt_place(dev, args, base);
	if (rc)
		return rc;
	dev->ntt->granularity = args->granularity;
	bitmap_set(dev->ntt->set, *base, args->count);
	memcpy(&dev->ntt->entry[*base], args->entries, args->count * sizeof(*args->entries));
	kgni_netlink_changed();
	return GNI_RC_SUCCESS;
}

/**
 * kgni_ntt_configure - set or clear entries of a device's table
 * @dev: the device
 * @args: which
 * @base: out: the first
 *
 * Context: process, may sleep; for the privileged.
 * Return: GNI_RC_SUCCESS; GNI_RC_INVALID_PARAM for what makes no sense or is not
 * in the table; GNI_RC_ERROR_RESOURCE if there are not so many free in a row, a
 * job has one of them, or the table has another granularity; -ENOMEM.
 */
long kgni_ntt_configure(struct kgni_device *dev, const struct kgni_ntt_args *args, u32 *base)
{
	long rc;

	mutex_lock(&dev->lock);
	rc = kgni_ntt_set(dev, args, base);
	mutex_unlock(&dev->lock);
	return rc;
}

/**
 * kgni_ntt_fetch - get the entries that a caller in user space has
 * @arg: what it asks for
 * @args: out: the same for kgni_ntt_set(); kgni_ntt_drop() is due if it succeeds
 *
 * Context: process, may sleep.
 * Return: GNI_RC_SUCCESS; GNI_RC_ERROR_RESOURCE for more than there can be;
 * -EINVAL, -ENOMEM, -EFAULT.
 */
long kgni_ntt_fetch(const struct kgni_ioc_ntt *arg, struct kgni_ntt_args *args)
{
	struct kgni_ntt_entry *entries;

	if (arg->reserved)
		return -EINVAL;
	*args = (struct kgni_ntt_args) {
		.count = arg->count, .base = arg->base, .granularity = arg->granularity,
	};
	if (!arg->entries)
		return GNI_RC_SUCCESS;
	if (arg->count > KGNI_NTT_ENTRIES)
		return GNI_RC_ERROR_RESOURCE;
	/* One more, so that none at all is no case of its own. */
	entries = kvmalloc_array(arg->count + 1, sizeof(*entries), GFP_KERNEL_ACCOUNT);
	if (!entries)
		return -ENOMEM;
	if (copy_from_user(entries, u64_to_user_ptr(arg->entries),
			   arg->count * sizeof(*entries))) {
		kvfree(entries);
		return -EFAULT;
	}
	args->entries = entries;
	return GNI_RC_SUCCESS;
}

void kgni_ntt_drop(const struct kgni_ntt_args *args)
{
	kvfree(args->entries);
}

/* KGNI_IOC_NTT_CONFIGURE. */
long kgni_ntt_ioctl(struct kgni_device *dev, struct kgni_ioc_ntt *arg)
{
	struct kgni_ntt_args args;
	u32 base;
	long rc;

	if (!capable(CAP_SYS_ADMIN))
		return GNI_RC_PERMISSION_ERROR;
	rc = kgni_ntt_fetch(arg, &args);
	if (rc)
		return rc;
	rc = kgni_ntt_configure(dev, &args, &base);
	if (!rc)
		arg->base = base;
	kgni_ntt_drop(&args);
	return rc;
}

/**
 * kgni_ntt_map_new - copy the entries of a job
 * @dev: the device, locked
 * @base: the first; they are set
 * @size: how many
 *
 * Context: process, may sleep.
 * Return: for job->ntt, to be given to kgni_ntt_map_free(); NULL without memory.
 */
struct kgni_ntt_map *kgni_ntt_map_new(struct kgni_device *dev, u32 base, u32 size)
{
	struct kgni_ntt_map *map = kvmalloc(struct_size(map, entry, size), GFP_KERNEL_ACCOUNT);

	if (!map)
		return NULL;
	map->granularity = dev->ntt->granularity;
	map->size = size;
	memcpy(map->entry, &dev->ntt->entry[base], size * sizeof(*map->entry));
	return map;
}

/* Readers of the job table may still look there. */
void kgni_ntt_map_free(struct kgni_ntt_map *map)
{
	if (map)
		kvfree_rcu(map, rcu);
}

/**
 * kgni_ntt_to_pe - what an address means to a job
 * @job: the job
 * @address: as its programs say it
 * @pe: out: the PE address
 *
 * Context: any.
 * Return: false if it means nothing.
 */
bool kgni_ntt_to_pe(const struct kgni_job *job, u32 address, u32 *pe)
{
	const struct kgni_ntt_map *map = job->ntt;
	const struct kgni_ntt_entry *e;
	u32 at, kept;

	if (!map) {
		*pe = address;
		return true;
	}
	if (address / map->granularity >= map->size)
		return false;
	e = &map->entry[address / map->granularity];
	at = address % map->granularity;
	kept = map->granularity - e->replaced;
	*pe = at < kept ? e->block + at : e->replacement + (at - kept);
	return true;
}

/**
 * kgni_ntt_from_pe - under which address a job knows a PE
 * @job: the job
 * @pe: the PE address
 * @address: out: as its programs say it, the lowest if there are several
 *
 * Context: any.
 * Return: false if it does not.
 */
bool kgni_ntt_from_pe(const struct kgni_job *job, u32 pe, u32 *address)
{
	const struct kgni_ntt_map *map = job->ntt;
	const struct kgni_ntt_entry *e;
	u32 i, kept;

	if (!map) {
		*address = pe;
		return true;
	}
	for (i = 0; i < map->size; i++) {
		e = &map->entry[i];
		kept = map->granularity - e->replaced;
		*address = i * map->granularity;
		if (pe - e->block < kept) {
			*address += pe - e->block;
			return true;
		}
		if (pe - e->replacement < e->replaced) {
			*address += kept + (pe - e->replacement);
			return true;
		}
	}
	return false;
}

/**
 * kgni_device_of - the device that an address means to a job
 * @job: the job
 * @address: as its programs say it
 *
 * Context: under rcu_read_lock(), which keeps it.
 * Return: the device; NULL if there is none.
 */
struct kgni_device *kgni_device_of(const struct kgni_job *job, u32 address)
{
	u32 pe;

	return kgni_ntt_to_pe(job, address, &pe) ? kgni_device_by_pe(pe) : NULL;
}
