/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses of reliable-datagram endpoints: IP addresses with ports, and names of queue pairs. */
#include "addr.h"

#include <endian.h>
#include <string.h>
#include "src/ds/index.h"

const uint8_t ofi_rdm_addr_mapped[12] = { [10] = 0xff, [11] = 0xff };

/* The bytes of a hint, in network byte order. */
struct hint_bytes {
	uint8_t qpn[3], key[4];
	uint8_t check;
};

_Static_assert(sizeof(struct hint_bytes) == sizeof(((struct sockaddr_in *)0)->sin_zero),
	       "a hint takes the place of sin_zero");

/*
 * Returns the check byte. It depends on the address and the port, too, so the hint is invalid at
 * another port, such as that of a context.
 */
static uint8_t hint_check(const struct sockaddr_in *in, const struct hint_bytes *bytes)
{
	uint32_t sum = ntohl(in->sin_addr.s_addr) + 0x9du * ntohs(in->sin_port) + 0x5b;
	size_t i;

	for (i = 0; i < offsetof(struct hint_bytes, check); i++)
		sum = 31 * sum + ((const uint8_t *)bytes)[i];
	return (uint8_t)(sum ^ sum >> 8 ^ sum >> 16 ^ sum >> 24);
}

void ofi_rdm_addr_set_hint(struct ofi_rdm_addr *addr, struct ofi_rdm_addr_hint hint)
{
	uint32_t qpn = htobe32(hint.qpn << 8), key = htobe32(hint.key);
	struct hint_bytes bytes = { 0 };

	if (addr->sa.sa_family != AF_INET)
		return;
	if (hint.qpn) {
		memcpy(bytes.qpn, &qpn, sizeof(bytes.qpn));
		memcpy(bytes.key, &key, sizeof(bytes.key));
		bytes.check = hint_check(&addr->in, &bytes);
	}
	memcpy(addr->in.sin_zero, &bytes, sizeof(bytes));
}

bool ofi_rdm_addr_hint(const struct ofi_rdm_addr *addr, struct ofi_rdm_addr_hint *hint)
{
	struct hint_bytes bytes;
	uint32_t key;

	if (addr->sa.sa_family != AF_INET)
		return false;
	memcpy(&bytes, addr->in.sin_zero, sizeof(bytes));
	memcpy(&key, bytes.key, sizeof(key));
	hint->qpn = (uint32_t)bytes.qpn[0] << 16 | (uint32_t)bytes.qpn[1] << 8 | bytes.qpn[2];
	hint->key = be32toh(key);
	return hint->qpn && bytes.check == hint_check(&addr->in, &bytes);
}

bool ofi_rdm_addr_set(struct ofi_rdm_addr *addr, const struct sockaddr *sa)
{
	memset(addr, 0, sizeof(*addr));
	if (sa->sa_family == AF_INET) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_port = ((const struct sockaddr_in *)sa)->sin_port;
		addr->in.sin_addr = ((const struct sockaddr_in *)sa)->sin_addr;
		memcpy(addr->in.sin_zero, ((const struct sockaddr_in *)sa)->sin_zero,
		       sizeof(addr->in.sin_zero));
		return addr->in.sin_port && addr->in.sin_addr.s_addr;
	}
	if (sa->sa_family == AF_INET6) {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_port = ((const struct sockaddr_in6 *)sa)->sin6_port;
		addr->in6.sin6_addr = ((const struct sockaddr_in6 *)sa)->sin6_addr;
		addr->in6.sin6_scope_id = ((const struct sockaddr_in6 *)sa)->sin6_scope_id;
		return addr->in6.sin6_port && !IN6_IS_ADDR_UNSPECIFIED(&addr->in6.sin6_addr);
	}
	return false;
}

bool ofi_rdm_addr_shift(struct ofi_rdm_addr *addr, int contexts)
{
	int port;

	if (ofi_rdm_addr_is_qp(addr))
		return !contexts;
	port = ofi_addr_port(&addr->sa) + contexts;
	if (port <= 0 || port > UINT16_MAX)
		return false;
	if (contexts)
		ofi_rdm_addr_set_hint(addr, (struct ofi_rdm_addr_hint){ 0 });
	ofi_addr_set_port(&addr->sa, (uint16_t)port);
	return true;
}

