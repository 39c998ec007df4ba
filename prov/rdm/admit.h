/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How fast a host may ask for connections on behalf of peers that the endpoint does not know: each
 * has a bucket of tokens, one for a request, that fills again with time. There are buckets for the
 * hosts that were heard of last. Pure, the clock is the caller's.
 */
#ifndef OFI_RDM_ADMIT_H
#define OFI_RDM_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_RDM_ADMIT_HOSTS 64
#define OFI_RDM_ADMIT_BURST 4 /* seconds' worth of tokens that a host has at first */

struct ofi_rdm_admit_host {
	uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint64_t at;	/* ms, when it asked last; 0: free */
	uint64_t left;	/* thousandths of tokens */
};

struct ofi_rdm_admit {
	uint32_t rate; /* tokens per second, 0 is no limit */
	struct ofi_rdm_admit_host hosts[OFI_RDM_ADMIT_HOSTS];
};

/* Takes a token of the host's; false if there is none. */
bool ofi_rdm_admit_takes(struct ofi_rdm_admit *admit, const uint8_t *ip, uint64_t now);

#endif
