/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kgni: what the driver's files share.
 *
 * Objects: a kgni_device is a virtual NIC. A kgni_job is a protection domain
 * on it. A kgni_nic is one attachment, one open file, and owns kgni_cq,
 * kgni_mdd, BTE requests and datagrams; all of it goes when the file is
 * released, which is the one clean-up path.
 *
 * Locks, outermost first: that of the device table; kgni_file.lock,
 * kgni_device.quiesce_lock, kgni_device.lock, that of the domain table; kgni_nic.lock;
 * kgni_domain.ce_lock; then the spinlocks kgni_domain.lock and kgni_bte.lock.
 * kgni_mem.lock is taken with no other. kgni_device.eeq_lock and kgni_bi.lock are
 * innermost. Data paths look objects up under RCU and hold references.
 */
#ifndef _KGNI_H
#define _KGNI_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/user.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <gni/kgni.h>
#include <gni/netlink.h>
#include <gni_pub.h>

#include "core/cqe.h"
#include "core/memhndl.h"
#include "core/pace.h"
#include "core/ring.h"
#include "core/rules.h"

#define KGNI_REVISION		1
#define KGNI_BTE_CHANNELS	3
#define KGNI_WINDOW_SMALL	(32 * 1024)
#define KGNI_DGRAM_HASH_BITS	6

/* Resources that are counted and limited, per device and per job. */
enum kgni_res {
	KGNI_RES_MDD,
	KGNI_RES_CQ,
	KGNI_RES_FMA,
	KGNI_RES_BTE,
	KGNI_RES_IOMMU,		/* pages in registrations */
	KGNI_RES_SFMA,		/* attachments that share an FMA descriptor */
	KGNI_RES_CE,		/* channels of the collective engine */
	KGNI_RES_DLA,		/* posts of chains that are not carried out yet */
	KGNI_RES_MRT,		/* blocks of memory in registrations, of Gemini */
	KGNI_RES_GART,		/* pages in registrations that ask for that, of Gemini */
	KGNI_RES_COUNT
};

/* What a device refused its users, counted in sysfs. */
enum kgni_refusal {
	KGNI_REFUSED_ATTACH,	/* a job of another user, a tag that is not for users */
	KGNI_REFUSED_MEMORY,	/* no registration that the caller may use so */
	KGNI_REFUSED_QUEUE,	/* no queue of the caller's file */
	KGNI_REFUSED_DATAGRAM,	/* no datagram of the caller's file */
	KGNI_REFUSED_CHANNEL,	/* no channel of the caller's file, or none that takes its part */
	KGNI_REFUSALS
};

/* What attachments did, by KGNI_STAT_*. */
struct kgni_stats {
	atomic64_t n[KGNI_STAT_COUNT];
};

/* How much of a device may be used: @num of @den. */
struct kgni_bi_share {
	u16 num;
	u16 den;
};

/**
 * struct kgni_bi - balanced injection of a device
 * @lock: guards all of it
 * @active: something is held; also read without the lock
 * @stopped: the device is deleted, nothing is held any more
 * @held: the last change waits for the end of a quiesce
 * @flags: GNI_BI_FLAG_* bits of the last change
 * @now: the share that is in force
 * @next: the share that is to be, while @held; den is 0 if that does not change
 * @aot: the share for after a quiesce; den is 0 for none
 * @seq: number of the last change; also read without the lock
 * @applied: of the last that was not held
 * @done: of the last that is committed; by @work
 * @pace: who moves something now
 * @work: commits
 * @wq: who waits for that, or for the next stretch
 */
struct kgni_bi {
	spinlock_t lock;	/* all of this */
	bool active;
	bool stopped;
	bool held;
	u16 flags;
	struct kgni_bi_share now;
	struct kgni_bi_share next;
	struct kgni_bi_share aot;
	u16 seq;
	u16 applied;
	u16 done;
	struct kgni_pace pace;
	struct work_struct work;
	wait_queue_head_t wq;
};

/**
 * struct kgni_device - one virtual NIC
 * @dev: the device of class gni
 * @cdev: its character device
 * @id: N of /dev/kgniN
 * @pe: its PE address
 * @gone: deleted: no file attaches any more, and nobody reaches anybody
 * @window_bytes: what a small window has
 * @lock: guards jobs and users, their reference counts, @configs, @ntt and @nics
 * @jobs: jobs by ptag; read under RCU
 * @configs: what jobs are to be, by ptag
 * @users: whose jobs they are
 * @ntt: the translation table, or NULL
 * @nics: attachments, by their ids
 * @last_nic: id of the last one
 * @used: how much of each resource is taken
 * @refused: how often an access was refused
 * @stats: what attachments that ended did
 * @eeq_lock: guards @eeqs and the error queues
 * @eeqs: error queues by the ptag they ask for, 0 for all
 * @eeq_count: how many of each there are
 * @quiesce_lock: guards who changes the next two
 * @quiesced: it stands still
 * @quiesced_at: since when
 * @watch_lock: guards @watches
 * @watches: who is told when it goes on
 * @bi: how much may be moved
 */
struct kgni_device {
	struct device dev;
	struct cdev cdev;
	u32 id;
	u32 pe;
	bool gone;
	u32 window_bytes;
	struct mutex lock;	/* jobs, users, their refs, configs, ntt, nics */
	struct xarray jobs;
	struct xarray configs;
	struct list_head users;
	struct kgni_ntt *ntt;
	struct list_head nics;
	u32 last_nic;
	atomic_t used[KGNI_RES_COUNT];
	atomic64_t refused[KGNI_REFUSALS];
	struct kgni_stats stats;
	spinlock_t eeq_lock;	/* eeqs, and the queues */
	struct list_head eeqs[U8_MAX + 1];
	unsigned int eeq_count[U8_MAX + 1];
	struct mutex quiesce_lock;	/* quiesced, quiesced_at */
	bool quiesced;
	ktime_t quiesced_at;
	spinlock_t watch_lock;	/* watches */
	struct list_head watches;
	struct kgni_bi bi;
};

