// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "kgni": include/uapi/gni/netlink.h. What the
 * messages say is in nl_fill.c, and what launchers and administrators change in
 * nl_set.c.
 *
 * Its commands run one at a time, under genetlink's own lock, which is outside
 * of all of kgni's. Notifications are sent under kgni_device.lock, so that they
 * come in the order of what they tell.
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <net/sock.h>

#include "nl.h"

/* Goes up after each change of what can be dumped; never 0, which means unknown. */
static atomic_t kgni_nl_generation = ATOMIC_INIT(0);
static bool kgni_nl_up;

/**
 * kgni_netlink_changed - something that can be dumped came, went or changed
 *
 * To be called after the change.
 *
 * Context: any.
 */
void kgni_netlink_changed(void)
{
	atomic_inc(&kgni_nl_generation);
}

/**
 * kgni_netlink_generation - a number that differs after a change
 *
 * Context: any.
 * Return: the number, not 0.
 */
unsigned int kgni_netlink_generation(void)
{
	return (unsigned int)atomic_read(&kgni_nl_generation) | 1U << 31;
}

/* --- notifications -------------------------------------------------------------- */

static bool kgni_nl_listened(enum kgni_nl_group group)
{
	return READ_ONCE(kgni_nl_up) && genl_has_listeners(&kgni_nl_family, &init_net, group);
}

/* Who listens finds out by -ENOBUFS that something is missing. */
static void kgni_nl_send(struct sk_buff *skb, int rc, enum kgni_nl_group group)
{
	if (!rc) {
		genlmsg_multicast(&kgni_nl_family, skb, 0, group, GFP_KERNEL);
		return;
	}
	nlmsg_free(skb);
	genl_set_err(&kgni_nl_family, &init_net, 0, group, -ENOBUFS);
}

static struct sk_buff *kgni_nl_new(enum kgni_nl_group group)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb)
		genl_set_err(&kgni_nl_family, &init_net, 0, group, -ENOBUFS);
	return skb;
}

/* Something changed. Return: true if somebody is to be told, by m->skb. */
static bool kgni_nl_begin(struct kgni_nl_msg *m)
{
	kgni_netlink_changed();
	if (kgni_nl_listened(KGNI_NL_EVENTS))
		m->skb = kgni_nl_new(KGNI_NL_EVENTS);
	return m->skb;
}

static void kgni_nl_tell_device(struct kgni_device *dev, u8 cmd, enum kgni_nl_group group)
{
	struct kgni_nl_msg m = { .cmd = cmd, .notify = true };
	int rc;

	if (!kgni_nl_listened(group))
		return;
	m.skb = kgni_nl_new(group);
	if (!m.skb)
		return;
	mutex_lock(&dev->lock);
	rc = kgni_nl_fill_device(&m, dev);
	mutex_unlock(&dev->lock);
	kgni_nl_send(m.skb, rc, group);
}

