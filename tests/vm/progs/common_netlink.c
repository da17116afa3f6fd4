// SPDX-License-Identifier: GPL-2.0-only
/* See common_netlink.h. */
#include "common_netlink.h"

int nl_socket(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct timeval patience = { .tv_sec = PATIENCE / 1000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	must(fd >= 0);
	must(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	must(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	return fd;
}

void nl_begin(struct message *m, uint16_t family, uint16_t flags, uint8_t cmd)
{
	struct genlmsghdr *g;

	memset(m, 0, sizeof(*m));
	m->nlh.nlmsg_type = family;
	m->nlh.nlmsg_flags = NLM_F_REQUEST | flags;
	m->nlh.nlmsg_seq = 1;
	g = NLMSG_DATA(&m->nlh);
	g->cmd = cmd;
	g->version = 1;
	m->len = NLMSG_LENGTH(GENL_HDRLEN);
}

void nl_add(struct message *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = (struct nlattr *)(m->bytes + m->len);

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy(a + 1, data, len);
	m->len += NLA_ALIGN(a->nla_len);
}

void nl_add_u32(struct message *m, uint16_t type, uint32_t value)
{
	nl_add(m, type, &value, sizeof(value));
}

bool nl_send(int fd, struct message *m)
{
	m->nlh.nlmsg_len = m->len;
	return send(fd, m->bytes, m->len, 0) == (ssize_t)m->len;
}

int nl_answer(int fd, uint16_t family, unsigned int *count, struct message *first)
{
	static unsigned char buf[65536] __attribute__((aligned(8)));
	unsigned int n = 0;

	for (;;) {
		ssize_t got = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *h = (struct nlmsghdr *)buf;

		must(got > 0, "no answer");
		for (; NLMSG_OK(h, got); h = NLMSG_NEXT(h, got)) {
			if (h->nlmsg_type == NLMSG_ERROR)
				return -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			if (h->nlmsg_type == NLMSG_DONE)
				return -*(int *)NLMSG_DATA(h);
			if (h->nlmsg_type == family && !n++ && first) {
				first->len = h->nlmsg_len;
				memcpy(first->bytes, h, h->nlmsg_len);
			}
			if (count)
				*count = n;
		}
	}
}

int nl_ask(int fd, struct message *m, uint16_t family, unsigned int *count)
{
	must(nl_send(fd, m));
	return nl_answer(fd, family, count, NULL);
}

const struct nlattr *nl_find(const struct message *m, uint16_t type)
{
	size_t at = NLMSG_LENGTH(GENL_HDRLEN);

	while (at + NLA_HDRLEN <= m->len) {
		const struct nlattr *a = (const struct nlattr *)(m->bytes + at);

		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

uint16_t nl_resolve(int fd, const char *group, uint32_t *id)
{
	struct message m, got = { 0 };
	const struct nlattr *a, *g, *x;

	nl_begin(&m, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	nl_add(&m, CTRL_ATTR_FAMILY_NAME, KGNI_GENL_NAME, sizeof(KGNI_GENL_NAME));
	must(nl_send(fd, &m));
	must(nl_answer(fd, GENL_ID_CTRL, NULL, &got) == 0);
	a = nl_find(&got, CTRL_ATTR_FAMILY_ID);
	must(a);
	if (group) {
		const char *end;

		g = nl_find(&got, CTRL_ATTR_MCAST_GROUPS);
		must(g);
		end = (const char *)g + g->nla_len;
		for (x = g + 1; (const char *)x < end;
		     x = (const void *)((const char *)x + NLA_ALIGN(x->nla_len))) {
			const struct nlattr *one = x + 1;
			const struct nlattr *two =
				(const void *)((const char *)one + NLA_ALIGN(one->nla_len));

			if (!strcmp((const char *)(one + 1), group))
				*id = *(const uint32_t *)(two + 1);
			if (!strcmp((const char *)(two + 1), group))
				*id = *(const uint32_t *)(one + 1);
		}
	}
	return *(const uint16_t *)(a + 1);
}
