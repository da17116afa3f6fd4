// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic over IP whose every byte is looked at.
 *
 *	netecho serve ADDRESS PORT		send back what comes, by TCP and UDP
 *	netecho rr ADDRESS PORT SIZE COUNT	requests by TCP, one at a time
 *	netecho bulk ADDRESS PORT BYTES		a stream by TCP, both ways at once
 *	netecho udp ADDRESS PORT SIZE COUNT	datagrams; all but one may be lost
 *
 * Fails where something comes back that is not what was sent. The last line says
 * how many bytes or datagrams came back, and for rr microseconds for each.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	65536

/* Byte @i of the stream. */
static uint8_t byte_at(uint64_t i)
{
	uint64_t x = (i >> 3) * 0x9e3779b97f4a7c15ULL;

	x ^= x >> 29;
	return x >> (8 * (i & 7));
}

static void fill(uint8_t *buf, size_t n, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = byte_at(at + i);
}

static void check(const uint8_t *buf, size_t n, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (buf[i] != byte_at(at + i))
			errx(1, "byte %llu is %02x, not %02x", (unsigned long long)(at + i),
			     buf[i], byte_at(at + i));
}

static int open_socket(const char *address, const char *port, int type, bool serve)
{
	struct addrinfo hints = {
		.ai_socktype = type,
		.ai_flags = AI_NUMERICHOST | (serve ? AI_PASSIVE : 0),
	};
	struct addrinfo *ai;
	int fd, on = 1;

	if (getaddrinfo(address, port, &hints, &ai))
		errx(1, "no address %s, port %s", address, port);
	fd = socket(ai->ai_family, type, 0);
	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (serve ? bind(fd, ai->ai_addr, ai->ai_addrlen) :
		    connect(fd, ai->ai_addr, ai->ai_addrlen))
		err(1, "%s, port %s", address, port);
	freeaddrinfo(ai);
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static bool write_all(int fd, const uint8_t *buf, size_t n)
{
	ssize_t done;

	for (; n; buf += done, n -= done) {
		done = write(fd, buf, n);
		if (done <= 0)
			return false;
	}
	return true;
}

/* --- server ---------------------------------------------------------------- */

static void *serve_stream(void *arg)
{
	int fd = (intptr_t)arg;
	uint8_t *buf = malloc(CHUNK);
	ssize_t n;

	while (buf && (n = read(fd, buf, CHUNK)) > 0)
		if (!write_all(fd, buf, n))
			break;
	free(buf);
	close(fd);
	return NULL;
}

static void serve_datagram(int fd)
{
	static uint8_t buf[CHUNK];
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);

	if (n >= 0)
		sendto(fd, buf, n, 0, (struct sockaddr *)&from, len);
}

static int serve(const char *address, const char *port)
{
	struct pollfd fds[2] = {
		{ .fd = open_socket(address, port, SOCK_STREAM, true), .events = POLLIN },
		{ .fd = open_socket(address, port, SOCK_DGRAM, true), .events = POLLIN },
	};
	pthread_t thread;
	int fd;

	if (listen(fds[0].fd, 64))
		err(1, "listen");
	while (poll(fds, 2, -1) > 0) {
		if (fds[1].revents)
			serve_datagram(fds[1].fd);
		if (!fds[0].revents)
			continue;
		fd = accept(fds[0].fd, NULL, NULL);
		if (fd < 0 || pthread_create(&thread, NULL, serve_stream, (void *)(intptr_t)fd))
			err(1, "accept");
		pthread_detach(thread);
	}
	return 1;
}

/* --- clients --------------------------------------------------------------- */

