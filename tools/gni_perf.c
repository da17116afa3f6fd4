// SPDX-License-Identifier: GPL-2.0-only
/* gni_perf - how fast GNI operations are, between pairs of processes */

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "gni_perf.h"

#define ITERATIONS_MAX	1000000000U
#define WINDOW_MAX	4096U
#define NAMES_MAX	16

/**
 * struct job - what the command line asks for
 * @cfg: how to measure; sizes are those the user gave
 * @op: operations
 * @ops: how many
 * @measures: of each
 * @format: 't' for tables, 'c' for CSV, 'j' for JSON
 * @histogram: print histograms, too
 * @plot: file for a picture, NULL for none
 */
static struct job {
	struct config cfg;
	const struct op *op[NAMES_MAX];
	uint32_t ops;
	enum measure measure[NAMES_MAX];
	uint32_t measures;
	bool peer_given;
	char format;
	bool histogram;
	const char *plot;
} job = { .format = 't' };

static const struct amo amos[] = {
	{ "fadd", GNI_FMA_ATOMIC_FADD, 8, true },
	{ "add", GNI_FMA_ATOMIC_ADD, 8, true },
	{ "fadd32", GNI_FMA_ATOMIC2_FIADD_S, 4, true },
	{ "add32", GNI_FMA_ATOMIC2_IADD_S, 4, true },
	{ "fand", GNI_FMA_ATOMIC_FAND, 8, false },
	{ "for", GNI_FMA_ATOMIC_FOR, 8, false },
	{ "fxor", GNI_FMA_ATOMIC_FXOR, 8, false },
	{ "cswap", GNI_FMA_ATOMIC_CSWAP, 8, false },
	{ "fswap", GNI_FMA_ATOMIC2_FSWAP, 8, false },
	{ "swap", GNI_FMA_ATOMIC2_SWAP, 8, false },
	{ "fimax", GNI_FMA_ATOMIC2_FIMAX, 8, false },
	{ "ffpadd", GNI_FMA_ATOMIC2_FFPADD, 8, false },
	{ }
};

static const struct op * const all_ops[] = { post_ops, msg_ops, reg_ops, barrier_ops };
static const enum measure all_measures[] = { LAT, BW, RATE, OVERLAP };

static int usage_fault(struct fault *f, const char *option, const char *arg, const char *hint)
{
	return fault_set(f, ST_USAGE, "--%s: '%s' %s; 'gni_perf --help' tells more", option,
			 arg, hint);
}

/* --- names ------------------------------------------------------------------ */

/* The names of @table, for who gave one that is not there. */
static void op_names(char *buf, size_t size)
{
	size_t i, len = 0;
	const struct op *op;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		for (op = all_ops[i]; op->name && len < size; op++)
			len += (size_t)snprintf(buf + len, size - len, " %s", op->name);
}

static const struct op *find_op(const char *name)
{
	const struct op *op;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		for (op = all_ops[i]; op->name; op++)
			if (!strcmp(op->name, name))
				return op;
	return NULL;
}

static bool take_op(const char *name, struct fault *f)
{
	char names[200];

	job.op[job.ops] = find_op(name);
	if (job.op[job.ops++])
		return true;
	op_names(names, sizeof(names));
	fault_set(f, ST_USAGE, "there is no operation '%s'; these are:%s", name, names);
	return false;
}

static bool take_measure(const char *name, struct fault *f)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_measures); i++) {
		if (strcmp(measure_name(all_measures[i]), name))
			continue;
		job.measure[job.measures++] = all_measures[i];
		return true;
	}
	fault_set(f, ST_USAGE, "'%s' cannot be measured; lat, bw, rate and overlap can", name);
	return false;
}

static bool take_amo(const char *name, struct fault *f)
{
	for (job.cfg.amo = amos; job.cfg.amo->name; job.cfg.amo++)
		if (!strcmp(job.cfg.amo->name, name))
			return true;
	usage_fault(f, "amo", name,
		    "is no command: fadd add fadd32 add32 fand for fxor cswap fswap swap fimax ffpadd");
	return false;
}

