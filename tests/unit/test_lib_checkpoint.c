// SPDX-License-Identifier: GPL-2.0-only
/* Checkpoints: no system call on files that may be gone, and what is left then. */
#include "fake_driver.h"

#define invalid(call)	assert_int_equal(call, GNI_RC_INVALID_PARAM)

/* Everything a side can have, with a message and two posts under way. */
struct whole {
	struct fake_side side;
	gni_cq_handle_t other_cq;
	gni_ep_handle_t idle_ep;
	gni_mem_handle_t mem;
	gni_smsg_attr_t attr;
	gni_post_descriptor_t fma;
	gni_post_descriptor_t rdma;
};

static u64 word;

static void whole(struct whole *w)
{
	memset(w, 0, sizeof(*w));
	fake_side(&w->side, 0, 8);
	ok(GNI_CqCreate(w->side.nic, 8, 0, 0, NULL, NULL, &w->other_cq));
	ok(GNI_EpCreate(w->side.nic, w->side.cq, &w->idle_ep));
	ok(GNI_MemRegister(w->side.nic, 0x1000, 8, NULL, 0, (u32)-1, &w->mem));
	w->attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	w->attr.mbox_maxcredit = 2;
	w->attr.msg_maxsize = 64;
	ok(GNI_SmsgBufferSizeNeeded(&w->attr, &w->attr.buff_size));
	w->attr.msg_buffer = calloc(1, w->attr.buff_size);
	ok(GNI_SmsgInit(w->side.ep, &w->attr, &w->attr));
	w->fma.type = GNI_POST_FMA_PUT;
	w->fma.cq_mode = GNI_CQMODE_GLOBAL_EVENT;
	w->fma.length = sizeof(word);
	w->fma.local_addr = (uintptr_t)&word;
	w->fma.remote_addr = (uintptr_t)&word;
	w->rdma = w->fma;
	w->rdma.type = GNI_POST_RDMA_PUT;
	w->rdma.src_cq_hndl = w->other_cq;
	ok(GNI_EpPostData(w->side.ep, NULL, 0, NULL, 0));
}

static void busy(struct whole *w)
{
	fake.post_silent = true;
	ok(GNI_PostFma(w->side.ep, &w->fma));
	ok(GNI_PostRdma(w->side.ep, &w->rdma));
	ok(GNI_SmsgSend(w->side.ep, "x", 1, NULL, 0, 1));
	fake.post_silent = false;
}

static void whole_end(struct whole *w)
{
	ok(GNI_CdmDestroy(w->side.cdm));
	free(w->attr.msg_buffer);
}

