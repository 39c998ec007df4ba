/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arbitrary hellos: with a job secret only unmodified signed hellos are accepted; without one,
 * hellos for another incarnation, or for a known peer without its cookie, are not. The input is a
 * byte with the state of the endpoint and the peer, then hellos, each as a byte that selects a
 * valid hello and optional bytes that overwrite a part of it.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/hello.h"

enum { OURS = 1000, KNOWN = 77 };

static const uint64_t keys[] = { 11, 22 };

static void check(bool truth)
{
	if (!truth)
		abort();
}

/* A MAC that the fuzzer does not find by chance. */
static void quick_mac(const void *key, const char *label, const void *bytes, size_t len,
		      uint8_t *mac)
{
	uint64_t sum = *(const uint64_t *)key ^ (uint64_t)(uint8_t)label[10] << 56;
	size_t i;

	for (i = 0; i < len; i++) {
		sum = (sum ^ ((const uint8_t *)bytes)[i]) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	for (i = 0; i < OFI_RDM_HELLO_MAC; i += sizeof(sum))
		memcpy(mac + i, &sum, sizeof(sum));
}

static struct ofi_rdm_hello_self self;
static struct ofi_rdm_hello_peer peer;
static struct ofi_rdm_hello_path path;

static size_t honest(uint8_t what, uint8_t *bytes)
{
	struct ofi_rdm_hello_self other = self;
	struct ofi_rdm_hello_peer at_other = { .known = what & 0x40 ? OURS : what,
					       .echo = what & 0x20 ? 1 : 0 };

	other.incarnation = what & 0x10 ? KNOWN : KNOWN + (what & 3);
	return ofi_rdm_hello_build(&other, &at_other, what, &path, bytes);
}

static void answer(const struct ofi_rdm_hello *hello, size_t len, bool refuse)
{
	uint8_t bytes[OFI_RDM_HELLO_MAX];
	size_t answered;

	answered = refuse ? ofi_rdm_hello_refuse(&self, hello, bytes)
			  : ofi_rdm_hello_answer(&self, &peer, 1, hello, &path, bytes);
	check(answered <= len);
}

static void take(const uint8_t *bytes, size_t len, bool genuine)
{
	const struct ofi_rdm_hello_peer before = peer;
	enum ofi_rdm_hello_verdict verdict;
	struct ofi_rdm_hello hello;
	size_t used = 0;

	verdict = ofi_rdm_hello_take(&self, &peer, &path, bytes, len, &hello, &used);
	if (verdict <= OFI_RDM_HELLO_NEW) {
		check(used && used <= len && hello.to == OURS);
		check(genuine || !self.secret);
		check(peer.met && peer.known == hello.from);
		check(verdict == OFI_RDM_HELLO_NEW || before.known == hello.from);
		check(!before.known || before.known == hello.from || hello.echo);
		return;
	}
	check(!memcmp(&before, &peer, sizeof(peer)));
	if (verdict == OFI_RDM_HELLO_ANSWER)
		check(genuine || !self.secret);
	if (verdict == OFI_RDM_HELLO_ANSWER || verdict == OFI_RDM_HELLO_REFUSE)
		answer(&hello, len, verdict == OFI_RDM_HELLO_REFUSE);
}

/* Handles one hello. Returns the number of input bytes consumed. */
static size_t take_input(const uint8_t *data, size_t size)
{
	uint8_t bytes[OFI_RDM_HELLO_MAX], right[OFI_RDM_HELLO_MAX];
	size_t at = size > 1 ? data[1] % sizeof(bytes) : 0, len = size > 2 ? data[2] & 0xf : 0;
	size_t wrote = honest(data[0], bytes);

	if (size <= 3 || data[0] & 0x80) {
		take(bytes, wrote, true);
		return 1;
	}
	len = len < size - 3 ? len : size - 3;
	len = len < sizeof(bytes) - at ? len : sizeof(bytes) - at;
	memcpy(right, bytes, wrote);
	memcpy(bytes + at, data + 3, len);
	if (data[2] & 0x10)
		wrote = at;
	take(bytes, wrote, !memcmp(right, bytes, wrote));
	return 3 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t used;

	if (!size)
		return 0;
	self = (struct ofi_rdm_hello_self){
		.incarnation = OURS,
		.mac = quick_mac,
		.cookies = &keys[1],
		.eager = 100,
		.secret = data[0] & 1 ? &keys[0] : NULL,
	};
	memset(&peer, 0, sizeof(peer));
	peer.known = data[0] & 2 ? KNOWN : 0;
	peer.met = data[0] & 4;
	for (data++, size--; size; data += used, size -= used)
		used = take_input(data, size);
	return 0;
}
