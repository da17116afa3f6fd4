// SPDX-License-Identifier: GPL-2.0-only
/*
 * gnicp - copy files between two processes over GNI
 *
 * What the two say to each other, once connected; blocks go as the streams of
 * common_stream.c:
 *
 *	put:	PUT ->  <- OK  =blocks=>  END ->  <- DONE
 *	get:	GET ->  <- OK  <=blocks=  <- END  END ->  <- DONE
 *
 * END carries the sender's idea of the whole: blocks, bytes and SHA-256. DONE
 * is the server's last word, after it checked the counter in its memory.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common.h"

#define SERVICE		1
#define DIGEST_LEN	32
/* Clients' instance ids: out of the way of servers', and unique on a machine. */
#define CLIENT_INST	0x40000000U

enum tag {
	TAG_PUT = 16,		/* size, word: mode, data: name */
	TAG_GET,		/* data: name */
	TAG_OK,			/* size, word: mode */
	TAG_END,		/* n: blocks, size, data: digest */
	TAG_DONE,		/* n: counter, size: remote events of puts */
};

static struct {
	struct nic_opts nic;
	struct conn_opts conn;
	uint32_t peer;
	uint32_t inst;
	uint32_t clients;
	const char *dir;
	bool peer_given;
	bool fma;
	bool quiet;
	bool once;
	bool read_only;
} opt = {
	.conn = { .service = SERVICE, .block = 128 << 10, .depth = 8, .timeout = 30 },
	.clients = 4,
	.dir = ".",
};

/* --- a file on its way ---------------------------------------------------- */

/**
 * struct transfer - one file on its way, at either end
 * @c: connection
 * @stream: its bytes
 * @meter: progress
 * @sha: hash of the bytes so far
 * @digest: SHA-256 of the file, once all of it has passed
 * @fd: the file
 * @name: its name, for messages
 * @done: bytes so far
 * @hashing: how long SHA-256 took, ns
 * @elapsed: how long all took, ns
 */
struct transfer {
	struct conn *c;
	struct stream stream;
	struct meter meter;
	EVP_MD_CTX *sha;
	uint8_t digest[DIGEST_LEN];
	int fd;
	const char *name;
	uint64_t done;
	uint64_t hashing;
	uint64_t elapsed;
};

static int passed(struct transfer *t, const void *buf, uint32_t length)
{
	uint64_t start = now_ns();

	if (!EVP_DigestUpdate(t->sha, buf, length))
		return fault_set(&t->c->fault, ST_FAILED, "SHA-256 failed");
	t->hashing += now_ns() - start;
	t->done += length;
	meter_update(&t->meter, t->done);
	return ST_OK;
}

static int read_block(void *ctx, void *buf, uint32_t length)
{
	struct transfer *t = ctx;

	if (read_full(t->fd, buf, length, t->name, &t->c->fault))
		return t->c->fault.status;
	return passed(t, buf, length);
}

static int write_block(void *ctx, void *buf, uint32_t length)
{
	struct transfer *t = ctx;

	if (write_full(t->fd, buf, length, t->name, &t->c->fault))
		return t->c->fault.status;
	return passed(t, buf, length);
}

/* Moves all blocks by one of the stream functions. */
static int transfer_run(struct transfer *t, int (*run)(struct stream *s), uint64_t size,
			const char *label)
{
	struct fault *f = &t->c->fault;

	t->stream.c = t->c;
	t->stream.size = size;
	t->stream.fma = opt.fma;
	t->stream.ctx = t;
	t->stream.block = run == stream_push || run == stream_source ? read_block : write_block;
	t->sha = EVP_MD_CTX_new();
	if (!t->sha || !EVP_DigestInit_ex(t->sha, EVP_sha256(), NULL))
		fault_set(f, ST_FAILED, "SHA-256 is not to be had");
	meter_start(&t->meter, label, size, opt.quiet || !label);
	if (!f->status)
		run(&t->stream);
	t->elapsed = now_ns() - t->meter.start;
	meter_end(&t->meter, t->done);
	if (!f->status && !EVP_DigestFinal_ex(t->sha, t->digest, NULL))
		fault_set(f, ST_FAILED, "SHA-256 failed");
	EVP_MD_CTX_free(t->sha);
	return f->status;
}

