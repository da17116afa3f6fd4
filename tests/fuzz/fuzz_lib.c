// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library on memory that others write into: a completion queue and a
 * mailbox, on the driver of the unit tests, which carries puts out. Between the
 * calls a hostile peer writes what it likes into both.
 *
 * Calls answer with codes that they are documented to have; a descriptor comes
 * back at most once for each post of it; a message lies in its slot; puts go
 * where a message or the credit word has its place; and in the end everything is
 * given back.
 */
#include "fuzz.h"
#include "fake_driver.h"

#define DESCRIPTORS	8
#define EVENTS		4

struct flight {
	gni_post_descriptor_t d;
	bool posted;
};

static struct fake_side side;
static struct input *input;
static struct kgni_smsg_geom geom;
static struct flight flights[DESCRIPTORS];
static gni_cq_entry_t events[EVENTS];
static u32 last_event;
static u8 *mbox, *remote_mbox, *target;
static bool dual;
static u64 sent, acked;		/* messages, since the channel was set up */

#define TARGET	64

#define check_rc(call, codes)						\
	do {								\
		gni_return_t rc_ = (call);				\
									\
		check(1U << rc_ & (codes), "%s: code %d", #call, (int)rc_);	\
	} while (0)
#define CODE(rc)	(1U << GNI_RC_##rc)

/* --- hostile ----------------------------------------------------------------------- */

static struct kgni_ring_view *ring(void)
{
	return &fake.cq[((struct gni_cq *)side.cq)->id].view;
}

/* An event that was there, with a bit or two turned, or one made up. */
static u64 likely_event(void)
{
	u8 how = input_u8(input);
	u64 e = events[how >> 2 & (EVENTS - 1)];

	switch (how & 3) {
	case 0:
		return e;
	case 1:
		return e ^ 1ULL << input_below(input, 64);
	case 2:
		return kgni_cqe_done(kgni_cqe_post(0, how >> 2), KGNI_CQE_FMA, input_u8(input) & 1);
	case 3:
		if (how & 4)
			return kgni_cqe_done(kgni_cqe_smsg(how, how >> 3, KGNI_CQE_SMSG),
					     KGNI_CQE_FMA, KGNI_ST_LINK);
		break;
	}
	return input_edge(input);
}

static void write_ring(void)
{
	struct kgni_ring_view *v = ring();
	u8 how = input_u8(input);

	switch (how & 7) {
	case 0:
		v->ring->tail = v->ring->head + (how >> 3);
		break;
	case 1:
		v->ring->head = v->ring->tail - (how >> 3);
		break;
	case 2:
		v->ring->overrun = how >> 3;
		break;
	case 3:
		v->ring->tail = (u32)input_edge(input);
		break;
	case 4:
		v->slots[how >> 3 & v->mask] = kgni_ring_vacant(v, v->ring->head);
		break;
	case 5:
		kgni_ring_push(v, likely_event() | 1ULL << 60);
		break;
	default:
		v->slots[(v->ring->head + (how >> 3)) & v->mask] = likely_event();
	}
}

static void write_mbox(void)
{
	u64 size = kgni_smsg_size(&geom), word;
	u8 how = input_u8(input);
	u32 n = how >> 3;

	switch (how & 7) {
	case 0:
		word = n;
		memcpy(mbox, &word, 8);
		break;
	case 1:
	case 2:
	case 3:
		word = kgni_smsg_word(n, input_u8(input), input_u8(input));
		memcpy(mbox + kgni_smsg_slot(&geom, n), &word, 8);
		break;
	case 4:
		word = input_edge(input);
		memcpy(mbox + kgni_smsg_slot(&geom, n), &word, 8);
		break;
	case 5:
		word = input_edge(input);
		memcpy(mbox, &word, 8);
		break;
	default:
		mbox[input_u16(input) % size] = how;
	}
}

/* --- posts and events -------------------------------------------------------------- */

/* Puts end where they may: else ASan finds them in fake_put(). */
static void in_post(const struct kgni_ioc_post *a)
{
	u64 offset, n = a->sync_value & (KGNI_SMSG_VALID - 1);

	if (!(a->flags & KGNI_POST_SMSG))
		return;
	offset = a->sync_addr - (uintptr_t)remote_mbox;
	check(offset < kgni_smsg_size(&geom), "offset %llu", (unsigned long long)offset);
	/* The next message, or one sent again whose slot has no later one. */
	check(!offset || (n <= sent && n + geom.credits >= sent &&
			  offset == kgni_smsg_slot(&geom, n)),
	      "message %llu of %llu at offset %llu", (unsigned long long)n,
	      (unsigned long long)sent, (unsigned long long)offset);
	check(a->length <= geom.maxsize, "%llu bytes", (unsigned long long)a->length);
}

static void post_one(void)
{
	u8 how = input_u8(input);
	struct flight *f = &flights[how % DESCRIPTORS];
	gni_return_t rc;

	if (f->posted)
		return;
	memset(&f->d, 0xa5, sizeof(f->d));
	f->d.type = GNI_POST_FMA_PUT;
	f->d.cq_mode = how >> 3 & 7;
	f->d.local_addr = (uintptr_t)target;
	f->d.remote_addr = (uintptr_t)target;
	f->d.remote_mem_hndl.qword1 = 0;
	f->d.length = how & 7;
	rc = GNI_PostFma(side.ep, &f->d);
	check(1U << rc & (CODE(SUCCESS) | CODE(INVALID_PARAM) | CODE(ERROR_RESOURCE) |
			  CODE(PERMISSION_ERROR) | CODE(ERROR_NOMEM)), "code %d", rc);
	f->posted = rc == GNI_RC_SUCCESS &&
		    f->d.cq_mode & (GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT);
}

static struct flight *flight_of(const gni_post_descriptor_t *d)
{
	u32 i;

	for (i = 0; i < DESCRIPTORS; i++)
		if (d == &flights[i].d)
			return &flights[i];
	return NULL;
}

static void get_completed(gni_cq_entry_t e)
{
	gni_post_descriptor_t *d = (void *)&d;
	struct flight *f;
	gni_return_t rc;

	rc = GNI_GetCompleted(side.cq, e, &d);
	check(1U << rc & (CODE(SUCCESS) | CODE(TRANSACTION_ERROR) | CODE(DESCRIPTOR_ERROR)),
	      "code %d", rc);
	if (rc == GNI_RC_DESCRIPTOR_ERROR) {
		check(!d, "a descriptor with an error");
		return;
	}
	f = flight_of(d);
	check(f, "%p is no descriptor", (void *)d);
	check(f->posted, "descriptor %d came back once more", (int)(f - flights));
	check(d->status == rc, "status %d, code %d", (int)d->status, rc);
	check(d->cq_mode_complete & d->cq_mode, "event %#x of %#x", d->cq_mode_complete,
	      d->cq_mode);
	if (d->cq_mode_complete & GNI_CQMODE_GLOBAL_EVENT ||
	    !(d->cq_mode & GNI_CQMODE_GLOBAL_EVENT))
		f->posted = false;
}

#define EVENT_CODES	(CODE(SUCCESS) | CODE(NOT_DONE) | CODE(ERROR_RESOURCE) |	\
			 CODE(TRANSACTION_ERROR))

