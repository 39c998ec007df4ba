/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Passive endpoints: listening, and connect requests as FI_CONNREQ events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include <ofi/wide.h>
#include "prov/base/ops.h"
#include "cm_wire.h"
#include "prov/verbs/provider/err.h"
#include "prov/base/name.h"
#include "pep.h"
#include "prov/verbs/discovery/netdev.h"
#include "prov/verbs/provider/prov.h"
#include "req.h"
#include "prov/base/ep.h"
#include "prov/base/refuse.h"

#define PEP_BACKLOG 1024 /* also the kernel's maximum by default */

static struct vrb_pep *vrb_pep(struct fid *fid)
{
	return (struct vrb_pep *)fid;
}

/* Removes the limits of the passive endpoint's device, which nobody asked for. */
static void drop_limits(struct fi_info *hints)
{
	struct fi_domain_attr *domain = hints->domain_attr;
	struct fi_ep_attr *ep = hints->ep_attr;

	ep->max_msg_size = 0;
	ep->max_order_raw_size = ep->max_order_war_size = ep->max_order_waw_size = 0;
	domain->cq_cnt = domain->ep_cnt = domain->cntr_cnt = domain->mr_cnt = 0;
	domain->tx_ctx_cnt = domain->rx_ctx_cnt = 0;
	domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = 0;
	domain->max_ep_stx_ctx = domain->max_ep_srx_ctx = 0;
}

/*
 * Returns the fi_info for a request that arrived through a device other than the passive
 * endpoint's.
 */
static struct fi_info *info_for_device(const struct vrb_pep *pep, const char *device,
				       uint32_t format)
{
	struct fi_info *hints = fi_dupinfo(pep->info), *info = NULL;
	int ret = -FI_ENOMEM;

	if (!hints)
		return NULL;
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup(device);
	free(hints->src_addr);
	free(hints->dest_addr);
	hints->src_addr = hints->dest_addr = NULL;
	hints->src_addrlen = hints->dest_addrlen = 0;
	hints->addr_format = format;
	drop_limits(hints);
	if (hints->domain_attr->name)
		ret = vrb_prov.getinfo(pep->fabric->fid.api_version, NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	if (ret)
		return NULL;
	fi_freeinfo(info->next);
	info->next = NULL;
	info->fabric_attr->prov_version = vrb_prov.version;
	info->fabric_attr->api_version = pep->fabric->fid.api_version;
	if (!info->fabric_attr->prov_name)
		info->fabric_attr->prov_name = strdup(vrb_prov.name);
	if (!info->fabric_attr->prov_name) {
		fi_freeinfo(info);
		return NULL;
	}
	/* Callers of API 1.0 to 1.6 have no such field and would not free it. */
	if (!pep->info->nic && info->nic) {
		fi_close(&info->nic->fid);
		info->nic = NULL;
	}
	return info;
}

static int set_addr(const struct fi_info *info, void **addr, size_t *len, const struct sockaddr *sa)
{
	struct sockaddr_storage ss;
	char text[OFI_ADDR_STRLEN];
	size_t size = sizeof(text);

	vrb_cm_copy_addr(&ss, sa);
	free(*addr);
	*addr = NULL;
	*len = 0;
	if (ofi_name_out(&vrb_prov, "connection request", info->addr_format, &ss, text, &size))
		return -FI_EINVAL;
	*addr = ofi_copy_new(text, size, len);
	return *addr ? 0 : -FI_ENOMEM;
}

static struct fi_info *request_info(const struct vrb_pep *pep, struct rdma_cm_id *id)
{
	const char *device = ibv_get_device_name(id->verbs->device);
	const char *ours = pep->info->domain_attr->name;
	uint32_t format = pep->info->addr_format;
	struct fi_info *info;

	/* A listener on any IPv6 address also gets requests to IPv4 addresses. */
	if (format == FI_SOCKADDR_IN6)
		format = ofi_addr_format(rdma_get_local_addr(id));
	info = ours && !strcmp(ours, device) ? fi_dupinfo(pep->info)
					     : info_for_device(pep, device, format);
	if (!info)
		return NULL;
	info->addr_format = format;
	if (set_addr(info, &info->src_addr, &info->src_addrlen, rdma_get_local_addr(id)) ||
	    set_addr(info, &info->dest_addr, &info->dest_addrlen, rdma_get_peer_addr(id))) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* Used by the event thread, which does not take pep->lock. */
static struct ofi_eq *bound_eq(const struct vrb_pep *pep)
{
	return __atomic_load_n(&pep->eq, __ATOMIC_ACQUIRE);
}

static int post_request(struct vrb_pep *pep, struct fi_info *info,
			const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	const uint8_t *data;
	size_t len;

	data = vrb_cm_unpack(param->private_data, param->private_data_len, &len);
	return vrb_cm_post(bound_eq(pep), FI_CONNREQ, &pep->fid.fid, info, data, len);
}

static void other_event(struct vrb_pep *pep, const struct rdma_cm_event *event)
{
	struct fi_eq_err_entry entry = {
		.fid = &pep->fid.fid,
		.err = FI_ENODEV,
		.prov_errno = -FI_ENODEV,
	};

	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "passive endpoint %p: %s\n", (void *)pep,
		rdma_event_str(event->event));
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && bound_eq(pep))
		ofi_eq_post_err(bound_eq(pep), &entry);
}

