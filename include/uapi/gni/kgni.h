/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The ioctl and mmap interface of /dev/kgniN, spoken by libugni.
 *
 * Every call returns a GNI return code (GNI_RC_*, 0 and up) when the driver
 * understood it, or -1 with errno when it did not: EFAULT for a bad pointer,
 * EINVAL for a malformed structure (reserved field set, unknown flag), EINTR
 * for a wait that a signal ended, ENODEV where the device was deleted, ENOMEM,
 * ENOTTY. All structures are the same for 32-bit and 64-bit callers; pointers
 * travel as __u64; reserved fields must be zero.
 */
#ifndef _UAPI_GNI_KGNI_H
#define _UAPI_GNI_KGNI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Goes up when a structure below changes in a way that old callers notice. */
#define KGNI_ABI_VERSION	1

#define KGNI_DEVICE_PATH	"/dev/kgni%u"
#define KGNI_MAX_DEVICES	64
#define KGNI_BUILD_LEN		80
#define KGNI_DGRAM_MAX		128
#define KGNI_WAIT_FOREVER	(~0ULL)

/* A memory handle as it travels; kernel/core/memhndl.h knows its fields. */
struct kgni_mem_handle {
	__u64 qword1;
	__u64 qword2;
};

/**
 * struct kgni_ioc_info - KGNI_IOC_INFO: what this device is
 * @abi: KGNI_ABI_VERSION of the driver
 * @device_id: N of /dev/kgniN
 * @pe: the PE address of the NIC
 * @device_type: a gni_nic_device_t
 * @cpu: first CPU that is near the device
 * @version: interface version of the driver, as GNI_GetVersion() lays it out
 * @revision: revision number of the driver's source
 * @ntt_gran: how many PE addresses an entry of the translation table covers
 * @build: text that names the build, zero terminated
 */
struct kgni_ioc_info {
	__u32 abi;
	__u32 device_id;
	__u32 pe;
	__u32 device_type;
	__u32 cpu;
	__u32 version;
	__u32 revision;
	__u32 ntt_gran;
	char build[KGNI_BUILD_LEN];
};

/**
 * struct kgni_ioc_attach - KGNI_IOC_ATTACH: make this file one NIC attachment
 * @inst_id: instance id of the communication domain
 * @ptag: in: protection tag, or 255 to find or allocate one; out: the tag used
 * @cookie: cookie of the job
 * @modes: GNI_CDM_MODE_* bits
 * @pe: out: PE address of the NIC
 */
struct kgni_ioc_attach {
	__u32 inst_id;
	__u32 ptag;
	__u32 cookie;
	__u32 modes;
	__u32 pe;
	__u32 reserved;
};

/**
 * struct kgni_ioc_ptag - KGNI_IOC_GET_PTAG: the ptag that goes with a cookie
 * @cookie: cookie to look up
 * @ptag: out: its tag; where the cookie is new one is allocated and kept, at
 *	least until this file closes
 */
struct kgni_ioc_ptag {
	__u32 cookie;
	__u32 ptag;
};

/* scopes of KGNI_IOC_RES_INFO */
#define KGNI_RES_DEVICE		0
#define KGNI_RES_JOB		1

/**
 * struct kgni_ioc_res - KGNI_IOC_RES_INFO: how much of a resource is in use
 * @scope: KGNI_RES_DEVICE or KGNI_RES_JOB
 * @type: a gni_dev_res_t or gni_job_res_t, by @scope
 * @ptag: the job, for KGNI_RES_JOB
 * @available: out: how many are left
 * @reserved_count: out: device: set aside for jobs that are not running
 * @used: out: how many are taken
 * @total: out: device: how many there are; job: the limit
 */
struct kgni_ioc_res {
	__u32 scope;
	__u32 type;
	__u32 ptag;
	__u32 reserved;
	__u64 available;
	__u64 reserved_count;
	__u64 used;
	__u64 total;
};

/**
 * struct kgni_ioc_cq_create - KGNI_IOC_CQ_CREATE
 * @entries: how many entries the queue must hold, 1 or more
 * @delay: how many events may wait before a sleeper is woken
 * @mode: GNI_CQ_* bits
 * @id: out: names the queue in the calls of this file, never 0
 * @slots: out: slots of the ring, @entries rounded up to a power of two
 * @mmap_offset: out: offset to map the ring at
 * @mmap_length: out: bytes to map, control page included
 */
