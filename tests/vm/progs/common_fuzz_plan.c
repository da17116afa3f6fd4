// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans of the fuzzer's rounds, the random numbers that steps draw, and the
 * collection of rounds that reached something new.
 *
 * A round is its lineage: a number that a whole plan is made from, and a number
 * for each change that was made to that plan since. So a few numbers in the log
 * say all about a round, whatever led to it.
 */
#include "common_fuzz.h"

#define CORPUS		4096
#define JOBS		2

/* --- draws --------------------------------------------------------------------- */

static __thread struct {
	uint32_t state;
	uint32_t tweak;
	unsigned int draws;
} drawing;

/* Seeds that are alike shall not make draws that are alike. Never 0. */
static uint32_t stir(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6b;
	x ^= x >> 13;
	x *= 0xc2b2ae35;
	x ^= x >> 16;
	return x ? x : 1;
}

void draw_begin(struct gene gene)
{
	drawing.state = stir(gene.seed);
	drawing.tweak = gene.tweak;
	drawing.draws = 0;
}

uint32_t draw(void)
{
	uint32_t x = rnd(&drawing.state);

	if (drawing.tweak && drawing.draws++ == drawing.tweak % 40)
		x = stir(drawing.tweak);
	return x;
}

uint32_t below(uint32_t n)
{
	return draw() % n;
}

bool one_in(uint32_t n)
{
	return !below(n);
}

uint64_t draw64(void)
{
	uint64_t high = draw();

	return high << 32 | draw();
}

uint64_t odd_number(void)
{
	static const uint64_t odd[] = {
		0, 1, 2, 3, 4, 7, 8, 9, 31, 63, 64, 65, 127, 128, 129, 254, 255, 256, 4095, 4096,
		4097, 65535, 65536, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32,
		1ULL << 47, (1ULL << 47) - 4096, 1ULL << 63, ~0ULL, ~0ULL - 1, ~0ULL - 4095,
	};

	return one_in(4) ? draw64() : odd[below(ARRAY_SIZE(odd))];
}

uint64_t mostly(uint32_t n)
{
	return one_in(24) ? odd_number() : below(n);
}

/* --- plans --------------------------------------------------------------------- */

static struct gene new_gene(void)
{
	return (struct gene){ draw(), one_in(8) ? draw() : 0 };
}

static struct who new_who(void)
{
	static const uint32_t uids[] = { 0, 1000, 1000, 1001 };

	return (struct who){
		.uid = uids[below(ARRAY_SIZE(uids))],
		.cookie = COOKIE + below(JOBS),
		.pages = one_in(3) ? 16 + below(64) : 0,
	};
}

static struct trouble new_trouble(unsigned int procs)
{
	return (struct trouble){ below(TROUBLE_KINDS), below(procs), below(2 * GENES) };
}

static unsigned int new_race(void)
{
	return one_in(3) ? 1 + below(race_count()) : 0;
}

static void new_plan(struct plan *plan)
{
	unsigned int i, j;

	plan->race = new_race();
	plan->procs = 2 + below(PROCS - 1);
	/* Half of the processes belong together. */
	for (i = 0; i < PROCS; i++)
		plan->who[i] = i && one_in(2) ? plan->who[0] : new_who();
	plan->troubles = below(TROUBLES + 1);
	for (i = 0; i < plan->troubles; i++)
		plan->trouble[i] = new_trouble(plan->procs);
	for (i = 0; i < LANES; i++) {
		plan->count[i] = 16 + below(GENES - 16);
		for (j = 0; j < GENES; j++)
			plan->genes[i][j] = new_gene();
	}
}

/* Take out what is at @at, or make room there. */
static void move_genes(struct plan *plan, unsigned int lane, unsigned int at, bool insert)
{
	unsigned int *n = &plan->count[lane];
	struct gene *g = &plan->genes[lane][at];

	if (insert && *n < GENES) {
		memmove(g + 1, g, (*n - at) * sizeof(*g));
		++*n;
	} else if (!insert && *n > 1) {
		memmove(g, g + 1, (*n - at - 1) * sizeof(*g));
		--*n;
	}
}

