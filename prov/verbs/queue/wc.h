/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Translates failed work completions to libfabric's terms. */
#ifndef VRB_WC_H
#define VRB_WC_H

#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/fi_eq.h>

/* fi_cq_err_entry.err_data: the description of the operation for fi_cq_strerror. */
struct vrb_wc_detail {
	uint32_t size; /* size of this structure, so that a reader can recognize it */
	uint32_t vendor_err;
	uint64_t flags; /* FI_MSG | FI_SEND and similar flags */
	uint64_t len;	/* length of the operation */
	uint32_t qp_num, peer_qp_num;
	char peer[64]; /* its address, "" if unknown */
};

/* Fills entry from a failed completion, except err_data. */
void vrb_wc_error(const struct ibv_wc *wc, struct fi_cq_err_entry *entry);
void vrb_wc_detail(const struct ibv_wc *wc, struct vrb_wc_detail *detail);
/*
 * Writes "RNR retry counter exceeded (13), vendor 0x87: send of 4096 B to 10.0.0.2:7471, QP 0x1a3
 * to 0x2b1: ..."
 */
const char *vrb_wc_text(int status, const struct vrb_wc_detail *detail, char *buf, size_t len);

#endif
