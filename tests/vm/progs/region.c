// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions of other kinds than a plain range: segments, virtual handles,
 * reserved and updated ranges, clones, shared MDDs; memory of several sorts;
 * and the list of registrations.
 */
#include <fcntl.h>

#include "common.h"
#include "core/memhndl.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define REMOTE	GNI_CQMODE_REMOTE_EVENT
#define HUGE_PAGE	(2UL << 20)

static struct nic nic;
static gni_ep_handle_t self;

static void setup_modes(uint32_t modes)
{
	nic_open_modes(&nic, 0, 1, modes);
	self = ep_open(&nic, nic.pe, nic.id);
}

static void setup(void)
{
	setup_modes(0);
}

static gni_return_t reg(void *p, uint64_t len, uint32_t flags, uint32_t index,
			gni_mem_handle_t *mh)
{
	return GNI_MemRegister(nic.h, (uint64_t)p, len, NULL, flags, index, mh);
}

static gni_return_t dereg(gni_mem_handle_t *mh)
{
	return GNI_MemDeregister(nic.h, mh);
}

/* Put into the region at this address (or offset); the code that comes of it. */
static gni_return_t put_at(const gni_mem_handle_t *mh, uint64_t addr, const void *src, uint64_t len)
{
	struct region r = { .addr = addr, .mh = *mh };
	gni_post_descriptor_t d;

	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
	desc_move(&d, (void *)src, NULL, &r, 0, len);
	return post_wait(self, nic.tx, &d);
}

/* RDMA between two regions, both named by handle and address or offset. */
static gni_return_t rdma(gni_post_type_t type, const gni_mem_handle_t *lmh, uint64_t local,
			 const gni_mem_handle_t *mh, uint64_t remote, uint64_t len)
{
	struct region r = { .addr = remote, .mh = *mh };
	gni_post_descriptor_t d;

	desc_init(&d, type, GLOBAL);
	desc_move(&d, (void *)local, lmh, &r, 0, len);
	return post_wait(self, nic.tx, &d);
}

static uint64_t mdds_used(void)
{
	gni_job_res_desc_t desc = { 0 };
	uint8_t ptag = 0;

	is_rc(GNI_GetPtag(0, COOKIE, &ptag), GNI_RC_SUCCESS);
	is_rc(GNI_GetJobResInfo(0, ptag, GNI_JOB_RES_MDD, &desc), GNI_RC_SUCCESS);
	return desc.used;
}

static struct kgni_mh parts_of(const gni_mem_handle_t *mh)
{
	struct kgni_mh parts;

	ok(kgni_mh_unpack(mh->qword1, mh->qword2, &parts), "CRC");
	return parts;
}

static bool attr(gni_mem_handle_t *mh, gni_mem_handle_attr_t which)
{
	int yes = -1;

	is_rc(GNI_MemHndlQueryAttr(mh, which, &yes), GNI_RC_SUCCESS);
	return yes == 1;
}

/* --- segments ------------------------------------------------------------------ */

static gni_return_t reg_segments(gni_mem_segment_t *seg, uint32_t n, uint32_t flags,
				 gni_mem_handle_t *mh)
{
	return GNI_MemRegisterSegments(nic.h, seg, n, NULL, flags, -1, mh);
}

/* Byte @offset of the segments put end to end, which begin @skip bytes into a page. */
static unsigned char *seg_byte(const gni_mem_segment_t *seg, uint64_t offset, uint64_t skip)
{
	offset -= skip;
	while (offset >= seg->length)
		offset -= seg++->length;
	return (unsigned char *)seg->address + offset;
}

static bool seg_filled(const gni_mem_segment_t *seg, uint64_t at, uint64_t len, uint64_t skip,
		       uint32_t seed)
{
	unsigned char *want = malloc(len);
	uint64_t i;
	bool same = true;

	fill(want, len, seed);
	for (i = 0; i < len; i++)
		same &= *seg_byte(seg, at + i, skip) == want[i];
	free(want);
	return same;
}

