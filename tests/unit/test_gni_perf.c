// SPDX-License-Identifier: GPL-2.0-only
/* gni_perf: histograms, percentiles, CSV, and pictures. */
#include <stdlib.h>
#include <string.h>
#include "unit.h"

#include "../../tools/gni_perf_clock.c"
#include "../../tools/gni_perf_out.c"
#include "../../tools/gni_perf_plot.c"

/* Of tools/common.c, which needs the library. */
uint64_t now_ns(void)
{
	return 0;
}

const char *fmt_size(uint64_t bytes)
{
	static char buf[8][32];
	static int next;

	snprintf(buf[++next % 8], sizeof(buf[0]), "%llu B", (unsigned long long)bytes);
	return buf[next % 8];
}

static struct hist h, other;

static void clear(void)
{
	memset(&h, 0, sizeof(h));
	memset(&other, 0, sizeof(other));
}

/* Buckets follow each other, and each value is in the one that says so. */
static void test_buckets(void **state)
{
	unsigned int i, k;

	(void)state;
	for (i = 0; i + 1 < HIST_BUCKETS; i++) {
		uint64_t start = hist_bucket_start(i), next = hist_bucket_start(i + 1);

		assert_true(start < next);
		assert_int_equal(hist_index(start), i);
		assert_int_equal(hist_index(next - 1), i);
		if (i >= HIST_STEPS)
			assert_true((next - start) * HIST_STEPS <= start);
	}
	for (k = 0; k < 64; k++)
		assert_true(hist_index(1ULL << k) < HIST_BUCKETS);
	assert_int_equal(hist_index(UINT64_MAX), HIST_BUCKETS - 1);
}

static void test_percentiles(void **state)
{
	uint64_t v;

	(void)state;
	clear();
	assert_int_equal(hist_percentile(&h, 50), 0);
	hist_add(&h, 12345);
	assert_int_equal(hist_percentile(&h, 0), 12345);
	assert_int_equal(hist_percentile(&h, 50), 12345);
	assert_int_equal(hist_percentile(&h, 100), 12345);
	clear();
	for (v = 1; v <= 1000; v++)
		hist_add(&h, v * 1000);
	assert_int_equal(h.count, 1000);
	assert_int_equal(h.sum, 500500000);
	assert_int_equal(h.min, 1000);
	assert_int_equal(h.max, 1000000);
	assert_in_range(hist_percentile(&h, 50), 490000, 510000);
	assert_in_range(hist_percentile(&h, 90), 885000, 915000);
	assert_in_range(hist_percentile(&h, 99.9), 980000, 1000000);
	assert_int_equal(hist_percentile(&h, 100), 1000000);
}

/* Small values have buckets of their own. */
static void test_exact(void **state)
{
	uint64_t v;

	(void)state;
	clear();
	for (v = 0; v < 100; v++)
		hist_add(&h, v);
	for (v = 1; v <= 100; v++)
		assert_int_equal(hist_percentile(&h, (double)v), v - 1);
}

static void test_merge(void **state)
{
	(void)state;
	clear();
	hist_merge(&h, &other);
	assert_int_equal(h.count, 0);
	hist_add(&other, 50);
	hist_add(&other, 70);
	hist_merge(&h, &other);
	assert_int_equal(h.min, 50);
	hist_add(&h, 10);
	hist_merge(&h, &other);
	assert_int_equal(h.count, 5);
	assert_int_equal(h.sum, 250);
	assert_int_equal(h.min, 10);
	assert_int_equal(h.max, 70);
	assert_int_equal(h.bucket[50], 2);
}

static const struct op put = { .name = "put", .two_way = true };
static const struct op get = { .name = "get" };

static struct row row(const struct op *op, enum measure m, uint64_t size, uint64_t ticks)
{
	static struct row r;

	r = (struct row){ .op = op, .measure = m, .size = size, .pairs = 1, .seconds = 2 };
	r.sample.ops = 1000;
	if (m == LAT)
		hist_add(&r.sample.hist, ticks);
	return r;
}

static bool near(double a, double b)
{
	return fabs(a / b - 1) < 0.000001;
}

static void test_units(void **state)
{
	struct row there_and_back = row(&put, LAT, 8, 4000), there = row(&get, LAT, 8, 4000);
	struct row bw = row(&put, BW, 1000000, 0);

	(void)state;
	assert_true(near(row_us(&there_and_back, 4000), 2));
	assert_true(near(row_us(&there, 4000), 4));
	assert_true(near(row_per_s(&bw), 500));
	assert_true(near(row_mb_per_s(&bw), 500));
}

static void test_overlap(void **state)
{
	struct row r = row(&put, OVERLAP, 1 << 20, 0);

	(void)state;
	r.sample.transfer = 100;
	r.sample.compute = 100;
	r.sample.during = 105;
	r.sample.total = 110;
	assert_true(near(slowdown(&r), 5));
	assert_true(near(overlapped(&r), 90));
	r.sample.total = 250;
	assert_true(!overlapped(&r));
	r.sample.total = 90;
	assert_true(near(overlapped(&r), 100));
}

static const char *printed(void (*print)(FILE *f, const struct row *rows, uint32_t n),
			   const struct row *rows, uint32_t n)
{
	static char buf[32768];
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	assert_non_null(f);
	print(f, rows, n);
	assert_int_equal(fclose(f), 0);
	return buf;
}

static void test_csv(void **state)
{
	static const char head[] = "operation,measure,size,pairs,operations,seconds,mb_per_s,";
	struct row rows[2] = { row(&put, BW, 4096, 0), row(&get, LAT, 8, 3000) };
	const char *csv;

	(void)state;
	csv = printed(csv_print, rows, 2);
	assert_int_equal(strncmp(csv, head, strlen(head)), 0);
	assert_string_equal(strchr(csv, '\n') + 1,
			    "put,bw,4096,1,1000,2,2.048,500,,,,,,,,,,,,,\n"
			    "get,lat,8,1,1000,2,0.004,500,3,3,3,3,3,3,3,,,,,,\n");
}

static int count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text++;
		n++;
	}
	return n;
}

static void test_plot(void **state)
{
	struct row rows[] = {
		row(&put, LAT, 8, 4000), row(&put, LAT, 4096, 9000), row(&get, LAT, 8, 5000),
		row(&put, RATE, 8, 0), row(&put, BW, 8, 0),
	};
	const char *svg = printed(plot_print, rows, ARRAY_SIZE(rows));

	(void)state;
	assert_int_equal(count(svg, "<polyline"), 3);
	assert_int_equal(count(svg, "<circle"), 4);
	assert_int_equal(count(svg, ">put<"), 2);
	assert_int_equal(count(svg, "height=\"720\""), 1);
	assert_int_equal(count(svg, "nan") + count(svg, "inf"), 0);
	svg = printed(plot_print, rows, 3);
	assert_int_equal(count(svg, "height=\"360\""), 1);
	svg = printed(plot_print, rows, 0);
	assert_int_equal(count(svg, "<poly"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_plot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
