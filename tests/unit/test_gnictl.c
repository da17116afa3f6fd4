// SPDX-License-Identifier: GPL-2.0-only
/* gnictl: tables, JSON, units, and what it makes of arguments. */
#include <stdarg.h>
#include <stdlib.h>
#include "unit.h"

#include "../../tools/gnictl_fmt.c"
#include "../../tools/gnictl_out.c"

struct opts opts;

/* What out_print() prints. */
static const char *printed(struct out *o, struct opts how)
{
	static char buf[8192];
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	assert_non_null(f);
	out_print(o, f, &how);
	assert_int_equal(fclose(f), 0);
	return buf;
}

static const struct opts text = { 0 }, details = { .details = true }, json = { .json = true },
			 pretty = { .json = true, .pretty = true };

static void two_rows(struct out *o)
{
	out_row(o);
	out_text(o, "name", "NAME", "a");
	out_number(o, "count", "COUNT", 1234567);
	out_blank(o, "PID", true);
	out_flag(o, "good", true);
	out_group(o, "used", "mdd", 3, "3 of 9");
	out_group(o, "used", "mdd_total", 9, NULL);
	out_group(o, "used", "cq", 0, "0 of 4");
	out_row(o);
	out_text(o, "name", "NAME", "longer");
	out_shown(o, "count", "COUNT", 5, "5 B");
	out_number(o, "pid", "PID", 77);
	out_flag(o, "good", false);
	out_group(o, "used", "mdd", 0, "0 of 9");
}

static void test_table(void **state)
{
	struct out o = { 0 };

	(void)state;
	assert_string_equal(printed(&o, text), "");
	two_rows(&o);
	assert_string_equal(printed(&o, text),
			    "NAME      COUNT  PID\n"
			    "a       1234567    -\n"
			    "longer      5 B   77\n");
	assert_string_equal(printed(&o, details),
			    "NAME      COUNT  PID\n"
			    "a       1234567    -\n"
			    "    good: yes\n"
			    "    used: mdd 3 of 9, cq 0 of 4\n"
			    "longer      5 B   77\n"
			    "    good: no\n"
			    "    used: mdd 0 of 9\n");
	out_reset(&o);
}

/* Leave spaces and line breaks out, but for the last one. */
static void squeeze(char *to, const char *from)
{
	for (; *from; from++)
		if ((*from != ' ' && *from != '\n') || !from[1])
			*to++ = *from;
	*to = '\0';
}

static void test_json(void **state)
{
	struct out o = { 0 };
	char squeezed[1024];

	(void)state;
	assert_string_equal(printed(&o, json), "[]\n");
	assert_string_equal(printed(&o, pretty), "[]\n");
	two_rows(&o);
	assert_string_equal(printed(&o, pretty),
			    "[\n"
			    "  {\n"
			    "    \"name\":\"a\",\n"
			    "    \"count\":1234567,\n"
			    "    \"good\":true,\n"
			    "    \"used\":{\n"
			    "      \"mdd\":3,\n"
			    "      \"mdd_total\":9,\n"
			    "      \"cq\":0\n"
			    "    }\n"
			    "  },\n"
			    "  {\n"
			    "    \"name\":\"longer\",\n"
			    "    \"count\":5,\n"
			    "    \"pid\":77,\n"
			    "    \"good\":false,\n"
			    "    \"used\":{\n"
			    "      \"mdd\":0\n"
			    "    }\n"
			    "  }\n"
			    "]\n");
	/* Without line breaks it is the same. */
	squeeze(squeezed, printed(&o, pretty));
	assert_string_equal(printed(&o, json), squeezed);
	out_reset(&o);
}

/* Two groups, one behind the other, and a cell behind both. */
static void test_groups(void **state)
{
	struct out o = { 0 };

	(void)state;
	out_row(&o);
	out_text(&o, "t", "T", "x");
	out_group(&o, "one", "a", 1, "1");
	out_group(&o, "two", "a", 2, "2");
	out_number(&o, "last", NULL, 3);
	assert_string_equal(printed(&o, json),
			    "[{\"t\":\"x\",\"one\":{\"a\":1},\"two\":{\"a\":2},\"last\":3}]\n");
	assert_string_equal(printed(&o, details),
			    "T\nx\n    one: a 1\n    two: a 2\n    last: 3\n");
	out_reset(&o);
}

