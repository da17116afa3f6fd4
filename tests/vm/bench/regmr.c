// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long ibv_reg_mr() takes, as gni_perf does it with GNI_MemRegister():
 * regmr SIZE TIMES prints the median in us.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE	(2UL << 20)

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int fail(const char *what)
{
	perror(what);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double once(struct ibv_pd *pd, void *mem, size_t size)
{
	double start = now_us(), took;
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, size, IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);

	took = now_us() - start;
	if (!mr || ibv_dereg_mr(mr))
		fail("regmr: ibv_reg_mr");
	return took;
}

int main(int argc, char **argv)
{
	size_t size = argc == 3 ? strtoull(argv[1], NULL, 0) : 0, i;
	size_t times = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;
	struct ibv_device **devices = ibv_get_device_list(NULL);
	double *us = calloc(times + 1, sizeof(*us));
	struct ibv_context *context;
	struct ibv_pd *pd;
	char *mem;

	if (!size || !times || !us)
		return fprintf(stderr, "usage: regmr SIZE TIMES\n"), 2;
	context = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	pd = context ? ibv_alloc_pd(context) : NULL;
	if (!pd)
		fail("regmr: no RDMA device");
	mem = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	if (mem == MAP_FAILED)
		fail("regmr: mmap");
	mem = (char *)(((uintptr_t)mem + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	memset(mem, 1, size);
	once(pd, mem, size);
	for (i = 0; i < times; i++)
		us[i] = once(pd, mem, size);
	qsort(us, times, sizeof(*us), compare);
	printf("%.3f\n", us[times / 2]);
	return 0;
}
