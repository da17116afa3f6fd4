// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic memory operations: what each command does, and that it is atomic.
 * Needs two NICs.
 */
#include <math.h>

#include "common.h"

#define GLOBAL	GNI_CQMODE_GLOBAL_EVENT
#define GUARD	0x7777777777777777ULL

enum op { ADD, AND, OR, XOR, SWAP, AX, CSWAP, MIN, MAX, FPADD, FPMIN, FPMAX };

struct command {
	gni_fma_cmd_type_t cmd;
	enum op op;
	unsigned int size;
	bool fetch;
};

/* First generation: 64 bits; the cached flavour does the same. */
#define GEN1(name, op, fetch)						\
	{ GNI_FMA_ATOMIC_##name, op, 8, fetch },			\
	{ GNI_FMA_ATOMIC_##name##_C, op, 8, fetch }
/* Second generation: 32 and 64 bits, plain and cached. */
#define GEN2(name, op, fetch)						\
	{ GNI_FMA_ATOMIC2_##name##_S, op, 4, fetch },			\
	{ GNI_FMA_ATOMIC2_##name, op, 8, fetch },			\
	{ GNI_FMA_ATOMIC2_##name##_SC, op, 4, fetch },			\
	{ GNI_FMA_ATOMIC2_##name##_C, op, 8, fetch }

static const struct command commands[] = {
	GEN1(FADD, ADD, true), GEN1(FAND, AND, true), GEN1(FOR, OR, true),
	GEN1(FXOR, XOR, true), GEN1(FAX, AX, true), GEN1(CSWAP, CSWAP, true),
	GEN1(ADD, ADD, false), GEN1(AND, AND, false), GEN1(OR, OR, false),
	GEN1(XOR, XOR, false), GEN1(AX, AX, false),
	GEN2(FAND, AND, true), GEN2(FOR, OR, true), GEN2(FXOR, XOR, true),
	GEN2(FSWAP, SWAP, true), GEN2(FAX, AX, true), GEN2(FCSWAP, CSWAP, true),
	GEN2(FIMIN, MIN, true), GEN2(FIMAX, MAX, true), GEN2(FIADD, ADD, true),
	GEN2(AND, AND, false), GEN2(OR, OR, false), GEN2(XOR, XOR, false),
	GEN2(SWAP, SWAP, false), GEN2(AX, AX, false), GEN2(CSWAP, CSWAP, false),
	GEN2(IMIN, MIN, false), GEN2(IMAX, MAX, false), GEN2(IADD, ADD, false),
	GEN2(FFPADD, FPADD, true), GEN2(FFPMIN, FPMIN, true), GEN2(FFPMAX, FPMAX, true),
	GEN2(FPADD, FPADD, false), GEN2(FPMIN, FPMIN, false), GEN2(FPMAX, FPMAX, false),
};

static bool is_cached(const struct command *c)
{
	return c->cmd & (c->cmd & 0x40 ? 0x20 : 0x10);
}

static bool is_fp(const struct command *c)
{
	return c->op == FPADD || c->op == FPMIN || c->op == FPMAX;
}

#define ONLY_NAN4	0x7fc00000
#define ONLY_NAN8	0x7ff8000000000000

static double number(unsigned int size, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	double twice;
	float single;

	memcpy(&single, &low, 4);
	memcpy(&twice, &bits, 8);
	return size == 4 ? (double)single : twice;
}

/* The processor's sum, and the one NaN of all results that are no number. */
static uint64_t sum_of(unsigned int size, uint64_t a, uint64_t b)
{
	double sum = number(size, a) + number(size, b);
	float single = (float)number(size, a) + (float)number(size, b);
	uint64_t bits = 0;

	if (isnan(sum))
		return size == 4 ? ONLY_NAN4 : ONLY_NAN8;
	if (size == 4)
		memcpy(&bits, &single, 4);
	else
		memcpy(&bits, &sum, 8);
	return bits;
}

/* A NaN gives way to a number, and of zeros the negative one is less. */
static uint64_t expected_fp(const struct command *c, uint64_t old, uint64_t a)
{
	double x = number(c->size, old), y = number(c->size, a);

	if (c->op == FPADD || (isnan(x) && isnan(y)))
		return sum_of(c->size, old, a);
	if (isnan(x) || isnan(y))
		return isnan(x) ? a : old;
	if (x == y)
		return !signbit(x) == (c->op == FPMAX) ? old : a;
	return (x > y) == (c->op == FPMAX) ? old : a;
}

static uint64_t expected(const struct command *c, uint64_t old, uint64_t a, uint64_t b)
{
	int64_t sold = c->size == 4 ? (int32_t)old : (int64_t)old;
	int64_t sa = c->size == 4 ? (int32_t)a : (int64_t)a;

	if (c->size == 4)
		a = (uint32_t)a;
	switch (c->op) {
	case ADD:
		return old + a;
	case AND:
		return old & a;
	case OR:
		return old | a;
	case XOR:
		return old ^ a;
	case SWAP:
		return a;
	case AX:
		return (old & a) ^ b;
	case CSWAP:
		return old == a ? b : old;
	case MIN:
		return sold < sa ? old : a;
	case MAX:
		return sold > sa ? old : a;
	case FPADD:
	case FPMIN:
	case FPMAX:
		return expected_fp(c, old, a);
	}
	return 0;
}

/* What is in memory, in the size of the command. */
static uint64_t peek(const void *p, unsigned int size)
{
	return size == 4 ? *(const uint32_t *)p : *(const uint64_t *)p;
}

static const uint64_t values[] = {
	0, 1, 5, ~0ULL, 0x7fffffff, 0x80000000, 0xffffffff, 0x123456789abcdef0,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffff00000000,
};

struct amo_bench {
	struct target t;
	uint64_t *local;
	gni_mem_handle_t lmh;
};

static void amo_open(struct amo_bench *b, enum layout layout)
{
	target_open(&b->t, layout, PAGE, 0, GNI_CDM_MODE_CACHED_AMO_ENABLED);
	b->local = map_private(PAGE);
	mem_open(&b->t.n, b->local, PAGE, NULL, 0, &b->lmh);
}

static void try_command(struct amo_bench *b, const struct command *c, uint64_t old, uint64_t first,
			uint64_t second, unsigned int count)
{
	/* The operand may lie in either half of a quadword. */
	unsigned int offset = 64 + (c->size == 4 ? 4 * (count & 1) : 0), i;
	unsigned char *at = b->t.mem + offset;
	gni_post_descriptor_t d;
	uint64_t want;

	for (i = 0; i < PAGE / 8; i++) {
		((uint64_t *)b->t.mem)[i] = GUARD;
		b->local[i] = GUARD;
	}
	for (i = 0; i < count; i++) {
		uint64_t v = old + i;

		memcpy(at + i * c->size, &v, c->size);
	}
	desc_amo(&d, c->cmd, (char *)b->local + offset, c->fetch ? &b->lmh : NULL, &b->t.r, offset,
		 count * c->size, first, second);
	is_rc(post_wait(b->t.ep, b->t.n.tx, &d), GNI_RC_SUCCESS, "command %#x", c->cmd);
	for (i = 0; i < count; i++) {
		uint64_t was = c->size == 4 ? (uint32_t)(old + i) : old + i;

		want = expected(c, was, first, second);
		if (c->size == 4)
			want = (uint32_t)want;
		is_u64(peek(at + i * c->size, c->size), want, "command %#x(%#llx, %#llx) on %#llx",
		       c->cmd, (unsigned long long)first, (unsigned long long)second,
		       (unsigned long long)was);
		if (c->fetch)
			is_u64(peek((char *)b->local + offset + i * c->size, c->size), was,
			       "command %#x fetches", c->cmd);
	}
	/* Nothing else has changed, on either side. */
	memset(at, 0x77, count * c->size);
	ok(all_bytes(b->t.mem, PAGE, 0x77), "command %#x, around the target", c->cmd);
	if (c->fetch)
		memset((char *)b->local + offset, 0x77, count * c->size);
	ok(all_bytes(b->local, PAGE, 0x77), "command %#x, around the result", c->cmd);
}

static void test_commands(enum layout layout)
{
	uint32_t seed = 0x1234567;
	struct amo_bench b;
	unsigned int i, j;

	amo_open(&b, layout);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];

		for (j = 0; j < ARRAY_SIZE(values); j++) {
			uint64_t old = values[j];
			uint64_t first = values[rnd(&seed) % ARRAY_SIZE(values)];
			uint64_t second = values[rnd(&seed) % ARRAY_SIZE(values)];

			/* A compare and swap that succeeds: garbage above 32 bits is ignored. */
			if (c->op == CSWAP && j & 1)
				first = c->size == 4 ? old ^ 0xabcd000000000000 : old;
			try_command(&b, c, old, first, second, 1 + (j & 1));
		}
		try_command(&b, c, 100, 50, 3, 16);
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_commands)

/* Zeros, the least and greatest numbers of both kinds, infinities, NaNs, and around 1. */
static const uint32_t singles[] = {
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x3f800000, 0xbf800000,
	0x3f7fffff, 0x33800000, 0xb3800000, 0x33800001, 0x73000000, 0x42f6e979,
};

static const uint64_t doubles[] = {
	0, 0x8000000000000000, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
	0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
	0x7ff8000000000000, 0xfff8123456789abc, 0x7ff0000000000001, 0x3ff0000000000000,
	0xbff0000000000000, 0x3fefffffffffffff, 0x3ca0000000000000, 0xbca0000000000000,
	0x3ca0000000000001, 0x7c90000000000000, 0x405edd2f1a9fbe77,
};

#define NUMBERS	ARRAY_SIZE(doubles)

/* One post works on all of them, with one of them. */
static void try_numbers(struct amo_bench *b, const struct command *c, uint64_t operand)
{
	const void *from = c->size == 4 ? (const void *)singles : (const void *)doubles;
	gni_post_descriptor_t d;
	unsigned int i;
	uint64_t was;

	memcpy(b->t.mem, from, NUMBERS * c->size);
	memset(b->local, 0, NUMBERS * 8);
	desc_amo(&d, c->cmd, b->local, c->fetch ? &b->lmh : NULL, &b->t.r, 0, NUMBERS * c->size,
		 operand, ~operand);
	is_rc(post_wait(b->t.ep, b->t.n.tx, &d), GNI_RC_SUCCESS, "command %#x", c->cmd);
	if (c->size == 4)
		operand = (uint32_t)operand;
	for (i = 0; i < NUMBERS; i++) {
		was = peek((const char *)from + i * c->size, c->size);
		is_u64(peek(b->t.mem + i * c->size, c->size), expected(c, was, operand, 0),
		       "command %#x, %#llx with %#llx", c->cmd, (unsigned long long)was,
		       (unsigned long long)operand);
		if (c->fetch)
			is_u64(peek((char *)b->local + i * c->size, c->size), was,
			       "command %#x fetches", c->cmd);
	}
}

static void test_numbers(enum layout layout)
{
	struct amo_bench b;
	unsigned int i, j;

	_Static_assert(ARRAY_SIZE(singles) == NUMBERS, "as many of each");
	amo_open(&b, layout);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!is_fp(&commands[i]))
			continue;
		for (j = 0; j < NUMBERS; j++)
			try_numbers(&b, &commands[i], commands[i].size == 8 ? doubles[j] :
				    0x5a5a5a5a00000000 | singles[j]);
	}
	target_close(&b.t);
}
ALL_LAYOUTS(test_numbers)

/* As gni_pub.h has it, whatever this processor's own arithmetic does. */
static void test_ieee(void)
{
	static const struct {
		gni_fma_cmd_type_t cmd;
		uint64_t old, operand, result;
	} t[] = {
		/* 1 + 1, 0.5 - 0.5, -0 + -0 */
		{ GNI_FMA_ATOMIC2_FPADD, 0x3ff0000000000000, 0x3ff0000000000000,
		  0x4000000000000000 },
		{ GNI_FMA_ATOMIC2_FFPADD_C, 0x3fe0000000000000, 0xbfe0000000000000, 0 },
		{ GNI_FMA_ATOMIC2_FPADD_C, 0x8000000000000000, 0x8000000000000000,
		  0x8000000000000000 },
		/* half of the last bit: to even */
		{ GNI_FMA_ATOMIC2_FPADD, 0x3ff0000000000000, 0x3ca0000000000000,
		  0x3ff0000000000000 },
		{ GNI_FMA_ATOMIC2_FFPADD, 0x3ff0000000000001, 0x3ca0000000000000,
		  0x3ff0000000000002 },
		/* subnormal numbers: kept, and made of others */
		{ GNI_FMA_ATOMIC2_FPADD_S, 1, 1, 2 },
		{ GNI_FMA_ATOMIC2_FPADD_SC, 0x00800000, 0x80000001, 0x007fffff },
		/* overflow, infinity, and opposite infinities */
		{ GNI_FMA_ATOMIC2_FFPADD_S, 0x7f7fffff, 0x7f7fffff, 0x7f800000 },
		{ GNI_FMA_ATOMIC2_FFPADD_SC, 0xff800000, 0x7f7fffff, 0xff800000 },
		{ GNI_FMA_ATOMIC2_FPADD_S, 0x7f800000, 0xff800000, ONLY_NAN4 },
		/* NaNs: any with anything, either way round */
		{ GNI_FMA_ATOMIC2_FPADD_S, 0xffc12345, 0x3f800000, ONLY_NAN4 },
		{ GNI_FMA_ATOMIC2_FPADD, 0x3ff0000000000000, 0x7ff0000000000001, ONLY_NAN8 },
		{ GNI_FMA_ATOMIC2_FPMIN, 0xfff8123456789abc, 0x3ff0000000000000,
		  0x3ff0000000000000 },
		{ GNI_FMA_ATOMIC2_FPMAX, 0x3ff0000000000000, 0xfff8123456789abc,
		  0x3ff0000000000000 },
		{ GNI_FMA_ATOMIC2_FFPMIN_S, 0x7f800001, 0x7f800000, 0x7f800000 },
		{ GNI_FMA_ATOMIC2_FFPMAX_C, 0x7ff0000000000001, 0xfff8123456789abc, ONLY_NAN8 },
		/* zeros */
		{ GNI_FMA_ATOMIC2_FPMIN_S, 0, 0x80000000, 0x80000000 },
		{ GNI_FMA_ATOMIC2_FPMAX_S, 0x80000000, 0, 0 },
		{ GNI_FMA_ATOMIC2_FPMAX_S, 0, 0x80000000, 0 },
		/* order: -infinity, -2, -1, 1 */
		{ GNI_FMA_ATOMIC2_FPMIN_SC, 0xc0000000, 0xff800000, 0xff800000 },
		{ GNI_FMA_ATOMIC2_FFPMAX_SC, 0xc0000000, 0xbf800000, 0xbf800000 },
		{ GNI_FMA_ATOMIC2_FFPMIN, 0x3ff0000000000000, 0xbff0000000000000,
		  0xbff0000000000000 },
	};
	struct amo_bench b;
	gni_post_descriptor_t d;
	unsigned int i, size;

	amo_open(&b, SELF);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		size = t[i].cmd & 0x200 ? 4 : 8;
		memcpy(b.t.mem, &t[i].old, size);
		desc_amo(&d, t[i].cmd, b.local, &b.lmh, &b.t.r, 0, size, t[i].operand, 0);
		is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_SUCCESS, "try %u", i);
		is_u64(peek(b.t.mem, size), t[i].result, "try %u", i);
	}
}

/* The mode for cached commands is no condition: they are not different here. */
static void test_cached(void)
{
	struct amo_bench b;
	unsigned int i, n = 0;

	target_open(&b.t, SELF, PAGE, 0, 0);
	b.local = map_private(PAGE);
	mem_open(&b.t.n, b.local, PAGE, NULL, 0, &b.lmh);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!is_cached(&commands[i]))
			continue;
		try_command(&b, &commands[i], 100, 50, 3, 1);
		n++;
	}
	is_u64(n, ARRAY_SIZE(commands) / 2);
}

