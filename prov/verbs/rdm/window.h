/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows. A window gives one peer access to the bytes of one rendezvous, through one queue
 * pair, until the rendezvous ends. A connection keeps its windows for reuse. The endpoint's lock
 * guards them.
 */
#ifndef VRB_RDM_WINDOW_H
#define VRB_RDM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>

struct vrb_domain;
struct ofi_rdm_proto_item;
struct vrb_rc_conn;

struct vrb_rdm_window {
	struct vrb_rc_conn *conn; /* NULL: revoked by the end of the connection */
	struct ibv_mw *mw;
	struct ibv_mw_bind_info what;
	bool bound; /* according to the work requests posted */
	LIST_ENTRY(vrb_rdm_window) all;
	SLIST_ENTRY(vrb_rdm_window) spare;
};

LIST_HEAD(vrb_rdm_windows, vrb_rdm_window);
SLIST_HEAD(vrb_rdm_spare_windows, vrb_rdm_window);

/*
 * Sets domain->windows: whether the device has working windows that belong to a queue pair and are
 * bound by work requests.
 */
void vrb_rdm_windows_open(struct vrb_domain *domain);
/* Stops using windows because the device's do not work, which is logged once. */
void vrb_rdm_windows_fail(struct vrb_domain *domain, const char *what, const char *why);

/* Handles the failure of a work request of the given kind, an enum vrb_rdm_kind. */
void vrb_rdm_window_failed(struct vrb_rc_conn *conn, int kind, enum ibv_wc_status status);

/* Returns a window that is not bound, or NULL if the device has no more. */
struct vrb_rdm_window *vrb_rdm_window_get(struct vrb_rc_conn *conn);
/* Returns the key that the window will have once it is bound. */
uint32_t vrb_rdm_window_key(const struct vrb_rdm_window *window);
/* Post one work request each. Return 0 or an errno. */
int vrb_rdm_window_bind(struct vrb_rdm_window *window);
int vrb_rdm_window_revoke(struct vrb_rdm_window *window, struct ofi_rdm_proto_item *item);
/*
 * Ends the peer's access at once if it still has it. On an errno, only the end of the connection
 * does.
 */
int vrb_rdm_window_put(struct vrb_rdm_window *window);
/*
 * Destroys all windows of a connection. Call it before destroying the queue pair, because some
 * devices require that.
 */
void vrb_rdm_windows_drop(struct vrb_rc_conn *conn);

#endif
