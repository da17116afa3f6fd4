// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolation of a program with the library from its children: they have copies of
 * all its handles, which are worth nothing to them, and none of its files and
 * rings. Each attempt is refused with the documented code, and the parent finds
 * its memory and its rings as they were, byte for byte.
 *
 * Needs two NICs and root; with the argument "fds" it tells how many device
 * files it was started with.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>

#include "common_matrix.h"
#include "common_victim.h"

#define SEED	4711
#define WORD_CODE	2
#define MAX_RINGS	8

/* The parent: all of this is in its children's memory, too. */
static struct {
	struct nic n;
	struct region r;
	gni_ep_handle_t ep;
	gni_cq_handle_t told;
	gni_comp_chan_handle_t chan;
	int chan_fd;
	gni_post_descriptor_t d;
	unsigned char *mem;
	unsigned char *was;
	char *ring[MAX_RINGS];
	char *ring_was[MAX_RINGS];
	size_t ring_len[MAX_RINGS];
	int rings;
	int fd[MAX_RINGS];
	int fds;
} p;

#define PARENT_LEN	(4 * PAGE)

static bool is_device(const char *path)
{
	return !strncmp(path, "/dev/kgni", 9);
}

/* Where the library has mapped its rings. */
static void find_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long begin, end;
	char line[512], path[256];

	must(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &begin, &end, path) != 3 ||
		    !is_device(path) || p.rings == MAX_RINGS)
			continue;
		p.ring[p.rings] = (char *)begin;
		p.ring_len[p.rings] = end - begin;
		p.ring_was[p.rings] = map_private(end - begin);
		memcpy(p.ring_was[p.rings], p.ring[p.rings], end - begin);
		p.rings++;
	}
	fclose(maps);
	must(p.rings == 3);
}

/* Calls @found with the number of each device file that this process has. */
static int device_files(int *numbers, int max)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[PATH_MAX], target[PATH_MAX];
	struct dirent *entry;
	int n = 0;
	ssize_t len;

	must(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = 0;
		if (is_device(target) && n < max)
			numbers[n++] = atoi(entry->d_name);
	}
	closedir(dir);
	return n;
}

static void parent_begin(void)
{
	gni_smsg_attr_t attr;

	drop_to(USER);
	nic_open(&p.n, 0, VICTIM_ID);
	p.mem = map_private(PARENT_LEN);
	p.was = map_private(PARENT_LEN);
	fill(p.mem, PARENT_LEN, SEED);
	memset(p.mem, 0, PAGE);
	memcpy(p.was, p.mem, PARENT_LEN);
	region_open(&p.n, p.mem, PARENT_LEN, p.n.rx, 0, &p.r);
	p.ep = ep_open(&p.n, p.n.pe, VICTIM_ID);
	attr = (gni_smsg_attr_t){
		.msg_type = GNI_SMSG_TYPE_MBOX, .mbox_maxcredit = 4, .msg_maxsize = 64,
		.msg_buffer = p.mem, .buff_size = PAGE, .mem_hndl = p.r.mh,
	};
	must_do(GNI_SmsgInit(p.ep, &attr, &attr));
	desc_init(&p.d, GNI_POST_CQWRITE, GNI_CQMODE_GLOBAL_EVENT);
	p.d.remote_mem_hndl = p.r.mh;
	must_do(post(p.ep, &p.d));
	must_do(GNI_CompChanCreate(p.n.h, &p.chan));
	must_do(GNI_CompChanFd(p.chan, &p.chan_fd));
	p.told = cq_open(&p.n, 16, GNI_CQ_BLOCKING);
	must_do(GNI_CqAttachCompChan(p.told, p.chan));
	find_rings();
	p.fds = device_files(p.fd, MAX_RINGS);
	must(p.fds > 0);
}

static unsigned int parent_changes(void)
{
	unsigned int changes = memcmp(p.mem, p.was, PARENT_LEN) ? CHANGED_MEMORY : 0;
	int i;

	for (i = 0; i < p.rings; i++)
		if (memcmp(p.ring[i], p.ring_was[i], p.ring_len[i]))
			changes |= CHANGED_RINGS;
	return changes;
}

static void row_child_post(int type)
{
	desc_init(&p.d, type, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&p.d, p.mem, &p.r.mh, &p.r, PAGE, 8);
	note(post(p.ep, &p.d));
}

static void row_child_chain(int unused)
{
	gni_ct_put_post_descriptor_t more = { .length = 8 };

	(void)unused;
	desc_init(&p.d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&p.d, p.mem, &p.r.mh, &p.r, PAGE, 8);
	p.d.next_descr = NULL;
	note(GNI_CtPostFma(p.ep, &p.d));
	more.remote_addr = p.d.remote_addr;
	more.remote_mem_hndl = p.d.remote_mem_hndl;
	p.d.next_descr = &more;
	note(GNI_CtPostFma(p.ep, &p.d));
}

