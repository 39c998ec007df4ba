/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of flags and enumerations. */
#include "names.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>

struct name {
	uint64_t value;
	const char *name;
};

#define NAME(constant)                          \
	{                                       \
		(uint64_t)(constant), #constant \
	}

/* Bits that capabilities, operations and completions share. */
#define OPERATIONS                                                                                \
	NAME(FI_MSG), NAME(FI_RMA), NAME(FI_TAGGED), NAME(FI_ATOMIC), NAME(FI_MULTICAST),         \
		NAME(FI_COLLECTIVE), NAME(FI_READ), NAME(FI_WRITE), NAME(FI_RECV), NAME(FI_SEND), \
		NAME(FI_REMOTE_READ), NAME(FI_REMOTE_WRITE), NAME(FI_MULTI_RECV),                 \
		NAME(FI_REMOTE_CQ_DATA)

static const struct name caps[] = {
	OPERATIONS,
	NAME(FI_TRIGGER),
	NAME(FI_FENCE),
	NAME(FI_AV_USER_ID),
	NAME(FI_FIREWALL_ADDR),
	NAME(FI_PEER),
	NAME(FI_XPU),
	NAME(FI_TAGGED_DIRECTED_RECV),
	NAME(FI_TAGGED_MULTI_RECV),
	NAME(FI_HMEM),
	NAME(FI_EXACT_DIRECTED_RECV),
	NAME(FI_RMA_PMEM),
	NAME(FI_SOURCE_ERR),
	NAME(FI_LOCAL_COMM),
	NAME(FI_REMOTE_COMM),
	NAME(FI_SHARED_AV),
	NAME(FI_RMA_EVENT),
	NAME(FI_SOURCE),
	NAME(FI_NAMED_RX_CTX),
	NAME(FI_DIRECTED_RECV),
};

static const struct name mode[] = {
	NAME(FI_CONTEXT),  NAME(FI_MSG_PREFIX), NAME(FI_ASYNC_IOV),	NAME(FI_RX_CQ_DATA),
	NAME(FI_LOCAL_MR), NAME(FI_CONTEXT2),	NAME(FI_BUFFERED_RECV),
};

static const struct name op_flags[] = {
	OPERATIONS,
	NAME(FI_MORE),
	NAME(FI_PEEK),
	NAME(FI_TRIGGER),
	NAME(FI_FENCE),
	NAME(FI_PRIORITY),
	NAME(FI_COMPLETION),
	NAME(FI_INJECT),
	NAME(FI_INJECT_COMPLETE),
	NAME(FI_TRANSMIT_COMPLETE),
	NAME(FI_DELIVERY_COMPLETE),
	NAME(FI_AFFINITY),
	NAME(FI_COMMIT_COMPLETE),
	NAME(FI_MATCH_COMPLETE),
	NAME(FI_RESCAN),
	NAME(FI_PEER_TRANSFER),
	NAME(FI_MR_DMABUF),
	NAME(FI_AV_USER_ID),
	NAME(FI_FIREWALL_ADDR),
	NAME(FI_PEER),
	NAME(FI_HMEM_HOST_ALLOC),
	NAME(FI_HMEM_DEVICE_ONLY),
	NAME(FI_PROV_ATTR_ONLY),
	NAME(FI_NUMERICHOST),
	NAME(FI_AUTH_KEY),
	NAME(FI_DISCARD),
	NAME(FI_CLAIM),
};

static const struct name cq_flags[] = {
	OPERATIONS, NAME(FI_MORE), NAME(FI_COMPLETION), NAME(FI_DISCARD), NAME(FI_CLAIM),
};

static const struct name order[] = {
	NAME(FI_ORDER_RAR),	   NAME(FI_ORDER_RAW),	      NAME(FI_ORDER_RAS),
	NAME(FI_ORDER_WAR),	   NAME(FI_ORDER_WAW),	      NAME(FI_ORDER_WAS),
	NAME(FI_ORDER_SAR),	   NAME(FI_ORDER_SAW),	      NAME(FI_ORDER_SAS),
	NAME(FI_ORDER_DATA),	   NAME(FI_ORDER_RMA_RAR),    NAME(FI_ORDER_RMA_RAW),
	NAME(FI_ORDER_RMA_WAR),	   NAME(FI_ORDER_RMA_WAW),    NAME(FI_ORDER_ATOMIC_RAR),
	NAME(FI_ORDER_ATOMIC_RAW), NAME(FI_ORDER_ATOMIC_WAR), NAME(FI_ORDER_ATOMIC_WAW),
};

