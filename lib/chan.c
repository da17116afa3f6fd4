// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Completion channels: a file descriptor that tells a program's event loop of
 * queues. Driver: kernel/cq.c, which adds to the eventfd; kernel/core/ring.h
 * for how an event and arming meet.
 *
 * A queue is armed (@armed), then something adds to the eventfd for it and
 * clears the ring's word, then GNI_CompChanGetEvent() takes one from the count
 * and hands out a queue of that kind. The count may be higher than there are
 * such queues, when one was destroyed meanwhile; that is found out there.
 */
#include "ugni.h"

UGNI_PUBLIC gni_return_t GNI_CompChanCreate(gni_nic_handle_t nic_hndl,
					    gni_comp_chan_handle_t *chan_hndl)
{
	struct gni_nic *nic = ugni_nic(nic_hndl);
	struct gni_comp_chan *chan;
	int fd;

	if (!nic)
		return ugni_end(ugni_no("NIC handle", nic_hndl));
	if (!chan_hndl)
		return ugni_end(ugni_null(chan_hndl));
	chan = ugni_alloc(&ugni_chans);
	if (!chan)
		return ugni_end(ugni_nomem("completion channel"));
	fd = ugni_sys_eventfd();
	if (fd < 0) {
		ugni_free(&ugni_chans, chan);
		return ugni_end(ugni_more(ugni_rc(fd), "no eventfd"));
	}
	chan->nic = nic;
	chan->fd = fd;
	ugni_publish(&ugni_chans, chan);
	*chan_hndl = chan;
	return GNI_RC_SUCCESS;
}

/* Called with the channel locked; unlocks it. */
static void chan_destroy(struct gni_comp_chan *chan)
{
	ugni_retire(&ugni_chans, chan);
	if (!ugni_away(chan->nic))
		ugni_sys_close(chan->fd);
	ugni_unlock(chan);
	ugni_free(&ugni_chans, chan);
}

UGNI_PUBLIC gni_return_t GNI_CompChanDestroy(gni_comp_chan_handle_t chan_hndl)
{
	struct gni_comp_chan *chan = ugni_lock(&ugni_chans, chan_hndl);

	if (!chan)
		return ugni_end(ugni_no("completion channel", chan_hndl));
	if (chan->cqs) {
		ugni_unlock(chan);
		return ugni_end(ugni_bad(GNI_RC_ERROR_RESOURCE, "queues are attached to it"));
	}
	chan_destroy(chan);
	return GNI_RC_SUCCESS;
}

/* The NIC handle goes, and its channels with it; the queues have gone. */
void ugni_chan_destroy_all(const struct gni_nic *nic)
{
	struct gni_comp_chan *chan;
	u32 i = 0;

	while ((chan = ugni_next(&ugni_chans, &i))) {
		if (core_load(&chan->nic) != nic || !ugni_lock(&ugni_chans, chan))
			continue;
		if (chan->nic == nic)
			chan_destroy(chan);
		else
			ugni_unlock(chan);
	}
}

UGNI_PUBLIC gni_return_t GNI_CompChanFd(gni_comp_chan_handle_t chan_hndl, int *fd)
{
	struct gni_comp_chan *chan = ugni_lookup(&ugni_chans, chan_hndl);

	if (!chan)
		return ugni_end(ugni_no("completion channel", chan_hndl));
	if (!fd)
		return ugni_end(ugni_null(fd));
	*fd = chan->fd;
	return GNI_RC_SUCCESS;
}

/* Called with both locked. */
static gni_return_t cq_attach(struct gni_cq *cq, struct gni_comp_chan *chan)
{
	struct kgni_ioc_cq_notify arg = { .id = cq->id, .fd = chan->fd };
	gni_return_t rc;

	if (chan->nic != cq->nic)
		return ugni_bad(GNI_RC_INVALID_PARAM, "queue and channel are of different NICs");
	if (!(cq->mode & GNI_CQ_BLOCKING) || !ugni_cq_tells(cq))
		return ugni_bad(GNI_RC_INVALID_PARAM, "the queue is not a blocking one");
	rc = ugni_nic_call(cq->nic, KGNI_IOC_CQ_NOTIFY, &arg);
	if (rc != GNI_RC_SUCCESS)
		return rc;
	chan->cqs++;
	core_store(&cq->chan, chan);
	return rc;
}

