/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo: offers the endpoints of each port that match the hints, and explains the others. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <ofi/addr.h>
#include "prov/base/attr.h"
#include <ofi/explain.h>
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/fabric.h"
#include "affinity.h"
#include "gid.h"
#include "info.h"
#include "netdev.h"
#include "info_rdm.h"
#include "kind.h"
#include "offer.h"
#include "resolve.h"
#include "snapshot.h"

#define SYSFS_DEVICES "/sys/class/infiniband"

#define DGRAM_DISTANCE 32 /* greater than the distance of any address */

struct search {
	const struct vrb_kind *kind;
	uint32_t version;
	const struct fi_info *hints;
	struct vrb_target target;
	struct vrb_offers offers; /* nearest first */
	struct vrb_affinity affinity;
	int place;	      /* of the current device among offers with equally near addresses */
	enum fi_ep_type type; /* of the current candidate */
	/* -FI_E* if a device lacked a resource; returned instead of -FI_ENODATA. */
	int shortage;
	/* Not NULL: only reliable datagrams, under the name of this layered provider. */
	const char *layered;
	bool quiet; /* rejections matter only if nothing is offered */
};

static void reject_port(const struct search *search, const char *device, uint32_t port,
			uint32_t misses, const struct ofi_miss *miss)
{
	struct fi_explain_entry entry = {
		.prov_name = search->kind->prov->name,
		.domain_name = device,
		.port = port,
		.ep_type = device ? search->type : FI_EP_UNSPEC,
		.misses = misses,
		.attr = miss->attr,
		.asked = miss->asked,
		.has = miss->has,
	};

	if (!search->quiet)
		ofi_explain(search->kind->prov, &entry);
}

/* Copies hints->domain and similar objects to the offer. */
static void set_objects(const struct search *search, struct fi_info *info)
{
	const struct fi_info *hints = search->hints;

	if (!hints)
		return;
	info->handle = hints->handle;
	if (hints->domain_attr)
		info->domain_attr->domain = hints->domain_attr->domain;
	if (hints->fabric_attr)
		info->fabric_attr->fabric = hints->fabric_attr->fabric;
}

/* Copies the port's info and sets the fields that depend on the address format and the hints. */
static struct fi_info *new_offer(const struct search *search, const struct fi_info *port_info,
				 uint32_t format)
{
	struct fi_info *info = fi_dupinfo(port_info);

	if (!info)
		return NULL;
	info->addr_format = format;
	ofi_attr_narrow(search->version, info, search->hints);
	if (search->type != FI_EP_RDM)
		vrb_info_settle(search->kind->sizes, info, search->hints);
	set_objects(search, info);
	return info;
}

static int make_offer(const struct search *search, const struct fi_info *port_info,
		      const struct sockaddr_storage *src, const struct sockaddr_storage *dest,
		      struct fi_info **offer)
{
	struct fi_info *info =
		new_offer(search, port_info, ofi_addr_format((const struct sockaddr *)src));
	int ret;

	if (!info)
		return -FI_ENOMEM;
	ret = vrb_offer_set_addr(info, src, &info->src_addr, &info->src_addrlen);
	if (!ret)
		ret = vrb_offer_set_addr(info, dest, &info->dest_addr, &info->dest_addrlen);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	*offer = info;
	return 0;
}

/* Orders by the distance of the address, then by that of the device to the process. */
static int insert_offer(struct search *search, struct fi_info *info, int distance)
{
	return vrb_offer_insert(&search->offers, info,
				distance * (VRB_AFFINITY_MAX + 1) + search->place);
}

static bool format_fits(const struct search *search, uint32_t format, struct ofi_miss *miss)
{
	struct fi_info have = { .addr_format = format };
	struct fi_info hints = { 0 };

	if (!search->hints || ofi_attr_format_fits(format, search->hints->addr_format))
		return true;
	hints.addr_format = search->hints->addr_format;
	if (!search->quiet)
		ofi_attr_misses(search->version, &have, &hints, miss);
	return false;
}

/*
 * Offers come in this order: connections, reliable datagrams, datagrams. Names of datagram
 * endpoints come before their IP addresses.
 */
