/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's identity, and its run-time parameters. */
#ifndef VRB_PROV_H
#define VRB_PROV_H

#include <stddef.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider vrb_prov;

/* Values of FI_VERBS_*; documented row by row in param.c. Constant once the provider is loaded. */
struct vrb_params {
	int tx_size, rx_size;		  /* default queue depths */
	int tx_iov_limit, rx_iov_limit;	  /* default scatter/gather entries */
	int inline_size;		  /* default inject size, 0 is the device's maximum */
	int min_rnr_timer;		  /* 0..31, IB encoding */
	int rnr_retry_count, retry_count; /* 0..7 */
	int ack_timeout;	 /* 0..31 IB encoding, 0 is what the connection manager computes */
	int resolve_timeout;	 /* ms, address and route resolution */
	int cqread_bunch_size;	 /* completions taken from the device at once */
	int gid_idx;		 /* -1 is chosen by type and scope */
	int rdm_buffer_size;	 /* bytes of a packet with its headers */
	int rdm_segmented_size;	 /* largest message that goes in several packets */
	int rdm_use_write;	 /* rendezvous: the sender writes */
	int rdm_use_windows;	 /* rendezvous: memory windows; -1: where they are good */
	int rdm_unexpected_size; /* bytes of unexpected messages before peers are told to stop */
	int rdm_connect_timeout; /* ms */
	int rdm_auto_progress;	 /* a thread, also where nobody asked for FI_PROGRESS_AUTO */
	int rdm_rx_buffers;	 /* in the shared receive queue */
	int max_conn;		 /* of an endpoint, 0 is no limit */
	int accept_rate;	 /* of one host's unknown peers a second, 0 is no limit */
	const char *peers;	 /* who may connect: any, known */
	const char *auth_key, *auth_key_file; /* of endpoints that were given no auth_key */
	const char *device_name, *iface;      /* NULL is all */
	int use_odp;
	int tclass_best_effort, tclass_low_latency, tclass_dedicated_access; /* code points */
	int tclass_bulk_data, tclass_scavenger, tclass_network_ctrl;
	const char *nic_affinity, *nic_affinity_policy;
	const char *tclass_sl; /* service levels by code point */
};

extern struct vrb_params vrb_params;
int vrb_params_init(void);
/* FI_OFI_RXM_*, for what FI_VERBS_* says nothing of. */
int vrb_rxm_params_init(struct vrb_params *params);
/* Sees once to it that memory stays whole when the process forks; before a device is opened. */
void vrb_fork_init(void);

#endif