static void test_alignment(void)
{
	struct amo_bench b;
	gni_post_descriptor_t d;
	unsigned int i;
	static const struct {
		gni_fma_cmd_type_t cmd;
		unsigned int remote, local, len;
		gni_return_t rc;
	} t[] = {
		{ GNI_FMA_ATOMIC_ADD, 4, 0, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_ADD, 1, 0, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_ADD, 0, 0, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_ADD, 0, 0, 12, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_ADD, 0, 0, 0, GNI_RC_INVALID_PARAM },
		{ GNI_FMA_ATOMIC_ADD, 0, 3, 8, GNI_RC_SUCCESS },
		{ GNI_FMA_ATOMIC_FADD, 0, 4, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_FADD, 0, 1, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC_FADD, 4, 0, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_IADD_S, 2, 0, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_IADD_S, 0, 0, 2, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_IADD_S, 0, 0, 6, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_IADD_S, 4, 0, 4, GNI_RC_SUCCESS },
		{ GNI_FMA_ATOMIC2_FIADD_S, 4, 2, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_FIADD_S, 4, 4, 4, GNI_RC_SUCCESS },
		{ GNI_FMA_ATOMIC2_FPADD, 4, 0, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_FFPMAX, 0, 4, 8, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_FFPADD_S, 4, 2, 4, GNI_RC_ALIGNMENT_ERROR },
		{ GNI_FMA_ATOMIC2_FPMIN_S, 4, 1, 8, GNI_RC_SUCCESS },
	};

	amo_open(&b, SELF);
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		desc_amo(&d, t[i].cmd, (char *)b.local + t[i].local, &b.lmh, &b.t.r, t[i].remote,
			 t[i].len, 1, 0);
		is_rc(post_wait(b.t.ep, b.t.n.tx, &d), t[i].rc, "try %u", i);
		if (t[i].rc != GNI_RC_SUCCESS)
			ok(all_bytes(b.t.mem, PAGE, 0), "try %u", i);
		memset(b.t.mem, 0, PAGE);
	}
	is_empty(b.t.n.tx);
}

