/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The server prepares its answer before anything has arrived: a send that starts when a counter
 * says that three messages are here. After that it only makes progress.
 */
#include <rdma/fi_trigger.h>
#include "example.h"

enum { PARTS = 3, SIZE = 32 };

/* guide: trigger */
static void answer_after(struct node *n, struct fid_cntr *arrived, uint64_t count, char *text,
			 struct fi_triggered_context *context)
{
	struct iovec iov = { text, SIZE };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = n->peer, .context = context
	};

	context->event_type = FI_TRIGGER_THRESHOLD;
	context->trigger.threshold.cntr = arrived;
	context->trigger.threshold.threshold = count;
	must(fi_sendmsg(n->ep, &msg, FI_TRIGGER), "fi_sendmsg");
}
/* guide: end */

struct answer {
	struct fi_triggered_context context; /* used until the answer is sent */
	char text[SIZE];
};

static void serve(struct node *n, struct fid_cntr *arrived)
{
	struct answer answer = { .text = "all parts are here" };
	struct op received[PARTS] = { 0 };
	struct fi_cq_tagged_entry entry;
	char parts[PARTS][SIZE];
	ssize_t ret;

	/* The counter stands at 1: the first message was the client's address. */
	answer_after(n, arrived, 1 + PARTS, answer.text, &answer.context);
	for (int i = 0; i < PARTS; i++)
		must(fi_recv(n->ep, parts[i], SIZE, NULL, FI_ADDR_UNSPEC, &received[i]), "fi_recv");
	for (;;) {
		ret = fi_cq_read(n->cq, &entry, 1);
		if (ret == -FI_EAGAIN)
			continue;
		if (ret == -FI_EAVAIL)
			operation_failed(n);
		must(ret, "fi_cq_read");
		if (entry.op_context == &answer.context)
			break;
	}
	printf("the answer left without a call, at %llu messages\n",
	       (unsigned long long)fi_cntr_read(arrived));
}

static void ask(struct node *n)
{
	struct op sent = { 0 }, answered = { 0 };
	char part[SIZE] = "a part", answer[SIZE];

	must(fi_recv(n->ep, answer, SIZE, NULL, FI_ADDR_UNSPEC, &answered), "fi_recv");
	for (int i = 0; i < PARTS; i++) {
		while (full(n, fi_send(n->ep, part, SIZE, NULL, n->peer, &sent), "fi_send"))
			;
		wait_for(n, &sent);
	}
	wait_for(n, &answered);
	printf("the answer: %s\n", answer);
}

int main(int argc, char **argv)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *arrived;
	struct node n;

	node_open(&n, new_hints(FI_MSG | FI_TRIGGER, 0), argc, argv,
		  "An answer that is prepared before the question arrives.");
	/* guide: counter */
	must(fi_cntr_open(n.domain, &attr, &arrived, NULL), "fi_cntr_open");
	must(fi_ep_bind(n.ep, &arrived->fid, FI_RECV), "fi_ep_bind");
	/* guide: end */
	node_meet(&n);
	if (n.client)
		ask(&n);
	else
		serve(&n, arrived);
	close_endpoint(&n);
	must(fi_close(&arrived->fid), "fi_close");
	node_close(&n);
	return 0;
}
