/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RDM part of a domain. */
#ifndef VRB_RDM_DOMAIN_H
#define VRB_RDM_DOMAIN_H

/* Called when the provider starts: domains for FI_EP_RDM can be opened afterward. */
void vrb_rdm_domain_init(void);

#endif
