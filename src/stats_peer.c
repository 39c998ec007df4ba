/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peers in a file of statistics, and what they wait for. The file belongs to another, running
 * process, so no value is trusted that could lead out of the mapping.
 */
#include "stats_read.h"
#include "src/ds/clock.h"

#include <stdio.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>

enum { TRIES = 1000 };

struct reading {
	struct ofi_stats_peer text; /* a copy of the record */
	char waits[OFI_STATS_TEXT];
	uint64_t field[OFI_STATS_PEER_FIELDS];
	uint64_t in_flight;
};

/* Returns the number of peers that were ever in use, and the size of each. */
static uint32_t count_of(const struct ofi_stats_header *file, size_t *slot)
{
	uint32_t n = __atomic_load_n(&file->peers, __ATOMIC_ACQUIRE);

	*slot = __atomic_load_n(&file->peer_slot, __ATOMIC_RELAXED);
	if (*slot < sizeof(struct ofi_stats_peer) || *slot % sizeof(uint64_t) ||
	    *slot > OFI_STATS_PEERS)
		return 0;
	return n < OFI_STATS_PEERS / *slot ? n : (uint32_t)(OFI_STATS_PEERS / *slot);
}

static const struct ofi_stats_peer *stats_peer_find(const struct ofi_stats_header *file,
						    uint32_t after)
{
	const char *first = (const char *)file + OFI_STATS_FIRST;
	const struct ofi_stats_peer *stats, *found = NULL;
	uint32_t best = UINT32_MAX, id, i, n;
	size_t slot;

	n = count_of(file, &slot);
	for (i = 0; i < n; i++) {
		stats = (const struct ofi_stats_peer *)(first + (i + 1) * slot) - 1;
		id = __atomic_load_n(&stats->id, __ATOMIC_ACQUIRE);
		if (id <= after || id >= best)
			continue;
		best = id;
		found = stats;
	}
	return found;
}

/*
 * Fields precede their record, and all slots of the file precede the records of peers, so a
 * negative int16_t offset stays within the file.
 */
static uint64_t read_field(const struct ofi_stats_peer *stats, const struct ofi_stats_place *place)
{
	uint16_t size = __atomic_load_n(&place->size, __ATOMIC_RELAXED);
	int16_t where = __atomic_load_n(&place->at, __ATOMIC_RELAXED);
	const char *at = (const char *)stats + where;

	if (where >= 0 || !size || (uintptr_t)at % size)
		return 0;
	switch (size) {
	case 1:
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	case 8:
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	default:
		return 0;
	}
}

static void read_text(const struct ofi_stats_header *file, uint8_t number, char *text, size_t len)
{
	const char *texts = (const char *)file + OFI_STATS_FIRST + OFI_STATS_PEERS;

	snprintf(text, len, "%.*s", OFI_STATS_TEXT - 1,
		 number < OFI_STATS_TEXTS ? texts + (size_t)number * OFI_STATS_TEXT : "");
}

/* Reads a consistent state. Does not wait for a process that was stopped while entering a state. */
static void read_peer(const struct ofi_stats_header *file, const struct ofi_stats_peer *stats,
		      struct reading *now)
{
	struct ofi_stats_peer *text = &now->text;
	int i, tries = TRIES;
	uint32_t turn;