/**
 * struct kgni_domain - the jobs of one user and cookie on all devices
 * @node: in the table of domains
 * @refs: jobs, under the table's lock
 * @cookie: their cookie
 * @uid: their user
 * @lock: guards all that follows, and the datagrams of the members
 * @nics: attachments
 * @inbound: pending bound datagrams, by hash of whom they want
 * @ce_lock: guards the collective engine's part, which follows
 * @ces: channels
 * @ce_over: reductions that are over, and were not told
 * @ce_used: there were channels at some time
 * @ce_work: goes on with what waited
 *
 * Datagrams meet inside a domain, so that no user waits for another's.
 */
struct kgni_domain {
	struct list_head node;
	unsigned int refs;
	u32 cookie;
	kuid_t uid;
	spinlock_t lock;	/* what follows */
	struct list_head nics;
	struct list_head inbound[1 << KGNI_DGRAM_HASH_BITS];
	struct mutex ce_lock;	/* what follows */
	struct list_head ces;
	struct list_head ce_over;
	bool ce_used;
	struct delayed_work ce_work;
};

/**
 * struct kgni_user - somebody who has jobs on a device
 * @node: in the device's users
 * @refs: how many jobs, under the device's lock
 * @uid: who
 * @used: how much of each resource the jobs hold
 */
struct kgni_user {
	struct list_head node;
	unsigned int refs;
	kuid_t uid;
	atomic_t used[KGNI_RES_COUNT];
};

/**
 * struct kgni_job_config - what an administrator has told of a job
 * @job_id: its name
 * @ptag: its protection tag
 * @automatic: the driver chose that
 * @cookie: its cookie
 * @limit: how much it may have of each resource
 * @ce_mask: bits of the collective engine channels that it may use
 * @ntt_base: first of its entries of the translation table
 * @ntt_size: how many; 0: its addresses are not translated
 * @ntt_clear: they are cleared when it ends
 * @configured: all of it was in order
 *
 * Under dev->lock. It goes with the job, when the last attachment does.
 */
struct kgni_job_config {
	u64 job_id;
	u8 ptag;
	bool automatic;
	u32 cookie;
	int limit[KGNI_RES_COUNT];
	u8 ce_mask;
	u32 ntt_base;
	u32 ntt_size;
	bool ntt_clear;
	bool configured;
};

/**
 * struct kgni_job - a protection domain on a device
 * @dev: the device
 * @user: who made it
 * @domain: it and its likes on other devices
 * @refs: attachments and reservations, under dev->lock
 * @ptag: its protection tag
 * @cookie: its cookie
 * @uid: user that made it
 * @automatic: the driver chose the ptag
 * @privileged: its maker need leave nothing for others
 * @was_attached: programs have attached, and did not only ask for the tag
 * @suspended: it stands still, or is about to; under dev->lock
 * @suspensions: how often it was to; likewise
 * @ntt: its addresses, or NULL if they are not translated
 * @limit: how much of each resource it may have
 * @ce_mask: bits of the collective engine channels that it may use
 * @ces_used: those that it uses, under domain->ce_lock
 * @mdds: registrations by mdh; read under RCU
 * @vmdhs: those with a virtual handle, by its index; likewise
 * @next_mdh: where the search for a free mdh goes on
 * @sharing: how many mdhs shared registrations have, under mdds.xa_lock
 * @next_sharing: where the search for one that takes another goes on, likewise
 * @used: how much of each resource its attachments hold
 * @stats: what attachments that ended did
 * @rcu: for the free
 */
struct kgni_job {
	struct kgni_device *dev;
	struct kgni_user *user;
	struct kgni_domain *domain;
	unsigned int refs;
	u8 ptag;
	u32 cookie;
	kuid_t uid;
	bool automatic;
	bool privileged;
	bool was_attached;
	bool suspended;
	u32 suspensions;
	struct kgni_ntt_map *ntt;
	int limit[KGNI_RES_COUNT];
	u8 ce_mask;
	u8 ces_used;
	struct xarray mdds;
	struct xarray vmdhs;
	u32 next_mdh;
	u32 sharing;
	unsigned long next_sharing;
	atomic_t used[KGNI_RES_COUNT];
	struct kgni_stats stats;
	struct rcu_head rcu;
};

/* One BTE channel: requests run in order, one at a time. */
struct kgni_bte_chan {
	struct kgni_nic *nic;
	struct list_head queue;
	struct work_struct work;
	struct hrtimer timer;	/* queues the work later */
};

/**
 * struct kgni_bte - block transfer of one attachment
 * @lock: guards all of it
 * @chan: the channels
 * @pending: requests that wait for a fence
 * @inflight: requests given to channels and not finished
 * @next: channel for the next request
 * @inlined: those of them that their posters carry out themselves
 * @fenced: a fencing request is in flight, nothing may start
 * @dying: the attachment goes away
 * @kcov: for whom the workers trace what they cover, where KCOV is built in
 */
struct kgni_bte {
	spinlock_t lock;	/* all of this */
	struct kgni_bte_chan chan[KGNI_BTE_CHANNELS];
	struct list_head pending;
	unsigned int inflight;
	unsigned int inlined;
	unsigned int next;
	bool fenced;
	bool dying;
	u64 kcov;
};

