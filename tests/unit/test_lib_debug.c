// SPDX-License-Identifier: GPL-2.0-only
/* UGNI_DEBUG: a line for every call that fails, and what it says. */
#include "fake_driver.h"

static struct fake_side s;
static gni_cq_entry_t e;
static gni_post_descriptor_t post, *d = &post;
static gni_smsg_attr_t attr = { .msg_type = 99 };
static gni_post_state_t post_state;
static gni_mem_handle_t mem;
static gni_msgq_attr_t shape;
static gni_msgq_ep_attr_t node;
static u64 word;
static u32 a, b;
static u8 tag;
static int n;
static char text[256];
static void *msg;

/* Every call of the library, in a way that fails at once. */
#define NONE	((void *)0x1230)
#define CALL(name, ...)	static gni_return_t call_##name(void) { return name(__VA_ARGS__); }
#define CALLS									\
	X(GNI_CdmCreate, 1, 2, 3, 0, NULL)					\
	X(GNI_CdmDestroy, NONE)							\
	X(GNI_CdmAttach, NONE, 0, &a, (void *)&word)				\
	X(GNI_CdmCheckpoint, NONE)						\
	X(GNI_CdmResume, NONE)							\
	X(GNI_CqCreate, NONE, 1, 0, 0, NULL, NULL, (void *)&word)		\
	X(GNI_CqDestroy, NONE)							\
	X(GNI_CqGetEvent, NONE, &e)						\
	X(GNI_CqTestEvent, NONE)						\
	X(GNI_GetCompleted, s.cq, 0, &d)					\
	X(GNI_CqWaitEvent, NONE, 1, &e)						\
	X(GNI_CqVectorWaitEvent, NULL, 1, 1, &e, &a)				\
	X(GNI_CqVectorMonitor, &s.cq, 0, 1, &a)					\
	X(GNI_CqInterruptMask, NONE)						\
	X(GNI_CqInterruptUnmask, NONE)						\
	X(GNI_CompChanCreate, NONE, (void *)&word)				\
	X(GNI_CompChanDestroy, NONE)						\
	X(GNI_CompChanFd, NONE, &n)						\
	X(GNI_CompChanGetEvent, NONE, (void *)&word)				\
	X(GNI_CqAttachCompChan, s.cq, NONE)					\
	X(GNI_CqArmCompChan, &s.cq, 1)						\
	X(GNI_CqErrorStr, 0, text, 3)						\
	X(GNI_CqErrorRecoverable, ~0ULL, &a)					\
	X(GNI_EpPostData, NONE, NULL, 0, NULL, 0)				\
	X(GNI_EpPostDataWId, s.ep, NULL, 0, NULL, 0, ~0ULL)			\
	X(GNI_EpPostDataTest, NONE, &post_state, &a, &b)			\
	X(GNI_EpPostDataTestById, s.ep, ~0ULL, &post_state, &a, &b)		\
	X(GNI_EpPostDataWait, s.ep, 0, &post_state, &a, &b)			\
	X(GNI_EpPostDataWaitById, NONE, 1, 1, &post_state, &a, &b)		\
	X(GNI_PostDataProbe, s.nic, NULL, &b)					\
	X(GNI_PostDataProbeById, NONE, &word)					\
	X(GNI_PostdataProbeWaitById, NONE, 1, &word)				\
	X(GNI_EpPostDataCancel, NONE)						\
	X(GNI_EpPostDataCancelById, s.ep, ~0ULL)				\
	X(GNI_EpCreate, NONE, NULL, (void *)&word)				\
	X(GNI_EpSetEventData, NONE, 1, 2)					\
	X(GNI_EpBind, s.ep, 1, 2)						\
	X(GNI_EpUnbind, NONE)							\
	X(GNI_EpIdle, NONE)							\
	X(GNI_EpDestroy, NONE)							\
	X(GNI_CdmGetNicAddress, 63, &a, &b)					\
	X(GNI_GetNumLocalDevices, NULL)						\
	X(GNI_GetLocalDeviceIds, 0, &n)						\
	X(GNI_GetVersion, NULL)							\
	X(GNI_GetVersionInformation, NULL)					\
	X(GNI_GetDeviceType, NULL)						\
	X(GNI_GetDevResInfo, 63, 1, (void *)text)				\
	X(GNI_GetJobResInfo, 0, 1, 0, (void *)text)				\
	X(GNI_GetPtag, 64, 1, &tag)						\
	X(GNI_GetNttGran, 64, &a)						\
	X(GNI_ConfigureJob, 64, 1, 1, 1, NULL)					\
	X(GNI_ConfigureNTT, 0, NULL, &a)					\
	X(GNI_ConfigureNTTandJob, 64, 1, 1, 1, NULL, NULL, NULL)		\
	X(GNI_SuspendJob, 64, 1, 1, 1, 0)					\
	X(GNI_ResumeJob, 64, 1, 1, 1)						\
	X(GNI_SetBIConfig, 64, 1, 1, 1)						\
	X(GNI_GetBIConfig, 64, NULL)						\
	X(GNI_BISyncWait, 64, 1)						\
	X(GNI_SubscribeErrors, NONE, 0, 1, 0, (void *)&word)			\
	X(GNI_ReleaseErrors, NONE)						\
	X(GNI_GetErrorMask, NONE, &tag)						\
	X(GNI_SetErrorMask, NONE, 1, NULL)					\
	X(GNI_GetErrorEvent, NONE, (void *)text)				\
	X(GNI_WaitErrorEvents, NONE, (void *)text, 1, 0, &a)			\
	X(GNI_SetErrorPtag, NONE, 1)						\
	X(GNI_GetNicStat, s.nic, GNI_NUM_STATS, &a)				\
	X(GNI_ResetNicStat, NONE, 0)						\
	X(GNI_MemRegister, s.nic, 1, 2, NONE, 0, 0, &mem)			\
	X(GNI_MemRegisterSegments, s.nic, NULL, 2, NULL, 0, 0, &mem)		\
	X(GNI_SetMddResources, NONE, 1)						\
	X(GNI_RebuildMemHndl, &mem, 1, &mem)					\
	X(GNI_MemQueryHndls, NONE, -1, &mem, &word, &word)			\
	X(GNI_MemDeregister, NONE, &mem)					\
	X(GNI_MemHndlQueryAttr, &mem, GNI_MEMHNDL_ATTR_VMDH, &n)		\
	X(GNI_PostRdma, s.ep, &post)						\
	X(GNI_PostFma, NONE, &post)						\
	X(GNI_PostCqWrite, s.ep, NULL)						\
	X(GNI_CtPostFma, s.ep, &post)						\
	X(GNI_CeCreate, NONE, (void *)&word)					\
	X(GNI_CeGetId, NONE, &a)						\
	X(GNI_EpSetCeAttr, s.ep, 0, 32, GNI_CE_CHILD_PE)			\
	X(GNI_CeConfigure, NONE, &s.ep, 1, NULL, NULL, 0x20)			\
	X(GNI_CeCheckResult, NULL, 0)						\
	X(GNI_CeDestroy, NONE)							\
	X(GNI_SmsgBufferSizeNeeded, &attr, &a)					\
	X(GNI_SmsgInit, s.ep, &attr, &attr)					\
	X(GNI_SmsgSendWTag, s.ep, NULL, 0, NULL, 0, 1, 2)			\
	X(GNI_SmsgSend, s.ep, NULL, 1, NULL, 0, 1)				\
	X(GNI_SmsgGetNextWTag, s.ep, &msg, NULL)				\
	X(GNI_SmsgGetNext, s.ep, &msg)						\
	X(GNI_SmsgRelease, s.ep)						\
	X(GNI_SmsgSetDeliveryMode, s.nic, 0x8000)				\
	X(GNI_SmsgSetMaxRetrans, NONE, 1)					\
	X(GNI_MsgqInit, NONE, NULL, NULL, NULL, &shape, (void *)&word)		\
	X(GNI_MsgqRelease, NONE)						\
	X(GNI_MsgqIdle, NONE)							\
	X(GNI_MsgqGetConnAttrs, NONE, 1, &node, &a)				\
	X(GNI_MsgqConnect, NONE, 1, &node)					\
	X(GNI_MsgqConnRelease, NONE, 1)						\
	X(GNI_MsgqSend, NONE, s.ep, NULL, 0, NULL, 0, 1, 2)			\
	X(GNI_MsgqProgress, NONE, 0)						\
	X(GNI_MsgqSize, &shape, &a)