/* Hands each part of a list "a,b,c" to @take. Return: false once that does. */
static bool each(const char *list, bool (*take)(const char *part, struct fault *f),
		 struct fault *f)
{
	char copy[512], *save = NULL, *part;
	uint32_t n = 0;

	if (strlen(list) >= sizeof(copy) || !*list)
		return !fault_set(f, ST_USAGE, "'%s' is no list", list);
	strcpy(copy, list);
	for (part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save))
		if (++n > NAMES_MAX || !take(part, f))
			return !fault_set(f, ST_USAGE, "'%s': too many names", list);
	return true;
}

/* --- values ----------------------------------------------------------------- */

static bool add_size(uint64_t size)
{
	if (job.cfg.sizes == PERF_SIZES || !size)
		return false;
	job.cfg.size[job.cfg.sizes++] = size;
	return true;
}

/* FROM:TO: that and its doubles, and the last one whatever it is. */
static bool take_sizes(const char *text, struct fault *f)
{
	uint64_t from, to, size;
	const char *colon = strchr(text, ':');
	char first[32];

	if (!colon) {
		if (parse_size(text, &size) && add_size(size))
			return true;
		goto bad;
	}
	if ((size_t)(colon - text) >= sizeof(first))
		goto bad;
	memcpy(first, text, (size_t)(colon - text));
	first[colon - text] = '\0';
	if (!parse_size(first, &from) || !parse_size(colon + 1, &to) || !from || from > to ||
	    to > 1ULL << 40)
		goto bad;
	for (size = from; size < to; size *= 2)
		if (!add_size(size))
			goto bad;
	if (add_size(to))
		return true;
bad:
	usage_fault(f, "size", text, "is no size: 8, 4K, 8:1M, from 1 on, 64 of them at most");
	return false;
}

static bool take_cpu(const char *text, struct fault *f)
{
	if (job.cfg.cpus < ARRAY_SIZE(job.cfg.cpu) &&
	    parse_u32(text, &job.cfg.cpu[job.cfg.cpus++]) &&
	    job.cfg.cpu[job.cfg.cpus - 1] < CPU_SETSIZE)
		return true;
	usage_fault(f, "cpus", text, "is no CPU");
	return false;
}

static int take_seconds(const char *text, struct fault *f)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s > 0) || s > 1e5)
		return usage_fault(f, "time", text, "is no time: seconds, such as 0.5");
	job.cfg.time = (uint64_t)(s * (double)NS_PER_S);
	return ST_OK;
}

static int take_u32(const char *option, const char *text, uint32_t min, uint32_t max,
		    uint32_t *value, struct fault *f)
{
	char hint[64];

	if (parse_u32(text, value) && *value >= min && *value <= max)
		return ST_OK;
	snprintf(hint, sizeof(hint), "is out of range: %u to %u", min, max);
	return usage_fault(f, option, text, hint);
}

/* --- options ---------------------------------------------------------------- */

