// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: rates, of devices, jobs and processes. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "gnictl.h"

/* Its counters at one time. */
struct sample {
	uint32_t dev;
	uint32_t id;			/* ptag or attachment; 0 for devices */
	uint32_t pid;
	uint32_t ptag;
	char comm[32];
	uint32_t bw;			/* percent that a device may inject */
	uint64_t held;			/* for how long it did not, though asked to; ns */
	uint64_t stats[KGNI_STAT_COUNT];
};

/**
 * struct samples - of all objects of a kind
 * @v: by device and id
 * @count: how many
 * @time: when they were taken, ns
 */
struct samples {
	struct sample *v;
	size_t count;
	uint64_t time;
};

/* What top shows, one table each. */
static const struct table {
	const char *name;
	uint8_t get;
	int id;
} tables[] = {
	{ "dev", KGNI_CMD_DEV_GET, 0 },
	{ "job", KGNI_CMD_JOB_GET, KGNI_A_PTAG },
	{ "proc", KGNI_CMD_NIC_GET, KGNI_A_NIC },
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A place for one more, which a message fills. */
struct taking {
	struct samples *s;
	int id;
};

static void take_one(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct taking *t = arg;
	struct sample *v = realloc(t->s->v, (t->s->count + 1) * sizeof(*v));

	(void)cmd;
	if (!v)
		return;
	t->s->v = v;
	v += t->s->count++;
	memset(v, 0, sizeof(*v));
	v->dev = get_u32(attrs, KGNI_A_DEV);
	v->id = t->id ? get_u32(attrs, t->id) : 0;
	v->pid = get_u32(attrs, KGNI_A_PID);
	v->ptag = get_u32(attrs, KGNI_A_PTAG);
	snprintf(v->comm, sizeof(v->comm), "%s", get_text(attrs, KGNI_A_COMM));
	get_stats(attrs, v->stats);
}

static int take(const struct table *t, const struct request *filter, struct samples *s)
{
	struct request req = *filter;
	struct taking taking = { .s = s, .id = t->id };
	struct answer answer;

	req.cmd = t->get;
	req.dump = true;
	s->count = 0;
	ask(&req, take_one, &taking, &answer);
	s->time = now_ns();
	return answer.error ? refused(&req, &answer, "top") : EX_OK;
}

static const struct sample *find(const struct samples *s, const struct sample *like)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->v[i].dev == like->dev && s->v[i].id == like->id)
			return &s->v[i];
	return NULL;
}

/* Balanced injection of devices, which are in a list of their own. */
static void take_bi(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct samples *s = arg;
	size_t i;

	(void)cmd;
	for (i = 0; i < s->count; i++) {
		if (s->v[i].dev != get_u32(attrs, KGNI_A_DEV))
			continue;
		s->v[i].bw = get_u32(attrs, KGNI_A_BW);
		/* When nobody asks nothing is held. */
		s->v[i].held = get_u64(attrs, KGNI_A_CLOSED_NS) - get_u64(attrs, KGNI_A_LATE_NS);
	}
}

static int take_bis(const struct request *filter, struct samples *s)
{
	struct request req = { .cmd = KGNI_CMD_BI_GET, .dump = true, .dev = filter->dev };
	struct answer answer;

	ask(&req, take_bi, s, &answer);
	return answer.error ? refused(&req, &answer, "top") : EX_OK;
}

static uint64_t total(const struct sample *v, const unsigned int *stats, size_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += v->stats[stats[n]];
	return sum;
}

/* Columns: what is added up for each. */
static const struct column {
	const char *key;
	const char *title;
	bool bytes;
	size_t n;
	unsigned int stats[3];
} columns[] = {
	{ "fma_per_s", "FMA", false, 2, { KGNI_STAT_FMA_PUT, KGNI_STAT_FMA_GET } },
	{ "amo_per_s", "AMO", false, 1, { KGNI_STAT_AMO } },
	{ "smsg_per_s", "MESSAGES", false, 1, { KGNI_STAT_SMSG } },
	{ "rdma_per_s", "RDMA", false, 2, { KGNI_STAT_RDMA_PUT, KGNI_STAT_RDMA_GET } },
	{ "dgram_per_s", "DATAGRAMS", false, 1, { KGNI_STAT_DGRAM } },
	{ "error_per_s", "ERRORS", false, 1, { KGNI_STAT_ERROR } },
	{ "put_bytes_per_s", "OUT", true, 2,
	  { KGNI_STAT_FMA_PUT_BYTES, KGNI_STAT_RDMA_PUT_BYTES } },
	{ "get_bytes_per_s", "IN", true, 2,
	  { KGNI_STAT_FMA_GET_BYTES, KGNI_STAT_RDMA_GET_BYTES } },
};

static void put_rates(struct out *o, const struct sample *now, const struct sample *before,
		      uint64_t ns)
{
	char buf[TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct column *c = &columns[i];
		uint64_t from = before ? total(before, c->stats, c->n) : 0;
		uint64_t to = total(now, c->stats, c->n);
		uint64_t rate = to > from && ns ?
				(uint64_t)((double)(to - from) * 1e9 / (double)ns) : 0;

		out_shown(o, c->key, c->title, rate, text_rate(buf, from, to, ns, c->bytes));
	}
}

