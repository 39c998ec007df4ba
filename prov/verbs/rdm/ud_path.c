/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles, shared by all peers of the domain that are reached in the same way. */
#include <string.h>
#include "prov/verbs/provider/tclass.h"
#include "ud_int.h"

enum { ECN = 3, ECN_CE = 3, ECN_ECT0 = 2 };

bool vrb_ud_attr_from(const struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx,
		      struct ibv_ah_attr *attr)
{
	struct ibv_wc copy = *wc;

	*attr = (struct ibv_ah_attr){ 0 };
	if (ibv_init_ah_from_wc(vrb_rc_domain(all->ep)->ctx, all->port.num, &copy,
				(struct ibv_grh *)(uintptr_t)rx->sge.addr, attr))
		return false;
	if ((attr->grh.traffic_class & ECN) == ECN_CE)
		attr->grh.traffic_class ^= ECN_CE ^ ECN_ECT0;
	return true;
}

/* Returns one of the domain's paths from this port to that GID, NULL if it has needed none yet. */
static struct vrb_ah *path_to(struct vrb_ud *all, const uint8_t *gid)
{
	struct vrb_domain *domain = vrb_rc_domain(all->ep);
	struct vrb_ah *path;
	union ibv_gid to;

	memcpy(to.raw, gid, sizeof(to.raw));
	ofi_lock(&domain->paths_lock);
	path = vrb_ah_to(&domain->paths, &to);
	if (path && (!path->attr.is_global || path->attr.port_num != all->port.num ||
		     path->attr.grh.sgid_index != all->port.gid_index))
		path = NULL;
	vrb_ah_use(domain, path);
	ofi_unlock(&domain->paths_lock);
	return path;
}

void vrb_ud_path_leave(struct vrb_ud *all, struct vrb_ah *path)
{
	vrb_ah_leave(vrb_rc_domain(all->ep), path);
}

bool vrb_ud_has_path(struct vrb_ud *all, const uint8_t *gid)
{
	struct vrb_ah *path = path_to(all, gid);

	vrb_ud_path_leave(all, path);
	return path;
}

struct vrb_ah *vrb_ud_path_back(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	struct vrb_domain *domain = vrb_rc_domain(all->ep);
	struct vrb_ah *path;

	if (attr->is_global)
		return path_to(all, attr->grh.dgid.raw);
	ofi_lock(&domain->paths_lock);
	path = vrb_ah_use(domain, vrb_ah_find(&domain->paths, attr));
	ofi_unlock(&domain->paths_lock);
	return path;
}

struct vrb_ah *vrb_ud_path_like(struct vrb_ud *all, const uint8_t *gid)
{
	struct vrb_ah *known = path_to(all, gid);
	struct vrb_ah *path = known ? vrb_ud_path_get(all, &known->attr) : NULL;

	vrb_ud_path_leave(all, known);
	return path;
}

static struct ibv_ah_attr with_tclass(const struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	struct vrb_tclass tclass = vrb_tclass_of(all->ep->domain->info, all->ep->info);
	struct ibv_ah_attr wanted = *attr;

	if (tclass.asked)
		vrb_tclass_set_ah(tclass, &wanted);
	return wanted;
}

struct vrb_ah *vrb_ud_path_get(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	const struct ibv_ah_attr wanted = with_tclass(all, attr);

	return vrb_ah_of_domain(vrb_rc_domain(all->ep), &wanted);
}

struct vrb_ah *vrb_ud_path_new(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	const struct ibv_ah_attr wanted = with_tclass(all, attr);

	return vrb_ah_of_stranger(vrb_rc_domain(all->ep), &wanted);
}

struct vrb_ah *vrb_ud_path_of(const struct vrb_ud_conn *ud, const struct ibv_ah_attr *attr)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ah *path;

	if (!vrb_rc_peer(ud->conn->peer)->policy.stranger)
		return vrb_ud_path_get(all, attr);
	path = vrb_ud_path_new(all, attr);
	return path ? path : vrb_ud_path_back(all, attr);
}

/*
 * InfiniBand has no MAC addresses. When an Elastic Fabric Adapter destroys a handle, it aborts what
 * is sent with others of the same GID.
 */
void vrb_ud_conn_renew(const struct vrb_rc_conn *conn)
{
	const struct vrb_ud *all = vrb_ud_of(conn->ud);
	struct vrb_ah *path = conn->ud->path;

	if (path && !all->unordered && all->port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		vrb_ah_renew(vrb_rc_domain(conn->ep), path);
}

bool vrb_ud_takes_host(const struct ofi_rdm_ep *ep, const uint8_t *gid)
{
	struct vrb_ud *all = vrb_rc(ep)->ud;

	/* On InfiniBand, the GID of an IP address is not that of a path. */
	return !all || all->port.link_layer == IBV_LINK_LAYER_INFINIBAND ||
	       vrb_ah_takes_stranger(vrb_rc_domain(ep)) || vrb_ud_has_path(all, gid);
}
