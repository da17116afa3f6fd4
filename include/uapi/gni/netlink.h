/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The generic netlink family of kgni, spoken by gnictl: what there is, who uses
 * it and how much, and how to change it.
 *
 * Everybody sees devices, and the jobs and attachments of the user who opened
 * the socket; with CAP_SYS_ADMIN, those of all users. Commands that change
 * something need CAP_SYS_ADMIN. The family is there in the initial network
 * namespace only. gnictl(8) tells all of it in prose.
 */
#ifndef _UAPI_GNI_NETLINK_H
#define _UAPI_GNI_NETLINK_H

#define KGNI_GENL_NAME		"kgni"
#define KGNI_GENL_VERSION	1

/* Multicast groups: devices that come and go, for all; and everything, for CAP_SYS_ADMIN. */
#define KGNI_GENL_GROUP_DEVICES	"devices"
#define KGNI_GENL_GROUP_EVENTS	"events"

/**
 * enum kgni_cmd - commands, and what answers and notifications are about
 * @KGNI_CMD_UNSPEC: none
 * @KGNI_CMD_DEV_GET: dump of all devices, or DEV names one; answered by DEV_NEW
 * @KGNI_CMD_DEV_NEW: make a device, DEV if it is given, else the lowest that is
 *	free; answered by DEV_NEW. Also a notification
 * @KGNI_CMD_DEV_DEL: delete DEV; with FORCE also if it is used. Also a
 *	notification
 * @KGNI_CMD_JOB_GET: dump of jobs, of DEV if it is given, or DEV and PTAG name
 *	one; answered by JOB_NEW
 * @KGNI_CMD_JOB_NEW: a job. Also a notification
 * @KGNI_CMD_JOB_DEL: notification: a job ended
 * @KGNI_CMD_NIC_GET: dump of attachments, of DEV, PTAG and PID if they are
 *	given; answered by NIC_NEW
 * @KGNI_CMD_NIC_NEW: an attachment. Also a notification
 * @KGNI_CMD_NIC_DEL: notification: an attachment ended
 * @KGNI_CMD_MEM_GET: dump of registrations, likewise; answered by MEM_NEW
 * @KGNI_CMD_MEM_NEW: a registration
 * @KGNI_CMD_CQ_GET: dump of completion queues, likewise; answered by CQ_NEW
 * @KGNI_CMD_CQ_NEW: a completion queue
 * @KGNI_CMD_DGRAM_GET: dump of datagram sessions, likewise; answered by DGRAM_NEW
 * @KGNI_CMD_DGRAM_NEW: a datagram that is posted, or has ended and was not
 *	asked for
 * @KGNI_CMD_ERROR: notification: an error event was raised
 * @KGNI_CMD_INJECT: for tests: have the error CODE, one of memory or for
 *	diagnostics, happen on DEV; it concerns PTAG, if that is given
 * @KGNI_CMD_NTT_GET: dump of translation tables, of DEV if it is given; needs
 *	CAP_SYS_ADMIN; answered by NTT_NEW
 * @KGNI_CMD_NTT_NEW: an entry that is set
 * @KGNI_CMD_DEV_QUIESCE: have DEV stand still. Also a notification
 * @KGNI_CMD_DEV_RESUME: have it go on. Also a notification
 * @KGNI_CMD_BI_GET: dump of how much devices may inject, of DEV if it is given;
 *	answered by BI_NEW
 * @KGNI_CMD_BI_NEW: how much a device may inject. Also a notification
 * @KGNI_CMD_BI_SET: change that for DEV: FLAGS, and BW, AOT_BW as these say
 * @KGNI_CMD_JOB_SET: configure a job on DEV, or change it: JOB_ID, COOKIE, PTAG if
 *	one is wanted, RES with the totals that are to be its limits, NTT_BASE and
 *	NTT_SIZE, NTT_CLEAR; answered by JOB_NEW. Also a notification
 * @KGNI_CMD_JOB_UNSET: forget what was configured of the job on DEV with JOB_ID,
 *	PTAG and COOKIE, which does not run. Also a notification, and when it ended
 * @KGNI_CMD_NTT_SET: set ENTRIES of GRANULARITY in DEV's translation table, from
 *	INDEX on if it is given; answered by NTT_NEW, the first
 * @KGNI_CMD_NTT_UNSET: clear COUNT entries from INDEX on, or without both all that
 *	no job has
 * @KGNI_CMD_JOB_SUSPEND: notification: a job is to stand still
 * @KGNI_CMD_JOB_RESUME: notification: it goes on
 * @KGNI_CMD_CE_GET: dump of channels of the collective engine, as NIC_GET; answered by
 *	CE_NEW
 * @KGNI_CMD_CE_NEW: a channel
 */
