/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call that writes or reads remote memory transfers every size intact, and changes nothing
 * else.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "gpu.h"
#include "sizes.h"

#define DATA  0x89abcdefu
#define GUARD 64 /* bytes behind the target that must not change */

struct form {
	const char *name;
	ssize_t (*post)(struct end *end, size_t len, void *context);
	bool read, vector, inject, data, silent;
};

static uint64_t remote(const struct end *end)
{
	return end->peer.addr;
}

static ssize_t form_write(struct end *end, size_t len, void *context)
{
	return fi_write(end->ep, end->buf, len, end->desc, FI_ADDR_UNSPEC, remote(end),
			end->peer.key, context);
}

static ssize_t form_read(struct end *end, size_t len, void *context)
{
	return fi_read(end->ep, end->buf, len, end->desc, FI_ADDR_UNSPEC, remote(end),
		       end->peer.key, context);
}

static ssize_t form_writev(struct end *end, size_t len, void *context)
{
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];

	parts_lay(end->buf, len, iov, desc, PARTS_MAX, end->desc);
	return fi_writev(end->ep, iov, desc, PARTS_MAX, FI_ADDR_UNSPEC, remote(end), end->peer.key,
			 context);
}

static ssize_t form_readv(struct end *end, size_t len, void *context)
{
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];

	parts_lay(end->buf, len, iov, desc, PARTS_MAX, end->desc);
	return fi_readv(end->ep, iov, desc, PARTS_MAX, FI_ADDR_UNSPEC, remote(end), end->peer.key,
			context);
}

static ssize_t rmamsg(struct end *end, size_t len, void *context, bool read, uint64_t flags)
{
	struct fi_rma_iov target = { remote(end), len, end->peer.key };
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = PARTS_MAX,
		.addr = FI_ADDR_UNSPEC,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = context,
		.data = DATA,
	};

	parts_lay(end->buf, len, iov, desc, PARTS_MAX, end->desc);
	return read ? fi_readmsg(end->ep, &msg, flags) : fi_writemsg(end->ep, &msg, flags);
}

static ssize_t form_writemsg(struct end *end, size_t len, void *context)
{
	return rmamsg(end, len, context, false, 0);
}

static ssize_t form_writemsg_data(struct end *end, size_t len, void *context)
{
	return rmamsg(end, len, context, false, FI_REMOTE_CQ_DATA);
}

static ssize_t form_writemsg_inject(struct end *end, size_t len, void *context)
{
	ssize_t ret = rmamsg(end, len, context, false, FI_INJECT);

	mem_set(end->buf, 0xee, len + PARTS_MAX * PART_GAP);
	return ret;
}

static ssize_t form_readmsg(struct end *end, size_t len, void *context)
{
	return rmamsg(end, len, context, true, 0);
}

static ssize_t form_writedata(struct end *end, size_t len, void *context)
{
	return fi_writedata(end->ep, end->buf, len, end->desc, DATA, FI_ADDR_UNSPEC, remote(end),
			    end->peer.key, context);
}

static ssize_t form_inject(struct end *end, size_t len, void *context)
{
	uint8_t copy[4096], *from = gpu ? end->buf : copy;
	ssize_t ret;

	(void)context;
	CHECK(len <= sizeof(copy));
	if (!gpu)
		memcpy(copy, end->buf, len);
	ret = fi_inject_write(end->ep, from, len, FI_ADDR_UNSPEC, remote(end), end->peer.key);
	mem_set(from, 0xee, len);
	return ret;
}

static ssize_t form_injectdata(struct end *end, size_t len, void *context)
{
	uint8_t copy[4096], *from = gpu ? end->buf : copy;
	ssize_t ret;

	(void)context;
	CHECK(len <= sizeof(copy));
	if (!gpu)
		memcpy(copy, end->buf, len);
	ret = fi_inject_writedata(end->ep, from, len, DATA, FI_ADDR_UNSPEC, remote(end),
				  end->peer.key);
	mem_set(from, 0xee, len);
	return ret;
}

