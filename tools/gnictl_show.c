// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: lists of all kinds of objects. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include "gnictl.h"

/* How often a list that changes while it is read is read anew. */
#define TRIES	10

static void put_device(struct out *o, struct nlattr **a)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "kgni%u", get_u32(a, KGNI_A_DEV));
	out_text(o, "device", "DEVICE", buf);
}

static void put_hex(struct out *o, const char *key, const char *title, uint64_t number)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "0x%" PRIx64, number);
	out_shown(o, key, title, number, buf);
}

static void put_bytes(struct out *o, const char *key, const char *title, uint64_t bytes)
{
	char buf[TEXT_MAX];

	out_shown(o, key, title, bytes, text_bytes(buf, bytes));
}

static void put_optional(struct out *o, struct nlattr **a, const char *key, const char *title,
			 int attr)
{
	if (has(a, attr))
		out_number(o, key, title, get_u32(a, attr));
	else
		out_blank(o, title, true);
}

static void put_pages(struct out *o, struct nlattr **a)
{
	put_bytes(o, "pinned_bytes", "PINNED",
		  get_u64(a, KGNI_A_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void put_process(struct out *o, struct nlattr **a)
{
	put_optional(o, a, "pid", "PID", KGNI_A_PID);
	out_text(o, "command", "COMMAND", get_text(a, KGNI_A_COMM));
}

static void put_resource(struct out *o, struct nlattr *nest)
{
	struct nlattr *a[KGNI_RES_A_MAX + 1];
	char key[TEXT_MAX], buf[TEXT_MAX];
	uint32_t used, total;

	if (nla_parse_nested(a, KGNI_RES_A_MAX, nest, NULL) || !has(a, KGNI_RES_A_NAME))
		return;
	used = get_u32(a, KGNI_RES_A_USED);
	total = get_u32(a, KGNI_RES_A_TOTAL);
	snprintf(buf, sizeof(buf), "%u of %u", used, total);
	out_group(o, "resources", get_text(a, KGNI_RES_A_NAME), used, buf);
	snprintf(key, sizeof(key), "%s_total", get_text(a, KGNI_RES_A_NAME));
	out_group(o, "resources", key, total, NULL);
}

static void put_resources(struct out *o, struct nlattr **a)
{
	struct nlattr *nest;
	int left;

	if (!has(a, KGNI_A_RES))
		return;
	nla_for_each_nested(nest, a[KGNI_A_RES], left)
		put_resource(o, nest);
}

/* Read the counters that there are. */
void get_stats(struct nlattr **a, uint64_t *stats)
{
	struct nlattr *s;
	int left;

	memset(stats, 0, KGNI_STAT_COUNT * sizeof(*stats));
	if (!has(a, KGNI_A_STATS))
		return;
	nla_for_each_nested(s, a[KGNI_A_STATS], left) {
		unsigned int stat = (unsigned int)nla_type(s) - 1;

		if (stat < KGNI_STAT_COUNT && nla_len(s) == sizeof(uint64_t))
			stats[stat] = nla_get_u64(s);
	}
}

static void put_stats(struct out *o, struct nlattr **a)
{
	uint64_t stats[KGNI_STAT_COUNT];
	char buf[TEXT_MAX];
	unsigned int i;

	get_stats(a, stats);
	for (i = 0; i < KGNI_STAT_COUNT; i++) {
		if (stat_is_bytes(i))
			text_bytes(buf, stats[i]);
		else
			snprintf(buf, sizeof(buf), "%" PRIu64, stats[i]);
		out_group(o, "statistics", stat_key(i), stats[i], buf);
	}
}

static void dev_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "pe", "PE", get_u32(a, KGNI_A_PE));
	out_text(o, "type", "TYPE", text_device_type(get_u32(a, KGNI_A_TYPE)));
	out_text(o, "state", "STATE", text_device_state(get_u32(a, KGNI_A_STATE)));
	out_number(o, "jobs", "JOBS", get_u32(a, KGNI_A_JOBS));
	out_number(o, "attachments", "ATTACHED", get_u32(a, KGNI_A_NICS));
	out_text(o, "driver", NULL, get_text(a, KGNI_A_VERSION));
	put_resources(o, a);
	put_stats(o, a);
}

static void job_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "ptag", "PTAG", get_u32(a, KGNI_A_PTAG));
	put_hex(o, "cookie", "COOKIE", get_u32(a, KGNI_A_COOKIE));
	put_optional(o, a, "uid", "UID", KGNI_A_UID);
	out_number(o, "attachments", "ATTACHED", get_u32(a, KGNI_A_NICS));
	out_flag(o, "running", has(a, KGNI_A_UID));
	out_flag(o, "automatic", has(a, KGNI_A_AUTO));
	out_flag(o, "suspended", has(a, KGNI_A_SUSPENDED));
	if (has(a, KGNI_A_JOB_ID))
		put_hex(o, "job_id", NULL, get_u64(a, KGNI_A_JOB_ID));
	if (has(a, KGNI_A_NTT_SIZE)) {
		out_number(o, "ntt_base", NULL, get_u32(a, KGNI_A_NTT_BASE));
		out_number(o, "ntt_size", NULL, get_u32(a, KGNI_A_NTT_SIZE));
		out_flag(o, "ntt_clear", has(a, KGNI_A_NTT_CLEAR));
	}
	put_resources(o, a);
	put_stats(o, a);
}