/*
 * Limits the requests that peers can queue at an application that does not answer. The backlog is
 * constant while listening.
 */
static bool is_crowded(const struct vrb_pep *pep)
{
	int most = pep->backlog ? pep->backlog : PEP_BACKLOG;

	if (vrb_req_count(&pep->fabric->cm, pep, most) < most)
		return false;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
		       "passive endpoint %p: a connection request is refused: %d others wait to be "
		       "accepted or rejected; answer them, or set FI_BACKLOG with fi_control\n",
		       (const void *)pep, most);
	return true;
}

static struct rdma_cm_id *pep_event(struct vrb_pep *pep, const struct rdma_cm_event *event)
{
	struct fi_info *info;
	struct vrb_req *req;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		other_event(pep, event);
		return NULL;
	}
	if (is_crowded(pep))
		return event->id;
	info = vrb_addr_left_out(rdma_get_local_addr(event->id)) ? NULL
								 : request_info(pep, event->id);
	req = info ? vrb_req_new(&pep->fabric->cm, event, pep) : NULL;
	if (!req) {
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"passive endpoint %p: a connection request through device %s is refused: no memory, or the device or the interface is left out by a parameter, belongs to another fabric, or does not support what the endpoint's fi_info requires\n",
			(void *)pep, ibv_get_device_name(event->id->verbs->device));
		fi_freeinfo(info);
		return event->id;
	}
	info->handle = &req->fid;
	if (!post_request(pep, info, event))
		return NULL;
	fi_freeinfo(info);
	vrb_req_forget(req);
	return event->id;
}

static void pep_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			 struct vrb_cm_left *left)
{
	left->refuse = pep_event(ofi_container(owner, struct vrb_pep, owner), event);
}

static const struct vrb_owner_ops pep_owner_ops = {
	.event = pep_cm_event,
	.locked = true,
	.shared = true,
};

struct vrb_pep *vrb_pep_find(struct vrb_cm *cm, const struct fid *handle)
{
	struct vrb_pep *pep;

	ofi_lock(&cm->lock);
	LIST_FOREACH (pep, &cm->peps, link)
		if (&pep->fid.fid == handle)
			break;
	ofi_unlock(&cm->lock);
	return pep;
}

struct rdma_cm_id *vrb_pep_take(struct vrb_pep *pep, struct vrb_owner *owner)
{
	struct vrb_cm *cm = &pep->fabric->cm;
	struct rdma_cm_id *id = NULL;

	ofi_lock(&pep->lock);
	if (!pep->listening && pep->id) {
		id = pep->id;
		pep->id = NULL;
		ofi_lock(&cm->lock);
		id->context = owner;
		ofi_unlock(&cm->lock);
	}
	ofi_unlock(&pep->lock);
	return id;
}

/* Binds a new id, because an id can be bound only once; destroys the old one without a lock. */
static int pep_name(struct vrb_pep *pep, const char *call, const struct sockaddr_storage *ss)
{
	struct rdma_cm_id *id, *old;
	int ret;

	ret = vrb_cm_bind_id(&pep->fabric->cm, call, &pep->owner, false, ss, &id);
	if (ret)
		return ret;
	ofi_lock(&pep->lock);
	if (pep->listening) {
		old = id;
		ret = -FI_EOPBADSTATE;
	} else {
		old = pep->id;
		pep->id = id;
		vrb_cm_copy_addr(&pep->local, rdma_get_local_addr(id));
	}
	ofi_unlock(&pep->lock);
	if (old)
		rdma_destroy_id(old);
	if (ret)
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"%s: passive endpoint %p is listening; set its name before fi_listen\n",
			call, (void *)pep);
	return ret;
}

