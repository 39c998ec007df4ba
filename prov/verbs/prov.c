/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's entry point, built in or as a plug-in. */

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <rdma/providers/fi_log.h>
#include <ofi/ops.h>
#include <ofi/stats.h>
#include "av.h"
#include "conn.h"
#include "device.h"
#include "fabric.h"
#include "info.h"
#include "inline.h"
#include "mc.h"
#include "ops.h"
#include "pep.h"
#include "prov.h"
#include "rdm/domain.h"
#include "req.h"
#include "snapshot.h"

static void cleanup(void)
{
	vrb_snapshot_forget();
	vrb_inline_forget();
	vrb_device_forget();
}

struct fi_provider vrb_prov = {
	.version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "verbs",
	.getinfo = vrb_getinfo,
	.fabric = vrb_fabric_open,
	.cleanup = cleanup,
};

static struct fi_provider *start(void)
{
	int stats = 1;

	if (vrb_params_init())
		return NULL;
	/* Without the parameter the application could not say no. */
	if (fi_param_get_bool(NULL, "stats", &stats) == -FI_ENOENT || !stats)
		ofi_stats_forbid();
	ofi_ops_init();
	vrb_domain_ops_init();
	vrb_av_ops_init();
	vrb_mc_ops_init();
	vrb_ep_ops_init();
	vrb_cq_ops_init();
	vrb_mr_ops_init();
	vrb_srx_ops_init();
	vrb_stx_ops_init();
	vrb_cm_ops_init();
	vrb_pep_ops_init();
	vrb_req_ops_init();
	vrb_rdm_domain_init();
	vrb_fabric_ops_init();
	return &vrb_prov;
}

#ifdef VERBS_DL
FI_EXT_INI
{
	return start();
}
#else
struct fi_provider *fi_verbs_ini(void);

struct fi_provider *fi_verbs_ini(void)
{
	return start();
}
#endif
