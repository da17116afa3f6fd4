// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: all there is to know, in one file to attach to a report. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "gnictl.h"

/* Of the kernel's log, the end. */
#define LOG_MAX		(1 << 20)
#define READ_ALL	3	/* SYSLOG_ACTION_READ_ALL */

static void member(FILE *f, const char *key, const char *text)
{
	json_string(f, key);
	fputs(":", f);
	json_string(f, text);
	fputs(",\n", f);
}

static void dump_system(FILE *f)
{
	struct utsname u;
	char text[512];
	time_t now = time(NULL);
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", localtime_r(&now, &tm));
	member(f, "time", text);
	member(f, "gnictl", KGNI_VERSION);
	if (!uname(&u)) {
		snprintf(text, sizeof(text), "%s %s %s %s", u.sysname, u.release, u.version,
			 u.machine);
		member(f, "kernel", text);
	}
	snprintf(text, sizeof(text), "%u", (unsigned int)geteuid());
	member(f, "uid", text);
}

/* The first line of a small file. */
static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool good = f && fgets(buf, (int)size, f);

	if (f)
		fclose(f);
	if (good)
		buf[strcspn(buf, "\n")] = '\0';
	return good;
}

/* What stands in sysfs about the module and the devices. */
static void dump_files(FILE *f)
{
	static const char * const patterns[] = {
		"/sys/module/kgni/version", "/sys/module/kgni/srcversion",
		"/sys/module/kgni/refcnt", "/sys/module/kgni/taint",
		"/sys/module/kgni/parameters/*", "/sys/class/gni/kgni*/*",
		"/sys/class/gni/kgni*/refused/*",
	};
	char line[256];
	size_t i, j, n = 0;

	fputs("\"files\":{", f);
	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		glob_t g;

		if (glob(patterns[i], GLOB_MARK, NULL, &g))
			continue;
		for (j = 0; j < g.gl_pathc; j++) {
			const char *path = g.gl_pathv[j];

			if (path[strlen(path) - 1] == '/' || !read_line(path, line, sizeof(line)))
				continue;
			fputs(n++ ? ",\n  " : "\n  ", f);
			json_string(f, path);
			fputs(":", f);
			json_string(f, line);
		}
		globfree(&g);
	}
	fputs("},\n", f);
}

/* What the driver wrote to the kernel's log, as far as it may be read. */
static void dump_log(FILE *f)
{
	char *line, *rest, *buf = calloc(1, LOG_MAX + 1);
	int len = buf ? klogctl(READ_ALL, buf, LOG_MAX) : -1;
	size_t n = 0;

	fputs("\"log\":[", f);
	if (len > 0)
		buf[len] = '\0';
	for (line = len > 0 ? strtok_r(buf, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!strstr(line, "kgni"))
			continue;
		fputs(n++ ? ",\n  " : "\n  ", f);
		json_string(f, line);
	}
	fputs("]", f);
	free(buf);
}

static int dump_lists(FILE *f)
{
	const struct opts how = { .json = true, .pretty = true };
	const struct kind *k;
	struct out o = { 0 };
	int rc = EX_OK;

	for (k = kinds; k->name && !rc; k++) {
		struct request req = { .cmd = k->get, .dump = true, .dev = ANY_DEVICE };

		if (k->root && geteuid())
			continue;
		rc = list_rows(&req, "dump", k->row, &o);
		json_string(f, k->name);
		fputs(":", f);
		out_print(&o, f, &how);
		fputs(",", f);
		out_reset(&o);
	}
	return rc;
}

static int dump_to(FILE *f)
{
	int rc;

	fputs("{", f);
	dump_system(f);
	dump_files(f);
	rc = dump_lists(f);
	dump_log(f);
	fputs("}\n", f);
	return rc;
}

/* Names of processes are nobody else's business. */
static FILE *create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}

/* "dump [FILE]" */
int cmd_dump(struct args *a)
{
	const char *path = next_arg(a);
	FILE *f = stdout;
	bool bad;
	int rc;

	if (*a->v)
		return bad_usage("'%s' is more than 'gnictl dump' takes", *a->v);
	if (!driver_open())
		return EX_REFUSED;
	if (path && strcmp(path, "-"))
		f = create(path);
	if (!f) {
		complain("%s: %s", path, strerror(errno));
		return EX_REFUSED;
	}
	rc = dump_to(f);
	if (f == stdout)
		return rc;
	bad = ferror(f);
	if (fclose(f) || bad) {
		complain("%s: %s", path, strerror(errno));
		return EX_REFUSED;
	}
	return rc;
}