/**
 * struct kgni_nic - one attachment of a communication domain
 * @dev: device it is attached to
 * @job: its protection domain
 * @inst_id: instance id
 * @modes: GNI_CDM_MODE_* bits
 * @owner: process that attached; NULL for a client in the kernel
 * @cred: what it was allowed to then
 * @posting: how many posts are inside the driver
 * @gfp: how to allocate for it: a process pays, a kernel client may be in reclaim
 * @id: its number on the device, in the order of attaching
 * @dev_node: in dev->nics
 * @comm: name of the process then; others may have inherited the file
 * @stats: what it did
 * @counted: what its program counted that it did through windows, or NULL
 * @lock: guards @mdds and what counts them, @vmdhs, and who ends a registration
 * @vmdhs: how many indices of virtual handles it may use, 0 before it asked
 * @cqs: queues by id; read under RCU
 * @mdds: registrations, by their numbers
 * @last_mdd: number of the last one
 * @nmdds: how many there are
 * @mdd_pages: pages of all of them
 * @bte: block transfer
 * @node: in the domain's nics
 * @dgram_eps: posted datagrams by endpoint
 * @dgram_peers: datagrams whose peer is known, by peer
 * @dgram_wild: pending wildcards, oldest first
 * @dgram_done: finished datagrams, oldest first
 * @dgram_count: how many there are that have an endpoint
 * @dgram_orphans: how many whose endpoint was destroyed
 * @dgram_wq: woken when one finishes
 *
 * The datagram fields and @node are under the domain's lock.
 */
struct kgni_nic {
	struct kgni_device *dev;
	struct kgni_job *job;
	u32 inst_id;
	u32 modes;
	struct pid *owner;
	const struct cred *cred;
	atomic_t posting;
	gfp_t gfp;
	u32 id;
	struct list_head dev_node;
	char comm[TASK_COMM_LEN];
	struct kgni_stats stats;
	const u64 *counted;
	struct mutex lock;	/* mdds, vmdhs */
	u32 vmdhs;
	struct xarray cqs;
	struct list_head mdds;
	u64 last_mdd;
	u32 nmdds;
	u64 mdd_pages;
	struct kgni_bte bte;
	struct list_head node;
	DECLARE_HASHTABLE(dgram_eps, KGNI_DGRAM_HASH_BITS);
	DECLARE_HASHTABLE(dgram_peers, KGNI_DGRAM_HASH_BITS);
	struct list_head dgram_wild;
	struct list_head dgram_done;
	unsigned int dgram_count;
	unsigned int dgram_orphans;
	wait_queue_head_t dgram_wq;
};

/**
 * struct kgni_file - one open file of a device
 * @dev: the device
 * @writable: opened for writing
 * @lock: guards @attaching and @reserved, and who sets @nic
 * @nic: the attachment, NULL before it
 * @attaching: one whose caller is still to be told
 * @reserved: jobs that KGNI_IOC_GET_PTAG made, by ptag
 * @eeqs: error queues by id
 * @next_eeq: where the search for a free id goes on
 * @windows: its windows
 */
struct kgni_file {
	struct kgni_device *dev;
	bool writable;
	struct mutex lock;	/* nic, attaching, reserved */
	struct kgni_nic *nic;
	struct kgni_nic *attaching;
	struct xarray reserved;
	struct xarray eeqs;
	u32 next_eeq;
	struct kgni_windows *windows;
};

/**
 * struct kgni_cq - a completion queue
 * @ref: holders: its owner's table, mappings, registrations, requests
 * @rcu: for the free
 * @id: its name in its owner's file
 * @slots: slots of the ring
 * @delay: events that may wait before a sleeper is woken
 * @mode: GNI_CQ_* bits
 * @dead: destroyed by its owner
 * @owed: queued posts that will tell it of their end
 * @maps: mappings of the ring
 * @pages: memory of the ring
 * @npages: how many
 * @user: who is charged for them
 * @mem: the same memory in the kernel's address space
 * @notify: eventfd of the completion channel, or NULL; never changed again
 * @kernel: it is a kernel client's: mapped nowhere, charged to no user
 * @owner: that client's side of it until it is destroyed; read under RCU
 * @dead_node: in the list of those whose memory a worker is to give back
 * @view: the driver's view of the ring
 * @wq: sleepers
 */
struct kgni_cq {
	struct kref ref;
	struct rcu_head rcu;
	u32 id;
	u32 slots;
	u32 delay;
	u32 mode;
	bool dead;
	atomic_t owed;
	atomic_t maps;
	struct page **pages;
	unsigned int npages;
	struct user_struct *user;
	void *mem;
	struct eventfd_ctx *notify;
	bool kernel;
	struct gni_cq __rcu *owner;
	struct llist_node dead_node;
	struct kgni_ring_view view;
	wait_queue_head_t wq;
};

/**
 * struct kgni_mem - pinned memory, of a registration and its clones
 * @ref: registrations that have it
 * @writable: pinned for writing
 * @sparse: a reserved range: pages come later, and then stay
 * @live: @sparse: some came
 * @npages: pages
 * @pages: the pinned pages; NULL where @sparse has none yet
 * @lock: guards who adds pages
 * @user: who is charged for them
 * @mm: address space that shows them as pinned; NULL for pages of a kernel client,
 *	which keeps them itself, and are neither pinned nor charged
 */
struct kgni_mem {
	struct kref ref;
	bool writable;
	bool sparse;
	bool live;
	unsigned long npages;
	struct page **pages;
	struct mutex lock;	/* pages */
	struct user_struct *user;
	struct mm_struct *mm;
};

