/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints, see Documentation/tracing.rst. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kgni

#if !defined(_KGNI_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _KGNI_TRACE_H

#include <linux/tracepoint.h>

#include "kgni.h"

/* So that programs that read traces know the numbers. */
TRACE_DEFINE_ENUM(KGNI_POST_RDMA_PUT);
TRACE_DEFINE_ENUM(KGNI_POST_RDMA_GET);
TRACE_DEFINE_ENUM(KGNI_POST_FMA_PUT);
TRACE_DEFINE_ENUM(KGNI_POST_FMA_PUT_W_SYNCFLAG);
TRACE_DEFINE_ENUM(KGNI_POST_FMA_GET);
TRACE_DEFINE_ENUM(KGNI_POST_AMO);
TRACE_DEFINE_ENUM(KGNI_POST_CQWRITE);
TRACE_DEFINE_ENUM(KGNI_POST_FMA_GET_W_FLAG);
TRACE_DEFINE_ENUM(KGNI_POST_AMO_W_FLAG);
TRACE_DEFINE_ENUM(GNI_POST_CE);
TRACE_DEFINE_ENUM(KGNI_ST_OK);
TRACE_DEFINE_ENUM(KGNI_ST_MDD_INVALID);
TRACE_DEFINE_ENUM(KGNI_ST_BOUNDS);
TRACE_DEFINE_ENUM(KGNI_ST_PROTECTION);
TRACE_DEFINE_ENUM(KGNI_ST_ADDRESS);
TRACE_DEFINE_ENUM(KGNI_ST_UNREACHABLE);
TRACE_DEFINE_ENUM(KGNI_ST_ABORTED);
TRACE_DEFINE_ENUM(KGNI_ST_NO_CQ);
TRACE_DEFINE_ENUM(KGNI_ST_REM_OVERRUN);
TRACE_DEFINE_ENUM(KGNI_ST_LINK);
TRACE_DEFINE_ENUM(KGNI_ST_NO_CE);
TRACE_DEFINE_ENUM(KGNI_ST_CE_MEMBER);
TRACE_DEFINE_ENUM(KGNI_ST_CE_DIFFER);
TRACE_DEFINE_ENUM(GNI_POST_PENDING);
TRACE_DEFINE_ENUM(GNI_POST_COMPLETED);
TRACE_DEFINE_ENUM(GNI_POST_ERROR);
TRACE_DEFINE_ENUM(GNI_POST_TERMINATED);

DECLARE_EVENT_CLASS(kgni_nic_event,
	TP_PROTO(const struct kgni_nic *nic),
	TP_ARGS(nic),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, nic)
		__field(u32, ptag)
		__field(u32, cookie)
		__field(u32, inst)
		__field(u32, modes)
		__field(int, pid)
	),
	TP_fast_assign(
		__entry->dev = nic->dev->id;
		__entry->nic = nic->id;
		__entry->ptag = nic->job->ptag;
		__entry->cookie = nic->job->cookie;
		__entry->inst = nic->inst_id;
		__entry->modes = nic->modes;
		__entry->pid = pid_nr(nic->owner);
	),
	TP_printk("dev=%u nic=%u ptag=%u cookie=0x%x inst=0x%x modes=0x%x pid=%d",
		  __entry->dev, __entry->nic, __entry->ptag, __entry->cookie, __entry->inst,
		  __entry->modes, __entry->pid)
);

DEFINE_EVENT(kgni_nic_event, kgni_attach,
	TP_PROTO(const struct kgni_nic *nic),
	TP_ARGS(nic)
);

DEFINE_EVENT(kgni_nic_event, kgni_detach,
	TP_PROTO(const struct kgni_nic *nic),
	TP_ARGS(nic)
);