/* Out of order, with holes, one range twice over. */
static void test_segments(void)
{
	unsigned char *mem = map_private(16 * PAGE), *src = map_private(8 * PAGE);
	gni_mem_segment_t seg[] = {
		{ (uint64_t)mem + 9 * PAGE, PAGE }, { (uint64_t)mem + 2 * PAGE, 2 * PAGE },
		{ (uint64_t)mem + 12 * PAGE, PAGE }, { (uint64_t)mem, PAGE },
	};
	static const uint64_t at[] = { 0, 1, PAGE - 8, PAGE - 1, 3 * PAGE - 5, 4 * PAGE };
	static const uint64_t len[] = { 1, 8, 9, PAGE };
	gni_mem_handle_t mh, src_mh;
	unsigned int i, j;

	setup();
	must_do(reg_segments(seg, ARRAY_SIZE(seg), 0, &mh));
	must_do(reg(src, 8 * PAGE, 0, -1, &src_mh));
	is_u64(parts_of(&mh).va, 0);
	is_u64(parts_of(&mh).npages, 5);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (j = 0; j < ARRAY_SIZE(len); j++) {
			fill(src, len[j], i * 7 + j + 1);
			is_rc(put_at(&mh, at[i], src, len[j]), GNI_RC_SUCCESS);
			ok(seg_filled(seg, at[i], len[j], 0, i * 7 + j + 1), "FMA %u %u", i, j);
			fill(src, len[j], i * 7 + j + 2);
			is_rc(rdma(GNI_POST_RDMA_PUT, &src_mh, (uint64_t)src, &mh, at[i], len[j]),
			      GNI_RC_SUCCESS);
			ok(seg_filled(seg, at[i], len[j], 0, i * 7 + j + 2), "RDMA %u %u", i, j);
		}
	}
	/* As the local side, too. */
	is_rc(rdma(GNI_POST_RDMA_GET, &src_mh, (uint64_t)src, &mh, PAGE - 4, 2 * PAGE),
	      GNI_RC_SUCCESS);
	is_u64(src[0], *seg_byte(seg, PAGE - 4, 0));
	ok(!memcmp(src + 4, mem + 2 * PAGE, 2 * PAGE - 4));
	fill(src, 3 * PAGE, 77);
	is_rc(rdma(GNI_POST_RDMA_GET, &mh, PAGE, &src_mh, (uint64_t)src, 3 * PAGE),
	      GNI_RC_SUCCESS);
	ok(seg_filled(seg, PAGE, 3 * PAGE, 0, 77), "segments as the destination of a get");
	/* Offsets, not addresses; and not beyond the end. */
	is_rc(put_at(&mh, seg[0].address, src, 8), GNI_RC_TRANSACTION_ERROR);
	is_rc(put_at(&mh, 5 * PAGE, src, 1), GNI_RC_TRANSACTION_ERROR);
	is_rc(put_at(&mh, 5 * PAGE - 1, src, 2), GNI_RC_TRANSACTION_ERROR);
	is_rc(dereg(&mh), GNI_RC_SUCCESS);
	is_rc(put_at(&mh, 0, src, 8), GNI_RC_TRANSACTION_ERROR);
}

/* The first one begins inside a page and the last one ends inside one. */
static void test_segment_ends(void)
{
	unsigned char *mem = map_private(8 * PAGE), *src = map_private(PAGE);
	gni_mem_segment_t seg[] = {
		{ (uint64_t)mem + PAGE + 100, PAGE - 100 }, { (uint64_t)mem + 4 * PAGE, 50 },
	};
	uint64_t address = 0, length = 0;
	gni_mem_handle_t mh, next = { 0 };

	setup();
	must_do(reg_segments(seg, 2, 0, &mh));
	fill(src, 60, 5);
	is_rc(put_at(&mh, PAGE - 30, src, 60), GNI_RC_SUCCESS);
	ok(seg_filled(seg, PAGE - 30, 60, 100, 5));
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, &address, &length), GNI_RC_SUCCESS);
	is_u64(address, 100);
	is_u64(length, PAGE - 50);
	must_do(dereg(&mh));
	must_do(reg_segments(seg, 1, 0, &mh));
	is_u64(parts_of(&mh).npages, 1);
	is_rc(put_at(&mh, 100, src, 60), GNI_RC_SUCCESS);
	ok(!memcmp(mem + PAGE + 100, src, 60));
}

