/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Proves to the peer of a connection that this end knows the job secret, and checks its proof. */
#include "proof.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/rdm/av_key.h"
#include "prov/verbs/cm/cm_wire.h"
#include "ud.h"
#include "prov/verbs/provider/prov.h"

/* The packets of the handshake; all other packets begin differently. */
struct first_packet {
	char what[8];
	uint8_t mac[VRB_RDM_MAC_LEN]; /* not in the answer */
};

static const char prove[8] = "weftPROV", proven[8] = "weftGOOD";

/* Returns the secret made from the peer's key, or that of the endpoint. */
static const struct vrb_rdm_secret *secret_of(const struct vrb_rc_conn *conn)
{
	return conn->proof->secret ? conn->proof->secret : vrb_rc(conn->ep)->conns.secret;
}

/* Takes the peer's key from the address vector; without one, the peer cannot prove anything. */
static int take_av_key(struct vrb_rc_conn *conn)
{
	const struct ofi_rdm_ep *ep = conn->ep;
	struct ofi_rdm_addr base = conn->peer->addr;
	const struct ofi_rdm_av_key *key;

	if (!vrb_rdm_secret_is_av(ep->info, ep->domain->info))
		return 0;
	/* The contexts of a scalable endpoint have its key. */
	ofi_rdm_addr_shift(&base, -conn->peer->context);
	key = ofi_rdm_av_key_of(ep->av, &base);
	return key ? vrb_rdm_secret_make(key->bytes, key->len, &conn->proof->secret) : 0;
}

int vrb_rdm_proof_new(struct vrb_rc_conn *conn, bool active)
{
	conn->proof = calloc(1, sizeof(*conn->proof));
	if (!conn->proof)
		return -FI_ENOMEM;
	conn->proof->active = active;
	conn->proof->waits = conn->proof->shut = true;
	return take_av_key(conn);
}

static void put_addr(uint8_t *to, const struct ofi_rdm_addr *addr)
{
	uint16_t port = addr->sa.sa_family == AF_INET ? addr->in.sin_port : addr->in6.sin6_port;

	if (ofi_rdm_addr_is_qp(addr))
		port = htole16((uint16_t)addr->qp.qpn);
	ofi_rdm_addr_gid(addr, to);
	memcpy(to + 16, &port, sizeof(port));
}

static void put_qp(uint8_t *to, uint32_t number)
{
	number = htole32(number);
	memcpy(to, &number, sizeof(number));
}

/*
 * Fills in the rest of the handshake once the number of the peer's queue pair, or of its stand-in,
 * is known.
 */
static void proof_complete(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	uint32_t qp_num = conn->ud ? vrb_ud_peer_number(conn) : event->param.conn.qp_num;
	struct vrb_rdm_proof *proof = conn->proof;
	struct vrb_rdm_hello *hello = &proof->hello;

	put_addr(proof->active ? hello->from : hello->to, &conn->ep->self);
	put_addr(proof->active ? hello->to : hello->from, &conn->peer->addr);
	put_qp(proof->active ? hello->from_qp : hello->to_qp, conn->qp_num);
	put_qp(proof->active ? hello->to_qp : hello->from_qp, qp_num);
}

/* Builds a message with random bytes in place of the address. */
static int proof_message(struct vrb_rc_conn *conn, enum ofi_rdm_cmwire_kind kind, uint8_t *bytes)
{
	struct ofi_rdm_cmwire cm = vrb_rdm_conn_words(conn->peer, kind);

	cm.flags |= OFI_RDM_CMWIRE_SECRET;
	if (getrandom(cm.addr, sizeof(cm.addr), 0) != sizeof(cm.addr))
		return -FI_EIO;
	ofi_rdm_cmwire_build(bytes, &cm);
	return 0;
}

uint8_t vrb_rdm_proof_request(struct vrb_rc_conn *conn, uint8_t *wire)
{
	uint8_t *bytes = conn->proof->hello.request;

	return proof_message(conn, OFI_RDM_CMWIRE_REQUEST, bytes)
		       ? 0
		       : vrb_cm_pack(wire, bytes, OFI_RDM_CMWIRE_LEN);
}

