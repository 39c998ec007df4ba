/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Resolves the address of a peer, to connect to it or to probe its host. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"

int vrb_rdm_conn_resolve(const struct ofi_rdm_ep *ep, struct rdma_cm_id *id, struct ofi_rdm_addr to)
{
	struct ofi_rdm_addr from = ep->self;
	struct sockaddr *src = from.sa.sa_family == to.sa.sa_family ? &from.sa : NULL;
	char text[OFI_ADDR_STRLEN];
	int ret;

	vrb_tclass_set_id(vrb_tclass_of(ep->domain->info, ep->info), id);
	ofi_addr_set_port(&from.sa, 0);
	ofi_rdm_addr_set_hint(&from, (struct ofi_rdm_addr_hint){ 0 });
	ofi_rdm_addr_set_hint(&to, (struct ofi_rdm_addr_hint){ 0 });
	if (to.sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&to.in6.sin6_addr))
		to.in6.sin6_scope_id = vrb_rc(ep)->conns.scope;
	if (!rdma_resolve_addr(id, src, &to.sa, vrb_params.resolve_timeout))
		return 0;
	ret = vrb_errno(errno);
	if (ret == -FI_EADDRNOTAVAIL && src)
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"own address %s is on no interface any more, so open a new endpoint; or no port is free\n",
			ofi_addr_str(&ep->self.sa, text, sizeof(text)));
	return ret;
}