static void test_segment_errors(void)
{
	unsigned char *mem = map_private(8 * PAGE), *ro = map_private(PAGE);
	gni_mem_segment_t good[] = { { (uint64_t)mem, PAGE }, { (uint64_t)mem + 2 * PAGE, PAGE } };
	gni_mem_segment_t seg[3];
	gni_mem_handle_t mh = { 1, 2 };
	gni_mem_segment_t *many;

	setup();
	must(!mprotect(ro, PAGE, PROT_READ));
	is_rc(GNI_MemRegisterSegments(NULL, good, 2, NULL, 0, -1, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(NULL, 2, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments((void *)8, 2, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(good, 0, 0, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(good, 2, 0, NULL), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(good, 2, GNI_MEM_PHYS_SEGMENTS, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(good, 2, GNI_MEM_RESERVE_REGION, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg_segments(good, 2, GNI_MEM_MDD_CLONE, &mh), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemRegisterSegments(nic.h, good, 2, (void *)8, 0, -1, &mh), GNI_RC_INVALID_PARAM);
	memcpy(seg, good, sizeof(good));
	seg[1].length = 0;
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_INVALID_PARAM, "no length");
	memcpy(seg, good, sizeof(good));
	seg[1].address += 8;
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_INVALID_PARAM, "second begins in a page");
	memcpy(seg, good, sizeof(good));
	seg[0].length -= 8;
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_INVALID_PARAM, "first ends in a page");
	memcpy(seg, good, sizeof(good));
	seg[1].address = (uint64_t)ro;
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_PERMISSION_ERROR);
	is_rc(reg_segments(seg, 2, GNI_MEM_READ_ONLY, &mh), GNI_RC_SUCCESS);
	is_rc(dereg(&mh), GNI_RC_SUCCESS);
	must(!munmap(ro, PAGE));
	mh = (gni_mem_handle_t){ 1, 2 };
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_INVALID_PARAM, "not mapped");
	seg[1].address = 0xffff888000000000;
	is_rc(reg_segments(seg, 2, 0, &mh), GNI_RC_INVALID_PARAM, "the kernel's");
	is_u64(mh.qword1, 1, "left alone");
	is_u64(mh.qword2, 2, "left alone");
	many = calloc(KGNI_SEGMENTS_MAX + 1, sizeof(*many));
	is_rc(reg_segments(many, KGNI_SEGMENTS_MAX + 1, 0, &mh), GNI_RC_ERROR_RESOURCE);
	free(many);
	is_u64(mdds_used(), 0);
}

/* One after another, each of one page: the most there can be. */
static void test_many_segments(void)
{
	const uint32_t n = 4096;
	unsigned char *mem = map_private(PAGE), *src = map_private(PAGE);
	gni_mem_segment_t *seg = calloc(n, sizeof(*seg));
	gni_mem_handle_t mh;
	uint32_t i;

	setup();
	for (i = 0; i < n; i++)
		seg[i] = (gni_mem_segment_t){ (uint64_t)mem, PAGE };
	must_do(reg_segments(seg, n, 0, &mh));
	fill(src, 64, 3);
	is_rc(put_at(&mh, (n - 1) * PAGE + 64, src, 64), GNI_RC_SUCCESS);
	ok(filled(mem + 64, 64, 3));
	free(seg);
}

/* --- virtual handles ----------------------------------------------------------- */

static void test_vmdh(void)
{
	unsigned char *mem = map_private(4 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh[4], rebuilt;
	unsigned int i;

	setup();
	is_rc(reg(mem, PAGE, GNI_MEM_USE_VMDH, 0, &mh[0]), GNI_RC_INVALID_PARAM, "no block");
	is_rc(GNI_SetMddResources(NULL, 4), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetMddResources(nic.h, 0), GNI_RC_INVALID_PARAM);
	is_rc(GNI_SetMddResources(nic.h, 4097), GNI_RC_INVALID_PARAM);
	must_do(GNI_SetMddResources(nic.h, 4));
	is_rc(GNI_SetMddResources(nic.h, 4), GNI_RC_INVALID_PARAM, "twice");
	is_rc(reg(mem, PAGE, GNI_MEM_USE_VMDH, 4, &mh[0]), GNI_RC_INVALID_PARAM, "outside");
	must_do(reg(mem + 2 * PAGE, PAGE, GNI_MEM_USE_VMDH, 2, &mh[2]));
	is_rc(reg(mem, PAGE, GNI_MEM_USE_VMDH, 2, &mh[0]), GNI_RC_ERROR_RESOURCE, "in use");
	for (i = 0; i < 4; i++)
		if (i != 2)
			must_do(reg(mem + i * PAGE, PAGE, GNI_MEM_USE_VMDH, -1, &mh[i]));
	is_rc(reg(mem, PAGE, GNI_MEM_USE_VMDH, -1, &rebuilt), GNI_RC_ERROR_RESOURCE, "full");
	fill(src, 64, 9);
	for (i = 0; i < 4; i++) {
		is_u64(parts_of(&mh[i]).mdh, i);
		ok(attr(&mh[i], GNI_MEMHNDL_ATTR_VMDH));
		is_rc(put_at(&mh[i], (uint64_t)mem + i * PAGE, src, 64), GNI_RC_SUCCESS);
		ok(filled(mem + i * PAGE, 64, 9));
		/* What a peer works out from its own. */
		is_rc(GNI_RebuildMemHndl(&mh[0], i, &rebuilt), GNI_RC_SUCCESS);
		is_u64(parts_of(&rebuilt).mdh, i);
		is_u64(parts_of(&rebuilt).va, parts_of(&mh[0]).va);
		is_rc(put_at(&rebuilt, (uint64_t)mem + i * PAGE + 64, src, 64), GNI_RC_SUCCESS);
		ok(filled(mem + i * PAGE + 64, 64, 9));
		is_rc(put_at(&rebuilt, (uint64_t)mem + (i ^ 1) * PAGE, src, 64),
		      GNI_RC_TRANSACTION_ERROR, "of another index");
	}
	/* An index is not a number of another registration. */
	is_rc(dereg(&mh[3]), GNI_RC_SUCCESS);
	is_rc(put_at(&mh[3], (uint64_t)mem + 3 * PAGE, src, 64), GNI_RC_TRANSACTION_ERROR);
	must_do(reg(mem + 3 * PAGE, PAGE, GNI_MEM_USE_VMDH, 3, &mh[3]));
	is_rc(dereg(&mh[3]), GNI_RC_SUCCESS);
	is_rc(dereg(&mh[3]), GNI_RC_INVALID_PARAM);
}

/* The index is the job's: no two registrations have it, whoever makes them. */
static void test_vmdh_of_job(void)
{
	unsigned char *mem = map_private(2 * PAGE), *src = map_private(PAGE);
	struct nic other;
	gni_mem_handle_t a, b;

	setup();
	nic_open(&other, 0, 2);
	must_do(GNI_SetMddResources(nic.h, 8));
	is_rc(GNI_MemRegister(other.h, (uint64_t)mem, PAGE, NULL, GNI_MEM_USE_VMDH, 1, &b),
	      GNI_RC_INVALID_PARAM, "no block of its own");
	must_do(GNI_SetMddResources(other.h, 8));
	must_do(reg(mem, PAGE, GNI_MEM_USE_VMDH, 1, &a));
	is_rc(GNI_MemRegister(other.h, (uint64_t)mem, PAGE, NULL, GNI_MEM_USE_VMDH, 1, &b),
	      GNI_RC_ERROR_RESOURCE);
	must_do(GNI_MemRegister(other.h, (uint64_t)mem + PAGE, PAGE, NULL, GNI_MEM_USE_VMDH, 2,
				&b));
	is_rc(dereg(&b), GNI_RC_INVALID_PARAM, "another's");
	is_rc(put_at(&b, (uint64_t)mem + PAGE, src, 8), GNI_RC_SUCCESS);
	nic_close(&other);
	is_rc(put_at(&b, (uint64_t)mem + PAGE, src, 8), GNI_RC_TRANSACTION_ERROR);
	must_do(reg(mem + PAGE, PAGE, GNI_MEM_USE_VMDH, 2, &b));
}

static void test_rebuild_errors(void)
{
	unsigned char *mem = map_private(PAGE);
	gni_mem_handle_t mh, plain, out, bad;

	setup();
	must_do(GNI_SetMddResources(nic.h, 4096));
	must_do(reg(mem, PAGE, GNI_MEM_USE_VMDH, 4095, &mh));
	must_do(reg(mem, PAGE, 0, -1, &plain));
	is_rc(GNI_RebuildMemHndl(NULL, 1, &out), GNI_RC_INVALID_PARAM);
	is_rc(GNI_RebuildMemHndl(&mh, 1, NULL), GNI_RC_INVALID_PARAM);
	is_rc(GNI_RebuildMemHndl(&mh, 4096, &out), GNI_RC_INVALID_PARAM);
	is_rc(GNI_RebuildMemHndl(&plain, 1, &out), GNI_RC_INVALID_PARAM, "no index in it");
	bad = mh;
	bad.qword1 ^= 1;
	is_rc(GNI_RebuildMemHndl(&bad, 1, &out), GNI_RC_INVALID_PARAM, "damaged");
	is_rc(GNI_RebuildMemHndl(&mh, 1, &mh), GNI_RC_SUCCESS, "in place");
	is_u64(parts_of(&mh).mdh, 1);
}

/* --- reserved ranges ------------------------------------------------------------ */

static void test_reserve(void)
{
	unsigned char *mem = map_private(8 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh, out;
	const uint32_t virt = GNI_MEM_USE_VMDH;

	setup();
	must_do(GNI_SetMddResources(nic.h, 4));
	/* Memory need not be there yet. */
	must(!munmap(mem + 4 * PAGE, PAGE));
	must_do(reg(mem, 8 * PAGE, virt | GNI_MEM_RESERVE_REGION, 1, &mh));
	is_rc(reg(mem, PAGE, virt, 1, &out), GNI_RC_ERROR_RESOURCE, "index in use");
	is_rc(GNI_RebuildMemHndl(&mh, 2, &out), GNI_RC_INVALID_STATE, "not updated yet");
	is_rc(put_at(&mh, (uint64_t)mem, src, 8), GNI_RC_TRANSACTION_ERROR);
	is_rc(rdma(GNI_POST_RDMA_PUT, &mh, (uint64_t)mem, &mh, (uint64_t)mem, 8),
	      GNI_RC_INVALID_PARAM, "local side without pages");
	must_do(reg(mem + 2 * PAGE, 2 * PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh));
	is_u64(parts_of(&mh).mdh, 1);
	is_u64(parts_of(&mh).npages, 8);
	is_u64(parts_of(&mh).va, (uint64_t)mem);
	is_rc(GNI_RebuildMemHndl(&mh, 2, &out), GNI_RC_SUCCESS);
	fill(src, PAGE, 4);
	is_rc(put_at(&mh, (uint64_t)mem + 2 * PAGE + 100, src, PAGE), GNI_RC_SUCCESS);
	ok(filled(mem + 2 * PAGE + 100, PAGE, 4));
	is_rc(put_at(&mh, (uint64_t)mem + 2 * PAGE - 1, src, 2), GNI_RC_TRANSACTION_ERROR);
	is_rc(put_at(&mh, (uint64_t)mem + 4 * PAGE - 1, src, 2), GNI_RC_TRANSACTION_ERROR);
	ok(!mem[2 * PAGE] && !mem[4 * PAGE - 1], "no byte of what failed");
	/* Pages that are there may be named again; a page that is not mapped may not. */
	is_rc(reg(mem + 3 * PAGE, 2 * PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh),
	      GNI_RC_INVALID_PARAM);
	is_rc(reg(mem + 1 * PAGE, 3 * PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh), GNI_RC_SUCCESS);
	is_rc(put_at(&mh, (uint64_t)mem + 2 * PAGE - 8, src, 16), GNI_RC_SUCCESS);
	must(mmap(mem + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + 4 * PAGE);
	is_rc(reg(mem + 4 * PAGE, PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh), GNI_RC_SUCCESS);
	is_rc(put_at(&mh, (uint64_t)mem + 4 * PAGE, src, PAGE), GNI_RC_SUCCESS);
	ok(filled(mem + 4 * PAGE, PAGE, 4));
	/* Another page where one was: what the handle reaches is the old one. */
	must(mmap(mem + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + 4 * PAGE);
	is_rc(reg(mem + 4 * PAGE, 2 * PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh),
	      GNI_RC_INVALID_PARAM);
	is_rc(put_at(&mh, (uint64_t)mem + 5 * PAGE, src, 8), GNI_RC_TRANSACTION_ERROR);
	is_rc(dereg(&mh), GNI_RC_SUCCESS);
	is_rc(reg(mem, PAGE, virt | GNI_MEM_UPDATE_REGION, 1, &mh), GNI_RC_INVALID_PARAM);
}

/* Without an index the handle tells which one is meant. */
static void test_reserve_plain(void)
{
	unsigned char *mem = map_private(4 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh, ro, normal, wrong;

	setup();
	must_do(reg(mem, 4 * PAGE, GNI_MEM_RESERVE_REGION, -1, &mh));
	must_do(reg(mem, 4 * PAGE, GNI_MEM_RESERVE_REGION | GNI_MEM_READ_ONLY, -1, &ro));
	must_do(reg(mem, PAGE, 0, -1, &normal));
	wrong = normal;
	is_rc(reg(mem, PAGE, GNI_MEM_UPDATE_REGION, -1, &wrong), GNI_RC_INVALID_PARAM,
	      "of what was not reserved");
	is_rc(reg(mem, 5 * PAGE, GNI_MEM_UPDATE_REGION, -1, &mh), GNI_RC_INVALID_PARAM, "beyond");
	is_rc(reg(mem - PAGE, PAGE, GNI_MEM_UPDATE_REGION, -1, &mh), GNI_RC_INVALID_PARAM,
	      "before");
	is_rc(reg(mem, 0, GNI_MEM_UPDATE_REGION, -1, &mh), GNI_RC_INVALID_PARAM, "nothing");
	is_rc(GNI_MemRegister(nic.h, (uint64_t)mem, PAGE, nic.rx, GNI_MEM_UPDATE_REGION, -1, &mh),
	      GNI_RC_INVALID_PARAM, "another queue");
	is_rc(reg(mem, PAGE, GNI_MEM_UPDATE_REGION, -1, &ro), GNI_RC_PERMISSION_ERROR);
	must_do(reg(mem + PAGE, PAGE, GNI_MEM_UPDATE_REGION, -1, &mh));
	must_do(reg(mem + PAGE, PAGE, GNI_MEM_UPDATE_REGION | GNI_MEM_READ_ONLY, -1, &ro));
	is_rc(put_at(&mh, (uint64_t)mem + PAGE, src, 8), GNI_RC_SUCCESS);
	is_rc(put_at(&ro, (uint64_t)mem + PAGE, src, 8), GNI_RC_TRANSACTION_ERROR);
	is_rc(put_at(&mh, (uint64_t)mem, src, 8), GNI_RC_TRANSACTION_ERROR);
}

/* --- clones ---------------------------------------------------------------------- */

static void test_clone(void)
{
	unsigned char *mem = map_private(4 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh, clone, ro, bad;
	gni_cq_entry_t event = 0;
	gni_post_descriptor_t d;
	struct region r;

	setup();
	must_do(reg(mem, 4 * PAGE, 0, -1, &mh));
	clone = mh;
	/* With a queue, of a part. */
	must_do(GNI_MemRegister(nic.h, (uint64_t)mem + PAGE, PAGE, nic.rx, GNI_MEM_MDD_CLONE, -1,
				&clone));
	ok(attr(&clone, GNI_MEMHNDL_ATTR_CLONE) && !attr(&mh, GNI_MEMHNDL_ATTR_CLONE));
	ok(parts_of(&clone).mdh != parts_of(&mh).mdh);
	ro = mh;
	must_do(reg(mem, 4 * PAGE, GNI_MEM_MDD_CLONE | GNI_MEM_READ_ONLY, -1, &ro));
	bad = ro;
	is_rc(reg(mem, PAGE, GNI_MEM_MDD_CLONE, -1, &bad), GNI_RC_PERMISSION_ERROR,
	      "to write what the original may not");
	bad = mh;
	is_rc(reg(mem, 5 * PAGE, GNI_MEM_MDD_CLONE, -1, &bad), GNI_RC_INVALID_PARAM, "beyond");
	is_rc(reg(mem, 0, GNI_MEM_MDD_CLONE, -1, &bad), GNI_RC_INVALID_PARAM, "nothing");
	memset(&bad, 0, sizeof(bad));
	is_rc(reg(mem, PAGE, GNI_MEM_MDD_CLONE, -1, &bad), GNI_RC_INVALID_PARAM, "of nothing");
	is_u64(mdds_used(), 3);
	/* The memory stays as long as one of them does. */
	must_do(dereg(&mh));
	is_rc(put_at(&mh, (uint64_t)mem + PAGE, src, 8), GNI_RC_TRANSACTION_ERROR);
	fill(src, 64, 8);
	r = (struct region){ .addr = (uint64_t)mem, .mh = clone };
	desc_init(&d, GNI_POST_FMA_PUT, GLOBAL | REMOTE);
	desc_move(&d, src, NULL, &r, PAGE, 64);
	is_rc(post_wait(self, nic.tx, &d), GNI_RC_SUCCESS);
	is_rc(GNI_CqGetEvent(nic.rx, &event), GNI_RC_SUCCESS);
	ok(filled(mem + PAGE, 64, 8));
	is_rc(put_at(&clone, (uint64_t)mem, src, 8), GNI_RC_TRANSACTION_ERROR, "not its part");
	is_rc(put_at(&ro, (uint64_t)mem, src, 8), GNI_RC_TRANSACTION_ERROR, "read-only");
	must_do(dereg(&clone));
	must_do(dereg(&ro));
	is_u64(mdds_used(), 0);
}

/* --- handles of version 2 --------------------------------------------------------- */

/* As a client makes one that keeps va, the upper 12 bits and few flags. */
static gni_mem_handle_t as_version1(const gni_mem_handle_t *mh)
{
	return (gni_mem_handle_t){ mh->qword1, (1ULL << 28) - 1 };
}

static void test_shared(void)
{
	unsigned char *mem = map_private(2 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh, one;
	struct nic other;

	setup();
	must_do(reg(mem, PAGE, GNI_MEM_MDD_SHARED, -1, &mh));
	is_u64(parts_of(&mh).flags, KGNI_MH_V2);
	is_rc(put_at(&mh, (uint64_t)mem, src, 8), GNI_RC_SUCCESS);
	one = as_version1(&mh);
	fill(src, 64, 6);
	is_rc(put_at(&one, (uint64_t)mem, src, 64), GNI_RC_SUCCESS, "rebuilt as version 1");
	ok(filled(mem, 64, 6));
	must_do(dereg(&one));
	is_rc(dereg(&mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(mem, PAGE, GNI_MEM_MDD_SHARED | GNI_MEM_MDD_DEDICATED, -1, &mh),
	      GNI_RC_INVALID_PARAM);
	nic_open_modes(&other, 0, 2, GNI_CDM_MODE_MDD_SHARED);
	must_do(GNI_MemRegister(other.h, (uint64_t)mem, PAGE, NULL, 0, -1, &mh));
	is_u64(parts_of(&mh).flags, KGNI_MH_V2, "by the mode of the domain");
	must_do(GNI_MemRegister(other.h, (uint64_t)mem, PAGE, NULL, GNI_MEM_MDD_DEDICATED, -1,
				&mh));
	is_u64(parts_of(&mh).flags, 0, "whatever the mode of the domain");
}

#define SHARERS		10000
#define OWN_NUMBERS	4095

static void reg_sharers(unsigned char *mem, gni_mem_handle_t *mh)
{
	unsigned int i;

	for (i = 0; i < SHARERS; i++) {
		must_rc(reg(mem + i * PAGE, PAGE, GNI_MEM_MDD_SHARED, -1, &mh[i]), GNI_RC_SUCCESS,
			"%u", i);
		must(parts_of(&mh[i]).flags == KGNI_MH_V2);
	}
}

/* Each is reached by its own handle, in either version, and no other memory by it. */
static void check_sharer(unsigned char *mem, gni_mem_handle_t *mh, unsigned int i)
{
	gni_mem_handle_t one = as_version1(&mh[i]);
	unsigned char *at = mem + i * PAGE;
	uint64_t value = i;

	is_rc(put_at(&mh[i], (uint64_t)at, &value, 8), GNI_RC_SUCCESS, "%u", i);
	is_u64(*(uint64_t *)at, i);
	value = ~value;
	is_rc(put_at(&one, (uint64_t)at + 8, &value, 8), GNI_RC_SUCCESS, "%u", i);
	is_u64(*(uint64_t *)(at + 8), ~(uint64_t)i);
	is_rc(put_at(&mh[i], (uint64_t)at + PAGE, &value, 8), GNI_RC_TRANSACTION_ERROR, "%u", i);
}

/* There are more shared registrations than numbers, and some are left for others. */
static void test_many_shared(void)
{
	gni_mem_handle_t *mh = calloc(SHARERS, sizeof(*mh)), own;
	unsigned char *mem = map_private((SHARERS + 1) * PAGE);
	unsigned int i, step;

	setup();
	must(mh);
	reg_sharers(mem, mh);
	ok(mdds_used() < OWN_NUMBERS, "%llu numbers", (unsigned long long)mdds_used());
	must_do(reg(mem, PAGE, GNI_MEM_MDD_DEDICATED, -1, &own));
	for (i = 0; i < SHARERS; i += 7)
		check_sharer(mem, mh, i);
	/* First, last or in between: the others of a number are still found. */
	for (step = 1; step <= 3; step++) {
		for (i = step - 1; i < SHARERS; i += 3)
			must_rc(dereg(&mh[i]), GNI_RC_SUCCESS, "%u", i);
		is_rc(dereg(&mh[step - 1]), GNI_RC_INVALID_PARAM, "twice");
		is_rc(put_at(&mh[step - 1], (uint64_t)mem + (step - 1) * PAGE, mem, 8),
		      GNI_RC_TRANSACTION_ERROR);
		for (i = step; i < SHARERS && step < 3; i += 99)
			check_sharer(mem, mh, i);
	}
	is_u64(mdds_used(), 1);
	must_do(dereg(&own));
	is_u64(mdds_used(), 0);
	reg_sharers(mem, mh);
	check_sharer(mem, mh, SHARERS - 1);
}

/* Where the job has no numbers left, shared ones go on, two attachments' together. */
static void test_shared_no_numbers(void)
{
	unsigned char *mem = map_private(100 * PAGE);
	gni_mem_handle_t own, mh[99];
	struct nic other;
	unsigned int i;

	setup();
	nic_open(&other, 0, 2);
	must_do(reg(mem, PAGE, GNI_MEM_MDD_SHARED, -1, &mh[0]));
	for (i = 1; i < OWN_NUMBERS; i++)
		must_rc(reg(mem, PAGE, 0, -1, &own), GNI_RC_SUCCESS, "%u", i);
	is_rc(reg(mem, PAGE, 0, -1, &own), GNI_RC_ERROR_RESOURCE);
	for (i = 1; i < 99; i++)
		is_rc(GNI_MemRegister(i & 1 ? other.h : nic.h, (uint64_t)mem + i * PAGE, PAGE, NULL,
				      GNI_MEM_MDD_SHARED, -1, &mh[i]), GNI_RC_SUCCESS, "%u", i);
	is_rc(reg(mem + 5 * PAGE, PAGE, GNI_MEM_MDD_SHARED, -1, &own), GNI_RC_ERROR_RESOURCE,
	      "one base once a number");
	for (i = 0; i < 99; i++) {
		is_u64(parts_of(&mh[i]).mdh, parts_of(&mh[0]).mdh);
		check_sharer(mem, mh, i);
	}
	is_rc(dereg(&mh[1]), GNI_RC_INVALID_PARAM, "another's");
	nic_close(&other);
	for (i = 0; i < 99; i += 2)
		is_rc(dereg(&mh[i]), GNI_RC_SUCCESS, "%u", i);
	is_rc(put_at(&mh[1], (uint64_t)mem + PAGE, mem, 8), GNI_RC_TRANSACTION_ERROR);
	/* The number went with the last of them. */
	is_rc(reg(mem, PAGE, 0, -1, &own), GNI_RC_SUCCESS);
	is_rc(reg(mem, PAGE, 0, -1, &own), GNI_RC_ERROR_RESOURCE);
}

/* --- the list ---------------------------------------------------------------------- */

/* A device file of this process that has the NIC's registrations. */
static int nic_fd(void)
{
	gni_mem_handle_t mh;
	uint64_t address, length;
	int fd;

	for (fd = 3; fd < 100; fd++) {
		memset(&mh, 0, sizeof(mh));
		if (GNI_MemQueryHndls(NULL, fd, &mh, &address, &length) == GNI_RC_SUCCESS)
			return fd;
	}
	return -1;
}

static void test_query(void)
{
	unsigned char *mem = map_private(4 * PAGE);
	gni_mem_handle_t mh[3], next = { 0 };
	uint64_t address = 1, length = 1;
	int fd, null = open("/dev/null", O_RDWR);
	unsigned int i;

	setup();
	must_do(GNI_SetMddResources(nic.h, 4));
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, &address, &length), GNI_RC_NO_MATCH);
	is_u64(address, 0);
	is_u64(length, 0);
	must_do(reg(mem + 5, 100, 0, -1, &mh[0]));
	must_do(reg(mem + PAGE, PAGE + 1, GNI_MEM_USE_VMDH, 3, &mh[1]));
	must_do(reg(mem, 4 * PAGE, GNI_MEM_READ_ONLY, -1, &mh[2]));
	for (i = 0; i < 3; i++) {
		must_do(GNI_MemQueryHndls(nic.h, -1, &next, &address, &length));
		ok(!memcmp(&next, &mh[i], sizeof(next)), "%u", i);
	}
	is_u64(address, (uint64_t)mem);
	is_u64(length, 4 * PAGE);
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, &address, &length), GNI_RC_NO_MATCH);
	next = mh[0];
	must_do(GNI_MemQueryHndls(nic.h, 0, &next, &address, &length));
	is_u64(address, (uint64_t)mem + PAGE);
	is_u64(length, PAGE + 1);
	/* By file. */
	fd = nic_fd();
	must(fd >= 0);
	next = mh[0];
	must_do(GNI_MemQueryHndls(NULL, fd, &next, &address, &length));
	ok(!memcmp(&next, &mh[1], sizeof(next)));
	is_rc(GNI_MemQueryHndls(nic.h, fd, &next, &address, &length), GNI_RC_INVALID_PARAM, "both");
	is_rc(GNI_MemQueryHndls(NULL, -1, &next, &address, &length), GNI_RC_INVALID_PARAM, "none");
	is_rc(GNI_MemQueryHndls(NULL, null, &next, &address, &length), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemQueryHndls((void *)8, -1, &next, &address, &length), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemQueryHndls(nic.h, -1, NULL, &address, &length), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, NULL, &length), GNI_RC_INVALID_PARAM);
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, &address, NULL), GNI_RC_INVALID_PARAM);
	must_do(dereg(&mh[1]));
	next = mh[1];
	is_rc(GNI_MemQueryHndls(nic.h, -1, &next, &address, &length), GNI_RC_INVALID_STATE, "gone");
	is_u64(address | length, 0);
	fd = raw_open(0);
	memset(&next, 0, sizeof(next));
	is_rc(GNI_MemQueryHndls(NULL, fd, &next, &address, &length), GNI_RC_INVALID_PARAM,
	      "not attached");
}

/* --- kinds of memory ----------------------------------------------------------------- */

static void put_and_see(void *mem, size_t len, const char *what)
{
	unsigned char *src = map_private(len);
	gni_mem_handle_t mh;

	if (!is_rc(reg(mem, len, 0, -1, &mh), GNI_RC_SUCCESS, "%s", what))
		return;
	fill(src, len, 11);
	is_rc(put_at(&mh, (uint64_t)mem, src, len), GNI_RC_SUCCESS, "%s", what);
	ok(filled(mem, len, 11), "%s", what);
	is_rc(dereg(&mh), GNI_RC_SUCCESS, "%s", what);
	munmap(src, len);
}

static void test_huge_pages(void)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "w");
	void *mem;

	must(f && fprintf(f, "4") > 0 && !fclose(f));
	setup();
	mem = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	must(mem != MAP_FAILED);
	put_and_see((char *)mem + HUGE_PAGE - 1000, 2000, "across two huge pages");
	put_and_see(mem, 2 * HUGE_PAGE, "all");
	munmap(mem, 2 * HUGE_PAGE);
	f = fopen("/proc/sys/vm/nr_hugepages", "w");
	must(f && fprintf(f, "0") > 0 && !fclose(f));
}

