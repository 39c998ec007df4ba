/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts addresses of the application according to the addr_format of its fi_info. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "name.h"
#include "refuse.h"

uint32_t ofi_name_format(const struct fi_info *info)
{
	const void *addr = info->src_addr ? info->src_addr : info->dest_addr;

	if (info->addr_format != FI_SOCKADDR)
		return info->addr_format;
	return ofi_addr_format(addr) == FI_SOCKADDR_IN6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
}

static int name_parse(const struct fi_provider *prov, const char *call, const char *addr,
		      size_t len, struct sockaddr_storage *ss)
{
	char text[OFI_ADDR_STRLEN];

	if (len > sizeof(text) - 1)
		len = sizeof(text) - 1;
	snprintf(text, sizeof(text), "%.*s", (int)len, addr);
	if (!ofi_addr_parse(text, ss))
		return 0;
	return ofi_refuse(
		prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"%s: address '%s': write it as fi_sockaddr_in://10.0.0.1:7471 or fi_sockaddr_in6://[fe80::1]:7471\n",
		call, text);
}

int ofi_name_in(const struct fi_provider *prov, const char *call, uint32_t format, const void *addr,
		size_t len, struct sockaddr_storage *ss)
{
	const struct sockaddr *sa = addr;
	size_t size;

	memset(ss, 0, sizeof(*ss));
	if (!addr || len < sizeof(sa->sa_family))
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL, "%s: no address was given\n",
				  call);
	if (format == FI_ADDR_STR)
		return name_parse(prov, call, addr, len, ss);

	size = ofi_addr_size(sa);
	if (!size ||
	    (format != FI_FORMAT_UNSPEC && format != FI_SOCKADDR && format != ofi_addr_format(sa)))
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"%s: address family %d does not fit addr_format %u of the endpoint\n", call,
			sa->sa_family, format);
	if (len < size)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "%s: an address of family %d takes %zu bytes, addrlen is %zu\n",
				  call, sa->sa_family, size, len);
	memcpy(ss, sa, size);
	return 0;
}

bool ofi_copy_out(const void *from, size_t size, void *to, size_t *len)
{
	size_t room = *len;

	*len = size;
	if (room)
		memcpy(to, from, room < size ? room : size);
	return room >= size;
}

void *ofi_copy_new(const void *from, size_t size, size_t *len)
{
	void *to = malloc(size);

	if (!to)
		return NULL;
	memcpy(to, from, size);
	*len = size;
	return to;
}

int ofi_name_out(const struct fi_provider *prov, const char *call, uint32_t format,
		 const struct sockaddr_storage *ss, void *addr, size_t *len)
{
	const struct sockaddr *sa = (const struct sockaddr *)ss;
	char text[OFI_ADDR_STRLEN];
	const void *src = sa;
	size_t size = ofi_addr_size(sa);

	if (!len || (!addr && *len))
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, call, "addr or addrlen");
	if (!size)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
			"%s: the endpoint has no such address yet; bind or connect it first\n",
			call);
	if (format == FI_ADDR_STR) {
		src = ofi_addr_str(sa, text, sizeof(text));
		size = strlen(src) + 1;
	}
	return ofi_copy_out(src, size, addr, len) ? 0 : -FI_ETOOSMALL;
}

void ofi_name_keep_host(struct sockaddr_storage *ss, const struct sockaddr *old)
{
	uint16_t port = ofi_addr_port((struct sockaddr *)ss);

	if (!ofi_addr_is_any((struct sockaddr *)ss) || ss->ss_family != old->sa_family)
		return;
	memcpy(ss, old, ofi_addr_size(old));
	ofi_addr_set_port((struct sockaddr *)ss, port);
}

bool ofi_name_same(const struct sockaddr *a, const struct sockaddr *b)
{
	return ofi_addr_same_host(a, b) && ofi_addr_port(a) == ofi_addr_port(b);
}
