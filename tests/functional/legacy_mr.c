/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs for API 1.4 and earlier request FI_MR_BASIC and offer FI_LOCAL_MR: they get both, and a
 * connection.
 */
#include <string.h>
#include "steps.h"

static struct fi_info *ask(uint32_t version, int mr_mode, uint64_t mode, int want)
{
	static const struct setup setup = { 0 };
	struct fi_info *hints = hints_for(&setup), *info = NULL;

	hints->domain_attr->mr_mode = mr_mode;
	hints->mode = mode;
	RETURNS(fi_getinfo(version, local_addr(), NULL, FI_SOURCE, hints, &info), want);
	fi_freeinfo(hints);
	return info;
}

static void test(void)
{
	struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_info *info;

	info = ask(FI_VERSION(1, 4), FI_MR_BASIC, FI_LOCAL_MR | FI_RX_CQ_DATA, 0);
	EQUAL(info->domain_attr->mr_mode, FI_MR_BASIC);
	CHECK(info->mode & FI_LOCAL_MR);
	end_open(&end, info);
	end.ep = end_ep(&end, info);
	end_close(&end);

	info = ask(FI_VERSION(1, 4), FI_MR_UNSPEC, FI_LOCAL_MR | FI_RX_CQ_DATA, 0);
	EQUAL(info->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(info);
	info = ask(FI_VERSION(1, 5), FI_MR_BASIC, FI_LOCAL_MR | FI_RX_CQ_DATA, 0);
	EQUAL(info->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(info);

	/* A program that does not offer what the device requires gets no entry. */
	ask(FI_VERSION(1, 4), FI_MR_BASIC, 0, -FI_ENODATA);
	ask(FI_VERSION(1, 4), FI_MR_SCALABLE, FI_LOCAL_MR, -FI_ENODATA);
	ask(FI_VERSION(2, 0), FI_MR_VIRT_ADDR, 0, -FI_ENODATA);
}

int main(void)
{
	return run_test(test);
}
