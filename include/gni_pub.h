/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * The Generic Network Interface (GNI), version 0x5c, for user programs and for
 * kernel clients.
 *
 * "Interface: 000, lines A-B" in a comment points to the text of the interface
 * that the comment describes, by the line numbers printed in it. Where client
 * programs rely on something else, the comment says what they rely on.
 */
#ifndef _GNI_PUB_H_
#define _GNI_PUB_H_

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Conventions
 *
 * An object is known by its handle, an opaque pointer. Functions check what
 * they can tell about a handle: NULL, and a handle of another kind, are
 * GNI_RC_INVALID_PARAM. Using a handle after the call that destroyed it is an
 * error that need not be noticed.
 *
 * "out" in a parameter's description marks memory that the function writes;
 * it must not be NULL unless the description allows it. Sizes and lengths are
 * bytes and timeouts milliseconds, where nothing else is said; a timeout of
 * all ones, (-1), never ends.
 *
 * Contexts of user functions: "any thread" means that several threads may make
 * the call at once, on the same objects too; the library locks inside. Only
 * destroying an object while another thread uses it is the caller's business.
 * A call that waits holds no lock while it does, so other threads can go on
 * using the same NIC and the same queue. A call that says "no system call"
 * works on memory only.
 *
 * Contexts of kernel functions: "process context" may sleep, and allocates
 * without starting I/O; "any context" does not sleep: process or softirq, with
 * interrupts on, and a spinlock may be held.
 *
 * A handle that the process inherited by fork() is not usable in the child.
 */

/**
 * DOC: Version numbers
 *
 * A version is 32 bits: major revision (8 bits), minor revision (8 bits), code
 * revision (16 bits). GNI_GET_MAJOR(), GNI_GET_MINOR() and GNI_GET_REV() take
 * one apart, GNI_VERSION_CHECK() puts one together, and GNI_VERSION is the
 * version of this header. GNI_VERSION_FMA_SHARING and
 * GNI_VERSION_FMA_CHAIN_TRANSACTIONS are the first versions that have
 * GNI_CDM_MODE_FMA_SHARED and GNI_CtPostFma().
 *
 * Interface: 000, lines 38-55. FMA_CHAIN_TRANSACTIONS is newer than 0x5c.
 */
#define GNI_MAJOR_REV			0x00
#define GNI_MINOR_REV			0x5c
#define GNI_CODE_REV			0x0000

#define GNI_GET_MAJOR(value)		(((value) >> 24) & 0xFF)
#define GNI_GET_MINOR(value)		(((value) >> 16) & 0xFF)
#define GNI_GET_REV(value)		((value) & 0xFFFF)
#define GNI_VERSION								\
	((GNI_MAJOR_REV << 24) | (GNI_MINOR_REV << 16) | GNI_CODE_REV)
#define GNI_VERSION_CHECK(maj, min, code) (((maj) << 24) | ((min) << 16) | (code))

#define GNI_VERSION_FMA_SHARING		0x5b0000
#define GNI_VERSION_FMA_CHAIN_TRANSACTIONS 0x5c0000

/*
 * Direction markers of parameters. Programs that were written for GNI use them
 * in their own prototypes; the ones below do without, so it does not matter
 * what another header made of these names.
 */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

/**
 * DOC: Protection tags, protection keys and cookies
 *
 * A job is known by a protection tag (ptag, 8 bits) and a cookie (32 bits).
 * Tags below GNI_PTAG_USER_START are for kernel clients, those up to
 * GNI_PTAG_USER_END for programs. GNI_FIND_ALLOC_PTAG in place of a tag lets
 * the driver find the tag that goes with the cookie, or choose one; it is what
 * programs on Aries use.
 *
 * A protection key (pkey, 16 bits) names a job on Aries.
 * GNI_JOB_CREATE_COOKIE() makes a cookie of one: the key in bits 16 to 31, and
 * @cbps_mdd, which ought to be 0, in bits 3 to 5.
 *
 * Interface: 000, lines 62-107.
 */
enum {
	GNI_PTAG_LND = 1,
	GNI_PTAG_OFED = 2,
	GNI_PTAG_USER_START = 3,
	GNI_PTAG_LND_KNC = 128,
	GNI_PTAG_USER_END = 253,
	GNI_PTAG_HSNBOOT = 254,
	GNI_PTAG_MAX = 254,
	GNI_PTAG_LB = 255
};

#define GNI_FIND_ALLOC_PTAG		GNI_PTAG_LB

enum {
	GNI_PKEY_INVALID = 0,
	GNI_PKEY_LND = 1,
	GNI_PKEY_OFED = 2,
	GNI_PKEY_USER_START = 128,
	GNI_PKEY_USER_END = 65407,
	GNI_PKEY_HSNBOOT = 65408,
	GNI_PKEY_MAX = 65534,
	GNI_PKEY_LB = 65535
};

#define GNI_COOKIE_PKEY_MASK		0xFFFF
#define GNI_COOKIE_PKEY_SHIFT		16
#define GNI_COOKIE_CBPS_MDD_MASK	0x7
#define GNI_COOKIE_CBPS_MDD_SHIFT	3
#define GNI_JOB_CREATE_COOKIE(pkey, cbps_mdd)					\
	(((uint32_t)(pkey) << GNI_COOKIE_PKEY_SHIFT) |				\
	 (((cbps_mdd) & GNI_COOKIE_CBPS_MDD_MASK) << GNI_COOKIE_CBPS_MDD_SHIFT))

/**
 * struct gni_mem_handle - names a registered memory region to every peer
 * @qword1: address and index of the registration
 * @qword2: size, attributes and checksum of the registration
 *
 * Peers send handles to each other as plain bytes. A handle is a name and not
 * a permission: bounds and rights are those that the registration was made
 * with, whatever a handle that arrives from a peer says.
 *
 * Interface: 000, lines 109-113.
 */
typedef struct gni_mem_handle {
	uint64_t qword1;
	uint64_t qword2;
} gni_mem_handle_t;

/**
 * enum gni_mem_handle_attr - what GNI_MemHndlQueryAttr() can tell of a handle
 * @GNI_MEMHNDL_ATTR_READONLY: peers can read the region but not write it
 * @GNI_MEMHNDL_ATTR_VMDH: the handle has a virtual index (GNI_MEM_USE_VMDH)
 * @GNI_MEMHNDL_ATTR_MRT: the memory is mapped by the NIC's table of big pages
 * @GNI_MEMHNDL_ATTR_GART: the memory is mapped by the GART
 * @GNI_MEMHNDL_ATTR_IOMMU: the memory is mapped by the NIC's IOMMU
 * @GNI_MEMHNDL_ATTR_PCI_IOMMU: the memory is mapped by the IOMMU of the host
 * @GNI_MEMHNDL_ATTR_CLONE: the handle is a clone (GNI_MEM_MDD_CLONE)
 *
 * Interface: 000, lines 115-123.
 */
typedef enum gni_mem_handle_attr {
	GNI_MEMHNDL_ATTR_READONLY = 1,
	GNI_MEMHNDL_ATTR_VMDH,
	GNI_MEMHNDL_ATTR_MRT,
	GNI_MEMHNDL_ATTR_GART,
	GNI_MEMHNDL_ATTR_IOMMU,
	GNI_MEMHNDL_ATTR_PCI_IOMMU,
	GNI_MEMHNDL_ATTR_CLONE
} gni_mem_handle_attr_t;

/*
 * Handles: an attached NIC, a communication domain, an endpoint, a completion
 * queue, an error queue, a message queue, a collective engine channel.
 * Interface: 000, lines 126-132.
 */
typedef struct gni_nic *gni_nic_handle_t;
typedef struct gni_cdm *gni_cdm_handle_t;
typedef struct gni_ep *gni_ep_handle_t;
typedef struct gni_cq *gni_cq_handle_t;
typedef struct gni_err *gni_err_handle_t;
typedef struct gni_msgq *gni_msgq_handle_t;
typedef struct gni_ce *gni_ce_handle_t;

/**
 * enum gni_smsg_type - kinds of short message mailboxes
 * @GNI_SMSG_TYPE_INVALID: no mailbox
 * @GNI_SMSG_TYPE_MBOX: a lost message is an error that the sender is told of
 * @GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT: a lost message is sent again, up to the
 *	limit set by GNI_SmsgSetMaxRetrans(); the send event carries msg_id
 *
 * Interface: 000, lines 134-139.
 */
typedef enum gni_smsg_type {
	GNI_SMSG_TYPE_INVALID = 0,
	GNI_SMSG_TYPE_MBOX,
	GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT
} gni_smsg_type_t;

/* A tag that matches every tag in GNI_SmsgGetNextWTag(). */
#define GNI_SMSG_ANY_TAG		0xFF

/**
 * struct gni_smsg_attr - one side of a short message connection
 * @msg_type: kind of mailbox
 * @msg_buffer: start of the registered region that holds the mailbox
 * @buff_size: bytes of the mailbox, at least GNI_SmsgBufferSizeNeeded()
 * @mem_hndl: handle of the region
 * @mbox_offset: byte offset of the mailbox in the region
 * @mbox_maxcredit: messages that can be on their way at once, 1 or more
 * @msg_maxsize: bytes of the largest message, header and data together, 1 to
 *	GNI_SMSG_MAX_SIZE
 *
 * @msg_type, @mbox_maxcredit and @msg_maxsize are the same on both sides.
 * The mailbox must be filled with zero before either side uses it.
 *
 * Interface: 000, lines 143-152.
 */
typedef struct gni_smsg_attr {
	gni_smsg_type_t msg_type;
	void *msg_buffer;
	uint32_t buff_size;
	gni_mem_handle_t mem_hndl;
	uint32_t mbox_offset;
	uint16_t mbox_maxcredit;
	uint32_t msg_maxsize;
} gni_smsg_attr_t;

/* How often a short message is sent again before GNI gives up. */
#define FMA_SMSG_MAX_RETRANS_DEFAULT	10

/**
 * enum gni_return - what GNI functions return
 * @GNI_RC_SUCCESS: done
 * @GNI_RC_NOT_DONE: not now; nothing was changed, the call may be repeated
 * @GNI_RC_INVALID_PARAM: an argument is wrong
 * @GNI_RC_ERROR_RESOURCE: a limited resource has run out, or a queue overran
 * @GNI_RC_TIMEOUT: time ran out
 * @GNI_RC_PERMISSION_ERROR: the caller or the memory lacks the right
 * @GNI_RC_DESCRIPTOR_ERROR: an event belongs to no post descriptor
 * @GNI_RC_ALIGNMENT_ERROR: an address or length is not aligned as it must be
 * @GNI_RC_INVALID_STATE: the object's state does not allow this
 * @GNI_RC_NO_MATCH: there is no such thing
 * @GNI_RC_SIZE_ERROR: something is too big, or a buffer too small
 * @GNI_RC_TRANSACTION_ERROR: a transaction failed on its way or at its target
 * @GNI_RC_ILLEGAL_OP: the device does not do this
 * @GNI_RC_ERROR_NOMEM: no memory
 *
 * gni_err_str[] has their names.
 *
 * Interface: 000, lines 159-174.
 */
typedef enum gni_return {
	GNI_RC_SUCCESS = 0,
	GNI_RC_NOT_DONE,
	GNI_RC_INVALID_PARAM,
	GNI_RC_ERROR_RESOURCE,
	GNI_RC_TIMEOUT,
	GNI_RC_PERMISSION_ERROR,
	GNI_RC_DESCRIPTOR_ERROR,
	GNI_RC_ALIGNMENT_ERROR,
	GNI_RC_INVALID_STATE,
	GNI_RC_NO_MATCH,
	GNI_RC_SIZE_ERROR,
	GNI_RC_TRANSACTION_ERROR,
	GNI_RC_ILLEGAL_OP,
	GNI_RC_ERROR_NOMEM
} gni_return_t;

/**
 * DOC: Communication domain modes
 *
 * Bits of the modes argument of GNI_CdmCreate(); any combination is accepted.
 * "Hint" is a bit without effect here. Documentation/libugni.rst has a table,
 * with what holds where bits contradict each other.
 *
 * FORK_NOCOPY, FORK_FULLCOPY, FORK_PARTCOPY (the default): what a child
 * process gets of registered memory. Hint: always copies of all of it.
 *
 * ERR_NO_KILL: no error ends the process. ERR_ALL_KILL: every transaction that
 * fails ends it. With neither, errors that a program cannot recover from do:
 * those of the category CRITICAL.
 *
 * FAST_DATAGRAM_POLL: datagram tests and probes look at memory only and may
 * miss the states between posted and complete. Hint.
 *
 * BTE_SINGLE_CHANNEL: all RDMA posts of the domain use one channel, so they
 * are carried out one after the other.
 *
 * USE_PCI_IOMMU: registrations must go through the host's IOMMU. Hint.
 *
 * MDD_DEDICATED, MDD_SHARED: whether registrations take a descriptor each, or
 * one from the pool that the protection domain shares. GNI_MEM_MDD_DEDICATED
 * and GNI_MEM_MDD_SHARED choose it for one registration.
 *
 * DUAL_EVENTS: a post may ask for a local and for a global event; a queue then
 * has room for half as many posts. Without it such a post is
 * GNI_RC_INVALID_PARAM.
 *
 * DLA_ENABLE_FORWARDING, DLA_DISABLE_FORWARDING: use of the deadlock avoidance
 * buffers with shared FMA. Hint.
 *
 * FMA_DEDICATED (the default), FMA_SHARED: whether the domain takes an FMA
 * descriptor of its own, and fails to attach where there is none left, or
 * shares one with the other domains of its job. The variable UGNI_FMA_SHARED of
 * the environment, 0 or 1, decides instead where it is set.
 *
 * CACHED_AMO_ENABLED: the domain is going to post AMO commands whose name ends
 * in C. Nothing depends on it: without it these do the same.
 *
 * CQ_NIC_LOCAL_PLACEMENT: completion queues lie in memory near the NIC. Hint.
 *
 * FLBTE_DISABLE: RDMA posts do not take the short way through FMA launch. Hint.
 *
 * FMA_SMALL_WINDOW: map only a part of the FMA window, to save address space.
 * Hint.
 *
 * PRIV_RESERVED_1 to PRIV_RESERVED_4 belong to libraries on top of GNI.
 *
 * Interface: 000, lines 176-263.
 */
#define GNI_CDM_MODE_FORK_NOCOPY		0x00000001
#define GNI_CDM_MODE_FORK_FULLCOPY		0x00000002
#define GNI_CDM_MODE_FORK_PARTCOPY		0x00000004
#define GNI_CDM_MODE_ERR_NO_KILL		0x00000008
#define GNI_CDM_MODE_ERR_ALL_KILL		0x00000010
#define GNI_CDM_MODE_FAST_DATAGRAM_POLL		0x00000020
#define GNI_CDM_MODE_BTE_SINGLE_CHANNEL		0x00000040
#define GNI_CDM_MODE_USE_PCI_IOMMU		0x00000080
#define GNI_CDM_MODE_MDD_DEDICATED		0x00000100
#define GNI_CDM_MODE_MDD_SHARED			0x00000200
#define GNI_CDM_MODE_DUAL_EVENTS		0x00001000
#define GNI_CDM_MODE_DLA_ENABLE_FORWARDING	0x00004000
#define GNI_CDM_MODE_DLA_DISABLE_FORWARDING	0x00008000
#define GNI_CDM_MODE_FMA_DEDICATED		0x00010000
#define GNI_CDM_MODE_FMA_SHARED			0x00020000
#define GNI_CDM_MODE_CACHED_AMO_ENABLED		0x00040000
#define GNI_CDM_MODE_CQ_NIC_LOCAL_PLACEMENT	0x00080000
#define GNI_CDM_MODE_FLBTE_DISABLE		0x00100000
#define GNI_CDM_MODE_FMA_SMALL_WINDOW		0x00200000
#define GNI_CDM_MODE_MASK			0x0FFFFFFF
#define GNI_CDM_MODE_PRIV_RESERVED_1		0x10000000
#define GNI_CDM_MODE_PRIV_RESERVED_2		0x20000000
#define GNI_CDM_MODE_PRIV_RESERVED_3		0x40000000
#define GNI_CDM_MODE_PRIV_RESERVED_4		0x80000000
#define GNI_CDM_MODE_PRIV_MASK			0xF0000000

/**
 * enum gni_post_state - where a posted datagram stands
 * @GNI_POST_PENDING: no peer has answered yet
 * @GNI_POST_COMPLETED: both sides have each other's data; final
 * @GNI_POST_ERROR: the exchange failed; final
 * @GNI_POST_TIMEOUT: the peer did not answer in time; final
 * @GNI_POST_TERMINATED: it was cancelled; final
 * @GNI_POST_REMOTE_DATA: the peer's data is here, the peer does not have ours
 *	yet
 *
 * A test or wait that reports a final state takes the datagram away.
 *
 * Interface: 000, lines 265-273.
 */
typedef enum gni_post_state {
	GNI_POST_PENDING = 0,
	GNI_POST_COMPLETED,
	GNI_POST_ERROR,
	GNI_POST_TIMEOUT,
	GNI_POST_TERMINATED,
	GNI_POST_REMOTE_DATA
} gni_post_state_t;

/**
 * DOC: Attributes of a memory registration
 *
 * READWRITE and READ_ONLY: what peers may do. The memory behind a READ_ONLY
 * region need not be writable; every put and AMO into it fails.
 *
 * USE_VMDH (user only): the registration takes the index that the caller names
 * out of the block that GNI_SetMddResources() set aside.
 *
 * USE_GART: map through the GART. PHYS_CONT: the memory is contiguous, so no
 * mapping table is needed. PHYS_SEGMENTS (gni_mem_register_segments() only):
 * segments are single pages of 4 KiB, named by their physical addresses.
 *
 * STRICT_PI_ORDERING: data reaches memory in the order it arrived.
 * PI_FLUSH: data is flushed to memory before the peer is answered.
 * RELAXED_PI_ORDERING: data may reach memory in any order; without effect
 * beside STRICT_PI_ORDERING.
 *
 * MDD_CLONE: make another handle of the registration that the handle passed in
 * names, for all of its range or a part. It may have another queue, and be
 * READ_ONLY; the memory stays until both are deregistered.
 *
 * RESERVE_REGION: set the index and range aside and nothing more. Transactions
 * into it fail. UPDATE_REGION: make (a part of) such a range live; it is named by
 * its index, or else by the handle passed in. Later calls add pages. A page that
 * is live must still be the same.
 *
 * MDD_SHARED, MDD_DEDICATED: as the domain modes, for one registration.
 *
 * CUDA: device memory of a GPU. GNI_EXMEM_FLAGS() and GNI_MEM_IS_EXTERNAL()
 * give the bits that stand for memory of other devices.
 *
 * Interface: 000, lines 275-327.
 */
#define GNI_MEM_READWRITE		0x00000000
#define GNI_MEM_READ_ONLY		0x00000001
#define GNI_MEM_USE_VMDH		0x00000002
#define GNI_MEM_USE_GART		0x00000004
#define GNI_MEM_PHYS_CONT		0x00000008
#define GNI_MEM_PHYS_SEGMENTS		0x00000010
#define GNI_MEM_STRICT_PI_ORDERING	0x00000020
#define GNI_MEM_PI_FLUSH		0x00000040
#define GNI_MEM_MDD_CLONE		0x00000080
#define GNI_MEM_RELAXED_PI_ORDERING	0x00000100
#define GNI_MEM_RESERVE_REGION		0x00000200
#define GNI_MEM_UPDATE_REGION		0x00000400
#define GNI_MEM_MDD_SHARED		0x00000800
#define GNI_MEM_MDD_DEDICATED		0x00001000
#define GNI_MEM_CUDA			0x01000000

#define GNI_EXMEM_FLAGS(flag)		((flag) >> 24)
#define GNI_MEM_IS_EXTERNAL(flag)	(GNI_EXMEM_FLAGS(flag))

/**
 * struct gni_mem_segment - one piece of a region made of several
 * @address: where it starts
 * @length: bytes
 *
 * Interface: 000, lines 329-332.
 */
typedef struct gni_mem_segment {
	uint64_t address;
	uint64_t length;
} gni_mem_segment_t;

/**
 * DOC: Completion queue modes
 *
 * Bits of the mode argument of GNI_CqCreate(). BLOCKING: the waiting calls
 * work on this queue; it can be polled as well. EMULATED is for the library's
 * own use. PHYS_PAGES asks for physically addressed memory and changes nothing
 * that a program can see. UNMANAGED: nobody reads this queue; events put into
 * it vanish, and its overrun troubles no sender.
 *
 * GNI_CQ_IS_BLOCKING() and its kin test a mode.
 *
 * Interface: 000, lines 334-357.
 */
typedef uint32_t gni_cq_mode_t;

#define GNI_CQ_NOBLOCK			0x00000000
#define GNI_CQ_BLOCKING			0x00000001
#define GNI_CQ_EMULATED			0x00000002
#define GNI_CQ_EMULATED_INVALID		(GNI_CQ_EMULATED | GNI_CQ_BLOCKING)
#define GNI_CQ_PHYS_PAGES		0x00000004
#define GNI_CQ_UNMANAGED		0x00000008

#define GNI_CQ_IS_NON_BLOCKING(modes)	(((modes) & GNI_CQ_BLOCKING) == GNI_CQ_NOBLOCK)
#define GNI_CQ_IS_BLOCKING(modes)	(((modes) & GNI_CQ_BLOCKING) == GNI_CQ_BLOCKING)
#define GNI_CQ_IS_EMULATED(modes)	(((modes) & GNI_CQ_EMULATED) == GNI_CQ_EMULATED)
#define GNI_CQ_IS_NOT_EMULATED(modes)	(((modes) & GNI_CQ_EMULATED) == 0)
#define GNI_CQ_IS_INVALID_EMULATED(modes)					\
	(((modes) & GNI_CQ_EMULATED_INVALID) == GNI_CQ_EMULATED_INVALID)
#define GNI_CQ_USE_PHYS_PAGES(modes)	(((modes) & GNI_CQ_PHYS_PAGES) == GNI_CQ_PHYS_PAGES)

/**
 * DOC: Completion queue entries
 *
 * An event is 64 bits that the functions below take apart. A *source* event
 * tells the NIC that started a transaction of its end: of type POST for post
 * descriptors, SMSG for short messages, MSGQ for the shared message queue. A
 * *target* event tells the owner of a region with a queue that a peer reached
 * it; its 48 bits of data are the peer's remote event value, or the value of a
 * CQ write. DMAPP is for the library of that name.
 *
 * The accessors are real functions of the library and of the driver; code that
 * defines GNI_INLINE_CQ_FUNCTIONS brings its own.
 *
 * Interface: 000, lines 359-444.
 */
typedef uint64_t gni_cq_entry_t;

#define GNI_CQ_EVENT_TYPE_POST		0x0ULL
#define GNI_CQ_EVENT_TYPE_SMSG		0x1ULL
#define GNI_CQ_EVENT_TYPE_DMAPP		0x2ULL
#define GNI_CQ_EVENT_TYPE_MSGQ		0x3ULL

#ifndef GNI_INLINE_CQ_FUNCTIONS

/**
 * gni_cq_get_data() - data of a target event
 * @entry: the event
 *
 * Interface: 000, line 370.
 *
 * Context: any; no system call.
 * Return: the low 48 bits: the whole remote event value or CQ write value.
 */
uint64_t gni_cq_get_data(gni_cq_entry_t entry);

/**
 * gni_cq_get_source() - which part of a NIC made an event
 * @entry: the event
 *
 * Interface: 000, line 371.
 *
 * Context: any; no system call.
 * Return: bits 56 to 58 of the event.
 */
uint64_t gni_cq_get_source(gni_cq_entry_t entry);

/**
 * gni_cq_get_status() - how the transaction of an event ended
 * @entry: the event
 *
 * GNI_CqErrorStr() puts it into words.
 *
 * Interface: 000, line 372.
 *
 * Context: any; no system call.
 * Return: 0 if it went well.
 */
uint64_t gni_cq_get_status(gni_cq_entry_t entry);