static bool known(uint32_t cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (commands[i].cmd == cmd)
			return true;
	}
	return false;
}

/* Every other code of 16 bits, and codes with a bit above. */
static void test_refused(void)
{
	struct amo_bench b;
	gni_post_descriptor_t d;
	uint32_t cmd, refused = 0;

	amo_open(&b, SELF);
	for (cmd = 0; cmd < 0x10000; cmd++) {
		if (known(cmd))
			continue;
		desc_amo(&d, cmd, b.local, &b.lmh, &b.t.r, 0, 8, 1, 2);
		is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "command %#x", cmd);
		refused++;
	}
	is_u64(refused, 0x10000 - 118);
	for (cmd = 0x10000; cmd; cmd <<= 1) {
		desc_amo(&d, cmd | GNI_FMA_ATOMIC_ADD, b.local, &b.lmh, &b.t.r, 0, 8, 1, 2);
		is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM, "command %#x", cmd);
	}
	desc_amo(&d, 0xffffffff, b.local, &b.lmh, &b.t.r, 0, 8, 1, 2);
	is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(b.t.mem, PAGE, 0) && all_bytes(b.local, PAGE, 0));
	is_empty(b.t.n.tx);
}

static void test_local(void)
{
	gni_mem_handle_t zero = { 0 }, ro;
	struct amo_bench b;
	gni_post_descriptor_t d;

	amo_open(&b, SELF);
	mem_open(&b.t.n, b.local, PAGE, NULL, GNI_MEM_READ_ONLY, &ro);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, b.local, &zero, &b.t.r, 0, 8, 1, 0);
	is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, b.local, &ro, &b.t.r, 0, 8, 1, 0);
	is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_PERMISSION_ERROR);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, (char *)b.local + PAGE, &b.lmh, &b.t.r, 0, 8, 1, 0);
	is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, (char *)b.local + PAGE - 8, &b.lmh, &b.t.r, 0, 16, 1, 0);
	is_rc(GNI_PostFma(b.t.ep, &d), GNI_RC_INVALID_PARAM);
	ok(all_bytes(b.t.mem, PAGE, 0));
	is_empty(b.t.n.tx);
}