/* Ignores the scope id, because the peer may number its interfaces differently. */
int ofi_rdm_addr_compare(const void *a, const void *b)
{
	const struct ofi_rdm_addr *x = a, *y = b;
	int ret = (int)x->sa.sa_family - (int)y->sa.sa_family;

	if (ret)
		return ret;
	if (ofi_rdm_addr_is_qp(x))
		return memcmp(&x->qp, &y->qp, sizeof(x->qp));
	if (x->sa.sa_family == AF_INET) {
		ret = memcmp(&x->in.sin_addr, &y->in.sin_addr, sizeof(x->in.sin_addr));
		return ret ? ret : memcmp(&x->in.sin_port, &y->in.sin_port, sizeof(in_port_t));
	}
	ret = memcmp(&x->in6.sin6_addr, &y->in6.sin6_addr, sizeof(x->in6.sin6_addr));
	return ret ? ret : memcmp(&x->in6.sin6_port, &y->in6.sin6_port, sizeof(in_port_t));
}

uint64_t ofi_rdm_addr_hash(const void *a, uint64_t seed)
{
	const struct ofi_rdm_addr *addr = a;
	uint64_t gid[2], rest;

	ofi_rdm_addr_gid(addr, (uint8_t *)gid);
	rest = ofi_rdm_addr_is_qp(addr) ? (uint64_t)addr->qp.qpn << 32 | addr->qp.key
					: ofi_addr_port(&addr->sa);
	return ofi_index_mix(ofi_index_mix(ofi_index_mix(seed, gid[0]), gid[1]), rest);
}

void ofi_rdm_addr_gid(const struct ofi_rdm_addr *addr, uint8_t *gid)
{
	if (ofi_rdm_addr_is_qp(addr)) {
		memcpy(gid, addr->qp.gid, 16);
	} else if (addr->sa.sa_family == AF_INET6) {
		memcpy(gid, &addr->in6.sin6_addr, 16);
	} else {
		memcpy(gid, ofi_rdm_addr_mapped, sizeof(ofi_rdm_addr_mapped));
		memcpy(gid + 12, &addr->in.sin_addr, 4);
	}
}

bool ofi_rdm_addr_set_qp(struct ofi_rdm_addr *addr, const uint8_t *gid, uint32_t qpn, uint32_t key)
{
	static const uint8_t zero[16];

	memset(addr, 0, sizeof(*addr));
	addr->qp.family = OFI_AF_QP;
	memcpy(addr->qp.gid, gid, sizeof(addr->qp.gid));
	addr->qp.qpn = qpn;
	addr->qp.key = key;
	return key && memcmp(gid, zero, sizeof(zero));
}

bool ofi_rdm_addr_from_name(struct ofi_rdm_addr *addr, const void *name)
{
	const uint8_t *bytes = name;
	uint32_t qpn, key;

	memcpy(&qpn, bytes + 16, sizeof(qpn));
	memcpy(&key, bytes + 20, sizeof(key));
	return ofi_rdm_addr_set_qp(addr, bytes, be32toh(qpn), be32toh(key));
}

void ofi_rdm_addr_name(const struct ofi_rdm_addr *addr, uint8_t *name)
{
	uint32_t qpn = htobe32(addr->qp.qpn), key = htobe32(addr->qp.key);

	memset(name, 0, OFI_RDM_ADDR_NAME);
	memcpy(name, addr->qp.gid, sizeof(addr->qp.gid));
	memcpy(name + 16, &qpn, sizeof(qpn));
	memcpy(name + 20, &key, sizeof(key));
}

const char *ofi_rdm_addr_str(const struct ofi_rdm_addr *addr, char *text, size_t len)
{
	return ofi_rdm_addr_is_qp(addr) ? ofi_qp_name_str(&addr->qp, text, len)
					: ofi_addr_str(&addr->sa, text, len);
}