static void test_strings(void **state)
{
	static const struct {
		const char *name;
		const char *json;
		const char *table;
	} rows[] = {
		{ "plain", "plain", "plain" },
		{ "a\"b\\c", "a\\\"b\\\\c", "a\"b\\c" },
		{ "\x1b[2J\n\t\x7f", "\\u001b[2J\\u000a\\u0009\\u007f", "?[2J???" },
		{ "s\xc3\xbc\xc3\x9f.", "s\xc3\xbc\xc3\x9f.", "s\xc3\xbc\xc3\x9f." },
		{ "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7" },
		/* Cut, overlong, half of a pair, beyond the last, and no beginning. */
		{ "x\xc3", "x\\ufffd", "x?" },
		{ "\xc0\xaf", "\\ufffd\\ufffd", "??" },
		{ "\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd", "???" },
		{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd", "???" },
		{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd", "????" },
		{ "\x80\xff", "\\ufffd\\ufffd", "??" },
		{ "\xf0\x9f", "\\ufffd\\ufffd", "??" },
		/* A control character of two bytes. */
		{ "\xc2\x9b[J", "\xc2\x9b[J", "?[J" },
	};
	struct out o = { 0 };
	char want[128];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		out_row(&o);
		out_text(&o, "c", "C", rows[i].name);
		snprintf(want, sizeof(want), "[{\"c\":\"%s\"}]\n", rows[i].json);
		assert_string_equal(printed(&o, json), want);
		snprintf(want, sizeof(want), "C\n%s\n", rows[i].table);
		assert_string_equal(printed(&o, text), want);
		out_reset(&o);
	}
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} rows[] = {
		{ 0, "0 B" }, { 1, "1 B" }, { 1023, "1023 B" }, { 1024, "1 KiB" },
		{ 1025, "1.0 KiB" }, { 1536, "1.5 KiB" }, { 131072, "128 KiB" },
		{ 1048575, "1023 KiB" }, { 1048576, "1 MiB" }, { 5ULL << 30, "5 GiB" },
		{ UINT64_MAX, "15.9 EiB" },
	};
	char buf[TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(text_bytes(buf, rows[i].bytes), rows[i].want);
}

static void test_rates(void **state)
{
	char buf[TEXT_MAX];

	(void)state;
	assert_string_equal(text_rate(buf, 0, 0, 1000000000, false), "0 /s");
	assert_string_equal(text_rate(buf, 5, 7, 1000000000, false), "2.0 /s");
	assert_string_equal(text_rate(buf, 5, 7, 2000000000, false), "1.0 /s");
	assert_string_equal(text_rate(buf, 0, 1234567, 1000000000, false), "1.2 M/s");
	assert_string_equal(text_rate(buf, 0, 2500, 1000000000, true), "2.5 kB/s");
	assert_string_equal(text_rate(buf, 0, 250000, 1000000000, true), "250 kB/s");
	/* What went back has begun anew; no time is no rate. */
	assert_string_equal(text_rate(buf, 7, 5, 1000000000, true), "0 B/s");
	assert_string_equal(text_rate(buf, 5, 7, 0, true), "0 B/s");
	assert_string_equal(text_rate(buf, 0, UINT64_MAX, 1000000000, true), "18446744 TB/s");
}

static void test_bits(void **state)
{
	char buf[TEXT_MAX];

	(void)state;
	assert_string_equal(text_bits(buf, 0, mem_flags), "-");
	assert_string_equal(text_bits(buf, 0x1, mem_flags), "read-only");
	assert_string_equal(text_bits(buf, 0x81, mem_flags), "read-only,clone");
	assert_string_equal(text_bits(buf, 0x80000001, cq_modes), "blocking,0x80000000");
	assert_string_equal(text_bits(buf, 0x40000000, cq_modes), "0x40000000");
	/* All of them do not fit; what does is a string. */
	assert_int_equal(strlen(text_bits(buf, ~0U, cdm_modes)), TEXT_MAX - 1);
}

static void test_names(void **state)
{
	unsigned int i, bytes = 0;

	(void)state;
	assert_string_equal(text_dgram_state(0), "pending");
	assert_string_equal(text_dgram_state(5), "remote-data");
	assert_string_equal(text_dgram_state(6), "unknown");
	assert_string_equal(text_ce_state(KGNI_ST_NO_CE, 0), "new");
	assert_string_equal(text_ce_state(KGNI_ST_OK, 2), "whole");
	assert_string_equal(text_ce_state(KGNI_ST_CE_MEMBER, 2), "broken");
	assert_string_equal(text_device_type(0), "gemini");
	assert_string_equal(text_device_type(1), "aries");
	assert_string_equal(text_device_type(99), "unknown");
	assert_string_equal(text_device_state(KGNI_DEV_UP), "up");
	assert_string_equal(text_device_state(KGNI_DEV_QUIESCED), "quiesced");
	assert_string_equal(text_device_state(99), "unknown");
	for (i = 0; i < KGNI_STAT_COUNT; i++) {
		assert_non_null(stat_key(i));
		bytes += stat_is_bytes(i);
	}
	assert_int_equal(bytes, 4);
	assert_null(stat_key(KGNI_STAT_COUNT));
	assert_false(stat_is_bytes(KGNI_STAT_COUNT));
}

static void test_parse(void **state)
{
	static const char * const no_number[] = {
		"", "x", "-1", "+1", " 1", "1 ", "1x", "0x", "0xg", "4294967296", "0x100000000",
		"99999999999999999999",
	};
	static const char * const no_device[] = {
		"", "kgni", "/dev/", "/dev/kgni", "kgni64", "64", "kgni-1", "kgni0x1", "kgn1",
		"/dev/1", "kgni1 ", "dev",
	};
	uint32_t v = 7;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(no_number); i++)
		assert_false(parse_number(no_number[i], UINT32_MAX, &v));
	for (i = 0; i < ARRAY_SIZE(no_device); i++)
		assert_false(parse_device(no_device[i], &v));
	assert_int_equal(v, 7);
	assert_true(parse_number("0", 9, &v) && v == 0);
	assert_true(parse_number("010", 99, &v) && v == 10);
	assert_true(parse_number("0xFf", 255, &v) && v == 255);
	assert_true(parse_number("4294967295", UINT32_MAX, &v) && v == UINT32_MAX);
	assert_false(parse_number("10", 9, &v));
	assert_true(parse_device("kgni63", &v) && v == 63);
	assert_true(parse_device("/dev/kgni5", &v) && v == 5);
	assert_true(parse_device("0", &v) && v == 0);
	assert_true(is_prefix("d", "dev") && is_prefix("dev", "dev"));
	assert_false(is_prefix("", "dev") || is_prefix("devs", "dev") || is_prefix("x", "dev"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