struct kgni_ioc_cq_create {
	__u32 entries;
	__u32 delay;
	__u32 mode;
	__u32 id;
	__u32 slots;
	__u32 reserved;
	__u64 mmap_offset;
	__u64 mmap_length;
};

/* KGNI_IOC_CQ_DESTROY */
struct kgni_ioc_cq_destroy {
	__u32 id;
	__u32 reserved;
};

/* One queue to wait for: @id as the open device file @fd knows it. */
struct kgni_cq_ref {
	__s32 fd;
	__u32 id;
};

/* KGNI_IOC_CQ_WAKE: look at the queue again: its owner unmasked it */
struct kgni_ioc_cq_wake {
	__u32 id;
	__u32 reserved;
};

/**
 * struct kgni_ioc_cq_notify - KGNI_IOC_CQ_NOTIFY: attach a queue to an eventfd
 * @id: the queue
 * @fd: an eventfd, which goes up by one for an event that finds the ring's
 *	@notify set, and clears it. Lasts until the queue is destroyed.
 */
struct kgni_ioc_cq_notify {
	__u32 id;
	__s32 fd;
};

/* KGNI_IOC_CQ_OWED: do block transfers under way still owe the queue events? */
struct kgni_ioc_cq_owed {
	__u32 id;
	__u32 reserved;
};

#define KGNI_CQ_WAIT_MAX	1024

/**
 * struct kgni_ioc_cq_wait - KGNI_IOC_CQ_WAIT: sleep until a queue has an event
 * @cqs: address of an array of struct kgni_cq_ref
 * @timeout_ms: milliseconds, or KGNI_WAIT_FOREVER
 * @count: how many queues, 1 to KGNI_CQ_WAIT_MAX
 * @which: out: index of a queue that has an event
 */
struct kgni_ioc_cq_wait {
	__u64 cqs;
	__u64 timeout_ms;
	__u32 count;
	__u32 which;
};

/* One range of a region that is made of several. */
struct kgni_segment {
	__u64 addr;
	__u64 length;
};

#define KGNI_SEGMENTS_MAX	65536

/**
 * struct kgni_ioc_mem_register - KGNI_IOC_MEM_REGISTER
 * @addr: first byte of the region; with @segments, address of their array
 * @length: bytes; not looked at with @segments
 * @flags: GNI_MEM_* bits
 * @cq: id of the queue for remote events, or 0
 * @vmdh_index: with GNI_MEM_USE_VMDH, index in the block of
 *	KGNI_IOC_MDD_BLOCK, or ~0 for the first free one
 * @segments: how many segments, up to KGNI_SEGMENTS_MAX; 0 for a region that
 *	is one range of addresses
 * @handle: out: the memory handle; in: the registration to clone, with
 *	GNI_MEM_MDD_CLONE, or to update, with GNI_MEM_UPDATE_REGION and no index
 */
struct kgni_ioc_mem_register {
	__u64 addr;
	__u64 length;
	__u32 flags;
	__u32 cq;
	__u32 vmdh_index;
	__u32 segments;
	struct kgni_mem_handle handle;
};

/**
 * struct kgni_ioc_mdd_block - KGNI_IOC_MDD_BLOCK: allow virtual handles
 * @entries: indices from 0 up that may be used, at most 4096
 */
struct kgni_ioc_mdd_block {
	__u32 entries;
	__u32 reserved;
};

/**
 * struct kgni_ioc_mem_next - KGNI_IOC_MEM_NEXT: list registrations of this file
 * @handle: in: a registration's handle, or zeros to begin; out: the next one's
 * @addr: out: its first byte, or where its first segment begins in its page
 * @length: out: its bytes
 */
struct kgni_ioc_mem_next {
	struct kgni_mem_handle handle;
	__u64 addr;
	__u64 length;
};

/* KGNI_IOC_MEM_DEREGISTER */
struct kgni_ioc_mem_deregister {
	struct kgni_mem_handle handle;
};

/* flags of struct kgni_ioc_post */
#define KGNI_POST_SMSG		0x1	/* the remote event is of type SMSG */
#define KGNI_POST_REPORT	0x2	/* FMA: GNI_RC_TRANSACTION_ERROR if the way failed */
#define KGNI_POST_FLAGS		0x3

