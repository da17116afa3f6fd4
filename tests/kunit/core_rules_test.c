// SPDX-License-Identifier: GPL-2.0-only
/* core/rules.h: what each kind of post needs and demands. */
#include "kgt.h"

#define KIND(t)	.name = #t, .type = KGNI_POST_ ## t

/*
 * Every kind of post, and each kind of AMO. Alignments are those of a field that
 * is looked at; 0 stands for one that may hold anything.
 */
static const struct kind {
	const char *name;
	u32 type;
	u32 cmd;
	u8 local, remote, length, sync;
	bool empty, bte, wraps, flag;
} kinds[] = {
	{ KIND(RDMA_PUT), .local = 1, .remote = 1, .length = 1, .bte = true, .wraps = true },
	{ KIND(RDMA_GET), .local = 1, .remote = 4, .length = 4, .bte = true, .wraps = true },
	{ KIND(FMA_PUT), .local = 1, .remote = 1, .length = 1, .empty = true, .wraps = true },
	{ KIND(FMA_PUT_W_SYNCFLAG), .local = 1, .remote = 1, .length = 1, .sync = 8,
	  .empty = true, .wraps = true },
	{ KIND(FMA_GET), .local = 1, .remote = 4, .length = 4, .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC_ADD, .local = 1, .remote = 8, .length = 8,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC_FADD, .local = 8, .remote = 8, .length = 8,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC2_IADD_S, .local = 1, .remote = 4, .length = 4,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC2_FIADD_S, .local = 4, .remote = 4, .length = 4,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC2_FCSWAP, .local = 8, .remote = 8, .length = 8,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC2_FFPADD_S, .local = 4, .remote = 4, .length = 4,
	  .wraps = true },
	{ KIND(AMO), .cmd = GNI_FMA_ATOMIC2_FPMAX, .local = 1, .remote = 8, .length = 8,
	  .wraps = true },
	{ KIND(FMA_GET_W_FLAG), .local = 4, .remote = 4, .length = 4, .wraps = true, .flag = true },
	{ KIND(AMO_W_FLAG), .cmd = GNI_FMA_ATOMIC_FADD, .local = 8, .remote = 8, .length = 8,
	  .wraps = true, .flag = true },
	{ KIND(CQWRITE), .empty = true },
};

static void kind_desc(const struct kind *k, char *desc)
{
	if (k->cmd)
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s 0x%x", k->name, k->cmd);
	else
		strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_desc);

/* A post that keeps all rules. */
static struct kgni_ioc_post good(const struct kind *k)
{
	return (struct kgni_ioc_post) {
		.type = k->type,
		.cq_mode = KGNI_CQMODE_GLOBAL,
		.local_addr = 0x10000,
		.remote_addr = 0x20000,
		.length = k->flag ? 8 : 64,
		.sync_addr = 0x30000,
		.amo_cmd = k->cmd,
	};
}

static enum kgni_rule check(const struct kgni_ioc_post *a)
{
	struct kgni_amo amo;

	return kgni_post_check(a, &amo);
}

/* Does an alignment demand let this value pass? */
static enum kgni_rule aligned(u64 value, u8 align)
{
	return align && value & (align - 1) ? KGNI_RULE_ALIGN : KGNI_RULE_OK;
}

static void alignment_of_local_address(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u64 i;

	for (i = 0; i < 16; i++) {
		a.local_addr = 0x10000 + i;
		KUNIT_EXPECT_EQ_MSG(test, check(&a), aligned(i, k->local), "at %llu", i);
	}
}

static void alignment_of_remote_address(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u64 i;

	for (i = 0; i < 16; i++) {
		a.remote_addr = 0x20000 + i;
		KUNIT_EXPECT_EQ_MSG(test, check(&a), aligned(i, k->remote), "at %llu", i);
	}
}

