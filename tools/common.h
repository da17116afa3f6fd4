/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tools share. Every function that can fail leaves its message in a
 * struct fault and returns its exit status, 0 if all is well: threads of a
 * server must not exit the program.
 *
 *	common.c	faults, numbers, progress, samples, signals
 *	common_gni.c	a NIC, regions of memory, posts that are waited for
 *	common_conn.c	a connection: rendezvous by datagram, messages, events
 *	common_server.c	a server: a thread for each client
 *	common_stream.c	a stream of blocks over a connection
 *	common_file.c	files that appear whole or not at all
 */
#ifndef _TOOLS_COMMON_H
#define _TOOLS_COMMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <gni_pub.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL

/* Exit status of every tool. */
enum status {
	ST_OK = 0,
	ST_FAILED = 1,		/* files, checksums, what the peer refused */
	ST_USAGE = 2,
	ST_DEVICE = 3,		/* no device, or the driver refused */
	ST_PEER = 4,		/* no answer, or the peer went away */
	ST_INTERRUPTED = 130,
};

/**
 * struct fault - what went wrong
 * @status: exit status, ST_OK for nothing
 * @text: message for a human, without the name of the program
 */
struct fault {
	int status;
	char text[400];
};

/* --- common.c ------------------------------------------------------------- */

/* A signal asked for the end. */
extern atomic_int interrupted;