static void test_files(void)
{
	int fd = open("/tmp/region", O_RDWR | O_CREAT | O_TRUNC, 0600);
	gni_mem_handle_t mh;
	char byte = 0;
	char *mem, *ro;

	setup();
	must(fd >= 0 && !ftruncate(fd, 4 * PAGE));
	mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(mem != MAP_FAILED);
	put_and_see(mem, 4 * PAGE, "shared file");
	must(pread(fd, &byte, 1, 5) == 1);
	is_u64(byte, mem[5], "the file has it");
	ro = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	must(ro != MAP_FAILED);
	is_rc(reg(ro, PAGE, 0, -1, &mh), GNI_RC_PERMISSION_ERROR);
	is_rc(reg(ro, PAGE, GNI_MEM_READ_ONLY, -1, &mh), GNI_RC_SUCCESS);
	mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	must(mem != MAP_FAILED);
	put_and_see(mem, 4 * PAGE, "private file");
	is_rc(reg(mem + 3 * PAGE, 2 * PAGE, GNI_MEM_CUDA, -1, &mh), GNI_RC_INVALID_PARAM);
	is_rc(reg(mem, PAGE, 1U << 30, -1, &mh), GNI_RC_INVALID_PARAM, "other device memory");
	unlink("/tmp/region");
}

