/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts the shorter structures of programs for older API versions. */
#include <string.h>
#include <ofi/wide.h>

enum {
	NIC = offsetof(struct fi_info, nic),
	TX_CLASS = offsetof(struct fi_tx_attr, tclass),
	EP_KEY = offsetof(struct fi_ep_attr, auth_key_size),
	XPU = offsetof(struct fi_ep_attr, xpu_ctx),
	CNTRS = offsetof(struct fi_domain_attr, cntr_cnt),
	CLASS = offsetof(struct fi_domain_attr, tclass),
	KEYS = offsetof(struct fi_domain_attr, max_ep_auth_key),
	GROUP = offsetof(struct fi_domain_attr, max_group_id),
};

/* The structures end here in programs for API versions before this one. */
static const struct {
	uint32_t before;
	size_t info, tx, ep, domain;
} ends[] = {
	{ FI_VERSION(1, 5), NIC, TX_CLASS, EP_KEY, CNTRS },
	{ FI_VERSION(1, 7), NIC, TX_CLASS, XPU, CLASS },
	{ FI_VERSION(1, 9), sizeof(struct fi_info), TX_CLASS, XPU, CLASS },
	{ FI_VERSION(1, 20), sizeof(struct fi_info), sizeof(struct fi_tx_attr), XPU, KEYS },
	{ FI_VERSION(2, 6), sizeof(struct fi_info), sizeof(struct fi_tx_attr), XPU, GROUP },
};

static void *widen_part(void *to, const void *from, size_t end)
{
	return from ? memcpy(to, from, end) : NULL;
}

struct fi_info *ofi_widen(uint32_t version, struct fi_info *info, struct ofi_wide *to)
{
	const size_t rows = sizeof(ends) / sizeof(ends[0]);
	size_t i;

	/* A program may have made the attributes of its fabric, without a version. */
	if (!version && info && info->fabric_attr)
		version = info->fabric_attr->api_version;
	for (i = 0; i < rows && !FI_VERSION_LT(version, ends[i].before); i++)
		;
	if (!info || !version || i == rows)
		return info;
	memset(to, 0, sizeof(*to));
	memcpy(&to->info, info, ends[i].info);
	to->info.tx_attr = widen_part(&to->tx, info->tx_attr, ends[i].tx);
	to->info.ep_attr = widen_part(&to->ep, info->ep_attr, ends[i].ep);
	to->info.domain_attr = widen_part(&to->domain, info->domain_attr, ends[i].domain);
	return &to->info;
}