static int search_nearness(const struct search *search)
{
	if (search->type == FI_EP_RDM)
		return DGRAM_DISTANCE / 2;
	return search->type == FI_EP_DGRAM ? DGRAM_DISTANCE + 1 : 0;
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

	if (!format_fits(search, ofi_addr_format((const void *)&local->addr), &miss) ||
	    !vrb_resolve_src(&search->target, local, &src, &miss)) {
		reject_port(search, dev->name, port->num, 1, &miss);
		return 0;
	}
	if (search->type == FI_EP_MSG && !vrb_resolve_any(&search->target, port, local, &src))
		return 0;
	ret = vrb_resolve_dest(&search->target, local, &dest, &preferred, &miss);
	if (ret == -FI_ENODATA) {
		reject_port(search, dev->name, port->num, 1, &miss);
		return 0;
	}
	if (!ret)
		ret = make_offer(search, port_info, &src, &dest, &info);
	if (ret)
		return ret;
	ret = insert_offer(search, info,
			   search_nearness(search) + vrb_addr_rank((const void *)&local->addr) +
				   (preferred ? 0 : 8));
	if (ret)
		fi_freeinfo(info);
	return ret;
}

static void note_shortage(struct search *search, int err)
{
	bool is_shortage = err == FI_ENOMEM || err == FI_EMFILE || err == ENFILE ||
			   err == FI_EAGAIN || err == FI_ENOSPC;

	if (is_shortage && !search->shortage)
		search->shortage = vrb_errno(err);
}

static bool object_miss(struct ofi_miss *miss, const char *attr, const char *asked, const char *has)
{
	miss->attr = attr;
	snprintf(miss->asked, sizeof(miss->asked), "one of %s", asked);
	snprintf(miss->has, sizeof(miss->has), "%s", has);
	return false;
}

/* hints->domain_attr->domain stands for its device; it may be another provider's object. */
static bool is_domain(const struct search *search, const struct vrb_device *dev,
		      struct ofi_miss *miss)
{
	const struct fi_domain_attr *attr = search->hints ? search->hints->domain_attr : NULL;
	struct fid_domain *fid = attr ? attr->domain : NULL;
	const char *name;

	if (!fid)
		return true;
	name = vrb_is_domain(fid) ? vrb_domain(fid)->base.info->domain_attr->name
				  : "another provider";
	return vrb_device_is(dev->name, name, !search->kind->has_ip) ||
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

/* Returns true if one of the requested source addresses belongs to the port. */
static bool starts_here(const struct search *search, const struct vrb_port *port,
			struct ofi_miss *miss)
{
	const struct vrb_port_addr *local;
	struct sockaddr_storage src;

