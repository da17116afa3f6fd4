// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints: what a restarted process finds is files closed behind the
 * library's back, and their numbers used again by others.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "common.h"

#define BOTH	(GNI_CQMODE_GLOBAL_EVENT | GNI_CQMODE_REMOTE_EVENT)

struct state {
	struct nic n;
	gni_cq_handle_t blocking;
	gni_ep_handle_t ep;
	struct region r;
	gni_smsg_attr_t attr;
	gni_post_descriptor_t d;
};

static void build(struct state *s)
{
	memset(s, 0, sizeof(*s));
	nic_open(&s->n, 0, 1);
	s->blocking = cq_open(&s->n, 64, GNI_CQ_BLOCKING);
	s->ep = ep_open(&s->n, s->n.pe, 1);
	region_open(&s->n, map_private(4 * PAGE), 4 * PAGE, s->n.rx, 0, &s->r);
	s->attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	s->attr.mbox_maxcredit = 4;
	s->attr.msg_maxsize = 128;
	s->attr.msg_buffer = (void *)s->r.addr;
	s->attr.mem_hndl = s->r.mh;
	must_do(GNI_SmsgBufferSizeNeeded(&s->attr, &s->attr.buff_size));
	must_do(GNI_SmsgInit(s->ep, &s->attr, &s->attr));
	desc_init(&s->d, GNI_POST_FMA_PUT, BOTH);
	desc_move(&s->d, (void *)s->r.addr, NULL, &s->r, 3 * PAGE, 8);
	must_do(post_wait(s->ep, s->n.tx, &s->d));
	must_do(GNI_EpPostDataWId(s->ep, NULL, 0, NULL, 0, 77));
}

static void tear_down(struct state *s)
{
	is_rc(GNI_EpUnbind(s->ep), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(s->ep), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(s->n.h, &s->r.mh), GNI_RC_SUCCESS);
	is_rc(GNI_CqDestroy(s->blocking), GNI_RC_SUCCESS);
	nic_close(&s->n);
}

/* Is there a file of the driver open in this process. */
static bool has_device_file(void)
{
	struct kgni_ioc_info info;
	int fd;

	for (fd = 3; fd < 64; fd++)
		if (ioctl(fd, KGNI_IOC_INFO, &info) == 0)
			return true;
	return false;
}

/* Drop every mapping of the driver's, as one that restores memory would. */
static unsigned int unmap_rings(void)
{
	unsigned long from, to;
	unsigned int n = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	must(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/dev/kgni") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		must(munmap((void *)from, to - from) == 0);
		n++;
		rewind(f);
	}
	fclose(f);
	return n;
}

static void test_restart(void)
{
	gni_cq_entry_t e;
	struct state s;
	uint64_t id;

	build(&s);
	must_do(GNI_PostFma(s.ep, &s.d));	/* under way for ever */
	is_rc(GNI_EpIdle(s.ep), GNI_RC_NOT_DONE);
	must_do(GNI_CdmCheckpoint(s.n.cdm));
	must(has_device_file());
	must(close_range(3, ~0U, 0) == 0);
	ok(!has_device_file());
	is_u64(unmap_rings(), 3);
	is_empty(s.n.tx);
	is_rc(GNI_CqTestEvent(s.n.rx), GNI_RC_NOT_DONE);
	is_rc(GNI_CqWaitEvent(s.blocking, 1000, &e), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostFma(s.ep, &s.d), GNI_RC_INVALID_PARAM);
	is_rc(GNI_PostDataProbeById(s.n.h, &id), GNI_RC_INVALID_PARAM);
	tear_down(&s);
	/* The program begins anew. */
	build(&s);
	must_do(GNI_CqGetEvent(s.n.rx, &e));
	tear_down(&s);
}

