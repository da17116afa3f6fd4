/* SPDX-License-Identifier: GPL-2.0-only */
/* What netlink.c and nl_fill.c share. */
#ifndef _KGNI_NL_H
#define _KGNI_NL_H

#include <net/genetlink.h>

#include "kgni.h"

/* Multicast groups. */
enum kgni_nl_group {
	KGNI_NL_DEVICES,
	KGNI_NL_EVENTS,
};

/**
 * struct kgni_nl_viewer - who looks
 * @uid: the user who opened the socket
 * @all: may see what other users have
 */
struct kgni_nl_viewer {
	kuid_t uid;
	bool all;
};

/**
 * struct kgni_nl_msg - one message of an answer
 * @skb: where it goes
 * @cb: the dump that it is part of, or NULL
 * @portid: to whom
 * @seq: to which question
 * @notify: it is for whoever listens, not for the process that runs
 * @cmd: what it is about
 */
struct kgni_nl_msg {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	u32 portid;
	u32 seq;
	bool notify;
	u8 cmd;
};

/* No filter for devices; others have 0, which none of theirs is. */
#define KGNI_NL_ANY	(~0U)

/**
 * struct kgni_nl_dump - a dump, in netlink_callback.ctx
 * @viewer: for whom
 * @only_dev: this device, or KGNI_NL_ANY
 * @ptag: this job, or 0
 * @pid: this process as the viewer numbers it, or 0
 * @dev: number of the device that comes next
 * @nic: of it, number or ptag of the first object that comes next
 * @at: of that, what comes next
 */
struct kgni_nl_dump {
	struct kgni_nl_viewer viewer;
	u32 only_dev;
	u32 ptag;
	u32 pid;
	u32 dev;
	u32 nic;
	u64 at;
};

static_assert(sizeof(struct kgni_nl_dump) <= sizeof_field(struct netlink_callback, ctx));

extern struct genl_family kgni_nl_family;

extern struct netlink_range_validation kgni_nl_ptags;
extern struct netlink_range_validation kgni_nl_pids;

#define KGNI_NL_A_DEV	NLA_POLICY_MAX(NLA_U32, KGNI_MAX_DEVICES - 1)
#define KGNI_NL_A_PTAG	NLA_POLICY_FULL_RANGE(NLA_U32, &kgni_nl_ptags)
#define KGNI_NL_A_PID	NLA_POLICY_FULL_RANGE(NLA_U32, &kgni_nl_pids)

/* nl_fill.c */
bool kgni_nl_sees(const struct kgni_nl_viewer *viewer, kuid_t uid);
int kgni_nl_fill_device(const struct kgni_nl_msg *m, struct kgni_device *dev);
int kgni_nl_fill_job(const struct kgni_nl_msg *m, struct kgni_job *job);
int kgni_nl_fill_config(const struct kgni_nl_msg *m, struct kgni_device *dev,
			const struct kgni_job_config *config);
int kgni_nl_fill_ntt(const struct kgni_nl_msg *m, struct kgni_device *dev, u32 index,
		     u32 granularity, const struct kgni_ntt_entry *e);
int kgni_nl_fill_error(const struct kgni_nl_msg *m, struct kgni_device *dev, u16 code, u8 category,
		       u8 ptag, const u64 *info);
int kgni_nl_fill_named(const struct kgni_nl_msg *m, struct kgni_device *dev, u32 ptag);
int kgni_nl_fill_bi(const struct kgni_nl_msg *m, struct kgni_device *dev);
int kgni_nl_fill_nic(const struct kgni_nl_msg *m, struct kgni_nic *nic);
int kgni_nl_dump_devices(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_jobs(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_nics(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_mems(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_cqs(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_ntt(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_dgrams(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_bi(struct sk_buff *skb, struct netlink_callback *cb);
int kgni_nl_dump_ces(struct sk_buff *skb, struct netlink_callback *cb);

/* netlink.c */
int kgni_nl_refuse(struct netlink_ext_ack *extack, int error, const char *why);
int kgni_nl_admin(struct sk_buff *skb, struct genl_info *info);
u32 kgni_nl_get_u32(struct nlattr **attrs, int attr, u32 otherwise);
struct kgni_device *kgni_nl_find_device(struct nlattr **attrs, struct netlink_ext_ack *extack);
int kgni_nl_answer_begin(struct kgni_nl_msg *m, struct genl_info *info, u8 cmd);
int kgni_nl_answer_end(struct kgni_nl_msg *m, struct genl_info *info, int rc);
int kgni_nl_answer_job(const struct kgni_nl_msg *m, struct sk_buff *skb, struct genl_info *info,
		       struct kgni_device *dev, u32 ptag);

/* nl_set.c */
extern const struct nla_policy kgni_nl_bi_set_policy[KGNI_A_MAX + 1];
extern const struct nla_policy kgni_nl_job_set_policy[KGNI_A_MAX + 1];
extern const struct nla_policy kgni_nl_ntt_set_policy[KGNI_A_MAX + 1];
int kgni_nl_dev_quiesce(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_dev_resume(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_bi_set(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_job_set(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_job_unset(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_ntt_set(struct sk_buff *skb, struct genl_info *info);
int kgni_nl_ntt_unset(struct sk_buff *skb, struct genl_info *info);

#endif /* _KGNI_NL_H */