static void put_modes(struct out *o, struct nlattr **a, const struct bit_name *names)
{
	char buf[TEXT_MAX];

	out_shown(o, "modes", NULL, get_u32(a, KGNI_A_MODES),
		  text_bits(buf, get_u32(a, KGNI_A_MODES), names));
}

static void proc_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "attachment", "ID", get_u32(a, KGNI_A_NIC));
	put_process(o, a);
	out_number(o, "uid", "UID", get_u32(a, KGNI_A_UID));
	out_number(o, "ptag", "PTAG", get_u32(a, KGNI_A_PTAG));
	out_number(o, "instance", "INSTANCE", get_u32(a, KGNI_A_INST));
	out_number(o, "regions", "REGIONS", get_u32(a, KGNI_A_MEMS));
	put_pages(o, a);
	out_number(o, "cqs", "CQS", get_u32(a, KGNI_A_CQS));
	out_number(o, "sessions", "SESSIONS", get_u32(a, KGNI_A_DGRAMS));
	out_number(o, "rdma_running", "RDMA", get_u32(a, KGNI_A_POSTS));
	put_hex(o, "cookie", NULL, get_u32(a, KGNI_A_COOKIE));
	out_number(o, "channels", NULL, get_u32(a, KGNI_A_CES));
	put_modes(o, a, cdm_modes);
	put_stats(o, a);
}

static void put_owner(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "ptag", "PTAG", get_u32(a, KGNI_A_PTAG));
	put_process(o, a);
}

static void mem_row(struct out *o, struct nlattr **a)
{
	char buf[TEXT_MAX];

	put_owner(o, a);
	out_number(o, "mdh", "MDH", get_u32(a, KGNI_A_MDH));
	put_hex(o, "address", "ADDRESS", get_u64(a, KGNI_A_ADDR));
	put_bytes(o, "length", "LENGTH", get_u64(a, KGNI_A_LENGTH));
	put_pages(o, a);
	put_optional(o, a, "cq", "CQ", KGNI_A_CQ);
	text_bits(buf, get_u32(a, KGNI_A_FLAGS), mem_flags);
	out_text(o, "flags", "FLAGS", buf);
	out_number(o, "attachment", NULL, get_u32(a, KGNI_A_NIC));
}