static bool has_name(struct vrb_pep *pep, const struct sockaddr_storage *ss)
{
	bool same;

	ofi_lock(&pep->lock);
	same = pep->id &&
	       ofi_name_same((struct sockaddr *)&pep->local, (const struct sockaddr *)ss);
	ofi_unlock(&pep->lock);
	return same;
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct vrb_pep *pep = vrb_pep(fid);
	struct sockaddr_storage ss;
	int ret = ofi_name_in(&vrb_prov, "fi_setname", pep->info->addr_format, addr, len, &ss);

	return ret || has_name(pep, &ss) ? ret : pep_name(pep, "fi_setname", &ss);
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct vrb_pep *pep = vrb_pep(fid);
	struct sockaddr_storage local;

	ofi_lock(&pep->lock);
	local = pep->local;
	ofi_unlock(&pep->lock);
	return ofi_name_out(&vrb_prov, "fi_getname", pep->info->addr_format, &local, addr, len);
}

/* Binds to the wildcard address and a free port. */
static int name_any(struct vrb_pep *pep)
{
	struct sockaddr_storage ss = { .ss_family = AF_INET };

	if (pep->info->addr_format == FI_SOCKADDR_IN6)
		ss.ss_family = AF_INET6;
	return pep_name(pep, "fi_listen", &ss);
}

static int listen_locked(struct vrb_pep *pep)
{
	char text[OFI_ADDR_STRLEN];
	int ret;

	if (pep->listening)
		return -FI_EALREADY;
	if (!pep->id)
		return -FI_EOPBADSTATE;
	pep->listening = true;
	if (!vrb_cm_listen(pep->id, pep->backlog)) {
		vrb_cm_copy_addr(&pep->local, rdma_get_local_addr(pep->id));
		return 0;
	}
	ret = vrb_errno(errno);
	pep->listening = false;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, ret, "fi_listen: rdma_listen on %s: %s%s\n",
			  ofi_addr_str((struct sockaddr *)&pep->local, text, sizeof(text)),
			  fi_strerror(-ret), vrb_remedy(-ret));
}

static int pep_listen(struct fid_pep *fid)
{
	struct vrb_pep *pep = vrb_pep(&fid->fid);
	int ret = 0;

	if (!pep->eq)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOEQ,
			"fi_listen: no event queue is bound to passive endpoint %p; use fi_pep_bind\n",
			(void *)pep);
	if (!pep->local.ss_family)
		ret = name_any(pep);
	if (ret)
		return ret;
	ofi_lock(&pep->lock);
	ret = listen_locked(pep);
	ofi_unlock(&pep->lock);
	if (ret == -FI_EALREADY || ret == -FI_EOPBADSTATE)
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_listen: passive endpoint %p %s\n",
			(void *)pep,
			ret == -FI_EALREADY ? "is listening"
					    : "has passed its address to an endpoint");
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	struct vrb_pep *pep = vrb_pep(&fid->fid);
	int ret;

	if (len && !param)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_reject", "param");
	ret = vrb_req_reject_handle(&pep->fabric->cm, handle, param, vrb_cm_cut(len));
	if (ret == -FI_EINVAL)
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_reject: handle %p is not a pending connection request\n",
			(void *)handle);
	return ret;
}

/* There are no flags; programs pass the event that they wait for, which changes nothing. */
static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_pep *pep = vrb_pep(fid);

	return ofi_eq_bind(&vrb_prov, FI_LOG_EP_CTRL, "fi_pep_bind", &pep->eq, bfid,
			   &pep->fabric->ref, flags & ~(uint64_t)FI_CONNREQ);
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct vrb_pep *pep = vrb_pep(fid);
	int ret = 0;

	if (command != FI_BACKLOG || !arg || *(int *)arg < 0)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, command == FI_BACKLOG ? -FI_EINVAL : -FI_ENOSYS,
			"fi_control: command %d: a passive endpoint supports FI_BACKLOG with an int that is not negative\n",
			command);
	ofi_lock(&pep->lock);
	if (pep->listening)
		ret = -FI_EOPBADSTATE;
	else
		pep->backlog = *(int *)arg;
	ofi_unlock(&pep->lock);
	if (ret)
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_control: FI_BACKLOG: passive endpoint %p is listening\n", (void *)pep);
	return ret;
}

