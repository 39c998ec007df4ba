/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sizes of the structures in each symbol version, and which versions have been called. */
#include <limits.h>
#include <stdatomic.h>
#include "abi.h"

static const size_t sizes[][OFI_ABI_PARTS] = {
	/* fi_info, tx_attr, rx_attr, ep_attr, domain_attr, fabric_attr */
	[OFI_ABI_1_0] = { 112, 72, 64, 80, 120, 32 },
	[OFI_ABI_1_1] = { 112, 72, 64, 96, 184, 32 },
	[OFI_ABI_1_2] = { 120, 72, 64, 96, 184, 32 },
	[OFI_ABI_1_3] = { 120, 80, 64, 96, 192, 32 },
	[OFI_ABI_1_7] = { 120, 80, 64, 96, 200, 32 },
	[OFI_ABI_1_8] = { 120, 80, 64, 96, 208, 32 },
	[OFI_ABI_1_9] = { 120, 80, 64, 96, 224, 32 },
	[OFI_ABI_1_10] = { 120, 80, 64, 104, 232, 32 },
};

_Static_assert(sizeof(struct fi_info) == 120 && sizeof(struct fi_tx_attr) == 80 &&
		       sizeof(struct fi_rx_attr) == 64 && sizeof(struct fi_ep_attr) == 104 &&
		       sizeof(struct fi_domain_attr) == 232 && sizeof(struct fi_fabric_attr) == 32,
	       "a structure grew: it needs a new symbol version and a new row of sizes");

static atomic_uint oldest = UINT_MAX; /* oldest node called so far, UINT_MAX for none */

void ofi_abi_note(enum ofi_abi_node node)
{
	unsigned seen = atomic_load_explicit(&oldest, memory_order_relaxed);

	while (node < seen && !atomic_compare_exchange_weak(&oldest, &seen, node))
		;
}

const size_t *ofi_abi_sizes(enum ofi_abi_node node)
{
	return sizes[node];
}

size_t ofi_abi_seen(enum ofi_abi_part part)
{
	unsigned node = atomic_load_explicit(&oldest, memory_order_relaxed);

	return sizes[node == UINT_MAX ? OFI_ABI_1_0 : node][part];
}