static void cq_row(struct out *o, struct nlattr **a)
{
	char buf[TEXT_MAX];

	put_owner(o, a);
	out_number(o, "cq", "CQ", get_u32(a, KGNI_A_CQ));
	out_number(o, "entries", "ENTRIES", get_u32(a, KGNI_A_SLOTS));
	out_number(o, "filled", "FILLED", get_u32(a, KGNI_A_FILL));
	put_pages(o, a);
	text_bits(buf, get_u32(a, KGNI_A_MODES), cq_modes);
	out_text(o, "modes", "MODES", buf);
	out_number(o, "attachment", NULL, get_u32(a, KGNI_A_NIC));
	out_number(o, "mappings", NULL, get_u32(a, KGNI_A_MAPS));
}

static void ce_row(struct out *o, struct nlattr **a)
{
	uint32_t status = get_u32(a, KGNI_A_STATUS), children = get_u32(a, KGNI_A_CHILDREN);

	put_owner(o, a);
	out_number(o, "channel", "CE", get_u32(a, KGNI_A_CE));
	out_text(o, "state", "STATE", text_ce_state(status, children));
	out_number(o, "children", "CHILDREN", children);
	out_number(o, "seen", "SEEN", get_u32(a, KGNI_A_SEEN));
	put_optional(o, a, "parent_pe", "PARENT-PE", KGNI_A_REMOTE_PE);
	put_optional(o, a, "parent", "PARENT-CE", KGNI_A_PARENT);
	out_number(o, "reductions", "REDUCTIONS", get_u32(a, KGNI_A_REDUCTIONS));
	put_optional(o, a, "cq", "CQ", KGNI_A_CQ);
	out_number(o, "status", NULL, status);
	put_modes(o, a, ce_modes);
	out_number(o, "attachment", NULL, get_u32(a, KGNI_A_NIC));
}

static void session_row(struct out *o, struct nlattr **a)
{
	put_owner(o, a);
	out_number(o, "ep", "EP", get_u32(a, KGNI_A_EP));
	out_text(o, "state", "STATE", text_dgram_state(get_u32(a, KGNI_A_STATE)));
	put_optional(o, a, "remote_pe", "PEER-PE", KGNI_A_REMOTE_PE);
	put_optional(o, a, "remote_instance", "PEER-INSTANCE", KGNI_A_REMOTE_INST);
	put_bytes(o, "length", "LENGTH", get_u64(a, KGNI_A_LENGTH));
	if (has(a, KGNI_A_ID))
		put_hex(o, "id", "ID", get_u64(a, KGNI_A_ID));
	else
		out_blank(o, "ID", true);
	out_number(o, "attachment", NULL, get_u32(a, KGNI_A_NIC));
}

static void put_percent(struct out *o, struct nlattr **a, const char *key, const char *title,
			int attr)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "%u %%", get_u32(a, attr));
	out_shown(o, key, title, get_u32(a, attr), buf);
}

static void put_ns(struct out *o, struct nlattr **a, const char *key, int attr)
{
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "%.3f s", (double)get_u64(a, attr) / 1e9);
	out_shown(o, key, NULL, get_u64(a, attr), buf);
}

static void bi_row(struct out *o, struct nlattr **a)
{
	char buf[TEXT_MAX];

	put_device(o, a);
	put_percent(o, a, "bw", "BW", KGNI_A_BW);
	put_percent(o, a, "aot_bw", "AFTER-THROTTLE", KGNI_A_AOT_BW);
	out_number(o, "orbs", "ORBS", get_u32(a, KGNI_A_NORBS));
	put_percent(o, a, "default_bw", "DEFAULT", KGNI_A_SYS_BW);
	put_percent(o, a, "default_aot_bw", NULL, KGNI_A_SYS_AOT_BW);
	out_shown(o, "flags", NULL, get_u32(a, KGNI_A_FLAGS),
		  text_bits(buf, get_u32(a, KGNI_A_FLAGS), bi_flags));
	out_number(o, "changes", NULL, get_u32(a, KGNI_A_CHANGES));
	out_number(o, "committed", NULL, get_u32(a, KGNI_A_COMMITTED));
	put_ns(o, a, "open_ns", KGNI_A_OPEN_NS);
	put_ns(o, a, "closed_ns", KGNI_A_CLOSED_NS);
	put_ns(o, a, "late_ns", KGNI_A_LATE_NS);
}

