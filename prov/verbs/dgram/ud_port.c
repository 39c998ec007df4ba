/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the port, GID and partition of an endpoint or an address vector. */
#include "ud_port.h"

#include <endian.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/err.h"
#include "prov/verbs/discovery/gid.h"
#include "prov/verbs/discovery/netdev.h"
#include "prov/base/name.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "ud_name.h"

/* The requirements of an fi_info's source address. */
struct wish {
	bool any; /* there is no source address */
	struct sockaddr_storage ss;
	union ibv_gid gid; /* used if ss.ss_family is 0 */
	uint16_t pkey;	   /* 0: any */
};

static int read_wish(const char *call, const struct fi_info *info, struct wish *wish)
{
	struct vrb_ud_name name;

	*wish = (struct wish){ .any = !info->src_addr };
	if (wish->any)
		return 0;
	if (!vrb_ud_format(info->addr_format))
		return ofi_name_in(&vrb_prov, call, info->addr_format, info->src_addr,
				   info->src_addrlen, &wish->ss);
	if (info->src_addrlen != sizeof(name))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"%s: info->src_addr has %zu bytes, the name of a datagram endpoint has %zu\n",
			call, info->src_addrlen, sizeof(name));
	memcpy(&name, info->src_addr, sizeof(name));
	memcpy(&wish->gid, name.gid, sizeof(wish->gid));
	wish->pkey = be16toh(name.pkey);
	return 0;
}

/*
 * On InfiniBand an IP address is not a GID: the port and the P_Key are those of the address's
 * interface.
 */
static bool gid_fits(struct wish *wish, const struct ifaddrs *ifaddrs,
		     const struct ibv_gid_entry *entry)
{
	const struct sockaddr *sa = (const struct sockaddr *)&wish->ss;

	if (wish->any)
		return true;
	if (!sa->sa_family)
		return !memcmp(&entry->gid, &wish->gid, sizeof(entry->gid));
	if (entry->gid_type == IBV_GID_TYPE_IB)
		return ofi_addr_is_any(sa) || vrb_gid_has_ip(entry, ifaddrs, sa, &wish->pkey);
	return vrb_gid_is_addr(&entry->gid, sa);
}

/*
 * Removes the entries that do not meet the requirements, so that vrb_gid_choose() does not choose
 * them, and requires the P_Key of the source address. Returns 0 or an errno of getifaddrs.
 */
static int narrow_gids(struct vrb_gid_table *table, struct wish *wish)
{
	struct ifaddrs *ifaddrs = NULL;
	size_t i, left = 0;

	if (wish->ss.ss_family && getifaddrs(&ifaddrs))
		return errno;
	for (i = 0; i < table->count; i++)
		if (gid_fits(wish, ifaddrs, &table->entries[i]))
			table->entries[left++] = table->entries[i];
	table->count = left;
	freeifaddrs(ifaddrs);
	return 0;
}

static int find_pkey(const char *call, struct ibv_context *ctx, int len, uint16_t wanted,
		     struct vrb_ud_port *port)
{
	struct vrb_pkey pkey;
	int err = vrb_pkey_choose(ctx, port->num, len, wanted, &pkey);

	if (err)
		return vrb_failed(ctx, err, "%s: ibv_query_pkey", call);
	if (!pkey.pkey)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
				  "%s: port %u of %s is not in partition 0x%x\n", call, port->num,
				  ibv_get_device_name(ctx->device), wanted);
	port->pkey = pkey.pkey;
	port->pkey_index = pkey.index;
	return 0;
}

/*
 * Sets *port and *pkeys, the length of its P_Key table, if port `num` is active and has a GID of
 * the table; otherwise sets port->num to 0. Returns 0 or errno.
 */
static int use_port(struct ibv_context *ctx, const struct vrb_gid_table *table, uint8_t num,
		    struct vrb_ud_port *port, int *pkeys)
{
	const struct ibv_gid_entry *gid = vrb_gid_choose(table, num, vrb_params.gid_idx);
	struct ibv_port_attr attr;
	int err = gid ? ibv_query_port(ctx, num, &attr) : 0;

	port->num = 0;
	if (!gid || err || attr.state != IBV_PORT_ACTIVE)
		return err;
	*port = (struct vrb_ud_port){
		.num = num,
		.link_layer = attr.link_layer,
		.lid = attr.lid,
		.gid_index = (int)gid->gid_index,
		.gid_type = gid->gid_type,
		.gid = gid->gid,
		.mtu = vrb_ud_mtu(&attr),
	};
	*pkeys = attr.pkey_tbl_len;
	return 0;
}

static int find_port(const char *call, struct ibv_context *ctx, uint8_t ports,
		     const struct vrb_gid_table *table, struct vrb_ud_port *port, int *pkeys)
{
	unsigned int num;
	int err;

	for (num = 1; num <= ports; num++) {
		err = use_port(ctx, table, (uint8_t)num, port, pkeys);
		if (err)
			return vrb_failed(ctx, err, "%s: ibv_query_port", call);
		if (port->num)
			return 0;
	}
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
		"%s: no active port of %s has the source address of the fi_info; call fi_getinfo again\n",
		call, ibv_get_device_name(ctx->device));
}

/* Counts the GID table entries. Returns 0 or errno. */
static int gid_slots(struct ibv_context *ctx, uint8_t ports, size_t *slots)
{
	struct ibv_port_attr attr;
	unsigned int num;
	int err = 0;

	*slots = 0;
	for (num = 1; num <= ports && !err; num++) {
		err = ibv_query_port(ctx, (uint8_t)num, &attr);
		*slots += err ? 0 : (size_t)attr.gid_tbl_len;
	}
	return err;
}

int vrb_ud_port_find(const char *call, struct ibv_context *ctx, const struct fi_info *info,
		     struct vrb_ud_port *port)
{
	struct ibv_device_attr attr;
	struct vrb_gid_table table;
	struct wish wish;
	size_t slots;
	int err, ret, pkeys = 0;

	ret = read_wish(call, info, &wish);
	if (ret)
		return ret;
	err = ibv_query_device(ctx, &attr);
	if (err)
		return vrb_failed(ctx, err, "%s: ibv_query_device", call);
	err = gid_slots(ctx, attr.phys_port_cnt, &slots);
	if (err)
		return vrb_failed(ctx, err, "%s: ibv_query_port", call);
	err = vrb_gid_table_read(ctx, slots, &table);
	if (err)
		return vrb_failed(ctx, err, "%s: ibv_query_gid_table", call);
	err = narrow_gids(&table, &wish);
	ret = err ? vrb_failed(ctx, err, "%s: getifaddrs", call)
		  : find_port(call, ctx, attr.phys_port_cnt, &table, port, &pkeys);
	vrb_gid_table_free(&table);
	return ret ? ret : find_pkey(call, ctx, pkeys, wish.pkey, port);
}
