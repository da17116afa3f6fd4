// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the fuzzer's calls reach in the driver, from KCOV: a list of the places
 * that a thread passed in code that was built for it, which in the debug VM is
 * kgni.ko alone. Where a kernel lacks it all of this does nothing.
 *
 * Places are counted for the report. What guides the fuzzer are pairs of places
 * that follow each other, since more often than a new place it is a new way
 * between two known ones that leads somewhere.
 */
#include <fcntl.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>

#include "common_fuzz.h"

#define KCOV_PATH	"/sys/kernel/debug/kcov"
#define AREA_WORDS	(16UL << 10)
#define REMOTE_WORDS	(64UL << 10)
#define HANDLE		(KCOV_SUBSYSTEM_COMMON | 1)

/* One for each lane, opened once and passed on to those who come. */
static struct {
	int fd;
	uint64_t *area;
} lanes[LANES];
static uint64_t *remote;
static __thread uint64_t *mine;

static const char *const sections[] = { ".text", ".text.unlikely" };
static uint64_t section_start[ARRAY_SIZE(sections)];

/* Where the module's code lies; the lower of its sections is where counting starts. */
static bool find_text(void)
{
	unsigned int i;
	char path[80];
	FILE *f;

	world->text = UINT64_MAX;
	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		snprintf(path, sizeof(path), "/sys/module/kgni/sections/%s", sections[i]);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%lx", &section_start[i]) == 1 && section_start[i] < world->text)
			world->text = section_start[i];
		fclose(f);
	}
	return world->text && world->text != UINT64_MAX;
}

static uint64_t *open_area(int *fd, size_t words)
{
	void *area;

	*fd = open(KCOV_PATH, O_RDWR | O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	if (ioctl(*fd, KCOV_INIT_TRACE, words))
		return NULL;
	area = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return area == MAP_FAILED ? NULL : area;
}

/* Workers of the driver trace for the children of this process from now on. */
static bool open_remote(void)
{
	struct kcov_remote_arg arg = {
		.trace_mode = KCOV_TRACE_PC, .area_size = REMOTE_WORDS, .common_handle = HANDLE,
	};
	int fd;

	remote = open_area(&fd, REMOTE_WORDS);
	return remote && !ioctl(fd, KCOV_REMOTE_ENABLE, &arg);
}

bool kcov_open(void)
{
	unsigned int i;

	if (access(KCOV_PATH, R_OK | W_OK) || !find_text())
		return false;
	for (i = 0; i < LANES; i++) {
		lanes[i].area = open_area(&lanes[i].fd, AREA_WORDS);
		if (!lanes[i].area)
			return false;
	}
	return open_remote();
}

void kcov_begin(unsigned int lane)
{
	if (!lanes[lane].area || ioctl(lanes[lane].fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return;
	mine = lanes[lane].area;
	__atomic_store_n(mine, 0, __ATOMIC_RELAXED);
}

static void note_pc(uint64_t at)
{
	if (!world->pc[at] && !atomic_exchange(&world->pc[at], 1))
		atomic_fetch_add(&world->pcs, 1);
}

static void note_edge(uint64_t from, uint64_t to)
{
	uint32_t e = (uint32_t)((from * 0x9e3779b1 ^ to * 0x85ebca6b) >> 7) % EDGES;

	if (world->edge[e] || atomic_exchange(&world->edge[e], 1))
		return;
	atomic_fetch_add(&world->edges, 1);
	atomic_fetch_add(&world->fresh, 1);
}

static void note_trace(uint64_t *area, size_t words)
{
	uint64_t n = __atomic_load_n(area, __ATOMIC_RELAXED), i, at, from = 0;

	if (n >= words)
		n = words - 1;
	for (i = 1; i <= n; i++) {
		at = area[i] - world->text;
		if (at >= TEXT_MAX)
			continue;
		note_pc(at);
		note_edge(from, at);
		from = at;
	}
	__atomic_store_n(area, 0, __ATOMIC_RELAXED);
}

void kcov_step(void)
{
	if (mine)
		note_trace(mine, AREA_WORDS);
}

void kcov_round(void)
{
	if (remote)
		note_trace(remote, REMOTE_WORDS);
}

static void print_section(unsigned int s)
{
	uint64_t start = section_start[s] - world->text, end = TEXT_MAX, at;
	unsigned int i, n = 0;
	char line[200];

	for (i = 0; i < ARRAY_SIZE(sections); i++)
		if (section_start[i] > section_start[s] && section_start[i] - world->text < end)
			end = section_start[i] - world->text;
	for (at = start; at < end; at++) {
		if (world->pc[at])
			n += snprintf(line + n, sizeof(line) - n, " %lx", at - start);
		if (n && (n > 100 || at == end - 1)) {
			diag("pcs %s%s", sections[s], line);
			n = 0;
		}
	}
}

/* For kcov-report.sh, which turns offsets in sections into lines. */
void kcov_print(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sections); i++)
		if (section_start[i])
			print_section(i);
}