/**
 * struct kgni_ioc_post - KGNI_IOC_POST: one transaction, of any kind
 * @type: a gni_post_type_t
 * @flags: KGNI_POST_*
 * @cq_mode: GNI_CQMODE_* bits
 * @rdma_mode: GNI_RDMAMODE_* bits, for RDMA
 * @src_cq: id of the queue for local and global events, or 0
 * @src_event: bits 0 to 55 of those events: kernel/core/cqe.h
 * @remote_event: value of the event at the target
 * @remote_pe: PE address of the target
 * @local_addr: source of a put, destination of a get or fetch
 * @local: handle of the region that holds @local_addr, where one is needed
 * @remote_addr: address in the remote region
 * @remote: handle of the remote region
 * @length: bytes
 * @sync_addr: where the 8-byte flag goes, for a put with flag
 * @sync_value: the flag; its low half for a flagged response, which is stored
 *	behind the @length bytes at @local_addr
 * @amo_cmd: a gni_fma_cmd_type_t, for an AMO
 * @dlvr_mode: GNI_DLVMODE_* bits
 * @operand: its operands
 * @cqwrite_value: low 48 bits are delivered, for a CQ write
 */
struct kgni_ioc_post {
	__u32 type;
	__u32 flags;
	__u16 cq_mode;
	__u16 rdma_mode;
	__u32 src_cq;
	__u64 src_event;
	__u32 remote_event;
	__u32 remote_pe;
	__u64 local_addr;
	struct kgni_mem_handle local;
	__u64 remote_addr;
	struct kgni_mem_handle remote;
	__u64 length;
	__u64 sync_addr;
	__u64 sync_value;
	__u32 amo_cmd;
	__u16 dlvr_mode;
	__u16 reserved;
	__u64 operand[2];
	__u64 cqwrite_value;
};

#define KGNI_CHAIN_MAX		1024

/**
 * struct kgni_ioc_post_chain - KGNI_IOC_POST_CHAIN: several posts, one event
 * @posts: address of an array of struct kgni_ioc_post, none of them RDMA
 * @count: how many, 1 to KGNI_CHAIN_MAX
 *
 * They are carried out in order. The first one names the source events of all;
 * the others' src_cq is zero. Unless GNI_RC_SUCCESS is returned none was done.
 */
struct kgni_ioc_post_chain {
	__u64 posts;
	__u32 count;
	__u32 reserved;
};

/* flags of the datagram calls */
#define KGNI_DGRAM_BOUND	0x1	/* post: to remote_pe and remote_id */
#define KGNI_DGRAM_WITH_ID	0x2	/* the datagram is named by id, not by ep */
#define KGNI_DGRAM_EP_GONE	0x4	/* cancel: the endpoint is destroyed */

/**
 * struct kgni_ioc_dgram_post - KGNI_IOC_DGRAM_POST
 * @id: the caller's name for it, with KGNI_DGRAM_WITH_ID; not ~0
 * @ep: the caller's number of the endpoint: one datagram at a time on each
 * @flags: KGNI_DGRAM_BOUND, KGNI_DGRAM_WITH_ID
 * @remote_pe: peer's PE address, if bound
 * @remote_id: peer's instance id, if bound
 * @length: bytes of @data to send, 0 to KGNI_DGRAM_MAX
 * @buf_size: room the caller has for the peer's data
 * @data: what to send
 */
struct kgni_ioc_dgram_post {
	__u64 id;
	__u32 ep;
	__u32 flags;
	__u32 remote_pe;
	__u32 remote_id;
	__u16 length;
	__u16 buf_size;
	__u32 reserved;
	__u8 data[KGNI_DGRAM_MAX];
};

/**
 * struct kgni_ioc_dgram_test - KGNI_IOC_DGRAM_TEST: state of a posted datagram
 * @id: its name, with KGNI_DGRAM_WITH_ID
 * @timeout_ms: 0 to look and return, KGNI_WAIT_FOREVER, or milliseconds
 * @ep: the endpoint it was posted on
 * @flags: KGNI_DGRAM_WITH_ID
 * @state: out: a gni_post_state_t; a final state ends the datagram
 * @remote_pe: out: peer's PE address, once completed
 * @remote_id: out: peer's instance id, once completed
 * @length: out: bytes of @data
 * @data: out: what the peer sent
 */
struct kgni_ioc_dgram_test {
	__u64 id;
	__u64 timeout_ms;
	__u32 ep;
	__u32 flags;
	__u32 state;
	__u32 remote_pe;
	__u32 remote_id;
	__u16 length;
	__u16 reserved;
	__u8 data[KGNI_DGRAM_MAX];
};

