/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The private data of connection messages: filling it from endpoints and evaluating it. */
#ifndef VRB_RDM_CONN_DATA_H
#define VRB_RDM_CONN_DATA_H

#include <rdma/rdma_cma.h>
#include "prov/rdm/cmwire.h"
#include "prov/rdm/peer.h"
#include "rc_conn.h"

/* Returns the message to a peer with the endpoint's own values. */
struct ofi_rdm_cmwire vrb_rdm_conn_words(const struct ofi_rdm_peer *peer,
					 enum ofi_rdm_cmwire_kind kind);
/* Packs the private data of a request or a reply to a peer. Returns its length. */
uint8_t vrb_rdm_conn_data(const struct ofi_rdm_peer *peer, enum ofi_rdm_cmwire_kind kind,
			  uint8_t *wire);
/* The same for a reject, also to a peer that is not known. */
uint8_t vrb_rdm_conn_reject_data(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_reason reason,
				 uint8_t *wire);
enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm);
/* Stores what a peer says about itself. */
void vrb_rdm_conn_learn(struct vrb_rc_conn *conn, const struct ofi_rdm_cmwire *cm);
/*
 * Returns the address on which a peer says it listens; a link-local one gets the endpoint's scope.
 */
bool vrb_rdm_conn_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm,
		       struct ofi_rdm_addr *addr);
/*
 * Returns true if that is an address of the host from which the message came, according to the
 * connection manager.
 */
bool vrb_rdm_conn_is_from(const struct ofi_rdm_cmwire *cm, const struct sockaddr *from);

#endif
