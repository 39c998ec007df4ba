/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's start and end. */
#include "efa.h"

#include "prov/verbs/provider/fabric.h"

static int efa_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return vrb_fabric_open_by(&efa_kind, attr, fabric, context);
}

struct fi_provider efa_prov = {
	/* Lower than that of any other efa provider: one tested on adapters replaces this one. */
	.version = FI_VERSION(0, 1),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "efa",
	.getinfo = efa_getinfo,
	.fabric = efa_fabric_open,
	.cleanup = vrb_prov_cleanup,
};

struct fi_provider *fi_efa_ini(void);

struct fi_provider *fi_efa_ini(void)
{
	vrb_prov_start();
	efa_params_init();
	return &efa_prov;
}
