/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Socket addresses of the three families that RDMA devices use, names of queue pairs, and their
 * text forms.
 */
#include <ofi/addr.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#ifndef AF_IB
#define AF_IB 27
#endif

/* The struct sockaddr_ib of <rdma/ib.h>; numbers are big-endian except for the scope. */
struct addr_ib {
	uint16_t family;
	uint16_t pkey;
	uint32_t flowinfo;
	struct in6_addr gid;
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope_id;
};

_Static_assert(sizeof(struct addr_ib) == 48, "struct sockaddr_ib of the kernel has 48 bytes");

union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct addr_ib ib;
	struct sockaddr_storage ss;
};

/* Copies an address, because it may have any alignment in the caller. */
static size_t addr_load(union addr *to, const struct sockaddr *sa)
{
	size_t size = ofi_addr_size(sa);

	memset(to, 0, sizeof(*to));
	if (size)
		memcpy(to, sa, size);
	return size;
}

size_t ofi_addr_size(const struct sockaddr *sa)
{
	sa_family_t family = AF_UNSPEC;

	if (sa)
		memcpy(&family, sa, sizeof(family));
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct addr_ib);
	default:
		return 0;
	}
}

uint32_t ofi_addr_format(const struct sockaddr *sa)
{
	switch (ofi_addr_size(sa)) {
	case sizeof(struct sockaddr_in):
		return FI_SOCKADDR_IN;
	case sizeof(struct sockaddr_in6):
		return FI_SOCKADDR_IN6;
	case sizeof(struct addr_ib):
		return FI_SOCKADDR_IB;
	default:
		return FI_FORMAT_UNSPEC;
	}
}

uint16_t ofi_addr_port(const struct sockaddr *sa)
{
	union addr a;

	switch (addr_load(&a, sa)) {
	case sizeof(a.in):
		return ntohs(a.in.sin_port);
	case sizeof(a.in6):
		return ntohs(a.in6.sin6_port);
	case sizeof(a.ib):
		return (uint16_t)be64toh(a.ib.sid);
	default:
		return 0;
	}
}

void ofi_addr_set_port(struct sockaddr *sa, uint16_t port)
{
	union addr a;
	size_t size = addr_load(&a, sa);

	switch (size) {
	case sizeof(a.in):
		a.in.sin_port = htons(port);
		break;
	case sizeof(a.in6):
		a.in6.sin6_port = htons(port);
		break;
	case sizeof(a.ib):
		a.ib.sid = htobe64((be64toh(a.ib.sid) & ~UINT64_C(0xffff)) | port);
		break;
	default:
		return;
	}
	memcpy(sa, &a, size);
}

static bool same_in6(const struct sockaddr_in6 *a, const struct sockaddr_in6 *b)
{
	if (a->sin6_scope_id && b->sin6_scope_id && a->sin6_scope_id != b->sin6_scope_id)
		return false;
	return !memcmp(&a->sin6_addr, &b->sin6_addr, sizeof(a->sin6_addr));
}

bool ofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	union addr x, y;
	size_t size = addr_load(&x, a);

	if (!size || addr_load(&y, b) != size)
		return false;
	switch (size) {
	case sizeof(x.in):
		return x.in.sin_addr.s_addr == y.in.sin_addr.s_addr;
	case sizeof(x.in6):
		return same_in6(&x.in6, &y.in6);
	default:
		return !memcmp(&x.ib.gid, &y.ib.gid, sizeof(x.ib.gid));
	}
}

bool ofi_addr_is_any(const struct sockaddr *sa)
{
	union addr a;

	switch (addr_load(&a, sa)) {
	case sizeof(a.in):
		return a.in.sin_addr.s_addr == htonl(INADDR_ANY);
	case sizeof(a.in6):
		return IN6_IS_ADDR_UNSPECIFIED(&a.in6.sin6_addr);
	case sizeof(a.ib):
		return IN6_IS_ADDR_UNSPECIFIED(&a.ib.gid);
	default:
		return false;
	}
}

