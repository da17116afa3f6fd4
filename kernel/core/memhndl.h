/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory handles: two quadwords that programs pass around, look into and
 * rebuild, so the layout is fixed.
 *
 * version 1: qword1 = va:52 (address >> 12) | mdh:12
 *	      qword2 = npages:28 | page shift:6 | flags:8 | 0:14 | crc:8
 * version 2: qword1 = va:52 | entropy:12
 *	      qword2 = npages:28 | page shift:6 | flags:8 | mdh:12 | 0:2 | crc:8
 *
 * A handle names (ptag, mdh, VMDH flag, va). The driver trusts nothing else in
 * one that comes from outside.
 */
#ifndef _KGNI_CORE_MEMHNDL_H
#define _KGNI_CORE_MEMHNDL_H

#include "core.h"

#define KGNI_MH_READONLY	0x01
#define KGNI_MH_VMDH		0x02
#define KGNI_MH_MRT		0x04
#define KGNI_MH_GART		0x08
#define KGNI_MH_IOMMU		0x10
#define KGNI_MH_PCI_IOMMU	0x20
#define KGNI_MH_CLONE		0x40
#define KGNI_MH_V2		0x80

#define KGNI_MH_PAGE_SHIFT	12
#define KGNI_MH_MDH_BITS	12
#define KGNI_MH_MDH_MAX		((1U << KGNI_MH_MDH_BITS) - 1)
#define KGNI_MH_NPAGES_MAX	((1U << 28) - 1)

/**
 * struct kgni_mh - a memory handle, taken apart
 * @va: address of the region's first page, without the page offset bits
 * @npages: pages of the region, at most KGNI_MH_NPAGES_MAX
 * @mdh: number of the registration, 12 bits
 * @entropy: version 2: 12 bits that tell registrations of one mdh apart
 * @page_shift: log2 of the page size
 * @flags: KGNI_MH_*
 */
struct kgni_mh {
	u64 va;
	u32 npages;
	u16 mdh;
	u16 entropy;
	u8 page_shift;
	u8 flags;
};

/**
 * kgni_mh_crc - CRC-8/MAXIM-DOW over the fifteen bytes before the CRC itself
 * @qword1: first quadword
 * @qword2: second quadword; its top byte does not count
 *
 * Return: the CRC.
 */
static inline u8 kgni_mh_crc(u64 qword1, u64 qword2)
{
	u8 crc = 0;
	int i, bit;

	for (i = 0; i < 15; i++) {
		crc ^= (u8)(i < 8 ? qword1 >> (8 * i) : qword2 >> (8 * (i - 8)));
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? (crc >> 1) ^ 0x8c : crc >> 1;
	}
	return crc;
}

/**
 * kgni_mh_pack - make the two quadwords of a handle, CRC included
 * @mh: the parts; flags say which version
 * @qword1: out
 * @qword2: out
 */
static inline void kgni_mh_pack(const struct kgni_mh *mh, u64 *qword1, u64 *qword2)
{
	u64 q1 = CORE_BITS(mh->va >> KGNI_MH_PAGE_SHIFT, 0, 52);
	u64 q2 = CORE_BITS((u64)mh->npages, 0, 28) |
		 CORE_BITS((u64)mh->page_shift, 0, 6) << 28 | (u64)mh->flags << 34;

	if (mh->flags & KGNI_MH_V2) {
		q1 |= (u64)mh->entropy << 52;
		q2 |= CORE_BITS((u64)mh->mdh, 0, 12) << 42;
	} else {
		q1 |= (u64)mh->mdh << 52;
	}
	*qword1 = q1;
	*qword2 = q2 | (u64)kgni_mh_crc(q1, q2) << 56;
}

/**
 * kgni_mh_unpack - take a handle apart
 * @qword1: first quadword
 * @qword2: second quadword
 * @mh: out: the parts
 *
 * Return: true if the CRC is right. The parts are filled in either way, since
 * handles that programs rebuild may come without one.
 */
static inline bool kgni_mh_unpack(u64 qword1, u64 qword2, struct kgni_mh *mh)
{
	mh->va = CORE_BITS(qword1, 0, 52) << KGNI_MH_PAGE_SHIFT;
	mh->npages = (u32)CORE_BITS(qword2, 0, 28);
	mh->page_shift = (u8)CORE_BITS(qword2, 28, 6);
	mh->flags = (u8)CORE_BITS(qword2, 34, 8);
	if (mh->flags & KGNI_MH_V2) {
		mh->entropy = (u16)CORE_BITS(qword1, 52, 12);
		mh->mdh = (u16)CORE_BITS(qword2, 42, 12);
	} else {
		mh->entropy = 0;
		mh->mdh = (u16)CORE_BITS(qword1, 52, 12);
	}
	return (qword2 >> 56) == kgni_mh_crc(qword1, qword2);
}

#endif /* _KGNI_CORE_MEMHNDL_H */
