/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions of device memory: the ways to register it, and the reasons when none works. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "verbs_rig.h"
#include "prov/base/desc.h"
#include "prov/base/hmem.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/mr_hmem.h"
#include "prov/verbs/provider/prov.h"

static char memory[4096]; /* of the device */
static int sync_err, export_err, exported;

static bool owns(const void *addr)
{
	return (const char *)addr >= memory && (const char *)addr < memory + sizeof(memory);
}

static int sync_memory(const void *addr)
{
	assert_true(owns(addr));
	return sync_err;
}

static int export_memory(const void *addr, size_t len, struct ofi_hmem_export *to)
{
	(void)len;
	if (export_err)
		return export_err;
	exported = to->fd = open("/dev/null", O_RDONLY);
	to->offset = (size_t)((const char *)addr - memory);
	return 0;
}

static const struct ofi_hmem device = {
	.iface = FI_HMEM_CUDA,
	.name = "cuda",
	.dmabuf_param = "hmem_cuda_use_dmabuf",
	.owns = owns,
	.sync = sync_memory,
	.export = export_memory,
};

static void open_domain(struct rig *rig)
{
	sync_err = export_err = 0;
	exported = -1;
	rig_hmem = &device;
	rig_hmem_exports = true;
	vrb_params.use_dmabuf = 1;
	rig->info->caps |= FI_HMEM;
	rig->info->fabric_attr->api_version = FI_VERSION(2, 0);
	rig_open_domain(rig);
}

static int reg(struct rig *rig, struct fid_mr **mr)
{
	struct iovec iov = { memory + 64, 1024 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND, .iface = FI_HMEM_CUDA
	};

	return fi_mr_regattr(rig->domain, &attr, 0, mr);
}

/* Without FI_HMEM the interface is not looked at. */
static void test_not_asked(void **state)
{
	struct fi_mr_dmabuf dmabuf = { .fd = 7, .len = 100, .base_addr = memory };
	struct fi_mr_attr attr = { .dmabuf = &dmabuf, .iov_count = 1, .iface = FI_HMEM_CUDA };
	struct rig *rig = *state;
	struct fid_mr *mr;

	rig->info->fabric_attr->api_version = FI_VERSION(2, 0);
	rig_open_domain(rig);
	assert_int_equal(reg(rig, &mr), 0);
	assert_int_equal(fake.dmabufs, 0);
	assert_ptr_equal(fake.mr->addr, memory + 64);
	assert_int_equal(ofi_desc_iface(fi_mr_desc(mr)), FI_HMEM_SYSTEM);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_mr_regattr(rig->domain, &attr, FI_MR_DMABUF, &mr), -FI_ENOSYS);
}

/* Returns the address that peers use for the start of the region. */
static uint64_t raw_base(struct fid_mr *mr)
{
	uint64_t base = 0;
	uint8_t raw[16];
	size_t len = sizeof(raw);

	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &len, 0), 0);
	return base;
}

