/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arbitrary bytes from a peer: the parsers stay within them, and a header that they accept is
 * encoded to the same bytes. Run by tests/fuzz/run. With -corpus DIRECTORY it writes one packet of
 * each type as a start.
 */
#include <stdio.h>
#include <stdlib.h>
#include "prov/rdm/cmwire.h"

static void need(int truth)
{
	if (!truth)
		abort();
}

static void try_packet(const uint8_t *data, size_t size)
{
	uint8_t again[OFI_RDM_WIRE_HEADER_MAX +
		      OFI_RDM_WIRE_REGIONS * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_region region;
	struct ofi_rdm_wire_packet packet;
	enum ofi_rdm_wire_error error;
	uint64_t sum = 0;
	unsigned int i;
	size_t len;

	error = ofi_rdm_wire_parse(data, size, &packet);
	need(*ofi_rdm_wire_strerror(error) != 0);
	if (ofi_rdm_wire_is_fast(data, size, true))
		need(!error && packet.tag == ofi_rdm_wire_fast_tag(data) &&
		     packet.payload == data + 16);
	if (ofi_rdm_wire_is_fast(data, size, false))
		need(!error && packet.payload == data + 8);
	if (error)
		return;
	need(packet.payload_len <= size && packet.payload + packet.payload_len == data + size);
	for (i = 0; i < packet.count; i++) {
		ofi_rdm_wire_get_region(packet.list, i, &region);
		sum += region.len;
	}
	if (packet.type == OFI_RDM_WIRE_RTS || packet.type == OFI_RDM_WIRE_CTS)
		need(sum == packet.total);
	len = ofi_rdm_wire_build(again, &packet);
	need(len + packet.payload_len == size && !memcmp(again, data, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ofi_rdm_cmwire cm;

	try_packet(data, size);
	if (!ofi_rdm_cmwire_parse(data, size, &cm))
		need(ofi_rdm_cmwire_common(&cm) && *ofi_rdm_cmwire_reason_text(cm.reason));
	return 0;
}

static void write_seed(const char *dir, const char *name, const uint8_t *bytes, size_t len)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	need(file && fwrite(bytes, 1, len, file) == len);
	fclose(file);
}

static void write_packet(const char *dir, enum ofi_rdm_wire_type type)
{
	char name[16];
	uint8_t bytes[OFI_RDM_WIRE_HEADER_MAX + 64] = { 0 },
						list[sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet p = { .type = type, .list = list };
	size_t len;

	ofi_rdm_wire_put_region(list, 0, &(struct ofi_rdm_wire_region){ 0x1000, 8, 8 });
	p.count = type == OFI_RDM_WIRE_RTS || type == OFI_RDM_WIRE_CTS ||
		  type == OFI_RDM_WIRE_RMA_EVENT || type == OFI_RDM_WIRE_ATOMIC_REQ;
	if (type != OFI_RDM_WIRE_ATOMIC_REQ && (p.count || type == OFI_RDM_WIRE_SEG_FIRST))
		p.total = p.count ? 8 : 100;
	p.flags = type == OFI_RDM_WIRE_EAGER ? OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_DATA : 0;
	p.offset = type == OFI_RDM_WIRE_SEG_NEXT ? 10 : 0;
	if (type == OFI_RDM_WIRE_ATOMIC_REQ) {
		p.atomic = (struct ofi_rdm_wire_atomic){ OFI_RDM_WIRE_ATOMIC_FETCH, 3, 9, 8, 8 };
		p.payload_len = 64;
	} else if (type < OFI_RDM_WIRE_RTS) {
		p.payload_len = 16;
	}
	len = ofi_rdm_wire_build(bytes, &p) + p.payload_len;
	snprintf(name, sizeof(name), "type%u", (unsigned int)type);
	write_seed(dir, name, bytes, len);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct ofi_rdm_cmwire cm = {
		.kind = OFI_RDM_CMWIRE_REQUEST, .incarnation = 1, .port = 7471, .eager = 16384
	};
	uint8_t bytes[OFI_RDM_CMWIRE_LEN];
	int type;

	if (*argc != 3 || strcmp((*argv)[1], "-corpus"))
		return 0;
	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++)
		write_packet((*argv)[2], type);
	ofi_rdm_cmwire_build(bytes, &cm);
	write_seed((*argv)[2], "request", bytes, sizeof(bytes));
	exit(0);
}
