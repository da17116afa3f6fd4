// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results as a picture: latency and bandwidth against size, a curve for each
 * operation, logarithmic both ways. Latencies are medians, with a band up to what
 * 99 % take.
 */

#include <math.h>
#include <string.h>
#include "gni_perf.h"

#define WIDTH	640.0
#define HEIGHT	360.0
#define LEFT	70.0
#define RIGHT	130.0
#define TOP	34.0
#define BOTTOM	46.0

static const char * const colours[] = {
	"#1b6ca8", "#c8553d", "#3a7d44", "#7b4f9e", "#b8860b", "#2a9d8f", "#8c564b", "#555555",
};

/**
 * struct panel - one of the diagrams
 * @measure: what it shows
 * @title: above it
 * @y: where its upper edge is
 * @x0: log2 of the least size
 * @x1: of the largest
 * @y0: log10 of the least value
 * @y1: of the largest
 */
struct panel {
	enum measure measure;
	const char *title;
	double y;
	double x0;
	double x1;
	double y0;
	double y1;
};

static double value(const struct row *r, double percent)
{
	if (r->measure == BW)
		return row_mb_per_s(r);
	return row_us(r, (double)hist_percentile(&r->sample.hist, percent));
}

static bool shown(const struct panel *pl, const struct row *r)
{
	return r->measure == pl->measure && r->size && value(r, 50) > 0;
}

/* The range of a panel: whole powers. Return: false if there is nothing to show. */
static bool panel_range(struct panel *pl, const struct row *rows, uint32_t n)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!shown(pl, &rows[i]))
			continue;
		pl->x0 = any ? fmin(pl->x0, log2((double)rows[i].size)) :
			       log2((double)rows[i].size);
		pl->x1 = any ? fmax(pl->x1, log2((double)rows[i].size)) : pl->x0;
		pl->y0 = any ? fmin(pl->y0, log10(value(&rows[i], 50))) :
			       log10(value(&rows[i], 50));
		pl->y1 = any ? fmax(pl->y1, log10(value(&rows[i], 99))) :
			       log10(value(&rows[i], 99));
		any = true;
	}
	pl->x0 = floor(pl->x0);
	pl->x1 = fmax(ceil(pl->x1), pl->x0 + 1);
	pl->y0 = floor(pl->y0);
	pl->y1 = fmax(ceil(pl->y1), pl->y0 + 1);
	return any;
}

static double at_x(const struct panel *pl, double log_size)
{
	return LEFT + (log_size - pl->x0) / (pl->x1 - pl->x0) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct panel *pl, double log_value)
{
	double part = (log_value - pl->y0) / (pl->y1 - pl->y0);

	return pl->y + HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void text(FILE *f, double x, double y, const char *anchor, const char *what)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
		what);
}

static void line(FILE *f, double x0, double y0, double x1, double y1)
{
	fprintf(f, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
		x0, y0, x1, y1);
}

static void grid(FILE *f, const struct panel *pl)
{
	double step = ceil((pl->x1 - pl->x0) / 10), k;
	char label[32];

	for (k = pl->x0; k <= pl->x1 + 0.01; k += step) {
		line(f, at_x(pl, k), at_y(pl, pl->y0), at_x(pl, k), at_y(pl, pl->y1));
		text(f, at_x(pl, k), at_y(pl, pl->y0) + 16, "middle",
		     fmt_size((uint64_t)exp2(k)));
	}
	for (k = pl->y0; k <= pl->y1 + 0.01; k++) {
		line(f, at_x(pl, pl->x0), at_y(pl, k), at_x(pl, pl->x1), at_y(pl, k));
		snprintf(label, sizeof(label), "%g", pow(10, k));
		text(f, LEFT - 6, at_y(pl, k) + 4, "end", label);
	}
	text(f, LEFT, pl->y + 20, "start", pl->title);
}

static void point(FILE *f, const struct panel *pl, const struct row *r, double percent)
{
	fprintf(f, "%.1f,%.1f ", at_x(pl, log2((double)r->size)),
		at_y(pl, log10(value(r, percent))));
}

/* There along the medians, and for latencies back along what 99 % do not exceed. */
static void curve(FILE *f, const struct panel *pl, const struct row *rows, uint32_t n,
		  const char *colour)
{
	uint32_t i;

	if (pl->measure == LAT) {
		fprintf(f, "<polygon fill=\"%s\" fill-opacity=\"0.15\" points=\"", colour);
		for (i = 0; i < n; i++)
			point(f, pl, &rows[i], 50);
		while (i--)
			point(f, pl, &rows[i], 99);
		fputs("\"/>\n", f);
	}
	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
	for (i = 0; i < n; i++)
		point(f, pl, &rows[i], 50);
	fputs("\"/>\n", f);
	for (i = 0; i < n; i++)
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n",
			at_x(pl, log2((double)rows[i].size)),
			at_y(pl, log10(value(&rows[i], 50))), colour);
}

/* Rows of one operation follow each other. */
static void panel_print(FILE *f, const struct panel *pl, const struct row *rows, uint32_t n)
{
	uint32_t i, end, curves = 0;

	grid(f, pl);
	for (i = 0; i < n; i = end) {
		const char *colour = colours[curves % ARRAY_SIZE(colours)];

		end = i + 1;
		if (!shown(pl, &rows[i]))
			continue;
		while (end < n && shown(pl, &rows[end]) && rows[end].op == rows[i].op)
			end++;
		curve(f, pl, rows + i, end - i, colour);
		fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
			WIDTH - RIGHT + 12, pl->y + TOP + 18 * ++curves, colour,
			rows[i].op->name);
	}
}

void plot_print(FILE *f, const struct row *rows, uint32_t n)
{
	struct panel panels[] = {
		{ .measure = LAT, .title = "latency, us: median, shaded up to 99 %" },
		{ .measure = BW, .title = "bandwidth, MB/s" },
	};
	unsigned int i, count = 0;

	for (i = 0; i < ARRAY_SIZE(panels); i++) {
		if (!panel_range(&panels[i], rows, n)) {
			panels[i].title = NULL;
			continue;
		}
		panels[i].y = HEIGHT * count++;
	}
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", WIDTH, HEIGHT * count);
	for (i = 0; i < ARRAY_SIZE(panels); i++)
		if (panels[i].title)
			panel_print(f, &panels[i], rows, n);
	fputs("</svg>\n", f);
}