DECLARE_EVENT_CLASS(kgni_mem_event,
	TP_PROTO(const struct kgni_nic *nic, const struct kgni_mdd *mdd),
	TP_ARGS(nic, mdd),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, nic)
		__field(u32, mdh)
		__field(u32, flags)
		__field(u64, addr)
		__field(u64, length)
		__field(unsigned long, npages)
	),
	TP_fast_assign(
		__entry->dev = nic->dev->id;
		__entry->nic = nic->id;
		__entry->mdh = mdd->mdh;
		__entry->flags = mdd->flags;
		__entry->addr = mdd->addr;
		__entry->length = mdd->length;
		__entry->npages = mdd->npages;
	),
	TP_printk("dev=%u nic=%u mdh=%u addr=0x%llx length=%llu pages=%lu flags=0x%x",
		  __entry->dev, __entry->nic, __entry->mdh, __entry->addr, __entry->length,
		  __entry->npages, __entry->flags)
);

DEFINE_EVENT(kgni_mem_event, kgni_register,
	TP_PROTO(const struct kgni_nic *nic, const struct kgni_mdd *mdd),
	TP_ARGS(nic, mdd)
);

DEFINE_EVENT(kgni_mem_event, kgni_deregister,
	TP_PROTO(const struct kgni_nic *nic, const struct kgni_mdd *mdd),
	TP_ARGS(nic, mdd)
);

#define show_kgni_post(type)						\
	__print_symbolic(type,						\
			 { KGNI_POST_RDMA_PUT, "RDMA_PUT" },		\
			 { KGNI_POST_RDMA_GET, "RDMA_GET" },		\
			 { KGNI_POST_FMA_PUT, "FMA_PUT" },		\
			 { KGNI_POST_FMA_PUT_W_SYNCFLAG, "FMA_PUT_W_SYNCFLAG" }, \
			 { KGNI_POST_FMA_GET, "FMA_GET" },		\
			 { KGNI_POST_AMO, "AMO" },			\
			 { KGNI_POST_CQWRITE, "CQWRITE" },		\
			 { GNI_POST_CE, "CE" },				\
			 { KGNI_POST_FMA_GET_W_FLAG, "FMA_GET_W_FLAG" }, \
			 { KGNI_POST_AMO_W_FLAG, "AMO_W_FLAG" })

/* What a post may become: enum kgni_cqe_status. */
#define show_kgni_status(status)					\
	__print_symbolic(status,					\
			 { KGNI_ST_OK, "OK" },				\
			 { KGNI_ST_MDD_INVALID, "MDD_INVALID" },	\
			 { KGNI_ST_BOUNDS, "BOUNDS" },			\
			 { KGNI_ST_PROTECTION, "PROTECTION" },		\
			 { KGNI_ST_ADDRESS, "ADDRESS" },		\
			 { KGNI_ST_UNREACHABLE, "UNREACHABLE" },	\
			 { KGNI_ST_ABORTED, "ABORTED" },		\
			 { KGNI_ST_NO_CQ, "NO_CQ" },			\
			 { KGNI_ST_REM_OVERRUN, "REM_OVERRUN" },	\
			 { KGNI_ST_LINK, "LINK" },			\
			 { KGNI_ST_NO_CE, "NO_CE" },			\
			 { KGNI_ST_CE_MEMBER, "CE_MEMBER" },		\
			 { KGNI_ST_CE_DIFFER, "CE_DIFFER" })

DECLARE_EVENT_CLASS(kgni_xfer_event,
	TP_PROTO(const struct kgni_xfer *x),
	TP_ARGS(x),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, nic)
		__field(u32, type)
		__field(u32, remote_pe)
		__field(u64, remote_addr)
		__field(u64, length)
		__field(u32, src_cq)
		__field(u64, src_event)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->dev = x->nic->dev->id;
		__entry->nic = x->nic->id;
		__entry->type = x->arg.type;
		__entry->remote_pe = x->arg.remote_pe;
		__entry->remote_addr = x->arg.remote_addr;
		__entry->length = x->arg.length;
		__entry->src_cq = x->arg.src_cq;
		__entry->src_event = x->arg.src_event;
		__entry->status = x->status;
	),
	TP_printk("dev=%u nic=%u %s pe=%u addr=0x%llx length=%llu cq=%u event=0x%llx %s",
		  __entry->dev, __entry->nic, show_kgni_post(__entry->type), __entry->remote_pe,
		  __entry->remote_addr, __entry->length, __entry->src_cq, __entry->src_event,
		  show_kgni_status(__entry->status))
);

