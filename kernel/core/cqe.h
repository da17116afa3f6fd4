/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layout of a completion queue entry, 64 bits, never zero since source is not.
 *
 *	63	overrun
 *	59-62	status, enum kgni_cqe_status
 *	56-58	source, enum kgni_cqe_source
 *	54-55	type, GNI_CQ_EVENT_TYPE_*
 * source entries of posts (type POST):
 *	0-23	local event value
 *	24-52	transaction id
 *	53	this is the local event, not the global one
 * source entries of short messages (types SMSG and MSGQ):
 *	0-31	msg_id
 *	32-53	transaction id (user) or local event value (kernel)
 * target entries:
 *	0-47	remote event value, or the 48 bits of a CQ write
 *	48-53	transaction type, a gni_post_type_t
 * entries of a collective engine channel:
 *	0-47	reduction id
 *	48-53	number of the channel
 */
#ifndef _KGNI_CORE_CQE_H
#define _KGNI_CORE_CQE_H

#include "core.h"

enum kgni_cqe_type {
	KGNI_CQE_POST = 0,
	KGNI_CQE_SMSG = 1,
	KGNI_CQE_DMAPP = 2,
	KGNI_CQE_MSGQ = 3,
};

enum kgni_cqe_source {
	KGNI_CQE_FMA = 1,	/* a post of this NIC through FMA */
	KGNI_CQE_BTE = 2,	/* a post of this NIC through BTE */
	KGNI_CQE_REMOTE = 3,	/* a peer's transaction */
	KGNI_CQE_DRIVER = 4,	/* the driver itself: a repaired hole */
	KGNI_CQE_CE = 5,	/* a channel of the collective engine */
};

/**
 * enum kgni_cqe_status - how a transaction ended
 * @KGNI_ST_OK: it was carried out
 * @KGNI_ST_MDD_INVALID: the remote handle names no registration of the job
 * @KGNI_ST_BOUNDS: the range leaves the remote region
 * @KGNI_ST_PROTECTION: the remote region may not be written
 * @KGNI_ST_ADDRESS: memory behind an address could not be reached
 * @KGNI_ST_UNREACHABLE: nobody has the PE address
 * @KGNI_ST_ABORTED: a region was deregistered, or its owner ended, in flight
 * @KGNI_ST_PRODUCER_DIED: an event was lost with the process that made it
 * @KGNI_ST_NO_CQ: a CQ write found no queue behind the region
 * @KGNI_ST_REM_OVERRUN: the event found no room in the remote queue
 * @KGNI_ST_LINK: the way to the peer failed; a retry may succeed
 * @KGNI_ST_NO_CE: no channel of the collective engine takes the member's part
 * @KGNI_ST_CE_MEMBER: a member of the collective tree ended
 * @KGNI_ST_CE_DIFFER: members gave different commands to one reduction
 */
enum kgni_cqe_status {
	KGNI_ST_OK = 0,
	KGNI_ST_MDD_INVALID = 1,
	KGNI_ST_BOUNDS = 2,
	KGNI_ST_PROTECTION = 3,
	KGNI_ST_ADDRESS = 4,
	KGNI_ST_UNREACHABLE = 5,
	KGNI_ST_ABORTED = 6,
	KGNI_ST_PRODUCER_DIED = 7,
	KGNI_ST_NO_CQ = 8,
	KGNI_ST_REM_OVERRUN = 9,
	KGNI_ST_LINK = 10,
	KGNI_ST_NO_CE = 11,
	KGNI_ST_CE_MEMBER = 12,
	KGNI_ST_CE_DIFFER = 13,
	KGNI_ST_COUNT
};

