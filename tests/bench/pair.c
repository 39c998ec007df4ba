/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two endpoints of one process. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include "pair.h"

#define EVENT_TIMEOUT 10000 /* ms */

struct fi_info *pair_hints(const struct lib *lib, const struct pair_options *options)
{
	struct fi_info *hints = lib->dupinfo(NULL);

	if (!hints)
		bench_die("fi_allocinfo", "out of memory");
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
	hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_MSG;
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->domain_attr->threading = options->threading;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->tx_attr->size = options->depth;
	hints->rx_attr->size = options->depth;
	if (options->type == FI_EP_DGRAM) {
		hints->caps = FI_MSG;
		hints->addr_format = FI_ADDR_IB_UD;
		hints->ep_attr->type = FI_EP_DGRAM;
	} else if (options->type == FI_EP_RDM) {
		hints->caps |= FI_TAGGED;
		hints->ep_attr->type = FI_EP_RDM;
	}
	return hints;
}

/* libfabric 1.x has FI_EP_RDM as a layer that is to be named. */
int pair_find(const struct lib *lib, const struct pair_options *options, const char *service,
	      uint64_t flags, struct fi_info **info)
{
	struct fi_info *hints = pair_hints(lib, options);
	int ret = lib->getinfo(BENCH_API, options->address, service, flags, hints, info);

	if (ret && options->type == FI_EP_RDM) {
		free(hints->fabric_attr->prov_name);
		hints->fabric_attr->prov_name = strdup("verbs;ofi_rxm");
		ret = lib->getinfo(BENCH_API, options->address, service, flags, hints, info);
	}
	lib->freeinfo(hints);
	return ret;
}

static struct fi_info *get_info(const struct lib *lib, const struct pair_options *options,
				const char *service, uint64_t flags)
{
	struct fi_info *info = NULL;

	bench_check(lib, pair_find(lib, options, service, flags, &info), "fi_getinfo");
	return info;
}

static void open_cq(struct pair *pair, size_t size, struct fid_cq **cq)
{
	bool tagged = pair->info->ep_attr->type == FI_EP_RDM;
	struct fi_cq_attr attr = {
		.size = size,
		.format = tagged ? FI_CQ_FORMAT_TAGGED : FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_NONE,
	};

	bench_check(pair->lib, fi_cq_open(pair->domain, &attr, cq, NULL), "fi_cq_open");
}

static void open_side(struct pair *pair, struct side *side, size_t depth)
{
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	open_cq(pair, depth, &side->tx);
	open_cq(pair, depth, &side->rx);
	side->buf = aligned_alloc(4096, PAIR_BUF_SIZE);
	if (!side->buf)
		bench_die("buffer", "out of memory");
	memset(side->buf, 0, PAIR_BUF_SIZE);
	bench_check(
		pair->lib,
		fi_mr_reg(pair->domain, side->buf, PAIR_BUF_SIZE, access, 0, 0, 0, &side->mr, NULL),
		"fi_mr_reg");
	side->desc = fi_mr_desc(side->mr);
	side->key = fi_mr_key(side->mr);
}

static void open_ep(struct pair *pair, struct side *side, struct fi_info *info)
{
	const struct lib *lib = pair->lib;

	if (pair->ep_size)
		info->tx_attr->size = info->rx_attr->size = pair->ep_size;
	bench_check(lib, fi_endpoint(pair->domain, info, &side->ep, NULL), "fi_endpoint");
	if (side->av)
		bench_check(lib, fi_ep_bind(side->ep, &side->av->fid, 0), "fi_ep_bind(av)");
	bench_check(lib, fi_ep_bind(side->ep, &pair->eq->fid, 0), "fi_ep_bind(eq)");
	bench_check(lib, fi_ep_bind(side->ep, &side->tx->fid, pair->tx_flags), "fi_ep_bind(tx)");
	bench_check(lib, fi_ep_bind(side->ep, &side->rx->fid, FI_RECV), "fi_ep_bind(rx)");
	bench_check(lib, fi_enable(side->ep), "fi_enable");
}

static uint32_t next_event(struct pair *pair, struct fi_eq_cm_entry *entry)
{
	struct fi_eq_err_entry error = { 0 };
	uint32_t event = 0;
	ssize_t ret;

	memset(entry, 0, sizeof(*entry));
	ret = fi_eq_sread(pair->eq, &event, entry, sizeof(*entry), EVENT_TIMEOUT, 0);
	if (ret == -FI_EAVAIL) {
		fi_eq_readerr(pair->eq, &error, 0);
		ret = -error.err;
	}
	bench_check(pair->lib, ret, "fi_eq_sread");
	return event;
}

/*
 * Returns the info of a connection request, otherwise NULL. Shutdowns concern endpoints that are
 * closed.
 */
static struct fi_info *wait_event(struct pair *pair, uint32_t wanted)
{
	struct fi_eq_cm_entry entry;
	uint32_t event;

	do {
		event = next_event(pair, &entry);
	} while (event == FI_SHUTDOWN);
	if (event != wanted)
		bench_die("fi_eq_sread", "not the event that was due");
	return event == FI_CONNREQ ? entry.info : NULL;
}

static void insert(struct pair *pair, struct side *side, const struct side *other)
{
	uint8_t name[64] __attribute__((aligned(8)));
	size_t len = sizeof(name);

	bench_check(pair->lib, fi_getname(&other->ep->fid, name, &len), "fi_getname");
	if (pair->by_ip)
		memset(((struct sockaddr_in *)name)->sin_zero, 0, 8);
	bench_check(pair->lib, fi_av_insert(side->av, name, 1, &side->to, 0, NULL) - 1,
		    "fi_av_insert");
}

