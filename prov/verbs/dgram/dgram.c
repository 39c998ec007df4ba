/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints of type FI_EP_DGRAM: their life, their name, and the sources of datagrams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "prov/base/ops.h"
#include <rdma/providers/fi_log.h>
#include "prov/verbs/queue/batch.h"
#include "prov/verbs/queue/cq.h"
#include "dgram.h"
#include "prov/verbs/provider/err.h"
#include "prov/base/name.h"
#include "prov/verbs/provider/pages.h"
#include "prov/verbs/discovery/offer.h"
#include "prov/verbs/discovery/source.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/qp.h"
#include "prov/base/refuse.h"

#define QKEY_PRIVILEGED 0x80000000u

/*
 * The members of a multicast group share its Q_Key; otherwise only senders that know the endpoint's
 * name have the key.
 */
static int set_qkey(struct vrb_dgram *ep)
{
	if (ep->ep.info->caps & FI_MULTICAST) {
		ep->qkey = VRB_UD_QKEY_CM;
		return 0;
	}
	if (getrandom(&ep->qkey, sizeof(ep->qkey), 0) != sizeof(ep->qkey))
		return vrb_failed(ep->ep.domain->ctx, errno, "fi_endpoint: getrandom");
	ep->qkey &= ~QKEY_PRIVILEGED;
	/* A name with the key 0 is not that of an endpoint. */
	ep->qkey += !ep->qkey;
	return 0;
}

/* The ring has one slot more than its capacity. */
static int set_headers(struct vrb_dgram *ep)
{
	size_t slots = ep->ep.rq->size + 1;

	if (ep->prefix) {
		ep->headers = calloc(slots, sizeof(*ep->headers));
		return ep->headers ? 0 : -FI_ENOMEM;
	}
	ep->spill_len = slots * sizeof(*ep->spill);
	ep->spill = vrb_pages_map(ep->spill_len);
	if (!ep->spill)
		return -FI_ENOMEM;
	ep->spill_mr =
		ibv_reg_mr(ep->ep.domain->pd, ep->spill, ep->spill_len, IBV_ACCESS_LOCAL_WRITE);
	if (!ep->spill_mr)
		return vrb_failed(ep->ep.domain->ctx, errno, "fi_endpoint: ibv_reg_mr");
	ep->rx_sge[0] = (struct ibv_sge){ .length = VRB_GRH_SIZE, .lkey = ep->spill_mr->lkey };
	return 0;
}

static int check_sizes(const struct vrb_dgram *ep, const struct fi_info *info)
{
	if (ep->ep.max_msg_size <= ep->port.mtu && ep->ep.inject_size <= ep->port.mtu &&
	    info->rx_attr->iov_limit < VRB_IOV_MAX &&
	    (!ep->prefix || info->ep_attr->msg_prefix_size == ep->prefix))
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_endpoint: max_msg_size %zu, inject_size %zu, msg_prefix_size %zu; the MTU of port %u is %u, the prefix %d\n",
		ep->ep.max_msg_size, ep->ep.inject_size, info->ep_attr->msg_prefix_size,
		ep->port.num, ep->port.mtu, VRB_GRH_SIZE);
}

static bool has_ip_name(const struct vrb_dgram *ep)
{
	uint32_t format = ep->ep.info->addr_format;

	return !vrb_ud_format(format) && format != FI_FORMAT_UNSPEC;
}

int vrb_dgram_init(struct vrb_dgram *ep, const struct fi_info *info)
{
	int ret = has_ip_name(ep) ? vrb_source_choose(ep->ep.domain, ep->ep.info) : 0;

	ofi_lock_init(&ep->mc_lock);
	ep->prefix = info->mode & FI_MSG_PREFIX ? VRB_GRH_SIZE : 0;
	ep->recv_max = ep->ep.domain->recv_max - ep->prefix;
	ep->ep.rq->dgram = true;
	ep->tclass = vrb_tclass_of(ep->ep.domain->base.info, info);
	if (!ret)
		ret = vrb_ud_port_find("fi_endpoint", ep->ep.domain->ctx, ep->ep.info, &ep->port);
	if (!ret)
		ret = check_sizes(ep, info);
	if (!ret)
		ret = set_qkey(ep);
	return ret ? ret : set_headers(ep);
}

void vrb_dgram_fini(struct vrb_dgram *ep)
{
	if (ep->spill_mr)
		ibv_dereg_mr(ep->spill_mr);
	vrb_pages_unmap(ep->spill, ep->spill_len);
	free(ep->headers);
	if (ep->av)
		ofi_ref_put(&ep->av->base.ref);
}

/*
 * The template of the receive queue points to the segments of the endpoint. An alias has its own
 * copy of the segments and does not use the template.
 */
