// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries of completion queues: what makes them (kernel/core/cqe.h) is told
 * whatever, what reads them (that, and lib/cqe.c) looks at whatever. Against
 * the layout, written down here a second time, as a table.
 */
#include "fuzz.h"
#include "ugni.h"

struct field {
	unsigned int shift;
	unsigned int width;
};

static const struct field f_overrun = { 63, 1 };
static const struct field f_status = { 59, 4 };
static const struct field f_source = { 56, 3 };
static const struct field f_type = { 54, 2 };
static const struct field f_local = { 53, 1 };
static const struct field f_info = { 48, 6 };
static const struct field f_data = { 0, 48 };
static const struct field f_inst = { 0, 24 };
static const struct field f_msg = { 0, 32 };
static const struct field f_post_tid = { 24, 29 };
static const struct field f_smsg_tid = { 32, 22 };
static const struct field f_user = { 0, 56 };

static u64 get(u64 e, struct field f)
{
	u64 value = 0;
	unsigned int i;

	for (i = 0; i < f.width; i++)
		if (e & 1ULL << (f.shift + i))
			value += 1ULL << i;
	return value;
}

/* What a field keeps of a value. */
static u64 cut(u64 value, struct field f)
{
	return f.width == 64 ? value : value % (1ULL << f.width);
}

static u64 with(u64 e, struct field f, u64 value)
{
	unsigned int i;

	for (i = 0; i < f.width; i++) {
		e &= ~(1ULL << (f.shift + i));
		e |= (value >> i & 1) << (f.shift + i);
	}
	return e;
}

#define show(e)	((unsigned long long)(e))

static bool is_smsg(u64 e)
{
	return get(e, f_source) != KGNI_CQE_REMOTE &&
	       (get(e, f_type) == KGNI_CQE_SMSG || get(e, f_type) == KGNI_CQE_MSGQ);
}

static struct field tid_field(u64 e)
{
	return is_smsg(e) ? f_smsg_tid : f_post_tid;
}

static void check_read(u64 e)
{
	check(kgni_cqe_is_smsg(e) == is_smsg(e), "%#llx", show(e));
	check(gni_cq_get_data(e) == get(e, f_data), "%#llx", show(e));
	check(gni_cq_get_source(e) == get(e, f_source), "%#llx", show(e));
	check(gni_cq_get_status(e) == get(e, f_status), "%#llx", show(e));
	check(gni_cq_get_info(e) == get(e, f_info), "%#llx", show(e));
	check(gni_cq_overrun(e) == get(e, f_overrun), "%#llx", show(e));
	check(gni_cq_rem_overrun(e) == (get(e, f_status) == KGNI_ST_REM_OVERRUN), "%#llx", show(e));
	check(gni_cq_get_inst_id(e) == get(e, f_inst), "%#llx", show(e));
	check(gni_cq_get_rem_inst_id(e) == get(e, f_msg), "%#llx", show(e));
	check(gni_cq_get_msg_id(e) == get(e, f_msg), "%#llx", show(e));
	check(gni_cq_get_tid(e) == get(e, tid_field(e)), "%#llx", show(e));
	check(gni_cq_get_type(e) == get(e, f_type), "%#llx", show(e));
	check(gni_cq_get_trans_type(e) == get(e, f_info), "%#llx", show(e));
	check(gni_cq_get_ce_id(e) == get(e, f_info), "%#llx", show(e));
	check(gni_cq_get_reductn_id(e) == get(e, f_data), "%#llx", show(e));
	check(!gni_cq_get_block_id(e) && !gni_cq_get_unsuccessful_cnt(e), "%#llx", show(e));
	check(!gni_cq_get_marker_id(e) && !gni_cq_get_failed_enqueue_cnt(e), "%#llx", show(e));
	check(!gni_cq_status_dla_overflow(e) && !gni_cq_bte_enq_status(e), "%#llx", show(e));
}

typedef void setter(gni_cq_entry_t *entry, uint64_t value);

static void check_set(setter *set, u64 e, struct field f, u64 value)
{
	u64 was = e;

	set(&e, value);
	check(e == with(was, f, value), "%#llx, set %#llx: %#llx", show(was), show(value), show(e));
}

