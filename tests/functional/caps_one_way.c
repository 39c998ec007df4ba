/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Capabilities that cost something are offered on request only. A program may request them for one
 * direction, and gets them, with or without capabilities of the endpoint.
 */
#include "rdm.h"

static void ask(enum fi_ep_type type, uint64_t caps, uint64_t tx, uint64_t rx)
{
	const uint64_t costly = FI_TRIGGER | FI_MULTI_RECV | FI_RMA_EVENT | FI_SOURCE_ERR;
	struct fi_info *hints = fi_allocinfo(), *info;

	rdm_hint_device(hints);
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | RDM_PROV_KEYS;
	hints->caps = caps;
	hints->tx_attr->caps = tx;
	hints->rx_attr->caps = rx;
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EQUAL(info->caps & costly & (tx | rx), costly & (tx | rx));
	EQUAL(info->tx_attr->caps & tx, tx);
	EQUAL(info->rx_attr->caps & rx, rx);
	fi_freeinfo(info);
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EQUAL((info->caps | info->tx_attr->caps | info->rx_attr->caps) & costly & (tx | rx), 0);
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void test(void)
{
	ask(FI_EP_MSG, 0, FI_MSG | FI_TRIGGER, 0);
	ask(FI_EP_MSG, FI_MSG, FI_MSG | FI_TRIGGER, FI_MSG);
	ask(FI_EP_MSG, 0, FI_MSG, FI_MSG | FI_TRIGGER | FI_MULTI_RECV);
	ask(FI_EP_RDM, 0, FI_RMA | FI_TRIGGER, FI_RMA | FI_RMA_EVENT | FI_TRIGGER);
	ask(FI_EP_RDM, FI_MSG | FI_RMA, 0, FI_MSG | FI_RMA_EVENT | FI_SOURCE_ERR);
}

int main(void)
{
	return run_test(test);
}
