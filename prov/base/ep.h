/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that endpoints of all types share: options, default operation flags, bindings. */
#ifndef OFI_EP_H
#define OFI_EP_H

#include <stdint.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_prov.h>
#include "cq.h"
#include "eq.h"

/*
 * The flags of receives; of these, those that may be defaults. Only FI_COMPLETION has an effect:
 * receives complete when the message is in its buffer, and the others are those of sends.
 */
#define OFI_RX_FLAGS                                                            \
	(OFI_RX_OP_FLAGS | FI_MORE | FI_FENCE | FI_INJECT | FI_REMOTE_CQ_DATA | \
	 FI_INJECT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define OFI_RX_OP_FLAGS (FI_COMPLETION | FI_TRANSMIT_COMPLETE)

struct ofi_cntr;

/*
 * Returns true if an endpoint with these capabilities has the calls for RMA: programs that ask for
 * messages only use them, too.
 */
static inline bool ofi_ep_writes(uint64_t caps)
{
	return caps & FI_RMA || (caps & (FI_MSG | FI_TAGGED) && caps & FI_SEND);
}

/* Reads an option, which is a size_t. Returns 0 or -FI_ENOPROTOOPT. */
typedef int ofi_ep_option(struct fid *ep, int name, size_t *value);

/*
 * Copies the value of an option to the caller of fi_getopt. Returns 0; or logs and returns
 * -FI_EINVAL, or -FI_ETOOSMALL with the size in *len.
 */
int ofi_ep_give_option(const struct fi_provider *prov, int name, const void *option, size_t size,
		       void *value, size_t *len);
/* Copies the value from the caller of fi_setopt. Returns 0, or logs and returns -FI_EINVAL. */
int ofi_ep_take_option(const struct fi_provider *prov, int name, void *option, size_t size,
		       const void *value, size_t len);
/* Implements fi_getopt. */
int ofi_ep_getopt(const struct fi_provider *prov, struct fid *ep, ofi_ep_option *option, int level,
		  int name, void *value, size_t *len);
/*
 * Implements fi_setopt for endpoints with a single settable option, `writable`. Returns 0 with the
 * new value in *to, or -FI_E*.
 */
int ofi_ep_setopt(const struct fi_provider *prov, struct fid *ep, ofi_ep_option *option, int level,
		  int name, const void *value, size_t len, int writable, size_t *to);

/*
 * The default operation flags, and the flags that may be defaults. One that a context does not have
 * is NULL.
 */
struct ofi_ep_op_flags {
	uint64_t *tx, *rx;
	uint64_t tx_allowed, rx_allowed;
};

/* Implements FI_SETOPSFLAG: *flags selects FI_TRANSMIT or FI_RECV. Returns 0 or -FI_E*. */
int ofi_ep_set_op_flags(const struct fi_provider *prov, const struct ofi_ep_op_flags *of,
			const uint64_t *flags);
/*
 * Implements fi_control for FI_GETOPSFLAG and FI_SETOPSFLAG, and declines all other commands; the
 * log has the text of what is supported. Returns 0 or -FI_E*.
 */
int ofi_ep_control(const struct fi_provider *prov, const struct ofi_ep_op_flags *of, int command,
		   void *arg, const char *supported);

/* Binds an event queue. Returns 0, or logs and returns -FI_E*. */
int ofi_ep_bind_eq(const struct fi_provider *prov, struct ofi_eq **slot, struct ofi_eq *eq,
		   const struct ofi_ref *fabric, uint64_t flags);
/* Refuses a source address without a length, which would count as none: returns -FI_EINVAL. */
int ofi_ep_check_source(const struct fi_provider *prov, const struct fi_info *info);
/*
 * Checks whether a completion queue can be bound. `bound` has FI_TRANSMIT and FI_RECV for the
 * directions that already have one. Returns 0, or logs and returns -FI_E*.
 */
int ofi_ep_check_cq(const struct fi_provider *prov, struct fid *cq, const struct ofi_ref *domain,
		    uint64_t flags, uint64_t bound);
/*
 * Checks whether a counter can be bound. Of an endpoint whose caps lack FI_RMA_EVENT, removes the
 * flags of the peers' RMA from *flags, and refuses them if no other flag is left. Returns 0, or
 * logs and returns -FI_E*.
 */
int ofi_ep_check_cntr(const struct fi_provider *prov, struct ofi_cntr *cntr,
		      const struct ofi_ref *domain, uint64_t caps, uint64_t *flags);

#endif