uint8_t vrb_rdm_proof_reply(struct vrb_rc_conn *conn, const struct rdma_cm_event *event,
			    uint8_t *wire)
{
	struct vrb_rdm_hello *hello = &conn->proof->hello;
	uint8_t reply[OFI_RDM_CMWIRE_LEN + VRB_RDM_MAC_LEN];
	size_t len;
	const uint8_t *request = vrb_rdm_conn_bytes(event, &len);

	if (len < sizeof(hello->request) || proof_message(conn, OFI_RDM_CMWIRE_REPLY, hello->reply))
		return 0;
	memcpy(hello->request, request, sizeof(hello->request));
	proof_complete(conn, event);
	memcpy(reply, hello->reply, sizeof(hello->reply));
	vrb_rdm_secret_sign(secret_of(conn), VRB_RDM_RESPONDER, hello, reply + OFI_RDM_CMWIRE_LEN);
	return vrb_cm_pack(wire, reply, sizeof(reply));
}

bool vrb_rdm_proof_is_right(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct vrb_rdm_hello *hello = &conn->proof->hello;
	size_t len;
	const uint8_t *reply = vrb_rdm_conn_bytes(event, &len);

	if (len < OFI_RDM_CMWIRE_LEN + VRB_RDM_MAC_LEN)
		return false;
	memcpy(hello->reply, reply, sizeof(hello->reply));
	proof_complete(conn, event);
	conn->proof->shut = !vrb_rdm_secret_check(secret_of(conn), VRB_RDM_RESPONDER, hello,
						  reply + OFI_RDM_CMWIRE_LEN);
	return !conn->proof->shut;
}

int vrb_rdm_proof_begin(struct vrb_rc_conn *conn)
{
	struct first_packet packet;

	memcpy(packet.what, prove, sizeof(packet.what));
	vrb_rdm_secret_sign(secret_of(conn), VRB_RDM_INITIATOR, &conn->proof->hello, packet.mac);
	return vrb_rc_conn_send(conn, &packet, sizeof(packet));
}

/* Grants remote access and sends the answer, before anything else is sent. */
static int let_in(struct vrb_rc_conn *conn)
{
	struct first_packet answer = { { 0 }, { 0 } };
	int err;

	conn->proof->shut = false;
	err = vrb_rc_conn_open(conn);
	memcpy(answer.what, proven, sizeof(answer.what));
	return err ? err : vrb_rc_conn_send(conn, &answer, sizeof(answer.what));
}

static bool is_proof(const struct vrb_rc_conn *conn, const struct first_packet *packet, size_t len)
{
	if (conn->proof->active)
		return len == sizeof(packet->what) && !memcmp(packet->what, proven, sizeof(proven));
	return len == sizeof(*packet) && !memcmp(packet->what, prove, sizeof(prove)) &&
	       vrb_rdm_secret_check(secret_of(conn), VRB_RDM_INITIATOR, &conn->proof->hello,
				    packet->mac);
}

void vrb_rdm_proof_take(struct vrb_rc_conn *conn, const void *bytes, size_t len)
{
	struct ofi_rdm_conn_input up = { .event = OFI_RDM_CONN_ESTABLISHED,
					 .incarnation = conn->proof->known,
					 .serial = conn->proof->serial };
	struct first_packet packet = { { 0 }, { 0 } };
	char text[OFI_ADDR_STRLEN];
	int err;

	memcpy(&packet, bytes, len < sizeof(packet) ? len : sizeof(packet));
	if (!is_proof(conn, &packet, len)) {
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s has not proved that it knows the job secret: connection ended\n",
			vrb_rdm_conn_name(conn->peer, text));
		vrb_rdm_conn_step_failed(conn->peer, FI_EKEYREJECTED);
		return;
	}
	conn->proof->waits = false;
	err = conn->proof->active ? 0 : let_in(conn);
	if (err)
		vrb_rdm_conn_step_failed(conn->peer, err);
	else
		vrb_rdm_conn_step(conn->peer, up);
}