/**
 * gni_cq_get_info() - further information about an error
 * @entry: the event
 *
 * Interface: 000, line 373.
 *
 * Context: any; no system call.
 * Return: bits whose meaning is the device's own; 0 if there are none.
 */
uint64_t gni_cq_get_info(gni_cq_entry_t entry);

/**
 * gni_cq_overrun() - did this queue lose events
 * @entry: the event, as given out with GNI_RC_ERROR_RESOURCE
 *
 * Interface: 000, line 374.
 *
 * Context: any; no system call.
 * Return: not 0 if bit 63 of the event is set.
 */
uint64_t gni_cq_overrun(gni_cq_entry_t entry);

/**
 * gni_cq_rem_overrun() - did the target's queue lose the event of this post
 * @entry: a source event
 *
 * Interface: 000, line 375.
 *
 * Context: any; no system call.
 * Return: not 0 if it did; the data has arrived all the same.
 */
uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry);

/**
 * gni_cq_get_inst_id() - short event value
 * @entry: the event
 *
 * The low 24 bits (32 on Gemini) of: the endpoint's local event value for a
 * source event of a post, of whichever cq_mode; the remote event value for a
 * target event; the value of a CQ write. For the send event of a short
 * message it is the low 24 bits of msg_id in user space, and the endpoint's
 * local event value in the kernel.
 *
 * Interface: 000, lines 376 and 402-408.
 *
 * Context: any; no system call.
 * Return: the value.
 */
uint64_t gni_cq_get_inst_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_rem_inst_id() - event value of a target event
 * @entry: the event
 *
 * Interface: 000, lines 377 and 409-413.
 *
 * Context: any; no system call.
 * Return: all 32 bits of the remote event value, or the low 32 bits of the
 * value of a CQ write.
 */
uint64_t gni_cq_get_rem_inst_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_tid() - transaction id of a source event
 * @entry: the event
 *
 * Interface: 000, line 378.
 *
 * Context: any; no system call.
 * Return: the number by which GNI_GetCompleted() finds the descriptor.
 */
uint64_t gni_cq_get_tid(gni_cq_entry_t entry);

/**
 * gni_cq_get_msg_id() - msg_id of the send event of a short message
 * @entry: the event
 *
 * The low 24 bits are also what gni_cq_get_inst_id() gives, for events of
 * posts as well.
 *
 * Interface: 000, line 379.
 *
 * Context: any; no system call.
 * Return: all 32 bits of msg_id.
 */
uint64_t gni_cq_get_msg_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_type() - kind of transaction
 * @entry: the event
 *
 * Interface: 000, line 380.
 *
 * Context: any; no system call.
 * Return: a GNI_CQ_EVENT_TYPE_*; of meaning for source events only.
 */
uint64_t gni_cq_get_type(gni_cq_entry_t entry);

/**
 * gni_cq_get_block_id() - deadlock avoidance block of an event
 * @entry: an event of the deadlock avoidance buffers
 *
 * Interface: 000, line 381.
 *
 * Context: any; no system call.
 * Return: its number; 0 for every event of a NIC without such buffers, as all are here.
 */
uint64_t gni_cq_get_block_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_unsuccessful_cnt() - transactions of a block that failed
 * @entry: an event of the deadlock avoidance buffers
 *
 * Interface: 000, line 382.
 *
 * Context: any; no system call.
 * Return: how many; 0 for every event of a NIC without such buffers, as all are here.
 */
uint64_t gni_cq_get_unsuccessful_cnt(gni_cq_entry_t entry);

/**
 * gni_cq_get_marker_id() - marker of an event
 * @entry: an event of the deadlock avoidance buffers
 *
 * Interface: 000, line 383.
 *
 * Context: any; no system call.
 * Return: its number; 0 for every event of a NIC without such buffers, as all are here.
 */
uint64_t gni_cq_get_marker_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_failed_enqueue_cnt() - transactions that found no room
 * @entry: an event of the deadlock avoidance buffers
 *
 * Interface: 000, line 384.
 *
 * Context: any; no system call.
 * Return: how many; 0 for every event of a NIC without such buffers, as all are here.
 */
uint64_t gni_cq_get_failed_enqueue_cnt(gni_cq_entry_t entry);

/**
 * gni_cq_get_ce_id() - channel of a collective engine event
 * @entry: an event of a queue given to GNI_CeConfigure()
 *
 * Interface: 000, line 385.
 *
 * Context: any; no system call.
 * Return: the number that GNI_CeGetId() gives.
 */
uint64_t gni_cq_get_ce_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_reductn_id() - reduction of a collective engine event
 * @entry: an event of a queue given to GNI_CeConfigure()
 *
 * Interface: 000, line 386.
 *
 * Context: any; no system call.
 * Return: low bits of ce_red_id of the posts that took part.
 */
uint64_t gni_cq_get_reductn_id(gni_cq_entry_t entry);

/**
 * gni_cq_get_trans_type() - kind of the peer's transaction
 * @entry: a target event
 *
 * Interface: 000, line 387.
 *
 * Context: any; no system call.
 * Return: a number that the device gave to the kind of transaction.
 */
uint64_t gni_cq_get_trans_type(gni_cq_entry_t entry);

/**
 * gni_cq_set_inst_id() - change what gni_cq_get_inst_id() gives
 * @entry: in and out, the event
 * @val: new value; bits above the 24 (on Gemini 32) of the field are dropped
 *
 * Interface: 000, lines 388 and 426-432.
 *
 * Context: any; no system call.
 */
void gni_cq_set_inst_id(gni_cq_entry_t *entry, uint64_t val);

/**
 * gni_cq_set_rem_inst_id() - change what gni_cq_get_rem_inst_id() gives
 * @entry: in and out, the event
 * @val: new value; its low 32 bits count
 *
 * Interface: 000, lines 389 and 433-437.
 *
 * Context: any; no system call.
 */
void gni_cq_set_rem_inst_id(gni_cq_entry_t *entry, uint64_t val);

/**
 * gni_cq_set_tid() - change what gni_cq_get_tid() gives
 * @entry: in and out, the event
 * @val: new value
 *
 * Interface: 000, line 390.
 *
 * Context: any; no system call.
 */
void gni_cq_set_tid(gni_cq_entry_t *entry, uint64_t val);

/**
 * gni_cq_set_msg_id() - change what gni_cq_get_msg_id() gives
 * @entry: in and out, the event
 * @val: new value; its low 32 bits count
 *
 * Interface: 000, line 391.
 *
 * Context: any; no system call.
 */
void gni_cq_set_msg_id(gni_cq_entry_t *entry, uint64_t val);

/**
 * gni_cq_set_type() - change what gni_cq_get_type() gives
 * @entry: in and out, the event
 * @val: a GNI_CQ_EVENT_TYPE_*
 *
 * Interface: 000, line 392.
 *
 * Context: any; no system call.
 */
void gni_cq_set_type(gni_cq_entry_t *entry, uint64_t val);

/**
 * gni_cq_clr_status() - make an event one of success
 * @entry: in and out, the event
 *
 * Interface: 000, line 393.
 *
 * Context: any; no system call.
 */
void gni_cq_clr_status(gni_cq_entry_t *entry);

/**
 * gni_cq_status_dla_overflow() - did the deadlock avoidance buffers overflow
 * @entry: a source event
 *
 * Interface: 000, line 394.
 *
 * Context: any; no system call.
 * Return: not 0 if the status says so.
 */
unsigned int gni_cq_status_dla_overflow(gni_cq_entry_t entry);

/**
 * gni_cq_bte_enq_status() - did an RDMA post fail to enter its channel
 * @entry: a source event
 *
 * Interface: 000, line 395.
 *
 * Context: any; no system call.
 * Return: not 0 if it did.
 */
unsigned int gni_cq_bte_enq_status(gni_cq_entry_t entry);

#endif /* GNI_INLINE_CQ_FUNCTIONS */

/*
 * The same under the names that programs use. The setters and CLR_STATUS take
 * the event itself, not its address. Interface: 000, lines 398-444.
 */
#define GNI_CQ_GET_DATA			gni_cq_get_data
#define GNI_CQ_GET_SOURCE		gni_cq_get_source
#define GNI_CQ_GET_STATUS		gni_cq_get_status
#define GNI_CQ_GET_INFO			gni_cq_get_info
#define GNI_CQ_GET_INST_ID		gni_cq_get_inst_id
#define GNI_CQ_GET_REM_INST_ID		gni_cq_get_rem_inst_id
#define GNI_CQ_GET_TID			gni_cq_get_tid
#define GNI_CQ_GET_MSG_ID		gni_cq_get_msg_id
#define GNI_CQ_GET_TYPE			gni_cq_get_type
#define GNI_CQ_OVERRUN			gni_cq_overrun
#define GNI_CQ_REM_OVERRUN		gni_cq_rem_overrun
#define GNI_CQ_GET_BLOCK_ID		gni_cq_get_block_id
#define GNI_CQ_GET_UNSUCCESSFUL_CNT	gni_cq_get_unsuccessful_cnt
#define GNI_CQ_GET_MARKER_ID		gni_cq_get_marker_id
#define GNI_CQ_GET_FAILED_ENQUEUE_CNT	gni_cq_get_failed_enqueue_cnt
#define GNI_CQ_GET_CE_ID		gni_cq_get_ce_id
#define GNI_CQ_GET_REDUCTN_ID		gni_cq_get_reductn_id
#define GNI_CQ_GET_TRANS_TYPE		gni_cq_get_trans_type
#define GNI_CQ_SET_INST_ID(entry, val)	gni_cq_set_inst_id(&(entry), val)
#define GNI_CQ_SET_REM_INST_ID(entry, val) gni_cq_set_rem_inst_id(&(entry), val)
#define GNI_CQ_SET_TID(entry, val)	gni_cq_set_tid(&(entry), val)
#define GNI_CQ_SET_MSG_ID(entry, val)	gni_cq_set_msg_id(&(entry), val)
#define GNI_CQ_SET_TYPE(entry, val)	gni_cq_set_type(&(entry), val)
#define GNI_CQ_CLR_STATUS(entry)	gni_cq_clr_status(&(entry))
#define GNI_CQ_STATUS_OK(entry)		(gni_cq_get_status(entry) == 0)
#define GNI_CQ_STATUS_DLA_OVERFLOW(entry) (gni_cq_status_dla_overflow(entry))
#define GNI_CQ_BTE_ENQ_STATUS(entry)	gni_cq_bte_enq_status(entry)

/**
 * enum gni_post_type - what a post descriptor asks for
 * @GNI_POST_RDMA_PUT: write to the peer, by the block transfer engine
 * @GNI_POST_RDMA_GET: read from the peer, by the block transfer engine
 * @GNI_POST_FMA_PUT: write to the peer, by FMA
 * @GNI_POST_FMA_PUT_W_SYNCFLAG: the same, then write an 8-byte flag
 * @GNI_POST_FMA_GET: read from the peer, by FMA
 * @GNI_POST_AMO: atomic operation on the peer's memory
 * @GNI_POST_CQWRITE: put an event into the peer's queue, with no data
 * @GNI_POST_CE: take part in a reduction of the collective engine
 * @GNI_POST_FMA_GET_W_FLAG: FMA get whose response ends with a flag
 * @GNI_POST_AMO_W_FLAG: fetching AMO whose response ends with a flag
 *
 * The flag of the last two has GNI_FMA_FLAGGED_RESPONSE_SIZE bytes.
 *
 * Interface: 000, lines 446-461.
 */
typedef enum gni_post_type {
	GNI_POST_RDMA_PUT = 1,
	GNI_POST_RDMA_GET,
	GNI_POST_FMA_PUT,
	GNI_POST_FMA_PUT_W_SYNCFLAG,
	GNI_POST_FMA_GET,
	GNI_POST_AMO,
	GNI_POST_CQWRITE,
	GNI_POST_CE,
	GNI_POST_FMA_GET_W_FLAG,
	GNI_POST_AMO_W_FLAG
} gni_post_type_t;

#define GNI_FMA_FLAGGED_RESPONSE_SIZE	4

/**
 * DOC: Atomic memory operations
 *
 * Every command works on the operand at the remote address and puts the result
 * there; op1 and op2 are first_operand and second_operand, "old" is what was
 * there before:
 *
 * ADD, IADD: old + op1. AND, OR, XOR: old with op1. SWAP: op1.
 * AX: (old AND op1) XOR op2. CSWAP: op2 if old equals op1, else old.
 * IMIN, IMAX: the smaller, the greater of old and op1, signed integers.
 * FPMIN, FPMAX, FPADD: the same and the sum, of floating point numbers of
 * IEEE 754, double precision or, for 32 bits, single; see below.
 *
 * A command whose operation begins with F (FADD, FAND, FIMIN, FFPADD, and
 * CSWAP of the first generation) also brings old to the local address; the
 * others need no local memory. Operands are 64-bit, or 32-bit where the name
 * ends in S or SC: then the low half of op1 and op2 counts. Names that end in
 * C or SC are the cached variants, with the same result, made for domains with
 * GNI_CDM_MODE_CACHED_AMO_ENABLED; other domains may post them as well. ATOMIC2
 * is the second generation, of Aries.
 *
 * In the value, 0x100 means not fetching, 0x200 32-bit, 0x040 second
 * generation, and 0x020 (first generation: 0x010) cached. A value that is not
 * listed is refused.
 *
 * A length of several operands repeats the operation on each.
 *
 * Floating point: the operand and what is in memory are the bits of numbers. A
 * sum is rounded once, to nearest and of two as near to the even one; one that
 * is too large becomes infinity. Subnormal numbers are not taken for 0. A sum
 * that is 0 is +0, unless both numbers are -0. The sum of a NaN and anything,
 * and that of opposite infinities, is the positive quiet NaN with 0 in the rest
 * of its fraction (0x7ff8000000000000, 0x7fc00000), whatever NaN it came from.
 * FPMIN and FPMAX prefer any number, infinities included, to a NaN, be it quiet
 * or signalling; two NaNs give that same NaN. -0 is less than +0. So the least
 * and the greatest of many do not depend on the order in which they come, and
 * of a sum only the rounding does. Exceptions are not reported.
 *
 * Interface: 000, lines 463-587.
 */
typedef enum gni_fma_cmd_type {
	/* fetching, first generation */
	GNI_FMA_ATOMIC_FADD = 0x008,
	GNI_FMA_ATOMIC_FADD_C = 0x018,
	GNI_FMA_ATOMIC_FAND = 0x009,
	GNI_FMA_ATOMIC_FAND_C = 0x019,
	GNI_FMA_ATOMIC_FOR = 0x00a,
	GNI_FMA_ATOMIC_FOR_C = 0x01a,
	GNI_FMA_ATOMIC_FXOR = 0x00b,
	GNI_FMA_ATOMIC_FXOR_C = 0x01b,
	GNI_FMA_ATOMIC_FAX = 0x00c,
	GNI_FMA_ATOMIC_FAX_C = 0x01c,
	GNI_FMA_ATOMIC_CSWAP = 0x00d,
	GNI_FMA_ATOMIC_CSWAP_C = 0x01d,
	/* fetching, second generation */
	GNI_FMA_ATOMIC2_FAND_S = 0x240,
	GNI_FMA_ATOMIC2_FAND = 0x041,
	GNI_FMA_ATOMIC2_FAND_SC = 0x260,
	GNI_FMA_ATOMIC2_FAND_C = 0x061,
	GNI_FMA_ATOMIC2_FOR_S = 0x242,
	GNI_FMA_ATOMIC2_FOR = 0x043,
	GNI_FMA_ATOMIC2_FOR_SC = 0x262,
	GNI_FMA_ATOMIC2_FOR_C = 0x063,
	GNI_FMA_ATOMIC2_FXOR_S = 0x244,
	GNI_FMA_ATOMIC2_FXOR = 0x045,
	GNI_FMA_ATOMIC2_FXOR_SC = 0x264,
	GNI_FMA_ATOMIC2_FXOR_C = 0x065,
	GNI_FMA_ATOMIC2_FSWAP_S = 0x246,
	GNI_FMA_ATOMIC2_FSWAP = 0x047,
	GNI_FMA_ATOMIC2_FSWAP_SC = 0x266,
	GNI_FMA_ATOMIC2_FSWAP_C = 0x067,
	GNI_FMA_ATOMIC2_FAX_S = 0x248,
	GNI_FMA_ATOMIC2_FAX = 0x049,
	GNI_FMA_ATOMIC2_FAX_SC = 0x268,
	GNI_FMA_ATOMIC2_FAX_C = 0x069,
	GNI_FMA_ATOMIC2_FCSWAP_S = 0x24a,
	GNI_FMA_ATOMIC2_FCSWAP = 0x04b,
	GNI_FMA_ATOMIC2_FCSWAP_SC = 0x26a,
	GNI_FMA_ATOMIC2_FCSWAP_C = 0x06b,
	GNI_FMA_ATOMIC2_FIMIN_S = 0x250,
	GNI_FMA_ATOMIC2_FIMIN = 0x051,
	GNI_FMA_ATOMIC2_FIMIN_SC = 0x270,
	GNI_FMA_ATOMIC2_FIMIN_C = 0x071,
	GNI_FMA_ATOMIC2_FIMAX_S = 0x252,
	GNI_FMA_ATOMIC2_FIMAX = 0x053,
	GNI_FMA_ATOMIC2_FIMAX_SC = 0x272,
	GNI_FMA_ATOMIC2_FIMAX_C = 0x073,
	GNI_FMA_ATOMIC2_FIADD_S = 0x254,
	GNI_FMA_ATOMIC2_FIADD = 0x055,
	GNI_FMA_ATOMIC2_FIADD_SC = 0x274,
	GNI_FMA_ATOMIC2_FIADD_C = 0x075,
	GNI_FMA_ATOMIC2_FFPMIN_S = 0x258,
	GNI_FMA_ATOMIC2_FFPMIN = 0x059,
	GNI_FMA_ATOMIC2_FFPMIN_SC = 0x278,
	GNI_FMA_ATOMIC2_FFPMIN_C = 0x079,
	GNI_FMA_ATOMIC2_FFPMAX_S = 0x25a,
	GNI_FMA_ATOMIC2_FFPMAX = 0x05b,
	GNI_FMA_ATOMIC2_FFPMAX_SC = 0x27a,
	GNI_FMA_ATOMIC2_FFPMAX_C = 0x07b,
	GNI_FMA_ATOMIC2_FFPADD_S = 0x25c,
	GNI_FMA_ATOMIC2_FFPADD = 0x05d,
	GNI_FMA_ATOMIC2_FFPADD_SC = 0x27c,
	GNI_FMA_ATOMIC2_FFPADD_C = 0x07d,
	/* not fetching, first generation */
	GNI_FMA_ATOMIC_ADD = 0x108,
	GNI_FMA_ATOMIC_ADD_C = 0x118,
	GNI_FMA_ATOMIC_AND = 0x109,
	GNI_FMA_ATOMIC_AND_C = 0x119,
	GNI_FMA_ATOMIC_OR = 0x10a,
	GNI_FMA_ATOMIC_OR_C = 0x11a,
	GNI_FMA_ATOMIC_XOR = 0x10b,
	GNI_FMA_ATOMIC_XOR_C = 0x11b,
	GNI_FMA_ATOMIC_AX = 0x10c,
	GNI_FMA_ATOMIC_AX_C = 0x11c,
	/* not fetching, second generation */
	GNI_FMA_ATOMIC2_AND_S = 0x340,
	GNI_FMA_ATOMIC2_AND = 0x141,
	GNI_FMA_ATOMIC2_AND_SC = 0x360,
	GNI_FMA_ATOMIC2_AND_C = 0x161,
	GNI_FMA_ATOMIC2_OR_S = 0x342,
	GNI_FMA_ATOMIC2_OR = 0x143,
	GNI_FMA_ATOMIC2_OR_SC = 0x362,
	GNI_FMA_ATOMIC2_OR_C = 0x163,
	GNI_FMA_ATOMIC2_XOR_S = 0x344,
	GNI_FMA_ATOMIC2_XOR = 0x145,
	GNI_FMA_ATOMIC2_XOR_SC = 0x364,
	GNI_FMA_ATOMIC2_XOR_C = 0x165,
	GNI_FMA_ATOMIC2_SWAP_S = 0x346,
	GNI_FMA_ATOMIC2_SWAP = 0x147,
	GNI_FMA_ATOMIC2_SWAP_SC = 0x366,
	GNI_FMA_ATOMIC2_SWAP_C = 0x167,
	GNI_FMA_ATOMIC2_AX_S = 0x348,
	GNI_FMA_ATOMIC2_AX = 0x149,
	GNI_FMA_ATOMIC2_AX_SC = 0x368,
	GNI_FMA_ATOMIC2_AX_C = 0x169,
	GNI_FMA_ATOMIC2_CSWAP_S = 0x34a,
	GNI_FMA_ATOMIC2_CSWAP = 0x14b,
	GNI_FMA_ATOMIC2_CSWAP_SC = 0x36a,
	GNI_FMA_ATOMIC2_CSWAP_C = 0x16b,
	GNI_FMA_ATOMIC2_IMIN_S = 0x350,
	GNI_FMA_ATOMIC2_IMIN = 0x151,
	GNI_FMA_ATOMIC2_IMIN_SC = 0x370,
	GNI_FMA_ATOMIC2_IMIN_C = 0x171,
	GNI_FMA_ATOMIC2_IMAX_S = 0x352,
	GNI_FMA_ATOMIC2_IMAX = 0x153,
	GNI_FMA_ATOMIC2_IMAX_SC = 0x372,
	GNI_FMA_ATOMIC2_IMAX_C = 0x173,
	GNI_FMA_ATOMIC2_IADD_S = 0x354,
	GNI_FMA_ATOMIC2_IADD = 0x155,
	GNI_FMA_ATOMIC2_IADD_SC = 0x374,
	GNI_FMA_ATOMIC2_IADD_C = 0x175,
	GNI_FMA_ATOMIC2_FPMIN_S = 0x358,
	GNI_FMA_ATOMIC2_FPMIN = 0x159,
	GNI_FMA_ATOMIC2_FPMIN_SC = 0x378,
	GNI_FMA_ATOMIC2_FPMIN_C = 0x179,
	GNI_FMA_ATOMIC2_FPMAX_S = 0x35a,
	GNI_FMA_ATOMIC2_FPMAX = 0x15b,
	GNI_FMA_ATOMIC2_FPMAX_SC = 0x37a,
	GNI_FMA_ATOMIC2_FPMAX_C = 0x17b,
	GNI_FMA_ATOMIC2_FPADD_S = 0x35c,
	GNI_FMA_ATOMIC2_FPADD = 0x15d,
	GNI_FMA_ATOMIC2_FPADD_SC = 0x37c,
	GNI_FMA_ATOMIC2_FPADD_C = 0x17d
} gni_fma_cmd_type_t;

/**
 * DOC: Commands of the collective engine
 *
 * AND, OR, XOR, IADD and FPADD reduce first_operand over all leaves and, with
 * GNI_CEMODE_TWO_OP, second_operand as well. IMIN, IMAX, FPMIN and FPMAX find
 * the least or greatest first_operand, and give the second_operand that came
 * with it; among equals LIDX takes the lowest of these, GIDX the greatest. A
 * name that ends in S takes and gives 32-bit values.
 *
 * Values are combined in the order of the children's numbers, at each channel as
 * it rounds, so the result is the same whoever comes first. Any number is preferred
 * to a NaN, and -0 is less than 0. All leaves of a tree give the same command and
 * the same ce_red_id, of at most 48 bits; those of an id that is used again
 * belong together in the order in which each leaf posts them.
 *
 * Interface: 000, lines 589-617.
 */