static void test_target_errors(enum layout layout)
{
	struct amo_bench b;
	gni_post_descriptor_t d;
	gni_cq_entry_t e;

	amo_open(&b, layout);
	desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, &b.t.r, PAGE - 8, 16, 1, 0);
	is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "over the end");
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, b.local, &b.lmh, &b.t.r, PAGE, 8, 1, 0);
	is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "after the end");
	desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, &b.t.r, 0, 8, 5, 0);
	d.cq_mode = GLOBAL | GNI_CQMODE_REMOTE_EVENT;
	is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_SUCCESS);
	is_rc(target_event(&b.t, &e), GNI_RC_SUCCESS);
	is_u64(gni_cq_get_rem_inst_id(e), INITIATOR_ID);
	is_u64(*(uint64_t *)b.t.mem, 5);
	*(uint64_t *)b.t.mem = 0;
	is_rc(target_deregister(&b.t), GNI_RC_SUCCESS);
	desc_amo(&d, GNI_FMA_ATOMIC_FADD, b.local, &b.lmh, &b.t.r, 0, 8, 1, 0);
	is_rc(post_wait(b.t.ep, b.t.n.tx, &d), GNI_RC_TRANSACTION_ERROR, "deregistered");
	ok(all_bytes(b.t.mem, PAGE, 0) && all_bytes(b.local, PAGE, 0));
	target_close(&b.t);
}
ALL_LAYOUTS(test_target_errors)