/* What needs the driver is refused, and the driver not asked. */
static void test_refused(void **state)
{
	gni_post_descriptor_t cqwrite = { .type = GNI_POST_CQWRITE }, *d;
	struct whole w;
	unsigned int calls;
	gni_post_state_t post_state;
	gni_nic_handle_t nic;
	gni_mem_handle_t mem;
	gni_cq_handle_t cq;
	gni_cq_entry_t e;
	u32 a, b;
	u64 id;

	(void)state;
	fake.devices = 2;
	whole(&w);
	ok(GNI_PostFma(w.side.ep, &w.fma));	/* its event waits in the ring */
	ok(GNI_CdmCheckpoint(w.side.cdm));
	calls = fake.calls;
	invalid(GNI_PostFma(w.side.ep, &w.fma));
	invalid(GNI_PostRdma(w.side.ep, &w.rdma));
	invalid(GNI_PostCqWrite(w.side.ep, &cqwrite));
	invalid(GNI_SmsgSend(w.side.ep, "x", 1, NULL, 0, 1));
	invalid(GNI_MemRegister(w.side.nic, 0x1000, 8, NULL, 0, (u32)-1, &mem));
	invalid(GNI_CqCreate(w.side.nic, 8, 0, 0, NULL, NULL, &cq));
	invalid(GNI_CqWaitEvent(w.side.cq, 1000, &e));
	invalid(GNI_CqVectorWaitEvent(&w.side.cq, 1, 1000, &e, &a));
	invalid(GNI_CqVectorMonitor(&w.side.cq, 1, 1000, &a));
	invalid(GNI_EpPostData(w.side.ep, NULL, 0, NULL, 0));
	invalid(GNI_EpPostDataWId(w.side.ep, NULL, 0, NULL, 0, 1));
	invalid(GNI_EpPostDataTest(w.side.ep, &post_state, &a, &b));
	invalid(GNI_EpPostDataTestById(w.side.ep, 1, &post_state, &a, &b));
	invalid(GNI_EpPostDataWait(w.side.ep, 1000, &post_state, &a, &b));
	invalid(GNI_EpPostDataWaitById(w.side.ep, 1, 1000, &post_state, &a, &b));
	invalid(GNI_EpPostDataCancel(w.side.ep));
	invalid(GNI_EpPostDataCancelById(w.side.ep, 1));
	invalid(GNI_PostDataProbe(w.side.nic, &a, &b));
	invalid(GNI_PostDataProbeById(w.side.nic, &id));
	invalid(GNI_PostdataProbeWaitById(w.side.nic, 1000, &id));
	assert_int_equal(GNI_CdmAttach(w.side.cdm, 1, &a, &nic), GNI_RC_INVALID_STATE);
	assert_int_equal(GNI_CdmAttach(w.side.cdm, (u32)-1, &a, &nic), GNI_RC_INVALID_STATE);
	/* The rings may be gone: nobody looks there. */
	assert_int_equal(GNI_CqGetEvent(w.side.cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqTestEvent(w.side.cq), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_EpIdle(w.side.ep), GNI_RC_NOT_DONE);
	assert_int_equal(fake.calls, calls);
	ok(GNI_CdmResume(w.side.cdm));
	ok(GNI_CqWaitEvent(w.side.cq, 1000, &e));
	ok(GNI_GetCompleted(w.side.cq, e, &d));
	assert_ptr_equal(d, &w.fma);
	ok(GNI_PostFma(w.side.ep, &w.fma));
	whole_end(&w);
	fake.devices = 1;
}

/* Every order of taking things apart, without a system call. */
static void test_destroy(void **state)
{
	int files = fake.open_files, mappings = fake.mappings;
	unsigned int calls;
	struct whole w;

	(void)state;
	whole(&w);
	busy(&w);
	assert_int_equal(GNI_EpUnbind(w.side.ep), GNI_RC_NOT_DONE);
	ok(GNI_CdmCheckpoint(w.side.cdm));
	calls = fake.calls;
	ok(GNI_EpUnbind(w.side.ep));
	ok(GNI_EpIdle(w.side.ep));
	ok(GNI_MemDeregister(w.side.nic, &w.mem));
	invalid(GNI_MemDeregister(w.side.nic, NULL));
	assert_int_equal(GNI_CqDestroy(w.side.cq), GNI_RC_ERROR_RESOURCE);
	ok(GNI_CqDestroy(w.other_cq));
	ok(GNI_EpDestroy(w.side.ep));
	ok(GNI_EpDestroy(w.idle_ep));
	ok(GNI_CqDestroy(w.side.cq));
	whole_end(&w);
	assert_int_equal(fake.calls, calls);
	whole(&w);
	busy(&w);
	calls = fake.calls;
	ok(GNI_CdmCheckpoint(w.side.cdm));
	whole_end(&w);
	assert_int_equal(fake.calls, calls);
	invalid(GNI_CqDestroy(w.side.cq));
	invalid(GNI_CdmCheckpoint(w.side.cdm));
	invalid(GNI_CdmResume(w.side.cdm));
	invalid(GNI_CdmCheckpoint(NULL));
	/* Neither the files nor the rings were touched. */
	assert_int_equal(fake.open_files, files + 2);
	assert_int_equal(fake.mappings, mappings + 4);
	fake.open_files = files;
	fake.mappings = mappings;
}

/* Slots of queues that were destroyed so are used again without harm. */
static void test_recycle(void **state)
{
	struct whole w;
	int i;

	(void)state;
	for (i = 0; i < 400; i++) {
		whole(&w);
		ok(GNI_CdmCheckpoint(w.side.cdm));
		whole_end(&w);
		for (u32 id = 1; id < FAKE_CQS; id++)
			if (fake_cq(id))
				fake_cq_destroy(id);
	}
}

static void test_resume(void **state)
{
	struct whole w;
	gni_cq_entry_t e;
	u32 i;

	(void)state;
	whole(&w);
	for (i = 0; i < 3; i++) {
		ok(GNI_CdmCheckpoint(w.side.cdm));
		ok(GNI_CdmCheckpoint(w.side.cdm));
		ok(GNI_CdmResume(w.side.cdm));
		ok(GNI_CdmResume(w.side.cdm));
		ok(GNI_PostFma(w.side.ep, &w.fma));
		ok(GNI_CqGetEvent(w.side.cq, &e));
		ok(GNI_MemDeregister(w.side.nic, &w.mem));
	}
	ok(GNI_EpDestroy(w.side.ep));
	assert_int_equal(fake.dgram_cancel.flags, KGNI_DGRAM_EP_GONE);
	whole_end(&w);
}

/* Messages that arrived are read; credits go back once that is possible. */
static void test_messages(void **state)
{
	struct whole w;
	unsigned int calls;
	gni_cq_entry_t e;
	void *msg;
	u32 i;

	(void)state;
	whole(&w);
	for (i = 0; i < 2; i++)
		ok(GNI_SmsgSend(w.side.ep, &i, sizeof(i), NULL, 0, i));
	ok(GNI_CdmCheckpoint(w.side.cdm));
	calls = fake.calls;
	for (i = 0; i < 2; i++) {
		ok(GNI_SmsgGetNext(w.side.ep, &msg));
		assert_int_equal(*(u32 *)msg, i);
		ok(GNI_SmsgRelease(w.side.ep));
	}
	assert_int_equal(GNI_SmsgSend(w.side.ep, "x", 1, NULL, 0, 1), GNI_RC_NOT_DONE);
	assert_int_equal(fake.calls, calls);
	ok(GNI_CdmResume(w.side.cdm));
	for (i = 0; i < 2; i++)
		ok(GNI_CqGetEvent(w.side.cq, &e));
	ok(GNI_SmsgSend(w.side.ep, &i, sizeof(i), NULL, 0, i));
	ok(GNI_SmsgGetNext(w.side.ep, &msg));
	assert_int_equal(*(u32 *)msg, 2);
	whole_end(&w);
}

/* Files that answer general questions are closed, and opened when asked again. */
static void test_control(void **state)
{
	int files = fake.open_files;
	gni_dev_res_desc_t res;
	struct whole w;
	u8 ptag;

	(void)state;
	ok(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &res));
	assert_int_equal(fake.open_files, files + 1);
	whole(&w);
	ok(GNI_CdmCheckpoint(w.side.cdm));
	assert_int_equal(fake.open_files, files + 1);
	ok(GNI_GetPtag(0, 1, &ptag));
	assert_int_equal(fake.open_files, files + 2);
	ok(GNI_CdmResume(w.side.cdm));
	whole_end(&w);
	assert_int_equal(fake.open_files, files + 1);
}