#define KGNI_CQE_OVERRUN	(1ULL << 63)
#define KGNI_CQE_STATUS_SHIFT	59
#define KGNI_CQE_SOURCE_SHIFT	56
#define KGNI_CQE_TYPE_SHIFT	54
#define KGNI_CQE_LOCAL_SHIFT	53
#define KGNI_CQE_LOCAL		(1ULL << KGNI_CQE_LOCAL_SHIFT)
#define KGNI_CQE_INFO_SHIFT	48
#define KGNI_CQE_TID_SHIFT	24
#define KGNI_CQE_TID_BITS	29
#define KGNI_CQE_SMSG_TID_SHIFT	32
#define KGNI_CQE_SMSG_TID_BITS	22
#define KGNI_CQE_INST_MASK	((1ULL << 24) - 1)
#define KGNI_CQE_REM_INST_MASK	((1ULL << 32) - 1)
#define KGNI_CQE_DATA_MASK	((1ULL << 48) - 1)
/* What the maker of a source event chooses: struct kgni_ioc_post.src_event. */
#define KGNI_CQE_USER_MASK	((1ULL << 56) - 1)

static inline u64 kgni_cqe_type(u64 e)
{
	return CORE_BITS(e, KGNI_CQE_TYPE_SHIFT, 2);
}

static inline u64 kgni_cqe_source(u64 e)
{
	return CORE_BITS(e, KGNI_CQE_SOURCE_SHIFT, 3);
}

static inline u64 kgni_cqe_status(u64 e)
{
	return CORE_BITS(e, KGNI_CQE_STATUS_SHIFT, 4);
}

static inline u64 kgni_cqe_info(u64 e)
{
	return CORE_BITS(e, KGNI_CQE_INFO_SHIFT, 6);
}

static inline bool kgni_cqe_is_smsg(u64 e)
{
	return kgni_cqe_source(e) != KGNI_CQE_REMOTE &&
	       (kgni_cqe_type(e) == KGNI_CQE_SMSG || kgni_cqe_type(e) == KGNI_CQE_MSGQ);
}

static inline u64 kgni_cqe_tid(u64 e)
{
	if (kgni_cqe_is_smsg(e))
		return CORE_BITS(e, KGNI_CQE_SMSG_TID_SHIFT, KGNI_CQE_SMSG_TID_BITS);
	return CORE_BITS(e, KGNI_CQE_TID_SHIFT, KGNI_CQE_TID_BITS);
}

/* Replace the bits of a field: @mask is as wide as it, and begins at bit 0. */
static inline void kgni_cqe_set(u64 *e, u64 mask, unsigned int shift, u64 value)
{
	*e = (*e & ~(mask << shift)) | (value & mask) << shift;
}

static inline void kgni_cqe_set_tid(u64 *e, u64 tid)
{
	if (kgni_cqe_is_smsg(*e))
		kgni_cqe_set(e, (1ULL << KGNI_CQE_SMSG_TID_BITS) - 1, KGNI_CQE_SMSG_TID_SHIFT, tid);
	else
		kgni_cqe_set(e, (1ULL << KGNI_CQE_TID_BITS) - 1, KGNI_CQE_TID_SHIFT, tid);
}

static inline void kgni_cqe_set_type(u64 *e, u64 type)
{
	kgni_cqe_set(e, 3, KGNI_CQE_TYPE_SHIFT, type);
}

static inline void kgni_cqe_clr_status(u64 *e)
{
	kgni_cqe_set(e, 15, KGNI_CQE_STATUS_SHIFT, 0);
}

/* src_event of a post: the low 56 bits without KGNI_CQE_LOCAL. */
static inline u64 kgni_cqe_post(u32 local_event, u32 tid)
{
	return (local_event & KGNI_CQE_INST_MASK) |
	       (u64)(tid & ((1U << KGNI_CQE_TID_BITS) - 1)) << KGNI_CQE_TID_SHIFT |
	       (u64)KGNI_CQE_POST << KGNI_CQE_TYPE_SHIFT;
}

/* src_event of a short message. */
static inline u64 kgni_cqe_smsg(u32 msg_id, u32 tid, enum kgni_cqe_type type)
{
	return msg_id |
	       (u64)(tid & ((1U << KGNI_CQE_SMSG_TID_BITS) - 1)) << KGNI_CQE_SMSG_TID_SHIFT |
	       (u64)type << KGNI_CQE_TYPE_SHIFT;
}

