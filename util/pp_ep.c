/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens, connects and closes the libfabric objects of fi_pingpong. */
#include "pp_ep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "pp_data.h"
#include "pp_gpu.h"
#include "pp_log.h"
#include "pp_size.h"
#include "tool.h"

#define PP_MR_MODE    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define PP_MR_KEY     0xC0DE
#define PP_EQ_POLL_MS 500

static int pp_strdup(char **dst, const char *src)
{
	if (!src)
		return 0;
	*dst = strdup(src);
	return *dst ? 0 : -FI_ENOMEM;
}

static int pp_hints(struct pp_ep *ep)
{
	const struct pp_options *opts = ep->opts;
	struct fi_info *hints = fi_allocinfo();

	ep->hints = hints;
	if (!hints)
		return pp_failed("fi_allocinfo", -FI_ENOMEM);
	hints->caps = opts->caps | (opts->cuda ? FI_HMEM : 0);
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX;
	hints->ep_attr->type = opts->ep_type;
	hints->domain_attr->mr_mode = PP_MR_MODE | (opts->cuda ? FI_MR_HMEM : 0);
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	if (opts->sizes == PP_SIZES_ONE)
		hints->ep_attr->max_msg_size = opts->size;
	if (pp_strdup(&hints->domain_attr->name, opts->domain) ||
	    pp_strdup(&hints->fabric_attr->prov_name, opts->provider))
		return pp_failed("strdup", -FI_ENOMEM);
	return 0;
}

static void pp_say_why(const struct pp_ep *ep)
{
	char type[32], caps[32], text[512];

	if (!tool_has_provider(ep->opts->provider, text, sizeof(text)))
		pp_error("%s", text);
	pp_error("nothing matches these options; fi_info --why%s%s -t %s -c %s says why",
		 ep->opts->provider ? " -p " : "", ep->opts->provider ? ep->opts->provider : "",
		 fi_tostr_r(type, sizeof(type), &ep->opts->ep_type, FI_TYPE_EP_TYPE),
		 fi_tostr_r(caps, sizeof(caps), &ep->hints->caps, FI_TYPE_CAPS));
}

static int pp_getinfo(struct pp_ep *ep)
{
	int ret;

	fi_freeinfo(ep->info);
	ep->info = NULL;
	ret = fi_getinfo(tool_api_version(), NULL, NULL, 0, ep->hints, &ep->info);
	if (ret == -FI_ENODATA)
		pp_say_why(ep);
	return ret ? pp_failed("fi_getinfo", ret) : 0;
}

int pp_ep_probe(struct pp_ep *ep, const struct pp_options *opts)
{
	int ret;

	ep->opts = opts;
	ep->peer = FI_ADDR_UNSPEC;
	ret = opts->cuda ? pp_gpu_open() : 0;
	if (!ret)
		ret = pp_hints(ep);
	return ret ? ret : pp_getinfo(ep);
}

static int pp_getinfo_peer(struct pp_ep *ep, const struct pp_name *peer)
{
	ep->hints->dest_addr = malloc(peer->len);
	if (!ep->hints->dest_addr)
		return pp_failed("malloc", -FI_ENOMEM);
	memcpy(ep->hints->dest_addr, peer->addr, peer->len);
	ep->hints->dest_addrlen = peer->len;
	ep->hints->addr_format = peer->format;
	return pp_getinfo(ep);
}

static int pp_send_own_name(struct pp_ep *ep, fid_t fid)
{
	struct pp_name name = { .format = ep->info->addr_format };
	size_t len = sizeof(name.addr);
	int ret;

	ret = fi_getname(fid, name.addr, &len);
	if (ret)
		return pp_failed("fi_getname", ret);
	name.len = (uint32_t)len;
	return pp_ctrl_send_name(ep->ctrl, &name);
}

