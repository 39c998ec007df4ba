/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_VERBS_RDM_TRANSPORT=auto: a connection that carries much goes on with a queue pair of its own,
 * and nothing is lost, overtaken or changed by that; a peer that is killed then is noticed; no more
 * connections get queue pairs than FI_VERBS_MAX_CONN; a peer with ud is reached, without one.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "rdm_node.h"

enum {
	MANY = 3000,
	LESS = 300,
	AT_ONCE = 4,
	LARGEST = 1 << 20,
	TAG = 5,
	REGION = 4096,
	RMA_EACH = 40,
	FEW = 200,
	BATCH = 20,
	PEERS = 3,
};

struct place {
	struct node_name name;
	uint64_t addr, key;
};

/* A buffer of a message. Large ones complete later than others behind them. */
struct slot {
	uint8_t *buf;
	unsigned int number; /* of its kind: untagged 0, tagged 1 */
	bool tagged, busy;
};

/* What one end has under way. */
struct end {
	struct node node;
	fi_addr_t to;
	struct place peer;
	struct fid_mr *mr;
	uint8_t *region, *rma;
	struct slot out[AT_ONCE], in[2][AT_ONCE];
	unsigned int sent, done, posted[2], arrived, rma_done;
};

/* In each direction, half of them tagged. */
static unsigned int messages = MANY;

static size_t length(unsigned int i)
{
	static const size_t lengths[] = { 8, 100, 700, 3000, 9000, 60000, 8, 200 };

	return i % 100 == 99 ? LARGEST : lengths[i % 8];
}

static uint8_t *memory(size_t len)
{
	uint8_t *bytes = calloc(1, len);

	CHECK(bytes);
	return bytes;
}

static void end_open(struct end *end)
{
	int i;

	memset(end, 0, sizeof(*end));
	node_open(&end->node, NULL);
	for (i = 0; i < AT_ONCE; i++) {
		end->out[i].buf = memory(LARGEST);
		end->in[0][i].buf = memory(LARGEST);
		end->in[1][i].buf = memory(LARGEST);
		end->in[1][i].tagged = true;
	}
	end->region = memory(REGION);
	end->rma = memory(REGION);
	OK(fi_mr_reg(end->node.domain, end->region, REGION, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		     0, &end->mr, NULL));
}

static struct place end_place(const struct end *end)
{
	return (struct place){ end->node.name, (uintptr_t)end->region, fi_mr_key(end->mr) };
}

static void end_meet(struct end *end, const struct place *peer)
{
	end->peer = *peer;
	end->to = node_know(&end->node, &peer->name);
}

static void end_close(struct end *end)
{
	int i;

	OK(fi_close(&end->mr->fid));
	node_close(&end->node);
	for (i = 0; i < AT_ONCE; i++) {
		free(end->out[i].buf);
		free(end->in[0][i].buf);
		free(end->in[1][i].buf);
	}
	free(end->region);
	free(end->rma);
}

static void post_receive(struct end *end, struct slot *slot)
{
	slot->number = end->posted[slot->tagged]++;
	if (slot->tagged)
		node_trecv(&end->node, slot->buf, LARGEST, TAG, slot);
	else
		OK(fi_recv(end->node.ep, slot->buf, LARGEST, NULL, FI_ADDR_UNSPEC, slot));
}

static void take(struct end *end, const struct fi_cq_tagged_entry *entry)
{
	struct slot *slot = entry->op_context;
	unsigned int i = 2 * slot->number + slot->tagged;

	EQUAL(entry->len, length(i));
	CHECK_FILLED(slot->buf, length(i), i);
	end->arrived++;
	if (end->posted[slot->tagged] < messages / 2)
		post_receive(end, slot);
}

static void sent(struct end *end, struct slot *slot)
{
	slot->busy = false;
	end->done++;
}

static void progress(struct end *end)
{
	struct fi_cq_tagged_entry entry;
	int err;

	while (node_poll(&end->node, &entry, &err)) {
		EQUAL(err, 0);
		if (entry.flags & FI_RECV)
			take(end, &entry);
		else if (entry.flags & FI_RMA)
			end->rma_done++;
		else
			sent(end, entry.op_context);
	}
}

static void send_next(struct end *end)
{
	struct slot *slot = end->out;
	unsigned int i = end->sent;
	ssize_t ret;

	while (slot->busy)
		slot++;
	fill(slot->buf, length(i), i);
	ret = i % 2 ? fi_tsend(end->node.ep, slot->buf, length(i), NULL, end->to, TAG, slot)
		    : fi_send(end->node.ep, slot->buf, length(i), NULL, end->to, slot);
	CHECK(!ret || ret == -FI_EAGAIN);
	slot->busy = !ret;
	end->sent += !ret;
}

static void await_rma(struct end *end, unsigned int wanted)
{
	uint64_t until = deadline();

	while (end->rma_done != wanted) {
		progress(end);
		pause_until(until, "a read or a write");
	}
}

/* Writes to the peer's region, and reads it. */
static void write_and_read(struct end *end)
{
	unsigned int seed = end->sent, before = end->rma_done;

	fill(end->rma, REGION, seed);
	OK(fi_write(end->node.ep, end->rma, REGION, NULL, end->to, end->peer.addr, end->peer.key,
		    end));
	await_rma(end, before + 1);
	memset(end->rma, 0, REGION);
	OK(fi_read(end->node.ep, end->rma, REGION, NULL, end->to, end->peer.addr, end->peer.key,
		   end));
	await_rma(end, before + 2);
	CHECK_FILLED(end->rma, REGION, seed);
}

