/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that does not request FI_HMEM causes no call of a GPU's library. What is not possible
 * with device memory is refused: other interfaces, invalid dma-bufs, memory that cannot be
 * registered.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gpu.h"
#include "steps.h"

static struct fi_info *hints_of(uint64_t caps, int mode)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = caps;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | mode;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	hints->fabric_attr->prov_name = strdup("verbs");
	return hints;
}

static int ask(uint64_t caps, int mode, struct fi_info **info)
{
	struct fi_info *hints = hints_of(caps, mode);
	int ret = fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, info);

	fi_freeinfo(hints);
	return ret;
}

struct opened {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
};

static struct opened open_domain(uint64_t caps, int mode)
{
	struct opened opened;

	OK(ask(caps, mode, &opened.info));
	OK(fi_fabric(opened.info->fabric_attr, &opened.fabric, NULL));
	OK(fi_domain(opened.fabric, opened.info, &opened.domain, NULL));
	return opened;
}

static void close_domain(struct opened *opened)
{
	OK(fi_close(&opened->domain->fid));
	OK(fi_close(&opened->fabric->fid));
	fi_freeinfo(opened->info);
}

static void test_quiet(void)
{
	struct opened opened = open_domain(FI_MSG, FI_MR_HMEM);
	uint64_t calls = gpu->calls();
	void *buf = gpu->alloc(4096);
	struct iovec iov = { buf, 4096 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .iface = gpu->iface()
	};
	struct fid_mr *mr = NULL;

	CHECK(!(opened.info->caps & FI_HMEM));
	CHECK(!(opened.info->domain_attr->mr_mode & FI_MR_HMEM));
	/* The interface is not looked at, and the memory is not mapped for the processor. */
	RETURNS(fi_mr_regattr(opened.domain, &attr, 0, &mr), -FI_EFAULT);
	CHECK(!mr);
	EQUAL(gpu->calls(), calls);
	close_domain(&opened);
	gpu->free(buf);
}

static void test_offered(void)
{
	struct fi_info *info = NULL;

	RETURNS(ask(FI_MSG | FI_HMEM, 0, &info), -FI_ENODATA);
	OK(ask(FI_MSG | FI_HMEM, FI_MR_HMEM, &info));
	CHECK(info->caps & FI_HMEM && info->tx_attr->caps & FI_HMEM &&
	      info->rx_attr->caps & FI_HMEM);
	CHECK(info->domain_attr->mr_mode & FI_MR_HMEM);
	fi_freeinfo(info);
}

static void test_regions(struct opened *opened, void *buf)
{
	struct iovec iov = { buf, 8192 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .iface = FI_HMEM_NEURON
	};
	struct fid_mr *mr = NULL;

	RETURNS(fi_mr_regattr(opened->domain, &attr, 0, &mr), -FI_ENOSYS);
	attr.iface = 4711;
	CHECK(fi_mr_regattr(opened->domain, &attr, 0, &mr) < 0);
	attr.iface = gpu->iface();
	attr.iov_count = 2;
	CHECK(fi_mr_regattr(opened->domain, &attr, 0, &mr) < 0);
	attr.iov_count = 1;
	attr.access = 1ULL << 60;
	CHECK(fi_mr_regattr(opened->domain, &attr, 0, &mr) < 0);
	attr.access = FI_SEND;
	RETURNS(fi_mr_regattr(opened->domain, &attr, 1ULL << 59, &mr), -FI_EBADFLAGS);
	CHECK(fi_mr_regattr(opened->domain, &attr, 0, NULL) < 0);
	/* It is not mapped for the processor. */
	CHECK(fi_mr_reg(opened->domain, buf, 8192, FI_SEND, 0, 0, 0, &mr, NULL) < 0);
	CHECK(!mr);
	OK(fi_mr_regattr(opened->domain, &attr, FI_HMEM_DEVICE_ONLY, &mr));
	OK(fi_close(&mr->fid));
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	mr = NULL;
	CHECK(fi_mr_regattr(opened->domain, &attr, 0, &mr) < 0);
	CHECK(!mr);
	unsetenv("FALSE_GPU_NO_DMABUF");
}

/* Of a dma-buf that the program exported itself, and may close at once. */
static void test_dmabuf(struct opened *opened, void *buf)
{
	struct fi_mr_dmabuf dmabuf = {
		.fd = gpu->export(buf, 8192), .offset = 100, .len = 4096, .base_addr = buf
	};
	struct fi_mr_attr attr = {
		.dmabuf = &dmabuf, .iov_count = 1, .access = FI_SEND, .iface = gpu->iface()
	};
	struct fid_mr *mr = NULL;

	OK(fi_mr_regattr(opened->domain, &attr, FI_MR_DMABUF, &mr));
	close(dmabuf.fd);
	CHECK(fi_mr_desc(mr));
	OK(fi_close(&mr->fid));
	mr = NULL;
	CHECK(fi_mr_regattr(opened->domain, &attr, FI_MR_DMABUF, &mr) < 0);
	dmabuf.fd = -1;
	RETURNS(fi_mr_regattr(opened->domain, &attr, FI_MR_DMABUF, &mr), -FI_EINVAL);
	dmabuf = (struct fi_mr_dmabuf){ .fd = 0 };
	RETURNS(fi_mr_regattr(opened->domain, &attr, FI_MR_DMABUF, &mr), -FI_EINVAL);
	attr.dmabuf = NULL;
	RETURNS(fi_mr_regattr(opened->domain, &attr, FI_MR_DMABUF, &mr), -FI_EINVAL);
	CHECK(!mr);
}

static void test(void)
{
	struct opened opened;
	void *buf;

	test_quiet();
	test_offered();
	opened = open_domain(FI_MSG | FI_HMEM, FI_MR_HMEM);
	buf = gpu->alloc(8192);
	test_regions(&opened, buf);
	test_dmabuf(&opened, buf);
	close_domain(&opened);
	gpu->free(buf);
}

int main(void)
{
	return run_test(test);
}