/**
 * struct kgni_mdd - a memory registration
 * @ref: holders of the object; the pages are guarded by @active
 * @rcu: for the free
 * @nic: its owner; compared, never followed, by others
 * @job: its protection domain; compared, never followed, by others
 * @node: in nic->mdds
 * @number: its number in the attachment
 * @sibling: next registration of the same number; read under RCU
 * @shares: others may have its number, if their base is another
 * @charged: the number was charged to the job for it, or for one that was there before
 * @mdh: its number in the job, or index
 * @flags: GNI_MEM_* bits
 * @base: address of the first page; 0 for segments
 * @addr: address of the first byte
 * @length: bytes
 * @mem: its memory
 * @first: first page of it there
 * @npages: pages
 * @exact: only bytes from @addr on, to 8 bytes, are inside, not the whole pages
 * @pages: the pinned pages, inside @mem; NULL if they follow each other from @pfn
 * @pfn: number of the first page, without @pages
 * @unlisted: one post's, nobody finds it
 * @cq: queue for remote events, or NULL
 * @dead: deregistered: nobody may begin to touch the pages
 * @active: operations that touch the pages, and one while registered
 * @idle: completed when @active reaches zero
 * @uid: whose attachment made it
 * @windows: windows that lead to it: window.c
 * @windowed: there were some at some time
 * @closed: there will be no more
 */
struct kgni_mdd {
	struct kref ref;
	struct rcu_head rcu;
	struct kgni_nic *nic;
	struct kgni_job *job;
	struct list_head node;
	u64 number;
	struct kgni_mdd __rcu *sibling;
	bool shares;
	bool charged;
	u32 mdh;
	u32 flags;
	u64 base;
	u64 addr;
	u64 length;
	struct kgni_mem *mem;
	unsigned long first;
	unsigned long npages;
	bool exact;
	struct page **pages;
	unsigned long pfn;
	bool unlisted;
	struct kgni_cq *cq;
	bool dead;
	refcount_t active;
	struct completion idle;
	kuid_t uid;
	struct list_head windows;
	bool windowed;
	bool closed;
};

/**
 * struct kgni_xfer - a post that passed its checks
 * @nic: who posted it
 * @arg: what the caller asked for
 * @amo: the command, for an AMO
 * @src_cq: referenced queue for source events, or NULL
 * @local: referenced local registration, or NULL
 * @remote: referenced remote registration; NULL if @status is not OK
 * @pe: PE address of the target's NIC
 * @far: it is another one
 * @paced: a piece is being moved that kgni_bi counts
 * @kernel: a kernel client posts: nothing may sleep
 * @phys: the local address is physical
 * @retries: how often to try a way that fails again
 * @src: kernel client: pieces of a put's source
 * @pieces: how many
 * @moved: kernel client: a put has arrived, whatever @status says
 * @status: KGNI_ST_OK, or what is wrong at the target
 */
struct kgni_xfer {
	struct kgni_nic *nic;
	struct kgni_ioc_post arg;
	struct kgni_amo amo;
	struct kgni_cq *src_cq;
	struct kgni_mdd *local;
	struct kgni_mdd *remote;
	u32 pe;
	bool far;
	bool paced;
	bool kernel;
	bool phys;
	u32 retries;
	const struct kvec *src;
	u32 pieces;
	bool moved;
	enum kgni_cqe_status status;
};

/* Transfers go in pieces of this size, so that nothing holds pages for long. */
#define KGNI_CHUNK	(64 * 1024UL)

/* main.c */
extern bool kgni_gemini;
struct kgni_device *kgni_device_by_pe(u32 pe);

/* A gni_nic_device_t. */
static inline u32 kgni_device_type(void)
{
	return kgni_gemini ? GNI_DEVICE_GEMINI : GNI_DEVICE_ARIES;
}

/* device.c */
int kgni_devices_init(unsigned int count, u32 pe_base, struct kgni_device **table);
void kgni_devices_exit(void);
#define KGNI_DEVICE_ANY		(~0U)
struct kgni_device *kgni_device_next(u32 id);
struct kgni_device *kgni_device_get(u32 pe);
struct kgni_device *kgni_device_add(u32 id);
int kgni_device_delete(u32 id, bool force);

/* netlink.c */
int kgni_netlink_init(void);
void kgni_netlink_exit(void);
void kgni_netlink_changed(void);
unsigned int kgni_netlink_generation(void);
void kgni_netlink_job(struct kgni_job *job, enum kgni_cmd what);
void kgni_netlink_config(struct kgni_device *dev, u32 ptag, enum kgni_cmd what);
void kgni_netlink_device(struct kgni_device *dev, enum kgni_cmd what);
void kgni_netlink_bi(struct kgni_device *dev);
void kgni_netlink_nic(struct kgni_nic *nic, bool ended);
void kgni_netlink_error(struct kgni_device *dev, u16 code, u8 category, u8 ptag, const u64 *info);

/* sysfs.c */
void kgni_count_refusal(struct kgni_device *dev, enum kgni_refusal what);
extern const struct attribute_group *kgni_device_groups[];

struct kgni_job_name;

/* job.c */

/**
 * struct kgni_job_args - what to tell of a job
 * @job_id: its name
 * @ptag: its protection tag, or GNI_FIND_ALLOC_PTAG
 * @cookie: its cookie
 * @limit: how much it may have of each resource; KGNI_JOB_KEEP: as before
 * @ce_mask: which channels of the collective engine, unless their number stays
 * @ntt_base: first of its entries of the translation table
 * @ntt_size: how many; 0 to leave that as it is
 * @ntt_clear: clear them when it ends
 * @ntt: entries to set for it, instead; or NULL
 */