void vrb_dgram_mirror(struct vrb_dgram *alias, const struct vrb_dgram *self)
{
	alias->av = self->av;
	alias->prefix = self->prefix;
	alias->recv_max = self->recv_max;
	alias->rx_sge[0] = self->rx_sge[0];
	alias->spill = self->spill;
	alias->headers = self->headers;
	alias->tclass = self->tclass;
	alias->other_tclass = self->other_tclass;
	alias->ep.fid.msg =
		ofi_ops(self->ep.lock_posts ? &vrb_dgram_alias_ops : &vrb_dgram_alias_nolock_ops);
}

static bool same_port(const struct vrb_ud_port *a, const struct vrb_ud_port *b)
{
	return a->num == b->num && !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

int vrb_dgram_bind(struct vrb_dgram *ep, struct vrb_av *av, uint64_t flags)
{
	int ret = 0;

	if (flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_EP_CTRL,
					"fi_ep_bind of an address vector", flags);
	if (ep->av)
		return ofi_refuse_second(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "an address vector");
	if (av->base.parent != &ep->ep.domain->base.ref || !same_port(&av->port, &ep->port))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the address vector belongs to another %s; open domain, address vector and endpoint with the same fi_info\n",
			av->base.parent != &ep->ep.domain->base.ref ? "domain" : "port");
	if (ep->ep.info->caps & FI_SOURCE)
		ret = vrb_av_keep_sources(av);
	if (ret)
		return ret;
	ep->av = av;
	ep->other_tclass = !vrb_av_adopt(av, ep->tclass);
	ofi_ref_get(&av->base.ref);
	return 0;
}

static void set_name(struct vrb_dgram *ep)
{
	struct vrb_dest self = {
		.qpn = ep->ep.qp_num,
		.qkey = ep->qkey,
		.gid = ep->port.gid,
		.lid = ep->port.lid,
		.pkey = ep->port.pkey,
	};

	vrb_ud_name_out(&self, &ep->name);
}

/* An endpoint with an IP address answers queries for its name there. */
static int listen_ip(struct vrb_dgram *ep)
{
	const struct fi_info *info = ep->ep.info;
	struct sockaddr_storage local;
	int ret;

	ret = ofi_name_in(&vrb_prov, "fi_enable", info->addr_format, info->src_addr,
			  info->src_addrlen, &local);
	return ret ? ret : vrb_sidr_listen(&ep->sidr, ep->ep.domain->fabric, &local, &ep->name);
}

int vrb_dgram_start(struct vrb_dgram *ep)
{
	int ret;

	set_name(ep);
	ret = has_ip_name(ep) ? listen_ip(ep) : 0;
	if (ret)
		return ret;
	ep->ep.rq->recv.sg_list = ep->prefix ? &ep->rx_sge[1] : ep->rx_sge;
	ep->ep.rq->recv.num_sge = ep->prefix ? 1 : 2;
	return 0;
}

void vrb_dgram_set_modes(struct vrb_dgram *ep)
{
	if (!ep->ep.enabled || ep->other_tclass)
		return;
	ep->send_max = ep->ep.send_max;
	ep->inject_max = ep->ep.inject_size;
}

bool vrb_dgram_post_marker(struct vrb_dgram *ep)
{
	const struct vrb_dest self = { .gid = ep->port.gid, .lid = ep->port.lid };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct vrb_wq *sq = ep->ep.sq;

	wr.wr.ud.ah = vrb_av_ah(ep->av, &self);
	if (!wr.wr.ud.ah) {
		vrb_wq_give_pool(sq, 1);
		return false;
	}
	wr.wr.ud.remote_qpn = ep->ep.qp_num;
	wr.wr.ud.remote_qkey = ep->qkey ^ 1; /* a wrong key makes the receiver drop it */
	wr.wr_id = vrb_wq_take(sq, NULL, FI_MSG | FI_SEND | VRB_SLOT_OWN, 0);
	if (!ibv_post_send(sq->qp, &wr, &sq->bad_send))
		return true;
	vrb_wq_untake(sq, 1);
	return false;
}

/* Broken queue pairs. */

/*
 * Does not wait for the lock: a post that finds its queue full reads completions and holds it.
 * Whoever holds it fills the ring at most, with work requests that are flushed.
 */
static void dgram_shut(const struct vrb_dgram *ep, struct vrb_wq *wq)
{
	vrb_wq_set(wq, VRB_WQ_SHUT);
	/* Without locks another thread may post now. */
	if (!ep->ep.lock_posts && !vrb_domain_is_serialized(ep->ep.domain))
		return;
	if (!ofi_trylock(&wq->lock))
		return;
	vrb_wq_guard(wq);
	ofi_unlock(&wq->lock);
}

