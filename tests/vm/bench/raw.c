// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the machine can do without any driver. Prints one number.
 *
 *	raw pingpong TIMES	us from a store on CPU 0 until CPU 1 sees it, half of
 *				there and back, two flags in two lines
 *	raw memcpy SIZE TIMES	MB/s of copies between two buffers
 *	raw atomic TIMES	us of a fetch-and-add on memory of its own
 *	raw syscall TIMES	us of a system call that does nothing
 *	raw pages PAGES TIMES	us of a store, to so many mappings of a page in turn
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* As gni_perf has them, so that copies find the same kind of pages. */
#define HUGE_PAGE	(2UL << 20)

struct flags {
	_Atomic uint64_t there;
	char apart[120];
	_Atomic uint64_t back;
};

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("raw: sched_setaffinity");
		exit(1);
	}
}

static void *memory(size_t size, int sharing)
{
	char *mem = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS,
			 -1, 0);

	if (mem == MAP_FAILED) {
		perror("raw: mmap");
		exit(1);
	}
	mem = (char *)(((uintptr_t)mem + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	memset(mem, 1, size);
	return mem;
}

static void answer(struct flags *f, uint64_t times)
{
	uint64_t i;

	pin(1);
	for (i = 1; i <= times; i++) {
		while (atomic_load_explicit(&f->there, memory_order_acquire) != i)
			;
		atomic_store_explicit(&f->back, i, memory_order_release);
	}
	_exit(0);
}

static double pingpong(uint64_t times)
{
	struct flags *f = memory(sizeof(*f), MAP_SHARED);
	uint64_t i, warm = times / 10 + 1;
	double start = 0;

	memset(f, 0, sizeof(*f));
	if (!fork())
		answer(f, times + warm);
	pin(0);
	for (i = 1; i <= times + warm; i++) {
		if (i == warm + 1)
			start = now_us();
		atomic_store_explicit(&f->there, i, memory_order_release);
		while (atomic_load_explicit(&f->back, memory_order_acquire) != i)
			;
	}
	start = now_us() - start;
	wait(NULL);
	return start / (double)times / 2;
}

/* Not a power of two apart: caches, and an emulator's TLB, would take one for the other. */
#define APART		(17UL * 4096)

static double copies(size_t size, uint64_t times)
{
	char *from = memory(2 * size + APART, MAP_PRIVATE), *to = from + size + APART;
	double start = 0;
	uint64_t i, warm = times / 10 + 1;

	pin(0);
	for (i = 0; i < times + warm; i++) {
		if (i == warm)
			start = now_us();
		memcpy(to, from, size);
		__asm__ volatile("" : : "r" (to) : "memory");
	}
	return (double)size * (double)times / (now_us() - start);
}

static double atomics(uint64_t times)
{
	_Atomic uint64_t *word = memory(sizeof(*word), MAP_PRIVATE);
	double start = now_us();
	uint64_t i;

	for (i = 0; i < times; i++)
		atomic_fetch_add(word, 1);
	return (now_us() - start) / (double)times;
}

static double syscalls(uint64_t times)
{
	double start = now_us();
	uint64_t i;

	for (i = 0; i < times; i++)
		syscall(SYS_getppid);
	return (now_us() - start) / (double)times;
}

/* As windows to regions are: mappings of their own, of two pages each. */
static double pages(size_t n, uint64_t times)
{
	uint64_t i, warm = 4 * n;
	double start = 0;
	size_t which = 0;
	char **at = calloc(n, sizeof(*at));
	int fd = memfd_create("raw", 0);

	if (!at || fd < 0 || ftruncate(fd, 8192)) {
		perror("raw: memory");
		exit(1);
	}
	for (i = 0; i < n; i++) {
		at[i] = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at[i] == MAP_FAILED) {
			perror("raw: mmap");
			exit(1);
		}
	}
	pin(0);
	for (i = 0; i < times + warm; i++) {
		if (i == warm)
			start = now_us();
		*(volatile uint64_t *)(at[which] + 4096) = i;
		if (++which == n)
			which = 0;
	}
	return (now_us() - start) / (double)times;
}

static uint64_t number(const char *text)
{
	uint64_t n = text ? strtoull(text, NULL, 0) : 0;

	if (!n) {
		fputs("usage: raw pingpong|atomic|syscall TIMES | memcpy SIZE TIMES | ", stderr);
		fputs("pages PAGES TIMES\n", stderr);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "pingpong"))
		printf("%.4f\n", pingpong(number(argv[2])));
	else if (!strcmp(what, "memcpy"))
		printf("%.1f\n", copies(number(argv[2]), number(argv[3])));
	else if (!strcmp(what, "pages"))
		printf("%.4f\n", pages(number(argv[2]), number(argv[3])));
	else if (!strcmp(what, "atomic"))
		printf("%.4f\n", atomics(number(argv[2])));
	else if (!strcmp(what, "syscall"))
		printf("%.4f\n", syscalls(number(argv[2])));
	else
		number(NULL);
	return 0;
}
