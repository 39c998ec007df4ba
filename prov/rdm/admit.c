/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits how fast a host may request connections on behalf of unknown peers. */
#include "admit.h"
#include <string.h>

/*
 * Returns the host's bucket. A new host takes over the bucket of the host that has been silent for
 * longest, with the tokens left in it. However many addresses somebody has, the tokens never exceed
 * the capacity of all buckets.
 */
static struct ofi_rdm_admit_host *bucket_of(struct ofi_rdm_admit *admit, const uint8_t *ip)
{
	struct ofi_rdm_admit_host *host = admit->hosts, *oldest = host;

	for (; host < admit->hosts + OFI_RDM_ADMIT_HOSTS; host++) {
		if (host->at && !memcmp(host->ip, ip, sizeof(host->ip)))
			return host;
		if (host->at < oldest->at)
			oldest = host;
	}
	memcpy(oldest->ip, ip, sizeof(oldest->ip));
	return oldest;
}

bool ofi_rdm_admit_takes(struct ofi_rdm_admit *admit, const uint8_t *ip, uint64_t now)
{
	uint64_t most = (uint64_t)admit->rate * OFI_RDM_ADMIT_BURST * 1000;
	struct ofi_rdm_admit_host *host;

	if (!admit->rate)
		return true;
	host = bucket_of(admit, ip);
	if (!host->at || now - host->at >= OFI_RDM_ADMIT_BURST * 1000)
		host->left = most;
	else
		host->left += (now - host->at) * admit->rate;
	if (host->left > most)
		host->left = most;
	host->at = now ? now : 1;
	if (host->left < 1000)
		return false;
	host->left -= 1000;
	return true;
}