enum kgni_cmd {
	KGNI_CMD_UNSPEC,
	KGNI_CMD_DEV_GET,
	KGNI_CMD_DEV_NEW,
	KGNI_CMD_DEV_DEL,
	KGNI_CMD_JOB_GET,
	KGNI_CMD_JOB_NEW,
	KGNI_CMD_JOB_DEL,
	KGNI_CMD_NIC_GET,
	KGNI_CMD_NIC_NEW,
	KGNI_CMD_NIC_DEL,
	KGNI_CMD_MEM_GET,
	KGNI_CMD_MEM_NEW,
	KGNI_CMD_CQ_GET,
	KGNI_CMD_CQ_NEW,
	KGNI_CMD_DGRAM_GET,
	KGNI_CMD_DGRAM_NEW,
	KGNI_CMD_ERROR,
	KGNI_CMD_INJECT,
	KGNI_CMD_NTT_GET,
	KGNI_CMD_NTT_NEW,
	KGNI_CMD_DEV_QUIESCE,
	KGNI_CMD_DEV_RESUME,
	KGNI_CMD_BI_GET,
	KGNI_CMD_BI_NEW,
	KGNI_CMD_BI_SET,
	KGNI_CMD_JOB_SET,
	KGNI_CMD_JOB_UNSET,
	KGNI_CMD_NTT_SET,
	KGNI_CMD_NTT_UNSET,
	KGNI_CMD_JOB_SUSPEND,
	KGNI_CMD_JOB_RESUME,
	KGNI_CMD_CE_GET,
	KGNI_CMD_CE_NEW,
	__KGNI_CMD_END
};

#define KGNI_CMD_MAX	(__KGNI_CMD_END - 1)

