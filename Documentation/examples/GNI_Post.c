// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Moves data by RDMA, adds to a peer's number, and posts a chain of two puts. */
#include <err.h>
#include <stdio.h>
#include <gni_pub.h>

static void must(const char *what, gni_return_t rc)
{
	if (rc != GNI_RC_SUCCESS)
		errx(1, "%s: %s", what, gni_err_str[rc]);
}

static uint64_t from[512] __attribute__((aligned(4096)));
static uint64_t to[512] __attribute__((aligned(4096)));

/* The descriptor stays in place until its event has come. */
static void complete(gni_cq_handle_t queue)
{
	gni_post_descriptor_t *done;
	gni_cq_entry_t event;

	must("event", GNI_CqWaitEvent(queue, 10000, &event));
	must("completion", GNI_GetCompleted(queue, event, &done));
}

int main(void)
{
	gni_post_descriptor_t post = { .cq_mode = GNI_CQMODE_GLOBAL_EVENT };
	gni_ct_put_post_descriptor_t second = { 0 };
	gni_cq_handle_t queue;
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_ep_handle_t ep;
	uint32_t pe;

	must("create", GNI_CdmCreate(1, GNI_FIND_ALLOC_PTAG, 0x10007, 0, &cdm));
	must("attach", GNI_CdmAttach(cdm, 0, &pe, &nic));
	must("queue", GNI_CqCreate(nic, 8, 0, GNI_CQ_BLOCKING, NULL, NULL, &queue));
	must("register", GNI_MemRegister(nic, (uintptr_t)from, sizeof(from), NULL,
					 GNI_MEM_READWRITE, -1, &post.local_mem_hndl));
	must("register", GNI_MemRegister(nic, (uintptr_t)to, sizeof(to), NULL,
					 GNI_MEM_READWRITE, -1, &post.remote_mem_hndl));
	must("endpoint", GNI_EpCreate(nic, queue, &ep));
	must("bind", GNI_EpBind(ep, pe, 1));
	from[0] = 40;
	post.type = GNI_POST_RDMA_PUT;
	post.local_addr = (uintptr_t)from;
	post.remote_addr = (uintptr_t)to;
	post.length = sizeof(from);
	must("put", GNI_PostRdma(ep, &post));
	complete(queue);
	post.type = GNI_POST_AMO;
	post.amo_cmd = GNI_FMA_ATOMIC_FADD;	/* leaves in from[0] what was there */
	post.first_operand = 2;
	post.length = 8;
	must("add", GNI_PostFma(ep, &post));
	complete(queue);
	post.type = GNI_POST_FMA_PUT;
	post.local_addr = (uintptr_t)&from[1];
	post.remote_addr = (uintptr_t)&to[1];
	post.next_descr = &second;
	from[1] = 7;
	from[2] = 8;
	second.ep_hndl = ep;
	second.local_addr = (uintptr_t)&from[2];
	second.remote_addr = (uintptr_t)&to[2];
	second.remote_mem_hndl = post.remote_mem_hndl;
	second.length = 8;
	must("chain", GNI_CtPostFma(ep, &post));
	complete(queue);
	printf("%u, then %u; chain: %u and %u\n", (unsigned int)from[0],
	       (unsigned int)to[0], (unsigned int)to[1], (unsigned int)to[2]);
	return GNI_CdmDestroy(cdm);
}
