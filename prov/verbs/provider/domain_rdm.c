/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface through which reliable datagrams extend domains and fabrics, registered when the
 * provider starts.
 */
#include "domain.h"

static const struct vrb_domain_rdm *registered;

void vrb_domain_register_rdm(const struct vrb_domain_rdm *rdm)
{
	registered = rdm;
}

const struct vrb_domain_rdm *vrb_domain_rdm(void)
{
	return registered;
}
