// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server: one connection waits for a client by a wildcard datagram; once a
 * client has come a thread takes it over and the next connection waits.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "common.h"

#define ACCEPT_TICK_MS	500

struct session {
	struct server *server;
	struct conn conn;
	uint64_t id;
};

static void session_free(struct session *s)
{
	conn_destroy(&s->conn);
	free(s);
}

static void *session_main(void *arg)
{
	struct session *s = arg;
	struct server *server = s->server;
	struct conn *c = &s->conn;
	int status = conn_accept(c, s->id);

	if (!status)
		status = server->serve(c, server->ctx);
	if (status) {
		conn_abort(c);
		fprintf(stderr, "%s: client PE %u, instance 0x%x: %s\n",
			program_invocation_short_name, c->peer_pe, c->peer_inst, c->fault.text);
	}
	session_free(s);
	pthread_mutex_lock(&server->lock);
	server->active--;
	server->status = status;
	pthread_cond_broadcast(&server->changed);
	pthread_mutex_unlock(&server->lock);
	return NULL;
}

/* The signals that end the program are for the main thread. */
static int session_start(struct session *s)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, session_main, s);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Waits a second for fewer than @limit clients. Return: how many there are. */
static uint32_t wait_active(struct server *server, uint32_t limit)
{
	struct timespec until;
	uint32_t active;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&server->lock);
	if (server->active >= limit)
		pthread_cond_timedwait(&server->changed, &server->lock, &until);
	active = server->active;
	pthread_mutex_unlock(&server->lock);
	return active;
}

/* A connection that waits for a client, or NULL with @f set. */
static struct session *session_new(struct server *server, struct fault *f)
{
	static uint64_t last_id;
	struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		fault_set(f, ST_FAILED, "out of memory");
		return NULL;
	}
	s->server = server;
	s->id = ++last_id;
	if (!conn_init(&s->conn, server->nic, server->conn) && !conn_listen(&s->conn, s->id))
		return s;
	*f = s->conn.fault;
	session_free(s);
	return NULL;
}

/* Waits a moment for a client to come to @s. Return: whether one did. */
static bool client_came(struct server *server, struct session *s, struct fault *f)
{
	uint64_t id;
	gni_return_t rc;

	rc = GNI_PostdataProbeWaitById(server->nic->hndl, ACCEPT_TICK_MS, &id);
	if (rc && rc != GNI_RC_TIMEOUT && !interrupted)
		fault_set(f, ST_DEVICE, "cannot wait for clients: %s", rc_name(rc));
	return !rc && id == s->id;
}

/* Gives @s to a thread, or serves it right here if there can be none. */
static void hand_over(struct server *server, struct session *s)
{
	pthread_mutex_lock(&server->lock);
	server->active++;
	pthread_mutex_unlock(&server->lock);
	if (session_start(s))
		session_main(s);
}

static void accept_clients(struct server *server, struct fault *f)
{
	struct session *waiting = NULL;
	bool came = false;

	while (!interrupted && !f->status && !(came && server->once)) {
		uint32_t active = wait_active(server, server->clients);

		if (active >= server->clients)
			continue;
		if (!waiting)
			waiting = session_new(server, f);
		if (!waiting && active) {
			/* Out of something that a client will give back. */
			f->status = ST_OK;
			wait_active(server, active);
			continue;
		}
		came = waiting && client_came(server, waiting, f);
		if (came) {
			hand_over(server, waiting);
			waiting = NULL;
		}
	}
	if (waiting)
		session_free(waiting);
}

/**
 * server_run - serve clients until a signal comes, or one if @server->once
 * @server: what, where and how
 *
 * Return: exit status: what went wrong with the server itself, or with its
 * only client.
 */
int server_run(struct server *server)
{
	struct fault f = { 0 };

	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->changed, NULL);
	accept_clients(server, &f);
	while (wait_active(server, 1))
		;
	return fault_report(&f) || !server->once ? f.status : server->status;
}
