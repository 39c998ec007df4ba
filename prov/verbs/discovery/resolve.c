/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Name and route resolution for fi_getinfo. */

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/rdma_cma.h>
#include <infiniband/ib.h>
#include <ofi/addr.h>
#include "prov/base/domain.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "resolve.h"

static const struct sockaddr *sa(const struct sockaddr_storage *ss)
{
	return (const struct sockaddr *)ss;
}

static void list_add(struct vrb_addr_list *list, const struct sockaddr *addr)
{
	if (list->count < VRB_TARGET_ADDRS && ofi_addr_size(addr))
		memcpy(&list->addr[list->count++], addr, ofi_addr_size(addr));
}

static int bad(const char *what, const char *why)
{
	return ofi_refuse(&vrb_prov, FI_LOG_FABRIC, -FI_EINVAL, "fi_getinfo: %s: %s\n", what, why);
}

/* Adds an address from the hints, in the format of the hints. */
static int take_addr(const struct fi_info *hints, const void *addr, size_t len, const char *what,
		     struct vrb_addr_list *list)
{
	struct sockaddr_storage ss = { 0 };

	if (!len)
		return bad(what, "its length is 0");
	if (hints->addr_format == FI_ADDR_STR) {
		if (!memchr(addr, 0, len) || ofi_addr_parse(addr, &ss))
			return bad(what, "it is not an FI_ADDR_STR address");
		list_add(list, sa(&ss));
		return 0;
	}
	memcpy(&ss, addr, len < sizeof(ss) ? len : sizeof(ss));
	if (len < sizeof(sa_family_t) || !ofi_addr_size(sa(&ss)))
		return bad(what, "its family is neither AF_INET, AF_INET6 nor AF_IB");
	if (len < ofi_addr_size(sa(&ss)))
		return bad(what, "it is shorter than an address of its family");
	list_add(list, sa(&ss));
	return 0;
}

static int take_name(const void *addr, size_t len, const char *what, struct vrb_ud_name *name,
		     bool *named)
{
	if (len != sizeof(*name))
		return bad(what, "the name of a datagram endpoint has 32 bytes");
	memcpy(name, addr, len);
	*named = true;
	return 0;
}

/* Adds the addresses of the hints, according to their format. */
static int take_hints(const struct fi_info *hints, bool src, bool dest, struct vrb_target *target)
{
	bool name = vrb_ud_format(hints->addr_format);
	int ret = 0;

	if (src && hints->src_addr)
		ret = name ? take_name(hints->src_addr, hints->src_addrlen, "hints->src_addr",
				       &target->src_name, &target->named_src)
			   : take_addr(hints, hints->src_addr, hints->src_addrlen,
				       "hints->src_addr", &target->src);
	if (!ret && dest && hints->dest_addr)
		ret = name ? take_name(hints->dest_addr, hints->dest_addrlen, "hints->dest_addr",
				       &target->dest_name, &target->named_dest)
			   : take_addr(hints, hints->dest_addr, hints->dest_addrlen,
				       "hints->dest_addr", &target->dest);
	return ret;
}

static void why_name(struct ofi_miss *why, const char *node, const char *service, const char *text)
{
	why->attr = node ? "node" : "service";
	snprintf(why->asked, sizeof(why->asked), "%.100s%s%.40s", node ? node : "",
		 node && service ? ", service " : "", service ? service : "");
	snprintf(why->has, sizeof(why->has), "%s", text);
}

