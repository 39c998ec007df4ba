/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_THREAD_SAFE: any two calls at once on datagrams. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "thread_pairs.h"

static void call_av_life(struct stage *stage, struct worker *worker)
{
	fi_addr_t addr;

	(void)worker;
	RETURNS(fi_av_insert(stage->av, stage->name, 1, &addr, 0, NULL), 1);
	MAY(fi_inject(stage->ep[0], stage->buf, 8, addr), 0);
	OK(fi_av_remove(stage->av, &addr, 1, 0));
}

static void call_av_lookup(struct stage *stage, struct worker *worker)
{
	size_t len = 128;
	char name[128];

	(void)worker;
	OK(fi_av_lookup(stage->av, stage->to, name, &len));
}

static void test(void)
{
	static const struct call calls[] = {
		{ "fi_av_insert", call_av_life },
		{ "fi_av_lookup", call_av_lookup },
		{ "fi_setopt", call_options },
		{ "a late counter", call_late_cntr },
	};
	struct fi_info *hints = fi_allocinfo();
	struct stage stage = { 0 };
	size_t len = sizeof(stage.name);

	CHECK(hints);
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->caps = FI_MSG;
	stage_open(&stage, hints, NULL, 0);
	stage.ep[0] = stage_ep(&stage, stage.info, stage.eq);
	stage.ep[1] = stage_ep(&stage, stage.info, stage.eq);
	OK(fi_getname(&stage.ep[1]->fid, stage.name, &len));
	RETURNS(fi_av_insert(stage.av, stage.name, 1, &stage.to, 0, NULL), 1);
	stage_run(&stage, calls, ARRAY_SIZE(calls));
	stage_close(&stage);
}

int main(void)
{
	return run_test(test);
}
