/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gnictl: what its files share.
 *
 *	gnictl.c		options and the choice of a command
 *	gnictl_fmt.c		numbers, names and units as text, and text as numbers
 *	gnictl_out.c		tables and JSON
 *	gnictl_nl.c		questions to the driver, by generic netlink
 *	gnictl_show.c		lists of all kinds of objects
 *	gnictl_dev.c		devices made, deleted and stopped
 *	gnictl_set.c		injection, jobs and translation tables
 *	gnictl_monitor.c	what happens
 *	gnictl_top.c		rates
 *	gnictl_dump.c		all of it in one file
 */
#ifndef _TOOLS_GNICTL_H
#define _TOOLS_GNICTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <netlink/attr.h>
#include <gni/netlink.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Exit status. */
enum {
	EX_OK = 0,
	EX_REFUSED = 1,		/* the kernel said no, or is not there to ask */
	EX_USAGE = 2,
};

/* What the global options say. */
struct opts {
	bool json;
	bool pretty;
	bool details;
};

extern struct opts opts;

void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- gnictl_fmt.c ------------------------------------------------------------- */

#define TEXT_MAX	160

/* A bit and its name, for those of modes and flags. */
struct bit_name {
	uint32_t bit;
	const char *name;
};

extern const struct bit_name cdm_modes[], mem_flags[], cq_modes[], ce_modes[], bi_flags[];
extern const struct bit_name error_categories[];

char *text_bytes(char *buf, uint64_t bytes);
char *text_bits(char *buf, uint32_t bits, const struct bit_name *names);
char *text_rate(char *buf, uint64_t before, uint64_t now, uint64_t ns, bool bytes);
const char *text_dgram_state(uint32_t state);
const char *text_ce_state(uint32_t status, uint32_t children);
const char *text_device_type(uint32_t type);
const char *text_device_state(uint32_t state);
const char *text_error(char *buf, uint32_t code);
bool parse_error(const char *text, uint32_t *code);
const char *stat_key(unsigned int stat);
bool stat_is_bytes(unsigned int stat);
bool parse_number(const char *text, uint32_t max, uint32_t *value);
bool parse_number64(const char *text, uint64_t *value);
bool parse_device(const char *text, uint32_t *dev);
bool is_prefix(const char *prefix, const char *word);

/* --- gnictl_out.c ------------------------------------------------------------- */

/**
 * struct cell - one field of a row
 * @key: its name in JSON
 * @title: of its column; NULL for one that only details show
 * @group: object that it is in, in JSON and among the details; NULL for none
 * @text: as people read it; NULL if they do not
 * @number: as JSON has it, unless @is_text
 * @is_text: JSON has @text
 * @is_bool: JSON has true or false, by @number
 * @right: aligned to the right
 */
struct cell {
	char *key;
	const char *title;
	const char *group;
	char *text;
	uint64_t number;
	bool is_text;
	bool is_bool;
	bool right;
};

struct row {
	struct cell *cells;
	size_t count;
};

/**
 * struct out - a list that is being made
 * @rows: its rows
 * @count: how many
 */
struct out {
	struct row *rows;
	size_t count;
};

void out_row(struct out *o);
void out_text(struct out *o, const char *key, const char *title, const char *text);
void out_number(struct out *o, const char *key, const char *title, uint64_t number);
void out_shown(struct out *o, const char *key, const char *title, uint64_t number,
	       const char *text);
void out_flag(struct out *o, const char *key, bool set);
void out_group(struct out *o, const char *group, const char *key, uint64_t number,
	       const char *text);
void out_blank(struct out *o, const char *title, bool right);
void out_reset(struct out *o);
void out_print(struct out *o, FILE *f, const struct opts *how);
void out_json_row(const struct row *row, FILE *f, int indent);
void json_string(FILE *f, const char *text);

/* --- gnictl_nl.c -------------------------------------------------------------- */

#define ANY_DEVICE	(~0U)

/* What an attribute of a question holds. */
enum extra_kind { EXTRA_U32, EXTRA_U64, EXTRA_FLAG, EXTRA_LIMIT, EXTRA_BYTES };

