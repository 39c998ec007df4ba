/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that endpoints of all types share: options, default operation flags, bindings. */
#include "ep.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cntr.h"
#include "refuse.h"

#define DIRECTIONS (FI_TRANSMIT | FI_RECV)

static int find_option(const struct fi_provider *prov, const char *call, struct fid *ep,
		       ofi_ep_option *option, int level, int name, size_t *value)
{
	int ret;

	if (level != FI_OPT_ENDPOINT)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_ENOPROTOOPT,
				  "%s: level %d is not supported; use FI_OPT_ENDPOINT\n", call,
				  level);
	ret = option(ep, name, value);
	if (ret != -FI_ENOPROTOOPT)
		return ret;
	return ofi_decline(prov, FI_LOG_EP_CTRL, name == FI_OPT_XPU_TRIGGER ? -FI_EOPNOTSUPP : ret,
			   "%s: the endpoint has no option %d\n", call, name);
}

int ofi_ep_give_option(const struct fi_provider *prov, int name, const void *option, size_t size,
		       void *value, size_t *len)
{
	size_t room;

	if (!value || !len)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, "fi_getopt", "optval or optlen");
	room = *len;
	*len = size;
	if (room < size)
		return ofi_decline(prov, FI_LOG_EP_CTRL, -FI_ETOOSMALL,
				   "fi_getopt: optlen %zu; option %d takes %zu bytes\n", room, name,
				   size);
	memcpy(value, option, size);
	return 0;
}

int ofi_ep_take_option(const struct fi_provider *prov, int name, void *option, size_t size,
		       const void *value, size_t len)
{
	if (!value || len != size)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_setopt: option %d takes %zu bytes, and not %zu at %p\n", name,
				  size, len, value);
	memcpy(option, value, size);
	return 0;
}

int ofi_ep_getopt(const struct fi_provider *prov, struct fid *ep, ofi_ep_option *option, int level,
		  int name, void *value, size_t *len)
{
	size_t found;
	int ret = find_option(prov, "fi_getopt", ep, option, level, name, &found);

	return ret ? ret : ofi_ep_give_option(prov, name, &found, sizeof(found), value, len);
}

int ofi_ep_setopt(const struct fi_provider *prov, struct fid *ep, ofi_ep_option *option, int level,
		  int name, const void *value, size_t len, int writable, size_t *to)
{
	int ret = find_option(prov, "fi_setopt", ep, option, level, name, to);

	if (!ret)
		ret = ofi_ep_take_option(prov, name, to, sizeof(*to), value, len);
	if (ret || name == writable)
		return ret;
	return ofi_decline(prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
			   "fi_setopt: option %d is read-only\n", name);
}

static int ep_direction(const struct fi_provider *prov, const char *command,
			const struct ofi_ep_op_flags *of, const uint64_t *flags, uint64_t *which)
{
	*which = flags ? *flags & DIRECTIONS : 0;
	if ((*which == FI_TRANSMIT && of->tx) || (*which == FI_RECV && of->rx))
		return 0;
	return ofi_refuse(
		prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_control: %s takes flags with either FI_TRANSMIT or FI_RECV, and contexts have only one of them\n",
		command);
}

static int ep_get_op_flags(const struct fi_provider *prov, const struct ofi_ep_op_flags *of,
			   uint64_t *flags)
{
	uint64_t which;
	int ret = ep_direction(prov, "FI_GETOPSFLAG", of, flags, &which);

	if (!ret)
		*flags = which == FI_TRANSMIT ? *of->tx : *of->rx;
	return ret;
}

int ofi_ep_set_op_flags(const struct fi_provider *prov, const struct ofi_ep_op_flags *of,
			const uint64_t *flags)
{
	uint64_t which, allowed;
	int ret = ep_direction(prov, "FI_SETOPSFLAG", of, flags, &which);

	if (ret)
		return ret;
	allowed = which == FI_TRANSMIT ? of->tx_allowed : of->rx_allowed;
	if (*flags & ~which & ~allowed)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EBADFLAGS,
			"fi_control: FI_SETOPSFLAG with flags 0x%llx; only 0x%llx can be defaults\n",
			(unsigned long long)*flags, (unsigned long long)allowed);
	*(which == FI_TRANSMIT ? of->tx : of->rx) = *flags & ~which;
	return 0;
}

int ofi_ep_control(const struct fi_provider *prov, const struct ofi_ep_op_flags *of, int command,
		   void *arg, const char *supported)
{
	switch (command) {
	case FI_GETOPSFLAG:
		return ep_get_op_flags(prov, of, arg);
	case FI_SETOPSFLAG:
		return ofi_ep_set_op_flags(prov, of, arg);
	default:
		return ofi_decline_command(prov, FI_LOG_EP_CTRL, command, supported);
	}
}

int ofi_ep_bind_eq(const struct fi_provider *prov, struct ofi_eq **slot, struct ofi_eq *eq,
		   const struct ofi_ref *fabric, uint64_t flags)
{
	if (flags)
		return ofi_refuse_flags(prov, FI_LOG_EP_CTRL, "fi_ep_bind of an event queue",
					flags);
	return ofi_eq_bind(prov, FI_LOG_EP_CTRL, "fi_ep_bind", slot, &eq->fid.fid, fabric, 0);
}

int ofi_ep_check_source(const struct fi_provider *prov, const struct fi_info *info)
{
	if (!info->src_addr || info->src_addrlen)
		return 0;
	return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_endpoint: src_addr has no length; set src_addrlen\n");
}

int ofi_ep_check_cq(const struct fi_provider *prov, struct fid *cq, const struct ofi_ref *domain,
		    uint64_t flags, uint64_t bound)
{
	if ((flags & ~(DIRECTIONS | FI_SELECTIVE_COMPLETION)) || !(flags & DIRECTIONS))
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EBADFLAGS,
			"fi_ep_bind: flags 0x%llx; bind a completion queue with FI_TRANSMIT, FI_RECV or both, and FI_SELECTIVE_COMPLETION if wanted\n",
			(unsigned long long)flags);
	if (!ofi_cq_of(cq, domain))
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_ep_bind: the completion queue belongs to another domain\n");
	if (flags & bound)
		return ofi_refuse_second(prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "a completion queue for this direction");
	return 0;
}

int ofi_ep_check_cntr(const struct fi_provider *prov, struct ofi_cntr *cntr,
		      const struct ofi_ref *domain, uint64_t caps, uint64_t *flags)
{
	const uint64_t own = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
	const uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (!*flags || *flags & ~(own | remote))
		return ofi_refuse_flags(prov, FI_LOG_EP_CTRL, "fi_ep_bind of a counter", *flags);
	if (!ofi_cntr_of(&cntr->fid.fid, domain))
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_ep_bind: the counter belongs to another domain\n");
	if (caps & FI_RMA_EVENT)
		return 0;
	*flags &= own;
	if (*flags)
		return 0;
	return ofi_refuse(
		prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
		"fi_ep_bind: a counter with FI_REMOTE_READ or FI_REMOTE_WRITE: the endpoint does not have FI_RMA_EVENT, which FI_EP_RDM has if the hints of fi_getinfo ask for it; or let the peer write with data, and count FI_RECV\n");
}
