/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_getinfo finds when it is asked for one capability, mode, flag, order or attribute. */
#include "interface.h"

#include <string.h>

struct name {
	uint64_t value;
	const char *name;
};

#define NAME(constant)                          \
	{                                       \
		(uint64_t)(constant), #constant \
	}

static const struct name caps[] = {
	NAME(FI_MSG),
	NAME(FI_RMA),
	NAME(FI_TAGGED),
	NAME(FI_ATOMIC),
	NAME(FI_MULTICAST),
	NAME(FI_COLLECTIVE),
	NAME(FI_READ),
	NAME(FI_WRITE),
	NAME(FI_RECV),
	NAME(FI_SEND),
	NAME(FI_REMOTE_READ),
	NAME(FI_REMOTE_WRITE),
	NAME(FI_MULTI_RECV),
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

static const struct name modes[] = {
	NAME(FI_CONTEXT),  NAME(FI_MSG_PREFIX), NAME(FI_ASYNC_IOV),	NAME(FI_RX_CQ_DATA),
	NAME(FI_LOCAL_MR), NAME(FI_CONTEXT2),	NAME(FI_BUFFERED_RECV),
};

static const struct name mr_modes[] = {
	NAME(FI_MR_LOCAL),    NAME(FI_MR_RAW),	      NAME(FI_MR_VIRT_ADDR), NAME(FI_MR_ALLOCATED),
	NAME(FI_MR_PROV_KEY), NAME(FI_MR_MMU_NOTIFY), NAME(FI_MR_RMA_EVENT), NAME(FI_MR_ENDPOINT),
	NAME(FI_MR_HMEM),     NAME(FI_MR_COLLECTIVE), NAME(FI_MR_XPU_DESC),
};

static const struct name op_flags[] = {
	NAME(FI_MSG),
	NAME(FI_RMA),
	NAME(FI_TAGGED),
	NAME(FI_ATOMIC),
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

static const struct name orders[] = {
	NAME(FI_ORDER_RAR),	   NAME(FI_ORDER_RAW),	      NAME(FI_ORDER_RAS),
	NAME(FI_ORDER_WAR),	   NAME(FI_ORDER_WAW),	      NAME(FI_ORDER_WAS),
	NAME(FI_ORDER_SAR),	   NAME(FI_ORDER_SAW),	      NAME(FI_ORDER_SAS),
	NAME(FI_ORDER_DATA),	   NAME(FI_ORDER_RMA_RAR),    NAME(FI_ORDER_RMA_RAW),
	NAME(FI_ORDER_RMA_WAR),	   NAME(FI_ORDER_RMA_WAW),    NAME(FI_ORDER_ATOMIC_RAR),
	NAME(FI_ORDER_ATOMIC_RAW), NAME(FI_ORDER_ATOMIC_WAR), NAME(FI_ORDER_ATOMIC_WAW),
};

static const struct name threadings[] = {
	NAME(FI_THREAD_SAFE),	NAME(FI_THREAD_FID),	    NAME(FI_THREAD_ENDPOINT),
	NAME(FI_THREAD_DOMAIN), NAME(FI_THREAD_COMPLETION),
};

static const struct name progresses[] = {
	NAME(FI_PROGRESS_AUTO),
	NAME(FI_PROGRESS_MANUAL),
	NAME(FI_PROGRESS_CONTROL_UNIFIED),
};

static const struct name formats[] = {
	NAME(FI_SOCKADDR),    NAME(FI_SOCKADDR_IN), NAME(FI_SOCKADDR_IN6), NAME(FI_SOCKADDR_IB),
	NAME(FI_SOCKADDR_IP), NAME(FI_ADDR_STR),    NAME(FI_ADDR_IB_UD),
};

/* What has no meaning to a kind of endpoint by itself comes with what it modifies. */
static uint64_t base_of(uint64_t cap)
{
	const uint64_t rma =
		FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_RMA_PMEM;

	if (cap & rma)
		return FI_RMA;
	if (cap & (FI_TAGGED_DIRECTED_RECV | FI_TAGGED_MULTI_RECV))
		return FI_TAGGED;
	return FI_MSG;
}

/* Asks, takes the hints, and gives what was found, or NULL. */
static struct fi_info *ask(struct fi_info *hints, const char *section, const char *name)
{
	struct fi_info *found = NULL;
	int ret = fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found);

	if (section)
		tried(section, name, ret);
	fi_freeinfo(hints);
	return found;
}

static void try_caps(void)
{
	struct fi_info *hints, *found;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caps); i++) {
		hints = hints_of_kind();
		hints->caps = base_of(caps[i].value) | caps[i].value;
		found = ask(hints, NULL, NULL);
		tried("Capabilities", caps[i].name,
		      found && found->caps & caps[i].value ? 0 : -FI_ENODATA);
		fi_freeinfo(found);
	}
}

