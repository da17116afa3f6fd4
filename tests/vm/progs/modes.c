// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modes of communication domains, and what the environment changes.
 */
#include "common.h"

#define GLOBAL		GNI_CQMODE_GLOBAL_EVENT
#define SHARED		GNI_CDM_MODE_FMA_SHARED
#define DEDICATED	GNI_CDM_MODE_FMA_DEDICATED

static uint64_t fma_held(void)
{
	gni_dev_res_desc_t res = { 0 };

	is_rc(GNI_GetDevResInfo(0, GNI_DEV_RES_FMA, &res), GNI_RC_SUCCESS);
	return res.held;
}

/* How many FMA descriptors a domain with these modes takes. */
static unsigned int fma_taken(uint32_t modes)
{
	uint64_t before = fma_held(), with;
	struct nic n;

	nic_open_modes(&n, 0, 1, modes);
	with = fma_held();
	nic_close(&n);
	is_u64(fma_held(), before);
	return with - before;
}

static void test_fma(void)
{
	must(unsetenv("UGNI_FMA_SHARED") == 0);
	is_u64(fma_taken(0), 1);
	is_u64(fma_taken(DEDICATED), 1);
	is_u64(fma_taken(SHARED), 0);
	is_u64(fma_taken(SHARED | DEDICATED), 0);
	must(setenv("UGNI_FMA_SHARED", "1", 1) == 0);
	is_u64(fma_taken(0), 0);
	is_u64(fma_taken(DEDICATED), 0);
	is_u64(fma_taken(SHARED), 0);
	must(setenv("UGNI_FMA_SHARED", "0", 1) == 0);
	is_u64(fma_taken(SHARED), 1);
	is_u64(fma_taken(SHARED | DEDICATED), 1);
	must(setenv("UGNI_FMA_SHARED", "maybe", 1) == 0);
	is_u64(fma_taken(SHARED), 0);
	is_u64(fma_taken(DEDICATED), 1);
}

/* Every bit alone, those that clients set, and all: a domain that works. */
static void works(uint32_t modes)
{
	uint64_t *mem = map_private(PAGE), value = modes;
	gni_post_descriptor_t d;
	struct region r;
	struct nic n;

	nic_open_modes(&n, 0, 1, modes);
	region_open(&n, mem, PAGE, NULL, 0, &r);
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, &value, NULL, &r, 8, 8);
	is_rc(post_wait(ep_open(&n, n.pe, 1), n.tx, &d), GNI_RC_SUCCESS, "modes %#x", modes);
	is_u64(mem[1], modes);
	is_rc(GNI_CdmDestroy(n.cdm), GNI_RC_SUCCESS);
	munmap(mem, PAGE);
}

static void test_modes(void)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++)
		works(1U << bit);
	works(GNI_CDM_MODE_FORK_NOCOPY | GNI_CDM_MODE_FORK_FULLCOPY | GNI_CDM_MODE_FORK_PARTCOPY);
	works(GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_ERR_ALL_KILL);
	works(GNI_CDM_MODE_MDD_DEDICATED | GNI_CDM_MODE_MDD_SHARED);
	works(GNI_CDM_MODE_DLA_ENABLE_FORWARDING | GNI_CDM_MODE_DLA_DISABLE_FORWARDING);
	works(GNI_CDM_MODE_MASK);
	works(~0U);
}

/* --- UGNI_DEBUG ----------------------------------------------------------------- */

/* Calls that fail in a way that the driver, or the target, finds. */
static void fail_calls(void)
{
	gni_mem_handle_t none = { 0 }, mh;
	uint64_t *mem = map_private(PAGE);
	gni_post_descriptor_t d, *done;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	gni_cq_entry_t e;
	struct region r;
	struct nic n;
	uint32_t pe;

	nic_open(&n, 0, 1);
	region_open(&n, mem, PAGE, NULL, 0, &r);
	ep = ep_open(&n, n.pe, 1);
	desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
	desc_move(&d, mem, &r.mh, &r, 0, 8);
	d.remote_addr = 0x1003;
	GNI_PostFma(ep, &d);
	d.type = GNI_POST_AMO;
	d.amo_cmd = 0xabc;
	GNI_PostFma(ep, &d);
	desc_init(&d, GNI_POST_RDMA_PUT, GLOBAL);
	desc_move(&d, (void *)0x5000, &none, &r, 0, 24);
	GNI_PostRdma(ep, &d);
	GNI_MemRegister(n.h, 0x5000, 0, NULL, 0, -1, &mh);
	GNI_CqCreate(n.h, 0, 3, 0, NULL, NULL, &cq);
	must_do(GNI_CdmCreate(7, 0, 0x77, 0, &cdm));
	GNI_CdmAttach(cdm, 0, &pe, &nic);
	GNI_CdmAttach(cdm, 60, &pe, &nic);
	GNI_CqGetEvent(n.tx, &e);	/* nothing there is no error */
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, mem, NULL, &r, 2 * PAGE, 8);
	must_do(GNI_PostFma(ep, &d));
	GNI_CqGetEvent(n.tx, &e);
	GNI_GetCompleted(n.tx, e, &done);
	GNI_EpDestroy((void *)n.tx);
}

