/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thread sleeps in fi_cq_sread while deferred work waits for the connection: the connection wakes
 * it, it runs the work, and returns its completion.
 */
#include <pthread.h>
#include <rdma/fi_trigger.h>
#include "steps.h"

enum { LEN = 8, PAUSE_MS = 200 };

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_serve(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);
	struct fi_cq_tagged_entry entry;

	(void)arg;
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	OK(fi_recv(end->ep, end->buf, LEN, end->desc, 0, NULL));
	sleep_ms(PAUSE_MS);
	OK(fi_accept(end->ep, NULL, 0));
	wait_comp(end->rxcq, &entry);
}

static void *sleeper(void *arg)
{
	struct end *end = arg;
	struct fi_cq_tagged_entry entry;

	RETURNS(fi_cq_sread(end->cq, &entry, 1, NULL, WAIT_MS), 1);
	EQUAL(entry.op_context, end);
	return NULL;
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct iovec iov;
	struct fi_op_msg op = {
		.flags = FI_COMPLETION,
		.msg = { .msg_iov = &iov, .desc = &client->desc, .iov_count = 1, .context = client }
	};
	struct fi_deferred_work work = { .threshold = 1, .op_type = FI_OP_SEND, .op.msg = &op };
	struct place place;
	pthread_t thread;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	OK(fi_cntr_open(client->domain, NULL, &work.triggering_cntr, NULL));
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	op.ep = client->ep;
	iov = (struct iovec){ client->buf, LEN };
	OK(fi_control(&client->domain->fid, FI_QUEUE_WORK, &work));
	OK(fi_cntr_add(work.triggering_cntr, 1));
	OK(pthread_create(&thread, NULL, sleeper, client));
	at(&pair->server, step_serve, NULL, 0);
	OK(pthread_join(thread, NULL));
	OK(fi_close(&work.triggering_cntr->fid));
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.caps = FI_MSG | FI_RMA | FI_TRIGGER,
		.wait_obj = FI_WAIT_FD,
	};

	return run_unconnected(argc, argv, &setup, test);
}