static void test_dmabuf(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;

	open_domain(rig);
	capture_start();
	assert_int_equal(reg(rig, &mr), 0);
	assert_string_equal(capture_stop(), "");
	assert_int_equal(fake.dmabufs, 1);
	assert_int_equal(fake.dmabuf_fd, exported);
	assert_int_equal(fake.dmabuf_offset, 64);
	assert_int_equal(fcntl(exported, F_GETFD), -1); /* closed */
	assert_int_equal(raw_base(mr), (uintptr_t)(memory + 64));
	assert_int_equal(ofi_desc_iface(fi_mr_desc(mr)), FI_HMEM_CUDA);
	assert_false(ofi_desc_is_dmabuf(fi_mr_desc(mr)));
	assert_int_equal(ofi_desc_lkey(fi_mr_desc(mr)), fake.mr->lkey);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* A device that pages host memory on demand pins memory of GPUs. */
static void test_refresh(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;

	open_domain(rig);
	((struct vrb_domain *)rig->domain)->odp = IBV_ODP_SUPPORT_SEND;
	assert_int_equal(reg(rig, &mr), 0);
	assert_int_equal(fi_mr_refresh(mr, NULL, 0, 0), -FI_EOPNOTSUPP);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* As peer memory. */
static void test_address(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;

	open_domain(rig);
	export_err = -FI_EOPNOTSUPP;
	assert_int_equal(reg(rig, &mr), 0);
	assert_int_equal(fake.dmabufs, 0);
	assert_ptr_equal(fake.mr->addr, memory + 64);
	assert_int_equal(fi_close(&mr->fid), 0);
	export_err = 0;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EOPNOTSUPP;
	assert_int_equal(reg(rig, &mr), 0);
	assert_string_equal(fake.failed, "ibv_reg_dmabuf_mr");
	assert_int_equal(fcntl(exported, F_GETFD), -1);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* Registers where peer memory gives EFAULT. Returns the log. */
static const char *refused(struct rig *rig)
{
	struct fid_mr *mr = NULL;

	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EFAULT;
	capture_start();
	assert_int_equal(reg(rig, &mr), -FI_EFAULT);
	assert_null(mr);
	assert_string_equal(fake.failed, "ibv_reg_mr");
	return capture_stop();
}

/* The warning has both reasons. */
static void test_reasons(void **state)
{
	struct rig *rig = *state;
	const char *log;

	open_domain(rig);
	export_err = -FI_EOPNOTSUPP;
	log = refused(rig);
	assert_non_null(strstr(log, "1024 B of cuda"));
	assert_non_null(strstr(log, "as dma-buf: its driver does not export it: "));
	assert_non_null(strstr(log, fi_strerror(FI_EOPNOTSUPP)));
	assert_non_null(strstr(log, "as peer memory: Bad address"));
	export_err = -FI_EINVAL;
	assert_non_null(strstr(refused(rig), "does not export it (managed or of a pool): "));
	export_err = 0;
	rig_hmem_exports = false;
	assert_non_null(strstr(refused(rig), "as dma-buf: hmem_cuda_use_dmabuf is off"));
	rig_hmem_exports = true;
	vrb_params.use_dmabuf = 0;
	assert_non_null(strstr(refused(rig), "as dma-buf: verbs_use_dmabuf is off"));
}

/* Both calls of libibverbs fail. */
static void test_device_refuses(void **state)
{
	struct rig *rig = *state;
	const struct vrb_mr_memory memory_of = { .hmem = &device, .iov = { memory, 64 } };
	struct ofi_hmem_why why = { "" };

	open_domain(rig);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EINVAL;
	assert_non_null(vrb_mr_hmem_try((struct vrb_domain *)rig->domain, &memory_of, 0, &why));
	assert_non_null(strstr(why.text, "ibv_reg_dmabuf_mr: Invalid argument"));
	assert_int_equal(ibv_dereg_mr(fake.mr), 0);
}

static void test_sync(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr;
	const char *log;

	open_domain(rig);
	sync_err = -FI_EOPNOTSUPP;
	capture_start();
	assert_int_equal(reg(rig, &mr), 0);
	log = capture_stop();
	assert_non_null(strstr(log, "memory of cuda at "));
	assert_non_null(strstr(log, "cannot be made synchronous ("));
	assert_non_null(strstr(log, fi_strerror(FI_EOPNOTSUPP)));
	assert_int_equal(fi_close(&mr->fid), 0);
}

static int reg_dmabuf(struct rig *rig, struct fi_mr_dmabuf *dmabuf, struct fid_mr **mr)
{
	struct fi_mr_attr attr = {
		.dmabuf = dmabuf, .iov_count = 1, .access = FI_SEND, .iface = FI_HMEM_CUDA
	};

	return fi_mr_regattr(rig->domain, &attr, FI_MR_DMABUF, mr);
}

/* Of the program itself: nothing else is tried. */
static void test_own_dmabuf(void **state)
{
	struct fi_mr_dmabuf dmabuf = { .fd = 5, .offset = 8, .len = 512, .base_addr = memory };
	struct rig *rig = *state;
	struct fid_mr *mr = NULL;
	const char *log;

	open_domain(rig);
	assert_int_equal(reg_dmabuf(rig, &dmabuf, &mr), 0);
	assert_int_equal(fake.dmabuf_fd, 5);
	assert_int_equal(fake.dmabuf_offset, 8);
	assert_int_equal(raw_base(mr), (uintptr_t)(memory + 8));
	assert_int_equal(ofi_desc_iface(fi_mr_desc(mr)), FI_HMEM_CUDA);
	assert_true(ofi_desc_is_dmabuf(fi_mr_desc(mr)));
	assert_int_equal(fi_close(&mr->fid), 0);
	mr = NULL;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EBADF;
	capture_start();
	assert_int_equal(reg_dmabuf(rig, &dmabuf, &mr), -FI_EBADF);
	log = capture_stop();
	assert_non_null(strstr(log, "ibv_reg_dmabuf_mr of 512 B, descriptor 5: Bad file"));
	dmabuf.fd = -1;
	assert_int_equal(reg_dmabuf(rig, &dmabuf, &mr), -FI_EINVAL);
	assert_null(mr);
}

static void test_no_interface(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr = NULL;

	open_domain(rig);
	rig_hmem = NULL;
	capture_start();
	assert_int_equal(reg(rig, &mr), -FI_ENOSYS);
	assert_non_null(strstr(capture_stop(), "not in unit tests"));
	assert_null(mr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_refresh),	   RIG_TEST(test_dmabuf),	  RIG_TEST(test_address),
		RIG_TEST(test_reasons),	   RIG_TEST(test_device_refuses), RIG_TEST(test_sync),
		RIG_TEST(test_own_dmabuf), RIG_TEST(test_no_interface),	  RIG_TEST(test_not_asked),
	};

	setenv("FI_LOG_LEVEL", "info", 1);
	return cmocka_run_group_tests_name("verbs_mr_hmem", tests, NULL, NULL);
}
