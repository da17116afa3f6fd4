// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of attempts: see common_matrix.h.
 */
#include "common_matrix.h"

struct trial trial;
struct totals *totals;

const char *code_name(int code)
{
	static const char *const statuses[] = {
		"OK", "MDD_INVALID", "BOUNDS", "PROTECTION", "ADDRESS", "UNREACHABLE", "ABORTED",
		"PRODUCER_DIED", "NO_CQ", "REM_OVERRUN", "LINK", "NO_CE", "CE_MEMBER", "CE_DIFFER",
	};
	static char text[2][48];
	static int turn;
	char *t = text[turn++ & 1];

	if (code < 0)
		return strerrorname_np(-code) ? strerrorname_np(-code) : "(unknown errno)";
	if (code < EVENT(0))
		return rc_name(code);
	if (code < DGRAM(0) && (size_t)(code - EVENT(0)) < ARRAY_SIZE(statuses)) {
		snprintf(t, sizeof(text[0]), "event %s", statuses[code - EVENT(0)]);
		return t;
	}
	switch (code) {
	case DGRAM(GNI_POST_PENDING):
		return "stays pending";
	case DGRAM(GNI_POST_COMPLETED):
		return "matched";
	case HAS_READ:
		return "HAS READ IT";
	case UNREAD:
		return "read nothing";
	case NO_CODE:
		return "not tried";
	}
	snprintf(t, sizeof(text[0]), "(code %#x)", code);
	return t;
}

static const char *changes_name(unsigned int changes)
{
	static char text[64];

	if (!changes)
		return "untouched";
	snprintf(text, sizeof(text), "CHANGED:%s%s%s%s",
		 changes & CHANGED_MEMORY ? " memory" : "",
		 changes & CHANGED_RINGS ? " rings" : "",
		 changes & CHANGED_DGRAMS ? " datagrams" : "",
		 changes & CHANGED_COUNTS ? " counts" : "");
	return text;
}

void row_begin(int want)
{
	trial = (struct trial){ .want = want, .got = NO_CODE };
}

void note(int code)
{
	trial.attempts++;
	trial.refused += code != GNI_RC_SUCCESS && code == trial.want;
	if (trial.got == NO_CODE || trial.got == trial.want)
		trial.got = code;
}

void print_head(const char *who)
{
	diag(" ");
	diag("%-39s | %-23s | %8s | %-19s | %-19s | victim", "attempt", who, "attempts", "code",
	     "expected");
}

static void print_row(const char *what, const char *who, unsigned int changes)
{
	diag("%-39s | %-23s | %8u | %-19s | %-19s | %s", what, who, trial.attempts,
	     code_name(trial.got), code_name(trial.want), changes_name(changes));
	ok(trial.got == trial.want, "%s by %s: %s, not %s", what, who, code_name(trial.got),
	   code_name(trial.want));
}

static uint64_t counter(unsigned int device, const char *name)
{
	unsigned long long value = 0;
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/gni/kgni%u/refused/%s", device, name);
	f = fopen(path, "r");
	must(f && fscanf(f, "%llu", &value) == 1, "%s", path);
	fclose(f);
	return value;
}

void read_refusals(uint64_t count[REFUSAL_KINDS])
{
	static const char *const names[REFUSAL_KINDS] = {
		[BY_ATTACH] = "attach", [BY_MEMORY] = "memory", [BY_QUEUE] = "queue",
		[BY_DGRAM] = "datagram", [BY_CHANNEL] = "channel",
	};
	static unsigned int devices;
	unsigned int device, i;

	/* To count them takes longer than many a row. */
	if (!devices)
		devices = device_count();
	count[UNCOUNTED] = 0;
	for (i = UNCOUNTED + 1; i < REFUSAL_KINDS; i++) {
		count[i] = 0;
		for (device = 0; device < devices; device++)
			count[i] += counter(device, names[i]);
	}
}

void check_refusals(const struct row *row, const uint64_t before[REFUSAL_KINDS])
{
	uint64_t now[REFUSAL_KINDS];
	unsigned int i;

	read_refusals(now);
	for (i = UNCOUNTED + 1; i < REFUSAL_KINDS; i++) {
		is_u64(now[i] - before[i], i == row->counted ? trial.refused + trial.unseen : 0,
		       "%s: counted, as %u", row->what, i);
		totals->counted += now[i] - before[i];
	}
}

void refused_row(const struct row *row, const char *who, unsigned int changes)
{
	print_row(row->what, who, changes);
	ok(!changes, "%s by %s: %s", row->what, who, changes_name(changes));
	totals->rows++;
	totals->attempts += trial.attempts;
	totals->refused += trial.refused;
	if (trial.want == GNI_RC_SUCCESS)
		totals->harmless += trial.attempts;
}

void allowed_row(const struct row *row, const char *who, unsigned int changes, bool harms)
{
	print_row(row->what, who, changes);
	ok(changes || !harms, "%s by %s: the victim has not noticed", row->what, who);
	totals->controls++;
}

void totals_begin(void)
{
	totals = map_shared(sizeof(*totals));
}

void totals_check(unsigned int rows, unsigned int controls)
{
	is_u64(totals->rows, rows);
	is_u64(totals->controls, controls);
	is_u64(totals->refused + totals->harmless, totals->attempts);
	diag("%u rows, %u attempts: %u refused, %u harmless; %u rows by those who may",
	     totals->rows, totals->attempts, totals->refused, totals->harmless,
	     totals->controls);
	diag("%u refusals counted by the driver", totals->counted);
}
