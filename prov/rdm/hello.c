/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hellos: encoding, authentication codes, and deciding whether a peer is who it claims to be. */
#include "hello.h"

#include <endian.h>
#include <string.h>

#define MAGIC 0x4c454857u /* "WHEL" */

enum { KIND_HELLO = 1, KIND_REFUSAL };

/* The wire format, little endian. */
struct hello_wire {
	uint32_t magic;
	uint8_t version, version_min, kind, reason;
	uint64_t from, to, cookie, echo;
	uint32_t caps, first, eager, zero;
};

_Static_assert(sizeof(struct hello_wire) == OFI_RDM_HELLO_LEN, "wire");

static void hello_put(void *bytes, const struct ofi_rdm_hello *hello)
{
	const struct hello_wire wire = {
		.magic = htole32(MAGIC),
		.version = hello->version,
		.version_min = hello->version_min,
		.kind = hello->refusal ? KIND_REFUSAL : KIND_HELLO,
		.reason = hello->reason,
		.from = htole64(hello->from),
		.to = htole64(hello->to),
		.cookie = htole64(hello->cookie),
		.echo = htole64(hello->echo),
		.caps = htole32(hello->caps),
		.first = htole32(hello->first),
		.eager = htole32(hello->eager),
	};

	memcpy(bytes, &wire, sizeof(wire));
}

static void hello_get(const struct hello_wire *wire, struct ofi_rdm_hello *hello)
{
	*hello = (struct ofi_rdm_hello){
		.version = wire->version,
		.version_min = wire->version_min,
		.refusal = wire->kind == KIND_REFUSAL,
		.reason = wire->reason,
		.caps = le32toh(wire->caps),
		.from = le64toh(wire->from),
		.to = le64toh(wire->to),
		.cookie = le64toh(wire->cookie),
		.echo = le64toh(wire->echo),
		.first = le32toh(wire->first),
		.eager = le32toh(wire->eager),
	};
}

/* Parses the part that is the same in all versions. */
static bool hello_parse(const void *bytes, size_t len, struct ofi_rdm_hello *hello)
{
	struct hello_wire wire;

	if (len < sizeof(wire))
		return false;
	memcpy(&wire, bytes, sizeof(wire));
	hello_get(&wire, hello);
	return le32toh(wire.magic) == MAGIC && hello->from && hello->version_min &&
	       hello->version_min <= hello->version &&
	       (hello->refusal ? hello->reason != OFI_RDM_HELLO_NONE
			       : wire.kind == KIND_HELLO && !hello->reason);
}

/* Parses the part that is specific to this version. */
static bool hello_is_ours(const struct ofi_rdm_hello *hello, const void *bytes, size_t len)
{
	uint32_t zero;

	memcpy(&zero, (const char *)bytes + offsetof(struct hello_wire, zero), sizeof(zero));
	return !zero && !(hello->caps & ~(uint32_t)OFI_RDM_HELLO_CAPS) &&
	       (!(hello->caps & OFI_RDM_HELLO_SECRET) || len >= OFI_RDM_HELLO_MAX);
}

static void hello_code(const struct ofi_rdm_hello_self *self, const void *bytes,
		       const struct ofi_rdm_hello_path *path, uint8_t *mac)
{
	uint8_t all[OFI_RDM_HELLO_LEN + sizeof(*path)];

	memcpy(all, bytes, OFI_RDM_HELLO_LEN);
	memcpy(all + OFI_RDM_HELLO_LEN, path, sizeof(*path));
	self->mac(self->secret, "weft rdm hello", all, sizeof(all), mac);
}

/* Returns true if the code is right. The comparison takes constant time. */
static bool hello_is_signed(const struct ofi_rdm_hello_self *self, const uint8_t *bytes,
			    const struct ofi_rdm_hello_path *path)
{
	uint8_t wanted[OFI_RDM_HELLO_MAC], differs = 0;
	size_t i;

	hello_code(self, bytes, path, wanted);
	for (i = 0; i < sizeof(wanted); i++)
		differs |= wanted[i] ^ bytes[OFI_RDM_HELLO_LEN + i];
	return !differs;
}

/* Returns the cookie that incarnation `from` must return to replace the known one. */
static uint64_t hello_cookie(const struct ofi_rdm_hello_self *self, uint64_t from, uint64_t known)
{
	const uint64_t words[] = { self->incarnation, from, known };
	uint8_t mac[OFI_RDM_HELLO_MAC];
	uint64_t cookie;

	self->mac(self->cookies, "weft rdm cookie", words, sizeof(words), mac);
	memcpy(&cookie, mac, sizeof(cookie));
	return cookie | 1;
}

