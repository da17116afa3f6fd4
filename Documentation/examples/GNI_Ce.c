// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Three members, threads here, wait for each other and add their numbers. */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <gni_pub.h>

#define MEMBERS	3

struct member {
	gni_ep_handle_t ep;		/* to the channel, with this member's number */
	gni_cq_handle_t queue;		/* the endpoint's */
	gni_mem_handle_t memory;	/* holds the result */
	gni_ce_result_t *result;
	double number, sum;
};

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

/* Returns when all members have called it with this id. */
static void barrier(struct member *m, uint64_t id)
{
	gni_post_descriptor_t post = {
		.type = GNI_POST_CE,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)m->result,
		.local_mem_hndl = m->memory,
		.ce_cmd = GNI_FMA_CE_AND,
		.ce_red_id = id,
	}, *done;
	gni_cq_entry_t event;

	memset(m->result, 0, sizeof(*m->result));
	must("post", GNI_PostFma(m->ep, &post));
	must("event", GNI_CqWaitEvent(m->queue, 10000, &event));
	must("completion", GNI_GetCompleted(m->queue, event, &done));
}

/* The sum of what all members give. */
static double allreduce(struct member *m, uint64_t id, double value)
{
	gni_post_descriptor_t post = {
		.type = GNI_POST_CE,
		.cq_mode = GNI_CQMODE_SILENT,
		.local_addr = (uintptr_t)m->result,
		.local_mem_hndl = m->memory,
		.ce_cmd = GNI_FMA_CE_FPADD,
		.ce_red_id = id,
	};

	memset(m->result, 0, sizeof(*m->result));
	memcpy(&post.first_operand, &value, sizeof(value));
	must("post", GNI_PostFma(m->ep, &post));
	while (GNI_CeCheckResult(m->result, sizeof(*m->result)) == GNI_RC_NOT_DONE)
		;
	if (!GNI_CE_RES_STATUS_OK(m->result))
		errx(1, "a member is gone");
	memcpy(&value, &m->result->result1, sizeof(value));
	return value;
}

static void *member(void *arg)
{
	struct member *m = arg;

	barrier(m, 1);
	m->sum = allreduce(m, 2, m->number);
	return NULL;
}

int main(void)
{
	static gni_ce_result_t results[MEMBERS] __attribute__((aligned(4096)));
	gni_ep_handle_t children[MEMBERS];
	struct member m[MEMBERS];
	pthread_t thread[MEMBERS];
	gni_mem_handle_t memory;
	gni_ce_handle_t channel;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	uint32_t pe, id, i;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x1000d, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("register", GNI_MemRegister(nic, (uintptr_t)results, sizeof(results), NULL,
					 GNI_MEM_READWRITE, -1, &memory));
	must("channel", GNI_CeCreate(nic, &channel));
	must("number", GNI_CeGetId(channel, &id));
	for (i = 0; i < MEMBERS; i++) {
		must("endpoint", GNI_EpCreate(nic, NULL, &children[i]));
		must("bind", GNI_EpBind(children[i], pe, 1));
		must("child", GNI_EpSetCeAttr(children[i], -1, i, GNI_CE_CHILD_PE));
		must("queue", GNI_CqCreate(nic, 4, 0, GNI_CQ_BLOCKING, NULL, NULL, &m[i].queue));
		must("endpoint", GNI_EpCreate(nic, m[i].queue, &m[i].ep));
		must("bind", GNI_EpBind(m[i].ep, pe, 1));
		must("leaf", GNI_EpSetCeAttr(m[i].ep, id, i, GNI_CE_CHILD_PE));
		m[i].memory = memory;
		m[i].result = &results[i];
		m[i].number = 0.5 + i;
	}
	must("configure", GNI_CeConfigure(channel, children, MEMBERS, NULL, NULL,
					  GNI_CE_MODE_ROUND_NEAR));
	for (i = 0; i < MEMBERS; i++)
		pthread_create(&thread[i], NULL, member, &m[i]);
	for (i = 0; i < MEMBERS; i++)
		pthread_join(thread[i], NULL);
	printf("all were there; sums: %g, %g, %g\n", m[0].sum, m[1].sum, m[2].sum);
	must("destroy", GNI_CeDestroy(channel));
	return GNI_CdmDestroy(cdm);
}