/* A file that got the number of a device file: the driver's, so a mistake shows. */
static void test_innocent(void)
{
	struct kgni_ioc_info info;
	struct stat before, after;
	int fds[61], fd;
	struct state s;

	build(&s);
	must_do(GNI_CdmCheckpoint(s.n.cdm));
	must(close_range(3, 63, 0) == 0);
	for (fd = 3; fd < 64; fd++) {
		fds[fd - 3] = fd % 2 ? raw_attach(0, 1000 + fd, GNI_CDM_MODE_FMA_SHARED) :
			      open("/tmp", O_TMPFILE | O_RDWR, 0600);
		must(fds[fd - 3] == fd);
	}
	must(fstat(4, &before) == 0);
	tear_down(&s);
	for (fd = 3; fd < 64; fd++) {
		if (fd % 2)
			ok(ioctl(fd, KGNI_IOC_INFO, &info) == 0, "file %d", fd);
		else
			ok(fcntl(fd, F_GETFD) >= 0, "file %d", fd);
	}
	must(fstat(4, &after) == 0);
	ok(before.st_ino == after.st_ino);
}

/* As above, for the addresses that the rings had. */
static void test_addresses(void)
{
	unsigned long from[3], to[3];
	unsigned int n = 0, i;
	struct state s;
	char line[512];
	FILE *f;

	build(&s);
	must_do(GNI_CdmCheckpoint(s.n.cdm));
	f = fopen("/proc/self/maps", "re");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "/dev/kgni") && n < 3 &&
		    sscanf(line, "%lx-%lx", &from[n], &to[n]) == 2)
			n++;
	fclose(f);
	must(n == 3);
	for (i = 0; i < n; i++) {
		must(mmap((void *)from[i], to[i] - from[i], PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)from[i]);
		memset((void *)from[i], 0x5a, to[i] - from[i]);
	}
	tear_down(&s);
	/* Slots of queues are used again, in the end, and still nothing is unmapped. */
	for (i = 0; i < 400; i++) {
		nic_open(&s.n, 0, 1);
		nic_close(&s.n);
	}
	for (i = 0; i < n; i++)
		ok(all_bytes((void *)from[i], to[i] - from[i], 0x5a));
}

/* The process that took the checkpoint goes on. */
static void test_resume(void)
{
	struct state s;
	void *msg;
	int i;

	build(&s);
	for (i = 0; i < 10; i++) {
		must_do(GNI_SmsgSend(s.ep, &i, sizeof(i), NULL, 0, i));
		is_rc(GNI_EpIdle(s.ep), GNI_RC_NOT_DONE);
		must_do(next_event(s.n.tx, &(gni_cq_entry_t){ 0 }));
		is_rc(GNI_EpIdle(s.ep), GNI_RC_SUCCESS);
		must_do(GNI_CdmCheckpoint(s.n.cdm));
		is_rc(GNI_SmsgSend(s.ep, "x", 1, NULL, 0, i), GNI_RC_INVALID_PARAM);
		must_do(GNI_SmsgGetNext(s.ep, &msg));
		is_u64(*(int *)msg, i);
		must_do(GNI_SmsgRelease(s.ep));
		must_do(GNI_CdmResume(s.n.cdm));
		must_do(post_wait(s.ep, s.n.tx, &s.d));
	}
	tear_down(&s);
	ok(!has_device_file());
}

/* A child of a process at a checkpoint closes none of its files either. */
static void child(void *arg)
{
	int fd = *(int *)arg;

	ok(fcntl(fd, F_GETFD) >= 0, "file %d", fd);
}

static void test_fork(void)
{
	struct state s;
	int fd;

	build(&s);
	must_do(GNI_CdmCheckpoint(s.n.cdm));
	must(close_range(3, ~0U, 0) == 0);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	must(fd == 3);
	reap(peer(child, &fd));
	tear_down(&s);
}

static const struct test tests[] = {
	CASE("restarted without files and mappings", test_restart),
	CASE("numbers of files that others have now", test_innocent),
	CASE("addresses that others have now", test_addresses),
	CASE("resumed", test_resume),
	CASE("forked", test_fork),
};

int main(void)
{
	return RUN_TESTS(tests);
}
