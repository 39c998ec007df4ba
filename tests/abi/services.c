/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A provider that uses everything the core offers to providers, compiled with the system's headers
 * if there are any: parameters of all types, the log, copies and texts of fi_info, and objects that
 * the core's hooks wrap. Its endpoint completes at once whatever it sends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

struct endpoint {
	struct fid_ep fid;
	struct fid_cq *cq;
};

struct queue {
	struct fid_cq fid;
	void *context;
	int full;
};

static struct fi_provider services;
static struct fi_info *template;

static int object_close(struct fid *fid)
{
	FI_DBG(&services, FI_LOG_CORE, "closed\n");
	free(fid);
	return 0;
}

static int no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)bfid;
	(void)flags;
	return -FI_ENOSYS;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	if (bfid->fclass != FI_CLASS_CQ || !(flags & FI_TRANSMIT))
		return -FI_EINVAL;
	((struct endpoint *)fid)->cq = (struct fid_cq *)bfid;
	return 0;
}

static int enable(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)arg;
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int no_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}

static struct fi_ops fid_ops = { .size = sizeof(fid_ops),
				 .close = object_close,
				 .bind = no_bind,
				 .control = enable,
				 .ops_open = no_ops };
static struct fi_ops ep_fid_ops = { .size = sizeof(ep_fid_ops),
				    .close = object_close,
				    .bind = ep_bind,
				    .control = enable,
				    .ops_open = no_ops };

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct fi_cq_entry *entry = buf;
	struct queue *cq = (struct queue *)fid;

	if (!cq->full || !count)
		return -FI_EAGAIN;
	cq->full = 0;
	entry->op_context = cq->context;
	return 1;
}

static struct fi_ops_cq cq_ops = { .size = sizeof(cq_ops), .read = cq_read };

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **fid,
		   void *context)
{
	struct queue *cq = calloc(1, sizeof(*cq));

	(void)domain;
	(void)attr;
	if (!cq)
		return -FI_ENOMEM;
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &fid_ops;
	cq->fid.ops = &cq_ops;
	*fid = &cq->fid;
	return 0;
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
		       void *context)
{
	struct queue *cq = (struct queue *)((struct endpoint *)fid)->cq;

	(void)buf;
	(void)desc;
	(void)to;
	if (!cq || len > template->ep_attr->max_msg_size)
		return -FI_EINVAL;
	cq->context = context;
	cq->full = 1;
	return 0;
}

static struct fi_ops_msg msg_ops = { .size = sizeof(msg_ops), .send = ep_send };

static int endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid,
		    void *context)
{
	struct endpoint *ep = calloc(1, sizeof(*ep));
	char text[64];

	(void)domain;
	if (!ep)
		return -FI_ENOMEM;
	FI_INFO(&services, FI_LOG_EP_CTRL, "opens %s\n",
		fi_tostr_r(text, sizeof(text), &info->ep_attr->type, FI_TYPE_EP_TYPE));
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.msg = &msg_ops;
	*fid = &ep->fid;
	return 0;
}

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		       void *context)
{
	static struct fi_ops_domain ops = { .size = sizeof(ops),
					    .cq_open = cq_open,
					    .endpoint = endpoint };

	(void)fabric;
	if (strcmp(info->domain_attr->name, template->domain_attr->name) != 0)
		return -FI_ENODEV;
	*domain = calloc(1, sizeof(**domain));
	if (!*domain)
		return -FI_ENOMEM;
	(*domain)->fid.fclass = FI_CLASS_DOMAIN;
	(*domain)->fid.context = context;
	(*domain)->fid.ops = &fid_ops;
	(*domain)->ops = &ops;
	return 0;
}

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	static struct fi_ops_fabric ops = { .size = sizeof(ops), .domain = domain_open };

	if (strcmp(attr->name, template->fabric_attr->name) != 0)
		return -FI_ENODEV;
	*fabric = calloc(1, sizeof(**fabric));
	if (!*fabric)
		return -FI_ENOMEM;
	(*fabric)->fid.fclass = FI_CLASS_FABRIC;
	(*fabric)->fid.context = context;
	(*fabric)->fid.ops = &fid_ops;
	(*fabric)->ops = &ops;
	return 0;
}

/* Each parameter is stored in a field of the info, where the application reads it. */
static int read_params(struct fi_info *info)
{
	char *name = NULL;
	size_t most = 100;
	int order = 3, lazy = 0;

	fi_param_get_str(&services, "name", &name);
	fi_param_get_size_t(&services, "most", &most);
	fi_param_get_int(&services, "order", &order);
	fi_param_get_bool(&services, "lazy", &lazy);
	info->caps = FI_MSG;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = most;
	info->ep_attr->protocol_version = (uint32_t)order;
	info->domain_attr->data_progress = lazy ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO;
	info->domain_attr->name = strdup(name ? name : "services0");
	info->fabric_attr->name = strdup("services");
	return info->domain_attr->name && info->fabric_attr->name ? 0 : -FI_ENOMEM;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **info)
{
	char text[8192];

	(void)node;
	(void)service;
	(void)flags;
	if (FI_VERSION_LT(fi_version(), version) || (hints && hints->caps & ~FI_MSG))
		return -FI_ENODATA;
	*info = fi_dupinfo(template);
	if (!*info)
		return -FI_ENOMEM;
	if (!strstr(fi_tostr_r(text, sizeof(text), *info, FI_TYPE_INFO), "FI_EP_MSG") ||
	    !strstr(fi_tostr(&template->caps, FI_TYPE_CAPS), "FI_MSG"))
		return -FI_EOTHER;
	if (fi_log_enabled(&services, FI_LOG_WARN, FI_LOG_CORE))
		FI_WARN_SPARSE(&services, FI_LOG_CORE, "speaks, %s\n", fi_strerror(FI_ENODATA));
	return 0;
}

static void cleanup(void)
{
	fi_freeinfo(template);
}

static struct fi_provider services = {
	.version = FI_VERSION(4, 2),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "services",
	.getinfo = getinfo,
	.fabric = fabric_open,
	.cleanup = cleanup,
};

/* The system's header defines this function without a declaration, which clang warns about. */
struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	fi_param_define(&services, "name", FI_PARAM_STRING, "Name of the %s", "domain");
	fi_param_define(&services, "most", FI_PARAM_SIZE_T, "Bytes of a message");
	fi_param_define(&services, "order", FI_PARAM_INT, "A number");
	fi_param_define(&services, "lazy", FI_PARAM_BOOL, "Manual progress");
	template = fi_allocinfo();
	return template && !read_params(template) ? &services : NULL;
}