/**
 * struct kgni_ioc_dgram_probe - KGNI_IOC_DGRAM_PROBE: find a finished datagram
 * @timeout_ms: 0 to look and return, KGNI_WAIT_FOREVER, or milliseconds
 * @id: out: its name, with KGNI_DGRAM_WITH_ID
 * @flags: KGNI_DGRAM_WITH_ID to look among those with a name, else the others
 * @remote_pe: out: peer's PE address
 * @remote_id: out: peer's instance id
 */
struct kgni_ioc_dgram_probe {
	__u64 timeout_ms;
	__u64 id;
	__u32 flags;
	__u32 remote_pe;
	__u32 remote_id;
	__u32 reserved;
};

/* KGNI_IOC_DGRAM_CANCEL: @flags: KGNI_DGRAM_WITH_ID or KGNI_DGRAM_EP_GONE */
struct kgni_ioc_dgram_cancel {
	__u64 id;
	__u32 ep;
	__u32 flags;
};

/* Codes of error events, besides the KGNI_ST_* of kernel/core/cqe.h for posts. */
#define KGNI_ERR_MEMORY_CORRECTED	0x100	/* memory was wrong, and set right */
#define KGNI_ERR_MEMORY			0x101	/* memory is lost */
#define KGNI_ERR_DIAG			0x102	/* diagnostics want it */
#define KGNI_ERR_QUIESCE		0x103	/* it stands still; info[0] is 0 at the end */
#define KGNI_ERR_NO_JOB			0x104	/* a transaction of a job that is not here */

/**
 * struct kgni_error_event - an error that a device met: a gni_error_event_t
 * @code: which: a KGNI_ST_* or KGNI_ERR_*
 * @category: the GNI_ERRMASK_* bit that it comes under
 * @ptag: protection tag that it concerns, 0 for none
 * @serial: counts those meant for the queue, lost ones too
 * @time: nanoseconds since 1970
 * @info: for posts: remote address, first half of the remote handle, length,
 *	and PE address of the other side (high half) with the gni_post_type_t
 */
struct kgni_error_event {
	__u16 code;
	__u8 category;
	__u8 ptag;
	__u32 serial;
	__u64 time;
	__u64 info[4];
};

/**
 * struct kgni_ioc_err_subscribe - KGNI_IOC_ERR_SUBSCRIBE: make an error queue
 * @mask: GNI_ERRMASK_* bits of what it takes
 * @events: how many it holds, 0 for 64
 * @id: out: names the queue in the calls of this file, never 0
 */
struct kgni_ioc_err_subscribe {
	__u32 mask;
	__u32 events;
	__u32 id;
	__u32 reserved;
};

/* flag of struct kgni_ioc_err_release */
#define KGNI_ERR_ANYWAY		0x1	/* end the waits of others */

/* KGNI_IOC_ERR_RELEASE: @flags: KGNI_ERR_ANYWAY */
struct kgni_ioc_err_release {
	__u32 id;
	__u32 flags;
};

/**
 * struct kgni_ioc_err_wait - KGNI_IOC_ERR_WAIT: take error events
 * @events: address of an array of struct kgni_error_event
 * @count: address of a __u32, where each event that came is counted: an event
 *	stays in the queue until both it and the count are written
 * @timeout_ms: for the first: 0 to look and return, KGNI_WAIT_FOREVER, or
 *	milliseconds
 * @id: the queue
 * @max: how many @events has room for, 1 or more
 * @more_ms: how long to wait for more after the first, milliseconds
 * @reserved: 0
 */
struct kgni_ioc_err_wait {
	__u64 events;
	__u64 count;
	__u64 timeout_ms;
	__u32 id;
	__u32 max;
	__u32 more_ms;
	__u32 reserved;
};

/* what to do with an error queue, in struct kgni_ioc_err_set */
#define KGNI_ERR_GET_MASK	0
#define KGNI_ERR_SET_MASK	1
#define KGNI_ERR_SET_PTAG	2

/**
 * struct kgni_ioc_err_set - KGNI_IOC_ERR_SET: choose what a queue takes
 * @id: the queue
 * @what: KGNI_ERR_GET_MASK, KGNI_ERR_SET_MASK, KGNI_ERR_SET_PTAG
 * @value: the mask, or the protection tag, 0 for all; not looked at by GET
 * @old: out: what it was before
 */