/* FI_ORDER_NONE stands for no bit, FI_ORDER_STRICT for all; the others are individual bits. */
static const struct name comp_order[] = {
	NAME(FI_ORDER_NONE),	   NAME(FI_ORDER_STRICT),     NAME(FI_ORDER_RAR),
	NAME(FI_ORDER_RAW),	   NAME(FI_ORDER_RAS),	      NAME(FI_ORDER_WAR),
	NAME(FI_ORDER_WAW),	   NAME(FI_ORDER_WAS),	      NAME(FI_ORDER_SAR),
	NAME(FI_ORDER_SAW),	   NAME(FI_ORDER_SAS),	      NAME(FI_ORDER_DATA),
	NAME(FI_ORDER_RMA_RAR),	   NAME(FI_ORDER_RMA_RAW),    NAME(FI_ORDER_RMA_WAR),
	NAME(FI_ORDER_RMA_WAW),	   NAME(FI_ORDER_ATOMIC_RAR), NAME(FI_ORDER_ATOMIC_RAW),
	NAME(FI_ORDER_ATOMIC_WAR), NAME(FI_ORDER_ATOMIC_WAW),
};

static const struct name mr_mode[] = {
	{ 1, "FI_MR_BASIC" }, { 2, "FI_MR_SCALABLE" }, NAME(FI_MR_LOCAL),
	NAME(FI_MR_RAW),      NAME(FI_MR_VIRT_ADDR),   NAME(FI_MR_ALLOCATED),
	NAME(FI_MR_PROV_KEY), NAME(FI_MR_MMU_NOTIFY),  NAME(FI_MR_RMA_EVENT),
	NAME(FI_MR_ENDPOINT), NAME(FI_MR_HMEM),	       NAME(FI_MR_COLLECTIVE),
	NAME(FI_MR_XPU_DESC),
};

static const struct name av_flags[] = {
	NAME(FI_READ),	   NAME(FI_COLLECTIVE), NAME(FI_MORE),
	NAME(FI_EVENT),	   NAME(FI_SYMMETRIC),	NAME(FI_SYNC_ERR),
	NAME(FI_UNIVERSE), NAME(FI_AV_USER_ID), NAME(FI_PEER),
};

static const struct name ep_type[] = {
	NAME(FI_EP_UNSPEC), NAME(FI_EP_MSG),	    NAME(FI_EP_DGRAM),
	NAME(FI_EP_RDM),    NAME(FI_EP_SOCK_DGRAM),
};

static const struct name addr_format[] = {
	NAME(FI_FORMAT_UNSPEC), NAME(FI_SOCKADDR),    NAME(FI_SOCKADDR_IN), NAME(FI_SOCKADDR_IN6),
	NAME(FI_SOCKADDR_IB),	NAME(FI_ADDR_PSMX),   NAME(FI_ADDR_GNI),    NAME(FI_ADDR_BGQ),
	NAME(FI_ADDR_MLX),	NAME(FI_ADDR_STR),    NAME(FI_ADDR_PSMX2),  NAME(FI_ADDR_IB_UD),
	NAME(FI_ADDR_EFA),	NAME(FI_ADDR_PSMX3),  NAME(FI_ADDR_OPX),    NAME(FI_ADDR_CXI),
	NAME(FI_ADDR_UCX),	NAME(FI_SOCKADDR_IP),
};

static const struct name threading[] = {
	NAME(FI_THREAD_UNSPEC), NAME(FI_THREAD_SAFE),	    NAME(FI_THREAD_FID),
	NAME(FI_THREAD_DOMAIN), NAME(FI_THREAD_COMPLETION), NAME(FI_THREAD_ENDPOINT),
};

static const struct name progress[] = {
	NAME(FI_PROGRESS_UNSPEC),
	NAME(FI_PROGRESS_AUTO),
	NAME(FI_PROGRESS_MANUAL),
	NAME(FI_PROGRESS_CONTROL_UNIFIED),
};

