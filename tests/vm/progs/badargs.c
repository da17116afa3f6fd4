// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles that are none: NULL, wild, of another type, stale. Each call says
 * GNI_RC_INVALID_PARAM, and nothing crashes.
 */
#include "common.h"

/* Sound arguments for what is not under test. */
static struct nic nic;
static gni_ep_handle_t ep;
static struct region region;
static gni_post_descriptor_t descr;
static gni_smsg_attr_t attr;
static char buf[64];

static gni_return_t cdm_destroy(void *h)
{
	return GNI_CdmDestroy(h);
}

static gni_return_t cdm_attach(void *h)
{
	gni_nic_handle_t n;
	uint32_t pe;

	return GNI_CdmAttach(h, 0, &pe, &n);
}

static gni_return_t cdm_checkpoint(void *h)
{
	return GNI_CdmCheckpoint(h);
}

static gni_return_t cdm_resume(void *h)
{
	return GNI_CdmResume(h);
}

static gni_return_t ep_create(void *h)
{
	gni_ep_handle_t e;

	return GNI_EpCreate(h, nic.tx, &e);
}

static gni_return_t ep_create_cq(void *h)
{
	gni_ep_handle_t e;

	return h ? GNI_EpCreate(nic.h, h, &e) : GNI_RC_INVALID_PARAM;
}

static gni_return_t ep_set_event_data(void *h)
{
	return GNI_EpSetEventData(h, 1, 2);
}

static gni_return_t ep_bind(void *h)
{
	return GNI_EpBind(h, nic.pe, 1);
}

static gni_return_t ep_unbind(void *h)
{
	return GNI_EpUnbind(h);
}

static gni_return_t ep_idle(void *h)
{
	return GNI_EpIdle(h);
}

static gni_return_t ep_destroy(void *h)
{
	return GNI_EpDestroy(h);
}

static gni_return_t ep_post_data(void *h)
{
	return GNI_EpPostData(h, buf, 1, buf, 1);
}

static gni_return_t ep_post_data_w_id(void *h)
{
	return GNI_EpPostDataWId(h, buf, 1, buf, 1, 1);
}

static gni_return_t ep_post_data_test(void *h)
{
	gni_post_state_t state;
	uint32_t pe, id;

	return GNI_EpPostDataTest(h, &state, &pe, &id);
}

static gni_return_t ep_post_data_test_by_id(void *h)
{
	gni_post_state_t state;
	uint32_t pe, id;

	return GNI_EpPostDataTestById(h, 1, &state, &pe, &id);
}

static gni_return_t ep_post_data_wait(void *h)
{
	gni_post_state_t state;
	uint32_t pe, id;

	return GNI_EpPostDataWait(h, -1, &state, &pe, &id);
}

static gni_return_t ep_post_data_wait_by_id(void *h)
{
	gni_post_state_t state;
	uint32_t pe, id;

	return GNI_EpPostDataWaitById(h, 1, -1, &state, &pe, &id);
}

static gni_return_t ep_post_data_cancel(void *h)
{
	return GNI_EpPostDataCancel(h);
}

static gni_return_t ep_post_data_cancel_by_id(void *h)
{
	return GNI_EpPostDataCancelById(h, 1);
}

static gni_return_t post_data_probe(void *h)
{
	uint32_t pe, id;

	return GNI_PostDataProbe(h, &pe, &id);
}

static gni_return_t post_data_probe_by_id(void *h)
{
	uint64_t id;

	return GNI_PostDataProbeById(h, &id);
}

static gni_return_t post_data_probe_wait(void *h)
{
	uint64_t id;

	return GNI_PostdataProbeWaitById(h, -1, &id);
}

static gni_return_t mem_register(void *h)
{
	gni_mem_handle_t mh;

	return GNI_MemRegister(h, (uint64_t)buf, 64, NULL, 0, -1, &mh);
}

static gni_return_t mem_register_cq(void *h)
{
	gni_mem_handle_t mh;

	return h ? GNI_MemRegister(nic.h, (uint64_t)buf, 64, h, 0, -1, &mh) :
		   GNI_RC_INVALID_PARAM;
}

