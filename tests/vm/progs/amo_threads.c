// SPDX-License-Identifier: GPL-2.0-only
/*
 * Atomic memory operations of eight threads on two NICs, against each other and
 * against atomic instructions of the CPU on the same words. Needs two NICs.
 *
 * In each contest every thread takes its turns. Meanwhile the program takes as
 * many as it can with the CPU's instructions. At the end the words must hold what
 * all turns together make. An operation that is lost shows there, or earlier,
 * where somebody finds that a word went back.
 */
#include "common.h"

#define WORKERS	8
#define TURNS	600
#define CPU	WORKERS		/* number of the one who has no NIC */
#define SILENT	GNI_CQMODE_SILENT

struct worker {
	unsigned int who;
	pthread_t thread;
	struct nic *n;
	gni_cq_handle_t cq;
	gni_ep_handle_t ep;
	gni_mem_handle_t lmh;
	uint64_t *local;
};

static struct nic nics[2];
static struct region region;
static uint64_t *word;			/* the region's memory */
static struct worker workers[WORKERS];
static void (*worker_turn)(struct worker *w, unsigned int turn);
static pthread_barrier_t begin;
static _Atomic unsigned int finished;

/* Many words that one post works on, which makes it likely that two meet in one of them. */
#define VECTOR		64
#define VECTOR_AT	1024
#define VECTOR_2_AT	2048
static uint64_t *vector, *vector2;

/* --- one operation ----------------------------------------------------------- */

/* With an event that is waited for; what it fetches is in local[0] and so on. */
static void fetch_many(struct worker *w, gni_fma_cmd_type_t cmd, unsigned int offset,
		       unsigned int len, uint64_t first, uint64_t second)
{
	gni_post_descriptor_t d;

	w->local[0] = 0;
	desc_amo(&d, cmd, w->local, &w->lmh, &region, offset, len, first, second);
	must_do(post_wait(w->ep, w->cq, &d));
}

static uint64_t fetch(struct worker *w, gni_fma_cmd_type_t cmd, unsigned int offset,
		      uint64_t first, uint64_t second)
{
	fetch_many(w, cmd, offset, cmd & 0x200 ? 4 : 8, first, second);
	return w->local[0];
}

static void change(struct worker *w, gni_fma_cmd_type_t cmd, unsigned int offset, unsigned int len,
		   uint64_t first, uint64_t second)
{
	gni_post_descriptor_t d;

	desc_amo(&d, cmd, NULL, NULL, &region, offset, len, first, second);
	d.cq_mode = SILENT;
	must_do(GNI_PostFma(w->ep, &d));
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, 8);
	return bits;
}

static double double_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, 8);
	return v;
}

static uint32_t bits_of_single(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, 4);
	return bits;
}

static float single_of(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, 4);
	return v;
}

static uint32_t *half(unsigned int offset)
{
	return (uint32_t *)((char *)word + offset);
}

