// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations: kinds of memory, bounds, and numbers that are held.
 */
#include <linux/jiffies.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kct.h"

/* Put 8 bytes to an address of a region, and say what came of it. */
static gni_return_t put_to(struct kct_client *c, gni_ep_handle_t ep, const gni_mem_handle_t *hndl,
			   u64 addr)
{
	u64 value = 0x1122334455667788;
	gni_post_descriptor_t d = {
		.type = GNI_POST_FMA_PUT,
		.cq_mode = GNI_CQMODE_GLOBAL_EVENT,
		.local_addr = (uintptr_t)&value,
		.remote_addr = addr,
		.remote_mem_hndl = *hndl,
		.length = sizeof(value),
	};

	if (!kct_ok(gni_post_fma(ep, &d)))
		return GNI_RC_INVALID_PARAM;
	return kct_complete(&c->src, &d);
}

static void arguments(void)
{
	gni_mem_handle_t hndl = { .qword1 = 1, .qword2 = 2 };
	gni_mem_segment_t seg[2] = { };
	struct kct_client c;
	u8 *buf = kzalloc(64, GFP_KERNEL);
	u64 at = (uintptr_t)buf;

	if (!buf || !kct_client_init(&c, 1, 0, 0))
		goto free;
	kct_eq(gni_mem_register(NULL, at, 64, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, 0, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, -at + 1, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, 4096, 64, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, 64, NULL, GNI_MEM_USE_VMDH, &hndl),
	       GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, 64, NULL, GNI_MEM_PHYS_SEGMENTS, &hndl),
	       GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, 64, (gni_cq_handle_t)c.nic, 0, &hndl),
	       GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register(c.nic, at, 64, NULL, 0, NULL), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register_segments(c.nic, NULL, 1, NULL, GNI_MEM_PHYS_SEGMENTS, &hndl),
	       GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_register_segments(c.nic, seg, 0, NULL, GNI_MEM_PHYS_SEGMENTS, &hndl),
	       GNI_RC_INVALID_PARAM);
	seg[0].address = virt_to_phys(buf) | 8;
	kct_eq(gni_mem_register_segments(c.nic, seg, 1, NULL, GNI_MEM_PHYS_SEGMENTS, &hndl),
	       GNI_RC_INVALID_PARAM);
	seg[0].address = at;
	kct_eq(gni_mem_register_segments(c.nic, seg, 1, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	/* Failure leaves the handle alone. */
	kct_eq(hndl.qword1, 1);
	kct_eq(hndl.qword2, 2);
	kct_eq(gni_mem_deregister(c.nic, &hndl, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_deregister(NULL, &hndl, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_deregister(c.nic, NULL, 0), GNI_RC_INVALID_PARAM);
	kct_eq(gni_mem_mdd_release(c.nic, &hndl), GNI_RC_NO_MATCH);
	kct_eq(gni_mem_mdd_release(NULL, &hndl), GNI_RC_NO_MATCH);
	kct_client_exit(&c);
free:
	kfree(buf);
}

/*
 * Of a range nothing but its bytes, to 8, can be reached: the rest of its pages is
 * other objects. Of segments it is whole pages, counted from the first.
 */
static void bounds(void)
{
	struct kct_client a, b;
	struct kct_mem range, pages;
	gni_mem_handle_t part;
	gni_ep_handle_t ep;

	if (!kct_client_init(&a, 1, 0, 0) || !kct_client_init(&b, 2, 0, 0))
		return;
	ep = kct_ep(&a, &b);
	if (kct_mem_init(&range, &b, KCT_SLAB, 104, 0, NULL)) {
		kct_ok(put_to(&a, ep, &range.hndl, range.addr));
		kct_ok(put_to(&a, ep, &range.hndl, range.addr + 96));
		if (kct_ok(gni_mem_register(b.nic, range.addr + 9, 90, NULL, 0, &part))) {
			kct_ok(put_to(&a, ep, &part, range.addr + 8));
			kct_ok(put_to(&a, ep, &part, range.addr + 96));
			kct_eq(put_to(&a, ep, &part, range.addr + 7), GNI_RC_TRANSACTION_ERROR);
			kct_ok(gni_mem_deregister(b.nic, &part, 0));
		}
		kct_eq(put_to(&a, ep, &range.hndl, range.addr - 8), GNI_RC_TRANSACTION_ERROR);
		kct_eq(put_to(&a, ep, &range.hndl, range.addr + 97), GNI_RC_TRANSACTION_ERROR);
		kct_eq(put_to(&a, ep, &range.hndl, range.addr + 104), GNI_RC_TRANSACTION_ERROR);
		kct_mem_exit(&range);
	}
	if (kct_mem_init(&pages, &b, KCT_PAGES, 3 * PAGE_SIZE, 0, NULL)) {
		kct_ok(put_to(&a, ep, &pages.hndl, 0));
		kct_ok(put_to(&a, ep, &pages.hndl, 2 * PAGE_SIZE - 4));
		kct_ok(put_to(&a, ep, &pages.hndl, 3 * PAGE_SIZE - 8));
		kct_eq(put_to(&a, ep, &pages.hndl, 3 * PAGE_SIZE - 7), GNI_RC_TRANSACTION_ERROR);
		kct_eq(put_to(&a, ep, &pages.hndl, -16), GNI_RC_TRANSACTION_ERROR);
		kct_mem_exit(&pages);
	}
	if (kct_mem_init(&range, &b, KCT_VMALLOC, 64, GNI_MEM_READ_ONLY, NULL)) {
		kct_eq(put_to(&a, ep, &range.hndl, range.addr), GNI_RC_TRANSACTION_ERROR);
		kct_eq(range.at[0], 0);
		kct_mem_exit(&range);
	}
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
}

/* Ranges of kernel addresses in one region: addresses count from the first page. */
static void virtual_segments(void)
{
	gni_mem_handle_t hndl;
	struct kct_client a, b;
	gni_mem_segment_t seg[2];
	gni_ep_handle_t ep;
	u8 *first = vzalloc(2 * PAGE_SIZE);
	u8 *second = vzalloc(PAGE_SIZE);

	if (!kct_true(first && second) || !kct_client_init(&a, 1, 0, 0) ||
	    !kct_client_init(&b, 2, 1, 0))
		goto free;
	ep = kct_ep(&a, &b);
	seg[0].address = (uintptr_t)first + 16;
	seg[0].length = 2 * PAGE_SIZE - 16;
	seg[1].address = (uintptr_t)second;
	seg[1].length = 100;
	if (kct_ok(gni_mem_register_segments(b.nic, seg, 2, NULL, 0, &hndl))) {
		kct_ok(put_to(&a, ep, &hndl, 2 * PAGE_SIZE - 4));
		kct_eq(*(u32 *)(first + 2 * PAGE_SIZE - 4), 0x55667788);
		kct_eq(*(u32 *)second, 0x11223344);
		kct_eq(put_to(&a, ep, &hndl, 8), GNI_RC_TRANSACTION_ERROR);
		kct_eq(put_to(&a, ep, &hndl, 2 * PAGE_SIZE + 97), GNI_RC_TRANSACTION_ERROR);
		kct_ok(gni_mem_deregister(b.nic, &hndl, 0));
	}
	/* The first ends inside of a page, the second begins in one. */
	seg[0].length--;
	kct_eq(gni_mem_register_segments(b.nic, seg, 2, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	seg[0].length++;
	seg[1].address += 8;
	kct_eq(gni_mem_register_segments(b.nic, seg, 2, NULL, 0, &hndl), GNI_RC_INVALID_PARAM);
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
free:
	vfree(first);
	vfree(second);
}

/* Version 1 handles: the number is in the top 12 bits. */
static u32 number_of(const gni_mem_handle_t *hndl)
{
	return hndl->qword1 >> 52;
}

/* Is a number given to any of more registrations than there are numbers? */
static bool is_given(struct kct_client *c, u8 *buf, u32 number, gni_mem_handle_t *hndls, u32 max)
{
	bool given = false;
	u32 n, i;

	for (n = 0; n < max; n++) {
		if (gni_mem_register(c->nic, (uintptr_t)buf, 64, NULL, 0, &hndls[n]))
			break;
		given |= number_of(&hndls[n]) == number;
	}
	kct_true(n > 1000 && n < max);
	for (i = 0; i < n; i++)
		kct_ok(gni_mem_deregister(c->nic, &hndls[i], 0));
	return given;
}

#define HOLD_FOR_EVER	(24 * 60 * 60 * 1000)

static void hold(void)
{
	const u32 max = 5000;
	gni_mem_handle_t hndl, copy, *hndls = kvcalloc(max, sizeof(*hndls), GFP_KERNEL);
	u8 *buf = kzalloc(64, GFP_KERNEL);
	struct kct_client a, b;
	gni_ep_handle_t ep;
	bool given = false;
	unsigned long end;

	if (!kct_true(hndls && buf) || !kct_client_init(&a, 1, 0, 0) ||
	    !kct_client_init(&b, 2, 0, 0))
		goto free;
	ep = kct_ep(&a, &b);
	kct_ok(gni_mem_register(b.nic, (uintptr_t)buf, 64, NULL, 0, &hndl));
	copy = hndl;
	kct_ok(gni_mem_deregister(b.nic, &hndl, HOLD_FOR_EVER));
	/* It is gone for its owner and for peers, and nobody else becomes its number. */
	kct_eq(gni_mem_deregister(b.nic, &copy, 0), GNI_RC_INVALID_PARAM);
	kct_eq(put_to(&a, ep, &copy, (uintptr_t)buf), GNI_RC_TRANSACTION_ERROR);
	kct_true(!is_given(&b, buf, number_of(&copy), hndls, max));
	kct_eq(put_to(&a, ep, &copy, (uintptr_t)buf), GNI_RC_TRANSACTION_ERROR);
	kct_eq(*(u64 *)buf, 0);
	/* Released, it may be given again; once. */
	kct_ok(gni_mem_mdd_release(b.nic, &copy));
	kct_eq(gni_mem_mdd_release(b.nic, &copy), GNI_RC_NO_MATCH);
	kct_true(is_given(&b, buf, number_of(&copy), hndls, max));
	/* A timer does the same; the domain does not wait for one. */
	kct_ok(gni_mem_register(b.nic, (uintptr_t)buf, 64, NULL, 0, &hndl));
	copy = hndl;
	kct_ok(gni_mem_deregister(b.nic, &hndl, 1));
	for (end = jiffies + KCT_SOON; !given && time_before(jiffies, end);)
		given = is_given(&b, buf, number_of(&copy), hndls, max);
	kct_true(given);
	kct_eq(gni_mem_mdd_release(b.nic, &copy), GNI_RC_NO_MATCH);
	kct_ok(gni_mem_register(b.nic, (uintptr_t)buf, 64, NULL, 0, &hndl));
	kct_ok(gni_mem_deregister(b.nic, &hndl, HOLD_FOR_EVER));
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&a);
	kct_client_exit(&b);
free:
	kvfree(hndls);
	kfree(buf);
}

/* The same memory twice: each handle is of its own. */
static void twice(void)
{
	gni_mem_handle_t one, two;
	u64 *buf = kzalloc(64, GFP_KERNEL);
	struct kct_client c;
	gni_ep_handle_t ep;

	if (!kct_true(buf) || !kct_client_init(&c, 1, 0, 0))
		goto free;
	ep = kct_ep(&c, &c);
	kct_ok(gni_mem_register(c.nic, (uintptr_t)buf, 64, NULL, 0, &one));
	kct_ok(gni_mem_register(c.nic, (uintptr_t)buf, 64, NULL, 0, &two));
	kct_ok(gni_mem_deregister(c.nic, &one, 0));
	kct_eq(put_to(&c, ep, &one, (uintptr_t)buf), GNI_RC_TRANSACTION_ERROR);
	kct_ok(put_to(&c, ep, &two, (uintptr_t)buf));
	kct_eq(buf[0], 0x1122334455667788);
	kct_ok(gni_mem_deregister(c.nic, &two, 0));
	kct_ok(gni_ep_destroy(ep));
	kct_client_exit(&c);
free:
	kfree(buf);
}

const struct kct_test kct_mem_tests[] = {
	{ "registrations refuse what cannot be", arguments },
	{ "regions end where they end", bounds },
	{ "ranges of addresses make one region", virtual_segments },
	{ "numbers of registrations that ended are held", hold },
	{ "memory is registered more than once", twice },
	{ }
};
