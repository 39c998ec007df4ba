/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Elastic Fabric Adapters: recognizing them, and their attributes, which are kept by device. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "efa.h"
#include "prov/verbs/discovery/kind.h"
#include "src/ds/fork.h"

struct known {
	SLIST_ENTRY(known) next;
	char name[IBV_SYSFS_NAME_MAX];
	__be64 guid; /* another device may get the name */
	struct efadv_device_attr attr;
};

static SLIST_HEAD(, known) devices = SLIST_HEAD_INITIALIZER(devices);
OFI_FORK_MUTEX(devices_lock, OFI_FORK_OUTER); /* also held while a device is asked */

/* The caller holds the lock. */
static const struct known *device_find(const struct vrb_device *dev)
{
	const struct known *known;

	SLIST_FOREACH (known, &devices, next)
		if (known->guid == dev->guid && !strcmp(known->name, dev->name))
			return known;
	return NULL;
}

static int device_keep(const struct vrb_device *dev, const struct efadv_device_attr *attr)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known)
		return ENOMEM;
	snprintf(known->name, sizeof(known->name), "%s", dev->name);
	known->guid = dev->guid;
	known->attr = *attr;
	SLIST_INSERT_HEAD(&devices, known, next);
	return 0;
}

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
	return err ? err : device_keep(dev, attr);
}

int efa_device_query(const struct vrb_device *dev, struct efadv_device_attr *attr,
		     const char **call)
{
	const struct known *known;
	int err = 0;

	pthread_mutex_lock(&devices_lock);
	known = device_find(dev);
	if (known)
		*attr = known->attr;
	else
		err = device_ask(dev, attr, call);
	pthread_mutex_unlock(&devices_lock);
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

void efa_device_forget(void)
{
	struct known *known;

	if (pthread_mutex_trylock(&devices_lock))
		return;
	while ((known = SLIST_FIRST(&devices))) {
		SLIST_REMOVE_HEAD(&devices, next);
		free(known);
	}
	pthread_mutex_unlock(&devices_lock);
}