	if (search->target.named_src && memcmp(search->target.src_name.gid, &port->gid, 16)) {
		miss->attr = "src_addr";
		snprintf(miss->asked, sizeof(miss->asked), "a name of another GID");
		vrb_gid_str(&port->gid, miss->has, sizeof(miss->has));
		return false;
	}
	STAILQ_FOREACH (local, &port->addrs, next)
		if (vrb_resolve_src(&search->target, local, &src, miss))
			return true;
	return STAILQ_EMPTY(&port->addrs);
}

/* A destination must be a name: only IP address formats resolve addresses. */
static bool ends_at_name(const struct search *search, struct ofi_miss *miss)
{
	if (!search->target.dest.count)
		return true;
	miss->attr = "dest_addr";
	ofi_addr_str((const struct sockaddr *)&search->target.dest.addr[0], miss->asked,
		     sizeof(miss->asked));
	snprintf(miss->has, sizeof(miss->has),
		 search->kind->has_ip
			 ? "names of FI_ADDR_IB_UD; ask for FI_SOCKADDR_IN or FI_SOCKADDR_IN6"
			 : "names of FI_ADDR_EFA, which have no IP address");
	return false;
}

/* The name of the port stands for a queue pair that does not exist yet. */
static int offer_name(struct search *search, const struct vrb_port *port,
		      const struct fi_info *port_info)
{
	const struct vrb_dest own = { .gid = port->gid, .lid = port->attr.lid, .pkey = port->pkey };
	struct fi_info *info = new_offer(search, port_info, search->kind->names);
	struct vrb_ud_name name;
	int ret;

	if (!info)
		return -FI_ENOMEM;
	vrb_ud_name_out(&own, &name);
	ret = vrb_offer_set_name(&name, &info->src_addr, &info->src_addrlen);
	if (!ret && search->target.named_dest)
		ret = vrb_offer_set_name(&search->target.dest_name, &info->dest_addr,
					 &info->dest_addrlen);
	if (!ret)
		ret = insert_offer(search, info,
				   search->type == FI_EP_RDM ? search_nearness(search)
							     : DGRAM_DISTANCE);
	if (ret)
		fi_freeinfo(info);
	return ret;
}

/* If the hints contain an address without a format, the format is that of the address. */
static int try_name(struct search *search, const struct vrb_device *dev,
		    const struct vrb_port *port, const struct fi_info *port_info)
{
	uint32_t format = search->hints ? search->hints->addr_format : FI_FORMAT_UNSPEC;
	struct ofi_miss miss;

	if (search->kind->has_ip && format == FI_FORMAT_UNSPEC &&
	    (search->target.src.count || search->target.dest.count))
		return 0;
	if (format_fits(search, search->kind->names, &miss) && starts_here(search, port, &miss) &&
	    ends_at_name(search, &miss))
		return offer_name(search, port, port_info);
	reject_port(search, dev->name, port->num, 1, &miss);
	return 0;
}

/* Reliable datagrams require an IP address, which an InfiniBand port may not have. */
static void reject_no_ip(const struct search *search, const struct vrb_device *dev,
			 const struct vrb_port *port)
{
	struct ofi_miss miss = { .attr = "port address", .asked = "an IP address" };

	snprintf(miss.has, sizeof(miss.has), "none: set up IPoIB on the port");
	reject_port(search, dev->name, port->num, 1, &miss);
}

static int try_addrs(struct search *search, const struct vrb_device *dev,
		     const struct vrb_port *port, const struct fi_info *port_info)
{
	const struct vrb_port_addr *local;
	bool any = false;
	int ret = 0;

	if (search->type == FI_EP_DGRAM || !search->kind->has_ip)
		ret = try_name(search, dev, port, port_info);
	STAILQ_FOREACH (local, &port->addrs, next) {
		if (ret || !search->kind->has_ip)
			break;
		if (search->type != FI_EP_MSG && local->addr.ss_family == AF_IB)
			continue;
		any = true;
		ret = try_addr(search, dev, port, local, port_info);
	}
	if (!any && search->type == FI_EP_RDM && search->kind->has_ip)
		reject_no_ip(search, dev, port);
	return ret;
}

/*
 * The device's name also stands for its datagram domain. Hints may give the domain of reliable
 * datagrams of efa the name that it has in other releases.
 */
static unsigned find_misses(const struct search *search, const struct vrb_device *dev,
			    struct fi_info *info, struct ofi_miss *miss)
{
	const struct fi_domain_attr *attr = search->hints ? search->hints->domain_attr : NULL;
	const char *suffix = attr && attr->name ? vrb_device_suffix(dev->name, attr->name) : NULL;
	bool is_efa_rdm = search->type == FI_EP_RDM && !search->kind->has_ip;
	char *name = info->domain_attr->name;
	unsigned misses;

