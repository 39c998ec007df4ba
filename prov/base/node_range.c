/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of a range of addresses: a node and those that follow it, each with its services. */
#include "node_range.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "refuse.h"

enum { NODE_LEN = 256, PORT_MAX = 65535 };

/* Adds to a numeric address as to an integer. Returns false if there is no such address. */
static bool next_numeric(int family, uint8_t *addr, size_t add, char *buf, size_t len)
{
	int last = family == AF_INET ? 3 : 15;
	size_t sum;

	for (; add && last >= 0; last--) {
		sum = addr[last] + (add & 0xff);
		addr[last] = (uint8_t)sum;
		add = (add >> 8) + (sum >> 8);
	}
	return !add && inet_ntop(family, addr, buf, (socklen_t)len);
}

static bool next_name(const char *node, size_t add, char *buf, size_t len)
{
	size_t end = strlen(node), at = end;
	unsigned long long number;

	while (at && isdigit((unsigned char)node[at - 1]))
		at--;
	if (at == end || end - at > 18)
		return false;
	number = strtoull(node + at, NULL, 10) + add;
	return (size_t)snprintf(buf, len, "%.*s%0*llu", (int)at, node, (int)(end - at), number) <
	       len;
}

/*
 * Writes the node that is `add` after this one. Returns false if there is none: the name does not
 * end with a number, the address is the last one, or buf is too short.
 */
static bool node_after(const char *node, size_t add, char *buf, size_t len)
{
	uint8_t addr[16];

	if (!add)
		return (size_t)snprintf(buf, len, "%s", node) < len;
	if (inet_pton(AF_INET, node, addr) == 1)
		return next_numeric(AF_INET, addr, add, buf, len);
	if (inet_pton(AF_INET6, node, addr) == 1)
		return next_numeric(AF_INET6, addr, add, buf, len);
	return next_name(node, add, buf, len);
}

int ofi_av_batch_new(struct ofi_av_batch *batch)
{
	batch->addrs = calloc(batch->count + 1, sizeof(*batch->addrs));
	batch->errs = calloc(batch->count + 1, sizeof(*batch->errs));
	return batch->addrs && batch->errs ? 0 : -FI_ENOMEM;
}

void ofi_av_batch_free(struct ofi_av_batch *batch)
{
	free(batch->addrs);
	free(batch->errs);
}

/* Resolves one node with all its services. */
static void find_node(struct ofi_av_batch *batch, const struct ofi_av_batch_ops *ops,
		      const char *node, size_t nth, const char *service, size_t services)
{
	struct sockaddr_storage *addrs = &batch->addrs[nth * services];
	char name[NODE_LEN];
	size_t i, port;
	int err = -FI_EINVAL;

	if (node_after(node, nth, name, sizeof(name)))
		err = ops->resolve(batch, name, service, &addrs[0]);
	port = ofi_addr_port((struct sockaddr *)&addrs[0]);
	for (i = 0; i < services; i++) {
		addrs[i] = addrs[0];
		if (!err)
			ofi_addr_set_port((struct sockaddr *)&addrs[i], (uint16_t)(port + i));
		batch->errs[nth * services + i] = err || port + i <= PORT_MAX ? err : -FI_EINVAL;
	}
}

int ofi_av_insert_range(struct ofi_av *av, const char *call, const struct ofi_av_batch_ops *ops,
			const char *node, size_t nodes, const char *service, size_t services,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct ofi_av_batch batch = { .av = av, .call = call };
	size_t i;
	int ret;

	if (!node)
		return ofi_refuse_null(av->prov, FI_LOG_AV, call, "node");
	if (__builtin_mul_overflow(nodes, services, &batch.count) || batch.count > INT_MAX)
		return ofi_refuse(av->prov, FI_LOG_AV, -FI_EINVAL,
				  "%s: %zu nodes with %zu services are too many\n", call, nodes,
				  services);
	ret = ofi_av_check_insert(av, call, node, batch.count, fi_addr, flags, context);
	if (ret)
		return ret;
	ret = ofi_av_batch_new(&batch);
	if (!ret) {
		for (i = 0; batch.count && i < nodes; i++)
			find_node(&batch, ops, node, i, service, services);
		ret = ops->insert(&batch, fi_addr, flags, context);
	}
	ofi_av_batch_free(&batch);
	return ret;
}
