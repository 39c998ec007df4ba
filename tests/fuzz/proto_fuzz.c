/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connected peer sends arbitrary packets while the endpoint sends and receives: the handlers of
 * packets stay within their buffers and return everything they were given. The input is the seed of
 * the endpoint's actions, then packets, each preceded by a byte with its length. With FUZZ_NEAR as
 * that byte, the packet is almost valid.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/unit/rdm_sim.h"

enum { SEED = 2, FUZZ_NEAR = 0xff };

static const uint8_t *input;
static size_t left;

static size_t next_packet(uint8_t *bytes)
{
	size_t len;

	if (!left)
		return 0;
	len = *input++;
	left--;
	if (len == FUZZ_NEAR)
		return sim_malign_packet(bytes);
	if (len > left)
		len = left;
	if (len > SIM_PACKET)
		len = SIM_PACKET;
	memcpy(bytes, input, len);
	input += len;
	left -= len;
	return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < SEED)
		return 0;
	input = data + SEED;
	left = size - SEED;
	sim_run_hostile((uint64_t)data[0] << 8 | data[1], next_packet);
	return 0;
}