int fault_set(struct fault *f, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fault_report(const struct fault *f);
const char *rc_name(gni_return_t rc);
void catch_signals(void);
uint64_t now_ns(void);
bool parse_u32(const char *text, uint32_t *value);
bool parse_size(const char *text, uint64_t *value);
const char *fmt_count(uint64_t n);
const char *fmt_size(uint64_t bytes);
double mb_per_s(uint64_t bytes, uint64_t ns);

/**
 * struct meter - a progress line on standard error
 * @label: what is going on
 * @total: bytes to move
 * @start: when it started, ns
 * @shown: when it was last shown, ns
 * @tty: standard error is a terminal: the line is redrawn in place
 * @quiet: never show anything
 */
struct meter {
	const char *label;
	uint64_t total;
	uint64_t start;
	uint64_t shown;
	bool tty;
	bool quiet;
};

void meter_start(struct meter *m, const char *label, uint64_t total, bool quiet);
void meter_update(struct meter *m, uint64_t done);
void meter_end(struct meter *m, uint64_t done);

/* --- common_gni.c --------------------------------------------------------- */

/**
 * struct nic_opts - what a user says about a NIC
 * @device: N of /dev/kgniN
 * @cookie: cookie of the job
 * @ptag: protection tag, GNI_FIND_ALLOC_PTAG for whichever goes with @cookie
 */
struct nic_opts {
	uint32_t device;
	uint32_t cookie;
	uint32_t ptag;
};

/**
 * struct nic - an attached NIC
 * @cdm: its communication domain
 * @hndl: the attachment
 * @device: N of /dev/kgniN
 * @pe: its address
 * @inst: instance id of the domain
 * @ptag: protection tag
 */
struct nic {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t hndl;
	uint32_t device;
	uint32_t pe;
	uint32_t inst;
	uint8_t ptag;
};

/**
 * struct region - registered memory
 * @nic: where it is registered
 * @addr: its first byte, on a page boundary
 * @length: bytes
 * @mdh: handle
 */
struct region {
	struct nic *nic;
	char *addr;
	size_t length;
	gni_mem_handle_t mdh;
};

uint32_t default_cookie(void);
void nic_opts_init(struct nic_opts *o);
bool nic_option(struct nic_opts *o, int opt, const char *arg);
int nic_open(struct nic *nic, const struct nic_opts *o, uint32_t inst, struct fault *f);
void nic_close(struct nic *nic);
int region_make(struct region *r, struct nic *nic, size_t length, gni_cq_handle_t dst_cq,
		struct fault *f);
void region_free(struct region *r);

/* Posts a descriptor by the call that its type asks for. */
static inline gni_return_t post(gni_ep_handle_t ep, gni_post_descriptor_t *d)
{
	switch (d->type) {
	case GNI_POST_RDMA_PUT:
	case GNI_POST_RDMA_GET:
		return GNI_PostRdma(ep, d);
	case GNI_POST_CQWRITE:
		return GNI_PostCqWrite(ep, d);
	default:
		return GNI_PostFma(ep, d);
	}
}

gni_return_t post_and_wait(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *d,
			   char *why, size_t size);
void event_text(gni_cq_entry_t event, char *buf, size_t size);
uint32_t nic_stat(const struct nic *nic, gni_statistic_t stat);

/* --- common_conn.c -------------------------------------------------------- */

#define CONN_DATA_MAX	440
#define CONN_DEPTH_MAX	256
#define CONN_BLOCK_MIN	4096U
#define CONN_BLOCK_MAX	(64U << 20)

/* Message tags of connections themselves; users number theirs from 1. */
#define CONN_TAG_ERROR	0xe0

/* In the top byte of a remote event: what it tells of. */
#define CONN_EVENT_MESSAGE	0x4dU
#define CONN_EVENT_DATA		0x44U

/**
 * struct msg - a message
 * @tag: what it says
 * @n: a number
 * @size: another
 * @word: and a small one
 * @length: bytes of @data
 * @data: what else it carries
 */
struct msg {
	uint8_t tag;
	uint64_t n;
	uint64_t size;
	uint32_t word;
	uint32_t length;
	uint8_t data[CONN_DATA_MAX];
};

/* What the two sides of a connection tell each other in the datagram. */
struct hello {
	uint32_t magic;
	uint16_t version;
	uint16_t service;
	uint32_t block;
	uint16_t depth;
	uint16_t credits;
	uint32_t msg_size;
	uint32_t mbox_size;
	uint64_t ctl_addr;
	gni_mem_handle_t ctl_mdh;
	uint64_t data_addr;
	gni_mem_handle_t data_mdh;
};

/**
 * struct conn_opts - how a connection is made
 * @service: number of the tool's protocol; both sides must use the same
 * @block: bytes of a block of the data ring, multiple of 4
 * @depth: blocks of the data ring
 * @timeout: seconds without a sign of the peer after which it is given up
 */
struct conn_opts {
	uint16_t service;
	uint32_t block;
	uint32_t depth;
	uint32_t timeout;
};

/* What happened on a connection, counted. */
struct conn_counts {
	uint64_t posts;		/* completions of posts */
	uint64_t sends;		/* completions of sends */
	uint64_t remote_data;	/* remote events of the peer's puts */
	uint64_t remote_msgs;	/* remote events of messages and credits */
	uint64_t sent;		/* messages */
	uint64_t received;
	uint64_t stalls;	/* sends put off for want of credit */
	uint64_t overruns;	/* times that a queue lost events */
};

/* The first page of the control region; the mailbox follows it. */
struct conn_ctl {
	uint64_t counter;	/* the peer adds to it */
	uint64_t probe;		/* where the liveness probe's result goes */
	uint64_t result[CONN_DEPTH_MAX];	/* results of AMOs, one a slot */
};

/**
 * struct conn - a connection to a peer
 * @nic: the NIC it uses
 * @fault: why it failed
 * @ep: endpoint
 * @tx: blocking queue of source events
 * @rx: blocking queue of remote events
 * @ctl: control region: struct conn_ctl, then the mailbox
 * @data: data ring
 * @mine: what the peer was told
 * @peer: what the peer told
 * @peer_pe: the peer's NIC
 * @peer_inst: the peer's instance id
 * @block: bytes of a block, as both sides agree
 * @depth: blocks in flight, as both sides agree
 * @count: what happened
 *
 * The rest is the connection's own.
 */
struct conn {
	struct nic *nic;
	struct fault fault;
	gni_ep_handle_t ep;
	gni_cq_handle_t tx;
	gni_cq_handle_t rx;
	struct region ctl;
	struct region data;
	struct hello mine;
	struct hello peer;
	uint32_t peer_pe;
	uint32_t peer_inst;
	uint32_t block;
	uint32_t depth;
	struct conn_counts count;

	struct msg *queue;
	uint32_t queue_head;
	uint32_t queue_tail;
	uint64_t timeout;
	uint64_t heard;
	bool open;
	bool stalled;
	bool probing;
	gni_post_descriptor_t probe;
};

/**
 * struct conn_event - something that happened on a connection
 * @desc: a post that completed, or NULL if it's a message
 * @msg: the message
 */
struct conn_event {
	gni_post_descriptor_t *desc;
	struct msg msg;
};

int conn_init(struct conn *c, struct nic *nic, const struct conn_opts *o);
void conn_destroy(struct conn *c);
int conn_listen(struct conn *c, uint64_t id);
int conn_accept(struct conn *c, uint64_t id);
int conn_connect(struct conn *c, uint32_t pe, uint32_t inst);
int conn_next(struct conn *c, struct conn_event *ev);
int conn_expect(struct conn *c, uint8_t tag, struct msg *msg);
int conn_send(struct conn *c, const struct msg *msg);
int conn_post(struct conn *c, gni_post_descriptor_t *d, uint32_t slot);
int conn_finish(struct conn *c);
void conn_abort(struct conn *c);
const struct conn_counts *conn_counts(struct conn *c);

static inline struct conn_ctl *conn_ctl(struct conn *c)
{
	return (struct conn_ctl *)c->ctl.addr;
}

/* Block number @n of this side's data ring. */
static inline char *conn_slot(struct conn *c, uint64_t n)
{
	return c->data.addr + n % c->depth * c->mine.block;
}

/* The same of the peer's. */
static inline uint64_t conn_peer_slot(struct conn *c, uint64_t n)
{
	return c->peer.data_addr + n % c->depth * c->peer.block;
}

/* --- common_server.c ------------------------------------------------------ */

/**
 * struct server - serves clients, each in a thread of its own
 * @nic: NIC to wait at
 * @conn: how connections are made
 * @clients: how many are served at once; more wait their turn
 * @once: end after the first
 * @serve: called with a connection that is open; returns ST_OK or the status
 *	of its fault
 * @ctx: for @serve
 *
 * The rest is the server's own.
 */
struct server {
	struct nic *nic;
	const struct conn_opts *conn;
	uint32_t clients;
	bool once;
	int (*serve)(struct conn *c, void *ctx);
	void *ctx;

	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t changed;
	uint32_t active;
	int status;
};

int server_run(struct server *server);

/* --- common_stream.c ------------------------------------------------------ */

#define STREAM_TAG_BLOCK	1	/* block n is there, word bytes */
#define STREAM_TAG_FREE		2	/* block n is done with */

/**
 * struct stream - bytes that move over a connection in blocks
 * @c: the connection
 * @size: how many bytes
 * @fma: move them by FMA, not by RDMA
 * @block: called for each block in order: fills or takes it; returns ST_OK or
 *	sets the connection's fault
 * @ctx: for @block
 * @blocks: how many blocks, known once a stream_ function has begun
 */
struct stream {
	struct conn *c;
	uint64_t size;
	bool fma;
	int (*block)(void *ctx, void *buf, uint32_t length);
	void *ctx;
	uint64_t blocks;
};

int stream_push(struct stream *s);
int stream_sink(struct stream *s);
int stream_pull(struct stream *s);
int stream_source(struct stream *s);

/* --- common_file.c -------------------------------------------------------- */

/**
 * struct outfile - a file that is being written under another name
 * @fd: where to write
 * @dir: directory it is in
 * @tmp: its name until it is whole, empty if it is written in place
 * @name: its name then
 */
struct outfile {
	int fd;
	int dir;
	char tmp[64];
	char name[256];
};

int file_open_beneath(int dirfd, const char *path, struct fault *f);
int outfile_create(struct outfile *o, int dirfd, const char *path, struct fault *f);
int outfile_commit(struct outfile *o, mode_t mode, struct fault *f);
void outfile_drop(struct outfile *o);
int read_full(int fd, void *buf, size_t length, const char *what, struct fault *f);
int write_full(int fd, const void *buf, size_t length, const char *what, struct fault *f);

#endif /* _TOOLS_COMMON_H */