static gni_return_t mem_deregister(void *h)
{
	return GNI_MemDeregister(h, &region.mh);
}

static gni_return_t cq_create(void *h)
{
	gni_cq_handle_t cq;

	return GNI_CqCreate(h, 16, 0, 0, NULL, NULL, &cq);
}

static gni_return_t cq_destroy(void *h)
{
	return GNI_CqDestroy(h);
}

static gni_return_t cq_get_event(void *h)
{
	gni_cq_entry_t e;

	return GNI_CqGetEvent(h, &e);
}

static gni_return_t cq_wait_event(void *h)
{
	gni_cq_entry_t e;

	return GNI_CqWaitEvent(h, FOREVER, &e);
}

static gni_return_t cq_vector_wait_event(void *h)
{
	gni_cq_handle_t cq[2] = { h, h };
	gni_cq_entry_t e;
	uint32_t which;

	return GNI_CqVectorWaitEvent(cq, 2, FOREVER, &e, &which);
}

static gni_return_t cq_vector_monitor(void *h)
{
	gni_cq_handle_t cq[2] = { h, h };
	uint32_t which;

	return GNI_CqVectorMonitor(cq, 2, FOREVER, &which);
}

static gni_return_t cq_test_event(void *h)
{
	return GNI_CqTestEvent(h);
}

static gni_return_t post_rdma(void *h)
{
	descr.type = GNI_POST_RDMA_PUT;
	return GNI_PostRdma(h, &descr);
}

static gni_return_t post_rdma_cq(void *h)
{
	gni_return_t rc;

	if (!h)
		return GNI_RC_INVALID_PARAM;
	descr.type = GNI_POST_RDMA_PUT;
	descr.src_cq_hndl = h;
	rc = GNI_PostRdma(ep, &descr);
	descr.src_cq_hndl = NULL;
	return rc;
}

static gni_return_t post_fma(void *h)
{
	descr.type = GNI_POST_FMA_PUT;
	return GNI_PostFma(h, &descr);
}

static gni_return_t post_cq_write(void *h)
{
	descr.type = GNI_POST_CQWRITE;
	return GNI_PostCqWrite(h, &descr);
}

static gni_return_t get_completed(void *h)
{
	gni_post_descriptor_t *d;

	return GNI_GetCompleted(h, 1, &d);
}

static gni_return_t ce_create(void *h)
{
	gni_ce_handle_t ce;

	return GNI_CeCreate(h, &ce);
}

static gni_return_t ce_get_id(void *h)
{
	uint32_t id;

	return GNI_CeGetId(h, &id);
}

static gni_return_t ce_destroy(void *h)
{
	return GNI_CeDestroy(h);
}

static gni_return_t ce_configure(void *h)
{
	return GNI_CeConfigure(h, &ep, 1, NULL, NULL, 0);
}

static gni_return_t ep_set_ce_attr(void *h)
{
	return GNI_EpSetCeAttr(h, 0, 0, GNI_CE_CHILD_UNUSED);
}

static gni_return_t post_ce(void *h)
{
	descr.type = GNI_POST_CE;
	return GNI_PostFma(h, &descr);
}

static gni_return_t smsg_init(void *h)
{
	return GNI_SmsgInit(h, &attr, &attr);
}

static gni_return_t smsg_send(void *h)
{
	return GNI_SmsgSend(h, buf, 1, NULL, 0, 1);
}

static gni_return_t smsg_send_w_tag(void *h)
{
	return GNI_SmsgSendWTag(h, buf, 1, NULL, 0, 1, 1);
}

static gni_return_t smsg_get_next(void *h)
{
	void *msg;

	return GNI_SmsgGetNext(h, &msg);
}

static gni_return_t smsg_get_next_w_tag(void *h)
{
	uint8_t tag = GNI_SMSG_ANY_TAG;
	void *msg;

	return GNI_SmsgGetNextWTag(h, &msg, &tag);
}

static gni_return_t smsg_release(void *h)
{
	return GNI_SmsgRelease(h);
}

