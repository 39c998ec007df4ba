/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast groups: the connection manager joins the group, the queue pair is attached to it, and
 * the address vector gets an address for sending to it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "dgram.h"
#include "prov/verbs/provider/err.h"
#include "prov/base/name.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

#define JOIN_FLAGS (FI_SEND | FI_RECV)

struct vrb_mc {
	struct fid_mc fid; /* fi_addr is FI_ADDR_NOTAVAIL until the group is joined */
	struct vrb_owner owner;
	struct vrb_dgram *ep;
	struct ofi_eq *eq;
	struct rdma_cm_id *id;
	struct sockaddr_storage addr; /* the group's address */
	bool receives;		      /* the queue pair must be attached */
	/* Set by the event thread, or `asked` by fi_join if it joins at once: */
	bool asked, attached;
	union ibv_gid gid;
	uint16_t lid;
	LIST_ENTRY(vrb_mc) link; /* in ep->receiving while attached */
};

static const struct sockaddr *sa(const struct sockaddr_storage *ss)
{
	return (const struct sockaddr *)ss;
}

/* Converts a GID, which contains an IPv6 address or a mapped IPv4 address. */
static void gid_addr(const uint8_t *gid, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid + 12, sizeof(in->sin_addr));
	} else {
		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, gid, sizeof(in6->sin6_addr));
	}
}

static bool is_group(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (ss->ss_family == AF_INET)
		return IN_MULTICAST(ntohl(in->sin_addr.s_addr));
	return ss->ss_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

/* A name's GID cannot be mistaken for a socket address: no multicast GID begins like one. */
static int group_in(const struct vrb_dgram *ep, const void *addr, struct sockaddr_storage *ss)
{
	uint32_t format = ep->ep.info->addr_format;
	char text[OFI_ADDR_STRLEN];
	struct vrb_ud_name name;
	int ret = 0;

	if (addr && format == FI_ADDR_IB_UD && !ofi_addr_size(addr)) {
		memcpy(&name, addr, sizeof(name));
		gid_addr(name.gid, ss);
	} else {
		if (format == FI_ADDR_IB_UD)
			format = FI_FORMAT_UNSPEC;
		ret = ofi_name_in(&vrb_prov, "fi_join", format, addr, OFI_NAME_LEN_UNKNOWN, ss);
	}
	if (ret || is_group(ss))
		return ret;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_join: %s is not the address of a multicast group\n",
			  ofi_addr_str(sa(ss), text, sizeof(text)));
}

static int mc_refuse(const struct vrb_dgram *ep, const char *why, int ret)
{
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, ret, "fi_join: endpoint %p: %s\n",
			  (const void *)ep, why);
}

static int check_flags(const struct vrb_dgram *ep, uint64_t flags)
{
	uint64_t caps = ep->ep.info->caps;

	if (flags & FI_COLLECTIVE)
		return -FI_ENOSYS;
	if (flags & ~JOIN_FLAGS)
		return mc_refuse(ep, "only FI_SEND and FI_RECV are allowed as flags",
				 -FI_EBADFLAGS);
	if (!(caps & FI_MULTICAST))
		return mc_refuse(ep, "it was opened without FI_MULTICAST", -FI_EINVAL);
	if (((flags & FI_SEND) && !(caps & FI_SEND)) || ((flags & FI_RECV) && !(caps & FI_RECV)))
		return mc_refuse(ep, "it was opened for one direction, the flags ask for the other",
				 -FI_EINVAL);
	if (!vrb_ep_eq(&ep->ep))
		return mc_refuse(ep, "no event queue is bound; use fi_ep_bind", -FI_ENOEQ);
	if (!ep->ep.enabled || !ep->ep.qp || !ep->av)
		return mc_refuse(ep, "it is not enabled; use fi_enable", -FI_EOPBADSTATE);
	return 0;
}

/* Events. */

static int mc_failed(const struct vrb_mc *mc, const char *call, int err)
{
	char text[OFI_ADDR_STRLEN];

	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, vrb_errno(err), "fi_join: %s, group %s: %s%s\n", call,
		ofi_addr_str(sa(&mc->addr), text, sizeof(text)), fi_strerror(err), vrb_remedy(err));
}

