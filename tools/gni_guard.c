// SPDX-License-Identifier: GPL-2.0-only
/*
 * gni_guard - check that the driver guards memory
 *
 * Three processes: the owner of some registered memory, a peer of the same job
 * that reaches where it may and where it may not, and an intruder with another
 * cookie that knows the owner's handles. After each attempt the owner compares
 * its memory, registered or not, with what it should hold.
 */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

#define PAGE		4096
#define FILL		0x11
#define MARK		0xee
#define OWNER_INST	0x30000000U
#define OTHER_INST	0x31000000U
#define MEET_MS		300

/* Pages of the owner's memory; MAIN has two. */
enum page { GUARD_LOW, MAIN, MAIN_2, GUARD_HIGH, READ_ONLY, FORMER, PAGES };

/* What the owner tells the others, rightly or not. */
struct secret {
	uint32_t pe;
	uint32_t inst;
	uint32_t ptag;
	uint64_t addr;
	gni_mem_handle_t main;
	gni_mem_handle_t read_only;
	gni_mem_handle_t former;
};

/**
 * struct attempt - one thing to try
 * @what: in words
 * @type: post
 * @handle: MAIN, READ_ONLY, FORMER, or GUARD_LOW for one that is made up
 * @offset: in the owner's memory
 * @length: bytes
 * @expect: how it must end
 */
struct attempt {
	const char *what;
	gni_post_type_t type;
	enum page handle;
	uint32_t offset;
	uint32_t length;
	gni_return_t expect;
};

#define END	((MAIN_2 + 1) * PAGE)