static const struct name rm[] = {
	NAME(FI_RM_UNSPEC),
	NAME(FI_RM_DISABLED),
	NAME(FI_RM_ENABLED),
};

static const struct name protocol[] = {
	NAME(FI_PROTO_UNSPEC),	      NAME(FI_PROTO_RDMA_CM_IB_RC),
	NAME(FI_PROTO_IWARP),	      NAME(FI_PROTO_IB_UD),
	NAME(FI_PROTO_PSMX),	      NAME(FI_PROTO_UDP),
	NAME(FI_PROTO_SOCK_TCP),      NAME(FI_PROTO_MXM),
	NAME(FI_PROTO_IWARP_RDM),     NAME(FI_PROTO_IB_RDM),
	NAME(FI_PROTO_GNI),	      NAME(FI_PROTO_RXM),
	NAME(FI_PROTO_RXD),	      NAME(FI_PROTO_MLX),
	NAME(FI_PROTO_NETWORKDIRECT), NAME(FI_PROTO_PSMX2),
	NAME(FI_PROTO_SHM),	      NAME(FI_PROTO_MRAIL),
	NAME(FI_PROTO_RSTREAM),	      NAME(FI_PROTO_RDMA_CM_IB_XRC),
	NAME(FI_PROTO_EFA),	      NAME(FI_PROTO_PSMX3),
	NAME(FI_PROTO_RXM_TCP),	      NAME(FI_PROTO_OPX),
	NAME(FI_PROTO_CXI),	      NAME(FI_PROTO_XNET),
	NAME(FI_PROTO_COLL),	      NAME(FI_PROTO_UCX),
	NAME(FI_PROTO_SM2),	      NAME(FI_PROTO_CXI_RNR),
	NAME(FI_PROTO_LPP),	      NAME(FI_PROTO_LNX),
};

static const struct name av_type[] = {
	NAME(FI_AV_UNSPEC),
	NAME(FI_AV_MAP),
	NAME(FI_AV_TABLE),
};

static const struct name datatype[] = {
	NAME(FI_INT8),		NAME(FI_UINT8),
	NAME(FI_INT16),		NAME(FI_UINT16),
	NAME(FI_INT32),		NAME(FI_UINT32),
	NAME(FI_INT64),		NAME(FI_UINT64),
	NAME(FI_FLOAT),		NAME(FI_DOUBLE),
	NAME(FI_FLOAT_COMPLEX), NAME(FI_DOUBLE_COMPLEX),
	NAME(FI_LONG_DOUBLE),	NAME(FI_LONG_DOUBLE_COMPLEX),
	NAME(FI_INT128),	NAME(FI_UINT128),
	NAME(FI_FLOAT16),	NAME(FI_BFLOAT16),
	NAME(FI_FLOAT8_E4M3),	NAME(FI_FLOAT8_E5M2),
	NAME(FI_VOID),
};

static const struct name op[] = {
	NAME(FI_MIN),	   NAME(FI_MAX),      NAME(FI_SUM),	    NAME(FI_PROD),
	NAME(FI_LOR),	   NAME(FI_LAND),     NAME(FI_BOR),	    NAME(FI_BAND),
	NAME(FI_LXOR),	   NAME(FI_BXOR),     NAME(FI_ATOMIC_READ), NAME(FI_ATOMIC_WRITE),
	NAME(FI_CSWAP),	   NAME(FI_CSWAP_NE), NAME(FI_CSWAP_LE),    NAME(FI_CSWAP_LT),
	NAME(FI_CSWAP_GE), NAME(FI_CSWAP_GT), NAME(FI_MSWAP),	    NAME(FI_DIFF),
	NAME(FI_NOOP),
};

static const struct name eq_event[] = {
	NAME(FI_NOTIFY),      NAME(FI_CONNREQ),	    NAME(FI_CONNECTED),	    NAME(FI_SHUTDOWN),
	NAME(FI_MR_COMPLETE), NAME(FI_AV_COMPLETE), NAME(FI_JOIN_COMPLETE),
};

