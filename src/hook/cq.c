/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues and counters under hooks. */
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include "hook.h"

static ssize_t cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	static struct ofi_hook_site site = { .name = "fi_cq_read" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, cq, start, real->ops->read(real, buf, count),
			    "buf %p, count %zu", (const void *)buf, count);
}

static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src_addr)
{
	static struct ofi_hook_site site = { .name = "fi_cq_readfrom" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, cq, start, real->ops->readfrom(real, buf, count, src_addr),
			    "buf %p, count %zu, src_addr %p", (const void *)buf, count,
			    (const void *)src_addr);
}

static ssize_t cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_cq_readerr" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, cq, start, real->ops->readerr(real, buf, flags),
			    "buf %p, flags 0x%llx", (const void *)buf, (unsigned long long)flags);
}

static ssize_t cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	static struct ofi_hook_site site = { .name = "fi_cq_sread" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, cq, start, real->ops->sread(real, buf, count, cond, timeout),
			    "buf %p, count %zu, cond %p, timeout %d", (const void *)buf, count,
			    (const void *)cond, timeout);
}

static ssize_t cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src_addr,
			    const void *cond, int timeout)
{
	static struct ofi_hook_site site = { .name = "fi_cq_sreadfrom" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, cq, start, real->ops->sreadfrom(real, buf, count, src_addr, cond, timeout),
		"buf %p, count %zu, src_addr %p, cond %p, timeout %d", (const void *)buf, count,
		(const void *)src_addr, (const void *)cond, timeout);
}

static int cq_signal(struct fid_cq *cq)
{
	static struct ofi_hook_site site = { .name = "fi_cq_signal" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cq, start, real->ops->signal(real), "%s", "");
}

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct fid_cq *real = ofi_hook_real(cq);

	return real->ops->strerror(real, prov_errno, err_data, buf, len);
}

static int cq_export_xpu(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq)
{
	static struct ofi_hook_site site = { .name = "fi_cq_export_xpu" };
	struct fid_cq *real = ofi_hook_real(cq);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_cq, export_xpu))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, cq, start, real->ops->export_xpu(real, flags, xpu_cq),
				 "flags 0x%llx, xpu_cq %p", (unsigned long long)flags,
				 (const void *)xpu_cq);
}

struct fi_ops_cq ofi_hook_cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
	.export_xpu = cq_export_xpu,
};

static uint64_t cntr_read(struct fid_cntr *cntr)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_read" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (uint64_t)ofi_hook_end(&site, cntr, start, (ssize_t)real->ops->read(real), "%s", "");
}

static uint64_t cntr_readerr(struct fid_cntr *cntr)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_readerr" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (uint64_t)ofi_hook_end(&site, cntr, start, (ssize_t)real->ops->readerr(real), "%s",
				      "");
}

static int cntr_add(struct fid_cntr *cntr, uint64_t value)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_add" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cntr, start, real->ops->add(real, value), "value 0x%llx",
				 (unsigned long long)value);
}

static int cntr_set(struct fid_cntr *cntr, uint64_t value)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_set" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cntr, start, real->ops->set(real, value), "value 0x%llx",
				 (unsigned long long)value);
}

static int cntr_wait(struct fid_cntr *cntr, uint64_t threshold, int timeout)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_wait" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cntr, start, real->ops->wait(real, threshold, timeout),
				 "threshold 0x%llx, timeout %d", (unsigned long long)threshold,
				 timeout);
}

static int cntr_adderr(struct fid_cntr *cntr, uint64_t value)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_adderr" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cntr, start, real->ops->adderr(real, value), "value 0x%llx",
				 (unsigned long long)value);
}

static int cntr_seterr(struct fid_cntr *cntr, uint64_t value)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_seterr" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, cntr, start, real->ops->seterr(real, value), "value 0x%llx",
				 (unsigned long long)value);
}

static int cntr_export_xpu(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_export_xpu" };
	struct fid_cntr *real = ofi_hook_real(cntr);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_cntr, export_xpu))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, cntr, start, real->ops->export_xpu(real, flags, xpu_cntr),
				 "flags 0x%llx, xpu_cntr %p", (unsigned long long)flags,
				 (const void *)xpu_cntr);
}

struct fi_ops_cntr ofi_hook_cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
	.export_xpu = cntr_export_xpu,
};