static int pp_open_fabric(struct pp_ep *ep)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	int ret;

	ret = fi_fabric(ep->info->fabric_attr, &ep->fabric, NULL);
	if (ret)
		return pp_failed("fi_fabric", ret);
	ret = fi_eq_open(ep->fabric, &attr, &ep->eq, NULL);
	return ret ? pp_failed("fi_eq_open", ret) : 0;
}

static int pp_alloc_host(struct pp_ep *ep, size_t len)
{
	if (posix_memalign((void **)&ep->buf, (size_t)sysconf(_SC_PAGESIZE), len)) {
		ep->buf = NULL;
		pp_error("no memory for buffers of %zu bytes; choose a smaller -S", len);
		return -FI_ENOMEM;
	}
	memset(ep->buf, 0, len);
	return 0;
}

static int pp_alloc_device(struct pp_ep *ep, size_t len)
{
	ep->stage = calloc(1, len);
	if (!ep->stage)
		return pp_failed("calloc", -FI_ENOMEM);
	if (pp_gpu_alloc(len, &ep->buf))
		return -FI_ENOMEM;
	return pp_gpu_put(ep->buf, ep->stage, len);
}

static int pp_register(struct pp_ep *ep, size_t len)
{
	struct iovec iov = { ep->buf, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = FI_SEND | FI_RECV,
		.requested_key = PP_MR_KEY,
		.iface = ep->opts->cuda ? FI_HMEM_CUDA : FI_HMEM_SYSTEM,
	};
	int ret;

	if (!ep->opts->cuda && !(ep->info->domain_attr->mr_mode & FI_MR_LOCAL) &&
	    !(ep->info->mode & FI_LOCAL_MR))
		return 0;
	ret = fi_mr_regattr(ep->domain, &attr, 0, &ep->mr);
	if (ret)
		return pp_failed("fi_mr_regattr", ret);
	ep->mr_desc = fi_mr_desc(ep->mr);
	return 0;
}

static int pp_open_buffers(struct pp_ep *ep)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t stride;
	int ret;

	ep->prefix = ep->info->mode & FI_MSG_PREFIX ? ep->info->ep_attr->msg_prefix_size : 0;
	/* The closing message must fit, too. */
	ep->buf_size = pp_size_max(ep->opts, ep->info->ep_attr->max_msg_size) + 64 + ep->prefix;
	stride = (ep->buf_size + page - 1) / page * page;
	ret = ep->opts->cuda ? pp_alloc_device(ep, 2 * stride) : pp_alloc_host(ep, 2 * stride);
	if (ret)
		return ret;
	ep->tx_buf = ep->buf;
	ep->rx_buf = ep->buf + stride;
	return pp_register(ep, 2 * stride);
}

static int pp_open_cqs(struct pp_ep *ep)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE };
	int ret;

	attr.size = ep->info->tx_attr->size;
	ret = fi_cq_open(ep->domain, &attr, &ep->txcq, NULL);
	if (ret)
		return pp_failed("fi_cq_open", ret);
	attr.size = ep->info->rx_attr->size;
	ret = fi_cq_open(ep->domain, &attr, &ep->rxcq, NULL);
	return ret ? pp_failed("fi_cq_open", ret) : 0;
}

static int pp_open_domain(struct pp_ep *ep)
{
	struct fi_av_attr av_attr = { .type = ep->info->domain_attr->av_type, .count = 1 };
	int ret;

	ret = fi_domain(ep->fabric, ep->info, &ep->domain, NULL);
	if (ret)
		return pp_failed("fi_domain", ret);
	ret = pp_open_cqs(ep);
	if (ret)
		return ret;
	ret = pp_open_buffers(ep);
	if (ret || ep->opts->ep_type == FI_EP_MSG)
		return ret;
	ret = fi_av_open(ep->domain, &av_attr, &ep->av, NULL);
	return ret ? pp_failed("fi_av_open", ret) : 0;
}

static int pp_bind(struct pp_ep *ep, struct fid *fid, uint64_t flags)
{
	int ret = fi_ep_bind(ep->ep, fid, flags);

	return ret ? pp_failed("fi_ep_bind", ret) : 0;
}

