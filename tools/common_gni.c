// SPDX-License-Identifier: GPL-2.0-only
/* A NIC, regions of memory, and posts that are waited for. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"

/* How long post_and_wait() waits, ms. */
#define POST_TIMEOUT_MS	5000

/*
 * Jobs belong to users, so each user gets a cookie of their own unless they
 * choose one: "ng" and the low bits of the user id.
 */
uint32_t default_cookie(void)
{
	return 0x6e670000U | (getuid() & 0xffff);
}

void nic_opts_init(struct nic_opts *o)
{
	*o = (struct nic_opts){ .cookie = default_cookie(), .ptag = GNI_FIND_ALLOC_PTAG };
}

/**
 * nic_option - take an option that says which NIC and job
 * @o: where it goes
 * @opt: 'd' for the device, 'c' for the cookie, 't' for the ptag
 * @arg: its argument
 *
 * Return: false if the argument makes no sense.
 */
bool nic_option(struct nic_opts *o, int opt, const char *arg)
{
	switch (opt) {
	case 'd':
		return parse_u32(arg, &o->device);
	case 'c':
		return parse_u32(arg, &o->cookie);
	case 't':
		return parse_u32(arg, &o->ptag) && o->ptag && o->ptag <= GNI_FIND_ALLOC_PTAG;
	}
	return false;
}

static int no_device(const struct nic_opts *o, struct fault *f)
{
	int count = 0;

	if (GNI_GetNumLocalDevices(&count) || count < 1)
		return fault_set(f, ST_DEVICE,
				 "this machine has no GNI device: load the driver (modprobe kgni)");
	return fault_set(f, ST_DEVICE, "there is no /dev/kgni%u, only %d device%s from 0 on",
			 o->device, count, count == 1 ? "" : "s");
}

static int no_permission(const struct nic_opts *o, struct fault *f)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/kgni%u", o->device);
	if (access(path, R_OK | W_OK) && errno == EACCES)
		return fault_set(f, ST_DEVICE, "no permission to open %s: see who may (ls -l %s)",
				 path, path);
	return fault_set(f, ST_DEVICE,
			 "refused: ptag %u is not yours to use with cookie 0x%x: it is the kernel's, or of a job with another cookie or of another user",
			 o->ptag, o->cookie);
}

static int attach_fault(const struct nic_opts *o, gni_return_t rc, struct fault *f)
{
	switch (rc) {
	case GNI_RC_NO_MATCH:
		return no_device(o, f);
	case GNI_RC_PERMISSION_ERROR:
		return no_permission(o, f);
	case GNI_RC_ERROR_RESOURCE:
		return fault_set(f, ST_DEVICE, "device %u has no room for another program",
				 o->device);
	default:
		return fault_set(f, ST_DEVICE, "cannot attach to device %u: %s", o->device,
				 rc_name(rc));
	}
}

/**
 * nic_open - attach to a NIC
 * @nic: out
 * @o: which one, and as whom
 * @inst: instance id
 * @f: what went wrong
 *
 * Return: ST_OK or the fault's status.
 */
int nic_open(struct nic *nic, const struct nic_opts *o, uint32_t inst, struct fault *f)
{
	gni_return_t rc;

	*nic = (struct nic){ .device = o->device, .inst = inst, .ptag = (uint8_t)o->ptag };
	rc = GNI_CdmCreate(inst, nic->ptag, o->cookie,
			   GNI_CDM_MODE_ERR_NO_KILL | GNI_CDM_MODE_FMA_SHARED, &nic->cdm);
	if (rc)
		return fault_set(f, ST_DEVICE, "cannot create a communication domain: %s",
				 rc_name(rc));
	rc = GNI_CdmAttach(nic->cdm, o->device, &nic->pe, &nic->hndl);
	if (rc) {
		GNI_CdmDestroy(nic->cdm);
		nic->cdm = NULL;
		return attach_fault(o, rc, f);
	}
	if (nic->ptag == GNI_FIND_ALLOC_PTAG)
		GNI_GetPtag(o->device, o->cookie, &nic->ptag);
	return ST_OK;
}

void nic_close(struct nic *nic)
{
	if (nic->cdm)
		GNI_CdmDestroy(nic->cdm);
	nic->cdm = NULL;
}

/**
 * region_make - allocate memory and register it
 * @r: out
 * @nic: where
 * @length: bytes
 * @dst_cq: queue for remote events, or NULL
 * @f: what went wrong
 *
 * Return: ST_OK or the fault's status.
 */
int region_make(struct region *r, struct nic *nic, size_t length, gni_cq_handle_t dst_cq,
		struct fault *f)
{
	gni_return_t rc;

	*r = (struct region){ .nic = nic, .length = length };
	r->addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->addr == MAP_FAILED) {
		r->addr = NULL;
		return fault_set(f, ST_FAILED, "out of memory (%s)", fmt_size(length));
	}
	rc = GNI_MemRegister(nic->hndl, (uintptr_t)r->addr, length, dst_cq, GNI_MEM_READWRITE,
			     (uint32_t)-1, &r->mdh);
	if (!rc)
		return ST_OK;
	munmap(r->addr, length);
	r->addr = NULL;
	if (rc == GNI_RC_ERROR_RESOURCE)
		return fault_set(f, ST_DEVICE,
				 "cannot pin %s of memory: raise the limit on locked memory (ulimit -l), or use less",
				 fmt_size(length));
	return fault_set(f, ST_DEVICE, "cannot register %s of memory: %s", fmt_size(length),
			 rc_name(rc));
}

void region_free(struct region *r)
{
	if (!r->addr)
		return;
	GNI_MemDeregister(r->nic->hndl, &r->mdh);
	munmap(r->addr, r->length);
	r->addr = NULL;
}

void event_text(gni_cq_entry_t event, char *buf, size_t size)
{
	if (GNI_CqErrorStr(event, buf, (uint32_t)size))
		snprintf(buf, size, "unknown error");
}

/**
 * post_and_wait - carry out one post to its end
 * @ep: endpoint
 * @cq: its source queue, blocking, without other events to come
 * @d: descriptor with a global event
 * @why: out: what the event says, if it tells of an error; empty otherwise
 * @size: bytes of @why
 *
 * Return: how it ended, GNI_RC_TIMEOUT if it doesn't.
 */
gni_return_t post_and_wait(gni_ep_handle_t ep, gni_cq_handle_t cq, gni_post_descriptor_t *d,
			   char *why, size_t size)
{
	gni_post_descriptor_t *done = NULL;
	gni_cq_entry_t event;
	gni_return_t rc;

	*why = '\0';
	rc = post(ep, d);
	if (rc)
		return rc;
	rc = GNI_CqWaitEvent(cq, POST_TIMEOUT_MS, &event);
	if (rc == GNI_RC_TRANSACTION_ERROR)
		event_text(event, why, size);
	else if (rc)
		return rc;
	rc = GNI_GetCompleted(cq, event, &done);
	return done == d ? rc : GNI_RC_DESCRIPTOR_ERROR;
}

uint32_t nic_stat(const struct nic *nic, gni_statistic_t stat)
{
	uint32_t value = 0;

	GNI_GetNicStat(nic->hndl, stat, &value);
	return value;
}
