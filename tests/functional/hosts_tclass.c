/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Between two hosts: packets, including those of the connection manager, carry the code point of
 * the endpoint's traffic class in both directions, for each type of endpoint and over IPv6. The
 * client captures them on the wire.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "hosts.h"
#include "rdm_node.h"
#include "steps.h"

enum { ROCE_PORT = 4791, QP_CM = 1, LEN = 1000, MORE_LEN = 100 };

/* The defaults of FI_VERBS_TCLASS_*. */
enum { LOW_LATENCY = 18, BULK_DATA = 10, SCAVENGER = 1, OWN = 33 };

/* Code points of captured packets, one bit each, that this host sent or received. */
struct seen {
	uint64_t sent, received, asked; /* asked: what was sent to the peer's connection manager */
};

static int wire = -1;

static void watch(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int size = 8 << 20;

	at.sll_ifindex = (int)if_nametoindex(local_interface());
	wire = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL));
	CHECK(wire >= 0 && at.sll_ifindex);
	CHECK(!setsockopt(wire, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)));
	CHECK(!bind(wire, (struct sockaddr *)&at, sizeof(at)));
}

/* Returns the UDP header, and the traffic class before it. Returns NULL for another protocol. */
static const uint8_t *udp_of(const uint8_t *packet, uint8_t *tclass)
{
	if (packet[0] >> 4 == 4) {
		*tclass = packet[1];
		return packet[9] == IPPROTO_UDP ? packet + 4 * (packet[0] & 15) : NULL;
	}
	*tclass = (uint8_t)(packet[0] << 4 | packet[1] >> 4);
	return packet[6] == IPPROTO_UDP ? packet + 40 : NULL;
}

static void look(const uint8_t *packet, bool ours, struct seen *seen)
{
	uint8_t tclass;
	const uint8_t *udp = udp_of(packet, &tclass);
	uint64_t bit = 1ULL << (tclass >> 2);
	uint32_t qp;

	if (!udp || (udp[2] << 8 | udp[3]) != ROCE_PORT)
		return;
	qp = (uint32_t)(udp[13] << 16 | udp[14] << 8 | udp[15]);
	if (qp != QP_CM)
		*(ours ? &seen->sent : &seen->received) |= bit;
	else if (ours)
		seen->asked |= bit;
}

/* Returns what has passed since the last call. */
static struct seen read_wire(void)
{
	struct sockaddr_ll from;
	struct seen seen = { 0 };
	uint8_t packet[65536];
	socklen_t len;
	ssize_t got;

	for (;;) {
		len = sizeof(from);
		got = recvfrom(wire, packet, sizeof(packet), 0, (struct sockaddr *)&from, &len);
		if (got < 0 && errno == EAGAIN)
			return seen;
		CHECK(got > 0);
		if (got >= 60 && (from.sll_protocol == htons(ETH_P_IP) ||
				  from.sll_protocol == htons(ETH_P_IPV6)))
			look(packet, from.sll_pkttype == PACKET_OUTGOING, &seen);
	}
}

/* Called by the client at the end. */
static void expect(const char *what, int sent, int received)
{
	struct seen seen = read_wire();

	printf("%s: sent 0x%llx, received 0x%llx, asked 0x%llx\n", what,
	       (unsigned long long)seen.sent, (unsigned long long)seen.received,
	       (unsigned long long)seen.asked);
	EQUAL(seen.sent, 1ULL << sent);
	EQUAL(seen.received, 1ULL << received);
	EQUAL(seen.asked & (1ULL << sent), 1ULL << sent);
}

static void receive(struct end *end)
{
	struct fi_cq_tagged_entry entry;

	wait_comp(end->rxcq, &entry);
	EQUAL(entry.len, LEN);
}

static void post(struct end *end)
{
	OK(fi_recv(end->ep, end->buf, LEN + MORE_LEN, end->desc, FI_ADDR_UNSPEC, NULL));
}

#define MSG_SETUP .buf_size = 2 * 4096, .format = FI_CQ_FORMAT_TAGGED

static void answer_msg(const char *service)
{
	struct setup setup = { MSG_SETUP, .tclass = FI_TC_BULK_DATA };
	struct end end = { .name = "server", .setup = &setup, .sock = -1 };

	hosts_accept(&end, service);
	post(&end);
	receive(&end);
	OK(fi_send(end.ep, end.buf, LEN, end.desc, 0, &end));
	wait_context(end.cq, &end);
	wait_event(end.eq, FI_SHUTDOWN, &end.ep->fid, NULL, 0);
	end_close(&end);
}

static void ask_msg(const char *service)
{
	struct setup setup = { MSG_SETUP, .tclass = FI_TC_LOW_LATENCY };
	struct end end = { .name = "client", .setup = &setup, .sock = -1 };

	hosts_connect(&end, service);
	EQUAL(end.info->tx_attr->tclass, FI_TC_LOW_LATENCY);
	post(&end);
	OK(fi_send(end.ep, end.buf, LEN, end.desc, 0, &end));
	wait_context(end.cq, &end);
	receive(&end);
	expect("FI_EP_MSG", LOW_LATENCY, BULK_DATA);
	OK(fi_shutdown(end.ep, 0));
	end_close(&end);
}