/* The entry a poster finds: its own bits, who did it and how it ended. */
static inline u64 kgni_cqe_done(u64 src_event, enum kgni_cqe_source source,
				enum kgni_cqe_status status)
{
	return (src_event & KGNI_CQE_USER_MASK) | (u64)source << KGNI_CQE_SOURCE_SHIFT |
	       (u64)status << KGNI_CQE_STATUS_SHIFT;
}

/* The entry a target finds. */
static inline u64 kgni_cqe_remote(u64 data, u32 post_type, enum kgni_cqe_type type)
{
	return (data & KGNI_CQE_DATA_MASK) | (u64)(post_type & 0x3f) << KGNI_CQE_INFO_SHIFT |
	       (u64)type << KGNI_CQE_TYPE_SHIFT |
	       (u64)KGNI_CQE_REMOTE << KGNI_CQE_SOURCE_SHIFT;
}

/* The entry that a channel's owner finds. */
static inline u64 kgni_cqe_ce(u32 ce_id, u64 red_id, enum kgni_cqe_status status)
{
	return (red_id & KGNI_CQE_DATA_MASK) | (u64)(ce_id & 0x3f) << KGNI_CQE_INFO_SHIFT |
	       (u64)KGNI_CQE_CE << KGNI_CQE_SOURCE_SHIFT |
	       (u64)status << KGNI_CQE_STATUS_SHIFT;
}

/* The entry that stands for one whose producer died. */
static inline u64 kgni_cqe_hole(void)
{
	return kgni_cqe_done(0, KGNI_CQE_DRIVER, KGNI_ST_PRODUCER_DIED);
}

/* The entry handed out for events lost to a full ring. */
static inline u64 kgni_cqe_overrun(void)
{
	return KGNI_CQE_OVERRUN | kgni_cqe_done(0, KGNI_CQE_DRIVER, KGNI_ST_OK);
}

/* What an entry tells, in words; NULL for a status that does not exist. */
static inline const char *kgni_cqe_text(u64 e)
{
	static const char * const text[KGNI_ST_COUNT] = {
		[KGNI_ST_OK] = "no error",
		[KGNI_ST_MDD_INVALID] = "remote memory handle names no registration of the job",
		[KGNI_ST_BOUNDS] = "range is not inside the remote registration",
		[KGNI_ST_PROTECTION] = "remote registration is read-only",
		[KGNI_ST_ADDRESS] = "memory behind an address could not be reached",
		[KGNI_ST_UNREACHABLE] = "no NIC has the remote address",
		[KGNI_ST_ABORTED] =
			"a registration was taken back, or its owner ended, in flight",
		[KGNI_ST_PRODUCER_DIED] =
			"event was lost with the process that should have delivered it",
		[KGNI_ST_NO_CQ] = "no completion queue behind the remote registration",
		[KGNI_ST_REM_OVERRUN] = "remote completion queue was full",
		[KGNI_ST_LINK] = "connection to the remote node failed",
		[KGNI_ST_NO_CE] = "no collective engine channel takes the member's part",
		[KGNI_ST_CE_MEMBER] = "a member of the collective tree ended",
		[KGNI_ST_CE_DIFFER] = "members of the collective tree gave different commands",
	};

	if (e & KGNI_CQE_OVERRUN)
		return "overrun: events were lost, the completion queue was full";
	return kgni_cqe_status(e) < KGNI_ST_COUNT ? text[kgni_cqe_status(e)] : NULL;
}

/* May the same post succeed when it is tried again? */
static inline bool kgni_cqe_recoverable(u64 e)
{
	u64 status = kgni_cqe_status(e);

	return status == KGNI_ST_OK || status == KGNI_ST_LINK || status == KGNI_ST_REM_OVERRUN;
}

#endif /* _KGNI_CORE_CQE_H */