#define X	CALL
CALLS
#undef X

static const struct {
	const char *name;
	gni_return_t (*call)(void);
} calls[] = {
#define X(name, ...)	{ #name, call_##name },
	CALLS
#undef X
};

/* The line that a call printed, without "NAME: CODE: ". */
static const char *said(const char *name, gni_return_t rc)
{
	static char begin[128];

	snprintf(begin, sizeof(begin), "%s: %s: ", name, gni_err_str[rc]);
	assert_int_equal(fake_lines, 1);
	assert_memory_equal(fake_line, begin, strlen(begin));
	fake_lines = 0;
	return fake_line + strlen(begin);
}

static void test_all(void **state)
{
	gni_return_t rc;
	const char *why;
	u32 i;

	(void)state;
	fake_side(&s, 0, 4);
	post.type = 31;
	for (ugni_debug = 0; ugni_debug < 2; ugni_debug++) {
		for (i = 0; i < ARRAY_SIZE(calls); i++) {
			fake_lines = 0;
			errno = 4711;
			rc = calls[i].call();
			assert_int_equal(errno, 4711);
			assert_int_not_equal(rc, GNI_RC_SUCCESS);
			if (!ugni_debug) {
				assert_int_equal(fake_lines, 0);
				continue;
			}
			why = said(calls[i].name, rc);
			assert_true(strlen(why) > 5 && *why != '(');
		}
	}
	ugni_debug = 0;
	fake_side_end(&s);
}