static void alignment_of_length(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u64 i;

	for (i = 1; i < 32; i++) {
		a.length = i;
		KUNIT_EXPECT_EQ_MSG(test, check(&a), aligned(i, k->length), "%llu bytes", i);
	}
	a.length = 0;
	KUNIT_EXPECT_EQ(test, check(&a), k->empty ? KGNI_RULE_OK : KGNI_RULE_PARAM);
}

static void alignment_of_flag(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u64 i;

	for (i = 0; i < 16; i++) {
		a.sync_addr = 0x30000 + i;
		KUNIT_EXPECT_EQ_MSG(test, check(&a), aligned(i, k->sync), "at %llu", i);
	}
}

static void range_does_not_wrap(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);

	a.remote_addr = U64_MAX - 63;
	a.length = 56;
	KUNIT_EXPECT_EQ(test, check(&a), KGNI_RULE_OK);
	a.remote_addr = U64_MAX - 7;
	a.length = 8;
	KUNIT_EXPECT_EQ(test, check(&a), k->wraps ? KGNI_RULE_PARAM : KGNI_RULE_OK);
	if (k->flag)
		return;
	a.remote_addr = U64_MAX - 63;
	a.length = 64;
	KUNIT_EXPECT_EQ(test, check(&a), k->wraps ? KGNI_RULE_PARAM : KGNI_RULE_OK);
	a.length = U64_MAX - 7;
	KUNIT_EXPECT_EQ(test, check(&a), k->wraps ? KGNI_RULE_PARAM : KGNI_RULE_OK);
}

static void modes(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u32 bit;

	for (bit = 1; bit <= 0x8000; bit <<= 1) {
		a.cq_mode = bit;
		KUNIT_EXPECT_EQ_MSG(test, check(&a),
				    bit & KGNI_CQMODE_ALL ? KGNI_RULE_OK : KGNI_RULE_PARAM,
				    "cq_mode 0x%x", bit);
	}
	a.cq_mode = 0;
	for (bit = 1; bit <= 0x8000; bit <<= 1) {
		a.dlvr_mode = bit;
		KUNIT_EXPECT_EQ_MSG(test, check(&a),
				    bit & KGNI_DLV_ALL ? KGNI_RULE_OK : KGNI_RULE_PARAM,
				    "dlvr_mode 0x%x", bit);
	}
	a.dlvr_mode = 0;
	for (bit = 1; bit <= 0x8000; bit <<= 1) {
		a.rdma_mode = bit;
		KUNIT_EXPECT_EQ_MSG(test, check(&a), k->bte && bit & ~KGNI_RDMA_USER ?
				    KGNI_RULE_PARAM : KGNI_RULE_OK, "rdma_mode 0x%x", bit);
	}
}

/* Response and flag: at most a line, and inside one. */
static void flagged_response(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct kgni_ioc_post a = good(k);
	u64 at;

	if (!k->flag)
		kunit_skip(test, "no flag");
	for (at = 0; at < 128; at += 8) {
		for (a.length = 8; a.length <= 56; a.length += 8) {
			a.local_addr = 0x10000 + at;
			KUNIT_EXPECT_EQ_MSG(test, check(&a), at % 64 + a.length + 4 <= 64 ?
					    KGNI_RULE_OK : KGNI_RULE_ALIGN, "%llu at %llu",
					    a.length, at);
		}
	}
	a.length = 64;
	KUNIT_EXPECT_EQ(test, check(&a), KGNI_RULE_PARAM);
	a = good(k);
	a.amo_cmd = GNI_FMA_ATOMIC_ADD;
	KUNIT_EXPECT_EQ(test, check(&a), k->cmd ? KGNI_RULE_PARAM : KGNI_RULE_OK);
}

static void rule(struct kunit *test)
{
	const struct kind *k = test->param_value;
	const struct kgni_post_rule *r = kgni_post_rule(k->type);

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->bte, k->bte);
	KUNIT_EXPECT_EQ(test, r->empty, k->empty);
}

