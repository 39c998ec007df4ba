/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint cannot be opened with an fi_info of another domain, whose address it would have. */
#include "rdm.h"

static void rdm(void)
{
	char other[] = "other", *name;
	struct rdm_pair pair;
	struct fid_ep *ep;

	rdm_open(&pair, 0);
	name = pair.info->domain_attr->name;
	pair.info->domain_attr->name = other;
	RETURNS(fi_endpoint(pair.domain, pair.info, &ep, NULL), -FI_EINVAL);
	pair.info->domain_attr->name = NULL;
	OK(fi_endpoint(pair.domain, pair.info, &ep, NULL));
	OK(fi_close(&ep->fid));
	pair.info->domain_attr->name = name;
	rdm_close(&pair);
}

int main(void)
{
	return run_test(rdm);
}