static void check_write(u64 e, u64 value)
{
	u64 cleared = e;

	check_set(gni_cq_set_inst_id, e, f_inst, value);
	check_set(gni_cq_set_rem_inst_id, e, f_msg, value);
	check_set(gni_cq_set_msg_id, e, f_msg, value);
	check_set(gni_cq_set_tid, e, tid_field(e), value);
	check_set(gni_cq_set_type, e, f_type, value);
	gni_cq_clr_status(&cleared);
	check(cleared == with(e, f_status, 0), "%#llx: %#llx", show(e), show(cleared));
}

/* In a buffer that has just as many bytes as it is said to have. */
static void check_text(u64 e, u32 len)
{
	char *text = fuzz_memory(8, len ? len : 1);
	u32 recoverable = 2;
	gni_return_t rc;

	rc = GNI_CqErrorStr(e, text, len);
	if (!len)
		check(rc == GNI_RC_INVALID_PARAM, "%d", rc);
	else if (rc == GNI_RC_SUCCESS)
		check(strnlen(text, len) < len && *text, "%#llx", show(e));
	else
		check(rc == GNI_RC_SIZE_ERROR && len < 128, "%d for %u", rc, len);
	free(text);
	rc = GNI_CqErrorRecoverable(e, &recoverable);
	if (get(e, f_status) < KGNI_ST_COUNT)
		check(rc == GNI_RC_SUCCESS && recoverable < 2, "%d, %u", rc, recoverable);
	else
		check(rc == GNI_RC_INVALID_STATE && recoverable == 2, "%d, %u", rc, recoverable);
}

/* A ring's entry has a bit in its upper half, or it looks like a free slot. */
static void check_entry(u64 e, enum kgni_cqe_source source, u64 status)
{
	check(e >> 32, "%#llx", show(e));
	check(get(e, f_source) == source, "%#llx", show(e));
	check(get(e, f_status) == status, "%#llx", show(e));
	check(!get(e, f_overrun), "%#llx", show(e));
}

/*
 * What the poster says, all 64 bits of it, must not change what the driver says
 * of it: who did it, how it ended.
 */
static void check_made(struct input *in)
{
	u64 said = input_edge(in), e;
	u32 id = (u32)input_edge(in), tid = (u32)input_edge(in);
	enum kgni_cqe_source source = 1 + input_below(in, 4);
	enum kgni_cqe_status status = input_below(in, KGNI_ST_COUNT);
	enum kgni_cqe_type type = input_below(in, 4);

	e = kgni_cqe_done(said, source, status);
	check_entry(e, source, status);
	check(get(e, f_user) == get(said, f_user), "%#llx of %#llx", show(e), show(said));
	e = kgni_cqe_remote(said, id, type);
	check_entry(e, KGNI_CQE_REMOTE, KGNI_ST_OK);
	check(get(e, f_type) == type && get(e, f_data) == get(said, f_data) &&
	      get(e, f_info) == cut(id, f_info), "%#llx of %#llx", show(e), show(said));
	e = kgni_cqe_done(kgni_cqe_post(id, tid), source, status);
	check_entry(e, source, status);
	check(get(e, f_type) == KGNI_CQE_POST && !get(e, f_local), "%#llx", show(e));
	check(get(e, f_inst) == cut(id, f_inst) && get(e, f_post_tid) == cut(tid, f_post_tid),
	      "%#llx of %#x and %#x", show(e), id, tid);
	e = kgni_cqe_done(kgni_cqe_smsg(id, tid, type), source, status);
	check_entry(e, source, status);
	check(get(e, f_type) == type && get(e, f_msg) == id &&
	      get(e, f_smsg_tid) == cut(tid, f_smsg_tid), "%#llx of %#x and %#x", show(e), id, tid);
	check_read(e);
	check_write(e, said);
}

static void check_fixed(void)
{
	check_entry(kgni_cqe_hole(), KGNI_CQE_DRIVER, KGNI_ST_PRODUCER_DIED);
	check(kgni_cqe_overrun() == with(with(0, f_overrun, 1), f_source, KGNI_CQE_DRIVER),
	      "%#llx", show(kgni_cqe_overrun()));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	u64 e;

	check_fixed();
	while (in.left) {
		e = input_u64(&in);
		check_read(e);
		check_write(e, input_edge(&in));
		check_text(e, input_u8(&in));
		check_made(&in);
	}
	return 0;
}
