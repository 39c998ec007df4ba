/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What scalable endpoints and their contexts refuse. */
#include <netinet/in.h>
#include <stdlib.h>
#include "sep.h"

static char buf[8];

static void bad_contexts(struct sep_pair *pair)
{
	struct sep_side *side = &pair->side[0];
	struct fi_tx_attr tx = { .caps = FI_MULTICAST };
	struct fi_rx_attr rx = { .op_flags = FI_INJECT };
	struct fid_ep *ep;

	RETURNS(fi_tx_context(side->sep, SEP_MANY, NULL, &ep, NULL), -FI_EINVAL);
	RETURNS(fi_rx_context(side->sep, -1, NULL, &ep, NULL), -FI_EINVAL);
	RETURNS(fi_tx_context(side->sep, 0, NULL, &ep, NULL), -FI_EBUSY);
	RETURNS(fi_tx_context(side->sep, 0, NULL, NULL, NULL), -FI_EINVAL);
	RETURNS(fi_tx_context(side->sep, 0, &tx, &ep, NULL), -FI_EINVAL);
	RETURNS(fi_rx_context(side->sep, 0, &rx, &ep, NULL), -FI_EBADFLAGS);
	RETURNS(fi_scalable_ep_bind(side->sep, &side->av->fid, 0), -FI_EBUSY);
	RETURNS(fi_scalable_ep_bind(side->sep, &side->cq[0]->fid, 0), -FI_EINVAL);
}

