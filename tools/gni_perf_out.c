// SPDX-License-Identifier: GPL-2.0-only
/* Results as tables, CSV and JSON. */

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "gni_perf.h"

static const double percentiles[] = { 50, 90, 99, 99.9, 100 };

const char *measure_name(enum measure m)
{
	switch (m) {
	case LAT:
		return "lat";
	case BW:
		return "bw";
	case RATE:
		return "rate";
	default:
		return "overlap";
	}
}

/* A time that a result has in ticks: that of one way. */
double row_us(const struct row *r, double ticks)
{
	return clock_ns(ticks) / 1e3 / (r->op->two_way && r->measure == LAT ? 2 : 1);
}

double row_per_s(const struct row *r)
{
	return r->seconds > 0 ? (double)r->sample.ops / r->seconds : 0;
}

double row_mb_per_s(const struct row *r)
{
	return row_per_s(r) * (double)r->size / 1e6;
}

static double mean_us(const struct row *r)
{
	const struct hist *h = &r->sample.hist;

	return h->count ? row_us(r, (double)h->sum / (double)h->count) : 0;
}

static double percentile_us(const struct row *r, double percent)
{
	return row_us(r, (double)hist_percentile(&r->sample.hist, percent));
}

/* How much longer the computation takes during a transfer. */
static double slowdown(const struct row *r)
{
	const struct sample *s = &r->sample;

	return s->compute > 0 ? 100 * (s->during / s->compute - 1) : 0;
}

/* How much of the transfer cost no time of its own. */
static double overlapped(const struct row *r)
{
	const struct sample *s = &r->sample;
	double both = s->transfer + s->compute - s->total;

	if (both <= 0 || s->transfer <= 0)
		return 0;
	return 100 * fmin(1, both / fmin(s->transfer, s->compute));
}

/* --- table ------------------------------------------------------------------- */

static void print_title(FILE *f, const struct config *cfg, const struct row *r)
{
	static const struct {
		enum measure m;
		const char *text;
	} titles[] = {
		{ LAT, "latency" }, { BW, "bandwidth" }, { RATE, "rate" },
		{ OVERLAP, "overlap with a computation" },
	};
	size_t i;

	for (i = 0; titles[i].m != r->measure; i++)
		;
	fprintf(f, "# %s: %s%s, kgni%u -> kgni%u, %u pair%s", r->op->what, titles[i].text,
		r->op->two_way && r->measure == LAT ? " one way" : "", cfg->nic.device,
		cfg->peer_device, r->pairs, r->pairs == 1 ? "" : "s");
	for (i = 0; cfg->pin && i < cfg->cpus && i < 2 * cfg->pairs; i++)
		fprintf(f, "%s%u", i ? "," : ", CPUs ", cfg->cpu[i]);
	fputc('\n', f);
}

static void print_head(FILE *f, const struct row *r)
{
	switch (r->measure) {
	case LAT:
		fprintf(f, "%10s %10s %9s %9s %9s %9s %9s %9s %9s  us\n", "bytes", "times",
			"least", "mean", "50%", "90%", "99%", "99.9%", "most");
		break;
	case OVERLAP:
		fprintf(f, "%10s %10s %11s %11s %11s %11s  us %9s %9s\n", "bytes", "times",
			"transfer", "compute", "both", "comp. then", "slower %", "overlap %");
		break;
	default:
		fprintf(f, "%10s %10s %11s %12s %11s\n", "bytes", "times", "MB/s", "per second",
			"us each");
	}
}

static void print_row(FILE *f, const struct row *r)
{
	const struct sample *s = &r->sample;
	size_t i;

	fprintf(f, "%10" PRIu64 " %10" PRIu64, r->size, s->ops);
	switch (r->measure) {
	case LAT:
		fprintf(f, " %9.2f %9.2f", row_us(r, (double)s->hist.min), mean_us(r));
		for (i = 0; i < ARRAY_SIZE(percentiles); i++)
			fprintf(f, " %9.2f", percentile_us(r, percentiles[i]));
		break;
	case OVERLAP:
		fprintf(f, " %11.2f %11.2f %11.2f %11.2f     %9.1f %9.1f", row_us(r, s->transfer),
			row_us(r, s->compute), row_us(r, s->total), row_us(r, s->during),
			slowdown(r), overlapped(r));
		break;
	default:
		fprintf(f, " %11.1f %12.0f %11.3f", row_mb_per_s(r), row_per_s(r),
			row_per_s(r) > 0 ? 1e6 / row_per_s(r) : 0);
	}
	fputc('\n', f);
}

/* Buckets of a table, a quarter of a power of two each. */
#define COARSE	(HIST_STEPS / 4)

static void print_histogram(FILE *f, const struct row *r)
{
	static const char bar[] = "##################################################";
	uint64_t sum[HIST_BUCKETS / COARSE] = { 0 }, most = 1;
	const struct hist *h = &r->sample.hist;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++)
		sum[i / COARSE] += h->bucket[i];
	for (i = 0; i < ARRAY_SIZE(sum); i++)
		most = sum[i] > most ? sum[i] : most;
	for (i = 0; i < ARRAY_SIZE(sum); i++)
		if (sum[i])
			fprintf(f, "#  %11.3f us %10" PRIu64 " %.*s\n",
				row_us(r, (double)hist_bucket_start(i * COARSE)), sum[i],
				(int)(sum[i] * (sizeof(bar) - 1) / most), bar);
}