static gni_return_t smsg_set_delivery_mode(void *h)
{
	return GNI_SmsgSetDeliveryMode(h, 0);
}

static gni_return_t smsg_set_max_retrans(void *h)
{
	return GNI_SmsgSetMaxRetrans(h, 1);
}

static gni_return_t get_nic_stat(void *h)
{
	uint32_t value;

	return GNI_GetNicStat(h, 0, &value);
}

static gni_return_t reset_nic_stat(void *h)
{
	return GNI_ResetNicStat(h, 0);
}

/* Without a NIC it is about a device. */
static gni_return_t subscribe_errors(void *h)
{
	gni_err_handle_t err;

	return h ? GNI_SubscribeErrors(h, 0, 1, 0, &err) : GNI_RC_INVALID_PARAM;
}

static gni_return_t release_errors(void *h)
{
	return GNI_ReleaseErrors(h);
}

static gni_return_t get_error_mask(void *h)
{
	gni_error_mask_t mask;

	return GNI_GetErrorMask(h, &mask);
}

static gni_return_t set_error_mask(void *h)
{
	return GNI_SetErrorMask(h, 1, NULL);
}

static gni_return_t set_error_ptag(void *h)
{
	return GNI_SetErrorPtag(h, 1);
}

static gni_return_t get_error_event(void *h)
{
	gni_error_event_t event;

	return GNI_GetErrorEvent(h, &event);
}

static gni_return_t wait_error_events(void *h)
{
	gni_error_event_t event;
	uint32_t n;

	return GNI_WaitErrorEvents(h, &event, 1, 0, &n);
}

static gni_return_t msgq_init(void *h)
{
	gni_msgq_attr_t at = { .max_msg_sz = 8, .smsg_q_sz = 8, .rcv_pool_sz = 8,
			       .num_msgq_eps = 1, .nloc_insts = 1, .rcv_cq_sz = 8 };
	gni_msgq_handle_t q;

	return GNI_MsgqInit(h, NULL, NULL, NULL, &at, &q);
}

static gni_return_t msgq_release(void *h)
{
	return GNI_MsgqRelease(h);
}

static gni_return_t msgq_idle(void *h)
{
	return GNI_MsgqIdle(h);
}

static gni_return_t msgq_get_conn_attrs(void *h)
{
	gni_msgq_ep_attr_t at;

	return GNI_MsgqGetConnAttrs(h, 1, &at, NULL);
}

static gni_return_t msgq_connect(void *h)
{
	gni_msgq_ep_attr_t at = { 0 };

	return GNI_MsgqConnect(h, 1, &at);
}

static gni_return_t msgq_conn_release(void *h)
{
	return GNI_MsgqConnRelease(h, 1);
}

static gni_return_t msgq_send(void *h)
{
	return GNI_MsgqSend(h, ep, buf, 1, NULL, 0, 1, 2);
}

static gni_return_t msgq_send_ep(void *h)
{
	return GNI_MsgqSend(NULL, h, buf, 1, NULL, 0, 1, 2);
}

static gni_return_t msgq_progress(void *h)
{
	return GNI_MsgqProgress(h, 0);
}

enum type { CDM, NIC, EP, CQ, ERR, MSGQ, CE };

#define CALL(fn, type)	{ #fn, fn, type }