struct kgni_job_args {
	u64 job_id;
	u32 ptag;
	u32 cookie;
	int limit[KGNI_RES_COUNT];
	u8 ce_mask;
	u32 ntt_base;
	u32 ntt_size;
	bool ntt_clear;
	const struct kgni_ntt_args *ntt;
};

void kgni_device_jobs_init(struct kgni_device *dev);
void kgni_device_jobs_exit(struct kgni_device *dev);
bool kgni_res_charge(struct kgni_job *job, enum kgni_res res);
bool kgni_res_charge_many(struct kgni_job *job, enum kgni_res res, unsigned long n);
void kgni_res_uncharge(struct kgni_job *job, enum kgni_res res);
const char *kgni_res_name(enum kgni_res res);
bool kgni_res_exists(enum kgni_res res);
int kgni_res_total(enum kgni_res res);
int kgni_res_limit(const struct kgni_job *job, enum kgni_res res);
void kgni_res_uncharge_many(struct kgni_job *job, enum kgni_res res, unsigned long n);
long kgni_job_configure(struct kgni_device *dev, struct kgni_job_args *args);
long kgni_job_unconfigure(struct kgni_device *dev, u64 job_id, u32 ptag, u32 cookie);
long kgni_job_ioctl(struct kgni_device *dev, struct kgni_ioc_job *arg);
struct kgni_job *kgni_job_named(struct kgni_device *dev, const struct kgni_job_name *name);
void kgni_domains_kick(void);
extern bool kgni_require_job;
bool kgni_pages_charge(struct user_struct **user, unsigned long npages);
void kgni_pages_uncharge(struct user_struct *user, unsigned long npages);
long kgni_res_info(struct kgni_file *f, struct kgni_ioc_res *arg);
long kgni_job_attach(struct kgni_device *dev, u32 *ptag, u32 cookie, struct kgni_job **job);
void kgni_job_put(struct kgni_job *job);
long kgni_job_get_ptag(struct kgni_file *f, struct kgni_ioc_ptag *arg);
void kgni_job_get_ptag_end(struct kgni_file *f, const struct kgni_ioc_ptag *arg, bool told);
bool kgni_job_same(const struct kgni_job *a, const struct kgni_job *b);
struct kgni_job *kgni_job_peer(struct kgni_device *dev, struct kgni_job *job);

/* quiesce.c */

/**
 * struct kgni_watch - somebody who is told when a quiesce ends
 * @node: in dev->watches
 * @fn: called with a lock held, so that it must not sleep
 * @context: handed to it, with the milliseconds that the quiesce took
 */
struct kgni_watch {
	struct list_head node;
	void (*fn)(void *context, u64 ms);
	void *context;
};

/* A job as administrators name it: 0 is the id of one that was not configured. */
struct kgni_job_name {
	u64 job_id;
	u32 ptag;
	u32 cookie;
};

void kgni_device_quiesce_init(struct kgni_device *dev);
void kgni_watch_add(struct kgni_device *dev, struct kgni_watch *watch);
void kgni_watch_del(struct kgni_device *dev, struct kgni_watch *watch);
bool kgni_device_is_quiesced(const struct kgni_device *dev);
long kgni_device_quiesce(struct kgni_device *dev);
long kgni_device_unquiesce(struct kgni_device *dev);
long kgni_job_suspend(struct kgni_device *dev, const struct kgni_job_name *name, ktime_t timeout);
long kgni_job_resume(struct kgni_device *dev, const struct kgni_job_name *name);
long kgni_suspend_ioctl(struct kgni_device *dev, const struct kgni_ioc_suspend *arg);
bool kgni_flows(const struct kgni_xfer *x);
bool kgni_flow_try(struct kgni_xfer *x);
bool kgni_flow_begin(struct kgni_xfer *x);
void kgni_flow_end(struct kgni_xfer *x);
bool kgni_window_flows(const struct kgni_nic *nic, const struct kgni_device *to);
void kgni_window_stand(const struct kgni_nic *nic, const struct kgni_device *to,
		       bool interruptible);
bool kgni_may_start(const struct kgni_nic *nic);
bool kgni_begin(struct kgni_nic *nic, const u32 *to);
void kgni_end(struct kgni_nic *nic);
void kgni_settled(const struct kgni_nic *nic);
void kgni_go_on(void);

/* bi.c */
extern unsigned int kgni_bi_bw;
extern unsigned int kgni_bi_aot_bw;
void kgni_device_bi_init(struct kgni_device *dev);
void kgni_bi_stop(struct kgni_device *dev);
long kgni_bi_set(struct kgni_device *dev, u16 bw, u16 aot_bw, u16 modes);
void kgni_bi_throttled(struct kgni_device *dev);
void kgni_bi_get(struct kgni_device *dev, struct kgni_ioc_bi_get *out);
long kgni_bi_wait(struct kgni_device *dev, ktime_t timeout);
long kgni_bi_ioctl(struct kgni_device *dev, const struct kgni_ioc_bi_set *arg);
bool kgni_bi_try_slow(struct kgni_xfer *x);
void kgni_bi_end_slow(struct kgni_xfer *x);
u64 kgni_bi_until(struct kgni_device *dev);
int kgni_bi_sleep(struct kgni_device *dev);

/* Is anything that a device's attachments post held back now and then? Context: any. */
static inline bool kgni_bi_active(const struct kgni_device *dev)
{
	return unlikely(READ_ONCE(dev->bi.active));
}