static int gai_errno(int code)
{
	if (code == EAI_MEMORY)
		return -FI_ENOMEM;
	if (code == EAI_SYSTEM && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return -errno;
	return -FI_ENODATA;
}

/* Returns true for the name of this host, with or without its domain, unless that is localhost. */
static bool is_own_name(const char *node)
{
	char name[HOST_NAME_MAX + 1];
	size_t len;

	if (gethostname(name, sizeof(name)) || !strncasecmp(node, "localhost", 9))
		return false;
	len = strcspn(name, ".");
	if (strncasecmp(node, name, len))
		return false;
	return !node[len] || !strcasecmp(&node[len], &name[len]) ||
	       (node[len] == '.' && !name[len]);
}

/*
 * Makes loopback addresses of the host's own name stand for all of the host's: /etc/hosts may give
 * it such addresses. Those of 127.0.0.0/8 other than 127.0.0.1, which Debian and nss-myhostname
 * give it, do so with any name.
 */
static void widen_own_name(const char *node, struct vrb_addr_list *list)
{
	bool own = is_own_name(node);
	const struct sockaddr_in *in;
	uint16_t port;
	size_t i;

	for (i = 0; i < list->count; i++) {
		in = (struct sockaddr_in *)&list->addr[i];
		if (!ofi_addr_is_loopback(sa(&list->addr[i])) ||
		    (!own &&
		     (in->sin_family != AF_INET || in->sin_addr.s_addr == htonl(INADDR_LOOPBACK))))
			return;
	}
	for (i = 0; i < list->count; i++) {
		port = ofi_addr_port(sa(&list->addr[i]));
		list->addr[i] = (struct sockaddr_storage){ .ss_family = list->addr[i].ss_family };
		ofi_addr_set_port((struct sockaddr *)&list->addr[i], port);
	}
}

static int resolve_ip(const char *node, const char *service, uint64_t flags, uint32_t format,
		      struct vrb_addr_list *list, struct ofi_miss *why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *res, *ai;
	struct sockaddr_storage numeric;
	int ret;

	hints.ai_family = format == FI_SOCKADDR_IN    ? AF_INET
			  : format == FI_SOCKADDR_IN6 ? AF_INET6
						      : AF_UNSPEC;
	if (flags & FI_SOURCE)
		hints.ai_flags |= AI_PASSIVE;
	if (flags & FI_NUMERICHOST)
		hints.ai_flags |= AI_NUMERICHOST;
	ret = ofi_addr_is_service(service) ? getaddrinfo(node, service, &hints, &res) : EAI_SERVICE;
	if (ret) {
		why_name(why, node, service,
			 ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret));
		return gai_errno(ret);
	}
	for (ai = res; ai; ai = ai->ai_next)
		list_add(list, ai->ai_addr);
	freeaddrinfo(res);
	if (flags & FI_SOURCE && node && ofi_addr_parse(node, &numeric))
		widen_own_name(node, list);
	return 0;
}

/* Resolves GIDs, and names that ibacm knows. */
static int resolve_ib(const char *node, const char *service, uint64_t flags,
		      struct vrb_addr_list *list, struct ofi_miss *why)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_FAMILY,
				       .ai_family = AF_IB,
				       .ai_qp_type = IBV_QPT_RC,
				       .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res, *ai;
	int ret;

	if (flags & FI_SOURCE)
		hints.ai_flags |= RAI_PASSIVE;
	if (flags & FI_NUMERICHOST)
		hints.ai_flags |= RAI_NUMERICHOST;
	ret = rdma_getaddrinfo(node, service, &hints, &res);
	if (ret) {
		if (ret == -1)
			ret = EAI_SYSTEM;
		why_name(why, node, service,
			 ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret));
		return gai_errno(ret);
	}
	for (ai = res; ai; ai = ai->ai_next) {
		const struct sockaddr *addr = flags & FI_SOURCE ? ai->ai_src_addr : ai->ai_dst_addr;

		if (addr && addr->sa_family == AF_IB)
			list_add(list, addr);
	}
	rdma_freeaddrinfo(res);
	if (list->count)
		return 0;
	why_name(why, node, service, "no InfiniBand address");
	return -FI_ENODATA;
}

/* Returns true for addresses in text form, such as "fi_sockaddr_in://10.0.0.1:7471". */
static bool is_addr_str(const char *node)
{
	return node && !strncmp(node, "fi_", 3) && strstr(node, "://");
}

static int resolve_str(const char *node, const char *service, struct vrb_addr_list *list)
{
	struct sockaddr_storage ss = { 0 };

	if (service)
		return bad(node, "an FI_ADDR_STR address has its own port, service must be NULL");
	if (ofi_addr_parse(node, &ss))
		return bad(node, "it is not an IPv4, IPv6 or InfiniBand address");
	list_add(list, sa(&ss));
	return 0;
}

