/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Elastic Fabric Adapters: recognizing them, and their attributes, which are kept by device. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "efa.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/discovery/known.h"
#include "src/ds/fork.h"

OFI_FORK_MUTEX(ask_lock, OFI_FORK_OUTER); /* held while a device is asked */

static int device_ask(const struct vrb_device *dev, struct efadv_device_attr *attr,
		      const char **call)
{
	struct ibv_context *ctx;
	int err;

	*call = "ibv_open_device";
	ctx = vrb_device_open(dev->name, false, &err);
	if (!ctx)
		return -err;
	*call = "efadv_query_device";
	memset(attr, 0, sizeof(*attr));
	err = efadv_query_device(ctx, attr, sizeof(*attr));
	ibv_close_device(ctx);
	if (!err && !vrb_known_set(dev->name, dev->guid, VRB_KNOWN_EFA, attr, sizeof(*attr)))
		err = ENOMEM;
	return err;
}

int efa_device_query(const struct vrb_device *dev, struct efadv_device_attr *attr,
		     const char **call)
{
	int err = 0;

	pthread_mutex_lock(&ask_lock);
	if (!vrb_known_get(dev->name, dev->guid, VRB_KNOWN_EFA, attr, sizeof(*attr)))
		err = device_ask(dev, attr, call);
	pthread_mutex_unlock(&ask_lock);
	return err;
}

bool efa_device_takes(const struct vrb_device *dev, struct ofi_miss *why)
{
	struct efadv_device_attr attr;
	const char *call;
	int err;

	why->attr = "device";
	snprintf(why->asked, sizeof(why->asked), "an Elastic Fabric Adapter");
	if (dev->attr.vendor_id != VRB_VENDOR_AMAZON) {
		snprintf(why->has, sizeof(why->has), "a device of vendor 0x%x",
			 dev->attr.vendor_id);
		return false;
	}
	err = efa_device_query(dev, &attr, &call);
	if (err)
		snprintf(why->has, sizeof(why->has), "%s: %s", call, strerror(err));
	return !err;
}

uint32_t efa_device_reads(struct ibv_context *ctx)
{
	struct efadv_device_attr attr = { 0 };
	int wanted;

	if (!efa_params.use_device_rdma)
		return 0;
	if (!efadv_query_device(ctx, &attr, sizeof(attr)) &&
	    attr.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ && attr.max_rdma_size)
		return attr.max_rdma_size;
	/* The environment, or a configuration file, asks for it. */
	if (!fi_param_get_bool(&efa_prov, "use_device_rdma", &wanted) && wanted)
		FI_WARN_ONCE(
			&efa_prov, FI_LOG_DOMAIN,
			"FI_EFA_USE_DEVICE_RDMA is set, but %s has no RDMA reads: data are sent\n",
			ibv_get_device_name(ctx->device));
	return 0;
}

bool efa_device_retries(struct ibv_context *ctx)
{
	struct efadv_device_attr attr = { 0 };

	return !efadv_query_device(ctx, &attr, sizeof(attr)) &&
	       attr.device_caps & EFADV_DEVICE_ATTR_CAPS_RNR_RETRY;
}
