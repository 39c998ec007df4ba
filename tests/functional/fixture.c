/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ends: discovery, opening, connecting, closing. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "fixture.h"
#include "gpu.h"

#define ANY_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define EVENT_DATA 256

static const uint64_t cntr_flags[CNTRS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE };

const char *local_addr(void)
{
	return need_env("WEFT_ADDR");
}

const char *local_interface(void)
{
	static char name[IF_NAMESIZE];
	struct ifaddrs *list, *item;
	struct in_addr own;

	if (inet_pton(AF_INET, local_addr(), &own) != 1)
		skip("WEFT_ADDR is no IPv4 address");
	CHECK(!getifaddrs(&list));
	for (item = list; item; item = item->ifa_next)
		if (item->ifa_addr && item->ifa_addr->sa_family == AF_INET &&
		    !memcmp(&((struct sockaddr_in *)item->ifa_addr)->sin_addr, &own, sizeof(own)))
			snprintf(name, sizeof(name), "%s", item->ifa_name);
	freeifaddrs(list);
	if (!name[0])
		skip("no interface has the address WEFT_ADDR");
	return name;
}

struct fi_info *hints_for(const struct setup *setup)
{
	struct fi_info *hints = fi_allocinfo();
	const char *device = getenv("WEFT_DEVICE");

	CHECK(hints);
	hints->caps = setup->caps		   ? setup->caps
		      : setup->type == FI_EP_DGRAM ? FI_MSG | FI_SOURCE
						   : FI_MSG | FI_RMA | FI_ATOMIC;
	hints->mode = FI_RX_CQ_DATA | FI_CONTEXT | setup->mode;
	hints->addr_format = setup->addr_format;
	hints->ep_attr->type = setup->type ? setup->type : FI_EP_MSG;
	hints->domain_attr->av_type = setup->av_type;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = setup->threading;
	hints->domain_attr->name = device ? strdup(device) : NULL;
	hints->fabric_attr->prov_name = strdup(setup->prov ? setup->prov : "verbs");
	if (gpu && hints->ep_attr->type == FI_EP_MSG) {
		hints->caps |= FI_HMEM;
		hints->domain_attr->mr_mode |= FI_MR_HMEM;
	}
	hints->tx_attr->size = setup->tx_size;
	hints->tx_attr->tclass = setup->tclass;
	hints->rx_attr->size = setup->rx_size;
	if (setup->srx_size)
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	return hints;
}

struct fi_info *info_for(const struct setup *setup, const char *node, const char *service,
			 uint64_t flags)
{
	struct fi_info *hints = hints_for(setup), *info;
	int ret;

	ret = fi_getinfo(FI_VERSION(2, 0), node, service, flags, hints, &info);
	fi_freeinfo(hints);
	if (ret == -FI_ENODATA && !getenv("WEFT_DEVICE"))
		skip("no verbs device: run this with tests/vm/run");
	RETURNS(ret, 0);
	info->tx_attr->op_flags |= setup->tx_op_flags;
	if (setup->api)
		info->fabric_attr->api_version = setup->api;
	return info;
}

struct fid_cq *end_cq(struct end *end, const struct fi_cq_attr *attr)
{
	struct fi_cq_attr copy = *attr;
	struct fid_cq *cq;

	OK(fi_cq_open(end->domain, &copy, &cq, end));
	return cq;
}

void end_reg(struct end *end, void *buf, size_t len, uint64_t access, struct fid_mr **mr)
{
	OK(fi_mr_reg(end->domain, buf, len, access, 0, 0, 0, mr, NULL));
}

static void open_av(struct end *end)
{
	struct fi_av_attr attr = { .type = end->info->domain_attr->av_type };

	OK(fi_av_open(end->domain, &attr, &end->av, end));
}

static void open_buf(struct end *end)
{
	size_t size = end->setup->buf_size;

	if (gpu) {
		end->buf = gpu->alloc(size);
		gpu_reg(end->domain, end->buf, size, ANY_ACCESS, &end->mr);
	} else {
		end->buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
		CHECK(end->buf != MAP_FAILED);
		end_reg(end, end->buf, size, ANY_ACCESS, &end->mr);
	}
	end->desc = fi_mr_desc(end->mr);
}

static void open_cntrs(struct end *end)
{
	struct fi_cntr_attr attr = { .wait_obj = end->setup->cntr_obj };
	int i;

	for (i = 0; i < CNTRS; i++)
		if (end->setup->cntrs & cntr_flags[i])
			OK(fi_cntr_open(end->domain, &attr, &end->cntr[i], end));
}