static void open_unconnected(struct pair *pair)
{
	struct fi_av_attr attr = { .type = pair->info->domain_attr->av_type };

	bench_check(pair->lib, fi_av_open(pair->domain, &attr, &pair->a.av, NULL), "fi_av_open");
	bench_check(pair->lib, fi_av_open(pair->domain, &attr, &pair->b.av, NULL), "fi_av_open");
	open_ep(pair, &pair->a, pair->info);
	open_ep(pair, &pair->b, pair->info);
	insert(pair, &pair->a, &pair->b);
	insert(pair, &pair->b, &pair->a);
}

bool pair_has(const struct lib *lib, const struct pair_options *options)
{
	struct fi_info *info = NULL;
	int ret = pair_find(lib, options, NULL, FI_SOURCE, &info);

	lib->freeinfo(info);
	return !ret;
}

void pair_connect(struct pair *pair)
{
	const struct lib *lib = pair->lib;
	struct fi_info *request;

	if (pair->info->ep_attr->type != FI_EP_MSG) {
		open_unconnected(pair);
		return;
	}
	open_ep(pair, &pair->a, pair->info);
	bench_check(lib, fi_connect(pair->a.ep, pair->info->dest_addr, NULL, 0), "fi_connect");
	request = wait_event(pair, FI_CONNREQ);
	open_ep(pair, &pair->b, request);
	bench_check(lib, fi_accept(pair->b.ep, NULL, 0), "fi_accept");
	wait_event(pair, FI_CONNECTED);
	wait_event(pair, FI_CONNECTED);
	lib->freeinfo(request);
}

void pair_disconnect(struct pair *pair)
{
	bench_check(pair->lib, fi_close(&pair->a.ep->fid), "fi_close(ep)");
	bench_check(pair->lib, fi_close(&pair->b.ep->fid), "fi_close(ep)");
	if (!pair->a.av)
		return;
	bench_check(pair->lib, fi_close(&pair->a.av->fid), "fi_close(av)");
	bench_check(pair->lib, fi_close(&pair->b.av->fid), "fi_close(av)");
}

/* Listens on any port of the address, and tells the port. */
static void open_listener(struct pair *pair, struct fi_info *info, char *service, size_t size)
{
	const struct lib *lib = pair->lib;
	struct sockaddr_in name;
	size_t len = sizeof(name);

	bench_check(lib, fi_passive_ep(pair->fabric, info, &pair->pep, NULL), "fi_passive_ep");
	bench_check(lib, fi_pep_bind(pair->pep, &pair->eq->fid, 0), "fi_pep_bind");
	bench_check(lib, fi_listen(pair->pep), "fi_listen");
	bench_check(lib, fi_getname(&pair->pep->fid, &name, &len), "fi_getname");
	snprintf(service, size, "%u", ntohs(name.sin_port));
}

static void open_domain(struct pair *pair, struct fi_info *info)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	const struct lib *lib = pair->lib;

	bench_check(lib, lib->fabric(info->fabric_attr, &pair->fabric, NULL), "fi_fabric");
	bench_check(lib, fi_eq_open(pair->fabric, &attr, &pair->eq, NULL), "fi_eq_open");
	bench_check(lib, fi_domain(pair->fabric, info, &pair->domain, NULL), "fi_domain");
}

void pair_open(struct pair *pair, const struct lib *lib, const struct pair_options *options)
{
	struct fi_info *listening;
	char service[16];

	memset(pair, 0, sizeof(*pair));
	pair->lib = lib;
	pair->tx_flags = FI_TRANSMIT | (options->selective ? FI_SELECTIVE_COMPLETION : 0);
	if (options->type == FI_EP_DGRAM || options->type == FI_EP_RDM) {
		pair->info = get_info(lib, options, NULL, FI_SOURCE);
		open_domain(pair, pair->info);
		open_side(pair, &pair->a, options->depth);
		open_side(pair, &pair->b, options->depth);
		pair_connect(pair);
		return;
	}
	listening = get_info(lib, options, NULL, FI_SOURCE);
	open_domain(pair, listening);
	open_listener(pair, listening, service, sizeof(service));
	lib->freeinfo(listening);
	pair->info = get_info(lib, options, service, 0);
	open_side(pair, &pair->a, options->depth);
	open_side(pair, &pair->b, options->depth);
	pair_connect(pair);
}

static void close_side(struct pair *pair, struct side *side)
{
	const struct lib *lib = pair->lib;

	bench_check(lib, fi_close(&side->mr->fid), "fi_close(mr)");
	bench_check(lib, fi_close(&side->tx->fid), "fi_close(cq)");
	bench_check(lib, fi_close(&side->rx->fid), "fi_close(cq)");
	free(side->buf);
}

void pair_close(struct pair *pair)
{
	const struct lib *lib = pair->lib;

	pair_disconnect(pair);
	close_side(pair, &pair->a);
	close_side(pair, &pair->b);
	if (pair->pep)
		bench_check(lib, fi_close(&pair->pep->fid), "fi_close(pep)");
	bench_check(lib, fi_close(&pair->domain->fid), "fi_close(domain)");
	bench_check(lib, fi_close(&pair->eq->fid), "fi_close(eq)");
	bench_check(lib, fi_close(&pair->fabric->fid), "fi_close(fabric)");
	lib->freeinfo(pair->info);
}