static struct setup dgram = {
	.type = FI_EP_DGRAM,
	.addr_format = FI_SOCKADDR_IN,
	.buf_size = 2 * 4096,
	.format = FI_CQ_FORMAT_TAGGED,
};

static void send_dgram(struct end *end, struct fid_ep *ep)
{
	uint64_t limit = now_ms() + 10000;

	/* An address may be resolved only after it was inserted. */
	while (AGAIN(limit, fi_send(ep, end->buf + 4096, LEN, end->desc, end->to, end)))
		;
	wait_context(end->cq, end);
}

/* The client's name is in its datagram. */
static void answer_dgram(const char *service)
{
	struct end end = { .name = "server", .setup = &dgram, .sock = -1 };
	struct name name;

	dgram.tclass = FI_TC_SCAVENGER;
	end_open(&end, info_for(&dgram, local_addr(), service, FI_SOURCE));
	end.ep = end_ep(&end, end.info);
	post(&end);
	receive(&end);
	memcpy(&name, end.buf, sizeof(name));
	step_insert(&end, &name);
	send_dgram(&end, end.ep);
	sleep_ms(300); /* it is in flight */
	end_close(&end);
}

/* A second endpoint of another class, on the same address vector. */
static void send_other(struct end *end)
{
	struct fid_ep *ep = end->ep;

	read_wire();
	end->info->tx_attr->tclass = fi_tc_dscp_set(OWN);
	end->ep = end_ep(end, end->info);
	send_dgram(end, end->ep);
	sleep_ms(100);
	EQUAL(read_wire().sent, 1ULL << OWN);
	send_dgram(end, ep);
	sleep_ms(100);
	EQUAL(read_wire().sent, 1ULL << BULK_DATA);
	OK(fi_close(&ep->fid));
}

static void ask_dgram(const char *service)
{
	struct end end = { .name = "client", .setup = &dgram, .sock = -1 };
	uint64_t limit = deadline();
	struct seen seen;
	struct name name;

	dgram.tclass = FI_TC_BULK_DATA;
	end_open(&end, info_for(&dgram, need_env("WEFT_PEER_ADDRS"), service, 0));
	end.ep = end_ep(&end, end.info);
	post(&end);
	while (fi_av_insert(end.av, end.info->dest_addr, 1, &end.to, 0, NULL) != 1)
		pause_until(limit, "the server's address");
	end_name(&end, &name);
	memcpy(end.buf + 4096, &name, sizeof(name));
	send_dgram(&end, end.ep);
	receive(&end);
	seen = read_wire();
	EQUAL(seen.sent, 1ULL << BULK_DATA);
	EQUAL(seen.received, 1ULL << SCAVENGER);
	send_other(&end);
	end_close(&end);
}

static fi_addr_t begin_rdm(struct node *node, const char *service)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };

	node_open(node, service);
	peer.sin_port = node->name.in.sin_port;
	EQUAL(inet_pton(AF_INET, need_env("WEFT_PEER_ADDRS"), &peer.sin_addr), 1);
	return node_know(node, &peer);
}

/* It has no class of its own, so it takes over that of its peer. */
static void answer_rdm(const char *service)
{
	static uint8_t word[LEN];
	struct node node;
	fi_addr_t to = begin_rdm(&node, service);

	node_trecv(&node, word, LEN, 1, NULL);
	node_wait(&node);
	node_tsend(&node, word, LEN, to, 2);
	node_wait(&node);
	node_close(&node);
}

static void ask_rdm(const char *service)
{
	static uint8_t word[LEN];
	struct node node;
	fi_addr_t to;

	node_tclass = fi_tc_dscp_set(OWN);
	to = begin_rdm(&node, service);
	node_trecv(&node, word, LEN, 2, NULL);
	node_tsend(&node, word, LEN, to, 1);
	node_wait(&node);
	node_wait(&node);
	expect("FI_EP_RDM", OWN, OWN);
	node_close(&node);
}

static void use_ipv6(void)
{
	char addr[INET6_ADDRSTRLEN];
	int guest = atoi(need_env("WEFT_GUEST"));

	snprintf(addr, sizeof(addr), "fd77:0::%d", guest + 1);
	setenv("WEFT_ADDR", addr, 1);
	snprintf(addr, sizeof(addr), "fd77:0::%d", 2 - guest);
	setenv("WEFT_PEER_ADDRS", addr, 1);
}

static void answer(void)
{
	answer_msg("7495");
	answer_dgram("7496");
	answer_rdm("7497");
	use_ipv6();
	answer_msg("7498");
}

static void ask(void)
{
	watch();
	ask_msg("7495");
	ask_dgram("7496");
	read_wire();
	ask_rdm("7497");
	use_ipv6();
	read_wire();
	ask_msg("7498");
	close(wire);
}

int main(void)
{
	need_vm();
	return run_hosts(answer, ask);
}
