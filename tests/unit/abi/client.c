// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the table does not list: names newer than 0x5c, used as programs use
 * them, and the tables of names.
 */
#include "gni_pub.h"

gni_return_t use_comp_chan(gni_nic_handle_t nic, gni_cq_handle_t *cqs)
{
	gni_comp_chan_handle_t chan;
	gni_cq_handle_t cq;
	gni_return_t rc;
	int fd;

	rc = GNI_CompChanCreate(nic, &chan);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CompChanFd(chan, &fd);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CqAttachCompChan(cqs[0], chan);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CqArmCompChan(cqs, 1);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CompChanGetEvent(chan, &cq);
	if (rc == GNI_RC_SUCCESS)
		rc = GNI_CompChanDestroy(chan);
	return rc;
}

gni_return_t use_chain(gni_ep_handle_t ep, gni_mem_handle_t mem)
{
	static gni_post_descriptor_t head;
	static gni_ct_get_post_descriptor_t get;
	static gni_ct_put_post_descriptor_t put;
	static gni_ct_amo_post_descriptor_t amo;
	static gni_ct_cqw_post_descriptor_t cqw;

	get.next_descr = &put;
	get.ep_hndl = ep;
	get.length = 4;
	get.local_addr = 0;
	get.remote_addr = 0;
	get.local_mem_hndl = mem;
	get.remote_mem_hndl = mem;
	put.next_descr = &amo;
	put.ep_hndl = ep;
	put.length = 4;
	put.local_addr = 0;
	put.remote_addr = 0;
	put.remote_mem_hndl = mem;
	put.sync_flag_value = 0;
	put.sync_flag_addr = 0;
	amo.next_descr = &cqw;
	amo.ep_hndl = ep;
	amo.length = 8;
	amo.local_addr = 0;
	amo.remote_addr = 0;
	amo.local_mem_hndl = mem;
	amo.remote_mem_hndl = mem;
	amo.amo_cmd = GNI_FMA_ATOMIC_FADD;
	amo.first_operand = 0;
	amo.second_operand = 0;
	cqw.next_descr = 0;
	cqw.ep_hndl = ep;
	cqw.remote_mem_hndl = mem;
	cqw.cqwrite_value = 1;
	head.next_descr = &get;
	if (GNI_VERSION < GNI_VERSION_FMA_CHAIN_TRANSACTIONS)
		return GNI_RC_ILLEGAL_OP;
	return GNI_CtPostFma(ep, &head);
}

const char *use_names(gni_return_t rc, gni_statistic_t stat)
{
	return rc == GNI_RC_SUCCESS ? gni_statistic_str[stat] : gni_err_str[rc];
}

int use_msgq(uint32_t snd_id, uint32_t snd_pe, void *msg, uint8_t msg_tag, void *cb_data)
{
	gni_msgq_rcv_cb_func *cb = use_msgq;

	return cb == (gni_msgq_rcv_cb_func *)0 || snd_id || snd_pe || msg || msg_tag || cb_data;
}
