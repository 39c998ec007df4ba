/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints of one process that know each other. */
#ifndef RDM_H
#define RDM_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "check.h"

struct rdm_side {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer, self;
};

struct rdm_pair {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct rdm_side side[2];
};

#define RDM_PROV_KEYS (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/*
 * Sets hints to endpoints of this type on the tested device: with IP addresses of verbs, or of the
 * provider that WEFT_PROVIDER names, in its own format.
 */
void rdm_hint_device(struct fi_info *hints);
/*
 * Returns the API version that has what the hints ask for: FI_MR_DMABUF came with 1.20, variants of
 * FI_DIRECTED_RECV with 2.0.
 */
uint32_t rdm_version(const struct fi_info *hints);
/* Returns the name of the transport that such endpoints begin with: rc, ud or srd. */
const char *rdm_transport(void);
/* Returns true if a connection of such endpoints may use that transport. */
bool rdm_may_use(const char *transport);

/* Deviations that a test wants; NULL and 0 mean none. */
struct rdm_change {
	void (*hints)(struct fi_info *hints);
	void (*info)(struct fi_info *info); /* what the objects are opened with */
	void (*bind)(struct rdm_pair *pair,
		     int side); /* called for each endpoint before it is enabled */
	enum fi_wait_obj wait;	/* wait object of the completion queues */
	int av_bits;		/* rx_ctx_bits of the address vectors */
};

/* Opens the pair; mr_mode is that of the hints. */
void rdm_open(struct rdm_pair *pair, int mr_mode);
void rdm_open_with(struct rdm_pair *pair, int mr_mode, const struct rdm_change *change);
void rdm_close(struct rdm_pair *pair);
/*
 * Opens a side's endpoint and completion queue again, which have entries only for operations with
 * FI_COMPLETION. The other side does not know the new address.
 */
void rdm_reopen_selective(struct rdm_pair *pair, int side);
/*
 * Waits for a completion on one side while both make progress. Those of the other side stay in its
 * queue.
 */
struct fi_cq_tagged_entry rdm_wait(struct rdm_pair *pair, int side);
/* Writes from side 0 to side 1, behind a fence, with a completion. */
void rdm_write_fenced(struct rdm_pair *pair, const void *from, struct fi_rma_iov to);
/*
 * Takes the locks of both endpoints. The progress thread of the library may do an RMA or an atomic
 * at its target; the device orders that for the test, but ThreadSanitizer sees only locks. A test
 * calls this between its own accesses to the target and those of the peer.
 */
void rdm_order(struct rdm_pair *pair);
/* Waits until a counter of side 1 has the value, while side 0 makes progress, too. */
void rdm_reaches(struct rdm_pair *pair, struct fid_cntr *cntr, uint64_t value);
/* Waits for a failure instead. */
struct fi_cq_err_entry rdm_wait_error(struct rdm_pair *pair, int side);
/*
 * Sends a tagged message with the bytes of the seed from side 0 to side 1, and waits for both
 * completions.
 */
void rdm_exchange(struct rdm_pair *pair, uint8_t *out, uint8_t *in, size_t len, unsigned int seed);

#endif
