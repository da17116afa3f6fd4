// SPDX-License-Identifier: GPL-2.0-only
/*
 * kgni_serve_test.ko: a kernel client that a program talks to. It has a region
 * that the program reads and writes; it answers each message by the same one,
 * and by writing its number to the program's region.
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "serve.h"

static struct {
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic;
	gni_cq_handle_t tx;
	gni_cq_handle_t rx;
	gni_ep_handle_t ep;
	u8 *mem;
	struct serve_hello mine;
	struct serve_hello yours;
	struct task_struct *task;
	bool ready;
	bool stopping;
} s;

static void serve_put(u64 number)
{
	gni_post_descriptor_t d = {
		.type = GNI_POST_FMA_PUT,
		.cq_mode = GNI_CQMODE_REMOTE_EVENT,
		.local_addr = (uintptr_t)&number,
		.remote_addr = s.yours.addr,
		.remote_mem_hndl = s.yours.hndl,
		.length = sizeof(number),
	};

	if (gni_post_fma(s.ep, &d))
		pr_err("kgni_serve_test: gni_post_fma()\n");
}

/* Message by message, with the answer to each. */
static void serve_work_fn(struct work_struct *work)
{
	gni_cq_entry_t e;
	void *msg;
	u64 number;

	if (READ_ONCE(s.stopping))
		return;
	while (gni_cq_get_event(s.rx, &e) != GNI_RC_NOT_DONE)
		;
	/* pairs with serve_meet() */
	if (!smp_load_acquire(&s.ready))
		return;
	while (gni_smsg_getnext(s.ep, &msg) == GNI_RC_SUCCESS) {
		number = *(u64 *)msg;
		gni_smsg_release(s.ep);
		serve_put(number);
		if (gni_smsg_send(s.ep, &number, sizeof(number), NULL, 0, 0))
			pr_err("kgni_serve_test: gni_smsg_send()\n");
	}
	while (gni_cq_get_event(s.tx, &e) != GNI_RC_NOT_DONE)
		;
}

static DECLARE_WORK(serve_work, serve_work_fn);

static void serve_handler(u32 devid, u64 data)
{
	schedule_work(&serve_work);
}

/* The program's datagram has come: it is our peer. */
static void serve_meet(void)
{
	gni_post_state_t state;
	u32 pe, inst;

	if (gni_ep_postdata_test_by_id(s.ep, 1, &state, &pe, &inst) ||
	    state != GNI_POST_COMPLETED || gni_ep_bind(s.ep, pe, inst) ||
	    gni_smsg_init(s.ep, &s.mine.attr, &s.yours.attr)) {
		pr_err("kgni_serve_test: no peer\n");
		return;
	}
	smp_store_release(&s.ready, true);	/* pairs with serve_work_fn() */
	/* It may have sent already. */
	schedule_work(&serve_work);
}

static int serve_thread(void *unused)
{
	u64 id;

	while (!kthread_should_stop())
		if (gni_postdata_probe_wait_by_id(s.nic, 50, &id) == GNI_RC_SUCCESS)
			serve_meet();
	return 0;
}

static gni_return_t serve_start(void)
{
	unsigned int size;
	u32 pe;

	s.mine.addr = (uintptr_t)s.mem;
	s.mine.attr.msg_type = GNI_SMSG_TYPE_MBOX_AUTO_RETRANSMIT;
	s.mine.attr.msg_buffer = s.mem;
	s.mine.attr.mbox_offset = SERVE_SIZE / 2;
	s.mine.attr.mbox_maxcredit = SERVE_CREDITS;
	s.mine.attr.msg_maxsize = SERVE_MAXSIZE;
	if (gni_smsg_buff_size_needed(&s.mine.attr, &size) ||
	    gni_cdm_create(SERVE_INST, SERVE_PTAG, SERVE_COOKIE, 0, &s.cdm))
		return GNI_RC_ERROR_NOMEM;
	s.mine.attr.buff_size = size;
	if (gni_cdm_attach(s.cdm, 0, &pe, &s.nic) ||
	    gni_cq_create(s.nic, 256, 0, NULL, 0, &s.tx) ||
	    gni_cq_create(s.nic, 256, 0, serve_handler, 0, &s.rx) ||
	    gni_mem_register(s.nic, s.mine.addr, SERVE_SIZE, s.rx, 0, &s.mine.hndl) ||
	    gni_ep_create(s.nic, s.tx, &s.ep))
		return GNI_RC_ERROR_RESOURCE;
	s.mine.attr.mem_hndl = s.mine.hndl;
	return gni_ep_postdata_w_id(s.ep, &s.mine, sizeof(s.mine), &s.yours, sizeof(s.yours), 1);
}

static void serve_stop(void)
{
	if (s.task)
		kthread_stop(s.task);
	/* What the handler schedules until it is called no more does nothing. */
	WRITE_ONCE(s.stopping, true);
	cancel_work_sync(&serve_work);
	if (s.rx)
		gni_cq_destroy(s.rx);
	cancel_work_sync(&serve_work);
	if (s.cdm)
		gni_cdm_destroy(s.cdm);
	kfree(s.mem);
}

static int __init serve_init(void)
{
	s.mem = kzalloc(SERVE_SIZE, GFP_KERNEL);
	if (!s.mem)
		return -ENOMEM;
	if (serve_start() == GNI_RC_SUCCESS) {
		s.task = kthread_run(serve_thread, NULL, "kgni_serve");
		if (!IS_ERR(s.task))
			return 0;
		s.task = NULL;
	}
	serve_stop();
	return -EIO;
}

static void __exit serve_exit(void)
{
	serve_stop();
}

module_init(serve_init);
module_exit(serve_exit);

MODULE_DESCRIPTION("A client of kgni that serves a program");
MODULE_AUTHOR("The kgni developers");
MODULE_LICENSE("GPL");
