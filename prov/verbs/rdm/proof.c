/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How the two ends of a connection prove that they know the job secret. */
#include "proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_data.h"
#include "conn_int.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/provider/prov.h"

/* The packets of the handshake; all other packets begin differently. */
struct first_packet {
	char what[8];
	uint8_t mac[VRB_RDM_MAC_LEN]; /* not in the answer */
};

static const char prove[8] = "weftPROV", proven[8] = "weftGOOD";

int vrb_rdm_proof_new(struct vrb_rdm_link *link, bool active)
{
	link->proof = calloc(1, sizeof(*link->proof));
	if (!link->proof)
		return -FI_ENOMEM;
	link->proof->active = active;
	link->proof->waits = link->proof->shut = true;
	return 0;
}

static void put_addr(uint8_t *to, const struct ofi_rdm_addr *addr)
{
	uint16_t port = addr->sa.sa_family == AF_INET ? addr->in.sin_port : addr->in6.sin6_port;

	vrb_rdm_conn_ip(to, &addr->sa);
	memcpy(to + 16, &port, sizeof(port));
}

static void put_qp(uint8_t *to, uint32_t number)
{
	number = htole32(number);
	memcpy(to, &number, sizeof(number));
}

/* The rest of the state is known once the peer's queue pair number is. */
static void complete(struct vrb_rdm_link *link, uint32_t qp_num)
{
	struct vrb_rdm_proof *proof = link->proof;
	struct vrb_rdm_hello *hello = &proof->hello;

	put_addr(proof->active ? hello->from : hello->to, &link->ep->self);
	put_addr(proof->active ? hello->to : hello->from, &link->peer->addr);
	put_qp(proof->active ? hello->from_qp : hello->to_qp, link->qp_num);
	put_qp(proof->active ? hello->to_qp : hello->from_qp, qp_num);
}

/* With a secret, random bytes replace the address. */
static int say(struct vrb_rdm_link *link, enum ofi_rdm_cmwire_kind kind, uint8_t *bytes)
{
	struct ofi_rdm_cmwire cm =
		vrb_rdm_conn_words(link->ep, kind, vrb_rc_peer(link->peer)->conn.known);

	cm.flags |= OFI_RDM_CMWIRE_SECRET;
	if (getrandom(cm.addr, sizeof(cm.addr), 0) != sizeof(cm.addr))
		return -FI_EIO;
	ofi_rdm_cmwire_build(bytes, &cm);
	return 0;
}

uint8_t vrb_rdm_proof_request(struct vrb_rdm_link *link, uint8_t *wire)
{
	uint8_t *bytes = link->proof->hello.request;

	return say(link, OFI_RDM_CMWIRE_REQUEST, bytes)
		       ? 0
		       : vrb_cm_pack(wire, bytes, OFI_RDM_CMWIRE_LEN);
}

uint8_t vrb_rdm_proof_reply(struct vrb_rdm_link *link, const struct rdma_cm_event *event,
			    uint8_t *wire)
{
	struct vrb_rdm_hello *hello = &link->proof->hello;
	uint8_t reply[OFI_RDM_CMWIRE_LEN + VRB_RDM_MAC_LEN];
	const uint8_t *request;
	size_t len;

	request = vrb_cm_unpack(event->param.conn.private_data, event->param.conn.private_data_len,
				&len);
	if (len < sizeof(hello->request) || say(link, OFI_RDM_CMWIRE_REPLY, hello->reply))
		return 0;
	memcpy(hello->request, request, sizeof(hello->request));
	complete(link, event->param.conn.qp_num);
	memcpy(reply, hello->reply, sizeof(hello->reply));
	vrb_rdm_secret_sign(vrb_rc(link->ep)->conn.secret, VRB_RDM_RESPONDER, hello,
			    reply + OFI_RDM_CMWIRE_LEN);
	return vrb_cm_pack(wire, reply, sizeof(reply));
}