static int pp_open_endpoint(struct pp_ep *ep)
{
	int ret;

	ret = fi_endpoint(ep->domain, ep->info, &ep->ep, NULL);
	if (ret)
		return pp_failed("fi_endpoint", ret);
	if (ep->opts->ep_type == FI_EP_MSG)
		ret = pp_bind(ep, &ep->eq->fid, 0);
	else
		ret = pp_bind(ep, &ep->av->fid, 0);
	if (!ret)
		ret = pp_bind(ep, &ep->txcq->fid, FI_TRANSMIT);
	if (!ret)
		ret = pp_bind(ep, &ep->rxcq->fid, FI_RECV);
	if (ret)
		return ret;
	ret = fi_enable(ep->ep);
	if (ret)
		return pp_failed("fi_enable", ret);
	pp_debug("Endpoint initialized");
	return pp_post_recv(ep);
}

static int pp_eq_error(struct pp_ep *ep, const char *what)
{
	struct fi_eq_err_entry entry = { 0 };
	char text[256] = "";
	const char *detail;
	ssize_t got;

	got = fi_eq_readerr(ep->eq, &entry, 0);
	if (got < 0)
		return pp_failed("fi_eq_readerr", (int)got);
	detail = fi_eq_strerror(ep->eq, entry.prov_errno, entry.err_data, text, sizeof(text));
	pp_error("%s failed: %s (%s)", what, fi_strerror(entry.err), detail ? detail : "");
	return entry.err ? -entry.err : -FI_EOTHER;
}

/* Rejects a request that arrives while another one is served, so that the wait goes on. */
static ssize_t pp_reject(struct pp_ep *ep, struct fi_info *request)
{
	fi_reject(ep->pep, request->handle, NULL, 0);
	fi_freeinfo(request);
	return -FI_EAGAIN;
}

static int pp_wait_event(struct pp_ep *ep, const char *what, uint32_t want, struct fi_info **info)
{
	struct fi_eq_cm_entry entry = { 0 };
	uint32_t event;
	ssize_t got;

	do {
		got = fi_eq_sread(ep->eq, &event, &entry, sizeof(entry), PP_EQ_POLL_MS, 0);
		if (got > 0 && event == FI_CONNREQ && want != FI_CONNREQ)
			got = pp_reject(ep, entry.info);
		if (got == -FI_EAGAIN && pp_ctrl_peer_gone(ep->ctrl)) {
			pp_error("%s: the peer has gone away", what);
			return -FI_ECONNABORTED;
		}
	} while (got == -FI_EAGAIN || got == -FI_EINTR || got == -FI_ETIMEDOUT);
	if (got == -FI_EAVAIL)
		return pp_eq_error(ep, what);
	if (got < 0)
		return pp_failed("fi_eq_sread", (int)got);
	if (event != want) {
		pp_error("%s: unexpected event %s", what, fi_tostr(&event, FI_TYPE_EQ_EVENT));
		return -FI_EOTHER;
	}
	if (info)
		*info = entry.info;
	return 0;
}

static int pp_listen(struct pp_ep *ep)
{
	int ret;

	ret = pp_open_fabric(ep);
	if (ret)
		return ret;
	ret = fi_passive_ep(ep->fabric, ep->info, &ep->pep, NULL);
	if (ret)
		return pp_failed("fi_passive_ep", ret);
	ret = fi_pep_bind(ep->pep, &ep->eq->fid, 0);
	if (ret)
		return pp_failed("fi_pep_bind", ret);
	ret = fi_listen(ep->pep);
	if (ret)
		return pp_failed("fi_listen", ret);
	return pp_send_own_name(ep, &ep->pep->fid);
}

