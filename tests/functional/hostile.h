/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker that uses plain librdmacm and libibverbs, and its victims: two reliable-datagram
 * endpoints in a separate process that exchange messages, RMA and atomics in rounds and check every
 * byte. The attacker uses the library's wire format code to build packets, which it then corrupts,
 * and nothing else of the library.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include "check.h"
#include "prov/rdm/cmwire.h"
#include "rdm_node.h"

/* The victims. */

enum {
	PAIR_WINDOW = 16384,   /* bytes that the victims expose to each other for RMA */
	PAIR_GIFT = 70000,     /* maximum of bytes sent to an attacker */
	PAIR_ROUND_MS = 12000, /* maximum duration of a round, whatever the attacker does */
	PAIR_TAG = 0x5000,     /* tag of messages between the victims */
	PAIR_NEW_TAG = 0x6000, /* tag of a newcomer's messages */
};

/* Facts that the victims tell the attacker, as an insider would. */
struct pair_facts {
	struct sockaddr_in name[2];
	uint64_t addr[2], key[2]; /* of the RMA windows */
	uint64_t gift;		  /* address of the data of ORDER_SEND */
};

struct pair_report {
	uint32_t rounds, slowest_ms;
	uint32_t gifts_done, gifts_failed, gifts_open;
	uint32_t strange; /* number of messages from newcomers */
};

struct victims {
	struct child child;
	struct pair_facts facts;
	size_t rss; /* of the process at the start, in KiB */
	unsigned int qps;
};

/* Call it before anything is opened. Keys are the application's or the device's. */
void pair_start(struct victims *victims, bool app_keys);
/* Waits for some more rounds. Fails if a round was too slow. */
struct pair_report pair_check(struct victims *victims, unsigned int rounds);
/* Makes the first victim send count messages of len bytes to the given listener. */
void pair_send(struct victims *victims, const struct sockaddr_in *to, uint32_t len, uint32_t count);
/*
 * Ends the victims after they have checked their memory; they must have grown by less than kib, and
 * so must the device.
 */
void pair_end(struct victims *victims, size_t kib);
/* Returns the KiB in a line of /proc/PID/status. */
size_t pair_status(const struct victims *victims, const char *name);
/* Starts a genuine peer, which must exchange a message with each victim in time. */
struct child newcomer_start(void);
void newcomer_check(struct child *newcomer, const struct victims *victims, int ms);

/* The attacker. */

enum {
	FOE_SLOTS = 32,
	FOE_SLOT = 1024,
	FOE_SPARE = 81920, /* size of the memory for RDMA */
	FOE_MS = 3000,	   /* time to wait for an optional answer */
};

enum foe_answer { FOE_UP, FOE_REJECTED, FOE_FAILED, FOE_NOTHING };

struct foe {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory; /* FOE_SLOTS receives, as many sends, and the spare bytes */
	/* Numbers of posted and of incomplete sends and RDMA operations. */
	unsigned int posted, out;
	int status;		   /* status of the first failed one */
	unsigned int first, count; /* packets that arrived and have not been taken */
	struct {
		unsigned int slot, len;
	} heard[FOE_SLOTS];
	uint8_t data[256]; /* private data of the reply, or of a received request */
	size_t len;
	struct ofi_rdm_cmwire cm; /* the same, decoded if valid */
	bool sane;
};

/* Binds to an address; NULL for any. */
void foe_open(struct foe *foe, const char *from);
void foe_close(struct foe *foe);
/* Returns what an honest endpoint at this port would send. */
struct ofi_rdm_cmwire foe_claim(const struct sockaddr_in *name, uint64_t incarnation,
				uint32_t serial);
/* Encodes private data. Returns its length. */
size_t foe_pack(uint8_t *bytes, const struct ofi_rdm_cmwire *cm);
/*
 * Sends a request; without a queue pair it never answers a reply. Returns false if the address
 * cannot be resolved.
 */
bool foe_ask(struct foe *foe, const struct sockaddr_in *to, const void *data, size_t len,
	     bool with_qp);
enum foe_answer foe_await(struct foe *foe, int ms);
/* Does all of this, as a stranger with an invented name. */
enum foe_answer foe_join(struct foe *foe, const struct sockaddr_in *to);
/* Posts receives for what the victim sends. */
void foe_listen_to(struct foe *foe);
/* Posts a packet and waits for its status; returns -1 if there is none in time. */
int foe_say(struct foe *foe, const void *bytes, size_t len);
/* Posts a packet and waits only for room. */
bool foe_throw(struct foe *foe, const void *bytes, size_t len);
/* Returns a packet from the victim, NULL if none arrives in time. */
const uint8_t *foe_hear(struct foe *foe, size_t *len, int ms);
/* Waits for a packet of a given type. */
bool foe_hear_type(struct foe *foe, enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *packet,
		   int ms);
/* Performs RDMA from or to the spare bytes. Returns what foe_say() does. */
int foe_rdma(struct foe *foe, enum ibv_wr_opcode opcode, uint64_t addr, uint32_t rkey,
	     uint32_t len);
uint8_t *foe_spare(struct foe *foe);

/* Makes the attacker listen; returns its name. */
void foe_lurk(struct foe *foe, struct sockaddr_in *name);
/*
 * Returns a request sent to the attacker, whose id the caller accepts or destroys; NULL if there is
 * none.
 */
struct rdma_cm_id *foe_request(struct foe *foe, int ms);
/* Accepts the request as a connection of `to`. */
void foe_accept(struct foe *to, struct foe *from, struct rdma_cm_id *id, const void *data,
		size_t len);

/* Pseudo-random numbers with a fixed seed. */
uint32_t foe_random(uint32_t below);
/* Adds an address to the device's interface, which looks like another host to everybody. */
const char *foe_other_host(void);

#endif