bool ofi_addr_is_loopback(const struct sockaddr *sa)
{
	union addr a;

	switch (addr_load(&a, sa)) {
	case sizeof(a.in):
		return ntohl(a.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case sizeof(a.in6):
		return IN6_IS_ADDR_LOOPBACK(&a.in6.sin6_addr);
	default:
		return false;
	}
}

static void in6_str(const struct sockaddr_in6 *in6, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN], scope[16] = "";

	inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
	if (in6->sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", in6->sin6_scope_id);
	snprintf(buf, len, "fi_sockaddr_in6://[%s%s]:%u", host, scope, ntohs(in6->sin6_port));
}

static void ib_str(const struct addr_ib *ib, char *buf, size_t len)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &ib->gid, gid, sizeof(gid));
	snprintf(buf, len, "fi_sockaddr_ib://[%s]:0x%x/0x%llx/0x%llx", gid, ntohs(ib->pkey),
		 (unsigned long long)be64toh(ib->sid), (unsigned long long)ib->scope_id);
}

const char *ofi_addr_str(const struct sockaddr *sa, char *buf, size_t len)
{
	char host[INET_ADDRSTRLEN];
	union addr a;

	if (!buf || !len)
		return "";
	switch (addr_load(&a, sa)) {
	case sizeof(a.in):
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof(host));
		snprintf(buf, len, "fi_sockaddr_in://%s:%u", host, ntohs(a.in.sin_port));
		break;
	case sizeof(a.in6):
		in6_str(&a.in6, buf, len);
		break;
	case sizeof(a.ib):
		ib_str(&a.ib, buf, len);
		break;
	default:
		snprintf(buf, len, "%s", sa ? "unknown address family" : "(null)");
	}
	return buf;
}

const char *ofi_qp_name_str(const struct ofi_qp_name *name, char *buf, size_t len)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, name->gid, gid, sizeof(gid));
	snprintf(buf, len, "fi_addr_efa://[%s]:%u:%u", gid, name->qpn, name->key);
	return buf;
}

/* The parts of an address in text form: the host, followed by "port" or "pkey/sid/scope". */
struct addr_text {
	int family;
	char buf[OFI_ADDR_STRLEN];
	char *host;
	char *rest;
};

static int text_scheme(const char **str)
{
	static const struct {
		const char *name;
		int family;
	} schemes[] = {
		{ "fi_sockaddr://", AF_UNSPEC },  { "fi_sockaddr_ip://", AF_UNSPEC },
		{ "fi_sockaddr_in://", AF_INET }, { "fi_sockaddr_in6://", AF_INET6 },
		{ "fi_sockaddr_ib://", AF_IB },
	};
	size_t i, len;

	for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		len = strlen(schemes[i].name);
		if (!strncasecmp(*str, schemes[i].name, len)) {
			*str += len;
			return schemes[i].family;
		}
	}
	return strstr(*str, "://") ? -FI_EINVAL : AF_UNSPEC;
}

/* Only a URI may have an empty service, and a query, which is not used. */
static int text_cut(const char *str, struct addr_text *text)
{
	const char *start = str;
	size_t len;
	char *end;
	bool uri;

	text->family = text_scheme(&str);
	uri = str != start;
	len = uri ? strcspn(str, "?") : strlen(str);
	if (text->family < 0 || len >= sizeof(text->buf))
		return -FI_EINVAL;
	memcpy(text->buf, str, len);
	text->buf[len] = '\0';
	text->host = text->buf;
	text->rest = "";
	if (text->buf[0] == '[') {
		text->host = text->buf + 1;
		end = strchr(text->host, ']');
		if (!end || (end[1] != ':' && end[1] != '\0'))
			return -FI_EINVAL;
		*end++ = '\0';
	} else {
		end = strchr(text->buf, ':');
		if (end && strchr(end + 1, ':'))
			end = NULL; /* this is an IPv6 address without brackets */
	}
	if (end && *end == ':') {
		*end = '\0';
		text->rest = end + 1;
		if (!*text->rest && !uri)
			return -FI_EINVAL;
	}
	return 0;
}