/* A device came or went: everybody may know. */
static void kgni_nl_device(struct kgni_device *dev, u8 cmd)
{
	kgni_netlink_changed();
	kgni_nl_tell_device(dev, cmd, KGNI_NL_DEVICES);
	kgni_nl_tell_device(dev, cmd, KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_device - tell that a device stands still, or goes on
 * @dev: the device
 * @what: KGNI_CMD_DEV_QUIESCE or KGNI_CMD_DEV_RESUME
 *
 * Context: process, may sleep; takes the device's lock.
 */
void kgni_netlink_device(struct kgni_device *dev, enum kgni_cmd what)
{
	kgni_netlink_changed();
	kgni_nl_tell_device(dev, what, KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_bi - tell how much a device may inject now
 * @dev: the device
 *
 * Context: process, may sleep.
 */
void kgni_netlink_bi(struct kgni_device *dev)
{
	struct kgni_nl_msg m = { .cmd = KGNI_CMD_BI_NEW, .notify = true };

	if (kgni_nl_begin(&m))
		kgni_nl_send(m.skb, kgni_nl_fill_bi(&m, dev), KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_job - tell of a job
 * @job: the job; the lock of its device is held
 * @what: KGNI_CMD_JOB_NEW and so on: what happened to it
 *
 * Context: process, may sleep.
 */
void kgni_netlink_job(struct kgni_job *job, enum kgni_cmd what)
{
	struct kgni_nl_msg m = { .cmd = what, .notify = true };

	if (kgni_nl_begin(&m))
		kgni_nl_send(m.skb, kgni_nl_fill_job(&m, job), KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_config - tell of what a job is to be
 * @dev: its device; the lock is held
 * @ptag: its protection tag
 * @what: KGNI_CMD_JOB_SET or KGNI_CMD_JOB_UNSET
 *
 * Context: process, may sleep.
 */
void kgni_netlink_config(struct kgni_device *dev, u32 ptag, enum kgni_cmd what)
{
	struct kgni_nl_msg m = { .cmd = what, .notify = true };

	if (kgni_nl_begin(&m))
		kgni_nl_send(m.skb, kgni_nl_fill_named(&m, dev, ptag), KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_nic - tell that an attachment began or ended
 * @nic: the attachment; the lock of its device is held
 * @ended: which of the two
 *
 * Context: process, may sleep.
 */
void kgni_netlink_nic(struct kgni_nic *nic, bool ended)
{
	struct kgni_nl_msg m = {
		.cmd = ended ? KGNI_CMD_NIC_DEL : KGNI_CMD_NIC_NEW,
		.notify = true,
	};

	if (kgni_nl_begin(&m))
		kgni_nl_send(m.skb, kgni_nl_fill_nic(&m, nic), KGNI_NL_EVENTS);
}

/**
 * kgni_netlink_error - tell of an error
 * @dev: as for kgni_error_raise(), as all that follow
 * @code: which
 * @category: which kind
 * @ptag: whom it concerns, or 0
 * @info: four words about it, or NULL
 *
 * Context: any; from interrupts nothing is told.
 */
void kgni_netlink_error(struct kgni_device *dev, u16 code, u8 category, u8 ptag, const u64 *info)
{
	struct kgni_nl_msg m = { .cmd = KGNI_CMD_ERROR, .notify = true };

	if (!kgni_nl_listened(KGNI_NL_EVENTS) || in_hardirq() || irqs_disabled())
		return;
	m.skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC | __GFP_NOWARN);
	if (!m.skb)
		return;
	if (kgni_nl_fill_error(&m, dev, code, category, ptag, info))
		nlmsg_free(m.skb);
	else
		genlmsg_multicast(&kgni_nl_family, m.skb, 0, KGNI_NL_EVENTS, GFP_ATOMIC);
}

/* --- commands --------------------------------------------------------------------- */

/* @why: a literal, which is there when the answer is made. */
int kgni_nl_refuse(struct netlink_ext_ack *extack, int error, const char *why)
{
	if (extack)
		extack->_msg = why;
	return error;
}

static void kgni_nl_viewer(struct sk_buff *skb, struct kgni_nl_viewer *viewer)
{
	viewer->uid = NETLINK_CB(skb).sk->sk_uid;
	viewer->all = netlink_capable(skb, CAP_SYS_ADMIN);
}

/* For commands that change something. Return: 0 or -EPERM. */
int kgni_nl_admin(struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	return kgni_nl_refuse(info->extack, -EPERM, "this needs CAP_SYS_ADMIN");
}

/* A number, or what it is where none is given. */
u32 kgni_nl_get_u32(struct nlattr **attrs, int attr, u32 otherwise)
{
	return attrs[attr] ? nla_get_u32(attrs[attr]) : otherwise;
}

/* The device that a command is about, for put_device(). */
struct kgni_device *kgni_nl_find_device(struct nlattr **attrs, struct netlink_ext_ack *extack)
{
	struct kgni_device *dev;
	u32 id;

	if (!attrs[KGNI_A_DEV])
		return ERR_PTR(kgni_nl_refuse(extack, -EINVAL, "no device is named"));
	id = nla_get_u32(attrs[KGNI_A_DEV]);
	dev = kgni_device_next(id);
	if (dev && dev->id == id)
		return dev;
	if (dev)
		put_device(&dev->dev);
	NL_SET_ERR_MSG_ATTR(extack, attrs[KGNI_A_DEV], "there is no such device");
	return ERR_PTR(-ENODEV);
}

/**
 * kgni_nl_answer_begin - make a message to answer with
 * @m: out: it; kgni_nl_answer_end() is due
 * @info: to what
 * @cmd: what it is about
 *
 * It comes before what was asked for is done: nothing is done that could not be told.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kgni_nl_answer_begin(struct kgni_nl_msg *m, struct genl_info *info, u8 cmd)
{
	*m = (struct kgni_nl_msg) {
		.skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL),
		.portid = info->snd_portid,
		.seq = info->snd_seq,
		.cmd = cmd,
	};
	return m->skb ? 0 : -ENOMEM;
}

/**
 * kgni_nl_answer_end - send it
 * @m: the message
 * @info: to what it is the answer
 * @rc: 0, or what went wrong: then there is none
 *
 * Context: process, may sleep.
 * Return: @rc, or -errno.
 */
int kgni_nl_answer_end(struct kgni_nl_msg *m, struct genl_info *info, int rc)
{
	if (!rc)
		return genlmsg_reply(m->skb, info);
	nlmsg_free(m->skb);
	return rc;
}

static int kgni_nl_answer_device(const struct kgni_nl_msg *m, struct kgni_device *dev)
{
	int rc;

	mutex_lock(&dev->lock);
	rc = kgni_nl_fill_device(m, dev);
	mutex_unlock(&dev->lock);
	return rc;
}

static int kgni_nl_dev_get(struct sk_buff *skb, struct genl_info *info)
{
	struct kgni_device *dev = kgni_nl_find_device(info->attrs, info->extack);
	struct kgni_nl_msg m;
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_answer_begin(&m, info, KGNI_CMD_DEV_NEW);
	if (!rc)
		rc = kgni_nl_answer_end(&m, info, kgni_nl_answer_device(&m, dev));
	put_device(&dev->dev);
	return rc;
}

static int kgni_nl_add_device(struct genl_info *info, const struct kgni_nl_msg *m)
{
	struct kgni_device *dev;
	int rc;

	dev = kgni_device_add(kgni_nl_get_u32(info->attrs, KGNI_A_DEV, KGNI_DEVICE_ANY));
	if (IS_ERR(dev)) {
		switch (PTR_ERR(dev)) {
		case -EEXIST:
			return kgni_nl_refuse(info->extack, -EEXIST, "there is such a device");
		case -ENOSPC:
			return kgni_nl_refuse(info->extack, -ENOSPC, "there are 64 devices");
		}
		return PTR_ERR(dev);
	}
	kgni_nl_device(dev, KGNI_CMD_DEV_NEW);
	rc = kgni_nl_answer_device(m, dev);
	put_device(&dev->dev);
	return rc;
}

static int kgni_nl_dev_new(struct sk_buff *skb, struct genl_info *info)
{
	int rc = kgni_nl_admin(skb, info);
	struct kgni_nl_msg m;

	if (!rc)
		rc = kgni_nl_answer_begin(&m, info, KGNI_CMD_DEV_NEW);
	return rc ?: kgni_nl_answer_end(&m, info, kgni_nl_add_device(info, &m));
}

static int kgni_nl_dev_del(struct sk_buff *skb, struct genl_info *info)
{
	bool force = nla_get_flag(info->attrs[KGNI_A_FORCE]);
	int rc = kgni_nl_admin(skb, info);
	struct kgni_device *dev;

	if (rc)
		return rc;
	dev = kgni_nl_find_device(info->attrs, info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_device_delete(dev->id, force);
	if (rc == -EBUSY)
		kgni_nl_refuse(info->extack, rc, "the device is in use");
	if (!rc)
		kgni_nl_device(dev, KGNI_CMD_DEV_DEL);
	put_device(&dev->dev);
	return rc;
}

static int kgni_nl_inject(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *code = info->attrs[KGNI_A_CODE];
	int rc = kgni_nl_admin(skb, info);
	struct kgni_device *dev;

	if (rc)
		return rc;
	if (!code)
		return kgni_nl_refuse(info->extack, -EINVAL, "no error code is given");
	dev = kgni_nl_find_device(info->attrs, info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_error_inject(dev, nla_get_u32(code),
			       kgni_nl_get_u32(info->attrs, KGNI_A_PTAG, 0));
	if (rc)
		kgni_nl_refuse(info->extack, rc, "this error cannot be injected");
	put_device(&dev->dev);
	return rc;
}

/* Is there a job with this tag, that who asks may see? dev->lock is held. */
static int kgni_nl_sees_named(struct sk_buff *skb, struct genl_info *info,
			      struct kgni_device *dev, u32 ptag)
{
	struct kgni_job *job = xa_load(&dev->jobs, ptag);
	struct kgni_nl_viewer viewer;

	kgni_nl_viewer(skb, &viewer);
	if (job && !kgni_nl_sees(&viewer, job->uid))
		return kgni_nl_refuse(info->extack, -EPERM, "the job is another user's");
	if (job || (viewer.all && xa_load(&dev->configs, ptag)))
		return 0;
	return kgni_nl_refuse(info->extack, -ENOENT, "there is no such job");
}

/**
 * kgni_nl_answer_job - fill an answer with a job
 * @m: the answer
 * @skb: who asks
 * @info: what
 * @dev: its device
 * @ptag: its protection tag
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int kgni_nl_answer_job(const struct kgni_nl_msg *m, struct sk_buff *skb, struct genl_info *info,
		       struct kgni_device *dev, u32 ptag)
{
	int rc;

	mutex_lock(&dev->lock);
	rc = kgni_nl_sees_named(skb, info, dev, ptag);
	if (!rc)
		rc = kgni_nl_fill_named(m, dev, ptag);
	mutex_unlock(&dev->lock);
	return rc;
}

static int kgni_nl_job_get(struct sk_buff *skb, struct genl_info *info)
{
	u32 ptag = kgni_nl_get_u32(info->attrs, KGNI_A_PTAG, 0);
	struct kgni_device *dev;
	struct kgni_nl_msg m;
	int rc;

	if (!ptag)
		return kgni_nl_refuse(info->extack, -EINVAL, "no protection tag is given");
	dev = kgni_nl_find_device(info->attrs, info->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_answer_begin(&m, info, KGNI_CMD_JOB_NEW);
	if (!rc)
		rc = kgni_nl_answer_end(&m, info, kgni_nl_answer_job(&m, skb, info, dev, ptag));
	put_device(&dev->dev);
	return rc;
}

static int kgni_nl_dump_start(struct netlink_callback *cb)
{
	struct kgni_nl_dump *d = (struct kgni_nl_dump *)cb->ctx;
	struct nlattr **attrs = genl_dumpit_info(cb)->attrs;
	struct kgni_device *dev;

	kgni_nl_viewer(cb->skb, &d->viewer);
	d->only_dev = kgni_nl_get_u32(attrs, KGNI_A_DEV, KGNI_NL_ANY);
	d->ptag = kgni_nl_get_u32(attrs, KGNI_A_PTAG, 0);
	d->pid = kgni_nl_get_u32(attrs, KGNI_A_PID, 0);
	if (!attrs[KGNI_A_DEV])
		return 0;
	dev = kgni_nl_find_device(attrs, cb->extack);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	d->dev = dev->id;
	put_device(&dev->dev);
	return 0;
}

/* Where NICs really are is nothing for those whose addresses are translated. */
static int kgni_nl_ntt_start(struct netlink_callback *cb)
{
	return netlink_capable(cb->skb, CAP_SYS_ADMIN) ? kgni_nl_dump_start(cb) : -EPERM;
}

struct netlink_range_validation kgni_nl_ptags = { .min = 1, .max = U8_MAX - 1 };
struct netlink_range_validation kgni_nl_pids = { .min = 1, .max = INT_MAX };

/* What each command knows; all else is refused. Commands look at all of KGNI_A_MAX. */
static const struct nla_policy kgni_nl_dev_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
};

static const struct nla_policy kgni_nl_dev_del_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_FORCE] = { .type = NLA_FLAG },
};

static const struct nla_policy kgni_nl_inject_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_PTAG] = KGNI_NL_A_PTAG,
	[KGNI_A_CODE] = NLA_POLICY_MAX(NLA_U32, S16_MAX),
};

static const struct nla_policy kgni_nl_job_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_PTAG] = KGNI_NL_A_PTAG,
};

static const struct nla_policy kgni_nl_nic_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_PTAG] = KGNI_NL_A_PTAG,
	[KGNI_A_PID] = KGNI_NL_A_PID,
};

#define KGNI_NL_POLICY(of)	.policy = kgni_nl_##of##_policy, .maxattr = KGNI_A_MAX

static const struct genl_ops kgni_nl_ops[] = {
	{ .cmd = KGNI_CMD_DEV_GET, .doit = kgni_nl_dev_get, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_devices, KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_DEV_NEW, .doit = kgni_nl_dev_new, KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_DEV_DEL, .doit = kgni_nl_dev_del, KGNI_NL_POLICY(dev_del) },
	{ .cmd = KGNI_CMD_JOB_GET, .doit = kgni_nl_job_get, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_jobs, KGNI_NL_POLICY(job) },
	{ .cmd = KGNI_CMD_NIC_GET, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_nics, KGNI_NL_POLICY(nic) },
	{ .cmd = KGNI_CMD_MEM_GET, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_mems, KGNI_NL_POLICY(nic) },
	{ .cmd = KGNI_CMD_CQ_GET, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_cqs, KGNI_NL_POLICY(nic) },
	{ .cmd = KGNI_CMD_CE_GET, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_ces, KGNI_NL_POLICY(nic) },
	{ .cmd = KGNI_CMD_DGRAM_GET, .start = kgni_nl_dump_start,
	  .dumpit = kgni_nl_dump_dgrams, KGNI_NL_POLICY(nic) },
	{ .cmd = KGNI_CMD_NTT_GET, .start = kgni_nl_ntt_start,
	  .dumpit = kgni_nl_dump_ntt, KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_INJECT, .doit = kgni_nl_inject, KGNI_NL_POLICY(inject) },
	{ .cmd = KGNI_CMD_DEV_QUIESCE, .doit = kgni_nl_dev_quiesce, KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_DEV_RESUME, .doit = kgni_nl_dev_resume, KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_BI_GET, .start = kgni_nl_dump_start, .dumpit = kgni_nl_dump_bi,
	  KGNI_NL_POLICY(dev) },
	{ .cmd = KGNI_CMD_BI_SET, .doit = kgni_nl_bi_set, KGNI_NL_POLICY(bi_set) },
	{ .cmd = KGNI_CMD_JOB_SET, .doit = kgni_nl_job_set, KGNI_NL_POLICY(job_set) },
	{ .cmd = KGNI_CMD_JOB_UNSET, .doit = kgni_nl_job_unset, KGNI_NL_POLICY(job_set) },
	{ .cmd = KGNI_CMD_NTT_SET, .doit = kgni_nl_ntt_set, KGNI_NL_POLICY(ntt_set) },
	{ .cmd = KGNI_CMD_NTT_UNSET, .doit = kgni_nl_ntt_unset, KGNI_NL_POLICY(ntt_set) },
};

static const struct genl_multicast_group kgni_nl_groups[] = {
	[KGNI_NL_DEVICES] = { .name = KGNI_GENL_GROUP_DEVICES },
	[KGNI_NL_EVENTS] = { .name = KGNI_GENL_GROUP_EVENTS, .flags = GENL_MCAST_CAP_SYS_ADMIN },
};

struct genl_family kgni_nl_family __ro_after_init = {
	.name = KGNI_GENL_NAME,
	.version = KGNI_GENL_VERSION,
	.ops = kgni_nl_ops,
	.n_ops = ARRAY_SIZE(kgni_nl_ops),
	.mcgrps = kgni_nl_groups,
	.n_mcgrps = ARRAY_SIZE(kgni_nl_groups),
	.module = THIS_MODULE,
};

/**
 * kgni_netlink_init - register the family
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int __init kgni_netlink_init(void)
{
	int rc = genl_register_family(&kgni_nl_family);

	WRITE_ONCE(kgni_nl_up, !rc);
	return rc;
}

/**
 * kgni_netlink_exit - undo kgni_netlink_init()
 *
 * Context: process, may sleep.
 */
void kgni_netlink_exit(void)
{
	WRITE_ONCE(kgni_nl_up, false);
	genl_unregister_family(&kgni_nl_family);
}
