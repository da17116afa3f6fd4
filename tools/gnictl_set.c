// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: balanced injection, configured jobs and translation tables, to be changed. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <gni/kgni.h>
#include <gni_pub.h>
#include "gnictl.h"

/* The device that a command must name. */
static bool parse_named(struct args *a, struct request *req, const char *what)
{
	const char *arg = next_arg(a);

	if (arg && parse_device(arg, &req->dev))
		return true;
	bad_usage("'gnictl %s' needs the name of a device, such as kgni0", what);
	return false;
}

/* The number behind a word. */
static bool parse_value(struct args *a, const char *word, uint32_t max, uint32_t *value)
{
	const char *arg = next_arg(a);

	if (arg && parse_number(arg, max, value))
		return true;
	bad_usage("%s needs a number up to %u", word, max);
	return false;
}

/* --- balanced injection ------------------------------------------------------- */

/* "[bw N] [aot N] [orbs]", or "default". */
static bool parse_bi(struct args *a, struct request *req)
{
	uint32_t flags = 0, value;

	while (*a->v) {
		if (next_is(a, "bw")) {
			if (!parse_value(a, "bw", GNI_BI_INJECT_BW_ORB_MAX, &value))
				return false;
			add_u32(req, KGNI_A_BW, value);
			flags |= GNI_BI_FLAG_APPLY_NOW;
		} else if (next_is(a, "aot")) {
			if (!parse_value(a, "aot", GNI_BI_INJECT_BW_ORB_MAX, &value))
				return false;
			add_u32(req, KGNI_A_AOT_BW, value);
			flags |= GNI_BI_FLAG_APPLY_AFTER_THROTTLE;
		} else if (next_is(a, "orbs")) {
			flags |= GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES;
		} else if (next_is(a, "default")) {
			flags |= GNI_BI_FLAG_USE_DEFAULT_SETTINGS;
		} else {
			no_more(a, "bi set");
			return false;
		}
		if (req->extras >= EXTRAS_MAX - 1)
			break;
	}
	add_u32(req, KGNI_A_FLAGS, flags);
	if (flags & ~GNI_BI_FLAG_VALUE_IS_NUM_ORB_ENTRIES)
		return true;
	bad_usage("'gnictl bi set' needs bw, aot or default");
	return false;
}

int cmd_bi(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_BI_SET, .dev = ANY_DEVICE };

	if (!next_is(a, "set"))
		return cmd_show("bi", a);
	if (!parse_named(a, &req, "bi set") || !parse_bi(a, &req))
		return EX_USAGE;
	return ask_and_print(&req, NULL, "bi set");
}

/* --- jobs ---------------------------------------------------------------------- */

static const char * const resources[] = {
	"mdd", "cq", "fma", "rdma", "iommu", "sfma", "ce", "dla", "mrt", "gart",
};

static const char *resource(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(resources); i++)
		if (!strcmp(word, resources[i]))
			return resources[i];
	return NULL;
}

/* A word of "job add", and what is behind it. */
static bool parse_job_word(struct args *a, struct request *req)
{
	const char *limit = resource(*a->v);
	uint64_t id;
	uint32_t value;

	if (limit) {
		next_arg(a);
		if (!parse_value(a, limit, INT32_MAX, &value))
			return false;
		add_limit(req, limit, value);
	} else if (next_is(a, "id")) {
		if (!*a->v || !parse_number64(next_arg(a), &id)) {
			bad_usage("id needs a number");
			return false;
		}
		add_u64(req, KGNI_A_JOB_ID, id);
	} else if (next_is(a, "cookie")) {
		if (!parse_value(a, "cookie", UINT32_MAX, &value))
			return false;
		add_u32(req, KGNI_A_COOKIE, value);
	} else if (next_is(a, "ptag")) {
		return parse_value(a, "ptag", 254, &req->ptag);
	} else if (next_is(a, "ntt")) {
		if (!parse_value(a, "ntt", KGNI_NTT_ENTRIES - 1, &value))
			return false;
		add_u32(req, KGNI_A_NTT_BASE, value);
		if (!parse_value(a, "ntt N", KGNI_NTT_ENTRIES, &value))
			return false;
		add_u32(req, KGNI_A_NTT_SIZE, value);
	} else if (next_is(a, "clear")) {
		add_flag(req, KGNI_A_NTT_CLEAR);
	} else {
		no_more(a, "job add");
		return false;
	}
	return true;
}