static void exchange(struct end *end)
{
	uint64_t until = deadline();
	unsigned int n;

	for (n = 0; n < AT_ONCE; n++) {
		post_receive(end, &end->in[0][n]);
		post_receive(end, &end->in[1][n]);
	}
	while (end->done < messages || end->arrived < messages) {
		if (end->sent < messages && end->sent - end->done < AT_ONCE) {
			if (end->sent % RMA_EACH == 1)
				write_and_read(end);
			send_next(end);
		}
		progress(end);
		pause_until(until, "all messages");
	}
}

/* Waits for the parent's place, exchanges, and waits for the parent. */
static void partner(struct child *parent, void *arg)
{
	struct place place;
	struct end end;
	char word;

	if (arg)
		setenv("FI_VERBS_RDM_TRANSPORT", arg, 1);
	end_open(&end);
	place = end_place(&end);
	child_say(parent, &place, sizeof(place));
	child_hear(parent, &place, sizeof(place));
	end_meet(&end, &place);
	exchange(&end);
	child_say(parent, "d", 1);
	child_hear(parent, &word, 1);
	end_close(&end);
}

static void exchange_with(struct child *child, struct end *end)
{
	struct place place;
	char word;

	end_open(end);
	child_hear(child, &place, sizeof(place));
	end_meet(end, &place);
	place = end_place(end);
	child_say(child, &place, sizeof(place));
	exchange(end);
	child_hear(child, &word, 1);
}

static void both_grow(void)
{
	struct child child = child_start(partner, NULL);
	struct end end;

	exchange_with(&child, &end);
	EQUAL(count_qps(), 2);
	CHECK(has_peer_on("rc"));
	child_say(&child, "g", 1);
	child_end(&child);
	end_close(&end);
	EQUAL(count_qps(), 0);
}

static void one_has_ud(void)
{
	static char ud[] = "ud";
	struct child child;
	struct end end;

	messages = LESS;
	child = child_start(partner, ud);
	exchange_with(&child, &end);
	EQUAL(count_qps(), 0);
	CHECK(has_peer_on("ud"));
	child_say(&child, "g", 1);
	child_end(&child);
	end_close(&end);
}

static void one_is_killed(void)
{
	struct child child = child_start(partner, NULL);
	unsigned int failed = 0;
	struct end end;

	exchange_with(&child, &end);
	EQUAL(count_qps(), 2);
	child_kill(&child);
	node_tsend(&end.node, end.out[0].buf, 8, end.to, TAG);
	node_tsend(&end.node, end.out[0].buf, 8, end.to, TAG);
	node_reap(&end.node, 2, &failed);
	EQUAL(failed, 2);
	end_close(&end);
}

/* Receives few messages, and waits for the parent. */
static void receiver(struct child *parent, void *arg)
{
	unsigned int i, failed = 0;
	struct end end;
	char word;

	(void)arg;
	end_open(&end);
	child_say(parent, &end.node.name, sizeof(end.node.name));
	for (i = 0; i < FEW; i++)
		node_trecv(&end.node, end.in[0][0].buf, LARGEST, TAG, NULL);
	for (i = 0; i < FEW; i += BATCH)
		node_reap(&end.node, BATCH, &failed);
	EQUAL(failed, 0);
	child_say(parent, "d", 1);
	child_hear(parent, &word, 1);
	end_close(&end);
}

/*
 * Sends to all of them in turn. Returns true if one had a queue pair meanwhile. At the end there
 * may be none, because it was given back for a peer that needs it no longer.
 */
static bool send_to_all(struct end *end, const fi_addr_t *to)
{
	unsigned int i, k, failed = 0;
	bool grown = false;

	for (k = 0; k < FEW; k++) {
		for (i = 0; i < PEERS; i++)
			node_tsend(&end->node, end->out[0].buf, 5000, to[i], TAG);
		if (k % BATCH != BATCH - 1)
			continue;
		node_reap(&end->node, PEERS * BATCH, &failed);
		grown |= has_peer_on("rc");
	}
	EQUAL(failed, 0);
	return grown;
}

static void few_grow(void)
{
	struct child children[PEERS];
	struct node_name name;
	fi_addr_t to[PEERS];
	unsigned int i;
	uint64_t until;
	struct end end;
	char word;

	for (i = 0; i < PEERS; i++)
		children[i] = child_start(receiver, NULL);
	setenv("FI_VERBS_MAX_CONN", "1", 1);
	end_open(&end);
	for (i = 0; i < PEERS; i++) {
		child_hear(&children[i], &name, sizeof(name));
		to[i] = node_know(&end.node, &name);
	}
	CHECK(send_to_all(&end, to));
	for (i = 0; i < PEERS; i++)
		child_hear(&children[i], &word, 1);
	for (until = deadline(); count_qps() > 2; fi_cq_read(end.node.cq, NULL, 0))
		pause_until(until, "the end of queue pairs that are given back");
	for (i = 0; i < PEERS; i++)
		child_say(&children[i], "g", 1);
	for (i = 0; i < PEERS; i++)
		child_end(&children[i]);
	end_close(&end);
}

int main(void)
{
	setenv("FI_VERBS_RDM_TRANSPORT", "auto", 1);
	return run_test(both_grow) || run_test(one_has_ud) || run_test(one_is_killed) ||
	       run_test(few_grow);
}
