/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_RX_CQ_DATA: a program that does not offer it gets no remote CQ data for RMA, or is required to
 * offer the mode if the hints request such data; one that offers it, or is not a target of RMA, may
 * use all of it.
 */
#include "steps.h"

static struct fi_info *ask(uint64_t caps, uint64_t mode, size_t data_size, int want)
{
	static const struct setup setup = { 0 };
	struct fi_info *hints = hints_for(&setup), *info = NULL;

	hints->caps = caps;
	hints->mode = mode;
	hints->domain_attr->cq_data_size = data_size;
	RETURNS(fi_getinfo(FI_VERSION(2, 0), local_addr(), NULL, FI_SOURCE, hints, &info), want);
	fi_freeinfo(hints);
	return info;
}

static void test(void)
{
	struct fi_info *info;

	info = ask(FI_MSG | FI_RMA, FI_RX_CQ_DATA, 0, 0);
	EQUAL(info->domain_attr->cq_data_size, 4);
	CHECK(info->mode & FI_RX_CQ_DATA);
	fi_freeinfo(info);

	info = ask(FI_MSG | FI_RMA, 0, 0, 0);
	EQUAL(info->domain_attr->cq_data_size, 0);
	CHECK(!(info->mode & FI_RX_CQ_DATA));
	fi_freeinfo(info);

	info = ask(FI_MSG, 0, 4, 0);
	CHECK(info->domain_attr->cq_data_size >= 4);
	fi_freeinfo(info);

	info = ask(FI_MSG | FI_RMA, 0, 4, 0);
	EQUAL(info->domain_attr->cq_data_size, 4);
	CHECK(info->mode & info->rx_attr->mode & FI_RX_CQ_DATA);
	fi_freeinfo(info);

	info = ask(FI_MSG | FI_RMA | FI_WRITE, 0, 4, 0);
	EQUAL(info->domain_attr->cq_data_size, 4);
	CHECK(!(info->mode & FI_RX_CQ_DATA));
	fi_freeinfo(info);

	ask(FI_MSG | FI_RMA, 0, 8, -FI_ENODATA);
	ask(FI_MSG, FI_RX_CQ_DATA, 8, -FI_ENODATA);
}

int main(void)
{
	return run_test(test);
}
