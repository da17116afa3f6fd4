/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of the netlink family, made and read without a library. */
#ifndef KGNI_VM_COMMON_NETLINK_H
#define KGNI_VM_COMMON_NETLINK_H

#include <sys/socket.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <gni/netlink.h>

#include "common.h"

#define MESSAGE_MAX	4096

/* A message that is being made. */
struct message {
	size_t len;
	union {
		struct nlmsghdr nlh;
		unsigned char bytes[MESSAGE_MAX];
	};
};

int nl_socket(void);
/* The number of the family, and in @id that of a multicast group of it. */
uint16_t nl_resolve(int fd, const char *group, uint32_t *id);
void nl_begin(struct message *m, uint16_t family, uint16_t flags, uint8_t cmd);
void nl_add(struct message *m, uint16_t type, const void *data, size_t len);
void nl_add_u32(struct message *m, uint16_t type, uint32_t value);
bool nl_send(int fd, struct message *m);
/*
 * Read answers until the last one. Return: 0 or an errno; how many messages of the
 * family came in @count, and the first of them in @first, if these are wanted.
 */
int nl_answer(int fd, uint16_t family, unsigned int *count, struct message *first);
int nl_ask(int fd, struct message *m, uint16_t family, unsigned int *count);
/* An attribute of a message that the kernel made, or NULL. */
const struct nlattr *nl_find(const struct message *m, uint16_t type);

#endif /* KGNI_VM_COMMON_NETLINK_H */
