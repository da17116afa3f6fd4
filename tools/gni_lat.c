// SPDX-License-Identifier: GPL-2.0-only
/*
 * gni_lat - how long the basic operations take
 *
 * Two processes, one on each of two NICs or both on the same. The parent
 * measures from its post to its source event, or half of a message's way there
 * and back; it polls. The child only answers messages.
 */

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

#define SERVICE		2
#define LISTEN_ID	1
#define PARENT_INST	0x20000000U
#define CHILD_INST	0x10000000U
#define SPINS_A_YIELD	2000
#define LOST_NS		(10 * NS_PER_S)
#define RDMA_BYTES	4096

enum tag {
	TAG_SPIN = 1,		/* answer pings without sleeping */
	TAG_PING,
	TAG_PONG,
	TAG_BYE,
};

static struct {
	struct nic_opts nic;
	uint32_t peer_device;
	uint32_t iterations;
	bool peer_given;
} opt = { .iterations = 5000 };

static const struct conn_opts conn_opts = {
	.service = SERVICE, .block = 2 * RDMA_BYTES, .depth = 1, .timeout = 10,
};

/* --- waiting by polling --------------------------------------------------- */

/* One turn of a loop that polls. Return: false once it has polled too long. */
static bool spin(uint64_t *spins, uint64_t *start)
{
	if (++*spins % SPINS_A_YIELD)
		return true;
	if (!*start)
		*start = now_ns();
	sched_yield();
	return !interrupted && now_ns() - *start < LOST_NS;
}

static int lost(struct conn *c)
{
	return fault_set(&c->fault, interrupted ? ST_INTERRUPTED : ST_PEER,
			 interrupted ? "interrupted" : "the other process does not answer");
}

static int run_post(struct conn *c, gni_post_descriptor_t *d)
{
	uint64_t spins = 0, start = 0;
	gni_post_descriptor_t *done;
	gni_cq_entry_t event;
	gni_return_t rc = post(c->ep, d);

	if (rc)
		return fault_set(&c->fault, ST_FAILED, "post: %s", rc_name(rc));
	while ((rc = GNI_CqGetEvent(c->tx, &event)) == GNI_RC_NOT_DONE)
		if (!spin(&spins, &start))
			return lost(c);
	if (!rc)
		rc = GNI_GetCompleted(c->tx, event, &done);
	if (rc)
		return fault_set(&c->fault, ST_FAILED, "completion: %s", rc_name(rc));
	return ST_OK;
}

/* Nobody looks at what the queues say of messages, but they must not fill up. */
static void drain(struct conn *c)
{
	gni_cq_entry_t event;

	while (GNI_CqGetEvent(c->tx, &event) != GNI_RC_NOT_DONE)
		;
	while (GNI_CqGetEvent(c->rx, &event) != GNI_RC_NOT_DONE)
		;
}

static int send_tag(struct conn *c, uint8_t tag)
{
	uint64_t spins = 0, start = 0, value = tag;
	gni_return_t rc;

	while ((rc = GNI_SmsgSendWTag(c->ep, &value, sizeof(value), NULL, 0, 0, tag)) ==
	       GNI_RC_NOT_DONE)
		if (!spin(&spins, &start))
			return lost(c);
	return rc ? fault_set(&c->fault, ST_FAILED, "send: %s", rc_name(rc)) : ST_OK;
}

static int receive_tag(struct conn *c, uint8_t *tag)
{
	uint64_t spins = 0, start = 0;
	gni_return_t rc;
	void *payload;

	*tag = GNI_SMSG_ANY_TAG;
	while ((rc = GNI_SmsgGetNextWTag(c->ep, &payload, tag)) == GNI_RC_NOT_DONE) {
		*tag = GNI_SMSG_ANY_TAG;
		if (!spin(&spins, &start))
			return lost(c);
	}
	if (rc)
		return fault_set(&c->fault, ST_FAILED, "receive: %s", rc_name(rc));
	GNI_SmsgRelease(c->ep);
	return ST_OK;
}

/* --- what is measured ----------------------------------------------------- */