typedef enum gni_ce_cmd_type {
	GNI_FMA_CE_AND_S = 0x00,
	GNI_FMA_CE_AND = 0x01,
	GNI_FMA_CE_OR_S = 0x02,
	GNI_FMA_CE_OR = 0x03,
	GNI_FMA_CE_XOR_S = 0x04,
	GNI_FMA_CE_XOR = 0x05,
	GNI_FMA_CE_IMIN_LIDX_S = 0x10,
	GNI_FMA_CE_IMIN_LIDX = 0x11,
	GNI_FMA_CE_IMAX_LIDX_S = 0x12,
	GNI_FMA_CE_IMAX_LIDX = 0x13,
	GNI_FMA_CE_IADD_S = 0x14,
	GNI_FMA_CE_IADD = 0x15,
	GNI_FMA_CE_FPMIN_LIDX_S = 0x18,
	GNI_FMA_CE_FPMIN_LIDX = 0x19,
	GNI_FMA_CE_FPMAX_LIDX_S = 0x1a,
	GNI_FMA_CE_FPMAX_LIDX = 0x1b,
	GNI_FMA_CE_FPADD_S = 0x1c,
	GNI_FMA_CE_FPADD = 0x1d,
	GNI_FMA_CE_IMIN_GIDX_S = 0x30,
	GNI_FMA_CE_IMIN_GIDX = 0x31,
	GNI_FMA_CE_IMAX_GIDX_S = 0x32,
	GNI_FMA_CE_IMAX_GIDX = 0x33,
	GNI_FMA_CE_FPMIN_GIDX_S = 0x38,
	GNI_FMA_CE_FPMIN_GIDX = 0x39,
	GNI_FMA_CE_FPMAX_GIDX_S = 0x3a,
	GNI_FMA_CE_FPMAX_GIDX = 0x3b
} gni_ce_cmd_type_t;

/**
 * struct gni_ce_result - where a reduction puts its result
 * @control: state of the reduction; the accessors below take it apart
 * @result1: result of first_operand
 * @result2: result of second_operand, or the index of a minimum or maximum
 *
 * Registered memory of a leaf, named by local_addr and local_mem_hndl of its
 * post, and filled with zero before it is posted.
 *
 * Interface: 000, lines 619-624.
 */
typedef struct gni_ce_result {
	uint64_t control;
	uint64_t result1;
	uint64_t result2;
} gni_ce_result_t;

/**
 * gni_ce_res_get_status() - how a reduction ended
 * @result: a result that GNI_CeCheckResult() found complete
 *
 * Interface: 000, line 627.
 *
 * Context: any; no system call.
 * Return: 0 if the result arrived.
 */
uint64_t gni_ce_res_get_status(gni_ce_result_t *result);

/**
 * gni_ce_res_status_ok() - did a reduction's result arrive
 * @result: a result that GNI_CeCheckResult() found complete
 *
 * Interface: 000, line 628.
 *
 * Context: any; no system call.
 * Return: not 0 if the status is 0.
 */
uint64_t gni_ce_res_status_ok(gni_ce_result_t *result);

/**
 * gni_ce_res_get_fpe() - floating point exceptions of a reduction
 * @result: a result that GNI_CeCheckResult() found complete
 *
 * Interface: 000, line 629.
 *
 * Context: any; no system call.
 * Return: the exceptions of all operations together, GNI_CE_FPE_* bits.
 */
uint64_t gni_ce_res_get_fpe(gni_ce_result_t *result);

/**
 * gni_ce_res_get_red_id() - which reduction a result belongs to
 * @result: a result that GNI_CeCheckResult() found complete
 *
 * Interface: 000, line 630.
 *
 * Context: any; no system call.
 * Return: ce_red_id of the posts.
 */
uint64_t gni_ce_res_get_red_id(gni_ce_result_t *result);

#define GNI_CE_RES_GET_STATUS		gni_ce_res_get_status
#define GNI_CE_RES_STATUS_OK		gni_ce_res_status_ok
#define GNI_CE_RES_GET_FPE		gni_ce_res_get_fpe
#define GNI_CE_RES_GET_RED_ID		gni_ce_res_get_red_id

/* Exceptions: invalid operation, overflow, underflow, inexact result. */
#define GNI_CE_FPE_OP_INVAL		0x1
#define GNI_CE_FPE_OFLOW		0x2
#define GNI_CE_FPE_UFLOW		0x4
#define GNI_CE_FPE_PRECISION		0x8

/**
 * enum gni_ce_child - what an endpoint stands for in a collective tree
 * @GNI_CE_CHILD_UNUSED: nothing
 * @GNI_CE_CHILD_VCE: another channel
 * @GNI_CE_CHILD_PE: a leaf, which posts reductions
 *
 * Interface: 000, lines 643-648.
 */
typedef enum gni_ce_child {
	GNI_CE_CHILD_UNUSED = 0,
	GNI_CE_CHILD_VCE = 1,
	GNI_CE_CHILD_PE = 2
} gni_ce_child_t;

/**
 * DOC: Modes of a collective engine channel
 *
 * Arguments of GNI_CeConfigure(), one of each group: how floating point sums
 * are rounded; whether the channel's queue gets an event for each completed
 * reduction or for failed ones; how packets are routed. A channel has up to
 * GNI_CE_MAX_CHILDREN children.
 *
 * Interface: 000, lines 650-665.
 */
#define GNI_CE_MODE_ROUND_UP		0x00000001
#define GNI_CE_MODE_ROUND_DOWN		0x00000002
#define GNI_CE_MODE_ROUND_NEAR		0x00000004
#define GNI_CE_MODE_ROUND_ZERO		0x00000008
#define GNI_CE_MODE_CQE_ONCOMP		0x00000010
#define GNI_CE_MODE_CQE_ONERR		0x00000040
#define GNI_CE_MODE_RC_NMIN_HASH	0x00000080
#define GNI_CE_MODE_RC_MIN_HASH		0x00000100
#define GNI_CE_MODE_RC_MNON_HASH	0x00000200
#define GNI_CE_MODE_RC_ADAPT		0x00000400

#define GNI_CE_MAX_CHILDREN		32

/**
 * DOC: Events of a post
 *
 * Bits of cq_mode. LOCAL_EVENT: a source event when the local memory may be
 * used again. GLOBAL_EVENT: a source event when the data is in the target's
 * memory, or has come from there. REMOTE_EVENT: a target event. Both source
 * events carry the endpoint's *local* event value, the target event the remote
 * one. A post with DUAL_EVENTS gets the local event first.
 *
 * Interface: 000, lines 668-672; what a global event carries is not as lines
 * 1467 and 1474 have it.
 */
#define GNI_CQMODE_SILENT		0x0000
#define GNI_CQMODE_LOCAL_EVENT		0x0001
#define GNI_CQMODE_GLOBAL_EVENT		0x0002
#define GNI_CQMODE_REMOTE_EVENT		0x0004
#define GNI_CQMODE_DUAL_EVENTS		(GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT)

/**
 * DOC: Delivery modes
 *
 * Bits of dlvr_mode: how packets may be routed, hence whether they may pass
 * each other. IN_ORDER keeps the packets of a post, and of posts one after the
 * other to one peer, in order; PERFORMANCE promises nothing. NMIN_HASH,
 * MIN_HASH, MNON_HASH and ADAPTIVE0 to ADAPTIVE3 are Aries' routing modes.
 * ORDERED_TAIL keeps the last packet of a post behind the others.
 *
 * Interface: 000, lines 675-690.
 */
#define GNI_DLVMODE_PERFORMANCE		0x0000
#define GNI_DLVMODE_NO_ADAPT		0x0001
#define GNI_DLVMODE_NO_HASH		0x0002
#define GNI_DLVMODE_NO_RADAPT		0x0004
#define GNI_DLVMODE_IN_ORDER		(GNI_DLVMODE_NO_ADAPT | GNI_DLVMODE_NO_HASH)
#define GNI_DLVMODE_MNON_HASH		GNI_DLVMODE_IN_ORDER
#define GNI_DLVMODE_NMIN_HASH		0x0008
#define GNI_DLVMODE_MIN_HASH		0x0010
#define GNI_DLVMODE_ADAPTIVE0		GNI_DLVMODE_PERFORMANCE
#define GNI_DLVMODE_ADAPTIVE1		0x0020
#define GNI_DLVMODE_ADAPTIVE2		0x0040
#define GNI_DLVMODE_ADAPTIVE3		0x0080
#define GNI_DLVMODE_ORDERED_TAIL	0x0100

/**
 * DOC: Categories of error events
 *
 * Bits of a gni_error_mask_t, and values of error_category.
 *
 * CORRECTABLE_MEMORY: memory was wrong, and was set right. CRITICAL: something
 * is lost that no program can do without; ends programs. TRANSACTION: a
 * transaction that will fail again in the same way. ADDRESS_TRANSLATION: one
 * whose address leads nowhere. TRANSIENT: one that may succeed when it is tried
 * again. INFORMATIONAL: the device was quiesced, or goes on. DIAG_ONLY: by
 * diagnostics. UNKNOWN_TRANSACTION: one for a job that has nobody here; told to
 * queues of all protection tags.
 *
 * Interface: 000, lines 692-701.
 */
#define GNI_ERRMASK_CORRECTABLE_MEMORY	(1 << 0)
#define GNI_ERRMASK_CRITICAL		(1 << 1)
#define GNI_ERRMASK_TRANSACTION		(1 << 2)
#define GNI_ERRMASK_ADDRESS_TRANSLATION	(1 << 3)
#define GNI_ERRMASK_TRANSIENT		(1 << 4)
#define GNI_ERRMASK_INFORMATIONAL	(1 << 5)
#define GNI_ERRMASK_DIAG_ONLY		(1 << 6)
#define GNI_ERRMASK_UNKNOWN_TRANSACTION	(1 << 7)

/**
 * DOC: RDMA modes
 *
 * Bits of rdma_mode. PHYS_ADDR (kernel only): local_addr is physical. FENCE:
 * later RDMA posts wait until this and all earlier ones have been answered.
 * GETWC_DIS: do not combine the writes of a get's data.
 *
 * Interface: 000, lines 704-710.
 */
#define GNI_RDMAMODE_PHYS_ADDR		0x0001
#define GNI_RDMAMODE_FENCE		0x0002
#define GNI_RDMAMODE_GETWC_DIS		0x0004

/**
 * DOC: Modes of a collective engine post
 *
 * Bits of ce_mode. TWO_OP: reduce both operands (AND, OR, XOR and the sums
 * only). The FPE bits say that the operands come from floating point
 * operations that raised an exception already.
 *
 * Interface: 000, lines 712-727.
 */
#define GNI_CEMODE_TWO_OP		(1 << 0)
#define GNI_CEMODE_FPE_OP_INVAL		(1 << 1)
#define GNI_CEMODE_FPE_OFLOW		(1 << 2)
#define GNI_CEMODE_FPE_UFLOW		(1 << 3)
#define GNI_CEMODE_FPE_PRECISION	(1 << 4)

/* Most bytes of a datagram, and of a short message with its header. */
#define GNI_DATAGRAM_MAXSIZE		128
#define GNI_SMSG_MAX_SIZE		65535

/**
 * struct gni_post_descriptor - a transaction
 * @next_descr: link of the library; the next element in GNI_CtPostFma()
 * @prev_descr: link of the library
 * @post_id: the caller's own
 * @status: out, a gni_return_t, when GNI_GetCompleted() hands it back
 * @cq_mode_complete: out, the GNI_CQMODE_* bits of events that have come
 * @type: what to do
 * @cq_mode: which events to raise, GNI_CQMODE_* bits
 * @dlvr_mode: how to deliver, GNI_DLVMODE_* bits
 * @local_addr: local memory: source of a put, destination of a get, of what a
 *	fetching AMO brings, and of a reduction's result
 * @local_mem_hndl: handle of the region of @local_addr
 * @remote_addr: the peer's memory
 * @remote_mem_hndl: handle of the region of @remote_addr; for a CQ write, of
 *	any region of the queue to write to
 * @length: bytes to move, or to work on
 * @rdma_mode: GNI_RDMAMODE_* bits
 * @src_cq_hndl: queue for the source events; NULL is the endpoint's
 * @sync_flag_value: value of the flag
 * @sync_flag_addr: for a put with flag, the peer's memory for it, 8 bytes in the
 *	region of @remote_mem_hndl, aligned
 * @amo_cmd: the operation of an AMO
 * @first_operand: first operand of an AMO or a reduction
 * @second_operand: second operand of an AMO or a reduction
 * @cqwrite_value: value of a CQ write, in the low 48 bits
 * @ce_cmd: the operation of a reduction
 * @ce_mode: GNI_CEMODE_* bits
 * @ce_red_id: the caller's name for the reduction, the same at all leaves
 *
 * The caller may use every field that a post of this type does not need for
 * its own ends: such fields are not looked at, may hold anything, and keep it.
 * The library takes what it needs during the call that posts, so fields may be
 * changed afterwards; but the descriptor stays in place until
 * GNI_GetCompleted() has given it back for its last event. A SILENT post is
 * done with its descriptor when the call returns.
 *
 * All types use @type, @cq_mode, @dlvr_mode and @remote_mem_hndl but a
 * reduction, which has no remote memory; further ones are
 *
 * RDMA_PUT, RDMA_GET: @local_addr, @local_mem_hndl, @remote_addr, @length,
 * @rdma_mode, @src_cq_hndl.
 *
 * FMA_PUT: @local_addr (any memory, which may be used again when the call
 * returns), @remote_addr, @length. FMA_PUT_W_SYNCFLAG: also @sync_flag_value
 * and @sync_flag_addr; the data is there before the flag is.
 *
 * FMA_GET: @local_addr, @local_mem_hndl, @remote_addr, @length.
 * FMA_GET_W_FLAG: also @sync_flag_value, of which the low
 * GNI_FMA_FLAGGED_RESPONSE_SIZE bytes are stored behind the data, at @local_addr
 * + @length, when the data is there. AMO_W_FLAG: likewise, for an AMO that
 * fetches.
 *
 * AMO: @remote_addr, @length, @amo_cmd, @first_operand, @second_operand where
 * the operation has two, and if it fetches, @local_addr and @local_mem_hndl.
 *
 * CQWRITE: @cqwrite_value, @src_cq_hndl.
 *
 * CE: @local_addr, @local_mem_hndl, @ce_cmd, @ce_mode, @ce_red_id and both
 * operands.
 *
 * Alignment: a get needs @remote_addr and @length to be multiples of 4; an AMO
 * needs @remote_addr and @length, and @local_addr if it fetches, to be
 * multiples of its operand. Puts have no rule. A flagged response has at most
 * 60 bytes, @local_addr is a multiple of 4, and data and flag lie in one line of
 * 64 bytes.
 *
 * Interface: 000, lines 738-796.
 */
typedef struct gni_post_descriptor {
	void *next_descr;
	void *prev_descr;
	uint64_t post_id;
	uint64_t status;
	uint16_t cq_mode_complete;
	gni_post_type_t type;
	uint16_t cq_mode;
	uint16_t dlvr_mode;
	uint64_t local_addr;
	gni_mem_handle_t local_mem_hndl;
	uint64_t remote_addr;
	gni_mem_handle_t remote_mem_hndl;
	uint64_t length;
	uint16_t rdma_mode;
	gni_cq_handle_t src_cq_hndl;
	uint64_t sync_flag_value;
	uint64_t sync_flag_addr;
	gni_fma_cmd_type_t amo_cmd;
	uint64_t first_operand;
	uint64_t second_operand;
	uint64_t cqwrite_value;
	gni_ce_cmd_type_t ce_cmd;
	uint32_t ce_mode;
	uint64_t ce_red_id;
} gni_post_descriptor_t;

/**
 * struct gni_ntt_entry - one entry of the node translation table
 * @blck_addr: PE address of the first of the block; those of the others follow
 * @rplc_addr: likewise for the last @rplc_size of the block, instead
 * @rplc_size: how many are replaced, up to the granularity
 *
 * Interface: 000, lines 798-803.
 */
typedef struct gni_ntt_entry {
	uint32_t blck_addr;
	uint32_t rplc_addr;
	uint8_t rplc_size;
} gni_ntt_entry_t;

/**
 * struct gni_ntt_descriptor - a run of node translation table entries
 * @group_size: how many entries, (-1) for all
 * @granularity: how many PE addresses an entry covers, the same for all entries
 *	of a table
 * @u: the new entries, NULL to clear them
 * @u.table: on Gemini, PE addresses of blocks
 * @u.table_v2: on Aries
 * @flags: not used
 *
 * Interface: 000, lines 805-818.
 */
typedef struct gni_ntt_descriptor {
	uint32_t group_size;
	uint8_t granularity;
	union {
		uint32_t *table;
		gni_ntt_entry_t *table_v2;
	} u;
	uint8_t flags;
} gni_ntt_descriptor_t;

/**
 * struct gni_error_event - an error that the NIC met
 * @error_code: which error
 * @error_category: the GNI_ERRMASK_* bit that it comes under
 * @ptag: protection tag that it concerns
 * @serial_number: counts the events for the queue, those included that found
 *	no room in it
 * @timestamp: when it was met, in nanoseconds since 1970
 * @info_mmrs: what the device knows about it: for a transaction the remote
 *	address, the first half of the remote handle, the length, and last the
 *	type with the PE address of the other side in the high half
 *
 * Interface: 000, lines 820-830.
 */
typedef struct gni_error_event {
	uint16_t error_code;
	uint8_t error_category;
	uint8_t ptag;
	uint32_t serial_number;
	uint64_t timestamp;
	uint64_t info_mmrs[4];
} gni_error_event_t;

typedef uint8_t gni_error_mask_t;

/**
 * DOC: Job limits
 *
 * GNI_JOB_INVALID_LIMIT, in every byte of the field, leaves a limit as it is.
 * NTT_CLEANUP in ntt_ctrl makes the driver clear the job's translation entries
 * when the job ends. The CE masks are bits of ce_limit, one for each channel that
 * the job may use. What counts as an entry of each resource: Documentation/jobs.rst.
 *
 * Interface: 000, lines 832-844.
 */
#define GNI_JOB_INVALID_LIMIT		(-1)
#define GNI_JOB_CTRL_NTT_CLEANUP	(0x01)
#define GNI_JOB_CTRL_CE0_MASK		(1 << 0)
#define GNI_JOB_CTRL_CE1_MASK		(1 << 1)
#define GNI_JOB_CTRL_CE2_MASK		(1 << 2)
#define GNI_JOB_CTRL_CE3_MASK		(1 << 3)
#define GNI_JOB_CTRL_ALL_CE_MASK						\
	(GNI_JOB_CTRL_CE0_MASK | GNI_JOB_CTRL_CE1_MASK |			\
	 GNI_JOB_CTRL_CE2_MASK | GNI_JOB_CTRL_CE3_MASK)

/**
 * struct gni_job_limits - what a job may use of a device
 * @mdd_limit: memory registrations
 * @a: Gemini and Aries differ
 * @a.mrt_limit: on Gemini, entries of the table of big pages
 * @a.m: on Aries
 * @a.m.ce_limit: GNI_JOB_CTRL_CE*_MASK bits
 * @a.m.iommu_limit: N for 2^N MiB of address space
 * @a.m.res_byte2: not used
 * @a.m.res_byte3: not used
 * @b: Gemini and Aries differ
 * @b.gart_limit: on Gemini, GART entries
 * @b.dla_limit: on Aries, deadlock avoidance entries
 * @fma_limit: FMA descriptors
 * @bte_limit: RDMA posts on their way
 * @cq_limit: completion queues
 * @ntt_ctrl: GNI_JOB_CTRL_NTT_* bits
 * @ntt_base: first entry of the translation table
 * @ntt_size: how many entries
 *
 * Interface: 000, lines 846-867.
 */
typedef struct gni_job_limits {
	int32_t mdd_limit;
	union {
		int32_t mrt_limit;
		struct {
			uint8_t ce_limit;
			uint8_t iommu_limit;
			uint8_t res_byte2;
			uint8_t res_byte3;
		} m;
	} a;
	union {
		int32_t gart_limit;
		int32_t dla_limit;
	} b;
	int32_t fma_limit;
	int32_t bte_limit;
	int32_t cq_limit;
	int32_t ntt_ctrl;
	int32_t ntt_base;
	int32_t ntt_size;
} gni_job_limits_t;

/**
 * enum gni_nic_device - kinds of NIC
 * @GNI_DEVICE_GEMINI: Gemini
 * @GNI_DEVICE_ARIES: Aries
 * @GNI_DEVICE_PISCES: Pisces
 * @GNI_DEVICE_LAST: how many kinds there are
 *
 * Interface: 000, lines 869-874.
 */
typedef enum gni_nic_device {
	GNI_DEVICE_GEMINI = 0,
	GNI_DEVICE_ARIES = 1,
	GNI_DEVICE_PISCES = 2,
	GNI_DEVICE_LAST
} gni_nic_device_t;

/**
 * enum gni_dev_res - resources of a device
 * @GNI_DEV_RES_FIRST: none, the number before the first
 * @GNI_DEV_RES_MDD: memory registrations
 * @GNI_DEV_RES_MRT: entries of the table of big pages
 * @GNI_DEV_RES_CQ: completion queues
 * @GNI_DEV_RES_FMA: FMA descriptors
 * @GNI_DEV_RES_CE: collective engine channels
 * @GNI_DEV_RES_DLA: deadlock avoidance entries
 * @GNI_DEV_RES_LAST: none, the number after the last
 *
 * Interface: 000, lines 876-886.
 */
typedef enum gni_dev_res {
	GNI_DEV_RES_FIRST = 0,
	GNI_DEV_RES_MDD,
	GNI_DEV_RES_MRT,
	GNI_DEV_RES_CQ,
	GNI_DEV_RES_FMA,
	GNI_DEV_RES_CE,
	GNI_DEV_RES_DLA,
	GNI_DEV_RES_LAST
} gni_dev_res_t;

/**
 * struct gni_dev_res_desc - how much of a device's resource there is
 * @available: free
 * @reserved: set aside for jobs
 * @held: given back, but not to be used again yet
 * @total: all
 *
 * Interface: 000, lines 888-893.
 */
typedef struct gni_dev_res_desc {
	uint64_t available;
	uint64_t reserved;
	uint64_t held;
	uint64_t total;
} gni_dev_res_desc_t;

/**
 * enum gni_job_res - resources of a job
 * @GNI_JOB_RES_FIRST: none, the number before the first
 * @GNI_JOB_RES_MDD: memory registrations
 * @GNI_JOB_RES_MRT: entries of the table of big pages
 * @GNI_JOB_RES_IOMMU: IOMMU address space
 * @GNI_JOB_RES_GART: GART entries
 * @GNI_JOB_RES_CQ: completion queues
 * @GNI_JOB_RES_FMA: FMA descriptors
 * @GNI_JOB_RES_RMDA: RDMA posts (the name is spelt so)
 * @GNI_JOB_RES_CE: collective engine channels
 * @GNI_JOB_RES_DLA: deadlock avoidance entries
 * @GNI_JOB_RES_SFMA: domains that share an FMA descriptor
 * @GNI_JOB_RES_LAST: none, the number after the last
 *
 * Interface: 000, lines 895-908.
 */
typedef enum gni_job_res {
	GNI_JOB_RES_FIRST = 0,
	GNI_JOB_RES_MDD,
	GNI_JOB_RES_MRT,
	GNI_JOB_RES_IOMMU,
	GNI_JOB_RES_GART,
	GNI_JOB_RES_CQ,
	GNI_JOB_RES_FMA,
	GNI_JOB_RES_RMDA,
	GNI_JOB_RES_CE,
	GNI_JOB_RES_DLA,
	GNI_JOB_RES_SFMA,
	GNI_JOB_RES_LAST
} gni_job_res_t;

/**
 * struct gni_job_res_desc - how much of a resource a job uses
 * @used: taken
 * @limit: most that it may take
 *
 * Interface: 000, lines 910-913.
 */
typedef struct gni_job_res_desc {
	uint64_t used;
	uint64_t limit;
} gni_job_res_desc_t;

