/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of FI_VERBS_* parameters. */

#include <limits.h>
#include "prov/base/params.h"
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

#define BOOL(field_, def_, doc_)                                                      \
	{                                                                             \
		.name = #field_, .type = FI_PARAM_BOOL, .def = (def_), .doc = (doc_), \
		.offset = offsetof(struct vrb_params, field_)                         \
	}
/* Of other releases, for what is not here. */
#define NO_EFFECT(name_, type_, def_, text_, doc_)                                 \
	{                                                                          \
		.name = #name_, .type = FI_PARAM_##type_, .def = (def_), .min = 0, \
		.max = USHRT_MAX, .text = (text_), .doc = (doc_), .unused = true   \
	}

const struct ofi_param vrb_param_table[] = {
	INT(tx_size, 384, 1, INT_MAX, "Operations a transmit queue holds when the hints say 0"),
	INT(rx_size, 384, 1, INT_MAX, "Receives a receive queue holds when the hints say 0"),
	INT(tx_iov_limit, 4, 1, INT_MAX, "Buffers a transmit operation takes when the hints say 0"),
	INT(rx_iov_limit, 4, 1, INT_MAX, "Buffers a receive takes when the hints say 0"),
	INT(inline_size, 256, 0, INT_MAX,
	    "Bytes that can be injected when the hints say 0; 0 is the maximum of the device"),
	INT(min_rnr_timer, 12, 0, 31,
	    "How long a peer waits before it sends again when no receive is posted, in the encoding of InfiniBand (12 is 0.64 ms, 0 is 655 ms)"),
	INT(rnr_retry_count, 7, 0, 7, "How often it does so; 7 is for ever"),
	INT(retry_count, 6, 0, 7,
	    "How often a packet that is not acknowledged is sent again; to soft-RoCE 7 is for ever"),
	INT(ack_timeout, 0, 0, 31,
	    "How long an acknowledgement may take, 4.096 us times 2 to this power; 0 leaves it to the connection manager"),
	INT(resolve_timeout, 2000, 1, INT_MAX, "Milliseconds to resolve an address or a route"),
	INT(cqread_bunch_size, 8, 1, 32, "Completions taken from the device at once"),
	INT(gid_idx, -1, -1, 255,
	    "GID of the port to use, by its index; -1 takes the one that is best by type and scope"),
	INT(rdm_buffer_size, 16896, 1024, 1048576,
	    "Reliable datagrams: bytes of a packet with its headers, of which there is one buffer for each receive"),
	INT(rdm_segmented_size, 65536, 0, INT_MAX,
	    "Reliable datagrams: the largest message that goes in several packets; larger ones go by RDMA"),
	INT(rdm_use_write, -1, -1, 1,
	    "Reliable datagrams: large messages are written by the sender (1), read by the "
	    "receiver (0), or what is faster on the device (-1): they are read on all known ones"),
	INT(rdm_use_windows, -1, -1, 1,
	    "Reliable datagrams: a peer gets access to a large message by a memory window (1), by a registration of the "
	    "message (0), or by a window unless the device is soft-RoCE (-1); without windows the key is good for all peers until the message is complete"),
	INT(rdm_unexpected_size, 67108864, 65536, INT_MAX,
	    "Reliable datagrams: bytes of unexpected messages that an endpoint takes before peers only announce theirs"),
	INT(rdm_connect_timeout, 10000, 1, INT_MAX,
	    "Reliable datagrams: milliseconds for which neither a peer nor its host is heard of until operations to it fail"),
	INT(rdm_rx_buffers, 512, 1, 32768,
	    "Reliable datagrams: receive buffers that an endpoint has posted, for all peers"),
	INT(max_conn, 0, 0, INT_MAX,
	    "Reliable datagrams: connections that an endpoint has at most; for another one the "
	    "one not used for longest ends, once nothing is under way on it. 0 is no limit"),
	INT(accept_rate, 256, 0, 1000000,
	    "Reliable datagrams: connection requests a second that an endpoint takes from one host "
	    "for peers that are not in its address vector, after a burst of four times as many; 0 is no limit"),
	STR(peers,
	    "Reliable datagrams: who may connect, any, or known: only addresses in the endpoint's address vector"),
	STR(auth_key,
	    "Reliable datagrams: job secret of endpoints that are given no auth_key; others can see "
	    "the environment of a process of their user, a file is better"),
	STR(auth_key_file,
	    "Reliable datagrams: file with the job secret, to which nobody but its owner has access"),
	STR(device_name, "Devices to use: names or beginnings of names, with commas between them"),
	STR(iface,
	    "Network interfaces to use: names or beginnings of names, with commas between them"),
	BOOL(use_odp, 0,
	     "Register memory for paging on demand instead of pinning it, on devices that can"),
	NO_EFFECT(
		use_dmabuf, BOOL, 0, NULL,
		"Register device memory as dma-buf; no effect, only memory of the system can be registered"),
	NO_EFFECT(prefer_xrc, BOOL, 0, NULL,
		  "Offer XRC endpoints before others; no effect, there are none"),
	NO_EFFECT(xrcd_filename, STRING, 0, NULL,
		  "File of the XRC domain; no effect, there are no XRC endpoints"),
	NO_EFFECT(
		dgram_use_name_server, BOOL, 0, NULL,
		"Start a name server for addresses of datagram endpoints; no effect, none is needed"),
	NO_EFFECT(dgram_name_server_port, INT, 5678, NULL,
		  "Port of this name server; no effect, there is none"),
	NO_EFFECT(name_server_port, INT, 5678, NULL, "Another name of the same; no effect"),
	NO_EFFECT(
		nic_affinity_policy, STRING, 0, "none",
		"Which devices to prefer by their distance to the process: none, manual, auto; no effect, fi_getinfo orders by addresses"),
	NO_EFFECT(affinity_device, STRING, 0, NULL,
		  "Device that distances are measured from; no effect"),
	NO_EFFECT(nic_affinity_config, STRING, 0, NULL,
		  "Which device for which processor; no effect"),
};

const size_t vrb_param_count = sizeof(vrb_param_table) / sizeof(vrb_param_table[0]);

struct vrb_params vrb_params;

int vrb_params_init(void)
{
	int ret = ofi_params_load(&vrb_prov, vrb_param_table, vrb_param_count, &vrb_params);

	return ret ? ret : vrb_rxm_params_init(&vrb_params);
}
