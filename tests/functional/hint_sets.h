/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hints with which well-known users of the interface call fi_getinfo. */
#ifndef HINT_SETS_H
#define HINT_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

struct hint_set {
	const char *user;
	uint32_t version;      /* FI_VERSION(1, 9) if 0 */
	const char *prov_name; /* "verbs" if NULL */
	uint32_t protocol;
	uint64_t caps, mode;
	int mr_mode;
	enum fi_threading threading;
	enum fi_progress control, data;
	enum fi_av_type av_type;
	uint64_t order;	   /* of messages, both directions */
	uint64_t op_flags; /* transmit */
	size_t cq_data_size, inject_size, tx_contexts, rx_contexts;
	uint32_t addr_format, tclass;
	bool optional; /* may be refused, because not every build or machine supports it */
};

extern const struct hint_set hint_sets[];
extern const size_t hint_set_count;

#endif
