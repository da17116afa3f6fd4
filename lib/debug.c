// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * UGNI_DEBUG: a line on stderr for each call that returns an error, with what
 * was wrong.
 *
 * Who finds something wrong notes it in words, which cost nothing unless
 * somebody wants to read them; who found less about the same error, later on
 * the way out, adds to that or leaves it. The GNI_* function at the end prints
 * it. Notes are the thread's own, a line is one write(): safe among threads and
 * in handlers of signals.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ugni.h"

/* Level: 0 nothing, 1 errors, 2 also what is merely not there yet. */
int ugni_debug;

/* The last note of this thread; its text is empty when there is none. */
static __thread struct {
	gni_return_t rc;
	char text[256];
} note __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) void ugni_debug_init(void)
{
	const char *level = secure_getenv("UGNI_DEBUG");

	ugni_debug = level ? atoi(level) : 0;
}

/**
 * ugni_debug_note - remember what is wrong
 * @rc: the return code that it leads to
 * @fmt: which parameter or object, its value, and what it should be
 *
 * Context: any; keeps errno. By way of ugni_bad().
 * Return: @rc.
 */
gni_return_t ugni_debug_note(gni_return_t rc, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	vsnprintf(note.text, sizeof(note.text), fmt, args);
	va_end(args);
	note.rc = rc;
	errno = saved;
	return rc;
}

/**
 * ugni_debug_add - add to what was noted
 * @rc: the return code; anything noted for another one is forgotten
 * @fmt: what else is known
 *
 * Context: any; keeps errno. By way of ugni_more().
 * Return: @rc.
 */
gni_return_t ugni_debug_add(gni_return_t rc, const char *fmt, ...)
{
	size_t n = note.rc == rc ? strlen(note.text) : 0;
	int saved = errno;
	va_list args;

	if (n)
		n += (size_t)snprintf(note.text + n, sizeof(note.text) - n, "; ");
	va_start(args, fmt);
	if (n < sizeof(note.text))
		vsnprintf(note.text + n, sizeof(note.text) - n, fmt, args);
	va_end(args);
	note.rc = rc;
	errno = saved;
	return rc;
}

static bool not_yet(gni_return_t rc)
{
	return rc == GNI_RC_NOT_DONE || rc == GNI_RC_TIMEOUT;
}

/**
 * ugni_debug_print - a call returns an error
 * @call: its name
 * @rc: what it returns
 * @quiet: it is no error, merely nothing there yet
 *
 * Context: any; keeps errno. By way of ugni_end() and ugni_end_quiet().
 */
void ugni_debug_print(const char *call, gni_return_t rc, bool quiet)
{
	const char *why = note.text[0] && note.rc == rc ? note.text : "(no more is known)";
	int n, saved = errno;
	char line[384];

	if (ugni_debug > 1 || !(quiet || not_yet(rc))) {
		n = snprintf(line, sizeof(line), "%s: %s: %s\n", call, gni_err_str[rc], why);
		ugni_sys_print(line, (size_t)n);
	}
	note.text[0] = '\0';
	errno = saved;
}
