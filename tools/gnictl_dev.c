// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: devices made, deleted and stopped. */
#include "gnictl.h"

/* What is made, and what it is. */
struct made {
	struct out o;
	const struct kind *kind;
};

static void print_made(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct made *made = arg;

	(void)cmd;
	out_row(&made->o);
	made->kind->row(&made->o, attrs);
}

/* Ask for something to be changed, and print an object that is answered. */
int ask_and_print(const struct request *req, const char *kind, const char *what)
{
	struct made made = { .kind = kind ? kind_by_name(kind) : NULL };
	struct answer answer;

	if (!driver_open())
		return EX_REFUSED;
	ask(req, kind ? print_made : NULL, &made, &answer);
	if (!answer.error && kind)
		out_print(&made.o, stdout, &opts);
	out_reset(&made.o);
	return answer.error ? refused(req, &answer, what) : EX_OK;
}

/* "dev add [DEVICE]": says which one it made. */
static int dev_add(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_DEV_NEW, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);

	if (arg && !parse_device(arg, &req.dev))
		return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
	return no_more(a, "dev add") ? ask_and_print(&req, "dev", "dev add") : EX_USAGE;
}

/* "dev quiesce DEVICE", "dev resume DEVICE". */
static int dev_turn(struct args *a, uint8_t cmd, const char *what)
{
	struct request req = { .cmd = cmd, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);

	if (!arg || !parse_device(arg, &req.dev))
		return bad_usage("'gnictl %s' needs the name of a device, such as kgni0", what);
	return no_more(a, what) ? ask_and_print(&req, NULL, what) : EX_USAGE;
}

/* "dev del DEVICE [force]". */
static int dev_del(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_DEV_DEL, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);

	if (!arg)
		return bad_usage("'gnictl dev del' needs the name of a device, such as kgni1");
	if (!parse_device(arg, &req.dev))
		return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
	req.force = next_is(a, "force");
	return no_more(a, "dev del") ? ask_and_print(&req, NULL, "dev del") : EX_USAGE;
}

int cmd_dev(struct args *a)
{
	if (next_is(a, "add"))
		return dev_add(a);
	if (next_is(a, "delete") || next_is(a, "remove"))
		return dev_del(a);
	if (next_is(a, "quiesce"))
		return dev_turn(a, KGNI_CMD_DEV_QUIESCE, "dev quiesce");
	if (next_is(a, "resume"))
		return dev_turn(a, KGNI_CMD_DEV_RESUME, "dev resume");
	return cmd_show("dev", a);
}

/* "inject DEVICE ERROR [ptag N]" */
int cmd_inject(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_INJECT, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);

	if (!arg || !parse_device(arg, &req.dev))
		return bad_usage("'gnictl inject' needs the name of a device, such as kgni0");
	arg = next_arg(a);
	if (!arg || !parse_error(arg, &req.code))
		return bad_usage("and an error: memory-corrected, memory or diag");
	if (next_is(a, "ptag")) {
		arg = next_arg(a);
		if (!arg || !parse_number(arg, 254, &req.ptag) || !req.ptag)
			return bad_usage("ptag needs a number from 1 to 254");
	}
	return no_more(a, "inject") ? ask_and_print(&req, NULL, "inject") : EX_USAGE;
}
