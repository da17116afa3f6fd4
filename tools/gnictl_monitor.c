// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: what happens, as it happens. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gnictl.h"

static void error_row(struct out *o, struct nlattr **a)
{
	char buf[TEXT_MAX];
	uint64_t info[4];
	unsigned int i;

	snprintf(buf, sizeof(buf), "kgni%u", get_u32(a, KGNI_A_DEV));
	out_text(o, "device", "DEVICE", buf);
	out_text(o, "error", "ERROR", text_error(buf, get_u32(a, KGNI_A_CODE)));
	text_bits(buf, get_u32(a, KGNI_A_CATEGORY), error_categories);
	out_text(o, "category", "CATEGORY", buf);
	if (has(a, KGNI_A_PTAG))
		out_number(o, "ptag", "PTAG", get_u32(a, KGNI_A_PTAG));
	out_number(o, "code", NULL, get_u32(a, KGNI_A_CODE));
	if (!has(a, KGNI_A_INFO) || nla_len(a[KGNI_A_INFO]) != sizeof(info))
		return;
	memcpy(info, nla_data(a[KGNI_A_INFO]), sizeof(info));
	for (i = 0; i < ARRAY_SIZE(info); i++) {
		static const char * const keys[] = { "word0", "word1", "word2", "word3" };

		snprintf(buf, sizeof(buf), "0x%llx", (unsigned long long)info[i]);
		out_group(o, "info", keys[i], info[i], buf);
	}
}

/* What happened, by the command of the notification. */
static const struct {
	uint8_t cmd;
	const char *name;
	const char *kind;
} happenings[] = {
	{ KGNI_CMD_ERROR, "error", NULL },
	{ KGNI_CMD_DEV_NEW, "device-added", "dev" },
	{ KGNI_CMD_DEV_DEL, "device-deleted", "dev" },
	{ KGNI_CMD_JOB_NEW, "job-began", "job" },
	{ KGNI_CMD_JOB_DEL, "job-ended", "job" },
	{ KGNI_CMD_DEV_QUIESCE, "device-quiesced", "dev" },
	{ KGNI_CMD_DEV_RESUME, "device-resumed", "dev" },
	{ KGNI_CMD_BI_NEW, "injection-set", "bi" },
	{ KGNI_CMD_JOB_SET, "job-configured", "job" },
	{ KGNI_CMD_JOB_UNSET, "job-forgotten", "job" },
	{ KGNI_CMD_JOB_SUSPEND, "job-suspended", "job" },
	{ KGNI_CMD_JOB_RESUME, "job-resumed", "job" },
	{ KGNI_CMD_NIC_NEW, "attached", "proc" },
	{ KGNI_CMD_NIC_DEL, "detached", "proc" },
};

static volatile sig_atomic_t stop;
static uint32_t left;
static bool errors_only;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void now_text(char *buf, size_t size)
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &ts);
	localtime_r(&ts.tv_sec, &tm);
	n = strftime(buf, size, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, size - n, ".%06ld", ts.tv_nsec / 1000);
}

/* "TIME WHAT key value ...", those that have a column in lists, or all by -d. */
static void print_line(const struct row *row)
{
	const char *group = NULL;
	size_t i;

	for (i = 0; i < row->count; i++) {
		const struct cell *c = &row->cells[i];

		if (!c->key || !c->text || (!c->title && !opts.details))
			continue;
		if (c->group && c->group != group)
			printf(" %s:", c->group);
		group = c->group;
		if (i >= 2)
			printf(" %s", c->key);
		printf("%s%s", i ? " " : "", c->text);
	}
	putchar('\n');
}

static void on_event(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct out o = { 0 };
	char when[64];
	size_t i;

	(void)arg;
	for (i = 0; i < ARRAY_SIZE(happenings) && happenings[i].cmd != cmd; i++)
		;
	if (i == ARRAY_SIZE(happenings) || (errors_only && cmd != KGNI_CMD_ERROR))
		return;
	now_text(when, sizeof(when));
	out_row(&o);
	out_text(&o, "time", "TIME", when);
	out_text(&o, "event", "EVENT", happenings[i].name);
	if (happenings[i].kind)
		kind_by_name(happenings[i].kind)->row(&o, attrs);
	else
		error_row(&o, attrs);
	if (opts.json) {
		out_json_row(o.rows, stdout, -1);
		putchar('\n');
	} else {
		print_line(o.rows);
	}
	fflush(stdout);
	out_reset(&o);
	if (left && !--left)
		stop = 1;
}

static int parse_monitor(struct args *a, bool *all)
{
	const char *arg;

	while ((arg = next_arg(a))) {
		if (is_prefix(arg, "devices")) {
			*all = false;
		} else if (is_prefix(arg, "all")) {
			*all = true;
		} else if (is_prefix(arg, "errors")) {
			*all = true;
			errors_only = true;
		} else if (is_prefix(arg, "count")) {
			arg = next_arg(a);
			if (!arg || !parse_number(arg, UINT32_MAX, &left) || !left)
				return bad_usage("count needs a number");
		} else {
			return bad_usage("'%s' is neither devices nor errors nor all", arg);
		}
	}
	return EX_OK;
}

/* "monitor [all|devices|errors] [count N]" */
int cmd_monitor(struct args *a)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct request req = { .dev = ANY_DEVICE };
	struct answer answer = { 0 };
	bool all = true;
	int rc = parse_monitor(a, &all);

	if (rc)
		return rc;
	if (!driver_open())
		return EX_REFUSED;
	answer.error = -listen_events(all, on_event, NULL);
	if (answer.error == EPERM) {
		complain("monitor: this needs CAP_SYS_ADMIN; become root and try again");
		complain("('gnictl monitor devices' does not need it)");
		return EX_REFUSED;
	}
	if (answer.error)
		return refused(&req, &answer, "monitor");
	/* A line on standard error tells scripts that from now on nothing is missed. */
	complain("listening");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!stop && !ferror(stdout))
		if (!listen_once(-1))
			complain("monitor: too much happened at once; some was lost");
	return EX_OK;
}

/* "event [count N]" */
int cmd_event(struct args *a)
{
	errors_only = true;
	return cmd_monitor(a);
}