/* The table above has what the library exports, and no more. */
static void test_table(void **state)
{
	FILE *f = fopen(UGNI_MAP, "r");
	char line[128], name[100];
	u32 i, found = 0;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " GNI_%90[A-Za-z];", name) != 1)
			continue;
		for (i = 0; i < ARRAY_SIZE(calls) && strcmp(calls[i].name + 4, name); i++)
			;
		if (i == ARRAY_SIZE(calls))
			fail_msg("GNI_%s is not in the table of %s", name, __FILE__);
		found++;
	}
	fclose(f);
	assert_int_equal(found, ARRAY_SIZE(calls));
}

#define says(call, name, rc, want)	do {				\
	fake_lines = 0;							\
	assert_int_equal(call, rc);					\
	assert_string_equal(said(name, rc), want);			\
} while (0)

/* The texts of posts, by the rules and by the driver. */
static void test_posts(void **state)
{
	(void)state;
	fake_side(&s, 0, 2);
	ugni_debug = 1;
	fake.post_answer = GNI_RC_ALIGNMENT_ERROR;
	memset(&post, 0, sizeof(post));
	post.type = GNI_POST_FMA_GET;
	post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	post.remote_addr = 0x1003;
	post.length = 8;
	says(GNI_PostFma(s.ep, &post), "GNI_PostFma", GNI_RC_ALIGNMENT_ERROR,
	     "remote_addr 0x1003 is not a multiple of 4");
	post.remote_addr = 0x1000;
	post.length = 7;
	says(GNI_PostFma(s.ep, &post), "GNI_PostFma", GNI_RC_ALIGNMENT_ERROR,
	     "length 0x7 is not a multiple of 4");
	post.type = GNI_POST_FMA_PUT_W_SYNCFLAG;
	post.sync_flag_addr = 0x1004;
	says(GNI_PostFma(s.ep, &post), "GNI_PostFma", GNI_RC_ALIGNMENT_ERROR,
	     "sync_flag_addr 0x1004 is not a multiple of 8");
	fake.post_answer = GNI_RC_INVALID_PARAM;
	post.type = GNI_POST_AMO;
	post.amo_cmd = 0x10d;
	says(GNI_PostFma(s.ep, &post), "GNI_PostFma", GNI_RC_INVALID_PARAM,
	     "there is no amo_cmd 0x10d");
	post.type = GNI_POST_RDMA_PUT;
	post.length = 0;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "length is 0, which only FMA puts may have");
	post.length = 16;
	post.local_addr = 0x2000;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "the driver refused; local_addr 0x2000, length 16, local_mem_hndl 0x0, 0x0");
	post.rdma_mode = 0x8000;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "rdma_mode is 0x8000, its bits are 0x6");
	post.rdma_mode = 0;
	post.src_cq_hndl = NONE;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "src_cq_hndl 0x1230 is no live queue of the NIC handle");
	post.src_cq_hndl = NULL;
	post.cq_mode = 0x80;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "cq_mode is 0x80, its bits are 0x7");
	post.cq_mode = GNI_CQMODE_DUAL_EVENTS;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_INVALID_PARAM,
	     "cq_mode 0x3 needs GNI_CDM_MODE_DUAL_EVENTS");
	post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	fake.post_answer = -ENOMEM;
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_ERROR_NOMEM,
	     "a call of the driver failed with ENOMEM; type is 1, length 16");
	fake.post_answer = 0;
	fake.post_silent = true;
	ok(GNI_PostRdma(s.ep, &post));
	ok(GNI_PostRdma(s.ep, &post));
	says(GNI_PostRdma(s.ep, &post), "GNI_PostRdma", GNI_RC_ERROR_RESOURCE,
	     "2 transactions of the endpoint wait for events, as many as may");
	ugni_debug = 0;
	fake_side_end(&s);
}