static const struct name op_type[] = {
	NAME(FI_OP_RECV),     NAME(FI_OP_SEND),		NAME(FI_OP_TRECV),
	NAME(FI_OP_TSEND),    NAME(FI_OP_READ),		NAME(FI_OP_WRITE),
	NAME(FI_OP_ATOMIC),   NAME(FI_OP_FETCH_ATOMIC), NAME(FI_OP_COMPARE_ATOMIC),
	NAME(FI_OP_CNTR_SET), NAME(FI_OP_CNTR_ADD),
};

static const struct name fclass[] = {
	NAME(FI_CLASS_UNSPEC),	NAME(FI_CLASS_FABRIC),	    NAME(FI_CLASS_DOMAIN),
	NAME(FI_CLASS_EP),	NAME(FI_CLASS_SEP),	    NAME(FI_CLASS_RX_CTX),
	NAME(FI_CLASS_SRX_CTX), NAME(FI_CLASS_TX_CTX),	    NAME(FI_CLASS_STX_CTX),
	NAME(FI_CLASS_PEP),	NAME(FI_CLASS_INTERFACE),   NAME(FI_CLASS_AV),
	NAME(FI_CLASS_MR),	NAME(FI_CLASS_EQ),	    NAME(FI_CLASS_CQ),
	NAME(FI_CLASS_CNTR),	NAME(FI_CLASS_WAIT),	    NAME(FI_CLASS_POLL),
	NAME(FI_CLASS_CONNREQ), NAME(FI_CLASS_MC),	    NAME(FI_CLASS_NIC),
	NAME(FI_CLASS_AV_SET),	NAME(FI_CLASS_MR_CACHE),    NAME(FI_CLASS_MEM_MONITOR),
	NAME(FI_CLASS_PEER_CQ), NAME(FI_CLASS_PEER_SRX),    NAME(FI_CLASS_LOG),
	NAME(FI_CLASS_PEER_AV), NAME(FI_CLASS_PEER_AV_SET), NAME(FI_CLASS_PEER_CNTR),
	NAME(FI_CLASS_PROFILE), NAME(FI_CLASS_XPU_CTX),
};

static const struct name collective[] = {
	NAME(FI_BARRIER),   NAME(FI_BROADCAST), NAME(FI_ALLTOALL),
	NAME(FI_ALLREDUCE), NAME(FI_ALLGATHER), NAME(FI_REDUCE_SCATTER),
	NAME(FI_REDUCE),    NAME(FI_SCATTER),	NAME(FI_GATHER),
};

static const struct name hmem[] = {
	NAME(FI_HMEM_SYSTEM), NAME(FI_HMEM_CUDA),   NAME(FI_HMEM_ROCR),
	NAME(FI_HMEM_ZE),     NAME(FI_HMEM_NEURON), NAME(FI_HMEM_SYNAPSEAI),
};

static const struct name cq_format[] = {
	NAME(FI_CQ_FORMAT_UNSPEC), NAME(FI_CQ_FORMAT_CONTEXT), NAME(FI_CQ_FORMAT_MSG),
	NAME(FI_CQ_FORMAT_DATA),   NAME(FI_CQ_FORMAT_TAGGED),
};

static const struct name log_level[] = {
	NAME(FI_LOG_WARN),
	NAME(FI_LOG_TRACE),
	NAME(FI_LOG_INFO),
	NAME(FI_LOG_DEBUG),
};

static const struct name log_subsys[] = {
	NAME(FI_LOG_CORE),    NAME(FI_LOG_FABRIC), NAME(FI_LOG_DOMAIN), NAME(FI_LOG_EP_CTRL),
	NAME(FI_LOG_EP_DATA), NAME(FI_LOG_AV),	   NAME(FI_LOG_CQ),	NAME(FI_LOG_EQ),
	NAME(FI_LOG_MR),      NAME(FI_LOG_CNTR),
};

static const struct name cq_cond[] = {
	NAME(FI_CQ_COND_NONE),
	NAME(FI_CQ_COND_THRESHOLD),
};

static const struct name wait_obj[] = {
	NAME(FI_WAIT_NONE),	  NAME(FI_WAIT_UNSPEC), NAME(FI_WAIT_SET),    NAME(FI_WAIT_FD),
	NAME(FI_WAIT_MUTEX_COND), NAME(FI_WAIT_YIELD),	NAME(FI_WAIT_POLLFD),
};