static void get_event(u8 how)
{
	gni_cq_entry_t e = 0;
	gni_return_t rc;
	uint32_t which;

	if (how & 4)
		rc = GNI_CqWaitEvent(side.cq, 0, &e);
	else if (how & 2)
		rc = GNI_CqVectorWaitEvent(&side.cq, 1, 0, &e, &which);
	else
		rc = GNI_CqGetEvent(side.cq, &e);
	check(1U << rc & (EVENT_CODES | (how & 6 ? CODE(TIMEOUT) : 0)), "code %d", rc);
	if (rc != GNI_RC_SUCCESS && rc != GNI_RC_TRANSACTION_ERROR)
		return;
	check((gni_cq_get_status(e) == 0) == (rc == GNI_RC_SUCCESS), "%#llx with code %d",
	      (unsigned long long)e, rc);
	events[last_event++ % EVENTS] = e;
	if (how & 1)
		get_completed(e);
}

/* --- messages ---------------------------------------------------------------------- */

static void send_message(void)
{
	u32 header_length = input_u8(input), data_length = input_u8(input) & 63;
	u8 *header = fuzz_memory(8, header_length ? header_length : 1);
	u8 *data = fuzz_memory(8, data_length ? data_length : 1);
	gni_return_t rc;
	u64 word;

	memcpy(&word, mbox, 8);
	if (word >= acked && word <= sent)
		acked = word;
	rc = GNI_SmsgSendWTag(side.ep, header, header_length, data, data_length, last_event,
			      input_u8(input));
	check(1U << rc & (CODE(SUCCESS) | CODE(NOT_DONE) | CODE(ERROR_RESOURCE) |
			  CODE(PERMISSION_ERROR)), "code %d", rc);
	if (rc == GNI_RC_SUCCESS) {
		sent++;
		check(header_length + data_length <= geom.maxsize, "too long");
		check(sent - acked <= geom.credits, "%llu out", (unsigned long long)(sent - acked));
	}
	free(header);
	free(data);
}