static void change_shape(struct plan *plan)
{
	switch (below(5)) {
	case 0:
		plan->race = new_race();
		break;
	case 1:
		plan->procs = 2 + below(PROCS - 1);
		break;
	case 2:
		plan->who[below(PROCS)] = new_who();
		break;
	case 3:
		plan->troubles = below(TROUBLES + 1);
		break;
	}
	/* Whatever else changed, no trouble is for a process that isn't there. */
	for (unsigned int i = 0; i < plan->troubles; i++)
		plan->trouble[i] = new_trouble(plan->procs);
}

static void change_plan(struct plan *plan)
{
	unsigned int lane = below(plan->race ? SIDES : plan->procs * THREADS);
	unsigned int other = below(LANES);
	unsigned int at = below(plan->count[lane]);
	struct gene *g = &plan->genes[lane][at];

	switch (below(12)) {
	case 0:
	case 1:
		*g = new_gene();
		break;
	case 2:
	case 3:
		move_genes(plan, lane, at, true);
		*g = plan->genes[other][below(plan->count[other])];
		break;
	case 4:
		move_genes(plan, lane, at, true);
		*g = new_gene();
		break;
	case 5:
		move_genes(plan, lane, at, false);
		break;
	case 6:
		change_shape(plan);
		break;
	case 7:
		plan->count[other] = plan->count[lane];
		memcpy(plan->genes[other], plan->genes[lane], sizeof(plan->genes[lane]));
		break;
	default:
		g->tweak = draw();
	}
}

void plan_make(struct plan *plan, const struct lineage *l)
{
	unsigned int i, n;

	memset(plan, 0, sizeof(*plan));
	draw_begin((struct gene){ l->word[0], 0 });
	new_plan(plan);
	for (i = 1; i < l->n; i++) {
		draw_begin((struct gene){ l->word[i], 0 });
		for (n = 1 + below(4); n; n--)
			change_plan(plan);
	}
}

/* --- lineages ------------------------------------------------------------------ */

void lineage_print(const struct lineage *l, char text[LINEAGE_TEXT])
{
	unsigned int i, n = 0;

	for (i = 0; i < l->n; i++)
		n += snprintf(text + n, LINEAGE_TEXT - n, "%s%x", i ? "." : "", l->word[i]);
}

bool lineage_parse(struct lineage *l, const char *text)
{
	char *end;

	for (l->n = 0; l->n < LINEAGE_MAX; text = end + 1) {
		l->word[l->n++] = (uint32_t)strtoul(text, &end, 16);
		if (end == text || (*end && *end != '.'))
			return false;
		if (!*end)
			return true;
	}
	return false;
}

static struct lineage corpus[CORPUS];
static unsigned int corpus_count;

/* Later ones took more to get there: of two that are drawn the later is taken. */
static const struct lineage *some_parent(void)
{
	unsigned int a = below(corpus_count), b = below(corpus_count);

	return &corpus[a > b ? a : b];
}

void lineage_next(struct lineage *l, uint32_t start, uint64_t index, bool guided)
{
	uint32_t base = stir(start) + (uint32_t)index;

	draw_begin((struct gene){ base, 0 });
	l->n = 0;
	if (guided && corpus_count && !one_in(3))
		*l = *some_parent();
	if (l->n == LINEAGE_MAX)
		l->n = 0;
	l->word[l->n] = l->n ? draw() : base;
	l->n++;
}

void corpus_add(const struct lineage *l)
{
	unsigned int i = corpus_count < CORPUS ? corpus_count++ : below(CORPUS);

	corpus[i] = *l;
}

unsigned int corpus_size(void)
{
	return corpus_count;
}
