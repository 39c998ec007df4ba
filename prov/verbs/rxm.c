/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_OFI_RXM_*: what the layer for reliable datagrams of other releases is told, for the provider's own. */
#include <limits.h>
#include <ofi/params.h>
#include <rdma/fi_errno.h>
#include "prov.h"
#include "rdm/wire.h"

struct values {
	int buffer_size, eager_limit, sar_limit, use_rndv_write, data_auto_progress;
};

#define BUFFER_MIN (1024 - (long)VRB_WIRE_HEADER_MAX)
#define BUFFER_MAX (1048576 - (long)VRB_WIRE_HEADER_MAX)

#define ROW(field_, type_, def_, min_, max_, doc_)                                       \
	{                                                                                \
		.name = #field_, .type = FI_PARAM_##type_, .def = (def_), .min = (min_), \
		.max = (max_), .doc = (doc_), .offset = offsetof(struct values, field_)  \
	}
#define NO_EFFECT(name_, type_, def_, doc_)                                                        \
	{                                                                                          \
		.name = #name_, .type = FI_PARAM_##type_, .def = (def_), .min = 0, .max = INT_MAX, \
		.doc = (doc_), .unused = true                                                      \
	}

static const struct ofi_param rows[] = {
	ROW(buffer_size, INT, 16384 - (long)VRB_WIRE_HEADER_MAX, BUFFER_MIN, BUFFER_MAX,
	    "Bytes of the largest message that goes in one packet; FI_VERBS_RDM_BUFFER_SIZE, which "
	    "counts more, without headers"),
	ROW(eager_limit, INT, 16384 - (long)VRB_WIRE_HEADER_MAX, BUFFER_MIN, BUFFER_MAX,
	    "Another name of the same"),
	ROW(sar_limit, INT, 65536, 0, INT_MAX,
	    "The largest message that goes in several packets; FI_VERBS_RDM_SEGMENTED_SIZE counts "
	    "more"),
	ROW(use_rndv_write, BOOL, 0, 0, 1,
	    "Large messages are written by the sender; FI_VERBS_RDM_USE_WRITE counts more"),
	ROW(data_auto_progress, BOOL, 0, 0, 1,
	    "A thread of the domain makes progress, as with FI_PROGRESS_AUTO"),
	NO_EFFECT(use_srx, BOOL, 1, "Receive for all peers from one queue; no effect, it is so"),
	NO_EFFECT(enable_direct_send, BOOL, 1,
		  "Send from the application's memory where it is registered; no effect"),
	NO_EFFECT(enable_passthru, BOOL, 0, "No effect"),
	NO_EFFECT(enable_dyn_rbuf, BOOL, 0, "No effect"),
	NO_EFFECT(comp_per_progress, INT, 1, "Completions taken at once; no effect"),
	NO_EFFECT(cm_progress_interval, INT, 10000,
		  "Microseconds between looks at connections; no effect, a thread handles their "
		  "events"),
	NO_EFFECT(cq_eq_fairness, INT, 128, "No effect"),
	NO_EFFECT(tx_size, INT, 65536,
		  "Operations that an endpoint holds; no effect, memory is taken as it is needed"),
	NO_EFFECT(rx_size, INT, 65536, "Receives that an endpoint holds; no effect"),
	NO_EFFECT(msg_tx_size, INT, 128, "Send queue of a connection; no effect"),
	NO_EFFECT(msg_rx_size, INT, 512, "Receive queue; no effect"),
	NO_EFFECT(detect_hmem_iface, BOOL, 0, "No effect, there is memory of the system only"),
	NO_EFFECT(num_msg_eps, INT, 1, "Connections to a peer; no effect"),
	NO_EFFECT(def_wait_obj, STRING, 0, "No effect"),
	NO_EFFECT(def_tcp_wait_obj, STRING, 0, "No effect"),
};

static struct fi_provider rxm = { .name = "ofi_rxm" };

/* The layer's parameter is set, and the provider's own is not. */
static bool counts(const char *layers, const char *own)
{
	int value;

	return !fi_param_get(&rxm, layers, &value) &&
	       fi_param_get(&vrb_prov, own, &value) == -FI_ENODATA;
}

int vrb_rxm_params_init(struct vrb_params *params)
{
	struct values values;
	int ret = ofi_params_load(&rxm, rows, sizeof(rows) / sizeof(rows[0]), &values);

	if (ret)
		return ret;
	if (counts("eager_limit", "rdm_buffer_size"))
		params->rdm_buffer_size = values.eager_limit + (int)VRB_WIRE_HEADER_MAX;
	if (counts("buffer_size", "rdm_buffer_size"))
		params->rdm_buffer_size = values.buffer_size + (int)VRB_WIRE_HEADER_MAX;
	if (counts("sar_limit", "rdm_segmented_size"))
		params->rdm_segmented_size = values.sar_limit;
	if (counts("use_rndv_write", "rdm_use_write"))
		params->rdm_use_write = values.use_rndv_write;
	params->rdm_auto_progress = values.data_auto_progress;
	return 0;
}