/* A mode is there when the provider takes it from a program that offers it. */
static void try_modes(void)
{
	struct fi_info *hints, *found;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		hints = hints_of_kind();
		hints->mode |= modes[i].value;
		found = ask(hints, NULL, NULL);
		CHECK(found);
		tried("Modes", modes[i].name, found->mode & modes[i].value ? 0 : -FI_ENODATA);
		fi_freeinfo(found);
	}
	for (i = 0; i < ARRAY_SIZE(mr_modes); i++) {
		hints = hints_of_kind();
		hints->domain_attr->mr_mode |= (int)mr_modes[i].value;
		found = ask(hints, NULL, NULL);
		CHECK(found);
		tried("Registration modes", mr_modes[i].name,
		      found->domain_attr->mr_mode & (int)mr_modes[i].value ? 0 : -FI_ENODATA);
		fi_freeinfo(found);
	}
}

static void try_legacy_modes(void)
{
	struct fi_info *hints = hints_of_kind();

	hints->mode |= FI_LOCAL_MR;
	hints->domain_attr->mr_mode = 1;
	fi_freeinfo(ask(hints, "Registration modes", "FI_MR_BASIC"));
	hints = hints_of_kind();
	hints->mode |= FI_LOCAL_MR;
	hints->domain_attr->mr_mode = 2;
	fi_freeinfo(ask(hints, "Registration modes", "FI_MR_SCALABLE"));
}

static void try_flags(void)
{
	struct fi_info *hints;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op_flags); i++) {
		hints = hints_of_kind();
		hints->tx_attr->op_flags = op_flags[i].value;
		fi_freeinfo(ask(hints, "Flags of transmit contexts", op_flags[i].name));
		hints = hints_of_kind();
		hints->rx_attr->op_flags = op_flags[i].value;
		fi_freeinfo(ask(hints, "Flags of receive contexts", op_flags[i].name));
	}
}

static void try_orders(void)
{
	struct fi_info *hints;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		hints = hints_of_kind();
		hints->tx_attr->msg_order = hints->rx_attr->msg_order = orders[i].value;
		fi_freeinfo(ask(hints, "Message order", orders[i].name));
	}
	hints = hints_of_kind();
	hints->tx_attr->comp_order = FI_ORDER_STRICT;
	fi_freeinfo(ask(hints, "Completion order", "FI_ORDER_STRICT"));
	hints = hints_of_kind();
	hints->rx_attr->comp_order = FI_ORDER_DATA;
	fi_freeinfo(ask(hints, "Completion order", "FI_ORDER_DATA"));
}

static void try_domains(void)
{
	struct fi_info *hints;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(threadings); i++) {
		hints = hints_of_kind();
		hints->domain_attr->threading = (enum fi_threading)threadings[i].value;
		fi_freeinfo(ask(hints, "Threading", threadings[i].name));
	}
	for (i = 0; i < ARRAY_SIZE(progresses); i++) {
		hints = hints_of_kind();
		hints->domain_attr->data_progress = (enum fi_progress)progresses[i].value;
		fi_freeinfo(ask(hints, "Progress", progresses[i].name));
	}
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		hints = hints_of_kind();
		hints->addr_format = (uint32_t)formats[i].value;
		fi_freeinfo(ask(hints, "Address formats", formats[i].name));
	}
	hints = hints_of_kind();
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	fi_freeinfo(ask(hints, "Contexts", "FI_SHARED_CONTEXT, to transmit"));
	hints = hints_of_kind();
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	fi_freeinfo(ask(hints, "Contexts", "FI_SHARED_CONTEXT, to receive"));
}

void try_attributes(void)
{
	try_caps();
	try_modes();
	try_legacy_modes();
	try_flags();
	try_orders();
	try_domains();
}
