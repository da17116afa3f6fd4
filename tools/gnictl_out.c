// SPDX-License-Identifier: GPL-2.0-only
/*
 * gnictl: lists of rows, printed as a table with aligned columns, or as a JSON
 * array of objects. All rows of a list begin with the same cells.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "gnictl.h"

static void *must(void *p)
{
	if (!p) {
		fputs("gnictl: out of memory\n", stderr);
		exit(EX_REFUSED);
	}
	return p;
}

/* Begin a row: the functions that follow add cells to it. */
void out_row(struct out *o)
{
	o->rows = must(realloc(o->rows, (o->count + 1) * sizeof(*o->rows)));
	o->rows[o->count++] = (struct row){ 0 };
}

static struct cell *add(struct out *o, const char *key, const char *title, const char *text)
{
	struct row *row = &o->rows[o->count - 1];
	struct cell *c;

	row->cells = must(realloc(row->cells, (row->count + 1) * sizeof(*row->cells)));
	c = &row->cells[row->count++];
	*c = (struct cell){
		.key = key ? must(strdup(key)) : NULL,
		.title = title,
		.text = text ? must(strdup(text)) : NULL,
	};
	return c;
}

void out_text(struct out *o, const char *key, const char *title, const char *text)
{
	add(o, key, title, text)->is_text = true;
}

/* A number that people read in another way. */
void out_shown(struct out *o, const char *key, const char *title, uint64_t number,
	       const char *text)
{
	struct cell *c = add(o, key, title, text);

	c->number = number;
	c->right = true;
}

void out_number(struct out *o, const char *key, const char *title, uint64_t number)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRIu64, number);
	out_shown(o, key, title, number, buf);
}

void out_flag(struct out *o, const char *key, bool set)
{
	struct cell *c = add(o, key, NULL, set ? "yes" : "no");

	c->number = set;
	c->is_bool = true;
}

/*
 * A detail that belongs together with others of its group, which come in a row.
 * Without @text only JSON has it.
 */
void out_group(struct out *o, const char *group, const char *key, uint64_t number,
	       const char *text)
{
	struct cell *c = add(o, key, NULL, text);

	c->number = number;
	c->group = group;
}

/* Nothing, where other rows have a cell; JSON does not have it. */
void out_blank(struct out *o, const char *title, bool right)
{
	add(o, NULL, title, "-")->right = right;
}

/* Forget all rows. */
void out_reset(struct out *o)
{
	size_t i, j;

	for (i = 0; i < o->count; i++) {
		for (j = 0; j < o->rows[i].count; j++) {
			free(o->rows[i].cells[j].key);
			free(o->rows[i].cells[j].text);
		}
		free(o->rows[i].cells);
	}
	free(o->rows);
	*o = (struct out){ 0 };
}

/* --- JSON ------------------------------------------------------------------- */