static const char usage_text[] =
"usage: gni_perf [OPTION]... OPERATION[,...] MEASURE[,...]\n"
"Measures GNI operations between pairs of processes on this machine.\n"
"\n"
"Operations: put get amo cqwrite rdma-put rdma-get smsg msgq dgram reg dereg\n"
"            barrier smsg-barrier\n"
"Measures:   lat bw rate overlap, as far as they make sense\n"
"\n"
"  -s, --size LIST       bytes: 8, 4K,64K, 8:1M for 8, 16, 32 ... (8; bw 1M)\n"
"  -n, --iterations N    how often each (by the size, at most 10000)\n"
"  -t, --time SECONDS    for how long each, instead\n"
"  -w, --warmup N        how often before (a tenth)\n"
"  -W, --window N        posts or messages under way at once (64)\n"
"  -p, --pairs N         pairs of processes (1)\n"
"  -c, --cpus LIST       CPUs for the processes, in turn (those allowed)\n"
"      --no-pin          leave them to the scheduler\n"
"      --device N        the initiators' NIC is /dev/kgniN (0)\n"
"      --peer-device N   the targets' NIC (the same)\n"
"      --cookie C        cookie of the job (one a user)\n"
"      --ptag T          protection tag (the one that goes with the cookie)\n"
"      --amo COMMAND     fadd add fadd32 add32 fand for fxor cswap fswap swap\n"
"                        fimax ffpadd (fadd)\n"
"      --endpoints N     use N endpoints in turn (1)\n"
"      --registrations N the target's memory has N registrations, used in turn (1)\n"
"      --silent          put lat: without source events\n"
"      --remote-event    put lat: wait for an event, not for the last byte\n"
"      --huge            memory of huge pages\n"
"      --check           check every byte; for tests, not for figures\n"
"  -H, --histogram       how often it took how long\n"
"      --csv, --json     in place of tables\n"
"      --plot FILE       also latency and bandwidth against size, as SVG\n"
"  -h, --help\n"
"  -V, --version\n";

enum {
	OPT_NO_PIN = 256, OPT_PEER, OPT_AMO, OPT_ENDPOINTS, OPT_REGIONS, OPT_SILENT, OPT_REMOTE,
	OPT_HUGE, OPT_CHECK, OPT_CSV, OPT_JSON, OPT_PLOT, OPT_DEVICE, OPT_COOKIE, OPT_PTAG,
};

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "iterations", required_argument, NULL, 'n' },
	{ "time", required_argument, NULL, 't' },
	{ "warmup", required_argument, NULL, 'w' },
	{ "window", required_argument, NULL, 'W' },
	{ "pairs", required_argument, NULL, 'p' },
	{ "cpus", required_argument, NULL, 'c' },
	{ "no-pin", no_argument, NULL, OPT_NO_PIN },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "peer-device", required_argument, NULL, OPT_PEER },
	{ "cookie", required_argument, NULL, OPT_COOKIE },
	{ "ptag", required_argument, NULL, OPT_PTAG },
	{ "amo", required_argument, NULL, OPT_AMO },
	{ "endpoints", required_argument, NULL, OPT_ENDPOINTS },
	{ "registrations", required_argument, NULL, OPT_REGIONS },
	{ "silent", no_argument, NULL, OPT_SILENT },
	{ "remote-event", no_argument, NULL, OPT_REMOTE },
	{ "huge", no_argument, NULL, OPT_HUGE },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "histogram", no_argument, NULL, 'H' },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "plot", required_argument, NULL, OPT_PLOT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

/* Options that have no argument. Return: false if it is none of them. */
static bool take_flag(int o)
{
	switch (o) {
	case OPT_NO_PIN:
		job.cfg.pin = false;
		return true;
	case OPT_SILENT:
		job.cfg.silent = true;
		return true;
	case OPT_REMOTE:
		job.cfg.remote_event = true;
		return true;
	case OPT_HUGE:
		job.cfg.huge = true;
		return true;
	case OPT_CHECK:
		job.cfg.check = true;
		return true;
	case 'H':
		job.histogram = true;
		return true;
	case OPT_CSV:
	case OPT_JSON:
		job.format = o == OPT_CSV ? 'c' : 'j';
		return true;
	}
	return false;
}

static const char *options_name(int o)
{
	const struct option *op = options;

	while (op->val != o)
		op++;
	return op->name;
}

static int take_nic_option(int o, const char *arg, struct fault *f)
{
	static const char names[] = { [0] = 'd', [1] = 'c', [2] = 't' };

	if (nic_option(&job.cfg.nic, names[o - OPT_DEVICE], arg))
		return ST_OK;
	return usage_fault(f, options_name(o), arg, "is out of range");
}

