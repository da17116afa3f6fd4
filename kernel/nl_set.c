// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of the netlink family by which launchers and administrators change what
 * devices do: stand still, inject less, know of jobs and of their addresses. They
 * do what the ioctls for that do.
 */
#include "nl.h"
#include "core/ce.h"

/* What a code means for a command. */
struct kgni_nl_code {
	long rc;
	int error;
	const char *why;
};

/* Return: the errno for @rc, by @codes, which end with GNI_RC_SUCCESS. */
static int kgni_nl_rc(struct genl_info *info, long rc, const struct kgni_nl_code *codes)
{
	if (rc <= 0)
		return rc;
	while (codes->rc && codes->rc != rc)
		codes++;
	if (codes->rc)
		return kgni_nl_refuse(info->extack, codes->error, codes->why);
	return -EIO;
}

/* The device of a command for administrators, for put_device(). */
static struct kgni_device *kgni_nl_begin_set(struct sk_buff *skb, struct genl_info *info)
{
	int rc = kgni_nl_admin(skb, info);

	return rc ? ERR_PTR(rc) : kgni_nl_find_device(info->attrs, info->extack);
}

/* --- devices ---------------------------------------------------------------- */

static int kgni_nl_turn(struct sk_buff *skb, struct genl_info *info,
			long (*turn)(struct kgni_device *dev), const char *why)
{
	const struct kgni_nl_code codes[] = {
		{ GNI_RC_INVALID_STATE, -EALREADY, why },
		{ GNI_RC_SUCCESS }
	};
	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_rc(info, turn(dev), codes);
	put_device(&dev->dev);
	return rc;
}

/* KGNI_CMD_DEV_QUIESCE. */
int kgni_nl_dev_quiesce(struct sk_buff *skb, struct genl_info *info)
{
	return kgni_nl_turn(skb, info, kgni_device_quiesce, "the device stands still already");
}

/* KGNI_CMD_DEV_RESUME. */
int kgni_nl_dev_resume(struct sk_buff *skb, struct genl_info *info)
{
	return kgni_nl_turn(skb, info, kgni_device_unquiesce, "the device does not stand still");
}

const struct nla_policy kgni_nl_bi_set_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_FLAGS] = NLA_POLICY_MAX(NLA_U32, S16_MAX),
	[KGNI_A_BW] = NLA_POLICY_MAX(NLA_U32, GNI_BI_INJECT_BW_ORB_MAX),
	[KGNI_A_AOT_BW] = NLA_POLICY_MAX(NLA_U32, GNI_BI_INJECT_BW_ORB_MAX),
};

/* KGNI_CMD_BI_SET. */
int kgni_nl_bi_set(struct sk_buff *skb, struct genl_info *info)
{
	static const struct kgni_nl_code codes[] = {
		{ GNI_RC_INVALID_PARAM, -EINVAL, "a value or a flag is out of range, or missing" },
		{ GNI_RC_SUCCESS }
	};
	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	/* One that is missing where it counts is out of range. */
	rc = kgni_nl_rc(info, kgni_bi_set(dev, kgni_nl_get_u32(info->attrs, KGNI_A_BW, U16_MAX),
					  kgni_nl_get_u32(info->attrs, KGNI_A_AOT_BW, U16_MAX),
					  kgni_nl_get_u32(info->attrs, KGNI_A_FLAGS, 0)), codes);
	put_device(&dev->dev);
	return rc;
}

/* --- jobs ------------------------------------------------------------------- */

static const struct nla_policy kgni_nl_limit_policy[KGNI_RES_A_MAX + 1] = {
	[KGNI_RES_A_NAME] = { .type = NLA_NUL_STRING, .len = 15 },
	[KGNI_RES_A_TOTAL] = NLA_POLICY_MIN(NLA_S32, 0),
};

const struct nla_policy kgni_nl_job_set_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_PTAG] = KGNI_NL_A_PTAG,
	[KGNI_A_COOKIE] = { .type = NLA_U32 },
	[KGNI_A_JOB_ID] = { .type = NLA_U64 },
	[KGNI_A_RES] = NLA_POLICY_NESTED_ARRAY(kgni_nl_limit_policy),
	[KGNI_A_NTT_BASE] = NLA_POLICY_MAX(NLA_U32, KGNI_NTT_ENTRIES - 1),
	[KGNI_A_NTT_SIZE] = NLA_POLICY_MAX(NLA_U32, KGNI_NTT_ENTRIES),
	[KGNI_A_NTT_CLEAR] = { .type = NLA_FLAG },
};