/**
 * enum gni_statistic - what GNI_GetNicStat() counts
 * @GNI_STAT_SMSG_BUFF_CREDITS_STALL: short messages that found no buffer
 *	credit at the peer
 * @GNI_STAT_SMSG_DLA_STALL: short messages that found no room in the deadlock
 *	avoidance (DLA) buffers
 * @GNI_STAT_SMSG_MBOX_CREDITS_STALL: short messages that found no mailbox
 *	credit at the peer
 * @GNI_STAT_SMSG_REQ_STALL: short messages that found no transfer request free,
 *	or no memory in the driver
 * @GNI_STAT_SMSG_RETRANS_COUNT: short messages sent again, each time counted
 * @GNI_STAT_SMSG_RETRANS_DLA_COUNT: those of them that the DLA buffers lost
 * @GNI_STAT_SMSG_RETRANS_STALL: short messages that had to wait to be sent
 *	again
 * @GNI_STAT_DLA_ALLOC_STATUS_STALL: waits for an answer to a request for DLA
 *	buffers
 * @GNI_STAT_DLA_ALLOC_STATUS_TIMEOUT: such waits that went on for too long
 * @GNI_STAT_DLA_BLOCK_ORPHANED: DLA blocks whose transactions were given up
 * @GNI_STAT_DLA_BLOCK_RETRANS_COUNT: DLA blocks sent again
 * @GNI_STAT_DLA_FREE_BLOCKS_STALL: waits for a free DLA block
 * @GNI_STAT_DLA_FREE_FMAD_BLOCKS_STALL: waits for a free DLA block of the FMA
 *	descriptor
 * @GNI_STAT_DLA_HIGH_RETRANS_COUNT: most times that one block was sent again
 * @GNI_STAT_DLA_OVERFLOW_RESEND: transactions sent again after an overflow
 * @GNI_STAT_DLA_RETRANS_COUNT: transactions sent again
 * @GNI_STAT_DLA_TOTAL_RETRANS_COUNT: all that was sent again, each time counted
 * @GNI_STAT_FLBTE_TXD_CORRUPT: short RDMA posts whose descriptor was damaged
 * @GNI_STAT_FLBTE_TXD_NONE: RDMA posts that found no room in the driver
 * @GNI_NUM_STATS: how many statistics there are
 *
 * There are no buffer credits, DLA buffers and descriptors that could be damaged
 * here, so what counts them stays 0: Documentation/libugni.rst has a table.
 *
 * Those of DLA and FLBTE exist on Aries only, for programs compiled with
 * CRAY_CONFIG_GHAL_ARIES; GNI_NUM_STATS differs accordingly.
 *
 * gni_statistic_str[] has their names, in the library the longer list. It and
 * gni_err_str[] are for user programs; the driver does not export them.
 *
 * Interface: 000, lines 915-940.
 */
typedef enum gni_statistic {
	GNI_STAT_SMSG_BUFF_CREDITS_STALL = 0,
	GNI_STAT_SMSG_DLA_STALL,
	GNI_STAT_SMSG_MBOX_CREDITS_STALL,
	GNI_STAT_SMSG_REQ_STALL,
	GNI_STAT_SMSG_RETRANS_COUNT,
	GNI_STAT_SMSG_RETRANS_DLA_COUNT,
	GNI_STAT_SMSG_RETRANS_STALL,
#ifdef CRAY_CONFIG_GHAL_ARIES
	GNI_STAT_DLA_ALLOC_STATUS_STALL,
	GNI_STAT_DLA_ALLOC_STATUS_TIMEOUT,
	GNI_STAT_DLA_BLOCK_ORPHANED,
	GNI_STAT_DLA_BLOCK_RETRANS_COUNT,
	GNI_STAT_DLA_FREE_BLOCKS_STALL,
	GNI_STAT_DLA_FREE_FMAD_BLOCKS_STALL,
	GNI_STAT_DLA_HIGH_RETRANS_COUNT,
	GNI_STAT_DLA_OVERFLOW_RESEND,
	GNI_STAT_DLA_RETRANS_COUNT,
	GNI_STAT_DLA_TOTAL_RETRANS_COUNT,
	GNI_STAT_FLBTE_TXD_CORRUPT,
	GNI_STAT_FLBTE_TXD_NONE,
#endif
	GNI_NUM_STATS
} gni_statistic_t;

#define GNI_ERRNO_FUNC_STR_LEN		100

/**
 * DOC: The shared message queue
 *
 * All instances of a job on a node share one queue. A message, header and data
 * together, has up to GNI_MSGQ_MSG_SZ_MAX bytes; a node has up to
 * GNI_MSGQ_NODE_INSTS_MAX instances. GNI_MSGQ_MODE_BLOCKING lets
 * GNI_MsgqProgress() wait.
 *
 * Interface: 000, lines 963-1004.
 */
#define GNI_MSGQ_MSG_SZ_MAX		128
#define GNI_MSGQ_NODE_INSTS_MAX		48
#define GNI_MSGQ_MODE_BLOCKING		(0x01)

/**
 * typedef gni_msgq_rcv_cb_func - what GNI_MsgqProgress() does with a message
 * @snd_id: instance id of the sender
 * @snd_pe: PE address of the sender
 * @msg: the message, valid until the function returns
 * @msg_tag: its tag
 * @cb_data: what GNI_MsgqInit() was given
 *
 * Interface: 000, lines 965-972.
 *
 * Context: the thread that called GNI_MsgqProgress().
 * Return: not 0 to go on with the next message, 0 to leave
 * GNI_MsgqProgress() now.
 */
typedef int gni_msgq_rcv_cb_func(uint32_t snd_id, uint32_t snd_pe, void *msg,
				 uint8_t msg_tag, void *cb_data);

/**
 * struct gni_msgq_attr - shape of the shared message queue
 * @max_msg_sz: bytes of the largest message, up to GNI_MSGQ_MSG_SZ_MAX
 * @smsg_q_sz: messages that can be on their way on one connection, up to 32768
 * @rcv_pool_sz: messages that an instance takes out of the mailboxes at a time,
 *	before it is called for them, up to 65536
 * @num_msgq_eps: connections, one for each other node
 * @nloc_insts: instances on this node, up to GNI_MSGQ_NODE_INSTS_MAX
 * @modes: GNI_MSGQ_MODE_* bits
 * @rcv_cq_sz: entries of the receive queue of each instance; with too few,
 *	messages are looked for instead
 *
 * All instances of the node give the same values.
 *
 * Interface: 000, lines 982-990.
 */
typedef struct gni_msgq_attr {
	uint32_t max_msg_sz;
	uint32_t smsg_q_sz;
	uint32_t rcv_pool_sz;
	uint32_t num_msgq_eps;
	uint32_t nloc_insts;
	uint8_t modes;
	uint32_t rcv_cq_sz;
} gni_msgq_attr_t;

/**
 * struct gni_msgq_rem_inst - an instance of a peer node
 * @id: its instance id
 * @mdh: handle of the shared memory that holds its mailbox
 * @mdh_off: byte offset of the mailbox there, and more in the upper 24 bits
 *
 * Interface: 000, lines 992-996.
 */
typedef struct gni_msgq_rem_inst {
	uint32_t id;
	gni_mem_handle_t mdh;
	uint64_t mdh_off;
} gni_msgq_rem_inst_t;

/**
 * struct gni_msgq_ep_attr - one node's side of a message queue connection
 * @pe_addr: PE address of the node
 * @max_msg_sz: bytes of the largest message
 * @smsg_q_sz: messages that can be on their way
 * @num_insts: instances of the node
 * @insts: these, @num_insts of them
 *
 * Interface: 000, lines 998-1004.
 */
typedef struct gni_msgq_ep_attr {
	uint32_t pe_addr;
	uint32_t max_msg_sz;
	uint32_t smsg_q_sz;
	uint32_t num_insts;
	gni_msgq_rem_inst_t insts[GNI_MSGQ_NODE_INSTS_MAX];
} gni_msgq_ep_attr_t;

#define MAX_BUILD_STRING_LENGTH		80

/**
 * struct gni_version_info - versions of library and driver
 * @ugni_version: interface version of the library
 * @ugni_svn_revision: source revision of the library
 * @ugni_build_string: text that names the library's build
 * @kgni_version: interface version of the driver
 * @kgni_svn_revision: source revision of the driver
 * @kgni_build_string: text that names the driver's build
 *
 * Interface: 000, lines 1008-1015.
 */
typedef struct gni_version_info {
	uint32_t ugni_version;
	uint32_t ugni_svn_revision;
	char ugni_build_string[MAX_BUILD_STRING_LENGTH];
	uint32_t kgni_version;
	uint32_t kgni_svn_revision;
	char kgni_build_string[MAX_BUILD_STRING_LENGTH];
} gni_version_info_t;

/**
 * DOC: Balanced injection
 *
 * Flags of GNI_SetBIConfig(): apply the values now, or when the network next
 * throttles; go back to the system's settings, whatever the values, both of
 * them if neither of the first two is given; the values are numbers of
 * outstanding requests (GNI_BI_INJECT_BW_ORB_MIN to _MAX) and not percent of
 * the bandwidth (GNI_BI_INJECT_BW_MIN to _MAX). A value of 0 is no limit.
 *
 * Interface: 000, lines 3976-3986.
 */
#define GNI_BI_FLAG_APPLY_NOW			0x1
#define GNI_BI_FLAG_APPLY_AFTER_THROTTLE	0x2
#define GNI_BI_FLAG_USE_DEFAULT_SETTINGS	0x4
#define GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES	0x8

#define GNI_BI_INJECT_BW_MIN			0
#define GNI_BI_INJECT_BW_MAX			100
#define GNI_BI_INJECT_BW_ORB_MIN		0
#define GNI_BI_INJECT_BW_ORB_MAX		992

/**
 * struct gni_bi_desc - balanced injection of a node
 * @current_bw: bandwidth in force, percent
 * @current_aot_bw: bandwidth for after a throttle, percent
 * @current_norbs: outstanding requests in force
 * @flags: GNI_BI_FLAG_* bits of the last change
 * @sys_def_bw: the system's setting for @current_bw
 * @sys_def_aot_bw: the system's setting for @current_aot_bw
 * @cle_seqnum: counts the changes made by the node
 * @hss_seqnum: counts those that the supervisory system has seen
 *
 * Interface: 000, lines 3988-3997.
 */
typedef struct gni_bi_desc {
	uint16_t current_bw;
	uint16_t current_aot_bw;
	uint16_t current_norbs;
	uint16_t flags;
	uint16_t sys_def_bw;
	uint16_t sys_def_aot_bw;
	uint16_t cle_seqnum;
	uint16_t hss_seqnum;
} gni_bi_desc_t;

extern const char *gni_statistic_str[];

#ifndef __KERNEL__

/* Names of the return codes, indexed by gni_return_t. Interface: 000, line 1020. */
extern const char *gni_err_str[];

/**
 * GNI_CdmCreate() - make a communication domain
 * @inst_id: name of this instance, unique on the node within (ptag, cookie);
 *	peers find it in target events, 24 bits of it in the short value
 * @ptag: protection tag, or GNI_FIND_ALLOC_PTAG
 * @cookie: cookie of the job
 * @modes: GNI_CDM_MODE_* bits
 * @cdm_hndl: out, the new domain
 *
 * Resources of a NIC are taken by GNI_CdmAttach(), not here.
 *
 * Interface: 000, lines 1024-1055.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - @cdm_hndl is NULL, or @ptag is 0
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_CdmCreate(uint32_t inst_id, uint8_t ptag, uint32_t cookie, uint32_t modes,
			   gni_cdm_handle_t *cdm_hndl);

/**
 * GNI_CdmDestroy() - destroy a communication domain and all that belongs to it
 * @cdm_hndl: the domain
 *
 * Its NICs are detached; endpoints, queues and registrations on them go too.
 *
 * Interface: 000, lines 1058-1076.
 *
 * Context: one thread, with no other one using the domain; may wait for
 * transactions on their way.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such domain
 */
gni_return_t GNI_CdmDestroy(gni_cdm_handle_t cdm_hndl);

/**
 * GNI_CdmGetNicAddress() - look up the PE address of a device
 * @device_id: N of /dev/kgniN
 * @address: out, the PE address, as GNI_CdmAttach() gives it too
 * @cpu_id: out, the first CPU near the device
 *
 * Needs no communication domain.
 *
 * Interface: 000, lines 1079-1103.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL
 * * %GNI_RC_NO_MATCH - no such device
 */
gni_return_t GNI_CdmGetNicAddress(uint32_t device_id, uint32_t *address, uint32_t *cpu_id);

/**
 * GNI_CdmAttach() - attach a communication domain to a device
 * @cdm_hndl: the domain
 * @device_id: N of /dev/kgniN, or (-1) for the nearest device that the domain
 *	is not attached to
 * @local_addr: out, PE address of the device, as the job calls it
 * @nic_hndl: out, the attached NIC
 *
 * A domain attaches to a device once; several domains may attach to one.
 *
 * Interface: 000, lines 1106-1145.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such domain, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - no such device, or none that the job's translation
 *   table has an address for
 * * %GNI_RC_ERROR_RESOURCE - the device or the job has no NIC, FMA descriptor
 *   or protection tag left
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_PERMISSION_ERROR - the device may not be opened, the job belongs to
 *   another user, or jobs have to be configured and this one is not
 * * %GNI_RC_INVALID_STATE - the domain is attached to the device already, or
 *   with (-1) to every device
 */
gni_return_t GNI_CdmAttach(gni_cdm_handle_t cdm_hndl, uint32_t device_id, uint32_t *local_addr,
			   gni_nic_handle_t *nic_hndl);

/**
 * GNI_CdmCheckpoint() - make a communication domain ready for a checkpoint
 * @cdm_handle: the domain
 *
 * From here on no call on the domain's NICs makes a system call on a device, or
 * looks at memory that was mapped from one, so that after a restart, when the
 * device files are gone, endpoints, registrations, queues and the domain can
 * still be given back: GNI_EpUnbind(), GNI_EpDestroy(), GNI_MemDeregister(),
 * GNI_CqDestroy() and GNI_CdmDestroy() succeed and free what the library has.
 * Queues seem empty; messages that have arrived can be read; other calls that
 * need the device return %GNI_RC_INVALID_PARAM, or %GNI_RC_INVALID_STATE if it
 * is GNI_CdmAttach(). Files that the library keeps open to answer
 * GNI_GetDevResInfo() and the like are closed; a protection tag that only
 * GNI_GetPtag() made goes with them.
 *
 * Call it when no other thread uses the domain. What is destroyed before
 * GNI_CdmResume() leaves its share of the device file behind, if that is still
 * there, until the process ends.
 *
 * Interface: 000, lines 1148-1167.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such domain
 */
gni_return_t GNI_CdmCheckpoint(gni_cdm_handle_t cdm_handle);

/**
 * GNI_CdmResume() - undo GNI_CdmCheckpoint()
 * @cdm_handle: the domain
 *
 * For a process that took a checkpoint and goes on, with its files open.
 *
 * Interface: 000, lines 1170-1186.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such domain
 */
gni_return_t GNI_CdmResume(gni_cdm_handle_t cdm_handle);

/**
 * GNI_SuspendJob() - get a job ready to be stopped
 * @device_id: N of /dev/kgniN
 * @job_id: the job; 0 for one that was not configured
 * @ptag: its protection tag
 * @cookie: its cookie
 * @timeout: milliseconds to wait for transactions on their way
 *
 * Until GNI_ResumeJob() what the job's programs post on the device waits: a call
 * that would carry it out does not return, RDMA is queued. They can be stopped by
 * signals meanwhile. What others post to them goes on.
 *
 * Interface: 000, lines 1189-1221.
 *
 * Context: any thread; waits up to @timeout; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - nothing of the job is on its way; it may be stopped
 * * %GNI_RC_INVALID_PARAM - no such device or job
 * * %GNI_RC_TIMEOUT - @timeout passed; the job goes on
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 * * %GNI_RC_NOT_DONE - the device is quiesced, or a signal came; try again
 * * %GNI_RC_INVALID_STATE - the job is being suspended already
 * * %GNI_RC_ERROR_RESOURCE - clients in the kernel are in the job
 */
gni_return_t GNI_SuspendJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
			    uint32_t timeout);

/**
 * GNI_ResumeJob() - let a suspended job go on
 * @device_id: N of /dev/kgniN
 * @job_id: the job; 0 for one that was not configured
 * @ptag: its protection tag
 * @cookie: its cookie
 *
 * Interface: 000, lines 1224-1249.
 *
 * Context: any thread; does not wait; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such device or job
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 * * %GNI_RC_INVALID_STATE - the job is not suspended
 */
gni_return_t GNI_ResumeJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie);

/**
 * GNI_ConfigureNTT() - set or clear entries of a device's translation table
 * @device_id: N of /dev/kgniN
 * @ntt_desc: the entries; with a NULL table, group_size entries from @ntt_base
 *	on are cleared
 * @ntt_base: in, where to put or clear entries, (-1) to let the driver choose;
 *	out, the first entry
 *
 * @ntt_base and group_size both (-1) with a NULL table clears every entry that
 * no job uses. Entries that are set and that no job uses may be set anew. The
 * table has 8192 entries, and one granularity while any of them is set.
 *
 * Interface: 000, lines 1252-1291.
 *
 * Context: any thread; does not wait; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, or the descriptor makes no sense
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 * * %GNI_RC_ERROR_RESOURCE - not enough free entries in a row, a job has one of
 *   them, or the table has another granularity
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_NO_MATCH - no such device
 */
gni_return_t GNI_ConfigureNTT(int device_id, gni_ntt_descriptor_t *ntt_desc, uint32_t *ntt_base);

/**
 * GNI_ConfigureJob() - tell a device about a job
 * @device_id: N of /dev/kgniN
 * @job_id: name of the job
 * @ptag: protection tag that its programs use, or GNI_FIND_ALLOC_PTAG
 * @cookie: cookie that its programs use
 * @limits: what it may use; NULL changes no limit, and neither does a field of
 *	GNI_JOB_INVALID_LIMIT
 *
 * To be called before the job's programs attach. The same (job, ptag, cookie)
 * may be configured again: new limits replace the old ones of the tag. One tag
 * belongs to one job. ntt_base and ntt_size, if that is above 0, give the job
 * translation entries from an earlier GNI_ConfigureNTT(); they cannot be changed
 * later, nor given to a job that runs.
 *
 * The job is of the user who is the first to attach with the tag and the cookie,
 * or with GNI_FIND_ALLOC_PTAG and the cookie. It ends with its last attachment:
 * what was configured is forgotten then.
 *
 * Interface: 000, lines 1294-1354.
 *
 * Context: any thread; does not wait; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - @ptag is 0, or a limit makes no sense
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 * * %GNI_RC_NO_MATCH - no such device, or no such translation entries
 * * %GNI_RC_INVALID_STATE - the tag belongs to another job or cookie
 * * %GNI_RC_ILLEGAL_OP - the job's translation entries would change
 * * %GNI_RC_ERROR_RESOURCE - the device cannot give that much, or no tag is left
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_ConfigureJob(uint32_t device_id, uint64_t job_id, uint8_t ptag, uint32_t cookie,
			      gni_job_limits_t *limits);

/**
 * GNI_ConfigureNTTandJob() - set translation entries, and configure their job
 * @device_id: N of /dev/kgniN
 * @job_id: name of the job
 * @ptag: protection tag that its programs use, or GNI_FIND_ALLOC_PTAG
 * @cookie: cookie that its programs use
 * @limits: what it may use, as in GNI_ConfigureJob()
 * @ntt_desc: translation entries for the job; NULL for none. Entries cannot be
 *	cleared in this way
 * @ntt_base: in and out, as in GNI_ConfigureNTT(); may be NULL without
 *	@ntt_desc
 *
 * Both happen or neither.
 *
 * Interface: 000, lines 1357-1426.
 *
 * Context: any thread; does not wait; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - an argument makes no sense
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 * * %GNI_RC_ERROR_RESOURCE - not enough free entries in a row, or the device
 *   cannot give what the limits ask for
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_NO_MATCH - no such device, or no such translation entries
 * * %GNI_RC_INVALID_STATE - the tag belongs to another job or cookie
 * * %GNI_RC_ILLEGAL_OP - the job's translation entries would change
 */
gni_return_t GNI_ConfigureNTTandJob(int device_id, uint64_t job_id, uint8_t ptag,
				    uint32_t cookie, gni_job_limits_t *limits,
				    gni_ntt_descriptor_t *ntt_desc, uint32_t *ntt_base);

/**
 * GNI_EpCreate() - make an endpoint
 * @nic_hndl: the NIC
 * @src_cq_hndl: queue for the source events of its transactions; NULL for an
 *	endpoint that exchanges datagrams only
 * @ep_hndl: out, the new endpoint, not bound
 *
 * An endpoint that is not bound can do one thing: exchange a datagram with any
 * bound endpoint that asks for this instance.
 *
 * Interface: 000, lines 1429-1458.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, the queue is of another NIC,
 *   or @ep_hndl is NULL
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_EpCreate(gni_nic_handle_t nic_hndl, gni_cq_handle_t src_cq_hndl,
			  gni_ep_handle_t *ep_hndl);

/**
 * GNI_EpSetEventData() - choose the event values of an endpoint
 * @ep_hndl: the endpoint
 * @local_event: value of source events, LOCAL and GLOBAL ones; 24 bits arrive
 *	(32 on Gemini)
 * @remote_event: value of target events; 32 bits arrive
 *
 * Without it source events carry the remote_id of GNI_EpBind() and target
 * events the inst_id of the sender's domain. Transactions take the values in
 * force when they are posted.
 *
 * Interface: 000, lines 1461-1483; which value a GLOBAL event has is not as
 * there.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 */
gni_return_t GNI_EpSetEventData(gni_ep_handle_t ep_hndl, uint32_t local_event,
				uint32_t remote_event);

/**
 * GNI_EpBind() - bind an endpoint to a peer
 * @ep_hndl: the endpoint, not bound
 * @remote_addr: PE address of the peer, or its translation table index
 * @remote_id: instance id of the peer
 *
 * @remote_id is the key by which datagrams find the peer, and the default
 * value of source events; other transactions go where @remote_addr and the
 * memory handle say, whether or not such an instance exists. An endpoint can
 * be bound to its own NIC.
 *
 * Interface: 000, lines 1486-1512.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is bound
 * * %GNI_RC_ERROR_RESOURCE - no more endpoints can be bound; never returned by
 *   kgni, where binding takes nothing
 * * %GNI_RC_ERROR_NOMEM - no memory; never returned by kgni
 */
gni_return_t GNI_EpBind(gni_ep_handle_t ep_hndl, uint32_t remote_addr, uint32_t remote_id);

/**
 * GNI_EpUnbind() - undo GNI_EpBind()
 * @ep_hndl: the endpoint
 *
 * Gives up its short message connection too.
 *
 * Interface: 000, lines 1515-1537.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is not bound
 * * %GNI_RC_NOT_DONE - it has transactions under way; take their events and
 *   call again
 */
gni_return_t GNI_EpUnbind(gni_ep_handle_t ep_hndl);

/**
 * GNI_EpIdle() - is an endpoint ready for a checkpoint
 * @ep_hndl: the endpoint
 *
 * As GNI_EpUnbind() would see it, but nothing is undone. Take events and call
 * again until it succeeds, for every endpoint, then call GNI_CdmCheckpoint(). An
 * endpoint that is not bound is ready.
 *
 * Interface: 000, lines 1540-1560.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - it has nothing under way
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 * * %GNI_RC_NOT_DONE - it has
 */
gni_return_t GNI_EpIdle(gni_ep_handle_t ep_hndl);

/**
 * GNI_EpDestroy() - destroy an endpoint
 * @ep_hndl: the endpoint, bound or not
 *
 * Short messages that still have to be sent again are dropped; its mailbox is
 * not touched after the call. Posted datagrams are cancelled, and whoever
 * probes for datagrams finds the id of one that was posted with an id.
 *
 * Interface: 000, lines 1563-1579.
 *
 * Context: one thread, with no other one using the endpoint.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 */
gni_return_t GNI_EpDestroy(gni_ep_handle_t ep_hndl);