static const struct attempt peer_attempts[] = {
	{ "FMA put into the region", GNI_POST_FMA_PUT, MAIN, MAIN * PAGE, 64, GNI_RC_SUCCESS },
	{ "RDMA put to its very end", GNI_POST_RDMA_PUT, MAIN, END - 64, 64, GNI_RC_SUCCESS },
	{ "FMA put behind its end", GNI_POST_FMA_PUT, MAIN, END, 64, GNI_RC_TRANSACTION_ERROR },
	{ "RDMA put behind its end", GNI_POST_RDMA_PUT, MAIN, END, 64, GNI_RC_TRANSACTION_ERROR },
	{ "RDMA put across its end", GNI_POST_RDMA_PUT, MAIN, END - 32, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "FMA put before its start", GNI_POST_FMA_PUT, MAIN, MAIN * PAGE - 64, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "FMA get behind its end", GNI_POST_FMA_GET, MAIN, END, 64, GNI_RC_TRANSACTION_ERROR },
	{ "atomic add behind its end", GNI_POST_AMO, MAIN, END, 8, GNI_RC_TRANSACTION_ERROR },
	{ "FMA put into a read-only region", GNI_POST_FMA_PUT, READ_ONLY, READ_ONLY * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "RDMA get from a read-only region", GNI_POST_RDMA_GET, READ_ONLY, READ_ONLY * PAGE, 64,
	  GNI_RC_SUCCESS },
	{ "FMA put after deregistration", GNI_POST_FMA_PUT, FORMER, FORMER * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "FMA put by a made-up handle", GNI_POST_FMA_PUT, GUARD_LOW, MAIN * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
};

static const struct attempt intruder_attempts[] = {
	{ "FMA put by a stolen handle", GNI_POST_FMA_PUT, MAIN, MAIN * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "RDMA put by a stolen handle", GNI_POST_RDMA_PUT, MAIN, MAIN * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
	{ "RDMA get by a stolen handle", GNI_POST_RDMA_GET, MAIN, MAIN * PAGE, 64,
	  GNI_RC_TRANSACTION_ERROR },
};

/**
 * struct outcome - how an attempt went, as the others tell the owner
 * @what: in words
 * @got: in words
 * @why: in more words
 * @offset: bytes the owner's memory must have changed at
 * @length: how many, 0 for none
 * @ok: it ended as it must
 * @last: the process is done
 */
struct outcome {
	char what[48];
	char got[20];
	char why[128];
	uint32_t offset;
	uint32_t length;
	bool ok;
	bool last;
};

static struct nic_opts nic_opts;

/* --- those that try ------------------------------------------------------- */

struct actor {
	int sock;
	struct secret secret;
	struct nic nic;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	struct region local;
	struct fault fault;
};

/* Tells the owner and waits until it has looked. */
static bool tell(struct actor *a, const struct outcome *o)
{
	char go;

	return send(a->sock, o, sizeof(*o), 0) == sizeof(*o) && recv(a->sock, &go, 1, 0) == 1;
}

static gni_mem_handle_t handle_of(const struct actor *a, enum page which)
{
	gni_mem_handle_t made_up = a->secret.main;

	switch (which) {
	case READ_ONLY:
		return a->secret.read_only;
	case FORMER:
		return a->secret.former;
	case GUARD_LOW:
		/* The number of a registration is in the top 12 bits. */
		made_up.qword1 |= 0xfffULL << 52;
		return made_up;
	default:
		return a->secret.main;
	}
}

static bool is_get(const struct attempt *t)
{
	return t->type == GNI_POST_FMA_GET || t->type == GNI_POST_RDMA_GET;
}

static void try_one(struct actor *a, const struct attempt *t)
{
	gni_post_descriptor_t d = {
		.type = t->type,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)a->local.addr,
		.local_mem_hndl = a->local.mdh,
		.remote_addr = a->secret.addr + t->offset,
		.remote_mem_hndl = handle_of(a, t->handle),
		.length = t->length,
		.amo_cmd = GNI_FMA_ATOMIC_ADD,
		.first_operand = 1,
	};
	struct outcome o = { 0 };
	char why[256];
	gni_return_t rc;
	bool got;

	memset(a->local.addr, MARK, PAGE);
	rc = post_and_wait(a->ep, a->cq, &d, why, sizeof(why));
	got = a->local.addr[0] == FILL;
	o.ok = rc == t->expect && got == (is_get(t) && !rc);
	if (!rc && !is_get(t)) {
		o.offset = t->offset;
		o.length = t->length;
	}
	snprintf(o.what, sizeof(o.what), "%s", t->what);
	snprintf(o.got, sizeof(o.got), "%s", rc ? "refused" : "done");
	snprintf(o.why, sizeof(o.why), "%.100s", rc == GNI_RC_TRANSACTION_ERROR ? why :
		 rc ? rc_name(rc) : "");
	tell(a, &o);
}

static int open_actor(struct actor *a, uint32_t cookie)
{
	struct nic_opts o = nic_opts;
	gni_return_t rc;

	o.cookie = cookie;
	o.ptag = GNI_FIND_ALLOC_PTAG;
	if (nic_open(&a->nic, &o, OTHER_INST | (uint32_t)getpid(), &a->fault) ||
	    region_make(&a->local, &a->nic, PAGE, NULL, &a->fault))
		return a->fault.status;
	rc = GNI_CqCreate(a->nic.hndl, 16, 0, GNI_CQ_BLOCKING, NULL, NULL, &a->cq);
	if (!rc)
		rc = GNI_EpCreate(a->nic.hndl, a->cq, &a->ep);
	if (!rc)
		rc = GNI_EpBind(a->ep, a->secret.pe, a->secret.inst);
	return rc ? fault_set(&a->fault, ST_DEVICE, "queue and endpoint: %s", rc_name(rc)) : ST_OK;
}

static void peer(struct actor *a)
{
	size_t i;

	if (open_actor(a, nic_opts.cookie))
		return;
	for (i = 0; i < ARRAY_SIZE(peer_attempts); i++)
		try_one(a, &peer_attempts[i]);
}

/* The owner's ptag, but not its cookie. */
static void try_attach(struct actor *a, uint32_t cookie)
{
	struct outcome o = { .what = "attach with a wrong cookie" };
	gni_nic_handle_t nic;
	gni_cdm_handle_t cdm;
	uint32_t pe;
	gni_return_t rc;

	rc = GNI_CdmCreate(1, (uint8_t)a->secret.ptag, cookie, 0, &cdm);
	if (!rc) {
		rc = GNI_CdmAttach(cdm, nic_opts.device, &pe, &nic);
		GNI_CdmDestroy(cdm);
	}
	o.ok = rc == GNI_RC_PERMISSION_ERROR;
	snprintf(o.got, sizeof(o.got), "%s", rc ? "refused" : "done");
	snprintf(o.why, sizeof(o.why), "%s", rc ? rc_name(rc) : "");
	tell(a, &o);
}

/* The owner has a wildcard datagram out that this must not match. */
static void try_meet(struct actor *a)
{
	struct outcome o = { .what = "datagram with a wrong cookie" };
	gni_post_state_t state;
	uint32_t pe, inst;
	char buf[8] = "hello";
	gni_return_t rc;

	rc = GNI_EpPostDataWId(a->ep, buf, sizeof(buf), buf, sizeof(buf), 1);
	if (!rc)
		rc = GNI_EpPostDataWaitById(a->ep, 1, MEET_MS, &state, &pe, &inst);
	o.ok = rc == GNI_RC_TIMEOUT;
	snprintf(o.got, sizeof(o.got), "%s", rc ? "no answer" : "done");
	snprintf(o.why, sizeof(o.why), "%s", rc && !o.ok ? rc_name(rc) : "");
	tell(a, &o);
}

static void intruder(struct actor *a)
{
	uint32_t cookie = nic_opts.cookie ^ 0x10001;
	size_t i;

	try_attach(a, cookie);
	if (open_actor(a, cookie))
		return;
	for (i = 0; i < ARRAY_SIZE(intruder_attempts); i++)
		try_one(a, &intruder_attempts[i]);
	try_meet(a);
}

static int actor_main(int sock, void (*run)(struct actor *a))
{
	struct outcome end = { .last = true };
	struct actor a = { .sock = sock };

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (recv(sock, &a.secret, sizeof(a.secret), 0) != sizeof(a.secret))
		return ST_FAILED;
	run(&a);
	if (!a.fault.status)
		tell(&a, &end);
	if (a.ep)
		GNI_EpDestroy(a.ep);
	region_free(&a.local);
	nic_close(&a.nic);
	return fault_report(&a.fault);
}

/* Starts a process that waits for the secret before it touches the library. */
static pid_t start(void (*run)(struct actor *a), int *sock)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(pair[0]);
		_exit(actor_main(pair[1], run));
	}
	close(pair[1]);
	*sock = pair[0];
	return pid;
}

