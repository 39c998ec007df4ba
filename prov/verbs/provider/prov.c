/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's start and end. */

#include <rdma/fi_errno.h>
#include "prov/base/stats.h"
#include "fabric.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/known.h"
#include "prov.h"
#include "prov/verbs/rdm/domain.h"
#include "prov/verbs/discovery/snapshot.h"

void vrb_prov_cleanup(void)
{
	vrb_snapshot_forget();
	vrb_known_forget();
}

struct fi_provider vrb_prov = {
	.version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "verbs",
	.getinfo = vrb_getinfo,
	.fabric = vrb_fabric_open,
	.cleanup = vrb_prov_cleanup,
};

void vrb_prov_start(void)
{
	static bool started;
	int stats = 1;

	if (started)
		return;
	started = true;
	vrb_params_init();
	/*
	 * If the core does not have the parameter, the application has no way to disable
	 * statistics.
	 */
	if (fi_param_get_bool(NULL, "stats", &stats) == -FI_ENOENT || !stats)
		ofi_stats_forbid();
	vrb_rdm_domain_init();
}

struct fi_provider *fi_verbs_ini(void);

struct fi_provider *fi_verbs_ini(void)
{
	vrb_prov_start();
	return &vrb_prov;
}
