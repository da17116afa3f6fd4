// SPDX-License-Identifier: GPL-2.0-only
/* A clock that costs little to read, and histograms of what it measured. */

#include <stdio.h>
#include <string.h>
#include "gni_perf.h"

#define CALIBRATE_NS	(20 * NS_PER_MS)

static double ns_per_tick = 1;
bool clock_tsc;

/* The kernel tells whether the time stamp counter can be trusted: it uses it itself. */
static bool tsc_is_good(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[16] = "";
	bool good;

	if (!f)
		return false;
	good = fgets(name, sizeof(name), f) && !strcmp(name, "tsc\n");
	fclose(f);
	return good;
}

/* Find out what a tick is. Before processes are started. */
void clock_init(void)
{
	uint64_t start, ticks;

#if defined(__x86_64__)
	clock_tsc = tsc_is_good();
#endif
	if (!clock_tsc)
		return;
	start = now_ns();
	ticks = clock_ticks();
	while (now_ns() - start < CALIBRATE_NS)
		;
	ns_per_tick = (double)(now_ns() - start) / (double)(clock_ticks() - ticks);
}

double clock_ns(double ticks)
{
	return ticks * ns_per_tick;
}

uint64_t clock_from_ns(uint64_t ns)
{
	return (uint64_t)((double)ns / ns_per_tick);
}

/* The least value of bucket @i; that of the next one is where it ends. */
uint64_t hist_bucket_start(unsigned int i)
{
	if (i < 2 * HIST_STEPS)
		return i;
	return (uint64_t)(HIST_STEPS + i % HIST_STEPS) << (i / HIST_STEPS - 1);
}

void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

/* The value that @percent of all do not exceed: the middle of its bucket. */
uint64_t hist_percentile(const struct hist *h, double percent)
{
	double want = (double)h->count * percent / 100;
	uint64_t seen = 0, value;
	unsigned int i;

	if (percent >= 100)
		return h->max;
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen && (double)seen >= want)
			break;
	}
	value = (hist_bucket_start(i) + hist_bucket_start(i + 1) - 1) / 2;
	if (value < h->min)
		return h->min;
	return value < h->max ? value : h->max;
}
