/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Converts addresses of the application according to the addr_format of its fi_info. */
#ifndef OFI_NAME_H
#define OFI_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <rdma/providers/fi_prov.h>

#define OFI_NAME_LEN_UNKNOWN ((size_t)-1) /* the call has no length; the address determines it */

/*
 * Returns the format of the addresses of an fi_info's domain: FI_SOCKADDR stands for the family of
 * its own address.
 */
uint32_t ofi_name_format(const struct fi_info *info);
/*
 * Reads the application's address in the given format. Returns 0, or logs for `call` and returns
 * -FI_EINVAL.
 */
int ofi_name_in(const struct fi_provider *prov, const char *call, uint32_t format, const void *addr,
		size_t len, struct sockaddr_storage *ss);
/*
 * Copies what the application gets, truncated to *len bytes, and sets *len to its full size.
 * Returns false if it was truncated.
 */
bool ofi_copy_out(const void *from, size_t size, void *to, size_t *len);
/* Returns an allocated copy and sets *len to its size; returns NULL if there is no memory. */
void *ofi_copy_new(const void *from, size_t size, size_t *len);
/*
 * Writes an address for the application and sets *len to its full size. Returns -FI_ETOOSMALL if
 * *len was smaller and the address was truncated.
 */
int ofi_name_out(const struct fi_provider *prov, const char *call, uint32_t format,
		 const struct sockaddr_storage *ss, void *addr, size_t *len);

/* If the new address has no host, keeps the host of `old`; the new port is used even if it is 0. */
void ofi_name_keep_host(struct sockaddr_storage *ss, const struct sockaddr *old);

/* Returns true if the hosts and the ports are the same. */
bool ofi_name_same(const struct sockaddr *a, const struct sockaddr *b);

#endif