/* --- atomicity ----------------------------------------------------------------- */

#define WORKERS	4
#define ADDS	1500
#define VECTOR	256	/* words of a vector ADD, of which there is one in ten rounds */

static struct target shared;
static unsigned char *seen;

/*
 * word 0: FADD, word 1: ADD, word 2 (32 bits each): IADD_S and XOR_S; words
 * from 256 on: vector ADD
 */
static void adder(void *arg)
{
	int who = *(int *)arg, i;
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	uint64_t *local = map_private(PAGE);
	struct nic n;

	nic_open(&n, who & 1, who + 10);
	ep = ep_open(&n, shared.r.pe, TARGET_ID);
	mem_open(&n, local, PAGE, NULL, 0, &lmh);
	give(0);
	take(1);
	for (i = 0; i < ADDS; i++) {
		desc_amo(&d, GNI_FMA_ATOMIC_FADD, local, &lmh, &shared.r, 0, 8, 1, 0);
		is_rc(post_wait(ep, n.tx, &d), GNI_RC_SUCCESS);
		ok(*local < (WORKERS + 1) * ADDS);
		ok(!__atomic_exchange_n(&seen[*local], 1, __ATOMIC_RELAXED), "%llu twice",
		   (unsigned long long)*local);
		desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, &shared.r, 8, 8, 1ULL << 32, 0);
		d.cq_mode = GNI_CQMODE_SILENT;
		is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
		desc_amo(&d, GNI_FMA_ATOMIC2_IADD_S, NULL, NULL, &shared.r, 16, 4, 3, 0);
		d.cq_mode = GNI_CQMODE_SILENT;
		is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
		desc_amo(&d, GNI_FMA_ATOMIC2_XOR_S, NULL, NULL, &shared.r, 20, 4, 1U << who, 0);
		d.cq_mode = GNI_CQMODE_SILENT;
		is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
		if (i % 10)
			continue;
		desc_amo(&d, GNI_FMA_ATOMIC_ADD, NULL, NULL, &shared.r, 2048, 8 * VECTOR,
			 1ULL << 32, 0);
		d.cq_mode = GNI_CQMODE_SILENT;
		is_rc(GNI_PostFma(ep, &d), GNI_RC_SUCCESS);
	}
	shm->word[0]++;
}