static const struct call {
	const char *name;
	gni_return_t (*fn)(void *h);
	enum type type;
} calls[] = {
	CALL(cdm_destroy, CDM), CALL(cdm_attach, CDM), CALL(cdm_checkpoint, CDM),
	CALL(cdm_resume, CDM), CALL(ep_idle, EP), CALL(ep_create, NIC),
	CALL(ep_create_cq, CQ), CALL(ep_set_event_data, EP), CALL(ep_bind, EP),
	CALL(ep_unbind, EP), CALL(ep_destroy, EP), CALL(ep_post_data, EP),
	CALL(ep_post_data_w_id, EP), CALL(ep_post_data_test, EP),
	CALL(ep_post_data_test_by_id, EP), CALL(ep_post_data_wait, EP),
	CALL(ep_post_data_wait_by_id, EP), CALL(ep_post_data_cancel, EP),
	CALL(ep_post_data_cancel_by_id, EP), CALL(post_data_probe, NIC),
	CALL(post_data_probe_by_id, NIC), CALL(post_data_probe_wait, NIC),
	CALL(mem_register, NIC), CALL(mem_register_cq, CQ), CALL(mem_deregister, NIC),
	CALL(cq_create, NIC), CALL(cq_destroy, CQ), CALL(cq_get_event, CQ),
	CALL(cq_wait_event, CQ), CALL(cq_vector_wait_event, CQ), CALL(cq_vector_monitor, CQ),
	CALL(cq_test_event, CQ), CALL(post_rdma, EP), CALL(post_rdma_cq, CQ), CALL(post_fma, EP),
	CALL(post_cq_write, EP), CALL(get_completed, CQ), CALL(smsg_init, EP),
	CALL(smsg_send, EP), CALL(smsg_send_w_tag, EP), CALL(smsg_get_next, EP),
	CALL(smsg_get_next_w_tag, EP), CALL(smsg_release, EP), CALL(smsg_set_delivery_mode, NIC),
	CALL(smsg_set_max_retrans, NIC), CALL(get_nic_stat, NIC), CALL(reset_nic_stat, NIC),
	CALL(subscribe_errors, NIC), CALL(release_errors, ERR), CALL(get_error_mask, ERR),
	CALL(set_error_mask, ERR), CALL(set_error_ptag, ERR), CALL(get_error_event, ERR),
	CALL(wait_error_events, ERR), CALL(msgq_init, NIC), CALL(msgq_release, MSGQ),
	CALL(msgq_idle, MSGQ), CALL(msgq_get_conn_attrs, MSGQ), CALL(msgq_connect, MSGQ),
	CALL(msgq_conn_release, MSGQ), CALL(msgq_send, MSGQ), CALL(msgq_send_ep, EP),
	CALL(msgq_progress, MSGQ), CALL(ce_create, NIC), CALL(ce_get_id, CE),
	CALL(ce_destroy, CE), CALL(ce_configure, CE), CALL(ep_set_ce_attr, EP),
	CALL(post_ce, EP),
};

static void setup(void)
{
	unsigned int size;

	nic_open(&nic, 0, 1);
	ep = ep_open(&nic, nic.pe, 1);
	region_open(&nic, map_private(PAGE), PAGE, nic.rx, 0, &region);
	memset(&attr, 0, sizeof(attr));
	attr.msg_type = GNI_SMSG_TYPE_MBOX;
	attr.mbox_maxcredit = 2;
	attr.msg_maxsize = 64;
	must_do(GNI_SmsgBufferSizeNeeded(&attr, &size));
	attr.msg_buffer = (void *)region.addr;
	attr.buff_size = size;
	attr.mem_hndl = region.mh;
	desc_init(&descr, GNI_POST_RDMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&descr, (void *)region.addr, &region.mh, &region, 64, 8);
}

static void try_handle(void *h, const char *what, int except)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if ((int)calls[i].type != except)
			is_rc(calls[i].fn(h), GNI_RC_INVALID_PARAM, "%s: %s %p", calls[i].name,
			      what, h);
	}
}

/* What was sound before is sound still. */
static void still_works(void)
{
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_FMA_PUT, GNI_CQMODE_GLOBAL_EVENT);
	desc_move(&d, "sound", NULL, &region, 0, 6);
	is_rc(post_wait(ep, nic.tx, &d), GNI_RC_SUCCESS);
	ok(!strcmp((char *)region.addr, "sound"));
	is_empty(nic.tx);
}

