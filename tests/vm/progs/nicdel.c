// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that come and go while they are used. Needs kgni0 and kgni1, gnictl,
 * and to be root; leaves both devices there.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT

/* The exit status of gnictl, which is not to be heard. */
static int gnictl(const char *args)
{
	char command[128];
	int status;

	snprintf(command, sizeof(command), "gnictl %s >/dev/null 2>&1", args);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* An attachment with a region, a queue, and an endpoint to itself. */
struct side {
	struct nic n;
	unsigned char *mem;
	struct region r;
	gni_ep_handle_t self;
};

static void side_open(struct side *s, uint32_t device, uint32_t id)
{
	nic_open(&s->n, device, id);
	s->mem = map_private(PAGE);
	region_open(&s->n, s->mem, PAGE, s->n.rx, 0, &s->r);
	s->self = ep_open(&s->n, s->n.pe, id);
}

static void side_close(struct side *s)
{
	is_rc(GNI_EpUnbind(s->self), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(s->self), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(s->n.h, &s->r.mh), GNI_RC_SUCCESS);
	nic_close(&s->n);
}

/* Put the second half of one's page into the first half of the region. */
static gni_return_t put(struct side *s, gni_ep_handle_t ep, const struct region *r,
			gni_post_type_t type)
{
	gni_post_descriptor_t d;

	desc_init(&d, type, GLOBAL);
	desc_move(&d, s->mem + PAGE / 2, &s->r.mh, r, 0, PAGE / 2);
	return post_wait(ep, s->n.tx, &d);
}

static void both_puts(struct side *s, gni_ep_handle_t ep, const struct region *r,
		      gni_return_t want)
{
	is_rc(put(s, ep, r, GNI_POST_FMA_PUT), want);
	is_rc(put(s, ep, r, GNI_POST_RDMA_PUT), want);
}

static void test_unused(void)
{
	is_u64(gnictl("dev del kgni1"), 0);
	ok(access("/dev/kgni1", F_OK) != 0);
	is_u64(device_count(), 1);
	is_u64(gnictl("dev del kgni1"), 1);
	is_u64(gnictl("dev add kgni1"), 0);
	is_u64(gnictl("dev add kgni1"), 1);
	ok(access("/dev/kgni1", R_OK | W_OK) == 0);
	is_u64(device_count(), 2);
}

static void test_used(void)
{
	struct side s;

	side_open(&s, 1, 7);
	is_u64(gnictl("dev del kgni1"), 1);
	both_puts(&s, s.self, &s.r, GNI_RC_SUCCESS);
	side_close(&s);
	is_u64(gnictl("dev del kgni1"), 0);
	is_u64(gnictl("dev add kgni1"), 0);
}

/* A tag that is only kept for later uses the device, too. */
static void test_reserved(void)
{
	struct kgni_ioc_ptag arg = { .cookie = 77 };
	int fd = raw_open(1);

	must(ioctl(fd, KGNI_IOC_GET_PTAG, &arg) == GNI_RC_SUCCESS);
	is_u64(gnictl("dev del kgni1"), 1);
	close(fd);
	is_u64(gnictl("dev del kgni1"), 0);
	is_u64(gnictl("dev add kgni1"), 0);
}

/* What a deleted device still does for those who were attached. */
static void test_forced(void)
{
	gni_ep_handle_t to_other, from_other, wild;
	struct side s, other, fresh;
	gni_post_state_t state;
	unsigned char in[8], out[8] = "hello";
	uint32_t pe, id;
	gni_cq_handle_t cq;
	gni_mem_handle_t mh;

	side_open(&s, 1, 7);
	side_open(&other, 0, 8);
	to_other = ep_open(&s.n, other.n.pe, 8);
	from_other = ep_open(&other.n, s.n.pe, 7);
	both_puts(&s, to_other, &other.r, GNI_RC_SUCCESS);
	both_puts(&other, from_other, &s.r, GNI_RC_SUCCESS);
	must_do(GNI_EpCreate(s.n.h, NULL, &wild));
	must_do(GNI_EpPostData(wild, out, 8, in, 8));
	must_do(GNI_EpPostData(to_other, out, 8, in, 8));

	is_u64(gnictl("dev del kgni1 force"), 0);
	/* It reaches nobody, and nobody reaches it; what it holds can be let go. */
	both_puts(&s, to_other, &other.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&s, s.self, &s.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&other, from_other, &s.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&other, other.self, &other.r, GNI_RC_SUCCESS);
	must_do(GNI_EpPostDataTest(wild, &state, &pe, &id));
	is_u64(state, GNI_POST_ERROR);
	must_do(GNI_EpPostDataWait(to_other, 1000, &state, &pe, &id));
	is_u64(state, GNI_POST_ERROR);
	is_rc(GNI_EpPostData(wild, out, 8, in, 8), GNI_RC_INVALID_STATE);
	mem_open(&s.n, s.mem, PAGE, NULL, 0, &mh);
	is_rc(GNI_MemDeregister(s.n.h, &mh), GNI_RC_SUCCESS);
	cq = cq_open(&s.n, 8, GNI_CQ_NOBLOCK);
	is_rc(GNI_CqDestroy(cq), GNI_RC_SUCCESS);

	/* One that takes its place has nothing to do with it. */
	is_u64(gnictl("dev add kgni1"), 0);
	side_open(&fresh, 1, 7);
	is_u64(fresh.n.pe, s.n.pe);
	both_puts(&s, to_other, &other.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&s, s.self, &fresh.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&other, from_other, &fresh.r, GNI_RC_SUCCESS);
	both_puts(&other, from_other, &s.r, GNI_RC_TRANSACTION_ERROR);
	both_puts(&fresh, fresh.self, &fresh.r, GNI_RC_SUCCESS);
	is_rc(GNI_EpPostData(wild, out, 8, in, 8), GNI_RC_INVALID_STATE);
	side_close(&fresh);
	is_rc(GNI_EpDestroy(wild), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(to_other), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(from_other), GNI_RC_SUCCESS);
	side_close(&s);
	side_close(&other);
}

/* A file that was open, not attached, and the ways to open one more. */
static void test_files(void)
{
	struct kgni_ioc_attach attach = { .ptag = GNI_FIND_ALLOC_PTAG, .cookie = COOKIE };
	struct kgni_ioc_ptag ptag = { .cookie = COOKIE };
	struct kgni_ioc_info info;
	int fd = raw_open(1);
	char path[64];

	must(ioctl(fd, KGNI_IOC_INFO, &info) == GNI_RC_SUCCESS);
	is_u64(gnictl("dev del kgni1"), 0);
	ok(ioctl(fd, KGNI_IOC_ATTACH, &attach) == -1 && errno == ENODEV);
	ok(ioctl(fd, KGNI_IOC_GET_PTAG, &ptag) == -1 && errno == ENODEV);
	ok(ioctl(fd, KGNI_IOC_INFO, &info) == GNI_RC_SUCCESS);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ok(open(path, O_RDWR) == -1 && (errno == ENODEV || errno == ENXIO));
	is_u64(gnictl("dev add kgni1"), 0);
	ok(ioctl(fd, KGNI_IOC_ATTACH, &attach) == -1 && errno == ENODEV);
	close(fd);
}

#define TURNS	6

/* How a transfer ends to or from a device that may go away. */
static bool went(gni_return_t rc)
{
	return rc == GNI_RC_SUCCESS || rc == GNI_RC_TRANSACTION_ERROR;
}

/* Attach to kgni1, which may be away, and use it and kgni0 from it. */
static void worker(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg;
	gni_return_t rc;
	struct side s;

	side_open(&s, 0, id);
	while (!atomic_load(&shm->word[0])) {
		gni_cdm_handle_t cdm;
		gni_nic_handle_t h;
		uint32_t pe;

		must_do(GNI_CdmCreate(id + 100, GNI_FIND_ALLOC_PTAG, COOKIE, 0, &cdm));
		rc = GNI_CdmAttach(cdm, 1, &pe, &h);
		if (rc == GNI_RC_SUCCESS) {
			gni_ep_handle_t ep = ep_open(&s.n, pe, id + 100);
			struct side far = { .n = { .cdm = cdm, .h = h, .pe = pe } };

			far.n.id = id + 100;
			far.n.tx = cq_open(&far.n, 64, GNI_CQ_NOBLOCK);
			far.mem = map_private(PAGE);
			region_open(&far.n, far.mem, PAGE, NULL, 0, &far.r);
			rc = put(&s, ep, &far.r, GNI_POST_RDMA_PUT);
			ok(went(rc), "%s", rc_name(rc));
			atomic_fetch_add(&shm->word[rc == GNI_RC_SUCCESS ? 1 : 2], 1);
			rc = put(&far, ep_open(&far.n, s.n.pe, id), &s.r, GNI_POST_FMA_PUT);
			ok(went(rc), "%s", rc_name(rc));
			is_rc(GNI_EpDestroy(ep), GNI_RC_SUCCESS);
			munmap(far.mem, PAGE);
		} else {
			is_rc(rc, GNI_RC_NO_MATCH);
			atomic_fetch_add(&shm->word[3], 1);
			nap();
		}
		is_rc(GNI_CdmDestroy(cdm), GNI_RC_SUCCESS);
	}
	both_puts(&s, s.self, &s.r, GNI_RC_SUCCESS);
	side_close(&s);
}

static void test_traffic(void)
{
	pid_t pid[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = peer(worker, (void *)(uintptr_t)(i + 1));
	for (i = 0; i < TURNS; i++) {
		/* Each turn some use it before it goes. */
		uint64_t used = atomic_load(&shm->word[1]);

		must(wait_for(atomic_load(&shm->word[1]) > used));
		is_u64(gnictl("dev del kgni1 force"), 0);
		is_u64(gnictl("dev add kgni1"), 0);
	}
	atomic_store(&shm->word[0], 1);
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		reap(pid[i]);
	diag("%lu transfers went well, %lu failed, %lu times there was no device",
	     atomic_load(&shm->word[1]), atomic_load(&shm->word[2]), atomic_load(&shm->word[3]));
}

static const struct test tests[] = {
	CASE("a device that nobody uses is deleted, and comes back", test_unused),
	CASE("one that is used is not deleted", test_used),
	CASE("nor one with a tag that is kept", test_reserved),
	CASE("unless by force: then it reaches nobody any more", test_forced),
	CASE("open files of a deleted device attach no more", test_files),
	CASE("devices come and go under traffic", test_traffic, .seconds = 120),
};

int main(void)
{
	if (geteuid() || device_count() != 2)
		return 1;
	return RUN_TESTS(tests);
}
