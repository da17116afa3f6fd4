/* SPDX-License-Identifier: GPL-2.0-only */
/* What kgni_serve_test.ko and its client program, tests/vm/progs/kclient.c, agree on. */
#ifndef _SERVE_H
#define _SERVE_H

#include <gni_pub.h>

#define SERVE_PTAG	GNI_PTAG_LND
#define SERVE_COOKIE	GNI_JOB_CREATE_COOKIE(GNI_PKEY_LND, 0)
#define SERVE_INST	50
#define SERVE_SIZE	65536
#define SERVE_CREDITS	8
#define SERVE_MAXSIZE	256

/* What each side tells the other by a datagram: a region, and a mailbox in it. */
struct serve_hello {
	uint64_t addr;
	gni_mem_handle_t hndl;
	gni_smsg_attr_t attr;
};

#endif /* _SERVE_H */