static void test_wild(void)
{
	static const uintptr_t values[] = {
		1, 2, 7, 8, 64, 4096, 0x12345678, 0x7fffffffffff, 0x800000000000,
		0xffff888000000000, ~0UL, ~0UL - 7, 0xa5a5a5a5a5a5a5a5,
	};
	char *unmapped = map_private(PAGE);
	uint32_t seed = 7;
	unsigned int i;
	char stack[64];

	setup();
	munmap(unmapped, PAGE);
	try_handle(NULL, "NULL", -1);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		try_handle((void *)values[i], "wild", -1);
	memset(stack, 0, sizeof(stack));
	try_handle(stack, "on the stack", -1);
	memset(stack, 0xff, sizeof(stack));
	try_handle(stack + 3, "on the stack", -1);
	try_handle(buf, "static memory", -1);
	try_handle(calloc(1, 4096), "heap", -1);
	try_handle(unmapped, "unmapped", -1);
	try_handle((void *)test_wild, "code", -1);
	for (i = 0; i < 200; i++)
		try_handle((void *)((uintptr_t)rnd(&seed) << 16 ^ rnd(&seed)), "random", -1);
	still_works();
}

static void test_types(void)
{
	gni_err_handle_t err;
	gni_ce_handle_t ce;

	setup();
	must_do(GNI_SubscribeErrors(nic.h, 0, 1, 0, &err));
	must_do(GNI_CeCreate(nic.h, &ce));
	try_handle(nic.cdm, "a domain", CDM);
	try_handle(nic.h, "a NIC", NIC);
	try_handle(ep, "an endpoint", EP);
	try_handle(nic.tx, "a queue", CQ);
	try_handle(err, "an error queue", ERR);
	try_handle(ce, "a channel", CE);
	still_works();
}

/* Near a live object, and where others of its kind may come to lie. */
static void test_near(void)
{
	void *live[5], *far;
	bool is_live;
	int i, j, k;

	setup();
	live[0] = nic.cdm;
	live[1] = nic.h;
	live[2] = ep;
	live[3] = nic.tx;
	live[4] = nic.rx;
	for (i = 0; i < 4; i++) {
		for (j = 1; j < 64; j++) {
			try_handle((char *)live[i] + j, "inside", -1);
			try_handle((char *)live[i] - j, "before", -1);
		}
		for (j = 16; j < 28; j++) {
			far = (char *)live[i] + (1UL << j);
			for (is_live = false, k = 0; k < 5; k++)
				is_live |= far == live[k];
			if (!is_live)
				try_handle(far, "far behind", -1);
		}
	}
	still_works();
}

static void test_stale(void)
{
	gni_cdm_handle_t cdm;
	gni_ce_handle_t ce;
	gni_nic_handle_t h;
	gni_cq_handle_t cq;
	gni_ep_handle_t e;
	uint32_t pe;

	setup();
	must_do(GNI_CdmCreate(9, GNI_FIND_ALLOC_PTAG, COOKIE, 0, &cdm));
	must_do(GNI_CdmAttach(cdm, 0, &pe, &h));
	must_do(GNI_CqCreate(h, 16, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq));
	must_do(GNI_EpCreate(h, cq, &e));
	must_do(GNI_EpDestroy(e));
	try_handle(e, "destroyed endpoint", -1);
	must_do(GNI_CqDestroy(cq));
	try_handle(cq, "destroyed queue", -1);
	must_do(GNI_CeCreate(h, &ce));
	must_do(GNI_CeDestroy(ce));
	try_handle(ce, "destroyed channel", -1);
	must_do(GNI_CeCreate(h, &ce));
	must_do(GNI_CqCreate(h, 16, 0, GNI_CQ_BLOCKING, NULL, NULL, &cq));
	must_do(GNI_EpCreate(h, cq, &e));
	must_do(GNI_CdmDestroy(cdm));
	/* All went with the domain. */
	try_handle(cdm, "destroyed domain", -1);
	try_handle(h, "its NIC", -1);
	try_handle(e, "its endpoint", -1);
	try_handle(cq, "its queue", -1);
	try_handle(ce, "its channel", -1);
	still_works();
}

static const struct test tests[] = {
	CASE("NULL and wild handles", test_wild),
	CASE("handles of another type", test_types),
	CASE("addresses near live objects", test_near),
	CASE("stale handles", test_stale),
};

int main(void)
{
	return RUN_TESTS(tests);
}