static int take_option(int o, const char *arg, struct fault *f)
{
	struct config *c = &job.cfg;
	uint32_t n;

	switch (o) {
	case 's':
		each(arg, take_sizes, f);
		return f->status;
	case 'n':
		if (!take_u32("iterations", arg, 1, ITERATIONS_MAX, &n, f))
			c->iterations = n;
		return f->status;
	case 't':
		return take_seconds(arg, f);
	case 'w':
		if (!take_u32("warmup", arg, 0, ITERATIONS_MAX, &n, f))
			c->warmup = n;
		return f->status;
	case 'W':
		return take_u32("window", arg, 1, WINDOW_MAX, &c->window, f);
	case 'p':
		return take_u32("pairs", arg, 1, PERF_PAIRS, &c->pairs, f);
	case 'c':
		each(arg, take_cpu, f);
		return f->status;
	case OPT_PEER:
		job.peer_given = true;
		return take_u32("peer-device", arg, 0, 9999, &c->peer_device, f);
	case OPT_AMO:
		take_amo(arg, f);
		return f->status;
	case OPT_ENDPOINTS:
		return take_u32("endpoints", arg, 1, PERF_ENDPOINTS, &c->endpoints, f);
	case OPT_REGIONS:
		return take_u32("registrations", arg, 1, PERF_REGIONS, &c->regions, f);
	case OPT_PLOT:
		job.plot = arg;
		return ST_OK;
	default:
		return take_flag(o) ? ST_OK : take_nic_option(o, arg, f);
	}
}

/* --- does it make sense ------------------------------------------------------ */

static int check_measure(const struct op *op, enum measure m, struct fault *f)
{
	char names[40] = "";
	size_t i;

	if (op->measures & m)
		return ST_OK;
	for (i = 0; i < ARRAY_SIZE(all_measures); i++)
		if (op->measures & all_measures[i])
			strcat(strcat(names, " "), measure_name(all_measures[i]));
	return fault_set(f, ST_USAGE, "%s has no %s; it has:%s", op->name, measure_name(m),
			 names);
}

static int check_sizes(const struct op *op, struct fault *f)
{
	uint32_t i;

	if (!op->multiple && job.cfg.sizes)
		return fault_set(f, ST_USAGE, "%s has no size: leave out --size", op->name);
	for (i = 0; i < job.cfg.sizes; i++) {
		if (job.cfg.size[i] > op->max)
			return fault_set(f, ST_USAGE, "%s: at most %llu bytes, not %llu",
					 op->name, (unsigned long long)op->max,
					 (unsigned long long)job.cfg.size[i]);
		if (job.cfg.size[i] % op->multiple)
			return fault_set(f, ST_USAGE, "%s: %llu bytes are no multiple of %u",
					 op->name, (unsigned long long)job.cfg.size[i],
					 op->multiple);
	}
	return ST_OK;
}

static int check_modes(const struct op *op, enum measure m, struct fault *f)
{
	bool waits = m == LAT && op->type && op->multiple && op->two_way;

	if ((job.cfg.silent || job.cfg.remote_event) && !waits)
		return fault_set(f, ST_USAGE,
				 "--silent and --remote-event are for the lat of put and rdma-put, not for %s %s",
				 op->name, measure_name(m));
	if (job.cfg.endpoints > 1 && !op->type)
		return fault_set(f, ST_USAGE, "%s uses one endpoint: leave out --endpoints",
				 op->name);
	return ST_OK;
}

static int check_job(struct fault *f)
{
	uint32_t i, k;

	for (i = 0; i < job.ops; i++)
		for (k = 0; k < job.measures; k++)
			if (check_measure(job.op[i], job.measure[k], f) ||
			    check_sizes(job.op[i], f) ||
			    check_modes(job.op[i], job.measure[k], f))
				return f->status;
	return ST_OK;
}

/* The CPUs that this process may use, if the user named none. */
static void default_cpus(void)
{
	struct config *c = &job.cfg;
	cpu_set_t set;
	uint32_t i;

	if (c->cpus || sched_getaffinity(0, sizeof(set), &set))
		return;
	for (i = 0; i < CPU_SETSIZE && c->cpus < ARRAY_SIZE(c->cpu); i++)
		if (CPU_ISSET(i, &set))
			c->cpu[c->cpus++] = i;
}