struct kgni_ioc_err_set {
	__u32 id;
	__u32 what;
	__u32 value;
	__u32 old;
};

#define KGNI_NTT_ENTRIES	8192

/**
 * struct kgni_ntt_entry - one entry of the translation table
 * @block: PE address that the first virtual one of the entry stands for, and so on
 * @replacement: the same for the last @replaced ones of the entry
 * @replaced: how many these are
 */
struct kgni_ntt_entry {
	__u32 block;
	__u32 replacement;
	__u32 replaced;
};

/**
 * struct kgni_ioc_ntt - KGNI_IOC_NTT_CONFIGURE: set or clear entries
 * @entries: address of @count struct kgni_ntt_entry; 0 to clear entries
 * @count: how many; ~0 and a @base of ~0 to clear all that no job uses
 * @base: in: the first; ~0 for any that are free; out: the first
 * @granularity: virtual PE addresses that an entry is for, 1 to 255; not looked
 *	at to clear entries
 */
struct kgni_ioc_ntt {
	__u64 entries;
	__u32 count;
	__u32 base;
	__u32 granularity;
	__u32 reserved;
};

/* A limit of struct kgni_ioc_job that stays as it is. */
#define KGNI_JOB_KEEP		(-1)

/* flags of struct kgni_ioc_job */
#define KGNI_JOB_NTT		0x1	/* @ntt has entries for the job */
#define KGNI_JOB_NTT_CLEAR	0x2	/* clear the job's entries when it ends */

/**
 * struct kgni_ioc_job - KGNI_IOC_JOB_CONFIGURE: tell the device about a job
 * @job_id: its name
 * @ptag: in: its protection tag, or 255 to choose one; out: the tag
 * @cookie: its cookie
 * @flags: KGNI_JOB_*
 * @mdd_limit: registrations
 * @ce_limit: bits of the collective engine channels that it may use
 * @iommu_limit: N, for 2^N MiB in registrations
 * @dla_limit: posts of chains that are not carried out yet
 * @fma_limit: FMA descriptors
 * @bte_limit: RDMA posts on their way
 * @cq_limit: completion queues
 * @ntt_base: first entry of the translation table, with @ntt_size
 * @ntt_size: how many entries, from an earlier call; 0 or less for none
 * @mrt_limit: blocks of memory in registrations
 * @gart_limit: pages in registrations with GNI_MEM_USE_GART
 * @ntt: as KGNI_IOC_NTT_CONFIGURE, with KGNI_JOB_NTT; not to clear entries
 *
 * What the device does not have is limited by KGNI_JOB_KEEP only.
 */
struct kgni_ioc_job {
	__u64 job_id;
	__u32 ptag;
	__u32 cookie;
	__u32 flags;
	__s32 mdd_limit;
	__s32 ce_limit;
	__s32 iommu_limit;
	__s32 dla_limit;
	__s32 fma_limit;
	__s32 bte_limit;
	__s32 cq_limit;
	__s32 ntt_base;
	__s32 ntt_size;
	__s32 mrt_limit;
	__s32 gart_limit;
	struct kgni_ioc_ntt ntt;
};

/* flag of struct kgni_ioc_suspend */
#define KGNI_SUSPEND_RESUME	0x1	/* the job goes on */

/**
 * struct kgni_ioc_suspend - KGNI_IOC_JOB_SUSPEND: have a job stand still, or go on
 * @job_id: its name, 0 if nobody configured it
 * @timeout_ms: how long to wait for what is on its way: milliseconds, or
 *	KGNI_WAIT_FOREVER
 * @ptag: its protection tag
 * @cookie: its cookie
 * @flags: KGNI_SUSPEND_RESUME
 */