/* --- the owner ------------------------------------------------------------ */

struct owner {
	struct nic nic;
	struct secret secret;
	gni_ep_handle_t wildcard;
	unsigned char *mem;
	unsigned char shadow[PAGES * PAGE];
	struct fault fault;
};

static gni_return_t add(struct owner *o, enum page page, int pages, uint32_t flags,
			gni_mem_handle_t *mdh)
{
	return GNI_MemRegister(o->nic.hndl, (uintptr_t)o->mem + page * PAGE,
			       (uint64_t)pages * PAGE, NULL, flags, (uint32_t)-1, mdh);
}

static int open_owner(struct owner *o)
{
	struct secret *s = &o->secret;
	gni_mem_handle_t former;
	gni_return_t rc;

	if (nic_open(&o->nic, &nic_opts, OWNER_INST | (uint32_t)getpid(), &o->fault))
		return o->fault.status;
	o->mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (o->mem == MAP_FAILED)
		return fault_set(&o->fault, ST_FAILED, "out of memory");
	memset(o->mem, FILL, PAGES * PAGE);
	memset(o->shadow, FILL, PAGES * PAGE);
	rc = add(o, MAIN, 2, GNI_MEM_READWRITE, &s->main);
	if (!rc)
		rc = add(o, READ_ONLY, 1, GNI_MEM_READ_ONLY, &s->read_only);
	if (!rc)
		rc = add(o, FORMER, 1, GNI_MEM_READWRITE, &former);
	if (rc)
		return fault_set(&o->fault, ST_DEVICE, "cannot register memory: %s", rc_name(rc));
	s->former = former;
	GNI_MemDeregister(o->nic.hndl, &former);
	rc = GNI_EpCreate(o->nic.hndl, NULL, &o->wildcard);
	if (!rc)
		rc = GNI_EpPostDataWId(o->wildcard, NULL, 0, NULL, 0, 1);
	if (rc)
		return fault_set(&o->fault, ST_DEVICE, "datagram: %s", rc_name(rc));
	s->pe = o->nic.pe;
	s->inst = o->nic.inst;
	s->ptag = o->nic.ptag;
	s->addr = (uintptr_t)o->mem;
	return ST_OK;
}

