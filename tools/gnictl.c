// SPDX-License-Identifier: GPL-2.0-only
/* gnictl - show and change what the kgni driver has */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "gnictl.h"

struct opts opts;

/* A message on standard error. */
void complain(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("gnictl: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	putc('\n', stderr);
}

const char *next_arg(struct args *a)
{
	return *a->v ? *a->v++ : NULL;
}

int bad_usage(const char *fmt, ...)
{
	va_list args;

	fputs("gnictl: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nTry 'gnictl help'.\n", stderr);
	return EX_USAGE;
}

/* Take the next argument if it is this word, or a beginning of it. */
bool next_is(struct args *a, const char *word)
{
	if (!*a->v || !is_prefix(*a->v, word))
		return false;
	next_arg(a);
	return true;
}

/* Return: false, after a message, if there are arguments that a command does not take. */
bool no_more(const struct args *a, const char *command)
{
	if (!*a->v)
		return true;
	bad_usage("'%s' is more than 'gnictl %s' takes", *a->v, command);
	return false;
}

/* What can be done about an error. */
static const char *advice(const struct request *req, int error)
{
	switch (error) {
	case EPERM:
	case EACCES: return "; become root and try again";
	case ENODEV: return "; 'gnictl dev' lists those that there are";
	case ENOENT: return "; 'gnictl job' lists those that there are";
	case EBUSY:
		return req->cmd == KGNI_CMD_DEV_DEL ?
		       "; 'gnictl proc' shows by whom, 'force' deletes it all the same" :
		       "; 'gnictl proc' shows by whom";
	case EOPNOTSUPP: return "; do gnictl and the module kgni come from one release?";
	}
	return "";
}

/* Say that the kernel refused. Return: exit status. */
int refused(const struct request *req, const struct answer *answer, const char *what)
{
	const char *why = *answer->why ? answer->why : strerror(answer->error);

	if (req->dev == ANY_DEVICE)
		complain("%s: %s%s", what, why, advice(req, answer->error));
	else
		complain("%s: kgni%u: %s%s", what, req->dev, why, advice(req, answer->error));
	return EX_REFUSED;
}

static int cmd_proc(struct args *a) { return cmd_show("proc", a); }
static int cmd_mem(struct args *a) { return cmd_show("mem", a); }
static int cmd_cq(struct args *a) { return cmd_show("cq", a); }
static int cmd_ce(struct args *a) { return cmd_show("ce", a); }
static int cmd_session(struct args *a) { return cmd_show("session", a); }

static int cmd_help(struct args *a);

/* The first one of those that begin with what was typed counts. */
static const struct command {
	const char *name;
	int (*run)(struct args *a);
	const char *args;
	const char *help;
} commands[] = {
	{ "dev", cmd_dev, "[show] [DEVICE]", "virtual NICs" },
	{ "dev", cmd_dev, "add [DEVICE]", "make one more" },
	{ "dev", cmd_dev, "del DEVICE [force]", "delete one" },
	{ "dev", cmd_dev, "quiesce|resume DEVICE", "have one stand still, or go on" },
	{ "bi", cmd_bi, "[show] [DEVICE]", "how much of what they could move they may" },
	{ "bi", cmd_bi, "set DEVICE [bw N] [aot N] [orbs]", "change that" },
	{ "bi", cmd_bi, "set DEVICE default", "to the system's setting" },
	{ "job", cmd_job, "[show] [DEVICE] [ptag N]", "jobs" },
	{ "job", cmd_job, "add DEVICE id N cookie N ...", "configure one, or change its limits" },
	{ "job", cmd_job, "del DEVICE ptag N", "forget one that does not run" },
	{ "job", cmd_job, "suspend DEVICE ptag N [timeout MS]", "have one stand still" },
	{ "job", cmd_job, "resume DEVICE ptag N", "have it go on" },
	{ "ntt", cmd_ntt, "[show] [DEVICE]", "translation tables of PE addresses" },
	{ "ntt", cmd_ntt, "add DEVICE [at N] [size N] PE[,N,PE]...", "set entries" },
	{ "ntt", cmd_ntt, "del DEVICE all | N [COUNT]", "clear entries" },
	{ "proc", cmd_proc, "[show] [DEVICE] [ptag N] [pid N]",
	  "processes that are attached, and what they hold" },
	{ "mem", cmd_mem, "[show] [DEVICE] [ptag N] [pid N]", "registered memory" },
	{ "cq", cmd_cq, "[show] [DEVICE] [ptag N] [pid N]", "completion queues" },
	{ "ce", cmd_ce, "[show] [DEVICE] [ptag N] [pid N]", "channels of the collective engine" },
	{ "session", cmd_session, "[show] [DEVICE] [ptag N] [pid N]", "datagrams that are posted" },
	{ "stat", cmd_stat, "[dev|job|proc] [DEVICE] ...", "what they did" },
	{ "monitor", cmd_monitor, "[all|devices|errors] [count N]", "what happens, line by line" },
	{ "event", cmd_event, "[count N]", "errors, as they happen" },
	{ "inject", cmd_inject, "DEVICE ERROR [ptag N]", "have an error happen, for tests" },
	{ "top", cmd_top, "[DEVICE] [interval SECONDS] [count N]", "rates, again and again" },
	{ "dump", cmd_dump, "[FILE]", "all of this in a file, to attach to a report" },
	{ "help", cmd_help, "", "this text" },
};

static void usage(FILE *f)
{
	size_t i;

	fputs("usage: gnictl [-j] [-p] [-d] COMMAND [ARGUMENT...]\n\n", f);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(f, "  %-8s%-40s%s\n", commands[i].name, commands[i].args,
			commands[i].help);
	fputs("\n"
	      "  -j, --json     JSON: an array of objects\n"
	      "  -p, --pretty   with line breaks\n"
	      "  -d, --details  more than fits into a table\n"
	      "  -V, --version\n\n"
	      "DEVICE is a name such as kgni0. Words may be shortened.\n", f);
}

static int cmd_help(struct args *a)
{
	(void)a;
	usage(stdout);
	return EX_OK;
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (is_prefix(name, commands[i].name))
			return &commands[i];
	return NULL;
}

static int run(struct args *a)
{
	const char *name = next_arg(a);
	const struct command *command;

	if (!name) {
		usage(stderr);
		return EX_USAGE;
	}
	command = find_command(name);
	if (!command)
		return bad_usage("there is no command '%s'", name);
	return command->run(a);
}

/* What was printed may not have arrived. */
static int end(int rc)
{
	if (!fflush(stdout) && !ferror(stdout))
		return rc;
	complain("standard output: %s", strerror(errno));
	return rc ? rc : EX_REFUSED;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "pretty", no_argument, NULL, 'p' },
		{ "details", no_argument, NULL, 'd' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct args a;
	int c, rc;

	while ((c = getopt_long(argc, argv, "+jpdVh", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			opts.json = true;
			break;
		case 'p':
			opts.pretty = true;
			break;
		case 'd':
			opts.details = true;
			break;
		case 'V':
			puts("gnictl " KGNI_VERSION);
			return end(EX_OK);
		case 'h':
			usage(stdout);
			return end(EX_OK);
		default:
			return bad_usage("see the options");
		}
	}
	a.v = argv + optind;
	rc = end(run(&a));
	driver_close();
	return rc;
}
