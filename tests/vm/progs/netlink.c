// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family, without a library: what it refuses and how, and messages that
 * are malformed, cut short or made of random bytes. The seed is fixed, so that a
 * failure comes again.
 *
 *	netlink [user]
 *
 * As root it makes and deletes devices; leaves kgni0 and kgni1 there.
 */
#include "common_netlink.h"

#define ROUNDS		3000

static bool is_root;

/* The first two tell of devices. */
static const uint8_t dumps[] = {
	KGNI_CMD_DEV_GET, KGNI_CMD_BI_GET, KGNI_CMD_JOB_GET, KGNI_CMD_NIC_GET,
	KGNI_CMD_MEM_GET, KGNI_CMD_CQ_GET, KGNI_CMD_DGRAM_GET, KGNI_CMD_CE_GET,
};

static void test_dumps(void)
{
	int fd = nl_socket();
	uint16_t family = nl_resolve(fd, NULL, NULL);
	struct message m;
	unsigned int n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dumps); i++) {
		nl_begin(&m, family, NLM_F_DUMP, dumps[i]);
		n = 0;
		is_u64(nl_ask(fd, &m, family, &n), 0, "command %u", dumps[i]);
		is_u64(n, i > 1 ? 0 : 2, "command %u", dumps[i]);
	}
}

/* What is not a command, not one for this, or lacks something. */
static void test_refused(void)
{
	static const struct {
		uint16_t flags;
		uint8_t cmd;
		uint16_t attr;
		uint32_t value;
		int want;
	} rows[] = {
		{ NLM_F_ACK, KGNI_CMD_UNSPEC, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_MAX + 1, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, 255, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_NIC_GET, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_JOB_NEW, 0, 0, EOPNOTSUPP },
		{ NLM_F_DUMP, KGNI_CMD_DEV_DEL, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, 0, 0, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_DEV, 2, ENODEV },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_DEV, 63, ENODEV },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_DEV, 64, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_DEV, ~0U, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_PTAG, 5, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, KGNI_A_MAX + 1, 5, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_DEV_GET, 0x3fff, 5, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_JOB_GET, KGNI_A_PTAG, 0, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_JOB_GET, KGNI_A_PTAG, 255, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_JOB_GET, KGNI_A_PTAG, 7, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_JOB_GET, KGNI_A_DEV, 0, EINVAL },
		{ NLM_F_DUMP, KGNI_CMD_JOB_GET, KGNI_A_DEV, 9, ENODEV },
		{ NLM_F_DUMP, KGNI_CMD_NIC_GET, KGNI_A_PID, 0, ERANGE },
		{ NLM_F_DUMP, KGNI_CMD_NIC_GET, KGNI_A_PID, 0x80000000, ERANGE },
		{ NLM_F_DUMP, KGNI_CMD_NIC_GET, KGNI_A_COOKIE, 1, EINVAL },
		{ NLM_F_DUMP, KGNI_CMD_JOB_GET, KGNI_A_PID, 1, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_ERROR, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_INJECT, KGNI_A_CODE, 0x8000, ERANGE },
		{ NLM_F_DUMP, KGNI_CMD_INJECT, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_BI_GET, KGNI_A_DEV, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_BI_NEW, 0, 0, EOPNOTSUPP },
		{ NLM_F_DUMP, KGNI_CMD_BI_SET, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_BI_SET, KGNI_A_BW, 993, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_BI_SET, KGNI_A_AOT_BW, ~0U, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_BI_SET, KGNI_A_FLAGS, 0x8000, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_BI_SET, KGNI_A_NORBS, 1, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_DEV_QUIESCE, KGNI_A_DEV, 64, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_DEV_RESUME, KGNI_A_FORCE, 0, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_JOB_SET, KGNI_A_PTAG, 0, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_JOB_SET, KGNI_A_JOB_ID, 0, EINVAL },
		{ NLM_F_ACK, KGNI_CMD_JOB_SET, KGNI_A_NTT_BASE, 8192, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_JOB_UNSET, KGNI_A_NTT_SIZE, 8193, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_NTT_SET, KGNI_A_GRANULARITY, 256, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_NTT_SET, KGNI_A_INDEX, 8192, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_NTT_UNSET, KGNI_A_COUNT, 0, ERANGE },
		{ NLM_F_ACK, KGNI_CMD_JOB_SUSPEND, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_JOB_RESUME, KGNI_A_PTAG, 3, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_CE_GET, 0, 0, EOPNOTSUPP },
		{ NLM_F_ACK, KGNI_CMD_CE_NEW, 0, 0, EOPNOTSUPP },
		{ NLM_F_DUMP, KGNI_CMD_CE_GET, KGNI_A_DEV, 64, ERANGE },
		{ NLM_F_DUMP, KGNI_CMD_CE_GET, KGNI_A_PTAG, 255, ERANGE },
		{ NLM_F_DUMP, KGNI_CMD_CE_GET, KGNI_A_CE, 0, EINVAL },
		{ NLM_F_DUMP, KGNI_CMD_JOB_GET, KGNI_A_SUSPENDED, 0, EINVAL },
	};
	int fd = nl_socket();
	uint16_t family = nl_resolve(fd, NULL, NULL);
	struct message m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		nl_begin(&m, family, rows[i].flags, rows[i].cmd);
		if (rows[i].attr)
			nl_add_u32(&m, rows[i].attr, rows[i].value);
		is_u64(nl_ask(fd, &m, family, NULL), rows[i].want, "row %zu", i);
	}
}

