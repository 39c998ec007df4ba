/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits how fast a host may request connections on behalf of peers that the endpoint does not
 * know. Each host has a bucket of tokens that refills with time; a request takes one token. The
 * table holds the buckets of the hosts heard from most recently. The code is pure: the caller
 * supplies the clock.
 */
#ifndef OFI_RDM_ADMIT_H
#define OFI_RDM_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_RDM_ADMIT_HOSTS 64
#define OFI_RDM_ADMIT_BURST 4 /* initial tokens of a host, in seconds of the rate */

struct ofi_rdm_admit_host {
	uint8_t ip[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint64_t at;	/* time of the last request in ms; 0 if the entry is free */
	uint64_t left;	/* remaining tokens, in thousandths */
};

struct ofi_rdm_admit {
	uint32_t rate; /* tokens per second; 0 means no limit */
	struct ofi_rdm_admit_host hosts[OFI_RDM_ADMIT_HOSTS];
};

/* Takes a token from the host's bucket. Returns false if the bucket is empty. */
bool ofi_rdm_admit_takes(struct ofi_rdm_admit *admit, const uint8_t *ip, uint64_t now);

#endif
