/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoints of a scalable endpoint's indexes, and their names. */
#include <stdlib.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "av.h"
#include "ep.h"
#include "prov/base/name.h"
#include "sep_int.h"

enum { TRIES = 32 }; /* attempts to find enough ports in a row */

/* Returns the attributes of the endpoint of an index, or NULL when out of memory. */
static struct fi_info *part_info(const struct ofi_rdm_sep *sep, size_t index)
{
	struct fi_info *info = fi_dupinfo(sep->info);
	struct sockaddr_storage ss = sep->name;
	char name[OFI_ADDR_STRLEN];
	size_t len = sizeof(name);
	uint16_t port = ofi_addr_port((struct sockaddr *)&ss);

	if (!info)
		return NULL;
	if (port)
		ofi_addr_set_port((struct sockaddr *)&ss, (uint16_t)(port + index));
	ofi_name_out(sep->domain->prov, "fi_scalable_ep", info->addr_format, &ss, name, &len);
	free(info->src_addr);
	info->src_addr = ofi_copy_new(name, len, &info->src_addrlen);
	if (!info->src_addr) {
		fi_freeinfo(info);
		return NULL;
	}
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	/* Collectives belong to an endpoint, not to a context. */
	info->caps &= ~FI_COLLECTIVE;
	if (index >= sep->count[0])
		info->caps &= ~(uint64_t)FI_SEND;
	if (index >= sep->count[1])
		info->caps &= ~(uint64_t)FI_RECV;
	/* The two contexts of an index may be used by two threads. */
	if (info->domain_attr->threading != FI_THREAD_DOMAIN)
		info->domain_attr->threading = FI_THREAD_SAFE;
	return info;
}

int ofi_rdm_part_open(struct ofi_rdm_sep *sep, size_t index)
{
	struct ofi_rdm_part *part = &sep->part[index];
	struct fi_info *info = part_info(sep, index);
	struct fid_ep *fid;
	int ret;

	if (!info)
		return -FI_ENOMEM;
	ret = sep->open(sep->domain_fid, info, &fid, sep->fid.fid.context);
	fi_freeinfo(info);
	if (ret)
		return ret;
	part->ep = ofi_rdm_self(fid);
	part->ep->context = (uint8_t)index;
	return sep->av ? ofi_rdm_bind(&fid->fid, &sep->av->base.fid.fid, 0) : 0;
}

void ofi_rdm_part_close(struct ofi_rdm_part *part)
{
	if (part->ep)
		ofi_rdm_close(part->ep);
	part->ep = NULL;
}

void ofi_rdm_parts_close(struct ofi_rdm_sep *sep)
{
	size_t i;

	for (i = 0; i < sep->parts; i++)
		ofi_rdm_part_close(&sep->part[i]);
}

static int parts_open_at(struct ofi_rdm_sep *sep)
{
	struct sockaddr *name = (struct sockaddr *)&sep->name;
	int ret = ofi_rdm_part_open(sep, 0);
	size_t i;

	if (ret)
		return ret;
	ofi_addr_set_port(name, ofi_addr_port(&sep->part[0].ep->self.sa));
	if (ofi_addr_port(name) + sep->parts - 1 > UINT16_MAX)
		ret = -FI_EADDRINUSE;
	for (i = 1; i < sep->parts && !ret; i++)
		ret = ofi_rdm_part_open(sep, i);
	if (ret)
		ofi_rdm_parts_close(sep);
	return ret;
}

/* If the address has no port, several are tried, because those behind the first may be in use. */
int ofi_rdm_parts_open(struct ofi_rdm_sep *sep)
{
	struct sockaddr *name = (struct sockaddr *)&sep->name;
	uint16_t port = ofi_addr_port(name);
	int i, ret = -FI_EADDRINUSE;

	for (i = 0; i < (port ? 1 : TRIES) && ret == -FI_EADDRINUSE; i++) {
		ofi_addr_set_port(name, port);
		ret = parts_open_at(sep);
	}
	return ret;
}

int ofi_rdm_sep_name(struct ofi_rdm_sep *sep, void *addr, size_t *len)
{
	return ofi_name_out(sep->domain->prov, "fi_getname", sep->info->addr_format, &sep->name,
			    addr, len);
}
