/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_OFI_RXM_*: parameters of the layered provider of other releases, applied to the provider's
 * own.
 */
#include <assert.h>
#include <limits.h>
#include "prov/base/params.h"
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/wire.h"

struct values {
	int buffer_size, eager_limit, sar_limit, use_rndv_write, data_auto_progress;
};

#define HEADER 416 /* bytes of a packet for headers, which these parameters do not include */
static_assert(HEADER == OFI_RDM_WIRE_HEADER_MAX, "the table's numbers are without it");

#define INT(field_, def_, min_, max_, doc_) OFI_PARAM(values, field_, INT, def_, min_, max_, doc_)
#define BOOL(field_, def_, doc_)	    OFI_PARAM(values, field_, BOOL, def_, 0, 1, doc_)
#define NO_EFFECT(name_, type_, def_, doc_) OFI_PARAM_UNUSED(name_, type_, def_, USHRT_MAX, doc_)

static const struct ofi_param rxm_param_table[] = {
	INT(buffer_size, 16480, 608, 1048160,
	    "Largest message in bytes that is sent in one packet; FI_VERBS_RDM_BUFFER_SIZE takes precedence and includes room for headers"),
	INT(eager_limit, 16480, 608, 1048160, "Another name of the same"),
	INT(sar_limit, 65536, 0, INT_MAX,
	    "Largest message in bytes that is sent in several packets; FI_VERBS_RDM_SEGMENTED_SIZE takes precedence"),
	BOOL(use_rndv_write, 0,
	     "Large messages are written by the sender; FI_VERBS_RDM_USE_WRITE takes precedence"),
	BOOL(data_auto_progress, 0,
	     "A thread of the domain makes progress, as with FI_PROGRESS_AUTO"),
	NO_EFFECT(use_srx, BOOL, 1,
		  "Receive from all peers through one queue; no effect, this is always so"),
	NO_EFFECT(enable_direct_send, BOOL, 1,
		  "Send from registered memory without a copy; no effect"),
	NO_EFFECT(enable_passthru, BOOL, 0, "Without headers; no effect"),
	NO_EFFECT(enable_dyn_rbuf, BOOL, 0, "Receive without a copy; no effect"),
	NO_EFFECT(comp_per_progress, INT, 1, "Completions polled at once; no effect"),
	NO_EFFECT(
		cm_progress_interval, INT, 10000,
		"Microseconds between polls of connections; no effect, a thread handles their events"),
	NO_EFFECT(cq_eq_fairness, INT, 128, "Completions between polls of connections; no effect"),
	NO_EFFECT(tx_size, INT, 0, "Operations of an endpoint; no effect"),
	NO_EFFECT(rx_size, INT, 0, "Receives of an endpoint; no effect"),
	NO_EFFECT(msg_tx_size, INT, 128, "Send queue of a connection; no effect"),
	NO_EFFECT(msg_rx_size, INT, 512, "Receive queue; no effect"),
	NO_EFFECT(detect_hmem_iface, BOOL, 0,
		  "Detect the kind of memory of each buffer; no effect"),
	NO_EFFECT(num_msg_eps, INT, 1, "Connections to a peer; no effect"),
	NO_EFFECT(def_wait_obj, STRING, 0, "Wait object of connections; no effect"),
	NO_EFFECT(def_tcp_wait_obj, STRING, 0, "The same with TCP; no effect"),
};

#define COUNT (sizeof(rxm_param_table) / sizeof(rxm_param_table[0]))

static struct fi_provider rxm = { .name = "ofi_rxm" };

/* Returns true if the parameter of ofi_rxm is set and the provider's own is not. */
static bool is_rxm(const char *layers, const char *own)
{
	int value;

	return !fi_param_get(&rxm, layers, &value) &&
	       fi_param_get(&vrb_prov, own, &value) == -FI_ENODATA;
}

void vrb_rxm_params_init(struct vrb_params *params)
{
	struct values values;

	ofi_params_load(&rxm, rxm_param_table, COUNT, &values);
	if (is_rxm("eager_limit", "rdm_buffer_size"))
		params->rdm_buffer_size = values.eager_limit + HEADER;
	if (is_rxm("buffer_size", "rdm_buffer_size"))
		params->rdm_buffer_size = values.buffer_size + HEADER;
	if (is_rxm("sar_limit", "rdm_segmented_size"))
		params->rdm_segmented_size = values.sar_limit;
	if (is_rxm("use_rndv_write", "rdm_use_write"))
		params->rdm_use_write = values.use_rndv_write;
	params->rdm_auto_progress = values.data_auto_progress;
}
