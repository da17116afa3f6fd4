// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of posts and the atomic operations: any post against the rules as
 * Documentation/abi.rst tells them, every command code against the names in
 * gni_pub.h, and the arithmetic against other arithmetic, on a word that
 * somebody else changes meanwhile.
 */
#include "fuzz.h"
#include <math.h>

#include <gni_pub.h>
#include "core/core.h"

static void disturb(void *word);

#undef core_cmpxchg
#define core_cmpxchg(p, old, new)	__extension__({			\
	__typeof__(*(p)) old_ = (old);					\
									\
	disturb(p);							\
	__atomic_compare_exchange_n(p, &old_, new, false,		\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	old_;								\
})

#include "core/rules.h"

/* --- commands ---------------------------------------------------------------------- */

struct command {
	u32 code;
	enum kgni_amo_op op;
	u8 size;
	bool fetch;
};

#define GEN1(name, op, fetch)				\
	{ GNI_FMA_ATOMIC_##name, op, 8, fetch },	\
	{ GNI_FMA_ATOMIC_##name##_C, op, 8, fetch }
#define GEN2(name, op, fetch)				\
	{ GNI_FMA_ATOMIC2_##name, op, 8, fetch },	\
	{ GNI_FMA_ATOMIC2_##name##_C, op, 8, fetch },	\
	{ GNI_FMA_ATOMIC2_##name##_S, op, 4, fetch },	\
	{ GNI_FMA_ATOMIC2_##name##_SC, op, 4, fetch }

static const struct command commands[] = {
	GEN1(FADD, KGNI_AMO_ADD, true), GEN1(FAND, KGNI_AMO_AND, true),
	GEN1(FOR, KGNI_AMO_OR, true), GEN1(FXOR, KGNI_AMO_XOR, true),
	GEN1(FAX, KGNI_AMO_AX, true), GEN1(CSWAP, KGNI_AMO_CSWAP, true),
	GEN1(ADD, KGNI_AMO_ADD, false), GEN1(AND, KGNI_AMO_AND, false),
	GEN1(OR, KGNI_AMO_OR, false), GEN1(XOR, KGNI_AMO_XOR, false),
	GEN1(AX, KGNI_AMO_AX, false),
	GEN2(FAND, KGNI_AMO_AND, true), GEN2(FOR, KGNI_AMO_OR, true),
	GEN2(FXOR, KGNI_AMO_XOR, true), GEN2(FSWAP, KGNI_AMO_SWAP, true),
	GEN2(FAX, KGNI_AMO_AX, true), GEN2(FCSWAP, KGNI_AMO_CSWAP, true),
	GEN2(FIMIN, KGNI_AMO_MIN, true), GEN2(FIMAX, KGNI_AMO_MAX, true),
	GEN2(FIADD, KGNI_AMO_ADD, true),
	GEN2(AND, KGNI_AMO_AND, false), GEN2(OR, KGNI_AMO_OR, false),
	GEN2(XOR, KGNI_AMO_XOR, false), GEN2(SWAP, KGNI_AMO_SWAP, false),
	GEN2(AX, KGNI_AMO_AX, false), GEN2(CSWAP, KGNI_AMO_CSWAP, false),
	GEN2(IMIN, KGNI_AMO_MIN, false), GEN2(IMAX, KGNI_AMO_MAX, false),
	GEN2(IADD, KGNI_AMO_ADD, false),
	GEN2(FFPMIN, KGNI_AMO_FPMIN, true), GEN2(FFPMAX, KGNI_AMO_FPMAX, true),
	GEN2(FFPADD, KGNI_AMO_FPADD, true),
	GEN2(FPMIN, KGNI_AMO_FPMIN, false), GEN2(FPMAX, KGNI_AMO_FPMAX, false),
	GEN2(FPADD, KGNI_AMO_FPADD, false),
};

static const struct command *command(u32 code)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].code == code)
			return &commands[i];
	return NULL;
}

static void check_decode(u32 code)
{
	const struct command *c = command(code);
	struct kgni_amo amo;
	bool good;

	memset(&amo, 0xa5, sizeof(amo));
	good = kgni_amo_decode(code, &amo);
	check(good == !!c, "command %#x", code);
	check(amo.size == 4 || amo.size == 8, "command %#x: size %u", code, amo.size);
	if (c)
		check(amo.op == c->op && amo.size == c->size && amo.fetch == c->fetch,
		      "command %#x: op %d, size %u, fetch %d", code, amo.op, amo.size, amo.fetch);
}

/* --- arithmetic -------------------------------------------------------------------- */

static u64 by_bits(enum kgni_amo_op op, unsigned int bits, u64 old, u64 op1, u64 op2)
{
	unsigned int i, carry = 0, a, b, c, r;
	u64 result = 0;

	for (i = 0; i < bits; i++) {
		a = old >> i & 1;
		b = op1 >> i & 1;
		c = op2 >> i & 1;
		switch (op) {
		case KGNI_AMO_ADD:
			r = a ^ b ^ carry;
			carry = a + b + carry > 1;
			break;
		case KGNI_AMO_AND:
			r = a && b;
			break;
		case KGNI_AMO_OR:
			r = a || b;
			break;
		case KGNI_AMO_XOR:
			r = a != b;
			break;
		case KGNI_AMO_AX:
			r = (a && b) != c;
			break;
		default:
			r = b;
		}
		result |= (u64)r << i;
	}
	return result;
}

/* The sign bit turned round, signed numbers have the order of unsigned ones. */
static u64 rank(unsigned int bits, u64 value)
{
	return value ^ 1ULL << (bits - 1);
}

static double number(unsigned int bits, u64 value)
{
	u32 low = (u32)value;
	double twice;
	float single;

	memcpy(&single, &low, sizeof(single));
	memcpy(&twice, &value, sizeof(twice));
	return bits == 32 ? single : twice;
}

static u64 unit_add(unsigned int bits, u64 old, u64 op1)
{
	double twice = number(bits, old) + number(bits, op1);
	float single = (float)number(bits, old) + (float)number(bits, op1);
	u64 result = 0;

	if (isnan(twice))
		return bits == 32 ? 0x7fc00000 : 0x7ff8000000000000;
	if (bits == 32)
		memcpy(&result, &single, sizeof(single));
	else
		memcpy(&result, &twice, sizeof(twice));
	return result;
}

/*
 * What the floating point unit says, with the one NaN that core/fp.h knows. A
 * comparison does not tell zeros apart.
 */
static u64 by_unit(enum kgni_amo_op op, unsigned int bits, u64 old, u64 op1)
{
	double was = number(bits, old), other = number(bits, op1);

	if (op == KGNI_AMO_FPADD || (isnan(was) && isnan(other)))
		return unit_add(bits, old, op1);
	if (isnan(was) || isnan(other))
		return isnan(was) ? op1 : old;
	if (was == other)
		return !signbit(was) == (op == KGNI_AMO_FPMAX) ? old : op1;
	return (was > other) == (op == KGNI_AMO_FPMAX) ? old : op1;
}

static u64 expected(const struct kgni_amo *amo, u64 old, u64 op1, u64 op2)
{
	unsigned int bits = amo->size * 8;
	u64 mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;

	old &= mask;
	op1 &= mask;
	op2 &= mask;
	switch (amo->op) {
	case KGNI_AMO_NONE:
		return old;
	case KGNI_AMO_CSWAP:
		return old == op1 ? op2 : old;
	case KGNI_AMO_MIN:
		return rank(bits, op1) < rank(bits, old) ? op1 : old;
	case KGNI_AMO_MAX:
		return rank(bits, op1) > rank(bits, old) ? op1 : old;
	case KGNI_AMO_FPMIN:
	case KGNI_AMO_FPMAX:
	case KGNI_AMO_FPADD:
		return by_unit(amo->op, bits, old, op1);
	default:
		return by_bits(amo->op, bits, old, op1, op2);
	}
}

/* The other one who changes the word, @left times more, and who counts. */
static struct {
	struct input *in;
	u32 left;
	u32 tries;
	u8 size;
} other;

static u64 word_value(const void *word, u8 size)
{
	u64 value = 0;

	memcpy(&value, word, size);
	return value;
}

static void disturb(void *word)
{
	u64 value;

	other.tries++;
	if (!other.left)
		return;
	other.left--;
	value = input_edge(other.in);
	memcpy(word, &value, other.size);
}

static void check_exec(const struct kgni_amo *amo, struct input *in)
{
	u64 start = input_edge(in), op1 = input_edge(in), op2 = input_edge(in);
	void *word = fuzz_memory(8, amo->size);
	u32 changes = input_below(in, 4);
	u64 old;

	/* Sums are of interest where both operands count: exponents are not far from each other. */
	if (amo->op == KGNI_AMO_FPADD)
		op1 ^= start ^ (u64)input_below(in, 64) << (amo->size == 4 ? 23 : 52);
	check(kgni_amo_apply(amo->op, amo->size, start, op1, op2) ==
	      expected(amo, start, op1, op2), "op %d, size %u", amo->op, amo->size);
	memcpy(word, &start, amo->size);
	other.in = in;
	other.left = changes;
	other.tries = 0;
	other.size = amo->size;
	old = kgni_amo_exec(amo, word, op1, op2);
	check(other.tries <= changes + 1, "%u tries, %u changes", other.tries, changes);
	check(word_value(word, amo->size) == expected(amo, old, op1, op2), "op %d, size %u",
	      amo->op, amo->size);
	if (!changes)
		check(old == word_value(&start, amo->size), "op %d, size %u", amo->op, amo->size);
	free(word);
}

/* --- posts ------------------------------------------------------------------------- */

static bool is_amo(const struct kgni_ioc_post *a)
{
	return a->type == GNI_POST_AMO || a->type == GNI_POST_AMO_W_FLAG;
}

static bool is_flagged(const struct kgni_ioc_post *a)
{
	return a->type == GNI_POST_FMA_GET_W_FLAG || a->type == GNI_POST_AMO_W_FLAG;
}

static bool is_type(u32 type)
{
	return type >= GNI_POST_RDMA_PUT && type <= GNI_POST_AMO_W_FLAG && type != GNI_POST_CE;
}

static bool bad_param(const struct kgni_ioc_post *a)
{
	bool rdma = a->type == GNI_POST_RDMA_PUT || a->type == GNI_POST_RDMA_GET;
	bool put = a->type == GNI_POST_FMA_PUT || a->type == GNI_POST_FMA_PUT_W_SYNCFLAG;

	if (!is_type(a->type))
		return true;
	if (a->cq_mode > (GNI_CQMODE_LOCAL_EVENT | GNI_CQMODE_GLOBAL_EVENT |
			  GNI_CQMODE_REMOTE_EVENT))
		return true;
	if (a->dlvr_mode >= 2 * GNI_DLVMODE_ORDERED_TAIL)
		return true;
	if (rdma && a->rdma_mode & ~(GNI_RDMAMODE_FENCE | GNI_RDMAMODE_GETWC_DIS))
		return true;
	if (a->type == GNI_POST_CQWRITE)
		return false;
	if (a->length > UINT64_MAX - a->remote_addr || (!a->length && !put))
		return true;
	if (is_amo(a) && !command(a->amo_cmd))
		return true;
	if (a->type == GNI_POST_AMO_W_FLAG && !command(a->amo_cmd)->fetch)
		return true;
	return is_flagged(a) && a->length > 64 - GNI_FMA_FLAGGED_RESPONSE_SIZE;
}

/* First and last byte of response and flag lie in one line. */
static bool bad_line(const struct kgni_ioc_post *a)
{
	u64 last = a->local_addr + a->length + GNI_FMA_FLAGGED_RESPONSE_SIZE - 1;

	return a->local_addr & 3 || a->local_addr >> 6 != last >> 6;
}

static bool bad_alignment(const struct kgni_ioc_post *a)
{
	const struct command *c;

	if (is_flagged(a) && bad_line(a))
		return true;
	switch (a->type) {
	case GNI_POST_RDMA_GET:
	case GNI_POST_FMA_GET:
	case GNI_POST_FMA_GET_W_FLAG:
		return (a->remote_addr | a->length) & 3;
	case GNI_POST_FMA_PUT_W_SYNCFLAG:
		return a->sync_addr & 7;
	case GNI_POST_AMO:
	case GNI_POST_AMO_W_FLAG:
		c = command(a->amo_cmd);
		return (a->remote_addr | a->length | (c->fetch ? a->local_addr : 0)) &
		       (c->size - 1);
	}
	return false;
}

static void show_post(const struct kgni_ioc_post *a)
{
	fprintf(stderr, "type %u, modes %#x %#x %#x, command %#x\n", a->type, a->cq_mode,
		a->dlvr_mode, a->rdma_mode, a->amo_cmd);
	fprintf(stderr, "local %#llx remote %#llx length %#llx sync %#llx\n",
		(unsigned long long)a->local_addr, (unsigned long long)a->remote_addr,
		(unsigned long long)a->length, (unsigned long long)a->sync_addr);
}

static void check_post(const struct kgni_ioc_post *a)
{
	enum kgni_rule want = KGNI_RULE_OK, got;
	struct kgni_amo amo = { 0 };

	if (bad_param(a))
		want = KGNI_RULE_PARAM;
	else if (bad_alignment(a))
		want = KGNI_RULE_ALIGN;
	got = kgni_post_check(a, &amo);
	if (got != want)
		show_post(a);
	check(got == want, "%d, not %d", got, want);
	check(!kgni_post_rule(a->type) == !is_type(a->type), "type %u", a->type);
	/* Whoever carries it out counts on this. */
	if (got == KGNI_RULE_OK && a->type == KGNI_POST_AMO)
		check(amo.op != KGNI_AMO_NONE && (amo.size == 4 || amo.size == 8), "op %d", amo.op);
}

/* A quarter of the commands are the table's, or one bit beside one of them. */
static u32 read_command(struct input *in)
{
	u16 how = input_u16(in);
	u32 code = commands[(how >> 2) % ARRAY_SIZE(commands)].code;

	switch (how & 3) {
	case 0:
		return code;
	case 1:
		return code ^ 1U << input_below(in, 32);
	case 2:
		return how >> 2;
	}
	return input_u32(in);
}

static void read_post(struct input *in, struct kgni_ioc_post *a)
{
	u8 type = input_u8(in);

	a->type = type < 240 ? type % 12 : (u32)input_edge(in);
	a->cq_mode = input_u8(in) & (input_u8(in) < 240 ? 7 : 0xff);
	a->rdma_mode = input_u8(in) & (input_u8(in) < 200 ? 6 : 0xff);
	a->local_addr = input_edge(in);
	a->remote_addr = input_edge(in);
	a->length = input_edge(in);
	a->sync_addr = input_edge(in);
	a->amo_cmd = read_command(in);
	a->dlvr_mode = input_u8(in) < 240 ? input_u8(in) : (u16)input_edge(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct kgni_ioc_post args;
	struct kgni_amo amo;

	while (in.left) {
		read_post(&in, &args);
		check_decode(args.amo_cmd);
		check_post(&args);
		/* And with what is most often wrong set right. */
		args.remote_addr &= ~7ULL;
		args.length &= 0xff8;
		args.local_addr &= ~3ULL;
		check_post(&args);
		args.length &= 0x3c;
		check_post(&args);
		if (kgni_amo_decode(args.amo_cmd, &amo))
			check_exec(&amo, &in);
	}
	return 0;
}