/* Which side is written, as the interface says it. */
static void sides(struct kunit *test)
{
	u32 type;

	for (type = KGNI_POST_RDMA_PUT; type < KGNI_POST_TYPES; type++) {
		const struct kgni_post_rule *r = kgni_post_rule(type);
		bool get = type == KGNI_POST_RDMA_GET || type == KGNI_POST_FMA_GET ||
			   type == KGNI_POST_FMA_GET_W_FLAG;
		bool amo = type == KGNI_POST_AMO_W_FLAG;

		if (type == GNI_POST_CE)
			continue;
		KUNIT_ASSERT_NOT_NULL(test, r);
		KUNIT_EXPECT_EQ_MSG(test, r->local, get || amo || type == KGNI_POST_RDMA_PUT,
				    "type %u", type);
		KUNIT_EXPECT_EQ_MSG(test, r->local_write, get || amo, "type %u", type);
		KUNIT_EXPECT_EQ_MSG(test, r->remote_write, !get && type != KGNI_POST_CQWRITE,
				    "type %u", type);
	}
}

static void other_types_are_refused(struct kunit *test)
{
	static const u32 types[] = { 0, GNI_POST_CE, KGNI_POST_TYPES, KGNI_POST_TYPES + 1,
				     0x100, 0x10003, 0x80000003, U32_MAX };
	struct kgni_ioc_post a = good(&kinds[0]);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		a.type = types[i];
		KUNIT_EXPECT_EQ_MSG(test, check(&a), KGNI_RULE_PARAM, "type 0x%x", types[i]);
		KUNIT_EXPECT_NULL(test, kgni_post_rule(types[i]));
	}
}

/* A post of a kind, with one field changed. */
#define FLAW(name_, type_, flaw_, multiple_, ...)				\
	{ .name = (name_), .flaw = KGNI_FLAW_ ## flaw_, .multiple = (multiple_),	\
	  .a = { .type = KGNI_POST_ ## type_, .cq_mode = KGNI_CQMODE_GLOBAL,		\
		 .local_addr = 0x10000, .remote_addr = 0x20000, .length = 8,		\
		 .sync_addr = 0x30000, .amo_cmd = GNI_FMA_ATOMIC_FADD, __VA_ARGS__ } }