static void put_sample(struct out *o, const struct table *t, const struct sample *v)
{
	char buf[TEXT_MAX];

	out_row(o);
	if (opts.json)
		out_text(o, "kind", "KIND", t->name);
	snprintf(buf, sizeof(buf), "kgni%u", v->dev);
	out_text(o, "device", "DEVICE", buf);
	if (v->ptag)
		out_number(o, "ptag", "PTAG", v->ptag);
	if (t->id != KGNI_A_NIC)
		return;
	if (v->pid)
		out_number(o, "pid", "PID", v->pid);
	else
		out_blank(o, "PID", true);
	out_text(o, "command", "COMMAND", v->comm);
}

/* What a device may inject, and how much of the time it was held to that. */
static void put_bi(struct out *o, const struct sample *now, const struct sample *before,
		   uint64_t ns)
{
	uint64_t held = before && now->held > before->held ? now->held - before->held : 0;
	uint64_t percent = ns ? (held * 100 + ns / 2) / ns : 0;
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "%u %%", now->bw);
	out_shown(o, "bw", "BW", now->bw, buf);
	/* A wait that ends now may have begun before. */
	percent = percent < 100 ? percent : 100;
	snprintf(buf, sizeof(buf), "%u %%", (unsigned int)percent);
	out_shown(o, "held_percent", "HELD", percent, buf);
}

static void put_samples(struct out *o, const struct table *t, const struct samples *now,
			const struct samples *before)
{
	size_t i;

	for (i = 0; i < now->count; i++) {
		const struct sample *old = find(before, &now->v[i]);

		put_sample(o, t, &now->v[i]);
		/* What began meanwhile did all of it in this time. */
		put_rates(o, &now->v[i], old, now->time - before->time);
		if (!t->id)
			put_bi(o, &now->v[i], old, now->time - before->time);
	}
}

/**
 * struct top - how it goes on
 * @filter: of what
 * @ms: time between two turns, milliseconds
 * @turns: how many, 0 for no end
 * @screen: the terminal is overwritten
 * @s: the last samples, and those before
 */
struct top {
	struct request filter;
	uint32_t ms;
	uint32_t turns;
	bool screen;
	struct samples s[ARRAY_SIZE(tables)][2];
};

static int sample_all(struct top *top, unsigned int turn)
{
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		rc = take(&tables[i], &top->filter, &top->s[i][turn & 1]);
		if (!rc && !tables[i].id)
			rc = take_bis(&top->filter, &top->s[i][turn & 1]);
		if (rc)
			return rc;
	}
	return EX_OK;
}

static void show_all(struct top *top, unsigned int turn)
{
	struct out o = { 0 };
	size_t i;

	if (top->screen)
		fputs("\033[H\033[J", stdout);
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		put_samples(&o, &tables[i], &top->s[i][turn & 1], &top->s[i][~turn & 1]);
		if (opts.json)
			continue;
		if (i && o.count)
			putchar('\n');
		out_print(&o, stdout, &opts);
		out_reset(&o);
	}
	if (opts.json)
		out_print(&o, stdout, &opts);
	else if (!top->screen)
		putchar('\n');
	out_reset(&o);
	fflush(stdout);
}

static int parse_top(struct top *top, struct args *a)
{
	uint32_t seconds;
	const char *arg;

	while ((arg = next_arg(a))) {
		if (is_prefix(arg, "interval")) {
			arg = next_arg(a);
			if (!arg || !parse_number(arg, 86400, &seconds) || !seconds)
				return bad_usage("interval needs a number of seconds");
			top->ms = seconds * 1000;
		} else if (is_prefix(arg, "count")) {
			arg = next_arg(a);
			if (!arg || !parse_number(arg, UINT32_MAX, &top->turns) || !top->turns)
				return bad_usage("count needs a number");
		} else if (!parse_device(arg, &top->filter.dev)) {
			return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
		}
	}
	return EX_OK;
}

static int run_top(struct top *top)
{
	unsigned int turn = 0;
	int rc;

	rc = sample_all(top, turn);
	while (!rc && !stop) {
		poll(NULL, 0, (int)top->ms);
		if (stop)
			break;
		rc = sample_all(top, ++turn);
		if (rc)
			break;
		show_all(top, turn);
		if (ferror(stdout) || (top->turns && turn == top->turns))
			break;
	}
	return rc;
}

/* "top [DEVICE] [interval SECONDS] [count N]" */
int cmd_top(struct args *a)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct top top = { .filter.dev = ANY_DEVICE, .ms = 2000 };
	int rc = parse_top(&top, a);
	size_t i;

	if (rc)
		return rc;
	if (!driver_open())
		return EX_REFUSED;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	top.screen = !opts.json && isatty(STDOUT_FILENO);
	rc = run_top(&top);
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		free(top.s[i][0].v);
		free(top.s[i][1].v);
	}
	return rc;
}