static void read_checked(int fd, uint8_t *buf, uint64_t n, uint64_t at)
{
	ssize_t done;

	for (; n; n -= done, at += done) {
		done = read(fd, buf, n < CHUNK ? n : CHUNK);
		if (done < 0)
			err(1, "read");
		if (!done)
			errx(1, "the connection ended");
		check(buf, done, at);
	}
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int rr(int fd, size_t size, uint64_t count)
{
	uint8_t *buf = malloc(size < CHUNK ? CHUNK : size);
	double start = now_us();
	uint64_t i;

	if (!buf)
		err(1, "malloc");
	for (i = 0; i < count; i++) {
		fill(buf, size, i * size);
		if (!write_all(fd, buf, size))
			err(1, "write");
		read_checked(fd, buf, size, i * size);
	}
	printf("%llu us %.1f\n", (unsigned long long)count, (now_us() - start) / count);
	free(buf);
	return 0;
}

struct bulk {
	int fd;
	uint64_t bytes;
};

static void *bulk_send(void *arg)
{
	static uint8_t buf[CHUNK];
	struct bulk *b = arg;
	uint64_t at;
	size_t n;

	for (at = 0; at < b->bytes; at += n) {
		n = b->bytes - at < CHUNK ? b->bytes - at : CHUNK;
		fill(buf, n, at);
		if (!write_all(b->fd, buf, n))
			err(1, "write");
	}
	return NULL;
}

static int bulk(int fd, uint64_t bytes)
{
	struct bulk b = { .fd = fd, .bytes = bytes };
	static uint8_t buf[CHUNK];
	pthread_t thread;

	if (pthread_create(&thread, NULL, bulk_send, &b))
		err(1, "thread");
	read_checked(fd, buf, bytes, 0);
	pthread_join(thread, NULL);
	printf("%llu\n", (unsigned long long)bytes);
	return 0;
}

/* A datagram begins with its number. Return: whether one came, and was as it was sent. */
static bool take_datagram(int fd, size_t size, uint64_t count)
{
	static uint8_t buf[CHUNK];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t number;
	ssize_t n;

	if (poll(&p, 1, 200) <= 0)
		return false;
	n = recv(fd, buf, sizeof(buf), 0);
	/* Told by ICMP that nobody is there, or not yet. */
	if (n < 0)
		return false;
	memcpy(&number, buf, sizeof(number));
	if ((size_t)n != size || number >= count)
		errx(1, "a datagram of %zd bytes with number %llx", n, (unsigned long long)number);
	check(buf + sizeof(number), size - sizeof(number), number * size);
	return true;
}

static int udp(int fd, size_t size, uint64_t count)
{
	static uint8_t buf[CHUNK];
	uint64_t i, got = 0;

	if (size < sizeof(i) || size > CHUNK)
		errx(1, "size");
	for (i = 0; i < count; i++) {
		memcpy(buf, &i, sizeof(i));
		fill(buf + sizeof(i), size - sizeof(i), i * size);
		if (send(fd, buf, size, 0) == (ssize_t)size)
			got += take_datagram(fd, size, count);
	}
	printf("%llu\n", (unsigned long long)got);
	return !got;
}

int main(int argc, char **argv)
{
	uint64_t n[2] = { 0 };
	const char *what = argc > 1 ? argv[1] : "";
	int i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 4; i < argc && i < 6; i++)
		n[i - 4] = strtoull(argv[i], NULL, 0);
	if (argc == 4 && !strcmp(what, "serve"))
		return serve(argv[2], argv[3]);
	if (argc == 6 && !strcmp(what, "rr"))
		return rr(open_socket(argv[2], argv[3], SOCK_STREAM, false), n[0], n[1]);
	if (argc == 5 && !strcmp(what, "bulk"))
		return bulk(open_socket(argv[2], argv[3], SOCK_STREAM, false), n[0]);
	if (argc == 6 && !strcmp(what, "udp"))
		return udp(open_socket(argv[2], argv[3], SOCK_DGRAM, false), n[0], n[1]);
	errx(2, "usage: netecho serve|rr|bulk|udp ADDRESS PORT [SIZE [COUNT]]");
}
