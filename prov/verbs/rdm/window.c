/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows of connections. */
#include <errno.h>
#include <stdlib.h>
#include "link.h"
#include "window.h"
#include "prov/verbs/domain.h"

#define SOFT_ROCE 0xffffff /* its vendor ID */

/*
 * Soft-RoCE (Linux 6.1) compares an access by a window with the bounds of the region below it. When it sends again
 * what was lost or found no receive, it does the bind or the invalidation that follows a second time, which fails,
 * and the queue pair stands still without a word.
 */
bool vrb_rdm_has_windows(const struct vrb_domain *domain)
{
	return domain->attr.vendor_id != SOFT_ROCE &&
	       domain->attr.device_cap_flags &
		       (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

struct vrb_rdm_window *vrb_rdm_window_get(struct vrb_rdm_link *link)
{
	struct vrb_rdm_window *window = SLIST_FIRST(&link->spare_windows);

	if (window) {
		SLIST_REMOVE_HEAD(&link->spare_windows, spare);
		return window;
	}
	window = calloc(1, sizeof(*window));
	if (!window)
		return NULL;
	window->mw = ibv_alloc_mw(link->ep->domain->pd, IBV_MW_TYPE_2);
	if (!window->mw) {
		free(window);
		return NULL;
	}
	window->link = link;
	LIST_INSERT_HEAD(&link->windows, window, all);
	return window;
}

/* Keys differ in their last byte from one use to the next, so that an old one is of no use. */
uint32_t vrb_rdm_window_key(const struct vrb_rdm_window *window)
{
	return ibv_inc_rkey(window->mw->rkey);
}

int vrb_rdm_window_bind(struct vrb_rdm_window *window)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = window->mw,
			.rkey = vrb_rdm_window_key(window),
			.bind_info = window->what,
		},
	};
	uint64_t flags = (uint64_t)VRB_RDM_BIND << VRB_RDM_KIND_SHIFT | VRB_SILENT;
	int err = window->link ? vrb_rdm_link_post(window->link, &wr, flags, NULL, NULL) : ENOTCONN;

	if (err)
		return err;
	window->mw->rkey = wr.bind_mw.rkey;
	window->bound = true;
	return 0;
}

int vrb_rdm_window_revoke(struct vrb_rdm_window *window, struct vrb_proto_item *item)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = window->mw->rkey,
	};
	uint64_t flags = (uint64_t)VRB_RDM_REVOKE << VRB_RDM_KIND_SHIFT;
	int err = window->link ? vrb_rdm_link_post(window->link, &wr, flags, item, NULL) : ENOTCONN;

	if (!err)
		window->bound = false;
	return err;
}

static void destroy(struct vrb_rdm_window *window)
{
	LIST_REMOVE(window, all);
	ibv_dealloc_mw(window->mw);
	window->mw = NULL;
	window->link = NULL;
}

void vrb_rdm_window_put(struct vrb_rdm_window *window)
{
	if (window->link && !window->bound) {
		SLIST_INSERT_HEAD(&window->link->spare_windows, window, spare);
		return;
	}
	if (window->link)
		destroy(window);
	free(window);
}

void vrb_rdm_windows_drop(struct vrb_rdm_link *link)
{
	struct vrb_rdm_window *window;

	while ((window = SLIST_FIRST(&link->spare_windows))) {
		SLIST_REMOVE_HEAD(&link->spare_windows, spare);
		destroy(window);
		free(window);
	}
	while ((window = LIST_FIRST(&link->windows)))
		destroy(window);
}