/**
 * enum kgni_attr - attributes of all messages
 * @KGNI_A_UNSPEC: none
 * @KGNI_A_PAD: padding in front of a u64
 * @KGNI_A_DEV: u32: number of a device, N of /dev/kgniN
 * @KGNI_A_FORCE: flag: also if it is used
 * @KGNI_A_PE: u32: PE address
 * @KGNI_A_TYPE: u32: a gni_nic_device_t
 * @KGNI_A_STATE: u32: an enum kgni_dev_state; of a datagram, a gni_post_state_t
 * @KGNI_A_VERSION: string: of the driver
 * @KGNI_A_JOBS: u32: how many jobs there are
 * @KGNI_A_NICS: u32: how many attachments there are
 * @KGNI_A_RES: nest, of a device or job: of each resource a nest of
 *	enum kgni_res_attr
 * @KGNI_A_STATS: nest: u64 by enum kgni_stat + 1
 * @KGNI_A_PTAG: u32: protection tag
 * @KGNI_A_COOKIE: u32: cookie
 * @KGNI_A_UID: u32: user id; a job that does not run has none
 * @KGNI_A_AUTO: flag: the driver chose the protection tag
 * @KGNI_A_NIC: u32: number of the attachment on its device
 * @KGNI_A_INST: u32: instance id
 * @KGNI_A_MODES: u32: GNI_CDM_MODE_* bits; of a queue, GNI_CQ_* bits
 * @KGNI_A_PID: u32: process that attached; not there if it cannot be seen from here
 * @KGNI_A_COMM: string: its name
 * @KGNI_A_MEMS: u32: how many registrations there are
 * @KGNI_A_PAGES: u64: pages they have, or one has
 * @KGNI_A_CQS: u32: how many completion queues there are
 * @KGNI_A_DGRAMS: u32: how many datagrams are posted
 * @KGNI_A_POSTS: u32: how many RDMA posts are under way
 * @KGNI_A_MDH: u32: number in memory handles
 * @KGNI_A_FLAGS: u32: GNI_MEM_* bits; of balanced injection, GNI_BI_FLAG_* bits
 * @KGNI_A_ADDR: u64: address
 * @KGNI_A_LENGTH: u64: bytes
 * @KGNI_A_CQ: u32: id of a queue in its attachment
 * @KGNI_A_SLOTS: u32: entries that a queue has room for
 * @KGNI_A_FILL: u32: entries that are in it
 * @KGNI_A_MAPS: u32: how often it is mapped
 * @KGNI_A_EP: u32: number of an endpoint in its process
 * @KGNI_A_ID: u64: id of a datagram that was posted with one
 * @KGNI_A_REMOTE_PE: u32: PE address of a peer, where it is known
 * @KGNI_A_REMOTE_INST: u32: its instance id
 * @KGNI_A_CODE: u32: of an error: a KGNI_ST_* or KGNI_ERR_*
 * @KGNI_A_CATEGORY: u32: a GNI_ERRMASK_* bit
 * @KGNI_A_INFO: four u64 about an error
 * @KGNI_A_JOB_ID: u64: name of a job that was configured
 * @KGNI_A_NTT_BASE: u32: first of its entries of the translation table
 * @KGNI_A_NTT_SIZE: u32: how many it has
 * @KGNI_A_INDEX: u32: number of an entry
 * @KGNI_A_GRANULARITY: u32: virtual addresses of an entry
 * @KGNI_A_BLOCK: u32: PE address that the first of them stands for, and so on
 * @KGNI_A_REPLACED: u32: how many at the end stand for others
 * @KGNI_A_REPLACEMENT: u32: for those from here on
 * @KGNI_A_NTT_CLEAR: flag: a job's entries are cleared when it ends
 * @KGNI_A_ENTRIES: array of struct kgni_ntt_entry, up to KGNI_NL_ENTRIES_MAX
 * @KGNI_A_COUNT: u32: how many entries
 * @KGNI_A_BW: u32: how much a device may inject, percent, or with the flag for that
 *	outstanding requests
 * @KGNI_A_AOT_BW: u32: the same for after it stood still
 * @KGNI_A_NORBS: u32: how much it may inject, outstanding requests
 * @KGNI_A_SYS_BW: u32: the system's setting of BW
 * @KGNI_A_SYS_AOT_BW: u32: and of AOT_BW
 * @KGNI_A_CHANGES: u32: number of the last change
 * @KGNI_A_COMMITTED: u32: and of the last one that is in force
 * @KGNI_A_OPEN_NS: u64: for how long it moved things while there was a limit
 * @KGNI_A_CLOSED_NS: u64: for how long it did not
 * @KGNI_A_LATE_NS: u64: how much of that was too much
 * @KGNI_A_SUSPENDED: flag: the job stands still
 * @KGNI_A_CES: u32: how many channels of the collective engine there are
 * @KGNI_A_CE: u32: number of a channel in its job
 * @KGNI_A_CHILDREN: u32: how many children it has, 0 before it is configured
 * @KGNI_A_SEEN: u32: how many of them have given a part
 * @KGNI_A_PARENT: u32: number of the channel above, at REMOTE_PE; not at the root
 * @KGNI_A_STATUS: u32: KGNI_ST_OK, or what is wrong with its tree
 * @KGNI_A_REDUCTIONS: u32: reductions that are under way
 */
enum kgni_attr {
	KGNI_A_UNSPEC,
	KGNI_A_PAD,
	KGNI_A_DEV,
	KGNI_A_FORCE,
	KGNI_A_PE,
	KGNI_A_TYPE,
	KGNI_A_STATE,
	KGNI_A_VERSION,
	KGNI_A_JOBS,
	KGNI_A_NICS,
	KGNI_A_RES,
	KGNI_A_STATS,
	KGNI_A_PTAG,
	KGNI_A_COOKIE,
	KGNI_A_UID,
	KGNI_A_AUTO,
	KGNI_A_NIC,
	KGNI_A_INST,
	KGNI_A_MODES,
	KGNI_A_PID,
	KGNI_A_COMM,
	KGNI_A_MEMS,
	KGNI_A_PAGES,
	KGNI_A_CQS,
	KGNI_A_DGRAMS,
	KGNI_A_POSTS,
	KGNI_A_MDH,
	KGNI_A_FLAGS,
	KGNI_A_ADDR,
	KGNI_A_LENGTH,
	KGNI_A_CQ,
	KGNI_A_SLOTS,
	KGNI_A_FILL,
	KGNI_A_MAPS,
	KGNI_A_EP,
	KGNI_A_ID,
	KGNI_A_REMOTE_PE,
	KGNI_A_REMOTE_INST,
	KGNI_A_CODE,
	KGNI_A_CATEGORY,
	KGNI_A_INFO,
	KGNI_A_JOB_ID,
	KGNI_A_NTT_BASE,
	KGNI_A_NTT_SIZE,
	KGNI_A_INDEX,
	KGNI_A_GRANULARITY,
	KGNI_A_BLOCK,
	KGNI_A_REPLACED,
	KGNI_A_REPLACEMENT,
	KGNI_A_NTT_CLEAR,
	KGNI_A_ENTRIES,
	KGNI_A_COUNT,
	KGNI_A_BW,
	KGNI_A_AOT_BW,
	KGNI_A_NORBS,
	KGNI_A_SYS_BW,
	KGNI_A_SYS_AOT_BW,
	KGNI_A_CHANGES,
	KGNI_A_COMMITTED,
	KGNI_A_OPEN_NS,
	KGNI_A_CLOSED_NS,
	KGNI_A_LATE_NS,
	KGNI_A_SUSPENDED,
	KGNI_A_CES,
	KGNI_A_CE,
	KGNI_A_CHILDREN,
	KGNI_A_SEEN,
	KGNI_A_PARENT,
	KGNI_A_STATUS,
	KGNI_A_REDUCTIONS,
	__KGNI_A_END
};

