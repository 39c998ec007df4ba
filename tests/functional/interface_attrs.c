/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_getinfo for one capability, mode, flag, order or attribute. */
#include "interface.h"

static const uint64_t formats[] = {
	FI_SOCKADDR,	FI_SOCKADDR_IN, FI_SOCKADDR_IN6, FI_SOCKADDR_IB,
	FI_SOCKADDR_IP, FI_ADDR_STR,	FI_ADDR_IB_UD,
};

/*
 * A value that has no meaning for an endpoint type by itself is requested together with what it
 * modifies.
 */
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

/* Calls fi_getinfo, frees the hints, and returns the result or NULL. */
static struct fi_info *ask(struct fi_info *hints, const char *section, const char *name)
{
	struct fi_info *found = NULL;
	int ret = fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found);

	if (section)
		tried(section, name, ret);
	fi_freeinfo(hints);
	return found;
}

static void try_cap(uint64_t cap, const char *name)
{
	struct fi_info *hints = hints_of_kind(), *found;

	if (cap == FI_REMOTE_CQ_DATA)
		return fi_freeinfo(hints); /* a flag, which fi_getinfo takes among capabilities */
	hints->caps = base_of(cap) | cap;
	if (cap == FI_HMEM)
		hints->domain_attr->mr_mode |= FI_MR_HMEM;
	found = ask(hints, NULL, NULL);
	tried("Capabilities", name, found && found->caps & cap ? 0 : -FI_ENODATA);
	fi_freeinfo(found);
}

/* A mode is supported if the provider requires it from a program that offers it. */
static void try_mode(uint64_t mode, const char *name)
{
	struct fi_info *hints = hints_of_kind(), *found;

	hints->mode |= mode;
	found = ask(hints, NULL, NULL);
	CHECK(found);
	tried("Modes", name, found->mode & mode ? 0 : -FI_ENODATA);
	fi_freeinfo(found);
}

static void try_mr_mode(uint64_t mode, const char *name)
{
	struct fi_info *hints, *found;

	if (mode < FI_MR_LOCAL)
		return; /* one of the legacy modes, which are no bits */
	hints = hints_of_kind();
	hints->domain_attr->mr_mode |= (int)mode;
	if (mode == FI_MR_HMEM)
		hints->caps = FI_MSG | FI_HMEM;
	found = ask(hints, NULL, NULL);
	CHECK(found || mode == FI_MR_HMEM);
	tried("Registration modes", name,
	      found && found->domain_attr->mr_mode & (int)mode ? 0 : -FI_ENODATA);
	fi_freeinfo(found);
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

static void try_flag(uint64_t flag, const char *name)
{
	struct fi_info *hints = hints_of_kind();

	hints->tx_attr->op_flags = flag;
	fi_freeinfo(ask(hints, "Flags of transmit contexts", name));
	hints = hints_of_kind();
	hints->rx_attr->op_flags = flag;
	fi_freeinfo(ask(hints, "Flags of receive contexts", name));
}

static void try_order(uint64_t order, const char *name)
{
	struct fi_info *hints = hints_of_kind();

	hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
	fi_freeinfo(ask(hints, "Message order", name));
}

static void try_completion_orders(void)
{
	struct fi_info *hints;

	hints = hints_of_kind();
	hints->tx_attr->comp_order = FI_ORDER_STRICT;
	fi_freeinfo(ask(hints, "Completion order", "FI_ORDER_STRICT"));
	hints = hints_of_kind();
	hints->rx_attr->comp_order = FI_ORDER_DATA;
	fi_freeinfo(ask(hints, "Completion order", "FI_ORDER_DATA"));
}

static void try_threading(uint64_t threading, const char *name)
{
	struct fi_info *hints = hints_of_kind();

	hints->domain_attr->threading = (enum fi_threading)threading;
	fi_freeinfo(ask(hints, "Threading", name));
}

static void try_progress(uint64_t progress, const char *name)
{
	struct fi_info *hints = hints_of_kind();

	hints->domain_attr->data_progress = (enum fi_progress)progress;
	fi_freeinfo(ask(hints, "Progress", name));
}

static void try_format(uint64_t format, const char *name)
{
	struct fi_info *hints = hints_of_kind();

	hints->addr_format = (uint32_t)format;
	fi_freeinfo(ask(hints, "Address formats", name));
}

static void try_contexts(void)
{
	struct fi_info *hints;

	hints = hints_of_kind();
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	fi_freeinfo(ask(hints, "Contexts", "FI_SHARED_CONTEXT, to transmit"));
	hints = hints_of_kind();
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	fi_freeinfo(ask(hints, "Contexts", "FI_SHARED_CONTEXT, to receive"));
}

void try_attributes(void)
{
	size_t i;

	each_bit(FI_TYPE_CAPS, try_cap);
	each_bit(FI_TYPE_MODE, try_mode);
	each_bit(FI_TYPE_MR_MODE, try_mr_mode);
	try_legacy_modes();
	each_bit(FI_TYPE_OP_FLAGS, try_flag);
	each_bit(FI_TYPE_MSG_ORDER, try_order);
	try_completion_orders();
	each_number(FI_TYPE_THREADING, try_threading);
	each_number(FI_TYPE_PROGRESS, try_progress);
	for (i = 0; i < ARRAY_SIZE(formats); i++)
		named(FI_TYPE_ADDR_FORMAT, formats[i], try_format);
	try_contexts();
}