/* While posts are traced, all of them go by the driver. */
DEFINE_EVENT_FN(kgni_xfer_event, kgni_post,
	TP_PROTO(const struct kgni_xfer *x),
	TP_ARGS(x),
	kgni_windows_watch_on, kgni_windows_watch_off
);

DEFINE_EVENT_FN(kgni_xfer_event, kgni_complete,
	TP_PROTO(const struct kgni_xfer *x),
	TP_ARGS(x),
	kgni_windows_watch_on, kgni_windows_watch_off
);

TRACE_EVENT(kgni_window_open,
	TP_PROTO(const struct kgni_nic *nic, const struct kgni_mdd *mdd, u32 index,
		 unsigned long npages),
	TP_ARGS(nic, mdd, index, npages),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, nic)
		__field(u32, window)
		__field(u32, mdh)
		__field(u64, base)
		__field(unsigned long, npages)
	),
	TP_fast_assign(
		__entry->dev = nic->dev->id;
		__entry->nic = nic->id;
		__entry->window = index;
		__entry->mdh = mdd->mdh;
		__entry->base = mdd->base;
		__entry->npages = npages;
	),
	TP_printk("dev=%u nic=%u window=%u mdh=%u base=0x%llx pages=%lu", __entry->dev,
		  __entry->nic, __entry->window, __entry->mdh, __entry->base, __entry->npages)
);

TRACE_EVENT(kgni_window_revoke,
	TP_PROTO(u32 index, const struct kgni_mdd *mdd),
	TP_ARGS(index, mdd),
	TP_STRUCT__entry(
		__field(u32, window)
		__field(u32, mdh)
		__field(u64, base)
	),
	TP_fast_assign(
		__entry->window = index;
		__entry->mdh = mdd->mdh;
		__entry->base = mdd->base;
	),
	TP_printk("window=%u mdh=%u base=0x%llx", __entry->window, __entry->mdh, __entry->base)
);

TRACE_EVENT(kgni_dgram,
	TP_PROTO(const struct kgni_nic *nic, const struct kgni_dgram_info *d),
	TP_ARGS(nic, d),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, nic)
		__field(u32, ep)
		__field(u32, state)
		__field(u32, remote_pe)
		__field(u32, remote_id)
		__field(u32, length)
		__field(bool, has_peer)
	),
	TP_fast_assign(
		__entry->dev = nic->dev->id;
		__entry->nic = nic->id;
		__entry->ep = d->ep;
		__entry->state = d->state;
		__entry->remote_pe = d->remote_pe;
		__entry->remote_id = d->remote_id;
		__entry->length = d->length;
		__entry->has_peer = d->has_peer;
	),
	TP_printk("dev=%u nic=%u ep=%u %s %s pe=%u inst=0x%x length=%u",
		  __entry->dev, __entry->nic, __entry->ep,
		  __print_symbolic(__entry->state,
				   { GNI_POST_PENDING, "PENDING" },
				   { GNI_POST_COMPLETED, "COMPLETED" },
				   { GNI_POST_ERROR, "ERROR" },
				   { GNI_POST_TERMINATED, "TERMINATED" }),
		  __entry->has_peer ? "peer" : "anyone", __entry->remote_pe,
		  __entry->remote_id, __entry->length)
);

TRACE_EVENT(kgni_error,
	TP_PROTO(const struct kgni_device *dev, u16 code, u8 category, u8 ptag),
	TP_ARGS(dev, code, category, ptag),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u16, code)
		__field(u8, category)
		__field(u8, ptag)
	),
	TP_fast_assign(
		__entry->dev = dev->id;
		__entry->code = code;
		__entry->category = category;
		__entry->ptag = ptag;
	),
	TP_printk("dev=%u code=0x%x category=0x%x ptag=%u", __entry->dev, __entry->code,
		  __entry->category, __entry->ptag)
);

#endif /* _KGNI_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
