/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo: resolves, looks at a snapshot, offers what fits and says why the rest does not. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include <ofi/attr.h>
#include <ofi/explain.h>
#include "domain.h"
#include "ep.h"
#include "fabric.h"
#include "info.h"
#include "netdev.h"
#include "prov.h"
#include "resolve.h"
#include "snapshot.h"

#define SYSFS_DEVICES "/sys/class/infiniband"

struct offer {
	STAILQ_ENTRY(offer) next;
	int distance;
	struct fi_info *info;
};
STAILQ_HEAD(offers, offer);

struct search {
	uint32_t version;
	const struct fi_info *hints;
	struct vrb_target target;
	struct offers offers; /* the nearest first */
	int shortage;	      /* -FI_E*: the process ran out of something, which is not "no data" */
};

static void reject(const char *device, uint32_t port, uint32_t misses, const struct ofi_miss *miss)
{
	struct fi_explain_entry entry = {
		.prov_name = vrb_prov.name,
		.domain_name = device,
		.port = port,
		.ep_type = device ? FI_EP_MSG : FI_EP_UNSPEC,
		.misses = misses,
		.attr = miss->attr,
		.asked = miss->asked,
		.has = miss->has,
	};

	ofi_explain(&vrb_prov, &entry);
}

static int insert(struct search *search, struct fi_info *info, int distance)
{
	struct offer *offer = calloc(1, sizeof(*offer)), *at, *before = NULL;

	if (!offer)
		return -FI_ENOMEM;
	offer->info = info;
	offer->distance = distance;
	STAILQ_FOREACH (at, &search->offers, next) {
		if (at->distance > distance)
			break;
		before = at;
	}
	if (before)
		STAILQ_INSERT_AFTER(&search->offers, before, offer, next);
	else
		STAILQ_INSERT_HEAD(&search->offers, offer, next);
	return 0;
}

/* In the text form when that is the address format. */
static int set_addr(const struct fi_info *info, const struct sockaddr_storage *ss, void **addr,
		    size_t *len)
{
	const struct sockaddr *sa = (const struct sockaddr *)ss;
	char text[OFI_ADDR_STRLEN];
	const void *from = sa;
	size_t size = ofi_addr_size(sa);

	if (!size)
		return 0;
	if (info->addr_format == FI_ADDR_STR) {
		from = ofi_addr_str(sa, text, sizeof(text));
		size = strlen(text) + 1;
	}
	*addr = malloc(size);
	if (!*addr)
		return -FI_ENOMEM;
	memcpy(*addr, from, size);
	*len = size;
	return 0;
}

/* A copy of the port's info with what hangs on the address and on the hints. */
static int make_offer(const struct search *search, const struct fi_info *port_info,
		      const struct sockaddr_storage *src, const struct sockaddr_storage *dest,
		      struct fi_info **offer)
{
	struct fi_info *info = fi_dupinfo(port_info);
	int ret;

	if (!info)
		return -FI_ENOMEM;
	info->addr_format = ofi_addr_format((const struct sockaddr *)src);
	ofi_attr_narrow(search->version, info, search->hints);
	vrb_info_settle(info, search->hints);
	ret = set_addr(info, src, &info->src_addr, &info->src_addrlen);
	if (!ret)
		ret = set_addr(info, dest, &info->dest_addr, &info->dest_addrlen);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	if (search->hints) {
		info->handle = search->hints->handle;
		if (search->hints->domain_attr)
			info->domain_attr->domain = search->hints->domain_attr->domain;
		if (search->hints->fabric_attr)
			info->fabric_attr->fabric = search->hints->fabric_attr->fabric;
	}
	*offer = info;
	return 0;
}

static bool format_fits(const struct search *search, const struct vrb_port_addr *local,
			struct ofi_miss *miss)
{
	struct fi_info have = { .addr_format = ofi_addr_format((const void *)&local->addr) };
	struct fi_info hints = { 0 };

	if (!search->hints)
		return true;
	hints.addr_format = search->hints->addr_format;
	return !ofi_attr_misses(search->version, &have, &hints, miss);
}

static int try_addr(struct search *search, const struct vrb_device *dev,
		    const struct vrb_port *port, const struct vrb_port_addr *local,
		    const struct fi_info *port_info)
{
	struct sockaddr_storage src, dest;
	struct fi_info *info;
	struct ofi_miss miss;
	bool preferred;
	int ret;

	if (!format_fits(search, local, &miss) ||
	    !vrb_resolve_src(&search->target, local, &src, &miss)) {
		reject(dev->name, port->num, 1, &miss);
		return 0;
	}
	ret = vrb_resolve_dest(&search->target, local, &dest, &preferred, &miss);
	if (ret == -FI_ENODATA) {
		reject(dev->name, port->num, 1, &miss);
		return 0;
	}
	if (!ret)
		ret = make_offer(search, port_info, &src, &dest, &info);
	if (ret)
		return ret;
	ret = insert(search, info, vrb_addr_rank((const void *)&local->addr) + (preferred ? 0 : 8));
	if (ret)
		fi_freeinfo(info);
	return ret;
}

static bool is_shortage(int err)
{
	return err == FI_ENOMEM || err == FI_EMFILE || err == ENFILE || err == FI_EAGAIN ||
	       err == FI_ENOSPC;
}

static bool object_miss(struct ofi_miss *miss, const char *attr, const char *asked, const char *has)
{
	miss->attr = attr;
	snprintf(miss->asked, sizeof(miss->asked), "one of %s", asked);
	snprintf(miss->has, sizeof(miss->has), "%s", has);
	return false;
}