	if (suffix && (!*suffix || (is_efa_rdm && !strcmp(suffix, VRB_RDM_SUFFIX))))
		info->domain_attr->name = attr->name;
	misses = ofi_attr_misses(search->version, info, search->hints, miss);
	info->domain_attr->name = name;
	return misses;
}

/* Offers endpoints of one type and frees info, which is NULL if there was no memory for it. */
static int try_type(struct search *search, const struct vrb_device *dev,
		    const struct vrb_port *port, struct fi_info *info)
{
	struct ofi_miss miss, unusable;
	unsigned misses;
	int ret = 0;

	if (!info)
		return -FI_ENOMEM;
	search->type = info->ep_attr->type;
	if (search->type == FI_EP_RDM)
		vrb_rdm_offer_mode(search->version, info, search->hints);
	else if (search->kind->has_ip)
		vrb_info_offer_mode(info, search->hints);
	if (search->type == FI_EP_MSG) {
		vrb_info_offer_shared(info, search->hints, dev);
		vrb_info_offer_multi(info, search->hints);
	}
	misses = find_misses(search, dev, info, &miss);
	vrb_info_explain_hmem(info, search->hints, misses ? &miss : NULL);
	vrb_rdm_explain_key(info, search->hints, misses ? &miss : NULL);
	vrb_info_explain_dgram(info, search->hints, misses ? &miss : NULL);
	if (!is_fabric(search, info, misses ? &unusable : &miss))
		misses++;
	if (!vrb_port_usable(port, search->kind->has_ip, &unusable))
		reject_port(search, dev->name, port->num, misses + 1, &unusable);
	else if (misses)
		reject_port(search, dev->name, port->num, misses, &miss);
	else
		ret = try_addrs(search, dev, port, info);
	fi_freeinfo(info);
	return ret;
}

/* Returns the requested endpoint type, or any. */
static enum fi_ep_type asked_type(const struct search *search)
{
	const struct fi_ep_attr *attr = search->hints ? search->hints->ep_attr : NULL;

