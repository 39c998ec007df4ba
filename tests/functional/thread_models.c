/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each offered threading model works, also with several threads that follow its rules. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include "gpu.h"
#include "steps.h"

#define ROUNDS 50

static void step_recvs(struct end *end, void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 3 * ROUNDS; i++)
		OK(fi_recv(end->ep, end->buf + 8192 + i * 16, 16, end->desc, 0, end));
}

static void step_check(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	uint64_t sum;
	int i;

	(void)arg;
	for (i = 0; i < 3 * ROUNDS; i++) {
		wait_comp(end->rxcq, &entry);
		EQUAL(entry.data, entry.flags & FI_REMOTE_CQ_DATA ? 77 : 0);
		CHECK_FILLED(end->buf + 8192 + i * 16, 16, (unsigned int)i);
	}
	mem_get(&sum, end->buf, sizeof(sum));
	EQUAL(sum, ROUNDS);
}

/* All kinds of operations, by one thread at a time. */
static void *use(void *arg)
{
	const uint64_t one = 1;
	struct end *end = arg;
	unsigned int i;
	uint8_t data[16];

	for (i = 0; i < 3 * ROUNDS; i += 3) {
		fill(end->buf, 16, i);
		OK(fi_send(end->ep, end->buf, 16, end->desc, 0, end));
		wait_context(end->cq, end);
		fill(data, 16, i + 1);
		OK(fi_injectdata(end->ep, data, 16, 77, 0));
		fill(data, 16, i + 2);
		OK(fi_inject(end->ep, data, 16, 0));
		mem_put(end->buf + 64, &one, sizeof(one));
		OK(fi_atomic(end->ep, end->buf + 64, 1, end->desc, 0, end->peer.addr, end->peer.key,
			     FI_UINT64, FI_SUM, end));
		wait_context(end->cq, end);
	}
	return NULL;
}

static void test(struct pair *pair)
{
	enum fi_threading asked = pair->client.setup->threading;
	pthread_t thread;

	EQUAL(pair->client.info->domain_attr->threading, asked);
	at_part(&pair->server, clear_part, 0, 8, 0);
	at(&pair->server, step_recvs, NULL, 0);
	CHECK(!pthread_create(&thread, NULL, use, &pair->client));
	pthread_join(thread, NULL);
	at(&pair->server, step_check, NULL, 0);
}

int main(int argc, char **argv)
{
	static const enum fi_threading models[] = { FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN,
						    FI_THREAD_COMPLETION };
	struct setup setup = { 0 };
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(models); i++) {
		printf("threading %s\n", fi_tostr(&models[i], FI_TYPE_THREADING));
		setup.threading = models[i];
		ret = run_pair(argc, argv, &setup, test);
	}
	return ret;
}