/* hints->domain_attr->domain stands for the device it is open on; it may be another provider's. */
static bool is_domain(const struct search *search, const struct vrb_device *dev,
		      struct ofi_miss *miss)
{
	const struct fi_domain_attr *attr = search->hints ? search->hints->domain_attr : NULL;
	struct fid_domain *fid = attr ? attr->domain : NULL;
	const char *name;

	if (!fid)
		return true;
	name = fid->ops->endpoint == vrb_ep_open ? vrb_domain(fid)->info->domain_attr->name
						 : "another provider";
	return !strcmp(name, dev->name) ||
	       object_miss(miss, "domain_attr->domain", name, dev->name);
}

/* hints->fabric_attr->fabric stands for the name it was opened with. */
static bool is_fabric(const struct search *search, const struct fi_info *info,
		      struct ofi_miss *miss)
{
	const struct fi_fabric_attr *attr = search->hints ? search->hints->fabric_attr : NULL;
	struct fid_fabric *fid = attr ? attr->fabric : NULL;
	const char *name;

	if (!fid)
		return true;
	name = fid->ops->domain == vrb_domain_open ? vrb_fabric(fid)->name : "another provider";
	return !strcmp(name, info->fabric_attr->name) ||
	       object_miss(miss, "fabric_attr->fabric", name, info->fabric_attr->name);
}

static int try_port(struct search *search, const struct vrb_device *dev,
		    const struct vrb_port *port)
{
	const struct vrb_port_addr *local;
	struct fi_info *info;
	struct ofi_miss miss, unusable;
	unsigned misses;
	int ret = 0;

	info = vrb_info_msg(dev, port);
	if (!info)
		return -FI_ENOMEM;
	vrb_info_offer_mode(info, search->hints);
	misses = ofi_attr_misses(search->version, info, search->hints, &miss);
	if (!is_fabric(search, info, misses ? &unusable : &miss))
		misses++;
	if (!vrb_port_usable(port, &unusable))
		reject(dev->name, port->num, misses + 1, &unusable);
	else if (misses)
		reject(dev->name, port->num, misses, &miss);
	else
		STAILQ_FOREACH (local, &port->addrs, next) {
			ret = try_addr(search, dev, port, local, info);
			if (ret)
				break;
		}
	fi_freeinfo(info);
	return ret;
}

static int try_device(struct search *search, const struct vrb_device *dev)
{
	struct ofi_miss miss;
	int i, ret = 0;

	if (dev->err) {
		if (is_shortage(dev->err) && !search->shortage)
			search->shortage = -dev->err;
		reject(dev->name, 0, 1, &dev->why);
		return 0;
	}
	if (!is_domain(search, dev, &miss)) {
		reject(dev->name, 0, 1, &miss);
		return 0;
	}
	for (i = 0; i < dev->num_ports && !ret; i++)
		ret = try_port(search, dev, &dev->ports[i]);
	return ret;
}

static unsigned count_entries(const char *path)
{
	unsigned count = 0;
	struct dirent *entry;
	DIR *dir = opendir(path);

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void reject_no_device(void)
{
	struct ofi_miss miss = { .attr = "device", .asked = "an RDMA device" };
	unsigned count = count_entries(SYSFS_DEVICES);

	if (count)
		snprintf(miss.has, sizeof(miss.has),
			 "%u in " SYSFS_DEVICES ", none in /dev/infiniband: load ib_uverbs", count);
	else
		snprintf(miss.has, sizeof(miss.has),
			 "none in " SYSFS_DEVICES ": load the driver of a device, or rdma_rxe");
	reject(NULL, 0, 1, &miss);
}

static int try_all(struct search *search, bool fresh)
{
	const struct vrb_snapshot *snapshot;
	const struct vrb_device *dev;
	int ret;

	ret = vrb_snapshot_get(fresh, &snapshot);
	if (ret)
		return ret;
	if (STAILQ_EMPTY(snapshot))
		reject_no_device();
	STAILQ_FOREACH (dev, snapshot, next) {
		ret = try_device(search, dev);
		if (ret)
			break;
	}
	vrb_snapshot_put(snapshot);
	return ret;
}

/* Empties the offers into a list, or frees them. */
static void join(struct offers *offers, struct fi_info **list)
{
	struct offer *offer;

	while ((offer = STAILQ_FIRST(offers))) {
		STAILQ_REMOVE_HEAD(offers, next);
		if (list) {
			*list = offer->info;
			list = &offer->info->next;
		} else {
			fi_freeinfo(offer->info);
		}
		free(offer);
	}
}

static int attr_only(struct fi_info **info)
{
	*info = fi_allocinfo();
	if (!*info)
		return -FI_ENOMEM;
	(*info)->fabric_attr->prov_version = vrb_prov.version;
	return 0;
}

int vrb_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	struct search search = { .version = version, .hints = hints };
	struct ofi_miss miss;
	int ret;

	*info = NULL;
	if (flags & FI_PROV_ATTR_ONLY)
		return attr_only(info);
	STAILQ_INIT(&search.offers);
	ret = vrb_resolve(node, service, flags, hints, &search.target, &miss);
	if (ret) {
		if (ret == -FI_ENODATA)
			reject(NULL, 0, 1, &miss);
		return ret;
	}
	ret = try_all(&search, flags & FI_RESCAN);
	if (!ret && STAILQ_EMPTY(&search.offers))
		ret = search.shortage ? search.shortage : -FI_ENODATA;
	join(&search.offers, ret ? NULL : info);
	return ret;
}