static const char *hex_digest(const struct transfer *t)
{
	static __thread char hex[2 * DIGEST_LEN + 1];
	int i;

	for (i = 0; i < DIGEST_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", t->digest[i]);
	return hex;
}

static int send_end(struct transfer *t)
{
	struct msg m = {
		.tag = TAG_END, .n = t->stream.blocks, .size = t->done, .length = DIGEST_LEN,
	};

	memcpy(m.data, t->digest, DIGEST_LEN);
	return conn_send(t->c, &m);
}

/* The other side's END must say what this side saw. */
static int expect_end(struct transfer *t)
{
	struct msg m;

	if (conn_expect(t->c, TAG_END, &m))
		return t->c->fault.status;
	if (m.n != t->stream.blocks || m.size != t->done || m.length != DIGEST_LEN)
		return fault_set(&t->c->fault, ST_FAILED,
				 "%s: %s bytes here, %s there", t->name, fmt_count(t->done),
				 fmt_count(m.size));
	if (memcmp(m.data, t->digest, DIGEST_LEN))
		return fault_set(&t->c->fault, ST_FAILED,
				 "%s: the copy differs: SHA-256 is not the same on both sides",
				 t->name);
	return ST_OK;
}

static int send_name(struct conn *c, uint8_t tag, const char *name, const struct stat *st)
{
	struct msg m = { .tag = tag, .length = (uint32_t)strlen(name) };

	if (m.length > CONN_DATA_MAX)
		return fault_set(&c->fault, ST_USAGE, "the name '%.40s...' is too long", name);
	if (st) {
		m.size = (uint64_t)st->st_size;
		m.word = st->st_mode & 0777;
	}
	memcpy(m.data, name, m.length);
	return conn_send(c, &m);
}

/* --- client --------------------------------------------------------------- */

static void report(const struct transfer *t, bool put, const struct msg *done)
{
	const struct conn *c = t->c;
	const struct conn_counts *n = &c->count;
	uint64_t blocks = t->stream.blocks;

	if (opt.quiet)
		return;
	printf("  size        %s bytes: %s blocks of %s, up to %u on the way\n", fmt_count(t->done),
	       fmt_count(blocks), fmt_size(c->block), c->depth);
	printf("  sha256      %s, the same on both sides\n", hex_digest(t));
	printf("  throughput  %.1f MB/s: %.3f s, of which %.3f s for SHA-256 on this side\n",
	       mb_per_s(t->done, t->elapsed), (double)t->elapsed / 1e9, (double)t->hashing / 1e9);
	printf("  counter     %s in the server's memory, %s expected\n", fmt_count(done->n),
	       fmt_count(blocks));
	printf("  events      %s source: %s %s %ss, %s atomic adds; %s remote at the server\n",
	       fmt_count(n->posts), fmt_count(blocks), opt.fma ? "FMA" : "RDMA",
	       put ? "put" : "get", fmt_count(n->posts - blocks), fmt_count(done->size));
	printf("  messages    %s sent, %s received, %s stalls for want of credit\n",
	       fmt_count(n->sent), fmt_count(n->received),
	       fmt_count(nic_stat(c->nic, GNI_STAT_SMSG_MBOX_CREDITS_STALL)));
}

/* The server's last word: the counter is as it should be. */
static int expect_done(struct transfer *t, struct msg *done)
{
	if (conn_expect(t->c, TAG_DONE, done))
		return t->c->fault.status;
	if (done->n != t->stream.blocks)
		return fault_set(&t->c->fault, ST_FAILED,
				 "%s: %s blocks moved, but the server's counter says %s", t->name,
				 fmt_count(t->stream.blocks), fmt_count(done->n));
	return conn_finish(t->c);
}

static int put_stream(struct transfer *t, const char *name, const struct stat *st)
{
	struct msg m;

	if (send_name(t->c, TAG_PUT, name, st) || conn_expect(t->c, TAG_OK, &m) ||
	    transfer_run(t, stream_push, (uint64_t)st->st_size, "put") || send_end(t) ||
	    expect_done(t, &m))
		return t->c->fault.status;
	report(t, true, &m);
	return ST_OK;
}

static int client_put(struct conn *c, const char *file, const char *name)
{
	struct transfer t = { .c = c, .name = file };
	struct stat st;

	t.fd = open(file, O_RDONLY | O_CLOEXEC);
	if (t.fd < 0 || fstat(t.fd, &st))
		fault_set(&c->fault, ST_FAILED, "%s: %s", file, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		fault_set(&c->fault, ST_FAILED, "%s: not a regular file", file);
	else if (!conn_connect(c, opt.peer, opt.inst))
		put_stream(&t, name, &st);
	if (t.fd >= 0)
		close(t.fd);
	return c->fault.status;
}

static int get_stream(struct transfer *t, struct outfile *out, const struct msg *ok)
{
	struct msg m;

	t->fd = out->fd;
	if (transfer_run(t, stream_pull, ok->size, "get") || expect_end(t) || send_end(t) ||
	    expect_done(t, &m) || outfile_commit(out, ok->word, &t->c->fault))
		return t->c->fault.status;
	report(t, false, &m);
	return ST_OK;
}

static int client_get(struct conn *c, const char *name, const char *file)
{
	struct transfer t = { .c = c, .name = name };
	char path[PATH_MAX];
	struct outfile out;
	struct stat st;
	struct msg m;

	if (!stat(file, &st) && S_ISDIR(st.st_mode)) {
		const char *slash = strrchr(name, '/');

		snprintf(path, sizeof(path), "%s/%s", file, slash ? slash + 1 : name);
		file = path;
	}
	if (conn_connect(c, opt.peer, opt.inst) || send_name(c, TAG_GET, name, NULL) ||
	    conn_expect(c, TAG_OK, &m) || outfile_create(&out, AT_FDCWD, file, &c->fault))
		return c->fault.status;
	get_stream(&t, &out, &m);
	outfile_drop(&out);
	return c->fault.status;
}

static int client(bool put, const char *from, const char *to)
{
	struct fault f = { 0 };
	struct conn c;
	struct nic nic;

	if (nic_open(&nic, &opt.nic, CLIENT_INST | (uint32_t)getpid(), &f))
		return fault_report(&f);
	if (!opt.peer_given)
		opt.peer = nic.pe;
	if (!opt.quiet)
		fprintf(stderr, "%s %s -> %s, PE %u -> PE %u, instance %u\n", put ? "put" : "get",
			from, to, put ? nic.pe : opt.peer, put ? opt.peer : nic.pe, opt.inst);
	if (!conn_init(&c, &nic, &opt.conn)) {
		if (put)
			client_put(&c, from, to);
		else
			client_get(&c, from, to);
	}
	if (c.fault.status)
		conn_abort(&c);
	conn_destroy(&c);
	nic_close(&nic);
	return fault_report(&c.fault);
}

/* --- server --------------------------------------------------------------- */

/* All blocks were counted, and puts seen, if no event was lost. */
static int check_counts(struct transfer *t, bool put, struct msg *done)
{
	uint64_t counter = __atomic_load_n(&conn_ctl(t->c)->counter, __ATOMIC_ACQUIRE);
	const struct conn_counts *n = conn_counts(t->c);

	*done = (struct msg){ .tag = TAG_DONE, .n = counter, .size = n->remote_data };
	if (counter != t->stream.blocks)
		return fault_set(&t->c->fault, ST_FAILED, "%s: %s blocks moved, %s counted",
				 t->name, fmt_count(t->stream.blocks), fmt_count(counter));
	if (put && !n->overruns && n->remote_data != t->stream.blocks)
		return fault_set(&t->c->fault, ST_FAILED, "%s: %s puts, but %s remote events",
				 t->name, fmt_count(t->stream.blocks), fmt_count(n->remote_data));
	return ST_OK;
}

static void log_served(const char *what, const struct transfer *t)
{
	printf("%s %s: %s bytes, %.1f MB/s, sha256 %.16s..., for PE %u, instance 0x%x\n", what,
	       t->name, fmt_count(t->done), mb_per_s(t->done, t->elapsed), hex_digest(t),
	       t->c->peer_pe, t->c->peer_inst);
}

static int serve_put(struct conn *c, int dir, const char *name, const struct msg *request)
{
	struct transfer t = { .c = c, .name = name };
	struct msg ok = { .tag = TAG_OK, .size = request->size };
	struct fault *f = &c->fault;
	struct outfile out;
	struct msg done;

	if (opt.read_only)
		return fault_set(f, ST_FAILED, "%s: this server takes no files (--read-only)",
				 name);
	if (outfile_create(&out, dir, name, f))
		return f->status;
	t.fd = out.fd;
	if (!conn_send(c, &ok) && !transfer_run(&t, stream_sink, request->size, NULL) &&
	    !expect_end(&t) && !check_counts(&t, true, &done) &&
	    !outfile_commit(&out, request->word, f) && !conn_send(c, &done) && !conn_finish(c))
		log_served("put", &t);
	outfile_drop(&out);
	return f->status;
}

static int serve_get(struct conn *c, int dir, const char *name)
{
	struct transfer t = { .c = c, .name = name };
	struct msg ok = { .tag = TAG_OK };
	struct fault *f = &c->fault;
	struct stat st = { 0 };
	struct msg done;

	t.fd = file_open_beneath(dir, name, f);
	if (t.fd < 0)
		return f->status;
	if (fstat(t.fd, &st))
		fault_set(f, ST_FAILED, "%s: %s", name, strerror(errno));
	ok.size = (uint64_t)st.st_size;
	ok.word = st.st_mode & 0777;
	if (!f->status && !conn_send(c, &ok) &&
	    !transfer_run(&t, stream_source, ok.size, NULL) && !send_end(&t) && !expect_end(&t) &&
	    !check_counts(&t, false, &done) && !conn_send(c, &done) && !conn_finish(c))
		log_served("get", &t);
	close(t.fd);
	return f->status;
}

/* Names are shown on terminals: they may not control them. */
static bool name_ok(const struct msg *m)
{
	uint32_t i;

	for (i = 0; i < m->length; i++)
		if (m->data[i] < ' ' || m->data[i] == 0x7f)
			return false;
	return true;
}

/* Serves one client, whose connection is open. */
static int serve(struct conn *c, void *ctx)
{
	char name[CONN_DATA_MAX + 1];
	const int *dir = ctx;
	struct conn_event ev;
	struct msg *m = &ev.msg;

	if (conn_next(c, &ev))
		return c->fault.status;
	if (!name_ok(m))
		return fault_set(&c->fault, ST_FAILED, "control characters in a name");
	memcpy(name, m->data, m->length);
	name[m->length] = '\0';
	if (m->tag == TAG_PUT)
		return serve_put(c, *dir, name, m);
	if (m->tag == TAG_GET)
		return serve_get(c, *dir, name);
	return fault_set(&c->fault, ST_PEER, "the client asks for what is not known here (%u)",
			 m->tag);
}

static int serve_files(void)
{
	int dir = open(opt.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct fault f = { 0 };
	struct nic nic;
	struct server server = {
		.nic = &nic, .conn = &opt.conn, .clients = opt.clients, .once = opt.once,
		.serve = serve, .ctx = &dir,
	};
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (dir < 0)
		fault_set(&f, ST_FAILED, "%s: %s", opt.dir, strerror(errno));
	else
		nic_open(&nic, &opt.nic, opt.inst, &f);
	if (f.status)
		return fault_report(&f);
	printf("serving %s on PE %u, instance %u (device %u, ptag %u, cookie 0x%x)\n", opt.dir,
	       nic.pe, opt.inst, opt.nic.device, nic.ptag, opt.nic.cookie);
	status = server_run(&server);
	nic_close(&nic);
	close(dir);
	return status;
}

/* --- command line --------------------------------------------------------- */

static const char usage_text[] =
"usage: gnicp serve [OPTION]...              offer a directory\n"
"       gnicp put [OPTION]... FILE [NAME]    copy FILE to the server, as NAME\n"
"       gnicp get [OPTION]... NAME [FILE]    copy NAME from the server\n"
"\n"
"      --device N     use /dev/kgniN (0)\n"
"      --cookie C     cookie of the job, the same on both sides (one a user)\n"
"      --ptag T       protection tag (the one that goes with the cookie)\n"
"      --peer PE      address of the server's NIC (this one's own)\n"
"      --inst I       instance id of the server (0)\n"
"      --block SIZE   bytes a block, K and M allowed (128K)\n"
"      --depth N      blocks on the way at once, 1 to 256 (8)\n"
"      --timeout S    give a silent peer up after S seconds (30)\n"
"      --fma          move the blocks by FMA, not by RDMA\n"
"  -q, --quiet        print nothing but errors\n"
"      --dir DIR      serve: the directory (.)\n"
"      --read-only    serve: take no files\n"
"      --clients N    serve: so many at once (4)\n"
"      --once         serve: one client, then exit with its status\n"
"  -h, --help\n"
"  -V, --version\n"
"\n"
"Exit status: 0 done, 1 failed, 2 usage, 3 device or permission, 4 no peer.\n";

static const struct option options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "cookie", required_argument, NULL, 'c' },
	{ "ptag", required_argument, NULL, 't' },
	{ "peer", required_argument, NULL, 'p' },
	{ "inst", required_argument, NULL, 'i' },
	{ "block", required_argument, NULL, 'b' },
	{ "depth", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 'T' },
	{ "fma", no_argument, NULL, 'F' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "dir", required_argument, NULL, 'D' },
	{ "read-only", no_argument, NULL, 'r' },
	{ "clients", required_argument, NULL, 'm' },
	{ "once", no_argument, NULL, '1' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static bool block_option(const char *arg)
{
	uint64_t size;

	if (!parse_size(arg, &size) || size < CONN_BLOCK_MIN || size > CONN_BLOCK_MAX || size % 4)
		return false;
	opt.conn.block = (uint32_t)size;
	return true;
}

/* Return: whether option @o makes sense with @arg. */
static bool take_option(int o, const char *arg)
{
	switch (o) {
	case 'd':
	case 'c':
	case 't':
		return nic_option(&opt.nic, o, arg);
	case 'p':
		opt.peer_given = true;
		return parse_u32(arg, &opt.peer);
	case 'i':
		return parse_u32(arg, &opt.inst);
	case 'b':
		return block_option(arg);
	case 'n':
		return parse_u32(arg, &opt.conn.depth) && opt.conn.depth &&
		       opt.conn.depth <= CONN_DEPTH_MAX;
	case 'T':
		return parse_u32(arg, &opt.conn.timeout) && opt.conn.timeout;
	case 'F':
		return opt.fma = true;
	case 'q':
		return opt.quiet = true;
	case 'D':
		opt.dir = arg;
		return true;
	case 'r':
		return opt.read_only = true;
	case 'm':
		return parse_u32(arg, &opt.clients) && opt.clients;
	case '1':
		return opt.once = true;
	}
	return false;
}

static int usage_error(const char *what)
{
	fprintf(stderr, "gnicp: %s; 'gnicp --help' tells more\n", what);
	return ST_USAGE;
}

int main(int argc, char **argv)
{
	const char *command, *from, *to;
	int o, which, left;

	nic_opts_init(&opt.nic);
	while ((o = getopt_long(argc, argv, "qhV", options, &which)) != -1) {
		if (o == '?')
			return usage_error("unknown option");
		if (o == 'h')
			return fputs(usage_text, stdout) < 0;
		if (o == 'V')
			return puts("gnicp (kgni) " KGNI_VERSION) < 0;
		if (!take_option(o, optarg)) {
			fprintf(stderr, "gnicp: --%s: '%s' is out of range\n", options[which].name,
				optarg);
			return ST_USAGE;
		}
	}
	left = argc - optind;
	if (!left)
		return usage_error("serve, put or get?");
	command = argv[optind];
	catch_signals();
	if (!strcmp(command, "serve"))
		return left == 1 ? serve_files() : usage_error("serve takes no argument");
	if (strcmp(command, "put") && strcmp(command, "get"))
		return usage_error("there are the commands serve, put and get");
	if (left < 2 || left > 3)
		return usage_error("put and get take one name or two");
	from = argv[optind + 1];
	to = left == 3 ? argv[optind + 2] : strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
	return client(*command == 'p', from, to);
}