	do {
		turn = __atomic_load_n(&stats->turn, __ATOMIC_ACQUIRE);
		memcpy(text, stats, sizeof(*text));
		for (i = 0; i < OFI_STATS_PEER_FIELDS; i++)
			now->field[i] = read_field(stats, &file->place[i]);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while ((turn % 2 || __atomic_load_n(&stats->turn, __ATOMIC_RELAXED) != turn) && --tries);
	now->in_flight = 0;
	if (now->field[OFI_STATS_PEER_UP] && text->most > now->field[OFI_STATS_PEER_CREDITS])
		now->in_flight = text->most - now->field[OFI_STATS_PEER_CREDITS];
}

static void connecting_text(const struct reading *now, char *text, size_t len)
{
	int err = (int)now->field[OFI_STATS_PEER_ERROR];

	if (now->field[OFI_STATS_PEER_NO_PLACE])
		snprintf(text, len, "other connections or attempts of the endpoint to end");
	else if (now->field[OFI_STATS_PEER_RETRIES])
		snprintf(text, len, "the next attempt to connect; the last one: %s",
			 fi_strerror(err));
}

/*
 * Describes what a connected peer waits for. Several things may apply; the first one found is the
 * one that the others wait for.
 */
static void connected_text(const struct reading *now, char *text, size_t len)
{
	unsigned long queued = (unsigned long)now->field[OFI_STATS_PEER_QUEUED];
	unsigned long in_flight = (unsigned long)now->in_flight;
	unsigned long kept = (unsigned long)now->field[OFI_STATS_PEER_KEPT];
	const uint64_t *field = now->field;

	if (queued && field[OFI_STATS_PEER_HALTED])
		snprintf(text, len, "the peer's application to receive: it has no room for more");
	else if (field[OFI_STATS_PEER_CREDITS] <= field[OFI_STATS_PEER_RESERVE])
		snprintf(text, len, "the peer to make progress: it has not taken %lu packets",
			 in_flight);
	else if (field[OFI_STATS_PEER_FENCED])
		snprintf(text, len, "operations before FI_FENCE to complete");
	else if (queued)
		snprintf(text, len, "the peer to receive %lu messages", queued);
	else if (field[OFI_STATS_PEER_ANSWERS])
		snprintf(text, len, "the peer to perform atomics");
	else if (field[OFI_STATS_PEER_RMA])
		snprintf(text, len, "resources or keys of memory for RMA and atomics");
	else if (in_flight)
		snprintf(text, len, "%lu packets in flight to complete", in_flight);
	else if (kept)
		snprintf(text, len, "the application to receive %lu messages from the peer", kept);
}

static void state_text(const struct reading *now, char *text, size_t len)
{
	snprintf(text, len, "%s", now->waits);
	if (*text)
		return;
	if (now->field[OFI_STATS_PEER_UP])
		connected_text(now, text, len);
	else
		connecting_text(now, text, len);
}

static void stats_peer_add(struct fi_stats_peer *peer, const char *name, uint64_t value)
{
	peer->items[peer->count++] =
		(struct fi_stats_item){ .name = name, .value = value, .level = 1 };
}

static void list_fields(const struct reading *now, struct fi_stats_peer *peer)
{
	const uint64_t *field = now->field;
	bool up = field[OFI_STATS_PEER_UP];

	stats_peer_add(peer, "credits", up ? field[OFI_STATS_PEER_CREDITS] : 0);
	stats_peer_add(peer, "in_flight", now->in_flight);
	stats_peer_add(peer, "queued", field[OFI_STATS_PEER_QUEUED]);
	stats_peer_add(peer, "unexpected", field[OFI_STATS_PEER_KEPT]);
	stats_peer_add(peer, "unexpected_memory", field[OFI_STATS_PEER_BYTES]);
	stats_peer_add(peer, "retries", field[OFI_STATS_PEER_RETRIES]);
	stats_peer_add(peer, "stopped",
		       field[OFI_STATS_PEER_HALTED]    ? 2
		       : field[OFI_STATS_PEER_STOPPED] ? 1
						       : 0);
	stats_peer_add(peer, "told_to_stop", field[OFI_STATS_PEER_LEVEL]);
}

static uint64_t age_of(uint64_t since)
{
	uint64_t now = ofi_now_ms();

	return now > since ? now - since : 0;
}

static void peer_name(const struct reading *now, struct fi_stats_peer *peer)
{
	union {
		struct sockaddr_storage ss;
		struct ofi_qp_name qp;
	} addr = { 0 };
	char text[OFI_ADDR_STRLEN];
	const char *scheme;

	memcpy(&addr, now->text.address, sizeof(now->text.address));
	if (addr.ss.ss_family == OFI_AF_QP)
		ofi_qp_name_str(&addr.qp, text, sizeof(text));
	else
		ofi_addr_str((struct sockaddr *)&addr.ss, text, sizeof(text));
	scheme = strstr(text, "://");
	snprintf(peer->address, sizeof(peer->address), "%.63s", scheme ? scheme + 3 : text);
}

/*
 * Skips a peer that was freed meanwhile; ids are not reused. A process that changes its file all
 * the time has no peer.
 */
bool ofi_stats_peer_next(const struct ofi_stats_header *file, uint32_t after,
			 struct fi_stats_peer *peer)
{
	const struct ofi_stats_peer *stats;
	struct reading now;
	int tries = TRIES;

	while (tries-- && (stats = stats_peer_find(file, after))) {
		*peer = (struct fi_stats_peer){ 0 };
		read_peer(file, stats, &now);
		peer->id = now.text.id;
		peer->ep = now.text.ep;
		peer->age_ms = age_of(now.text.since);
		peer_name(&now, peer);
		read_text(file, now.text.transport, peer->transport, sizeof(peer->transport));
		read_text(file, now.text.state, peer->state, sizeof(peer->state));
		read_text(file, now.text.cause, peer->cause, sizeof(peer->cause));
		read_text(file, now.text.waits, now.waits, sizeof(now.waits));
		state_text(&now, peer->waits, sizeof(peer->waits));
		list_fields(&now, peer);
		if (peer->id > after && __atomic_load_n(&stats->id, __ATOMIC_ACQUIRE) == peer->id)
			return true;
	}
	return false;
}
