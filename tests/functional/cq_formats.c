/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entries contain the fields of each CQ format, and nothing is written behind them. */
#include <string.h>
#include "steps.h"

#define DATA 0x01020304u

static const size_t sizes[] = {
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

/* The longer formats begin with the shorter ones, so one struct fits all. */
static void read_one(struct end *end, struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	size_t size = sizes[end->setup->format];
	const uint8_t *bytes = (uint8_t *)entry;
	uint64_t limit = deadline();
	size_t i;

	memset(entry, 0xaa, sizeof(*entry));
	while (fi_cq_read(cq, entry, 1) != 1)
		pause_until(limit, "a completion");
	for (i = size; i < sizeof(*entry); i++)
		EQUAL(bytes[i], 0xaa);
}

static void step_read(struct end *end, void *arg)
{
	read_one(end, end->rxcq, arg);
}

static void check(enum fi_cq_format format, const struct fi_cq_tagged_entry *entry, void *context,
		  uint64_t flags, size_t len, uint64_t data)
{
	EQUAL(entry->op_context, context);
	if (format < FI_CQ_FORMAT_MSG)
		return;
	EQUAL(entry->flags, flags);
	EQUAL(entry->len, len);
	if (format < FI_CQ_FORMAT_DATA)
		return;
	EQUAL(entry->buf, NULL);
	EQUAL(entry->data, data);
	if (format == FI_CQ_FORMAT_TAGGED)
		EQUAL(entry->tag, 0);
}

static void one(struct pair *pair)
{
	enum fi_cq_format format = pair->client.setup->format;
	struct part part = { .len = 100, .context = 5 };
	struct fi_cq_tagged_entry entry;
	struct end *client = &pair->client;

	at(&pair->server, post_recv, &part, sizeof(part));
	at(&pair->server, post_recv, &part, sizeof(part));
	OK(fi_send(client->ep, client->buf, 70, client->desc, 0, &part));
	OK(fi_senddata(client->ep, client->buf, 60, client->desc, DATA, 0, &entry));

	read_one(client, client->cq, &entry);
	check(format, &entry, &part, FI_MSG | FI_SEND, 0, 0);
	read_one(client, client->cq, &entry);
	check(format, &entry, &entry, FI_MSG | FI_SEND, 0, 0);
	at(&pair->server, step_read, &entry, sizeof(entry));
	check(format, &entry, (void *)5, FI_MSG | FI_RECV, 70, 0);
	at(&pair->server, step_read, &entry, sizeof(entry));
	check(format, &entry, (void *)5, FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA, 60, DATA);
}

int main(int argc, char **argv)
{
	struct setup setup = { 0 };
	int ret = 0;

	for (setup.format = FI_CQ_FORMAT_CONTEXT; !ret && setup.format <= FI_CQ_FORMAT_TAGGED;
	     setup.format++)
		ret = run_pair(argc, argv, &setup, one);
	return ret;
}