static void next_message(void)
{
	uint8_t tag = input_u8(input), asked = tag;
	void *header = NULL;
	gni_return_t rc;
	u64 offset;

	rc = GNI_SmsgGetNextWTag(side.ep, &header, &tag);
	check(1U << rc & (CODE(SUCCESS) | CODE(NOT_DONE) | CODE(INVALID_STATE) | CODE(NO_MATCH)),
	      "code %d", rc);
	if (rc != GNI_RC_SUCCESS) {
		check(!header, "a message with an error");
		return;
	}
	offset = (u8 *)header - mbox;
	check(offset < kgni_smsg_size(&geom), "offset %llu", (unsigned long long)offset);
	check(asked == GNI_SMSG_ANY_TAG || asked == tag, "tag %u for %u", tag, asked);
	fuzz_read(header, geom.maxsize);
}

static gni_smsg_attr_t attr(void *mem)
{
	gni_smsg_attr_t a;

	memset(&a, 0, sizeof(a));
	a.msg_type = geom.credits & 1 ? GNI_SMSG_TYPE_MBOX : GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	a.msg_buffer = mem;
	a.buff_size = kgni_smsg_size(&geom);
	a.mbox_maxcredit = geom.credits;
	a.msg_maxsize = geom.maxsize;
	return a;
}

static void smsg_begin(void)
{
	gni_smsg_attr_t local = attr(mbox), remote = attr(remote_mbox);

	check_rc(GNI_SmsgInit(side.ep, &local, &remote), CODE(SUCCESS));
	sent = 0;
	acked = 0;
}

static void rebind(void)
{
	gni_return_t rc = GNI_EpUnbind(side.ep);

	check(1U << rc & (CODE(SUCCESS) | CODE(NOT_DONE)), "code %d", rc);
	if (rc != GNI_RC_SUCCESS)
		return;
	check_rc(GNI_EpBind(side.ep, 7, 22), CODE(SUCCESS));
	smsg_begin();
}

/* --- a run ------------------------------------------------------------------------- */

static void set_driver(u8 how)
{
	fake.post_status = how & 1 ? KGNI_ST_BOUNDS : KGNI_ST_OK;
	fake.post_silent = how & 2;
	fake.post_answer = how & 4 ? -EPERM : how & 8 ? -ENOMEM : 0;
}

static void act(void)
{
	u8 what = input_u8(input);

	switch (what & 15) {
	case 0:
	case 1:
		post_one();
		break;
	case 2:
	case 3:
	case 4:
		get_event(what >> 4);
		break;
	case 5:
		get_completed(likely_event());
		break;
	case 6:
		check_rc(GNI_CqTestEvent(side.cq),
			 CODE(SUCCESS) | CODE(NOT_DONE) | CODE(ERROR_RESOURCE));
		break;
	case 7:
		set_driver(what >> 4);
		break;
	case 8:
		rebind();
		break;
	case 9:
		send_message();
		break;
	case 10:
	case 11:
		next_message();
		break;
	case 12:
		check_rc(GNI_SmsgRelease(side.ep), CODE(SUCCESS) | CODE(NOT_DONE));
		break;
	case 13:
		write_mbox();
		break;
	default:
		write_ring();
	}
}

static void check_counts(void)
{
	const struct gni_ep *ep = side.ep;
	const struct gni_cq *cq = side.cq;

	check(ep->outstanding[0] <= cq->entries && !ep->outstanding[1], "%u of %u, %u elsewhere",
	      ep->outstanding[0], cq->entries, ep->outstanding[1]);
	check(!cq->posting, "%u are posting", cq->posting);
}

/* What is no memory of the ring's shall not be touched. */
static void guard_ring(void)
{
	struct fake_cq *cq = &fake.cq[((struct gni_cq *)side.cq)->id];
	char *mem = cq->mem;
	size_t used = KGNI_RING_SLOTS_OFFSET + cq->slots * sizeof(u64);

	ASAN_POISON_MEMORY_REGION(mem + sizeof(struct kgni_ring),
				  KGNI_RING_SLOTS_OFFSET - sizeof(struct kgni_ring));
	ASAN_POISON_MEMORY_REGION(mem + used, -used & 4095);
}

static void begin(void)
{
	u8 how = input_u8(input);

	dual = how & 1;
	check(kgni_smsg_geom_init(&geom, 1 + (how >> 1 & 7), 1 + input_u8(input)), "no shape");
	mbox = fuzz_memory(64, kgni_smsg_size(&geom));
	remote_mbox = fuzz_memory(64, kgni_smsg_size(&geom));
	target = fuzz_memory(64, TARGET);
	memset(flights, 0, sizeof(flights));
	memset(events, 0, sizeof(events));
	last_event = 0;
	fake_side(&side, dual ? GNI_CDM_MODE_DUAL_EVENTS : 0, 1 + (how >> 4));
	fake.in_post = in_post;
	guard_ring();
	smsg_begin();
}

static void end(void)
{
	fake_side_end(&side);
	check(!fake.open_files, "%d files are open", fake.open_files);
	free(mbox);
	free(remote_mbox);
	free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	input = &in;
	begin();
	while (in.left) {
		act();
		check_counts();
	}
	end();
	return 0;
}
