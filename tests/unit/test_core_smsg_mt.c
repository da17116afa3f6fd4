// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short messages both ways between two threads that put straight into each
 * other's mailbox: under ThreadSanitizer, proof that slot words and credit
 * words order the bytes they stand for.
 */
#include <pthread.h>
#include <sched.h>
#include "unit.h"
#include "core/smsg.h"

#define STREAM	12000

static struct kgni_smsg_geom g;

static struct side {
	struct side *peer;
	struct kgni_smsg_tx tx;
	struct kgni_smsg_rx rx;
	u8 *mbox;
	const char *wrong;
} sides[2];

static u32 failed;

static u64 *word_at(u8 *mbox, u64 offset)
{
	return (u64 *)(mbox + offset);
}

static u32 length_of(u64 n)
{
	return (u32)(n * 29 % (g.maxsize + 1));
}

static void send_some(struct side *s, u64 end)
{
	int credits = kgni_smsg_tx_credits(&g, &s->tx, word_at(s->mbox, 0));
	u64 n, at;

	if (credits < 0)
		s->wrong = "a bad credit word";
	for (; credits > 0 && s->tx.sent != end; credits--) {
		n = s->tx.sent++;
		at = kgni_smsg_slot(&g, n);
		memset(s->peer->mbox + at + KGNI_SMSG_PAYLOAD, (int)(n & 0xff), length_of(n));
		core_store_release(word_at(s->peer->mbox, at),
				   kgni_smsg_word(n, length_of(n), (u8)(n >> 3)));
	}
}

static const char *check(const struct kgni_smsg_msg *msg, u64 n)
{
	u32 i;

	if (msg->length != length_of(n) || msg->tag != (u8)(n >> 3))
		return "another message";
	for (i = 0; i < msg->length; i++)
		if (((u8 *)msg->payload)[i] != (u8)n)
			return "another message's bytes";
	return NULL;
}

static bool receive_one(struct side *s)
{
	struct kgni_smsg_msg msg;

	switch (kgni_smsg_rx_poll(&g, &s->rx, s->mbox, &msg)) {
	case KGNI_SMSG_NONE:
		return false;
	case KGNI_SMSG_DAMAGED:
		s->wrong = "a damaged mailbox";
		return false;
	case KGNI_SMSG_MESSAGE:
		break;
	}
	s->wrong = check(&msg, s->rx.consumed);
	if (kgni_smsg_rx_release(&g, &s->rx)) {
		core_store_release(word_at(s->peer->mbox, 0), s->rx.consumed);
		kgni_smsg_rx_returned(&s->rx, s->rx.consumed);
	}
	return !s->wrong;
}

static void *side_thread(void *arg)
{
	struct side *s = arg;
	u64 end = s->tx.sent + STREAM;

	while (s->tx.sent != end || s->rx.consumed != end) {
		send_some(s, end);
		while (receive_one(s))
			;
		if (s->wrong)
			__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
		if (__atomic_load_n(&failed, __ATOMIC_RELAXED))
			break;
		sched_yield();
	}
	return NULL;
}

static void exchange(u32 credits, u32 maxsize)
{
	/* Sequence numbers of slot words start again from 0 halfway. */
	u64 start = (1ULL << 31) - STREAM / 2, n;
	pthread_t threads[2];
	struct side *s;
	u32 i;

	assert_true(kgni_smsg_geom_init(&g, credits, maxsize));
	memset(sides, 0, sizeof(sides));
	for (i = 0; i < 2; i++) {
		s = &sides[i];
		s->peer = &sides[!i];
		s->mbox = aligned_alloc(64, kgni_smsg_size(&g));
		assert_non_null(s->mbox);
		s->tx.sent = start;
		s->tx.acked = start;
		s->rx.consumed = start;
		s->rx.returned = start;
		*word_at(s->mbox, 0) = start;
		for (n = start - credits; n < start; n++)
			*word_at(s->mbox, kgni_smsg_slot(&g, n)) = kgni_smsg_word(n, 0, 0);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, side_thread, &sides[i]), 0);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < 2; i++) {
		if (sides[i].wrong)
			fail_msg("%s", sides[i].wrong);
		assert_int_equal(sides[i].rx.consumed, start + STREAM);
		free(sides[i].mbox);
	}
}

static void test_exchange(void **state)
{
	static const struct {
		u32 credits, maxsize;
	} shapes[] = { { 1, 100 }, { 2, 8 }, { 3, 57 }, { 8, 1000 }, { 64, 40 } };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		exchange(shapes[i].credits, shapes[i].maxsize);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
	};

	return cmocka_run_group_tests_name("short messages between threads", tests, NULL, NULL);
}