/* As GNI_EpUnbind() sees it, but nothing changes. */
static void test_idle(void **state)
{
	gni_post_descriptor_t *d;
	gni_cq_entry_t e;
	struct whole w;
	u32 i;

	(void)state;
	whole(&w);
	ok(GNI_EpIdle(w.side.ep));
	ok(GNI_EpIdle(w.idle_ep));	/* not bound, not busy */
	invalid(GNI_EpIdle(NULL));
	invalid(GNI_EpIdle((void *)w.side.cq));
	ok(GNI_PostFma(w.side.ep, &w.fma));
	assert_int_equal(GNI_EpIdle(w.side.ep), GNI_RC_NOT_DONE);
	ok(GNI_CqGetEvent(w.side.cq, &e));
	assert_int_equal(GNI_EpIdle(w.side.ep), GNI_RC_NOT_DONE);
	ok(GNI_GetCompleted(w.side.cq, e, &d));
	ok(GNI_EpIdle(w.side.ep));
	ok(GNI_PostRdma(w.side.ep, &w.rdma));
	assert_int_equal(GNI_EpIdle(w.side.ep), GNI_RC_NOT_DONE);
	ok(GNI_CqGetEvent(w.other_cq, &e));
	ok(GNI_GetCompleted(w.other_cq, e, &d));
	ok(GNI_EpIdle(w.side.ep));
	for (i = 0; i < 2; i++) {
		ok(GNI_SmsgSend(w.side.ep, "x", 1, NULL, 0, 1));
		assert_int_equal(GNI_EpIdle(w.side.ep), GNI_RC_NOT_DONE);
		ok(GNI_CqGetEvent(w.side.cq, &e));
		ok(GNI_EpIdle(w.side.ep));
	}
	invalid(GNI_EpBind(w.side.ep, 1, 2));	/* still bound */
	whole_end(&w);
	invalid(GNI_EpIdle(w.side.ep));
}

static u32 attached_modes(const char *shared, u32 modes)
{
	struct fake_side s;

	if (shared)
		setenv("UGNI_FMA_SHARED", shared, 1);
	else
		unsetenv("UGNI_FMA_SHARED");
	fake_side(&s, modes, 4);
	fake_side_end(&s);
	return fake.attach.modes;
}

/* UGNI_FMA_SHARED overrides what the program says. */
static void test_fma_shared(void **state)
{
	const u32 shared = GNI_CDM_MODE_FMA_SHARED, dedicated = GNI_CDM_MODE_FMA_DEDICATED;

	(void)state;
	assert_int_equal(attached_modes(NULL, dedicated | 1), dedicated | 1);
	assert_int_equal(attached_modes("1", dedicated | 1), shared | 1);
	assert_int_equal(attached_modes("1", 0), shared);
	assert_int_equal(attached_modes("0", shared | 1), dedicated | 1);
	assert_int_equal(attached_modes("0", shared | dedicated), dedicated);
	assert_int_equal(attached_modes("", shared), shared);
	assert_int_equal(attached_modes("yes", dedicated), dedicated);
	assert_int_equal(attached_modes("10", 0), 0);
	assert_int_equal(attached_modes(NULL, shared), shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_recycle),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_fma_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