static int job_add(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_JOB_SET, .dev = ANY_DEVICE };

	if (!parse_named(a, &req, "job add"))
		return EX_USAGE;
	while (*a->v) {
		if (req.extras > EXTRAS_MAX - 2)
			return bad_usage("these are too many limits");
		if (!parse_job_word(a, &req))
			return EX_USAGE;
	}
	return ask_and_print(&req, "job", "job add");
}

/* What was configured of the job that a command is about. */
static void read_job(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct request *req = arg;

	(void)cmd;
	add_u64(req, KGNI_A_JOB_ID, get_u64(attrs, KGNI_A_JOB_ID));
	add_u32(req, KGNI_A_COOKIE, get_u32(attrs, KGNI_A_COOKIE));
}

/* "DEVICE ptag N". */
static bool parse_job(struct args *a, struct request *req, const char *what)
{
	if (!parse_named(a, req, what))
		return false;
	if (next_is(a, "ptag"))
		return parse_value(a, "ptag", 254, &req->ptag);
	bad_usage("'gnictl %s' needs ptag and a number", what);
	return false;
}

/* Ask for a job by its tag, and tell of it by @fn. Return: exit status. */
static int find_job(const struct request *req, message_fn fn, void *arg, const char *what)
{
	struct request get = *req;
	struct answer answer;

	if (!driver_open())
		return EX_REFUSED;
	get.cmd = KGNI_CMD_JOB_GET;
	ask(&get, fn, arg, &answer);
	driver_close();
	return answer.error ? refused(req, &answer, what) : EX_OK;
}

static int job_del(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_JOB_UNSET, .dev = ANY_DEVICE };
	int rc;

	if (!parse_job(a, &req, "job del") || !no_more(a, "job del"))
		return EX_USAGE;
	rc = find_job(&req, read_job, &req, "job del");
	return rc ? rc : ask_and_print(&req, NULL, "job del");
}

/* The name of a job that is to stand still, or to go on. */
static void read_name(void *arg, uint8_t cmd, struct nlattr **attrs)
{
	struct kgni_ioc_suspend *s = arg;

	(void)cmd;
	s->job_id = get_u64(attrs, KGNI_A_JOB_ID);
	s->ptag = get_u32(attrs, KGNI_A_PTAG);
	s->cookie = get_u32(attrs, KGNI_A_COOKIE);
}

/* What a code of the driver means for a job that is to stand still, or to go on. */
static const char *why_not(long rc, bool resume)
{
	switch (rc) {
	case GNI_RC_PERMISSION_ERROR: return "this needs CAP_SYS_ADMIN; become root and try again";
	case GNI_RC_INVALID_PARAM: return "it does not run";
	case GNI_RC_INVALID_STATE:
		return resume ? "it is not suspended" : "it is suspended already";
	case GNI_RC_ERROR_RESOURCE: return "clients in the kernel are in it, which cannot be";
	case GNI_RC_NOT_DONE: return "its device stands still, or it was resumed meanwhile";
	case GNI_RC_TIMEOUT: return "what it has on its way did not end in time; it goes on";
	}
	return rc < 0 ? strerror(errno) : "refused";
}

/*
 * Not by netlink: commands of all families would wait while this waits for what the
 * job has on its way.
 */
static int turn_job(uint32_t dev, struct kgni_ioc_suspend *s, const char *what)
{
	char path[sizeof(KGNI_DEVICE_PATH) + 16];
	int fd;
	long rc;

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, dev);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		complain("%s: %s: %s", what, path, strerror(errno));
		return EX_REFUSED;
	}
	rc = ioctl(fd, KGNI_IOC_JOB_SUSPEND, s);
	if (rc != GNI_RC_SUCCESS)
		complain("%s: kgni%u, ptag %u: %s", what, dev, s->ptag,
			 why_not(rc, s->flags & KGNI_SUSPEND_RESUME));
	close(fd);
	return rc == GNI_RC_SUCCESS ? EX_OK : EX_REFUSED;
}

/* How long to wait for what a job has on its way, unless that is said. */
#define SUSPEND_MS	10000