/* --- work -------------------------------------------------------------------- */

/* The configuration for one operation and measure: sizes, where the user gave none. */
static struct config config_for(const struct op *op, enum measure m)
{
	struct config c = job.cfg;

	if (c.sizes)
		return c;
	c.sizes = 1;
	if (!op->multiple)
		c.size[0] = op->type == GNI_POST_AMO ? c.amo->size : 0;
	else if (m == BW || m == OVERLAP)
		c.size[0] = op->max < 1 << 20 ? op->max : m == BW ? 1 << 20 : 16 << 20;
	else
		c.size[0] = 8;
	return c;
}

static int print(FILE *picture, const struct row *rows, uint32_t n, struct fault *f)
{
	if (job.format == 'c')
		csv_print(stdout, rows, n);
	if (job.format == 'j')
		json_print(stdout, &job.cfg, rows, n, job.histogram);
	if (fflush(stdout))
		return fault_set(f, ST_FAILED, "cannot write: %m");
	if (!picture)
		return ST_OK;
	plot_print(picture, rows, n);
	return fflush(picture) ? fault_set(f, ST_FAILED, "cannot write %s: %m", job.plot) : ST_OK;
}

/* Tables come as soon as there is something to tell. */
static int run(FILE *picture, struct row *rows, struct fault *f)
{
	uint32_t i, k, n = 0;

	for (k = 0; k < job.measures; k++) {
		for (i = 0; i < job.ops; i++) {
			struct config c = config_for(job.op[i], job.measure[k]);

			if (measure(&c, job.op[i], job.measure[k], rows + n, f))
				return f->status;
			if (job.format == 't')
				table_print(stdout, &c, rows + n, c.sizes, job.histogram);
			n += c.sizes;
		}
	}
	return print(picture, rows, n, f);
}

/* What can go wrong with files and memory does so before anything is measured. */
static int prepare_and_run(struct fault *f)
{
	struct row *rows = calloc((size_t)job.ops * job.measures * PERF_SIZES, sizeof(*rows));
	FILE *picture = job.plot ? fopen(job.plot, "we") : NULL;

	if (job.plot && !picture)
		fault_set(f, ST_FAILED, "cannot write %s: %m", job.plot);
	else if (!rows)
		fault_set(f, ST_FAILED, "out of memory");
	else
		run(picture, rows, f);
	if (picture)
		fclose(picture);
	free(rows);
	return f->status;
}

static int take_all_options(int argc, char **argv, struct fault *f)
{
	int o;

	while ((o = getopt_long(argc, argv, "s:n:t:w:W:p:c:HhV", options, NULL)) != -1) {
		if (o == 'h')
			exit(fputs(usage_text, stdout) < 0);
		if (o == 'V')
			exit(puts("gni_perf (kgni) " KGNI_VERSION) < 0);
		if (o == '?')
			exit(ST_USAGE);
		if (take_option(o, optarg, f))
			return f->status;
	}
	if (argc - optind != 2)
		return fault_set(f, ST_USAGE,
				 "what is to be measured? for example: gni_perf put lat; 'gni_perf --help' tells more");
	if (!each(argv[optind], take_op, f) || !each(argv[optind + 1], take_measure, f))
		return f->status;
	return check_job(f);
}

int main(int argc, char **argv)
{
	struct fault f = { 0 };

	job.cfg = (struct config){
		.warmup = UINT64_MAX, .window = 64, .pairs = 1, .pin = true, .amo = amos,
		.endpoints = 1, .regions = 1,
	};
	nic_opts_init(&job.cfg.nic);
	if (take_all_options(argc, argv, &f))
		return fault_report(&f);
	if (!job.peer_given)
		job.cfg.peer_device = job.cfg.nic.device;
	default_cpus();
	catch_signals();
	clock_init();
	prepare_and_run(&f);
	return fault_report(&f);
}