static void report_error(const struct vrb_mc *mc, const char *call, int err, int prov_errno)
{
	mc_failed(mc, call, err);
	ofi_eq_report_err(mc->eq, &mc->fid.fid, err, prov_errno);
}

/*
 * Returns true if the queue pair is attached to the group for another join. ib_uverbs does not
 * count how often it is attached. ep->mc_lock is held.
 */
static bool is_attached(const struct vrb_mc *mc)
{
	const struct vrb_mc *other;

	LIST_FOREACH (other, &mc->ep->receiving, link)
		if (other->lid == mc->lid && !memcmp(&other->gid, &mc->gid, sizeof(mc->gid)))
			break;
	return other;
}

static int mc_attach(struct vrb_mc *mc)
{
	struct vrb_dgram *ep = mc->ep;
	int err;

	if (!mc->receives || mc->attached)
		return 0;
	ofi_lock(&ep->mc_lock);
	err = is_attached(mc) ? 0 : ibv_attach_mcast(ep->ep.qp, &mc->gid, mc->lid);
	mc->attached = !err;
	if (!err)
		LIST_INSERT_HEAD(&ep->receiving, mc, link);
	ofi_unlock(&ep->mc_lock);
	return err;
}

static void mc_detach(struct vrb_mc *mc)
{
	struct vrb_dgram *ep = mc->ep;

	if (!mc->attached)
		return;
	ofi_lock(&ep->mc_lock);
	LIST_REMOVE(mc, link);
	if (!is_attached(mc))
		ibv_detach_mcast(ep->ep.qp, &mc->gid, mc->lid);
	ofi_unlock(&ep->mc_lock);
}

static void mc_joined(struct vrb_mc *mc, const struct rdma_ud_param *ud)
{
	struct vrb_dest dest = {
		.qpn = VRB_UD_QPN_MCAST,
		.qkey = ud->qkey,
		.gid = ud->ah_attr.grh.dgid,
		.lid = ud->ah_attr.dlid,
		.sl = ud->ah_attr.sl,
	};
	int err;

	if (mc->fid.fi_addr != FI_ADDR_NOTAVAIL)
		return;
	mc->gid = dest.gid;
	mc->lid = dest.lid;
	if (ud->qkey != mc->ep->qkey) {
		report_error(mc, "the group has a Q_Key of its own", FI_EADDRNOTAVAIL, 0);
		return;
	}
	err = mc_attach(mc);
	if (err) {
		report_error(mc, "ibv_attach_mcast", -vrb_errno(err), -err);
		return;
	}
	mc->fid.fi_addr = vrb_av_add_group(mc->ep->av, &dest);
	if (mc->fid.fi_addr == FI_ADDR_NOTAVAIL)
		report_error(mc, "no address", errno, -errno);
	else
		ofi_eq_report(mc->eq, FI_JOIN_COMPLETE, &mc->fid.fid, 0);
}

static int mc_ask(struct vrb_mc *mc, struct rdma_cm_id *id)
{
	if (rdma_join_multicast(id, (struct sockaddr *)&mc->addr, mc))
		return errno;
	mc->asked = true;
	return 0;
}

static bool on_our_port(const struct vrb_mc *mc, const struct rdma_cm_id *id)
{
	const struct vrb_dgram *ep = mc->ep;

	return id->verbs && id->port_num == ep->port.num &&
	       !strcmp(ibv_get_device_name(id->verbs->device),
		       ibv_get_device_name(ep->ep.domain->ctx->device));
}

static void mc_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			struct vrb_cm_left *left)
{
	struct vrb_mc *mc = ofi_container(owner, struct vrb_mc, owner);
	int err;

	(void)left;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = on_our_port(mc, event->id) ? mc_ask(mc, event->id) : FI_EADDRNOTAVAIL;
		if (err)
			report_error(mc, "rdma_join_multicast", err, -err);
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		mc_joined(mc, &event->param.ud);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		report_error(mc, rdma_event_str(event->event),
			     vrb_cm_err(event->event, event->status), event->status);
		break;
	default:
		break;
	}
}