/* May a piece be moved now? If so kgni_bi_end() is due. Context: any but interrupts. */
static inline bool kgni_bi_try(struct kgni_xfer *x)
{
	return !kgni_bi_active(x->nic->dev) || kgni_bi_try_slow(x);
}

static inline void kgni_bi_end(struct kgni_xfer *x)
{
	if (unlikely(x->paced))
		kgni_bi_end_slow(x);
}

/* ntt.c */

/**
 * struct kgni_ntt_args - entries to set or to clear
 * @entries: the entries; NULL to clear some
 * @count: how many; U32_MAX for all, to clear them
 * @base: the first; U32_MAX for any, or for all
 * @granularity: virtual addresses of an entry
 */
struct kgni_ntt_args {
	const struct kgni_ntt_entry *entries;
	u32 count;
	u32 base;
	u32 granularity;
};

void kgni_ntt_free(struct kgni_device *dev);
u32 kgni_ntt_granularity(struct kgni_device *dev);
const struct kgni_ntt_entry *kgni_ntt_next(struct kgni_device *dev, u32 *at, u32 *granularity);
bool kgni_ntt_is_set(struct kgni_device *dev, u32 base, u32 count);
void kgni_ntt_clear(struct kgni_device *dev, u32 base, u32 count);
long kgni_ntt_set(struct kgni_device *dev, const struct kgni_ntt_args *args, u32 *base);
long kgni_ntt_configure(struct kgni_device *dev, const struct kgni_ntt_args *args, u32 *base);
long kgni_ntt_fetch(const struct kgni_ioc_ntt *arg, struct kgni_ntt_args *args);
void kgni_ntt_drop(const struct kgni_ntt_args *args);
long kgni_ntt_ioctl(struct kgni_device *dev, struct kgni_ioc_ntt *arg);
struct kgni_ntt_map *kgni_ntt_map_new(struct kgni_device *dev, u32 base, u32 size);
void kgni_ntt_map_free(struct kgni_ntt_map *map);
bool kgni_ntt_to_pe(const struct kgni_job *job, u32 address, u32 *pe);
bool kgni_ntt_from_pe(const struct kgni_job *job, u32 pe, u32 *address);
struct kgni_device *kgni_device_of(const struct kgni_job *job, u32 address);

/* error.c */
struct kgni_eeq;

/**
 * struct kgni_eeq_args - what an error queue is to be like
 * @size: events that it holds, up to KGNI_EEQ_MAX; 0 if it only calls
 * @mask: GNI_ERRMASK_* bits of the categories that it takes
 * @ptag: whose events; 0 for all
 * @new_event: called, in interrupt context, after an event entered; or NULL
 * @critical: likewise, after one that ends programs; or NULL
 * @context: handed to both
 */
struct kgni_eeq_args {
	u32 size;
	u8 mask;
	u8 ptag;
	void (*new_event)(void *context);
	void (*critical)(void *context);
	void *context;
};

#define KGNI_EEQ_DEFAULT	64
#define KGNI_EEQ_MAX		4096

void kgni_device_errors_init(struct kgni_device *dev);
struct kgni_eeq *kgni_eeq_create(struct kgni_device *dev, const struct kgni_eeq_args *args);
long kgni_eeq_release(struct kgni_eeq *eeq, bool anyway);
u8 kgni_eeq_get_mask(struct kgni_eeq *eeq);
u8 kgni_eeq_set_mask(struct kgni_eeq *eeq, u8 mask);
u8 kgni_eeq_set_ptag(struct kgni_eeq *eeq, u8 ptag);
long kgni_eeq_take(struct kgni_eeq *eeq, gni_error_event_t *event);
long kgni_eeq_wait(struct kgni_eeq *eeq, gni_error_event_t *events, u32 max, u32 more_ms,
		   u32 *count);
void kgni_error_raise(struct kgni_device *dev, u16 code, u8 category, u8 ptag, const u64 *info);
void kgni_error_critical(struct kgni_device *dev, u16 code, u8 ptag, const u64 *info);
long kgni_error_inject(struct kgni_device *dev, u16 code, u8 ptag);
void kgni_error_post(const struct kgni_xfer *x);
long kgni_err_subscribe(struct kgni_file *f, struct kgni_ioc_err_subscribe *arg);
long kgni_err_release(struct kgni_file *f, const struct kgni_ioc_err_release *arg);
long kgni_err_wait(struct kgni_file *f, const struct kgni_ioc_err_wait *arg);
long kgni_err_set(struct kgni_file *f, struct kgni_ioc_err_set *arg);
void kgni_err_release_all(struct kgni_file *f);

/* debugfs.c */
void kgni_debugfs_init(void);
void kgni_debugfs_exit(void);

/* nic.c */
void kgni_nic_kill(const struct kgni_nic *nic, u16 code);
long kgni_nic_make(struct kgni_device *dev, struct kgni_ioc_attach *arg, bool kernel,
		   struct kgni_nic **out);
long kgni_nic_attach(struct kgni_file *f, struct kgni_ioc_attach *arg);
void kgni_nic_attach_end(struct kgni_file *f, bool told);
void kgni_nic_release(struct kgni_nic *nic);
void kgni_count(struct kgni_nic *nic, enum kgni_stat stat, u64 n);
void kgni_stats_add(struct kgni_stats *sum, const struct kgni_stats *stats);
void kgni_nic_stats(const struct kgni_nic *nic, struct kgni_stats *sum);