static int pep_option(struct fid *fid, int name, size_t *value)
{
	(void)fid;
	*value = VRB_CM_DATA_MAX;
	return name == FI_OPT_CM_DATA_SIZE ? 0 : -FI_ENOPROTOOPT;
}

static int pep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	if (level != FI_OPT_ENDPOINT)
		return ofi_decline(&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOPROTOOPT,
				   "fi_getopt: level %d is not supported; use FI_OPT_ENDPOINT\n",
				   level);
	return ofi_ep_getopt(&vrb_prov, fid, pep_option, level, optname, optval, optlen);
}

static void pep_free(struct vrb_pep *pep)
{
	if (pep->id)
		rdma_destroy_id(pep->id);
	vrb_req_orphan(&pep->fabric->cm, pep);
	if (pep->eq) {
		ofi_eq_forget(pep->eq, &pep->fid.fid);
		ofi_ref_put(&pep->eq->ref);
	}
	fi_freeinfo(pep->info);
	free(pep);
}

static int pep_close(struct fid *fid)
{
	struct vrb_pep *pep = vrb_pep(fid);
	struct vrb_fabric *fabric = pep->fabric;

	if (ofi_ref_inherited(&pep->own))
		return 0;
	ofi_lock(&fabric->cm.lock);
	LIST_REMOVE(pep, link);
	ofi_unlock(&fabric->cm.lock);
	pep_free(pep);
	ofi_ref_put(&fabric->ref);
	return 0;
}

static const struct fi_ops pep_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = pep_close,
	.bind = pep_bind,
	.control = pep_control,
};

static const struct fi_ops_ep pep_ep_ops = {
	.size = OFI_EP_DEFAULTS,
	.getopt = pep_getopt,
};

static const struct fi_ops_cm pep_cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.setname = pep_setname,
	.getname = pep_getname,
	.listen = pep_listen,
	.reject = pep_reject,
};

static int check_info(const struct fi_info *info)
{
	if (info && info->domain_attr && info->ep_attr && info->ep_attr->type == FI_EP_MSG)
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_passive_ep: the fi_info is not one of fi_getinfo for FI_EP_MSG; endpoints of other types don't listen\n");
}

static int name_by_info(struct vrb_pep *pep)
{
	const struct fi_info *info = pep->info;
	struct sockaddr_storage ss;
	int ret;

	if (!info->src_addr)
		return 0;
	ret = ofi_name_in(&vrb_prov, "fi_passive_ep", info->addr_format, info->src_addr,
			  info->src_addrlen, &ss);
	return ret ? ret : pep_name(pep, "fi_passive_ep", &ss);
}

/* Returns a copy without the objects that the hints named, which may be closed first. */
static struct fi_info *own_info(const struct fi_info *info)
{
	struct fi_info *copy = fi_dupinfo(info);

	if (!copy)
		return NULL;
	copy->handle = NULL;
	copy->domain_attr->domain = NULL;
	if (copy->fabric_attr)
		copy->fabric_attr->fabric = NULL;
	return copy;
}

int vrb_pep_open(struct fid_fabric *fabric_fid, struct fi_info *info, struct fid_pep **fid,
		 void *context)
{
	struct vrb_fabric *fabric = vrb_fabric(fabric_fid);
	struct ofi_wide wide;
	struct vrb_pep *pep;
	int ret;

	info = ofi_widen(fabric_fid->api_version, info, &wide);
	ret = fid ? check_info(info)
		  : ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_passive_ep", "pep");

	if (ret)
		return ret;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	pep->fid = (struct fid_pep){
		.fid = { .fclass = FI_CLASS_PEP, .context = context, .ops = ofi_ops(&pep_fid_ops) },
		.ops = ofi_ops(&pep_ep_ops),
		.cm = ofi_ops(&pep_cm_ops),
	};
	pep->owner.ops = &pep_owner_ops;
	ofi_ref_own(&pep->own);
	pep->fabric = fabric;
	pep->backlog = PEP_BACKLOG;
	ofi_lock_init(&pep->lock);
	pep->info = own_info(info);
	ret = pep->info ? name_by_info(pep) : -FI_ENOMEM;
	if (ret) {
		pep_free(pep);
		return ret;
	}
	ofi_lock(&fabric->cm.lock);
	LIST_INSERT_HEAD(&fabric->cm.peps, pep, link);
	ofi_unlock(&fabric->cm.lock);
	ofi_ref_get(&fabric->ref);
	*fid = &pep->fid;
	return 0;
}