/* Called with the queue locked. */
static gni_return_t cq_attach_to(struct gni_cq *cq, gni_comp_chan_handle_t chan_hndl)
{
	struct gni_comp_chan *chan;
	gni_return_t rc;

	if (cq->chan)
		return ugni_bad(GNI_RC_INVALID_STATE, "the queue is attached to a channel");
	chan = ugni_lock(&ugni_chans, chan_hndl);
	if (!chan)
		return ugni_no("completion channel", chan_hndl);
	rc = cq_attach(cq, chan);
	ugni_unlock(chan);
	return rc;
}

UGNI_PUBLIC gni_return_t GNI_CqAttachCompChan(gni_cq_handle_t cq_hndl,
					      gni_comp_chan_handle_t chan_hndl)
{
	struct gni_cq *cq = ugni_lock(&ugni_cqs, cq_hndl);
	gni_return_t rc;

	if (!cq)
		return ugni_end(ugni_no("queue", cq_hndl));
	rc = cq_attach_to(cq, chan_hndl);
	ugni_unlock(cq);
	return ugni_end(rc);
}

/* The queue goes. Called with it locked. */
void ugni_chan_leave(struct gni_cq *cq)
{
	struct gni_comp_chan *chan = cq->chan;

	if (!chan)
		return;
	ugni_mutex_lock(&chan->slot.lock);
	chan->cqs--;
	ugni_mutex_unlock(&chan->slot.lock);
}

/* Told of, and not handed out yet? */
static bool cq_fired(const struct gni_cq *cq)
{
	return core_load_acquire(&cq->armed) && !core_load(&cq->ring.ring->notify);
}

UGNI_PUBLIC gni_return_t GNI_CompChanGetEvent(gni_comp_chan_handle_t chan_hndl,
					      gni_cq_handle_t *cq_hndl)
{
	struct gni_comp_chan *chan = ugni_lookup(&ugni_chans, chan_hndl);
	struct gni_cq *cq;
	u32 i;

	if (!chan)
		return ugni_end(ugni_no("completion channel", chan_hndl));
	if (!cq_hndl)
		return ugni_end(ugni_null(cq_hndl));
	if (ugni_away(chan->nic))
		return ugni_end(ugni_bad(GNI_RC_NOT_DONE, UGNI_AWAY));
	while (ugni_sys_eventfd_take(chan->fd)) {
		for (i = 0; (cq = ugni_next(&ugni_cqs, &i)); ) {
			if (core_load(&cq->chan) != chan || !cq_fired(cq) ||
			    !core_xchg(&cq->armed, false))
				continue;
			*cq_hndl = cq;
			return GNI_RC_SUCCESS;
		}
	}
	return ugni_end(ugni_bad(GNI_RC_NOT_DONE, "no queue that was armed has an event"));
}

static void cq_arm(struct gni_cq *cq, const struct gni_comp_chan *chan)
{
	if (cq_fired(cq))
		return;
	core_store_release(&cq->armed, true);
	kgni_ring_notify_arm(&cq->ring);
	if (ugni_cq_ready(cq) && kgni_ring_notify_disarm(&cq->ring))
		ugni_sys_eventfd_add(chan->fd);
}

UGNI_PUBLIC gni_return_t GNI_CqArmCompChan(gni_cq_handle_t *cq_hndls, uint32_t num_cqs)
{
	struct gni_cq *cq;
	u32 i;

	if (!cq_hndls)
		return ugni_end(ugni_null(cq_hndls));
	if (!num_cqs)
		return ugni_end(ugni_bad(GNI_RC_INVALID_PARAM, "num_cqs is 0"));
	for (i = 0; i < num_cqs; i++) {
		cq = ugni_cq(cq_hndls[i]);
		if (!cq)
			return ugni_end(ugni_no("queue", cq_hndls[i]));
		if (!core_load(&cq->chan) || ugni_away(cq->nic))
			return ugni_end(ugni_bad(GNI_RC_INVALID_STATE,
						 "cq_hndls[%u] %p is attached to no channel", i,
						 (void *)cq_hndls[i]));
	}
	for (i = 0; i < num_cqs; i++) {
		cq = ugni_lock(&ugni_cqs, cq_hndls[i]);
		if (!cq)
			continue;	/* it was destroyed meanwhile */
		if (cq->chan)
			cq_arm(cq, cq->chan);
		ugni_unlock(cq);
	}
	return GNI_RC_SUCCESS;
}