static void row_child_channel(int unused)
{
	gni_comp_chan_handle_t chan;
	gni_cq_handle_t cq;
	int fd;

	(void)unused;
	note(GNI_CompChanCreate(p.n.h, &chan));
	note(GNI_CompChanFd(p.chan, &fd));
	note(GNI_CompChanGetEvent(p.chan, &cq));
	note(GNI_CqAttachCompChan(p.n.tx, p.chan));
	note(GNI_CqArmCompChan(&p.told, 1));
	note(GNI_CompChanDestroy(p.chan));
}

static void row_child_channel_file(int unused)
{
	uint64_t one = 1;

	(void)unused;
	note(write(p.chan_fd, &one, sizeof(one)) < 0 ? -errno : GNI_RC_SUCCESS);
	note(read(p.chan_fd, &one, sizeof(one)) < 0 ? -errno : GNI_RC_SUCCESS);
}

static void row_child_mask(int unused)
{
	(void)unused;
	note(GNI_CqInterruptMask(p.told));
	note(GNI_CqInterruptUnmask(p.told));
}

static void row_child_regions(int unused)
{
	gni_mem_segment_t seg = { (uint64_t)p.mem, PAGE };
	gni_mem_handle_t mh = { 0 };
	uint64_t addr, length;

	(void)unused;
	note(GNI_MemRegisterSegments(p.n.h, &seg, 1, NULL, 0, -1, &mh));
	note(GNI_SetMddResources(p.n.h, 8));
	note(GNI_MemQueryHndls(p.n.h, -1, &mh, &addr, &length));
	mh = p.r.mh;
	note(GNI_MemRegister(p.n.h, (uint64_t)p.mem, PAGE, NULL, GNI_MEM_MDD_CLONE, -1, &mh));
	note(GNI_MemRegister(p.n.h, (uint64_t)p.mem, PAGE, NULL, GNI_MEM_UPDATE_REGION, -1, &mh));
}

static void row_child_checkpoint(int unused)
{
	(void)unused;
	note(GNI_EpIdle(p.ep));
	note(GNI_CdmCheckpoint(p.n.cdm));
	note(GNI_CdmResume(p.n.cdm));
}

static void row_child_smsg(int unused)
{
	void *header;

	(void)unused;
	note(GNI_SmsgSend(p.ep, "spam", 5, NULL, 0, 1));
	note(GNI_SmsgGetNext(p.ep, &header));
	note(GNI_SmsgRelease(p.ep));
}

static void row_child_events(int unused)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e = 0;
	uint32_t which;

	(void)unused;
	note(GNI_CqGetEvent(p.n.rx, &e));
	note(GNI_CqTestEvent(p.n.rx));
	note(GNI_CqWaitEvent(p.n.rx, 0, &e));
	note(GNI_CqVectorMonitor(&p.n.rx, 1, 0, &which));
	note(GNI_GetCompleted(p.n.tx, e, &d));
}

static void row_child_memory(int unused)
{
	gni_mem_handle_t mh = p.r.mh;

	(void)unused;
	note(GNI_MemDeregister(p.n.h, &mh));
	note(GNI_MemRegister(p.n.h, (uint64_t)p.mem, PAGE, NULL, 0, -1, &mh));
}

static void row_child_dgram(int unused)
{
	char data[8] = "";

	(void)unused;
	note(GNI_EpPostData(p.ep, data, 8, data, 8));
	note(GNI_EpPostDataCancel(p.ep));
}

static void row_child_end(int unused)
{
	(void)unused;
	note(GNI_EpUnbind(p.ep));
	note(GNI_EpDestroy(p.ep));
	note(GNI_CqDestroy(p.n.tx));
	note(GNI_CqDestroy(p.n.rx));
	note(GNI_CdmDestroy(p.n.cdm));
}

static void row_child_make(int unused)
{
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	gni_cq_handle_t cq;
	uint32_t pe;

	(void)unused;
	note(GNI_CdmAttach(p.n.cdm, 1, &pe, &nic));
	note(GNI_CqCreate(p.n.h, 4, 0, GNI_CQ_NOBLOCK, NULL, NULL, &cq));
	note(GNI_EpCreate(p.n.h, NULL, &ep));
}

static void row_child_files(int unused)
{
	int i;

	(void)unused;
	for (i = 0; i < p.fds; i++)
		note(fcntl(p.fd[i], F_GETFD) < 0 ? -errno : GNI_RC_SUCCESS);
}

static void row_child_rings(int unused)
{
	unsigned char there[512];
	int i;

	(void)unused;
	for (i = 0; i < p.rings; i++)
		note(mincore(p.ring[i], p.ring_len[i], there) ? -errno : GNI_RC_SUCCESS);
}

/* The child has a copy. */
static void row_child_write(int unused)
{
	(void)unused;
	memset(p.mem, 0x66, PARENT_LEN);
	note(GNI_RC_SUCCESS);
}