static const struct form forms[] = {
	{ "fi_write", form_write, .read = false },
	{ "fi_writev", form_writev, .vector = true },
	{ "fi_writemsg", form_writemsg, .vector = true },
	{ "fi_writemsg data", form_writemsg_data, .vector = true, .data = true },
	{ "fi_writemsg inject", form_writemsg_inject, .vector = true, .inject = true },
	{ "fi_writedata", form_writedata, .data = true },
	{ "fi_inject_write", form_inject, .inject = true, .silent = true },
	{ "fi_inject_writedata", form_injectdata, .inject = true, .silent = true, .data = true },
	{ "fi_read", form_read, .read = true },
	{ "fi_readv", form_readv, .read = true, .vector = true },
	{ "fi_readmsg", form_readmsg, .read = true, .vector = true },
};

/* Data consumes a receive at the target, whatever its buffer. */
static void step_data(struct end *end, void *arg)
{
	const struct part *part = arg;
	struct fi_cq_tagged_entry entry;

	wait_comp(end->rxcq, &entry);
	EQUAL(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	EQUAL(entry.data, DATA);
	EQUAL(entry.len, part->len);
}

/* A write's data has arrived when a later message arrives: waits for one. */
static void flush(struct pair *pair)
{
	struct part part = { .off = pair->client.setup->buf_size - 8, .len = 0, .context = 99 };
	struct fi_cq_tagged_entry entry;

	at(&pair->server, post_recv, &part, sizeof(part));
	post_send(&pair->client, &part);
	wait_context(pair->client.cq, (void *)99);
	at(&pair->server, next_recv, &entry, sizeof(entry));
}

static void wait_transmit(struct end *end, const struct form *form, void *context)
{
	struct fi_cq_tagged_entry entry;

	if (form->silent)
		return;
	wait_comp(end->cq, &entry);
	EQUAL(entry.op_context, context);
	EQUAL(entry.flags, FI_RMA | (form->read ? FI_READ : FI_WRITE));
}

static void one_write(struct pair *pair, const struct form *form, size_t len, unsigned int seed)
{
	struct part whole = { .len = len + GUARD }, nothing = { .off = whole.len }, part = nothing;
	struct end *client = &pair->client, *server = &pair->server;
	void *desc[PARTS_MAX], *context = (void *)(uintptr_t)seed;
	size_t count = form->vector ? PARTS_MAX : 1;
	struct iovec iov[PARTS_MAX];

	at(server, clear_part, &whole, sizeof(whole));
	if (form->data)
		at(server, post_recv, &nothing, sizeof(nothing));
	parts_lay(client->buf, len, iov, desc, count, client->desc);
	parts_fill(iov, count, seed);
	OK(form->post(client, len, context));
	wait_transmit(client, form, context);
	if (form->data) {
		part.len = len;
		at(server, step_data, &part, sizeof(part));
	} else if (form->silent) {
		flush(pair);
	}
	at_part(server, check_part, 0, len, seed);
	at_part(server, check_zero, len, GUARD, 0);
}

static void one_read(struct pair *pair, const struct form *form, size_t len, unsigned int seed)
{
	void *desc[PARTS_MAX], *context = (void *)(uintptr_t)seed;
	size_t count = form->vector ? PARTS_MAX : 1;
	struct end *client = &pair->client;
	struct iovec iov[PARTS_MAX];

	at_part(&pair->server, fill_part, 0, len, seed);
	mem_set(client->buf, 0, len + PARTS_MAX * PART_GAP);
	OK(form->post(client, len, context));
	wait_transmit(client, form, context);
	parts_lay(client->buf, len, iov, desc, count, client->desc);
	parts_check(iov, count, seed);
	at_part(client, check_zero, len + (count - 1) * PART_GAP, PART_GAP, 0);
}

static void test(struct pair *pair)
{
	size_t i, k, n, limit, sizes[SIZES_MAX];
	unsigned int seed = 0;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		limit = forms[i].inject ? pair->client.info->tx_attr->inject_size : SIZE_MAX;
		n = sizes_of(&pair->client, limit, sizes);
		for (k = 0; k < n; k++) {
			printf("%s, %zu bytes\n", forms[i].name, sizes[k]);
			if (forms[i].read)
				one_read(pair, &forms[i], sizes[k], ++seed);
			else
				one_write(pair, &forms[i], sizes[k], ++seed);
		}
	}
	no_comp(pair->client.cq, 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .buf_size = SIZES_BUF };

	return run_pair(argc, argv, &setup, test);
}
