/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses as the application passes them, by the addr_format of its fi_info. */
#ifndef OFI_NAME_H
#define OFI_NAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <rdma/providers/fi_prov.h>

#define OFI_NAME_LEN_UNKNOWN ((size_t)-1) /* the call has no length: the address tells */

/* The application's address. -FI_EINVAL, logged for `call`, when it is none of that format. */
int ofi_name_in(const struct fi_provider *prov, const char *call, uint32_t format, const void *addr,
		size_t len, struct sockaddr_storage *ss);
/*
 * *len becomes what the whole address takes; -FI_ETOOSMALL when it was less and the address was
 * cut.
 */
int ofi_name_out(const struct fi_provider *prov, const char *call, uint32_t format,
		 const struct sockaddr_storage *ss, void *addr, size_t *len);

#endif
