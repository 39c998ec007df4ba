/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of unreliable datagram queue pairs: validation, binary and text form. */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/discovery/gid.h"
#include "ud_name.h"

enum {
	LID_MCAST = 0xc000,
	SL_MAX = 15,
	QPN_LEAST = 2 /* queue pairs 0 and 1 are for management, but not with FI_ADDR_EFA */
};

/* Returns true for an IPv6 multicast address, or an IPv4 one in IPv6 form. */
static bool is_mcast(const uint8_t *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid[0] == 0xff || (!memcmp(gid, mapped, sizeof(mapped)) && gid[12] >> 4 == 14);
}

static const char *name_error(uint32_t format, const struct vrb_ud_name *name)
{
	static const uint8_t zero[16];
	uint32_t qpn = be32toh(name->qpn);
	bool efa = format == FI_ADDR_EFA;

	if (qpn > VRB_UD_QPN_MAX)
		return "its queue pair number has more than 24 bits";
	if (qpn < QPN_LEAST && !efa)
		return "its queue pair number is reserved for management";
	if (!memcmp(name->gid, zero, sizeof(zero)))
		return "its GID is zero";
	if (is_mcast(name->gid) || be16toh(name->lid) >= LID_MCAST || qpn == VRB_UD_QPN_MCAST)
		return "it names a multicast group; use fi_join";
	if (!(be16toh(name->pkey) & 0x7fff))
		return "its P_Key is zero";
	if (name->sl > SL_MAX)
		return "its service level is above 15";
	if (efa && !name->qkey)
		return "its Q_Key is zero, so it is not that of an endpoint";
	if (be32toh(name->qkey) >> 31)
		return "its Q_Key is reserved for privileged queue pairs";
	return NULL;
}

int vrb_ud_name_in(uint32_t format, const void *from, struct vrb_dest *dest, const char **why)
{
	struct vrb_ud_name name;

	memcpy(&name, from, sizeof(name));
	*why = name_error(format, &name);
	if (*why)
		return -FI_EINVAL;
	*dest = (struct vrb_dest){
		.qpn = be32toh(name.qpn),
		.qkey = be32toh(name.qkey),
		.lid = be16toh(name.lid),
		.pkey = be16toh(name.pkey),
		.sl = name.sl,
	};
	memcpy(dest->gid.raw, name.gid, sizeof(name.gid));
	memcpy(dest->qpn2, name.qpn2, sizeof(name.qpn2));
	return 0;
}

void vrb_ud_name_out(const struct vrb_dest *dest, struct vrb_ud_name *name)
{
	memcpy(name->gid, dest->gid.raw, sizeof(name->gid));
	name->qpn = htobe32(dest->qpn);
	name->qkey = htobe32(dest->qkey);
	name->lid = htobe16(dest->lid);
	name->pkey = htobe16(dest->pkey);
	name->sl = dest->sl;
	memcpy(name->qpn2, dest->qpn2, sizeof(name->qpn2));
}

const char *vrb_ud_name_str(uint32_t format, const void *from, char *buf, size_t len)
{
	struct vrb_ud_name name;
	union ibv_gid gid;
	char addr[64];

	memcpy(&name, from, sizeof(name));
	memcpy(gid.raw, name.gid, sizeof(gid.raw));
	vrb_gid_str(&gid, addr, sizeof(addr));
	if (format == FI_ADDR_EFA)
		snprintf(buf, len, "fi_addr_efa://[%s]:%u:%u", addr, be32toh(name.qpn),
			 be32toh(name.qkey));
	else
		snprintf(buf, len, "fi_addr_ib_ud://[%s]/lid %u/pkey 0x%x/sl %u/qpn 0x%x/qkey 0x%x",
			 addr, be16toh(name.lid), be16toh(name.pkey), name.sl, be32toh(name.qpn),
			 be32toh(name.qkey));
	return buf;
}