static void bad_calls(struct sep_pair *pair)
{
	struct sep_side *side = &pair->side[0];

	RETURNS(fi_send(side->rx[0], buf, 1, NULL, side->peer, NULL), -FI_ENOSYS);
	RETURNS(fi_trecv(side->tx[0], buf, 1, NULL, side->peer, 0, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_write(side->rx[0], buf, 1, NULL, side->peer, 0, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_send(side->sep, buf, 1, NULL, side->peer, NULL), -FI_ENOSYS);
	RETURNS(fi_ep_bind(side->tx[0], &side->av->fid, 0), -FI_EINVAL);
	/* The index is within the bits of the address vector. */
	RETURNS(fi_send(side->tx[0], buf, 1, NULL, fi_rx_addr(9, 1, SEP_BITS), NULL), -FI_EINVAL);
	RETURNS(fi_send(side->tx[0], buf, 1, NULL, fi_rx_addr(1ull << 58, 1, SEP_BITS), NULL),
		-FI_EINVAL);
}

static void fails(struct sep_pair *pair, fi_addr_t to)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct sep_side *side = &pair->side[0];
	uint64_t end = deadline();
	ssize_t ret;

	OK(fi_send(side->tx[1], buf, 1, NULL, to, NULL));
	while ((ret = fi_cq_read(side->cq[1], &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "an error");
	EQUAL(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(side->cq[1], &error, 0), 1);
	EQUAL(error.err, FI_ECONNREFUSED);
}

/* Nobody listens for context 7. */
static void no_context(struct sep_pair *pair)
{
	fails(pair, sep_addr(pair, 0, 7));
}

/* A context does not take messages for a plain endpoint at its port. */
static void wrong_context(struct sep_pair *pair)
{
	struct sep_side *side = &pair->side[0];
	struct sockaddr_in in;
	size_t len = sizeof(in);
	fi_addr_t plain;

	OK(fi_getname(&pair->side[1].sep->fid, &in, &len));
	in.sin_port = htons(ntohs(in.sin_port) + 1);
	RETURNS(fi_av_insert(side->av, &in, 1, &plain, 0, NULL), 1);
	fails(pair, plain);
}

/*
 * A context refuses what belongs to the other direction, which its index may have, too. Returns the
 * counter that is bound to both.
 */
static struct fid_cntr *other_direction(const struct sep_pair *pair, struct fid_ep *tx,
					struct fid_ep *rx)
{
	uint64_t transmit = FI_TRANSMIT, receive = FI_RECV;
	struct fid_cntr *cntr;
	struct fid_ep *ep;

	RETURNS(fi_control(&tx->fid, FI_SETOPSFLAG, &receive), -FI_EINVAL);
	RETURNS(fi_control(&rx->fid, FI_GETOPSFLAG, &transmit), -FI_EINVAL);
	RETURNS(fi_ep_alias(tx, &ep, FI_RECV), -FI_EINVAL);
	OK(fi_cntr_open(pair->domain, NULL, &cntr, NULL));
	RETURNS(fi_ep_bind(tx, &cntr->fid, FI_SEND | FI_RECV), -FI_EINVAL);
	RETURNS(fi_ep_bind(rx, &cntr->fid, FI_WRITE), -FI_EINVAL);
	OK(fi_ep_bind(tx, &cntr->fid, FI_SEND | FI_READ | FI_WRITE));
	OK(fi_ep_bind(rx, &cntr->fid, FI_RECV));
	return cntr;
}

/* An endpoint of an index opens again after both its contexts were closed. */
static void reopen(struct sep_pair *pair)
{
	struct sep_side *side = &pair->side[1];
	struct fi_tx_attr tx = { .caps = FI_NAMED_RX_CTX, .op_flags = FI_INJECT };
	struct fi_rx_attr rx = { .caps = FI_NAMED_RX_CTX, .size = SIZE_MAX };
	struct fid_cntr *cntr = other_direction(pair, side->tx[2], side->rx[2]);

	OK(fi_close(&side->tx[2]->fid));
	OK(fi_close(&side->rx[2]->fid));
	OK(fi_close(&cntr->fid));
	OK(fi_rx_context(side->sep, 2, &rx, &side->rx[2], NULL));
	OK(fi_tx_context(side->sep, 2, &tx, &side->tx[2], NULL));
	/* The attributes that the contexts have are returned. */
	EQUAL(rx.size, pair->info->rx_attr->size);
	EQUAL(tx.inject_size, pair->info->tx_attr->inject_size);
	EQUAL(tx.op_flags, FI_INJECT);
	RETURNS(fi_enable(side->tx[2]), -FI_ENOCQ);
	RETURNS(fi_ep_bind(side->tx[2], &side->cq[2]->fid, FI_RECV), -FI_EINVAL);
	OK(fi_ep_bind(side->tx[2], &side->cq[2]->fid, FI_TRANSMIT));
	OK(fi_ep_bind(side->rx[2], &side->cq[2]->fid, FI_RECV));
	OK(fi_enable(side->rx[2]));
	OK(fi_enable(side->tx[2]));
	OK(fi_recv(side->rx[2], buf, 1, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(pair->side[0].tx[0], buf, 1, NULL, sep_addr(pair, 0, 2), NULL));
	sep_wait(pair, 1, 2, &(fi_addr_t){ 0 });
	sep_wait(pair, 0, 0, &(fi_addr_t){ 0 });
}

/* fi_scalable_ep takes an fi_info without domain_attr, as fi_endpoint does. */
static void no_domain_attr(struct sep_pair *pair)
{
	struct fi_info bare = *pair->info;
	struct fid_ep *ep;

	bare.domain_attr = NULL;
	OK(fi_endpoint(pair->domain, &bare, &ep, NULL));
	OK(fi_close(&ep->fid));
	OK(fi_scalable_ep(pair->domain, &bare, &ep, NULL));
	OK(fi_close(&ep->fid));
}

static void too_many(struct sep_pair *pair)
{
	struct fid_ep *sep;

	pair->info->ep_attr->tx_ctx_cnt = pair->info->domain_attr->max_ep_tx_ctx + 1;
	RETURNS(fi_scalable_ep(pair->domain, pair->info, &sep, NULL), -FI_EINVAL);
	pair->info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	RETURNS(fi_scalable_ep(pair->domain, pair->info, &sep, NULL), -FI_EINVAL);
}

static void test(void)
{
	struct sep_pair pair;

	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "2000", 0);
	sep_open(&pair, FI_THREAD_SAFE);
	bad_contexts(&pair);
	bad_calls(&pair);
	reopen(&pair);
	wrong_context(&pair);
	no_context(&pair);
	no_domain_attr(&pair);
	too_many(&pair);
	sep_close(&pair);
	/* Contexts may name those of peers although it was not requested. */
	sep_open_caps(&pair, FI_THREAD_SAFE, FI_MSG | FI_RMA);
	reopen(&pair);
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