void vrb_dgram_failed(struct vrb_dgram *ep)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (vrb_dgram_is_broken(ep) || ibv_query_qp(ep->ep.qp, &attr, IBV_QP_STATE, &init) ||
	    attr.qp_state == IBV_QPS_RTS)
		return;
	if (attr.qp_state != IBV_QPS_ERR)
		vrb_qp_flush(&ep->ep);
	FI_INFO(&vrb_prov, FI_LOG_EP_DATA,
		"endpoint %p: queue pair 0x%x is in the error state; it restarts once all outstanding completions have been read\n",
		(void *)ep, ep->ep.qp_num);
	__atomic_store_n(&ep->broken, true, __ATOMIC_RELEASE);
	dgram_shut(ep, ep->ep.sq);
	dgram_shut(ep, ep->ep.rq);
}

/* Returns true if the last send requests no completion and is not a marker. */
static bool lacks_marker(const struct vrb_wq *sq)
{
	ptrdiff_t at = sq->head - sq->slots;
	const struct vrb_slot *last = &sq->slots[at ? at - 1 : sq->size];

	return !last->signal && (last->flags & VRB_SLOT_OWN) == VRB_SILENT;
}

/*
 * Used if the device refuses posts in the error state. A queue pair that is reset completes nothing
 * more, so sends that request no completion and have none are over.
 */
static void reset_silent(struct vrb_dgram *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	const struct vrb_slot *head = ep->ep.sq->head;
	struct vrb_wq *sq = ep->ep.sq;
	struct vrb_slot *slot = sq->tail;

	if (!vrb_cq_has_none(sq->cq, sq))
		return;
	while (slot->next != head && !slot->signal && slot->flags & VRB_SILENT)
		slot = slot->next;
	if (slot->next == head && !ibv_modify_qp(ep->ep.qp, &attr, IBV_QP_STATE) &&
	    vrb_cq_has_none(sq->cq, sq))
		vrb_wq_retire(sq, slot, 0);
}

/*
 * Retires sends that were successful before the error and request no completion, which the device
 * does not flush. A marker behind them is flushed after everything else. A queue that takes its
 * credits from a pool requests all completions and lacks no marker.
 */
static void flush_silent(struct vrb_dgram *ep)
{
	struct vrb_wq *sq = ep->ep.sq;

	vrb_batch_ring(&ep->ep, 0);
	if (lacks_marker(sq) && vrb_wq_refresh(sq) &&
	    (ep->ep.qp->state == IBV_QPS_RESET || !vrb_dgram_post_marker(ep)))
		reset_silent(ep);
	vrb_wq_guard(sq);
	vrb_cq_reclaim(sq->cq);
}

/*
 * Restarts a queue pair whose queues are shut. The caller holds both locks, so no thread posts.
 * If the device refuses, the endpoint cannot be used anymore.
 */
