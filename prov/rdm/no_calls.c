/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_OPT_CUDA_API_PERMITTED set to false: an endpoint whose device memory only RMA uses, by its
 * descriptors. It takes all other memory for the system's, and asks no GPU's library for anything.
 */
#include "no_calls.h"

#include <rdma/fi_errno.h>
#include "calls.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"

static bool has_device(void *const *desc, size_t count)
{
	while (desc && count--)
		if (ofi_hmem_has_iface(*desc++))
			return true;
	return false;
}

int ofi_rdm_check_copy(const struct ofi_rdm_ep *ep, const char *call, void *const *desc,
		       size_t count)
{
	if (ofi_likely(!ep->hmem_options.no_calls || !has_device(desc, count)))
		return 0;
	return ofi_refuse(
		ep->domain->prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
		"%s of device memory: it would be copied, which FI_OPT_CUDA_API_PERMITTED does not permit; use RMA by its descriptor\n",
		call);
}

static ssize_t check_desc(const struct fid_ep *fid, const char *call, void *const *desc,
			  size_t count)
{
	return ofi_rdm_check_copy(ofi_rdm_self(fid), call, desc, count);
}

static ssize_t recv_host(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			 void *context)
{
	ssize_t ret = check_desc(fid, "fi_recv", &desc, 1);

	return ret ? ret : ofi_rdm_calls.msg->recv(fid, buf, len, desc, addr, context);
}

static ssize_t recvv_host(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t addr, void *context)
{
	ssize_t ret = check_desc(fid, "fi_recvv", desc, count);

	return ret ? ret : ofi_rdm_calls.msg->recvv(fid, iov, desc, count, addr, context);
}

static ssize_t recvmsg_host(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	ssize_t ret = msg ? check_desc(fid, "fi_recvmsg", msg->desc, msg->iov_count) : 0;

	return ret ? ret : ofi_rdm_calls.msg->recvmsg(fid, msg, flags);
}

static ssize_t send_host(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t addr, void *context)
{
	ssize_t ret = check_desc(fid, "fi_send", &desc, 1);

	return ret ? ret : ofi_rdm_calls.msg->send(fid, buf, len, desc, addr, context);
}

static ssize_t sendv_host(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t addr, void *context)
{
	ssize_t ret = check_desc(fid, "fi_sendv", desc, count);

	return ret ? ret : ofi_rdm_calls.msg->sendv(fid, iov, desc, count, addr, context);
}

static ssize_t sendmsg_host(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	ssize_t ret = msg ? check_desc(fid, "fi_sendmsg", msg->desc, msg->iov_count) : 0;

	return ret ? ret : ofi_rdm_calls.msg->sendmsg(fid, msg, flags);
}

static ssize_t inject_host(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return ofi_rdm_calls.msg->inject(fid, buf, len, addr);
}

static ssize_t senddata_host(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t addr, void *context)
{
	ssize_t ret = check_desc(fid, "fi_senddata", &desc, 1);

	return ret ? ret : ofi_rdm_calls.msg->senddata(fid, buf, len, desc, data, addr, context);
}

static const struct fi_ops_msg host_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = recv_host,
	.recvv = recvv_host,
	.recvmsg = recvmsg_host,
	.send = send_host,
	.sendv = sendv_host,
	.sendmsg = sendmsg_host,
	.inject = inject_host,
	.senddata = senddata_host,
	.injectdata = ofi_rdm_injectdata,
};

const struct fi_ops_msg *ofi_rdm_msg_ops(const struct ofi_rdm_ep *ep)
{
	return ep->hmem_options.no_calls ? &host_msg_ops : ofi_rdm_calls.msg;
}

/* Returns NULL, or what of the endpoint copies device memory. */
static const char *obstacle(const struct ofi_rdm_ep *ep)
{
	const uint64_t copying = FI_TAGGED | FI_ATOMIC | FI_COLLECTIVE | FI_TRIGGER;

	if (!(ep->info->caps & FI_RMA))
		return "messages copy device memory, and the endpoint has no FI_RMA";
	if (ep->info->caps & copying)
		return "of FI_TAGGED, FI_ATOMIC, FI_COLLECTIVE and FI_TRIGGER the endpoint has some, which copy device memory";
	if (ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		return "the receives of a shared receive context copy device memory";
	return ep->prov_keys ? NULL : "RMA copies device memory without FI_MR_PROV_KEY";
}

int ofi_rdm_may_stop_calls(const struct ofi_rdm_ep *ep, const struct fid *fid)
{
	const char *why =
		fid == &ep->fid.fid ? obstacle(ep) : "contexts and aliases do not have it";

	if (why)
		return ofi_decline(ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
				   "fi_setopt: FI_OPT_CUDA_API_PERMITTED: %s\n", why);
	if (ep->enabled)
		return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
				  "fi_setopt: FI_OPT_CUDA_API_PERMITTED is set before fi_enable\n");
	return 0;
}

void ofi_rdm_set_calls(struct ofi_rdm_ep *ep)
{
	ep->hmem = !ep->hmem_options.no_calls;
	ep->proto.config.device = ep->hmem;
	if (ep->info->caps & FI_MSG)
		ep->fid.msg = ofi_ops(ofi_rdm_msg_ops(ep));
}