static size_t hello_write(const struct ofi_rdm_hello_self *self, struct ofi_rdm_hello hello,
			  const struct ofi_rdm_hello_path *path, uint8_t *bytes)
{
	hello.version = OFI_RDM_HELLO_VERSION;
	hello.version_min = OFI_RDM_HELLO_VERSION_MIN;
	hello.from = self->incarnation;
	hello.eager = self->eager;
	hello.caps = self->caps | (self->secret ? OFI_RDM_HELLO_SECRET : 0);
	hello_put(bytes, &hello);
	if (!self->secret || !path)
		return OFI_RDM_HELLO_LEN;
	hello_code(self, bytes, path, bytes + OFI_RDM_HELLO_LEN);
	return OFI_RDM_HELLO_MAX;
}

size_t ofi_rdm_hello_build(const struct ofi_rdm_hello_self *self,
			   const struct ofi_rdm_hello_peer *peer, uint32_t first,
			   const struct ofi_rdm_hello_path *path, void *bytes)
{
	const struct ofi_rdm_hello hello = { .to = peer->known,
					     .echo = peer->echo,
					     .first = first };

	return hello_write(self, hello, path, bytes);
}

size_t ofi_rdm_hello_answer(const struct ofi_rdm_hello_self *self,
			    const struct ofi_rdm_hello_peer *peer, uint32_t first,
			    const struct ofi_rdm_hello *came, const struct ofi_rdm_hello_path *path,
			    void *bytes)
{
	struct ofi_rdm_hello hello = { .to = came->from, .echo = came->cookie, .first = first };

	if (peer->known && came->from != peer->known)
		hello.cookie = hello_cookie(self, came->from, peer->known);
	return hello_write(self, hello, path, bytes);
}

size_t ofi_rdm_hello_refuse(const struct ofi_rdm_hello_self *self, const struct ofi_rdm_hello *came,
			    void *bytes)
{
	const struct ofi_rdm_hello hello = { .refusal = true,
					     .reason = came->reason,
					     .to = came->from };

	return hello_write(self, hello, NULL, bytes);
}

/* Checks whether the versions are compatible and the peer knows the secret. */
static enum ofi_rdm_hello_verdict hello_judge(const struct ofi_rdm_hello_self *self,
					      const struct ofi_rdm_hello_path *path,
					      const void *bytes, size_t len,
					      struct ofi_rdm_hello *hello)
{
	if (!hello_parse(bytes, len, hello))
		return OFI_RDM_HELLO_MALFORMED;
	if (hello->refusal)
		return OFI_RDM_HELLO_REFUSED;
	if (hello->version_min > OFI_RDM_HELLO_VERSION ||
	    hello->version < OFI_RDM_HELLO_VERSION_MIN) {
		hello->reason = OFI_RDM_HELLO_NO_VERSION;
		return OFI_RDM_HELLO_REFUSE;
	}
	if (!hello_is_ours(hello, bytes, len))
		return OFI_RDM_HELLO_MALFORMED;
	if (!self->secret != !(hello->caps & OFI_RDM_HELLO_SECRET)) {
		hello->reason = OFI_RDM_HELLO_LONELY;
		return OFI_RDM_HELLO_REFUSE;
	}
	if (self->secret && !hello_is_signed(self, bytes, path))
		return OFI_RDM_HELLO_FOREIGN;
	return OFI_RDM_HELLO_SAME;
}

/*
 * Checks that the hello is for our current incarnation and, if it replaces a known incarnation,
 * that it is fresh.
 */
static bool hello_is_fresh(const struct ofi_rdm_hello_self *self,
			   const struct ofi_rdm_hello_peer *peer, const struct ofi_rdm_hello *hello)
{
	if (hello->to != self->incarnation)
		return false;
	return !peer->known || hello->from == peer->known ||
	       hello->echo == hello_cookie(self, hello->from, peer->known);
}

enum ofi_rdm_hello_verdict ofi_rdm_hello_take(const struct ofi_rdm_hello_self *self,
					      struct ofi_rdm_hello_peer *peer,
					      const struct ofi_rdm_hello_path *path,
					      const void *bytes, size_t len,
					      struct ofi_rdm_hello *hello, size_t *used)
{
	enum ofi_rdm_hello_verdict verdict = hello_judge(self, path, bytes, len, hello);

	if (verdict != OFI_RDM_HELLO_SAME)
		return verdict;
	if (!hello_is_fresh(self, peer, hello))
		return OFI_RDM_HELLO_ANSWER;
	*used = self->secret ? OFI_RDM_HELLO_MAX : OFI_RDM_HELLO_LEN;
	if (peer->met && hello->from == peer->known) {
		peer->echo = hello->cookie ? hello->cookie : peer->echo;
		return OFI_RDM_HELLO_SAME;
	}
	*peer = (struct ofi_rdm_hello_peer){
		.known = hello->from,
		.echo = hello->cookie,
		.caps = hello->caps,
		.eager = hello->eager,
		.version = OFI_RDM_HELLO_VERSION,
		.met = true,
	};
	return OFI_RDM_HELLO_NEW;
}
