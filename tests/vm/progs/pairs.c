// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every operation of the driver beside every other that meets it at an object,
 * and beside itself: by threads, by processes with one file, with two files in
 * a job, and on two NICs. See common_pairs.h. Needs two NICs.
 *
 * The tables that are shown have, for each pair, in how many rounds both ran at
 * once, and how many rounds it took.
 *
 *	pairs [WORD OF A CASE'S NAME]
 */
#include "common_pairs.h"

#define CASE_AT(name, place)							\
	static void name##_##place(void)					\
	{									\
		run_pairs(&name##_object, place);				\
	}

CASE_AT(memory, IN_THREADS)
CASE_AT(memory, BY_FILE)
CASE_AT(memory, BY_JOB)
CASE_AT(memory, BY_NIC)
CASE_AT(region, IN_THREADS)
CASE_AT(region, BY_JOB)
CASE_AT(region, BY_NIC)
CASE_AT(bte, IN_THREADS)
CASE_AT(bte, BY_FILE)
CASE_AT(queue, IN_THREADS)
CASE_AT(queue, BY_FILE)
CASE_AT(queue, BY_JOB)
CASE_AT(queue, BY_NIC)
CASE_AT(ring, IN_THREADS)
CASE_AT(ring, BY_FILE)
CASE_AT(dgram, IN_THREADS)
CASE_AT(dgram, BY_FILE)
CASE_AT(dgram, BY_JOB)
CASE_AT(dgram, BY_NIC)
CASE_AT(job, IN_THREADS)
CASE_AT(job, BY_JOB)
CASE_AT(job, BY_NIC)
CASE_AT(pool, IN_THREADS)
CASE_AT(pool, BY_JOB)
CASE_AT(window, IN_THREADS)
CASE_AT(window, BY_FILE)
CASE_AT(window, BY_JOB)
CASE_AT(window, BY_NIC)
CASE_AT(channel, IN_THREADS)
CASE_AT(channel, BY_FILE)
CASE_AT(channel, BY_JOB)
CASE_AT(channel, BY_NIC)
CASE_AT(file, IN_THREADS)
CASE_AT(file, BY_FILE)

#define SLOW	.seconds = 200

static const struct test tests[] = {
	CASE("registration, two threads", memory_IN_THREADS, SLOW),
	CASE("registration, two processes with one file", memory_BY_FILE, SLOW),
	CASE("registration, two members of the job", memory_BY_JOB, SLOW),
	CASE("registration, two NICs", memory_BY_NIC, SLOW),
	CASE("region, two threads", region_IN_THREADS, SLOW),
	CASE("region, two members of the job", region_BY_JOB, SLOW),
	CASE("region, two NICs", region_BY_NIC, SLOW),
	CASE("BTE, two threads", bte_IN_THREADS, SLOW),
	CASE("BTE, two processes with one file", bte_BY_FILE, SLOW),
	CASE("queue, two threads", queue_IN_THREADS, SLOW),
	CASE("queue, two processes with one file", queue_BY_FILE, SLOW),
	CASE("queue, two members of the job", queue_BY_JOB, SLOW),
	CASE("queue, two NICs", queue_BY_NIC, SLOW),
	CASE("ring, two threads", ring_IN_THREADS, SLOW),
	CASE("ring, two processes with one file", ring_BY_FILE, SLOW),
	CASE("datagrams, two threads", dgram_IN_THREADS, SLOW),
	CASE("datagrams, two processes with one file", dgram_BY_FILE, SLOW),
	CASE("datagrams, two members of the job", dgram_BY_JOB, SLOW),
	CASE("datagrams, two NICs", dgram_BY_NIC, SLOW),
	CASE("job, two threads", job_IN_THREADS, SLOW),
	CASE("job, two processes", job_BY_JOB, SLOW),
	CASE("job, two NICs", job_BY_NIC, SLOW),
	CASE("FMA descriptors, two threads", pool_IN_THREADS, SLOW),
	CASE("FMA descriptors, two processes", pool_BY_JOB, SLOW),
	CASE("window, two threads", window_IN_THREADS, SLOW),
	CASE("window, two processes with one file", window_BY_FILE, SLOW),
	CASE("window, two members of the job", window_BY_JOB, SLOW),
	CASE("window, two NICs", window_BY_NIC, SLOW),
	CASE("channel, two threads", channel_IN_THREADS, SLOW),
	CASE("channel, two processes with one file", channel_BY_FILE, SLOW),
	CASE("channel, two members of the job", channel_BY_JOB, SLOW),
	CASE("channel, two NICs", channel_BY_NIC, SLOW),
	CASE("file, two threads", file_IN_THREADS, SLOW),
	CASE("file, two processes", file_BY_FILE, SLOW),
};

/* Those whose name has the word in it. */
int main(int argc, char **argv)
{
	static struct test chosen[ARRAY_SIZE(tests)];
	unsigned int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (argc < 2 || strstr(tests[i].name, argv[1]))
			chosen[n++] = tests[i];
	return run_tests(chosen, n);
}