static const struct vrb_owner_ops mc_owner_ops = { .event = mc_cm_event };

/* The life of a group. */

static void mc_free(struct vrb_mc *mc)
{
	if (!mc)
		return;
	if (mc->id) {
		if (mc->asked)
			rdma_leave_multicast(mc->id, (struct sockaddr *)&mc->addr);
		rdma_destroy_id(mc->id);
	}
	mc_detach(mc);
	vrb_av_remove_group(mc->ep->av, mc->fid.fi_addr);
	free(mc);
}

static int mc_close(struct fid *fid)
{
	struct vrb_mc *mc = (struct vrb_mc *)fid;
	struct vrb_dgram *ep = mc->ep;
	struct ofi_eq *eq = mc->eq;

	if (ofi_ref_inherited(&ep->ep.domain->base.ref))
		return 0;
	mc_free(mc);
	ofi_eq_forget(eq, fid);
	ofi_ref_put(&ep->ref);
	return 0;
}

static const struct fi_ops mc_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = mc_close,
};

/* Sets the address from which the group is joined; family 0 if the routing table decides. */
static void local_addr(const struct vrb_dgram *ep, struct sockaddr_storage *ss)
{
	if (ep->sidr.id)
		*ss = ep->sidr.local;
	else
		gid_addr(ep->port.gid.raw, ss);
	ofi_addr_set_port((struct sockaddr *)ss, 0);
	if (!ep->sidr.id && ss->ss_family != AF_INET)
		ss->ss_family = AF_UNSPEC;
}

/*
 * An id that is bound to an address has its device at once; otherwise the route determines the
 * device.
 */
static int mc_start(struct vrb_mc *mc)
{
	struct vrb_cm *cm = &mc->ep->ep.domain->fabric->cm;
	struct sockaddr_storage local;
	int ret = vrb_cm_create_id(cm, "fi_join", &mc->owner, true, &mc->id);

	if (ret) {
		mc->id = NULL;
		return ret;
	}
	vrb_tclass_set_id(mc->ep->tclass, mc->id);
	local_addr(mc->ep, &local);
	if (local.ss_family != mc->addr.ss_family)
		return rdma_resolve_addr(mc->id, NULL, (struct sockaddr *)&mc->addr,
					 vrb_params.resolve_timeout)
			       ? mc_failed(mc, "rdma_resolve_addr", vrb_err_cause(errno))
			       : 0;
	if (vrb_cm_bind(mc->id, &local))
		return mc_failed(mc, "rdma_bind_addr", vrb_err_cause(errno));
	errno = mc_ask(mc, mc->id);
	return errno ? mc_failed(mc, "rdma_join_multicast", vrb_err_cause(errno)) : 0;
}

int vrb_mc_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc_fid,
		void *context)
{
	struct vrb_dgram *ep = vrb_dgram_of(vrb_ep_self(&fid->fid));
	struct sockaddr_storage group;
	struct vrb_mc *mc;
	int ret = mc_fid ? check_flags(ep, flags) : -FI_EINVAL;

	if (!ret)
		ret = group_in(ep, addr, &group);
	if (ret)
		return ret;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	mc->fid.fid = (struct fid){ .fclass = FI_CLASS_MC,
				    .context = context,
				    .ops = ofi_ops(&mc_fid_ops) };
	mc->fid.fi_addr = FI_ADDR_NOTAVAIL;
	mc->owner.ops = &mc_owner_ops;
	mc->ep = ep;
	mc->eq = vrb_ep_eq(&ep->ep);
	mc->addr = group;
	mc->receives = (ep->ep.info->caps & FI_RECV) && (!(flags & JOIN_FLAGS) || flags & FI_RECV);
	ret = mc_start(mc);
	if (ret) {
		mc_free(mc);
		return ret;
	}
	ofi_ref_get(&ep->ref);
	*mc_fid = &mc->fid;
	return 0;
}