	return attr ? attr->type : FI_EP_UNSPEC;
}

/* Rejects a device without queue pairs of the required kind. */
static void reject_qp(struct search *search, const struct vrb_device *dev,
		      const struct vrb_port *port, enum fi_ep_type type, const char *kind, int err)
{
	struct ofi_miss miss = { .attr = "ep_attr->type" };

	note_shortage(search, err);
	search->type = type;
	snprintf(miss.asked, sizeof(miss.asked), "%s",
		 type == FI_EP_MSG ? "FI_EP_MSG" : "FI_EP_DGRAM");
	snprintf(miss.has, sizeof(miss.has), "no %s queue pair: %s", kind, strerror(err));
	reject_port(search, dev->name, port->num, 1, &miss);
}

static int try_msg(struct search *search, const struct vrb_device *dev, const struct vrb_port *port)
{
	if (!dev->rc_err)
		return try_type(search, dev, port, vrb_info_msg(dev, port));
	if (asked_type(search) == FI_EP_MSG || asked_type(search) == FI_EP_UNSPEC)
		reject_qp(search, dev, port, FI_EP_MSG, "RC", dev->rc_err);
	return 0;
}

static int try_rdm(struct search *search, const struct vrb_device *dev, const struct vrb_port *port)
{
	struct ofi_miss miss;

	if (vrb_rdm_fits(dev, search->layered, &miss))
		return try_type(search, dev, port,
				search->layered ? vrb_info_layered(dev, port, search->layered)
						: vrb_info_rdm(dev, port));
	search->type = FI_EP_RDM;
	if (asked_type(search) == FI_EP_RDM || asked_type(search) == FI_EP_UNSPEC)
		reject_port(search, dev->name, port->num, 1, &miss);
	return 0;
}

/* The lack of datagrams matters only to an application that asks for them. */
static int try_dgram(struct search *search, const struct vrb_device *dev,
		     const struct vrb_port *port)
{
	if (!dev->ud_err)
		return try_type(search, dev, port, search->kind->dgram(dev, port));
	if (asked_type(search) == FI_EP_DGRAM)
		reject_qp(search, dev, port, FI_EP_DGRAM, "UD", dev->ud_err);
	return 0;
}

/* Endpoint types other than the requested one are examined only to explain them. */
static bool is_of_interest(const struct search *search, enum fi_ep_type type)
{
	return !search->quiet || asked_type(search) == FI_EP_UNSPEC || asked_type(search) == type;
}

/* Offers the endpoints of a device that has no IP addresses. */
static int try_named(struct search *search, const struct vrb_device *dev,
		     const struct vrb_port *port)
{
	int ret = 0;

	if (!dev->ud_err && is_of_interest(search, FI_EP_RDM))
		ret = try_type(search, dev, port, search->kind->rdm(dev, port));
	return ret ? ret : try_dgram(search, dev, port);
}

static int try_port(struct search *search, const struct vrb_device *dev,
		    const struct vrb_port *port)
{
	int ret = 0;

	if (!search->kind->has_ip)
		return try_named(search, dev, port);
	if (!search->layered && is_of_interest(search, FI_EP_MSG))
		ret = try_msg(search, dev, port);
	if (!ret && is_of_interest(search, FI_EP_RDM))
		ret = try_rdm(search, dev, port);
	if (!ret && !search->layered && is_of_interest(search, FI_EP_DGRAM))
		ret = try_dgram(search, dev, port);
	return ret;
}

static int try_device(struct search *search, const struct vrb_device *dev)
{
	struct ofi_miss miss;
	int i, ret = 0;

	search->type = FI_EP_MSG;
	if (dev->err) {
		note_shortage(search, dev->err);
		reject_port(search, dev->name, 0, 1, &dev->why);
		return 0;
	}
	if (!search->kind->takes(dev, &miss) || !is_domain(search, dev, &miss)) {
		reject_port(search, dev->name, 0, 1, &miss);
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

static void reject_no_device(const struct search *search)
{
	struct ofi_miss miss = { .attr = "device", .asked = "an RDMA device" };
	unsigned count = count_entries(SYSFS_DEVICES);

	if (count)
		snprintf(miss.has, sizeof(miss.has),
			 "%u in " SYSFS_DEVICES ", none in /dev/infiniband: load ib_uverbs", count);
	else
		snprintf(miss.has, sizeof(miss.has),
			 "none in " SYSFS_DEVICES ": load the driver of a device, or rdma_rxe");
	reject_port(search, NULL, 0, 1, &miss);
}

/* Explains why a device is offered after nearer ones. */
static void explain_affinity(struct search *search, const struct vrb_device *dev)
{
	struct ofi_miss miss;

	search->type = FI_EP_UNSPEC;
	if (!search->quiet && vrb_affinity_is_far(&search->affinity, dev, &miss))
		reject_port(search, dev->name, 0, 0, &miss);
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
		reject_no_device(search);
	vrb_affinity_rank(&search->affinity, snapshot);
	STAILQ_FOREACH (dev, snapshot, next) {
		search->place = vrb_affinity_place(&search->affinity, dev);
		explain_affinity(search, dev);
		ret = try_device(search, dev);
		if (ret)
			break;
	}
	vrb_snapshot_put(snapshot);
	return ret;
}

static int attr_only(const struct vrb_kind *kind, struct fi_info **info)
{
	*info = fi_allocinfo();
	if (!*info)
		return -FI_ENOMEM;
	(*info)->fabric_attr->prov_version = kind->prov->version;
	return 0;
}

int vrb_kind_getinfo(const struct vrb_kind *kind, uint32_t version, const char *node,
		     const char *service, uint64_t flags, const struct fi_info *hints,
		     struct fi_info **info)
{
	struct search search = { .kind = kind, .version = version, .hints = hints };
	struct ofi_miss miss;
	int ret;

	*info = NULL;
	if (flags & FI_PROV_ATTR_ONLY)
		return attr_only(kind, info);
	STAILQ_INIT(&search.offers);
	if (hints && hints->fabric_attr && hints->fabric_attr->prov_name &&
	    strchr(hints->fabric_attr->prov_name, ';'))
		search.layered = hints->fabric_attr->prov_name;
	ret = vrb_resolve(node, service, flags, hints, &search.target, &miss);
	if (ret) {
		if (ret == -FI_ENODATA)
			reject_port(&search, NULL, 0, 1, &miss);
		return ret;
	}
	search.quiet = !ofi_explain_wanted(kind->prov);
	ret = try_all(&search, flags & FI_RESCAN);
	if (!ret && search.quiet && STAILQ_EMPTY(&search.offers)) {
		search.quiet = false;
		ret = try_all(&search, false);
	}
	if (!ret && STAILQ_EMPTY(&search.offers))
		ret = search.shortage ? search.shortage : -FI_ENODATA;
	vrb_offers_join(&search.offers, ret ? NULL : info);
	return ret;
}