#define KGNI_A_MAX	(__KGNI_A_END - 1)

/* What fits into an attribute. */
#define KGNI_NL_ENTRIES_MAX	5000

/* State of a device. */
enum kgni_dev_state {
	KGNI_DEV_UP,
	KGNI_DEV_GONE,
	KGNI_DEV_QUIESCED,
};

/**
 * enum kgni_res_attr - a resource
 * @KGNI_RES_A_UNSPEC: none
 * @KGNI_RES_A_NAME: string: what it is
 * @KGNI_RES_A_USED: u32: how many are taken
 * @KGNI_RES_A_TOTAL: u32: how many there are, or a job may have
 */
enum kgni_res_attr {
	KGNI_RES_A_UNSPEC,
	KGNI_RES_A_NAME,
	KGNI_RES_A_USED,
	KGNI_RES_A_TOTAL,
	__KGNI_RES_A_END
};

#define KGNI_RES_A_MAX	(__KGNI_RES_A_END - 1)

/**
 * enum kgni_stat - what is counted of each attachment
 * @KGNI_STAT_FMA_PUT: FMA puts that were carried out, messages among them
 * @KGNI_STAT_FMA_PUT_BYTES: bytes that they moved
 * @KGNI_STAT_FMA_GET: FMA gets
 * @KGNI_STAT_FMA_GET_BYTES: bytes that they moved
 * @KGNI_STAT_AMO: atomic operations
 * @KGNI_STAT_CQWRITE: CQ writes
 * @KGNI_STAT_SMSG: short messages, and returns of their credits
 * @KGNI_STAT_RDMA_PUT: RDMA puts
 * @KGNI_STAT_RDMA_PUT_BYTES: bytes that they moved
 * @KGNI_STAT_RDMA_GET: RDMA gets
 * @KGNI_STAT_RDMA_GET_BYTES: bytes that they moved
 * @KGNI_STAT_ERROR: posts of any kind that ended with an error event
 * @KGNI_STAT_DGRAM: datagrams posted
 * @KGNI_STAT_DGRAM_MATCHED: datagrams that found their peer
 * @KGNI_STAT_CE: reductions of the collective engine that it took part in
 * @KGNI_STAT_COUNT: how many these are
 */
enum kgni_stat {
	KGNI_STAT_FMA_PUT,
	KGNI_STAT_FMA_PUT_BYTES,
	KGNI_STAT_FMA_GET,
	KGNI_STAT_FMA_GET_BYTES,
	KGNI_STAT_AMO,
	KGNI_STAT_CQWRITE,
	KGNI_STAT_SMSG,
	KGNI_STAT_RDMA_PUT,
	KGNI_STAT_RDMA_PUT_BYTES,
	KGNI_STAT_RDMA_GET,
	KGNI_STAT_RDMA_GET_BYTES,
	KGNI_STAT_ERROR,
	KGNI_STAT_DGRAM,
	KGNI_STAT_DGRAM_MATCHED,
	KGNI_STAT_CE,
	KGNI_STAT_COUNT
};

#endif /* _UAPI_GNI_NETLINK_H */
