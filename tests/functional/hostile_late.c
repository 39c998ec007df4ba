/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer accepts, and rejects when the connection is already established. This ends the connection,
 * and the next message makes another one. The kernel passes on such a rejection only within a
 * moment that a test cannot hit, so the test passes the end of the connection to the endpoint as a
 * rejection.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
#include "hostile.h"

enum { TAG = 1, ATTEMPT_MS = 3000 };

static struct rdma_event_channel *foes;
static uint8_t refusal[256];
static size_t refusal_len;
static int changed;

__attribute__((visibility("default"))) int rdma_get_cm_event(struct rdma_event_channel *channel,
							     struct rdma_cm_event **event)
{
	int (*real)(struct rdma_event_channel *, struct rdma_cm_event **) =
		(int (*)(struct rdma_event_channel *, struct rdma_cm_event **))(uintptr_t)dlsym(
			RTLD_NEXT, "rdma_get_cm_event");
	int ret = real(channel, event);

	if (ret || channel == foes || (*event)->event != RDMA_CM_EVENT_DISCONNECTED)
		return ret;
	(*event)->event = RDMA_CM_EVENT_REJECTED;
	(*event)->param.conn.private_data = refusal;
	(*event)->param.conn.private_data_len = (uint8_t)refusal_len;
	__atomic_store_n(&changed, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Sends a message of the node on a connection that is made for it. */
static void send_to(struct node *node, struct foe *lurker, const struct sockaddr_in *name,
		    fi_addr_t to, struct foe *foe)
{
	static uint32_t serial, word = 1;
	struct ofi_rdm_cmwire cm = foe_claim(name, 5, ++serial);
	struct rdma_cm_id *id;
	uint8_t data[256];

	cm.kind = OFI_RDM_CMWIRE_REPLY;
	node_tsend(node, &word, sizeof(word), to, TAG);
	CHECK(id = foe_request(lurker, ATTEMPT_MS));
	foe_accept(foe, lurker, id, data, foe_pack(data, &cm));
	foes = foe->channel;
	node_wait(node);
}

static void test(void)
{
	struct foe lurker, first = { 0 }, second = { 0 };
	uint64_t end = deadline();
	struct sockaddr_in name;
	struct ofi_rdm_cmwire cm;
	struct node node;
	fi_addr_t to;

	node_open(&node, NULL);
	foe_lurk(&lurker, &name);
	to = node_know(&node, &name);
	cm = foe_claim(&name, 5, 1);
	cm.kind = OFI_RDM_CMWIRE_REJECT;
	cm.reason = OFI_RDM_CMWIRE_BUSY;
	refusal_len = foe_pack(refusal, &cm);
	send_to(&node, &lurker, &name, to, &first);
	EQUAL(rdma_disconnect(first.id), 0);
	while (!__atomic_load_n(&changed, __ATOMIC_ACQUIRE))
		pause_until(end, "the refusal");
	usleep(500000);
	send_to(&node, &lurker, &name, to, &second);
	node_close(&node);
	foe_close(&first);
	foe_close(&second);
	foe_close(&lurker);
}

int main(void)
{
	return run_test(test);
}
