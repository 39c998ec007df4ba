/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Above max_msg_size and the inject size every call returns -FI_EMSGSIZE, and nothing is sent. */
#include <string.h>
#include <rdma/fi_rma.h>
#include "steps.h"

static void sends(struct end *end, size_t len)
{
	struct iovec iov[2] = { { end->buf, len - 1 }, { end->buf, 1 } };
	void *desc[2] = { end->desc, end->desc };
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = 2 };

	RETURNS(fi_send(end->ep, end->buf, len, end->desc, 0, NULL), -FI_EMSGSIZE);
	RETURNS(fi_senddata(end->ep, end->buf, len, end->desc, 1, 0, NULL), -FI_EMSGSIZE);
	RETURNS(fi_sendv(end->ep, iov, desc, 2, 0, NULL), -FI_EMSGSIZE);
	RETURNS(fi_sendmsg(end->ep, &msg, 0), -FI_EMSGSIZE);
	RETURNS(fi_sendmsg(end->ep, &msg, FI_MORE), -FI_EMSGSIZE);
}

static void rmas(struct end *end, size_t len)
{
	uint64_t addr = end->peer.addr, key = end->peer.key;
	struct iovec iov[2] = { { end->buf, len - 1 }, { end->buf, 1 } };
	struct fi_rma_iov target = { addr, len, key };
	void *desc[2] = { end->desc, end->desc };
	struct fi_msg_rma msg = {
		.msg_iov = iov, .desc = desc, .iov_count = 2, .rma_iov = &target, .rma_iov_count = 1
	};

	RETURNS(fi_write(end->ep, end->buf, len, end->desc, 0, addr, key, NULL), -FI_EMSGSIZE);
	RETURNS(fi_writedata(end->ep, end->buf, len, end->desc, 1, 0, addr, key, NULL),
		-FI_EMSGSIZE);
	RETURNS(fi_read(end->ep, end->buf, len, end->desc, 0, addr, key, NULL), -FI_EMSGSIZE);
	RETURNS(fi_writev(end->ep, iov, desc, 2, 0, addr, key, NULL), -FI_EMSGSIZE);
	RETURNS(fi_readv(end->ep, iov, desc, 2, 0, addr, key, NULL), -FI_EMSGSIZE);
	RETURNS(fi_writemsg(end->ep, &msg, 0), -FI_EMSGSIZE);
	RETURNS(fi_readmsg(end->ep, &msg, 0), -FI_EMSGSIZE);
}

static void injects(struct end *end, size_t len)
{
	uint64_t addr = end->peer.addr, key = end->peer.key;
	struct iovec iov = { end->buf, len };
	struct fi_rma_iov target = { addr, len, key };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &end->desc, .iov_count = 1 };
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .desc = &end->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1 };

	RETURNS(fi_inject(end->ep, end->buf, len, 0), -FI_EMSGSIZE);
	RETURNS(fi_injectdata(end->ep, end->buf, len, 1, 0), -FI_EMSGSIZE);
	RETURNS(fi_inject_write(end->ep, end->buf, len, 0, addr, key), -FI_EMSGSIZE);
	RETURNS(fi_inject_writedata(end->ep, end->buf, len, 1, 0, addr, key), -FI_EMSGSIZE);
	RETURNS(fi_sendmsg(end->ep, &msg, FI_INJECT), -FI_EMSGSIZE);
	RETURNS(fi_writemsg(end->ep, &rma, FI_INJECT), -FI_EMSGSIZE);
}

/* Lengths whose sum overflows. */
static void overflow(struct end *end)
{
	struct iovec iov[2] = { { end->buf, SIZE_MAX }, { end->buf, 2 } };
	void *desc[2] = { end->desc, end->desc };

	RETURNS(fi_sendv(end->ep, iov, desc, 2, 0, NULL), -FI_EMSGSIZE);
	RETURNS(fi_writev(end->ep, iov, desc, 2, 0, end->peer.addr, end->peer.key, NULL),
		-FI_EMSGSIZE);
	RETURNS(fi_recvv(end->ep, iov, desc, 2, 0, NULL), -FI_EMSGSIZE);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	size_t left = (size_t)fi_tx_size_left(client->ep);
	struct part part = { .len = 64, .seed = 7, .context = 7 };
	int quiet = 50;

	at(&pair->server, post_recv, &part, sizeof(part));
	sends(client, client->info->ep_attr->max_msg_size + 1);
	rmas(client, client->info->ep_attr->max_msg_size + 1);
	injects(client, client->info->tx_attr->inject_size + 1);
	overflow(client);
	EQUAL(fi_tx_size_left(client->ep), left);
	no_comp(client->cq, 20);
	at(&pair->server, no_recv, &quiet, sizeof(quiet));

	/* The endpoint still works. */
	fill_part(client, &part);
	post_send(client, &part);
	wait_context(client->cq, (void *)7);
	at(&pair->server, reap_recv, &part, sizeof(part));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
