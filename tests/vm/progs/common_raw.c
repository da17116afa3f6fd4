// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of the driver, without the library: see common.h.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "common.h"

int raw_open(unsigned int device)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), KGNI_DEVICE_PATH, device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0, "%s", path);
	return fd;
}

struct kgni_ioc_job raw_job(uint64_t job_id, uint32_t ptag, uint32_t cookie)
{
	struct kgni_ioc_job job;

	memset(&job, 0xff, sizeof(job));	/* KGNI_JOB_KEEP */
	job.job_id = job_id;
	job.ptag = ptag;
	job.cookie = cookie;
	job.flags = 0;
	job.ntt = (struct kgni_ioc_ntt){ 0 };
	return job;
}

int raw_attach(unsigned int device, uint32_t id, uint32_t modes)
{
	struct kgni_ioc_attach arg = {
		.inst_id = id, .ptag = GNI_FIND_ALLOC_PTAG, .cookie = COOKIE, .modes = modes,
	};
	int fd = raw_open(device);

	must(ioctl(fd, KGNI_IOC_ATTACH, &arg) == GNI_RC_SUCCESS);
	return fd;
}

void raw_cq_open(int fd, uint32_t entries, uint32_t mode, struct raw_cq *cq)
{
	struct kgni_ioc_cq_create arg = { .entries = entries, .mode = mode };

	must(ioctl(fd, KGNI_IOC_CQ_CREATE, &arg) == GNI_RC_SUCCESS);
	must(arg.id && arg.slots >= entries && !(arg.slots & (arg.slots - 1)));
	cq->id = arg.id;
	cq->slots = arg.slots;
	cq->offset = arg.mmap_offset;
	cq->len = arg.mmap_length;
	cq->mem = mmap(NULL, cq->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, cq->offset);
	must(cq->mem != MAP_FAILED);
}

struct kgni_mem_handle raw_mem_open(int fd, void *buf, size_t len, uint32_t flags, uint32_t cq)
{
	struct kgni_ioc_mem_register arg = {
		.addr = (uint64_t)buf, .length = len, .flags = flags, .cq = cq,
		.vmdh_index = ~0U,
	};

	must(ioctl(fd, KGNI_IOC_MEM_REGISTER, &arg) == GNI_RC_SUCCESS);
	return arg.handle;
}
