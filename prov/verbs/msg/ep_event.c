/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events of an endpoint's queue pair. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/domain.h"
#include "ep.h"
#include "prov/verbs/cm/fsm.h"
#include "prov/verbs/provider/prov.h"

/* Reports a fatal error: the connection, or else the operations, fail with err. */
static void ep_fatal(struct vrb_ep *ep, int err)
{
	struct vrb_step_arg arg = { .err = err, .prov_errno = -err };

	if (vrb_ep_is_dgram(ep)) {
		vrb_ep_down(ep, -err);
		return;
	}
	vrb_fsm_step(ep, VRB_STEP_FATAL, &arg);
}

static void qp_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	struct vrb_ep *ep = ofi_container(owner, struct vrb_ep, owner);

	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "endpoint %p: %s\n", (void *)ep,
		ibv_event_type_str(type));
	if (vrb_ep_is_dgram(ep)) /* the failed completion reports it and how to continue */
		return;
	switch (type) {
	case IBV_EVENT_QP_FATAL:
		ep_fatal(ep, FI_EIO);
		break;
	case IBV_EVENT_QP_REQ_ERR:
		ep_fatal(ep, FI_EREMOTEIO);
		break;
	case IBV_EVENT_QP_ACCESS_ERR:
		ep_fatal(ep, FI_EKEYREJECTED);
		break;
	case IBV_EVENT_COMM_EST:
		vrb_fsm_step(ep, VRB_STEP_COMM_EST, NULL);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		__atomic_store_n(&ep->last_wqe, true, __ATOMIC_RELEASE);
		__atomic_store_n(&ep->domain->no_last_wqe, false, __ATOMIC_RELAXED);
		break;
	default:
		break;
	}
}

static void qp_fatal(struct vrb_owner *owner, int err)
{
	ep_fatal(ofi_container(owner, struct vrb_ep, owner), err);
}

const struct vrb_owner_ops vrb_ep_owner_ops = { .qp_event = qp_event, .fatal = qp_fatal };