/* An entry: which addresses of jobs stand for which PEs, counted from its first. */
static void ntt_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "index", "ENTRY", get_u32(a, KGNI_A_INDEX));
	out_number(o, "granularity", "ADDRESSES", get_u32(a, KGNI_A_GRANULARITY));
	out_number(o, "block", "PE", get_u32(a, KGNI_A_BLOCK));
	out_number(o, "replaced", "REPLACED", get_u32(a, KGNI_A_REPLACED));
	out_number(o, "replacement", "BY-PE", get_u32(a, KGNI_A_REPLACEMENT));
}

const struct kind kinds[] = {
	{ "dev", KGNI_CMD_DEV_GET, dev_row, false, false, false },
	{ "job", KGNI_CMD_JOB_GET, job_row, true, false, false },
	{ "bi", KGNI_CMD_BI_GET, bi_row, false, false, false },
	{ "ntt", KGNI_CMD_NTT_GET, ntt_row, false, false, true },
	{ "proc", KGNI_CMD_NIC_GET, proc_row, true, true, false },
	{ "mem", KGNI_CMD_MEM_GET, mem_row, true, true, false },
	{ "cq", KGNI_CMD_CQ_GET, cq_row, true, true, false },
	{ "ce", KGNI_CMD_CE_GET, ce_row, true, true, false },
	{ "session", KGNI_CMD_DGRAM_GET, session_row, true, true, false },
	{ NULL, 0, NULL, false, false, false }
};

