/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A foe on plain librdmacm and libibverbs, and the victims: two reliable-datagram endpoints in a
 * process of their own that exchange messages, RMA and atomics in rounds and check every byte. The
 * foe uses the code of the wire format to build packets, which it then corrupts, and nothing else
 * of the library.
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
	PAIR_WINDOW = 16384,   /* bytes that the victims give each other for RMA */
	PAIR_GIFT = 70000,     /* bytes that a foe is sent at most */
	PAIR_ROUND_MS = 12000, /* the longest that a round may take whatever the foe does */
	PAIR_TAG = 0x5000,     /* of the victims' messages to each other */
	PAIR_NEW_TAG = 0x6000, /* of a newcomer's messages */
};

/* What the victims tell the foe, as an inside man would. */
struct pair_facts {
	struct sockaddr_in name[2];
	uint64_t addr[2], key[2]; /* of the windows */
	uint64_t gift;		  /* address of what ORDER_SEND sends */
};

struct pair_report {
	uint32_t rounds, slowest_ms;
	uint32_t gifts_done, gifts_failed, gifts_open;
	uint32_t strange; /* messages that newcomers sent */
};

struct victims {
	struct child child;
	struct pair_facts facts;
	size_t rss; /* of the process at the start, in KiB */
	unsigned int qps;
};

/* Before anything is opened. With application keys, or with the device's. */
void pair_start(struct victims *victims, bool app_keys);
/* Waits until they have made some more rounds. Fails when a round was too slow. */
struct pair_report pair_check(struct victims *victims, unsigned int rounds);
/* The first victim sends count messages of len bytes of its gift to whoever listens there. */
void pair_send(struct victims *victims, const struct sockaddr_in *to, uint32_t len, uint32_t count);
/*
 * The victims stay calm, check their memory and end; they have grown by less than kib, and so did
 * the device.
 */
void pair_end(struct victims *victims, size_t kib);
/* KiB of a line of /proc/PID/status. */
size_t pair_status(const struct victims *victims, const char *name);
/* A genuine peer, started beforehand, exchanges a message with each victim within the time. */
struct child newcomer_start(void);
void newcomer_check(struct child *newcomer, const struct victims *victims, int ms);

/* The foe. */

enum {
	FOE_SLOTS = 32,
	FOE_SLOT = 1024,
	FOE_SPARE = 81920, /* bytes for RDMA */
	FOE_MS = 3000,	   /* for an answer that does not have to come */
};

enum foe_answer { FOE_UP, FOE_REJECTED, FOE_FAILED, FOE_NOTHING };

struct foe {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;	   /* FOE_SLOTS receives, as many to send, the spare bytes */
	unsigned int posted, out;  /* sends and RDMA in all, and that are not over */
	int status;		   /* the first failure of them */
	unsigned int first, count; /* what was heard and not taken */
	struct {
		unsigned int slot, len;
	} heard[FOE_SLOTS];
	uint8_t data[256]; /* private data of the answer, or of the request that was heard */
	size_t len;
	struct ofi_rdm_cmwire cm; /* the same, if it makes sense */
	bool sane;
};

/* Bound to an address, or NULL for any. */
void foe_open(struct foe *foe, const char *from);
void foe_close(struct foe *foe);
/* What an honest endpoint at this port would send. */
struct ofi_rdm_cmwire foe_claim(const struct sockaddr_in *name, uint64_t incarnation,
				uint32_t serial);
/* Private data as on the wire. Returns its length. */
size_t foe_pack(uint8_t *bytes, const struct ofi_rdm_cmwire *cm);
/* Sends a request; without a queue pair it never answers a reply. False: it can't be resolved. */
bool foe_ask(struct foe *foe, const struct sockaddr_in *to, const void *data, size_t len,
	     bool with_qp);
enum foe_answer foe_await(struct foe *foe, int ms);
/* All of it at once, as a stranger of an invented name. */
enum foe_answer foe_join(struct foe *foe, const struct sockaddr_in *to);
/* Buffers for what the victim sends; without them it is not heard. */
void foe_listen_to(struct foe *foe);
/* Posts a packet and waits for it. What became of it, -1: nothing within the time. */
int foe_say(struct foe *foe, const void *bytes, size_t len);
/* Posts it, and waits for room at most. */
bool foe_throw(struct foe *foe, const void *bytes, size_t len);
/* A packet of the victim, NULL when none comes within the time. */
const uint8_t *foe_hear(struct foe *foe, size_t *len, int ms);
/* One that is of a type. */
bool foe_hear_type(struct foe *foe, enum ofi_rdm_wire_type type, struct ofi_rdm_wire_packet *packet,
		   int ms);
/* RDMA of the spare bytes. As foe_say. */
int foe_rdma(struct foe *foe, enum ibv_wr_opcode opcode, uint64_t addr, uint32_t rkey,
	     uint32_t len);
uint8_t *foe_spare(struct foe *foe);

/* A foe that waits for connections; its name. */
void foe_lurk(struct foe *foe, struct sockaddr_in *name);
/*
 * A request that the foe was sent; its id is to be answered or destroyed by the caller. NULL: none.
 */
struct rdma_cm_id *foe_request(struct foe *foe, int ms);
/* The foe takes it over, as its own connection, in `to`. */
void foe_accept(struct foe *to, struct foe *from, struct rdma_cm_id *id, const void *data,
		size_t len);

/* A generator of pseudo-random numbers with a fixed beginning. */
uint32_t foe_random(uint32_t below);
/* An address that the device gets in addition: another host, as far as anybody can tell. */
const char *foe_other_host(void);

#endif
