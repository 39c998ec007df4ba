/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of FI_VERBS_* parameters. */

#include <limits.h>
#include "prov/base/params.h"
#include "prov.h"
#include "tclass.h"

#define INT(field_, def_, min_, max_, doc_) \
	OFI_PARAM(vrb_params, field_, INT, def_, min_, max_, doc_)
#define BOOL(field_, def_, doc_) OFI_PARAM(vrb_params, field_, BOOL, def_, 0, 1, doc_)
/* `text_` is the documented default; the field is NULL unless the parameter is set. */
#define STRING(field_, text_, strict_, doc_)                                              \
	{                                                                                 \
		.name = #field_, .type = FI_PARAM_STRING, .text = (text_), .doc = (doc_), \
		.offset = offsetof(struct vrb_params, field_), .strict = (strict_)        \
	}
#define STR(field_, doc_)	    STRING(field_, NULL, false, doc_)
#define STR_OR(field_, text_, doc_) STRING(field_, text_, false, doc_)
/* A parameter of security: an empty string is refused, rather than taken for no request. */
#define STRICT(field_, doc_)		    STRING(field_, NULL, true, doc_)
#define NO_EFFECT(name_, type_, def_, doc_) OFI_PARAM_UNUSED(name_, type_, def_, USHRT_MAX, doc_)

