/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams of the provider efa, on a device that tests/efa/fake.c makes look like an Elastic
 * Fabric Adapter: what fi_getinfo offers, messages of all lengths, data, injects, FI_MORE, silent
 * completions, full queues, and completions in any order.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "steps.h"

enum { PREFIX = 40, ROUND = 16 };

static void offers(const struct fi_info *info)
{
	EQUAL(info->addr_format, FI_ADDR_EFA);
	EQUAL(info->src_addrlen, 32);
	CHECK(!strcmp(info->fabric_attr->prov_name, "efa"));
	CHECK(!strcmp(info->fabric_attr->name, "efa"));
	EQUAL(info->ep_attr->protocol, FI_PROTO_EFA);
	EQUAL(info->ep_attr->msg_prefix_size, PREFIX);
	EQUAL(info->mode, FI_MSG_PREFIX);
	EQUAL(info->domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_ALLOCATED);
	EQUAL(info->domain_attr->cntr_cnt, 0);
	EQUAL(info->tx_attr->iov_limit, 2);
	EQUAL(info->rx_attr->iov_limit, 3);
	EQUAL(info->tx_attr->inject_size, 32);
	EQUAL(info->caps & (FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTICAST | FI_FENCE | FI_SOURCE),
	      0);
}

static void named(struct end *end)
{
	char text[128];
	struct name name;
	size_t len = sizeof(text);

	end_name(end, &name);
	EQUAL(name.len, 32);
	fi_av_straddr(end->av, name.bytes, text, &len);
	CHECK(!strncmp(text, "fi_addr_efa://[", 15));
}

static void pass(struct end *from, struct end *to, size_t len, unsigned int seed)
{
	struct fi_cq_tagged_entry entry;

	at_part(to, post_recv, 0, PREFIX + len, seed);
	at_part(from, fill_part, 8192 + PREFIX, len, seed);
	at_part(from, post_send, 8192, PREFIX + len, seed);
	at(to, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, PREFIX + len);
	EQUAL(entry.flags, FI_MSG | FI_RECV);
	at_part(to, check_part, PREFIX, len, seed);
}

static void lengths(struct pair *pair)
{
	size_t max = pair->client.info->ep_attr->max_msg_size, len;
	struct fi_cq_tagged_entry entry;

	for (len = 1; len; len = len == max ? 0 : len * 3 < max ? len * 3 : max) {
		pass(&pair->client, &pair->server, len, (unsigned int)len);
		wait_comp(pair->client.cq, &entry);
		EQUAL(entry.flags, FI_MSG | FI_SEND);
		pass(&pair->server, &pair->client, len, (unsigned int)len + 1);
	}
	RETURNS(fi_send(pair->client.ep, pair->client.buf, PREFIX + max + 1, pair->client.desc,
			pair->client.to, NULL),
		-FI_EMSGSIZE);
}

static void data_and_inject(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;

	at_part(&pair->server, post_recv, 0, PREFIX + 8, 1);
	OK(fi_senddata(end->ep, end->buf, PREFIX + 8, end->desc, 0x12345678, end->to, NULL));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.flags, FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA);
	EQUAL(entry.data, 0x12345678);
	wait_comp(end->cq, &entry);
	at_part(&pair->server, post_recv, 0, PREFIX + 32, 1);
	OK(fi_inject(end->ep, end->buf, PREFIX + 32, end->to));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, PREFIX + 32);
	no_comp(end->cq, 10);
}

/* Posts as many sends as there are contexts, with one doorbell. */
static void post_round(struct end *end, const char *contexts)
{
	struct iovec iov = { end->buf, PREFIX + 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &end->desc, .iov_count = 1, .addr = end->to
	};
	int i;

	for (i = 0; i < ROUND; i++) {
		msg.context = (void *)(uintptr_t)&contexts[i];
		OK(fi_sendmsg(end->ep, &msg, i < ROUND - 1 ? FI_MORE : 0));
	}
}

/* Reads what a round has posted. Returns how many completions are not at their place. */
static size_t read_round(struct end *end, const char *contexts)
{
	struct fi_cq_tagged_entry entries[ROUND];
	uint64_t limit = deadline();
	size_t at, count = 0, swapped = 0;
	char seen[ROUND] = { 0 };
	ssize_t i, n;

	while (count < ROUND) {
		while ((n = fi_cq_read(end->cq, entries, ROUND - count)) == -FI_EAGAIN)
			pause_until(limit, "fi_cq_read");
		CHECK(n > 0);
		for (i = 0; i < n; i++, count++) {
			at = (size_t)((const char *)entries[i].op_context - contexts);
			CHECK(at < ROUND && !seen[at]);
			seen[at] = 1;
			swapped += at != count;
		}
	}
	return swapped;
}

/* Each send completes once, in any order, for as many rounds as turn the ring several times. */
static void any_order(struct pair *pair)
{
	struct end *end = &pair->client;
	size_t round, rounds = 4 * end->info->tx_attr->size / ROUND + 1, swapped = 0;
	char contexts[ROUND];

	for (round = 0; round < rounds; round++) {
		post_round(end, contexts);
		usleep(1000);
		swapped += read_round(end, contexts);
	}
	printf("%zu of %zu completions at another place\n", swapped, rounds * ROUND);
	CHECK(swapped);
	no_comp(end->cq, 10);
}

/* Nobody reads the queue meanwhile. */
static void silent(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t limit = deadline();
	size_t i;

	for (i = 0; i < 4 * end->info->tx_attr->size; i++)
		while (AGAIN(limit, fi_inject(end->ep, end->buf, PREFIX + 8, end->to)))
			;
	no_comp(end->cq, 10);
}

static void test(struct pair *pair)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_cntr *cntr;

	offers(pair->client.info);
	named(&pair->client);
	RETURNS(fi_cntr_open(pair->client.domain, &attr, &cntr, NULL), -FI_ENOSYS);
	lengths(pair);
	data_and_inject(pair);
	any_order(pair);
	silent(pair);
}

/* There are no connections, and no other provider has the device. */
static void not_offered(const struct setup *setup)
{
	struct fi_info *hints = hints_for(setup), *info = NULL;

	hints->ep_attr->type = FI_EP_MSG;
	RETURNS(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->mode = 0;
	RETURNS(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->fabric_attr->prov_name[0] = 'x';
	RETURNS(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
	RETURNS(fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, NULL, &info), 0);
	CHECK(!strcmp(info->fabric_attr->prov_name, "efa"));
	fi_freeinfo(info);
}

int main(int argc, char **argv)
{
	struct setup setup = {
		.type = FI_EP_DGRAM,
		.prov = "efa",
		.caps = FI_MSG,
		.mode = FI_MSG_PREFIX,
		.tx_size = 64,
	};
	int ret;

	fi_freeinfo(info_for(&setup, NULL, NULL, 0));
	not_offered(&setup);
	ret = run_pair(argc, argv, &setup, test);
	setup.threading = FI_THREAD_DOMAIN;
	setup.av_type = FI_AV_MAP;
	return ret ? ret : run_pair(argc, argv, &setup, test);
}