/*
 * Processes on two NICs, and the CPU without a pause: an AMO that isn't atomic
 * would lose some of its additions.
 */
static void test_atomic(void)
{
	uint64_t *word, n = 0, took = 0;
	pid_t pid[WORKERS];
	int i;

	seen = map_shared((WORKERS + 1) * ADDS);
	target_open(&shared, SELF, PAGE, 0, 0);
	word = (uint64_t *)shared.mem;
	for (i = 0; i < WORKERS; i++)
		pid[i] = peer(adder, &i);
	for (i = 0; i < WORKERS; i++)
		take(0);
	for (i = 0; i < WORKERS; i++)
		give(1);
	while (shm->word[0] < WORKERS) {
		for (i = 0; i < 4 * VECTOR; i++) {
			__atomic_fetch_add(&word[256 + i % VECTOR], 1, __ATOMIC_SEQ_CST);
			__atomic_fetch_add(&word[1], 1, __ATOMIC_SEQ_CST);
			__atomic_fetch_add((uint32_t *)&word[2], 5, __ATOMIC_SEQ_CST);
			__atomic_fetch_xor((uint32_t *)&word[2] + 1, 1U << 31, __ATOMIC_SEQ_CST);
		}
		n += 4 * VECTOR;
		if (took < ADDS) {
			uint64_t old = __atomic_fetch_add(&word[0], 1, __ATOMIC_SEQ_CST);

			ok(!__atomic_exchange_n(&seen[old], 1, __ATOMIC_RELAXED), "%llu twice",
			   (unsigned long long)old);
			took++;
		}
	}
	for (i = 0; i < WORKERS; i++)
		reap(pid[i]);
	is_u64(word[0], WORKERS * ADDS + took);
	is_u64(word[1], ((uint64_t)WORKERS * ADDS << 32) + n);
	is_u64(((uint32_t *)word)[4], (uint32_t)(3 * WORKERS * ADDS + 5 * n));
	for (i = 0; i < VECTOR; i++)
		is_u64(word[256 + i], ((uint64_t)WORKERS * ADDS / 10 << 32) + n / VECTOR, "%d", i);
	is_u64(((uint32_t *)word)[5], 0, "everybody has flipped an even number of times");
	ok(all_bytes(seen, WORKERS * ADDS + took, 1));
}