struct kgni_ioc_suspend {
	__u64 job_id;
	__u64 timeout_ms;
	__u32 ptag;
	__u32 cookie;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct kgni_ioc_bi_set - KGNI_IOC_BI_SET: balanced injection
 * @bw: how much the device may inject, percent or outstanding requests; 0 for no limit
 * @aot_bw: the same for after it was throttled
 * @modes: GNI_BI_FLAG_* bits
 */
struct kgni_ioc_bi_set {
	__u16 bw;
	__u16 aot_bw;
	__u16 modes;
	__u16 reserved;
};

/**
 * struct kgni_ioc_bi_get - KGNI_IOC_BI_GET: balanced injection, all of it out
 * @bw: what is in force, percent
 * @aot_bw: the same for after a throttle
 * @norbs: what is in force, outstanding requests
 * @flags: GNI_BI_FLAG_* bits of the last change
 * @sys_bw: the system's setting for @bw
 * @sys_aot_bw: for @aot_bw
 * @changes: counts changes
 * @committed: number of the last one that is in force
 * @open_ns: for how long, nanoseconds, something moved while not all might; begins
 *	with the driver
 * @closed_ns: for how long nothing might
 * @late_ns: how much of @closed_ns was too much
 */
struct kgni_ioc_bi_get {
	__u16 bw;
	__u16 aot_bw;
	__u16 norbs;
	__u16 flags;
	__u16 sys_bw;
	__u16 sys_aot_bw;
	__u16 changes;
	__u16 committed;
	__u64 open_ns;
	__u64 closed_ns;
	__u64 late_ns;
};

/**
 * struct kgni_ioc_bi_wait - KGNI_IOC_BI_WAIT: wait until changes are in force
 * @timeout_ms: milliseconds, 0 to look and return, or KGNI_WAIT_FOREVER
 */
struct kgni_ioc_bi_wait {
	__u64 timeout_ms;
};

/**
 * struct kgni_ce_edge - one end of an edge of a collective tree
 * @pe: PE address of the other end
 * @id: of a leaf its instance id, of a channel its number
 * @child: number of the child at its parent, 0 to 31
 * @type: a gni_ce_child_t: what the child is
 */
struct kgni_ce_edge {
	__u32 pe;
	__u32 id;
	__u32 child;
	__u32 type;
};

/* KGNI_IOC_CE_CREATE: make a channel of the collective engine; @id: out: its number */
struct kgni_ioc_ce_create {
	__u32 id;
	__u32 reserved;
};

/**
 * struct kgni_ioc_ce_configure - KGNI_IOC_CE_CONFIGURE: place a channel in a tree
 * @children: address of an array of struct kgni_ce_edge
 * @count: how many, 1 to 32
 * @id: the channel
 * @cq: id of the queue for its events, or 0
 * @modes: GNI_CE_MODE_* bits
 * @parent: the channel above; @parent.type is GNI_CE_CHILD_UNUSED at the root
 */
struct kgni_ioc_ce_configure {
	__u64 children;
	__u32 count;
	__u32 id;
	__u32 cq;
	__u32 modes;
	struct kgni_ce_edge parent;
};

/* KGNI_IOC_CE_DESTROY */
struct kgni_ioc_ce_destroy {
	__u32 id;
	__u32 reserved;
};

/**
 * struct kgni_ioc_ce_post - KGNI_IOC_CE_POST: take part in a reduction
 * @cmd: a gni_ce_cmd_type_t
 * @mode: GNI_CEMODE_* bits
 * @cq_mode: GNI_CQMODE_* bits; there are no remote events
 * @src_cq: id of the queue for local and global events, or 0
 * @remote_pe: PE address of the channel
 * @src_event: bits 0 to 55 of those events: kernel/core/cqe.h
 * @result: address of a gni_ce_result_t, a multiple of 8
 * @local: handle of the region that holds it
 * @red_id: reduction id, below 2^48
 * @operand: the operands
 * @ce: number of the channel
 * @child: the caller's number there
 */
struct kgni_ioc_ce_post {
	__u32 cmd;
	__u16 mode;
	__u16 cq_mode;
	__u32 src_cq;
	__u32 remote_pe;
	__u64 src_event;
	__u64 result;
	struct kgni_mem_handle local;
	__u64 red_id;
	__u64 operand[2];
	__u32 ce;
	__u32 child;
};

/* flag of struct kgni_ioc_window_open */
#define KGNI_WINDOW_QUEUE	0x1	/* only the queue behind the region is wanted */

/* rights of struct kgni_ioc_window_open */
#define KGNI_WINDOW_WRITE	0x1	/* the region may be written */
#define KGNI_WINDOW_EVENTS	0x2	/* a queue is behind the region */
#define KGNI_WINDOW_SINK	0x4	/* a queue whose events vanish */

#define KGNI_WINDOWS_MAX	8128

/**
 * struct kgni_ioc_window_open - KGNI_IOC_WINDOW_OPEN: a peer's region, to be mapped
 * @remote_pe: PE address of the peer
 * @flags: KGNI_WINDOW_QUEUE
 * @remote: handle of the region
 * @addr: in: an address in the region; out: the first one of the window, which
 *	begins with a page of the region and has @addr in it
 * @length: out: bytes of the window, whole pages; 0 with KGNI_WINDOW_QUEUE
 * @data_offset: out: offset to map these at, all of them, shared
 * @ring_offset: out: offset to map the queue's ring at
 * @ring_length: out: bytes of the ring, control page included; 0 if there is none
 * @index: out: its name in the calls of this file, and in the state page
 * @rights: out: KGNI_WINDOW_WRITE and so on
 * @slots: out: slots of the ring
 * @delay: out: how many events may wait there before a sleeper is woken
 */
struct kgni_ioc_window_open {
	__u32 remote_pe;
	__u32 flags;
	struct kgni_mem_handle remote;
	__u64 addr;
	__u64 length;
	__u64 data_offset;
	__u64 ring_offset;
	__u64 ring_length;
	__u32 index;
	__u32 rights;
	__u32 slots;
	__u32 delay;
};

/* KGNI_IOC_WINDOW_CLOSE: what is mapped stays until it is unmapped */
struct kgni_ioc_window_close {
	__u32 index;
	__u32 reserved;
};

/**
 * struct kgni_ioc_window_wake - KGNI_IOC_WINDOW_WAKE: a transaction was carried out
 * @index: through which window
 * @status: 0 for an event that was put into its ring, and may have to wake somebody;
 *	KGNI_ST_REM_OVERRUN for one that found no room there, KGNI_ST_ABORTED for a
 *	transaction that met the end of the window
 * @type: gni_post_type_t of one that failed, as what follows
 * @reserved: zero
 * @remote_addr: address at the target
 * @length: bytes
 */
struct kgni_ioc_window_wake {
	__u32 index;
	__u32 status;
	__u32 type;
	__u32 reserved;
	__u64 remote_addr;
	__u64 length;
};

/* From this offset on mappings are windows, not rings of the file's own queues. */
#define KGNI_MMAP_WINDOWS	(1ULL << 62)
/* Offsets to map the state and the statistics of a file at, and what is mapped there. */
#define KGNI_MMAP_STATE		(1ULL << 62 | 2ULL << 58)
#define KGNI_MMAP_STATE_SIZE	8192
#define KGNI_MMAP_STATS		(1ULL << 62 | 3ULL << 58)
#define KGNI_MMAP_PAGE		4096

/* flag of struct kgni_window_state */
#define KGNI_DRIVER_ONLY	0x1	/* posts are to go by the driver: it is looked at */

/**
 * struct kgni_window_state - what the driver says of a file's windows; read only
 * @flags: KGNI_DRIVER_ONLY
 * @live: 1 for each window, by its index, that leads to its region. Who finds 0
 *	after an access does not know where that went.
 */
struct kgni_window_state {
	__u32 flags;
	__u8 pad[60];
	__u8 live[KGNI_WINDOWS_MAX];
};

#define KGNI_IOC_MAGIC		0xd6
#define KGNI_IOC_INFO		_IOR(KGNI_IOC_MAGIC, 0x00, struct kgni_ioc_info)
#define KGNI_IOC_ATTACH		_IOWR(KGNI_IOC_MAGIC, 0x01, struct kgni_ioc_attach)
#define KGNI_IOC_GET_PTAG	_IOWR(KGNI_IOC_MAGIC, 0x02, struct kgni_ioc_ptag)
#define KGNI_IOC_RES_INFO	_IOWR(KGNI_IOC_MAGIC, 0x03, struct kgni_ioc_res)
#define KGNI_IOC_CQ_CREATE	_IOWR(KGNI_IOC_MAGIC, 0x10, struct kgni_ioc_cq_create)
#define KGNI_IOC_CQ_DESTROY	_IOW(KGNI_IOC_MAGIC, 0x11, struct kgni_ioc_cq_destroy)
#define KGNI_IOC_CQ_WAIT	_IOWR(KGNI_IOC_MAGIC, 0x12, struct kgni_ioc_cq_wait)
#define KGNI_IOC_CQ_WAKE	_IOW(KGNI_IOC_MAGIC, 0x13, struct kgni_ioc_cq_wake)
#define KGNI_IOC_CQ_NOTIFY	_IOW(KGNI_IOC_MAGIC, 0x14, struct kgni_ioc_cq_notify)
#define KGNI_IOC_CQ_OWED	_IOW(KGNI_IOC_MAGIC, 0x15, struct kgni_ioc_cq_owed)
#define KGNI_IOC_MEM_REGISTER	_IOWR(KGNI_IOC_MAGIC, 0x20, struct kgni_ioc_mem_register)
#define KGNI_IOC_MEM_DEREGISTER	_IOW(KGNI_IOC_MAGIC, 0x21, struct kgni_ioc_mem_deregister)
#define KGNI_IOC_MDD_BLOCK	_IOW(KGNI_IOC_MAGIC, 0x22, struct kgni_ioc_mdd_block)
#define KGNI_IOC_MEM_NEXT	_IOWR(KGNI_IOC_MAGIC, 0x23, struct kgni_ioc_mem_next)
#define KGNI_IOC_POST		_IOW(KGNI_IOC_MAGIC, 0x30, struct kgni_ioc_post)
#define KGNI_IOC_POST_CHAIN	_IOW(KGNI_IOC_MAGIC, 0x31, struct kgni_ioc_post_chain)
#define KGNI_IOC_WINDOW_OPEN	_IOWR(KGNI_IOC_MAGIC, 0x32, struct kgni_ioc_window_open)
#define KGNI_IOC_WINDOW_CLOSE	_IOW(KGNI_IOC_MAGIC, 0x33, struct kgni_ioc_window_close)
#define KGNI_IOC_WINDOW_WAKE	_IOW(KGNI_IOC_MAGIC, 0x34, struct kgni_ioc_window_wake)
#define KGNI_IOC_DGRAM_POST	_IOW(KGNI_IOC_MAGIC, 0x40, struct kgni_ioc_dgram_post)
#define KGNI_IOC_DGRAM_TEST	_IOWR(KGNI_IOC_MAGIC, 0x41, struct kgni_ioc_dgram_test)
#define KGNI_IOC_DGRAM_PROBE	_IOWR(KGNI_IOC_MAGIC, 0x42, struct kgni_ioc_dgram_probe)
#define KGNI_IOC_DGRAM_CANCEL	_IOW(KGNI_IOC_MAGIC, 0x43, struct kgni_ioc_dgram_cancel)
#define KGNI_IOC_ERR_SUBSCRIBE	_IOWR(KGNI_IOC_MAGIC, 0x50, struct kgni_ioc_err_subscribe)
#define KGNI_IOC_ERR_RELEASE	_IOW(KGNI_IOC_MAGIC, 0x51, struct kgni_ioc_err_release)
#define KGNI_IOC_ERR_WAIT	_IOW(KGNI_IOC_MAGIC, 0x52, struct kgni_ioc_err_wait)
#define KGNI_IOC_ERR_SET	_IOWR(KGNI_IOC_MAGIC, 0x53, struct kgni_ioc_err_set)
#define KGNI_IOC_JOB_CONFIGURE	_IOWR(KGNI_IOC_MAGIC, 0x60, struct kgni_ioc_job)
#define KGNI_IOC_NTT_CONFIGURE	_IOWR(KGNI_IOC_MAGIC, 0x61, struct kgni_ioc_ntt)
#define KGNI_IOC_JOB_SUSPEND	_IOW(KGNI_IOC_MAGIC, 0x62, struct kgni_ioc_suspend)
#define KGNI_IOC_CE_CREATE	_IOWR(KGNI_IOC_MAGIC, 0x70, struct kgni_ioc_ce_create)
#define KGNI_IOC_CE_DESTROY	_IOW(KGNI_IOC_MAGIC, 0x71, struct kgni_ioc_ce_destroy)
#define KGNI_IOC_CE_CONFIGURE	_IOW(KGNI_IOC_MAGIC, 0x72, struct kgni_ioc_ce_configure)
#define KGNI_IOC_CE_POST	_IOW(KGNI_IOC_MAGIC, 0x73, struct kgni_ioc_ce_post)
#define KGNI_IOC_BI_SET		_IOW(KGNI_IOC_MAGIC, 0x63, struct kgni_ioc_bi_set)
#define KGNI_IOC_BI_GET		_IOR(KGNI_IOC_MAGIC, 0x64, struct kgni_ioc_bi_get)
#define KGNI_IOC_BI_WAIT	_IOW(KGNI_IOC_MAGIC, 0x65, struct kgni_ioc_bi_wait)

#endif /* _UAPI_GNI_KGNI_H */