void end_open(struct end *end, struct fi_info *info)
{
	const struct setup *setup = end->setup;
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = {
		.size = setup->cq_size,
		.format = setup->format,
		.wait_obj = setup->wait_obj,
		.wait_cond = setup->wait_cond,
	};

	end->info = info;
	OK(fi_fabric(info->fabric_attr, &end->fabric, end));
	OK(fi_eq_open(end->fabric, &eq_attr, &end->eq, end));
	OK(fi_domain(end->fabric, info, &end->domain, end));
	if (setup->domain_eq)
		OK(fi_domain_bind(end->domain, &end->eq->fid, 0));
	end->cq = end_cq(end, &cq_attr);
	end->rxcq = setup->one_cq ? end->cq : end_cq(end, &cq_attr);
	open_cntrs(end);
	if (setup->type == FI_EP_DGRAM)
		open_av(end);
	open_buf(end);
	if (setup->srx_size)
		end->srx = end_srx(end, setup->srx_size);
}

struct fid_ep *end_srx(struct end *end, size_t size)
{
	struct fi_rx_attr attr = *end->info->rx_attr;
	struct fid_ep *srx;

	attr.size = size;
	OK(fi_srx_context(end->domain, &attr, &srx, end));
	return srx;
}

struct fid_ep *end_ep(struct end *end, struct fi_info *info)
{
	const struct setup *setup = end->setup;
	struct fid_ep *ep;
	int i;

	if (setup->srx_size)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	OK(fi_endpoint(end->domain, info, &ep, end));
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	if (!setup->no_cq) {
		OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT | setup->tx_bind));
		OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV | setup->rx_bind));
	}
	for (i = 0; i < CNTRS; i++)
		if (end->cntr[i])
			OK(fi_ep_bind(ep, &end->cntr[i]->fid, cntr_flags[i]));
	if (end->av)
		OK(fi_ep_bind(ep, &end->av->fid, 0));
	if (end->srx)
		OK(fi_ep_bind(ep, &end->srx->fid, 0));
	OK(fi_enable(ep));
	return ep;
}

/* Closes whatever is open; every object begins with its fid. */
static void *closed(void *object)
{
	if (object)
		OK(fi_close(object));
	return NULL;
}

void end_close(struct end *end)
{
	int i;

	end->ep = closed(end->ep);
	end->srx = closed(end->srx);
	end->pep = closed(end->pep);
	end->av = closed(end->av);
	end->mr = closed(end->mr);
	for (i = 0; i < CNTRS; i++)
		end->cntr[i] = closed(end->cntr[i]);
	if (end->rxcq != end->cq)
		end->rxcq = closed(end->rxcq);
	end->cq = closed(end->cq);
	end->domain = closed(end->domain);
	end->eq = closed(end->eq);
	end->fabric = closed(end->fabric);
	if (end->buf && gpu)
		gpu->free(end->buf);
	else if (end->buf)
		munmap(end->buf, end->setup->buf_size);
	fi_freeinfo(end->info);
	end->buf = NULL;
	end->info = NULL;
	end->rxcq = NULL;
}

struct fi_info *own_info(const struct setup *setup)
{
	bool ip = setup->addr_format && setup->addr_format != FI_ADDR_IB_UD;

	return ip ? info_for(setup, local_addr(), NULL, FI_SOURCE) : info_for(setup, NULL, NULL, 0);
}

void end_name(struct end *end, struct name *name)
{
	name->len = sizeof(name->bytes);
	OK(fi_getname(&end->ep->fid, name->bytes, &name->len));
}

void step_open_dgram(struct end *end, void *arg)
{
	end_open(end, own_info(end->setup));
	end->ep = end_ep(end, end->info);
	end_name(end, arg);
}

void step_insert(struct end *end, void *arg)
{
	const struct name *name = arg;

	EQUAL(fi_av_insert(end->av, name->bytes, 1, &end->to, 0, NULL), 1);
}

static void name_place(struct fid *fid, struct place *place)
{
	struct sockaddr_storage addr = { 0 };
	size_t len = sizeof(addr);
	char node[NI_MAXHOST], service[NI_MAXSERV];

	OK(fi_getname(fid, &addr, &len));
	EQUAL(getnameinfo((struct sockaddr *)&addr, (socklen_t)len, node, sizeof(node), service,
			  sizeof(service), NI_NUMERICHOST | NI_NUMERICSERV),
	      0);
	CHECK(strlen(node) < sizeof(place->node) && strlen(service) < sizeof(place->service));
	strcpy(place->node, node);
	strcpy(place->service, service);
}

