/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads the IP addresses of network interfaces. */
#include "doctor_addr.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns false when out of memory. Entries that are not addresses are skipped. */
static bool add(struct doctor_addrs *addrs, const char *netdev, int family, const void *raw,
		in_addr_t mask)
{
	struct doctor_addr *addr = calloc(1, sizeof(*addr));

	if (!addr)
		return false;
	/* An IPv4 address may have a label such as "eth0:1" as its name. */
	snprintf(addr->netdev, sizeof(addr->netdev), "%.*s", (int)strcspn(netdev, ":"), netdev);
	addr->family = family;
	inet_ntop(family, raw, addr->text, sizeof(addr->text));
	if (family == AF_INET) {
		memcpy(&addr->addr, raw, sizeof(addr->addr));
		addr->mask = mask;
		addr->link_local = (ntohl(addr->addr) >> 16) == 0xa9fe;
	} else {
		addr->link_local = IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)raw);
	}
	STAILQ_INSERT_TAIL(addrs, addr, next);
	return true;
}

static bool read_running(struct doctor_addrs *addrs)
{
	const struct sockaddr_in *in, *mask;
	struct ifaddrs *all, *item;
	bool good = true;

	if (getifaddrs(&all))
		return false;
	for (item = all; item && good; item = item->ifa_next) {
		in = (const void *)item->ifa_addr;
		mask = (const void *)item->ifa_netmask;
		if (in && in->sin_family == AF_INET)
			good = add(addrs, item->ifa_name, AF_INET, &in->sin_addr,
				   mask ? mask->sin_addr.s_addr : INADDR_NONE);
		else if (in && in->sin_family == AF_INET6)
			good = add(addrs, item->ifa_name, AF_INET6,
				   &((const struct sockaddr_in6 *)(const void *)in)->sin6_addr, 0);
	}
	freeifaddrs(all);
	return good;
}

/* Parses "2: eth0    inet 10.0.0.1/24 brd ..." */
static bool parse_line(struct doctor_addrs *addrs, const char *line)
{
	char netdev[IFNAMSIZ], family_name[8], text[INET6_ADDRSTRLEN];
	unsigned int prefix = 0;
	struct in6_addr raw;
	int family;

	if (sscanf(line, "%*d: %15s %7s %45[^/ ]/%u", netdev, family_name, text, &prefix) < 3)
		return true;
	family = strcmp(family_name, "inet") ? AF_INET6 : AF_INET;
	if (inet_pton(family, text, &raw) != 1)
		return true;
	return add(addrs, netdev, family, &raw,
		   prefix && prefix <= 32 ? htonl(UINT32_MAX << (32 - prefix)) : 0);
}

static bool read_file(struct doctor_addrs *addrs, const char *root)
{
	char path[PATH_MAX], line[512];
	bool good = true;
	FILE *file;

	snprintf(path, sizeof(path), "%s/ip-addr", root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (good && fgets(line, sizeof(line), file))
		good = parse_line(addrs, line);
	fclose(file);
	return good;
}

bool doctor_addrs_read(struct doctor_addrs *addrs, const char *root)
{
	STAILQ_INIT(addrs);
	return *root ? read_file(addrs, root) : read_running(addrs);
}

void doctor_addrs_free(struct doctor_addrs *addrs)
{
	struct doctor_addr *addr;

	while ((addr = STAILQ_FIRST(addrs))) {
		STAILQ_REMOVE_HEAD(addrs, next);
		free(addr);
	}
}