static void judge(struct owner *o, const struct outcome *t)
{
	bool same;

	memset(o->shadow + t->offset, MARK, t->length);
	same = !memcmp(o->mem, o->shadow, PAGES * PAGE);
	printf("  %-6s  %-32s  %-9s  memory %s%s%s\n", t->ok && same ? "ok" : "NOT OK", t->what,
	       t->got, !same ? "WRONG" : t->length ? "changed" : "unchanged",
	       *t->why ? "  " : "", t->why);
	if (!t->ok || !same)
		fault_set(&o->fault, ST_FAILED, "%s: not guarded as it must be", t->what);
	memcpy(o->shadow, o->mem, PAGES * PAGE);
}

/* Lets one process try all it wants to. */
static void watch(struct owner *o, const char *who, int sock, pid_t pid)
{
	struct outcome t;
	int status;

	printf("%s\n", who);
	if (send(sock, &o->secret, sizeof(o->secret), 0) < 0)
		fault_set(&o->fault, ST_FAILED, "%s: %s", who, strerror(errno));
	while (recv(sock, &t, sizeof(t), 0) == sizeof(t)) {
		if (!t.last)
			judge(o, &t);
		if (send(sock, "", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	close(sock);
	if (waitpid(pid, &status, 0) != pid || status)
		fault_set(&o->fault, ST_FAILED, "the other process failed");
}

static int guard(void)
{
	static struct owner o;
	int peer_sock = -1, intruder_sock = -1;
	pid_t peer_pid = start(peer, &peer_sock);
	pid_t intruder_pid = start(intruder, &intruder_sock);

	if (peer_pid < 0 || intruder_pid < 0) {
		perror("gni_guard: cannot start a process");
		return ST_FAILED;
	}
	if (!open_owner(&o)) {
		watch(&o, "a peer of the same job", peer_sock, peer_pid);
		watch(&o, "an intruder with another cookie", intruder_sock, intruder_pid);
	}
	if (o.wildcard)
		GNI_EpDestroy(o.wildcard);
	nic_close(&o.nic);
	return fault_report(&o.fault);
}

/* --- command line --------------------------------------------------------- */

static const char usage_text[] =
"usage: gni_guard [OPTION]...\n"
"Checks that other processes reach registered memory only as they may.\n"
"\n"
"      --device N   use /dev/kgniN (0)\n"
"      --cookie C   cookie of the job (one a user)\n"
"  -h, --help\n"
"  -V, --version\n";

static const struct option options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "cookie", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

int main(int argc, char **argv)
{
	int o, which = 0;

	nic_opts_init(&nic_opts);
	while ((o = getopt_long(argc, argv, "hV", options, &which)) != -1) {
		if (o == 'h')
			return fputs(usage_text, stdout) < 0;
		if (o == 'V')
			return puts("gni_guard (kgni) " KGNI_VERSION) < 0;
		if (o == '?')
			return ST_USAGE;
		if (!nic_option(&nic_opts, o, optarg)) {
			fprintf(stderr, "gni_guard: --%s: '%s' is out of range\n",
				options[which].name, optarg);
			return ST_USAGE;
		}
	}
	if (optind < argc) {
		fputs("gni_guard: no arguments, please; 'gni_guard --help' tells more\n", stderr);
		return ST_USAGE;
	}
	return guard();
}
