/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The client sends orders, parts and a note in one sequence. The server receives them in the
 * order in which it wants them, by their tags: the kind is in the upper half of a tag, a number
 * in the lower.
 */
#include <inttypes.h>
#include <rdma/fi_tagged.h>
#include "example.h"

#define TAG(kind, number) ((uint64_t)(kind) << 32 | (number))
#define ANY_NUMBER	  UINT64_C(0xffffffff)

enum { ORDER = 1, PART, NOTE };

/* guide: tagged-send */
static void send_text(struct node *n, uint64_t tag, const char *text)
{
	struct op sent = { 0 };

	while (full(n, fi_tsend(n->ep, text, strlen(text) + 1, NULL, n->peer, tag, &sent),
		    "fi_tsend"))
		;
	wait_for(n, &sent);
}
/* guide: end */

/* guide: tagged-receive */
/* Bits that are set in IGNORE may differ between the tag of the receive and that of the message. */
static void receive_text(struct node *n, uint64_t tag, uint64_t ignore)
{
	char text[64] = { 0 };
	struct op received = { 0 };

	while (full(n, fi_trecv(n->ep, text, sizeof(text), NULL, n->peer, tag, ignore, &received),
		    "fi_trecv"))
		;
	wait_for(n, &received);
	printf("kind %" PRIu64 ", number %" PRIu64 ": %s\n", received.entry.tag >> 32,
	       received.entry.tag & ANY_NUMBER, text);
}
/* guide: end */

/* guide: peek */
/* Asks whether a message with this tag is here, without receiving it. */
static bool is_here(struct node *n, uint64_t tag)
{
	struct op found = { 0 };
	struct fi_msg_tagged msg = { .addr = n->peer, .tag = tag, .context = &found };
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret;

	while (full(n, fi_trecvmsg(n->ep, &msg, FI_PEEK), "fi_trecvmsg"))
		;
	while ((ret = fi_cq_read(n->cq, &found.entry, 1)) == -FI_EAGAIN)
		;
	if (ret != -FI_EAVAIL)
		return must(ret, "fi_cq_read") == 1;
	must(fi_cq_readerr(n->cq, &err, 0), "fi_cq_readerr");
	must(err.err == FI_ENOMSG ? 0 : -err.err, "FI_PEEK");
	return false;
}
/* guide: end */

int main(int argc, char **argv)
{
	struct node n;

	node_open(&n, new_hints(FI_TAGGED | FI_MSG | FI_DIRECTED_RECV, 0), argc, argv,
		  "Messages are matched with receives by their tags.");
	node_meet(&n);
	if (n.client) {
		send_text(&n, TAG(ORDER, 7), "three wheels");
		send_text(&n, TAG(PART, 1), "a wheel");
		send_text(&n, TAG(PART, 2), "another wheel");
		send_text(&n, TAG(NOTE, 0), "that was all we had");
		printf("sent four messages, the note last\n");
	} else {
		receive_text(&n, TAG(NOTE, 0), 0);
		printf("an order number 8: %s\n", is_here(&n, TAG(ORDER, 8)) ? "yes" : "no");
		printf("an order number 7: %s\n", is_here(&n, TAG(ORDER, 7)) ? "yes" : "no");
		receive_text(&n, TAG(PART, 0), ANY_NUMBER);
		receive_text(&n, TAG(PART, 0), ANY_NUMBER);
		receive_text(&n, TAG(ORDER, 7), 0);
	}
	node_close(&n);
	return 0;
}