/**
 * GNI_EpPostData() - post a datagram
 * @ep_hndl: the endpoint
 * @in_data: what to send; NULL if @data_len is 0
 * @data_len: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @out_buf: for the peer's data; NULL if @buf_size is 0
 * @buf_size: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 *
 * Two datagrams meet and both are completed, each side with the other's data:
 * one of a bound endpoint with one of the endpoint's peer that is bound to this
 * instance, or else with one that an endpoint of the peer posted without being
 * bound. Until then it waits, for as long as it takes. @in_data is copied now;
 * @out_buf is filled by the test or wait that reports the completion.
 *
 * Interface: 000, lines 1582-1611.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or a pointer is NULL
 * * %GNI_RC_ERROR_RESOURCE - the endpoint has a datagram posted, or one to or
 *   from this peer is being exchanged already
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_SIZE_ERROR - a size is more than GNI_DATAGRAM_MAXSIZE
 */
gni_return_t GNI_EpPostData(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
			    void *out_buf, uint16_t buf_size);

/**
 * GNI_EpPostDataWId() - post a datagram that has an id
 * @ep_hndl: the endpoint
 * @in_data: what to send; NULL if @data_len is 0
 * @data_len: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @out_buf: for the peer's data; NULL if @buf_size is 0
 * @buf_size: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @datagram_id: the caller's name for it, unique on the NIC, not (-1)
 *
 * As GNI_EpPostData(). Test, wait, probe and cancel it by its id.
 *
 * Interface: 000, lines 1614-1652.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or the id is
 *   (-1)
 * * %GNI_RC_ERROR_RESOURCE - the id is in use, or a datagram to or from this
 *   peer is being exchanged already
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_SIZE_ERROR - a size is more than GNI_DATAGRAM_MAXSIZE
 */
gni_return_t GNI_EpPostDataWId(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
			       void *out_buf, uint16_t buf_size, uint64_t datagram_id);

/**
 * GNI_EpPostDataTest() - where does an endpoint's datagram stand
 * @ep_hndl: the endpoint
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * Interface: 000, lines 1655-1688.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @post_state is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_ERROR_NOMEM - no memory; never returned by kgni
 */
gni_return_t GNI_EpPostDataTest(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
				uint32_t *remote_addr, uint32_t *remote_id);

/**
 * GNI_EpPostDataTestById() - where does a datagram with an id stand
 * @ep_hndl: the endpoint that it was posted on
 * @datagram_id: its id
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * After GNI_PostDataProbeById() has given the id the state is a final one.
 *
 * Interface: 000, lines 1691-1731.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @post_state is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or the id is
 *   (-1)
 * * %GNI_RC_NO_MATCH - the endpoint has no such datagram
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_ERROR_NOMEM - no memory; never returned by kgni
 */
gni_return_t GNI_EpPostDataTestById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
				    gni_post_state_t *post_state, uint32_t *remote_addr,
				    uint32_t *remote_id);

/**
 * GNI_EpPostDataWait() - wait for an endpoint's datagram
 * @ep_hndl: the endpoint
 * @timeout: milliseconds, not 0; (-1) for ever
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * Interface: 000, lines 1734-1774.
 *
 * Context: any thread; waits up to @timeout, also after a signal.
 * Return:
 * * %GNI_RC_SUCCESS - the state is a final one
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or @timeout
 *   is 0
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 * * %GNI_RC_ERROR_NOMEM - no memory; never returned by kgni
 */
gni_return_t GNI_EpPostDataWait(gni_ep_handle_t ep_hndl, uint32_t timeout,
				gni_post_state_t *post_state, uint32_t *remote_addr,
				uint32_t *remote_id);

/**
 * GNI_EpPostDataWaitById() - wait for a datagram with an id
 * @ep_hndl: the endpoint that it was posted on
 * @datagram_id: its id
 * @timeout: milliseconds, not 0; (-1) for ever
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * Interface: 000, lines 1777-1825.
 *
 * Context: any thread; waits up to @timeout, also after a signal.
 * Return:
 * * %GNI_RC_SUCCESS - the state is a final one
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, the id is
 *   (-1), or @timeout is 0
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_NO_MATCH - the endpoint has no such datagram
 * * %GNI_RC_ERROR_NOMEM - no memory; never returned by kgni
 */
gni_return_t GNI_EpPostDataWaitById(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
				    uint32_t timeout, gni_post_state_t *post_state,
				    uint32_t *remote_addr, uint32_t *remote_id);

/**
 * GNI_PostDataProbe() - find a datagram that has reached a final state
 * @nic_hndl: the NIC
 * @remote_addr: out, PE address of its peer
 * @remote_id: out, instance id of its peer
 *
 * Finds datagrams posted without an id, the one that ended first. It stays
 * until GNI_EpPostDataTest() or GNI_EpPostDataWait() takes it away.
 *
 * Interface: 000, lines 1828-1865.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - there is none
 */
gni_return_t GNI_PostDataProbe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
			       uint32_t *remote_id);

/**
 * GNI_PostDataProbeById() - find a datagram with an id in a final state
 * @nic_hndl: the NIC
 * @datagram_id: out, its id
 *
 * Finds datagrams posted with an id, the one that ended first. It stays until
 * GNI_EpPostDataTestById() or GNI_EpPostDataWaitById() takes it away.
 *
 * Interface: 000, lines 1868-1902.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @datagram_id is NULL
 * * %GNI_RC_NO_MATCH - there is none
 */
gni_return_t GNI_PostDataProbeById(gni_nic_handle_t nic_hndl, uint64_t *datagram_id);

/**
 * GNI_PostdataProbeWaitById() - wait until GNI_PostDataProbeById() finds one
 * @nic_hndl: the NIC
 * @timeout: milliseconds; (-1) for ever
 * @datagram_id: out, its id
 *
 * Comes back at once as long as there is one, so it may be called again before
 * the datagram is taken away.
 *
 * Interface: 000, lines 1905-1944.
 *
 * Context: any thread; waits up to @timeout, also after a signal; a
 * cancellation point.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @datagram_id is NULL
 * * %GNI_RC_TIMEOUT - @timeout passed
 */
gni_return_t GNI_PostdataProbeWaitById(gni_nic_handle_t nic_hndl, uint32_t timeout,
				       uint64_t *datagram_id);

/**
 * GNI_EpPostDataCancel() - cancel an endpoint's datagram
 * @ep_hndl: the endpoint
 *
 * Interface: 000, lines 1947-1964.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - cancelled
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 */
gni_return_t GNI_EpPostDataCancel(gni_ep_handle_t ep_hndl);

/**
 * GNI_EpPostDataCancelById() - cancel a datagram with an id
 * @ep_hndl: the endpoint that it was posted on
 * @datagram_id: its id
 *
 * One that a peer is being matched with, or that was posted on a bound
 * endpoint, turns up in a probe and tests as GNI_POST_TERMINATED; another is
 * gone at once and tests as GNI_RC_NO_MATCH.
 *
 * Interface: 000, lines 1967-1987.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - cancelled
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or the id is (-1)
 * * %GNI_RC_NO_MATCH - the endpoint has no such datagram
 */
gni_return_t GNI_EpPostDataCancelById(gni_ep_handle_t ep_hndl, uint64_t datagram_id);

/**
 * GNI_MemRegister() - let peers, and posts, reach a range of memory
 * @nic_hndl: the NIC
 * @address: where it starts; need not be aligned
 * @length: bytes, not 0
 * @dst_cq_hndl: queue for target events of this region; NULL for none, then a
 *	transaction that asks for one goes without
 * @flags: GNI_MEM_* bits
 * @vmdh_index: with GNI_MEM_USE_VMDH, the index in the block of
 *	GNI_SetMddResources(), (-1) for the next free one
 * @mem_hndl: in and out, the handle; left alone on failure
 *
 * Transactions address the region by virtual address. They are held to the
 * range in whole pages. Ranges may overlap, and the same range may be
 * registered many times; each registration has its own handle. A handle made
 * on one NIC serves as local handle on every NIC of the job in this process.
 *
 * Interface: 000, lines 1990-2052.
 *
 * Context: any thread; may wait for memory to be paged in.
 * Return:
 * * %GNI_RC_SUCCESS - registered
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, @length is 0, the range does
 *   not exist or cannot be pinned, a flag makes no sense here, or @vmdh_index
 *   is outside the block
 * * %GNI_RC_ERROR_RESOURCE - no registration left for the device or the job,
 *   too much memory is locked, or @vmdh_index is in use
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_PERMISSION_ERROR - the memory cannot be written and @flags lack
 *   GNI_MEM_READ_ONLY
 */
gni_return_t GNI_MemRegister(gni_nic_handle_t nic_hndl, uint64_t address, uint64_t length,
			     gni_cq_handle_t dst_cq_hndl, uint32_t flags, uint32_t vmdh_index,
			     gni_mem_handle_t *mem_hndl);

/**
 * GNI_MemRegisterSegments() - register several ranges as one region
 * @nic_hndl: the NIC
 * @mem_segments: the ranges
 * @segments_cnt: how many, not 0
 * @dst_cq_hndl: queue for target events of this region, or NULL
 * @flags: GNI_MEM_* bits
 * @vmdh_index: as in GNI_MemRegister()
 * @mem_hndl: in and out, the handle; left alone on failure
 *
 * Transactions address the region by byte offset: the ranges follow each other
 * without gaps, from the page that the first one starts in.
 *
 * Interface: 000, lines 2055-2121.
 *
 * Context: any thread; may wait for memory to be paged in.
 * Return:
 * * %GNI_RC_SUCCESS - registered
 * * %GNI_RC_INVALID_PARAM - as GNI_MemRegister(), or a range is not made of
 *   whole pages where another one adjoins, or has length 0
 * * %GNI_RC_ERROR_RESOURCE - as GNI_MemRegister()
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_PERMISSION_ERROR - as GNI_MemRegister()
 */
gni_return_t GNI_MemRegisterSegments(gni_nic_handle_t nic_hndl, gni_mem_segment_t *mem_segments,
				     uint32_t segments_cnt, gni_cq_handle_t dst_cq_hndl,
				     uint32_t flags, uint32_t vmdh_index,
				     gni_mem_handle_t *mem_hndl);

/**
 * GNI_SetMddResources() - set a block of virtual indices aside
 * @nic_hndl: the NIC
 * @num_entries: how many, not 0
 *
 * To be called once, before the first registration with GNI_MEM_USE_VMDH.
 *
 * Interface: 000, lines 2125-2145.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, it has a block, or @num_entries is 0
 *   or too many
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_SetMddResources(gni_nic_handle_t nic_hndl, uint32_t num_entries);

/**
 * GNI_MemDeregister() - undo a registration
 * @nic_hndl: the NIC it was made on
 * @mem_hndl: its handle
 *
 * When the call returns no peer can reach the memory any more; transactions on
 * their way to it have ended or failed. The memory may have been unmapped
 * before.
 *
 * Interface: 000, lines 2149-2170.
 *
 * Context: any thread; may wait for transactions on their way.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or registration
 */
gni_return_t GNI_MemDeregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl);

/**
 * GNI_MemHndlQueryAttr() - does a memory handle have an attribute
 * @mem_hndl: the handle
 * @attr: the attribute
 * @yesno: out, 1 if so, else 0
 *
 * Interface: 000, lines 2173-2197.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @yesno is set
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, there is no such attribute, or
 *   the handle's checksum is wrong
 */
gni_return_t GNI_MemHndlQueryAttr(gni_mem_handle_t *mem_hndl, gni_mem_handle_attr_t attr,
				  int *yesno);

/**
 * GNI_RebuildMemHndl() - work out a peer's handle from one's own
 * @src_mem_hndl: handle of a region registered with GNI_MEM_USE_VMDH
 * @vmdh_index: the peer's index
 * @dst_mem_hndl: out, the same handle with that index
 *
 * Saves an exchange of handles where peers lay out their memory alike.
 *
 * Interface: 000, lines 2200-2226.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, the handle is damaged or has no
 *   virtual index, or @vmdh_index is out of range
 * * %GNI_RC_INVALID_STATE - the region is only reserved, never updated
 */
gni_return_t GNI_RebuildMemHndl(gni_mem_handle_t *src_mem_hndl, uint32_t vmdh_index,
				gni_mem_handle_t *dst_mem_hndl);

/**
 * GNI_MemQueryHndls() - go through the registrations of a NIC
 * @nic_hndl: the NIC, or NULL
 * @fd: without @nic_hndl, file descriptor of an attached device; else (-1)
 * @mem_hndl: in, the handle found last, or all zero to begin; out, the next
 * @address: out, where the region starts; 0 on failure
 * @length: out, bytes of the region; 0 on failure
 *
 * Interface: 000, lines 2230-2266.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - there is a next one
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, or not just one of @nic_hndl and
 *   @fd is given
 * * %GNI_RC_NO_MATCH - there is none, or no more
 * * %GNI_RC_INVALID_STATE - the handle given is not one of a registration
 */
gni_return_t GNI_MemQueryHndls(gni_nic_handle_t nic_hndl, int fd, gni_mem_handle_t *mem_hndl,
			       uint64_t *address, uint64_t *length);

/**
 * GNI_CqCreate() - make a completion queue
 * @nic_hndl: the NIC
 * @entry_count: events that it must hold, 1 or more
 * @delay_count: events that may gather before a sleeping thread is woken, 0 to
 *	wake it with each; of meaning for GNI_CQ_BLOCKING only
 * @mode: GNI_CQ_* bits
 * @handler: called for each event by the thread that takes it, before the
 *	call that takes it returns; NULL for none
 * @context: second argument of @handler
 * @cq_hndl: out, the new queue
 *
 * A queue serves source events or target events, not both. One of N entries is
 * good for N posts under way on its endpoints, or N / 2 with
 * GNI_CDM_MODE_DUAL_EVENTS.
 *
 * Interface: 000, lines 2270-2326.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, @entry_count is 0, @mode
 *   makes no sense, or @cq_hndl is NULL
 * * %GNI_RC_ERROR_RESOURCE - more than 2^20 entries, no queue left for the device
 *   or the job, or the ring would pass RLIMIT_MEMLOCK
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_CqCreate(gni_nic_handle_t nic_hndl, uint32_t entry_count, uint32_t delay_count,
			  gni_cq_mode_t mode, void (*handler)(gni_cq_entry_t *, void *),
			  void *context, gni_cq_handle_t *cq_hndl);

/**
 * GNI_CqDestroy() - destroy a completion queue
 * @cq_hndl: the queue
 *
 * A region that names it as its queue goes on without one.
 *
 * Interface: 000, lines 2329-2349.
 *
 * Context: one thread, with no other one using the queue.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such queue
 * * %GNI_RC_ERROR_RESOURCE - an endpoint uses it
 */
gni_return_t GNI_CqDestroy(gni_cq_handle_t cq_hndl);

/**
 * GNI_PostRdma() - post a transaction to the block transfer engine
 * @ep_hndl: the endpoint, bound
 * @post_descr: the transaction, of type GNI_POST_RDMA_PUT or GNI_POST_RDMA_GET
 *
 * Returns before it is carried out. What goes wrong at the peer is told by the
 * event. See struct gni_post_descriptor for fields, alignment and lifetime. A
 * call that fails has no effect at all.
 *
 * Interface: 000, lines 2352-2379.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not bound, the type is not
 *   one for this call, length is 0, cq_mode asks for both source events
 *   without GNI_CDM_MODE_DUAL_EVENTS, or the local range is not inside the
 *   region that the local handle names
 * * %GNI_RC_ALIGNMENT_ERROR - remote address or length of a get is not a
 *   multiple of 4
 * * %GNI_RC_ERROR_RESOURCE - as many posts as the queue has entries are under
 *   way; take events and try again
 * * %GNI_RC_ERROR_NOMEM - no memory; try again
 * * %GNI_RC_PERMISSION_ERROR - a get into a local region that is read-only
 */
gni_return_t GNI_PostRdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/**
 * GNI_PostFma() - post a transaction through the FMA window
 * @ep_hndl: the endpoint, bound
 * @post_descr: the transaction, of any type but RDMA and CQWRITE
 *
 * May return before the peer has confirmed it. What goes wrong at the peer is
 * told by the event. See struct gni_post_descriptor for fields, alignment and
 * lifetime. A put may have length 0, nothing else may. A call that fails has
 * no effect at all.
 *
 * Interface: 000, lines 2382-2411.
 *
 * Context: any thread; does not wait for the peer.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not bound, the type or the
 *   AMO command is not one for this call, cq_mode asks for both source events
 *   without GNI_CDM_MODE_DUAL_EVENTS, length is 0 and the type not a put, or a
 *   local range that needs one is not inside the region of the local handle
 * * %GNI_RC_ALIGNMENT_ERROR - remote address or length of a get is not a
 *   multiple of 4; remote address, length or fetch address of an AMO is not a
 *   multiple of its operand; or a flag's address is not a multiple of 8
 * * %GNI_RC_ERROR_RESOURCE - as many posts as the queue has entries are under
 *   way; take events and try again
 * * %GNI_RC_ERROR_NOMEM - no memory; try again
 * * %GNI_RC_PERMISSION_ERROR - a local region to be written is read-only
 */
gni_return_t GNI_PostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/**
 * GNI_PostCqWrite() - put an event into a peer's queue
 * @ep_hndl: the endpoint, bound
 * @post_descr: the transaction, of type GNI_POST_CQWRITE
 *
 * The low 48 bits of cqwrite_value arrive in the queue of the region that
 * remote_mem_hndl names, and wake a thread that waits on it.
 *
 * Interface: 000, lines 2414-2436.
 *
 * Context: any thread; does not wait for the peer.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not bound, or the type is
 *   another
 * * %GNI_RC_ERROR_RESOURCE - as many posts as the queue has entries are under
 *   way; take events and try again
 */
