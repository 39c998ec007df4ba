/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call for sending and receiving transfers every size intact, with the correct flags and
 * data.
 */
#include <stdio.h>
#include <string.h>
#include "gpu.h"
#include "sizes.h"

#define DATA 0xfedcba98u

struct form {
	const char *name;
	ssize_t (*post)(struct end *end, size_t len, void *context);
	size_t parts;
	bool inject, data, silent;
};

static ssize_t form_send(struct end *end, size_t len, void *context)
{
	return fi_send(end->ep, end->buf, len, end->desc, FI_ADDR_UNSPEC, context);
}

static ssize_t form_sendv(struct end *end, size_t len, void *context)
{
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];

	parts_lay(end->buf, len, iov, desc, PARTS_MAX, end->desc);
	return fi_sendv(end->ep, iov, desc, PARTS_MAX, FI_ADDR_UNSPEC, context);
}

static ssize_t sendmsg_flags(struct end *end, size_t len, void *context, uint64_t flags)
{
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];
	struct fi_msg msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = PARTS_MAX,
		.addr = FI_ADDR_UNSPEC,
		.context = context,
		.data = DATA,
	};

	parts_lay(end->buf, len, iov, desc, PARTS_MAX, end->desc);
	return fi_sendmsg(end->ep, &msg, flags);
}

static ssize_t form_sendmsg(struct end *end, size_t len, void *context)
{
	return sendmsg_flags(end, len, context, 0);
}

static ssize_t form_sendmsg_data(struct end *end, size_t len, void *context)
{
	return sendmsg_flags(end, len, context, FI_REMOTE_CQ_DATA | FI_COMPLETION);
}

static ssize_t form_sendmsg_inject(struct end *end, size_t len, void *context)
{
	ssize_t ret = sendmsg_flags(end, len, context, FI_INJECT);

	mem_set(end->buf, 0xee, len + PARTS_MAX * PART_GAP);
	return ret;
}

static ssize_t form_senddata(struct end *end, size_t len, void *context)
{
	return fi_senddata(end->ep, end->buf, len, end->desc, DATA, FI_ADDR_UNSPEC, context);
}

/* The buffer can be reused at once, and need not be registered. */
static ssize_t form_inject(struct end *end, size_t len, void *context)
{
	uint8_t copy[4096], *from = gpu ? end->buf : copy;
	ssize_t ret;

	(void)context;
	CHECK(len <= sizeof(copy));
	if (!gpu)
		memcpy(copy, end->buf, len);
	ret = fi_inject(end->ep, from, len, FI_ADDR_UNSPEC);
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
	ret = fi_injectdata(end->ep, from, len, DATA, FI_ADDR_UNSPEC);
	mem_set(from, 0xee, len);
	return ret;
}

static const struct form forms[] = {
	{ "fi_send", form_send, 1, .inject = false },
	{ "fi_sendv", form_sendv, PARTS_MAX, .inject = false },
	{ "fi_sendmsg", form_sendmsg, PARTS_MAX, .inject = false },
	{ "fi_sendmsg data", form_sendmsg_data, PARTS_MAX, .data = true },
	{ "fi_sendmsg inject", form_sendmsg_inject, PARTS_MAX, .inject = true },
	{ "fi_senddata", form_senddata, 1, .data = true },
	{ "fi_inject", form_inject, 1, .inject = true, .silent = true },
	{ "fi_injectdata", form_injectdata, 1, .inject = true, .silent = true, .data = true },
};

/* The server receives len bytes with 0 fi_recv, 1 fi_recvv, 2 fi_recvmsg. */
struct receive {
	size_t len;
	unsigned int form, seed;
	bool data;
};

static void recv_iov(struct end *end, const struct receive *receive, struct iovec *iov, void **desc)
{
	parts_lay(end->buf, receive->len, iov, desc, receive->form ? PARTS_MAX : 1, end->desc);
}

static void step_post(struct end *end, void *arg)
{
	const struct receive *receive = arg;
	void *desc[PARTS_MAX], *context = (void *)(uintptr_t)receive->seed;
	struct iovec iov[PARTS_MAX];
	struct fi_msg msg = {
		.msg_iov = iov, .desc = desc, .iov_count = PARTS_MAX, .context = context
	};

	recv_iov(end, receive, iov, desc);
	if (receive->form == 0)
		OK(fi_recv(end->ep, end->buf, receive->len, end->desc, FI_ADDR_UNSPEC, context));
	else if (receive->form == 1)
		OK(fi_recvv(end->ep, iov, desc, PARTS_MAX, FI_ADDR_UNSPEC, context));
	else
		OK(fi_recvmsg(end->ep, &msg, 0));
}

static void step_reap(struct end *end, void *arg)
{
	const struct receive *receive = arg;
	struct fi_cq_tagged_entry entry;
	struct iovec iov[PARTS_MAX];
	void *desc[PARTS_MAX];

	wait_comp(end->rxcq, &entry);
	EQUAL(entry.op_context, receive->seed);
	EQUAL(entry.len, receive->len);
	EQUAL(entry.flags, FI_MSG | FI_RECV | (receive->data ? FI_REMOTE_CQ_DATA : 0));
	if (receive->data)
		EQUAL(entry.data, DATA);
	recv_iov(end, receive, iov, desc);
	parts_check(iov, receive->form ? PARTS_MAX : 1, receive->seed);
}

static void one(struct pair *pair, const struct form *form, struct receive *receive)
{
	void *desc[PARTS_MAX], *context = (void *)(uintptr_t)(receive->seed + 1);
	struct end *client = &pair->client;
	struct fi_cq_tagged_entry entry;
	struct iovec iov[PARTS_MAX];

	at(&pair->server, step_post, receive, sizeof(*receive));
	parts_lay(client->buf, receive->len, iov, desc, form->parts, client->desc);
	parts_fill(iov, form->parts, receive->seed);
	OK(form->post(client, receive->len, context));
	if (!form->silent) {
		wait_comp(client->cq, &entry);
		EQUAL(entry.op_context, context);
		EQUAL(entry.flags, FI_MSG | FI_SEND);
	}
	at(&pair->server, step_reap, receive, sizeof(*receive));
}

static void test(struct pair *pair)
{
	size_t i, k, n, limit, sizes[SIZES_MAX];
	struct receive receive = { 0 };

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		limit = forms[i].inject ? pair->client.info->tx_attr->inject_size : SIZE_MAX;
		n = sizes_of(&pair->client, limit, sizes);
		for (k = 0; k < n; k++) {
			printf("%s, %zu bytes\n", forms[i].name, sizes[k]);
			receive.len = sizes[k];
			receive.seed++;
			receive.form = (i + k) % 3;
			receive.data = forms[i].data;
			one(pair, &forms[i], &receive);
		}
	}
	no_comp(pair->client.cq, 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .buf_size = SIZES_BUF };

	return run_pair(argc, argv, &setup, test);
}