static int resolve_name(const char *node, const char *service, uint64_t flags, uint32_t format,
			struct vrb_addr_list *list, struct ofi_miss *why)
{
	if (is_addr_str(node))
		return resolve_str(node, service, list);
	if (format == FI_SOCKADDR_IB && node)
		return resolve_ib(node, service, flags, list, why);
	return resolve_ip(node, service, flags, format, list, why);
}

int vrb_resolve(const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct vrb_target *target, struct ofi_miss *why)
{
	uint32_t format = hints ? hints->addr_format : FI_FORMAT_UNSPEC;
	bool own = !node && !(hints && hints->src_addr), named = node || service,
	     source = named && (flags & FI_SOURCE || own);
	int ret = 0;

	if (source)
		flags |= FI_SOURCE;
	target->src.count = 0;
	target->dest.count = 0;
	target->named_src = target->named_dest = false;
	if (named)
		ret = resolve_name(node, service, flags, format,
				   source ? &target->src : &target->dest, why);
	if (!ret && hints)
		ret = take_hints(hints, !source, source || !named, target);
	return ret;
}

static void why_addr(struct ofi_miss *why, const char *attr, const struct sockaddr_storage *asked,
		     const struct sockaddr_storage *has)
{
	why->attr = attr;
	ofi_addr_str(sa(asked), why->asked, sizeof(why->asked));
	ofi_addr_str(sa(has), why->has, sizeof(why->has));
}

/* The wildcard address of any family matches each local address. */
bool vrb_resolve_src(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *src, struct ofi_miss *why)
{
	const struct sockaddr_storage *asked;
	size_t i;

	memcpy(src, &local->addr, sizeof(*src));
	if (!target->src.count)
		return true;
	for (i = 0; i < target->src.count; i++) {
		asked = &target->src.addr[i];
		if (ofi_addr_is_any(sa(asked)) || ofi_addr_same_host(sa(asked), sa(&local->addr))) {
			ofi_addr_set_port((struct sockaddr *)src, ofi_addr_port(sa(asked)));
			return true;
		}
	}
	why_addr(why, "src_addr", &target->src.addr[0], &local->addr);
	return false;
}

bool vrb_resolve_any(const struct vrb_target *target, const struct vrb_port *port,
		     const struct vrb_port_addr *local, struct sockaddr_storage *src)
{
	const struct vrb_port_addr *first = STAILQ_FIRST(&port->addrs);
	size_t i;

	for (i = 0; i < target->src.count && !ofi_addr_is_any(sa(&target->src.addr[i])); i++)
		;
	if (i == target->src.count || target->dest.count)
		return true;
	*src = (struct sockaddr_storage){ .ss_family = local->addr.ss_family };
	ofi_addr_set_port((struct sockaddr *)src, ofi_addr_port(sa(&target->src.addr[i])));
	while (first->addr.ss_family != src->ss_family)
		first = STAILQ_NEXT(first, next);
	return first == local;
}

int vrb_route(const struct vrb_port_addr *local, const struct sockaddr_storage *dest,
	      struct sockaddr_storage *from)
{
	struct sockaddr_storage to = *dest, src;
	socklen_t len = sizeof(*from);
	int fd, err = 0;

	fd = socket(dest->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (local) {
		src = local->addr;
		ofi_addr_set_port((struct sockaddr *)&src, 0);
		if (bind(fd, sa(&src), (socklen_t)ofi_addr_size(sa(&src))))
			err = errno;
		else /* without permission, the route depends on the address only */
			(void)!setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, local->netdev,
					  (socklen_t)strlen(local->netdev));
	}
	ofi_addr_set_port((struct sockaddr *)&to, 9);
	if (!err && (connect(fd, sa(&to), (socklen_t)ofi_addr_size(sa(&to))) ||
		     getsockname(fd, (struct sockaddr *)from, &len)))
		err = errno;
	close(fd);
	return err;
}

static bool is_exhausted(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS;
}

/* Returns 0, or an errno that is not logged yet. */
static int find_route(const struct vrb_port_addr *local, const struct sockaddr_storage *asked,
		      struct sockaddr_storage *dest, bool *preferred)
{
	struct sockaddr_storage from = { 0 };
	int err;