gni_return_t GNI_PostCqWrite(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/**
 * GNI_GetCompleted() - get the descriptor that an event belongs to
 * @cq_hndl: the queue that the event came from
 * @event_data: the event, of type POST
 * @post_descr: out, the descriptor that was posted
 *
 * To be called once for each source event of a post, also for one of failure;
 * the descriptor may then be posted again. With dual events both give the same
 * descriptor, and it is free after the global one. Calls need not come in the
 * order of the events.
 *
 * Interface: 000, lines 2439-2471.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @post_descr is set, and its transaction went well
 * * %GNI_RC_TRANSACTION_ERROR - @post_descr is set, and its transaction failed
 * * %GNI_RC_DESCRIPTOR_ERROR - the event belongs to no post under way;
 *   @post_descr is set to NULL
 * * %GNI_RC_INVALID_PARAM - no such queue, or @post_descr is NULL
 */
gni_return_t GNI_GetCompleted(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
			      gni_post_descriptor_t **post_descr);

/**
 * GNI_CqGetEvent() - take an event from a queue
 * @cq_hndl: the queue, of any mode
 * @event_data: out, the event; set for every code but NOT_DONE and
 *	INVALID_PARAM
 *
 * Interface: 000, lines 2474-2504; that an event comes with an error code is
 * not as there.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - an event
 * * %GNI_RC_NOT_DONE - there is none
 * * %GNI_RC_INVALID_PARAM - no such queue, or @event_data is NULL
 * * %GNI_RC_ERROR_RESOURCE - the queue overran and events are lost; bit 63 of
 *   @event_data is set. Said once, then the queue goes on
 * * %GNI_RC_TRANSACTION_ERROR - an event, of a transaction that failed
 */
gni_return_t GNI_CqGetEvent(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data);

/**
 * GNI_CqWaitEvent() - take an event from a queue, wait for it if need be
 * @cq_hndl: the queue, made with GNI_CQ_BLOCKING
 * @timeout: milliseconds; (-1) for ever
 * @event_data: out, the event, as GNI_CqGetEvent() sets it
 *
 * Interface: 000, lines 2507-2541.
 *
 * Context: any thread; waits up to @timeout; a cancellation point.
 * Return:
 * * %GNI_RC_SUCCESS - an event
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_INVALID_PARAM - no such queue, or @event_data is NULL
 * * %GNI_RC_ERROR_RESOURCE - the queue is not a blocking one, or it overran, as
 *   bit 63 of @event_data then says
 * * %GNI_RC_TRANSACTION_ERROR - an event, of a transaction that failed
 * * %GNI_RC_INVALID_STATE - a signal came
 */
gni_return_t GNI_CqWaitEvent(gni_cq_handle_t cq_hndl, uint64_t timeout,
			     gni_cq_entry_t *event_data);

/**
 * GNI_CqVectorWaitEvent() - take an event from one of several queues
 * @cq_hndls: the queues, made with GNI_CQ_BLOCKING
 * @num_cqs: how many, 1 to 1024
 * @timeout: milliseconds; (-1) for ever
 * @event_data: out, the event, as GNI_CqGetEvent() sets it
 * @which: out, index of the queue that it, or the error, comes from
 *
 * Interface: 000, lines 2544-2586.
 *
 * Context: any thread; waits up to @timeout; a cancellation point.
 * Return:
 * * %GNI_RC_SUCCESS - an event
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_NOT_DONE - a signal came, or a queue's interrupts are masked
 * * %GNI_RC_INVALID_PARAM - no such queue, none given, or a pointer is NULL
 * * %GNI_RC_ERROR_RESOURCE - a queue is not a blocking one, or it overran, as
 *   bit 63 of @event_data then says
 * * %GNI_RC_TRANSACTION_ERROR - an event, of a transaction that failed
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_CqVectorWaitEvent(gni_cq_handle_t *cq_hndls, uint32_t num_cqs,
				   uint64_t timeout, gni_cq_entry_t *event_data,
				   uint32_t *which);

/**
 * GNI_CqVectorMonitor() - wait until one of several queues has an event
 * @cq_hndls: the queues, made with GNI_CQ_BLOCKING
 * @num_cqs: how many, 1 to 1024
 * @timeout: milliseconds; (-1) for ever
 * @which: out, index of a queue that has one
 *
 * Takes nothing from the queue: the next call comes back at once while an
 * event is left.
 *
 * Interface: 000, lines 2589-2627.
 *
 * Context: any thread; waits up to @timeout; a cancellation point.
 * Return:
 * * %GNI_RC_SUCCESS - a queue has an event, or overran
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_NOT_DONE - a signal came, or a queue's interrupts are masked
 * * %GNI_RC_INVALID_PARAM - no such queue, none given, or a pointer is NULL
 * * %GNI_RC_ERROR_RESOURCE - a queue is not a blocking one
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_CqVectorMonitor(gni_cq_handle_t *cq_hndls, uint32_t num_cqs, uint64_t timeout,
				 uint32_t *which);

/**
 * GNI_CqInterruptMask() - keep a queue from waking threads
 * @cq_hndl: the queue, made with GNI_CQ_BLOCKING
 *
 * Counts: as many calls of GNI_CqInterruptUnmask() undo it.
 *
 * Interface: 000, lines 2630-2652.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_ERROR_RESOURCE - the queue has no mask; not given, since every
 *   blocking queue has one
 * * %GNI_RC_NOT_DONE - the count cannot go higher
 * * %GNI_RC_INVALID_PARAM - no such queue, or not a blocking one
 */
gni_return_t GNI_CqInterruptMask(gni_cq_handle_t cq_hndl);

/**
 * GNI_CqInterruptUnmask() - undo GNI_CqInterruptMask()
 * @cq_hndl: the queue, made with GNI_CQ_BLOCKING
 *
 * Interface: 000, lines 2655-2677.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_ERROR_RESOURCE - the queue has no mask; not given
 * * %GNI_RC_NOT_DONE - it is not masked
 * * %GNI_RC_INVALID_PARAM - no such queue, or not a blocking one
 */
gni_return_t GNI_CqInterruptUnmask(gni_cq_handle_t cq_hndl);

/**
 * GNI_CqTestEvent() - does a queue have an event
 * @cq_hndl: the queue, of any mode
 *
 * Takes nothing from the queue, and needs no lock of the caller.
 *
 * Interface: 000, lines 2680-2705.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - it has
 * * %GNI_RC_NOT_DONE - it has none
 * * %GNI_RC_INVALID_PARAM - no such queue
 * * %GNI_RC_ERROR_RESOURCE - it overran
 */
gni_return_t GNI_CqTestEvent(gni_cq_handle_t cq_hndl);

/**
 * GNI_CqErrorStr() - put the status of an event into words
 * @entry: the event, of failure or not
 * @buffer: out, the text with its terminating zero
 * @len: bytes of @buffer; 256 is always enough
 *
 * Interface: 000, lines 2708-2735.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - @buffer is NULL
 * * %GNI_RC_SIZE_ERROR - @buffer is too small
 */
gni_return_t GNI_CqErrorStr(gni_cq_entry_t entry, void *buffer, uint32_t len);

/**
 * GNI_CqErrorRecoverable() - can the transaction of an event be tried again
 * @entry: the event, of failure or not
 * @recoverable: out, 1 if so, else 0
 *
 * Interface: 000, lines 2738-2762.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @recoverable is set
 * * %GNI_RC_INVALID_PARAM - @recoverable is NULL
 * * %GNI_RC_INVALID_STATE - the event has a status that does not exist
 */
gni_return_t GNI_CqErrorRecoverable(gni_cq_entry_t entry, uint32_t *recoverable);

/**
 * GNI_SmsgBufferSizeNeeded() - size of a mailbox
 * @smsg_attr: msg_type, mbox_maxcredit and msg_maxsize are looked at
 * @size: out, bytes; a multiple of 64
 *
 * Mailboxes may lie side by side, at multiples of the size.
 *
 * Interface: 000, lines 2765-2788.
 *
 * Context: any thread; no system call; needs no NIC.
 * Return:
 * * %GNI_RC_SUCCESS - @size is set
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, or there is no such mailbox
 */
gni_return_t GNI_SmsgBufferSizeNeeded(gni_smsg_attr_t *smsg_attr, unsigned int *size);

/**
 * GNI_SmsgInit() - set up short messages on an endpoint
 * @ep_hndl: the endpoint, bound
 * @local_smsg_attr: this side
 * @remote_smsg_attr: the peer's side
 *
 * The sides may do this in any order; a message that has come before is found
 * afterwards, as the mailbox is not cleared.
 *
 * Interface: 000, lines 2791-2811.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, the sides
 *   differ in msg_type, mbox_maxcredit or msg_maxsize, or the local mailbox is
 *   too small or outside its region
 * * %GNI_RC_INVALID_STATE - the endpoint is not bound
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_SmsgInit(gni_ep_handle_t ep_hndl, gni_smsg_attr_t *local_smsg_attr,
			  gni_smsg_attr_t *remote_smsg_attr);

/**
 * GNI_SmsgSetDeliveryMode() - choose how a NIC's short messages are delivered
 * @nic_handle: the NIC
 * @dlvr_mode: GNI_DLVMODE_* bits
 *
 * Messages of one endpoint arrive in the order they were sent, whatever the
 * mode.
 *
 * Interface: 000, lines 2814-2832.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, or no such mode
 */
gni_return_t GNI_SmsgSetDeliveryMode(gni_nic_handle_t nic_handle, uint16_t dlvr_mode);

/**
 * GNI_SmsgSend() - send a short message
 * @ep_hndl: the endpoint, set up by GNI_SmsgInit()
 * @header: first part of the message; NULL if @header_length is 0
 * @header_length: bytes of it
 * @data: second part; NULL if @data_length is 0
 * @data_length: bytes of it
 * @msg_id: the caller's name for it, found in the send event
 *
 * Header and data may be used again when the call returns. Each message sent
 * raises one event of type SMSG here, on the endpoint's queue, and one at the
 * peer. The peer's event may come before the message can be seen; and the
 * return of credits raises events of its own, at which stalled senders try
 * again.
 *
 * Interface: 000, lines 2835-2882; that msg_id counts with every type is not
 * as there.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - sent
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or a pointer
 *   is NULL
 * * %GNI_RC_NOT_DONE - no credit or no room for the transaction; try again
 *   after the next event
 * * %GNI_RC_ERROR_RESOURCE - header and data are more than msg_maxsize
 */
gni_return_t GNI_SmsgSend(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			  void *data, uint32_t data_length, uint32_t msg_id);

/**
 * GNI_SmsgSendWTag() - send a short message that has a tag
 * @ep_hndl: the endpoint, set up by GNI_SmsgInit()
 * @header: first part of the message; NULL if @header_length is 0
 * @header_length: bytes of it
 * @data: second part; NULL if @data_length is 0
 * @data_length: bytes of it
 * @msg_id: the caller's name for it, found in the send event
 * @tag: any but GNI_SMSG_ANY_TAG; GNI_SmsgSend() sends 0
 *
 * As GNI_SmsgSend().
 *
 * Interface: 000, lines 2885-2925.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - sent
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or a pointer
 *   is NULL
 * * %GNI_RC_NOT_DONE - no credit or no room for the transaction; try again
 *   after the next event
 * * %GNI_RC_ERROR_RESOURCE - header and data are more than msg_maxsize
 */
gni_return_t GNI_SmsgSendWTag(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			      void *data, uint32_t data_length, uint32_t msg_id, uint8_t tag);

/**
 * GNI_SmsgGetNext() - find the next short message
 * @ep_hndl: the endpoint, set up by GNI_SmsgInit()
 * @header: out, the message in the mailbox, header first, 8-byte aligned; the
 *	caller may write there
 *
 * Finds the same message until GNI_SmsgRelease(). Messages come in the order
 * they were sent. After an event call it until it finds none.
 *
 * Interface: 000, lines 2928-2954.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @header is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or @header is
 *   NULL
 * * %GNI_RC_NOT_DONE - there is none
 * * %GNI_RC_INVALID_STATE - the mailbox is damaged; the connection is lost
 */
gni_return_t GNI_SmsgGetNext(gni_ep_handle_t ep_hndl, void **header);

/**
 * GNI_SmsgGetNextWTag() - find the next short message, if its tag is right
 * @ep_hndl: the endpoint, set up by GNI_SmsgInit()
 * @header: out, as in GNI_SmsgGetNext()
 * @tag: in, the tag wanted, or GNI_SMSG_ANY_TAG; out, the message's
 *
 * Interface: 000, lines 2957-2995.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @header and @tag are set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or a pointer
 *   is NULL
 * * %GNI_RC_NOT_DONE - there is none
 * * %GNI_RC_NO_MATCH - the next message has another tag
 * * %GNI_RC_INVALID_STATE - the mailbox is damaged; the connection is lost
 */
gni_return_t GNI_SmsgGetNextWTag(gni_ep_handle_t ep_hndl, void **header, uint8_t *tag);

/**
 * GNI_SmsgRelease() - give the current short message back
 * @ep_hndl: the endpoint
 *
 * Its memory is no longer the caller's. Credits go back to the peer when
 * enough have gathered.
 *
 * Interface: 000, lines 2998-3022.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is not set up
 * * %GNI_RC_NOT_DONE - there is no current message
 */
gni_return_t GNI_SmsgRelease(gni_ep_handle_t ep_hndl);

/**
 * GNI_MsgqInit() - take part in the node's shared message queue
 * @nic_hndl: the NIC
 * @rcv_cb: gets the messages; NULL for an instance that receives none
 * @cb_data: last argument of @rcv_cb
 * @snd_cq: queue for send events, or NULL; those of a send go to its endpoint's
 * @attrs: shape, the same in all instances of the node
 * @msgq_hndl: out, the message queue
 *
 * All instances of the node must call it. It does not wait for the others:
 * GNI_MsgqGetConnAttrs() says whether all came. A new queue cannot begin before all
 * have left the old one.
 *
 * Interface: 000, lines 3025-3064.
 *
 * Context: any thread; may wait while another instance joins or leaves.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, a pointer is NULL, or @attrs
 *   make no sense
 * * %GNI_RC_ERROR_NOMEM - no memory for the shared region, or it may not be locked
 * * %GNI_RC_INVALID_STATE - another instance gave other attributes, has the same
 *   id, or is leaving; or all nloc_insts are there
 * * %GNI_RC_PERMISSION_ERROR - no hugetlbfs, and no other memory was named
 */
gni_return_t GNI_MsgqInit(gni_nic_handle_t nic_hndl, gni_msgq_rcv_cb_func *rcv_cb, void *cb_data,
			  gni_cq_handle_t snd_cq, gni_msgq_attr_t *attrs,
			  gni_msgq_handle_t *msgq_hndl);

/**
 * GNI_MsgqRelease() - leave the shared message queue
 * @msgq_hndl: the message queue
 *
 * Messages that the instance has not received are dropped.
 *
 * Interface: 000, lines 3067-3087.
 *
 * Context: one thread, with no other one using the message queue; may wait while
 * another instance joins or leaves.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such message queue
 * * %GNI_RC_NOT_DONE - events of sends were not taken, and their endpoints are
 *   still there
 */
gni_return_t GNI_MsgqRelease(gni_msgq_handle_t msgq_hndl);

/**
 * GNI_MsgqIdle() - is the shared message queue ready for a checkpoint
 * @msgq_hndl: the message queue
 *
 * Changes nothing. Other instances could go on sending: stop them first.
 *
 * Interface: 000, lines 3090-3112.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - nothing is under way
 * * %GNI_RC_INVALID_PARAM - no such message queue
 * * %GNI_RC_NOT_DONE - events of sends were not taken, or messages that came
 */
gni_return_t GNI_MsgqIdle(gni_msgq_handle_t msgq_hndl);

/**
 * GNI_MsgqGetConnAttrs() - begin a connection to another node
 * @msgq_hndl: the message queue
 * @pe_addr: PE address of the node, or its translation table index
 * @attrs: out, what the node has to give to GNI_MsgqConnect()
 * @attrs_size: out, bytes of @attrs that count; may be NULL
 *
 * One instance of the node does this for all.
 *
 * Interface: 000, lines 3115-3151.
 *
 * Context: any thread; may wait while another instance joins or leaves.
 * Return:
 * * %GNI_RC_SUCCESS - @attrs are set
 * * %GNI_RC_INVALID_PARAM - no such message queue, or @attrs is NULL
 * * %GNI_RC_INVALID_STATE - begun already
 * * %GNI_RC_ERROR_RESOURCE - there are num_msgq_eps connections
 * * %GNI_RC_PERMISSION_ERROR - instances are still joining, or leaving already
 */
gni_return_t GNI_MsgqGetConnAttrs(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
				  gni_msgq_ep_attr_t *attrs, uint32_t *attrs_size);

/**
 * GNI_MsgqConnect() - complete a connection to another node
 * @msgq_hndl: the message queue
 * @pe_addr: PE address of the node, or its translation table index
 * @attrs: what the node got from GNI_MsgqGetConnAttrs()
 *
 * Interface: 000, lines 3154-3185.
 *
 * Context: any thread; may wait while another instance joins or leaves.
 * Return:
 * * %GNI_RC_SUCCESS - connected
 * * %GNI_RC_INVALID_PARAM - no such message queue, or @attrs make no sense
 * * %GNI_RC_NO_MATCH - no connection to the node was begun
 * * %GNI_RC_INVALID_STATE - connected already
 * * %GNI_RC_PERMISSION_ERROR - instances are still joining, or leaving already
 */
gni_return_t GNI_MsgqConnect(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr,
			     gni_msgq_ep_attr_t *attrs);

/**
 * GNI_MsgqConnRelease() - end a connection to another node
 * @msgq_hndl: the message queue
 * @pe_addr: PE address of the node, or its translation table index
 *
 * Both nodes have to do it, and stop sending before. What was sent must have been
 * received, and what came, too: meanwhile call GNI_MsgqProgress().
 *
 * Interface: 000, lines 3188-3214.
 *
 * Context: any thread; may wait while another instance joins or leaves.
 * Return:
 * * %GNI_RC_SUCCESS - done; the place is free for another node
 * * %GNI_RC_INVALID_PARAM - no such message queue
 * * %GNI_RC_NO_MATCH - no connection to the node
 * * %GNI_RC_NOT_DONE - messages are under way on it
 */
gni_return_t GNI_MsgqConnRelease(gni_msgq_handle_t msgq_hndl, uint32_t pe_addr);

/**
 * GNI_MsgqSend() - send a message through the shared message queue
 * @msgq_hndl: the message queue
 * @ep_hndl: an endpoint bound to the instance that is to get it
 * @hdr: first part of the message; NULL if @hdr_len is 0
 * @hdr_len: bytes of it
 * @msg: second part; NULL if @msg_len is 0
 * @msg_len: bytes of it
 * @msg_id: the caller's name for it, found in the send event
 * @msg_tag: given to the receiver
 *
 * Raises one event of type MSGQ on the endpoint's queue, if it has one. A message to
 * an instance that has died or left has an event with %GNI_RC_TRANSACTION_ERROR.
 *
 * Interface: 000, lines 3217-3254.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - sent
 * * %GNI_RC_INVALID_PARAM - no such message queue or endpoint, or a pointer is
 *   NULL
 * * %GNI_RC_NO_MATCH - no connection to the endpoint's node, or the node had no
 *   such instance when it was connected
 * * %GNI_RC_NOT_DONE - no credit, or too many events of the endpoint were not taken;
 *   try again later
 * * %GNI_RC_SIZE_ERROR - header and message are more than max_msg_sz
 * * %GNI_RC_INVALID_STATE - the connection is not complete
 */
gni_return_t GNI_MsgqSend(gni_msgq_handle_t msgq_hndl, gni_ep_handle_t ep_hndl, void *hdr,
			  uint32_t hdr_len, void *msg, uint32_t msg_len, uint32_t msg_id,
			  uint8_t msg_tag);

/**
 * GNI_MsgqProgress() - hand out messages of the shared message queue
 * @msgq_hndl: the message queue
 * @timeout: milliseconds to wait for each message, 0 not to wait
 *
 * Calls the function given to GNI_MsgqInit() for each message, until there is
 * none or it returns 0. The function may use the message queue itself. With
 * %GNI_MSGQ_MODE_BLOCKING a thread that waits sleeps.
 *
 * Interface: 000, lines 3257-3285.
 *
 * Context: any thread; waits up to @timeout, and calls the caller's function.
 * Return:
 * * %GNI_RC_SUCCESS - no message is left
 * * %GNI_RC_INVALID_PARAM - no such message queue, or it was made without a function
 * * %GNI_RC_NOT_DONE - the function returned 0, or a signal came; there may be more
 * * %GNI_RC_ERROR_RESOURCE - the send queue is full
 * * %GNI_RC_INVALID_STATE - an event came that does not belong here
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_MsgqProgress(gni_msgq_handle_t msgq_hndl, uint32_t timeout);

/**
 * GNI_MsgqSize() - size of the memory behind the shared message queue
 * @attrs: the shape
 * @size: out, bytes, in whole huge pages
 *
 * The pages are those of the memory that GNI_MsgqInit() would take now, of 2 MiB if
 * there is none.
 *
 * Interface: 000, lines 3288-3313.
 *
 * Context: any thread; does not wait; needs no NIC.
 * Return:
 * * %GNI_RC_SUCCESS - @size is set
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, or @attrs make no sense
 */
gni_return_t GNI_MsgqSize(gni_msgq_attr_t *attrs, uint32_t *size);

/**
 * GNI_SmsgSetMaxRetrans() - how often to send a lost short message again
 * @nic_handle: the NIC
 * @max_retrans: how often; FMA_SMSG_MAX_RETRANS_DEFAULT without this call
 *
 * For mailboxes of type %GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT. It is done while
 * events are taken from the queue of the endpoint that sent the message. A
 * message that failed so often has a send event of failure.
 *
 * Interface: 000, lines 3316-3336.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC
 */
gni_return_t GNI_SmsgSetMaxRetrans(gni_nic_handle_t nic_handle, uint16_t max_retrans);

/**
 * GNI_SubscribeErrors() - have error events of a device kept
 * @nic_handle: the NIC, whose protection tag counts; NULL, with CAP_SYS_ADMIN,
 *	for all tags of @device_id
 * @device_id: N of /dev/kgniN, if @nic_handle is NULL
 * @mask: GNI_ERRMASK_* bits of the categories wanted
 * @EEQ_size: events that the queue holds, up to 4096; 0 for 64
 * @err_handle: out, the error queue
 *
 * The queue goes with the NIC. One without a NIC has to be released.
 * An event that finds no room is lost.
 *
 * Interface: 000, lines 3339-3379.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - events are kept from now on
 * * %GNI_RC_INVALID_PARAM - no such NIC, @err_handle is NULL, or the caller is
 *   not privileged and gave no NIC
 * * %GNI_RC_NO_MATCH - no such device
 * * %GNI_RC_ERROR_RESOURCE - no more error queues, of which a NIC has up to 16,
 *   or none that holds so much
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_SubscribeErrors(gni_nic_handle_t nic_handle, uint32_t device_id,
				 gni_error_mask_t mask, uint32_t EEQ_size,
				 gni_err_handle_t *err_handle);

/**
 * GNI_ReleaseErrors() - destroy an error queue
 * @err_handle: the error queue
 *
 * Interface: 000, lines 3382-3401.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 * * %GNI_RC_NOT_DONE - a thread waits on it
 */
gni_return_t GNI_ReleaseErrors(gni_err_handle_t err_handle);

/**
 * GNI_GetErrorMask() - which categories an error queue takes
 * @err_handle: the error queue
 * @mask: out, GNI_ERRMASK_* bits
 *
 * Interface: 000, lines 3404-3427.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @mask is set
 * * %GNI_RC_INVALID_PARAM - no such error queue, or @mask is NULL
 */
gni_return_t GNI_GetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t *mask);

/**
 * GNI_SetErrorMask() - choose the categories that an error queue takes
 * @err_handle: the error queue
 * @mask_in: GNI_ERRMASK_* bits
 * @mask_out: out, those before; may be NULL
 *
 * Interface: 000, lines 3430-3451.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 */
gni_return_t GNI_SetErrorMask(gni_err_handle_t err_handle, gni_error_mask_t mask_in,
			      gni_error_mask_t *mask_out);

/**
 * GNI_GetErrorEvent() - take an error event
 * @err_handle: the error queue
 * @event: out, the event
 *
 * Interface: 000, lines 3454-3475.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @event is set
 * * %GNI_RC_INVALID_PARAM - no such error queue, or @event is NULL
 * * %GNI_RC_NOT_DONE - there is none
 */
gni_return_t GNI_GetErrorEvent(gni_err_handle_t err_handle, gni_error_event_t *event);

/**
 * GNI_WaitErrorEvents() - wait for error events and take them
 * @err_handle: the error queue
 * @events: out, the events
 * @events_size: how many @events has room for, 1 or more
 * @timeout: milliseconds to wait for more once the first has come; the wait
 *	for the first has no end
 * @num_events: out, how many came
 *
 * Interface: 000, lines 3478-3512.
 *
 * Context: any thread; waits.
 * Return:
 * * %GNI_RC_SUCCESS - @events is full, or @timeout is 0 and one came
 * * %GNI_RC_INVALID_PARAM - no such error queue, a pointer is NULL, or
 *   @events_size is 0; or the queue's NIC was destroyed meanwhile
 * * %GNI_RC_NOT_DONE - a signal came first; there are no events
 * * %GNI_RC_TIMEOUT - @timeout passed, or a signal came after the first event;
 *   there are @num_events events
 * * %GNI_RC_PERMISSION_ERROR - @events cannot be written
 */
gni_return_t GNI_WaitErrorEvents(gni_err_handle_t err_handle, gni_error_event_t *events,
				 uint32_t events_size, uint32_t timeout, uint32_t *num_events);

/**
 * GNI_SetErrorPtag() - choose whose errors an error queue takes
 * @err_handle: the error queue
 * @ptag: protection tag; 0 for all
 *
 * Interface: 000, lines 3515-3537.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 * * %GNI_RC_PERMISSION_ERROR - the tag is not the caller's own, and the caller
 *   not privileged
 */
gni_return_t GNI_SetErrorPtag(gni_err_handle_t err_handle, uint8_t ptag);

/**
 * GNI_GetNumLocalDevices() - how many devices this machine has
 * @num_devices: out, how many
 *
 * Interface: 000, lines 3540-3557.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @num_devices is set
 * * %GNI_RC_INVALID_PARAM - @num_devices is NULL
 * * %GNI_RC_ERROR_RESOURCE - none
 */
gni_return_t GNI_GetNumLocalDevices(int *num_devices);

/**
 * GNI_GetLocalDeviceIds() - which devices this machine has
 * @len: how many @device_ids has room for
 * @device_ids: out, their numbers
 *
 * Interface: 000, lines 3560-3581.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @device_ids are set, as many as there are and fit
 * * %GNI_RC_INVALID_PARAM - @device_ids is NULL, or @len is less than 1
 * * %GNI_RC_ERROR_RESOURCE - none
 */
gni_return_t GNI_GetLocalDeviceIds(int len, int *device_ids);

/**
 * GNI_GetVersion() - interface version of the library
 * @version: out, the version, not less than GNI_VERSION of its header
 *
 * Interface: 000, lines 3584-3601.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @version is set
 * * %GNI_RC_INVALID_PARAM - @version is NULL
 */
gni_return_t GNI_GetVersion(uint32_t *version);

/**
 * GNI_GetVersionInformation() - versions of library and driver
 * @version_info: out, all of them
 *
 * Interface: 000, lines 3604-3623.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @version_info is set
 * * %GNI_RC_INVALID_PARAM - @version_info is NULL
 */
gni_return_t GNI_GetVersionInformation(gni_version_info_t *version_info);

/**
 * GNI_GetDeviceType() - what kind of NIC this machine has
 * @dev_type: out, the kind
 *
 * Needs no communication domain.
 *
 * Interface: 000, lines 3626-3643.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @dev_type is set
 * * %GNI_RC_INVALID_PARAM - @dev_type is NULL
 * * %GNI_RC_ERROR_RESOURCE - it has none
 */
gni_return_t GNI_GetDeviceType(gni_nic_device_t *dev_type);

/**
 * GNI_GetDevResInfo() - how much of a resource a device has
 * @device_id: N of /dev/kgniN
 * @res_type: the resource
 * @res_desc: out, how much
 *
 * Needs no communication domain.
 *
 * Interface: 000, lines 3646-3672.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @res_desc is set
 * * %GNI_RC_INVALID_PARAM - no such device or resource, or @res_desc is NULL
 * * %GNI_RC_ERROR_RESOURCE - this kind of device has no such resource
 */
gni_return_t GNI_GetDevResInfo(uint32_t device_id, gni_dev_res_t res_type,
			       gni_dev_res_desc_t *res_desc);

/**
 * GNI_GetJobResInfo() - how much of a resource a job uses and may use
 * @device_id: N of /dev/kgniN
 * @ptag: protection tag of the job
 * @res_type: the resource
 * @res_desc: out, how much
 *
 * Needs no communication domain.
 *
 * Interface: 000, lines 3675-3703.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @res_desc is set
 * * %GNI_RC_INVALID_PARAM - no such device or resource, or @res_desc is NULL
 * * %GNI_RC_ERROR_RESOURCE - this kind of device has no such resource
 */
gni_return_t GNI_GetJobResInfo(uint32_t device_id, uint8_t ptag, gni_job_res_t res_type,
			       gni_job_res_desc_t *res_desc);

/**
 * GNI_GetNttGran() - granularity of a device's translation table
 * @device_id: N of /dev/kgniN
 * @ntt_gran: out, PE addresses that an entry covers
 *
 * Interface: 000, lines 3706-3728.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @ntt_gran is set
 * * %GNI_RC_INVALID_PARAM - no such device, or @ntt_gran is NULL
 */
gni_return_t GNI_GetNttGran(uint32_t device_id, uint32_t *ntt_gran);

/**
 * GNI_GetPtag() - protection tag that goes with a cookie
 * @device_id: N of /dev/kgniN
 * @cookie: the cookie
 * @ptag: out, the tag; one is chosen for a cookie that has none
 *
 * Needs no communication domain.
 *
 * Interface: 000, lines 3731-3759.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @ptag is set
 * * %GNI_RC_INVALID_PARAM - @ptag is NULL
 * * %GNI_RC_NO_MATCH - no such device; or the cookie has no tag, and jobs have
 *   to be configured
 * * %GNI_RC_ERROR_RESOURCE - no tag is left
 */