static bool dgram_restart(struct vrb_dgram *ep)
{
	int ret;

	if (vrb_wq_used(ep->ep.rq))
		vrb_cq_reclaim(ep->ep.rq->cq);
	if (vrb_wq_used(ep->ep.rq))
		return false;
	if (vrb_wq_used(ep->ep.sq))
		flush_silent(ep);
	if (vrb_wq_used(ep->ep.sq))
		return false;
	ret = vrb_qp_start_ud(ep, "posting to an endpoint after an error");
	if (ret) {
		__atomic_store_n(&ep->ep.down_err, ret, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(&ep->broken, false, __ATOMIC_RELEASE);
	vrb_wq_clear(ep->ep.sq, VRB_WQ_SHUT);
	vrb_wq_clear(ep->ep.rq, VRB_WQ_SHUT);
	return true;
}

bool vrb_dgram_mend(struct vrb_dgram *ep, const struct vrb_wq *posting)
{
	struct vrb_wq *other = posting == ep->ep.sq ? ep->ep.rq : ep->ep.sq;
	bool good;

	if (__atomic_load_n(&ep->ep.down_err, __ATOMIC_RELAXED) || !ep->ep.enabled ||
	    !ofi_trylock(&other->lock))
		return false;
	good = !vrb_dgram_is_broken(ep) || dgram_restart(ep);
	ofi_unlock(&other->lock);
	return good;
}

/* Sources. */

static bool sums_up(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* With RoCE v2 over IPv4 the last 20 bytes are the IP header, and those before it are undefined. */
static bool is_ipv4(const struct vrb_grh *grh)
{
	const uint8_t *ip = grh->raw + VRB_GRH_SIZE - 20;

	return ip[0] == 0x45 && (grh->raw[0] >> 4 != 6 || sums_up(ip));
}

static void source_gid(const struct vrb_grh *grh, union ibv_gid *gid)
{
	if (!is_ipv4(grh)) {
		memcpy(gid, grh->raw + 8, sizeof(*gid));
		return;
	}
	memset(gid, 0, sizeof(*gid));
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, grh->raw + 32, 4);
}

static bool is_to_group(const struct vrb_grh *grh)
{
	return is_ipv4(grh) ? grh->raw[36] >> 4 == 0xe : grh->raw[24] == 0xff;
}

/* Returns the network header of a datagram, or NULL if there is none or nobody asks for it. */
static const struct vrb_grh *header_of(const struct vrb_dgram *ep, const struct vrb_slot *slot,
				       const struct ibv_wc *wc)
{
	if (!(ep->ep.info->caps & FI_SOURCE) ||
	    (ep->port.link_layer != IBV_LINK_LAYER_ETHERNET && !(wc->wc_flags & IBV_WC_GRH)))
		return NULL;
	return ep->prefix ? ep->headers[slot->index] : &ep->spill[slot->index];
}

uint64_t vrb_dgram_arrived(struct ibv_wc *wc, fi_addr_t *src)
{
	const struct vrb_slot *slot = (const struct vrb_slot *)(uintptr_t)wc->wr_id;
	const struct vrb_wq *wq = slot->wq;
	const struct vrb_dgram *ep = (const struct vrb_dgram *)wq->ep;
	const struct vrb_grh *grh;
	union ibv_gid gid;

	if (wq->closed)
		return 0;
	if (!ep->prefix)
		wc->byte_len -= VRB_GRH_SIZE;
	grh = header_of(ep, slot, wc);
	if (!grh)
		return 0;
	if (src) {
		source_gid(grh, &gid);
		*src = vrb_av_source(ep->av, &gid, wc->src_qp);
	}
	return ep->ep.info->caps & FI_MULTICAST && is_to_group(grh) ? FI_MULTICAST : 0;
}

/* Calls of fi_cm. */

/* Checks that the address belongs to the device and to the address vector's port. */
static int check_name(struct vrb_dgram *ep, const struct fi_info *info)
{
	struct vrb_ud_port port;
	int ret = vrb_ud_port_find("fi_setname", ep->ep.domain->ctx, info, &port);

	if (ret)
		return ret;
	if ((ep->av && !same_port(&port, &ep->port)) || port.mtu < ep->ep.max_msg_size)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
			"fi_setname: the address is of port %u with MTU %u; the endpoint is of port %u and has max_msg_size %zu\n",
			port.num, port.mtu, ep->port.num, ep->ep.max_msg_size);
	ep->port = port;
	return 0;
}

/* Replaces the source address of the fi_info. */
static int take_name(struct vrb_dgram *ep, const struct sockaddr_storage *ss)
{
	struct fi_info *info = ep->ep.info, wanted = *info;
	int ret;

	wanted.src_addr = NULL;
	ret = vrb_offer_set_addr(info, ss, &wanted.src_addr, &wanted.src_addrlen);
	if (ret)
		return ret;
	ret = check_name(ep, &wanted);
	if (ret) {
		free(wanted.src_addr);
		return ret;
	}
	free(info->src_addr);
	info->src_addr = wanted.src_addr;
	info->src_addrlen = wanted.src_addrlen;
	return 0;
}

static int dgram_setname(fid_t fid, void *addr, size_t len)
{
	struct vrb_dgram *ep = vrb_dgram_of(vrb_ep_self(fid));
	const struct fi_info *info = ep->ep.info;
	struct sockaddr_storage ss, old;
	int ret;

	if (ep->ep.enabled)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_setname: endpoint %p is enabled; call fi_setname before fi_enable\n",
			(void *)ep);
	if (!has_ip_name(ep))
		return ofi_decline(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
			"fi_setname: the name of a datagram endpoint has the number of the queue pair, which the device chooses\n");
	ret = ofi_name_in(&vrb_prov, "fi_setname", info->addr_format, addr, len, &ss);
	if (ret)
		return ret;
	if (!ofi_name_in(&vrb_prov, "fi_setname", info->addr_format, info->src_addr,
			 info->src_addrlen, &old))
		ofi_name_keep_host(&ss, (struct sockaddr *)&old);
	return take_name(ep, &ss);
}

static int dgram_getname(fid_t fid, void *addr, size_t *len)
{
	struct vrb_dgram *ep = vrb_dgram_of(vrb_ep_self(fid));

	if (!len || (!addr && *len))
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_getname", "addr or addrlen");
	if (!ep->ep.enabled)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
				  "fi_getname: endpoint %p has no name before fi_enable\n",
				  (void *)ep);
	if (has_ip_name(ep))
		return ofi_name_out(&vrb_prov, "fi_getname", ep->ep.info->addr_format,
				    &ep->sidr.local, addr, len);
	return ofi_copy_out(&ep->name, sizeof(ep->name), addr, len) ? 0 : -FI_ETOOSMALL;
}

const struct fi_ops_cm vrb_dgram_cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.setname = dgram_setname,
	.getname = dgram_getname,
	.join = vrb_mc_join,
};