/* Attributes of a wrong size or kind. */
static void test_malformed(void)
{
	static const unsigned char zeros[64];
	int fd = nl_socket();
	uint16_t family = nl_resolve(fd, NULL, NULL);
	struct message m;
	size_t len;

	for (len = 0; len < 16; len++) {
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
		nl_add(&m, KGNI_A_DEV, zeros, len);
		is_u64(nl_ask(fd, &m, family, NULL), len == 4 ? 0 : EINVAL, "%zu bytes", len);
	}
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
	nl_add_u32(&m, KGNI_A_DEV | NLA_F_NESTED, 0);
	is_u64(nl_ask(fd, &m, family, NULL), EINVAL, "a nest");
	/* One that says it is longer than the message. */
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
	nl_add_u32(&m, KGNI_A_DEV, 0);
	m.bytes[NLMSG_LENGTH(GENL_HDRLEN)] = 200;
	is_u64(nl_ask(fd, &m, family, NULL), EINVAL, "beyond the end");
	/* The same twice: the last one counts. */
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
	nl_add_u32(&m, KGNI_A_DEV, 9);
	nl_add_u32(&m, KGNI_A_DEV, 1);
	is_u64(nl_ask(fd, &m, family, NULL), 0, "twice");
}

/* A job whose limits are a nest of this. */
static int set_limits(int fd, uint16_t family, const void *nest, size_t len)
{
	const uint64_t id = 1;
	struct message m;

	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_JOB_SET);
	nl_add_u32(&m, KGNI_A_DEV, 0);
	nl_add(&m, KGNI_A_JOB_ID, &id, sizeof(id));
	nl_add_u32(&m, KGNI_A_COOKIE, 1);
	nl_add_u32(&m, KGNI_A_PTAG, 200);
	nl_add(&m, KGNI_A_RES | NLA_F_NESTED, nest, len);
	return nl_ask(fd, &m, family, NULL);
}

/* Limits that are no limits. */
static void test_limits(void)
{
	static const struct {
		const char *name;
		uint32_t total;
		int want;
		bool for_all;
	} rows[] = {
		{ "mdd", 5, 0, false }, { "mdd", -1, ERANGE, true },
		{ "mdd", 0x80000000, ERANGE, true }, { "mdd", 1 << 30, ENOSPC, false },
		{ "dla", 5, 0, false }, { "dla", 65537, ENOSPC, false }, { "ce", 4, 0, false },
		{ "ce", 1025, ENOSPC, false }, { "mrt", 5, EINVAL, false },
		{ "gart", 5, EINVAL, false },
		{ "nonsense", 5, EINVAL, false }, { "", 5, EINVAL, false },
		{ "a name of more than fifteen", 5, EINVAL, true },
	};
	int fd = nl_socket(), refused = is_root ? 0 : EPERM;
	uint16_t family = nl_resolve(fd, NULL, NULL);
	static const unsigned char junk[60];
	const uint64_t id = 1;
	struct message m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct message one = { 0 }, nest = { 0 };

		nl_add(&one, KGNI_RES_A_NAME, rows[i].name, strlen(rows[i].name) + 1);
		nl_add_u32(&one, KGNI_RES_A_TOTAL, rows[i].total);
		nl_add(&nest, 1 | NLA_F_NESTED, one.bytes, one.len);
		is_u64(set_limits(fd, family, nest.bytes, nest.len),
		       rows[i].for_all ? rows[i].want : refused ?: rows[i].want, "row %zu", i);
	}
	is_u64(set_limits(fd, family, "", 0), refused, "no limits");
	is_u64(set_limits(fd, family, junk, 60), refused ?: EINVAL, "junk");
	is_u64(set_limits(fd, family, "\377\377\1\0", 4), refused ?: EINVAL, "beyond the end");
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_JOB_UNSET);
	nl_add_u32(&m, KGNI_A_DEV, 0);
	nl_add(&m, KGNI_A_JOB_ID, &id, sizeof(id));
	nl_add_u32(&m, KGNI_A_COOKIE, 1);
	nl_add_u32(&m, KGNI_A_PTAG, 200);
	is_u64(nl_ask(fd, &m, family, NULL), refused);
}