/* The kind of what can be listed under a name. */
const struct kind *kind_by_name(const char *name)
{
	const struct kind *k;

	for (k = kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* A list that is being read. */
struct reading {
	struct out *o;
	void (*row)(struct out *o, struct nlattr **a);
};

static void read_row(void *arg, uint8_t cmd, struct nlattr **a)
{
	struct reading *r = arg;

	(void)cmd;
	out_row(r->o);
	r->row(r->o, a);
}

/* Read a list by @row, anew if it changes meanwhile. Return: exit status. */
int list_rows(const struct request *req, const char *what,
	      void (*row)(struct out *o, struct nlattr **a), struct out *o)
{
	struct reading r = { .o = o, .row = row };
	struct answer answer;
	int tries = 0;

	do {
		out_reset(o);
		ask(req, read_row, &r, &answer);
	} while (!answer.error && answer.changed && ++tries < TRIES);
	if (answer.error)
		return refused(req, &answer, what);
	if (answer.changed)
		complain("the list changed while it was read; some may be missing");
	return EX_OK;
}

/* "[show|list] [DEVICE] [ptag N] [pid N]", as far as the kind knows them. */
int parse_filter(const struct kind *kind, struct args *a, struct request *req)
{
	const char *arg;

	if (*a->v && (is_prefix(*a->v, "show") || is_prefix(*a->v, "list")))
		next_arg(a);
	while ((arg = next_arg(a))) {
		if (kind->by_job && is_prefix(arg, "ptag")) {
			arg = next_arg(a);
			if (!arg || !parse_number(arg, 254, &req->ptag) || !req->ptag)
				return bad_usage("ptag needs a number from 1 to 254");
		} else if (kind->by_process && is_prefix(arg, "pid")) {
			arg = next_arg(a);
			if (!arg || !parse_number(arg, INT32_MAX, &req->pid) || !req->pid)
				return bad_usage("pid needs the number of a process");
		} else if (req->dev != ANY_DEVICE) {
			return bad_usage("'%s' is more than 'gnictl %s show' takes", arg,
					 kind->name);
		} else if (!parse_device(arg, &req->dev)) {
			return bad_usage("'%s' is no device; they are named kgni0 to kgni63", arg);
		}
	}
	return EX_OK;
}

/* List what there is of a kind. */
int cmd_show(const char *name, struct args *a)
{
	const struct kind *kind = kind_by_name(name);
	struct request req = { .cmd = kind->get, .dump = true, .dev = ANY_DEVICE };
	struct out o = { 0 };
	int rc = parse_filter(kind, a, &req);

	if (!rc)
		rc = driver_open() ? EX_OK : EX_REFUSED;
	if (!rc)
		rc = list_rows(&req, name, kind->row, &o);
	if (!rc)
		out_print(&o, stdout, &opts);
	out_reset(&o);
	return rc;
}

/* --- statistics ----------------------------------------------------------------- */

static void put_counters(struct out *o, struct nlattr **a)
{
	static const struct {
		enum kgni_stat stat;
		const char *title;
	} columns[] = {
		{ KGNI_STAT_FMA_PUT, "PUTS" }, { KGNI_STAT_FMA_PUT_BYTES, "BYTES" },
		{ KGNI_STAT_FMA_GET, "GETS" }, { KGNI_STAT_FMA_GET_BYTES, "BYTES" },
		{ KGNI_STAT_AMO, "AMOS" }, { KGNI_STAT_CQWRITE, "CQWRITES" },
		{ KGNI_STAT_SMSG, "MESSAGES" }, { KGNI_STAT_RDMA_PUT, "RDMA-PUTS" },
		{ KGNI_STAT_RDMA_PUT_BYTES, "BYTES" }, { KGNI_STAT_RDMA_GET, "RDMA-GETS" },
		{ KGNI_STAT_RDMA_GET_BYTES, "BYTES" }, { KGNI_STAT_ERROR, "ERRORS" },
		{ KGNI_STAT_DGRAM, "DATAGRAMS" }, { KGNI_STAT_DGRAM_MATCHED, "MATCHED" },
		{ KGNI_STAT_CE, "REDUCTIONS" },
	};
	uint64_t stats[KGNI_STAT_COUNT];
	size_t i;

	get_stats(a, stats);
	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		enum kgni_stat stat = columns[i].stat;

		if (stat_is_bytes(stat))
			put_bytes(o, stat_key(stat), columns[i].title, stats[stat]);
		else
			out_number(o, stat_key(stat), columns[i].title, stats[stat]);
	}
}

static void dev_stat_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	put_counters(o, a);
}

static void job_stat_row(struct out *o, struct nlattr **a)
{
	put_device(o, a);
	out_number(o, "ptag", "PTAG", get_u32(a, KGNI_A_PTAG));
	put_counters(o, a);
}

static void proc_stat_row(struct out *o, struct nlattr **a)
{
	put_owner(o, a);
	put_counters(o, a);
}

/* "stat [dev|job|proc] ..." */
int cmd_stat(struct args *a)
{
	void (*row)(struct out *o, struct nlattr **a) = dev_stat_row;
	const struct kind *kind = kind_by_name("dev");
	struct request req = { .dump = true, .dev = ANY_DEVICE };
	struct out o = { 0 };
	int rc;

	if (*a->v && is_prefix(*a->v, "job")) {
		next_arg(a);
		kind = kind_by_name("job");
		row = job_stat_row;
	} else if (*a->v && is_prefix(*a->v, "proc")) {
		next_arg(a);
		kind = kind_by_name("proc");
		row = proc_stat_row;
	} else if (*a->v && !strcmp(*a->v, "dev") && (!a->v[1] || is_prefix(a->v[1], "show"))) {
		next_arg(a);
	}
	req.cmd = kind->get;
	rc = parse_filter(kind, a, &req);
	if (!rc)
		rc = driver_open() ? EX_OK : EX_REFUSED;
	if (!rc)
		rc = list_rows(&req, "stat", row, &o);
	if (!rc)
		out_print(&o, stdout, &opts);
	out_reset(&o);
	return rc;
}