static int kgni_nl_one_limit(struct genl_info *info, struct nlattr *nest, int *limit)
{
	struct nlattr *a[KGNI_RES_A_MAX + 1];
	enum kgni_res res;
	int rc = nla_parse_nested(a, KGNI_RES_A_MAX, nest, kgni_nl_limit_policy, info->extack);

	if (rc)
		return rc;
	if (!a[KGNI_RES_A_NAME] || !a[KGNI_RES_A_TOTAL])
		return kgni_nl_refuse(info->extack, -EINVAL, "a limit needs a name and a total");
	for (res = 0; res < KGNI_RES_COUNT; res++) {
		if (!kgni_res_exists(res) ||
		    nla_strcmp(a[KGNI_RES_A_NAME], kgni_res_name(res)))
			continue;
		limit[res] = nla_get_s32(a[KGNI_RES_A_TOTAL]);
		return 0;
	}
	return kgni_nl_refuse(info->extack, -EINVAL, "there is no such resource");
}

static int kgni_nl_get_limits(struct genl_info *info, int *limit)
{
	struct nlattr *nest;
	enum kgni_res res;
	int left, rc;

	for (res = 0; res < KGNI_RES_COUNT; res++)
		limit[res] = KGNI_JOB_KEEP;
	if (!info->attrs[KGNI_A_RES])
		return 0;
	nla_for_each_nested(nest, info->attrs[KGNI_A_RES], left) {
		rc = kgni_nl_one_limit(info, nest, limit);
		if (rc)
			return rc;
	}
	return left ? kgni_nl_refuse(info->extack, -EINVAL, "that is no list of limits") : 0;
}

static int kgni_nl_get_job(struct genl_info *info, struct kgni_job_args *args)
{
	struct nlattr **a = info->attrs;
	int rc;

	if (!a[KGNI_A_JOB_ID] || !a[KGNI_A_COOKIE])
		return kgni_nl_refuse(info->extack, -EINVAL, "a job needs an id and a cookie");
	if (!a[KGNI_A_NTT_BASE] != !a[KGNI_A_NTT_SIZE])
		return kgni_nl_refuse(info->extack, -EINVAL, "of entries, base or size is missing");
	*args = (struct kgni_job_args) {
		.job_id = nla_get_u64(a[KGNI_A_JOB_ID]),
		.ptag = kgni_nl_get_u32(a, KGNI_A_PTAG, GNI_FIND_ALLOC_PTAG),
		.cookie = nla_get_u32(a[KGNI_A_COOKIE]),
		.ntt_base = kgni_nl_get_u32(a, KGNI_A_NTT_BASE, 0),
		.ntt_size = kgni_nl_get_u32(a, KGNI_A_NTT_SIZE, 0),
		.ntt_clear = nla_get_flag(a[KGNI_A_NTT_CLEAR]),
	};
	rc = kgni_nl_get_limits(info, args->limit);
	/* Channels are told by their number here: the first ones. */
	args->ce_mask = BIT(clamp(args->limit[KGNI_RES_CE], 0, KGNI_CE_CHANNELS)) - 1;
	return rc;
}

/* What a command does to a job, by its arguments. */
typedef long (*kgni_nl_job_fn)(struct kgni_device *dev, struct kgni_job_args *args);

static int kgni_nl_job(struct genl_info *info, struct kgni_device *dev, kgni_nl_job_fn fn,
		       const struct kgni_nl_code *codes, struct kgni_job_args *args)
{
	int rc = kgni_nl_get_job(info, args);

	return rc ?: kgni_nl_rc(info, fn(dev, args), codes);
}

/* KGNI_CMD_JOB_SET. */
int kgni_nl_job_set(struct sk_buff *skb, struct genl_info *info)
{
	static const struct kgni_nl_code codes[] = {
		{ GNI_RC_INVALID_PARAM, -EINVAL, "a value is out of range" },
		{ GNI_RC_ERROR_RESOURCE, -ENOSPC, "the device has not so much" },
		{ GNI_RC_INVALID_STATE, -EEXIST, "the tag belongs to another job or cookie" },
		{ GNI_RC_ILLEGAL_OP, -EADDRINUSE, "the job has addresses, or runs" },
		{ GNI_RC_NO_MATCH, -EADDRNOTAVAIL, "these entries are not set" },
		{ GNI_RC_SUCCESS }
	};

	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	struct kgni_job_args args;
	struct kgni_nl_msg m;
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_answer_begin(&m, info, KGNI_CMD_JOB_NEW);
	if (!rc) {
		rc = kgni_nl_job(info, dev, kgni_job_configure, codes, &args);
		if (!rc)
			rc = kgni_nl_answer_job(&m, skb, info, dev, args.ptag);
		rc = kgni_nl_answer_end(&m, info, rc);
	}
	put_device(&dev->dev);
	return rc;
}

