/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints, each with a completion queue for each index. */
#include "sep.h"

#include <pthread.h>
#include <string.h>

static struct fi_info *sep_info(enum fi_threading threading, uint64_t caps)
{
	struct fi_info *info, *hints = fi_allocinfo();

	CHECK(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->tx_ctx_cnt = hints->ep_attr->rx_ctx_cnt = SEP_MANY;
	hints->caps = caps;
	hints->domain_attr->mr_mode = RDM_PROV_KEYS | (caps & FI_HMEM ? FI_MR_HMEM : 0);
	hints->domain_attr->threading = threading;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	hints->fabric_attr->prov_name = strdup("verbs");
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	EQUAL(info->ep_attr->tx_ctx_cnt, SEP_MANY);
	EQUAL(info->ep_attr->rx_ctx_cnt, SEP_MANY);
	CHECK(info->domain_attr->max_ep_tx_ctx >= SEP_MANY);
	CHECK(info->domain_attr->max_ep_rx_ctx >= SEP_MANY);
	return info;
}

void sep_open_tx(struct sep_side *side, int index)
{
	OK(fi_tx_context(side->sep, index, NULL, &side->tx[index], NULL));
	OK(fi_ep_bind(side->tx[index], &side->cq[index]->fid, FI_TRANSMIT));
	OK(fi_enable(side->tx[index]));
}

static void open_index(struct sep_pair *pair, struct sep_side *side, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };

	OK(fi_cq_open(pair->domain, &cq, &side->cq[i], NULL));
	sep_open_tx(side, i);
	OK(fi_rx_context(side->sep, i, NULL, &side->rx[i], NULL));
	EQUAL(side->tx[i]->fid.fclass, FI_CLASS_TX_CTX);
	EQUAL(side->rx[i]->fid.fclass, FI_CLASS_RX_CTX);
	/* Who receives nothing needs no completion queue for it. */
	if (pair->info->caps & (FI_MSG | FI_TAGGED))
		OK(fi_ep_bind(side->rx[i], &side->cq[i]->fid, FI_RECV));
	OK(fi_enable(side->rx[i]));
}

void sep_contexts(struct sep_pair *pair, int i, int index, struct fid_cq *tx, struct fid_cq *rx)
{
	struct sep_side *side = &pair->side[i];

	OK(fi_close(&side->tx[index]->fid));
	OK(fi_close(&side->rx[index]->fid));
	OK(fi_tx_context(side->sep, index, NULL, &side->tx[index], NULL));
	OK(fi_rx_context(side->sep, index, NULL, &side->rx[index], NULL));
	OK(fi_ep_bind(side->tx[index], &tx->fid, FI_TRANSMIT));
	OK(fi_ep_bind(side->rx[index], &rx->fid, FI_RECV));
}

static void open_side(struct sep_pair *pair, struct sep_side *side)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE, .rx_ctx_bits = pair->bits };
	int i;

	OK(fi_av_open(pair->domain, &av, &side->av, NULL));
	OK(fi_scalable_ep(pair->domain, pair->info, &side->sep, NULL));
	EQUAL(side->sep->fid.fclass, FI_CLASS_SEP);
	OK(fi_scalable_ep_bind(side->sep, &side->av->fid, 0));
	OK(fi_enable(side->sep));
	for (i = 0; i < SEP_MANY; i++)
		open_index(pair, side, i);
}

fi_addr_t sep_introduce(struct fid_av *av, struct fid_ep *sep)
{
	char name[128];
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&sep->fid, name, &len));
	RETURNS(fi_av_insert(av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

void sep_open(struct sep_pair *pair, enum fi_threading threading)
{
	sep_open_caps(pair, threading,
		      FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_NAMED_RX_CTX | FI_DIRECTED_RECV |
			      FI_SOURCE);
}

void sep_open_caps(struct sep_pair *pair, enum fi_threading threading, uint64_t caps)
{
	sep_open_bits(pair, threading, caps, SEP_BITS);
}

void sep_open_bits(struct sep_pair *pair, enum fi_threading threading, uint64_t caps, int bits)
{
	memset(pair, 0, sizeof(*pair));
	pair->bits = bits;
	pair->info = sep_info(threading, caps);
	OK(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
	OK(fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
	open_side(pair, &pair->side[0]);
	open_side(pair, &pair->side[1]);
	pair->side[0].peer = sep_introduce(pair->side[0].av, pair->side[1].sep);
	pair->side[1].peer = sep_introduce(pair->side[1].av, pair->side[0].sep);
}

void sep_close(struct sep_pair *pair)
{
	struct sep_side *side;
	int i;

	for (side = pair->side; side < pair->side + 2; side++) {
		RETURNS(fi_close(&side->sep->fid), -FI_EBUSY);
		for (i = 0; i < SEP_MANY; i++) {
			OK(fi_close(&side->tx[i]->fid));
			OK(fi_close(&side->rx[i]->fid));
			OK(fi_close(&side->cq[i]->fid));
		}
		OK(fi_close(&side->sep->fid));
		OK(fi_close(&side->av->fid));
	}
	OK(fi_close(&pair->domain->fid));
	OK(fi_close(&pair->fabric->fid));
	fi_freeinfo(pair->info);
}

struct poller {
	struct fid_cq *cq;
	uint64_t start;
	bool closed; /* atomic */
};

static void *poll_late(void *arg)
{
	struct poller *poller = arg;
	struct fi_cq_tagged_entry entry;

	while (!__atomic_load_n(&poller->closed, __ATOMIC_RELAXED)) {
		if (now_ms() < poller->start)
			sleep_ms(1);
		else
			fi_cq_read(poller->cq, &entry, 0);
	}
	return NULL;
}

void sep_close_polled(struct fid_ep *context, struct fid_cq *cq, int late)
{
	struct poller poller = { .cq = cq, .start = now_ms() + (uint64_t)late };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, poll_late, &poller));
	OK(fi_close(&context->fid));
	__atomic_store_n(&poller.closed, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

fi_addr_t sep_addr(const struct sep_pair *pair, int side, int index)
{
	return fi_rx_addr(pair->side[side].peer, index, pair->bits);
}

static void poll_others(struct sep_pair *pair, const struct fid_cq *but)
{
	struct fi_cq_tagged_entry entry;
	struct fid_cq *cq;
	int i;

	for (i = 0; i < 2 * SEP_MANY; i++) {
		cq = pair->side[i / SEP_MANY].cq[i % SEP_MANY];
		if (cq != but)
			RETURNS(fi_cq_read(cq, &entry, 0), -FI_EAGAIN);
	}
}

struct fi_cq_tagged_entry sep_wait(struct sep_pair *pair, int side, int index, fi_addr_t *source)
{
	struct fid_cq *cq = pair->side[side].cq[index];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_readfrom(cq, &entry, 1, source)) == -FI_EAGAIN) {
		poll_others(pair, cq);
		pause_until(end, "a completion");
	}
	if (ret == -FI_EAVAIL && fi_cq_readerr(cq, &error, 0) == 1)
		FAIL("%s", fi_strerror(error.err));
	EQUAL(ret, 1);
	return entry;
}