/* cq.c */
long kgni_cq_create(struct kgni_nic *nic, struct kgni_ioc_cq_create *arg);
long kgni_cq_destroy(struct kgni_nic *nic, u32 id);
void kgni_cq_destroy_all(struct kgni_nic *nic);
struct kgni_cq *kgni_cq_find(struct kgni_nic *nic, u32 id);
struct kgni_cq *kgni_cq_named(struct kgni_nic *nic, u32 id);
struct kgni_cq *kgni_cq_next(struct kgni_nic *nic, unsigned long id);
void kgni_cq_put(struct kgni_cq *cq);
void kgni_cq_put_atomic(struct kgni_cq *cq);
long kgni_cq_create_kernel(struct kgni_nic *nic, u32 entries, u32 delay, struct kgni_cq **out);
void kgni_cq_destroy_kernel(struct kgni_nic *nic, struct kgni_cq *cq);
void kgni_cq_exit(void);
bool kgni_cq_push(struct kgni_cq *cq, u64 entry);
long kgni_cq_wake(struct kgni_nic *nic, const struct kgni_ioc_cq_wake *arg);
long kgni_cq_owed(struct kgni_nic *nic, const struct kgni_ioc_cq_owed *arg);
long kgni_cq_set_notify(struct kgni_nic *nic, const struct kgni_ioc_cq_notify *arg);
void kgni_cq_told(struct kgni_cq *cq, bool dropped);
bool kgni_cq_mapped(struct kgni_cq *cq);
void kgni_cq_unmapped(struct kgni_cq *cq);
int kgni_cq_mmap(struct kgni_nic *nic, struct vm_area_struct *vma);
long kgni_cq_wait(struct kgni_device *dev, struct kgni_ioc_cq_wait *arg);

/* device.c, for waits on queues of several files */
struct kgni_nic *kgni_file_nic(struct file *file);
ktime_t kgni_timeout(u64 ms);

/* mem.c */
/* How many of @n pages, at least one, lie in memory in a row, from the first on. */
static inline unsigned long kgni_pages_in_a_row(struct page **pages, unsigned long n)
{
	unsigned long i;

	for (i = 1; i < n; i++)
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[i - 1]) + 1)
			break;
	return i;
}

unsigned long kgni_range_pages(u64 addr, u64 length);
long kgni_mem_new(const struct kgni_segment *seg, u32 count, u32 flags, struct kgni_mem **out);
long kgni_mem_update(struct kgni_mem *mem, unsigned long first, u64 addr, unsigned long npages);
bool kgni_mem_present(const struct kgni_mem *mem, unsigned long first, unsigned long npages);
void kgni_mem_put(struct kgni_mem *mem);
struct kgni_mem *kgni_mem_new_kernel(unsigned long npages, gfp_t gfp);

/**
 * struct kgni_kernel_region - memory that a kernel client registers
 * @flags: GNI_MEM_* bits
 * @base: address of the first page; 0 for segments
 * @addr: address of the first byte
 * @length: bytes
 * @npages: pages
 * @exact: only the bytes of the range are inside
 * @mem: the pages, or NULL if they follow each other from @pfn
 * @pfn: number of the first page, without @mem
 * @cq: queue for remote events, or NULL
 */
struct kgni_kernel_region {
	u32 flags;
	u64 base;
	u64 addr;
	u64 length;
	unsigned long npages;
	bool exact;
	struct kgni_mem *mem;
	unsigned long pfn;
	struct kgni_cq *cq;
};

/* mdd.c */
long kgni_mdd_register_kernel(struct kgni_nic *nic, const struct kgni_kernel_region *r,
			      struct kgni_mem_handle *handle);
long kgni_mdd_deregister_kernel(struct kgni_nic *nic, const struct kgni_mem_handle *handle,
				u32 *held);
void kgni_mdd_unhold(struct kgni_nic *nic, u32 mdh);
struct kgni_mdd *kgni_mdd_phys(struct kgni_nic *nic, u64 addr, u64 length);
void kgni_mdd_put_atomic(struct kgni_mdd *mdd);
long kgni_mdd_set_block(struct kgni_nic *nic, const struct kgni_ioc_mdd_block *arg);
long kgni_mdd_next(struct kgni_nic *nic, struct kgni_ioc_mem_next *arg);
bool kgni_mdd_present(struct kgni_mdd *mdd, u64 addr, u64 length);
long kgni_mdd_register(struct kgni_nic *nic, struct kgni_ioc_mem_register *arg);
long kgni_mdd_deregister(struct kgni_nic *nic, const struct kgni_mem_handle *handle);
void kgni_mdd_deregister_all(struct kgni_nic *nic);
struct kgni_mdd *kgni_mdd_find(struct kgni_job *job, const struct kgni_mem_handle *handle);
void kgni_mdd_put(struct kgni_mdd *mdd);
void kgni_mdd_handle_of(const struct kgni_mdd *mdd, struct kgni_mem_handle *handle);
bool kgni_mdd_covers(const struct kgni_mdd *mdd, u64 addr, u64 length);
bool kgni_mdd_enter(struct kgni_mdd *mdd);
void kgni_mdd_exit(struct kgni_mdd *mdd);
void kgni_mdd_write(struct kgni_mdd *mdd, u64 addr, const void *src, size_t n);
void kgni_mdd_copy(struct kgni_mdd *dst, u64 daddr, struct kgni_mdd *src, u64 saddr, size_t n);
void *kgni_mdd_map(struct kgni_mdd *mdd, u64 addr);

