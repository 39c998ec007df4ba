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

/* The family of a struct ofi_qp_name. No address family of the system has this value. */
enum { OFI_AF_QP = 0xefa };

/* The name of a queue pair that peers reach without a connection manager. It has no padding. */
struct ofi_qp_name {
	sa_family_t family; /* OFI_AF_QP */
	uint16_t zero;
	uint8_t gid[16];
	uint32_t qpn;
	uint32_t key; /* a random number that distinguishes an endpoint from an earlier one */
};

/* Returns the size of an AF_INET, AF_INET6 or AF_IB address in bytes; 0 for any other family. */
size_t ofi_addr_size(const struct sockaddr *sa);
/* Returns the FI_SOCKADDR_* format of the address; FI_FORMAT_UNSPEC if the family is unknown. */
uint32_t ofi_addr_format(const struct sockaddr *sa);
/* Returns the port in host byte order; for AF_IB, the low 16 bits of the service ID. */
uint16_t ofi_addr_port(const struct sockaddr *sa);
void ofi_addr_set_port(struct sockaddr *sa, uint16_t port);
/*
 * Returns true if the families and the host parts are the same; IPv6 scopes only have to be if both
 * are given. Ignores the port.
 */
bool ofi_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);
bool ofi_addr_is_any(const struct sockaddr *sa);
bool ofi_addr_is_loopback(const struct sockaddr *sa);
/*
 * Writes "fi_sockaddr_in://10.0.0.1:7471", "fi_sockaddr_in6://[fe80::1]:7471" or
 * "fi_sockaddr_ib://...". The text is always null-terminated.
 */
const char *ofi_addr_str(const struct sockaddr *sa, char *buf, size_t len);
/* Writes "fi_addr_efa://[fe80::1]:17:99" with the number of the queue pair and the key. */
const char *ofi_qp_name_str(const struct ofi_qp_name *name, char *buf, size_t len);
/* Returns false for a number that is not a valid port: getaddrinfo() would use its low 16 bits. */
bool ofi_addr_is_service(const char *service);
/*
 * Parses the form of ofi_addr_str(), with or without the scheme; with it also with a query, which
 * has no effect. Returns 0 or -FI_EINVAL.
 */
int ofi_addr_parse(const char *str, struct sockaddr_storage *ss);

#endif
