/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket addresses: sizes, comparison, and the text form of FI_ADDR_STR. Names of queue pairs. */
#ifndef OFI_ADDR_H
#define OFI_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/socket.h>

/* Room for the longest text form, terminator included. */
#define OFI_ADDR_STRLEN 128

/* No address family of the system: the name of a queue pair. */
enum { OFI_AF_QP = 0xefa };

/* The name of a queue pair, which peers reach without a connection manager. No padding. */
struct ofi_qp_name {
	sa_family_t family; /* OFI_AF_QP */
	uint16_t zero;
	uint8_t gid[16];
	uint32_t qpn;
	uint32_t key; /* a random number that tells an endpoint from an earlier one */
};

/* Bytes of the address by its family (AF_INET, AF_INET6, AF_IB), 0 for an unknown one. */
size_t ofi_addr_size(const struct sockaddr *sa);
/* The FI_SOCKADDR_* format of a family, FI_FORMAT_UNSPEC for an unknown one. */
uint32_t ofi_addr_format(const struct sockaddr *sa);
/* Port in host order; for AF_IB the low 16 bits of the service ID. */
uint16_t ofi_addr_port(const struct sockaddr *sa);
void ofi_addr_set_port(struct sockaddr *sa, uint16_t port);
/* Same host part; scope and port are ignored. */
bool ofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);
bool ofi_addr_is_any(const struct sockaddr *sa);
/*
 * Writes "fi_sockaddr_in://10.0.0.1:7471", "fi_sockaddr_in6://[fe80::1]:7471" or
 * "fi_sockaddr_ib://..."; always terminates.
 */
const char *ofi_addr_str(const struct sockaddr *sa, char *buf, size_t len);
/* Writes "fi_addr_efa://[fe80::1]:17:99" with the number of the queue pair and the key. */
const char *ofi_qp_name_str(const struct ofi_qp_name *name, char *buf, size_t len);
/* Returns false for a number that is no port; getaddrinfo() would take its low 16 bits. */
bool ofi_addr_is_service(const char *service);
/* Parses that form, with or without the scheme. 0 or -FI_EINVAL. */
int ofi_addr_parse(const char *str, struct sockaddr_storage *ss);

#endif
