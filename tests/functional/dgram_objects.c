/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects that do not fit a datagram endpoint, are bound in the wrong order or are missing: each
 * gives one clear error.
 */
#include <stdlib.h>
#include <string.h>
#include "steps.h"

static const struct setup setup = {
	.type = FI_EP_DGRAM,
	.buf_size = 64 << 10,
	.format = FI_CQ_FORMAT_TAGGED,
	.wait_obj = FI_WAIT_FD,
};

static void bindings(struct end *end)
{
	struct fid_ep *ep;
	uint8_t name[64];
	size_t len = sizeof(name);

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	RETURNS(fi_enable(ep), -FI_ENOAV);
	RETURNS(fi_ep_bind(ep, &end->av->fid, 1), -FI_EBADFLAGS);
	OK(fi_ep_bind(ep, &end->av->fid, 0));
	RETURNS(fi_ep_bind(ep, &end->av->fid, 0), -FI_EBUSY);
	RETURNS(fi_enable(ep), -FI_ENOCQ);
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	RETURNS(fi_enable(ep), -FI_ENOCQ);
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
	RETURNS(fi_ep_bind(ep, &end->domain->fid, 0), -FI_EINVAL);
	RETURNS(fi_getname(&ep->fid, name, &len), -FI_EADDRNOTAVAIL);
	RETURNS(fi_setname(&ep->fid, name, 32),
		-FI_EOPNOTSUPP); /* the device numbers its queue pairs */
	RETURNS(fi_send(ep, name, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_inject(ep, name, 8, 0), -FI_EOPBADSTATE);
	RETURNS(fi_recv(ep, name, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	OK(fi_enable(ep)); /* without an event queue */
	len = 5;
	memset(name, 0xee, sizeof(name));
	RETURNS(fi_getname(&ep->fid, name, &len), -FI_ETOOSMALL);
	EQUAL(len, 32);
	EQUAL(name[5], 0xee);
	RETURNS(fi_getname(&ep->fid, NULL, &len), -FI_EINVAL);
	len = 0;
	RETURNS(fi_getname(&ep->fid, NULL, &len), -FI_ETOOSMALL);
	RETURNS(fi_close(&end->av->fid), -FI_EBUSY);
	OK(fi_close(&ep->fid));
}

static void no_connection(struct end *end)
{
	struct fid_pep *pep;
	uint8_t addr[64] = { 0 };
	size_t len = sizeof(addr);

	end->ep = end_ep(end, end->info);
	RETURNS(fi_connect(end->ep, addr, NULL, 0), -FI_ENOSYS);
	RETURNS(fi_accept(end->ep, NULL, 0), -FI_ENOSYS);
	RETURNS(fi_shutdown(end->ep, 0), -FI_ENOSYS);
	RETURNS(fi_getpeer(end->ep, addr, &len), -FI_ENOSYS);
	RETURNS(fi_cancel(&end->ep->fid, NULL), -FI_ENOENT);
	RETURNS(fi_read(end->ep, addr, 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_passive_ep(end->fabric, end->info, &pep, NULL), -FI_EINVAL);
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
}

static void bad_infos(struct end *end)
{
	struct fi_info *info = fi_dupinfo(end->info);
	struct fid_ep *ep;

	CHECK(info);
	info->ep_attr->max_msg_size++;
	RETURNS(fi_endpoint(end->domain, info, &ep, NULL), -FI_EINVAL);
	info->ep_attr->max_msg_size--;
	info->src_addrlen--;
	RETURNS(fi_endpoint(end->domain, info, &ep, NULL), -FI_EINVAL);
	info->src_addrlen++;
	memset(info->src_addr, 0x55, 16);
	RETURNS(fi_endpoint(end->domain, info, &ep, NULL), -FI_EADDRNOTAVAIL);
	memcpy(info->src_addr, end->info->src_addr, info->src_addrlen);
	info->mode |= FI_MSG_PREFIX; /* but msg_prefix_size is 0 */
	RETURNS(fi_endpoint(end->domain, info, &ep, NULL), -FI_EINVAL);
	info->mode = 0;
	info->ep_attr->type = FI_EP_RDM;
	RETURNS(fi_endpoint(end->domain, info, &ep, NULL), -FI_EINVAL);
	fi_freeinfo(info);
}

static void other_domain(struct end *end)
{
	struct fid_domain *domain;
	struct fid_ep *ep;

	OK(fi_domain(end->fabric, end->info, &domain, NULL));
	OK(fi_endpoint(domain, end->info, &ep, NULL));
	RETURNS(fi_ep_bind(ep, &end->av->fid, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	OK(fi_close(&domain->fid));
}

/* The device's name without a suffix is accepted if the type is specified. */
static void names(struct end *end)
{
	char *own = end->info->domain_attr->name;
	struct fi_info *hints = hints_for(&setup), *info;

	CHECK(strlen(own) > 6 && !strcmp(own + strlen(own) - 6, "-dgram"));
	free(hints->domain_attr->name);
	hints->domain_attr->name = strndup(own, strlen(own) - 6);
	OK(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info));
	CHECK(!strcmp(info->domain_attr->name, own));
	fi_freeinfo(info);
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup(own);
	OK(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info));
	CHECK(!strcmp(info->domain_attr->name, own));
	fi_freeinfo(info);
	hints->ep_attr->type = FI_EP_MSG;
	RETURNS(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void test(void)
{
	struct end end = { .name = "end", .setup = &setup, .sock = -1 };

	end_open(&end, own_info(&setup));
	bindings(&end);
	no_connection(&end);
	bad_infos(&end);
	other_domain(&end);
	names(&end);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