bool vrb_rdm_proof_is_right(struct vrb_rdm_link *link, const struct rdma_cm_event *event)
{
	struct vrb_rdm_hello *hello = &link->proof->hello;
	const uint8_t *reply;
	size_t len;

	reply = vrb_cm_unpack(event->param.conn.private_data, event->param.conn.private_data_len,
			      &len);
	if (len < OFI_RDM_CMWIRE_LEN + VRB_RDM_MAC_LEN)
		return false;
	memcpy(hello->reply, reply, sizeof(hello->reply));
	complete(link, event->param.conn.qp_num);
	link->proof->shut = !vrb_rdm_secret_check(vrb_rc(link->ep)->conn.secret, VRB_RDM_RESPONDER,
						  hello, reply + OFI_RDM_CMWIRE_LEN);
	return !link->proof->shut;
}

/* Sends one packet on a connection that carries nothing else yet. Returns 0 or FI_E*. */
static int send_first(struct vrb_rdm_link *link, const struct first_packet *packet, size_t len)
{
	struct vrb_rdm_buf *buf = vrb_rdm_pool_get(&vrb_rc(link->ep)->tx_bufs);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct ibv_sge sge;
	int err;

	if (!buf)
		return FI_ENOMEM;
	memcpy(buf->out.data, packet, len);
	sge = (struct ibv_sge){ (uintptr_t)buf->out.data, (uint32_t)len, buf->out.lkey };
	wr.sg_list = &sge;
	err = vrb_rdm_link_post(link, &wr, (uint64_t)VRB_RDM_PROBE << OFI_RDM_KIND_SHIFT, NULL,
				buf);
	if (err)
		vrb_rdm_pool_put(&vrb_rc(link->ep)->tx_bufs, buf);
	return err;
}

int vrb_rdm_proof_begin(struct vrb_rdm_link *link)
{
	struct first_packet packet;

	memcpy(packet.what, prove, sizeof(packet.what));
	vrb_rdm_secret_sign(vrb_rc(link->ep)->conn.secret, VRB_RDM_INITIATOR, &link->proof->hello,
			    packet.mac);
	return send_first(link, &packet, sizeof(packet));
}

/* The answer is sent before anything else. */
static int let_in(struct vrb_rdm_link *link)
{
	struct first_packet answer = { { 0 }, { 0 } };
	int err;

	link->proof->shut = false;
	err = vrb_rdm_link_open(link);
	memcpy(answer.what, proven, sizeof(answer.what));
	return err ? err : send_first(link, &answer, sizeof(answer.what));
}

static bool is_proof(const struct vrb_rdm_link *link, const struct first_packet *packet, size_t len)
{
	if (link->proof->active)
		return len == sizeof(packet->what) && !memcmp(packet->what, proven, sizeof(proven));
	return len == sizeof(*packet) && !memcmp(packet->what, prove, sizeof(prove)) &&
	       vrb_rdm_secret_check(vrb_rc(link->ep)->conn.secret, VRB_RDM_INITIATOR,
				    &link->proof->hello, packet->mac);
}

void vrb_rdm_proof_take(struct vrb_rdm_link *link, const void *bytes, size_t len)
{
	struct ofi_rdm_conn_input up = { .event = OFI_RDM_CONN_ESTABLISHED,
					 .incarnation = link->proof->known,
					 .serial = link->proof->serial };
	struct first_packet packet = { { 0 }, { 0 } };
	char text[OFI_ADDR_STRLEN];
	int err;

	memcpy(&packet, bytes, len < sizeof(packet) ? len : sizeof(packet));
	if (!is_proof(link, &packet, len)) {
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s has not proved that it knows the job secret: connection ended\n",
			vrb_rdm_conn_name(link->peer, text));
		vrb_rdm_conn_step_failed(link->peer, FI_EKEYREJECTED);
		return;
	}
	link->proof->waits = false;
	err = link->proof->active ? 0 : let_in(link);
	if (err)
		vrb_rdm_conn_step_failed(link->peer, err);
	else
		vrb_rdm_conn_step(link->peer, up);
}