/* How many bytes of a character that is well-formed UTF-8, 0 if it is not. */
static size_t utf8_length(const unsigned char *p)
{
	size_t i, n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 :
		      *p < 0xf5 ? 4 : 0;

	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Too long for what it means, half of a pair, or beyond the last one. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Processes choose their names: any bytes may come. */
void json_string(FILE *f, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	putc('"', f);
	while (*p) {
		n = utf8_length(p);
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(f, "\\u%04x", *p);
		else if (n)
			fwrite(p, 1, n, f);
		else
			fputs("\\ufffd", f);
		p += n ? n : 1;
	}
	putc('"', f);
}

static void json_line(FILE *f, int indent)
{
	if (indent >= 0)
		fprintf(f, "\n%*s", indent, "");
}

static void json_cell(const struct cell *c, FILE *f)
{
	json_string(f, c->key);
	putc(':', f);
	if (c->is_text)
		json_string(f, c->text);
	else if (c->is_bool)
		fputs(c->number ? "true" : "false", f);
	else
		fprintf(f, "%" PRIu64, c->number);
}

/* @indent: of the row, or -1 for all of it in one line. */
void out_json_row(const struct row *row, FILE *f, int indent)
{
	int in = indent < 0 ? -1 : indent + 2;
	const char *group = NULL;
	bool first = true;
	size_t i;

	putc('{', f);
	for (i = 0; i < row->count; i++) {
		const struct cell *c = &row->cells[i];

		if (!c->key)
			continue;
		if (group && group != c->group) {
			json_line(f, in);
			putc('}', f);
			first = false;
		}
		if (!first)
			putc(',', f);
		first = false;
		if (c->group && group != c->group) {
			json_line(f, in);
			json_string(f, c->group);
			fputs(":{", f);
		}
		group = c->group;
		json_line(f, group && in >= 0 ? in + 2 : in);
		json_cell(c, f);
	}
	if (group) {
		json_line(f, in);
		putc('}', f);
	}
	json_line(f, indent);
	putc('}', f);
}

static void print_json(const struct out *o, FILE *f, bool pretty)
{
	size_t i;

	putc('[', f);
	for (i = 0; i < o->count; i++) {
		if (i)
			putc(',', f);
		json_line(f, pretty ? 2 : -1);
		out_json_row(&o->rows[i], f, pretty ? 2 : -1);
	}
	json_line(f, pretty && o->count ? 0 : -1);
	fputs("]\n", f);
}

/* --- tables ----------------------------------------------------------------- */

/* A name of a process must not move the cursor. */
static void print_text(FILE *f, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n;

	for (; *p; p += n ? n : 1) {
		n = utf8_length(p);
		if (*p < 0x20 || *p == 0x7f || !n || (*p == 0xc2 && p[1] < 0xa0))
			putc('?', f);
		else
			fwrite(p, 1, n, f);
	}
}

/* Columns that it takes: one for each character. */
static int text_width(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int width = 0;
	size_t n;

	for (; *p; p += n ? n : 1) {
		n = utf8_length(p);
		width++;
	}
	return width;
}

static size_t columns(const struct row *row)
{
	size_t n = 0;

	while (n < row->count && row->cells[n].title)
		n++;
	return n;
}

static int column_width(const struct out *o, size_t column)
{
	int width = text_width(o->rows[0].cells[column].title);
	size_t i;

	for (i = 0; i < o->count; i++) {
		int w = text_width(o->rows[i].cells[column].text);

		width = w > width ? w : width;
	}
	return width;
}

static void print_cell(FILE *f, const char *text, bool right, int width, bool last)
{
	int pad = width - text_width(text);

	if (right)
		fprintf(f, "%*s", pad, "");
	print_text(f, text);
	if (!last)
		fprintf(f, "%*s", (right ? 0 : pad) + 2, "");
}

static void print_row(const struct row *row, FILE *f, bool titles, const int *width, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct cell *c = &row->cells[i];

		print_cell(f, titles ? c->title : c->text, c->right, width[i], i == n - 1);
	}
	putc('\n', f);
}

/* What has no column: a line for each group, and one for each other cell. */
static void print_details(const struct row *row, FILE *f, size_t n)
{
	const char *group = NULL;
	bool any = false;
	size_t i;

	for (i = n; i < row->count; i++) {
		const struct cell *c = &row->cells[i];

		if (!c->key || !c->text)
			continue;
		if (!c->group || c->group != group)
			fprintf(f, "%s    %s", any ? "\n" : "", c->group ? c->group : c->key);
		if (c->group)
			fprintf(f, "%s %s ", c->group == group ? "," : ":", c->key);
		else
			fputs(": ", f);
		print_text(f, c->text);
		group = c->group;
		any = true;
	}
	if (any)
		putc('\n', f);
}

static void print_table(const struct out *o, FILE *f, bool details)
{
	size_t i, n;
	int *width;

	if (!o->count)
		return;
	n = columns(&o->rows[0]);
	width = must(calloc(n, sizeof(*width)));
	for (i = 0; i < n; i++)
		width[i] = column_width(o, i);
	print_row(&o->rows[0], f, true, width, n);
	for (i = 0; i < o->count; i++) {
		print_row(&o->rows[i], f, false, width, n);
		if (details)
			print_details(&o->rows[i], f, n);
	}
	free(width);
}

/* Print all rows: nothing, or an empty array, if there are none. */
void out_print(struct out *o, FILE *f, const struct opts *how)
{
	if (how->json)
		print_json(o, f, how->pretty);
	else
		print_table(o, f, how->details);
}