/* Entries that are not whole. */
static void test_entries(void)
{
	int fd = nl_socket(), refused = is_root ? 0 : EPERM;
	uint16_t family = nl_resolve(fd, NULL, NULL);
	static const unsigned char zeros[60];
	struct message m;
	size_t i;

	for (i = 0; i < sizeof(zeros); i++) {
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_NTT_SET);
		nl_add_u32(&m, KGNI_A_DEV, 0);
		nl_add_u32(&m, KGNI_A_GRANULARITY, 1);
		nl_add(&m, KGNI_A_ENTRIES, zeros, i);
		is_u64(nl_ask(fd, &m, family, NULL), refused ?: i && i % 12 == 0 ? 0 : EINVAL,
		       "%zu bytes", i);
	}
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_NTT_UNSET);
	nl_add_u32(&m, KGNI_A_DEV, 0);
	is_u64(nl_ask(fd, &m, family, NULL), refused);
}

/* Every beginning of a message that is in order, with a length that says so, or not. */
static void test_truncated(void)
{
	int fd = nl_socket();
	uint16_t family = nl_resolve(fd, NULL, NULL);
	struct message m;
	size_t len;
	int rc;

	for (len = NLMSG_HDRLEN; len < NLMSG_LENGTH(GENL_HDRLEN) + 8; len++) {
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
		nl_add_u32(&m, KGNI_A_DEV, 1);
		m.len = len;
		rc = nl_ask(fd, &m, family, NULL);
		is_u64(rc, EINVAL, "%zu bytes", len);
	}
	/* A length beyond what was sent is no message: nothing answers. */
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_GET);
	nl_add_u32(&m, KGNI_A_DEV, 1);
	m.nlh.nlmsg_len = m.len + 4;
	must(send(fd, m.bytes, m.len, 0) == (ssize_t)m.len);
	nl_begin(&m, family, NLM_F_DUMP, KGNI_CMD_DEV_GET);
	is_u64(nl_ask(fd, &m, family, NULL), 0);
}

static void test_rights(void)
{
	int want = is_root ? 0 : EPERM, fd = nl_socket();
	uint32_t all = 0, devices = 0;
	uint16_t family;
	struct message m;

	family = nl_resolve(fd, KGNI_GENL_GROUP_EVENTS, &all);
	nl_resolve(fd, KGNI_GENL_GROUP_DEVICES, &devices);
	ok(!setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &devices, sizeof(devices)));
	ok(!setsockopt(fd, SOL_NETLINK, NETLINK_DROP_MEMBERSHIP, &devices, sizeof(devices)));
	errno = 0;
	setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &all, sizeof(all));
	is_u64(errno, want, "the group of all events");
	setsockopt(fd, SOL_NETLINK, NETLINK_DROP_MEMBERSHIP, &all, sizeof(all));
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_NEW);
	nl_add_u32(&m, KGNI_A_DEV, 5);
	is_u64(nl_ask(fd, &m, family, NULL), want);
	nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_DEL);
	nl_add_u32(&m, KGNI_A_DEV, 5);
	is_u64(nl_ask(fd, &m, family, NULL), want);
}