#define LOCKS	150

/* A lock at 0, a counter at 64 that is read and written by get and put. */
static void locker(void *arg)
{
	int who = *(int *)arg, i;
	gni_mem_handle_t lmh;
	gni_post_descriptor_t d;
	gni_ep_handle_t ep;
	uint64_t *local = map_private(PAGE);
	struct nic n;

	nic_open(&n, 0, who + 10);
	ep = ep_open(&n, shared.r.pe, TARGET_ID);
	mem_open(&n, local, PAGE, NULL, 0, &lmh);
	give(0);
	take(1);
	for (i = 0; i < LOCKS; i++) {
		do {
			desc_amo(&d, GNI_FMA_ATOMIC_CSWAP, local, &lmh, &shared.r, 0, 8, 0,
				 who + 1);
			must_do(post_wait(ep, n.tx, &d));
			if (*local)
				sched_yield();
		} while (*local);
		desc_init(&d, GNI_POST_FMA_GET, GLOBAL);
		desc_move(&d, local + 8, &lmh, &shared.r, 64, 8);
		must_do(post_wait(ep, n.tx, &d));
		local[8]++;
		desc_init(&d, GNI_POST_FMA_PUT, GLOBAL);
		desc_move(&d, local + 8, NULL, &shared.r, 64, 8);
		must_do(post_wait(ep, n.tx, &d));
		desc_amo(&d, GNI_FMA_ATOMIC2_FSWAP, local, &lmh, &shared.r, 0, 8, 0, 0);
		must_do(post_wait(ep, n.tx, &d));
		is_u64(*local, who + 1, "the lock was ours");
	}
}

static void test_lock(void)
{
	pid_t pid[WORKERS];
	int i;

	target_open(&shared, SELF, PAGE, 0, 0);
	for (i = 0; i < WORKERS; i++)
		pid[i] = peer(locker, &i);
	for (i = 0; i < WORKERS; i++)
		take(0);
	for (i = 0; i < WORKERS; i++)
		give(1);
	for (i = 0; i < WORKERS; i++)
		reap(pid[i]);
	is_u64(((uint64_t *)shared.mem)[8], WORKERS * LOCKS);
	is_u64(((uint64_t *)shared.mem)[0], 0);
}

static const struct test tests[] = {
	CASES("every command", test_commands),
	CASES("floating point of every kind", test_numbers),
	CASE("floating point: what the header promises", test_ieee),
	CASE("cached commands without the mode for them", test_cached),
	CASE("alignment and length", test_alignment),
	CASE("codes that are no commands", test_refused, 60),
	CASE("where the result goes", test_local),
	CASES("errors at the target", test_target_errors),
	CASE("atomic: four processes, two NICs and the CPU", test_atomic, 60),
	CASE("a lock of compare and swap", test_lock, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
