/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of FI_VERBS_* parameters. */

#include <limits.h>
#include <ofi/params.h>
#include "prov.h"

#define INT(field_, def_, min_, max_, doc_)                                                 \
	{                                                                                   \
		.name = #field_, .type = FI_PARAM_INT, .def = (def_), .min = (min_),        \
		.max = (max_), .doc = (doc_), .offset = offsetof(struct vrb_params, field_) \
	}
#define STR(field_, doc_)                                                \
	{                                                                \
		.name = #field_, .type = FI_PARAM_STRING, .doc = (doc_), \
		.offset = offsetof(struct vrb_params, field_)            \
	}

const struct ofi_param vrb_param_table[] = {
	INT(tx_size, 384, 1, INT_MAX, "Operations a transmit queue holds when the hints say 0"),
	INT(rx_size, 384, 1, INT_MAX, "Receives a receive queue holds when the hints say 0"),
	INT(tx_iov_limit, 4, 1, INT_MAX, "Buffers a transmit operation takes when the hints say 0"),
	INT(rx_iov_limit, 4, 1, INT_MAX, "Buffers a receive takes when the hints say 0"),
	INT(inline_size, 256, 0, INT_MAX,
	    "Bytes that can be injected when the hints say 0; 0 is the maximum of the device"),
	INT(min_rnr_timer, 12, 0, 31,
	    "How long a peer waits before it sends again when no receive is posted, in the "
	    "encoding "
	    "of InfiniBand (12 is 0.64 ms, 0 is 655 ms)"),
	INT(rnr_retry_count, 7, 0, 7, "How often it does so; 7 is for ever"),
	INT(retry_count, 6, 0, 7,
	    "How often a packet that is not acknowledged is sent again; to soft-RoCE 7 is for "
	    "ever"),
	INT(ack_timeout, 0, 0, 31,
	    "How long an acknowledgement may take, 4.096 us times 2 to this power; 0 leaves it to "
	    "the connection manager"),
	INT(resolve_timeout, 2000, 1, INT_MAX, "Milliseconds to resolve an address or a route"),
	INT(cqread_bunch_size, 8, 1, 1024, "Completions taken from the device at once"),
	INT(gid_idx, -1, -1, 255,
	    "GID of the port to use, by its index; -1 takes the one that is best by type and "
	    "scope"),
	STR(device_name, "Devices to use: names or beginnings of names, with commas between them"),
	STR(iface,
	    "Network interfaces to use: names or beginnings of names, with commas between them"),
};

const size_t vrb_param_count = sizeof(vrb_param_table) / sizeof(vrb_param_table[0]);

/* Names that the provider of other libfabric releases reads. */
static const char *const retired[] = {
	"use_odp",
	"prefer_xrc",
	"xrcd_filename",
	"use_dmabuf",
	"name_server_port",
	"dgram_use_name_server",
	"dgram_name_server_port",
	"nic_affinity_policy",
	"affinity_device",
	"nic_affinity_config",
	NULL,
};

struct vrb_params vrb_params;

int vrb_params_init(void)
{
	return ofi_params_load(&vrb_prov, vrb_param_table, vrb_param_count, retired, &vrb_params);
}