/**
 * struct extra - one more attribute of a question
 * @attr: KGNI_A_*; not looked at for limits, which become KGNI_A_RES
 * @kind: what it is
 * @number: the number, or the limit
 * @name: of what a limit is for
 * @bytes: the bytes
 * @len: how many
 */
struct extra {
	int attr;
	enum extra_kind kind;
	uint64_t number;
	const char *name;
	const void *bytes;
	size_t len;
};

#define EXTRAS_MAX	16

/**
 * struct request - a question
 * @cmd: KGNI_CMD_*
 * @dump: for all that there are
 * @dev: about this device, or ANY_DEVICE
 * @ptag: about this job, or 0
 * @pid: about this process, or 0
 * @force: with KGNI_A_FORCE
 * @code: with this KGNI_A_CODE, or 0
 * @extra: what else it says
 * @extras: how many these are
 */
struct request {
	uint8_t cmd;
	bool dump;
	uint32_t dev;
	uint32_t ptag;
	uint32_t pid;
	bool force;
	uint32_t code;
	struct extra extra[EXTRAS_MAX];
	unsigned int extras;
};

void add_u32(struct request *req, int attr, uint32_t number);
void add_u64(struct request *req, int attr, uint64_t number);
void add_flag(struct request *req, int attr);
void add_limit(struct request *req, const char *name, uint32_t number);
void add_bytes(struct request *req, int attr, const void *bytes, size_t len);

/* Is told of each message: what it is about, and its attributes. */
typedef void (*message_fn)(void *arg, uint8_t cmd, struct nlattr **attrs);

/**
 * struct answer - how a question went
 * @error: 0, or an errno
 * @why: what the kernel said to it, or ""
 * @changed: what was listed changed meanwhile
 */
struct answer {
	int error;
	char why[TEXT_MAX];
	bool changed;
};

bool driver_open(void);
void driver_close(void);
void ask(const struct request *req, message_fn fn, void *arg, struct answer *answer);
int listen_events(bool all, message_fn fn, void *arg);
bool listen_once(int timeout_ms);
bool has(struct nlattr **attrs, int attr);
uint32_t get_u32(struct nlattr **attrs, int attr);
uint64_t get_u64(struct nlattr **attrs, int attr);
const char *get_text(struct nlattr **attrs, int attr);

/* --- the commands ------------------------------------------------------------- */

/**
 * struct args - the arguments that are left
 * @v: the next one, NULL at the end
 */
struct args {
	char **v;
};

const char *next_arg(struct args *a);
int bad_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool next_is(struct args *a, const char *word);
bool no_more(const struct args *a, const char *command);
int ask_and_print(const struct request *req, const char *kind, const char *what);
int refused(const struct request *req, const struct answer *answer, const char *what);

/**
 * struct kind - a kind of objects that can be listed
 * @name: what its command is called
 * @get: KGNI_CMD_*
 * @row: makes the cells of a row
 * @by_job: can be asked for by job
 * @by_process: and by process
 * @root: users cannot list it
 */
struct kind {
	const char *name;
	uint8_t get;
	void (*row)(struct out *o, struct nlattr **attrs);
	bool by_job;
	bool by_process;
	bool root;
};

extern const struct kind kinds[];
const struct kind *kind_by_name(const char *name);
int parse_filter(const struct kind *kind, struct args *a, struct request *req);
int list_rows(const struct request *req, const char *what,
	      void (*row)(struct out *o, struct nlattr **attrs), struct out *o);
void get_stats(struct nlattr **attrs, uint64_t *stats);
int cmd_show(const char *name, struct args *a);
int cmd_dev(struct args *a);
int cmd_bi(struct args *a);
int cmd_job(struct args *a);
int cmd_ntt(struct args *a);
int cmd_stat(struct args *a);
int cmd_monitor(struct args *a);
int cmd_event(struct args *a);
int cmd_inject(struct args *a);
int cmd_top(struct args *a);
int cmd_dump(struct args *a);

#endif /* _TOOLS_GNICTL_H */
