/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows of connections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include "rc_conn.h"
#include "window.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/prov.h"

/*
 * Soft-RoCE (Linux 6.1) checks an access through a window against the bounds of the underlying
 * region. When it retransmits what was lost or found no receive, it executes the bind or
 * invalidation that follows a second time, which fails, and the queue pair stops silently.
 */
void vrb_rdm_windows_open(struct vrb_domain *domain)
{
	const unsigned int type_2 = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	int use = vrb_params.rdm_use_windows;

	domain->windows = use && !domain->ud && domain->attr.device_cap_flags & type_2 &&
			  (use > 0 || domain->attr.vendor_id != VRB_VENDOR_SOFT_ROCE);
}

void vrb_rdm_windows_fail(struct vrb_domain *domain, const char *what, const char *why)
{
	if (!__atomic_exchange_n(&domain->windows, false, __ATOMIC_RELAXED))
		return;
	FI_WARN(&vrb_prov, FI_LOG_MR,
		"%s: the device cannot %s a memory window (%s): this domain continues without windows; set FI_VERBS_RDM_USE_WINDOWS=0 to start without them\n",
		ibv_get_device_name(domain->ctx->device), what, why);
}

void vrb_rdm_window_failed(struct vrb_rc_conn *conn, int kind, enum ibv_wc_status status)
{
	if ((kind == VRB_RDM_BIND || kind == VRB_RDM_REVOKE) && status != IBV_WC_WR_FLUSH_ERR)
		vrb_rdm_windows_fail(vrb_rc_domain(conn->ep),
				     kind == VRB_RDM_BIND ? "bind" : "invalidate",
				     ibv_wc_status_str(status));
}

struct vrb_rdm_window *vrb_rdm_window_get(struct vrb_rc_conn *conn)
{
	struct vrb_rdm_window *window = SLIST_FIRST(&conn->spare_windows);

	if (window) {
		SLIST_REMOVE_HEAD(&conn->spare_windows, spare);
		return window;
	}
	window = calloc(1, sizeof(*window));
	if (!window)
		return NULL;
	window->mw = ibv_alloc_mw(vrb_rc_domain(conn->ep)->pd, IBV_MW_TYPE_2);
	if (!window->mw) {
		free(window);
		return NULL;
	}
	window->conn = conn;
	LIST_INSERT_HEAD(&conn->windows, window, all);
	return window;
}

/* The last byte of a key changes with each use, so that an old key is useless. */
uint32_t vrb_rdm_window_key(const struct vrb_rdm_window *window)
{
	return ibv_inc_rkey(window->mw->rkey);
}

int vrb_rdm_window_bind(struct vrb_rdm_window *window)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };
	uint64_t flags = vrb_rdm_kind_bits(VRB_RDM_BIND) | OFI_RDM_SILENT;
	int err;

	if (!window->conn)
		return ENOTCONN;
	wr.bind_mw.mw = window->mw;
	wr.bind_mw.rkey = vrb_rdm_window_key(window);
	wr.bind_mw.bind_info = window->what;
	err = vrb_rc_conn_post(window->conn, &wr, flags, NULL, NULL);
	if (err)
		return err;
	window->mw->rkey = wr.bind_mw.rkey;
	window->bound = true;
	return 0;
}

int vrb_rdm_window_revoke(struct vrb_rdm_window *window, struct ofi_rdm_proto_item *item)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };
	uint64_t flags = vrb_rdm_kind_bits(VRB_RDM_REVOKE);
	int err;

	if (!window->conn)
		return ENOTCONN;
	wr.invalidate_rkey = window->mw->rkey;
	err = vrb_rc_conn_post(window->conn, &wr, flags, item, NULL);
	if (!err)
		window->bound = false;
	return err;
}

static int window_destroy(struct vrb_rdm_window *window)
{
	int err = ibv_dealloc_mw(window->mw);

	if (err)
		vrb_rdm_windows_fail(vrb_rc_domain(window->conn->ep), "free", strerror(err));
	LIST_REMOVE(window, all);
	window->mw = NULL;
	window->conn = NULL;
	return err;
}

int vrb_rdm_window_put(struct vrb_rdm_window *window)
{
	int err = 0;

	if (window->conn && !window->bound) {
		SLIST_INSERT_HEAD(&window->conn->spare_windows, window, spare);
		return 0;
	}
	if (window->conn)
		err = window_destroy(window);
	free(window);
	return err;
}

void vrb_rdm_windows_drop(struct vrb_rc_conn *conn)
{
	struct vrb_rdm_window *window;

	while ((window = SLIST_FIRST(&conn->spare_windows))) {
		SLIST_REMOVE_HEAD(&conn->spare_windows, spare);
		window_destroy(window);
		free(window);
	}
	while ((window = LIST_FIRST(&conn->windows)))
		window_destroy(window);
}