/* Removes a number and the separator after it from *text; if there is none, the value is 0. */
static int text_number(char **text, uint64_t max, uint64_t *value)
{
	char *end;

	*value = 0;
	if (!**text)
		return 0;
	if (!isdigit((unsigned char)**text))
		return -FI_EINVAL;
	errno = 0;
	*value = strtoull(*text, &end, 0);
	if (errno || *value > max || (*end && *end != '/'))
		return -FI_EINVAL;
	*text = *end ? end + 1 : end;
	return 0;
}

static int text_port(struct addr_text *text, uint16_t *port)
{
	uint64_t value;

	if (strchr(text->rest, '/') || text_number(&text->rest, UINT16_MAX, &value))
		return -FI_EINVAL;
	*port = htons((uint16_t)value);
	return 0;
}

static int parse_in(struct addr_text *text, struct sockaddr_in *in)
{
	in->sin_family = AF_INET;
	if (*text->host && inet_pton(AF_INET, text->host, &in->sin_addr) != 1)
		return -FI_EINVAL;
	return text_port(text, &in->sin_port);
}

static int parse_scope(const char *scope, uint32_t *id)
{
	unsigned long number;
	char *end;

	*id = if_nametoindex(scope);
	if (*id)
		return 0;
	if (!isdigit((unsigned char)*scope))
		return -FI_EINVAL;
	number = strtoul(scope, &end, 10);
	*id = (uint32_t)number;
	return *end || number > UINT32_MAX ? -FI_EINVAL : 0;
}

static int parse_in6(struct addr_text *text, struct sockaddr_in6 *in6)
{
	char *scope = strchr(text->host, '%');

	in6->sin6_family = AF_INET6;
	if (scope) {
		*scope++ = '\0';
		if (parse_scope(scope, &in6->sin6_scope_id))
			return -FI_EINVAL;
	}
	if (*text->host && inet_pton(AF_INET6, text->host, &in6->sin6_addr) != 1)
		return -FI_EINVAL;
	return text_port(text, &in6->sin6_port);
}

static int parse_ib(struct addr_text *text, struct addr_ib *ib)
{
	uint64_t pkey, sid, scope;

	ib->family = AF_IB;
	if (*text->host && inet_pton(AF_INET6, text->host, &ib->gid) != 1)
		return -FI_EINVAL;
	if (text_number(&text->rest, UINT16_MAX, &pkey) ||
	    text_number(&text->rest, UINT64_MAX, &sid) ||
	    text_number(&text->rest, UINT64_MAX, &scope) || *text->rest)
		return -FI_EINVAL;
	ib->pkey = htons((uint16_t)pkey);
	ib->sid = htobe64(sid);
	ib->sid_mask = sid ? UINT64_MAX : 0;
	ib->scope_id = scope;
	return 0;
}

bool ofi_addr_is_service(const char *service)
{
	unsigned long port;
	char *end;

	if (!service)
		return true;
	port = strtoul(service, &end, 10);
	return end == service || *end || port <= UINT16_MAX;
}

int ofi_addr_parse(const char *str, struct sockaddr_storage *ss)
{
	struct addr_text text;
	union addr a;
	int ret;

	if (!str || !ss || text_cut(str, &text))
		return -FI_EINVAL;
	memset(&a, 0, sizeof(a));
	if (text.family == AF_UNSPEC)
		text.family = strchr(text.host, ':') ? AF_INET6 : AF_INET;
	if (text.family == AF_IB)
		ret = parse_ib(&text, &a.ib);
	else if (text.family == AF_INET6)
		ret = parse_in6(&text, &a.in6);
	else
		ret = parse_in(&text, &a.in);
	if (!ret)
		memcpy(ss, &a.ss, sizeof(*ss));
	return ret;
}