gni_return_t GNI_GetPtag(uint32_t device_id, uint32_t cookie, uint8_t *ptag);

/**
 * GNI_CeCreate() - make a collective engine channel
 * @nic_hndl: the NIC
 * @ce_hndl: out, the new channel
 *
 * Interface: 000, lines 3762-3788.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @ce_hndl is NULL
 * * %GNI_RC_ERROR_RESOURCE - no channel left for the device or the job
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_CeCreate(gni_nic_handle_t nic_hndl, gni_ce_handle_t *ce_hndl);

/**
 * GNI_CeGetId() - number of a collective engine channel
 * @ce_hndl: the channel
 * @ce_id: out, its number, by which endpoints name it
 *
 * Interface: 000, lines 3791-3815.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @ce_id is set
 * * %GNI_RC_INVALID_PARAM - no such channel, or @ce_id is NULL
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_CeGetId(gni_ce_handle_t ce_hndl, uint32_t *ce_id);

/**
 * GNI_EpSetCeAttr() - make an endpoint an edge of a collective tree
 * @ep_hndl: the endpoint, bound to the other end
 * @ce_id: channel at the other end; not looked at, and often (-1), if the other
 *	end is a leaf
 * @child_id: the child's number at its parent, 0 to GNI_CE_MAX_CHILDREN - 1
 * @child_type: what the child is
 *
 * Four kinds of edge: a channel's to a leaf (@child_id, GNI_CE_CHILD_PE), a
 * channel's to a channel below (@ce_id of that, @child_id,
 * GNI_CE_CHILD_VCE), a channel's to the one above (@ce_id of that, @child_id
 * that it has there, GNI_CE_CHILD_VCE), and a leaf's to its channel (@ce_id of
 * that, @child_id that it has there, GNI_CE_CHILD_PE). The last is what
 * reductions are posted on.
 *
 * Interface: 000, lines 3818-3883.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, @child_id is too great, or there
 *   is no such type
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_EpSetCeAttr(gni_ep_handle_t ep_hndl, uint32_t ce_id, uint32_t child_id,
			     gni_ce_child_t child_type);

/**
 * GNI_CeConfigure() - give a collective engine channel its place in the tree
 * @ce_hndl: the channel
 * @child_eps: edges to its children
 * @num_child_eps: how many, 1 to GNI_CE_MAX_CHILDREN
 * @parent_ep: edge to the channel above; NULL at the root
 * @cq_hndl: queue for the channel's events, or NULL
 * @modes: GNI_CE_MODE_* bits, up to one of each group
 *
 * Without a rounding mode sums are rounded to nearest. All channels of a tree are
 * to be configured before its leaves post. A channel may be configured again; what
 * its tree has under way then ends with an error. If a member of the tree ends, so
 * does all that is posted there, until its channels are configured again.
 *
 * Interface: 000, lines 3886-3915.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such channel, endpoint or queue, an endpoint
 *   without GNI_EpSetCeAttr(), two children with one number, or modes that
 *   exclude each other
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_CeConfigure(gni_ce_handle_t ce_hndl, gni_ep_handle_t *child_eps,
			     uint32_t num_child_eps, gni_ep_handle_t parent_ep,
			     gni_cq_handle_t cq_hndl, uint32_t modes);

/**
 * GNI_CeCheckResult() - has a reduction's result come
 * @result: where the post wants it
 * @length: bytes of it; not looked at
 *
 * On a transaction error gni_ce_res_status_ok() tells whether a result has
 * come at all; if so, gni_ce_res_get_fpe() tells which exceptions were raised.
 *
 * Interface: 000, lines 3918-3952.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - it has
 * * %GNI_RC_INVALID_PARAM - @result is NULL
 * * %GNI_RC_NOT_DONE - not yet
 * * %GNI_RC_TRANSACTION_ERROR - it has, with a network error or an exception
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_CeCheckResult(gni_ce_result_t *result, uint32_t length);

/**
 * GNI_CeDestroy() - destroy a collective engine channel
 * @ce_hndl: the channel
 *
 * Interface: 000, lines 3955-3974.
 *
 * Context: one thread, with no other one using the channel.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such channel
 * * %GNI_RC_ILLEGAL_OP - this kind of device has no collective engine
 */
gni_return_t GNI_CeDestroy(gni_ce_handle_t ce_hndl);

/**
 * GNI_SetBIConfig() - set balanced injection
 * @device_id: N of /dev/kgniN
 * @bw: bandwidth that the node may inject, percent, or outstanding requests
 * @aot_bw: the same for after a throttle
 * @modes: GNI_BI_FLAG_* bits
 *
 * Interface: 000, lines 4000-4025.
 *
 * Context: any thread; does not wait; needs CAP_SYS_ADMIN.
 * Return:
 * * %GNI_RC_SUCCESS - on its way; GNI_BISyncWait() tells when it is in force
 * * %GNI_RC_INVALID_PARAM - no such device, a value that counts is out of range,
 *   or @modes has other bits or none that changes anything
 * * %GNI_RC_PERMISSION_ERROR - the caller is not privileged
 */
gni_return_t GNI_SetBIConfig(uint32_t device_id, uint16_t bw, uint16_t aot_bw, uint16_t modes);

/**
 * GNI_GetBIConfig() - get balanced injection
 * @device_id: N of /dev/kgniN
 * @desc: out, the settings
 *
 * Interface: 000, lines 4028-4050.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @desc is set
 * * %GNI_RC_INVALID_PARAM - no such device, or @desc is NULL
 */
gni_return_t GNI_GetBIConfig(uint32_t device_id, gni_bi_desc_t *desc);

/**
 * GNI_BISyncWait() - wait until the latest GNI_SetBIConfig() is in force
 * @device_id: N of /dev/kgniN
 * @timeout: milliseconds
 *
 * Interface: 000, lines 4053-4076.
 *
 * Context: any thread; waits up to @timeout.
 * Return:
 * * %GNI_RC_SUCCESS - it is
 * * %GNI_RC_INVALID_PARAM - no such device
 * * %GNI_RC_TIMEOUT - @timeout passed
 */
gni_return_t GNI_BISyncWait(uint32_t device_id, uint32_t timeout);

/**
 * GNI_GetNicStat() - read a statistic
 * @nic_hndl: the NIC
 * @stat: which one
 * @value: out, its count
 *
 * Interface: 000, lines 4079-4100.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @value is set
 * * %GNI_RC_INVALID_PARAM - no such NIC or statistic, or @value is NULL
 */
gni_return_t GNI_GetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat, uint32_t *value);

/**
 * GNI_ResetNicStat() - set a statistic to zero
 * @nic_hndl: the NIC
 * @stat: which one
 *
 * Interface: 000, lines 4103-4120.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or statistic
 */
gni_return_t GNI_ResetNicStat(gni_nic_handle_t nic_hndl, gni_statistic_t stat);

/**
 * DOC: Completion channels
 *
 * A file descriptor for poll(), select() and epoll that becomes readable when
 * a queue of the channel has an event. Attach queues to a channel, arm them,
 * wait for the descriptor, ask GNI_CompChanGetEvent() which queue it was, arm
 * that one again and empty it.
 *
 * Newer than version 0x5c.
 */
typedef struct gni_comp_chan *gni_comp_chan_handle_t;

/**
 * GNI_CompChanCreate() - make a completion channel
 * @nic_hndl: the NIC
 * @chan_hndl: out, the new channel
 *
 * Newer than 0x5c.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @chan_hndl is NULL
 * * %GNI_RC_ERROR_RESOURCE - no file descriptor left
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t GNI_CompChanCreate(gni_nic_handle_t nic_hndl, gni_comp_chan_handle_t *chan_hndl);

/**
 * GNI_CompChanDestroy() - destroy a completion channel
 * @chan_hndl: the channel
 *
 * Closes the file descriptor. Newer than 0x5c.
 *
 * Context: one thread, with no other one using the channel.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such channel
 * * %GNI_RC_ERROR_RESOURCE - a queue is attached to it
 */
gni_return_t GNI_CompChanDestroy(gni_comp_chan_handle_t chan_hndl);

/**
 * GNI_CompChanFd() - file descriptor of a completion channel
 * @chan_hndl: the channel
 * @fd: out, the descriptor; it belongs to the channel
 *
 * Level-triggered for POLLIN: readable as long as GNI_CompChanGetEvent() has
 * something to say. To be polled only, not read. Newer than 0x5c.
 *
 * Context: any thread; no system call.
 * Return:
 * * %GNI_RC_SUCCESS - @fd is set
 * * %GNI_RC_INVALID_PARAM - no such channel, or @fd is NULL
 */
gni_return_t GNI_CompChanFd(gni_comp_chan_handle_t chan_hndl, int *fd);

/**
 * GNI_CompChanGetEvent() - which queue made a completion channel readable
 * @chan_hndl: the channel
 * @cq_hndl: out, a queue that was armed and had an event; it is no longer armed
 *
 * Who takes events while a queue is armed may find none left when told: arm it again.
 *
 * Newer than 0x5c.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - @cq_hndl is set
 * * %GNI_RC_NOT_DONE - none
 * * %GNI_RC_INVALID_PARAM - no such channel, or @cq_hndl is NULL
 */
gni_return_t GNI_CompChanGetEvent(gni_comp_chan_handle_t chan_hndl, gni_cq_handle_t *cq_hndl);

/**
 * GNI_CqAttachCompChan() - attach a queue to a completion channel
 * @cq_hndl: the queue, made with GNI_CQ_BLOCKING
 * @chan_hndl: the channel, of the same NIC
 *
 * Lasts until the queue is destroyed. Newer than 0x5c.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such queue or channel, they are of different
 *   NICs, or the queue is not a blocking one
 * * %GNI_RC_INVALID_STATE - the queue is attached to a channel
 */
gni_return_t GNI_CqAttachCompChan(gni_cq_handle_t cq_hndl, gni_comp_chan_handle_t chan_hndl);

/**
 * GNI_CqArmCompChan() - have queues make their completion channels readable
 * @cq_hndls: the queues, attached
 * @num_cqs: how many, 1 or more
 *
 * Good for one time. A queue that has an event already makes its channel
 * readable now. Newer than 0x5c.
 *
 * Context: any thread; does not wait.
 * Return:
 * * %GNI_RC_SUCCESS - armed
 * * %GNI_RC_INVALID_PARAM - no such queue, none given, or the pointer is NULL
 * * %GNI_RC_INVALID_STATE - a queue is not attached; none is armed then
 */
gni_return_t GNI_CqArmCompChan(gni_cq_handle_t *cq_hndls, uint32_t num_cqs);

/**
 * DOC: Elements of chained posts
 *
 * The next_descr of a descriptor given to GNI_CtPostFma() points to the first
 * of a list of elements, of the struct that goes with the descriptor's type;
 * NULL ends the list. Fields mean what they do in struct gni_post_descriptor.
 * cq_mode and dlvr_mode of elements are there so that code which sets them
 * compiles, and not looked at: those of the descriptor count for the chain. With
 * GNI_CQMODE_REMOTE_EVENT each transaction has an event at its target.
 *
 * Newer than 0x5c; their layout is this library's own.
 */

/**
 * struct gni_ct_put_post_descriptor - element of a chain of puts
 * @next_descr: next element, or NULL
 * @ep_hndl: endpoint to use, bound to the same peer or another; NULL is that of
 *	the call
 * @cq_mode: not looked at
 * @dlvr_mode: not looked at
 * @local_addr: source
 * @local_mem_hndl: not needed
 * @remote_addr: destination
 * @remote_mem_hndl: handle of the region of @remote_addr
 * @length: bytes
 * @sync_flag_value: value of the flag, if the chain is of puts with a flag
 * @sync_flag_addr: address of the flag, likewise
 */
typedef struct gni_ct_put_post_descriptor {
	void *next_descr;
	gni_ep_handle_t ep_hndl;
	uint16_t cq_mode;
	uint16_t dlvr_mode;
	uint64_t local_addr;
	gni_mem_handle_t local_mem_hndl;
	uint64_t remote_addr;
	gni_mem_handle_t remote_mem_hndl;
	uint64_t length;
	uint64_t sync_flag_value;
	uint64_t sync_flag_addr;
} gni_ct_put_post_descriptor_t;

/**
 * struct gni_ct_get_post_descriptor - element of a chain of gets
 * @next_descr: next element, or NULL
 * @ep_hndl: endpoint to use, bound to the same peer or another; NULL is that of
 *	the call
 * @cq_mode: not looked at
 * @dlvr_mode: not looked at
 * @local_addr: destination
 * @local_mem_hndl: handle of the region of @local_addr
 * @remote_addr: source, a multiple of 4
 * @remote_mem_hndl: handle of the region of @remote_addr
 * @length: bytes, a multiple of 4
 */
typedef struct gni_ct_get_post_descriptor {
	void *next_descr;
	gni_ep_handle_t ep_hndl;
	uint16_t cq_mode;
	uint16_t dlvr_mode;
	uint64_t local_addr;
	gni_mem_handle_t local_mem_hndl;
	uint64_t remote_addr;
	gni_mem_handle_t remote_mem_hndl;
	uint64_t length;
} gni_ct_get_post_descriptor_t;

/**
 * struct gni_ct_amo_post_descriptor - element of a chain of AMOs
 * @next_descr: next element, or NULL
 * @ep_hndl: endpoint to use, bound to the same peer or another; NULL is that of
 *	the call
 * @cq_mode: not looked at
 * @dlvr_mode: not looked at
 * @local_addr: where what a fetching command brings goes
 * @local_mem_hndl: handle of the region of @local_addr
 * @remote_addr: what to work on
 * @remote_mem_hndl: handle of the region of @remote_addr
 * @length: bytes
 * @amo_cmd: the operation
 * @first_operand: first operand
 * @second_operand: second operand
 */
typedef struct gni_ct_amo_post_descriptor {
	void *next_descr;
	gni_ep_handle_t ep_hndl;
	uint16_t cq_mode;
	uint16_t dlvr_mode;
	uint64_t local_addr;
	gni_mem_handle_t local_mem_hndl;
	uint64_t remote_addr;
	gni_mem_handle_t remote_mem_hndl;
	uint64_t length;
	gni_fma_cmd_type_t amo_cmd;
	uint64_t first_operand;
	uint64_t second_operand;
} gni_ct_amo_post_descriptor_t;

/**
 * struct gni_ct_cqw_post_descriptor - element of a chain of CQ writes
 * @next_descr: next element, or NULL
 * @ep_hndl: endpoint to use, bound to the same peer or another; NULL is that of
 *	the call
 * @cq_mode: not looked at
 * @dlvr_mode: not looked at
 * @remote_mem_hndl: handle of any region of the queue to write to
 * @cqwrite_value: the value, in the low 48 bits
 */
typedef struct gni_ct_cqw_post_descriptor {
	void *next_descr;
	gni_ep_handle_t ep_hndl;
	uint16_t cq_mode;
	uint16_t dlvr_mode;
	gni_mem_handle_t remote_mem_hndl;
	uint64_t cqwrite_value;
} gni_ct_cqw_post_descriptor_t;

/**
 * GNI_CtPostFma() - post a chain of transactions through the FMA window
 * @ep_hndl: the endpoint of the first transaction, bound
 * @post_descr: the first transaction: an FMA put (with or without flag), FMA
 *	get, AMO or CQ write; next_descr names the elements that follow
 *
 * One source event and one GNI_GetCompleted(), of @post_descr, stand for all.
 * Elements stay in place until then. Without elements it is GNI_PostFma(), or
 * GNI_PostCqWrite(). A call that fails has no effect at all.
 *
 * Newer than 0x5c, see GNI_VERSION_FMA_CHAIN_TRANSACTIONS.
 *
 * Context: any thread; does not wait for the peers.
 * Return: as GNI_PostFma(), for the first transaction and every element.
 */
gni_return_t GNI_CtPostFma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

#else /* __KERNEL__ */

/*
 * Interface version of the driver, exported, as GNI_VERSION. Clients look it
 * up at run time to tell what the driver can do.
 */
extern uint32_t kgni_driver_version;

/**
 * struct gni_errno - what a kernel client can learn about a failed call
 * @valid: the rest counts
 * @func: function that failed
 * @lineno: line in its source
 * @errno: error number
 * @err: error number, where errno is a macro
 * @data1: depends on the function
 * @data2: depends on the function
 * @data3: depends on the function
 * @data4: depends on the function
 *
 * Interface: 000, lines 944-957.
 */
typedef struct gni_errno {
	uint8_t valid;
	char func[GNI_ERRNO_FUNC_STR_LEN];
	int lineno;
#ifdef errno
	int err;
#else
	int errno;
#endif
	uint64_t data1;
	uint64_t data2;
	uint64_t data3;
	uint64_t data4;
} gni_errno_t;

/**
 * typedef gni_cq_event_hndlr_f - what to do when a queue gets events
 * @device_id: number of the device
 * @data: what gni_cq_create() was given
 *
 * Called when an event is in the queue that came after gni_cq_get_event() found
 * nothing, or, with a delay, when more events wait than that; and perhaps when
 * there is none. One call at a time, and none once gni_cq_destroy() has returned.
 *
 * Interface: 000, line 4915.
 *
 * Context: softirq; must not sleep.
 */
typedef void (gni_cq_event_hndlr_f)(uint32_t device_id, uint64_t data);

/**
 * gni_cdm_create() - make a communication domain
 * @inst_id: address of the instance in the client's protocol
 * @ptag: protection tag, below GNI_PTAG_USER_START for kernel clients
 * @cookie: cookie, see GNI_JOB_CREATE_COOKIE()
 * @modes: GNI_CDM_MODE_* bits
 * @cdm_hndl: out, the new domain
 *
 * Interface: 000, lines 4128-4159.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - @cdm_hndl is NULL, or @ptag is 0
 * * %GNI_RC_ERROR_RESOURCE - no memory; GNI_RC_ERROR_NOMEM is not given
 */
gni_return_t gni_cdm_create(uint32_t inst_id, uint8_t ptag, uint32_t cookie, uint32_t modes,
			    gni_cdm_handle_t *cdm_hndl);

/**
 * gni_cdm_destroy() - destroy a communication domain and all that belongs to it
 * @cdm_hndl: the domain
 *
 * Interface: 000, lines 4162-4180.
 *
 * Context: process context; waits for transactions on their way.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such domain
 */
gni_return_t gni_cdm_destroy(gni_cdm_handle_t cdm_hndl);

/**
 * gni_cdm_attach() - attach a communication domain to a device
 * @cdm_hndl: the domain
 * @device_id: N of /dev/kgniN, or (-1) for the nearest one
 * @local_addr: out, PE address of the device
 * @nic_hndl: out, the attached NIC
 *
 * A domain attaches to a device once; several domains may attach to one.
 *
 * Interface: 000, lines 4183-4217.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_NOT_DONE - not now, try again: the job is suspended
 * * %GNI_RC_INVALID_PARAM - no such domain, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - no such device
 * * %GNI_RC_INVALID_STATE - the domain is attached to the device already
 * * %GNI_RC_ERROR_RESOURCE - something of the device or the job has run out, or
 *   there is no memory; GNI_RC_ERROR_NOMEM is not given
 */
gni_return_t gni_cdm_attach(gni_cdm_handle_t cdm_hndl, uint32_t device_id, uint32_t *local_addr,
			    gni_nic_handle_t *nic_hndl);

/**
 * gni_ep_create() - make an endpoint
 * @nic_hndl: the NIC
 * @src_cq_hndl: queue for the source events of its transactions; NULL for an
 *	endpoint that exchanges datagrams only
 * @ep_hndl: out, the new endpoint, not bound
 *
 * Interface: 000, lines 4220-4249.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, the queue is of another NIC,
 *   or @ep_hndl is NULL
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t gni_ep_create(gni_nic_handle_t nic_hndl, gni_cq_handle_t src_cq_hndl,
			   gni_ep_handle_t *ep_hndl);

/**
 * gni_ep_set_eventdata() - choose the event values of an endpoint
 * @ep_hndl: the endpoint
 * @local_event: value of source events, LOCAL and GLOBAL ones and those of
 *	short messages
 * @remote_event: value of target events
 *
 * As GNI_EpSetEventData().
 *
 * Interface: 000, lines 4251-4273; which value a GLOBAL event has is not as
 * there.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 */
gni_return_t gni_ep_set_eventdata(gni_ep_handle_t ep_hndl, uint32_t local_event,
				  uint32_t remote_event);

/**
 * gni_ep_bind() - bind an endpoint to a peer
 * @ep_hndl: the endpoint, not bound
 * @remote_addr: PE address of the peer, or its translation table index
 * @remote_id: instance id of the peer
 *
 * As GNI_EpBind().
 *
 * Interface: 000, lines 4275-4300.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is bound
 * * %GNI_RC_NOT_DONE - no memory now, try again; GNI_RC_ERROR_NOMEM is not
 *   given
 */
gni_return_t gni_ep_bind(gni_ep_handle_t ep_hndl, uint32_t remote_addr, uint32_t remote_id);

/**
 * gni_ep_unbind() - undo gni_ep_bind()
 * @ep_hndl: the endpoint
 *
 * Interface: 000, lines 4302-4324.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is not bound
 * * %GNI_RC_NOT_DONE - it has transactions under way
 */
gni_return_t gni_ep_unbind(gni_ep_handle_t ep_hndl);

/**
 * gni_ep_destroy() - destroy an endpoint
 * @ep_hndl: the endpoint, bound or not
 *
 * As GNI_EpDestroy().
 *
 * Interface: 000, lines 4327-4343.
 *
 * Context: process context; nobody else may be using the endpoint.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 */
gni_return_t gni_ep_destroy(gni_ep_handle_t ep_hndl);

/**
 * gni_ep_postdata() - post a datagram
 * @ep_hndl: the endpoint
 * @in_data: what to send; NULL if @data_len is 0
 * @data_len: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @out_buf: for the peer's data; NULL if @buf_size is 0
 * @buf_size: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 *
 * As GNI_EpPostData().
 *
 * Interface: 000, lines 4346-4375.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or a pointer is NULL
 * * %GNI_RC_ERROR_RESOURCE - the endpoint has a datagram posted, or one to or
 *   from this peer is being exchanged already
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_SIZE_ERROR - a size is more than GNI_DATAGRAM_MAXSIZE
 */
gni_return_t gni_ep_postdata(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
			     void *out_buf, uint16_t buf_size);

/**
 * gni_ep_postdata_w_id() - post a datagram that has an id
 * @ep_hndl: the endpoint
 * @in_data: what to send; NULL if @data_len is 0
 * @data_len: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @out_buf: for the peer's data; NULL if @buf_size is 0
 * @buf_size: bytes of it, up to GNI_DATAGRAM_MAXSIZE
 * @datagram_id: the caller's name for it, unique on the NIC, not (-1)
 *
 * As GNI_EpPostDataWId().
 *
 * Interface: 000, lines 4378-4417.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or the id is
 *   (-1)
 * * %GNI_RC_ERROR_RESOURCE - the id is in use, or a datagram to or from this
 *   peer is being exchanged already
 * * %GNI_RC_ERROR_NOMEM - no memory
 * * %GNI_RC_SIZE_ERROR - a size is more than GNI_DATAGRAM_MAXSIZE
 */
gni_return_t gni_ep_postdata_w_id(gni_ep_handle_t ep_hndl, void *in_data, uint16_t data_len,
				  void *out_buf, uint16_t buf_size, uint64_t datagram_id);

/**
 * gni_ep_postdata_test() - where does an endpoint's datagram stand
 * @ep_hndl: the endpoint
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * Interface: 000, lines 4420-4452.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @post_state is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_ERROR_NOMEM - no memory; not given
 */
gni_return_t gni_ep_postdata_test(gni_ep_handle_t ep_hndl, gni_post_state_t *post_state,
				  uint32_t *remote_addr, uint32_t *remote_id);