/* A child that is made without fork() and runs another program. */
static void row_child_exec(int unused)
{
	char *const argv[] = { "children", "fds", NULL };
	int status = 0;
	pid_t pid;

	(void)unused;
	must(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ));
	must(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	note(WEXITSTATUS(status) ? GNI_RC_SUCCESS : -EBADF);
}

#define PARAM	GNI_RC_INVALID_PARAM

static const struct row child_rows[] = {
	ROW("GNI_PostFma()", row_child_post, GNI_POST_FMA_PUT, PARAM, UNCOUNTED),
	ROW("GNI_PostFma(), get", row_child_post, GNI_POST_FMA_GET, PARAM, UNCOUNTED),
	ROW("GNI_PostRdma()", row_child_post, GNI_POST_RDMA_PUT, PARAM, UNCOUNTED),
	ROW("GNI_PostCqWrite()", row_child_post, GNI_POST_CQWRITE, PARAM, UNCOUNTED),
	ROW("GNI_CtPostFma()", row_child_chain, 0, PARAM, UNCOUNTED),
	ROW("GNI_CompChan...(), GNI_Cq...CompChan()", row_child_channel, 0, PARAM, UNCOUNTED),
	ROW("use its channel's file", row_child_channel_file, 0, -EBADF, UNCOUNTED),
	ROW("GNI_CqInterrupt...()", row_child_mask, 0, PARAM, UNCOUNTED),
	ROW("regions of other kinds", row_child_regions, 0, PARAM, UNCOUNTED),
	ROW("GNI_EpIdle(), GNI_CdmCheckpoint() ...", row_child_checkpoint, 0, PARAM, UNCOUNTED),
	ROW("GNI_Smsg...()", row_child_smsg, 0, PARAM, UNCOUNTED),
	ROW("GNI_Cq...Event(), GNI_GetCompleted()", row_child_events, 0, PARAM, UNCOUNTED),
	ROW("GNI_MemDeregister(), GNI_MemRegister()", row_child_memory, 0, PARAM, UNCOUNTED),
	ROW("GNI_EpPostData...()", row_child_dgram, 0, PARAM, UNCOUNTED),
	ROW("GNI_CdmAttach(), GNI_..Create()", row_child_make, 0, PARAM, UNCOUNTED),
	ROW("GNI_...Destroy()", row_child_end, 0, PARAM, UNCOUNTED),
	ROW("use its files", row_child_files, 0, -EBADF, UNCOUNTED),
	ROW("touch its rings", row_child_rings, 0, -ENOMEM, UNCOUNTED),
	ROW("write to its memory: a copy", row_child_write, 0, GNI_RC_SUCCESS, UNCOUNTED),
	ROW("its files after exec", row_child_exec, 0, -EBADF, UNCOUNTED),
};

static void child_main(void *arg)
{
	const struct row *row = arg;

	row->fn(row->arg);
	shm->word[WORD_CODE] = (uint64_t)(int64_t)trial.got;
	shm->word[WORD_CODE + 1] = trial.attempts;
	shm->word[WORD_CODE + 2] = trial.refused;
}

static void child_row(const struct row *row)
{
	row_begin(row->code);
	if (row->fn == row_child_exec) {
		child_main((void *)row);
	} else {
		reap(peer(child_main, (void *)row));
		trial.got = (int)(int64_t)shm->word[WORD_CODE];
		trial.attempts = shm->word[WORD_CODE + 1];
		trial.refused = shm->word[WORD_CODE + 2];
	}
	refused_row(row, "child, by the library", parent_changes());
}

/* What the children tried in vain works here. */
static void parent_end(void)
{
	gni_cq_entry_t e;

	is_rc(next_event(p.n.rx, &e), GNI_RC_SUCCESS);
	is_rc(complete(p.n.tx, &p.d, NULL), GNI_RC_SUCCESS);
	is_rc(GNI_SmsgSend(p.ep, "self", 5, NULL, 0, 1), GNI_RC_SUCCESS);
	is_rc(next_event(p.n.tx, &e), GNI_RC_SUCCESS);
	is_rc(GNI_MemDeregister(p.n.h, &p.r.mh), GNI_RC_SUCCESS);
	is_rc(GNI_EpDestroy(p.ep), GNI_RC_SUCCESS);
	nic_close(&p.n);
}

static void test_library_child(void)
{
	unsigned int i;

	parent_begin();
	print_head("attacker");
	for (i = 0; i < ARRAY_SIZE(child_rows); i++)
		child_row(&child_rows[i]);
	parent_end();
}

static void test_totals(void)
{
	totals_check(ARRAY_SIZE(child_rows), 0);
}

static const struct test tests[] = {
	CASE("a child of a program with the library can not", test_library_child),
	CASE("nothing was left out", test_totals),
};

int main(int argc, char **argv)
{
	int numbers[64];

	if (argc > 1 && !strcmp(argv[1], "fds"))
		return device_files(numbers, ARRAY_SIZE(numbers));
	totals_begin();
	return RUN_TESTS(tests);
}