static const struct name cntr_events[] = {
	NAME(FI_CNTR_EVENTS_COMP),
	NAME(FI_CNTR_EVENTS_BYTES),
};

static const struct name bus[] = {
	NAME(FI_BUS_UNKNOWN),
	NAME(FI_BUS_PCI),
};

static const struct name link_state[] = {
	NAME(FI_LINK_UNKNOWN),
	NAME(FI_LINK_DOWN),
	NAME(FI_LINK_UP),
};

#define TABLE(array)                                      \
	{                                                 \
		array, sizeof(array) / sizeof((array)[0]) \
	}

static const struct {
	const struct name *names;
	size_t count;
} tables[OFI_NAMES_COUNT] = {
	[OFI_NAMES_CAPS] = TABLE(caps),
	[OFI_NAMES_MODE] = TABLE(mode),
	[OFI_NAMES_OP_FLAGS] = TABLE(op_flags),
	[OFI_NAMES_CQ_FLAGS] = TABLE(cq_flags),
	[OFI_NAMES_ORDER] = TABLE(order),
	[OFI_NAMES_COMP_ORDER] = TABLE(comp_order),
	[OFI_NAMES_MR_MODE] = TABLE(mr_mode),
	[OFI_NAMES_AV_FLAGS] = TABLE(av_flags),
	[OFI_NAMES_EP_TYPE] = TABLE(ep_type),
	[OFI_NAMES_ADDR_FORMAT] = TABLE(addr_format),
	[OFI_NAMES_THREADING] = TABLE(threading),
	[OFI_NAMES_PROGRESS] = TABLE(progress),
	[OFI_NAMES_RM] = TABLE(rm),
	[OFI_NAMES_PROTOCOL] = TABLE(protocol),
	[OFI_NAMES_AV_TYPE] = TABLE(av_type),
	[OFI_NAMES_DATATYPE] = TABLE(datatype),
	[OFI_NAMES_OP] = TABLE(op),
	[OFI_NAMES_EQ_EVENT] = TABLE(eq_event),
	[OFI_NAMES_OP_TYPE] = TABLE(op_type),
	[OFI_NAMES_CLASS] = TABLE(fclass),
	[OFI_NAMES_COLLECTIVE] = TABLE(collective),
	[OFI_NAMES_HMEM] = TABLE(hmem),
	[OFI_NAMES_CQ_FORMAT] = TABLE(cq_format),
	[OFI_NAMES_LOG_LEVEL] = TABLE(log_level),
	[OFI_NAMES_LOG_SUBSYS] = TABLE(log_subsys),
	[OFI_NAMES_CQ_COND] = TABLE(cq_cond),
	[OFI_NAMES_WAIT_OBJ] = TABLE(wait_obj),
	[OFI_NAMES_CNTR_EVENTS] = TABLE(cntr_events),
	[OFI_NAMES_BUS] = TABLE(bus),
	[OFI_NAMES_LINK] = TABLE(link_state),
};

void ofi_text_printf(struct ofi_text *text, const char *fmt, ...)
{
	size_t left = text->len - text->pos;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->buf + text->pos, left, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	text->pos += (size_t)n < left ? (size_t)n : left - 1;
}

bool ofi_names_is_flags(enum ofi_names_id id)
{
	return id <= OFI_NAMES_AV_FLAGS;
}

void ofi_names_flags(struct ofi_text *text, enum ofi_names_id id, uint64_t flags)
{
	const struct name *names = tables[id].names;
	const char *sep = "";
	uint64_t left = flags;
	size_t i;

	for (i = 0; i < tables[id].count; i++) {
		if ((left & names[i].value) != names[i].value || (flags && !names[i].value))
			continue;
		ofi_text_printf(text, "%s%s", sep, names[i].name);
		sep = ", ";
		left &= ~names[i].value;
	}
	if (left)
		ofi_text_printf(text, "%s0x%" PRIx64, sep, left);
}

void ofi_names_enum(struct ofi_text *text, enum ofi_names_id id, uint64_t value)
{
	const struct name *names = tables[id].names;
	size_t i;

	for (i = 0; i < tables[id].count; i++) {
		if (names[i].value == value) {
			ofi_text_printf(text, "%s", names[i].name);
			return;
		}
	}
	ofi_text_printf(text, "%" PRIu64, value);
}
