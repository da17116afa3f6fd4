// SPDX-License-Identifier: GPL-2.0-only
/*
 * What different parties write into memory that they share, each at its own pace, lies
 * in cache lines of their own.
 */
#include "unit.h"
#include "core/ring.h"
#include "core/smsg.h"

#define LINE	64

enum writer {
	PEER,		/* producers of a ring, the other end of a channel */
	OWNER,		/* a ring's consumer, whose mailbox it is */
	SELDOM,		/* nobody, while messages and events flow */
};

struct word {
	const char *name;
	size_t offset;
	size_t size;
	enum writer writer;
};

#define MEMBER(type, member, writer) \
	{ #type "." #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), \
	  writer }

static void apart(const struct word *words, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			if (words[i].writer == words[k].writer ||
			    words[i].offset / LINE > (words[k].offset + words[k].size - 1) / LINE ||
			    words[k].offset / LINE > (words[i].offset + words[i].size - 1) / LINE)
				continue;
			fail_msg("%s and %s lie in one line", words[i].name, words[k].name);
		}
	}
}

static void test_ring(void **state)
{
	static const struct word words[] = {
		MEMBER(kgni_ring, tail, PEER), MEMBER(kgni_ring, head, OWNER),
		MEMBER(kgni_ring, armed, SELDOM), MEMBER(kgni_ring, overrun, SELDOM),
		MEMBER(kgni_ring, masked, SELDOM), MEMBER(kgni_ring, notify, SELDOM),
		{ "the slots", KGNI_RING_SLOTS_OFFSET, LINE, PEER },
	};
	size_t used = 0, i;

	(void)state;
	apart(words, ARRAY_SIZE(words));
	/* There are no others. */
	for (i = 0; i + 1 < ARRAY_SIZE(words); i++)
		used += words[i].size;
	assert_int_equal(sizeof(struct kgni_ring), used + sizeof(((struct kgni_ring *)0)->pad0) +
			 sizeof(((struct kgni_ring *)0)->pad1) +
			 sizeof(((struct kgni_ring *)0)->pad2));
	assert_int_equal(KGNI_RING_SLOTS_OFFSET % LINE, 0);
}

/* The peer's words of one mailbox, and what comes before and after it. */
static void test_mailbox(void **state)
{
	struct kgni_smsg_geom g;
	u32 credits, maxsize;

	(void)state;
	for (credits = 1; credits < 20; credits++) {
		for (maxsize = 1; maxsize < 300; maxsize++) {
			assert_true(kgni_smsg_geom_init(&g, credits, maxsize));
			const struct word words[] = {
				{ "the credit word", 0, 8, PEER },
				{ "the scratch word", KGNI_SMSG_SCRATCH, 8, OWNER },
				{ "the slots", KGNI_SMSG_SLOTS_OFFSET,
				  kgni_smsg_size(&g) - KGNI_SMSG_SLOTS_OFFSET, PEER },
				{ "the next mailbox", kgni_smsg_size(&g), 8, SELDOM },
			};

			apart(words, ARRAY_SIZE(words));
			/* A small message is one line. */
			assert_int_equal(kgni_smsg_slot(&g, credits / 2) % LINE, 0);
			if (maxsize <= LINE - KGNI_SMSG_PAYLOAD)
				assert_int_equal(g.slot_size, LINE);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_mailbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