/* Attributes at random, most of them nearly right; the kernel says yes or no. */
static void random_message(struct message *m, uint16_t family, uint32_t *state)
{
	static const uint16_t flags[] = { NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP | NLM_F_ACK };
	static const uint16_t known[] = {
		KGNI_A_DEV, KGNI_A_FORCE, KGNI_A_PTAG, KGNI_A_PID, KGNI_A_DEV, KGNI_A_COOKIE,
		KGNI_A_JOB_ID, KGNI_A_FLAGS, KGNI_A_BW, KGNI_A_ENTRIES, KGNI_A_GRANULARITY,
		KGNI_A_RES, KGNI_A_CE, KGNI_A_SUSPENDED,
	};
	unsigned int n = rnd(state) % 4, i;
	unsigned char junk[64];

	nl_begin(m, family, flags[rnd(state) % ARRAY_SIZE(flags)], rnd(state) % (KGNI_CMD_MAX + 2));
	while (n--) {
		uint16_t type = rnd(state) % 8 ? known[rnd(state) % ARRAY_SIZE(known)] :
						 rnd(state) % (KGNI_A_MAX + 3);
		uint32_t value = rnd(state) % 8 ? rnd(state) % 66 : rnd(state);

		for (i = 0; i < sizeof(junk); i++)
			junk[i] = rnd(state);
		if (type == KGNI_A_FORCE && rnd(state) % 4)
			nl_add(m, type, NULL, 0);
		else if (rnd(state) % 4)
			nl_add_u32(m, rnd(state) % 16 ? type : type | NLA_F_NESTED, value);
		else
			nl_add(m, type, junk, rnd(state) % sizeof(junk));
	}
	/* Some have a few bytes changed behind the head, or are cut. */
	if (rnd(state) % 4 == 0 && m->len > NLMSG_LENGTH(GENL_HDRLEN))
		for (i = 0; i < 3; i++)
			m->bytes[NLMSG_LENGTH(0) + rnd(state) % (m->len - NLMSG_LENGTH(0))] =
				rnd(state);
	if (rnd(state) % 8 == 0)
		m->len = NLMSG_LENGTH(0) + rnd(state) % (m->len - NLMSG_LENGTH(0) + 1);
}

static void test_random(void)
{
	unsigned int i, good = 0, rounds = ROUNDS / time_scale();
	uint32_t state = 20261;
	int fd = nl_socket();
	uint16_t family = nl_resolve(fd, NULL, NULL);
	struct message m;

	for (i = 0; i < rounds; i++) {
		random_message(&m, family, &state);
		must(nl_send(fd, &m));
		/* Of a dump that is not begun, and of an answer, comes one end each. */
		if (nl_answer(fd, family, NULL, NULL) == 0)
			good++;
	}
	/* About one of twenty is. */
	ok(good > rounds / 100 && good < rounds, "%u of %u were in order", good, rounds);
	nl_begin(&m, family, NLM_F_DUMP, KGNI_CMD_DEV_GET);
	is_u64(nl_ask(fd, &m, family, NULL), 0);
}

/* What the random messages have made and deleted is put in order again. */
static void restore(int fd, uint16_t family)
{
	struct message m;
	uint32_t id;

	for (id = 0; id < KGNI_MAX_DEVICES; id++) {
		nl_begin(&m, family, NLM_F_ACK, id < 2 ? KGNI_CMD_DEV_NEW : KGNI_CMD_DEV_DEL);
		nl_add_u32(&m, KGNI_A_DEV, id);
		nl_ask(fd, &m, family, NULL);
		if (id > 1)
			continue;
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_DEV_RESUME);
		nl_add_u32(&m, KGNI_A_DEV, id);
		nl_ask(fd, &m, family, NULL);
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_BI_SET);
		nl_add_u32(&m, KGNI_A_DEV, id);
		nl_add_u32(&m, KGNI_A_FLAGS, GNI_BI_FLAG_USE_DEFAULT_SETTINGS);
		nl_ask(fd, &m, family, NULL);
		nl_begin(&m, family, NLM_F_ACK, KGNI_CMD_NTT_UNSET);
		nl_add_u32(&m, KGNI_A_DEV, id);
		nl_ask(fd, &m, family, NULL);
	}
}

static void test_random_and_restore(void)
{
	int fd = nl_socket();

	test_random();
	if (is_root)
		restore(fd, nl_resolve(fd, NULL, NULL));
}

/* A dump that is begun and never read, and a socket that goes meanwhile. */
static void test_unread(void)
{
	unsigned int i;

	for (i = 0; i < 200; i++) {
		int fd = nl_socket();
		uint16_t family = nl_resolve(fd, NULL, NULL);
		struct message m;

		nl_begin(&m, family, NLM_F_DUMP, dumps[i % ARRAY_SIZE(dumps)]);
		must(nl_send(fd, &m));
		close(fd);
	}
}

static const struct test tests[] = {
	CASE("dumps of all kinds", test_dumps),
	CASE("what is not in order is refused", test_refused),
	CASE("attributes of a wrong size or kind", test_malformed),
	CASE("limits that are none", test_limits),
	CASE("entries that are none", test_entries),
	CASE("messages that are cut short", test_truncated),
	CASE("rights", test_rights),
	CASE("dumps that nobody reads", test_unread),
	CASE("random messages", test_random_and_restore, .seconds = 100),
};

int main(int argc, char **argv)
{
	is_root = argc < 2 || strcmp(argv[1], "user");
	return RUN_TESTS(tests);
}