/* Returns what was there. */
static double cpu_add_double(uint64_t *at, double v)
{
	uint64_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(at, &old, bits_of(double_of(old) + v), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	return double_of(old);
}

static void cpu_add_single(uint32_t *at, float v)
{
	uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(at, &old, bits_of_single(single_of(old) + v), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

/* --- contests ------------------------------------------------------------------ */

static void worker_open(struct worker *w)
{
	w->n = &nics[w->who & 1];
	w->local = map_private(PAGE);
	w->cq = cq_open(w->n, 16, GNI_CQ_NOBLOCK);
	must_do(GNI_EpCreate(w->n->h, w->cq, &w->ep));
	must_do(GNI_EpBind(w->ep, region.pe, region.id));
	mem_open(w->n, w->local, PAGE, NULL, 0, &w->lmh);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	worker_open(w);
	pthread_barrier_wait(&begin);
	for (i = 0; i < TURNS; i++)
		worker_turn(w, i);
	is_empty(w->cq);
	finished++;
	return NULL;
}

/* Returns the turns of the CPU. */
static unsigned int contest(void (*turn)(struct worker *w, unsigned int turn),
			    void (*cpu)(unsigned int turn))
{
	unsigned int i, n = 0;

	nic_open(&nics[0], 0, 20);
	nic_open(&nics[1], 1, 21);
	word = map_private(PAGE);
	vector = word + VECTOR_AT / 8;
	vector2 = word + VECTOR_2_AT / 8;
	region_open(&nics[0], word, PAGE, NULL, 0, &region);
	worker_turn = turn;
	must(!pthread_barrier_init(&begin, NULL, WORKERS + 1));
	for (i = 0; i < WORKERS; i++) {
		workers[i].who = i;
		must(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	pthread_barrier_wait(&begin);
	do
		cpu(n++);
	while (finished < WORKERS);
	for (i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	return n;
}

/* --- whole numbers --------------------------------------------------------------- */

static unsigned char *drawn;

static void draw(uint64_t ticket)
{
	if (ok(ticket < (WORKERS + 1) * TURNS, "%llu", (unsigned long long)ticket))
		ok(!__atomic_exchange_n(&drawn[ticket], 1, __ATOMIC_RELAXED), "%llu twice",
		   (unsigned long long)ticket);
}

static void add_turn(struct worker *w, unsigned int turn)
{
	draw(fetch(w, turn & 1 ? GNI_FMA_ATOMIC_FADD : GNI_FMA_ATOMIC2_FIADD_C, 0, 1, 0));
	change(w, GNI_FMA_ATOMIC2_IADD_S, 8, 4, 3, 0);
	change(w, GNI_FMA_ATOMIC2_IADD_SC, 12, 4, -5ULL, 0);
	change(w, GNI_FMA_ATOMIC_ADD, VECTOR_AT, 8 * VECTOR, 1ULL << 32, 0);
}

static void add_cpu(unsigned int turn)
{
	unsigned int i;

	if (turn < TURNS)
		draw(__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST));
	for (i = 0; i < VECTOR; i++) {
		__atomic_fetch_add(half(8), 7, __ATOMIC_SEQ_CST);
		__atomic_fetch_sub(half(12), 1, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&vector[i], 1, __ATOMIC_SEQ_CST);
	}
}

static void test_add(void)
{
	const uint32_t all = WORKERS * TURNS;
	unsigned int n, i, drew;

	drawn = map_private(all + TURNS);
	n = contest(add_turn, add_cpu);
	drew = n < TURNS ? n : TURNS;
	is_u64(word[0], all + drew);
	ok(all_bytes(drawn, all + drew, 1));
	is_u64(*half(8), 3 * all + 7 * VECTOR * n);
	is_u64(*half(12), (uint32_t)(-5 * all - VECTOR * n));
	for (i = 0; i < VECTOR; i++)
		is_u64(vector[i], ((uint64_t)all << 32) + n, "%u", i);
}

/*
 * Everybody has seven bits of a word to himself, and finds them as he left
 * them. Seven bits go to 7 * who; of those the CPU has the last.
 */
#define FIELD(who, v)	((uint64_t)(v) << 7 * (who))
#define MINE(who)	FIELD(who, 0x7f)

static void bits_turn(struct worker *w, unsigned int turn)
{
	const uint64_t mine = MINE(w->who), v = FIELD(w->who, 1 + turn % 126);
	const uint64_t flip = FIELD(w->who, 0x15);

	is_u64(fetch(w, GNI_FMA_ATOMIC_FOR, 0, v, 0) & mine, 0);
	is_u64(fetch(w, GNI_FMA_ATOMIC2_FXOR, 0, flip, 0) & mine, v);
	change(w, GNI_FMA_ATOMIC2_AX_C, 0, 8, ~mine, v);
	is_u64(fetch(w, GNI_FMA_ATOMIC_FAX, 0, ~0ULL, flip) & mine, v);
	change(w, GNI_FMA_ATOMIC_XOR, 0, 8, v ^ flip, 0);
	change(w, GNI_FMA_ATOMIC2_OR, 0, 8, mine, 0);
	is_u64(fetch(w, GNI_FMA_ATOMIC2_FAND, 0, ~mine | flip, 0) & mine, mine);
	change(w, GNI_FMA_ATOMIC_AND, 0, 8, ~flip, 0);
}

static void bits_cpu(unsigned int turn)
{
	const uint64_t mine = MINE(CPU), v = FIELD(CPU, 1 + turn % 126);

	is_u64(__atomic_fetch_or(word, v, __ATOMIC_SEQ_CST) & mine, 0);
	is_u64(__atomic_fetch_xor(word, mine, __ATOMIC_SEQ_CST) & mine, v);
	is_u64(__atomic_fetch_and(word, ~mine, __ATOMIC_SEQ_CST) & mine, v ^ mine);
}

static void test_bits(void)
{
	contest(bits_turn, bits_cpu);
	is_u64(word[0], 0);
}

/*
 * What is put into a word comes out once; nothing is 0, which was there first.
 * Tokens for the words of the vector are drawn after each other's.
 */
#define TOKENS	(WORKERS * TURNS + 1)

static uint64_t held[VECTOR + 1];	/* by the CPU, one of each word */

static void token_out(unsigned int at, uint64_t token)
{
	if (!token || !ok(token <= TOKENS, "%llu", (unsigned long long)token))
		return;
	ok(!__atomic_exchange_n(&drawn[at * TOKENS + token - 1], 1, __ATOMIC_RELAXED),
	   "%llu twice", (unsigned long long)token);
}

/* Into word 0, if that still is what was seen. */
static void swap_one(struct worker *w, gni_fma_cmd_type_t cmd, uint64_t token)
{
	uint64_t seen;

	do {
		seen = fetch(w, GNI_FMA_ATOMIC_FAX, 0, ~0ULL, 0);
	} while (fetch(w, cmd, 0, seen, token) != seen);
	token_out(VECTOR, seen);
}

static void swap_turn(struct worker *w, unsigned int turn)
{
	const uint64_t token = 1 + w->who * TURNS + turn;
	unsigned int i;

	swap_one(w, turn & 1 ? GNI_FMA_ATOMIC_CSWAP : GNI_FMA_ATOMIC2_FCSWAP_C, token);
	fetch_many(w, GNI_FMA_ATOMIC2_FSWAP, VECTOR_AT, 8 * VECTOR, token, 0);
	for (i = 0; i < VECTOR; i++)
		token_out(i, w->local[i]);
}

/* Word 0 seldom, or nobody's compare and swap would ever find what it saw. */
static void swap_cpu(unsigned int turn)
{
	unsigned int i;

	for (i = 0; i < VECTOR; i++)
		held[i] = __atomic_exchange_n(&vector[i], held[i], __ATOMIC_SEQ_CST);
	if (turn % 256 == 0)
		held[VECTOR] = __atomic_exchange_n(word, held[VECTOR], __ATOMIC_SEQ_CST);
}

static void test_swap(void)
{
	unsigned int i;

	drawn = map_private((VECTOR + 1) * TOKENS);
	for (i = 0; i <= VECTOR; i++)
		held[i] = TOKENS;
	contest(swap_turn, swap_cpu);
	for (i = 0; i <= VECTOR; i++) {
		token_out(i, i < VECTOR ? vector[i] : word[0]);
		token_out(i, held[i]);
	}
	ok(all_bytes(drawn, (VECTOR + 1) * TOKENS, 1));
}

/* --- minimum and maximum ----------------------------------------------------------- */

/* Values that go down and below 0, so that nearly every turn changes the word. */
static int32_t low(unsigned int who, unsigned int turn)
{
	return 1000 - (int32_t)(turn * WORKERS + who);
}

/* The same with room for steps of the CPU between them. */
#define WIDE(v)	((int64_t)(v) * (1 << 24))

/* Twice: what comes back the second time is no more than what was given the first. */
static void order_vectors(struct worker *w, int64_t v)
{
	const uint64_t d = bits_of((double)v);
	unsigned int i;

	change(w, GNI_FMA_ATOMIC2_IMIN, VECTOR_AT, 8 * VECTOR, (uint64_t)v, 0);
	fetch_many(w, GNI_FMA_ATOMIC2_FIMIN, VECTOR_AT, 8 * VECTOR, (uint64_t)v, 0);
	for (i = 0; i < VECTOR; i++)
		ok((int64_t)w->local[i] <= v, "%u", i);
	change(w, GNI_FMA_ATOMIC2_FPMIN, VECTOR_2_AT, 8 * VECTOR, d, 0);
	fetch_many(w, GNI_FMA_ATOMIC2_FFPMIN, VECTOR_2_AT, 8 * VECTOR, d, 0);
	for (i = 0; i < VECTOR; i++)
		ok(double_of(w->local[i]) <= (double)v, "%u", i);
}

static void order_turn(struct worker *w, unsigned int turn)
{
	const int32_t v = low(w->who, turn);
	const uint32_t single = bits_of_single((float)-v);

	order_vectors(w, WIDE(v));
	change(w, GNI_FMA_ATOMIC2_IMAX_S, 8, 4, (uint64_t)-v, 0);
	ok((int32_t)fetch(w, GNI_FMA_ATOMIC2_FIMAX_S, 8, (uint64_t)-v, 0) >= -v);
	change(w, GNI_FMA_ATOMIC2_FPMAX_S, 24, 4, single, 0);
	ok(single_of((uint32_t)fetch(w, GNI_FMA_ATOMIC2_FFPMAX_SC, 24, single, 0)) >= (float)-v);
}

/* Goes down by steps of its own, and never finds a word above the last of them. */
static void order_cpu(unsigned int turn)
{
	static int64_t last[VECTOR];
	static double last_double[VECTOR];
	unsigned int i;

	for (i = 0; i < VECTOR; i++) {
		int64_t old = (int64_t)__atomic_fetch_sub(&vector[i], 1, __ATOMIC_SEQ_CST);
		double old_double = cpu_add_double(&vector2[i], -1);

		if (turn)
			ok(old < last[i] && old_double < last_double[i], "turn %u", turn);
		last[i] = old;
		last_double[i] = old_double;
	}
}

static void test_order(void)
{
	const int32_t least = low(WORKERS - 1, TURNS - 1);
	unsigned int i;

	contest(order_turn, order_cpu);
	is_u64(*half(8), -least);
	is_u64(*half(24), bits_of_single((float)-least));
	for (i = 0; i < VECTOR; i++) {
		ok((int64_t)vector[i] <= WIDE(least), "%u", i);
		ok(double_of(vector2[i]) <= (double)WIDE(least), "%u", i);
	}
}

/* --- floating point ------------------------------------------------------------------ */

#define SINGLES	(1U << 18)	/* turns of the CPU on single precision */

/*
 * Quarters, up and down, whose sums are far from needing a bit that there isn't:
 * below 2^22 for single precision. So the result is exact, whatever the order.
 */
static double quarters(unsigned int who, unsigned int turn)
{
	return turn & 1 ? (who + 1) * 0.25 : who * -16.75 + 3;
}

static void float_turn(struct worker *w, unsigned int turn)
{
	const double v = quarters(w->who, turn);

	fetch(w, GNI_FMA_ATOMIC2_FFPADD, 0, bits_of(v), 0);
	change(w, GNI_FMA_ATOMIC2_FPADD_C, 0, 8, bits_of(1048576 * v), 0);
	fetch(w, GNI_FMA_ATOMIC2_FFPADD_S, 8, bits_of_single((float)v), 0);
	change(w, GNI_FMA_ATOMIC2_FPADD_S, 12, 4, bits_of_single((float)-v), 0);
	change(w, GNI_FMA_ATOMIC2_FPADD, VECTOR_AT, 8 * VECTOR, bits_of(v), 0);
}

static void float_cpu(unsigned int turn)
{
	unsigned int i;

	cpu_add_double(&word[0], quarters(CPU, turn));
	if (turn < SINGLES) {
		cpu_add_single(half(8), 0.5F);
		cpu_add_single(half(12), -0.25F);
	}
	for (i = 0; i < VECTOR; i++)
		cpu_add_double(&vector[i], 1.75);
}

static void test_float(void)
{
	const unsigned int n = contest(float_turn, float_cpu);
	const unsigned int singles = n < SINGLES ? n : SINGLES;
	double all = 0, cpu = 0;
	unsigned int i, who;

	for (who = 0; who < WORKERS; who++)
		for (i = 0; i < TURNS; i++)
			all += quarters(who, i);
	for (i = 0; i < n; i++)
		cpu += quarters(CPU, i);
	ok(double_of(word[0]) == 1048577 * all + cpu, "%.17g, not %.17g", double_of(word[0]),
	   1048577 * all + cpu);
	ok(single_of(*half(8)) == all + 0.5 * singles, "%.9g, not %.17g", single_of(*half(8)),
	   all + 0.5 * singles);
	ok(single_of(*half(12)) == -all - 0.25 * singles, "%.9g, not %.17g", single_of(*half(12)),
	   -all - 0.25 * singles);
	for (i = 0; i < VECTOR; i++)
		ok(double_of(vector[i]) == all + 1.75 * n, "%u: %.17g, not %.17g", i,
		   double_of(vector[i]), all + 1.75 * n);
}

static const struct test tests[] = {
	CASE("eight threads, two NICs and the CPU: add", test_add, 60),
	CASE("eight threads, two NICs and the CPU: and, or, exclusive or", test_bits, 60),
	CASE("eight threads, two NICs and the CPU: swap, compare and swap", test_swap, 60),
	CASE("eight threads, two NICs and the CPU: minimum, maximum", test_order, 60),
	CASE("eight threads, two NICs and the CPU: sums of floating point", test_float, 60),
};

int main(void)
{
	return RUN_TESTS(tests);
}