static gni_post_descriptor_t descriptor(struct conn *c, gni_post_type_t type, uint64_t length)
{
	return (gni_post_descriptor_t){
		.type = type,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)c->data.addr,
		.local_mem_hndl = c->data.mdh,
		.remote_addr = c->peer.data_addr,
		.remote_mem_hndl = c->peer.data_mdh,
		.length = length,
		.amo_cmd = GNI_FMA_ATOMIC_FADD,
		.first_operand = 1,
	};
}

static int time_post(struct conn *c, gni_post_type_t type, uint64_t length, uint64_t *ns)
{
	gni_post_descriptor_t d = descriptor(c, type, length);
	uint64_t start = now_ns();

	if (run_post(c, &d))
		return c->fault.status;
	*ns = now_ns() - start;
	return ST_OK;
}

static int time_ping(struct conn *c, uint64_t *ns)
{
	uint64_t start = now_ns();
	uint8_t tag;

	if (send_tag(c, TAG_PING) || receive_tag(c, &tag))
		return c->fault.status;
	*ns = (now_ns() - start) / 2;
	drain(c);
	if (tag != TAG_PONG)
		return fault_set(&c->fault, ST_FAILED, "message %u in place of an answer", tag);
	return ST_OK;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A post of @type, or a message there and back if it is 0. */
static int measure(struct conn *c, const char *name, gni_post_type_t type, uint64_t length,
		   uint64_t *ns)
{
	uint32_t warm = opt.iterations / 10 + 1;
	uint32_t n = opt.iterations;
	uint32_t i;

	for (i = 0; i < warm + n; i++) {
		uint64_t *sample = &ns[i < warm ? 0 : i - warm];

		if (type ? time_post(c, type, length, sample) : time_ping(c, sample))
			return c->fault.status;
	}
	qsort(ns, n, sizeof(*ns), compare);
	printf("  %-26s %6s %9.2f %9.2f %9.2f\n", name, fmt_count(length), (double)ns[0] / 1e3,
	       (double)ns[n / 2] / 1e3, (double)ns[n - 1 - n / 100] / 1e3);
	return ST_OK;
}

static int measure_all(struct conn *c)
{
	uint64_t *ns = calloc(opt.iterations, sizeof(*ns));

	if (!ns)
		return fault_set(&c->fault, ST_FAILED, "out of memory");
	printf("latency, PE %u -> PE %u, %s times each, microseconds\n", c->nic->pe, c->peer_pe,
	       fmt_count(opt.iterations));
	printf("  %-26s %6s %9s %9s %9s\n", "", "bytes", "least", "median", "99%");
	if (!measure(c, "FMA put", GNI_POST_FMA_PUT, 8, ns) &&
	    !measure(c, "FMA get", GNI_POST_FMA_GET, 8, ns) &&
	    !measure(c, "atomic fetch and add", GNI_POST_AMO, 8, ns) &&
	    !measure(c, "RDMA put", GNI_POST_RDMA_PUT, RDMA_BYTES, ns) &&
	    !measure(c, "RDMA get", GNI_POST_RDMA_GET, RDMA_BYTES, ns) &&
	    !send_tag(c, TAG_SPIN) &&
	    !measure(c, "short message, one way", 0, 8, ns))
		send_tag(c, TAG_BYE);
	free(ns);
	return c->fault.status;
}

/* --- the two processes ---------------------------------------------------- */

/* Sleeps until the parent is about to ping, then answers at once. */
static int answer(struct conn *c)
{
	gni_cq_entry_t event;
	gni_return_t rc;
	uint8_t tag;

	do {
		rc = GNI_CqWaitEvent(c->rx, 1000, &event);
	} while (!interrupted && (rc == GNI_RC_TIMEOUT || rc == GNI_RC_INVALID_STATE));
	if (rc)
		return fault_set(&c->fault, ST_FAILED, "GNI_CqWaitEvent: %s", rc_name(rc));
	while (!receive_tag(c, &tag) && tag != TAG_BYE) {
		if (tag == TAG_PING && send_tag(c, TAG_PONG))
			break;
		drain(c);
	}
	return c->fault.status;
}

static int child(void)
{
	struct nic_opts o = opt.nic;
	struct fault f = { 0 };
	uint64_t id;
	struct conn c;
	struct nic nic;

	/* The parent may die; then so does this. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	o.device = opt.peer_device;
	if (nic_open(&nic, &o, CHILD_INST | (uint32_t)getpid(), &f))
		return fault_report(&f);
	if (!conn_init(&c, &nic, &conn_opts) && !conn_listen(&c, LISTEN_ID)) {
		while (!interrupted && GNI_PostdataProbeWaitById(nic.hndl, 500, &id))
			;
		if (!interrupted && !conn_accept(&c, LISTEN_ID))
			answer(&c);
	}
	conn_destroy(&c);
	nic_close(&nic);
	return fault_report(&c.fault);
}

static int parent(uint32_t peer_pe, pid_t pid)
{
	struct fault f = { 0 };
	struct conn c;
	struct nic nic;

	if (nic_open(&nic, &opt.nic, PARENT_INST | (uint32_t)getpid(), &f))
		return fault_report(&f);
	if (!conn_init(&c, &nic, &conn_opts) &&
	    !conn_connect(&c, peer_pe, CHILD_INST | (uint32_t)pid))
		measure_all(&c);
	conn_destroy(&c);
	nic_close(&nic);
	return fault_report(&c.fault);
}

static int run(void)
{
	uint32_t peer_pe, cpu;
	int status, child_status;
	pid_t pid;

	if (!opt.peer_given)
		opt.peer_device = opt.nic.device;
	if (GNI_CdmGetNicAddress(opt.peer_device, &peer_pe, &cpu)) {
		fprintf(stderr, "gni_lat: no device %u: is the driver loaded (modprobe kgni)?\n",
			opt.peer_device);
		return ST_DEVICE;
	}
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("gni_lat: fork");
		return ST_FAILED;
	}
	if (!pid)
		_exit(child());
	status = parent(peer_pe, pid);
	if (status)
		kill(pid, SIGTERM);
	if (waitpid(pid, &child_status, 0) == pid && !status && child_status)
		status = ST_FAILED;
	return status;
}

/* --- command line --------------------------------------------------------- */

static const char usage_text[] =
"usage: gni_lat [OPTION]...\n"
"Measures the latency of GNI operations between two processes.\n"
"\n"
"      --device N        measure on /dev/kgniN (0)\n"
"      --peer-device N   the other process is on this one (the same)\n"
"      --cookie C        cookie of the job (one a user)\n"
"      --ptag T          protection tag (the one that goes with the cookie)\n"
"      --iterations N    how often each is done (5000)\n"
"  -h, --help\n"
"  -V, --version\n";

static const struct option options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "peer-device", required_argument, NULL, 'D' },
	{ "cookie", required_argument, NULL, 'c' },
	{ "ptag", required_argument, NULL, 't' },
	{ "iterations", required_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static bool take_option(int o, const char *arg)
{
	switch (o) {
	case 'D':
		opt.peer_given = true;
		return parse_u32(arg, &opt.peer_device);
	case 'n':
		return parse_u32(arg, &opt.iterations) && opt.iterations &&
		       opt.iterations <= 10000000;
	default:
		return nic_option(&opt.nic, o, arg);
	}
}

int main(int argc, char **argv)
{
	int o, which = 0;

	nic_opts_init(&opt.nic);
	while ((o = getopt_long(argc, argv, "hV", options, &which)) != -1) {
		if (o == 'h')
			return fputs(usage_text, stdout) < 0;
		if (o == 'V')
			return puts("gni_lat (kgni) " KGNI_VERSION) < 0;
		if (o == '?')
			return ST_USAGE;
		if (!take_option(o, optarg)) {
			fprintf(stderr, "gni_lat: --%s: '%s' is out of range\n",
				options[which].name, optarg);
			return ST_USAGE;
		}
	}
	if (optind < argc) {
		fputs("gni_lat: no arguments, please; 'gni_lat --help' tells more\n", stderr);
		return ST_USAGE;
	}
	catch_signals();
	return run();
}