static const struct flaw {
	const char *name;
	enum kgni_flaw flaw;
	u32 multiple;		/* what the field must be a multiple of */
	struct kgni_ioc_post a;
} flaws[] = {
	FLAW("none", RDMA_PUT, NONE, 0),
	FLAW("type 0", RDMA_PUT, TYPE, 0, .type = 0),
	FLAW("type of a later time", RDMA_PUT, TYPE, 0, .type = KGNI_POST_TYPES),
	FLAW("cq_mode", FMA_PUT, CQ_MODE, 0, .cq_mode = 0x8),
	FLAW("dlvr_mode", FMA_PUT, DLVR_MODE, 0, .dlvr_mode = 0x8000),
	FLAW("rdma_mode", RDMA_GET, RDMA_MODE, 0, .rdma_mode = 0x8000),
	FLAW("rdma_mode of FMA", FMA_GET, NONE, 0, .rdma_mode = 0x8000),
	FLAW("range", FMA_PUT, RANGE, 0, .remote_addr = -8ULL),
	FLAW("length 0", FMA_GET, EMPTY, 0, .length = 0),
	FLAW("length 0, put", FMA_PUT, NONE, 0, .length = 0),
	FLAW("command", AMO, AMO_CMD, 0, .amo_cmd = 0x40),
	FLAW("no response", AMO_W_FLAG, NO_RESPONSE, 0, .amo_cmd = GNI_FMA_ATOMIC_ADD),
	FLAW("long response", FMA_GET_W_FLAG, FLAG_LENGTH, 0, .length = 64),
	FLAW("longest response", FMA_GET_W_FLAG, NONE, 0, .length = 60),
	FLAW("remote address", RDMA_GET, REMOTE_ADDR, 4, .remote_addr = 0x20002),
	FLAW("remote address, AMO", AMO, REMOTE_ADDR, 8, .remote_addr = 0x20004),
	FLAW("remote address, short AMO", AMO, REMOTE_ADDR, 4, .remote_addr = 0x20002,
	     .amo_cmd = GNI_FMA_ATOMIC2_FIADD_S),
	FLAW("remote address, response", FMA_GET_W_FLAG, REMOTE_ADDR, 4, .remote_addr = 0x20002),
	FLAW("length", FMA_GET, LENGTH, 4, .length = 6),
	FLAW("length, AMO", AMO, LENGTH, 8, .length = 12),
	FLAW("local address, AMO", AMO, LOCAL_ADDR, 8, .local_addr = 0x10004),
	FLAW("local address, response", FMA_GET_W_FLAG, LOCAL_ADDR, 4, .local_addr = 0x10002),
	FLAW("end of a line", FMA_GET_W_FLAG, FLAG_LINE, 4, .local_addr = 0x10038),
	FLAW("flag address", FMA_PUT_W_SYNCFLAG, SYNC_ADDR, 8, .sync_addr = 0x30004),
	FLAW("flag address of others", FMA_PUT, NONE, 0, .sync_addr = 0x30004),
	FLAW("anything of a CQ write", CQWRITE, NONE, 0, .remote_addr = -1ULL, .length = 0,
	     .amo_cmd = 0x40, .local_addr = 3),
	/* Of several, the first. */
	FLAW("type and mode", RDMA_PUT, TYPE, 0, .type = 0, .cq_mode = 0x8),
	FLAW("both modes", FMA_PUT, CQ_MODE, 0, .cq_mode = 0x8, .dlvr_mode = 0x8000),
	FLAW("range and command", AMO, RANGE, 0, .remote_addr = -8ULL, .amo_cmd = 0x40),
	FLAW("all of an AMO", AMO, REMOTE_ADDR, 8, .remote_addr = 0x20004, .length = 12,
	     .local_addr = 0x10004),
	FLAW("all of a get", FMA_GET, REMOTE_ADDR, 4, .remote_addr = 0x20002, .length = 6),
};

static void flaw_desc(const struct flaw *f, char *desc)
{
	strscpy(desc, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(flaw, flaws, flaw_desc);

/* What the library tells of: which rule it was, and by how much. */
static void flaw(struct kunit *test)
{
	const struct flaw *f = test->param_value;
	struct kgni_amo amo;
	u32 multiple = 0;

	KUNIT_EXPECT_EQ(test, kgni_post_flaw(&f->a, &amo, &multiple), f->flaw);
	if (f->flaw >= KGNI_FLAW_ALIGN)
		KUNIT_EXPECT_EQ(test, multiple, f->multiple);
	KUNIT_EXPECT_EQ(test, check(&f->a), f->flaw == KGNI_FLAW_NONE ? KGNI_RULE_OK :
			f->flaw < KGNI_FLAW_ALIGN ? KGNI_RULE_PARAM : KGNI_RULE_ALIGN);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(alignment_of_local_address, kind_gen_params),
	KUNIT_CASE_PARAM(alignment_of_remote_address, kind_gen_params),
	KUNIT_CASE_PARAM(alignment_of_length, kind_gen_params),
	KUNIT_CASE_PARAM(alignment_of_flag, kind_gen_params),
	KUNIT_CASE_PARAM(range_does_not_wrap, kind_gen_params),
	KUNIT_CASE_PARAM(modes, kind_gen_params),
	KUNIT_CASE_PARAM(flagged_response, kind_gen_params),
	KUNIT_CASE_PARAM(rule, kind_gen_params),
	KUNIT_CASE_PARAM(flaw, flaw_gen_params),
	KUNIT_CASE(sides),
	KUNIT_CASE(other_types_are_refused),
	{}
};

static struct kunit_suite core_rules_suite = {
	.name = "kgni_core_rules",
	.test_cases = cases,
};

kunit_test_suite(core_rules_suite);
