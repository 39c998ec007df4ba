/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint without its own event queue uses its domain's. */
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED, .domain_eq = true };

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_eq_err_entry error;
	struct fi_info *info;
	struct place place;
	struct fid_ep *ep;

	end_listen(&end, local_addr(), &place);
	OK(fi_close(&end.pep->fid));
	end.pep = NULL;
	info = info_for(&setup, place.node, place.service, 0);
	OK(fi_endpoint(end.domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &end.cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_enable(ep));
	OK(fi_connect(ep, info->dest_addr, NULL, 0));
	wait_event_error(end.eq, &error);
	CHECK(error.fid == &ep->fid);
	EQUAL(error.err, FI_ECONNREFUSED);
	OK(fi_close(&ep->fid));
	fi_freeinfo(info);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
