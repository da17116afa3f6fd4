// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looking into events, for kernel clients: core/cqe.h has the layout.
 *
 * As for programs, but for the instance id of an event for a short message that
 * was sent: it is the local event value of its endpoint, which lies where
 * programs have a transaction id.
 */
#include <linux/string.h>

#include "kapi.h"

static bool kapi_is_smsg(u64 entry)
{
	u64 source = kgni_cqe_source(entry);

	return (source == KGNI_CQE_FMA || source == KGNI_CQE_BTE) && kgni_cqe_is_smsg(entry);
}

uint64_t gni_cq_get_data(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_DATA_MASK;
}
EXPORT_SYMBOL_GPL(gni_cq_get_data);

uint64_t gni_cq_get_source(gni_cq_entry_t entry)
{
	return kgni_cqe_source(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_source);

uint64_t gni_cq_get_status(gni_cq_entry_t entry)
{
	return kgni_cqe_status(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_status);

uint64_t gni_cq_get_info(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_info);

uint64_t gni_cq_overrun(gni_cq_entry_t entry)
{
	return !!(entry & KGNI_CQE_OVERRUN);
}
EXPORT_SYMBOL_GPL(gni_cq_overrun);

uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry)
{
	return kgni_cqe_status(entry) == KGNI_ST_REM_OVERRUN;
}
EXPORT_SYMBOL_GPL(gni_cq_rem_overrun);

uint64_t gni_cq_get_inst_id(gni_cq_entry_t entry)
{
	if (kapi_is_smsg(entry))
		return kgni_cqe_tid(entry);
	return entry & KGNI_CQE_INST_MASK;
}
EXPORT_SYMBOL_GPL(gni_cq_get_inst_id);

uint64_t gni_cq_get_rem_inst_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_REM_INST_MASK;
}
EXPORT_SYMBOL_GPL(gni_cq_get_rem_inst_id);

uint64_t gni_cq_get_tid(gni_cq_entry_t entry)
{
	return kgni_cqe_tid(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_tid);

uint64_t gni_cq_get_msg_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_REM_INST_MASK;
}
EXPORT_SYMBOL_GPL(gni_cq_get_msg_id);

uint64_t gni_cq_get_type(gni_cq_entry_t entry)
{
	return kgni_cqe_type(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_type);

uint64_t gni_cq_get_ce_id(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_ce_id);

uint64_t gni_cq_get_reductn_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_DATA_MASK;
}
EXPORT_SYMBOL_GPL(gni_cq_get_reductn_id);

uint64_t gni_cq_get_trans_type(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_get_trans_type);

void gni_cq_set_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
	if (kapi_is_smsg(*entry))
		gni_cq_set_tid(entry, value);
	else
		kgni_cqe_set(entry, KGNI_CQE_INST_MASK, 0, value);
}
EXPORT_SYMBOL_GPL(gni_cq_set_inst_id);

void gni_cq_set_rem_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set(entry, KGNI_CQE_REM_INST_MASK, 0, value);
}
EXPORT_SYMBOL_GPL(gni_cq_set_rem_inst_id);

void gni_cq_set_tid(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set_tid(entry, value);
}
EXPORT_SYMBOL_GPL(gni_cq_set_tid);

void gni_cq_set_msg_id(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set(entry, KGNI_CQE_REM_INST_MASK, 0, value);
}
EXPORT_SYMBOL_GPL(gni_cq_set_msg_id);

void gni_cq_set_type(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set_type(entry, value);
}
EXPORT_SYMBOL_GPL(gni_cq_set_type);

void gni_cq_clr_status(gni_cq_entry_t *entry)
{
	kgni_cqe_clr_status(entry);
}
EXPORT_SYMBOL_GPL(gni_cq_clr_status);

/*
 * No entry here tells of a DLA block, as no NIC has such buffers, or of the way into a
 * BTE channel.
 */
uint64_t gni_cq_get_block_id(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_get_block_id);

uint64_t gni_cq_get_unsuccessful_cnt(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_get_unsuccessful_cnt);

uint64_t gni_cq_get_marker_id(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_get_marker_id);

uint64_t gni_cq_get_failed_enqueue_cnt(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_get_failed_enqueue_cnt);

unsigned int gni_cq_status_dla_overflow(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_status_dla_overflow);

unsigned int gni_cq_bte_enq_status(gni_cq_entry_t entry)
{
	return 0;
}
EXPORT_SYMBOL_GPL(gni_cq_bte_enq_status);

/* Clients know two answers: an entry that cannot be is put into words too. */
gni_return_t gni_cq_error_str(gni_cq_entry_t entry, void *buffer, uint32_t len)
{
	const char *text = kgni_cqe_text(entry);

	if (!buffer || !len)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (!text)
		text = "undefined status";
	if (strscpy(buffer, text, len) < 0)
		return kapi_end(GNI_RC_SIZE_ERROR);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cq_error_str);

gni_return_t gni_cq_error_recoverable(gni_cq_entry_t entry, uint32_t *recoverable)
{
	if (!recoverable)
		return kapi_end(GNI_RC_INVALID_PARAM);
	if (kgni_cqe_status(entry) >= KGNI_ST_COUNT)
		return kapi_end(GNI_RC_INVALID_STATE);
	*recoverable = kgni_cqe_recoverable(entry);
	return GNI_RC_SUCCESS;
}
EXPORT_SYMBOL_GPL(gni_cq_error_recoverable);