static int pp_msg_server(struct pp_ep *ep)
{
	struct fi_info *request = NULL;
	int ret;

	ret = pp_listen(ep);
	if (!ret)
		ret = pp_wait_event(ep, "fi_listen", FI_CONNREQ, &request);
	if (ret)
		return ret;
	fi_freeinfo(ep->info);
	ep->info = request;
	ret = pp_open_domain(ep);
	if (!ret)
		ret = pp_open_endpoint(ep);
	if (ret) {
		if (!ep->ep)
			fi_reject(ep->pep, request->handle, NULL, 0);
		return ret;
	}
	ret = fi_accept(ep->ep, NULL, 0);
	if (ret)
		return pp_failed("fi_accept", ret);
	return pp_wait_event(ep, "fi_accept", FI_CONNECTED, NULL);
}

static int pp_msg_client(struct pp_ep *ep)
{
	struct pp_name peer;
	int ret;

	ret = pp_ctrl_recv_name(ep->ctrl, &peer);
	if (!ret)
		ret = pp_getinfo_peer(ep, &peer);
	if (!ret)
		ret = pp_open_fabric(ep);
	if (!ret)
		ret = pp_open_domain(ep);
	if (!ret)
		ret = pp_open_endpoint(ep);
	if (ret)
		return ret;
	ret = fi_connect(ep->ep, ep->info->dest_addr ? ep->info->dest_addr : peer.addr, NULL, 0);
	if (ret)
		return pp_failed("fi_connect", ret);
	return pp_wait_event(ep, "fi_connect", FI_CONNECTED, NULL);
}

static int pp_unconnected(struct pp_ep *ep)
{
	struct pp_name peer;
	int ret = 0;

	if (ep->ctrl->client) {
		ret = pp_ctrl_recv_name(ep->ctrl, &peer);
		if (!ret)
			ret = pp_getinfo_peer(ep, &peer);
	}
	if (!ret)
		ret = pp_open_fabric(ep);
	if (!ret)
		ret = pp_open_domain(ep);
	if (!ret)
		ret = pp_open_endpoint(ep);
	if (!ret)
		ret = pp_send_own_name(ep, &ep->ep->fid);
	if (!ret && !ep->ctrl->client)
		ret = pp_ctrl_recv_name(ep->ctrl, &peer);
	if (ret)
		return ret;
	ret = fi_av_insert(ep->av, peer.addr, 1, &ep->peer, 0, NULL);
	return ret == 1 ? 0 : pp_failed("fi_av_insert", ret < 0 ? ret : -FI_EADDRNOTAVAIL);
}

int pp_ep_open(struct pp_ep *ep, struct pp_ctrl *ctrl)
{
	ep->ctrl = ctrl;
	if (ep->opts->ep_type != FI_EP_MSG)
		return pp_unconnected(ep);
	return ctrl->client ? pp_msg_client(ep) : pp_msg_server(ep);
}

static void pp_close(struct fid *fid, const char *name)
{
	int ret = fid ? fi_close(fid) : 0;

	if (ret)
		pp_error("fi_close(%s): %s", name, fi_strerror(-ret));
}

void pp_ep_close(struct pp_ep *ep)
{
	pp_close(ep->ep ? &ep->ep->fid : NULL, "endpoint");
	pp_close(ep->pep ? &ep->pep->fid : NULL, "passive endpoint");
	pp_close(ep->mr ? &ep->mr->fid : NULL, "memory region");
	pp_close(ep->txcq ? &ep->txcq->fid : NULL, "transmit CQ");
	pp_close(ep->rxcq ? &ep->rxcq->fid : NULL, "receive CQ");
	pp_close(ep->av ? &ep->av->fid : NULL, "AV");
	pp_close(ep->domain ? &ep->domain->fid : NULL, "domain");
	pp_close(ep->eq ? &ep->eq->fid : NULL, "EQ");
	pp_close(ep->fabric ? &ep->fabric->fid : NULL, "fabric");
	if (!ep->stage)
		free(ep->buf);
	else if (ep->buf)
		pp_gpu_free(ep->buf);
	free(ep->stage);
	fi_freeinfo(ep->info);
	fi_freeinfo(ep->hints);
	pp_gpu_close();
	memset(ep, 0, sizeof(*ep));
}