const struct ofi_param vrb_param_table[] = {
	INT(tx_size, 384, 1, INT_MAX,
	    "Size of a transmit queue in operations if the hints say 0; always 65536 for reliable datagrams"),
	INT(rx_size, 384, 1, INT_MAX,
	    "Size of a receive queue if the hints say 0; reliable datagrams keep all receives that are posted"),
	INT(tx_iov_limit, 4, 1, INT_MAX,
	    "Buffers per transmit operation if the hints say 0; always 4 for reliable datagrams"),
	INT(rx_iov_limit, 4, 1, INT_MAX,
	    "Buffers per receive if the hints say 0; always 4 for reliable datagrams"),
	INT(inline_size, 256, 0, INT_MAX,
	    "Inject size in bytes if the hints say 0; 0 is the device's maximum. Reliable datagrams inject whatever fits in a packet, and post up to this many bytes, including the header, inline in the work request"),
	INT(min_rnr_timer, 12, 0, 31,
	    "How long a peer waits before it resends when no receive is posted, in InfiniBand's encoding (12 is 0.64 ms, 0 is 655 ms)"),
	INT(rnr_retry_count, 7, 0, 7,
	    "How many times a peer resends when no receive is posted; 7 is forever"),
	INT(retry_count, 6, 0, 7,
	    "How many times an unacknowledged packet is resent; soft-RoCE takes 7 as forever"),
	INT(ack_timeout, 0, 0, 31,
	    "How long to wait for an acknowledgment, 4.096 us times 2 to this power; 0 leaves it to the connection manager, and means 17 for queue pairs that FI_VERBS_RDM_TRANSPORT=auto makes"),
	INT(resolve_timeout, 2000, 1, INT_MAX, "Milliseconds to resolve an address or a route"),
	INT(cqread_bunch_size, 8, 1, 32, "Completions polled from the device at once"),
	INT(gid_idx, -1, -1, 255,
	    "Index of the port's GID to use; -1 chooses the best one by type and scope"),
	INT(rdm_buffer_size, 16896, 1024, 1048576,
	    "Reliable datagrams: bytes of a packet with its headers, and of each posted receive buffer"),
	INT(rdm_segmented_size, 65536, 0, INT_MAX,
	    "Reliable datagrams: bytes of the largest message that is sent in several packets; larger ones use RDMA"),
	INT(rdm_use_write, -1, -1, 1,
	    "Reliable datagrams: large messages are written by the sender (1), read by the "
	    "receiver (0), or whichever is faster on the device (-1): on all known devices, reading"),
	INT(rdm_use_windows, -1, -1, 1,
	    "Reliable datagrams: a peer gets access to a large message through a memory window (1), through a registration of the "
	    "message (0), or through a window unless the device is soft-RoCE (-1); without windows the key is valid for all peers until the message is complete"),
	INT(rdm_unexpected_size, 67108864, 65536, INT_MAX,
	    "Reliable datagrams: bytes of unexpected messages that an endpoint buffers; beyond that its peers only announce their messages"),
	INT(rdm_connect_timeout, 10000, 1, INT_MAX,
	    "Reliable datagrams: milliseconds without any response from a peer or its host after which operations to it fail"),
	INT(rdm_rx_buffers, 512, 1, 32768,
	    "Reliable datagrams: receive buffers that an endpoint keeps posted, for all peers together"),
	STR_OR(rdm_transport, "rc",
	       "Reliable datagrams: rc, a queue pair for each peer, ud, one queue pair of unreliable datagrams for all peers, or auto, "
	       "which is ud, but connections that carry much get queue pairs; both ends must choose the same, or ud and auto"),
	BOOL(shm, 1,
	     "Reliable datagrams: processes of one user on one host exchange packets through shared memory, unless they sleep, and copy large messages from each other's memory"),
	INT(max_conn, 0, 0, INT_MAX,
	    "Reliable datagrams: maximum number of connections of an endpoint; to make room for another, the "
	    "least recently used one ends once nothing is in flight on it. With FI_VERBS_RDM_TRANSPORT=auto it limits queue pairs instead, which the least used connections give back. 0 is no limit"),
	INT(accept_rate, 256, 0, 1000000,
	    "Reliable datagrams: connection requests per second that an endpoint accepts from one host "
	    "for peers that are not in its address vector, after a burst of four times as many; with "
	    "FI_VERBS_RDM_TRANSPORT=auto their requests for queue pairs count, too; 0 is no limit"),
	STRICT(peers,
	       "Reliable datagrams: peers that may connect: any, which is the default, or known (only addresses in the endpoint's address vector)"),
	STRICT(auth_key,
	       "Reliable datagrams: job secret of endpoints opened without auth_key; all processes of a user can "
	       "read each other's environment, so a file is better"),
	STRICT(auth_key_file,
	       "Reliable datagrams: file with the job secret, accessible to its owner only, or to root and a group that reads it"),
	STR(device_name, "Devices to use: a comma-separated list of names or prefixes of names"),
	STR_OR(nic_affinity, "auto",
	       "In which order devices are offered: auto, the nearest to the process's processors first, and "
	       "equals in turn by the process's number on the host; none; or manual: and a comma-separated list"),
	STR(iface,
	    "Network interfaces to use: a comma-separated list of names or prefixes of names"),
	INT(tclass_best_effort, 0, 0, 63, "DSCP of the traffic class FI_TC_BEST_EFFORT"),
	INT(tclass_low_latency, 18, 0, 63, "DSCP of the traffic class FI_TC_LOW_LATENCY"),
	INT(tclass_dedicated_access, 46, 0, 63, "DSCP of the traffic class FI_TC_DEDICATED_ACCESS"),
	INT(tclass_bulk_data, 10, 0, 63, "DSCP of the traffic class FI_TC_BULK_DATA"),
	INT(tclass_scavenger, 1, 0, 63, "DSCP of the traffic class FI_TC_SCAVENGER"),
	INT(tclass_network_ctrl, 48, 0, 63, "DSCP of the traffic class FI_TC_NETWORK_CTRL"),
	STR(tclass_sl,
	    "Service levels of traffic classes by their DSCP: a comma-separated list like 18=3,46=5; "
	    "without one, that of the route"),
	BOOL(use_odp, 0,
	     "Register memory for on-demand paging instead of pinning it, if the device supports that"),
	BOOL(use_dmabuf, 1,
	     "Register device memory as dma-buf before trying the kernel's peer memory"),
	BOOL(thread_safe, 0,
	     "Lock as for FI_THREAD_SAFE, whatever the program promises of its threads"),
	NO_EFFECT(prefer_xrc, BOOL, 0,
		  "Offer XRC endpoints before others; no effect, there are none"),
	NO_EFFECT(xrcd_filename, STRING, 0,
		  "File of the XRC domain; no effect, there are no XRC endpoints"),
	NO_EFFECT(
		dgram_use_name_server, BOOL, 0,
		"Start a name server for addresses of datagram endpoints; no effect, none is needed"),
	NO_EFFECT(dgram_name_server_port, INT, 5678,
		  "Port of this name server; no effect, there is none"),
	NO_EFFECT(name_server_port, INT, 5678, "Another name of the same; no effect"),
	STR(nic_affinity_policy,
	    "Name of FI_VERBS_NIC_AFFINITY in other releases; used if that is not set"),
	NO_EFFECT(
		affinity_device, STRING, 0,
		"Device from which distances are measured; no effect, they are measured from the process's processors"),
	NO_EFFECT(
		nic_affinity_config, STRING, 0,
		"Assignment of devices to processors; no effect, FI_VERBS_NIC_AFFINITY=manual: takes a list of devices"),
};

const size_t vrb_param_count = sizeof(vrb_param_table) / sizeof(vrb_param_table[0]);

struct vrb_params vrb_params;

void vrb_params_init(void)
{
	ofi_params_load(&vrb_prov, vrb_param_table, vrb_param_count, &vrb_params);
	vrb_tclass_init();
	vrb_rxm_params_init(&vrb_params);
}
