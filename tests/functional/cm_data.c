/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data of connecting and accepting arrives unchanged in each size up to FI_OPT_CM_DATA_SIZE; of
 * more, so much arrives.
 */
#include <stdio.h>
#include "steps.h"

#define MAX 256

struct data {
	size_t request, reply, max;
};

static size_t arriving(size_t len, size_t max)
{
	return len < max ? len : max;
}

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_serve(struct end *end, void *arg)
{
	const struct data *data = arg;
	uint8_t buf[MAX + 1];
	size_t len = sizeof(buf);
	struct fi_info *info = end_request(end, buf, &len);

	EQUAL(len, arriving(data->request, data->max));
	CHECK_FILLED(buf, len, 1);
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	fill(buf, sizeof(buf), 2);
	OK(fi_accept(end->ep, data->reply ? buf : NULL, data->reply));
	EQUAL(wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0), 0);
}

static void step_close(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
}

static void one(struct pair *pair, struct data data)
{
	struct end *client = &pair->client;
	uint8_t buf[MAX + 1];
	size_t len;

	printf("%zu and %zu bytes\n", data.request, data.reply);
	client->ep = end_ep(client, client->info);
	fill(buf, sizeof(buf), 1);
	OK(fi_connect(client->ep, client->info->dest_addr, data.request ? buf : NULL,
		      data.request));
	at(&pair->server, step_serve, &data, sizeof(data));
	len = wait_event(client->eq, FI_CONNECTED, &client->ep->fid, buf, sizeof(buf));
	EQUAL(len, arriving(data.reply, data.max));
	CHECK_FILLED(buf, len, 2);
	step_close(client, NULL);
	at(&pair->server, step_close, NULL, 0);
	/* No event of the old endpoints is left to read. */
	no_event(client->eq, 5);
}

static size_t data_max(struct end *client)
{
	size_t max, len = 1;
	struct fid_ep *ep = end_ep(client, client->info);

	RETURNS(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max, &len),
		-FI_ETOOSMALL);
	EQUAL(len, sizeof(max));
	OK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &max, &len));
	CHECK(max >= 40 && max <= MAX);
	RETURNS(fi_connect(ep, client->info->dest_addr, NULL, 1), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	return max;
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct place place;
	size_t max;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_open(client, info_for(client->setup, place.node, place.service, 0));
	max = data_max(client);
	one(pair, (struct data){ 0, 0, max });
	one(pair, (struct data){ 1, 0, max });
	one(pair, (struct data){ 0, 1, max });
	one(pair, (struct data){ 17, 33, max });
	one(pair, (struct data){ max - 1, max, max });
	one(pair, (struct data){ max, max - 1, max });
	one(pair, (struct data){ max + 1, max + 9, max });
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
