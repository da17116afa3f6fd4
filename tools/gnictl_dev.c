// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: devices made and deleted. */
#include "gnictl.h"

static void print_made(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct out *o = arg;

	(void)cmd;
	out_row(o);
	kind_by_name("dev")->row(o, attrs);
}

/* "dev add [DEVICE]": says which one it made. */
static int dev_add(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_DEV_NEW, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);
	struct answer answer;
	struct out o = { 0 };

	if (arg && !parse_device(arg, &req.dev))
		return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
	if (*a->v)
		return bad_usage("'%s' is more than 'gnictl dev add' takes", *a->v);
	if (!driver_open())
		return EX_REFUSED;
	ask(&req, print_made, &o, &answer);
	if (!answer.error)
		out_print(&o, stdout, &opts);
	out_reset(&o);
	return answer.error ? refused(&req, &answer, "dev add") : EX_OK;
}

/* "dev del DEVICE [force]". */
static int dev_del(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_DEV_DEL, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);
	struct answer answer;

	if (!arg)
		return bad_usage("'gnictl dev del' needs the name of a device, such as kgni1");
	if (!parse_device(arg, &req.dev))
		return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
	if (*a->v && is_prefix(*a->v, "force")) {
		next_arg(a);
		req.force = true;
	}
	if (*a->v)
		return bad_usage("'%s' is more than 'gnictl dev del' takes", *a->v);
	if (!driver_open())
		return EX_REFUSED;
	ask(&req, NULL, NULL, &answer);
	return answer.error ? refused(&req, &answer, "dev del") : EX_OK;
}

int cmd_dev(struct args *a)
{
	const char *verb = *a->v;

	if (verb && is_prefix(verb, "add")) {
		next_arg(a);
		return dev_add(a);
	}
	if (verb && (is_prefix(verb, "delete") || is_prefix(verb, "remove"))) {
		next_arg(a);
		return dev_del(a);
	}
	return cmd_show("dev", a);
}

/* "inject DEVICE ERROR [ptag N]" */
int cmd_inject(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_INJECT, .dev = ANY_DEVICE };
	const char *arg = next_arg(a);
	struct answer answer;

	if (!arg || !parse_device(arg, &req.dev))
		return bad_usage("'gnictl inject' needs the name of a device, such as kgni0");
	arg = next_arg(a);
	if (!arg || !parse_error(arg, &req.code))
		return bad_usage("and an error: memory-corrected, memory or diag");
	if (*a->v && is_prefix(*a->v, "ptag")) {
		next_arg(a);
		arg = next_arg(a);
		if (!arg || !parse_number(arg, 254, &req.ptag) || !req.ptag)
			return bad_usage("ptag needs a number from 1 to 254");
	}
	if (*a->v)
		return bad_usage("'%s' is more than 'gnictl inject' takes", *a->v);
	if (!driver_open())
		return EX_REFUSED;
	ask(&req, NULL, NULL, &answer);
	return answer.error ? refused(&req, &answer, "inject") : EX_OK;
}
