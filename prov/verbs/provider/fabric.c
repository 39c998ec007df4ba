/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fabrics: opening one by the name that discovery gave it. */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/cntr.h"
#include "prov/base/cq.h"
#include "prov/base/eq.h"
#include "prov/base/ops.h"
#include "src/ds/suggest.h"
#include "domain.h"
#include "err.h"
#include "fabric.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/cm/pep.h"
#include "prov.h"
#include "prov/base/refuse.h"

#define FABRIC_NAMES_MAX 64 /* number of names compared to find the most similar one */

static int fabric_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **eq,
			  void *context)
{
	struct vrb_fabric *fabric = vrb_fabric(fid);
	int ret;

	if (!eq)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EQ, "fi_eq_open", "eq");
	ret = ofi_eq_open(&vrb_prov, fid->api_version, &fabric->ref, attr, vrb_eq_strerror, eq,
			  context);
	if (!ret)
		ofi_eq_set_source(ofi_eq(*eq), &fabric->loop, &fabric->cm.source);
	return ret;
}

static int fabric_wait_open(struct fid_fabric *fid, struct fi_wait_attr *attr,
			    struct fid_wait **set)
{
	return ofi_waitset_open(&vrb_prov, &vrb_fabric(fid)->ref, attr, set);
}

static int trywait_one(struct fid *fid)
{
	if (ofi_cq_of(fid, NULL))
		return ofi_cq_trywait(fid);
	if (fid && fid->fclass == FI_CLASS_EQ)
		return ofi_eq_trywait(fid);
	if (fid && fid->fclass == FI_CLASS_CNTR)
		return ofi_cntr_trywait(fid);
	if (fid && fid->fclass == FI_CLASS_WAIT)
		return ofi_waitset_trywait((struct ofi_waitset *)fid);
	return ofi_refuse(
		&vrb_prov, FI_LOG_FABRIC, -FI_EINVAL,
		"fi_trywait: object of class %zu; only event queues, completion queues, counters and wait sets can be waited for\n",
		fid ? fid->fclass : 0);
}

static int fabric_trywait(struct fid_fabric *fid, struct fid **fids, int count)
{
	int i, ret = 0;

	(void)fid;
	if (count < 0 || (count && !fids))
		return ofi_refuse(&vrb_prov, FI_LOG_FABRIC, -FI_EINVAL,
				  "fi_trywait: %d objects at %p\n", count, (void *)fids);
	for (i = 0; i < count && !ret; i++)
		ret = trywait_one(fids[i]);
	return ret;
}

static void fabric_free(struct vrb_fabric *fabric)
{
	if (!fabric)
		return;
	free(fabric->name);
	free(fabric);
}

static int fabric_close(struct fid *fid)
{
	struct vrb_fabric *fabric = (struct vrb_fabric *)fid;
	int ret = ofi_ref_busy(&fabric->ref);

	if (ofi_ref_inherited(&fabric->ref))
		return 0;
	if (ret)
		return ofi_refuse(
			&vrb_prov, FI_LOG_FABRIC, ret,
			"fi_close: fabric %p has open domains, passive endpoints or event queues\n",
			(void *)fabric);
	vrb_cm_fini(&fabric->cm);
	ofi_loop_fini(&fabric->loop);
	fabric_free(fabric);
	return 0;
}

static const struct fi_ops fabric_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = fabric_close,
};

static const struct fi_ops_fabric fabric_ops = {
	.size = OFI_FABRIC_DEFAULTS,
	.domain = vrb_domain_open,
	.passive_ep = vrb_pep_open,
	.eq_open = fabric_eq_open,
	.wait_open = fabric_wait_open,
	.trywait = fabric_trywait,
};

static void unknown_name(const char *name, const struct fi_info *infos)
{
	const char *names[FABRIC_NAMES_MAX] = { NULL }, *near;
	const struct fi_info *info;
	size_t count = 0;

	for (info = infos; info && count < FABRIC_NAMES_MAX; info = info->next)
		names[count++] = info->fabric_attr->name;
	near = ofi_suggest(name, names, count);
	if (!near)
		near = names[0];
	FI_WARN(&vrb_prov, FI_LOG_FABRIC, "fi_fabric: no RDMA device is on fabric '%s'%s%s%s\n",
		name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Accepts the names that fi_getinfo reports. */
static int check_name(const struct vrb_kind *kind, const char *name)
{
	struct fi_info *infos = NULL;
	const struct fi_info *info;
	int ret;

	ret = vrb_kind_getinfo(kind, vrb_prov.fi_version, NULL, NULL, 0, NULL, &infos);
	if (ret)
		return ret;
	for (info = infos; info; info = info->next)
		if (!strcmp(info->fabric_attr->name, name))
			break;
	if (!info)
		unknown_name(name, infos);
	fi_freeinfo(infos);
	return info ? 0 : -FI_ENODEV;
}

int vrb_fabric_open_by(const struct vrb_kind *kind, struct fi_fabric_attr *attr,
		       struct fid_fabric **fid, void *context)
{
	struct vrb_fabric *fabric;
	int ret;

	if (!attr || !attr->name || !fid)
		return ofi_refuse(
			&vrb_prov, FI_LOG_FABRIC, -FI_EINVAL,
			"fi_fabric: attr, attr->name or fabric is NULL; pass fabric_attr of an fi_info\n");
	ret = check_name(kind, attr->name);
	if (ret)
		return ret;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	ofi_ref_own(&fabric->ref);
	fabric->kind = kind;
	fabric->name = strdup(attr->name);
	ret = fabric->name ? ofi_loop_init(&fabric->loop, &vrb_prov) : -FI_ENOMEM;
	if (ret) {
		fabric_free(fabric);
		return ret;
	}
	vrb_cm_init(&fabric->cm, fabric);
	fabric->fid = (struct fid_fabric){
		.fid = { .fclass = FI_CLASS_FABRIC,
			 .context = context,
			 .ops = ofi_ops(&fabric_fid_ops) },
		.ops = ofi_ops(&fabric_ops),
		.api_version = attr->api_version,
	};
	*fid = &fabric->fid;
	return 0;
}

int vrb_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return vrb_fabric_open_by(&vrb_kind, attr, fabric, context);
}
