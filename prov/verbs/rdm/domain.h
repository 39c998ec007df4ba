/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a domain of reliable datagrams has. */
#ifndef VRB_RDM_DOMAIN_H
#define VRB_RDM_DOMAIN_H

/* When the provider starts: domains for FI_EP_RDM can be opened from then on. */
void vrb_rdm_domain_init(void);

#endif