static const char *const expected[] = {
	"GNI_PostFma: GNI_RC_ALIGNMENT_ERROR: remote_addr 0x1003 is not a multiple of 4",
	"GNI_PostFma: GNI_RC_INVALID_PARAM: there is no amo_cmd 0xabc",
	"GNI_PostRdma: GNI_RC_INVALID_PARAM: the driver refused; local_addr 0x5000, length 24, ",
	"GNI_MemRegister: GNI_RC_INVALID_PARAM: the driver refused; address is 0x5000, length 0, ",
	"GNI_CqCreate: GNI_RC_INVALID_PARAM: the driver refused; entry_count is 0, delay_count 3, ",
	"GNI_CdmAttach: GNI_RC_INVALID_PARAM: the driver refused; attaching with ptag 0, cookie 0x77",
	"GNI_CdmAttach: GNI_RC_NO_MATCH: a call of the driver failed with ENOENT; opening /dev/kgni60",
	"GNI_CqGetEvent: GNI_RC_TRANSACTION_ERROR: event 0x",
	"GNI_GetCompleted: GNI_RC_TRANSACTION_ERROR: event 0x",
	"GNI_EpDestroy: GNI_RC_INVALID_PARAM: ep_hndl 0x",
};

/* Run the calls above, in a process that was begun with a variable. */
static FILE *run_debug(const char *level)
{
	int pipes[2];
	pid_t pid;

	must(pipe(pipes) == 0);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		if (level)
			setenv("UGNI_DEBUG", level, 1);
		else
			unsetenv("UGNI_DEBUG");
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execl("/proc/self/exe", "modes", "fail", NULL);
		_exit(127);
	}
	close(pipes[1]);
	return fdopen(pipes[0], "r");
}

static void end_debug(FILE *f)
{
	int status = 0;

	fclose(f);
	must(wait(&status) > 0);
	is_u64(status, 0);
}

static void test_debug(void)
{
	char line[512];
	unsigned int i;
	FILE *f;

	f = run_debug("1");
	for (i = 0; i < ARRAY_SIZE(expected) && fgets(line, sizeof(line), f); i++)
		ok(!strncmp(line, expected[i], strlen(expected[i])), "%s", line);
	is_u64(i, ARRAY_SIZE(expected));
	ok(!fgets(line, sizeof(line), f), "%s", line);
	end_debug(f);
}

static void test_quiet(void)
{
	const char *const levels[] = { NULL, "0", "" };
	char line[512];
	unsigned int i;
	FILE *f;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		f = run_debug(levels[i]);
		ok(!fgets(line, sizeof(line), f), "%s", line);
		end_debug(f);
	}
}

/* With 2 a queue that is empty is told of as well. */
static void test_verbose(void)
{
	unsigned int lines = 0, empty = 0;
	char line[512];
	FILE *f;

	f = run_debug("2");
	for (; fgets(line, sizeof(line), f); lines++)
		empty += !strcmp(line, "GNI_CqGetEvent: GNI_RC_NOT_DONE: there is no event\n");
	is_u64(lines, ARRAY_SIZE(expected) + 1);
	is_u64(empty, 1);
	end_debug(f);
}

static const struct test tests[] = {
	CASE("FMA descriptors, and UGNI_FMA_SHARED", test_fma),
	CASE("all modes", test_modes),
	CASE("UGNI_DEBUG", test_debug),
	CASE("no UGNI_DEBUG", test_quiet),
	CASE("more of UGNI_DEBUG", test_verbose),
};

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		shm = map_shared(sizeof(*shm));
		fail_calls();
		return failures() > 0;
	}
	return RUN_TESTS(tests);
}
