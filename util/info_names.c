/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names that fi_info takes on its command line. */
#include "info_names.h"

#include <stdio.h>
#include <string.h>

#include <rdma/fabric.h>

#define NAME(symbol)                        \
	{                                   \
#symbol, (uint64_t)(symbol) \
	}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define NAMES(what, list)               \
	{                               \
		what, list, COUNT(list) \
	}

static const struct info_name caps[] = {
	NAME(FI_MSG),
	NAME(FI_RMA),
	NAME(FI_TAGGED),
	NAME(FI_ATOMIC),
	NAME(FI_ATOMICS),
	NAME(FI_MULTICAST),
	NAME(FI_COLLECTIVE),
	NAME(FI_READ),
	NAME(FI_WRITE),
	NAME(FI_RECV),
	NAME(FI_SEND),
	NAME(FI_REMOTE_READ),
	NAME(FI_REMOTE_WRITE),
	NAME(FI_MULTI_RECV),
	NAME(FI_REMOTE_CQ_DATA),
	NAME(FI_TRIGGER),
	NAME(FI_FENCE),
	NAME(FI_AV_USER_ID),
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

static const struct info_name modes[] = {
	NAME(FI_CONTEXT),	    NAME(FI_CONTEXT2),	      NAME(FI_MSG_PREFIX),
	NAME(FI_ASYNC_IOV),	    NAME(FI_RX_CQ_DATA),      NAME(FI_LOCAL_MR),
	NAME(FI_NOTIFY_FLAGS_ONLY), NAME(FI_RESTRICTED_COMP), NAME(FI_BUFFERED_RECV),
};

static const struct info_name ep_types[] = {
	NAME(FI_EP_UNSPEC), NAME(FI_EP_MSG),	     NAME(FI_EP_DGRAM),
	NAME(FI_EP_RDM),    NAME(FI_EP_SOCK_STREAM), NAME(FI_EP_SOCK_DGRAM),
};

static const struct info_name addr_formats[] = {
	NAME(FI_FORMAT_UNSPEC), NAME(FI_SOCKADDR),    NAME(FI_SOCKADDR_IN), NAME(FI_SOCKADDR_IN6),
	NAME(FI_SOCKADDR_IB),	NAME(FI_SOCKADDR_IP), NAME(FI_ADDR_PSMX),   NAME(FI_ADDR_PSMX2),
	NAME(FI_ADDR_PSMX3),	NAME(FI_ADDR_GNI),    NAME(FI_ADDR_BGQ),    NAME(FI_ADDR_MLX),
	NAME(FI_ADDR_STR),	NAME(FI_ADDR_IB_UD),  NAME(FI_ADDR_EFA),    NAME(FI_ADDR_OPX),
	NAME(FI_ADDR_CXI),	NAME(FI_ADDR_UCX),
};

static const struct info_name tclasses[] = {
	NAME(FI_TC_BEST_EFFORT), NAME(FI_TC_LOW_LATENCY), NAME(FI_TC_DEDICATED_ACCESS),
	NAME(FI_TC_BULK_DATA),	 NAME(FI_TC_SCAVENGER),	  NAME(FI_TC_NETWORK_CTRL),
};

const struct info_names info_caps = NAMES("capability", caps);
const struct info_names info_modes = NAMES("mode", modes);
const struct info_names info_ep_types = NAMES("endpoint type", ep_types);
const struct info_names info_addr_formats = NAMES("address format", addr_formats);
const struct info_names info_tclasses = NAMES("traffic class", tclasses);

static int find(const struct info_names *names, const char *text, size_t len, uint64_t *value)
{
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (strlen(names->list[i].name) == len &&
		    !strncasecmp(names->list[i].name, text, len)) {
			*value = names->list[i].value;
			return 0;
		}
	}
	fprintf(stderr, "error: Unrecognized %s: %.*s\n", names->what, (int)len, text);
	fprintf(stderr, "There are:");
	for (i = 0; i < names->count; i++)
		fprintf(stderr, " %s", names->list[i].name);
	fputc('\n', stderr);
	return -1;
}

int info_names_find(const struct info_names *names, const char *text, uint64_t *value)
{
	return find(names, text, strlen(text), value);
}

int info_names_parse(const struct info_names *names, const char *text, uint64_t *value)
{
	uint64_t one;
	size_t len;

	*value = 0;
	for (; *text; text += len + (text[len] == '|')) {
		len = strcspn(text, "|");
		if (!len)
			continue;
		if (find(names, text, len, &one))
			return -1;
		*value |= one;
	}
	return 0;
}
