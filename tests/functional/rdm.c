/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints of one process that know each other. */
#include "rdm.h"

#include <stdlib.h>
#include <string.h>

static void open_side(struct rdm_pair *pair, int i, const struct rdm_change *change)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = change->wait };
	struct fi_av_attr av = { .type = FI_AV_TABLE, .rx_ctx_bits = change->av_bits };
	struct rdm_side *side = &pair->side[i];

	OK(fi_endpoint(pair->domain, pair->info, &side->ep, NULL));
	OK(fi_cq_open(pair->domain, &cq, &side->cq, NULL));
	OK(fi_av_open(pair->domain, &av, &side->av, NULL));
	OK(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(side->ep, &side->av->fid, 0));
	if (change->bind)
		change->bind(pair, i);
	OK(fi_enable(side->ep));
}

void rdm_reopen_selective(struct rdm_pair *pair, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct rdm_side *side = &pair->side[i];

	OK(fi_close(&side->ep->fid));
	OK(fi_close(&side->cq->fid));
	OK(fi_cq_open(pair->domain, &cq, &side->cq, NULL));
	OK(fi_endpoint(pair->domain, pair->info, &side->ep, NULL));
	OK(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
	OK(fi_ep_bind(side->ep, &side->av->fid, 0));
	OK(fi_enable(side->ep));
}

static fi_addr_t insert(struct rdm_side *into, struct rdm_side *of, bool text)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	char name[128], *string = name;
	size_t len = sizeof(name);

	OK(fi_getname(&of->ep->fid, name, &len));
	RETURNS(fi_av_insert(into->av, text ? (void *)&string : name, 1, &addr, 0, NULL), 1);
	return addr;
}

void rdm_open(struct rdm_pair *pair, int mr_mode)
{
	rdm_open_with(pair, mr_mode, &(struct rdm_change){ .wait = FI_WAIT_NONE });
}

void rdm_hint_device(struct fi_info *hints)
{
	const char *provider = getenv("WEFT_PROVIDER");

	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = provider ? FI_FORMAT_UNSPEC : FI_SOCKADDR_IN;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	hints->fabric_attr->prov_name = strdup(provider ? provider : "verbs");
}

const char *rdm_transport(void)
{
	const char *transport = getenv("FI_VERBS_RDM_TRANSPORT");

	if (getenv("WEFT_PROVIDER"))
		return "srd";
	/* Connections that carry much get queue pairs later. */
	if (transport && !strcmp(transport, "auto"))
		return "ud";
	return transport ? transport : "rc";
}

bool rdm_may_use(const char *transport)
{
	const char *wanted = getenv("FI_VERBS_RDM_TRANSPORT");

	return !strcmp(transport, rdm_transport()) ||
	       (wanted && !strcmp(wanted, "auto") && !strcmp(transport, "rc"));
}

uint32_t rdm_version(const struct fi_info *hints)
{
	const uint64_t variants =
		FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV | FI_TAGGED_MULTI_RECV;

	if (hints->caps & variants)
		return FI_VERSION(2, 0);
	return FI_VERSION(1, hints->domain_attr->mr_mode & FI_MR_HMEM ? 20 : 17);
}

void rdm_open_with(struct rdm_pair *pair, int mr_mode, const struct rdm_change *change)
{
	struct fi_info *hints = fi_allocinfo();
	bool text;
	int i;

	CHECK(hints);
	memset(pair, 0, sizeof(*pair));
	rdm_hint_device(hints);
	hints->domain_attr->mr_mode = mr_mode;
	if (change->hints)
		change->hints(hints);
	OK(fi_getinfo(rdm_version(hints), NULL, NULL, 0, hints, &pair->info));
	fi_freeinfo(hints);
	if (change->info)
		change->info(pair->info);
	OK(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
	OK(fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
	text = pair->info->addr_format == FI_ADDR_STR;
	for (i = 0; i < 2; i++)
		open_side(pair, i, change);
	for (i = 0; i < 2; i++) {
		pair->side[i].peer = insert(&pair->side[i], &pair->side[!i], text);
		pair->side[i].self = insert(&pair->side[i], &pair->side[i], text);
	}
}

void rdm_close(struct rdm_pair *pair)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (pair->side[i].ep) /* else the test closed it */
			OK(fi_close(&pair->side[i].ep->fid));
		OK(fi_close(&pair->side[i].cq->fid));
		OK(fi_close(&pair->side[i].av->fid));
	}
	OK(fi_close(&pair->domain->fid));
	OK(fi_close(&pair->fabric->fid));
	fi_freeinfo(pair->info);
}

/* Makes the other side progress without taking anything of it. */
static ssize_t poll_both(struct rdm_pair *pair, int side, struct fi_cq_tagged_entry *entry)
{
	fi_cq_read(pair->side[!side].cq, NULL, 0);
	return fi_cq_read(pair->side[side].cq, entry, 1);
}

void rdm_write_fenced(struct rdm_pair *pair, const void *from, struct fi_rma_iov to)
{
	struct iovec iov = { (void *)(uintptr_t)from, to.len };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair->side[0].peer,
				  .rma_iov = &to,
				  .rma_iov_count = 1 };

	OK(fi_writemsg(pair->side[0].ep, &msg, FI_FENCE | FI_COMPLETION));
}

void rdm_order(struct rdm_pair *pair)
{
	int i;

	for (i = 0; i < 2; i++)
		RETURNS(fi_cancel(&pair->side[i].ep->fid, &pair->side[i]), -FI_ENOENT);
}

struct fi_cq_tagged_entry rdm_wait(struct rdm_pair *pair, int side)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = poll_both(pair, side, &entry)) == -FI_EAGAIN)
		pause_until(end, "a completion");
	RETURNS(ret, 1);
	return entry;
}

void rdm_reaches(struct rdm_pair *pair, struct fid_cntr *cntr, uint64_t value)
{
	uint64_t end = deadline();

	while (fi_cntr_read(cntr) < value) {
		fi_cq_read(pair->side[0].cq, NULL, 0);
		pause_until(end, "a counter");
	}
	EQUAL(fi_cntr_read(cntr), value);
}

struct fi_cq_err_entry rdm_wait_error(struct rdm_pair *pair, int side)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = poll_both(pair, side, &entry)) == -FI_EAGAIN)
		pause_until(end, "a failure");
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(pair->side[side].cq, &error, 0), 1);
	return error;
}

void rdm_exchange(struct rdm_pair *pair, uint8_t *out, uint8_t *in, size_t len, unsigned int seed)
{
	fill(out, len, seed);
	OK(fi_trecv(pair->side[1].ep, in, len, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(pair->side[0].ep, out, len, NULL, pair->side[0].peer, 1, NULL));
	rdm_wait(pair, 1);
	CHECK_FILLED(in, len, seed);
	rdm_wait(pair, 0);
}