/* window.c */
struct kgni_windows;
struct kgni_windows *kgni_windows_new(struct file *file);
void kgni_windows_release(struct kgni_windows *set);
int kgni_windows_watch_on(void);
void kgni_windows_watch_off(void);
void kgni_windows_paced(void);
void kgni_windows_mark(struct kgni_mdd *mdd);
void kgni_windows_zap(struct kgni_mdd *mdd);
void kgni_windows_still(const struct kgni_device *dev, const struct kgni_job *job);
void kgni_windows_gone(const struct kgni_device *dev);
long kgni_window_open(struct kgni_windows *set, struct kgni_nic *nic,
		      struct kgni_ioc_window_open *arg);
long kgni_window_close(struct kgni_windows *set, u32 index);
long kgni_window_wake(struct kgni_windows *set, struct kgni_nic *nic,
		      const struct kgni_ioc_window_wake *arg);
int kgni_windows_mmap(struct kgni_windows *set, struct vm_area_struct *vma);
unsigned long kgni_windows_area(struct kgni_windows *set, struct file *file, unsigned long addr,
				unsigned long len, unsigned long pgoff, unsigned long flags);

/* fma.c */
long kgni_post(struct kgni_nic *nic, struct kgni_ioc_post *arg);
long kgni_xfer_post(struct kgni_nic *nic, struct kgni_xfer *x);
long kgni_post_chain(struct kgni_nic *nic, const struct kgni_ioc_post_chain *arg);
void kgni_xfer_finish(struct kgni_xfer *x, enum kgni_cqe_source source);
void kgni_xfer_release(struct kgni_xfer *x);
enum kgni_cqe_status kgni_xfer_chunk(struct kgni_mdd *dst, u64 daddr, struct kgni_mdd *src,
				     u64 saddr, size_t n);

/* ce.c */
extern unsigned int kgni_ce_patience;

/* What others than ce.c may know of a channel. */
struct kgni_ce_info {
	u32 id;
	u32 children;
	u32 seen;
	bool has_parent;
	u32 parent_pe;
	u32 parent;
	u32 status;
	u32 reductions;
	u32 modes;
	u32 cq;
};

typedef int (*kgni_ce_fn)(void *arg, const struct kgni_ce_info *info);
unsigned int kgni_ce_count(struct kgni_nic *nic);
int kgni_ce_walk(struct kgni_nic *nic, u64 *at, kgni_ce_fn fn, void *arg);
void kgni_domain_ces_init(struct kgni_domain *d);
long kgni_ce_create(struct kgni_nic *nic, struct kgni_ioc_ce_create *arg);
long kgni_ce_configure(struct kgni_nic *nic, const struct kgni_ioc_ce_configure *arg);
long kgni_ce_destroy(struct kgni_nic *nic, u32 id);
long kgni_ce_post(struct kgni_nic *nic, const struct kgni_ioc_ce_post *arg);
void kgni_ce_kick(struct kgni_domain *d);
void kgni_ce_gone(struct kgni_nic *nic);
void kgni_ce_release(struct kgni_nic *nic);

/* link.c */
#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
bool kgni_link_lost(void);
bool kgni_link_ack_lost(void);
void kgni_link_init(struct dentry *dir);
#else
static inline bool kgni_link_lost(void) { return false; }
static inline bool kgni_link_ack_lost(void) { return false; }
static inline void kgni_link_init(struct dentry *dir) { }
#endif

/* bte.c */
int kgni_bte_init(void);
void kgni_bte_exit(void);
void kgni_bte_attach(struct kgni_nic *nic);
void kgni_bte_release(struct kgni_nic *nic);
void kgni_bte_kick(struct kgni_nic *nic);
long kgni_bte_post(struct kgni_nic *nic, struct kgni_xfer *x);
unsigned int kgni_bte_count(struct kgni_nic *nic);

/* dgram.c */
struct kgni_dgram;

/* What others than dgram.c may know of a datagram; as in struct kgni_ioc_dgram_post. */
struct kgni_dgram_info {
	u64 id;
	u32 ep;
	u32 state;
	u32 remote_pe;
	u32 remote_id;
	u16 length;
	bool with_id;
	bool has_peer;
};

typedef int (*kgni_dgram_fn)(void *arg, const struct kgni_dgram_info *info);
unsigned int kgni_dgram_count(struct kgni_nic *nic);
int kgni_dgram_walk(struct kgni_nic *nic, u64 *at, kgni_dgram_fn fn, void *arg);
void kgni_domain_dgrams_init(struct kgni_domain *domain);
void kgni_dgram_attach(struct kgni_nic *nic);
void kgni_dgram_release(struct kgni_nic *nic);
void kgni_dgram_gone(struct kgni_nic *nic);
long kgni_dgram_post(struct kgni_nic *nic, struct kgni_ioc_dgram_post *arg);
long kgni_dgram_post_kernel(struct kgni_nic *nic, struct kgni_ioc_dgram_post *arg, void *buf);
void *kgni_dgram_buf(const struct kgni_dgram *d);
long kgni_dgram_test(struct kgni_nic *nic, struct kgni_ioc_dgram_test *arg,
		     struct kgni_dgram **taken);
long kgni_dgram_probe(struct kgni_nic *nic, struct kgni_ioc_dgram_probe *arg,
		      struct kgni_dgram **taken);
void kgni_dgram_told(struct kgni_nic *nic, struct kgni_dgram *d, bool told);
long kgni_dgram_cancel(struct kgni_nic *nic, struct kgni_ioc_dgram_cancel *arg);

/* kapi.c, kapi_cq.c */
int kapi_init(void);
void kapi_exit(void);
void kapi_cq_event(struct kgni_cq *cq, u64 entry, bool dropped);

#endif /* _KGNI_H */