	*dest = *asked;
	*preferred = true;
	if (asked->ss_family == AF_IB)
		return 0;
	if (ofi_addr_is_loopback(sa(asked))) {
		*dest = local->addr;
		ofi_addr_set_port((struct sockaddr *)dest, ofi_addr_port(sa(asked)));
		return 0;
	}
	err = vrb_route(NULL, asked, &from);
	*preferred = !err && ofi_addr_same_host(sa(&from), sa(&local->addr));
	if (*preferred || is_exhausted(err))
		return err;
	return vrb_route(local, asked, &from);
}

int vrb_resolve_dest(const struct vrb_target *target, const struct vrb_port_addr *local,
		     struct sockaddr_storage *dest, bool *preferred, struct ofi_miss *why)
{
	const struct sockaddr_storage *asked, *last = NULL;
	struct sockaddr_storage found;
	bool is_preferred;
	int err = 0;
	size_t i;

	*preferred = true;
	dest->ss_family = AF_UNSPEC;
	if (!target->dest.count)
		return 0;
	for (i = 0; i < target->dest.count; i++) {
		asked = &target->dest.addr[i];
		if (asked->ss_family != local->addr.ss_family)
			continue;
		last = asked;
		err = find_route(local, asked, &found, &is_preferred);
		if (err || (dest->ss_family && !is_preferred))
			continue;
		*dest = found;
		*preferred = is_preferred;
		if (is_preferred)
			return 0;
	}
	if (dest->ss_family)
		return 0;
	why_addr(why, "dest_addr", last ? last : &target->dest.addr[0], &local->addr);
	if (last)
		snprintf(why->has, sizeof(why->has), "through %s: %s", local->netdev,
			 strerror(err));
	return is_exhausted(err) ? -err : -FI_ENODATA;
}

bool vrb_resolve_own(const struct fi_info *info, struct sockaddr_storage *ss)
{
	struct sockaddr *own = (struct sockaddr *)ss;

	memset(ss, 0, sizeof(*ss));
	if (!info->src_addr || vrb_ud_format(info->addr_format))
		return false;
	if (info->addr_format == FI_ADDR_STR)
		ofi_addr_parse(info->src_addr, ss);
	else
		memcpy(ss, info->src_addr, ofi_addr_size(info->src_addr));
	ofi_addr_set_port(own, 0);
	if (ofi_addr_is_any(own))
		own->sa_family = AF_UNSPEC;
	return ofi_addr_size(own);
}

int vrb_resolve_peer(const struct ofi_domain *domain, const char *call, uint32_t format,
		     const char *node, const char *service, struct sockaddr_storage *ss)
{
	bool ip = format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6, preferred;
	const struct fi_info hints = { .addr_format = ip ? format : FI_FORMAT_UNSPEC };
	struct vrb_target target = { .dest.count = 1 };
	struct vrb_port_addr own = { 0 };
	struct ofi_miss why;
	int ret = 0;

	if (service)
		ret = vrb_resolve(node, service, 0, &hints, &target, &why);
	else
		ofi_addr_parse(node, &target.dest.addr[0]);
	if (ret == -FI_ENODATA)
		FI_WARN(domain->prov, FI_LOG_AV, "%s: %s: %s\n", call, why.asked, why.has);
	else if (ret && ret != -FI_EINVAL)
		FI_WARN(domain->prov, FI_LOG_AV, "%s: %s: %s\n", call, node, fi_strerror(-ret));
	if (ret)
		return ret;
	vrb_resolve_own(domain->info, &own.addr);
	ret = vrb_resolve_dest(&target, &own, ss, &preferred, &why);
	if (ret == -FI_ENODATA)
		*ss = target.dest.addr[0];
	else if (ret)
		return ret;
	if (ofi_addr_size(sa(ss)) && (!ip || ofi_addr_format(sa(ss)) == format))
		return 0;
	return ofi_refuse(domain->prov, FI_LOG_AV, -FI_EINVAL,
			  "%s: %s%s is not an address in the format of the address vector\n", call,
			  node, service ? "" : " without a service");
}
