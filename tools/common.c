// SPDX-License-Identifier: GPL-2.0-only
/* Faults, numbers, progress and signals. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common.h"

atomic_int interrupted;

/**
 * fault_set - say what went wrong
 * @f: where; a fault that is already there stays, since it came first
 * @status: exit status
 * @fmt: message, as for printf
 *
 * Return: the status of the fault.
 */
int fault_set(struct fault *f, int status, const char *fmt, ...)
{
	va_list ap;

	if (f->status)
		return f->status;
	f->status = status;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return status;
}

/* Tells the user, if there is something to tell. Return: the exit status. */
int fault_report(const struct fault *f)
{
	if (f->status)
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, f->text);
	return f->status;
}

const char *rc_name(gni_return_t rc)
{
	return rc <= GNI_RC_ERROR_NOMEM ? gni_err_str[rc] : "unknown return code";
}

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* SIGINT, SIGTERM and SIGHUP end waits, so that things are cleaned up. */
void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static bool parse_number(const char *text, uint64_t max, char **end, uint64_t *value)
{
	errno = 0;
	*value = strtoull(text, end, 0);
	return *end != text && *text != '-' && !errno && *value <= max;
}

bool parse_u32(const char *text, uint32_t *value)
{
	uint64_t v;
	char *end;

	if (!parse_number(text, UINT32_MAX, &end, &v) || *end)
		return false;
	*value = (uint32_t)v;
	return true;
}

/* A number of bytes, with K, M or G after it for powers of 1024. */
bool parse_size(const char *text, uint64_t *value)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	if (!parse_number(text, UINT64_MAX >> 30, &end, value))
		return false;
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit) {
		*value <<= 10 * (unit - units + 1);
		end++;
	}
	return !*end;
}

/* One of a few buffers, so that several numbers fit into one printf. */
static char *number_buf(size_t *size)
{
	static __thread char bufs[8][32];
	static __thread unsigned int next;

	*size = sizeof(bufs[0]);
	return bufs[next++ % ARRAY_SIZE(bufs)];
}

/* 1234567 as 1,234,567. */
const char *fmt_count(uint64_t n)
{
	char digits[24];
	size_t size, len, i, out = 0;
	char *buf = number_buf(&size);

	len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (i = 0; i < len && out + 2 < size; i++) {
		if (i && (len - i) % 3 == 0)
			buf[out++] = ',';
		buf[out++] = digits[i];
	}
	buf[out] = '\0';
	return buf;
}

/* A size as the user gave it: 131072 as 128 KiB. */
const char *fmt_size(uint64_t bytes)
{
	static const char * const unit[] = { "B", "KiB", "MiB", "GiB" };
	size_t size, i = 0;
	char *buf = number_buf(&size);

	while (i + 1 < ARRAY_SIZE(unit) && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, size, "%" PRIu64 " %s", bytes, unit[i]);
	return buf;
}

/* Megabytes, of a million bytes, a second. */
double mb_per_s(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e3 / (double)ns : 0;
}

/* --- progress ------------------------------------------------------------- */

#define METER_TTY_NS	(100 * NS_PER_MS)
#define METER_LOG_NS	NS_PER_S

void meter_start(struct meter *m, const char *label, uint64_t total, bool quiet)
{
	*m = (struct meter){
		.label = label, .total = total, .quiet = quiet,
		.start = now_ns(), .tty = isatty(STDERR_FILENO),
	};
	m->shown = m->start;
}

static void meter_show(struct meter *m, uint64_t done)
{
	uint64_t percent = m->total ? done * 100 / m->total : 100;

	m->shown = now_ns();
	fprintf(stderr, "%s%s  %s of %s bytes  %3" PRIu64 "%%  %.1f MB/s%s", m->tty ? "\r" : "",
		m->label, fmt_count(done), fmt_count(m->total), percent,
		mb_per_s(done, m->shown - m->start), m->tty ? "\033[K" : "\n");
	fflush(stderr);
}

/* @done bytes were moved: shown ten times a second, or once if it's no terminal. */
void meter_update(struct meter *m, uint64_t done)
{
	if (!m->quiet && now_ns() - m->shown >= (m->tty ? METER_TTY_NS : METER_LOG_NS))
		meter_show(m, done);
}

/* The last line; nothing may follow on it. */
void meter_end(struct meter *m, uint64_t done)
{
	if (m->quiet)
		return;
	meter_show(m, done);
	if (m->tty)
		fputc('\n', stderr);
}