/* After a fork the parent's writes are still seen through the handle, and peers' by it. */
static void test_fork(void)
{
	static const uint32_t modes[] = {
		0, GNI_CDM_MODE_FORK_NOCOPY, GNI_CDM_MODE_FORK_FULLCOPY, GNI_CDM_MODE_FORK_PARTCOPY,
	};
	unsigned char *mem, *src = map_private(PAGE);
	gni_mem_handle_t mh;
	unsigned int i;
	pid_t pid;
	int status;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		setup_modes(modes[i]);
		mem = map_private(2 * PAGE);
		memset(mem, 7, 2 * PAGE);
		must_do(reg(mem, PAGE, 0, -1, &mh));
		pid = fork();
		if (!pid) {
			/* A copy of its own, whatever the parent and its peers do. */
			bool same = all_bytes(mem, 2 * PAGE, 7);

			memset(mem, 9, 2 * PAGE);
			give(0);
			take(1);
			_exit(same && all_bytes(mem, 2 * PAGE, 9) ? 0 : 1);
		}
		take(0);
		ok(all_bytes(mem, 2 * PAGE, 7), "mode %u", i);
		mem[PAGE - 1] = 8;
		fill(src, 64, i);
		is_rc(put_at(&mh, (uint64_t)mem, src, 64), GNI_RC_SUCCESS);
		ok(filled(mem, 64, i), "the parent's memory is still what peers reach, %u", i);
		give(1);
		must(waitpid(pid, &status, 0) == pid);
		is_u64(status, 0, "mode %u", i);
		is_rc(GNI_EpDestroy(self), GNI_RC_SUCCESS);
		nic_close(&nic);
	}
}