static long kgni_nl_forget(struct kgni_device *dev, struct kgni_job_args *args)
{
	return kgni_job_unconfigure(dev, args->job_id, args->ptag, args->cookie);
}

/* KGNI_CMD_JOB_UNSET. */
int kgni_nl_job_unset(struct sk_buff *skb, struct genl_info *info)
{
	static const struct kgni_nl_code codes[] = {
		{ GNI_RC_INVALID_PARAM, -ENOENT, "no such job is configured" },
		{ GNI_RC_INVALID_STATE, -EBUSY, "the job runs" },
		{ GNI_RC_SUCCESS }
	};

	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	struct kgni_job_args args;
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_job(info, dev, kgni_nl_forget, codes, &args);
	put_device(&dev->dev);
	return rc;
}

/* --- translation tables ----------------------------------------------------- */

const struct nla_policy kgni_nl_ntt_set_policy[KGNI_A_MAX + 1] = {
	[KGNI_A_DEV] = KGNI_NL_A_DEV,
	[KGNI_A_INDEX] = NLA_POLICY_MAX(NLA_U32, KGNI_NTT_ENTRIES - 1),
	[KGNI_A_COUNT] = NLA_POLICY_RANGE(NLA_U32, 1, KGNI_NTT_ENTRIES),
	[KGNI_A_GRANULARITY] = NLA_POLICY_RANGE(NLA_U32, 1, U8_MAX),
	[KGNI_A_ENTRIES] = {
		.type = NLA_BINARY, .len = KGNI_NL_ENTRIES_MAX * sizeof(struct kgni_ntt_entry),
	},
};

static const struct kgni_nl_code kgni_nl_ntt_codes[] = {
	{ GNI_RC_INVALID_PARAM, -EINVAL, "entries beyond the table, or that make no sense" },
	{ GNI_RC_ERROR_RESOURCE, -ENOSPC,
	  "not so many are free, a job has them, or others have another granularity" },
	{ GNI_RC_SUCCESS }
};

static int kgni_nl_set_entries(struct genl_info *info, const struct kgni_nl_msg *m,
			       struct kgni_device *dev)
{
	struct nlattr *entries = info->attrs[KGNI_A_ENTRIES];
	struct kgni_ntt_args args = {
		.base = kgni_nl_get_u32(info->attrs, KGNI_A_INDEX, U32_MAX),
		.granularity = kgni_nl_get_u32(info->attrs, KGNI_A_GRANULARITY, 0),
	};
	int rc;

	if (!entries || !args.granularity)
		return kgni_nl_refuse(info->extack, -EINVAL, "entries or granularity are missing");
	if (!nla_len(entries) || nla_len(entries) % sizeof(*args.entries))
		return kgni_nl_refuse(info->extack, -EINVAL, "that is no array of entries");
	args.count = nla_len(entries) / sizeof(*args.entries);
	args.entries = nla_data(entries);
	rc = kgni_nl_rc(info, kgni_ntt_configure(dev, &args, &args.base), kgni_nl_ntt_codes);
	return rc ?: kgni_nl_fill_ntt(m, dev, args.base, args.granularity, args.entries);
}

/* KGNI_CMD_NTT_SET. */
int kgni_nl_ntt_set(struct sk_buff *skb, struct genl_info *info)
{
	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	struct kgni_nl_msg m;
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_answer_begin(&m, info, KGNI_CMD_NTT_NEW);
	if (!rc)
		rc = kgni_nl_answer_end(&m, info, kgni_nl_set_entries(info, &m, dev));
	put_device(&dev->dev);
	return rc;
}

/* KGNI_CMD_NTT_UNSET. */
int kgni_nl_ntt_unset(struct sk_buff *skb, struct genl_info *info)
{
	struct kgni_device *dev = kgni_nl_begin_set(skb, info);
	struct kgni_ntt_args args = {
		.base = kgni_nl_get_u32(info->attrs, KGNI_A_INDEX, U32_MAX),
		.count = kgni_nl_get_u32(info->attrs, KGNI_A_COUNT, U32_MAX),
	};
	int rc;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	rc = kgni_nl_rc(info, kgni_ntt_configure(dev, &args, &args.base), kgni_nl_ntt_codes);
	put_device(&dev->dev);
	return rc;
}
