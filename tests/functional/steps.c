/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu.h"
#include "steps.h"

static void fail_comp(struct fid_cq *cq)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[256];

	RETURNS(fi_cq_readerr(cq, &entry, 0), 1);
	fi_cq_strerror(cq, entry.prov_errno, entry.err_data, text, sizeof(text));
	FAIL("instead of a completion there is the error %d (%s): %s", entry.err,
	     fi_strerror(entry.err), text);
}

void wait_comp(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN)
		pause_until(end, "a completion");
	if (ret == -FI_EAVAIL)
		fail_comp(cq);
	RETURNS(ret, 1);
}

void wait_context(struct fid_cq *cq, void *context)
{
	struct fi_cq_tagged_entry entry;

	wait_comp(cq, &entry);
	EQUAL(entry.op_context, context);
}

void wait_error(struct fid_cq *cq, struct fi_cq_err_entry *entry)
{
	struct fi_cq_tagged_entry success;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &success, 1)) == -FI_EAGAIN)
		pause_until(end, "an error");
	RETURNS(ret, -FI_EAVAIL);
	*entry = (struct fi_cq_err_entry){ 0 };
	RETURNS(fi_cq_readerr(cq, entry, 0), 1);
}

void no_comp(struct fid_cq *cq, int ms)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + (uint64_t)ms;

	do {
		RETURNS(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
		sleep_ms(1);
	} while (now_ms() < end);
}

bool again_at(const char *file, int line, const char *call, ssize_t ret, uint64_t end)
{
	if (ret != -FI_EAGAIN) {
		returns_at(file, line, call, ret, 0);
		return false;
	}
	pause_until(end, call);
	return true;
}

void bind_dgram(const struct end *end, struct fid_ep *ep)
{
	OK(fi_ep_bind(ep, &end->av->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
}

struct sockaddr_in reach_dgram(const struct end *end, struct fid_ep *ep)
{
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in name;
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&ep->fid, &name, &len));
	EQUAL(fi_av_insert(end->av, &name, 1, &addr, 0, NULL), 1);
	OK(fi_recv(ep, end->buf, 1024, end->desc, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(end->ep, end->buf, 8, end->desc, addr, NULL));
	wait_comp(end->rxcq, &entry);
	wait_comp(end->cq, &entry);
	return name;
}

bool on_soft_roce(const struct end *end)
{
	return !strncmp(end->info->domain_attr->name, "rxe", 3);
}

void post_recv(struct end *end, void *arg)
{
	const struct part *part = arg;
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_recv(end_rx(end), end->buf + part->off, part->len, end->desc,
				    FI_ADDR_UNSPEC, (void *)(uintptr_t)part->context)))
		;
}

void post_send(struct end *end, void *arg)
{
	const struct part *part = arg;
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_send(end->ep, end->buf + part->off, part->len, end->desc, end->to,
				    (void *)(uintptr_t)part->context)))
		;
}

void fill_part(struct end *end, void *arg)
{
	const struct part *part = arg;

	fill(end->buf + part->off, part->len, part->seed);
}

void clear_part(struct end *end, void *arg)
{
	const struct part *part = arg;

	mem_set(end->buf + part->off, 0, part->len);
}

void check_part(struct end *end, void *arg)
{
	const struct part *part = arg;

	CHECK_FILLED(end->buf + part->off, part->len, part->seed);
}

void check_zero(struct end *end, void *arg)
{
	const struct part *part = arg;
	uint8_t *bytes = malloc(part->len + 1);

	CHECK(bytes);
	mem_get(bytes, end->buf + part->off, part->len);
	if (part->len)
		CHECK(!bytes[0] && !memcmp(bytes, bytes + 1, part->len - 1));
	free(bytes);
}

void reap_recv(struct end *end, void *arg)
{
	const struct part *part = arg;
	struct fi_cq_tagged_entry entry;

	wait_comp(end->rxcq, &entry);
	EQUAL(entry.op_context, part->context);
	EQUAL(entry.len, part->len);
	EQUAL(entry.flags & ~FI_REMOTE_CQ_DATA, FI_MSG | FI_RECV);
	CHECK_FILLED(end->buf + part->off, part->len, part->seed);
}

void next_recv(struct end *end, void *arg)
{
	wait_comp(end->rxcq, arg);
}

void no_recv(struct end *end, void *arg)
{
	no_comp(end->rxcq, *(int *)arg);
}

void next_recv_error(struct end *end, void *arg)
{
	wait_error(end->rxcq, arg);
}

void at_part(struct end *end, step_fn *step, size_t off, size_t len, unsigned int seed)
{
	struct part part = { .off = off, .len = len, .seed = seed, .context = seed };

	at(end, step, &part, sizeof(part));
}