static void test_events(void **state)
{
	(void)state;
	fake_side(&s, 0, 4);
	ugni_debug = 1;
	fake.post_status = KGNI_ST_BOUNDS;
	memset(&post, 0, sizeof(post));
	post.type = GNI_POST_CQWRITE;
	post.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	ok(GNI_PostCqWrite(s.ep, &post));
	fake_lines = 0;
	assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_TRANSACTION_ERROR);
	assert_non_null(strstr(said("GNI_CqGetEvent", GNI_RC_TRANSACTION_ERROR),
			       ": range is not inside the remote registration"));
	assert_int_equal(GNI_GetCompleted(s.cq, e, &d), GNI_RC_TRANSACTION_ERROR);
	assert_non_null(strstr(said("GNI_GetCompleted", GNI_RC_TRANSACTION_ERROR), "range"));
	/* What is not there yet is no error, but for who wants to see all. */
	assert_int_equal(GNI_CqGetEvent(s.cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqWaitEvent(s.cq, 0, &e), GNI_RC_TIMEOUT);
	fake.dgram_answer = GNI_RC_NO_MATCH;
	assert_int_equal(GNI_PostDataProbe(s.nic, &a, &b), GNI_RC_NO_MATCH);
	assert_int_equal(GNI_PostDataProbeById(s.nic, &word), GNI_RC_NO_MATCH);
	assert_int_equal(fake_lines, 0);
	assert_int_equal(GNI_EpPostDataTestById(s.ep, 0x12, &post_state, &a, &b),
			 GNI_RC_NO_MATCH);
	assert_string_equal(said("GNI_EpPostDataTestById", GNI_RC_NO_MATCH),
			    "the driver refused; datagram_id is 0x12");
	ugni_debug = 2;
	says(GNI_CqGetEvent(s.cq, &e), "GNI_CqGetEvent", GNI_RC_NOT_DONE, "there is no event");
	says(GNI_CqWaitEvent(s.cq, 0, &e), "GNI_CqWaitEvent", GNI_RC_TIMEOUT, "no event came");
	says(GNI_PostDataProbe(s.nic, &a, &b), "GNI_PostDataProbe", GNI_RC_NO_MATCH,
	     "the driver refused");
	ugni_debug = 0;
	fake_side_end(&s);
}

/* Lines of threads do not mix, nor do their reasons: each checks its own. */
#define THREADS		3
#define COMPLAINTS	2000

static void *complain(void *arg)
{
	u32 i;

	for (i = 0; i < COMPLAINTS; i++)
		assert_int_equal(GNI_EpIdle(arg), GNI_RC_INVALID_PARAM);
	return NULL;
}

static u32 seen[THREADS];

static void check_line(const char *line)
{
	unsigned long value;

	if (sscanf(line, "GNI_EpIdle: GNI_RC_INVALID_PARAM: ep_hndl %lx is no live", &value) != 1)
		fail_msg("%s", line);
	assert_in_range(value, 1, THREADS);
	seen[value - 1]++;
}

static void test_threads(void **state)
{
	pthread_t thread[THREADS];
	uintptr_t i;

	(void)state;
	ugni_debug = 1;
	fake_each_line = check_line;
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, complain, (void *)(i + 1));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(seen[i], COMPLAINTS);
	fake_each_line = NULL;
	ugni_debug = 0;
}

static void test_level(void **state)
{
	static const struct {
		const char *value;
		int level;
	} cases[] = { { NULL, 0 }, { "", 0 }, { "0", 0 }, { "1", 1 }, { "2", 2 }, { "no", 0 } };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (cases[i].value)
			setenv("UGNI_DEBUG", cases[i].value, 1);
		else
			unsetenv("UGNI_DEBUG");
		ugni_debug_init();
		assert_int_equal(ugni_debug, cases[i].level);
	}
	ugni_debug = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_posts),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
