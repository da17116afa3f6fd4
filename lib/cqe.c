// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Looking into completion queue entries: kernel/core/cqe.h has the layout.
 *
 * Programs read one entry through several accessors that overlap: of an entry
 * for a short message that was sent the instance id is the low 24 bits of the
 * message id, and of any entry the message id begins with the instance id.
 */
#include <stdio.h>
#include <string.h>

#include "ugni.h"

UGNI_PUBLIC uint64_t gni_cq_get_data(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_DATA_MASK;
}

UGNI_PUBLIC uint64_t gni_cq_get_source(gni_cq_entry_t entry)
{
	return kgni_cqe_source(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_status(gni_cq_entry_t entry)
{
	return kgni_cqe_status(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_info(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}

UGNI_PUBLIC uint64_t gni_cq_overrun(gni_cq_entry_t entry)
{
	return !!(entry & KGNI_CQE_OVERRUN);
}

UGNI_PUBLIC uint64_t gni_cq_rem_overrun(gni_cq_entry_t entry)
{
	return kgni_cqe_status(entry) == KGNI_ST_REM_OVERRUN;
}

UGNI_PUBLIC uint64_t gni_cq_get_inst_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_INST_MASK;
}

UGNI_PUBLIC uint64_t gni_cq_get_rem_inst_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_REM_INST_MASK;
}

UGNI_PUBLIC uint64_t gni_cq_get_tid(gni_cq_entry_t entry)
{
	return kgni_cqe_tid(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_msg_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_REM_INST_MASK;
}

UGNI_PUBLIC uint64_t gni_cq_get_type(gni_cq_entry_t entry)
{
	return kgni_cqe_type(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_trans_type(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_ce_id(gni_cq_entry_t entry)
{
	return kgni_cqe_info(entry);
}

UGNI_PUBLIC uint64_t gni_cq_get_reductn_id(gni_cq_entry_t entry)
{
	return entry & KGNI_CQE_DATA_MASK;
}

UGNI_PUBLIC void gni_cq_set_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set(entry, KGNI_CQE_INST_MASK, 0, value);
}

UGNI_PUBLIC void gni_cq_set_rem_inst_id(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set(entry, KGNI_CQE_REM_INST_MASK, 0, value);
}

UGNI_PUBLIC void gni_cq_set_tid(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set_tid(entry, value);
}

UGNI_PUBLIC void gni_cq_set_msg_id(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set(entry, KGNI_CQE_REM_INST_MASK, 0, value);
}

UGNI_PUBLIC void gni_cq_set_type(gni_cq_entry_t *entry, uint64_t value)
{
	kgni_cqe_set_type(entry, value);
}

UGNI_PUBLIC void gni_cq_clr_status(gni_cq_entry_t *entry)
{
	kgni_cqe_clr_status(entry);
}

/*
 * No entry here tells of a DLA block, as no NIC has such buffers, or of the way into a
 * BTE channel.
 */
UGNI_PUBLIC uint64_t gni_cq_get_block_id(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

UGNI_PUBLIC uint64_t gni_cq_get_unsuccessful_cnt(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

UGNI_PUBLIC uint64_t gni_cq_get_marker_id(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

UGNI_PUBLIC uint64_t gni_cq_get_failed_enqueue_cnt(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

UGNI_PUBLIC unsigned int gni_cq_status_dla_overflow(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

UGNI_PUBLIC unsigned int gni_cq_bte_enq_status(gni_cq_entry_t entry)
{
	(void)entry;
	return 0;
}

/* --- errors --------------------------------------------------------------------------- */

/* Say in words what an entry tells; @size: of @text, 128 is enough. */
void ugni_entry_text(gni_cq_entry_t entry, char *text, size_t size)
{
	const char *known = kgni_cqe_text(entry);

	if (known)
		snprintf(text, size, "%s", known);
	else
		snprintf(text, size, "undefined status %u", (unsigned int)kgni_cqe_status(entry));
}

UGNI_PUBLIC gni_return_t GNI_CqErrorStr(gni_cq_entry_t entry, void *buffer, uint32_t len)
{
	char text[128];

	if (!buffer)
		return ugni_end(ugni_null(buffer));
	if (!len)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "len is 0"));
	ugni_entry_text(entry, text, sizeof(text));
	if (strlen(text) >= len)
		return ugni_end(ugni_bad(GNI_RC_SIZE_ERROR, "len is %u, the text needs %zu", len,
					 strlen(text) + 1));
	strcpy(buffer, text);
	return GNI_RC_SUCCESS;
}

UGNI_PUBLIC gni_return_t GNI_CqErrorRecoverable(gni_cq_entry_t entry, uint32_t *recoverable)
{
	u64 status = kgni_cqe_status(entry);

	if (!recoverable)
		return ugni_end(ugni_null(recoverable));
	if (status >= KGNI_ST_COUNT)
		return ugni_end(ugni_bad(GNI_RC_INVALID_STATE, "entry has status %u, there is none",
					 (unsigned int)status));
	*recoverable = kgni_cqe_recoverable(entry);
	return GNI_RC_SUCCESS;
}
