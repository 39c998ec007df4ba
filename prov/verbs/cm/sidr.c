/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service ID resolution: the answering side, on the fabric's event thread. */
#include <errno.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/fabric.h"
#include "prov/verbs/provider/prov.h"
#include "sidr.h"

enum { BACKLOG = 1024 };

static int sidr_failed(const char *call, const struct sockaddr_storage *local)
{
	char text[OFI_ADDR_STRLEN];
	int err = vrb_err_cause(errno);

	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_enable: %s, %s: %s%s\n", call,
		ofi_addr_str((const struct sockaddr *)local, text, sizeof(text)), fi_strerror(err),
		vrb_remedy(err));
	return vrb_errno(err);
}

/* Answers a request. The caller then destroys the id, which rejects an unanswered request. */
static void sidr_answer(struct vrb_sidr_server *server, const struct rdma_cm_event *event)
{
	struct rdma_conn_param param = {
		.private_data = &server->name,
		.private_data_len = sizeof(server->name),
		.qp_num = server->qpn,
	};

	if (rdma_accept(event->id, &param))
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
			       "rdma_accept, asked for a queue pair number: %s\n",
			       fi_strerror(errno));
}

static void sidr_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			  struct vrb_cm_left *left)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return;
	sidr_answer(ofi_container(owner, struct vrb_sidr_server, owner), event);
	left->destroy = event->id;
}

static const struct vrb_owner_ops server_owner_ops = { .event = sidr_cm_event };

int vrb_sidr_listen(struct vrb_sidr_server *server, struct vrb_fabric *fabric,
		    const struct sockaddr_storage *local, const struct vrb_ud_name *name)
{
	struct sockaddr_storage to = *local;
	struct rdma_cm_id *id;
	struct vrb_dest dest;
	const char *why;
	int ret;

	if (vrb_ud_name_in(FI_ADDR_IB_UD, name, &dest, &why))
		return -FI_EINVAL;
	*server = (struct vrb_sidr_server){ .owner.ops = &server_owner_ops, .name = *name };
	server->qpn = dest.qpn;
	ret = vrb_cm_create_id(&fabric->cm, "fi_enable", &server->owner, true, &id);
	if (ret)
		return ret;
	if (vrb_cm_bind(id, &to)) {
		ret = sidr_failed("rdma_bind_addr", local);
	} else {
		vrb_cm_copy_addr(&server->local, rdma_get_local_addr(id));
		if (vrb_cm_listen(id, BACKLOG))
			ret = sidr_failed("rdma_listen", local);
	}
	if (ret)
		rdma_destroy_id(id);
	else
		server->id = id;
	return ret;
}

void vrb_sidr_close(struct vrb_sidr_server *server)
{
	if (server->id)
		rdma_destroy_id(server->id);
	server->id = NULL;
}