static void test_unmapped(void)
{
	unsigned char *mem = map_private(2 * PAGE), *src = map_private(PAGE);
	gni_mem_handle_t mh;

	setup();
	must_do(reg(mem, 2 * PAGE, 0, -1, &mh));
	must(!munmap(mem, 2 * PAGE));
	is_rc(put_at(&mh, (uint64_t)mem, src, 64), GNI_RC_SUCCESS, "the pages are still there");
	is_rc(dereg(&mh), GNI_RC_SUCCESS);
}

static const struct test tests[] = {
	CASE("segments", test_segments),
	CASE("segments: ends inside pages", test_segment_ends),
	CASE("segments: what is refused", test_segment_errors),
	CASE("segments: thousands", test_many_segments),
	CASE("virtual handles", test_vmdh),
	CASE("virtual handles: one job, two attachments", test_vmdh_of_job),
	CASE("virtual handles: rebuilt", test_rebuild_errors),
	CASE("reserved and updated", test_reserve),
	CASE("reserved and updated, without an index", test_reserve_plain),
	CASE("clones", test_clone),
	CASE("shared MDDs", test_shared),
	CASE("shared MDDs: more regions than numbers", test_many_shared),
	CASE("shared MDDs: no numbers left", test_shared_no_numbers),
	CASE("list of handles", test_query),
	CASE("huge pages", test_huge_pages, .leaves = true),
	CASE("files, and memory of other devices", test_files),
	CASE("fork", test_fork),
	CASE("unmapped under the registration", test_unmapped),
};

int main(void)
{
	return RUN_TESTS(tests);
}
