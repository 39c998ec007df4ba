/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's identity, and its run-time parameters. */
#ifndef VRB_PROV_H
#define VRB_PROV_H

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

extern struct fi_provider vrb_prov;

/* Values of FI_VERBS_*, documented in param.c. Constant once the provider is loaded. */
struct vrb_params {
	int tx_size, rx_size;		  /* default queue depths */
	int tx_iov_limit, rx_iov_limit;	  /* default scatter/gather entries */
	int inline_size;		  /* default inject size; 0: the device's maximum */
	int min_rnr_timer;		  /* 0..31, encoded as in the InfiniBand specification */
	int rnr_retry_count, retry_count; /* 0..7 */
	int ack_timeout;	/* 0..31, encoded likewise; 0: the connection manager's value */
	int resolve_timeout;	/* in ms, for address and route resolution */
	int cqread_bunch_size;	/* completions polled from the device at once */
	int gid_idx;		/* -1: chosen by type and scope */
	int rdm_buffer_size;	/* size of a packet with its headers in bytes */
	int rdm_segmented_size; /* largest message that is sent in several packets */
	int rdm_use_write;	/* rendezvous: the sender writes */
	int rdm_use_windows;	/* rendezvous: memory windows; -1: if they work well */
	/* Bytes of unexpected messages after which peers are told to stop. */
	int rdm_unexpected_size;
	int rdm_connect_timeout;   /* in ms */
	int rdm_auto_progress;	   /* use a thread even without FI_PROGRESS_AUTO */
	int rdm_rx_buffers;	   /* in the shared receive queue */
	const char *rdm_transport; /* rc, ud, auto; NULL: rc */
	int shm;		   /* packets to peers on the same host use shared memory */
	int max_conn;		   /* per endpoint; 0: no limit */
	int accept_rate;	   /* requests of unknown peers per host and second; 0: no limit */
	const char *peers;	   /* peers that may connect: any, known */
	const char *auth_key, *auth_key_file; /* for endpoints without an auth_key */
	const char *device_name, *iface;      /* NULL: all */
	int use_odp, use_dmabuf;
	int thread_safe; /* lock as for FI_THREAD_SAFE, whatever fi_domain is called with */
	int tclass_best_effort, tclass_low_latency, tclass_dedicated_access; /* DSCPs */
	int tclass_bulk_data, tclass_scavenger, tclass_network_ctrl;
	const char *nic_affinity, *nic_affinity_policy;
	const char *tclass_sl; /* service levels by DSCP */
	/* First and longest wait after a receiver was not ready, in us; only efa has them. */
	int timeout_interval, max_timeout;
	/*
	 * Only efa has these: its name for shm, whether the device's RDMA reads are used, and the
	 * shortest messages and RMA reads that use them.
	 */
	int enable_shm_transfer, use_device_rdma;
	size_t inter_min_read_message_size, inter_min_read_write_size;
};

extern struct vrb_params vrb_params;

/* Returns true if FI_VERBS_RDM_TRANSPORT has this value. */
static inline bool vrb_rdm_transport_is(const char *name)
{
	return vrb_params.rdm_transport && !strcasecmp(vrb_params.rdm_transport, name);
}

/* Returns true if reliable datagrams with these attributes start on unreliable ones. */
static inline bool vrb_rdm_wants_ud(const struct fi_info *info)
{
	return info->ep_attr->protocol == FI_PROTO_RXD || vrb_rdm_transport_is("ud") ||
	       vrb_rdm_transport_is("auto");
}

/*
 * Initializes the state that verbs and efa share: FI_VERBS_* parameters and statistics. Only the
 * first call has an effect. vrb_prov_cleanup() frees the caches of discovery.
 */
void vrb_prov_start(void);
void vrb_prov_cleanup(void);
void vrb_params_init(void);
/* Reads FI_OFI_RXM_* parameters for which no FI_VERBS_* is set. */
void vrb_rxm_params_init(struct vrb_params *params);

#endif