void end_listen(struct end *end, const char *node, struct place *place)
{
	if (!end->fabric)
		end_open(end, info_for(end->setup, node, NULL, FI_SOURCE));
	OK(fi_passive_ep(end->fabric, end->info, &end->pep, end));
	OK(fi_pep_bind(end->pep, &end->eq->fid, 0));
	OK(fi_listen(end->pep));
	name_place(&end->pep->fid, place);
}

void end_aim(struct end *end, const struct place *place)
{
	end_open(end, info_for(end->setup, place->node, place->service, 0));
	end->ep = end_ep(end, end->info);
}

union wide_entry {
	struct fi_eq_cm_entry entry;
	uint8_t room[sizeof(struct fi_eq_cm_entry) + EVENT_DATA];
};

static void fail_event_error(struct fid_eq *eq, uint32_t event)
{
	struct fi_eq_err_entry entry = { 0 };
	char text[256];

	RETURNS(fi_eq_readerr(eq, &entry, 0), sizeof(entry));
	fi_eq_strerror(eq, entry.prov_errno, entry.err_data, text, sizeof(text));
	FAIL("instead of %s there is the error %d (%s): %s", fi_tostr(&event, FI_TYPE_EQ_EVENT),
	     entry.err, fi_strerror(entry.err), text);
}

static size_t read_event(struct fid_eq *eq, uint32_t event, union wide_entry *wide)
{
	uint64_t end = deadline();
	uint32_t found;
	ssize_t ret;

	for (;;) {
		ret = fi_eq_sread(eq, &found, wide, sizeof(*wide), 1000, 0);
		if (ret != -FI_EAGAIN)
			break;
		pause_until(end, fi_tostr(&event, FI_TYPE_EQ_EVENT));
	}
	if (ret == -FI_EAVAIL)
		fail_event_error(eq, event);
	if (ret < 0)
		RETURNS(ret, 0);
	CHECK((size_t)ret >= sizeof(wide->entry));
	if (found != event)
		FAIL("event %u instead of %s", found, fi_tostr(&event, FI_TYPE_EQ_EVENT));
	return (size_t)ret - sizeof(wide->entry);
}

size_t wait_event(struct fid_eq *eq, uint32_t event, const struct fid *fid, void *data, size_t len)
{
	union wide_entry wide;
	size_t got = read_event(eq, event, &wide);

	CHECK(wide.entry.fid == fid);
	CHECK(got <= len || !data);
	if (data)
		memcpy(data, wide.entry.data, got);
	return got;
}

struct fi_info *end_request(struct end *end, void *data, size_t *len)
{
	union wide_entry wide;
	size_t got = read_event(end->eq, FI_CONNREQ, &wide);

	CHECK(wide.entry.fid == &end->pep->fid);
	CHECK(wide.entry.info);
	if (data) {
		CHECK(got <= *len);
		memcpy(data, wide.entry.data, got);
		*len = got;
	}
	return wide.entry.info;
}

void wait_event_error(struct fid_eq *eq, struct fi_eq_err_entry *entry)
{
	uint64_t end = deadline();
	union wide_entry wide;
	uint32_t event;
	ssize_t ret;

	for (;;) {
		ret = fi_eq_sread(eq, &event, &wide, sizeof(wide), 1000, 0);
		if (ret == -FI_EAVAIL)
			break;
		if (ret >= 0)
			FAIL("event %s instead of an error", fi_tostr(&event, FI_TYPE_EQ_EVENT));
		RETURNS(ret, -FI_EAGAIN);
		pause_until(end, "an error on the event queue");
	}
	*entry = (struct fi_eq_err_entry){ 0 };
	RETURNS(fi_eq_readerr(eq, entry, 0), sizeof(*entry));
}

void no_event(struct fid_eq *eq, int ms)
{
	union wide_entry wide;
	uint32_t event = UINT32_MAX;
	ssize_t ret = fi_eq_sread(eq, &event, &wide, sizeof(wide), ms, 0);

	if (ret >= 0)
		FAIL("one event too many: %s", fi_tostr(&event, FI_TYPE_EQ_EVENT));
	if (ret == -FI_EAVAIL)
		fail_event_error(eq, FI_NOTIFY);
	RETURNS(ret, -FI_EAGAIN);
}