/**
 * gni_ep_postdata_test_by_id() - where does a datagram with an id stand
 * @ep_hndl: the endpoint that it was posted on
 * @datagram_id: its id
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * After gni_postdata_probe_by_id() has given the id the state is a final one.
 *
 * Interface: 000, lines 4455-4495.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @post_state is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or the id is
 *   (-1)
 * * %GNI_RC_NO_MATCH - the endpoint has no such datagram
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_ERROR_NOMEM - no memory; not given
 */
gni_return_t gni_ep_postdata_test_by_id(gni_ep_handle_t ep_hndl, uint64_t datagram_id,
					gni_post_state_t *post_state, uint32_t *remote_addr,
					uint32_t *remote_id);

/**
 * gni_ep_postdata_wait() - wait for an endpoint's datagram
 * @ep_hndl: the endpoint
 * @timeout: milliseconds, not 0; (-1) for ever
 * @post_state: out, the state; a final one takes the datagram away
 * @remote_addr: out, PE address of the peer, if GNI_POST_COMPLETED
 * @remote_id: out, instance id of the peer, if GNI_POST_COMPLETED
 *
 * Interface: 000, lines 4498-4536.
 *
 * Context: process context; waits up to @timeout.
 * Return:
 * * %GNI_RC_SUCCESS - the state is a final one
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, or @timeout
 *   is 0
 * * %GNI_RC_TIMEOUT - @timeout passed
 * * %GNI_RC_SIZE_ERROR - the peer sent more than the buffer holds
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 * * %GNI_RC_ERROR_NOMEM - no memory; not given
 */
gni_return_t gni_ep_postdata_wait(gni_ep_handle_t ep_hndl, uint32_t timeout,
				  gni_post_state_t *post_state, uint32_t *remote_addr,
				  uint32_t *remote_id);

/**
 * gni_postdata_probe() - find a datagram that has reached a final state
 * @nic_hndl: the NIC
 * @remote_addr: out, PE address of its peer
 * @remote_id: out, instance id of its peer
 *
 * Finds datagrams posted without an id, the one that ended first. It stays
 * until a test or wait takes it away.
 *
 * Interface: 000, lines 4539-4576.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or a pointer is NULL
 * * %GNI_RC_NO_MATCH - there is none
 */
gni_return_t gni_postdata_probe(gni_nic_handle_t nic_hndl, uint32_t *remote_addr,
				uint32_t *remote_id);

/**
 * gni_postdata_probe_by_id() - find a datagram with an id in a final state
 * @nic_hndl: the NIC
 * @datagram_id: out, its id
 *
 * Finds datagrams posted with an id, the one that ended first. It stays until
 * gni_ep_postdata_test_by_id() takes it away.
 *
 * Interface: 000, lines 4579-4613.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @datagram_id is NULL
 * * %GNI_RC_NO_MATCH - there is none
 */
gni_return_t gni_postdata_probe_by_id(gni_nic_handle_t nic_hndl, uint64_t *datagram_id);

/**
 * gni_postdata_probe_wait_by_id() - wait until gni_postdata_probe_by_id() finds one
 * @nic_hndl: the NIC
 * @timeout: milliseconds; (-1) for ever
 * @datagram_id: out, its id
 *
 * Comes back at once as long as there is one.
 *
 * Interface: 000, lines 4616-4655.
 *
 * Context: process context; waits up to @timeout.
 * Return:
 * * %GNI_RC_SUCCESS - found one
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @datagram_id is NULL
 * * %GNI_RC_TIMEOUT - @timeout passed
 */
gni_return_t gni_postdata_probe_wait_by_id(gni_nic_handle_t nic_hndl, uint32_t timeout,
					   uint64_t *datagram_id);

/**
 * gni_ep_postdata_cancel() - cancel an endpoint's datagram
 * @ep_hndl: the endpoint
 *
 * Interface: 000, lines 4658-4675.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - cancelled
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 * * %GNI_RC_NO_MATCH - the endpoint has no datagram
 */
gni_return_t gni_ep_postdata_cancel(gni_ep_handle_t ep_hndl);

/**
 * gni_ep_postdata_cancel_by_id() - cancel a datagram with an id
 * @ep_hndl: the endpoint that it was posted on
 * @datagram_id: its id
 *
 * As GNI_EpPostDataCancelById().
 *
 * Interface: 000, lines 4678-4702.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - cancelled
 * * %GNI_RC_INVALID_PARAM - no such endpoint
 * * %GNI_RC_NO_MATCH - the endpoint has no such datagram
 */
gni_return_t gni_ep_postdata_cancel_by_id(gni_ep_handle_t ep_hndl, uint64_t datagram_id);

/**
 * gni_mem_register() - let peers, and posts, reach a range of kernel memory
 * @nic_hndl: the NIC
 * @address: where it starts, a kernel virtual address; need not be aligned
 * @length: bytes, not 0
 * @dst_cq_hndl: queue for target events of this region, or NULL
 * @flags: GNI_MEM_* bits; GNI_MEM_PHYS_CONT for physically contiguous memory,
 *	without it the memory may be of vmalloc()
 * @mem_hndl: out, the handle; left alone on failure
 *
 * Transactions address the region by virtual address. No more than its bytes can
 * be reached, with what is missing to a multiple of 8 at both ends.
 *
 * Interface: 000, lines 4705-4753.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - registered
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, @length is 0, the range is
 *   not kernel memory, or a flag makes no sense here
 * * %GNI_RC_ERROR_RESOURCE - no registration left for the device or the job, or
 *   no memory; GNI_RC_ERROR_NOMEM is not given
 * * %GNI_RC_PERMISSION_ERROR - not given: kernel memory is writable
 */
gni_return_t gni_mem_register(gni_nic_handle_t nic_hndl, uint64_t address, uint64_t length,
			      gni_cq_handle_t dst_cq_hndl, uint32_t flags,
			      gni_mem_handle_t *mem_hndl);

/**
 * gni_mem_register_segments() - register several ranges as one region
 * @nic_hndl: the NIC
 * @mem_segments: the ranges; with GNI_MEM_PHYS_SEGMENTS each is the page of
 *	4 KiB at the physical address given, whatever its length field holds
 * @segments_cnt: how many, not 0
 * @dst_cq_hndl: queue for target events of this region, or NULL
 * @flags: GNI_MEM_* bits
 * @mem_hndl: out, the handle; left alone on failure
 *
 * Transactions, local and remote, address the region by byte offset from the
 * start of the first page.
 *
 * Interface: 000, lines 4756-4815.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - registered
 * * %GNI_RC_INVALID_PARAM - no such NIC or queue, @segments_cnt is 0, or a range
 *   is not aligned, or, without GNI_MEM_PHYS_SEGMENTS, has length 0
 * * %GNI_RC_ERROR_RESOURCE - no registration left for the device or the job, or
 *   no memory; GNI_RC_ERROR_NOMEM is not given
 * * %GNI_RC_PERMISSION_ERROR - not given: kernel memory is writable
 */
gni_return_t gni_mem_register_segments(gni_nic_handle_t nic_hndl,
				       gni_mem_segment_t *mem_segments, uint32_t segments_cnt,
				       gni_cq_handle_t dst_cq_hndl, uint32_t flags,
				       gni_mem_handle_t *mem_hndl);

/**
 * gni_mem_deregister() - undo a registration
 * @nic_hndl: the NIC it was made on
 * @mem_hndl: its handle
 * @hold_timeout: milliseconds for which its index stays taken, 0 for none
 *
 * When the call returns no peer can reach the memory any more. While the index
 * is held, what peers still send to the old handle is dropped and can't hit a
 * new registration; gni_mem_mdd_release() ends that early.
 *
 * Interface: 000, lines 4818-4848.
 *
 * Context: process context; waits for transactions on their way.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC or registration
 */
gni_return_t gni_mem_deregister(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl,
				int hold_timeout);

/**
 * gni_mem_mdd_release() - no longer hold the index of an undone registration
 * @nic_hndl: the NIC it was made on
 * @mem_hndl: its handle
 *
 * Interface: 000, lines 4851-4880.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_NO_MATCH - it is not held: its time is over, or it never was
 */
gni_return_t gni_mem_mdd_release(gni_nic_handle_t nic_hndl, gni_mem_handle_t *mem_hndl);

/**
 * gni_cq_create() - make a completion queue
 * @nic_hndl: the NIC
 * @entry_count: events that it must hold, 1 or more
 * @delay_index: events that may gather before @event_handler is called, 0 to
 *	call it with each
 * @event_handler: called when events have come; NULL for a queue that is
 *	polled only
 * @usr_event_data: second argument of @event_handler
 * @cq_hndl: out, the new queue
 *
 * Such a queue is never mapped into a process.
 *
 * Interface: 000, lines 4883-4925.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, @entry_count is 0, or
 *   @cq_hndl is NULL
 * * %GNI_RC_ERROR_RESOURCE - more than 2^20 entries, no queue left for the device
 *   or the job
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t gni_cq_create(gni_nic_handle_t nic_hndl, uint32_t entry_count, uint32_t delay_index,
			   gni_cq_event_hndlr_f *event_handler, uint64_t usr_event_data,
			   gni_cq_handle_t *cq_hndl);

/**
 * gni_cq_destroy() - destroy a completion queue
 * @cq_hndl: the queue
 *
 * Interface: 000, lines 4928-4948.
 *
 * Context: process context; waits for its handler to return.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such queue
 * * %GNI_RC_ERROR_RESOURCE - an endpoint uses it
 */
gni_return_t gni_cq_destroy(gni_cq_handle_t cq_hndl);

/**
 * gni_post_rdma() - post a transaction to the block transfer engine
 * @ep_hndl: the endpoint, bound
 * @post_descr: the transaction, of type GNI_POST_RDMA_PUT or GNI_POST_RDMA_GET
 *
 * As GNI_PostRdma(). With GNI_RDMAMODE_PHYS_ADDR local_addr is physical, and
 * local_mem_hndl is not looked at.
 *
 * Interface: 000, lines 4951-4978.
 *
 * Context: any context; allocates from the reserves.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not bound, the type is not
 *   one for this call, length is 0, the local range is not inside the region
 *   that the local handle names or is no physical memory, or a get is to go into
 *   a local region that is read-only; GNI_RC_PERMISSION_ERROR is not given
 * * %GNI_RC_ALIGNMENT_ERROR - remote address or length of a get is not a
 *   multiple of 4
 * * %GNI_RC_ERROR_RESOURCE - too many posts are under way, or no memory; try
 *   again. GNI_RC_ERROR_NOMEM is not given
 */
gni_return_t gni_post_rdma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/**
 * gni_post_fma() - post a transaction through the FMA window
 * @ep_hndl: the endpoint, bound
 * @post_descr: the transaction, of any type but RDMA; a CQ write too, which has
 *	no call of its own here
 *
 * As GNI_PostFma().
 *
 * Interface: 000, lines 4981-5009.
 *
 * Context: any context; allocates from the reserves.
 * Return:
 * * %GNI_RC_SUCCESS - posted
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not bound, the type or the
 *   AMO command is not one for this call, length is 0 and the type not a put,
 *   a local range that needs one is not inside the region of the local handle,
 *   or that is read-only; a put's source is no kernel address
 * * %GNI_RC_ALIGNMENT_ERROR - remote address or length of a get is not a
 *   multiple of 4; remote address, length or fetch address of an AMO is not a
 *   multiple of its operand; or a flag's address is not a multiple of 8
 * * %GNI_RC_ERROR_RESOURCE - too many posts are under way, or no memory; try
 *   again
 */
gni_return_t gni_post_fma(gni_ep_handle_t ep_hndl, gni_post_descriptor_t *post_descr);

/**
 * gni_get_completed() - get the descriptor that an event belongs to
 * @cq_hndl: the queue that the event came from
 * @event_data: the event, of type POST
 * @post_descr: out, the descriptor that was posted
 *
 * As GNI_GetCompleted().
 *
 * Interface: 000, lines 5012-5045.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @post_descr is set, and its transaction went well
 * * %GNI_RC_TRANSACTION_ERROR - @post_descr is set, and its transaction failed
 * * %GNI_RC_DESCRIPTOR_ERROR - the event belongs to no post under way;
 *   @post_descr is set to NULL
 * * %GNI_RC_INVALID_PARAM - no such queue, or @post_descr is NULL
 */
gni_return_t gni_get_completed(gni_cq_handle_t cq_hndl, gni_cq_entry_t event_data,
			       gni_post_descriptor_t **post_descr);

/**
 * gni_cq_get_event() - take an event from a queue
 * @cq_hndl: the queue
 * @event_data: out, the event; set for every code but NOT_DONE and
 *	INVALID_PARAM
 *
 * Interface: 000, lines 5048-5079; that an event comes with an error code is
 * not as there.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - an event
 * * %GNI_RC_NOT_DONE - there is none
 * * %GNI_RC_INVALID_PARAM - no such queue, or @event_data is NULL
 * * %GNI_RC_ERROR_RESOURCE - the queue overran and events are lost; bit 63 of
 *   @event_data is set. Said once, then the queue goes on
 * * %GNI_RC_TRANSACTION_ERROR - an event, of a transaction that failed
 */
gni_return_t gni_cq_get_event(gni_cq_handle_t cq_hndl, gni_cq_entry_t *event_data);

/**
 * gni_cq_error_str() - put the status of an event into words
 * @entry: the event, of failure or not
 * @buffer: out, the text with its terminating zero
 * @len: bytes of @buffer; 256 is always enough
 *
 * Interface: 000, lines 5082-5109.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - @buffer is NULL
 * * %GNI_RC_SIZE_ERROR - @buffer is too small
 */
gni_return_t gni_cq_error_str(gni_cq_entry_t entry, void *buffer, uint32_t len);

/**
 * gni_cq_error_recoverable() - can the transaction of an event be tried again
 * @entry: the event, of failure or not
 * @recoverable: out, 1 if so, else 0
 *
 * Interface: 000, lines 5112-5136.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @recoverable is set
 * * %GNI_RC_INVALID_PARAM - @recoverable is NULL
 * * %GNI_RC_INVALID_STATE - the event has a status that does not exist
 */
gni_return_t gni_cq_error_recoverable(gni_cq_entry_t entry, uint32_t *recoverable);

/**
 * gni_smsg_buff_size_needed() - size of a mailbox
 * @smsg_attr: msg_type, mbox_maxcredit and msg_maxsize are looked at
 * @size: out, bytes; a multiple of 64
 *
 * Interface: 000, lines 5139-5162.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @size is set
 * * %GNI_RC_INVALID_PARAM - a pointer is NULL, or there is no such mailbox
 */
gni_return_t gni_smsg_buff_size_needed(gni_smsg_attr_t *smsg_attr, unsigned int *size);

/**
 * gni_smsg_init() - set up short messages on an endpoint
 * @ep_hndl: the endpoint, bound
 * @local_smsg_attr: this side
 * @remote_smsg_attr: the peer's side
 *
 * As GNI_SmsgInit().
 *
 * Interface: 000, lines 5165-5186.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, a pointer is NULL, the sides
 *   differ in msg_type, mbox_maxcredit or msg_maxsize, or the local mailbox is
 *   too small or outside its region
 * * %GNI_RC_INVALID_STATE - the endpoint is not bound
 * * %GNI_RC_ERROR_RESOURCE - no memory; GNI_RC_ERROR_NOMEM is not given
 */
gni_return_t gni_smsg_init(gni_ep_handle_t ep_hndl, gni_smsg_attr_t *local_smsg_attr,
			   gni_smsg_attr_t *remote_smsg_attr);

/**
 * gni_smsg_set_delivery_mode() - choose how a NIC's short messages are delivered
 * @nic_handle: the NIC
 * @dlvr_mode: GNI_DLVMODE_* bits
 *
 * Interface: 000, lines 5189-5207.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC, or no such mode
 */
gni_return_t gni_smsg_set_delivery_mode(gni_nic_handle_t nic_handle, uint16_t dlvr_mode);

/**
 * gni_smsg_send() - send a short message
 * @ep_hndl: the endpoint, set up by gni_smsg_init()
 * @header: first part of the message; NULL if @header_length is 0
 * @header_length: bytes of it
 * @data: second part; NULL if @data_length is 0
 * @data_length: bytes of it
 * @msg_id: the caller's name for it, found in the send event
 *
 * As GNI_SmsgSend(), but that the send event has the endpoint's local event
 * value as its short value.
 *
 * Interface: 000, lines 5210-5248; that msg_id counts with every type is not
 * as there.
 *
 * Context: any context; allocates from the reserves.
 * Return:
 * * %GNI_RC_SUCCESS - sent
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or a pointer
 *   is NULL
 * * %GNI_RC_NOT_DONE - no credit or no room for the transaction; try again
 *   after the next event
 * * %GNI_RC_ERROR_RESOURCE - header and data are more than msg_maxsize
 */
gni_return_t gni_smsg_send(gni_ep_handle_t ep_hndl, void *header, uint32_t header_length,
			   void *data, uint32_t data_length, uint32_t msg_id);

/**
 * gni_smsg_getnext() - find the next short message
 * @ep_hndl: the endpoint, set up by gni_smsg_init()
 * @header: out, the message in the mailbox, header first, 8-byte aligned
 *
 * Finds the same message until gni_smsg_release().
 *
 * Interface: 000, lines 5251-5277.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @header is set
 * * %GNI_RC_INVALID_PARAM - no such endpoint, it is not set up, or @header is
 *   NULL
 * * %GNI_RC_NOT_DONE - there is none
 * * %GNI_RC_INVALID_STATE - the mailbox is damaged; the connection is lost
 */
gni_return_t gni_smsg_getnext(gni_ep_handle_t ep_hndl, void **header);

/**
 * gni_smsg_release() - give the current short message back
 * @ep_hndl: the endpoint
 *
 * Interface: 000, lines 5280-5303.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such endpoint, or it is not set up
 * * %GNI_RC_NOT_DONE - there is no current message
 */
gni_return_t gni_smsg_release(gni_ep_handle_t ep_hndl);

/**
 * gni_smsg_set_max_retrans() - how often to send a lost short message again
 * @nic_handle: the NIC
 * @max_retrans: how often; FMA_SMSG_MAX_RETRANS_DEFAULT without this call
 *
 * Interface: 000, lines 5306-5325.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC
 */
gni_return_t gni_smsg_set_max_retrans(gni_nic_handle_t nic_handle, uint16_t max_retrans);

/**
 * gni_subscribe_errors() - have error events of a NIC kept or told
 * @nic_handle: the NIC, whose protection tag counts
 * @mask: GNI_ERRMASK_* bits of the categories wanted
 * @EEQ_size: events that the queue holds; 0 for no queue
 * @EQ_new_event: called when an event has entered the queue; or NULL
 * @app_crit_err: called for an error that would end a program; or NULL
 * @err_handle: out, the error queue
 *
 * Both functions are called in interrupt context.
 *
 * Interface: 000, lines 5328-5362.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - from now on
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @err_handle is NULL
 * * %GNI_RC_ERROR_NOMEM - no memory
 */
gni_return_t gni_subscribe_errors(gni_nic_handle_t nic_handle, gni_error_mask_t mask,
				  uint32_t EEQ_size, void (*EQ_new_event)(gni_err_handle_t),
				  void (*app_crit_err)(gni_err_handle_t),
				  gni_err_handle_t *err_handle);

/**
 * gni_release_errors() - destroy an error queue
 * @err_handle: the error queue
 *
 * Interface: 000, lines 5365-5384.
 *
 * Context: process context; waits for its functions to return.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 * * %GNI_RC_NOT_DONE - a thread waits on it
 */
gni_return_t gni_release_errors(gni_err_handle_t err_handle);

/**
 * gni_get_error_mask() - which categories an error queue takes
 * @err_handle: the error queue
 * @mask: out, GNI_ERRMASK_* bits
 *
 * Interface: 000, lines 5387-5410.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @mask is set
 * * %GNI_RC_INVALID_PARAM - no such error queue, or @mask is NULL
 */
gni_return_t gni_get_error_mask(gni_err_handle_t err_handle, gni_error_mask_t *mask);

/**
 * gni_set_error_mask() - choose the categories that an error queue takes
 * @err_handle: the error queue
 * @mask_in: GNI_ERRMASK_* bits
 * @mask_out: out, those before; may be NULL
 *
 * Interface: 000, lines 5413-5434.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 */
gni_return_t gni_set_error_mask(gni_err_handle_t err_handle, gni_error_mask_t mask_in,
				gni_error_mask_t *mask_out);

/**
 * gni_get_error_event() - take an error event
 * @err_handle: the error queue
 * @event: out, the event
 *
 * Interface: 000, lines 5437-5458.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - @event is set
 * * %GNI_RC_INVALID_PARAM - no such error queue, or @event is NULL
 * * %GNI_RC_NOT_DONE - there is none
 */
gni_return_t gni_get_error_event(gni_err_handle_t err_handle, gni_error_event_t *event);

/**
 * gni_wait_error_events() - wait for error events and take them
 * @err_handle: the error queue
 * @events: out, the events
 * @events_size: how many @events has room for, 1 or more
 * @timeout: milliseconds to wait for more once the first has come; the wait
 *	for the first has no end
 * @num_events: out, how many came
 *
 * Interface: 000, lines 5461-5494.
 *
 * Context: process context; waits.
 * Return:
 * * %GNI_RC_SUCCESS - @events is full, or @timeout is 0 and one came
 * * %GNI_RC_INVALID_PARAM - no such error queue, a pointer is NULL, or
 *   @events_size is 0
 * * %GNI_RC_NOT_DONE - a signal came first; there are no events
 * * %GNI_RC_TIMEOUT - @timeout passed; there are @num_events events
 */
gni_return_t gni_wait_error_events(gni_err_handle_t err_handle, gni_error_event_t *events,
				   uint32_t events_size, uint32_t timeout, uint32_t *num_events);

/**
 * gni_set_error_ptag() - choose whose errors an error queue takes
 * @err_handle: the error queue
 * @ptag: protection tag; 0 for all
 *
 * Interface: 000, lines 5497-5519.
 *
 * Context: any context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such error queue
 * * %GNI_RC_PERMISSION_ERROR - not given: kernel clients are privileged
 */
gni_return_t gni_set_error_ptag(gni_err_handle_t err_handle, uint8_t ptag);

/**
 * gni_set_quiesce_callback() - hear of the end of a quiesce
 * @nic_hndl: the NIC
 * @qsce_func: called with the NIC and the milliseconds that the quiesce took,
 *	with a lock held, so that it must not sleep; NULL to stop it
 *
 * While the network is quiesced transactions stand still, and the client's
 * timers may run out for that reason.
 *
 * Interface: 000, lines 5522-5548.
 *
 * Context: process context.
 * Return:
 * * %GNI_RC_SUCCESS - done
 * * %GNI_RC_INVALID_PARAM - no such NIC
 * * %GNI_RC_INVALID_STATE - the NIC has a function
 */
gni_return_t gni_set_quiesce_callback(gni_nic_handle_t nic_hndl,
				      void (*qsce_func)(gni_nic_handle_t, uint64_t));

/**
 * gni_get_quiesce_status() - is the network quiesced
 * @nic_hndl: the NIC
 *
 * Interface: 000, lines 5551-5570.
 *
 * Context: any context.
 * Return: 1 if so, else 0.
 */
uint32_t gni_get_quiesce_status(gni_nic_handle_t nic_hndl);

/**
 * gni_get_errno() - more about the first call that failed on this CPU
 * @nic_hndl: the NIC
 * @errno_ptr: out, what is known
 *
 * A CPU keeps what the first failing call since the last gni_get_errno() left.
 *
 * Interface: 000, lines 5574-5606.
 *
 * Context: any context; keep preemption off since the failing call.
 * Return:
 * * %GNI_RC_SUCCESS - @errno_ptr is set
 * * %GNI_RC_INVALID_PARAM - no such NIC, or @errno_ptr is NULL
 * * %GNI_RC_INVALID_STATE - no call has failed since the last time
 */
gni_return_t gni_get_errno(gni_nic_handle_t nic_hndl, gni_errno_t *errno_ptr);

#endif /* __KERNEL__ */

#ifdef __cplusplus
}
#endif

#endif /* _GNI_PUB_H_ */
