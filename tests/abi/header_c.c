/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Compiled, never run: the public headers in one program. FIRST, if defined, is a header to include
 * before the others; with ALONE it is the only one. REVERSE reverses the order.
 */

#ifdef FIRST
#include FIRST
#endif

#ifndef ALONE
#ifdef REVERSE
#include <rdma/providers/fi_prov.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_log.h>
#include <rdma/fi_trigger.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_atomic.h>
#include <rdma/fabric.h>
#else
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_prov.h>
#endif

/* Versions have to work in the preprocessor. */
#if FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION) < FI_VERSION(1, 17)
#error "FI_VERSION is of no use in #if"
#endif

struct fi_info *program_hints(void);
int program_poll(struct fid_domain *domain, struct fid_cq *cq);
void program_log(const struct fi_provider *prov, int ret);
int program_is_last(enum fi_datatype datatype, enum fi_op op);

/* What programs for API 1.x write: no errors, and no warnings either. */

struct fi_info *program_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_MSG | FI_RMA | FI_VARIABLE_MSG | FI_XPU_TRIGGER;
	hints->mode = FI_CONTEXT | FI_LOCAL_MR | FI_BUFFERED_RECV | FI_RESTRICTED_COMP;
	hints->ep_attr->type = FI_EP_MSG;
	if (hints->ep_attr->type == FI_EP_SOCK_STREAM || hints->ep_attr->type == FI_EP_SOCK_DGRAM)
		hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_BASIC;
	if (hints->domain_attr->mr_mode & ~(FI_MR_BASIC | FI_MR_SCALABLE))
		hints->domain_attr->mr_mode = FI_MR_UNSPEC;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->progress = FI_PROGRESS_AUTO;
	hints->tx_attr->op_flags = FI_PRIORITY | FI_COMPLETION;
	hints->tx_attr->tclass = fi_tc_dscp_set(8);
	return hints;
}

int program_poll(struct fid_domain *domain, struct fid_cq *cq)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *set;
	void *context[1];
	int ret;

	ret = fi_poll_open(domain, &attr, &set);
	if (ret)
		return ret;
	ret = fi_poll_add(set, &cq->fid, 0);
	if (!ret)
		ret = fi_poll(set, context, 1);
	fi_close(&set->fid);
	return ret;
}

void program_log(const struct fi_provider *prov, int ret)
{
	FI_WARN(prov, FI_LOG_CORE, "no arguments\n");
	FI_WARN_ONCE(prov, FI_LOG_EP_CTRL, "%s\n", fi_strerror(-ret));
	FI_WARN_SPARSE(prov, FI_LOG_EP_DATA, "%d\n", ret);
	if (ret)
		FI_INFO(prov, FI_LOG_CQ, "%d\n", ret);
	else
		FI_TRACE(prov, FI_LOG_MR, "%d\n", ret);
	FI_DBG(prov, FI_LOG_AV, "%d\n", ret);
}

int program_is_last(enum fi_datatype datatype, enum fi_op op)
{
	return datatype >= FI_DATATYPE_LAST || op >= FI_ATOMIC_OP_LAST;
}
#endif
