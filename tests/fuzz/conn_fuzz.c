/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arbitrary private data from strangers, in any order with other events: each request is either
 * accepted or refused, and the counts of connections stay correct. The input is a list of steps: a
 * byte for the event, one for the peer, and for a request the length of its private data and the
 * data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/cm/cm_wire.h"
#include "prov/rdm/policy.h"

enum { PEERS = 4, WINDOW = 2, CAP = 3 };

static struct ofi_rdm_conn_set set;
static struct ofi_rdm_conn peers[PEERS];
static uint32_t randomness;

static void need(int truth)
{
	if (!truth)
		abort();
}

static uint32_t some(void *arg)
{
	(void)arg;
	return randomness = randomness * 1664525 + 1013904223;
}

static void start(void)
{
	const struct ofi_rdm_conn_params params = {
		.incarnation = 0x1111,
		.window = WINDOW,
		.cap = CAP,
		.attempt = 1000,
		.give_up = 5000,
		.drain = 100,
		.backoff = 20,
		.backoff_max = 1000,
		.random = some,
	};
	int i;

	randomness = 1;
	memset(&set, 0, sizeof(set));
	ofi_rdm_conn_set_init(&set, &params);
	for (i = 0; i < PEERS; i++)
		ofi_rdm_conn_init(&peers[i], i - 1);
}

/* What was decided fits what happened. */
static void check(const struct ofi_rdm_conn_input *input, const struct ofi_rdm_conn_action *action)
{
	uint32_t answer = action->what & (OFI_RDM_CONN_DO_ACCEPT | OFI_RDM_CONN_DO_REJECT);
	uint32_t open = 0, connecting = 0;
	int i;

	if (input && input->event != OFI_RDM_CONN_REQUEST)
		need(!answer);
	need(answer != (OFI_RDM_CONN_DO_ACCEPT | OFI_RDM_CONN_DO_REJECT));
	if (answer == OFI_RDM_CONN_DO_REJECT)
		need(action->reason != OFI_RDM_CMWIRE_NONE &&
		     action->reason < OFI_RDM_CMWIRE_REASONS);
	for (i = 0; i < PEERS; i++) {
		need(peers[i].state < OFI_RDM_CONN_STATES);
		open += peers[i].state > OFI_RDM_CONN_WAITING &&
			peers[i].state != OFI_RDM_CONN_EXPECTING;
		connecting += peers[i].young;
	}
	need(set.open == open && set.connecting == connecting);
}

static void step(struct ofi_rdm_conn *conn, const struct ofi_rdm_conn_input *input)
{
	struct ofi_rdm_conn_action action = { 0 };

	ofi_rdm_conn_step(&set, conn, input, &action);
	check(input, &action);
}

/* As the endpoint takes a request. Returns the bytes that it took. */
static size_t request(struct ofi_rdm_conn *conn, const uint8_t *data, size_t size)
{
	size_t take = size && data[0] < size ? data[0] : size, len;
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_REQUEST };
	const uint8_t *bytes = vrb_cm_unpack(data, take, &len);
	struct ofi_rdm_cmwire cm;

	need(len <= take);
	if (!ofi_rdm_cmwire_parse(bytes, len, &cm) && cm.kind == OFI_RDM_CMWIRE_REQUEST) {
		input.incarnation = cm.incarnation;
		input.expected = cm.expected;
		input.serial = cm.serial;
		step(conn, &input);
	}
	return take ? take : 1;
}

static void pass_time(uint8_t much)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	int turns = 0;

	set.now += much * 10u;
	while ((conn = ofi_rdm_conn_poll(&set, &action))) {
		check(NULL, &action);
		need(++turns < 100 * PEERS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ofi_rdm_conn_input input;
	struct ofi_rdm_conn *conn;
	uint8_t what;

	for (start(); size >= 2;) {
		what = data[0] % (OFI_RDM_CONN_EVENTS + 1);
		conn = &peers[data[1] % PEERS];
		input = (struct ofi_rdm_conn_input){
			.event = what,
			.incarnation = 1 + data[1] / PEERS,
			.serial = data[0],
			.reason = data[1],
			.idle = data[1] & 4,
			.err = data[1] & 8,
		};
		data += 2;
		size -= 2;
		if (what == OFI_RDM_CONN_REQUEST && size) {
			size_t took = request(conn, data, size);

			data += took;
			size -= took;
		} else if (what == OFI_RDM_CONN_EVENTS) {
			pass_time(input.reason);
		} else if (what != OFI_RDM_CONN_CLOSE && what != OFI_RDM_CONN_REQUEST &&
			   what != OFI_RDM_CONN_EVICT) {
			step(conn, &input);
		}
	}
	return 0;
}

/* Two requests to a peer, the second of another incarnation. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ofi_rdm_cmwire cm = { .kind = OFI_RDM_CMWIRE_REQUEST,
				     .incarnation = 1,
				     .serial = 1,
				     .port = 7471,
				     .eager = 16384 };
	uint8_t bytes[2 + VRB_CM_WIRE_MAX], data[OFI_RDM_CMWIRE_LEN];
	char path[4096];
	FILE *file;

	if (*argc != 3 || strcmp((*argv)[1], "-corpus"))
		return 0;
	snprintf(path, sizeof(path), "%s/requests", (*argv)[2]);
	file = fopen(path, "w");
	need(!!file);
	for (; cm.incarnation < 3; cm.incarnation++) {
		ofi_rdm_cmwire_build(data, &cm);
		bytes[0] = OFI_RDM_CONN_REQUEST;
		bytes[1] = 0;
		vrb_cm_pack(bytes + 2, data, sizeof(data));
		need(fwrite(bytes, 2 + bytes[2], 1, file) == 1);
	}
	fclose(file);
	exit(0);
}