void table_print(FILE *f, const struct config *cfg, const struct row *rows, uint32_t n,
		 bool histogram)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!i || rows[i].op != rows[i - 1].op || rows[i].measure != rows[i - 1].measure) {
			print_title(f, cfg, &rows[i]);
			print_head(f, &rows[i]);
		}
		print_row(f, &rows[i]);
		if (histogram)
			print_histogram(f, &rows[i]);
	}
}

/* --- CSV and JSON -------------------------------------------------------------- */

/* What a row consists of: one list for both. */
#define FIELDS		18

struct field {
	const char *name;
	bool there;
	double value;
};

static void fields(const struct row *r, struct field *out)
{
	const struct sample *s = &r->sample;
	bool many = r->measure != OVERLAP, times = s->hist.count, both = !many;
	const struct field all[FIELDS] = {
		{ "seconds", many, r->seconds },
		{ "mb_per_s", many && r->size, row_mb_per_s(r) },
		{ "per_s", many, row_per_s(r) },
		{ "min_us", times, row_us(r, (double)s->hist.min) },
		{ "mean_us", times, mean_us(r) },
		{ "p50_us", times, percentile_us(r, 50) },
		{ "p90_us", times, percentile_us(r, 90) },
		{ "p99_us", times, percentile_us(r, 99) },
		{ "p999_us", times, percentile_us(r, 99.9) },
		{ "max_us", times, percentile_us(r, 100) },
		{ "transfer_us", both, row_us(r, s->transfer) },
		{ "compute_us", both, row_us(r, s->compute) },
		{ "both_us", both, row_us(r, s->total) },
		{ "compute_then_us", both, row_us(r, s->during) },
		{ "slower_percent", both, slowdown(r) },
		{ "overlap_percent", both, overlapped(r) },
	};

	memcpy(out, all, sizeof(all));
}

void csv_print(FILE *f, const struct row *rows, uint32_t n)
{
	struct field field[FIELDS];
	uint32_t i;
	size_t k;

	for (i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		fields(r, field);
		if (!i) {
			fputs("operation,measure,size,pairs,operations", f);
			for (k = 0; field[k].name; k++)
				fprintf(f, ",%s", field[k].name);
			fputc('\n', f);
		}
		fprintf(f, "%s,%s,%" PRIu64 ",%u,%" PRIu64, r->op->name, measure_name(r->measure),
			r->size, r->pairs, r->sample.ops);
		for (k = 0; field[k].name; k++)
			if (field[k].there)
				fprintf(f, ",%.6g", field[k].value);
			else
				fputc(',', f);
		fputc('\n', f);
	}
}

static void json_histogram(FILE *f, const struct row *r)
{
	const struct hist *h = &r->sample.hist;
	bool first = true;
	unsigned int i;

	fputs(",\n      \"histogram\": [", f);
	for (i = 0; i < HIST_BUCKETS; i++) {
		if (!h->bucket[i])
			continue;
		fprintf(f, "%s\n        { \"from_us\": %.6g, \"to_us\": %.6g, \"count\": %" PRIu64
			" }", first ? "" : ",", row_us(r, (double)hist_bucket_start(i)),
			row_us(r, (double)hist_bucket_start(i + 1)), h->bucket[i]);
		first = false;
	}
	fputs("\n      ]", f);
}

static void json_row(FILE *f, const struct row *r, bool histogram)
{
	struct field field[FIELDS];
	size_t k;

	fprintf(f, "    { \"operation\": \"%s\", \"measure\": \"%s\", \"size\": %" PRIu64
		", \"operations\": %" PRIu64, r->op->name, measure_name(r->measure), r->size,
		r->sample.ops);
	fields(r, field);
	for (k = 0; field[k].name; k++)
		if (field[k].there)
			fprintf(f, ",\n      \"%s\": %.6g", field[k].name, field[k].value);
	if (histogram && r->sample.hist.count)
		json_histogram(f, r);
	fputs(" }", f);
}

void json_print(FILE *f, const struct config *cfg, const struct row *rows, uint32_t n,
		bool histogram)
{
	uint32_t i;

	fprintf(f, "{ \"version\": \"%s\", \"device\": %u, \"peer_device\": %u, \"pairs\": %u,\n"
		"  \"window\": %u, \"endpoints\": %u, \"registrations\": %u,\n  \"cpus\": [",
		KGNI_VERSION, cfg->nic.device, cfg->peer_device, cfg->pairs, cfg->window,
		cfg->endpoints, cfg->regions);
	for (i = 0; cfg->pin && i < cfg->cpus && i < 2 * cfg->pairs; i++)
		fprintf(f, "%s %u", i ? "," : "", cfg->cpu[i]);
	fputs(" ],\n  \"results\": [\n", f);
	for (i = 0; i < n; i++) {
		json_row(f, &rows[i], histogram);
		fputs(i + 1 < n ? ",\n" : "\n", f);
	}
	fputs("  ]\n}\n", f);
}
