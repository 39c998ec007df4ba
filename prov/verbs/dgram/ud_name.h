/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_ADDR_IB_UD, FI_ADDR_EFA: the name of an unreliable datagram queue pair, which applications
 * exchange.
 */
#ifndef VRB_UD_NAME_H
#define VRB_UD_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>

#define VRB_UD_QPN_MAX	 0xffffffu
#define VRB_UD_QPN_MCAST 0xffffffu   /* destination QPN of multicast datagrams */
#define VRB_UD_QKEY_CM	 0x01234567u /* Q_Key of queue pairs that the CM resolves */

/* In network byte order, 32 bytes. Applications may store it at any alignment. */
struct vrb_ud_name {
	uint8_t gid[16];
	uint32_t qpn; /* below 2^24 */
	uint32_t qkey;
	uint16_t lid; /* 0 on Ethernet */
	uint16_t pkey;
	uint8_t sl;
	uint8_t qpn2[3]; /* a second queue pair, 0 if there is none */
};

_Static_assert(sizeof(struct vrb_ud_name) == 32, "FI_ADDR_IB_UD");

/* A name in the form used for sending. 40 bytes, because there is one for each address. */
struct vrb_dest {
	struct ibv_ah *ah; /* NULL until first use; atomic */
	uint32_t qpn, qkey;
	union ibv_gid gid;
	uint16_t lid, pkey;
	uint8_t sl;
	uint8_t qpn2[3];
};

/*
 * Returns true if addresses of this format are names of queue pairs. FI_ADDR_EFA, that of Elastic
 * Fabric Adapters, has the same bytes.
 */
static inline bool vrb_ud_format(uint32_t format)
{
	return format == FI_ADDR_IB_UD || format == FI_ADDR_EFA;
}

/*
 * Returns true if the queue pair is unknown: no endpoint had the address when it was inserted. The
 * queue pair number cannot show that, because 0 is a valid one.
 */
static inline bool vrb_dest_is_late(const struct vrb_dest *dest)
{
	return !dest->pkey;
}

/*
 * Returns 0, or -FI_EINVAL if no queue pair can have this name; then *why describes what is wrong.
 * The first queue pair of an Elastic Fabric Adapter has the number 0.
 */
int vrb_ud_name_in(uint32_t format, const void *name, struct vrb_dest *dest, const char **why);
void vrb_ud_name_out(const struct vrb_dest *dest, struct vrb_ud_name *name);
#define VRB_UD_NAME_STRLEN 160
/*
 * Writes "fi_addr_ib_ud://[::ffff:10.0.0.1]/lid 0/...", or "fi_addr_efa://..." for that format;
 * always null-terminated.
 */
const char *vrb_ud_name_str(uint32_t format, const void *name, char *buf, size_t len);

#endif