/* "job suspend DEVICE ptag N [timeout MS]", "job resume DEVICE ptag N" */
static int job_turn(struct args *a, uint32_t flags, const char *what)
{
	struct request req = { .dev = ANY_DEVICE };
	struct kgni_ioc_suspend s = { 0 };
	uint32_t ms = SUSPEND_MS;
	int rc;

	if (!parse_job(a, &req, what))
		return EX_USAGE;
	if (!flags && next_is(a, "timeout") && !parse_value(a, "timeout", UINT32_MAX, &ms))
		return EX_USAGE;
	if (!no_more(a, what))
		return EX_USAGE;
	rc = find_job(&req, read_name, &s, what);
	s.timeout_ms = ms;
	s.flags = flags;
	return rc ? rc : turn_job(req.dev, &s, what);
}

int cmd_job(struct args *a)
{
	if (next_is(a, "add"))
		return job_add(a);
	if (next_is(a, "delete") || next_is(a, "remove"))
		return job_del(a);
	/* "s" is "show", as ever. */
	if (*a->v && !is_prefix(*a->v, "show") && next_is(a, "suspend"))
		return job_turn(a, 0, "job suspend");
	if (next_is(a, "resume"))
		return job_turn(a, KGNI_SUSPEND_RESUME, "job resume");
	return cmd_show("job", a);
}

/* --- translation tables ---------------------------------------------------------- */

/* "PE", or "PE,N,PE": the last N of the block are replaced by those from there on. */
static bool parse_entry(const char *text, struct kgni_ntt_entry *e)
{
	uint32_t *value[] = { &e->block, &e->replaced, &e->replacement };
	char *copy = strdup(text), *rest = copy;
	bool good = copy;
	size_t n = 0;

	memset(e, 0, sizeof(*e));
	while (good && rest && n < ARRAY_SIZE(value))
		good = parse_number(strsep(&rest, ","), UINT32_MAX, value[n++]);
	good = good && !rest && n != 2;
	free(copy);
	if (good)
		return true;
	bad_usage("'%s' is no entry: a PE address, or PE,N,PE", text);
	return false;
}

/* A number of addresses is given once for all entries. */
static int ntt_add_entries(struct args *a, struct request *req)
{
	struct kgni_ntt_entry *e = calloc(KGNI_NL_ENTRIES_MAX, sizeof(*e));
	size_t n = 0;
	int rc = EX_USAGE;

	while (e && *a->v && n < KGNI_NL_ENTRIES_MAX && parse_entry(*a->v, &e[n])) {
		next_arg(a);
		n++;
	}
	if (!*a->v && n) {
		add_bytes(req, KGNI_A_ENTRIES, e, n * sizeof(*e));
		rc = ask_and_print(req, "ntt", "ntt add");
	} else if (!*a->v) {
		bad_usage("'gnictl ntt add' needs PE addresses");
	}
	free(e);
	return rc;
}

static int ntt_add(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_NTT_SET, .dev = ANY_DEVICE };
	uint32_t at, size = 1;

	if (!parse_named(a, &req, "ntt add"))
		return EX_USAGE;
	if (next_is(a, "at")) {
		if (!parse_value(a, "at", KGNI_NTT_ENTRIES - 1, &at))
			return EX_USAGE;
		add_u32(&req, KGNI_A_INDEX, at);
	}
	if (next_is(a, "size") && !parse_value(a, "size", UINT8_MAX, &size))
		return EX_USAGE;
	add_u32(&req, KGNI_A_GRANULARITY, size);
	return ntt_add_entries(a, &req);
}

/* "DEVICE all", or "DEVICE N [COUNT]". */
static int ntt_del(struct args *a)
{
	struct request req = { .cmd = KGNI_CMD_NTT_UNSET, .dev = ANY_DEVICE };
	uint32_t at, count = 1;

	if (!parse_named(a, &req, "ntt del"))
		return EX_USAGE;
	if (!next_is(a, "all")) {
		if (!parse_value(a, "'gnictl ntt del DEVICE'", KGNI_NTT_ENTRIES - 1, &at))
			return EX_USAGE;
		if (*a->v && !parse_value(a, "how many", KGNI_NTT_ENTRIES, &count))
			return EX_USAGE;
		add_u32(&req, KGNI_A_INDEX, at);
		add_u32(&req, KGNI_A_COUNT, count);
	}
	return no_more(a, "ntt del") ? ask_and_print(&req, NULL, "ntt del") : EX_USAGE;
}

int cmd_ntt(struct args *a)
{
	if (next_is(a, "add"))
		return ntt_add(a);
	if (next_is(a, "delete") || next_is(a, "remove"))
		return ntt_del(a);
	return cmd_show("ntt", a);
}
